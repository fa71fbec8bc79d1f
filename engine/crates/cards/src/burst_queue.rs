// SPDX-License-Identifier: Apache-2.0
//! Bursts before one output of an edge: one is in transmission, the others wait in the order of their tags.

use std::collections::BTreeMap;

use slotwise_units::{Bytes, Duration, Instant};

use crate::burst::Burst;
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;
use crate::optical_ram::ByteTime;
use crate::ticks::IntervalQueue;

/// Use of an output since the last call, and its state. Bytes are those that links count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BurstUse {
    /// Bursts that arrived.
    pub bursts: u64,
    /// Bursts whose transmission began.
    pub sent_bursts: u64,
    /// Their frames.
    pub sent_frames: u64,
    /// Frames with TCP among these.
    pub sent_tcp_frames: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Their transmission time.
    pub busy: Duration,
    /// Bursts that waited before their transmission.
    pub waited_bursts: u64,
    /// Sum of their waits.
    pub waited: Duration,
    /// Maximum number of waiting bursts.
    pub most_bursts: u64,
    /// Bursts lost because the output was down, or its switch stopped.
    pub lost_bursts: u64,
    /// Bytes of waiting bursts.
    pub queue_bytes: Bytes,
}

/// A burst with its label, before an output.
#[derive(Debug)]
pub struct Labelled {
    /// Its frames.
    pub burst: Burst,
    /// Its traffic class.
    pub class: u8,
    /// Tag: the smallest is sent first; among equal ones the oldest.
    pub tag: u64,
}

struct Waiting {
    labelled: Labelled,
    came: Instant,
}

/// Burst in transmission.
pub struct Leaving {
    /// Burst.
    pub labelled: Labelled,
    /// Earliest start of the next transmission.
    pub end: Instant,
}

/// Bursts of one output.
#[derive(Default)]
pub struct BurstQueue {
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// Bursts that arrived so far.
    came: u64,
    waiting_bytes: Bytes,
    arrived_bytes: Bytes,
    /// End of the transmission; `None` while the output is idle.
    busy_until: Option<Instant>,
    /// True if the leaving burst was sent by an earlier program of the switch.
    is_stale: bool,
    lost_bursts: u64,
    /// For an agent of the output.
    timers: Option<IntervalTimers>,
    used: BurstUse,
}

impl BurstQueue {
    /// Starts the interval timers; both tick at `now`.
    pub fn start_timers(&mut self, now: Instant) {
        self.timers = Some(IntervalTimers::new(now));
    }

    /// Returns true if more bursts wait than allowed, of a class or of all.
    pub fn is_over(&self, bursts: u8, class: Option<u8>) -> bool {
        self.waiting(class) > usize::from(bursts) + usize::from(self.is_stale)
    }

    /// Adds an arriving burst, which may leave at once if the output is idle.
    pub fn put(&mut self, now: Instant, labelled: Labelled) {
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        self.came += 1;
        self.used.bursts += 1;
        self.waiting_bytes += labelled.burst.bytes;
        self.arrived_bytes += labelled.burst.bytes;
        let place = (labelled.tag, self.came);
        self.waiting.insert(place, Waiting { labelled, came: now });
        let waiting = self.waiting.len() as u64 - u64::from(self.busy_until.is_none());
        self.used.most_bursts = self.used.most_bursts.max(waiting);
    }

    /// Number of waiting bursts, of a class or of all.
    fn waiting(&self, class: Option<u8>) -> usize {
        match class {
            None => self.waiting.len(),
            Some(class) => {
                let bursts = self.waiting.values();
                bursts.filter(|waiting| waiting.labelled.class == class).count()
            }
        }
    }

    /// Returns true while a burst is in transmission.
    pub fn is_busy(&self) -> bool {
        self.busy_until.is_some()
    }

    /// Completes a transmission that ends by `now`. Returns whether the switch's program sent the burst; `None` if none ends.
    pub fn end(&mut self, now: Instant) -> Option<bool> {
        self.busy_until.filter(|end| *end <= now)?;
        self.busy_until = None;
        Some(!std::mem::take(&mut self.is_stale))
    }

    /// Starts the next transmission if the output is idle; `guard` stays free after it.
    pub fn begin(&mut self, now: Instant, byte_time: ByteTime, guard: Duration) -> Option<Leaving> {
        if self.busy_until.is_some() {
            return None;
        }
        let (_, Waiting { labelled, came }) = self.waiting.pop_first()?;
        let Burst { frames, bytes } = &labelled.burst;
        let busy = byte_time.time(*bytes);
        self.waiting_bytes -= *bytes;
        self.used.sent_bursts += 1;
        self.used.sent_frames += frames.len() as u64;
        self.used.sent_tcp_frames += labelled.burst.tcp_frames() as u64;
        self.used.sent_bytes += *bytes;
        self.used.busy += busy;
        if now > came {
            self.used.waited_bursts += 1;
            self.used.waited += now.saturating_since(came);
        }
        let end = now + busy + guard;
        self.busy_until = Some(end);
        Some(Leaving { labelled, end })
    }

    /// Counts a burst that arrives while the output is down.
    pub fn lose(&mut self) {
        self.used.bursts += 1;
        self.used.lost_bursts += 1;
        self.lost_bursts += 1;
    }

    /// Removes and returns the waiting bursts, in order of departure.
    pub fn take_waiting(&mut self) -> Vec<Labelled> {
        self.waiting_bytes = Bytes::ZERO;
        let lost = std::mem::take(&mut self.waiting).into_values();
        let lost: Vec<Labelled> = lost.map(|waiting| waiting.labelled).collect();
        self.used.lost_bursts += lost.len() as u64;
        self.lost_bursts += lost.len() as u64;
        lost
    }

    /// Records that the burst in transmission was sent by an earlier program.
    pub fn forget(&mut self) {
        self.is_stale = self.busy_until.is_some();
    }

    /// Use since the last call.
    pub fn take_use(&mut self) -> BurstUse {
        let fresh = BurstUse {
            most_bursts: self.waiting.len() as u64,
            ..BurstUse::default()
        };
        BurstUse {
            queue_bytes: self.waiting_bytes,
            ..std::mem::replace(&mut self.used, fresh)
        }
    }
}

impl IntervalQueue for BurstQueue {
    fn timers(&self) -> Option<&IntervalTimers> {
        self.timers.as_ref()
    }

    fn timers_mut(&mut self) -> Option<&mut IntervalTimers> {
        self.timers.as_mut()
    }

    fn state(&mut self, _: Instant) -> QueueState {
        QueueState {
            backlog_bytes: self.waiting_bytes,
            arrived_bytes: self.arrived_bytes,
            hol_delay: Duration::ZERO,
            dropped_packets: self.lost_bursts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_units::Rate;

    use crate::packet::Packet;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn labelled(bytes: u64, class: u8, tag: u64) -> Labelled {
        let burst = Burst::only(Packet::unborn(Vec::new()), Bytes::new(bytes));
        Labelled { burst, class, tag }
    }

    /// Starts a transmission with 8 ns per byte and 10 ns between bursts. Returns its class and end.
    fn begin(queue: &mut BurstQueue, now_ns: u64) -> Option<(u8, u64)> {
        let byte_time = ByteTime::of_rate(Rate::from_bps(1_000_000_000));
        let leaving = queue.begin(at(now_ns), byte_time, Duration::from_ns(10))?;
        Some((leaving.labelled.class, leaving.end.ns()))
    }

    #[test]
    fn one_leaves_and_the_others_wait_for_their_turn() {
        let mut queue = BurstQueue::default();
        for (class, tag) in [(0, 0), (1, 0), (2, 0)] {
            queue.put(at(0), labelled(1000, class, tag));
        }
        assert_eq!(begin(&mut queue, 0), Some((0, 8010)));
        assert_eq!((begin(&mut queue, 0), queue.end(at(8009))), (None, None));
        assert_eq!(
            (queue.waiting(None), queue.waiting(Some(2)), queue.waiting(Some(0))),
            (2, 1, 0)
        );
        assert_eq!(queue.end(at(8010)), Some(true));
        assert_eq!(
            (queue.end(at(8010)), begin(&mut queue, 8010)),
            (None, Some((1, 16_020)))
        );
        let used = queue.take_use();
        assert_eq!(
            (used.bursts, used.sent_bursts, used.sent_bytes.get(), used.busy.ns()),
            (3, 2, 2000, 16_000)
        );
        assert_eq!((used.waited_bursts, used.waited.ns(), used.most_bursts), (1, 8010, 2));
        assert_eq!(used.queue_bytes.get(), 1000);
        assert!(queue.is_over(0, None) && !queue.is_over(1, None) && !queue.is_over(0, Some(1)));
        queue.start_timers(at(8010));
        let (_, state) = queue.tick(at(8010)).unwrap();
        assert_eq!((state.backlog_bytes.get(), state.arrived_bytes.get()), (1000, 3000));
    }

    #[test]
    fn the_smallest_tag_goes_first_and_the_oldest_of_one_tag() {
        let mut queue = BurstQueue::default();
        for (class, tag) in [(0, 50), (1, 40), (2, 60), (3, 40)] {
            queue.put(at(0), labelled(1, class, tag));
        }
        let mut order = Vec::new();
        while let Some((class, end_ns)) = begin(&mut queue, 0) {
            order.push(class);
            assert_eq!(queue.end(at(end_ns)), Some(true));
        }
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn what_waits_can_be_lost_and_what_leaves_be_of_an_older_program() {
        let mut queue = BurstQueue::default();
        for class in 0..3 {
            queue.put(at(0), labelled(100, class, 0));
        }
        assert_eq!(begin(&mut queue, 0), Some((0, 810)));
        queue.forget();
        let lost: Vec<u8> = queue.take_waiting().iter().map(|labelled| labelled.class).collect();
        assert_eq!(lost, [1, 2]);
        queue.put(at(5), labelled(100, 3, 0));
        assert_eq!(queue.end(at(810)), Some(false), "the switch does not know it");
        assert_eq!(begin(&mut queue, 810), Some((3, 1620)));
        assert_eq!(queue.end(at(1620)), Some(true));
        queue.lose();
        queue.forget();
        assert!(!queue.is_stale, "none leaves");
        let used = queue.take_use();
        assert_eq!((used.bursts, used.lost_bursts, queue.lost_bursts), (5, 3, 3));
    }
}
