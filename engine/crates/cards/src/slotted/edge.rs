// SPDX-License-Identifier: Apache-2.0
//! Card of an edge: before each fibre queues, gates, bursts and a clock of slots; alarms of light; the link to a
//! core if the edge is its master.

use std::collections::VecDeque;

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{ANSWER_SLOT, FaultCode, FlowControl, Optical, PORT_CORE_CONTROL, PORT_OPTICAL_BASE, SlotTick};

use super::clock::{GENERATIONS, Jumped, SlotClock};
use super::{Bursts, ControlLink, Jump, LocalClock, Slots, SyncErrors};
use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Record, Then, TimerId};
use crate::demand::NewDemand;
use crate::gates::{self, Gates, Ticks};
use crate::linecard::{Controlled, LineCard};
use crate::measure::QueueUse;
use crate::message::{self, ToCard};
use crate::packet::{Flying, Frame, Origin, Packet};
use crate::{DropCause, Invariant, Port};

/// State of a pair of fibres, as both ends see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FibreState {
    /// Rate of both directions.
    pub rate: Rate,
    /// Delay of both directions.
    pub delay: Duration,
    /// True if light passes, and can be read.
    pub is_up: bool,
    /// True if light can be read only just.
    pub is_weak: bool,
}

/// Settings of what stands before a pair of fibres.
pub struct FibreSettings {
    /// Optical port.
    pub port: Port,
    /// The fibres at first.
    pub state: FibreState,
    /// Queues; their interval timers run if they have any.
    pub queues: LineCard,
    /// Ticks beside the first one of each slot.
    pub ticks: Ticks,
    /// Local time.
    pub clock: LocalClock,
    /// T_d, if it is known.
    pub time_difference: Option<Duration>,
    /// Assembly of bursts, if edges make them.
    pub bursts: Option<Bursts>,
}

/// State before a pair of fibres.
struct Fibre {
    port: Port,
    state: FibreState,
    gates: Gates,
    clock: SlotClock,
    sync_errors: SyncErrors,
    bursts: Option<Bursts>,
    /// Edges behind the same port of the core, which get the same light.
    sharing: Vec<u16>,
}

/// Alarms for P4 that wait.
struct Alarms {
    /// Edges that join by invitation report them. Out of band there is no other sign of light.
    are_raised: bool,
    waiting: VecDeque<(Port, FaultCode, bool)>,
}

impl Alarms {
    /// Notes an alarm for P4, right after what happens now.
    fn raise(&mut self, now: Instant, port: Port, code: FaultCode, over: bool, out: &mut Actions) {
        if self.are_raised {
            self.waiting.push_back((port, code, over));
            out.push(timer(Timer::Alarm, now));
        }
    }
}

/// Timer of a slot, or of what takes place among slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    /// The next alarm.
    Alarm,
    /// The tick that answers an invitation, by core.
    Answer(u16),
    /// A slot, by core and setting of the clock.
    Slot(u16, u16),
}

/// Cores in a timer's number.
const CORES: u16 = 16;

impl Timer {
    fn id(self) -> TimerId {
        match self {
            Timer::Alarm => 0,
            Timer::Answer(core) => CORES + core,
            Timer::Slot(core, generation) => (2 + generation) * CORES + core,
        }
    }

    fn of(id: TimerId) -> Timer {
        let core = id % CORES;
        match id / CORES {
            0 => Timer::Alarm,
            1 => Timer::Answer(core),
            above => Timer::Slot(core, above - 2),
        }
    }
}

const _: () = assert!(slotwise_wire::MAX_CORES <= CORES as u32);
const _: () = assert!((2 + GENERATIONS) as u32 * (CORES as u32) <= TimerId::MAX as u32);

fn timer(timer: Timer, at: Instant) -> Action {
    let (timer, expiry) = (timer.id(), Expiry::EdgeSlot);
    Action::Timer { timer, at, expiry }
}

/// Light at an edge, for its program.
#[derive(Debug)]
pub struct Arrived {
    /// The packet.
    pub frame: Frame,
    /// Its optical header, if it has one.
    pub optical: Option<Optical>,
}

/// Card of an edge.
pub struct Edge {
    edge: u16,
    slots: Slots,
    /// By core.
    fibres: Vec<Option<Box<Fibre>>>,
    /// Beside the fibre of this port.
    control: Option<(Port, ControlLink)>,
    alarms: Alarms,
}

/// Core of an optical port.
fn core_of(port: Port) -> Option<u16> {
    port.checked_sub(PORT_OPTICAL_BASE)
}

/// A switch that answers a question is there; outside it answers later.
fn program_of(pass: Pass) -> Program {
    match pass {
        Pass::Done { .. } => Program::Inside,
        Pass::Later => Program::Outside,
    }
}

impl Edge {
    /// A card without fibres.
    pub fn new(edge: u16, slots: Slots, has_alarms: bool) -> Edge {
        Edge {
            edge,
            slots,
            fibres: Vec::new(),
            control: None,
            alarms: Alarms {
                are_raised: has_alarms,
                waiting: VecDeque::new(),
            },
        }
    }

    /// Adds a pair of fibres and sets its timers.
    pub fn add_fibre(&mut self, now: Instant, settings: FibreSettings, out: &mut Actions) {
        let place = usize::from(settings.port - PORT_OPTICAL_BASE);
        if place >= self.fibres.len() {
            self.fibres.resize_with(place + 1, || None);
        }
        let frame = gates::Frame {
            slots: self.slots.count,
            slot: self.slots.slot,
            signaling: self.slots.signaling,
        };
        let FibreSettings {
            port,
            state,
            queues,
            ticks,
            clock,
            time_difference,
            bursts,
        } = settings;
        let fibre = self.fibres[place].insert(Box::new(Fibre {
            port,
            state,
            gates: Gates::new(port, queues, frame, ticks),
            clock: SlotClock::new(self.slots, clock, time_difference),
            sync_errors: SyncErrors::default(),
            bursts,
            sharing: vec![self.edge],
        }));
        fibre.set_timer(now, out);
        fibre.set_tick_timer(out);
    }

    /// Adds the link to the core behind a port, as the edge is its master.
    pub fn set_control(&mut self, port: Port, control: ControlLink) {
        self.control = Some((port, control));
    }

    /// Sets the edges behind the same port of a core.
    pub fn set_sharing(&mut self, port: Port, edges: Vec<u16>) {
        if let Some(fibre) = self.fibre(port) {
            fibre.sharing = edges;
        }
    }

    fn fibre(&mut self, port: Port) -> Option<&mut Fibre> {
        self.fibre_and_alarms(port).map(|(fibre, _)| fibre)
    }

    fn fibre_and_alarms(&mut self, port: Port) -> Option<(&mut Fibre, &mut Alarms)> {
        let fibre = self.fibres.get_mut(usize::from(core_of(port)?))?.as_mut()?;
        Some((fibre, &mut self.alarms))
    }

    /// The queues before each fibre, by core.
    pub fn queues(&self) -> impl Iterator<Item = (u16, &LineCard)> {
        let fibres = self.fibres.iter().zip(0..);
        fibres.filter_map(|(fibre, core)| Some((core, &fibre.as_ref()?.gates.queues)))
    }

    /// Use of a VOQ since the last call; `None` without such a queue.
    pub fn take_use(&mut self, now: Instant, port: Port, voq: u16) -> Option<QueueUse> {
        self.fibre(port)?.gates.queues.take_use(now, voq)
    }

    /// Errors of synchronization before a fibre.
    pub fn sync_errors(&self, port: Port) -> Option<&SyncErrors> {
        let fibre = self.fibres.get(usize::from(core_of(port)?))?.as_ref()?;
        Some(&fibre.sync_errors)
    }

    /// Errors of synchronization before a fibre, to be changed.
    pub fn sync_errors_mut(&mut self, port: Port) -> Option<&mut SyncErrors> {
        Some(&mut self.fibre(port)?.sync_errors)
    }

    /// True if slots start before a fibre: it has a T_d.
    pub fn has_slots(&self, core: u16) -> bool {
        let fibre = self.fibres.get(usize::from(core)).and_then(Option::as_ref);
        fibre.is_some_and(|fibre| fibre.clock.has_slots())
    }

    /// Number of VOQs with unserved new demand: they had been empty for a frame.
    pub fn unserved_demand(&self) -> u64 {
        let is_new = |demand: &NewDemand| demand.after >= self.slots.frame();
        let demand = self.queues().flat_map(|(_, queues)| queues.unserved_demand());
        demand.filter(is_new).count() as u64
    }

    /// Takes the tail of a packet that arrives by a fibre. Returns what enters the program.
    pub fn arrives(&mut self, now: Instant, port: Port, flying: Flying, out: &mut Actions) -> Arrived {
        let mut frame = flying.packet.frame;
        let Some(fibre) = self
            .fibres
            .get_mut(usize::from(port - PORT_OPTICAL_BASE))
            .and_then(Option::as_mut)
        else {
            return Arrived { frame, optical: None };
        };
        let duration = fibre.state.rate.time(Bytes::of(frame.len()));
        let first_bit = Instant::ZERO + now.since_start().saturating_sub(duration);
        fibre.clock.stamp(&mut frame, first_bit, true);
        let optical = message::optical(&frame);
        if let Some(packet) = optical
            && packet.dst_edge != self.edge
            && !fibre.sharing.contains(&packet.dst_edge)
        {
            let broken = Invariant::UNGRANTED;
            let (port, packet) = (slotwise_wire::PORT_LINECARD, optical);
            out.push(Action::Broken { port, broken, packet });
        }
        Arrived { frame, optical }
    }

    /// The fibres behind a port have changed.
    pub fn fibre_changed(&mut self, now: Instant, port: Port, state: FibreState, out: &mut Actions) {
        if let Some((_, control)) = self.control.as_mut().filter(|(beside, _)| *beside == port) {
            control.set_delay(state.delay);
        }
        let Some((fibre, alarms)) = self.fibre_and_alarms(port) else {
            return;
        };
        let before = std::mem::replace(&mut fibre.state, state);
        if before.is_weak != state.is_weak {
            alarms.raise(now, port, FaultCode::Power, !state.is_weak, out);
        }
        if before.is_up != state.is_up {
            alarms.raise(now, port, FaultCode::LossOfSignal, state.is_up, out);
        }
    }

    /// A program starts. P4 gets an alarm for each dark fibre once more.
    pub fn starts(&mut self, now: Instant, out: &mut Actions) {
        self.restarts(now, out);
        for fibre in self.fibres.iter().flatten().filter(|fibre| !fibre.state.is_up) {
            self.alarms.raise(now, fibre.port, FaultCode::LossOfSignal, false, out);
        }
    }

    /// The switch stops. Its clocks lose T_d, unless they are network time.
    pub fn stops(&mut self, now: Instant, out: &mut Actions) {
        self.restarts(now, out);
        for fibre in self.fibres.iter_mut().flatten() {
            fibre.clock.lose();
        }
    }

    /// The clocks of the edge jump.
    pub fn clocks_jump(&mut self, now: Instant, jump: Jump, out: &mut Actions) {
        for fibre in self.fibres.iter_mut().flatten() {
            match fibre.clock.jumps(jump) {
                Jumped::Ideal => {}
                Jumped::Goes => fibre.set_timer(now, out),
                Jumped::Lost => fibre.stop(now, &mut self.alarms, out),
            }
        }
    }
}

impl Fibre {
    fn core(&self) -> u16 {
        self.port - PORT_OPTICAL_BASE
    }

    /// Sets the timer of the next slot, if there is one.
    fn set_timer(&mut self, now: Instant, out: &mut Actions) {
        if let Some(next) = self.clock.next_start(now) {
            out.push(timer(Timer::Slot(self.core(), next.generation), next.at));
        }
    }

    fn set_tick_timer(&mut self, out: &mut Actions) {
        if let Some(at) = self.gates.next_tick() {
            let (timer, expiry) = (self.port, Expiry::First);
            out.push(Action::Timer { timer, at, expiry });
        }
    }

    fn slot_starts(&mut self, now: Instant, generation: u16, program: Program, out: &mut Actions) {
        let Some(start) = self.clock.starts(now, generation) else {
            return;
        };
        self.set_timer(now, out);
        let slots = self.clock.slots();
        self.sync_errors.add(slots.start(start.slot), now + self.state.delay);
        if start.slot.is_multiple_of(slots.count) {
            let (port, frame) = (self.port, start.slot / slots.count);
            out.push(Action::Seen(Record::EdgeFrame { port, frame }));
        }
        self.gates.slot_starts(now, start, program, out);
    }

    /// Interval timers of VOQs, one after the answer of P4 to the other; then bursts that are due.
    fn tick_timers(&mut self, now: Instant, program: Program, out: &mut Actions) {
        if self.gates.tick_timers(now, program, out) {
            return;
        }
        self.set_tick_timer(out);
        if let Some(bursts) = &mut self.bursts {
            bursts.close_due(now, out);
        }
    }

    fn answers(&mut self, now: Instant, out: &mut Actions) {
        let Some(local) = self.clock.answers(now) else { return };
        let tick = SlotTick {
            frame: 0,
            slot: ANSWER_SLOT,
            repeat: 1,
            local_ns: local.ns(),
        };
        out.ask(&message::slot_tick(self.port, &tick), None, Then::Nothing);
    }

    /// Applies a message about queues, gates or T_d.
    fn applies(
        &mut self,
        now: Instant,
        message: &FlowControl,
        alarms: &mut Alarms,
        out: &mut Actions,
    ) -> Result<(), DropCause> {
        let port = self.port;
        match self.gates.queues.control(now, message)? {
            Controlled::Done => {}
            Controlled::Granted { voq } => out.push(Action::Seen(Record::Granted { port, voq })),
            Controlled::Phase => {
                let was_lost = self.clock.set(now, message)?;
                // It may have become so without an alarm.
                if was_lost && self.state.is_weak {
                    alarms.raise(now, port, FaultCode::Power, false, out);
                }
                self.set_timer(now, out);
            }
            Controlled::Stop => {
                self.clock.stop();
                self.stop(now, alarms, out);
            }
            Controlled::Answer { at } => {
                self.clock.is_to_answer(at);
                out.push(timer(Timer::Answer(self.core()), at));
            }
        }
        Ok(())
    }

    /// There is no T_d any more: the fibre gets nothing from here, and P4 an alarm.
    fn stop(&mut self, now: Instant, alarms: &mut Alarms, out: &mut Actions) {
        self.lose(DropCause::Stopped, |fibre| fibre.gates.queues.stop(), out);
        alarms.raise(now, self.port, FaultCode::SyncError, false, out);
    }

    fn lose(&mut self, cause: DropCause, take: impl FnOnce(&mut Fibre) -> Vec<Frame>, out: &mut Actions) {
        let port = self.port;
        for frame in take(self) {
            out.push(Action::Drop { port, cause, frame });
        }
    }

    /// Sends what may leave.
    fn drain(&mut self, now: Instant, out: &mut Actions) {
        let first = out.list.len();
        self.gates.drain(now, self.state.rate, out);
        self.leaves(now, first, out);
    }

    /// Stamps light that leaves, and looks at its bursts: those among the actions from one on.
    fn leaves(&mut self, now: Instant, first: usize, out: &mut Actions) {
        for place in first..out.list.len() {
            let Action::Light { packet, .. } = &mut out.list[place] else {
                continue;
            };
            self.clock.stamp(&mut packet.frame, now, false);
            let Some(bursts) = &mut self.bursts else { continue };
            let slot = self.clock.slot_at_core(now, self.state.delay);
            if let Some(optical) = bursts.is_split(slot, &packet.frame) {
                let (port, broken, packet) = (self.port, Invariant::SPLIT, Some(optical));
                out.push(Action::Broken { port, broken, packet });
            }
        }
    }
}

impl Card for Edge {
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        if let (PORT_CORE_CONTROL, Some((_, control))) = (port, &self.control) {
            return control.sends(now, packet.frame, out);
        }
        let Some(fibre) = self.fibre(port) else {
            let (cause, frame) = (DropCause::NoSuchPort, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        };
        let packet = match &mut fibre.bursts {
            Some(bursts) => bursts.takes(now, packet, out),
            None => Some(packet),
        };
        if let Some(packet) = packet {
            let first = out.list.len();
            fibre.gates.sends(now, packet, from, fibre.state.rate, out);
            fibre.leaves(now, first, out);
        }
    }

    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let Some((fibre, alarms)) = self.fibre_and_alarms(port) else {
            return false;
        };
        if let Some(mut control) = message.flow_control() {
            fibre.clock.in_network_time(&mut control);
            if let Err(cause) = fibre.applies(now, &control, alarms, out) {
                let bytes = message.bytes();
                out.push(Action::Refuse { port, cause, bytes });
            }
        } else {
            let bursts = fibre.bursts.as_mut();
            match bursts.and_then(|bursts| bursts.is_told(now, message, &mut fibre.gates.queues, out)) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
        fibre.drain(now, out);
        true
    }

    fn goes_on(&mut self, now: Instant, then: Then, pass: Pass, out: &mut Actions) {
        let (Then::Gates(port, _) | Then::Assembly(port, _)) = then else {
            return;
        };
        let Some(fibre) = self.fibre(port) else { return };
        match then {
            Then::Gates(_, gates::Then::Report { start, reported }) => {
                fibre.gates.report(now, start, reported, program_of(pass), out);
            }
            Then::Gates(..) => fibre.tick_timers(now, program_of(pass), out),
            Then::Assembly(_, then) => {
                if let Some(bursts) = &mut fibre.bursts {
                    bursts.goes_on(now, then, pass, out);
                }
            }
            _ => {}
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        match (expiry, Timer::of(timer)) {
            (Expiry::EdgeSlot, Timer::Slot(core, generation)) => {
                if let Some(fibre) = self.fibre(PORT_OPTICAL_BASE + core) {
                    fibre.slot_starts(now, generation, program, out);
                }
            }
            (Expiry::EdgeSlot, Timer::Answer(core)) => {
                if let Some(fibre) = self.fibre(PORT_OPTICAL_BASE + core) {
                    fibre.answers(now, out);
                }
            }
            (Expiry::EdgeSlot, Timer::Alarm) => {
                if let Some((port, code, over)) = self.alarms.waiting.pop_front() {
                    out.ask(&message::alarm(port, code, over), None, Then::Nothing);
                }
            }
            (Expiry::First, _) => {
                if let Some(fibre) = self.fibre(timer) {
                    fibre.tick_timers(now, program, out);
                }
            }
            (Expiry::Last, _) => {
                if let Some(fibre) = self.fibre(timer) {
                    let first = out.list.len();
                    fibre.gates.wakes(now, fibre.state.rate, out);
                    fibre.leaves(now, first, out);
                }
            }
            (Expiry::CoreSlot, _) => {}
        }
    }

    /// Does nothing: light enters a fibre in any case.
    fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

    fn restarts(&mut self, _: Instant, out: &mut Actions) {
        for fibre in self.fibres.iter_mut().flatten() {
            let all = |fibre: &mut Fibre| {
                let mut all = fibre.gates.queues.reset();
                all.extend(fibre.bursts.iter_mut().flat_map(Bursts::take_all));
                all
            };
            fibre.lose(DropCause::PipelineReplaced, all, out);
        }
    }
}

#[cfg(test)]
mod tests;
