// SPDX-License-Identifier: Apache-2.0
//! Writes to value sets, and to what digests are sent.

use std::collections::BTreeSet;

use slotwise_p4::{Bits, KeyField};

use super::{Books, Operation, State, Undo, key, only_modify};
use crate::error::ApiError;
use crate::p4info::{MatchType, P4Info, ValueSet, find};
use crate::proto::p4::v1::{self, digest_entry::Config, update};

/// Replaces the members of a value set.
struct WriteValueSet {
    name: String,
    members: Vec<Vec<Bits>>,
}

pub(super) fn plan_value_set(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::ValueSetEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let set = find(&info.objects.value_sets, "value set", entry.value_set_id)?;
    let planned = only_modify(kind, "a value set").and_then(|()| parse_members(set, entry));
    let members = planned.map_err(|error| error.at(format_args!("value set {}", set.name)))?;
    Ok(Box::new(WriteValueSet {
        name: set.name.clone(),
        members,
    }))
}

fn parse_members(set: &ValueSet, entry: &v1::ValueSetEntry) -> Result<Vec<Vec<Bits>>, ApiError> {
    if set.fields.iter().any(|field| field.kind != MatchType::Exact) {
        return Err(ApiError::unimplemented("value sets support only exact matches"));
    }
    if entry.members.len() > set.size {
        let given = entry.members.len();
        return Err(ApiError::exhausted(format!(
            "{given} members; expected at most {}",
            set.size
        )));
    }
    let mut seen = BTreeSet::new();
    let mut members = Vec::with_capacity(entry.members.len());
    for member in &entry.members {
        let exact = |field| match field {
            KeyField::Exact(value) => Some(value),
            _ => None,
        };
        let values: Vec<_> = key::parse_key(&set.fields, &member.r#match)?
            .into_iter()
            .filter_map(exact)
            .collect();
        if !seen.insert(values.clone()) {
            return Err(ApiError::already_exists("duplicate member"));
        }
        members.push(values);
    }
    Ok(members)
}

impl Operation for WriteValueSet {
    fn undo(&self, state: &State<'_>) -> Undo {
        let name = self.name.clone();
        let before = state.pipeline.value_set_read(&name).unwrap_or_default();
        Box::new(move |state| {
            // They were its members before.
            let _ = state.pipeline.value_set_write(&name, &before);
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        Ok(state.pipeline.value_set_write(&self.name, &self.members)?)
    }
}

/// Says whether and how a digest is sent.
struct WriteDigest {
    kind: update::Type,
    digest: u32,
    config: Config,
}

pub(super) fn plan_digest(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::DigestEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let digest = find(&info.objects.digests, "digest", entry.digest_id)?;
    let config = entry.config.unwrap_or_default();
    let invalid = |what: &str| Err(ApiError::invalid(format!("digest {:#010x}: {what}", digest.id)));
    if kind != update::Type::Delete {
        if digest.shape.is_none() {
            return Err(ApiError::unimplemented("digests of this type are not supported"));
        }
        if config.max_timeout_ns < 0 || config.ack_timeout_ns < 0 || config.max_list_size < 0 {
            return invalid("negative timeout or size");
        }
    }
    Ok(Box::new(WriteDigest {
        kind,
        digest: digest.id,
        config,
    }))
}

impl Operation for WriteDigest {
    fn undo(&self, state: &State<'_>) -> Undo {
        let id = self.digest;
        let before = state.books.digests.get(&id).copied();
        Box::new(move |state| Books::put(&mut state.books.digests, id, before))
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let id = self.digest;
        match (self.kind, state.books.digests.contains_key(&id)) {
            (update::Type::Insert, true) => {
                return Err(ApiError::already_exists(format!(
                    "digest {id:#010x} is already enabled"
                )));
            }
            (update::Type::Modify | update::Type::Delete, false) => {
                return Err(ApiError::not_found(format!("digest {id:#010x} is not enabled")));
            }
            _ => {}
        }
        state.touched.digests = true;
        Books::put(
            &mut state.books.digests,
            id,
            (self.kind != update::Type::Delete).then_some(self.config),
        );
        Ok(())
    }
}
