// SPDX-License-Identifier: Apache-2.0
//! Capture filters on the capture points of networks.

use slotwise_kinds::{CaptureFilter, CapturePoint, HostMode, World, WorldOptions};
use slotwise_scenario::{Device, Scenario};
use slotwise_wire::{Ethernet, Optical, PORT_CPU, PORT_LINECARD, SIGNALING_QUEUE};

fn options() -> WorldOptions {
    WorldOptions {
        seed: 1,
        host_mode: HostMode::External,
        captures: None,
        frame_records: false,
    }
}

fn points() -> Vec<CapturePoint> {
    let scenario = Scenario::parse(include_bytes!("../../../../schema/examples/valid/pair.yaml")).unwrap();
    World::new(&scenario, options()).capture_points()
}

#[test]
fn links_between_routers_carry_data_and_access_links_what_is_of_hosts() {
    let scenario = Scenario::parse(include_bytes!("../../../../topologies/routers4.yaml")).unwrap();
    let points = World::new(&scenario, options()).capture_points();
    let taken = |text: &str| -> Vec<String> {
        let mut filter = CaptureFilter::parse(text, &points).unwrap();
        let taken = points.iter().filter(|point| filter.takes(**point, &[0; 60]));
        taken.map(|point| point.name()).collect()
    };
    // Each router has two neighbours; two hosts are at the first and at the last.
    let router = |number, ports: [u16; 2]| ports.map(|port| format!("router{number}-port{port}"));
    assert_eq!(
        taken("data"),
        [0, 1, 2, 3].map(|number| router(number, [1, 2])).concat()
    );
    assert_eq!(taken("host"), [router(0, [3, 4]), router(3, [3, 4])].concat());
    assert_eq!(taken("host,router0-*"), router(0, [3, 4]));
}

fn light(queue: u16) -> Vec<u8> {
    let mut frame = vec![0; Ethernet::SIZE];
    let optical = Optical {
        queue,
        ..Optical::default()
    };
    frame.extend(optical.encode());
    frame
}

fn fibre(edge: u16, up: bool) -> CapturePoint {
    let (edge, core) = (Device::Edge(edge), Device::Core(0));
    let (from, to) = if up { (edge, core) } else { (core, edge) };
    CapturePoint::Fibre { from, to }
}

fn port(edge: u16, port: u16) -> CapturePoint {
    let device = Device::Edge(edge);
    CapturePoint::Port { device, port }
}

/// Which of some frames a filter takes: data and signaling from edge 0, data to edge 1, a host's, a line card's, a packet-in.
fn taken(text: &str) -> [bool; 6] {
    let mut filter = CaptureFilter::parse(text, &points()).unwrap();
    let frames = [
        (fibre(0, true), light(1)),
        (fibre(0, true), light(SIGNALING_QUEUE)),
        (fibre(1, false), light(0)),
        (port(0, 1), vec![0; 60]),
        (port(1, PORT_LINECARD), vec![0; 60]),
        (port(0, PORT_CPU), vec![0; 60]),
    ];
    frames.map(|(point, frame)| filter.takes(point, &frame))
}

#[test]
fn places_and_kinds_choose_frames() {
    const Y: bool = true;
    const N: bool = false;
    assert_eq!(taken("*"), [Y; 6]);
    assert_eq!(taken("edge0-core0"), [Y, Y, N, N, N, N]);
    assert_eq!(taken("edge0-*"), [Y, Y, N, Y, N, Y]);
    assert_eq!(taken("edge0-core0, core0-edge?"), [Y, Y, Y, N, N, N]);
    assert_eq!(taken("data"), [Y, N, Y, N, N, N]);
    assert_eq!(taken("signaling"), [N, Y, N, N, N, Y]);
    assert_eq!(taken("host,linecard"), [N, N, N, Y, Y, N]);
    assert_eq!(taken("edge0-*,signaling"), [N, Y, N, N, N, Y]);
}

#[test]
fn light_too_short_for_its_header_counts_as_data() {
    let mut filter = CaptureFilter::parse("data", &points()).unwrap();
    for length in 0..Ethernet::SIZE + Optical::SIZE {
        assert!(filter.takes(fibre(0, true), &vec![0; length]), "{length}");
    }
}

#[test]
fn what_takes_nothing_is_refused_with_its_term() {
    for term in ["signalling", "edge9-*", "", "edge0-port2", "edge0-core0.pcap"] {
        let error = CaptureFilter::parse(&format!("data,{term}"), &points()).unwrap_err();
        assert_eq!(error.term, term);
        assert!(error.to_string().contains("e.g. edge0-core0"), "{error}");
    }
    let many = vec!["data"; 65].join(",");
    assert!(CaptureFilter::parse(&many, &points()).is_err());
    assert!(CaptureFilter::parse(&"*".repeat(65), &points()).is_err());
}
