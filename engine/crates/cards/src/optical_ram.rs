// SPDX-License-Identifier: Apache-2.0
//! The card before an output of an optical packet switch: optical RAM, whole trains only, cut-through.
//!
//! P4 has decided that a train is taken, and when. The card reckons the same apart from P4: what comes by an input leaves so long after it
//! came as the output was still busy when the train's label came. So trains never interleave, and when a frame leaves is known when
//! it comes.

use std::collections::VecDeque;

use crate::Port;
use slotwise_wire::{FlowControl, IntervalTick};

use crate::DropCause;
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;

/// Time that a byte takes, as the switches of a network reckon: in 2^-16 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteTime(u64);

impl ByteTime {
    const SHIFT: u32 = 16;

    /// Time of a byte at a rate (over 0).
    pub fn of_rate(rate_bps: u64) -> ByteTime {
        ByteTime((8_000_000_000u64 << ByteTime::SHIFT) / rate_bps)
    }

    /// Time that so many bytes take, rounded down.
    #[inline]
    pub fn ns(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.0)) >> ByteTime::SHIFT) as u64
    }

    /// Bytes that so much time takes, rounded down.
    fn bytes(self, ns: u64) -> u64 {
        ((u128::from(ns) << ByteTime::SHIFT) / u128::from(self.0)) as u64
    }
}

/// What an output has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RamSettings {
    /// Time of a byte on the wavelength.
    pub byte_time: ByteTime,
    /// So much may still be to be sent when a train comes.
    pub ram_bytes: u64,
    /// Kept free behind each train.
    pub guard_ns: u64,
}

/// What an output did since it was last asked. Bytes are those that links count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RamUse {
    /// Trains that came.
    pub trains: u64,
    /// Frames that came.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that they take on the wavelength.
    pub busy_ns: u64,
    /// Trains that waited in the RAM.
    pub waited_trains: u64,
    /// How long those waited together.
    pub waited_ns: u64,
    /// Most that was still to be sent when a train came, bytes.
    pub most_bytes: u64,
    /// Frames that the card lost, since it was dark or its switch stopped.
    pub lost_frames: u64,
    /// Intervals of the output's agent that ended.
    pub intervals: u64,
    /// Of these, those in which more came for the output than 1.05 times what it can send.
    pub overloaded_intervals: u64,
}

/// More than so many percent of what an output can send is an overload.
const OVERLOAD_PERCENT: u128 = 105;

/// A train that comes by an input.
#[derive(Clone, Copy)]
struct Path {
    input: Port,
    shift_ns: u64,
}

struct Waiting {
    start_ns: u64,
    bytes: u64,
    /// The one of [`OpticalRam::period`] in which it came.
    period: u64,
}

/// When a frame that came begins to leave, and whether its train found more before it than the RAM holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// First bit out.
    pub start_ns: u64,
    /// True if the train found more before it than the RAM holds.
    pub is_over: bool,
}

/// Optical RAM of one output.
pub struct OpticalRam {
    settings: RamSettings,
    /// End of what is reserved, guard included.
    end_ns: u64,
    /// How much of that the switch's program does not know of: one that it has no more reserved it.
    unknown_ns: u64,
    paths: Vec<Path>,
    /// Frames that have not begun to leave, by when they do.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    timers: Option<IntervalTimers>,
    used: RamUse,
    /// How often that has been taken.
    period: u64,
    arrived_bytes: u64,
    lost_frames: u64,
    /// When the agent's interval began.
    interval_ns: u64,
}

impl OpticalRam {
    /// An empty one.
    pub fn new(settings: RamSettings) -> OpticalRam {
        OpticalRam {
            settings,
            end_ns: 0,
            unknown_ns: 0,
            paths: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            timers: None,
            used: RamUse::default(),
            period: 0,
            arrived_bytes: 0,
            lost_frames: 0,
            interval_ns: 0,
        }
    }

    /// Starts the interval timers; both tick at `now_ns`.
    pub fn start_timers(&mut self, now_ns: u64) {
        self.timers = Some(IntervalTimers::new(now_ns));
    }

    /// The label of a train of `length` bytes comes by an input, with a first frame of `bytes`.
    pub fn label(&mut self, now_ns: u64, input: Port, length: u64, bytes: u64) -> Taken {
        let RamSettings {
            byte_time, guard_ns, ..
        } = self.settings;
        let has_room = self.has_room(now_ns);
        // Where its program knows of nothing before the train, all that is there is unknown to it.
        self.unknown_ns = self.unknown_ns.min(self.end_ns.saturating_sub(now_ns));
        let start_ns = self.end_ns.max(now_ns);
        let shift_ns = start_ns - now_ns;
        self.end_ns = start_ns + byte_time.ns(length) + guard_ns;
        match self.paths.iter_mut().find(|path| path.input == input) {
            Some(path) => path.shift_ns = shift_ns,
            None => self.paths.push(Path { input, shift_ns }),
        }
        self.used.trains += 1;
        if shift_ns > 0 {
            self.used.waited_trains += 1;
            self.used.waited_ns += shift_ns;
            self.used.most_bytes = self.used.most_bytes.max(byte_time.bytes(shift_ns));
        }
        self.take(now_ns, start_ns, bytes);
        Taken {
            start_ns,
            is_over: !has_room,
        }
    }

    /// Whether a train that comes finds no more before it, of what the switch's program has reserved, than the RAM holds.
    pub fn has_room(&self, now_ns: u64) -> bool {
        let left_ns = self.end_ns.saturating_sub(now_ns).saturating_sub(self.unknown_ns);
        left_ns <= self.settings.byte_time.ns(self.settings.ram_bytes)
    }

    /// The switch's program is gone, and what it knew of the output.
    pub fn forget(&mut self, now_ns: u64) {
        self.unknown_ns = self.end_ns.saturating_sub(now_ns);
    }

    /// A frame behind a label comes by an input; `None` if no label has come there.
    pub fn follow(&mut self, now_ns: u64, input: Port, bytes: u64) -> Option<Taken> {
        let path = *self.paths.iter().find(|path| path.input == input)?;
        let start_ns = now_ns + path.shift_ns;
        self.take(now_ns, start_ns, bytes);
        Some(Taken {
            start_ns,
            is_over: false,
        })
    }

    fn take(&mut self, now_ns: u64, start_ns: u64, bytes: u64) {
        self.advance(now_ns);
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        self.used.frames += 1;
        self.used.bytes += bytes;
        self.used.busy_ns += self.settings.byte_time.ns(bytes);
        self.arrived_bytes += bytes;
        if start_ns > now_ns {
            let behind = self.waiting.iter().rev().take_while(|other| other.start_ns > start_ns);
            let place = self.waiting.len() - behind.count();
            let period = self.period;
            let waiting = Waiting {
                start_ns,
                bytes,
                period,
            };
            self.waiting.insert(place, waiting);
            self.waiting_bytes += bytes;
        }
    }

    fn advance(&mut self, now_ns: u64) {
        while let Some(&Waiting { start_ns, bytes, .. }) = self.waiting.front()
            && start_ns <= now_ns
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
    }

    /// Counts a frame that comes while nothing can leave.
    pub fn lose(&mut self) {
        self.used.lost_frames += 1;
        self.lost_frames += 1;
    }

    /// Loses what has not begun to leave, and what is reserved for it; says how many frames.
    pub fn drop_waiting(&mut self, now_ns: u64) -> usize {
        self.advance(now_ns);
        let lost = self.waiting.len();
        if let Some(first) = self.waiting.front() {
            self.end_ns = self.end_ns.min(first.start_ns);
        }
        // What came in an earlier period was counted there.
        let period = self.period;
        let counted = self.waiting.drain(..).filter(|waiting| waiting.period == period);
        for Waiting { bytes, .. } in counted {
            self.used.frames -= 1;
            self.used.bytes -= bytes;
            self.used.busy_ns -= self.settings.byte_time.ns(bytes);
        }
        self.waiting_bytes = 0;
        self.paths.clear();
        self.used.lost_frames += lost as u64;
        self.lost_frames += lost as u64;
        lost
    }

    /// When the next timer expires.
    pub fn next_tick_ns(&self) -> Option<u64> {
        self.timers.as_ref().map(IntervalTimers::next_ns)
    }

    /// The tick of a timer that has expired by `now_ns`, with what the RAM holds.
    pub fn tick(&mut self, now_ns: u64) -> Option<(IntervalTick, QueueState)> {
        self.advance(now_ns);
        let tick = self.timers.as_mut()?.tick(now_ns, self.waiting_bytes)?;
        let state = QueueState {
            backlog_bytes: self.waiting_bytes,
            arrived_bytes: self.arrived_bytes,
            hol_delay_ns: 0,
            dropped_packets: self.lost_frames,
        };
        Some((tick, state))
    }

    /// An interval of the output's agent ends, in which so many bytes came for the output, those that were dropped among them.
    pub fn interval_ends(&mut self, now_ns: u64, bytes: u64) {
        let length_ns = now_ns - std::mem::replace(&mut self.interval_ns, now_ns);
        let taken_ns = u128::from(self.settings.byte_time.ns(bytes));
        self.used.intervals += 1;
        self.used.overloaded_intervals += u64::from(100 * taken_ns > OVERLOAD_PERCENT * u128::from(length_ns));
    }

    /// Obeys the answer to a tick. Anything else changes nothing.
    pub fn control(&mut self, now_ns: u64, message: &FlowControl) -> Result<(), DropCause> {
        IntervalTimers::obey(self.timers.as_mut(), now_ns, message)
    }

    /// What it did since the last call.
    pub fn take_use(&mut self) -> RamUse {
        self.period += 1;
        std::mem::take(&mut self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gb/s: 8 ns a byte.
    fn ram(ram_bytes: u64, guard_ns: u64) -> OpticalRam {
        OpticalRam::new(RamSettings {
            byte_time: ByteTime::of_rate(1_000_000_000),
            ram_bytes,
            guard_ns,
        })
    }

    #[test]
    fn a_byte_takes_what_p4_reckons() {
        assert_eq!(ByteTime::of_rate(1_000_000_000).ns(1500), 12_000);
        assert_eq!(
            ByteTime::of_rate(10_000_000_000).ns(1500),
            1199,
            "0.8 ns, in 2^-16 rounded down"
        );
        assert_eq!(ByteTime::of_rate(20_000_000).ns(1500), 600_000);
    }

    #[test]
    fn nine_kilobytes_take_seven_trains_that_come_at_once() {
        let mut ram = ram(9000, 0);
        let taken: Vec<Taken> = (0..8).map(|input| ram.label(100, 256 + input, 1500, 1500)).collect();
        let starts: Vec<u64> = taken.iter().map(|taken| taken.start_ns).collect();
        assert_eq!(starts[..3], [100, 12_100, 24_100]);
        let over: Vec<usize> = (0..8).filter(|index| taken[*index].is_over).collect();
        assert_eq!(over, [7], "the eighth finds 10,500 bytes before it");
        let used = ram.take_use();
        assert_eq!((used.trains, used.waited_trains, used.most_bytes), (8, 7, 10_500));
        assert_eq!(used.waited_ns, 12_000 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
    }

    #[test]
    fn an_interval_is_overloaded_above_a_twentieth_more_than_can_leave() {
        let mut ram = ram(9000, 0);
        for (end_ns, bytes) in [(50_000, 6562), (100_000, 6563), (200_000, 13_000)] {
            ram.interval_ends(end_ns, bytes);
        }
        let used = ram.take_use();
        assert_eq!((used.intervals, used.overloaded_intervals), (3, 1));
    }

    #[test]
    fn without_ram_only_what_finds_it_idle_is_within() {
        let mut ram = ram(0, 50);
        assert!(!ram.label(0, 256, 1500, 1500).is_over);
        assert!(ram.label(12_000, 257, 1500, 1500).is_over, "in the guard");
        let mut ram = self::ram(0, 50);
        ram.label(0, 256, 1500, 1500);
        assert!(!ram.label(12_050, 257, 1500, 1500).is_over);
    }

    #[test]
    fn frames_leave_as_long_after_they_came_as_their_label_did() {
        let mut ram = ram(9000, 0);
        assert_eq!(ram.follow(0, 256, 500), None, "no label has come");
        assert_eq!(ram.label(0, 256, 3000, 1000).start_ns, 0);
        let late = ram.label(5_000, 257, 2000, 1000).start_ns;
        assert_eq!(late, 24_000, "the whole first train goes before it");
        assert_eq!(ram.follow(8_000, 256, 2000).unwrap().start_ns, 8_000);
        assert_eq!(ram.follow(13_000, 257, 1000).unwrap().start_ns, 32_000);
        assert_eq!(ram.label(13_000, 256, 100, 100).start_ns, 40_000);
    }

    #[test]
    fn what_has_not_begun_to_leave_can_be_lost() {
        let mut ram = ram(9000, 0);
        for input in 0..3 {
            ram.label(0, 256 + input, 1500, 1500);
        }
        assert_eq!(ram.drop_waiting(6_000), 2, "the first is in transmission");
        assert_eq!(ram.drop_waiting(6_000), 0);
        assert_eq!(ram.label(6_000, 256, 1500, 1500).start_ns, 12_000);
        let used = ram.take_use();
        assert_eq!((used.frames, used.bytes, used.lost_frames), (2, 3000, 2));
        assert_eq!(used.busy_ns, 24_000);
    }

    #[test]
    fn what_a_program_reserved_that_is_gone_is_not_held_against_the_next_one() {
        let mut ram = ram(0, 1_000);
        ram.label(0, 256, 1500, 1500);
        ram.drop_waiting(6_000);
        assert!(ram.label(6_000, 257, 1500, 1500).is_over, "its program knows of 7 us");
        let mut ram = self::ram(1500, 1_000);
        ram.label(0, 256, 1500, 1500);
        ram.forget(6_000);
        let first = ram.label(6_000, 257, 1500, 1500);
        assert!((first.start_ns, first.is_over) == (13_000, false));
        assert!(!ram.label(7_000, 258, 1500, 1500).is_over, "12 us that it knows of");
        assert!(ram.label(7_000, 259, 1500, 1500).is_over, "25 us");
        // When the next one comes its program knows of nothing, and 5 us are left: from then on no more than that is unknown.
        let mut ram = self::ram(0, 1_000);
        ram.label(0, 256, 1500, 1500);
        ram.forget(1_000);
        assert!(!ram.label(8_000, 256, 1500, 1500).is_over, "5 us of 12 are left");
        assert!(ram.label(12_000, 257, 1500, 1500).is_over, "9 us that it knows of");
        assert!(!ram.label(39_000, 257, 1500, 1500).is_over, "idle");
        assert!(
            ram.label(51_000, 257, 1500, 1500).is_over,
            "in a guard that it knows of"
        );
    }

    #[test]
    fn what_is_lost_after_it_was_asked_for_is_not_taken_from_what_came_since() {
        let mut ram = ram(9000, 0);
        for input in 0..3 {
            ram.label(0, 256 + input, 1500, 1500);
        }
        assert_eq!(ram.take_use().frames, 3);
        ram.label(1_000, 259, 1500, 1000);
        assert_eq!(ram.drop_waiting(6_000), 3, "two of before, and the one since");
        ram.label(6_000, 256, 1500, 1500);
        let used = ram.take_use();
        assert_eq!(
            (used.frames, used.bytes, used.busy_ns, used.lost_frames),
            (1, 1500, 12_000, 3)
        );
    }
}
