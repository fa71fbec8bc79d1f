// SPDX-License-Identifier: Apache-2.0
//! Flow lists: the own CSV, and those of opera-sim, HPCC and Shoal.

use std::io::{BufRead, Read};

use slotwise_units::{Bytes, Instant};

use crate::error::{Problem, WorkloadError};
use crate::flow::{CoflowId, Flow, Hosts};
use crate::sizes::fields;

/// Format of a flow list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// Columns `start_ns,from,to,size_bytes` and optionally `coflow`, with this heading. Hosts have the network's names.
    Csv,
    /// `source destination bytes start_ns`, as opera-sim reads it.
    OperaSim,
    /// The number of flows, then `source destination 3 port bytes start_s`, as HPCC's generator writes it.
    Hpcc,
    /// `flow,source,destination,bytes,start_s`, as Shoal reads it.
    Shoal,
}

/// Longest line of a file, bytes.
const MAX_LINE: usize = 1 << 20;

/// Largest flow in bytes, as of a scenario: times of larger ones may need more than 64 bits.
const MAX_SIZE: u64 = 1_000_000_000_000;

/// Heading of the own format, with the optional last column.
pub const CSV_HEADING: &str = "start_ns,from,to,size_bytes,coflow";
const COFLOW: &str = ",coflow";

/// Lines of a file with their numbers. Long lines are errors, so that memory is bounded.
pub(crate) struct Lines<R> {
    file: String,
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(file: &str, reader: R) -> Lines<R> {
        Lines {
            file: file.to_owned(),
            reader,
            number: 0,
        }
    }

    /// Returns the next line that is neither empty nor a comment.
    pub(crate) fn next(&mut self) -> Result<Option<String>, WorkloadError> {
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.reader).take(MAX_LINE as u64 + 1);
            let read = limited.read_until(b'\n', &mut line);
            self.number += 1;
            read.map_err(|error| self.error(Problem::Read(error.to_string())))?;
            if line.is_empty() {
                return Ok(None);
            }
            if line.len() > MAX_LINE {
                return Err(self.error(Problem::LongLine { limit: MAX_LINE }));
            }
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            if !line.is_empty() && !line.starts_with('#') {
                return Ok(Some(line));
            }
        }
    }

    /// Returns an error in the line that was returned last.
    pub(crate) fn error(&self, problem: Problem) -> WorkloadError {
        WorkloadError::line(&self.file, self.number, problem)
    }

    /// Returns an error of the whole file.
    pub(crate) fn file_error(&self, problem: Problem) -> WorkloadError {
        WorkloadError::file(&self.file, problem)
    }
}

/// The flows of a list, read line by line.
pub struct FlowList<R> {
    lines: Lines<R>,
    format: ListFormat,
    hosts: Hosts,
    has_coflows: bool,
    /// Number of flows in the first line.
    announced: Option<u64>,
    number: u64,
    last_start: Instant,
    ended: bool,
}

impl<R: BufRead> FlowList<R> {
    /// Makes a reader of a list; `file` is its name in errors. Reads the heading.
    ///
    /// # Errors
    /// When the heading is wrong.
    pub fn new(file: &str, reader: R, format: ListFormat, hosts: Hosts) -> Result<FlowList<R>, WorkloadError> {
        let mut list = FlowList {
            lines: Lines::new(file, reader),
            format,
            hosts,
            has_coflows: false,
            announced: None,
            number: 0,
            last_start: Instant::ZERO,
            ended: false,
        };
        match format {
            ListFormat::Csv => list.read_heading()?,
            ListFormat::Hpcc => {
                let first = list.first_line("the number of flows")?;
                list.announced = Some(number("number of flows", &first).map_err(|problem| list.lines.error(problem))?);
            }
            ListFormat::OperaSim | ListFormat::Shoal => (),
        }
        Ok(list)
    }

    fn first_line(&mut self, expected: &'static str) -> Result<String, WorkloadError> {
        let line = self.lines.next()?;
        line.ok_or_else(|| self.lines.file_error(Problem::Empty(expected)))
    }

    fn read_heading(&mut self) -> Result<(), WorkloadError> {
        let line = self.first_line("the heading")?;
        self.has_coflows = line == CSV_HEADING;
        match self.has_coflows || line == CSV_HEADING.trim_end_matches(COFLOW) {
            true => Ok(()),
            false => Err(self.lines.error(Problem::Field {
                field: "heading",
                got: line,
                expected: "'start_ns,from,to,size_bytes' or the same with ',coflow'",
            })),
        }
    }

    fn read_flow(&mut self) -> Result<Option<Flow>, WorkloadError> {
        let Some(line) = self.lines.next()? else {
            return match self.announced {
                Some(expected) if self.number < expected => Err(self.lines.file_error(Problem::Truncated {
                    records: "flows",
                    expected,
                    got: self.number,
                })),
                _ => Ok(None),
            };
        };
        let flow = self.parse(&line).map_err(|problem| self.lines.error(problem))?;
        if flow.start < self.last_start {
            return Err(self.lines.error(Problem::NotSorted));
        }
        self.last_start = flow.start;
        self.number += 1;
        Ok(Some(flow))
    }

    fn parse(&self, line: &str) -> Result<Flow, Problem> {
        let fields: Vec<&str> = match self.format {
            // A coflow may be empty.
            ListFormat::Csv => line.split(',').map(str::trim).collect(),
            _ => fields(line).collect(),
        };
        let (source, destination, size, start, coflow) = match (self.format, &fields[..]) {
            (ListFormat::Csv, [start, from, to, size]) if !self.has_coflows => {
                (from, to, size, nanoseconds(start)?, "")
            }
            (ListFormat::Csv, [start, from, to, size, coflow]) if self.has_coflows => {
                (from, to, size, nanoseconds(start)?, *coflow)
            }
            (ListFormat::OperaSim, [from, to, size, start]) => (from, to, size, nanoseconds(start)?, ""),
            (ListFormat::Hpcc, [from, to, _, _, size, start]) | (ListFormat::Shoal, [_, from, to, size, start]) => {
                (from, to, size, seconds(start)?, "")
            }
            _ => {
                return Err(Problem::Field {
                    field: "line",
                    got: line.chars().take(80).collect(),
                    expected: self.columns(),
                });
            }
        };
        let find = |name| match self.format {
            ListFormat::Csv => self.hosts.find(name),
            _ => self.hosts.numbered(name),
        };
        let name = *source;
        // A host may have a name and a number.
        let (source, destination) = (find(source)?, find(destination)?);
        if source == destination {
            let host = name.to_owned();
            return Err(Problem::ToItself { host });
        }
        Ok(Flow {
            number: self.number,
            start,
            source,
            destination,
            size: data(size)?,
            coflow: match coflow {
                "" => None,
                coflow => Some(CoflowId(number("coflow", coflow)?)),
            },
        })
    }

    fn columns(&self) -> &'static str {
        match self.format {
            ListFormat::Csv if self.has_coflows => CSV_HEADING,
            ListFormat::Csv => "start_ns,from,to,size_bytes",
            ListFormat::OperaSim => "source destination bytes start_ns",
            ListFormat::Hpcc => "source destination 3 port bytes start_s",
            ListFormat::Shoal => "flow,source,destination,bytes,start_s",
        }
    }
}

impl<R: BufRead> Iterator for FlowList<R> {
    type Item = Result<Flow, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let flow = self.read_flow().transpose();
        self.ended = !matches!(flow, Some(Ok(_)));
        flow
    }
}

/// Returns a whole number.
pub(crate) fn number(field: &'static str, text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| Problem::Field {
        field,
        got: text.to_owned(),
        expected: "a whole number of at least 0",
    })
}

fn nanoseconds(text: &str) -> Result<Instant, Problem> {
    number("start", text).map(Instant::from_ns)
}

/// Returns a point in time of seconds, to the nearest nanosecond.
fn seconds(text: &str) -> Result<Instant, Problem> {
    // The last one whose nanoseconds have 64 bits.
    const MAX_SECONDS: f64 = 1.8e10;
    let seconds = crate::sizes::amount("start", text, MAX_SECONDS)?;
    Ok(Instant::from_ns((seconds * 1e9).round() as u64))
}

fn data(text: &str) -> Result<Bytes, Problem> {
    let size = number("size", text)?;
    let expected = match size {
        0 => "at least 1 byte",
        1..=MAX_SIZE => return Ok(Bytes::new(size)),
        _ => "at most 1000000000000 bytes",
    };
    Err(Problem::Field {
        field: "size",
        got: text.to_owned(),
        expected,
    })
}
