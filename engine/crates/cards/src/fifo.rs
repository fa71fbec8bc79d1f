// SPDX-License-Identifier: Apache-2.0
//! The card before a link that is free whenever it is idle: one queue in order, and the interval timers that XCP needs.
//!
//! A queue that is served in order needs no event when a packet leaves it: the time is known when the packet
//! comes. So a packet costs one event a hop, its arrival at the far end.

use std::collections::VecDeque;

use slotwise_wire::{FlowControl, IntervalTick};

use crate::DropCause;
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;
use crate::measure::AccessUse;
use crate::transmission_ns;

/// What a card may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many packets wait, the one on the link not counted.
    Packets(u32),
    /// So many bytes wait, those on the link not counted.
    Bytes(u64),
    /// The last bit of every packet leaves within this time.
    Ns(u64),
}

/// What a card did since it was last asked, and where it stands. Bytes are those that its link counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FifoUse {
    /// Packets that came.
    pub arrived_packets: u64,
    /// Of them, those that found room: they left, or wait, or were lost when nothing could leave any more.
    pub taken_packets: u64,
    /// Packets that were lost: they found the buffer full or were too long for it, came while nothing could leave, or waited when that
    /// began, perhaps since an earlier time. What came is what was sent, was lost, or waits.
    pub dropped_packets: u64,
    /// Packets that began to leave.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Time that they take.
    pub busy_ns: u64,
    /// What the rates of this time let through, in bits times 10^9.
    pub capacity_bit_ns: u128,
    /// Time that the packets that were taken have to wait by the rate at which they came, together.
    pub waited_ns: u64,
    /// Most packets that waited at once.
    pub most_packets: u64,
    /// Packets waiting now.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: u64,
}

struct Waiting {
    start_ns: u64,
    bytes: u64,
    busy_ns: u64,
}

/// When a packet that was taken begins to leave, and when its tail is at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// First bit out.
    pub start_ns: u64,
    /// Last bit at the far end.
    pub arrive_ns: u64,
}

/// A queue in order, before the lane of a link.
pub struct Fifo {
    /// Where what it sends goes on.
    pub lane: usize,
    /// Rate of the link.
    pub rate_bps: u64,
    delay_ns: u64,
    limit: Limit,
    /// The longest packet that it takes.
    max_frame_bytes: usize,
    /// Of each packet, what the link's rate and the limit do not count.
    uncounted_bytes: usize,
    busy_until_ns: u64,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    timers: Option<IntervalTimers>,
    used: FifoUse,
    /// Until when its capacity has been counted.
    counted_ns: u64,
    /// Since the start.
    total: AccessUse,
    arrived_bytes: u64,
}

impl Fifo {
    /// The card before a link of this rate (over 0) and delay, which counts all but the first `uncounted_bytes` of a packet.
    pub fn new(lane: usize, (rate_bps, delay_ns): (u64, u64), limit: Limit, uncounted_bytes: usize) -> Fifo {
        Fifo {
            lane,
            rate_bps,
            delay_ns,
            limit,
            max_frame_bytes: usize::MAX,
            uncounted_bytes,
            busy_until_ns: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            timers: None,
            used: FifoUse::default(),
            counted_ns: 0,
            total: AccessUse::default(),
            arrived_bytes: 0,
        }
    }

    /// The same, for packets of at most so many bytes.
    pub fn up_to(mut self, max_frame_bytes: usize) -> Fifo {
        self.max_frame_bytes = max_frame_bytes;
        self
    }

    /// Starts the interval timers; both tick at `now_ns`.
    pub fn start_timers(&mut self, now_ns: u64) {
        self.timers = Some(IntervalTimers::new(now_ns));
    }

    /// Takes what has begun to leave by `now_ns` out of the queue.
    fn advance(&mut self, now_ns: u64) {
        while let Some(&Waiting {
            start_ns,
            bytes,
            busy_ns,
        }) = self.waiting.front()
            && start_ns <= now_ns
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
            self.starts(bytes, busy_ns);
        }
    }

    fn count_capacity(&mut self, now_ns: u64) {
        self.used.capacity_bit_ns += u128::from(self.rate_bps) * u128::from(now_ns - self.counted_ns);
        self.counted_ns = now_ns;
    }

    fn starts(&mut self, bytes: u64, busy_ns: u64) {
        self.used.sent_packets += 1;
        self.used.sent_bytes += bytes;
        self.used.busy_ns += busy_ns;
    }

    /// Takes a packet of so many bytes, its Ethernet header included, or says why not.
    pub fn enqueue(&mut self, now_ns: u64, frame_bytes: usize) -> Result<Departure, DropCause> {
        self.advance(now_ns);
        let bytes = frame_bytes.saturating_sub(self.uncounted_bytes) as u64;
        self.used.arrived_packets += 1;
        self.arrived_bytes += bytes;
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        if frame_bytes > self.max_frame_bytes {
            self.refuse();
            return Err(DropCause::TooLong);
        }
        let start_ns = self.busy_until_ns.max(now_ns);
        let busy_ns = transmission_ns(bytes, self.rate_bps);
        let waits = start_ns > now_ns;
        let is_full = match self.limit {
            Limit::Packets(most) => waits && self.waiting.len() >= most as usize,
            Limit::Bytes(most) => waits && self.waiting_bytes + bytes > most,
            Limit::Ns(most) => start_ns + busy_ns - now_ns > most,
        };
        if is_full {
            self.refuse();
            return Err(DropCause::QueueFull);
        }
        if waits {
            self.waiting.push_back(Waiting {
                start_ns,
                bytes,
                busy_ns,
            });
            self.waiting_bytes += bytes;
            self.used.waited_ns += start_ns - now_ns;
            self.used.most_packets = self.used.most_packets.max(self.waiting.len() as u64);
        } else {
            self.starts(bytes, busy_ns);
        }
        self.used.taken_packets += 1;
        self.total.packets += 1;
        self.total.bytes += bytes;
        self.busy_until_ns = start_ns + busy_ns;
        Ok(Departure {
            start_ns,
            arrive_ns: self.busy_until_ns + self.delay_ns,
        })
    }

    /// Counts a packet that comes while nothing can leave.
    pub fn lose(&mut self, frame_bytes: usize) {
        self.used.arrived_packets += 1;
        self.arrived_bytes += frame_bytes.saturating_sub(self.uncounted_bytes) as u64;
        self.refuse();
    }

    fn refuse(&mut self) {
        self.used.dropped_packets += 1;
        self.total.dropped_packets += 1;
    }

    /// Loses what has not begun to leave; says how many packets.
    pub fn drop_waiting(&mut self, now_ns: u64) -> usize {
        self.advance(now_ns);
        let Some(first) = self.waiting.front() else {
            return 0;
        };
        self.busy_until_ns = first.start_ns;
        let lost = self.waiting.len();
        self.used.dropped_packets += lost as u64;
        self.total.dropped_packets += lost as u64;
        self.total.packets -= lost as u64;
        self.total.bytes -= self.waiting_bytes;
        self.waiting.clear();
        self.waiting_bytes = 0;
        lost
    }

    /// Changes the link. What has begun to leave arrives as it would have; the new times of arrival of what waits, in
    /// order.
    pub fn change(&mut self, now_ns: u64, rate_bps: Option<u64>, delay_ns: Option<u64>) -> Vec<u64> {
        self.advance(now_ns);
        self.count_capacity(now_ns);
        self.rate_bps = rate_bps.unwrap_or(self.rate_bps);
        self.delay_ns = delay_ns.unwrap_or(self.delay_ns);
        if let Some(first) = self.waiting.front() {
            self.busy_until_ns = first.start_ns;
        }
        let mut arrivals = Vec::with_capacity(self.waiting.len());
        for waiting in &mut self.waiting {
            waiting.start_ns = self.busy_until_ns;
            waiting.busy_ns = transmission_ns(waiting.bytes, self.rate_bps);
            self.busy_until_ns += waiting.busy_ns;
            arrivals.push(self.busy_until_ns + self.delay_ns);
        }
        arrivals
    }

    /// When the next timer expires.
    pub fn next_tick_ns(&self) -> Option<u64> {
        self.timers.as_ref().map(IntervalTimers::next_ns)
    }

    /// The tick of a timer that has expired by `now_ns`, with the queue's state.
    pub fn tick(&mut self, now_ns: u64) -> Option<(IntervalTick, QueueState)> {
        self.advance(now_ns);
        let tick = self.timers.as_mut()?.tick(now_ns, self.waiting_bytes)?;
        let state = QueueState {
            backlog_bytes: self.waiting_bytes,
            arrived_bytes: self.arrived_bytes,
            hol_delay_ns: 0,
            dropped_packets: self.total.dropped_packets,
        };
        Some((tick, state))
    }

    /// Obeys a flow-control message: the answer to a tick. Anything else changes nothing.
    pub fn control(&mut self, now_ns: u64, message: &FlowControl) -> Result<(), DropCause> {
        IntervalTimers::obey(self.timers.as_mut(), now_ns, message)
    }

    /// What it did since the last call.
    pub fn take_use(&mut self, now_ns: u64) -> FifoUse {
        self.advance(now_ns);
        self.count_capacity(now_ns);
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

    /// What it did since the start, packets that wait included.
    pub fn total(&self) -> AccessUse {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::Rng;
    use slotwise_wire::Ethernet;

    use super::*;
    use crate::random::{Stream, generator};

    /// 8 Mb/s: 1 ms for 1000 bytes.
    const RATE_BPS: u64 = 8_000_000;
    const MS: u64 = 1_000_000;

    fn fifo(delay_ns: u64, limit: Limit) -> Fifo {
        Fifo::new(0, (RATE_BPS, delay_ns), limit, Ethernet::SIZE)
    }

    /// When a packet of 1000 IP bytes arrives.
    fn enqueue(fifo: &mut Fifo, now_ns: u64) -> Option<u64> {
        let departure = fifo.enqueue(now_ns, Ethernet::SIZE + 1000).ok()?;
        Some(departure.arrive_ns)
    }

    #[test]
    fn packets_wait_for_the_link_and_what_finds_no_room_is_dropped() {
        let mut fifo = fifo(10 * MS, Limit::Packets(1));
        assert_eq!(enqueue(&mut fifo, 0), Some(11 * MS));
        assert_eq!(enqueue(&mut fifo, 0), Some(12 * MS));
        assert_eq!(enqueue(&mut fifo, MS / 2), None);
        assert_eq!(enqueue(&mut fifo, MS), Some(13 * MS), "the second has begun to leave");
        let used = fifo.take_use(2 * MS);
        assert_eq!(
            (used.arrived_packets, used.dropped_packets, used.sent_packets),
            (4, 1, 3)
        );
        assert_eq!((used.busy_ns, used.waited_ns, used.most_packets), (3 * MS, 2 * MS, 1));
        let idle = FifoUse {
            capacity_bit_ns: u128::from(RATE_BPS * MS),
            ..FifoUse::default()
        };
        assert_eq!(fifo.take_use(3 * MS), idle);
        let total = fifo.total();
        assert_eq!((total.packets, total.bytes, total.dropped_packets), (3, 3000, 1));
    }

    #[test]
    fn capacity_is_that_of_each_rate_as_long_as_it_held() {
        let mut fifo = fifo(0, Limit::Packets(100));
        while enqueue(&mut fifo, 0).is_some() {}
        fifo.change(3 * MS, Some(RATE_BPS / 8), None);
        let used = fifo.take_use(11 * MS);
        assert_eq!(used.capacity_bit_ns, u128::from(RATE_BPS) * u128::from(3 * MS + MS));
        // By the last rate alone it would have been busy nearly four times as long as there was time.
        assert_eq!(used.sent_bytes, 5 * 1000, "four, and one that has just begun");
        fifo.change(11 * MS, Some(RATE_BPS), None);
        assert_eq!(fifo.take_use(12 * MS).capacity_bit_ns, u128::from(RATE_BPS * MS));
    }

    #[test]
    fn a_byte_limit_counts_what_waits() {
        let mut fifo = fifo(0, Limit::Bytes(2000));
        let taken = (0..5).filter(|_| enqueue(&mut fifo, 0).is_some()).count();
        assert_eq!(taken, 3, "one on the link and two waiting");
    }

    #[test]
    fn a_time_limit_counts_what_is_on_the_link_too() {
        let mut fifo = Fifo::new(0, (1_000_000_000, 1000), Limit::Ns(24_000), 0);
        let arrival = |fifo: &mut Fifo, now_ns, bytes| Some(fifo.enqueue(now_ns, bytes).ok()?.arrive_ns);
        assert_eq!(arrival(&mut fifo, 0, 1500), Some(12_000 + 1000));
        assert_eq!(arrival(&mut fifo, 0, 1500), Some(24_000 + 1000));
        assert_eq!(arrival(&mut fifo, 0, 1), None);
        assert_eq!(arrival(&mut fifo, 12_000, 1500), Some(36_000 + 1000));
        assert_eq!(arrival(&mut fifo, 100_000, 125), Some(101_000 + 1000));
        assert_eq!(arrival(&mut fifo, 200_000, 3001), None, "even when it is idle");
    }

    #[test]
    fn what_waits_can_be_lost_and_what_has_begun_cannot() {
        let mut fifo = fifo(0, Limit::Packets(9));
        for _ in 0..3 {
            enqueue(&mut fifo, 0);
        }
        assert_eq!(fifo.take_use(MS / 4).taken_packets, 3);
        assert_eq!(fifo.drop_waiting(MS / 2), 2);
        assert_eq!(fifo.drop_waiting(MS / 2), 0);
        assert_eq!(enqueue(&mut fifo, MS / 2), Some(2 * MS), "right behind the first");
        let used = fifo.take_use(MS / 2);
        assert_eq!((used.arrived_packets, used.taken_packets), (1, 1));
        assert_eq!((used.dropped_packets, used.queue_packets), (2, 1), "two of before");
        let total = fifo.total();
        assert_eq!((total.packets, total.bytes, total.dropped_packets), (2, 2000, 2));
    }

    #[test]
    fn what_came_was_sent_or_lost_or_waits() {
        let mut random = generator(7, Stream::Fault, 0);
        for limit in [Limit::Packets(5), Limit::Bytes(4000), Limit::Ns(7 * MS)] {
            let mut fifo = fifo(0, limit).up_to(Ethernet::SIZE + 1400);
            let (mut now_ns, mut arrived, mut dropped, mut sent, mut sent_bytes) = (0, 0, 0, 0, 0);
            let mut seen = BTreeSet::new();
            for _ in 0..20_000 {
                now_ns += random.random_range(0..2 * MS);
                let frame_bytes = Ethernet::SIZE + random.random_range(1..1500);
                match random.random_range(0..40) {
                    0 => {
                        fifo.change(now_ns, Some(random.random_range(1..4) * RATE_BPS / 2), None);
                    }
                    1 => {
                        seen.insert(("lost", fifo.drop_waiting(now_ns).min(3)));
                    }
                    2 => fifo.lose(frame_bytes),
                    3..10 => {
                        let used = fifo.take_use(now_ns);
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
                        let _ = fifo.enqueue(now_ns, frame_bytes);
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
        let mut fifo = fifo(0, Limit::Packets(1)).up_to(1000);
        assert_eq!(fifo.enqueue(0, 1001), Err(DropCause::TooLong));
        assert!(fifo.enqueue(0, 1000).is_ok());
        assert_eq!(fifo.total().dropped_packets, 1);
    }

    #[test]
    fn a_change_of_rate_counts_for_what_waits() {
        let mut fifo = fifo(10 * MS, Limit::Packets(9));
        let arrivals: Vec<_> = (0..3).map(|_| enqueue(&mut fifo, 0)).collect();
        assert_eq!(arrivals, [11, 12, 13].map(|ms| Some(ms * MS)));
        assert_eq!(fifo.change(MS / 2, Some(RATE_BPS / 2), None), [13 * MS, 15 * MS]);
        let waiting = fifo.change(6 * MS, None, Some(MS));
        assert!(waiting.is_empty(), "all have begun to leave");
        assert_eq!(enqueue(&mut fifo, 6 * MS), Some(9 * MS), "it overtakes");
    }
}
