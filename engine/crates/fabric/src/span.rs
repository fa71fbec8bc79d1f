// SPDX-License-Identifier: Apache-2.0
//! Spans: the links that go dark together, both ways between two switches.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::api::ControlMessage;
use crate::drops::DropCause;
use crate::fabric::Fabric;
use crate::node::PortTo;

/// Links between two ports.
pub(crate) struct Span {
    /// Cards before its lanes.
    pub(crate) cards: Vec<PortTo>,
    pub(crate) ends: [(Device, Port); 2],
    /// What the scenario's changes say.
    pub(crate) is_up: bool,
    /// What a fault on purpose says: neither mends what the other broke.
    pub(crate) is_cut: bool,
}

impl Span {
    pub(crate) fn is_light(&self) -> bool {
        self.is_up && !self.is_cut
    }
}

impl Fabric {
    /// Lets a link between routers, by its number in the scenario, carry packets from now on or not, and the link the other way with it.
    /// One that the scenario does not have is left alone.
    pub fn set_link_up(&mut self, link: usize, is_up: bool) {
        let card = self.routed.links.get(link).map(|card| PortTo::Fifo(*card));
        let span = card.and_then(|card| self.spans.iter().position(|span| span.cards.contains(&card)));
        if let Some(span) = span {
            self.set_span_up(span, is_up);
        }
    }

    /// Lets a span of a ring, by its number in the scenario, carry packets from now on or not. One that the scenario does not have is
    /// left alone.
    pub fn set_ring_span_up(&mut self, span: usize, is_up: bool) {
        let is_of_ring = |span: &Span| span.cards.iter().all(|card| matches!(card, PortTo::Ring(_)));
        if self.spans.get(span).is_some_and(is_of_ring) {
            self.set_span_up(span, is_up);
        }
    }

    /// A change lets a span carry packets or not.
    pub(crate) fn set_span_up(&mut self, span: usize, is_up: bool) {
        let was_light = self.spans[span].is_light();
        self.spans[span].is_up = is_up;
        self.span_changed(span, was_light);
    }

    /// A fault cuts a span, or what it cut is mended. False if it was so already.
    pub(crate) fn cut_span(&mut self, span: usize, cut: bool) -> bool {
        let was_light = self.spans[span].is_light();
        let was_cut = std::mem::replace(&mut self.spans[span].is_cut, cut);
        self.span_changed(span, was_light);
        was_cut != cut
    }

    /// What is on a span arrives; what waits for it when it goes dark, or comes until it is light again, is lost. Both switches see
    /// it at once.
    fn span_changed(&mut self, span: usize, was_light: bool) {
        let is_up = self.spans[span].is_light();
        if is_up == was_light {
            return;
        }
        let (cards, ends) = (self.spans[span].cards.clone(), self.spans[span].ends);
        for card in cards {
            match card {
                PortTo::Fifo(card) => {
                    self.fifos[card].is_dark = !is_up;
                    self.lose_what_waits(card, DropCause::LinkDown);
                }
                PortTo::Ring(card) => self.set_ring_dark(card, !is_up),
                _ => {}
            }
        }
        for (device, port) in ends {
            self.tell(device, ControlMessage::Link { port, is_up });
        }
    }
}
