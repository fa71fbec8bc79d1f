// SPDX-License-Identifier: Apache-2.0
//! P4Runtime as clients see it: one program, since each would be linked with all that it tests.

mod arbitration;
mod cells;
mod configuration;
mod connections;
mod counters;
mod entities;
mod lockstep;
mod memory;
mod notifications;
mod packets;
mod ports;
mod reads;
mod reconcile;
mod refusals;
mod support;
mod tables;
mod tls;
