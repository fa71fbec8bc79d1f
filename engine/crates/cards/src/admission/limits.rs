// SPDX-License-Identifier: Apache-2.0
//! Drop-tail: rules that look at the queue only.

use rand_pcg::Pcg64Mcg;
use slotwise_units::{Bytes, Duration};

use super::{Arrival, NamedRule, Parameters, Rule};

/// Maximum number of waiting packets.
pub struct PacketLimit(pub(super) usize);

impl Rule for PacketLimit {
    #[inline]
    fn admits(&mut self, arrival: &Arrival) -> bool {
        !arrival.waits || arrival.waiting_packets < self.0
    }
}

impl NamedRule for PacketLimit {
    fn new(&[most, ..]: &Parameters, _: Pcg64Mcg) -> PacketLimit {
        PacketLimit(most as usize)
    }
}

/// Maximum length of waiting packets.
pub struct ByteLimit(pub(super) Bytes);

impl Rule for ByteLimit {
    #[inline]
    fn admits(&mut self, arrival: &Arrival) -> bool {
        !arrival.waits || arrival.waiting_bytes + arrival.bytes <= self.0
    }
}

impl NamedRule for ByteLimit {
    fn new(&[most, ..]: &Parameters, _: Pcg64Mcg) -> ByteLimit {
        ByteLimit(Bytes::new(most as u64))
    }
}

/// Maximum time until the last bit of a packet leaves.
pub struct TimeLimit(pub(super) Duration);

impl Rule for TimeLimit {
    #[inline]
    fn admits(&mut self, arrival: &Arrival) -> bool {
        arrival.leaves_in <= self.0
    }
}
