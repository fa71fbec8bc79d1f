// SPDX-License-Identifier: Apache-2.0
//! Time goes on from event to event, or stands still.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::Net;
use crate::event::{CardTimer, Event, Order};
use crate::lane::{LaneEnd, OwnEnd};
use crate::node::Node;
use crate::standstill::{Standstill, StandstillCause};
use slotwise_cards::links;
use slotwise_units::Instant;

impl Net {
    /// Reason why simulated time does not advance any more, if it does not.
    pub fn standstill(&self) -> Option<&Standstill> {
        self.at_once.found.as_ref()
    }

    /// Sets the number of events at one time above which time stands still.
    pub fn set_most_at_once(&mut self, most: u64) {
        self.at_once.most = most;
    }

    /// Returns the next event if it is not after `until`, and advances the time to it. Returns `None` at a standstill.
    #[inline]
    pub fn next_event(&mut self, until: Instant) -> Option<(Order, Event)> {
        if self.at_once.found.is_some() {
            return None;
        }
        let (at_ns, order, event) = self.queue.pop_until(until.ns())?;
        if at_ns != self.now_ns {
            self.now_ns = at_ns;
            self.at_once.restart();
        }
        self.at_once.count += 1;
        if self.at_once.count > self.at_once.most {
            self.queue.settle();
            self.stand_still(self.describe(event));
            return None;
        }
        Some((order, event))
    }

    /// Counts a packet that enters P4 like an event: a program and a card may answer each other without an end. False at a standstill.
    pub(crate) fn may_pass(&mut self, device: Device, port: Port) -> bool {
        let may_pass = self.at_once.packet(device);
        if !may_pass {
            self.stand_still(format!("packet for P4 of {device}/port{port}"));
        }
        may_pass
    }

    #[cold]
    fn stand_still(&mut self, last: String) {
        let named = |device| Some(self.nodes.get(device)?.pipeline.as_ref()?.program_name());
        let program = |device: Device| named(device).filter(|name| !name.is_empty());
        let cause = match self.at_once.most_packets() {
            Some((device, packets)) => StandstillCause::Program {
                device,
                program: program(device).unwrap_or(device.kind().program).to_owned(),
                packets,
            },
            None => StandstillCause::Engine,
        };
        self.at_once.found = Some(Standstill {
            at: Instant::from_ns(self.now_ns),
            events: self.at_once.most,
            last,
            cause,
        });
    }

    /// Sets the time: no event is left before it.
    pub fn pass_time(&mut self, until: Instant) {
        if self.at_once.found.is_none() {
            self.now_ns = self.now_ns.max(until.ns());
            self.queue.pass_time(self.now_ns);
        }
    }

    fn describe(&self, event: Event) -> String {
        let of_card = |timer: CardTimer| {
            let (node, timer) = timer.parts();
            let device = self.nodes[node].device;
            match links::port_of(timer) {
                Some(port) => format!("link at {device}/port{port}"),
                None => format!("timer {timer} of the card of {device}"),
            }
        };
        match event {
            Event::CoreSlot(timer) | Event::EdgeSlot(timer) | Event::Timer(timer) | Event::Wake(timer) => {
                format!("{event:?}, {}", of_card(timer))
            }
            Event::Arrival { lane } => match self.lanes[lane as usize].end {
                LaneEnd::Port { device, port } => format!("{event:?}, at {device}/port{port}"),
                LaneEnd::Host(host) => {
                    let at = |node: &Node| Some((node.device, node.port_of_host(host)?));
                    match self.nodes.iter().find_map(at) {
                        Some((device, port)) => format!("{event:?}, at the host at {device}/port{port}"),
                        None => format!("{event:?}"),
                    }
                }
                LaneEnd::Own(OwnEnd { number, .. }) => format!("{event:?}, at link end {number} of its network type"),
            },
            event => format!("{event:?}"),
        }
    }
}
