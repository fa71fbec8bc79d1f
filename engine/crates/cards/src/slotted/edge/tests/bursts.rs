// SPDX-License-Identifier: Apache-2.0
//! Bursts of an edge: assembled, queued, and checked before a fibre.

use super::*;

pub(super) fn of_burst(queue: u16, sequence: u32, part: TrainPart) -> Frame {
    let mut frame = optical_frame(queue, sequence);
    let mut optical = message::optical(&frame).unwrap();
    optical.train = part.into();
    frame[Ethernet::SIZE..Ethernet::SIZE + Optical::SIZE].copy_from_slice(&optical.encode());
    frame
}

/// Answers that a burst of a queue waits in a VOQ.
fn label(bench: &mut Bench, queue: u16, packets: u16, voq: u64) -> bool {
    let label = TrainLabel {
        queue,
        packets,
        tag: voq,
        ..TrainLabel::default()
    };
    let mut content = label.encode().to_vec();
    content.resize(TrainLabel::SIZE + slotwise_wire::Label::SIZE, 0);
    bench.tell(PORT, LineCardKind::TrainLabel, &content)
}

/// A bench whose P4 answers later, with a burst of two frames that it is asked about.
fn asked_about_a_burst() -> Bench {
    let mut bench = Bench::of(FibreSettings {
        bursts: Some(bursts()),
        ..settings(PORT)
    });
    bench.send(PORT, of_burst(0, 1, TrainPart::First));
    bench.send(PORT, of_burst(0, 2, TrainPart::Middle));
    bench
}

#[test]
fn a_burst_is_lost_without_an_answer_and_closed_by_its_interval() {
    let mut bench = asked_about_a_burst();
    assert!(bench.asked.is_empty());
    bench.run(Instant::from_ns(1_000_000));
    let asked = bench.take_asked(LineCardKind::TrainTick);
    let tick = TrainTick::decode(&asked[0]).unwrap();
    assert_eq!((tick.queue, tick.packets), (0, 2));
    assert_eq!(bench.lost, [(PORT_LINECARD, DropCause::Refused); 2]);
    assert!(!label(&mut bench, 0, 2, 0), "there was no question");
}

#[test]
fn a_burst_waits_in_the_voq_that_p4_names() {
    for (voq, lost) in [(1, None), (5, Some(DropCause::NoSuchQueue))] {
        let mut bench = asked_about_a_burst();
        let fibre = bench.edge.fibre(PORT).unwrap();
        let mut out = Actions::default();
        let bursts = fibre.bursts.as_mut().unwrap();
        bursts.close_due(Instant::from_ns(1_000_000), &mut out);
        assert!(matches!(out.list.pop(), Some(Action::Ask { .. })));
        assert!(label(&mut bench, 0, 2, voq));
        assert_eq!(bench.lost.first().map(|(_, cause)| *cause), lost);
        let waiting = bench
            .edge
            .queues()
            .next()
            .unwrap()
            .1
            .voq_state(bench.now, 1)
            .backlog_bytes;
        assert_eq!(waiting.get(), if lost.is_none() { 2000 } else { 0 });
    }
}

#[test]
fn packets_of_no_burst_or_too_long_for_one_are_told_apart() {
    let mut bench = asked_about_a_burst();
    bench.send(PORT, of_burst(9, 0, TrainPart::First));
    let mut long = of_burst(0, 3, TrainPart::Middle);
    long.resize(1501, 0);
    bench.send(PORT, long);
    assert_eq!(bench.lost, [(PORT, DropCause::NoSuchQueue), (PORT, DropCause::TooLong)]);
    // The burst is full with four more.
    for sequence in 3..7 {
        bench.send(PORT, of_burst(0, sequence, TrainPart::Middle));
    }
    assert_eq!(bench.take_asked(LineCardKind::TrainTick).len(), 1);
}

/// Number of split bursts of a card that accepts them like this, in a slot for two frames, then two for five.
fn splits(take_in: fn(&mut LineCard)) -> usize {
    let mut bench = Bench::of(FibreSettings {
        bursts: Some(bursts()),
        ..settings(PORT)
    });
    take_in(&mut bench.edge.fibre(PORT).unwrap().gates.queues);
    for (slot, frames) in [(1, 2), (2, 5), (3, 5)] {
        for queue in [0, 1] {
            bench.open(queue, EPOCH + SLOT * slot, frames);
        }
        bench.run(EPOCH + SLOT * (slot + 1) - Duration::from_ns(1));
    }
    let queues = &bench.edge.fibre(PORT).unwrap().gates.queues;
    let left = |voq| queues.voq_state(bench.now, voq).backlog_bytes;
    assert_eq!(left(0) + left(1), Bytes::ZERO, "all has left");
    bench
        .broken
        .iter()
        .filter(|broken| **broken == Invariant::SPLIT)
        .count()
}

fn packet(queue: u16, sequence: u32) -> Packet {
    Packet::unborn(optical_frame(queue, sequence))
}

/// A burst of three frames for VOQ 1.
fn burst() -> Vec<Packet> {
    let mut burst = Burst::default();
    for sequence in 0..3 {
        burst.add(packet(1, sequence), Bytes::new(1000));
    }
    burst.mark();
    burst.frames
}

#[test]
fn a_card_that_breaks_bursts_is_seen_and_one_that_does_not_is_not() {
    let whole = |card: &mut LineCard| assert!(card.enqueue_burst(Instant::ZERO, 1, burst()).is_ok());
    assert_eq!(splits(whole), 0);
    // Two frames in one slot, the last one in the next.
    let by_frames = |card: &mut LineCard| {
        for frame in burst() {
            assert!(card.enqueue(Instant::ZERO, frame).is_ok());
        }
    };
    assert_eq!(splits(by_frames), 1);
    let with_others_among = |card: &mut LineCard| {
        for frame in burst() {
            assert!(card.enqueue(Instant::ZERO, frame).is_ok());
            assert!(card.enqueue(Instant::ZERO, packet(0, 7)).is_ok());
        }
    };
    assert!(splits(with_others_among) > 0);
    let out_of_order = |card: &mut LineCard| {
        let mut frames = burst();
        frames.swap(1, 2);
        assert!(card.enqueue_burst(Instant::ZERO, 1, frames).is_ok());
    };
    assert!(splits(out_of_order) > 0);
    let without_end = |card: &mut LineCard| {
        let mut frames = burst();
        frames.truncate(2);
        assert!(card.enqueue_burst(Instant::ZERO, 1, frames).is_ok());
        assert!(card.enqueue(Instant::ZERO, packet(1, 9)).is_ok());
    };
    assert_eq!(splits(without_end), 1);
    let twice = |card: &mut LineCard| {
        let mut frames = burst();
        let again = Packet::unborn(frames[0].frame.clone());
        frames.insert(1, again);
        assert!(card.enqueue_burst(Instant::ZERO, 1, frames).is_ok());
    };
    assert!(splits(twice) > 0);
}
