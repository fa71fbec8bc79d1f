// SPDX-License-Identifier: Apache-2.0
//! How long something will take yet, by what it took so far.

use std::fmt;
use std::time::Duration;

/// Before that nothing is said: the start is not like the rest.
const LEAST_ELAPSED: Duration = Duration::from_secs(2);

/// A time that is told to people, "about 3 min 20 s left".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft(Duration);

impl TimeLeft {
    /// When `done` of `total` took `elapsed`; `None` while that is too little to tell, and when all is done.
    pub fn after(elapsed: Duration, done: u64, total: u64) -> Option<TimeLeft> {
        let is_known = elapsed >= LEAST_ELAPSED && done > 0 && done < total;
        is_known.then(|| {
            let left_s = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
            TimeLeft(Duration::try_from_secs_f64(left_s).unwrap_or(Duration::MAX))
        })
    }
}

impl fmt::Display for TimeLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0.as_secs();
        match (s / 3600, s / 60 % 60) {
            (0, 0) => write!(f, "about {s} s left"),
            (0, min) => write!(f, "about {min} min {} s left", s % 60),
            (h, min) => write!(f, "about {h} h {min} min left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done_did() {
        let after = |elapsed_s, done, total| {
            TimeLeft::after(Duration::from_secs(elapsed_s), done, total).map(|left| left.to_string())
        };
        assert_eq!(after(10, 1, 2).unwrap(), "about 10 s left");
        assert_eq!(after(60, 30, 130).unwrap(), "about 3 min 20 s left");
        assert_eq!(after(3600, 1, 3).unwrap(), "about 2 h 0 min left");
        assert_eq!(after(1, 1, 2), None, "too early");
        assert_eq!(after(10, 0, 2), None);
        assert_eq!(after(10, 2, 2), None);
        assert!(after(u64::MAX, 1, u64::MAX).is_some());
    }
}
