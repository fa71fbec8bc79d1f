// SPDX-License-Identifier: Apache-2.0
//! What a live run changes about the machine so that the fabric has a CPU of its own, and how all of it is put back.
//!
//! Kernel threads, interrupts and the kernel's unbound work move off the fabric's CPU, and the kernel does not stop real-time
//! threads that run for long. Before the first change, how everything was is
//! written to a record, and a process of its own, the keeper, is started. It puts everything back when the run has ended, however it
//! ended. If the keeper is killed as well, the next run finds the record and puts things back before it begins.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, setsid};
use serde::{Deserialize, Serialize};
use slotwise_netio::{CpuPlan, fix_fabric_cpu, lost_shares};

/// The record; it goes with a reboot, as the changes do.
const RECORD: &str = "/run/slotwise-machine.json";
/// Which CPU the run's own process is to use.
const FABRIC_CPU: &str = "SLOTWISE_FABRIC_CPU";
/// CPUs for the kernel's work that is bound to none.
const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
const INTERRUPTS: &str = "/proc/irq";
/// How long real-time threads may run of each second, us; -1: as long as they want. The fabric's thread rests of its own accord, and
/// being stopped for milliseconds beside is what made most slots late.
const REAL_TIME_LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const NO_LIMIT: &str = "-1";

/// Each CPU is watched for so long before one is chosen.
const WATCH: Duration = Duration::from_millis(100);
/// At most so many are.
const MOST_WATCHED: usize = 8;
/// A CPU must lose less time than the last one by this share to be taken in its place.
const WORTH_IT: f64 = 0.005;

/// Flags of a process in /proc/PID/stat: a thread of the kernel; one that may not be moved.
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
/// kthreadd, which all others come from.
const KTHREADD: i32 = 2;

/// Where something of the kernel's may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Setting {
    /// A kernel thread, told from a later one of the same number by its start, and its CPUs.
    Thread {
        id: i32,
        start_ticks: u64,
        cpus: Vec<usize>,
    },
    /// A file of the kernel and its text.
    File { path: PathBuf, text: String },
}

impl Setting {
    /// Makes it so. False if the kernel refused, or the thread is gone.
    fn apply(&self) -> bool {
        match self {
            Setting::Thread { id, start_ticks, cpus } => {
                let is_same = KernelThread::read(*id).is_some_and(|thread| thread.start_ticks == *start_ticks);
                let mut set = CpuSet::new();
                is_same
                    && cpus.iter().all(|&cpu| set.set(cpu).is_ok())
                    && sched_setaffinity(Pid::from_raw(*id), &set).is_ok()
            }
            Setting::File { path, text } => fs::write(path, text).is_ok(),
        }
    }
}

/// Something to be moved.
struct Move {
    what: Moved,
    before: Setting,
    after: Setting,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Moved {
    /// A kernel thread, by its name.
    Thread(String),
    Interrupt,
    /// The kernel's work that is bound to no CPU.
    Work,
    /// The limit of real-time threads, which is off.
    RealTimeLimit,
}

/// The machine as a run wants it, for as long as this lives.
pub struct Machine {
    /// The keeper, and the pipe whose end tells it that the run is over.
    keeper: Option<(Pid, io::PipeWriter)>,
}

impl Machine {
    /// Chooses the fabric's CPU and keeps others off it; says on standard output what it did. Call with one thread.
    ///
    /// Nothing of this is needed for a run, so what the machine does not allow is said and left alone.
    pub fn prepare(leave: bool) -> Machine {
        let mut machine = Machine { keeper: None };
        // Whatever this run does itself; a run that lives has its record for itself.
        let _ = put_back_left_over(Path::new(RECORD));
        let cpus = CpuPlan::allowed();
        if cpus.len() < 2 {
            return machine;
        }
        let watched = &cpus[cpus.len().saturating_sub(MOST_WATCHED)..];
        let shares = lost_shares(watched, WATCH);
        let cpu = quieter(&shares);
        fix_fabric_cpu(cpu);
        let lost: Vec<String> = shares
            .iter()
            .map(|(cpu, share)| format!("{cpu}: {:.1} %", share * 100.0))
            .collect();
        let choice = format!(
            "the fabric takes CPU {cpu} (time that others took of each in {} ms, {})",
            WATCH.as_millis(),
            lost.join(", ")
        );
        if leave || !is_machines_own_namespace() {
            println!("{choice}; the machine is left as it is");
            return machine;
        }
        match machine.clear(cpu) {
            Ok(moved) => println!("{choice}; {moved}"),
            Err(error) => println!("{choice}; nothing else was moved off it: {error}"),
        }
        machine
    }

    /// Environment of the process that holds the fabric.
    pub fn environment() -> Option<(&'static str, OsString)> {
        CpuPlan::new()
            .fabric_cpu()
            .map(|cpu| (FABRIC_CPU, cpu.to_string().into()))
    }

    /// In the process that holds the fabric: takes over the choice made outside.
    pub fn take_over() {
        let cpu = std::env::var(FABRIC_CPU).ok().and_then(|text| text.parse().ok());
        if let Some(cpu) = cpu {
            fix_fabric_cpu(cpu);
        }
    }

    /// Moves off `cpu` what may be moved, and says what that was.
    fn clear(&mut self, cpu: usize) -> io::Result<String> {
        let mut record = open_record(Path::new(RECORD))?;
        let moves: Vec<Move> = thread_moves(cpu)
            .into_iter()
            .chain(file_moves(cpu))
            .chain(limit_off(Path::new(REAL_TIME_LIMIT)))
            .collect();
        let before: Vec<Setting> = moves.iter().map(|one| one.before.clone()).collect();
        write_record(&mut record, &before)?;
        let (end, run) = io::pipe()?;
        // Whoever asks the run's whole group to end means the run; the keeper does not hear it from its first moment on.
        let mut heard = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), Some(&mut heard))?;
        // SAFETY: the caller has one thread, so the child may do anything.
        let forked = unsafe { fork() };
        if let Ok(ForkResult::Child) = forked {
            drop(run);
            keep(end, record, &before);
        }
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&heard), None)?;
        if let ForkResult::Parent { child } = forked? {
            self.keeper = Some((child, run));
        }
        let moved: Vec<Moved> = moves
            .into_iter()
            .filter(|one| one.after.apply())
            .map(|one| one.what)
            .collect();
        let unlimited = if moved.contains(&Moved::RealTimeLimit) {
            ", and the kernel does not limit real-time threads"
        } else {
            ""
        };
        Ok(format!(
            "until the run ends, {} keep off it{unlimited} (--leave-machine: nothing is changed)",
            list(&moved)
        ))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some((keeper, run)) = self.keeper.take() {
            drop(run);
            // Whoever starts the next program finds everything as it was.
            let _ = waitpid(keeper, None);
        }
    }
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

/// The keeper's life.
fn keep(mut run: io::PipeReader, mut record: File, before: &[Setting]) -> ! {
    let _ = setsid();
    // By this name `clean-net` leaves it alone.
    let _ = prctl::set_name(c"slotwise-keeper");
    let _ = run.read(&mut [0]);
    put_back(before);
    let _ = write_record(&mut record, &[]);
    // SAFETY: ends the process at once, as a forked one should.
    unsafe { nix::libc::_exit(0) }
}

/// Puts back what a run left whose keeper was killed, too.
///
/// # Errors
/// When a run has the record, or it cannot be read or written.
fn put_back_left_over(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut record = open_record(path)?;
    put_back(&read_record(&mut record)?);
    write_record(&mut record, &[])
}

/// Whether this is the PID namespace of the machine itself: in a container's, keeper and record end with the container, and what was
/// changed about the machine would stay.
fn is_machines_own_namespace() -> bool {
    /// Number of the first PID namespace, in all kernels.
    const FIRST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST))
}

/// The record, which only one run at a time may have.
fn open_record(path: &Path) -> io::Result<File> {
    let record = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    record
        .try_lock()
        .map_err(|_| io::Error::other("another run is having the machine its way"))?;
    Ok(record)
}

/// What a run left that could not put it back. A record that nobody can read is of no use.
fn read_record(record: &mut File) -> io::Result<Vec<Setting>> {
    const MOST_BYTES: u64 = 16 << 20;
    let mut text = Vec::new();
    record.rewind()?;
    record.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn write_record(record: &mut File, before: &[Setting]) -> io::Result<()> {
    record.set_len(0)?;
    record.rewind()?;
    if !before.is_empty() {
        record.write_all(&serde_json::to_vec(before)?)?;
    }
    Ok(())
}

/// A thread that has ended and a file that is gone need nothing.
fn put_back(before: &[Setting]) {
    for setting in before {
        setting.apply();
    }
}

/// A thread of the kernel that may be moved.
#[derive(Debug, PartialEq, Eq)]
struct KernelThread {
    name: String,
    start_ticks: u64,
}

impl KernelThread {
    fn read(id: i32) -> Option<KernelThread> {
        KernelThread::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Reads /proc/PID/stat; `None` for a process, and for a thread that stays where it is.
    fn parse(stat: &str) -> Option<KernelThread> {
        const FLAGS: usize = 6;
        const START: usize = 19;
        // A name may have blanks and parentheses in it.
        let (head, tail) = stat.rsplit_once(") ")?;
        let (_, name) = head.split_once(" (")?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        let flags: u64 = fields.get(FLAGS)?.parse().ok()?;
        (flags & PF_KTHREAD != 0 && flags & PF_NO_SETAFFINITY == 0).then_some(KernelThread {
            name: name.into(),
            start_ticks: fields.get(START)?.parse().ok()?,
        })
    }
}

/// Kernel threads that may run on `cpu` and on others.
fn thread_moves(cpu: usize) -> Vec<Move> {
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|&id| id != KTHREADD)
        .filter_map(|id| {
            let KernelThread { name, start_ticks } = KernelThread::read(id)?;
            let set = sched_getaffinity(Pid::from_raw(id)).ok()?;
            let cpus: Vec<usize> = (0..CpuSet::count())
                .filter(|&one| set.is_set(one).unwrap_or(false))
                .collect();
            let others: Vec<usize> = cpus.iter().copied().filter(|&one| one != cpu).collect();
            let setting = |cpus| Setting::Thread { id, start_ticks, cpus };
            (!others.is_empty() && others.len() < cpus.len()).then(|| Move {
                what: Moved::Thread(name),
                before: setting(cpus),
                after: setting(others),
            })
        })
        .collect()
}

/// Masks of CPUs in the kernel's files that have `cpu` and others.
fn file_moves(cpu: usize) -> Vec<Move> {
    let interrupts = fs::read_dir(INTERRUPTS).into_iter().flatten().flatten();
    let interrupts = interrupts.map(|entry| (Moved::Interrupt, entry.path().join("smp_affinity")));
    interrupts
        .chain([(Moved::Work, PathBuf::from(WORKQUEUES))])
        .filter_map(|(what, path)| {
            let text = fs::read_to_string(&path).ok()?.trim_end().to_owned();
            let rest = without(&text, cpu)?;
            let setting = |text| Setting::File {
                path: path.clone(),
                text,
            };
            Some(Move {
                what,
                before: setting(text),
                after: setting(rest),
            })
        })
        .collect()
}

/// Takes the limit of real-time threads away, if there is one.
fn limit_off(path: &Path) -> Option<Move> {
    let text = fs::read_to_string(path).ok()?.trim_end().to_owned();
    let setting = |text: &str| Setting::File {
        path: path.to_owned(),
        text: text.into(),
    };
    (text != NO_LIMIT).then(|| Move {
        what: Moved::RealTimeLimit,
        before: setting(&text),
        after: setting(NO_LIMIT),
    })
}

/// A mask in the kernel's writing, hexadecimal in groups of 32 bits, without `cpu`; `None` if it has not got it, or nothing else.
fn without(mask: &str, cpu: usize) -> Option<String> {
    const GROUP_BITS: usize = 32;
    let groups: Result<Vec<u32>, _> = mask.split(',').map(|group| u32::from_str_radix(group, 16)).collect();
    let mut groups = groups.ok()?;
    let place = groups.len().checked_sub(1 + cpu / GROUP_BITS)?;
    let bit = 1 << (cpu % GROUP_BITS);
    if groups[place] & bit == 0 {
        return None;
    }
    groups[place] &= !bit;
    let rest: Vec<String> = groups.iter().map(|group| format!("{group:08x}")).collect();
    groups.iter().any(|&group| group != 0).then(|| rest.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_lose_one_cpu_but_never_the_last() {
        assert_eq!(without("3", 1).as_deref(), Some("00000001"));
        assert_eq!(without("3", 0).as_deref(), Some("00000002"));
        assert_eq!(without("ff,80000001", 31).as_deref(), Some("000000ff,00000001"));
        assert_eq!(without("1,00000000", 32), None, "nothing would be left");
        assert_eq!(without("1", 1), None);
        assert_eq!(without("1", 40), None);
        assert_eq!(without("no mask", 0), None);
    }

    #[test]
    fn only_threads_of_the_kernel_that_may_move_are_moved() {
        let stat = |flags: u64| {
            format!("77 (kdamond.0) (x) I 2 0 0 0 -1 {flags} 0 0 0 0 0 300 0 0 20 0 1 0 4711 0 0 0 0 0 0 0 0 0 0")
        };
        let thread = KernelThread::parse(&stat(PF_KTHREAD)).unwrap();
        assert_eq!((thread.name.as_str(), thread.start_ticks), ("kdamond.0) (x", 4711));
        assert_eq!(KernelThread::parse(&stat(PF_KTHREAD | PF_NO_SETAFFINITY)), None);
        assert_eq!(KernelThread::parse(&stat(0x40_0000)), None, "a process");
        assert_eq!(KernelThread::parse("77 (cut off"), None);
    }

    #[test]
    fn the_last_cpu_is_taken_unless_another_is_clearly_quieter() {
        assert_eq!(quieter(&[(0, 0.007), (1, 0.011)]), 1);
        assert_eq!(quieter(&[(0, 0.001), (1, 0.011)]), 0);
        assert_eq!(quieter(&[(2, 0.5)]), 2);
    }

    #[test]
    fn a_limit_is_taken_away_once_and_can_be_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limit");
        fs::write(&path, "950000\n").unwrap();
        let Move { before, after, .. } = limit_off(&path).unwrap();
        assert!(after.apply());
        assert_eq!(fs::read_to_string(&path).unwrap(), "-1");
        assert!(limit_off(&path).is_none(), "there is none");
        put_back(&[before]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "950000");
        assert!(limit_off(&directory.path().join("nowhere")).is_none());
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

    #[test]
    fn a_record_is_one_runs_and_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        let mut record = open_record(&path).unwrap();
        assert_eq!(read_record(&mut record).unwrap(), []);
        let file = directory.path().join("mask");
        fs::write(&file, "1").unwrap();
        let before = [
            Setting::Thread {
                id: i32::MAX,
                start_ticks: 1,
                cpus: vec![0, 1],
            },
            Setting::File {
                path: file.clone(),
                text: "3".into(),
            },
        ];
        write_record(&mut record, &before).unwrap();
        assert_eq!(read_record(&mut record).unwrap(), before);
        assert!(open_record(&path).is_err(), "it is taken");
        put_back(&before);
        assert_eq!(fs::read_to_string(file).unwrap(), "3");
        write_record(&mut record, &[]).unwrap();
        assert_eq!(read_record(&mut record).unwrap(), []);
        fs::write(directory.path().join("mask"), "1").unwrap();
        write_record(&mut record, &before).unwrap();
        assert!(put_back_left_over(&path).is_err(), "its run lives");
        drop(record);
        put_back_left_over(&path).unwrap();
        assert_eq!(
            fs::read_to_string(directory.path().join("mask")).unwrap(),
            "3",
            "its keeper was killed"
        );
        assert_eq!(read_record(&mut open_record(&path).unwrap()).unwrap(), []);
        fs::write(&path, "no record").unwrap();
        assert_eq!(read_record(&mut open_record(&path).unwrap()).unwrap(), []);
    }
}
