// SPDX-License-Identifier: Apache-2.0
//! What packet rings have: the cards of their stations, what is on its way on a ring, and what is checked and measured of it.

mod build;
mod cards;
mod measure;
mod parts;
mod watch;

use slotwise_cards::card::{Action, Record};
use slotwise_cards::packet::{Flying, Frame};
use slotwise_scenario::{Device, Scenario};

use cards::message_at_station;
pub use measure::RingLinkState;
pub use parts::Ring;

use crate::build::{Build, Plan};
use crate::kind::Kind;
use slotwise_cards::card::Pass;
use slotwise_net::around::Beyond;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::work::Ask;

impl Kind for Ring {
    const CHECKS: &'static [Invariant] = &[
        Invariant::DUPLICATE,
        Invariant::ASTRAY,
        Ring::TRANSIT_LOSS,
        Ring::ROUND,
        Invariant::ADD_RATE,
        Invariant::INSERTION,
    ];

    fn is_in(scenario: &Scenario) -> bool {
        scenario.has_ring()
    }

    fn build(plan: &Plan<'_>, build: &mut Build) -> Ring {
        let ring = plan.scenario.ring.as_ref();
        Ring::added_to(build, plan.scenario, ring.expect("it is in the scenario"))
    }

    #[inline]
    fn arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        self.at_station(fx, end, flying.packet)
    }

    fn comes_late(&mut self, fx: &mut Effects<'_>, end: OwnEnd, frame: Frame) {
        message_at_station(fx, end.number as usize, frame);
    }

    // A station that starts or stops loses its queues and limits.
    fn starts(&mut self, fx: &mut Effects<'_>, station: Device) {
        self.reset_station(fx, station);
    }

    fn stops(&mut self, fx: &mut Effects<'_>, station: Device) {
        self.reset_station(fx, station);
    }

    fn changes_light(&mut self, fx: &mut Effects<'_>, _: usize) {
        self.broken = fx.now();
    }

    fn seen(&mut self, fx: &mut Effects<'_>, node: usize, record: &Record) {
        match record {
            Record::Added {
                headers: (ring, data),
                accepted,
            } => self.watch.enters(ring, data, accepted.ns()),
            Record::Forgotten { headers: (ring, data) } => self.watch.forget(ring, data),
            Record::TakenOff {
                ringlet,
                headers,
                bytes,
            } => self.taken_off(fx, (node, *ringlet), headers, *bytes),
            _ => {}
        }
    }

    fn passed(&mut self, fx: &mut Effects<'_>, ticket: u32, pass: Pass) {
        if let Some(arrival) = self.arrivals.take(ticket) {
            self.watch_arrival(fx, arrival, pass);
        }
    }
}

impl Beyond for Ring {
    fn acts(&mut self, fx: &mut Effects<'_>, node: usize, action: Action) {
        match action {
            Action::Seen(Record::Interval(interval)) => self.note_phase(fx, node, &interval),
            Action::Seen(record) => fx.record(node, record),
            _ => {}
        }
    }
}

impl Ring {
    /// On a ring no packet lost by a station that it passes.
    pub const TRANSIT_LOSS: Invariant = Invariant::new("transit_loss", "transit losses");
    /// No packet at a station of a ring twice.
    pub const ROUND: Invariant = Invariant::new("round", "loops");
}
