// SPDX-License-Identifier: Apache-2.0
//! Where the server meets the thread that owns the pipelines.
//!
//! The owner drains [`DeviceHub::try_recv`] between packets and gives back what its devices sent to the controller.
//! A whole batch is one [`Call`], so that no packet sees half of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slotwise_p4::{Bits, Pipeline, Port};
use slotwise_units::Instant;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::arbitration::StreamId;
use crate::device::{Control, Device};
use crate::entity::EntryId;
use crate::error::ApiError;
use crate::learning::{self, Ready};
use crate::link::{SHARED_DIGEST_BYTES, send};
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::slotwise::v1::Done;
use crate::service::Shared;

/// Called after each command, from the server's threads: an owner that sleeps wakes up.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A device as commands see it.
pub trait DeviceAccess {
    /// The pipeline in force, if one has been installed.
    fn pipeline(&mut self) -> Option<&mut Pipeline>;
    /// Puts a pipeline in force; the next packet runs through it.
    fn install(&mut self, pipeline: Pipeline);
}

/// Work on a device's tables, executed on the owner's thread.
pub struct Call(BoxedCall);

type BoxedCall = Box<dyn FnOnce(&mut dyn DeviceAccess) + Send>;

impl Call {
    pub(crate) fn new(call: impl FnOnce(&mut dyn DeviceAccess) + Send + 'static) -> Call {
        Call(Box::new(call))
    }

    /// Does it; the server's answer follows.
    pub fn run(self, device: &mut dyn DeviceAccess) {
        (self.0)(device);
    }
}

/// What the server wants from the owner of a device.
pub enum Work {
    /// Run it between two packets.
    Call(Call),
    /// A frame, controller header first, that enters the device at its CPU port.
    PacketOut(Vec<u8>),
}

/// Work for one device.
pub struct DeviceCommand {
    /// One of the ids that the server was started with.
    pub device_id: u64,
    /// What to do.
    pub work: Work,
}

/// What became of a packet-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// At least one primary gets it.
    Delivered,
    /// No such device, or nobody is primary.
    NoController,
    /// Shorter than the program's controller header.
    Malformed,
    /// The controller does not read fast enough.
    QueueFull,
}

/// What goes from the server's threads to the owner.
pub(crate) enum HubEvent {
    Command(DeviceCommand),
    /// A packet-out that was refused: it counts, but there is nothing to send.
    RefusedPacketOut,
    Done(Done),
    /// A stream ended; somebody may be missing now.
    StreamEnded,
    /// A stream has taken part in an election.
    StreamJoined,
    /// What follows from a port's new status has been done.
    PortsRefreshed,
    /// All that a device's server knew of it is forgotten.
    DeviceForgotten,
}

/// What a device tells its controllers by itself: a list of digests, entries of a table that were idle.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    device_id: u64,
    /// The role whose primary it is for, and that primary; `None`: those of all roles.
    receiver: Option<(String, StreamId)>,
    /// In P4Info: who may not use it does not hear of it.
    object_id: u32,
    update: Update,
}

/// The owner's side. Not for several threads at once.
pub struct DeviceHub {
    pub(crate) events: mpsc::Receiver<HubEvent>,
    /// Slices of reads, which wait for everything else.
    pub(crate) slices: mpsc::Receiver<DeviceCommand>,
    /// A slice has been given since the owner was last told that there is nothing to do.
    pub(crate) has_given_slice: bool,
    pub(crate) shared: Arc<Shared>,
    pub(crate) runtime: Handle,
}

impl DeviceHub {
    /// The next command, if there is one. Never blocks. Between two `None`s it gives one slice of a read at most, and asks
    /// to be called again if there are more: packets run between them.
    pub fn try_recv(&mut self) -> Option<DeviceCommand> {
        loop {
            match self.events.try_recv() {
                Ok(HubEvent::Command(command)) => return Some(command),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        if !self.has_given_slice
            && let Ok(slice) = self.slices.try_recv()
        {
            self.has_given_slice = true;
            return Some(slice);
        }
        self.has_given_slice = false;
        if !self.slices.is_empty() {
            self.shared.owner.wake();
        }
        None
    }

    /// A frame left `device_id` by its CPU port, controller header first. Never blocks.
    pub fn packet_in(&self, device_id: u64, frame: &[u8]) -> Delivery {
        self.devices()
            .get(&device_id)
            .map_or(Delivery::NoController, |device| device.link().packet_in(frame))
    }

    /// The program of `device_id` sent a digest: its P4Runtime name and its fields, at `now` of the device. Never blocks; roles
    /// learn it on the server's threads.
    pub fn digest(&self, device_id: u64, name: &str, fields: &[Bits], now: Instant) {
        if let Some(device) = self.devices().get(&device_id) {
            let learned = device.link().learned(name, fields, now);
            if let Some(learned) = learned {
                device.learning.put(learned);
            }
        }
    }

    /// As [`DeviceHub::digest`], but roles learn it now, and what is to be sent at once is handed to the caller.
    pub(crate) fn learn(&self, device_id: u64, name: &str, fields: &[Bits], now: Instant) -> Vec<Notification> {
        let learn = |device: &Device| {
            let (learned, roles) = {
                let link = device.link();
                (link.learned(name, fields, now)?, link.digest_roles())
            };
            let ready = learning::learn(&roles, &learned, SHARED_DIGEST_BYTES);
            Some(self.digest_lists(device_id, ready, now))
        };
        self.devices().get(&device_id).and_then(learn).unwrap_or_default()
    }

    fn digest_lists(&self, device_id: u64, ready: Vec<Ready>, now: Instant) -> Vec<Notification> {
        let notification = |ready: Ready| {
            let receiver = (ready.role.name.clone(), ready.primary);
            let (object_id, update) = ready.encode(self.shared.timestamp(now))?;
            Some(Notification {
                device_id,
                receiver: Some(receiver),
                object_id,
                update,
            })
        };
        ready.into_iter().filter_map(notification).collect()
    }

    /// Sends the digest lists and idle notifications of a device that are due at `now`, which `pipeline` learns. Says
    /// when it wants to be called again; after commands have run, or when the waker was called, it may be earlier. Never blocks.
    pub fn tick(&self, device_id: u64, now: Instant, pipeline: &mut Pipeline) -> Option<Instant> {
        pipeline.advance_time(now);
        let device = self.devices().get(&device_id)?;
        device.link().tell_ports();
        let lists = device.learning.tick(now);
        let mut due = Vec::new();
        let idle = self.idle_due(device, now, pipeline, &mut due);
        for notification in &due {
            self.notify(notification);
        }
        [lists, idle].into_iter().flatten().min()
    }

    /// As [`DeviceHub::tick`], but what is to be sent is added to `due`.
    pub(crate) fn due(
        &self,
        device_id: u64,
        now: Instant,
        pipeline: &mut Pipeline,
        due: &mut Vec<Notification>,
    ) -> Option<Instant> {
        pipeline.advance_time(now);
        let device = self.devices().get(&device_id)?;
        let roles = device.link().digest_roles();
        due.extend(self.digest_lists(device_id, learning::due(&roles, now), now));
        let idle = self.idle_due(device, now, pipeline, due);
        [learning::deadline(&roles), idle].into_iter().flatten().min()
    }

    /// Adds entries that were idle to `due`, and says when it wants to be called again.
    fn idle_due(
        &self,
        device: &Device,
        now: Instant,
        pipeline: &Pipeline,
        due: &mut Vec<Notification>,
    ) -> Option<Instant> {
        let mut link = device.link();
        if link.idle.deadline().is_some_and(|deadline| deadline <= now) {
            let info = link.info.clone()?;
            let expired = link.idle.due(now, |id| match id {
                EntryId::Match { table, key, priority } => {
                    pipeline.entry_idle(&info.tables.get(table)?.name, key, *priority).ok()
                }
                EntryId::Default { .. } => None,
            });
            let updates = link.idle_notifications(expired, self.shared.timestamp(now));
            due.extend(updates.into_iter().map(|(object_id, update)| Notification {
                device_id: device.id,
                receiver: None,
                object_id,
                update,
            }));
        }
        link.idle.deadline()
    }

    /// Sends a notification to the primaries that it is for. False if one of them does not read fast enough and misses it.
    pub(crate) fn notify(&self, notification: &Notification) -> bool {
        let Notification {
            device_id,
            receiver,
            object_id,
            update,
        } = notification;
        let Some(device) = self.devices().get(device_id) else {
            return true;
        };
        let link = device.link();
        match receiver {
            Some((role, primary)) => {
                let receiver = link.receiver(role, *primary, *object_id);
                receiver.is_none_or(|receiver| send(&receiver, update.clone()))
            }
            None => link.notify(Some(*object_id), update),
        }
    }

    /// A port of a device got or lost its link: groups leave out members that watch it, and primaries hear of it if the device tells
    /// of its ports. Who becomes primary later hears it then. Never blocks; all ports are up at first.
    pub fn port_status(&self, device_id: u64, port: Port, is_up: bool) {
        if self.begin_port_status(device_id, port, is_up) {
            self.devices()[&device_id].link().tell_port(port);
        }
    }

    /// What was said of a port reaches the primaries. False if one of them does not read fast enough and misses it.
    pub(crate) fn port_arrives(&self, device_id: u64, port: Port, is_up: bool) -> bool {
        let Some(device) = self.devices().get(&device_id) else {
            return true;
        };
        let link = device.link();
        let update = link.port_update(port, is_up);
        update.is_none_or(|update| link.notify(None, &update))
    }

    /// Begins what follows from a port's status; true if [`HubEvent::PortsRefreshed`] will say that it is done.
    pub(crate) fn begin_port_status(&self, device_id: u64, port: Port, is_up: bool) -> bool {
        let Some(device) = self.devices().get(&device_id) else {
            return false;
        };
        let has_changed = device.link().set_port(port, is_up);
        if has_changed {
            let shared = self.shared.clone();
            self.runtime.spawn(async move {
                let device = &shared.devices[&device_id];
                // Groups that fitted before fit with fewer members; the owner may be gone.
                let _ = shared.refresh_ports(device).await;
                let _ = shared.owner.send(HubEvent::PortsRefreshed).await;
            });
        }
        has_changed
    }

    /// A device has stopped, and all that it knew is lost. [`HubEvent::DeviceForgotten`] says when the server knows no more
    /// either; false if there is no such device.
    pub(crate) fn begin_stop(&self, device_id: u64) -> bool {
        let Some(device) = self.devices().get(&device_id) else {
            return false;
        };
        device.presence.send_replace(false);
        device.link().stop();
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            *shared.devices[&device_id].control.lock().await = Control::default();
            // The owner may be gone.
            let _ = shared.owner.send(HubEvent::DeviceForgotten).await;
        });
        true
    }

    pub(crate) fn devices(&self) -> &BTreeMap<u64, Device> {
        &self.shared.devices
    }

    /// The next event, or `None` after `timeout`. Blocks; not for the server's own threads.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Option<HubEvent> {
        let Self { events, runtime, .. } = self;
        runtime.block_on(async { tokio::time::timeout(timeout, events.recv()).await.ok().flatten() })
    }
}

/// The server's side.
#[derive(Clone)]
pub(crate) struct Owner {
    events: mpsc::Sender<HubEvent>,
    /// `None`: the owner stands still meanwhile anyway, so that slices are commands as others.
    slices: Option<mpsc::Sender<DeviceCommand>>,
    waker: Waker,
}

impl Owner {
    pub fn new(events: mpsc::Sender<HubEvent>, slices: Option<mpsc::Sender<DeviceCommand>>, waker: Waker) -> Owner {
        Owner { events, slices, waker }
    }

    /// Runs `call` on the owner's thread and waits for what it returns.
    pub async fn call<R: Send + 'static>(
        &self,
        device_id: u64,
        call: impl FnOnce(&mut dyn DeviceAccess) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let (command, answer) = command(device_id, call);
        self.send(HubEvent::Command(command)).await?;
        answer.await.map_err(|_| stopped(device_id))
    }

    /// As [`Owner::call`], for short calls of which there may be many: the owner runs one between packets.
    pub async fn call_slice<R: Send + 'static>(
        &self,
        device_id: u64,
        call: impl FnOnce(&mut dyn DeviceAccess) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let Some(slices) = &self.slices else {
            return self.call(device_id, call).await;
        };
        let (command, answer) = command(device_id, call);
        slices.send(command).await.map_err(|_| stopped(device_id))?;
        self.wake();
        answer.await.map_err(|_| stopped(device_id))
    }

    /// Hands an event over; waits while the owner is behind.
    pub async fn send(&self, event: HubEvent) -> Result<(), ApiError> {
        let sent = self.events.send(event).await;
        sent.map_err(|_| ApiError::unavailable("the switch has stopped"))?;
        self.wake();
        Ok(())
    }

    pub fn wake(&self) {
        (self.waker)();
    }
}

/// A call as a command, and where its answer comes.
fn command<R: Send + 'static>(
    device_id: u64,
    call: impl FnOnce(&mut dyn DeviceAccess) -> R + Send + 'static,
) -> (DeviceCommand, oneshot::Receiver<R>) {
    let (reply, answer) = oneshot::channel();
    let call = Call::new(move |device| {
        // Nobody waits for the answer only if the server is going down.
        let _ = reply.send(call(device));
    });
    let work = Work::Call(call);
    (DeviceCommand { device_id, work }, answer)
}

fn stopped(device_id: u64) -> ApiError {
    ApiError::unavailable(format!("device {device_id} has stopped"))
}
