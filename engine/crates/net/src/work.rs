// SPDX-License-Identifier: Apache-2.0
//! Work of an event that is still to be done: packets for P4, packets and digests from P4, and steps that follow them.
//!
//! ```text
//! event ──> activation ──> adds work ──┐        activation: an event, a packet that P4 sent, a continuation
//!               ^                      v
//!               └────── next ─────── Stack
//! ```
//!
//! An activation adds its work in order. Each item is completed, with all work that it adds itself, before the next one
//! and before all older work. So the effects are in the order of nested calls, without nesting: a card that needs P4's
//! answer asks one question and leaves what it does next to a continuation.

use slotwise_cards::card::{self as cards, Action, Pass};
use slotwise_p4::{Bits, Port};
use slotwise_scenario::Device;

use crate::ticket::Ticket;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

/// Work in the order of nested calls.
pub(crate) struct Stack<W> {
    /// The last item is the next one, once the activation in progress has ended.
    work: Vec<W>,
    /// Items from here on are of the activation in progress, in their order.
    base: usize,
}

impl<W> Default for Stack<W> {
    fn default() -> Stack<W> {
        Stack {
            work: Vec::new(),
            base: 0,
        }
    }
}

impl<W> Stack<W> {
    /// Adds work of the activation in progress: after the work that it has added, before all older work.
    pub(crate) fn add(&mut self, work: W) {
        self.work.push(work);
    }

    /// True if it is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// True if the activation in progress has added work: the rest of it must be added, too.
    pub(crate) fn has_added(&self) -> bool {
        self.work.len() > self.base
    }

    /// Gives up all work.
    pub(crate) fn clear(&mut self) {
        self.work.clear();
        self.base = 0;
    }

    /// Ends the activation in progress and begins the next one.
    pub(crate) fn next(&mut self) -> Option<W> {
        if self.work.len() > self.base + 1 {
            self.work[self.base..].reverse();
        }
        let next = self.work.pop();
        self.base = self.work.len();
        next
    }
}

/// A packet that enters P4 of a device.
pub struct Ask {
    /// The switch.
    pub device: Device,
    /// Input port.
    pub port: Port,
    /// The packet.
    pub frame: Frame,
    /// Path of its arrival.
    pub origin: Origin,
    /// Continuation after the pass.
    pub then: Passed,
}

/// Continuation after a pass and everything that came out of it.
pub enum Passed {
    /// None.
    Nothing,
    /// Continuation in the card of a switch.
    Card {
        /// Number of the node.
        node: usize,
        /// The continuation.
        then: cards::Then,
    },
    /// Continuation of a kind of networks.
    Own(Ticket),
}

/// An item of work.
pub(crate) enum Work {
    /// A packet enters P4.
    Ask(Ask),
    /// P4 sent a packet by a port.
    Output {
        device: Device,
        port: Port,
        frame: Frame,
        origin: Origin,
    },
    /// P4 sent a digest.
    Digest {
        device: Device,
        name: String,
        fields: Vec<Bits>,
    },
    /// An action of the card of a switch.
    Action { node: usize, action: Action },
    /// A pass is complete.
    Passed(Passed, Pass),
    /// An activation goes on.
    Step(Step),
}

/// Continuation of an activation, once all work that it has added is complete.
pub enum Step {
    /// Continuation of a kind of networks.
    Own(Ticket),
    /// The next card of a span that carries packets from now on or not.
    SetDark {
        /// Number of the span.
        span: usize,
        /// First card that is left.
        first: usize,
    },
    /// A switch that has stopped has no program.
    DeviceDown {
        /// The switch.
        device: Device,
    },
}

impl Ask {
    /// One without a continuation.
    #[inline]
    pub fn new((device, port): (Device, Port), frame: Frame, origin: Origin) -> Ask {
        Ask {
            device,
            port,
            frame,
            origin,
            then: Passed::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A toy: an item, and the items that it adds.
    #[derive(Clone)]
    struct Item {
        name: u32,
        adds: Vec<Item>,
    }

    /// Draws a tree of items, by a linear congruential generator.
    fn drawn(state: &mut u32, depth: u32) -> Item {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let name = *state;
        let count = if depth == 0 { 0 } else { name >> 30 };
        let adds = (0..count).map(|_| drawn(state, depth - 1)).collect();
        Item { name, adds }
    }

    fn nested(item: &Item, order: &mut Vec<u32>) {
        order.push(item.name);
        item.adds.iter().for_each(|item| nested(item, order));
    }

    #[test]
    fn work_is_done_in_the_order_of_nested_calls() {
        let mut state = 7;
        let mut deepest = 0;
        for _ in 0..200 {
            let root = drawn(&mut state, 6);
            let (mut order, mut expected) = (Vec::new(), Vec::new());
            nested(&root, &mut expected);
            let mut stack = Stack::default();
            stack.add(root);
            while let Some(item) = stack.next() {
                order.push(item.name);
                item.adds.into_iter().for_each(|item| stack.add(item));
                deepest = deepest.max(stack.work.len());
            }
            assert_eq!(order, expected);
        }
        assert!(deepest > 6, "trees are deep enough for orders to differ: {deepest}");
    }

    #[test]
    fn an_activation_knows_its_own_work_only() {
        let mut stack = Stack::default();
        assert!(!stack.has_added());
        stack.add(1);
        stack.add(2);
        assert!(stack.has_added());
        assert_eq!(stack.next(), Some(1));
        assert!(!stack.has_added(), "2 is older");
        stack.add(3);
        assert!(stack.has_added());
        assert_eq!((stack.next(), stack.has_added()), (Some(3), false));
        assert_eq!((stack.next(), stack.next(), stack.has_added()), (Some(2), None, false));
    }

    #[test]
    fn a_card_with_one_question_at_a_time_sees_all_that_followed_the_last_one() {
        /// A card that asks while its backlog lasts; P4 answers each question by two messages; the second drains it.
        enum Step {
            Ask,
            Answer(u32),
        }
        let (mut backlog, mut seen) = (VecDeque::from([4, 3, 2, 1]), Vec::new());
        let mut stack = Stack::default();
        stack.add(Step::Ask);
        while let Some(step) = stack.next() {
            match step {
                Step::Ask => {
                    if let Some(first) = backlog.pop_front() {
                        seen.push((first, backlog.len()));
                        stack.add(Step::Answer(0));
                        stack.add(Step::Answer(1));
                        stack.add(Step::Ask);
                    }
                }
                Step::Answer(number) => backlog.truncate(backlog.len().saturating_sub(number as usize)),
            }
        }
        assert_eq!(seen, [(4, 3), (3, 1)]);
    }
}
