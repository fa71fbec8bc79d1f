// SPDX-License-Identifier: Apache-2.0
//! Hosts and their access links: what they send, what reaches them.

use slotwise_scenario::HostId;
use slotwise_wire::Ethernet;

use crate::api::HostFrame;
use crate::dispatch::Origin;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::lane::Flying;
use crate::packet::{Frame, Packet};

impl Fabric {
    pub(crate) fn send_uplink(&mut self, at_ns: u64, host: HostId, frame: Frame) {
        let link = &mut self.edges[usize::from(host.edge)].uplinks[usize::from(host.index)];
        let cause = if frame.len() > self.plan.access_frame_bytes {
            link.used.dropped_packets += 1;
            DropCause::TooLong
        } else if let Some(arrival_ns) = link.send(at_ns, frame.len()) {
            let packet = Packet { frame, born_ns: at_ns };
            let lane = link.lane;
            return self.lanes[lane].enter(&mut self.events, arrival_ns, Flying::plain(packet));
        } else {
            DropCause::QueueFull
        };
        self.drop(Place::Uplink(host), cause, frame);
    }

    pub(crate) fn send_downlink(&mut self, host: HostId, frame: Frame, origin: Origin) {
        if let Origin::Fibre {
            card,
            optical: Some(optical),
            ..
        } = origin
        {
            let ip_bytes = frame.len().saturating_sub(Ethernet::SIZE) as u64;
            self.telemetry
                .delivered(card, optical.src_edge, host.edge, optical.queue, ip_bytes);
        }
        let link = &mut self.edges[usize::from(host.edge)].downlinks[usize::from(host.index)];
        match link.send(self.now_ns, frame.len()) {
            Some(at_ns) => {
                let born_ns = origin.born_ns();
                let lane = link.lane;
                self.lanes[lane].enter(&mut self.events, at_ns, Flying::plain(Packet { frame, born_ns }));
            }
            None => self.drop(Place::Downlink(host), DropCause::QueueFull, frame),
        }
    }

    pub(crate) fn at_host(&mut self, host: HostId, packet: Packet) {
        let Some(traffic) = &mut self.traffic else {
            return self.host_output.push_back(HostFrame {
                at_ns: self.now_ns,
                edge: host.edge,
                port: host.access_port(),
                frame: packet.frame,
            });
        };
        if traffic.receive(host, self.now_ns, &packet) {
            self.pool.give_back(packet.frame);
        } else {
            self.drop(Place::Host(host), DropCause::NotForHost, packet.frame);
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
            self.events.schedule(at_ns.max(self.now_ns), Event::HostTimer(host));
        }
        self.host_timers = timers;
    }
}
