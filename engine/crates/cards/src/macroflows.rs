// SPDX-License-Identifier: Apache-2.0
//! Macroflows of an edge: a queue each, let out by a bucket one train deep at the rate that P4 tells, and a tick each period.

use std::collections::{BTreeSet, VecDeque};

use hdrhistogram::Histogram;
use slotwise_wire::{IntervalTick, IntervalTimer};

use crate::linecard::QueueState;
use crate::measure::delays;
use crate::pacing::Pacer;
use crate::train_queue::Labelled;
use crate::{DropCause, Port};

/// A train that waits for its macroflow's rate.
pub struct Held {
    /// The train.
    pub labelled: Labelled,
    /// The output that P4 has chosen.
    pub port: Port,
}

struct Macroflow {
    /// With the time at which it came.
    waiting: VecDeque<(u64, Held)>,
    waiting_bytes: u64,
    arrived_bytes: u64,
    dropped: u64,
    /// Smallest backlog since the last tick.
    least_bytes: u64,
    pacer: Pacer,
    /// When it ticked, until the rate comes that its probe brings.
    asked_ns: Option<u64>,
    /// When its head may leave, if that is in `heads`.
    head_ns: u64,
}

/// The macroflows of an edge.
pub struct Macroflows {
    period_ns: u64,
    /// By queue; `None`: queues of none.
    of: Vec<Option<Macroflow>>,
    /// When heads may leave, with their queues.
    heads: BTreeSet<(u64, u16)>,
    /// When macroflows tick next, with their queues.
    ticks: BTreeSet<(u64, u16)>,
    /// Longest time from a tick to the rate that its probe brought.
    round_trip_ns: u64,
    /// How long trains waited that left.
    waits: Histogram<u64>,
    /// Trains that were lost while they waited, since they were asked for.
    lost: u64,
}

impl Macroflows {
    /// Those of some queues, each at first with `rate_bps` (over 0). They tick every `period_ns`, each at a time of its own: `place` of
    /// `places` is that of the edge among all.
    pub fn new(
        queues: impl IntoIterator<Item = u16>,
        period_ns: u64,
        rate_bps: u64,
        (place, places): (u64, u64),
    ) -> Macroflows {
        let queues: Vec<u16> = queues.into_iter().collect();
        let last = queues.iter().max().map_or(0, |queue| usize::from(*queue) + 1);
        let mut of: Vec<Option<Macroflow>> = (0..last).map(|_| None).collect();
        let mut ticks = BTreeSet::new();
        let parts = queues.len() as u64 * places;
        for (number, queue) in (0..).zip(queues) {
            let mut pacer = Pacer::default();
            pacer.set_rate(0, rate_bps);
            of[usize::from(queue)] = Some(Macroflow {
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                arrived_bytes: 0,
                dropped: 0,
                least_bytes: 0,
                pacer,
                asked_ns: None,
                head_ns: 0,
            });
            let part = number * places + place;
            ticks.insert((
                (u128::from(period_ns) * u128::from(part) / u128::from(parts)) as u64,
                queue,
            ));
        }
        Macroflows {
            period_ns,
            of,
            heads: BTreeSet::new(),
            ticks,
            round_trip_ns: 0,
            waits: delays(),
            lost: 0,
        }
    }

    fn of(&mut self, queue: u16) -> Option<&mut Macroflow> {
        self.of.get_mut(usize::from(queue))?.as_mut()
    }

    /// Whether a queue is that of a macroflow.
    pub fn has(&self, queue: u16) -> bool {
        self.of.get(usize::from(queue)).is_some_and(Option::is_some)
    }

    /// A train joins the queue of a macroflow that there is.
    pub fn put(&mut self, now_ns: u64, queue: u16, held: Held) {
        let Some(of) = self.of(queue) else { return };
        of.least_bytes = of.least_bytes.min(of.waiting_bytes);
        of.waiting_bytes += held.labelled.train.bytes;
        of.arrived_bytes += held.labelled.train.bytes;
        of.waiting.push_back((now_ns, held));
        if of.waiting.len() == 1 {
            of.head_ns = of.pacer.next_ns(now_ns);
            let head = (of.head_ns, queue);
            self.heads.insert(head);
        }
    }

    /// Counts a packet that found no room.
    pub fn refuse(&mut self, queue: u16) {
        if let Some(of) = self.of(queue) {
            of.dropped += 1;
        }
    }

    /// A train whose rate lets it leave by `now_ns`.
    pub fn release(&mut self, now_ns: u64) -> Option<Held> {
        let &(_, queue) = self.heads.first().filter(|(at_ns, _)| *at_ns <= now_ns)?;
        self.heads.pop_first();
        let of = self.of(queue)?;
        let (came_ns, held) = of.waiting.pop_front()?;
        of.waiting_bytes -= held.labelled.train.bytes;
        of.pacer.sent(now_ns, held.labelled.train.bytes);
        if !of.waiting.is_empty() {
            of.head_ns = of.pacer.next_ns(now_ns);
            let head = (of.head_ns, queue);
            self.heads.insert(head);
        }
        // It grows as it needs.
        let _ = self.waits.record(now_ns - came_ns);
        Some(held)
    }

    /// P4 tells the rate of a macroflow; 0 is unlimited.
    pub fn set_rate(&mut self, now_ns: u64, queue: u16, rate_bps: u64) -> Result<(), DropCause> {
        let of = self.of(queue).ok_or(DropCause::NoSuchQueue)?;
        of.pacer.set_rate(now_ns, rate_bps);
        let round_trip_ns = of.asked_ns.take().map_or(0, |asked_ns| now_ns - asked_ns);
        if !of.waiting.is_empty() {
            let before = (of.head_ns, queue);
            of.head_ns = of.pacer.next_ns(now_ns);
            let head = (of.head_ns, queue);
            self.heads.remove(&before);
            self.heads.insert(head);
        }
        self.round_trip_ns = self.round_trip_ns.max(round_trip_ns);
        Ok(())
    }

    /// The tick of a macroflow that is due by `now_ns`, with its queue and the state of that.
    pub fn tick(&mut self, now_ns: u64) -> Option<(u16, IntervalTick, QueueState)> {
        let &(due_ns, queue) = self.ticks.first().filter(|(due_ns, _)| *due_ns <= now_ns)?;
        self.ticks.pop_first();
        self.ticks.insert((due_ns + self.period_ns, queue));
        let of = self.of(queue)?;
        of.asked_ns = Some(due_ns);
        let least_bytes = std::mem::replace(&mut of.least_bytes, of.waiting_bytes).min(of.waiting_bytes);
        let tick = IntervalTick {
            timer: IntervalTimer::Control.into(),
            least_backlog_bytes: u32::try_from(least_bytes).unwrap_or(u32::MAX),
            local_ns: due_ns,
        };
        let state = QueueState {
            backlog_bytes: of.waiting_bytes,
            arrived_bytes: of.arrived_bytes,
            hol_delay_ns: 0,
            dropped_packets: of.dropped,
        };
        Some((queue, tick, state))
    }

    /// Longest time from a tick to the rate that its probe brought, since the last call; 0 if none did.
    pub fn take_round_trip_ns(&mut self) -> u64 {
        std::mem::take(&mut self.round_trip_ns)
    }

    /// How long trains waited that left since the last call.
    pub fn take_waits(&mut self) -> Histogram<u64> {
        std::mem::replace(&mut self.waits, delays())
    }

    /// Trains that are in no wait: those that wait now, and those that were lost as they waited since the last call.
    pub fn take_unserved(&mut self) -> u64 {
        let waiting = self.of.iter().flatten().map(|of| of.waiting.len() as u64);
        waiting.sum::<u64>() + std::mem::take(&mut self.lost)
    }

    /// When something is due next: a train that may leave.
    pub fn next_ns(&self) -> Option<u64> {
        self.heads.first().map(|(at_ns, _)| *at_ns)
    }

    /// When the next macroflow ticks.
    pub fn next_tick_ns(&self) -> Option<u64> {
        self.ticks.first().map(|(due_ns, _)| *due_ns)
    }

    /// Gives back what waits, and counts anew: who counts along does as well.
    pub fn take_waiting(&mut self) -> Vec<Held> {
        self.heads.clear();
        let all = self.of.iter_mut().flatten();
        let waited = all.flat_map(|of| {
            (of.waiting_bytes, of.arrived_bytes, of.least_bytes, of.dropped) = (0, 0, 0, 0);
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
    use crate::packet::Packet;
    use crate::train::Train;

    const MS: u64 = 1_000_000;

    /// Queues 1 and 2, 8 Mb/s at first: 1 ms for 1000 bytes.
    fn macroflows() -> Macroflows {
        Macroflows::new([1, 2], 50 * MS, 8_000_000, (1, 5))
    }

    fn put(macroflows: &mut Macroflows, now_ns: u64, queue: u16) {
        let labelled = Labelled {
            train: Train::only(Packet::unborn(Vec::new()), 1000),
            class: 0,
            tag: 0,
        };
        macroflows.put(now_ns, queue, Held { labelled, port: 3 });
    }

    /// When all that waits leaves.
    fn departures(macroflows: &mut Macroflows) -> Vec<u64> {
        let mut all = Vec::new();
        while let Some(at_ns) = macroflows.next_ns() {
            assert!(macroflows.release(at_ns - 1).is_none());
            assert_eq!(macroflows.release(at_ns).unwrap().port, 3);
            all.push(at_ns);
        }
        all
    }

    #[test]
    fn a_macroflow_leaves_at_its_rate_and_saves_no_more_than_one_train() {
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
        assert!(macroflows.release(0).is_some());
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
        assert!(macroflows.release(0).is_some());
        macroflows.set_rate(MS / 2, 1, 16_000_000).unwrap();
        assert_eq!(
            macroflows.next_ns(),
            Some(3 * MS / 4),
            "half of the first one was to be paid, at twice the rate"
        );
        macroflows.set_rate(MS / 2, 1, 0).unwrap();
        assert_eq!(macroflows.next_ns(), Some(MS / 2), "no limit");
        assert_eq!(macroflows.set_rate(0, 7, 1).unwrap_err(), DropCause::NoSuchQueue);
        assert!(macroflows.has(1) && !macroflows.has(0) && !macroflows.has(7));
    }

    #[test]
    fn each_ticks_once_a_period_at_its_own_time() {
        let mut macroflows = macroflows();
        let mut ticks = Vec::new();
        while let Some(at_ns) = macroflows.next_tick_ns().filter(|at_ns| *at_ns < 100 * MS) {
            let (queue, tick, _) = macroflows.tick(at_ns).unwrap();
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
        macroflows.release(0);
        let (_, tick, state) = macroflows.tick(5 * MS).unwrap();
        macroflows.set_rate(9 * MS, 1, 8_000_000).unwrap();
        assert_eq!(macroflows.take_round_trip_ns(), 4 * MS);
        macroflows.set_rate(20 * MS, 1, 8_000_000).unwrap();
        assert_eq!(macroflows.take_round_trip_ns(), 0, "no probe has asked for it");
        assert_eq!(
            (state.backlog_bytes, state.arrived_bytes, state.dropped_packets),
            (2000, 3000, 1)
        );
        assert_eq!(tick.least_backlog_bytes, 0);
        put(&mut macroflows, 5 * MS, 1);
        assert!(macroflows.tick(30 * MS).is_some());
        let (_, tick, state) = macroflows.tick(55 * MS).unwrap();
        assert_eq!((tick.least_backlog_bytes, state.backlog_bytes), (2000, 3000));
        assert_eq!(macroflows.take_waiting().len(), 3);
        assert!(macroflows.next_ns().is_none());
        let (_, tick, state) = macroflows.tick(105 * MS).unwrap();
        let counted = (state.backlog_bytes, state.arrived_bytes, state.dropped_packets);
        assert_eq!((tick.least_backlog_bytes, counted), (0, (0, 0, 0)), "anew");
    }
}
