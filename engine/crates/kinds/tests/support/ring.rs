// SPDX-License-Identifier: Apache-2.0
//! A ring whose tables are written directly, by the rules of the controller's application `ring` (docs/ring.md).

use std::sync::{Arc, OnceLock};

use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_p4::{KeyField, Pipeline, Program, TableEntry};
use slotwise_scenario::{Device, Party, Ring, Scenario, group_host_ip, group_host_mac};

use super::{call, entry, insert, mac_number, program};

fn ring_program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| program("ring.json")).clone()
}

/// A ring of a scenario, configured, at time 0.
pub fn ring(scenario: &Scenario, host_mode: HostMode) -> World {
    let options = WorldOptions {
        seed: scenario.seed,
        host_mode,
        captures: None,
        frame_records: false,
    };
    let mut world = World::new(scenario, options);
    for station in 0..scenario.ring.as_ref().unwrap().stations.len() {
        configure_station(&mut world, scenario, station as u16);
    }
    world
}

/// A fresh program in a station, and its tables.
pub fn configure_station(world: &mut World, scenario: &Scenario, station: u16) {
    let ring = scenario.ring.as_ref().unwrap();
    let ports: Vec<(Device, u16)> = world.access_ports().collect();
    let device = Device::Station(station);
    world.set_pipeline(device.id(), ring_program()).unwrap();
    let mac = mac_number(device.mac());
    let macs: Vec<u64> = (0..scenario.host_count())
        .map(|host| mac_number(group_host_mac(host)))
        .collect();
    let ips: Vec<_> = (0..scenario.host_count()).map(|host| group_host_ip(host)).collect();
    let pipeline = world.pipeline_mut(device.id()).unwrap();
    let stations = ring.stations.len() as u64;
    let weight = u64::from(ring.stations[usize::from(station)].weight);
    let params = [u64::from(station), stations, mac, weight];
    set_default(pipeline, "station_params", "set_station", &params);
    for (from, to) in ring.spans() {
        for (at, ringlet, downstream) in [(from, 0, to), (to, 1, from)] {
            if at == station {
                write_ringlet(pipeline, ring, ringlet, downstream);
            }
        }
    }
    write_timing(pipeline, ring);
    for group in (0..scenario.routed.hosts.len()).map(Party::Group) {
        let Device::Station(at) = scenario.node_of(group) else {
            panic!("there are stations only")
        };
        for host in scenario.host_numbers(group) {
            let key = vec![KeyField::Lpm {
                value: ips[host].octets().to_vec(),
                prefix_len: 32,
            }];
            let action = match at == station {
                true => call("RingIngress.to_host", &[u64::from(ports[host].1), macs[host]]),
                false => call("RingIngress.to_station", &[u64::from(at)]),
            };
            let route = TableEntry {
                key,
                priority: 0,
                action,
            };
            insert(pipeline, "RingIngress.ipv4_route", route);
        }
    }
    for to in (0..stations).filter(|to| *to != u64::from(station)) {
        let (ringlet, hops) = way(ring, u64::from(station), to);
        let entry = entry(&[to], "RingIngress.reach", &[ringlet, hops]);
        insert(pipeline, "RingIngress.ring_way", entry);
    }
}

fn set_default(pipeline: &mut Pipeline, table: &str, action: &str, args: &[u64]) {
    let action = call(&format!("RingIngress.{action}"), args);
    pipeline
        .table_set_default(&format!("RingIngress.{table}"), Some(action))
        .unwrap();
}

fn write_ringlet(pipeline: &mut Pipeline, ring: &Ring, ringlet: u64, downstream: u16) {
    let capacity = ring.rate.bps() as f64 / 8.0;
    let part = |part: f64| (capacity * part).round() as u64;
    let mode = u64::from(u8::from(ring.mode));
    let (target, relief) = (part(ring.threshold), part(ring.threshold - ring.relief));
    let args = [u64::from(downstream), mode, part(1.0), target, relief];
    let entry = entry(&[ringlet], "RingIngress.set_ringlet", &args);
    insert(pipeline, "RingIngress.ringlet", entry);
}

fn write_timing(pipeline: &mut Pipeline, ring: &Ring) {
    const NS_PER_S_Q8: u64 = 256_000_000_000;
    let timing = &ring.timing;
    let window_ns = timing.interval.ns() * u64::from(timing.window_intervals);
    let args = [
        timing.interval.ns(),
        NS_PER_S_Q8 / timing.interval.ns(),
        u64::from(timing.w1.ilog2()),
        u64::from(timing.w2.ilog2()),
        u64::from(timing.window_intervals),
        NS_PER_S_Q8 / window_ns,
        u64::from(timing.bucket_bytes),
        timing.hol_timer.ns(),
        u64::from(timing.calm_intervals),
        u64::from(timing.hold_intervals),
        u64::from(timing.wait_intervals),
        u64::from(timing.report_intervals),
        timing.watch_intervals.map_or(0, u64::from),
    ];
    set_default(pipeline, "ring_timing", "set_timing", &args);
}

/// Ringlet and hops: the shorter way that is whole.
fn way(ring: &Ring, from: u64, to: u64) -> (u64, u64) {
    let stations = ring.stations.len() as u64;
    let east = (to + stations - from) % stations;
    let west = stations - east;
    let is_east = match ring.half {
        true => from < to,
        false => east <= west,
    };
    if is_east { (0, east) } else { (1, west) }
}
