// SPDX-License-Identifier: Apache-2.0
//! What is asked of stars: their fibres and frames, what crosses them, what is lost in cores.

use slotwise_scenario::{Device, LinkChange, optical_port};
use slotwise_units::Instant;
use slotwise_wire::{DropReason, Ethernet};

use super::{Delivered, FrameRecord};
use crate::api::{CoreLosses, LinkReport};
use crate::kinds::star::fibre::FibrePair;
use crate::measure::QueueUse;
use crate::world::Fabric;
use slotwise_cards::packet::Origin;

impl Fabric {
    /// Changes a pair of fibres now, whatever its `at_ms` says. One that the scenario does not have is left alone.
    pub fn apply_link_change(&mut self, change: &LinkChange) {
        let star = self.star.get();
        let edge = star.and_then(|star| star.edges.get(usize::from(change.edge)));
        if edge.is_some_and(|edge| usize::from(change.core) < edge.fibres.len()) {
            self.change_link(change);
        }
    }

    pub(crate) fn change_link(&mut self, change: &LinkChange) {
        if let Some(fibre) = self.star.edges[usize::from(change.edge)].fibres[usize::from(change.core)] {
            let changed = self.star.fibres[fibre].change(change);
            self.light_changed(fibre, changed);
        }
    }

    /// The next frame that is over everywhere.
    pub fn poll_frame(&mut self) -> Option<FrameRecord> {
        self.star.get_mut()?.telemetry.poll_frame()
    }

    /// IP traffic of `src_edge` that `dst_edge` sent on to its hosts.
    pub fn delivered(&self, src_edge: u16, dst_edge: u16) -> Delivered {
        let star = self.star.get();
        star.map_or_else(Delivered::default, |star| {
            star.telemetry.delivered_between(src_edge, dst_edge)
        })
    }

    /// Every direction of every fibre. Utilization is `used.busy_ns` by the time that has passed.
    pub fn links(&self) -> Vec<LinkReport> {
        let both = |pair: &FibrePair| {
            let (edge, core) = (Device::Edge(pair.edge), Device::Core(pair.core));
            [
                LinkReport {
                    from: edge,
                    to: core,
                    used: pair.to_core.used,
                },
                LinkReport {
                    from: core,
                    to: edge,
                    used: pair.to_edge.used,
                },
            ]
        };
        self.star
            .get()
            .map_or_else(Vec::new, |star| star.fibres.iter().flat_map(both).collect())
    }

    /// What a VOQ of an edge's line card for `core` did since the last call; `None` if there is no such queue.
    pub fn take_queue_use(&mut self, edge: u16, core: u16, voq: u16) -> Option<QueueUse> {
        self.star.get()?.edges.get(usize::from(edge))?;
        let now = Instant::from_ns(self.now_ns);
        self.slotted_edge_mut(edge).take_use(now, optical_port(core), voq)
    }

    /// Losses in a core, counted by the fabric and by P4, which must agree; `None` if P4 does not count.
    pub fn core_losses(&self, core: u16) -> Option<CoreLosses> {
        let in_core = [
            DropReason::Dark,
            DropReason::Guard,
            DropReason::Overrun,
            DropReason::Collision,
        ];
        let p4_lost_before = self.star.get()?.cores.get(usize::from(core))?.p4_lost_before;
        let fabric = self.slotted_core(core).lost();
        let drops = self.p4_drops(Device::Core(core))?;
        let p4: u64 = drops
            .iter()
            .filter(|drop| in_core.contains(&drop.reason))
            .map(|drop| drop.packets)
            .sum();
        Some(CoreLosses {
            fabric,
            p4: p4_lost_before + p4,
        })
    }

    /// A packet leaves a switch by a card before a link: whatever becomes of it here, it has crossed a star if it came by a fibre.
    pub(crate) fn leaves_star(&mut self, origin: Origin, bytes: usize) {
        if let Origin::Fibre {
            card,
            optical: Some(optical),
            ..
        } = origin
        {
            let ip_bytes = bytes.saturating_sub(Ethernet::SIZE) as u64;
            let star = &mut *self.star;
            let edge = star.fibres[card].edge;
            star.telemetry
                .delivered(card, optical.src_edge, edge, optical.queue, ip_bytes);
        }
    }
}
