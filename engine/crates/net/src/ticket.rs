// SPDX-License-Identifier: Apache-2.0
//! Continuations by number; their owners keep them.

/// Number of a kind of networks.
pub type Owner = u8;

/// Number of a continuation, kept by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Kind of networks that owns the ticket.
    pub owner: Owner,
    /// Number within its kind.
    pub number: u32,
}

/// Continuations by number; numbers are used again.
pub struct Tickets<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Tickets<T> {
    fn default() -> Tickets<T> {
        Tickets {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Tickets<T> {
    /// Keeps something; returns its number.
    #[inline]
    pub fn insert(&mut self, kept: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[number as usize] = Some(kept);
        number
    }

    /// Gives back what has a number, which is free then.
    #[inline]
    pub fn take(&mut self, number: u32) -> Option<T> {
        let kept = self.places.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(kept)
    }
}
