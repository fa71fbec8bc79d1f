// SPDX-License-Identifier: Apache-2.0
//! Schedulers that are not the controller's own: a Java class in a jar, or a program that the controller asks.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::doc::Doc;

use crate::reader::{Fields, Reader};
use crate::scheduler::{OURS, SettingValue};
use crate::section::{Section as _, integer, list, raw, section, string};

const MAX_SCHEDULERS: usize = 64;
const WORDS: RangeInclusive<usize> = 1..=256;
const LIMIT_MS: RangeInclusive<u64> = 1..=60_000;
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

section! {
    /// Java class in a JAR file, or a program that is called over HTTP (schema/scheduler.schema.json). Paths are
    /// relative to the directory of this file.
    #[derive(Debug)]
    pub(crate) struct OwnSchedulerKeys [r, fields, _context: ()] {
        /// JAR file with the class, which declares its own settings.
        jar: Option<String> = "jar" optional, string();
        /// Program and its arguments.
        command: Option<Vec<String>> = "command" optional, list(WORDS, string());
        /// Working directory of the program. Default: the directory of this file.
        directory: Option<String> = "directory" optional, string();
        /// Response timeout in emulation in ms; in simulation it is 30 s. Default: 100.
        limit_ms: Option<u64> = "limit_ms" optional, integer(LIMIT_MS);
        /// Settings of the program with their default values.
        settings: BTreeMap<String, SettingValue> = "settings" read_optional(settings_of(r, fields)), raw(SETTINGS);
    }
    kinds { "jar" without ["command", "directory", "limit_ms", "settings"] }
    rules r#"{"oneOf": [{"required": ["jar"]}, {"required": ["command"]}]}"#
}

const SETTINGS: &str =
    r#"{"type": "object", "maxProperties": 64, "additionalProperties": {"type": ["string", "integer"]}}"#;

fn settings_of(r: &mut Reader, fields: &Fields) -> BTreeMap<String, SettingValue> {
    match r.optional(fields, "settings") {
        Some(value) => settings(r, value, fields.pointer("settings")),
        None => BTreeMap::new(),
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
    let keys = OwnSchedulerKeys::of(r, value, place.clone(), ());
    let source = match (keys.jar, keys.command) {
        (Some(jar), None) => SchedulerSource::Jar(PathBuf::from(jar)),
        (None, Some(words)) => SchedulerSource::Command {
            words,
            limit_ms: keys.limit_ms,
            settings: keys.settings,
            directory: keys.directory.map(PathBuf::from).unwrap_or_default(),
        },
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
