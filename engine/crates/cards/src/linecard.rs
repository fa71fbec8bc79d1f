// SPDX-License-Identifier: Apache-2.0
//! The line card between an edge and a fibre: queues and gates. It decides nothing; P4 tells it.

use std::collections::VecDeque;
use std::ops::Range;

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{FlowControl, FlowOp, IntervalTick, IntervalTimer, MAX_ANSWER_NS, SIGNALING_QUEUE};

use crate::DropCause;
use crate::demand::{Demand, NewDemand};
use crate::interval::IntervalTimers;
use crate::measure::{Meter, QueueUse};
use crate::message;
use crate::pacing::Pacer;
use crate::packet::{Frame, Packet};

/// Time between the answer to an invitation and its tick.
const MAX_ANSWER: Duration = Duration::from_ns(MAX_ANSWER_NS as u64);

struct Waiting {
    packet: Packet,
    arrived: Instant,
    /// From then on it is of no use.
    until: Instant,
    /// Bytes sent together: this frame and the later ones of its burst.
    run_bytes: Bytes,
    /// Frames of that.
    run_frames: u64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    backlog_bytes: Bytes,
    arrived_bytes: Bytes,
    dropped_packets: u64,
    /// The gate is open from `open` to before `close`.
    open: Instant,
    close: Instant,
    /// Bytes that may leave whatever the gate.
    granted_bytes: Bytes,
    pacer: Pacer,
    /// For XCP.
    timers: Option<IntervalTimers>,
    meter: Meter,
    demand: Demand,
}

impl Queue {
    /// Returns true if nothing can leave until P4 allows it again.
    fn is_over(&self, now: Instant) -> bool {
        self.close <= now && self.granted_bytes.is_zero()
    }

    /// The first time from now on at which the head may leave, as things stand.
    fn departure(&self, now: Instant, rate: Rate) -> Option<Instant> {
        let head = self.waiting.front()?;
        let bytes = head.run_bytes;
        let earliest = self.pacer.next(now);
        if self.granted_bytes >= bytes {
            return Some(earliest);
        }
        let start = earliest.max(self.open);
        // The time of each frame is rounded up.
        let rounding = Duration::from_ns(head.run_frames - 1);
        let end = start.checked_add(rate.time(bytes) + rounding)?;
        (end <= self.close).then_some(start)
    }
}

/// State of a queue, as in reports.
pub struct QueueState {
    /// Bytes that wait.
    pub backlog_bytes: Bytes,
    /// Bytes that came since the start.
    pub arrived_bytes: Bytes,
    /// Wait of the first packet so far.
    pub hol_delay: Duration,
    /// Packets dropped since the start.
    pub dropped_packets: u64,
}

/// Next action of a line card.
pub enum Next {
    /// This frame leaves now, from this queue.
    Send {
        /// The frame.
        packet: Packet,
        /// Its queue.
        queue: u16,
        /// Time on the fibre.
        duration: Duration,
        /// Set if it is the first of a burst.
        new_demand: Option<NewDemand>,
    },
    /// It may be able to send at this time.
    At(Instant),
    /// Only an arrival or P4 can change anything.
    Idle,
}

/// Effect of P4's message beyond the queues.
pub enum Controlled {
    /// Nothing.
    Done,
    /// A gate has been opened for a data queue: a slot is granted to it.
    Granted {
        /// Its number.
        voq: u16,
    },
    /// The card's frames are to start early as the message says.
    Phase,
    /// The card is to have no slots.
    Stop,
    /// P4 wants a tick at this time.
    Answer {
        /// The time.
        at: Instant,
    },
}

/// Some of the queues.
#[derive(Default)]
struct QueueSet(Vec<u64>);

impl QueueSet {
    fn of(queues: usize) -> QueueSet {
        QueueSet(vec![0; queues.div_ceil(64)])
    }

    fn set(&mut self, queue: usize, is_in: bool) {
        let bit = 1 << (queue % 64);
        if is_in {
            self.0[queue / 64] |= bit;
        } else {
            self.0[queue / 64] &= !bit;
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    /// The first one in a range that is in the other set, too.
    fn first_in_both(&self, other: &QueueSet, range: Range<usize>) -> Option<usize> {
        let both = |word: usize| Some(self.0.get(word)? & other.0.get(word)?);
        let mut word = range.start / 64;
        let mut bits = both(word)? & (u64::MAX << (range.start % 64));
        loop {
            if bits != 0 {
                let queue = word * 64 + bits.trailing_zeros() as usize;
                return (queue < range.end).then_some(queue);
            }
            word += 1;
            bits = both(word)?;
        }
    }
}

/// Queues of one optical port: some of its edge's VOQs, and the signaling queue.
pub struct LineCard {
    queues: Vec<Queue>,
    /// Non-empty queues.
    filled: QueueSet,
    /// Queues with an open or scheduled gate, or with granted bytes; may include queues whose gate has closed.
    allowed: QueueSet,
    first_voq: u16,
    limit: Bytes,
    max_frame: Bytes,
    busy_until: Instant,
    served: usize,
    /// Queue of the burst in transmission, and the rate at its start, at which its other frames follow.
    under_way: Option<(usize, Rate)>,
}

impl LineCard {
    /// With the VOQs of these numbers.
    pub fn new(voqs: Range<u16>, limit: Bytes, max_frame: Bytes) -> LineCard {
        let queues: Vec<Queue> = (0..=voqs.len()).map(|_| Queue::default()).collect();
        LineCard {
            filled: QueueSet::of(queues.len()),
            allowed: QueueSet::of(queues.len()),
            queues,
            first_voq: voqs.start,
            limit,
            max_frame,
            busy_until: Instant::ZERO,
            served: 0,
            under_way: None,
        }
    }

    fn voqs(&self) -> usize {
        self.queues.len() - 1
    }

    /// Place of a queue by its number on the wire; the signaling queue stands last.
    fn index(&self, queue: u16) -> Option<usize> {
        if queue == SIGNALING_QUEUE {
            return Some(self.voqs());
        }
        let index = usize::from(queue.checked_sub(self.first_voq)?);
        (index < self.voqs()).then_some(index)
    }

    /// Numbers of the VOQs.
    pub fn voq_numbers(&self) -> Range<u16> {
        self.first_voq..self.first_voq + self.voqs() as u16
    }

    fn number(&self, index: usize) -> u16 {
        if index == self.voqs() {
            SIGNALING_QUEUE
        } else {
            self.first_voq + index as u16
        }
    }

    /// Takes a packet into the queue that its optical header names, or gives it back with the reason.
    pub fn enqueue(&mut self, now: Instant, packet: Packet) -> Result<(), (DropCause, Packet)> {
        self.enqueue_until(now, packet, Instant::MAX)
    }

    /// As [`LineCard::enqueue`], for a packet that is of use before a time only.
    pub fn enqueue_until(&mut self, now: Instant, packet: Packet, until: Instant) -> Result<(), (DropCause, Packet)> {
        if now >= until {
            return Err((DropCause::Late, packet));
        }
        let Some(optical) = message::optical(&packet.frame) else {
            return Err((DropCause::Malformed, packet));
        };
        let Some(index) = self.index(optical.queue) else {
            return Err((DropCause::NoSuchQueue, packet));
        };
        let queue = &mut self.queues[index];
        let bytes = Bytes::of(packet.frame.len());
        if bytes > self.max_frame {
            queue.dropped_packets += 1;
            queue.meter.dropped();
            return Err((DropCause::TooLong, packet));
        }
        if queue.backlog_bytes + bytes > self.limit {
            queue.dropped_packets += 1;
            queue.meter.dropped();
            return Err((DropCause::QueueFull, packet));
        }
        if let Some(timers) = &mut queue.timers {
            timers.observe(queue.backlog_bytes);
        }
        queue.meter.arrived(now, queue.backlog_bytes, bytes);
        queue.demand.arrived(now, queue.backlog_bytes);
        queue.backlog_bytes += bytes;
        queue.arrived_bytes += bytes;
        self.filled.set(index, true);
        queue.waiting.push_back(Waiting {
            packet,
            arrived: now,
            until,
            run_bytes: bytes,
            run_frames: 1,
        });
        Ok(())
    }

    /// Adds the frames of a burst to a VOQ, to be sent together in one slot, or returns all of them with the reason.
    pub fn enqueue_burst(
        &mut self,
        now: Instant,
        voq: u16,
        frames: Vec<Packet>,
    ) -> Result<(), (DropCause, Vec<Packet>)> {
        let Some(index) = self.index(voq).filter(|index| *index < self.voqs()) else {
            return Err((DropCause::NoSuchQueue, frames));
        };
        let queue = &mut self.queues[index];
        let lengths: Vec<Bytes> = frames.iter().map(|packet| Bytes::of(packet.frame.len())).collect();
        let mut run_bytes: Bytes = lengths.iter().copied().sum();
        if queue.backlog_bytes + run_bytes > self.limit {
            queue.dropped_packets += lengths.len() as u64;
            for _ in &lengths {
                queue.meter.dropped();
            }
            return Err((DropCause::QueueFull, frames));
        }
        let mut run_frames = lengths.len() as u64;
        for (packet, bytes) in frames.into_iter().zip(lengths) {
            queue.meter.arrived(now, queue.backlog_bytes, bytes);
            queue.demand.arrived(now, queue.backlog_bytes);
            queue.backlog_bytes += bytes;
            queue.arrived_bytes += bytes;
            queue.waiting.push_back(Waiting {
                packet,
                arrived: now,
                until: Instant::MAX,
                run_bytes,
                run_frames,
            });
            run_bytes -= bytes;
            run_frames -= 1;
        }
        self.filled.set(index, !queue.waiting.is_empty());
        Ok(())
    }

    /// Starts the interval timers of every VOQ; they tick now.
    pub fn start_timers(&mut self, now: Instant) {
        let voqs = self.voqs();
        for queue in &mut self.queues[..voqs] {
            queue.timers = Some(IntervalTimers::new(now));
        }
    }

    /// Time at which the next interval timer expires.
    pub fn next_tick(&self) -> Option<Instant> {
        let timers = self.queues.iter().filter_map(|queue| queue.timers.as_ref());
        timers.map(IntervalTimers::next).min()
    }

    /// The tick of an interval timer that has expired by `now`, with its VOQ.
    pub fn tick(&mut self, now: Instant) -> Option<(u16, IntervalTick)> {
        (self.first_voq..).zip(&mut self.queues).find_map(|(voq, queue)| {
            let tick = queue.timers.as_mut()?.tick(now, queue.backlog_bytes)?;
            Some((voq, tick))
        })
    }

    /// Applies a flow-control message.
    pub fn control(&mut self, now: Instant, message: &FlowControl) -> Result<Controlled, DropCause> {
        let operation = FlowOp::try_from(message.op).map_err(|_| DropCause::Malformed)?;
        match operation {
            FlowOp::SetPhase => return Ok(Controlled::Phase),
            FlowOp::Stop => return Ok(Controlled::Stop),
            _ => {}
        }
        let index = self.index(message.queue).ok_or(DropCause::NoSuchQueue)?;
        let is_voq = index < self.voqs();
        let queue = &mut self.queues[index];
        let [open, close] = [message.open_ns, message.close_ns].map(Instant::from_ns);
        match operation {
            FlowOp::Open => {
                if open >= close {
                    return Err(DropCause::Malformed);
                }
                (queue.open, queue.close) = (open, close);
                self.allowed.set(index, true);
                if is_voq {
                    queue.meter.granted();
                    return Ok(Controlled::Granted { voq: message.queue });
                }
            }
            FlowOp::OpenAndTick => {
                let to_come = now..now.saturating_add(2 * MAX_ANSWER);
                if open >= close || !to_come.contains(&open) {
                    return Err(DropCause::Malformed);
                }
                (queue.open, queue.close) = (open, close);
                self.allowed.set(index, true);
                return Ok(Controlled::Answer { at: open });
            }
            FlowOp::Shut => (queue.open, queue.close) = (Instant::ZERO, Instant::ZERO),
            FlowOp::SetRate => queue.pacer.set_rate(now, Rate::from_bps(message.value)),
            FlowOp::GrantBytes => {
                queue.granted_bytes = Bytes::new(message.value);
                self.allowed.set(index, true);
            }
            FlowOp::SetControlTimer | FlowOp::SetQueueTimer => {
                let timer = if operation == FlowOp::SetQueueTimer {
                    IntervalTimer::Queue
                } else {
                    IntervalTimer::Control
                };
                let timers = queue.timers.as_mut();
                if !timers.is_some_and(|timers| timers.answer(timer, now, Duration::from_ns(message.value))) {
                    return Err(DropCause::Malformed);
                }
            }
            FlowOp::SetPhase | FlowOp::Stop => unreachable!("returned above"),
        }
        Ok(Controlled::Done)
    }

    /// Sends the next frame that may leave now: the signaling queue's first, then the VOQs' in turn.
    pub fn poll(&mut self, now: Instant, rate: Rate) -> Next {
        if self.filled.is_empty() {
            return Next::Idle;
        }
        if now < self.busy_until {
            return Next::At(self.busy_until);
        }
        let voqs = self.voqs();
        if let Some((index, begun)) = self.under_way.take()
            && self.queues[index].departure(now, begun) == Some(now)
        {
            return self.send(now, index, begun);
        }
        let mut earliest: Option<Instant> = None;
        for mut turn in [voqs..voqs + 1, self.served + 1..voqs, 0..voqs.min(self.served + 1)] {
            while let Some(index) = self.filled.first_in_both(&self.allowed, turn.clone()) {
                let queue = &self.queues[index];
                match queue.departure(now, rate) {
                    Some(at) if at == now => return self.send(now, index, rate),
                    Some(at) => earliest = Some(earliest.map_or(at, |e| e.min(at))),
                    // Looked at again when P4 allows it something.
                    None if queue.is_over(now) => self.allowed.set(index, false),
                    None => {}
                }
                turn.start = index + 1;
            }
        }
        earliest.map_or(Next::Idle, Next::At)
    }

    fn send(&mut self, now: Instant, index: usize, rate: Rate) -> Next {
        if index < self.voqs() {
            self.served = index;
        }
        let number = self.number(index);
        let queue = &mut self.queues[index];
        let Some(Waiting { packet, run_frames, .. }) = queue.waiting.pop_front() else {
            return Next::Idle;
        };
        self.under_way = (run_frames > 1).then_some((index, rate));
        self.filled.set(index, !queue.waiting.is_empty());
        let bytes = Bytes::of(packet.frame.len());
        queue.meter.sent(now, queue.backlog_bytes, bytes);
        queue.backlog_bytes -= bytes;
        let new_demand = queue.demand.sent(now, queue.backlog_bytes);
        queue.granted_bytes = queue.granted_bytes.saturating_sub(bytes);
        queue.pacer.sent(now, bytes);
        let duration = rate.time(bytes);
        self.busy_until = now + duration;
        Next::Send {
            packet,
            queue: number,
            duration,
            new_demand,
        }
    }

    /// State of a VOQ of [`LineCard::voq_numbers`], for its report.
    pub fn voq_state(&self, now: Instant, voq: u16) -> QueueState {
        let queue = &self.queues[usize::from(voq - self.first_voq)];
        QueueState {
            backlog_bytes: queue.backlog_bytes,
            arrived_bytes: queue.arrived_bytes,
            hol_delay: queue.waiting.front().map_or(Duration::ZERO, |head| now - head.arrived),
            dropped_packets: queue.dropped_packets,
        }
    }

    /// Demand of VOQs that has no light yet.
    pub fn unserved_demand(&self) -> impl Iterator<Item = NewDemand> + '_ {
        self.queues[..self.voqs()]
            .iter()
            .filter_map(|queue| queue.demand.unserved())
    }

    /// Shuts all gates and gives back the signaling that waits: it was for slots that are not to come.
    pub fn stop(&mut self) -> Vec<Frame> {
        for queue in &mut self.queues {
            (queue.open, queue.close, queue.granted_bytes) = (Instant::ZERO, Instant::ZERO, Bytes::ZERO);
        }
        let voqs = self.voqs();
        self.filled.set(voqs, false);
        let signaling = &mut self.queues[voqs];
        signaling.backlog_bytes = Bytes::ZERO;
        signaling
            .waiting
            .drain(..)
            .map(|waiting| waiting.packet.frame)
            .collect()
    }

    /// Use of a VOQ since the last call; `None` for an unknown VOQ.
    pub fn take_use(&mut self, now: Instant, voq: u16) -> Option<QueueUse> {
        let voqs = self.voqs();
        let index = self.index(voq).filter(|index| *index < voqs)?;
        let queue = &mut self.queues[index];
        let waiting = queue.waiting.len() as u64;
        Some(queue.meter.take(now, queue.backlog_bytes, waiting))
    }

    /// Gives back messages that are of no use any more.
    pub fn take_late(&mut self, now: Instant) -> Vec<Frame> {
        let voqs = self.voqs();
        let queue = &mut self.queues[voqs];
        let (late, waiting) = std::mem::take(&mut queue.waiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| waiting.until <= now);
        queue.waiting = waiting;
        self.filled.set(voqs, !queue.waiting.is_empty());
        queue.backlog_bytes -= late
            .iter()
            .map(|late| Bytes::of(late.packet.frame.len()))
            .sum::<Bytes>();
        queue.dropped_packets += late.len() as u64;
        late.into_iter().map(|late| late.packet.frame).collect()
    }

    /// Shuts all gates and gives back what waits.
    pub fn reset(&mut self) -> Vec<Frame> {
        self.under_way = None;
        (self.filled, self.allowed) = (QueueSet::of(self.queues.len()), QueueSet::of(self.queues.len()));
        let empty = |queue: &mut Queue| {
            let timers = queue.timers.take();
            let meter = std::mem::take(&mut queue.meter);
            let waiting = std::mem::replace(
                queue,
                Queue {
                    timers,
                    meter,
                    ..Queue::default()
                },
            )
            .waiting;
            waiting.into_iter().map(|waiting| waiting.packet.frame)
        };
        self.queues.iter_mut().flat_map(empty).collect()
    }
}

#[cfg(test)]
mod tests;
