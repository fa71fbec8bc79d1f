// SPDX-License-Identifier: Apache-2.0
//! Messages between line card and P4, as in contract 2 of `docs/architecture.md`.

use slotwise_p4::Port;
use slotwise_wire::{
    AddLimits, Alarm, ETHERTYPE_LINECARD, ETHERTYPE_OPTICAL, Ethernet, FAIRNESS_ENTRIES, FaultCode, FlowControl,
    IntervalTick, LINECARD_VERSION, LineCardKind, Linecard, OPTICAL_VERSION, Optical, QueueReport, RING_VERSION, Ring,
    RingData, RingKind, RingTick, SlotTick,
};

use crate::linecard::QueueState;
use crate::transit_first::AddLimit;

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

/// An interval of a ring's card has ended, or P4 has asked for a tick.
pub(crate) fn ring_tick(port: Port, tick: &RingTick) -> [u8; HEADER + RingTick::SIZE] {
    let mut message = [0; HEADER + RingTick::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::RingTick));
    message[HEADER..].copy_from_slice(&tick.encode());
    message
}

/// The port whose card P4's message is for.
pub(crate) fn card_port(frame: &[u8]) -> Option<Port> {
    let ethernet = Ethernet::decode(frame)?;
    let linecard = Linecard::decode(&frame[Ethernet::SIZE..])?;
    let known = ethernet.ether_type == ETHERTYPE_LINECARD && linecard.version == LINECARD_VERSION;
    known.then_some(linecard.port)
}

/// What is behind the headers of a message of this kind to a card.
fn content(frame: &[u8], kind: LineCardKind) -> Option<&[u8]> {
    card_port(frame)?;
    let linecard = Linecard::decode(&frame[Ethernet::SIZE..])?;
    (linecard.kind == u8::from(kind)).then(|| &frame[HEADER..])
}

/// Reads what P4 tells a line card to do.
pub(crate) fn flow_control(frame: &[u8]) -> Option<FlowControl> {
    FlowControl::decode(content(frame, LineCardKind::FlowControl)?)
}

/// P4's answer to a ring tick.
pub(crate) struct LimitsToAdd {
    /// From the end of the interval that the tick was about.
    pub(crate) next_ns: u32,
    pub(crate) ticks: u16,
    /// Those of no rate are none.
    pub(crate) limits: [AddLimit; FAIRNESS_ENTRIES as usize],
}

/// Reads it.
pub(crate) fn add_limits(frame: &[u8]) -> Option<LimitsToAdd> {
    let bytes = content(frame, LineCardKind::AddLimits)?;
    let AddLimits { next_ns, ticks } = AddLimits::decode(bytes)?;
    let mut limits = [AddLimit { hops: 0, rate: 0 }; FAIRNESS_ENTRIES as usize];
    for (index, limit) in limits.iter_mut().enumerate() {
        let entry = bytes.get(AddLimits::SIZE + index * slotwise_wire::AddLimit::SIZE..)?;
        let slotwise_wire::AddLimit { hops, rate } = slotwise_wire::AddLimit::decode(entry)?;
        *limit = AddLimit { hops, rate };
    }
    Some(LimitsToAdd { next_ns, ticks, limits })
}

/// The ring header of a frame that has one, and what follows in one that carries data.
pub(crate) fn ring(frame: &[u8]) -> Option<(Ring, Option<RingData>)> {
    let ethernet = Ethernet::decode(frame)?;
    let ring = Ring::decode(&frame[Ethernet::SIZE..])?;
    if ethernet.ether_type != ETHERTYPE_OPTICAL || ring.version != RING_VERSION {
        return None;
    }
    let is_data = ring.kind == u8::from(RingKind::Data);
    let data = RingData::decode(&frame[Ethernet::SIZE + Ring::SIZE..]).filter(|_| is_data);
    Some((ring, data))
}

/// The optical header of a frame that has one.
pub(crate) fn optical(frame: &[u8]) -> Option<Optical> {
    let ethernet = Ethernet::decode(frame)?;
    let optical = Optical::decode(&frame[Ethernet::SIZE..])?;
    (ethernet.ether_type == ETHERTYPE_OPTICAL && optical.version == OPTICAL_VERSION).then_some(optical)
}
