// SPDX-License-Identifier: Apache-2.0
//! How much memory a program may take: counted while it is loaded, before anything of the size is allocated. And how much
//! several programs may take together, with what controllers add to them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a program may take; see [`crate::Program::from_json_within`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory that loading the program and one pipeline of it may take in all: the JSON as it is read, the
    /// program, registers, counters, meters and the entries in the program. Not in it are machine code, which has a
    /// bound of its own, and what a controller adds. The default is 256 MiB.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 256 << 20,
        }
    }
}

/// What a value in the JSON may take, with what is made of it: as it is read, with its place, and in the program. An object takes
/// a leaf of a B-tree however small it is, an array room for four items, and while an array grows it is there twice.
/// The tests of `tests/memory.rs` hold these against what is allocated.
const OBJECT_BYTES: u64 = 768;
const ARRAY_BYTES: u64 = 256;
const ITEM_BYTES: u64 = 320;
/// Copies of a string.
const STRING_COPIES: u64 = 4;

/// What an entry takes besides its key and arguments.
const ENTRY_BYTES: u64 = 1024;

/// Upper bound of what a table entry takes whose key has so many words, and its action's arguments: in the table and as it
/// was read.
pub(crate) fn entry_bytes(key_words: usize, arg_words: usize) -> u64 {
    ENTRY_BYTES + 4 * 8 * (key_words + arg_words) as u64
}

/// Upper bound of the memory that reading a JSON text takes, seen from its brackets and commas.
pub(crate) fn json_bytes(json: &[u8]) -> u64 {
    let (mut bytes, mut in_string, mut escaped) = (json.len() as u64 * STRING_COPIES, false, false);
    for &byte in json {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        bytes += match byte {
            b'"' => {
                in_string = true;
                0
            }
            b'{' => OBJECT_BYTES,
            b'[' => ARRAY_BYTES,
            b',' => ITEM_BYTES,
            _ => 0,
        };
    }
    bytes
}

/// Bytes of memory that programs, their pipelines, and what controllers add may take together. Clones are the same memory.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Memory {
    /// So many bytes.
    pub fn of(limit_bytes: u64) -> Memory {
        Memory(Arc::new(Pool {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        }))
    }

    /// Without a limit.
    pub fn unlimited() -> Memory {
        Memory::of(u64::MAX)
    }

    /// What is held of it.
    pub fn used_bytes(&self) -> u64 {
        self.0.used_bytes.load(Ordering::Relaxed)
    }

    /// Takes `bytes` of it until they are dropped.
    pub fn hold(&self, bytes: u64) -> Result<Held, OutOfMemory> {
        let mut held = Held::of(self);
        held.grow(bytes)?;
        Ok(held)
    }
}

/// Bytes of a [`Memory`], given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    memory: Memory,
    bytes: u64,
    /// Of them, those that were given back while what is freed is kept.
    spare: u64,
    keeps_freed: bool,
}

impl Held {
    /// Nothing yet, of this memory.
    pub fn of(memory: &Memory) -> Held {
        Held {
            memory: memory.clone(),
            bytes: 0,
            spare: 0,
            keeps_freed: false,
        }
    }

    /// Nothing yet, without a limit.
    pub fn unlimited() -> Held {
        Held::of(&Memory::unlimited())
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory of which they are.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes so many bytes more, or none.
    pub fn grow(&mut self, bytes: u64) -> Result<(), OutOfMemory> {
        let Pool {
            limit_bytes,
            used_bytes,
        } = &*self.memory.0;
        let spare = self.spare.min(bytes);
        let bytes = bytes - spare;
        let more = |used: u64| used.checked_add(bytes).filter(|needed| needed <= limit_bytes);
        let used = used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        used.map_err(|used| OutOfMemory {
            needed_bytes: used.saturating_add(bytes),
            limit_bytes: *limit_bytes,
        })?;
        self.spare -= spare;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives so many bytes back, of those that are held.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes - self.spare);
        if self.keeps_freed {
            self.spare += bytes;
            return;
        }
        self.bytes -= bytes;
        self.memory.0.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// While `on`, what is given back can be had again, whatever others take meanwhile.
    pub fn keep_freed(&mut self, on: bool) {
        self.keeps_freed = on;
        if !on {
            let spare = std::mem::take(&mut self.spare);
            self.shrink(spare);
        }
    }

    /// Makes `before` of the bytes held `after`, or leaves them.
    pub fn change(&mut self, before: u64, after: u64) -> Result<(), OutOfMemory> {
        if after > before {
            return self.grow(after - before);
        }
        self.shrink(before - after);
        Ok(())
    }
}

impl Default for Held {
    fn default() -> Held {
        Held::unlimited()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keep_freed(false);
        self.shrink(self.bytes);
    }
}

/// What a [`Memory`] does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "memory limit exceeded by programs and controller state; expected at most {limit_bytes} bytes, got {needed_bytes}"
)]
pub struct OutOfMemory {
    /// In all, with what was asked for.
    pub needed_bytes: u64,
    /// What there is in all.
    pub limit_bytes: u64,
}

/// Why a program being loaded may not have more memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TooMuch {
    /// Its own limit.
    OfProgram { needed_bytes: u64 },
    /// That of all programs.
    OfAll(OutOfMemory),
}

/// Memory that a program being loaded has been charged for.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Cell<u64>,
    /// What each pipeline takes, of what is used.
    pipeline: Cell<u64>,
    held: RefCell<Held>,
}

impl Budget {
    /// For one program, of what all have.
    pub fn new(limits: &Limits, held: Held) -> Budget {
        Budget {
            limit: limits.memory_bytes,
            used: Cell::new(0),
            pipeline: Cell::new(0),
            held: RefCell::new(held),
        }
    }

    /// Bytes charged so far.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    /// The part of them that each pipeline takes again.
    pub fn pipeline(&self) -> u64 {
        self.pipeline.get()
    }

    /// What is held of the memory of all programs.
    pub fn into_held(self) -> Held {
        self.held.into_inner()
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds `bytes`, or nothing.
    pub fn charge(&self, bytes: u64) -> Result<(), TooMuch> {
        let needed_bytes = self.used.get().saturating_add(bytes);
        if needed_bytes > self.limit {
            return Err(TooMuch::OfProgram { needed_bytes });
        }
        self.held.borrow_mut().grow(bytes).map_err(TooMuch::OfAll)?;
        self.used.set(needed_bytes);
        Ok(())
    }

    /// As [`Budget::charge`], for what each pipeline takes.
    pub fn charge_pipeline(&self, bytes: u64) -> Result<(), TooMuch> {
        self.charge(bytes)?;
        self.pipeline.set(self.pipeline.get() + bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        let bytes = |json: &str| json_bytes(json.as_bytes()) - json.len() as u64 * STRING_COPIES;
        assert_eq!(bytes(r#""{[,\"{[,\\""#), 0);
        assert_eq!(bytes(r#"{"\\":[1,2]}"#), OBJECT_BYTES + ARRAY_BYTES + ITEM_BYTES);
    }

    #[test]
    fn what_is_too_much_is_not_added() {
        let memory = Memory::of(12);
        let budget = |limit| Budget::new(&Limits { memory_bytes: limit }, memory.hold(0).unwrap());
        let first = budget(10);
        let too_much = |needed_bytes| Err(TooMuch::OfProgram { needed_bytes });
        assert_eq!(first.charge(4), Ok(()));
        assert_eq!(first.charge(7), too_much(11));
        assert_eq!(first.charge(u64::MAX), too_much(u64::MAX));
        assert_eq!(first.charge_pipeline(6), Ok(()));
        assert_eq!((first.used(), first.pipeline(), memory.used_bytes()), (10, 6, 10));
        let second = budget(10);
        let all = OutOfMemory {
            needed_bytes: 13,
            limit_bytes: 12,
        };
        assert_eq!(second.charge(3), Err(TooMuch::OfAll(all)));
        drop(first);
        assert_eq!(second.charge(3), Ok(()));
        assert_eq!(second.into_held().bytes(), 3);
        assert_eq!(memory.used_bytes(), 0);
    }

    #[test]
    fn what_is_held_changes_as_a_whole_or_not_at_all() {
        let memory = Memory::of(10);
        let mut held = memory.hold(4).unwrap();
        assert_eq!(held.change(4, 11).unwrap_err().needed_bytes, 11);
        assert_eq!(held.bytes(), 4);
        held.change(4, 10).unwrap();
        assert!(memory.hold(1).is_err());
        held.change(10, 1).unwrap();
        assert_eq!((held.bytes(), memory.used_bytes()), (1, 1));

        held.change(1, 6).unwrap();
        held.keep_freed(true);
        held.shrink(4);
        assert_eq!(memory.hold(5).unwrap_err().needed_bytes, 11);
        let _other = memory.hold(4).unwrap();
        held.grow(4).unwrap();
        held.shrink(6);
        held.keep_freed(false);
        assert_eq!((held.bytes(), memory.used_bytes()), (0, 4));
    }
}
