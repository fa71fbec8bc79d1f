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

use slotwise_wire::{FAIRNESS_ENTRIES, NO_LIMIT};

const NS_PER_S: u64 = 1_000_000_000;
/// Add queues from this one on are of classes that no limit is about: `256 * COMMITTED`.
const FIRST_COMMITTED_QUEUE: u16 = 512;

/// What a card is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Of the link, over 0.
    pub(crate) rate_bps: u64,
    /// Depth of each limit's bucket, at least the longest frame.
    pub(crate) bucket_bytes: u64,
    /// Bytes of hosts' packets that may wait.
    pub(crate) buffer_bytes: u64,
    /// How fast hosts' packets come to the add queues; `None` is at once.
    pub(crate) shaper_bps: Option<u64>,
}

/// Of fair packets that go further than `hops` stations this may be added, byte/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddLimit {
    pub(crate) hops: u8,
    pub(crate) rate: u32,
}

/// Where a packet was before it began to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Transit,
    Message,
    Added {
        queue: u16,
        /// When it was accepted, and when it became the first of its add queue.
        accepted_ns: u64,
        first_ns: u64,
    },
}

/// What a card does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<P> {
    /// This packet begins to leave now.
    Send {
        packet: P,
        origin: Origin,
        duration_ns: u64,
    },
    /// Nothing can leave before this time.
    At(u64),
    /// Only an arrival or P4 can change anything.
    Idle,
}

/// What the card has to say at an interval's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Longest time in the interval that a packet which its limits let go was held back, by what went first.
    pub(crate) hol_delay_ns: u64,
    /// Bytes of fair classes put on the link since the start, and of the others.
    pub(crate) added_bytes: u64,
    pub(crate) committed_bytes: u64,
}

struct Waiting<P> {
    packet: P,
    bytes: u64,
    accepted_ns: u64,
}

struct Shaped<P> {
    waiting: Waiting<P>,
    queue: u16,
    enters_ns: u64,
}

/// Not empty.
struct Queue<P> {
    waiting: VecDeque<Waiting<P>>,
    /// Since when the first packet has been the first.
    first_ns: u64,
}

/// Bytes that may be added, in 10^-9: a multiple of time and rate.
struct Bucket {
    limit: AddLimit,
    level: u64,
    /// When it had `level`.
    at_ns: u64,
}

impl Bucket {
    fn level_at(&self, now_ns: u64, depth: u64) -> u64 {
        let more = u128::from(now_ns - self.at_ns) * u128::from(self.limit.rate);
        u64::try_from(u128::from(self.level) + more)
            .unwrap_or(u64::MAX)
            .min(depth)
    }

    /// When it has as much as a frame needs.
    fn ready_ns(&self, bytes: u64) -> u64 {
        let missing = (bytes * NS_PER_S).saturating_sub(self.level);
        if missing == 0 {
            return self.at_ns;
        }
        match u64::from(self.limit.rate) {
            0 => u64::MAX,
            rate => self.at_ns.saturating_add(missing.div_ceil(rate)),
        }
    }
}

/// A card that passes transit on before it adds anything. `P` is what it knows no more of than its length.
pub(crate) struct TransitFirst<P> {
    settings: Settings,
    busy_until_ns: u64,
    transit: VecDeque<(P, u64)>,
    messages: VecDeque<(P, u64)>,
    shaped: VecDeque<Shaped<P>>,
    shaper_free_ns: u64,
    queues: BTreeMap<u16, Queue<P>>,
    /// The queue that was served last: the next one is the first behind it.
    served: u16,
    buffered_bytes: u64,
    buckets: Vec<Bucket>,
    report: Report,
    most_transit_bytes: u64,
    transit_bytes: u64,
}

impl<P> TransitFirst<P> {
    pub(crate) fn new(settings: Settings) -> TransitFirst<P> {
        TransitFirst {
            settings,
            busy_until_ns: 0,
            transit: VecDeque::new(),
            messages: VecDeque::new(),
            shaped: VecDeque::new(),
            shaper_free_ns: 0,
            queues: BTreeMap::new(),
            served: u16::MAX,
            buffered_bytes: 0,
            buckets: Vec::with_capacity(usize::from(FAIRNESS_ENTRIES)),
            report: Report::default(),
            most_transit_bytes: 0,
            transit_bytes: 0,
        }
    }

    /// Takes a packet of another station.
    pub(crate) fn pass_on(&mut self, packet: P, bytes: u64) {
        self.transit.push_back((packet, bytes));
        self.transit_bytes += bytes;
        self.most_transit_bytes = self.most_transit_bytes.max(self.transit_bytes);
    }

    /// Takes a message of this station.
    pub(crate) fn tell(&mut self, packet: P, bytes: u64) {
        self.messages.push_back((packet, bytes));
    }

    /// Takes a packet of a host of this station, or gives it back: the buffer is full, or it is longer than a bucket is deep.
    pub(crate) fn add(&mut self, now_ns: u64, queue: u16, packet: P, bytes: u64) -> Result<(), P> {
        if self.buffered_bytes + bytes > self.settings.buffer_bytes || bytes > self.settings.bucket_bytes {
            return Err(packet);
        }
        self.buffered_bytes += bytes;
        let waiting = Waiting {
            packet,
            bytes,
            accepted_ns: now_ns,
        };
        let enters_ns = self.shaper_free_ns.max(now_ns);
        if let Some(shaper_bps) = self.settings.shaper_bps {
            self.shaper_free_ns = enters_ns + time_ns(bytes, shaper_bps);
        }
        self.shaped.push_back(Shaped {
            waiting,
            queue,
            enters_ns,
        });
        self.enter(now_ns);
        Ok(())
    }

    /// What the shaper lets go by `now_ns` comes to its add queue.
    fn enter(&mut self, now_ns: u64) {
        while self.shaped.front().is_some_and(|shaped| shaped.enters_ns <= now_ns) {
            let Some(Shaped {
                waiting,
                queue,
                enters_ns,
            }) = self.shaped.pop_front()
            else {
                break;
            };
            self.queues
                .entry(queue)
                .or_insert_with(|| Queue {
                    waiting: VecDeque::new(),
                    first_ns: enters_ns,
                })
                .waiting
                .push_back(waiting);
        }
    }

    /// From when on the first packet of a queue may leave, as far as it depends on limits.
    fn eligible_ns(&self, number: u16, queue: &Queue<P>) -> u64 {
        let Some(first) = queue.waiting.front() else {
            return u64::MAX;
        };
        let limits = self.buckets.iter().filter(|bucket| concerns(bucket.limit, number));
        let ready_ns = limits.map(|bucket| bucket.ready_ns(first.bytes)).max().unwrap_or(0);
        ready_ns.max(queue.first_ns)
    }

    /// The add queue that is to be served, and since when it could be: committed ones first, then in turn.
    fn choose(&self) -> Option<(u64, u16)> {
        let place = |number: u16| {
            let fair = number < FIRST_COMMITTED_QUEUE;
            (fair, number <= self.served, number)
        };
        let eligible = self
            .queues
            .iter()
            .map(|(&number, queue)| (self.eligible_ns(number, queue), number));
        let ready = eligible.clone().filter(|&(at_ns, _)| at_ns <= self.busy_until_ns);
        ready
            .min_by_key(|&(_, number)| place(number))
            .or_else(|| eligible.min())
    }

    /// What leaves at `now_ns`; to be asked again after each packet, and at the time that it says.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Next<P> {
        self.enter(now_ns);
        if now_ns < self.busy_until_ns {
            return Next::At(self.busy_until_ns);
        }
        self.busy_until_ns = now_ns;
        if let Some((packet, bytes)) = self.transit.pop_front() {
            self.transit_bytes -= bytes;
            return self.send(packet, Origin::Transit, bytes);
        }
        if let Some((packet, bytes)) = self.messages.pop_front() {
            return self.send(packet, Origin::Message, bytes);
        }
        let enters_ns = self.shaped.front().map(|shaped| shaped.enters_ns);
        match self.choose() {
            Some((at_ns, number)) if at_ns <= now_ns => self.send_added(now_ns, at_ns, number),
            Some((at_ns, _)) => Next::At(enters_ns.map_or(at_ns, |enters_ns| enters_ns.min(at_ns))),
            None => enters_ns.map_or(Next::Idle, Next::At),
        }
    }

    fn send(&mut self, packet: P, origin: Origin, bytes: u64) -> Next<P> {
        let duration_ns = time_ns(bytes, self.settings.rate_bps);
        self.busy_until_ns += duration_ns;
        Next::Send {
            packet,
            origin,
            duration_ns,
        }
    }

    fn send_added(&mut self, now_ns: u64, eligible_ns: u64, number: u16) -> Next<P> {
        let Some(queue) = self.queues.get_mut(&number) else {
            return Next::Idle;
        };
        let first_ns = queue.first_ns;
        let Some(waiting) = queue.waiting.pop_front() else {
            return Next::Idle;
        };
        queue.first_ns = now_ns;
        if queue.waiting.is_empty() {
            self.queues.remove(&number);
        }
        self.served = number;
        self.buffered_bytes -= waiting.bytes;
        self.report.hol_delay_ns = self.report.hol_delay_ns.max(now_ns - eligible_ns);
        if number < FIRST_COMMITTED_QUEUE {
            self.report.added_bytes += waiting.bytes;
        } else {
            self.report.committed_bytes += waiting.bytes;
        }
        let depth = self.settings.bucket_bytes * NS_PER_S;
        for bucket in self.buckets.iter_mut().filter(|bucket| concerns(bucket.limit, number)) {
            bucket.level = bucket.level_at(now_ns, depth) - waiting.bytes * NS_PER_S;
            bucket.at_ns = now_ns;
        }
        let origin = Origin::Added {
            queue: number,
            accepted_ns: waiting.accepted_ns,
            first_ns,
        };
        self.send(waiting.packet, origin, waiting.bytes)
    }

    /// Obeys P4: these limits hold from now on, and no others. A bucket stays as full as it is if its limit only changes its
    /// rate; one that was not there is full.
    pub(crate) fn set_limits(&mut self, now_ns: u64, limits: &[AddLimit]) {
        let depth = self.settings.bucket_bytes * NS_PER_S;
        let old = std::mem::take(&mut self.buckets);
        for &limit in limits.iter().filter(|limit| limit.rate != NO_LIMIT) {
            let same = old.iter().find(|bucket| bucket.limit.hops == limit.hops);
            self.buckets.push(Bucket {
                limit,
                level: same.map_or(depth, |bucket| bucket.level_at(now_ns, depth)),
                at_ns: now_ns,
            });
        }
    }

    /// An interval has ended.
    pub(crate) fn end_interval(&mut self, now_ns: u64) -> Report {
        self.enter(now_ns);
        let held = self
            .queues
            .iter()
            .map(|(&number, queue)| now_ns.saturating_sub(self.eligible_ns(number, queue)));
        let longest = held.max().unwrap_or(0);
        let report = Report {
            hol_delay_ns: self.report.hol_delay_ns.max(longest),
            ..self.report
        };
        self.report.hol_delay_ns = 0;
        report
    }

    /// Bytes of hosts' packets that wait, in the shaper and the add queues.
    pub(crate) fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    /// Most bytes that the insertion buffer ever held.
    pub(crate) fn most_transit_bytes(&self) -> u64 {
        self.most_transit_bytes
    }
}

/// Whether a limit is about an add queue.
fn concerns(limit: AddLimit, queue: u16) -> bool {
    queue < FIRST_COMMITTED_QUEUE && queue & 0xff > u16::from(limit.hops)
}

fn time_ns(bytes: u64, rate_bps: u64) -> u64 {
    (bytes * 8 * NS_PER_S).div_ceil(rate_bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Gb/s: a byte a nanosecond.
    const SETTINGS: Settings = Settings {
        rate_bps: 8_000_000_000,
        bucket_bytes: 3000,
        buffer_bytes: 100_000,
        shaper_bps: None,
    };
    const MS: u64 = 1_000_000;

    fn card() -> TransitFirst<&'static str> {
        TransitFirst::new(SETTINGS)
    }

    /// What leaves until `end_ns`, with its time.
    fn run(card: &mut TransitFirst<&'static str>, mut now_ns: u64, end_ns: u64) -> Vec<(u64, &'static str)> {
        let mut sent = Vec::new();
        while now_ns <= end_ns {
            match card.poll(now_ns) {
                Next::Send { packet, .. } => sent.push((now_ns, packet)),
                Next::At(at_ns) => {
                    assert!(at_ns > now_ns, "no progress at {now_ns}");
                    now_ns = at_ns;
                }
                Next::Idle => break,
            }
        }
        sent
    }

    #[test]
    fn transit_goes_first_then_messages_then_committed_then_fair() {
        let mut card = card();
        card.add(0, 3, "fair", 100).unwrap();
        card.add(0, 512 + 3, "committed", 100).unwrap();
        card.tell("message", 64);
        card.pass_on("transit", 1000);
        let sent = run(&mut card, 0, MS);
        assert_eq!(
            sent,
            [(0, "transit"), (1000, "message"), (1064, "committed"), (1164, "fair")]
        );
    }

    #[test]
    fn a_packet_that_has_begun_ends_before_transit() {
        let mut card = card();
        card.add(0, 3, "fair", 1500).unwrap();
        assert!(matches!(
            card.poll(0),
            Next::Send {
                packet: "fair",
                duration_ns: 1500,
                ..
            }
        ));
        card.pass_on("transit", 100);
        assert_eq!(card.poll(700), Next::At(1500));
        assert!(matches!(card.poll(1500), Next::Send { packet: "transit", .. }));
    }

    #[test]
    fn queues_take_turns() {
        let mut card = card();
        for _ in 0..3 {
            card.add(0, 1, "a", 100).unwrap();
            card.add(0, 4, "b", 100).unwrap();
        }
        let names: String = run(&mut card, 0, MS).iter().map(|(_, name)| *name).collect();
        assert_eq!(names, "ababab");
    }

    #[test]
    fn a_limit_lets_a_bucket_go_and_then_its_rate() {
        let mut card = card();
        card.set_limits(
            0,
            &[AddLimit {
                hops: 0,
                rate: 1_000_000,
            }],
        );
        for _ in 0..5 {
            card.add(0, 3, "x", 1000).unwrap();
        }
        let times: Vec<u64> = run(&mut card, 0, 10 * MS).iter().map(|(at_ns, _)| *at_ns).collect();
        // 1000 bytes at a byte a microsecond.
        assert_eq!(times, [0, 1000, 2000, MS, 2 * MS]);
    }

    #[test]
    fn a_limit_is_about_what_goes_further_and_is_fair() {
        let mut card = card();
        card.set_limits(0, &[AddLimit { hops: 2, rate: 0 }]);
        for queue in [2, 3, 256 + 3, 512 + 3] {
            for _ in 0..4 {
                card.add(
                    0,
                    queue,
                    if queue == 2 {
                        "near"
                    } else if queue > 511 {
                        "committed"
                    } else {
                        "far"
                    },
                    1000,
                )
                .unwrap();
            }
        }
        let sent = run(&mut card, 0, MS);
        let count = |name| sent.iter().filter(|(_, sent)| *sent == name).count();
        assert_eq!(
            (count("near"), count("committed"), count("far")),
            (4, 4, 3),
            "a bucket of three for all that goes far"
        );
        assert_eq!(card.poll(2 * MS), Next::At(u64::MAX));
    }

    #[test]
    fn what_is_limited_further_on_leaves_the_rest_to_what_goes_less_far() {
        let mut card = card();
        let limits = [
            AddLimit {
                hops: 0,
                rate: 4_000_000,
            },
            AddLimit {
                hops: 3,
                rate: 1_000_000,
            },
        ];
        card.set_limits(0, &limits);
        let mut now_ns = 0;
        let mut bytes = BTreeMap::<&str, u64>::new();
        while now_ns < 100 * MS {
            for (queue, name) in [(1, "near"), (4, "far")] {
                if !card.queues.contains_key(&queue) {
                    card.add(now_ns, queue, name, 1000).unwrap();
                }
            }
            match card.poll(now_ns) {
                Next::Send { packet, .. } => *bytes.entry(packet).or_default() += 1000,
                Next::At(at_ns) => now_ns = at_ns,
                Next::Idle => unreachable!("there is always something"),
            }
        }
        // In 100 ms: 400,000 bytes, of which 100,000 far; and a bucket of each.
        assert!((99_000..=103_000).contains(&bytes["far"]), "{bytes:?}");
        assert!((297_000..=303_000).contains(&bytes["near"]), "{bytes:?}");
    }

    #[test]
    fn a_change_of_rate_does_not_fill_the_bucket() {
        let mut card = card();
        card.set_limits(
            0,
            &[AddLimit {
                hops: 0,
                rate: 1_000_000,
            }],
        );
        for _ in 0..3 {
            card.add(0, 3, "x", 1000).unwrap();
        }
        assert_eq!(run(&mut card, 0, 5000).len(), 3);
        for now_ns in [5000, 6000] {
            card.set_limits(
                now_ns,
                &[AddLimit {
                    hops: 0,
                    rate: 2_000_000,
                }],
            );
        }
        card.add(6000, 3, "x", 1000).unwrap();
        let Next::At(at_ns) = card.poll(6000) else {
            panic!("it is not held back")
        };
        assert!((500_000..504_000).contains(&at_ns), "{at_ns}");
        card.set_limits(
            6000,
            &[AddLimit {
                hops: 0,
                rate: NO_LIMIT,
            }],
        );
        assert!(matches!(card.poll(6000), Next::Send { .. }));
    }

    #[test]
    fn the_shaper_is_one_packet_deep_and_its_buffer_has_an_end() {
        let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
            shaper_bps: Some(8_000_000),
            buffer_bytes: 3000,
            ..SETTINGS
        });
        for _ in 0..3 {
            card.add(0, 3, "x", 1000).unwrap();
        }
        assert_eq!(card.add(0, 3, "x", 1), Err("x"));
        let times: Vec<u64> = run(&mut card, 0, 10 * MS).iter().map(|(at_ns, _)| *at_ns).collect();
        assert_eq!(times, [0, MS, 2 * MS]);
        assert_eq!(card.buffered_bytes(), 0);
        assert_eq!(
            card.add(0, 3, "long", 3001),
            Err("long"),
            "no bucket would ever let it go"
        );
    }

    #[test]
    fn being_held_back_counts_from_when_limits_would_have_let_it_go() {
        let mut card = card();
        card.set_limits(
            0,
            &[AddLimit {
                hops: 0,
                rate: 1_000_000,
            }],
        );
        for _ in 0..4 {
            card.add(0, 3, "x", 1000).unwrap();
        }
        assert_eq!(run(&mut card, 0, 3000).len(), 3);
        let report = card.end_interval(4000);
        assert_eq!(
            (report.hol_delay_ns, report.added_bytes),
            (1000, 3000),
            "of the packet before it"
        );
        // The fourth may go at 1 ms; the link is busy with transit until 1.2 ms.
        card.pass_on("transit", 1_200_000 - 4000);
        assert!(matches!(card.poll(4000), Next::Send { packet: "transit", .. }));
        assert_eq!(card.end_interval(MS + 100_000).hol_delay_ns, 100_000);
        assert!(matches!(card.poll(1_200_000), Next::Send { packet: "x", .. }));
        assert_eq!(card.end_interval(1_300_000).hol_delay_ns, 200_000);
        assert_eq!(card.end_interval(1_400_000).hol_delay_ns, 0);
    }

    #[test]
    fn the_insertion_buffer_holds_what_came_while_a_packet_was_added() {
        let mut card = card();
        let mut next_ns = 0;
        for now_ns in 0..100_000u64 {
            if now_ns % 500 == 0 {
                // Transit as fast as the link carries it.
                card.pass_on("transit", 500);
            }
            if now_ns % 7000 == 0 {
                card.add(now_ns, 3, "x", 1500).unwrap();
            }
            if now_ns >= next_ns {
                next_ns = match card.poll(now_ns) {
                    Next::Send { duration_ns, .. } => now_ns + duration_ns,
                    Next::At(at_ns) => at_ns,
                    Next::Idle => now_ns + 1,
                };
            }
        }
        assert!(card.most_transit_bytes() <= 2 * 1500, "{}", card.most_transit_bytes());
    }
}
