// SPDX-License-Identifier: Apache-2.0
//! Settings of the TCP of a group of flows.

use std::ops::RangeInclusive;

use crate::model::Transport;
use crate::reader::{Fields, Reader};

/// Windows and thresholds, in segments.
const SEGMENTS: RangeInclusive<u64> = 1..=1 << 20;
const MIN_RTO_MS: RangeInclusive<u64> = 0..=60_000;
const RTO_TICK_MS: RangeInclusive<u64> = 1..=1000;

/// What streams do that their transport alone does not say. `None`: as the transport's RFCs have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Congestion window to begin with, segments.
    pub initial_window: Option<u32>,
    /// Slow-start threshold to begin with, segments.
    pub initial_ssthresh: Option<u32>,
    /// The most that is outstanding, segments, whatever the receiver's window.
    pub window_packets: Option<u32>,
    /// Least retransmission timeout; 1 s.
    pub min_rto_ms: Option<u64>,
    /// Tick of the clock that the timeout is reckoned by; none.
    pub rto_tick_ms: Option<u64>,
    /// Whether an acknowledgment waits for a second segment or 40 ms; with all but XCP.
    pub delayed_acks: Option<bool>,
    /// Whether the first two duplicates send new data; they do.
    pub limited_transmit: Option<bool>,
    /// Whether a window's packets leave evenly over the round trip.
    pub paced: bool,
    /// Whether losses are detected by time and a lost tail is probed.
    pub rack: bool,
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

/// What stands under `tcp` of a group of flows.
pub(super) fn tcp(r: &mut Reader, parent: &Fields, transport: Transport, sack: bool) -> Tcp {
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
    let keys = [
        "initial_window",
        "initial_ssthresh",
        "window_packets",
        "min_rto_ms",
        "rto_tick_ms",
        "delayed_acks",
        "limited_transmit",
        "paced",
        "rack",
    ];
    let fields = r.fields(value, parent.pointer("tcp"), &keys);
    let mut segments = |key: &str| {
        let segments = r.optional_integer(&fields, key, SEGMENTS);
        segments.map(|segments| segments as u32)
    };
    let tcp = Tcp {
        initial_window: segments("initial_window"),
        initial_ssthresh: segments("initial_ssthresh"),
        window_packets: segments("window_packets"),
        min_rto_ms: r.optional_integer(&fields, "min_rto_ms", MIN_RTO_MS),
        rto_tick_ms: r.optional_integer(&fields, "rto_tick_ms", RTO_TICK_MS),
        delayed_acks: r.optional_bool(&fields, "delayed_acks"),
        limited_transmit: r.optional_bool(&fields, "limited_transmit"),
        paced: r.optional_bool(&fields, "paced").unwrap_or(false),
        rack: r.optional_bool(&fields, "rack").unwrap_or(false),
    };
    if tcp.rack && !sack {
        r.report(
            fields.pointer("rack"),
            "RACK without SACK",
            "'sack: true' too, which reno and newreno do not have by default",
        );
    }
    if tcp.initial_ssthresh.is_some() && transport == Transport::Xcp {
        r.report(
            fields.pointer("initial_ssthresh"),
            "xcp has no slow start",
            "another transport, or no 'initial_ssthresh'",
        );
    }
    tcp
}
