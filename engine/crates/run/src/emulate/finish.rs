// SPDX-License-Identifier: Apache-2.0
//! The end of a run: everything stops in order, and what it did becomes a report.

use std::time::{Duration, Instant};

use serde_json::Value;
use slotwise_control::child::not_ended;
use slotwise_control::lockstep::wrong_bytes;
use slotwise_kinds::FrameRecord;
use slotwise_netio::CpuPlan;
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_units as units;

use super::{Emulation, Running};
use crate::driver::Ended;
use crate::flows::{Players, add_phase_flows, add_whole_flows, strange_bytes};
use crate::neighbours::Neighbours;
use crate::realtime::Outcome;
use crate::run::finish_captures;
use slotwise_cli::RunError;

/// Time for hosts and controller to go by themselves. What they have made goes with their namespaces.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

impl Emulation<'_> {
    /// Reads what the controller has to say of itself: null of somebody else's. An error names why it is not known.
    fn statistics(&self) -> Result<Value, String> {
        let Some(plan) = self.controller_plan.as_ref().filter(|_| !self.external_controller) else {
            return Ok(Value::Null);
        };
        let rest = self
            .calls
            .rest()
            .ok_or_else(|| "controller: not responding at the end of the run: no statistics".to_owned())?;
        rest.statistics(plan.statistics).map_err(|error| error.to_string())
    }

    /// Ends a run; `failure` is the reason of an early end.
    pub(super) fn finish(
        mut self,
        mut running: Running,
        failure: Option<String>,
        frames: &mut Vec<FrameRecord>,
    ) -> Result<Ended, RunError> {
        self.failures.extend(failure);
        // Those of hosts go with them.
        self.tell_of_interfaces(&running);
        running.fabric.end_run();
        let now = running.now();
        self.await_answers(running.now());
        self.notes
            .extend(self.choices.overdue(now.saturating_since(running.start())));
        self.failures.extend(self.untold.take().map(|error| error.to_string()));
        let process = self.poll.ask(Instant::now(), running.now());
        let statistics = match self.statistics() {
            Ok(statistics) => {
                let now = (Instant::now(), running.now());
                self.poll.answered(process, now, Ok(statistics.clone()));
                statistics
            }
            Err(failure) => {
                self.failures.push(failure);
                self.poll.waited(Instant::now());
                let (statistics, known) = self.poll.gone();
                self.notes.push(format!("controller: {known}"));
                statistics.unwrap_or(Value::Null)
            }
        };
        self.notes.extend(self.poll.note());
        let tunnels = std::mem::take(&mut self.tunnels).finish();
        let seen = self.neighbours.as_ref().map(Neighbours::since);
        let is_given_up = || self.interrupts.count() > 1;
        let hosts = running.hosts.as_mut();
        let hosts = hosts.map(|hosts| hosts.finish(STOP_PATIENCE, is_given_up));
        let controller = running.controller.as_mut();
        let controller = controller.map(|child| child.stop(STOP_PATIENCE, is_given_up));
        for (name, ended) in [("hosts", hosts), ("controller", controller)] {
            self.notes.extend(ended.and_then(|ended| not_ended(name, ended)));
        }
        let (outcome, rest) = running.fabric.stop()?;
        let Outcome {
            mut fabric,
            mut lateness,
            refused,
            unreadable,
            phase_bytes,
            recorder,
            switch_answers,
            not_realtime,
        } = outcome;
        lateness.tunnels = tunnels;
        if let Some((neighbours, stolen_ns)) = seen {
            lateness.cpu = CpuPlan::new().fabric_cpu();
            lateness.stolen_ns = stolen_ns;
            lateness.competing_threads = neighbours;
        }
        if let Some(bmv2) = &self.bmv2
            && let Err(error) = bmv2.read_drops(self.home, &mut fabric)
        {
            self.failures.push(error.to_string());
        }
        self.notes
            .extend(finish_captures(&mut fabric, self.args.pcap.as_deref()));
        frames.extend(rest);
        frames.retain(|record| record.start <= now);
        if let Some(phase) = running
            .phases
            .last_mut()
            .filter(|phase| phase.end == units::Instant::ZERO)
        {
            phase.end = now;
        }
        if unreadable > 0 {
            self.notes
                .push(format!("hosts: {unreadable} invalid frames from hosts"));
        }
        if refused > 0 {
            self.notes
                .push(format!("hosts: {refused} frames for hosts rejected by the kernel"));
        }
        if let Some(error) = not_realtime {
            self.notes.push(format!("emulator: no real-time priority: {error}"));
        }
        let scenario = &self.network.scenario;
        let (begun, over) = (running.phases.len(), phase_bytes.len());
        self.failures.extend(wrong_bytes(&fabric));
        if running.hosts.is_some() {
            for (index, phase) in running.phases.iter_mut().enumerate().skip(over) {
                phase.lost_flows = scenario.linux_flows_of(index).saturating_sub(phase.flows.len());
            }
            if let Some(last) = running.phases.last_mut().filter(|_| over < begun) {
                last.lost_flows += scenario.linux_flows().saturating_sub(running.whole_flows.len());
            }
        }
        add_phase_flows(&mut running.phases, (scenario, &fabric), &phase_bytes, Players::Both);
        if let Some(last) = running.phases.last_mut() {
            last.flows.append(&mut running.whole_flows);
        }
        if let Some(recorder) = &recorder {
            self.failures.extend(strange_bytes(recorder));
            add_whole_flows(&mut running.phases, scenario, recorder, Players::Both);
        }
        Ok(Ended {
            fabric,
            phases: running.phases,
            lateness: Some(lateness),
            switch_answers,
            choices: self.choices,
            controller: statistics,
            earlier: self.earlier,
            controller_restarts: self.restarts,
            after_faults: Vec::new(),
            workloads: Vec::new(),
            recording: recorder.map(RoutedRecorder::finish).unwrap_or_default(),
            failures: self.failures,
            notes: self.notes,
        })
    }
}
