// SPDX-License-Identifier: Apache-2.0
//! Messages between line card and P4, as in contract 2 of `docs/architecture.md`.

use slotwise_wire::{
    Alarm, ETHERTYPE_LINECARD, ETHERTYPE_OPTICAL, Ethernet, FaultCode, FlowControl, IntervalTick, LINECARD_VERSION,
    LineCardKind, Linecard, OPTICAL_VERSION, Optical, QueueReport, SlotTick,
};

use crate::linecard::QueueState;

const HEADER: usize = Ethernet::SIZE + Linecard::SIZE;

/// A slot starts.
pub(crate) fn slot_tick(port: u16, tick: &SlotTick) -> [u8; HEADER + SlotTick::SIZE] {
    let mut message = [0; HEADER + SlotTick::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::SlotTick));
    message[HEADER..].copy_from_slice(&tick.encode());
    message
}

/// State of a queue; counts modulo 2^32, the delay saturated.
pub(crate) fn queue_report(port: u16, queue: u16, state: &QueueState) -> [u8; HEADER + QueueReport::SIZE] {
    let mut message = [0; HEADER + QueueReport::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::QueueReport));
    message[HEADER..].copy_from_slice(&report(queue, state).encode());
    message
}

/// The card has a fault, or it is over.
pub(crate) fn alarm(port: u16, code: FaultCode, over: bool) -> [u8; HEADER + Alarm::SIZE] {
    let mut message = [0; HEADER + Alarm::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::Alarm));
    let alarm = Alarm {
        code: code.into(),
        flags: u8::from(over),
    };
    message[HEADER..].copy_from_slice(&alarm.encode());
    message
}

/// An interval timer of an output has expired.
pub(crate) fn interval_tick(
    port: u16,
    tick: &IntervalTick,
    queue: u16,
    state: &QueueState,
) -> [u8; HEADER + IntervalTick::SIZE + QueueReport::SIZE] {
    const REPORT: usize = HEADER + IntervalTick::SIZE;
    let mut message = [0; REPORT + QueueReport::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::IntervalTick));
    message[HEADER..REPORT].copy_from_slice(&tick.encode());
    message[REPORT..].copy_from_slice(&report(queue, state).encode());
    message
}

fn report(queue: u16, state: &QueueState) -> QueueReport {
    QueueReport {
        queue,
        backlog_bytes: state.backlog_bytes as u32,
        arrived_bytes: state.arrived_bytes as u32,
        hol_delay_ns: u32::try_from(state.hol_delay_ns).unwrap_or(u32::MAX),
        dropped_packets: state.dropped_packets as u32,
    }
}

fn header(port: u16, kind: LineCardKind) -> [u8; HEADER] {
    // On this wire nobody has an address.
    let ethernet = Ethernet {
        dst: 0,
        src: 0,
        ether_type: ETHERTYPE_LINECARD,
    };
    let linecard = Linecard {
        version: LINECARD_VERSION,
        kind: kind.into(),
        port,
    };
    let mut bytes = [0; HEADER];
    bytes[..Ethernet::SIZE].copy_from_slice(&ethernet.encode());
    bytes[Ethernet::SIZE..].copy_from_slice(&linecard.encode());
    bytes
}

/// Reads P4's message to a line card: the port that the card serves, and what it is to do.
pub(crate) fn flow_control(frame: &[u8]) -> Option<(u16, FlowControl)> {
    let ethernet = Ethernet::decode(frame)?;
    let linecard = Linecard::decode(&frame[Ethernet::SIZE..])?;
    let known = ethernet.ether_type == ETHERTYPE_LINECARD
        && linecard.version == LINECARD_VERSION
        && linecard.kind == u8::from(LineCardKind::FlowControl);
    let message = FlowControl::decode(&frame[HEADER..])?;
    known.then_some((linecard.port, message))
}

/// The optical header of a frame that has one.
pub(crate) fn optical(frame: &[u8]) -> Option<Optical> {
    let ethernet = Ethernet::decode(frame)?;
    let optical = Optical::decode(&frame[Ethernet::SIZE..])?;
    (ethernet.ether_type == ETHERTYPE_OPTICAL && optical.version == OPTICAL_VERSION).then_some(optical)
}
