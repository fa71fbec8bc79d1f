// SPDX-License-Identifier: Apache-2.0
//! P4Runtime server for many devices. It owns no pipeline: what controllers want done becomes commands for the thread
//! that does ([`DeviceHub`]), and that thread hands packet-ins back.
//!
//! ```text
//! controllers == gRPC ==> Server (checks against P4Info) -- DeviceCommand --> DeviceHub::try_recv, owner's thread
//!             <= streams =                               <-- packet_in -------
//! ```
//!
//! P4Runtime 1.4 and later; docs/p4runtime.md says what is served and what is not.

mod answer;
mod arbitration;
mod bits;
mod compiler;
mod configure;
mod device;
mod device_config;
mod digest;
mod entity;
mod error;
mod guard;
#[cfg(test)]
mod hostile;
mod hub;
mod idle;
mod incoming;
mod learning;
mod limits;
mod link;
mod lockstep;
mod outbox;
mod p4data;
mod p4info;
mod packet_io;
mod programs;
pub use slotwise_p4runtime_proto as proto;
mod read;
mod reconfigure;
mod role;
mod room;
mod server;
mod service;
mod stream;
#[cfg(test)]
mod testing;
mod tls;
mod weigh;

pub use error::ApiError;
pub use hub::{Call, Delivery, DeviceAccess, DeviceCommand, DeviceHub, Notification, Waker, Work};
pub use limits::ServerLimits;
pub use lockstep::{Arrival, ControllerPacket, GiveUp, LockstepError, LockstepLink, Turn};
pub use p4info::parse as parse_p4info;
pub use server::{DeviceConfig, InitialProgram, Server, ServerConfig, StartError};
pub use tls::Tls;
