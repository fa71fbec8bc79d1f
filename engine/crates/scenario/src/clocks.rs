// SPDX-License-Identifier: Apache-2.0
//! Clocks of their own for the edges.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration};
use slotwise_wire::{HOLD_FRAMES, MAX_ANSWER_NS, Stamp, Sync};

use crate::model::{Scenario, Signaling};
use crate::reader::Reader;
use crate::section::{integer, section};
use crate::timing::WIRE_OVERHEAD;

const PPB: u128 = 1_000_000_000;

/// Maximum length of a frame with free-running clocks: an edge answers an invitation within two frames.
const MAX_FRAME: Duration = Duration::from_ns(MAX_ANSWER_NS as u64 / 2);

/// An edge's T_d is its delay less its offset; line cards take a second either way.
const MAX_OFFSET_NS: RangeInclusive<u64> = 0..=500_000_000;

section! {
    /// Free-running clocks of all edges except the master, whose clock is the network time; edges then join by
    /// discovery and ranging. Default: one common clock.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Clocks {
        /// Maximum clock offset from the network time in ns; offsets are drawn from 0 to this value.
        pub max_offset: Duration = "max_offset_ns" required, integer(MAX_OFFSET_NS);
        /// Maximum deviation of a clock rate from the master's in parts per billion, in both directions.
        pub max_drift_ppb: u64 = "max_drift_ppb" required, integer(0..=500_000);
        /// Maximum change of a clock rate per step in parts per billion, in both directions.
        pub walk_ppb: u64 = "walk_ppb" required, integer(0..=10_000);
        /// Length of a step in ns.
        pub step: Duration = "step_ns" required, integer(100_000..=1_000_000_000);
    }
}

/// An edge that has not learnt its clock's rate keeps a guard clear on either side, so it must leave before it can be farther off.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    let Some(clocks) = scenario.clocks else {
        return;
    };
    let frame = scenario.frame.length();
    if frame > MAX_FRAME {
        let slots = scenario.frame.slots;
        let reason = format!("a frame of {slots} slots takes {frame} and exceeds {MAX_FRAME} with free-running clocks");
        let expected = format!(
            "at most {}, fewer slots or no 'clocks'",
            (MAX_FRAME / u64::from(slots)).ns()
        );
        r.report("/frame/slot_ns".into(), reason, expected);
        return;
    }
    let delays = scenario.edges.iter().flat_map(|edge| &edge.fibres);
    let longest = delays.map(|fibre| fibre.delay).max().unwrap_or_default();
    let under_way = match scenario.frame.signaling {
        Signaling::InBand => 3 * longest,
        Signaling::OutOfBand => u64::from(scenario.controller.beacon_hold_frames) * frame,
    };
    // The controller's `hold_frames`; its T_d is as old when it is configured at the latest.
    let held_ns = 2 * u128::from((u64::from(HOLD_FRAMES) * frame + under_way).ns());
    let off_ns = held_ns * u128::from(clocks.max_drift_ppb) / PPB;
    let guard_ns = u128::from(scenario.frame.guard.ns());
    if off_ns > guard_ns {
        let reason =
            format!("clock error of a joining edge reaches {off_ns} ns and exceeds the guard of {guard_ns} ns");
        let expected = format!("at most {}, shorter frames or a longer guard", guard_ns * PPB / held_ns);
        r.report("/clocks/max_drift_ppb".into(), reason, expected);
    }
}

impl Scenario {
    /// Whether edges join by invitation and follow the master's clock. Where all clocks are one they are members as
    /// they are.
    pub fn joins_by_invitation(&self) -> bool {
        self.clocks.is_some()
    }

    /// Length on a fibre of the message that measures T_d; 0 where it is not measured.
    pub(crate) fn sync_length(&self) -> Bytes {
        if self.joins_by_invitation() {
            WIRE_OVERHEAD + Bytes::of(Stamp::SIZE + Sync::SIZE)
        } else {
            Bytes::ZERO
        }
    }
}
