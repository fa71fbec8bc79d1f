// SPDX-License-Identifier: Apache-2.0
//! A bounded, seeded run of all fuzz targets over mutations of the kept corpus.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use slotwise_fuzzing::TARGETS;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Mutated inputs of each target; `FUZZ_RUNS` sets another number.
const RUNS: usize = 300;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}: no corpus", folder.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One to eight changes: bits, bytes, pieces twice or gone, pieces of another input, numbers at the ends of ranges.
fn mutate(input: &[u8], other: &[u8], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut data = input.to_vec();
    for _ in 0..random.random_range(1..=8) {
        let at = random.random_range(0..=data.len());
        let end = (at + random.random_range(0..=40)).min(data.len());
        match random.random_range(0..7) {
            0 if at < data.len() => data[at] ^= 1 << random.random_range(0..8),
            1 if at < data.len() => data[at] = random.random(),
            2 => drop(data.drain(at..end)),
            3 => {
                let piece = data[at..end].to_vec();
                data.splice(at..at, piece);
            }
            4 => {
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..=80)).min(other.len());
                data.splice(at..end, other[from..to].iter().copied());
            }
            5 => data.truncate(at),
            _ => {
                let numbers = [
                    "0",
                    "-1",
                    "255",
                    "65536",
                    "4294967295",
                    "18446744073709551616",
                    "1e308",
                    "0x",
                    "null",
                    "\"\"",
                ];
                let number = numbers.choose(random).copied().unwrap_or_default();
                data.splice(at..end, number.bytes());
            }
        }
    }
    data
}

fn run(name: &str) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
    let runs = std::env::var("FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(RUNS);
    let corpus = corpus(name);
    corpus.iter().for_each(|input| target(input));
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for number in 0..runs {
        let (input, other) = (corpus.choose(&mut random).unwrap(), corpus.choose(&mut random).unwrap());
        let mutated = mutate(input, other, &mut random);
        if catch_unwind(AssertUnwindSafe(|| target(&mutated))).is_err() {
            let path = std::env::temp_dir().join(format!("slotwise-fuzz-{name}-{number}"));
            fs::write(&path, &mutated).unwrap();
            panic!("{name}: input {number} is in {}", path.display());
        }
    }
}

#[test]
fn p4_json() {
    run("p4_json");
}

#[test]
fn p4info() {
    run("p4info");
}

#[test]
fn stf() {
    run("stf");
}

#[test]
fn packets() {
    run("packets");
}

#[test]
fn p4runtime() {
    run("p4runtime");
}

#[test]
fn scenario() {
    run("scenario");
}

#[test]
fn gtp() {
    run("gtp");
}

#[test]
fn gtp_peer() {
    run("gtp_peer");
}

#[test]
fn every_target_has_a_cargo_fuzz_target() {
    for (name, _) in TARGETS {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fuzz/fuzz_targets/{name}.rs"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(text.contains(&format!("slotwise_fuzzing::{name}(data)")), "{name}");
    }
}

#[test]
fn workload() {
    run("workload");
}
