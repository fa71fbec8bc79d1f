// SPDX-License-Identifier: Apache-2.0
//! Kinds of networks, and what the rest of the fabric knows of each: how it is built, and what its nodes and lanes do of
//! their own. All that is of one kind stands in one folder; it is named here once.

use std::ops::{Deref, DerefMut};

use slotwise_p4::Port;
use slotwise_scenario::{Device, Scenario};
use slotwise_wire::{PORT_CPU, PORT_LINECARD};

use crate::invariants::Invariant;
use crate::kinds::{ops, ring, routed, star};
use crate::net::outside::Crossing;
use crate::world::Fabric;
use slotwise_cards::packet::Flying;

/// All of them, in the order in which they are built.
pub(crate) static KINDS: [&Kind; 4] = [&star::KIND, &routed::KIND, &ring::KIND, &ops::KIND];

/// A kind of networks.
pub(crate) struct Kind {
    /// Whether a scenario has one.
    pub(crate) is_in: fn(&Scenario) -> bool,
    /// Adds what the scenario says of it: nodes, cards, lanes, hosts, changes.
    pub(crate) build: fn(&mut Fabric, &Plan),
    /// What must hold in it.
    pub(crate) checks: &'static [Invariant],
    /// Checks among them that cannot be made of switches outside of the fabric, which answer late.
    pub(crate) checks_inside: &'static [Invariant],
}

/// What a network is built from.
pub(crate) struct Plan<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) frame_records: bool,
}

/// What nodes of one sort do of their own.
pub(crate) struct NodeKind {
    /// Ports inside of the switch, as places of captures.
    pub(crate) inner_ports: &'static [Port],
    /// Whether P4 tells its cards what to do: it sends to [`PORT_LINECARD`].
    pub(crate) has_cards: bool,
    /// A program has been started in it.
    pub(crate) starts: fn(&mut Fabric, Device),
    /// It stops; its program and tables are lost right afterwards.
    pub(crate) stops: fn(&mut Fabric, Device),
    /// Outside of the fabric it has not sent on in time what came.
    pub(crate) overdue: fn(&mut Fabric, &Crossing),
}

impl NodeKind {
    /// A node of which nothing is to be known.
    pub(crate) const PLAIN: NodeKind = NodeKind {
        inner_ports: &[PORT_LINECARD, PORT_CPU],
        has_cards: true,
        starts: |_, _| {},
        stops: |_, _| {},
        overdue: |_, _| {},
    };
}

/// An end of a lane where its kind does more than P4 does.
pub(crate) struct End {
    /// What was in the lane has arrived at the end of this number.
    pub(crate) arrive: fn(&mut Fabric, usize, Flying),
}

/// What a fabric has of one kind of networks. Only that kind's own code asks for it, and it runs only where there is one; all else
/// asks whether there is one.
pub(crate) struct Part<T>(Option<Box<T>>);

impl<T> Part<T> {
    pub(crate) fn of(part: T) -> Part<T> {
        Part(Some(Box::new(part)))
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for Part<T> {
    fn default() -> Part<T> {
        Part(None)
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
            .as_deref()
            .expect("code of a network type called on a network without it")
    }
}

impl<T> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0
            .as_deref_mut()
            .expect("code of a network type called on a network without it")
    }
}
