// SPDX-License-Identifier: Apache-2.0
//! Files of flows, read after a scenario: an invalid line is a problem of the scenario.

use std::io::BufRead;
use std::sync::Arc;

use slotwise_units::Bytes;
use slotwise_wire::DATAGRAM_HEADER_BYTES;
use slotwise_workload::{CoflowTrace, Flow, FlowList, Hosts, Problem as Wrong, Replay, WorkloadError};

use super::{FileFormat, WORKLOADS, WorkloadSource};
use crate::address::Endpoint;
use crate::model::Scenario;
use crate::problem::Problem;
use crate::routed::Party;

/// Opens a file by its path as a scenario has it.
pub type OpenFile<'a> = dyn FnMut(&str) -> Result<Box<dyn BufRead>, String> + 'a;

/// Largest number of flows of a file: about 0.5 GB of memory.
const MAX_FLOWS: usize = 10_000_000;

/// Problem and expected value of an error of a workload.
pub(super) fn parts(error: &WorkloadError) -> (String, String) {
    let text = error.problem.to_string();
    let (reason, expected) = match text.split_once("; expected ") {
        Some((reason, expected)) => (reason.to_owned(), expected.to_owned()),
        None => (text, "another value".to_owned()),
    };
    match &error.place {
        slotwise_workload::Place::Setting(setting) => (format!("'{setting}': {reason}"), expected),
        _ => (reason, expected),
    }
}

/// Reads the files of a scenario's workloads. Returns the problems with them.
pub(crate) fn load(scenario: &mut Scenario, open: &mut OpenFile<'_>) -> Vec<Problem> {
    let names = host_names(scenario);
    let mut problems = Vec::new();
    for (index, workload) in scenario.workloads.iter_mut().enumerate() {
        let hosts = workload.hosts.iter().map(|host| names[*host].clone());
        let hosts = Hosts::named(hosts);
        let WorkloadSource::File(file) = &mut workload.source else {
            continue;
        };
        let format = file.format;
        let mut report = |reason, expected| problems.push(wrong(index, format, reason, expected));
        let reader = match open(&file.path) {
            Ok(reader) => reader,
            Err(reason) => {
                report(reason, "a file in the directory of this one, or of '--data'".to_owned());
                continue;
            }
        };
        match read(&file.path, reader, format, hosts) {
            Ok(flows) if flows.is_empty() => report(format!("{}: no flows", file.path), "at least one flow".to_owned()),
            Ok(mut flows) => {
                // A vector that grew has up to twice the room.
                flows.shrink_to_fit();
                file.flows = Arc::new(flows);
            }
            Err(error) => {
                let (reason, expected) = parts(&error);
                report(format!("{}: {reason}", error.place), expected);
            }
        }
    }
    problems
}

fn read(path: &str, reader: Box<dyn BufRead>, format: FileFormat, hosts: Hosts) -> Result<Vec<Flow>, WorkloadError> {
    match format {
        FileFormat::List(format) => collected(path, FlowList::new(path, reader, format, hosts)?, MAX_FLOWS),
        FileFormat::Pcap => {
            let packets = Replay::new(path, reader, hosts.count())?;
            collected(path, packets.map(|packet| packet.map(in_datagram)), MAX_FLOWS)
        }
        FileFormat::Coflows(divisor) => {
            let trace = CoflowTrace::new(path, reader, divisor)?;
            if trace.hosts() > hosts.count() {
                let problem = Wrong::Range {
                    expected: format!("a workload with at least {} hosts", trace.hosts()),
                    got: hosts.count().to_string(),
                };
                return Err(WorkloadError::file(path, problem));
            }
            let mut flows = Vec::new();
            for coflow in trace {
                let coflow = coflow?;
                let width = usize::try_from(coflow.width()).unwrap_or(usize::MAX);
                at_most(path, flows.len().saturating_add(width), MAX_FLOWS)?;
                let first = flows.len() as u64;
                flows.extend(coflow.flows(first));
            }
            Ok(flows)
        }
    }
}

/// The data of a datagram that is as long as a packet, at least 1 byte.
fn in_datagram(packet: Flow) -> Flow {
    let data = packet.size.saturating_sub(Bytes::of(DATAGRAM_HEADER_BYTES));
    Flow {
        size: data.max(Bytes::new(1)),
        ..packet
    }
}

fn collected(
    path: &str,
    flows: impl Iterator<Item = Result<Flow, WorkloadError>>,
    limit: usize,
) -> Result<Vec<Flow>, WorkloadError> {
    let mut all = Vec::new();
    for flow in flows {
        let flow = flow?;
        at_most(path, all.len() + 1, limit)?;
        all.push(flow);
    }
    Ok(all)
}

fn at_most(path: &str, count: usize, limit: usize) -> Result<(), WorkloadError> {
    if count <= limit {
        return Ok(());
    }
    let problem = Wrong::Range {
        expected: format!("at most {limit} flows"),
        got: "more".to_owned(),
    };
    Err(WorkloadError::file(path, problem))
}

/// Names of all hosts, by their numbers.
fn host_names(scenario: &Scenario) -> Vec<String> {
    let groups = (0..scenario.routed.hosts.len()).map(Party::Group);
    let star = scenario.host_names(Party::Star(Endpoint::All));
    star.into_iter()
        .chain(groups.flat_map(|group| scenario.host_names(group)))
        .collect()
}

/// Problems of a scenario without a directory, whose files cannot be read.
pub(crate) fn unread(scenario: &Scenario) -> Vec<Problem> {
    let workloads = (0..).zip(&scenario.workloads);
    let files = workloads.filter_map(|(index, workload)| match &workload.source {
        WorkloadSource::File(file) if file.flows.is_empty() => Some(wrong(
            index,
            file.format,
            format!("{}: scenario without a directory", file.path),
            "a scenario in a file, with the other file in its directory".to_owned(),
        )),
        _ => None,
    });
    files.collect()
}

fn wrong(index: usize, format: FileFormat, reason: String, expected: String) -> Problem {
    Problem {
        pointer: format!("/{WORKLOADS}/{index}/{}/file", format.key()),
        line: None,
        other: None,
        reason,
        expected,
    }
}

#[cfg(test)]
mod tests {
    use slotwise_workload::ListFormat;

    use super::*;

    #[test]
    fn a_file_with_too_many_flows_is_rejected() {
        let lines = "0 1 1000 0\n".repeat(3);
        let read = |limit| {
            let flows = FlowList::new(
                "flows.htsim",
                lines.as_bytes(),
                ListFormat::OperaSim,
                Hosts::Numbered(2),
            )?;
            collected("flows.htsim", flows, limit)
        };
        assert_eq!(read(3).map(|flows| flows.len()), Ok(3));
        let error = read(2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "flows.htsim: out of range; expected at most 2 flows, got more"
        );
    }

    #[test]
    fn memory_of_flows_is_as_documented() {
        assert!(MAX_FLOWS * size_of::<Flow>() <= 500_000_000);
    }
}
