// SPDX-License-Identifier: Apache-2.0
//! Action profiles, and entries of the tables that use them.

use super::tables::{pack_action, pack_key, unpack_action};
use super::{PLACE_BYTES, Result, invalid, named, not_found};
use crate::api::{ActionCall, ConfigError, KeyField};
use crate::ir::{Ir, Table};
use crate::pipeline::Pipeline;
use crate::table::Effect;

/// Most members of one group, weights counted.
pub const MAX_GROUP_SIZE: usize = 1 << 16;

/// What an entry of a table with an action profile names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indirect {
    /// A member of the profile.
    Member(u32),
    /// A group of it; the packet's hash selects a member.
    Group(u32),
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightedMember {
    /// Its id in the profile.
    pub member: u32,
    /// How often it counts, at least 1.
    pub weight: u32,
}

/// What a member takes at most, whatever its action.
fn member_bytes(ir: &Ir, table: &Table) -> u64 {
    PLACE_BYTES + 8 * super::arg_words(ir, table) as u64
}

impl Pipeline {
    fn profile_index(&self, profile: &str) -> Result<usize> {
        named(&self.ir.profiles, |p| &p.name, "action profile", profile)
    }

    /// Adds a member, or changes its action.
    pub fn member_set(&mut self, profile: &str, member: u32, action: &ActionCall) -> Result<()> {
        let index = self.profile_index(profile)?;
        // All tables of a profile have the same actions; the loader has checked it.
        let Some(table) = self.ir.tables.iter().find(|t| t.profile == Some(index)) else {
            return not_found(format!("no table uses action profile `{profile}`"));
        };
        let action = pack_action(&self.ir, table, action)?;
        let members = &mut self.profiles[index].members;
        if !members.contains_key(&member) {
            if members.len() >= self.ir.profiles[index].max_size {
                return Err(ConfigError::Exhausted(format!("action profile `{profile}` is full")));
            }
            self.held.grow(member_bytes(&self.ir, table))?;
        }
        members.insert(member, action);
        Ok(())
    }

    /// Removes a member that no group and no entry names.
    pub fn member_remove(&mut self, profile: &str, member: u32) -> Result<()> {
        let index = self.profile_index(profile)?;
        if self.profiles[index].member_uses.contains_key(&member) {
            return invalid(format!("member {member} of `{profile}` is in use"));
        }
        match self.profiles[index].members.remove(&member) {
            Some(_) => {
                let table = self.ir.tables.iter().find(|t| t.profile == Some(index));
                self.held.shrink(table.map_or(0, |table| member_bytes(&self.ir, table)));
                Ok(())
            }
            None => not_found(format!("`{profile}` has no member {member}")),
        }
    }

    /// The action of a member; `None` if there is no such member.
    pub fn member(&self, profile: &str, member: u32) -> Result<Option<ActionCall>> {
        let index = self.profile_index(profile)?;
        let table = self.ir.tables.iter().find(|t| t.profile == Some(index));
        let action = self.profiles[index].members.get(&member);
        Ok(table
            .zip(action)
            .map(|(table, action)| unpack_action(&self.ir, table, action)))
    }

    /// All members, by id.
    pub fn members(&self, profile: &str) -> Result<Vec<(u32, ActionCall)>> {
        let index = self.profile_index(profile)?;
        let table = self.ir.tables.iter().find(|t| t.profile == Some(index));
        let members = self.profiles[index].members.iter();
        let call = |(&id, action)| table.map(|table| (id, unpack_action(&self.ir, table, action)));
        Ok(members.filter_map(call).collect())
    }

    /// Whether a profile has members or groups.
    pub fn has_members(&self, profile: &str) -> Result<bool> {
        let profile = &self.profiles[self.profile_index(profile)?];
        Ok(!profile.members.is_empty() || !profile.groups.is_empty())
    }

    /// At most `limit` members from the id `from` on, by id.
    pub fn member_page(&self, profile: &str, from: u32, limit: usize) -> Result<Vec<(u32, ActionCall)>> {
        let index = self.profile_index(profile)?;
        let table = self.ir.tables.iter().find(|t| t.profile == Some(index));
        let members = self.profiles[index].members.range(from..).take(limit);
        let call = |(&id, action)| table.map(|table| (id, unpack_action(&self.ir, table, action)));
        Ok(members.filter_map(call).collect())
    }

    /// Adds a group, or replaces its members.
    pub fn group_set(&mut self, profile: &str, group: u32, members: &[WeightedMember]) -> Result<()> {
        let index = self.profile_index(profile)?;
        if self.ir.profiles[index].selector.is_none() {
            return invalid(format!("`{profile}` has no selector, so it has no groups"));
        }
        let total: u64 = members.iter().map(|m| u64::from(m.weight)).sum();
        if total > MAX_GROUP_SIZE as u64 {
            return Err(ConfigError::Exhausted(format!(
                "weights of a group sum up to at most {MAX_GROUP_SIZE}"
            )));
        }
        for member in members {
            if member.weight == 0 {
                return invalid("the weight of a member is at least 1");
            }
            if !self.profiles[index].members.contains_key(&member.member) {
                return not_found(format!("`{profile}` has no member {}", member.member));
            }
        }
        let expand = |member: &WeightedMember| std::iter::repeat_n(member.member, member.weight as usize);
        let mut expanded: Vec<u32> = Vec::with_capacity(total as usize);
        expanded.extend(members.iter().flat_map(expand));
        expanded.sort_unstable();
        self.profiles[index].replace_group(group, Some(expanded));
        Ok(())
    }

    /// Removes a group that no entry names.
    pub fn group_remove(&mut self, profile: &str, group: u32) -> Result<()> {
        let index = self.profile_index(profile)?;
        if self.profiles[index].group_uses.contains_key(&group) {
            return invalid(format!("group {group} of `{profile}` is in use"));
        }
        if !self.profiles[index].groups.contains_key(&group) {
            return not_found(format!("`{profile}` has no group {group}"));
        }
        self.profiles[index].replace_group(group, None);
        Ok(())
    }

    /// All groups, by id.
    pub fn groups(&self, profile: &str) -> Result<Vec<(u32, Vec<WeightedMember>)>> {
        let index = self.profile_index(profile)?;
        let weigh = |expanded: &Vec<u32>| {
            expanded
                .chunk_by(|a, b| a == b)
                .map(|same| WeightedMember {
                    member: same[0],
                    weight: same.len() as u32,
                })
                .collect()
        };
        Ok(self.profiles[index]
            .groups
            .iter()
            .map(|(&id, expanded)| (id, weigh(expanded)))
            .collect())
    }

    fn indirect_effect(&self, table: &str, target: Indirect) -> Result<(usize, Effect)> {
        let index = self.table_index(table)?;
        let Some(profile) = self.ir.tables[index].profile else {
            return invalid(format!("table `{table}` has no action profile"));
        };
        let profile = &self.profiles[profile];
        match target {
            Indirect::Member(id) if profile.members.contains_key(&id) => Ok((index, Effect::Member(id))),
            Indirect::Group(id) if profile.groups.contains_key(&id) => Ok((index, Effect::Group(id))),
            Indirect::Member(id) => not_found(format!("no member {id}")),
            Indirect::Group(id) => not_found(format!("no group {id}")),
        }
    }

    /// Adds an entry to a table with an action profile.
    pub fn indirect_insert(&mut self, table: &str, key: &[KeyField], priority: i32, target: Indirect) -> Result<()> {
        let (index, effect) = self.indirect_effect(table, target)?;
        let key = pack_key(&self.ir.tables[index], key, priority)?;
        self.insert_effect(index, key, effect)
    }

    /// Changes what an entry names.
    pub fn indirect_modify(&mut self, table: &str, key: &[KeyField], priority: i32, target: Indirect) -> Result<()> {
        let (index, effect) = self.indirect_effect(table, target)?;
        let key = pack_key(&self.ir.tables[index], key, priority)?;
        self.modify_effect(index, &key, effect)
    }

    /// What each entry of a table with an action profile names, in the order of [`Pipeline::table_entries`].
    pub fn indirect_entries(&self, table: &str) -> Result<Vec<Indirect>> {
        let index = self.table_index(table)?;
        let target = |effect: &Effect| match effect {
            Effect::Action(_) => None,
            Effect::Member(id) => Some(Indirect::Member(*id)),
            Effect::Group(id) => Some(Indirect::Group(*id)),
        };
        Ok(self.tables[index]
            .entries
            .iter_in_order()
            .filter_map(|entry| target(&entry.effect))
            .collect())
    }
}
