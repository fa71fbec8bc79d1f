// SPDX-License-Identifier: Apache-2.0
//! Packets on their way, and their memory, used again.

/// A packet's bytes from its Ethernet header on (or from its controller header on, at the CPU port).
pub type Frame = Vec<u8>;

/// Stands for the birth of a packet that no host sent, or of which nobody knows when.
pub const UNBORN: u64 = u64::MAX;

/// A packet and when its first bit left its host.
#[derive(Debug)]
pub struct Packet {
    /// Its bytes.
    pub frame: Frame,
    /// Or [`UNBORN`].
    pub born_ns: u64,
}

impl Packet {
    /// One that no host sent.
    #[inline]
    pub fn unborn(frame: Frame) -> Packet {
        Packet { frame, born_ns: UNBORN }
    }

    /// When its first bit left its host, if that is known.
    #[inline]
    pub fn born_ns(&self) -> Option<u64> {
        (self.born_ns != UNBORN).then_some(self.born_ns)
    }
}

/// Frames that have been consumed; a new frame takes over an old one's memory.
#[derive(Default)]
pub struct FramePool {
    free: Vec<Frame>,
}

/// More than this many idle buffers are given back to the allocator.
const MAX_FREE: usize = 4096;

impl FramePool {
    /// An empty frame.
    #[inline]
    pub fn take(&mut self) -> Frame {
        let mut frame = self.free.pop().unwrap_or_default();
        frame.clear();
        frame
    }

    /// A frame of these bytes.
    #[inline]
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.take();
        frame.extend_from_slice(bytes);
        frame
    }

    /// Keeps the memory of a frame for another one.
    #[inline]
    pub fn give_back(&mut self, frame: Frame) {
        if self.free.len() < MAX_FREE {
            self.free.push(frame);
        }
    }
}

/// What tests send: 1000 bytes of light for a queue.
#[cfg(test)]
pub fn optical_frame(queue: u16, sequence: u32) -> Frame {
    use slotwise_wire::{ETHERTYPE_OPTICAL, Ethernet, OPTICAL_VERSION, Optical};
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
