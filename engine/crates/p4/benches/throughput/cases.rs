// SPDX-License-Identifier: Apache-2.0
//! What is measured: programs, entries, frames of 64 bytes (a request: more).

use slotwise_p4::{ActionCall, Executor, KeyField, Pipeline, PipelineConfig, Port, Program, TableEntry, TimestampUnit};
use std::sync::Arc;

/// A program with its entries, and the frames that it gets, in turn.
pub struct Case {
    pub name: &'static str,
    /// From the crate on.
    pub program: &'static str,
    pub defaults: Vec<(&'static str, ActionCall)>,
    pub entries: Vec<(&'static str, TableEntry)>,
    pub frames: Vec<(Port, Vec<u8>)>,
    /// Measure `simple_switch` too.
    pub with_peer: bool,
}

impl Case {
    pub fn json(&self) -> Vec<u8> {
        let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), self.program);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A pipeline with the entries in place.
    pub fn pipeline(&self, executor: Executor) -> Pipeline {
        let program = Program::from_json(&self.json()).unwrap_or_else(|error| panic!("{}: {error}", self.program));
        let config = PipelineConfig {
            cpu_port: 510,
            drop_port: 511,
            timestamp_unit: TimestampUnit::Nanoseconds,
            seed: 1,
            executor,
        };
        let mut pipeline = Pipeline::new(Arc::new(program), config);
        assert_eq!(pipeline.executor(), executor, "this host has no JIT");
        for (table, action) in &self.defaults {
            pipeline
                .table_set_default(table, Some(action.clone()))
                .expect("the program has the table");
        }
        for (table, entry) in &self.entries {
            pipeline
                .table_insert(table, entry.clone())
                .expect("the entry fits the table");
        }
        pipeline
    }
}

pub fn call(name: &str, args: &[u64]) -> ActionCall {
    ActionCall {
        name: name.to_owned(),
        args: args.iter().map(|a| a.to_be_bytes().to_vec()).collect(),
    }
}

pub fn entry(key: Vec<KeyField>, priority: i32, action: ActionCall) -> TableEntry {
    TableEntry { key, priority, action }
}

pub fn exact(value: u64) -> KeyField {
    KeyField::Exact(value.to_be_bytes().to_vec())
}

pub fn lpm(address: u32, prefix_len: u32) -> KeyField {
    KeyField::Lpm {
        value: address.to_be_bytes().to_vec(),
        prefix_len,
    }
}

fn ternary(value: u32, mask: u32) -> KeyField {
    KeyField::Ternary {
        value: (value & mask).to_be_bytes().to_vec(),
        mask: mask.to_be_bytes().to_vec(),
    }
}

pub const UDP: u8 = 17;

pub const MIN_FRAME_BYTES: usize = 64;

/// An IPv4 frame to `dst`, of UDP as far as its ports go.
pub fn ipv4_frame(dst: u32, protocol: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 50, 0, 1, 0, 0, 64, protocol, 0x12, 0x34, 10, 0, 0, 1]);
    frame.extend(dst.to_be_bytes());
    frame.extend([0x30, 0x39, 0x14, 0x51, 0, 30, 0, 0]);
    frame.resize(MIN_FRAME_BYTES, 0);
    frame
}

/// A core whose crossbar connects pairs of 64 fibres.
fn core() -> Case {
    let connect = |input: u64| {
        let key = vec![exact(0), exact(0), exact(input)];
        (
            "CoreIngress.crossbar",
            entry(key, 0, call("CoreIngress.connect", &[input ^ 1])),
        )
    };
    let params = call("CoreIngress.set_core_params", &[0, u64::from(u32::MAX), 0]);
    Case {
        name: "core: crossbar",
        program: "../../../p4src/p4c-out/core.json",
        defaults: vec![("CoreIngress.core_params", params)],
        entries: (256..320).map(connect).collect(),
        frames: (256..320).map(|port| (port, ipv4_frame(0x0a01_0101, UDP))).collect(),
        with_peer: true,
    }
}

/// Address and length of a route: its number in the leading 17 bits, so that all are different.
fn route(number: u32, lengths: &[u32]) -> (u32, u32) {
    (number << 15, lengths[number as usize % lengths.len()])
}

/// A router with so many routes, and access-list entries of so many masks that match nothing sent. The frames go to
/// 4,096 of the routes.
fn router(name: &'static str, routes: u32, lengths: &[u32], access_list: u32, masks: u32) -> Case {
    let mut entries: Vec<_> = (0..routes)
        .map(|number| {
            let (address, length) = route(number, lengths);
            let forward = call("TestIngress.forward", &[u64::from(number % 64), 2]);
            ("TestIngress.routes", entry(vec![lpm(address, length)], 0, forward))
        })
        .collect();
    for number in 0..access_list {
        // Sources in 224.0.0.0/4, with masks that keep the first bits and differ in the last.
        let mask = u32::MAX ^ (number % masks);
        let key = vec![
            ternary(0xe000_0000 | number << 16, mask),
            ternary(0, 0),
            ternary(17, 0xff),
        ];
        let drop = entry(key, number as i32 + 1, call("TestIngress.drop", &[]));
        entries.push(("TestIngress.access_list", drop));
    }
    let to_route = |i: u32| (1, ipv4_frame(route(i * 7919 % routes, lengths).0, UDP));
    Case {
        name,
        program: "tests/programs/router.json",
        defaults: Vec::new(),
        entries,
        frames: (0..4096).map(to_route).collect(),
        with_peer: routes == 1000 && access_list == 0 && lengths.len() == FIVE_LENGTHS.len(),
    }
}

const FIVE_LENGTHS: [u32; 5] = [24, 17, 20, 28, 32];

pub fn all() -> Vec<Case> {
    let sixteen_lengths: Vec<u32> = (17..=32).collect();
    let mut cases = super::edge::all();
    cases.extend([
        core(),
        router("router: 1,000 routes", 1_000, &FIVE_LENGTHS, 0, 1),
        router("router: 100,000 routes", 100_000, &FIVE_LENGTHS, 0, 1),
        router("router: 1,000 routes of 16 lengths", 1_000, &sixteen_lengths, 0, 1),
        router("router: 100,000 routes of 16 lengths", 100_000, &sixteen_lengths, 0, 1),
        router("router: and an ACL of 1,000, 16 masks", 1_000, &FIVE_LENGTHS, 1_000, 16),
        router(
            "router: and an ACL of 1,000, 250 masks",
            1_000,
            &FIVE_LENGTHS,
            1_000,
            250,
        ),
    ]);
    cases
}
