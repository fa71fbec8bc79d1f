// SPDX-License-Identifier: Apache-2.0
//! Coflow traces in the format of Coflow-Benchmark.

use std::io::BufRead;

use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::error::{Problem, WorkloadError};
use crate::flow::{CoflowId, Flow, HostIndex, Hosts};
use crate::list::{Lines, number};
use crate::sizes::amount;

/// A coflow: each mapper sends to each reducer.
#[derive(Clone, Debug, PartialEq)]
pub struct Coflow {
    /// Number in the trace.
    pub id: CoflowId,
    /// Start of all its flows.
    pub arrival: Instant,
    /// Sending hosts.
    pub mappers: Vec<HostIndex>,
    /// Receiving hosts, and the data of each from all mappers together.
    pub reducers: Vec<(HostIndex, Bytes)>,
}

impl Coflow {
    /// Returns the number of flows, between a host and itself included.
    pub fn width(&self) -> u64 {
        self.mappers.len() as u64 * self.reducers.len() as u64
    }

    /// Returns the data of all flows, between a host and itself included.
    pub fn size(&self) -> Bytes {
        self.reducers.iter().map(|(_, size)| *size).sum()
    }

    /// Returns the flows between different hosts, with numbers from `first` on. Each reducer has as much from each mapper, to the
    /// byte; flows of no data are left out.
    pub fn flows(&self, first: u64) -> impl Iterator<Item = Flow> {
        let mappers = self.mappers.len() as u64;
        let pairs = self.reducers.iter().flat_map(move |&(destination, size)| {
            let (each, rest) = (size / mappers, size % Bytes::new(mappers));
            let share = move |place: u64| each + Bytes::new(u64::from(place < rest.get()));
            (0..)
                .zip(&self.mappers)
                .map(move |(place, &source)| (source, destination, share(place)))
        });
        let crossing = pairs.filter(|(source, destination, size)| source != destination && !size.is_zero());
        (first..)
            .zip(crossing)
            .map(|(number, (source, destination, size))| Flow {
                number,
                start: self.arrival,
                source,
                destination,
                size,
                coflow: Some(self.id),
            })
    }

    /// Returns the least completion time of the flows: that of the host with most to send or to receive, at a rate above 0.
    pub fn bound(&self, rate: Rate) -> Duration {
        let mut ports = std::collections::BTreeMap::new();
        for flow in self.flows(0) {
            for port in [(flow.source, true), (flow.destination, false)] {
                *ports.entry(port).or_insert(Bytes::ZERO) += flow.size;
            }
        }
        let fullest = ports.into_values().max().unwrap_or(Bytes::ZERO);
        rate.time(fullest)
    }
}

/// The coflows of a trace, read line by line.
///
/// The first line has the numbers of hosts and coflows. Each other line has the number of a coflow, its arrival in ms, the number of
/// mappers and their hosts, the number of reducers and `host:megabytes` of each.
pub struct CoflowTrace<R> {
    lines: Lines<R>,
    hosts: Hosts,
    expected: u64,
    read: u64,
    last_arrival: Instant,
    divisor: u64,
}

/// Largest size of a reducer, MB.
const MAX_MEGABYTES: f64 = 1e6;

/// Largest number of hosts of a trace, and of mappers or reducers of a coflow.
const MAX_COUNT: u64 = 1_000_000;

impl<R: BufRead> CoflowTrace<R> {
    /// Makes a reader of a trace; `file` is its name in errors. Sizes are divided by `divisor`, above 0. Reads the first line.
    ///
    /// # Errors
    /// When the first line is wrong.
    pub fn new(file: &str, reader: R, divisor: u64) -> Result<CoflowTrace<R>, WorkloadError> {
        if divisor == 0 {
            return Err(WorkloadError::range("divisor", "at least 1", divisor));
        }
        let mut lines = Lines::new(file, reader);
        let first = lines.next()?;
        let first = first.ok_or_else(|| lines.file_error(Problem::Empty("the numbers of hosts and coflows")))?;
        let fields: Vec<&str> = first.split_whitespace().collect();
        let counts = match fields[..] {
            [hosts, coflows] => number("number of hosts", hosts)
                .and_then(|hosts| Ok((hosts, number("number of coflows", coflows)?)))
                .map_err(|problem| lines.error(problem))?,
            _ => (0, 0),
        };
        let (hosts, expected) = counts;
        if !(1..=MAX_COUNT).contains(&hosts) {
            return Err(lines.error(Problem::Field {
                field: "first line",
                got: first.chars().take(80).collect(),
                expected: "the numbers of hosts, 1 to 1000000, and coflows",
            }));
        }
        Ok(CoflowTrace {
            lines,
            hosts: Hosts::Numbered(hosts as u32),
            expected,
            read: 0,
            last_arrival: Instant::ZERO,
            divisor,
        })
    }

    /// Returns the number of hosts of the trace.
    pub fn hosts(&self) -> u32 {
        self.hosts.count()
    }

    fn read_coflow(&mut self) -> Result<Option<Coflow>, WorkloadError> {
        let Some(line) = self.lines.next()? else {
            let (expected, got) = (self.expected, self.read);
            return match got < expected {
                true => Err(self.lines.file_error(Problem::Truncated {
                    records: "coflows",
                    expected,
                    got,
                })),
                false => Ok(None),
            };
        };
        let coflow = self.parse(&line).map_err(|problem| self.lines.error(problem))?;
        if coflow.arrival < self.last_arrival {
            return Err(self.lines.error(Problem::NotSorted));
        }
        self.last_arrival = coflow.arrival;
        self.read += 1;
        Ok(Some(coflow))
    }

    fn parse(&self, line: &str) -> Result<Coflow, Problem> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let open = |expected: u64| Problem::OpenCoflow {
            expected,
            got: fields.len() as u64,
        };
        let field = |place: u64| fields.get(place as usize).copied().ok_or_else(|| open(place + 1));
        let count = |name, place| match number(name, field(place)?)? {
            count @ 1..=MAX_COUNT => Ok(count),
            count => Err(Problem::Field {
                field: name,
                got: count.to_string(),
                expected: "1 to 1000000",
            }),
        };
        let id = CoflowId(number("coflow", field(0)?)?);
        let milliseconds = number("arrival", field(1)?)?;
        let arrival = Instant::ZERO.saturating_add(Duration::from_ns(milliseconds.saturating_mul(1_000_000)));
        let mappers = count("number of mappers", 2)?;
        let reducers = count("number of reducers", 3 + mappers)?;
        let expected = 4 + mappers + reducers;
        if fields.len() as u64 != expected {
            return Err(open(expected));
        }
        let (mappers, reducers) = (&fields[3..][..mappers as usize], &fields[4 + mappers as usize..]);
        let reducer = |text: &&str| {
            let (host, megabytes) = text.split_once(':').ok_or_else(|| Problem::Field {
                field: "reducer",
                got: (*text).to_owned(),
                expected: "host:megabytes",
            })?;
            let megabytes = amount("megabytes", megabytes, MAX_MEGABYTES)?;
            let size = (megabytes * 1e6 / self.divisor as f64).round() as u64;
            Ok((self.hosts.numbered(host)?, Bytes::new(size)))
        };
        Ok(Coflow {
            id,
            arrival,
            mappers: mappers
                .iter()
                .map(|host| self.hosts.numbered(host))
                .collect::<Result<_, _>>()?,
            reducers: reducers.iter().map(reducer).collect::<Result<_, Problem>>()?,
        })
    }
}

impl<R: BufRead> Iterator for CoflowTrace<R> {
    type Item = Result<Coflow, WorkloadError>;

    /// Ends after the number of coflows in the first line.
    fn next(&mut self) -> Option<Self::Item> {
        if self.read == self.expected {
            return None;
        }
        let coflow = self.read_coflow().transpose();
        if !matches!(coflow, Some(Ok(_))) {
            self.expected = self.read;
        }
        coflow
    }
}
