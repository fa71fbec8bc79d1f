// SPDX-License-Identifier: Apache-2.0
//! The cards before wavelengths for data, and where those end: what enters, and what must hold of it.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{Label, Optical, PORT_LINECARD, TrainPart};

use super::message::{self, InLight};
use super::switch_number;
use super::watch::TrainId;
use crate::dispatch::Origin;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::fifo::Fifo;
use crate::invariants::Invariant;
use crate::kind::{CardAt, Discipline, End};
use crate::lane::{Flying, LaneEnd};
use crate::message::{ToCard, interval_tick};
use crate::optical_ram::{ByteTime, OpticalRam};
use crate::packet::{Frame, Packet};

/// An end of a wavelength of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FibreEnd {
    pub(super) device: Device,
    pub(super) port: Port,
}

impl FibreEnd {
    pub(super) fn place(self) -> Place {
        let FibreEnd { device, port } = self;
        Place::Port { device, port }
    }
}

/// What stands before a wavelength.
pub(super) enum Before {
    /// At a switch.
    Ram(OpticalRam),
    /// At an edge: packets that wait until they may begin to leave.
    Queue(Fifo),
}

/// The card before a wavelength for data, and the wavelength.
pub(super) struct Card {
    pub(super) from: FibreEnd,
    pub(super) to: FibreEnd,
    pub(super) before: Before,
    lane: usize,
    delay_ns: u64,
    byte_time: ByteTime,
    is_dark: bool,
}

impl Card {
    /// When a frame that begins to leave arrives: its head at a switch, its tail at an edge.
    fn arrival_ns(&self, start_ns: u64, duration_ns: u64) -> u64 {
        let tail_ns = if switch_number(self.to.device).is_some() {
            0
        } else {
            duration_ns
        };
        start_ns + self.delay_ns + tail_ns
    }
}

/// Where a wavelength ends.
pub(super) struct Entrance {
    at: FibreEnd,
    /// When the last frame has passed.
    busy_until_ns: u64,
    /// Source and queue of the train under way, and its frames that are still to come.
    under_way: Option<(u16, u16, u16)>,
    /// Something of a train may have been lost on the way since the last label.
    was_dark: bool,
}

/// What is wrong with a frame where a wavelength ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// Another one has not passed yet.
    meets: bool,
    /// A frame of its train is missing, or it is of no train.
    is_split: bool,
}

impl Entrance {
    fn new(at: FibreEnd) -> Entrance {
        Entrance {
            at,
            busy_until_ns: 0,
            under_way: None,
            was_dark: false,
        }
    }

    /// A frame passes from a time on for so long.
    fn sees(&mut self, (head_ns, duration_ns): (u64, u64), in_light: Option<&InLight>) -> Seen {
        let meets = self.busy_until_ns > head_ns;
        self.busy_until_ns = self.busy_until_ns.max(head_ns + duration_ns);
        let owner = |optical: &Optical| (optical.src_edge, optical.queue);
        let is_split = match in_light {
            Some(InLight::First(label, optical)) => {
                let is_cut_off = self.under_way.is_some() && !self.was_dark;
                let (source, queue) = owner(optical);
                let behind = label.packets.saturating_sub(1);
                self.under_way = (behind > 0).then_some((source, queue, behind));
                self.was_dark = false;
                is_cut_off || (behind == 0) != (optical.train == u8::from(TrainPart::Only))
            }
            Some(InLight::Behind(optical)) => match self.under_way.take() {
                Some((source, queue, behind)) if (source, queue) == owner(optical) => {
                    let is_last = optical.train == u8::from(TrainPart::Last);
                    self.under_way = (behind > 1).then_some((source, queue, behind - 1));
                    is_last != (behind == 1)
                }
                _ => !self.was_dark,
            },
            None => false,
        };
        Seen { meets, is_split }
    }
}

/// Whether a switch has made of a label what it may.
fn is_well_kept(came: &Label, out: &Label, converts: bool) -> bool {
    let same = Label {
        wavelength: came.wavelength,
        deflections_left: came.deflections_left,
        hops_left: came.hops_left,
        ..*out
    };
    let deflections = came.deflections_left.checked_sub(out.deflections_left);
    same == *came
        && (out.wavelength == came.wavelength || converts)
        && out.hops_left.checked_add(1) == Some(came.hops_left)
        && deflections.is_some_and(|taken| taken <= 1)
}

/// Outputs of switches.
static OPTICAL_RAM: Discipline = Discipline {
    is_link: true,
    obey: Fabric::obey_optical_ram,
    timer: Fabric::optical_ram_timer,
    set_dark: Fabric::set_ops_dark,
    ..Discipline::new("optical RAM", Fabric::enqueue_at_switch)
};

/// Outputs of edges.
static EDGE_QUEUE: Discipline = Discipline {
    is_link: true,
    set_dark: Fabric::set_ops_dark,
    ..Discipline::new("edge queue", Fabric::enqueue_at_edge)
};

/// Where wavelengths come to switches and edges, by number.
static ENTRANCE: End = End {
    arrive: Fabric::light_enters,
};

impl Fabric {
    /// Adds the lane of a wavelength that ends there.
    pub(super) fn add_entrance(&mut self, at: FibreEnd) -> usize {
        let number = self.ops.entrances.len();
        self.ops.entrances.push(Entrance::new(at));
        self.add_lane(LaneEnd::own(&ENTRANCE, number))
    }

    /// Adds the card before a wavelength whose entrance was added last.
    pub(super) fn add_card_of_ops(
        &mut self,
        before: Before,
        (from, to): (FibreEnd, FibreEnd),
        (lane, delay_ns): (usize, u64),
        byte_time: ByteTime,
    ) -> CardAt {
        let index = self.ops.cards.len();
        let (of, first_tick_ns) = match &before {
            Before::Ram(ram) => (&OPTICAL_RAM, ram.next_tick_ns()),
            Before::Queue(_) => (&EDGE_QUEUE, None),
        };
        let card = CardAt::new(of, index);
        self.ops.cards.push(Card {
            from,
            to,
            before,
            lane,
            delay_ns,
            byte_time,
            is_dark: false,
        });
        let node = self.node(from.device);
        self.nodes[node].set_card(from.port, card);
        if let Some(at_ns) = first_tick_ns {
            self.events.schedule(at_ns, Event::timer(card));
        }
        card
    }

    /// A packet of an edge goes into a fibre.
    fn enqueue_at_edge(&mut self, index: usize, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        let bytes = self.ops.counted_bytes(&frame);
        let train = match message::read(&frame) {
            Some(InLight::First(label, _)) => Some(label),
            _ => None,
        };
        let source = self.ops.cards[index].from.device.number();
        let place = self.ops.cards[index].from.place();
        let program = self.ops.watch.program(source);
        let Some(label) = train.filter(|label| label.src_edge == source) else {
            // What the controller sends is no train.
            return self.drop(place, DropCause::NoSuchQueue, frame);
        };
        if !self.ops.watch.formed(source, label.train) {
            self.invariants.violated(Invariant::DUPLICATE, now_ns, place, None);
        }
        let card = &mut self.ops.cards[index];
        let Before::Queue(queue) = &mut card.before else { return };
        let taken = if card.is_dark {
            queue.lose(frame.len());
            Err(DropCause::LinkDown)
        } else {
            queue.enqueue(now_ns, frame.len())
        };
        match taken {
            Ok(departure) => {
                let duration_ns = card.byte_time.ns(bytes);
                let at_ns = card.arrival_ns(departure.start_ns, duration_ns);
                let born_ns = origin.born_ns();
                let flying = Flying {
                    packet: Packet { frame, born_ns },
                    duration_ns,
                    program,
                };
                self.lanes[card.lane].enter(&mut self.events, at_ns, flying);
            }
            Err(cause) => {
                self.lose_train(&frame, program);
                self.drop(place, cause, frame);
            }
        }
    }

    /// A frame of a train leaves a switch.
    fn enqueue_at_switch(&mut self, index: usize, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        let place = self.ops.cards[index].from.place();
        let (input, duration_ns, program, born_ns) = match origin {
            Origin::Light {
                input,
                duration_ns,
                program,
                born_ns,
                ..
            } => (input, duration_ns, program, born_ns),
            // What the controller or a card sends is no train.
            _ => return self.drop(place, DropCause::NoSuchQueue, frame),
        };
        let bytes = self.ops.counted_bytes(&frame);
        let in_light = message::read(&frame);
        if let Some(InLight::First(label, _)) = &in_light {
            self.check_label(index, label);
        }
        let card = &mut self.ops.cards[index];
        let Before::Ram(ram) = &mut card.before else { return };
        if card.is_dark {
            ram.lose();
            self.lose_train(&frame, program);
            return self.drop(place, DropCause::LinkDown, frame);
        }
        let taken = match in_light {
            Some(InLight::First(label, _)) => Some(ram.label(now_ns, input, u64::from(label.length), bytes)),
            Some(InLight::Behind(_)) => ram.follow(now_ns, input, bytes),
            None => None,
        };
        let Some(taken) = taken else {
            return self.drop(place, DropCause::NoSuchQueue, frame);
        };
        if taken.is_over {
            self.invariants.violated(Invariant::RAM, now_ns, place, None);
        }
        let at_ns = card.arrival_ns(taken.start_ns, duration_ns);
        let flying = Flying {
            packet: Packet { frame, born_ns },
            duration_ns,
            program,
        };
        self.lanes[card.lane].enter(&mut self.events, at_ns, flying);
    }

    /// What a switch has made of the label that it looked at.
    fn check_label(&mut self, index: usize, out: &Label) {
        let Some(came) = self.ops.looked_at else { return };
        let is_well = is_well_kept(&came, out, self.ops.converts);
        if !is_well {
            let place = self.ops.cards[index].from.place();
            self.invariants.violated(Invariant::LABEL, self.now_ns, place, None);
        }
    }

    /// The head of a frame is at a switch, or its tail at an edge.
    fn light_enters(&mut self, number: usize, flying: Flying) {
        let Flying {
            packet: Packet { frame, born_ns },
            duration_ns,
            program,
        } = flying;
        let FibreEnd { device, port } = self.ops.entrances[number].at;
        let in_light = message::read(&frame);
        let head_ns = match device {
            Device::Switch(_) => self.now_ns,
            _ => self.now_ns - duration_ns,
        };
        self.watch_entrance(number, (head_ns, duration_ns), in_light.as_ref());
        let Some(switch) = switch_number(device) else {
            if let Some(InLight::First(label, _)) = &in_light {
                self.train_arrives(number, label, program);
            }
            self.run_p4(device, port, &frame, Origin::Lane { born_ns });
            return self.pool.give_back(frame);
        };
        self.ops.looked_at = match in_light {
            Some(InLight::First(label, _)) => Some(label),
            _ => None,
        };
        let origin = Origin::Light {
            arrived_ns: self.now_ns,
            duration_ns,
            program,
            born_ns,
            input: port,
        };
        let outputs = self.run_p4(device, port, &frame, origin);
        if outputs == 0 && self.external.is_none() {
            if self.runs(device) {
                self.ops.switches[switch].lost += 1;
            }
            self.lose_train(&frame, program);
        }
        self.pool.give_back(frame);
    }

    /// What comes is to find the lane free, and to be of the train under way there, or a new one.
    fn watch_entrance(&mut self, number: usize, time: (u64, u64), in_light: Option<&InLight>) {
        let entrance = &mut self.ops.entrances[number];
        let (place, seen) = (entrance.at.place(), entrance.sees(time, in_light));
        if seen.meets {
            self.invariants.violated(Invariant::LANE, self.now_ns, place, None);
        }
        if seen.is_split {
            self.invariants.violated(Invariant::SPLIT, self.now_ns, place, None);
        }
    }

    /// A train is at an edge.
    fn train_arrives(&mut self, number: usize, label: &Label, program: u32) {
        let at = self.ops.entrances[number].at;
        if label.dst_edge != at.device.number() {
            self.invariants
                .violated(Invariant::ASTRAY, self.now_ns, at.place(), None);
        }
        let id = TrainId::of(label, program);
        if !self.ops.watch.arrived(id) {
            self.invariants
                .violated(Invariant::DUPLICATE, self.now_ns, at.place(), None);
        }
    }

    /// A train is not on its way any more.
    fn lose_train(&mut self, frame: &[u8], program: u32) {
        if let Some(InLight::First(label, _)) = message::read(frame) {
            self.ops.watch.lost(TrainId::of(&label, program));
        }
    }

    /// Lets a wavelength carry frames or not: what has not begun to leave is lost.
    fn set_ops_dark(&mut self, index: usize, is_dark: bool) {
        self.ops.cards[index].is_dark = is_dark;
        if is_dark {
            self.lose_waiting_trains(index, DropCause::LinkDown);
        }
    }

    /// Loses what waits in a card.
    fn lose_waiting_trains(&mut self, index: usize, cause: DropCause) {
        let now_ns = self.now_ns;
        let card = &mut self.ops.cards[index];
        match &mut card.before {
            Before::Ram(ram) => ram.drop_waiting(now_ns),
            Before::Queue(queue) => queue.drop_waiting(now_ns),
        };
        let (card, place) = (&self.ops.cards[index], self.ops.cards[index].from.place());
        let has_not_begun = |at_ns: u64, flying: &Flying| at_ns > card.arrival_ns(now_ns, flying.duration_ns);
        let lost = self.lanes[card.lane].take_out(&mut self.events, has_not_begun);
        let to = card.to;
        for (packet, program) in lost {
            self.lose_train(&packet.frame, program);
            self.drop(place, cause, packet.frame);
        }
        if let Some(entrance) = self.ops.entrances.iter_mut().find(|entrance| entrance.at == to) {
            entrance.was_dark = true;
        }
    }

    /// What waits in the cards of a node is gone.
    pub(super) fn reset_ops_node(&mut self, device: Device) {
        for index in 0..self.ops.cards.len() {
            if self.ops.cards[index].from.device == device {
                self.lose_waiting_trains(index, DropCause::PipelineReplaced);
            }
        }
    }

    /// P4 sets a timer of an output; false if it says something else.
    fn obey_optical_ram(&mut self, index: usize, message: &ToCard) -> bool {
        let asked = message.flow_control().filter(|control| control.queue == message.port);
        let Before::Ram(ram) = &mut self.ops.cards[index].before else {
            return false;
        };
        asked.is_some_and(|control| ram.control(self.now_ns, &control).is_ok())
    }

    /// Interval timers of an output, whose queue has the port's number.
    fn optical_ram_timer(&mut self, index: usize) {
        let FibreEnd { device, port } = self.ops.cards[index].from;
        let next_tick = |fabric: &mut Fabric| match &mut fabric.ops.cards[index].before {
            Before::Ram(ram) => ram.tick(fabric.now_ns),
            Before::Queue(_) => None,
        };
        while let Some((tick, state)) = next_tick(self) {
            let tick = interval_tick(port, &tick, port, &state);
            self.run_p4(device, PORT_LINECARD, &tick, Origin::Local);
        }
        if let Before::Ram(ram) = &self.ops.cards[index].before
            && let Some(at_ns) = ram.next_tick_ns()
        {
            let at_ns = at_ns.max(self.now_ns + 1);
            self.events
                .schedule(at_ns, Event::timer(CardAt::new(&OPTICAL_RAM, index)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrance() -> Entrance {
        Entrance::new(FibreEnd {
            device: Device::Switch(0),
            port: 256,
        })
    }

    fn optical(queue: u16, train: TrainPart) -> Optical {
        Optical {
            src_edge: 3,
            queue,
            train: train.into(),
            ..Optical::default()
        }
    }

    fn first(packets: u16, queue: u16, part: TrainPart) -> Option<InLight> {
        let label = Label {
            packets,
            ..Label::default()
        };
        Some(InLight::First(label, optical(queue, part)))
    }

    fn behind(queue: u16, part: TrainPart) -> Option<InLight> {
        Some(InLight::Behind(optical(queue, part)))
    }

    #[test]
    fn two_frames_at_once_on_a_lane_are_seen() {
        let mut entrance = entrance();
        let mut meets = |head_ns, duration_ns| {
            let light = first(1, 0, TrainPart::Only);
            entrance.sees((head_ns, duration_ns), light.as_ref()).meets
        };
        assert!(!meets(0, 100) && !meets(100, 50));
        assert!(meets(149, 1));
        assert!(!meets(150, 10));
    }

    #[test]
    fn trains_that_are_not_whole_are_seen() {
        let mut at_ns = 0;
        let mut is_split = |entrance: &mut Entrance, light: Option<InLight>| {
            at_ns += 10;
            entrance.sees((at_ns, 10), light.as_ref()).is_split
        };
        let mut whole = entrance();
        for light in [
            first(1, 0, TrainPart::Only),
            first(3, 7, TrainPart::First),
            behind(7, TrainPart::Middle),
            behind(7, TrainPart::Last),
            first(2, 7, TrainPart::First),
            behind(7, TrainPart::Last),
        ] {
            assert!(!is_split(&mut whole, light));
        }
        assert!(is_split(&mut whole, behind(7, TrainPart::Last)), "of no train");
        assert!(!is_split(&mut whole, first(2, 7, TrainPart::First)));
        assert!(is_split(&mut whole, behind(8, TrainPart::Last)), "of another one");
        assert!(is_split(&mut whole, first(2, 7, TrainPart::Only)), "of two frames");
        let mut short = entrance();
        assert!(!is_split(&mut short, first(3, 7, TrainPart::First)));
        assert!(is_split(&mut short, behind(7, TrainPart::Last)), "one is missing");
        let mut cut = entrance();
        assert!(!is_split(&mut cut, first(3, 7, TrainPart::First)));
        assert!(is_split(&mut cut, first(1, 0, TrainPart::Only)), "among them");
        assert!(!is_split(&mut cut, first(3, 7, TrainPart::First)));
        cut.was_dark = true;
        assert!(!is_split(&mut cut, behind(8, TrainPart::Last)), "where that may be");
        assert!(!is_split(&mut cut, first(1, 0, TrainPart::Only)));
    }

    #[test]
    fn a_switch_may_change_little_of_a_label() {
        let came = Label {
            src_edge: 1,
            train: 5,
            deflections_left: 2,
            hops_left: 9,
            ..Label::default()
        };
        let out = Label { hops_left: 8, ..came };
        assert!(is_well_kept(&came, &out, false));
        let deflected = Label {
            deflections_left: 1,
            ..out
        };
        assert!(is_well_kept(&came, &deflected, false));
        let converted = Label { wavelength: 1, ..out };
        assert!(is_well_kept(&came, &converted, true) && !is_well_kept(&came, &converted, false));
        let spoiled = [
            came,
            Label { train: 6, ..out },
            Label {
                deflections_left: 0,
                ..out
            },
            Label {
                deflections_left: 3,
                ..out
            },
        ];
        for out in spoiled {
            assert!(!is_well_kept(&came, &out, true), "{out:?}");
        }
        let none_left = Label {
            deflections_left: 0,
            ..came
        };
        let below = Label {
            deflections_left: u8::MAX,
            hops_left: 8,
            ..came
        };
        assert!(
            !is_well_kept(&none_left, &below, true),
            "deflected more often than it may be"
        );
    }
}
