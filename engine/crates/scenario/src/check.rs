// SPDX-License-Identifier: Apache-2.0
//! Cross checks: whether the parts of a scenario of the right shape fit together.

mod stars;

use std::collections::{BTreeMap, BTreeSet};

use slotwise_units::{Bytes, Rate};
use slotwise_wire::SIGNALING_QUEUE;
use slotwise_wire::limits::{ROUTES, SLOTS};

use crate::address::Endpoint;
use crate::clocks;
use crate::faults;
use crate::model::{Scenario, Signaling, Traffic, TrafficKind};
use crate::ops::Scheme;
use crate::optics;
use crate::out_of_band;
use crate::own::SECTIONS;
use crate::reader::Reader;
use crate::reserved;
use crate::routed;
use crate::scheduler;
use crate::workloads;

/// What one phase, or all flows over the whole run, may ask of the hosts, so that a small file cannot fill the memory.
const MAX_FLOWS: usize = 100_000;
const DATAGRAM_HEADER_BYTES: u32 = slotwise_wire::DATAGRAM_HEADER_BYTES as u32;

pub(crate) fn cross_check(scenario: &Scenario, r: &mut Reader) {
    if scenario.has_star() {
        numbering(scenario, r);
        stars::stars(scenario, r);
        timing(scenario, r);
        routes(scenario, r);
    }
    // Facts derived from slots are meaningless unless slots are sound.
    if r.problems.is_empty() && scenario.has_star() {
        fibres(scenario, r);
        optics::check(scenario, r);
        clocks::check(scenario, r);
        out_of_band::check(scenario, r);
        queues(scenario, r);
        reserved::check(scenario, r);
        aggregation(scenario, r);
        classes(scenario, r);
    }
    let is_sound = r.problems.is_empty();
    for section in SECTIONS {
        (section.check)(scenario, r);
    }
    if scenario.has_groups() {
        routed::cross_check(scenario, r);
    }
    if is_sound {
        phases(scenario, r);
        scheduler::check(scenario, r);
        link_changes(scenario, r);
        faults::check(scenario, r);
        workloads::check(scenario, r);
    }
}

fn numbering(scenario: &Scenario, r: &mut Reader) {
    for (index, edge) in scenario.edges.iter().enumerate() {
        if usize::from(edge.id) != index {
            r.report(
                format!("/edges/{index}/id"),
                format!("id {} out of order", edge.id),
                format!("{index}"),
            );
        }
    }
    for (index, core) in scenario.cores.iter().enumerate() {
        if usize::from(core.id) != index {
            r.report(
                format!("/cores/{index}/id"),
                format!("id {} out of order", core.id),
                format!("{index}"),
            );
        }
    }
}

/// Every edge has a route to each host.
fn routes(scenario: &Scenario, r: &mut Reader) {
    let (hosts, most) = (scenario.edge_host_count() as u64, *ROUTES.end());
    if hosts > most {
        let reason = format!("{hosts} hosts at all edges");
        r.report("/edges".into(), reason, format!("at most {most}"));
    }
}

fn timing(scenario: &Scenario, r: &mut Reader) {
    // The crossbar of a core has as many connections in each of its two banks.
    const CONNECTIONS: u64 = 262_144;
    let frame = &scenario.frame;
    if frame.guard >= frame.slot {
        let reason = format!("a guard of {} fills the slot of {}", frame.guard, frame.slot);
        r.report(
            "/frame/guard_ns".into(),
            reason,
            format!("less than {}", frame.slot.ns()),
        );
    }
    let edges = scenario.edges.len();
    if frame.slots <= scenario.signaling_slots() {
        let reason = format!(
            "{} slots leave no data slot: {edges} edges need one signaling slot each",
            frame.slots
        );
        r.report("/frame/slots".into(), reason, format!("more than {edges}"));
    }
    let (slots, cores) = (u64::from(frame.slots), scenario.cores.len() as u64);
    let most = (SLOTS.end() / cores).min(CONNECTIONS / edges as u64);
    if slots > most {
        let reason = format!("{slots} slots for {cores} cores and {edges} edges do not fit the switch tables");
        r.report("/frame/slots".into(), reason, format!("at most {most}"));
    }
    // Frame numbers have 32 bits on the wire.
    if scenario.end().since_start() / frame.length() > u64::from(u32::MAX) {
        let reason = format!("{} ms exceed 2^32 frames", scenario.duration_ms());
        r.report("/phases".into(), reason, "a shorter run or longer slots");
    }
}

fn fibres(scenario: &Scenario, r: &mut Reader) {
    let mut core_rates = BTreeMap::new();
    let hold = u64::from(scenario.controller.beacon_hold_frames) * scenario.frame.length();
    for (e, edge) in scenario.edges.iter().enumerate() {
        for (f, fibre) in edge.fibres.iter().enumerate() {
            let place = format!("/edges/{e}/fibres/{f}");
            carries_packets(scenario, fibre.core, fibre.rate, format!("{place}/rate_bps"), r);
            // A core knows one time per byte.
            let core_rate = *core_rates.entry(fibre.core).or_insert(fibre.rate);
            if fibre.rate != core_rate {
                let reason = format!("{} differs from the other fibres of the core", fibre.rate);
                r.report(format!("{place}/rate_bps"), reason, core_rate.bps().to_string());
            }
            // A beacon is T_d under way to an edge that is T_d ahead.
            if scenario.frame.signaling == Signaling::InBand && 2 * fibre.delay > hold {
                let reason = format!("at a delay of {} every beacon arrives too late", fibre.delay);
                let expected = format!("at most {} (half of beacon_hold_frames)", (hold / 2).ns());
                r.report(format!("{place}/delay_ns"), reason, expected);
            }
        }
    }
}

/// A slot at this rate carries a packet of full size, and the messages of a signaling slot.
fn carries_packets(scenario: &Scenario, core: u16, rate: Rate, place: String, r: &mut Reader) {
    let capacity = rate.bytes_in(scenario.frame.open());
    let needed = [
        (scenario.wire_mtu(), "a full-size packet"),
        (scenario.signaling_length(core), "all messages in a signaling slot"),
    ];
    for (bytes, what) in needed {
        if capacity < bytes {
            let reason = format!("at {rate} an open slot carries {capacity}, less than the {bytes} of {what}");
            let least = Rate::of_rounded_up(bytes, scenario.frame.open());
            r.report(place.clone(), reason, format!("at least {least}, or longer slots"));
        }
    }
}

/// What edges of a star that make trains cannot have beside them yet.
fn aggregation(scenario: &Scenario, r: &mut Reader) {
    let Some(aggregation) = &scenario.aggregation else {
        return;
    };
    let mut refuse = |is_there: bool, key: &str, reason: &str, expected: &str| {
        if is_there {
            r.report(format!("/aggregation{key}"), reason, expected);
        }
    };
    let scheme = "edge switches of a star do not identify flows";
    refuse(
        aggregation.scheme == Scheme::Flow,
        "/scheme",
        scheme,
        "none, full or class",
    );
    refuse(scenario.has_xcp(), "", "XCP assumes packet queues", "no XCP");
    refuse(
        scenario.cores.len() > 1,
        "",
        "several stars divide demand by flow",
        "one core",
    );
    let invited = "line cards of edges with dynamic membership use a different guard time";
    refuse(scenario.joins_by_invitation(), "", invited, "no 'clocks'");
}

/// Classes of a star are there for its trains: each edge has a queue for each class and edge.
fn classes(scenario: &Scenario, r: &mut Reader) {
    let classes = &scenario.classes;
    let by_class = scenario.aggregation.as_ref();
    let by_class = by_class.is_some_and(|aggregation| aggregation.scheme == Scheme::Class);
    if by_class && classes.is_empty() {
        r.report("/aggregation/scheme".into(), "no classes defined", "'classes' too");
    }
    if !by_class && !classes.is_empty() {
        r.report(
            "/classes".into(),
            "classes apply only to aggregation by class",
            "'aggregation' with scheme 'class'",
        );
    }
    for (index, class) in classes.iter().enumerate() {
        let before = &classes[..index];
        if before.iter().any(|other| other.class == class.class) {
            let reason = format!("duplicate class {}", class.class);
            r.report(format!("/classes/{index}/class"), reason, "each class once");
        }
        if before.iter().any(|other| other.matches == class.matches) {
            let reason = "same match as an earlier class";
            r.report(format!("/classes/{index}/match"), reason, "a unique match");
        }
    }
    let highest = classes.iter().map(|class| usize::from(class.class)).max().unwrap_or(0);
    let queues = scenario.edges.len() * (highest + 1);
    let most = usize::from(SIGNALING_QUEUE);
    if queues > most {
        r.report(
            "/classes".into(),
            format!("{queues} queues (edges times classes)"),
            format!("at most {most}"),
        );
    }
}

fn queues(scenario: &Scenario, r: &mut Reader) {
    let signaling = scenario.cores.iter().map(|core| scenario.signaling_length(core.id));
    let least = signaling.fold(scenario.wire_mtu(), Bytes::max);
    if scenario.queues.limit < least {
        let reason = format!("{} are less than a full-size packet", scenario.queues.limit);
        r.report(
            "/queues/limit_bytes".into(),
            reason,
            format!("at least {}", least.get()),
        );
    }
}

fn phases(scenario: &Scenario, r: &mut Reader) {
    let mut names = BTreeSet::new();
    for (p, phase) in scenario.phases.iter().enumerate() {
        if !names.insert(&phase.name) {
            r.report(
                format!("/phases/{p}/name"),
                format!("duplicate phase name '{}'", phase.name),
                "a unique name",
            );
        }
        if !scenario.has_star() {
            continue;
        }
        let mut flows = 0;
        for (t, traffic) in phase.traffic.iter().enumerate() {
            flows += traffic_entry(scenario, traffic, &format!("/phases/{p}/flows/{t}"), r);
        }
        at_most_flows(r, format!("/phases/{p}/flows"), flows);
    }
}

/// Whether entries do not stand for more flows than there may be, users of the web counted each.
pub(crate) fn at_most_flows(r: &mut Reader, place: String, flows: usize) {
    if flows > MAX_FLOWS {
        let reason = format!("{flows} flows in total");
        r.report(place, reason, format!("at most {MAX_FLOWS}"));
    }
}

/// Checks one entry and counts its flows.
fn traffic_entry(scenario: &Scenario, traffic: &Traffic, place: &str, r: &mut Reader) -> usize {
    let known_from = endpoint(scenario, traffic.from, format!("{place}/from"), r);
    let known_to = endpoint(scenario, traffic.to, format!("{place}/to"), r);
    if !(known_from && known_to) {
        return 0;
    }
    match traffic.kind {
        TrafficKind::Udp { payload_bytes, .. } if payload_bytes + DATAGRAM_HEADER_BYTES > scenario.hosts.mtu => {
            let reason = format!(
                "{payload_bytes} bytes plus headers exceed the MTU of {}",
                scenario.hosts.mtu
            );
            let most = scenario.hosts.mtu - DATAGRAM_HEADER_BYTES;
            r.report(format!("{place}/udp/payload_bytes"), reason, format!("at most {most}"));
        }
        TrafficKind::File { .. } => {
            for (key, end) in [("from", traffic.from), ("to", traffic.to)] {
                if !matches!(end, Endpoint::Host(_)) {
                    r.report(
                        format!("{place}/{key}"),
                        format!("'{end}' is not a single host"),
                        "one host ('hE_K') for a file",
                    );
                }
            }
        }
        _ => {}
    }
    let hostless = |end: Endpoint| matches!(end, Endpoint::Edge(id) if scenario.edges.iter().any(|edge| edge.id == id && edge.hosts == 0));
    for (key, end) in [("from", traffic.from), ("to", traffic.to)] {
        if hostless(end) {
            r.report(
                format!("{place}/{key}"),
                format!("{end} has no hosts"),
                "an edge with hosts",
            );
            return 0;
        }
    }
    let pairs = scenario.host_pairs(traffic);
    if pairs.is_empty() || pairs.iter().any(|(from, to)| from == to) {
        let reason = format!("no host pair from '{}' to '{}'", traffic.from, traffic.to);
        r.report(format!("{place}/to"), reason, "hosts of another edge");
    }
    stars::common_cores(scenario, &pairs, place, r);
    match traffic.kind {
        TrafficKind::Web { users, .. } => pairs.len() * users as usize,
        _ => pairs.len(),
    }
}

fn endpoint(scenario: &Scenario, endpoint: Endpoint, place: String, r: &mut Reader) -> bool {
    let edge = match endpoint {
        Endpoint::All => return true,
        Endpoint::Edge(edge) => edge,
        Endpoint::Host(host) => host.edge,
    };
    let Some(found) = scenario.edges.get(usize::from(edge)) else {
        let last = scenario.edges.len() - 1;
        let reason = format!("unknown edge {edge}");
        r.report(place, reason, format!("an edge from 0 to {last}"));
        return false;
    };
    match endpoint {
        Endpoint::Host(host) if host.index >= found.hosts => {
            let reason = format!("edge {edge} has {} hosts; {host} does not exist", found.hosts);
            r.report(place, reason, "an existing host, numbered from 0");
            false
        }
        _ => true,
    }
}

fn link_changes(scenario: &Scenario, r: &mut Reader) {
    for (index, change) in scenario.link_changes.iter().enumerate() {
        let place = r.changes.fibres[index].clone();
        if change.at_ms >= scenario.duration_ms() {
            let reason = format!("{} ms is after the end of the run", change.at_ms);
            r.report(
                format!("{place}/at_ms"),
                reason,
                format!("less than {}", scenario.duration_ms()),
            );
        }
        let edge = scenario.edges.get(usize::from(change.edge));
        let fibre = edge.and_then(|edge| edge.fibre_to(change.core));
        if fibre.is_none() {
            let reason = format!("no fibre between edge {} and core {}", change.edge, change.core);
            r.report(format!("{place}/edge"), reason, "an edge with a fibre to that core");
        }
        if let Some(rate) = change.rate {
            carries_packets(scenario, change.core, rate, format!("{place}/rate_bps"), r);
            // A core knows one time per byte, and drops what it takes to last beyond its slot.
            if let Some(fibre) = fibre.filter(|fibre| rate > fibre.rate) {
                let reason = format!("{rate} exceeds the initial rate that the core is configured for");
                r.report(
                    format!("{place}/rate_bps"),
                    reason,
                    format!("at most {}", fibre.rate.bps()),
                );
            }
        }
    }
}
