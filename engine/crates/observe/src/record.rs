// SPDX-License-Identifier: Apache-2.0
//! What a run measures: tables with one row a link, queue or flow and period.

mod lambda;
mod names;
mod ops;

use crate::recorders::gtp;

pub use lambda::{DISTANCE_COLUMNS, NUMBER_COLUMNS, SESSION_COLUMNS};
pub use names::{TableName, names};
pub use ops::{OUTPUT_COLUMNS, SWITCH_COLUMNS, TRAIN_COLUMNS};

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub meaning: &'static str,
}

pub(crate) const fn column(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning }
}

/// Of links between routers; the names are in column `link`.
pub const LINK_COLUMNS: [Column; 10] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "IP bits of packets that began transmission, divided by the bits that the link rate allows in the period",
    ),
    column(
        "rated_utilization",
        "the same, relative to the rate at the start of the run",
    ),
    column("queue_packets", "packets waiting at the end of the period"),
    column("queue_bytes", "IP bytes waiting at the end of the period"),
    column(
        "mean_queue_packets",
        "mean packets waiting: total waiting time of the arrivals divided by the period (Little's law)",
    ),
    column("most_queue_packets", "maximum packets waiting"),
    column("wait_ms", "mean waiting time of the packets queued, ms"),
    column("arrived_packets", "packets that arrived"),
    column(
        "dropped_packets",
        "packets dropped: buffer full, link down on arrival, or link or router failed while they waited",
    ),
];

/// Of stations of a ring; the names, `STATION/RINGLET`, are in column `station`. Rates and bytes are those on the ring.
pub const STATION_COLUMNS: [Column; 30] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "fraction of the period in which the outgoing link was busy",
    ),
    column(
        "added_kbps",
        "add traffic: rate of the station's hosts on the link, kbit/s",
    ),
    column(
        "transit_kbps",
        "transit traffic: rate of other stations on the link, kbit/s",
    ),
    column("messages", "messages sent"),
    column("message_kbps", "rate of these messages, kbit/s"),
    column(
        "offered_packets",
        "packets offered by the station's hosts, including lost ones",
    ),
    column(
        "accepted_kbps",
        "rate of the offered packets that were not lost, kbit/s",
    ),
    column("added_packets", "packets added to the link"),
    column(
        "hol_within_ms",
        "of these, packets with a head-of-line delay below 1 ms",
    ),
    column("hol_ms", "mean head-of-line delay, ms"),
    column("longest_hol_ms", "maximum of these delays, ms"),
    column("access_ms", "mean waiting time in the station, ms"),
    column("longest_access_ms", "maximum of these delays, ms"),
    column(
        "crossing_ms",
        "mean ring delay, from arrival at the station to the last bit at the destination, ms; both ringlets in the rows of ringlet 0",
    ),
    column("delivered_packets", "packets in this mean"),
    column(
        "longest_transit_us",
        "maximum waiting time of a transit packet for the link, us",
    ),
    column("queue_bytes", "bytes waiting to be added at the end of the period"),
    column("most_queue_bytes", "maximum of these bytes"),
    column("dropped_packets", "packets dropped by the line card"),
    column("dropped_transit_packets", "of these, transit packets"),
    column(
        "congested",
        "fraction of the intervals in which the station was head of a congestion domain",
    ),
    column("onsets", "times it became head"),
    column(
        "timer_onsets",
        "of these, because a packet waited longer than the timer",
    ),
    column(
        "span",
        "active stations in its congestion domain at the end of the period; 0 without congestion",
    ),
    column("carried_kbps", "link throughput without messages, kbit/s"),
    column(
        "estimate_kbps",
        "estimate of the link throughput at the end of the period, kbit/s",
    ),
    column("estimate_off_kbps", "error of that estimate, kbit/s"),
    column(
        "told_kbps",
        "advertised rate of the station as head, per weight, kbit/s; at most the link rate",
    ),
    column(
        "limit_kbps",
        "lowest add rate allowed to the station, per weight, kbit/s; at most the link rate",
    ),
];

/// Of what packets wait on a ring, a row a station and length; the names, `STATION/RINGLET`, are in column `station`.
pub const DELAY_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period (1 s, or the rest of the run), s"),
    column("up_to_ms", "waiting time, 1 % resolution, ms"),
    column("hol_packets", "packets with this head-of-line delay"),
    column(
        "access_packets",
        "packets with this waiting time in the station; at an edge, bursts paced by their macroflow for this time",
    ),
    column(
        "crossing_packets",
        "packets with this ring delay; both ringlets in the rows of ringlet 0",
    ),
];

/// Of what a ring, or a mesh of optical packet switches, should give; the names, `FROM-TO`, are in column `pair`. Rates are those on the ring, in a mesh
/// those of IP packets.
pub const FAIRNESS_COLUMNS: [Column; 4] = [
    column("time_s", "end of the period, s"),
    column(
        "rate_kbps",
        "delivered rate of all flows from one station or edge to another, kbit/s",
    ),
    column(
        "fair_kbps",
        "fair rate (ring: RIAS, mesh: max-min) with demand-limited sources at their sending rate, kbit/s",
    ),
    column("links", "links on the path; in a mesh, switch outputs"),
];

/// Of how soon a ring answers; the names, those of the flow that begins, are in column `flow`.
pub const REACTION_COLUMNS: [Column; 2] = [
    column("time_s", "start of a flow, s"),
    column(
        "settled_ms",
        "time until the add rates of all stations on the most loaded link are within 10 % of their fair rates, ms; if never, the observation time",
    ),
];

/// Of flows; the names, `GROUP.i`, are in column `flow`.
pub const FLOW_COLUMNS: [Column; 9] = [
    column("time_s", "end of the period, s"),
    column(
        "window_packets",
        "congestion window at the end of the period, full segments",
    ),
    column("rtt_ms", "smoothed round-trip time at the end of the period, ms"),
    column(
        "rate_kbyte_s",
        "window divided by round-trip time (sending rate of the thesis), 1000 IP bytes/s",
    ),
    column("goodput_kbps", "in-order payload received, kbit/s"),
    column(
        "delay_ms",
        "mean end-to-end delay of the packets received, ms; without packets, the value of the previous period",
    ),
    column("longest_delay_ms", "maximum end-to-end delay, ms; same rule"),
    column("retransmissions", "retransmissions since the start"),
    column("timeouts", "retransmission timeouts since the start"),
];

/// Of flows with `measure: true`, what they did in each period; the names, `GROUP.i`, are in column `flow`. Orders are those in which
/// packets with data were sent and arrived (RFC 4737).
pub const ORDER_COLUMNS: [Column; 27] = [
    column("time_s", "end of the period, s"),
    column("packets", "data packets received"),
    column("delay_ms", "mean of the end-to-end delay, ms"),
    column("delay_deviation_ms", "standard deviation of the end-to-end delay, ms"),
    column("reordered", "of these, packets received after one sent later"),
    column("reordered_1", "1-reordered packets (n-reordering, RFC 4737)"),
    column("reordered_3", "3-reordered packets"),
    column("mean_extent", "mean reordering extent, packets"),
    column("most_extent", "maximum reordering extent, packets; at most 1024"),
    column("sent", "data segments or datagrams sent, including retransmissions"),
    column("retransmissions", "retransmissions"),
    column(
        "needless_retransmissions",
        "of these, spurious ones: the receiver had, or got twice, every byte",
    ),
    column("fast_retransmits", "fast recoveries"),
    column(
        "needless_fast_retransmits",
        "of these, recoveries whose first retransmission was spurious",
    ),
    column("timeouts", "retransmission timeouts"),
    column(
        "goodput_kbps",
        "in-order payload received for the first time, kbit/s; for UDP, all payload",
    ),
    column("acknowledgments", "pure acknowledgments received by the sender"),
    column(
        "bunched_acknowledgments",
        "of these, acknowledgments within 24 us of the previous one (ACK compression)",
    ),
    column(
        "least_gap_us",
        "minimum time between two packets sent and received back to back, us; 0 without any",
    ),
    column("most_gap_us", "maximum of this time, us"),
    column(
        "losses",
        "loss episodes: recoveries or timeouts after all data in flight at the previous one was acknowledged",
    ),
    column(
        "windows_before_losses_bytes",
        "sum of the congestion windows just before these episodes",
    ),
    column(
        "deflected_trains",
        "deflected bursts with its segments that arrived, each counted once",
    ),
    column("lost_trains", "bursts with its segments lost on a link between edges"),
    column(
        "timed_out_trains",
        "lost bursts, also of earlier periods, whose segments were all acknowledged in this period after a timeout that followed the loss",
    ),
    column(
        "lost_long_trains",
        "of the lost bursts, those with at least three of its segments",
    ),
    column("timed_out_long_trains", "of those with a timeout, the same"),
];

/// Of a star's VOQs; the names, `edgeA->edgeB`, are in column `queue`. Bytes are those on the fibre.
pub const QUEUE_COLUMNS: [Column; 11] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column("backlog_bytes", "bytes waiting at the end of the period"),
    column("backlog_packets", "packets waiting at the end of the period"),
    column("mean_backlog_bytes", "bytes waiting, averaged over the period"),
    column("most_backlog_bytes", "maximum bytes waiting"),
    column("granted_slots", "slots granted"),
    column("granted_bytes", "capacity of these slots in full-size packets, bytes"),
    column("sent_bytes", "bytes sent on the fibre"),
    column("sent_packets", "packets sent on the fibre"),
    column("arrived_packets", "packets that arrived"),
    column("dropped_packets", "packets dropped: queue full"),
];

/// Of a star's fibres, where light enters; the names, `edgeA->coreB` and `coreB->edgeA`, are in column `port`.
pub const PORT_COLUMNS: [Column; 4] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "utilization",
        "fraction of the time in transmission; guard times and signaling slots count as time",
    ),
    column("sent_bytes", "bytes sent on the fibre"),
    column("sent_packets", "packets sent on the fibre"),
];

/// Of hosts' access links; the names, `hA_B->edgeA` and `edgeA->hA_B`, are in column `access`.
pub const ACCESS_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "utilization",
        "bits of the frames sent, divided by the bits that the link rate allows",
    ),
    column("sent_bytes", "bytes of the frames sent"),
    column("sent_packets", "frames sent"),
    column("dropped_packets", "frames dropped: queue full"),
];

/// Of a star's signaling; the names, `coreC`, are in column `core`.
pub const CONTROL_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "ungranted_percent",
        "slots of an edge without a granted VOQ, percent of all slots; mean over the edges",
    ),
    column(
        "signaling_percent",
        "signaling overhead: bytes of requests and beacons sent, in or out of band, relative to the length of their slots",
    ),
    column("schedules", "schedules activated"),
    column(
        "delay_slots",
        "slots from the start of a request's frame to the start of the resulting schedule, mean over the schedules activated; \
         without any, the value of the previous period",
    ),
];

/// Of edges that follow their master's clock; the names, `edgeE`, are in column `edge`. Errors are expected less actual
/// time at the core, as in table 3.2 of the AAPN thesis: negative is late.
pub const CLOCK_COLUMNS: [Column; 6] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column("slots", "slots started by the edge"),
    column("max_error_ns", "maximum slot timing error (positive: early), ns"),
    column("min_error_ns", "minimum slot timing error (negative: late), ns"),
    column("mean_error_ns", "mean slot timing error, ns"),
    column("worst_error_ns", "maximum absolute slot timing error, ns"),
];

/// Of a benchmark's kept figures; the names, `SCHEDULER SIZE LOAD START`, are in column `case`.
pub const KEPT_COLUMNS: [Column; 4] = [
    column("time_s", "1"),
    column("p50_us", "median of a call, us"),
    column("p99_us", "99th percentile of a call, us"),
    column("max_us", "longest call, us"),
];

/// Rows with a name and numbers, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name of the column of names.
    pub key: &'static str,
    /// The columns of numbers.
    pub columns: &'static [Column],
    /// A name a row.
    pub names: Vec<String>,
    /// For each column, a number a row.
    pub numbers: Vec<Vec<f64>>,
}

impl Table {
    /// An empty table of links.
    pub fn links() -> Table {
        Table::new("link", &LINK_COLUMNS)
    }

    /// An empty table of stations of a ring.
    pub fn stations() -> Table {
        Table::new("station", &STATION_COLUMNS)
    }

    /// An empty table of wavelengths for data.
    pub fn outputs() -> Table {
        Table::new("output", &OUTPUT_COLUMNS)
    }

    /// An empty table of optical packet switches.
    pub fn switches() -> Table {
        Table::new("switch", &SWITCH_COLUMNS)
    }

    /// An empty table of trains.
    pub fn trains() -> Table {
        Table::new("edge", &TRAIN_COLUMNS)
    }

    /// An empty table of waits at stations of a ring, or at edges with macroflows.
    pub fn delays() -> Table {
        Table::new("station", &DELAY_COLUMNS)
    }

    /// An empty table of what a ring should give.
    pub fn fairness() -> Table {
        Table::new("pair", &FAIRNESS_COLUMNS)
    }

    /// An empty table of a ring's answers.
    pub fn reactions() -> Table {
        Table::new("flow", &REACTION_COLUMNS)
    }

    /// An empty table of flows.
    pub fn flows() -> Table {
        Table::new("flow", &FLOW_COLUMNS)
    }

    /// An empty table of the order of flows' packets.
    pub fn order() -> Table {
        Table::new("flow", &ORDER_COLUMNS)
    }

    /// An empty table of a star's VOQs.
    pub fn queues() -> Table {
        Table::new("queue", &QUEUE_COLUMNS)
    }

    /// An empty table of a star's fibres.
    pub fn ports() -> Table {
        Table::new("port", &PORT_COLUMNS)
    }

    /// An empty table of access links.
    pub fn access() -> Table {
        Table::new("access", &ACCESS_COLUMNS)
    }

    /// An empty table of a star's signaling.
    pub fn control() -> Table {
        Table::new("core", &CONTROL_COLUMNS)
    }

    /// An empty table of edges' clocks.
    pub fn clocks() -> Table {
        Table::new("edge", &CLOCK_COLUMNS)
    }

    /// An empty table of kept figures.
    pub fn kept() -> Table {
        Table::new("case", &KEPT_COLUMNS)
    }

    pub(crate) fn new(key: &'static str, columns: &'static [Column]) -> Table {
        Table {
            key,
            columns,
            names: Vec::new(),
            numbers: vec![Vec::new(); columns.len()],
        }
    }

    /// Adds a row; `numbers` in the order of the columns.
    pub fn push<const N: usize>(&mut self, name: &str, numbers: [f64; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.names.push(name.to_owned());
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
    }

    /// Adds the rows of another table of the same columns.
    fn append(&mut self, other: Table) {
        self.names.extend(other.names);
        for (column, numbers) in self.numbers.iter_mut().zip(other.numbers) {
            column.extend(numbers);
        }
    }

    /// Index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// (time in s, value) of one name's rows, in order of time.
    pub fn series(&self, name: &str, column: usize) -> Vec<(f64, f64)> {
        let rows = self.names.iter().enumerate().filter(|(_, row)| *row == name);
        rows.map(|(row, _)| (self.numbers[0][row], self.numbers[column][row]))
            .collect()
    }
}

/// The tables of a run: links and flows where there are routers; stations, delays, fairness, reactions and flows of a ring; outputs, switches and flows of optical packet
/// switches; all but links and kept figures of a star.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Links between routers.
    pub links: Table,
    /// Stations of a ring.
    pub stations: Table,
    /// Wavelengths for data of optical packet switches.
    pub outputs: Table,
    /// Optical packet switches.
    pub switches: Table,
    /// Trains of their edges.
    pub trains: Table,
    /// Waits on a ring.
    pub delays: Table,
    /// What a ring should give.
    pub fairness: Table,
    /// How soon a ring answers.
    pub reactions: Table,
    /// Flows.
    pub flows: Table,
    /// Order of their packets.
    pub order: Table,
    /// Sessions of GTP.
    pub gtp: Table,
    /// VOQs.
    pub queues: Table,
    /// Ends of fibres.
    pub ports: Table,
    /// Access links.
    pub access: Table,
    /// Signaling.
    pub control: Table,
    /// Clocks.
    pub clocks: Table,
    /// Kept figures.
    pub kept: Table,
    /// Sessions of lambda networks.
    pub sessions: Table,
    /// Lambda networks.
    pub distances: Table,
    /// Single numbers of the oracle of lambda networks.
    pub numbers: Table,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording {
            links: Table::links(),
            stations: Table::stations(),
            outputs: Table::outputs(),
            switches: Table::switches(),
            trains: Table::trains(),
            delays: Table::delays(),
            fairness: Table::fairness(),
            reactions: Table::reactions(),
            flows: Table::flows(),
            order: Table::order(),
            gtp: gtp::table(),
            queues: Table::queues(),
            ports: Table::ports(),
            access: Table::access(),
            control: Table::control(),
            clocks: Table::clocks(),
            kept: Table::kept(),
            sessions: lambda::sessions(),
            distances: lambda::distances(),
            numbers: lambda::numbers(),
        }
    }
}

impl Recording {
    /// The tables with the names of their files.
    pub fn tables(&self) -> [(&'static str, &Table); 20] {
        [
            ("links", &self.links),
            ("stations", &self.stations),
            ("outputs", &self.outputs),
            ("switches", &self.switches),
            ("trains", &self.trains),
            ("delays", &self.delays),
            ("fairness", &self.fairness),
            ("reactions", &self.reactions),
            ("flows", &self.flows),
            ("order", &self.order),
            ("gtp", &self.gtp),
            ("queues", &self.queues),
            ("ports", &self.ports),
            ("access", &self.access),
            ("control", &self.control),
            ("clocks", &self.clocks),
            ("kept", &self.kept),
            ("sessions", &self.sessions),
            ("distances", &self.distances),
            ("numbers", &self.numbers),
        ]
    }

    /// That of a star, and what was written down of routers, or of a ring, in the same run.
    pub fn with_routers(mut self, routed: Recording) -> Recording {
        self.links = routed.links;
        self.stations = routed.stations;
        self.outputs = routed.outputs;
        self.switches = routed.switches;
        self.trains = routed.trains;
        self.delays = routed.delays;
        self.fairness = routed.fairness;
        self.reactions = routed.reactions;
        self.flows.append(routed.flows);
        self.order = routed.order;
        self.gtp = routed.gtp;
        self.sessions = routed.sessions;
        self.distances = routed.distances;
        self
    }

    /// The same, to be filled.
    pub fn tables_mut(&mut self) -> [(&'static str, &mut Table); 20] {
        [
            ("links", &mut self.links),
            ("stations", &mut self.stations),
            ("outputs", &mut self.outputs),
            ("switches", &mut self.switches),
            ("trains", &mut self.trains),
            ("delays", &mut self.delays),
            ("fairness", &mut self.fairness),
            ("reactions", &mut self.reactions),
            ("flows", &mut self.flows),
            ("order", &mut self.order),
            ("gtp", &mut self.gtp),
            ("queues", &mut self.queues),
            ("ports", &mut self.ports),
            ("access", &mut self.access),
            ("control", &mut self.control),
            ("clocks", &mut self.clocks),
            ("kept", &mut self.kept),
            ("sessions", &mut self.sessions),
            ("distances", &mut self.distances),
            ("numbers", &mut self.numbers),
        ]
    }
}

/// 0 where nothing was counted.
pub(crate) fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Standard deviation of numbers of which these are the exact sum and the sum of the squares; 0 where nothing was counted.
pub(crate) fn deviation(count: u64, sum: u64, squares: u128) -> f64 {
    let sum = u128::from(sum);
    // n times the sum of squares less the square of the sum.
    let scatter = (u128::from(count) * squares).saturating_sub(sum * sum);
    mean((scatter as f64).sqrt(), count)
}
