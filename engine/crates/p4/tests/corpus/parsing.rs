// SPDX-License-Identifier: Apache-2.0
//! Parsers: stacks, unions, variable fields, lookahead, advance, verify, value sets, errors.

use super::support::{answer, bits, pipeline};
use slotwise_p4::Pipeline;

/// The report that the program puts in front, and what follows it.
struct Report {
    parser_error: u8,
    last_index: u8,
    ahead: u8,
    in_set: u8,
    chosen: u16,
    small_is_valid: bool,
    large_is_valid: bool,
    rest: Vec<u8>,
}

fn parse(pipeline: &mut Pipeline, frame: &[u8]) -> Report {
    let mut report = answer(pipeline, frame);
    let rest = report.split_off(8);
    Report {
        parser_error: report[0],
        last_index: report[1],
        ahead: report[2],
        in_set: report[3],
        chosen: u16::from_be_bytes([report[4], report[5]]),
        small_is_valid: report[6] != 0,
        large_is_valid: report[7] != 0,
        rest,
    }
}

const NO_ERROR: u8 = 0;
const PACKET_TOO_SHORT: u8 = 1;
const STACK_OUT_OF_BOUNDS: u8 = 2;
const BAD_LABEL: u8 = 3;
const HEADER_TOO_SHORT: u8 = 4;
const PARSER_TIMEOUT: u8 = 5;

#[test]
fn a_stack_is_extracted_until_its_bottom() {
    let report = parse(
        &mut pipeline("parsing"),
        &[1, 1, 2 << 1, 0xa0, (3 << 1) | 1, 0xa1, 9, 9],
    );
    assert_eq!(report.parser_error, NO_ERROR);
    assert_eq!(report.last_index, 1);
    // Index 1, computed: read, then written.
    assert_eq!(report.chosen, 0xa1);
    assert_eq!(report.rest, [1, 1, 2 << 1, 0xa0, (3 << 1) | 1, 0xcc, 9, 9]);
}

#[test]
fn a_computed_index_out_of_range_reads_zero_and_writes_nothing() {
    let frame = [1, 7, (3 << 1) | 1, 0xa1, 9];
    let report = parse(&mut pipeline("parsing"), &frame);
    assert_eq!(report.chosen, 0);
    assert_eq!(report.rest, frame);
}

#[test]
fn a_full_stack_is_an_error_and_keeps_what_it_has() {
    let frame = [1, 9, 2, 0, 4, 0, 6, 0, 8, 0];
    let report = parse(&mut pipeline("parsing"), &frame);
    assert_eq!(report.parser_error, STACK_OUT_OF_BOUNDS);
    assert_eq!(report.rest, frame);
}

#[test]
fn verify_fails_with_the_programs_own_error() {
    let report = parse(&mut pipeline("parsing"), &[1, 9, 0xff, 0]);
    assert_eq!(report.parser_error, BAD_LABEL);
}

#[test]
fn push_and_pop_shift_the_whole_stack() {
    let mut pipeline = pipeline("parsing");
    let pushed = parse(&mut pipeline, &[1, 0x80, 2 << 1, 1, (3 << 1) | 1, 2]);
    assert_eq!(pushed.rest, [1, 0x80, 0x55 << 1, 0xee, 2 << 1, 1, (3 << 1) | 1, 2]);
    let popped = parse(&mut pipeline, &[1, 0x81, 2 << 1, 1, (3 << 1) | 1, 2]);
    assert_eq!(popped.rest, [1, 0x81, (3 << 1) | 1, 2]);
}

#[test]
fn a_variable_field_has_the_length_that_the_packet_says() {
    let mut pipeline = pipeline("parsing");
    for length in 0..=8u8 {
        let mut frame = vec![2, 0, length];
        frame.extend(1..=length);
        frame.extend([0x77, 0x99]);
        let report = parse(&mut pipeline, &frame);
        assert_eq!(report.parser_error, NO_ERROR);
        assert_eq!(report.rest, frame);
    }
}

#[test]
fn a_variable_field_fits_its_header_and_its_packet() {
    let mut pipeline = pipeline("parsing");
    assert_eq!(
        parse(&mut pipeline, &[2, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).parser_error,
        HEADER_TOO_SHORT
    );
    assert_eq!(parse(&mut pipeline, &[2, 0, 4, 0, 0]).parser_error, PACKET_TOO_SHORT);
}

#[test]
fn one_member_of_a_union_is_valid() {
    let mut pipeline = pipeline("parsing");
    let small = parse(&mut pipeline, &[3, 0, 1, 0x22]);
    assert!(small.small_is_valid && !small.large_is_valid);
    assert_eq!(small.rest, [3, 0, 1, 0x22]);
    let replaced = parse(&mut pipeline, &[3, 1, 1, 0x22]);
    assert!(!replaced.small_is_valid && replaced.large_is_valid);
    assert_eq!(replaced.rest, [3, 1, 9, 1, 2, 3, 4]);
}

#[test]
fn lookahead_leaves_the_packet_as_it_is() {
    let mut pipeline = pipeline("parsing");
    let report = parse(&mut pipeline, &[4, 0, 0xaa, 0xbb, 0xcc]);
    assert_eq!(report.ahead, 0xbb);
    assert_eq!(report.rest, [4, 0, 0xaa, 0xbb, 0xcc]);
    assert_eq!(parse(&mut pipeline, &[4, 0, 0xaa]).parser_error, PACKET_TOO_SHORT);
}

#[test]
fn advance_skips_and_stops_at_the_end() {
    let mut pipeline = pipeline("parsing");
    assert_eq!(parse(&mut pipeline, &[5, 2, 1, 2, 3]).rest, [5, 2, 3]);
    let past = parse(&mut pipeline, &[5, 4, 1, 2, 3]);
    assert_eq!(past.parser_error, PACKET_TOO_SHORT);
    assert_eq!(past.rest, [5, 4, 1, 2, 3]);
}

#[test]
fn a_loop_that_eats_nothing_times_out() {
    assert_eq!(parse(&mut pipeline("parsing"), &[6, 1]).parser_error, PARSER_TIMEOUT);
}

#[test]
fn a_value_set_holds_what_the_controller_wrote() {
    let mut pipeline = pipeline("parsing");
    assert_eq!(parse(&mut pipeline, &[0x30, 0]).in_set, 0);
    let name = "TestParser.special";
    pipeline
        .value_set_write(name, &[vec![bits(0x30)], vec![bits(0x31)]])
        .unwrap();
    assert_eq!(parse(&mut pipeline, &[0x31, 0]).in_set, 1);
    assert_eq!(
        pipeline.value_set_read(name).unwrap(),
        [vec![vec![0x30]], vec![vec![0x31]]]
    );
    assert!(pipeline.value_set_write(name, &[vec![bits(0x100)]]).is_err());
    assert_eq!(parse(&mut pipeline, &[0x30, 0]).in_set, 1);
}

#[test]
fn an_empty_frame_is_too_short() {
    assert_eq!(parse(&mut pipeline("parsing"), &[]).parser_error, PACKET_TOO_SHORT);
}
