// SPDX-License-Identifier: Apache-2.0
//! Facts that follow from scenarios, and hostile input.

use proptest::prelude::*;
use slotwise_scenario::{
    Device, Endpoint, HostId, MAX_FILE_BYTES, Party, Scenario, ScenarioError, ScenarioFile, TrafficKind, Transport,
};
use slotwise_units::{Bytes, Duration, Instant};

const STAR4: &str = include_str!("../../../../topologies/star4.yaml");

fn star4() -> Scenario {
    Scenario::parse(STAR4.as_bytes()).unwrap()
}

#[test]
fn star4_has_the_times_and_sizes_of_its_comment() {
    let star = star4();
    let fibre = star.edges[3].fibres[0];
    assert_eq!(star.frame.length(), Duration::from_ms(5));
    assert_eq!(star.epoch(), Instant::from_ns(5_000_000));
    assert_eq!(star.wire_mtu(), Bytes::new(1480));
    assert_eq!(star.slot_capacity(&fibre), Bytes::new(6000));
    assert_eq!(star.slot_payload(&fibre), Bytes::new(4 * 1450));
    assert_eq!(fibre.rate.time(Bytes::new(1480)), Duration::from_ns(59_200));
    assert_eq!(fibre.t_d(), Duration::from_us(100));
    assert_eq!(
        (
            star.voq_count(),
            star.request_blocks(0),
            star.first_slot_ticks(0, 0),
            star.signaling_ticks(0)
        ),
        (4, 0..1, 2, 2)
    );
    assert_eq!(star.data_slots(), 16);
    let phase = (Instant::from_ns(6_005_000_000), Instant::from_ns(12_005_000_000));
    assert_eq!(star.phase_times(1), phase);
    assert_eq!(star.end(), Instant::from_ns(22_005_000_000));
}

#[test]
fn a_fibre_too_slow_for_a_packet_in_a_slot_is_refused_with_both_sizes() {
    let slow = STAR4.replacen("rate_bps: 200000000", "rate_bps: 40000000", 1);
    let refused = Scenario::parse(slow.as_bytes()).unwrap_err().to_string();
    let reason = "at 40000000 bit/s an open slot carries 1200 bytes, less than the 1480 bytes of a full-size packet";
    assert!(refused.contains(reason), "{refused}");
}

#[test]
fn all_to_all_joins_every_pair_of_edges() {
    let star = star4();
    let flows = star.flows(0);
    assert_eq!(flows.len(), 24);
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            let pair = flows
                .iter()
                .filter(|flow| flow.from.edge == from && flow.to.edge == to)
                .count();
            assert_eq!(pair, 2, "edge {from} to edge {to}");
        }
    }
}

#[test]
fn an_edge_pair_and_a_file_stand_for_what_they_say() {
    let star = star4();
    let hot: Vec<_> = star.flows(1).into_iter().filter(|flow| flow.entry == 1).collect();
    let host = |edge, index| HostId { edge, index };
    assert_eq!(
        hot.iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>(),
        [(host(1, 0), host(2, 0)), (host(1, 1), host(2, 1))]
    );
    let file = star.flows(2).pop().unwrap();
    assert_eq!((file.from, file.to), (host(1, 0), host(3, 1)));
    assert_eq!(
        file.kind,
        TrafficKind::File {
            bytes: Bytes::new(50_000_000),
            transport: Transport::Cubic
        }
    );
}

#[test]
fn scaling_keeps_proportions_and_hits_the_total() {
    let mut star = star4();
    let scaled = star.scaled_to(7_001).unwrap();
    assert_eq!(scaled.duration_ms(), 7_001);
    let durations: Vec<u64> = scaled.phases.iter().map(|phase| phase.duration_ms).collect();
    assert_eq!(durations, [1909, 1909, 3183]);
    star.phases[0].duration_ms = 1;
    assert_eq!(star.scaled_to(100).unwrap_err().phase, "uniform");
}

#[test]
fn what_is_no_yaml_or_too_long_is_refused() {
    assert!(matches!(Scenario::parse(b"{"), Err(ScenarioError::Syntax(_))));
    assert!(matches!(
        Scenario::parse(b"\xff\xfe\x00"),
        Err(ScenarioError::Syntax(_))
    ));
    let doubled = STAR4.replace("seed: 1\n", "seed: 1\nseed: 2\n");
    assert!(matches!(
        Scenario::parse(doubled.as_bytes()),
        Err(ScenarioError::Twice { .. })
    ));
    let long = vec![b' '; MAX_FILE_BYTES + 1];
    assert!(matches!(Scenario::parse(&long), Err(ScenarioError::TooLarge { .. })));
    let laughs = (0..30).fold("a0: &a0 [x]\n".to_owned(), |text, i| {
        format!("{text}a{}: &a{} [*a{i}, *a{i}, *a{i}, *a{i}]\n", i + 1, i + 1)
    });
    assert!(matches!(
        Scenario::parse(laughs.as_bytes()),
        Err(ScenarioError::Alias { line: 2 })
    ));
}

#[test]
fn a_scenario_in_every_style_of_yaml_is_read() {
    let styles = include_bytes!("../../../fuzz/corpus/scenario/yaml-styles.yaml");
    let pair = Scenario::parse(styles).unwrap();
    assert_eq!((pair.name.as_str(), pair.seed), ("pair", 7));
    let losses: Vec<f64> = pair.edges.iter().map(|edge| edge.fibres[0].loss).collect();
    assert_eq!(losses, [0.001, 0.5]);
    assert_eq!(pair.controller.scheduler.settings.len(), 1);
    assert_eq!((pair.phases[0].name.as_str(), pair.flows(0).len()), ("one", 2));
}

#[test]
fn messages_name_place_reason_and_what_would_be_right() {
    let text = STAR4.replace("guard_ns: 10000", "guard_ns: 250000");
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message,
        "/frame/guard_ns: a guard of 250000 ns fills the slot of 250000 ns; expected less than 250000"
    );
}

proptest! {
    /// Whatever is typed over a part of a good file, loading it ends with an answer.
    #[test]
    fn damaged_files_never_panic(start in 0..STAR4.len(), length in 0usize..40, text in "[ -~\n]{0,40}") {
        let mut damaged = STAR4.as_bytes().to_vec();
        let end = (start + length).min(damaged.len());
        damaged.splice(start..end, text.bytes());
        if let Ok(scenario) = Scenario::parse(&damaged) {
            for phase in 0..scenario.phases.len() {
                prop_assert!(!scenario.flows(phase).is_empty() || scenario.phases[phase].traffic.is_empty());
            }
        }
    }

    /// Any number in any place is refused or leads to sound facts.
    #[test]
    fn any_number_in_any_place(place in 0usize..60, number in prop_oneof![0u64..100, any::<u64>()]) {
        let digits = |c: char| c.is_ascii_digit();
        let places: Vec<_> = STAR4.match_indices(digits).filter(|(at, _)| {
            STAR4[..*at].ends_with(": ")
        }).collect();
        let at = places[place % places.len()].0;
        let end = at + STAR4[at..].find(|c| !digits(c)).unwrap();
        let text = format!("{}{number}{}", &STAR4[..at], &STAR4[end..]);
        if let Ok(scenario) = Scenario::parse(text.as_bytes()) {
            for edge in &scenario.edges {
                prop_assert!(scenario.slot_payload(&edge.fibres[0]).get() >= u64::from(scenario.hosts.mtu));
                prop_assert!(scenario.epoch().since_start() >= edge.fibres[0].t_d());
            }
        }
    }
}

const ROUTED: &str = include_str!("../../../../schema/examples/valid/routers.yaml");

#[test]
fn a_name_of_what_the_file_has_none_of_is_answered_with_that() {
    let text = ROUTED.replace("routers: [left, middle, right]\n", "");
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(
        message.contains("/links/0/from: found 'left'; expected the name of a router (none defined)\n"),
        "{message}"
    );
}

const MESH: &str = include_str!("../../../../topologies/mesh5.yaml");

#[test]
fn wrong_names_and_keys_are_answered_with_those_that_there_are() {
    let told = |from: &str, to: &str, expected: &str| {
        assert!(MESH.contains(from), "{from} is to be replaced");
        let message = Scenario::parse(MESH.replace(from, to).as_bytes())
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
        message
    };
    told(
        "between: [s4, s0]",
        "between: [s4, s9]",
        "/ops/links/4/between/1: found 's9'; expected the name of a switch: s0, s1, s2, s3, s4",
    );
    told("at: e3", "at: e9", "expected the name of an edge: e0, e1, e2, e3, e4");
    told(
        "ram_bytes:",
        "ram_byte:",
        "unknown key 'ram_byte'; expected 'ram_bytes' (closest of: ",
    );
    let message = told(
        "ram_bytes:",
        "zzz:",
        "unknown key 'zzz'; expected one of switches, rate_bps, ",
    );
    assert!(!message.contains("closest"), "{message}");
}

#[test]
fn both_ways_of_a_span_have_names_of_their_own() {
    let renamed = [("s0", "a-b"), ("s1", "c"), ("s2", "b"), ("s3", "c-a")];
    let text = renamed
        .iter()
        .fold(MESH.to_owned(), |text, (from, to)| text.replace(from, to));
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    // From c to a-b, and from c-a to b.
    assert!(
        message.contains("/ops/links/2: duplicate span name 'c-a-b'"),
        "{message}"
    );
    assert!(Scenario::parse(text.replace("c-a", "d").as_bytes()).is_ok());
}

#[test]
fn a_change_of_which_nobody_knows_what_it_changes_is_answered_with_what_can_be() {
    let changed = |change: &str| MESH.replace("flows:\n", &format!("changes: [{{at_ms: 100, {change}}}]\nflows:\n"));
    let told = |change: &str| Scenario::parse(changed(change).as_bytes()).unwrap_err().to_string();
    let message = told("spam: s0-s1, up: false");
    assert!(
        message.contains("unknown key 'spam'; expected 'span' (closest of: "),
        "{message}"
    );
    assert!(
        message.contains("change without a target; expected one of the keys span, hosts"),
        "{message}"
    );
    assert!(!message.contains("unknown key 'up'"), "{message}");
    assert!(told("span: s0-s1").contains("change without effect; expected at least one of up"));
    assert!(Scenario::parse(changed("span: s0-s1, up: false").as_bytes()).is_ok());
}

#[test]
fn a_routed_timeline_repeats_what_comes_again_and_stops_with_the_run() {
    let scenario = Scenario::parse(ROUTED.as_bytes()).unwrap();
    let times: Vec<u64> = scenario.timeline().iter().map(|(at_ms, _)| *at_ms).collect();
    assert_eq!(times, [500, 1000, 1500, 1500, 1600, 2000, 2500, 3500]);
    let short: Vec<u64> = scenario
        .scaled_to(500)
        .unwrap()
        .timeline()
        .iter()
        .map(|(at_ms, _)| *at_ms)
        .collect();
    assert_eq!(short, [50, 100, 150, 150, 160, 200, 250, 350]);
}

#[test]
fn routes_take_the_fewest_hops() {
    let scenario = Scenario::parse(ROUTED.as_bytes()).unwrap();
    let next_hops = scenario.next_hops();
    let hops = |links: [(u16, usize); 2]| links.map(|(router, link)| (Device::Router(router), link)).into();
    assert_eq!(next_hops[0], hops([(1, 0), (2, 0)]));
    assert_eq!(next_hops[1], hops([(0, 3), (2, 1)]));
    assert_eq!(next_hops[2], hops([(0, 2), (1, 2)]));
}

proptest! {
    #[test]
    fn no_damage_to_a_routed_file_panics(at in 0..ROUTED.len(), byte in any::<u8>(), cut in 0..ROUTED.len()) {
        let mut damaged = ROUTED.as_bytes().to_vec();
        damaged[at] = byte;
        let _ = Scenario::parse(&damaged);
        let _ = Scenario::parse(&damaged[..cut]);
    }
}

#[test]
fn edges_that_share_a_port_at_every_core_are_found() {
    let combiner = Scenario::parse(include_bytes!("../../../../topologies/combiner.yaml")).unwrap();
    assert_eq!(combiner.sharing_port(&[0], 0), [0]);
    assert_eq!(combiner.sharing_port(&[0], 2), [1, 2]);
    assert_eq!(combiner.sharing_port(&[0], 3), [3, 4, 5]);
    let twin = include_str!("../../../../topologies/star4-twin.yaml");
    let port = "delay_ns: 100000}";
    let twin = Scenario::parse(twin.replace(port, "delay_ns: 100000, port: 2}").as_bytes()).unwrap();
    assert_eq!(twin.sharing_port(&[0], 3), [2, 3]);
    assert_eq!(
        twin.sharing_port(&[0, 1], 3),
        [3],
        "they have ports of their own of core 1"
    );
}

/// Reading it would take time with the square of its depth: 40 s once.
#[test]
fn fifty_thousand_open_braces_are_refused_at_once() {
    for text in ["{", "[", "{a: ", "{\"}\": "].map(|open| open.repeat(50_000)) {
        let refused = Scenario::parse(text.as_bytes());
        assert!(matches!(refused, Err(ScenarioError::TooDeep { .. })), "{refused:?}");
    }
}

#[test]
fn numbers_of_hosts_are_in_one_row_and_as_many_as_names() {
    let mixed = Scenario::parse(include_bytes!("../../../../topologies/mixed.yaml")).unwrap();
    let host = |edge, index| Party::Star(Endpoint::Host(HostId { edge, index }));
    for (party, numbers, last) in [
        (Party::Star(Endpoint::All), 0..5, "h3_0"),
        (Party::Star(Endpoint::Edge(1)), 2..4, "h1_1"),
        (Party::Star(Endpoint::Edge(2)), 4..4, ""),
        (host(0, 1), 1..2, "h0_1"),
        (host(3, 0), 4..5, "h3_0"),
        (Party::Group(0), 5..7, "lab.1"),
        (Party::Group(2), 8..10, "far.1"),
    ] {
        let names = mixed.host_names(party);
        assert_eq!(names.last().map_or("", String::as_str), last);
        assert_eq!(names.len(), numbers.len(), "{party:?}");
        assert_eq!(mixed.host_numbers(party), numbers, "{party:?}");
    }
    assert_eq!(mixed.host_count(), 10);
}

#[test]
fn routers_that_are_linked_lead_to_one_edge() {
    let mixed = include_str!("../../../../topologies/mixed.yaml");
    let link = |from, to| {
        format!(
            "- {{name: {from}-{to}, from: {from}, to: {to}, rate_bps: 1000000, delay_ns: 1, buffer: {{packets: 1}}}}\n"
        )
    };
    let text = mixed.replace(
        "hosts:\n  mtu",
        &(link("lab", "east") + &link("east", "lab") + "hosts:\n  mtu"),
    );
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(
        message.contains("/routers/0: router 'west' is connected, directly or through other routers, to edge2 and edge3; expected one edge"),
        "{message}"
    );
}

/// What is said of a changed mesh.
fn refused(from: &str, to: &str) -> String {
    assert!(MESH.contains(from), "{from} is to be replaced");
    let text = MESH.replacen(from, to, 1);
    let refused = Scenario::parse(text.as_bytes()).unwrap_err();
    refused.located(text.as_bytes()).to_string()
}

#[test]
fn hops_are_refused_that_the_longest_way_does_not_have() {
    let with = |hops: u64| {
        MESH.replace(
            "  max_deflections: 3\n",
            &format!("  max_deflections: 3\n  max_hops: {hops}\n"),
        )
    };
    assert!(Scenario::parse(with(4).as_bytes()).is_ok());
    let line = 1 + MESH.lines().position(|line| line == "  max_deflections: 3").unwrap() + 1;
    let told = refused("  max_deflections: 3\n", "  max_deflections: 3\n  max_hops: 3\n");
    assert_eq!(
        told,
        format!(
            "line {line}: /ops/max_hops: a burst from an edge at 's0' crosses 3 switches to an edge at 's3'; expected at least 4"
        )
    );
    // Nobody is at the far end.
    let alone = "  edges: [{name: e0, switch: s0, delay_ns: 1}, {name: e1, switch: s0, delay_ns: 1}]\n";
    let text = with(2).replace("  edges: {edges_per_switch: 1, delay_ns: 100000}\n", alone);
    let hosts = text.find("hosts:\n").unwrap();
    let text = format!(
        "{}hosts: [{{name: a, count: 1, at: e0, rate_bps: 1000000, up_delay_ns: 1, down_delay_ns: 1, buffer: {{packets: 9}}}}, \
         {{name: b, count: 1, at: e1, rate_bps: 1000000, up_delay_ns: 1, down_delay_ns: 1, buffer: {{packets: 9}}}}]\n\
         flows: [{{name: f, from: a, to: b}}]\n",
        &text[..hosts]
    );
    assert!(
        Scenario::parse(text.as_bytes()).is_ok(),
        "{:?}",
        Scenario::parse(text.as_bytes())
    );
}

#[test]
fn what_a_mesh_does_not_have_is_answered_with_what_it_has() {
    let of_s4 = "  - {between: [s3, s4], delay_ns: 200000}\n  - {between: [s4, s0], delay_ns: 200000}\n";
    let told = refused(of_s4, "");
    assert!(
        told.contains("/ops/links: disconnected switches: no path from 's0' to s4;"),
        "{told}"
    );
    let faults = |fault: &str| refused("seed: 1\n", &format!("seed: 1\nfaults: [{{{fault}}}]\n"));
    let told = faults("kind: link-down, every_ms: 100, for_ms: 10, edge: 3");
    assert!(
        told.contains(
            "/faults/0/edge: this scenario has no star, and only edges of a star are numbered; expected no 'edge'"
        ) && told.contains("'{at_ms: 100, span: s0-s1, up: false}'"),
        "{told}"
    );
    let told = faults("kind: cut");
    assert!(
        told.contains(
            "expected link-down or switch-restart or ops-edge-restart or controller-restart or messages-lost or \
             messages-duplicated or messages-reordered or messages-corrupted"
        ),
        "{told}"
    );
    let told = refused("transport: cubic", "transport: bbr");
    assert!(
        told.ends_with("expected reno or newreno or cubic or highspeed or dctcp"),
        "{told}"
    );
    let told = refused("transport: cubic", "transport: xcp");
    assert!(
        told.contains("optical packet switches send no rate feedback to hosts"),
        "{told}"
    );
    for phase in [
        "{name: a, duration_ms: 9}",
        "{name: a, duration_ms: 9, flows: [{from: e0, to: e2}]}",
    ] {
        let told = refused("duration_ms: 6000\n", &format!("phases: [{phase}]\n"));
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(
            told.starts_with("line 7: /phases/0") && told.contains("'duration_ms'") && told.contains("'flows'"),
            "{told}"
        );
    }
    let named = MESH.replace(
        "duration_ms: 6000\n",
        "phases: [{name: a, duration_ms: 9, flows: []}]\n",
    );
    assert!(Scenario::parse(named.as_bytes()).is_ok());
}

#[test]
fn a_span_of_a_mesh_is_named_from_either_end() {
    let cut = |span: &str| {
        let changes = format!("changes: [{{at_ms: 100, span: {span}, up: false}}]\nflows:\n");
        let scenario = Scenario::parse(MESH.replace("flows:\n", &changes).as_bytes())?;
        Ok::<_, slotwise_scenario::ScenarioError>(scenario.routed.changes[0].what)
    };
    for (there, back) in [("s0-s2", "s2-s0"), ("e4-s4", "s4-e4")] {
        assert_eq!(cut(back).unwrap(), cut(there).unwrap());
    }
    let told = cut("s2-s4").unwrap_err().to_string();
    assert!(
        told.contains("the name of a span: s0-s1, ") && !told.contains("s1-s0"),
        "{told}"
    );
}

#[test]
fn a_key_that_is_there_twice_is_said_with_its_own_line() {
    let text = MESH.replace("  ingress:", "  ram_bytes: 8\n  ingress:");
    let line = |key: &str| 1 + text.lines().position(|line| line.starts_with(key)).unwrap();
    let told = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    let (again, first) = (line("  ram_bytes: 8"), line("  ram_bytes: 9000"));
    assert_eq!(
        told,
        format!("line {again}: duplicate key 'ram_bytes', first in line {first}; expected it once")
    );
}

#[test]
fn what_is_hardly_meant_is_noted_with_its_line() {
    // Between edges at s0 and s3, by s4.
    const ROUND_TRIP_NS: u64 = 1_200_000;
    let notes = |changes: &[(&str, &str)]| -> Vec<String> {
        let text = changes
            .iter()
            .fold(MESH.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        let source = ScenarioFile::read(text.as_bytes(), "mesh", |_| Err(String::new())).unwrap();
        let scenario = source.scenario().unwrap();
        source.notes(&scenario).iter().map(ToString::to_string).collect()
    };
    assert_eq!(notes(&[]), [""; 0]);
    let one = |from: &str, to: &str, said: &str| {
        let notes = notes(&[(from, to)]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("line ") && notes[0].contains(said), "{notes:?}");
    };
    one(
        "ram_bytes: 9000",
        "ram_bytes: 500",
        "/ops/ram_bytes: less than a packet of 1450 bytes",
    );
    assert_eq!(notes(&[("ram_bytes: 9000", "ram_bytes: 0")]), [""; 0]);
    let ingress = "  ingress:";
    let class = |matches: &str| format!("  classes: [{{class: 1, match: {{{matches}}}}}]\n  ingress:");
    one(
        ingress,
        &class("dscp: 12"),
        "/ops/classes/0/match: no flow in this scenario has DSCP 12",
    );
    assert_eq!(notes(&[(ingress, &class("acks: true"))]), [""; 0]);
    assert_eq!(
        notes(&[
            (ingress, &class("dscp: 12")),
            ("transport: cubic}", "transport: cubic, dscp: 12}")
        ]),
        [""; 0]
    );
    let scheme = "  aggregation: {scheme: class, interval_ns: 1000000}\n  ingress:";
    one(ingress, scheme, "/ops/aggregation/scheme: all packets are in class 0");
    let lost = "seed: 1\nfaults: [{kind: messages-lost, every_ms: 100, for_ms: 10}]\n";
    one(
        "seed: 1\n",
        lost,
        "/faults/0/kind: no messages to affect: this network sends only probes",
    );
    let probes = "  probes: {rate_bps: 1000000, period_ns: 50000000}\n  ingress:";
    assert_eq!(notes(&[("seed: 1\n", lost), (ingress, probes)]), [""; 0]);
    let asked = |rate_bps: u64, period_ns: u64| {
        let probes = format!("probes: {{rate_bps: {rate_bps}, period_ns: {period_ns}}}");
        format!("  {probes}\n  macroflows: {{satisfied: true}}\n  ingress:")
    };
    one(
        ingress,
        &asked(10_000_000, ROUND_TRIP_NS),
        "/ops/probes/period_ns: round-trip time between edges reaches 1200000 ns",
    );
    assert_eq!(notes(&[(ingress, &asked(10_000_000, ROUND_TRIP_NS + 1))]), [""; 0]);
    // Four probes and four replies of 108 bytes, 50 of them framing.
    one(
        ingress,
        &asked(1_000_000, 2_000_000),
        "probes and replies of the 4 macroflows of an edge in a period: most arrive late; expected at least 3456000,",
    );
    assert_eq!(notes(&[(ingress, &asked(1_000_000, 6_912_000))]), [""; 0]);
    one(
        ingress,
        "  wavelengths: 2\n  ingress:",
        "/ops/wavelengths: edges do not send on wavelength 1;",
    );
    one(
        ingress,
        "  wavelengths: 3\n  wavelength_conversion: true\n  ingress:",
        "edges do not send on wavelengths 1, 2: only converted bursts use it",
    );
    let used = class("acks: true}, wavelength: 1, weight: 1").replace("weight: 1}}]", "weight: 1}]");
    assert_eq!(
        notes(&[(ingress, &used.replace("ingress", "wavelengths: 2\n  ingress"))]),
        [""; 0]
    );
}

#[test]
fn a_star_alone_has_no_flows_of_a_given_size() {
    let star = format!("{STAR4}\nflows: [{{name: one, from: edge0, to: edge1, bytes: 1000}}]\n");
    let message = Scenario::parse(star.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message,
        "/flows: 'flows' beside 'phases' need host groups, which a star without routers does not have; expected 'flows' in 'phases', \
         or routers linked to an edge of the star"
    );
}
