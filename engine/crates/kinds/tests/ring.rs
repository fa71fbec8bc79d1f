// SPDX-License-Identifier: Apache-2.0
//! Packet rings with the repository's own P4 program.

use crate::support;

use slotwise_kinds::{self as kinds, ControlMessage, DropCause, HostMode, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::{Instant, Rate};
use slotwise_wire::{
    AddLimit, AddLimits, Check, ETHERTYPE_LINECARD, Ethernet, FAIRNESS_ENTRIES, LINECARD_VERSION, LineCardKind,
    Linecard, NO_LIMIT, PORT_LINECARD, PORT_RING_EAST, PacketIn, REPORT_SOURCES, ReportSource, Ring, RingReport,
};
use support::packet_out;
use support::ring::ring;

const MS: u64 = 1_000_000;
/// Bytes on the ring of a packet of 1470.
const FRAME: u64 = 1500;

/// Five stations with a host each, links of 150 Mb/s and 10 us.
fn scenario(of_ring: &str, flows: &str, rest: &str) -> Scenario {
    let hosts: String = (0..5)
        .map(|station| {
            format!(
                "- {{name: h{station}, count: 2, at: n{station}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 1000}}}}\n"
            )
        })
        .collect();
    let text = format!(
        "version: 1
name: ring5
seed: 5
duration_ms: 1000
packet_bytes: 1470
ring:
  mode: explicit
  links: {{rate_bps: 150000000, delay_ns: 10000}}
  stations: [n0, n1, n2, n3, n4]
{of_ring}
hosts:
{hosts}
flows:
{flows}
{rest}"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn udp(name: &str, from: usize, to: usize, rate_bps: u64) -> String {
    format!(
        "- {{name: {name}, from: h{from}, to: h{to}, start_jitter_ms: 1, udp: {{rate_bps: {rate_bps}, process: constant}}}}\n"
    )
}

/// Bytes of IP that each flow delivered in a part of the run, by group.
fn delivered(network: &mut World, from_ms: u64, to_ms: u64) -> Vec<(String, f64)> {
    let take = |network: &mut World| -> Vec<(String, u64)> {
        let names: Vec<String> = network.routed_flows().iter().map(|flow| flow.name.clone()).collect();
        let flows = names.into_iter().enumerate();
        flows
            .map(|(index, name)| {
                let group = name.split('.').next().unwrap().to_owned();
                (group, network.take_flow_use(index).packets)
            })
            .collect()
    };
    network.run_until(Instant::from_ns(from_ms * MS));
    take(network);
    network.run_until(Instant::from_ns(to_ms * MS));
    let mut rates: Vec<(String, f64)> = Vec::new();
    for (group, packets) in take(network) {
        let bps = (packets * FRAME * 8) as f64 * 1e3 / (to_ms - from_ms) as f64;
        match rates.last_mut().filter(|(last, _)| *last == group) {
            Some((_, sum)) => *sum += bps,
            None => rates.push((group, bps)),
        }
    }
    rates
}

#[test]
fn packets_go_the_shorter_way_and_are_taken_off_where_they_are_for() {
    let flows = udp("east", 0, 2, 10_000_000) + &udp("west", 0, 4, 10_000_000) + &udp("next", 1, 2, 10_000_000);
    let mut network = ring(&scenario("", &flows, ""), HostMode::Simulated);
    let rates = delivered(&mut network, 100, 600);
    for (name, bps) in &rates {
        // Payload of 1442 in frames of 1500, two hosts each.
        let expected = 2.0 * 10e6 * 1500.0 / 1470.0;
        assert!((bps / expected - 1.0).abs() < 0.01, "{name}: {bps}");
    }
    let used = |network: &mut World, station, ringlet| {
        network
            .of_kind_mut::<kinds::Ring>()
            .unwrap()
            .take_link_use(station, ringlet)
            .unwrap()
    };
    let (east, on, over) = (
        used(&mut network, 0, 0),
        used(&mut network, 1, 0),
        used(&mut network, 2, 0),
    );
    assert!(east.added_packets > 900 && east.transit_packets == 0);
    assert!(on.added_packets > 900 && on.transit_packets > 900);
    assert_eq!(over.added_packets + over.transit_packets, 0, "nothing goes further");
    assert!(used(&mut network, 0, 1).added_packets > 900);
    assert_eq!(
        east.message_packets + used(&mut network, 1, 1).message_packets,
        0,
        "nothing is congested"
    );
    // Two packets of 80 us, two links of 10 us and one of another station that had begun.
    let longest = east.crossings.max();
    assert!((100_000..=400_000).contains(&longest), "{longest}");
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

#[test]
fn stations_of_a_parking_lot_share_the_last_link() {
    let flows: String = (0..4)
        .map(|station| udp(&format!("f{station}"), station, 4, 150_000_000))
        .collect();
    let mut network = ring(&scenario("  open: true", &flows, ""), HostMode::Simulated);
    let rates = delivered(&mut network, 200, 600);
    let share = 0.85 * 150e6 / 4.0;
    for (name, bps) in &rates {
        assert!((bps / share - 1.0).abs() < 0.03, "{name}: {bps} of {share}");
    }
    assert!(network.invariants().held(), "{:?}", network.invariants());
    let last = network
        .of_kind_mut::<kinds::Ring>()
        .unwrap()
        .take_link_use(3, 0)
        .unwrap();
    assert!(last.longest_transit.ns() <= 86_000, "{}", last.longest_transit);
    assert!(
        network
            .of_kind_mut::<kinds::Ring>()
            .unwrap()
            .take_link_use(3, 1)
            .unwrap()
            .message_packets
            > 1000,
        "the head tells"
    );
    // At its share a packet may leave every 376 us; those that wait fill the buffer of 2 MB.
    let (hol_ns, access_ns) = (last.hol_delays.mean(), last.access_delays.mean());
    assert!((360e3..400e3).contains(&hol_ns), "{hol_ns}");
    assert!(access_ns > 50e6, "{access_ns}");
}

/// The first station's packets to the next one take what its others leave of the first link.
#[test]
fn a_ring_is_used_again_where_its_links_are_free() {
    let mut flows: String = (0..4)
        .map(|station| udp(&format!("f{station}"), station, 4, 150_000_000))
        .collect();
    flows += &udp("near", 0, 1, 150_000_000);
    let mut network = ring(&scenario("  open: true", &flows, ""), HostMode::Simulated);
    let rates = delivered(&mut network, 200, 600);
    for (name, bps) in &rates {
        let share = 0.85 * 150e6 * if name == "near" { 0.75 } else { 0.25 };
        assert!((bps / share - 1.0).abs() < 0.05, "{name}: {bps} of {share}");
    }
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

/// Each station on the way is a head in turn while the others begin, so that limits of many links come and go.
#[test]
fn twenty_three_stations_that_begin_one_after_the_other_share_the_last_link() {
    let text = include_str!("../../../../topologies/ring24.yaml");
    let planned = "start: 5 s, every: 500 ms";
    assert!(text.contains(planned));
    let text = text.replace(planned, "start: 0 s, every: 10 ms");
    let mut network = ring(&Scenario::parse(text.as_bytes()).unwrap(), HostMode::Simulated);
    let rates = delivered(&mut network, 400, 700);
    let share = 0.85 * 150e6 / 23.0;
    for (name, bps) in &rates {
        assert!((bps / share - 1.0).abs() < 0.05, "{name}: {bps} of {share}");
    }
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

#[test]
fn one_seed_gives_one_run() {
    let flows: String = (0..4)
        .map(|station| udp(&format!("f{station}"), station, 4, 80_000_000))
        .collect();
    let scenario = scenario("", &flows, "");
    let run = || {
        let mut network = ring(&scenario, HostMode::Simulated);
        let rates = delivered(&mut network, 10, 100);
        let uses: Vec<_> = (0..5)
            .map(|station| network.of_kind_mut::<kinds::Ring>().unwrap().take_link_use(station, 0))
            .collect();
        (rates, uses, network.p4_passes())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_dark_span_loses_what_comes_to_it_and_both_stations_tell() {
    let flows = udp("f", 0, 2, 20_000_000);
    let changes = "changes:\n- {at_ms: 200, span: n1-n2, up: false}\n- {at_ms: 400, span: n1-n2, up: true}\n";
    let mut network = ring(&scenario("", &flows, changes), HostMode::Simulated);
    let mut told = Vec::new();
    while network.run_until_control(Instant::from_ns(1000 * MS)) {
        while let Some(event) = network.poll_control() {
            told.push((event.at.ns() / MS, event.device_id));
        }
    }
    assert_eq!(told, [(200, 3002), (200, 3003), (400, 3002), (400, 3003)]);
    assert!(network.invariants().held(), "{:?}", network.invariants());
    let lost: u64 = network.drops().iter().map(|(_, _, count)| count.packets).sum();
    // 200 ms of 40 Mb/s in packets of 1470.
    assert!((600..800).contains(&lost), "{lost}");
}

#[test]
fn a_message_that_a_newer_one_replaced_is_no_lost_packet() {
    let flows: String = (0..4)
        .map(|station| udp(&format!("f{station}"), station, 4, 10_000_000))
        .collect();
    // A packet takes 1.2 ms, in which messages come each 100 us.
    let of_ring = "  open: true\n  ingress: {buffer_bytes: 100000000}\n";
    let mut scenario = scenario(of_ring, &(flows + &udp("back", 4, 0, 9_000_000)), "");
    scenario.ring.as_mut().unwrap().rate = Rate::from_bps(10_000_000);
    let mut network = ring(&scenario, HostMode::Simulated);
    network.run_until(Instant::from_ns(500 * MS));
    let outdated = network
        .drops()
        .iter()
        .filter(|(_, cause, _)| *cause == DropCause::Outdated)
        .map(|(_, _, count)| count.packets)
        .sum::<u64>();
    assert!(outdated > 100, "{outdated}");
    let dropped: Vec<u64> = (1..4)
        .map(|station| {
            network
                .of_kind_mut::<kinds::Ring>()
                .unwrap()
                .take_link_use(station, 1)
                .unwrap()
                .dropped_packets
        })
        .collect();
    assert_eq!(dropped, [0; 3]);
}

/// A message for the card of a station's ringlet 0, as its program would put it out.
fn add_limits(next_ns: u32, ticks: u16) -> Vec<u8> {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_LINECARD,
        ..Ethernet::default()
    };
    let linecard = Linecard {
        version: LINECARD_VERSION,
        kind: LineCardKind::AddLimits.into(),
        port: PORT_RING_EAST,
    };
    let limit = AddLimit {
        hops: 0,
        rate: NO_LIMIT,
    };
    let mut frame = [
        &ethernet.encode()[..],
        &linecard.encode(),
        &AddLimits { next_ns, ticks }.encode(),
    ]
    .concat();
    for _ in 0..FAIRNESS_ENTRIES {
        frame.extend(limit.encode());
    }
    frame
}

#[test]
fn a_card_that_is_told_outside_of_a_tick_ticks_on() {
    let flows = udp("f", 0, 2, 20_000_000);
    let mut network = ring(&scenario("", &flows, ""), HostMode::Simulated);
    let passes = |network: &mut World, from_ms: u64, to_ms: u64| {
        network.run_until(Instant::from_ns(from_ms * MS));
        let before = network.p4_passes();
        network.run_until(Instant::from_ns(to_ms * MS));
        network.p4_passes() - before
    };
    let before = passes(&mut network, 100, 200);
    let station = Device::Station(0).id();
    for at_ms in 200..204 {
        let told = packet_out(PORT_LINECARD, &add_limits(50_000, 3));
        network
            .packet_out(Instant::from_ns(at_ms * MS + 30_000), station, &told)
            .unwrap();
    }
    let after = passes(&mut network, 300, 400);
    // 1000 ticks of each of ten cards are most of it.
    assert!(after.abs_diff(before) < 100, "{before} passes, then {after}");
    network.run_until(Instant::from_ns(401 * MS));
    assert!(
        network
            .of_kind::<kinds::Ring>()
            .unwrap()
            .link_state(0, 0)
            .unwrap()
            .link_rate
            > 4_000_000
    );
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

/// Half a ring of 50 Mb/s: a host that sends 45 Mb/s to the last station, and of each of so many stations behind it one that
/// sends a packet of 64 bytes each `gap_ms`.
fn greedy_beside(trickling: usize, gap_ms: u64, mode: &str, rest: &str) -> Scenario {
    let stations = (trickling + 2).max(9);
    let host = |station| {
        format!(
            "- {{name: h{station}, count: 1, at: n{station}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 1000}}}}\n"
        )
    };
    let last = stations - 1;
    let trickle = |station| {
        let rate_bps = 64 * 8 * 1000 / gap_ms;
        format!(
            "- {{name: t{station}, from: h{station}, to: h{last}, packet_bytes: 64, start_jitter_ms: {gap_ms}, udp: {{rate_bps: {rate_bps}, process: constant}}}}\n"
        )
    };
    let names: Vec<String> = (0..stations).map(|station| format!("n{station}")).collect();
    let text = format!(
        "version: 1
name: trickle
seed: 7
duration_ms: 2000
packet_bytes: 1470
ring:
  mode: {mode}
  open: true
  links: {{rate_bps: 50000000, delay_ns: 10000}}
  stations: [{}]
hosts:
{}
flows:
- {{name: greedy, from: h0, to: h{last}, start_jitter_ms: 1, udp: {{rate_bps: 45000000, process: constant}}}}
{}{rest}",
        names.join(", "),
        (0..stations).map(host).collect::<String>(),
        (1..=trickling).map(trickle).collect::<String>(),
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// What the greedy host of [`greedy_beside`] has on the ring, bit/s.
fn greedy_rate(trickling: usize, gap_ms: u64, mode: &str) -> f64 {
    let mut network = ring(&greedy_beside(trickling, gap_ms, mode, ""), HostMode::Simulated);
    let rates = delivered(&mut network, 500, 1000);
    assert!(network.invariants().held(), "{:?}", network.invariants());
    rates[0].1
}

#[test]
fn who_sends_a_packet_now_and_then_leaves_the_rest_to_a_greedy_station() {
    let alone = greedy_rate(0, 5, "explicit");
    assert!((alone / (0.85 * 50e6) - 1.0).abs() < 0.03, "{alone}");
    // A packet or more in each window of 10 ms, in every second one, in every fifth one; and so many that their part of a window is
    // less than a bucket.
    for (trickling, gap_ms) in [(1, 5), (7, 5), (7, 20), (7, 50), (62, 5), (62, 20), (62, 50)] {
        let beside = greedy_rate(trickling, gap_ms, "explicit");
        // They take 94 bytes each time.
        let left = alone - (trickling as u64 * 94 * 8 * 1000 / gap_ms) as f64;
        assert!(
            beside > 0.95 * left,
            "{beside} of {left} beside {trickling} each {gap_ms} ms"
        );
    }
}

#[test]
fn adaptive_rates_do_not_depend_on_who_sends_a_packet_now_and_then() {
    let alone = greedy_rate(0, 5, "adaptive");
    for (trickling, gap_ms) in [(1, 5), (7, 5), (7, 20)] {
        let beside = greedy_rate(trickling, gap_ms, "adaptive");
        assert!(
            (beside / alone - 1.0).abs() < 0.03,
            "{beside} of {alone} beside {trickling}"
        );
    }
}

/// Nobody tells the stations anything here.
#[test]
fn reports_know_who_sends_a_packet_now_and_then() {
    let mut network = ring(&greedy_beside(7, 20, "controller", ""), HostMode::Simulated);
    let mut reports = 0;
    while network.run_until_control(Instant::from_ns(300 * MS)) {
        while let Some(event) = network.poll_control() {
            let ControlMessage::Packet(frame) = event.message else {
                continue;
            };
            let report = &frame[PacketIn::SIZE + Ethernet::SIZE + Ring::SIZE + Check::SIZE..];
            let rates: Vec<u32> = (0..REPORT_SOURCES as usize)
                .map(|source| {
                    ReportSource::decode(&report[RingReport::SIZE + source * ReportSource::SIZE..])
                        .unwrap()
                        .rate
                })
                .collect();
            // Of the next to last station, which has all on its link, once a window was measured after each one's first packet.
            if event.device_id == Device::Station(7).id() && event.at.ns() > 60 * MS {
                reports += 1;
                assert!(rates[0] > 5_000_000, "{rates:?}");
                // 94 bytes in a window of 10 ms, which was the last one or will be this one.
                assert!(rates[1..8].iter().all(|rate| *rate == 0 || *rate == 9_400), "{rates:?}");
            }
        }
    }
    assert!(reports > 1000, "{reports}");
}

/// It counts as soon as it has added more than before by its bucket, which two packets and a part of a third one are.
#[test]
fn who_was_known_to_want_little_and_turns_greedy_gets_its_part() {
    let greedy = "- {name: turned, from: h4, to: h8, start_ms: 500, start_jitter_ms: 0, udp: {rate_bps: 50000000, process: constant}}\n";
    let mut network = ring(&greedy_beside(7, 20, "explicit", greedy), HostMode::Simulated);
    let all = 0.85 * 50e6 - 7.0 * 94.0 * 8.0 * 50.0;
    let early = delivered(&mut network, 505, 525);
    let late = delivered(&mut network, 600, 1000);
    let of = |rates: &[(String, f64)], name: &str| rates.iter().find(|rate| rate.0 == name).unwrap().1;
    for name in ["greedy", "turned"] {
        let (early, late) = (of(&early, name), of(&late, name));
        assert!(
            (early / (all / 2.0) - 1.0).abs() < 0.15,
            "{name}: {early} of {}",
            all / 2.0
        );
        assert!(
            (late / (all / 2.0) - 1.0).abs() < 0.03,
            "{name}: {late} of {}",
            all / 2.0
        );
    }
    assert!(network.invariants().held(), "{:?}", network.invariants());
}
