// SPDX-License-Identifier: Apache-2.0
//! What P4Runtime keeps of entities beside the pipeline, in bytes of memory: upper bounds, as allocations are.

use prost::Message;
use slotwise_p4::{Held, MAX_GROUP_SIZE, Memory};

use super::{ActionSet, Books, EntryId, Note};
use crate::error::ApiError;
use crate::proto::p4::v1;

/// A place in a map, whose leaves are half empty.
const PLACE_BYTES: usize = 128;
/// A field of a key: a value and a mask of some bytes each.
const FIELD_BYTES: usize = 160;
/// A replica, member or port of a message, with its allocation.
const ITEM_BYTES: usize = 128;
/// An action of an action set: with its parameters, as a message and as a call.
const ACTION_BYTES: usize = 512;
/// Copies of what an action set says in its message: as a message, and as calls whose values are larger.
const SET_COPIES: usize = 4;

/// An entry's note: with its key, and both again for its idle timeout.
pub(super) fn note(id: &EntryId, note: &Note) -> u64 {
    if *note == Note::default() {
        return 0;
    }
    (3 * entry(id) + 2 * note.metadata.len()) as u64
}

/// A group, with its members in the pipeline as if all ports were up.
pub(super) fn group(group: &v1::ActionProfileGroup) -> u64 {
    let weights = group.members.iter().map(|member| member.weight);
    (2 * PLACE_BYTES + group.members.len() * ITEM_BYTES) as u64 + members(weights)
}

/// What a group of these weights takes in the pipeline.
fn members(weights: impl Iterator<Item = i32>) -> u64 {
    let total: u64 = weights.map(|weight| u64::try_from(weight).unwrap_or(0).max(1)).sum();
    total.min(MAX_GROUP_SIZE as u64) * size_of::<u32>() as u64
}

pub(super) fn multicast(entry: &v1::MulticastGroupEntry) -> u64 {
    replicas(&entry.replicas) + entry.metadata.len() as u64
}

pub(super) fn session(entry: &v1::CloneSessionEntry) -> u64 {
    replicas(&entry.replicas)
}

fn replicas(replicas: &[v1::Replica]) -> u64 {
    let items: usize = replicas.iter().map(|replica| 1 + replica.backup_replicas.len()).sum();
    (PLACE_BYTES + items * ITEM_BYTES) as u64
}

pub(super) fn one_shot(id: &EntryId, set: &ActionSet) -> u64 {
    let message = set.message();
    let actions = &message.action_profile_actions;
    let bytes = actions.len() * ACTION_BYTES + message.encoded_len() * SET_COPIES;
    (entry(id) + PLACE_BYTES + bytes) as u64 + members(actions.iter().map(|action| action.weight))
}

/// The place of an entry, with its key.
fn entry(id: &EntryId) -> usize {
    let fields = match id {
        EntryId::Default { .. } => 0,
        EntryId::Match { key, .. } => key.len(),
    };
    PLACE_BYTES + fields * FIELD_BYTES
}

impl Books {
    /// Empty; what is put in is charged to `memory`.
    pub fn within(memory: &Memory) -> Books {
        Books {
            held: Held::of(memory),
            ..Books::default()
        }
    }

    /// Charges for what takes `after` bytes in place of what took `before`; an error changes nothing.
    pub(super) fn charge(&mut self, before: u64, after: u64) -> Result<(), ApiError> {
        let changed = self.held.change(before, after);
        changed.map_err(|error| ApiError::exhausted(error.to_string()))
    }

    /// As [`Books::charge`], for what was there before, whose memory is kept for the length of a batch.
    pub(super) fn charge_again(&mut self, before: u64, after: u64) {
        let _ = self.held.change(before, after);
    }

    /// A copy, if there is memory for it.
    pub fn try_clone(&self) -> Result<Books, ApiError> {
        let mut held = Held::of(self.held.memory());
        held.grow(self.held.bytes())
            .map_err(|error| ApiError::exhausted(error.to_string()))?;
        Ok(Books {
            held,
            notes: self.notes.clone(),
            groups: self.groups.clone(),
            one_shots: self.one_shots.clone(),
            one_shot_counts: self.one_shot_counts.clone(),
            free_ids: self.free_ids.clone(),
            used_ids: self.used_ids,
            multicast: self.multicast.clone(),
            clones: self.clones.clone(),
            digests: self.digests.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_count_as_the_members_that_they_become() {
        let member = |weight| v1::action_profile_group::Member {
            member_id: 1,
            weight,
            watch_kind: None,
        };
        let of = |members| {
            group(&v1::ActionProfileGroup {
                members,
                ..v1::ActionProfileGroup::default()
            })
        };
        assert_eq!(of(vec![member(60_000)]) - of(vec![member(1)]), 59_999 * 4);
        assert_eq!(of(vec![member(1); 100]) - of(vec![]), 100 * (ITEM_BYTES as u64 + 4));
        // More are refused anyway.
        assert!(of(vec![member(i32::MAX); 100]) < 1 << 20);
    }
}
