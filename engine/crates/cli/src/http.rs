// SPDX-License-Identifier: Apache-2.0
//! HTTP clients of this program.

use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// Settings of a client that talks to the named server only: a token must reach no proxy of the environment and no redirect target.
/// A request fails after `patience`.
pub fn direct(patience: Duration) -> ConfigBuilder<AgentScope> {
    ureq::Agent::config_builder()
        .timeout_global(Some(patience))
        .max_redirects(0)
        .proxy(None)
}
