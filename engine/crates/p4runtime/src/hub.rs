// SPDX-License-Identifier: Apache-2.0
//! Where the server meets the thread that owns the pipelines.
//!
//! The owner drains [`DeviceHub::try_recv`] between packets and gives back what its devices sent to the controller.
//! A whole batch is one [`Call`], so that no packet sees half of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slotwise_p4::Pipeline;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::device::Device;
use crate::error::ApiError;
use crate::proto::slotwise::v1::Done;

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
}

/// The owner's side. Not for several threads at once.
pub struct DeviceHub {
    pub(crate) events: mpsc::Receiver<HubEvent>,
    pub(crate) devices: Arc<BTreeMap<u64, Device>>,
    pub(crate) runtime: Handle,
}

impl DeviceHub {
    /// The next command, if there is one. Never blocks.
    pub fn try_recv(&mut self) -> Option<DeviceCommand> {
        loop {
            match self.events.try_recv() {
                Ok(HubEvent::Command(command)) => return Some(command),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// A frame left `device_id` by its CPU port, controller header first. Never blocks.
    pub fn packet_in(&self, device_id: u64, frame: &[u8]) -> Delivery {
        self.devices
            .get(&device_id)
            .map_or(Delivery::NoController, |device| device.link().packet_in(frame))
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
    waker: Waker,
}

impl Owner {
    pub fn new(events: mpsc::Sender<HubEvent>, waker: Waker) -> Owner {
        Owner { events, waker }
    }

    /// Runs `call` on the owner's thread and waits for what it returns.
    pub async fn call<R: Send + 'static>(
        &self,
        device_id: u64,
        call: impl FnOnce(&mut dyn DeviceAccess) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let (reply, answer) = oneshot::channel();
        let call = Call::new(move |device| {
            // Nobody waits for the answer only if the server is going down.
            let _ = reply.send(call(device));
        });
        self.send(HubEvent::Command(DeviceCommand {
            device_id,
            work: Work::Call(call),
        }))
        .await?;
        answer.await.map_err(|_| stopped(device_id))
    }

    /// Hands an event over; waits while the owner is behind.
    pub async fn send(&self, event: HubEvent) -> Result<(), ApiError> {
        let sent = self.events.send(event).await;
        sent.map_err(|_| ApiError::unavailable("the switch has stopped"))?;
        (self.waker)();
        Ok(())
    }
}

fn stopped(device_id: u64) -> ApiError {
    ApiError::unavailable(format!("device {device_id} has stopped"))
}
