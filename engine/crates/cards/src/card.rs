// SPDX-License-Identifier: Apache-2.0
//! Contract between the cards of a switch and the network that drives them.
//!
//! ```text
//! network ── sends, told, goes_on, due, set_dark, restarts ──> card ── Actions ──> network
//! ```
//!
//! All queues and checks between a switch and its links are one [`Card`]. The network calls one method and performs
//! its actions in order. A question ([`Action::Ask`]) is complete, with all that P4 put out, before the next action; then
//! the card goes on with the continuation that it gave with the question. So a card never waits within a call, and a switch
//! outside of the network, which answers later, differs in [`Pass`] only.

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{Label, Optical, Ring, RingData};

use crate::demand::NewDemand;
use crate::message::ToCard;
use crate::packet::{Flying, Frame, FramePool, Origin, Packet};
use crate::{DropCause, Invariant, Port, assembly, edge_card, gates, station};

/// Number of one direction of a link, given by the network.
pub type Lane = u32;

/// Number of a timer of a card.
pub type TimerId = u16;

/// Outcome of a pass through P4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// So many packets came out.
    Done {
        /// Their number.
        outputs: usize,
    },
    /// The switch is outside: packets will come out, or will not.
    Later,
}

/// Continuation of a card after a question to P4.
#[derive(Debug)]
pub enum Then {
    /// None.
    Nothing,
    /// Question about a closed burst, by the port that it names.
    Assembly(Port, assembly::Then),
    /// Tick of the interval timers of a link or an output.
    Ticks {
        /// Their timer.
        timer: TimerId,
    },
    /// Question of the card of an edge of optical packet switches.
    Edge(edge_card::Then),
    /// Question of the card before a fibre, by its port.
    Gates(Port, gates::Then),
    /// Checks of light that passes a core.
    Light,
    /// Question of a station, by the ringlet of its link.
    Station {
        /// The ringlet.
        ringlet: u8,
    },
}

/// Program of a switch, as far as its answers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// None: nothing answers.
    None,
    /// It answers at once.
    Inside,
    /// It answers later.
    Outside,
}

/// Order among timers that expire at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expiry {
    /// First of all: a slot starts at a core.
    CoreSlot,
    /// After those: a slot starts at an edge, or its card has a message for P4 between slots.
    EdgeSlot,
    /// Before packets: an interval has ended.
    First,
    /// After packets: the card may be able to send.
    Last,
}

/// Event that checks of the whole network are fed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A station begins to put a packet on its ring.
    Added {
        /// Its headers.
        headers: (Ring, RingData),
        /// Time of acceptance from a host.
        accepted: Instant,
    },
    /// A packet of another station is lost where that may be.
    Forgotten {
        /// Its headers.
        headers: (Ring, RingData),
    },
    /// A packet is taken off a ring by the program of a station, where it should be or not.
    TakenOff {
        /// Its ringlet.
        ringlet: u8,
        /// Its headers.
        headers: (Ring, RingData),
        /// Its length.
        bytes: Bytes,
    },
    /// A VOQ is reported to P4.
    Reported {
        /// Port of its fibre.
        port: Port,
        /// Its number.
        voq: u16,
        /// Data that waits in it.
        backlog: Bytes,
    },
    /// A gate is open for a VOQ: a slot is granted to it.
    Granted {
        /// Port of its fibre.
        port: Port,
        /// Its number.
        voq: u16,
    },
    /// A frame starts at an edge.
    EdgeFrame {
        /// Port of the fibre.
        port: Port,
        /// Number of the frame since the epoch.
        frame: u64,
    },
    /// A slot starts at a core.
    CoreSlot {
        /// Its number since the epoch.
        slot: u64,
    },
    /// An interval of a ring's link has ended, and P4 has had its ticks.
    Interval(station::Interval),
    /// The interval of an output's agent has ended, and P4 gets its tick next.
    AgentInterval {
        /// Port of the output.
        port: Port,
    },
    /// An edge has made a burst.
    BurstFormed {
        /// Port of its output.
        port: Port,
        /// Its label.
        label: Label,
        /// Packets in it.
        packets: u64,
        /// Their length.
        bytes: Bytes,
    },
    /// P4 has refused a burst that the card had assembled.
    BurstRefused,
    /// A burst begins to leave its edge.
    BurstLeft {
        /// Its label.
        label: Label,
        /// The program of its edge that numbered it.
        program: u32,
        /// End of the light that comes with its label.
        left: Instant,
    },
    /// A burst is at an edge, or was lost at the end of its link.
    BurstArrived {
        /// Port of the edge.
        port: Port,
        /// Its label.
        label: Label,
        /// The program of its edge that numbered it.
        program: u32,
        /// True if the burst did not take preferred fibres only.
        is_deflected: bool,
        /// True if its link lost the burst.
        is_lost: bool,
    },
    /// An edge has a new program, which numbers bursts from 1.
    Renumbered,
    /// A burst is lost.
    BurstLost {
        /// Its label.
        label: Label,
        /// The program of its edge that numbered it.
        program: u32,
    },
}

/// Effect of a call of a card.
#[derive(Debug)]
pub enum Action {
    /// A packet enters a lane.
    Enter {
        /// The lane.
        lane: Lane,
        /// Time of arrival at the far end.
        at: Instant,
        /// The packet.
        flying: Flying,
    },
    /// A packet enters the fibre behind a port.
    Light {
        /// The port.
        port: Port,
        /// Its queue.
        queue: u16,
        /// The packet.
        packet: Packet,
        /// Time on the fibre.
        duration: Duration,
        /// Set if it is the first of a burst of demand.
        new_demand: Option<NewDemand>,
    },
    /// A packet leaves a core by all fibres of a port.
    Split {
        /// The port.
        port: Port,
        /// The packet.
        packet: Packet,
        /// Departure of its head.
        start: Instant,
        /// Time on the fibres.
        duration: Duration,
        /// The program of its source that numbered it; `None` if it came by no fibre.
        program: Option<u32>,
    },
    /// Packets that entered a lane last get other times of arrival, in order of entry.
    Retime {
        /// The lane.
        lane: Lane,
        /// Times of arrival.
        arrivals: Vec<Instant>,
    },
    /// The packets that entered a lane last are lost before a port.
    Recall {
        /// The lane.
        lane: Lane,
        /// Number of packets.
        count: usize,
        /// The port.
        port: Port,
        /// The reason.
        cause: DropCause,
    },
    /// The packets in a lane that have not begun to leave are lost before a port.
    Cut {
        /// The lane.
        lane: Lane,
        /// The port.
        port: Port,
        /// The reason.
        cause: DropCause,
        /// Propagation delay of the lane.
        delay: Duration,
        /// True if a packet arrives with its tail.
        by_tail: bool,
    },
    /// A packet that has arrived by a port enters P4.
    Arrives {
        /// The port.
        port: Port,
        /// The packet.
        packet: Packet,
    },
    /// A message for P4, by the port of line cards.
    Ask {
        /// The message.
        frame: Frame,
        /// End of use of the packets that P4 makes of it, if there is one.
        until: Option<Instant>,
        /// Continuation once all that came out of it is complete.
        then: Then,
    },
    /// [`Card::due`] at a time.
    Timer {
        /// The timer.
        timer: TimerId,
        /// Time of expiry, now or later.
        at: Instant,
        /// Order at that time.
        expiry: Expiry,
    },
    /// A frame is lost before a port, or in the switch itself for the port of line cards.
    Drop {
        /// The port.
        port: Port,
        /// The reason.
        cause: DropCause,
        /// The frame.
        frame: Frame,
    },
    /// A message of P4 that the card of a port cannot apply is counted as lost.
    Refuse {
        /// The port.
        port: Port,
        /// The reason.
        cause: DropCause,
        /// Length of the message.
        bytes: usize,
    },
    /// A rule is broken before a port, or in the switch itself for the port of line cards.
    Broken {
        /// The port.
        port: Port,
        /// The rule.
        broken: Invariant,
        /// Optical header of the packet, if it has one.
        packet: Option<Optical>,
    },
    /// Something that checks of the whole network are fed with.
    Seen(Record),
}

// Each one is moved a few times, for every packet.
const _: () = assert!(size_of::<Action>() <= 80);

/// Effects of a call, in order, and memory for messages among them.
#[derive(Default)]
pub struct Actions {
    /// The effects.
    pub list: Vec<Action>,
    /// Memory for messages.
    pub frames: FramePool,
}

impl Actions {
    /// Adds an effect.
    #[inline]
    pub fn push(&mut self, action: Action) {
        self.list.push(action);
    }

    /// Adds a question: a message for P4, by the port of line cards.
    #[expect(
        clippy::inline_always,
        reason = "a call takes as long as the message, for every slot"
    )]
    #[inline(always)]
    pub fn ask<const N: usize>(&mut self, message: &[u8; N], until: Option<Instant>, then: Then) {
        let frame = self.frames.copy_of(message);
        self.list.push(Action::Ask { frame, until, then });
    }
}

/// Queues and checks between one switch and its links.
pub trait Card {
    /// Takes a packet that P4 sent by a port.
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions);

    /// Applies a message of P4. Returns false if it is for none of its ports.
    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool;

    /// Continues after a question and all that came out of it.
    fn goes_on(&mut self, now: Instant, then: Then, pass: Pass, out: &mut Actions);

    /// Handles an expired timer. A card ignores one that it has set to another time since.
    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions);

    /// Lets the link behind a port carry packets or not.
    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions);

    /// Loses all waiting packets: the switch stops, or has a new program.
    fn restarts(&mut self, now: Instant, out: &mut Actions);
}
