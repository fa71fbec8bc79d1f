// SPDX-License-Identifier: Apache-2.0
//! Contract between a kind of networks and the rest.

use slotwise_cards::card::{Pass, Record};
use slotwise_cards::packet::{Flying, Frame, Origin};
use slotwise_p4::Port;
use slotwise_scenario::{Device, LinkChange, Scenario};
use slotwise_units::{Instant, SignedDuration};

use crate::build::{Build, Plan};
use slotwise_net::around::Beyond;
use slotwise_net::capture::CapturePoint;
use slotwise_net::effects::{Effects, Look};
use slotwise_net::invariants::{Invariant, Invariants};
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::work::Ask;

/// A kind of networks. Defaults do nothing.
pub(crate) trait Kind: Beyond + Sized {
    /// Rules that must hold in it.
    const CHECKS: &'static [Invariant];
    /// Rules among them that cannot be checked with switches outside, which answer late.
    const CHECKS_INSIDE: &'static [Invariant] = &[];

    /// True if a scenario has one.
    fn is_in(scenario: &Scenario) -> bool;

    /// Adds its nodes, cards, lanes, hosts and changes from a scenario.
    fn build(plan: &Plan<'_>, build: &mut Build) -> Self;

    /// Takes a packet at the end of a lane. Returns one that enters P4 at once.
    fn arrives(&mut self, _: &mut Effects<'_>, end: OwnEnd, _: Flying) -> Option<Ask> {
        unreachable!("{end:?} of a kind that handles no ends")
    }

    /// A control message that a fault made late is there.
    fn comes_late(&mut self, _: &mut Effects<'_>, _: OwnEnd, _: Frame) {}

    /// Takes a record of one of its nodes for checks and measurements over several of them, after the event.
    fn seen(&mut self, _: &mut Effects<'_>, _: usize, _: &Record) {}

    /// A packet leaves a switch by a link, having come by a fibre.
    fn leaves(&mut self, _: Origin, _: usize) {}

    /// A program has been started in a device.
    fn starts(&mut self, _: &mut Effects<'_>, _: Device) {}

    /// A device stops; its program and tables are lost right afterwards.
    fn stops(&mut self, _: &mut Effects<'_>, _: Device) {}

    /// A link of the card of a node goes down, or up again.
    fn changes_light(&mut self, _: &mut Effects<'_>, _: usize) {}

    /// A switch outside has not sent on in time what came.
    fn overdue(&mut self, _: &mut Effects<'_>, _: &Crossing) {}

    /// A packet-in leaves for the controller; only where faults happen.
    fn reports(&mut self, _: Instant, _: &[u8]) {}

    /// A pass with a ticket, and all that came out of it, is complete.
    fn passed(&mut self, _: &mut Effects<'_>, _: u32, _: Pass) {}

    /// Work with a ticket after it is complete.
    fn goes_on(&mut self, _: &mut Effects<'_>, _: u32) {}

    /// Port at which a link of the scenario begins, where links have numbers.
    fn port_of_link(&self, _: usize) -> Option<(Device, Port)> {
        None
    }

    /// Places of captures beside ports.
    fn capture_points(&self) -> Vec<CapturePoint> {
        Vec::new()
    }

    /// Changes a pair of fibres.
    fn change_fibres(&mut self, _: &mut Effects<'_>, _: &LinkChange) {}

    /// Cuts a pair of fibres between an edge and a core, or restores it. False if nothing changes.
    fn cut_fibres(&mut self, _: &mut Effects<'_>, _: (u16, u16), _: bool) -> bool {
        false
    }

    /// Clocks of a device jump.
    fn step_clocks(&mut self, _: &mut Effects<'_>, _: Device, _: SignedDuration) {}

    /// Starts to watch the recovery from a fault. False if flows are watched instead.
    fn watches(&mut self, _: &mut Effects<'_>, _: usize) -> bool {
        false
    }
}

/// A part of a network that is of one kind, to be looked at.
pub struct View<'a, K> {
    pub(crate) kind: &'a K,
    pub(crate) look: Look<'a>,
}

/// A part of a network that is of one kind, to be measured and changed.
pub struct ViewMut<'a, K> {
    pub(crate) kind: &'a mut K,
    pub(crate) fx: Effects<'a>,
    pub(crate) invariants: &'a mut Invariants,
}
