// SPDX-License-Identifier: Apache-2.0
//! Flows between groups of hosts over the whole run.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Rate};

use super::parse::Parties;
use super::tcp::{self, Tcp};
use super::{GtpFlow, GtpFlowKeys, Party};
use crate::doc::Doc;
use crate::model::{Process, Transport, Web};
use crate::parse::{DSCP, DURATION_MS, FILE_BYTES, transport};
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, defined, flag, integer, name, section, word};
use crate::sources::{FlowWeb, GroupUdp};

/// Minimum: the headers of every transport, and one byte.
pub(crate) const FLOW_PACKET_BYTES: RangeInclusive<u64> = 64..=9000;
/// Flows per host pair, each with a separate port.
const FLOWS_EACH: RangeInclusive<u64> = 1..=1000;
/// Maximum: the largest window that can be advertised with scaling.
const WINDOW_BYTES: RangeInclusive<u64> = 1..=65_535 << 14;
const START_MS: RangeInclusive<u64> = 0..=*DURATION_MS.end();

/// Group of equal flows from each host of a party to the host with the same number in another.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowGroup {
    /// Name of the group; flow `i` of it is `NAME.i`.
    pub name: String,
    /// Senders.
    pub from: Party,
    /// Receivers, as many as senders.
    pub to: Party,
    /// Flows per host pair.
    pub each: u32,
    /// Congestion control.
    pub transport: Transport,
    /// True if SACK is used.
    pub sack: bool,
    /// TCP settings.
    pub tcp: Tcp,
    /// Data sent by each flow.
    pub source: Source,
    /// Size of the largest IP packet.
    pub packet_bytes: u32,
    /// DSCP of the packets, including acknowledgments.
    pub dscp: u8,
    /// Receive window; `None`: the maximum of Linux.
    pub window_bytes: Option<u32>,
    /// Earliest start.
    pub start_ms: u64,
    /// Start jitter: flow `i` of `n` starts within the `i`-th part of this time, drawn from the seed.
    pub spread_ms: u64,
    /// Time after which sources send no new data; `None`: the end of the run.
    pub stop_ms: Option<u64>,
    /// True if packet statistics are recorded.
    pub measure: bool,
}

/// Data of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// A stream.
    Stream {
        /// Bytes of each flow; `None`: until the end of the run.
        bytes: Option<Bytes>,
    },
    /// UDP datagrams in full IP packets.
    Udp {
        /// Rate, counted in IP bytes; with an on-off process, that of the on periods.
        rate: Rate,
        /// Packet spacing.
        process: Process,
    },
    /// A session of GTP.
    Gtp(GtpFlow),
    /// Pages for users at the receiving host, one connection per page.
    Web {
        /// Users per flow.
        users: u32,
        /// Their behaviour.
        web: Web,
    },
}

section! {
    /// Flows from each host of a group to the host with the same number in another.
    #[derive(Debug)]
    pub(crate) struct FlowKeys [r, fields, parties: &'c Parties<'c>] {
        /// Name of the group.
        name: String = "name" required, name();
        /// Sending host group, all hosts of an edge (`edgeN`), or one host of an edge (`hE_I`).
        from: Party = "from" read(parties.find(r, fields, "from")), name();
        /// Receiving hosts, in the same form and of the same number.
        to: Party = "to" read(parties.find(r, fields, "to")), name();
        /// Flows per host pair; flow i of the group belongs to host pair i / flows_per_pair (rounded down). Above 1, the
        /// engine generates the flows in emulation. Default: 1.
        each: u32 = "flows_per_pair" or(1), integer(FLOWS_EACH);
        /// Congestion control. Default: `cubic`.
        transport: Transport = "transport" read_optional(transport(r, fields, |one| parties.parts.may_have(one))), word(Transport::words());
        /// If true, SACK is used. Default: true with `cubic`, `highspeed`, `dctcp` and `xcp`, else false.
        sack: bool = "sack" or(transport.uses_sack()), flag();
        /// TCP settings, or `linux`: those of Linux, with SACK; in emulation, Linux hosts then generate the flows.
        tcp: Tcp = "tcp" read_optional(tcp::tcp(r, fields, transport, sack)), tcp::TcpOrLinux;
        /// Receive window in bytes; 65,535 is the maximum without window scaling (RFC 7323). Default: 512 MiB.
        window_bytes: Option<u32> = "window_bytes" optional, integer(WINDOW_BYTES);
        /// Bytes sent by each flow. Default: until the end of the run.
        bytes: Option<Bytes> = "bytes" optional, integer(FILE_BYTES);
        /// UDP datagrams in full IP packets instead of a TCP stream.
        udp: Option<GroupUdp> = "udp" read_optional(GroupUdp::under(r, fields, "udp", ())), defined("flow_udp");
        /// Web users at the receiving host that fetch pages, one connection per page.
        web: Option<FlowWeb> = "web" read_optional(FlowWeb::under(r, fields, "web", ())), defined("flow_web");
        /// GTP session (receiver-driven, over UDP) instead of a TCP stream. In emulation, the engine generates it.
        gtp: Option<GtpFlow> = "gtp" read_optional(gtp(r, fields)), defined("flow_gtp");
        /// Largest IP packet of the flow in bytes, with UDP the size of every packet; at most the scenario's
        /// `packet_bytes`. Default: the scenario's `packet_bytes`.
        packet_bytes: u32 = "packet_bytes" or(parties.packet_bytes), integer(FLOW_PACKET_BYTES);
        /// Earliest start in ms. Default: 0.
        start_ms: u64 = "start_ms" or(0), integer(START_MS);
        /// DSCP of the flow's packets, acknowledgments included. If given, the engine generates the flows in emulation.
        /// Default: 0.
        dscp: u8 = "dscp" or(0), integer(DSCP);
        /// Start jitter in ms: this period has as many equal parts as there are flows, and flow i starts at a time in
        /// part i drawn from the seed. Default: 10.
        spread_ms: u64 = "start_jitter_ms" or(10), integer(START_MS);
        /// Time in ms after which sources send no new data; later than the start of the last flow. If given, the engine
        /// generates the flows in emulation. Default: the end of the run.
        stop_ms: Option<u64> = "stop_ms" optional, integer(DURATION_MS);
        /// If true, packet statistics are recorded (time series `reordering`): reordering, delay deviation and spurious
        /// retransmissions. The engine then generates the flows in emulation. Default: false.
        measure: bool = "packet_stats" or(false), flag();
    }
    kinds {
        "gtp" without ["transport", "sack", "tcp", "window_bytes", "bytes", "web", "udp"],
        "udp" without ["transport", "sack", "tcp", "window_bytes", "bytes", "web"],
        "web" without ["bytes", "packet_stats"],
    }
}

/// Session under `gtp`.
fn gtp(r: &mut Reader, parent: &Fields) -> Option<GtpFlow> {
    GtpFlowKeys::under(r, parent, "gtp", ()).map(GtpFlow::of)
}

/// Reads an entry.
pub(super) fn flow(r: &mut Reader, parties: &Parties, value: &Doc, pointer: String) -> FlowGroup {
    let keys = FlowKeys::of(r, value, pointer, parties);
    let source = match (keys.gtp, keys.udp, keys.web) {
        (Some(gtp), ..) => Source::Gtp(gtp),
        (_, Some(udp), _) => Source::Udp {
            rate: udp.rate,
            process: udp.process(),
        },
        (.., Some(web)) => Source::Web {
            users: web.users,
            web: web.web(),
        },
        _ => Source::Stream { bytes: keys.bytes },
    };
    FlowGroup {
        name: keys.name,
        from: keys.from,
        to: keys.to,
        each: keys.each,
        transport: keys.transport,
        sack: keys.sack,
        tcp: keys.tcp,
        source,
        packet_bytes: keys.packet_bytes,
        dscp: keys.dscp,
        window_bytes: keys.window_bytes,
        start_ms: keys.start_ms,
        spread_ms: keys.spread_ms,
        stop_ms: keys.stop_ms,
        measure: keys.measure,
    }
}
