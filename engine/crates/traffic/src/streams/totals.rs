// SPDX-License-Identifier: Apache-2.0
//! Totals of flows, from the counts of their ends.

use slotwise_units::{Bytes, Duration};
use slotwise_wire::DATAGRAM_HEADER_BYTES;

use super::{Sends, StreamFlow, Streams};
use crate::DelayUse;
use crate::station::End;

/// What the ends of a flow count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    /// Of a stream, without a gap.
    pub(crate) received_bytes: u64,
    pub(crate) retransmissions: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) losses: u64,
    pub(crate) window_before_losses_bytes: u64,
    pub(crate) srtt_ns: Option<u64>,
    pub(crate) window_bytes: u64,
    pub(crate) mss_bytes: u64,
    pub(crate) wrong_bytes: u64,
}

/// A flow as it stands.
pub(crate) struct FlowState {
    /// Of all its connections.
    pub(crate) totals: Totals,
    /// Of those that are there.
    pub(crate) window_bytes: u64,
    /// The longest of those that are there.
    pub(crate) srtt_ns: Option<u64>,
    /// Rate of its applications.
    pub(crate) offered_bps: Option<u64>,
    pub(crate) start_ns: u64,
    /// When all of a flow of a size had arrived.
    pub(crate) completed_ns: Option<u64>,
    /// Of a web flow, pages that were fetched to the end.
    pub(crate) pages: Option<u64>,
}

impl Streams {
    /// Delays of each flow since the last call.
    pub(crate) fn take_delays(&mut self) -> impl Iterator<Item = DelayUse> + '_ {
        self.flows.iter_mut().map(|flow| std::mem::take(&mut flow.lately))
    }

    /// Delays of one flow since the last call.
    pub(crate) fn take_delay(&mut self, flow: usize) -> DelayUse {
        std::mem::take(&mut self.flows[flow].lately)
    }

    /// All flows as they stand.
    pub(crate) fn states(&self) -> impl Iterator<Item = FlowState> + '_ {
        (0..self.flows.len()).map(|index| self.state(index))
    }

    /// A flow as it stands.
    pub(crate) fn state(&self, index: usize) -> FlowState {
        let StreamFlow {
            spec,
            connections,
            completed_ns,
            ended,
            ..
        } = &self.flows[index];
        let (mut totals, mut present) = (*ended, Totals::default());
        for (key, _) in connections {
            if self.owners.get(key) != Some(&index) {
                continue;
            }
            for (host, key) in [(spec.from, key.reversed()), (spec.to, *key)] {
                let station = self.stations[host].as_ref();
                let Some(station) = station else { continue };
                for sums in [&mut totals, &mut present] {
                    sums.add_session(station, &key);
                    if let Some(end) = station.stack.get(&key) {
                        sums.add(end);
                    }
                }
            }
        }
        let (offered_bps, bytes) = match spec.sends {
            Sends::Streams { rate_bps, bytes, .. } => (rate_bps.map(|bps| bps * connections.len() as u64), bytes),
            Sends::Session { session, .. } => (None, session.bytes.map(Bytes::get)),
            _ => (None, None),
        };
        let is_web = matches!(spec.sends, Sends::Web { .. });
        FlowState {
            totals,
            window_bytes: present.window_bytes,
            srtt_ns: present.srtt_ns,
            offered_bps,
            start_ns: spec.start_ns,
            completed_ns: bytes.and(*completed_ns),
            pages: is_web.then(|| self.clients.pages(index)),
        }
    }
}

impl Totals {
    /// Adds what an end counted.
    pub(super) fn add(&mut self, end: &End) {
        match end {
            End::Sender { sender, .. } => {
                let stats = sender.stats();
                self.sent_packets += stats.segments;
                self.sent_bytes += stats.sent.get();
                self.retransmissions += stats.retransmissions;
                self.fast_retransmits += stats.fast_recoveries;
                self.timeouts += stats.timeouts;
                self.losses += stats.losses;
                self.window_before_losses_bytes += stats.window_before_losses.get();
                self.srtt_ns = self.srtt_ns.max(stats.srtt.map(Duration::ns));
                self.window_bytes += stats.window.get();
                self.mss_bytes = stats.mss.get();
            }
            End::Receiver(receiver) => {
                let stats = receiver.stats();
                self.received_packets += stats.segments;
                self.received_bytes += stats.in_order.get();
                self.wrong_bytes += receiver.sink().wrong().get();
            }
            End::Sink(sink) => {
                let stats = sink.stats();
                self.received_packets += stats.packets;
                self.received_bytes += stats.bytes.get() - DATAGRAM_HEADER_BYTES as u64 * stats.packets;
            }
            End::Source(source) => self.sent_packets += source.sent(),
            End::Burst(_) | End::Gather(_) => {}
        }
    }
}
