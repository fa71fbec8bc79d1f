// SPDX-License-Identifier: Apache-2.0
//! Messages between a ring's card and P4, and the header of what is on a ring.

use crate::Port;
use slotwise_units::Duration;
use slotwise_wire::{
    AddLimits, ETHERTYPE_OPTICAL, Ethernet, FAIRNESS_ENTRIES, LineCardKind, RING_VERSION, Ring, RingData, RingKind,
    RingTick,
};

use crate::message::{HEADER, ToCard, header};
use crate::transit_first::AddLimit;

/// An interval of a ring's card has ended, or P4 has asked for a tick.
pub fn ring_tick(port: Port, tick: &RingTick) -> [u8; HEADER + RingTick::SIZE] {
    let mut message = [0; HEADER + RingTick::SIZE];
    message[..HEADER].copy_from_slice(&header(port, LineCardKind::RingTick));
    message[HEADER..].copy_from_slice(&tick.encode());
    message
}

/// P4's answer to a ring tick.
pub struct LimitsToAdd {
    /// Time to the next end of an interval, from the one that the tick was about.
    pub next: Duration,
    /// Ticks that P4 asks for.
    pub ticks: u16,
    /// Limits without a rate are none.
    pub limits: [AddLimit; FAIRNESS_ENTRIES as usize],
}

/// Reads it.
pub fn add_limits(message: &ToCard) -> Option<LimitsToAdd> {
    let bytes = message.content(LineCardKind::AddLimits)?;
    let AddLimits { next_ns, ticks } = AddLimits::decode(bytes)?;
    let mut limits = [AddLimit { hops: 0, rate: 0 }; FAIRNESS_ENTRIES as usize];
    for (index, limit) in limits.iter_mut().enumerate() {
        let entry = bytes.get(AddLimits::SIZE + index * slotwise_wire::AddLimit::SIZE..)?;
        let slotwise_wire::AddLimit { hops, rate } = slotwise_wire::AddLimit::decode(entry)?;
        *limit = AddLimit { hops, rate };
    }
    let next = Duration::from_ns(next_ns.into());
    Some(LimitsToAdd { next, ticks, limits })
}

/// The ring header of a frame that has one, and what follows in one that carries data.
#[inline]
pub fn ring(frame: &[u8]) -> Option<(Ring, Option<RingData>)> {
    let ethernet = Ethernet::decode(frame)?;
    let ring = Ring::decode(&frame[Ethernet::SIZE..])?;
    if ethernet.ether_type != ETHERTYPE_OPTICAL || ring.version != RING_VERSION {
        return None;
    }
    let is_data = ring.kind == u8::from(RingKind::Data);
    let data = RingData::decode(&frame[Ethernet::SIZE + Ring::SIZE..]).filter(|_| is_data);
    Some((ring, data))
}
