// SPDX-License-Identifier: Apache-2.0
//! Buffers of frames, used again.

/// A frame from its Ethernet header on (or from its controller header on, at the CPU port).
pub type Frame = Vec<u8>;

/// Frames that have been consumed; a new frame takes over an old one's memory.
#[derive(Default)]
pub(crate) struct FramePool {
    pub(crate) free: Vec<Frame>,
}

/// More than this many idle buffers are given back to the allocator.
const MAX_FREE: usize = 4096;

impl FramePool {
    pub(crate) fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.free.pop().unwrap_or_default();
        frame.clear();
        frame.extend_from_slice(bytes);
        frame
    }

    pub(crate) fn give_back(&mut self, frame: Frame) {
        if self.free.len() < MAX_FREE {
            self.free.push(frame);
        }
    }
}
