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
    /// Generators of the nodes.
    random: Vec<Pcg64Mcg>,
    seed: u64,
    most_late_ns: u64,
}

impl Messages {
    pub(crate) fn new(seed: u64) -> Messages {
        Messages {
            in_force: Vec::new(),
            random: Vec::new(),
            seed,
            most_late_ns: MAX_LATE_NS,
        }
    }

    /// Adds the generator of the next node, by the name of the node.
    pub(super) fn add_node(&mut self, name: u32) {
        let random = random::generator(self.seed, Stream::Messages, u64::from(name));
        self.random.push(random);
    }

    /// The generator of a node.
    pub(super) fn random(&mut self, node: usize) -> &mut Pcg64Mcg {
        &mut self.random[node]
    }

    /// Sets the longest delay of late messages.
    pub(crate) fn set_most_late(&mut self, most_late_ns: u64) {
        self.most_late_ns = most_late_ns;
    }

    /// Draws the delay of a late message.
    pub(super) fn lateness(&mut self, node: usize) -> u64 {
        self.random[node].random_range(1..=self.most_late_ns)
    }

    /// Changes some bits of a message.
    pub(super) fn corrupt(&mut self, node: usize, frame: &mut Frame) {
        let random = &mut self.random[node];
        for _ in 0..random.random_range(1..=MAX_WRONG_BITS) {
            if frame.len() > CONTROLLER_HEADER {
                let byte = random.random_range(CONTROLLER_HEADER..frame.len());
                frame[byte] ^= 1 << random.random_range(0..8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_for_a_node_depend_on_no_other_node() {
        let mut messages = Messages::new(7);
        [5, 3].into_iter().for_each(|name| messages.add_node(name));
        let of_3: Vec<u64> = (0..4).map(|_| messages.lateness(1)).collect();
        let mut otherwise = Messages::new(7);
        [3, 9, 5].into_iter().for_each(|name| otherwise.add_node(name));
        let mixed: Vec<[u64; 3]> = (0..4).map(|_| [2, 0, 1].map(|node| otherwise.lateness(node))).collect();
        assert_eq!(mixed.iter().map(|draws| draws[1]).collect::<Vec<u64>>(), of_3);
        assert!(mixed.iter().any(|draws| draws[0] != draws[1]));
    }
}
