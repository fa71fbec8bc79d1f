// SPDX-License-Identifier: Apache-2.0
//! Entries of tables that no application of the controller writes: those of a custom P4 program.
//!
//! Names and widths are those of the program's P4Info. This crate does not read P4Info; crate `control` compares the entries.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use crate::address::{Device, DeviceKind};
use crate::model::Scenario;
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, integer, name, raw, section, string};

/// Entries of the section.
pub(crate) const TABLES: RangeInclusive<usize> = 0..=10_000;
const PRIORITY: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// Longest prefix of a field.
const MAX_PREFIX: u32 = 64;
const VALUE: &str = "an integer of at most 64 bits, 0x and hexadecimal digits, an IPv4 address, or an Ethernet address";
const MATCH: &str = "a value, 'VALUE/BITS', 'VALUE &&& MASK' or 'LOW..HIGH'";
/// Values by name.
const VALUES: &str =
    r#"{"type": "object", "maxProperties": 64, "additionalProperties": {"type": ["integer", "string"]}}"#;
const MAX_VALUES: usize = 64;

/// Entry of a table, by names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// Switch that has the table.
    pub switch: Device,
    /// Name of the table.
    pub table: String,
    /// Names and values of key fields in the order of the file; none: the default action of the table.
    pub key: Vec<(String, Match)>,
    /// Name of the action.
    pub action: String,
    /// Names and values of the action's parameters, in the order of the file.
    pub params: Vec<(String, Number)>,
    /// Priority among entries that match; the highest one applies.
    pub priority: Option<u32>,
}

/// Unsigned number, and how the file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The number.
    pub value: u64,
    /// Its notation.
    pub notation: Notation,
}

/// Notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Decimal or hexadecimal digits, for fields of any width.
    Integer,
    /// IPv4 address, for fields of 32 bits.
    Ipv4,
    /// Ethernet address, for fields of 48 bits.
    Mac,
}

/// Value of a key field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// One value.
    Value(Number),
    /// Values that share their first bits.
    Prefix(Number, u32),
    /// Values that are equal where a mask has ones.
    Masked(Number, Number),
    /// Values from the first to the last one.
    Range(Number, Number),
}

impl Notation {
    /// Width in bits of a matching field; `None`: any width.
    pub fn width(self) -> Option<u32> {
        match self {
            Notation::Integer => None,
            Notation::Ipv4 => Some(32),
            Notation::Mac => Some(48),
        }
    }
}

impl Number {
    fn of(value: u64, notation: Notation) -> Option<Number> {
        Some(Number { value, notation })
    }

    fn parse(text: &str) -> Option<Number> {
        let text = text.trim();
        if text.contains(':') {
            let bytes = text.split(':').map(|byte| {
                let is_byte = byte.len() == 2 && byte.chars().all(|digit| digit.is_ascii_hexdigit());
                u64::from_str_radix(byte, 16).ok().filter(|_| is_byte)
            });
            let bytes: Vec<u64> = bytes.collect::<Option<_>>()?;
            let value = bytes.iter().fold(0, |value, byte| value << 8 | byte);
            return Number::of(value, Notation::Mac).filter(|_| bytes.len() == 6);
        }
        if text.contains('.') {
            let address: Ipv4Addr = text.parse().ok()?;
            return Number::of(address.to_bits().into(), Notation::Ipv4);
        }
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (text, 10),
        };
        let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        let is_plain = radix == 16 || digits.len() == 1 || !digits.starts_with('0');
        let value = u64::from_str_radix(digits, radix).ok();
        Number::of(value.filter(|_| is_number && is_plain)?, Notation::Integer)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.notation {
            Notation::Integer => write!(f, "{}", self.value),
            Notation::Ipv4 => write!(f, "{}", Ipv4Addr::from_bits(self.value as u32)),
            Notation::Mac => {
                let [_, _, bytes @ ..] = self.value.to_be_bytes();
                write!(f, "{}", bytes.map(|byte| format!("{byte:02x}")).join(":"))
            }
        }
    }
}

impl Match {
    /// The same, however a file writes its numbers.
    #[must_use]
    pub fn plain(self) -> Match {
        let plain = |number: Number| Number {
            notation: Notation::Integer,
            ..number
        };
        match self {
            Match::Value(value) => Match::Value(plain(value)),
            Match::Prefix(value, bits) => Match::Prefix(plain(value), bits),
            Match::Masked(value, mask) => Match::Masked(plain(value), plain(mask)),
            Match::Range(low, high) => Match::Range(plain(low), plain(high)),
        }
    }

    fn parse(text: &str) -> Option<Match> {
        if let Some((value, mask)) = text.split_once("&&&") {
            return Some(Match::Masked(Number::parse(value)?, Number::parse(mask)?));
        }
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (Number::parse(low)?, Number::parse(high)?);
            return Some(Match::Range(low, high)).filter(|_| low.value <= high.value);
        }
        if let Some((value, bits)) = text.split_once('/') {
            let bits = Number::parse(bits)?;
            let is_length = bits.notation == Notation::Integer && bits.value <= u64::from(MAX_PREFIX);
            return Some(Match::Prefix(Number::parse(value)?, bits.value as u32)).filter(|_| is_length);
        }
        Number::parse(text).map(Match::Value)
    }
}

section! {
    /// Entry of a table that no application of the controller writes: of a custom P4 program
    /// (docs/write-your-own.md). The controller writes it after the program, and again after each restart of the
    /// switch. Names are those of the program's P4Info, with or without the name of their control.
    #[derive(Debug)]
    pub(crate) struct TableKeys [r, fields, switches: &'c SwitchIndex] {
        /// Switch: `edge0`, `core0`, or the name of a router, a ring station, an optical packet switch or an OPS edge.
        switch: Option<Device> = "switch" read(switch(r, fields, switches)), name();
        /// Table.
        table: String = "table" required, string();
        /// Values of key fields: an integer, an IPv4 or Ethernet address (`10.0.2.1`, `02:00:00:00:00:01`), a prefix
        /// (`10.0.0.0/8`), a value and a mask (`0x0800 &&& 0xff00`) or a range (`1024..2047`). Fields other than exact
        /// ones may be omitted and match any value. Default: no fields; the entry is the table's default action.
        key: Vec<(String, Match)> = "match" read_optional(key(r, fields)), raw(VALUES);
        /// Action.
        action: String = "action" required, string();
        /// Values of the action's parameters: integers, IPv4 or Ethernet addresses. Default: none.
        params: Vec<(String, Number)> = "params" read_optional(params(r, fields)), raw(VALUES);
        /// Priority among matching entries; the highest one applies. Required for tables with a ternary, range or
        /// optional field, not allowed for others.
        priority: Option<u32> = "priority" optional, integer(PRIORITY);
    }
}

/// Reads the optional section `tables` of a file whose network has been read.
pub(crate) fn tables(r: &mut Reader, parent: &Fields, scenario: &Scenario) -> Vec<TableEntry> {
    let elements = r.optional_list(parent, "tables", TABLES);
    if elements.is_empty() {
        return Vec::new();
    }
    let switches = SwitchIndex::of(scenario);
    let mut entries = Vec::with_capacity(elements.len());
    for (value, place) in elements {
        let keys = TableKeys::of(r, value, place, &switches);
        entries.extend(keys.switch.map(|switch| TableEntry {
            switch,
            table: keys.table,
            key: keys.key,
            action: keys.action,
            params: keys.params,
            priority: keys.priority,
        }));
    }
    entries
}

/// Switches of a scenario by their names.
pub(crate) struct SwitchIndex {
    devices: HashMap<String, Device>,
    /// Expected values where a name is unknown.
    expected: String,
}

impl SwitchIndex {
    /// Indexes switches by their names in the file, and by kind and number (`router0`). A name in the file has precedence.
    fn of(scenario: &Scenario) -> SwitchIndex {
        let names = scenario.switch_names();
        let by_kind = names.iter().map(|(_, device)| (device.to_string(), *device));
        let by_file = names.iter().cloned();
        SwitchIndex {
            devices: by_kind.chain(by_file).collect(),
            expected: match &names[..] {
                [(first, _), .., (last, _)] if names.len() > 8 => {
                    format!("a switch of this network, from '{first}' to '{last}'")
                }
                _ => {
                    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                    names.join(" or ")
                }
            },
        }
    }
}

fn switch(r: &mut Reader, fields: &Fields, switches: &SwitchIndex) -> Option<Device> {
    let value = r.required(fields, "switch")?;
    let found = value.as_str().and_then(|name| switches.devices.get(name)).copied();
    if found.is_none() {
        r.report(
            fields.pointer("switch"),
            format!("found {}", value.describe()),
            switches.expected.clone(),
        );
    }
    found
}

fn key(r: &mut Reader, fields: &Fields) -> Vec<(String, Match)> {
    values(r, fields, "match", MATCH, Match::parse)
}

fn params(r: &mut Reader, fields: &Fields) -> Vec<(String, Number)> {
    values(r, fields, "params", VALUE, Number::parse)
}

/// Reads values by name.
fn values<T>(
    r: &mut Reader,
    fields: &Fields,
    key: &str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Vec<(String, T)> {
    let Some(value) = r.optional(fields, key) else {
        return Vec::new();
    };
    let place = fields.pointer(key);
    let Some(map) = value.as_mapping().filter(|map| map.keys().count() <= MAX_VALUES) else {
        let reason = format!("found {}", value.describe());
        r.report(place, reason, format!("a mapping of at most {MAX_VALUES} names"));
        return Vec::new();
    };
    let mut values = Vec::new();
    for (name, value) in map.iter() {
        let Some(name) = name.as_written() else { continue };
        match value.as_written().and_then(&parse) {
            Some(value) => values.push((name.to_owned(), value)),
            None => r.report(
                format!("{place}/{}", escaped(name)),
                format!("found {}", value.describe()),
                expected,
            ),
        }
    }
    values
}

/// A key as part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl Scenario {
    /// Names and numbers of all switches: as the file names them, or by kind and number.
    pub fn switch_names(&self) -> Vec<(String, Device)> {
        let named = |device: Device, position: usize| -> Option<&String> {
            match device {
                Device::Router(_) => self.routed.routers.get(position),
                Device::Station(_) => self.ring.as_ref()?.stations.get(position).map(|station| &station.name),
                Device::Switch(_) => self.ops.as_ref()?.switches.get(position),
                Device::OpsEdge(_) => self.ops.as_ref()?.edges.get(position).map(|edge| &edge.name),
                Device::Edge(_) | Device::Core(_) => None,
            }
        };
        let of_kind = |kind: &'static DeviceKind| {
            (0..(kind.count)(self)).map(move |position| {
                let device = kind.device(position as u16);
                let name = named(device, position).cloned();
                (name.unwrap_or_else(|| device.to_string()), device)
            })
        };
        DeviceKind::all().flat_map(of_kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<(u64, Notation)> {
        Number::parse(text).map(|number| (number.value, number.notation))
    }

    #[test]
    fn numbers_have_the_notations_of_people() {
        assert_eq!(number("0"), Some((0, Notation::Integer)));
        assert_eq!(number("18446744073709551615"), Some((u64::MAX, Notation::Integer)));
        assert_eq!(number("0xFf"), Some((255, Notation::Integer)));
        assert_eq!(number("10.0.2.1"), Some((0x0a00_0201, Notation::Ipv4)));
        assert_eq!(number("02:00:00:00:00:0A"), Some((0x0200_0000_000a, Notation::Mac)));
        for text in [
            "",
            "-1",
            "+1",
            "012",
            "0x",
            "0x-1",
            "18446744073709551616",
            "10.0.2",
            "10.0.2.256",
            "2:0:0:0:0:1",
            "ten",
            "1.5",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        for text in ["7", "10.0.2.1", "02:00:00:00:00:0a"] {
            assert_eq!(Number::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn matches_are_values_prefixes_masks_and_ranges() {
        let of = |text: &str| Match::parse(text).unwrap();
        let plain = |text: &str| Number::parse(text).unwrap();
        assert_eq!(of("0x0800"), Match::Value(plain("0x0800")));
        assert_eq!(of("10.0.0.0/8"), Match::Prefix(plain("10.0.0.0"), 8));
        assert_eq!(of("0x0800 &&& 0xff00"), Match::Masked(plain("0x0800"), plain("0xff00")));
        assert_eq!(
            of("10.0.0.1..10.0.0.9"),
            Match::Range(plain("10.0.0.1"), plain("10.0.0.9"))
        );
        for text in [
            "10.0.0.0/65",
            "10.0.0.0/8.0.0.0",
            "9..1",
            "1..",
            "1 &&& ",
            "1 & 2",
            "/8",
        ] {
            assert_eq!(Match::parse(text), None, "{text}");
        }
    }

    const STAR: &str = "edges: 2\nduration: 1 s\nflows: [{from: all, to: all}]\ntables:\n";

    fn problems(tables: &str) -> Vec<String> {
        let yaml = format!("{STAR}{tables}");
        let error = Scenario::parse(yaml.as_bytes()).unwrap_err().located(yaml.as_bytes());
        error.to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn entries_of_several_switches_are_one_line() {
        let entry =
            "- {switch: edge0..edge1, table: marks, match: {dst: 10.0.0.1}, action: mark, params: {dscp: 46}}\n";
        let scenario = Scenario::parse(format!("{STAR}{entry}").as_bytes()).unwrap();
        let switches: Vec<Device> = scenario.tables.iter().map(|entry| entry.switch).collect();
        assert_eq!(switches, [Device::Edge(0), Device::Edge(1)]);
        assert_eq!(
            scenario.tables[1].params,
            [("dscp".to_owned(), Number::parse("46").unwrap())]
        );
    }

    #[test]
    fn switches_have_the_names_of_the_file_before_those_of_their_kind() {
        let entries =
            ["router1", "router0", "other"].map(|name| format!("- {{switch: {name}, table: t, action: a}}\n"));
        let text = format!(
            "routers: [router1, other]\nlinks: []\nhosts: [{{name: h, at: other, count: 2}}]\nworkloads: [{{name: w, from: h, to: h, sizes: 1 KB, load: 0.1}}]\nduration: 1 s\ntables:\n{}",
            entries.concat()
        );
        let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let switches: Vec<Device> = scenario.tables.iter().map(|entry| entry.switch).collect();
        assert_eq!(switches, [Device::Router(0), Device::Router(0), Device::Router(1)]);
    }

    #[test]
    fn entries_that_cannot_be_are_reported_with_their_lines() {
        let found = problems(
            "- {switch: edge2, table: marks, action: mark}\n- {switch: edge0, table: marks, match: {dst: 10.0.0.0/99}, action: mark}\n- {switch: edge0, action: mark, params: {dscp: [1]}, priority: 0}\n",
        );
        assert_eq!(
            found,
            [
                "line 5: /tables/0/switch: found 'edge2'; expected edge0 or edge1 or core0",
                &format!("line 6: /tables/1/match/dst: found '10.0.0.0/99'; expected {MATCH}"),
                "line 7: /tables/2: missing required key 'table'; expected 'table: VALUE'",
                &format!("line 7: /tables/2/params/dscp: found a list of 1 elements; expected {VALUE}"),
                "line 7: /tables/2/priority: found 0; expected an integer from 1 to 2147483647",
            ]
        );
    }
}
