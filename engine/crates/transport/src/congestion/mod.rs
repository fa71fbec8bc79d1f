// SPDX-License-Identifier: Apache-2.0
//! Congestion control: how many bytes may be in flight.

mod cubic;
mod dctcp;
mod highspeed;
mod reno;
mod xcp;

use slotwise_units::{Bytes, Duration, Instant};

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

/// Marks reported by an acknowledgment (ECN).
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Newly acknowledged.
    pub acked: Bytes,
    /// True if the receiver reports a mark.
    pub is_marked: bool,
    /// Bytes in flight.
    pub outstanding: Bytes,
    /// True in fast recovery, which has reduced the window.
    pub is_recovering: bool,
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
    /// Handles an acknowledgment of new data with ECN, also in fast recovery; called before [`CongestionControl::on_ack`].
    fn on_marks(&mut self, _: &Marks) {}
    /// The retransmission timer went off, `first` for the data at the head of the line.
    fn on_timeout(&mut self, now: Instant, flight: Bytes, first: bool);
}

/// Settings that the controller of a connection begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Payload of a full segment.
    pub(crate) mss: Bytes,
    /// IP packet of a full segment.
    pub(crate) packet: Bytes,
    /// First congestion window.
    pub(crate) initial_window: Bytes,
    /// First slow-start threshold; `None` before the first loss.
    pub(crate) ssthresh: Option<Bytes>,
    /// Limit of the window that is used; `None` without.
    pub(crate) limit: Option<Bytes>,
}

/// Construction of a controller.
trait Begin {
    /// Makes the controller of a connection.
    fn begin(setup: &Setup) -> Self;
}

/// Makes the list of algorithms: a row for each, with its controller.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident: $controller:ty,)*) => {
        /// The algorithms of this crate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Algorithm {
            $($(#[$doc])* $name,)*
        }

        impl Algorithm {
            /// Makes the controller of a connection.
            pub(crate) fn controller(self, setup: &Setup) -> Box<dyn CongestionControl + Send> {
                match self {
                    $(Self::$name => Box::new(<$controller>::begin(setup)),)*
                }
            }
        }
    };
}

algorithms! {
    /// RFC 5681; leaves fast recovery at the first new acknowledgment.
    Reno: reno::Reno,
    /// RFC 5681 with RFC 6582's answer to partial acknowledgments.
    NewReno: reno::Reno,
    /// RFC 9438, with NewReno's recovery.
    Cubic: cubic::Cubic,
    /// RFC 8257: windows by the fraction of marked bytes, NewReno's recovery.
    Dctcp: dctcp::Dctcp,
    /// RFC 3649 with limited slow start (RFC 3742), NewReno's recovery.
    HighSpeed: highspeed::HighSpeed,
    /// Windows from explicit feedback (draft-falk-xcp-spec), NewReno's recovery.
    Xcp: xcp::Xcp,
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
