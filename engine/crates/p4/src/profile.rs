// SPDX-License-Identifier: Apache-2.0
//! Action profiles: actions that entries share, alone or in groups that a hash selects from.

use crate::action::Machine;
use crate::codec::write_bits;
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
        let packet = &mut *machine.packet;
        let mut bytes = std::mem::take(&mut packet.bytes);
        bytes.clear();
        let mut bits = 0;
        for field in &selector.input {
            let end = bits + field.width as usize;
            bytes.resize(end.div_ceil(8), 0);
            write_bits(&mut bytes, bits, field.width, &packet.words[field.slot..]);
            bits = end;
        }
        let hash = selector.algorithm.compute(&bytes);
        packet.bytes = bytes;
        self.member(members[(hash % members.len() as u64) as usize])
    }
}
