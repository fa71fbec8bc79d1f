// SPDX-License-Identifier: Apache-2.0
//! What networks of optical packet switches have: the cards of their fibres, what is on its way, and what is checked and measured of it.

mod build;
mod cards;
mod entrance;
mod measure;
mod parts;
mod probes;
mod steps;
mod watch;

pub use slotwise_cards::burst_queue::BurstUse;
use slotwise_cards::card::{Action, Record};
use slotwise_cards::packet::{Flying, Frame};
use slotwise_scenario::{Device, Scenario};

use crate::build::{Build, Plan};
use crate::kind::Kind;
use cards::agents_interval_ends;
use entrance::train_is_overdue;
pub use measure::{OpsEdgeUse, OpsOutput, OpsOutputUse, OpsSwitchUse};
use parts::ENTRANCE;
pub use parts::Ops;
use slotwise_cards::card::Pass;
use slotwise_net::around::Beyond;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::work::Ask;
use steps::Step;
pub use watch::{OpsTrains, OpsTransit};

impl Kind for Ops {
    const CHECKS: &'static [Invariant] = &[
        Invariant::LANE,
        Invariant::RAM,
        Invariant::DUPLICATE,
        Invariant::SPLIT,
        Ops::UNEXPLAINED,
        Invariant::LABEL,
        Invariant::ASTRAY,
        Invariant::INGRESS,
    ];
    const CHECKS_INSIDE: &'static [Invariant] = &[Invariant::LANE, Ops::UNEXPLAINED, Invariant::LABEL];

    fn is_in(scenario: &Scenario) -> bool {
        scenario.has_ops()
    }

    fn build(plan: &Plan<'_>, build: &mut Build) -> Ops {
        let ops = plan.scenario.ops.as_ref();
        Ops::added_to(build, plan.scenario, ops.expect("it is in the scenario"))
    }

    #[inline]
    fn arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        match end.sort {
            ENTRANCE => self.light_enters(fx, end, flying),
            _ => {
                self.probe_arrives(fx, end, flying);
                None
            }
        }
    }

    fn comes_late(&mut self, fx: &mut Effects<'_>, end: OwnEnd, frame: Frame) {
        self.take_probe(fx, end.number as usize, frame);
    }

    fn starts(&mut self, fx: &mut Effects<'_>, device: Device) {
        match device {
            Device::OpsEdge(edge) => {
                self.reset_node(fx, device);
                self.go_on(fx, Step::Renumber { edge });
            }
            switch => self.switch_starts(fx, switch),
        }
    }

    fn stops(&mut self, fx: &mut Effects<'_>, device: Device) {
        match device {
            Device::OpsEdge(_) => self.reset_node(fx, device),
            switch => self.switch_stops(fx, switch),
        }
    }

    fn seen(&mut self, fx: &mut Effects<'_>, node: usize, record: &Record) {
        self.judge(fx, node, record);
    }

    fn overdue(&mut self, fx: &mut Effects<'_>, crossing: &Crossing) {
        train_is_overdue(fx, crossing);
    }

    fn passed(&mut self, fx: &mut Effects<'_>, ticket: u32, pass: Pass) {
        if let Some(passed) = self.at_switches.take(ticket) {
            self.light_left_switch(fx, &passed, pass);
        }
    }

    fn goes_on(&mut self, fx: &mut Effects<'_>, ticket: u32) {
        if let Some(step) = self.steps.take(ticket) {
            self.step(fx, step);
        }
    }
}

impl Beyond for Ops {
    fn acts(&mut self, fx: &mut Effects<'_>, node: usize, action: Action) {
        match action {
            Action::Seen(Record::AgentInterval { port }) => agents_interval_ends(fx, node, port),
            Action::Seen(record) => fx.record(node, record),
            Action::Cut {
                lane,
                port,
                cause,
                delay,
                by_tail,
            } => {
                let place = fx.look().place_before(node, port);
                self.cut_lane(fx, (node, lane as usize), place, cause, (delay, by_tail));
            }
            _ => {}
        }
    }
}

impl Ops {
    /// Packets that came in light to a switch and did not go on are just those that it has counted as dropped.
    pub const UNEXPLAINED: Invariant = Invariant::new("unexplained", "unaccounted losses");
}
