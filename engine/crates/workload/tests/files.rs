// SPDX-License-Identifier: Apache-2.0
//! Flow lists, coflow traces and captures.

use std::borrow::Cow;
use std::time;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use proptest::prelude::*;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{CoflowId, CoflowTrace, Flow, FlowList, HostIndex, Hosts, ListFormat, Replay, WorkloadError};

fn read(text: &str, format: ListFormat, hosts: Hosts) -> Result<Vec<Flow>, WorkloadError> {
    FlowList::new("list", text.as_bytes(), format, hosts)?.collect()
}

fn flow(number: u64, start: u64, (source, destination): (u32, u32), size: u64, coflow: Option<u64>) -> Flow {
    Flow {
        number,
        start: Instant::from_ns(start),
        source: HostIndex(source),
        destination: HostIndex(destination),
        size: Bytes::new(size),
        coflow: coflow.map(CoflowId),
    }
}

#[test]
fn lists_of_four_formats_are_read() {
    let names = Hosts::named(["h0", "h1", "h2"].map(str::to_owned));
    let text = "start_ns,from,to,size_bytes,coflow\n# comment\n0,h0,h2,1000,7\n5,h2,h1,20,\n";
    assert_eq!(
        read(text, ListFormat::Csv, names.clone()),
        Ok(vec![flow(0, 0, (0, 2), 1000, Some(7)), flow(1, 5, (2, 1), 20, None)])
    );
    let text = "start_ns,from,to,size_bytes\n3,h1,h0,1\n";
    assert_eq!(
        read(text, ListFormat::Csv, names),
        Ok(vec![flow(0, 3, (1, 0), 1, None)])
    );

    let numbered = || Hosts::Numbered(648);
    let text = "238 606 27563 58056\n324 93 1933313 113946\n";
    assert_eq!(
        read(text, ListFormat::OperaSim, numbered()),
        Ok(vec![
            flow(0, 58_056, (238, 606), 27_563, None),
            flow(1, 113_946, (324, 93), 1_933_313, None)
        ])
    );
    let text = "2\n0 1 3 100 5000 2.000000001\n1 0 3 100 60 2.5\n";
    assert_eq!(
        read(text, ListFormat::Hpcc, numbered()),
        Ok(vec![
            flow(0, 2_000_000_001, (0, 1), 5000, None),
            flow(1, 2_500_000_000, (1, 0), 60, None)
        ])
    );
    let text = "0,5,7,1500,0.000001\n";
    assert_eq!(
        read(text, ListFormat::Shoal, numbered()),
        Ok(vec![flow(0, 1_000, (5, 7), 1500, None)])
    );
}

#[test]
fn errors_of_lists_name_line_problem_and_expectation() {
    let hosts = || Hosts::named(["h0", "h1"].map(str::to_owned));
    for (text, message) in [
        ("", "list: empty file; expected at least the heading"),
        (
            "start,from,to\n",
            "list: line 1: invalid heading; expected 'start_ns,from,to,size_bytes' or the same with ',coflow', got 'start,from,to'",
        ),
        (
            "0,h0,h9,1\n",
            "list: line 2: unknown host 'h9'; expected a host of the network",
        ),
        (
            "0,h1,h1,1\n",
            "list: line 2: flow from 'h1' to itself; expected two hosts",
        ),
        (
            "0,h1,1,1\n",
            "list: line 2: flow from 'h1' to itself; expected two hosts",
        ),
        (
            "0,h0,h1,1000000000001\n",
            "list: line 2: invalid size; expected at most 1000000000000 bytes, got '1000000000001'",
        ),
        (
            "0,h0,h1,0\n",
            "list: line 2: invalid size; expected at least 1 byte, got '0'",
        ),
        (
            "0,h0,h1\n",
            "list: line 2: invalid line; expected start_ns,from,to,size_bytes, got '0,h0,h1'",
        ),
        (
            "-1,h0,h1,1\n",
            "list: line 2: invalid start; expected a whole number of at least 0, got '-1'",
        ),
        (
            "9,h0,h1,1\n8,h0,h1,1\n",
            "list: line 3: start before the start of the line before; expected flows in order of their starts",
        ),
    ] {
        let with_heading = match text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            true => format!("start_ns,from,to,size_bytes\n{text}"),
            false => text.to_owned(),
        };
        assert_eq!(
            read(&with_heading, ListFormat::Csv, hosts()).unwrap_err().to_string(),
            message
        );
    }
    for (text, format, message) in [
        (
            "0 9 1 1\n",
            ListFormat::OperaSim,
            "list: line 1: unknown host '9'; expected 0 to 1",
        ),
        (
            "3\n0 1 3 1 1 1\n",
            ListFormat::Hpcc,
            "list: end of file after 1 of 3 flows; expected all of them",
        ),
        (
            "0,0,1,1,-1\n",
            ListFormat::Shoal,
            "list: line 1: invalid start; expected a number of at least 0, got '-1'",
        ),
    ] {
        let error = read(text, format, Hosts::Numbered(2)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let long = "0".repeat(2 << 20);
    let error = read(&long, ListFormat::OperaSim, Hosts::Numbered(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "list: line 1: line too long; expected at most 1048576 bytes"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_list_or_an_error(text in "([-0-9., hx]{0,20}\n){0,6}") {
        for format in [ListFormat::OperaSim, ListFormat::Hpcc, ListFormat::Shoal] {
            drop(read(&text, format, Hosts::Numbered(3)));
        }
        drop(read(&format!("start_ns,from,to,size_bytes\n{text}"), ListFormat::Csv, Hosts::Numbered(3)));
        if let Ok(trace) = CoflowTrace::new("trace", text.as_bytes(), 1) {
            drop(trace.collect::<Vec<_>>());
        }
    }
}

const TRACE: &str = "4 2\n1 0 2 0 1 2 2:3.0 0:1\n2 1500 1 3 1 1:0.000001\n";

#[test]
fn a_coflow_trace_is_read() {
    let trace = CoflowTrace::new("trace", TRACE.as_bytes(), 1).unwrap();
    assert_eq!(trace.hosts(), 4);
    let coflows: Vec<_> = trace.map(Result::unwrap).collect();
    assert_eq!((coflows[0].width(), coflows[0].size()), (4, Bytes::new(4_000_000)));
    let flows: Vec<Flow> = coflows.iter().flat_map(|coflow| coflow.flows(0)).collect();
    assert_eq!(
        flows,
        [
            flow(0, 0, (0, 2), 1_500_000, Some(1)),
            flow(1, 0, (1, 2), 1_500_000, Some(1)),
            // Half of host 0's data is at host 0 already.
            flow(2, 0, (1, 0), 500_000, Some(1)),
            flow(0, 1_500_000_000, (3, 1), 1, Some(2)),
        ]
    );
    // Host 2 receives 3 MB.
    assert_eq!(coflows[0].bound(Rate::from_bps(1_000_000_000)), Duration::from_ms(24));
    let divided = CoflowTrace::new("trace", TRACE.as_bytes(), 1000)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(divided.size(), Bytes::new(4_000));
}

#[test]
fn errors_of_coflow_traces_name_line_problem_and_expectation() {
    for (text, message) in [
        (
            "",
            "trace: empty file; expected at least the numbers of hosts and coflows",
        ),
        (
            "4\n",
            "trace: line 1: invalid first line; expected the numbers of hosts, 1 to 1000000, and coflows, got '4'",
        ),
        (
            "4 2\n1 0 1 0 1 1:1\n",
            "trace: end of file after 1 of 2 coflows; expected all of them",
        ),
        (
            "4 1\n1 0 2 0\n",
            "trace: line 2: coflow without an end; expected 6 fields, got 4",
        ),
        (
            "4 1\n1 0 1 0 2 1:1\n",
            "trace: line 2: coflow without an end; expected 7 fields, got 6",
        ),
        (
            "4 1\n1 0 1 0 1 1:1 2:1\n",
            "trace: line 2: coflow without an end; expected 6 fields, got 7",
        ),
        (
            "4 1\n1 0 1 9 1 1:1\n",
            "trace: line 2: unknown host '9'; expected 0 to 3",
        ),
        (
            "4 1\n1 0 1 0 1 1\n",
            "trace: line 2: invalid reducer; expected host:megabytes, got '1'",
        ),
        (
            "4 1\n1 0 0 1 1:1\n",
            "trace: line 2: invalid number of mappers; expected 1 to 1000000, got '0'",
        ),
        (
            "4 2\n1 5 1 0 1 1:1\n2 4 1 0 1 1:1\n",
            "trace: line 3: start before the start of the line before; expected flows in order of their starts",
        ),
    ] {
        let read = CoflowTrace::new("trace", text.as_bytes(), 1).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(read.unwrap_err().to_string(), message);
    }
}

/// An IPv4 packet of 20 bytes and more, its header only, after an Ethernet header.
fn packet(source: u8, destination: u8, length: u16) -> Vec<u8> {
    let mut packet = vec![0; 34];
    packet[12..14].copy_from_slice(&[8, 0]);
    packet[14] = 0x45;
    packet[16..18].copy_from_slice(&length.to_be_bytes());
    packet[26..30].copy_from_slice(&[10, 0, 0, source]);
    packet[30..34].copy_from_slice(&[10, 0, 0, destination]);
    packet
}

fn capture(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let header = PcapHeader {
        ts_resolution: TsResolution::NanoSecond,
        datalink: DataLink::ETHERNET,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (time, data) in packets {
        let timestamp = time::Duration::from_nanos(*time);
        let (orig_len, data) = (2_000, Cow::from(data));
        writer
            .write_packet(&PcapPacket {
                timestamp,
                orig_len,
                data,
            })
            .unwrap();
    }
    writer.into_writer()
}

#[test]
fn a_capture_is_replayed_with_sizes_and_times() {
    let second = 1_000_000_000;
    let arp = vec![0; 60];
    let packets = [
        (second, packet(1, 2, 1500)),
        (second + 1, arp),
        (second + 17, packet(2, 1, 40)),
        (second + 1_000, packet(3, 3, 40)),
        (second + 2_000, packet(3, 1, 700)),
    ];
    let bytes = capture(&packets);
    let flows: Result<Vec<Flow>, _> = Replay::new("c.pcap", &bytes[..], 4).unwrap().collect();
    let expected = [
        flow(0, 0, (0, 1), 1500, None),
        flow(1, 17, (1, 0), 40, None),
        flow(2, 2_000, (2, 0), 700, None),
    ];
    assert_eq!(flows.unwrap(), expected);
}

#[test]
fn errors_of_captures_name_the_packet() {
    let error = |bytes: &[u8]| {
        let flows = Replay::new("c.pcap", bytes, 4).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        flows.unwrap_err().to_string()
    };
    let unsorted = capture(&[(5, packet(1, 2, 40)), (4, packet(1, 2, 40))]);
    assert_eq!(
        error(&unsorted),
        "c.pcap: packet 2: start before the start of the line before; expected flows in order of their starts"
    );
    let whole = capture(&[(5, packet(1, 2, 40))]);
    let cut = error(&whole[..whole.len() - 1]);
    assert!(cut.starts_with("c.pcap: packet 1: "), "{cut}");
    let text = error(b"start_ns,from,to,size_bytes\n");
    assert!(text.starts_with("c.pcap: unsupported capture: "), "{text}");
}
