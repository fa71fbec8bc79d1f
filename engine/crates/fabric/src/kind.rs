// SPDX-License-Identifier: Apache-2.0
//! Kinds of networks, and what the rest of the fabric knows of each: how it is built, and what its nodes, cards and lanes do of
//! their own. All that is of one kind stands in one folder; it is named here once.

use std::fmt;
use std::ops::{Deref, DerefMut};

use slotwise_cards::card::Expiry;
use slotwise_p4::Port;
use slotwise_scenario::{Device, Scenario};
use slotwise_wire::{PORT_CPU, PORT_LINECARD};

use crate::external::Crossing;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::{ops, ring, routed, slots};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

/// All of them, in the order in which they are built.
pub(crate) static KINDS: [&Kind; 4] = [&slots::KIND, &routed::KIND, &ring::KIND, &ops::KIND];

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

/// What cards of one sort do, each known by its number among them.
pub(crate) struct Discipline {
    pub(crate) name: &'static str,
    /// Whether packets cross a link behind it as they are: it is a place of captures by its port.
    pub(crate) is_link: bool,
    /// A packet leaves the switch by its port.
    pub(crate) enqueue: fn(&mut Fabric, usize, Frame, Origin),
    /// P4 tells it something; false if that is nothing for it.
    pub(crate) obey: fn(&mut Fabric, usize, &ToCard) -> bool,
    /// [`crate::event::Event::Timer`]: it may have something to tell P4.
    pub(crate) timer: fn(&mut Fabric, usize),
    /// [`crate::event::Event::Wake`]: it may be able to send.
    pub(crate) wake: fn(&mut Fabric, usize),
    /// Nothing comes through behind it from now on, or something does again.
    pub(crate) set_dark: fn(&mut Fabric, usize, bool),
}

impl Discipline {
    /// One that takes packets and needs no more.
    pub(crate) const fn new(name: &'static str, enqueue: fn(&mut Fabric, usize, Frame, Origin)) -> Discipline {
        Discipline {
            name,
            is_link: false,
            enqueue,
            obey: |_, _, _| false,
            timer: |_, _| {},
            wake: |_, _| {},
            set_dark: |_, _, _| {},
        }
    }
}

// One sort of cards has one table, so they are told apart by where it stands.
impl PartialEq for Discipline {
    fn eq(&self, other: &Discipline) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Discipline {}

impl fmt::Debug for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A card: its discipline, and its number among the cards that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CardAt {
    pub(crate) of: &'static Discipline,
    pub(crate) card: u32,
}

impl CardAt {
    /// A port or timer of a card that a switch owns, by the number of its node.
    pub(crate) fn of_node(of: &'static Discipline, node: usize, number: u16) -> CardAt {
        CardAt::new(of, node << NODE_SHIFT | usize::from(number))
    }

    /// True if its number is that of a node, with a port or timer.
    pub(crate) fn is_of_node(self) -> bool {
        *self.of == OF_NODE
    }

    pub(crate) fn new(of: &'static Discipline, card: usize) -> CardAt {
        let card = card as u32;
        CardAt { of, card }
    }
}

/// Bits of a [`CardAt::card`] below the node, for a port or timer.
const NODE_SHIFT: u32 = u16::BITS;

/// The node, and the port or timer.
pub(crate) fn of_node(number: usize) -> (usize, u16) {
    (number >> NODE_SHIFT, number as u16)
}

/// Cards of switches, and queues before their links.
pub(crate) static OF_NODE: Discipline = Discipline {
    is_link: true,
    obey: |fabric, number, message| fabric.tell_own_card(of_node(number).0, message),
    timer: |fabric, number| fabric.own_card_due(of_node(number), Expiry::First),
    wake: |fabric, number| fabric.own_card_due(of_node(number), Expiry::Last),
    set_dark: |fabric, number, is_dark| fabric.set_own_card_dark(of_node(number), is_dark),
    ..Discipline::new("own", |fabric, number, frame, origin| {
        fabric.own_card_sends(of_node(number), frame, origin);
    })
};

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
