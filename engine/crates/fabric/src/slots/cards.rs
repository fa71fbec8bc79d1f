// SPDX-License-Identifier: Apache-2.0
//! Line cards before fibres: what P4 tells them, what they take and send.

use slotwise_scenario::Device;
use slotwise_wire::{FlowControl, SIGNALING_QUEUE};

use super::Core;
use crate::dispatch::Origin;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::lane::Flying;
use crate::linecard::{Controlled, Next};
use crate::packet::{Frame, Packet};

impl Fabric {
    /// The link between a master and its core runs beside the master's fibre and takes as long. So the master's
    /// slot 0 reaches the core when the core's slot 0 starts, after the core's own tick.
    pub(crate) fn send_by_control(&mut self, device: Device, frame: Frame) {
        let core = match device {
            Device::Edge(edge) => self.star.cores.iter().position(|core| core.master == edge),
            Device::Core(core) => Some(usize::from(core)),
            Device::Router(_) | Device::Station(_) => None,
        };
        let way = core.and_then(|core| {
            let Core { master, control, .. } = self.star.cores[core];
            let fibre = self.star.edges[usize::from(master)].cards[core]?;
            let [to_core, to_master] = control;
            let is_masters = device == Device::Edge(master);
            Some((if is_masters { to_core } else { to_master }, fibre))
        });
        match way {
            Some((lane, fibre)) => {
                let at_ns = self.now_ns + self.star.fibres[fibre].delay_ns;
                self.lanes[lane].enter(&mut self.events, at_ns, Flying::plain(Packet::unborn(frame)));
            }
            None => self.drop(Place::Device(device), DropCause::NoSuchPort, frame),
        }
    }

    pub(crate) fn apply_to_card(&mut self, card: usize, mut message: FlowControl, bytes: usize) {
        self.in_fabric_time(card, &mut message);
        let controlled = self.star.cards[card].queues.control(self.now_ns, &message);
        let result = match controlled {
            Ok(Controlled::Done) => Ok(()),
            Ok(Controlled::Granted { voq }) => {
                if let Some(record) = self.star.telemetry.voq(card, self.star.cards[card].edge, voq) {
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
                        self.events.schedule(at_ns, Event::CardWake { card: card as u32 });
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }
}
