// SPDX-License-Identifier: Apache-2.0
//! What goes into a fabric and comes out of it.

use slotwise_p4::{Bits, Port};
use slotwise_scenario::{Device, DeviceKind};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::DropReason;

use crate::capture::Capturing;
use slotwise_cards::packet::Frame;

/// Who plays the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMode {
    /// The caller: [`World::inject_host`] and [`World::poll_host_output`].
    External,
    /// Sources and sinks in the fabric, by the scenario's phases.
    Simulated,
    /// The caller, but for flows that hosts of Linux cannot play: those have sources and sinks in the fabric, at the same hosts, from
    /// [`World::begin_phase`] on. What is not for these is the caller's.
    Shared,
}

impl HostMode {
    /// Whether the fabric plays a flow that hosts of Linux can play, or cannot.
    pub(crate) fn plays(self, is_of_linux: bool) -> bool {
        match self {
            HostMode::External => false,
            HostMode::Simulated => true,
            HostMode::Shared => !is_of_linux,
        }
    }
}

/// How a fabric is to run.
pub struct WorldOptions {
    /// Seed of every random choice.
    pub seed: u64,
    /// Who plays the hosts.
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

/// What a device has for the controller, or for its own agent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEvent {
    /// When it left the device.
    pub at: Instant,
    /// P4Runtime device id.
    pub device_id: u64,
    /// What it is.
    pub message: ControlMessage,
}

/// A message for the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlMessage {
    /// What left by the CPU port, controller header included.
    Packet(Frame),
    /// A digest.
    Digest {
        /// Its P4Runtime name.
        name: String,
        /// Its fields in order.
        fields: Vec<Bits>,
    },
    /// A port's link came or went; all are up at first.
    Link {
        /// The port.
        port: Port,
        /// Whether light passes now.
        is_up: bool,
    },
    /// The device stopped, and all that it knew is lost, or it is there again.
    Device {
        /// Whether it is there now.
        is_up: bool,
    },
}

/// A cell of a device's `drops` counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct P4Drop {
    /// Why P4 dropped.
    pub reason: DropReason,
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
}
