// SPDX-License-Identifier: Apache-2.0
//! Names, kinds and widths of a program's objects, from its P4Info.

use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::config::v1::match_field::{Match as MatchChoice, MatchType};

/// Widest field, in bits.
const MAX_WIDTH: u32 = 1 << 16;

/// What scripts may name.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    pub(crate) tables: Vec<Table>,
    /// Name and number of cells.
    pub(crate) counters: Vec<(String, u64)>,
    /// Name and the index of its table.
    pub(crate) direct_counters: Vec<(String, usize)>,
    pub(crate) meters: Vec<(String, u64)>,
    pub(crate) registers: Vec<(String, u64)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub name: String,
    pub key: Vec<KeyPart>,
    pub actions: Vec<Action>,
    /// Entries name members of this action profile.
    pub profile: Option<String>,
    pub is_const: bool,
}

impl Table {
    /// Entries have a priority.
    pub fn has_priorities(&self) -> bool {
        let prioritized = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
        self.key.iter().any(|part| prioritized.contains(&part.kind))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct KeyPart {
    pub name: String,
    pub kind: MatchType,
    pub width: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Action {
    pub name: String,
    pub params: Vec<String>,
}

/// Objects with a preamble.
macro_rules! name_of {
    ($object:expr) => {
        $object.preamble.as_ref().map_or("", |preamble| preamble.name.as_str())
    };
}

impl Schema {
    /// Takes what scripts need; ids that lead nowhere are left out.
    pub fn new(info: &config::P4Info) -> Schema {
        let id = |preamble: &Option<config::Preamble>| preamble.as_ref().map_or(0, |preamble| preamble.id);
        let action = |reference: &config::ActionRef| {
            let action = info
                .actions
                .iter()
                .find(|action| id(&action.preamble) == reference.id)?;
            Some(Action {
                name: name_of!(action).to_owned(),
                params: action.params.iter().map(|param| param.name.clone()).collect(),
            })
        };
        let table = |table: &config::Table| Table {
            name: name_of!(table).to_owned(),
            key: table.match_fields.iter().map(key_part).collect(),
            actions: table.action_refs.iter().filter_map(action).collect(),
            profile: info
                .action_profiles
                .iter()
                .find(|profile| id(&profile.preamble) == table.implementation_id && table.implementation_id != 0)
                .map(|profile| name_of!(profile).to_owned()),
            is_const: table.is_const_table,
        };
        let size = |size: i64| u64::try_from(size).unwrap_or(0);
        let direct_counter = |counter: &config::DirectCounter| {
            let table = info
                .tables
                .iter()
                .position(|table| id(&table.preamble) == counter.direct_table_id)?;
            Some((name_of!(counter).to_owned(), table))
        };
        Schema {
            tables: info.tables.iter().map(table).collect(),
            counters: info
                .counters
                .iter()
                .map(|c| (name_of!(c).to_owned(), size(c.size)))
                .collect(),
            direct_counters: info.direct_counters.iter().filter_map(direct_counter).collect(),
            meters: info
                .meters
                .iter()
                .map(|m| (name_of!(m).to_owned(), size(m.size)))
                .collect(),
            registers: info
                .registers
                .iter()
                .map(|r| (name_of!(r).to_owned(), size(r.size.into())))
                .collect(),
        }
    }
}

fn key_part(field: &config::MatchField) -> KeyPart {
    let kind = match field.r#match {
        Some(MatchChoice::MatchType(kind)) => MatchType::try_from(kind).unwrap_or_default(),
        _ => MatchType::Unspecified,
    };
    KeyPart {
        name: field.name.clone(),
        kind,
        // Wider fields than p4c makes would only cost memory; the engine refuses their values.
        width: u32::try_from(field.bitwidth)
            .ok()
            .filter(|width| *width <= MAX_WIDTH)
            .unwrap_or(0),
    }
}

/// The one thing with this name, or else with a name that ends in it: after a dot first, then anywhere.
pub(crate) fn find<'a, T>(
    kind: &str,
    wanted: &str,
    all: impl Iterator<Item = &'a T> + Clone,
    name: impl Fn(&T) -> &str,
) -> Result<&'a T, String> {
    if let Some(found) = all.clone().find(|item| name(item) == wanted) {
        return Ok(found);
    }
    let dotted = format!(".{wanted}");
    for ending in [dotted.as_str(), wanted] {
        let mut candidates = all.clone().filter(|item| name(item).ends_with(ending));
        if let Some(first) = candidates.next() {
            return match candidates.next() {
                None => Ok(first),
                Some(second) => Err(format!(
                    "ambiguous {kind} `{wanted}`: `{}` or `{}`",
                    name(first),
                    name(second)
                )),
            };
        }
    }
    let known: Vec<&str> = all.map(name).collect();
    match known.is_empty() {
        true => Err(format!("no {kind} `{wanted}`: the program has none")),
        false => Err(format!("no {kind} `{wanted}`; expected one of {}", known.join(", "))),
    }
}
