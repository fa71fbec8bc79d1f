// SPDX-License-Identifier: Apache-2.0
//! Web-like traffic: users who fetch a page, read it, and fetch the next.

use rand_pcg::Pcg64;
use slotwise_random::{Pareto, exponential};
use slotwise_units::{Bytes, Duration, Instant};

use crate::endpoint::ConfigError;

/// How a user behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebConfig {
    /// Mean time between the end of a page, or with `open` its start, and the next request; exponential.
    pub mean_think: Duration,
    /// Requests come at their times whether earlier pages have ended or not (an open loop), up to [`MAX_OPEN_PAGES`] at once.
    pub open: bool,
    /// Mean size of a page.
    pub mean_size: Bytes,
    /// Shape of Pareto-distributed sizes, over 1; web measurements found about 1.2. `None`: they are exponentially distributed.
    pub shape: Option<f64>,
    /// Larger draws are cut to this.
    pub max_size: Bytes,
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
    /// Time of the next request.
    next: Instant,
    /// Transfers that have begun and not ended.
    under_way: u32,
    pages: u64,
}

impl WebUser {
    /// A user who begins to think at `start` and draws from `rng`.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: WebConfig, start: Instant, rng: Pcg64) -> Result<Self, ConfigError> {
        ConfigError::check("mean_bytes", config.mean_size.get(), 1..=1 << 40)?;
        ConfigError::check("max_bytes", config.max_size.get(), 1..=u64::MAX)?;
        config.shape.map(ConfigError::check_shape).transpose()?;
        let mut user = Self {
            sizes: config.shape.map(|shape| Pareto::new(config.mean_size.get(), shape)),
            config,
            rng,
            next: start,
            under_way: 0,
            pages: 0,
        };
        user.think(start);
        Ok(user)
    }

    fn think(&mut self, now: Instant) {
        let pause = exponential(&mut self.rng, self.config.mean_think.ns() as f64);
        self.next = now.saturating_add(Duration::from_ns(pause));
    }

    /// Time at which `poll` will give a size; none while as many transfers are under way as there can be.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let most = if self.config.open { MAX_OPEN_PAGES } else { 1 };
        (self.under_way < most).then_some(self.next)
    }

    /// The size of the transfer to start now, at least a byte.
    pub fn poll(&mut self, now: Instant) -> Option<Bytes> {
        let at = self.poll_timeout().filter(|at| *at <= now)?;
        self.under_way += 1;
        let bytes = match &self.sizes {
            Some(pareto) => pareto.draw(&mut self.rng),
            None => exponential(&mut self.rng, self.config.mean_size.get() as f64),
        };
        if self.config.open {
            self.think(at);
        }
        Some(Bytes::new(bytes.clamp(1, self.config.max_size.get())))
    }

    /// Notes that a transfer ended, well or not.
    pub fn finished(&mut self, now: Instant) {
        let Some(under_way) = self.under_way.checked_sub(1) else {
            return;
        };
        self.under_way = under_way;
        self.pages += 1;
        if !self.config.open {
            self.think(now);
        }
    }

    /// Transfers that ended.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}
