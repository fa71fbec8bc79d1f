// SPDX-License-Identifier: Apache-2.0
//! Which CPU a thread runs on, and when.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Gives the calling thread real-time priority (SCHED_RR), so that slots are on time on a busy machine.
///
/// # Errors
/// What the kernel said; a loop without the priority is late more often but correct.
pub fn be_realtime(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the pointer is to a live local; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes the calling thread's real-time priority away, if it has one: it inherits that of the thread that made it.
pub fn be_ordinary() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: as above. Giving a priority up cannot be refused.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameters) };
}

/// How a live run divides the CPUs it may use: the last one is the fabric's, the others handle packets for hosts. Without the
/// division, the thread that sends a packet to a host would also do the work of the host's TCP stack for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuPlan {
    cpus: Vec<usize>,
}

impl CpuPlan {
    /// The plan for the calling thread's CPUs.
    pub fn new() -> CpuPlan {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        CpuPlan {
            cpus: (0..CpuSet::count())
                .filter(|&cpu| allowed.is_set(cpu).unwrap_or(false))
                .collect(),
        }
    }

    /// Keeps the calling thread on the fabric's CPU, if there are others too.
    pub fn pin_fabric(&self) {
        if let [_, .., last] = self.cpus[..] {
            pin(&[last]);
        }
    }

    /// Keeps the calling thread, and what it starts from now on, off the fabric's CPU, if there are others. Threads with real-time
    /// priority could otherwise, together with the fabric's, use up what the kernel leaves to such threads of one CPU, which would
    /// then stand still for 50 ms.
    pub fn avoid_fabric(&self) {
        if let [others @ .., _] = &self.cpus[..]
            && !others.is_empty()
        {
            pin(others);
        }
    }

    /// Mask of the hosts' CPUs as the kernel's files have it, hexadecimal in groups of 32 bits; `None` where one CPU does everything.
    pub fn host_mask(&self) -> Option<String> {
        const GROUP_BITS: usize = 32;
        let (_, hosts) = self.cpus.split_last()?;
        let mut groups = vec![0u32; hosts.last()? / GROUP_BITS + 1];
        for cpu in hosts {
            groups[cpu / GROUP_BITS] |= 1 << (cpu % GROUP_BITS);
        }
        let lower = groups.iter().rev().skip(1).map(|group| format!(",{group:08x}"));
        Some(format!("{:x}{}", groups.last()?, lower.collect::<String>()))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(cpus: &[usize]) -> Option<String> {
        CpuPlan { cpus: cpus.to_vec() }.host_mask()
    }

    #[test]
    fn the_last_cpu_is_the_fabrics() {
        assert_eq!(mask(&[]), None);
        assert_eq!(mask(&[0]), None);
        assert_eq!(mask(&[0, 1]).as_deref(), Some("1"));
        assert_eq!(mask(&[0, 1, 2, 5]).as_deref(), Some("7"));
        assert_eq!(mask(&[3, 33, 40]).as_deref(), Some("2,00000008"));
    }
}
