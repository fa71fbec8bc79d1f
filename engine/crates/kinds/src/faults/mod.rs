// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose: drawn from the seed, done to the network, and watched until it is well again.

mod act;
pub(crate) mod flows;
pub(crate) mod plan;
