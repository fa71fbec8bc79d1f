// SPDX-License-Identifier: Apache-2.0
//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020).
//!
//! The target follows from the least round-trip time so far instead of the number of hops, which senders do not know here.
//! Windows have at least one segment.

use slotwise_units::{Bytes, Duration, Instant};

use super::{Ack, Begin, CongestionControl, Setup};

/// Segments that the window grows by in a round trip: ai.
const INCREASE: f64 = 1.0;
/// Factor of the relative excess of the delay: beta.
const DECREASE: f64 = 0.8;
/// Largest decrease: max_mdf.
const MAX_DECREASE: f64 = 0.5;
/// Base target, as a multiple of the least round-trip time.
const BASE_TARGET: f64 = 1.25;
/// Largest addition to the target for small windows, as a multiple of the least round-trip time: fs_range.
const SCALING_RANGE: f64 = 1.0;
/// Windows, in segments, with the largest addition and without one: fs_min_cwnd and fs_max_cwnd.
const SCALING_WINDOWS: (f64, f64) = (1.0, 100.0);

/// Keeps the round-trip time near a target.
#[derive(Clone, Debug)]
pub struct Swift {
    mss: Bytes,
    /// In segments.
    window: f64,
    least_rtt: Option<Duration>,
    srtt: Duration,
    last_decrease: Option<Instant>,
}

impl Swift {
    /// Returns the target delay, ns: higher for small windows, so that flows approach fair rates (section 3.5).
    fn target(&self, least_rtt: Duration) -> f64 {
        let (low, high) = SCALING_WINDOWS;
        let slope = SCALING_RANGE / (1.0 / low.sqrt() - 1.0 / high.sqrt());
        let scaling = slope * (1.0 / self.window.sqrt() - 1.0 / high.sqrt());
        least_rtt.ns() as f64 * (BASE_TARGET + scaling.clamp(0.0, SCALING_RANGE))
    }

    /// Multiplies the window, at most once per round-trip time.
    fn shrink(&mut self, now: Instant, factor: f64) {
        let since = self.last_decrease.map(|last| now.saturating_since(last));
        if since.is_none_or(|since| since >= self.srtt) {
            self.window = (self.window * factor).max(1.0);
            self.last_decrease = Some(now);
        }
    }
}

impl Begin for Swift {
    /// Without slow start.
    fn begin(setup: &Setup) -> Self {
        Self {
            mss: setup.mss,
            window: setup.initial_window.get() as f64 / setup.mss.get() as f64,
            least_rtt: None,
            srtt: Duration::ZERO,
            last_decrease: None,
        }
    }
}

impl CongestionControl for Swift {
    fn window(&self) -> Bytes {
        Bytes::new((self.window * self.mss.get() as f64) as u64)
    }

    /// There is none.
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt.unwrap_or(self.srtt);
        let Some(delay) = ack.rtt else {
            return;
        };
        let least = self.least_rtt.map_or(delay, |least| least.min(delay));
        self.least_rtt = Some(least);
        let (target, delay) = (self.target(least), delay.ns() as f64);
        if delay > target {
            let factor = 1.0 - DECREASE * (delay - target) / delay;
            self.shrink(ack.now, factor.max(1.0 - MAX_DECREASE));
        } else if ack.window_limited {
            let acked = ack.acked.get() as f64 / self.mss.get() as f64;
            self.window += INCREASE * acked / self.window;
        }
    }

    fn on_loss(&mut self, now: Instant, _flight: Bytes) {
        self.shrink(now, 1.0 - MAX_DECREASE);
    }

    fn cap_window(&mut self, limit: Bytes) {
        let segments = limit.get() as f64 / self.mss.get() as f64;
        self.window = self.window.min(segments.max(1.0));
    }

    /// Another timeout for the same data means that the network does not forward.
    fn on_timeout(&mut self, now: Instant, _flight: Bytes, first: bool) {
        if first {
            self.shrink(now, 1.0 - MAX_DECREASE);
        } else {
            self.window = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_000);

    fn swift(segments: u64) -> Swift {
        Swift::begin(&Setup {
            mss: MSS,
            packet: Bytes::new(1_040),
            initial_window: segments * MSS,
            ssthresh: None,
            limit: None,
        })
    }

    fn ack(now_us: u64, rtt_us: u64) -> Ack {
        let rtt = Some(Duration::from_us(rtt_us));
        Ack {
            now: Instant::ZERO + Duration::from_us(now_us),
            acked: MSS,
            srtt: rtt,
            rtt,
            window_limited: true,
            ..Ack::default()
        }
    }

    #[test]
    fn the_window_grows_by_a_segment_per_round_trip_below_the_target() {
        let mut swift = swift(100);
        for place in 0..100 {
            swift.on_ack(&ack(place, 100));
        }
        assert!((swift.window - 101.0).abs() < 0.01, "{}", swift.window);
    }

    #[test]
    fn the_window_shrinks_by_the_excess_once_per_round_trip() {
        let mut swift = swift(100);
        swift.on_ack(&ack(0, 100));
        // The target is 125 us: 100 segments have no addition.
        for now in [1, 2, 200] {
            swift.on_ack(&ack(now, 200));
        }
        assert!(
            (swift.window - 100.0 * (1.0 - 0.8 * 75.0 / 200.0)).abs() < 0.1,
            "{}",
            swift.window
        );
        swift.on_ack(&ack(201, 200));
        assert!(swift.window < 55.0, "{}", swift.window);
    }

    #[test]
    fn the_target_is_higher_for_small_windows() {
        let rtt = Duration::from_us(100);
        let targets = [1, 4, 25, 100, 400].map(|segments| swift(segments).target(rtt).round());
        assert_eq!(targets[0], 225_000.0);
        assert_eq!(targets[3..], [125_000.0, 125_000.0]);
        assert!(targets.is_sorted_by(|before, next| before >= next), "{targets:?}");
    }

    #[test]
    fn losses_halve_the_window_and_repeated_timeouts_end_it() {
        let mut swift = swift(16);
        let at = |us| Instant::ZERO + Duration::from_us(us);
        swift.on_ack(&ack(0, 100));
        let before = swift.window;
        swift.on_loss(at(10), Bytes::ZERO);
        assert_eq!(swift.window, before / 2.0);
        swift.on_timeout(at(50), Bytes::ZERO, true);
        assert_eq!(swift.window, before / 2.0, "within a round trip");
        swift.on_timeout(at(500), Bytes::ZERO, false);
        assert_eq!(swift.window(), MSS);
    }
}
