// SPDX-License-Identifier: Apache-2.0
//! What a live run changes about the machine so that the fabric has a CPU of its own, and how all of it is put back.
//!
//! Kernel threads, interrupts and the kernel's unbound work move off the fabric's CPU, and the kernel does not stop real-time
//! threads that run for long. Before the first change, how everything was is written to a [record](Record), and a process of its own,
//! the keeper, is started. It puts everything back when the run has ended, however it ended; if it is killed, the run does so itself.
//! If both are killed, the next run or `clean-net` finds the record and puts things back. A run for which no such CPU is left, because
//! others have them, changes nothing and sleeps between its events.

mod own_cpus;
mod record;
mod settings;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setsid};
use slotwise_netio::{CpuPlan, fix_fabric_cpu, keep_off, lost_shares};

use self::own_cpus::OwnCpus;
use self::record::{LeftOver, Record};
use self::settings::{Moved, Places};
use slotwise_cli::RunError;
use slotwise_cli::notes::{note, say};

/// Which CPU the run's own process is to use.
const FABRIC_CPU: &str = "SLOTWISE_FABRIC_CPU";
/// Why it is to use none.
const SHARED_CPU: &str = "SLOTWISE_SHARED_CPU";

/// Each CPU is watched for so long before one is chosen.
const WATCH: Duration = Duration::from_millis(100);
/// At most so many are.
const MOST_WATCHED: usize = 8;
/// A CPU must lose less time than the last one by this share to be taken in its place.
const WORTH_IT: f64 = 0.005;

/// The machine as a run wants it, for as long as this lives.
pub struct Machine {
    keeper: Option<Keeper>,
    /// The fabric's CPU is in there.
    own: Option<OwnCpus>,
    shared: Option<String>,
}

/// The process that puts the machine back.
struct Keeper {
    process: Pid,
    /// Its end tells the keeper that the run is over.
    run: io::PipeWriter,
    /// Held here too: should the keeper be killed, the machine is still this run's.
    record: Record,
}

impl Machine {
    /// Chooses the fabric's CPU and keeps others off it; says on standard output what it did. Call with one thread.
    ///
    /// Nothing of this is needed for a run, so what the machine does not allow is said and left alone.
    pub fn prepare(leave: bool) -> Machine {
        let places = Places::of_machine();
        let mut machine = Machine {
            keeper: None,
            own: OwnCpus::open(&places.own_cpus).ok(),
            shared: None,
        };
        // Whatever this run does itself. A run that lives has its record for itself.
        if is_machines_own_namespace()
            && let Ok(found) = Record::put_back_left_over(&places)
            && found != LeftOver::Nothing
        {
            say!("{found}");
        }
        let (cpu, shares) = loop {
            let (cpus, others) = machine.free_cpus();
            if !may_take_one(&cpus, &others) {
                machine.share(&cpus, &others);
                return machine;
            }
            let shares = lost_shares(&cpus[cpus.len().saturating_sub(MOST_WATCHED)..], WATCH);
            let cpu = quieter(&shares);
            // Where others cannot be asked, there are none that could.
            if machine
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
        let choice = format!(
            "pinned to CPU {cpu} (load of others over {} ms: {})",
            WATCH.as_millis(),
            lost.join(", ")
        );
        if leave || !is_machines_own_namespace() {
            say!("{choice}; machine settings unchanged");
            return machine;
        }
        match machine.clear(&places, cpu) {
            Ok(moved) => say!("{choice}; {moved}"),
            Err(error) => say!("{choice}; nothing moved off it: {error}"),
        }
        machine
    }

    /// Why the fabric has no CPU of its own, if others are the reason.
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

    /// In the process that holds the fabric: takes over the choice made outside. Gives [`Machine::shared`].
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

    /// Moves off `cpu` what may be moved, and says what that was.
    fn clear(&mut self, places: &Places, cpu: usize) -> io::Result<String> {
        let mut record = Record::open(places)?;
        let moves = record.begin(cpu)?;
        self.keeper = Some(Keeper::start(record)?);
        let moved: Vec<Moved> = moves
            .into_iter()
            .filter(|one| one.after.apply())
            .map(|one| one.what)
            .collect();
        let unlimited = if moved.contains(&Moved::RealTimeLimit) {
            ", real-time throttling off"
        } else {
            ""
        };
        Ok(format!(
            "moved off it until the run ends: {}{unlimited} (--leave-machine: no change)",
            list(&moved)
        ))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let Some(Keeper {
            process,
            run,
            mut record,
        }) = self.keeper.take()
        else {
            return;
        };
        drop(run);
        // Whoever starts the next program finds everything as it was.
        if waitpid(process, None) != Ok(WaitStatus::Exited(process, 0))
            && let Err(error) = record.put_back()
        {
            note!("slotwise emulate: {error}");
        }
    }
}

impl Keeper {
    /// Starts it. The caller has one thread.
    fn start(mut record: Record) -> io::Result<Keeper> {
        let (end, run) = io::pipe()?;
        // Whoever asks the run's whole group to end means the run; the keeper does not hear it from its first moment on.
        let mut heard = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), Some(&mut heard))?;
        // SAFETY: the caller has one thread, so the child may do anything.
        let forked = unsafe { fork() };
        if let Ok(ForkResult::Child) = forked {
            drop(run);
            keep(end, &mut record);
        }
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&heard), None)?;
        match forked? {
            ForkResult::Parent { child: process } => Ok(Keeper { process, run, record }),
            ForkResult::Child => unreachable!("the keeper's life ends in `keep`"),
        }
    }
}

/// The keeper's life. Its status is 0 if the machine is as it was.
fn keep(mut run: io::PipeReader, record: &mut Record) -> ! {
    let _ = setsid();
    // By this name `clean-net` leaves it alone.
    let _ = prctl::set_name(c"slotwise-keeper");
    let _ = run.read(&mut [0]);
    let status = i32::from(record.put_back().is_err());
    // SAFETY: ends the process at once, as a forked one should.
    unsafe { nix::libc::_exit(status) }
}

/// `slotwise put-back`: puts back what a run left whose keeper was killed, too; says on standard output what was done.
///
/// # Errors
/// When something cannot be put back, or a run that lives has the machine its way.
pub fn put_back() -> Result<(), RunError> {
    let found = if is_machines_own_namespace() {
        Record::put_back_left_over(&Places::of_machine())?
    } else {
        LeftOver::Nothing
    };
    say!("{found}");
    Ok(())
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

/// How many threads and interrupts, with some names.
fn list(moved: &[Moved]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = moved
        .iter()
        .filter_map(|one| match one {
            Moved::Thread(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    // DAMON's thread holds a CPU longest where the kernel does not preempt itself.
    names.sort_by_key(|name| !name.starts_with("kdamond"));
    let examples = match names.len() {
        0 => String::new(),
        count if count <= SHOWN => format!(" ({})", names.join(", ")),
        _ => format!(" ({}, ...)", names[..SHOWN].join(", ")),
    };
    let interrupts = moved.iter().filter(|&one| *one == Moved::Interrupt).count();
    format!("{} kernel threads{examples} and {interrupts} interrupts", names.len())
}

/// Whether this is the PID namespace of the machine itself: in a container's, keeper and record end with the container, and what was
/// changed about the machine would stay.
fn is_machines_own_namespace() -> bool {
    /// Number of the first PID namespace, in all kernels.
    const FIRST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST))
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

    #[test]
    fn what_was_moved_is_said() {
        let thread = |name: &str| Moved::Thread(name.into());
        let moved = [
            thread("ksmd"),
            Moved::Work,
            thread("a"),
            Moved::Interrupt,
            thread("b"),
            thread("kdamond.0"),
        ];
        assert_eq!(
            list(&moved),
            "4 kernel threads (kdamond.0, ksmd, a, ...) and 1 interrupts"
        );
        assert_eq!(list(&moved[..2]), "1 kernel threads (ksmd) and 0 interrupts");
        assert_eq!(list(&[]), "0 kernel threads and 0 interrupts");
    }
}
