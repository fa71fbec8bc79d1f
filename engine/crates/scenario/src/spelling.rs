// SPDX-License-Identifier: Apache-2.0
//! Two spellings of a dimension: `rate_bps: 200000000`, an integer whose unit is the key's suffix, or `rate: 200 Mbit/s`, a quantity.
//!
//! Keys have one name in the engine, that with the suffix. A reader that asks for it finds either spelling.

use slotwise_units::Dimension;

use crate::doc::Doc;

/// Suffixes of keys, with the dimension of the value and the size of its unit in the dimension's finest one.
const SUFFIXES: [(&str, Dimension, i64); 7] = [
    ("_ns", Dimension::Time, 1),
    ("_ms", Dimension::Time, 1_000_000),
    ("_bps", Dimension::Rate, 1),
    ("_bytes", Dimension::Data, 1),
    ("_mdb", Dimension::Loss, 1),
    ("_mdbm", Dimension::Power, 1),
    ("_ppb", Dimension::Drift, 1),
];
/// Key without a suffix, whose value is an integer of bytes or a quantity.
const BYTES: &str = "bytes";
/// Key of a propagation delay, which may also be written as the length of the fibre.
const DELAY: &str = "delay_ns";
const LENGTH: &str = "length";

/// Other spelling of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spelling<'k> {
    /// Key in the file.
    pub(crate) key: &'k str,
    /// Dimension of its quantities.
    pub(crate) dimension: Dimension,
    /// Finest units of the dimension in one unit of the key with the suffix.
    unit: i64,
}

/// Other spellings of a key; none if its value has no dimension.
pub(crate) fn spellings(key: &str) -> impl Iterator<Item = Spelling<'_>> {
    let suffixes = SUFFIXES.iter();
    let by_suffix = suffixes.filter_map(move |&(suffix, dimension, unit)| {
        let key = key.strip_suffix(suffix).filter(|key| !key.is_empty())?;
        Some(Spelling { key, dimension, unit })
    });
    let length = Spelling {
        key: LENGTH,
        dimension: Dimension::Length,
        unit: 1,
    };
    by_suffix.chain((key == DELAY).then_some(length))
}

/// Returns whether `written` is a spelling of `key`, or `key` itself.
pub(crate) fn is_spelling(written: &str, key: &str) -> bool {
    written == key || spellings(key).any(|spelling| spelling.key == written)
}

/// Returns whether two keys are spellings of one.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let suffixes = SUFFIXES.iter().map(|(suffix, ..)| *suffix);
    let stems = suffixes.flat_map(|suffix| [one, other].map(|key| format!("{key}{suffix}")));
    let mut keys = stems.chain([one, other, DELAY].map(str::to_owned));
    keys.any(|key| is_spelling(one, &key) && is_spelling(other, &key))
}

/// The spelling of a value that stands under `key` itself and is a quantity.
pub(crate) fn own_spelling<'k>(key: &'k str, value: &Doc) -> Option<Spelling<'k>> {
    let bytes = Spelling {
        key,
        dimension: Dimension::Data,
        unit: 1,
    };
    (key == BYTES && value.as_str().is_some()).then_some(bytes)
}

impl Spelling<'_> {
    /// Reads a quantity as an integer of the unit of the key with the suffix. Returns the reason if it is none.
    pub(crate) fn integer(&self, value: &Doc) -> Result<i64, String> {
        let finest = self.finest(value)?;
        match finest % self.unit {
            0 => Ok(finest / self.unit),
            _ => Err(format!(
                "found {}: no whole number of {}",
                value.describe(),
                self.dimension.print(self.unit.into())
            )),
        }
    }

    /// Reads a quantity as a number of the unit of the key with the suffix. Returns the reason if it is none.
    pub(crate) fn number(&self, value: &Doc) -> Result<f64, String> {
        Ok(self.finest(value)? as f64 / self.unit as f64)
    }

    fn finest(&self, value: &Doc) -> Result<i64, String> {
        let Some(text) = value.as_str() else {
            return Err(format!("found {}", value.describe()));
        };
        let reason = |reason| format!("found {}: {reason}", value.describe());
        self.dimension.parse(text).map_err(reason)
    }

    /// Expected value: a quantity between two integers of the unit of the key with the suffix, `key`.
    pub(crate) fn expected(&self, key: &str, least: i128, most: i128) -> String {
        let (called, example) = self.dimension.described();
        let print = |bound: i128| self.dimension.print(bound * i128::from(self.unit));
        let by_suffix = match key == self.key {
            true => "an integer of bytes".to_owned(),
            false => format!("an integer under '{key}'"),
        };
        format!(
            "{called} from {} to {} with its unit, e.g. '{example}', or {by_suffix}",
            print(least),
            print(most),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_the_unit_of_an_integer() {
        let of = |key| spellings(key).map(|spelling| spelling.key).collect::<Vec<_>>();
        assert_eq!(of("rate_bps"), ["rate"]);
        assert_eq!(of("delay_ns"), ["delay", "length"]);
        assert_eq!(of("up_delay_ns"), ["up_delay"]);
        assert_eq!(of("_ns"), [""; 0]);
        for key in ["bytes", "km", "seed", "loss", "name"] {
            assert_eq!(of(key), [""; 0], "{key}");
        }
        assert!(is_spelling("limit", "limit_ms") && is_spelling("limit_ms", "limit_ms"));
        assert!(!is_spelling("limit_ns", "limit_ms"));
    }
}
