// SPDX-License-Identifier: Apache-2.0
//! Slow start and congestion avoidance of RFC 5681.

use super::{Ack, CongestionControl, half_flight};

/// Additive increase of one segment a round trip, halving on loss. Reno and NewReno differ only in recovery,
/// which is the sender's.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: u64,
    window: u64,
    ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    credit: u64,
}

impl Reno {
    /// Begins in slow start, which ends at `ssthresh_bytes` unless there is a loss before. All arguments are bytes.
    pub fn new(mss_bytes: u64, initial_window_bytes: u64, ssthresh_bytes: Option<u64>) -> Self {
        Self {
            mss: mss_bytes,
            window: initial_window_bytes,
            ssthresh: ssthresh_bytes.unwrap_or(u64::MAX),
            credit: 0,
        }
    }
}

impl CongestionControl for Reno {
    fn window_bytes(&self) -> u64 {
        self.window
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        if self.window < self.ssthresh {
            self.window += ack.acked_bytes.min(self.mss);
            return;
        }
        // RFC 5681 section 3.1: count acknowledged bytes; a window of them earns one segment.
        self.credit += ack.acked_bytes;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += self.mss;
        }
    }

    fn on_loss(&mut self, _now_ns: u64, flight_bytes: u64) {
        self.ssthresh = half_flight(flight_bytes, self.mss);
        self.window = self.ssthresh;
        self.credit = 0;
    }

    fn cap_window(&mut self, limit_bytes: u64) {
        self.window = self.window.min(limit_bytes);
    }

    fn on_timeout(&mut self, _now_ns: u64, flight_bytes: u64, first: bool) {
        if first {
            self.ssthresh = half_flight(flight_bytes, self.mss);
        }
        self.window = self.mss;
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(acked_bytes: u64) -> Ack {
        Ack {
            now_ns: 0,
            acked_bytes,
            srtt_ns: None,
            window_limited: true,
            feedback: None,
        }
    }

    #[test]
    fn doubles_in_slow_start_then_adds_one_segment_a_window() {
        let mut reno = Reno::new(1000, 4000, None);
        for _ in 0..4 {
            reno.on_ack(&ack(1000));
        }
        assert_eq!(reno.window_bytes(), 8000);
        reno.on_ack(&ack(3000));
        assert_eq!(reno.window_bytes(), 9000, "one segment an acknowledgment at most");
        reno.on_loss(0, 8000);
        assert_eq!((reno.window_bytes(), reno.ssthresh_bytes()), (4000, 4000));
        for expected in [4000, 4000, 4000, 5000, 5000, 5000, 5000, 5000, 6000] {
            reno.on_ack(&ack(1000));
            assert_eq!(reno.window_bytes(), expected);
        }
    }

    #[test]
    fn a_threshold_from_the_beginning_ends_slow_start() {
        let mut reno = Reno::new(1000, 1000, Some(3000));
        for expected in [2000, 3000, 3000, 3000, 4000] {
            reno.on_ack(&ack(1000));
            assert_eq!(reno.window_bytes(), expected);
        }
    }

    #[test]
    fn a_timeout_begins_again_from_one_segment_and_halves_once_only() {
        let mut reno = Reno::new(1000, 10_000, None);
        reno.on_timeout(0, 10_000, true);
        assert_eq!((reno.window_bytes(), reno.ssthresh_bytes()), (1000, 5000));
        reno.on_timeout(0, 1000, false);
        assert_eq!(reno.ssthresh_bytes(), 5000);
        reno.on_loss(0, 1000);
        assert_eq!(reno.ssthresh_bytes(), 2000, "never under two segments");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = Reno::new(1000, 4000, None);
        reno.on_ack(&Ack {
            window_limited: false,
            ..ack(1000)
        });
        assert_eq!(reno.window_bytes(), 4000);
    }
}
