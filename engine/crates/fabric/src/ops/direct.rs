// SPDX-License-Identifier: Apache-2.0
//! A lane of the two-link model: a train may be lost at its end, and its delay is drawn anew from time to time.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_scenario::{DelayProcess, DirectLink};
use slotwise_units::Duration;

use slotwise_cards::random::{Chance, Stream, generator};

const NS_PER_MS: f64 = 1e6;

/// One direction of a fibre between edges, for one wavelength.
pub(crate) struct DirectLane {
    loss: Chance,
    delay: Option<Delay>,
}

/// A delay that holds until it is drawn again.
struct Delay {
    process: DelayProcess,
    random: Pcg64Mcg,
    now_ns: u64,
    until_ns: u64,
}

impl Delay {
    fn new(process: DelayProcess, mut random: Pcg64Mcg) -> Delay {
        let now_ns = drawn_ns(&process, &mut random);
        let until_ns = random.random_range(process.hold[0].ns()..=process.hold[1].ns());
        Delay {
            process,
            random,
            now_ns,
            until_ns,
        }
    }

    /// At a time that is not before that of any earlier call.
    fn at(&mut self, now_ns: u64) -> u64 {
        while self.until_ns <= now_ns {
            self.now_ns = drawn_ns(&self.process, &mut self.random);
            let [shortest_ns, longest_ns] = self.process.hold.map(Duration::ns);
            self.until_ns += self.random.random_range(shortest_ns..=longest_ns);
        }
        self.now_ns
    }
}

/// A positive draw of a normal distribution, by the polar method (G. Marsaglia, 1964).
fn drawn_ns(process: &DelayProcess, random: &mut Pcg64Mcg) -> u64 {
    loop {
        let [u, v] = [(); 2].map(|()| random.random_range(-1.0..1.0f64));
        let square = u * u + v * v;
        if square >= 1.0 || square == 0.0 {
            continue;
        }
        let normal = u * (-2.0 * libm::log(square) / square).sqrt();
        let delay_ns = ((process.mean_ms + process.deviation_ms * normal) * NS_PER_MS) as u64;
        if delay_ns > 0 {
            return delay_ns;
        }
    }
}

impl DirectLane {
    /// The lane from an end of a link, 0 or 1; `number` tells it from all others.
    pub(crate) fn new(seed: u64, link: &DirectLink, end: usize, number: u64) -> DirectLane {
        DirectLane {
            loss: Chance::new(link.loss[end], generator(seed, Stream::LaneLoss, number)),
            delay: link
                .delay
                .map(|process| Delay::new(process, generator(seed, Stream::LaneDelay, number))),
        }
    }

    /// What comes to the propagation delay of a train whose last bit enters now.
    pub(crate) fn delay_ns(&mut self, now_ns: u64) -> u64 {
        self.delay.as_mut().map_or(0, |delay| delay.at(now_ns))
    }

    /// Whether a train that has come to the end is lost there.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss.comes()
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Rate;

    use super::*;

    const MS: u64 = 1_000_000;

    fn link(mean_ms: f64, loss: [f64; 2]) -> DirectLink {
        DirectLink {
            between: [0, 1],
            propagation: Duration::ZERO,
            rate: Rate::from_bps(1_000_000),
            loss,
            delay: Some(DelayProcess {
                hold: [MS, 100 * MS].map(Duration::from_ns),
                mean_ms,
                deviation_ms: 4.0,
            }),
        }
    }

    /// Mean and standard deviation of what is drawn in so many ms, ms, with how often it changed.
    fn drawn(mean_ms: f64, ms: u64) -> (f64, f64, u64) {
        let mut lane = DirectLane::new(7, &link(mean_ms, [0.0; 2]), 0, 0);
        let (mut draws, mut last_ns) = (Vec::new(), 0);
        for now_ms in 0..ms {
            let delay_ns = lane.delay_ns(now_ms * MS);
            if delay_ns != last_ns {
                draws.push(delay_ns as f64 / NS_PER_MS);
                last_ns = delay_ns;
            }
        }
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt(), draws.len() as u64)
    }

    #[test]
    fn a_delay_is_the_positive_part_of_a_normal_one_and_holds_some_fifty_milliseconds() {
        // Of the positive part, ms: 5.82 and 3.35 at 5, 3.19 and 2.41 at 0, 20 and 4 at 20.
        for (mean_ms, mean, deviation) in [(5.0, 5.82, 3.35), (0.0, 3.19, 2.41), (20.0, 20.0, 4.0)] {
            let (found, spread, changes) = drawn(mean_ms, 1_000_000);
            assert!(
                (found - mean).abs() < 0.1 && (spread - deviation).abs() < 0.1,
                "{mean_ms}: {found} {spread}"
            );
            assert!((19_400..20_200).contains(&changes), "1,000,000 ms by 50.5: {changes}");
        }
    }

    #[test]
    fn a_delay_is_a_step() {
        let mut lane = DirectLane::new(7, &link(5.0, [0.0; 2]), 0, 0);
        let first_ns = lane.delay_ns(0);
        assert_eq!(lane.delay_ns(MS - 1), first_ns, "it holds for a millisecond at least");
        assert_ne!(lane.delay_ns(101 * MS), first_ns, "and for a hundred at most");
    }

    #[test]
    fn losses_are_as_likely_as_they_are_to_be_and_drawn_apart() {
        let link = link(5.0, [0.2, 0.0]);
        let losses = |end, number, delays: bool| -> Vec<bool> {
            let mut lane = DirectLane::new(7, &link, end, number);
            let lost = |turn: u64| {
                if delays {
                    lane.delay_ns(turn * MS);
                }
                lane.loses()
            };
            (0..10_000).map(lost).collect()
        };
        let one = losses(0, 0, false);
        let count = one.iter().filter(|lost| **lost).count();
        assert!((1900..2100).contains(&count), "{count}");
        assert_ne!(losses(0, 1, false), one, "another lane");
        assert_eq!(losses(0, 0, true), one, "delays draw apart");
        assert!(losses(1, 0, false).iter().all(|lost| !lost), "the other direction");
    }
}
