// SPDX-License-Identifier: Apache-2.0
//! Which packet numbers have come (RFC 6479): each is taken once, and what is too old not at all.

const WORDS: usize = 64;
const WORD_BITS: u64 = 64;
/// Numbers behind the highest one that can still be taken.
pub(crate) const WINDOW: u64 = (WORDS as u64 - 1) * WORD_BITS;

/// The numbers that have come.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// One more than the highest that came.
    next: u64,
    /// A ring of words.
    bits: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Window {
        Window {
            next: 0,
            bits: [0; WORDS],
        }
    }
}

impl Window {
    fn place(number: u64) -> (usize, u64) {
        let word = (number / WORD_BITS) as usize % WORDS;
        (word, 1 << (number % WORD_BITS))
    }

    /// Whether [`Window::insert`] would take it.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return number < u64::MAX;
        }
        let (word, bit) = Window::place(number);
        self.next - number <= WINDOW && self.bits[word] & bit == 0
    }

    /// Takes a number; false if it came before, or is too old to say. Only of packets that are authentic.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if !self.is_new(number) {
            return false;
        }
        if number >= self.next {
            // Words between the last one and this one hold what is too old now.
            let last = self.next.checked_sub(1).map_or(0, |last| last / WORD_BITS);
            let fresh = (number / WORD_BITS - last).min(WORDS as u64);
            for ahead in 1..=fresh {
                self.bits[((last + ahead) % WORDS as u64) as usize] = 0;
            }
            self.next = number + 1;
        }
        let (word, bit) = Window::place(number);
        self.bits[word] |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a set that forgets nothing.
        #[test]
        fn each_number_once_and_none_too_old(steps in prop::collection::vec(prop_oneof![0u64..40, 3900u64..4200, 0u64..100_000], 1..200), back in prop::collection::vec(0u64..4100, 200)) {
            let mut window = Window::default();
            let mut came = BTreeSet::new();
            let mut next = 0u64;
            for (step, back) in steps.into_iter().zip(back) {
                for number in [next + step, (next + step).saturating_sub(back)] {
                    let is_recent = number >= next || next - number <= WINDOW;
                    let expected = is_recent && !came.contains(&number);
                    prop_assert_eq!(window.insert(number), expected, "{} of {}", number, next);
                    came.insert(number);
                    next = next.max(number + 1);
                }
            }
        }
    }

    #[test]
    fn the_last_number_of_all_is_nobodys() {
        let mut window = Window::default();
        assert!(!window.insert(u64::MAX));
        assert!(window.insert(u64::MAX - 1));
        assert!(!window.insert(u64::MAX - 1));
        assert!(!window.insert(0));
    }
}
