// SPDX-License-Identifier: Apache-2.0
//! The rate that the controller's application `lambda` grants a session, which this host paces by.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use slotwise_gtp::CAPACITIES;
use slotwise_units::Rate;

use super::GtpError;
use super::lambda::{LEASE, Lambda};

/// How often it is asked for.
const PERIOD: Duration = Duration::from_secs(1);
/// So long after it joined a session of this host's own joins again, well within its lease, however long answers take.
const JOINS_AFTER: Duration = Duration::from_secs(3);

/// What was answered last.
#[derive(Debug, Clone, Copy)]
struct Answer {
    bps: u64,
    /// When the session asked to be there, the last time that it was told that it is.
    joined: Instant,
}

/// What a session is granted, b/s. It is asked for each second for as long as this is there. While nobody answers it stays as it was, but what
/// a lease was for is halved each [`LEASE`] in which it was not renewed, since others may have it. A session of this host's own leaves when
/// this goes.
pub struct Granted {
    answer: Arc<Mutex<Answer>>,
    has_lease: bool,
    told: Option<Rate>,
    asking: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Granted {
    /// Asks for it once, and again from then on.
    ///
    /// # Errors
    /// When nobody answers, or does not say what the session is granted.
    pub fn by(lambda: Lambda) -> Result<Granted, GtpError> {
        Granted::asked_each(PERIOD, JOINS_AFTER, lambda)
    }

    fn asked_each(period: Duration, joins_after: Duration, lambda: Lambda) -> Result<Granted, GtpError> {
        let mut last = joined(&lambda)?;
        let answer = Arc::new(Mutex::new(last));
        let has_lease = lambda.is_own();
        let told = Arc::clone(&answer);
        let (goes, gone) = channel();
        let asking = thread::spawn(move || {
            while gone.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                let result = if last.joined.elapsed() >= joins_after {
                    joined(&lambda)
                } else {
                    match lambda.ask() {
                        // The controller began anew, or somebody had it leave.
                        Err(GtpError::NoSession(_)) if has_lease => joined(&lambda),
                        result => result.map(|bps| Answer { bps, ..last }),
                    }
                };
                if let Ok(answer) = result {
                    last = answer;
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = answer;
                }
            }
            if lambda.is_own() {
                // If nobody answers, its lease ends soon.
                let _ = lambda.leave();
            }
        });
        Ok(Granted {
            answer,
            has_lease,
            told: None,
            asking: Some((goes, asking)),
        })
    }

    /// The rate, if it is another one than the last time, within what a node can share.
    pub fn changed(&mut self) -> Option<Rate> {
        let answer = *self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let bps = match self.has_lease {
            true => renewed_before(answer.bps, answer.joined.elapsed()),
            false => answer.bps,
        };
        let rate = Rate::from_bps(bps).clamp(*CAPACITIES.start(), *CAPACITIES.end());
        (self.told.replace(rate) != Some(rate)).then_some(rate)
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        let Some((goes, asking)) = self.asking.take() else {
            return;
        };
        drop(goes);
        if self.has_lease {
            // It says that the session leaves; a thread that has panicked said so itself.
            let _ = asking.join();
        }
    }
}

/// Joins, or stays; its lease is not yet over that long after it was asked for.
fn joined(lambda: &Lambda) -> Result<Answer, GtpError> {
    let joined = Instant::now();
    lambda.join().map(|bps| Answer { bps, joined })
}

/// What is left of a lease that was renewed so long ago.
fn renewed_before(bps: u64, ago: Duration) -> u64 {
    let leases = ago.as_nanos() / LEASE.as_nanos();
    bps.checked_shr(u32::try_from(leases).unwrap_or(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::super::lambda::tests::{called, serve};
    use super::*;

    const OFTEN: Duration = Duration::from_millis(1);
    const NEVER: Duration = Duration::from_secs(3600);

    #[test]
    fn the_rate_is_the_sessions_own_and_follows_it() {
        let (url, _asked) = serve(&[
            (
                200,
                r#"{"session": "film", "granted_bps": 9000000, "limited_by": null}"#,
            ),
            (404, r#"{"detail": "unknown session 'film'"}"#),
            (200, r#"{"sessions": []}"#),
            (200, r#"{"session": "film", "granted_bps": 0}"#),
        ]);
        let mut granted = Granted::asked_each(OFTEN, NEVER, called(&url, &[]).unwrap()).unwrap();
        assert_eq!(granted.changed(), Some(Rate::from_bps(9_000_000)));
        assert_eq!(granted.changed(), None);
        // It left, and came back with nothing: the least that a node can share.
        let next = loop {
            thread::yield_now();
            if let Some(next) = granted.changed() {
                break next;
            }
        };
        assert_eq!(next, *CAPACITIES.start());
    }

    #[test]
    fn a_session_of_its_own_joins_stays_and_leaves() {
        let own = ["--source", "a", "--sink", "b"];
        let kinds =
            |asked: Receiver<String>| -> Vec<String> { asked.iter().map(|request| request[..3].to_owned()).collect() };
        let (url, asked) = serve(&[
            (200, r#"{"session": "film", "granted_bps": 5000000}"#),
            (200, r#"{"session": "film", "granted_bps": 4000000}"#),
            (503, ""),
            // It has left: a controller that began anew knows of no lease.
            (404, r#"{"detail": "unknown session 'film'"}"#),
            (200, r#"{"sessions": []}"#),
            (200, r#"{"session": "film", "granted_bps": 6000000}"#),
        ]);
        let granted = Granted::asked_each(OFTEN, NEVER, called(&url, &own).unwrap()).unwrap();
        assert_eq!(kinds(asked), ["PUT", "GET", "GET", "GET", "GET", "PUT"]);
        drop(granted);
        // It joins again by time: of answers that take long there are few in a lease.
        let (url, asked) = serve(&[
            (200, r#"{"session": "film", "granted_bps": 5000000}"#),
            (503, ""),
            (200, r#"{"session": "film", "granted_bps": 6000000}"#),
            (200, r#"{"session": "film", "granted_bps": 7000000}"#),
        ]);
        let granted = Granted::asked_each(OFTEN, Duration::ZERO, called(&url, &own).unwrap()).unwrap();
        assert_eq!(kinds(asked), ["PUT", "PUT", "PUT", "PUT"]);
        drop(granted);
        let (url, asked) = serve(&[(200, r#"{"session": "film", "granted_bps": 5000000}"#), (204, "")]);
        drop(Granted::asked_each(NEVER, NEVER, called(&url, &own).unwrap()).unwrap());
        let last = asked.iter().last().unwrap();
        assert!(last.starts_with("DELETE /slotwise/v1/lambda/sessions/film "), "{last}");
    }

    #[test]
    fn who_is_only_asked_renews_no_lease() {
        let (url, asked) = serve(&[
            (200, r#"{"session": "film", "granted_bps": 5000000}"#),
            (200, r#"{"session": "film", "granted_bps": 4000000}"#),
            (503, ""),
        ]);
        let lambda = called(&url, &["--source", "a", "--sink", "b"]).unwrap();
        let mut granted = Granted::asked_each(OFTEN, NEVER, lambda).unwrap();
        let joined = granted.answer.lock().unwrap().joined;
        assert_eq!(asked.iter().count(), 3);
        assert_eq!(granted.answer.lock().unwrap().joined, joined);
        assert_eq!(granted.changed(), Some(Rate::from_bps(4_000_000)));
    }

    #[test]
    fn a_lease_that_nobody_renews_is_halved_again_and_again() {
        assert_eq!(renewed_before(8_000_000, LEASE - Duration::from_nanos(1)), 8_000_000);
        assert_eq!(renewed_before(8_000_000, LEASE), 4_000_000);
        assert_eq!(renewed_before(8_000_000, LEASE * 2), 2_000_000);
        assert_eq!(renewed_before(u64::MAX, LEASE * 64), 0);
        assert_eq!(renewed_before(u64::MAX, Duration::MAX), 0);
    }
}
