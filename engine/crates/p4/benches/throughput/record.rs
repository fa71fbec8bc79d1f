// SPDX-License-Identifier: Apache-2.0
//! Results as data: compared with those of an earlier run, and kept if that is asked for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rates by case and by what ran it, or what is counted.
type Rates = BTreeMap<String, BTreeMap<String, u64>>;

/// The figures of this run and of the kept one.
pub struct Record {
    path: String,
    before: Rates,
    now: Rates,
}

/// Processor time of this process: other work on the machine does not count.
pub fn processor_time(start: Instant) -> Duration {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = schedstat.and_then(|s| s.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

impl Record {
    /// With the figures of the run that is kept at `path`; none if there is no such run.
    pub fn open(path: &str) -> Record {
        let before = match std::fs::read(path) {
            Ok(json) => serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{path}: {error}")),
            Err(_) => Rates::new(),
        };
        Record {
            path: path.to_owned(),
            before,
            now: Rates::new(),
        }
    }

    /// Adds a figure, so many a second.
    pub fn add(&mut self, case: &str, what: &str, rate: f64) {
        let rates = self.now.entry(case.to_owned()).or_default();
        rates.insert(what.to_owned(), rate as u64);
    }

    /// Prints how the figures have changed; writes them if `SAVE` is set.
    pub fn finish(self) {
        println!("compared with {}:", self.path);
        for (case, rates) in &self.now {
            for (what, &rate) in rates {
                match self.before.get(case).and_then(|rates| rates.get(what)) {
                    Some(&before) => println!(
                        "  {case}, {what}: {:+.0} %",
                        (rate as f64 / before as f64 - 1.0) * 100.0
                    ),
                    None => println!("  {case}, {what}: new"),
                }
            }
        }
        if std::env::var_os("SAVE").is_some() {
            let mut all = self.before;
            all.extend(self.now);
            let json = serde_json::to_string_pretty(&all).expect("maps of numbers can be written");
            std::fs::write(&self.path, json + "\n").unwrap_or_else(|error| panic!("{}: {error}", self.path));
        }
    }
}
