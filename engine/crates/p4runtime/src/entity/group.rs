// SPDX-License-Identifier: Apache-2.0
//! Writes to groups of action selectors, and what a port that goes up or down does to them.

use std::collections::BTreeSet;

use slotwise_p4::{Port, WeightedMember};

use super::member::in_use;
use super::{Books, Operation, State, Undo, charge, one_shot, port, replication};
use crate::error::ApiError;
use crate::p4info::{P4Info, Profile};
use crate::proto::p4::v1::action_profile_group::{Member, member::WatchKind};
use crate::proto::p4::v1::{self, update};

/// A member of a group; it counts while its port is up.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchedMember {
    pub member: u32,
    pub weight: u32,
    pub watch: Option<Port>,
}

struct WriteGroup {
    kind: update::Type,
    profile: u32,
    /// In canonical form.
    group: v1::ActionProfileGroup,
}

pub(super) fn plan(
    info: &P4Info,
    kind: update::Type,
    group: &v1::ActionProfileGroup,
) -> Result<Box<dyn Operation>, ApiError> {
    let profile = info.profile(group.action_profile_id)?;
    let planned = plan_group(profile, kind, group);
    Ok(Box::new(planned.map_err(|error| {
        error.at(format_args!(
            "action profile {}, group {}",
            profile.name, group.group_id
        ))
    })?))
}

fn plan_group(profile: &Profile, kind: update::Type, group: &v1::ActionProfileGroup) -> Result<WriteGroup, ApiError> {
    if !profile.has_selector {
        return Err(ApiError::invalid("groups need a selector"));
    }
    if group.group_id == 0 {
        return Err(ApiError::invalid("invalid group ID 0"));
    }
    let mut group = group.clone();
    if kind != update::Type::Delete {
        let max_size = u64::try_from(group.max_size).map_err(|_| ApiError::invalid("max_size is negative"))?;
        if profile.max_group_size > 0 && !(1..=profile.max_group_size).contains(&max_size) {
            let wanted = profile.max_group_size;
            return Err(ApiError::invalid(format!(
                "max_size {max_size} is out of range; expected 1..={wanted}"
            )));
        }
        let mut ids = BTreeSet::new();
        let mut weights = Vec::with_capacity(group.members.len());
        for member in &mut group.members {
            if !ids.insert(member.member_id) {
                return Err(ApiError::invalid(format!("duplicate member {}", member.member_id)));
            }
            weights.push(one_shot::weight(profile, member.weight)?);
            let watch = watch_port(member)?;
            if let Some(WatchKind::WatchPort(port)) = &mut member.watch_kind {
                *port = watch.map(port::encode).unwrap_or_default();
            }
        }
        one_shot::check_size(profile, max_size, weights.into_iter()).map_err(ApiError::exhausted)?;
    }
    Ok(WriteGroup {
        kind,
        profile: profile.id,
        group,
    })
}

#[expect(deprecated, reason = "clients of P4Runtime 1.3 and before give ports as numbers")]
fn watch_port(member: &Member) -> Result<Option<Port>, ApiError> {
    match &member.watch_kind {
        None => Ok(None),
        Some(WatchKind::WatchPort(bytes)) if bytes.is_empty() => Ok(None),
        Some(WatchKind::WatchPort(bytes)) => port::parse(bytes).map(Some),
        Some(WatchKind::Watch(number)) => port::parse_number(i64::from(*number)).map(Some),
    }
}

/// Gives a group of the pipeline those of its members whose ports are up. All have to exist.
pub(super) fn set_group(
    state: &mut State<'_>,
    profile: &str,
    group: u32,
    members: &[WatchedMember],
) -> Result<(), ApiError> {
    let weighted = |it: &WatchedMember| WeightedMember {
        member: it.member,
        weight: it.weight,
    };
    let all: Vec<_> = members.iter().map(weighted).collect();
    state.pipeline.group_set(profile, group, &all)?;
    let is_up = |it: &&WatchedMember| it.watch.is_none_or(|port| !state.down.contains(&port));
    let live: Vec<_> = members.iter().filter(is_up).map(weighted).collect();
    if live.len() < all.len() {
        state.pipeline.group_set(profile, group, &live)?;
    }
    Ok(())
}

/// Puts a group as written into the pipeline.
fn realize(state: &mut State<'_>, profile: u32, group: &v1::ActionProfileGroup) -> Result<(), ApiError> {
    let profile = &state.info.objects.profiles[&profile];
    let members = group.members.iter().map(|member| {
        Ok(WatchedMember {
            member: member.member_id,
            weight: one_shot::weight(profile, member.weight)?,
            watch: watch_port(member)?,
        })
    });
    let members = members.collect::<Result<Vec<_>, ApiError>>()?;
    set_group(state, &profile.name, group.group_id, &members)
}

impl Operation for WriteGroup {
    fn undo(&self, state: &State<'_>) -> Undo {
        let key = (self.profile, self.group.group_id);
        let name = state.info.objects.profiles[&self.profile].name.clone();
        let before = state.books.groups.get(&key).cloned();
        Box::new(move |state| {
            // Everything after it has been taken back: members of before are there, and nothing names a new group.
            match &before {
                Some(group) => drop(realize(state, key.0, group)),
                None => drop(state.pipeline.group_remove(&name, key.1)),
            }
            let bytes = |group: Option<&v1::ActionProfileGroup>| group.map_or(0, charge::group);
            let now = bytes(state.books.groups.get(&key));
            state.books.charge_again(now, bytes(before.as_ref()));
            Books::put(&mut state.books.groups, key, before);
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let key = (self.profile, self.group.group_id);
        let name = &state.info.objects.profiles[&self.profile].name;
        if state.books.has_one_shots(self.profile) {
            return Err(ApiError::invalid(format!(
                "groups are not accepted: {name} already uses action sets"
            )));
        }
        let before = state.books.groups.get(&key);
        match (self.kind, before) {
            (update::Type::Insert, Some(_)) => {
                return Err(ApiError::already_exists(format!(
                    "{name} already has a group {}",
                    key.1
                )));
            }
            (update::Type::Modify | update::Type::Delete, None) => {
                return Err(ApiError::not_found(format!("{name} has no group {}", key.1)));
            }
            (update::Type::Modify, Some(before)) if before.max_size != self.group.max_size => {
                return Err(ApiError::invalid(format!(
                    "max_size is {} and cannot change",
                    before.max_size
                )));
            }
            _ => {}
        }
        let before = before.map_or(0, charge::group);
        if self.kind == update::Type::Delete {
            state.pipeline.group_remove(name, key.1).map_err(in_use)?;
            state.books.charge_again(before, 0);
            state.books.groups.remove(&key);
        } else {
            let after = charge::group(&self.group);
            state.books.charge(before, after)?;
            realize(state, self.profile, &self.group).inspect_err(|_| {
                state.books.charge_again(after, before);
            })?;
            state.books.groups.insert(key, self.group);
        }
        Ok(())
    }
}

/// After a port went up or down: groups get and lose members, multicast groups fall back to other ports.
pub(crate) fn refresh(state: &mut State<'_>) -> Result<(), ApiError> {
    for ((profile, _), group) in state.books.groups.clone() {
        realize(state, profile, &group)?;
    }
    for (id, one_shot) in state.books.one_shots.clone() {
        one_shot.refresh(state, &state.info.tables[&id.table()])?;
    }
    replication::refresh(state)
}
