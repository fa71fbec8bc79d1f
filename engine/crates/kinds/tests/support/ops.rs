// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches whose tables are written directly, by the rules of the controller's application `ops` (docs/ops.md).

use std::sync::{Arc, OnceLock};

use slotwise_kinds::{DropCause, HostMode, World, WorldOptions};
use slotwise_lambda::KnifeEdge;
use slotwise_p4::{KeyField, Pipeline, Program, TableEntry};
use slotwise_scenario::{
    Device, Ops, OpsMatch, Party, Probes, Scenario, Scheme, Share, Source, group_host_ip, group_host_mac,
};
use slotwise_wire::{FIBRE_CHOICES, GRANT_PERIODS, NO_FIBRE, PORT_OPTICAL_BASE};

use super::{bits, call, edge_program, entry, insert, mac_number, program};

fn switch_program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| program("ops.json")).clone()
}

/// A network of a scenario, configured, at time 0.
pub fn ops(scenario: &Scenario) -> World {
    let options = WorldOptions {
        seed: scenario.seed,
        host_mode: HostMode::Simulated,
        captures: None,
        frame_records: false,
    };
    let mut world = World::new(scenario, options);
    let ops = scenario.ops.as_ref().unwrap();
    for switch in 0..ops.switches.len() {
        configure_switch(&mut world, ops, scenario.routed.packet_bytes, switch as u16);
    }
    for edge in 0..ops.edges.len() {
        configure_edge(&mut world, scenario, ops, edge as u16);
    }
    world
}

/// What `ops_params` of all switches says.
pub fn switch_params(ops: &Ops, packet_bytes: u32) -> [u64; 8] {
    let byte_q16 = (8_000_000_000u64 << 16) / ops.rate.bps();
    [
        u64::from(ops.wavelengths),
        u64::from(ops.fibre_shift()),
        u64::from(ops.conversion),
        byte_q16,
        ops.longest_train(packet_bytes).get(),
        u64::from(ops.framing_bytes),
        ops.guard.ns(),
        ops.ram.get() * byte_q16 >> 16,
    ]
}

fn configure_switch(world: &mut World, ops: &Ops, packet_bytes: u32, switch: u16) {
    let device = Device::Switch(switch);
    world.set_pipeline(device.id(), switch_program()).unwrap();
    set_switch_params(world, switch, &switch_params(ops, packet_bytes));
    for edge in 0..ops.edges.len() as u16 {
        let mut choices = ranks(ops, device, Device::OpsEdge(edge));
        choices.resize(usize::from(FIBRE_CHOICES), NO_FIBRE);
        let args: Vec<u64> = choices.into_iter().map(u64::from).collect();
        write_route(world, switch, edge, &args);
    }
}

pub fn set_switch_params(world: &mut World, switch: u16, params: &[u64]) {
    let pipeline = world.pipeline_mut(Device::Switch(switch).id()).unwrap();
    let action = call("OpsIngress.set_ops_params", params);
    pipeline
        .table_set_default("OpsIngress.ops_params", Some(action))
        .unwrap();
}

pub fn write_route(world: &mut World, switch: u16, edge: u16, fibres: &[u64]) {
    let pipeline = world.pipeline_mut(Device::Switch(switch).id()).unwrap();
    let entry = entry(&[u64::from(edge)], "OpsIngress.to_fibres", fibres);
    insert(pipeline, "OpsIngress.label_route", entry);
}

/// A fresh program in an edge, and its tables.
pub fn configure_edge(world: &mut World, scenario: &Scenario, ops: &Ops, edge: u16) {
    let ports: Vec<(Device, u16)> = world.access_ports().collect();
    let device = Device::OpsEdge(edge);
    let macs: Vec<u64> = (0..scenario.host_count())
        .map(|host| mac_number(group_host_mac(host)))
        .collect();
    let ips: Vec<_> = (0..scenario.host_count()).map(|host| group_host_ip(host)).collect();
    world.set_pipeline(device.id(), edge_program()).unwrap();
    set_edge_params(world, edge, u64::from(ops.framing_bytes), u64::from(ops.deflections));
    let pipeline = world.pipeline_mut(device.id()).unwrap();
    for group in (0..scenario.routed.hosts.len()).map(Party::Group) {
        let at = scenario.node_of(group);
        for host in scenario.host_numbers(group) {
            let key = vec![KeyField::Lpm {
                value: ips[host].octets().to_vec(),
                prefix_len: 32,
            }];
            let action = match at == device {
                true => call("EdgeIngress.to_host", &[u64::from(ports[host].1), macs[host]]),
                false => call("EdgeIngress.to_edge", &[u64::from(at.number())]),
            };
            let route = TableEntry {
                key,
                priority: 0,
                action,
            };
            insert(pipeline, "EdgeIngress.ipv4_route", route);
        }
    }
    write_classes(pipeline, ops);
    write_queues(pipeline, scenario, ops, edge);
    let shift = u64::from(ops.fibre_shift());
    if ops.probes.is_some() || !ops.direct.is_empty() {
        let fibres = call("EdgeIngress.set_fibres", &[u64::from(ops.wavelengths), shift]);
        pipeline
            .table_set_default("EdgeIngress.fibre_params", Some(fibres))
            .unwrap();
    }
    if let Some(trains) = ops.ingress.trains {
        let ingress = call(
            "EdgeIngress.set_ingress",
            &[u64::from(trains), u64::from(ops.ingress.fair)],
        );
        pipeline
            .table_set_default("EdgeIngress.ingress_params", Some(ingress))
            .unwrap();
    }
    if let (Some(macroflows), Some(probes)) = (ops.macroflows, ops.probes) {
        write_macroflows(
            pipeline,
            ops,
            (edge, scenario.routed.packet_bytes),
            (macroflows.satisfied, probes),
        );
        if let Some(share) = macroflows.share {
            write_share(pipeline, ops, share, probes.period.ns());
        }
    }
}

fn write_share(pipeline: &mut Pipeline, ops: &Ops, share: Share, period_ns: u64) {
    let q16 = |part: f64| (part * 65_536.0).round() as u64;
    let classes = u64::from(ops.class_count());
    let args = [
        ops.edges.len() as u64 * classes,
        classes,
        (u128::from(share.capacity.bps()) * u128::from(period_ns) / 8_000_000_000) as u64,
        q16(share.steps.alpha()),
        q16(share.steps.beta()),
        u64::from(share.knife_edge == KnifeEdge::Capped),
        q16(1e9 / period_ns as f64),
        u64::from(GRANT_PERIODS) * period_ns,
    ];
    let params = call("EdgeIngress.set_share", &args);
    pipeline
        .table_set_default("EdgeIngress.share_params", Some(params))
        .unwrap();
}

fn write_classes(pipeline: &mut Pipeline, ops: &Ops) {
    const ANY: u64 = 0;
    for class in &ops.classes {
        let (dscp, acknowledgement) = match class.matches {
            Some(OpsMatch::Dscp(dscp)) => ((u64::from(dscp), 0x3f), (0, ANY)),
            Some(OpsMatch::Acknowledgements) => ((0, ANY), (1, 1)),
            None => continue,
        };
        let ternary = |(value, mask): (u64, u64)| KeyField::Ternary {
            value: bits(value),
            mask: bits(mask),
        };
        let key = [dscp, (0, ANY), (0, ANY), (0, ANY), acknowledgement]
            .map(ternary)
            .to_vec();
        let class_entry = TableEntry {
            key,
            // Acknowledgements first, whatever their DSCP.
            priority: 1 + acknowledgement.0 as i32,
            action: call("EdgeIngress.set_class", &[u64::from(class.class)]),
        };
        insert(pipeline, "EdgeIngress.traffic_class", class_entry);
        let weight = (65_536.0 / class.weight) as u64;
        if ops.ingress.fair {
            insert(
                pipeline,
                "EdgeIngress.train_weight",
                entry(&[u64::from(class.class)], "EdgeIngress.set_weight", &[weight]),
            );
        }
    }
}

/// Ports of an edge that lead to another one, by a wavelength: first choice and second, 0 if there is none.
fn ports_to(ops: &Ops, edge: u16, to: u16, wavelength: u64) -> [u64; 2] {
    let mut ports = [0; 2];
    let mut fibres = Vec::new();
    for fibre in ops.fibres() {
        for [(a, number), (b, _)] in [fibre.ends, [fibre.ends[1], fibre.ends[0]]] {
            if a == Device::OpsEdge(edge) && (b == Device::OpsEdge(to) || matches!(b, Device::Switch(_))) {
                fibres.push(number);
            }
        }
    }
    for (port, number) in ports.iter_mut().zip(fibres) {
        *port = u64::from(PORT_OPTICAL_BASE) + (u64::from(number) << ops.fibre_shift()) + wavelength;
    }
    ports
}

fn write_queues(pipeline: &mut Pipeline, scenario: &Scenario, ops: &Ops, edge: u16) {
    let aggregation = ops.aggregation.as_ref().filter(|_| ops.aggregates(edge));
    let full = aggregation.is_some_and(|aggregation| aggregation.scheme == Scheme::Full);
    for to in (0..ops.edges.len() as u16).filter(|to| *to != edge) {
        for class in 0..ops.class_count() as u8 {
            let of = ops.classes.iter().find(|of| of.class == class);
            let wavelength = match of {
                Some(of) => u64::from(of.wavelength),
                None => u64::from(to % u16::from(ops.wavelengths)),
            };
            let queue_class = if full { 0 } else { class };
            let queue = u64::from(ops.queue(to, queue_class));
            let [port, second] = ports_to(ops, edge, to, wavelength);
            let key = [u64::from(to), u64::from(class)];
            let voq = match (second, aggregation) {
                (1.., None) => entry(&key, "EdgeIngress.enqueue_either", &[queue, port, second]),
                _ => entry(&key, "EdgeIngress.enqueue", &[queue, port]),
            };
            insert(pipeline, "EdgeIngress.voq", voq);
            if let Some(aggregation) = aggregation
                && queue_class == class
            {
                insert(
                    pipeline,
                    "EdgeIngress.aggregation",
                    entry(&[queue], "EdgeIngress.aggregate", &[aggregation.size.get()]),
                );
                let args = [u64::from(to), u64::from(class), port, second];
                insert(
                    pipeline,
                    "EdgeIngress.train_queue",
                    entry(&[queue], "EdgeIngress.set_train", &args),
                );
            }
        }
    }
    if aggregation.is_some_and(|aggregation| aggregation.scheme == Scheme::Flow) {
        write_flow_queues(pipeline, scenario, ops, edge);
    }
}

fn write_flow_queues(pipeline: &mut Pipeline, scenario: &Scenario, ops: &Ops, edge: u16) {
    let mut given = 0;
    for flow in scenario.group_flows() {
        let group = &scenario.routed.flows[flow.group];
        let ends = [
            (flow.from, scenario.node_of(group.from)),
            (flow.to, scenario.node_of(group.to)),
        ];
        for ((src, from), (dst, to)) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            if from != Device::OpsEdge(edge) || to == from {
                continue;
            }
            let queue = u64::from(ops.flow_queue(given));
            given += 1;
            let ip = |host| u64::from(slotwise_scenario::group_host_ip(host).to_bits());
            let protocol = match group.source {
                Source::Udp { .. } | Source::Gtp(_) => 17,
                _ => 6,
            };
            let key = [ip(src), ip(dst), protocol, u64::from(flow.port), u64::from(flow.port)];
            insert(
                pipeline,
                "EdgeIngress.flow_queue",
                entry(&key, "EdgeIngress.set_flow_queue", &[queue]),
            );
            let class = ops
                .classes
                .iter()
                .find(|class| class.matches == Some(OpsMatch::Dscp(group.dscp)));
            let class = class.map_or(0, |class| u64::from(class.class));
            let [port, second] = ports_to(ops, edge, to.number(), 0);
            let args = [u64::from(to.number()), class, port, second];
            insert(
                pipeline,
                "EdgeIngress.train_queue",
                entry(&[queue], "EdgeIngress.set_train", &args),
            );
        }
    }
}

fn write_macroflows(
    pipeline: &mut Pipeline,
    ops: &Ops,
    (edge, packet_bytes): (u16, u32),
    (satisfied, probes): (bool, Probes),
) {
    let floor = ops.floor(packet_bytes, &probes).bps() / 8;
    let periods_q8 = 256_000_000_000 / probes.period.ns();
    for (to, queue) in ops.queues().filter(|(to, _)| *to != edge) {
        let class = (0..ops.class_count())
            .find(|class| ops.queue(to, *class as u8) == queue)
            .unwrap();
        let of = ops.classes.iter().find(|of| u16::from(of.class) == class);
        let wavelength = of.map_or(0, |of| u64::from(of.wavelength));
        let port = u64::from(PORT_OPTICAL_BASE) + u64::from(ops.wavelengths);
        let args = [
            u64::from(to),
            u64::from(class),
            wavelength,
            port,
            floor,
            periods_q8,
            u64::from(satisfied),
            0,
        ];
        insert(
            pipeline,
            "EdgeIngress.macroflow",
            entry(&[u64::from(queue)], "EdgeIngress.set_macroflow", &args),
        );
    }
}

pub fn set_edge_params(world: &mut World, edge: u16, framing_bytes: u64, deflections: u64) {
    const HOPS: u64 = 32;
    let device = Device::OpsEdge(edge);
    let params = [
        u64::from(edge),
        mac_number(device.mac()),
        framing_bytes,
        deflections,
        HOPS,
    ];
    let pipeline = world.pipeline_mut(device.id()).unwrap();
    let action = call("EdgeIngress.set_label_params", &params);
    pipeline
        .table_set_default("EdgeIngress.edge_params", Some(action))
        .unwrap();
}

/// Packets that the network lost for a cause.
pub fn dropped(network: &World, cause: DropCause) -> u64 {
    let drops = network.drops().iter().filter(|(_, of, _)| *of == cause);
    drops.map(|(_, _, count)| count.packets).sum()
}

/// Length of the shortest way, and its hops, without a node.
fn way(ops: &Ops, from: Device, to: Device, without: Device) -> Option<(u64, u32)> {
    let mut lengths = vec![(from, (0, 0))];
    let mut done: Vec<Device> = vec![without];
    while let Some(place) = (0..lengths.len())
        .filter(|place| !done.contains(&lengths[*place].0))
        .min_by_key(|place| lengths[*place].1)
    {
        let (here, (length, hops)) = lengths[place];
        if here == to {
            return Some((length, hops));
        }
        done.push(here);
        for fibre in ops.fibres() {
            for [(a, _), (b, _)] in [fibre.ends, [fibre.ends[1], fibre.ends[0]]] {
                // An edge is no way.
                let leads_on = a == here && (b == to || matches!(b, Device::Switch(_)));
                if leads_on {
                    let next = (length + fibre.delay.ns(), hops + 1);
                    match lengths.iter_mut().find(|(node, _)| *node == b) {
                        Some((_, best)) => *best = next.min(*best),
                        None => lengths.push((b, next)),
                    }
                }
            }
        }
    }
    None
}

/// Fibres of a switch to an edge, the best first; those whose far end is nearer than the switch come before all others.
fn ranks(ops: &Ops, switch: Device, edge: Device) -> Vec<u8> {
    let own = way(ops, switch, edge, Device::Core(0)).unwrap();
    let mut ways = Vec::new();
    for fibre in ops.fibres() {
        for [(a, number), (b, _)] in [fibre.ends, [fibre.ends[1], fibre.ends[0]]] {
            if a == switch
                && let Some((length, hops)) = way(ops, b, edge, switch)
            {
                ways.push(((length, hops) >= own, length + fibre.delay.ns(), hops, number));
            }
        }
    }
    ways.sort();
    ways.truncate(usize::from(FIBRE_CHOICES));
    ways.into_iter().map(|(_, _, _, number)| number).collect()
}

/// As [`write_route`], where there is one.
pub fn modify_route(world: &mut World, switch: u16, edge: u16, fibres: &[u64]) {
    let pipeline = world.pipeline_mut(Device::Switch(switch).id()).unwrap();
    let entry = entry(&[u64::from(edge)], "OpsIngress.to_fibres", fibres);
    pipeline.table_modify("OpsIngress.label_route", entry).unwrap();
}
