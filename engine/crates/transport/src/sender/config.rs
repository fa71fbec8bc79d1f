// SPDX-License-Identifier: Apache-2.0
//! Settings of a sender.

use std::net::SocketAddrV4;

use slotwise_units::Bytes;
use slotwise_wire::Ipv4;

use crate::congestion::{self, Algorithm, CongestionControl, Setup};
use crate::endpoint::ConfigError;
use crate::rtt::RtoConfig;
use crate::segment::TCP_HEADER;
use crate::xcp;

/// Settings of a [`crate::Sender`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Own address and port.
    pub local: SocketAddrV4,
    /// The receiver's.
    pub remote: SocketAddrV4,
    /// Congestion control. `Xcp` also puts the shim into every packet.
    pub algorithm: Algorithm,
    /// Offer SACK (RFC 2018) and recover with it (RFC 6675).
    pub sack: bool,
    /// Bytes of the IP packet of a full segment.
    pub packet_bytes: u16,
    /// Initial sequence number. The caller draws it.
    pub initial_sequence: u32,
    /// Congestion window to begin with, in segments; `None`: RFC 5681 section 3.1.
    pub initial_window_segments: Option<u32>,
    /// Slow-start threshold to begin with, in segments; `None`: none before the first loss.
    pub initial_ssthresh_segments: Option<u32>,
    /// The most that is outstanding, in segments, whatever the peer's window is.
    pub window_limit_segments: Option<u32>,
    /// Send new data on the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// Spread the packets of a window evenly over the smoothed round-trip time, in slow start too.
    pub paced: bool,
    /// Detect losses by time, and probe a lost tail (RACK-TLP, RFC 8985), if SACK is agreed on.
    pub rack: bool,
    /// Bounds of the retransmission timeout.
    pub rto: RtoConfig,
    /// Timeouts in a row without an answer after which the connection ends (RFC 9293 section 3.8.3).
    pub max_timeouts: u32,
}

impl SenderConfig {
    /// 1000-byte packets (the thesis's), SACK, and the RFCs' values for the rest.
    pub fn new(local: SocketAddrV4, remote: SocketAddrV4, algorithm: Algorithm) -> Self {
        Self {
            local,
            remote,
            algorithm,
            sack: true,
            packet_bytes: 1000,
            initial_sequence: 0,
            initial_window_segments: None,
            initial_ssthresh_segments: None,
            window_limit_segments: None,
            limited_transmit: true,
            paced: false,
            rack: false,
            rto: RtoConfig::default(),
            max_timeouts: 15,
        }
    }

    pub(super) fn is_xcp(&self) -> bool {
        self.algorithm == Algorithm::Xcp
    }

    /// Returns true if ECN is offered (RFC 3168).
    pub(super) fn uses_ecn(&self) -> bool {
        self.algorithm == Algorithm::Dctcp
    }

    fn header(&self) -> Bytes {
        let shim = if self.is_xcp() { xcp::SIZE } else { 0 };
        Bytes::of(Ipv4::SIZE + shim + TCP_HEADER)
    }

    /// Payload of a full segment.
    pub(super) fn mss(&self) -> Bytes {
        Bytes::new(self.packet_bytes.into()) - self.header()
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check(
            "packet_bytes",
            self.packet_bytes.into(),
            self.header().get() + 1..=u16::MAX.into(),
        )?;
        let segments = [
            ("initial_window_segments", self.initial_window_segments),
            ("initial_ssthresh_segments", self.initial_ssthresh_segments),
            ("window_limit_segments", self.window_limit_segments),
        ];
        for (setting, value) in segments {
            ConfigError::check(setting, value.unwrap_or(1).into(), 1..=1 << 20)?;
        }
        self.rto.check()
    }

    /// The window to begin with.
    pub(super) fn initial_window(&self, mss: Bytes) -> Bytes {
        let segments = self.initial_window_segments;
        segments.map_or_else(|| congestion::initial_window(mss), |segments| u64::from(segments) * mss)
    }

    /// A fresh controller. After a lost SYN the window begins with one segment (RFC 5681 section 3.1).
    pub(super) fn controller(&self, mss: Bytes, syn_lost: bool) -> Box<dyn CongestionControl + Send> {
        let [ssthresh, limit] = [self.initial_ssthresh_segments, self.window_limit_segments]
            .map(|segments| segments.map(|segments| u64::from(segments) * mss));
        self.algorithm.controller(&Setup {
            mss,
            packet: mss + self.header(),
            initial_window: if syn_lost { mss } else { self.initial_window(mss) },
            ssthresh,
            limit,
        })
    }
}
