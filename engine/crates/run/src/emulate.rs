// SPDX-License-Identifier: Apache-2.0
//! `slotwise emulate`: a scenario on the wall clock, with Mininet hosts that run the unmodified Linux TCP stack.
//!
//! Process 1 of a PID namespace holds the fabric and the P4Runtime server; the host agent and its interfaces live in a network
//! namespace of their own; the controller is a process beside them. See [`crate::isolate`].

mod clock;
mod events;
mod finish;
mod start;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use slotwise_control::calls::{Called, Calls};
use slotwise_control::child::{ChildEvent, JsonChild};
use slotwise_control::choices::Choices;
use slotwise_control::controller::{self, Addresses, ControllerError, ControllerPlan};
use slotwise_control::home::Home;
use slotwise_control::network::Network;
use slotwise_control::port_news::{PortBoard, PortNews};
use slotwise_control::processes::{Earlier, Poll};
use slotwise_control::run_directory::{MARK, RunDirectory};
use slotwise_netio::CpuPlan;
use slotwise_observe::flow::FlowReport;
use slotwise_observe::live::LiveView;
use slotwise_observe::series::PeriodNow;
use slotwise_p4runtime::Server;
use slotwise_units as units;

use self::clock::Wall;
use crate::attach::{self, Attachment};
use crate::bmv2::{self, Bmv2};
use crate::commands::{self, CommandError, FibreCommand, Order};
use crate::driver::{Run, Spectators};
use crate::fabric_cpu::FabricCpu;
use crate::isolate;
use crate::neighbours::{self, Neighbours};
use crate::python::{self, PYTHON};
use crate::realtime::{Access, Realtime};
use crate::resolved::Resolved;
use crate::run::{PhaseRun, RunArgs, check_free};
use crate::tunnels::Tunnels;
use crate::web::Watch;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::say;

/// Time for the hosts or the controller to come up.
const PATIENCE: Duration = Duration::from_mins(1);
/// P4Runtime and REST, unless others are asked for.
pub const PORTS: (u16, u16) = (9559, 8181);
/// Interfaces that come and go all the time do not fill the report: with this many notes they are told of on standard error only.
const MOST_NOTES: usize = 100;
const VIEW_PERIOD: Duration = Duration::from_millis(200);
/// What TCP of this kernel has.
const CONGESTION_CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Arguments of `emulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct EmulateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Attach the existing interfaces listed in FILE (JSON) instead of starting hosts
    ///
    /// A list of {"edge", "router", "station" or "ops-edge": N, "port": N, "interface": NAME}, for tunnels also
    /// "probe" (`slotwise tunnel`). Runs until SIGINT.
    #[arg(long, value_name = "FILE")]
    attach: Option<PathBuf>,
    /// Wait for an external controller (e.g. ONOS) instead of starting one
    ///
    /// It has to activate a schedule and install routes (docs/onos.md).
    #[arg(long, conflicts_with = "scheduler")]
    external_controller: bool,
    /// P4 target that runs the switches
    #[arg(long, value_enum, default_value_t = Target::Engine)]
    target: Target,
    /// Path of simple_switch_grpc for --target bmv2 [default: on the PATH]
    ///
    /// The switches listen on ports from --p4runtime-port on.
    #[arg(long, value_name = "PATH")]
    bmv2: Option<PathBuf>,
}

impl EmulateArgs {
    /// Whether nobody else may call the engine's P4Runtime server: others would have to ask for it, by its port or by being the
    /// controller.
    fn is_for_its_own_controller(&self) -> bool {
        self.target == Target::Engine && !self.external_controller && self.run.p4runtime_port.is_none()
    }
}

/// What runs the P4 programs of a live network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Slotwise's P4 engine
    Engine,
    /// Stock BMv2: one simple_switch_grpc per switch; slots of at least 10 ms
    Bmv2,
}

/// Events of the main loop.
enum Heard {
    Hosts(ChildEvent),
    Controller(ChildEvent),
    Command(Result<FibreCommand, CommandError>),
    /// Order of the page.
    Page(Order),
    Port(PortNews),
    Called(Called),
    /// Answer to a periodic request for the statistics of the controller process with this number.
    Polled(u64, Result<Value, ControllerError>),
    Signal,
}

/// The name in reports.
const COMMAND: &str = "emulate";
/// Names of the child processes.
const HOSTS: &str = "hosts";
const CONTROLLER: &str = "controller";

/// Runs a scenario. True if all was well. Call with one thread.
pub fn emulate(args: &EmulateArgs) -> Result<Option<bool>, RunError> {
    let network = args.run.load()?;
    let kernel =
        std::fs::read_to_string(CONGESTION_CONTROLS).map_err(|error| format!("{CONGESTION_CONTROLS}: {error}"))?;
    let kernel: Vec<&str> = kernel.split_whitespace().collect();
    if let Some(not_live) = network.scenario.not_live(&kernel) {
        return Err(format!("{}: {not_live}", args.run.scenario.path.display()).into());
    }
    let home = Home::find()?;
    let mut addresses = args.run.addresses(PORTS);
    if args.is_for_its_own_controller() {
        addresses.p4runtime.set_port(0);
        addresses.token = Some(controller::fresh_token()?);
    }
    args.run.check_outputs()?;
    let attachments = match &args.attach {
        Some(file) => {
            let read = attach::read(file, &network.empty_fabric());
            Some(read.map_err(|error| format!("{}: {error}", file.display()))?)
        }
        None => None,
    };
    if args.external_controller && !network.scenario.scheduler_changes.is_empty() {
        let place = args.run.scenario.path.display();
        return Err(format!(
            "{place}: /changes: changes of the scheduler are not supported with --external-controller; expected none"
        )
        .into());
    }
    let mut programs = BTreeMap::new();
    if !args.external_controller {
        home.controller_jar()?;
        programs = controller::programs(&home, &network.controller(&network.empty_fabric(), false).programs)?;
        check_free(addresses.rest, "controller (REST)", "--rest-port")?;
    }
    let bmv2_program = match args.target {
        Target::Engine => {
            check_free(addresses.p4runtime, "engine (P4Runtime)", "--p4runtime-port")?;
            None
        }
        Target::Bmv2 => Some(
            bmv2::check(&network, args.bmv2.as_deref(), addresses.p4runtime.port())
                .map_err(|error| format!("{}: {error}", args.run.scenario.path.display()))?,
        ),
    };
    let cpu;
    let shared;
    let mut view = None;
    if args.attach.is_some() {
        cpu = FabricCpu::choose();
        shared = cpu.shared().map(String::from);
    } else {
        if !isolate::is_inside() {
            return Ok(None);
        }
        shared = FabricCpu::take_over();
        view = neighbours::view();
        isolate::enter()?;
    }
    // What this process's other threads do in the kernel may not be interruptible for longer than a slot.
    CpuPlan::new().avoid_fabric();
    let (sender, heard) = channel();
    let signals = sender.clone();
    // Nobody hears it when the run has ended before.
    let interrupts = Interrupts::listen_and(move || drop(signals.send(Heard::Signal)))?;
    isolate::unblock_signals()?;
    if args.run.until_input_ends && args.attach.is_none() {
        interrupts.listen_to_input()?;
    }
    let page = sender.clone();
    let tell = move |order: Order| page.send(Heard::Page(order)).is_ok();
    let has = (!args.external_controller, args.attach.is_none());
    let mut spectators = Spectators {
        view: None,
        watch: Watch::start(&args.run.web, COMMAND, &network, has, (tell, None))?,
        events: args.run.events(COMMAND, &network.scenario)?,
    };
    let directory = RunDirectory::create()?;
    let answers = sender.clone();
    // Nobody hears it when the run has ended before.
    let calls = Calls::start(move |called| drop(answers.send(Heard::Called(called))))?;
    let emulation = Emulation {
        args: &args.run,
        external_controller: args.external_controller,
        network: &network,
        home: &home,
        addresses,
        calls,
        held_back: Vec::new(),
        untold: None,
        choices: Choices::default(),
        ports: PortBoard::default(),
        controller_plan: None,
        bmv2_program,
        bmv2: None,
        directory: directory.path(),
        interrupts: interrupts.clone(),
        sender,
        heard,
        failures: Vec::new(),
        notes: shared.into_iter().collect(),
        restarts: 0,
        earlier: Earlier::default(),
        poll: Poll::default(),
        view,
        neighbours: None,
        tunnels: Tunnels::default(),
    };
    let clock = match attachments {
        Some(list) => emulation.attached(&list)?,
        None => emulation.with_hosts()?,
    };
    // What is attached has standard output for its answers.
    spectators.view = args.attach.is_none().then(LiveView::new);
    let scenario = &network.scenario;
    let parts = (&args.run, &home, scenario);
    let run = Run::new(clock, scenario, spectators);
    run.finish(COMMAND, parts, programs, &interrupts).map(Some)
}

/// Chooses the fabric's CPU and runs the scenario in namespaces of its own. Call with one thread.
pub fn outside() -> Result<ExitCode, RunError> {
    isolate::check_root()?;
    let cpu = FabricCpu::choose();
    Ok(isolate::run_inside(cpu.environment())?)
}

struct Emulation<'a> {
    args: &'a RunArgs,
    external_controller: bool,
    network: &'a Network,
    home: &'a Home,
    /// As asked for.
    addresses: Addresses,
    /// To the controller, once it is ready.
    calls: Calls,
    /// Events of the controller during a request, whose effect is known from its answer.
    held_back: Vec<Value>,
    /// Error for a command not accepted by a controller that is still running as far as known.
    untold: Option<ControllerError>,
    choices: Choices,
    /// Port status of switches that do not report it themselves.
    ports: PortBoard,
    /// Network configuration of the controller, once the network exists.
    controller_plan: Option<ControllerPlan>,
    bmv2_program: Option<PathBuf>,
    bmv2: Option<Bmv2>,
    directory: &'a Path,
    interrupts: Interrupts,
    sender: Sender<Heard>,
    heard: Receiver<Heard>,
    failures: Vec<String>,
    notes: Vec<String>,
    restarts: u32,
    /// Controller processes that exited, and requests to the current one.
    earlier: Earlier,
    poll: Poll,
    /// The machine's processes, for the first look at them.
    view: Option<File>,
    /// Competing threads on the emulator's CPU when measurement began.
    neighbours: Option<Neighbours>,
    /// To hosts on other machines.
    tunnels: Tunnels,
}

/// Everything that runs.
struct Running {
    /// The engine's. Dropped last: the controller's connections end with it.
    _server: Option<Server>,
    fabric: Realtime,
    /// None if it is someone else's.
    controller: Option<JsonChild>,
    hosts: Option<JsonChild>,
    phases: Vec<PhaseRun>,
    /// Flows over the whole run generated by Linux hosts.
    whole_flows: Vec<FlowReport>,
    /// Metrics of the last period.
    period: PeriodNow,
    /// The same, not yet sent to the page.
    new_period: PeriodNow,
}

impl Running {
    /// Time of the fabric.
    fn now(&self) -> units::Instant {
        self.fabric.now()
    }

    /// When the first phase began, on the fabric's clock; 0 before.
    fn start(&self) -> units::Instant {
        self.phases.first().map_or(units::Instant::ZERO, |first| first.start)
    }
}

impl<'a> Emulation<'a> {
    fn with_hosts(mut self) -> Result<Wall<'a>, RunError> {
        say!("starting {} hosts ...", self.network.scenario.host_count());
        let mut command = python::module_of_home(self.home, "live.agent", PYTHON.as_ref());
        let cpus = CpuPlan::new();
        if let Some(mask) = cpus.host_mask() {
            command.args(["--receive-cpus", &mask]);
        }
        // What a process does in the kernel may not be interruptible for longer than a slot.
        // SAFETY: one async-signal-safe system call between fork and exec.
        unsafe {
            command.pre_exec(move || {
                cpus.avoid_fabric();
                Ok(())
            });
        }
        // What the agent leaves when it is killed goes with the run.
        command.env("TMPDIR", self.directory).env(MARK, self.directory);
        isolate::in_new_network(&mut command);
        let mut hosts = JsonChild::spawn(HOSTS, command, self.sender.clone(), Heard::Hosts)?;
        let resolved = Resolved::of(self.network, &self.network.empty_fabric());
        hosts.send(&serde_json::to_value(&resolved)?)?;
        let ready = self.await_event(HOSTS, "ready")?;
        let namespace = File::open(format!("/proc/{}/ns/net", hosts.id()))?;
        let access = Access::open(&ready["ports"], Some(namespace))?;
        let running = self.start(access, Some(hosts))?;
        Ok(Wall::new(self, running))
    }

    fn listen_to_commands(&self) -> io::Result<()> {
        let (fibres, sender) = (self.network.fibres(), self.sender.clone());
        let interrupts = self.args.until_input_ends.then(|| self.interrupts.clone());
        let listen = move || {
            let mut input = io::stdin().lock();
            let parse = |line: &[u8]| FibreCommand::parse(line, &fibres);
            commands::read(&mut input, parse, |command| {
                sender.send(Heard::Command(command)).is_ok()
            });
            if let Some(interrupts) = interrupts {
                let _ = io::copy(&mut input, &mut io::sink());
                interrupts.add();
            }
        };
        thread::Builder::new().name("commands".into()).spawn(listen).map(drop)
    }

    fn attached(mut self, list: &[Attachment]) -> Result<Wall<'a>, RunError> {
        let access = Access::open(&json!(list), None)?;
        let probed = list
            .iter()
            .filter_map(|entry| Some((entry.interface.clone(), entry.probe?)));
        let probed = probed.collect();
        let mut running = self.start(access, None)?;
        self.begin(&mut running);
        self.tunnels = Tunnels::measure(&probed).map_err(|error| format!("--attach: probe: {error}"))?;
        say!("{}", json!({"event": "ready"}));
        self.listen_to_commands()?;
        Ok(Wall::new(self, running))
    }

    /// Says at once and in the report which interfaces went, or were made anew. Those of the run's own hosts must not.
    fn tell_of_interfaces(&mut self, running: &Running) {
        let kept = match running.hosts {
            Some(_) => &mut self.failures,
            None => &mut self.notes,
        };
        for text in running.fabric.news() {
            // Whoever reads this may have gone: the run goes on.
            let _ = writeln!(io::stderr(), "slotwise emulate: {text}");
            if kept.len() < MOST_NOTES {
                let at_s = running.now().since_start().seconds();
                kept.push(format!("at {at_s:.1} s: {text}"));
            }
        }
    }

    /// A phase begins; with the first one, lateness is measured.
    fn begin(&mut self, running: &mut Running) {
        running.fabric.begin();
        running.phases.push(PhaseRun {
            start: running.now(),
            ..PhaseRun::default()
        });
        if let Some(cpu) = CpuPlan::new().fabric_cpu()
            && self.neighbours.is_none()
        {
            self.neighbours = Some(Neighbours::look(cpu, self.view.take()));
        }
    }
}
