// SPDX-License-Identifier: Apache-2.0
//! Tables of lambda networks: of those with packets, and of those that `reproduce` calculates with rates alone.

use super::{ratio, table};

/// A session in a period. Rates have any one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionPeriod {
    /// Sending rate.
    pub rate: f64,
    /// Max-min rate.
    pub fair: f64,
    /// Capacity of its source.
    pub capacity: f64,
    /// Demand.
    pub demand: f64,
    /// Rates of 1 Mb/s.
    pub per_mbps: f64,
}

table! {
    /// Sessions of a lambda network; a row per session, `CASE/NUMBER` from 1 or with packets `GROUP.i`, and period in which it was active throughout.
    /// Rates are means over the period, with packets of IP bits.
    Sessions by session = |p, s: SessionPeriod| {
        rate_mbps "sending rate" [Mb/s] = s.rate / s.per_mbps;
        fair_mbps "max-min rate among the active sessions" [Mb/s] = s.fair / s.per_mbps;
        ratio_to_fair "ratio of the two" = ratio(s.rate, s.fair);
        ratio_to_capacity "sending rate divided by the capacity of its source" = s.rate / s.capacity;
        ratio_to_demand "sending rate divided by demand" = ratio(s.rate, s.demand);
    }
}

/// A whole network in a period. Rates have any one unit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NetworkPeriod {
    /// D, divided by the largest capacity.
    pub distance: f64,
    /// D0, divided by the largest capacity.
    pub d0: f64,
    /// Distance beyond that of the slowest synchronous network.
    pub above_slow: f64,
    /// Distance of the fastest synchronous network beyond this one.
    pub below_fast: f64,
    /// Largest load of a node.
    pub load: f64,
    /// Largest total granted by one calculation.
    pub granted: f64,
    /// Sending rate of all sessions.
    pub rate: f64,
    /// Max-min rates of all sessions.
    pub fair: f64,
    /// Capacity of all sources.
    pub capacity: f64,
    /// Largest deviation of a rate, divided by the largest capacity.
    pub worst: f64,
    /// Rates of 1 Mb/s.
    pub per_mbps: f64,
}

table! {
    /// Lambda networks against max-min rates; a row per network (`CASE`, with packets the scenario's name) and period.
    /// With packets `above_slow`, `below_fast`, `load` and `granted` are 0.
    Distances by case = |p, n: NetworkPeriod| {
        distance "D: 2-norm of the deviation from max-min rates, divided by the largest capacity" = n.distance;
        d0 "D0: D if all rates were 0" = n.d0;
        normalized_distance "ratio of the two" = ratio(n.distance, n.d0);
        above_slow "D minus that of the synchronous network with the longest requested slot, divided by D0" = n.above_slow;
        below_fast "D of the synchronous network with the shortest slot minus D, divided by D0" = n.below_fast;
        load "largest load of a node over the window, divided by its capacity; 0 without a window" = n.load;
        granted "largest total granted by one calculation, divided by the capacity of the node" = n.granted;
        rate_mbps "sending rate of all sessions" [Mb/s] = n.rate / n.per_mbps;
        fair_mbps "max-min rates of all sessions" [Mb/s] = n.fair / n.per_mbps;
        used "sending rate of all sessions divided by the capacity of all sources" = ratio(n.rate, n.capacity);
        worst "largest deviation of a rate from its max-min rate, divided by the largest capacity" = n.worst;
    }
}

/// A number of the oracle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub f64);

table! {
    /// Single numbers of the oracle of lambda networks.
    Numbers by number at "1" = |p, number: Number| {
        value "the number" = number.0;
    }
}
