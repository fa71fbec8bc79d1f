// SPDX-License-Identifier: Apache-2.0
//! Open bursts of an edge, by queue. P4 closes a burst when it opens the next one, or its interval ends.

use std::collections::BTreeSet;

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_units::{Bytes, Duration, Instant};

use crate::burst::Burst;
use crate::packet::Packet;
use slotwise_random::{Stream, generator};

/// Maximum number of frames in a burst, as its label counts them.
const MAX_FRAMES: usize = u16::MAX as usize;
/// Maximum number of intervals without a burst that are drawn one by one: beyond it their sum is close enough to its mean.
const MAX_DRAWN: u64 = 1_000_000;

/// Start of the interval of an open burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BurstTimer {
    /// End of the previous interval.
    Periodic,
    /// Arrival of the burst's first packet.
    FirstPacket,
}

/// Durations of open bursts.
#[derive(Debug, Clone, Copy)]
pub struct Intervals {
    /// Over 0.
    pub interval: Duration,
    /// Start of an interval.
    pub timer: BurstTimer,
    /// If true, each interval is drawn from 0.9 to 1.1 of its length.
    pub dither: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the edge, whose queues have separate generators.
    pub edge: u16,
}

/// Closed burst that waits for its label.
#[derive(Debug)]
pub struct Closed {
    /// Its queue.
    pub queue: u16,
    /// Its frames.
    pub burst: Burst,
    /// Bytes of its first frame, as links count them.
    pub first_bytes: Bytes,
}

struct Open {
    burst: Burst,
    first_bytes: Bytes,
    due: Instant,
}

/// Clock of a queue.
struct Clock {
    random: Pcg64Mcg,
    /// End of the interval that was looked at last, or the time at which a frame without room ended one; of a periodic one.
    end: Instant,
}

impl Clock {
    fn new(intervals: &Intervals, queue: u16) -> Clock {
        let index = u64::from(intervals.edge) << 16 | u64::from(queue);
        let mut random = generator(intervals.seed, Stream::Train, index);
        let end = Instant::from_ns(random.random_range(0..intervals.interval.ns()));
        Clock { random, end }
    }

    fn interval(&mut self, intervals: &Intervals) -> Duration {
        let length = intervals.interval;
        match intervals.dither {
            true => length - length / 10 + Duration::from_ns(self.random.random_range(0..=(length / 5).ns())),
            false => length,
        }
    }

    /// Closing time of a burst that is opened now.
    fn due(&mut self, intervals: &Intervals, now: Instant) -> Instant {
        if intervals.timer == BurstTimer::FirstPacket {
            return now + self.interval(intervals);
        }
        // Intervals without a burst pass at once; of those that are drawn all but the last ones, after which any phase is as likely.
        let passed = now.saturating_since(self.end) / intervals.interval;
        let drawn = if intervals.dither { MAX_DRAWN } else { 0 };
        self.end += passed.saturating_sub(drawn) * intervals.interval;
        while self.end <= now {
            let interval = self.interval(intervals);
            self.end += interval;
        }
        self.end
    }
}

#[derive(Default)]
struct Queue {
    open: Option<Open>,
    clock: Option<Clock>,
}

/// Open bursts of an edge.
pub struct Aggregation {
    intervals: Intervals,
    queues: Vec<Queue>,
    /// Times at which bursts are closed, with their queues.
    due: BTreeSet<(Instant, u16)>,
}

impl Aggregation {
    /// Creates the assembly of an edge with queue numbers below `queues`.
    pub fn new(intervals: Intervals, queues: u16) -> Aggregation {
        Aggregation {
            intervals,
            queues: (0..queues).map(|_| Queue::default()).collect(),
            due: BTreeSet::new(),
        }
    }

    /// Returns true if the queue exists.
    pub fn has(&self, queue: u16) -> bool {
        usize::from(queue) < self.queues.len()
    }

    /// Removes and returns the open burst of a queue.
    fn close(&mut self, queue: u16) -> Option<Closed> {
        let Open {
            burst,
            first_bytes,
            due,
        } = self.queues.get_mut(usize::from(queue))?.open.take()?;
        self.due.remove(&(due, queue));
        Some(Closed {
            queue,
            burst,
            first_bytes,
        })
    }

    /// Closes the open burst of a queue before its interval is over, since a frame has no room in it. The next interval begins now:
    /// what the queue holds has just left (He and Chan, Computer Networks 45, 2004, sections 3.1 and 4.1.1).
    pub fn close_early(&mut self, now: Instant, queue: u16) -> Option<Closed> {
        let closed = self.close(queue)?;
        if let Some(clock) = &mut self.queues[usize::from(queue)].clock {
            clock.end = now;
        }
        Some(closed)
    }

    /// Closes what is due by `now`, the longest due first.
    pub fn close_due(&mut self, now: Instant) -> Option<Closed> {
        let &(_, queue) = self.due.first().filter(|(due, _)| *due <= now)?;
        self.close(queue)
    }

    /// Adds a frame of `bytes`, as links count them, to the open burst of a queue, or opens one.
    pub fn join(&mut self, now: Instant, queue: u16, packet: Packet, bytes: Bytes) {
        let of = &mut self.queues[usize::from(queue)];
        if let Some(open) = &mut of.open {
            return open.burst.add(packet, bytes);
        }
        let clock = of.clock.get_or_insert_with(|| Clock::new(&self.intervals, queue));
        let due = clock.due(&self.intervals, now);
        of.open = Some(Open {
            burst: Burst::only(packet, bytes),
            first_bytes: bytes,
            due,
        });
        self.due.insert((due, queue));
    }

    /// Returns true if the open burst of a queue has as many frames as a label can count.
    pub fn is_full(&self, queue: u16) -> bool {
        let open = self
            .queues
            .get(usize::from(queue))
            .and_then(|queue| queue.open.as_ref());
        open.is_some_and(|open| open.burst.frames.len() >= MAX_FRAMES)
    }

    /// Bytes of the open burst of a queue, as links count them.
    pub fn open_bytes(&self, queue: u16) -> Bytes {
        let queue = self.queues.get(usize::from(queue));
        queue
            .and_then(|queue| queue.open.as_ref())
            .map_or(Bytes::ZERO, |open| open.burst.bytes)
    }

    /// Closing time of the next burst, as known now.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Removes and returns all open bursts.
    pub fn take_all(&mut self) -> Vec<Burst> {
        self.due.clear();
        let opened = self.queues.iter_mut().filter_map(|queue| queue.open.take());
        opened.map(|open| open.burst).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::optical_frame;

    const MS: u64 = 1_000_000;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn aggregation(timer: BurstTimer, dither: bool) -> Aggregation {
        let intervals = Intervals {
            interval: Duration::from_ns(MS),
            timer,
            dither,
            seed: 3,
            edge: 1,
        };
        Aggregation::new(intervals, 4)
    }

    fn join(aggregation: &mut Aggregation, now_ns: u64, queue: u16) {
        aggregation.join(
            at(now_ns),
            queue,
            Packet::unborn(optical_frame(queue, 0)),
            Bytes::new(970),
        );
    }

    /// Opens a burst now. Returns its closing time.
    fn closed_ns(aggregation: &mut Aggregation, now_ns: u64, queue: u16) -> u64 {
        join(aggregation, now_ns, queue);
        let due = aggregation.next().unwrap();
        assert!(
            aggregation
                .close_due(due.saturating_sub(Duration::from_ns(1)))
                .is_none()
        );
        assert!(aggregation.close_due(due).is_some() && aggregation.next().is_none());
        due.ns()
    }

    #[test]
    fn periodic_intervals_go_on_from_a_phase_of_each_queue() {
        let mut aggregation = aggregation(BurstTimer::Periodic, false);
        let first_ns = closed_ns(&mut aggregation, 5 * MS, 0);
        assert!((5 * MS + 1..=6 * MS).contains(&first_ns));
        for now_ns in [
            first_ns - 1,
            first_ns,
            first_ns + 1,
            first_ns + 7 * MS,
            first_ns + 9 * MS - 1,
        ] {
            let due_ns = closed_ns(&mut aggregation, now_ns.max(first_ns), 0);
            assert_eq!((due_ns - first_ns) % MS, 0);
            assert!(due_ns > now_ns && due_ns <= now_ns.max(first_ns) + MS);
        }
        let other_ns = closed_ns(&mut aggregation, 5 * MS, 1);
        assert_ne!(other_ns % MS, first_ns % MS, "phases are drawn apart");
        let mut again = self::aggregation(BurstTimer::Periodic, false);
        assert_eq!(
            closed_ns(&mut again, 5 * MS, 1),
            other_ns,
            "depends only on the seed, not on other queues"
        );
    }

    #[test]
    fn a_periodic_interval_begins_anew_when_a_frame_without_room_closes_a_burst() {
        for dither in [false, true] {
            let mut aggregation = aggregation(BurstTimer::Periodic, dither);
            let first_ns = closed_ns(&mut aggregation, 5 * MS, 0);
            join(&mut aggregation, first_ns, 0);
            let full_ns = first_ns + MS / 4;
            assert!(aggregation.close_early(at(full_ns), 0).is_some());
            let due_ns = closed_ns(&mut aggregation, full_ns, 0);
            let length_ns = due_ns - full_ns;
            let is_whole = if dither {
                (MS - MS / 10..=MS + MS / 10).contains(&length_ns)
            } else {
                length_ns == MS
            };
            assert!(is_whole, "{length_ns}");
            let next_ns = closed_ns(&mut aggregation, due_ns, 0);
            assert!(dither || next_ns == due_ns + MS, "and goes on from there");
            assert!(aggregation.close_early(at(next_ns + 7), 0).is_none(), "none is open");
            assert!(
                dither || closed_ns(&mut aggregation, next_ns + 8, 0) == next_ns + MS,
                "so nothing has moved"
            );
        }
    }

    #[test]
    fn an_interval_may_count_from_the_first_packet() {
        let mut aggregation = aggregation(BurstTimer::FirstPacket, false);
        assert_eq!(closed_ns(&mut aggregation, 5, 0), MS + 5);
        assert_eq!(closed_ns(&mut aggregation, MS + 5, 0), 2 * MS + 5);
        let mut drawn = BTreeSet::new();
        let mut dithered = self::aggregation(BurstTimer::FirstPacket, true);
        for turn in 0..1000 {
            let now_ns = turn * 10 * MS;
            drawn.insert(closed_ns(&mut dithered, now_ns, 0) - now_ns);
        }
        let (first, last) = (*drawn.first().unwrap(), *drawn.last().unwrap());
        assert!((900_000..910_000).contains(&first) && (1_090_000..=1_100_000).contains(&last));
        assert!(drawn.len() > 900);
    }

    #[test]
    fn dithered_periods_follow_each_other() {
        let mut aggregation = aggregation(BurstTimer::Periodic, true);
        let mut last_ns = closed_ns(&mut aggregation, 0, 0);
        let mut lengths = BTreeSet::new();
        for _ in 0..100 {
            let due_ns = closed_ns(&mut aggregation, last_ns, 0);
            lengths.insert(due_ns - last_ns);
            last_ns = due_ns;
        }
        assert!(
            lengths
                .iter()
                .all(|length_ns| (900_000..=1_100_000).contains(length_ns))
        );
        assert!(lengths.len() > 90);
    }

    #[test]
    fn however_long_it_was_idle_the_next_dithered_period_is_found_soon() {
        let mut dithered = aggregation(BurstTimer::Periodic, true);
        let mut phases = BTreeSet::new();
        let mut now_ns = u64::MAX / 4;
        for queue in 0..4 {
            let due_ns = closed_ns(&mut dithered, now_ns, queue);
            assert!(due_ns > now_ns && due_ns - now_ns <= MS + MS / 10);
            phases.insert(due_ns - now_ns);
            now_ns += 1000 * MS;
        }
        assert_eq!(phases.len(), 4, "drawn");
    }

    #[test]
    fn a_burst_is_what_came_while_it_was_open() {
        let mut aggregation = aggregation(BurstTimer::FirstPacket, false);
        for now_ns in 0..3 {
            join(&mut aggregation, now_ns, 2);
        }
        join(&mut aggregation, 1, 3);
        assert_eq!(aggregation.next(), Some(at(MS)));
        let closed = aggregation.close_early(at(3), 2).unwrap();
        assert_eq!(
            (closed.queue, closed.burst.frames.len(), closed.burst.bytes.get()),
            (2, 3, 3 * 970)
        );
        assert_eq!(closed.first_bytes.get(), 970);
        assert!(aggregation.close_early(at(3), 2).is_none());
        join(&mut aggregation, 10, 2);
        let due: Vec<u16> = std::iter::from_fn(|| aggregation.close_due(at(5 * MS)))
            .map(|closed| closed.queue)
            .collect();
        assert_eq!(due, [3, 2]);
        join(&mut aggregation, 10, 0);
        assert_eq!(aggregation.take_all().len(), 1);
        assert!(aggregation.next().is_none() && aggregation.close_early(at(11), 0).is_none());
    }

    #[test]
    fn a_burst_is_full_when_its_label_can_count_no_more() {
        let mut aggregation = aggregation(BurstTimer::FirstPacket, false);
        for _ in 1..MAX_FRAMES {
            aggregation.join(at(0), 0, Packet::unborn(Vec::new()), Bytes::ZERO);
        }
        assert!(!aggregation.is_full(0) && !aggregation.is_full(9));
        aggregation.join(at(0), 0, Packet::unborn(Vec::new()), Bytes::ZERO);
        assert!(aggregation.is_full(0));
    }
}
