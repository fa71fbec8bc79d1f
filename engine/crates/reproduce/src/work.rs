// SPDX-License-Identifier: Apache-2.0
//! Runs an experiment on several threads and writes its report. What is done already is not done again.
//!
//! ```text
//! OUT/{full,quick}/runs/RUN/SEED/TABLE.parquet, done.json   one directory a run and seed
//! OUT/{full,quick}/plots/ENTRY.svg, facts.json, report.html
//! ```
//!
//! Every file but the progress shown depends on the experiment, P4 programs, controller and this program only, to the byte,
//! whatever the number of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::json;
use slotwise_observe::record::Recording;
use slotwise_observe::stats::{self, Estimate};
use slotwise_scenario::{ScenarioError, ScenarioFile, read_other};

use crate::count::{self, Counts};
use crate::experiment::{Basis, Entry, Experiment, ExperimentError, Quick};
use crate::fact::{self, Judged, Outcome, judge, measure};
use crate::html::{self, About, Data, Shown};
use crate::job::{Job, Versions, beside, file_error};
use crate::plot::Line;
use crate::quantities::Quantities;
use crate::setup::{Runner, RunnerError, Setup};
use crate::sweep::Measured;
use crate::{job, plot};

/// Part of its time to which `quick` shortens a run.
const QUICK_SCALE: f64 = 0.02;

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of the experiment: `experiment.yaml` and scenarios.
    pub directory: PathBuf,
    /// Where results go: into `full` or `quick` in it.
    pub out: PathBuf,
    /// Entries to show; empty: all.
    pub only: Vec<String>,
    /// Less of all, as the experiment says, or every run for a fiftieth of its time; one seed each.
    pub quick: bool,
    /// Threads, at least one.
    pub jobs: usize,
}

impl Options {
    /// What the experiment has for it, when it is to be quick.
    fn quick<'e>(&self, experiment: &'e Experiment) -> Option<&'e Quick> {
        experiment.quick.as_ref().filter(|_| self.quick)
    }

    /// Where the results of these options go. Shortened runs are kept apart from full ones.
    pub fn results(&self) -> PathBuf {
        self.out.join(if self.quick { "quick" } else { "full" })
    }
}

/// Why an experiment could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// File.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The experiment.
    #[error("{path}: {source}")]
    Experiment {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        source: ExperimentError,
    },
    /// A run.
    #[error("run '{run}', seed {seed}: {source}")]
    Run {
        /// Its name.
        run: String,
        /// Its seed.
        seed: u64,
        /// What is wrong.
        source: RunnerError,
    },
    /// Results of a run that became others while they were read.
    #[error("{directory}: {reason}; start the command again to repeat this run")]
    Changed {
        /// Where they are.
        directory: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A scenario file, or a file that it names, cannot be read.
    #[error("{path}:\n{source}")]
    Scenario {
        /// File.
        path: PathBuf,
        /// Problem.
        source: ScenarioError,
    },
    /// Results of a run cannot be written, or not be read as they were written: a mistake of this program.
    #[error("{path}: {source}")]
    Columns {
        /// File.
        path: PathBuf,
        /// What is wrong.
        source: parquet::errors::ParquetError,
    },
    /// A plot.
    #[error("entry '{entry}': {source}")]
    Plot {
        /// The entry.
        entry: String,
        /// What is wrong.
        source: plot::PlotError,
    },
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// (simulated ms done, of how many, over all runs) changed.
    Simulated(u64, u64),
    /// A run is over, or was already.
    Finished {
        /// Name and seed.
        run: String,
        /// How it came to its results.
        how: How,
        /// Its simulated time.
        ms: u64,
    },
}

/// How a run came to its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// They were there already.
    Earlier,
    /// It was made.
    Made,
    /// It was made again: what was there were not the files that it had written.
    Again {
        /// Where they were.
        directory: PathBuf,
        /// What was wrong.
        reason: String,
    },
}

fn read(path: &Path) -> Result<Vec<u8>, WorkError> {
    fs::read(path).map_err(file_error(path))
}

/// Text of a scenario file in its plain form, into which pointers of `set` point; other files merged with those that they name.
///
/// # Errors
/// [`WorkError`] for a file that cannot be read.
pub fn plain_text(path: &Path) -> Result<Vec<u8>, WorkError> {
    let bytes = read(path)?;
    let beside = |other: &Path| read_other(&path.with_file_name("").join(other));
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let file = ScenarioFile::read(&bytes, name, beside).map_err(|source| WorkError::Scenario {
        path: path.to_owned(),
        source,
    })?;
    let text = file.plain().ok().or_else(|| file.merged());
    Ok(text.map_or(bytes, String::into_bytes))
}

/// Writes a file in one step: another name first, then renamed.
fn write(path: &Path, bytes: &[u8]) -> Result<(), WorkError> {
    let draft = beside(path, ".part");
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(file_error(path))
}

/// An experiment, and its runs that are asked for, with each seed.
fn plan(options: &Options, runner: &dyn Runner) -> Result<(Experiment, Vec<Job>), RunnerError> {
    let path = options.directory.join("experiment.yaml");
    let wrong = |source| WorkError::Experiment {
        path: path.clone(),
        source,
    };
    let experiment = Experiment::parse(&read(&path)?).map_err(wrong)?;
    let mut needed = experiment.needed(&options.only).map_err(wrong)?;
    let quick = options.quick(&experiment);
    if let Some(quick) = quick.filter(|_| options.only.is_empty()) {
        needed.retain(|run| quick.runs.iter().any(|of| of == run));
    }
    let engine = job::engine()?;
    let mut jobs = Vec::new();
    for (name, spec) in experiment
        .runs
        .iter()
        .filter(|(name, _)| needed.contains(name.as_str()))
    {
        let yaml = plain_text(&options.directory.join(&spec.scenario))?;
        let more = quick.map_or(&[][..], |quick| &quick.set);
        let (mut setup, text) = spec.scenario(name, &yaml, more).map_err(wrong)?;
        experiment.check_names(name, &setup).map_err(wrong)?;
        if options.quick && quick.is_none() {
            setup = setup.quick()?;
        }
        let seeds = if options.quick { 1 } else { u64::from(spec.seeds) };
        let versions = Versions::of(&setup, &engine, runner)?;
        for seed in setup.seed()..setup.seed() + seeds {
            let directory = options.results().join("runs").join(name).join(seed.to_string());
            jobs.push(Job::new(name, seed, &text, setup.clone(), &versions, directory));
        }
    }
    Ok((experiment, jobs))
}

/// Deletes the results of the selected runs, so that all are repeated.
///
/// # Errors
/// The errors of [`reproduce`].
pub fn forget(options: &Options, runner: &dyn Runner) -> Result<(), RunnerError> {
    let (_, jobs) = plan(options, runner)?;
    for job in &jobs {
        job.forget()?;
    }
    Ok(())
}

/// Runs what `options` ask for, with networks that `runner` runs.
///
/// # Errors
/// The first thing that goes wrong; what was finished before stays and is used the next time.
pub fn reproduce(
    options: &Options,
    runner: &dyn Runner,
    report: &(impl Fn(Progress) + Sync),
) -> Result<Counts, RunnerError> {
    let (experiment, jobs) = plan(options, runner)?;
    work(&jobs, runner, options.jobs.max(1), report)?;
    Ok(show(&experiment, options, &jobs)?)
}

/// A run of an experiment with one seed, as another machine can make it ([`make`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of the run.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// Its length; the scenario's phases are scaled to it.
    pub duration_ms: u64,
    /// Frames from one row of a star's measurements to the next.
    pub sample_frames: u32,
    /// The scenario.
    pub scenario: String,
    /// Where its results belong.
    pub directory: PathBuf,
}

/// What of `options` has to be made still, the longest run first. What takes no time, since it was measured elsewhere, is not among it.
///
/// # Errors
/// The errors of [`reproduce`].
pub fn pending(options: &Options, runner: &dyn Runner) -> Result<Vec<Task>, RunnerError> {
    let (experiment, mut jobs) = plan(options, runner)?;
    jobs.retain(|job| !matches!(job.setup, Setup::Kept(_)) && job.is_pending());
    jobs.sort_by_key(|job| std::cmp::Reverse(job.setup.cost()));
    let tasks = jobs.into_iter().map(|job| Task {
        sample_frames: experiment.runs[&job.run].sample_frames,
        duration_ms: job.setup.duration_ms(),
        run: job.run,
        seed: job.seed,
        scenario: job.text,
        directory: job.directory,
    });
    Ok(tasks.collect())
}

/// Makes a run as [`reproduce`] would, to the byte, into its directory.
///
/// # Errors
/// When it is no scenario, or the run fails.
pub fn make(task: &Task, runner: &dyn Runner, advance: &impl Fn(u64)) -> Result<How, RunnerError> {
    let mut setup = Setup::parse(task.scenario.as_bytes(), task.sample_frames)?;
    if setup.duration_ms() != task.duration_ms {
        setup = setup.scaled_to(task.duration_ms)?;
    }
    let versions = Versions::of(&setup, &job::engine()?, runner)?;
    let directory = task.directory.clone();
    let job = Job::new(&task.run, task.seed, &task.scenario, setup, &versions, directory);
    Ok(job.make(runner, advance)?)
}

/// Does the jobs, the longest first, each on one thread.
fn work(
    jobs: &[Job],
    runner: &dyn Runner,
    threads: usize,
    report: &(impl Fn(Progress) + Sync),
) -> Result<(), WorkError> {
    let mut order: Vec<&Job> = jobs.iter().collect();
    order.sort_by_key(|job| std::cmp::Reverse(job.setup.cost()));
    let total_ms: u64 = jobs.iter().map(|job| job.setup.duration_ms()).sum();
    let (next, done_ms) = (AtomicUsize::new(0), Mutex::new(0));
    let failure: Mutex<Option<WorkError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let advance = |ms| {
                        let mut done = done_ms.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        *done += ms;
                        report(Progress::Simulated(*done, total_ms));
                    };
                    match job.make(runner, &advance) {
                        Ok(how) => report(Progress::Finished {
                            run: format!("{} seed {}", job.run, job.seed),
                            how,
                            ms: job.setup.duration_ms(),
                        }),
                        Err(error) => {
                            failure
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner)
                                .get_or_insert(error);
                            next.store(order.len(), Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let failure = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}

/// Judges, draws and writes the report. One run's recordings are in memory at a time.
fn show(experiment: &Experiment, options: &Options, jobs: &[Job]) -> Result<Counts, WorkError> {
    let quick = options.quick(experiment);
    let is_whole = !options.quick || quick.is_some_and(|quick| quick.time_s().is_none());
    let scale = if is_whole { 1.0 } else { QUICK_SCALE };
    let out = options.results();
    let plots = out.join("plots");
    fs::create_dir_all(&plots).map_err(file_error(&plots))?;
    let chosen: Vec<_> = experiment
        .entries
        .iter()
        .filter(|entry| options.only.is_empty() || options.only.contains(&entry.id))
        .collect();
    // By entry, fact, and whether it is the number or what that is divided by.
    let mut numbers: BTreeMap<(usize, usize, usize), Vec<Option<f64>>> = BTreeMap::new();
    let mut swept: BTreeMap<usize, BTreeMap<(usize, usize), Estimate>> = BTreeMap::new();
    // By entry and place of the run in its plot.
    let mut drawn: BTreeMap<(usize, Option<usize>), Vec<Line>> = BTreeMap::new();
    let mut data: Vec<Data> = Vec::new();
    let mut quantities = Quantities::new(experiment, quick.and_then(Quick::time_s));
    let unreadable = |source| WorkError::Experiment {
        path: options.directory.join("experiment.yaml"),
        source,
    };
    for run in experiment.runs.keys() {
        let of_run: Vec<&Job> = jobs.iter().filter(|job| job.run == *run).collect();
        let recordings = of_run
            .iter()
            .map(|job| job.load())
            .collect::<Result<Vec<Recording>, WorkError>>()?;
        let made = of_run.iter().zip(&recordings);
        data.extend(made.map(|(job, recording)| data_of(job, recording)));
        quantities.add(run, &recordings).map_err(unreadable)?;
        for (e, entry) in chosen.iter().enumerate() {
            if let Some(plot) = entry.plot.as_ref().filter(|plot| plot.runs.contains(run)) {
                let lines = plot::lines(plot, run, &recordings, scale).map_err(plot_error(entry))?;
                drawn.insert((e, plot.runs.iter().position(|name| name == run)), lines);
            }
            let lines = entry.sweep.iter().flat_map(|sweep| sweep.measured.iter().enumerate());
            for (l, line) in lines {
                let points = line.points.iter().enumerate().filter(|(_, (_, of))| of == run);
                let values = points.filter_map(|(p, _)| Some(((l, p), point(line, &recordings, scale)?)));
                swept.entry(e).or_default().extend(values);
            }
            if let Some(drawing) = entry.distribution.as_ref().filter(|drawing| drawing.runs.contains(run)) {
                let lines = plot::distributed(drawing, run, &recordings, scale);
                drawn.insert((e, drawing.runs.iter().position(|name| name == run)), lines);
            }
            for (f, fact) in entry.facts.iter().enumerate() {
                for (part, of) in fact.measurements().enumerate().filter(|(_, of)| of.run == run) {
                    numbers.insert((e, f, part), fact::measured(&of, &recordings, scale));
                }
            }
        }
    }
    let mut with_plot = BTreeSet::new();
    for (e, entry) in chosen.iter().enumerate() {
        let lines = || -> Vec<Line> {
            let of_entry = drawn.range((e, None)..(e + 1, None));
            of_entry.flat_map(|(_, lines)| lines.clone()).collect()
        };
        let of_formulas = entry.sweep.iter().flat_map(|sweep| &sweep.drawn);
        let of_formulas = of_formulas.map(|line| quantities.line(line));
        let mut of_formulas = of_formulas.collect::<Result<Vec<Line>, _>>().map_err(unreadable)?;
        of_formulas.retain(|line| !line.points.is_empty());
        let values = swept.remove(&e).unwrap_or_default();
        let svg = match (&entry.plot, &entry.sweep, &entry.distribution) {
            (Some(plot), ..) if !lines().is_empty() => plot::draw(entry, plot, &lines(), scale),
            (None, Some(sweep), _) if !values.is_empty() || !of_formulas.is_empty() => {
                plot::draw_sweep(entry, sweep, &values, &of_formulas)
            }
            (None, None, Some(_)) if !lines().is_empty() => plot::draw_distribution(&lines()),
            _ => continue,
        };
        let svg = svg.map_err(plot_error(entry))?;
        write(&plots.join(format!("{}.svg", entry.id)), svg.as_bytes())?;
        with_plot.insert(e);
    }
    let mut shown: Vec<Shown> = Vec::new();
    for (e, entry) in chosen.iter().enumerate() {
        let measured = entry.facts.iter().enumerate().map(|(f, fact)| {
            let of_fact = numbers.range((e, f, 0)..(e, f + 1, 0));
            let of_fact: Vec<_> = of_fact.map(|(_, numbers)| numbers.clone()).collect();
            Ok(judge(fact, &of_fact, scale))
        });
        let of_formulas = entry.formulas.iter().map(|fact| {
            let judged = quantities.judge(fact)?;
            // Times of quantities are those of whole runs.
            let is_judged = !options.quick || quick.is_some() || judged.outcome == Outcome::NotRun;
            Ok(match is_judged {
                true => judged,
                false => Judged {
                    outcome: Outcome::NotJudged,
                    ..judged
                },
            })
        });
        let judged = measured.chain(of_formulas).collect::<Result<Vec<Judged>, _>>();
        shown.push(Shown {
            entry,
            judged: judged.map_err(unreadable)?,
            has_plot: with_plot.contains(&e),
        });
    }
    let about = About {
        engine: jobs.first().map_or("", |job| &job.inputs.engine),
        data,
    };
    let counts = count::count(
        shown.iter().flat_map(|shown| &shown.judged),
        shown.iter().map(|shown| shown.entry.not_run.len()).sum(),
    );
    write(&out.join("facts.json"), facts(&shown).to_string().as_bytes())?;
    write(
        &out.join("report.html"),
        html::page(experiment, &shown, &counts, &about, (quick, scale)).as_bytes(),
    )?;
    Ok(counts)
}

fn plot_error(entry: &Entry) -> impl FnOnce(plot::PlotError) -> WorkError + '_ {
    |source| WorkError::Plot {
        entry: entry.id.clone(),
        source,
    }
}

/// What a report says of the data of a job.
fn data_of(job: &Job, recording: &Recording) -> Data {
    let tables = recording.tables();
    Data {
        run: job.run.clone(),
        seed: job.seed,
        program: job.inputs.program.clone(),
        scenario: job.inputs.scenario.clone(),
        tables: tables
            .filter(|(_, table)| !table.names.is_empty())
            .map(|(name, _)| name.name())
            .collect(),
    }
}

/// A point of a sweep: the mean over the seeds.
fn point(line: &Measured, recordings: &[Recording], scale: f64) -> Option<Estimate> {
    let value = |recording| measure(&line.what, (line.from_s, line.to_s), line.stat, recording, scale);
    let values: Option<Vec<f64>> = recordings.iter().map(value).collect();
    stats::estimate(&values?)
}

/// The facts as data.
fn facts(shown: &[Shown]) -> serde_json::Value {
    let rows = shown
        .iter()
        .flat_map(|shown| shown.judged.iter().map(move |judged| (&shown.entry.id, judged)));
    let judged = rows.map(|(entry, Judged { fact, value, outcome })| {
        json!({
            "entry": entry,
            "fact": fact.text,
            "where": fact.place,
            "run": fact.of,
            "band": fact.band,
            "published": fact.published,
            "value": value.map(|value| value.mean),
            "half_width": value.and_then(|value| value.half_width),
            "basis": match fact.basis {
                Basis::Published => "published",
                Basis::Own => "own",
                Basis::SecondChance => "second-chance",
            },
            "claim": fact.claim,
            "outcome": match outcome {
                Outcome::Pass => "pass",
                Outcome::Miss => "miss",
                Outcome::NotJudged => "not judged",
                Outcome::NotRun => "not run",
            },
        })
    });
    let not_run = shown
        .iter()
        .flat_map(|shown| shown.entry.not_run.iter().map(move |fact| (&shown.entry.id, fact)));
    let not_run = not_run.map(|(entry, fact)| {
        json!({
            "entry": entry,
            "fact": fact.text,
            "where": fact.place,
            "outcome": "not run",
            "reason": fact.reason,
        })
    });
    judged.chain(not_run).collect()
}
