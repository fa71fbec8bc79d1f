// SPDX-License-Identifier: Apache-2.0
//! Clock of a card: an offset from network time, and a rate that wanders.

use std::collections::VecDeque;

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_units::{Duration, Instant};

/// Offsets are kept in 1e-9 ns, so that a rate in parts per billion adds up without error.
const PER_NS: i128 = 1_000_000_000;

/// Horizon of rates drawn ahead of the clock's own readings; beyond it the last rate stays. A message of P4 can name any time.
const HORIZON: Duration = Duration::from_ms(1_200);

/// Properties of clocks that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    /// Largest offset. Offsets are from 0 to this.
    pub max_offset: Duration,
    /// Largest difference of rates, faster or slower, in parts per billion.
    pub max_drift_ppb: u64,
    /// Largest change of a rate in a step, up or down.
    pub walk_ppb: u64,
    /// Length of a step.
    pub step: Duration,
}

/// Jump of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jump {
    /// To a later time.
    Ahead(Duration),
    /// To an earlier one.
    Back(Duration),
}

impl Jump {
    /// Size of the jump.
    pub fn size(self) -> Duration {
        let (Jump::Ahead(size) | Jump::Back(size)) = self;
        size
    }
}

/// A time of one rate.
#[derive(Clone, Copy)]
struct Segment {
    start: Instant,
    /// Local less network time at the start.
    offset: i128,
    drift_ppb: i64,
}

impl Segment {
    /// Local less network time, 1e-9 ns.
    fn offset_at(&self, network: Instant) -> i128 {
        self.offset + i128::from(self.drift_ppb) * (i128::from(network.ns()) - i128::from(self.start.ns()))
    }

    fn local(&self, network: Instant) -> Instant {
        let local = i128::from(network.ns()) + self.offset_at(network).div_euclid(PER_NS);
        Instant::from_ns(u64::try_from(local.max(0)).unwrap_or(u64::MAX))
    }
}

struct Drifting {
    settings: Drift,
    random: Pcg64Mcg,
    /// Latest network time for which local time was read.
    read_at: Instant,
    /// In order of time; what is asked for beyond the last one is drawn then, always in the same order.
    segments: VecDeque<Segment>,
}

impl Drifting {
    /// Draws rates up to a network time.
    fn draw_until(&mut self, network: Instant) {
        let (step, walk) = (self.settings.step, self.settings.walk_ppb as i64);
        let limit = self.settings.max_drift_ppb as i64;
        let mut last = self.segments[self.segments.len() - 1];
        while last.start + step <= network {
            let start = last.start + step;
            last = Segment {
                start,
                offset: last.offset_at(start),
                drift_ppb: (last.drift_ppb + self.random.random_range(-walk..=walk)).clamp(-limit, limit),
            };
            self.segments.push_back(last);
        }
    }

    /// Forgets rates before a network time.
    fn forget_before(&mut self, network: Instant) {
        while self.segments[0].start + self.settings.step <= network && self.segments.len() > 1 {
            self.segments.pop_front();
        }
    }

    /// Local time at a network time, which may be far from the last one.
    fn local(&mut self, network: Instant) -> Instant {
        self.read_at = self.read_at.max(network);
        self.draw_until(network);
        // Without slots nothing else forgets.
        self.forget_before(self.read_at.saturating_sub(HORIZON));
        self.segment(network).local(network)
    }

    /// The segment of a network time, or the oldest one kept; none are drawn beyond the horizon, as P4 may name any time.
    fn segment(&mut self, network: Instant) -> Segment {
        self.draw_until(network.min(self.read_at.max(self.segments[0].start) + HORIZON));
        let later = self.segments.partition_point(|segment| segment.start <= network);
        self.segments[later.saturating_sub(1)]
    }

    /// The first network time at which it is a local time or later.
    fn network(&mut self, local: Instant) -> Instant {
        let mut network = local;
        // The offset changes by at most a thousandth of the time, so each round leaves a thousandth of the error.
        for _ in 0..8 {
            let offset_ns = self.segment(network).offset_at(network).div_euclid(PER_NS);
            let next = u64::try_from((i128::from(local.ns()) - offset_ns).max(0)).unwrap_or(u64::MAX);
            if next == network.ns() {
                break;
            }
            network = Instant::from_ns(next);
        }
        let least = Duration::from_ns(1);
        while self.segment(network).local(network) < local
            && let Some(later) = network.checked_add(least)
        {
            network = later;
        }
        while let Some(before) = network.checked_sub(least)
            && self.segment(before).local(before) >= local
        {
            network = before;
        }
        network
    }
}

/// A clock. Its time goes back by a jump only.
pub struct LocalClock {
    drifting: Option<Drifting>,
}

impl LocalClock {
    /// Network time itself.
    pub fn ideal() -> LocalClock {
        LocalClock { drifting: None }
    }

    /// A clock that differs from network time: offset and first rate are drawn.
    pub fn drifting(settings: Drift, mut random: Pcg64Mcg) -> LocalClock {
        let limit = settings.max_drift_ppb as i64;
        let first = Segment {
            start: Instant::ZERO,
            offset: i128::from(random.random_range(0..=settings.max_offset.ns())) * PER_NS,
            drift_ppb: random.random_range(-limit..=limit),
        };
        LocalClock {
            drifting: Some(Drifting {
                settings,
                random,
                read_at: Instant::ZERO,
                segments: VecDeque::from([first]),
            }),
        }
    }

    /// True if it is another than network time.
    pub fn is_own(&self) -> bool {
        self.drifting.is_some()
    }

    /// Jumps; a clock that has network time does not.
    pub fn jumps(&mut self, jump: Jump) {
        let Some(Drifting { segments, .. }) = &mut self.drifting else {
            return;
        };
        let shift = match jump {
            Jump::Ahead(by) => i128::from(by.ns()),
            Jump::Back(by) => -i128::from(by.ns()),
        };
        for segment in segments {
            segment.offset += shift * PER_NS;
        }
    }

    /// Forgets rates before a network time, as they are not needed any more.
    pub fn forget_before(&mut self, network: Instant) {
        if let Some(drifting) = &mut self.drifting {
            // What is forgotten is drawn first: it must not be drawn later for other times.
            drifting.draw_until(network);
            drifting.forget_before(network);
        }
    }

    /// Local time at a network time.
    pub fn local(&mut self, network: Instant) -> Instant {
        match &mut self.drifting {
            Some(drifting) => drifting.local(network),
            None => network,
        }
    }

    /// First network time at which it is a local time or later.
    pub fn network(&mut self, local: Instant) -> Instant {
        match &mut self.drifting {
            Some(drifting) => drifting.network(local),
            None => local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_random::{Stream, generator};

    const SETTINGS: Drift = Drift {
        max_offset: Duration::from_ms(5),
        max_drift_ppb: 50_000,
        walk_ppb: 100,
        step: Duration::from_ms(1),
    };

    fn drifting(seed: u64, station: u64) -> LocalClock {
        LocalClock::drifting(SETTINGS, generator(seed, Stream::Clock, station))
    }

    fn ns(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn an_ideal_clock_has_network_time() {
        let mut clock = LocalClock::ideal();
        assert_eq!((clock.local(ns(17)), clock.network(ns(17))), (ns(17), ns(17)));
        clock.jumps(Jump::Ahead(Duration::from_ns(5)));
        clock.forget_before(ns(10));
        assert!(!clock.is_own() && clock.local(ns(17)) == ns(17));
    }

    #[test]
    fn time_there_and_back_is_the_same_to_the_nanosecond() {
        for station in 0..8 {
            let mut clock = drifting(3, station);
            for network in (0..50_000_000).step_by(123_457).map(ns) {
                let local = clock.local(network);
                let back = clock.network(local);
                assert!(
                    back <= network && network.ns() - back.ns() <= 1,
                    "{network:?} became {back:?}"
                );
                assert!(clock.local(back) >= local);
            }
        }
    }

    #[test]
    fn a_second_is_a_second_within_the_drift_and_never_goes_back() {
        let mut clock = drifting(1, 2);
        let start = clock.local(ns(0));
        assert!(start <= ns(SETTINGS.max_offset.ns()));
        let mut last = start;
        for network in (1_000..=1_000_000_000).step_by(999_000).map(ns) {
            let local = clock.local(network);
            assert!(local > last);
            last = local;
        }
        let second_ns = clock.local(ns(1_000_000_000)).ns() - start.ns();
        assert!((999_950_000..=1_000_050_000).contains(&second_ns), "{second_ns}");
        assert_ne!(second_ns, 1_000_000_000);
    }

    #[test]
    fn clocks_differ_by_station_and_repeat_by_seed() {
        let at = |seed, station| drifting(seed, station).local(ns(10_000_000));
        assert_eq!(at(1, 1), at(1, 1));
        assert_ne!(at(1, 1), at(1, 2));
        assert_ne!(at(1, 1), at(2, 1));
    }

    #[test]
    fn questions_ahead_and_forgotten_rates_change_nothing() {
        let (mut one, mut other) = (drifting(1, 1), drifting(1, 1));
        other.local(ns(3_000_000));
        other.forget_before(ns(2_000_000));
        assert_eq!(one.local(ns(2_500_000)), other.local(ns(2_500_000)));
    }

    #[test]
    fn a_clock_that_was_not_read_for_seconds_is_the_same_before_and_after_its_past_is_forgotten() {
        for station in 0..8 {
            let mut clock = drifting(1, station);
            let local = clock.local(ns(5_000_000_000));
            clock.forget_before(ns(4_900_000_000));
            assert_eq!(clock.local(ns(5_000_000_000)), local);
            let mut read = drifting(1, station);
            for ms in 0..5_000 {
                read.local(ns(ms * 1_000_000));
            }
            assert_eq!(read.local(ns(5_000_000_000)), local, "however often it is read");
        }
    }

    #[test]
    fn any_local_time_has_a_network_time_at_once() {
        for station in 0..32 {
            let mut clock = drifting(1, station);
            clock.local(ns(1_000_000));
            for local in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                let network = clock.network(ns(local));
                let reached = clock
                    .drifting
                    .as_mut()
                    .map(|drifting| drifting.segment(network).local(network));
                assert!(
                    network == Instant::MAX || reached >= Some(ns(local)),
                    "{local} at {network:?}"
                );
            }
        }
    }

    #[test]
    fn a_clock_jumps_either_way() {
        let mut clock = drifting(1, 1);
        let before = clock.local(ns(20_000_000));
        let by = Duration::from_us(7);
        clock.jumps(Jump::Ahead(by));
        assert_eq!(clock.local(ns(20_000_000)), before + by);
        clock.jumps(Jump::Back(by));
        assert_eq!(clock.local(ns(20_000_000)), before);
        assert_eq!(Jump::Back(by).size(), by);
    }
}
