// SPDX-License-Identifier: Apache-2.0
//! Spans go down and up.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::Net;
use crate::around::Around;
use crate::control_event::ControlMessage;
use crate::node::NodePort;
use crate::span::Span;
use crate::work::Step;

impl Net {
    /// Both ways between two ports go dark together.
    pub fn add_to_span(&mut self, before: NodePort, near: (Device, Port), far: (Device, Port)) {
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

    /// The queue before a link, by the port of its switch.
    pub fn link_at(&self, (device, port): (Device, Port)) -> NodePort {
        let node = self.nodes.number(device);
        NodePort { node, port }
    }

    /// The span of the link behind a port.
    pub fn span_of(&self, port: NodePort) -> Option<usize> {
        self.spans.iter().position(|span| span.ports_before.contains(&port))
    }

    /// A change lets a span carry packets or not.
    pub fn set_span_up<A: Around>(&mut self, around: &mut A, span: usize, is_up: bool) {
        let was_light = self.spans[span].is_light();
        self.spans[span].is_up = is_up;
        self.span_changed(around, span, was_light);
    }

    /// A fault cuts a span, or what it cut is mended. False if it was so already.
    pub fn cut_span<A: Around>(&mut self, around: &mut A, span: usize, cut: bool) -> bool {
        let was_light = self.spans[span].is_light();
        let was_cut = std::mem::replace(&mut self.spans[span].is_cut, cut);
        self.span_changed(around, span, was_light);
        was_cut != cut
    }

    /// What is on a span arrives; what waits for it when it goes dark, or comes until it is light again, is lost. Both switches see
    /// it at once.
    fn span_changed<A: Around>(&mut self, around: &mut A, span: usize, was_light: bool) {
        let is_up = self.spans[span].is_light();
        if is_up == was_light {
            return;
        }
        self.set_cards_of_span_dark(around, span, 0);
    }

    /// Lets the cards of a span carry packets or not, from one of them on; then the controller is notified.
    pub(crate) fn set_cards_of_span_dark<A: Around>(&mut self, around: &mut A, span: usize, first: usize) {
        let is_up = self.spans[span].is_light();
        for number in first..self.spans[span].ports_before.len() {
            self.set_dark(around, self.spans[span].ports_before[number], !is_up);
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
