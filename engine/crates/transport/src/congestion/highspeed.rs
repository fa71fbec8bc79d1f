// SPDX-License-Identifier: Apache-2.0
//! HighSpeed TCP: RFC 3649, with limited slow start (RFC 3742).

use slotwise_units::{Bytes, Instant};

use super::{Ack, Begin, CongestionControl, Setup};

/// Up to this window, segments, it is standard TCP (RFC 3649 section 5).
const LOW_WINDOW: f64 = 38.0;
/// The window at a loss of 10^-7.
const HIGH_WINDOW: f64 = 83_000.0;
/// Part of the window that a loss takes there.
const HIGH_DECREASE: f64 = 0.1;
/// Above so many segments slow start adds at most half of it in a round trip (RFC 3742).
const MAX_SSTHRESH: f64 = 100.0;

/// Increases by more, and decreases by less, the larger the window. Recovery is the sender's.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    mss: Bytes,
    window: Bytes,
    ssthresh: Bytes,
    /// Segments by which the window is to grow that are no whole one yet.
    credit: f64,
}

/// Part of a window of so many segments that a loss takes: b(w).
fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    let place = libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    ((HIGH_DECREASE - 0.5) * place + 0.5).max(HIGH_DECREASE)
}

/// Segments by which a window of so many grows in a round trip: a(w), from the loss p(w) at which it is the mean.
fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    let loss = 0.078_9 / libm::pow(window, 1.197_6);
    let part = decrease(window);
    (window * window * loss * 2.0 * part / (2.0 - part)).max(1.0)
}

impl HighSpeed {
    /// Begins in slow start, which ends at `ssthresh` unless there is a loss before.
    pub fn new(mss: Bytes, initial_window: Bytes, ssthresh: Option<Bytes>) -> Self {
        Self {
            mss,
            window: initial_window,
            ssthresh: ssthresh.unwrap_or(Bytes::MAX),
            credit: 0.0,
        }
    }

    fn segments(&self) -> f64 {
        self.window.get() as f64 / self.mss.get() as f64
    }

    fn shrink(&mut self, flight: Bytes) {
        let flight = flight.get() as f64;
        let left = flight * (1.0 - decrease(flight / self.mss.get() as f64));
        self.ssthresh = Bytes::new(left as u64).max(2 * self.mss);
        self.credit = 0.0;
    }
}

impl Begin for HighSpeed {
    fn begin(setup: &Setup) -> Self {
        Self::new(setup.mss, setup.initial_window, setup.ssthresh)
    }
}

impl CongestionControl for HighSpeed {
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
        let (window, acked) = (self.segments(), ack.acked.get() as f64 / self.mss.get() as f64);
        self.credit += match self.window < self.ssthresh {
            true if window <= MAX_SSTHRESH => acked.min(1.0),
            true => acked.min(1.0) / (window / (0.5 * MAX_SSTHRESH)).floor(),
            false => acked * increase(window) / window,
        };
        let whole = self.credit.floor();
        self.credit -= whole;
        self.window += whole as u64 * self.mss;
    }

    fn on_loss(&mut self, _now: Instant, flight: Bytes) {
        self.shrink(flight);
        self.window = self.ssthresh;
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.window = self.window.min(limit);
    }

    fn on_timeout(&mut self, _now: Instant, flight: Bytes, first: bool) {
        if first {
            self.shrink(flight);
        }
        self.window = self.mss;
        self.credit = 0.0;
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
    fn increase_and_decrease_are_those_of_the_rfc() {
        // Appendix B: the window from which on a(w) is so many, and b(w) there. It is of p = 0.078 / w^1.2, which is up to 4 % lower here.
        let table = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
        ];
        for (window, grows, falls) in table {
            assert!(
                (increase(window) / grows - 1.0).abs() < 0.04,
                "a({window}) is {}",
                increase(window)
            );
            assert!(
                (decrease(window) - falls).abs() < 0.006,
                "b({window}) is {}",
                decrease(window)
            );
        }
        // Section 5: a loss of exactly 10^-7 makes 72.5 segments at 83000.
        assert!((increase(83_000.0) / 72.5 - 1.0).abs() < 0.02, "{}", increase(83_000.0));
        assert_eq!((decrease(83_000.0), decrease(1e6)), (0.1, 0.1));
        assert_eq!((increase(10.0), decrease(10.0)), (1.0, 0.5));
    }

    #[test]
    fn a_window_of_acknowledgments_adds_a_segments_and_a_loss_takes_b() {
        let mut control = HighSpeed::new(bytes(1000), bytes(495_000), Some(bytes(1000)));
        for _ in 0..495 {
            control.on_ack(&ack(1000));
        }
        // a(495) is 5; it grows a little on the way.
        assert_eq!(
            control.window().get(),
            500_000 - 1000 * u64::from(control.window().get() == 499_000)
        );
        control.on_loss(Instant::ZERO, bytes(495_000));
        let left = control.window().get() as f64 / 495_000.0;
        assert!((left - 0.63).abs() < 0.01, "{left}");
        assert_eq!(control.ssthresh().get(), control.window().get());
    }

    #[test]
    fn slow_start_is_limited_above_a_hundred_segments() {
        let mut control = HighSpeed::new(bytes(1000), bytes(4000), None);
        for _ in 0..96 {
            control.on_ack(&ack(1000));
        }
        assert_eq!(control.window().get(), 100_000, "doubles before");
        for _ in 0..1000 {
            let before = control.window().get();
            for _ in 0..before / 1000 {
                control.on_ack(&ack(1000));
            }
            let added = (control.window().get() - before) / 1000;
            assert!((40..=51).contains(&added), "{added} segments beside {before} bytes");
            if control.window().get() > 1_000_000 {
                return;
            }
        }
        panic!("it never grew");
    }

    #[test]
    fn a_timeout_begins_again_from_one_segment_and_shrinks_once_only() {
        let mut control = HighSpeed::new(bytes(1000), bytes(10_000), None);
        control.on_timeout(Instant::ZERO, bytes(10_000), true);
        assert_eq!((control.window().get(), control.ssthresh().get()), (1000, 5000));
        control.on_timeout(Instant::ZERO, bytes(1000), false);
        assert_eq!(control.ssthresh().get(), 5000);
        control.on_loss(Instant::ZERO, bytes(1000));
        assert_eq!(control.ssthresh().get(), 2000, "never under two segments");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut control = HighSpeed::new(bytes(1000), bytes(4000), None);
        control.on_ack(&Ack {
            window_limited: false,
            ..ack(1000)
        });
        assert_eq!(control.window().get(), 4000);
    }
}
