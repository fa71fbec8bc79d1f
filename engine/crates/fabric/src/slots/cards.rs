// SPDX-License-Identifier: Apache-2.0
//! Line cards before fibres: what P4 tells them, what they take and send.

use slotwise_cards::card::Actions;
use slotwise_cards::gates::Gates;
use slotwise_p4::Port;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::{Instant, Rate};
use slotwise_wire::{FlowControl, PORT_LINECARD, PORT_OPTICAL_BASE};

use super::Card;

use crate::event::Event;
use crate::fabric::Fabric;
use crate::kind::{CardAt, Discipline, of_node};
use crate::node::NodeCard;
use slotwise_cards::linecard::Controlled;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet};
use slotwise_cards::slotted;

/// Line cards of edges, by node and port.
pub(crate) static LINE_CARD: Discipline = Discipline {
    obey: |fabric, number, message| {
        let card = fabric.fibre_of(number);
        match message.flow_control() {
            Some(control) => {
                fabric.apply_to_card(card, control, message.bytes());
                true
            }
            None => fabric.take_train_answer(card, message),
        }
    },
    timer: |fabric, number| fabric.card_timer(fabric.fibre_of(number)),
    wake: |fabric, number| {
        fabric.call_gates(fabric.fibre_of(number), |gates, rate, now, out| {
            gates.wakes(now, rate, out);
        });
    },
    ..Discipline::new("line card", |fabric, number, frame, origin| {
        fabric.enqueue(fabric.fibre_of(number), frame, origin);
    })
};

/// Core behind an optical port of an edge.
pub(crate) fn core_of(port: Port) -> Option<u16> {
    (PORT_OPTICAL_BASE..PORT_LINECARD)
        .contains(&port)
        .then(|| port - PORT_OPTICAL_BASE)
}

/// Links from masters to their cores, by core.
pub(super) static CONTROL: Discipline = Discipline::new("control link", |fabric, core, frame, _| {
    fabric.send_by_control(core, frame);
});

impl Fabric {
    /// The link between a master and its core runs beside the master's fibre and takes as long. So the master's
    /// slot 0 reaches the core when the core's slot 0 starts, after the core's own tick.
    fn send_by_control(&mut self, core: usize, frame: Frame) {
        let (master, lane) = (self.star.cores[core].master, self.star.cores[core].control);
        let fibre = self.fibre_between(master, core as u16);
        let at_ns = self.now_ns + self.star.fibres[fibre].delay_ns;
        self.lanes[lane].enter(&mut self.events, at_ns, Flying::plain(Packet::unborn(frame)));
    }

    pub(crate) fn apply_to_card(&mut self, card: usize, mut message: FlowControl, bytes: usize) {
        self.in_fabric_time(card, &mut message);
        let controlled = self.star.cards[card].gates.queues.control(self.now_ns, &message);
        let result = match controlled {
            Ok(Controlled::Done) => Ok(()),
            Ok(Controlled::Granted { voq }) => {
                let edge = self.star.cards[card].edge;
                if let Some(record) = self.star.telemetry.voq(card, edge, voq) {
                    record.granted_slots += 1;
                }
                Ok(())
            }
            Ok(Controlled::Phase) => self.set_phase(card, &message),
            Ok(Controlled::Stop) => {
                self.stop(card);
                Ok(())
            }
            Ok(Controlled::Answer { at_ns }) => {
                self.star.cards[card].must_answer = false;
                self.star.cards[card].answer_ns = Some(at_ns);
                self.events.schedule(at_ns, Event::CardAnswer { card: card as u32 });
                Ok(())
            }
            Err(cause) => Err(cause),
        };
        if let Err(cause) = result {
            let place = self.star.cards[card].place();
            self.drops.add(place, cause, bytes);
        }
        self.drain_card(card);
    }

    /// The fibre of a line card, by the number of the card.
    fn fibre_of(&self, number: usize) -> usize {
        let (node, port) = of_node(number);
        self.fibre_before(node, port)
    }

    /// The fibre behind an optical port of an edge.
    pub(crate) fn fibre_before(&self, node: usize, port: Port) -> usize {
        let edge = &self.star.edges[usize::from(self.nodes[node].device.number())];
        let core = core_of(port).map(usize::from);
        core.and_then(|core| edge.cards[core])
            .expect("a line card is before a fibre")
    }

    /// The fibre between a master and its core.
    pub(super) fn fibre_between(&self, master: u16, core: u16) -> usize {
        let fibre = self.star.edges[usize::from(master)].cards[usize::from(core)];
        fibre.expect("a master has a fibre to its core")
    }

    /// The card of a core.
    pub(super) fn core_card(&self, core: u16) -> &slotted::Core {
        match &self.nodes[self.node(Device::Core(core))].own_card {
            NodeCard::SlottedCore(card) => card,
            _ => unreachable!("cores are added with their cards"),
        }
    }

    /// The same, to be changed.
    pub(super) fn core_card_mut(&mut self, core: u16) -> &mut slotted::Core {
        let node = self.node(Device::Core(core));
        match &mut self.nodes[node].own_card {
            NodeCard::SlottedCore(card) => card,
            _ => unreachable!("cores are added with their cards"),
        }
    }

    /// The line card before a fibre.
    pub(super) fn line_card(&self, card: usize) -> CardAt {
        let Card { edge, core, .. } = self.star.cards[card];
        CardAt::of_node(&LINE_CARD, self.node(Device::Edge(edge)), optical_port(core))
    }

    /// Calls a line card, and performs its actions.
    pub(super) fn call_gates<T>(
        &mut self,
        card: usize,
        call: impl FnOnce(&mut Gates, Rate, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let star = &mut *self.star;
        let rate = Rate::from_bps(star.fibres[card].rate_bps);
        let result = call(&mut star.cards[card].gates, rate, now, &mut self.out);
        let card = self.line_card(card);
        self.perform(card);
        result
    }

    fn enqueue(&mut self, card: usize, frame: Frame, origin: Origin) {
        let born_ns = origin.born_ns();
        let packet = Packet { frame, born_ns };
        if let Some(packet) = self.join_star_train(card, packet) {
            self.call_gates(card, |gates, rate, now, out| {
                gates.sends(now, packet, origin, rate, out);
            });
        }
    }

    /// Lets a line card send what it may, and wakes it when it may be able to send more.
    pub(crate) fn drain_card(&mut self, card: usize) {
        self.call_gates(card, |gates, rate, now, out| gates.drain(now, rate, out));
    }
}
