// SPDX-License-Identifier: Apache-2.0
//! XCP by logarithms (`xcp_scaled.p4`, the arithmetic that Tofino has) in the compiled `router_scaled.p4`, against real
//! arithmetic: what tables would say, sums, factors, shares, from 1 Mb/s to 400 Gb/s and from 10 µs to 1 s.

use proptest::prelude::*;
use slotwise_wire::IntervalTimer;

use super::xcp::{OUTPUT, Router, rate_of_bps};

/// Of a product of two numbers by logarithms, relative: twice half of a 128th, and 1/512 of an octave for each logarithm.
pub const MOST_PRODUCT_ERROR: f64 = 0.0106;
/// Of a product with a factor, whose logarithm is of all its bits.
const MOST_SHARE_ERROR: f64 = 0.0067;
/// Of a factor.
const MOST_FACTOR_ERROR: f64 = 0.00136;
/// With this factor every packet, whose x is 1 or more, is offered all that a header can say: larger ones are as good.
const ENOUGH_FACTOR: f64 = 2147483648.0;
const MAX_RTT_NS: u32 = 1_000_000_000;
/// Where products of rtt and x are summed up: at 1, 2^20, 2^31 of their unit.
const UNITS: [i32; 3] = [0, 20, 31];
const START_NS: u64 = 1_000_000_000_000;
/// A residue that holds every share.
const PLENTY: u64 = 0xffff_ffff;

/// What the table of logarithms says, 1/256.
fn log(value: u32) -> i32 {
    let value = f64::from(value.max(1));
    let octave = value.log2().floor();
    let middle = (value / octave.exp2() * 128.0).floor() / 128.0 + 1.0 / 256.0;
    (256.0 * (octave + middle.log2())).round() as i32
}

/// What the table of powers says: 2^(log / 256) to 31 bits, rounded.
fn power(log: i32) -> u32 {
    match log {
        ..0 => 0,
        0..7936 => {
            let root = |place: i32| (31.0 + 1.0 / f64::from(1 << (8 - place))).exp2().round() as u64;
            let set = (0..8).rev().filter(|place| log >> place & 1 == 1);
            let mantissa = set.fold(1u64 << 31, |mantissa, place| (mantissa * root(place) + (1 << 30)) >> 31);
            let shift = 31 - (log >> 8);
            ((mantissa + (1 << (shift - 1))) >> shift) as u32
        }
        7936.. => 0x7fff_ffff,
    }
}

/// A router that gives each packet `2^(log / 256)` times its x, and takes nothing back.
fn giving(log: i16) -> Router {
    let mut router = Router::scaled(1, 0);
    router.write("xcp_positive_log", u64::from(log as u16));
    router.write("xcp_negative_log", 0x8000);
    router
}

fn share(router: &mut Router, x: u32) -> u32 {
    router.write("xcp_positive_residue", PLENTY);
    router.feedback(1000, u32::MAX, x, i32::MAX) as u32
}

#[test]
fn logarithms_are_those_of_a_table_by_leading_bits() {
    let mut router = giving(0);
    for octave in 0..31 {
        for leading in 128..256u64 {
            let least = leading << octave >> 7;
            let most = ((leading + 1) << octave >> 7) - 1;
            for x in [least, most.max(least)] {
                let x = x as u32;
                assert_eq!(share(&mut router, x), power(log(x)), "x {x}");
            }
        }
    }
}

#[test]
fn powers_are_those_of_a_table_by_logarithm() {
    for sum in -256..8192 {
        let mut router = giving((sum - log(1)) as i16);
        let found = share(&mut router, 1);
        assert_eq!(found, power(sum), "logarithm {sum}");
        let exact = if sum < 0 {
            0.0
        } else {
            (f64::from(sum) / 256.0).exp2().min(2147483647.0)
        };
        assert!(
            (f64::from(found) - exact).abs() <= 0.5 + exact * 2e-9,
            "logarithm {sum}: {found}, exact {exact}"
        );
    }
}

/// x and round-trip time that `CheckXcp` lets through.
fn header() -> impl Strategy<Value = (u32, u32)> {
    let magnitude = |most: f64| (0.0..most.log2()).prop_map(|log| log.exp2() as u32);
    (magnitude(4e9), 0.0..1.0f64).prop_map(|(rtt, part)| (rtt, ((f64::from(rtt) * 4.0).powf(part) as u32).max(1)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_those_of_the_packets(packets in prop::collection::vec((40..9000u16, header()), 1..30)) {
        let mut router = Router::scaled(1, 0);
        let (mut bytes, mut sum_x, mut sum_rtt_x) = (0, 0, 0.0);
        for &(ip_bytes, (rtt, x)) in &packets {
            router.feedback(ip_bytes, rtt, x, 0);
            bytes += u64::from(ip_bytes);
            sum_x += u64::from(x);
            sum_rtt_x += f64::from(rtt.min(MAX_RTT_NS)) * f64::from(x);
        }
        prop_assert_eq!(router.read("xcp_bytes"), bytes);
        prop_assert_eq!(router.read("xcp_sum_x"), sum_x);
        let by_unit = UNITS.iter().enumerate().map(|(place, unit)| {
            let sum = router.read_at("xcp_sum_rtt_x", usize::from(OUTPUT) * 4 + place);
            sum as f64 * f64::from(*unit).exp2()
        });
        let found: f64 = by_unit.sum();
        // The least unit is a whole number.
        let bound = sum_rtt_x * MOST_PRODUCT_ERROR + packets.len() as f64;
        prop_assert!((found - sum_rtt_x).abs() <= bound, "{found}, exact {sum_rtt_x}");
    }

    #[test]
    fn shares_are_granted_whole_or_not_at_all(
        log in -8000..2000i16,
        taken_log in -8000..2000i16,
        unit in 0..10u64,
        residue in 0..u64::from(u32::MAX),
        taken_residue in 0..u64::from(u32::MAX),
        ip_bytes in 40..9000u16,
        (rtt, x) in header(),
        wanted in any::<i32>(),
    ) {
        let mut router = Router::scaled(1, 0);
        router.write("xcp_positive_log", u64::from(log as u16));
        router.write("xcp_negative_log", u64::from(taken_log as u16));
        router.write("xcp_residue_log", unit);
        router.write("xcp_positive_residue", residue);
        router.write("xcp_negative_residue", taken_residue);
        let granted = router.feedback(ip_bytes, rtt, x, wanted);

        let mut offered = 0;
        let shares = [("positive", 1, log, x, residue), ("negative", -1, taken_log, u32::from(ip_bytes), taken_residue)];
        for (name, sign, factor, weight, residue) in shares {
            let exact = (f64::from(factor) / 256.0).exp2() * f64::from(weight);
            let sum = i32::from(factor) + self::log(weight);
            let share = power(sum);
            prop_assert!(sum >= 7936 || (f64::from(share) - exact).abs() <= 1.0 + exact * MOST_SHARE_ERROR, "{share}, exact {exact}");
            let part = u64::from(power(sum - 256 * unit as i32));
            let is_granted = part <= residue;
            let left = residue - if is_granted { part } else { 0 };
            prop_assert_eq!(router.read(&format!("xcp_{name}_residue")), left);
            offered += sign * if is_granted { i64::from(share) } else { 0 };
        }
        prop_assert_eq!(i64::from(granted), offered.min(wanted.into()));
    }

    #[test]
    fn an_interval_leaves_factors_and_residues_within_their_bounds(
        capacity_log in 1e6f64.ln()..400e9f64.ln(),
        rtt_log in 1e4f64.ln()..1e9f64.ln(),
        load in 0.0..8.0f64,
        packets in 1..50u32,
        x_part in 0.0..1.0f64,
    ) {
        let (capacity, rtt_ns) = (rate_of_bps(capacity_log.exp()), rtt_log.exp());
        let mut router = Router::scaled(capacity as u64, 0);
        router.tick(IntervalTimer::Control, START_NS, 0, 0);
        let x = ((rtt_ns * 4.0).powf(x_part) as u32).max(1);
        for _ in 0..packets {
            router.feedback(1000, rtt_ns as u32, x, i32::MAX);
        }
        let bytes = (capacity / 16e9 * rtt_ns * load) as u64;
        router.write("xcp_bytes", bytes);
        router.tick(IntervalTimer::Control, START_NS + rtt_ns as u64, 0, 0);

        let rtt = router.read("xcp_mean_rtt_ns") as f64;
        let exact_rtt = rtt_ns.floor();
        prop_assert!((rtt - exact_rtt).abs() <= 2.0 + exact_rtt * MOST_PRODUCT_ERROR, "mean rtt {rtt}, exact {exact_rtt}");

        let unit = (router.read("xcp_residue_log") as f64).exp2();
        let input = bytes as f64 / rtt_ns.floor() * 16e9;
        let (alpha, gamma) = (26214.0 / 65536.0, 6554.0 / 65536.0);
        let phi = alpha * (capacity.floor() - input);
        let shuffled = (gamma * input - phi.abs()).max(0.0);
        let sums = [("positive", phi.max(0.0) + shuffled, f64::from(packets) * f64::from(x)), ("negative", (-phi).max(0.0) + shuffled, bytes as f64)];
        for (name, exact, sum) in sums {
            let residue = router.read(&format!("xcp_{name}_residue")) as f64 * unit;
            prop_assert!((residue - exact).abs() <= 10.0 + unit + input / (1u64 << 28) as f64, "{name} {residue}, exact {exact}");
            let log = router.read(&format!("xcp_{name}_log")) as u16 as i16;
            // Not of so few units that their rounding is in the way.
            if exact > 1e6 && sum > 0.0 {
                let factor = (f64::from(log) / 256.0).exp2().min(ENOUGH_FACTOR);
                let exact = (exact / sum).min(ENOUGH_FACTOR);
                prop_assert!((factor - exact).abs() <= exact * (MOST_FACTOR_ERROR + 3e-5), "{name} {factor}, exact {exact}");
            }
        }
        prop_assert!(unit == 1.0 || [router.read("xcp_positive_residue"), router.read("xcp_negative_residue")].iter().any(|residue| residue >> 31 == 1));
    }
}
