// SPDX-License-Identifier: Apache-2.0
//! What a run measures: two tables, one row a link or flow and period.

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub meaning: &'static str,
}

const fn column(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning }
}

/// Of links between routers; the names are in column `link`.
pub const LINK_COLUMNS: [Column; 10] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "IP bits sent, by the bits that the present rate lets through",
    ),
    column("rated_utilization", "the same by the rate at the start of the run"),
    column("queue_packets", "packets waiting at the end of the period"),
    column("queue_bytes", "IP bytes waiting at the end of the period"),
    column(
        "mean_queue_packets",
        "mean packets waiting: waits of the packets that came, by the period (Little's law)",
    ),
    column("most_queue_packets", "most packets that waited at once"),
    column("wait_ms", "mean wait of the packets that came and were not dropped, ms"),
    column("arrived_packets", "packets that came"),
    column("dropped_packets", "packets that found the buffer full"),
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

    /// An empty table of flows.
    pub fn flows() -> Table {
        Table::new("flow", &FLOW_COLUMNS)
    }

    fn new(key: &'static str, columns: &'static [Column]) -> Table {
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

/// Both tables of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Links between routers.
    pub links: Table,
    /// Flows.
    pub flows: Table,
}
