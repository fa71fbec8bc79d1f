// SPDX-License-Identifier: Apache-2.0
//! `slotwise simulate`: a scenario in virtual time, with the same controller in lock step. Needs no root; the same seed gives
//! the same report and the same captures.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use slotwise_control::choices::Choices;
use slotwise_control::controller;
use slotwise_control::home::Home;
use slotwise_control::lockstep::{self, Session};
use slotwise_control::processes::Earlier;
use slotwise_kinds::{FlowResult, FrameRecord, HostMode, World, WorldOptions};
use slotwise_observe::events::Events;
use slotwise_observe::live::{LiveView, Snapshot};
use slotwise_observe::news::Newsroom;
use slotwise_observe::outputs;
use slotwise_observe::progress::Progress;
use slotwise_observe::recorders::routed::{FlowTotals, RoutedRecorder};
use slotwise_observe::report::{Moment, Report};
use slotwise_observe::series::{self, PeriodNow};
use slotwise_observe::unfinished::flow_bytes;
use slotwise_observe::{Recording, columns};
use slotwise_scenario::{FlowGroup, Scenario, Source, TrafficKind};
use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::commands::FibreCommand;
use crate::measured::Recorders;
use crate::run::{Gathered, PhaseRun, RunArgs, check_free, drops, first_light, invariants, poll_frame, report};
use crate::view::until_interrupted;
use crate::web::Watch;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::say;

/// Arguments of `simulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Write per-period metrics as Parquet files into DIR
    ///
    /// Tables of queues, wavelengths, switches, links and flows, as the network has them (docs/columns.md).
    #[arg(long, value_name = "DIR")]
    columns: Option<PathBuf>,
    /// Sampling period of a star, in TDM frames (default: 10)
    ///
    /// Needs --columns. Other networks, and flows over the whole run, are sampled every sample_ms of the scenario.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample_frames: Option<u32>,
}

const SAMPLE_FRAMES: u32 = 10;

/// The name in reports.
const COMMAND: &str = "simulate";

/// How often the live view is fed, in frames.
const VIEW_FRAMES: u64 = 100;

/// Runs a scenario. True if all was well. Interrupted, or left by its controller, it still says what it did up to there.
pub fn simulate(args: &SimulateArgs) -> Result<bool, RunError> {
    let run = &args.run;
    let network = run.load()?;
    if args.sample_frames.is_some() {
        check_sample_frames(&network.scenario, args.columns.is_some())?;
    }
    let home = Home::find()?;
    // Several runs may take place at once.
    let addresses = run.addresses((0, 0));
    check_free(addresses.rest, "controller (REST)", "--rest-port")?;
    check_free(addresses.p4runtime, "engine (P4Runtime)", "--p4runtime-port")?;
    run.check_outputs()?;
    if let Some(directory) = &args.columns {
        outputs::check_directory("--columns", directory)?;
    }
    let interrupts = Interrupts::listen()?;
    if run.until_input_ends {
        interrupts.listen_to_input()?;
    }
    let (fibre_sender, fibres) = channel();
    let watch = Watch::start(&run.web, COMMAND, &network, (true, false), fibre_sender)?;
    let mut events = run.events(COMMAND, &network.scenario)?;
    let fabric = network.fabric(WorldOptions {
        seed: network.scenario.seed,
        host_mode: HostMode::Simulated,
        captures: run.captures(&network)?,
        frame_records: true,
    });
    let mut plan = network.plan(&fabric);
    plan.controller.log_level = run.log_level();
    let programs = controller::programs(&home, &plan.controller.programs)?;
    let session = Session::start(&home, (fabric, plan), addresses, Stdio::inherit(), &interrupts)?;
    say!("controller: REST API at http://{}/slotwise/v1/", session.rest);
    let spectators = Spectators {
        view: LiveView::new(),
        news: Newsroom::new(watch.is_some()),
        events: &mut events,
        watch,
        fibres,
    };
    let (report, watch) = run_network(args, &network.scenario, session, programs, &interrupts, spectators)?;
    let is_well = run.finish(&home, &report, &mut events);
    if let Some(watch) = watch.filter(|_| interrupts.count() == 0) {
        watch.end(&report);
        until_interrupted(&interrupts);
    }
    Ok(is_well)
}

/// Refuses what would be ignored; says what has other periods.
fn check_sample_frames(scenario: &Scenario, has_columns: bool) -> Result<(), String> {
    if !scenario.has_star() {
        return Err("--sample-frames: this scenario has no star; expected sample_ms in the scenario".to_owned());
    }
    if !has_columns {
        return Err("--sample-frames: no output; expected --columns too".to_owned());
    }
    if scenario.has_groups() {
        let sample_ms = scenario.routed.sample_ms;
        say!(
            "warning: --sample-frames applies to the star; flows over the whole run are sampled every {sample_ms} ms (sample_ms)"
        );
    }
    Ok(())
}

/// Who looks at a run, and may cut its fibres.
struct Spectators<'a> {
    view: LiveView,
    news: Newsroom,
    events: &'a mut Events,
    watch: Option<Watch>,
    fibres: Receiver<FibreCommand>,
}

/// Digests of the programs in use, by name.
type Programs = BTreeMap<&'static str, String>;

/// A session that has ended, whole or not.
struct Ended {
    fabric: World,
    choices: Choices,
    /// Statistics of the controller process at the end.
    controller: Value,
    /// Statistics of the processes before it.
    earlier: Earlier,
    failures: Vec<String>,
    notes: Vec<String>,
}

/// Ends a session; `ended` says whether it came to its end.
fn conclude(run: &RunArgs, mut session: Session, ended: Result<bool, RunError>) -> Ended {
    let mut notes = run.finish_captures(&mut session.fabric);
    let choices = std::mem::take(&mut session.choices);
    notes.extend(choices.overdue(session.since_start()));
    let mut failures = Vec::new();
    let statistics = ended.and_then(|is_whole| {
        failures.extend((!is_whole).then(|| "interrupted".to_owned()));
        session.statistics()
    });
    let mut earlier = session.take_earlier();
    let (controller, fabric) = match statistics {
        Ok(statistics) => {
            let statistics = statistics.or_else(|| {
                notes.push("controller: down at the end of the run because of a fault".to_owned());
                earlier.take_last()
            });
            let (fabric, not_ended) = session.stop();
            notes.extend(not_ended);
            (statistics.map_or(Value::Null, deterministic), fabric)
        }
        Err(error) => {
            failures.push(error.to_string());
            failures.dedup();
            (Value::Null, session.abandon())
        }
    };
    Ended {
        fabric,
        choices,
        controller,
        earlier,
        failures,
        notes,
    }
}

fn run_network(
    args: &SimulateArgs,
    scenario: &Scenario,
    session: Session,
    programs: Programs,
    interrupts: &Interrupts,
    spectators: Spectators<'_>,
) -> Result<(Report, Option<Watch>), RunError> {
    let mut simulation = Simulation {
        scenario,
        recorders: Recorders::new(
            scenario,
            &session.fabric,
            args.columns
                .as_ref()
                .map(|_| args.sample_frames.unwrap_or(SAMPLE_FRAMES)),
        ),
        session,
        spectators,
        progress: Progress::new(scenario),
        frames: Vec::new(),
        moments: Vec::new(),
        phase_bytes: BTreeMap::new(),
    };
    let ended = simulation.run(interrupts);
    let Simulation {
        session,
        recorders,
        spectators,
        frames,
        moments,
        phase_bytes,
        ..
    } = simulation;
    let Ended {
        fabric,
        choices,
        controller,
        earlier,
        mut failures,
        notes,
    } = conclude(&args.run, session, ended);
    failures.extend(lockstep::wrong_bytes(&fabric));
    let mut phases = phases(scenario, &fabric, &phase_bytes);
    let mut after_faults = Vec::new();
    if let Some(routed) = &recorders.routed {
        failures.extend(strange_bytes(routed));
        after_faults = routed.after_faults().to_vec();
        let whole = scenario.epoch()..fabric.now();
        if let Some(last) = phases.last_mut() {
            last.flows
                .extend(whole_flows(scenario, |_| true, routed.flows(), &whole));
        }
    }
    let recording = recorders.finish();
    if let Some(directory) = &args.columns {
        failures.extend(write_columns(directory, &recording).err());
    }
    let gathered = Gathered {
        command: COMMAND,
        phases,
        frames,
        moments,
        lateness: None,
        switch_answers: None,
        choices,
        programs,
        controller,
        earlier,
        controller_restarts: 0,
        after_faults,
        failures,
        notes,
    };
    Ok((report(scenario, &fabric, gathered, &recording), spectators.watch))
}

/// A run under way.
struct Simulation<'a> {
    scenario: &'a Scenario,
    session: Session,
    recorders: Recorders,
    spectators: Spectators<'a>,
    progress: Progress,
    frames: Vec<FrameRecord>,
    moments: Vec<Moment>,
    /// For phases that are over, what each flow had received by their end, in the order of [`World::flow_results`].
    phase_bytes: BTreeMap<usize, Vec<Bytes>>,
}

impl Simulation<'_> {
    /// Runs to the end; false if it was interrupted before.
    fn run(&mut self, interrupts: &Interrupts) -> Result<bool, RunError> {
        let (start, end) = (self.scenario.epoch(), self.scenario.end());
        let (step, view) = match self.scenario.has_star() {
            true => (self.scenario.frame.length(), VIEW_FRAMES * self.scenario.frame.length()),
            false => (Duration::from_ms(self.scenario.routed.sample_ms), Duration::ZERO),
        };
        let mut next_view = Instant::ZERO + view;
        while self.session.fabric.now() < end {
            if interrupts.count() > 0 {
                return Ok(false);
            }
            let now = self.session.fabric.now();
            let ends = (0..self.scenario.phases.len()).map(|phase| (phase, self.scenario.phase_times(phase).1));
            let next_end = ends.filter(|(_, at)| *at > now).min_by_key(|(_, at)| *at);
            let until = next_end.map_or(end, |(_, at)| at).min(now + step);
            let advanced = self.recorders.run_until(&mut self.session, until);
            if let Some((phase, _)) = next_end.filter(|(_, at)| *at == self.session.fabric.now()) {
                let results = self.session.fabric.flow_results();
                let received = results.iter().map(|result| result.received_bytes);
                self.phase_bytes.insert(phase, received.collect());
            }
            while let Some(record) = poll_frame(&mut self.session.fabric) {
                self.progress.add(&record);
                if let Some(watch) = &mut self.spectators.watch {
                    watch.add(&record);
                }
                self.frames.push(record);
            }
            self.session.listen();
            advanced?;
            self.session.answer()?;
            let now = self.session.fabric.now();
            if now >= next_view || now == end {
                next_view = now + view;
                let now = self.look((start, end), self.last_period());
                let now = now.with(&mut self.progress);
                self.hear(start);
                let spectators = &mut self.spectators;
                let news = spectators.news.recent();
                spectators.view.show(&now, news, || drops(&self.session.fabric));
                self.spectators.events.snapshot(&now);
                self.moments.push(now.moment(start));
            }
            self.show_page((start, end));
        }
        Ok(true)
    }

    fn last_period(&self) -> PeriodNow {
        let routed = self.recorders.routed.as_ref();
        routed.map_or_else(PeriodNow::default, series::last_period)
    }

    /// What is to be seen now but for what was counted since the last look.
    fn look(&self, (start, end): (Instant, Instant), period: PeriodNow) -> Snapshot {
        let fabric = &self.session.fabric;
        let now = fabric.now();
        let phases = 0..self.scenario.phases.len();
        let begun = phases.rev().find(|&index| self.scenario.phase_times(index).0 < now);
        Snapshot {
            now: now - start,
            end: end - start,
            phase_index: begun.unwrap_or(0),
            tables: period.tables,
            sessions: period.sessions,
            violations: invariants(fabric).total(),
            first_light: first_light(fabric),
            ..Snapshot::default()
        }
    }

    /// An update for the page, if there is one and it is due; what its readers want of fibres is done.
    fn show_page(&mut self, (start, end): (Instant, Instant)) {
        if !self.spectators.watch.as_ref().is_some_and(Watch::is_due) {
            return;
        }
        let now = self.session.fabric.now();
        while let Ok(command) = self.spectators.fibres.try_recv() {
            command.fibre.set_up(&mut self.session.fabric, command.is_up);
            self.spectators.news.fibre(&command.name, command.is_up, now - start);
        }
        self.hear(start);
        let mut look = self.look((start, end), self.last_period());
        look.drops = drops(&self.session.fabric);
        let Some(watch) = &mut self.spectators.watch else {
            return;
        };
        watch.reach(Some(&self.session.rest));
        let news = self.spectators.news.unsent();
        watch.update(news, |progress| look.with(progress));
    }

    fn hear(&mut self, start: Instant) {
        let session = &self.session;
        self.spectators
            .news
            .hear(&session.choices.changes, session.fabric.faults(), start);
    }
}

/// Why they cannot be written, with the path: then those of a run before stay, all of them.
fn write_columns(directory: &Path, recording: &Recording) -> Result<(), String> {
    let tables = recording.tables().filter(|(_, table)| !table.names.is_empty());
    outputs::write_files(tables.map(|(name, table)| {
        let write = move |file: &mut BufWriter<&File>| columns::write(table, file).map_err(io::Error::other);
        (directory.join(format!("{}.parquet", name.name())), write)
    }))
}

/// The controller's statistics without what depends on the machine.
fn deterministic(mut statistics: Value) -> Value {
    if let Some(fields) = statistics.as_object_mut() {
        fields.remove("scheduling_ns");
    }
    statistics
}

/// Phases up to now.
fn phases(scenario: &Scenario, fabric: &World, phase_bytes: &BTreeMap<usize, Vec<Bytes>>) -> Vec<PhaseRun> {
    let results = fabric.flow_results();
    (0..scenario.phases.len())
        .filter(|&index| scenario.phase_times(index).0 < fabric.now())
        .map(|index| {
            let (start, end) = scenario.phase_times(index);
            let end = end.min(fabric.now());
            PhaseRun {
                start,
                end,
                flows: phase_flows(&results, index, phase_bytes.get(&index), &(start..end)),
                files: Vec::new(),
                lost_flows: 0,
            }
        })
        .collect()
}

/// What became of the flows of a phase, of all that there are; `by_its_end` is what each of all had received then, if it is over.
pub fn phase_flows(
    results: &[FlowResult],
    phase: usize,
    by_its_end: Option<&Vec<Bytes>>,
    during: &Range<Instant>,
) -> Vec<Value> {
    let flows = results.iter().enumerate();
    let flows = flows.filter(|(_, result)| result.flow.phase == phase);
    let flows = flows.map(|(place, result)| {
        let received = result.received_bytes;
        let phase_bytes = by_its_end.map_or(received, |received| received[place]);
        flow(result, phase_bytes, during)
    });
    flows.collect()
}

/// What became of a flow, of which `phase_bytes` came before its phase ended: the others waited in queues.
fn flow(result: &FlowResult, phase_bytes: Bytes, during: &Range<Instant>) -> Value {
    let delay = result.delay.as_ref();
    let is_sized = matches!(result.flow.kind, TrafficKind::File { .. });
    let start = result.start.filter(|_| is_sized);
    let own = own_time(start, result.completed, during);
    json!({
        "kind": result.flow.kind.name(),
        "transport": result.flow.kind.transport().map(slotwise_scenario::Transport::name),
        "entry": result.flow.entry,
        "from": result.flow.from.to_string(),
        "to": result.flow.to.to_string(),
        "offered_bps": result.offered.map(Rate::bps),
        "sent_packets": result.sent_packets,
        "received_packets": result.received_packets,
        "bytes": result.received_bytes.get(),
        "phase_bytes": phase_bytes.get(),
        "seconds": own.seconds(),
        "goodput_bps": phase_bytes.get() as f64 * 8e9 / own.ns() as f64,
        "delay_ns": delay.map(|delay| json!({"min": delay.min.ns(), "mean": delay.mean.ns(), "p99": delay.p99.ns(), "max": delay.max.ns()})),
        "completed_ns": result.completed.map(Instant::ns),
        "pages": result.pages,
        "stream": result.stream.map(|stream| json!({
            "retransmissions": stream.retransmissions,
            "timeouts": stream.timeouts,
            "srtt_ns": stream.srtt.map(Duration::ns),
            "window_bytes": stream.window.get(),
        })),
    })
}

/// The time of which a flow's goodput is: of a flow of a size from its start until all had arrived, or its time was over; of others
/// all of it.
fn own_time(sized_start: Option<Instant>, completed: Option<Instant>, all: &Range<Instant>) -> Duration {
    let end = completed.unwrap_or(all.end);
    let start = sized_start.unwrap_or(all.start);
    end.saturating_since(start).max(Duration::from_ns(1))
}

/// That bytes of a flow arrived that are not what was sent, if any did.
pub fn strange_bytes(recorder: &RoutedRecorder) -> Option<String> {
    let (flow, bytes) = recorder.wrong()?;
    Some(format!("flow {flow}: {} corrupted bytes received", bytes.get()))
}

/// Flows over the whole run, as phases have theirs: those of groups that `is_played`, of which the totals are. Where there are none,
/// since somebody else makes all traffic, nobody has played any.
pub fn whole_flows(
    scenario: &Scenario,
    is_played: impl Fn(&FlowGroup) -> bool,
    totals: &[FlowTotals],
    whole: &Range<Instant>,
) -> Vec<Value> {
    let of_group = |(entry, group): (usize, &FlowGroup)| {
        let ends = scenario
            .host_names(group.from)
            .into_iter()
            .zip(scenario.host_names(group.to));
        let (kind, transport) = match group.source {
            Source::Stream { .. } => ("tcp", Some(group.transport.name())),
            Source::Udp { .. } => ("udp", None),
            Source::Gtp(_) => ("gtp", Some("gtp")),
            Source::Web { .. } => ("web", Some(group.transport.name())),
        };
        // Each two hosts have so many flows, one after another.
        let ends = ends.flat_map(|ends| std::iter::repeat_n(ends, group.each as usize));
        ends.map(
            move |(from, to)| json!({"kind": kind, "transport": transport, "entry": entry, "from": from, "to": to}),
        )
        .collect::<Vec<Value>>()
    };
    let groups = scenario.routed.flows.iter().enumerate();
    let played = groups.filter(|(_, group)| is_played(group));
    let mut flows: Vec<Value> = played.flat_map(of_group).collect();
    flows.truncate(totals.len());
    for (flow, total) in flows.iter_mut().zip(totals) {
        let used = &total.used;
        let is_sized = flow_bytes(scenario, flow).is_some();
        let own = own_time(is_sized.then_some(used.start), used.completed, whole);
        flow["name"] = json!(total.name);
        flow["received_packets"] = json!(used.packets);
        flow["bytes"] = json!(used.delivered_bytes.get());
        flow["seconds"] = json!(own.seconds());
        flow["goodput_bps"] = json!(used.delivered_bytes.get() as f64 * 8e9 / own.ns() as f64);
        flow["completed_ns"] = json!(used.completed.map(Instant::ns));
        flow["delay_ns"] = match used.packets {
            0 => Value::Null,
            packets => json!({"mean": used.delay_sum.ns() as f64 / packets as f64, "max": used.delay_max.ns()}),
        };
        if flow["transport"].is_string() {
            flow["stream"] = json!({
                "retransmissions": used.retransmissions,
                "timeouts": used.timeouts,
                "srtt_ns": used.srtt.ns(),
                "window_bytes": used.window.get(),
            });
        }
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

    #[test]
    fn rows_by_frames_are_refused_where_there_are_none() {
        let check =
            |text: &[u8], has_columns| check_sample_frames(&Network::parse(text).unwrap().scenario, has_columns);
        let star = include_bytes!("../../../../topologies/star4.yaml");
        assert_eq!(check(star, true), Ok(()));
        assert!(
            check(star, false)
                .unwrap_err()
                .starts_with("--sample-frames: no output")
        );
        assert_eq!(check(include_bytes!("../../../../topologies/mixed.yaml"), true), Ok(()));
        let ring = include_bytes!("../../../../topologies/ring8.yaml");
        assert!(check(ring, true).unwrap_err().contains("expected sample_ms"));
    }
}
