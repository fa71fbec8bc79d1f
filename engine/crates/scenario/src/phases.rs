// SPDX-License-Identifier: Apache-2.0
//! Phases of a run, and the flows between hosts of a star's edges in them.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Rate};

use crate::address::Endpoint;
use crate::doc::Doc;
use crate::model::{Traffic, TrafficKind, Transport};
use crate::parse::{DURATION_MS, FILE_BYTES, FLOW_RATE_BPS, FLOWS, Parts};
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, defined, integer, list, name, nested, section, word};
use crate::sources::{EdgeUdp, FlowWeb};

pub(crate) const PHASES: RangeInclusive<usize> = 1..=1000;
const PHASE_FLOWS: RangeInclusive<usize> = 0..=1000;
const STREAMS: RangeInclusive<u64> = 1..=64;
/// Keys that stand for the kind of a flow.
const KINDS: [&str; 4] = ["tcp", "udp", "file", "web"];

section! {
    /// Part of the run.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Phase [r, fields, _context: ()] {
        /// Name of the phase, unique in the scenario.
        pub name: String = "name" required, name();
        /// Duration in ms.
        pub duration_ms: u64 = "duration_ms" required, integer(DURATION_MS);
        /// Flows between edges' hosts in this phase.
        pub traffic: Vec<Traffic> = "flows" read(flows(r, fields)), list(PHASE_FLOWS, nested::<EdgeFlow>());
    }
}

fn flows(r: &mut Reader, fields: &Fields) -> Vec<Traffic> {
    let entries = r.list(fields, FLOWS, PHASE_FLOWS).into_iter();
    entries.filter_map(|(value, place)| flow(r, value, place)).collect()
}

section! {
    /// Flow between edges' hosts: a TCP stream unless the entry has the key of another kind.
    #[derive(Debug)]
    pub(crate) struct EdgeFlow [r, fields, _context: ()] {
        /// Senders: all hosts ('all'), all hosts of an edge ('edgeN'), or host K of edge E ('hE_K').
        from: Option<Endpoint> = "from" read(endpoint(r, fields, "from")), defined("endpoint");
        /// Receivers, in the same form.
        to: Option<Endpoint> = "to" read(endpoint(r, fields, "to")), defined("endpoint");
        /// Congestion control. In emulation, hosts use that of their kernel, and the engine generates `xcp`. Default:
        /// `cubic`.
        transport: Transport = "transport" or(Transport::default()), word(Transport::words());
        /// Bulk TCP: settings of a stream. Default, without another kind: one stream per flow.
        tcp: Option<EdgeTcp> = "tcp" optional, nested::<EdgeTcp>();
        /// UDP datagrams.
        udp: Option<EdgeUdp> = "udp" optional, nested::<EdgeUdp>();
        /// One file over HTTP, from host to host.
        file: Option<EdgeFile> = "file" optional, nested::<EdgeFile>();
        /// Web users at the receiving host that fetch pages, one connection per page.
        web: Option<FlowWeb> = "web" read_optional(FlowWeb::under(r, fields, "web", ())), defined("flow_web");
    }
    kinds {
        "udp" without ["transport", "tcp", "file", "web"],
        "file" without ["tcp", "web"],
        "web" without ["tcp"],
    }
}

section! {
    /// Bulk TCP.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct EdgeTcp {
        /// Rate limit per stream in bit/s. Default: no limit.
        rate: Option<Rate> = "rate_bps" optional, integer(FLOW_RATE_BPS);
        /// Parallel streams per flow. Default: 1.
        streams: u32 = "streams" or(1), integer(STREAMS);
    }
}

section! {
    /// File over HTTP.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct EdgeFile {
        /// Size of the file in bytes.
        bytes: Bytes = "bytes" required, integer(FILE_BYTES);
    }
}

fn endpoint(r: &mut Reader, fields: &Fields, key: &str) -> Option<Endpoint> {
    let expected = "'all', 'edgeN' or 'hE_K' (host K of edge E)";
    r.parsed(fields, key, expected, Endpoint::parse)
}

fn flow(r: &mut Reader, value: &Doc, pointer: String) -> Option<Traffic> {
    if value.get("kind").is_some() {
        let expected = format!("the key of the kind, with its settings: {}", KINDS.join(", "));
        let reason = "'kind' was renamed to the kind itself";
        r.report(format!("{pointer}/kind"), reason, expected);
        return None;
    }
    let keys = EdgeFlow::of(r, value, pointer, ());
    let transport = keys.transport;
    let kind = match (keys.udp, keys.file, keys.web) {
        (Some(udp), ..) => TrafficKind::Udp {
            rate: udp.rate,
            payload_bytes: udp.payload_bytes,
            process: udp.process(),
        },
        (_, Some(file), _) => TrafficKind::File {
            bytes: file.bytes,
            transport,
        },
        (.., Some(web)) => TrafficKind::Web {
            users: web.users,
            web: web.web(),
            transport,
        },
        _ => TrafficKind::Tcp {
            rate: keys.tcp.and_then(|tcp| tcp.rate),
            streams: keys.tcp.map_or(1, |tcp| tcp.streams),
            transport,
        },
    };
    Some(Traffic {
        from: keys.from?,
        to: keys.to?,
        kind,
    })
}

/// The phases of a file; a file without them has one, for its whole duration.
pub(crate) fn phases(r: &mut Reader, parent: &Fields, parts: Parts) -> Vec<Phase> {
    let is_whole = parts.has_groups() && r.optional(parent, "phases").is_none();
    if is_whole {
        return vec![Phase {
            name: "run".into(),
            duration_ms: r.integer(parent, "duration_ms", DURATION_MS),
            traffic: Vec::new(),
        }];
    }
    if r.optional(parent, "duration_ms").is_some() {
        r.report(
            parent.pointer("duration_ms"),
            "'duration_ms' given with 'phases', which have durations",
            "one of the two",
        );
    }
    let elements = r.list(parent, "phases", PHASES);
    if let Some(place) = elements.iter().find_map(|(phase, place)| flows_of_edges(phase, place))
        && !parts.star
    {
        r.report(
            place,
            "'flows' in 'phases' need the edge hosts of a star; this network has none",
            "'duration_ms' and 'flows' of the file instead of 'phases'",
        );
        return Vec::new();
    }
    elements.into_iter().map(|(v, p)| Phase::of(r, v, p, ())).collect()
}

/// Place of the flows of a phase; none if it has an empty list.
fn flows_of_edges(phase: &Doc, place: &str) -> Option<String> {
    match phase.as_mapping()?.get(FLOWS) {
        Some(entries) if entries.as_list().is_some_and(<[Doc]>::is_empty) => None,
        Some(_) => Some(format!("{place}/{FLOWS}")),
        None => Some(place.to_owned()),
    }
}
