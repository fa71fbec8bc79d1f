// SPDX-License-Identifier: Apache-2.0
//! Virtual time: fabric and controller take turns. See docs/architecture.md, "lock step".

use std::collections::{BTreeMap, BTreeSet};
use std::time::{self, Duration};

use slotwise_p4::{Bits, Pipeline, Port};
use slotwise_units::Instant;

use crate::error::any;
use crate::hub::{Delivery, DeviceCommand, DeviceHub, HubEvent, Notification, Work};
use crate::link::send;
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

/// What reaches the controller before its turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// What left a CPU port.
    Packet(ControllerPacket),
    /// What [`LockstepLink::learn`] or [`LockstepLink::due`] gave.
    Notification(Notification),
    /// A port got or lost its link, as [`LockstepLink::port_status`] was told.
    Port {
        /// Whose port.
        device_id: u64,
        /// Which one.
        port: Port,
        /// It has a link.
        is_up: bool,
    },
}

/// What the controller did with its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Ordered by device, and within a device as they were sent.
    pub packet_outs: Vec<ControllerPacket>,
    /// When the controller wants its next turn if nothing else happens.
    pub next_deadline: Option<Instant>,
}

/// Says why the controller need not be waited for any longer, if there is a reason.
pub type GiveUp = Box<dyn FnMut() -> Option<String> + Send>;

/// How often that is asked while nothing is heard.
const GIVE_UP_PERIOD: Duration = Duration::from_millis(50);

/// Why the run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    /// There is a reason not to wait.
    #[error("{reason} (step {sequence})")]
    GivenUp {
        /// Turn that the controller owes.
        sequence: u64,
        /// What [`GiveUp`] said.
        reason: String,
    },
    /// Nothing was heard for the patience given.
    #[error("controller: no answer to step {sequence} within {patience:?}")]
    Timeout {
        /// Turn that it owes.
        sequence: u64,
        /// How long it was waited for, in real time.
        patience: Duration,
    },
    /// The last primary's stream ended.
    #[error("controller: disconnected during step {sequence}")]
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
    #[error("controller: not reading its streams (step {sequence})")]
    Congested {
        /// Turn that could not be announced.
        sequence: u64,
    },
    /// `Done` for another turn than the one that runs.
    #[error("controller: answer to the wrong step; expected {expected}, got {given}")]
    WrongTurn {
        /// Sequence in its `Done`.
        given: u64,
        /// Sequence of the turn.
        expected: u64,
    },
    /// More packet-outs came than `Done` counts.
    #[error("controller: packet-out count mismatch; expected {declared}, got {received}")]
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
    give_up: GiveUp,
    sequence: u64,
    /// Packet-outs since the connection began, refused ones included.
    received: u64,
    /// Those that no turn has given yet.
    packet_outs: Vec<ControllerPacket>,
    /// Devices that are not there.
    absent: BTreeSet<u64>,
    has_controller: bool,
    /// The controller has done something since its last turn, or said that it wants something.
    is_called: bool,
}

impl LockstepLink {
    /// Over the hub of a server started with `lock_step`. `patience`: how long, in real time, a silent controller is
    /// waited for.
    pub fn new(hub: DeviceHub, patience: Duration) -> LockstepLink {
        LockstepLink {
            hub,
            patience,
            give_up: Box::new(|| None),
            sequence: 0,
            received: 0,
            packet_outs: Vec::new(),
            absent: BTreeSet::new(),
            has_controller: false,
            is_called: false,
        }
    }

    /// The same; while nothing is heard, `give_up` is asked now and then.
    #[must_use]
    pub fn unless(mut self, give_up: GiveUp) -> LockstepLink {
        self.give_up = give_up;
        self
    }

    /// Waits until the controller has configured the devices and says so (`Done` 0). `execute` gets its commands.
    pub fn ready(&mut self, execute: &mut dyn FnMut(DeviceCommand)) -> Result<Turn, LockstepError> {
        let turn = self.turn(false, execute)?;
        self.has_controller = true;
        Ok(turn)
    }

    /// The controller has been killed: forgets it, when the last of its streams has ended. [`LockstepLink::ready`] waits for
    /// the next one.
    pub fn forget_controller(&mut self) -> Result<(), LockstepError> {
        while self.is_connected() || !self.hub.events.is_empty() {
            // What it still wanted done is not done.
            self.next_event()?;
        }
        (self.sequence, self.received) = (0, 0);
        self.packet_outs.clear();
        self.has_controller = false;
        self.is_called = false;
        Ok(())
    }

    /// A device has stopped: its streams end, its configuration is gone, and the controller hears of it with its next turn.
    pub fn device_down(&mut self, device_id: u64, execute: &mut dyn FnMut(DeviceCommand)) -> Result<(), LockstepError> {
        if !self.hub.begin_stop(device_id) {
            return Ok(());
        }
        self.absent.insert(device_id);
        loop {
            match self.next_event()? {
                HubEvent::DeviceForgotten => return Ok(()),
                event => self.handle(event, execute)?,
            }
        }
    }

    /// A device is there again, as when it was new. Returns when the controller, if there is one, is its primary; it has its next
    /// turn to configure it.
    pub fn device_up(&mut self, device_id: u64, execute: &mut dyn FnMut(DeviceCommand)) -> Result<(), LockstepError> {
        if !self.absent.remove(&device_id) {
            return Ok(());
        }
        self.hub.devices()[&device_id].presence.send_replace(true);
        while self.has_controller && self.hub.devices()[&device_id].link().primaries().next().is_none() {
            let event = self.next_event()?;
            self.handle(event, execute)?;
        }
        Ok(())
    }

    /// Whether a controller that begins has heard of ports, which it handles in its first turn.
    pub fn has_told_ports(&self) -> bool {
        self.hub
            .devices()
            .values()
            .any(|device| device.link().has_ports_to_tell())
    }

    /// A program sent a digest, as [`DeviceHub::digest`] takes it. Gives the lists that are full with it.
    pub fn learn(&self, device_id: u64, name: &str, fields: &[Bits], now: Instant) -> Vec<Notification> {
        self.hub.learn(device_id, name, fields, now)
    }

    /// Adds to `due` the digest lists and idle notifications of a device that are due at `now`, which `pipeline` learns.
    /// Says when it wants to be called again; after a turn, it may be earlier.
    pub fn due(
        &self,
        device_id: u64,
        now: Instant,
        pipeline: &mut Pipeline,
        due: &mut Vec<Notification>,
    ) -> Option<Instant> {
        self.hub.due(device_id, now, pipeline, due)
    }

    /// A port got or lost its link. Groups leave out members that watch it when this returns; `execute` gets the commands. True if
    /// primaries are to hear of it, when it arrives there ([`Arrival::Port`]); who becomes primary before that hears it at once.
    pub fn port_status(
        &mut self,
        device_id: u64,
        port: Port,
        is_up: bool,
        execute: &mut dyn FnMut(DeviceCommand),
    ) -> Result<bool, LockstepError> {
        if !self.hub.begin_port_status(device_id, port, is_up) {
            return Ok(false);
        }
        loop {
            match self.next_event()? {
                HubEvent::PortsRefreshed => return Ok(self.hub.devices()[&device_id].link().has_ports_to_tell()),
                event => self.handle(event, execute)?,
            }
        }
    }

    /// Carries out what the controller has asked of devices since its last turn, as when it was told something over REST; `execute`
    /// gets its commands. True if a turn is due, since it has done something, or has said `Done` for its last turn again, by which it
    /// wants something. Never blocks.
    pub fn listen(&mut self, execute: &mut dyn FnMut(DeviceCommand)) -> Result<bool, LockstepError> {
        while let Ok(event) = self.hub.events.try_recv() {
            self.handle(event, execute)?;
        }
        Ok(self.is_called)
    }

    fn handle(&mut self, event: HubEvent, execute: &mut dyn FnMut(DeviceCommand)) -> Result<(), LockstepError> {
        self.is_called |= match &event {
            HubEvent::Command(_) => true,
            HubEvent::Done(answer) => answer.sequence == self.sequence,
            _ => false,
        };
        match event {
            HubEvent::Command(DeviceCommand {
                device_id,
                work: Work::PacketOut(frame),
            }) => {
                self.received += 1;
                self.packet_outs.push(ControllerPacket { device_id, frame });
            }
            HubEvent::Command(command) => execute(command),
            HubEvent::RefusedPacketOut => self.received += 1,
            // Of an earlier turn: it has crossed the next one on its way.
            HubEvent::Done(answer) if answer.sequence <= self.sequence => {}
            HubEvent::Done(answer) => return Err(self.wrong_turn(&answer)),
            HubEvent::StreamEnded | HubEvent::StreamJoined | HubEvent::PortsRefreshed | HubEvent::DeviceForgotten => {}
        }
        Ok(())
    }

    fn wrong_turn(&self, answer: &Done) -> LockstepError {
        LockstepError::WrongTurn {
            given: answer.sequence,
            expected: self.sequence,
        }
    }

    fn next_event(&mut self) -> Result<HubEvent, LockstepError> {
        let (sequence, patience) = (self.sequence, self.patience);
        let deadline = time::Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(time::Instant::now());
            if let Some(event) = self.hub.wait(left.min(GIVE_UP_PERIOD)) {
                return Ok(event);
            }
            if let Some(reason) = (self.give_up)() {
                return Err(LockstepError::GivenUp { sequence, reason });
            }
            if left.is_zero() {
                return Err(LockstepError::Timeout { sequence, patience });
            }
        }
    }

    /// Gives the controller a turn at `now`: what the devices sent it before, then the time. `execute` gets its commands
    /// while the fabric stands still. While no device is there the controller cannot be reached, and has no turn: it does nothing
    /// and wants nothing, until a device is there again, which is due to be told it.
    pub fn exchange(
        &mut self,
        now: Instant,
        arrivals: &[Arrival],
        execute: &mut dyn FnMut(DeviceCommand),
    ) -> Result<Turn, LockstepError> {
        let is_reached = self
            .hub
            .devices()
            .keys()
            .any(|device_id| !self.absent.contains(device_id));
        if is_reached {
            self.sequence += 1;
        }
        let sequence = self.sequence;
        let last_of_ports = last_of_ports(arrivals);
        for (place, arrival) in arrivals.iter().enumerate() {
            match arrival {
                // Its stream ended with the device.
                Arrival::Packet(ControllerPacket { device_id, .. }) if self.absent.contains(device_id) => {}
                Arrival::Packet(ControllerPacket { device_id, frame }) => {
                    let (device_id, delivery) = (*device_id, self.hub.packet_in(*device_id, frame));
                    if delivery != Delivery::Delivered {
                        return Err(LockstepError::Undelivered { device_id, delivery });
                    }
                }
                Arrival::Notification(notification) => {
                    if !self.hub.notify(notification) {
                        return Err(LockstepError::Congested { sequence });
                    }
                }
                Arrival::Port { device_id, port, is_up } => {
                    let is_last = last_of_ports[&(*device_id, *port)] == place;
                    if is_last && !self.hub.port_arrives(*device_id, *port, *is_up) {
                        return Err(LockstepError::Congested { sequence });
                    }
                }
            }
        }
        if !is_reached {
            return Ok(Turn {
                packet_outs: Vec::new(),
                next_deadline: None,
            });
        }
        let absent_devices = self.absent.iter().copied().collect();
        let advance = any(
            "slotwise.v1.Advance",
            &Advance {
                sequence,
                now_ns: now.ns(),
                absent_devices,
            },
        );
        for device in self.hub.devices().values() {
            let mut link = device.link();
            let has_told = link.tell_ports();
            if !has_told
                || !link
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
                    let mut packet_outs = std::mem::take(&mut self.packet_outs);
                    packet_outs.sort_by_key(|packet| packet.device_id);
                    let next_deadline = (done.next_deadline_ns != 0).then(|| Instant::from_ns(done.next_deadline_ns));
                    self.is_called = false;
                    return Ok(Turn {
                        packet_outs,
                        next_deadline,
                    });
                }
            }
            // In this order: what a stream sent is in the queue before the stream counts as gone.
            if must_be_connected && !self.is_connected() && self.hub.events.is_empty() {
                return Err(LockstepError::ControllerLeft { sequence });
            }
            match self.next_event()? {
                HubEvent::Done(answer) if answer.sequence == sequence => done = Some(answer),
                event => self.handle(event, execute)?,
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

/// Where the last is that arrives of each port: what a port was before it in the same turn is no news.
fn last_of_ports(arrivals: &[Arrival]) -> BTreeMap<(u64, Port), usize> {
    let ports = arrivals
        .iter()
        .enumerate()
        .filter_map(|(place, arrival)| match arrival {
            Arrival::Port { device_id, port, .. } => Some(((*device_id, *port), place)),
            _ => None,
        });
    ports.collect()
}
