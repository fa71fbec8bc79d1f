// SPDX-License-Identifier: Apache-2.0
//! The receiving end of a session.

use std::collections::VecDeque;
use std::ops::Range;

use slotwise_lambda::Steps;
use slotwise_units::{Bytes, Duration, Instant, Rate};

use super::OVERHEAD;
use super::message::{Data, Grant, LossList, MAX_BITMAP_BYTES, Message, Request};
use super::source::LIFETIME_INTERVALS;
use super::table::Account;
use crate::content::Sink;
use crate::ranges::RangeSet;

/// Packets in a row that may be missing: 1 s at 12.6 Gb/s. More is no gap but a mistake, or a forged packet.
const MAX_GAP: u64 = 1 << 20;
/// Blocks that one loss list can name.
const LIST_BLOCKS: u64 = 8 * MAX_BITMAP_BYTES as u64;
/// Loss lists sent at once.
const MAX_LISTS: usize = 8;
/// Grants whose answer is awaited.
const MAX_GRANTS: usize = 64;
/// Times that an end is said without an answer.
const ENDS: u32 = 16;

/// What a sink asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SinkConfig {
    /// The request.
    pub request: Request,
    /// How fast it rises at its host; `None`: as the host's sessions do.
    pub steps: Option<Steps>,
    /// It begins as if its host had granted this for ever, of IP packets; 0: at nothing. Said at the source, too ([`super::Offer`]).
    pub begin: Rate,
}

/// What a sink saw. Data is payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkStats {
    /// Data messages, those that came twice included.
    pub packets: u64,
    /// Received, as IP packets.
    pub packet_bytes: Bytes,
    /// Received, each byte once.
    pub received: Bytes,
    /// Received before the first gap.
    pub in_order: Bytes,
    /// Packets known to be lost, by their sequence numbers; those that came late included.
    pub lost_packets: u64,
    /// Packets that came after one that was sent later.
    pub late_packets: u64,
    /// Packets whose bytes were there.
    pub duplicates: u64,
    /// Loss lists sent.
    pub lists: u64,
    /// Data that was not asked for, or of a sequence that cannot be.
    pub refused: u64,
    /// Last time from a grant to the first packet sent under it.
    pub rtt: Option<Duration>,
    /// What the host granted last.
    pub granted: Rate,
    /// Whether it wants more.
    pub is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It wants more.
    Open,
    /// It has all, or wants no more, and says so so many times more.
    Ending(u32),
    Over,
}

/// A session at its sink.
#[derive(Clone, Debug)]
pub(super) struct SinkSession<K> {
    content: K,
    config: SinkConfig,
    pub(super) account: Account,
    state: State,
    /// One more than the highest that came.
    next_sequence: u64,
    received: RangeSet,
    /// Blocks listed in the last list, which are not listed in the next: what was sent again is on its way.
    listed: RangeSet,
    listed_at: Option<Instant>,
    /// (first block, bitmap) to be sent.
    lists: VecDeque<(u64, Vec<u8>)>,
    /// Number of the last grant, and the times of those that no packet has named yet.
    grant: u32,
    granted_at: VecDeque<(u32, Instant)>,
    says_request: bool,
    says_grant: bool,
    says_end: bool,
    stats: SinkStats,
}

impl<K: Sink> SinkSession<K> {
    pub(super) fn new(config: SinkConfig, content: K) -> Self {
        SinkSession {
            content,
            config,
            account: Account::new(config.steps, config.begin),
            state: State::Open,
            next_sequence: 0,
            received: RangeSet::default(),
            listed: RangeSet::default(),
            listed_at: None,
            lists: VecDeque::new(),
            grant: 0,
            granted_at: VecDeque::new(),
            says_request: true,
            says_grant: false,
            says_end: false,
            stats: SinkStats::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn content(&self) -> &K {
        &self.content
    }

    pub(super) fn stats(&self) -> SinkStats {
        let first = self.received.containing(0);
        let in_order = first.map_or(Bytes::ZERO, |range| Bytes::new(range.end * self.block_bytes()));
        SinkStats {
            in_order: self.length().map_or(in_order, |length| in_order.min(length)),
            granted: self.account.granted,
            is_open: self.is_open(),
            ..self.stats
        }
    }

    fn block_bytes(&self) -> u64 {
        self.config.request.block_bytes.into()
    }

    fn length(&self) -> Option<Bytes> {
        Some(self.config.request.length).filter(|length| !length.is_zero())
    }

    /// The block that a data message is, whole; `None` if it is none that was asked for.
    fn block(&self, data: &Data, payload: &[u8]) -> Option<u64> {
        let at = data.offset.checked_sub(self.config.request.offset)?;
        let block = at / self.block_bytes();
        let bytes = match self.length() {
            Some(length) => length.get().checked_sub(at)?.min(self.block_bytes()),
            None => self.block_bytes(),
        };
        let is_whole = at % self.block_bytes() == 0 && bytes == payload.len() as u64;
        let seen = self.received.last_end().unwrap_or(0);
        (is_whole && block < seen.saturating_add(MAX_GAP)).then_some(block)
    }

    /// Takes data; true if all has come with it.
    pub(super) fn on_data(&mut self, now: Instant, data: &Data, payload: &[u8]) -> bool {
        // What is still under way at the end; the source hears of it once an interval, not once a packet.
        if self.state != State::Open {
            return false;
        }
        let gap = data.sequence.checked_sub(self.next_sequence);
        let block = self.block(data, payload);
        let (Some(block), true) = (block, gap.is_none_or(|gap| gap <= MAX_GAP)) else {
            self.stats.refused += 1;
            return false;
        };
        let packet = Bytes::of(payload.len()) + OVERHEAD;
        match gap {
            // It was counted when it was missed.
            None => self.stats.late_packets += 1,
            Some(gap) => {
                self.next_sequence = data.sequence + 1;
                self.stats.lost_packets += gap;
                // A loss must not look like a slow source (VI.2.A).
                let lost = gap * (Bytes::new(self.block_bytes()) + OVERHEAD);
                self.account.count(now, packet + lost);
            }
        }
        self.stats.packets += 1;
        self.stats.packet_bytes += packet;
        self.note_answer(now, data.grant);
        if self.received.containing(block).is_some() {
            self.stats.duplicates += 1;
            return false;
        }
        // What finds no room counts as lost and comes again.
        if self.received.insert(block..block + 1) {
            self.stats.received += Bytes::of(payload.len());
            self.content.write(data.offset, payload);
        }
        let has_all = self.length() == Some(self.stats.received);
        if has_all {
            self.end();
        }
        has_all
    }

    /// Data that names a grant shows how long the way there and back is.
    fn note_answer(&mut self, now: Instant, grant: u32) {
        while let Some(&(number, at)) = self.granted_at.front()
            && number <= grant
        {
            self.granted_at.pop_front();
            if number == grant {
                self.stats.rtt = Some(now.saturating_since(at));
            }
        }
    }

    /// It wants no more.
    pub(super) fn end(&mut self) {
        if self.state == State::Open {
            self.state = State::Ending(ENDS);
            self.says_end = true;
            self.says_grant = false;
            self.says_request = false;
            self.lists.clear();
        }
    }

    /// The source has heard that it is over.
    pub(super) fn on_end(&mut self) {
        if matches!(self.state, State::Ending(_)) {
            self.state = State::Over;
            self.says_end = false;
        }
    }

    /// An interval is over, and the host has calculated.
    pub(super) fn tick(&mut self, now: Instant, interval: Duration) {
        match self.state {
            State::Open => {
                self.says_request = self.stats.packets == 0;
                self.says_grant = true;
                let rtt = self.stats.rtt.unwrap_or_default();
                let since = self.listed_at.map(|at| now.saturating_since(at));
                if since.is_none_or(|since| since >= rtt.max(interval)) {
                    self.list_losses(now);
                }
            }
            State::Ending(0) => self.state = State::Over,
            State::Ending(left) => {
                self.state = State::Ending(left - 1);
                self.says_end = true;
            }
            State::Over => {}
        }
    }

    fn list_losses(&mut self, now: Instant) {
        let window = 0..self.received.last_end().unwrap_or(0);
        let missing: Vec<Range<u64>> = self
            .received
            .gaps(window)
            .flat_map(|gap| self.listed.gaps(gap).collect::<Vec<_>>())
            .collect();
        self.listed.clear();
        self.lists.clear();
        for block in missing.into_iter().flatten() {
            let is_full = |(first, _): &(u64, Vec<u8>)| block - first >= LIST_BLOCKS;
            if self.lists.back().is_none_or(is_full) {
                if self.lists.len() == MAX_LISTS {
                    break;
                }
                self.lists.push_back((block, Vec::new()));
            }
            let Some((first, bitmap)) = self.lists.back_mut() else {
                break;
            };
            let at = (block - *first) as usize;
            bitmap.resize(bitmap.len().max(at / 8 + 1), 0xff);
            bitmap[at / 8] &= !(0x80 >> (at % 8));
            self.listed.insert(block..block + 1);
        }
        if !self.lists.is_empty() {
            self.listed_at = Some(now);
        }
    }

    /// Whether there is something to say.
    pub(super) fn has_news(&self) -> bool {
        self.says_request || self.says_grant || self.says_end || !self.lists.is_empty()
    }

    /// Appends the next message; false if there is none.
    pub(super) fn transmit(&mut self, now: Instant, (session, interval): (u32, Duration), out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.says_end) {
            let received = self.stats.received;
            Message::End { received }.encode(session, out);
        } else if std::mem::take(&mut self.says_request) {
            Message::Request(self.config.request).encode(session, out);
        } else if std::mem::take(&mut self.says_grant) {
            self.grant = self.grant.saturating_add(1);
            if self.granted_at.len() == MAX_GRANTS {
                self.granted_at.pop_front();
            }
            self.granted_at.push_back((self.grant, now));
            let grant = Grant {
                number: self.grant,
                rate: self.account.granted,
                lifetime: interval.saturating_mul(LIFETIME_INTERVALS),
            };
            Message::Grant(grant).encode(session, out);
        } else if let Some((first, bitmap)) = self.lists.pop_front() {
            self.stats.lists += 1;
            Message::Losses(LossList { first, bitmap: &bitmap }).encode(session, out);
        } else {
            return false;
        }
        true
    }
}
