// SPDX-License-Identifier: Apache-2.0
//! Hosts and the cards of their links: what they send, what reaches them.

use std::collections::VecDeque;

use slotwise_p4::Port;
use slotwise_scenario::{Device, HostId};
use slotwise_units::{Duration, Instant};

use crate::api::HostFrame;
use slotwise_cards::ecn;
use slotwise_cards::fifo::Fifo;
use slotwise_cards::packet::{Flying, Frame, Packet, UNBORN};
use slotwise_net::Net;
use slotwise_net::drops::{DropCause, Place};
use slotwise_net::event::{By, Event};
use slotwise_net::journal::InBurst;
use slotwise_traffic::Traffic;

/// A host, by the port of the switch to which it is linked.
pub(crate) struct Host {
    /// Its name in a star; other hosts are in none.
    pub(crate) id: Option<HostId>,
    pub(crate) device: Device,
    /// Place of the device among the nodes.
    pub(crate) node: usize,
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

/// Hosts of a network: their links to it, and simulated traffic.
#[derive(Default)]
pub(crate) struct Hosts {
    pub(crate) list: Vec<Host>,
    pub(crate) traffic: Option<Traffic>,
    /// Memory of `drain` for timers.
    timers: Vec<(usize, u64)>,
    /// Memory of `drain` for the turns of sources.
    turns: Vec<(usize, u64)>,
    output: VecDeque<HostFrame>,
}

impl Hosts {
    /// Sets the simulated traffic of the hosts, if there is any.
    pub(crate) fn set_traffic(&mut self, net: &mut Net, traffic: Option<Traffic>) {
        self.traffic = traffic;
        if let Some(traffic) = self.traffic.as_mut().filter(|traffic| !traffic.is_shared()) {
            for (index, at_ns) in traffic.starts() {
                self.schedule_source(net, index, at_ns);
            }
        }
    }

    /// Node that schedules the events of a host: that of its switch.
    fn by(&self, host: usize) -> By {
        By::node(self.list[host].node)
    }

    /// Schedules the turn of a source: by its node, or by the world for flows that many hosts may start.
    fn schedule_source(&self, net: &mut Net, source: usize, at_ns: u64) {
        if let Some(traffic) = &self.traffic {
            let by = traffic.host_of(source).map_or(By::WORLD, |host| self.by(host));
            net.schedule(by, Instant::from_ns(at_ns), Event::Source(source as u32));
        }
    }

    /// Starts the flows of a phase beside hosts outside.
    pub(crate) fn begin_phase(&mut self, net: &mut Net, phase: usize) {
        let traffic = self.traffic.as_mut();
        let starts = traffic.map(|traffic| traffic.begin_phase(phase, net.now().ns()));
        for (index, at_ns) in starts.into_iter().flatten() {
            self.schedule_source(net, index, at_ns);
        }
    }

    /// The next frame that has arrived at a host outside, in order of time.
    pub(crate) fn poll_output(&mut self) -> Option<HostFrame> {
        self.output.pop_front()
    }

    /// Puts a packet into a host's card. Returns the time at which its first bit leaves; `None` if the card has dropped it.
    pub(crate) fn send_uplink(&mut self, net: &mut Net, at: Instant, host: usize, frame: Frame) -> Option<Instant> {
        let host = &mut self.list[host];
        // Elsewhere a packet is born with its first bit on the link; at an edge when the host gives it to its card.
        let born = if host.device.kind().is_slotted { at } else { UNBORN };
        let mut packet = Packet { frame, born };
        match host.uplink.enqueue(at, packet.frame.len()) {
            Ok(departure) => {
                if departure.is_marked {
                    ecn::mark(&mut packet.frame);
                }
                packet.born = packet.born.min(departure.start);
                let (by, lane) = (By::node(host.node), host.uplink.lane);
                net.enter_lane(by, lane, departure.arrive, Flying::plain(packet));
                Some(departure.start)
            }
            Err(cause) => {
                net.drop(host.uplink_place(), cause, packet.frame);
                None
            }
        }
    }

    /// Changes the delay of the link from a host.
    pub(crate) fn change_uplink(&mut self, net: &mut Net, host: usize, delay: Option<Duration>) {
        let uplink = &mut self.list[host].uplink;
        let arrivals = uplink.change(net.now(), None, delay);
        net.retime(uplink.lane, &arrivals);
    }

    /// A packet has come to a host.
    pub(crate) fn arrives(&mut self, net: &mut Net, host: usize, packet: Packet) {
        let is_taken = match &mut self.traffic {
            Some(traffic) => traffic.receive(host, net.now().ns(), &packet),
            None => false,
        };
        if is_taken {
            net.give_back(packet.frame);
        } else if self.traffic.as_ref().is_none_or(Traffic::is_shared) {
            let Host { device, port, .. } = self.list[host];
            return self.output.push_back(HostFrame {
                at: net.now(),
                device,
                port,
                frame: packet.frame,
            });
        } else {
            net.drop(self.list[host].place(), DropCause::NotForHost, packet.frame);
        }
        self.drain(net);
    }

    /// It is a source's turn.
    pub(crate) fn source(&mut self, net: &mut Net, index: u32) {
        let Some(traffic) = &mut self.traffic else { return };
        let mut frame = net.take_frame();
        let turn = traffic.turn(index as usize, net.now().ns(), &mut frame);
        if let Some(next_ns) = turn.next_ns {
            let host = turn.from.or_else(|| traffic.host_of(index as usize));
            let by = host.map_or(By::WORLD, |host| By::node(self.list[host].node));
            net.schedule(by, Instant::from_ns(next_ns), Event::Source(index));
        }
        match turn.from {
            Some(host) => {
                self.send_uplink(net, net.now(), host, frame);
            }
            None => {
                net.give_back(frame);
                self.drain(net);
            }
        }
    }

    /// Timers of a host's streams are due.
    pub(crate) fn timeout(&mut self, net: &mut Net, host: usize) {
        if let Some(traffic) = &mut self.traffic {
            traffic.timeout(host, net.now().ns());
        }
        self.drain(net);
    }

    /// Sends what the hosts' streams have to send, and sets their timers.
    fn drain(&mut self, net: &mut Net) {
        let now_ns = net.now().ns();
        let mut timers = std::mem::take(&mut self.timers);
        let mut turns = std::mem::take(&mut self.turns);
        loop {
            let mut frame = net.take_frame();
            let traffic = self.traffic.as_mut();
            match traffic.and_then(|traffic| traffic.transmit(now_ns, &mut frame, &mut timers, &mut turns)) {
                Some(host) => {
                    let leaves = self.send_uplink(net, Instant::from_ns(now_ns), host, frame);
                    if let (Some(at), Some(traffic)) = (leaves, &mut self.traffic) {
                        traffic.leaves(at);
                    }
                }
                None => {
                    net.give_back(frame);
                    break;
                }
            }
        }
        for (host, at_ns) in timers.drain(..) {
            net.schedule(
                self.by(host),
                Instant::from_ns(at_ns.max(now_ns)),
                Event::HostTimer(host as u32),
            );
        }
        self.timers = timers;
        for (source, at_ns) in turns.drain(..) {
            self.schedule_source(net, source, at_ns.max(now_ns));
        }
        self.turns = turns;
    }

    /// Passes the fate of a packet in a burst on to measurements of order.
    pub(crate) fn note_burst(&mut self, net: &mut Net, fate: InBurst) {
        if let Some(traffic) = &mut self.traffic {
            traffic.note_in_train(&fate.packet, fate.burst, fate.is_lost);
        }
        net.give_back(fate.packet);
    }
}
