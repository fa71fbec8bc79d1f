// SPDX-License-Identifier: Apache-2.0
//! Timers of table entries that are to be reported when no packet hits them. A pure state machine; times are nanoseconds
//! of the device.

use std::collections::{BTreeMap, BTreeSet};

use slotwise_units::{Duration, Instant};

use crate::entity::{EntryId, Note};

/// Shorter timeouts are taken as this one.
const MIN_TIMEOUT: Duration = Duration::from_ms(1);

/// The timers of a device.
#[derive(Debug, Default)]
pub(crate) struct IdleTimers {
    timers: BTreeMap<EntryId, Timer>,
    /// When to look at which entry.
    deadlines: BTreeSet<(Instant, EntryId)>,
}

#[derive(Debug)]
struct Timer {
    note: Note,
    /// When it was set, or when its last report was.
    since: Instant,
    deadline: Instant,
}

/// An entry that has been idle for its timeout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub id: EntryId,
    pub note: Note,
}

fn timeout(note: &Note) -> Duration {
    note.idle_timeout.max(MIN_TIMEOUT)
}

impl IdleTimers {
    /// Starts the timer of an entry with this note, or stops it.
    pub fn set(&mut self, id: &EntryId, note: Option<&Note>, now: Instant) {
        if let Some(timer) = self.timers.remove(id) {
            self.deadlines.remove(&(timer.deadline, id.clone()));
        }
        if let Some(note) = note.filter(|note| !note.idle_timeout.is_zero()) {
            let deadline = now.saturating_add(timeout(note));
            self.deadlines.insert((deadline, id.clone()));
            self.timers.insert(
                id.clone(),
                Timer {
                    note: note.clone(),
                    since: now,
                    deadline,
                },
            );
        }
    }

    /// Starts over with these entries.
    pub fn reset<'a>(&mut self, notes: impl Iterator<Item = (&'a EntryId, &'a Note)>, now: Instant) {
        *self = IdleTimers::default();
        notes.for_each(|(id, note)| self.set(id, Some(note), now));
    }

    /// When to look next.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Entries that have been idle for their timeout. `idle`: since when no packet hit an entry; `None` if it is gone.
    pub fn due(&mut self, now: Instant, mut idle: impl FnMut(&EntryId) -> Option<Duration>) -> Vec<Expired> {
        let mut expired = Vec::new();
        while let Some((_, id)) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now) {
            let id = id.clone();
            self.deadlines.pop_first();
            let Some(idle) = idle(&id) else {
                self.timers.remove(&id);
                continue;
            };
            let Some(timer) = self.timers.get_mut(&id) else {
                continue;
            };
            let timeout = timeout(&timer.note);
            let elapsed = idle.min(now.saturating_since(timer.since));
            if elapsed >= timeout {
                timer.since = now;
                timer.deadline = now.saturating_add(timeout);
                expired.push(Expired {
                    id: id.clone(),
                    note: timer.note.clone(),
                });
            } else {
                timer.deadline = now.saturating_add(timeout - elapsed);
            }
            self.deadlines.insert((timer.deadline, id));
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_ms(10);

    fn id(table: u32) -> EntryId {
        EntryId::Default { table }
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn note(idle_timeout: Duration) -> Note {
        Note {
            idle_timeout,
            ..Note::default()
        }
    }

    fn expired(timers: &mut IdleTimers, now: Instant, idle: Duration) -> usize {
        timers.due(now, |_| Some(idle)).len()
    }

    #[test]
    fn an_idle_entry_is_reported_once_a_timeout() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(TIMEOUT)), at(5));
        assert_eq!(timers.deadline(), Some(at(5) + TIMEOUT));
        assert_eq!(expired(&mut timers, at(0) + TIMEOUT, TIMEOUT), 0, "not due yet");
        assert_eq!(expired(&mut timers, at(5) + TIMEOUT, TIMEOUT), 1);
        assert_eq!(expired(&mut timers, at(6) + TIMEOUT, TIMEOUT + Duration::from_ns(1)), 0);
        assert_eq!(expired(&mut timers, at(5) + 2 * TIMEOUT, 2 * TIMEOUT), 1);
    }

    #[test]
    fn a_hit_puts_it_off() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(TIMEOUT)), at(0));
        assert_eq!(expired(&mut timers, at(0) + TIMEOUT, Duration::from_ms(3)), 0);
        assert_eq!(timers.deadline(), Some(at(0) + 2 * TIMEOUT - Duration::from_ms(3)));
    }

    #[test]
    fn entries_that_are_gone_or_without_timeout_have_no_timer() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(Duration::ZERO)), at(0));
        timers.set(&id(2), Some(&note(TIMEOUT)), at(0));
        timers.set(&id(3), Some(&note(TIMEOUT)), at(0));
        timers.set(&id(3), None, at(0));
        assert_eq!(timers.due(at(0) + TIMEOUT, |_| None), []);
        assert_eq!(timers.deadline(), None);
    }
}
