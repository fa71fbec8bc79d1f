// SPDX-License-Identifier: Apache-2.0
//! Files over GTP between real hosts: what is sealed, who may speak, and who asks for what. Pure state machines; `now` is passed in, sockets
//! and files are the caller's. GTP itself is [`slotwise_transport::gtp`]; formats, security and limits are in `docs/gtp.md`.
//!
//! ```text
//! datagram -> packet -> handshake (cookie, Noise) or channel (open, replay window) -> control | gtp::Host (grants, data, loss lists)
//! ```
//!
//! A [`Node`] is one UDP socket: a daemon with many peers, or the other end of one. Call [`Node::handle_datagram`] or
//! [`Node::handle_timeout`], then [`Node::poll_transmit`] and [`Node::poll_event`] until they give nothing, then [`Node::poll_timeout`].

mod channel;
pub mod control;
mod cookie;
mod key;
mod node;
pub mod packet;
mod peers;
mod window;

pub use control::{Digest, Reason, Verdict};
pub use key::{Key, KeyError};
pub use node::{CAPACITIES, Ended, Event, Node, NodeConfig, NodeError, TransferId, TransferStats};
pub use peers::{MAX_CHANNELS, PeerStats, Said};
