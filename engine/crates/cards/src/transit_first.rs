// SPDX-License-Identifier: Apache-2.0
//! The card before a link of a ring: transit before messages before what is added, and limits for what is added. It decides
//! nothing; P4 tells it the limits.
//!
//! ```text
//!  transit ───────────────────────────────────────> insertion buffer ──1──┐
//!  messages ─────────────────────────────────────────────────────────2────┼──> link
//!  hosts' packets ──> buffer ──shaper──> add queues: committed ──────3────┤
//!                                                    fair ──limits───4────┘
//! ```

use std::collections::{BTreeMap, VecDeque};

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{FAIRNESS_ENTRIES, NO_LIMIT};

use crate::DropCause;

const NS_PER_S: u64 = 1_000_000_000;
/// Add queues from this one on are of classes that no limit is about: `256 * COMMITTED`.
const FIRST_COMMITTED_QUEUE: u16 = 512;

/// Returns true if limits concern an add queue.
fn is_fair(queue: u16) -> bool {
    queue < FIRST_COMMITTED_QUEUE
}

/// Settings of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Rate of the link, over 0.
    pub rate: Rate,
    /// Length of the longest frame.
    pub frame: Bytes,
    /// Depth of each limit's bucket, at least two of the longest frames.
    pub bucket: Bytes,
    /// Bytes of hosts' packets that may wait.
    pub buffer: Bytes,
    /// Rate at which hosts' packets enter the add queues; `None`: at once.
    pub shaper: Option<Rate>,
}

/// Add rate limit of fairness-eligible packets to stations beyond `hops`, byte/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddLimit {
    /// Distance that is not limited, stations.
    pub hops: u8,
    /// Limit, byte/s.
    pub rate: u32,
}

impl AddLimit {
    /// Returns true if the limit is finite.
    pub fn is_one(self) -> bool {
        self.rate != NO_LIMIT
    }

    /// Returns true if it concerns an add queue.
    pub fn concerns(self, queue: u16) -> bool {
        is_fair(queue) && queue & 0xff > u16::from(self.hops)
    }
}

/// Origin of a packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A packet of another station.
    Transit {
        /// Time of arrival.
        arrived: Instant,
    },
    /// A message of this station.
    Message,
    /// A host's packet.
    Added(Added),
}

/// A host's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Its add queue.
    pub queue: u16,
    /// When it was accepted, and when it became the first of its add queue.
    pub accepted: Instant,
    /// Time since when it is the first of its add queue.
    pub first: Instant,
}

/// Next action of a card.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<P> {
    /// This packet begins to leave now.
    Send {
        /// The packet.
        packet: P,
        /// Its queue.
        origin: Origin,
        /// Time on the link.
        duration: Duration,
    },
    /// Nothing can leave before this time.
    At(Instant),
    /// Only an arrival or P4 can change anything.
    Idle,
}

/// Report of the card at an interval's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Longest time in the interval that a packet which its limits let go was held back, by what went first.
    pub hol_delay: Duration,
    /// Bytes of fair classes put on the link since the start, and of the others.
    pub added_bytes: Bytes,
    /// Bytes of the other classes, since the start.
    pub committed_bytes: Bytes,
}

struct Waiting<P> {
    packet: P,
    bytes: Bytes,
    accepted: Instant,
}

struct Shaped<P> {
    waiting: Waiting<P>,
    queue: u16,
    enters: Instant,
}

/// Not empty.
struct Queue<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: Bytes,
    /// Time since when the first packet has been the first.
    first: Instant,
}

/// Bytes that may be added, in 10^-9: a multiple of time and rate.
struct Bucket {
    limit: AddLimit,
    level: u64,
    /// Time at which it had `level`.
    at: Instant,
}

/// An amount in the unit of a bucket's level.
fn nanobytes(bytes: Bytes) -> u64 {
    bytes.get() * NS_PER_S
}

impl Bucket {
    fn level_at(&self, now: Instant, depth: u64) -> u64 {
        let more = u128::from((now - self.at).ns()) * u128::from(self.limit.rate);
        u64::try_from(u128::from(self.level) + more)
            .unwrap_or(u64::MAX)
            .min(depth)
    }

    /// Time at which it has as much as a frame needs.
    fn ready(&self, bytes: Bytes) -> Instant {
        let missing = nanobytes(bytes).saturating_sub(self.level);
        if missing == 0 {
            return self.at;
        }
        match u64::from(self.limit.rate) {
            0 => Instant::MAX,
            rate => self.at.saturating_add(Duration::from_ns(missing.div_ceil(rate))),
        }
    }
}

/// A card that passes transit on before it adds anything. `P` is what it knows no more of than its length.
pub struct TransitFirst<P> {
    settings: Settings,
    busy_until: Instant,
    transit: VecDeque<Waiting<P>>,
    message: Option<(P, Bytes)>,
    shaped: VecDeque<Shaped<P>>,
    shaper_free: Instant,
    queues: BTreeMap<u16, Queue<P>>,
    /// The fair queue that was served last, and the committed one: the next of its kind is the first behind it.
    served: [u16; 2],
    buffered_bytes: Bytes,
    most_buffered_bytes: Bytes,
    buckets: Vec<Bucket>,
    report: Report,
    transit_bytes: Bytes,
}

impl<P> TransitFirst<P> {
    /// An empty one without limits.
    pub fn new(settings: Settings) -> TransitFirst<P> {
        TransitFirst {
            settings,
            busy_until: Instant::ZERO,
            transit: VecDeque::new(),
            message: None,
            shaped: VecDeque::new(),
            shaper_free: Instant::ZERO,
            queues: BTreeMap::new(),
            served: [u16::MAX; 2],
            buffered_bytes: Bytes::ZERO,
            most_buffered_bytes: Bytes::ZERO,
            buckets: Vec::with_capacity(usize::from(FAIRNESS_ENTRIES)),
            report: Report::default(),
            transit_bytes: Bytes::ZERO,
        }
    }

    /// Takes a packet of another station. Gives it back if the insertion buffer would hold more than transit at the link's rate ever
    /// brings: two of the longest frames.
    pub fn pass_on(&mut self, now: Instant, packet: P, bytes: Bytes) -> Result<(), P> {
        if self.transit_bytes + bytes > 2 * self.settings.frame {
            return Err(packet);
        }
        self.transit.push_back(Waiting {
            packet,
            bytes,
            accepted: now,
        });
        self.transit_bytes += bytes;
        Ok(())
    }

    /// Takes a message of this station, and gives back one that has not left yet: the newer one says all that it said.
    pub fn tell(&mut self, packet: P, bytes: Bytes) -> Option<P> {
        let older = self.message.replace((packet, bytes));
        older.map(|(packet, _)| packet)
    }

    /// Takes a packet of a host of this station. Gives it back if it is longer than the longest frame; if
    /// the buffer is full, the last one of the longest add queue, or this one if it would join that one: what has far to go and
    /// waits for its limit takes no room from what goes less far. The buffer is full when it has no room for the longest frame: short ones
    /// find room no more often than long ones.
    pub fn add(&mut self, now: Instant, queue: u16, packet: P, bytes: Bytes) -> Result<(), (DropCause, P)> {
        if bytes > self.settings.frame {
            return Err((DropCause::TooLong, packet));
        }
        let mut pushed_out = None;
        if self.buffered_bytes + self.settings.frame > self.settings.buffer {
            pushed_out = self.push_out(queue);
            if pushed_out.is_none() {
                return Err((DropCause::QueueFull, packet));
            }
        }
        self.buffered_bytes += bytes;
        self.most_buffered_bytes = self.most_buffered_bytes.max(self.buffered_bytes);
        let waiting = Waiting {
            packet,
            bytes,
            accepted: now,
        };
        let enters = self.shaper_free.max(now);
        if let Some(shaper) = self.settings.shaper {
            self.shaper_free = enters + shaper.time(bytes);
        }
        // What is committed does not wait for what came before it; that waits for it.
        if is_fair(queue) {
            self.shaped.push_back(Shaped { waiting, queue, enters });
        } else {
            self.join(waiting, queue, now);
        }
        self.enter(now);
        pushed_out.map_or(Ok(()), |packet| Err((DropCause::QueueFull, packet)))
    }

    /// Makes room for a packet of an add queue that is not the longest one, if one packet of that is enough. What is committed makes
    /// none for what is fair, and takes room first of what waits for the shaper, where nothing is committed.
    fn push_out(&mut self, queue: u16) -> Option<P> {
        let missing = self.buffered_bytes + self.settings.frame - self.settings.buffer;
        let is_enough = |shaped: &Shaped<P>| shaped.waiting.bytes >= missing;
        if !is_fair(queue) && self.shaped.back().is_some_and(is_enough) {
            let Waiting { packet, bytes, .. } = self.shaped.pop_back()?.waiting;
            self.buffered_bytes -= bytes;
            if let Some(shaper) = self.settings.shaper {
                self.shaper_free -= shaper.time(bytes);
            }
            return Some(packet);
        }
        let of_both = self.queues.iter();
        let longest = of_both
            .filter(|(number, _)| is_fair(**number) || !is_fair(queue))
            .max_by_key(|(_, queue)| queue.bytes);
        let number = *longest.map(|(number, _)| number).filter(|number| **number != queue)?;
        let longest = self.queues.get_mut(&number)?;
        // Its first packet has its turn.
        if longest.waiting.len() < 2 || longest.waiting.back()?.bytes < missing {
            return None;
        }
        let last = longest.waiting.pop_back()?;
        longest.bytes -= last.bytes;
        self.buffered_bytes -= last.bytes;
        Some(last.packet)
    }

    /// Moves packets that the shaper releases by `now` to their add queues.
    fn enter(&mut self, now: Instant) {
        while self.shaped.front().is_some_and(|shaped| shaped.enters <= now) {
            let Some(Shaped { waiting, queue, enters }) = self.shaped.pop_front() else {
                break;
            };
            self.join(waiting, queue, enters);
        }
    }

    /// A packet comes to its add queue at a time.
    fn join(&mut self, waiting: Waiting<P>, queue: u16, enters: Instant) {
        let queue = self.queues.entry(queue).or_insert_with(|| Queue {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            first: enters,
        });
        queue.bytes += waiting.bytes;
        queue.waiting.push_back(waiting);
    }

    /// From when on the first packet of a queue may leave, as far as it depends on limits.
    fn eligible(&self, number: u16, queue: &Queue<P>) -> Instant {
        let Some(first) = queue.waiting.front() else {
            return Instant::MAX;
        };
        let limits = self.buckets.iter().filter(|bucket| bucket.limit.concerns(number));
        let ready = limits.map(|bucket| bucket.ready(first.bytes)).max();
        ready.unwrap_or(Instant::ZERO).max(queue.first)
    }

    /// The add queue that is to be served, and since when it could be: committed ones first, those of each kind in turn.
    fn choose(&self) -> Option<(Instant, u16)> {
        let place = |number: u16| {
            let served = self.served[usize::from(!is_fair(number))];
            (is_fair(number), number <= served, number)
        };
        let eligible = self
            .queues
            .iter()
            .map(|(&number, queue)| (self.eligible(number, queue), number));
        let ready = eligible.clone().filter(|&(at, _)| at <= self.busy_until);
        ready
            .min_by_key(|&(_, number)| place(number))
            .or_else(|| eligible.min())
    }

    /// Returns the packet that leaves now. Called again after each packet, and at the time that it returns.
    pub fn poll(&mut self, now: Instant) -> Next<P> {
        self.enter(now);
        if now < self.busy_until {
            return match self.is_empty() {
                true => Next::Idle,
                false => Next::At(self.busy_until),
            };
        }
        self.busy_until = now;
        if let Some(waiting) = self.transit.pop_front() {
            self.transit_bytes -= waiting.bytes;
            let origin = Origin::Transit {
                arrived: waiting.accepted,
            };
            return self.send(waiting.packet, origin, waiting.bytes);
        }
        if let Some((packet, bytes)) = self.message.take() {
            return self.send(packet, Origin::Message, bytes);
        }
        let enters = self.shaped.front().map(|shaped| shaped.enters);
        match self.choose() {
            Some((at, number)) if at <= now => self.send_added(now, at, number),
            Some((at, _)) => Next::At(enters.map_or(at, |enters| enters.min(at))),
            None => enters.map_or(Next::Idle, Next::At),
        }
    }

    /// Returns true if no packet waits for the link.
    fn is_empty(&self) -> bool {
        self.transit.is_empty() && self.message.is_none() && self.shaped.is_empty() && self.queues.is_empty()
    }

    fn send(&mut self, packet: P, origin: Origin, bytes: Bytes) -> Next<P> {
        let duration = self.settings.rate.time(bytes);
        self.busy_until += duration;
        Next::Send {
            packet,
            origin,
            duration,
        }
    }

    fn send_added(&mut self, now: Instant, eligible: Instant, number: u16) -> Next<P> {
        let Some(queue) = self.queues.get_mut(&number) else {
            return Next::Idle;
        };
        let first = queue.first;
        let Some(waiting) = queue.waiting.pop_front() else {
            return Next::Idle;
        };
        queue.first = now;
        queue.bytes -= waiting.bytes;
        if queue.waiting.is_empty() {
            self.queues.remove(&number);
        }
        self.served[usize::from(!is_fair(number))] = number;
        self.buffered_bytes -= waiting.bytes;
        self.report.hol_delay = self.report.hol_delay.max(now - eligible);
        if is_fair(number) {
            self.report.added_bytes += waiting.bytes;
        } else {
            self.report.committed_bytes += waiting.bytes;
        }
        let depth = nanobytes(self.settings.bucket);
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.limit.concerns(number)) {
            bucket.level = bucket.level_at(now, depth) - nanobytes(waiting.bytes);
            bucket.at = now;
        }
        let added = Added {
            queue: number,
            accepted: waiting.accepted,
            first,
        };
        self.send(waiting.packet, Origin::Added(added), waiting.bytes)
    }

    /// Applies the limits of P4: these hold from now on, and no others. A bucket stays as full as it is if its limit only changes its
    /// rate. One that was not there is as full as the nearest one that was, or whoever is told of another link in each interval
    /// would have a bucket in each; the first one is full. Nor does one become fuller than any that goes: limits
    /// that come and go, as heads between here and there do, would give a bucket each time.
    pub fn set_limits(&mut self, now: Instant, limits: &[AddLimit]) {
        let depth = nanobytes(self.settings.bucket);
        let held = self.buckets.iter().map(|bucket| bucket.limit.hops);
        let told = limits.iter().filter(|limit| limit.is_one());
        if held.eq(told.clone().map(|limit| limit.hops)) {
            // None comes or goes, as at most ticks: each is the nearest one to itself.
            for (bucket, &limit) in self.buckets.iter_mut().zip(told) {
                (bucket.level, bucket.at, bucket.limit) = (bucket.level_at(now, depth), now, limit);
            }
            return;
        }
        let old = std::mem::take(&mut self.buckets);
        let goes = |bucket: &&Bucket| {
            !limits
                .iter()
                .any(|limit| limit.is_one() && limit.hops == bucket.limit.hops)
        };
        let gone = old.iter().filter(goes).map(|bucket| bucket.level_at(now, depth));
        let most = gone.min().unwrap_or(depth);
        for &limit in told {
            let nearest = old.iter().min_by_key(|bucket| bucket.limit.hops.abs_diff(limit.hops));
            self.buckets.push(Bucket {
                limit,
                level: nearest.map_or(depth, |bucket| bucket.level_at(now, depth)).min(most),
                at: now,
            });
        }
    }

    /// An interval has ended.
    pub fn end_interval(&mut self, now: Instant) -> Report {
        self.enter(now);
        let held = self
            .queues
            .iter()
            .map(|(&number, queue)| now.saturating_since(self.eligible(number, queue)));
        let longest = held.max().unwrap_or(Duration::ZERO);
        let report = Report {
            hol_delay: self.report.hol_delay.max(longest),
            ..self.report
        };
        self.report.hol_delay = Duration::ZERO;
        report
    }

    /// Loses all that waits, transit first.
    pub fn take_all(&mut self) -> Vec<P> {
        let transit = self.transit.drain(..).map(|waiting| waiting.packet);
        let message = self.message.take().into_iter().map(|(packet, _)| packet);
        let queues = std::mem::take(&mut self.queues).into_values();
        let added = queues.flat_map(|queue| queue.waiting).map(|waiting| waiting.packet);
        let shaped = self.shaped.drain(..).map(|shaped| shaped.waiting.packet);
        let all = transit.chain(message).chain(added).chain(shaped).collect();
        (self.transit_bytes, self.buffered_bytes, self.shaper_free) = (Bytes::ZERO, Bytes::ZERO, Instant::ZERO);
        all
    }

    /// Bytes of hosts' packets that wait, in the shaper and the add queues.
    pub fn buffered_bytes(&self) -> Bytes {
        self.buffered_bytes
    }

    /// Most of them that waited at once since the last call.
    pub fn take_most_buffered_bytes(&mut self) -> Bytes {
        std::mem::replace(&mut self.most_buffered_bytes, self.buffered_bytes)
    }

    /// Bytes in the insertion buffer.
    #[cfg(test)]
    pub fn transit_bytes(&self) -> Bytes {
        self.transit_bytes
    }
}

#[cfg(test)]
mod tests;
