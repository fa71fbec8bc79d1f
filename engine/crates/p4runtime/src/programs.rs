// SPDX-License-Identifier: Apache-2.0
//! Programs that devices run, by their JSON: devices with the same one share what was compiled of it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use slotwise_p4::{Held, Limits, LoadError, Memory, OutOfMemory, Program};

/// The programs in use. Whoever uses one keeps its [`Arc`].
pub(crate) struct Programs {
    /// Of each.
    limits: Limits,
    /// Of all.
    memory: Memory,
    known: Mutex<Vec<(Vec<u8>, Weak<Program>)>>,
    blobs: Mutex<Vec<Weak<Blob>>>,
}

/// A `p4_device_config` as it came. Devices with the same one share it.
#[derive(Debug)]
pub(crate) struct Blob {
    bytes: Vec<u8>,
    _held: Held,
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Programs {
    /// None yet; each may take as much as the limits say, and all of them what there is in `memory`.
    pub fn within(limits: Limits, memory: Memory) -> Programs {
        Programs {
            limits,
            memory,
            known: Mutex::default(),
            blobs: Mutex::default(),
        }
    }

    /// For all programs, and what controllers add to them.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The same bytes, in memory once.
    pub fn share(&self, bytes: Vec<u8>) -> Result<Arc<Blob>, OutOfMemory> {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        blobs.retain(|blob| blob.strong_count() > 0);
        let same = blobs.iter().filter_map(Weak::upgrade).find(|blob| blob.bytes == bytes);
        if let Some(blob) = same {
            return Ok(blob);
        }
        let blob = Arc::new(Blob {
            _held: self.memory.hold(bytes.len() as u64)?,
            bytes,
        });
        blobs.push(Arc::downgrade(&blob));
        Ok(blob)
    }

    /// The program of this JSON.
    pub fn get(&self, json: &[u8]) -> Result<Arc<Program>, LoadError> {
        let mut programs = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|(_, program)| program.strong_count() > 0);
        let known = programs.iter().find(|(known, _)| known == json);
        if let Some(program) = known.and_then(|(_, program)| program.upgrade()) {
            return Ok(program);
        }
        let program = Arc::new(Program::from_json_in(json, &self.limits, &self.memory)?);
        programs.push((json.to_vec(), Arc::downgrade(&program)));
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGE: &[u8] = include_bytes!("../../../../p4src/p4c-out/edge.json");
    const CORE: &[u8] = include_bytes!("../../../../p4src/p4c-out/core.json");

    #[test]
    fn a_program_that_takes_more_than_it_may_is_refused() {
        let small = Limits { memory_bytes: 1 << 20 };
        assert!(matches!(
            Programs::within(small, Memory::unlimited()).get(EDGE),
            Err(LoadError::TooLarge {
                limit_bytes: 1_048_576,
                ..
            })
        ));
    }

    #[test]
    fn devices_with_the_same_program_share_it_while_it_is_used() {
        let programs = Programs::within(Limits::default(), Memory::unlimited());
        let edge = programs.get(EDGE).unwrap();
        let core = programs.get(CORE).unwrap();
        assert!(Arc::ptr_eq(&edge, &programs.get(EDGE).unwrap()));
        assert!(!Arc::ptr_eq(&edge, &core));
        assert!(programs.get(b"{").is_err());
        drop((edge, core));
        let _ = programs.get(b"{");
        assert!(programs.known.lock().unwrap().is_empty(), "nobody uses them any more");
    }

    #[test]
    fn the_same_configuration_is_there_once_while_it_is_used() {
        let memory = Memory::of(5);
        let programs = Programs::within(Limits::default(), memory.clone());
        let first = programs.share(vec![1, 2, 3]).unwrap();
        let second = programs.share(vec![1, 2, 3]).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(programs.share(vec![3, 2, 1]).unwrap_err().needed_bytes, 6);
        drop((first, second));
        assert_eq!(&**programs.share(vec![3, 2, 1]).unwrap(), [3, 2, 1]);
        assert_eq!(memory.used_bytes(), 0);
    }
}
