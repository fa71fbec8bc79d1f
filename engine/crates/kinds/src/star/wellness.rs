// SPDX-License-Identifier: Apache-2.0
//! When a star is well again after a fault. Looked at in each slot, from outside: no message tells.

use slotwise_scenario::{Device, FaultKind};
use slotwise_wire::{Ethernet, Optical, OpticalKind, PacketIn};

use super::cards::edge_card;
use super::parts::Star;
use slotwise_net::effects::{Effects, Look};

/// A request is fresh for so long: one of the edge's is made in every frame.
const FRESH_FRAMES: u64 = 2;

/// A fault that is over and from which the network has not recovered yet.
pub(super) struct Watch {
    fault: usize,
    since_ns: u64,
    /// Packets delivered by then, by pair of edges.
    delivered: Vec<u64>,
    /// The version in force by then.
    version: Option<u32>,
}

impl Star {
    /// Starts to watch the recovery of a star. False if the fault concerns other parts.
    pub(super) fn watch(&mut self, look: Look<'_>, fault: usize) -> bool {
        if look.fault(fault).beside_stars().next().is_some() {
            return false;
        }
        let edges = self.edges.len() as u16;
        let pairs = (0..edges).flat_map(|from| (0..edges).map(move |to| (from, to)));
        let delivered = pairs.map(|(from, to)| self.delivered_packets(from, to)).collect();
        self.watches.push(Watch {
            fault,
            since_ns: look.now().ns(),
            delivered,
            version: self.version_everywhere(look),
        });
        true
    }

    /// Notes a request of an edge that leaves for the controller.
    pub(super) fn note_request(&mut self, now_ns: u64, frame: &[u8]) {
        let optical = frame.get(PacketIn::SIZE + Ethernet::SIZE..).and_then(Optical::decode);
        let request = optical.filter(|optical| optical.kind == u8::from(OpticalKind::Request));
        let of_edge = request.and_then(|optical| self.requests_ns.get_mut(usize::from(optical.src_edge)));
        if let Some(at_ns) = of_edge {
            *at_ns = Some(now_ns);
        }
    }

    /// Notes which faults the network has recovered from by now.
    pub(super) fn look_after_faults(&mut self, fx: &mut Effects<'_>) {
        if self.watches.is_empty() {
            return;
        }
        let version = self.version_everywhere(fx.look());
        let can_send = version.is_some() && self.all_hear_beacons(fx.look());
        let watches = std::mem::take(&mut self.watches);
        for watch in watches {
            if can_send && self.is_well(fx.look(), &watch, version) {
                fx.recovered(watch.fault);
            } else {
                self.watches.push(watch);
            }
        }
    }

    fn is_well(&self, look: Look<'_>, watch: &Watch, version: Option<u32>) -> bool {
        let fresh_ns = look.now().ns().saturating_sub(FRESH_FRAMES * self.slots.frame().ns());
        let heard_since_ns = watch.since_ns.max(fresh_ns);
        let all_ask = self.requests_ns.iter().all(|at_ns| *at_ns >= Some(heard_since_ns));
        // Beacons go on without a controller: that it is back is seen by what it changes.
        let controls = look.fault(watch.fault).kind != FaultKind::ControllerRestart || version != watch.version;
        all_ask && controls && self.passes_light(look, watch)
    }

    /// Whether each pair that has something to send has delivered something since.
    fn passes_light(&self, look: Look<'_>, watch: &Watch) -> bool {
        let edges = self.edges.len();
        (0..edges as u16).all(|from| {
            edge_card(look, from).queues().all(|(_, queues)| {
                queues.voq_numbers().all(|voq| {
                    let to = voq % edges as u16;
                    let pair = usize::from(from) * edges + usize::from(to);
                    queues.voq_state(look.now(), voq).backlog_bytes.is_zero()
                        || self.delivered_packets(from, to) > watch.delivered[pair]
                })
            })
        })
    }

    fn delivered_packets(&self, from: u16, to: u16) -> u64 {
        self.telemetry.delivered_between(from, to).packets
    }

    /// The version of the schedule that every switch has in force, if it is one.
    fn version_everywhere(&self, look: Look<'_>) -> Option<u32> {
        let of_cards = self.fibres.iter().map(|pair| {
            let of_edge = register(look, Device::Edge(pair.edge), "active_version", pair.core);
            let of_core = register(look, Device::Core(pair.core), "active_version", 0);
            of_edge.filter(|_| of_edge == of_core)
        });
        let mut versions = of_cards.collect::<Option<Vec<u32>>>()?.into_iter();
        // Stars count their versions apart; their sum changes when one of them does.
        let first = versions.next()?;
        Some(versions.fold(first, u32::wrapping_add))
    }

    /// Whether no slave is dark for want of a beacon.
    fn all_hear_beacons(&self, look: Look<'_>) -> bool {
        let slots = &self.slots;
        let frame = look.now().saturating_since(slots.epoch) / slots.frame();
        self.fibres.iter().all(|pair| {
            let stale_frame = register(look, Device::Edge(pair.edge), "stale_frame", pair.core);
            let is_master = self.cores[usize::from(pair.core)].master == pair.edge;
            is_master || stale_frame.is_some_and(|stale_frame| frame < u64::from(stale_frame))
        })
    }
}

/// A word of a register of the program of a device.
fn register(look: Look<'_>, device: Device, name: &str, index: u16) -> Option<u32> {
    let value = look.pipeline(device)?.register_read(name, usize::from(index)).ok()?;
    Some(value.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
