// SPDX-License-Identifier: Apache-2.0
//! Where wavelengths for data end: what enters a switch or an edge, and what must hold of it.

use slotwise_scenario::Device;
use slotwise_wire::{Label, Optical, TrainPart};

use super::cards::FibreEnd;
use super::message::{self, InLight};
use super::switch_number;
use super::watch::TrainId;
use crate::dispatch::Origin;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::End;
use crate::lane::{Flying, LaneEnd};
use crate::packet::Packet;

/// Where a wavelength ends.
pub(super) struct Entrance {
    pub(super) at: FibreEnd,
    /// When the last frame has passed.
    busy_until_ns: u64,
    /// Source and queue of the train under way, and its frames that are still to come.
    under_way: Option<(u16, u16, u16)>,
    /// Something of a train may have been lost on the way since the last label.
    pub(super) was_dark: bool,
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
}
