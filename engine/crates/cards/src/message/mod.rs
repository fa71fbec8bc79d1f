// SPDX-License-Identifier: Apache-2.0
//! Messages between line card and P4, as in contract 2 of `docs/architecture.md`.

pub mod burst;
pub mod ring;

use crate::Port;
use slotwise_wire::{
    Alarm, ETHERTYPE_LINECARD, ETHERTYPE_OPTICAL, Ethernet, FaultCode, FlowControl, IntervalTick, LABEL_VERSION,
    LINECARD_VERSION, Label, LineCardKind, Linecard, OPTICAL_VERSION, Optical, QueueReport, SlotTick,
};

use crate::linecard::QueueState;

/// Headers of every message.
pub const HEADER: usize = Ethernet::SIZE + Linecard::SIZE;

/// A slot starts.
pub fn slot_tick(port: u16, tick: &SlotTick) -> [u8; HEADER + SlotTick::SIZE] {
    let mut message = [0; HEADER + SlotTick::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::SlotTick));
    message[HEADER..].copy_from_slice(&tick.encode());
    message
}

/// State of a queue; counts modulo 2^32, the delay saturated.
pub fn queue_report(port: u16, queue: u16, state: &QueueState) -> [u8; HEADER + QueueReport::SIZE] {
    let mut message = [0; HEADER + QueueReport::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::QueueReport));
    message[HEADER..].copy_from_slice(&report(queue, state).encode());
    message
}

/// The card has a fault, or it is over.
pub fn alarm(port: u16, code: FaultCode, over: bool) -> [u8; HEADER + Alarm::SIZE] {
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
pub fn interval_tick(
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
        backlog_bytes: state.backlog_bytes.get() as u32,
        arrived_bytes: state.arrived_bytes.get() as u32,
        hol_delay_ns: u32::try_from(state.hol_delay.ns()).unwrap_or(u32::MAX),
        dropped_packets: state.dropped_packets as u32,
    }
}

/// Headers of a message of a card.
pub fn header(port: u16, kind: LineCardKind) -> [u8; HEADER] {
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

/// A message of P4 to a card.
pub struct ToCard<'a> {
    /// The port before which the card is.
    pub port: Port,
    kind: u8,
    content: &'a [u8],
}

impl ToCard<'_> {
    /// Message of P4 in a frame that left by PORT_LINECARD.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<ToCard<'_>> {
        let ethernet = Ethernet::decode(frame)?;
        let Linecard { version, kind, port } = Linecard::decode(&frame[Ethernet::SIZE..])?;
        let is_known = ethernet.ether_type == ETHERTYPE_LINECARD && version == LINECARD_VERSION;
        let content = &frame[HEADER..];
        is_known.then_some(ToCard { port, kind, content })
    }

    /// Length of the whole frame.
    #[inline]
    pub fn bytes(&self) -> usize {
        HEADER + self.content.len()
    }

    /// Content of a message of this kind, after its headers.
    #[inline]
    pub fn content(&self, kind: LineCardKind) -> Option<&[u8]> {
        (self.kind == u8::from(kind)).then_some(self.content)
    }

    /// Flow control in the message.
    #[inline]
    pub fn flow_control(&self) -> Option<FlowControl> {
        FlowControl::decode(self.content(LineCardKind::FlowControl)?)
    }
}

/// The label before a burst; `None` if a frame has none, or one of another version.
#[inline]
pub fn label(frame: &[u8]) -> Option<Label> {
    let ethernet = Ethernet::decode(frame)?;
    let label = Label::decode(&frame[Ethernet::SIZE..])?;
    (label.version == LABEL_VERSION && ethernet.ether_type == ETHERTYPE_OPTICAL).then_some(label)
}

/// The optical header of a frame that has one.
#[inline]
pub fn optical(frame: &[u8]) -> Option<Optical> {
    let ethernet = Ethernet::decode(frame)?;
    let optical = Optical::decode(&frame[Ethernet::SIZE..])?;
    (ethernet.ether_type == ETHERTYPE_OPTICAL && optical.version == OPTICAL_VERSION).then_some(optical)
}
