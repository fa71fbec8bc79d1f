// SPDX-License-Identifier: Apache-2.0
//! Who else uses the fabric's CPU: other threads, and the hypervisor.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use slotwise_observe::lateness::Neighbour;
use slotwise_units::Duration;

/// A thread by its number and its start.
type Thread = (i32, u64);

/// A look at the machine when measuring begins.
pub struct Neighbours {
    /// Keeps the view of the processes outside open.
    _view: Option<File>,
    processes: PathBuf,
    cpu: usize,
    ran: BTreeMap<Thread, Duration>,
    stolen: Option<Duration>,
}

/// /proc as it is now, to be looked at when another one lies over it. Call before [`crate::isolate::enter`].
pub fn view() -> Option<File> {
    File::open("/proc").ok()
}

impl Neighbours {
    /// Looks at the threads in `view`, or at the caller's own.
    pub fn look(cpu: usize, view: Option<File>) -> Neighbours {
        let processes = view.as_ref().map_or_else(
            || PathBuf::from("/proc"),
            |view| PathBuf::from(format!("/proc/self/fd/{}", view.as_raw_fd())),
        );
        Neighbours {
            ran: threads(&processes)
                .into_iter()
                .map(|thread| (thread.key, thread.ran))
                .collect(),
            stolen: stolen_from(cpu),
            _view: view,
            processes,
            cpu,
        }
    }

    /// Threads last seen on the CPU that have run since the first look, longest first, and for how long the hypervisor stopped it.
    pub fn since(&self) -> (Vec<Neighbour>, Option<Duration>) {
        /// Less is not worth a line.
        const LEAST: Duration = Duration::from_ms(1);
        const MOST: usize = 8;
        let mut found: Vec<Neighbour> = threads(&self.processes)
            .into_iter()
            .filter(|thread| thread.cpu == self.cpu)
            .map(|thread| Neighbour {
                ran_ns: thread
                    .ran
                    .saturating_sub(self.ran.get(&thread.key).copied().unwrap_or_default()),
                name: thread.name,
            })
            .filter(|neighbour| neighbour.ran_ns >= LEAST)
            .collect();
        found.sort_by(|a, b| b.ran_ns.cmp(&a.ran_ns).then_with(|| a.name.cmp(&b.name)));
        found.truncate(MOST);
        let stolen = stolen_from(self.cpu).zip(self.stolen);
        (found, stolen.map(|(now, before)| now.saturating_sub(before)))
    }
}

struct Seen {
    key: Thread,
    name: String,
    cpu: usize,
    ran: Duration,
}

/// All threads but this process's.
fn threads(processes: &Path) -> Vec<Seen> {
    let own = fs::read_link(processes.join("self")).unwrap_or_default();
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let is_number = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.parse::<i32>().is_ok());
    entries(processes)
        .filter(|process| is_number(&process.file_name()) && process.file_name() != own)
        .flat_map(|process| entries(&process.path().join("task")).collect::<Vec<_>>())
        .filter_map(|task| {
            let path = task.path();
            // One that ends meanwhile is not seen.
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            let ran = fs::read_to_string(path.join("schedstat")).ok()?;
            seen(&stat, &ran)
        })
        .collect()
}

/// Fields of a thread's stat, counted from its state on: when it started, and the CPU that it was last on.
const START: usize = 19;
const CPU: usize = 36;

/// Reads /proc/PID/task/TID/stat and schedstat.
fn seen(stat: &str, ran: &str) -> Option<Seen> {
    // A name may have blanks and parentheses in it.
    let (head, tail) = stat.rsplit_once(") ")?;
    let (id, name) = head.split_once(" (")?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    Some(Seen {
        key: (id.parse().ok()?, fields.get(START)?.parse().ok()?),
        name: name.into(),
        cpu: fields.get(CPU)?.parse().ok()?,
        ran: Duration::from_ns(ran.split_ascii_whitespace().next()?.parse().ok()?),
    })
}

/// Time for which the hypervisor ran something else when this CPU had work, as far as it tells.
fn stolen_from(cpu: usize) -> Option<Duration> {
    stolen(&fs::read_to_string("/proc/stat").ok()?, cpu)
}

/// Reads it from /proc/stat.
fn stolen(stat: &str, cpu: usize) -> Option<Duration> {
    const STOLEN: usize = 8;
    /// What the kernel's files count in, on every machine.
    const TICK: Duration = Duration::from_ms(10);
    let name = format!("cpu{cpu}");
    let mut lines = stat
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.first() == Some(&name.as_str()))?;
    Some(fields.get(STOLEN)?.parse::<u64>().ok()? * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_from_the_kernels_files() {
        let mut fields = ["0"; 50];
        (fields[0], fields[START], fields[CPU]) = ("I", "4711", "1");
        let stat = format!("77 (a b) c) {}", fields.join(" "));
        let thread = seen(&stat, "123456 7 8\n").unwrap();
        assert_eq!(
            (thread.key, thread.name.as_str(), thread.cpu, thread.ran.ns()),
            ((77, 4711), "a b) c", 1, 123_456)
        );
        assert!(seen("77 (cut off) I 2", "1 2 3").is_none());
        assert!(seen(&stat, "").is_none());
    }

    #[test]
    fn stolen_time_is_the_cpus_own() {
        let stat = "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 3 0 0\ncpu1 1 2 3 4 5 6 7 5 0 0\nintr 5\n";
        assert_eq!(stolen(stat, 1), Some(Duration::from_ms(50)));
        assert_eq!(stolen(stat, 2), None);
    }

    #[test]
    fn this_machines_threads_can_be_read() {
        let neighbours = Neighbours::look(0, view());
        let (found, _) = neighbours.since();
        assert!(found.is_sorted_by(|a, b| a.ran_ns >= b.ran_ns));
    }
}
