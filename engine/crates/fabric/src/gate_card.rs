// SPDX-License-Identifier: Apache-2.0
//! One line card by itself, for a driver that puts it between the interfaces of a switch and a fibre.
//!
//! ```text
//! switch, PORT_LINECARD ──> handle_control ─┐                ┌──> poll_output: Tick ──> switch, PORT_LINECARD
//! switch, optical port  ──> handle_packet ──┴──> advance ────┴──> poll_output: Light ──> fibre
//! ```
//!
//! After each call that gives it something, or when [`GateCard::next_at`] has come, call [`GateCard::advance`], then take
//! outputs until there are none. What comes from the fibre goes straight to the switch; that is the driver's.

use std::collections::VecDeque;

use slotwise_scenario::optical_port;
use slotwise_wire::{MAX_CORES, MAX_FIBRES, SIGNALING_QUEUE, SlotTick};

use crate::drops::{DropCause, Drops, Place};
use crate::slots::TimeDifference;
use slotwise_cards::linecard::{Controlled, LineCard, Next};
use slotwise_cards::message::{self, ToCard};
use slotwise_cards::packet::Packet;

/// What a line card is to know. Times are of the clock that the driver passes in.
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
    pub slot_ns: u64,
    /// Ticks with `repeat >= 1` in a signaling slot.
    pub signaling_ticks: u16,
    /// Bytes that a queue holds.
    pub limit_bytes: u64,
    /// Longest frame on the fibre.
    pub max_frame_bytes: u64,
    /// Rate of the fibre.
    pub rate_bps: u64,
    /// When slot 0 of frame 0 starts at the core.
    pub epoch_ns: u64,
    /// T_d: how much earlier the card's slots start, until P4 says otherwise.
    pub t_d_ns: u64,
    /// Whether the VOQs have XCP's interval timers.
    pub xcp: bool,
}

/// Parts that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: out of range; expected {expected}, got {found}")]
pub struct CardConfigError {
    /// The field.
    pub what: &'static str,
    /// What it is.
    pub found: u64,
    /// What it should be.
    pub expected: String,
}

/// What a line card puts out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardOutput {
    /// To the switch, by PORT_LINECARD.
    ToSwitch(Vec<u8>),
    /// Into the fibre.
    Light(Vec<u8>),
}

/// A line card with its clock.
pub struct GateCard {
    config: CardConfig,
    queues: LineCard,
    phase_ns: i64,
    next_slot: u64,
    wake_ns: Option<u64>,
    outputs: VecDeque<CardOutput>,
    drops: Drops,
}

impl GateCard {
    /// A card whose first tick is that of the slot after `now_ns`.
    ///
    /// # Errors
    /// [`CardConfigError`] with the field that does not fit.
    pub fn new(config: CardConfig, now_ns: u64) -> Result<GateCard, CardConfigError> {
        check(&config)?;
        let first_voq = config.core * config.edges;
        let voqs = first_voq..first_voq + config.edges;
        let mut queues = LineCard::new(voqs, config.limit_bytes, config.max_frame_bytes);
        if config.xcp {
            queues.start_timers(now_ns);
        }
        let mut card = GateCard {
            config,
            queues,
            phase_ns: config.t_d_ns as i64,
            next_slot: 0,
            wake_ns: None,
            outputs: VecDeque::new(),
            drops: Drops::default(),
        };
        card.next_slot = card.slot_at(now_ns).map_or(0, |slot| slot + 1);
        Ok(card)
    }

    /// A frame from the switch's PORT_LINECARD.
    pub fn handle_control(&mut self, now_ns: u64, frame: &[u8]) {
        let ours = ToCard::read(frame).filter(|message| message.port == optical_port(self.config.core));
        let Some(message) = ours.and_then(|message| message.flow_control()) else {
            return self.drop(DropCause::Malformed, frame.len());
        };
        match self.queues.control(now_ns, &message) {
            Ok(Controlled::Phase) => {
                let frame_ns = u64::from(self.config.slots) * self.config.slot_ns;
                let set = TimeDifference::from_message(&message, now_ns, frame_ns);
                match set.and_then(|set| set.steady_ns()) {
                    Some(phase_ns) => self.phase_ns = phase_ns,
                    None => self.drop(DropCause::Malformed, frame.len()),
                }
            }
            // Membership by invitation takes stamps, which only a card inside a fabric writes.
            Ok(Controlled::Stop | Controlled::Answer { .. }) => self.drop(DropCause::Malformed, frame.len()),
            Ok(Controlled::Done | Controlled::Granted { .. }) => {}
            Err(cause) => self.drop(cause, frame.len()),
        }
    }

    /// A frame from the switch's optical port: it waits in the queue that it names.
    pub fn handle_packet(&mut self, now_ns: u64, frame: &[u8]) {
        if let Err((cause, packet)) = self.queues.enqueue(now_ns, Packet::unborn(frame.to_vec())) {
            self.drop(cause, packet.frame.len());
        }
    }

    /// Does what is due at `now_ns`: ticks, and packets that may leave. Of slots that are over already there is no tick.
    pub fn advance(&mut self, now_ns: u64) {
        if let Some(slot) = self.slot_at(now_ns).filter(|slot| *slot >= self.next_slot) {
            self.next_slot = slot + 1;
            self.slot_starts(now_ns, slot);
        }
        self.tick_timers(now_ns);
        self.wake_ns = loop {
            match self.queues.poll(now_ns, self.config.rate_bps) {
                Next::Send { packet, .. } => self.outputs.push_back(CardOutput::Light(packet.frame)),
                Next::At(at_ns) => break Some(at_ns),
                Next::Idle => break None,
            }
        };
    }

    /// The next frame to send.
    pub fn poll_output(&mut self) -> Option<CardOutput> {
        self.outputs.pop_front()
    }

    /// When something is due next, as things stand.
    pub fn next_at(&self) -> u64 {
        let tick_ns = self.start_ns(self.next_slot);
        let times = [self.wake_ns, self.queues.next_tick_ns()];
        times.into_iter().flatten().fold(tick_ns, u64::min)
    }

    /// What the card has dropped.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    fn start_ns(&self, slot: u64) -> u64 {
        let at_core_ns = self.config.epoch_ns + slot * self.config.slot_ns;
        at_core_ns.saturating_add_signed(-self.phase_ns)
    }

    /// The slot that it is here; `None` before the first.
    fn slot_at(&self, now_ns: u64) -> Option<u64> {
        let at_core_ns = now_ns.saturating_add_signed(self.phase_ns);
        Some(at_core_ns.checked_sub(self.config.epoch_ns)? / self.config.slot_ns)
    }

    fn slot_starts(&mut self, now_ns: u64, slot: u64) {
        let port = optical_port(self.config.core);
        let frame_slots = u64::from(self.config.slots);
        let slot_of_frame = slot % frame_slots;
        if slot_of_frame == u64::from(self.config.edge) {
            for voq in self.queues.voq_numbers() {
                let state = self.queues.voq_state(now_ns, voq);
                self.send_to_switch(&message::queue_report(port, voq, &state));
            }
        }
        let is_signaling = slot_of_frame < u64::from(self.config.edges);
        let repeats = if is_signaling { self.config.signaling_ticks } else { 0 };
        for repeat in 0..=repeats {
            let tick = SlotTick {
                frame: (slot / frame_slots) as u32,
                slot: slot_of_frame as u16,
                repeat,
                local_ns: self.start_ns(slot),
            };
            self.send_to_switch(&message::slot_tick(port, &tick));
        }
    }

    fn tick_timers(&mut self, now_ns: u64) {
        let port = optical_port(self.config.core);
        while let Some((voq, tick)) = self.queues.tick(now_ns) {
            let state = self.queues.voq_state(now_ns, voq);
            self.send_to_switch(&message::interval_tick(port, &tick, voq, &state));
        }
    }

    fn send_to_switch(&mut self, frame: &[u8]) {
        self.outputs.push_back(CardOutput::ToSwitch(frame.to_vec()));
    }

    fn drop(&mut self, cause: DropCause, bytes: usize) {
        let (edge, core) = (self.config.edge, self.config.core);
        self.drops.add(Place::LineCard { edge, core }, cause, bytes);
    }
}

/// The tick that a core's control unit sends by PORT_LINECARD when `slot` starts; slots count from the epoch.
pub fn core_tick(slots: u32, slot: u64, local_ns: u64) -> Vec<u8> {
    let tick = SlotTick {
        frame: (slot / u64::from(slots)) as u32,
        slot: (slot % u64::from(slots)) as u16,
        repeat: 0,
        local_ns,
    };
    // A core's control unit serves no single port.
    message::slot_tick(0, &tick).to_vec()
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
    range("slot_ns", config.slot_ns, 1, NS_PER_S)?;
    range("signaling_ticks", config.signaling_ticks.into(), 1, 1024)?;
    range("rate_bps", config.rate_bps, 1, 1_000 * NS_PER_S)?;
    range("t_d_ns", config.t_d_ns, 0, NS_PER_S)?;
    range("max_frame_bytes", config.max_frame_bytes, 64, 16 * 1024)?;
    range("limit_bytes", config.limit_bytes, config.max_frame_bytes, 1 << 40)?;
    // Times in frames have 63 bits to be safe from wrapping.
    range("epoch_ns", config.epoch_ns, 0, 1 << 62)
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{Ethernet, FlowControl, FlowOp, LINECARD_VERSION, LineCardKind, Linecard};

    use super::*;
    use crate::testing::optical_frame;

    const SLOT_NS: u64 = 1_000_000;
    const EPOCH_NS: u64 = 10 * SLOT_NS;

    fn config() -> CardConfig {
        CardConfig {
            edge: 1,
            core: 0,
            edges: 2,
            slots: 4,
            slot_ns: SLOT_NS,
            signaling_ticks: 2,
            limit_bytes: 10_000,
            max_frame_bytes: 1500,
            rate_bps: 100_000_000,
            epoch_ns: EPOCH_NS,
            t_d_ns: 1000,
            xcp: false,
        }
    }

    fn open(queue: u16, open_ns: u64, close_ns: u64) -> Vec<u8> {
        let linecard = Linecard {
            version: LINECARD_VERSION,
            kind: LineCardKind::FlowControl.into(),
            port: optical_port(0),
        };
        let message = FlowControl {
            queue,
            op: FlowOp::Open.into(),
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

    fn outputs(card: &mut GateCard) -> Vec<CardOutput> {
        std::iter::from_fn(|| card.poll_output()).collect()
    }

    /// (frame, slot, repeat, local_ns) of ticks, in order; reports are counted.
    fn ticks(outputs: &[CardOutput]) -> (usize, Vec<(u32, u16, u16, u64)>) {
        const HEADER: usize = Ethernet::SIZE + Linecard::SIZE;
        let mut reports = 0;
        let mut ticks = Vec::new();
        for output in outputs {
            let CardOutput::ToSwitch(frame) = output else {
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
        let mut card = GateCard::new(config(), 0).unwrap();
        assert_eq!(card.next_at(), EPOCH_NS - 1000);
        let mut all = Vec::new();
        for _ in 0..5 {
            let now_ns = card.next_at();
            card.advance(now_ns);
            all.push(ticks(&outputs(&mut card)));
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
        let mut card = GateCard::new(config(), EPOCH_NS).unwrap();
        card.advance(EPOCH_NS + 6 * SLOT_NS + 5);
        let (_, ticks) = ticks(&outputs(&mut card));
        assert_eq!(ticks, [(1, 2, 0, EPOCH_NS + 6 * SLOT_NS - 1000)]);
        assert_eq!(card.next_at(), EPOCH_NS + 7 * SLOT_NS - 1000);
    }

    #[test]
    fn packets_leave_in_their_slot_only_at_the_fibres_rate() {
        // 100 Mb/s: 80 us a packet.
        let mut card = GateCard::new(config(), 0).unwrap();
        for _ in 0..3 {
            card.handle_packet(100, &optical_frame(0, 0));
        }
        card.advance(100);
        assert_eq!(outputs(&mut card), []);
        card.handle_control(200, &open(0, 1000, 1000 + 2 * 80_000));
        let mut left = Vec::new();
        let mut now_ns = 200;
        while now_ns < 1_000_000 {
            card.advance(now_ns);
            left.extend(outputs(&mut card).into_iter().map(|_| now_ns));
            now_ns = card.next_at();
        }
        assert_eq!(left, [1000, 81_000]);
        card.handle_packet(now_ns, &optical_frame(7, 0));
        card.handle_control(now_ns, b"nonsense");
        let causes: Vec<_> = card.drops().iter().map(|(_, cause, _)| cause).collect();
        assert_eq!(causes.len(), 2);
        assert!(causes.contains(&DropCause::NoSuchQueue) && causes.contains(&DropCause::Malformed));
    }

    #[test]
    fn a_card_has_the_queues_of_its_core() {
        let config = CardConfig { core: 3, ..config() };
        let mut card = GateCard::new(config, 0).unwrap();
        for queue in [5, 6, 7, 8] {
            card.handle_packet(100, &optical_frame(queue, 0));
        }
        let place = Place::LineCard { edge: 1, core: 3 };
        assert_eq!(card.drops().get(place, DropCause::NoSuchQueue).packets, 2);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refusal = |change: fn(&mut CardConfig)| {
            let mut config = config();
            change(&mut config);
            GateCard::new(config, 0).err().unwrap().to_string()
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
            refusal(|c| c.rate_bps = 0),
            "rate_bps: out of range; expected 1 to 1000000000000, got 0"
        );
        assert_eq!(
            refusal(|c| c.limit_bytes = 1499),
            "limit_bytes: out of range; expected 1500 to 1099511627776, got 1499"
        );
    }
}
