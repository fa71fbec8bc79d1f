// SPDX-License-Identifier: Apache-2.0
//! Short files: defaults, ranges, lists that are walked together, and flows by places and pairs.

use slotwise_scenario::{Scenario, ScenarioError};
use slotwise_units::{Bytes, Duration, Rate};

const NSFNET: &str = include_str!("../../../../topologies/nsfnet.yaml");
const RING24: &str = include_str!("../../../../topologies/ring24.yaml");

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.located(text.as_bytes())))
}

fn refused(text: &str) -> String {
    match Scenario::parse(text.as_bytes()) {
        Err(error @ ScenarioError::Invalid(_)) => error.located(text.as_bytes()).to_string(),
        other => panic!("{other:?}"),
    }
}

/// Names and ends of the flows of four routers in a row, each with a group `h0` to `h3`, for entries of flows.
fn flows(entries: &str) -> Vec<String> {
    let text = format!("{ROUTERS}flows: {entries}\n");
    let scenario = parsed(&text);
    let name = |flow: &slotwise_scenario::FlowGroup| {
        let hosts = scenario.flow_hosts(flow).next().unwrap();
        format!("{} {}>{}", flow.name, hosts.0, hosts.1)
    };
    scenario.routed.flows.iter().map(name).collect()
}

const ROUTERS: &str = "routers: r0..r3
links: {from: [r0, r1, r2, r1, r2, r3], to: [r1, r2, r3, r0, r1, r2], rate: 1 Gbit/s, delay: 1 ms}
duration: 1 s
";

#[test]
fn a_star_has_three_lines() {
    let text = "edges: 4\nduration: 10 s\nflows: [{from: all, to: all}]\n";
    let star = Scenario::parse_named(text.as_bytes(), "mine").unwrap();
    assert_eq!((star.name.as_str(), star.seed, star.frame.slots), ("mine", 1, 20));
    assert_eq!(
        (star.frame.slot, star.frame.guard),
        (Duration::from_us(250), Duration::from_us(10))
    );
    assert_eq!((star.cores.len(), star.cores[0].master), (1, 0));
    let edges: Vec<_> = star
        .edges
        .iter()
        .map(|edge| (edge.id, edge.hosts, edge.fibres.len()))
        .collect();
    assert_eq!(edges, [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    let fibre = star.edges[3].fibres[0];
    assert_eq!(
        (fibre.rate, fibre.delay, fibre.port),
        (Rate::from_bps(200_000_000), Duration::from_us(10), 3)
    );
    assert_eq!((star.hosts.mtu, star.queues.limit), (1500, Bytes::new(400_000)));
    assert_eq!(
        (star.phases[0].name.as_str(), star.phases[0].duration_ms),
        ("run", 10_000)
    );
    assert_eq!(star.flows(0).len(), 12);
    assert_eq!(
        Scenario::parse_named(text.as_bytes(), "no name").unwrap().name,
        "scenario"
    );
}

#[test]
fn edges_and_cores_are_counted_or_walked() {
    let phases = "phases: [{duration: 1 s, flows: []}, {duration: 1 s, flows: []}]\n";
    let two = "cores: [{master: 0}, {master: 2}]\n";
    let star = parsed(&format!(
        "{two}edges: {{hosts: 2, rate: 1 Gbit/s, delay: [10 us, 25 us, 60 us]}}\n{phases}"
    ));
    let delays: Vec<_> = star
        .edges
        .iter()
        .map(|edge| (edge.hosts, edge.fibres[1].delay.ns()))
        .collect();
    assert_eq!(delays, [(2, 10_000), (2, 25_000), (2, 60_000)]);
    assert_eq!(
        star.cores.iter().map(|core| (core.id, core.master)).collect::<Vec<_>>(),
        [(0, 0), (1, 2)]
    );
    assert_eq!(
        star.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(),
        ["phase1", "phase2"]
    );
    let star = parsed(&format!("cores: 2\nedges: {{count: 3, length: 2 km}}\n{phases}"));
    assert_eq!(star.cores.iter().map(|core| core.master).collect::<Vec<_>>(), [0, 1]);
    assert!(
        star.edges
            .iter()
            .all(|edge| edge.fibres.iter().all(|fibre| fibre.delay == Duration::from_us(10)))
    );
    assert_eq!(star.edges.len(), 3);
    assert_eq!(
        refused(&format!("edges: 1\n{phases}")),
        "line 1: /edges: found 1 elements; expected a list of 2 to 240 elements"
    );
    assert_eq!(
        refused(&format!("edges: many\n{phases}")).lines().next(),
        Some("line 1: /edges: found 'many'; expected a list of 2 to 240 elements")
    );
}

#[test]
fn hosts_are_one_at_each_node_by_default() {
    for (nodes, names) in [
        (ROUTERS.to_owned(), ["h0", "h1", "h2", "h3"]),
        (
            "ring: {stations: [a, {name: b, weight: 2}, c, d], links: {rate: 1 Gbit/s, delay: 10 us}}\nduration: 1 s\n"
                .into(),
            ["h0", "h1", "h2", "h3"],
        ),
        (
            "ops: {switches: s0..s3, links: {between: [s0, s1], km: 1}, rate: 1 Gbit/s, ram: 9 KB}\nduration: 1 s\n"
                .into(),
            ["h0", "h1", "h2", "h3"],
        ),
    ] {
        let scenario = match nodes.contains("ops") {
            true => parsed(
                &(nodes.replace(
                    "links: {between: [s0, s1], km: 1}",
                    "links: [{between: [s0, s1], km: 1}, {between: [s1, s2], km: 1}, {between: [s2, s3], km: 1}]",
                ) + "flows: {from: h0, to: h3}\n"),
            ),
            false => parsed(&(nodes + "flows: {from: h0, to: h3}\n")),
        };
        let found: Vec<_> = scenario.routed.hosts.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(found, names);
        let group = &scenario.routed.hosts[3];
        assert_eq!(
            (group.count, group.rate, group.up_delay),
            (1, Rate::from_bps(1_000_000_000), Duration::from_us(1))
        );
        let packet_bytes = if scenario.ring.is_some() { 1470 } else { 1500 };
        assert_eq!(
            (scenario.routed.packet_bytes, scenario.routed.sample_ms),
            (packet_bytes, 100)
        );
    }
}

#[test]
fn buffers_are_packets_or_data() {
    let hosts = |buffer: &str| {
        format!(
            "{ROUTERS}hosts: [{{name: a, at: r0, buffer: {buffer}}}, {{name: b, at: r3}}]\nflows: {{from: a, to: b}}\n"
        )
    };
    let buffer = |text: &str| format!("{:?}", parsed(&hosts(text)).routed.hosts[0].buffer);
    assert_eq!(buffer("7 packets"), "Packets(7)");
    assert_eq!(buffer("64 KB"), "Bytes(Bytes(64000))");
    assert_eq!(buffer("{packets: 5}"), "Packets(5)");
    assert!(
        refused(&hosts("7 things"))
            .starts_with("line 4: /hosts/0/buffer/bytes: found '7 things': unknown unit 'things'")
    );
    assert!(
        refused(&hosts("many packets"))
            .starts_with("line 4: /hosts/0/buffer/packets: found 'many'; expected an integer")
    );
    assert!(refused(&hosts("0 packets")).contains("/hosts/0/buffer/packets: found 0"));
}

#[test]
fn a_node_is_named_once() {
    let text =
        format!("{ROUTERS}hosts: [{{name: a, at: r0, router: r1}}, {{name: b, at: r3}}]\nflows: {{from: a, to: b}}\n");
    assert!(refused(&text).starts_with("line 4: /hosts/0/router: 'router' was renamed to 'at'"));
}

#[test]
fn flows_go_to_places_behind_their_sender() {
    assert_eq!(
        flows("{from: h0..h3, to: +1}"),
        ["h0-h1 0>1", "h1-h2 1>2", "h2-h3 2>3", "h3-h0 3>0"]
    );
    assert_eq!(
        flows("{name: 't{from.index}-{to.index}', from: [h2, h3], to: +1 +3}"),
        ["t2-3 2>3", "t2-1 2>1", "t3-0 3>0", "t3-2 3>2"]
    );
    assert_eq!(flows("{from: h3, to: +2}"), ["h3-h1 3>1"]);
}

#[test]
fn flows_are_pairs() {
    assert_eq!(flows("{from: [h0, h1], to: [h2, h3]}"), ["h0-h2 0>2", "h1-h3 1>3"]);
    assert_eq!(
        flows("{from: [h0, h1], to: [h2, h3], pairs: same}"),
        ["h0-h2 0>2", "h1-h3 1>3"]
    );
    assert_eq!(flows("{from: [h0, h1], to: h3}"), ["h0-h3 0>3", "h1-h3 1>3"]);
    assert_eq!(flows("{from: h3, to: h0..h1}"), ["h3-h0 3>0", "h3-h1 3>1"]);
    assert_eq!(
        flows("{from: [h0, h1], to: [h1, h2], pairs: each}"),
        ["h0-h1 0>1", "h0-h2 0>2", "h1-h2 1>2"]
    );
    assert_eq!(
        flows("{name: 'f{index}', from: [h0, h1, h2], pairs: all}"),
        ["f0 0>1", "f1 0>2", "f2 1>0", "f3 1>2", "f4 2>0", "f5 2>1"]
    );
}

#[test]
fn a_permutation_is_drawn_from_the_seed_and_sends_nothing_back() {
    let drawn = |seed: u64| {
        let text = format!("{ROUTERS}seed: {seed}\nflows: {{from: h0..h3, pairs: permutation}}\n");
        let scenario = parsed(&text);
        let ends = |flow| scenario.flow_hosts(flow).next().unwrap();
        scenario.routed.flows.iter().map(ends).collect::<Vec<_>>()
    };
    for seed in 1..50 {
        let pairs = drawn(seed);
        assert!(pairs.iter().all(|(from, to)| from != to), "{pairs:?}");
        let mut receivers: Vec<usize> = pairs.iter().map(|(_, to)| *to).collect();
        receivers.sort_unstable();
        assert_eq!(receivers, [0, 1, 2, 3]);
        assert_eq!(pairs, drawn(seed));
    }
    assert!((2..50).any(|seed| drawn(seed) != drawn(1)));
}

#[test]
fn starts_follow_each_other() {
    let starts = |entry: &str| -> Vec<u64> {
        let scenario = parsed(&format!("{ROUTERS}flows: {entry}\n"));
        scenario.routed.flows.iter().map(|flow| flow.start_ms).collect()
    };
    assert_eq!(
        starts("{from: h0..h2, to: +1, start: 0.1 s, every: 50 ms}"),
        [100, 150, 200]
    );
    assert_eq!(starts("{from: h0..h2, to: +1, every_ms: 50}"), [0, 50, 100]);
    assert_eq!(starts("{from: [h0, h1], to: h3, start: [5 ms, 100 ms]}"), [5, 100]);
}

#[test]
fn wrong_short_forms_are_refused_with_line_and_expected_value() {
    const PATTERN: &str = "a range, a list, or a pattern with keys of the entry such as '{from}-{to}'";
    for (entry, problem) in [
        (
            "{from: h0..h3, to: [h1, h2]}",
            "/flows/0/to: 2 elements under 'to', 4 under 'from'; expected lists of one length in an entry, or 'pairs: each'".to_owned(),
        ),
        (
            "{from: h0..h3, to: +1, dscp: [1, 2]}",
            "/flows/0/dscp: 2 elements under 'dscp', 4 under 'to'; expected lists of one length in an entry".to_owned(),
        ),
        ("{name: x, from: h0..h3, to: +1}", format!("/flows/0/name: 'x' is the name of 4 entries; expected {PATTERN}")),
        (
            "{name: 'x{too}', from: h0..h3, to: +1}",
            "/flows/0/name: unknown '{too}'; expected keys of the entry with a name or number, such as '{from}' or '{from.index}', or '{index}'".to_owned(),
        ),
        (
            "{from: h3..h0, to: h1}",
            "/flows/0/from: found 'h3..h0'; expected a range from its first to its last number, of at most 10000".to_owned(),
        ),
        (
            "{from: h0..h99999, to: h1}",
            "/flows/0/from: found 'h0..h99999'; expected a range from its first to its last number, of at most 10000".to_owned(),
        ),
        (
            "{from: [h0, x], to: +1}",
            "/flows/0/from: found 'x'; expected the name of a group of hosts: h0, h1, h2, h3".to_owned(),
        ),
        ("{from: h0..h3, pairs: some}", "/flows/0/pairs: found 'some'; expected same or each or all or permutation, or weights such as {skew: 0.5}".to_owned()),
        (
            "{from: h0..h3, to: +1, pairs: each}",
            "/flows/0/pairs: 'pairs' given with places behind the sender; expected one of the two".to_owned(),
        ),
        (
            "{from: h0..h3, to: h1, pairs: all}",
            "/flows/0/to: receivers are the other senders; expected no 'to', and several senders under 'from'".to_owned(),
        ),
    ] {
        let text = format!("{ROUTERS}flows:\n- {entry}\n");
        assert_eq!(refused(&text), format!("line 5: {problem}"), "{entry}");
    }
    let every = refused(&format!("{ROUTERS}flows:\n- {{from: h0..h3, to: +1, every: 5}}\n"));
    assert!(
        every.starts_with("line 5: /flows/0/every: found 5; expected a time from 0 ns to 24 h"),
        "{every}"
    );
    let walked = refused(&ROUTERS.replace("r1, r2, r3, r0, r1, r2", "r1, r2"));
    assert_eq!(
        walked,
        "line 2: /links/0/to: 2 elements under 'to', 6 under 'from'; expected lists of one length in an entry"
    );
}

#[test]
fn a_problem_of_an_unfolded_entry_has_the_line_of_the_entry() {
    let text = format!("{ROUTERS}flows:\n- {{from: h0, to: h1}}\n- {{from: h0..h3, to: +1, dscp: 64}}\n");
    let problems = refused(&text);
    assert!(
        problems.starts_with("line 6: /flows/1/dscp: found 64; expected an integer from 0 to 63"),
        "{problems}"
    );
}

#[test]
fn a_short_file_does_not_unfold_into_a_huge_one() {
    let long = "x".repeat(400_000);
    let text =
        format!("{ROUTERS}flows:\n- {{from: h0..h3, to: +1, a: {long}, dscp: 0..3}}\n- {{name: f0..f99, b: {long}}}\n");
    let problems = refused(&text);
    assert!(
        problems.starts_with(
            "line 6: /flows/1: file unfolds to too much; expected entries that unfold to 16000000 characters at most"
        ),
        "{problems}"
    );
    let text = format!(
        "{ROUTERS}hosts: {{name: h0..h9999, at: r0}}\nflows:\n- {{from: h0..h9999, to: h0..h9999, pairs: each}}\n"
    );
    assert_eq!(
        refused(&text),
        "line 6: /flows/0/from: too many flows; expected senders and receivers in at most 1000000 combinations"
    );
}

#[test]
fn large_networks_take_few_lines() {
    let content = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(content(NSFNET) <= 30 && content(RING24) <= 20);
    let nsfnet = parsed(NSFNET);
    let names: Vec<&str> = nsfnet.routed.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(
        (names.len(), names[0], names[4], names[69], names[70], names[83]),
        (84, "t0-1", "t0-11", "t13-10", "u0-7", "u13-6")
    );
    let ring = parsed(RING24);
    let last = &ring.routed.flows[22];
    assert_eq!(
        (last.name.as_str(), last.start_ms, ring.routed.hosts.len()),
        ("udp22", 16_000, 46)
    );
}

#[test]
fn the_plain_form_has_every_entry_and_default() {
    for text in [NSFNET, RING24, "edges: 4\nduration: 10 s\nflows: []\n"] {
        let plain = Scenario::plain(text.as_bytes(), "mine").unwrap();
        assert_eq!(parsed(&plain), Scenario::parse_named(text.as_bytes(), "mine").unwrap());
        let schema = include_str!("../../../../schema/scenario.schema.json");
        let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&serde_json::from_str(&plain).unwrap())
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}
