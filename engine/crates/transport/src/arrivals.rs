// SPDX-License-Identifier: Apache-2.0
//! When a source that does not listen to the network sends.

use rand_pcg::Pcg64;
use slotwise_random::{Pareto, exponential};
use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::endpoint::ConfigError;

/// When packets leave. Rates count what a packet's owner calls its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant {
        /// The rate.
        rate: Rate,
    },
    /// A Poisson process.
    Poisson {
        /// Mean.
        rate: Rate,
    },
    /// Bursts at a constant rate; bursts and silences have Pareto lengths. Many together are self-similar.
    OnOffPareto {
        /// In a burst.
        peak: Rate,
        /// Mean length of a burst.
        mean_on: Duration,
        /// Mean length of a silence.
        mean_off: Duration,
        /// Of both distributions, over 1; 1.5 is usual.
        shape: f64,
    },
}

impl Arrivals {
    fn check(&self) -> Result<(), ConfigError> {
        const HOUR_NS: u64 = Duration::from_s(3_600).ns();
        let rate = match *self {
            Arrivals::Constant { rate } | Arrivals::Poisson { rate } => rate,
            Arrivals::OnOffPareto {
                peak,
                mean_on,
                mean_off,
                shape,
            } => {
                ConfigError::check("mean_on_ns", mean_on.ns(), 1..=HOUR_NS)?;
                ConfigError::check("mean_off_ns", mean_off.ns(), 1..=HOUR_NS)?;
                ConfigError::check_shape(shape)?;
                peak
            }
        };
        ConfigError::check("rate_bps", rate.bps(), 1..=u64::MAX)
    }
}

/// Packets at an even rate from a moment on. Each time is counted from that moment, so that rounding does not add
/// up.
#[derive(Clone, Copy, Debug)]
struct Train {
    start: Instant,
    sent: u64,
    rate: Rate,
    packet: Bytes,
}

impl Train {
    /// When the next packet leaves.
    fn advance(&mut self) -> Instant {
        self.sent += 1;
        let sent = self.packet.saturating_mul(self.sent);
        self.start.saturating_add(self.rate.time_rounded_down(sent))
    }
}

/// Where the process stands.
#[derive(Clone, Copy, Debug)]
enum Process {
    Constant {
        train: Train,
    },
    Poisson {
        mean_gap_ns: f64,
    },
    OnOff {
        burst: Train,
        burst_end: Instant,
        on: Pareto,
        off: Pareto,
    },
}

/// The times at which the packets of one source leave.
#[derive(Clone, Debug)]
pub struct Departures {
    rng: Pcg64,
    process: Process,
    next: Instant,
}

impl Departures {
    /// Packets of `packet_bytes`; the process begins at `start` and draws from `rng`.
    ///
    /// # Errors
    /// When the process cannot work.
    pub fn new(arrivals: Arrivals, packet_bytes: u16, start: Instant, mut rng: Pcg64) -> Result<Self, ConfigError> {
        arrivals.check()?;
        let packet = Bytes::new(packet_bytes.into());
        let train = |rate| Train {
            start,
            sent: 0,
            rate,
            packet,
        };
        let mut next = start;
        let process = match arrivals {
            Arrivals::Constant { rate } => Process::Constant { train: train(rate) },
            Arrivals::Poisson { rate } => {
                let mean_gap_ns = packet.bits() as f64 * 1e9 / rate.bps() as f64;
                next = next.saturating_add(Duration::from_ns(exponential(&mut rng, mean_gap_ns)));
                Process::Poisson { mean_gap_ns }
            }
            Arrivals::OnOffPareto {
                peak,
                mean_on,
                mean_off,
                shape,
            } => {
                let on = Pareto::new(mean_on.ns(), shape);
                Process::OnOff {
                    burst: train(peak),
                    burst_end: next.saturating_add(Duration::from_ns(on.draw(&mut rng))),
                    on,
                    off: Pareto::new(mean_off.ns(), shape),
                }
            }
        };
        Ok(Self { rng, process, next })
    }

    /// When the next packet leaves.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// It has left: draws when the one after it does.
    pub fn advance(&mut self) {
        self.next = match &mut self.process {
            Process::Constant { train } => train.advance(),
            Process::Poisson { mean_gap_ns } => {
                let gap = exponential(&mut self.rng, *mean_gap_ns);
                self.next.saturating_add(Duration::from_ns(gap))
            }
            Process::OnOff {
                burst,
                burst_end,
                on,
                off,
            } => {
                let next = burst.advance();
                if next < *burst_end {
                    next
                } else {
                    // A silence shorter than what is left of the packet's own time does not compress it.
                    let start = next.max(burst_end.saturating_add(Duration::from_ns(off.draw(&mut self.rng))));
                    *burst_end = start.saturating_add(Duration::from_ns(on.draw(&mut self.rng)));
                    *burst = Train {
                        start,
                        sent: 0,
                        ..*burst
                    };
                    start
                }
            }
        };
    }
}
