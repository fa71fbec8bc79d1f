// SPDX-License-Identifier: Apache-2.0
//! When a source that does not listen to the network sends.

use rand_pcg::Pcg64;

use crate::endpoint::ConfigError;
use crate::random::{Pareto, exponential};

const NS_PER_SECOND: u128 = 1_000_000_000;

/// When packets leave. Rates count what a packet's owner calls its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant {
        /// bit/s.
        rate_bps: u64,
    },
    /// A Poisson process.
    Poisson {
        /// Mean, bit/s.
        rate_bps: u64,
    },
    /// Bursts at a constant rate; bursts and silences have Pareto lengths. Many together are self-similar.
    OnOffPareto {
        /// In a burst, bit/s.
        peak_bps: u64,
        /// Mean length of a burst, ns.
        mean_on_ns: u64,
        /// Mean length of a silence, ns.
        mean_off_ns: u64,
        /// Of both distributions, over 1; 1.5 is usual.
        shape: f64,
    },
}

impl Arrivals {
    fn check(&self) -> Result<(), ConfigError> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let rate_bps = match *self {
            Arrivals::Constant { rate_bps } | Arrivals::Poisson { rate_bps } => rate_bps,
            Arrivals::OnOffPareto {
                peak_bps,
                mean_on_ns,
                mean_off_ns,
                shape,
            } => {
                ConfigError::check("mean_on_ns", mean_on_ns, 1..=HOUR_NS)?;
                ConfigError::check("mean_off_ns", mean_off_ns, 1..=HOUR_NS)?;
                ConfigError::check_shape(shape)?;
                peak_bps
            }
        };
        ConfigError::check("rate_bps", rate_bps, 1..=u64::MAX)
    }
}

/// Packets at an even rate from a moment on. Each time is counted from that moment, so that rounding does not add
/// up.
#[derive(Clone, Copy, Debug)]
struct Train {
    start_ns: u64,
    sent: u64,
    rate_bps: u64,
    packet_bits: u64,
}

impl Train {
    /// When the next packet leaves.
    fn advance(&mut self) -> u64 {
        self.sent += 1;
        let bits = u128::from(self.packet_bits) * u128::from(self.sent);
        let since_ns = bits * NS_PER_SECOND / u128::from(self.rate_bps);
        u64::try_from(u128::from(self.start_ns) + since_ns).unwrap_or(u64::MAX)
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
        burst_end_ns: u64,
        on: Pareto,
        off: Pareto,
    },
}

/// The times at which the packets of one source leave.
#[derive(Clone, Debug)]
pub struct Departures {
    rng: Pcg64,
    process: Process,
    next_ns: u64,
}

impl Departures {
    /// Packets of `packet_bytes`; the process begins at `start_ns` and draws from `rng`.
    ///
    /// # Errors
    /// When the process cannot work.
    pub fn new(arrivals: Arrivals, packet_bytes: u16, start_ns: u64, mut rng: Pcg64) -> Result<Self, ConfigError> {
        arrivals.check()?;
        let packet_bits = u64::from(packet_bytes) * 8;
        let train = |rate_bps| Train {
            start_ns,
            sent: 0,
            rate_bps,
            packet_bits,
        };
        let mut next_ns = start_ns;
        let process = match arrivals {
            Arrivals::Constant { rate_bps } => Process::Constant { train: train(rate_bps) },
            Arrivals::Poisson { rate_bps } => {
                let mean_gap_ns = packet_bits as f64 * NS_PER_SECOND as f64 / rate_bps as f64;
                next_ns = next_ns.saturating_add(exponential(&mut rng, mean_gap_ns));
                Process::Poisson { mean_gap_ns }
            }
            Arrivals::OnOffPareto {
                peak_bps,
                mean_on_ns,
                mean_off_ns,
                shape,
            } => {
                let on = Pareto::new(mean_on_ns, shape);
                Process::OnOff {
                    burst: train(peak_bps),
                    burst_end_ns: next_ns.saturating_add(on.draw(&mut rng)),
                    on,
                    off: Pareto::new(mean_off_ns, shape),
                }
            }
        };
        Ok(Self { rng, process, next_ns })
    }

    /// When the next packet leaves.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// It has left: draws when the one after it does.
    pub fn advance(&mut self) {
        self.next_ns = match &mut self.process {
            Process::Constant { train } => train.advance(),
            Process::Poisson { mean_gap_ns } => {
                let gap_ns = exponential(&mut self.rng, *mean_gap_ns);
                self.next_ns.saturating_add(gap_ns)
            }
            Process::OnOff {
                burst,
                burst_end_ns,
                on,
                off,
            } => {
                let next_ns = burst.advance();
                if next_ns < *burst_end_ns {
                    next_ns
                } else {
                    // A silence shorter than what is left of the packet's own time does not compress it.
                    let start_ns = next_ns.max(burst_end_ns.saturating_add(off.draw(&mut self.rng)));
                    *burst_end_ns = start_ns.saturating_add(on.draw(&mut self.rng));
                    *burst = Train {
                        start_ns,
                        sent: 0,
                        ..*burst
                    };
                    start_ns
                }
            }
        };
    }
}
