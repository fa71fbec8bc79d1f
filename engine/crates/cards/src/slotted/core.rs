// SPDX-License-Identifier: Apache-2.0
//! Card of a core: checks of light that meets in it, ticks of its slots, and the link to its master.
//!
//! Several fibres meet in a port of a core by a combiner and splitter: light of one of them enters the core, and light
//! from the core leaves by all of them. A core has no queues: what meets other light is lost.

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{Optical, PORT_CORE_CONTROL, PORT_LINECARD, PORT_OPTICAL_BASE, SlotTick};

use super::{ControlLink, Slots};
use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Record, Then, TimerId};
use crate::message::{self, ToCard};
use crate::packet::{Flying, Frame, Origin, Packet};
use crate::{DropCause, Invariant, Port};

/// Port of a core with its fibres.
struct Shared {
    /// The same for all fibres.
    rate: Rate,
    /// The edge whose light enters, and the end of it.
    entering: Option<(u16, Instant)>,
    /// End of the light that leaves.
    busy_until: Instant,
}

/// Light that passes the program of a core, for the checks after its pass.
struct Passing {
    in_slot: bool,
    optical: Option<Optical>,
    /// End of the light at the output that it is for, as it came: the pass makes outputs busy.
    wanted_until: Option<Instant>,
}

/// Card of a core.
pub struct Core {
    slots: Slots,
    /// By number from the first optical port on.
    ports: Vec<Option<Shared>>,
    /// Number of the port that leads to each edge.
    ways: Vec<Option<u16>>,
    control: Option<ControlLink>,
    passing: Option<Passing>,
    next_slot: u64,
    /// Set once its program has had a tick since it started: only then can it pass light.
    knows_slot: bool,
    lost: u64,
}

impl Core {
    /// A card without fibres, and when its first slot starts ([`Expiry::CoreSlot`]).
    pub fn new(slots: Slots) -> (Core, Instant) {
        let core = Core {
            slots,
            ports: Vec::new(),
            ways: Vec::new(),
            control: None,
            passing: None,
            next_slot: 0,
            knows_slot: false,
            lost: 0,
        };
        (core, slots.start(0))
    }

    /// Adds the fibres to an edge, at an optical port. All fibres of a port have one rate.
    pub fn add_fibre(&mut self, port: Port, edge: u16, rate: Rate) {
        let number = port - PORT_OPTICAL_BASE;
        let (place, way) = (usize::from(number), usize::from(edge));
        if place >= self.ports.len() {
            self.ports.resize_with(place + 1, || None);
        }
        self.ports[place].get_or_insert(Shared {
            rate,
            entering: None,
            busy_until: Instant::ZERO,
        });
        if way >= self.ways.len() {
            self.ways.resize(way + 1, None);
        }
        self.ways[way] = Some(number);
    }

    /// Adds the link to the master.
    pub fn set_control(&mut self, control: ControlLink) {
        self.control = Some(control);
    }

    /// The link to the master.
    pub fn control(&mut self) -> Option<&mut ControlLink> {
        self.control.as_mut()
    }

    /// Changes the rate of the fibres at a port.
    pub fn set_rate(&mut self, port: Port, rate: Rate) {
        if let Some(shared) = self.port(port) {
            shared.rate = rate;
        }
    }

    /// Number of packets lost in the program since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn port(&mut self, port: Port) -> Option<&mut Shared> {
        let number = port.checked_sub(PORT_OPTICAL_BASE)?;
        self.ports.get_mut(usize::from(number))?.as_mut()
    }

    /// End of the light that leaves for an edge.
    fn busy_until(&self, edge: u16) -> Option<Instant> {
        let number = (*self.ways.get(usize::from(edge))?)?;
        let shared = self.ports.get(usize::from(number))?.as_ref()?;
        Some(shared.busy_until)
    }

    /// Takes the head of a packet that arrives at a port from an edge. Returns what enters the program, if it does;
    /// [`Card::goes_on`] follows with [`Then::Light`].
    pub fn arrives(
        &mut self,
        now: Instant,
        (port, edge): (Port, u16),
        flying: Flying,
        program: Program,
        out: &mut Actions,
    ) -> Option<(Frame, Origin)> {
        let Packet { frame, born } = flying.packet;
        let duration = flying.duration;
        let optical = message::optical(&frame);
        let in_slot = self.slots.have_room(now, duration);
        if !in_slot {
            broken(PORT_LINECARD, Invariant::GUARD, optical, out);
        }
        if self.meets_other_light(now, port, edge, duration) {
            broken(PORT_LINECARD, Invariant::COLLISION, optical, out);
            let (port, cause) = (PORT_LINECARD, DropCause::Collision);
            out.push(Action::Drop { port, cause, frame });
            return None;
        }
        let wanted_until = optical.and_then(|optical| self.busy_until(optical.dst_edge));
        self.passing = (program != Program::None).then_some(Passing {
            in_slot,
            optical,
            wanted_until,
        });
        let origin = Origin::Light {
            arrived: now,
            duration,
            program: flying.program,
            born,
            input: port,
        };
        Some((frame, origin))
    }

    /// Light of an edge enters a port: true if light of another one is entering there.
    fn meets_other_light(&mut self, now: Instant, port: Port, edge: u16, duration: Duration) -> bool {
        let Some(shared) = self.port(port) else { return false };
        let meets = shared
            .entering
            .is_some_and(|(other, until)| other != edge && until > now);
        if !meets {
            shared.entering = Some((edge, now + duration));
        }
        meets
    }

    /// A switch outside has not sent on in time what was light when it arrived. True if that breaks a rule.
    pub fn is_overdue(&mut self, arrived: Instant, duration: Duration) -> bool {
        self.lost += 1;
        self.slots.have_room(arrived, duration)
    }

    /// Light leaves by a port for all edges behind it. An output carries one packet at a time.
    fn sends_light(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        let Some(shared) = self.port(port) else {
            let (cause, frame) = (DropCause::NoSuchPort, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        };
        let (start, duration, program) = match from {
            Origin::Light {
                arrived,
                duration,
                program,
                ..
            } => (arrived, duration, Some(program)),
            // It came by no fibre.
            _ => (now, shared.rate.time(Bytes::of(packet.frame.len())), None),
        };
        if shared.busy_until > start {
            broken(port, Invariant::COLLISION, message::optical(&packet.frame), out);
            let (cause, frame) = (DropCause::Collision, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        }
        shared.busy_until = start + duration;
        out.push(Action::Split {
            port,
            packet,
            start,
            duration,
            program,
        });
    }

    /// Light has passed the program, or was dropped by it.
    fn light_has_passed(&mut self, now: Instant, light: &Passing, pass: Pass, out: &mut Actions) {
        if pass != (Pass::Done { outputs: 0 }) {
            return;
        }
        self.lost += 1;
        // What comes between the start of a program and its first tick is lost and breaks no rule.
        if !self.knows_slot {
            return;
        }
        let meets_other = light.wanted_until.is_some_and(|until| until > now);
        match (meets_other, light.in_slot) {
            (true, _) => broken(PORT_LINECARD, Invariant::COLLISION, light.optical, out),
            (false, true) => broken(PORT_LINECARD, Invariant::UNGRANTED, light.optical, out),
            (false, false) => {}
        }
    }
}

fn broken(port: Port, broken: Invariant, packet: Option<Optical>, out: &mut Actions) {
    out.push(Action::Broken { port, broken, packet });
}

impl Card for Core {
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        match &self.control {
            Some(control) if port == PORT_CORE_CONTROL => control.sends(now, packet.frame, out),
            _ => self.sends_light(now, port, packet, from, out),
        }
    }

    /// Returns false: a core accepts no messages.
    fn told(&mut self, _: Instant, _: &ToCard, _: &mut Actions) -> bool {
        false
    }

    fn goes_on(&mut self, now: Instant, _: Then, pass: Pass, out: &mut Actions) {
        if let Some(light) = self.passing.take() {
            self.light_has_passed(now, &light, pass, out);
        }
    }

    /// A slot starts.
    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        let slot = self.next_slot;
        self.next_slot += 1;
        let at = self.slots.start(self.next_slot);
        out.push(Action::Timer { timer, at, expiry });
        out.push(Action::Seen(Record::CoreSlot { slot }));
        if program != Program::None {
            self.knows_slot = true;
            let tick = SlotTick {
                frame: (slot / self.slots.count) as u32,
                slot: (slot % self.slots.count) as u16,
                repeat: 0,
                local_ns: now.ns(),
            };
            // The control unit of a core serves no single port.
            out.ask(&message::slot_tick(0, &tick), None, Then::Nothing);
        }
    }

    /// Does nothing: fibres go dark, not ports.
    fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

    fn restarts(&mut self, _: Instant, _: &mut Actions) {
        self.knows_slot = false;
    }
}

impl Invariant {
    /// No two packets at once in one core output, nor in one input that edges share.
    pub const COLLISION: Invariant = Invariant::new("collision", "collisions");
    /// No packet in a guard or across a slot's end at a core.
    pub const GUARD: Invariant = Invariant::new("guard", "guard-time violations");
    /// No packet lost in a core, and none at an edge that it is not for.
    pub const UNGRANTED: Invariant = Invariant::new("ungranted", "transmissions outside a grant");
}

#[cfg(test)]
mod tests {
    use slotwise_wire::FlowControl;

    use super::*;
    use crate::message::header;
    use crate::packet::optical_frame;

    const EPOCH: Instant = Instant::from_ns(10_000);
    const INPUT: Port = PORT_OPTICAL_BASE;
    const OUTPUT: Port = PORT_OPTICAL_BASE + 1;
    /// Light of 1000 bytes at 1 Gb/s.
    const LIGHT: Duration = Duration::from_us(8);

    /// Edges 1 and 2 share a port. Light is for edge 0, behind another one.
    fn core() -> Core {
        let (mut core, first) = Core::new(Slots {
            epoch: EPOCH,
            count: 4,
            slot: Duration::from_us(100),
            guard: Duration::from_us(1),
            signaling: 1,
        });
        assert_eq!(first, EPOCH);
        let rate = Rate::from_bps(1_000_000_000);
        core.add_fibre(INPUT, 1, rate);
        core.add_fibre(INPUT, 2, rate);
        core.add_fibre(OUTPUT, 0, rate);
        core.set_control(ControlLink::new(7, Duration::from_us(5)));
        core
    }

    fn in_slot(us: u64) -> Instant {
        EPOCH + Duration::from_us(us)
    }

    fn light() -> Flying {
        let packet = Packet::unborn(optical_frame(0, 1));
        Flying {
            packet,
            duration: LIGHT,
            program: 3,
        }
    }

    fn starts_slot(core: &mut Core, now: Instant, program: Program) -> Vec<Action> {
        let mut out = Actions::default();
        core.due(now, 0, Expiry::CoreSlot, program, &mut out);
        out.list
    }

    fn arrives(core: &mut Core, now: Instant, edge: u16, program: Program) -> (Option<(Frame, Origin)>, Vec<Action>) {
        let mut out = Actions::default();
        let entering = core.arrives(now, (INPUT, edge), light(), program, &mut out);
        (entering, out.list)
    }

    fn sends(core: &mut Core, now: Instant, port: Port, from: Origin) -> Vec<Action> {
        let mut out = Actions::default();
        core.sends(now, port, Packet::unborn(optical_frame(0, 1)), from, &mut out);
        out.list
    }

    fn passed(core: &mut Core, now: Instant, outputs: usize) -> Vec<Invariant> {
        let mut out = Actions::default();
        core.goes_on(now, Then::Light, Pass::Done { outputs }, &mut out);
        all_broken(&out.list)
    }

    fn all_broken(actions: &[Action]) -> Vec<Invariant> {
        let broken = |action: &Action| match action {
            Action::Broken { broken, .. } => Some(*broken),
            _ => None,
        };
        actions.iter().filter_map(broken).collect()
    }

    #[test]
    fn slots_tick_one_after_the_other_and_a_program_is_told() {
        let mut core = core();
        let actions = starts_slot(&mut core, EPOCH, Program::None);
        assert!(
            matches!(actions[..], [Action::Timer { at, expiry: Expiry::CoreSlot, .. }, Action::Seen(Record::CoreSlot { slot: 0 })] if at == in_slot(100))
        );
        let actions = starts_slot(&mut core, in_slot(100), Program::Inside);
        let [_, Action::Seen(Record::CoreSlot { slot: 1 }), Action::Ask { frame, .. }] = &actions[..] else {
            panic!("a tick")
        };
        let tick = SlotTick::decode(&frame[message::HEADER..]).unwrap();
        assert_eq!((tick.frame, tick.slot, tick.local_ns), (0, 1, in_slot(100).ns()));
    }

    #[test]
    fn light_passes_at_once_and_an_output_carries_one_packet_at_a_time() {
        let mut core = core();
        starts_slot(&mut core, EPOCH, Program::Inside);
        let (entering, actions) = arrives(&mut core, in_slot(10), 1, Program::Inside);
        assert!(actions.is_empty());
        let (_, origin) = entering.unwrap();
        let actions = sends(&mut core, in_slot(10), OUTPUT, origin);
        let [
            Action::Split {
                start,
                duration,
                program,
                ..
            },
        ] = actions[..]
        else {
            panic!("light leaves")
        };
        assert_eq!((start, duration, program), (in_slot(10), LIGHT, Some(3)));
        assert!(passed(&mut core, in_slot(10), 1).is_empty());
        let (entering, _) = arrives(&mut core, in_slot(17), 1, Program::Inside);
        let actions = sends(&mut core, in_slot(17), OUTPUT, entering.unwrap().1);
        assert_eq!(all_broken(&actions), [Invariant::COLLISION]);
        assert!(matches!(
            actions[1],
            Action::Drop {
                port: OUTPUT,
                cause: DropCause::Collision,
                ..
            }
        ));
        // What P4 drops as its output is busy is a collision, too.
        assert_eq!(passed(&mut core, in_slot(17), 0), [Invariant::COLLISION]);
        assert_eq!(core.lost(), 1);
    }

    #[test]
    fn a_message_without_a_fibre_takes_its_time_at_the_output() {
        let mut core = core();
        for at in [in_slot(10), in_slot(18)] {
            let actions = sends(&mut core, at, OUTPUT, Origin::Local);
            assert!(
                matches!(actions[..], [Action::Split { start, duration: LIGHT, program: None, .. }] if start == at)
            );
        }
        core.set_rate(OUTPUT, Rate::from_bps(2_000_000_000));
        core.set_rate(OUTPUT + 1, Rate::from_bps(1));
        let actions = sends(&mut core, in_slot(26), OUTPUT, Origin::Local);
        assert!(matches!(actions[..], [Action::Split { duration, .. }] if duration == Duration::from_us(4)));
        let actions = sends(&mut core, in_slot(40), OUTPUT + 1, Origin::Local);
        assert!(matches!(
            actions[..],
            [Action::Drop {
                cause: DropCause::NoSuchPort,
                ..
            }]
        ));
    }

    #[test]
    fn light_in_a_guard_or_across_the_end_of_a_slot_is_seen() {
        let mut core = core();
        for at in [in_slot(100), in_slot(193), Instant::ZERO] {
            let (entering, actions) = arrives(&mut core, at, 1, Program::Inside);
            assert!(entering.is_some(), "it passes all the same");
            assert_eq!(all_broken(&actions), [Invariant::GUARD]);
        }
    }

    #[test]
    fn light_of_two_edges_at_one_port_collides() {
        let mut core = core();
        assert!(arrives(&mut core, in_slot(10), 1, Program::Inside).0.is_some());
        let (entering, actions) = arrives(&mut core, in_slot(17), 2, Program::Inside);
        assert!(entering.is_none());
        assert_eq!(all_broken(&actions), [Invariant::COLLISION]);
        assert!(matches!(
            actions[1],
            Action::Drop {
                cause: DropCause::Collision,
                ..
            }
        ));
        assert!(
            arrives(&mut core, in_slot(17), 1, Program::Inside).0.is_some(),
            "its own"
        );
        assert!(arrives(&mut core, in_slot(25), 2, Program::Inside).0.is_some());
    }

    #[test]
    fn light_that_a_program_drops_after_a_tick_had_no_grant() {
        let mut core = core();
        let lose = |core: &mut Core, at, program| {
            arrives(core, at, 1, program);
            passed(core, at, 0)
        };
        assert!(lose(&mut core, in_slot(10), Program::Inside).is_empty());
        assert!(lose(&mut core, in_slot(20), Program::None).is_empty());
        assert_eq!(core.lost(), 1, "without a program nothing counts");
        starts_slot(&mut core, in_slot(100), Program::Inside);
        assert_eq!(lose(&mut core, in_slot(120), Program::Inside), [Invariant::UNGRANTED]);
        assert!(
            lose(&mut core, in_slot(200), Program::Inside).is_empty(),
            "in the guard"
        );
        core.restarts(in_slot(210), &mut Actions::default());
        assert!(lose(&mut core, in_slot(220), Program::Inside).is_empty());
        assert_eq!(core.lost(), 4);
    }

    #[test]
    fn a_switch_outside_is_judged_when_it_is_overdue() {
        let mut core = core();
        starts_slot(&mut core, EPOCH, Program::Outside);
        arrives(&mut core, in_slot(10), 1, Program::Outside);
        let mut out = Actions::default();
        core.goes_on(in_slot(10), Then::Light, Pass::Later, &mut out);
        assert!(out.list.is_empty() && core.lost() == 0);
        assert!(core.is_overdue(in_slot(10), LIGHT));
        assert!(!core.is_overdue(in_slot(100), LIGHT));
        assert_eq!(core.lost(), 2);
    }

    #[test]
    fn the_link_to_the_master_takes_as_long_as_its_fibre() {
        let mut core = core();
        let enters = |core: &mut Core, at: Instant| {
            let actions = sends(core, in_slot(0), PORT_CORE_CONTROL, Origin::Local);
            matches!(actions[..], [Action::Enter { lane: 7, at: when, .. }] if when == at)
        };
        assert!(enters(&mut core, in_slot(5)));
        core.control().unwrap().set_delay(Duration::from_us(6));
        assert!(enters(&mut core, in_slot(6)));
    }

    #[test]
    fn messages_and_dark_ports_are_nothing_for_a_core() {
        let mut core = core();
        let kind = slotwise_wire::LineCardKind::FlowControl;
        let frame = [&header(OUTPUT, kind)[..], &FlowControl::default().encode()].concat();
        let mut out = Actions::default();
        assert!(!core.told(EPOCH, &ToCard::read(&frame).unwrap(), &mut out));
        core.set_dark(EPOCH, OUTPUT, true, &mut out);
        assert!(out.list.is_empty());
    }
}
