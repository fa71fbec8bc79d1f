// SPDX-License-Identifier: Apache-2.0
//! Transports as pure state machines: TCP and XCP senders and receivers, UDP sources and sinks, web-like
//! traffic. No clock, socket, thread or entropy: the time of the run, addresses, seeds and initial sequence numbers
//! are passed in, and what is sent are the bytes of real IPv4 packets.
//!
//! [`Endpoint`] says in which order to call; [`Stack`] does it for the endpoints of a host. [`Sender`] with [`Algorithm`] `Reno`, `NewReno` or `Cubic` speaks
//! plain TCP; with `Xcp` the same segments travel behind the shim of [`xcp`].
//!
//! A transfer over a wire without delay:
//!
//! ```
//! use slotwise_transport::content::{Pattern, PatternCheck};
//! use slotwise_transport::{Algorithm, Endpoint, Event, Receiver, ReceiverConfig, Sender, SenderConfig};
//! use slotwise_units::{Bytes, Instant};
//!
//! let (local, remote) = ("10.0.0.1:1000".parse()?, "10.0.0.2:2000".parse()?);
//! let settings = SenderConfig::new(local, remote, Algorithm::Cubic);
//! let mut sender = Sender::new(settings, Some(Bytes::new(100_000)), Pattern::new(1))?;
//! let mut receiver = Receiver::new(ReceiverConfig::new(remote), PatternCheck::new(Pattern::new(1)))?;
//! let now = Instant::ZERO;
//! let mut packet = Vec::new();
//! while sender.poll_transmit(now, &mut packet).is_some() {
//!     receiver.handle_segment(now, &packet);
//!     while receiver.poll_transmit(now, &mut packet).is_some() {
//!         sender.handle_segment(now, &packet);
//!     }
//! }
//! assert_eq!(receiver.sink().bytes(), Bytes::new(100_000));
//! assert_eq!(receiver.sink().wrong(), Bytes::ZERO);
//! assert_eq!(sender.poll_event(), Some(Event::Connected));
//! assert_eq!(sender.poll_event(), Some(Event::Finished));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod burst;
mod checksum;
mod congestion;
pub mod content;
mod datagram;
mod endpoint;
pub mod gtp;
mod rack;
mod ranges;
mod receiver;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;
mod sequence;
mod stack;
pub mod stray;
mod udp;
mod web;
pub mod xcp;

pub use arrivals::{Arrivals, Departures};
pub use burst::{BurstConfig, BurstSink, BurstSource};
pub use congestion::{Ack, Algorithm, CongestionControl, Marks, initial_window};
pub use endpoint::{AbortReason, ConfigError, Endpoint, Event, FlowKey, PROTOCOL_UDP};
pub use receiver::{Receiver, ReceiverConfig, ReceiverStats};
pub use rtt::{RtoConfig, RttEstimator};
pub use sender::{Sender, SenderConfig, SenderStats};
pub use stack::{ANYONE, Stack, StackStats};
pub use udp::{UdpSink, UdpSource, UdpSourceConfig, UdpStats};
pub use web::{MAX_OPEN_PAGES, WebConfig, WebUser};
