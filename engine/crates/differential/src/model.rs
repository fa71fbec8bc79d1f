// SPDX-License-Identifier: Apache-2.0
//! What packets and table entries of a program may look like, from its JSON and P4Info.

use serde_json::Value;
use slotwise_p4runtime::proto::p4::config::v1 as config;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Tables whose default action may be changed.
    pub defaults: Vec<Fallback>,
    pub counters: Vec<Counter>,
    /// Numbers in its expressions.
    pub constants: Vec<u64>,
    /// Indirect meters: names and numbers of cells.
    pub meters: Vec<(String, u64)>,
}

/// An array of counters, or a table's direct counter.
pub struct Counter {
    pub name: String,
    pub size: usize,
    /// Whose direct counter it is.
    pub table: Option<String>,
    /// Whether it counts packets, and bytes.
    pub units: (bool, bool),
}

/// A table and the actions that may be its default.
pub struct Fallback {
    pub table: String,
    pub actions: Vec<Action>,
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
    /// A selector may choose among several actions.
    pub has_selector: bool,
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
            defaults: fallbacks(p4info),
            counters: counters(p4info),
            constants: constants(json).into_iter().collect(),
            meters: meters(p4info),
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
    let table = |table: &config::Table| {
        let table_name = name(table.preamble.as_ref());
        let key = table.match_fields.iter().map(|field| Key {
            name: field.name.clone(),
            kind: match field.r#match {
                Some(config::match_field::Match::MatchType(kind)) => kind.try_into().unwrap_or_default(),
                _ => config::match_field::MatchType::Unspecified,
            },
            width: usize::try_from(field.bitwidth).unwrap_or(0),
            field: targets.get(&(table_name.clone(), field.name.clone())).cloned(),
        });
        let selector = |profile: &&config::ActionProfile| id(profile.preamble.as_ref()) == table.implementation_id;
        Table {
            key: key.collect(),
            actions: actions(p4info, table, config::action_ref::Scope::DefaultOnly),
            size: usize::try_from(table.size).unwrap_or(0),
            has_selector: p4info
                .action_profiles
                .iter()
                .find(selector)
                .is_some_and(|profile| profile.with_selector),
            name: table_name,
        }
    };
    let writable = |table: &&config::Table| !table.is_const_table && !table.match_fields.is_empty();
    p4info.tables.iter().filter(writable).map(table).collect()
}

fn id(preamble: Option<&config::Preamble>) -> u32 {
    preamble.map_or(0, |preamble| preamble.id)
}

fn name(preamble: Option<&config::Preamble>) -> String {
    preamble.map_or_else(String::new, |preamble| preamble.name.clone())
}

/// The actions of a table but those of one scope.
fn actions(p4info: &config::P4Info, table: &config::Table, but: config::action_ref::Scope) -> Vec<Action> {
    let action = |reference: &config::ActionRef| {
        let mut all = p4info.actions.iter();
        let action = all.find(|action| id(action.preamble.as_ref()) == reference.id)?;
        let params = action
            .params
            .iter()
            .map(|p| (p.name.clone(), usize::try_from(p.bitwidth).unwrap_or(0)));
        Some(Action {
            name: name(action.preamble.as_ref()),
            params: params.collect(),
        })
    };
    let wanted = table.action_refs.iter().filter(|reference| reference.scope() != but);
    wanted.filter_map(action).collect()
}

/// Small numbers with which a program compares or computes.
fn constants(json: &Value) -> BTreeSet<u64> {
    if text(json, "type") == "hexstr" {
        let digits = text(json, "value");
        return u64::from_str_radix(digits.trim_start_matches("0x"), 16)
            .into_iter()
            .collect();
    }
    let parts: Vec<&Value> = match json {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    parts.into_iter().flat_map(constants).collect()
}

fn fallbacks(p4info: &config::P4Info) -> Vec<Fallback> {
    let may_change = |table: &&config::Table| table.const_default_action_id == 0 && table.implementation_id == 0;
    let fallback = |table: &config::Table| Fallback {
        table: name(table.preamble.as_ref()),
        actions: actions(p4info, table, config::action_ref::Scope::TableOnly),
    };
    p4info.tables.iter().filter(may_change).map(fallback).collect()
}

/// Of large arrays the first cells.
const MAX_CELLS: i64 = 1024;

fn counters(p4info: &config::P4Info) -> Vec<Counter> {
    use config::counter_spec::Unit;
    let units = |spec: &Option<config::CounterSpec>| match spec.as_ref().map(config::CounterSpec::unit) {
        Some(Unit::Packets) => (true, false),
        Some(Unit::Bytes) => (false, true),
        Some(Unit::Both) => (true, true),
        Some(Unit::Unspecified) | None => (false, false),
    };
    let array = |counter: &config::Counter| Counter {
        name: name(counter.preamble.as_ref()),
        size: counter.size.clamp(0, MAX_CELLS) as usize,
        table: None,
        units: units(&counter.spec),
    };
    let direct = |counter: &config::DirectCounter| {
        let mut tables = p4info.tables.iter();
        let table = tables.find(|table| id(table.preamble.as_ref()) == counter.direct_table_id)?;
        Some(Counter {
            name: name(counter.preamble.as_ref()),
            size: 0,
            table: Some(name(table.preamble.as_ref())),
            units: units(&counter.spec),
        })
    };
    let arrays = p4info.counters.iter().map(array);
    arrays.chain(p4info.direct_counters.iter().filter_map(direct)).collect()
}

fn meters(p4info: &config::P4Info) -> Vec<(String, u64)> {
    let meter = |meter: &config::Meter| (name(meter.preamble.as_ref()), u64::try_from(meter.size).unwrap_or(0));
    p4info.meters.iter().map(meter).collect()
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
