// SPDX-License-Identifier: Apache-2.0
//! Watches what switches and controller say to each other: how much it is, and how long a request takes to become slots.

use slotwise_observe::recorders::star::ControlUse;
use slotwise_scenario::{Core, Device};
use slotwise_units::Bytes;
use slotwise_wire::{Check, Commit, Ethernet, Optical, OpticalKind, PORT_SELF, PacketIn, PacketOut, Request};

/// What it knows of one star.
struct Star {
    master: u16,
    /// Frame of the master's last request.
    newest_frame: Option<u32>,
    /// A version that is not in force yet, and the frame of the requests that it was made of.
    staged: Option<(u32, u32)>,
    used: ControlUse,
}

/// Follows the messages of a run.
pub struct ControlMeter {
    stars: Vec<Star>,
}

impl ControlMeter {
    /// Nothing has been said yet, in the stars of these cores.
    pub fn new(cores: &[Core]) -> ControlMeter {
        let star = |core: &Core| Star {
            master: core.master,
            newest_frame: None,
            staged: None,
            used: ControlUse::default(),
        };
        ControlMeter {
            stars: cores.iter().map(star).collect(),
        }
    }

    /// A packet-in, controller header included. What is no signaling is left out.
    pub fn packet_in(&mut self, message: &[u8]) {
        let Some((optical, payload)) = message.get(PacketIn::SIZE..).and_then(decode) else {
            return;
        };
        let is_request = optical.kind == u8::from(OpticalKind::Request);
        let is_beacon = optical.kind == u8::from(OpticalKind::Commit);
        // A request is for the master, a beacon from it; an edge is master of one star at most.
        let master = if is_request { optical.dst_edge } else { optical.src_edge };
        let Some(star) = self.stars.iter_mut().find(|star| star.master == master) else {
            return;
        };
        if is_request || is_beacon {
            star.used.messages += Bytes::of(message.len() - PacketIn::SIZE);
        }
        if let Some(request) = Request::decode(payload).filter(|_| is_request && optical.src_edge == master) {
            star.newest_frame = Some(request.frame);
            if let Some((_, frame)) = star.staged.take_if(|(version, _)| *version == request.active_version) {
                star.used.schedules += 1;
                star.used.delay_frames += u64::from(request.frame.wrapping_sub(frame));
            }
        }
    }

    /// A packet-out, controller header included.
    pub fn packet_out(&mut self, device_id: u64, message: &[u8]) {
        let is_for_itself = PacketOut::decode(message).is_some_and(|header| header.egress_port == PORT_SELF);
        let Some((optical, payload)) = message.get(PacketOut::SIZE..).and_then(decode) else {
            return;
        };
        let is_commit = optical.kind == u8::from(OpticalKind::Commit) && is_for_itself;
        let to_master =
            |star: &&mut Star| device_id == Device::Edge(star.master).id() && optical.dst_edge == star.master;
        let Some(star) = self.stars.iter_mut().find(to_master).filter(|_| is_commit) else {
            return;
        };
        if let (Some(commit), Some(frame)) = (Commit::decode(payload), star.newest_frame) {
            // A commit that is sent again stands for the requests of the first one.
            star.staged = star
                .staged
                .filter(|(version, _)| *version == commit.next_version)
                .or(Some((commit.next_version, frame)));
        }
    }

    /// What was said so far, by core.
    pub fn used(&self) -> Vec<ControlUse> {
        self.stars.iter().map(|star| star.used).collect()
    }
}

fn decode(frame: &[u8]) -> Option<(Optical, &[u8])> {
    let optical = Optical::decode(frame.get(Ethernet::SIZE..)?)?;
    Some((optical, frame.get(Ethernet::SIZE + Optical::SIZE + Check::SIZE..)?))
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::Scenario;
    use slotwise_wire::{ETHERTYPE_OPTICAL, OPTICAL_VERSION};

    use super::*;

    fn message(header: &[u8], kind: OpticalKind, from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
        let ethernet = Ethernet {
            ether_type: ETHERTYPE_OPTICAL,
            ..Ethernet::default()
        };
        let optical = Optical {
            version: OPTICAL_VERSION,
            kind: kind.into(),
            src_edge: from,
            dst_edge: to,
            ..Optical::default()
        };
        [
            header,
            &ethernet.encode(),
            &optical.encode(),
            &Check::default().encode(),
            payload,
        ]
        .concat()
    }

    fn request(from: u16, frame: u32, active_version: u32) -> Vec<u8> {
        let request = Request {
            frame,
            active_version,
            ..Request::default()
        };
        let header = PacketIn::default().encode();
        message(&header, OpticalKind::Request, from, 0, &request.encode())
    }

    fn commit(next_version: u32) -> Vec<u8> {
        let commit = Commit {
            next_version,
            ..Commit::default()
        };
        let header = PacketOut { egress_port: PORT_SELF }.encode();
        message(&header, OpticalKind::Commit, 0, 0, &commit.encode())
    }

    #[test]
    fn a_delay_is_from_the_requests_frame_to_the_first_one_in_which_their_schedule_is_in_force() {
        let text = include_bytes!("../../../../topologies/star4.yaml");
        let mut meter = ControlMeter::new(&Scenario::parse(text).unwrap().cores);
        let master = Device::Edge(0).id();
        meter.packet_out(master, &commit(1));
        meter.packet_in(&request(0, 10, 0));
        meter.packet_out(master, &commit(1));
        meter.packet_in(&request(0, 11, 0));
        meter.packet_out(master, &commit(1));
        meter.packet_in(&request(1, 12, 1));
        assert_eq!(meter.used()[0].schedules, 0, "messages of members are not counted");
        meter.packet_in(&request(0, 12, 1));
        meter.packet_in(&request(0, 13, 1));
        let used = meter.used()[0];
        assert_eq!((used.schedules, used.delay_frames), (1, 2));
        let one = (request(0, 0, 0).len() - PacketIn::SIZE) as u64;
        assert_eq!(used.messages, Bytes::new(5 * one));
        for cut in 0..commit(2).len() {
            meter.packet_out(master, &commit(2)[..cut]);
            meter.packet_in(&request(0, 14, 2)[..cut]);
        }
        assert_eq!(meter.used()[0].schedules, 1);
    }
}
