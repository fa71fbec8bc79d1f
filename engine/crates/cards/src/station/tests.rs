// SPDX-License-Identifier: Apache-2.0

use slotwise_units::Rate;
use slotwise_wire::{
    AddLimit, AddLimits, ETHERTYPE_OPTICAL, Ethernet, FAIRNESS_ENTRIES, LineCardKind, NO_LIMIT, RING_VERSION, Ring,
    RingData, RingKind, RingPhase,
};

use super::*;
use crate::message::header;

const STATION: u16 = 3;
const LANE: Lane = 7;
/// 1 us for each byte; two frames of 1000 bytes are the longest transit.
const SETTINGS: Settings = Settings {
    rate: Rate::from_bps(8_000_000),
    frame: Bytes::new(1000),
    bucket: Bytes::new(3000),
    buffer: Bytes::new(4000),
    shaper: None,
};
const DELAY: Duration = Duration::from_ms(2);

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn card() -> StationCard {
    let mut card = StationCard::new(STATION);
    assert_eq!(card.add_link(0, SETTINGS, LANE, DELAY), PORT_RING_EAST);
    card
}

fn frame(kind: RingKind, source: u16, sequence: u32, bytes: usize) -> Packet {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let ring = Ring {
        version: RING_VERSION,
        kind: kind.into(),
        source,
        ..Ring::default()
    };
    let data = RingData {
        queue: 2,
        sequence,
        ..RingData::default()
    };
    let mut frame = [&ethernet.encode()[..], &ring.encode(), &data.encode()].concat();
    frame.resize(bytes, 0);
    Packet::unborn(frame)
}

fn sends(card: &mut StationCard, now: Instant, packet: Packet) -> Actions {
    let mut out = Actions::default();
    card.sends(now, PORT_RING_EAST, packet, Origin::Local, &mut out);
    out
}

fn due(card: &mut StationCard, now: Instant, expiry: Expiry, program: Program) -> Actions {
    let mut out = Actions::default();
    card.due(now, PORT_RING_EAST, expiry, program, &mut out);
    out
}

fn told(card: &mut StationCard, now: Instant, frame: &[u8]) -> (bool, Actions) {
    let mut out = Actions::default();
    let is_known = card.told(now, &ToCard::read(frame).unwrap(), &mut out);
    (is_known, out)
}

/// P4's answer to a tick.
fn limits(port: Port, next_ns: u32, ticks: u16, rate: u32) -> Vec<u8> {
    let mut frame = header(port, LineCardKind::AddLimits).to_vec();
    frame.extend(AddLimits { next_ns, ticks }.encode());
    for _ in 0..FAIRNESS_ENTRIES {
        frame.extend(AddLimit { hops: 0, rate }.encode());
    }
    frame
}

/// The one action, a question: its tick and continuation.
fn question(actions: Actions) -> (RingTick, Then) {
    let [Action::Ask { frame, then, .. }] = <[Action; 1]>::try_from(actions.list).unwrap() else {
        panic!("one question");
    };
    let tick = RingTick::decode(&frame[crate::message::HEADER..]).unwrap();
    (tick, then)
}

fn goes_on(card: &mut StationCard, now: Instant, then: Then, pass: Pass) -> Actions {
    let mut out = Actions::default();
    card.goes_on(now, then, pass, &mut out);
    out
}

fn arrivals(actions: &Actions) -> Vec<u64> {
    let arrival = |action: &Action| match action {
        Action::Enter { lane, at, .. } => {
            assert_eq!(*lane, LANE);
            Some(at.ns() / 1000)
        }
        _ => None,
    };
    actions.list.iter().filter_map(arrival).collect()
}

fn causes(actions: &Actions) -> Vec<DropCause> {
    let cause = |action: &Action| match action {
        Action::Drop { cause, .. } => Some(*cause),
        _ => None,
    };
    actions.list.iter().filter_map(cause).collect()
}

fn timers(actions: &Actions) -> Vec<(u64, Expiry)> {
    let timer = |action: &Action| match action {
        Action::Timer {
            timer: PORT_RING_EAST,
            at,
            expiry,
        } => Some((at.ns() / 1000, *expiry)),
        _ => None,
    };
    actions.list.iter().filter_map(timer).collect()
}

fn ends_interval(actions: &Actions) -> bool {
    actions
        .list
        .iter()
        .any(|action| matches!(action, Action::Seen(Record::Interval(_))))
}

const DONE: Pass = Pass::Done { outputs: 1 };

#[test]
fn added_packets_leave_at_the_links_rate_and_are_recorded() {
    let mut card = card();
    let added = sends(&mut card, us(0), frame(RingKind::Data, STATION, 1, 1000));
    assert_eq!(arrivals(&added), [3000]);
    let is_seen =
        |action: &Action| matches!(action, Action::Seen(Record::Added { headers, .. }) if headers.1.sequence == 1);
    assert!(added.list.iter().any(is_seen));
    // The interval is over at 0, and at its end it is looked at again anyhow.
    let waits = sends(&mut card, us(0), frame(RingKind::Data, STATION, 2, 1000));
    assert!(waits.list.is_empty());
    let (_, then) = question(due(&mut card, us(0), Expiry::First, Program::Inside));
    let told = told(&mut card, us(0), &limits(PORT_RING_EAST, 5_000_000, 0, NO_LIMIT));
    assert_eq!((told.0, timers(&told.1)), (true, vec![(1000, Expiry::Last)]));
    assert!(ends_interval(&goes_on(&mut card, us(0), then, DONE)));
    assert!(due(&mut card, us(999), Expiry::Last, Program::Inside).list.is_empty());
    assert_eq!(
        arrivals(&due(&mut card, us(1000), Expiry::Last, Program::Inside)),
        [4000]
    );
    let used = card.take_use(0).unwrap();
    assert_eq!(
        (used.added_packets, used.added_bytes.get(), used.offered_packets),
        (2, 2000, 2)
    );
    assert!(card.take_use(1).is_none() && card.take_use(9).is_none());
}

#[test]
fn transit_goes_first_and_more_than_fits_is_a_broken_rule() {
    let mut card = card();
    sends(&mut card, us(0), frame(RingKind::Data, STATION, 1, 1000));
    sends(&mut card, us(0), frame(RingKind::Data, STATION, 2, 1000));
    for sequence in 1..=2 {
        assert!(causes(&sends(&mut card, us(0), frame(RingKind::Data, 9, sequence, 1000))).is_empty());
    }
    let over = sends(&mut card, us(0), frame(RingKind::Data, 9, 3, 1000));
    assert_eq!(causes(&over), [DropCause::QueueFull]);
    let broken = Invariant::INSERTION;
    assert!(matches!(over.list[0], Action::Broken { broken: found, .. } if found == broken));
    assert!(matches!(over.list[1], Action::Seen(Record::Forgotten { .. })));
    let out = sends(&mut card, us(1000), frame(RingKind::Report, STATION, 0, 100));
    assert_eq!(arrivals(&out), [4000], "a packet in transit: nothing is added");
    assert!(!out.list.iter().any(|action| matches!(action, Action::Seen(_))));
    assert_eq!(card.take_use(0).unwrap().transit_packets, 1);
}

#[test]
fn a_newer_message_takes_the_place_of_one_that_waits() {
    let mut card = card();
    sends(&mut card, us(0), frame(RingKind::Data, STATION, 1, 1000));
    let message = || frame(RingKind::Report, STATION, 0, 100);
    assert!(causes(&sends(&mut card, us(0), message())).is_empty());
    assert_eq!(causes(&sends(&mut card, us(0), message())), [DropCause::Outdated]);
}

#[test]
fn a_dark_link_loses_what_waits_and_what_comes() {
    let mut card = card();
    sends(&mut card, us(0), frame(RingKind::Data, STATION, 1, 1000));
    sends(&mut card, us(0), frame(RingKind::Data, STATION, 2, 1000));
    sends(&mut card, us(0), frame(RingKind::Data, 9, 1, 1000));
    let mut out = Actions::default();
    card.set_dark(us(1), PORT_RING_EAST, true, &mut out);
    assert_eq!(causes(&out), [DropCause::LinkDown; 2]);
    assert!(!card.is_lit());
    let out = sends(&mut card, us(2), frame(RingKind::Data, STATION, 3, 1000));
    assert_eq!(causes(&out), [DropCause::LinkDown]);
    let mut out = Actions::default();
    card.set_dark(us(3), PORT_RING_EAST, false, &mut out);
    assert!(out.list.is_empty() && card.is_lit());
    assert_eq!(
        arrivals(&sends(&mut card, us(1000), frame(RingKind::Data, STATION, 4, 1000))),
        [4000]
    );
    let used = card.take_use(0).unwrap();
    assert_eq!((used.dropped_packets, used.dropped_transit_packets), (3, 1));
}

#[test]
fn p4_gets_the_ticks_that_it_asks_for_one_after_the_other() {
    let mut card = card();
    let (tick, mut then) = question(due(&mut card, us(0), Expiry::First, Program::Inside));
    assert_eq!((tick.repeat, tick.local_ns), (0, 0));
    let (is_known, out) = told(&mut card, us(0), &limits(PORT_RING_EAST, 100_000, 3, NO_LIMIT));
    assert!(is_known && out.list.is_empty());
    for repeat in 1..=3 {
        let (tick, next) = question(goes_on(&mut card, us(0), then, DONE));
        assert_eq!(tick.repeat, repeat);
        then = next;
    }
    let out = goes_on(&mut card, us(0), then, DONE);
    assert!(ends_interval(&out));
    assert_eq!(timers(&out), [(100, Expiry::First)]);
    assert!(due(&mut card, us(99), Expiry::First, Program::Inside).list.is_empty());
    question(due(&mut card, us(100), Expiry::First, Program::Inside));
    let interval = Interval {
        ringlet: 0,
        length: Duration::from_us(100),
        hol_delay: Duration::ZERO,
    };
    card.note_phase(&interval, RingPhase::Congested, true);
    let used = card.take_use(0).unwrap();
    assert_eq!((used.congested.ns(), used.onsets, used.timer_onsets), (100_000, 1, 1));
}

#[test]
fn a_switch_outside_may_answer_later() {
    let mut card = card();
    let (_, then) = question(due(&mut card, us(0), Expiry::First, Program::Outside));
    let out = goes_on(&mut card, us(0), then, Pass::Later);
    assert_eq!(timers(&out), [(RETRY.ns() / 1000, Expiry::First)]);
    let (is_known, out) = told(&mut card, us(70), &limits(PORT_RING_EAST, 100_000, 1, NO_LIMIT));
    assert!(is_known);
    assert_eq!(
        timers(&out),
        [(100, Expiry::First)],
        "it counts from the interval's end"
    );
    let [Action::Timer { .. }, Action::Ask { then, .. }] = <[Action; 2]>::try_from(out.list).unwrap() else {
        panic!("and the tick that P4 asks for");
    };
    assert!(goes_on(&mut card, us(70), then, Pass::Later).list.is_empty());
    let (_, out) = told(&mut card, us(80), &limits(PORT_RING_EAST, 1, 1, NO_LIMIT));
    assert_eq!(
        timers(&out),
        [(90, Expiry::First)],
        "packets have time, and no tick is asked for again"
    );
}

#[test]
fn without_a_program_or_an_answer_it_tries_again() {
    let mut card = card();
    let retry = [(RETRY.ns() / 1000, Expiry::First)];
    assert_eq!(timers(&due(&mut card, us(0), Expiry::First, Program::None)), retry);
    let mut card = self::card();
    let (_, then) = question(due(&mut card, us(0), Expiry::First, Program::Inside));
    let out = goes_on(&mut card, us(0), then, Pass::Done { outputs: 0 });
    assert_eq!(timers(&out), retry);
}

#[test]
fn unreadable_messages_are_counted_and_other_ports_are_left_alone() {
    let mut card = card();
    for wrong in [
        limits(PORT_RING_EAST, 0, 0, NO_LIMIT),
        limits(PORT_RING_EAST, 1, MAX_TICKS + 1, NO_LIMIT),
        header(PORT_RING_EAST, LineCardKind::AddLimits).to_vec(),
    ] {
        let (is_known, out) = told(&mut card, us(0), &wrong);
        assert!(is_known && matches!(out.list[..], [Action::Refuse { bytes, .. }] if bytes == wrong.len()));
    }
    assert!(
        !told(&mut card, us(0), &limits(PORT_RING_WEST, 1, 0, NO_LIMIT)).0,
        "it has no such link"
    );
    assert!(!told(&mut card, us(0), &limits(42, 1, 0, NO_LIMIT)).0);
    let mut out = Actions::default();
    card.sends(
        us(0),
        PORT_RING_WEST,
        frame(RingKind::Data, 1, 1, 100),
        Origin::Local,
        &mut out,
    );
    assert_eq!(causes(&out), [DropCause::NoSuchPort]);
    assert!(card.has_link(0) && !card.has_link(1) && !card.has_link(2));
}

#[test]
fn limits_go_with_the_program_and_what_waits_too() {
    let mut card = card();
    let (_, then) = question(due(&mut card, us(0), Expiry::First, Program::Inside));
    told(&mut card, us(0), &limits(PORT_RING_EAST, 100_000, 0, 1));
    goes_on(&mut card, us(0), then, DONE);
    for sequence in 1..=4 {
        sends(&mut card, us(0), frame(RingKind::Data, STATION, sequence, 1000));
    }
    let mut out = Actions::default();
    card.restarts(us(4000), &mut out);
    assert_eq!(
        causes(&out),
        [DropCause::PipelineReplaced; 3],
        "one has left by its bucket"
    );
    let mut left = 0;
    for sequence in 5..=9 {
        let now = us(4000 + 1000 * u64::from(sequence));
        left += arrivals(&sends(&mut card, now, frame(RingKind::Data, STATION, sequence, 1000))).len();
    }
    assert_eq!(left, 5, "no limit holds");
}

#[test]
fn packets_offered_to_a_dark_link_count_as_offered_and_lost() {
    let mut card = card();
    let data = |sequence| frame(RingKind::Data, STATION, sequence, 500);
    sends(&mut card, us(0), data(0));
    card.set_dark(us(600), PORT_RING_EAST, true, &mut Actions::default());
    assert_eq!(causes(&sends(&mut card, us(700), data(1))), [DropCause::LinkDown]);
    let used = card.take_use(0).unwrap();
    assert_eq!((used.offered_packets, used.dropped_packets), (2, 1));
    assert_eq!(
        (used.accepted_bytes, used.added_bytes),
        (Bytes::new(500), Bytes::new(500)),
        "the first one has left"
    );
}
