// SPDX-License-Identifier: Apache-2.0
//! What is written down of lambda networks.

use super::{Column, Table, column};

/// Of sessions; the names, `CASE/NUMBER` from 1, or with packets `GROUP.i`, are in column `session`. Rates are means over the period, with
/// packets of IP bits.
pub const SESSION_COLUMNS: [Column; 6] = [
    column("time_s", "end of the period, s"),
    column("rate_mbps", "sending rate, Mb/s"),
    column("fair_mbps", "max-min rate among the active sessions, Mb/s"),
    column("part_of_fair", "ratio of the two"),
    column("part_of_capacity", "sending rate divided by the capacity of its source"),
    column("part_of_demand", "sending rate divided by demand"),
];

/// Of whole networks; the names of cases, or with packets that of the scenario, are in column `case`. With packets there is nothing in step to
/// compare with, and `load` and `granted` are 0.
pub const DISTANCE_COLUMNS: [Column; 12] = [
    column("time_s", "end of the period, s"),
    column(
        "distance",
        "D: 2-norm of the deviation from max-min rates, divided by the largest capacity",
    ),
    column("from_zero", "D0: D if all rates were 0"),
    column("part", "ratio of the two"),
    column(
        "above_slow",
        "D minus that of the synchronous network with the longest requested slot, divided by D0",
    ),
    column(
        "below_fast",
        "D of the synchronous network with the shortest slot minus D, divided by D0",
    ),
    column(
        "load",
        "largest load of a node over the window, divided by its capacity; 0 without a window",
    ),
    column(
        "granted",
        "largest total granted by one calculation, divided by the capacity of the node",
    ),
    column("rate_mbps", "sending rate of all sessions, Mb/s"),
    column("fair_mbps", "max-min rates of all sessions, Mb/s"),
    column(
        "used",
        "sending rate of all sessions divided by the capacity of all sources",
    ),
    column(
        "worst",
        "largest deviation of a rate from its max-min rate, divided by the largest capacity",
    ),
];

/// Of single numbers.
pub const NUMBER_COLUMNS: [Column; 2] = [column("time_s", "1"), column("value", "the number")];

/// An empty table of sessions.
pub(super) fn sessions() -> Table {
    Table::new("session", &SESSION_COLUMNS)
}

/// An empty table of networks.
pub(super) fn distances() -> Table {
    Table::new("case", &DISTANCE_COLUMNS)
}

/// An empty table of numbers.
pub(super) fn numbers() -> Table {
    Table::new("number", &NUMBER_COLUMNS)
}
