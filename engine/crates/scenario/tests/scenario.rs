// SPDX-License-Identifier: Apache-2.0
//! Facts that follow from scenarios, and hostile input.

use proptest::prelude::*;
use slotwise_scenario::{
    Device, Endpoint, HostId, MAX_FILE_BYTES, Party, Scenario, ScenarioError, TrafficKind, Transport,
};

const STAR4: &str = include_str!("../../../../topologies/star4.yaml");

fn star4() -> Scenario {
    Scenario::parse(STAR4.as_bytes()).unwrap()
}

#[test]
fn star4_has_the_times_and_sizes_of_its_comment() {
    let star = star4();
    let fibre = star.edges[3].fibres[0];
    assert_eq!(star.frame.frame_ns(), 5_000_000);
    assert_eq!(star.epoch_ns(), 5_000_000);
    assert_eq!(star.wire_mtu_bytes(), 1480);
    assert_eq!(star.slot_capacity_bytes(&fibre), 6000);
    assert_eq!(star.slot_payload_bytes(&fibre), 4 * 1450);
    assert_eq!(fibre.transmission_ns(1480), 59_200);
    assert_eq!(fibre.t_d_ns(), 100_000);
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
    assert_eq!(star.phase_ns(1), (6_005_000_000, 12_005_000_000));
    assert_eq!(star.end_ns(), 22_005_000_000);
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
            bytes: 50_000_000,
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
        Err(ScenarioError::Syntax(_))
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
fn messages_name_place_reason_and_what_would_be_right() {
    let text = STAR4.replace("guard_ns: 10000", "guard_ns: 250000");
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message,
        "/frame/guard_ns: guard of 250000 ns leaves nothing of a slot of 250000 ns; expected less than 250000"
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
                prop_assert!(scenario.slot_payload_bytes(&edge.fibres[0]) >= u64::from(scenario.hosts.mtu));
                prop_assert!(scenario.epoch_ns() >= edge.fibres[0].t_d_ns());
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
        message.contains("/links/0/from: found 'left'; expected the name of a router, and there is none\n"),
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
    told(
        "edge: e3",
        "edge: e9",
        "expected the name of an edge: e0, e1, e2, e3, e4",
    );
    told(
        "ram_bytes:",
        "ram_byte:",
        "unknown key 'ram_byte'; expected 'ram_bytes' (the nearest of: ",
    );
    let message = told(
        "ram_bytes:",
        "zzz:",
        "unknown key 'zzz'; expected one of switches, links, ",
    );
    assert!(!message.contains("nearest"), "{message}");
}

#[test]
fn both_ways_of_a_span_have_names_of_their_own() {
    let renamed = [("s0", "a-b"), ("s1", "c"), ("s2", "b"), ("s3", "c-a")];
    let text = renamed
        .iter()
        .fold(MESH.to_owned(), |text, (from, to)| text.replace(from, to));
    let message = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    // From c to a-b, and from c-a to b.
    assert!(message.contains("/ops/links/2: second span 'c-a-b'"), "{message}");
    assert!(Scenario::parse(text.replace("c-a", "d").as_bytes()).is_ok());
}

#[test]
fn a_change_of_which_nobody_knows_what_it_changes_is_answered_with_what_can_be() {
    let changed = |change: &str| MESH.replace("flows:\n", &format!("changes: [{{at_ms: 100, {change}}}]\nflows:\n"));
    let told = |change: &str| Scenario::parse(changed(change).as_bytes()).unwrap_err().to_string();
    let message = told("spam: s0-s1, up: false");
    assert!(
        message.contains("unknown key 'spam'; expected 'span' (the nearest of: "),
        "{message}"
    );
    assert!(
        message.contains("nothing says what changes; expected one of the keys span, hosts"),
        "{message}"
    );
    assert!(!message.contains("unknown key 'up'"), "{message}");
    assert!(told("span: s0-s1").contains("nothing changes; expected at least one of up"));
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
        message.contains("/routers/0: from router 'west' links lead, perhaps through other routers, to edge2 and edge3; expected one edge"),
        "{message}"
    );
}
