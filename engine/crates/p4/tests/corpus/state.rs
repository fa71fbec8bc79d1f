// SPDX-License-Identifier: Apache-2.0
//! Registers, counters, hashes, checksums, random numbers, log, assert, exit, timestamps.

use super::support::{Recorder, answer, config, fresh, pipeline, program_json, run};
use slotwise_p4::{Pipeline, PipelineConfig, Program, TimestampUnit};
use slotwise_units::Instant;
use std::sync::Arc;

struct Command {
    operation: u8,
    index: u8,
    value: u64,
    wide: u128,
    checksum: u16,
    checksum_error: u8,
}

fn frame(operation: u8, index: u8, value: u64, wide: u128, checksum: u16) -> Vec<u8> {
    let mut frame = vec![operation, index];
    frame.extend(value.to_be_bytes());
    frame.extend(&wide.to_be_bytes()[6..]);
    frame.extend(checksum.to_be_bytes());
    frame.push(0);
    frame
}

fn decode(frame: &[u8]) -> Command {
    let number = |bytes: &[u8]| bytes.iter().fold(0u128, |acc, &b| acc << 8 | u128::from(b));
    Command {
        operation: frame[0],
        index: frame[1],
        value: number(&frame[2..10]) as u64,
        wide: number(&frame[10..20]),
        checksum: number(&frame[20..22]) as u16,
        checksum_error: frame[22],
    }
}

fn command(pipeline: &mut Pipeline, operation: u8, index: u8, value: u64) -> Command {
    decode(&answer(pipeline, &frame(operation, index, value, 0, 0)))
}

#[test]
fn registers_keep_their_cells_apart() {
    let mut pipeline = pipeline("state");
    command(&mut pipeline, 1, 2, u64::MAX);
    command(&mut pipeline, 1, 3, 7);
    assert_eq!(command(&mut pipeline, 2, 2, 0).value, u64::MAX);
    assert_eq!(command(&mut pipeline, 2, 1, 5).value, 0);
    assert_eq!(pipeline.register_read("TestIngress.words", 3).unwrap(), [7]);
    pipeline.register_write("TestIngress.words", 0, &[1, 0]).unwrap();
    assert_eq!(command(&mut pipeline, 2, 0, 0).value, 256);
}

#[test]
fn out_of_range_registers_are_left_alone() {
    let mut pipeline = pipeline("state");
    command(&mut pipeline, 1, 200, 9);
    // As in BMv2, the target of the read keeps its value.
    assert_eq!(command(&mut pipeline, 2, 200, 1234).value, 1234);
    assert!(pipeline.register_read("TestIngress.words", 4).is_err());
    assert!(
        pipeline
            .register_write("TestIngress.words", 0, &[1, 0, 0, 0, 0, 0, 0, 0, 0])
            .is_err()
    );
}

#[test]
fn registers_wider_than_a_word() {
    let mut pipeline = pipeline("state");
    let out = decode(&answer(&mut pipeline, &frame(3, 1, 0, (1 << 80) - 1, 0)));
    // All ones and one more: 80 bits wrap.
    assert_eq!(out.wide, 0);
    let out = decode(&answer(&mut pipeline, &frame(3, 1, 0, 1 << 70, 0)));
    assert_eq!(out.wide, (1 << 70) + 1);
    assert_eq!(
        pipeline.register_read("TestIngress.wides", 1).unwrap(),
        [0x40, 0, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn counters_count_packets_and_bytes() {
    let mut pipeline = pipeline("state");
    command(&mut pipeline, 4, 1, 0);
    command(&mut pipeline, 4, 1, 0);
    command(&mut pipeline, 4, 77, 0);
    assert_eq!(pipeline.counter_read("TestIngress.traffic", 1).unwrap(), (2, 46));
    assert_eq!(pipeline.counter_read("TestIngress.traffic", 0).unwrap(), (0, 0));
    pipeline.counter_write("TestIngress.traffic", 0, 5, 6).unwrap();
    assert_eq!(pipeline.counter_read("TestIngress.traffic", 0).unwrap(), (5, 6));
    assert!(pipeline.counter_read("TestIngress.traffic", 4).is_err());
}

#[test]
fn hashes_are_reduced_and_offset() {
    let out = command(&mut pipeline("state"), 5, 1, 0);
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&[5, 1]);
    let folded = crc::Crc::<u16>::new(&crc::CRC_16_ARC).checksum(&[5]) % 7 + 10;
    assert_eq!(out.value, u64::from(crc) << 32 | u64::from(folded));
}

#[test]
fn random_numbers_are_in_range_and_follow_the_seed() {
    let draw = |seed| {
        let program = Program::from_json(&program_json("state")).unwrap();
        let mut pipeline = fresh(Arc::new(program), PipelineConfig { seed, ..config() });
        (0..50)
            .map(|_| command(&mut pipeline, 6, 0, 0).value)
            .collect::<Vec<_>>()
    };
    let first = draw(1);
    assert!(first.iter().all(|v| (10..=12).contains(v)), "{first:?}");
    assert!((10..=12).all(|v| first.contains(&v)), "{first:?}");
    assert_eq!(first, draw(1));
    assert_ne!(first, draw(2));
}

#[test]
fn log_messages_come_out() {
    let out = run(&mut pipeline("state"), &frame(7, 3, 99, 0, 0));
    assert_eq!(out.logs, ["value 99 of 3"]);
}

/// The Internet checksum over bytes of even length.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|p| u32::from(u16::from_be_bytes([p[0], p[1]])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn checksums_are_updated() {
    let mut pipeline = pipeline("state");
    let sent = frame(8, 0, 0x1234_5678_9abc_def0, 0xabcdef, 0);
    let out = decode(&answer(&mut pipeline, &sent));
    assert_eq!(out.operation, 0x88);
    assert_eq!(out.checksum, internet_checksum(&sent[2..20]));

    let mut with_payload = frame(10, 0, 0x1234_5678_9abc_def0, 0, 0);
    with_payload.extend([1, 2, 3, 4]);
    let out = decode(&answer(&mut pipeline, &with_payload));
    let mut covered = with_payload[2..10].to_vec();
    covered.extend([1, 2, 3, 4]);
    assert_eq!(out.checksum, internet_checksum(&covered));
}

#[test]
fn checksums_are_verified() {
    let mut pipeline = pipeline("state");
    // Value, then 5 in four bits, index, 6 in four bits.
    let mut covered = 77u64.to_be_bytes().to_vec();
    covered.extend([0x51, 0x26]);
    let right = internet_checksum(&covered);
    let out = decode(&answer(&mut pipeline, &frame(9, 0x12, 77, 0, right)));
    assert_eq!((out.index, out.checksum_error), (0x12, 0));
    assert_eq!(
        decode(&answer(&mut pipeline, &frame(9, 0x12, 77, 0, right ^ 1))).checksum_error,
        1
    );
}

#[test]
fn a_failed_assertion_drops_the_packet() {
    let mut pipeline = pipeline("state");
    assert_eq!(run(&mut pipeline, &frame(11, 0, 0, 0, 0)).packets, []);
    assert_eq!(pipeline.aborted_packets(), 1);
    assert_eq!(run(&mut pipeline, &frame(11, 1, 0, 0, 0)).packets.len(), 1);
}

#[test]
fn exit_ends_ingress_but_not_the_packet() {
    assert_eq!(command(&mut pipeline("state"), 12, 0, 0).operation, 12);
}

#[test]
fn timestamps_have_the_unit_that_was_asked_for() {
    for (unit, expected) in [(TimestampUnit::Nanoseconds, 5_000), (TimestampUnit::Microseconds, 5)] {
        let program = Program::from_json(&program_json("state")).unwrap();
        let mut pipeline = fresh(
            Arc::new(program),
            PipelineConfig {
                timestamp_unit: unit,
                ..config()
            },
        );
        let mut out = Recorder::default();
        pipeline.process(Instant::from_ns(5_000), 3, &frame(13, 0, 0, 0, 0), &mut out);
        let out = decode(&out.packets[0].1);
        assert_eq!(out.value, expected);
        assert_eq!(out.wide, 23);
    }
}
