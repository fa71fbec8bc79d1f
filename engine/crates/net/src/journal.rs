// SPDX-License-Identifier: Apache-2.0
//! Traces of events: messages for the controller, violations, records for checks over several nodes, each with the key
//! of its event. Events only append to the journal, and no packet depends on it; the run drains it after each event. So
//! journals of partitions of a network can be merged by the keys of events.
//!
//! Sums (losses, passes) need no key. Captures need none, since all packets of a capture point come from one node.

use slotwise_cards::card::Record;
use slotwise_cards::packet::Frame;
use slotwise_units::Instant;
use slotwise_wire::Optical;

use crate::capture::{Captures, Capturing};
use crate::control_event::ControlEvent;
use crate::drops::{Drops, Place};
use crate::event::Key;
use crate::fault::FaultRecord;
use crate::invariants::Invariant;

/// Fate of a packet in a burst, for measurements of order.
pub struct InBurst {
    /// The IP packet.
    pub packet: Frame,
    /// Number of the burst, unique per source.
    pub burst: u64,
    /// True if it is lost; else it was deflected and came.
    pub is_lost: bool,
}

/// Trace of an event.
pub enum Note {
    /// Message for the controller.
    Control(ControlEvent),
    /// Violation of an invariant, found now or later.
    Broken {
        /// The invariant.
        invariant: Invariant,
        /// Time of the violation.
        at: Instant,
        /// Place of the violation.
        place: Place,
        /// Optical header of the packet, if it has one.
        packet: Option<Optical>,
    },
    /// Record of one node for checks and measurements over several nodes.
    Seen {
        /// Number of the node.
        node: usize,
        /// The record.
        record: Record,
    },
    /// Fate of a packet.
    InBurst(InBurst),
}

/// Trace with the key of its event.
pub struct Entry {
    /// Key of the event.
    pub key: Key,
    /// The trace.
    pub note: Note,
}

/// Traces of events.
pub struct Journal {
    /// Key of the event in progress.
    pub entries: Vec<Entry>,
    /// Losses outside of P4.
    pub drops: Drops,
    /// Captures, if any are made.
    pub captures: Option<Captures>,
    /// Faults of the run, those to come included.
    pub faults: Vec<FaultRecord>,
    /// Passes through P4 so far.
    pub passes: u64,
}

impl Journal {
    /// Creates an empty journal.
    pub(crate) fn new(captures: Option<Capturing>) -> Journal {
        Journal {
            entries: Vec::new(),
            drops: Drops::default(),
            captures: captures.map(Captures::new),
            faults: Vec::new(),
            passes: 0,
        }
    }
}
