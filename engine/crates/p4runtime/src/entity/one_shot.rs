// SPDX-License-Identifier: Apache-2.0
//! One-shot programming of action selectors: an entry brings its own group and members.

use slotwise_p4::{ActionCall, Port};

use super::group::{WatchedMember, set_group};
use super::{State, action, port};
use crate::error::ApiError;
use crate::p4info::{P4Info, Profile, SizeSemantics, Table};
use crate::proto::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics as WantedSemantics};
use crate::proto::p4::v1::{self, action_profile_action::WatchKind};

/// A checked `ActionProfileActionSet`.
#[derive(Debug, Clone)]
pub(crate) struct ActionSet {
    /// For answers, in canonical form.
    message: v1::ActionProfileActionSet,
    actions: Vec<(ActionCall, u32, Option<Port>)>,
}

/// An action set in place.
#[derive(Debug, Clone)]
pub(crate) struct OneShot {
    set: ActionSet,
    group: u32,
    members: Vec<u32>,
}

impl ActionSet {
    pub(super) fn parse(
        info: &P4Info,
        table: &Table,
        profile: &Profile,
        set: &v1::ActionProfileActionSet,
    ) -> Result<ActionSet, ApiError> {
        if !profile.has_selector {
            return Err(ApiError::invalid("action sets are for tables with an action selector"));
        }
        check_modes(profile, set)?;
        let mut message = set.clone();
        let mut actions = Vec::with_capacity(set.action_profile_actions.len());
        let at = |error: ApiError| error.at("action set");
        for given in &mut message.action_profile_actions {
            let given_action = given
                .action
                .as_mut()
                .ok_or_else(|| at(ApiError::invalid("an action is missing")))?;
            let call = action::parse(info, table, given_action, false).map_err(at)?;
            *given_action = action::encode(info, &call).unwrap_or_default();
            let weight = weight(profile, given.weight).map_err(at)?;
            let watch = watch_port(given.watch_kind.as_ref()).map_err(at)?;
            if let Some(WatchKind::WatchPort(port)) = &mut given.watch_kind {
                *port = watch.map(port::encode).unwrap_or_default();
            }
            actions.push((call, weight, watch));
        }
        let weights = actions.iter().map(|(_, weight, _)| *weight);
        check_size(profile, profile.max_group_size, weights).map_err(|message| at(ApiError::invalid(message)))?;
        Ok(ActionSet { message, actions })
    }
}

impl ActionSet {
    /// The set as it was written.
    pub(super) fn message(&self) -> &v1::ActionProfileActionSet {
        &self.message
    }
}

fn check_modes(profile: &Profile, set: &v1::ActionProfileActionSet) -> Result<(), ApiError> {
    match set.action_selection_mode() {
        ActionSelectionMode::DefaultModeDeterminedByActionSelector | ActionSelectionMode::Hash => {}
        ActionSelectionMode::Random => return Err(ApiError::unimplemented("random selection is not supported")),
    }
    match (set.size_semantics(), profile.size_semantics) {
        (WantedSemantics::DefaultSizeDeterminedByActionSelector, _)
        | (WantedSemantics::SumOfWeights, SizeSemantics::SumOfWeights)
        | (WantedSemantics::SumOfMembers, SizeSemantics::SumOfMembers { .. }) => Ok(()),
        _ => Err(ApiError::unimplemented(
            "size semantics other than those of the selector are not supported",
        )),
    }
}

#[expect(deprecated, reason = "clients of P4Runtime 1.3 and before give ports as numbers")]
fn watch_port(watch: Option<&WatchKind>) -> Result<Option<Port>, ApiError> {
    match watch {
        None => Ok(None),
        Some(WatchKind::WatchPort(bytes)) if bytes.is_empty() => Ok(None),
        Some(WatchKind::WatchPort(bytes)) => port::parse(bytes).map(Some),
        Some(WatchKind::Watch(number)) => port::parse_number(i64::from(*number)).map(Some),
    }
}

/// Checks a weight; 0 stands for 1 where weights are disallowed.
pub(super) fn weight(profile: &Profile, weight: i32) -> Result<u32, ApiError> {
    match (u32::try_from(weight), profile.weights_disallowed) {
        (Ok(0), true) => Ok(1),
        (Ok(weight @ 1..), false) => Ok(weight),
        (_, true) => Err(ApiError::invalid(format!(
            "weight {weight}: the selector disallows weights (0)"
        ))),
        (_, false) => Err(ApiError::invalid(format!("weight {weight}; expected at least 1"))),
    }
}

/// Checks the size of a group of members with these weights; `max_size` 0 is no limit.
pub(super) fn check_size(
    profile: &Profile,
    max_size: u64,
    weights: impl Iterator<Item = u32> + Clone,
) -> Result<(), String> {
    let size = match profile.size_semantics {
        SizeSemantics::SumOfWeights => weights.map(u64::from).sum(),
        SizeSemantics::SumOfMembers { max_member_weight } => {
            if let Some(weight) = weights
                .clone()
                .find(|weight| max_member_weight > 0 && u64::from(*weight) > max_member_weight)
            {
                return Err(format!("weight {weight} is above the selector's {max_member_weight}"));
            }
            weights.count() as u64
        }
    };
    if max_size > 0 && size > max_size {
        return Err(format!("group of size {size}; expected at most {max_size}"));
    }
    Ok(())
}

/// The tables of a selector are written either with action sets or with members and groups.
pub(super) fn refuse_mix(state: &State<'_>, table: &Table, with_sets: bool) -> Result<(), ApiError> {
    let Some(profile) = table.profile else { return Ok(()) };
    let has_sets = state.books.has_one_shots(profile);
    let name = &state.info.profile(profile)?.name;
    if with_sets && !has_sets && state.pipeline.has_members(name)? {
        return Err(ApiError::invalid(
            "action sets are not accepted: the selector already uses members and groups",
        ));
    }
    if !with_sets && has_sets {
        return Err(ApiError::invalid(
            "members and groups are not accepted: the selector already uses action sets",
        ));
    }
    Ok(())
}

impl OneShot {
    /// Makes members and a group.
    pub(super) fn install(state: &mut State<'_>, table: &Table, set: ActionSet) -> Result<OneShot, ApiError> {
        let group = state.books.fresh_id()?;
        OneShot {
            set,
            group,
            members: Vec::new(),
        }
        .fill(state, table)
        .inspect_err(|_| state.books.free_id(group))
    }

    /// Makes the members and points the group at them.
    fn fill(mut self, state: &mut State<'_>, table: &Table) -> Result<OneShot, ApiError> {
        let name = profile_name(state.info, table);
        for (call, ..) in &self.set.actions {
            let added = state.books.fresh_id().and_then(|id| {
                let set = state.pipeline.member_set(name, id, call).map(|()| id);
                set.map_err(|error| {
                    state.books.free_id(id);
                    error.into()
                })
            });
            match added {
                Ok(id) => self.members.push(id),
                Err(error) => {
                    self.drop_members(state, table);
                    return Err(error);
                }
            }
        }
        if let Err(error) = self.refresh(state, table) {
            self.drop_members(state, table);
            return Err(error);
        }
        Ok(self)
    }

    /// Sets the group to the members whose ports are up.
    pub(super) fn refresh(&self, state: &mut State<'_>, table: &Table) -> Result<(), ApiError> {
        let members = self.members.iter().zip(&self.set.actions);
        let members = members.map(|(&member, &(_, weight, watch))| WatchedMember { member, weight, watch });
        set_group(
            state,
            profile_name(state.info, table),
            self.group,
            &members.collect::<Vec<_>>(),
        )
    }

    fn drop_members(&self, state: &mut State<'_>, table: &Table) {
        for &member in &self.members {
            // Made by us, and no group has it any more.
            let _ = state.pipeline.member_remove(profile_name(state.info, table), member);
            state.books.free_id(member);
        }
    }

    /// Removes group and members; the entry is gone.
    pub(super) fn remove(&self, state: &mut State<'_>, table: &Table) {
        // Made by us, and no entry names it any more.
        let _ = state.pipeline.group_remove(profile_name(state.info, table), self.group);
        self.drop_members(state, table);
        state.books.free_id(self.group);
    }

    /// Puts another set in its place. Gives what is in place then: the old one if the new one was refused.
    pub(super) fn replace(
        self,
        state: &mut State<'_>,
        table: &Table,
        set: ActionSet,
    ) -> Result<(OneShot, Result<(), ApiError>), ApiError> {
        state
            .pipeline
            .group_set(profile_name(state.info, table), self.group, &[])?;
        self.drop_members(state, table);
        let OneShot { set: old, group, .. } = self;
        let empty = |set| OneShot {
            set,
            group,
            members: Vec::new(),
        };
        match empty(set).fill(state, table) {
            Ok(new) => Ok((new, Ok(()))),
            // The old one fitted before.
            Err(error) => Ok((empty(old).fill(state, table)?, Err(error))),
        }
    }

    pub(super) fn set(&self) -> &ActionSet {
        &self.set
    }

    pub(super) fn group(&self) -> u32 {
        self.group
    }

    /// The set as it was written.
    pub(super) fn encode(&self) -> v1::ActionProfileActionSet {
        self.set.message.clone()
    }
}

fn profile_name<'a>(info: &'a P4Info, table: &Table) -> &'a str {
    table
        .profile
        .and_then(|id| info.objects.profiles.get(&id))
        .map_or("", |profile| &profile.name)
}
