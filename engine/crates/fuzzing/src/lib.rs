// SPDX-License-Identifier: Apache-2.0
//! Everything that reads bytes from outside, one function each: no input may make one panic.
//!
//! `engine/fuzz` gives them to libFuzzer, with the corpus that is kept there; this crate's test runs a bounded number of
//! seeded mutations of the same corpus.

mod gtp;
mod gtp_peer;
mod p4runtime;
mod programs;
mod workload;

pub use gtp::gtp;
pub use gtp_peer::gtp_peer;
pub use p4runtime::p4runtime;
pub use workload::workload;

use crate::programs::{PROGRAMS, Sink, pipeline, program};
use slotwise_p4::{Pipeline, Program};
use slotwise_p4runtime::parse_p4info;
use slotwise_scenario::{MAX_FILE_BYTES, Scenario};
use slotwise_stf::{Runner, Schema};
use slotwise_units::Instant;
use std::sync::Arc;

/// A target: its name, which is that of its corpus folder, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 9] = [
    ("p4_json", p4_json),
    ("p4info", p4info),
    ("stf", stf),
    ("packets", packets),
    ("p4runtime", p4runtime),
    ("scenario", scenario),
    ("gtp", gtp),
    ("gtp_peer", gtp_peer),
    ("workload", workload),
];

/// Longest frames that a packet target makes of its input, in bytes.
const MAX_FRAME: usize = 1514;

/// A program, and packets through it if it loads.
pub fn p4_json(data: &[u8]) {
    let Ok(program) = Program::from_json(data) else { return };
    let mut pipeline = Pipeline::new(Arc::new(program), programs::config());
    pipeline.set_tracing(true);
    for (number, length) in [0usize, 1, 14, 60, 200].into_iter().enumerate() {
        let frame: Vec<u8> = (0..length).map(|at| (at * 7 + number) as u8).collect();
        pipeline.process(Instant::from_ns(number as u64 * 1000), number as u16, &frame, &mut Sink);
        pipeline.take_trace().iter().for_each(|event| drop(event.to_string()));
    }
}

/// P4Info in both of its forms.
pub fn p4info(data: &[u8]) {
    for is_binary in [false, true] {
        if let Ok(info) = parse_p4info(data, is_binary) {
            Schema::new(&info);
        }
    }
}

/// A script, run if it can be read.
pub fn stf(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(script) = slotwise_stf::parse(&text) else { return };
    for name in ["matching", "copies"] {
        let mut pipeline = pipeline(name);
        let schema = &program(name).schema;
        let report = Runner::new(schema, &mut pipeline).run(&script, &mut |_, _| {});
        drop(report.map(|report| report.failures.iter().map(|failure| failure.text.len()).sum::<usize>()));
    }
    let again = slotwise_stf::parse(&script.to_string());
    assert!(again.is_ok(), "a printed script cannot be read: {again:?}");
}

/// Frames through the product's own programs: which one, then for each a port, a length, and its bytes.
pub fn packets(data: &[u8]) {
    let Some((choice, mut rest)) = data.split_first() else {
        return;
    };
    let mut pipeline = pipeline(PROGRAMS[usize::from(*choice) % PROGRAMS.len()].name);
    let mut now_ns = 0;
    while let [port_high, port_low, length_high, length_low, after @ ..] = rest {
        let port = u16::from_be_bytes([*port_high, *port_low]) % 512;
        let length = usize::from(u16::from_be_bytes([*length_high, *length_low])) % (MAX_FRAME + 1);
        let (frame, next) = after.split_at(length.min(after.len()));
        now_ns += 1_000_000;
        pipeline.process(Instant::from_ns(now_ns), port, frame, &mut Sink);
        rest = next;
    }
}

/// A scenario file. Its plain form is the same scenario.
pub fn scenario(data: &[u8]) {
    match Scenario::parse(data) {
        Err(error) => drop(error.to_string()),
        Ok(scenario) => {
            let plain = Scenario::plain(data, &scenario.name).expect("the file is right");
            if plain.len() <= MAX_FILE_BYTES {
                assert_eq!(Scenario::parse(plain.as_bytes()).as_ref(), Ok(&scenario), "{plain}");
            }
        }
    }
}
