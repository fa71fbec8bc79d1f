// SPDX-License-Identifier: Apache-2.0
//! What [`super::super::order`] is told of flows that are measured so.

use slotwise_transport::FlowKey;
use slotwise_transport::segment::Segment;
use slotwise_wire::Ethernet;

use super::super::order::{Counted, OrderUse};
use super::super::station::End;
use super::{StreamFlow, Streams};

/// A TCP segment on its way to a receiver.
struct Data {
    key: FlowKey,
    sequence: u32,
    /// Payload.
    bytes: u64,
}

/// The segment in a frame; `None` if it is none.
fn data_of(frame: &[u8]) -> Option<Data> {
    let packet = frame.get(Ethernet::SIZE..)?;
    let (segment, payload) = Segment::decode(packet).ok()?;
    Some(Data {
        key: FlowKey::of(packet).ok()?,
        sequence: segment.sequence,
        bytes: payload.len() as u64,
    })
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
        if let Some(Data { key, sequence, bytes }) = data
            && let Some(End::Receiver(receiver)) = station.and_then(|station| station.stack.get(&key))
            && receiver.has(sequence, bytes)
        {
            order.duplicate(sequence);
        }
    }

    /// A packet has come to the sender of a flow, maybe an acknowledgment of one whose order is measured.
    pub(super) fn note_acknowledgment(&mut self, index: usize, now_ns: u64, frame: &[u8]) {
        if let Some(order) = &mut self.flows[index].order
            && data_of(frame).is_some_and(|data| data.bytes == 0)
        {
            order.acknowledged(now_ns);
        }
    }

    /// A host sends a packet, maybe of a flow whose order is measured.
    pub(super) fn note_departure(&mut self, host: usize, frame: &[u8]) {
        let Some(Data { key, sequence, bytes }) = data_of(frame).filter(|data| data.bytes > 0) else {
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
                || matches!(end(flow.spec.to, &key), Some(End::Receiver(receiver)) if receiver.has(sequence, bytes)),
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
            window_before_losses_bytes: totals.window_before_losses_bytes,
            delivered_bytes: totals.received_bytes,
        };
        let order = self.flows[flow].order.as_mut()?;
        Some(order.take(counted))
    }
}
