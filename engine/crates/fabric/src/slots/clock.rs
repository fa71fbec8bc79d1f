// SPDX-License-Identifier: Apache-2.0
//! A station's own clock: an offset from fabric time, and a rate that wanders.

use std::collections::VecDeque;

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_scenario::Clocks;

use slotwise_cards::random::{self, Stream};

/// Offsets are kept in 1e-9 ns, so that a rate in parts per billion adds up without error.
const PER_NS: i128 = 1_000_000_000;

/// How far ahead of what was last forgotten the rate is drawn; later the last one drawn goes on. A message of P4 can
/// name any time.
const HORIZON_NS: u64 = 1_200_000_000;

/// A time in which the rate is constant.
#[derive(Clone, Copy)]
struct Segment {
    start_ns: u64,
    /// Local less fabric time at the start.
    offset: i128,
    drift_ppb: i64,
}

impl Segment {
    /// Local less fabric time, 1e-9 ns.
    fn offset_at(&self, fabric_ns: u64) -> i128 {
        self.offset + i128::from(self.drift_ppb) * (i128::from(fabric_ns) - i128::from(self.start_ns))
    }

    fn local_ns(&self, fabric_ns: u64) -> u64 {
        let local = i128::from(fabric_ns) + self.offset_at(fabric_ns).div_euclid(PER_NS);
        u64::try_from(local).unwrap_or(0)
    }
}

struct Drifting {
    settings: Clocks,
    random: Pcg64Mcg,
    /// In order of time; what is asked for beyond the last one is drawn then, always in the same order.
    segments: VecDeque<Segment>,
}

impl Drifting {
    /// The segment of a fabric time, or the oldest one kept.
    fn segment(&mut self, fabric_ns: u64) -> Segment {
        let (step_ns, walk) = (self.settings.step.ns(), self.settings.walk_ppb as i64);
        let limit = self.settings.max_drift_ppb as i64;
        let drawn_until_ns = fabric_ns.min(self.segments[0].start_ns + HORIZON_NS);
        let mut last = self.segments[self.segments.len() - 1];
        while last.start_ns + step_ns <= drawn_until_ns {
            let start_ns = last.start_ns + step_ns;
            last = Segment {
                start_ns,
                offset: last.offset_at(start_ns),
                drift_ppb: (last.drift_ppb + self.random.random_range(-walk..=walk)).clamp(-limit, limit),
            };
            self.segments.push_back(last);
        }
        let later = self.segments.partition_point(|segment| segment.start_ns <= fabric_ns);
        self.segments[later.saturating_sub(1)]
    }
}

/// A clock. Its time goes back by a step only.
pub(crate) struct Clock {
    drifting: Option<Drifting>,
}

impl Clock {
    /// Fabric time itself.
    pub(crate) fn ideal() -> Clock {
        Clock { drifting: None }
    }

    /// The clock of the `index`-th station: offset and first rate are drawn from the seed.
    pub(crate) fn drifting(seed: u64, index: u64, settings: Clocks) -> Clock {
        let mut random = random::generator(seed, Stream::Clock, index);
        let limit = settings.max_drift_ppb as i64;
        let first = Segment {
            start_ns: 0,
            offset: i128::from(random.random_range(0..=settings.max_offset.ns())) * PER_NS,
            drift_ppb: random.random_range(-limit..=limit),
        };
        Clock {
            drifting: Some(Drifting {
                settings,
                random,
                segments: VecDeque::from([first]),
            }),
        }
    }

    /// Whether it is another than fabric time.
    pub(crate) fn is_own(&self) -> bool {
        self.drifting.is_some()
    }

    /// Jumps; a clock that has fabric time does not.
    pub(crate) fn step(&mut self, step_ns: i64) {
        let Some(Drifting { segments, .. }) = &mut self.drifting else {
            return;
        };
        for segment in segments {
            segment.offset += i128::from(step_ns) * PER_NS;
        }
    }

    /// Nobody asks for a time before `fabric_ns` any more.
    pub(crate) fn forget_before(&mut self, fabric_ns: u64) {
        if let Some(Drifting { settings, segments, .. }) = &mut self.drifting {
            while segments[0].start_ns + settings.step.ns() <= fabric_ns && segments.len() > 1 {
                segments.pop_front();
            }
        }
    }

    /// Local time at a fabric time.
    pub(crate) fn local_ns(&mut self, fabric_ns: u64) -> u64 {
        match &mut self.drifting {
            Some(drifting) => drifting.segment(fabric_ns).local_ns(fabric_ns),
            None => fabric_ns,
        }
    }

    /// The first fabric time at which it is `local_ns` or later.
    pub(crate) fn fabric_ns(&mut self, local_ns: u64) -> u64 {
        let Some(drifting) = &mut self.drifting else {
            return local_ns;
        };
        let mut fabric_ns = local_ns;
        // The offset changes by at most a thousandth of the time, so each round leaves a thousandth of the error.
        for _ in 0..8 {
            let offset_ns = drifting.segment(fabric_ns).offset_at(fabric_ns).div_euclid(PER_NS);
            let next = u64::try_from(i128::from(local_ns) - offset_ns).unwrap_or(0);
            if next == fabric_ns {
                break;
            }
            fabric_ns = next;
        }
        while drifting.segment(fabric_ns).local_ns(fabric_ns) < local_ns {
            fabric_ns += 1;
        }
        while fabric_ns > 0 && drifting.segment(fabric_ns - 1).local_ns(fabric_ns - 1) >= local_ns {
            fabric_ns -= 1;
        }
        fabric_ns
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Duration;

    use super::*;

    const SETTINGS: Clocks = Clocks {
        max_offset: Duration::from_ns(5_000_000),
        max_drift_ppb: 50_000,
        walk_ppb: 100,
        step: Duration::from_ns(1_000_000),
    };

    #[test]
    fn an_ideal_clock_has_fabric_time() {
        let mut clock = Clock::ideal();
        assert_eq!((clock.local_ns(17), clock.fabric_ns(17)), (17, 17));
    }

    #[test]
    fn time_there_and_back_is_the_same_to_the_nanosecond() {
        for station in 0..8 {
            let mut clock = Clock::drifting(3, station, SETTINGS);
            for fabric_ns in (0..50_000_000).step_by(123_457) {
                let local_ns = clock.local_ns(fabric_ns);
                let back_ns = clock.fabric_ns(local_ns);
                assert!(
                    back_ns <= fabric_ns && fabric_ns - back_ns <= 1,
                    "{fabric_ns} became {back_ns}"
                );
                assert!(clock.local_ns(back_ns) >= local_ns);
            }
        }
    }

    #[test]
    fn a_second_is_a_second_within_the_drift_and_never_goes_back() {
        let mut clock = Clock::drifting(1, 2, SETTINGS);
        let start_ns = clock.local_ns(0);
        assert!(start_ns <= SETTINGS.max_offset.ns());
        let mut last_ns = start_ns;
        for fabric_ns in (1_000..=1_000_000_000).step_by(999_000) {
            let local_ns = clock.local_ns(fabric_ns);
            assert!(local_ns > last_ns);
            last_ns = local_ns;
        }
        let second_ns = clock.local_ns(1_000_000_000) - start_ns;
        assert!((999_950_000..=1_000_050_000).contains(&second_ns), "{second_ns}");
        assert_ne!(second_ns, 1_000_000_000);
    }

    #[test]
    fn clocks_differ_by_station_and_repeat_by_seed() {
        let at = |seed, station| Clock::drifting(seed, station, SETTINGS).local_ns(10_000_000);
        assert_eq!(at(1, 1), at(1, 1));
        assert_ne!(at(1, 1), at(1, 2));
        assert_ne!(at(1, 1), at(2, 1));
    }

    #[test]
    fn what_is_asked_ahead_changes_nothing() {
        let mut one = Clock::drifting(1, 1, SETTINGS);
        let mut other = Clock::drifting(1, 1, SETTINGS);
        other.local_ns(3_000_000);
        assert_eq!(one.local_ns(2_500_000), other.local_ns(2_500_000));
    }
}
