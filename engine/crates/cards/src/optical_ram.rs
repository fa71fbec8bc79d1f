// SPDX-License-Identifier: Apache-2.0
//! Card before an output of an optical packet switch: optical RAM for whole bursts, cut-through.
//!
//! P4 has decided that a burst is taken, and when. The card reckons the same apart from P4: what comes by an input leaves so long after it
//! came as the output was still busy when the burst's label came. So bursts never interleave, and when a frame leaves is known when
//! it comes.

use std::collections::VecDeque;

use crate::Port;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{IntervalTick, IntervalTimer};

use crate::card::{Action, Actions, Record};
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;
use crate::ticks::IntervalQueue;

/// Time that a byte takes, as the switches of a network reckon: in 2^-16 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteTime(u64);

impl ByteTime {
    const SHIFT: u32 = 16;

    /// Time of a byte at a rate (over 0).
    pub fn of_rate(rate: Rate) -> ByteTime {
        ByteTime(((8_000_000_000u64 << ByteTime::SHIFT) / rate.bps()).max(1))
    }

    /// Time that so many bytes take, rounded down.
    #[inline]
    pub fn time(self, bytes: Bytes) -> Duration {
        Duration::from_ns(((u128::from(bytes.get()) * u128::from(self.0)) >> ByteTime::SHIFT) as u64)
    }

    /// Bytes that so much time takes, rounded down.
    fn bytes(self, time: Duration) -> Bytes {
        Bytes::new(((u128::from(time.ns()) << ByteTime::SHIFT) / u128::from(self.0)) as u64)
    }
}

/// Settings of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RamSettings {
    /// Time of a byte on the wavelength.
    pub byte_time: ByteTime,
    /// Size of the RAM: maximum backlog at the arrival of a burst.
    pub ram: Bytes,
    /// Guard time after each burst.
    pub guard: Duration,
}

/// Use of an output since the last call. Bytes are those that links count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RamUse {
    /// Bursts that arrived.
    pub bursts: u64,
    /// Frames that arrived.
    pub frames: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Their transmission time on the wavelength.
    pub busy: Duration,
    /// Bursts that waited in the RAM.
    pub waited_bursts: u64,
    /// Sum of their waits.
    pub waited: Duration,
    /// Maximum backlog found by an arriving burst.
    pub most_bytes: Bytes,
    /// Frames lost because the output was down, or its switch stopped.
    pub lost_frames: u64,
    /// Intervals of the output's agent that ended.
    pub intervals: u64,
    /// Overloaded intervals among these: arrivals above 1.05 times the capacity of the output.
    pub overloaded_intervals: u64,
}

/// Threshold of an overload, in percent of the capacity of an output.
const OVERLOAD_PERCENT: u128 = 105;

/// Burst that arrives on an input.
#[derive(Clone, Copy)]
struct Path {
    input: Port,
    shift: Duration,
}

struct Waiting {
    start: Instant,
    bytes: Bytes,
    /// [`OpticalRam::period`] of its arrival.
    period: u64,
}

/// Departure of a frame, and whether its burst found a backlog that exceeds the RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// First bit out.
    pub start: Instant,
    /// True if the burst found a backlog that exceeds the RAM.
    pub is_over: bool,
}

/// Optical RAM of one output.
pub struct OpticalRam {
    settings: RamSettings,
    /// End of the reserved time, including the guard time.
    end: Instant,
    /// Part of the reserved time that an earlier program reserved, unknown to the present one.
    unknown: Duration,
    paths: Vec<Path>,
    /// Frames that wait, by departure.
    waiting: VecDeque<Waiting>,
    waiting_bytes: Bytes,
    timers: Option<IntervalTimers>,
    used: RamUse,
    /// Number of queries of the use so far.
    period: u64,
    arrived_bytes: Bytes,
    lost_frames: u64,
    /// Start of the agent's interval.
    interval: Instant,
}

impl OpticalRam {
    /// Creates an empty RAM.
    pub fn new(settings: RamSettings) -> OpticalRam {
        OpticalRam {
            settings,
            end: Instant::ZERO,
            unknown: Duration::ZERO,
            paths: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            timers: None,
            used: RamUse::default(),
            period: 0,
            arrived_bytes: Bytes::ZERO,
            lost_frames: 0,
            interval: Instant::ZERO,
        }
    }

    /// Starts the interval timers; both tick at `now`.
    pub fn start_timers(&mut self, now: Instant) {
        self.timers = Some(IntervalTimers::new(now));
    }

    /// Handles the label of a burst of this length on an input, with a first frame of `bytes`.
    pub fn label(&mut self, now: Instant, input: Port, length: Bytes, bytes: Bytes) -> Taken {
        let RamSettings { byte_time, guard, .. } = self.settings;
        let has_room = self.has_room(now);
        // Where its program knows of nothing before the burst, all that is there is unknown to it.
        self.unknown = self.unknown.min(self.end.saturating_since(now));
        let start = self.end.max(now);
        let shift = start.saturating_since(now);
        self.end = start + byte_time.time(length) + guard;
        match self.paths.iter_mut().find(|path| path.input == input) {
            Some(path) => path.shift = shift,
            None => self.paths.push(Path { input, shift }),
        }
        self.used.bursts += 1;
        if !shift.is_zero() {
            self.used.waited_bursts += 1;
            self.used.waited += shift;
            self.used.most_bytes = self.used.most_bytes.max(byte_time.bytes(shift));
        }
        self.take(now, start, bytes);
        Taken {
            start,
            is_over: !has_room,
        }
    }

    /// Returns true if the backlog reserved by the switch's program for earlier bursts fits into the RAM.
    pub fn has_room(&self, now: Instant) -> bool {
        let left = self.end.saturating_since(now).saturating_sub(self.unknown);
        left <= self.settings.byte_time.time(self.settings.ram)
    }

    /// Forgets what the switch's program knew of the output, when the program ends.
    pub fn forget(&mut self, now: Instant) {
        self.unknown = self.end.saturating_since(now);
    }

    /// Handles a frame after a label on an input; `None` without a label there.
    pub fn follow(&mut self, now: Instant, input: Port, bytes: Bytes) -> Option<Taken> {
        let path = *self.paths.iter().find(|path| path.input == input)?;
        let start = now + path.shift;
        self.take(now, start, bytes);
        Some(Taken { start, is_over: false })
    }

    fn take(&mut self, now: Instant, start: Instant, bytes: Bytes) {
        self.advance(now);
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        self.used.frames += 1;
        self.used.bytes += bytes;
        self.used.busy += self.settings.byte_time.time(bytes);
        self.arrived_bytes += bytes;
        if start > now {
            let behind = self.waiting.iter().rev().take_while(|other| other.start > start);
            let place = self.waiting.len() - behind.count();
            let period = self.period;
            let waiting = Waiting { start, bytes, period };
            self.waiting.insert(place, waiting);
            self.waiting_bytes += bytes;
        }
    }

    fn advance(&mut self, now: Instant) {
        while let Some(&Waiting { start, bytes, .. }) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
    }

    /// Counts a frame that arrives while the output is down.
    pub fn lose(&mut self) {
        self.used.lost_frames += 1;
        self.lost_frames += 1;
    }

    /// Drops waiting frames and their reservations. Returns the number of frames.
    pub fn drop_waiting(&mut self, now: Instant) -> usize {
        self.advance(now);
        let lost = self.waiting.len();
        if let Some(first) = self.waiting.front() {
            self.end = self.end.min(first.start);
        }
        // What came in an earlier period was counted there.
        let period = self.period;
        let counted = self.waiting.drain(..).filter(|waiting| waiting.period == period);
        for Waiting { bytes, .. } in counted {
            self.used.frames -= 1;
            self.used.bytes -= bytes;
            self.used.busy -= self.settings.byte_time.time(bytes);
        }
        self.waiting_bytes = Bytes::ZERO;
        self.paths.clear();
        self.used.lost_frames += lost as u64;
        self.lost_frames += lost as u64;
        lost
    }

    /// Ends an interval of the output's agent with its arrivals in bytes, including drops.
    pub fn interval_ends(&mut self, now: Instant, arrived: Bytes) {
        let began = std::mem::replace(&mut self.interval, now);
        let length_ns = now.saturating_since(began).ns();
        let taken_ns = u128::from(self.settings.byte_time.time(arrived).ns());
        self.used.intervals += 1;
        self.used.overloaded_intervals += u64::from(100 * taken_ns > OVERLOAD_PERCENT * u128::from(length_ns));
    }

    /// Use since the last call.
    pub fn take_use(&mut self) -> RamUse {
        self.period += 1;
        std::mem::take(&mut self.used)
    }
}

impl IntervalQueue for OpticalRam {
    fn timers(&self) -> Option<&IntervalTimers> {
        self.timers.as_ref()
    }

    fn timers_mut(&mut self) -> Option<&mut IntervalTimers> {
        self.timers.as_mut()
    }

    fn state(&mut self, now: Instant) -> QueueState {
        self.advance(now);
        QueueState {
            backlog_bytes: self.waiting_bytes,
            arrived_bytes: self.arrived_bytes,
            hol_delay: Duration::ZERO,
            dropped_packets: self.lost_frames,
        }
    }

    /// Records the end of the agent's interval: its count is read before P4 resets it.
    fn before_tick(&self, port: Port, tick: &IntervalTick, out: &mut Actions) {
        if tick.timer == u8::from(IntervalTimer::Control) {
            out.push(Action::Seen(Record::AgentInterval { port }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gb/s: 8 ns a byte.
    fn ram(ram: u64, guard_ns: u64) -> OpticalRam {
        OpticalRam::new(RamSettings {
            byte_time: ByteTime::of_rate(Rate::from_bps(1_000_000_000)),
            ram: bytes(ram),
            guard: Duration::from_ns(guard_ns),
        })
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn bytes(bytes: u64) -> Bytes {
        Bytes::new(bytes)
    }

    #[test]
    fn a_byte_takes_what_p4_reckons() {
        assert_eq!(
            ByteTime::of_rate(Rate::from_bps(1_000_000_000)).time(bytes(1500)).ns(),
            12_000
        );
        assert_eq!(
            ByteTime::of_rate(Rate::from_bps(10_000_000_000)).time(bytes(1500)).ns(),
            1199,
            "0.8 ns, in 2^-16 rounded down"
        );
        assert_eq!(
            ByteTime::of_rate(Rate::from_bps(20_000_000)).time(bytes(1500)).ns(),
            600_000
        );
    }

    #[test]
    fn nine_kilobytes_take_seven_bursts_that_come_at_once() {
        let mut ram = ram(9000, 0);
        let taken: Vec<Taken> = (0..8)
            .map(|input| ram.label(at(100), 256 + input, bytes(1500), bytes(1500)))
            .collect();
        let starts: Vec<u64> = taken.iter().map(|taken| taken.start.ns()).collect();
        assert_eq!(starts[..3], [100, 12_100, 24_100]);
        let over: Vec<usize> = (0..8).filter(|index| taken[*index].is_over).collect();
        assert_eq!(over, [7], "the eighth finds 10,500 bytes before it");
        let used = ram.take_use();
        assert_eq!((used.bursts, used.waited_bursts, used.most_bytes.get()), (8, 7, 10_500));
        assert_eq!(used.waited.ns(), 12_000 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
    }

    #[test]
    fn an_interval_is_overloaded_above_a_twentieth_more_than_can_leave() {
        let mut ram = ram(9000, 0);
        for (end_ns, arrived) in [(50_000, 6562), (100_000, 6563), (200_000, 13_000)] {
            ram.interval_ends(at(end_ns), bytes(arrived));
        }
        let used = ram.take_use();
        assert_eq!((used.intervals, used.overloaded_intervals), (3, 1));
    }

    #[test]
    fn without_ram_only_what_finds_it_idle_is_within() {
        let mut ram = ram(0, 50);
        assert!(!ram.label(at(0), 256, bytes(1500), bytes(1500)).is_over);
        assert!(
            ram.label(at(12_000), 257, bytes(1500), bytes(1500)).is_over,
            "in the guard"
        );
        let mut ram = self::ram(0, 50);
        ram.label(at(0), 256, bytes(1500), bytes(1500));
        assert!(!ram.label(at(12_050), 257, bytes(1500), bytes(1500)).is_over);
    }

    #[test]
    fn frames_leave_as_long_after_they_came_as_their_label_did() {
        let mut ram = ram(9000, 0);
        assert_eq!(ram.follow(at(0), 256, bytes(500)), None, "no label has come");
        assert_eq!(ram.label(at(0), 256, bytes(3000), bytes(1000)).start.ns(), 0);
        let late = ram.label(at(5_000), 257, bytes(2000), bytes(1000)).start.ns();
        assert_eq!(late, 24_000, "the whole first burst goes before it");
        assert_eq!(ram.follow(at(8_000), 256, bytes(2000)).unwrap().start.ns(), 8_000);
        assert_eq!(ram.follow(at(13_000), 257, bytes(1000)).unwrap().start.ns(), 32_000);
        assert_eq!(ram.label(at(13_000), 256, bytes(100), bytes(100)).start.ns(), 40_000);
    }

    #[test]
    fn what_has_not_begun_to_leave_can_be_lost() {
        let mut ram = ram(9000, 0);
        for input in 0..3 {
            ram.label(at(0), 256 + input, bytes(1500), bytes(1500));
        }
        assert_eq!(ram.drop_waiting(at(6_000)), 2, "the first is in transmission");
        assert_eq!(ram.drop_waiting(at(6_000)), 0);
        assert_eq!(ram.label(at(6_000), 256, bytes(1500), bytes(1500)).start.ns(), 12_000);
        let used = ram.take_use();
        assert_eq!((used.frames, used.bytes.get(), used.lost_frames), (2, 3000, 2));
        assert_eq!(used.busy.ns(), 24_000);
    }

    #[test]
    fn what_a_program_reserved_that_is_gone_is_not_held_against_the_next_one() {
        let mut ram = ram(0, 1_000);
        ram.label(at(0), 256, bytes(1500), bytes(1500));
        ram.drop_waiting(at(6_000));
        assert!(
            ram.label(at(6_000), 257, bytes(1500), bytes(1500)).is_over,
            "its program knows of 7 us"
        );
        let mut ram = self::ram(1500, 1_000);
        ram.label(at(0), 256, bytes(1500), bytes(1500));
        ram.forget(at(6_000));
        let first = ram.label(at(6_000), 257, bytes(1500), bytes(1500));
        assert!((first.start.ns(), first.is_over) == (13_000, false));
        assert!(
            !ram.label(at(7_000), 258, bytes(1500), bytes(1500)).is_over,
            "12 us that it knows of"
        );
        assert!(ram.label(at(7_000), 259, bytes(1500), bytes(1500)).is_over, "25 us");
        // When the next one comes its program knows of nothing, and 5 us are left: from then on no more than that is unknown.
        let mut ram = self::ram(0, 1_000);
        ram.label(at(0), 256, bytes(1500), bytes(1500));
        ram.forget(at(1_000));
        assert!(
            !ram.label(at(8_000), 256, bytes(1500), bytes(1500)).is_over,
            "5 us of 12 are left"
        );
        assert!(
            ram.label(at(12_000), 257, bytes(1500), bytes(1500)).is_over,
            "9 us that it knows of"
        );
        assert!(!ram.label(at(39_000), 257, bytes(1500), bytes(1500)).is_over, "idle");
        assert!(
            ram.label(at(51_000), 257, bytes(1500), bytes(1500)).is_over,
            "in a guard that it knows of"
        );
    }

    #[test]
    fn what_is_lost_after_it_was_asked_for_is_not_taken_from_what_came_since() {
        let mut ram = ram(9000, 0);
        for input in 0..3 {
            ram.label(at(0), 256 + input, bytes(1500), bytes(1500));
        }
        assert_eq!(ram.take_use().frames, 3);
        ram.label(at(1_000), 259, bytes(1500), bytes(1000));
        assert_eq!(ram.drop_waiting(at(6_000)), 3, "two of before, and the one since");
        ram.label(at(6_000), 256, bytes(1500), bytes(1500));
        let used = ram.take_use();
        assert_eq!(
            (used.frames, used.bytes.get(), used.busy.ns(), used.lost_frames),
            (1, 1500, 12_000, 3)
        );
    }
}
