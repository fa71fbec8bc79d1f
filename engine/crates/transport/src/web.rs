// SPDX-License-Identifier: Apache-2.0
//! Web-like traffic: users who fetch a page, read it, and fetch the next.

use rand_pcg::Pcg64;

use crate::endpoint::ConfigError;
use crate::random::{Pareto, exponential};

/// How a user behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebConfig {
    /// Mean time between the end of a page and the next request, ns; exponential.
    pub mean_think_ns: u64,
    /// Mean size of a page, bytes.
    pub mean_bytes: u64,
    /// Shape of Pareto-distributed sizes, over 1; web measurements found about 1.2. `None`: they are exponentially distributed.
    pub shape: Option<f64>,
    /// Larger draws are cut to this many bytes.
    pub max_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Thinking { until_ns: u64 },
    Fetching,
}

/// One user: alternates between thinking and one transfer.
///
/// When [`WebUser::poll`] gives a size, start a transfer of it; when that ends, call [`WebUser::finished`].
#[derive(Clone, Debug)]
pub struct WebUser {
    config: WebConfig,
    sizes: Option<Pareto>,
    rng: Pcg64,
    state: State,
    pages: u64,
}

impl WebUser {
    /// A user who begins to think at `start_ns` and draws from `rng`.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: WebConfig, start_ns: u64, rng: Pcg64) -> Result<Self, ConfigError> {
        ConfigError::check("mean_bytes", config.mean_bytes, 1..=1 << 40)?;
        ConfigError::check("max_bytes", config.max_bytes, 1..=u64::MAX)?;
        config.shape.map(ConfigError::check_shape).transpose()?;
        let mut user = Self {
            sizes: config.shape.map(|shape| Pareto::new(config.mean_bytes, shape)),
            config,
            rng,
            state: State::Fetching,
            pages: 0,
        };
        user.think(start_ns);
        Ok(user)
    }

    fn think(&mut self, now_ns: u64) {
        let pause_ns = exponential(&mut self.rng, self.config.mean_think_ns as f64);
        self.state = State::Thinking {
            until_ns: now_ns.saturating_add(pause_ns),
        };
    }

    /// When `poll` will give a size, ns; none while a transfer is under way.
    pub fn poll_timeout(&self) -> Option<u64> {
        match self.state {
            State::Thinking { until_ns } => Some(until_ns),
            State::Fetching => None,
        }
    }

    /// The size of the transfer to start now, bytes (at least 1).
    pub fn poll(&mut self, now_ns: u64) -> Option<u64> {
        self.poll_timeout().filter(|until_ns| *until_ns <= now_ns)?;
        self.state = State::Fetching;
        let bytes = match &self.sizes {
            Some(pareto) => pareto.draw(&mut self.rng),
            None => exponential(&mut self.rng, self.config.mean_bytes as f64),
        };
        Some(bytes.clamp(1, self.config.max_bytes))
    }

    /// The transfer ended, well or not.
    pub fn finished(&mut self, now_ns: u64) {
        if self.state == State::Fetching {
            self.pages += 1;
            self.think(now_ns);
        }
    }

    /// Transfers that ended.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}
