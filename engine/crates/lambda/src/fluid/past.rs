// SPDX-License-Identifier: Apache-2.0
//! What a session has sent: pieces of constant rate, and what is on its way to change it.

use std::collections::VecDeque;

/// From a time on.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from_ns: i64,
    /// Sent before, in units of rate times ns.
    sent: f64,
    rate: f64,
}

impl Piece {
    fn sent_at(&self, ns: i64) -> f64 {
        self.sent + self.rate * (ns - self.from_ns) as f64
    }
}

/// What a session sent since ever, as far back as its longest delay.
#[derive(Debug, Clone)]
pub(super) struct Past {
    /// At least one; before the first it sent at that one's rate.
    pieces: VecDeque<Piece>,
}

impl Past {
    /// At one rate since ever.
    pub(super) fn new(rate: f64) -> Past {
        Past {
            pieces: [Piece {
                from_ns: 0,
                sent: 0.0,
                rate,
            }]
            .into(),
        }
    }

    fn last(&self) -> &Piece {
        &self.pieces[self.pieces.len() - 1]
    }

    /// The present rate.
    pub(super) fn rate(&self) -> f64 {
        self.last().rate
    }

    /// Changes the rate at a time that is not before the last change.
    pub(super) fn change(&mut self, at_ns: i64, rate: f64) {
        let last = *self.last();
        #[expect(clippy::float_cmp, reason = "another rate is one with other bits")]
        if rate != last.rate {
            self.pieces.push_back(Piece {
                from_ns: at_ns,
                sent: last.sent_at(at_ns),
                rate,
            });
        }
    }

    /// Sent until then, in units of rate times ns.
    pub(super) fn sent_at(&self, ns: i64) -> f64 {
        let piece = self.pieces.iter().rev().find(|piece| piece.from_ns <= ns);
        piece.unwrap_or(&self.pieces[0]).sent_at(ns)
    }

    /// Nobody asks for earlier times any more.
    pub(super) fn forget_before(&mut self, ns: i64) {
        while self.pieces.get(1).is_some_and(|second| second.from_ns <= ns) {
            self.pieces.pop_front();
        }
    }
}
