// SPDX-License-Identifier: Apache-2.0
//! Time goes on from event to event, or stands still.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::net::Net;
use crate::net::event::{CardTimer, Event, Order};
use crate::net::lane::{LaneEnd, OwnEnd};
use crate::net::node::Node;
use crate::net::standstill::{Standstill, StandstillCause};
use slotwise_cards::links;
use slotwise_units::Instant;

impl Net {
    /// Reason why simulated time does not advance any more, if it does not.
    pub(crate) fn standstill(&self) -> Option<&Standstill> {
        self.at_once.found.as_ref()
    }

    /// The next event if it is not after `until_ns`, which is now then; `None` for ever at a standstill.
    pub(crate) fn next_event(&mut self, until_ns: u64) -> Option<(Order, Event)> {
        if self.at_once.found.is_some() {
            return None;
        }
        let (at_ns, order, event) = self.queue.pop_until(until_ns)?;
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

    /// Nothing is left to do until `until_ns`.
    pub(crate) fn pass_time(&mut self, until_ns: u64) {
        if self.at_once.found.is_none() {
            self.now_ns = self.now_ns.max(until_ns);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ControlEvent;
    use crate::api::{HostMode, WorldOptions};
    use crate::build::{Build, Change};
    use crate::drops::{DropCause, Place};
    use crate::kinds::Kinds;
    use crate::lockstep::{Arrival, Controller, Exchange, Lockstep, LockstepError, Served};
    use crate::net::event::By;
    use crate::net::node::{NodeCard, NodeKind, NodePort};
    use crate::world::World;
    use slotwise_cards::card::{Action, Actions, Card, Expiry, Pass, Program, Then, TimerId};
    use slotwise_cards::message::ToCard;
    use slotwise_cards::packet::{Origin, Packet};
    use slotwise_units::Duration;
    use slotwise_wire::PORT_LINECARD;
    use std::convert::Infallible;

    /// A controller that has nothing to do.
    struct Idle;

    impl Controller for Idle {
        type Error = Infallible;
        type Notice = ();

        fn start(&mut self, _: &mut World) -> Result<Exchange, Infallible> {
            Ok(Exchange::default())
        }

        fn serve(&mut self, _: &mut World, _: Instant, _: Vec<ControlEvent>) -> Result<Served<()>, Infallible> {
            Ok(Served::default())
        }

        fn exchange(&mut self, _: &mut World, _: Instant, _: Vec<Arrival<()>>) -> Result<Exchange, Infallible> {
            Ok(Exchange::default())
        }
    }

    /// A card that does something only when a timer of a number expires.
    struct Toy(fn(Instant, TimerId, &mut Actions));

    impl Card for Toy {
        fn sends(&mut self, _: Instant, _: Port, _: Packet, _: Origin, _: &mut Actions) {}

        fn told(&mut self, _: Instant, _: &ToCard, _: &mut Actions) -> bool {
            false
        }

        fn goes_on(&mut self, _: Instant, _: Then, _: Pass, _: &mut Actions) {}

        fn due(&mut self, now: Instant, timer: TimerId, _: Expiry, _: Program, out: &mut Actions) {
            self.0(now, timer, out);
        }

        fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

        fn restarts(&mut self, _: Instant, _: &mut Actions) {}
    }

    /// Sets a timer again, number 1 to the same time.
    fn is_restless(now: Instant, timer: TimerId, out: &mut Actions) {
        let at = now + Duration::from_ns(u64::from(timer == 0));
        let expiry = Expiry::Last;
        out.push(Action::Timer { timer, at, expiry });
    }

    /// Asks so often at once.
    fn is_talkative(_: Instant, count: TimerId, out: &mut Actions) {
        (0..count).for_each(|_| out.ask(&[], None, Then::Nothing));
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn wake(timer: TimerId) -> Event {
        Event::Wake(CardTimer::new(0, timer))
    }

    fn fabric(due: fn(Instant, TimerId, &mut Actions)) -> World {
        let mut build = Build::new(WorldOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        });
        build.add_nodes(&NodeKind::PLAIN, [Device::Router(0)].into_iter());
        let mut fabric = World::of(build, Kinds::default());
        fabric.net.nodes[0].own_card = NodeCard::Toy(Box::new(Toy(due)));
        fabric.net.at_once.most = 1000;
        fabric
    }

    #[test]
    fn events_without_end_at_one_time_are_told_of_with_their_place() {
        let mut fabric = fabric(is_restless);
        fabric.net.queue.schedule(By::node(0), 0, wake(0));
        fabric.run_until(at(5000));
        assert_eq!(
            (fabric.now(), fabric.standstill()),
            (at(5000), None),
            "one at each time may go on"
        );
        fabric.net.queue.schedule(By::node(0), 7000, wake(1));
        fabric.run_until(at(9000));
        let found = fabric.standstill().unwrap().clone();
        assert_eq!((found.at, found.events, fabric.now()), (at(7000), 1000, at(7000)));
        assert!(found.last.ends_with("timer 1 of the card of router0"), "{found}");
        assert!(
            found
                .to_string()
                .starts_with("simulated time stuck at 7000 ns: more than 1000 events")
        );
        assert_eq!(found.cause, StandstillCause::Engine);
        fabric.run_until(at(10_000));
        assert!(!fabric.run_next(Instant::MAX) && !fabric.run_until_control(Instant::MAX));
        assert_eq!(
            (fabric.now(), fabric.standstill()),
            (at(7000), Some(&found)),
            "it is as it was"
        );
    }

    #[test]
    fn packets_for_p4_without_end_at_one_time_are_a_standstill() {
        let asked = |count: TimerId| {
            let mut fabric = fabric(is_talkative);
            fabric.net.queue.schedule(By::node(0), 5, wake(count));
            fabric.run_until(at(6));
            let lost = fabric
                .drops()
                .get(Place::Device(Device::Router(0)), DropCause::NoPipeline);
            (fabric.standstill().cloned(), lost.packets)
        };
        // The event is one.
        assert_eq!(asked(999), (None, 999));
        let (found, lost) = asked(1000);
        assert_eq!(lost, 999, "the rest of the work is given up");
        let found = found.expect("a standstill");
        let packet = format!("packet for P4 of router0/port{PORT_LINECARD}");
        assert_eq!((found.at, found.last.clone()), (at(5), packet));
        let text = found.to_string();
        assert!(
            text.contains("1000 of the last 1000 events are packets that enter P4 of router0"),
            "{text}"
        );
    }

    #[test]
    fn a_run_in_lock_step_ends_with_it() {
        let mut fabric = fabric(is_restless);
        let mut lockstep = Lockstep::start(Idle, &mut fabric, Duration::ZERO).unwrap();
        lockstep.run_until(&mut fabric, at(10)).unwrap();
        fabric.net.queue.schedule(By::node(0), 20, wake(1));
        let ended = lockstep.run_until(&mut fabric, at(30)).unwrap_err();
        assert!(matches!(ended, LockstepError::Standstill(found) if found.at == at(20)));
    }

    #[test]
    fn so_many_events_at_one_time_are_none() {
        let mut fabric = fabric(is_restless);
        for at_ns in [3, 4] {
            (0..1000).for_each(|_| fabric.net.queue.schedule(By::WORLD, at_ns, Event::Change(0)));
        }
        fabric.add_change(0, Change::Span { span: 0, is_up: true });
        fabric.net.add_to_span(
            NodePort { node: 0, port: 1 },
            (Device::Router(0), 1),
            (Device::Router(0), 2),
        );
        fabric.run_until(at(5));
        assert_eq!((fabric.now(), fabric.standstill()), (at(5), None));
    }
}
