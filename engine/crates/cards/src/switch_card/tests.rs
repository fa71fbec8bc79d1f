// SPDX-License-Identifier: Apache-2.0

use slotwise_units::{Duration, Rate};
use slotwise_wire::{
    ETHERTYPE_OPTICAL, Ethernet, FlowControl, FlowOp, LABEL_VERSION, LabelKind, LineCardKind, OPTICAL_VERSION, Optical,
    TrainPart,
};

use super::*;
use crate::card::{Lane, Record};
use crate::message::header;
use crate::optical_ram::{ByteTime, RamSettings};

const PORT: Port = PORT_OPTICAL_BASE + 2;
const LANE: Lane = 5;
const DELAY: Duration = Duration::from_us(100);
const PROGRAM: u32 = 3;
/// Duration of a burst: 1 us a byte.
const BYTES: usize = 1000;
const DONE: Pass = Pass::Done { outputs: 1 };

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Room for one burst behind the one that leaves.
fn ram() -> OpticalRam {
    OpticalRam::new(RamSettings {
        byte_time: ByteTime::of_rate(Rate::from_bps(8_000_000)),
        ram: Bytes::of(BYTES),
        guard: Duration::ZERO,
    })
}

fn wavelength(to_edge: bool) -> Wavelength {
    Wavelength {
        lane: LANE,
        delay: DELAY,
        byte_time: ByteTime::of_rate(Rate::from_bps(8_000_000)),
        to_edge,
    }
}

fn card(to_edge: bool) -> SwitchCard {
    let mut card = SwitchCard::new(false, Bytes::ZERO);
    assert_eq!(card.add_output(PORT, ram(), wavelength(to_edge)), None);
    card
}

fn label(burst: u32) -> Label {
    Label {
        version: LABEL_VERSION,
        kind: LabelKind::Train.into(),
        train: burst,
        packets: 1,
        length: BYTES as u32,
        hops_left: 8,
        deflections_left: 2,
        ..Label::default()
    }
}

/// A frame of a burst, with its label or behind that.
fn frame(label: Option<Label>, bytes: usize) -> Packet {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let optical = Optical {
        version: OPTICAL_VERSION,
        train: TrainPart::Only.into(),
        ..Optical::default()
    };
    let label = label.map_or_else(Vec::new, |label| label.encode().to_vec());
    let mut frame = [&ethernet.encode()[..], &label, &optical.encode()].concat();
    frame.resize(bytes, 0);
    Packet::unborn(frame)
}

fn light(arrived: Instant, input: Port) -> Origin {
    Origin::Light {
        arrived,
        duration: Duration::from_us(BYTES as u64),
        program: PROGRAM,
        born: Instant::ZERO,
        input,
    }
}

/// A burst of one frame comes by an input, and leaves P4 at once.
fn cuts_through(card: &mut SwitchCard, now: Instant, input: Port) -> Vec<Action> {
    let mut out = Actions::default();
    card.sends(now, PORT, frame(Some(label(1)), BYTES), light(now, input), &mut out);
    out.list
}

fn arrival(action: &Action) -> Instant {
    match action {
        Action::Enter {
            lane: LANE, at, flying, ..
        } => {
            assert_eq!(flying.program, PROGRAM);
            *at
        }
        other => panic!("light, not {other:?}"),
    }
}

fn is_lost(actions: &[Action], because: DropCause) -> bool {
    let record = |action: &Action| {
        matches!(
            action,
            Action::Seen(Record::BurstLost {
                program: PROGRAM,
                label: Label { train: 1, .. }
            })
        )
    };
    matches!(actions, [first, Action::Drop { port: PORT, cause, .. }] if record(first) && *cause == because)
}

fn is_dropped(actions: &[Action], because: DropCause) -> bool {
    matches!(actions, [Action::Drop { cause, .. }] if *cause == because)
}

#[test]
fn bursts_cut_through_or_wait_in_the_ram() {
    for (to_edge, tail_us) in [(false, 0), (true, BYTES as u64)] {
        let mut card = card(to_edge);
        let first = cuts_through(&mut card, us(50), 256);
        assert_eq!((first.len(), arrival(&first[0])), (1, us(50 + 100 + tail_us)));
        let second = cuts_through(&mut card, us(60), 257);
        assert_eq!(arrival(&second[0]), us(1050 + 100 + tail_us));
        let third = cuts_through(&mut card, us(70), 258);
        let broken = matches!(
            third[0],
            Action::Broken {
                port: PORT,
                broken: Invariant::RAM,
                ..
            }
        );
        assert!(broken && arrival(&third[1]) == us(2050 + 100 + tail_us));
        let used = card.take_use(PORT).unwrap();
        assert_eq!((used.bursts, used.waited_bursts), (3, 2));
        assert!(card.take_use(PORT + 1).is_none() && card.take_use(0).is_none());
    }
}

#[test]
fn frames_behind_a_label_follow_it() {
    let mut card = card(false);
    let mut out = Actions::default();
    card.sends(us(0), PORT, frame(None, BYTES), light(us(0), 256), &mut out);
    assert!(is_dropped(&out.list, DropCause::NoSuchQueue), "no label has come there");
    cuts_through(&mut card, us(0), 257);
    cuts_through(&mut card, us(500), 256);
    let mut out = Actions::default();
    card.sends(us(600), PORT, frame(None, BYTES), light(us(600), 256), &mut out);
    assert_eq!(arrival(&out.list[0]), us(1100 + 100), "its label waited for 500 us");
}

#[test]
fn other_packets_than_bursts_are_lost() {
    let mut card = card(false);
    for (port, packet, from, cause) in [
        (PORT + 1, frame(None, 60), light(us(0), 256), DropCause::NoSuchPort),
        (PORT, frame(None, 60), Origin::Local, DropCause::NoSuchQueue),
        (
            PORT,
            Packet::unborn(vec![0; 60]),
            light(us(0), 256),
            DropCause::NoSuchQueue,
        ),
    ] {
        let mut out = Actions::default();
        card.sends(us(0), port, packet, from, &mut out);
        assert!(is_dropped(&out.list, cause));
    }
}

#[test]
fn a_dark_output_loses_what_waits_and_what_comes() {
    let mut card = card(true);
    cuts_through(&mut card, us(0), 256);
    cuts_through(&mut card, us(0), 257);
    let mut out = Actions::default();
    card.set_dark(us(10), PORT, true, &mut out);
    let [
        Action::Cut {
            lane: LANE,
            port: PORT,
            cause: DropCause::LinkDown,
            delay: DELAY,
            by_tail: true,
        },
    ] = out.list[..]
    else {
        panic!("what has not begun to leave is lost: {:?}", out.list)
    };
    assert!(is_lost(&cuts_through(&mut card, us(20), 258), DropCause::LinkDown));
    let mut out = Actions::default();
    card.set_dark(us(30), PORT, false, &mut out);
    card.set_dark(us(30), PORT + 1, true, &mut out);
    assert!(out.list.is_empty());
    assert_eq!(arrival(&cuts_through(&mut card, us(40), 258)[0]), us(1000 + 100 + 1000));
    assert_eq!(card.take_use(PORT).unwrap().lost_frames, 2);
}

#[test]
fn a_switch_outside_reckons_by_another_time() {
    let mut card = card(false);
    card.set_outside();
    card.looks_at(Some(label(9)));
    for input in [256, 257] {
        assert_eq!(
            cuts_through(&mut card, us(0), input).len(),
            1,
            "another label is not looked at"
        );
    }
    assert!(is_lost(&cuts_through(&mut card, us(0), 258), DropCause::QueueFull));
    let mut out = Actions::default();
    card.sends(
        us(5000),
        PORT,
        frame(Some(label(1)), BYTES),
        light(us(3000), 256),
        &mut out,
    );
    assert_eq!(arrival(&out.list[0]), us(5000), "never in the past");
}

#[test]
fn labels_are_compared_with_what_came() {
    let mut card = card(false);
    let came = Label {
        hops_left: 9,
        ..label(1)
    };
    card.looks_at(Some(came));
    assert_eq!(cuts_through(&mut card, us(0), 256).len(), 1);
    card.looks_at(Some(label(1)));
    let out = cuts_through(&mut card, us(2000), 256);
    let broken = Invariant::LABEL;
    assert!(matches!(out[0], Action::Broken { port: PORT, broken: found, .. } if found == broken) && out.len() == 2);
    card.looks_at(None);
    assert_eq!(cuts_through(&mut card, us(4000), 256).len(), 1);
}

#[test]
fn with_the_program_goes_what_waits() {
    let mut card = card(false);
    card.add_output(PORT - 2, ram(), wavelength(true));
    cuts_through(&mut card, us(0), 256);
    cuts_through(&mut card, us(0), 257);
    let mut out = Actions::default();
    card.restarts(us(10), &mut out);
    let cut = out.list.iter().map(|action| match action {
        Action::Cut {
            port,
            cause: DropCause::PipelineReplaced,
            by_tail,
            ..
        } => (*port, *by_tail),
        other => panic!("{other:?}"),
    });
    assert_eq!(cut.collect::<Vec<_>>(), [(PORT - 2, true), (PORT, false)]);
    let out = cuts_through(&mut card, us(20), 256);
    assert_eq!(arrival(&out[0]), us(1000 + 100), "behind what leaves");
}

fn answer(port: Port, queue: u16, op: FlowOp, value: Duration) -> Vec<u8> {
    let control = FlowControl {
        queue,
        op: op.into(),
        open_ns: 0,
        close_ns: 0,
        value: value.ns(),
    };
    [&header(port, LineCardKind::FlowControl)[..], &control.encode()].concat()
}

fn told(card: &mut SwitchCard, now: Instant, frame: &[u8]) -> (bool, Vec<Action>) {
    let mut out = Actions::default();
    let is_applied = card.told(now, &ToCard::read(frame).unwrap(), &mut out);
    (is_applied, out.list)
}

fn is_timer(action: &Action, expected: Instant) -> bool {
    matches!(action, Action::Timer { timer: PORT, at, expiry: Expiry::First } if *at == expected)
}

/// Both timers have expired: the continuation of the last tick, after the answer to the other.
fn second_tick(card: &mut SwitchCard, pass: Pass) -> Then {
    let mut out = Actions::default();
    card.due(us(0), PORT, Expiry::First, Program::Inside, &mut out);
    let Some(Action::Ask { then, .. }) = out.list.pop() else {
        panic!("the tick of the queue's timer")
    };
    assert!(out.list.is_empty());
    card.goes_on(us(0), then, pass, &mut out);
    let Some(Action::Ask { then, .. }) = out.list.pop() else {
        panic!("that of the control timer")
    };
    assert!(matches!(
        out.list[..],
        [Action::Seen(Record::AgentInterval { port: PORT })]
    ));
    then
}

fn with_agent() -> SwitchCard {
    let mut ram = ram();
    ram.start_timers(us(0));
    let mut card = SwitchCard::new(true, Bytes::ZERO);
    assert_eq!(card.add_output(PORT, ram, wavelength(false)), Some(us(0)));
    card
}

#[test]
fn timers_of_an_agent_tick_one_after_the_answer_to_the_other() {
    let mut card = with_agent();
    let then = second_tick(&mut card, DONE);
    card.interval_ends(us(0), PORT, Bytes::new(1000));
    card.interval_ends(us(0), PORT + 1, Bytes::new(1000));
    for (op, ms) in [(FlowOp::SetQueueTimer, 7), (FlowOp::SetControlTimer, 5)] {
        let (is_applied, out) = told(&mut card, us(0), &answer(PORT, PORT, op, Duration::from_ms(ms)));
        assert!(is_applied && out.is_empty(), "set when all is answered");
    }
    let mut out = Actions::default();
    card.goes_on(us(0), then, DONE, &mut out);
    assert!(out.list.len() == 1 && is_timer(&out.list[0], us(5000)));
    out.list.clear();
    card.due(us(4999), PORT, Expiry::First, Program::Inside, &mut out);
    card.goes_on(us(4999), Then::Nothing, DONE, &mut out);
    assert!(out.list.is_empty());
    let used = card.take_use(PORT).unwrap();
    assert_eq!((used.intervals, used.overloaded_intervals), (1, 1));
}

#[test]
fn an_answer_that_comes_later_sets_the_timer() {
    let mut card = with_agent();
    let then = second_tick(&mut card, Pass::Later);
    let mut out = Actions::default();
    card.goes_on(us(0), then, Pass::Later, &mut out);
    assert_eq!(out.list.len(), 1, "it tries again");
    let answered = answer(PORT, PORT, FlowOp::SetQueueTimer, Duration::from_us(300));
    let (is_applied, out) = told(&mut card, us(20), &answered);
    assert!(is_applied && is_timer(&out[0], us(300)));
    for wrong in [
        answer(PORT, PORT + 1, FlowOp::SetQueueTimer, Duration::from_us(1)),
        answer(PORT, PORT, FlowOp::SetQueueTimer, Duration::ZERO),
        answer(PORT + 1, PORT + 1, FlowOp::SetQueueTimer, Duration::from_us(1)),
        header(PORT, LineCardKind::FlowControl).to_vec(),
    ] {
        assert!(!told(&mut card, us(20), &wrong).0);
    }
    let mut without = self::card(false);
    assert!(!told(&mut without, us(20), &answered).0, "an output without an agent");
}

#[test]
fn a_switch_may_change_little_of_a_label() {
    let came = Label {
        src_edge: 1,
        train: 5,
        deflections_left: 2,
        hops_left: 9,
        ..Label::default()
    };
    let out = Label { hops_left: 8, ..came };
    assert!(is_well_kept(&came, &out, false));
    let deflected = Label {
        deflections_left: 1,
        ..out
    };
    assert!(is_well_kept(&came, &deflected, false));
    let converted = Label { wavelength: 1, ..out };
    assert!(is_well_kept(&came, &converted, true) && !is_well_kept(&came, &converted, false));
    let spoiled = [
        came,
        Label { train: 6, ..out },
        Label {
            deflections_left: 0,
            ..out
        },
        Label {
            deflections_left: 3,
            ..out
        },
    ];
    for out in spoiled {
        assert!(!is_well_kept(&came, &out, true), "{out:?}");
    }
    let none_left = Label {
        deflections_left: 0,
        ..came
    };
    let below = Label {
        deflections_left: u8::MAX,
        hops_left: 8,
        ..came
    };
    assert!(
        !is_well_kept(&none_left, &below, true),
        "deflected more often than it may be"
    );
}
