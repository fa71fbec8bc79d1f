// SPDX-License-Identifier: Apache-2.0
//! CPU of the fabric in a live run: chosen among those that no other run has, and kept free of the run's other threads.
//!
//! No setting of the machine changes. Moving kernel threads and interrupts off that CPU, without the kernel's limit for
//! real-time threads, did not lower the 99th percentile of lateness (docs/performance.md). If others have
//! them all, a run sleeps between its events.

mod own_cpus;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use slotwise_cli::notes::say;
use slotwise_netio::{CpuPlan, fix_fabric_cpu, keep_off, lost_shares};

use self::own_cpus::OwnCpus;

/// Locks of live runs on their CPUs.
const OWN_CPUS: &str = "/run/slotwise-cpus";
/// CPU number for the run's own process.
const FABRIC_CPU: &str = "SLOTWISE_FABRIC_CPU";
/// Reason for none.
const SHARED_CPU: &str = "SLOTWISE_SHARED_CPU";

/// Watching time of each CPU before one is chosen.
const WATCH: Duration = Duration::from_millis(100);
/// Maximum number of CPUs watched.
const MOST_WATCHED: usize = 8;
/// Least share of time that a CPU must lose less than the last one to be taken in its place.
const WORTH_IT: f64 = 0.005;

/// CPU that a run has for its fabric, until this is dropped.
pub struct FabricCpu {
    /// Holds the lock.
    own: Option<OwnCpus>,
    shared: Option<String>,
}

impl FabricCpu {
    /// Chooses a CPU, takes it from other runs and prints the choice. Call with one thread.
    ///
    /// A run works without, so a failure is no error.
    pub fn choose() -> FabricCpu {
        let mut chosen = FabricCpu {
            own: OwnCpus::open(Path::new(OWN_CPUS)).ok(),
            shared: None,
        };
        let (cpu, shares) = loop {
            let (cpus, others) = chosen.free_cpus();
            if !may_take_one(&cpus, &others) {
                chosen.share(&cpus, &others);
                return chosen;
            }
            let shares = lost_shares(&cpus[cpus.len().saturating_sub(MOST_WATCHED)..], WATCH);
            let cpu = quieter(&shares);
            // Where others cannot be asked, there are none that could.
            if chosen
                .own
                .as_ref()
                .is_none_or(|own| own.take(cpu, &cpus).unwrap_or(true))
            {
                break (cpu, shares);
            }
        };
        fix_fabric_cpu(cpu);
        let lost: Vec<String> = shares
            .iter()
            .map(|(cpu, share)| format!("CPU {cpu} {:.1} %", share * 100.0))
            .collect();
        say!(
            "pinned to CPU {cpu} (load of others over {} ms: {})",
            WATCH.as_millis(),
            lost.join(", ")
        );
        chosen
    }

    /// Reason for no separate CPU, if other runs are the reason.
    pub fn shared(&self) -> Option<&str> {
        self.shared.as_deref()
    }

    /// Environment of the process that holds the fabric.
    pub fn environment(&self) -> Option<(&'static str, OsString)> {
        match &self.shared {
            Some(why) => Some((SHARED_CPU, why.into())),
            None => CpuPlan::new()
                .fabric_cpu()
                .map(|cpu| (FABRIC_CPU, cpu.to_string().into())),
        }
    }

    /// Takes over the choice made outside, in the process that holds the fabric. Returns [`FabricCpu::shared`].
    pub fn take_over() -> Option<String> {
        let cpu = std::env::var(FABRIC_CPU).ok().and_then(|text| text.parse().ok());
        if let Some(cpu) = cpu {
            fix_fabric_cpu(cpu);
        }
        std::env::var(SHARED_CPU).ok()
    }

    /// The process keeps off CPUs that other runs have for themselves, if there are any besides. Gives its own and theirs.
    fn free_cpus(&self) -> (Vec<usize>, Vec<usize>) {
        let cpus = keep_off(&[]);
        let others = self.own.as_ref().and_then(|own| own.of_others(&cpus).ok());
        let others = others.unwrap_or_default();
        (keep_off(&others), others)
    }

    /// The fabric has no CPU of its own, so that its thread sleeps whenever nothing is due.
    fn share(&mut self, cpus: &[usize], others: &[usize]) {
        if others.is_empty() {
            return;
        }
        let why = format!(
            "emulator: no separate CPU ({} used by other runs): shares {} with the rest of this run and misses more deadlines",
            named(others),
            named(cpus)
        );
        say!("{why}");
        self.shared = Some(why);
    }
}

/// `CPU 1 and 2`.
fn named(cpus: &[usize]) -> String {
    let names: Vec<String> = cpus.iter().map(usize::to_string).collect();
    format!("CPU {}", names.join(" and "))
}

/// Whether a run that may use `cpus` may have one of them for itself, where other runs have `others`: one is left for all else then.
fn may_take_one(cpus: &[usize], others: &[usize]) -> bool {
    cpus.len() >= 2 && cpus.iter().any(|cpu| !others.contains(cpu))
}

/// The last CPU, or one that loses clearly less time than it.
fn quieter(shares: &[(usize, f64)]) -> usize {
    let &(last, last_share) = shares.last().expect("there are CPUs");
    let least = shares
        .iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are CPUs");
    if least.1 + WORTH_IT < last_share { least.0 } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cpu_is_taken_unless_another_is_clearly_quieter() {
        assert_eq!(quieter(&[(0, 0.007), (1, 0.011)]), 1);
        assert_eq!(quieter(&[(0, 0.001), (1, 0.011)]), 0);
        assert_eq!(quieter(&[(2, 0.5)]), 2);
    }

    #[test]
    fn a_cpu_is_taken_only_where_others_leave_two() {
        let directory = tempfile::TempDir::new().unwrap();
        let open = || OwnCpus::open(&directory.path().join("cpus")).unwrap();
        let (first, second, third) = (open(), open(), open());
        assert!(first.take(3, &[0, 1, 2, 3]).unwrap() && second.take(2, &[0, 1, 2]).unwrap());
        // What a run may use, and what is free for it: the others' if there is nothing else.
        for (allowed, free, may) in [
            (vec![0, 1, 2, 3], vec![0, 1], true),
            (vec![1, 2, 3], vec![1], false),
            (vec![2, 3], vec![2, 3], false),
            (vec![2], vec![2], false),
        ] {
            let others = third.of_others(&allowed).unwrap();
            assert_eq!(may_take_one(&free, &others), may, "{allowed:?}");
            // If so it gets one at once, and nobody looks again for ever.
            assert_eq!(third.take(free[0], &free).unwrap(), may, "{allowed:?}");
        }
    }
}
