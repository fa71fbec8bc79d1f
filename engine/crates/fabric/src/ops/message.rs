// SPDX-License-Identifier: Apache-2.0
//! What is on a wavelength for data.

use slotwise_wire::{ETHERTYPE_OPTICAL, Ethernet, LABEL_VERSION, Label, LabelKind, Optical};

use crate::message;

/// A frame in light.
pub(super) enum InLight {
    /// The first one of a train.
    First(Label, Optical),
    /// One behind it.
    Behind(Optical),
}

/// Reads it; `None` if it is no frame of a train.
pub(super) fn read(frame: &[u8]) -> Option<InLight> {
    let ethernet = Ethernet::decode(frame)?;
    let label = Label::decode(&frame[Ethernet::SIZE..]);
    let label = label.filter(|label| label.version == LABEL_VERSION && ethernet.ether_type == ETHERTYPE_OPTICAL);
    match label {
        Some(label) if label.kind == u8::from(LabelKind::Train) => {
            let optical = Optical::decode(&frame[Ethernet::SIZE + Label::SIZE..])?;
            Some(InLight::First(label, optical))
        }
        Some(_) => None,
        None => message::optical(frame).map(InLight::Behind),
    }
}
