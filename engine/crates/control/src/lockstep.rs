// SPDX-License-Identifier: Apache-2.0
//! A fabric in virtual time with the controller's process in lock step: what `simulate` and `reproduce` run.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time;

use serde_json::Value;
use slotwise_kinds::lockstep::{self, Controller, Exchange, Lockstep, Message, PacketOut, Served};
use slotwise_kinds::{ControlEvent, ControlMessage, World};
use slotwise_observe::recorders::star::Recorder;
use slotwise_p4::Port;
use slotwise_p4runtime::{
    Arrival, ControllerPacket, GiveUp, LockstepError, LockstepLink, Notification, Server, ServerConfig, ServerLimits,
    Turn,
};
use slotwise_scenario::{FaultKind, Scenario};
use slotwise_units::{Bytes, Duration, Instant};

use crate::child::{ChildEvent, JsonChild, not_ended};
use crate::choices::Choices;
use crate::control_meter::ControlMeter;
use crate::controller::{self, Addresses, Clock, ControllerPlan};
use crate::devices;
use crate::home::Home;
use crate::processes::Earlier;
use crate::rest::{PATIENCE_OF_VIRTUAL_TIME, Rest};
use crate::run_directory::RunDirectory;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;

/// A controller that says nothing for so long has failed. Generous: the machine may be busy.
const PATIENCE: time::Duration = time::Duration::from_mins(1);
/// At the start it says nothing until it has configured every switch.
const PATIENCE_A_DEVICE: time::Duration = time::Duration::from_secs(2);
/// Period in which a wait looks whether it is to be given up.
const GIVE_UP_PERIOD: time::Duration = time::Duration::from_millis(50);

/// What the controller's process says, and whether it lives.
struct Process {
    events: Receiver<ChildEvent>,
    has_ended: bool,
    said: Vec<Value>,
}

impl Process {
    fn new(events: Receiver<ChildEvent>) -> Process {
        Process {
            events,
            has_ended: false,
            said: Vec::new(),
        }
    }

    fn listen(&mut self) {
        loop {
            match self.events.try_recv() {
                Ok(ChildEvent::Line(value)) => self.said.push(value),
                Ok(ChildEvent::Closed) | Err(TryRecvError::Disconnected) => return self.has_ended = true,
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// Waits until it says that it is ready, which it does when it has configured every switch. Who waited for its first turn may have
    /// heard that already.
    fn await_ready(&mut self, is_given_up: impl Fn() -> bool) -> Result<Value, RunError> {
        let deadline = time::Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.said.iter().position(|said| said["event"] == "ready") {
                return Ok(self.said.remove(place));
            }
            let left = deadline.saturating_duration_since(time::Instant::now());
            match self.events.recv_timeout(left.min(GIVE_UP_PERIOD)) {
                Ok(ChildEvent::Line(value)) => self.said.push(value),
                Ok(ChildEvent::Closed) | Err(RecvTimeoutError::Disconnected) => return Err(HAS_ENDED.into()),
                Err(RecvTimeoutError::Timeout) if is_given_up() => return Err(Interrupted.into()),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err("controller: not ready in time".into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

const HAS_ENDED: &str = "controller: exited";

/// Error of a run that somebody ended early.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

fn lock(process: &Mutex<Process>) -> MutexGuard<'_, Process> {
    process.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The controller process behind the P4Runtime server.
struct RemoteController {
    link: LockstepLink,
    process: Arc<Mutex<Process>>,
    meter: ControlMeter,
    interrupts: Interrupts,
}

impl RemoteController {
    fn answer(&self, turn: Result<Turn, LockstepError>) -> Result<Exchange, RunError> {
        let turn = turn.map_err(|error| {
            let mut process = lock(&self.process);
            process.listen();
            match error {
                LockstepError::GivenUp { .. } if !process.has_ended => RunError::from(Interrupted),
                // It says so itself.
                LockstepError::GivenUp { .. } => error.to_string().into(),
                _ if process.has_ended => format!("{HAS_ENDED}: {error}").into(),
                _ => error.to_string().into(),
            }
        })?;
        let packet_outs = turn
            .packet_outs
            .into_iter()
            .map(|ControllerPacket { device_id, frame }| PacketOut { device_id, frame });
        Ok(Exchange {
            packet_outs: packet_outs.collect(),
            next_deadline: turn.next_deadline,
        })
    }
}

/// What an agent has for the controller.
#[expect(clippy::large_enum_variant, reason = "few, and notifications are the most of them")]
enum Notice {
    Notification(Notification),
    /// A port got or lost its link.
    Port {
        port: Port,
        is_up: bool,
    },
    /// The device has come or gone. The controller hears that by its stream; a turn is due.
    Presence,
}

impl Controller for RemoteController {
    type Error = RunError;
    type Notice = Notice;

    fn start(&mut self, fabric: &mut World) -> Result<Exchange, RunError> {
        let turn = self.link.ready(&mut |command| devices::execute(fabric, command));
        let mut exchange = self.answer(turn)?;
        if self.link.has_told_ports() {
            let soonest = fabric.now() + Duration::from_ns(1);
            let deadline = exchange.next_deadline.unwrap_or(soonest);
            exchange.next_deadline = Some(deadline.min(soonest));
        }
        Ok(exchange)
    }

    fn serve(
        &mut self,
        fabric: &mut World,
        now: Instant,
        happened: Vec<ControlEvent>,
    ) -> Result<Served<Notice>, RunError> {
        let mut served = Served::default();
        for ControlEvent { device_id, message, .. } in happened {
            match message {
                ControlMessage::Digest { name, fields } => {
                    let lists = self.link.learn(device_id, &name, &fields, now).into_iter();
                    served
                        .notices
                        .extend(lists.map(|list| (device_id, Notice::Notification(list))));
                }
                ControlMessage::Link { port, is_up } => {
                    let mut execute = |command| devices::execute(fabric, command);
                    if self.link.port_status(device_id, port, is_up, &mut execute)? {
                        served.notices.push((device_id, Notice::Port { port, is_up }));
                    }
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
                // Lock step itself has them travel.
                ControlMessage::Packet(_) => {}
            }
        }
        for device in fabric.devices() {
            if let Some(pipeline) = fabric.pipeline_mut(device.id()) {
                let mut due = Vec::new();
                let next = self.link.due(device.id(), now, pipeline, &mut due);
                served.next = [served.next, next].into_iter().flatten().min();
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
        fabric: &mut World,
        now: Instant,
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
                    frame: frame.clone(),
                })),
                Message::Notice(Notice::Notification(notification)) => Some(Arrival::Notification(notification)),
                Message::Notice(Notice::Port { port, is_up }) => Some(Arrival::Port {
                    device_id: arrival.device_id,
                    port,
                    is_up,
                }),
                Message::Notice(Notice::Presence) => None,
            })
            .collect();
        let turn = self.link.exchange(now, &arrivals, &mut |command| {
            devices::execute(fabric, command);
        });
        let exchange = self.answer(turn)?;
        for PacketOut { device_id, frame } in &exchange.packet_outs {
            self.meter.packet_out(*device_id, frame);
        }
        Ok(exchange)
    }

    fn is_to_stop(&self) -> bool {
        self.interrupts.count() > 0
    }
}

/// What a run of any network needs to know of it beside the fabric.
pub struct RunPlan {
    /// For the controller.
    pub controller: ControllerPlan,
    /// Between switches and controller, each way.
    pub latency: Duration,
    /// When the hosts start, fabric time.
    pub start: Instant,
    /// What the controller is told to do, counted from then.
    pub choices: Choices,
    /// Of what it says.
    pub meter: ControlMeter,
}

impl RunPlan {
    /// Of a scenario, whose fabric this is.
    pub fn of(scenario: &Scenario, fabric: &World) -> RunPlan {
        RunPlan {
            controller: ControllerPlan::of(scenario, fabric, Clock::Lockstep, false),
            latency: scenario.controller.control_latency,
            start: scenario.epoch(),
            choices: Choices::new(scenario, fabric),
            meter: ControlMeter::new(&scenario.cores),
        }
    }
}

/// A run under way.
pub struct Session {
    /// The network.
    pub fabric: World,
    /// Where the controller's REST server listens.
    pub rest: Rest,
    /// What the controller was told to do.
    pub choices: Choices,
    /// As asked for: a controller that is started again may get another port.
    addresses: Addresses,
    lockstep: Lockstep<RemoteController>,
    /// None while it is killed.
    child: Option<JsonChild>,
    process: Arc<Mutex<Process>>,
    /// Those to come, and the one that has begun if `is_out`.
    outages: VecDeque<Outage>,
    is_out: bool,
    home: Home,
    plan: ControllerPlan,
    /// Controller processes that faults have killed.
    earlier: Earlier,
    /// Times of choices count from here.
    start: Instant,
    interrupts: Interrupts,
    _server: Server,
    directory: RunDirectory,
}

/// A time without a controller.
#[derive(Debug, Clone, Copy)]
struct Outage {
    start: Instant,
    end: Instant,
    mid_step: bool,
}

fn outages(fabric: &World) -> VecDeque<Outage> {
    let kills = fabric
        .faults()
        .iter()
        .filter(|fault| fault.kind == FaultKind::ControllerRestart);
    let mut outages: Vec<Outage> = kills
        .map(|fault| Outage {
            start: fault.start,
            end: fault.end,
            mid_step: fault.mid_step,
        })
        .collect();
    outages.sort_by_key(|outage| outage.start);
    outages.into()
}

impl Session {
    /// Starts the controller of `fabric`, whose log goes to `log`, and waits until every switch is configured.
    ///
    /// # Errors
    /// When a part does not start, or an interrupt comes. Later one interrupt leaves a turn under way some seconds; then, or at the second
    /// one, it is given up.
    pub fn start(
        home: &Home,
        (mut fabric, run): (World, RunPlan),
        addresses: Addresses,
        log: Stdio,
        interrupts: &Interrupts,
    ) -> Result<Session, RunError> {
        let RunPlan {
            controller: plan,
            latency,
            start,
            mut choices,
            meter,
        } = run;
        let token = Some(controller::fresh_token()?);
        let config = ServerConfig {
            lock_step: true,
            token: token.clone(),
            // A port that somebody chose is one that somebody wants to look at.
            takes_guests: addresses.p4runtime.port() != 0,
            // On a busy machine the controller may get no CPU for long; how long it is waited for is decided here alone.
            limits: ServerLimits {
                patience: PATIENCE,
                keepalive: PATIENCE,
                ..ServerLimits::default()
            },
            ..ServerConfig::new(addresses.p4runtime, devices::configs(&fabric))
        };
        let (server, hub) = Server::start(config, Arc::new(|| {}))?;
        let addresses = Addresses {
            p4runtime: server.address(),
            token,
            ..addresses
        };
        let devices = fabric.devices().count() as u32;
        let directory = RunDirectory::create()?;
        let (events, heard) = channel();
        let child = controller::start(
            home,
            &plan,
            &addresses,
            (Clock::Lockstep, log),
            directory.path(),
            events,
            |event| event,
        )?;
        let process = Arc::new(Mutex::new(Process::new(heard)));
        let is_running = Arc::new(AtomicBool::new(false));
        let remote = RemoteController {
            link: LockstepLink::new(hub, PATIENCE + PATIENCE_A_DEVICE * devices).unless(reasons(
                process.clone(),
                interrupts.clone(),
                is_running.clone(),
            )),
            process: process.clone(),
            meter,
            interrupts: interrupts.clone(),
        };
        let lockstep = Lockstep::start(remote, &mut fabric, latency).map_err(cause)?;
        let ready = lock(&process).await_ready(|| interrupts.count() > 0)?;
        is_running.store(true, Ordering::Relaxed);
        choices.heard(Instant::ZERO, &ready);
        Ok(Session {
            outages: outages(&fabric),
            is_out: false,
            fabric,
            rest: Rest::new(&ready, directory.path(), PATIENCE_OF_VIRTUAL_TIME)?,
            choices,
            addresses,
            lockstep,
            child: Some(child),
            process,
            home: home.clone(),
            plan,
            earlier: Earlier::default(),
            start,
            interrupts: interrupts.clone(),
            _server: server,
            directory,
        })
    }

    /// Runs network and controller up to and including `until`, or to an interrupt.
    ///
    /// # Errors
    /// When the controller fails.
    pub fn run_until(&mut self, until: Instant) -> Result<(), RunError> {
        let start = self.start;
        loop {
            let outage = self.outages.front().copied();
            let turns = outage.map(|outage| if self.is_out { outage.end } else { outage.start });
            // Who is not there is told when it is back.
            let choice = self.choices.next().filter(|_| !self.is_out).map(|since| start + since);
            let next = [turns, choice].into_iter().flatten().min();
            let Some(at) = next.filter(|at| *at <= until) else {
                return self.advance(until);
            };
            let at = at.max(self.now());
            self.advance(at)?;
            if self.now() < at {
                return Ok(());
            }
            if choice.is_some_and(|choice| choice <= at) {
                if self.tell_due(at)? {
                    self.call_now();
                }
            } else if let Some(outage) = outage {
                self.outage_turns(outage)?;
            }
        }
    }

    /// Tells the controller what is due at `now` of the fabric, up to what it has to write tables for. Returns true if there is such: in lock step the controller hears nothing more before its turn, in which it writes. What is
    /// due then is still due.
    fn tell_due(&mut self, now: Instant) -> Result<bool, RunError> {
        while let Some(due) = self.choices.take_due(now - self.start) {
            let (due, answer) = self.ask(move |rest| {
                let answer = due.tell(rest);
                (due, answer)
            })?;
            if self.choices.told(due, now, answer)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes a call to the controller's REST server, on a thread of its own; an error if the run is interrupted meanwhile.
    fn ask<T: Send + 'static>(&self, call: impl FnOnce(&Rest) -> T + Send + 'static) -> Result<T, RunError> {
        let rest = self.rest.clone();
        let (answers, answer) = channel();
        // Nobody hears an answer that comes after an interrupt.
        let run = move || drop(answers.send(call(&rest)));
        thread::Builder::new().name("rest".into()).spawn(run)?;
        loop {
            match answer.recv_timeout(GIVE_UP_PERIOD) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) if self.interrupts.is_pressing() => return Err(Interrupted.into()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the call to the controller panicked".into()),
            }
        }
    }

    /// Answers the controller that somebody has told something over REST: what it wrote to tables since is done, and it has a turn at
    /// once. To be called now and then: until it is, such a controller waits and answers nobody.
    ///
    /// # Errors
    /// When the controller breaks the rules.
    pub fn answer(&mut self) -> Result<(), RunError> {
        if self.is_out {
            return Ok(());
        }
        let fabric = &mut self.fabric;
        let link = &mut self.lockstep.controller_mut().link;
        if link.listen(&mut |command| devices::execute(fabric, command))? {
            self.call_now();
        }
        Ok(())
    }

    /// Gives the controller a turn at once: what it was told over REST it writes to tables.
    fn call_now(&mut self) {
        self.lockstep.call_now(&self.fabric);
    }

    /// An outage begins or ends.
    fn outage_turns(&mut self, outage: Outage) -> Result<(), RunError> {
        if self.is_out {
            self.read_before_kill()?;
            self.restart_controller()?;
            self.outages.pop_front();
        } else {
            if !outage.mid_step {
                // A request over REST that is not finished would delay all others.
                self.answer()?;
                self.read_before_kill()?;
            }
            self.lockstep.detach(outage.mid_step);
            // One killed in its next turn stays until the outage ends.
            self.child.take_if(|_| !outage.mid_step);
        }
        self.is_out = !self.is_out;
        Ok(())
    }

    /// Reads the statistics of a process that is to be killed, unless it has been killed already. Statistics that cannot be read are
    /// noted; an error is an interrupt.
    fn read_before_kill(&mut self) -> Result<(), RunError> {
        if self.child.is_none() {
            return Ok(());
        }
        self.listen();
        let resource = self.plan.statistics;
        let statistics = self.ask(move |rest| rest.statistics(resource))?;
        let statistics = statistics.map_err(|error| error.to_string());
        self.earlier.add(self.now(), statistics);
        Ok(())
    }

    /// Notes what the controller has said by now.
    pub fn listen(&mut self) {
        let now = self.now();
        let mut process = lock(&self.process);
        process.listen();
        for event in process.said.drain(..) {
            self.choices.heard(now, &event);
        }
    }

    /// Time since the first phase began, on the fabric's clock.
    pub fn since_start(&self) -> Duration {
        self.now().saturating_since(self.start)
    }

    fn now(&self) -> Instant {
        self.fabric.now()
    }

    fn advance(&mut self, until: Instant) -> Result<(), RunError> {
        let run = self.lockstep.run_until(&mut self.fabric, until);
        run.map_err(cause)
    }

    /// Reads the controller's statistics; `None` if a fault has it killed just now: they are with those of earlier processes.
    ///
    /// # Errors
    /// When it does not answer, or the run is interrupted meanwhile.
    pub fn statistics(&mut self) -> Result<Option<Value>, RunError> {
        if self.is_out {
            self.read_before_kill()?;
            return Ok(None);
        }
        let resource = self.plan.statistics;
        Ok(Some(self.ask(move |rest| rest.statistics(resource))??))
    }

    /// Takes the controller processes killed by faults.
    pub fn take_earlier(&mut self) -> Earlier {
        std::mem::take(&mut self.earlier)
    }

    /// Writes down what has happened to a star.
    pub fn sample(&mut self, recorder: &mut Recorder) {
        let control = self.lockstep.controller().meter.used();
        recorder.sample(&mut self.fabric, &control);
    }

    fn restart_controller(&mut self) -> Result<(), RunError> {
        self.child = None;
        self.lockstep.controller_mut().link.forget_controller()?;
        let (events, heard) = channel();
        let child = controller::start(
            &self.home,
            &self.plan,
            &self.addresses,
            (Clock::Lockstep, Stdio::inherit()),
            self.directory.path(),
            events,
            |event| event,
        )?;
        self.child = Some(child);
        *lock(&self.process) = Process::new(heard);
        self.lockstep.attach(&mut self.fabric).map_err(cause)?;
        let ready = lock(&self.process).await_ready(|| self.interrupts.is_pressing())?;
        self.rest = Rest::new(&ready, self.directory.path(), PATIENCE_OF_VIRTUAL_TIME)?;
        Ok(())
    }

    /// Ends the controller; a second interrupt kills it. Returns the network at the end of the run, and failures to end.
    pub fn stop(mut self) -> (World, Option<String>) {
        let is_given_up = || self.interrupts.count() > 1;
        let stopped = self.child.take().map(|mut child| child.stop(PATIENCE, is_given_up));
        (
            self.fabric,
            stopped.and_then(|stopped| not_ended("controller", stopped)),
        )
    }

    /// Kills the controller, of which nothing is expected any more.
    pub fn abandon(self) -> World {
        self.fabric
    }
}

/// Reason why a run in lock step ended; an interrupt is no failure of the controller.
fn cause(error: lockstep::LockstepError<RunError>) -> RunError {
    match error {
        lockstep::LockstepError::Controller(error) if error.is::<Interrupted>() => error,
        error => error.to_string().into(),
    }
}

/// Reasons not to wait for a silent controller: it has ended, or the run is interrupted, of which the first time is borne while it runs.
fn reasons(process: Arc<Mutex<Process>>, interrupts: Interrupts, is_running: Arc<AtomicBool>) -> GiveUp {
    Box::new(move || {
        let mut process = lock(&process);
        process.listen();
        let is_interrupted = match is_running.load(Ordering::Relaxed) {
            true => interrupts.is_pressing(),
            false => interrupts.count() > 0,
        };
        if process.has_ended {
            Some(HAS_ENDED.to_owned())
        } else {
            is_interrupted.then(|| Interrupted.to_string())
        }
    })
}

/// What a run in virtual time did that it must not do.
pub fn wrong_bytes(fabric: &World) -> Vec<String> {
    let flows = fabric.flow_results();
    let streams = flows.iter().filter_map(|flow| flow.stream);
    let wrong: Bytes = streams
        .map(|stream| stream.wrong_bytes)
        .chain([fabric.wrong_bytes_of_workloads()])
        .sum();
    if wrong.is_zero() {
        return Vec::new();
    }
    vec![format!("{} corrupted stream bytes received", wrong.get())]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_controller_that_said_that_it_is_ready_while_its_first_turn_was_waited_for_was_heard() {
        let (events, heard) = channel();
        let mut process = Process::new(heard);
        for event in ["changed", "ready", "changed"] {
            events.send(ChildEvent::Line(json!({"event": event}))).unwrap();
        }
        process.listen();
        assert_eq!(process.await_ready(|| false).unwrap(), json!({"event": "ready"}));
        assert_eq!(process.said, [json!({"event": "changed"}), json!({"event": "changed"})]);

        assert!(process.await_ready(|| true).unwrap_err().is::<Interrupted>());
        events.send(ChildEvent::Closed).unwrap();
        assert_eq!(process.await_ready(|| false).unwrap_err().to_string(), HAS_ENDED);
    }
}
