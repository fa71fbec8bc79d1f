// SPDX-License-Identifier: Apache-2.0
//! Virtual time: fabric and controller take turns. See docs/architecture.md, "lock step".

use std::time::Duration;

use crate::device::send;
use crate::error::any;
use crate::hub::{Delivery, DeviceCommand, DeviceHub, HubEvent, Work};
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::slotwise::v1::{Advance, Done};

/// A frame, controller header first, and the device whose CPU port it passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerPacket {
    /// Id in P4Runtime messages.
    pub device_id: u64,
    /// Controller header, then the frame from Ethernet on.
    pub frame: Vec<u8>,
}

/// What the controller did with its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Ordered by device, and within a device as they were sent.
    pub packet_outs: Vec<ControllerPacket>,
    /// When the controller wants its next turn if nothing else happens.
    pub next_deadline_ns: Option<u64>,
}

/// Why the run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    /// Nothing was heard for the patience given.
    #[error("the controller did not answer turn {sequence} within {patience:?}")]
    Timeout {
        /// Turn that it owes.
        sequence: u64,
        /// How long it was waited for, in real time.
        patience: Duration,
    },
    /// The last primary's stream ended.
    #[error("the controller left during turn {sequence}")]
    ControllerLeft {
        /// Turn that it owes.
        sequence: u64,
    },
    /// A packet-in found no primary, no room or no header.
    #[error("packet-in from device {device_id} could not be delivered: {delivery:?}")]
    Undelivered {
        /// Sender.
        device_id: u64,
        /// What became of it.
        delivery: Delivery,
    },
    /// The controller's stream is full of unread messages.
    #[error("the controller does not read its streams (turn {sequence})")]
    Congested {
        /// Turn that could not be announced.
        sequence: u64,
    },
    /// `Done` for another turn than the one that runs.
    #[error("the controller answered turn {given}; it is turn {expected}")]
    WrongTurn {
        /// Sequence in its `Done`.
        given: u64,
        /// Sequence of the turn.
        expected: u64,
    },
    /// More packet-outs came than `Done` counts.
    #[error("{received} packet-outs came, but the controller says that it sent {declared}")]
    PacketOutCount {
        /// Since the connection began.
        received: u64,
        /// In its `Done`.
        declared: u64,
    },
}

/// The fabric's end of lock step.
pub struct LockstepLink {
    hub: DeviceHub,
    patience: Duration,
    sequence: u64,
    /// Packet-outs since the connection began, refused ones included.
    received: u64,
}

impl LockstepLink {
    /// Over the hub of a server started with `lock_step`. `patience`: how long, in real time, a silent controller is
    /// waited for.
    pub fn new(hub: DeviceHub, patience: Duration) -> LockstepLink {
        LockstepLink {
            hub,
            patience,
            sequence: 0,
            received: 0,
        }
    }

    /// Waits until the controller has configured the devices and says so (`Done` 0). `execute` gets its commands.
    pub fn ready(&mut self, execute: &mut dyn FnMut(DeviceCommand)) -> Result<Turn, LockstepError> {
        self.turn(false, execute)
    }

    /// Gives the controller a turn at `now_ns`: what left CPU ports before, then the time. `execute` gets its commands
    /// while the fabric stands still.
    pub fn exchange(
        &mut self,
        now_ns: u64,
        packet_ins: &[ControllerPacket],
        execute: &mut dyn FnMut(DeviceCommand),
    ) -> Result<Turn, LockstepError> {
        self.sequence += 1;
        let sequence = self.sequence;
        for ControllerPacket { device_id, frame } in packet_ins {
            match self.hub.packet_in(*device_id, frame) {
                Delivery::Delivered => {}
                delivery => {
                    return Err(LockstepError::Undelivered {
                        device_id: *device_id,
                        delivery,
                    });
                }
            }
        }
        let advance = any("slotwise.v1.Advance", &Advance { sequence, now_ns });
        for device in self.hub.devices().values() {
            if !device
                .link()
                .primaries()
                .all(|stream| send(stream, Update::Other(advance.clone())))
            {
                return Err(LockstepError::Congested { sequence });
            }
        }
        self.turn(true, execute)
    }

    fn turn(&mut self, must_be_connected: bool, execute: &mut dyn FnMut(DeviceCommand)) -> Result<Turn, LockstepError> {
        let sequence = self.sequence;
        let mut packet_outs = Vec::new();
        let mut done: Option<Done> = None;
        loop {
            if let Some(done) = &done {
                if self.received > done.packet_outs {
                    return Err(LockstepError::PacketOutCount {
                        received: self.received,
                        declared: done.packet_outs,
                    });
                }
                if self.received == done.packet_outs {
                    // Streams of different devices are not ordered among each other: make it the same in every run.
                    packet_outs.sort_by_key(|packet: &ControllerPacket| packet.device_id);
                    let next_deadline_ns = (done.next_deadline_ns != 0).then_some(done.next_deadline_ns);
                    return Ok(Turn {
                        packet_outs,
                        next_deadline_ns,
                    });
                }
            }
            // In this order: what a stream sent is in the queue before the stream counts as gone.
            if must_be_connected && !self.is_connected() && self.hub.events.is_empty() {
                return Err(LockstepError::ControllerLeft { sequence });
            }
            match self.hub.wait(self.patience) {
                None => {
                    return Err(LockstepError::Timeout {
                        sequence,
                        patience: self.patience,
                    });
                }
                Some(HubEvent::Command(DeviceCommand {
                    device_id,
                    work: Work::PacketOut(frame),
                })) => {
                    self.received += 1;
                    packet_outs.push(ControllerPacket { device_id, frame });
                }
                Some(HubEvent::Command(command)) => execute(command),
                Some(HubEvent::RefusedPacketOut) => self.received += 1,
                Some(HubEvent::Done(answer)) if answer.sequence == sequence => done = Some(answer),
                Some(HubEvent::Done(answer)) => {
                    return Err(LockstepError::WrongTurn {
                        given: answer.sequence,
                        expected: sequence,
                    });
                }
                Some(HubEvent::StreamEnded) => {}
            }
        }
    }

    /// Whether any device has a primary.
    fn is_connected(&self) -> bool {
        self.hub
            .devices()
            .values()
            .any(|device| device.link().primaries().next().is_some())
    }
}
