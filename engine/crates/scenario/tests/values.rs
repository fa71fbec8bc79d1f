// SPDX-License-Identifier: Apache-2.0
//! Values of each scenario file of the repository, as digests: another way to write a file leaves its scenario as it is.
//!
//! `SLOTWISE_WRITE=1 cargo test --workspace --test values` writes the digests anew.

use std::fs;
use std::path::{Path, PathBuf};

use slotwise_scenario::{Scenario, ScenarioFile};

const DIRECTORIES: [&str; 3] = ["topologies", "experiments", "schema/examples/valid"];
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// The values of a scenario in their order, without the names of fields (FNV-1a, 64 bits).
fn digest(scenario: &Scenario) -> u64 {
    // A file without workloads and entries for tables has the values that it had before there were any.
    let text = format!("{scenario:?}")
        .replace(", workloads: []", "")
        .replace(", tables: []", "");
    let mut values = String::new();
    for word in text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')) {
        let is_field = word.ends_with(": ") && !word.contains('"');
        values += if is_field { "" } else { word };
    }
    values.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn files_have_the_values_that_they_had() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut found = Vec::new();
    for directory in DIRECTORIES {
        files(&repository.join(directory), &mut found);
    }
    found.sort();
    let mut digests = String::new();
    for path in &found {
        // Experiments have other files, too.
        let Ok(scenario) = ScenarioFile::open(path).and_then(|file| file.scenario()) else {
            continue;
        };
        let name = path.strip_prefix(&repository).unwrap().display();
        digests += &format!("{:016x} {name}\n", digest(&scenario));
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/values.txt");
    if std::env::var_os("SLOTWISE_WRITE").is_some() {
        fs::write(&kept, &digests).unwrap();
    }
    let differ = |kept: &str| -> Vec<String> {
        let lines = kept.lines().filter(|line| !digests.contains(line));
        lines.map(str::to_owned).collect()
    };
    let kept = fs::read_to_string(&kept).unwrap();
    assert_eq!(differ(&kept), [""; 0], "other values");
    assert_eq!(kept, digests);
}
