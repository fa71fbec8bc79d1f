// SPDX-License-Identifier: Apache-2.0
//! Errors of workloads: place, problem, expected.

use std::fmt;

/// Place of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a file, from 1.
    Line {
        /// Name of the file.
        file: String,
        /// Number of the line.
        line: u64,
    },
    /// A whole file.
    File(String),
    /// A packet of a capture, from 1.
    Packet {
        /// Name of the file.
        file: String,
        /// Number of the packet.
        packet: u64,
    },
    /// A setting.
    Setting(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { file, line } => write!(f, "{file}: line {line}"),
            Place::File(file) => f.write_str(file),
            Place::Packet { file, packet } => write!(f, "{file}: packet {packet}"),
            Place::Setting(name) => write!(f, "'{name}'"),
        }
    }
}

/// Kind of an error, with the text of the problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A field that is not a number in its range, or a wrong number of fields.
    #[error("invalid {field}; expected {expected}, got '{got}'")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Text of the field.
        got: String,
        /// Description of valid values.
        expected: &'static str,
    },
    /// Sizes or probabilities of a table that do not rise from line to line.
    #[error("{column} does not rise; expected more than {before}, got {got}")]
    NotRising {
        /// Name of the column.
        column: &'static str,
        /// Value of the line before.
        before: f64,
        /// Value of the line.
        got: f64,
    },
    /// A probability above 1.
    #[error("probability beyond 1; expected 0 to 1, or 0 to 100 in a table that ends at 100, got {got}")]
    BeyondOne {
        /// The probability.
        got: f64,
    },
    /// A table whose last probability is below 1.
    #[error("last probability below 1; expected 1 or 100, got {got}")]
    BelowOne {
        /// The probability.
        got: f64,
    },
    /// A table whose mean differs from the mean in its first line.
    #[error("mean of the table differs from its first line; expected {stated}, got {mean}")]
    OtherMean {
        /// Mean in the first line.
        stated: f64,
        /// Mean of the sizes.
        mean: f64,
    },
    /// A table that does not specify how to draw between its sizes.
    #[error(
        "unspecified interpolation; expected a line '# interpolate: steps' or '# interpolate: linear', or the option"
    )]
    Interpolation,
    /// An unknown name of a table.
    #[error("unknown table '{got}'; expected a file or one of {expected}")]
    UnknownTable {
        /// The name.
        got: String,
        /// Names of the shipped tables.
        expected: String,
    },
    /// A host that the network does not have.
    #[error("unknown host '{got}'; expected {expected}")]
    UnknownHost {
        /// Name or number of the host.
        got: String,
        /// Description of the hosts.
        expected: String,
    },
    /// A flow from a host to itself.
    #[error("flow from '{host}' to itself; expected two hosts")]
    ToItself {
        /// Name or number of the host.
        host: String,
    },
    /// A flow that starts before the flow of an earlier line.
    #[error("start before the start of the line before; expected flows in order of their starts")]
    NotSorted,
    /// A file that ends before the number of records in its first line.
    #[error("end of file after {got} of {expected} {records}; expected all of them")]
    Truncated {
        /// Name of the records, in plural.
        records: &'static str,
        /// Number in the first line.
        expected: u64,
        /// Number of records.
        got: u64,
    },
    /// A line of a coflow that ends before its last reducer.
    #[error("coflow without an end; expected {expected} fields, got {got}")]
    OpenCoflow {
        /// Fields for the numbers of mappers and reducers in the line.
        expected: u64,
        /// Fields of the line.
        got: u64,
    },
    /// A file without content.
    #[error("empty file; expected at least {0}")]
    Empty(&'static str),
    /// A line above the limit.
    #[error("line too long; expected at most {limit} bytes")]
    LongLine {
        /// The limit.
        limit: usize,
    },
    /// A file that cannot be read.
    #[error("cannot read: {0}")]
    Read(String),
    /// A capture of a link type without IP packets, or a file of another format.
    #[error("unsupported capture: {got}; expected pcap with Ethernet or raw IP packets")]
    Capture {
        /// Link type or message of the reader.
        got: String,
    },
    /// A setting out of its range.
    #[error("out of range; expected {expected}, got {got}")]
    Range {
        /// Description of the range.
        expected: String,
        /// The value.
        got: String,
    },
}

/// An error of a workload.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct WorkloadError {
    /// Place in a file, or the setting.
    pub place: Place,
    /// Problem and expectation.
    pub problem: Problem,
}

impl WorkloadError {
    pub(crate) fn line(file: &str, line: u64, problem: Problem) -> WorkloadError {
        let file = file.to_owned();
        let place = Place::Line { file, line };
        WorkloadError { place, problem }
    }

    /// Returns an error of a whole file.
    pub fn file(file: &str, problem: Problem) -> WorkloadError {
        let place = Place::File(file.to_owned());
        WorkloadError { place, problem }
    }

    pub(crate) fn range(setting: &'static str, expected: impl Into<String>, got: impl fmt::Display) -> WorkloadError {
        let (expected, got) = (expected.into(), got.to_string());
        WorkloadError {
            place: Place::Setting(setting),
            problem: Problem::Range { expected, got },
        }
    }
}
