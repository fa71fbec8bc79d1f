// SPDX-License-Identifier: Apache-2.0
//! A fabric in virtual time with the controller's process in lock step: what `simulate` and `reproduce` run.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use slotwise_fabric::lockstep::{self, Controller, Exchange, Lockstep, Message, PacketOut, Served};
use slotwise_fabric::{ControlEvent, ControlMessage, Fabric, FabricOptions};
use slotwise_p4runtime::{
    Arrival, ControllerPacket, LockstepError, LockstepLink, Notification, Server, ServerConfig, Turn,
};
use slotwise_reproduce::star::Recorder;
use slotwise_scenario::{FaultKind, Scenario};
use tempfile::TempDir;

use crate::child::{ChildEvent, JsonChild};
use crate::control_meter::ControlMeter;
use crate::controller::{self, Addresses, Clock};
use crate::devices;
use crate::home::Home;
use crate::run::RunError;

/// A controller that says nothing for so long has failed. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The controller process behind the P4Runtime server.
struct RemoteController {
    link: LockstepLink,
    child: Receiver<ChildEvent>,
    meter: ControlMeter,
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

/// What an agent has for the controller.
enum Notice {
    Notification(Notification),
    /// The device has come or gone. The controller hears that by its stream; a turn is due.
    Presence,
}

impl Controller for RemoteController {
    type Error = RunError;
    type Notice = Notice;

    fn start(&mut self, fabric: &mut Fabric) -> Result<Exchange, RunError> {
        let turn = self.link.ready(&mut |command| devices::execute(fabric, command));
        self.answer(turn)
    }

    fn serve(
        &mut self,
        fabric: &mut Fabric,
        now_ns: u64,
        happened: Vec<ControlEvent>,
    ) -> Result<Served<Notice>, RunError> {
        let mut served = Served::default();
        for ControlEvent { device_id, message, .. } in happened {
            match message {
                ControlMessage::Digest { name, fields } => {
                    let list = self.link.learn(device_id, &name, &fields, now_ns);
                    served
                        .notices
                        .extend(list.map(|list| (device_id, Notice::Notification(list))));
                }
                ControlMessage::Link { port, is_up } => {
                    let mut execute = |command| devices::execute(fabric, command);
                    self.link.port_status(device_id, port, is_up, &mut execute)?;
                }
                ControlMessage::Device { is_up } => {
                    let mut execute = |command| devices::execute(fabric, command);
                    if is_up {
                        self.link.device_up(device_id, &mut execute)?;
                    } else {
                        self.link.device_down(device_id, &mut execute)?;
                    }
                    served.notices.push((device_id, Notice::Presence));
                }
                ControlMessage::Packet(_) => {}
            }
        }
        for device in fabric.devices() {
            if let Some(pipeline) = fabric.pipeline_mut(device.id()) {
                let mut due = Vec::new();
                let next_ns = self.link.due(device.id(), now_ns, pipeline, &mut due);
                served.next_ns = [served.next_ns, next_ns].into_iter().flatten().min();
                served.notices.extend(
                    due.into_iter()
                        .map(|notice| (device.id(), Notice::Notification(notice))),
                );
            }
        }
        Ok(served)
    }

    fn exchange(
        &mut self,
        fabric: &mut Fabric,
        now_ns: u64,
        arrived: Vec<lockstep::Arrival<Notice>>,
    ) -> Result<Exchange, RunError> {
        for arrival in &arrived {
            if let Message::Packet(frame) = &arrival.message {
                self.meter.packet_in(frame);
            }
        }
        let arrivals: Vec<Arrival> = arrived
            .into_iter()
            .filter_map(|arrival| match arrival.message {
                Message::Packet(frame) => Some(Arrival::Packet(ControllerPacket {
                    device_id: arrival.device_id,
                    frame: frame.to_vec(),
                })),
                Message::Notice(Notice::Notification(notification)) => Some(Arrival::Notification(notification)),
                Message::Notice(Notice::Presence) => None,
            })
            .collect();
        let turn = self
            .link
            .exchange(now_ns, &arrivals, &mut |command| devices::execute(fabric, command));
        let exchange = self.answer(turn)?;
        for PacketOut { device_id, frame } in &exchange.packet_outs {
            self.meter.packet_out(*device_id, frame);
        }
        Ok(exchange)
    }
}

/// A run under way.
pub struct Session {
    /// The network.
    pub fabric: Fabric,
    /// Where the servers listen.
    pub addresses: Addresses,
    lockstep: Lockstep<RemoteController>,
    /// None while it is killed.
    process: Option<JsonChild>,
    /// Those to come, and the one that has begun if `is_out`.
    outages: VecDeque<Outage>,
    is_out: bool,
    home: Home,
    scenario: Scenario,
    _server: Server,
    directory: TempDir,
}

/// A time without a controller.
#[derive(Debug, Clone, Copy)]
struct Outage {
    start_ns: u64,
    end_ns: u64,
    in_turn: bool,
}

fn outages(fabric: &Fabric) -> VecDeque<Outage> {
    let kills = fabric
        .faults()
        .iter()
        .filter(|fault| fault.kind == FaultKind::ControllerRestart);
    let mut outages: Vec<Outage> = kills
        .map(|fault| Outage {
            start_ns: fault.start_ns,
            end_ns: fault.end_ns,
            in_turn: fault.in_turn,
        })
        .collect();
    outages.sort_by_key(|outage| outage.start_ns);
    // Who is dead already cannot be killed: what overlaps is one.
    let mut joined: VecDeque<Outage> = VecDeque::new();
    for outage in outages {
        match joined.back_mut().filter(|last| outage.start_ns <= last.end_ns) {
            Some(last) => last.end_ns = last.end_ns.max(outage.end_ns),
            None => joined.push_back(outage),
        }
    }
    joined
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
            link: LockstepLink::new(hub, PATIENCE),
            child,
            meter: ControlMeter::new(scenario),
        };
        let latency_ns = scenario.controller.control_latency_ns;
        let lockstep = Lockstep::start(remote, &mut fabric, latency_ns).map_err(|error| error.to_string())?;
        Ok(Session {
            outages: outages(&fabric),
            is_out: false,
            fabric,
            addresses,
            lockstep,
            process: Some(process),
            home: home.clone(),
            scenario: scenario.clone(),
            _server: server,
            directory,
        })
    }

    /// Runs both up to and at `until_ns`.
    ///
    /// # Errors
    /// When the controller fails.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), RunError> {
        while let Some(outage) = self.outages.front().copied() {
            let at_ns = if self.is_out { outage.end_ns } else { outage.start_ns };
            if at_ns > until_ns {
                break;
            }
            self.advance(at_ns)?;
            if self.is_out {
                self.restart_controller()?;
                self.outages.pop_front();
            } else {
                self.lockstep.detach(outage.in_turn);
                // Killed in its next turn, it is kept until then.
                self.process.take_if(|_| !outage.in_turn);
            }
            self.is_out = !self.is_out;
        }
        self.advance(until_ns)
    }

    fn advance(&mut self, until_ns: u64) -> Result<(), RunError> {
        let run = self.lockstep.run_until(&mut self.fabric, until_ns);
        run.map_err(|error| error.to_string().into())
    }

    /// Writes down what has happened.
    pub fn sample(&mut self, recorder: &mut Recorder) {
        let control = self.lockstep.controller().meter.used();
        recorder.sample(&mut self.fabric, &control);
    }

    fn restart_controller(&mut self) -> Result<(), RunError> {
        self.process = None;
        self.lockstep.controller_mut().link.forget_controller()?;
        let (events, child) = channel();
        let process = controller::start(
            &self.home,
            &self.scenario,
            &self.addresses,
            (Clock::Lockstep, Stdio::inherit()),
            self.directory.path(),
            events,
            |event| event,
        )?;
        self.process = Some(process);
        self.lockstep.controller_mut().child = child;
        let attached = self.lockstep.attach(&mut self.fabric);
        attached.map_err(|error| error.to_string().into())
    }

    /// Ends the controller; the fabric is as the run left it.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(mut self) -> Result<Fabric, RunError> {
        if let Some(mut process) = self.process.take() {
            process.stop(PATIENCE)?;
        }
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
