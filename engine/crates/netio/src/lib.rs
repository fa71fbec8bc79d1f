// SPDX-License-Identifier: Apache-2.0
//! Raw Ethernet ports on Linux interfaces (AF_PACKET), the wall clock, and a way to wake the loop that serves them.
//!
//! ```text
//! Ports::open -> loop { poll(timeout, handler); send(port, frame) ...; flush() }
//! ```
//!
//! One thread owns a [`Ports`]; any thread may hold a [`Waker`]. Beside them, [`RawIpSocket`] sends and receives IPv4 packets of one
//! protocol as a host does, and [`UdpPort`] many datagrams at once.

mod batch;
mod clock;
mod cpu;
mod namespace;
mod offload;
mod packet_socket;
mod ports;
mod raw_ip;
mod udp;
mod wait;

pub use clock::WallClock;
pub use cpu::{CpuPlan, ThreadUse, be_ordinary, be_realtime, fix_fabric_cpu, keep_off, lost_shares};
pub use ports::{Opened, Opener, PortError, Ports, Renewal, Senders, Waker, WhenFull, is_interface_name};
pub use raw_ip::{RawIpError, RawIpSocket, Sent};
pub use udp::{Batch, UdpPort};

/// Longest frame that a port carries, Ethernet header included.
pub const MAX_FRAME_BYTES: usize = 16 * 1024;
