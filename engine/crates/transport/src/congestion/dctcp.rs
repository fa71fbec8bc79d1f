// SPDX-License-Identifier: Apache-2.0
//! DCTCP (RFC 8257): the window shrinks by half of the fraction of marked bytes, once per window.

use slotwise_units::{Bytes, Instant};

use super::reno::Reno;
use super::{Ack, Begin, CongestionControl, Marks, Setup};

/// Weight g of a new fraction, as a divisor (RFC 8257 section 4.2).
const GAIN: f64 = 16.0;

/// Reno with a window that depends on marks.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    mss: Bytes,
    /// Estimated fraction of marked bytes.
    alpha: f64,
    /// Bytes to be acknowledged until the end of the observation window.
    left: Bytes,
    acked: Bytes,
    marked: Bytes,
    /// Bytes to be acknowledged before another reduction: those outstanding at the last one.
    hold: Bytes,
}

impl Dctcp {
    /// Makes the controller of a connection; the fraction is 1 until the first window has passed (RFC 8257 section 4.2).
    pub fn new(mss: Bytes, initial_window: Bytes, ssthresh: Option<Bytes>) -> Self {
        Self {
            reno: Reno::new(mss, initial_window, ssthresh),
            mss,
            alpha: 1.0,
            left: Bytes::ZERO,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            hold: Bytes::ZERO,
        }
    }

    /// Estimated fraction of marked bytes.
    #[cfg(test)]
    fn alpha(&self) -> f64 {
        self.alpha
    }

    fn end_window(&mut self, outstanding: Bytes) {
        if !self.acked.is_zero() {
            let fraction = self.marked.get() as f64 / self.acked.get() as f64;
            self.alpha += (fraction - self.alpha) / GAIN;
        }
        (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
        self.left = outstanding;
    }
}

impl Begin for Dctcp {
    fn begin(setup: &Setup) -> Self {
        Self::new(setup.mss, setup.initial_window, setup.ssthresh)
    }
}

impl CongestionControl for Dctcp {
    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn ssthresh(&self) -> Bytes {
        self.reno.ssthresh()
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.acked += marks.acked;
        if marks.is_marked {
            self.marked += marks.acked;
        }
        self.hold = self.hold.saturating_sub(marks.acked);
        self.left = self.left.saturating_sub(marks.acked);
        if self.left.is_zero() {
            self.end_window(marks.outstanding);
        }
        if marks.is_marked && !marks.is_recovering && self.hold.is_zero() {
            let window = self.reno.window().get() as f64 * (1.0 - self.alpha / 2.0);
            self.reno.reduce_to(Bytes::new(window as u64).max(2 * self.mss));
            self.hold = marks.outstanding;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        // RFC 3168 section 6.1.2: no increase in the window in which there was a reduction.
        if self.hold.is_zero() {
            self.reno.on_ack(ack);
        }
    }

    fn on_loss(&mut self, now: Instant, flight: Bytes) {
        self.reno.on_loss(now, flight);
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.reno.cap_window(limit);
    }

    fn on_timeout(&mut self, now: Instant, flight: Bytes, first: bool) {
        self.reno.on_timeout(now, flight, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// Windows of ten segments, acknowledged one by one; `is_marked` by the number of the segment.
    fn run(dctcp: &mut Dctcp, windows: u64, is_marked: impl Fn(u64) -> bool) {
        for number in 0..10 * windows {
            dctcp.on_marks(&Marks {
                acked: MSS,
                is_marked: is_marked(number),
                outstanding: 10 * MSS,
                is_recovering: false,
            });
        }
    }

    #[test]
    fn the_fraction_of_marked_bytes_is_estimated_window_by_window() {
        let mut dctcp = Dctcp::new(MSS, 10 * MSS, Some(MSS));
        run(&mut dctcp, 1, |_| false);
        // The first acknowledgment ends a window that contains only its own segment.
        assert_eq!(dctcp.alpha(), 1.0 - 1.0 / 16.0);
        run(&mut dctcp, 200, |number| number % 10 < 3);
        assert!((dctcp.alpha() - 0.3).abs() < 1e-3, "{}", dctcp.alpha());
    }

    #[test]
    fn a_window_shrinks_once_by_half_of_the_fraction() {
        let mut dctcp = Dctcp::new(MSS, 10 * MSS, Some(MSS));
        run(&mut dctcp, 400, |number| number % 10 < 3);
        let alpha = dctcp.alpha();
        let mut dctcp = Dctcp {
            reno: Reno::new(MSS, 100 * MSS, Some(MSS)),
            ..dctcp
        };
        dctcp.hold = Bytes::ZERO;
        run(&mut dctcp, 1, |_| true);
        let expected = 100_000.0 * (1.0 - alpha / 2.0);
        assert!(
            (dctcp.window().get() as f64 - expected).abs() <= 1.0,
            "{}",
            dctcp.window()
        );
    }

    #[test]
    fn marks_at_the_end_of_a_window_and_at_the_start_of_the_next_one_reduce_once() {
        let mut dctcp = Dctcp::new(MSS, 10 * MSS, Some(MSS));
        run(&mut dctcp, 1, |number| number == 9);
        let reduced = dctcp.window();
        assert!(reduced < 10 * MSS);
        // The mark of segment 9 and those of the nine after it are of one window of data.
        run(&mut dctcp, 1, |number| number < 9);
        assert_eq!(dctcp.window(), reduced);
    }

    #[test]
    fn the_window_is_never_below_two_segments() {
        let mut dctcp = Dctcp::new(MSS, 10 * MSS, Some(MSS));
        run(&mut dctcp, 100, |_| true);
        assert_eq!(dctcp.window(), 2 * MSS);
    }
}
