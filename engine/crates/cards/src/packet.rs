// SPDX-License-Identifier: Apache-2.0
//! Packets in flight, and a pool of their memory.

use slotwise_units::{Duration, Instant};
use slotwise_wire::Optical;

use crate::Port;

/// A packet's bytes from its Ethernet header on (or from its controller header on, at the CPU port).
pub type Frame = Vec<u8>;

/// Birth of a packet that no host sent, or whose birth is unknown.
pub const UNBORN: Instant = Instant::MAX;

/// A packet and when its first bit left its host.
#[derive(Debug)]
pub struct Packet {
    /// Its bytes.
    pub frame: Frame,
    /// Or [`UNBORN`].
    pub born: Instant,
}

impl Packet {
    /// One that no host sent.
    #[inline]
    pub fn unborn(frame: Frame) -> Packet {
        Packet { frame, born: UNBORN }
    }

    /// Departure of its first bit from its host, if known.
    #[inline]
    pub fn born(&self) -> Option<Instant> {
        (self.born != UNBORN).then_some(self.born)
    }
}

/// A packet in a lane.
#[derive(Debug)]
pub struct Flying {
    /// The packet.
    pub packet: Packet,
    /// Time that its light takes to pass a point.
    pub duration: Duration,
    /// The program of its source that numbered it.
    pub program: u32,
}

impl Flying {
    /// A packet that nobody has numbered and whose tail arrives.
    #[inline]
    pub fn plain(packet: Packet) -> Flying {
        Flying {
            packet,
            duration: Duration::ZERO,
            program: 0,
        }
    }
}

/// Origin of a packet that entered a pipeline, as far as its output depends on it.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// Light in a core or an optical packet switch.
    Light {
        /// Arrival of its head.
        arrived: Instant,
        /// Time that it takes to pass a point.
        duration: Duration,
        /// The program of its edge that numbered it.
        program: u32,
        /// Birth of the packet.
        born: Instant,
        /// Its input port.
        input: Port,
    },
    /// From a fibre to an edge.
    Fibre {
        /// Number of the fibre.
        card: usize,
        /// The optical header that it had.
        optical: Option<Optical>,
        /// Birth of the packet.
        born: Instant,
    },
    /// By a lane to a port where nothing more counts of it.
    Lane {
        /// Birth of the packet.
        born: Instant,
    },
    /// The tick of a slot, whose messages may leave until then.
    Tick {
        /// End of the slot.
        until: Instant,
    },
    /// Anything else.
    Local,
}

impl Origin {
    /// Birth of a packet that P4 makes of this one.
    #[inline]
    pub fn born(self) -> Instant {
        match self {
            Origin::Light { born, .. } | Origin::Fibre { born, .. } | Origin::Lane { born } => born,
            Origin::Tick { .. } | Origin::Local => UNBORN,
        }
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

/// Light of 1000 bytes for a queue, for tests.
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
