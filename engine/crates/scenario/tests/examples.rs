// SPDX-License-Identifier: Apache-2.0
//! The loaders and the JSON Schemas agree on the shared example files.

use std::fs;
use std::path::{Path, PathBuf};

use slotwise_scenario::{Scenario, ScenarioError};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn yaml_files(directory: &str) -> Vec<(String, String)> {
    let directory = repository().join(directory);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(!files.is_empty(), "no examples in {}", directory.display());
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    files.into_iter().map(read).collect()
}

fn schema() -> jsonschema::Validator {
    let text = fs::read_to_string(repository().join("schema/scenario.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "the schema is no JSON Schema");
    jsonschema::validator_for(&schema).unwrap()
}

fn as_json(yaml: &str) -> serde_json::Value {
    serde_yaml_ng::from_str(yaml).unwrap()
}

/// The files load, and their plain forms fit the schema.
fn assert_load(files: &[(String, String)]) {
    let schema = schema();
    for (path, text) in files {
        let plain = Scenario::plain(text.as_bytes(), "mine").unwrap_or_else(|error| panic!("{path}: {error}"));
        let errors: Vec<String> = schema
            .iter_errors(&as_json(&plain))
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{path}: schema: {errors:?}");
    }
}

fn assert_refused(schema: &jsonschema::Validator, path: &str, text: &str) {
    let headers = |key: &str| -> Vec<&str> {
        let prefix = format!("# {key}:");
        text.lines()
            .filter_map(|line| line.strip_prefix(&prefix))
            .map(str::trim)
            .collect()
    };
    let Err(ScenarioError::Invalid(problems)) = parse(text.as_bytes()) else {
        panic!("{path}: not refused as invalid");
    };
    let pointers: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(pointers, headers("error"), "{path}: {problems:#?}");
    for key in headers("suggests") {
        assert!(
            problems[0].expected.starts_with(&format!("'{key}'")),
            "{path}: {}",
            problems[0]
        );
    }
    let verdict = if schema.is_valid(&as_json(text)) {
        "accepts"
    } else {
        "refuses"
    };
    assert_eq!(headers("schema"), [verdict], "{path}");
}

fn parse(yaml: &[u8]) -> Result<(), ScenarioError> {
    Scenario::parse(yaml).map(drop)
}

/// `SLOTWISE_WRITE=1 cargo test --workspace --test examples` writes the file, as `slotwise schema scenario` prints it.
#[test]
fn the_schema_is_that_of_the_sections() {
    let path = repository().join("schema/scenario.schema.json");
    let schema = slotwise_scenario::schema();
    if std::env::var_os("SLOTWISE_WRITE").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept == schema, "out of date; write 'slotwise schema scenario' there");
}

#[test]
fn valid_examples_load() {
    assert_load(&yaml_files("schema/examples/valid"));
}

#[test]
fn the_networks_that_come_with_it_load() {
    assert_load(&yaml_files("topologies"));
}

#[test]
fn invalid_examples_are_refused_where_they_say() {
    let schema = schema();
    for (path, text) in yaml_files("schema/examples/invalid") {
        assert_refused(&schema, &path, &text);
    }
}

/// Whether a document with `value` at `place` is refused there as out of these bounds.
fn is_refused_at(document: &serde_json::Value, place: &str, value: i128, bounds: &str) -> bool {
    let mut document = document.clone();
    let (parent, key) = place.rsplit_once('/').unwrap();
    let number = serde_json::from_str(&value.to_string()).unwrap();
    document.pointer_mut(parent).unwrap()[key] = number;
    match parse(document.to_string().as_bytes()) {
        Err(ScenarioError::Invalid(problems)) => problems
            .iter()
            .any(|problem| problem.pointer == place && problem.expected == bounds),
        Err(error) => panic!("{place}: {error}"),
        Ok(()) => false,
    }
}

#[test]
fn bounds_are_those_that_all_languages_have() {
    let limits = fs::read_to_string(repository().join("schema/limits.json")).unwrap();
    let limits: serde_json::Value = serde_json::from_str(&limits).unwrap();
    let read = |file: &str| as_json(&fs::read_to_string(repository().join(file)).unwrap());
    let star4 = read("topologies/star4.yaml");
    let routers = read("schema/examples/valid/routers.yaml");
    let mixed = read("schema/examples/valid/mixed.yaml");
    let ringed = read("schema/examples/valid/ring.yaml");
    // A mix has what stars have, too.
    let held = [
        ("scenario", &star4),
        ("scenario", &mixed),
        ("routed", &routers),
        ("mixed", &mixed),
        ("ringed", &ringed),
    ];
    for limit in limits["limits"].as_array().unwrap() {
        let bound = |which: &str| i128::from(limit[which].as_u64().unwrap());
        let (least, most) = (bound("minimum"), bound("maximum"));
        let bounds = format!("an integer from {least} to {most}");
        let places = |kind: &str| limit["places"][kind].as_array().cloned().unwrap_or_default();
        for (value, refused) in [(least - 1, true), (least, false), (most, false), (most + 1, true)] {
            for (kind, document) in held {
                for place in places(kind) {
                    let place = place.as_str().unwrap();
                    let verdict = is_refused_at(document, place, value, &bounds);
                    assert_eq!(verdict, refused, "{kind}, {place}: {value}");
                }
            }
        }
    }
}

#[test]
fn unreadable_examples_are_refused_before_they_are_checked() {
    for (path, text) in yaml_files("schema/examples/unreadable") {
        let refused = Scenario::parse(text.as_bytes());
        assert!(
            matches!(
                refused,
                Err(ScenarioError::Syntax(_) | ScenarioError::Alias { .. } | ScenarioError::Twice { .. })
            ),
            "{path}: {refused:?}"
        );
    }
}
