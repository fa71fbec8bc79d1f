// SPDX-License-Identifier: Apache-2.0
//! The line card between an edge and a fibre: queues and gates. It decides nothing; P4 tells it.

use std::collections::VecDeque;
use std::ops::Range;

use slotwise_wire::{FlowControl, FlowOp, IntervalTick, IntervalTimer, MAX_ANSWER_NS, SIGNALING_QUEUE};

use crate::DropCause;
use crate::demand::{Demand, NewDemand};
use crate::interval::IntervalTimers;
use crate::measure::{Meter, QueueUse};
use crate::message;
use crate::pacing::Pacer;
use crate::packet::{Frame, Packet};
use crate::transmission_ns;

struct Waiting {
    packet: Packet,
    arrived_ns: u64,
    /// From then on it is of no use.
    until_ns: u64,
    /// Bytes of what leaves together, this frame and those of its train behind it.
    run_bytes: u64,
    /// Frames of that.
    run_frames: u64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    backlog_bytes: u64,
    arrived_bytes: u64,
    dropped_packets: u64,
    /// The gate is open in `[open_ns, close_ns)`.
    open_ns: u64,
    close_ns: u64,
    /// Bytes that may leave whatever the gate.
    granted_bytes: u64,
    pacer: Pacer,
    /// For XCP.
    timers: Option<IntervalTimers>,
    meter: Meter,
    demand: Demand,
}

impl Queue {
    /// Whether nothing can leave any more unless P4 allows it anew.
    fn is_over(&self, now_ns: u64) -> bool {
        self.close_ns <= now_ns && self.granted_bytes == 0
    }

    /// The first time from `now_ns` on at which the head may leave, as things stand.
    fn departure_ns(&self, now_ns: u64, fibre_bps: u64) -> Option<u64> {
        let head = self.waiting.front()?;
        let bytes = head.run_bytes;
        let earliest_ns = self.pacer.next_ns(now_ns);
        if self.granted_bytes >= bytes {
            return Some(earliest_ns);
        }
        let start_ns = earliest_ns.max(self.open_ns);
        // The time of each frame is rounded up.
        let rounding_ns = head.run_frames - 1;
        let end_ns = start_ns.checked_add(transmission_ns(bytes, fibre_bps) + rounding_ns)?;
        (end_ns <= self.close_ns).then_some(start_ns)
    }
}

/// What a queue report says.
pub struct QueueState {
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Bytes that came since the start.
    pub arrived_bytes: u64,
    /// Wait of the first packet so far.
    pub hol_delay_ns: u64,
    /// Packets dropped since the start.
    pub dropped_packets: u64,
}

/// What a line card does next.
pub enum Next {
    /// This frame leaves now, from this queue.
    Send {
        /// The frame.
        packet: Packet,
        /// Its queue.
        queue: u16,
        /// Time on the fibre.
        duration_ns: u64,
        /// Set if it is the first of a burst.
        new_demand: Option<NewDemand>,
    },
    /// It may be able to send at this time.
    At(u64),
    /// Only an arrival or P4 can change anything.
    Idle,
}

/// What P4's message asks beyond the queues.
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
        at_ns: u64,
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
    /// Those that have packets.
    filled: QueueSet,
    /// Those whose gate is open or will be, or that were granted bytes; some whose gate is over may be among them.
    allowed: QueueSet,
    first_voq: u16,
    limit_bytes: u64,
    max_frame_bytes: u64,
    busy_until_ns: u64,
    served: usize,
    /// The queue whose train has begun to leave, and the rate then: its other frames come next, at that rate, which may have changed.
    under_way: Option<(usize, u64)>,
}

impl LineCard {
    /// With the VOQs of these numbers.
    pub fn new(voqs: Range<u16>, limit_bytes: u64, max_frame_bytes: u64) -> LineCard {
        let queues: Vec<Queue> = (0..=voqs.len()).map(|_| Queue::default()).collect();
        LineCard {
            filled: QueueSet::of(queues.len()),
            allowed: QueueSet::of(queues.len()),
            queues,
            first_voq: voqs.start,
            limit_bytes,
            max_frame_bytes,
            busy_until_ns: 0,
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
    pub fn enqueue(&mut self, now_ns: u64, packet: Packet) -> Result<(), (DropCause, Packet)> {
        self.enqueue_until(now_ns, packet, u64::MAX)
    }

    /// As [`LineCard::enqueue`], for a packet that is of use before `until_ns` only.
    pub fn enqueue_until(&mut self, now_ns: u64, packet: Packet, until_ns: u64) -> Result<(), (DropCause, Packet)> {
        if now_ns >= until_ns {
            return Err((DropCause::Late, packet));
        }
        let Some(optical) = message::optical(&packet.frame) else {
            return Err((DropCause::Malformed, packet));
        };
        let Some(index) = self.index(optical.queue) else {
            return Err((DropCause::NoSuchQueue, packet));
        };
        let queue = &mut self.queues[index];
        let bytes = packet.frame.len() as u64;
        if bytes > self.max_frame_bytes {
            queue.dropped_packets += 1;
            queue.meter.dropped();
            return Err((DropCause::TooLong, packet));
        }
        if queue.backlog_bytes + bytes > self.limit_bytes {
            queue.dropped_packets += 1;
            queue.meter.dropped();
            return Err((DropCause::QueueFull, packet));
        }
        if let Some(timers) = &mut queue.timers {
            timers.observe(queue.backlog_bytes);
        }
        queue.meter.arrived(now_ns, queue.backlog_bytes, bytes);
        queue.demand.arrived(now_ns, queue.backlog_bytes);
        queue.backlog_bytes += bytes;
        queue.arrived_bytes += bytes;
        self.filled.set(index, true);
        queue.waiting.push_back(Waiting {
            packet,
            arrived_ns: now_ns,
            until_ns,
            run_bytes: bytes,
            run_frames: 1,
        });
        Ok(())
    }

    /// Takes the frames of a train into a VOQ, which leave together in one slot, or gives all of them back with the reason.
    pub fn enqueue_train(
        &mut self,
        now_ns: u64,
        voq: u16,
        frames: Vec<Packet>,
    ) -> Result<(), (DropCause, Vec<Packet>)> {
        let Some(index) = self.index(voq).filter(|index| *index < self.voqs()) else {
            return Err((DropCause::NoSuchQueue, frames));
        };
        let queue = &mut self.queues[index];
        let lengths: Vec<u64> = frames.iter().map(|packet| packet.frame.len() as u64).collect();
        let mut run_bytes: u64 = lengths.iter().sum();
        if queue.backlog_bytes + run_bytes > self.limit_bytes {
            queue.dropped_packets += lengths.len() as u64;
            for _ in &lengths {
                queue.meter.dropped();
            }
            return Err((DropCause::QueueFull, frames));
        }
        let mut run_frames = lengths.len() as u64;
        for (packet, bytes) in frames.into_iter().zip(lengths) {
            queue.meter.arrived(now_ns, queue.backlog_bytes, bytes);
            queue.demand.arrived(now_ns, queue.backlog_bytes);
            queue.backlog_bytes += bytes;
            queue.arrived_bytes += bytes;
            queue.waiting.push_back(Waiting {
                packet,
                arrived_ns: now_ns,
                until_ns: u64::MAX,
                run_bytes,
                run_frames,
            });
            run_bytes -= bytes;
            run_frames -= 1;
        }
        self.filled.set(index, !queue.waiting.is_empty());
        Ok(())
    }

    /// Starts the interval timers of every VOQ; they tick at `now_ns`.
    pub fn start_timers(&mut self, now_ns: u64) {
        let voqs = self.voqs();
        for queue in &mut self.queues[..voqs] {
            queue.timers = Some(IntervalTimers::new(now_ns));
        }
    }

    /// When the next interval timer expires.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let timers = self.queues.iter().filter_map(|queue| queue.timers.as_ref());
        timers.map(IntervalTimers::next_ns).min()
    }

    /// The tick of an interval timer that has expired by `now_ns`, with its VOQ.
    pub fn tick(&mut self, now_ns: u64) -> Option<(u16, IntervalTick)> {
        (self.first_voq..).zip(&mut self.queues).find_map(|(voq, queue)| {
            let tick = queue.timers.as_mut()?.tick(now_ns, queue.backlog_bytes)?;
            Some((voq, tick))
        })
    }

    /// Obeys a flow-control message.
    pub fn control(&mut self, now_ns: u64, message: &FlowControl) -> Result<Controlled, DropCause> {
        let operation = FlowOp::try_from(message.op).map_err(|_| DropCause::Malformed)?;
        match operation {
            FlowOp::SetPhase => return Ok(Controlled::Phase),
            FlowOp::Stop => return Ok(Controlled::Stop),
            _ => {}
        }
        let index = self.index(message.queue).ok_or(DropCause::NoSuchQueue)?;
        let is_voq = index < self.voqs();
        let queue = &mut self.queues[index];
        match operation {
            FlowOp::Open => {
                if message.open_ns >= message.close_ns {
                    return Err(DropCause::Malformed);
                }
                (queue.open_ns, queue.close_ns) = (message.open_ns, message.close_ns);
                self.allowed.set(index, true);
                if is_voq {
                    queue.meter.granted();
                    return Ok(Controlled::Granted { voq: message.queue });
                }
            }
            FlowOp::OpenAndTick => {
                let to_come = now_ns..now_ns.saturating_add(2 * u64::from(MAX_ANSWER_NS));
                if message.open_ns >= message.close_ns || !to_come.contains(&message.open_ns) {
                    return Err(DropCause::Malformed);
                }
                (queue.open_ns, queue.close_ns) = (message.open_ns, message.close_ns);
                self.allowed.set(index, true);
                return Ok(Controlled::Answer { at_ns: message.open_ns });
            }
            FlowOp::Shut => (queue.open_ns, queue.close_ns) = (0, 0),
            FlowOp::SetRate => queue.pacer.set_rate(now_ns, message.value),
            FlowOp::GrantBytes => {
                queue.granted_bytes = message.value;
                self.allowed.set(index, true);
            }
            FlowOp::SetControlTimer | FlowOp::SetQueueTimer => {
                let timer = if operation == FlowOp::SetQueueTimer {
                    IntervalTimer::Queue
                } else {
                    IntervalTimer::Control
                };
                let timers = queue.timers.as_mut();
                if !timers.is_some_and(|timers| timers.answer(timer, now_ns, message.value)) {
                    return Err(DropCause::Malformed);
                }
            }
            FlowOp::SetPhase | FlowOp::Stop => unreachable!("returned above"),
        }
        Ok(Controlled::Done)
    }

    /// Sends the next frame that may leave at `now_ns`: the signaling queue's first, then the VOQs' in turn.
    pub fn poll(&mut self, now_ns: u64, fibre_bps: u64) -> Next {
        if self.filled.is_empty() {
            return Next::Idle;
        }
        if now_ns < self.busy_until_ns {
            return Next::At(self.busy_until_ns);
        }
        let voqs = self.voqs();
        if let Some((index, begun_bps)) = self.under_way.take()
            && self.queues[index].departure_ns(now_ns, begun_bps) == Some(now_ns)
        {
            return self.send(now_ns, index, begun_bps);
        }
        let mut earliest: Option<u64> = None;
        for mut turn in [voqs..voqs + 1, self.served + 1..voqs, 0..voqs.min(self.served + 1)] {
            while let Some(index) = self.filled.first_in_both(&self.allowed, turn.clone()) {
                let queue = &self.queues[index];
                match queue.departure_ns(now_ns, fibre_bps) {
                    Some(at_ns) if at_ns == now_ns => return self.send(now_ns, index, fibre_bps),
                    Some(at_ns) => earliest = Some(earliest.map_or(at_ns, |e| e.min(at_ns))),
                    // Looked at again when P4 allows it something.
                    None if queue.is_over(now_ns) => self.allowed.set(index, false),
                    None => {}
                }
                turn.start = index + 1;
            }
        }
        earliest.map_or(Next::Idle, Next::At)
    }

    fn send(&mut self, now_ns: u64, index: usize, fibre_bps: u64) -> Next {
        if index < self.voqs() {
            self.served = index;
        }
        let number = self.number(index);
        let queue = &mut self.queues[index];
        let Some(Waiting { packet, run_frames, .. }) = queue.waiting.pop_front() else {
            return Next::Idle;
        };
        self.under_way = (run_frames > 1).then_some((index, fibre_bps));
        self.filled.set(index, !queue.waiting.is_empty());
        let bytes = packet.frame.len() as u64;
        queue.meter.sent(now_ns, queue.backlog_bytes, bytes);
        queue.backlog_bytes -= bytes;
        let new_demand = queue.demand.sent(now_ns, queue.backlog_bytes);
        queue.granted_bytes = queue.granted_bytes.saturating_sub(bytes);
        queue.pacer.sent(now_ns, bytes);
        let duration_ns = transmission_ns(bytes, fibre_bps);
        self.busy_until_ns = now_ns + duration_ns;
        Next::Send {
            packet,
            queue: number,
            duration_ns,
            new_demand,
        }
    }

    /// State of a VOQ of [`LineCard::voq_numbers`], for its report.
    pub fn voq_state(&self, now_ns: u64, voq: u16) -> QueueState {
        let queue = &self.queues[usize::from(voq - self.first_voq)];
        QueueState {
            backlog_bytes: queue.backlog_bytes,
            arrived_bytes: queue.arrived_bytes,
            hol_delay_ns: queue.waiting.front().map_or(0, |head| now_ns - head.arrived_ns),
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
            (queue.open_ns, queue.close_ns, queue.granted_bytes) = (0, 0, 0);
        }
        let voqs = self.voqs();
        self.filled.set(voqs, false);
        let signaling = &mut self.queues[voqs];
        signaling.backlog_bytes = 0;
        signaling
            .waiting
            .drain(..)
            .map(|waiting| waiting.packet.frame)
            .collect()
    }

    /// What a VOQ did since the last call; `None` if the card does not have it.
    pub fn take_use(&mut self, now_ns: u64, voq: u16) -> Option<QueueUse> {
        let voqs = self.voqs();
        let index = self.index(voq).filter(|index| *index < voqs)?;
        let queue = &mut self.queues[index];
        let waiting = queue.waiting.len() as u64;
        Some(queue.meter.take(now_ns, queue.backlog_bytes, waiting))
    }

    /// Gives back messages that are of no use any more.
    pub fn take_late(&mut self, now_ns: u64) -> Vec<Frame> {
        let voqs = self.voqs();
        let queue = &mut self.queues[voqs];
        let (late, waiting) = std::mem::take(&mut queue.waiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| waiting.until_ns <= now_ns);
        queue.waiting = waiting;
        self.filled.set(voqs, !queue.waiting.is_empty());
        queue.backlog_bytes -= late.iter().map(|late| late.packet.frame.len() as u64).sum::<u64>();
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
