// SPDX-License-Identifier: Apache-2.0
//! Bursts of an edge: assembled, held back by macroflows, and lost before a dark output.

use super::*;

#[test]
fn packets_are_assembled_until_their_interval_ends() {
    let mut card = with(memory(true, None), Some(LIMIT));
    let out = sends(&mut card, us(0), part(TrainPart::First));
    assert_eq!(timers(&out), [(BURSTS, us(5000), Expiry::First)]);
    assert!(sends(&mut card, us(1), part(TrainPart::Middle)).is_empty());
    let (tick, then) = question(due(&mut card, us(5000), BURSTS, Expiry::First));
    let tick = TrainTick::decode(&tick[HEADER..]).unwrap();
    assert_eq!((tick.queue, tick.packets, tick.bytes), (QUEUE, 2, 2000));
    let good = label(1, 2000 + Label::SIZE, 2);
    for wrong in [answer(3, Some(good), 0), header(PORT, LineCardKind::Alarm).to_vec()] {
        assert!(!told(&mut card, us(5000), &wrong).0);
    }
    let (is_applied, out) = told(&mut card, us(5000), &answer(2, Some(good), 9));
    assert!(is_applied);
    assert_eq!(names(&out), ["formed", "timer", "left", "enters", "enters"]);
    assert_eq!(arrivals(&out), [us(5100), us(5100 + 1000 + Label::SIZE as u64)]);
    assert!(goes_on(&mut card, us(5000), then, DONE).is_empty());
}

#[test]
fn p4_may_refuse_a_burst_or_have_no_answer() {
    let mut card = with(memory(true, None), None);
    sends(&mut card, us(0), part(TrainPart::First));
    let out = sends(&mut card, us(1), part(TrainPart::First));
    let (_, then) = question(out);
    let (is_applied, out) = told(&mut card, us(1), &answer(1, None, 0));
    assert!(is_applied);
    assert_eq!(names(&out), ["refused", "drop"]);
    assert_eq!(drops(&out), [(PORT, DropCause::Refused)]);
    let joined = goes_on(&mut card, us(1), then, DONE);
    assert_eq!(names(&joined), [] as [&str; 0], "the timer runs");
    let timer = due(&mut card, us(5000), BURSTS, Expiry::First);
    assert_eq!(timers(&timer), [(BURSTS, us(5001), Expiry::First)]);
    let (_, then) = question(due(&mut card, us(5001), BURSTS, Expiry::First));
    let out = goes_on(&mut card, us(5001), then, Pass::Done { outputs: 0 });
    assert_eq!(drops(&out), [(PORT_LINECARD, DropCause::Refused)]);
    let mut without = with(memory(false, None), None);
    assert!(!told(&mut without, us(0), &answer(1, None, 0)).0, "nothing was asked");
    assert_eq!(
        drops(&sends(&mut without, us(0), part(TrainPart::First))),
        [(PORT, DropCause::NoSuchQueue)]
    );
}

#[test]
fn macroflows_hold_bursts_back() {
    let mut card = with(memory(false, Some(macroflows())), Some(LIMIT));
    let mut out = Actions::default();
    card.starts(us(0), &mut out);
    assert_eq!(timers(&out.list), [(BURSTS, us(10_000), Expiry::First)], "its tick");
    assert_eq!(
        names(&sends(&mut card, us(0), burst(1, 1000))),
        ["formed", "timer", "left", "enters"]
    );
    let waits = sends(&mut card, us(0), burst(2, 1000));
    assert_eq!(timers(&waits), [(BURSTS, us(1000), Expiry::Last)]);
    let (is_applied, out) = told(&mut card, us(0), &control(PORT, QUEUE, FlowOp::SetRate, 16_000_000));
    assert!(is_applied && timers(&out) == [(BURSTS, us(500), Expiry::Last)]);
    assert!(!told(&mut card, us(0), &control(PORT, QUEUE, FlowOp::Open, 0)).0);
    assert!(!told(&mut card, us(0), &control(PORT, QUEUE + 9, FlowOp::SetRate, 1)).0);
    let out = due(&mut card, us(500), BURSTS, Expiry::Last);
    assert_eq!(names(&out), [] as [&str; 0], "it waits for the output now");
    assert_eq!(card.take_waits().unwrap().len(), 2);
    let (tick, then) = question(due(&mut card, us(10_000), BURSTS, Expiry::First));
    let tick = IntervalTick::decode(&tick[HEADER..]).unwrap();
    assert_eq!(tick.local_ns, us(10_000).ns());
    let (_, out) = told(&mut card, us(11_000), &control(PORT, QUEUE, FlowOp::SetRate, 8_000_000));
    assert_eq!(timers(&out), [(BURSTS, us(60_000), Expiry::First)]);
    assert!(goes_on(&mut card, us(11_000), then, DONE).is_empty(), "no other is due");
    let used = card.take_memory_use().unwrap();
    assert_eq!(used.probe_round_trip, Duration::from_ms(1));
}

#[test]
fn bursts_that_macroflows_let_out_to_a_dark_output_are_lost_one_by_one() {
    let mut card = with(memory(false, Some(macroflows())), Some(LIMIT));
    sends(&mut card, us(0), burst(1, 1000));
    sends(&mut card, us(0), burst(2, 500));
    sends(&mut card, us(0), burst(3, 500));
    told(&mut card, us(1), &control(PORT, QUEUE, FlowOp::SetRate, 0));
    assert_eq!(
        names(&set_dark(&mut card, us(2), true)),
        ["cut"],
        "none waits before it"
    );
    let out = due(&mut card, us(2), BURSTS, Expiry::Last);
    assert_eq!(drops(&out), [(PORT, DropCause::LinkDown)]);
    let out = goes_on(&mut card, us(2), question(out).1, DONE);
    assert_eq!(names(&out), ["lost", "drop", "asks"]);
    assert!(goes_on(&mut card, us(2), question(out).1, DONE).is_empty());
    assert_eq!(card.take_memory_use().unwrap().unserved_bursts, 0);
}

#[test]
fn p4_is_told_of_each_burst_that_waits_for_a_dark_output() {
    let mut card = with(memory(false, None), Some(LIMIT));
    for number in 1..=3 {
        sends(&mut card, us(0), burst(number, 1000));
    }
    let mut out = set_dark(&mut card, us(10), true);
    for _ in 0..2 {
        assert_eq!(names(&out), ["lost", "drop", "asks"]);
        let (frame, then) = question(out);
        assert_eq!(sent(&frame).traffic_class, 1, "one leaves");
        out = goes_on(&mut card, us(10), then, DONE);
    }
    assert_eq!(names(&out), ["cut"]);
    let mut card = with(memory(false, None), None);
    sends(&mut card, us(0), burst(1, 1000));
    sends(&mut card, us(0), burst(2, 1000));
    assert_eq!(names(&set_dark(&mut card, us(10), true)), ["lost", "drop", "cut"]);
}
