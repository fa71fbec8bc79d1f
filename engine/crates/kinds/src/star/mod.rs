// SPDX-License-Identifier: Apache-2.0
//! Stars in time slots: edges, cores, line cards and their light; guards, T_d, clocks, records of frames. Nothing outside of
//! this folder knows of slots.

mod build;
mod cards;
mod faults;
mod fibre;
mod grant_latency;
mod light;
mod numbering;
mod parts;
mod synchronization;
mod telemetry;
mod ticks;
mod view;
mod wellness;

use slotwise_cards::card::{Action, Card};
use slotwise_cards::packet::{Flying, Frame, Origin};
use slotwise_scenario::{Device, LinkChange, Scenario};
use slotwise_units::{Instant, SignedDuration};

use crate::build::{Build, Plan};
use crate::kind::Kind;
pub use fibre::LinkUse;
pub use grant_latency::GrantLatency;
pub use parts::Star;
use slotwise_net::around::Beyond;
use slotwise_net::capture::CapturePoint;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::work::Ask;
pub use telemetry::{Delivered, FrameRecord, VoqRecord};
pub use view::{CoreLosses, LinkReport};

impl Kind for Star {
    const CHECKS: &'static [Invariant] = &[
        Invariant::COLLISION,
        Invariant::GUARD,
        Invariant::UNGRANTED,
        Invariant::DUPLICATE,
    ];

    fn is_in(scenario: &Scenario) -> bool {
        scenario.has_star()
    }

    fn build(plan: &Plan<'_>, build: &mut Build) -> Star {
        Star::added_to(build, plan.scenario, plan.frame_records)
    }

    #[inline]
    fn arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        match end.sort {
            build::AT_CORE => self.light_at_core(fx, end.number as usize, flying),
            _ => self.light_at_edge(fx, end, flying),
        }
    }

    fn comes_late(&mut self, fx: &mut Effects<'_>, end: OwnEnd, frame: Frame) {
        self.message_at_edge(fx, end.number as usize, frame);
    }

    fn leaves(&mut self, origin: Origin, bytes: usize) {
        self.packet_leaves(origin, bytes);
    }

    fn starts(&mut self, fx: &mut Effects<'_>, device: Device) {
        match device {
            Device::Edge(edge) => self.edge_starts(fx, edge),
            _ => fx.call_card(self, fx.node(device), Card::restarts),
        }
    }

    fn stops(&mut self, fx: &mut Effects<'_>, device: Device) {
        match device {
            Device::Edge(edge) => self.edge_stops(fx, edge),
            device => {
                let core = device.number();
                let lost = self.core_losses(fx.look(), core).map_or(0, |losses| losses.p4);
                self.cores[usize::from(core)].p4_lost_before = lost;
            }
        }
    }

    fn overdue(&mut self, fx: &mut Effects<'_>, crossing: &Crossing) {
        self.light_is_overdue(fx, crossing);
    }

    fn reports(&mut self, now: Instant, frame: &[u8]) {
        self.note_request(now.ns(), frame);
    }

    fn capture_points(&self) -> Vec<CapturePoint> {
        let fibres = self
            .fibres
            .iter()
            .map(|pair| (Device::Edge(pair.edge), Device::Core(pair.core)));
        let both = fibres.flat_map(|(edge, core)| [(edge, core), (core, edge)]);
        both.map(|(from, to)| CapturePoint::Fibre { from, to }).collect()
    }

    fn change_fibres(&mut self, fx: &mut Effects<'_>, change: &LinkChange) {
        self.change_link(fx, change);
    }

    fn cut_fibres(&mut self, fx: &mut Effects<'_>, ends: (u16, u16), is_cut: bool) -> bool {
        self.cut_link(fx, ends, is_cut)
    }

    fn step_clocks(&mut self, fx: &mut Effects<'_>, device: Device, step: SignedDuration) {
        self.clocks_jump(fx, device, step);
    }

    fn watches(&mut self, fx: &mut Effects<'_>, fault: usize) -> bool {
        self.watch(fx.look(), fault)
    }
}

impl Beyond for Star {
    #[inline]
    fn acts(&mut self, fx: &mut Effects<'_>, node: usize, action: Action) {
        match action {
            Action::Light {
                port,
                queue,
                packet,
                duration,
                new_demand,
            } => {
                let fibre = self.fibre_before(fx.device(node), port);
                if let Some(demand) = new_demand {
                    self.light_for(fx.now().ns(), fibre, demand);
                }
                self.send_into_fibre(fx, (node, fibre), queue, packet, duration);
            }
            Action::Split {
                port,
                packet,
                start,
                duration,
                program,
            } => self.split_light(fx, (node, port), packet, (start, duration), program),
            Action::Seen(record) => self.seen(fx, fx.device(node), &record),
            _ => {}
        }
    }
}
