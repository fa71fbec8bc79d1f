// SPDX-License-Identifier: Apache-2.0
//! How late the fabric's slots were against the wall clock, and what made them late.

mod tunnel;

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use slotwise_units::{Duration, Instant};

pub use tunnel::Tunnel;

use crate::summary::line;

/// A neighbour on the fabric's CPU is busy if it ran for one part in so many of the slots' time.
const BUSY_PART: u64 = 10;

/// What made a slot late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The events themselves: P4, line cards, core.
    Events,
    /// Giving frames to the kernel for the hosts.
    Send,
    /// Commands of the P4Runtime server, and the switches' agents.
    Control,
    /// Taking hosts' frames.
    Receive,
    /// The thread rested and was woken late.
    WokenLate,
    /// Another thread had the CPU.
    Preempted,
    /// The CPU was not there: the hypervisor had stopped it, or it served interrupts.
    Stopped,
}

impl Cause {
    /// All, in the order in which they are numbered.
    pub const ALL: [Cause; 7] = [
        Cause::Events,
        Cause::Send,
        Cause::Control,
        Cause::Receive,
        Cause::WokenLate,
        Cause::Preempted,
        Cause::Stopped,
    ];

    /// What happened.
    fn text(self) -> &'static str {
        match self {
            Cause::Events => "event burst (P4, line cards, core)",
            Cause::Send => "sending frames to hosts",
            Cause::Control => "P4Runtime commands",
            Cause::Receive => "receiving frames from hosts",
            Cause::WokenLate => "late kernel wake-up",
            Cause::Preempted => "preempted by another thread",
            Cause::Stopped => "CPU stopped (hypervisor, interrupts)",
        }
    }

    /// What would help against it.
    fn remedy(self) -> &'static str {
        match self {
            Cause::Events | Cause::Send | Cause::Receive => "less traffic, longer slots or a faster CPU",
            Cause::Control => "fewer schedule changes, or fewer reads by the controller",
            Cause::WokenLate => "a preemptible kernel (preempt=full), or a machine without a hypervisor",
            Cause::Preempted => "real-time priority (root), and no other real-time thread on that CPU",
            Cause::Stopped => "dedicated CPUs, longer slots, or no other load",
        }
    }
}

/// Slots that were late for one reason.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LateSlots {
    /// The reason.
    pub cause: Cause,
    /// How many.
    pub slots: u64,
    /// The latest of them.
    pub max_ns: Duration,
}

/// Lateness: in each slot, the worst delay of an event against the wall clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lateness {
    /// Slots measured.
    pub slots: u64,
    /// Median.
    pub p50_ns: Duration,
    /// 99th percentile.
    pub p99_ns: Duration,
    /// Largest.
    pub max_ns: Duration,
    /// A run keeps up while `p99_ns` is below one slot.
    pub on_time: bool,
    /// The fabric's CPU, if it had one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// Time for which the hypervisor stopped that CPU, as far as the kernel knows; `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<Duration>,
    /// Slots that were late by more than half a slot, by what made them so; most first.
    pub late: Vec<LateSlots>,
    /// Other threads seen on that CPU, and how long they ran meanwhile, anywhere; longest first.
    pub competing_threads: Vec<Neighbour>,
    /// Tunnels to hosts on other machines: so much later than the network's time is what these hear and say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<Tunnel>,
}

/// Another thread on the fabric's CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// How long it ran.
    pub ran_ns: Duration,
}

/// The spans by which lateness is counted.
#[derive(Debug, Clone, Copy)]
pub enum Beat {
    /// Slots of a star, of this length.
    Slots(Duration),
    /// Where there is no star nothing is slotted: periods of this length.
    Periods(Duration),
}

impl Default for Beat {
    fn default() -> Beat {
        Beat::Slots(Duration::ZERO)
    }
}

impl Beat {
    fn length(self) -> Duration {
        let (Beat::Slots(length) | Beat::Periods(length)) = self;
        length
    }

    /// One of them.
    fn name(self) -> &'static str {
        match self {
            Beat::Slots(_) => "slot",
            Beat::Periods(_) => "period",
        }
    }
}

impl Lateness {
    /// Returns the lines of the summary.
    pub fn summary(&self, beat: Beat) -> String {
        let name = beat.name();
        let us = |time: Duration| time.ns() as f64 / 1e3;
        let value = format!(
            "{}: lateness p50 {:.0} us, p99 {:.0} us, max {:.0} us over {} {name}s of {:.0} us",
            if self.on_time { "on time" } else { "late" },
            us(self.p50_ns),
            us(self.p99_ns),
            us(self.max_ns),
            self.slots,
            us(beat.length())
        );
        let mut text = line("timing", value);
        if !self.late.is_empty() {
            text += &line("missed", self.reasons(beat.length()));
        }
        text.extend(self.tunnels.iter().map(Tunnel::summary));
        text
    }

    /// Returns how many deadlines were missed, by cause.
    fn reasons(&self, slot: Duration) -> String {
        let late: u64 = self.late.iter().map(|late| late.slots).sum();
        let causes: Vec<String> = self
            .late
            .iter()
            .map(|late| {
                let (slots, max_us) = (late.slots, late.max_ns.ns() as f64 / 1e3);
                format!("{} {slots} (max {max_us:.0} us)", late.cause.text())
            })
            .collect();
        format!(
            "{late} of {} deadlines by > {:.0} us: {}",
            self.slots,
            slot.ns() as f64 / 2e3,
            causes.join(", ")
        )
    }

    /// Returns the warning of a run with late slots: their cause and a remedy. `None` if it was on time.
    pub fn note(&self, beat: Beat) -> Option<String> {
        if self.on_time {
            return None;
        }
        let (name, slot) = (beat.name(), beat.length());
        let mut text = format!(
            "timing: p99 lateness {} us exceeds the {} us {name}; network time is exact, hosts saw it stretched",
            self.p99_ns.ns() / 1000,
            slot.ns() / 1000
        );
        if let Some(most) = self.late.first() {
            let _ = write!(
                text,
                ". Main cause ({} {name}s): {}. Remedy: {}",
                most.slots,
                most.cause.text(),
                self.remedy(most.cause, slot)
            );
        }
        if let Some(cpu) = self.cpu {
            let stolen = self
                .stolen_ns
                .map(|time| format!("steal time {} ms", time.ns() / 1_000_000));
            let others = self.competing_threads.iter().take(3);
            let others = others.map(|other| format!("{} {} ms", other.name, other.ran_ns.ns() / 1_000_000));
            let seen: Vec<String> = stolen.into_iter().chain(others).collect();
            if !seen.is_empty() {
                let _ = write!(text, ". Load on CPU {cpu}: {}", seen.join(", "));
            }
        }
        Some(text)
    }

    /// What would help: before all else, that a busy neighbour were elsewhere.
    fn remedy(&self, cause: Cause, slot: Duration) -> String {
        let busy = self
            .competing_threads
            .first()
            .filter(|other| other.ran_ns >= slot.saturating_mul(self.slots) / BUSY_PART);
        match busy {
            Some(other) => format!(
                "run '{}' (ran {} ms) elsewhere or at another time; or {}",
                other.name,
                other.ran_ns.ns() / 1_000_000,
                cause.remedy()
            ),
            None => cause.remedy().to_owned(),
        }
    }
}

/// The worst lateness in each slot.
pub struct SlotLateness {
    length: Duration,
    slot: u64,
    worst: Duration,
    cause: Cause,
    histogram: Histogram<u64>,
    /// By cause.
    late: [(u64, Duration); Cause::ALL.len()],
}

impl SlotLateness {
    /// Nothing measured yet; slots have this length.
    pub fn new(length: Duration) -> SlotLateness {
        const LONGEST: Duration = Duration::from_s(60);
        const SIGNIFICANT_DIGITS: u8 = 3;
        let histogram =
            Histogram::new_with_bounds(1, LONGEST.ns(), SIGNIFICANT_DIGITS).expect("bounds and digits are allowed");
        SlotLateness {
            length,
            slot: 0,
            worst: Duration::ZERO,
            cause: Cause::Events,
            histogram,
            late: Default::default(),
        }
    }

    /// Notes that an event, due at `due`, is handled at `now`; events come in the order of their times. If it is late, `blame` says
    /// why. Now and then it returns the 99th percentile so far.
    pub fn record(&mut self, due: Instant, now: Instant, blame: impl FnOnce() -> Cause) -> Option<Duration> {
        const SLOTS_A_SUMMARY: u64 = 1024;
        let slot = due.since_start() / self.length;
        let late = now - due;
        let is_new = slot != self.slot;
        if is_new {
            self.close();
            self.slot = slot;
        }
        if late > self.worst {
            self.worst = late;
            if late > self.length / 2 {
                self.cause = blame();
            }
        }
        (is_new && self.histogram.len().is_multiple_of(SLOTS_A_SUMMARY)).then(|| self.p99())
    }

    /// A slot is over; the first one may have begun before measuring did.
    fn close(&mut self) {
        if self.slot != 0 {
            self.histogram.saturating_record(self.worst.ns());
            if self.worst > self.length / 2 {
                let (slots, max) = &mut self.late[self.cause as usize];
                *slots += 1;
                *max = self.worst.max(*max);
            }
        }
        self.worst = Duration::ZERO;
    }

    fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_ns(self.histogram.value_at_quantile(quantile))
    }

    fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// All slots but the last, which may not be over.
    pub fn summary(&self) -> Lateness {
        let mut late: Vec<LateSlots> = Cause::ALL
            .into_iter()
            .zip(self.late)
            .filter(|(_, (slots, _))| *slots > 0)
            .map(|(cause, (slots, max_ns))| LateSlots { cause, slots, max_ns })
            .collect();
        late.sort_by_key(|late| std::cmp::Reverse(late.slots));
        Lateness {
            slots: self.histogram.len(),
            p50_ns: self.quantile(0.5),
            p99_ns: self.p99(),
            max_ns: Duration::from_ns(self.histogram.max()),
            on_time: self.p99() < self.length,
            cpu: None,
            stolen_ns: None,
            late,
            competing_threads: Vec::new(),
            tunnels: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn lateness_is_the_worst_of_each_slot() {
        let mut lateness = SlotLateness::new(Duration::from_ns(1000));
        for (due_ns, now_ns) in [
            (1000, 1010),
            (1500, 1700),
            (2000, 2005),
            (3000, 3000),
            (4000, 5500),
            (5000, 5520),
            (6000, 6000),
        ] {
            lateness.record(at(due_ns), at(now_ns), || Cause::Events);
        }
        let summary = lateness.summary();
        assert_eq!(
            (summary.slots, summary.max_ns.ns()),
            (5, 1500),
            "the last slot is not over"
        );
        assert!(
            !summary.on_time,
            "the worst of five slots is beyond the 99th percentile"
        );
    }

    #[test]
    fn a_late_slot_has_the_cause_of_its_worst_delay() {
        let mut lateness = SlotLateness::new(Duration::from_ns(1000));
        lateness.record(at(1000), at(1600), || Cause::Send);
        lateness.record(at(1000), at(1700), || Cause::Stopped);
        lateness.record(at(1900), at(1950), || unreachable!("not late"));
        lateness.record(at(2000), at(4600), || Cause::Stopped);
        lateness.record(at(4000), at(4601), || Cause::Stopped);
        lateness.record(at(5000), at(5501), || Cause::Control);
        lateness.record(at(6000), at(6000), || unreachable!("on time"));
        let summary = lateness.summary();
        let late: Vec<_> = summary
            .late
            .iter()
            .map(|late| (late.cause, late.slots, late.max_ns.ns()))
            .collect();
        assert_eq!(
            late,
            [(Cause::Stopped, 3, 2600), (Cause::Control, 1, 501)],
            "slots 1, 2 and 4, and 5"
        );
        let text = summary.summary(Beat::Slots(Duration::from_ns(1000)));
        assert!(
            text.contains(
                "missed        4 of 4 deadlines by > 0 us: CPU stopped (hypervisor, interrupts) 3 (max 3 us), "
            ),
            "{text}"
        );
        let note = summary.note(Beat::Slots(Duration::from_ns(1000))).unwrap();
        assert!(
            note.contains("Main cause (3 slots)") && note.contains("dedicated CPUs"),
            "{note}"
        );
    }

    #[test]
    fn a_busy_neighbour_is_named_before_what_else_would_help() {
        let mut lateness = SlotLateness::new(Duration::from_ns(1_000_000));
        for slot in 1..=101 {
            lateness.record(at(slot * 1_000_000), at(slot * 1_000_000 + 1_500_000), || Cause::Events);
        }
        let note = |ran_ns| {
            let neighbour = Neighbour {
                name: "cp".to_owned(),
                ran_ns: Duration::from_ns(ran_ns),
            };
            let summary = Lateness {
                competing_threads: vec![neighbour],
                ..lateness.summary()
            };
            summary.note(Beat::Slots(Duration::from_ns(1_000_000))).unwrap()
        };
        let busy = note(60_000_000);
        assert!(
            busy.contains("Remedy: run 'cp' (ran 60 ms) elsewhere or at another time; or less traffic"),
            "{busy}"
        );
        assert!(note(2_000_000).contains("Remedy: less traffic, longer slots"));
    }

    #[test]
    fn a_run_that_kept_up_has_no_note() {
        let mut lateness = SlotLateness::new(Duration::from_ns(1000));
        for slot in 1..200 {
            lateness.record(at(slot * 1000), at(slot * 1000 + 10), || unreachable!("not late"));
        }
        let summary = lateness.summary();
        assert_eq!(summary.note(Beat::Slots(Duration::from_ns(1000))), None);
        assert_eq!(summary.summary(Beat::Slots(Duration::from_ns(1000))).lines().count(), 1);
    }

    #[test]
    fn where_there_are_only_routers_nothing_is_called_a_slot() {
        let mut lateness = SlotLateness::new(Duration::from_ns(1000));
        for period in 1..4 {
            lateness.record(at(period * 1000), at(period * 1000 + 1500), || Cause::Events);
        }
        let summary = lateness.summary();
        let text = summary.summary(Beat::Periods(Duration::from_ns(1000)));
        assert!(
            text.contains("late: lateness p50 ") && text.contains("over 2 periods of 1 us\n"),
            "{text}"
        );
        assert!(text.contains("\n  missed        2 of 2 deadlines by > "), "{text}");
        let note = summary.note(Beat::Periods(Duration::from_ns(1000))).unwrap();
        assert!(
            note.starts_with("timing: p99 lateness 1 us exceeds the 1 us period"),
            "{note}"
        );
        assert!(note.contains("Main cause (2 periods)"), "{note}");
    }
}
