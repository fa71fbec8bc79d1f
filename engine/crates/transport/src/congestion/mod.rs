// SPDX-License-Identifier: Apache-2.0
//! Congestion control: how many bytes may be in flight.

mod cubic;
mod highspeed;
mod reno;
mod xcp;

pub use cubic::Cubic;
pub use highspeed::HighSpeed;
pub use reno::Reno;
pub use xcp::Xcp;

/// What an acknowledgment tells a controller.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Fabric time.
    pub now_ns: u64,
    /// Bytes newly acknowledged, > 0.
    pub acked_bytes: u64,
    /// Smoothed round-trip time, if measured.
    pub srtt_ns: Option<u64>,
    /// Whether the congestion window was what held the sender back. If not, a window must not grow on it.
    pub window_limited: bool,
    /// Reverse feedback of an XCP packet, 1/16 byte/s.
    pub feedback: Option<i32>,
}

/// A congestion controller. Windows are bytes of payload.
///
/// The sender owns loss detection and recovery and calls `on_ack` only outside fast recovery.
pub trait CongestionControl {
    /// The congestion window, at least one segment.
    fn window_bytes(&self) -> u64;
    /// Slow-start threshold; `u64::MAX` when there is none yet.
    fn ssthresh_bytes(&self) -> u64;
    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Fast retransmit with `flight_bytes` outstanding: the window becomes the new threshold.
    fn on_loss(&mut self, now_ns: u64, flight_bytes: u64);
    /// Fast recovery or a pause ended: the window is at most `limit_bytes` (RFC 6582 section 3.2 step 3, RFC 5681 section 4.1).
    fn cap_window(&mut self, limit_bytes: u64);
    /// The retransmission timer went off, `first` for the data at the head of the line.
    fn on_timeout(&mut self, now_ns: u64, flight_bytes: u64, first: bool);
}

/// The algorithms of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// RFC 5681; leaves fast recovery at the first new acknowledgment.
    Reno,
    /// RFC 5681 with RFC 6582's answer to partial acknowledgments.
    NewReno,
    /// RFC 9438, with NewReno's recovery.
    Cubic,
    /// RFC 3649 with limited slow start (RFC 3742), NewReno's recovery.
    HighSpeed,
    /// Windows from explicit feedback (draft-falk-xcp-spec), NewReno's recovery.
    Xcp,
}

impl Algorithm {
    /// A controller for segments of `mss_bytes` in packets of `packet_bytes`, a window to begin with, and a slow-start threshold
    /// if there is one from the beginning, which XCP does without. The window that is used is at most `limit_bytes`: XCP's stays within.
    pub(crate) fn controller(
        self,
        mss_bytes: u64,
        packet_bytes: u64,
        initial_window_bytes: u64,
        ssthresh_bytes: Option<u64>,
        limit_bytes: Option<u64>,
    ) -> Box<dyn CongestionControl + Send> {
        match self {
            Self::Reno | Self::NewReno => Box::new(Reno::new(mss_bytes, initial_window_bytes, ssthresh_bytes)),
            Self::Cubic => Box::new(Cubic::new(mss_bytes, initial_window_bytes, ssthresh_bytes)),
            Self::HighSpeed => Box::new(HighSpeed::new(mss_bytes, initial_window_bytes, ssthresh_bytes)),
            Self::Xcp => Box::new(
                Xcp::new(mss_bytes, packet_bytes, initial_window_bytes).within(limit_bytes.unwrap_or(u64::MAX)),
            ),
        }
    }
}

/// RFC 5681 section 3.1: two to four segments.
pub fn initial_window_bytes(mss_bytes: u64) -> u64 {
    match mss_bytes {
        2191.. => 2 * mss_bytes,
        1096.. => 3 * mss_bytes,
        _ => 4 * mss_bytes,
    }
}

/// RFC 5681 equation 4.
fn half_flight(flight_bytes: u64, mss_bytes: u64) -> u64 {
    (flight_bytes / 2).max(2 * mss_bytes)
}
