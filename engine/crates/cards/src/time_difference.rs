// SPDX-License-Identifier: Apache-2.0
//! T_d: how much earlier than at the core the slots of a card start.

use slotwise_wire::{FlowControl, MAX_PHASE_NS};

/// Maximum age of the moment that a T_d is given for.
const MAX_AGE_NS: u64 = 10_000_000_000;
/// T_d changes by at most this part of a frame in a frame: no clock is so bad.
const MAX_CHANGE_PART: u64 = 1_000;

/// T_d as a line card goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeDifference {
    /// T_d at the reference time, ns.
    pub value_ns: i64,
    /// Local time.
    reference_ns: u64,
    /// Change in 2^-16 ns a frame.
    change_q16: i64,
}

impl TimeDifference {
    /// One that stays.
    pub fn constant(value_ns: i64) -> TimeDifference {
        TimeDifference {
            value_ns,
            reference_ns: 0,
            change_q16: 0,
        }
    }

    /// Setting of P4, if a card can obey it.
    pub fn from_message(message: &FlowControl, now_ns: u64, frame_ns: u64) -> Option<TimeDifference> {
        let limit = MAX_PHASE_NS as i64;
        let change_limit = ((frame_ns / MAX_CHANGE_PART) << 16) as i64;
        let set = TimeDifference {
            value_ns: message.value as i64,
            reference_ns: message.open_ns,
            change_q16: message.close_ns as i64,
        };
        let recent = set.change_q16 == 0
            || now_ns
                .checked_sub(set.reference_ns)
                .is_some_and(|age_ns| age_ns <= MAX_AGE_NS);
        let sane = (-limit..=limit).contains(&set.value_ns) && (-change_limit..=change_limit).contains(&set.change_q16);
        (recent && sane).then_some(set)
    }

    /// T_d if it stays as it is.
    pub fn steady_ns(&self) -> Option<i64> {
        (self.change_q16 == 0).then_some(self.value_ns)
    }

    /// T_d at a local time.
    pub fn at_ns(&self, local_ns: i128, frame_ns: u64) -> i64 {
        let age_ns = local_ns - i128::from(self.reference_ns);
        let change_ns = (i128::from(self.change_q16) * age_ns / i128::from(frame_ns)) >> 16;
        self.value_ns + change_ns as i64
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::FlowOp;

    use super::*;

    const FRAME_NS: u64 = 5_000_000;

    fn message(value: i64, reference_ns: u64, change_q16: i64) -> FlowControl {
        FlowControl {
            op: FlowOp::SetPhase.into(),
            open_ns: reference_ns,
            close_ns: change_q16 as u64,
            value: value as u64,
            ..FlowControl::default()
        }
    }

    #[test]
    fn a_time_difference_goes_on_as_it_changes() {
        // 250 ns a frame: 50 ppm.
        let set = TimeDifference::from_message(&message(-700, 20_000_000, 250 << 16), 21_000_000, FRAME_NS).unwrap();
        assert_eq!(set.at_ns(20_000_000, FRAME_NS), -700);
        assert_eq!(set.at_ns(25_000_000, FRAME_NS), -450);
        assert_eq!(set.at_ns(15_000_000, FRAME_NS), -950);
        assert_eq!(TimeDifference::constant(9).at_ns(i128::from(u64::MAX), FRAME_NS), 9);
    }

    #[test]
    fn a_rate_of_no_clock_is_refused() {
        let refused = |message| TimeDifference::from_message(&message, 20_000_000, FRAME_NS).is_none();
        let limit = MAX_PHASE_NS as i64;
        assert!(!refused(message(limit, 0, 0)));
        assert!(refused(message(limit + 1, 0, 0)));
        assert!(refused(message(i64::MIN, 0, 0)));
        assert!(refused(message(0, 20_000_001, 1)), "a moment to come");
        assert!(refused(message(0, 20_000_000, i64::MIN)));
        assert!(refused(message(0, 20_000_000, 5_001 << 16)), "a thousandth of a frame");
    }
}
