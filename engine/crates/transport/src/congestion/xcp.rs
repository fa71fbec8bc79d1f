// SPDX-License-Identifier: Apache-2.0
//! The window of an XCP sender (AAPN thesis section 4.2 and appendix A, after draft-falk-xcp-spec).

use super::{Ack, CongestionControl, half_flight};
use crate::xcp::THROUGHPUT_PER_BYTE;

const NS_PER_SECOND: i128 = 1_000_000_000;

/// Follows the routers' feedback; halves on loss as TCP does.
///
/// `window += feedback · srtt · mss / packet`: routers count whole IP packets, the window counts payload. What
/// the division leaves is kept for the next acknowledgment, so that feedback of a fraction of a byte adds up.
#[derive(Clone, Debug)]
pub struct Xcp {
    mss: u64,
    packet: u64,
    window: u64,
    /// The window goes no further.
    limit: u64,
    ssthresh: u64,
    /// Remainder of the last division, in 1 / (16e9 · packet) bytes.
    remainder: i128,
}

impl Xcp {
    /// `mss_bytes` of payload in packets of `packet_bytes`.
    pub fn new(mss_bytes: u64, packet_bytes: u64, initial_window_bytes: u64) -> Self {
        Self {
            mss: mss_bytes,
            packet: packet_bytes,
            window: initial_window_bytes,
            limit: u64::MAX,
            ssthresh: u64::MAX,
            remainder: 0,
        }
    }

    /// The same with a window of at most `limit_bytes`, at least a segment: a sender that never uses more tells routers no more, or they would take what
    /// it leaves for given to it.
    #[must_use]
    pub fn within(mut self, limit_bytes: u64) -> Self {
        self.limit = limit_bytes.max(self.mss);
        self.window = self.window.min(self.limit);
        self
    }

    fn halve(&mut self, flight_bytes: u64) {
        self.ssthresh = half_flight(flight_bytes, self.mss);
        self.remainder = 0;
    }
}

impl CongestionControl for Xcp {
    fn window_bytes(&self) -> u64 {
        self.window
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        let (Some(feedback), Some(srtt_ns)) = (ack.feedback, ack.srtt_ns) else {
            return;
        };
        let divisor = i128::from(THROUGHPUT_PER_BYTE) * NS_PER_SECOND * i128::from(self.packet);
        let change = i128::from(feedback) * i128::from(srtt_ns) * i128::from(self.mss) + self.remainder;
        self.remainder = change.rem_euclid(divisor);
        let window = i128::from(self.window) + change.div_euclid(divisor);
        self.window = u64::try_from(window).unwrap_or(0);
        if !(self.mss..=self.limit).contains(&self.window) {
            self.window = self.window.clamp(self.mss, self.limit);
            self.remainder = 0;
        }
    }

    fn on_loss(&mut self, _now_ns: u64, flight_bytes: u64) {
        self.halve(flight_bytes);
        self.window = self.ssthresh;
    }

    /// Routers know better than an estimate from the flight or from a pause: feedback has set the window.
    fn cap_window(&mut self, _limit_bytes: u64) {}

    fn on_timeout(&mut self, _now_ns: u64, flight_bytes: u64, first: bool) {
        if first {
            self.halve(flight_bytes);
        }
        self.window = self.mss;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(feedback: i32, srtt_ns: u64) -> Ack {
        Ack {
            now_ns: 0,
            acked_bytes: 940,
            srtt_ns: Some(srtt_ns),
            window_limited: false,
            feedback: Some(feedback),
        }
    }

    #[test]
    fn the_example_of_thesis_section_4_2() {
        // 1500-byte packets, RTT 20 ms, cwnd 4 packets; 600 kb/s more is one packet more.
        let mut xcp = Xcp::new(1440, 1500, 4 * 1440);
        let feedback = 600_000 / 8 * THROUGHPUT_PER_BYTE as i32;
        xcp.on_ack(&ack(feedback, 20_000_000));
        assert_eq!(xcp.window_bytes(), 5 * 1440);
    }

    #[test]
    fn fractions_add_up_and_cancel_exactly() {
        let mut xcp = Xcp::new(940, 1000, 9400);
        // 1/16 byte/s over 100 ms is 1/160 byte of window, times 0.94.
        for _ in 0..16_000 {
            xcp.on_ack(&ack(1, 100_000_000));
        }
        assert_eq!(xcp.window_bytes(), 9400 + 94);
        for _ in 0..16_000 {
            xcp.on_ack(&ack(-1, 100_000_000));
        }
        assert_eq!(xcp.window_bytes(), 9400);
    }

    #[test]
    fn a_limit_holds_and_feedback_works_from_there() {
        let mut xcp = Xcp::new(1440, 1500, 4 * 1440).within(5 * 1440);
        let feedback = 600_000 / 8 * THROUGHPUT_PER_BYTE as i32;
        for _ in 0..10 {
            xcp.on_ack(&ack(feedback, 20_000_000));
            assert_eq!(xcp.window_bytes(), 5 * 1440);
        }
        xcp.on_ack(&ack(-feedback, 20_000_000));
        assert_eq!(xcp.window_bytes(), 4 * 1440, "nothing has been saved up");
        assert_eq!(
            Xcp::new(1440, 1500, 4 * 1440).within(1).window_bytes(),
            1440,
            "a segment is left"
        );
    }

    #[test]
    fn one_packet_is_the_floor_and_the_extremes_do_not_overflow() {
        let mut xcp = Xcp::new(940, 1000, 9400);
        xcp.on_ack(&ack(i32::MIN, u64::from(u32::MAX)));
        assert_eq!(xcp.window_bytes(), 940);
        xcp.on_ack(&ack(i32::MAX, u64::MAX));
        assert!(xcp.window_bytes() > 1 << 40);
    }
}
