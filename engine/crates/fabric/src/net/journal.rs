// SPDX-License-Identifier: Apache-2.0
//! Traces of a run: messages for the controller, losses, broken rules, captures, faults and their
//! outcome. Events write it; nothing that moves depends on it.

use std::collections::VecDeque;

use slotwise_cards::packet::Frame;

use crate::api::ControlEvent;
use crate::capture::{Captures, Capturing};
use crate::drops::Drops;
use crate::faults::record::FaultRecord;
use crate::invariants::Invariants;

/// Fate of a packet in a burst, for measurements of order.
pub(crate) struct InBurst {
    /// The IP packet.
    pub(crate) packet: Frame,
    /// Number of the burst, unique per source.
    pub(crate) burst: u64,
    /// True if it is lost; else it was deflected and came.
    pub(crate) is_lost: bool,
}

/// Traces of events.
pub(crate) struct Journal {
    pub(crate) control: VecDeque<ControlEvent>,
    pub(crate) drops: Drops,
    pub(crate) invariants: Invariants,
    pub(crate) captures: Option<Captures>,
    /// Faults of the run, those to come included.
    pub(crate) faults: Vec<FaultRecord>,
    /// Fates of packets in bursts, of the event in progress.
    pub(crate) in_bursts: Vec<InBurst>,
    /// Passes through P4 so far.
    pub(crate) passes: u64,
}

impl Journal {
    pub(crate) fn new(captures: Option<Capturing>) -> Journal {
        Journal {
            control: VecDeque::new(),
            drops: Drops::default(),
            invariants: Invariants::default(),
            captures: captures.map(Captures::new),
            faults: Vec::new(),
            in_bursts: Vec::new(),
            passes: 0,
        }
    }
}
