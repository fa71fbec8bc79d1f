// SPDX-License-Identifier: Apache-2.0
//! The loaders and the JSON Schemas agree on the shared example files.

use std::fs;
use std::path::{Path, PathBuf};

use slotwise_scenario::{RoutedScenario, Scenario, ScenarioError};

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

fn schema(file: &str) -> jsonschema::Validator {
    let text = fs::read_to_string(repository().join("schema").join(file)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "the schema is no JSON Schema");
    jsonschema::validator_for(&schema).unwrap()
}

fn as_json(yaml: &str) -> serde_json::Value {
    serde_yaml_ng::from_str(yaml).unwrap()
}

fn assert_loads(directory: &str, schema: &jsonschema::Validator, parse: impl Fn(&[u8]) -> Result<(), ScenarioError>) {
    for (path, text) in yaml_files(directory) {
        if let Err(error) = parse(text.as_bytes()) {
            panic!("{path}: {error}");
        }
        let errors: Vec<String> = schema
            .iter_errors(&as_json(&text))
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{path}: schema: {errors:?}");
    }
}

fn assert_refused(directory: &str, schema: &jsonschema::Validator, parse: impl Fn(&[u8]) -> Result<(), ScenarioError>) {
    for (path, text) in yaml_files(directory) {
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
        let verdict = if schema.is_valid(&as_json(&text)) {
            "accepts"
        } else {
            "refuses"
        };
        assert_eq!(headers("schema"), [verdict], "{path}");
    }
}

fn star(yaml: &[u8]) -> Result<(), ScenarioError> {
    Scenario::parse(yaml).map(drop)
}

fn routed(yaml: &[u8]) -> Result<(), ScenarioError> {
    assert!(RoutedScenario::is_one(yaml));
    RoutedScenario::parse(yaml).map(drop)
}

#[test]
fn valid_examples_load() {
    let schema = schema("scenario.schema.json");
    assert_loads("schema/examples/valid", &schema, star);
    assert_loads("topologies", &schema, star);
}

#[test]
fn invalid_examples_are_refused_where_they_say() {
    assert_refused("schema/examples/invalid", &schema("scenario.schema.json"), star);
}

#[test]
fn valid_routed_examples_load() {
    assert_loads("schema/examples/routed/valid", &schema("routed.schema.json"), routed);
}

#[test]
fn invalid_routed_examples_are_refused_where_they_say() {
    assert_refused("schema/examples/routed/invalid", &schema("routed.schema.json"), routed);
}
