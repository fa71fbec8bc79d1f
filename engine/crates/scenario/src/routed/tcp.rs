// SPDX-License-Identifier: Apache-2.0
//! Settings of the TCP of a group of flows.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use crate::model::Transport;
use crate::reader::{Fields, Reader};
use crate::section::{Schema, Section as _, flag, integer, raw, section};

/// Windows and thresholds, in segments.
const SEGMENTS: RangeInclusive<u64> = 1..=1 << 20;
const MIN_RTO_MS: RangeInclusive<u64> = 0..=60_000;
const RTO_TICK_MS: RangeInclusive<u64> = 1..=1000;

section! {
    /// TCP settings in addition to `transport`. If any is given, the engine generates the flows in emulation.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Tcp {
        /// Initial congestion window in segments. Default: 2 to 4, by segment size (RFC 5681).
        pub initial_window: Option<u32> = "initial_window" optional, integer(SEGMENTS);
        /// Initial slow-start threshold in segments; not with `xcp`. Default: unlimited.
        pub initial_ssthresh: Option<u32> = "initial_ssthresh" optional, integer(SEGMENTS);
        /// Maximum window in segments: limit on outstanding data in addition to the receive window. Default:
        /// unlimited.
        pub window_packets: Option<u32> = "max_window_segments" optional, integer(SEGMENTS);
        /// Minimum retransmission timeout in ms. Default: 1000 (RFC 6298).
        pub min_rto_ms: Option<u64> = "min_rto_ms" optional, integer(MIN_RTO_MS);
        /// RTO granularity G in ms (RFC 6298): round trips are measured in whole ticks and timeouts rounded up. Old
        /// stacks have 10 to 500. Default: 1 ns.
        pub rto_tick_ms: Option<u64> = "rto_granularity_ms" optional, integer(RTO_TICK_MS);
        /// If true, an acknowledgment waits for a second segment or 40 ms. Default: true, with `xcp` false.
        pub delayed_acks: Option<bool> = "delayed_acks" optional, flag();
        /// If true, the first two duplicate acknowledgments send new data (RFC 3042). Default: true.
        pub limited_transmit: Option<bool> = "limited_transmit" optional, flag();
        /// If true, the packets of a window are paced over the smoothed round-trip time, in slow start too. Default:
        /// false.
        pub paced: bool = "paced" or(false), flag();
        /// If true, losses are detected by time, tail losses are probed (RACK-TLP, RFC 8985), and duplicates are
        /// reported (RFC 2883). Needs SACK. Default: false.
        pub rack: bool = "rack" or(false), flag();
    }
}

impl Tcp {
    /// What Linux has unless told otherwise (6.1): ten segments to begin with (RFC 6928), timeouts of at least 200 ms, RACK-TLP.
    pub const LINUX: Tcp = Tcp {
        initial_window: Some(10),
        initial_ssthresh: None,
        window_packets: None,
        min_rto_ms: Some(200),
        rto_tick_ms: None,
        delayed_acks: None,
        limited_transmit: None,
        paced: false,
        rack: true,
    };
}

/// Settings, or `linux`.
pub(crate) struct TcpOrLinux;

impl Schema for TcpOrLinux {
    fn schema(&self) -> Doc {
        raw(r##"{"if": {"type": "string"}, "then": {"const": "linux"}, "else": {"$ref": "#/$defs/flow_tcp"}}"##)
            .schema()
    }
}

/// Settings under `tcp` of a group of flows.
pub(crate) fn tcp(r: &mut Reader, parent: &Fields, transport: Transport, sack: bool) -> Tcp {
    let Some(value) = r.optional(parent, "tcp") else {
        return Tcp::default();
    };
    if value.as_str() == Some("linux") {
        if transport == Transport::Xcp || !sack {
            r.report(
                parent.pointer("tcp"),
                "Linux has no XCP and always uses SACK",
                "cubic, or reno or newreno with 'sack: true'",
            );
        }
        return Tcp::LINUX;
    }
    let place = parent.pointer("tcp");
    let tcp = Tcp::of(r, value, place.clone(), ());
    if tcp.rack && !sack {
        r.report(
            format!("{place}/rack"),
            "RACK without SACK",
            "'sack: true' too, which reno and newreno do not have by default",
        );
    }
    if tcp.initial_ssthresh.is_some() && transport == Transport::Xcp {
        r.report(
            format!("{place}/initial_ssthresh"),
            "xcp has no slow start",
            "another transport, or no 'initial_ssthresh'",
        );
    }
    tcp
}
