// SPDX-License-Identifier: Apache-2.0
//! Writes to members of action profiles.

use slotwise_p4::{ActionCall, ConfigError};

use super::{Operation, State, Undo, action};
use crate::error::ApiError;
use crate::p4info::P4Info;
use crate::proto::p4::v1::{self, update};

struct WriteMember {
    profile: u32,
    member: u32,
    change: Change,
}

enum Change {
    Insert(ActionCall),
    Modify(ActionCall),
    Delete,
}

pub(super) fn plan(
    info: &P4Info,
    kind: update::Type,
    member: &v1::ActionProfileMember,
) -> Result<Box<dyn Operation>, ApiError> {
    let profile = info.profile(member.action_profile_id)?;
    let at = |error: ApiError| error.at(format_args!("action profile {}", profile.name));
    if member.member_id == 0 {
        return Err(at(ApiError::invalid("invalid member ID 0")));
    }
    let call = || {
        let table = profile
            .table
            .ok_or_else(|| ApiError::invalid("not used by any table"))?;
        let action = member
            .action
            .as_ref()
            .ok_or_else(|| ApiError::invalid("member without an action"))?;
        action::parse(info, info.table(table)?, action, false)
    };
    let change = match kind {
        update::Type::Insert => Change::Insert(call().map_err(at)?),
        update::Type::Modify => Change::Modify(call().map_err(at)?),
        _ => Change::Delete,
    };
    Ok(Box::new(WriteMember {
        profile: profile.id,
        member: member.member_id,
        change,
    }))
}

/// Members and groups in use cannot go; the engine calls that invalid.
pub(super) fn in_use(error: ConfigError) -> ApiError {
    match error {
        ConfigError::Invalid(message) => ApiError::failed_precondition(message),
        other => other.into(),
    }
}

impl Operation for WriteMember {
    fn undo(&self, state: &State<'_>) -> Undo {
        let (name, member) = (state.info.objects.profiles[&self.profile].name.clone(), self.member);
        let before = state.pipeline.member(&name, member).ok().flatten();
        Box::new(move |state| {
            // Everything after it has been taken back, so it fits, and nothing names a member that was new.
            let _ = match before {
                Some(action) => state.pipeline.member_set(&name, member, &action),
                None => state.pipeline.member_remove(&name, member),
            };
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let name = &state.info.objects.profiles[&self.profile].name;
        if state.books.has_one_shots(self.profile) {
            return Err(ApiError::invalid(format!(
                "members are not accepted: {name} already uses action sets"
            )));
        }
        let (profile, member) = (self.profile, self.member);
        let is_there = state.pipeline.member(name, member)?.is_some();
        match (&self.change, is_there) {
            (Change::Insert(_), true) => Err(ApiError::already_exists(format!(
                "{name} already has a member {member}"
            ))),
            (Change::Modify(_) | Change::Delete, false) => {
                Err(ApiError::not_found(format!("{name} has no member {member}")))
            }
            (Change::Insert(action) | Change::Modify(action), _) => {
                Ok(state.pipeline.member_set(name, member, action)?)
            }
            (Change::Delete, true) => {
                // The engine does not know members that are out of their groups while their port is down.
                let mut groups = state.books.groups.range((profile, 0)..=(profile, u32::MAX));
                if groups.any(|(_, group)| group.members.iter().any(|it| it.member_id == member)) {
                    return Err(ApiError::failed_precondition(format!(
                        "member {member} of {name} is in a group"
                    )));
                }
                state.pipeline.member_remove(name, member).map_err(in_use)
            }
        }
    }
}
