// SPDX-License-Identifier: Apache-2.0
//! Card before a fibre with a steady clock, for a driver that puts it between a switch and a fibre.

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{FlowOp, MAX_CORES, MAX_FIBRES, PORT_OPTICAL_BASE, SIGNALING_QUEUE, SlotTick, limits};

use crate::alone::Alone;
use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Then as CardThen, TimerId};
use crate::gates::{Frame, Gates, SlotStart, Then, Ticks};
use crate::linecard::{Controlled, LineCard};
use crate::message::{ToCard, slot_tick};
use crate::packet::{Origin, Packet};
use crate::time_difference::TimeDifference;
use crate::{DropCause, Port};

/// Timer of the next slot; ports have the other numbers.
const SLOT: TimerId = 0;

/// Settings of a line card. Times are those of the clock that the driver passes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardConfig {
    /// The edge, which has the signaling slot of its number.
    pub edge: u16,
    /// The core at the fibre's other end.
    pub core: u16,
    /// Edges of the network: each has one signaling slot, and a VOQ here. The VOQ for edge d is `core * edges + d`.
    pub edges: u16,
    /// Slots of a frame.
    pub slots: u32,
    /// Length of a slot.
    pub slot: Duration,
    /// Ticks with `repeat >= 1` in a signaling slot.
    pub signaling_ticks: u16,
    /// Bytes that a queue holds.
    pub limit: Bytes,
    /// Longest frame on the fibre.
    pub max_frame: Bytes,
    /// Rate of the fibre.
    pub rate: Rate,
    /// Start of slot 0 of frame 0 at the core.
    pub epoch: Instant,
    /// T_d: how much earlier the card's slots start, until P4 says otherwise.
    pub t_d: Duration,
    /// True if the VOQs have XCP's interval timers.
    pub xcp: bool,
}

impl CardConfig {
    fn port(&self) -> Port {
        PORT_OPTICAL_BASE + self.core
    }
}

/// Parts that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: out of range; expected {expected}, got {found}")]
pub struct CardConfigError {
    /// The field.
    pub what: &'static str,
    /// Its value.
    pub found: u64,
    /// Allowed values.
    pub expected: String,
}

/// A card with its clock, which is that of the driver.
pub struct GateCard {
    config: CardConfig,
    gates: Gates,
    time_difference: TimeDifference,
    next_slot: u64,
    /// Expiry of the timers that are set: of the next slot, of interval timers.
    slot_timer: Option<Instant>,
    tick_timer: Option<Instant>,
}

impl GateCard {
    /// A card whose first tick is that of the slot after `now`, with its driver.
    ///
    /// # Errors
    /// [`CardConfigError`] with the field that does not fit.
    pub fn alone(config: CardConfig, now: Instant) -> Result<Alone<GateCard>, CardConfigError> {
        check(&config)?;
        let first_voq = config.core * config.edges;
        let voqs = first_voq..first_voq + config.edges;
        let mut queues = LineCard::new(voqs, config.limit, config.max_frame);
        if config.xcp {
            queues.start_timers(now);
        }
        let frame = Frame {
            slots: config.slots.into(),
            slot: config.slot,
            signaling: config.edges.into(),
        };
        let ticks = Ticks {
            report_slot: config.edge.into(),
            first_slot: config.signaling_ticks,
            signaling: config.signaling_ticks,
        };
        let gates = Gates::new(config.port(), queues, frame, ticks);
        let mut card = GateCard {
            config,
            tick_timer: gates.next_tick(),
            gates,
            time_difference: TimeDifference::constant(config.t_d),
            next_slot: 0,
            slot_timer: None,
        };
        card.next_slot = card.slot_at(now).map_or(0, |slot| slot + 1);
        let first = card.start(card.next_slot);
        card.slot_timer = Some(first);
        let ticks = card.tick_timer.map(|at| (at, config.port()));
        Ok(Alone::new(card, ticks.into_iter().chain([(first, SLOT)])))
    }

    /// The optical port that it is before.
    pub fn port(&self) -> Port {
        self.config.port()
    }

    fn frame(&self) -> Duration {
        u64::from(self.config.slots) * self.config.slot
    }

    fn start(&self, slot: u64) -> Instant {
        let at_core = self.config.epoch + slot * self.config.slot;
        self.time_difference.local_start(at_core, self.frame())
    }

    /// The slot that it is here; `None` before the first.
    fn slot_at(&self, now: Instant) -> Option<u64> {
        let at_core = self.time_difference.at_core(now);
        Some(at_core.checked_since(self.config.epoch)? / self.config.slot)
    }

    /// Starts a slot that has begun. Of slots that are over already there is no tick.
    fn slot_starts(&mut self, now: Instant, program: Program, out: &mut Actions) {
        if let Some(slot) = self.slot_at(now).filter(|slot| *slot >= self.next_slot) {
            self.next_slot = slot + 1;
            let local = self.start(slot);
            self.gates.slot_starts(now, SlotStart { slot, local }, program, out);
        }
        self.set_slot_timer(out);
    }

    fn set_slot_timer(&mut self, out: &mut Actions) {
        let at = self.start(self.next_slot);
        if self.slot_timer.is_none_or(|known| at < known) {
            self.slot_timer = Some(at);
            let (timer, expiry) = (SLOT, Expiry::First);
            out.push(Action::Timer { timer, at, expiry });
        }
    }

    fn tick_timers(&mut self, now: Instant, program: Program, out: &mut Actions) {
        if !self.gates.tick_timers(now, program, out) {
            self.set_tick_timer(out);
        }
    }

    fn set_tick_timer(&mut self, out: &mut Actions) {
        if let Some(at) = self.gates.next_tick()
            && self.tick_timer.is_none_or(|known| at < known)
        {
            self.tick_timer = Some(at);
            let (timer, expiry) = (self.port(), Expiry::First);
            out.push(Action::Timer { timer, at, expiry });
        }
    }

    /// Applies a flow-control message.
    fn control(&mut self, now: Instant, message: &ToCard) -> Result<(), DropCause> {
        let control = message.flow_control().filter(|_| message.port == self.port());
        let control = control.ok_or(DropCause::Malformed)?;
        // Membership by invitation takes stamps, which only a card inside a network writes.
        if let Ok(FlowOp::OpenAndTick | FlowOp::Stop) = FlowOp::try_from(control.op) {
            return Err(DropCause::Malformed);
        }
        match self.gates.queues.control(now, &control)? {
            Controlled::Done | Controlled::Granted { .. } => Ok(()),
            Controlled::Phase => {
                let set = TimeDifference::from_message(&control, now, self.frame());
                self.time_difference = set.filter(TimeDifference::is_steady).ok_or(DropCause::Malformed)?;
                Ok(())
            }
            Controlled::Stop | Controlled::Answer { .. } => Err(DropCause::Malformed),
        }
    }
}

impl Card for GateCard {
    fn sends(&mut self, now: Instant, _: Port, packet: Packet, from: Origin, out: &mut Actions) {
        let rate = self.config.rate;
        self.gates.sends(now, packet, from, rate, out);
    }

    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let (port, rate) = (self.port(), self.config.rate);
        if let Err(cause) = self.control(now, message) {
            let bytes = message.bytes();
            out.push(Action::Refuse { port, cause, bytes });
        }
        self.set_slot_timer(out);
        self.set_tick_timer(out);
        self.gates.drain(now, rate, out);
        true
    }

    fn goes_on(&mut self, now: Instant, then: CardThen, pass: Pass, out: &mut Actions) {
        let program = match pass {
            Pass::Done { .. } => Program::Inside,
            Pass::Later => Program::Outside,
        };
        match then {
            CardThen::Gates(_, Then::Report { start, reported }) => {
                self.gates.report(now, start, reported, program, out);
            }
            CardThen::Gates(_, Then::Timer) => self.tick_timers(now, program, out),
            _ => {}
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        let rate = self.config.rate;
        match (timer, expiry) {
            (SLOT, _) => {
                if self.slot_timer.take_if(|at| *at <= now).is_some() {
                    self.slot_starts(now, program, out);
                }
            }
            (_, Expiry::First) => {
                if self.tick_timer.take_if(|at| *at <= now).is_some() {
                    self.tick_timers(now, program, out);
                }
            }
            (_, Expiry::Last) => self.gates.wakes(now, rate, out),
            (_, Expiry::CoreSlot | Expiry::EdgeSlot) => {}
        }
    }

    /// Does nothing: light enters a fibre in any case.
    fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

    fn restarts(&mut self, _: Instant, out: &mut Actions) {
        let (port, cause) = (self.port(), DropCause::PipelineReplaced);
        for frame in self.gates.queues.reset() {
            out.push(Action::Drop { port, cause, frame });
        }
    }
}

/// The tick that a core's control unit sends by PORT_LINECARD when `slot` starts; slots count from the epoch.
pub fn core_tick(slots: u32, slot: u64, local: Instant) -> Vec<u8> {
    let tick = SlotTick {
        frame: (slot / u64::from(slots)) as u32,
        slot: (slot % u64::from(slots)) as u16,
        repeat: 0,
        local_ns: local.ns(),
    };
    // A core's control unit serves no single port.
    slot_tick(0, &tick).to_vec()
}

fn check(config: &CardConfig) -> Result<(), CardConfigError> {
    const NS_PER_S: u64 = 1_000_000_000;
    let refuse = |what, found, expected: String| Err(CardConfigError { what, found, expected });
    let range = |what, found: u64, low: u64, high: u64| {
        if (low..=high).contains(&found) {
            Ok(())
        } else {
            refuse(what, found, format!("{low} to {high}"))
        }
    };
    range("core", config.core.into(), 0, u64::from(MAX_CORES) - 1)?;
    let most_edges = u64::from(SIGNALING_QUEUE) / (u64::from(config.core) + 1);
    range("edges", config.edges.into(), 2, most_edges.min(u64::from(MAX_FIBRES)))?;
    range("edge", config.edge.into(), 0, u64::from(config.edges) - 1)?;
    range("slots", config.slots.into(), u64::from(config.edges) + 1, 4096)?;
    range("signaling_ticks", config.signaling_ticks.into(), 1, 1024)?;
    range("max_frame_bytes", config.max_frame.get(), 64, 16 * 1024)?;
    // The longest frame leaves within a slot, or it never leaves.
    let least_rate = Rate::of_rounded_up(config.max_frame, Duration::from_ns(*limits::SLOT_NS.end()));
    range("rate_bps", config.rate.bps(), least_rate.bps(), 1_000 * NS_PER_S)?;
    let least_slot = config.rate.time(config.max_frame).ns();
    range(
        "slot_ns",
        config.slot.ns(),
        least_slot.max(*limits::SLOT_NS.start()),
        *limits::SLOT_NS.end(),
    )?;
    range("t_d_ns", config.t_d.ns(), 0, NS_PER_S)?;
    range("limit_bytes", config.limit.get(), config.max_frame.get(), 1 << 40)?;
    // Times in frames have 63 bits to be safe from wrapping.
    range("epoch_ns", config.epoch.ns(), 0, 1 << 62)
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{Ethernet, FlowControl, LINECARD_VERSION, LineCardKind, Linecard};

    use super::*;
    use crate::alone::Output;
    use crate::packet::optical_frame;

    const SLOT_NS: u64 = 1_000_000;
    const EPOCH_NS: u64 = 10 * SLOT_NS;

    fn config() -> CardConfig {
        CardConfig {
            edge: 1,
            core: 0,
            edges: 2,
            slots: 4,
            slot: Duration::from_ns(SLOT_NS),
            signaling_ticks: 2,
            limit: Bytes::new(10_000),
            max_frame: Bytes::new(1500),
            rate: Rate::from_bps(100_000_000),
            epoch: at(EPOCH_NS),
            t_d: Duration::from_us(1),
            xcp: false,
        }
    }

    fn open(queue: u16, open_ns: u64, close_ns: u64) -> Vec<u8> {
        flow_control(FlowOp::Open, queue, open_ns, close_ns)
    }

    fn flow_control(op: FlowOp, queue: u16, open_ns: u64, close_ns: u64) -> Vec<u8> {
        let linecard = Linecard {
            version: LINECARD_VERSION,
            kind: LineCardKind::FlowControl.into(),
            port: PORT_OPTICAL_BASE,
        };
        let message = FlowControl {
            queue,
            op: op.into(),
            open_ns,
            close_ns,
            value: 0,
        };
        let ethernet = Ethernet {
            ether_type: slotwise_wire::ETHERTYPE_LINECARD,
            ..Ethernet::default()
        };
        [&ethernet.encode()[..], &linecard.encode(), &message.encode()].concat()
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn card(config: CardConfig, now_ns: u64) -> Alone<GateCard> {
        GateCard::alone(config, at(now_ns)).unwrap()
    }

    fn next_ns(card: &Alone<GateCard>) -> u64 {
        card.next_at().unwrap().ns()
    }

    fn outputs(card: &mut Alone<GateCard>, now_ns: u64) -> Vec<Output> {
        std::iter::from_fn(|| card.poll(at(now_ns))).collect()
    }

    /// (frame, slot, repeat, local_ns) of ticks, in order; reports are counted.
    fn ticks(outputs: &[Output]) -> (usize, Vec<(u32, u16, u16, u64)>) {
        const HEADER: usize = Ethernet::SIZE + Linecard::SIZE;
        let mut reports = 0;
        let mut ticks = Vec::new();
        for output in outputs {
            let Output::ToSwitch(frame) = output else {
                panic!("light without a gate")
            };
            if Linecard::decode(&frame[Ethernet::SIZE..]).unwrap().kind == u8::from(LineCardKind::QueueReport) {
                reports += 1;
                continue;
            }
            let tick = SlotTick::decode(&frame[HEADER..]).unwrap();
            ticks.push((tick.frame, tick.slot, tick.repeat, tick.local_ns));
        }
        (reports, ticks)
    }

    #[test]
    fn ticks_come_t_d_early_and_reports_in_the_edges_own_slot() {
        let mut card = card(config(), 0);
        assert_eq!(next_ns(&card), EPOCH_NS - 1000);
        let mut all = Vec::new();
        for _ in 0..5 {
            let now_ns = next_ns(&card);
            all.push(ticks(&outputs(&mut card, now_ns)));
        }
        let start = |slot: u64| EPOCH_NS + slot * SLOT_NS - 1000;
        let repeats = |slot: u16| (0..3).map(|repeat| (0, slot, repeat, start(slot.into()))).collect();
        assert_eq!(all[0], (0, repeats(0)));
        assert_eq!(all[1], (2, repeats(1)));
        assert_eq!(all[2], (0, vec![(0, 2, 0, start(2))]));
        assert_eq!(all[4].1[0], (1, 0, 0, start(4)));
    }

    #[test]
    fn slots_that_are_over_get_no_tick() {
        let mut card = card(config(), EPOCH_NS);
        let (_, ticks) = ticks(&outputs(&mut card, EPOCH_NS + 6 * SLOT_NS + 5));
        assert_eq!(ticks, [(1, 2, 0, EPOCH_NS + 6 * SLOT_NS - 1000)]);
        assert_eq!(next_ns(&card), EPOCH_NS + 7 * SLOT_NS - 1000);
    }

    #[test]
    fn messages_for_membership_by_invitation_are_refused_and_open_nothing() {
        let mut card = card(config(), 0);
        card.sends(at(100), PORT_OPTICAL_BASE, optical_frame(0, 0));
        for op in [FlowOp::OpenAndTick, FlowOp::Stop] {
            card.told(at(200), PORT_OPTICAL_BASE, &flow_control(op, 0, 300, 1_000_000));
        }
        assert_eq!(outputs(&mut card, 500_000), []);
        assert_eq!(card.drops().get(&DropCause::Malformed), Some(&2));
    }

    #[test]
    fn packets_leave_in_their_slot_only_at_the_fibres_rate() {
        // 100 Mb/s: 80 us a packet.
        let mut card = card(config(), 0);
        for _ in 0..3 {
            card.sends(at(100), PORT_OPTICAL_BASE, optical_frame(0, 0));
        }
        assert_eq!(outputs(&mut card, 100), []);
        card.told(at(200), PORT_OPTICAL_BASE, &open(0, 1000, 1000 + 2 * 80_000));
        let mut left = Vec::new();
        let mut now_ns = 200;
        while now_ns < 1_000_000 {
            left.extend(outputs(&mut card, now_ns).into_iter().map(|_| now_ns));
            now_ns = next_ns(&card);
        }
        assert_eq!(left, [1000, 81_000]);
        card.sends(at(now_ns), PORT_OPTICAL_BASE, optical_frame(7, 0));
        card.told(at(now_ns), PORT_OPTICAL_BASE, b"nonsense");
        let causes: Vec<_> = card.drops().keys().copied().collect();
        assert_eq!(causes.len(), 2);
        assert!(causes.contains(&DropCause::NoSuchQueue) && causes.contains(&DropCause::Malformed));
    }

    #[test]
    fn a_card_has_the_queues_of_its_core() {
        let config = CardConfig { core: 3, ..config() };
        let mut card = card(config, 0);
        for queue in [5, 6, 7, 8] {
            card.sends(at(100), PORT_OPTICAL_BASE, optical_frame(queue, 0));
        }
        assert_eq!(card.drops().get(&DropCause::NoSuchQueue), Some(&2));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refusal = |change: fn(&mut CardConfig)| {
            let mut config = config();
            change(&mut config);
            GateCard::alone(config, at(0)).err().unwrap().to_string()
        };
        assert_eq!(refusal(|c| c.edge = 2), "edge: out of range; expected 0 to 1, got 2");
        assert_eq!(
            refusal(|c| c.slots = 2),
            "slots: out of range; expected 3 to 4096, got 2"
        );
        assert_eq!(refusal(|c| c.core = 8), "core: out of range; expected 0 to 7, got 8");
        assert_eq!(
            refusal(|c| (c.core, c.edges) = (7, 128)),
            "edges: out of range; expected 2 to 127, got 128"
        );
        assert_eq!(
            refusal(|c| c.rate = Rate::ZERO),
            "rate_bps: out of range; expected 12000 to 1000000000000, got 0"
        );
        assert_eq!(
            refusal(|c| c.slot = Duration::from_us(119)),
            "slot_ns: out of range; expected 120000 to 1000000000, got 119000"
        );
        assert_eq!(
            refusal(|c| (c.slot, c.rate) = (Duration::from_ns(999), Rate::from_bps(100_000_000_000))),
            "slot_ns: out of range; expected 1000 to 1000000000, got 999"
        );
        assert_eq!(
            refusal(|c| c.limit = Bytes::new(1499)),
            "limit_bytes: out of range; expected 1500 to 1099511627776, got 1499"
        );
    }
}
