// SPDX-License-Identifier: Apache-2.0
//! What the callers of a server share. When there is no more of it, who is no primary, or has most, gives way.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::incoming::Caller;

/// So much, shared by connections.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    /// Of one connection.
    share: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    next: u64,
    held: BTreeMap<u64, Held>,
    /// What each connection has, by its number.
    by_caller: BTreeMap<u64, usize>,
}

struct Held {
    caller: Caller,
    amount: usize,
    /// Ends what it is held for; `None`: it is being done, and cannot be.
    end: Option<End>,
}

type End = Arc<dyn Fn() + Send + Sync>;

/// There is no more, or it has been taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A part of a [`Room`], until it is dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    room: Arc<Room>,
    id: u64,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {:?}", self.amount, self.caller)
    }
}

impl Room {
    /// So much in all, and of each connection.
    pub fn new(most: usize, share: usize) -> Arc<Room> {
        Arc::new(Room {
            most,
            share,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes something. `end` is called when others need it more.
    pub fn take(self: &Arc<Self>, caller: &Caller, amount: usize, end: End) -> Result<Holding, Full> {
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        let held = Held {
            caller: caller.clone(),
            amount: 0,
            end: Some(end),
        };
        state.held.insert(id, held);
        drop(state);
        let holding = Holding { room: self.clone(), id };
        holding.grow(amount)?;
        Ok(holding)
    }
}

impl Holding {
    /// Makes it `amount` in all.
    pub fn grow(&self, amount: usize) -> Result<(), Full> {
        let mut ended = Vec::new();
        let outcome = self.room.state().grow(self.id, amount, &self.room, &mut ended);
        for end in &ended {
            end();
        }
        outcome
    }

    /// From now on it is not taken away.
    pub fn keep(&self) {
        if let Some(held) = self.room.state().held.get_mut(&self.id) {
            held.end = None;
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.room.state().remove(self.id);
    }
}

impl State {
    fn grow(&mut self, id: u64, amount: usize, room: &Room, ended: &mut Vec<End>) -> Result<(), Full> {
        let held = self.held.get(&id).ok_or(Full)?;
        let (caller, more) = (held.caller.clone(), amount.saturating_sub(held.amount));
        let ours = self.by_caller.get(&caller.id()).copied().unwrap_or(0) + more;
        if ours > room.share {
            return Err(Full);
        }
        while self.used + more > room.most {
            let victim = self.victim(&caller, ours).ok_or(Full)?;
            ended.extend(self.remove(victim));
        }
        self.used += more;
        self.by_caller.insert(caller.id(), ours);
        if let Some(held) = self.held.get_mut(&id) {
            held.amount += more;
        }
        Ok(())
    }

    /// What gives way to a caller that would have `ours`: of who has more or as much, and is not rather a primary than it, the
    /// oldest.
    fn victim(&self, caller: &Caller, ours: usize) -> Option<u64> {
        let may_end = self
            .held
            .iter()
            .filter(|(_, held)| held.end.is_some() && held.amount > 0);
        let others = may_end.filter(|(_, held)| held.caller.id() != caller.id());
        let ranked = others.map(|(&id, held)| {
            let theirs = self.by_caller.get(&held.caller.id()).copied().unwrap_or(0);
            (held.caller.is_primary(), Reverse(theirs), id)
        });
        let (is_primary, Reverse(theirs), id) = ranked.min()?;
        let gives_way = match (is_primary, caller.is_primary()) {
            (false, true) => true,
            (true, false) => false,
            _ => theirs >= ours,
        };
        gives_way.then_some(id)
    }

    fn remove(&mut self, id: u64) -> Option<End> {
        let held = self.held.remove(&id)?;
        self.used -= held.amount;
        if let Some(theirs) = self.by_caller.get_mut(&held.caller.id()) {
            *theirs -= held.amount;
            if *theirs == 0 {
                self.by_caller.remove(&held.caller.id());
            }
        }
        held.end
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn counted() -> (Arc<AtomicUsize>, End) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let end = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        (count, Arc::new(end))
    }

    fn nothing() -> End {
        Arc::new(|| ())
    }

    #[test]
    fn who_has_most_gives_way() {
        let room = Room::new(100, 60);
        let (first, second, third) = (Caller::default(), Caller::default(), Caller::default());
        let (ended, end) = counted();
        let _most = room.take(&first, 60, end).unwrap();
        let _less = room.take(&second, 40, nothing()).unwrap();
        let small = room.take(&third, 10, nothing()).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        assert_eq!(small.grow(60), Ok(()));
        assert_eq!(small.grow(61), Err(Full), "its share");
        let again = room.take(&first, 41, nothing());
        assert!(again.is_ok(), "the third has most now");
        assert_eq!(small.grow(60), Err(Full), "it has been taken away");
        drop((again, small));
        assert_eq!(room.state().used, 40);
    }

    #[test]
    fn primaries_give_way_to_primaries_only() {
        let room = Room::new(100, 100);
        let (stranger, controller) = (Caller::default(), Caller::default());
        let mark = controller.mark_primary();
        let (ended, end) = counted();
        let _stranger = room.take(&stranger, 10, end).unwrap();
        let controllers = room.take(&controller, 100, nothing()).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        assert!(room.take(&stranger, 1, nothing()).is_err());
        drop(mark);
        assert!(room.take(&stranger, 1, nothing()).is_ok());
        assert_eq!(controllers.grow(100), Err(Full));
    }

    #[test]
    fn what_is_being_done_is_not_taken_away() {
        let room = Room::new(100, 100);
        let (first, second) = (Caller::default(), Caller::default());
        let done = room.take(&first, 100, nothing()).unwrap();
        done.keep();
        assert!(room.take(&second, 1, nothing()).is_err());
        drop(done);
        assert!(room.take(&second, 1, nothing()).is_ok());
        assert!(room.state().held.is_empty() && room.state().by_caller.is_empty());
    }
}
