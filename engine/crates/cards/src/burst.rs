// SPDX-License-Identifier: Apache-2.0
//! Burst at an edge, during assembly and waiting: its frames, and their sizes on links.

use slotwise_units::Bytes;
use slotwise_wire::{Ethernet, IP_PROTOCOL_TCP, Ipv4, Label, Optical, TrainPart};

use crate::Invariant;
use crate::packet::Packet;

/// Place of the part in `optical_t`.
const PART: usize = Ethernet::SIZE + 8;

/// Frames of one source, destination and queue that travel together.
#[derive(Debug, Default)]
pub struct Burst {
    /// In order; at least one.
    pub frames: Vec<Packet>,
    /// Total length of the frames, as links count it.
    pub bytes: Bytes,
}

impl Burst {
    /// One of a single frame of so many bytes, as links count them.
    pub fn only(packet: Packet, bytes: Bytes) -> Burst {
        let frames = vec![packet];
        Burst { frames, bytes }
    }

    /// Another frame joins it.
    pub fn add(&mut self, packet: Packet, bytes: Bytes) {
        self.frames.push(packet);
        self.bytes += bytes;
    }

    /// Puts into each frame the part that it is. Frames have Ethernet and optical headers, and no label.
    pub fn mark(&mut self) {
        let last = self.frames.len().saturating_sub(1);
        for (place, packet) in self.frames.iter_mut().enumerate() {
            let part = match place {
                0 if last == 0 => TrainPart::Only,
                0 => TrainPart::First,
                _ if place == last => TrainPart::Last,
                _ => TrainPart::Middle,
            };
            packet.frame[PART] = part.into();
        }
    }

    /// Puts a label before the first frame, and the part that it is into each one.
    pub fn put_label(&mut self, label: &Label) {
        self.mark();
        if let Some(first) = self.frames.first_mut() {
            let at = Ethernet::SIZE;
            first.frame.splice(at..at, label.encode());
        }
        self.bytes += Bytes::of(Label::SIZE);
    }

    /// Bytes of its packets, once it has a label.
    pub fn packet_bytes(&self) -> Bytes {
        let frames = self.frames.iter();
        let all: Bytes = frames.map(|packet| payload_bytes(&packet.frame)).sum();
        all.saturating_sub(Bytes::of(Label::SIZE))
    }

    /// Frames with TCP, once it has a label.
    pub fn tcp_frames(&self) -> usize {
        let frames = self.frames.iter().enumerate();
        frames
            .filter(|(place, packet)| is_tcp(&packet.frame, *place == 0))
            .count()
    }
}

/// Returns true if a frame of a burst carries TCP.
pub fn is_tcp(frame: &[u8], has_label: bool) -> bool {
    ip_packet(frame, has_label)
        .and_then(Ipv4::decode)
        .is_some_and(|packet| packet.protocol == IP_PROTOCOL_TCP)
}

/// IP packet in a frame of a burst.
pub fn ip_packet(frame: &[u8], has_label: bool) -> Option<&[u8]> {
    let label = if has_label { Label::SIZE } else { 0 };
    frame.get(Ethernet::SIZE + label + Optical::SIZE..)
}

/// Bytes of the packet in a frame without a label: what is behind Ethernet and optical headers.
pub fn payload_bytes(frame: &[u8]) -> Bytes {
    const HEADERS: usize = Ethernet::SIZE + Optical::SIZE;
    Bytes::of(frame.len().saturating_sub(HEADERS))
}

impl Invariant {
    /// No frame of a train without its label before it, and none of another train among them.
    pub const SPLIT: Invariant = Invariant::new("split", "broken bursts");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::burst::{InLight, read};
    use crate::message::optical;
    use crate::packet::optical_frame;
    use slotwise_wire::{LABEL_VERSION, LabelKind};

    #[test]
    fn a_label_goes_before_the_first_frame_and_parts_into_all() {
        let label = Label {
            version: LABEL_VERSION,
            kind: LabelKind::Train.into(),
            train: 7,
            packets: 3,
            ..Label::default()
        };
        for frames in 1..4 {
            let mut burst = Burst::default();
            for sequence in 0..frames {
                burst.add(Packet::unborn(optical_frame(5, sequence)), Bytes::new(970));
            }
            burst.put_label(&label);
            assert_eq!(burst.packet_bytes().get(), u64::from(frames) * 970);
            assert_eq!(burst.bytes.get(), u64::from(frames) * 970 + 20);
            assert_eq!(burst.tcp_frames(), 0);
            for packet in &mut burst.frames[..frames as usize - 1] {
                let ip = packet.frame.len() - 970;
                packet.frame[ip] = 0x45;
                packet.frame[ip + 9] = IP_PROTOCOL_TCP;
            }
            assert_eq!(burst.tcp_frames(), frames as usize - 1);
            let Some(InLight::First(read_back, first)) = read(&burst.frames[0].frame) else {
                panic!("no label")
            };
            assert_eq!((read_back, first.queue, first.sequence), (label, 5, 0));
            let mut parts = vec![first.train];
            parts.extend(
                burst.frames[1..]
                    .iter()
                    .map(|packet| optical(&packet.frame).unwrap().train),
            );
            let parts: Vec<TrainPart> = parts
                .into_iter()
                .map(|part| TrainPart::try_from(part).unwrap())
                .collect();
            let expected: &[TrainPart] = match frames {
                1 => &[TrainPart::Only],
                2 => &[TrainPart::First, TrainPart::Last],
                _ => &[TrainPart::First, TrainPart::Middle, TrainPart::Last],
            };
            assert_eq!(parts, expected);
        }
    }
}
