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
mod output;
#[cfg(test)]
mod tests;

use hdrhistogram::Histogram;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{FlowOp, Label, Optical, PORT_LINECARD, PORT_OPTICAL_BASE, TrainPart};

use crate::assembly::{Assembly, Joining};
use crate::card::{Action, Actions, Broken, Card, Expiry, Pass, Program, Record, Then as CardThen, TimerId};
use crate::fifo::{Fifo, FifoUse};
use crate::macroflows::{Held, Macroflows};
use crate::message::train::{self as message, InLight};
use crate::message::{ToCard, interval_tick};
use crate::packet::{Origin, Packet};
use crate::timer::Timer;
use crate::train::{Train, payload_bytes};
use crate::train_card::{Answer, TrainCard};
use crate::train_queue::{Labelled, TrainQueue, TrainUse};
use crate::wavelength::{Wavelength, counted_bytes, lose};
use crate::{DropCause, Port};
use arrivals::Arrivals;
pub use output::Direct;
use output::{Before, Output, Outputs};

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

/// Bursts that are lost before a dark output, one after P4 has been told of the other.
#[derive(Debug)]
pub struct Losing {
    port: Port,
    /// True if a burst leaves meanwhile.
    is_busy: bool,
    lost: std::vec::IntoIter<Labelled>,
}

/// Limit of the bursts that wait before an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngressLimit {
    /// Most bursts.
    pub bursts: u8,
    /// They count by class.
    pub by_class: bool,
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
    /// Where each packet is a burst.
    Queue(FifoUse),
    /// Where bursts share memory.
    Bursts(TrainUse),
}

/// Bursts and what they share.
struct Bursts {
    assembly: Assembly,
    /// Set if P4 counts the bursts before outputs.
    limit: Option<IngressLimit>,
    /// Output for probes, which ticks of macroflows name.
    probe_port: Port,
    /// When macroflows may send next.
    release: Timer,
}

impl Bursts {
    fn macroflows(&mut self) -> Option<&mut Macroflows> {
        self.assembly.card.macroflows.as_mut()
    }
}

/// Card of an edge of optical packet switches.
pub struct EdgeCard {
    edge: u16,
    /// Program of the switch that numbers bursts now.
    program: u32,
    is_outside: bool,
    framing_bytes: usize,
    /// Time that is kept free behind each burst.
    guard: Duration,
    outputs: Outputs,
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
            framing_bytes: framing.get() as usize,
            guard,
            outputs: Outputs::default(),
            bursts: None,
            arrivals: None,
        }
    }

    /// The same with memory that bursts of all outputs share. `probe_port` is the output for probes.
    #[must_use]
    pub fn with_bursts(mut self, memory: TrainCard, limit: Option<IngressLimit>, probe_port: Port) -> EdgeCard {
        self.bursts = Some(Bursts {
            assembly: Assembly::new(memory, PORT_OPTICAL_BASE).with_timer(BURSTS),
            limit,
            probe_port,
            release: Timer::default(),
        });
        self
    }

    /// The same with packets put in order again that arrive. None waits for longer than `hold`.
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
        queue: TrainQueue,
        wavelength: Wavelength,
        direct: Option<Direct>,
    ) -> Option<Instant> {
        let first = queue.next_tick_ns().map(Instant::from_ns);
        let mut output = Output::new(Before::Bursts(queue), wavelength);
        (output.direct, output.timer) = (direct, Timer::set_to(first));
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

    /// The switch has another program from now on, which numbers bursts anew.
    pub fn set_program(&mut self, program: u32) {
        self.program = program;
    }

    /// Use of an output; `None` if there is no such output.
    pub fn take_output_use(&mut self, now: Instant, port: Port) -> Option<OutputUse> {
        Some(match &mut self.outputs.get(port)?.before {
            Before::Queue(queue) => OutputUse::Queue(queue.take_use(now.ns())),
            Before::Bursts(queue) => OutputUse::Bursts(queue.take_use()),
        })
    }

    /// Use of the memory of bursts; `None` without one.
    pub fn take_memory_use(&mut self) -> Option<BurstMemoryUse> {
        let memory = &mut self.bursts.as_mut()?.assembly.card;
        let macroflows = memory.macroflows.as_mut();
        let (round_trip_ns, unserved_bursts) = macroflows.map_or((0, 0), |macroflows| {
            (macroflows.take_round_trip_ns(), macroflows.take_unserved())
        });
        Some(BurstMemoryUse {
            most_held: Bytes::new(memory.take_most_held_bytes()),
            probe_round_trip: Duration::from_ns(round_trip_ns),
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

    /// A packet with a label leaves as a burst.
    fn queue_sends(&mut self, now: Instant, port: Port, label: Label, packet: Packet, out: &mut Actions) {
        let program = self.program;
        let bytes = counted_bytes(&packet.frame, self.framing_bytes);
        let Some(output) = self.outputs.get(port) else { return };
        let Before::Queue(queue) = &mut output.before else {
            return;
        };
        out.push(Action::Seen(Record::BurstFormed {
            port,
            label,
            packets: 1,
            bytes: Bytes::new(payload_bytes(&packet.frame).saturating_sub(Label::SIZE as u64)),
        }));
        let length = packet.frame.len();
        let taken = if output.is_dark {
            queue.lose(length);
            Err(DropCause::LinkDown)
        } else {
            queue.enqueue(now.ns(), length)
        };
        match taken {
            Ok(departure) => {
                let start = Instant::from_ns(departure.start_ns);
                let duration = output.wavelength.duration(bytes);
                let (at, left) = (output.wavelength.arrival(start, duration), start + duration);
                out.push(Action::Seen(Record::BurstLeft { label, program, left }));
                output.wavelength.enter((at, duration), packet, program, out);
            }
            Err(cause) => lose(port, cause, packet.frame, program, out),
        }
    }

    /// A packet with a label is a burst.
    fn takes_burst(
        &mut self,
        now: Instant,
        port: Port,
        (label, optical): (Label, Optical),
        packet: Packet,
        out: &mut Actions,
    ) {
        let bytes = counted_bytes(&packet.frame, self.framing_bytes);
        let labelled = Labelled {
            train: Train::only(packet, bytes),
            class: label.traffic_class,
            tag: 0,
        };
        let has_room = self
            .bursts
            .as_mut()
            .is_some_and(|bursts| bursts.assembly.card.take_in(bytes));
        formed(port, label, &labelled.train, out);
        if has_room {
            return self.put(now, port, optical.queue, labelled, out);
        }
        if let Some(macroflows) = self.bursts.as_mut().and_then(Bursts::macroflows) {
            macroflows.refuse(optical.queue);
        }
        self.lose_burst(port, DropCause::QueueFull, labelled, CardThen::Nothing, out);
    }

    /// A packet joins the open burst of its queue.
    fn joins(&mut self, now: Instant, port: Port, optical: &Optical, packet: Packet, out: &mut Actions) {
        let queue = optical.queue;
        let assembly = self.bursts.as_mut().map(|bursts| &mut bursts.assembly);
        let Some(assembly) = assembly.filter(|assembly| assembly.card.aggregates(queue)) else {
            let (cause, frame) = (DropCause::NoSuchQueue, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        };
        let closes = optical.train == u8::from(TrainPart::First);
        let bytes = (
            counted_bytes(&packet.frame, self.framing_bytes),
            payload_bytes(&packet.frame),
        );
        let joining = Joining {
            port,
            queue,
            packet,
            bytes,
        };
        assembly.take(now, joining, closes, out);
    }

    /// A burst goes to its macroflow, or to the output.
    fn put(&mut self, now: Instant, port: Port, queue: u16, labelled: Labelled, out: &mut Actions) {
        let macroflows = self.bursts.as_mut().and_then(Bursts::macroflows);
        match macroflows.filter(|macroflows| macroflows.has(queue)) {
            Some(macroflows) => {
                macroflows.put(now.ns(), queue, Held { labelled, port });
                self.release(now, out);
            }
            None => {
                self.reaches_output(now, port, labelled, CardThen::Nothing, out);
            }
        }
    }

    /// Macroflows may be able to send.
    fn release(&mut self, now: Instant, out: &mut Actions) {
        if let Some(bursts) = &mut self.bursts {
            bursts.release.expires(now);
        }
        self.release_due(now, out);
    }

    /// Sends the bursts of macroflows whose time has come to their outputs, one after P4 has been told of the other.
    fn release_due(&mut self, now: Instant, out: &mut Actions) {
        while let Some(held) = self
            .bursts
            .as_mut()
            .and_then(Bursts::macroflows)
            .and_then(|all| all.release(now.ns()))
        {
            let then = CardThen::Edge(Then::Release);
            if self.reaches_output(now, held.port, held.labelled, then, out) {
                return;
            }
        }
        self.set_timers(now, out);
    }

    /// A burst comes before an output. True if P4 is asked.
    fn reaches_output(
        &mut self,
        now: Instant,
        port: Port,
        labelled: Labelled,
        then: CardThen,
        out: &mut Actions,
    ) -> bool {
        let Some(output) = self.outputs.get(port) else {
            return false;
        };
        if output.is_dark {
            self.let_go(labelled.train.bytes);
            return self.lose_burst(port, DropCause::LinkDown, labelled, then, out);
        }
        let Before::Bursts(queue) = &mut output.before else {
            return false;
        };
        let class = labelled.class;
        queue.put(now.ns(), labelled);
        self.begins(now, port, out);
        let limit = self.bursts.as_ref().and_then(|bursts| bursts.limit);
        if let Some(IngressLimit { bursts, by_class }) = limit
            && let Some(Output {
                before: Before::Bursts(queue),
                ..
            }) = self.outputs.get(port)
            && queue.is_over(bursts, by_class.then_some(class))
        {
            let broken = Broken::IngressLimit;
            out.push(Action::Broken { port, broken });
        }
        false
    }

    /// Something of so many bytes waits no more.
    fn let_go(&mut self, bytes: u64) {
        if let Some(bursts) = &mut self.bursts {
            bursts.assembly.card.let_go(bytes);
        }
    }

    /// The next burst enters the wavelength if it is free. Returns its class and tag.
    fn begins(&mut self, now: Instant, port: Port, out: &mut Actions) -> Option<(u8, u64)> {
        let (guard, framing_bytes, program) = (self.guard, self.framing_bytes, self.program);
        let output = self.outputs.get(port)?;
        let Before::Bursts(queue) = &mut output.before else {
            return None;
        };
        let byte_time = output.wavelength.byte_time;
        let leaving = queue.begin(now.ns(), |bytes| byte_time.ns(bytes), guard.ns())?;
        let Labelled { train, class, tag } = leaving.labelled;
        out.push(Action::Timer {
            timer: port,
            at: Instant::from_ns(leaving.end_ns),
            expiry: Expiry::Last,
        });
        let bytes = train.bytes;
        output.light(now, port, train, (framing_bytes, program), out);
        self.let_go(bytes);
        Some((class, tag))
    }

    /// The burst that left has left: the next one begins, and P4 is told.
    fn has_left(&mut self, now: Instant, port: Port, program: Program, out: &mut Actions) {
        let ended = match self.outputs.get(port).map(|output| &mut output.before) {
            Some(Before::Bursts(queue)) => queue.end(now.ns()),
            _ => None,
        };
        let Some(is_known) = ended else { return };
        let begins = self.begins(now, port, out);
        if is_known && program != Program::None {
            self.tell_sent(port, begins, CardThen::Nothing, out);
        }
    }

    /// Tells P4, if it counts bursts, that there is one less before an output. True if it does.
    fn tell_sent(&mut self, port: Port, begins: Option<(u8, u64)>, then: CardThen, out: &mut Actions) -> bool {
        let counts = self.bursts.as_ref().is_some_and(|bursts| bursts.limit.is_some());
        if counts {
            out.ask(&message::train_sent(port, begins), None, then);
        }
        counts
    }

    /// A burst is lost before an output. What it had of the memory has been let go. True if P4 is told.
    fn lose_burst(
        &mut self,
        port: Port,
        cause: DropCause,
        labelled: Labelled,
        then: CardThen,
        out: &mut Actions,
    ) -> bool {
        let Some(Output {
            before: Before::Bursts(queue),
            ..
        }) = self.outputs.get(port)
        else {
            return false;
        };
        queue.lose();
        let is_busy = queue.is_busy();
        let Labelled { train, class, tag } = labelled;
        self.lose_frames(port, cause, train, out);
        self.tell_sent(port, is_busy.then_some((class, tag)), then, out)
    }

    fn lose_frames(&self, port: Port, cause: DropCause, burst: Train, out: &mut Actions) {
        for packet in burst.frames {
            lose(port, cause, packet.frame, self.program, out);
        }
    }

    /// Loses the bursts that wait before a dark output, then what has not begun to leave.
    fn lose_waiting(&mut self, mut losing: Box<Losing>, out: &mut Actions) {
        let port = losing.port;
        while let Some(Labelled { train, class, tag }) = losing.lost.next() {
            self.let_go(train.bytes);
            self.lose_frames(port, DropCause::LinkDown, train, out);
            let begins = losing.is_busy.then_some((class, tag));
            if self.bursts.as_ref().is_some_and(|bursts| bursts.limit.is_some()) {
                let then = CardThen::Edge(Then::Lose(losing));
                self.tell_sent(port, begins, then, out);
                return;
            }
        }
        if let Some(output) = self.outputs.get(port) {
            output.cut(port, DropCause::LinkDown, out);
        }
    }

    /// Asks P4 with the tick of an output's interval timer that has expired, one after its answer to the other.
    fn output_ticks(&mut self, now: Instant, port: Port, out: &mut Actions) {
        let Some(output) = self.outputs.get(port) else { return };
        let Before::Bursts(queue) = &mut output.before else {
            return;
        };
        match queue.tick(now.ns()) {
            Some((tick, state)) => {
                output.is_asking = true;
                out.ask(
                    &interval_tick(port, &tick, port, &state),
                    None,
                    CardThen::Output { port },
                );
            }
            None => output.set_timer(now, port, out),
        }
    }

    /// Closes the bursts that are due, one after P4's answer to the other; then macroflows tick.
    fn close_due(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        if !bursts.assembly.close_due(now, out) {
            self.macroflows_tick(now, out);
        }
    }

    /// Macroflows tick, one after P4's answer to the other.
    fn macroflows_tick(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        let probe_port = bursts.probe_port;
        match bursts.macroflows().and_then(|all| all.tick(now.ns())) {
            Some((queue, tick, state)) => {
                let tick = interval_tick(probe_port, &tick, queue, &state);
                out.ask(&tick, None, CardThen::Edge(Then::Tick));
            }
            None => self.set_timers(now, out),
        }
    }

    /// Sets the timers to what is due next.
    fn set_timers(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        bursts.assembly.set_timer(now, out);
        if let Some(at_ns) = bursts.macroflows().and_then(|all| all.next_ns()) {
            let at = Instant::from_ns(at_ns).max(now);
            bursts.release.set(at, (BURSTS, Expiry::Last), out);
        }
    }

    /// P4's answer about a closed burst; false if it fits none.
    fn labelled(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let Some((answer, label)) = message::train_label(message) else {
            return false;
        };
        let answered = self
            .bursts
            .as_mut()
            .map(|bursts| bursts.assembly.card.answer(&answer, label.as_ref()));
        match (answered, label) {
            (Some(Ok(Answer::Labelled { queue, labelled })), Some(label)) => {
                formed(port, label, &labelled.train, out);
                self.put(now, port, queue, labelled, out);
                true
            }
            (Some(Ok(Answer::Refused(burst))), _) => {
                out.push(Action::Seen(Record::BurstRefused));
                self.lose_frames(port, DropCause::Refused, burst, out);
                true
            }
            _ => false,
        }
    }
}

/// Records that an edge has made a burst.
fn formed(port: Port, label: Label, burst: &Train, out: &mut Actions) {
    out.push(Action::Seen(Record::BurstFormed {
        port,
        label,
        packets: burst.frames.len() as u64,
        bytes: Bytes::new(burst.packet_bytes()),
    }));
}

impl Card for EdgeCard {
    /// Takes a packet: with a label it is a burst, without it joins one. What the controller sends is none, whatever it
    /// looks like; a switch outside may answer so late that it is not known any more what it has made of what.
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        let is_of_controller = matches!(from, Origin::Local) && !self.is_outside;
        let in_light = message::read(&packet.frame).filter(|_| !is_of_controller);
        let (before, edge) = (self.outputs.get(port).map(|output| &output.before), self.edge);
        match (before, in_light) {
            (Some(Before::Queue(_)), Some(InLight::First(label, _))) if label.src_edge == edge => {
                self.queue_sends(now, port, label, packet, out);
            }
            (Some(Before::Bursts(_)), Some(InLight::First(label, optical))) if label.src_edge == edge => {
                self.takes_burst(now, port, (label, optical), packet, out);
            }
            (Some(Before::Bursts(_)), Some(InLight::Behind(optical))) if optical.src_edge == edge => {
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
        let Some(output) = self.outputs.get(port) else {
            return false;
        };
        let Before::Bursts(queue) = &mut output.before else {
            return false;
        };
        let Some(control) = message.flow_control() else {
            return self.labelled(now, message, out);
        };
        if control.queue == port {
            let is_set = queue.control(now.ns(), &control).is_ok();
            if is_set && !output.is_asking {
                output.set_timer(now, port, out);
            }
            return is_set;
        }
        let is_rate = control.op == u8::from(FlowOp::SetRate);
        let macroflows = self.bursts.as_mut().and_then(Bursts::macroflows).filter(|_| is_rate);
        let is_set = macroflows.is_some_and(|all| all.set_rate(now.ns(), control.queue, control.value).is_ok());
        self.set_timers(now, out);
        is_set
    }

    fn goes_on(&mut self, now: Instant, then: CardThen, pass: Pass, out: &mut Actions) {
        match then {
            CardThen::Output { port } => {
                if let Some(output) = self.outputs.get(port) {
                    output.is_asking = false;
                }
                self.output_ticks(now, port, out);
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
                if self.outputs.get(port).is_some_and(|output| output.timer.expires(now)) {
                    self.output_ticks(now, port, out);
                }
            }
            (port, Expiry::Last) => self.has_left(now, port, program, out),
        }
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        let Some(output) = self.outputs.get(port) else { return };
        output.is_dark = is_dark;
        if !is_dark {
            return;
        }
        match &mut output.before {
            Before::Queue(queue) => {
                queue.drop_waiting(now.ns());
                output.cut(port, DropCause::LinkDown, out);
            }
            Before::Bursts(queue) => {
                let losing = Box::new(Losing {
                    port,
                    is_busy: queue.is_busy(),
                    lost: queue.take_waiting().into_iter(),
                });
                self.lose_waiting(losing, out);
            }
        }
    }

    /// Loses what waits, open bursts and macroflows with it. P4 is not told: it counts anew.
    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        let cause = DropCause::PipelineReplaced;
        for port in self.outputs.ports() {
            let Some(output) = self.outputs.get(port) else { continue };
            let lost = output.lose_waiting(now);
            for Labelled { train, .. } in lost {
                self.let_go(train.bytes);
                self.lose_frames(port, cause, train, out);
            }
            if let Some(output) = self.outputs.get(port) {
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
