// SPDX-License-Identifier: Apache-2.0
//! The sending end of a session.

use slotwise_lambda::Steps;

use super::OVERHEAD_BYTES;
use super::message::{Data, Grant, LossList, Message, Request};
use super::table::Account;
use crate::content::Source;
use crate::ranges::RangeSet;

/// Parts of a nanosecond in which departures are kept, so that they do not drift.
const PARTS: u128 = 1 << 16;
/// A grant that is said to hold longer holds so long.
const MAX_LIFETIME_NS: u64 = 60_000_000_000;
/// A grant holds for so many intervals of its sink; afterwards the rate halves each interval.
pub(super) const LIFETIME_INTERVALS: u64 = 3;

/// What a source has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Offer {
    /// Bytes; `None`: without end.
    pub length: Option<u64>,
    /// Most that it can send, b/s of IP packets; `None`: as much as it may.
    pub limit_bps: Option<u64>,
    /// How fast it rises at its host; `None`: as the host's sessions do.
    pub steps: Option<Steps>,
    /// It begins as if both hosts had granted this for ever, IP b/s; 0: at nothing, until they have. Said at the sink, too ([`super::SinkConfig`]).
    pub begin_bps: u64,
}

/// What a source did. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceStats {
    /// Data messages.
    pub packets: u64,
    /// Bytes, those sent again not counted.
    pub bytes: u64,
    /// Bytes of IP packets.
    pub packet_bytes: u64,
    /// Data messages that were sent again since they were listed as lost, or to learn what was lost at the end.
    pub retransmissions: u64,
    /// What the sink granted last, b/s; 0 before the first grant.
    pub sink_bps: u64,
    /// What the own host granted last, b/s.
    pub own_bps: u64,
    /// Times that the sink's grant was too old when a packet was sent.
    pub expired: u64,
}

/// The sink's last grant.
#[derive(Clone, Copy, Debug)]
struct Heard {
    grant: Grant,
    at_ns: u64,
}

impl Heard {
    /// What it still is worth: half as much for each interval that began after it expired.
    fn rate_bps(&self, now_ns: u64) -> u64 {
        let age_ns = now_ns.saturating_sub(self.at_ns);
        let over_ns = age_ns.saturating_sub(self.grant.lifetime_ns);
        if over_ns == 0 {
            return self.grant.rate_bps;
        }
        let halvings = 1 + over_ns / (self.grant.lifetime_ns / LIFETIME_INTERVALS).max(1);
        u32::try_from(halvings).map_or(0, |by| self.grant.rate_bps.checked_shr(by).unwrap_or(0))
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
    /// When the last packet should have left, in parts of a nanosecond, and its IP bytes.
    last: Option<(u128, u64)>,
    /// An End is to be answered.
    answers_end: bool,
    is_over: bool,
    stats: SourceStats,
    /// When the host has it scheduled.
    pub(super) due_ns: Option<u64>,
}

impl<S: Source> SourceSession<S> {
    pub(super) fn new(offer: Offer, content: S) -> Self {
        SourceSession {
            content,
            offer,
            request: None,
            heard: None,
            account: Account::new(offer.steps, offer.begin_bps),
            next_block: 0,
            again: RangeSet::default(),
            sequence: 0,
            last: None,
            answers_end: false,
            is_over: false,
            stats: SourceStats::default(),
            due_ns: None,
        }
    }

    /// Whether it counts among the sessions of its host.
    pub(super) fn is_active(&self) -> bool {
        self.request.is_some() && !self.is_over
    }

    pub(super) fn stats(&self) -> SourceStats {
        SourceStats {
            sink_bps: self.heard.map_or(0, |heard| heard.grant.rate_bps),
            own_bps: self.account.granted_bps,
            ..self.stats
        }
    }

    /// A sink asks; false if it cannot have that. The first request counts.
    pub(super) fn on_request(&mut self, now_ns: u64, request: Request, most_block_bytes: u64) -> bool {
        let end = request.offset + request.length;
        let is_there = self.offer.length.is_none_or(|length| {
            // Nothing is asked for by nobody: an empty range has no last byte to say that it is over.
            end <= length && request.offset < length
        });
        if !is_there || u64::from(request.block_bytes) > most_block_bytes {
            return false;
        }
        match self.request {
            Some(earlier) => earlier == request,
            None => {
                self.request = Some(request);
                self.heard = (self.offer.begin_bps > 0).then_some(Heard {
                    grant: Grant {
                        number: 0,
                        rate_bps: self.offer.begin_bps,
                        lifetime_ns: MAX_LIFETIME_NS,
                    },
                    at_ns: now_ns,
                });
                true
            }
        }
    }

    /// False if it is not newer than the last one.
    pub(super) fn on_grant(&mut self, now_ns: u64, grant: Grant) -> bool {
        if self.heard.is_some_and(|heard| grant.number <= heard.grant.number) {
            return false;
        }
        let grant = Grant {
            lifetime_ns: grant.lifetime_ns.min(MAX_LIFETIME_NS),
            ..grant
        };
        self.heard = Some(Heard { grant, at_ns: now_ns });
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

    /// Bytes to be sent in all.
    fn length(&self) -> Option<u64> {
        let request = self.request?;
        match request.length {
            0 => self.offer.length.map(|length| length - request.offset),
            length => Some(length),
        }
    }

    fn blocks(&self) -> u64 {
        let block_bytes = self.request.map_or(1, |request| u64::from(request.block_bytes));
        self.length().map_or(u64::MAX, |length| length.div_ceil(block_bytes))
    }

    /// b/s of IP packets at which it may send.
    pub(super) fn rate_bps(&self, now_ns: u64) -> u64 {
        let (Some(request), Some(heard), false) = (self.request, self.heard, self.is_over) else {
            return 0;
        };
        let wanted_bps = match request.wanted_bps {
            0 => u64::MAX,
            wanted_bps => wanted_bps,
        };
        heard
            .rate_bps(now_ns)
            .min(self.account.granted_bps)
            .min(wanted_bps)
            .min(self.offer.limit_bps.unwrap_or(u64::MAX))
    }

    /// When the next packet may leave; `None` as long as nothing is granted. `interval_ns` is how long it waits to say the last thing again.
    pub(super) fn next_ns(&self, now_ns: u64, interval_ns: u64) -> Option<u64> {
        let rate_bps = self.rate_bps(now_ns);
        if rate_bps == 0 {
            return None;
        }
        let Some(due) = self.due(rate_bps) else {
            return Some(now_ns);
        };
        let due_ns = due.div_ceil(PARTS) as u64;
        let has_said_all = self.again.is_empty() && self.next_block >= self.blocks();
        Some(match (has_said_all, self.last) {
            (true, Some((last, _))) => due_ns.max((last / PARTS) as u64 + interval_ns),
            _ => due_ns,
        })
    }

    /// In parts of a nanosecond; `None` before the first packet.
    fn due(&self, rate_bps: u64) -> Option<u128> {
        let (last, bytes) = self.last?;
        Some(last + u128::from(bytes) * 8_000_000_000 * PARTS / u128::from(rate_bps))
    }

    /// Appends what is to be sent now; false if nothing is. Times are the host's interval, and how far it may be behind and make up for it.
    pub(super) fn transmit(
        &mut self,
        now_ns: u64,
        (session, (interval_ns, catch_up_ns)): (u32, (u64, u64)),
        out: &mut Vec<u8>,
    ) -> bool {
        if std::mem::take(&mut self.answers_end) {
            let received_bytes = 0;
            Message::End { received_bytes }.encode(session, out);
            return true;
        }
        if self.next_ns(now_ns, interval_ns).is_none_or(|due_ns| due_ns > now_ns) {
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
        let bytes = self.length().map_or(block_bytes, |length| block_bytes.min(length - at));
        let data = Data {
            grant: heard.grant.number,
            sequence: self.sequence,
            offset: request.offset + at,
        };
        let packet_bytes = bytes + OVERHEAD_BYTES;
        // The header first, then the payload in its place.
        Message::Data(data, &[]).encode(session, out);
        let header = out.len();
        out.resize(header + bytes as usize, 0);
        self.content.read(data.offset, &mut out[header..]);

        let earliest = u128::from(now_ns.saturating_sub(catch_up_ns)) * PARTS;
        let due = self.due(self.rate_bps(now_ns));
        let left = due.map_or(u128::from(now_ns) * PARTS, |due| due.max(earliest));
        self.last = Some((left, packet_bytes));
        self.sequence += 1;
        self.account.count(now_ns, packet_bytes);
        self.stats.packets += 1;
        self.stats.packet_bytes += packet_bytes;
        self.stats.expired += u64::from(heard.rate_bps(now_ns) < heard.grant.rate_bps);
        match is_new {
            true => self.stats.bytes += bytes,
            false => self.stats.retransmissions += 1,
        }
        true
    }

    /// Whether an answer waits.
    pub(super) fn answers(&self) -> bool {
        self.answers_end
    }
}
