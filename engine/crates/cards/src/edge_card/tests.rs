// SPDX-License-Identifier: Apache-2.0

mod bursts;

use slotwise_units::Rate;
use slotwise_wire::{
    ETHERTYPE_OPTICAL, Ethernet, FlowControl, IP_PROTOCOL_TCP, IntervalTick, LABEL_VERSION, LabelKind, LineCardKind,
    OPTICAL_VERSION, OUTPUT_IDLE, Optical, TRAIN_REFUSED, TrainLabel, TrainPart, TrainSent, TrainTick,
};

use super::output::Output;
use super::*;
use crate::Invariant;
use crate::admission::Admission;
use crate::aggregation::{Aggregation, BurstTimer, Intervals};
use crate::burst::Burst;
use crate::drawn_delay::{DelayProcess, DrawnDelay};
use crate::message::{HEADER, header};
use crate::optical_ram::ByteTime;
use crate::packet::Frame;
use slotwise_random::{Stream, generator};

const EDGE: u16 = 3;
const PORT: Port = PORT_OPTICAL_BASE + 1;
const PROBES: Port = PORT_OPTICAL_BASE + 4;
const QUEUE: u16 = 2;
const DELAY: Duration = Duration::from_us(100);
const INTERVAL: Duration = Duration::from_ms(5);
const LIMIT: IngressLimit = IngressLimit {
    bursts: 1,
    by_class: false,
};
const DONE: Pass = Pass::Done { outputs: 1 };

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// 1 us a byte.
fn wavelength(to_edge: bool) -> Wavelength {
    Wavelength {
        lane: 7,
        delay: DELAY,
        byte_time: ByteTime::of_rate(Rate::from_bps(8_000_000)),
        to_edge,
    }
}

fn bare() -> EdgeCard {
    let mut card = EdgeCard::new(EDGE, Bytes::ZERO, Duration::from_us(10));
    card.set_program(4);
    card
}

/// A queue of 1500 bytes before the output.
fn with_queue(to_edge: bool) -> EdgeCard {
    let mut card = bare();
    let queue = Fifo::new(
        7,
        (Rate::from_bps(8_000_000), DELAY),
        Admission::bytes(Bytes::new(1500)),
        0,
    );
    card.add_queue(PORT, queue, wavelength(to_edge));
    card
}

/// Memory of 4000 bytes.
fn memory(aggregates: bool, macroflows: Option<Macroflows>) -> BurstMemory {
    let intervals = Intervals {
        interval: INTERVAL,
        timer: BurstTimer::FirstPacket,
        dither: false,
        seed: 1,
        edge: EDGE,
    };
    let aggregation = aggregates.then(|| Aggregation::new(intervals, 4));
    BurstMemory::new(Bytes::new(4000), aggregation, macroflows)
}

fn with(memory: BurstMemory, limit: Option<IngressLimit>) -> EdgeCard {
    let mut card = bare().with_bursts(memory, limit, PROBES);
    assert_eq!(
        card.add_output(PORT, BurstQueue::default(), wavelength(false), None),
        None
    );
    card
}

/// 1 ms for 1000 bytes, a tick every 50 ms.
fn macroflows() -> Macroflows {
    Macroflows::new([QUEUE], Duration::from_ms(50), Rate::from_bps(8_000_000), (1, 5))
}

fn label(burst: u32, length: usize, packets: u16) -> Label {
    Label {
        version: LABEL_VERSION,
        kind: LabelKind::Train.into(),
        src_edge: EDGE,
        train: burst,
        packets,
        length: length as u32,
        traffic_class: 1,
        ..Label::default()
    }
}

fn optical(part: TrainPart, sequence: u32) -> Optical {
    Optical {
        version: OPTICAL_VERSION,
        src_edge: EDGE,
        queue: QUEUE,
        sequence,
        train: part.into(),
        ..Optical::default()
    }
}

fn frame(label: Option<Label>, optical: Optical, bytes: usize) -> Packet {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let label = label.map_or_else(Vec::new, |label| label.encode().to_vec());
    let mut frame = [&ethernet.encode()[..], &label, &optical.encode()].concat();
    frame.resize(bytes, 0);
    Packet::unborn(frame)
}

/// A burst of one packet.
fn burst(burst: u32, bytes: usize) -> Packet {
    frame(Some(label(burst, bytes, 1)), optical(TrainPart::Only, burst), bytes)
}

/// A packet of 1000 bytes without a label.
fn part(part: TrainPart) -> Packet {
    frame(None, optical(part, 1), 1000)
}

fn sends(card: &mut EdgeCard, now: Instant, packet: Packet) -> Vec<Action> {
    let mut out = Actions::default();
    card.sends(now, PORT, packet, Origin::Lane { born: Instant::ZERO }, &mut out);
    out.list
}

fn told(card: &mut EdgeCard, now: Instant, frame: &[u8]) -> (bool, Vec<Action>) {
    let mut out = Actions::default();
    let is_applied = card.told(now, &ToCard::read(frame).unwrap(), &mut out);
    (is_applied, out.list)
}

fn due(card: &mut EdgeCard, now: Instant, timer: TimerId, expiry: Expiry) -> Vec<Action> {
    let mut out = Actions::default();
    card.due(now, timer, expiry, Program::Inside, &mut out);
    out.list
}

fn goes_on(card: &mut EdgeCard, now: Instant, then: CardThen, pass: Pass) -> Vec<Action> {
    let mut out = Actions::default();
    card.goes_on(now, then, pass, &mut out);
    out.list
}

fn set_dark(card: &mut EdgeCard, now: Instant, is_dark: bool) -> Vec<Action> {
    let mut out = Actions::default();
    card.set_dark(now, PORT, is_dark, &mut out);
    out.list
}

fn control(port: Port, queue: u16, op: FlowOp, value: u64) -> Vec<u8> {
    let control = FlowControl {
        queue,
        op: op.into(),
        open_ns: 0,
        close_ns: 0,
        value,
    };
    [&header(port, LineCardKind::FlowControl)[..], &control.encode()].concat()
}

/// P4's answer about a burst of so many packets.
fn answer(packets: u16, label: Option<Label>, tag: u64) -> Vec<u8> {
    let answer = TrainLabel {
        queue: QUEUE,
        packets,
        flags: if label.is_some() { 0 } else { TRAIN_REFUSED },
        tag,
        ..TrainLabel::default()
    };
    let label = label.map_or_else(Vec::new, |label| label.encode().to_vec());
    [&header(PORT, LineCardKind::TrainLabel)[..], &answer.encode(), &label].concat()
}

/// Short names of effects, in order.
fn names(actions: &[Action]) -> Vec<&'static str> {
    let name = |action: &Action| match action {
        Action::Enter { lane: 7, .. } => "enters",
        Action::Cut { .. } => "cut",
        Action::Ask { .. } => "asks",
        Action::Arrives { .. } => "arrives",
        Action::Timer { .. } => "timer",
        Action::Drop { .. } => "drop",
        Action::Broken { .. } => "broken",
        Action::Seen(Record::BurstFormed { port: PORT, .. }) => "formed",
        Action::Seen(Record::BurstRefused) => "refused",
        Action::Seen(Record::BurstLeft { program: 4, .. }) => "left",
        Action::Seen(Record::BurstLost { program: 4, .. }) => "lost",
        other => panic!("{other:?}"),
    };
    actions.iter().map(name).collect()
}

fn arrivals(actions: &[Action]) -> Vec<Instant> {
    let arrival = |action: &Action| match action {
        Action::Enter { at, .. } => Some(*at),
        _ => None,
    };
    actions.iter().filter_map(arrival).collect()
}

fn drops(actions: &[Action]) -> Vec<(Port, DropCause)> {
    let drop = |action: &Action| match action {
        Action::Drop { port, cause, .. } => Some((*port, *cause)),
        _ => None,
    };
    actions.iter().filter_map(drop).collect()
}

fn timers(actions: &[Action]) -> Vec<(TimerId, Instant, Expiry)> {
    let timer = |action: &Action| match action {
        Action::Timer { timer, at, expiry } => Some((*timer, *at, *expiry)),
        _ => None,
    };
    actions.iter().filter_map(timer).collect()
}

/// The last action, a question.
fn question(mut actions: Vec<Action>) -> (Frame, CardThen) {
    match actions.pop() {
        Some(Action::Ask { frame, then, .. }) => (frame, then),
        other => panic!("a question, not {other:?}"),
    }
}

fn sent(frame: &[u8]) -> TrainSent {
    TrainSent::decode(&frame[HEADER..]).unwrap()
}

#[test]
fn packets_leave_a_queue_as_bursts() {
    for (to_edge, tail_us) in [(false, 0), (true, 1000)] {
        let mut card = with_queue(to_edge);
        let out = sends(&mut card, us(0), burst(1, 1000));
        assert_eq!(names(&out), ["formed", "left", "enters"]);
        assert_eq!(arrivals(&out), [us(100 + tail_us)]);
        let payload = 1000 - Ethernet::SIZE - Label::SIZE - Optical::SIZE;
        let Action::Seen(Record::BurstFormed { packets: 1, bytes, .. }) = out[0] else {
            panic!("one packet")
        };
        assert_eq!(bytes, Bytes::new(payload as u64));
        assert!(matches!(out[1], Action::Seen(Record::BurstLeft { left, .. }) if left == us(1000)));
        assert_eq!(arrivals(&sends(&mut card, us(0), burst(2, 1000))), [us(1100 + tail_us)]);
        let full = sends(&mut card, us(0), burst(3, 1000));
        assert_eq!(names(&full), ["formed", "lost", "drop"]);
        assert_eq!(drops(&full), [(PORT, DropCause::QueueFull)]);
        assert!(matches!(
            card.take_output_use(us(10), PORT),
            Some(OutputUse::Queue(FifoUse { arrived_packets: 3, .. }))
        ));
        assert!(card.take_output_use(us(10), PORT + 1).is_none());
        assert!(card.take_memory_use().is_none() && card.take_waits().is_none());
    }
}

#[test]
fn other_packets_than_bursts_of_the_edge_are_lost() {
    let of_another = || {
        let label = Label {
            src_edge: EDGE + 1,
            ..label(1, 1000, 1)
        };
        frame(Some(label), optical(TrainPart::Only, 1), 1000)
    };
    let dropped = |card: &mut EdgeCard, port, packet, from| {
        let mut out = Actions::default();
        card.sends(us(0), port, packet, from, &mut out);
        let [Action::Drop { cause, .. }] = out.list[..] else {
            panic!("{:?}", out.list)
        };
        cause
    };
    let lane = Origin::Lane { born: Instant::ZERO };
    for mut card in [with_queue(false), with(memory(false, None), None)] {
        for (packet, from) in [
            (burst(1, 1000), Origin::Local),
            (of_another(), lane),
            (part(TrainPart::Middle), lane),
            (Packet::unborn(vec![0; 60]), lane),
        ] {
            assert_eq!(dropped(&mut card, PORT, packet, from), DropCause::NoSuchQueue);
        }
        for port in [PORT + 1, 0] {
            assert_eq!(dropped(&mut card, port, burst(1, 1000), lane), DropCause::NoSuchPort);
        }
        card.set_outside();
        let mut out = Actions::default();
        card.sends(us(0), PORT, burst(1, 1000), Origin::Local, &mut out);
        assert_eq!(arrivals(&out.list).len(), 1, "a switch outside may answer late");
    }
}

#[test]
fn a_dark_queue_loses_what_waits_and_what_comes() {
    let mut card = with_queue(true);
    sends(&mut card, us(0), burst(1, 1000));
    sends(&mut card, us(0), burst(2, 1000));
    let out = set_dark(&mut card, us(10), true);
    assert!(matches!(
        out[..],
        [Action::Cut {
            lane: 7,
            port: PORT,
            cause: DropCause::LinkDown,
            delay: DELAY,
            by_tail: true
        }]
    ));
    let out = sends(&mut card, us(20), burst(3, 1000));
    assert_eq!(names(&out), ["formed", "lost", "drop"]);
    assert_eq!(drops(&out), [(PORT, DropCause::LinkDown)]);
    assert!(set_dark(&mut card, us(30), false).is_empty());
    let mut out = Actions::default();
    card.set_dark(us(30), PORT + 1, true, &mut out);
    assert!(out.list.is_empty());
    assert_eq!(
        arrivals(&sends(&mut card, us(30), burst(4, 1000))),
        [us(1000 + 100 + 1000)]
    );
    card.restarts(us(40), &mut out);
    assert!(matches!(
        out.list[..],
        [Action::Cut {
            cause: DropCause::PipelineReplaced,
            ..
        }]
    ));
    for message in [
        control(PORT, PORT, FlowOp::SetQueueTimer, 1),
        control(PORT + 1, 0, FlowOp::SetRate, 1),
    ] {
        assert!(!told(&mut card, us(50), &message).0);
    }
}

#[test]
fn one_burst_leaves_and_the_others_wait() {
    let mut card = with(memory(false, None), Some(LIMIT));
    let out = sends(&mut card, us(0), burst(1, 1000));
    assert_eq!(names(&out), ["formed", "timer", "left", "enters"]);
    assert_eq!(timers(&out), [(PORT, us(1010), Expiry::Last)], "with the guard");
    assert_eq!(arrivals(&out), [us(100)]);
    assert_eq!(names(&sends(&mut card, us(5), burst(2, 500))), ["formed"]);
    let over = sends(&mut card, us(6), burst(3, 500));
    assert!(matches!(
        over[..],
        [
            Action::Seen(_),
            Action::Broken {
                port: PORT,
                broken: Invariant::INGRESS,
                ..
            }
        ]
    ));
    assert!(due(&mut card, us(1009), PORT, Expiry::Last).is_empty());
    let out = due(&mut card, us(1010), PORT, Expiry::Last);
    assert_eq!(names(&out), ["timer", "left", "enters", "asks"]);
    assert_eq!(arrivals(&out), [us(1110)]);
    assert_eq!(sent(&question(out).0).traffic_class, 1);
    due(&mut card, us(1520), PORT, Expiry::Last);
    let (frame, then) = question(due(&mut card, us(2030), PORT, Expiry::Last));
    assert_eq!(sent(&frame).flags, OUTPUT_IDLE);
    assert!(goes_on(&mut card, us(2030), then, DONE).is_empty());
    let used = card.take_memory_use().unwrap();
    assert_eq!((used.most_held, used.unserved_bursts), (Bytes::new(1000), 0));
    assert!(card.take_waits().is_none());
    assert!(matches!(
        card.take_output_use(us(2030), PORT),
        Some(OutputUse::Bursts(BurstUse { sent_bursts: 3, .. }))
    ));
    sends(&mut card, us(3000), burst(4, 1000));
    let mut out = Actions::default();
    card.due(us(4010), PORT, Expiry::Last, Program::None, &mut out);
    assert!(out.list.is_empty(), "without a program there is no report");
}

#[test]
fn the_limit_may_count_by_class() {
    let limit = IngressLimit {
        bursts: 1,
        by_class: true,
    };
    let mut card = with(memory(false, None), Some(limit));
    let of_class = |burst, traffic_class| {
        let label = Label {
            traffic_class,
            ..label(burst, 500, 1)
        };
        frame(Some(label), optical(TrainPart::Only, burst), 500)
    };
    sends(&mut card, us(0), of_class(1, 0));
    assert_eq!(names(&sends(&mut card, us(0), of_class(2, 0))), ["formed"]);
    assert_eq!(names(&sends(&mut card, us(0), of_class(3, 1))), ["formed"]);
    assert_eq!(names(&sends(&mut card, us(0), of_class(4, 1))), ["formed", "broken"]);
}

#[test]
fn a_burst_without_room_is_lost_and_p4_is_told() {
    let mut card = with(memory(false, Some(macroflows())), Some(LIMIT));
    sends(&mut card, us(0), burst(1, 3000));
    sends(&mut card, us(0), burst(2, 3000));
    let out = sends(&mut card, us(0), burst(3, 3000));
    assert_eq!(names(&out), ["formed", "lost", "drop", "asks"]);
    assert_eq!(drops(&out), [(PORT, DropCause::QueueFull)]);
    assert_eq!(sent(&question(out).0).flags, 0, "another one leaves");
    let mut card = with(memory(false, None), None);
    let out = sends(&mut card, us(0), burst(1, 5000));
    assert_eq!(names(&out), ["formed", "lost", "drop"], "P4 counts no bursts");
}

#[test]
fn a_burst_comes_as_a_whole_over_a_fibre_between_edges() {
    let process = DelayProcess {
        hold: [Duration::from_ms(1), Duration::from_ms(2)],
        mean_ms: 5.0,
        deviation_ms: 0.0,
    };
    let delay = DrawnDelay::new(process, generator(1, Stream::LaneDelay, 0));
    for (delay, drawn) in [(None, Duration::ZERO), (Some(delay), Duration::from_ms(5))] {
        let mut card = bare().with_bursts(memory(true, None), None, PROBES);
        card.add_output(PORT, BurstQueue::default(), wavelength(true), Some(Direct::new(delay)));
        sends(&mut card, us(0), part(TrainPart::First));
        sends(&mut card, us(0), part(TrainPart::Middle));
        question(due(&mut card, us(5000), BURSTS, Expiry::First));
        let good = label(1, 2000 + Label::SIZE, 2);
        let (_, out) = told(&mut card, us(5000), &answer(2, Some(good), 0));
        assert_eq!(names(&out), ["formed", "timer", "left", "enters", "enters"]);
        let end = us(5000 + 2000 + Label::SIZE as u64);
        assert_eq!(arrivals(&out), [end + DELAY + drawn; 2]);
        assert!(matches!(out[2], Action::Seen(Record::BurstLeft { left, .. }) if left == end));
        assert!(
            set_dark(&mut card, us(5010), true).is_empty(),
            "one that has begun comes"
        );
    }
}

#[test]
fn two_bursts_at_once_on_a_fibre_are_seen() {
    let queue = BurstQueue::default();
    let ticks = Ticks::new(PORT, PORT, &queue);
    let before = Before::Bursts(queue, ticks);
    let mut output = Output::new(before, wavelength(true));
    output.direct = Some(Direct::default());
    for (at, expected) in [(0, 2), (999, 3), (1999, 2)] {
        let mut out = Actions::default();
        let burst = Burst::only(burst(1, 1000), Bytes::new(1000));
        output.light(us(at), PORT, burst, (Bytes::ZERO, 4), &mut out);
        assert_eq!(out.list.len(), expected, "{:?}", out.list);
        if expected == 3 {
            let broken = Invariant::LANE;
            assert!(matches!(out.list[0], Action::Broken { port: PORT, broken: found, .. } if found == broken));
        }
    }
}

#[test]
fn timers_of_an_outputs_agent_tick_one_after_the_answer_to_the_other() {
    let mut card = bare().with_bursts(memory(false, None), None, PROBES);
    let mut queue = BurstQueue::default();
    queue.start_timers(us(0));
    assert_eq!(card.add_output(PORT, queue, wavelength(false), None), Some(us(0)));
    let (_, then) = question(due(&mut card, us(0), PORT, Expiry::First));
    let (_, then) = question(goes_on(&mut card, us(0), then, DONE));
    for (op, ms) in [(FlowOp::SetQueueTimer, 7), (FlowOp::SetControlTimer, 5)] {
        let (is_applied, out) = told(&mut card, us(0), &control(PORT, PORT, op, Duration::from_ms(ms).ns()));
        assert!(is_applied && out.is_empty(), "set when all is answered");
    }
    let out = goes_on(&mut card, us(0), then, DONE);
    assert_eq!(timers(&out), [(PORT, us(5000), Expiry::First)]);
    assert!(due(&mut card, us(4999), PORT, Expiry::First).is_empty());
    // A switch outside answers later.
    let sooner = control(PORT, PORT, FlowOp::SetQueueTimer, Duration::from_ms(1).ns());
    let (is_applied, out) = told(&mut card, us(100), &sooner);
    assert!(is_applied && timers(&out) == [(PORT, us(1000), Expiry::First)]);
    assert!(!told(&mut card, us(100), &control(PORT, PORT, FlowOp::Open, 1)).0);
    let other = CardThen::Ticks { timer: PORT + 1 };
    assert!(goes_on(&mut card, us(100), other, DONE).is_empty());
    assert!(goes_on(&mut card, us(100), CardThen::Nothing, DONE).is_empty());
}

/// A packet with TCP that arrives.
fn tcp(sequence: u32) -> Packet {
    let mut packet = frame(None, optical(TrainPart::Middle, sequence), 100);
    let ip = Ethernet::SIZE + Optical::SIZE;
    packet.frame[ip] = 0x45;
    packet.frame[ip + 9] = IP_PROTOCOL_TCP;
    packet
}

#[test]
fn packets_that_arrive_wait_for_those_before_them() {
    let arrives = |card: &mut EdgeCard, now, packet| {
        let mut out = Actions::default();
        let given = card.arrives(now, PORT, packet, 1, &mut out);
        (given.is_some(), out.list)
    };
    let mut card = bare();
    assert!(arrives(&mut card, us(0), tcp(2)).0, "as it is");
    assert_eq!(card.resequenced(), 0);
    let mut card = bare().with_resequencer(Duration::from_ms(1));
    assert!(arrives(&mut card, us(0), Packet::unborn(vec![0; 60])).0, "of no burst");
    let (_, out) = arrives(&mut card, us(0), tcp(2));
    assert_eq!(timers(&out), [(ARRIVALS, us(1000), Expiry::First)]);
    assert_eq!(names(&arrives(&mut card, us(10), tcp(1)).1), ["arrives", "arrives"]);
    assert!(arrives(&mut card, us(20), tcp(4)).1.is_empty(), "the timer runs");
    let out = due(&mut card, us(1000), ARRIVALS, Expiry::First);
    assert_eq!(timers(&out), [(ARRIVALS, us(1020), Expiry::First)]);
    let out = due(&mut card, us(1020), ARRIVALS, Expiry::First);
    assert!(matches!(&out[..], [Action::Arrives { port: PORT, .. }]));
    assert!(due(&mut card, us(1020), ARRIVALS, Expiry::First).is_empty());
    assert_eq!(card.resequenced(), 2);
    arrives(&mut card, us(1100), tcp(9));
    let mut out = Actions::default();
    card.restarts(us(1100), &mut out);
    assert_eq!(drops(&out.list), [(PORT_LINECARD, DropCause::PipelineReplaced)]);
}

#[test]
fn with_the_program_goes_all_that_waits() {
    let mut card = with(memory(true, Some(macroflows())), Some(LIMIT));
    let without_macroflow = |burst| {
        let optical = Optical {
            queue: QUEUE + 1,
            ..optical(TrainPart::Only, burst)
        };
        frame(Some(label(burst, 500, 1)), optical, 500)
    };
    sends(&mut card, us(0), without_macroflow(1));
    sends(&mut card, us(0), without_macroflow(2));
    sends(&mut card, us(0), burst(3, 500));
    sends(&mut card, us(0), burst(4, 500));
    sends(&mut card, us(0), part(TrainPart::First));
    let mut out = Actions::default();
    card.restarts(us(10), &mut out);
    let device = (PORT_LINECARD, DropCause::PipelineReplaced);
    let output = (PORT, DropCause::PipelineReplaced);
    assert_eq!(drops(&out.list), [output, output, device, device]);
    let expected = ["lost", "drop", "lost", "drop", "cut", "drop", "lost", "drop"];
    assert_eq!(names(&out.list), expected);
    assert_eq!(card.take_memory_use().unwrap().most_held, Bytes::new(2500));
    assert_eq!(card.take_memory_use().unwrap().most_held, Bytes::ZERO);
    sends(&mut card, us(20), without_macroflow(1));
    let out = due(&mut card, us(510), PORT, Expiry::Last);
    assert_eq!(
        names(&out),
        ["timer", "left", "enters"],
        "no report to P4 for a burst of the old program"
    );
}
