// SPDX-License-Identifier: Apache-2.0
//! Surroundings of the net: kinds of networks, which it knows by number.

use slotwise_cards::card::{Action, Pass};
use slotwise_cards::packet::{Frame, Origin};
use slotwise_units::Instant;

use crate::effects::Effects;
use crate::lane::OwnEnd;
use crate::outside::Crossing;
use crate::ticket::Ticket;

/// Actions of cards that concern more than links: light between switches, and checks over several nodes.
pub trait Beyond {
    /// Performs such an action of the card of a node.
    fn acts(&mut self, fx: &mut Effects<'_>, node: usize, action: Action);
}

/// Surroundings of a net.
pub trait Around: Beyond {
    /// A packet leaves a switch by a link; what became of it before is in its origin.
    fn leaves(&mut self, origin: Origin, bytes: usize);

    /// A message that a fault made late is at an end of a lane.
    fn comes_late(&mut self, fx: &mut Effects<'_>, end: OwnEnd, frame: Frame);

    /// A link of the card of a node goes down, or up again.
    fn changes_light(&mut self, fx: &mut Effects<'_>, node: usize);

    /// A switch outside has not sent on in time what came to it.
    fn overdue(&mut self, fx: &mut Effects<'_>, crossing: &Crossing);

    /// A packet-in leaves for the controller; only where faults happen.
    fn reports(&mut self, now: Instant, frame: &[u8]);

    /// A pass, and all that came out of it, is complete.
    fn passed(&mut self, fx: &mut Effects<'_>, ticket: Ticket, pass: Pass);

    /// All work that an activation has added is complete.
    fn goes_on(&mut self, fx: &mut Effects<'_>, ticket: Ticket);
}
