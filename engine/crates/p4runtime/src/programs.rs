// SPDX-License-Identifier: Apache-2.0
//! Programs that devices run, by their JSON: devices with the same one share what was compiled of it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use slotwise_p4::{Limits, LoadError, Program};

/// The programs in use. Whoever uses one keeps its [`Arc`].
#[derive(Default)]
pub(crate) struct Programs {
    /// Of each.
    limits: Limits,
    known: Mutex<Vec<(Vec<u8>, Weak<Program>)>>,
}

impl Programs {
    /// None yet; each may take as much.
    pub fn within(limits: Limits) -> Programs {
        Programs {
            limits,
            ..Programs::default()
        }
    }

    /// The program of this JSON.
    pub fn get(&self, json: &[u8]) -> Result<Arc<Program>, LoadError> {
        let mut programs = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|(_, program)| program.strong_count() > 0);
        let known = programs.iter().find(|(known, _)| known == json);
        if let Some(program) = known.and_then(|(_, program)| program.upgrade()) {
            return Ok(program);
        }
        let program = Arc::new(Program::from_json_within(json, &self.limits)?);
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
            Programs::within(small).get(EDGE),
            Err(LoadError::TooLarge {
                limit_bytes: 1_048_576,
                ..
            })
        ));
    }

    #[test]
    fn devices_with_the_same_program_share_it_while_it_is_used() {
        let programs = Programs::default();
        let edge = programs.get(EDGE).unwrap();
        let core = programs.get(CORE).unwrap();
        assert!(Arc::ptr_eq(&edge, &programs.get(EDGE).unwrap()));
        assert!(!Arc::ptr_eq(&edge, &core));
        assert!(programs.get(b"{").is_err());
        drop((edge, core));
        let _ = programs.get(b"{");
        assert!(programs.known.lock().unwrap().is_empty(), "nobody uses them any more");
    }
}
