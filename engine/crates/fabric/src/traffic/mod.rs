// SPDX-License-Identifier: Apache-2.0
//! Simulated hosts: what they send and receive, by the scenario's phases.

pub(crate) mod datagrams;
pub(crate) mod station;
pub(crate) mod streams;
pub(crate) mod web;

use slotwise_scenario::{Flow, HostId, Scenario};

use crate::measure::DelayUse;
use crate::packet::{Frame, Packet};
use datagrams::Datagrams;
use streams::Streams;

/// Delays from source to sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelaySummary {
    /// Shortest.
    pub min_ns: u64,
    /// Mean, rounded down.
    pub mean_ns: u64,
    /// 99th percentile, within 1 %.
    pub p99_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// What became of a simulated flow. Bytes are payload of UDP or TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowResult {
    /// The flow.
    pub flow: Flow,
    /// Rate of the source in the long run; `None`: as much as it gets.
    pub offered_bps: Option<u64>,
    /// Datagrams or data segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Bytes sent, retransmissions not included.
    pub sent_bytes: u64,
    /// Datagrams or data segments received.
    pub received_packets: u64,
    /// Bytes received; of a stream without a gap.
    pub received_bytes: u64,
    /// Delays of datagrams; `None` if none was received, and for streams.
    pub delay: Option<DelaySummary>,
    /// When the last byte of a `file` had arrived.
    pub completed_ns: Option<u64>,
    /// Of any flow but `udp`, what its streams did.
    pub stream: Option<StreamResult>,
    /// Of a `web` flow, pages that were fetched to the end.
    pub pages: Option<u64>,
}

/// What the streams of a flow did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamResult {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that a retransmission timer went off.
    pub timeouts: u64,
    /// Smoothed round-trip time at the end, the longest of the streams.
    pub srtt_ns: Option<u64>,
    /// Congestion window at the end, of all streams.
    pub window_bytes: u64,
    /// Payload of a full segment.
    pub mss_bytes: u64,
    /// Bytes that arrived and were not what was sent: always 0.
    pub wrong_bytes: u64,
}

/// A source's turn.
pub(crate) struct Turn {
    /// When it comes again, unless it is done.
    pub(crate) next_ns: Option<u64>,
    /// The host whose frame was written.
    pub(crate) from: Option<HostId>,
}

/// All flows of a scenario. Sources count datagrams first, then streams.
pub(crate) struct Traffic {
    datagrams: Datagrams,
    streams: Streams,
}

impl Traffic {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Traffic {
        Traffic {
            datagrams: Datagrams::new(scenario, seed),
            streams: Streams::new(scenario, seed),
        }
    }

    /// (source, time) of every source's first turn.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let datagrams = self.datagrams.count();
        let streams = self
            .streams
            .starts()
            .map(move |(index, at_ns)| (datagrams + index, at_ns));
        self.datagrams.starts().chain(streams)
    }

    /// Gives a source its turn; a datagram goes into `frame`.
    pub(crate) fn turn(&mut self, source: usize, now_ns: u64, frame: &mut Frame) -> Turn {
        match source.checked_sub(self.datagrams.count()) {
            None => self.datagrams.turn(source, now_ns, frame),
            Some(index) => Turn {
                next_ns: self.streams.turn(index, now_ns),
                from: None,
            },
        }
    }

    /// Takes a packet that arrived at a host; false if it is not for it.
    pub(crate) fn receive(&mut self, host: HostId, now_ns: u64, packet: &Packet) -> bool {
        if datagrams::is_datagram(&packet.frame) {
            self.datagrams.receive(host, now_ns, &packet.frame)
        } else {
            self.streams.receive(host, now_ns, packet)
        }
    }

    /// Delays since the last call, in the order of the results.
    pub(crate) fn take_delays(&mut self) -> Vec<(Flow, DelayUse)> {
        let mut delays: Vec<_> = self.datagrams.take_delays().chain(self.streams.take_delays()).collect();
        delays.sort_by_key(|(flow, _)| (flow.phase, flow.entry));
        delays
    }

    /// A host's timers are due.
    pub(crate) fn timeout(&mut self, host: HostId, now_ns: u64) {
        self.streams.timeout(host, now_ns);
    }

    /// Writes the next frame of any host's streams into `frame` and names the host. When there is none, `timers`
    /// has got the times at which hosts want [`Traffic::timeout`].
    pub(crate) fn transmit(
        &mut self,
        now_ns: u64,
        frame: &mut Frame,
        timers: &mut Vec<(HostId, u64)>,
    ) -> Option<HostId> {
        self.streams.transmit(now_ns, frame, timers)
    }

    /// By phase, then by entry.
    pub(crate) fn results(&self) -> Vec<FlowResult> {
        let mut results: Vec<FlowResult> = self.datagrams.results().chain(self.streams.results()).collect();
        results.sort_by_key(|result| (result.flow.phase, result.flow.entry));
        results
    }
}

pub(crate) fn mac_number(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
