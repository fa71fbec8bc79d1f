// SPDX-License-Identifier: Apache-2.0
//! The programs of this repository load, and take any frame on any port.

use super::support::{Recorder, config, fresh};
use proptest::prelude::*;
use slotwise_p4::{Pipeline, Program};
use std::sync::Arc;

fn pipeline(name: &str) -> Pipeline {
    let path = format!("{}/../../../p4src/p4c-out/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let program = Program::from_json(&json).unwrap_or_else(|error| panic!("{path}: {error}"));
    fresh(Arc::new(program), config())
}

/// EtherType and first byte of what the programs look into.
const MESSAGES: [[u8; 3]; 5] = [
    [0x88, 0xb5, 0x10],
    [0x88, 0xb5, 0x12],
    [0x88, 0xb6, 0x11],
    [8, 0, 0x45],
    [8, 6, 0],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_frame_on_any_port(
        packets in prop::collection::vec((0..512u16, 0..MESSAGES.len(), prop::collection::vec(any::<u8>(), 0..250)), 1..20),
    ) {
        for name in ["edge", "core", "router"] {
            let mut pipeline = pipeline(name);
            for (now_ns, (port, message, bytes)) in (0..).zip(&packets) {
                let mut frame = bytes.clone();
                if let Some(place) = frame.get_mut(12..15) {
                    place.copy_from_slice(&MESSAGES[*message]);
                }
                pipeline.process(now_ns, *port, &frame, &mut Recorder::default());
            }
            prop_assert_eq!(pipeline.aborted_packets(), 0);
        }
    }
}
