// SPDX-License-Identifier: Apache-2.0
//! What of the machine can be changed for a run, and where the kernel has it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// No limit of real-time threads.
const NO_LIMIT: &str = "-1";
/// The mask of an interrupt's CPUs, in its directory.
const INTERRUPT_MASK: &str = "smp_affinity";

/// Flags of a process in /proc/PID/stat: a thread of the kernel; one that may not be moved.
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
/// kthreadd, which all others come from.
const KTHREADD: i32 = 2;

/// Where something of the kernel's may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// A kernel thread, told from a later one of the same number by its start, and its CPUs.
    Thread {
        id: i32,
        start_ticks: u64,
        cpus: Vec<usize>,
    },
    /// A file of the kernel and its text.
    File { path: PathBuf, text: String },
}

impl fmt::Display for Setting {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Setting::Thread { id, .. } => write!(to, "kernel thread {id}"),
            Setting::File { path, .. } => write!(to, "{}", path.display()),
        }
    }
}

impl Setting {
    /// Makes it so. False if the kernel refused, or the thread is gone.
    pub fn apply(&self) -> bool {
        match self {
            Setting::Thread { id, cpus, .. } => {
                let mut set = CpuSet::new();
                self.is_there()
                    && cpus.iter().all(|&cpu| set.set(cpu).is_ok())
                    && sched_setaffinity(Pid::from_raw(*id), &set).is_ok()
            }
            Setting::File { path, text } => self.is_there() && fs::write(path, text).is_ok(),
        }
    }

    /// Makes it so, if there is still what it is about. False if it is otherwise then.
    pub fn put_back(&self) -> bool {
        self.apply() || !self.is_there() || self.is_so()
    }

    /// A thread that has ended and a file that is gone need nothing.
    fn is_there(&self) -> bool {
        match self {
            Setting::Thread { id, start_ticks, .. } => {
                KernelThread::read(*id).is_some_and(|thread| thread.start_ticks == *start_ticks)
            }
            Setting::File { path, .. } => path.exists(),
        }
    }

    /// Some interrupts cannot be moved, neither away nor back.
    fn is_so(&self) -> bool {
        match self {
            Setting::Thread { id, cpus, .. } => cpus_of(*id).is_some_and(|now| now == *cpus),
            Setting::File { path, text } => read(path).is_some_and(|now| now == *text),
        }
    }
}

/// Something to be moved.
#[derive(Debug)]
pub struct Move {
    pub what: Moved,
    pub before: Setting,
    pub after: Setting,
}

impl Move {
    fn of_file(what: Moved, path: PathBuf, (before, after): (String, String)) -> Move {
        let setting = |text| Setting::File {
            path: path.clone(),
            text,
        };
        Move {
            what,
            before: setting(before),
            after: setting(after),
        }
    }
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// A kernel thread, by its name.
    Thread(String),
    Interrupt,
    /// The kernel's work that is bound to no CPU.
    Work,
    /// The limit of real-time threads, which is off.
    RealTimeLimit,
}

/// Where the kernel's settings are, and the record of them.
#[derive(Debug, Clone)]
pub struct Places {
    /// It goes with a reboot, as the changes do.
    pub record: PathBuf,
    /// Which CPUs live runs have for themselves.
    pub own_cpus: PathBuf,
    /// A directory for each thread.
    threads: PathBuf,
    /// A directory for each interrupt.
    interrupts: PathBuf,
    /// CPUs for the kernel's work that is bound to none.
    workqueues: PathBuf,
    /// How long real-time threads may run of each second, us; -1: as long as they want. The fabric's thread rests of its own accord,
    /// and being stopped for milliseconds beside is what made most slots late.
    real_time_limit: PathBuf,
}

impl Places {
    /// Those of this machine.
    pub fn of_machine() -> Places {
        Places {
            record: "/run/slotwise-machine.json".into(),
            own_cpus: "/run/slotwise-cpus".into(),
            threads: "/proc".into(),
            interrupts: "/proc/irq".into(),
            workqueues: "/sys/devices/virtual/workqueue/cpumask".into(),
            real_time_limit: "/proc/sys/kernel/sched_rt_runtime_us".into(),
        }
    }

    /// Files that stand for the kernel's.
    #[cfg(test)]
    pub fn below(directory: &Path) -> Places {
        Places {
            record: directory.join("record"),
            own_cpus: directory.join("cpus"),
            threads: directory.join("proc"),
            interrupts: directory.join("irq"),
            workqueues: directory.join("workqueues"),
            real_time_limit: directory.join("limit"),
        }
    }

    /// What is to change so that `cpu` is left to the fabric.
    pub fn moves(&self, cpu: usize) -> Vec<Move> {
        let mut moves = self.thread_moves(cpu);
        moves.extend(self.file_moves(cpu));
        moves.extend(self.limit_off());
        moves
    }

    /// Whether a setting is one of those that runs change, with a value that it can have.
    pub fn has(&self, setting: &Setting) -> bool {
        match setting {
            Setting::Thread { cpus, .. } => !cpus.is_empty() && cpus.iter().all(|&cpu| cpu < CpuSet::count()),
            Setting::File { path, text } if *path == self.real_time_limit => {
                text.parse::<i64>().is_ok_and(|limit_us| limit_us >= -1)
            }
            Setting::File { path, text } => {
                (*path == self.workqueues || self.is_of_interrupt(path)) && groups(text).is_some()
            }
        }
    }

    fn is_of_interrupt(&self, path: &Path) -> bool {
        let number = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let number = number.and_then(|number| number.parse::<u32>().ok());
        number.is_some_and(|number| *path == self.interrupt_mask(&number.to_string()))
    }

    fn interrupt_mask(&self, number: &str) -> PathBuf {
        self.interrupts.join(number).join(INTERRUPT_MASK)
    }

    /// Kernel threads that may run on `cpu` and on others.
    fn thread_moves(&self, cpu: usize) -> Vec<Move> {
        let ids = numbers(&self.threads).filter_map(|number| number.parse::<i32>().ok());
        ids.filter(|&id| id != KTHREADD)
            .filter_map(|id| {
                let KernelThread { name, start_ticks } = KernelThread::read(id)?;
                let cpus = cpus_of(id)?;
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
    fn file_moves(&self, cpu: usize) -> impl Iterator<Item = Move> {
        let interrupts = numbers(&self.interrupts).map(move |number| (Moved::Interrupt, self.interrupt_mask(&number)));
        interrupts
            .chain([(Moved::Work, self.workqueues.clone())])
            .filter_map(move |(what, path)| {
                let text = read(&path)?;
                let rest = without(&text, cpu)?;
                Some(Move::of_file(what, path, (text, rest)))
            })
    }

    /// Takes the limit of real-time threads away, if there is one.
    fn limit_off(&self) -> Option<Move> {
        let text = read(&self.real_time_limit)?;
        let path = self.real_time_limit.clone();
        (text != NO_LIMIT).then(|| Move::of_file(Moved::RealTimeLimit, path, (text, NO_LIMIT.into())))
    }
}

/// The numbers among the names in a directory.
fn numbers(directory: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// The CPUs that a thread may run on.
fn cpus_of(id: i32) -> Option<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(id)).ok()?;
    let cpus = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false));
    Some(cpus.collect())
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

/// A mask in the kernel's writing: hexadecimal in groups of 32 bits, the highest first.
fn groups(mask: &str) -> Option<Vec<u32>> {
    let groups = mask.split(',').map(|group| u32::from_str_radix(group, 16));
    groups.collect::<Result<_, _>>().ok()
}

/// A mask without `cpu`; `None` if it has not got it, or nothing else.
fn without(mask: &str, cpu: usize) -> Option<String> {
    const GROUP_BITS: usize = 32;
    let mut groups = groups(mask)?;
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
    fn a_limit_is_taken_away_once() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::below(directory.path());
        assert!(places.limit_off().is_none(), "the kernel has none");
        fs::write(&places.real_time_limit, "950000\n").unwrap();
        assert!(places.limit_off().unwrap().after.apply());
        assert_eq!(fs::read_to_string(&places.real_time_limit).unwrap(), "-1");
        assert!(places.limit_off().is_none(), "there is none");
    }

    #[test]
    fn a_thread_that_is_another_one_is_left_alone() {
        // Process 1 is no thread of the kernel.
        let setting = Setting::Thread {
            id: 1,
            start_ticks: 0,
            cpus: vec![0],
        };
        assert!(!setting.apply());
        assert!(setting.put_back(), "there is nothing to do");
    }
}
