// SPDX-License-Identifier: Apache-2.0
//! Macroflows of an edge: each is a queue behind a token bucket of one burst, at the rate set by P4, with one tick per period.

use std::collections::{BTreeSet, VecDeque};

use hdrhistogram::Histogram;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{IntervalTick, IntervalTimer};

use crate::burst_queue::Labelled;
use crate::linecard::QueueState;
use crate::measure::delays;
use crate::pacing::Pacer;
use crate::{DropCause, Port};

/// Burst that waits for its macroflow's rate.
pub struct Held {
    /// Burst.
    pub labelled: Labelled,
    /// Output chosen by P4.
    pub port: Port,
}

struct Macroflow {
    /// With the time at which it came.
    waiting: VecDeque<(Instant, Held)>,
    waiting_bytes: Bytes,
    arrived_bytes: Bytes,
    dropped: u64,
    /// Smallest backlog since the last tick.
    least_bytes: Bytes,
    pacer: Pacer,
    /// When it ticked, until the rate comes that its probe brings.
    asked: Option<Instant>,
    /// When its head may leave, if that is in `heads`.
    head: Instant,
}

/// Macroflows of an edge.
pub struct Macroflows {
    period: Duration,
    /// By queue; `None`: queues of none.
    of: Vec<Option<Macroflow>>,
    /// Departure times of heads, with their queues.
    heads: BTreeSet<(Instant, u16)>,
    /// Times of the next ticks, with their queues.
    ticks: BTreeSet<(Instant, u16)>,
    /// Maximum time from a tick to the resulting rate.
    round_trip: Duration,
    /// Waiting times of bursts that left.
    waits: Histogram<u64>,
    /// Bursts lost while they waited, since the last call.
    lost: u64,
}

impl Macroflows {
    /// Makes the macroflows of some queues, each at first with `rate` (over 0). They tick every `period`, each at a different time: `place` of
    /// `places` is that of the edge among all.
    pub fn new(
        queues: impl IntoIterator<Item = u16>,
        period: Duration,
        rate: Rate,
        (place, places): (u64, u64),
    ) -> Macroflows {
        let queues: Vec<u16> = queues.into_iter().collect();
        let last = queues.iter().max().map_or(0, |queue| usize::from(*queue) + 1);
        let mut of: Vec<Option<Macroflow>> = (0..last).map(|_| None).collect();
        let mut ticks = BTreeSet::new();
        let parts = queues.len() as u64 * places;
        for (number, queue) in (0..).zip(queues) {
            let mut pacer = Pacer::default();
            pacer.set_rate(Instant::ZERO, rate);
            of[usize::from(queue)] = Some(Macroflow {
                waiting: VecDeque::new(),
                waiting_bytes: Bytes::ZERO,
                arrived_bytes: Bytes::ZERO,
                dropped: 0,
                least_bytes: Bytes::ZERO,
                pacer,
                asked: None,
                head: Instant::ZERO,
            });
            let part = number * places + place;
            let first_ns = u128::from(period.ns()) * u128::from(part) / u128::from(parts);
            ticks.insert((Instant::from_ns(first_ns as u64), queue));
        }
        Macroflows {
            period,
            of,
            heads: BTreeSet::new(),
            ticks,
            round_trip: Duration::ZERO,
            waits: delays(),
            lost: 0,
        }
    }

    fn of(&mut self, queue: u16) -> Option<&mut Macroflow> {
        self.of.get_mut(usize::from(queue))?.as_mut()
    }

    /// Returns true if a queue is that of a macroflow.
    pub fn has(&self, queue: u16) -> bool {
        self.of.get(usize::from(queue)).is_some_and(Option::is_some)
    }

    /// Adds a burst to the queue of an existing macroflow.
    pub fn put(&mut self, now: Instant, queue: u16, held: Held) {
        let Some(of) = self.of(queue) else { return };
        of.least_bytes = of.least_bytes.min(of.waiting_bytes);
        of.waiting_bytes += held.labelled.burst.bytes;
        of.arrived_bytes += held.labelled.burst.bytes;
        of.waiting.push_back((now, held));
        if of.waiting.len() == 1 {
            of.head = of.pacer.next(now);
            let head = (of.head, queue);
            self.heads.insert(head);
        }
    }

    /// Counts a packet dropped for lack of memory.
    pub fn refuse(&mut self, queue: u16) {
        if let Some(of) = self.of(queue) {
            of.dropped += 1;
        }
    }

    /// Returns a burst whose rate allows departure by `now`.
    pub fn release(&mut self, now: Instant) -> Option<Held> {
        let &(_, queue) = self.heads.first().filter(|(at, _)| *at <= now)?;
        self.heads.pop_first();
        let of = self.of(queue)?;
        let (came, held) = of.waiting.pop_front()?;
        of.waiting_bytes -= held.labelled.burst.bytes;
        of.pacer.sent(now, held.labelled.burst.bytes);
        if !of.waiting.is_empty() {
            of.head = of.pacer.next(now);
            let head = (of.head, queue);
            self.heads.insert(head);
        }
        // It grows as it needs.
        let _ = self.waits.record(now.saturating_since(came).ns());
        Some(held)
    }

    /// Sets the rate of a macroflow; 0 is unlimited.
    pub fn set_rate(&mut self, now: Instant, queue: u16, rate: Rate) -> Result<(), DropCause> {
        let of = self.of(queue).ok_or(DropCause::NoSuchQueue)?;
        of.pacer.set_rate(now, rate);
        let asked = of.asked.take();
        let round_trip = asked.map_or(Duration::ZERO, |asked| now.saturating_since(asked));
        if !of.waiting.is_empty() {
            let before = (of.head, queue);
            of.head = of.pacer.next(now);
            let head = (of.head, queue);
            self.heads.remove(&before);
            self.heads.insert(head);
        }
        self.round_trip = self.round_trip.max(round_trip);
        Ok(())
    }

    /// Returns the tick of a macroflow that is due by `now`, with its queue and the state of the queue.
    pub fn tick(&mut self, now: Instant) -> Option<(u16, IntervalTick, QueueState)> {
        let &(due, queue) = self.ticks.first().filter(|(due, _)| *due <= now)?;
        self.ticks.pop_first();
        self.ticks.insert((due + self.period, queue));
        let of = self.of(queue)?;
        of.asked = Some(due);
        let least_bytes = std::mem::replace(&mut of.least_bytes, of.waiting_bytes).min(of.waiting_bytes);
        let tick = IntervalTick {
            timer: IntervalTimer::Control.into(),
            least_backlog_bytes: u32::try_from(least_bytes.get()).unwrap_or(u32::MAX),
            local_ns: due.ns(),
        };
        let state = QueueState {
            backlog_bytes: of.waiting_bytes,
            arrived_bytes: of.arrived_bytes,
            hol_delay: Duration::ZERO,
            dropped_packets: of.dropped,
        };
        Some((queue, tick, state))
    }

    /// Maximum time from a tick to the resulting rate since the last call; 0 without any.
    pub fn take_round_trip(&mut self) -> Duration {
        std::mem::take(&mut self.round_trip)
    }

    /// Waiting times of bursts that left since the last call.
    pub fn take_waits(&mut self) -> Histogram<u64> {
        std::mem::replace(&mut self.waits, delays())
    }

    /// Bursts without a waiting time: those waiting now, and those lost while waiting since the last call.
    pub fn take_unserved(&mut self) -> u64 {
        let waiting = self.of.iter().flatten().map(|of| of.waiting.len() as u64);
        waiting.sum::<u64>() + std::mem::take(&mut self.lost)
    }

    /// Time of the next departure.
    pub fn next_release(&self) -> Option<Instant> {
        self.heads.first().map(|(at, _)| *at)
    }

    /// Time of the next tick.
    pub fn next_tick(&self) -> Option<Instant> {
        self.ticks.first().map(|(due, _)| *due)
    }

    /// Gives back what waits, and counts anew: who counts along does as well.
    pub fn take_waiting(&mut self) -> Vec<Held> {
        self.heads.clear();
        let all = self.of.iter_mut().flatten();
        let waited = all.flat_map(|of| {
            (of.waiting_bytes, of.arrived_bytes, of.least_bytes, of.dropped) =
                (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO, 0);
            of.waiting.drain(..).map(|(_, held)| held)
        });
        let waited: Vec<Held> = waited.collect();
        self.lost += waited.len() as u64;
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Burst;
    use crate::packet::Packet;

    const MS: u64 = 1_000_000;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps)
    }

    /// Queues 1 and 2, 8 Mb/s at first: 1 ms for 1000 bytes.
    fn macroflows() -> Macroflows {
        Macroflows::new([1, 2], Duration::from_ms(50), rate(8_000_000), (1, 5))
    }

    fn put(macroflows: &mut Macroflows, now_ns: u64, queue: u16) {
        let labelled = Labelled {
            burst: Burst::only(Packet::unborn(Vec::new()), Bytes::new(1000)),
            class: 0,
            tag: 0,
        };
        macroflows.put(at(now_ns), queue, Held { labelled, port: 3 });
    }

    /// When all that waits leaves.
    fn departures(macroflows: &mut Macroflows) -> Vec<u64> {
        let mut all = Vec::new();
        while let Some(at_ns) = macroflows.next_release().map(Instant::ns) {
            assert!(macroflows.release(at(at_ns - 1)).is_none());
            assert_eq!(macroflows.release(at(at_ns)).unwrap().port, 3);
            all.push(at_ns);
        }
        all
    }

    #[test]
    fn a_macroflow_leaves_at_its_rate_and_saves_no_more_than_one_burst() {
        let mut macroflows = macroflows();
        for _ in 0..3 {
            put(&mut macroflows, 10 * MS, 1);
        }
        assert_eq!(departures(&mut macroflows), [10 * MS, 11 * MS, 12 * MS]);
        put(&mut macroflows, 12 * MS + 1, 1);
        put(&mut macroflows, 12 * MS + 1, 2);
        assert_eq!(
            departures(&mut macroflows),
            [12 * MS + 1, 13 * MS],
            "each has its own rate"
        );
        put(&mut macroflows, 90 * MS, 1);
        put(&mut macroflows, 90 * MS, 1);
        assert_eq!(
            departures(&mut macroflows),
            [90 * MS, 91 * MS],
            "however long it was idle"
        );
        let waits = macroflows.take_waits();
        assert_eq!((waits.len(), waits.min(), waits.count_at(MS)), (7, 0, 3));
        assert!(macroflows.take_waits().is_empty());
    }

    #[test]
    fn trains_that_wait_or_were_lost_as_they_waited_are_in_no_wait_and_counted() {
        let mut macroflows = macroflows();
        for queue in [1, 1, 2] {
            put(&mut macroflows, 0, queue);
        }
        assert!(macroflows.release(at(0)).is_some());
        assert_eq!((macroflows.take_waits().len(), macroflows.take_unserved()), (1, 2));
        assert_eq!(macroflows.take_unserved(), 2, "they wait still");
        macroflows.take_waiting();
        put(&mut macroflows, MS, 2);
        assert_eq!(macroflows.take_unserved(), 3);
        assert_eq!(macroflows.take_unserved(), 1, "each loss counts once");
    }

    #[test]
    fn a_new_rate_counts_for_what_waits() {
        let mut macroflows = macroflows();
        put(&mut macroflows, 0, 1);
        put(&mut macroflows, 0, 1);
        assert!(macroflows.release(at(0)).is_some());
        macroflows.set_rate(at(MS / 2), 1, rate(16_000_000)).unwrap();
        assert_eq!(
            macroflows.next_release(),
            Some(at(3 * MS / 4)),
            "half of the first one was to be paid, at twice the rate"
        );
        macroflows.set_rate(at(MS / 2), 1, rate(0)).unwrap();
        assert_eq!(macroflows.next_release(), Some(at(MS / 2)), "no limit");
        assert_eq!(
            macroflows.set_rate(at(0), 7, rate(1)).unwrap_err(),
            DropCause::NoSuchQueue
        );
        assert!(macroflows.has(1) && !macroflows.has(0) && !macroflows.has(7));
    }

    #[test]
    fn each_ticks_once_a_period_at_its_own_time() {
        let mut macroflows = macroflows();
        let mut ticks = Vec::new();
        while let Some(at_ns) = macroflows
            .next_tick()
            .map(Instant::ns)
            .filter(|at_ns| *at_ns < 100 * MS)
        {
            let (queue, tick, _) = macroflows.tick(at(at_ns)).unwrap();
            assert_eq!((tick.local_ns, tick.timer), (at_ns, u8::from(IntervalTimer::Control)));
            ticks.push((queue, at_ns));
        }
        assert_eq!(ticks, [(1, 5 * MS), (2, 30 * MS), (1, 55 * MS), (2, 80 * MS)]);
    }

    #[test]
    fn a_tick_tells_what_came_and_what_waits() {
        let mut macroflows = macroflows();
        for _ in 0..3 {
            put(&mut macroflows, 0, 1);
        }
        macroflows.refuse(1);
        macroflows.release(at(0));
        let (_, tick, state) = macroflows.tick(at(5 * MS)).unwrap();
        macroflows.set_rate(at(9 * MS), 1, rate(8_000_000)).unwrap();
        assert_eq!(macroflows.take_round_trip(), Duration::from_ms(4));
        macroflows.set_rate(at(20 * MS), 1, rate(8_000_000)).unwrap();
        assert_eq!(
            macroflows.take_round_trip(),
            Duration::ZERO,
            "no probe has asked for it"
        );
        assert_eq!(
            (
                state.backlog_bytes.get(),
                state.arrived_bytes.get(),
                state.dropped_packets
            ),
            (2000, 3000, 1)
        );
        assert_eq!(tick.least_backlog_bytes, 0);
        put(&mut macroflows, 5 * MS, 1);
        assert!(macroflows.tick(at(30 * MS)).is_some());
        let (_, tick, state) = macroflows.tick(at(55 * MS)).unwrap();
        assert_eq!((tick.least_backlog_bytes, state.backlog_bytes.get()), (2000, 3000));
        assert_eq!(macroflows.take_waiting().len(), 3);
        assert!(macroflows.next_release().is_none());
        let (_, tick, state) = macroflows.tick(at(105 * MS)).unwrap();
        let counted = (
            state.backlog_bytes.get(),
            state.arrived_bytes.get(),
            state.dropped_packets,
        );
        assert_eq!((tick.least_backlog_bytes, counted), (0, (0, 0, 0)), "anew");
    }
}
