// SPDX-License-Identifier: Apache-2.0
//! Repetition: entries that stand for several, unfolded in the tree of a file before it is read.
//!
//! A range `h0..h13` is a list of names. In an entry of a list (hosts, flows, links ...) a list in place of a value makes the
//! entry one for each of its elements; several lists have one length and are walked together. `flows.rs` has what flows have beyond
//! that.

mod flows;
mod weights;

use crate::doc::{Doc, Mapping};
use crate::own::SECTIONS;
use crate::parse::Parts;
use crate::problem::Problem;
use crate::reader::Reader;
use crate::workloads::{HOST_KEYS, WORKLOADS};

/// Characters and nodes of all that is unfolded: some times those of the largest file.
const MAX_SIZE: usize = 16_000_000;
/// More elements than any list of a scenario has.
const MAX_ELEMENTS: u64 = 10_000;
/// Keys whose value is a list in a single entry.
const LISTS: [&str; 7] = ["between", "classes", "command", "fibres", "hold", "hold_ms", "loss"];
/// List of names outside of the sections of networks.
const NAMES: &[&str] = &["routers"];
/// Lists of entries other than flows.
const ENTRIES: [&[&str]; 10] = [
    &["edges"],
    &["ring", "stations"],
    &["ops", "edges"],
    &["ops", "links"],
    &["links"],
    &["hosts"],
    &["hosts", "groups"],
    &["changes"],
    &["faults"],
    &["tables"],
];

/// Unfolds all entries of a file that stand for several, and reports those that cannot be unfolded. Flows come last, when the file is
/// `complete`: they name hosts, which may be defaults.
pub(crate) fn unfold(doc: &mut Doc, r: &mut Reader, complete: impl Fn(&mut Doc)) {
    for path in ENTRIES.into_iter().chain([&["flows"][..], &[WORKLOADS][..]]) {
        // The edges of optical packet switches, the rates of a ring and the hosts of a star are mappings.
        let is_a_section = path == ["ops", "edges"] || path == ["hosts"] && Parts::of(doc).star;
        if let Some(value) = doc.at_mut(path).filter(|value| !is_a_section && value.is_mapping()) {
            *value = Doc::list(vec![value.clone()], value.line());
        }
    }
    let mut unfolding = Unfolding { r, size: 0 };
    let of_sections = SECTIONS.iter().flat_map(|section| section.name_lists);
    for path in std::iter::once(&NAMES).chain(of_sections) {
        unfolding.names(doc, path);
    }
    for path in ENTRIES {
        unfolding.entries(doc, path);
    }
    complete(doc);
    unfolding.flows(doc);
    unfolding.workload_hosts(doc);
}

struct Unfolding<'r> {
    r: &'r mut Reader,
    /// Size of what has been unfolded.
    size: usize,
}

/// Values of one key, one for each entry.
struct Column {
    key: String,
    values: Vec<Doc>,
}

impl Unfolding<'_> {
    fn report(&mut self, at: &Doc, place: String, reason: String, expected: impl Into<String>) {
        self.r.problems.push(Problem {
            pointer: place,
            line: Some(at.line()),
            other: None,
            reason,
            expected: expected.into(),
        });
    }

    /// Unfolds ranges in a list of names, or in its place.
    fn names(&mut self, doc: &mut Doc, path: &[&str]) {
        let place = pointer(path);
        let Some(value) = doc.at_mut(path) else { return };
        if let Some(names) = self.sequence(value, &place) {
            *value = Doc::list(names, value.line());
        }
    }

    /// Unfolds ranges of the hosts of workloads.
    fn workload_hosts(&mut self, doc: &mut Doc) {
        let entries = doc.get_mut(WORKLOADS).and_then(Doc::as_list_mut).unwrap_or_default();
        for (index, entry) in entries.iter_mut().enumerate() {
            for key in HOST_KEYS {
                let place = format!("/{WORKLOADS}/{index}/{key}");
                let Some(value) = entry.get_mut(key) else { continue };
                if let Some(names) = self.sequence(value, &place) {
                    *value = Doc::list(names, value.line());
                }
            }
        }
    }

    fn entries(&mut self, doc: &mut Doc, path: &[&str]) {
        let place = pointer(path);
        let Some(value) = doc.at_mut(path) else { return };
        let Some(entries) = value.as_list() else { return };
        let mut unfolded = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let place = format!("{place}/{index}");
            let columns = self.columns(entry, &place, |key| LISTS.contains(&key));
            unfolded.extend(self.unfolded(entry, &columns, &place, |_| None));
        }
        *value = Doc::list(unfolded, value.line());
    }

    /// Columns of an entry: its lists and ranges, except under keys that are `left`.
    fn columns(&mut self, entry: &Doc, place: &str, left: impl Fn(&str) -> bool) -> Vec<Column> {
        let mut columns = Vec::new();
        for (key, value) in entry.as_mapping().into_iter().flat_map(Mapping::iter) {
            let Some(key) = key.as_str().filter(|key| !left(key)) else {
                continue;
            };
            if let Some(values) = self.sequence(value, &format!("{place}/{key}")) {
                let key = key.to_owned();
                columns.push(Column { key, values });
            }
        }
        columns
    }

    /// Elements of a list, or of a range; `None` for other values.
    fn sequence(&mut self, value: &Doc, place: &str) -> Option<Vec<Doc>> {
        let Some(elements) = value.as_list() else {
            return self.range(value, place);
        };
        let mut sequence = Vec::with_capacity(elements.len());
        for element in elements {
            match self.range(element, place) {
                Some(names) => sequence.extend(names),
                None => sequence.push(element.clone()),
            }
        }
        Some(sequence)
    }

    /// Elements of a range such as `h0..h13`; `None` for other values.
    fn range(&mut self, value: &Doc, place: &str) -> Option<Vec<Doc>> {
        let (first, last) = value.as_str()?.split_once("..")?;
        let (prefix, first) = numbered(first)?;
        let last = last.strip_prefix(prefix).unwrap_or(last);
        let ("", last) = numbered(last)? else { return None };
        if first > last || last - first >= MAX_ELEMENTS {
            let reason = format!("found {}", value.describe());
            let expected = format!("a range from its first to its last number, of at most {MAX_ELEMENTS}");
            self.report(value, place.to_owned(), reason, expected);
            return Some(Vec::new());
        }
        let names = (first..=last).map(|number| Doc::scalar(format!("{prefix}{number}"), value.line()));
        self.fits(value.size(), last - first + 1, value, place)
            .then(|| names.collect())
    }

    /// Returns whether another `count` copies of something fit in what a file may unfold to, which is reported otherwise.
    fn fits(&mut self, size: usize, count: u64, at: &Doc, place: &str) -> bool {
        let size = size.saturating_mul(usize::try_from(count).unwrap_or(usize::MAX));
        let was_over = self.size > MAX_SIZE;
        self.size = self.size.saturating_add(size);
        let is_over = self.size > MAX_SIZE;
        if is_over && !was_over {
            let expected = format!("entries that unfold to {MAX_SIZE} characters at most");
            self.report(at, place.to_owned(), "file unfolds to too much".to_owned(), expected);
        }
        !is_over
    }

    /// Entries that one entry stands for: itself without columns, else one for each of their elements. `place_of` is the place of a name
    /// among others.
    fn unfolded(
        &mut self,
        entry: &Doc,
        columns: &[Column],
        place: &str,
        place_of: impl Fn(&str) -> Option<usize>,
    ) -> Vec<Doc> {
        let Some(first) = columns.first() else {
            return vec![entry.clone()];
        };
        let count = first.values.len();
        if let Some(other) = columns.iter().find(|column| column.values.len() != count) {
            let reason = format!(
                "{} elements under '{}', {count} under '{}'",
                other.values.len(),
                other.key,
                first.key
            );
            self.report(
                entry,
                format!("{place}/{}", other.key),
                reason,
                "lists of one length in an entry",
            );
            return Vec::new();
        }
        let name = entry.get("name").and_then(Doc::as_str).map(str::to_owned);
        let has_names = columns.iter().any(|column| column.key == "name");
        if let Some(name) = name
            .as_deref()
            .filter(|name| !has_names && count > 1 && !name.contains('{'))
        {
            let expected = "a range, a list, or a pattern with keys of the entry such as '{from}-{to}'";
            self.report(
                entry,
                format!("{place}/name"),
                format!("'{name}' is the name of {count} entries"),
                expected,
            );
            return Vec::new();
        }
        if !self.fits(entry.size(), count as u64, entry, place) {
            return Vec::new();
        }
        let mut unfolded = Vec::with_capacity(count);
        for index in 0..count {
            let mut copy = entry.clone();
            for column in columns {
                copy.set(&column.key, column.values[index].clone());
            }
            let pattern = name.as_deref().filter(|name| !has_names && name.contains('{'));
            if let Some(pattern) = pattern {
                match filled(pattern, index, &copy, &place_of) {
                    Ok(name) => copy.set("name", Doc::scalar(name, entry.line())),
                    Err(unknown) => {
                        let expected =
                            "keys of the entry with a name or number, such as '{from}' or '{from.index}', or '{index}'";
                        self.report(
                            entry,
                            format!("{place}/name"),
                            format!("unknown '{{{unknown}}}'"),
                            expected,
                        );
                        return Vec::new();
                    }
                }
            }
            unfolded.push(copy);
        }
        unfolded
    }
}

/// JSON pointer of a path.
pub(crate) fn pointer(path: &[&str]) -> String {
    path.iter().map(|key| format!("/{key}")).collect()
}

/// A name without its number, and the number; `None` without a number that is written as numbers are.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    let is_number = digits == "0" || !digits.starts_with('0');
    Some((prefix, digits.parse().ok().filter(|_| is_number)?))
}

/// A pattern with `{KEY}` replaced by the entry's value, `{KEY.index}` by the place of that name, `{index}` by the number of the entry;
/// what is none of them is the error.
fn filled(
    pattern: &str,
    index: usize,
    entry: &Doc,
    place_of: impl Fn(&str) -> Option<usize>,
) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let (word, after) = after.split_once('}').ok_or(after)?;
        text += before;
        let value = |key: &str| entry.get(key).and_then(Doc::as_written);
        text += &match word.strip_suffix(".index") {
            None if word == "index" => Some(index.to_string()),
            None => value(word).map(str::to_owned),
            Some(key) => value(key).and_then(&place_of).map(|place| place.to_string()),
        }
        .ok_or(word)?;
        rest = after;
    }
    Ok(text + rest)
}
