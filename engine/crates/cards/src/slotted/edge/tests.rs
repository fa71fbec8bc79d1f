// SPDX-License-Identifier: Apache-2.0
//! Tests of the card of an edge, driven without a network.

mod bursts;

use std::collections::BTreeMap;

use slotwise_wire::{
    Alarm, Ethernet, FlowOp, LineCardKind, Linecard, OpticalKind, PORT_LINECARD, Stamp, TrainLabel, TrainPart,
    TrainTick,
};

use super::*;
use crate::aggregation::{Aggregation, BurstTimer, Intervals};
use crate::burst::Burst;
use crate::burst_memory::BurstMemory;
use crate::message::{HEADER, header};
use crate::packet::optical_frame;
use crate::slotted::Drift;
use slotwise_random::{Stream, generator};

const PORT: Port = PORT_OPTICAL_BASE;
const EDGE: u16 = 1;
const EPOCH: Instant = Instant::from_ns(10_000_000);
const SLOT: Duration = Duration::from_us(100);
const T_D: Duration = Duration::from_us(7);
/// Duration of a frame of 1000 bytes at 1 Gb/s.
const LIGHT: Duration = Duration::from_us(8);
const SLOTS: Slots = Slots {
    epoch: EPOCH,
    count: 4,
    slot: SLOT,
    guard: Duration::from_us(1),
    signaling: 1,
};
const GOOD: FibreState = FibreState {
    rate: Rate::from_bps(1_000_000_000),
    delay: Duration::from_us(5),
    is_up: true,
    is_weak: false,
};

fn settings(port: Port) -> FibreSettings {
    FibreSettings {
        port,
        state: GOOD,
        queues: LineCard::new(0..2, Bytes::new(10_000), Bytes::new(1500)),
        ticks: Ticks {
            report_slot: 1,
            first_slot: 1,
            signaling: 1,
        },
        clock: LocalClock::ideal(),
        time_difference: Some(T_D),
        bursts: None,
    }
}

/// A clock that is not the network's.
fn own_clock() -> LocalClock {
    let drift = Drift {
        max_offset: Duration::from_ms(5),
        max_drift_ppb: 50_000,
        walk_ppb: 100,
        step: Duration::from_ms(1),
    };
    LocalClock::drifting(drift, generator(1, Stream::Clock, 1))
}

fn bursts() -> Bursts {
    let intervals = Intervals {
        interval: Duration::from_ms(1),
        timer: BurstTimer::FirstPacket,
        dither: false,
        seed: 1,
        edge: EDGE,
    };
    let card = BurstMemory::new(Bytes::new(20_000), Some(Aggregation::new(intervals, 4)), None);
    Bursts::new(PORT, card, Bytes::new(5000), Bytes::new(1500))
}

/// Bench with all that a card puts out, by time: a network without a core.
struct Bench {
    edge: Edge,
    now: Instant,
    timers: BTreeMap<(Instant, Expiry, usize), TimerId>,
    age: usize,
    /// Messages for P4, with the continuation of the last one.
    asked: Vec<Frame>,
    light: Vec<(Instant, u16, Frame)>,
    lost: Vec<(Port, DropCause)>,
    broken: Vec<Invariant>,
    records: Vec<Record>,
    program: Program,
}

impl Bench {
    fn of(settings: FibreSettings) -> Bench {
        let mut bench = Bench {
            edge: Edge::new(EDGE, SLOTS, true),
            now: Instant::ZERO,
            timers: BTreeMap::new(),
            age: 0,
            asked: Vec::new(),
            light: Vec::new(),
            lost: Vec::new(),
            broken: Vec::new(),
            records: Vec::new(),
            program: Program::Inside,
        };
        bench.call(|edge, now, out| edge.add_fibre(now, settings, out));
        bench
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut Edge, Instant, &mut Actions) -> T) -> T {
        let mut out = Actions::default();
        let result = call(&mut self.edge, self.now, &mut out);
        for action in out.list {
            self.perform(action);
        }
        result
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Timer { timer, at, expiry } => {
                self.age += 1;
                self.timers.insert((at, expiry, self.age), timer);
            }
            Action::Ask { frame, then, .. } => {
                self.asked.push(frame);
                let pass = Pass::Done { outputs: 0 };
                self.call(|edge, now, out| edge.goes_on(now, then, pass, out));
            }
            Action::Light { packet, queue, .. } => self.light.push((self.now, queue, packet.frame)),
            Action::Drop { port, cause, .. } | Action::Refuse { port, cause, .. } => self.lost.push((port, cause)),
            Action::Broken { broken, .. } => self.broken.push(broken),
            Action::Seen(record) => self.records.push(record),
            action => panic!("nothing of an edge: {action:?}"),
        }
    }

    /// Lets timers expire until a time.
    fn run(&mut self, until: Instant) {
        while let Some(timer) = self.timers.first_entry().filter(|timer| timer.key().0 <= until) {
            let ((at, expiry, _), timer) = timer.remove_entry();
            self.now = at;
            let program = self.program;
            self.call(|edge, now, out| edge.due(now, timer, expiry, program, out));
        }
        self.now = until;
    }

    fn tell(&mut self, port: Port, kind: LineCardKind, content: &[u8]) -> bool {
        let frame = [&header(port, kind)[..], content].concat();
        self.call(|edge, now, out| edge.told(now, &ToCard::read(&frame).unwrap(), out))
    }

    fn control(&mut self, op: FlowOp, queue: u16, (open, close): (Instant, Instant), value: u64) {
        let control = FlowControl {
            queue,
            op: op.into(),
            open_ns: open.ns(),
            close_ns: close.ns(),
            value,
        };
        assert!(self.tell(PORT, LineCardKind::FlowControl, &control.encode()));
    }

    /// Opens the gate of a queue for so many frames from a time on.
    fn open(&mut self, queue: u16, at: Instant, frames: u64) {
        self.control(FlowOp::Open, queue, (at, at + LIGHT * frames), 0);
    }

    fn set_phase(&mut self, value: Duration) {
        self.control(FlowOp::SetPhase, 0, (Instant::ZERO, Instant::ZERO), value.ns());
    }

    fn send(&mut self, port: Port, frame: Frame) {
        self.call(|edge, now, out| edge.sends(now, port, Packet::unborn(frame), Origin::Local, out));
    }

    /// Messages of a kind since the last call, without their headers; others are forgotten.
    fn take_asked(&mut self, kind: LineCardKind) -> Vec<Vec<u8>> {
        let is_meant = |frame: &&Frame| Linecard::decode(&frame[Ethernet::SIZE..]).unwrap().kind == u8::from(kind);
        let asked = std::mem::take(&mut self.asked);
        asked
            .iter()
            .filter(is_meant)
            .map(|frame| frame[HEADER..].to_vec())
            .collect()
    }

    fn take_alarms(&mut self) -> Vec<(u8, u8)> {
        let alarms = self.take_asked(LineCardKind::Alarm).into_iter();
        alarms
            .map(|alarm| Alarm::decode(&alarm).unwrap())
            .map(|alarm| (alarm.code, alarm.flags))
            .collect()
    }
}

fn ticks(bench: &mut Bench) -> Vec<(u32, u16, u16, u64)> {
    let ticks = bench.take_asked(LineCardKind::SlotTick).into_iter();
    let ticks = ticks.map(|tick| SlotTick::decode(&tick).unwrap());
    ticks
        .map(|tick| (tick.frame, tick.slot, tick.repeat, tick.local_ns))
        .collect()
}

/// Start of a slot at the edge.
fn start(slot: u64) -> Instant {
    EPOCH + SLOT * slot - T_D
}

fn fault(code: FaultCode, over: bool) -> (u8, u8) {
    (code.into(), over.into())
}

#[test]
fn slots_start_t_d_early_and_queues_are_reported_before_a_slot() {
    let mut bench = Bench::of(settings(PORT));
    bench.run(start(2) - Duration::from_ns(1));
    let at = |slot: u64| start(slot).ns();
    assert_eq!(
        ticks(&mut bench),
        [(0, 0, 0, at(0)), (0, 0, 1, at(0)), (0, 1, 0, at(1))]
    );
    let reported = |voq| Record::Reported {
        port: PORT,
        voq,
        backlog: Bytes::ZERO,
    };
    let starts = |frame| Record::EdgeFrame { port: PORT, frame };
    assert_eq!(bench.records, [starts(0), reported(0), reported(1)]);
    bench.run(start(4));
    assert_eq!(
        ticks(&mut bench)[1..],
        [(0, 3, 0, at(3)), (1, 0, 0, at(4)), (1, 0, 1, at(4))]
    );
    assert!(bench.records.contains(&starts(1)));
}

#[test]
fn packets_leave_in_an_open_gate_and_grants_are_recorded() {
    let mut bench = Bench::of(settings(PORT));
    for sequence in 0..3 {
        bench.send(PORT, optical_frame(0, sequence));
    }
    let at = Instant::from_ns(50_000);
    bench.open(0, at, 2);
    assert_eq!(bench.records, [Record::Granted { port: PORT, voq: 0 }]);
    bench.run(EPOCH - SLOT);
    let left: Vec<Instant> = bench.light.iter().map(|(at, ..)| *at).collect();
    assert_eq!(left, [at, at + LIGHT]);
    assert_eq!(
        bench
            .edge
            .queues()
            .map(|(core, queues)| (core, queues.voq_numbers()))
            .collect::<Vec<_>>(),
        [(0, 0..2)]
    );
    let used = bench.edge.take_use(bench.now, PORT, 0).unwrap();
    assert_eq!(used.sent_packets, 2);
    assert!(bench.edge.take_use(bench.now, PORT, 7).is_none());
    assert!(bench.edge.take_use(bench.now, PORT + 1, 0).is_none());
}

#[test]
fn packets_and_messages_that_a_card_cannot_take_are_lost() {
    let mut bench = Bench::of(settings(PORT));
    bench.send(PORT, optical_frame(7, 0));
    bench.send(PORT + 1, optical_frame(0, 0));
    bench.control(FlowOp::Open, 9, (Instant::ZERO, EPOCH), 0);
    bench.control(FlowOp::SetPhase, 0, (EPOCH, Instant::ZERO), u64::MAX >> 1);
    assert_eq!(
        bench.lost,
        [
            (PORT, DropCause::NoSuchQueue),
            (PORT + 1, DropCause::NoSuchPort),
            (PORT, DropCause::NoSuchQueue),
            (PORT, DropCause::Malformed)
        ]
    );
    assert!(!bench.tell(PORT + 1, LineCardKind::FlowControl, &FlowControl::default().encode()));
    assert!(
        !bench.tell(PORT, LineCardKind::TrainLabel, &[0; 40]),
        "it makes no bursts"
    );
    bench.call(|edge, now, out| {
        edge.goes_on(now, Then::Light, Pass::Later, out);
        edge.due(now, 0, Expiry::CoreSlot, Program::Inside, out);
        edge.set_dark(now, PORT, true, out);
        assert!(out.list.is_empty());
    });
}

#[test]
fn another_t_d_moves_the_next_slot_and_the_old_timer_is_stale() {
    let mut bench = Bench::of(settings(PORT));
    bench.set_phase(T_D * 2);
    bench.set_phase(T_D * 3);
    bench.run(EPOCH);
    assert_eq!(
        ticks(&mut bench),
        [(0, 0, 0, (EPOCH - T_D * 3).ns()), (0, 0, 1, (EPOCH - T_D * 3).ns())]
    );
}

#[test]
fn without_t_d_there_are_no_slots_until_it_is_set() {
    let mut bench = Bench::of(FibreSettings {
        clock: own_clock(),
        time_difference: None,
        ..settings(PORT)
    });
    bench.run(EPOCH + SLOT * 9);
    assert!(bench.asked.is_empty() && !bench.edge.has_slots(0));
    bench.set_phase(T_D);
    assert!(bench.edge.has_slots(0) && !bench.edge.has_slots(1));
    bench.run(EPOCH + SLOT * 11);
    assert!(!ticks(&mut bench).is_empty());
    // Signaling that waits is for slots that are not to come.
    bench.send(PORT, optical_frame(slotwise_wire::SIGNALING_QUEUE, 0));
    bench.control(FlowOp::Stop, 0, (Instant::ZERO, Instant::ZERO), 0);
    bench.run(EPOCH + SLOT * 20);
    assert_eq!(bench.lost, [(PORT, DropCause::Stopped)]);
    assert_eq!(bench.take_alarms(), [fault(FaultCode::SyncError, false)]);
    assert!(!bench.edge.has_slots(0));
}

#[test]
fn a_clock_that_has_jumped_must_answer_before_t_d_is_taken() {
    let mut bench = Bench::of(FibreSettings {
        clock: own_clock(),
        ..settings(PORT)
    });
    let near = Jump::Ahead(Duration::from_ns(99));
    bench.call(|edge, now, out| edge.clocks_jump(now, near, out));
    assert!(bench.edge.has_slots(0), "that is measured away");
    bench.call(|edge, now, out| edge.clocks_jump(now, Jump::Back(Duration::from_ns(100)), out));
    bench.run(EPOCH);
    assert_eq!(bench.take_alarms(), [fault(FaultCode::SyncError, false)]);
    bench.set_phase(T_D);
    assert_eq!(bench.lost, [(PORT, DropCause::Stopped)]);
    let local = bench.edge.fibre(PORT).unwrap().clock.local(bench.now + SLOT);
    bench.control(
        FlowOp::OpenAndTick,
        slotwise_wire::SIGNALING_QUEUE,
        (local, local + LIGHT),
        0,
    );
    bench.run(EPOCH + SLOT * 2);
    let answers = ticks(&mut bench);
    assert_eq!((answers.len(), answers[0].1, answers[0].2), (1, ANSWER_SLOT, 1));
    bench.set_phase(T_D);
    assert!(bench.edge.has_slots(0));
}

#[test]
fn a_clock_of_the_network_neither_jumps_nor_is_lost() {
    let mut bench = Bench::of(settings(PORT));
    bench.call(|edge, now, out| edge.clocks_jump(now, Jump::Ahead(SLOT), out));
    bench.call(|edge, now, out| edge.stops(now, out));
    assert!(bench.edge.has_slots(0));
    let mut bench = Bench::of(FibreSettings {
        clock: own_clock(),
        ..settings(PORT)
    });
    bench.call(|edge, now, out| edge.stops(now, out));
    assert!(!bench.edge.has_slots(0));
}

#[test]
fn p4_hears_what_has_become_of_light() {
    let mut bench = Bench::of(settings(PORT));
    let change = |bench: &mut Bench, state| {
        bench.call(|edge, now, out| edge.fibre_changed(now, PORT, state, out));
        bench.run(bench.now);
        bench.take_alarms()
    };
    let weak = FibreState { is_weak: true, ..GOOD };
    let dark = FibreState { is_up: false, ..GOOD };
    assert_eq!(change(&mut bench, weak), [fault(FaultCode::Power, false)]);
    let both = [fault(FaultCode::Power, true), fault(FaultCode::LossOfSignal, false)];
    assert_eq!(change(&mut bench, dark), both);
    bench.call(|edge, now, out| edge.starts(now, out));
    bench.run(bench.now);
    assert_eq!(
        bench.take_alarms(),
        [fault(FaultCode::LossOfSignal, false)],
        "once for a new program"
    );
    assert_eq!(change(&mut bench, GOOD), [fault(FaultCode::LossOfSignal, true)]);
    // It may have become weak without an alarm.
    bench.control(FlowOp::Stop, 0, (Instant::ZERO, Instant::ZERO), 0);
    change(&mut bench, weak);
    bench.set_phase(T_D);
    bench.run(bench.now);
    assert_eq!(bench.take_alarms(), [fault(FaultCode::Power, false)]);
    bench.call(|edge, now, out| edge.fibre_changed(now, PORT + 1, dark, out));
    bench.edge.alarms.are_raised = false;
    assert!(change(&mut bench, dark).is_empty(), "where they are not in use");
}

#[test]
fn light_is_for_the_edge_or_for_one_that_shares_its_port() {
    let mut bench = Bench::of(settings(PORT));
    bench.edge.set_sharing(PORT, vec![EDGE, 2]);
    for (destination, is_broken) in [(EDGE, false), (2, false), (3, true)] {
        let mut frame = optical_frame(0, 1);
        let mut optical = message::optical(&frame).unwrap();
        optical.dst_edge = destination;
        frame[Ethernet::SIZE..Ethernet::SIZE + Optical::SIZE].copy_from_slice(&optical.encode());
        let arrived = bench.call(|edge, now, out| edge.arrives(now, PORT, Flying::plain(Packet::unborn(frame)), out));
        assert_eq!(arrived.optical.unwrap().dst_edge, destination);
        assert_eq!(bench.broken.pop(), is_broken.then_some(Invariant::UNGRANTED));
    }
    let flying = Flying::plain(Packet::unborn(vec![0; 60]));
    let arrived = bench.call(|edge, now, out| edge.arrives(now, PORT + 5, flying, out));
    assert!(arrived.optical.is_none());
}

#[test]
fn measurements_carry_when_their_first_bit_leaves_and_comes() {
    let mut bench = Bench::of(settings(PORT));
    let mut frame = optical_frame(slotwise_wire::SIGNALING_QUEUE, 1);
    let mut optical = message::optical(&frame).unwrap();
    optical.kind = OpticalKind::Sync.into();
    frame[Ethernet::SIZE..Ethernet::SIZE + Optical::SIZE].copy_from_slice(&optical.encode());
    let stamp = |frame: &Frame| Stamp::decode(&frame[Ethernet::SIZE + Optical::SIZE..]).unwrap();
    bench.send(PORT, frame.clone());
    let at = Instant::from_ns(40_000);
    bench.open(slotwise_wire::SIGNALING_QUEUE, at, 1);
    bench.run(at);
    assert_eq!(stamp(&bench.light[0].2).sent_ns, at.ns());
    let arrived = bench.call(|edge, now, out| edge.arrives(now, PORT, Flying::plain(Packet::unborn(frame)), out));
    assert_eq!(stamp(&arrived.frame).received_ns, (at - LIGHT).ns());
    let short = arrived.frame[..Ethernet::SIZE + Optical::SIZE].to_vec();
    let arrived = bench.call(|edge, now, out| edge.arrives(now, PORT, Flying::plain(Packet::unborn(short)), out));
    assert_eq!(
        arrived.frame.len(),
        Ethernet::SIZE + Optical::SIZE,
        "there is no place for it"
    );
}

#[test]
fn the_link_to_a_core_takes_as_long_as_its_fibre() {
    let mut bench = Bench::of(settings(PORT));
    bench.edge.set_control(PORT, ControlLink::new(9, GOOD.delay));
    let enters = |bench: &mut Bench| {
        let mut out = Actions::default();
        bench.edge.sends(
            bench.now,
            PORT_CORE_CONTROL,
            Packet::unborn(vec![0; 60]),
            Origin::Local,
            &mut out,
        );
        match out.list[..] {
            [Action::Enter { lane: 9, at, .. }] => at,
            _ => panic!("the far end gets it"),
        }
    };
    assert_eq!(enters(&mut bench), bench.now + GOOD.delay);
    let longer = FibreState { delay: SLOT, ..GOOD };
    bench.call(|edge, now, out| edge.fibre_changed(now, PORT, longer, out));
    assert_eq!(enters(&mut bench), bench.now + SLOT);
}

#[test]
fn a_restart_loses_what_waits_and_new_demand_is_counted_before() {
    let mut bench = Bench::of(FibreSettings {
        bursts: Some(bursts()),
        ..settings(PORT)
    });
    bench.run(Instant::ZERO + SLOTS.frame());
    bench.send(PORT, optical_frame(0, 0));
    bench.send(PORT, bursts::of_burst(0, 1, TrainPart::First));
    assert_eq!(bench.edge.unserved_demand(), 1);
    bench.call(|edge, now, out| edge.restarts(now, out));
    assert_eq!(bench.lost, [(PORT, DropCause::PipelineReplaced); 2]);
    assert_eq!(bench.edge.unserved_demand(), 0);
}

#[test]
fn interval_timers_tick_where_there_are_some() {
    let mut queues = LineCard::new(0..2, Bytes::new(10_000), Bytes::new(1500));
    queues.start_timers(Instant::ZERO);
    let mut bench = Bench::of(FibreSettings {
        queues,
        ..settings(PORT)
    });
    bench.run(Instant::ZERO);
    assert_eq!(
        bench.take_asked(LineCardKind::IntervalTick).len(),
        4,
        "two timers of each VOQ"
    );
    bench.program = Program::None;
    bench.run(EPOCH);
    assert!(bench.asked.is_empty());
}
