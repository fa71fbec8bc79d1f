// SPDX-License-Identifier: Apache-2.0
//! Timers of table entries that are to be reported when no packet hits them. A pure state machine; times are nanoseconds
//! of the device.

use std::collections::{BTreeMap, BTreeSet};

use crate::entity::{EntryId, Note};

/// Shorter timeouts are taken as this one.
const MIN_TIMEOUT_NS: u64 = 1_000_000;

/// The timers of a device.
#[derive(Debug, Default)]
pub(crate) struct IdleTimers {
    timers: BTreeMap<EntryId, Timer>,
    /// When to look at which entry.
    deadlines: BTreeSet<(u64, EntryId)>,
}

#[derive(Debug)]
struct Timer {
    note: Note,
    /// When it was set, or when its last report was.
    since_ns: u64,
    deadline_ns: u64,
}

/// An entry that has been idle for its timeout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub id: EntryId,
    pub note: Note,
}

fn timeout_ns(note: &Note) -> u64 {
    note.idle_timeout_ns.max(MIN_TIMEOUT_NS)
}

impl IdleTimers {
    /// Starts the timer of an entry with this note, or stops it.
    pub fn set(&mut self, id: &EntryId, note: Option<&Note>, now_ns: u64) {
        if let Some(timer) = self.timers.remove(id) {
            self.deadlines.remove(&(timer.deadline_ns, id.clone()));
        }
        if let Some(note) = note.filter(|note| note.idle_timeout_ns > 0) {
            let deadline_ns = now_ns.saturating_add(timeout_ns(note));
            self.deadlines.insert((deadline_ns, id.clone()));
            self.timers.insert(
                id.clone(),
                Timer {
                    note: note.clone(),
                    since_ns: now_ns,
                    deadline_ns,
                },
            );
        }
    }

    /// Starts over with these entries.
    pub fn reset<'a>(&mut self, notes: impl Iterator<Item = (&'a EntryId, &'a Note)>, now_ns: u64) {
        *self = IdleTimers::default();
        notes.for_each(|(id, note)| self.set(id, Some(note), now_ns));
    }

    /// When to look next.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline_ns, _)| *deadline_ns)
    }

    /// Entries that have been idle for their timeout. `idle_ns`: since when no packet hit an entry; `None` if it is gone.
    pub fn due(&mut self, now_ns: u64, mut idle_ns: impl FnMut(&EntryId) -> Option<u64>) -> Vec<Expired> {
        let mut expired = Vec::new();
        while let Some((_, id)) = self.deadlines.first().filter(|(deadline_ns, _)| *deadline_ns <= now_ns) {
            let id = id.clone();
            self.deadlines.pop_first();
            let Some(idle_ns) = idle_ns(&id) else {
                self.timers.remove(&id);
                continue;
            };
            let Some(timer) = self.timers.get_mut(&id) else {
                continue;
            };
            let timeout_ns = timeout_ns(&timer.note);
            let elapsed_ns = idle_ns.min(now_ns.saturating_sub(timer.since_ns));
            if elapsed_ns >= timeout_ns {
                timer.since_ns = now_ns;
                timer.deadline_ns = now_ns.saturating_add(timeout_ns);
                expired.push(Expired {
                    id: id.clone(),
                    note: timer.note.clone(),
                });
            } else {
                timer.deadline_ns = now_ns.saturating_add(timeout_ns - elapsed_ns);
            }
            self.deadlines.insert((timer.deadline_ns, id));
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT_NS: u64 = 10_000_000;

    fn id(table: u32) -> EntryId {
        EntryId::Default { table }
    }

    fn note(idle_timeout_ns: u64) -> Note {
        Note {
            idle_timeout_ns,
            ..Note::default()
        }
    }

    fn expired(timers: &mut IdleTimers, now_ns: u64, idle_ns: u64) -> usize {
        timers.due(now_ns, |_| Some(idle_ns)).len()
    }

    #[test]
    fn an_idle_entry_is_reported_once_a_timeout() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(TIMEOUT_NS)), 5);
        assert_eq!(timers.deadline_ns(), Some(5 + TIMEOUT_NS));
        assert_eq!(expired(&mut timers, TIMEOUT_NS, TIMEOUT_NS), 0, "not due yet");
        assert_eq!(expired(&mut timers, 5 + TIMEOUT_NS, TIMEOUT_NS), 1);
        assert_eq!(expired(&mut timers, 6 + TIMEOUT_NS, TIMEOUT_NS + 1), 0);
        assert_eq!(expired(&mut timers, 5 + 2 * TIMEOUT_NS, 2 * TIMEOUT_NS), 1);
    }

    #[test]
    fn a_hit_puts_it_off() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(TIMEOUT_NS)), 0);
        assert_eq!(expired(&mut timers, TIMEOUT_NS, 3_000_000), 0);
        assert_eq!(timers.deadline_ns(), Some(2 * TIMEOUT_NS - 3_000_000));
    }

    #[test]
    fn entries_that_are_gone_or_without_timeout_have_no_timer() {
        let mut timers = IdleTimers::default();
        timers.set(&id(1), Some(&note(0)), 0);
        timers.set(&id(2), Some(&note(TIMEOUT_NS)), 0);
        timers.set(&id(3), Some(&note(TIMEOUT_NS)), 0);
        timers.set(&id(3), None, 0);
        assert_eq!(timers.due(TIMEOUT_NS, |_| None), []);
        assert_eq!(timers.deadline_ns(), None);
    }
}
