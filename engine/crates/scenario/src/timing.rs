// SPDX-License-Identifier: Apache-2.0
//! Times and sizes that follow from a scenario.

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{Commit, Ethernet, Optical, REQUEST_ENTRIES, Request, RequestEntry};

use crate::model::{Fibre, Frame, Scenario, Signaling};
use crate::routed::FlowGroup;

/// What an IP packet grows by on a fibre: Ethernet and optical header.
pub const WIRE_OVERHEAD: Bytes = Bytes::of(Ethernet::SIZE + Optical::SIZE);

/// A run cannot be scaled to so short a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("phase '{phase}' would be empty in a run of {requested_ms} ms; expected more than {requested_ms} ms")]
pub struct TooShort {
    /// The time asked for.
    pub requested_ms: u64,
    /// The phase that would vanish.
    pub phase: String,
}

impl Frame {
    /// Length of a frame.
    pub fn length(&self) -> Duration {
        u64::from(self.slots) * self.slot
    }

    /// Time in which a gate is open in a slot that is granted.
    pub fn open(&self) -> Duration {
        self.slot - self.guard
    }
}

impl Fibre {
    /// T_d: how much earlier than the core the edge starts its slots.
    pub fn t_d(&self) -> Duration {
        self.delay
    }
}

impl Scenario {
    /// Start of frame 0 at the core: the first whole frame that leaves every edge its T_d. Without a star 0.
    pub fn epoch(&self) -> Instant {
        let delays = self.edges.iter().flat_map(|edge| &edge.fibres).map(Fibre::t_d);
        let Some(t_d_max) = delays.max() else {
            return Instant::ZERO;
        };
        let frame = self.frame.length();
        Instant::ZERO + (1 + t_d_max / frame) * frame
    }

    /// Length of all phases together; they begin at [`Scenario::epoch`].
    pub fn duration_ms(&self) -> u64 {
        self.phases.iter().map(|phase| phase.duration_ms).sum()
    }

    /// `[start, end)` of a phase in fabric time.
    pub fn phase_times(&self, index: usize) -> (Instant, Instant) {
        let before: u64 = self.phases[..index].iter().map(|phase| phase.duration_ms).sum();
        let start = self.epoch() + Duration::from_ms(before);
        (start, start + Duration::from_ms(self.phases[index].duration_ms))
    }

    /// End of the last phase in fabric time.
    pub fn end(&self) -> Instant {
        self.epoch() + Duration::from_ms(self.duration_ms())
    }

    /// Returns the stop time of a group's flows, in network time; `None` if they last until the run ends.
    pub fn stop(&self, group: &FlowGroup) -> Option<Instant> {
        group.stop_ms.map(|stop_ms| self.epoch() + Duration::from_ms(stop_ms))
    }

    /// Slots of a frame that carry nothing but signaling: the first ones. Out of band it is light by which T_d is measured.
    pub fn signaling_slots(&self) -> u32 {
        if self.frame.signaling == Signaling::InBand || self.joins_by_invitation() {
            self.edges.len() as u32
        } else {
            0
        }
    }

    /// Slots of a frame that carry data.
    pub fn data_slots(&self) -> u32 {
        self.frame.slots - self.signaling_slots()
    }

    /// Longest frame on a fibre.
    pub fn wire_mtu(&self) -> Bytes {
        Bytes::new(u64::from(self.hosts.mtu)) + WIRE_OVERHEAD
    }

    /// Data that a fibre carries while a gate is open in one slot.
    pub fn slot_capacity(&self, fibre: &Fibre) -> Bytes {
        fibre.rate.bytes_in(self.frame.open())
    }

    /// IP bytes that one slot of a fibre carries in packets of full size.
    pub fn slot_payload(&self, fibre: &Fibre) -> Bytes {
        self.slot_capacity(fibre) / self.wire_mtu() * Bytes::new(u64::from(self.hosts.mtu))
    }

    /// Data on a fibre to `core` in a signaling slot when every message is sent.
    pub(crate) fn signaling_length(&self, core: u16) -> Bytes {
        if self.frame.signaling == Signaling::OutOfBand {
            return self.sync_length();
        }
        let request = Request::SIZE + usize::from(REQUEST_ENTRIES) * RequestEntry::SIZE;
        let requests = self.request_blocks(core).len() as u64 * (WIRE_OVERHEAD + Bytes::of(request));
        requests + WIRE_OVERHEAD + Bytes::of(Commit::SIZE) + self.sync_length()
    }

    /// The same run with phases, starts and changes stretched or shortened so that it takes `total_ms`. Delays and rates stay, and so do
    /// the mean times of faults, so the network has fewer round trips to settle.
    ///
    /// # Errors
    /// [`TooShort`] when a phase would have less than a millisecond.
    pub fn scaled_to(&self, total_ms: u64) -> Result<Scenario, TooShort> {
        let old_total = u128::from(self.duration_ms());
        let scale = |at_ms: u64| (u128::from(at_ms) * u128::from(total_ms) / old_total) as u64;
        let mut scaled = self.clone();
        let mut start_ms = 0;
        for phase in &mut scaled.phases {
            let end_ms = start_ms + phase.duration_ms;
            phase.duration_ms = scale(end_ms) - scale(start_ms);
            start_ms = end_ms;
            if phase.duration_ms == 0 {
                return Err(TooShort {
                    requested_ms: total_ms,
                    phase: phase.name.clone(),
                });
            }
        }
        for change in &mut scaled.link_changes {
            change.at_ms = scale(change.at_ms);
        }
        for change in &mut scaled.scheduler_changes {
            change.at_ms = scale(change.at_ms);
        }
        for flow in &mut scaled.routed.flows {
            flow.start_ms = scale(flow.start_ms);
        }
        for workload in &mut scaled.workloads {
            let scale =
                |at: Duration| Duration::from_ns((u128::from(at.ns()) * u128::from(total_ms) / old_total) as u64);
            workload.start = scale(workload.start);
            workload.stop = workload.stop.map(scale);
        }
        for change in &mut scaled.routed.changes {
            change.at_ms = scale(change.at_ms);
            change.again = change.again.map(|(every_ms, times)| (scale(every_ms).max(1), times));
        }
        Ok(scaled)
    }
}
