// SPDX-License-Identifier: Apache-2.0
//! What packets and table entries of a program may look like, from its JSON and P4Info.

use serde_json::Value;
use slotwise_p4runtime::proto::p4::config::v1 as config;
use std::collections::BTreeMap;

/// Bits of a value, most significant first.
pub type BitString = Vec<bool>;

/// Header instance, or stack, and field.
pub type FieldName = (String, String);

/// A program as the generator sees it. What it does not understand it leaves out.
pub struct Model {
    /// Fields and widths of each header instance; a stack stands for its elements.
    pub headers: BTreeMap<String, Vec<(String, usize)>>,
    pub states: BTreeMap<String, State>,
    pub start: String,
    pub tables: Vec<Table>,
}

#[derive(Default)]
pub struct State {
    pub extracts: Vec<String>,
    /// `None`: not a field.
    pub key: Vec<Option<FieldName>>,
    pub transitions: Vec<Transition>,
}

pub struct Transition {
    /// For each part of the key, value and mask; empty for the default.
    pub parts: Vec<(BitString, BitString)>,
    pub next: Option<String>,
}

pub struct Table {
    pub name: String,
    pub key: Vec<Key>,
    pub actions: Vec<Action>,
    pub size: usize,
}

pub struct Key {
    pub name: String,
    pub kind: config::match_field::MatchType,
    pub width: usize,
    pub field: Option<FieldName>,
}

pub struct Action {
    pub name: String,
    pub params: Vec<(String, usize)>,
}

impl Model {
    pub fn new(json: &Value, p4info: &config::P4Info) -> Model {
        let (states, start) = states(json);
        Model {
            headers: headers(json),
            states,
            start,
            tables: tables(json, p4info),
        }
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn headers(json: &Value) -> BTreeMap<String, Vec<(String, usize)>> {
    let fields = |header_type: &Value| {
        let fields = items(header_type, "fields");
        // A variable field has no width of its own: it stays empty.
        let field = |field: &Value| {
            Some((
                field.get(0)?.as_str()?.to_owned(),
                field.get(1)?.as_u64().unwrap_or(0) as usize,
            ))
        };
        fields.filter_map(field).collect::<Vec<_>>()
    };
    let types: BTreeMap<String, _> = items(json, "header_types")
        .map(|t| (text(t, "name"), fields(t)))
        .collect();
    let instances = items(json, "headers").chain(items(json, "header_stacks"));
    let typed = |instance: &Value| {
        Some((
            text(instance, "name"),
            types.get(&text(instance, "header_type"))?.clone(),
        ))
    };
    instances.filter_map(typed).collect()
}

fn field_name(value: &Value) -> Option<FieldName> {
    let name = value.get("value")?;
    Some((name.get(0)?.as_str()?.to_owned(), name.get(1)?.as_str()?.to_owned()))
}

fn states(json: &Value) -> (BTreeMap<String, State>, String) {
    let Some(parser) = items(json, "parsers").next() else {
        return Default::default();
    };
    let widths = headers(json);
    let width = |field: &FieldName| {
        let fields = widths.get(&field.0)?;
        fields
            .iter()
            .find(|(name, _)| *name == field.1)
            .map(|(_, width)| *width)
    };
    let mut states = BTreeMap::new();
    for state in items(parser, "parse_states") {
        let is_extract = |op: &&Value| text(op, "op") == "extract";
        let extracted = |op: &Value| op.get("parameters")?.get(0)?.get("value")?.as_str().map(str::to_owned);
        let key: Vec<Option<FieldName>> = items(state, "transition_key").map(field_name).collect();
        let key_widths: Vec<usize> = key
            .iter()
            .map(|part| part.as_ref().and_then(&width).unwrap_or(0))
            .collect();
        let transition = |transition: &Value| {
            let next = transition.get("next_state").and_then(Value::as_str).map(str::to_owned);
            let value = transition.get("value").and_then(Value::as_str);
            let parts = match (text(transition, "type").as_str(), value) {
                ("hexstr", Some(value)) => {
                    let mask = transition.get("mask").and_then(Value::as_str);
                    let values = split(value, &key_widths);
                    let masks = mask.map_or_else(|| ones(&key_widths), |mask| split(mask, &key_widths));
                    values.into_iter().zip(masks).collect()
                }
                _ => Vec::new(),
            };
            Transition { parts, next }
        };
        let found = State {
            extracts: items(state, "parser_ops")
                .filter(is_extract)
                .filter_map(extracted)
                .collect(),
            transitions: items(state, "transitions").map(transition).collect(),
            key,
        };
        states.insert(text(state, "name"), found);
    }
    (states, text(parser, "init_state"))
}

fn ones(widths: &[usize]) -> Vec<BitString> {
    widths.iter().map(|&width| vec![true; width]).collect()
}

/// The parts of a transition's value: each is padded to whole bytes.
fn split(hex: &str, widths: &[usize]) -> Vec<BitString> {
    let mut bits: BitString = Vec::new();
    for digit in hex.trim_start_matches("0x").chars() {
        let digit = digit.to_digit(16).unwrap_or(0);
        bits.extend((0..4).rev().map(|bit| digit >> bit & 1 == 1));
    }
    let mut parts = Vec::new();
    for &width in widths.iter().rev() {
        let padded = width.div_ceil(8) * 8;
        let part = bits.split_off(bits.len().saturating_sub(padded));
        let missing = width.saturating_sub(part.len());
        let kept = &part[part.len().saturating_sub(width)..];
        parts.push([vec![false; missing], kept.to_vec()].concat());
    }
    parts.reverse();
    parts
}

fn tables(json: &Value, p4info: &config::P4Info) -> Vec<Table> {
    let mut targets: BTreeMap<(String, String), FieldName> = BTreeMap::new();
    for table in items(json, "pipelines").flat_map(|pipeline| items(pipeline, "tables")) {
        for key in items(table, "key") {
            let target = key
                .get("target")
                .and_then(|t| Some((t.get(0)?.as_str()?.to_owned(), t.get(1)?.as_str()?.to_owned())));
            if let Some(target) = target {
                targets.insert((text(table, "name"), text(key, "name")), target);
            }
        }
    }
    let name =
        |preamble: &Option<config::Preamble>| preamble.as_ref().map(|p| (p.id, p.name.clone())).unwrap_or_default();
    let actions: BTreeMap<u32, &config::Action> = p4info.actions.iter().map(|a| (name(&a.preamble).0, a)).collect();
    let table = |table: &config::Table| {
        let table_name = name(&table.preamble).1;
        let key = table.match_fields.iter().map(|field| Key {
            name: field.name.clone(),
            kind: match field.r#match {
                Some(config::match_field::Match::MatchType(kind)) => kind.try_into().unwrap_or_default(),
                _ => config::match_field::MatchType::Unspecified,
            },
            width: usize::try_from(field.bitwidth).unwrap_or(0),
            field: targets.get(&(table_name.clone(), field.name.clone())).cloned(),
        });
        let in_entries = |reference: &&config::ActionRef| reference.scope() != config::action_ref::Scope::DefaultOnly;
        let action = |reference: &config::ActionRef| {
            let action = actions.get(&reference.id)?;
            let params = action
                .params
                .iter()
                .map(|p| (p.name.clone(), usize::try_from(p.bitwidth).unwrap_or(0)));
            Some(Action {
                name: name(&action.preamble).1,
                params: params.collect(),
            })
        };
        Table {
            key: key.collect(),
            actions: table.action_refs.iter().filter(in_entries).filter_map(action).collect(),
            size: usize::try_from(table.size).unwrap_or(0),
            name: table_name,
        }
    };
    let writable = |table: &&config::Table| !table.is_const_table && !table.match_fields.is_empty();
    p4info.tables.iter().filter(writable).map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_transition_are_padded_to_bytes() {
        let bits = |text: &str| text.chars().map(|c| c == '1').collect::<Vec<_>>();
        assert_eq!(split("0x0305", &[3, 8]), [bits("011"), bits("00000101")]);
        assert_eq!(split("0x05", &[3, 8]), [bits("000"), bits("00000101")]);
    }
}
