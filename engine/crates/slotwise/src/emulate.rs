// SPDX-License-Identifier: Apache-2.0
//! `slotwise emulate`: a scenario on the wall clock, with Mininet hosts that run the unmodified Linux TCP stack.
//!
//! Process 1 of a PID namespace holds the fabric and the P4Runtime server; the host agent and its interfaces live in a network
//! namespace of their own; the controller is a process beside them. See [`crate::isolate`].

mod start;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slotwise_fabric::FrameRecord;
use slotwise_netio::CpuPlan;
use slotwise_p4runtime::Server;
use slotwise_scenario::{Phase, Scenario};

use crate::attach::{self, Attachment};
use crate::bmv2::{self, Bmv2};
use crate::child::{ChildEvent, JsonChild};
use crate::choices::Choices;
use crate::commands::{self, CommandError, FibreCommand};
use crate::controller::{self, Addresses};
use crate::home::Home;
use crate::isolate;
use crate::live::{LiveView, Snapshot};
use crate::machine::Machine;
use crate::neighbours::{self, Neighbours};
use crate::progress::Progress;
use crate::realtime::{Access, Outcome, Realtime};
use crate::run::{Gathered, PhaseRun, RunArgs, RunError, check_free, report};
use crate::run_directory::{MARK, RunDirectory};

/// Time for the hosts or the controller to come up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for them to go by themselves. What they have made goes with their namespaces.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// P4Runtime and REST, unless others are asked for.
const PORTS: (u16, u16) = (9559, 8181);
const NS_PER_MS: u64 = 1_000_000;
const VIEW_PERIOD: Duration = Duration::from_millis(200);
/// A controller that ends more often than this is not started again.
const MAX_RESTARTS: u32 = 5;
/// The Python that Debian's Mininet belongs to.
const PYTHON: &str = "/usr/bin/python3";
/// What TCP of this kernel has.
const CONGESTION_CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Arguments of `emulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct EmulateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Join interfaces that exist instead of starting hosts: JSON list of {"edge", "port", "interface"}. Runs until SIGINT.
    #[arg(long, value_name = "FILE")]
    attach: Option<PathBuf>,
    /// Start no controller, but wait until another one (ONOS: docs/onos.md) has brought a schedule in force.
    #[arg(long)]
    external_controller: bool,
    /// What runs the P4 programs.
    #[arg(long, value_enum, default_value_t = Target::Engine)]
    target: Target,
    /// The simple_switch_grpc of --target bmv2, if it is not on the PATH. It listens from --p4runtime-port on.
    #[arg(long, value_name = "PATH")]
    bmv2: Option<PathBuf>,
    /// Move no kernel threads and interrupts off the fabric's CPU; by default they are put back when the run ends.
    #[arg(long)]
    leave_machine: bool,
}

impl EmulateArgs {
    /// Whether nobody else may call the engine's P4Runtime server: others would have to ask for it, by its port or by being the
    /// controller.
    fn is_for_its_own_controller(&self) -> bool {
        self.target == Target::Engine && !self.external_controller && self.run.p4runtime_port.is_none()
    }
}

/// What runs the P4 programs of a live star.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// The engine, inside the fabric
    Engine,
    /// Stock BMv2, one simple_switch_grpc a switch; slots of 10 ms or more
    Bmv2,
}

/// What the main loop hears.
enum Heard {
    Hosts(ChildEvent),
    Controller(ChildEvent),
    Command(Result<FibreCommand, CommandError>),
    Signal,
}

/// Runs a scenario. True if all was well. Call with one thread.
pub fn emulate(args: &EmulateArgs) -> Result<Option<bool>, RunError> {
    let scenario = args.run.load()?;
    let kernel =
        std::fs::read_to_string(CONGESTION_CONTROLS).map_err(|error| format!("{CONGESTION_CONTROLS}: {error}"))?;
    let kernel: Vec<&str> = kernel.split_whitespace().collect();
    if let Some(not_live) = scenario.not_live(&kernel) {
        return Err(format!("{}: {not_live}", args.run.scenario.display()).into());
    }
    let home = Home::find()?;
    let mut addresses = args.run.addresses(PORTS);
    if args.is_for_its_own_controller() {
        addresses.p4runtime.set_port(0);
        addresses.token = Some(controller::fresh_token()?);
    }
    args.run.check_outputs()?;
    let attachments = match &args.attach {
        Some(file) => Some(attach::read(file, &scenario).map_err(|error| format!("{}: {error}", file.display()))?),
        None => None,
    };
    if args.external_controller && !scenario.scheduler_changes.is_empty() {
        let place = args.run.scenario.display();
        return Err(
            format!("{place}: /scheduler_changes: somebody else's controller is not told; expected none").into(),
        );
    }
    let mut programs = BTreeMap::new();
    if !args.external_controller {
        home.controller_jar()?;
        programs = controller::programs(&home)?;
        check_free(addresses.rest, "controller (REST)")?;
    }
    let bmv2_program = match args.target {
        Target::Engine => {
            check_free(addresses.p4runtime, "engine (P4Runtime)")?;
            None
        }
        Target::Bmv2 => Some(
            bmv2::check(&scenario, args.bmv2.as_deref(), addresses.p4runtime.port())
                .map_err(|error| format!("{}: {error}", args.run.scenario.display()))?,
        ),
    };
    let _machine;
    let mut view = None;
    if args.attach.is_some() {
        _machine = Machine::prepare(args.leave_machine);
    } else {
        if !isolate::is_inside() {
            return Ok(None);
        }
        Machine::take_over();
        view = neighbours::view();
        isolate::enter()?;
    }
    // What this process's other threads do in the kernel may not be interruptible for longer than a slot.
    CpuPlan::new().avoid_fabric();
    let (sender, heard) = channel();
    listen_to_signals(sender.clone())?;
    let directory = RunDirectory::create()?;
    let mut emulation = Emulation {
        args: &args.run,
        external_controller: args.external_controller,
        scenario: &scenario,
        home: &home,
        addresses,
        rest: None,
        choices: Choices::new(&scenario),
        programs,
        bmv2_program,
        bmv2: None,
        directory: directory.path(),
        sender,
        heard,
        failures: Vec::new(),
        notes: Vec::new(),
        restarts: 0,
        interrupted: false,
        view,
        neighbours: None,
    };
    match attachments {
        Some(list) => emulation.attached(&list),
        None => emulation.with_hosts(),
    }
    .map(Some)
}

/// Prepares the machine for a run, runs it in namespaces of its own, and puts the machine back. Call with one thread.
pub fn outside(args: &EmulateArgs) -> Result<ExitCode, RunError> {
    isolate::check_root()?;
    let _machine = Machine::prepare(args.leave_machine);
    Ok(isolate::run_inside(Machine::environment())?)
}

fn listen_to_signals(sender: Sender<Heard>) -> Result<(), RunError> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(Heard::Signal).is_err() {
                return;
            }
        }
    });
    Ok(())
}

fn listen_to_commands(scenario: Scenario, sender: Sender<Heard>) -> io::Result<()> {
    let listen = move || {
        commands::read(io::stdin().lock(), &scenario, |command| {
            sender.send(Heard::Command(command)).is_ok()
        });
    };
    thread::Builder::new().name("commands".into()).spawn(listen).map(drop)
}

fn obey(running: &Running, command: Result<FibreCommand, CommandError>) {
    let answer = match command {
        Ok(command) => {
            running.fabric.change_link(command.change);
            command.done()
        }
        Err(error) => json!({"event": "error", "message": error.to_string()}),
    };
    // Whoever asked may have gone: the run goes on.
    let _ = writeln!(io::stdout(), "{answer}");
}

struct Emulation<'a> {
    args: &'a RunArgs,
    external_controller: bool,
    scenario: &'a Scenario,
    home: &'a Home,
    /// As asked for.
    addresses: Addresses,
    /// Where the controller's REST server listens, once it is ready.
    rest: Option<SocketAddr>,
    choices: Choices,
    /// Digests of the programs, none if somebody else's controller loads them.
    programs: BTreeMap<&'static str, String>,
    bmv2_program: Option<PathBuf>,
    bmv2: Option<Bmv2>,
    directory: &'a Path,
    sender: Sender<Heard>,
    heard: Receiver<Heard>,
    failures: Vec<String>,
    notes: Vec<String>,
    restarts: u32,
    interrupted: bool,
    /// The machine's processes, for the first look at them.
    view: Option<File>,
    /// Who else was on the fabric's CPU when measuring began.
    neighbours: Option<Neighbours>,
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
    frames: Vec<FrameRecord>,
}

impl Emulation<'_> {
    fn with_hosts(&mut self) -> Result<bool, RunError> {
        println!(
            "starting {} hosts ...",
            self.scenario
                .edges
                .iter()
                .map(|edge| u32::from(edge.hosts))
                .sum::<u32>()
        );
        let mut command = Command::new(PYTHON);
        command
            .args(["-m", "slotwise.hosts", "--scenario"])
            .arg(&self.args.scenario);
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
        command
            .env("PYTHONPATH", self.home.topologies())
            .env("TMPDIR", self.directory)
            .env(MARK, self.directory);
        isolate::in_new_network(&mut command);
        let hosts = JsonChild::spawn("hosts", command, self.sender.clone(), Heard::Hosts)?;
        let ready = self.await_event("hosts", "ready")?;
        let namespace = File::open(format!("/proc/{}/ns/net", hosts.id()))?;
        let access = Access::open(&ready["ports"], Some(namespace))?;
        let mut running = self.start(access, Some(hosts))?;
        let ended = self.run_phases(&mut running);
        self.conclude(running, ended)
    }

    fn attached(&mut self, list: &[Attachment]) -> Result<bool, RunError> {
        let access = Access::open(&json!(list), None)?;
        let mut watch = attach::Watch::new(list);
        let mut running = self.start(access, None)?;
        self.begin(&mut running);
        println!("{}", json!({"event": "ready"}));
        listen_to_commands(self.scenario.clone(), self.sender.clone())?;
        let ended = loop {
            if let Err(error) = self.listen(&mut running, VIEW_PERIOD) {
                break Err(error);
            }
            for lost in watch.lost() {
                eprintln!("slotwise emulate: {lost}");
                let at_s = running.fabric.now_ns() as f64 / 1e9;
                self.notes.push(format!("at {at_s:.1} s of fabric time {lost}"));
            }
            if self.interrupted {
                self.interrupted = false;
                break Ok(());
            }
        };
        self.conclude(running, ended)
    }

    /// Ends a run. What ended it early is told with what it did up to there, unless the fabric itself has gone.
    fn conclude(&mut self, running: Running, ended: Result<(), RunError>) -> Result<bool, RunError> {
        match ended {
            Ok(()) => self.finish(running),
            Err(error) if running.fabric.has_ended() => Err(self.cause(running, error)),
            Err(error) => {
                self.failures.push(error.to_string());
                self.finish(running)
            }
        }
    }

    /// A phase begins; with the first one, lateness is measured.
    fn begin(&mut self, running: &mut Running) {
        running.fabric.begin();
        running.phases.push(PhaseRun {
            start_ns: running.fabric.now_ns(),
            ..PhaseRun::default()
        });
        if let Some(cpu) = CpuPlan::new().fabric_cpu()
            && self.neighbours.is_none()
        {
            self.neighbours = Some(Neighbours::look(cpu, self.view.take()));
        }
    }

    fn run_phases(&mut self, running: &mut Running) -> Result<(), RunError> {
        let mut view = LiveView::new();
        let mut progress = Progress::new(self.scenario);
        let mut next_view = Instant::now() + VIEW_PERIOD;
        for (index, phase) in self.scenario.phases.iter().enumerate() {
            if let Some(hosts) = &mut running.hosts {
                hosts.send(&json!({"command": "phase", "index": index, "duration_ms": phase.duration_ms}))?;
            }
            loop {
                let before = running.frames.len();
                let over = self.listen(running, next_view.saturating_duration_since(Instant::now()))?;
                running.frames[before..].iter().for_each(|record| progress.add(record));
                if self.interrupted {
                    return Ok(());
                }
                if Instant::now() >= next_view {
                    next_view += VIEW_PERIOD;
                    view.show(&self.snapshot(running, &mut progress, index));
                }
                if over {
                    break;
                }
            }
        }
        Ok(())
    }

    fn snapshot(&self, running: &Running, progress: &mut Progress, phase: usize) -> Snapshot {
        let started_ns: Vec<u64> = running.phases.iter().map(|phase| phase.start_ns).collect();
        let (now_ns, end_ns) = schedule_ns(self.scenario, &started_ns, running.fabric.now_ns());
        Snapshot {
            violations: running.fabric.violations(),
            lateness_p99_ns: Some(running.fabric.lateness_p99_ns()),
            ..progress.snapshot(now_ns, end_ns, phase)
        }
    }

    /// Handles what is heard until `patience` is over. True when the running phase has ended.
    fn listen(&mut self, running: &mut Running, patience: Duration) -> Result<bool, RunError> {
        let until_choice = self.tell_choices(running);
        let heard = self
            .heard
            .recv_timeout(until_choice.map_or(patience, |until| patience.min(until)));
        if running.phases.is_empty() {
            running.fabric.frames().for_each(drop);
        } else {
            running.frames.extend(running.fabric.frames());
        }
        self.check_switches()?;
        if running.fabric.has_ended() {
            return Err("the fabric's thread has ended".into());
        }
        match heard {
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err("nobody is left to listen to".into()),
            Ok(Heard::Signal) => {
                self.interrupted = true;
                Ok(false)
            }
            Ok(Heard::Command(command)) => {
                obey(running, command);
                Ok(false)
            }
            Ok(Heard::Controller(ChildEvent::Line(event))) => {
                self.controller_event(running.fabric.now_ns(), &event)?;
                Ok(false)
            }
            Ok(Heard::Controller(ChildEvent::Closed)) => {
                self.restart_controller(running)?;
                Ok(false)
            }
            Ok(Heard::Hosts(ChildEvent::Line(event))) if event["event"] == "vanished" => {
                Err(format!("host {} has vanished", event["host"].as_str().unwrap_or("?")).into())
            }
            Ok(Heard::Hosts(ChildEvent::Line(event))) => Ok(self.host_event(running, &event)),
            Ok(Heard::Hosts(ChildEvent::Closed)) => Err("the host agent has ended".into()),
        }
    }

    /// Tells the controller which scheduler is due; gives the time until the next one is.
    fn tell_choices(&mut self, running: &Running) -> Option<Duration> {
        let (rest, first) = (self.rest?, running.phases.first()?);
        let now_ns = running.fabric.now_ns();
        let since_ns = now_ns - first.start_ns;
        if let Err(error) = self.choices.tell_due(since_ns, now_ns, rest) {
            self.failures.push(error.to_string());
        }
        let next_ns = self.choices.next_ns()?;
        Some(Duration::from_nanos(next_ns.saturating_sub(since_ns)))
    }

    fn check_switches(&mut self) -> Result<(), RunError> {
        self.bmv2.as_mut().map_or(Ok(()), |bmv2| Ok(bmv2.check()?))
    }

    /// Why the fabric's thread has ended.
    fn cause(&mut self, running: Running, error: RunError) -> RunError {
        let reason = running.fabric.stop().err();
        // A process that ends takes the thread with it.
        let process = self.check_switches().err();
        process.or(reason.map(RunError::from)).unwrap_or(error)
    }

    /// The controller has ended although nobody asked it to: traffic goes on with the last schedule, and a new one takes over.
    fn restart_controller(&mut self, running: &mut Running) -> Result<(), RunError> {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            return Err(format!("the controller has ended {} times", self.restarts).into());
        }
        self.notes.push(format!(
            "the controller ended by itself at {:.1} s and was started again",
            running.fabric.now_ns() as f64 / 1e9
        ));
        self.rest = None;
        running.controller = Some(self.spawn_controller()?);
        Ok(())
    }

    fn controller_event(&mut self, now_ns: u64, event: &Value) -> Result<(), RunError> {
        self.choices.heard(now_ns, event);
        // One that was started again may listen elsewhere.
        if event["event"] == "ready" {
            self.rest = Some(controller::rest(event)?);
        }
        Ok(())
    }

    /// True when a phase has ended.
    fn host_event(&mut self, running: &mut Running, event: &Value) -> bool {
        match event["event"].as_str() {
            Some("phase_started") => self.begin(running),
            Some("phase_done") => {
                if let Some(phase) = running.phases.last_mut() {
                    phase.end_ns = running.fabric.now_ns();
                }
                return true;
            }
            Some(kind @ ("flow" | "file")) => {
                if let Some(phase) = running.phases.last_mut() {
                    let mut entry = event.clone();
                    if let Some(fields) = entry.as_object_mut() {
                        fields.remove("event");
                    }
                    if kind == "flow" {
                        phase.flows.push(entry)
                    } else {
                        phase.files.push(entry)
                    }
                }
                if kind == "file" && event["intact"] != true {
                    self.failures.push(format!(
                        "the file from {} to {} did not arrive intact",
                        event["from"], event["to"]
                    ));
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

    fn finish(&mut self, mut running: Running) -> Result<bool, RunError> {
        if self.interrupted {
            self.failures.push("interrupted".into());
        }
        let statistics = self.rest.map_or(Value::Null, controller::statistics);
        let now_ns = running.fabric.now_ns();
        let seen = self.neighbours.as_ref().map(Neighbours::since);
        if let Some(hosts) = &mut running.hosts {
            hosts.stop(STOP_PATIENCE)?;
        }
        if let Some(controller) = &mut running.controller {
            controller.stop(STOP_PATIENCE)?;
        }
        let (outcome, rest) = running.fabric.stop()?;
        let Outcome {
            mut fabric,
            mut lateness,
            refused,
            switch_answers,
            not_realtime,
        } = outcome;
        if let Some((neighbours, stolen_ns)) = seen {
            lateness.cpu = CpuPlan::new().fabric_cpu();
            lateness.stolen_ns = stolen_ns;
            lateness.neighbours = neighbours;
        }
        if let Some(bmv2) = &self.bmv2
            && let Err(error) = bmv2.read_drops(self.home, &mut fabric)
        {
            self.failures.push(error.to_string());
        }
        self.notes.extend(self.args.finish_captures(&mut fabric));
        running.frames.extend(rest);
        running.frames.retain(|record| record.start_ns <= now_ns);
        if let Some(phase) = running.phases.last_mut().filter(|phase| phase.end_ns == 0) {
            phase.end_ns = now_ns;
        }
        if refused > 0 {
            self.notes
                .push(format!("the kernel did not take {refused} frames for hosts"));
        }
        if let Some(error) = not_realtime {
            self.notes
                .push(format!("no real-time priority for the fabric: {error}"));
        }
        let gathered = Gathered {
            command: "emulate",
            phases: std::mem::take(&mut running.phases),
            frames: std::mem::take(&mut running.frames),
            lateness: Some(lateness),
            switch_answers,
            choices: std::mem::take(&mut self.choices),
            programs: std::mem::take(&mut self.programs),
            controller: statistics,
            controller_restarts: self.restarts,
            failures: std::mem::take(&mut self.failures),
            notes: std::mem::take(&mut self.notes),
        };
        Ok(self.args.finish(report(self.scenario, &fabric, gathered)))
    }
}

/// How long a run has lasted and will have lasted at its end, as things stand at `now_ns`, if its first phases started at `started_ns`.
/// A phase goes on until its files have arrived.
fn schedule_ns(scenario: &Scenario, started_ns: &[u64], now_ns: u64) -> (u64, u64) {
    let planned_ns = |phases: &[Phase]| phases.iter().map(|phase| phase.duration_ms * NS_PER_MS).sum::<u64>();
    let (Some(first_ns), Some(last_ns)) = (started_ns.first(), started_ns.last()) else {
        return (0, planned_ns(&scenario.phases));
    };
    let (begun, to_come) = scenario.phases.split_at(started_ns.len());
    let this_ns = planned_ns(&begun[begun.len() - 1..]).max(now_ns - last_ns);
    (now_ns - first_ns, last_ns - first_ns + this_ns + planned_ns(to_come))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_never_lasts_longer_than_it_is_said_to() {
        const S: u64 = 1_000_000_000;
        // 6, 6 and 10 s.
        let star = Scenario::parse(include_bytes!("../../../../topologies/star4.yaml")).unwrap();
        let at = |started_s: &[u64], now_s: u64| {
            let started_ns: Vec<u64> = started_s.iter().map(|s| s * S).collect();
            let (now_ns, end_ns) = schedule_ns(&star, &started_ns, now_s * S);
            (now_ns / S, end_ns / S)
        };
        assert_eq!(at(&[], 3), (0, 22));
        assert_eq!(at(&[4], 7), (3, 22));
        assert_eq!(at(&[4, 11], 12), (8, 23), "the first took 7 s");
        assert_eq!(at(&[4, 11, 18], 30), (26, 26), "the last takes longer than planned");
    }
}
