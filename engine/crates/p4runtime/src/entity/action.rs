// SPDX-License-Identifier: Apache-2.0
//! Actions with their arguments: between P4Runtime's messages (ids, binary strings) and the engine's (names, values).

use slotwise_p4::ActionCall;

use crate::error::ApiError;
use crate::p4info::{P4Info, Scope, Table};
use crate::proto::p4::v1;

/// Checks an action of a table and its arguments.
pub(super) fn parse(
    info: &P4Info,
    table: &Table,
    action: &v1::Action,
    is_default: bool,
) -> Result<ActionCall, ApiError> {
    let described = info
        .actions
        .get(&action.action_id)
        .zip(table.actions.get(&action.action_id));
    let Some((described, scope)) = described else {
        return Err(ApiError::invalid(format!(
            "action ID {:#010x} does not belong to the table",
            action.action_id
        )));
    };
    match (scope, is_default) {
        (Scope::TableOnly, true) => {
            return Err(ApiError::denied(format!(
                "{} cannot be the default action",
                described.name
            )));
        }
        (Scope::DefaultOnly, false) => {
            return Err(ApiError::denied(format!(
                "{} can only be the default action",
                described.name
            )));
        }
        _ => {}
    }
    let in_action = |error: ApiError| error.at(format_args!("action {}", described.name));
    if action.params.len() != described.params.len() {
        let (given, wanted) = (action.params.len(), described.params.len());
        return Err(in_action(ApiError::invalid(format!(
            "wrong number of parameters; expected {wanted}, got {given}"
        ))));
    }
    let args = described.params.iter().map(|param| {
        let given = action.params.iter().find(|given| given.param_id == param.id);
        let given =
            given.ok_or_else(|| ApiError::invalid(format!("parameter {} (id {}) is missing", param.name, param.id)))?;
        let value = param.parse(&given.value);
        value.map_err(|error| error.at(format_args!("parameter {}", param.name)))
    });
    let args = args.collect::<Result<Vec<_>, _>>().map_err(in_action)?;
    Ok(ActionCall {
        name: described.name.clone(),
        args,
    })
}

/// An action for an answer; `None` if P4Info does not name it (then the client could not read it).
pub(super) fn encode(info: &P4Info, call: &ActionCall) -> Option<v1::Action> {
    let action = &info.actions[info.action_ids.get(&call.name)?];
    let params = action
        .params
        .iter()
        .zip(&call.args)
        .map(|(param, value)| v1::action::Param {
            param_id: param.id,
            value: param.encode(value),
        });
    Some(v1::Action {
        action_id: action.id,
        params: params.collect(),
    })
}
