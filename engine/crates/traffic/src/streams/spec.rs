// SPDX-License-Identifier: Apache-2.0
//! Specifications of flows between hosts.

use std::net::Ipv4Addr;

use slotwise_scenario::{GtpFlow, MacAddress, Process, Tcp, Transport, Web};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{Algorithm, PROTOCOL_UDP, RtoConfig, xcp};

/// The transports' name for a scenario's choice.
pub(crate) fn algorithm(transport: Transport) -> Algorithm {
    match transport {
        Transport::Reno => Algorithm::Reno,
        Transport::NewReno => Algorithm::NewReno,
        Transport::Cubic => Algorithm::Cubic,
        Transport::HighSpeed => Algorithm::HighSpeed,
        Transport::Dctcp => Algorithm::Dctcp,
        Transport::Xcp => Algorithm::Xcp,
    }
}

/// A host's addresses.
#[derive(Debug, Clone, Copy)]
pub struct HostAddress {
    pub ip: Ipv4Addr,
    pub mac: MacAddress,
    /// Of the switch that it sends to.
    pub(crate) gateway: MacAddress,
}

/// What a flow sends.
pub(crate) enum Sends {
    /// A stream for each seed.
    Streams {
        seeds: Vec<u64>,
        /// Rate at which each application writes; `None`: it always has more.
        rate_bps: Option<u64>,
        /// Bytes of a file; `None`: until the end.
        bytes: Option<u64>,
    },
    /// Pages for users at the receiving host.
    Web { users: u32, web: Web, seed: u64 },
    /// A session of GTP.
    Session { session: GtpFlow, seed: u64 },
    /// Full packets of UDP.
    Datagrams { rate_bps: u64, process: Process, seed: u64 },
}

/// What a flow is to be. Hosts are numbers.
pub(crate) struct FlowSpec {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) sends: Sends,
    pub(crate) transport: Transport,
    pub(crate) sack: bool,
    pub(crate) tcp: Tcp,
    /// Whether its order is measured; not of web flows, whose connections change.
    pub(crate) measure: bool,
    pub(crate) rto: RtoConfig,
    pub(crate) start_ns: u64,
    /// `None`: when the run ends.
    pub(crate) end_ns: Option<u64>,
    /// Of a full IP packet.
    pub(crate) packet_bytes: u16,
    /// Of its packets, acknowledgements among them.
    pub(crate) dscp: u8,
    /// Of receivers.
    pub(crate) window_bytes: Option<u32>,
}

impl FlowSpec {
    pub(super) fn protocol(&self) -> u8 {
        match self.sends {
            Sends::Datagrams { .. } | Sends::Session { .. } => PROTOCOL_UDP,
            _ if self.transport == Transport::Xcp => xcp::PROTOCOL,
            _ => PROTOCOL_TCP,
        }
    }
}
