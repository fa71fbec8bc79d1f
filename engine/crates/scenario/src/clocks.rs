// SPDX-License-Identifier: Apache-2.0
//! Clocks of their own for the edges.

use std::ops::RangeInclusive;

use slotwise_wire::{Stamp, Sync};

use crate::model::Scenario;
use crate::reader::{Fields, Reader};
use crate::timing::WIRE_OVERHEAD_BYTES;

/// An edge's T_d is its delay less its offset; line cards take a second either way.
const MAX_OFFSET_NS: RangeInclusive<u64> = 0..=500_000_000;

/// How far the clocks of the edges are from the master's, which is fabric time. Each edge but the master draws an
/// offset and a rate from the seed; the rate then walks at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Offsets are from 0 to this.
    pub max_offset_ns: u64,
    /// Rates differ by at most this, either way, in parts per billion.
    pub max_drift_ppb: u64,
    /// In each step a rate changes by at most this, either way.
    pub walk_ppb: u64,
    /// Length of a step.
    pub step_ns: u64,
}

/// The optional section `clocks`.
pub(crate) fn clocks(r: &mut Reader, parent: &Fields) -> Option<Clocks> {
    let value = r.optional(parent, "clocks")?;
    let keys = ["max_offset_ns", "max_drift_ppb", "walk_ppb", "step_ns"];
    let fields = r.fields(value, parent.pointer("clocks"), &keys);
    Some(Clocks {
        max_offset_ns: r.integer(&fields, "max_offset_ns", MAX_OFFSET_NS),
        max_drift_ppb: r.integer(&fields, "max_drift_ppb", 0..=500_000),
        walk_ppb: r.integer(&fields, "walk_ppb", 0..=10_000),
        step_ns: r.integer(&fields, "step_ns", 100_000..=1_000_000_000),
    })
}

impl Scenario {
    /// Whether edges join by invitation and follow the master's clock. Where all clocks are one they are members as
    /// they are.
    pub fn joins_by_invitation(&self) -> bool {
        self.clocks.is_some()
    }

    /// Bytes of the message by which T_d is measured.
    pub(crate) fn sync_bytes(&self) -> u64 {
        if self.joins_by_invitation() {
            WIRE_OVERHEAD_BYTES + (Stamp::SIZE + Sync::SIZE) as u64
        } else {
            0
        }
    }
}
