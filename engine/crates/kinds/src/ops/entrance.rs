// SPDX-License-Identifier: Apache-2.0
//! Where wavelengths for data end: what enters a switch or an edge, and what must hold of it.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{Label, Optical, TrainPart};

use super::cards::FibreEnd;
use super::parts::{ENTRANCE, Ops, switch_number};
use super::steps::{AtSwitch, Step};
use super::watch::TrainId;
use crate::build::Build;
use slotwise_cards::burst;
use slotwise_cards::card::{Pass, Record};
use slotwise_cards::edge_card::EdgeCard;
use slotwise_cards::message::burst::{self as message, InLight};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::Packet;
use slotwise_cards::switch_card::SwitchCard;
use slotwise_net::drops::DropCause;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::ticket::Ticket;
use slotwise_net::work::{Ask, Passed};
use slotwise_random::Chance;

/// A train of which the label has come.
#[derive(Clone, Copy)]
struct UnderWay {
    id: TrainId,
    /// Source and queue.
    owner: (u16, u16),
    /// Frames that are still to come.
    behind: u16,
}

/// Where a wavelength ends.
pub(super) struct Entrance {
    pub(super) at: FibreEnd,
    /// When the last frame has passed.
    busy_until_ns: u64,
    under_way: Option<UnderWay>,
    /// Something of a train may have been lost on the way since the last label.
    pub(super) was_dark: bool,
    /// At an edge: frames of the train that comes, until its last bit is there.
    came: Vec<Came>,
    /// Frames of a train that the link has lost and that are still to come.
    losing: u16,
    /// Of a fibre between edges: its losses of whole trains.
    pub(super) direct: Option<Chance>,
    /// It is the second one between them: what comes by it was deflected.
    pub(super) is_second: bool,
    /// At an edge: the train that came last, or comes.
    latest: Option<Latest>,
}

/// A train whose label has come to an edge.
#[derive(Clone, Copy)]
struct Latest {
    id: TrainId,
    is_deflected: bool,
}

impl Entrance {
    fn new(at: FibreEnd) -> Entrance {
        Entrance {
            at,
            busy_until_ns: 0,
            under_way: None,
            was_dark: false,
            came: Vec::new(),
            losing: 0,
            direct: None,
            is_second: false,
            latest: None,
        }
    }

    /// A frame passes from a time on for so long: whether another one has not passed yet.
    fn meets(&mut self, (head_ns, duration_ns): (u64, u64)) -> bool {
        let meets = self.busy_until_ns > head_ns;
        self.busy_until_ns = self.busy_until_ns.max(head_ns + duration_ns);
        meets
    }

    /// A frame comes, of a train that this program has numbered: whether a frame of its train is missing, or it is of no train. Where
    /// faults took it, it may be.
    fn splits(&mut self, in_light: Option<&InLight>, program: u32, is_cut: impl Fn(TrainId) -> bool) -> bool {
        let owner = |optical: &Optical| (optical.src_edge, optical.queue);
        match in_light {
            Some(InLight::First(label, optical)) => {
                let before = self.under_way.take();
                let is_cut_off = before.is_some_and(|before| !self.was_dark && !is_cut(before.id));
                let behind = label.packets.saturating_sub(1);
                self.under_way = (behind > 0).then_some(UnderWay {
                    id: TrainId::of(label, program),
                    owner: owner(optical),
                    behind,
                });
                self.was_dark = false;
                is_cut_off || (behind == 0) != (optical.train == u8::from(TrainPart::Only))
            }
            Some(InLight::Behind(optical)) => match self.under_way.take() {
                Some(train) if train.owner == owner(optical) => {
                    let is_last = optical.train == u8::from(TrainPart::Last);
                    let behind = train.behind - 1;
                    self.under_way = (behind > 0 && !is_last).then_some(UnderWay { behind, ..train });
                    is_last != (behind == 0) && !is_cut(train.id)
                }
                _ => !self.was_dark,
            },
            None => false,
        }
    }

    /// The train that comes, if more of it is to come.
    pub(super) fn under_way(&self) -> Option<TrainId> {
        self.under_way.filter(|_| !self.was_dark).map(|train| train.id)
    }
}

/// What came at an edge, and what is known of the order that it was sent in.
struct Came {
    port: Port,
    packet: Packet,
    program: u32,
}

impl Ops {
    /// Adds the lane of a wavelength that ends there: numbers of the lane and of its entrance.
    pub(super) fn add_entrance(&mut self, build: &mut Build, at: FibreEnd) -> (usize, usize) {
        let number = self.entrances.len();
        self.entrances.push(Entrance::new(at));
        (build.add_own_lane(ENTRANCE, number), number)
    }

    /// The head of a frame is at a switch, or its tail at an edge.
    pub(super) fn light_enters(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        let number = end.number as usize;
        let FibreEnd { device, port } = self.entrances[number].at;
        let in_light = message::read(&flying.packet.frame);
        self.watch_entrance(fx, number, &flying, in_light.as_ref());
        if let Some(switch) = switch_number(device) {
            return Some(self.light_enters_switch(fx, (switch, device, port), in_light, flying));
        }
        if let Some(InLight::First(..)) = &in_light {
            self.deliver_what_came(fx, number);
            if fx.has_asked() {
                let entrance = number;
                self.then(fx, Step::Enter { entrance, flying });
                return None;
            }
        }
        self.light_enters_edge(fx, number, in_light.as_ref(), flying);
        None
    }

    /// The tail of a frame is at an edge, and no frame of another train is before it.
    pub(super) fn light_enters_edge(
        &mut self,
        fx: &mut Effects<'_>,
        number: usize,
        in_light: Option<&InLight>,
        flying: Flying,
    ) {
        if let Some(InLight::First(label, _)) = in_light {
            self.train_arrives(fx, number, label, flying.program);
        }
        let entrance = &mut self.entrances[number];
        let port = entrance.at.port;
        let Flying { packet, program, .. } = flying;
        let has_label = matches!(in_light, Some(InLight::First(..)));
        let is_lost = entrance.losing > 0;
        if let Some(latest) = entrance.latest
            && (is_lost || latest.is_deflected)
            && let Some(packet) = burst::ip_packet(&packet.frame, has_label)
        {
            fx.in_burst(packet, latest.id.of_source(), is_lost);
        }
        if is_lost {
            entrance.losing -= 1;
            let place = entrance.at.place();
            return fx.drop(place, DropCause::LinkLoss, packet.frame);
        }
        entrance.came.push(Came { port, packet, program });
        let is_over = entrance.under_way().is_none_or(|train| self.watch.is_cut(train));
        if is_over {
            self.deliver_what_came(fx, number);
        }
    }

    fn light_enters_switch(
        &mut self,
        fx: &mut Effects<'_>,
        (switch, device, port): (usize, Device, Port),
        in_light: Option<InLight>,
        flying: Flying,
    ) -> Ask {
        let Flying {
            packet: Packet { frame, born },
            duration,
            program,
        } = flying;
        let label = match in_light {
            Some(InLight::First(label, _)) => Some(label),
            _ => None,
        };
        if let Some(card) = fx.card_mut::<SwitchCard>(device) {
            card.looks_at(label);
        }
        let origin = Origin::Light {
            arrived: fx.now(),
            duration,
            program,
            born,
            input: port,
        };
        let number = self.at_switches.insert(AtSwitch { switch, label, program });
        let owner = self.owner;
        Ask {
            device,
            port,
            frame,
            origin,
            then: Passed::Own(Ticket { owner, number }),
        }
    }

    /// Light has passed a switch, or was dropped by it.
    pub(super) fn light_left_switch(&mut self, fx: &mut Effects<'_>, passed: &AtSwitch, pass: Pass) {
        let &AtSwitch {
            switch,
            ref label,
            program,
        } = passed;
        if pass != (Pass::Done { outputs: 0 }) {
            return;
        }
        if fx.look().runs(Device::Switch(switch as u16)) {
            self.switches[switch].lost += 1;
        }
        if let Some(label) = label {
            let (label, node) = (*label, fx.node(Device::Switch(switch as u16)));
            fx.record(node, Record::BurstLost { label, program });
        }
    }

    /// What comes is to find the lane free, and to be of the train under way there, or a new one.
    fn watch_entrance(&mut self, fx: &mut Effects<'_>, number: usize, flying: &Flying, in_light: Option<&InLight>) {
        let now_ns = fx.now().ns();
        let (duration_ns, program) = (flying.duration.ns(), flying.program);
        let entrance = &mut self.entrances[number];
        let place = entrance.at.place();
        let head_ns = match entrance.at.device {
            Device::Switch(_) => now_ns,
            _ => now_ns - duration_ns,
        };
        // Between edges it is judged where light enters.
        let meets = entrance.direct.is_none() && entrance.meets((head_ns, duration_ns));
        let is_split = entrance.splits(in_light, program, |train| self.watch.is_cut(train));
        if meets {
            fx.broken(Invariant::LANE, place, None);
        }
        if is_split {
            fx.broken(Invariant::SPLIT, place, None);
        }
    }

    /// A train is at an edge, or was lost at the end of its link.
    fn train_arrives(&mut self, fx: &mut Effects<'_>, number: usize, label: &Label, program: u32) {
        let id = TrainId::of(label, program);
        let is_deflected = self.is_deflected(label) || self.entrances[number].is_second;
        let entrance = &mut self.entrances[number];
        let at = entrance.at;
        entrance.latest = Some(Latest { id, is_deflected });
        let is_lost = entrance.direct.as_mut().is_some_and(Chance::comes);
        if is_lost {
            entrance.losing = label.packets;
        } else if label.dst_edge != at.device.number() {
            fx.broken(Invariant::ASTRAY, at.place(), None);
        }
        let arrived = Record::BurstArrived {
            port: at.port,
            label: *label,
            program,
            is_deflected,
            is_lost,
        };
        fx.record(fx.node(at.device), arrived);
    }

    /// What has come of a train at an edge goes to P4, each frame by itself.
    pub(super) fn deliver_what_came(&mut self, fx: &mut Effects<'_>, number: usize) {
        let device = self.entrances[number].at.device;
        let mut came = std::mem::take(&mut self.entrances[number].came);
        for came in came.drain(..) {
            self.deliver_at_edge(fx, device, came);
        }
        // Its memory is used again.
        self.entrances[number].came = came;
    }

    /// A packet goes to an edge's P4, or waits for those before it.
    fn deliver_at_edge(&mut self, fx: &mut Effects<'_>, device: Device, came: Came) {
        let Came { port, packet, program } = came;
        if fx.card_mut::<EdgeCard>(device).is_none() {
            return;
        }
        let node = fx.node(device);
        let given = fx.call(self, node, |card: &mut EdgeCard, now, out| {
            card.arrives(now, port, packet, program, out)
        });
        if let Some(Packet { frame, born }) = given {
            fx.ask((device, port), frame, Origin::Lane { born });
        }
    }
}

/// Records the loss of a burst that a switch outside did not forward.
pub(super) fn train_is_overdue(fx: &mut Effects<'_>, crossing: &Crossing) {
    if let (Origin::Light { program, .. }, Some(label)) = (crossing.origin, crossing.label) {
        fx.record(fx.node(crossing.device), Record::BurstLost { label, program });
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
        let mut meets = |head_ns, duration_ns| entrance.meets((head_ns, duration_ns));
        assert!(!meets(0, 100) && !meets(100, 50));
        assert!(meets(149, 1));
        assert!(!meets(150, 10));
    }

    #[test]
    fn trains_that_are_not_whole_are_seen() {
        let is_split = |entrance: &mut Entrance, light: Option<InLight>| entrance.splits(light.as_ref(), 0, |_| false);
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
    fn trains_that_faults_have_cut_need_not_be_whole() {
        let label = Label {
            packets: 3,
            ..Label::default()
        };
        let cut = TrainId::of(&label, 4);
        let splits = |program, lights: [Option<InLight>; 2]| {
            let mut entrance = entrance();
            lights.map(|light| entrance.splits(light.as_ref(), program, |train| train == cut))
        };
        let is_short = || [first(3, 7, TrainPart::First), behind(7, TrainPart::Last)];
        assert_eq!(
            (splits(4, is_short()), splits(5, is_short())),
            ([false; 2], [false, true])
        );
        let is_cut_off = || [first(3, 7, TrainPart::First), first(1, 0, TrainPart::Only)];
        assert_eq!(
            (splits(4, is_cut_off()), splits(5, is_cut_off())),
            ([false; 2], [false, true])
        );
    }
}
