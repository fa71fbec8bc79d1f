// SPDX-License-Identifier: Apache-2.0
//! Action profiles: actions that entries share, alone or in groups that a hash selects from.

use crate::action::Machine;
use crate::calculation;
use crate::ir::ActionProfile;
use crate::table::{Effect, EntryAction};
use std::collections::BTreeMap;

/// Members and groups of one action profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub members: BTreeMap<u32, EntryAction>,
    /// Each member once for each unit of its weight, in order of the ids.
    pub groups: BTreeMap<u32, Vec<u32>>,
    /// How many groups and entries name a member; those that none does are not there.
    pub member_uses: BTreeMap<u32, usize>,
    /// How many entries name a group; those that none does are not there.
    pub group_uses: BTreeMap<u32, usize>,
}

fn hold(uses: &mut BTreeMap<u32, usize>, id: u32) {
    *uses.entry(id).or_default() += 1;
}

fn release(uses: &mut BTreeMap<u32, usize>, id: u32) {
    if let Some(count) = uses.get_mut(&id) {
        *count -= 1;
        if *count == 0 {
            uses.remove(&id);
        }
    }
}

impl Profile {
    /// An entry has this effect now.
    pub fn hold(&mut self, effect: &Effect) {
        match effect {
            Effect::Action(_) => {}
            Effect::Member(member) => hold(&mut self.member_uses, *member),
            Effect::Group(group) => hold(&mut self.group_uses, *group),
        }
    }

    /// An entry does not have this effect any more.
    pub fn release(&mut self, effect: &Effect) {
        match effect {
            Effect::Action(_) => {}
            Effect::Member(member) => release(&mut self.member_uses, *member),
            Effect::Group(group) => release(&mut self.group_uses, *group),
        }
    }

    /// Puts a group in place, or takes it away; its members are expanded and in order.
    pub fn replace_group(&mut self, group: u32, members: Option<Vec<u32>>) {
        let distinct =
            |members: &Vec<u32>| -> Vec<u32> { members.chunk_by(|a, b| a == b).map(|same| same[0]).collect() };
        members
            .iter()
            .flat_map(distinct)
            .for_each(|member| hold(&mut self.member_uses, member));
        let before = match members {
            Some(members) => self.groups.insert(group, members),
            None => self.groups.remove(&group),
        };
        before
            .iter()
            .flat_map(distinct)
            .for_each(|member| release(&mut self.member_uses, member));
    }

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
