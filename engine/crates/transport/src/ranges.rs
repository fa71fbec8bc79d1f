// SPDX-License-Identifier: Apache-2.0
//! A set of sequence numbers, kept as sorted disjoint ranges.

use std::ops::Range;

/// Ranges held at most. A peer chooses how many there are, so there is a bound; what it costs at the bound
/// is a retransmission.
const MAX_RANGES: usize = 4096;

/// Disjoint, non-adjacent, non-empty ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Range<u64>> {
        self.ranges.iter()
    }

    pub(crate) fn last_end(&self) -> Option<u64> {
        self.ranges.last().map(|r| r.end)
    }

    /// The range that holds `number`.
    pub(crate) fn containing(&self, number: u64) -> Option<&Range<u64>> {
        let i = self.ranges.partition_point(|r| r.end <= number);
        self.ranges.get(i).filter(|r| r.start <= number)
    }

    /// Whether [`Self::insert`] would take `range`.
    pub(crate) fn has_room_for(&self, range: &Range<u64>) -> bool {
        self.ranges.len() < MAX_RANGES || !self.touching(range).is_empty()
    }

    /// Indices of the ranges that overlap `range` or are adjacent to it.
    fn touching(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.ranges.partition_point(|r| r.end < range.start);
        let after = self.ranges.partition_point(|r| r.start <= range.end);
        first..after
    }

    /// Adds `range`; false when it is refused because the set is full.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> bool {
        if range.is_empty() {
            return true;
        }
        let touching = self.touching(&range);
        let Some(last) = self.ranges.get(touching.clone()).and_then(<[_]>::last) else {
            if self.ranges.len() == MAX_RANGES {
                return false;
            }
            self.ranges.insert(touching.start, range);
            return true;
        };
        let end = range.end.max(last.end);
        let first = &mut self.ranges[touching.start];
        first.start = first.start.min(range.start);
        first.end = end;
        self.ranges.drain(touching.start + 1..touching.end);
        true
    }

    /// Takes the least number out.
    pub(crate) fn pop_first(&mut self) -> Option<u64> {
        let first = self.ranges.first_mut()?;
        let number = first.start;
        first.start += 1;
        if first.is_empty() {
            self.ranges.remove(0);
        }
        Some(number)
    }

    /// Forgets every number below `floor`.
    pub(crate) fn remove_below(&mut self, floor: u64) {
        let gone = self.ranges.partition_point(|r| r.end <= floor);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(floor);
        }
    }

    /// How many numbers of `window` are in the set.
    pub(crate) fn covered(&self, window: Range<u64>) -> u64 {
        let first = self.ranges.partition_point(|r| r.end <= window.start);
        self.ranges[first..]
            .iter()
            .take_while(|r| r.start < window.end)
            .map(|r| r.end.min(window.end) - r.start.max(window.start))
            .sum()
    }

    /// The maximal ranges of `window` that the set lacks.
    pub(crate) fn gaps(&self, window: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut at = window.start;
        std::iter::from_fn(move || {
            let gap = self.first_gap(at..window.end)?;
            at = gap.end;
            Some(gap)
        })
    }

    /// The first maximal range of `window` that the set lacks.
    pub(crate) fn first_gap(&self, window: Range<u64>) -> Option<Range<u64>> {
        let start = match self.containing(window.start) {
            Some(range) => range.end,
            None => window.start,
        };
        if start >= window.end {
            return None;
        }
        let next = self.ranges.partition_point(|r| r.start <= start);
        let end = self.ranges.get(next).map_or(window.end, |r| r.start.min(window.end));
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(
            inserts in prop::collection::vec((0u64..60, 1u64..10), 0..20),
            floor in 0u64..60,
            window in (0u64..60, 0u64..20),
        ) {
            let mut ranges = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, length) in inserts {
                prop_assert!(ranges.insert(start..start + length));
                model.extend(start..start + length);
            }
            ranges.remove_below(floor);
            model.retain(|n| *n >= floor);
            let listed: Vec<u64> = ranges.iter().flat_map(Clone::clone).collect();
            prop_assert_eq!(&listed, &model.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.ranges.windows(2).all(|w| w[0].end < w[1].start));
            let window = window.0..window.0 + window.1;
            prop_assert_eq!(ranges.covered(window.clone()), model.range(window.clone()).count() as u64);
            let missing: Vec<u64> = window.clone().filter(|n| !model.contains(n)).collect();
            prop_assert_eq!(ranges.gaps(window.clone()).flatten().collect::<Vec<_>>(), missing);
            prop_assert!(ranges.gaps(window).all(|gap| !model.contains(&gap.end) || gap.start < gap.end));
            prop_assert_eq!(std::iter::from_fn(|| ranges.pop_first()).collect::<Vec<_>>(), listed);
        }
    }

    #[test]
    fn a_full_set_refuses_a_new_range_and_still_merges() {
        let mut ranges = RangeSet::default();
        for i in 0..MAX_RANGES as u64 {
            assert!(ranges.insert(i * 2..i * 2 + 1));
        }
        assert!(!ranges.insert(1_000_000..1_000_001));
        assert!(ranges.insert(1..2));
        assert_eq!(ranges.containing(0), Some(&(0..3)));
    }
}
