// SPDX-License-Identifier: Apache-2.0
//! Spans: the links that go dark together, both ways between two switches.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::access::FifoCard;
use crate::api::ControlMessage;
use crate::drops::DropCause;
use crate::fabric::Fabric;

/// Links between two ports.
pub(crate) struct Span {
    /// Cards before its lanes.
    pub(crate) cards: Vec<usize>,
    pub(crate) ends: [(Device, Port); 2],
    pub(crate) is_up: bool,
}

impl Fabric {
    /// Lets a span carry packets or not. What is on it arrives; what waits for it when it goes dark, or comes until it is light again,
    /// is lost. Both switches see it at once.
    pub(crate) fn set_span_up(&mut self, span: usize, is_up: bool) {
        let Span {
            cards,
            ends,
            is_up: was_up,
            ..
        } = &mut self.spans[span];
        if std::mem::replace(was_up, is_up) == is_up {
            return;
        }
        let (cards, ends) = (cards.clone(), *ends);
        for card in cards {
            let FifoCard {
                queue, place, is_dark, ..
            } = &mut self.fifos[card];
            *is_dark = !is_up;
            let (lost, place) = (queue.drop_waiting(self.now_ns), *place);
            for packet in self.lanes[queue.lane].drop_last(&mut self.events, lost) {
                self.drop(place, DropCause::LinkDown, packet.frame);
            }
        }
        for (device, port) in ends {
            self.tell(device, ControlMessage::Link { port, is_up });
        }
    }
}
