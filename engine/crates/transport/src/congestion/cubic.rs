// SPDX-License-Identifier: Apache-2.0
//! CUBIC (RFC 9438).

use slotwise_units::{Bytes, Duration, Instant};

use super::{Ack, Begin, CongestionControl, Setup};

/// RFC 9438 section 4.1: C in segments / s³.
const C: f64 = 0.4;
/// Multiplicative decrease (section 4.6).
const BETA: f64 = 0.7;
/// Reno-friendly additive increase, 3 (1 - β) / (1 + β) (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The window as a cubic function of the time since the last congestion event.
///
/// Inside, windows are segments as in the RFC; only +, -, *, / and `libm`'s cube root, so that the bits are the
/// same everywhere. Its clock runs only while the window is what limits the sender (sections 4.2 and 5.8).
#[derive(Clone, Debug)]
pub struct Cubic {
    mss: Bytes,
    window: f64,
    ssthresh: f64,
    window_max: f64,
    /// Window just before the last reduction.
    window_prior: f64,
    epoch: Option<Epoch>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time on the clock.
    elapsed: Duration,
    /// Time of the last acknowledgment, from which the clock runs on.
    last_ack: Instant,
    /// Time to reach `window_max` again, s.
    k: f64,
    /// What Reno would have by now.
    reno_window: f64,
}

impl Cubic {
    /// Begins in slow start, which ends at `ssthresh` unless there is a loss before.
    pub fn new(mss: Bytes, initial_window: Bytes, ssthresh: Option<Bytes>) -> Self {
        Self {
            mss,
            window: initial_window.get() as f64 / mss.get() as f64,
            ssthresh: ssthresh.map_or(f64::INFINITY, |bytes| bytes.get() as f64 / mss.get() as f64),
            window_max: 0.0,
            window_prior: 0.0,
            epoch: None,
        }
    }

    /// Figure 1 of the RFC: W_cubic(t), in segments.
    fn curve(&self, epoch: &Epoch, t: f64) -> f64 {
        let from_plateau = t - epoch.k;
        C * from_plateau * from_plateau * from_plateau + self.window_max
    }

    fn avoid_congestion(&mut self, ack: &Ack, segments: f64) {
        let mut epoch = self.epoch.unwrap_or_else(|| {
            let k = if self.window < self.window_max {
                libm::cbrt((self.window_max - self.window) / C)
            } else {
                self.window_max = self.window;
                0.0
            };
            Epoch {
                elapsed: Duration::ZERO,
                last_ack: ack.now,
                k,
                reno_window: self.window,
            }
        });
        // What is acknowledged left a round trip ago: before that, nothing was under way and the application was silent.
        let gap = ack.now.saturating_since(epoch.last_ack);
        epoch.elapsed += ack.srtt.map_or(gap, |srtt| gap.min(srtt));
        epoch.last_ack = ack.now;
        let t = epoch.elapsed.seconds();
        let alpha = if epoch.reno_window < self.window_prior {
            ALPHA
        } else {
            1.0
        };
        epoch.reno_window += alpha * segments / self.window;
        if self.curve(&epoch, t) < epoch.reno_window {
            self.window = self.window.max(epoch.reno_window);
        } else {
            let rtt = ack.srtt.unwrap_or_default().seconds();
            let target = self.curve(&epoch, t + rtt).clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window * segments;
        }
        self.epoch = Some(epoch);
    }

    fn reduced_threshold(&self, flight: Bytes) -> f64 {
        (flight.get() as f64 / self.mss.get() as f64 * BETA).max(2.0)
    }

    fn bytes(&self, segments: f64) -> Bytes {
        Bytes::new((segments * self.mss.get() as f64) as u64)
    }
}

impl Begin for Cubic {
    fn begin(setup: &Setup) -> Self {
        Self::new(setup.mss, setup.initial_window, setup.ssthresh)
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> Bytes {
        self.bytes(self.window).max(self.mss)
    }

    fn ssthresh(&self) -> Bytes {
        // An infinite threshold saturates to `Bytes::MAX`.
        self.bytes(self.ssthresh)
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.window_limited {
            if let Some(epoch) = &mut self.epoch {
                epoch.last_ack = ack.now;
            }
            return;
        }
        let segments = ack.acked.get() as f64 / self.mss.get() as f64;
        if self.window < self.ssthresh {
            self.window += segments.min(1.0);
        } else {
            self.avoid_congestion(ack, segments);
        }
    }

    fn on_loss(&mut self, _now: Instant, flight: Bytes) {
        // Fast convergence (section 4.7): a flow that did not get back to its last maximum gives way.
        self.window_max = if self.window < self.window_max {
            self.window * (1.0 + BETA) / 2.0
        } else {
            self.window
        };
        self.window_prior = self.window;
        self.ssthresh = self.reduced_threshold(flight);
        self.window = self.ssthresh;
        self.epoch = None;
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.window = self.window.min(limit.get() as f64 / self.mss.get() as f64);
    }

    fn on_timeout(&mut self, _now: Instant, flight: Bytes, first: bool) {
        if first {
            self.window_prior = self.window;
            self.ssthresh = self.reduced_threshold(flight);
        }
        self.window = 1.0;
        // Section 4.8: the next congestion avoidance begins on its own plateau.
        self.window_max = 0.0;
        self.epoch = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: u64) -> Bytes {
        Bytes::new(count)
    }

    const MSS: u64 = 1000;
    const RTT: Duration = Duration::from_ms(100);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_s(seconds)
    }

    /// Acknowledges one window in each round trip, a segment at a time, until `until`.
    fn run(cubic: &mut Cubic, mut now: Instant, until: Instant) {
        while now < until {
            let segments = cubic.window().get() / MSS;
            acknowledge(cubic, now, segments, true);
            now += RTT;
        }
    }

    /// Acknowledges segments within the round trip that begins at `now`.
    fn acknowledge(cubic: &mut Cubic, now: Instant, segments: u64, window_limited: bool) {
        for i in 0..segments {
            cubic.on_ack(&Ack {
                now: now + RTT * i / segments,
                acked: bytes(MSS),
                srtt: Some(RTT),
                window_limited,
                feedback: None,
            });
        }
    }

    #[test]
    fn grows_along_the_curve_of_rfc_9438() {
        // From W_max = 1000 segments: cwnd = 700, K = cbrt(300 / 0.4) = 9.086 s.
        for (t, expected) in [
            (3.0, 909.9),
            (6.0, 988.2),
            (9.0, 1000.0),
            (12.0, 1009.9),
            (15.0, 1082.7),
        ] {
            let mut cubic = Cubic::new(bytes(MSS), bytes(1000 * MSS), None);
            cubic.on_loss(Instant::ZERO, bytes(1000 * MSS));
            assert_eq!(cubic.window().get(), 700 * MSS);
            run(&mut cubic, at(0), Instant::from_ns((t * 1e9) as u64));
            let k = libm::cbrt(300.0 / C);
            let curve = C * (t - k) * (t - k) * (t - k) + 1000.0;
            assert!((curve - expected).abs() < 0.5, "the table above: {curve}");
            let window = cubic.window().get() as f64 / MSS as f64;
            // The target of an acknowledgment lies one RTT ahead and is reached one RTT later.
            let step = C * ((t + 0.1 - k).powi(3) - (t - 0.1 - k).powi(3)).abs() + 2.0;
            assert!(
                (window - curve).abs() < step,
                "t {t}: {window} but the curve has {curve}"
            );
        }
    }

    #[test]
    fn the_clock_stands_while_the_application_holds_back() {
        const PAUSE: Duration = Duration::from_s(20);
        // Three seconds after a loss at 1000 segments the window is on its way from 700 to 1000, where it is after 9.1 s.
        let at_3_s = || {
            let mut cubic = Cubic::new(bytes(MSS), bytes(1000 * MSS), None);
            cubic.on_loss(Instant::ZERO, bytes(1000 * MSS));
            run(&mut cubic, at(0), at(3));
            cubic
        };
        let mut without = at_3_s();
        run(&mut without, at(3), at(4));
        let wanted = without.window().get() / MSS;
        for (name, segments_per_round) in [("a segment per round trip", 1), ("silence", 0)] {
            let mut cubic = at_3_s();
            let before = cubic.window().get();
            for round in 0..PAUSE / RTT {
                acknowledge(&mut cubic, at(3) + round * RTT, segments_per_round, false);
            }
            assert_eq!(cubic.window().get(), before, "{name}");
            run(&mut cubic, at(3) + PAUSE, at(4) + PAUSE);
            let window = cubic.window().get() / MSS;
            // A round trip of the curve there is some four segments.
            assert!(
                window.abs_diff(wanted) <= 5,
                "{name}: {window}, without a pause {wanted}"
            );
        }
    }

    #[test]
    fn is_no_slower_than_reno_on_a_small_window() {
        let mut cubic = Cubic::new(bytes(MSS), bytes(10 * MSS), None);
        cubic.on_loss(Instant::ZERO, bytes(10 * MSS));
        run(&mut cubic, at(0), at(5));
        // 50 round trips of at least ALPHA segments each.
        assert!(cubic.window().get() as f64 / MSS as f64 >= 7.0 + 50.0 * ALPHA * 0.95);
    }

    #[test]
    fn fast_convergence_gives_way_and_a_timeout_starts_on_a_plateau() {
        let mut cubic = Cubic::new(bytes(MSS), bytes(100 * MSS), None);
        cubic.on_loss(Instant::ZERO, bytes(100 * MSS));
        cubic.on_loss(Instant::ZERO, bytes(70 * MSS));
        assert_eq!(cubic.window_max, 70.0 * 0.85);
        cubic.on_timeout(Instant::ZERO, bytes(49 * MSS), true);
        assert_eq!(cubic.window().get(), MSS);
        assert_eq!(cubic.ssthresh().get(), (49.0f64 * 0.7 * 1000.0) as u64);
        run(&mut cubic, at(0), at(1));
        assert_eq!(cubic.epoch.map(|e| e.k), Some(0.0));
    }
}
