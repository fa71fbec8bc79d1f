// SPDX-License-Identifier: Apache-2.0
//! A star of edges with the repository's own P4 programs, and a controller that writes its tables directly.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod dumbbell;
pub mod members;
pub mod ops;
pub mod ring;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crc::{CRC_32_ISO_HDLC, Crc};
use slotwise_kinds::{self as kinds, HostMode, World, WorldOptions};
use slotwise_p4::{ActionCall, Bits, KeyField, Pipeline, Program, TableEntry};
use slotwise_scenario::{Device, HostId, Scenario, edge_mac, optical_port};
use slotwise_wire::{
    Check, Commit, ETHERTYPE_IPV4, ETHERTYPE_OPTICAL, Ethernet, Ipv4, OPTICAL_VERSION, Optical, OpticalKind,
    PORT_CORE_CONTROL, PORT_CPU, PORT_SELF, PacketOut, SIGNALING_QUEUE,
};

pub const STAR4: &str = include_str!("../../../../../topologies/star4.yaml");

/// For each slot of a frame, and each edge, the edge that it sends to.
pub type Schedule = Vec<Vec<Option<u16>>>;

/// star4 with other phases (and whatever else is given after them).
pub fn star4(phases: &str) -> Scenario {
    let head = &STAR4[..STAR4.find("phases:").unwrap()];
    Scenario::parse(format!("{head}phases:\n{phases}\n").as_bytes()).unwrap()
}

pub fn silent_star4() -> Scenario {
    star4("  - {name: silence, duration_ms: 1000, flows: []}")
}

/// A schedule that grants nothing.
pub fn dark(scenario: &Scenario) -> Schedule {
    vec![vec![None; scenario.edges.len()]; scenario.frame.slots as usize]
}

/// In data slot k edge e sends to edge e + 1 + k % (edges - 1).
pub fn rotation(scenario: &Scenario) -> Schedule {
    let mut schedule = dark(scenario);
    let edges = scenario.edges.len();
    for (k, slot) in schedule.iter_mut().skip(edges).enumerate() {
        for (edge, to) in slot.iter_mut().enumerate() {
            *to = Some(((edge + 1 + k % (edges - 1)) % edges) as u16);
        }
    }
    schedule
}

fn program(name: &str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../p4src/p4c-out")
        .join(name);
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Arc::new(Program::from_json(&json).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

pub fn edge_program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| program("edge.json")).clone()
}

pub fn core_program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| program("core.json")).clone()
}

pub fn options(host_mode: HostMode) -> WorldOptions {
    WorldOptions {
        seed: 1,
        host_mode,
        captures: None,
        frame_records: true,
    }
}

/// A configured star with this schedule in force from the start.
pub fn star(scenario: &Scenario, host_mode: HostMode, schedule: &Schedule) -> World {
    let seed = scenario.seed;
    let mut world = World::new(
        scenario,
        WorldOptions {
            seed,
            ..options(host_mode)
        },
    );
    configure(&mut world, scenario);
    write_schedule(&mut world, 0, schedule);
    world
}

pub fn bits(value: u64) -> Bits {
    value.to_be_bytes().to_vec()
}

pub fn entry(key: &[u64], action: &str, args: &[u64]) -> TableEntry {
    TableEntry {
        key: key.iter().map(|value| KeyField::Exact(bits(*value))).collect(),
        priority: 0,
        action: call(action, args),
    }
}

pub fn call(action: &str, args: &[u64]) -> ActionCall {
    ActionCall {
        name: action.to_owned(),
        args: args.iter().copied().map(bits).collect(),
    }
}

pub fn insert(pipeline: &mut Pipeline, table: &str, entry: TableEntry) {
    pipeline
        .table_insert(table, entry)
        .unwrap_or_else(|error| panic!("{table}: {error}"));
}

/// Pipelines and everything but the data slots.
pub fn configure(world: &mut World, scenario: &Scenario) {
    for edge in &scenario.edges {
        let id = Device::Edge(edge.id).id();
        world.set_pipeline(id, edge_program()).unwrap();
        configure_edge(world.pipeline_mut(id).unwrap(), scenario, edge.id);
    }
    for core in &scenario.cores {
        let id = Device::Core(core.id).id();
        world.set_pipeline(id, core_program()).unwrap();
        configure_core(world.pipeline_mut(id).unwrap(), scenario, core.id);
    }
}

pub fn mac_number(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What an edge knows of itself in the first star.
pub fn edge_params(scenario: &Scenario, edge: u16, guard_ns: u64) -> ActionCall {
    star_params(scenario, 0, edge, guard_ns)
}

fn star_params(scenario: &Scenario, core: u16, edge: u16, guard_ns: u64) -> ActionCall {
    let master = scenario.cores[usize::from(core)].master;
    let args = [
        u64::from(edge),
        u64::from(edge == master),
        u64::from(master),
        mac_number(edge_mac(edge)),
        guard_ns,
        scenario.frame.slot.ns(),
        u64::from(scenario.controller.beacon_hold_frames),
    ];
    call("EdgeIngress.set_edge_params", &args)
}

pub fn configure_edge(pipeline: &mut Pipeline, scenario: &Scenario, edge: u16) {
    let params = edge_params(scenario, edge, scenario.frame.guard.ns());
    pipeline
        .table_set_default("EdgeIngress.edge_params", Some(params))
        .unwrap();
    let mut route = |ip: u32, prefix_len, action| {
        let key = vec![KeyField::Lpm {
            value: ip.to_be_bytes().to_vec(),
            prefix_len,
        }];
        insert(
            pipeline,
            "EdgeIngress.ipv4_route",
            TableEntry {
                key,
                priority: 0,
                action,
            },
        );
    };
    for other in &scenario.edges {
        for index in 0..other.hosts {
            let host = HostId { edge: other.id, index };
            let ip = host.ip().to_bits();
            if other.id == edge {
                let args = [u64::from(host.access_port()), mac_number(host.mac())];
                route(ip, 32, call("EdgeIngress.to_host", &args));
            } else if index == 0 {
                route(ip & !0xff, 24, call("EdgeIngress.to_edge", &[u64::from(other.id)]));
            }
        }
    }
    for other in &scenario.edges {
        if let Some(core) = scenario.common_cores(edge, other.id).first() {
            insert(
                pipeline,
                "EdgeIngress.voq",
                enqueue(scenario, &[u64::from(other.id), 0], *core, other.id),
            );
        }
    }
    for fibre in &scenario.edges[usize::from(edge)].fibres {
        configure_star(pipeline, scenario, fibre.core, edge);
    }
}

/// An entry that sends to an edge over a core.
pub fn enqueue(scenario: &Scenario, key: &[u64], core: u16, to: u16) -> TableEntry {
    let args = [u64::from(scenario.voq(core, to)), u64::from(optical_port(core))];
    entry(key, "EdgeIngress.enqueue", &args)
}

/// The edges of a star.
pub fn members(scenario: &Scenario, core: u16) -> impl Iterator<Item = u16> {
    let edges = scenario.edges.iter();
    edges
        .filter(move |edge| edge.fibre_to(core).is_some())
        .map(|edge| edge.id)
}

/// Signaling of an edge in the star of a core.
fn configure_star(pipeline: &mut Pipeline, scenario: &Scenario, core: u16, edge: u16) {
    let params = star_params(scenario, core, edge, scenario.frame.guard.ns());
    if core > 0 {
        let params = TableEntry {
            action: params,
            ..entry(&[u64::from(core)], "", &[])
        };
        insert(pipeline, "EdgeIngress.edge_params", params);
    }
    let master = scenario.cores[usize::from(core)].master;
    let (star, port) = (u64::from(core), u64::from(optical_port(core)));
    let signaling_queue = u64::from(SIGNALING_QUEUE);
    for other in members(scenario, core) {
        let has_message = if edge == master { other != master } else { other == edge };
        for bank in (0..2).filter(|_| has_message) {
            let key = [star, bank, u64::from(other)];
            insert(
                pipeline,
                "EdgeIngress.slot_schedule",
                entry(&key, "EdgeIngress.grant", &[signaling_queue]),
            );
        }
    }
    let request_port = if edge == master { u64::from(PORT_CPU) } else { port };
    let blocks = scenario.request_blocks(core);
    for (repeat, block) in (1..).zip(blocks.clone()) {
        let key = [star, u64::from(edge), repeat];
        let action = entry(&key, "EdgeIngress.send_request", &[u64::from(block), request_port]);
        insert(pipeline, "EdgeIngress.signaling", action);
    }
    for other in members(scenario, core).filter(|_| edge == master) {
        let port = if other == master {
            u64::from(PORT_CORE_CONTROL)
        } else {
            port
        };
        let key = [star, u64::from(other), blocks.len() as u64 + 1];
        let action = entry(&key, "EdgeIngress.send_commit", &[u64::from(other), port]);
        insert(pipeline, "EdgeIngress.signaling", action);
    }
}

/// The core's port that leads to an edge.
pub fn core_port(scenario: &Scenario, core: u16, edge: u16) -> u64 {
    let fibre = scenario.edges[usize::from(edge)].fibre_to(core);
    u64::from(optical_port(fibre.expect("a member of the star").port))
}

/// The P4 crate's plain IP router, with a route to every host.
pub fn configure_router(world: &mut World, router: u16) {
    let program = Program::from_json(include_bytes!("../../../p4/tests/programs/router.json"));
    let ports = world
        .of_kind::<kinds::Routed>()
        .unwrap()
        .ports(Device::Router(router))
        .to_vec();
    let id = Device::Router(router).id();
    world.set_pipeline(id, Arc::new(program.unwrap())).unwrap();
    let pipeline = world.pipeline_mut(id).unwrap();
    for port in &ports {
        let args = vec![
            port.port.to_be_bytes().to_vec(),
            mac_number(port.next_mac).to_be_bytes().to_vec(),
        ];
        for host in &port.hosts {
            let key = vec![KeyField::Lpm {
                value: host.octets().to_vec(),
                prefix_len: 32,
            }];
            let action = ActionCall {
                name: "TestIngress.forward".into(),
                args: args.clone(),
            };
            let route = TableEntry {
                key,
                priority: 0,
                action,
            };
            insert(pipeline, "TestIngress.routes", route);
        }
    }
}

fn configure_core(pipeline: &mut Pipeline, scenario: &Scenario, core: u16) {
    let rates = scenario.edges.iter().filter_map(|edge| edge.fibre_to(core));
    let rate_bps = rates.map(|fibre| fibre.rate.bps()).next().expect("a member");
    let byte_q16 = (8_000_000_000u64 << 16) / rate_bps;
    let args = [scenario.frame.guard.ns(), scenario.frame.slot.ns(), byte_q16];
    pipeline
        .table_set_default(
            "CoreIngress.core_params",
            Some(call("CoreIngress.set_core_params", &args)),
        )
        .unwrap();
    let master = scenario.cores[usize::from(core)].master;
    let master_port = core_port(scenario, core, master);
    for slave in members(scenario, core).filter(|edge| *edge != master) {
        let (slot, port) = (u64::from(slave), core_port(scenario, core, slave));
        for bank in 0..2 {
            connect(pipeline, bank, slot, port, master_port);
            connect(pipeline, bank, slot, master_port, port);
        }
    }
}

pub fn connect(pipeline: &mut Pipeline, bank: u64, slot: u64, input: u64, output: u64) {
    insert(
        pipeline,
        "CoreIngress.crossbar",
        entry(&[bank, slot, input], "CoreIngress.connect", &[output]),
    );
}

/// Writes the data slots of a bank of the first star whose data slots are empty.
pub fn write_schedule(world: &mut World, bank: u64, schedule: &Schedule) {
    for (slot, connections) in (0u64..).zip(schedule) {
        for (edge, to) in (0u16..).zip(connections) {
            let Some(to) = *to else { continue };
            let pipeline = world.pipeline_mut(Device::Edge(edge).id()).unwrap();
            let grant = entry(&[0, bank, slot], "EdgeIngress.grant", &[u64::from(to)]);
            insert(pipeline, "EdgeIngress.slot_schedule", grant);
            let core = world.pipeline_mut(Device::Core(0).id()).unwrap();
            connect(
                core,
                bank,
                slot,
                u64::from(optical_port(edge)),
                u64::from(optical_port(to)),
            );
        }
    }
}

/// Grants data slots of a star: for each slot the pairs of edges that it joins.
pub fn grant(world: &mut World, scenario: &Scenario, core: u16, bank: u64, slot: u64, pairs: &[(u16, u16)]) {
    for (from, to) in pairs {
        let queue = u64::from(scenario.voq(core, *to));
        let grant = entry(&[u64::from(core), bank, slot], "EdgeIngress.grant", &[queue]);
        let pipeline = world.pipeline_mut(Device::Edge(*from).id()).unwrap();
        insert(pipeline, "EdgeIngress.slot_schedule", grant);
        let (input, output) = (core_port(scenario, core, *from), core_port(scenario, core, *to));
        connect(
            world.pipeline_mut(Device::Core(core).id()).unwrap(),
            bank,
            slot,
            input,
            output,
        );
    }
}

/// A packet-out that sends `frame` by `port`.
pub fn packet_out(port: u16, frame: &[u8]) -> Vec<u8> {
    let mut message = PacketOut { egress_port: port }.encode().to_vec();
    message.extend_from_slice(frame);
    message
}

/// A packet-out of an optical message for the switch itself, with its check.
pub fn to_self(frame: &[u8]) -> Vec<u8> {
    let (head, payload) = frame.split_at(Ethernet::SIZE + Optical::SIZE);
    let crc = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    let mut digest = crc.digest();
    digest.update(&head[Ethernet::SIZE..]);
    digest.update(payload);
    let check = Check { crc: digest.finalize() };
    packet_out(PORT_SELF, &[head, &check.encode(), payload].concat())
}

/// A packet-out that stages a version at the master.
pub fn commit(version: u32, first_frame: u32) -> Vec<u8> {
    let commit = Commit {
        next_version: version,
        first_frame,
        ..Commit::default()
    };
    to_self(&optical_frame(
        OpticalKind::Commit,
        0,
        0,
        SIGNALING_QUEUE,
        1,
        &commit.encode(),
    ))
}

pub fn optical_frame(kind: OpticalKind, from: u16, to: u16, queue: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let optical = Optical {
        version: OPTICAL_VERSION,
        kind: kind.into(),
        src_edge: from,
        dst_edge: to,
        queue,
        sequence,
        inner_type: ETHERTYPE_IPV4,
        ..Optical::default()
    };
    let mut frame = ethernet.encode().to_vec();
    frame.extend_from_slice(&optical.encode());
    frame.extend_from_slice(payload);
    frame
}

/// An IPv4 packet of `ip_bytes` in an Ethernet frame, as a host sends it.
pub fn host_frame(from: HostId, to: HostId, ip_bytes: usize) -> Vec<u8> {
    let ethernet = Ethernet {
        dst: mac_number(edge_mac(from.edge)),
        src: mac_number(from.mac()),
        ether_type: ETHERTYPE_IPV4,
    };
    let ipv4 = Ipv4 {
        version: 4,
        ihl: 5,
        total_len: ip_bytes as u16,
        ttl: 64,
        protocol: 253,
        src: from.ip().to_bits(),
        dst: to.ip().to_bits(),
        ..Ipv4::default()
    };
    let mut frame = ethernet.encode().to_vec();
    frame.extend_from_slice(&ipv4.encode());
    frame.resize(Ethernet::SIZE + ip_bytes, 0xa5);
    frame
}
