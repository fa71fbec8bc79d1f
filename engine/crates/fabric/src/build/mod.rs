// SPDX-License-Identifier: Apache-2.0
//! From a scenario to its network. Only what is here reads what a scenario says of one kind of network.

mod routed;
mod star;

pub(crate) use routed::router_mac;
