// SPDX-License-Identifier: Apache-2.0
//! How a run comes up: switches, controller, the fabric's time.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::Value;
use slotwise_control::child::{ChildEvent, JsonChild};
use slotwise_control::controller::{self, CONTROL_PRIORITY, Clock};
use slotwise_control::devices;
use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_netio::{CpuPlan, Waker, be_ordinary, be_realtime};
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_observe::series::PeriodNow;
use slotwise_p4runtime::{DeviceHub, Server, ServerConfig};
use slotwise_scenario::Device;
use slotwise_units as units;

use super::{CONTROLLER, Emulation, HOSTS, Heard, PATIENCE, Running, VIEW_PERIOD};
use crate::bmv2::Bmv2;
use crate::realtime::{Access, Realtime};
use crate::switches::{Bmv2Switches, OwnSwitches, Switches};
use slotwise_cli::RunError;
use slotwise_cli::notes::say;

impl Emulation<'_> {
    /// Starts the fabric's time and the controller, and waits until every switch is configured.
    pub(super) fn start(&mut self, access: Access, hosts: Option<JsonChild>) -> Result<Running, RunError> {
        let options = WorldOptions {
            seed: self.network.scenario.seed,
            // Whoever attaches interfaces makes all traffic.
            host_mode: if hosts.is_some() {
                HostMode::Shared
            } else {
                HostMode::External
            },
            captures: self.args.captures(self.network)?,
            frame_records: true,
        };
        let fabric = self.network.fabric(options);
        let measured = (
            self.network.scenario.frame.slot,
            self.network.recorder(&fabric, hosts.is_some()),
        );
        let mut plan = self.network.controller(&fabric, self.bmv2_program.is_some());
        plan.log_level = self.args.log_level();
        self.controller_plan = Some(plan);
        self.choices = self.network.plan(&fabric).choices;
        let (server, fabric, controller) = match self.bmv2_program.clone() {
            None => {
                let (server, hub) = self.start_server(&fabric, access.waker())?;
                let switches = Switches::Inside(OwnSwitches::new(hub));
                let fabric = Realtime::start(fabric, measured, access, switches)?;
                let controller = if self.external_controller {
                    say!("waiting for a controller at {} ...", self.addresses.p4runtime);
                    self.await_schedule(&fabric)?;
                    None
                } else {
                    Some(self.start_controller()?)
                };
                (Some(server), fabric, controller)
            }
            Some(program) => {
                let (fabric, controller) = self.start_bmv2(&program, fabric, measured, access)?;
                (None, fabric, controller)
            }
        };
        Ok(Running {
            _server: server,
            fabric,
            controller,
            hosts,
            phases: Vec::new(),
            whole_flows: Vec::new(),
            period: PeriodNow::default(),
            new_period: PeriodNow::default(),
        })
    }

    /// The engine's P4Runtime server.
    fn start_server(&mut self, fabric: &World, waker: Waker) -> Result<(Server, DeviceHub), RunError> {
        let config = ServerConfig {
            prepare_compiler: Some(be_ordinary),
            token: self.addresses.token.clone(),
            ..ServerConfig::new(self.addresses.p4runtime, devices::configs(fabric))
        };
        let (server, hub) = thread::scope(|scope| {
            // The server's own threads inherit the priority; this thread, and the hosts it starts, stay as they are.
            let start = scope.spawn(|| {
                CpuPlan::new().avoid_fabric();
                let _ = be_realtime(CONTROL_PRIORITY);
                Server::start(config, Arc::new(move || waker.wake()))
            });
            start.join().expect("starting a server does not panic")
        })?;
        self.addresses.p4runtime = server.address();
        Ok((server, hub))
    }

    /// BMv2 takes packets when it has a program, so the fabric's time starts after the controller is ready.
    fn start_bmv2(
        &mut self,
        program: &Path,
        fabric: World,
        measured: (units::Duration, Option<RoutedRecorder>),
        access: Access,
    ) -> Result<(Realtime, Option<JsonChild>), RunError> {
        say!("starting {} for each switch ...", program.display());
        let devices: Vec<Device> = fabric.devices().collect();
        let bmv2 = Bmv2::start(program, &devices, self.addresses.p4runtime.port(), self.directory)?;
        self.addresses.own = bmv2.servers();
        self.bmv2 = Some(bmv2);
        let controller = if self.external_controller {
            self.await_programs(&fabric)?;
            None
        } else {
            Some(self.start_controller()?)
        };
        let mut fabric = fabric.with_external_switches();
        fabric.set_switches_running(true);
        let bmv2 = self.bmv2.as_ref().expect("just set");
        let packets = bmv2.packets(access.waker())?;
        let sender = self.sender.clone();
        // Nobody hears it when the run has ended before.
        let tell = move |news| drop(sender.send(Heard::Port(news)));
        let switches = Switches::Bmv2(Bmv2Switches::new(packets, tell));
        let fabric = Realtime::start(fabric, measured, access, switches)?;
        if self.external_controller {
            self.await_schedule(&fabric)?;
        }
        Ok((fabric, controller))
    }

    /// Says where the switches are, and waits until someone has given each its program, and each router a route.
    fn await_programs(&mut self, fabric: &World) -> Result<(), RunError> {
        say!("waiting for a controller; P4Runtime at");
        for (id, server) in &self.addresses.own {
            say!("  device {id}: {server}");
        }
        let is_ready =
            |bmv2: &Bmv2| Ok::<bool, RunError>(bmv2.have_programs()? && bmv2.have_routes(self.home, fabric)?);
        while !is_ready(self.bmv2.as_ref().expect("it was started"))? {
            self.wait_for_others()?;
        }
        Ok(())
    }

    /// Starts the controller and waits until it has configured every switch.
    fn start_controller(&mut self) -> Result<JsonChild, RunError> {
        say!("starting the controller ...");
        let controller = self.spawn_controller()?;
        let ready = self.await_event(CONTROLLER, "ready")?;
        self.controller_event(units::Instant::ZERO, &ready)?;
        if let Some(rest) = self.calls.rest() {
            say!("controller: REST API at http://{rest}/slotwise/v1/");
        }
        Ok(controller)
    }

    pub(super) fn spawn_controller(&self) -> Result<JsonChild, RunError> {
        let sender = self.sender.clone();
        Ok(controller::start(
            self.home,
            self.controller_plan
                .as_ref()
                .expect("the network exists before its controller"),
            &self.addresses,
            (Clock::Wall, Stdio::inherit()),
            self.directory,
            sender,
            Heard::Controller,
        )?)
    }

    /// Waits until a frame has had a data slot that an edge may use, if there is a star, and every router of the fabric's own has a route.
    fn await_schedule(&mut self, fabric: &Realtime) -> Result<(), RunError> {
        let mut has_schedule = !self.network.scenario.has_star();
        loop {
            self.wait_for_others()?;
            if fabric.has_ended() {
                return Err("emulator: thread ended".into());
            }
            has_schedule |= fabric
                .frames()
                .any(|frame| frame.voqs.iter().any(|voq| voq.granted_slots > 0));
            if has_schedule && (self.bmv2.is_some() || fabric.has_routes()) {
                return Ok(());
            }
        }
    }

    /// Lets an external controller work for a moment. An error if the run cannot go on.
    fn wait_for_others(&mut self) -> Result<(), RunError> {
        match self.heard.recv_timeout(VIEW_PERIOD) {
            Ok(Heard::Signal) => return Err("interrupted".into()),
            Ok(Heard::Hosts(ChildEvent::Closed)) => return Err("hosts: agent ended".into()),
            _ => {}
        }
        self.check_switches()
    }

    /// Waits for an event of a child that is coming up.
    pub(super) fn await_event(&mut self, who: &str, wanted: &str) -> Result<Value, RunError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let heard = self.heard.recv_timeout(VIEW_PERIOD);
            // Others may send events all the time.
            if Instant::now() >= deadline {
                return Err(format!("{who}: not ready after {} s", PATIENCE.as_secs()).into());
            }
            let Ok(heard) = heard else {
                self.check_switches()?;
                continue;
            };
            let event = match (heard, who) {
                (Heard::Signal, _) => return Err("interrupted".into()),
                (Heard::Hosts(event), HOSTS) | (Heard::Controller(event), CONTROLLER) => event,
                (Heard::Hosts(ChildEvent::Closed), _) => {
                    return Err("hosts: agent ended while the controller was starting".into());
                }
                _ => continue,
            };
            match event {
                ChildEvent::Line(value) if value["event"] == wanted => return Ok(value),
                ChildEvent::Line(value) if value["event"] == "error" => {
                    return Err(format!("{who}: {}", value["message"].as_str().unwrap_or("unknown error")).into());
                }
                ChildEvent::Line(_) => {}
                ChildEvent::Closed => return Err(format!("{who}: ended before it was ready").into()),
            }
        }
    }
}
