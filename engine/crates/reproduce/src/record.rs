// SPDX-License-Identifier: Apache-2.0
//! What a run measures: tables with one row a link, queue or flow and period.

mod ops;

use crate::{gtp, lambda};

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
        "IP bits of packets that began to leave, by the bits that the rates of the period let through",
    ),
    column("rated_utilization", "the same by the rate at the start of the run"),
    column("queue_packets", "packets waiting at the end of the period"),
    column("queue_bytes", "IP bytes waiting at the end of the period"),
    column(
        "mean_queue_packets",
        "mean packets waiting: waits of the packets that came, by the period (Little's law)",
    ),
    column("most_queue_packets", "most packets that waited at once"),
    column("wait_ms", "mean wait of the packets that came and found room, ms"),
    column("arrived_packets", "packets that came"),
    column(
        "dropped_packets",
        "packets that found the buffer full, came while the link was dark, or waited when link or router failed",
    ),
];

/// Of stations of a ring; the names, `STATION/RINGLET`, are in column `station`. Rates and bytes are those on the ring.
pub const STATION_COLUMNS: [Column; 30] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "part of the period in which the link out carried something",
    ),
    column("added_kbps", "what hosts of the station put on the link, kbit/s"),
    column("transit_kbps", "what other stations did, kbit/s"),
    column("messages", "messages sent"),
    column("message_kbps", "their bytes, kbit/s"),
    column(
        "offered_packets",
        "packets that hosts gave the station to put on the link, lost ones included",
    ),
    column("accepted_kbps", "bytes of those that were not lost, kbit/s"),
    column("added_packets", "packets of hosts put on the link"),
    column(
        "hol_within_ms",
        "of these, those that waited less than 1 ms as first of their add queue",
    ),
    column("hol_ms", "their mean wait as first, ms"),
    column("longest_hol_ms", "longest of these waits, ms"),
    column("access_ms", "their mean wait since the station took them, ms"),
    column("longest_access_ms", "longest of these waits, ms"),
    column(
        "crossing_ms",
        "mean time from when the station took a packet to its last bit at its destination, ms; with ringlet 0, of both",
    ),
    column("delivered_packets", "packets of this mean"),
    column(
        "longest_transit_us",
        "longest time that a packet in transit waited for the link, us",
    ),
    column(
        "queue_bytes",
        "bytes of hosts' packets waiting at the end of the period",
    ),
    column("most_queue_bytes", "most of them at once"),
    column("dropped_packets", "packets that the card lost"),
    column("dropped_transit_packets", "of these, packets of other stations"),
    column(
        "congested",
        "part of the period's intervals in which the station was the head of a congested span",
    ),
    column("onsets", "how often it became one"),
    column(
        "timer_onsets",
        "of these, how often since a packet was held back for longer than the timer",
    ),
    column(
        "span",
        "stations of its span at the end of the period, those that put something on the link lately; 0 while it is not congested",
    ),
    column("carried_kbps", "what the link carried, messages left out, kbit/s"),
    column(
        "estimate_kbps",
        "its own estimate of that at the end of the period, kbit/s",
    ),
    column("estimate_off_kbps", "how far that is from it, kbit/s"),
    column(
        "told_kbps",
        "what the station tells others as a head, by weight, kbit/s; at most the link's rate",
    ),
    column(
        "limit_kbps",
        "lowest rate that it may add itself, by weight, kbit/s; at most the link's rate",
    ),
];

/// Of what packets wait on a ring, a row a station and length; the names, `STATION/RINGLET`, are in column `station`.
pub const DELAY_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period, a second or what is left of the run, s"),
    column("up_to_ms", "a wait, to 1 %, ms"),
    column("hol_packets", "packets that waited so long as first of their add queue"),
    column(
        "access_packets",
        "packets that waited so long since the station took them; of an edge, trains that waited for the rate of their macroflow",
    ),
    column(
        "crossing_packets",
        "packets that took so long from then to their last bit at their destination; with ringlet 0, of both",
    ),
];

/// Of what a ring, or a mesh of optical packet switches, should give; the names, `FROM-TO`, are in column `pair`. Rates are those on the ring, in a mesh
/// those of IP packets.
pub const FAIRNESS_COLUMNS: [Column; 4] = [
    column("time_s", "end of the period, s"),
    column(
        "rate_kbps",
        "what all flows from one station or edge to another delivered, kbit/s",
    ),
    column(
        "fair_kbps",
        "what they should, if sources that do not take all they get have what they send, kbit/s: by RIAS on a ring, max-min in a mesh",
    ),
    column("links", "links on the way; in a mesh outputs of switches"),
];

/// Of how soon a ring answers; the names, those of the flow that begins, are in column `flow`.
pub const REACTION_COLUMNS: [Column; 2] = [
    column("time_s", "when a flow begins, s"),
    column(
        "settled_ms",
        "until each station that sends over the most loaded link may add what it should within 10 %, ms; if that does not come, the time for which \
         it was looked for",
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
        "window by round-trip time (the thesis's sending rate), 1000 bytes of IP packets a second",
    ),
    column("goodput_kbps", "payload that arrived without a gap, kbit/s"),
    column(
        "delay_ms",
        "mean one-way delay of the packets that arrived, ms; if none did, as in the period before",
    ),
    column("longest_delay_ms", "longest one-way delay, ms; likewise"),
    column("retransmissions", "segments sent again since the start"),
    column("timeouts", "retransmission timeouts since the start"),
];

/// Of flows with `measure: true`, what they did in each period; the names, `GROUP.i`, are in column `flow`. Orders are those in which
/// packets with data were sent and arrived (RFC 4737).
pub const ORDER_COLUMNS: [Column; 27] = [
    column("time_s", "end of the period, s"),
    column("packets", "packets with data that arrived"),
    column("delay_ms", "their mean one-way delay, ms"),
    column("delay_deviation_ms", "standard deviation of their one-way delays, ms"),
    column("reordered", "of them, packets that came after one that was sent later"),
    column(
        "reordered_1",
        "packets right after one sent later (n-reordering, n = 1)",
    ),
    column("reordered_3", "packets right after three sent later (n = 3)"),
    column(
        "mean_extent",
        "mean over reordered packets of how many arrivals after the first one sent later they came",
    ),
    column("most_extent", "largest of these; at most 1024"),
    column("sent", "data segments or datagrams sent, those sent again included"),
    column("retransmissions", "segments sent again"),
    column(
        "needless_retransmissions",
        "of these, segments of which the receiver had every byte when they were sent, or got every byte twice",
    ),
    column("fast_retransmits", "times that a fast recovery began"),
    column(
        "needless_fast_retransmits",
        "of these, those whose first segment was sent again needlessly",
    ),
    column("timeouts", "retransmission timeouts"),
    column(
        "goodput_kbps",
        "payload that arrived without a gap for the first time, kbit/s; of UDP all of it",
    ),
    column(
        "acknowledgments",
        "acknowledgments without payload that came to the sender",
    ),
    column(
        "bunched_acknowledgments",
        "of these, those that came within 24 us of the one before",
    ),
    column(
        "least_gap_us",
        "least time between two packets that left the sender and arrived one after the other, us; 0 if there are none",
    ),
    column("most_gap_us", "longest such time, us"),
    column(
        "losses",
        "recoveries, by timeouts or not, that began when all that was under way at the one before had been acknowledged",
    ),
    column(
        "windows_before_losses_bytes",
        "sum of the congestion windows just before these",
    ),
    column(
        "deflected_trains",
        "trains with its segments that came though they had been deflected, each once",
    ),
    column("lost_trains", "trains with its segments that a link between edges lost"),
    column(
        "timed_out_trains",
        "lost trains, also of earlier periods, all of whose segments were acknowledged in this one, after a timeout that came after the loss",
    ),
    column(
        "lost_long_trains",
        "of the lost ones, those with three of its segments or more",
    ),
    column("timed_out_long_trains", "of those that timed out, these"),
];

/// Of a star's VOQs; the names, `edgeA->edgeB`, are in column `queue`. Bytes are those on the fibre.
pub const QUEUE_COLUMNS: [Column; 11] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column("backlog_bytes", "bytes waiting at the end of the period"),
    column("backlog_packets", "packets waiting at the end of the period"),
    column("mean_backlog_bytes", "bytes waiting, averaged over the period"),
    column("most_backlog_bytes", "most bytes that waited at once"),
    column("granted_slots", "slots in which the gate was opened"),
    column("granted_bytes", "what these slots carry in packets of full size"),
    column("sent_bytes", "bytes that entered the fibre"),
    column("sent_packets", "packets that entered the fibre"),
    column("arrived_packets", "packets that came"),
    column("dropped_packets", "packets that found the queue full"),
];

/// Of a star's fibres, where light enters; the names, `edgeA->coreB` and `coreB->edgeA`, are in column `port`.
pub const PORT_COLUMNS: [Column; 4] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "utilization",
        "part of the time with light, guards and signaling slots counted as time",
    ),
    column("sent_bytes", "bytes that entered the fibre"),
    column("sent_packets", "packets that entered the fibre"),
];

/// Of hosts' access links; the names, `hA_B->edgeA` and `edgeA->hA_B`, are in column `access`.
pub const ACCESS_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "utilization",
        "bits of the frames taken, by what the link's rate lets through",
    ),
    column("sent_bytes", "bytes of the frames taken"),
    column("sent_packets", "frames taken"),
    column("dropped_packets", "frames that found the queue full"),
];

/// Of a star's signaling; the names, `coreC`, are in column `core`.
pub const CONTROL_COLUMNS: [Column; 5] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column(
        "ungranted_percent",
        "slots of an edge in which no VOQ had the gate, of all slots; mean over the edges",
    ),
    column(
        "signaling_percent",
        "bytes of requests and beacons that edges sent, as light or out of band, of what their slots are long",
    ),
    column("schedules", "schedules that came into force"),
    column(
        "delay_slots",
        "slots from the first one of a request's frame to the first one of the schedule made of it, mean over the \
         schedules that came into force; if none did, as in the period before",
    ),
];

/// Of edges that follow their master's clock; the names, `edgeE`, are in column `edge`. Errors are expected less actual
/// time at the core, as in table 3.2 of the AAPN thesis: negative is late.
pub const CLOCK_COLUMNS: [Column; 6] = [
    column("time_s", "end of the period, s from the start of the first phase"),
    column("slots", "slots that the edge started"),
    column("max_error_ns", "most that one came too early, ns"),
    column("min_error_ns", "least; negative when one came too late, ns"),
    column("mean_error_ns", "mean over the slots, ns"),
    column("worst_error_ns", "largest, either way, ns"),
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
    pub(crate) fn push<const N: usize>(&mut self, name: &str, numbers: [f64; N]) {
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
    pub(crate) fn tables_mut(&mut self) -> [(&'static str, &mut Table); 20] {
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
