// SPDX-License-Identifier: Apache-2.0
//! Congestion control: how many bytes may be in flight.

mod cubic;
mod highspeed;
mod reno;
mod xcp;

use slotwise_units::{Bytes, Duration, Instant};

pub use cubic::Cubic;
pub use highspeed::HighSpeed;
pub use reno::Reno;
pub use xcp::Xcp;

/// What an acknowledgment tells a controller.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time.
    pub now: Instant,
    /// Newly acknowledged, over 0.
    pub acked: Bytes,
    /// Smoothed round-trip time, if measured.
    pub srtt: Option<Duration>,
    /// Whether the congestion window was what held the sender back. If not, a window must not grow on it.
    pub window_limited: bool,
    /// Reverse feedback of an XCP packet, 1/16 byte/s.
    pub feedback: Option<i32>,
}

/// A congestion controller. Windows are of payload.
///
/// The sender owns loss detection and recovery and calls `on_ack` only outside fast recovery.
pub trait CongestionControl {
    /// The congestion window, at least one segment.
    fn window(&self) -> Bytes;
    /// Slow-start threshold; [`Bytes::MAX`] when there is none yet.
    fn ssthresh(&self) -> Bytes;
    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Fast retransmit with `flight` outstanding: the window becomes the new threshold.
    fn on_loss(&mut self, now: Instant, flight: Bytes);
    /// Fast recovery or a pause ended: the window is at most `limit` (RFC 6582 section 3.2 step 3, RFC 5681 section 4.1).
    fn cap_window(&mut self, limit: Bytes);
    /// The retransmission timer went off, `first` for the data at the head of the line.
    fn on_timeout(&mut self, now: Instant, flight: Bytes, first: bool);
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
    /// A controller for segments of `mss` in packets of `packet`, a window to begin with, and a slow-start threshold
    /// if there is one from the beginning, which XCP does without. The window that is used is at most `limit`: XCP's stays within.
    pub(crate) fn controller(
        self,
        mss: Bytes,
        packet: Bytes,
        initial_window: Bytes,
        ssthresh: Option<Bytes>,
        limit: Option<Bytes>,
    ) -> Box<dyn CongestionControl + Send> {
        match self {
            Self::Reno | Self::NewReno => Box::new(Reno::new(mss, initial_window, ssthresh)),
            Self::Cubic => Box::new(Cubic::new(mss, initial_window, ssthresh)),
            Self::HighSpeed => Box::new(HighSpeed::new(mss, initial_window, ssthresh)),
            Self::Xcp => Box::new(Xcp::new(mss, packet, initial_window).within(limit.unwrap_or(Bytes::MAX))),
        }
    }
}

/// RFC 5681 section 3.1: two to four segments.
pub fn initial_window(mss: Bytes) -> Bytes {
    match mss.get() {
        2191.. => 2 * mss,
        1096.. => 3 * mss,
        _ => 4 * mss,
    }
}

/// RFC 5681 equation 4.
fn half_flight(flight: Bytes, mss: Bytes) -> Bytes {
    (flight / 2).max(2 * mss)
}
