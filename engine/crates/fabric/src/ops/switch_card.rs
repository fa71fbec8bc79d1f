// SPDX-License-Identifier: Apache-2.0
//! The cards before outputs of switches: optical RAM, cut-through.

use slotwise_wire::Label;

use super::cards::Before;
use crate::drops::DropCause;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::Discipline;
use slotwise_cards::message::ToCard;
use slotwise_cards::message::train::{self as message, InLight};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet};

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
pub(super) static OPTICAL_RAM: Discipline = Discipline {
    is_link: true,
    obey: Fabric::obey_optical_ram,
    timer: Fabric::output_timer,
    set_dark: Fabric::set_ops_dark,
    ..Discipline::new("optical RAM", Fabric::enqueue_at_switch)
};

impl Fabric {
    /// A frame of a train leaves a switch.
    fn enqueue_at_switch(&mut self, index: usize, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        let place = self.ops.cards[index].from.place();
        let Origin::Light {
            arrived_ns,
            input,
            duration_ns,
            program,
            born_ns,
        } = origin
        else {
            // What the controller or a card sends is no train.
            return self.drop(place, DropCause::NoSuchQueue, frame);
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
        if self.external.is_some() && !ram.has_room(arrived_ns) {
            // Its program reckons by another time.
            ram.lose();
            self.lose_train(&frame, program);
            return self.drop(place, DropCause::QueueFull, frame);
        }
        let taken = match in_light {
            Some(InLight::First(label, _)) => Some(ram.label(arrived_ns, input, u64::from(label.length), bytes)),
            Some(InLight::Behind(_)) => ram.follow(arrived_ns, input, bytes),
            None => None,
        };
        let Some(taken) = taken else {
            return self.drop(place, DropCause::NoSuchQueue, frame);
        };
        if taken.is_over {
            self.invariants.violated(Invariant::RAM, now_ns, place, None);
        }
        let at_ns = card.arrival_ns(taken.start_ns, duration_ns).max(now_ns);
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

    /// P4 sets a timer of an output; false if it says something else.
    fn obey_optical_ram(&mut self, index: usize, message: &ToCard) -> bool {
        let asked = message.flow_control().filter(|control| control.queue == message.port);
        let Before::Ram(ram) = &mut self.ops.cards[index].before else {
            return false;
        };
        asked.is_some_and(|control| ram.control(self.now_ns, &control).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
