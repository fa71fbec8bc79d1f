// SPDX-License-Identifier: Apache-2.0
//! What a run hears of its hosts, its controller and the user, and what it does about it.

use std::io::{self, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use slotwise_control::calls::{Call, Called};
use slotwise_control::child::ChildEvent;
use slotwise_control::controller::ControllerError;
use slotwise_control::rest::{PATIENCE_OF_LIVE_RUNS, Rest};
use slotwise_observe::flow::{FlowReport, Player};
use slotwise_observe::news::Newsroom;
use slotwise_units as units;

use super::{Emulation, Heard, Running};
use crate::commands::{CommandError, FibreCommand, Order};
use slotwise_cli::RunError;

/// A controller that ends more often than this is not started again.
const MAX_RESTARTS: u32 = 5;

impl Emulation<'_> {
    /// Handles what is heard until `patience` is over. True when the running phase has ended.
    pub(super) fn listen(
        &mut self,
        running: &mut Running,
        news: &mut Newsroom,
        patience: Duration,
    ) -> Result<bool, RunError> {
        self.poll_controller(running.now())?;
        let until_choice = self.tell_choices(running);
        let heard = self
            .heard
            .recv_timeout(until_choice.map_or(patience, |until| patience.min(until)));
        if let Some(period) = running.fabric.last_period() {
            running.new_period.clone_from(&period);
            running.period = period;
        }
        self.check_switches()?;
        if running.fabric.has_ended() {
            return Err("emulator: thread ended".into());
        }
        match heard {
            // The signal handler counts signals; the wall clock cannot be held.
            Err(RecvTimeoutError::Timeout) | Ok(Heard::Signal | Heard::Page(Order::Hold(_))) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err("emulator: no event source left".into()),
            Ok(Heard::Command(command)) => {
                obey(running, command);
                Ok(false)
            }
            Ok(Heard::Page(Order::Fibre(command))) => {
                running.fabric.set_fibre(command.fibre, command.is_up);
                let at = running.now().saturating_since(running.start());
                news.fibre(&command.name, command.is_up, at);
                Ok(false)
            }
            Ok(Heard::Port(news)) => {
                self.ports.note(news);
                // Whoever comes later is told all.
                self.calls.call(Call::Light(news));
                Ok(false)
            }
            Ok(Heard::Called(called)) => {
                self.called(running.now(), called);
                Ok(false)
            }
            Ok(Heard::Polled(process, answer)) => {
                let now = (Instant::now(), running.now());
                self.poll.answered(process, now, answer);
                Ok(false)
            }
            Ok(Heard::Controller(ChildEvent::Line(event))) => {
                self.controller_event(running.now(), &event)?;
                Ok(false)
            }
            Ok(Heard::Controller(ChildEvent::Closed)) => {
                self.restart_controller(running)?;
                Ok(false)
            }
            Ok(Heard::Hosts(ChildEvent::Line(event))) if event["event"] == "vanished" => {
                Err(format!("host {}: process ended", event["host"].as_str().unwrap_or("?")).into())
            }
            Ok(Heard::Hosts(ChildEvent::Line(event))) => Ok(self.host_event(running, &event)),
            Ok(Heard::Hosts(ChildEvent::Closed)) => Err("hosts: agent ended".into()),
        }
    }

    /// Requests the controller's statistics if that is due, on a separate thread.
    fn poll_controller(&mut self, now: units::Instant) -> Result<(), RunError> {
        let (Some(rest), Some(plan)) = (self.calls.rest(), &self.controller_plan) else {
            return Ok(());
        };
        let Some(process) = self.poll.due(Instant::now(), now) else {
            return Ok(());
        };
        let (rest, resource, sender) = (rest.clone(), plan.statistics, self.sender.clone());
        // The receiver is gone if the run has ended.
        let ask = move || drop(sender.send(Heard::Polled(process, rest.statistics(resource))));
        thread::Builder::new().name("statistics".into()).spawn(ask)?;
        Ok(())
    }

    /// Tells the controller which scheduler or capacity is due; gives the time until the next one is. That of one that has not been
    /// answered yet is heard.
    fn tell_choices(&mut self, running: &Running) -> Option<Duration> {
        let first = running.phases.first()?;
        // Where nobody can be reached what is due waits for the next controller.
        self.calls.rest()?;
        if self.calls.has_order_under_way() {
            return None;
        }
        let since = running.now() - first.start;
        if let Some(due) = self.choices.take_due(since) {
            if let Some(Call::Order(due)) = self.calls.call(Call::Order(due)) {
                self.choices.put_back(due);
            }
            return None;
        }
        let left = self.choices.next()?.saturating_sub(since);
        Some(Duration::from_nanos(left.ns()))
    }

    /// The controller has answered, or has not.
    fn called(&mut self, now: units::Instant, called: Called) {
        let is_of_now = self.calls.over(&called);
        let told = match (called.call, called.answer) {
            (Call::Order(due), Some(answer)) => self.choices.told(due, now, answer).map(drop),
            (Call::Order(due), None) => {
                self.choices.put_back(due);
                Ok(())
            }
            (Call::Light(_), answer) => answer.map_or(Ok(()), |answer| answer.map(drop)),
        };
        // Of one that has gone nothing is expected any more.
        if is_of_now || !matches!(told, Err(ControllerError::Unreachable { .. })) {
            self.note_untold(told);
        }
        if !self.calls.has_order_under_way() {
            for event in std::mem::take(&mut self.held_back) {
                self.choices.heard(now, &event);
            }
        }
    }

    /// The run is over: what the controller was told last is answered, or its time is over.
    pub(super) fn await_answers(&mut self, now: units::Instant) {
        let deadline = Instant::now() + 2 * PATIENCE_OF_LIVE_RUNS;
        while self.calls.is_calling()
            && let Ok(heard) = self
                .heard
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if let Heard::Called(called) = heard {
                self.called(now, called);
            }
        }
        if self.calls.is_calling() {
            self.failures
                .push("controller: no answer to the last request".to_owned());
        }
    }

    pub(super) fn check_switches(&mut self) -> Result<(), RunError> {
        self.bmv2.as_mut().map_or(Ok(()), |bmv2| Ok(bmv2.check()?))
    }

    /// Why the fabric's thread has ended.
    pub(super) fn cause(&mut self, running: Running, error: RunError) -> RunError {
        let reason = running.fabric.stop().err();
        // A process that ends takes the thread with it.
        let process = self.check_switches().err();
        process.or(reason.map(RunError::from)).unwrap_or(error)
    }

    /// The controller has ended although nobody asked it to: traffic goes on with the last schedule, and a new one takes over.
    fn restart_controller(&mut self, running: &mut Running) -> Result<(), RunError> {
        self.restarts += 1;
        let (statistics, known) = self.poll.gone();
        self.earlier.exited(statistics);
        self.notes.push(format!(
            "controller: exited at {:.1} s; {known}",
            running.now().since_start().seconds()
        ));
        if self.restarts > MAX_RESTARTS {
            return Err(format!("controller: exited {} times", self.restarts).into());
        }
        self.calls.reach(None);
        self.untold = None;
        running.controller = Some(self.spawn_controller()?);
        Ok(())
    }

    pub(super) fn controller_event(&mut self, now: units::Instant, event: &Value) -> Result<(), RunError> {
        match self.calls.has_order_under_way() {
            true => self.held_back.push(event.clone()),
            false => self.choices.heard(now, event),
        }
        // One that was started again may listen elsewhere.
        if event["event"] == "ready" {
            self.calls
                .reach(Some(Rest::new(event, self.directory, PATIENCE_OF_LIVE_RUNS)?));
            self.poll.ready(Instant::now());
            for news in self.ports.dark() {
                self.calls.call(Call::Light(news));
            }
        }
        Ok(())
    }

    /// Keeps why a controller was not told something. One that cannot be reached may have ended, which is heard a little later: the next
    /// one is told all that this one should know.
    fn note_untold(&mut self, told: Result<(), ControllerError>) {
        match told {
            Ok(()) => {}
            Err(error @ ControllerError::Unreachable { .. }) => {
                self.calls.reach(None);
                self.untold = Some(error);
            }
            Err(error) => self.failures.push(error.to_string()),
        }
    }

    /// True when a phase has ended.
    fn host_event(&mut self, running: &mut Running, event: &Value) -> bool {
        match event["event"].as_str() {
            Some("phase_started") => {
                self.begin(running);
                running.fabric.begin_phase(running.phases.len() - 1);
            }
            Some("phase_done") => {
                running.fabric.end_phase(running.phases.len().saturating_sub(1));
                if let Some(phase) = running.phases.last_mut() {
                    phase.end = running.fabric.now();
                }
                return true;
            }
            Some("flow") => match (running.phases.last_mut(), FlowReport::deserialize(event)) {
                (Some(phase), Ok(flow)) => {
                    let flows = match flow.is_of_run() {
                        true => &mut running.whole_flows,
                        false => &mut phase.flows,
                    };
                    flows.push(FlowReport {
                        generated_by: Some(Player::Linux),
                        ..flow
                    });
                }
                (None, _) => {}
                (_, Err(error)) => self.failures.push(format!("hosts: invalid result of a flow: {error}")),
            },
            Some("file") => {
                if let Some(phase) = running.phases.last_mut() {
                    let mut entry = event.clone();
                    if let Some(fields) = entry.as_object_mut() {
                        fields.remove("event");
                        fields.insert("generated_by".into(), "linux".into());
                    }
                    phase.files.push(entry);
                }
                if event["intact"] != true {
                    self.failures
                        .push(format!("file from {} to {}: corrupted", event["from"], event["to"]));
                }
            }
            Some("error") => self.failures.push(format!(
                "hosts: {}",
                event["message"].as_str().unwrap_or("unknown error")
            )),
            _ => {}
        }
        false
    }
}

fn obey(running: &Running, command: Result<FibreCommand, CommandError>) {
    let answer = match command {
        Ok(command) => {
            running.fabric.set_fibre(command.fibre, command.is_up);
            command.done()
        }
        Err(error) => json!({"event": "error", "message": error.to_string()}),
    };
    // Whoever asked may have gone: the run goes on.
    let _ = writeln!(io::stdout(), "{answer}");
}
