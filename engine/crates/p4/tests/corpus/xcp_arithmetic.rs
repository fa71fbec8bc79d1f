// SPDX-License-Identifier: Apache-2.0
//! XCP's arithmetic in the compiled `router.p4` against exact formulas, operation by operation, from 1 Mb/s to
//! 400 Gb/s and from 10 µs to 1 s. `docs/architecture.md` has the formulas, `docs/xcp.md` the bounds.

use super::xcp::{Answer, Router, rate_of_bps};
use slotwise_wire::{FlowOp, IntervalTimer};

/// Bound of one division, relative.
const DIVISION: f64 = 1.0 / (1u64 << 28) as f64;
/// alpha, beta, gamma of `xcp_params` in 1/65536.
const ALPHA: f64 = 26214.0 / 65536.0;
const BETA: f64 = 14811.0 / 65536.0;
const GAMMA: f64 = 6554.0 / 65536.0;
/// 1/16 byte/s in a byte/ns.
const RATE_PER_BYTE_PER_NS: f64 = 16e9;
const PACKET_BYTES: u16 = 1000;
const START_NS: u64 = 1_000_000_000_000;

/// `steps` values from `low` to `high`, both included, evenly spaced on a logarithmic scale.
fn logarithmic(low: f64, high: f64, steps: usize) -> impl Iterator<Item = f64> {
    (0..steps).map(move |step| low * (high / low).powf(step as f64 / (steps - 1) as f64))
}

fn assert_within(what: &str, found: f64, exact: f64, bound: f64) {
    assert!(
        (found - exact).abs() <= bound,
        "{what}: found {found}, exact {exact}: {} off, bound {bound}",
        (found - exact).abs()
    );
}

/// One control interval of an output.
struct Interval {
    capacity: u64,
    bytes: u64,
    elapsed_ns: u64,
    persistent_bytes: u32,
    sum_x: u64,
    sum_rtt_x: u128,
}

impl Interval {
    /// `flows` flows with one round-trip time that load `capacity_bps` `load`-fold for one round trip.
    fn new(capacity_bps: f64, rtt_ns: f64, load: f64, queued_ns: f64, flows: f64) -> Self {
        let bytes = (capacity_bps / 8e9 * load * rtt_ns) as u64;
        let packets = bytes as f64 / f64::from(PACKET_BYTES);
        let x = (flows * rtt_ns * 4.0 / packets.max(1.0)).clamp(1.0, f64::from(u32::MAX)) as u64;
        let sum_x = (packets as u64).max(1) * x;
        Self {
            capacity: rate_of_bps(capacity_bps) as u64,
            bytes,
            elapsed_ns: rtt_ns as u64,
            persistent_bytes: (capacity_bps / 8e9 * queued_ns).min(f64::from(u32::MAX)) as u32,
            sum_x,
            sum_rtt_x: u128::from(sum_x) * (rtt_ns as u128),
        }
    }

    /// Ends it in a router: what the sums make of the registers.
    fn end(&self, router: &mut Router) -> Answer {
        router.tick(IntervalTimer::Control, START_NS, 0, 0);
        router.tick(IntervalTimer::Queue, START_NS, self.persistent_bytes, 0);
        router.write("xcp_bytes", self.bytes);
        router.write("xcp_sum_x", self.sum_x);
        // As many small halves as large ones, so that the halves carry.
        router.write("xcp_sum_rtt_x_low", (self.sum_rtt_x % (1 << 40)) as u64);
        router.write("xcp_sum_rtt_x_high", ((self.sum_rtt_x >> 40) << 8) as u64);
        router.tick(IntervalTimer::Control, START_NS + self.elapsed_ns, 0, 0)
    }

    fn check(&self) {
        let mut router = Router::new(self.capacity, 0);
        let answer = self.end(&mut router);

        let exact_rtt = self.sum_rtt_x as f64 / self.sum_x as f64;
        let rtt = router.read("xcp_mean_rtt_ns") as f64;
        assert_within("mean round-trip time", rtt, exact_rtt, 1.0 + exact_rtt * DIVISION);
        let next_ns = rtt.max(1e6) as u64;
        assert_eq!(
            answer,
            Answer {
                op: FlowOp::SetControlTimer,
                next_ns
            }
        );

        let input = self.bytes as f64 / self.elapsed_ns as f64 * RATE_PER_BYTE_PER_NS;
        let queue = f64::from(self.persistent_bytes) / rtt * RATE_PER_BYTE_PER_NS;
        let phi = ALPHA * (self.capacity as f64 - input) - BETA * queue;
        let shuffled = (GAMMA * input - phi.abs()).max(0.0);
        // Roundings of y, Q / avg, phi and the shuffled traffic, a unit each.
        let bound = 4.0 + DIVISION * (input + queue);
        let positive = router.read("xcp_positive_residue");
        let negative = router.read("xcp_negative_residue");
        assert_within("phi", positive as f64 - negative as f64, phi, bound);
        assert_within(
            "positive feedback",
            positive as f64,
            phi.max(0.0) + shuffled,
            2.0 * bound,
        );
        assert_within(
            "negative feedback",
            negative as f64,
            (-phi).max(0.0) + shuffled,
            2.0 * bound,
        );

        let cp = positive as f64 / self.sum_x as f64;
        assert_within("Cp", router.factor("xcp_positive_factor"), cp, cp * DIVISION);
        let cn = if self.bytes == 0 {
            0.0
        } else {
            negative as f64 / self.bytes as f64
        };
        assert_within("Cn", router.factor("xcp_negative_factor"), cn, cn * DIVISION);

        let x = (self.sum_x / (self.bytes / u64::from(PACKET_BYTES)).max(1)).min(u64::from(u32::MAX)) as u32;
        let p = (cp * f64::from(x)).min(positive as f64);
        let n = (cn * f64::from(PACKET_BYTES)).min(negative as f64);
        let exact = (p - n).clamp(f64::from(i32::MIN), f64::from(i32::MAX));
        let feedback = router.feedback(PACKET_BYTES, u32::MAX, x, i32::MAX);
        assert_within("feedback", feedback.into(), exact, 1.0 + DIVISION * (p + n));
    }
}

#[test]
fn every_operation_keeps_its_bound() {
    for capacity_bps in logarithmic(1e6, 400e9, 15) {
        for rtt_ns in logarithmic(1e4, 1e9, 13) {
            for load in [0.0, 0.013, 0.5, 0.97, 1.0, 1.2, 7.0] {
                for queued_ns in [0.0, 0.01 * rtt_ns, rtt_ns] {
                    for flows in [1.0, 100.0] {
                        Interval::new(capacity_bps, rtt_ns, load, queued_ns, flows).check();
                    }
                }
            }
        }
    }
}
