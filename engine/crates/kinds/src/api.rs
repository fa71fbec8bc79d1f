// SPDX-License-Identifier: Apache-2.0
//! Options of a network, its errors, and frames for hosts.

use slotwise_scenario::{Device, DeviceKind};
use slotwise_units::Instant;

use slotwise_cards::packet::Frame;
use slotwise_net::capture::Capturing;
use slotwise_traffic::HostMode;

/// Settings of a network's run.
pub struct WorldOptions {
    /// Seed of every random choice.
    pub seed: u64,
    /// Player of the hosts.
    pub host_mode: HostMode,
    /// What is captured; `None` captures nothing.
    pub captures: Option<Capturing>,
    /// If true, frames are recorded; [`ViewMut::poll_frame`](crate::ViewMut::poll_frame) must then be called regularly.
    pub frame_records: bool,
}

/// By kind.
fn first_ids() -> String {
    let ids = DeviceKind::all().map(|kind| format!("{} {}", kind.name, kind.first_id));
    ids.collect::<Vec<String>>().join(", ")
}

/// A call that names what the scenario does not have. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// No such device.
    #[error("unknown device {_0}; expected an ID of the scenario (first IDs: {first_ids})", first_ids = first_ids())]
    UnknownDevice(u64),
    /// No such access port.
    #[error(
        "{device} has no host at port {port}; expected a host port (edges: from 1; routers: after the ports to neighbours)"
    )]
    UnknownPort {
        /// The switch.
        device: Device,
        /// The port.
        port: u16,
    },
}

/// A frame for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFrame {
    /// When its tail arrives.
    pub at: Instant,
    /// The host's switch.
    pub device: Device,
    /// The port to which it is linked.
    pub port: u16,
    /// The frame.
    pub frame: Frame,
}
