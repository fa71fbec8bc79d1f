// SPDX-License-Identifier: Apache-2.0
//! A few flows and one output of the compiled `router.p4`, packet by packet, round trip by round trip: they fill the
//! link, share it fairly, and follow its capacity, at both ends of the range.

use super::xcp::{OUTPUT, Router, rate_of_bps};
use super::xcp_scaled::MOST_PRODUCT_ERROR;
use slotwise_wire::IntervalTimer;

const PACKET_BYTES: u16 = 1000;
const START_NS: u64 = 1_000_000_000_000;
/// 1/16 byte/s times ns in a byte.
const STEPS_PER_BYTE: f64 = 16e9;
const INTERVALS: usize = 100;

/// Senders with one round-trip time, which is also the control interval, in front of one link.
struct Flows {
    router: Router,
    /// By how much the router may take another mean round-trip time.
    most_rtt_error_ns: u64,
    rtt_ns: u64,
    now_ns: u64,
    /// Bytes that the link carries in a round trip.
    pipe_bytes: f64,
    queued_bytes: f64,
    windows_bytes: Vec<f64>,
    /// Parts of a packet that windows were short of a whole one.
    carried: Vec<f64>,
    sent_bytes: f64,
}

impl Flows {
    /// The first of `flows` flows fills the link, the others have one packet a round trip.
    fn new((mut router, most_rtt_error_ns): (Router, u64), capacity_bps: f64, rtt_ns: u64, flows: usize) -> Self {
        router.set_params([26214, 14811, 6554, rtt_ns, 1000, 1000, 0]);
        router.tick(IntervalTimer::Control, START_NS, 0, 0);
        let pipe_bytes = capacity_bps / 8e9 * rtt_ns as f64;
        let mut windows_bytes = vec![f64::from(PACKET_BYTES); flows];
        windows_bytes[0] = pipe_bytes;
        Self {
            router,
            most_rtt_error_ns,
            rtt_ns,
            now_ns: START_NS,
            pipe_bytes,
            queued_bytes: 0.0,
            carried: vec![0.0; flows],
            windows_bytes,
            sent_bytes: 0.0,
        }
    }

    fn set_capacity(&mut self, capacity_bps: f64) {
        self.router.set_capacity(OUTPUT, rate_of_bps(capacity_bps) as u64, 0);
        self.pipe_bytes = capacity_bps / 8e9 * self.rtt_ns as f64;
    }

    /// Every sender sends its window evenly over a round trip, and has the feedback at its end.
    fn round_trip(&mut self) {
        let rtt_ns = self.rtt_ns as f64;
        let mut packets = Vec::new();
        for (flow, &window) in self.windows_bytes.iter().enumerate() {
            let whole = window / f64::from(PACKET_BYTES) + self.carried[flow];
            self.carried[flow] = whole.fract();
            packets.extend((0..whole as u64).map(|place| ((place as f64 + 0.5) / whole, flow)));
        }
        packets.sort_by(|a, b| a.partial_cmp(b).unwrap());
        self.sent_bytes = packets.len() as f64 * f64::from(PACKET_BYTES);
        let mut granted = vec![0i64; self.windows_bytes.len()];
        for (_, flow) in packets {
            let x = (rtt_ns * 4.0 * f64::from(PACKET_BYTES) / self.windows_bytes[flow]) as u32;
            granted[flow] += i64::from(self.router.feedback(PACKET_BYTES, self.rtt_ns as u32, x, i32::MAX));
        }
        for (window, granted) in self.windows_bytes.iter_mut().zip(granted) {
            *window = (*window + granted as f64 * rtt_ns / STEPS_PER_BYTE).max(f64::from(PACKET_BYTES));
        }
        self.queued_bytes = (self.queued_bytes + self.sent_bytes - self.pipe_bytes).max(0.0);
        self.now_ns += self.rtt_ns;
        let queued_bytes = self.queued_bytes as u32;
        self.router
            .tick(IntervalTimer::Queue, self.now_ns, queued_bytes, queued_bytes);
        let answer = self
            .router
            .tick(IntervalTimer::Control, self.now_ns, queued_bytes, queued_bytes);
        assert!(
            answer.next_ns.abs_diff(self.rtt_ns) <= self.most_rtt_error_ns,
            "{answer:?}"
        );
    }

    /// Windows of all flows over what the link carries.
    fn load(&self) -> f64 {
        self.windows_bytes.iter().sum::<f64>() / self.pipe_bytes
    }

    /// Jain's index.
    fn fairness(&self) -> f64 {
        let sum: f64 = self.windows_bytes.iter().sum();
        let squares: f64 = self.windows_bytes.iter().map(|window| window * window).sum();
        sum * sum / (self.windows_bytes.len() as f64 * squares)
    }
}

/// With exact arithmetic, and by logarithms, with which a packet more may wait, of 125 under way at 10 Mb/s.
fn fills_shares_and_follows(capacity_bps: f64, rtt_ns: u64, flows: usize) {
    let capacity = rate_of_bps(capacity_bps) as u64;
    let scaled_error_ns = (rtt_ns as f64 * MOST_PRODUCT_ERROR) as u64;
    for (router, most_queued) in [
        ((Router::new(capacity, 0), 1), 0.03),
        ((Router::scaled(capacity, 0), scaled_error_ns), 0.032),
    ] {
        router_fills_shares_and_follows(router, capacity_bps, rtt_ns, flows, most_queued);
    }
}

fn router_fills_shares_and_follows(
    router: (Router, u64),
    capacity_bps: f64,
    rtt_ns: u64,
    flows: usize,
    most_queued: f64,
) {
    let mut flows = Flows::new(router, capacity_bps, rtt_ns, flows);
    for part in [1.0, 0.8, 1.0] {
        flows.set_capacity(capacity_bps * part);
        for _ in 0..INTERVALS {
            flows.round_trip();
        }
        let (load, fairness) = (flows.load(), flows.fairness());
        assert!(
            (0.97..=1.03).contains(&load),
            "{capacity_bps} bit/s, {rtt_ns} ns: load {load}"
        );
        assert!(
            fairness >= 0.99,
            "{capacity_bps} bit/s, {rtt_ns} ns: Jain's index {fairness}"
        );
        assert!(
            flows.queued_bytes <= most_queued * flows.pipe_bytes,
            "queue of {} bytes",
            flows.queued_bytes
        );
    }
}

#[test]
fn one_megabit_a_second_and_a_second() {
    fills_shares_and_follows(1e6, 1_000_000_000, 3);
}

#[test]
fn ten_megabits_and_a_tenth() {
    fills_shares_and_follows(1e7, 100_000_000, 5);
}

#[test]
fn four_hundred_gigabits_and_ten_microseconds() {
    fills_shares_and_follows(400e9, 10_000, 4);
}
