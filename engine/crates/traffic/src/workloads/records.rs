// SPDX-License-Identifier: Apache-2.0
//! Records of the flows of workloads. Packets do not depend on them; flows of a closed loop or a collective wait for arrivals.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use slotwise_scenario::{FlowTransport, Transport};
use slotwise_transport::segment::TCP_HEADER;
use slotwise_transport::{FlowKey, xcp};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{DATAGRAM_HEADER_BYTES, Ipv4};
use slotwise_workload::{CoflowId, Flow, Framing};

use super::host::Noted;

/// Record of a flow of a workload so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowProgress {
    /// Index of its workload.
    pub workload: usize,
    /// The flow as its workload has it; its start counts from that of the workload.
    pub flow: Flow,
    /// Number of the sending host in the network.
    pub from: usize,
    /// Number of the receiving host.
    pub to: usize,
    /// Transport.
    pub transport: FlowTransport,
    /// Start.
    pub start: Instant,
    /// First bit of data out of the host.
    pub first_out: Option<Instant>,
    /// Arrival of the last byte.
    pub last_in: Option<Instant>,
    /// Arrival of the last acknowledgment; `None` also without acknowledgments.
    pub acknowledged: Option<Instant>,
    /// Retransmitted segments, until the last acknowledgment.
    pub retransmissions: u64,
    /// Retransmission timeouts, until the last acknowledgment.
    pub timeouts: u64,
    /// Routers on the path of the last packet.
    pub hops: u8,
}

impl FlowProgress {
    pub(super) fn new(
        workload: usize,
        flow: Flow,
        (from, to): (usize, usize),
        transport: FlowTransport,
        start: Instant,
    ) -> FlowProgress {
        FlowProgress {
            workload,
            flow,
            from,
            to,
            transport,
            start,
            first_out: None,
            last_in: None,
            acknowledged: None,
            retransmissions: 0,
            timeouts: 0,
            hops: 0,
        }
    }
}

/// Number of flows of a workload so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkloadUse {
    /// Flows that have started.
    pub started: u64,
    /// Flows among them that have arrived.
    pub arrived: u64,
    /// Flows that could not start because all ports between their hosts were in use.
    pub refused: u64,
}

/// Flows in progress and those that have ended.
pub(super) struct Records {
    /// Flows in progress by the addresses of their data. Results do not depend on the map's order.
    in_progress: FxHashMap<FlowKey, FlowProgress>,
    ended: Vec<FlowProgress>,
    /// Flows whose data will not arrive any more: their senders have given up, or use their ports for others.
    unfinished: Vec<FlowProgress>,
    uses: Vec<WorkloadUse>,
    /// Workloads and coflows with flows that could not start.
    refused_coflows: BTreeSet<(usize, CoflowId)>,
}

impl Records {
    pub(super) fn new(workloads: usize) -> Records {
        Records {
            in_progress: FxHashMap::default(),
            ended: Vec::new(),
            unfinished: Vec::new(),
            uses: vec![WorkloadUse::default(); workloads],
            refused_coflows: BTreeSet::new(),
        }
    }

    pub(super) fn begin(&mut self, key: FlowKey, progress: FlowProgress) {
        self.uses[progress.workload].started += 1;
        // Datagrams that were lost leave their flow behind when a sender uses its port again.
        self.unfinished.extend(self.in_progress.insert(key, progress));
    }

    pub(super) fn refuse(&mut self, workload: usize, flow: &Flow) {
        self.uses[workload].refused += 1;
        self.refused_coflows
            .extend(flow.coflow.map(|coflow| (workload, coflow)));
    }

    /// Returns true if no data of a flow has left its host.
    pub(super) fn waits_for_data(&self, key: &FlowKey) -> bool {
        self.in_progress
            .get(key)
            .is_some_and(|progress| progress.first_out.is_none())
    }

    pub(super) fn leaves(&mut self, key: &FlowKey, at: Instant) {
        if let Some(progress) = self.in_progress.get_mut(key) {
            progress.first_out.get_or_insert(at);
        }
    }

    /// Adds an event. Returns the workload and the flow if all of its data has arrived now.
    pub(super) fn note(&mut self, noted: Noted, now: Instant) -> Option<(usize, Flow)> {
        match noted {
            Noted::Arrived { key, hops } => {
                let progress = self
                    .in_progress
                    .get_mut(&key)
                    .filter(|progress| progress.last_in.is_none())?;
                progress.last_in = Some(now);
                progress.hops = hops;
                let (workload, flow) = (progress.workload, progress.flow);
                self.uses[workload].arrived += 1;
                if progress.transport == FlowTransport::Udp {
                    self.ended.extend(self.in_progress.remove(&key));
                }
                Some((workload, flow))
            }
            Noted::Acknowledged { key, stats } => {
                let mut progress = self.in_progress.remove(&key)?;
                progress.acknowledged = Some(now);
                progress.retransmissions = stats.retransmissions;
                progress.timeouts = stats.timeouts;
                self.ended.push(progress);
                None
            }
            Noted::GivenUp { key, stats } => {
                let mut progress = self.in_progress.remove(&key)?;
                progress.retransmissions = stats.retransmissions;
                progress.timeouts = stats.timeouts;
                match progress.last_in {
                    Some(_) => self.ended.push(progress),
                    None => self.unfinished.push(progress),
                }
                None
            }
        }
    }

    pub(super) fn take_ended(&mut self) -> Vec<FlowProgress> {
        std::mem::take(&mut self.ended)
    }

    /// Flows that have started and not ended, by workload and number.
    pub(super) fn in_progress(&self) -> Vec<FlowProgress> {
        let mut flows: Vec<FlowProgress> = self.in_progress.values().chain(&self.unfinished).copied().collect();
        flows.sort_by_key(|progress| (progress.workload, progress.flow.number));
        flows
    }

    pub(super) fn refused_coflows(&self) -> &BTreeSet<(usize, CoflowId)> {
        &self.refused_coflows
    }

    pub(super) fn uses(&self) -> &[WorkloadUse] {
        &self.uses
    }
}

/// Packets of a flow with a transport, for its completion time in an idle network.
pub fn framing(transport: FlowTransport, packet_bytes: u32) -> Framing {
    let overhead = match transport {
        FlowTransport::Udp => DATAGRAM_HEADER_BYTES,
        FlowTransport::Stream(Transport::Xcp) => Ipv4::SIZE + xcp::SIZE + TCP_HEADER,
        FlowTransport::Stream(_) => Ipv4::SIZE + TCP_HEADER,
    };
    Framing {
        payload: Bytes::new(packet_bytes.into()) - Bytes::of(overhead),
        overhead: Bytes::of(overhead),
    }
}

#[cfg(test)]
mod tests {
    use slotwise_workload::HostIndex;

    use super::*;

    const FLOW: Flow = Flow {
        number: 0,
        start: Instant::ZERO,
        source: HostIndex(0),
        destination: HostIndex(1),
        size: Bytes::new(1),
        coflow: None,
    };

    #[test]
    fn a_flow_whose_port_is_used_again_stays_unfinished() {
        let key = FlowKey {
            source: "10.0.0.1:1024".parse().unwrap(),
            destination: "10.0.0.2:65024".parse().unwrap(),
            protocol: slotwise_transport::PROTOCOL_UDP,
        };
        let progress = |number| {
            let flow = Flow { number, ..FLOW };
            FlowProgress::new(0, flow, (0, 1), FlowTransport::Udp, Instant::ZERO)
        };
        let mut records = Records::new(1);
        records.begin(key, progress(0));
        records.begin(key, progress(1));
        assert_eq!(records.in_progress(), [progress(0), progress(1)]);
        records.note(Noted::Arrived { key, hops: 1 }, Instant::ZERO);
        assert_eq!(records.in_progress(), [progress(0)]);
        assert_eq!(records.take_ended().len(), 1);
    }

    #[test]
    fn coflows_of_refused_flows_are_known_once() {
        let mut records = Records::new(2);
        let coflow = Some(CoflowId(7));
        records.refuse(0, &FLOW);
        records.refuse(1, &Flow { coflow, ..FLOW });
        records.refuse(1, &Flow { coflow, ..FLOW });
        assert_eq!(records.uses().iter().map(|used| used.refused).sum::<u64>(), 3);
        assert_eq!(records.refused_coflows(), &BTreeSet::from([(1, CoflowId(7))]));
    }
}
