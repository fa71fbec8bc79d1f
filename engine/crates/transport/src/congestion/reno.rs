// SPDX-License-Identifier: Apache-2.0
//! Slow start and congestion avoidance of RFC 5681.

use slotwise_units::{Bytes, Instant};

use super::{Ack, Begin, CongestionControl, Setup, half_flight};

/// Additive increase of one segment a round trip, halving on loss. Reno and NewReno differ only in recovery,
/// which is the sender's.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: Bytes,
    window: Bytes,
    ssthresh: Bytes,
    /// Acknowledged in congestion avoidance since the window last grew.
    credit: Bytes,
}

impl Reno {
    /// Begins in slow start, which ends at `ssthresh` unless there is a loss before.
    pub fn new(mss: Bytes, initial_window: Bytes, ssthresh: Option<Bytes>) -> Self {
        Self {
            mss,
            window: initial_window,
            ssthresh: ssthresh.unwrap_or(Bytes::MAX),
            credit: Bytes::ZERO,
        }
    }

    /// Reduces window and threshold without a loss.
    pub(super) fn reduce_to(&mut self, window: Bytes) {
        self.ssthresh = window;
        self.window = window;
        self.credit = Bytes::ZERO;
    }
}

impl Begin for Reno {
    fn begin(setup: &Setup) -> Self {
        Self::new(setup.mss, setup.initial_window, setup.ssthresh)
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> Bytes {
        self.window
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        if self.window < self.ssthresh {
            self.window += ack.acked.min(self.mss);
            return;
        }
        // RFC 5681 section 3.1: count acknowledged bytes; a window of them earns one segment.
        self.credit += ack.acked;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += self.mss;
        }
    }

    fn on_loss(&mut self, _now: Instant, flight: Bytes) {
        self.ssthresh = half_flight(flight, self.mss);
        self.window = self.ssthresh;
        self.credit = Bytes::ZERO;
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.window = self.window.min(limit);
    }

    fn on_timeout(&mut self, _now: Instant, flight: Bytes, first: bool) {
        if first {
            self.ssthresh = half_flight(flight, self.mss);
        }
        self.window = self.mss;
        self.credit = Bytes::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: u64) -> Bytes {
        Bytes::new(count)
    }

    fn ack(acked: u64) -> Ack {
        Ack {
            now: Instant::ZERO,
            acked: bytes(acked),
            srtt: None,
            window_limited: true,
            feedback: None,
        }
    }

    #[test]
    fn doubles_in_slow_start_then_adds_one_segment_a_window() {
        let mut reno = Reno::new(bytes(1000), bytes(4000), None);
        for _ in 0..4 {
            reno.on_ack(&ack(1000));
        }
        assert_eq!(reno.window().get(), 8000);
        reno.on_ack(&ack(3000));
        assert_eq!(reno.window().get(), 9000, "one segment an acknowledgment at most");
        reno.on_loss(Instant::ZERO, bytes(8000));
        assert_eq!((reno.window().get(), reno.ssthresh().get()), (4000, 4000));
        for expected in [4000, 4000, 4000, 5000, 5000, 5000, 5000, 5000, 6000] {
            reno.on_ack(&ack(1000));
            assert_eq!(reno.window().get(), expected);
        }
    }

    #[test]
    fn a_threshold_from_the_beginning_ends_slow_start() {
        let mut reno = Reno::new(bytes(1000), bytes(1000), Some(bytes(3000)));
        for expected in [2000, 3000, 3000, 3000, 4000] {
            reno.on_ack(&ack(1000));
            assert_eq!(reno.window().get(), expected);
        }
    }

    #[test]
    fn a_timeout_begins_again_from_one_segment_and_halves_once_only() {
        let mut reno = Reno::new(bytes(1000), bytes(10_000), None);
        reno.on_timeout(Instant::ZERO, bytes(10_000), true);
        assert_eq!((reno.window().get(), reno.ssthresh().get()), (1000, 5000));
        reno.on_timeout(Instant::ZERO, bytes(1000), false);
        assert_eq!(reno.ssthresh().get(), 5000);
        reno.on_loss(Instant::ZERO, bytes(1000));
        assert_eq!(reno.ssthresh().get(), 2000, "never under two segments");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = Reno::new(bytes(1000), bytes(4000), None);
        reno.on_ack(&Ack {
            window_limited: false,
            ..ack(1000)
        });
        assert_eq!(reno.window().get(), 4000);
    }
}
