// SPDX-License-Identifier: Apache-2.0
//! Hosts and the cards of their links: what they send, what reaches them.

use slotwise_p4::Port;
use slotwise_scenario::{Device, HostId};
use slotwise_units::{Duration, Instant, Rate};

use crate::api::HostFrame;
use crate::drops::{DropCause, Place};
use crate::net::event::Event;
use crate::traffic::Traffic;
use crate::world::Fabric;
use slotwise_cards::fifo::Fifo;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet, UNBORN};

/// A host, by the port of the switch to which it is linked.
pub(crate) struct Host {
    /// Its name in a star; other hosts are in none.
    pub(crate) id: Option<HostId>,
    pub(crate) device: Device,
    pub(crate) port: Port,
    /// Queue of its link to the switch; that of the link to it is before the switch's port.
    pub(crate) uplink: Fifo,
}

impl Host {
    fn place(&self) -> Place {
        let place = Place::HostAt {
            device: self.device,
            port: self.port,
        };
        self.id.map_or(place, Place::Host)
    }

    fn uplink_place(&self) -> Place {
        let place = Place::HostAt {
            device: self.device,
            port: self.port,
        };
        self.id.map_or(place, Place::Uplink)
    }
}

impl Fabric {
    /// Puts a packet into a host's card.
    pub(crate) fn send_uplink(&mut self, at_ns: u64, host: usize, frame: Frame) {
        let host = &mut self.hosts[host];
        // Elsewhere a packet is born with its first bit on the link; at an edge when the host gives it to its card.
        let at = Instant::from_ns(at_ns);
        let born = if host.device.kind().is_slotted { at } else { UNBORN };
        let mut packet = Packet { frame, born };
        match host.uplink.enqueue(at, packet.frame.len()) {
            Ok(departure) => {
                packet.born = packet.born.min(departure.start);
                self.lanes[host.uplink.lane].enter(&mut self.events, departure.arrive.ns(), Flying::plain(packet));
            }
            Err(cause) => {
                let place = host.uplink_place();
                self.drop(place, cause, packet.frame);
            }
        }
    }

    /// Puts a packet into the queue before a link of a switch. It enters the lane at once, as when it leaves is known.
    pub(crate) fn enqueue_at_link(&mut self, (node, port): (usize, Port), frame: Frame, origin: Origin) {
        self.leaves_star(origin, frame.len());
        match self.nodes[node]
            .links
            .take(Instant::from_ns(self.now_ns), port, frame.len())
        {
            Ok((lane, departure)) => {
                let born = origin.born();
                let flying = Flying::plain(Packet { frame, born });
                self.lanes[lane].enter(&mut self.events, departure.arrive.ns(), flying);
            }
            Err(cause) => self.drop(self.place_before(node, port), cause, frame),
        }
    }

    /// Changes the link behind a port. Packets on it arrive at their times.
    pub(crate) fn change_link_at(
        &mut self,
        (device, port): (Device, Port),
        rate_bps: Option<u64>,
        delay_ns: Option<u64>,
    ) {
        let change = (rate_bps.map(Rate::from_bps), delay_ns.map(Duration::from_ns));
        let node = self.node(device);
        self.call_links(node, |links, now, out| links.change(now, port, change, out));
    }

    /// Changes the delay of the link from a host.
    pub(crate) fn change_uplink(&mut self, host: usize, delay_ns: Option<u64>) {
        let uplink = &mut self.hosts[host].uplink;
        let arrivals = uplink.change(Instant::from_ns(self.now_ns), None, delay_ns.map(Duration::from_ns));
        self.lanes[uplink.lane].retime(&mut self.events, &arrivals);
    }

    pub(crate) fn at_host(&mut self, host: usize, packet: Packet) {
        let is_taken = match &mut self.traffic {
            Some(traffic) => traffic.receive(host, self.now_ns, &packet),
            None => false,
        };
        if is_taken {
            self.out.frames.give_back(packet.frame);
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
        let mut frame = self.out.frames.take();
        let turn = traffic.turn(index, self.now_ns, &mut frame);
        if let Some(next_ns) = turn.next_ns {
            self.events.schedule(next_ns, Event::Source(index as u32));
        }
        match turn.from {
            Some(host) => self.send_uplink(self.now_ns, host, frame),
            None => {
                self.out.frames.give_back(frame);
                self.drain_hosts();
            }
        }
    }

    /// Sends what the hosts' streams have to send, and sets their timers.
    pub(crate) fn drain_hosts(&mut self) {
        let mut timers = std::mem::take(&mut self.host_timers);
        loop {
            let mut frame = self.out.frames.take();
            let traffic = self.traffic.as_mut();
            match traffic.and_then(|traffic| traffic.transmit(self.now_ns, &mut frame, &mut timers)) {
                Some(host) => self.send_uplink(self.now_ns, host, frame),
                None => {
                    self.out.frames.give_back(frame);
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
