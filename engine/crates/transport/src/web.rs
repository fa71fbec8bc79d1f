// SPDX-License-Identifier: Apache-2.0
//! Web-like traffic: users who fetch a page, read it, and fetch the next.

use rand_pcg::Pcg64;

use crate::endpoint::ConfigError;
use crate::random::{Pareto, exponential};

/// How a user behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebConfig {
    /// Mean time between the end of a page, or with `open` its start, and the next request, ns; exponential.
    pub mean_think_ns: u64,
    /// Requests come at their times whether earlier pages have ended or not (an open loop), up to [`MAX_OPEN_PAGES`] at once.
    pub open: bool,
    /// Mean size of a page, bytes.
    pub mean_bytes: u64,
    /// Shape of Pareto-distributed sizes, over 1; web measurements found about 1.2. `None`: they are exponentially distributed.
    pub shape: Option<f64>,
    /// Larger draws are cut to this many bytes.
    pub max_bytes: u64,
}

/// Pages of one open-loop user that can overlap; the next request waits until one of them ends.
pub const MAX_OPEN_PAGES: u32 = 200;

/// One user. Without `open` it alternates between thinking and one transfer; with it, transfers overlap.
///
/// When [`WebUser::poll`] gives a size, start a transfer of it; when that ends, call [`WebUser::finished`].
#[derive(Clone, Debug)]
pub struct WebUser {
    config: WebConfig,
    sizes: Option<Pareto>,
    rng: Pcg64,
    /// Time of the next request, ns.
    next_ns: u64,
    /// Transfers that have begun and not ended.
    under_way: u32,
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
            next_ns: start_ns,
            under_way: 0,
            pages: 0,
        };
        user.think(start_ns);
        Ok(user)
    }

    fn think(&mut self, now_ns: u64) {
        let pause_ns = exponential(&mut self.rng, self.config.mean_think_ns as f64);
        self.next_ns = now_ns.saturating_add(pause_ns);
    }

    /// Time at which `poll` will give a size, ns; none while as many transfers are under way as there can be.
    pub fn poll_timeout(&self) -> Option<u64> {
        let most = if self.config.open { MAX_OPEN_PAGES } else { 1 };
        (self.under_way < most).then_some(self.next_ns)
    }

    /// The size of the transfer to start now, bytes (at least 1).
    pub fn poll(&mut self, now_ns: u64) -> Option<u64> {
        let at_ns = self.poll_timeout().filter(|at_ns| *at_ns <= now_ns)?;
        self.under_way += 1;
        let bytes = match &self.sizes {
            Some(pareto) => pareto.draw(&mut self.rng),
            None => exponential(&mut self.rng, self.config.mean_bytes as f64),
        };
        if self.config.open {
            self.think(at_ns);
        }
        Some(bytes.clamp(1, self.config.max_bytes))
    }

    /// Notes that a transfer ended, well or not.
    pub fn finished(&mut self, now_ns: u64) {
        let Some(under_way) = self.under_way.checked_sub(1) else {
            return;
        };
        self.under_way = under_way;
        self.pages += 1;
        if !self.config.open {
            self.think(now_ns);
        }
    }

    /// Transfers that ended.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}
