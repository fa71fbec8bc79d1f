// SPDX-License-Identifier: Apache-2.0
//! Entries of a scenario's `tables`, compared with P4Info of the programs that the switches run, and as the controller reads them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

use serde_json::{Map, Value, json};
use slotwise_p4runtime::parse_p4info;
use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::config::v1::action_ref::Scope;
use slotwise_p4runtime::proto::p4::config::v1::match_field::{Match as MatchChoice, MatchType};
use slotwise_scenario::{Device, Match, Notation, Number, Problem, Scenario, TableEntry};

use crate::home::{Home, HomeError};

/// Tables that applications of the controller write, by application and program. A test of the controller compares the list with
/// their declarations.
const OWNED: &str = include_str!("../../../../schema/tables.json");
/// Bits of the widest field that the controller writes.
const MAX_BITS: u32 = u64::BITS;

/// Error for a program whose tables are unknown.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Not built.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Not readable.
    #[error("{path}: {reason}")]
    Unreadable {
        /// Path of the program or of its P4Info.
        path: String,
        /// Reason.
        reason: String,
    },
}

/// Compares a scenario's entries with the programs of their switches and completes them: short names, prefix lengths, masks. Returns
/// the entries that do not fit; the scenario is complete if there are none.
///
/// # Errors
/// [`ProgramError`] for a program that cannot be read.
pub fn complete(scenario: &mut Scenario, home: &Home) -> Result<Vec<Problem>, ProgramError> {
    let mut programs = BTreeMap::new();
    for entry in &scenario.tables {
        let kind = entry.switch.kind();
        if let Slot::Vacant(place) = programs.entry((kind.program, kind.app)) {
            place.insert(Program::load(home, kind.program, kind.app)?);
        }
    }
    let mut check = Check::default();
    for (index, entry) in scenario.tables.iter_mut().enumerate() {
        let kind = entry.switch.kind();
        check.entry(index, entry, &programs[&(kind.program, kind.app)]);
    }
    Ok(check.problems)
}

/// Entries as schema/network.schema.json has them.
pub fn document(scenario: &Scenario) -> Value {
    let hex = |number: &Number| json!(format!("{:#x}", number.value));
    let field = |(name, value): &(String, Match)| match value {
        Match::Value(value) => json!({"field": name, "value": hex(value)}),
        Match::Prefix(value, bits) => json!({"field": name, "value": hex(value), "prefix_bits": bits}),
        Match::Masked(value, mask) => json!({"field": name, "value": hex(value), "mask": hex(mask)}),
        Match::Range(low, high) => json!({"field": name, "low": hex(low), "high": hex(high)}),
    };
    let entry = |entry: &TableEntry| {
        let params = entry.params.iter().map(|(name, value)| (name.clone(), hex(value)));
        let mut document = json!({
            "device_id": entry.switch.id(),
            "table": entry.table,
            "match": entry.key.iter().map(field).collect::<Vec<Value>>(),
            "action": entry.action,
            "params": params.collect::<Map<String, Value>>(),
        });
        if let Some(priority) = entry.priority {
            document["priority"] = json!(priority);
        }
        document
    };
    json!({"entries": scenario.tables.iter().map(entry).collect::<Vec<Value>>()})
}

/// Tables and actions of a program.
struct Program {
    name: &'static str,
    /// Application that writes tables of its switches.
    app: &'static str,
    tables: Vec<Table>,
}

struct Table {
    names: Names,
    is_owned: bool,
    is_const: bool,
    has_profile: bool,
    has_const_default: bool,
    fields: Vec<Field>,
    actions: Vec<Action>,
    /// Entries that a controller can add.
    room: usize,
}

/// Full and short name of an object.
struct Names {
    full: String,
    short: String,
}

struct Field {
    name: String,
    kind: MatchType,
    bits: u32,
}

struct Action {
    names: Names,
    scope: Scope,
    params: Vec<(String, u32)>,
}

impl Names {
    fn of(preamble: Option<&config::Preamble>) -> Names {
        let of = |name: fn(&config::Preamble) -> &String| preamble.map(name).cloned().unwrap_or_default();
        Names {
            full: of(|preamble| &preamble.name),
            short: of(|preamble| &preamble.alias),
        }
    }

    fn is(&self, name: &str) -> bool {
        self.short == name || self.full == name
    }
}

impl Table {
    fn has_priorities(&self) -> bool {
        let prioritized = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
        self.fields.iter().any(|field| prioritized.contains(&field.kind))
    }
}

impl Program {
    fn load(home: &Home, name: &'static str, app: &'static str) -> Result<Program, ProgramError> {
        let (program, p4info) = home.p4(name)?;
        let read = |path: &std::path::Path| {
            std::fs::read(path).map_err(|error| ProgramError::Unreadable {
                path: path.display().to_string(),
                reason: error.to_string(),
            })
        };
        let unreadable = |path: &std::path::Path, reason: String| ProgramError::Unreadable {
            path: path.display().to_string(),
            reason,
        };
        let info = parse_p4info(&read(&p4info)?, false).map_err(|error| unreadable(&p4info, error.to_string()))?;
        let json = serde_json::from_slice(&read(&program)?).map_err(|error| unreadable(&program, error.to_string()))?;
        Ok(Program::of(&info, &json, name, app))
    }

    fn of(info: &config::P4Info, program: &Value, name: &'static str, app: &'static str) -> Program {
        let owned: Value = serde_json::from_str(OWNED).expect("the list of tables is JSON");
        let owned: Vec<&str> = owned[app][name]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let pipelines = program["pipelines"].as_array().into_iter().flatten();
        let compiled: Vec<&Value> = pipelines
            .flat_map(|of| of["tables"].as_array().into_iter().flatten())
            .collect();
        let tables = info.tables.iter().map(|table| {
            let names = Names::of(table.preamble.as_ref());
            Table {
                is_owned: owned.contains(&&*names.short),
                is_const: table.is_const_table,
                has_profile: table.implementation_id != 0,
                has_const_default: table.const_default_action_id != 0,
                fields: table.match_fields.iter().map(field).collect(),
                actions: actions(info, table),
                room: room(&compiled, &names.full, table.size),
                names,
            }
        });
        Program {
            name,
            app,
            tables: tables.collect(),
        }
    }

    /// Tables to which a scenario can add entries.
    fn expected(&self) -> String {
        let free = self
            .tables
            .iter()
            .filter(|table| !table.is_owned && !table.is_const && !table.has_profile);
        let free: Vec<&str> = free.map(|table| &*table.names.short).collect();
        match free.is_empty() {
            true => format!(
                "a program '{}' with a table that application '{}' does not write",
                self.name, self.app
            ),
            false => free.join(" or "),
        }
    }
}

fn field(field: &config::MatchField) -> Field {
    Field {
        name: field.name.clone(),
        kind: match field.r#match {
            Some(MatchChoice::MatchType(kind)) => MatchType::try_from(kind).unwrap_or_default(),
            _ => MatchType::Unspecified,
        },
        bits: field.bitwidth.try_into().unwrap_or(0),
    }
}

fn actions(info: &config::P4Info, table: &config::Table) -> Vec<Action> {
    let id = |action: &config::Action| action.preamble.as_ref().map(|preamble| preamble.id);
    let of = |reference: &config::ActionRef| {
        let action = info.actions.iter().find(|action| id(action) == Some(reference.id))?;
        let params = action.params.iter();
        Some(Action {
            names: Names::of(action.preamble.as_ref()),
            scope: reference.scope(),
            params: params
                .map(|param| (param.name.clone(), param.bitwidth.try_into().unwrap_or(0)))
                .collect(),
        })
    };
    table.action_refs.iter().filter_map(of).collect()
}

/// Number of free entries of a table: `max_size` in the switch, less the entries of the program.
fn room(compiled: &[&Value], name: &str, size: i64) -> usize {
    let table = compiled.iter().find(|table| table["name"] == name);
    let max_size = table.and_then(|table| table["max_size"].as_u64());
    let own = table.and_then(|table| table["entries"].as_array()).map_or(0, Vec::len);
    let size = max_size.unwrap_or(size.try_into().unwrap_or(0));
    usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(own)
}

/// Entries checked so far.
#[derive(Default)]
struct Check {
    problems: Vec<Problem>,
    /// Index of the entry with a key, by switch, table, key and priority.
    keys: BTreeMap<(Device, String, String), usize>,
    /// Entries by switch and table.
    counts: BTreeMap<(Device, String), usize>,
}

impl Check {
    fn report(&mut self, pointer: String, reason: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(Problem {
            pointer,
            line: None,
            other: None,
            reason: reason.into(),
            expected: expected.into(),
        });
    }

    fn entry(&mut self, index: usize, entry: &mut TableEntry, program: &Program) {
        let place = format!("/tables/{index}");
        let Some(table) = program.tables.iter().find(|table| table.names.is(&entry.table)) else {
            let reason = format!("unknown table '{}' of program '{}'", entry.table, program.name);
            return self.report(format!("{place}/table"), reason, program.expected());
        };
        let unwritable = match table {
            Table { is_owned: true, .. } => Some(format!("is written by application '{}'", program.app)),
            Table { is_const: true, .. } => Some("has constant entries".to_owned()),
            Table { has_profile: true, .. } => Some("has an action profile".to_owned()),
            _ => None,
        };
        if let Some(reason) = unwritable {
            let reason = format!("table '{}' {reason}", entry.table);
            return self.report(format!("{place}/table"), reason, program.expected());
        }
        entry.table.clone_from(&table.names.short);
        let (before, is_default) = (self.problems.len(), entry.key.is_empty());
        self.key(&place, entry, table);
        self.action(&place, entry, is_default, table);
        if self.problems.len() == before {
            self.room(&place, index, entry, table);
        }
    }

    /// Key fields and priority.
    fn key(&mut self, place: &str, entry: &mut TableEntry, table: &Table) {
        if entry.key.is_empty() {
            if table.has_const_default {
                let reason = format!("the default action of table '{}' is constant", entry.table);
                self.report(place.to_owned(), reason, "'match' with the values of key fields");
            }
            if entry.priority.is_some() {
                self.report(
                    format!("{place}/priority"),
                    "a default action has no priority",
                    "no 'priority'",
                );
            }
            return;
        }
        let names: Vec<&str> = table.fields.iter().map(|field| &*field.name).collect();
        let before = self.problems.len();
        let mut key = Vec::new();
        for (name, value) in std::mem::take(&mut entry.key) {
            let at = format!("{place}/match/{}", name.replace('~', "~0").replace('/', "~1"));
            let Some(field) = table.fields.iter().find(|field| field.name == name) else {
                let reason = format!("unknown field '{name}' of table '{}'", entry.table);
                self.report(at, reason, names.join(" or "));
                continue;
            };
            match field.complete(value) {
                Ok(value) => key.extend(value.map(|value| (name, value))),
                Err((reason, expected)) => self.report(at, reason, expected),
            }
        }
        let is_missing =
            |field: &&Field| field.kind == MatchType::Exact && key.iter().all(|(name, _)| *name != field.name);
        // A value that was rejected is not missing.
        let is_read = self.problems.len() == before;
        if let Some(field) = table.fields.iter().find(is_missing).filter(|_| is_read) {
            let reason = format!("missing exact field '{}' of table '{}'", field.name, entry.table);
            self.report(format!("{place}/match"), reason, format!("'{}: VALUE'", field.name));
        } else if is_read && key.is_empty() {
            let expected = "at least one field with a value, or no 'match' for the default action";
            self.report(format!("{place}/match"), "every packet matches", expected);
        }
        match (table.has_priorities(), entry.priority) {
            (true, None) => {
                let reason = format!("missing priority of an entry of table '{}'", entry.table);
                self.report(place.to_owned(), reason, "'priority: NUMBER'");
            }
            (false, Some(_)) => {
                let reason = format!("entries of table '{}' have no priority", entry.table);
                self.report(format!("{place}/priority"), reason, "no 'priority'");
            }
            _ => {}
        }
        entry.key = key;
    }

    /// Action and its parameters.
    fn action(&mut self, place: &str, entry: &mut TableEntry, is_default: bool, table: &Table) {
        let out_of_scope = match is_default {
            true => Scope::TableOnly,
            false => Scope::DefaultOnly,
        };
        let may_be: Vec<&Action> = table
            .actions
            .iter()
            .filter(|action| action.scope != out_of_scope)
            .collect();
        let Some(action) = may_be.iter().find(|action| action.names.is(&entry.action)) else {
            let names: Vec<&str> = may_be.iter().map(|action| &*action.names.short).collect();
            let reason = format!(
                "unknown action '{}' for entries of table '{}'",
                entry.action, entry.table
            );
            return self.report(format!("{place}/action"), reason, names.join(" or "));
        };
        entry.action.clone_from(&action.names.short);
        for (name, value) in &entry.params {
            let at = format!("{place}/params/{}", name.replace('~', "~0").replace('/', "~1"));
            match action.params.iter().find(|(known, _)| known == name) {
                None => {
                    let names: Vec<&str> = action.params.iter().map(|(name, _)| &**name).collect();
                    let expected = match names.is_empty() {
                        true => "no parameters".to_owned(),
                        false => names.join(" or "),
                    };
                    let reason = format!("unknown parameter '{name}' of action '{}'", entry.action);
                    self.report(at, reason, expected);
                }
                Some((_, bits)) => {
                    if let Err((reason, expected)) = fits(*value, *bits) {
                        self.report(at, reason, expected);
                    }
                }
            }
        }
        let is_missing = |(known, _): &&(String, u32)| entry.params.iter().all(|(name, _)| name != known);
        if let Some((missing, _)) = action.params.iter().find(is_missing) {
            let reason = format!("missing parameter '{missing}' of action '{}'", entry.action);
            self.report(format!("{place}/params"), reason, format!("'{missing}: VALUE'"));
        }
    }

    /// Reports entries with the same key, and entries beyond the size of a table.
    fn room(&mut self, place: &str, index: usize, entry: &TableEntry, table: &Table) {
        let mut key: Vec<(&String, Match)> = entry.key.iter().map(|(name, value)| (name, value.plain())).collect();
        key.sort_by_key(|(name, _)| *name);
        let key = (
            entry.switch,
            entry.table.clone(),
            format!("{key:?} {:?}", entry.priority),
        );
        if let Some(first) = self.keys.insert(key, index) {
            let what = if entry.key.is_empty() {
                "second default action"
            } else {
                "duplicate entry"
            };
            return self.report(
                place.to_owned(),
                format!("{what}, first in /tables/{first}"),
                "each once",
            );
        }
        if entry.key.is_empty() {
            return;
        }
        let count = self.counts.entry((entry.switch, entry.table.clone())).or_default();
        *count += 1;
        if *count == table.room + 1 {
            let reason = format!("table '{}' of {} is full", entry.table, entry.switch);
            self.report(place.to_owned(), reason, format!("at most {} entries", table.room));
        }
    }
}

/// Reason, and what is expected.
type Misfit = (String, String);

impl Field {
    /// The value in the form of the field's kind; `None`: any value matches.
    fn complete(&self, value: Match) -> Result<Option<Match>, Misfit> {
        let bits = self.bits;
        let all = ones(bits);
        let number = |value: u64| Number {
            value,
            notation: Notation::Integer,
        };
        let form = |reason: &str| {
            let expected = match self.kind {
                MatchType::Lpm => format!("a value of {bits} bits, or 'VALUE/BITS'"),
                MatchType::Ternary => format!("a value of {bits} bits, 'VALUE/BITS' or 'VALUE &&& MASK'"),
                MatchType::Range => format!("a value of {bits} bits, or 'LOW..HIGH'"),
                _ => format!("a value of {bits} bits"),
            };
            (reason.to_owned(), expected)
        };
        let prefix = |value: Number, length: u32| {
            if length > bits {
                return Err(form(&format!("prefix of {length} bits")));
            }
            let mask = all & !ones(bits - length);
            beyond(value, mask, &format!("/{length}")).map(|()| mask)
        };
        match value {
            Match::Value(value) | Match::Prefix(value, _) => fits(value, bits)?,
            Match::Masked(one, other) | Match::Range(one, other) => fits(one, bits).and(fits(other, bits))?,
        }
        let complete = match (self.kind, value) {
            (MatchType::Exact | MatchType::Optional, Match::Value(_)) | (MatchType::Range, Match::Range(..)) => value,
            (MatchType::Lpm, Match::Value(value)) => Match::Prefix(value, bits),
            (MatchType::Lpm, Match::Prefix(value, length)) => {
                prefix(value, length)?;
                Match::Prefix(value, length)
            }
            (MatchType::Ternary, Match::Value(value)) => Match::Masked(value, number(all)),
            (MatchType::Ternary, Match::Prefix(value, length)) => Match::Masked(value, number(prefix(value, length)?)),
            (MatchType::Ternary, Match::Masked(value, mask)) => {
                beyond(value, mask.value, &format!(" &&& {mask}"))?;
                Match::Masked(value, mask)
            }
            (MatchType::Range, Match::Value(value)) => Match::Range(value, value),
            (kind, _) => {
                return Err(form(&format!(
                    "wrong form for a field with {} match",
                    kind.as_str_name().to_lowercase()
                )));
            }
        };
        let is_any = match complete {
            Match::Prefix(_, length) => length == 0,
            Match::Masked(_, mask) => mask.value == 0,
            Match::Range(low, high) => low.value == 0 && high.value == all,
            Match::Value(_) => false,
        };
        Ok((!is_any).then_some(complete))
    }
}

fn ones(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)).unwrap_or(0)
}

/// Rejects a value that does not fit in a width.
fn fits(number: Number, bits: u32) -> Result<(), Misfit> {
    if !(1..=MAX_BITS).contains(&bits) {
        let reason = format!("a field of {bits} bits cannot be written");
        return Err((reason, format!("a field of 1 to {MAX_BITS} bits")));
    }
    let expected = || format!("an integer of at most {bits} bits");
    match number.notation.width() {
        Some(width) if width != bits => Err((format!("found {number}, an address of {width} bits"), expected())),
        _ if number.value > ones(bits) => Err((format!("found {number}, which is too large"), expected())),
        _ => Ok(()),
    }
}

/// Rejects a value with bits outside its mask.
fn beyond(value: Number, mask: u64, suffix: &str) -> Result<(), Misfit> {
    let within = Number {
        value: value.value & mask,
        notation: value.notation,
    };
    match within == value {
        true => Ok(()),
        false => Err((
            format!("found {value}{suffix}, with bits outside its mask"),
            format!("{within}{suffix}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR: &str = "edges: 2\nduration: 1 s\nflows: [{from: all, to: all}]\ntables:\n";

    /// A program with fields of every kind, as that of an edge.
    fn matching() -> Program {
        let info = include_bytes!("../../p4/tests/programs/matching.p4info.txtpb");
        let json = include_bytes!("../../p4/tests/programs/matching.json");
        let (info, json) = (
            parse_p4info(info, false).unwrap(),
            serde_json::from_slice(json).unwrap(),
        );
        Program::of(&info, &json, "edge", "star")
    }

    fn checked(entries: &[&str]) -> (Scenario, Vec<String>) {
        let entries: String = entries
            .iter()
            .map(|entry| format!("- {{switch: edge0, {entry}}}\n"))
            .collect();
        let mut scenario = Scenario::parse(format!("{STAR}{entries}").as_bytes()).unwrap();
        let (program, mut check) = (matching(), Check::default());
        for (index, entry) in scenario.tables.iter_mut().enumerate() {
            check.entry(index, entry, &program);
        }
        let problems = check.problems.iter().map(ToString::to_string).collect();
        (scenario, problems)
    }

    fn keys(entry: &str) -> Value {
        let (scenario, problems) = checked(&[entry]);
        assert_eq!(problems, [""; 0], "{entry}");
        document(&scenario)["entries"][0]["match"].clone()
    }

    #[test]
    fn values_get_the_form_of_their_field() {
        let entry = "table: TestIngress.lpm_table, match: {hdr.key.a: 5, hdr.key.c: 10.0.0.0/8}, action: answer, params: {value: 1}";
        let lpm = json!([{"field": "hdr.key.a", "value": "0x5"}, {"field": "hdr.key.c", "value": "0xa000000", "prefix_bits": 8}]);
        assert_eq!(keys(entry), lpm);
        let entry = "table: ternary_table, match: {hdr.key.b: 0x1200/8, hdr.key.c: 10.0.0.1, hdr.key.a: 7}, action: NoAction, priority: 2";
        let ternary = json!([
            {"field": "hdr.key.b", "value": "0x1200", "mask": "0xff00"},
            {"field": "hdr.key.c", "value": "0xa000001", "prefix_bits": 32},
            {"field": "hdr.key.a", "value": "0x7"},
        ]);
        assert_eq!(keys(entry), ternary);
        let entry = "table: range_table, match: {hdr.key.b: 7, hdr.key.a: 0 &&& 0}, action: NoAction, priority: 1";
        assert_eq!(
            keys(entry),
            json!([{"field": "hdr.key.b", "low": "0x7", "high": "0x7"}]),
            "any value of a"
        );
        let entry = "table: range_table, action: answer, params: {value: 65535}";
        assert_eq!(keys(entry), json!([]), "the default action");
    }

    #[test]
    fn names_are_written_as_the_controller_knows_them() {
        let (scenario, problems) = checked(&[
            "table: TestIngress.range_table, match: {hdr.key.b: 1..2}, action: TestIngress.answer, params: {value: 3}, priority: 4",
        ]);
        assert_eq!(problems, [""; 0]);
        let entry = json!({
            "device_id": 1, "table": "range_table", "match": [{"field": "hdr.key.b", "low": "0x1", "high": "0x2"}],
            "action": "answer", "params": {"value": "0x3"}, "priority": 4,
        });
        assert_eq!(document(&scenario), json!({"entries": [entry]}));
    }

    fn problem(entry: &str) -> String {
        let (_, problems) = checked(&[entry]);
        let [problem] = &problems[..] else {
            panic!("{entry}: {problems:#?}")
        };
        problem.clone()
    }

    #[test]
    fn what_does_not_fit_is_reported_with_what_does() {
        let free = "exact_table or lpm_table or ternary_table or range_table";
        for (entry, expected) in [
            ("table: no_table, action: answer", format!("/tables/0/table: unknown table 'no_table' of program 'edge'; expected {free}")),
            ("table: const_table, action: answer", format!("/tables/0/table: table 'const_table' has constant entries; expected {free}")),
            ("table: profile_table, action: answer", format!("/tables/0/table: table 'profile_table' has an action profile; expected {free}")),
            (
                "table: lpm_table, action: NoAction",
                "/tables/0: the default action of table 'lpm_table' is constant; expected 'match' with the values of key fields".to_owned(),
            ),
            (
                "table: lpm_table, match: {hdr.key.c: 1}, action: NoAction",
                "/tables/0/match: missing exact field 'hdr.key.a' of table 'lpm_table'; expected 'hdr.key.a: VALUE'".to_owned(),
            ),
            (
                "table: exact_table, match: {hdr.key.a: 1, hdr.key.d: 2}, action: NoAction",
                "/tables/0/match/hdr.key.d: a field of 128 bits cannot be written; expected a field of 1 to 64 bits".to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 1/4}, action: NoAction, priority: 1",
                "/tables/0/match/hdr.key.b: wrong form for a field with range match; expected a value of 16 bits, or 'LOW..HIGH'".to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 0..65535}, action: NoAction, priority: 1",
                "/tables/0/match: every packet matches; expected at least one field with a value, or no 'match' for the default action"
                    .to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 1}, action: NoAction",
                "/tables/0: missing priority of an entry of table 'range_table'; expected 'priority: NUMBER'".to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 10.0.0.1}, action: NoAction, priority: 1",
                "/tables/0/match/hdr.key.b: found 10.0.0.1, an address of 32 bits; expected an integer of at most 16 bits".to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 1}, action: answer, params: {valeu: 1, value: 1}, priority: 1",
                "/tables/0/params/valeu: unknown parameter 'valeu' of action 'answer'; expected value".to_owned(),
            ),
            (
                "table: range_table, match: {hdr.key.b: 1}, action: answer, params: {value: 65536}, priority: 1",
                "/tables/0/params/value: found 65536, which is too large; expected an integer of at most 16 bits".to_owned(),
            ),
        ] {
            assert_eq!(problem(entry), expected);
        }
    }

    #[test]
    fn tables_of_applications_are_theirs() {
        let info = include_bytes!("../../../../p4src/p4c-out/edge.p4info.txtpb");
        let info = parse_p4info(info, false).unwrap();
        let of = |app| Program::of(&info, &Value::Null, "edge", app);
        let owned = |program: &Program, name: &str| {
            program
                .tables
                .iter()
                .any(|table| table.names.is(name) && table.is_owned)
        };
        let (star, ops) = (of("star"), of("ops"));
        assert!(owned(&star, "slot_schedule") && !owned(&star, "flow_queue"));
        assert!(owned(&ops, "flow_queue") && !owned(&ops, "slot_schedule"));
    }

    #[test]
    fn a_table_holds_each_key_once_and_no_more_than_fit() {
        let entry =
            |value: u32| format!("table: range_table, match: {{hdr.key.b: {value}}}, action: NoAction, priority: 1");
        let (_, problems) = checked(&[&entry(1), &entry(2), &entry(1)]);
        assert_eq!(
            problems,
            ["/tables/2: duplicate entry, first in /tables/0; expected each once"]
        );
        // The same numbers in two notations.
        let (_, problems) = checked(&[
            "table: lpm_table, match: {hdr.key.a: 5, hdr.key.c: 10.0.0.0/8}, action: answer, params: {value: 1}",
            "table: lpm_table, match: {hdr.key.c: 0x0a000000/8, hdr.key.a: 5}, action: answer, params: {value: 2}",
        ]);
        assert_eq!(
            problems,
            ["/tables/1: duplicate entry, first in /tables/0; expected each once"]
        );
        let many: Vec<String> = (0..1026).map(entry).collect();
        let many: Vec<&str> = many.iter().map(|entry| &**entry).collect();
        let (_, problems) = checked(&many);
        assert_eq!(
            problems,
            ["/tables/1024: table 'range_table' of edge0 is full; expected at most 1024 entries"]
        );
    }

    #[test]
    fn entries_of_the_program_take_room() {
        let compiled = json!({"name": "marks", "max_size": 3, "entries": [{}]});
        assert_eq!(room(&[&compiled], "marks", 1024), 2);
        assert_eq!(room(&[], "marks", 1024), 1024);
        assert_eq!([0, 1, 64, 128].map(ones), [0, 1, u64::MAX, u64::MAX]);
    }
}
