// SPDX-License-Identifier: Apache-2.0
//! What is asked of stars: their fibres and frames, what crosses them, what is lost in cores.

use slotwise_cards::measure::QueueUse;
use slotwise_cards::packet::Origin;
use slotwise_cards::slotted;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::Bytes;
use slotwise_wire::{DropReason, Ethernet};

use super::fibre::{FibrePair, LinkUse};
use super::parts::Star;
use super::telemetry::{Delivered, FrameRecord};
use crate::kind::{View, ViewMut};
use slotwise_net::effects::Look;

/// Traffic of one direction of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkReport {
    /// Where light enters.
    pub from: Device,
    /// Where it leaves.
    pub to: Device,
    /// What entered.
    pub used: LinkUse,
}

/// Packets that entered a core by a fibre and did not leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreLosses {
    /// As the fabric saw it.
    pub fabric: u64,
    /// As P4 counted it: dark, guard, overrun and collision.
    pub p4: u64,
}

impl View<'_, Star> {
    /// IP traffic of `src_edge` that `dst_edge` sent on to its hosts.
    pub fn delivered(&self, src_edge: u16, dst_edge: u16) -> Delivered {
        self.kind.telemetry.delivered_between(src_edge, dst_edge)
    }

    /// Every direction of every fibre. Utilization is `used.busy` divided by the time that has passed.
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
        self.kind.fibres.iter().flat_map(both).collect()
    }

    /// Losses in a core, counted by the engine and by P4, which must agree; `None` if P4 does not count.
    pub fn core_losses(&self, core: u16) -> Option<CoreLosses> {
        self.kind.core_losses(self.look, core)
    }
}

impl ViewMut<'_, Star> {
    /// The next frame that is over everywhere.
    pub fn poll_frame(&mut self) -> Option<FrameRecord> {
        self.kind.telemetry.poll_frame()
    }

    /// What a VOQ of an edge's line card for `core` did since the last call; `None` if there is no such queue.
    pub fn take_queue_use(&mut self, edge: u16, core: u16, voq: u16) -> Option<QueueUse> {
        let now = self.fx.now();
        let card = self.fx.card_mut::<slotted::Edge>(Device::Edge(edge))?;
        card.take_use(now, optical_port(core), voq)
    }
}

impl Star {
    /// Losses in a core, counted by the engine and by P4; `None` if P4 does not count.
    pub(super) fn core_losses(&self, look: Look<'_>, core: u16) -> Option<CoreLosses> {
        let in_core = [
            DropReason::Dark,
            DropReason::Guard,
            DropReason::Overrun,
            DropReason::Collision,
        ];
        let p4_lost_before = self.cores.get(usize::from(core))?.p4_lost_before;
        let device = Device::Core(core);
        let fabric = look.card::<slotted::Core>(device)?.lost();
        let drops = look.p4_drops(device)?;
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
    pub(super) fn packet_leaves(&mut self, origin: Origin, bytes: usize) {
        if let Origin::Fibre {
            card,
            optical: Some(optical),
            ..
        } = origin
        {
            let ip_bytes = Bytes::of(bytes.saturating_sub(Ethernet::SIZE));
            let edge = self.fibres[card].edge;
            self.telemetry
                .delivered(card, optical.src_edge, edge, optical.queue, ip_bytes);
        }
    }
}
