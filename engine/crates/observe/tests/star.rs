// SPDX-License-Identifier: Apache-2.0
//! The columns of a star whose switches have no program yet: names and rows are there, and what hosts send is seen.

use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_observe::TableName;
use slotwise_observe::record::names;
use slotwise_observe::recorders::star::Recorder;
use slotwise_scenario::Scenario;
use slotwise_units::Instant;

const STAR4: &str = include_str!("../../../../topologies/star4.yaml");

const MIXED: &str = include_str!("../../../../topologies/mixed.yaml");

fn fabric_of(scenario: &Scenario) -> World {
    let options = WorldOptions {
        seed: 1,
        host_mode: HostMode::Simulated,
        captures: None,
        frame_records: false,
    };
    World::new(scenario, options)
}

#[test]
fn of_a_mix_the_access_links_are_those_of_edges() {
    let scenario = Scenario::parse(MIXED.as_bytes()).unwrap();
    let mut fabric = fabric_of(&scenario);
    let mut recorder = Recorder::new(&scenario, 1);
    fabric.run_until(recorder.next().unwrap());
    recorder.sample(&mut fabric, &[]);
    assert_eq!(recorder.finish().access.names, names(&scenario, TableName::Access));
}

#[test]
fn every_name_has_a_row_each_period_and_hosts_are_seen_sending() {
    let head = &STAR4[..STAR4.find("phases:").unwrap()];
    let phases = "phases:\n- name: one\n  duration_ms: 100\n  flows: [{from: h0_0, to: h1_0, udp: {rate_bps: 8000000, \
                  payload_bytes: 1000, process: constant}}, {from: edge2, to: edge3, transport: xcp}]\n";
    let scenario = Scenario::parse(format!("{head}{phases}").as_bytes()).unwrap();
    let mut fabric = fabric_of(&scenario);
    let mut recorder = Recorder::new(&scenario, 3);
    let mut times = Vec::new();
    while let Some(at_ns) = recorder.next().map(Instant::ns) {
        fabric.run_until(Instant::from_ns(at_ns));
        recorder.sample(&mut fabric, &[]);
        times.push(at_ns - scenario.epoch().ns());
    }
    // Three frames of 5 ms, and what is left at the end.
    assert_eq!(
        times,
        [
            15_000_000,
            30_000_000,
            45_000_000,
            60_000_000,
            75_000_000,
            90_000_000,
            100_000_000
        ]
    );
    let recording = recorder.finish();
    for (table, rows, count) in [
        (TableName::Queues, &recording.queues, 12),
        (TableName::Ports, &recording.ports, 8),
        (TableName::Access, &recording.access, 16),
        (TableName::Flows, &recording.flows, 3),
        (TableName::Control, &recording.control, 1),
        (TableName::Clocks, &recording.clocks, 0),
    ] {
        let names = names(&scenario, table);
        assert_eq!(names.len(), count, "{table:?}");
        let every_period: Vec<String> = times.iter().flat_map(|_| names.iter().cloned()).collect();
        assert_eq!(rows.names, every_period, "{table:?}");
    }
    assert!(recording.links.names.is_empty());
    let sent = recording.access.column("sent_bytes").unwrap();
    let bytes: f64 = recording
        .access
        .series("h0_0->edge0", sent)
        .iter()
        .map(|row| row.1)
        .sum();
    // 100 datagrams of 1042 bytes, the last maybe on its way.
    assert!((102_000.0..=104_200.0).contains(&bytes), "{bytes}");
    let window = recording.flows.column("window_packets").unwrap();
    assert_eq!(recording.flows.series("one.0.h0_0-h1_0", window)[6].1, 0.0);
    assert_eq!(recording.queues.series("edge0->edge1", 1).len(), times.len());
}
