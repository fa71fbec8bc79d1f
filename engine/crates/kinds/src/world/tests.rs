// SPDX-License-Identifier: Apache-2.0

use slotwise_cards::admission::Admission;
use slotwise_cards::card::{Action, Actions, Card, Pass, Program, Then};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Flying, Origin, Packet};
use slotwise_units::{Bytes, Instant};

use super::*;
use crate::hosts::Host;
use slotwise_cards::card::{Expiry, TimerId};
use slotwise_cards::fifo::Fifo;
use slotwise_net::drops::Place;
use slotwise_net::node::{NodeKind, OwnCard};
use slotwise_units::{Duration, Rate};

#[test]
fn a_world_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<World>();
}

const AT_NS: u64 = 5;
const HOST_PORT: Port = 1;

/// A card that sends a packet to a host, and finds a rule broken, when its timer expires.
struct Sender {
    lane: u32,
}

impl Card for Sender {
    fn sends(&mut self, _: Instant, _: Port, _: Packet, _: Origin, _: &mut Actions) {}

    fn told(&mut self, _: Instant, _: &ToCard, _: &mut Actions) -> bool {
        false
    }

    fn goes_on(&mut self, _: Instant, _: Then, _: Pass, _: &mut Actions) {}

    fn due(&mut self, now: Instant, _: TimerId, _: Expiry, _: Program, out: &mut Actions) {
        out.push(Action::Enter {
            lane: self.lane,
            at: now + Duration::from_ns(10),
            flying: Flying::plain(Packet::unborn(vec![0; 60])),
        });
        out.push(Action::Broken {
            port: HOST_PORT,
            broken: Invariant::UNGRANTED,
            packet: None,
        });
    }

    fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

    fn restarts(&mut self, _: Instant, _: &mut Actions) {}
}

impl OwnCard for Sender {}

/// Runs switches that all do the same at one time. Returns the places of broken rules, and the switches at whose hosts
/// packets came, both in order.
fn run(kinds: [fn(u16) -> Device; 2], numbers: impl Iterator<Item = u16> + Clone) -> (Vec<Place>, Vec<Device>) {
    let mut build = Build::new(WorldOptions {
        seed: 1,
        host_mode: HostMode::External,
        captures: None,
        frame_records: false,
    });
    for kind in kinds {
        build.add_nodes(&NodeKind::PLAIN, (0..3).map(kind));
    }
    for device in numbers.flat_map(|number| kinds.map(|kind| kind(number))) {
        let number = build.hosts().len();
        let [up, down] = [0, 1].map(|_| build.add_lane(LaneEnd::Host(number)));
        let link = (Rate::from_bps(1_000_000_000), Duration::ZERO);
        build.add_host(Host {
            id: None,
            device,
            node: build.node(device),
            port: HOST_PORT,
            uplink: Fifo::new(up, link, Admission::bytes(Bytes::new(1000)), 0),
        });
        build.set_timer(device, 0, AT_NS, Expiry::Last);
        build.set_card(device, Sender { lane: down as u32 });
    }
    let mut world = World::of(build, Kinds::default());
    world.set_checks(Invariants::of([Invariant::UNGRANTED]));
    world.run_until(Instant::from_ns(1000));
    let places = world.invariants().first(Invariant::UNGRANTED).iter();
    let places = places.map(|violation| violation.place).collect();
    let arrived = std::iter::from_fn(|| world.poll_host_output()).map(|frame| frame.device);
    (places, arrived.collect())
}

#[test]
fn order_of_events_does_not_depend_on_the_order_of_construction() {
    let (places, arrived) = run([Device::Router, Device::Station], 0..3);
    let devices = [Device::Router, Device::Station].map(|kind: fn(u16) -> Device| (0..3).map(kind));
    let devices: Vec<Device> = devices.into_iter().flatten().collect();
    let port = HOST_PORT;
    let expected: Vec<Place> = devices.iter().map(|&device| Place::Port { device, port }).collect();
    assert_eq!((&places, &arrived), (&expected, &devices));
    let otherwise = run([Device::Station, Device::Router], (0..3).rev());
    assert_eq!(otherwise, (places, arrived));
}
