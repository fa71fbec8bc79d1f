// SPDX-License-Identifier: Apache-2.0
//! The wall-clock driver: a thread that paces a fabric's events, joins its hosts' interfaces to it, and runs what the
//! P4Runtime server wants done between two events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::Value;
use slotwise_fabric::{Fabric, FrameRecord, Invariant};
use slotwise_netio::{CpuPlan, Ports, Waker, WallClock, be_realtime};
use slotwise_scenario::{Device, LinkChange};

use crate::links::LinkWatch;
use crate::report::{Lateness, SwitchAnswers};
use crate::run::RunError;
use crate::switches::Switches;

/// Modest among the real-time priorities: kernel threads of the same class keep theirs.
const PRIORITY: i32 = 20;

/// The loop looks after its events and ports at most this often: what falls together costs one timer and one wake-up, which
/// are most of what it costs, and lateness stays far below a slot.
const ROUND_NS: u64 = 40_000;

/// Longest sleep, so that a stop is noticed even if a wake-up were lost.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// An access port of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessPort {
    /// Number of the edge.
    pub edge: u16,
    /// Its port.
    pub port: u16,
}

/// The hosts' side of the fabric.
pub struct Access {
    ports: Ports,
    /// Which access port is behind each.
    places: Vec<AccessPort>,
    links: LinkWatch,
}

impl Access {
    /// Opens the interfaces of a list of {"edge", "port", "interface"} and watches over their links.
    ///
    /// # Errors
    /// When the list is none, or an interface is missing.
    pub fn open(list: &Value, namespace: Option<File>) -> Result<Access, RunError> {
        #[derive(serde::Deserialize)]
        struct Entry {
            edge: u16,
            port: u16,
            interface: String,
        }
        let entries: Vec<Entry> =
            serde_json::from_value(list.clone()).map_err(|error| format!("list of ports: {error}"))?;
        let interfaces: Vec<&str> = entries.iter().map(|entry| entry.interface.as_str()).collect();
        let ports = Ports::open(&interfaces, namespace.as_ref().map(|file| file.as_fd()))?;
        let (places, names) = entries
            .into_iter()
            .map(|Entry { edge, port, interface }| (AccessPort { edge, port }, interface))
            .unzip();
        let links = LinkWatch::start(names, namespace)?;
        Ok(Access { ports, places, links })
    }

    /// Wakes the thread that waits for these ports.
    pub fn waker(&self) -> Waker {
        self.ports.waker()
    }
}

/// What other threads see of a running fabric.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    begun: AtomicBool,
    now_ns: AtomicU64,
    violations: AtomicU64,
    lateness_p99_ns: AtomicU64,
}

/// A fabric that lives on a thread of its own.
pub struct Realtime {
    shared: Arc<Shared>,
    waker: Waker,
    thread: JoinHandle<io::Result<Outcome>>,
    frames: Receiver<FrameRecord>,
    changes: Sender<LinkChange>,
}

/// What is left when it has stopped.
pub struct Outcome {
    /// The fabric as it stood at the end.
    pub fabric: Fabric,
    /// Over the time in which lateness was measured.
    pub lateness: Lateness,
    /// Frames for hosts that the kernel did not take.
    pub refused: u64,
    /// How switches outside answered, if they were.
    pub switch_answers: Option<SwitchAnswers>,
    /// Why the thread runs without real-time priority, if it does.
    pub not_realtime: Option<io::Error>,
}

impl Realtime {
    /// Starts the fabric's time now; `switches` are served between events.
    pub fn start(fabric: Fabric, slot_ns: u64, access: Access, switches: Switches) -> io::Result<Realtime> {
        let Access { ports, places, links } = access;
        let shared = Arc::new(Shared::default());
        let waker = ports.waker();
        let (frame_sender, frames) = channel();
        let (changes, asked_for) = channel();
        let driver = Driver {
            fabric,
            ports,
            index: places
                .iter()
                .enumerate()
                .map(|(index, place)| (*place, index))
                .collect(),
            places,
            links,
            switches,
            clock: WallClock::start(),
            slot_lateness: SlotLateness::new(slot_ns),
            shared: shared.clone(),
            frames: frame_sender,
            changes: asked_for,
        };
        let thread = thread::Builder::new()
            .name("fabric".into())
            .spawn(move || driver.run())?;
        Ok(Realtime {
            shared,
            waker,
            thread,
            frames,
            changes,
        })
    }

    /// Fabric time.
    pub fn now_ns(&self) -> u64 {
        self.shared.now_ns.load(Ordering::Relaxed)
    }

    /// Violated invariants so far.
    pub fn violations(&self) -> u64 {
        self.shared.violations.load(Ordering::Relaxed)
    }

    /// 99th percentile of the slots' lateness so far.
    pub fn lateness_p99_ns(&self) -> u64 {
        self.shared.lateness_p99_ns.load(Ordering::Relaxed)
    }

    /// The first phase begins: from now on lateness is measured, and the scenario's link changes count from here.
    pub fn begin(&self) {
        self.shared.begun.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Changes a fibre as soon as the thread sees it; its `at_ms` is not looked at.
    pub fn change_link(&self, change: LinkChange) {
        // A thread that has ended is found by `has_ended`.
        let _ = self.changes.send(change);
        self.waker.wake();
    }

    /// Frames that have ended since the last call.
    pub fn frames(&self) -> impl Iterator<Item = FrameRecord> + '_ {
        self.frames.try_iter()
    }

    /// Whether the thread has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread and hands over what it had, with the frames not yet taken.
    pub fn stop(self) -> io::Result<(Outcome, Vec<FrameRecord>)> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        let outcome = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the fabric's thread panicked"))??;
        Ok((outcome, self.frames.try_iter().collect()))
    }
}

struct Driver {
    fabric: Fabric,
    ports: Ports,
    places: Vec<AccessPort>,
    index: BTreeMap<AccessPort, usize>,
    links: LinkWatch,
    switches: Switches,
    clock: WallClock,
    slot_lateness: SlotLateness,
    shared: Arc<Shared>,
    frames: Sender<FrameRecord>,
    changes: Receiver<LinkChange>,
}

impl Driver {
    fn run(mut self) -> io::Result<Outcome> {
        CpuPlan::new().pin_fabric();
        let not_realtime = be_realtime(PRIORITY).err();
        let mut begun = false;
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now_ns();
            if !begun && self.shared.begun.load(Ordering::Relaxed) {
                begun = true;
                self.fabric.schedule_link_changes(now_ns);
            }
            if begun
                && let Some(due_ns) = self.fabric.next_event_at().filter(|&due_ns| due_ns <= now_ns)
                && let Some(p99_ns) = self.slot_lateness.record(due_ns, now_ns)
            {
                self.shared.lateness_p99_ns.store(p99_ns, Ordering::Relaxed);
            }
            self.fabric.run_until(now_ns);
            self.hand_over();
            self.switches.serve(&mut self.fabric, &self.clock)?;
            self.clock.sleep_until(now_ns + ROUND_NS);
            let wait_ns = self
                .fabric
                .next_event_at()
                .map(|due_ns| due_ns.saturating_sub(self.clock.now_ns()));
            let wait = wait_ns.map_or(LONGEST_SLEEP, Duration::from_nanos).min(LONGEST_SLEEP);
            let Driver {
                ports,
                places,
                fabric,
                clock,
                ..
            } = &mut self;
            ports.poll(Some(wait), &mut |index, frame| {
                let AccessPort { edge, port } = places[index];
                fabric
                    .inject_host(clock.now_ns(), edge, port, frame)
                    .expect("access ports are the scenario's");
            })?;
        }
        let refused = (0..self.places.len()).map(|index| self.ports.refused(index)).sum();
        let switch_answers = self.switches.finish(&mut self.fabric, &self.clock);
        Ok(Outcome {
            fabric: self.fabric,
            lateness: self.slot_lateness.summary(),
            refused,
            switch_answers,
            not_realtime,
        })
    }

    /// Gives hosts, controller and spectators what the fabric has for them.
    fn hand_over(&mut self) {
        while let Some(output) = self.fabric.poll_host_output() {
            if let Some(&index) = self.index.get(&AccessPort {
                edge: output.edge,
                port: output.port,
            }) {
                self.ports.send(index, &output.frame);
            }
            self.fabric.recycle(output.frame);
        }
        self.ports.flush();
        while let Some(event) = self.fabric.poll_control() {
            self.switches.tell(&mut self.fabric, event);
        }
        while let Ok(change) = self.changes.try_recv() {
            self.fabric.apply_link_change(&change);
        }
        while let Some((index, is_up)) = self.links.poll() {
            let AccessPort { edge, port } = self.places[index];
            self.switches.port_status(Device::Edge(edge).id(), port, is_up);
        }
        while let Some(record) = self.fabric.poll_frame() {
            // Nobody listens only while the run is being stopped.
            let _ = self.frames.send(record);
        }
        let invariants = self.fabric.invariants();
        let violations = Invariant::ALL.iter().map(|&kind| invariants.count(kind)).sum();
        self.shared.violations.store(violations, Ordering::Relaxed);
        self.shared.now_ns.store(self.fabric.now(), Ordering::Relaxed);
    }
}

/// The worst lateness in each slot.
struct SlotLateness {
    slot_ns: u64,
    slot: u64,
    worst_ns: u64,
    histogram: Histogram<u64>,
}

impl SlotLateness {
    fn new(slot_ns: u64) -> SlotLateness {
        const LONGEST_NS: u64 = 60_000_000_000;
        const SIGNIFICANT_DIGITS: u8 = 3;
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS).expect("bounds and digits are allowed");
        SlotLateness {
            slot_ns,
            slot: 0,
            worst_ns: 0,
            histogram,
        }
    }

    /// Notes that the oldest event, due at `due_ns`, is handled at `now_ns`. Every slot that began in between is as late as its
    /// start. Now and then it returns the 99th percentile so far.
    fn record(&mut self, due_ns: u64, now_ns: u64) -> Option<u64> {
        const SLOTS_A_SUMMARY: u64 = 1024;
        let before = self.histogram.len() / SLOTS_A_SUMMARY;
        let first = due_ns / self.slot_ns;
        self.note(first, now_ns - due_ns);
        for slot in first + 1..=now_ns / self.slot_ns {
            self.note(slot, now_ns - slot * self.slot_ns);
        }
        (self.histogram.len() / SLOTS_A_SUMMARY > before).then(|| self.p99_ns())
    }

    fn note(&mut self, slot: u64, late_ns: u64) {
        if slot != self.slot {
            if self.slot != 0 {
                self.histogram.saturating_record(self.worst_ns);
            }
            self.slot = slot;
            self.worst_ns = 0;
        }
        self.worst_ns = self.worst_ns.max(late_ns);
    }

    fn p99_ns(&self) -> u64 {
        self.histogram.value_at_quantile(0.99)
    }

    fn summary(&self) -> Lateness {
        Lateness {
            slots: self.histogram.len(),
            p50_ns: self.histogram.value_at_quantile(0.5),
            p99_ns: self.p99_ns(),
            max_ns: self.histogram.max(),
            kept_up: self.p99_ns() < self.slot_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_the_worst_of_each_slot() {
        let mut lateness = SlotLateness::new(1000);
        for (due_ns, now_ns) in [
            (1000, 1010),
            (1500, 1700),
            (2000, 2005),
            (3000, 3000),
            (4000, 5500),
            (6000, 6000),
        ] {
            lateness.record(due_ns, now_ns);
        }
        let summary = lateness.summary();
        assert_eq!(
            (summary.slots, summary.max_ns),
            (5, 1500),
            "slot 5 began while slot 4's event was still waiting"
        );
        assert!(
            !summary.kept_up,
            "the worst of five slots is beyond the 99th percentile"
        );
    }
}
