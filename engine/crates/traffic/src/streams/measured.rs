// SPDX-License-Identifier: Apache-2.0
//! What [`super::super::order`] is told of flows that are measured so.

use slotwise_transport::FlowKey;
use slotwise_transport::segment::Segment;
use slotwise_units::Bytes;
use slotwise_wire::Ethernet;

use super::super::order::{Counted, OrderUse};
use super::super::station::{End, Station};
use super::{StreamFlow, Streams};

/// A TCP segment on its way to a receiver.
struct Data {
    key: FlowKey,
    sequence: u32,
    acknowledgment: u32,
    /// Payload.
    bytes: u64,
}

/// The segment in a frame; `None` if it is none.
fn data_of(frame: &[u8]) -> Option<Data> {
    segment_of(frame.get(Ethernet::SIZE..)?)
}

/// The segment in an IP packet; `None` if it is none.
fn segment_of(packet: &[u8]) -> Option<Data> {
    let (segment, payload) = Segment::decode(packet).ok()?;
    Some(Data {
        key: FlowKey::of(packet).ok()?,
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        bytes: payload.len() as u64,
    })
}

/// How often the timer of the sender that gets packets of `key` has gone off.
fn timeouts_of(station: Option<&Station>, key: &FlowKey) -> u64 {
    match station.and_then(|station| station.stack.get(key)) {
        Some(End::Sender { sender, .. }) => sender.stats().timeouts,
        _ => 0,
    }
}

impl Streams {
    /// A packet of a flow whose order is measured has come to its host, which has not had it yet.
    pub(super) fn note_arrival(&mut self, index: usize, (born_ns, now_ns): (u64, u64), frame: &[u8]) {
        let StreamFlow { spec, order, .. } = &mut self.flows[index];
        let Some(order) = order else {
            return;
        };
        let data = data_of(frame);
        if matches!(data, Some(Data { bytes: 0, .. })) {
            return;
        }
        order.arrived(born_ns, now_ns);
        let station = self.stations[spec.to].as_ref();
        if let Some(Data {
            key, sequence, bytes, ..
        }) = data
            && let Some(End::Receiver(receiver)) = station.and_then(|station| station.stack.get(&key))
            && receiver.has(sequence, Bytes::new(bytes))
        {
            order.duplicate(sequence);
        }
    }

    /// A packet has come to the sender of a flow, maybe an acknowledgment of one whose order is measured.
    pub(super) fn note_acknowledgment(&mut self, index: usize, now_ns: u64, frame: &[u8]) {
        let flow = &mut self.flows[index];
        if let Some(order) = &mut flow.order
            && let Some(data) = data_of(frame).filter(|data| data.bytes == 0)
        {
            order.acknowledged(now_ns);
            let station = self.stations[flow.spec.from].as_ref();
            let timeouts = || timeouts_of(station, &data.key);
            order.bursts.acknowledged(data.acknowledgment, timeouts);
        }
    }

    /// A packet, maybe with a segment of a flow whose order is measured, was in a train that was lost, or was deflected and came.
    pub(crate) fn note_in_train(&mut self, packet: &[u8], train: u64, is_lost: bool) {
        if !self.is_measured {
            return;
        }
        let Some(Data {
            key, sequence, bytes, ..
        }) = segment_of(packet).filter(|data| data.bytes > 0)
        else {
            return;
        };
        let flow = self.owners.get(&key).and_then(|index| self.flows.get_mut(*index));
        let Some(StreamFlow {
            spec,
            order: Some(order),
            ..
        }) = flow
        else {
            return;
        };
        if is_lost {
            let timeouts = timeouts_of(self.stations[spec.from].as_ref(), &key.reversed());
            let end = sequence.wrapping_add(bytes as u32);
            order.bursts.lost(train, end, timeouts);
        } else {
            order.bursts.deflected(train);
        }
    }

    /// A host sends a packet, maybe of a flow whose order is measured.
    pub(super) fn note_departure(&mut self, host: usize, frame: &[u8]) {
        let Some(Data {
            key, sequence, bytes, ..
        }) = data_of(frame).filter(|data| data.bytes > 0)
        else {
            return;
        };
        let Some(flow) = self.owners.get(&key).and_then(|index| self.flows.get_mut(*index)) else {
            return;
        };
        let end = |host: usize, key: &FlowKey| self.stations[host].as_ref()?.stack.get(key);
        if let Some(order) = &mut flow.order
            && let Some(End::Sender { sender, .. }) = end(host, &key.reversed())
        {
            let stats = sender.stats();
            order.sent(
                sequence,
                stats.retransmissions,
                stats.fast_recoveries,
                || matches!(end(flow.spec.to, &key), Some(End::Receiver(receiver)) if receiver.has(sequence, Bytes::new(bytes))),
            );
        }
    }

    /// Order of one flow's packets since the last call, if it is measured.
    pub(crate) fn take_order(&mut self, flow: usize) -> Option<OrderUse> {
        self.flows[flow].order.as_ref()?;
        let totals = self.state(flow).totals;
        let counted = Counted {
            sent: totals.sent_packets,
            retransmissions: totals.retransmissions,
            fast_retransmits: totals.fast_retransmits,
            timeouts: totals.timeouts,
            losses: totals.losses,
            window_before_losses: Bytes::new(totals.window_before_losses_bytes),
            delivered_bytes: Bytes::new(totals.received_bytes),
        };
        let order = self.flows[flow].order.as_mut()?;
        Some(order.take(counted))
    }
}
