// SPDX-License-Identifier: Apache-2.0
//! Standstill of time: events that schedule each other at one instant without end.

use std::collections::BTreeMap;

use slotwise_scenario::Device;
use slotwise_units::Instant;

/// Number of events at one time above that of any network; reached after some seconds.
pub(crate) const MAX_AT_ONCE: u64 = 10_000_000;
/// Number of last events that are examined to name their node.
const SAMPLE: u64 = 1000;

/// Reason for the end of a run before its time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("simulated time stuck at {at}: more than {events} events at this time, last: {last}; {cause}")]
pub struct Standstill {
    /// Simulated time.
    pub at: Instant,
    /// Events that took place at this time.
    pub events: u64,
    /// Next event and its place.
    pub last: String,
    /// Cause.
    pub cause: StandstillCause,
}

/// Cause of a standstill, by the last events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StandstillCause {
    /// Packets that enter a P4 program repeatedly.
    #[error(
        "{packets} of the last {SAMPLE} events are packets that enter P4 of {device}, which runs '{program}'; expected a \
         program that does not make new packets for P4 without end"
    )]
    Program {
        /// Switch with most of the packets.
        device: Device,
        /// Name of its program.
        program: String,
        /// Their number.
        packets: u64,
    },
    /// Events without packets for P4.
    #[error("none of the last {SAMPLE} events is a packet that enters P4: this is a bug in the engine")]
    Engine,
}

/// Counter of events at one time.
pub(crate) struct AtOnce {
    pub(crate) most: u64,
    pub(super) count: u64,
    /// Packets for P4 among the last events, by switch.
    packets: BTreeMap<Device, u64>,
    pub(crate) found: Option<Standstill>,
}

impl Default for AtOnce {
    fn default() -> AtOnce {
        AtOnce {
            most: MAX_AT_ONCE,
            count: 0,
            packets: BTreeMap::new(),
            found: None,
        }
    }
}

impl AtOnce {
    /// Counts a packet that enters P4 of a switch. Returns false at a standstill.
    #[inline]
    pub(super) fn packet(&mut self, device: Device) -> bool {
        self.count += 1;
        if self.count > self.most.saturating_sub(SAMPLE - 1) {
            self.sample(device);
        }
        self.count <= self.most
    }

    #[cold]
    fn sample(&mut self, device: Device) {
        *self.packets.entry(device).or_default() += 1;
    }

    /// Restarts the count at a new time.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.count = 0;
        if !self.packets.is_empty() {
            self.packets.clear();
        }
    }

    /// Returns the switch with most packets for P4 among the last events, and their number.
    pub(super) fn most_packets(&self) -> Option<(Device, u64)> {
        let packets = self.packets.iter().map(|(device, packets)| (*device, *packets));
        packets.max_by_key(|(_, packets)| *packets)
    }
}
