// SPDX-License-Identifier: Apache-2.0
//! A fabric in virtual time with the controller's process in lock step: what `simulate` and `reproduce` run.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use slotwise_fabric::lockstep::{self, Controller, Exchange, Lockstep, Message, PacketOut, Served};
use slotwise_fabric::{ControlEvent, ControlMessage, Fabric, FabricOptions};
use slotwise_p4runtime::{
    Arrival, ControllerPacket, LockstepError, LockstepLink, Notification, Server, ServerConfig, Turn,
};
use slotwise_scenario::Scenario;
use tempfile::TempDir;

use crate::child::{ChildEvent, JsonChild};
use crate::controller::{self, Addresses, Clock};
use crate::devices;
use crate::home::Home;
use crate::run::RunError;

/// A controller that says nothing for so long has failed. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// At the start it says nothing until it has configured every switch.
const PATIENCE_A_DEVICE: Duration = Duration::from_secs(2);

/// The controller process behind the P4Runtime server.
struct RemoteController {
    link: LockstepLink,
    child: Receiver<ChildEvent>,
}

impl RemoteController {
    fn answer(&self, turn: Result<Turn, LockstepError>) -> Result<Exchange, RunError> {
        let turn = turn.map_err(|error| match self.child.try_recv() {
            Ok(ChildEvent::Closed) | Err(TryRecvError::Disconnected) => format!("the controller has ended: {error}"),
            _ => error.to_string(),
        })?;
        let packet_outs = turn
            .packet_outs
            .into_iter()
            .map(|ControllerPacket { device_id, frame }| PacketOut { device_id, frame });
        Ok(Exchange {
            packet_outs: packet_outs.collect(),
            next_deadline_ns: turn.next_deadline_ns,
        })
    }
}

impl Controller for RemoteController {
    type Error = RunError;
    type Notice = Notification;

    fn start(&mut self, fabric: &mut Fabric) -> Result<Exchange, RunError> {
        let turn = self.link.ready(&mut |command| devices::execute(fabric, command));
        self.answer(turn)
    }

    fn serve(
        &mut self,
        fabric: &mut Fabric,
        now_ns: u64,
        happened: Vec<ControlEvent>,
    ) -> Result<Served<Notification>, RunError> {
        let mut served = Served::default();
        for ControlEvent { device_id, message, .. } in happened {
            match message {
                ControlMessage::Digest { name, fields } => {
                    let list = self.link.learn(device_id, &name, &fields, now_ns);
                    served.notices.extend(list.map(|list| (device_id, list)));
                }
                ControlMessage::Link { port, is_up } => {
                    let mut execute = |command| devices::execute(fabric, command);
                    self.link.port_status(device_id, port, is_up, &mut execute)?;
                }
                ControlMessage::Packet(_) => {}
            }
        }
        for device in fabric.devices() {
            if let Some(pipeline) = fabric.pipeline_mut(device.id()) {
                let mut due = Vec::new();
                let next_ns = self.link.due(device.id(), now_ns, pipeline, &mut due);
                served.next_ns = [served.next_ns, next_ns].into_iter().flatten().min();
                served
                    .notices
                    .extend(due.into_iter().map(|notice| (device.id(), notice)));
            }
        }
        Ok(served)
    }

    fn exchange(
        &mut self,
        fabric: &mut Fabric,
        now_ns: u64,
        arrived: Vec<lockstep::Arrival<Notification>>,
    ) -> Result<Exchange, RunError> {
        let arrivals: Vec<Arrival> = arrived
            .into_iter()
            .map(|arrival| match arrival.message {
                Message::Packet(frame) => Arrival::Packet(ControllerPacket {
                    device_id: arrival.device_id,
                    frame: frame.to_vec(),
                }),
                Message::Notice(notification) => Arrival::Notification(notification),
            })
            .collect();
        let turn = self
            .link
            .exchange(now_ns, &arrivals, &mut |command| devices::execute(fabric, command));
        self.answer(turn)
    }
}

/// A run under way.
pub struct Session {
    /// The network.
    pub fabric: Fabric,
    /// Where the servers listen.
    pub addresses: Addresses,
    lockstep: Lockstep<RemoteController>,
    process: JsonChild,
    _server: Server,
    _directory: TempDir,
}

impl Session {
    /// Starts the fabric and the controller, whose log goes to `log`, and waits until every switch is configured.
    ///
    /// # Errors
    /// When a part does not start.
    pub fn start(
        home: &Home,
        scenario: &Scenario,
        addresses: Addresses,
        options: FabricOptions,
        log: Stdio,
    ) -> Result<Session, RunError> {
        let mut fabric = Fabric::new(scenario, options);
        let config = ServerConfig {
            address: addresses.p4runtime,
            devices: devices::configs(&fabric),
            tls: None,
            lock_step: true,
        };
        let (server, hub) = Server::start(config, Arc::new(|| {}))?;
        let addresses = Addresses {
            p4runtime: server.address(),
            ..addresses
        };
        let devices = fabric.devices().count() as u32;
        let directory = tempfile::Builder::new().prefix("slotwise-").tempdir()?;
        let (events, child) = channel();
        let process = controller::start(
            home,
            scenario,
            &addresses,
            (Clock::Lockstep, log),
            directory.path(),
            events,
            |event| event,
        )?;
        let remote = RemoteController {
            link: LockstepLink::new(hub, PATIENCE + PATIENCE_A_DEVICE * devices),
            child,
        };
        let latency_ns = scenario.controller.control_latency_ns;
        let lockstep = Lockstep::start(remote, &mut fabric, latency_ns).map_err(|error| error.to_string())?;
        Ok(Session {
            fabric,
            addresses,
            lockstep,
            process,
            _server: server,
            _directory: directory,
        })
    }

    /// Runs both up to and at `until_ns`.
    ///
    /// # Errors
    /// When the controller fails.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), RunError> {
        let run = self.lockstep.run_until(&mut self.fabric, until_ns);
        run.map_err(|error| error.to_string().into())
    }

    /// Ends the controller; the fabric is as the run left it.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(mut self) -> Result<Fabric, RunError> {
        self.process.stop(PATIENCE)?;
        Ok(self.fabric)
    }
}

/// What a run in virtual time did that it must not do.
pub fn failures(fabric: &Fabric) -> Vec<String> {
    let flows = fabric.flow_results();
    let streams = flows.iter().filter_map(|flow| flow.stream);
    let wrong_bytes: u64 = streams.map(|stream| stream.wrong_bytes).sum();
    if wrong_bytes == 0 {
        return Vec::new();
    }
    vec![format!(
        "{wrong_bytes} bytes of streams arrived that are not what was sent"
    )]
}
