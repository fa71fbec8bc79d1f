// SPDX-License-Identifier: Apache-2.0
//! The card before a link that is free whenever it is idle: one queue in order, and the interval timers that XCP needs.
//!
//! A queue that is served in order needs no event when a packet leaves it: the time is known when the packet
//! comes. So a packet costs one event a hop, its arrival at the far end.

use std::collections::VecDeque;

use slotwise_units::{Bytes, Duration, FineData, Instant, Rate};

use crate::DropCause;
use crate::admission::{Admission, Arrival};
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;
use crate::measure::AccessUse;
use crate::ticks::IntervalQueue;

/// Use of a queue since the last call, and its state. Bytes are those that its link counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FifoUse {
    /// Packets that came.
    pub arrived_packets: u64,
    /// Packets among them that were accepted: sent, waiting, or lost when the link went down.
    pub taken_packets: u64,
    /// Packets that were lost: they found the buffer full or were too long for it, came while nothing could leave, or waited when that
    /// began, perhaps since an earlier time. What came is what was sent, was lost, or waits.
    pub dropped_packets: u64,
    /// Packets that began to leave.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Time that they take.
    pub busy: Duration,
    /// Capacity of the link by its rates in this time.
    pub capacity: FineData,
    /// Time that the packets that were taken have to wait by the rate at which they came, together.
    pub waited: Duration,
    /// Most packets that waited at once.
    pub most_packets: u64,
    /// Packets waiting now.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: Bytes,
}

struct Waiting {
    start: Instant,
    bytes: Bytes,
    busy: Duration,
}

/// When a packet that was taken begins to leave, and when its tail is at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// First bit out.
    pub start: Instant,
    /// Last bit at the far end.
    pub arrive: Instant,
    /// True if the packet is to be marked (ECN).
    pub is_marked: bool,
}

/// A queue in order, before the lane of a link.
pub struct Fifo {
    /// Lane behind the queue.
    pub lane: usize,
    /// Rate of the link.
    pub rate: Rate,
    delay: Duration,
    admission: Admission,
    /// The longest packet that it takes.
    max_frame_bytes: usize,
    /// Bytes of each packet that the link's rate and the limit do not count.
    uncounted_bytes: usize,
    busy_until: Instant,
    waiting: VecDeque<Waiting>,
    waiting_bytes: Bytes,
    timers: Option<IntervalTimers>,
    used: FifoUse,
    /// Until when its capacity has been counted.
    counted: Instant,
    /// Since the start.
    total: AccessUse,
    arrived_bytes: Bytes,
}

impl Fifo {
    /// The card before a link of this rate (over 0) and delay, which counts all but the first `uncounted_bytes` of a packet.
    pub fn new(lane: usize, (rate, delay): (Rate, Duration), admission: Admission, uncounted_bytes: usize) -> Fifo {
        Fifo {
            lane,
            rate,
            delay,
            admission,
            max_frame_bytes: usize::MAX,
            uncounted_bytes,
            busy_until: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            timers: None,
            used: FifoUse::default(),
            counted: Instant::ZERO,
            total: AccessUse::default(),
            arrived_bytes: Bytes::ZERO,
        }
    }

    /// The same, for packets of at most so many bytes.
    pub fn up_to(mut self, max_frame_bytes: usize) -> Fifo {
        self.max_frame_bytes = max_frame_bytes;
        self
    }

    /// Starts the interval timers; both tick now.
    pub fn start_timers(&mut self, now: Instant) {
        self.timers = Some(IntervalTimers::new(now));
    }

    /// Takes what has begun to leave by `now` out of the queue.
    fn advance(&mut self, now: Instant) {
        while let Some(&Waiting { start, bytes, busy }) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
            self.starts(bytes, busy);
        }
    }

    fn count_capacity(&mut self, now: Instant) {
        self.used.capacity += FineData::of(self.rate, now - self.counted);
        self.counted = now;
    }

    fn starts(&mut self, bytes: Bytes, busy: Duration) {
        self.used.sent_packets += 1;
        self.used.sent_bytes += bytes;
        self.used.busy += busy;
    }

    /// Takes a packet of so many bytes, its Ethernet header included, or says why not.
    pub fn enqueue(&mut self, now: Instant, frame_bytes: usize) -> Result<Departure, DropCause> {
        self.advance(now);
        let bytes = Bytes::of(frame_bytes.saturating_sub(self.uncounted_bytes));
        self.used.arrived_packets += 1;
        self.arrived_bytes += bytes;
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        if frame_bytes > self.max_frame_bytes {
            self.refuse();
            return Err(DropCause::TooLong);
        }
        let start = self.busy_until.max(now);
        let busy = self.rate.time(bytes);
        let waits = start > now;
        let arrival = Arrival {
            bytes,
            waits,
            leaves_in: start + busy - now,
            waiting_packets: self.waiting.len(),
            waiting_bytes: self.waiting_bytes,
        };
        if !self.admission.admits(&arrival) {
            self.refuse();
            return Err(DropCause::QueueFull);
        }
        if waits {
            self.waiting.push_back(Waiting { start, bytes, busy });
            self.waiting_bytes += bytes;
            self.used.waited += start - now;
            self.used.most_packets = self.used.most_packets.max(self.waiting.len() as u64);
        } else {
            self.starts(bytes, busy);
        }
        self.used.taken_packets += 1;
        self.total.packets += 1;
        self.total.bytes += bytes;
        self.busy_until = start + busy;
        Ok(Departure {
            start,
            arrive: self.busy_until + self.delay,
            is_marked: self.admission.marks(&arrival),
        })
    }

    /// Counts a packet that comes while nothing can leave.
    pub fn lose(&mut self, frame_bytes: usize) {
        self.used.arrived_packets += 1;
        self.arrived_bytes += Bytes::of(frame_bytes.saturating_sub(self.uncounted_bytes));
        self.refuse();
    }

    fn refuse(&mut self) {
        self.used.dropped_packets += 1;
        self.total.dropped_packets += 1;
    }

    /// Loses what has not begun to leave; says how many packets.
    pub fn drop_waiting(&mut self, now: Instant) -> usize {
        self.advance(now);
        let Some(first) = self.waiting.front() else {
            return 0;
        };
        self.busy_until = first.start;
        let lost = self.waiting.len();
        self.used.dropped_packets += lost as u64;
        self.total.dropped_packets += lost as u64;
        self.total.packets -= lost as u64;
        self.total.bytes -= self.waiting_bytes;
        self.waiting.clear();
        self.waiting_bytes = Bytes::ZERO;
        lost
    }

    /// Changes the link. What has begun to leave arrives as it would have; the new times of arrival of what waits, in
    /// order.
    pub fn change(&mut self, now: Instant, rate: Option<Rate>, delay: Option<Duration>) -> Vec<Instant> {
        self.advance(now);
        self.count_capacity(now);
        self.rate = rate.unwrap_or(self.rate);
        self.delay = delay.unwrap_or(self.delay);
        if let Some(first) = self.waiting.front() {
            self.busy_until = first.start;
        }
        let mut arrivals = Vec::with_capacity(self.waiting.len());
        for waiting in &mut self.waiting {
            waiting.start = self.busy_until;
            waiting.busy = self.rate.time(waiting.bytes);
            self.busy_until += waiting.busy;
            arrivals.push(self.busy_until + self.delay);
        }
        arrivals
    }

    /// Use since the last call.
    pub fn take_use(&mut self, now: Instant) -> FifoUse {
        self.advance(now);
        self.count_capacity(now);
        let fresh = FifoUse {
            most_packets: self.waiting.len() as u64,
            ..FifoUse::default()
        };
        FifoUse {
            queue_packets: self.waiting.len() as u64,
            queue_bytes: self.waiting_bytes,
            ..std::mem::replace(&mut self.used, fresh)
        }
    }

    /// Use since the start, including packets that wait.
    pub fn total(&self) -> AccessUse {
        self.total
    }
}

impl IntervalQueue for Fifo {
    fn timers(&self) -> Option<&IntervalTimers> {
        self.timers.as_ref()
    }

    fn timers_mut(&mut self) -> Option<&mut IntervalTimers> {
        self.timers.as_mut()
    }

    fn state(&mut self, now: Instant) -> QueueState {
        self.advance(now);
        QueueState {
            backlog_bytes: self.waiting_bytes,
            arrived_bytes: self.arrived_bytes,
            hol_delay: Duration::ZERO,
            dropped_packets: self.total.dropped_packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::Rng;
    use slotwise_wire::Ethernet;

    use super::*;
    use slotwise_random::{Stream, generator};

    /// 8 Mb/s: 1 ms for 1000 bytes.
    const RATE: Rate = Rate::from_bps(8_000_000);
    const MS: Duration = Duration::from_ms(1);

    fn fifo(delay: Duration, limit: Admission) -> Fifo {
        Fifo::new(0, (RATE, delay), limit, Ethernet::SIZE)
    }

    fn at(since_start: Duration) -> Instant {
        Instant::ZERO + since_start
    }

    /// Time since the start at which a packet of 1000 IP bytes arrives.
    fn enqueue(fifo: &mut Fifo, now: Duration) -> Option<Duration> {
        let departure = fifo.enqueue(at(now), Ethernet::SIZE + 1000).ok()?;
        Some(departure.arrive.since_start())
    }

    #[test]
    fn packets_wait_for_the_link_and_what_finds_no_room_is_dropped() {
        let mut fifo = fifo(10 * MS, Admission::packets(1));
        assert_eq!(enqueue(&mut fifo, Duration::ZERO), Some(11 * MS));
        assert_eq!(enqueue(&mut fifo, Duration::ZERO), Some(12 * MS));
        assert_eq!(enqueue(&mut fifo, MS / 2), None);
        assert_eq!(enqueue(&mut fifo, MS), Some(13 * MS), "the second has begun to leave");
        let used = fifo.take_use(at(2 * MS));
        assert_eq!(
            (used.arrived_packets, used.dropped_packets, used.sent_packets),
            (4, 1, 3)
        );
        assert_eq!((used.busy, used.waited, used.most_packets), (3 * MS, 2 * MS, 1));
        let idle = FifoUse {
            capacity: FineData::of(RATE, MS),
            ..FifoUse::default()
        };
        assert_eq!(fifo.take_use(at(3 * MS)), idle);
        let total = fifo.total();
        assert_eq!((total.packets, total.bytes.get(), total.dropped_packets), (3, 3000, 1));
    }

    #[test]
    fn capacity_is_that_of_each_rate_as_long_as_it_held() {
        let mut fifo = fifo(Duration::ZERO, Admission::packets(100));
        while enqueue(&mut fifo, Duration::ZERO).is_some() {}
        fifo.change(at(3 * MS), Some(Rate::from_bps(RATE.bps() / 8)), None);
        let used = fifo.take_use(at(11 * MS));
        assert_eq!(used.capacity, FineData::of(RATE, 3 * MS + MS));
        // By the last rate alone it would have been busy nearly four times as long as there was time.
        assert_eq!(used.sent_bytes.get(), 5 * 1000, "four, and one that has just begun");
        fifo.change(at(11 * MS), Some(RATE), None);
        assert_eq!(fifo.take_use(at(12 * MS)).capacity, FineData::of(RATE, MS));
    }

    #[test]
    fn a_byte_limit_counts_what_waits() {
        let mut fifo = fifo(Duration::ZERO, Admission::bytes(Bytes::new(2000)));
        let taken = (0..5).filter(|_| enqueue(&mut fifo, Duration::ZERO).is_some()).count();
        assert_eq!(taken, 3, "one on the link and two waiting");
    }

    #[test]
    fn a_time_limit_counts_what_is_on_the_link_too() {
        let mut fifo = Fifo::new(
            0,
            (Rate::from_bps(1_000_000_000), Duration::from_us(1)),
            Admission::time(Duration::from_us(24)),
            0,
        );
        let arrival =
            |fifo: &mut Fifo, now_ns, bytes| Some(fifo.enqueue(Instant::from_ns(now_ns), bytes).ok()?.arrive.ns());
        assert_eq!(arrival(&mut fifo, 0, 1500), Some(12_000 + 1000));
        assert_eq!(arrival(&mut fifo, 0, 1500), Some(24_000 + 1000));
        assert_eq!(arrival(&mut fifo, 0, 1), None);
        assert_eq!(arrival(&mut fifo, 12_000, 1500), Some(36_000 + 1000));
        assert_eq!(arrival(&mut fifo, 100_000, 125), Some(101_000 + 1000));
        assert_eq!(arrival(&mut fifo, 200_000, 3001), None, "even when it is idle");
    }

    #[test]
    fn what_waits_can_be_lost_and_what_has_begun_cannot() {
        let mut fifo = fifo(Duration::ZERO, Admission::packets(9));
        for _ in 0..3 {
            enqueue(&mut fifo, Duration::ZERO);
        }
        assert_eq!(fifo.take_use(at(MS / 4)).taken_packets, 3);
        assert_eq!(fifo.drop_waiting(at(MS / 2)), 2);
        assert_eq!(fifo.drop_waiting(at(MS / 2)), 0);
        assert_eq!(enqueue(&mut fifo, MS / 2), Some(2 * MS), "right behind the first");
        let used = fifo.take_use(at(MS / 2));
        assert_eq!((used.arrived_packets, used.taken_packets), (1, 1));
        assert_eq!((used.dropped_packets, used.queue_packets), (2, 1), "two of before");
        let total = fifo.total();
        assert_eq!((total.packets, total.bytes.get(), total.dropped_packets), (2, 2000, 2));
    }

    #[test]
    fn what_came_was_sent_or_lost_or_waits() {
        let mut random = generator(7, Stream::Fault, 0);
        for limit in [
            Admission::packets(5),
            Admission::bytes(Bytes::new(4000)),
            Admission::time(7 * MS),
        ] {
            let mut fifo = fifo(Duration::ZERO, limit).up_to(Ethernet::SIZE + 1400);
            let (mut now, mut arrived, mut dropped, mut sent, mut sent_bytes) = (Instant::ZERO, 0, 0, 0, Bytes::ZERO);
            let mut seen = BTreeSet::new();
            for _ in 0..20_000 {
                now += Duration::from_ns(random.random_range(0..2 * MS.ns()));
                let frame_bytes = Ethernet::SIZE + random.random_range(1..1500);
                match random.random_range(0..40) {
                    0 => {
                        fifo.change(
                            now,
                            Some(Rate::from_bps(random.random_range(1..4) * RATE.bps() / 2)),
                            None,
                        );
                    }
                    1 => {
                        seen.insert(("lost", fifo.drop_waiting(now).min(3)));
                    }
                    2 => fifo.lose(frame_bytes),
                    3..10 => {
                        let used = fifo.take_use(now);
                        arrived += used.arrived_packets;
                        dropped += used.dropped_packets;
                        sent += used.sent_packets;
                        sent_bytes += used.sent_bytes;
                        assert_eq!(arrived, sent + dropped + used.queue_packets);
                        let total = fifo.total();
                        assert_eq!(total.dropped_packets, dropped);
                        assert_eq!(total.packets, sent + used.queue_packets);
                        assert_eq!(total.bytes, sent_bytes + used.queue_bytes);
                        assert!(used.taken_packets <= used.arrived_packets);
                        seen.insert((
                            "was lost before",
                            usize::from(used.dropped_packets > used.arrived_packets),
                        ));
                    }
                    _ => {
                        // Some find no room.
                        let _ = fifo.enqueue(now, frame_bytes);
                    }
                }
            }
            // Nothing of this is for want of cases.
            assert!(
                seen.contains(&("lost", 3)) && seen.contains(&("was lost before", 1)),
                "{seen:?}"
            );
            assert!(sent > 1000 && dropped > 1000);
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let mut fifo = fifo(Duration::ZERO, Admission::packets(1)).up_to(1000);
        assert_eq!(fifo.enqueue(Instant::ZERO, 1001), Err(DropCause::TooLong));
        assert!(fifo.enqueue(Instant::ZERO, 1000).is_ok());
        assert_eq!(fifo.total().dropped_packets, 1);
    }

    #[test]
    fn a_change_of_rate_counts_for_what_waits() {
        let mut fifo = fifo(10 * MS, Admission::packets(9));
        let arrivals: Vec<_> = (0..3).map(|_| enqueue(&mut fifo, Duration::ZERO)).collect();
        assert_eq!(arrivals, [11, 12, 13].map(|ms| Some(ms * MS)));
        assert_eq!(
            fifo.change(at(MS / 2), Some(Rate::from_bps(RATE.bps() / 2)), None),
            [13 * MS, 15 * MS].map(at)
        );
        let waiting = fifo.change(at(6 * MS), None, Some(MS));
        assert!(waiting.is_empty(), "all have begun to leave");
        assert_eq!(enqueue(&mut fifo, 6 * MS), Some(9 * MS), "it overtakes");
    }
}
