// SPDX-License-Identifier: Apache-2.0
//! Line cards before fibres: what P4 tells them, what they take and send.

use slotwise_wire::{FlowControl, MAX_FIBRES, SIGNALING_QUEUE};

use crate::event::Event;
use crate::fabric::Fabric;
use crate::kind::{CardAt, Discipline};
use slotwise_cards::linecard::{Controlled, Next};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet};

/// Line cards of edges, by fibre.
pub(super) static LINE_CARD: Discipline = Discipline {
    obey: |fabric, card, message| match message.flow_control() {
        Some(control) => {
            fabric.apply_to_card(card, control, message.bytes());
            true
        }
        None => fabric.take_train_answer(card, message),
    },
    timer: Fabric::card_timer,
    wake: Fabric::card_wakes,
    ..Discipline::new("line card", Fabric::enqueue)
};

/// Outputs of cores, which have no cards: by core and port.
pub(super) static OUTPUT: Discipline = Discipline::new("core output", |fabric, output, frame, origin| {
    let (core, port) = (output / OUTPUTS, output % OUTPUTS);
    fabric.send_light((core as u16, port), frame, origin);
});
/// Numbers of a core's outputs.
const OUTPUTS: usize = MAX_FIBRES as usize;

/// The card before a port of a core.
pub(super) fn output(core: u16, port: usize) -> CardAt {
    CardAt::new(&OUTPUT, usize::from(core) * OUTPUTS + port)
}

/// Ends of links between masters and their cores: by core, to it and from it.
pub(super) static CONTROL: Discipline = Discipline::new("control link", |fabric, link, frame, _| {
    fabric.send_by_control(link, frame);
});
/// Ends of such a link.
pub(super) const CONTROL_ENDS: usize = 2;

impl Fabric {
    /// The link between a master and its core runs beside the master's fibre and takes as long. So the master's
    /// slot 0 reaches the core when the core's slot 0 starts, after the core's own tick.
    fn send_by_control(&mut self, link: usize, frame: Frame) {
        let star = &*self.star;
        let core = &star.cores[link / CONTROL_ENDS];
        let lane = core.control[link % CONTROL_ENDS];
        let fibre = star.edges[usize::from(core.master)].cards[link / CONTROL_ENDS];
        let fibre = fibre.expect("a master has a fibre to its core");
        let at_ns = self.now_ns + star.fibres[fibre].delay_ns;
        self.lanes[lane].enter(&mut self.events, at_ns, Flying::plain(Packet::unborn(frame)));
    }

    pub(crate) fn apply_to_card(&mut self, card: usize, mut message: FlowControl, bytes: usize) {
        self.in_fabric_time(card, &mut message);
        let controlled = self.star.cards[card].queues.control(self.now_ns, &message);
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

    pub(crate) fn enqueue(&mut self, card: usize, frame: Frame, origin: Origin) {
        let born_ns = origin.born_ns();
        let packet = Packet { frame, born_ns };
        let Some(packet) = self.join_star_train(card, packet) else {
            return;
        };
        let queues = &mut self.star.cards[card].queues;
        let queued = match origin {
            Origin::Tick { until_ns } => queues.enqueue_until(self.now_ns, packet, until_ns),
            _ => queues.enqueue(self.now_ns, packet),
        };
        match queued {
            Ok(()) => self.drain_card(card),
            Err((cause, packet)) => self.drop(self.star.cards[card].place(), cause, packet.frame),
        }
    }

    fn card_wakes(&mut self, card: usize) {
        if self.star.cards[card].wake_ns == Some(self.now_ns) {
            self.star.cards[card].wake_ns = None;
            self.drain_card(card);
        }
    }

    /// Lets a line card send what it may, and wakes it when it may be able to send more.
    pub(crate) fn drain_card(&mut self, card: usize) {
        loop {
            let rate_bps = self.star.fibres[card].rate_bps;
            match self.star.cards[card].queues.poll(self.now_ns, rate_bps) {
                Next::Send {
                    packet,
                    queue,
                    duration_ns,
                    new_demand,
                } => {
                    if let Some(demand) = new_demand.filter(|_| queue != SIGNALING_QUEUE) {
                        self.light_for(card, demand);
                    }
                    self.send_into_fibre(card, queue, packet, duration_ns);
                }
                Next::At(at_ns) => {
                    if self.star.cards[card].wake_ns.is_none_or(|wake_ns| at_ns < wake_ns) {
                        self.star.cards[card].wake_ns = Some(at_ns);
                        self.events.schedule(at_ns, Event::wake(CardAt::new(&LINE_CARD, card)));
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }
}
