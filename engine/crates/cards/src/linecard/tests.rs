// SPDX-License-Identifier: Apache-2.0
//! Queues and gates, by what leaves when.

use super::*;
use crate::packet::optical_frame;

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

/// 200 Mb/s: 40 ns a byte.
const RATE: Rate = Rate::from_bps(200_000_000);
const PACKET_NS: u64 = 40_000;

fn packet(queue: u16, sequence: u32) -> Packet {
    Packet::unborn(optical_frame(queue, sequence))
}

fn card() -> LineCard {
    LineCard::new(0..4, Bytes::new(10_000), Bytes::new(1480))
}

fn filled(queues: &[u16]) -> LineCard {
    let mut card = card();
    for (sequence, queue) in queues.iter().enumerate() {
        card.enqueue(at(0), packet(*queue, sequence as u32)).unwrap();
    }
    card
}

fn tell(card: &mut LineCard, op: FlowOp, queue: u16, value: u64) {
    let message = FlowControl {
        queue,
        op: op.into(),
        open_ns: 0,
        close_ns: 0,
        value,
    };
    card.control(at(0), &message).unwrap();
}

fn open(card: &mut LineCard, queue: u16, open_ns: u64, close_ns: u64) {
    let message = FlowControl {
        queue,
        op: FlowOp::Open.into(),
        open_ns,
        close_ns,
        value: 0,
    };
    card.control(at(0), &message).unwrap();
}

/// (time, queue, sequence) of everything that leaves when the card is polled when it asks to be.
fn departures(card: &mut LineCard, mut now_ns: u64) -> Vec<(u64, u16, u32)> {
    let mut left = Vec::new();
    loop {
        match card.poll(at(now_ns), RATE) {
            Next::Send {
                packet,
                queue,
                duration,
                new_demand: _,
            } => {
                assert_eq!(duration.ns(), PACKET_NS);
                left.push((now_ns, queue, message::optical(&packet.frame).unwrap().sequence));
            }
            Next::At(next) => {
                assert!(next > at(now_ns));
                now_ns = next.ns();
            }
            Next::Idle => return left,
        }
    }
}

#[test]
fn nothing_leaves_by_a_shut_gate() {
    assert!(departures(&mut filled(&[0, 1, SIGNALING_QUEUE]), 0).is_empty());
}

#[test]
fn packets_leave_back_to_back_while_their_tails_fit() {
    let mut card = filled(&[2, 2, 2, 2]);
    open(&mut card, 2, 10_000, 10_000 + 3 * PACKET_NS);
    let left = departures(&mut card, 500);
    assert_eq!(left, [(10_000, 2, 0), (50_000, 2, 1), (90_000, 2, 2)]);
    assert_eq!(card.voq_state(at(0), 2).backlog_bytes.get(), 1000);
    open(&mut card, 2, 200_000, 200_000 + PACKET_NS);
    assert_eq!(departures(&mut card, 130_000), [(200_000, 2, 3)]);
}

#[test]
fn a_tail_that_misses_the_end_by_one_nanosecond_stays() {
    let mut card = filled(&[2]);
    open(&mut card, 2, 0, PACKET_NS - 1);
    assert!(departures(&mut card, 0).is_empty());
    open(&mut card, 2, 0, PACKET_NS);
    assert_eq!(departures(&mut card, 0), [(0, 2, 0)]);
}

#[test]
fn signaling_goes_first_and_open_queues_take_turns() {
    let mut card = filled(&[0, 0, 1, 1, SIGNALING_QUEUE]);
    for queue in [0, 1, SIGNALING_QUEUE] {
        open(&mut card, queue, 0, 1_000_000);
    }
    let queues: Vec<u16> = departures(&mut card, 0)
        .into_iter()
        .map(|(_, queue, _)| queue)
        .collect();
    assert_eq!(queues, [SIGNALING_QUEUE, 1, 0, 1, 0]);
}

#[test]
fn shut_closes_and_a_grant_passes_whatever_the_gate() {
    let mut card = filled(&[3, 3, 3]);
    open(&mut card, 3, 0, 1_000_000);
    tell(&mut card, FlowOp::Shut, 3, 0);
    assert!(departures(&mut card, 0).is_empty());
    tell(&mut card, FlowOp::GrantBytes, 3, 2999);
    assert_eq!(departures(&mut card, 5), [(5, 3, 0), (5 + PACKET_NS, 3, 1)]);
}

#[test]
fn a_rate_spaces_packets() {
    let mut card = filled(&[3, 3]);
    tell(&mut card, FlowOp::SetRate, 3, RATE.bps() / 4);
    open(&mut card, 3, 0, 1_000_000);
    assert_eq!(departures(&mut card, 0), [(0, 3, 0), (4 * PACKET_NS, 3, 1)]);
}

#[test]
fn queues_drop_their_tail_and_report_themselves() {
    let mut card = filled(&[1; 10]);
    let (cause, refused) = card.enqueue(at(7), packet(1, 10)).unwrap_err();
    assert_eq!((cause, refused.frame.len()), (DropCause::QueueFull, 1000));
    let state = card.voq_state(at(70), 1);
    assert_eq!((state.backlog_bytes.get(), state.arrived_bytes.get()), (10_000, 10_000));
    assert_eq!((state.hol_delay.ns(), state.dropped_packets), (70, 1));
    assert!(
        card.enqueue(at(7), packet(2, 0)).is_ok(),
        "the limit is each queue's own"
    );
}

#[test]
fn what_cannot_be_queued_comes_back_with_its_reason() {
    let cause = |packet: Packet| card().enqueue(at(0), packet).unwrap_err().0;
    assert_eq!(cause(packet(4, 0)), DropCause::NoSuchQueue);
    assert_eq!(cause(packet(SIGNALING_QUEUE - 1, 0)), DropCause::NoSuchQueue);
    let resized = |bytes| {
        let mut packet = packet(0, 0);
        packet.frame.resize(bytes, 0);
        packet
    };
    assert_eq!(cause(resized(29)), DropCause::Malformed);
    assert_eq!(cause(resized(0)), DropCause::Malformed);
    assert_eq!(cause(resized(1481)), DropCause::TooLong);
}

#[test]
fn senseless_messages_change_nothing() {
    let mut card = filled(&[0]);
    let mut refused = |op: u8, queue, open_ns, close_ns, value| {
        card.control(
            at(0),
            &FlowControl {
                queue,
                op,
                open_ns,
                close_ns,
                value,
            },
        )
        .err()
    };
    assert_eq!(refused(0, 0, 0, 1_000_000, 0), Some(DropCause::Malformed));
    assert_eq!(refused(FlowOp::Open.into(), 0, 5, 5, 0), Some(DropCause::Malformed));
    assert_eq!(
        refused(FlowOp::Open.into(), 4, 0, 1_000_000, 0),
        Some(DropCause::NoSuchQueue)
    );
    for open_ns in [5, u64::MAX - 1] {
        let late = refused(FlowOp::OpenAndTick.into(), 0, open_ns, open_ns.min(4), 0);
        assert_eq!(late, Some(DropCause::Malformed));
    }
    assert_eq!(refused(FlowOp::Open.into(), 0, u64::MAX - 1, u64::MAX, 0), None);
    assert!(departures(&mut card, 0).is_empty());
}

#[test]
fn a_reset_empties_the_queues_and_shuts_the_gates() {
    let mut card = filled(&[0, SIGNALING_QUEUE]);
    open(&mut card, 0, 0, 1_000_000);
    assert_eq!(card.reset().len(), 2);
    card.enqueue(at(0), packet(0, 0)).unwrap();
    assert!(departures(&mut card, 0).is_empty());
}

#[test]
fn messages_for_a_slot_that_is_over_are_given_back() {
    let mut card = card();
    card.enqueue_until(at(0), packet(SIGNALING_QUEUE, 1), at(1_000_000))
        .unwrap();
    card.enqueue(at(0), packet(SIGNALING_QUEUE, 2)).unwrap();
    assert!(card.take_late(at(999_999)).is_empty());
    let late = card.take_late(at(1_000_000));
    assert_eq!(late.len(), 1);
    assert_eq!(message::optical(&late[0]).unwrap().sequence, 1);
    let refused = card.enqueue_until(at(1_000_000), packet(SIGNALING_QUEUE, 3), at(1_000_000));
    assert_eq!(refused.unwrap_err().0, DropCause::Late);
    open(&mut card, SIGNALING_QUEUE, 1_000_000, 2_000_000);
    let left = departures(&mut card, 1_000_000);
    assert_eq!(left, [(1_000_000, SIGNALING_QUEUE, 2)]);
}

#[test]
fn of_many_queues_those_with_packets_are_served_in_turn() {
    let mut card = LineCard::new(64..264, Bytes::new(10_000), Bytes::new(1480));
    for (sequence, queue) in [263, 64, 127, 128, 64, SIGNALING_QUEUE].into_iter().enumerate() {
        card.enqueue(at(0), packet(queue, sequence as u32)).unwrap();
    }
    for queue in [64, 127, 128, 263, SIGNALING_QUEUE] {
        open(&mut card, queue, 0, 10 * PACKET_NS);
    }
    let order: Vec<(u16, u32)> = departures(&mut card, 0)
        .into_iter()
        .map(|(_, queue, sequence)| (queue, sequence))
        .collect();
    assert_eq!(
        order,
        [(SIGNALING_QUEUE, 5), (127, 2), (128, 3), (263, 0), (64, 1), (64, 4)]
    );
}

#[test]
fn a_queue_whose_gate_is_over_sends_again_when_it_is_allowed_to() {
    let mut card = filled(&[1, 1, 1]);
    open(&mut card, 1, 0, PACKET_NS);
    assert_eq!(departures(&mut card, 0).len(), 1);
    assert!(departures(&mut card, 10 * PACKET_NS).is_empty(), "the gate is over");
    open(&mut card, 1, 20 * PACKET_NS, 21 * PACKET_NS);
    assert_eq!(departures(&mut card, 11 * PACKET_NS), [(20 * PACKET_NS, 1, 1)]);
    assert!(departures(&mut card, 30 * PACKET_NS).is_empty());
    tell(&mut card, FlowOp::GrantBytes, 1, 1500);
    assert_eq!(departures(&mut card, 40 * PACKET_NS), [(40 * PACKET_NS, 1, 2)]);
}
