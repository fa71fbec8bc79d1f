// SPDX-License-Identifier: Apache-2.0
//! How much memory a program may take: counted while it is loaded, before anything of the size is allocated.

use std::cell::Cell;

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

/// Memory that a program being loaded has been charged for.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Cell<u64>,
}

impl Budget {
    pub fn new(limits: &Limits) -> Budget {
        Budget {
            limit: limits.memory_bytes,
            used: Cell::new(0),
        }
    }

    /// Bytes charged so far.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds `bytes`; if they are too many, what would be needed in all is the error, and nothing is added.
    pub fn charge(&self, bytes: u64) -> Result<(), u64> {
        let needed = self.used.get().saturating_add(bytes);
        if needed > self.limit {
            return Err(needed);
        }
        self.used.set(needed);
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
        let budget = Budget::new(&Limits { memory_bytes: 10 });
        assert_eq!(budget.charge(4), Ok(()));
        assert_eq!(budget.charge(7), Err(11));
        assert_eq!(budget.charge(u64::MAX), Err(u64::MAX));
        assert_eq!(budget.charge(6), Ok(()));
        assert_eq!(budget.used(), 10);
    }
}
