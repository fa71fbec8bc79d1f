// SPDX-License-Identifier: Apache-2.0
//! When a star is well again after a fault. Looked at in each slot, from outside: no message tells.

use slotwise_scenario::{Device, FaultKind};
use slotwise_units::Instant;

use crate::world::Fabric;

/// A request is fresh for so long: one of the edge's is made in every frame.
const FRESH_FRAMES: u64 = 2;

/// A fault that is over and from which the network has not recovered yet.
pub(crate) struct Watch {
    record: usize,
    since_ns: u64,
    /// Packets delivered by then, by pair of edges.
    delivered: Vec<u64>,
    /// The version in force by then.
    version: Option<u32>,
}

impl Fabric {
    pub(crate) fn watch(&mut self, record: usize) {
        let edges = self.star.edges.len() as u16;
        let pairs = (0..edges).flat_map(|from| (0..edges).map(move |to| (from, to)));
        let delivered = pairs.map(|(from, to)| self.delivered(from, to).packets).collect();
        let watch = Watch {
            record,
            since_ns: self.now_ns,
            delivered,
            version: self.version_everywhere(),
        };
        self.faults.watches.push(watch);
    }

    /// Notes which faults the network has recovered from by now.
    pub(crate) fn look_after_faults(&mut self) {
        if self.faults.watches.is_empty() {
            return;
        }
        let version = self.version_everywhere();
        let can_send = version.is_some() && self.all_hear_beacons();
        let watches = std::mem::take(&mut self.faults.watches);
        for watch in watches {
            if can_send && self.is_well(&watch, version) {
                self.faults.records[watch.record].recovered_ns = Some(self.now_ns);
            } else {
                self.faults.watches.push(watch);
            }
        }
    }

    fn is_well(&mut self, watch: &Watch, version: Option<u32>) -> bool {
        let fresh_ns = self.now_ns.saturating_sub(FRESH_FRAMES * self.star.slots.frame().ns());
        let heard_since_ns = watch.since_ns.max(fresh_ns);
        let all_ask = self
            .faults
            .requests_ns
            .iter()
            .all(|at_ns| *at_ns >= Some(heard_since_ns));
        // Beacons go on without a controller: that it is back is seen by what it changes.
        let controls =
            self.faults.records[watch.record].kind != FaultKind::ControllerRestart || version != watch.version;
        all_ask && controls && self.passes_light(watch)
    }

    /// Whether each pair that has something to send has delivered something since.
    fn passes_light(&self, watch: &Watch) -> bool {
        let edges = self.star.edges.len();
        (0..edges as u16).all(|from| {
            self.slotted_edge(from).queues().all(|(_, queues)| {
                queues.voq_numbers().all(|voq| {
                    let to = voq % edges as u16;
                    let pair = usize::from(from) * edges + usize::from(to);
                    queues
                        .voq_state(Instant::from_ns(self.now_ns), voq)
                        .backlog_bytes
                        .is_zero()
                        || self.delivered(from, to).packets > watch.delivered[pair]
                })
            })
        })
    }

    /// The version of the schedule that every switch has in force, if it is one.
    fn version_everywhere(&self) -> Option<u32> {
        let of_cards = self.star.fibres.iter().map(|card| {
            let of_edge = self.register(Device::Edge(card.edge), "active_version", usize::from(card.core));
            let of_core = self.register(Device::Core(card.core), "active_version", 0);
            of_edge.filter(|_| of_edge == of_core)
        });
        let mut versions = of_cards.collect::<Option<Vec<u32>>>()?.into_iter();
        // Stars count their versions apart; their sum changes when one of them does.
        let first = versions.next()?;
        Some(versions.fold(first, u32::wrapping_add))
    }

    /// Whether no slave is dark for want of a beacon.
    fn all_hear_beacons(&self) -> bool {
        let slots = &self.star.slots;
        let frame = Instant::from_ns(self.now_ns).saturating_since(slots.epoch) / slots.frame();
        self.star.fibres.iter().all(|card| {
            let stale_frame = self.register(Device::Edge(card.edge), "stale_frame", usize::from(card.core));
            let is_master = self.star.cores[usize::from(card.core)].master == card.edge;
            is_master || stale_frame.is_some_and(|stale_frame| frame < u64::from(stale_frame))
        })
    }

    fn register(&self, device: Device, name: &str, index: usize) -> Option<u32> {
        let pipeline = self.nodes[self.node(device)].pipeline.as_ref();
        let value = pipeline?.register_read(name, index).ok()?;
        Some(value.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}
