// SPDX-License-Identifier: Apache-2.0
//! Frames on a wavelength for data, and messages between P4 and the card of an edge that assembles bursts.

use slotwise_wire::{
    Ethernet, LABEL_VERSION, Label, LabelKind, LineCardKind, OUTPUT_IDLE, Optical, TrainLabel, TrainSent, TrainTick,
};

use crate::message::{self, HEADER, ToCard};

/// A frame in light.
pub enum InLight {
    /// First frame of a burst.
    First(Label, Optical),
    /// Further frame of a burst.
    Behind(Optical),
}

/// Reads the frame; `None` if it is not part of a burst.
#[inline]
pub fn read(frame: &[u8]) -> Option<InLight> {
    match message::label(frame) {
        Some(label) if label.kind == u8::from(LabelKind::Train) => {
            let optical = Optical::decode(&frame[Ethernet::SIZE + Label::SIZE..])?;
            Some(InLight::First(label, optical))
        }
        Some(_) => None,
        None => message::optical(frame).map(InLight::Behind),
    }
}

/// Returns the message about a closed burst.
pub fn burst_tick(port: u16, tick: &TrainTick) -> [u8; HEADER + TrainTick::SIZE] {
    let mut message = [0; HEADER + TrainTick::SIZE];
    message[..HEADER].copy_from_slice(&message::header(port, LineCardKind::TrainTick));
    message[HEADER..].copy_from_slice(&tick.encode());
    message
}

/// Returns the message about a burst that was sent or lost, with class and tag of the next one, if any.
pub fn burst_sent(port: u16, begins: Option<(u8, u64)>) -> [u8; HEADER + TrainSent::SIZE] {
    let sent = match begins {
        Some((traffic_class, tag)) => TrainSent {
            traffic_class,
            tag,
            ..TrainSent::default()
        },
        None => TrainSent {
            flags: OUTPUT_IDLE,
            ..TrainSent::default()
        },
    };
    let mut message = [0; HEADER + TrainSent::SIZE];
    message[..HEADER].copy_from_slice(&message::header(port, LineCardKind::TrainSent));
    message[HEADER..].copy_from_slice(&sent.encode());
    message
}

/// Reads P4's answer to a burst tick, with the label if it is valid.
pub fn burst_label(message: &ToCard) -> Option<(TrainLabel, Option<Label>)> {
    let content = message.content(LineCardKind::TrainLabel)?;
    let answer = TrainLabel::decode(content)?;
    let label = Label::decode(&content[TrainLabel::SIZE..]);
    let is_of_burst = |label: &Label| (label.version, label.kind) == (LABEL_VERSION, LabelKind::Train.into());
    Some((answer, label.filter(is_of_burst)))
}
