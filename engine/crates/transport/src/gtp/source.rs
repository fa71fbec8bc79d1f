// SPDX-License-Identifier: Apache-2.0
//! The sending end of a session.

use slotwise_lambda::Steps;
use slotwise_units::{Bytes, Duration, FineInstant, Instant, Rate};

use super::OVERHEAD;
use super::message::{Data, Grant, LossList, Message, Request};
use super::table::Account;
use crate::content::Source;
use crate::ranges::RangeSet;

/// A grant that is said to hold longer holds so long.
const MAX_LIFETIME: Duration = Duration::from_s(60);
/// A grant holds for so many intervals of its sink; afterwards the rate halves each interval.
pub(super) const LIFETIME_INTERVALS: u64 = 3;

/// What a source has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Offer {
    /// Length; `None`: without end.
    pub length: Option<Bytes>,
    /// Most that it can send, of IP packets; `None`: as much as it may.
    pub limit: Option<Rate>,
    /// How fast it rises at its host; `None`: as the host's sessions do.
    pub steps: Option<Steps>,
    /// It begins as if both hosts had granted this for ever, of IP packets; 0: at nothing, until they have. Said at the sink, too ([`super::SinkConfig`]).
    pub begin: Rate,
}

/// What a source did. Data is payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceStats {
    /// Data messages.
    pub packets: u64,
    /// Sent, without what was sent again.
    pub bytes: Bytes,
    /// Sent, as IP packets.
    pub packet_bytes: Bytes,
    /// Data messages that were sent again since they were listed as lost, or to learn what was lost at the end.
    pub retransmissions: u64,
    /// What the sink granted last; 0 before the first grant.
    pub sink_granted: Rate,
    /// What the own host granted last.
    pub own_granted: Rate,
    /// Times that the sink's grant was too old when a packet was sent.
    pub expired: u64,
}

/// The sink's last grant.
#[derive(Clone, Copy, Debug)]
struct Heard {
    grant: Grant,
    at: Instant,
}

impl Heard {
    /// What it still is worth: half as much for each interval that began after it expired.
    fn rate(&self, now: Instant) -> Rate {
        let age = now.saturating_since(self.at);
        let over = age.saturating_sub(self.grant.lifetime);
        if over.is_zero() {
            return self.grant.rate;
        }
        let halvings = 1 + over / (self.grant.lifetime / LIFETIME_INTERVALS).max(Duration::from_ns(1));
        let bps = u32::try_from(halvings).map_or(0, |by| self.grant.rate.bps().checked_shr(by).unwrap_or(0));
        Rate::from_bps(bps)
    }
}

/// A session at its source.
#[derive(Clone, Debug)]
pub(super) struct SourceSession<S> {
    content: S,
    offer: Offer,
    request: Option<Request>,
    heard: Option<Heard>,
    pub(super) account: Account,
    /// The next block that was never sent.
    next_block: u64,
    /// Blocks to be sent again.
    again: RangeSet,
    sequence: u64,
    /// When the last packet should have left, so fine that departures do not drift, and the size of its IP packet.
    last: Option<(FineInstant, Bytes)>,
    /// An End is to be answered.
    answers_end: bool,
    is_over: bool,
    stats: SourceStats,
    /// When the host has it scheduled.
    pub(super) due: Option<Instant>,
}

impl<S: Source> SourceSession<S> {
    pub(super) fn new(offer: Offer, content: S) -> Self {
        SourceSession {
            content,
            offer,
            request: None,
            heard: None,
            account: Account::new(offer.steps, offer.begin),
            next_block: 0,
            again: RangeSet::default(),
            sequence: 0,
            last: None,
            answers_end: false,
            is_over: false,
            stats: SourceStats::default(),
            due: None,
        }
    }

    /// Whether it counts among the sessions of its host.
    pub(super) fn is_active(&self) -> bool {
        self.request.is_some() && !self.is_over
    }

    pub(super) fn stats(&self) -> SourceStats {
        SourceStats {
            sink_granted: self.heard.map_or(Rate::ZERO, |heard| heard.grant.rate),
            own_granted: self.account.granted,
            ..self.stats
        }
    }

    /// A sink asks; false if it cannot have that. The first request counts.
    pub(super) fn on_request(&mut self, now: Instant, request: Request, most_block_bytes: u64) -> bool {
        let end = request.offset + request.length.get();
        let is_there = self.offer.length.is_none_or(|length| {
            // Nothing is asked for by nobody: an empty range has no last byte to say that it is over.
            end <= length.get() && request.offset < length.get()
        });
        if !is_there || u64::from(request.block_bytes) > most_block_bytes {
            return false;
        }
        match self.request {
            Some(earlier) => earlier == request,
            None => {
                self.request = Some(request);
                self.heard = (self.offer.begin > Rate::ZERO).then_some(Heard {
                    grant: Grant {
                        number: 0,
                        rate: self.offer.begin,
                        lifetime: MAX_LIFETIME,
                    },
                    at: now,
                });
                true
            }
        }
    }

    /// False if it is not newer than the last one.
    pub(super) fn on_grant(&mut self, now: Instant, grant: Grant) -> bool {
        if self.heard.is_some_and(|heard| grant.number <= heard.grant.number) {
            return false;
        }
        let grant = Grant {
            lifetime: grant.lifetime.min(MAX_LIFETIME),
            ..grant
        };
        self.heard = Some(Heard { grant, at: now });
        true
    }

    /// Takes what is listed and was sent; false if a block is named that never was.
    pub(super) fn on_losses(&mut self, list: &LossList) -> bool {
        if list.blocks().any(|block| block >= self.next_block) {
            return false;
        }
        for block in list.blocks() {
            // What finds no room will be listed again.
            self.again.insert(block..block + 1);
        }
        true
    }

    pub(super) fn on_end(&mut self) {
        self.is_over = true;
        self.answers_end = true;
        self.again.clear();
    }

    /// Length of all that is to be sent.
    fn length(&self) -> Option<Bytes> {
        let request = self.request?;
        match request.length {
            Bytes::ZERO => self.offer.length.map(|length| length - Bytes::new(request.offset)),
            length => Some(length),
        }
    }

    fn blocks(&self) -> u64 {
        let block = Bytes::new(self.request.map_or(1, |request| request.block_bytes.into()));
        self.length().map_or(u64::MAX, |length| length.div_ceil(block))
    }

    /// The rate of IP packets at which it may send.
    pub(super) fn rate(&self, now: Instant) -> Rate {
        let (Some(request), Some(heard), false) = (self.request, self.heard, self.is_over) else {
            return Rate::ZERO;
        };
        let wanted = match request.wanted {
            Rate::ZERO => Rate::MAX,
            wanted => wanted,
        };
        heard
            .rate(now)
            .min(self.account.granted)
            .min(wanted)
            .min(self.offer.limit.unwrap_or(Rate::MAX))
    }

    /// When the next packet may leave; `None` as long as nothing is granted. `interval` is how long it waits to say the last thing again.
    pub(super) fn next(&self, now: Instant, interval: Duration) -> Option<Instant> {
        let rate = self.rate(now);
        if rate == Rate::ZERO {
            return None;
        }
        let Some(due) = self.due(rate) else {
            return Some(now);
        };
        let due = due.rounded_up();
        let has_said_all = self.again.is_empty() && self.next_block >= self.blocks();
        Some(match (has_said_all, self.last) {
            (true, Some((last, _))) => due.max(last.rounded_down() + interval),
            _ => due,
        })
    }

    /// End of the last packet at this rate; `None` before the first.
    fn due(&self, rate: Rate) -> Option<FineInstant> {
        let (last, bytes) = self.last?;
        Some(last.after(rate, bytes))
    }

    /// Appends what is to be sent now; false if nothing is. Times are the host's interval, and how far it may be behind and make up for it.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        (session, (interval, catch_up)): (u32, (Duration, Duration)),
        out: &mut Vec<u8>,
    ) -> bool {
        if std::mem::take(&mut self.answers_end) {
            let received = Bytes::ZERO;
            Message::End { received }.encode(session, out);
            return true;
        }
        if self.next(now, interval).is_none_or(|due| due > now) {
            return false;
        }
        let (Some(request), Some(heard)) = (self.request, self.heard) else {
            return false;
        };
        let blocks = self.blocks();
        let is_new = self.again.is_empty() && self.next_block < blocks;
        let block = match self.again.pop_first() {
            Some(block) => block,
            None if is_new => {
                self.next_block += 1;
                self.next_block - 1
            }
            // All was said; the last block says so again, and shows what is missing before it.
            None => blocks - 1,
        };
        let block_bytes = u64::from(request.block_bytes);
        let at = block * block_bytes;
        let bytes = self
            .length()
            .map_or(block_bytes, |length| block_bytes.min(length.get() - at));
        let data = Data {
            grant: heard.grant.number,
            sequence: self.sequence,
            offset: request.offset + at,
        };
        let packet = Bytes::new(bytes) + OVERHEAD;
        // The header first, then the payload in its place.
        Message::Data(data, &[]).encode(session, out);
        let header = out.len();
        out.resize(header + bytes as usize, 0);
        self.content.read(data.offset, &mut out[header..]);

        let earliest = FineInstant::of(now.saturating_sub(catch_up));
        let due = self.due(self.rate(now));
        let left = due.map_or(FineInstant::of(now), |due| due.max(earliest));
        self.last = Some((left, packet));
        self.sequence += 1;
        self.account.count(now, packet);
        self.stats.packets += 1;
        self.stats.packet_bytes += packet;
        self.stats.expired += u64::from(heard.rate(now) < heard.grant.rate);
        match is_new {
            true => self.stats.bytes += Bytes::new(bytes),
            false => self.stats.retransmissions += 1,
        }
        true
    }

    /// Whether an answer waits.
    pub(super) fn answers(&self) -> bool {
        self.answers_end
    }
}
