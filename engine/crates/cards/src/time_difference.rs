// SPDX-License-Identifier: Apache-2.0
//! T_d: how much earlier than at the core the slots of a card start.

use slotwise_units::{Duration, Instant};
use slotwise_wire::{FlowControl, MAX_PHASE_NS};

/// Maximum age of the moment that a T_d is given for.
const MAX_AGE: Duration = Duration::from_s(10);
/// T_d changes by at most this part of a frame in a frame: no clock is so bad.
const MAX_CHANGE_PART: u64 = 1_000;

/// T_d as a line card goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeDifference {
    /// T_d at the reference time, ns.
    value_ns: i64,
    /// Local time.
    reference: Instant,
    /// Change in 2^-16 ns a frame.
    change_q16: i64,
}

impl TimeDifference {
    /// One that stays.
    pub fn constant(value: Duration) -> TimeDifference {
        TimeDifference {
            value_ns: value.ns() as i64,
            reference: Instant::ZERO,
            change_q16: 0,
        }
    }

    /// Setting of P4, if a card can apply it.
    pub fn from_message(message: &FlowControl, now: Instant, frame: Duration) -> Option<TimeDifference> {
        let limit = MAX_PHASE_NS as i64;
        let change_limit = ((frame.ns() / MAX_CHANGE_PART) << 16) as i64;
        let set = TimeDifference {
            value_ns: message.value as i64,
            reference: Instant::from_ns(message.open_ns),
            change_q16: message.close_ns as i64,
        };
        let recent = set.change_q16 == 0 || now.checked_since(set.reference).is_some_and(|age| age <= MAX_AGE);
        let sane = (-limit..=limit).contains(&set.value_ns) && (-change_limit..=change_limit).contains(&set.change_q16);
        (recent && sane).then_some(set)
    }

    /// True if T_d stays as it is.
    pub fn is_steady(&self) -> bool {
        self.change_q16 == 0
    }

    /// Local time of what is at the core at a time, or 0 if that is before.
    pub fn local_start(&self, at_core: Instant, frame: Duration) -> Instant {
        let at_core_ns = i128::from(at_core.ns());
        let near_ns = at_core_ns - i128::from(self.value_ns);
        let start_ns = at_core_ns - i128::from(self.at_ns(near_ns, frame));
        Instant::from_ns(u64::try_from(start_ns).unwrap_or(0))
    }

    /// Time at the core of what is here at a local time, by T_d at the reference time, or 0 if that is before.
    pub fn at_core(&self, local: Instant) -> Instant {
        Instant::from_ns(local.ns().saturating_add_signed(self.value_ns))
    }

    /// T_d at a local time.
    fn at_ns(&self, local_ns: i128, frame: Duration) -> i64 {
        let age_ns = local_ns - i128::from(self.reference.ns());
        let change_ns = (i128::from(self.change_q16) * age_ns / i128::from(frame.ns())) >> 16;
        self.value_ns + change_ns as i64
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::FlowOp;

    use super::*;

    const FRAME: Duration = Duration::from_ms(5);
    const NOW: Instant = Instant::from_ns(20_000_000);

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
        let set = TimeDifference::from_message(
            &message(-700, 20_000_000, 250 << 16),
            Instant::from_ns(21_000_000),
            FRAME,
        )
        .unwrap();
        assert_eq!(set.at_ns(20_000_000, FRAME), -700);
        assert_eq!(set.at_ns(25_000_000, FRAME), -450);
        assert_eq!(set.at_ns(15_000_000, FRAME), -950);
        assert!(!set.is_steady());
        assert_eq!(set.local_start(NOW, FRAME).ns(), 20_000_700);
        assert_eq!(set.local_start(NOW + FRAME, FRAME).ns(), 25_000_450);
        assert_eq!(set.at_core(NOW).ns(), 19_999_300);
        assert_eq!(set.at_core(Instant::from_ns(699)), Instant::ZERO);
        let constant = TimeDifference::constant(Duration::from_ns(9));
        assert!(constant.is_steady());
        assert_eq!(constant.at_ns(i128::from(u64::MAX), FRAME), 9);
        assert_eq!(constant.local_start(Instant::from_ns(8), FRAME), Instant::ZERO);
    }

    #[test]
    fn a_rate_of_no_clock_is_refused() {
        let refused = |message| TimeDifference::from_message(&message, NOW, FRAME).is_none();
        let limit = MAX_PHASE_NS as i64;
        assert!(!refused(message(limit, 0, 0)));
        assert!(refused(message(limit + 1, 0, 0)));
        assert!(refused(message(i64::MIN, 0, 0)));
        assert!(refused(message(0, 20_000_001, 1)), "a moment to come");
        assert!(refused(message(0, 20_000_000, i64::MIN)));
        assert!(refused(message(0, 20_000_000, 5_001 << 16)), "a thousandth of a frame");
    }
}
