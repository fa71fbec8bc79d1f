// SPDX-License-Identifier: Apache-2.0
//! Small experiments, whole: XCP in P4 fills a link without a queue; results do not depend on the number of threads.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use slotwise_reproduce::experiment::Experiment;
use slotwise_reproduce::work::{How, Options, Progress, Task, forget, make, pending, plain_text, reproduce};
use support::{Direct, repository};

const NETWORK: &str = "version: 1
name: small
seed: 5
duration_ms: 12000
sample_ms: 100
packet_bytes: 1000
routers: [left, right]
links:
- {name: there, from: left, to: right, rate_bps: 10000000, delay_ns: 5000000, buffer: {packets: 200}, xcp_capacity_bps: 10000000}
- {name: back, from: right, to: left, rate_bps: 10000000, delay_ns: 5000000, buffer: {packets: 200}}
hosts:
- {name: s, count: 4, at: left, rate_bps: 100000000, up_delay_ns: 10000000, down_delay_ns: 10000000, buffer: {packets: 200}}
- {name: d, count: 4, at: right, rate_bps: 100000000, up_delay_ns: 10000000, down_delay_ns: 10000000, buffer: {packets: 200}}
flows:
- {name: f, from: s, to: d, transport: xcp, sack: false, start_jitter_ms: 100}
changes:
- {at_ms: 6000, link: there, rate_bps: 8000000, xcp_capacity_bps: 8000000}
";

const EXPERIMENT: &str = "name: small
title: A small one
source: nobody
assumptions: [none]
runs:
  xcp: {scenario: small.yaml, seeds: 2}
  newreno: {scenario: small.yaml, set: [[/flows/0/transport, newreno]]}
entries:
- id: utilization
  title: XCP
  published: full
  plot: {run: xcp, draw: {table: links, column: utilization, of: [there]}}
  facts:
  - {text: full, where: x, run: xcp, measure: {table: links, column: utilization, of: [there]}, from_s: 3, to_s: 6,
     stat: mean, band: [0.95, 1.01], why: x}
  - {text: full after the change, where: x, run: xcp, measure: {table: links, column: utilization, of: [there]},
     from_s: 8, to_s: 12, stat: mean, band: [0.95, 1.01], why: x}
  - {text: fair, where: x, run: xcp, measure: {table: flows, column: rate_kbyte_s, of: [all]}, from_s: 3, to_s: 6,
     stat: jain, band: [0.99, 1], why: x}
  - {text: short queue, where: x, run: xcp, measure: {table: links, column: mean_queue_packets, of: [there]},
     from_s: 3, to_s: 6, stat: mean, band: [0, 10], why: x}
  - {text: nothing lost, where: x, run: xcp, measure: {table: links, column: dropped_packets, of: [there]},
     from_s: 0, to_s: 12, stat: sum, band: [0, 0], why: x}
- id: queue
  title: NewReno
  published: a long queue
  facts:
  - {text: long queue, where: x, run: newreno, measure: {table: links, column: max_queue_packets, of: [there]},
     from_s: 0, to_s: 12, stat: max, band: [150, 200], why: x}
  - {text: what is not so, where: x, run: newreno, measure: {table: links, column: utilization, of: [there]},
     from_s: 3, to_s: 6, stat: mean, band: [2, 3], why: x}
";

fn options(directory: &Path, out: &str, jobs: usize) -> Options {
    fs::write(directory.join("small.yaml"), NETWORK).unwrap();
    fs::write(directory.join("experiment.yaml"), EXPERIMENT).unwrap();
    Options {
        directory: directory.to_owned(),
        out: directory.join(out),
        only: Vec::new(),
        quick: false,
        jobs,
    }
}

/// Every file below a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(place) = pending.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn results_are_the_same_with_any_number_of_threads_and_are_not_made_twice() {
    let directory = tempfile::tempdir().unwrap();
    let (one, three) = (
        options(directory.path(), "one", 1),
        options(directory.path(), "three", 3),
    );
    let summary = reproduce(&one, &Direct::new(), &|_| {}).unwrap();
    assert_eq!(summary, reproduce(&three, &Direct::new(), &|_| {}).unwrap());
    let results = files(&one.results());
    assert_eq!(results, files(&three.results()));
    let facts = String::from_utf8_lossy(&results[Path::new("facts.json")]).into_owned();
    assert_eq!((summary.published.passed, summary.published.missed), (6, 1), "{facts}");
    assert!(results.contains_key(Path::new("plots/utilization.svg")));
    let page = String::from_utf8_lossy(&results[Path::new("report.html")]).into_owned();
    assert!(page.contains("what is not so"));
    let links: Vec<&str> = page
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    for link in &links {
        match link.strip_prefix('#') {
            Some(place) => assert!(page.contains(&format!("id=\"{place}\"")), "{link}"),
            None => assert!(results.contains_key(Path::new(link)), "{link}"),
        }
    }
    for wanted in ["#queue", "#data", "runs/xcp/6/links.parquet", "facts.json"] {
        assert!(links.contains(&wanted), "{wanted} of {links:?}");
    }
    assert!(page.contains(&format!("slotwise {}", env!("CARGO_PKG_VERSION"))));

    let earlier = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Finished { how, .. } = progress {
            earlier.lock().unwrap().push(how == How::Earlier);
        }
    };
    fs::remove_file(one.results().join("runs/newreno/5/done.json")).unwrap();
    reproduce(&one, &Direct::new(), &note).unwrap();
    let mut earlier = earlier.into_inner().unwrap();
    earlier.sort();
    assert_eq!(earlier, [false, true, true], "only what lacks its mark is run");
    assert_eq!(results, files(&one.results()));
}

/// What a run of another engine left.
/// As another machine does it: of the task's text only, in a place of its own.
#[test]
fn runs_made_elsewhere_are_the_same_to_the_byte_and_are_not_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let here = Options {
        quick: true,
        ..options(directory.path(), "here", 2)
    };
    let there = Options {
        quick: true,
        ..options(directory.path(), "there", 2)
    };
    let tasks = pending(&there, &Direct::new()).unwrap();
    let names: Vec<(&str, u64)> = tasks.iter().map(|task| (task.run.as_str(), task.seed)).collect();
    assert_eq!(names, [("newreno", 5), ("xcp", 5)]);
    for task in &tasks {
        let told = serde_json::to_string(task).unwrap();
        let heard: Task = serde_json::from_str(&told).unwrap();
        assert_eq!(make(&heard, &Direct::new(), &|_| {}).unwrap(), How::Made);
    }
    assert_eq!(pending(&there, &Direct::new()).unwrap(), []);
    let all_earlier = |progress| {
        if let Progress::Finished { run, how, .. } = progress {
            assert_eq!(how, How::Earlier, "{run}");
        }
    };
    let counts = reproduce(&there, &Direct::new(), &all_earlier).unwrap();
    assert_eq!(counts, reproduce(&here, &Direct::new(), &|_| {}).unwrap());
    assert_eq!(files(&here.results()), files(&there.results()));
}

fn mark_as_foreign(marker: &Path) {
    let mut inputs: serde_json::Value = serde_json::from_slice(&fs::read(marker).unwrap()).unwrap();
    inputs["engine"] = "another".into();
    fs::write(marker, inputs.to_string()).unwrap();
}

#[test]
fn quick_results_are_kept_apart_and_those_of_another_engine_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let full = options(directory.path(), "out", 2);
    let quick = Options {
        quick: true,
        ..full.clone()
    };
    let summary = reproduce(&full, &Direct::new(), &|_| {}).unwrap();
    let results = files(&full.results());
    let shortened = reproduce(&quick, &Direct::new(), &|_| {}).unwrap();
    assert_eq!(
        (shortened.published.passed, shortened.published.missed),
        (0, 0),
        "nothing is judged"
    );
    assert!(quick.results().join("runs/xcp/5/links.parquet").exists());
    assert_eq!(results, files(&full.results()), "the full run's are as they were");

    mark_as_foreign(&full.results().join("runs/xcp/5/done.json"));
    let again = Mutex::new(0);
    let count = |progress| {
        if let Progress::Finished { how: How::Made, .. } = progress {
            *again.lock().unwrap() += 1;
        }
    };
    assert_eq!(reproduce(&full, &Direct::new(), &count).unwrap(), summary);
    assert_eq!(again.into_inner().unwrap(), 1);
    assert_eq!(results, files(&full.results()));
}

/// Runs that are whole are judged as ever; what was not made is not run, neither passed nor missed.
#[test]
fn a_quick_form_of_whole_runs_judges_their_facts_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let quick = Options {
        quick: true,
        ..options(directory.path(), "out", 2)
    };
    let other = "- id: other
  title: another
  published: the same
  plot: {run: xcp, draw: {table: links, column: utilization, of: [there]}}
  facts:
  - {text: as much, where: x, run: newreno, measure: {table: links, column: utilization, of: [there]},
     from_s: 3, to_s: 6, stat: mean, by: {run: again}, band: [1, 1], why: x}
";
    let text = EXPERIMENT.replacen(
        "entries:",
        "  again: {scenario: small.yaml}\nquick: {runs: [newreno]}\nentries:",
        1,
    ) + other;
    fs::write(directory.path().join("experiment.yaml"), text).unwrap();
    let counts = reproduce(&quick, &Direct::new(), &|_| {}).unwrap();
    let published = counts.published;
    assert_eq!((published.passed, published.missed), (1, 1), "those of newreno alone");
    assert_eq!((published.not_run, published.not_judged), (6, 0));
    let found = files(&quick.results());
    assert!(!found.contains_key(Path::new("plots/utilization.svg")), "of no run");
    let page = String::from_utf8_lossy(&found[Path::new("report.html")]).into_owned();
    assert!(page.contains("Full-length runs of one seed each (--quick)"));

    let with_name = Options {
        only: vec!["utilization".into()],
        ..quick
    };
    let counts = reproduce(&with_name, &Direct::new(), &|_| {}).unwrap();
    assert_eq!(
        (counts.published.passed, counts.published.missed),
        (5, 0),
        "all that it needs"
    );
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path(), "out", 1);
    let refused = |file: &str, from: &str, to: &str| {
        let path = directory.path().join(file);
        let good = fs::read_to_string(&path).unwrap();
        assert!(good.contains(from));
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let error = reproduce(&options, &Direct::new(), &|_| {}).unwrap_err().to_string();
        fs::write(&path, good).unwrap();
        assert!(!options.out.exists());
        error
    };
    assert!(refused("small.yaml", "{packets: 200}", "{packets: 0}").contains("/links/0/buffer/packets"));
    assert!(refused("small.yaml", "from: s, to: d", "from: t, to: d").contains("/flows/0/from"));
    assert!(refused("experiment.yaml", "[[/flows/0/tr", "[[/flows/7/tr").contains("set /flows/7/transport"));
    assert!(
        refused("experiment.yaml", "of: [there]", "of: [here]").contains("run 'xcp' has no 'here'; expected 'all' or")
    );
    assert!(refused("experiment.yaml", "run: newreno", "run: vegas").contains("unknown run 'vegas'"));
}

#[test]
fn the_experiments_of_the_repository_can_be_run() {
    for entry in fs::read_dir(repository().join("experiments")).unwrap() {
        let directory = entry.unwrap().path();
        let Ok(text) = fs::read(directory.join("experiment.yaml")) else {
            continue;
        };
        let experiment = Experiment::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        for (name, spec) in &experiment.runs {
            let yaml = plain_text(&directory.join(&spec.scenario)).unwrap();
            let (setup, _) = spec
                .scenario(name, &yaml, &[])
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            experiment.check_names(name, &setup).unwrap();
            setup.quick().unwrap();
        }
        let needed = experiment.needed(&[]).unwrap();
        let unshown: Vec<&String> = experiment
            .runs
            .keys()
            .filter(|run| !needed.contains(run.as_str()))
            .collect();
        assert!(
            unshown.is_empty(),
            "{}: runs that no entry shows: {unshown:?}",
            directory.display()
        );
    }
}

/// Shortened runs, and the files that they leave.
fn made_quickly(directory: &Path) -> (Options, BTreeMap<PathBuf, Vec<u8>>) {
    let quick = Options {
        quick: true,
        ..options(directory, "out", 1)
    };
    reproduce(&quick, &Direct::new(), &|_| {}).unwrap();
    let left = files(&quick.results());
    (quick, left)
}

#[test]
fn results_of_two_runs_are_never_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let (quick, right) = made_quickly(directory.path());
    let run = quick.results().join("runs/xcp/5");
    // A run of another scenario was interrupted while it put its results in place; the scenario is as it was again.
    fs::rename(&run, quick.results().join("runs/xcp/5.old")).unwrap();
    let draft = quick.results().join("runs/xcp/5.part");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("links.parquet"), "of another run").unwrap();
    reproduce(&quick, &Direct::new(), &|_| {}).unwrap();
    assert!(files(&quick.results()) == right, "made again, and nothing else is left");
    // A table that this run does not have.
    fs::write(run.join("queues.parquet"), "of another run").unwrap();
    fs::write(run.join("done.json"), "{}").unwrap();
    reproduce(&quick, &Direct::new(), &|_| {}).unwrap();
    assert!(files(&quick.results()) == right);
}

/// Whoever deletes, cuts, swaps or replaces columns gets the facts of the run, never others.
#[test]
fn a_run_whose_files_are_not_those_that_it_wrote_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let (quick, right) = made_quickly(directory.path());
    let run = quick.results().join("runs/xcp/5");
    let flows = run.join("flows.parquet");
    let not_the_file = "flows.parquet is not the file written by the run";
    let marker = run.join("done.json");
    let damages: [(&dyn Fn(), &str); 7] = [
        (&|| fs::write(&marker, "{\"en").unwrap(), "done.json: EOF while parsing"),
        (&|| fs::remove_file(&marker).unwrap(), "done.json: No such file"),
        (&|| fs::remove_file(&flows).unwrap(), "flows.parquet: No such file"),
        (&|| fs::write(&flows, "").unwrap(), not_the_file),
        (
            &|| fs::write(&flows, &right[Path::new("runs/xcp/5/flows.parquet")][..100]).unwrap(),
            not_the_file,
        ),
        (
            &|| {
                fs::copy(quick.results().join("runs/newreno/5/flows.parquet"), &flows).unwrap();
            },
            not_the_file,
        ),
        (
            &|| {
                fs::remove_file(&flows).unwrap();
                fs::create_dir(&flows).unwrap();
            },
            "flows.parquet: not a regular file",
        ),
    ];
    for (damage, why) in damages {
        damage();
        let again = Mutex::new(Vec::new());
        let note = |progress| {
            if let Progress::Finished {
                how: How::Again { directory, reason },
                ..
            } = progress
            {
                again.lock().unwrap().push((directory, reason));
            }
        };
        reproduce(&quick, &Direct::new(), &note).unwrap();
        let again = again.into_inner().unwrap();
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].0, run);
        assert!(again[0].1.starts_with(why), "{again:?}");
        assert!(files(&quick.results()) == right);
    }
}

#[test]
fn an_experiment_goes_on_where_it_ended_and_a_fresh_one_makes_all() {
    let directory = tempfile::tempdir().unwrap();
    let (quick, right) = made_quickly(directory.path());
    let made_now = || {
        let made = Mutex::new(Vec::new());
        let note = |progress| {
            if let Progress::Finished { run, how, .. } = progress
                && how == How::Made
            {
                made.lock().unwrap().push(run);
            }
        };
        reproduce(&quick, &Direct::new(), &note).unwrap();
        made.into_inner().unwrap()
    };
    assert_eq!(made_now(), Vec::<String>::new());
    // Interrupted before this one, and before the facts.
    fs::remove_dir_all(quick.results().join("runs/xcp/5")).unwrap();
    fs::remove_file(quick.results().join("facts.json")).unwrap();
    assert_eq!(made_now(), ["xcp seed 5"]);
    forget(&quick, &Direct::new()).unwrap();
    assert_eq!(made_now().len(), 2);
    assert!(files(&quick.results()) == right);
}
