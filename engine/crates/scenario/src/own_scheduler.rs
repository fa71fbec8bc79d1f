// SPDX-License-Identifier: Apache-2.0
//! Schedulers that are not the controller's own: a Java class in a jar, or a program that the controller asks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::doc::Doc;

use crate::reader::{Fields, Reader};
use crate::scheduler::{OURS, SettingValue};

const MAX_SCHEDULERS: usize = 64;
const MAX_WORDS: usize = 256;
const MAX_SETTINGS: usize = 64;
const MAX_NAME: usize = 64;

/// A scheduler by the name under which it can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnScheduler {
    /// Its name.
    pub name: String,
    /// What it is.
    pub source: SchedulerSource,
}

/// Where schedules come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerSource {
    /// A Java class in this file.
    Jar(PathBuf),
    /// A program.
    Command {
        /// It and its arguments; at least one.
        words: Vec<String>,
        /// Longest wait for an answer live, if not the controller's default.
        limit_ms: Option<u64>,
        /// What can be set, with defaults.
        settings: BTreeMap<String, SettingValue>,
        /// Where it is started: from the scenario's directory, until it is resolved.
        directory: PathBuf,
    },
}

impl OwnScheduler {
    /// Takes relative files and places of programs as being in `directory`.
    pub fn resolve(&mut self, directory: &Path) {
        match &mut self.source {
            SchedulerSource::Jar(file) => *file = directory.join(&file),
            SchedulerSource::Command { directory: place, .. } => *place = directory.join(&place),
        }
    }
}

/// The optional section `schedulers`.
pub(crate) fn all(r: &mut Reader, parent: &Fields) -> Vec<OwnScheduler> {
    let Some(value) = r.optional(parent, "schedulers") else {
        return Vec::new();
    };
    let place = parent.pointer("schedulers");
    let names = keys(value);
    if names.len() > MAX_SCHEDULERS {
        r.report(
            place,
            format!("found {} schedulers", names.len()),
            format!("at most {MAX_SCHEDULERS}"),
        );
        return Vec::new();
    }
    let fields = r.fields(value, place, &names);
    names.into_iter().filter_map(|name| one(r, &fields, name)).collect()
}

fn keys(value: &Doc) -> Vec<&str> {
    let map = value.as_mapping();
    map.into_iter()
        .flat_map(|map| map.keys().filter_map(Doc::as_str))
        .collect()
}

fn one(r: &mut Reader, parent: &Fields, name: &str) -> Option<OwnScheduler> {
    let place = parent.pointer(name);
    let is_name = name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_name || OURS.contains(&name) {
        let expected = format!(
            "a name other than a built-in one: up to {MAX_NAME} lower-case letters, digits and '-', the first a letter"
        );
        r.report(place, format!("invalid scheduler name '{name}'"), expected);
        return None;
    }
    let value = r.required(parent, name)?;
    let fields = r.fields(
        value,
        place.clone(),
        &["jar", "command", "directory", "limit_ms", "settings"],
    );
    let source = match (r.optional(&fields, "jar"), r.optional(&fields, "command")) {
        (Some(jar), None) => {
            for key in ["directory", "limit_ms", "settings"] {
                if r.optional(&fields, key).is_some() {
                    r.report(
                        fields.pointer(key),
                        "not allowed with 'jar': the class declares its own settings",
                        "no such key",
                    );
                }
            }
            SchedulerSource::Jar(PathBuf::from(text(r, jar, fields.pointer("jar"))))
        }
        (None, Some(_)) => {
            let words = r.list(&fields, "command", 1..=MAX_WORDS);
            SchedulerSource::Command {
                words: words.into_iter().map(|(word, place)| text(r, word, place)).collect(),
                limit_ms: r.optional_integer(&fields, "limit_ms", 1..=60_000),
                settings: match r.optional(&fields, "settings") {
                    Some(value) => settings(r, value, fields.pointer("settings")),
                    None => BTreeMap::new(),
                },
                directory: match r.optional(&fields, "directory") {
                    Some(directory) => PathBuf::from(text(r, directory, fields.pointer("directory"))),
                    None => PathBuf::new(),
                },
            }
        }
        _ => {
            r.report(place, "missing scheduler source", "either 'jar' or 'command'");
            return None;
        }
    };
    Some(OwnScheduler {
        name: name.to_owned(),
        source,
    })
}

fn text(r: &mut Reader, value: &Doc, place: String) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => {
            r.report(place, format!("found {}", value.describe()), "a string");
            String::new()
        }
    }
}

/// Settings of a scheduler that is not the controller's own: only that knows which are right.
pub(crate) fn settings(r: &mut Reader, value: &Doc, place: String) -> BTreeMap<String, SettingValue> {
    let names = keys(value);
    if names.len() > MAX_SETTINGS {
        r.report(
            place,
            format!("found {} settings", names.len()),
            format!("at most {MAX_SETTINGS}"),
        );
        return BTreeMap::new();
    }
    let fields = r.fields(value, place, &names);
    let mut settings = BTreeMap::new();
    for name in names {
        let Some(value) = r.required(&fields, name) else {
            continue;
        };
        let value = match (value.as_u64(), value.as_str()) {
            (Some(number), _) => SettingValue::Integer(number),
            (_, Some(text)) => SettingValue::Text(text.to_owned()),
            _ => {
                r.report(
                    fields.pointer(name),
                    format!("found {}", value.describe()),
                    "a string or an integer",
                );
                continue;
            }
        };
        settings.insert(name.to_owned(), value);
    }
    settings
}
