// SPDX-License-Identifier: Apache-2.0
//! The window of an XCP sender (AAPN thesis section 4.2 and appendix A, after draft-falk-xcp-spec).

use slotwise_units::{Bytes, Instant};

use super::{Ack, Begin, CongestionControl, Setup, half_flight};
use crate::xcp::THROUGHPUT_PER_BYTE;

const NS_PER_SECOND: i128 = 1_000_000_000;

/// Follows the routers' feedback; halves on loss as TCP does.
///
/// `window += feedback · srtt · mss / packet`: routers count whole IP packets, the window counts payload. What
/// the division leaves is kept for the next acknowledgment, so that feedback of a fraction of a byte adds up.
#[derive(Clone, Debug)]
pub struct Xcp {
    mss: Bytes,
    packet: Bytes,
    window: Bytes,
    /// The window goes no further.
    limit: Bytes,
    ssthresh: Bytes,
    /// Remainder of the last division, in 1 / (16e9 · packet) bytes.
    remainder: i128,
}

impl Xcp {
    /// `mss` of payload in packets of `packet`.
    pub fn new(mss: Bytes, packet: Bytes, initial_window: Bytes) -> Self {
        Self {
            mss,
            packet,
            window: initial_window,
            limit: Bytes::MAX,
            ssthresh: Bytes::MAX,
            remainder: 0,
        }
    }

    /// The same with a window of at most `limit`, at least a segment: a sender that never uses more tells routers no more, or they would take what
    /// it leaves for given to it.
    #[must_use]
    pub fn within(mut self, limit: Bytes) -> Self {
        self.limit = limit.max(self.mss);
        self.window = self.window.min(self.limit);
        self
    }

    fn halve(&mut self, flight: Bytes) {
        self.ssthresh = half_flight(flight, self.mss);
        self.remainder = 0;
    }
}

impl Begin for Xcp {
    /// Without a slow-start threshold: routers know better.
    fn begin(setup: &Setup) -> Self {
        Self::new(setup.mss, setup.packet, setup.initial_window).within(setup.limit.unwrap_or(Bytes::MAX))
    }
}

impl CongestionControl for Xcp {
    fn window(&self) -> Bytes {
        self.window
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        let (Some(feedback), Some(srtt)) = (ack.feedback, ack.srtt) else {
            return;
        };
        let divisor = i128::from(THROUGHPUT_PER_BYTE) * NS_PER_SECOND * i128::from(self.packet.get());
        let change = i128::from(feedback) * i128::from(srtt.ns()) * i128::from(self.mss.get()) + self.remainder;
        self.remainder = change.rem_euclid(divisor);
        let window = i128::from(self.window.get()) + change.div_euclid(divisor);
        self.window = Bytes::new(u64::try_from(window).unwrap_or(0));
        if !(self.mss..=self.limit).contains(&self.window) {
            self.window = self.window.clamp(self.mss, self.limit);
            self.remainder = 0;
        }
    }

    fn on_loss(&mut self, _now: Instant, flight: Bytes) {
        self.halve(flight);
        self.window = self.ssthresh;
    }

    /// Routers know better than an estimate from the flight or from a pause: feedback has set the window.
    fn cap_window(&mut self, _limit: Bytes) {}

    fn on_timeout(&mut self, _now: Instant, flight: Bytes, first: bool) {
        if first {
            self.halve(flight);
        }
        self.window = self.mss;
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Duration;

    use super::*;

    fn bytes(count: u64) -> Bytes {
        Bytes::new(count)
    }

    fn ack(feedback: i32, srtt: Duration) -> Ack {
        Ack {
            now: Instant::ZERO,
            acked: bytes(940),
            srtt: Some(srtt),
            window_limited: false,
            feedback: Some(feedback),
        }
    }

    #[test]
    fn the_example_of_thesis_section_4_2() {
        // 1500-byte packets, RTT 20 ms, cwnd 4 packets; 600 kb/s more is one packet more.
        let mut xcp = Xcp::new(bytes(1440), bytes(1500), bytes(4 * 1440));
        let feedback = 600_000 / 8 * THROUGHPUT_PER_BYTE as i32;
        xcp.on_ack(&ack(feedback, Duration::from_ms(20)));
        assert_eq!(xcp.window().get(), 5 * 1440);
    }

    #[test]
    fn fractions_add_up_and_cancel_exactly() {
        let mut xcp = Xcp::new(bytes(940), bytes(1000), bytes(9400));
        // 1/16 byte/s over 100 ms is 1/160 byte of window, times 0.94.
        for _ in 0..16_000 {
            xcp.on_ack(&ack(1, Duration::from_ms(100)));
        }
        assert_eq!(xcp.window().get(), 9400 + 94);
        for _ in 0..16_000 {
            xcp.on_ack(&ack(-1, Duration::from_ms(100)));
        }
        assert_eq!(xcp.window().get(), 9400);
    }

    #[test]
    fn a_limit_holds_and_feedback_works_from_there() {
        let mut xcp = Xcp::new(bytes(1440), bytes(1500), bytes(4 * 1440)).within(bytes(5 * 1440));
        let feedback = 600_000 / 8 * THROUGHPUT_PER_BYTE as i32;
        for _ in 0..10 {
            xcp.on_ack(&ack(feedback, Duration::from_ms(20)));
            assert_eq!(xcp.window().get(), 5 * 1440);
        }
        xcp.on_ack(&ack(-feedback, Duration::from_ms(20)));
        assert_eq!(xcp.window().get(), 4 * 1440, "nothing has been saved up");
        assert_eq!(
            Xcp::new(bytes(1440), bytes(1500), bytes(4 * 1440))
                .within(bytes(1))
                .window()
                .get(),
            1440,
            "a segment is left"
        );
    }

    #[test]
    fn one_packet_is_the_floor_and_the_extremes_do_not_overflow() {
        let mut xcp = Xcp::new(bytes(940), bytes(1000), bytes(9400));
        xcp.on_ack(&ack(i32::MIN, Duration::from_ns(u32::MAX.into())));
        assert_eq!(xcp.window().get(), 940);
        xcp.on_ack(&ack(i32::MAX, Duration::MAX));
        assert!(xcp.window().get() > 1 << 40);
    }
}
