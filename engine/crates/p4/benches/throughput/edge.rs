// SPDX-License-Identifier: Apache-2.0
//! Cases of `edge.p4`: packets of hosts, and what line cards and other edges send.

use super::cases::{Case, MIN_FRAME_BYTES, UDP, call, entry, exact, ipv4_frame, lpm};
use slotwise_p4::Port;
use slotwise_wire::{
    ETHERTYPE_IPV4, ETHERTYPE_LINECARD, ETHERTYPE_OPTICAL, Ethernet, IP_PROTOCOL_XCP, IntervalTick, IntervalTimer,
    LINECARD_VERSION, LineCardKind, Linecard, OPTICAL_VERSION, Optical, OpticalKind, PORT_LINECARD, PORT_OPTICAL_BASE,
    QueueReport, REQUEST_ENTRIES, Request, RequestEntry, SlotTick, XCP_LENGTH, XCP_VERSION, Xcp, XcpFormat,
};

const HOST_PORT: Port = 1;
const FIBRE: u16 = PORT_OPTICAL_BASE;
/// The edge measured is the master, and edge 0; the other is edge 1.
const OTHER_EDGE: u16 = 1;
/// The line card's queue to the other edge.
const QUEUE: u16 = 1;
/// Slots with a request to send, and with a grant.
const REQUEST_SLOT: u16 = 1;
const GRANTED_SLOT: u16 = 2;
const HERE: u32 = 0x0a00_0007;
const ELSEWHERE: u32 = 0x0a01_0005;

fn frame(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let ethernet = Ethernet {
        dst: 0x0200_0000_0001,
        src: 0x0200_0000_0002,
        ether_type,
    };
    let mut frame = ethernet.encode().to_vec();
    frame.extend(payload);
    frame.resize(frame.len().max(MIN_FRAME_BYTES), 0);
    frame
}

fn of_line_card(kind: LineCardKind, parts: &[&[u8]]) -> Vec<(Port, Vec<u8>)> {
    let header = Linecard {
        version: LINECARD_VERSION,
        kind: kind as u8,
        port: FIBRE,
    };
    let message = [&header.encode(), parts.concat().as_slice()].concat();
    vec![(Port::from(PORT_LINECARD), frame(ETHERTYPE_LINECARD, &message))]
}

fn slot_tick(slot: u16, repeat: u16) -> Vec<(Port, Vec<u8>)> {
    let tick = SlotTick {
        frame: 5,
        slot,
        repeat,
        local_ns: 1000,
    };
    of_line_card(LineCardKind::SlotTick, &[&tick.encode()])
}

fn queue_report() -> [u8; QueueReport::SIZE] {
    let report = QueueReport {
        queue: QUEUE,
        backlog_bytes: 1024,
        arrived_bytes: 0,
        hol_delay_ns: 0,
        dropped_packets: 0,
    };
    report.encode()
}

fn interval_tick() -> Vec<(Port, Vec<u8>)> {
    let tick = IntervalTick {
        timer: IntervalTimer::Control as u8,
        least_backlog_bytes: 1024,
        local_ns: 5_000_000,
    };
    of_line_card(LineCardKind::IntervalTick, &[&tick.encode(), &queue_report()])
}

fn of_other_edge(kind: OpticalKind, inner_type: u16, parts: &[&[u8]]) -> Vec<(Port, Vec<u8>)> {
    let header = Optical {
        version: OPTICAL_VERSION,
        kind: kind as u8,
        traffic_class: 0,
        src_edge: OTHER_EDGE,
        dst_edge: 0,
        queue: 1,
        train: 0,
        core: 0,
        sequence: 1,
        inner_type,
    };
    let message = [&header.encode(), parts.concat().as_slice()].concat();
    vec![(Port::from(FIBRE), frame(ETHERTYPE_OPTICAL, &message))]
}

fn request() -> Vec<(Port, Vec<u8>)> {
    let request = Request {
        frame: 0,
        active_version: 0,
        next_version: 0,
        block: 0,
        flags: 0,
    };
    let nothing = RequestEntry {
        backlog_bytes: 0,
        arrived_bytes: 0,
    };
    let entries = vec![nothing.encode(); usize::from(REQUEST_ENTRIES)].concat();
    of_other_edge(OpticalKind::Request, 0, &[&request.encode(), &entries])
}

fn xcp_frame() -> Vec<u8> {
    let xcp = Xcp {
        protocol: 6,
        length: XCP_LENGTH,
        version: XCP_VERSION,
        format: XcpFormat::Standard as u8,
        rtt: 1_000_000,
        x: 100_000,
        delta_throughput: 1000,
        reverse_feedback: 0,
    };
    let mut frame = ipv4_frame(ELSEWHERE, IP_PROTOCOL_XCP);
    let header = Ethernet::SIZE + 20;
    frame[header..header + Xcp::SIZE].copy_from_slice(&xcp.encode());
    frame
}

/// An edge with 250 subnets elsewhere and one host here, the master of its star, which runs on an empty schedule but for one grant and one
/// request a frame.
fn edge(name: &'static str, frames: Vec<(Port, Vec<u8>)>) -> Case {
    let params = [0, 1, 0, 0x0200_0000_0000, 10_000, 250_000, 1];
    let route = "EdgeIngress.ipv4_route";
    let mut entries: Vec<_> = (0..250)
        .map(|subnet| {
            let key = vec![lpm(0x0a01_0000 + (subnet << 8), 24)];
            (route, entry(key, 0, call("EdgeIngress.to_edge", &[OTHER_EDGE.into()])))
        })
        .collect();
    let to_host = call("EdgeIngress.to_host", &[3, 0x0200_0000_0007]);
    entries.push((route, entry(vec![lpm(HERE, 32)], 0, to_host)));
    let enqueue = call("EdgeIngress.enqueue", &[QUEUE.into(), FIBRE.into()]);
    let voq = vec![exact(OTHER_EDGE.into()), exact(0)];
    entries.push(("EdgeIngress.voq", entry(voq, 0, enqueue)));
    let grant = call("EdgeIngress.grant", &[QUEUE.into()]);
    let granted = vec![exact(0), exact(0), exact(GRANTED_SLOT.into())];
    entries.push(("EdgeIngress.slot_schedule", entry(granted, 0, grant)));
    let send_request = call("EdgeIngress.send_request", &[0, FIBRE.into()]);
    let requesting = vec![exact(0), exact(REQUEST_SLOT.into()), exact(1)];
    entries.push(("EdgeIngress.signaling", entry(requesting, 0, send_request)));
    Case {
        name,
        program: "../../../p4src/p4c-out/edge.json",
        defaults: vec![("EdgeIngress.edge_params", call("EdgeIngress.set_edge_params", &params))],
        entries,
        frames,
        with_peer: false,
    }
}

/// As [`edge`], with an XCP controller for the queue.
fn with_xcp(mut case: Case) -> Case {
    let capacity = call("EdgeIngress.fixed_capacity", &[2_000_000, 30]);
    case.entries
        .push(("EdgeIngress.xcp_output", entry(vec![exact(QUEUE.into())], 0, capacity)));
    case
}

pub fn all() -> Vec<Case> {
    let udp = |dst: u32| ipv4_frame(dst, UDP);
    let to_fibre = (0..64).map(|i| (HOST_PORT, udp(ELSEWHERE + (i << 8)))).collect();
    let inner = udp(HERE).split_off(Ethernet::SIZE);
    vec![
        Case {
            with_peer: true,
            ..edge("edge: host to fibre", to_fibre)
        },
        edge("edge: host to host", vec![(HOST_PORT, udp(HERE))]),
        edge(
            "edge: fibre to host",
            of_other_edge(OpticalKind::Data, ETHERTYPE_IPV4, &[&inner]),
        ),
        with_xcp(edge("edge: host to fibre with XCP", vec![(HOST_PORT, xcp_frame())])),
        edge("edge: slot tick", slot_tick(GRANTED_SLOT, 0)),
        edge("edge: tick that sends a request", slot_tick(REQUEST_SLOT, 1)),
        edge(
            "edge: queue report",
            of_line_card(LineCardKind::QueueReport, &[&queue_report()]),
        ),
        with_xcp(edge("edge: interval tick", interval_tick())),
        edge("edge: request at the master", request()),
    ]
}
