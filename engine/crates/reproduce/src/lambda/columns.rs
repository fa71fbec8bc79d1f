// SPDX-License-Identifier: Apache-2.0
//! What is written down of lambda networks.

use crate::record::{Column, Table, column};

/// Of sessions; the names, `CASE/NUMBER` from 1, or with packets `GROUP.i`, are in column `session`. Rates are means over the period, with
/// packets of IP bits.
pub const SESSION_COLUMNS: [Column; 6] = [
    column("time_s", "end of the period, s"),
    column("rate_mbps", "what it sent, Mb/s"),
    column("fair_mbps", "its max-min rate among those that are there, Mb/s"),
    column("part_of_fair", "one by the other"),
    column("part_of_capacity", "what it sent by the capacity of its source"),
    column("part_of_demand", "what it sent by what it wants"),
];

/// Of whole networks; the names of cases, or with packets that of the scenario, are in column `case`. With packets there is nothing in step to
/// compare with, and `load` and `granted` are 0.
pub const DISTANCE_COLUMNS: [Column; 12] = [
    column("time_s", "end of the period, s"),
    column(
        "distance",
        "D, the 2-norm of rates less max-min rates, by the largest capacity",
    ),
    column("from_zero", "D0, the same if all rates were 0"),
    column("part", "one by the other"),
    column(
        "above_slow",
        "D less that of the same network in step with the longest of the slots asked for, by D0",
    ),
    column(
        "below_fast",
        "D of the same network in step with the shortest slot less its own, by D0",
    ),
    column(
        "load",
        "most that was offered to a node over the window, by its capacity; 0 if no window is asked for",
    ),
    column("granted", "most that one calculation granted, by its node's capacity"),
    column("rate_mbps", "what all sessions sent, Mb/s"),
    column("fair_mbps", "their max-min rates, Mb/s"),
    column("used", "what all sent by the capacities of all sources"),
    column(
        "worst",
        "largest difference of a rate from its max-min rate, by the largest capacity",
    ),
];

/// Of single numbers.
pub const NUMBER_COLUMNS: [Column; 2] = [column("time_s", "1"), column("value", "the number")];

/// An empty table of sessions.
pub(crate) fn sessions() -> Table {
    Table::new("session", &SESSION_COLUMNS)
}

/// An empty table of networks.
pub(crate) fn distances() -> Table {
    Table::new("case", &DISTANCE_COLUMNS)
}

/// An empty table of numbers.
pub(crate) fn numbers() -> Table {
    Table::new("number", &NUMBER_COLUMNS)
}
