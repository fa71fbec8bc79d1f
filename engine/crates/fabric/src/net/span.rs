// SPDX-License-Identifier: Apache-2.0
//! Spans: the links that go dark together, both ways between two switches.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::api::ControlMessage;
use crate::net::node::NodePort;
use crate::net::pump::Step;
use crate::world::Fabric;

/// Links between two ports, or of all wavelengths of a fibre.
pub(crate) struct Span {
    /// Ports before its lanes.
    pub(crate) ports_before: Vec<NodePort>,
    pub(crate) ends: [(Device, Port); 2],
    /// Of each end; they follow each other.
    pub(crate) ports: u16,
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
    /// Both ways between two ports go dark together.
    pub(crate) fn add_to_span(&mut self, before: NodePort, near: (Device, Port), far: (Device, Port)) {
        let same = |span: &&mut Span| span.ends == [far, near];
        match self.spans.iter_mut().find(same) {
            Some(span) => span.ports_before.push(before),
            None => self.spans.push(Span {
                ports_before: vec![before],
                ends: [near, far],
                ports: 1,
                is_up: true,
                is_cut: false,
            }),
        }
    }

    /// The span of the link behind a port.
    pub(crate) fn span_of(&self, port: NodePort) -> Option<usize> {
        self.spans.iter().position(|span| span.ports_before.contains(&port))
    }

    /// Lets a span of a network with a section of its own, by its number in the scenario, carry packets from now on or not. One that the
    /// scenario does not have is left alone.
    pub fn set_own_span_up(&mut self, span: usize, is_up: bool) {
        // Such a network stands alone: all spans are its own, in its order.
        if self.routed.get().is_none() && span < self.spans.len() {
            self.set_span_up(span, is_up);
            self.pump();
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
        self.set_cards_of_span_dark(span, 0);
    }

    /// Lets the cards of a span carry packets or not, from one of them on; then the controller is notified.
    pub(crate) fn set_cards_of_span_dark(&mut self, span: usize, first: usize) {
        let is_up = self.spans[span].is_light();
        for number in first..self.spans[span].ports_before.len() {
            self.set_dark(self.spans[span].ports_before[number], !is_up);
            if self.has_asked() {
                let first = number + 1;
                return self.then(Step::SetDark { span, first });
            }
        }
        let (ends, ports) = (self.spans[span].ends, self.spans[span].ports);
        for (device, first) in ends {
            for port in first..first + ports {
                self.tell(device, ControlMessage::Link { port, is_up });
            }
        }
    }
}
