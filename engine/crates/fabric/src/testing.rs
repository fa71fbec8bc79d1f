// SPDX-License-Identifier: Apache-2.0
//! Frames of tests.

use slotwise_cards::packet::Frame;
use slotwise_wire::{ETHERTYPE_OPTICAL, Ethernet, OPTICAL_VERSION, Optical};

/// 1000 bytes of light for a queue.
pub(crate) fn optical_frame(queue: u16, sequence: u32) -> Frame {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let optical = Optical {
        version: OPTICAL_VERSION,
        queue,
        sequence,
        ..Optical::default()
    };
    let mut frame = ethernet.encode().to_vec();
    frame.extend_from_slice(&optical.encode());
    frame.resize(1000, 0);
    frame
}
