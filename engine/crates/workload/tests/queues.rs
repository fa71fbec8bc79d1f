// SPDX-License-Identifier: Apache-2.0
//! Poisson workloads before one link against queueing theory: M/D/1, M/M/1 and M/G/1 with processor sharing.

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{BigSwitch, Load, OpenLoop, Pattern, Poisson, SHIPPED, SizeTable, Sizes};

const RATE: Rate = Rate::from_bps(1_000_000_000);
const LOADS: [f64; 3] = [0.3, 0.5, 0.8];

/// All flows go from host 0 to host 1, or back: one of the two links between two hosts.
fn arrivals(sizes: Sizes, fraction: f64, end: Duration) -> impl Iterator<Item = slotwise_workload::Flow> {
    // Each host sends half of the flows.
    let load = Load {
        fraction,
        capacity: RATE.saturating_mul(2),
    };
    let pattern = Pattern::Shift { shift: 1 };
    Poisson::new(sizes, (&pattern, 2), load, Instant::ZERO + end, 1).unwrap()
}

/// Mean wait before a link that sends in order of arrival, in mean times of service.
fn mean_wait(sizes: Sizes, fraction: f64) -> f64 {
    let service = RATE.time(Bytes::new(sizes.mean() as u64)).seconds();
    let mut free = [Instant::ZERO; 2];
    let (mut sum, mut flows) = (0.0, 0.0);
    for flow in arrivals(sizes, fraction, Duration::from_s(30)) {
        let free = &mut free[flow.source.0 as usize];
        let begins = flow.start.max(*free);
        sum += begins.saturating_since(flow.start).seconds();
        flows += 1.0;
        *free = begins + RATE.time(flow.size);
    }
    sum / flows / service
}

#[test]
fn the_wait_of_m_d_1_is_that_of_theory() {
    for load in LOADS {
        let wait = mean_wait(Sizes::Fixed(Bytes::new(10_000)), load);
        let theory = load / (2.0 * (1.0 - load));
        assert!((wait / theory - 1.0).abs() < 0.03, "{load}: {wait} {theory}");
    }
}

#[test]
fn the_wait_of_m_m_1_is_that_of_theory() {
    for load in LOADS {
        let wait = mean_wait(Sizes::Exponential(Bytes::new(10_000)), load);
        let theory = load / (1.0 - load);
        assert!((wait / theory - 1.0).abs() < 0.03, "{load}: {wait} {theory}");
    }
}

#[test]
fn the_slowdown_of_m_g_1_ps_does_not_depend_on_the_sizes() {
    let text = SHIPPED[0].text();
    let table = SizeTable::read("websearch", text, None)
        .unwrap()
        .at_least(Bytes::new(100_000))
        .unwrap();
    let mean = Bytes::new(table.mean() as u64);
    for sizes in [Sizes::Table(table), Sizes::Exponential(mean), Sizes::Fixed(mean)] {
        for load in LOADS {
            let mut workload = OpenLoop::new(arrivals(sizes.clone(), load, Duration::from_s(600)));
            let completions = BigSwitch::new(2, RATE).run(&mut workload, Instant::MAX, |_| ());
            let slowdown = completions.summary().all.slowdown.unwrap().mean;
            let theory = 1.0 / (1.0 - load);
            assert!((slowdown / theory - 1.0).abs() < 0.08, "{load}: {slowdown} {theory}");
        }
    }
}
