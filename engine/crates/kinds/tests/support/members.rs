// SPDX-License-Identifier: Apache-2.0
//! A star whose edges join by invitation, and what a controller does for it.

use slotwise_kinds::{ControlMessage, HostMode, World};
use slotwise_scenario::{Device, Scenario, edge_mac, optical_port};
use slotwise_wire::{
    Check, Ethernet, INVITATION_ANSWER, Invitation, Optical, OpticalKind, PORT_CPU, PacketIn, Stamp,
    Sync as SyncMessage,
};

use super::*;

const HEADER: usize = PacketIn::SIZE + Ethernet::SIZE + Optical::SIZE + Check::SIZE;
/// Frames without a measurement after which an edge gives up: some are lost, and some on their way.
pub fn hold_frames(scenario: &Scenario, edge: u16) -> u64 {
    8 + 4 * scenario.edges[usize::from(edge)].fibres[0].delay.ns() / scenario.frame.length().ns()
}

pub const MARGIN_NS: u64 = 1000;

/// star4 whose slaves have clocks of their own.
pub fn drifting_star4(clocks: &str, phases: &str) -> Scenario {
    let head = &STAR4[..STAR4.find("phases:").unwrap()];
    Scenario::parse(format!("{head}clocks: {clocks}\nphases:\n{phases}\n").as_bytes()).unwrap()
}

/// A message of an edge that reached the controller by the master.
pub struct FromEdge {
    pub at_ns: u64,
    pub device_id: u64,
    pub optical: Optical,
    pub payload: Vec<u8>,
}

impl FromEdge {
    pub fn stamp(&self) -> Stamp {
        Stamp::decode(&self.payload).unwrap()
    }
}

/// The next message for the controller, requests left out.
pub fn next_message(world: &mut World) -> Option<FromEdge> {
    while let Some(event) = world.poll_control() {
        let ControlMessage::Packet(frame) = event.message else {
            continue;
        };
        let optical = Optical::decode(&frame[PacketIn::SIZE + Ethernet::SIZE..]).unwrap();
        if optical.kind != u8::from(OpticalKind::Request) {
            let (at_ns, device_id) = (event.at.ns(), event.device_id);
            return Some(FromEdge {
                at_ns,
                device_id,
                optical,
                payload: frame[HEADER..].to_vec(),
            });
        }
    }
    None
}

/// A configured star in which nobody has been invited yet; `schedule` is in force.
pub fn star_of_strangers(scenario: &Scenario, schedule: &Schedule) -> World {
    let mut world = star(scenario, HostMode::External, schedule);
    invite_only(&mut world, scenario);
    world
}

/// Lets only those into a configured star who have been invited.
pub fn invite_only(world: &mut World, scenario: &Scenario) {
    let master_delay = scenario.edges[0].fibres[0].delay.ns();
    let blocks = scenario.request_blocks(0).len() as u64;
    for edge in &scenario.edges {
        let pipeline = world.pipeline_mut(Device::Edge(edge.id).id()).unwrap();
        let action = if edge.id == 0 {
            call("EdgeIngress.inviting", &[master_delay])
        } else {
            let slot = u64::from(edge.id);
            let sync = entry(
                &[0, slot, 1 + blocks],
                "EdgeIngress.send_sync",
                &[0, u64::from(optical_port(0))],
            );
            insert(pipeline, "EdgeIngress.signaling", sync);
            call("EdgeIngress.by_invitation", &[u64::from(PORT_CPU), MARGIN_NS, 0])
        };
        pipeline
            .table_set_default("EdgeIngress.membership", Some(action))
            .unwrap();
    }
}

/// What the master sends first in an edge's signaling slot.
pub fn master_sends(world: &mut World, edge: u16, action: &str, args: &[u64]) {
    let pipeline = world.pipeline_mut(Device::Edge(0).id()).unwrap();
    let sends = entry(&[0, u64::from(edge), 1], action, args);
    let _ = pipeline.table_delete("EdgeIngress.signaling", &sends);
    insert(pipeline, "EdgeIngress.signaling", sends);
}

/// When an edge is to answer, so that its answer is in the middle of its own slot.
pub fn answer_ns(scenario: &Scenario, edge: u16) -> u64 {
    let frame_ns = scenario.frame.length().ns();
    let round_trip_ns = 2 * scenario.edges[usize::from(edge)].fibres[0].delay.ns();
    let frames = 1 + round_trip_ns / frame_ns;
    frames * frame_ns + scenario.frame.open().ns() / 2 - round_trip_ns
}

pub fn invite(world: &mut World, scenario: &Scenario, edge: u16, nonce: u32) {
    let mac = mac_number(edge_mac(edge));
    let args = [
        u64::from(edge),
        u64::from(nonce),
        mac,
        answer_ns(scenario, edge),
        u64::from(optical_port(0)),
    ];
    master_sends(world, edge, "EdgeIngress.send_invitation", &args);
}

pub fn configuration(scenario: &Scenario, edge: u16, session: u32, phase_ns: i64) -> [u64; 8] {
    let frame = &scenario.frame;
    [
        u64::from(edge),
        u64::from(session),
        frame.slot.ns(),
        frame.guard.ns(),
        u64::from(frame.slots),
        hold_frames(scenario, edge),
        phase_ns as u64,
        u64::from(optical_port(0)),
    ]
}

pub fn accept(world: &mut World, edge: u16, session: u32) {
    let pipeline = world.pipeline_mut(Device::Edge(0).id()).unwrap();
    let key = [u64::from(edge), u64::from(optical_port(0))];
    let member = entry(&key, "EdgeIngress.accept_session", &[u64::from(session)]);
    let _ = pipeline.table_delete("EdgeIngress.member", &member);
    insert(pipeline, "EdgeIngress.member", member);
}

/// Runs until a message of this kind has come from `edge`.
pub fn await_message(world: &mut World, scenario: &Scenario, edge: u16, kind: OpticalKind) -> Option<FromEdge> {
    let end = world.now() + 20 * scenario.frame.length();
    while world.now() < end {
        world.run_until_control(end);
        while let Some(message) = next_message(world) {
            if message.optical.src_edge == edge && message.optical.kind == u8::from(kind) {
                return Some(message);
            }
        }
    }
    None
}

/// Brings an edge in; returns its T_d as its answer measured it.
pub fn join(world: &mut World, scenario: &Scenario, edge: u16, nonce: u32) -> i64 {
    invite(world, scenario, edge, nonce);
    let answer = await_message(world, scenario, edge, OpticalKind::Invitation).expect("an answer");
    let invitation = Invitation::decode(&answer.payload[Stamp::SIZE..]).unwrap();
    assert_eq!((invitation.nonce, invitation.flags), (nonce, INVITATION_ANSWER));
    let stamp = answer.stamp();
    let own_ns = scenario.edges[0].fibres[0].delay.ns() as i64;
    let phase_ns = stamp.received_ns.wrapping_sub(stamp.sent_ns) as i64 - own_ns;
    let args = configuration(scenario, edge, nonce, phase_ns);
    accept(world, edge, nonce);
    master_sends(world, edge, "EdgeIngress.send_configuration", &args);
    let sync = await_message(world, scenario, edge, OpticalKind::Sync).expect("a message to be measured by");
    let first = SyncMessage::decode(&sync.payload[Stamp::SIZE..]).unwrap();
    assert_eq!(first.session, nonce);
    let port = u64::from(optical_port(0));
    master_sends(world, edge, "EdgeIngress.send_sync", &[u64::from(edge), port]);
    phase_ns
}
