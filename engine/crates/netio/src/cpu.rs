// SPDX-License-Identifier: Apache-2.0
//! Which CPU a thread runs on, and when.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use slotwise_units as units;

use crate::WallClock;

/// Gives the calling thread real-time priority (SCHED_RR), so that slots are on time on a busy machine.
///
/// # Errors
/// What the kernel said; a loop without the priority is late more often but correct.
pub fn be_realtime(priority: i32) -> io::Result<()> {
    schedule(libc::SCHED_RR, priority)
}

fn schedule(policy: libc::c_int, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the pointer is to a live local; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes the calling thread's real-time priority away, if it has one: it inherits that of the thread that made it.
pub fn be_ordinary() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: as above. Giving a priority up cannot be refused.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
}

/// What the kernel says a thread has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUse {
    /// Time on a CPU; the kernel leaves out what it knows that a hypervisor or interrupts took.
    pub cpu: units::Duration,
    /// How often another thread took the CPU from it.
    pub preemptions: u64,
    /// Page faults, those without a disk's help included.
    pub faults: u64,
}

impl ThreadUse {
    /// The calling thread's, so far.
    pub fn now() -> ThreadUse {
        let cpu = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has a clock a thread");
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask for its own");
        ThreadUse {
            cpu: units::Duration::from_ns(cpu.tv_sec() as u64 * 1_000_000_000 + cpu.tv_nsec() as u64),
            preemptions: usage.involuntary_context_switches() as u64,
            faults: (usage.minor_page_faults() + usage.major_page_faults()) as u64,
        }
    }
}

/// The CPU that the fabric is to have, once it is known.
static FABRIC_CPU: OnceLock<usize> = OnceLock::new();

/// The CPUs that the process might use when it was first asked: later its threads keep to some of them.
static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();

/// The fabric takes `cpu` instead of the last one, for the rest of the process's life. Call before any [`CpuPlan::new`].
pub fn fix_fabric_cpu(cpu: usize) {
    // A second choice would let threads of the first go on where they are.
    let _ = FABRIC_CPU.set(cpu);
}

/// How a live run divides the CPUs it may use: one is the fabric's, the others handle packets for hosts. Without the
/// division, the thread that sends a packet to a host would also do the work of the host's TCP stack for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuPlan {
    fabric: Option<usize>,
    hosts: Vec<usize>,
}

impl CpuPlan {
    /// The CPUs that this process may use.
    pub fn allowed() -> &'static [usize] {
        ALLOWED.get_or_init(affinity)
    }

    /// The plan for the process's CPUs: the fabric has the one that was chosen ([`fix_fabric_cpu`]), or the last.
    pub fn new() -> CpuPlan {
        CpuPlan::of(CpuPlan::allowed(), FABRIC_CPU.get().copied())
    }

    fn of(cpus: &[usize], chosen: Option<usize>) -> CpuPlan {
        let fabric = chosen.filter(|cpu| cpus.contains(cpu)).or(cpus.last().copied());
        CpuPlan {
            fabric: fabric.filter(|_| cpus.len() > 1),
            hosts: cpus.iter().copied().filter(|&cpu| Some(cpu) != fabric).collect(),
        }
    }

    /// The fabric's CPU; `None` where one CPU does everything.
    pub fn fabric_cpu(&self) -> Option<usize> {
        self.fabric
    }

    /// Keeps the calling thread on the fabric's CPU, if there are others too.
    pub fn pin_fabric(&self) {
        if let Some(cpu) = self.fabric {
            pin(&[cpu]);
        }
    }

    /// Keeps the calling thread, and what it starts from now on, off the fabric's CPU, if there are others. Threads with real-time
    /// priority could otherwise, together with the fabric's, use up what the kernel leaves to such threads of one CPU, which would
    /// then stand still for 50 ms.
    pub fn avoid_fabric(&self) {
        if !self.hosts.is_empty() {
            pin(&self.hosts);
        }
    }

    /// Mask of the hosts' CPUs as the kernel's files have it, hexadecimal in groups of 32 bits; `None` where one CPU does everything.
    pub fn host_mask(&self) -> Option<String> {
        const GROUP_BITS: usize = 32;
        let mut groups = vec![0u32; self.hosts.last()? / GROUP_BITS + 1];
        for cpu in &self.hosts {
            groups[cpu / GROUP_BITS] |= 1 << (cpu % GROUP_BITS);
        }
        let lower = groups.iter().rev().skip(1).map(|group| format!(",{group:08x}"));
        Some(format!("{:x}{}", groups.last()?, lower.collect::<String>()))
    }
}

/// The CPUs that the calling thread may use.
fn affinity() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count())
        .filter(|&cpu| allowed.is_set(cpu).unwrap_or(false))
        .collect()
}

/// Keeps the calling thread, and what it starts from now on, off `cpus`, if it may use others. Gives the CPUs that it may use then.
/// Call before any [`CpuPlan::new`].
pub fn keep_off(cpus: &[usize]) -> Vec<usize> {
    let allowed = affinity();
    let others: Vec<usize> = allowed.iter().copied().filter(|cpu| !cpus.contains(cpu)).collect();
    if others.is_empty() {
        return allowed;
    }
    pin(&others);
    others
}

/// Refused only if a CPU went away meanwhile; any other is as good then.
fn pin(cpus: &[usize]) {
    let mut set = CpuSet::new();
    let _ = cpus
        .iter()
        .try_for_each(|&cpu| set.set(cpu))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
}

impl Default for CpuPlan {
    fn default() -> Self {
        CpuPlan::new()
    }
}

/// For each CPU, the share of `watch` that a thread with real-time priority on it did not have: a hypervisor, interrupts and the kernel's
/// own work did. The calling thread looks at one after the other, and is where and as it was afterwards.
pub fn lost_shares(cpus: &[usize], watch: Duration) -> Vec<(usize, f64)> {
    /// Only modest: the kernel's own threads of this class keep theirs.
    const PRIORITY: i32 = 20;
    /// A step of the clock longer than this is none of the loop's own.
    const GAP_NS: u64 = 5_000;
    let before = sched_getaffinity(Pid::from_raw(0));
    let clock = WallClock::start();
    // SAFETY: plain system call; 0 is the calling thread.
    let is_ordinary = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
    // Without the priority other threads count too, which is as the fabric will find it.
    let is_realtime = is_ordinary && be_realtime(PRIORITY).is_ok();
    let shares = cpus
        .iter()
        .map(|&cpu| {
            pin(&[cpu]);
            let start_ns = clock.now().ns();
            let (mut last_ns, mut lost_ns) = (start_ns, 0);
            while last_ns - start_ns < watch.as_nanos() as u64 {
                let now_ns = clock.now().ns();
                if now_ns - last_ns > GAP_NS {
                    lost_ns += now_ns - last_ns;
                }
                last_ns = now_ns;
            }
            (cpu, lost_ns as f64 / (last_ns - start_ns) as f64)
        })
        .collect();
    if is_realtime {
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
    if let Ok(before) = before {
        let _ = sched_setaffinity(Pid::from_raw(0), &before);
    }
    shares
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn mask(cpus: &[usize]) -> Option<String> {
        CpuPlan::of(cpus, None).host_mask()
    }

    #[test]
    fn the_last_cpu_is_the_fabrics() {
        assert_eq!(mask(&[]), None);
        assert_eq!(mask(&[0]), None);
        assert_eq!(mask(&[0, 1]).as_deref(), Some("1"));
        assert_eq!(mask(&[0, 1, 2, 5]).as_deref(), Some("7"));
        assert_eq!(mask(&[3, 33, 40]).as_deref(), Some("2,00000008"));
    }

    #[test]
    fn or_the_one_that_was_chosen_if_there_is_such_a_cpu() {
        let plan = CpuPlan::of(&[0, 1, 2], Some(0));
        assert_eq!((plan.fabric_cpu(), plan.host_mask().as_deref()), (Some(0), Some("6")));
        assert_eq!(CpuPlan::of(&[0, 1], Some(7)).fabric_cpu(), Some(1));
        assert_eq!(CpuPlan::of(&[3], Some(3)).fabric_cpu(), None, "it does everything");
    }

    #[test]
    fn a_thread_keeps_off_cpus_if_there_are_others() {
        thread::spawn(|| {
            let cpus = affinity();
            assert_eq!(keep_off(&cpus), cpus, "it has no other");
            let (last, others) = cpus.split_last().unwrap();
            let left = if others.is_empty() { &cpus } else { others };
            assert_eq!(keep_off(&[*last]), left);
            assert_eq!(affinity(), left);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn each_cpu_is_watched_and_the_thread_comes_back() {
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let cpus = CpuPlan::allowed();
        let shares = lost_shares(cpus, Duration::from_micros(100));
        assert!(shares.iter().map(|(cpu, _)| *cpu).eq(cpus.iter().copied()));
        assert!(shares.iter().all(|(_, share)| (0.0..=1.0).contains(share)));
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), before);
    }
}
