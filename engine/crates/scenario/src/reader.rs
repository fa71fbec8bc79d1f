// SPDX-License-Identifier: Apache-2.0
//! Reads typed, bounded values from the tree of a file and collects everything that is wrong with it.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration};

use crate::doc::{Doc, Edit, Mapping};
use crate::problem::Problem;
use crate::renamed;
use crate::spelling::{Spelling, is_spelling, own_spelling, spellings};

/// A mapping whose keys are all known.
pub(crate) struct Fields<'v> {
    map: Option<&'v Mapping>,
    pointer: String,
}

impl<'v> Fields<'v> {
    /// A mapping of which somebody else says which keys are known; one without keys if it is none.
    pub(crate) fn of(value: &'v Doc, pointer: String) -> Fields<'v> {
        let map = value.as_mapping();
        Fields { map, pointer }
    }

    /// The value of `key` in either spelling, and the spelling if it is a quantity.
    fn get<'k>(&self, key: &'k str) -> Option<(&'v Doc, Option<Spelling<'k>>)> {
        let map = self.map?;
        if let Some(value) = map.get(key) {
            return Some((value, own_spelling(key, value)));
        }
        let mut others = spellings(key);
        others.find_map(|spelling| Some((quantity(map, spelling.key)?, Some(spelling))))
    }

    /// JSON pointer to this mapping.
    pub(crate) fn place(&self) -> String {
        self.pointer.clone()
    }

    /// JSON pointer to `key` of this mapping.
    pub(crate) fn pointer(&self, key: &str) -> String {
        format!("{}/{key}", self.pointer)
    }
}

/// Value of `key` if it can be a quantity, or a list of them: a mapping is another key of the same name.
fn quantity<'v>(map: &'v Mapping, key: &str) -> Option<&'v Doc> {
    map.get(key).filter(|value| !value.is_mapping())
}

/// Places of changes, each list in the order of the scenario's.
#[derive(Default)]
pub(crate) struct ChangePlaces {
    pub(crate) fibres: Vec<String>,
    pub(crate) schedulers: Vec<String>,
    /// Of links, spans and hosts of groups.
    pub(crate) groups: Vec<String>,
}

/// Collects problems. A value that is wrong is replaced by one within bounds, so that reading goes on; the
/// result counts only when [`Reader::problems`] is empty.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) problems: Vec<Problem>,
    /// Keys that the file has in another spelling than its plain form.
    pub(crate) edits: Vec<Edit>,
    /// Places of the entries of `changes`, by what they change.
    pub(crate) changes: ChangePlaces,
}

impl Reader {
    pub(crate) fn report(&mut self, pointer: String, reason: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(Problem {
            pointer,
            line: None,
            reason: reason.into(),
            expected: expected.into(),
        });
    }

    /// A mapping with no keys but `known`.
    pub(crate) fn fields<'v>(&mut self, value: &'v Doc, pointer: String, known: &[&str]) -> Fields<'v> {
        let Some(map) = value.as_mapping() else {
            self.report(pointer.clone(), format!("found {}", value.describe()), "a mapping");
            return Fields { map: None, pointer };
        };
        for key in map.keys() {
            match key.as_str() {
                Some(name) if known.iter().any(|key| is_spelling(name, key)) => {}
                Some(name) => {
                    let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    match renamed::key(name, known) {
                        Some(now) => self.report(place, format!("'{name}' was renamed to '{now}'"), format!("'{now}'")),
                        None => self.report(place, format!("unknown key '{name}'"), nearest(name, known)),
                    }
                }
                None => self.report(
                    pointer.clone(),
                    format!("key {} is not a string", key.describe()),
                    "a string",
                ),
            }
        }
        for key in known {
            let others = spellings(key).map(|spelling| spelling.key);
            let mut given = others.filter(|other| quantity(map, other).is_some());
            let first = if map.get(key).is_some() {
                Some(*key)
            } else {
                given.next()
            };
            if let (Some(first), Some(second)) = (first, given.next()) {
                let place = format!("{pointer}/{second}");
                self.report(place, format!("'{second}' given with '{first}'"), "one of the two");
            }
        }
        Fields {
            map: Some(map),
            pointer,
        }
    }

    /// The value of `key`, if it is there.
    pub(crate) fn optional<'v>(&self, fields: &Fields<'v>, key: &str) -> Option<&'v Doc> {
        fields.get(key).map(|(value, _)| value)
    }

    /// The value of `key`, which must be there.
    pub(crate) fn required<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v Doc> {
        self.required_spelt(fields, key).map(|(value, _)| value)
    }

    fn required_spelt<'v, 'k>(&mut self, fields: &Fields<'v>, key: &'k str) -> Option<(&'v Doc, Option<Spelling<'k>>)> {
        let map = fields.map?;
        let found = fields.get(key);
        // A key of before has been reported as such.
        let is_renamed = || {
            map.keys()
                .filter_map(Doc::as_str)
                .any(|written| renamed::is_before(written, key))
        };
        if found.is_none() && !is_renamed() {
            self.report(
                fields.pointer.clone(),
                format!("missing required key '{key}'"),
                format!("'{key}: VALUE'"),
            );
        }
        found
    }

    /// An integer within `range`.
    pub(crate) fn integer(&mut self, fields: &Fields, key: &str, range: RangeInclusive<u64>) -> u64 {
        match self.required_spelt(fields, key) {
            Some(found) => self.integer_found(fields, key, found, range),
            None => *range.start(),
        }
    }

    /// An integer within `range` if `key` is there.
    pub(crate) fn optional_integer(&mut self, fields: &Fields, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let found = fields.get(key)?;
        Some(self.integer_found(fields, key, found, range))
    }

    fn integer_found(
        &mut self,
        fields: &Fields,
        key: &str,
        (value, spelling): (&Doc, Option<Spelling>),
        range: RangeInclusive<u64>,
    ) -> u64 {
        match spelling {
            None => self.integer_value(value, fields.pointer(key), range),
            Some(spelling) => {
                let bounds = i128::from(*range.start())..=i128::from(*range.end());
                let place = fields.pointer(spelling.key);
                let found = self.quantity_value(value, place, key, spelling, bounds);
                let number = found
                    .and_then(|number| number.try_into().ok())
                    .unwrap_or(*range.start());
                self.note(fields, key, spelling, Doc::scalar(number.to_string(), value.line()));
                number
            }
        }
    }

    /// Notes what stands under `key` in the plain form.
    fn note(&mut self, fields: &Fields, key: &str, spelling: Spelling, value: Doc) {
        self.edits.push(Edit {
            mapping: fields.pointer.clone(),
            written: spelling.key.to_owned(),
            key: key.to_owned(),
            value,
        });
    }

    /// A quantity as an integer within `range`, of the unit of `key`.
    fn quantity_value(
        &mut self,
        value: &Doc,
        place: String,
        key: &str,
        spelling: Spelling,
        range: RangeInclusive<i128>,
    ) -> Option<i64> {
        let reason = match spelling.integer(value) {
            Ok(number) if range.contains(&number.into()) => return Some(number),
            Ok(_) => format!("found {}", value.describe()),
            Err(reason) => reason,
        };
        self.report(place, reason, spelling.expected(key, *range.start(), *range.end()));
        None
    }

    /// Integers within `range`, as many as `length`.
    pub(crate) fn integers(
        &mut self,
        fields: &Fields,
        key: &str,
        length: usize,
        range: &RangeInclusive<u64>,
    ) -> Vec<u64> {
        let spelling = fields.get(key).and_then(|(_, spelling)| spelling);
        let elements = self.list(fields, key, length..=length);
        let read = |(value, place): (&Doc, String)| match spelling {
            None => self.integer_value(value, place, range.clone()),
            Some(spelling) => {
                let bounds = i128::from(*range.start())..=i128::from(*range.end());
                let found = self.quantity_value(value, place, key, spelling, bounds);
                found
                    .and_then(|number| number.try_into().ok())
                    .unwrap_or(*range.start())
            }
        };
        let numbers: Vec<u64> = elements.into_iter().map(read).collect();
        if let Some((value, Some(spelling))) = fields.get(key) {
            let plain = numbers
                .iter()
                .map(|number| Doc::scalar(number.to_string(), value.line()));
            self.note(fields, key, spelling, Doc::list(plain.collect(), value.line()));
        }
        numbers
    }

    /// A time within `range`, ns.
    pub(crate) fn duration(&mut self, fields: &Fields, key: &str, range: RangeInclusive<u64>) -> Duration {
        Duration::from_ns(self.integer(fields, key, range))
    }

    /// An amount of data within `range`, bytes.
    pub(crate) fn bytes(&mut self, fields: &Fields, key: &str, range: RangeInclusive<u64>) -> Bytes {
        Bytes::new(self.integer(fields, key, range))
    }

    fn integer_value(&mut self, value: &Doc, pointer: String, range: RangeInclusive<u64>) -> u64 {
        match value.as_u64() {
            Some(number) if range.contains(&number) => number,
            _ => {
                let expected = format!("an integer from {} to {}", range.start(), range.end());
                self.report(pointer, format!("found {}", value.describe()), expected);
                *range.start()
            }
        }
    }

    /// An integer within `range`, which may be below 0.
    pub(crate) fn signed(&mut self, fields: &Fields, key: &str, range: RangeInclusive<i64>) -> i64 {
        let Some((value, spelling)) = self.required_spelt(fields, key) else {
            return *range.start();
        };
        if let Some(spelling) = spelling {
            let bounds = i128::from(*range.start())..=i128::from(*range.end());
            let found = self.quantity_value(value, fields.pointer(spelling.key), key, spelling, bounds);
            let number = found.unwrap_or(*range.start());
            self.note(fields, key, spelling, Doc::scalar(number.to_string(), value.line()));
            return number;
        }
        match value.as_i64() {
            Some(number) if range.contains(&number) => number,
            _ => {
                let expected = format!("an integer from {} to {}", range.start(), range.end());
                self.report(fields.pointer(key), format!("found {}", value.describe()), expected);
                *range.start()
            }
        }
    }

    /// A probability if `key` is there.
    pub(crate) fn optional_probability(&mut self, fields: &Fields, key: &str) -> Option<f64> {
        self.optional_bounded(fields, key, 0.0..=1.0)
    }

    /// A number over `above` and up to `most` if `key` is there.
    pub(crate) fn optional_number(&mut self, fields: &Fields, key: &str, above: f64, most: f64) -> Option<f64> {
        let value = self.optional(fields, key)?;
        match value.as_f64() {
            Some(number) if number > above && number <= most => Some(number),
            _ => {
                let expected = format!("a number above {above} and at most {most}");
                self.report(fields.pointer(key), format!("found {}", value.describe()), expected);
                None
            }
        }
    }

    /// A number within `range` if `key` is there.
    pub(crate) fn optional_bounded(&mut self, fields: &Fields, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let (value, spelling) = fields.get(key)?;
        let found = match spelling {
            None => value.as_f64().ok_or_else(|| format!("found {}", value.describe())),
            Some(spelling) => spelling.number(value),
        };
        let reason = match found {
            Ok(number) if range.contains(&number) => {
                if let Some(spelling) = spelling {
                    self.note(fields, key, spelling, Doc::scalar(format!("{number:?}"), value.line()));
                }
                return Some(number);
            }
            Ok(_) => format!("found {}", value.describe()),
            Err(reason) => reason,
        };
        let (place, expected) = match spelling {
            None => (key, format!("a number from {} to {}", range.start(), range.end())),
            Some(spelling) => (
                spelling.key,
                spelling.expected(key, *range.start() as i128, *range.end() as i128),
            ),
        };
        self.report(fields.pointer(place), reason, expected);
        None
    }

    /// `true` or `false` if `key` is there.
    pub(crate) fn optional_bool(&mut self, fields: &Fields, key: &str) -> Option<bool> {
        let value = self.optional(fields, key)?;
        if value.as_bool().is_none() {
            self.report(
                fields.pointer(key),
                format!("found {}", value.describe()),
                "true or false",
            );
        }
        value.as_bool()
    }

    /// A name: 1 to 64 letters, digits, `_`, `.` and `-`, the first a letter or digit.
    pub(crate) fn name(&mut self, fields: &Fields, key: &str) -> String {
        match self.required(fields, key) {
            Some(value) => self.name_value(value, fields.pointer(key)),
            None => String::new(),
        }
    }

    /// As [`Reader::name`], of an element of a list.
    pub(crate) fn name_value(&mut self, value: &Doc, pointer: String) -> String {
        match value.as_str() {
            Some(text) if is_name(text) => text.to_owned(),
            _ => {
                let expected = "1 to 64 letters, digits, '_', '.' or '-', the first a letter or digit";
                self.report(pointer, format!("found {}", value.describe()), expected);
                String::new()
            }
        }
    }

    /// One of `choices` by its name; the first if it is none of them.
    pub(crate) fn choice<T: Copy>(&mut self, fields: &Fields, key: &str, choices: &[(&str, T)]) -> T {
        self.choice_of(fields, key, choices, |_| true)
    }

    /// As [`Reader::choice`]; of what is refused later, and is not `offered`, a message does not speak.
    pub(crate) fn choice_of<T: Copy>(
        &mut self,
        fields: &Fields,
        key: &str,
        choices: &[(&str, T)],
        offered: impl Fn(T) -> bool,
    ) -> T {
        let Some(value) = self.required(fields, key) else {
            return choices[0].1;
        };
        let found = choices.iter().find(|(name, _)| value.as_str() == Some(name));
        if let Some((_, choice)) = found {
            return *choice;
        }
        let names = choices.iter().filter(|(_, choice)| offered(*choice));
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        let written = value.as_str().unwrap_or_default();
        if let Some(now) = renamed::word(written, names.iter().copied()) {
            let reason = format!("'{written}' was renamed to '{now}'");
            self.report(fields.pointer(key), reason, format!("'{now}'"));
            return choices[0].1;
        }
        self.report(
            fields.pointer(key),
            format!("found {}", value.describe()),
            names.join(" or "),
        );
        choices[0].1
    }

    /// A string that `parse` understands.
    pub(crate) fn parsed<T>(
        &mut self,
        fields: &Fields,
        key: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.required(fields, key)?;
        let result = value.as_str().and_then(parse);
        if result.is_none() {
            self.report(fields.pointer(key), format!("found {}", value.describe()), expected);
        }
        result
    }

    /// The elements of a list with their pointers.
    pub(crate) fn list<'v>(
        &mut self,
        fields: &Fields<'v>,
        key: &str,
        length: RangeInclusive<usize>,
    ) -> Vec<(&'v Doc, String)> {
        match self.required(fields, key) {
            Some(value) => self.list_value(value, fields.pointer(key), length),
            None => Vec::new(),
        }
    }

    /// As [`Reader::list`]; empty if `key` is not there.
    pub(crate) fn optional_list<'v>(
        &mut self,
        fields: &Fields<'v>,
        key: &str,
        length: RangeInclusive<usize>,
    ) -> Vec<(&'v Doc, String)> {
        match self.optional(fields, key) {
            Some(value) => self.list_value(value, fields.pointer(key), length),
            None => Vec::new(),
        }
    }

    fn list_value<'v>(
        &mut self,
        value: &'v Doc,
        pointer: String,
        length: RangeInclusive<usize>,
    ) -> Vec<(&'v Doc, String)> {
        let expected = format!("a list of {} to {} elements", length.start(), length.end());
        let Some(elements) = value.as_list() else {
            self.report(pointer, format!("found {}", value.describe()), expected);
            return Vec::new();
        };
        if !length.contains(&elements.len()) {
            self.report(pointer, format!("found {} elements", elements.len()), expected);
            return Vec::new();
        }
        elements
            .iter()
            .enumerate()
            .map(|(i, element)| (element, format!("{pointer}/{i}")))
            .collect()
    }
}

/// Returns whether a text may be a name.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

/// What `name` may have been meant to be: of keys that are alike the nearest one, or all, if most of it would have to be another.
fn nearest(name: &str, known: &[&str]) -> String {
    let distance = |candidate: &&str| strsim::damerau_levenshtein(name, candidate);
    let letters = name.chars().count();
    let best = known.iter().min_by_key(|candidate| distance(candidate));
    // Without the suffix a key is short, and many words are near to it.
    let mut others = known.iter().flat_map(|key| spellings(key).map(|spelling| spelling.key));
    let best = match best {
        Some(best) if 2 * distance(best) <= letters => Some(*best),
        _ => others.find(|other| 3 * distance(other) <= letters),
    };
    match best {
        Some(best) => format!("'{best}' (closest of: {})", known.join(", ")),
        None if known.is_empty() => "no key".to_owned(),
        None => format!("one of {}", known.join(", ")),
    }
}

/// Names with commas between, not more of them than a line bears.
pub(crate) fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(", ...");
    }
    text
}
