// SPDX-License-Identifier: Apache-2.0
//! Hosts and the cards of their links: what they send, what reaches them.

use slotwise_p4::Port;
use slotwise_scenario::{Device, HostId};

use crate::api::HostFrame;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::kind::{CardAt, Discipline};
use crate::pump::Step;
use crate::traffic::Traffic;
use slotwise_cards::fifo::Fifo;
use slotwise_cards::message::{self, ToCard};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet, UNBORN};

/// A host, by the port of the switch to which it is linked.
pub(crate) struct Host {
    /// Its name in a star; other hosts are in none.
    pub(crate) id: Option<HostId>,
    pub(crate) device: Device,
    pub(crate) port: Port,
    /// Cards of its link, from it and to it.
    pub(crate) uplink: usize,
    pub(crate) downlink: usize,
}

impl Host {
    fn place(&self) -> Place {
        let place = Place::HostAt {
            device: self.device,
            port: self.port,
        };
        self.id.map_or(place, Place::Host)
    }
}

/// A card with one queue, in its place.
pub(crate) struct FifoCard {
    pub(crate) queue: Fifo,
    pub(crate) place: Place,
    /// The switch's port before which it is; a host's card is before none.
    pub(crate) port: Option<(Device, Port)>,
    /// Nothing comes through behind it.
    pub(crate) is_dark: bool,
}

/// Cards with one queue, in their places.
pub(crate) static FIFO: Discipline = Discipline {
    is_link: true,
    obey: |fabric, card, message| fabric.apply_to_fifo(card, message),
    timer: Fabric::fifo_timer,
    set_dark: |fabric, card, is_dark| {
        fabric.fifos[card].is_dark = is_dark;
        fabric.lose_what_waits(card, DropCause::LinkDown);
    },
    ..Discipline::new("fifo", Fabric::enqueue_fifo)
};

impl Fabric {
    /// Puts a packet into a host's card.
    pub(crate) fn send_uplink(&mut self, at_ns: u64, host: usize, frame: Frame) {
        let Host {
            device, uplink: card, ..
        } = self.hosts[host];
        // Elsewhere a packet is born with its first bit on the link; at an edge when the host gives it to its card.
        let born_ns = if device.kind().is_slotted { at_ns } else { UNBORN };
        let mut packet = Packet { frame, born_ns };
        let FifoCard { queue, place, .. } = &mut self.fifos[card];
        match queue.enqueue(at_ns, packet.frame.len()) {
            Ok(departure) => {
                packet.born_ns = packet.born_ns.min(departure.start_ns);
                self.lanes[queue.lane].enter(&mut self.events, departure.arrive_ns, Flying::plain(packet));
            }
            Err(cause) => {
                let place = *place;
                self.drop(place, cause, packet.frame);
            }
        }
    }

    /// Puts a packet into the card before a port of a switch.
    pub(crate) fn enqueue_fifo(&mut self, card: usize, frame: Frame, origin: Origin) {
        self.leaves_star(origin, frame.len());
        let FifoCard {
            queue, place, is_dark, ..
        } = &mut self.fifos[card];
        if *is_dark {
            queue.lose(frame.len());
            let place = *place;
            return self.drop(place, DropCause::LinkDown, frame);
        }
        match queue.enqueue(self.now_ns, frame.len()) {
            Ok(departure) => {
                let born_ns = origin.born_ns();
                let flying = Flying::plain(Packet { frame, born_ns });
                self.lanes[queue.lane].enter(&mut self.events, departure.arrive_ns, flying);
            }
            Err(cause) => {
                let place = *place;
                self.drop(place, cause, frame);
            }
        }
    }

    /// P4 sets a timer of a card whose one queue has the port's number; false if it says something else.
    fn apply_to_fifo(&mut self, card: usize, message: &ToCard) -> bool {
        let asked = message.flow_control().filter(|control| control.queue == message.port);
        asked.is_some_and(|control| self.fifos[card].queue.control(self.now_ns, &control).is_ok())
    }

    /// Interval timers of a card with one queue, whose number is the port's.
    pub(crate) fn fifo_timer(&mut self, card: usize) {
        let Some((device, port)) = self.fifos[card].port else {
            return;
        };
        if let Some((tick, state)) = self.fifos[card].queue.tick(self.now_ns) {
            let tick = message::interval_tick(port, &tick, port, &state);
            self.notify_p4(device, &tick, Origin::Local);
            // The answer may set the timer again.
            return self.then(Step::FifoTimer { card: card as u32 });
        }
        if let Some(at_ns) = self.fifos[card].queue.next_tick_ns() {
            let at_ns = at_ns.max(self.now_ns + 1);
            self.events.schedule(at_ns, Event::timer(CardAt::new(&FIFO, card)));
        }
    }

    /// Loses what has not begun to leave a card.
    pub(crate) fn lose_what_waits(&mut self, card: usize, cause: DropCause) {
        let FifoCard { queue, place, .. } = &mut self.fifos[card];
        let (lost, place) = (queue.drop_waiting(self.now_ns), *place);
        for packet in self.lanes[queue.lane].drop_last(&mut self.events, lost) {
            self.drop(place, cause, packet.frame);
        }
    }

    /// Changes the link behind a card; what is on it arrives as it would have.
    pub(crate) fn change_fifo(&mut self, card: usize, rate_bps: Option<u64>, delay_ns: Option<u64>) {
        let queue = &mut self.fifos[card].queue;
        let arrivals = queue.change(self.now_ns, rate_bps, delay_ns);
        self.lanes[queue.lane].retime(&mut self.events, &arrivals);
    }

    pub(crate) fn at_host(&mut self, host: usize, packet: Packet) {
        let is_taken = match &mut self.traffic {
            Some(traffic) => traffic.receive(host, self.now_ns, &packet),
            None => false,
        };
        if is_taken {
            self.pool.give_back(packet.frame);
        } else if self.traffic.as_ref().is_none_or(Traffic::is_shared) {
            let Host { device, port, .. } = self.hosts[host];
            return self.host_output.push_back(HostFrame {
                at_ns: self.now_ns,
                device,
                port,
                frame: packet.frame,
            });
        } else {
            self.drop(self.hosts[host].place(), DropCause::NotForHost, packet.frame);
        }
        self.drain_hosts();
    }

    pub(crate) fn source(&mut self, index: usize) {
        let Some(traffic) = &mut self.traffic else { return };
        let mut frame = self.pool.take();
        let turn = traffic.turn(index, self.now_ns, &mut frame);
        if let Some(next_ns) = turn.next_ns {
            self.events.schedule(next_ns, Event::Source(index as u32));
        }
        match turn.from {
            Some(host) => self.send_uplink(self.now_ns, host, frame),
            None => {
                self.pool.give_back(frame);
                self.drain_hosts();
            }
        }
    }

    /// Sends what the hosts' streams have to send, and sets their timers.
    pub(crate) fn drain_hosts(&mut self) {
        let mut timers = std::mem::take(&mut self.host_timers);
        loop {
            let mut frame = self.pool.take();
            let traffic = self.traffic.as_mut();
            match traffic.and_then(|traffic| traffic.transmit(self.now_ns, &mut frame, &mut timers)) {
                Some(host) => self.send_uplink(self.now_ns, host, frame),
                None => {
                    self.pool.give_back(frame);
                    break;
                }
            }
        }
        for (host, at_ns) in timers.drain(..) {
            self.events
                .schedule(at_ns.max(self.now_ns), Event::HostTimer(host as u32));
        }
        self.host_timers = timers;
    }
}
