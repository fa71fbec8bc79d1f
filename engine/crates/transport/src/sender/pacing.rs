// SPDX-License-Identifier: Apache-2.0
//! Paced TCP: the packets of a window leave evenly over the smoothed round-trip time instead of in bursts (Aggarwal, Savage,
//! Anderson, "Understanding the performance of TCP pacing", INFOCOM 2000).

use std::ops::Range;

use slotwise_units::{Duration, Instant};

use super::Sender;
use crate::content::Source;

impl<S: Source> Sender<S> {
    /// What goes out next, if its time has come.
    pub(super) fn next_in_time(&mut self, now: Instant) -> Option<Range<u64>> {
        if !self.config.paced || self.pace_at <= now {
            self.pace_waits = false;
            return self.next_range();
        }
        self.pace_waits = true;
        // The pace follows from the congestion window: what waits for it waits for that window, unless the peer's is smaller.
        let window_paces = self.control.window().get() <= self.send_window;
        self.window_limited = window_paces && self.segment_end() > self.nxt;
        None
    }

    /// Data leaves now: when the next may. Before the round-trip time is known nothing waits.
    pub(super) fn pace(&mut self, now: Instant, payload: u64) {
        let Some(srtt) = self.rtt.srtt().filter(|_| self.config.paced) else {
            return;
        };
        let window = self.control.window().get().min(self.send_window).max(self.mss);
        let gap = u128::from(srtt.ns()) * u128::from(payload) / u128::from(window);
        self.pace_at = now + Duration::from_ns(gap as u64);
    }
}
