// SPDX-License-Identifier: Apache-2.0
//! Each part of a scenario of each kind, left out or replaced by something odd: read, or refused with a place. Nothing panics.

use std::fs;
use std::path::Path;

use serde_yaml_ng::Value;
use slotwise_scenario::{Scenario, ScenarioFile};

/// One of each kind of networks, with most of the keys that there are.
const FILES: [&str; 6] = [
    "topologies/star4-drift.yaml",
    "topologies/mesh5.yaml",
    "topologies/two-links.yaml",
    "experiments/faults/ops-trains-combined.yaml",
    "experiments/faults/ring-combined.yaml",
    "experiments/faults/mixed-combined.yaml",
];
/// What else stands for a part.
const ODD: [&str; 5] = ["", "18446744073709551615", "x", "[]", "{}"];
/// Elements of a list that are changed: the others are alike.
const ELEMENTS: usize = 1;

/// The path of each part below `value`.
fn parts(value: &Value, path: &mut Vec<Value>, found: &mut Vec<Vec<Value>>) {
    let children: Vec<(Value, &Value)> = match value {
        Value::Mapping(mapping) => mapping.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Sequence(list) => (0..ELEMENTS).map(Value::from).zip(list).collect(),
        _ => return,
    };
    for (key, child) in children {
        path.push(key);
        found.push(path.clone());
        parts(child, path, found);
        path.pop();
    }
}

/// The file with a part replaced, or left out.
fn changed(whole: &Value, path: &[Value], other: Option<&Value>) -> Value {
    let Some((key, rest)) = path.split_first() else {
        return other.cloned().unwrap_or_default();
    };
    let is_left_out = rest.is_empty() && other.is_none();
    let mut whole = whole.clone();
    match &mut whole {
        Value::Mapping(mapping) if is_left_out => drop(mapping.remove(key)),
        Value::Mapping(mapping) => {
            let part = changed(&mapping[key], rest, other);
            mapping.insert(key.clone(), part);
        }
        Value::Sequence(list) => {
            let index = key.as_u64().unwrap() as usize;
            if is_left_out {
                list.remove(index);
            } else {
                list[index] = changed(&list[index], rest, other);
            }
        }
        _ => unreachable!("a part of what has none"),
    }
    whole
}

#[test]
fn whatever_a_part_is_the_file_is_read_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let odd: Vec<Value> = ODD.iter().map(|text| serde_yaml_ng::from_str(text).unwrap()).collect();
    let (mut read, mut refused) = (0, 0);
    for file in FILES {
        let path = root.join(file);
        let text = ScenarioFile::open(&path).and_then(|file| file.plain()).unwrap();
        assert!(Scenario::parse(text.as_bytes()).is_ok(), "{file}");
        let whole: Value = serde_yaml_ng::from_str(&text).unwrap();
        let mut found = Vec::new();
        parts(&whole, &mut Vec::new(), &mut found);
        for path in found {
            for other in odd.iter().map(Some).chain([None]) {
                let changed = serde_yaml_ng::to_string(&changed(&whole, &path, other)).unwrap();
                match Scenario::parse(changed.as_bytes()) {
                    Ok(_) => read += 1,
                    Err(error) => {
                        assert!(!error.to_string().is_empty(), "{file} {path:?} {other:?}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 50 && refused > 1000, "{read} {refused}");
}

#[test]
fn frames_that_take_less_than_a_nanosecond_ask_for_a_guard() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../topologies/mesh5.yaml");
    let text = fs::read_to_string(file).unwrap();
    let with = |rate_bps: &str, more: &str| {
        let ops = format!("  rate_bps: {rate_bps}\n{more}");
        Scenario::parse(text.replacen("  rate_bps: 20000000\n", &ops, 1).as_bytes())
    };
    let trains = "  aggregation: {scheme: full, interval_ns: 1000000, size_bytes: 9000}\n";
    assert!(with("400000000000", "").is_ok() && with("160000000000", trains).is_ok());
    let refused = with("160000000001", trains).unwrap_err().to_string();
    assert!(refused.contains("/ops/guard_ns"), "{refused}");
    assert!(with("400000000000", &format!("{trains}  guard_ns: 1\n")).is_ok());
}
