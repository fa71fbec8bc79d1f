// SPDX-License-Identifier: Apache-2.0
//! The programs of this repository load, and take any frame on any port.

use super::support::{Recorder, call, config, entry, exact, fresh};
use proptest::prelude::*;
use slotwise_p4::{Pipeline, Program};
use slotwise_units::Instant;
use std::sync::Arc;

fn pipeline(name: &str) -> Pipeline {
    let path = format!("{}/../../../p4src/p4c-out/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let program = Program::from_json(&json).unwrap_or_else(|error| panic!("{path}: {error}"));
    fresh(Arc::new(program), config())
}

const PROGRAMS: [&str; 5] = ["edge", "core", "router", "ring", "ops"];

/// EtherType and first byte of what the programs look into.
const MESSAGES: [[u8; 3]; 11] = [
    [0x88, 0xb5, 0x10],
    [0x88, 0xb5, 0x12],
    [0x88, 0xb6, 0x11],
    [0x88, 0xb6, 0x16],
    [0x88, 0xb5, 0x20],
    [0x88, 0xb5, 0x21],
    [0x88, 0xb5, 0x30],
    [0x88, 0xb5, 0x31],
    [0x88, 0xb6, 0x12],
    [8, 0, 0x45],
    [8, 6, 0],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_frame_on_any_port(
        packets in prop::collection::vec((0..512u16, 0..MESSAGES.len(), prop::collection::vec(any::<u8>(), 0..250)), 1..20),
    ) {
        for name in PROGRAMS {
            let mut pipeline = pipeline(name);
            for (now_ns, (port, message, bytes)) in (0..).zip(&packets) {
                let mut frame = bytes.clone();
                if let Some(place) = frame.get_mut(12..15) {
                    place.copy_from_slice(&MESSAGES[*message]);
                }
                pipeline.process(Instant::from_ns(now_ns), *port, &frame, &mut Recorder::default());
            }
            prop_assert_eq!(pipeline.aborted_packets(), 0);
        }
    }
}

const GUARD_NS: u64 = 1_000;
const SLOT_NS: u64 = 250_000;
/// 1 Gb/s: 8 ns a byte.
const TIME_PER_BYTE_Q16: u64 = 8 << 16;
/// Where a clock of 48 bits goes round, after 78 hours.
const ROUND_NS: u64 = 1 << 48;

/// A core that connects inputs 256 and 257 to output 258 in slot 0.
fn core() -> Pipeline {
    let mut core = pipeline("core");
    let timing = call("CoreIngress.set_core_params", &[GUARD_NS, SLOT_NS, TIME_PER_BYTE_Q16]);
    core.table_set_default("CoreIngress.core_params", Some(timing)).unwrap();
    for input in [256, 257] {
        let key = vec![exact(0), exact(0), exact(input)];
        let connect = entry(key, 0, call("CoreIngress.connect", &[258]));
        core.table_insert("CoreIngress.crossbar", connect).unwrap();
    }
    core
}

/// The tick that starts slot 0.
fn tick() -> Vec<u8> {
    let mut tick = [[0; 12].as_slice(), &[0x88, 0xb6, 0x11, 0, 0, 0]].concat();
    tick.resize(64, 0);
    tick
}

/// Which of `light`, ns from the slot's start and input, come out if slot 0 starts at `start_ns`.
fn passes(core: &mut Pipeline, start_ns: u64, light: &[(u64, u16)]) -> Vec<bool> {
    core.process(Instant::from_ns(start_ns), 500, &tick(), &mut Recorder::default());
    let through = |&(after_ns, input): &(u64, u16)| {
        let mut recorder = Recorder::default();
        core.process(Instant::from_ns(start_ns + after_ns), input, &[0; 100], &mut recorder);
        recorder.packets.iter().any(|(port, _)| *port == 258)
    };
    light.iter().map(through).collect()
}

/// 100 bytes last 800 ns: the second packet finds its output taken, the third finds it free.
const LIGHT: [(u64, u16); 3] = [(2_000, 256), (2_500, 257), (2_800, 257)];
const PASSES: [bool; 3] = [true, false, true];

#[test]
fn a_core_switches_alike_whatever_its_clock_says() {
    // The slot starts before the round and after it, and the round comes in the guard, between packets, and in a packet.
    for early_ns in [0, 500, 1_000, 2_000, 2_200, 2_500, 2_700, 2_801, SLOT_NS] {
        assert_eq!(
            passes(&mut core(), ROUND_NS - early_ns, &LIGHT),
            PASSES,
            "{early_ns} ns before"
        );
    }
}

#[test]
fn an_output_that_was_idle_for_long_is_free() {
    for idle_ns in [SLOT_NS, ROUND_NS / 4, ROUND_NS / 2 + SLOT_NS, ROUND_NS - 3 * SLOT_NS] {
        let mut core = core();
        assert_eq!(passes(&mut core, ROUND_NS - SLOT_NS, &LIGHT), PASSES);
        assert_eq!(
            passes(&mut core, ROUND_NS + idle_ns, &LIGHT),
            PASSES,
            "after {idle_ns} ns"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Only differences of times count: what comes out is the same when the clock goes round on the way.
    #[test]
    fn the_clock_may_go_round(
        packets in prop::collection::vec((0..512u16, 0..MESSAGES.len(), prop::collection::vec(any::<u8>(), 15..250)), 1..20),
        early_ns in 0..20_000u64,
    ) {
        for name in PROGRAMS {
            let outcome = |start_ns: u64| {
                let mut pipeline = pipeline(name);
                let mut recorder = Recorder::default();
                for (after_ns, (port, message, bytes)) in (0..).step_by(1_000).zip(&packets) {
                    let mut frame = bytes.clone();
                    frame[12..15].copy_from_slice(&MESSAGES[*message]);
                    pipeline.process(Instant::from_ns(start_ns + after_ns), *port, &frame, &mut recorder);
                }
                recorder
            };
            prop_assert_eq!(outcome(ROUND_NS / 8), outcome(ROUND_NS - early_ns));
        }
    }
}
