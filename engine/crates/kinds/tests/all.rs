// SPDX-License-Identifier: Apache-2.0
//! Networks in virtual time: one program, since each would be linked with all that it tests.

mod agents;
mod capture_filter;
mod combiner;
mod cuts;
mod external;
mod faults;
mod gtp;
mod injected;
mod mixed;
mod ops;
mod ops_share;
mod ops_trains;
mod ops_ways;
mod out_of_band;
mod power;
mod ring;
mod rooms;
mod routed;
mod simulation;
mod sources;
mod star_trains;
mod stars;
mod support;
mod synchronization;
mod tcp_settings;
mod timing;
mod workloads;
mod xcp;
