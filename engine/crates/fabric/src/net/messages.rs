// SPDX-License-Identifier: Apache-2.0
//! What faults do to control messages: light of signaling where an edge takes it, messages on a ring where a station does, packet-ins and
//! packet-outs.
//!
//! Light carries a frame check sequence as all Ethernet does, so a line card drops what is corrupted. What the controller's
//! connection carries arrives with its wrong bits: the programs at both ends have to bear them.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_wire::PacketIn;

use slotwise_cards::packet::Frame;
use slotwise_random::{self as random, Stream};

/// Longest delay of a late message, unless a kind of networks sets another one.
const MAX_LATE_NS: u64 = 1_000_000;
const MAX_WRONG_BITS: u32 = 4;
/// Header of packet-ins and packet-outs: a field of P4Runtime's own message, which stays as it is.
const CONTROLLER_HEADER: usize = PacketIn::SIZE;

/// Active faults on control messages.
pub(crate) struct Messages {
    /// By the number of the fault.
    pub(super) in_force: Vec<usize>,
    pub(super) random: Pcg64Mcg,
    most_late_ns: u64,
}

impl Messages {
    pub(crate) fn new(seed: u64) -> Messages {
        Messages {
            in_force: Vec::new(),
            random: random::generator(seed, Stream::Messages, 0),
            most_late_ns: MAX_LATE_NS,
        }
    }

    /// Sets the longest delay of late messages.
    pub(crate) fn set_most_late(&mut self, most_late_ns: u64) {
        self.most_late_ns = most_late_ns;
    }

    /// Draws the delay of a late message.
    pub(super) fn lateness(&mut self) -> u64 {
        self.random.random_range(1..=self.most_late_ns)
    }

    /// Changes some bits of a message.
    pub(super) fn corrupt(&mut self, frame: &mut Frame) {
        let random = &mut self.random;
        for _ in 0..random.random_range(1..=MAX_WRONG_BITS) {
            if frame.len() > CONTROLLER_HEADER {
                let byte = random.random_range(CONTROLLER_HEADER..frame.len());
                frame[byte] ^= 1 << random.random_range(0..8);
            }
        }
    }
}
