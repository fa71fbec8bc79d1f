// SPDX-License-Identifier: Apache-2.0
//! Replay of a capture: each IP packet is a transfer of its size at its time.

use std::collections::HashMap;
use std::io::Read;
use std::net::IpAddr;

use pcap_file::pcap::PcapReader;
use pcap_file::{DataLink, PcapError};
use slotwise_units::{Bytes, Duration, Instant};

use crate::error::{Place, Problem, WorkloadError};
use crate::flow::{Flow, HostIndex};

/// The packets of a capture in pcap format, with microseconds or nanoseconds, Ethernet or raw IP. Times count from the first packet.
/// Addresses are hosts in the order of their first packets; after the last host the first one follows.
pub struct Replay<R: Read> {
    file: String,
    reader: PcapReader<R>,
    hosts: u32,
    addresses: HashMap<IpAddr, HostIndex>,
    first: Option<Duration>,
    last: Instant,
    /// Packets of the file so far.
    packets: u64,
    number: u64,
    ended: bool,
}

impl<R: Read> Replay<R> {
    /// Makes a reader of a capture; `file` is its name in errors. Reads the header.
    ///
    /// # Errors
    /// When the file is not a capture with IP packets, or there are fewer than two hosts.
    pub fn new(file: &str, reader: R, hosts: u32) -> Result<Replay<R>, WorkloadError> {
        if hosts < 2 {
            return Err(WorkloadError::range("hosts", "at least 2", hosts));
        }
        let reader = PcapReader::new(reader).map_err(|error| WorkloadError::file(file, problem(&error)))?;
        let link = reader.header().datalink;
        if !matches!(
            link,
            DataLink::ETHERNET | DataLink::RAW | DataLink::IPV4 | DataLink::IPV6
        ) {
            let got = format!("link type {link:?}");
            return Err(WorkloadError::file(file, Problem::Capture { got }));
        }
        Ok(Replay {
            file: file.to_owned(),
            reader,
            hosts,
            addresses: HashMap::new(),
            first: None,
            last: Instant::ZERO,
            packets: 0,
            number: 0,
            ended: false,
        })
    }

    fn host(&mut self, address: IpAddr) -> HostIndex {
        let next = HostIndex(self.addresses.len() as u32 % self.hosts);
        *self.addresses.entry(address).or_insert(next)
    }

    fn error(&self, problem: Problem) -> WorkloadError {
        let (file, packet) = (self.file.clone(), self.packets);
        let place = Place::Packet { file, packet };
        WorkloadError { place, problem }
    }

    /// Returns the next packet between two hosts; other packets are left out.
    fn read_packet(&mut self) -> Result<Option<Flow>, WorkloadError> {
        let link = self.reader.header().datalink;
        loop {
            let Some(packet) = self.reader.next_packet() else {
                return Ok(None);
            };
            self.packets += 1;
            let read = packet.map(|packet| {
                let time = Duration::from_ns(u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX));
                (time, ip(link, &packet.data))
            });
            let (time, packet) = read.map_err(|error| self.error(problem(&error)))?;
            let first = *self.first.get_or_insert(time);
            let start = Instant::ZERO.saturating_add(time.saturating_sub(first));
            if time < first || start < self.last {
                return Err(self.error(Problem::NotSorted));
            }
            self.last = start;
            let Some((source, destination, size)) = packet else {
                continue;
            };
            let (source, destination) = (self.host(source), self.host(destination));
            if source == destination {
                continue;
            }
            let number = self.number;
            self.number += 1;
            return Ok(Some(Flow {
                number,
                start,
                source,
                destination,
                size,
                coflow: None,
            }));
        }
    }
}

impl<R: Read> Iterator for Replay<R> {
    type Item = Result<Flow, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let flow = self.read_packet().transpose();
        self.ended = !matches!(flow, Some(Ok(_)));
        flow
    }
}

fn problem(error: &PcapError) -> Problem {
    match error {
        PcapError::IoError(error) => Problem::Read(error.to_string()),
        error => Problem::Capture { got: error.to_string() },
    }
}

/// Returns the addresses of an IP packet and its length as its header has it, which the capture may have cut.
fn ip(link: DataLink, data: &[u8]) -> Option<(IpAddr, IpAddr, Bytes)> {
    let packet = match link {
        DataLink::ETHERNET => {
            let mut rest = data.get(12..)?;
            // 802.1Q and 802.1ad tags.
            while matches!(rest.get(..2)?, [0x81, 0x00] | [0x88, 0xa8]) {
                rest = rest.get(4..)?;
            }
            match rest.get(..2)? {
                [0x08, 0x00] | [0x86, 0xdd] => &rest[2..],
                _ => return None,
            }
        }
        _ => data,
    };
    let word = |at: usize| Some(u64::from(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?)));
    match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
            Some((address(12)?, address(16)?, Bytes::new(word(2)?.max(20))))
        }
        6 => {
            let address = |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?));
            Some((address(8)?, address(24)?, Bytes::new(40 + word(4)?)))
        }
        _ => None,
    }
}
