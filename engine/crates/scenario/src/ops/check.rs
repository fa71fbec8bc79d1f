// SPDX-License-Identifier: Apache-2.0
//! Whether optical packet switches, their edges and fibres fit together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use slotwise_units::{Bytes, Rate};
use slotwise_wire::{MAX_CORES, MAX_FIBRES, SIGNALING_QUEUE};

use super::parse::BUFFERED;
use super::{FRAME_OVERHEAD_BYTES, IPV4_BYTES, Macroflows, Ops, OpsEdge, OpsMatch, Scheme};
use crate::address::Device;
use crate::model::{Scenario, Transport};
use crate::reader::{Reader, shortened};
use crate::routed::Source;

/// First and second choice.
const FIBRES_OF_TWO: usize = 2;
/// What a train reaches beside the far ends of links: its first switch and its edge.
const HOPS_BESIDE_LINKS: usize = 2;
/// Rates of edges are byte/s in 32 bits, and what they measure in a period has 31.
const MAX_SHARED: Rate = Rate::from_bps(8 * u32::MAX as u64);
const MAX_SHARED_IN_A_PERIOD: Bytes = Bytes::new(i32::MAX as u64);

/// Whether its parts fit together.
pub(super) fn check(scenario: &Scenario, r: &mut Reader) {
    let Some(ops) = &scenario.ops else { return };
    let mut names = BTreeSet::new();
    let switches = ops.switches.iter().enumerate();
    let switches = switches.map(|(index, name)| (format!("/ops/switches/{index}"), name));
    let edges = ops.edges.iter().enumerate();
    let edges = edges.map(|(index, edge)| (format!("/ops/edges/{index}"), &edge.name));
    for (place, name) in switches.chain(edges) {
        if !names.insert(name) {
            r.report(place, format!("duplicate name '{name}'"), "a unique name");
        }
    }
    let mut pairs = BTreeSet::new();
    for (index, link) in ops.links.iter().enumerate() {
        let [a, b] = link.between;
        let place = format!("/ops/links/{index}/between");
        if a == b {
            r.report(place, "a fibre from a switch to itself", "two different switches");
        } else if !pairs.insert([a.min(b), a.max(b)]) {
            r.report(place, "duplicate fibre between two switches", "at most one per pair");
        }
    }
    let mut ways = BTreeSet::new();
    for (index, fibre) in ops.fibres().iter().enumerate() {
        // Both ways: columns and captures name them.
        let names = ops.way_names(fibre);
        if let Some(name) = names.iter().find(|name| ways.contains(*name)) {
            let place = match index.checked_sub(ops.links.len()) {
                Some(edge) if ops.direct.is_empty() => format!("/ops/edges/{edge}"),
                _ => format!("/ops/links/{index}"),
            };
            r.report(
                place,
                format!("duplicate span name '{name}'"),
                "node names that give unique span names",
            );
        }
        ways.extend(names);
    }
    let ports = u64::from(ops.wavelengths) + u64::from(ops.probes.is_some());
    if ports > u64::from(MAX_CORES) {
        let reason = format!("{ports} wavelengths exceed the {MAX_CORES} ports of an edge");
        r.report(
            "/ops/wavelengths".into(),
            reason,
            format!("at most {MAX_CORES}, including the one for probes"),
        );
    }
    let most = usize::from(MAX_FIBRES >> ops.fibre_shift());
    for (index, name) in ops.switches.iter().enumerate() {
        let here = |node: u16| usize::from(node) == index;
        let links = ops
            .links
            .iter()
            .flat_map(|link| link.between)
            .filter(|node| here(*node));
        let fibres = links.count() + ops.edges.iter().filter(|edge| edge.switch.is_some_and(here)).count();
        if fibres > most {
            let reason = format!("switch '{name}' has {fibres} fibres");
            r.report(format!("/ops/switches/{index}"), reason, format!("at most {most}"));
        }
    }
    if ops.switches.is_empty() {
        check_direct(ops, r);
    } else {
        check_ways(ops, r);
    }
    check_ingress(scenario, ops, r);
    check_guard(ops, r);
    check_classes(ops, r);
    check_queues(scenario, ops, r);
    check_share(scenario, ops, r);
    check_pace(scenario, ops, r);
}

/// Fibres between edges.
fn check_direct(ops: &Ops, r: &mut Reader) {
    let mut pairs: BTreeMap<[u16; 2], usize> = BTreeMap::new();
    let mut fibres = vec![0usize; ops.edges.len()];
    for (index, link) in ops.direct.iter().enumerate() {
        let [a, b] = link.between;
        let place = format!("/ops/links/{index}/between");
        if a == b {
            r.report(place, "a fibre from an edge to itself", "two edges");
            continue;
        }
        let between = pairs.entry([a.min(b), a.max(b)]).or_default();
        *between += 1;
        if *between > FIBRES_OF_TWO {
            r.report(
                place,
                "third fibre between two edges",
                "at most a primary and an alternate fibre",
            );
        }
        for edge in [a, b] {
            fibres[usize::from(edge)] += 1;
        }
    }
    let most = (MAX_CORES >> ops.fibre_shift()) as usize;
    for (index, edge) in ops.edges.iter().enumerate() {
        if fibres[index] > most {
            let reason = format!("edge '{}' has {} fibres", edge.name, fibres[index]);
            r.report(format!("/ops/edges/{index}"), reason, format!("at most {most}"));
        }
    }
    let edges = ops.edges.len();
    if pairs.len() < edges * edges.saturating_sub(1) / 2 {
        let expected = "a fibre between any two edges, or switches";
        r.report("/ops/links".into(), "edges without a fibre between them", expected);
    }
    if ops.probes.is_some() {
        r.report(
            "/ops/probes".into(),
            "without switches nothing answers probes",
            "no 'probes'",
        );
    }
}

/// What waits at edges.
fn check_ingress(scenario: &Scenario, ops: &Ops, r: &mut Reader) {
    let packet_bytes = u64::from(scenario.routed.packet_bytes);
    let buffer = ops.ingress.bytes;
    if buffer < Bytes::new(packet_bytes) {
        let reason = format!("{buffer} are less than a packet of {packet_bytes} bytes");
        let place = if buffer == ops.rate.bytes_in(BUFFERED) {
            "/ops/rate_bps"
        } else {
            "/ops/ingress/bytes"
        };
        r.report(place.into(), reason, format!("at least {packet_bytes}"));
    }
    if ops.aggregation.is_some() && u64::from(ops.framing_bytes) > FRAME_OVERHEAD_BYTES {
        let expected = format!("at most {FRAME_OVERHEAD_BYTES}, so that labels are counted");
        r.report(
            "/ops/framing_bytes".into(),
            "a burst has one label for several frames",
            expected,
        );
    }
    let place = |key: &str| format!("/ops/ingress/{key}");
    if ops.ingress.fair && ops.ingress.trains.is_none() {
        r.report(
            place("discipline"),
            "fair queueing needs a limit on waiting bursts",
            "'bursts' too",
        );
    }
    if ops.ingress.fair && ops.aggregation.is_none() {
        let reason = "without aggregation no label requests carry finish tags";
        r.report(place("discipline"), reason, "'aggregation' too");
    }
    if ops.ingress.trains.is_some() && ops.macroflows.is_some() {
        let reason = "macroflow pacing does not queue for a wavelength";
        r.report(place("bursts"), reason, "no 'bursts' with 'macroflows'");
    }
}

/// Times are whole ns: a frame that takes less ends when it begins, perhaps as the next train does, unless something is between them.
fn check_guard(ops: &Ops, r: &mut Reader) {
    if u64::from(ops.framing_bytes) > FRAME_OVERHEAD_BYTES {
        // Too many with an aggregation, which is reported; without one a train is a frame.
        return;
    }
    let shortest = IPV4_BYTES + FRAME_OVERHEAD_BYTES - u64::from(ops.framing_bytes);
    let takes_nothing = ops.rate.time_rounded_down(Bytes::new(shortest)).is_zero();
    if ops.aggregation.is_some() && !ops.switches.is_empty() && ops.guard.is_zero() && takes_nothing {
        r.report(
            "/ops/guard_ns".into(),
            format!("a frame of {shortest} bytes takes less than 1 ns, so bursts are not separated"),
            "at least 1 with multi-frame bursts at this rate",
        );
    }
}

fn check_classes(ops: &Ops, r: &mut Reader) {
    let (mut numbers, mut matched): (BTreeSet<u8>, Vec<OpsMatch>) = (BTreeSet::new(), Vec::new());
    for (index, class) in ops.classes.iter().enumerate() {
        let place = |key: &str| format!("/ops/classes/{index}/{key}");
        #[expect(clippy::float_cmp, reason = "the default is exact")]
        if class.weight != 1.0 && !ops.ingress.fair {
            r.report(
                place("weight"),
                "weights have no effect: classes on a wavelength are served in arrival order",
                "'ingress: {discipline: fair, trains: 4}' and 'aggregation', or no 'weight'",
            );
        }
        if !numbers.insert(class.class) {
            r.report(
                place("class"),
                format!("duplicate class {}", class.class),
                "a unique number",
            );
        }
        if class.wavelength >= ops.wavelengths {
            let reason = format!("unknown data wavelength {}", class.wavelength);
            r.report(place("wavelength"), reason, format!("below {}", ops.wavelengths));
        }
        if let Some(matches) = class.matches {
            if matched.contains(&matches) {
                r.report(place("match"), "same match as another class", "a unique match");
            }
            matched.push(matches);
        }
    }
}

/// Edges that share.
fn check_share(scenario: &Scenario, ops: &Ops, r: &mut Reader) {
    let (
        Some(Macroflows {
            satisfied,
            share: Some(share),
        }),
        Some(probes),
    ) = (ops.macroflows, ops.probes)
    else {
        return;
    };
    let place = |key: &str| format!("/ops/macroflows/{key}");
    if satisfied {
        r.report(
            place("satisfied"),
            "no agent receives it",
            "no 'satisfied' with 'share'",
        );
    }
    if ops.target < 1.0 {
        r.report(
            "/ops/target_utilization".into(),
            "no agent uses it with 'share'",
            "no 'target_utilization': 'capacity_bps' of 'share' is the limit",
        );
    }
    let capacity = share.capacity;
    let line = ops.rate.saturating_mul(u64::from(ops.wavelengths));
    let most = line.min(MAX_SHARED);
    if capacity > most {
        let reason = format!("{capacity} exceed the {line} of an edge");
        r.report(place("share/capacity_bps"), reason, format!("at most {}", most.bps()));
    }
    let in_a_period = capacity.bytes_in(probes.period);
    if in_a_period > MAX_SHARED_IN_A_PERIOD {
        let reason = format!("{in_a_period} per period");
        r.report(
            place("share/capacity_bps"),
            reason,
            format!("at most {}", MAX_SHARED_IN_A_PERIOD.get()),
        );
    }
    let others = (ops.edges.len() as u64).saturating_sub(1) * u64::from(ops.class_count());
    let floor = ops.floor(scenario.routed.packet_bytes, &probes);
    let least = floor.saturating_mul(others);
    if capacity < least {
        let reason = format!("the {others} macroflows of an edge may each send one packet per period, {least}");
        r.report(place("share/capacity_bps"), reason, format!("at least {}", least.bps()));
    }
}

/// What nobody would heed.
fn check_pace(scenario: &Scenario, ops: &Ops, r: &mut Reader) {
    if ops.macroflows.is_none() && ops.target < 1.0 {
        r.report(
            "/ops/target_utilization".into(),
            "no edge paces traffic at the rates of agents",
            "'probes' and 'macroflows' too",
        );
    }
    for (index, group) in scenario.routed.flows.iter().enumerate() {
        let is_of_tcp = matches!(group.source, Source::Stream { .. } | Source::Web { .. });
        if is_of_tcp && group.transport == Transport::Xcp {
            r.report(
                format!("/flows/{index}/transport"),
                "optical packet switches send no rate feedback to hosts",
                "a TCP variant; with 'macroflows' edges pace it at XCP rates",
            );
        }
    }
}

/// Queues of edges.
fn check_queues(scenario: &Scenario, ops: &Ops, r: &mut Reader) {
    let (edges, classes) = (ops.edges.len(), usize::from(ops.class_count()));
    // Numbers of ports are none of queues.
    let most = usize::from(SIGNALING_QUEUE) - MAX_CORES as usize;
    if edges * classes > most {
        let reason = format!("{edges} edges times {classes} classes");
        r.report("/ops/classes".into(), reason, format!("at most {most} queues"));
        return;
    }
    let is_by_flow = ops
        .aggregation
        .as_ref()
        .is_some_and(|aggregation| aggregation.scheme == Scheme::Flow);
    if !is_by_flow {
        return;
    }
    for (index, group) in scenario.routed.flows.iter().enumerate() {
        if matches!(group.source, Source::Web { .. }) {
            let reason = "web pages have no separate queues";
            r.report(format!("/flows/{index}"), reason, "another scheme, or no 'web' flows");
        }
    }
    let mut flows = vec![0usize; edges];
    for group in &scenario.routed.flows {
        for party in [group.from, group.to] {
            if let Device::OpsEdge(edge) = scenario.node_of(party)
                && let Some(flows) = flows.get_mut(usize::from(edge))
            {
                *flows += scenario.flow_hosts(group).len();
            }
        }
    }
    for (index, flows) in flows.into_iter().enumerate() {
        if edges * classes + flows > most {
            let reason = format!("edge '{}' has {flows} flows", ops.edges[index].name);
            let expected = format!("at most {most} queues, {} of which are for edges", edges * classes);
            r.report("/ops/aggregation/scheme".into(), reason, expected);
        }
    }
}

/// Whether links lead from each switch to each other one, and trains may take as many as it needs.
fn check_ways(ops: &Ops, r: &mut Reader) {
    let mut near = vec![Vec::new(); ops.switches.len()];
    for [a, b] in ops.links.iter().map(|link| link.between.map(usize::from)) {
        near[a].push(b);
        near[b].push(a);
    }
    let links = links_from(&near, 0);
    let cut_off = ops.switches.iter().zip(&links).filter(|(_, links)| links.is_none());
    let cut_off: Vec<String> = cut_off.map(|(name, _)| name.clone()).collect();
    if !cut_off.is_empty() {
        let reason = format!(
            "disconnected switches: no path from '{}' to {}",
            ops.switches[0],
            shortened(&cut_off)
        );
        let expected = "links that connect all edges";
        r.report("/ops/links".into(), reason, expected);
        return;
    }
    let at = |edge: &OpsEdge| edge.switch.map(usize::from);
    let with_edges: BTreeSet<usize> = ops.edges.iter().filter_map(at).collect();
    let ways = with_edges.iter().flat_map(|&from| {
        let links = links_from(&near, from);
        with_edges.iter().map(move |&to| (links[to].unwrap_or(0), from, to))
    });
    // Of ways of one length the first one.
    let longest = ways.max_by_key(|&(links, from, to)| (links, Reverse((from, to))));
    if let Some((links, from, to)) = longest
        && links + HOPS_BESIDE_LINKS > usize::from(ops.hops)
    {
        let (from, to) = (&ops.switches[from], &ops.switches[to]);
        r.report(
            "/ops/max_hops".into(),
            format!(
                "a burst from an edge at '{from}' crosses {} switches to an edge at '{to}'",
                links + 1
            ),
            format!("at least {}", links + HOPS_BESIDE_LINKS),
        );
    }
}

/// How many links lead from a switch to each; `None`: none do.
fn links_from(near: &[Vec<usize>], from: usize) -> Vec<Option<usize>> {
    let mut links = vec![None; near.len()];
    links[from] = Some(0);
    let mut frontier = VecDeque::from([(from, 0)]);
    while let Some((here, so_far)) = frontier.pop_front() {
        for &next in &near[here] {
            if links[next].is_none() {
                links[next] = Some(so_far + 1);
                frontier.push_back((next, so_far + 1));
            }
        }
    }
    links
}
