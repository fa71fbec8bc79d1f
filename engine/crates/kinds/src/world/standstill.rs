// SPDX-License-Identifier: Apache-2.0
//! Tests of standstills.

use std::convert::Infallible;

use super::*;
use crate::lockstep::{Arrival, Controller, Exchange, Lockstep, LockstepError, Served};
use slotwise_cards::card::{Action, Actions, Card, Expiry, Pass, Program, Then, TimerId};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Origin, Packet};
use slotwise_net::control_event::ControlEvent;
use slotwise_net::drops::{DropCause, Place};
use slotwise_net::event::CardTimer;
use slotwise_net::node::{NodeKind, NodePort, OwnCard};
use slotwise_net::standstill::StandstillCause;
use slotwise_wire::PORT_LINECARD;

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

impl OwnCard for Toy {}

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

fn world(due: fn(Instant, TimerId, &mut Actions)) -> World {
    let mut build = Build::new(WorldOptions {
        seed: 1,
        host_mode: HostMode::External,
        captures: None,
        frame_records: false,
    });
    build.add_nodes(&NodeKind::PLAIN, [Device::Router(0)].into_iter());
    build.set_card(Device::Router(0), Toy(due));
    let mut world = World::of(build, Kinds::default());
    world.net.set_most_at_once(1000);
    world
}

#[test]
fn events_without_end_at_one_time_are_told_of_with_their_place() {
    let mut world = world(is_restless);
    world.net.schedule(By::node(0), at(0), wake(0));
    world.run_until(at(5000));
    assert_eq!(
        (world.now(), world.standstill()),
        (at(5000), None),
        "one at each time may go on"
    );
    world.net.schedule(By::node(0), at(7000), wake(1));
    world.run_until(at(9000));
    let found = world.standstill().unwrap().clone();
    assert_eq!((found.at, found.events, world.now()), (at(7000), 1000, at(7000)));
    assert!(found.last.ends_with("timer 1 of the card of router0"), "{found}");
    assert!(
        found
            .to_string()
            .starts_with("simulated time stuck at 7000 ns: more than 1000 events")
    );
    assert_eq!(found.cause, StandstillCause::Engine);
    world.run_until(at(10_000));
    assert!(!world.run_next(Instant::MAX) && !world.run_until_control(Instant::MAX));
    assert_eq!(
        (world.now(), world.standstill()),
        (at(7000), Some(&found)),
        "it is as it was"
    );
}

#[test]
fn packets_for_p4_without_end_at_one_time_are_a_standstill() {
    let asked = |count: TimerId| {
        let mut world = world(is_talkative);
        world.net.schedule(By::node(0), at(5), wake(count));
        world.run_until(at(6));
        let lost = world
            .drops()
            .get(Place::Device(Device::Router(0)), DropCause::NoPipeline);
        (world.standstill().cloned(), lost.packets)
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
    let mut world = world(is_restless);
    let mut lockstep = Lockstep::start(Idle, &mut world, Duration::ZERO).unwrap();
    lockstep.run_until(&mut world, at(10)).unwrap();
    world.net.schedule(By::node(0), at(20), wake(1));
    let ended = lockstep.run_until(&mut world, at(30)).unwrap_err();
    assert!(matches!(ended, LockstepError::Standstill(found) if found.at == at(20)));
}

#[test]
fn so_many_events_at_one_time_are_none() {
    let mut world = world(is_restless);
    for at_ns in [3, 4] {
        (0..1000).for_each(|_| world.net.schedule(By::WORLD, at(at_ns), Event::Change(0)));
    }
    world.add_change(0, Change::Span { span: 0, is_up: true });
    world.net.add_to_span(
        NodePort { node: 0, port: 1 },
        (Device::Router(0), 1),
        (Device::Router(0), 2),
    );
    world.run_until(at(5));
    assert_eq!((world.now(), world.standstill()), (at(5), None));
}
