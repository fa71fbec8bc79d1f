// SPDX-License-Identifier: Apache-2.0
//! Card of an edge of optical packet switches: from the first packet of a burst to its last bit, and packets that arrive.
//!
//! ```text
//! P4 ── packet ──> open burst ── tick ──> P4 ── label ──┐
//!    ── labelled packet ────────────────────────────────┴──> macroflow ──> output ──> wavelength, TRAIN_SENT ──> P4
//! light ── arrives ──> resequencer ──> P4
//! ```
//!
//! All outputs share the memory of bursts and the macroflows. An edge without those has a queue before each output, where
//! each packet is a burst.

mod arrivals;
mod bursts;
mod output;
impl Invariant {
    /// No two frames at once on a lane: one wavelength of a fibre, one way.
    pub const LANE: Invariant = Invariant::new("lane", "wavelength collisions");
    /// Never more trains waiting before an output of an edge, or of a class before it, than may.
    pub const INGRESS: Invariant = Invariant::new("ingress", "ingress limit violations");
}

#[cfg(test)]
mod tests;

use hdrhistogram::Histogram;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{FlowOp, Label, PORT_LINECARD, PORT_OPTICAL_BASE};

use crate::assembly::Assembly;
use crate::burst::payload_bytes;
use crate::burst_memory::BurstMemory;
use crate::burst_queue::{BurstQueue, BurstUse, Labelled};
use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Record, Then as CardThen, TimerId};
use crate::fifo::{Fifo, FifoUse};
use crate::macroflows::Macroflows;
use crate::message::ToCard;
use crate::message::burst::{self as message, InLight};
use crate::packet::{Origin, Packet};
use crate::ports::Ports;
use crate::ticks::{IntervalQueue, Ticks};
use crate::timer::Timer;
use crate::wavelength::{Wavelength, counted, lose};
use crate::{DropCause, Invariant, Port};
use arrivals::Arrivals;
use bursts::Bursts;
pub use bursts::{IngressLimit, Losing};
pub use output::Direct;
use output::{Before, Output};

/// Timer of open bursts and macroflows. Outputs have the numbers of their ports.
const BURSTS: TimerId = 0;
/// Timer of the resequencer.
const ARRIVALS: TimerId = 1;

/// Continuation of an edge's card after a question to P4.
#[derive(Debug)]
pub enum Then {
    /// The next macroflow ticks.
    Tick,
    /// The next burst leaves its macroflow.
    Release,
    /// The next burst is lost before a dark output.
    Lose(Box<Losing>),
}

/// Use of the memory of bursts and of macroflows since the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstMemoryUse {
    /// Most bytes, as links count them, that waited at once.
    pub most_held: Bytes,
    /// Longest time from a probe to the rate that it brought; 0 of none.
    pub probe_round_trip: Duration,
    /// Bursts that wait for the rate of their macroflow now, and those that were lost as they waited.
    pub unserved_bursts: u64,
}

/// Use of an output since the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputUse {
    /// Use of a queue of packets, each a burst.
    Queue(FifoUse),
    /// Use of a queue of bursts that share memory.
    Bursts(BurstUse),
}

/// Card of an edge of optical packet switches.
pub struct EdgeCard {
    edge: u16,
    /// Program of the switch that numbers bursts now.
    program: u32,
    is_outside: bool,
    framing: Bytes,
    /// Time that is kept free behind each burst.
    guard: Duration,
    outputs: Ports<Output>,
    bursts: Option<Bursts>,
    arrivals: Option<Arrivals>,
}

impl EdgeCard {
    /// A card without outputs. Of each frame links do not count `framing`, and behind each burst `guard` is kept free.
    pub fn new(edge: u16, framing: Bytes, guard: Duration) -> EdgeCard {
        EdgeCard {
            edge,
            program: 0,
            is_outside: false,
            framing,
            guard,
            outputs: Ports::from(PORT_OPTICAL_BASE),
            bursts: None,
            arrivals: None,
        }
    }

    /// Adds memory that bursts of all outputs share. `probe_port` is the output for probes.
    #[must_use]
    pub fn with_bursts(mut self, memory: BurstMemory, limit: Option<IngressLimit>, probe_port: Port) -> EdgeCard {
        self.bursts = Some(Bursts {
            assembly: Assembly::new(memory, PORT_OPTICAL_BASE).with_timer(BURSTS),
            limit,
            probe_port,
            release: Timer::default(),
        });
        self
    }

    /// Adds a resequencer for packets that arrive. None waits for longer than `hold`.
    #[must_use]
    pub fn with_resequencer(mut self, hold: Duration) -> EdgeCard {
        self.arrivals = Some(Arrivals::new(hold));
        self
    }

    /// Adds an output where each packet is a burst.
    pub fn add_queue(&mut self, port: Port, queue: Fifo, wavelength: Wavelength) {
        self.outputs.add(port, Output::new(Before::Queue(queue), wavelength));
    }

    /// Adds an output for bursts. Returns when its timer expires first, if it has any.
    pub fn add_output(
        &mut self,
        port: Port,
        queue: BurstQueue,
        wavelength: Wavelength,
        direct: Option<Direct>,
    ) -> Option<Instant> {
        let first = queue.next_tick();
        let ticks = Ticks::new(port, port, &queue);
        let mut output = Output::new(Before::Bursts(queue, ticks), wavelength);
        output.direct = direct;
        self.outputs.add(port, output);
        first
    }

    /// Sets the first timers of macroflows.
    pub fn starts(&mut self, now: Instant, out: &mut Actions) {
        self.set_timers(now, out);
    }

    /// The switch is outside from now on: it answers later.
    pub fn set_outside(&mut self) {
        self.is_outside = true;
    }

    /// The switch has another program from now on, which starts its own numbering of bursts.
    pub fn set_program(&mut self, program: u32) {
        self.program = program;
    }

    /// Use of an output; `None` if there is no such output.
    pub fn take_output_use(&mut self, now: Instant, port: Port) -> Option<OutputUse> {
        Some(match &mut self.outputs.get_mut(port)?.before {
            Before::Queue(queue) => OutputUse::Queue(queue.take_use(now)),
            Before::Bursts(queue, _) => OutputUse::Bursts(queue.take_use()),
        })
    }

    /// Use of the memory of bursts; `None` without one.
    pub fn take_memory_use(&mut self) -> Option<BurstMemoryUse> {
        let memory = &mut self.bursts.as_mut()?.assembly.card;
        let macroflows = memory.macroflows.as_mut();
        let (probe_round_trip, unserved_bursts) = macroflows.map_or((Duration::ZERO, 0), |macroflows| {
            (macroflows.take_round_trip(), macroflows.take_unserved())
        });
        Some(BurstMemoryUse {
            most_held: memory.take_most_held_bytes(),
            probe_round_trip,
            unserved_bursts,
        })
    }

    /// Waits in macroflows of the bursts that left since the last call, ns; `None` without macroflows.
    pub fn take_waits(&mut self) -> Option<Histogram<u64>> {
        self.bursts.as_mut()?.macroflows().map(Macroflows::take_waits)
    }

    /// Packets that have waited for packets before them, since the start.
    pub fn resequenced(&self) -> u64 {
        self.arrivals.as_ref().map_or(0, Arrivals::held)
    }

    /// Takes a packet of a burst of this program that has arrived. Returns it if P4 gets it as it is.
    #[inline]
    pub fn arrives(
        &mut self,
        now: Instant,
        port: Port,
        packet: Packet,
        program: u32,
        out: &mut Actions,
    ) -> Option<Packet> {
        match &mut self.arrivals {
            Some(arrivals) => arrivals.take(now, port, packet, program, out),
            None => Some(packet),
        }
    }

    /// Bursts before an output, and their interval timers.
    fn ticking(&mut self, port: Port) -> Option<(&mut BurstQueue, &mut Ticks)> {
        match &mut self.outputs.get_mut(port)?.before {
            Before::Queue(_) => None,
            Before::Bursts(queue, ticks) => Some((queue, ticks)),
        }
    }

    /// A packet with a label leaves as a burst.
    fn queue_sends(&mut self, now: Instant, port: Port, label: Label, packet: Packet, out: &mut Actions) {
        let program = self.program;
        let bytes = counted(&packet.frame, self.framing);
        let Some(output) = self.outputs.get_mut(port) else {
            return;
        };
        let Before::Queue(queue) = &mut output.before else {
            return;
        };
        out.push(Action::Seen(Record::BurstFormed {
            port,
            label,
            packets: 1,
            bytes: payload_bytes(&packet.frame).saturating_sub(Bytes::of(Label::SIZE)),
        }));
        let length = packet.frame.len();
        let taken = if output.is_dark {
            queue.lose(length);
            Err(DropCause::LinkDown)
        } else {
            queue.enqueue(now, length)
        };
        match taken {
            Ok(departure) => {
                let start = departure.start;
                let duration = output.wavelength.duration(bytes);
                let (at, left) = (output.wavelength.arrival(start, duration), start + duration);
                out.push(Action::Seen(Record::BurstLeft { label, program, left }));
                output.wavelength.enter((at, duration), packet, program, out);
            }
            Err(cause) => lose(port, cause, packet.frame, program, out),
        }
    }
}

impl Card for EdgeCard {
    /// Takes a packet. One with a label is a burst, one without a label joins a burst. A packet of the controller is neither;
    /// a late answer of a switch outside cannot be told from one.
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        let is_of_controller = matches!(from, Origin::Local) && !self.is_outside;
        let in_light = message::read(&packet.frame).filter(|_| !is_of_controller);
        let (before, edge) = (self.outputs.get(port).map(|output| &output.before), self.edge);
        match (before, in_light) {
            (Some(Before::Queue(_)), Some(InLight::First(label, _))) if label.src_edge == edge => {
                self.queue_sends(now, port, label, packet, out);
            }
            (Some(Before::Bursts(..)), Some(InLight::First(label, optical))) if label.src_edge == edge => {
                self.takes_burst(now, port, (label, optical), packet, out);
            }
            (Some(Before::Bursts(..)), Some(InLight::Behind(optical))) if optical.src_edge == edge => {
                self.joins(now, port, &optical, packet, out);
            }
            (before, _) => {
                let cause = before.map_or(DropCause::NoSuchPort, |_| DropCause::NoSuchQueue);
                let frame = packet.frame;
                out.push(Action::Drop { port, cause, frame });
            }
        }
    }

    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let Some(output) = self.outputs.get_mut(port) else {
            return false;
        };
        let Before::Bursts(queue, ticks) = &mut output.before else {
            return false;
        };
        let Some(control) = message.flow_control() else {
            return self.labelled(now, message, out);
        };
        if control.queue == port {
            return ticks.told(now, queue, &control, out);
        }
        let is_rate = control.op == u8::from(FlowOp::SetRate);
        let macroflows = self.bursts.as_mut().and_then(Bursts::macroflows).filter(|_| is_rate);
        let is_set =
            macroflows.is_some_and(|all| all.set_rate(now, control.queue, Rate::from_bps(control.value)).is_ok());
        self.set_timers(now, out);
        is_set
    }

    fn goes_on(&mut self, now: Instant, then: CardThen, pass: Pass, out: &mut Actions) {
        match then {
            CardThen::Ticks { timer } => {
                if let Some((queue, ticks)) = self.ticking(timer) {
                    ticks.goes_on(now, queue, out);
                }
            }
            CardThen::Assembly(_, then) => {
                let assembly = self.bursts.as_mut().map(|bursts| &mut bursts.assembly);
                if assembly.is_some_and(|assembly| assembly.goes_on(now, then, pass, out)) {
                    self.close_due(now, out);
                }
            }
            CardThen::Edge(Then::Tick) => self.macroflows_tick(now, out),
            CardThen::Edge(Then::Release) => self.release_due(now, out),
            CardThen::Edge(Then::Lose(losing)) => self.lose_waiting(losing, out),
            _ => {}
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        match (timer, expiry) {
            (BURSTS, Expiry::First) => {
                if let Some(bursts) = &mut self.bursts {
                    bursts.assembly.expires(now);
                }
                self.close_due(now, out);
            }
            (BURSTS, Expiry::Last) => self.release(now, out),
            (ARRIVALS, _) => {
                if let Some(arrivals) = &mut self.arrivals {
                    arrivals.due(now, out);
                }
            }
            (port, Expiry::First) => {
                if let Some((queue, ticks)) = self.ticking(port) {
                    ticks.due(now, queue, out);
                }
            }
            (port, Expiry::Last) => self.has_left(now, port, program, out),
            (_, Expiry::CoreSlot | Expiry::EdgeSlot) => {}
        }
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        let Some(output) = self.outputs.get_mut(port) else {
            return;
        };
        output.is_dark = is_dark;
        if !is_dark {
            return;
        }
        match &mut output.before {
            Before::Queue(queue) => {
                queue.drop_waiting(now);
                output.cut(port, DropCause::LinkDown, out);
            }
            Before::Bursts(queue, _) => {
                let losing = Box::new(Losing {
                    port,
                    is_busy: queue.is_busy(),
                    lost: queue.take_waiting().into_iter(),
                });
                self.lose_waiting(losing, out);
            }
        }
    }

    /// Loses everything that waits, including open bursts and macroflows. P4 gets no reports: its counts restart.
    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        let cause = DropCause::PipelineReplaced;
        for port in self.outputs.numbers() {
            let Some(output) = self.outputs.get_mut(port) else {
                continue;
            };
            let lost = output.lose_waiting(now);
            for Labelled { burst, .. } in lost {
                self.let_go(burst.bytes);
                self.lose_frames(port, cause, burst, out);
            }
            if let Some(output) = self.outputs.get_mut(port) {
                output.cut(port, cause, out);
            }
        }
        let held = self
            .bursts
            .as_mut()
            .map_or_else(Vec::new, |bursts| bursts.assembly.card.take_all());
        for burst in held {
            self.lose_frames(PORT_LINECARD, cause, burst, out);
        }
        for packet in self.arrivals.as_mut().map_or_else(Vec::new, Arrivals::take_all) {
            let (port, frame) = (PORT_LINECARD, packet.frame);
            out.push(Action::Drop { port, cause, frame });
        }
    }
}
