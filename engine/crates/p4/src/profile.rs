// SPDX-License-Identifier: Apache-2.0
//! Action profiles: actions that entries share, alone or in groups that a hash selects from.

use crate::action::Machine;
use crate::calculation;
use crate::ir::ActionProfile;
use crate::table::EntryAction;
use std::collections::BTreeMap;

/// Members and groups of one action profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub members: BTreeMap<u32, EntryAction>,
    /// Each member once for each unit of its weight, in order of the ids.
    pub groups: BTreeMap<u32, Vec<u32>>,
}

impl Profile {
    pub fn member(&self, member: u32) -> Option<&EntryAction> {
        self.members.get(&member)
    }

    /// The member that the packet's hash selects; none from an empty group.
    pub fn select(&self, group: u32, profile: &ActionProfile, machine: &mut Machine) -> Option<&EntryAction> {
        let members = self.groups.get(&group)?;
        let selector = profile.selector.as_ref()?;
        if members.is_empty() {
            return None;
        }
        let hash = calculation::compute(machine.ir, selector, machine.packet, &[]);
        self.member(members[(hash % members.len() as u64) as usize])
    }
}
