// SPDX-License-Identifier: Apache-2.0
//! Pairs of the hosts of a workload.

use std::ops::RangeInclusive;

use slotwise_units::Duration;
use slotwise_workload::{Matrix, Pattern};

use super::sizes::rows_of;
use crate::doc::Doc;
use crate::reader::{Fields, Reader};
use crate::section::{Schema, Section as _, integer, nested, number, object, raw, section, text, word};

const HOSTS: RangeInclusive<u64> = 1..=10_000;
/// Maximum number of patterns in turn.
const MAX_PATTERNS: usize = 64;
const WORDS: [(&str, Word); 4] = [
    ("all", Word::All),
    ("permutation", Word::Permutation),
    ("each", Word::Each),
    ("same", Word::Same),
];

/// Pairs without settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Word {
    /// Any two senders.
    All,
    /// One receiver per sender.
    Permutation,
    /// Any sender to any receiver.
    Each,
    /// The first sender to the first receiver, and so on.
    Same,
}

/// Pairs under a key, or an element of its list.
#[derive(Debug, Clone)]
pub(crate) enum Pairs {
    Word(Word),
    Keys(Box<PairKeys>),
}

section! {
    /// Pattern with settings.
    #[derive(Debug, Clone)]
    pub(crate) struct PairKeys [r, fields, _context: ()] {
        /// Fraction of the flows that follows a permutation, drawn once; the others are between any two hosts.
        skew: Option<f64> = "skew" optional, number(0.0..=1.0);
        /// Fraction of the flows that goes to a few hosts, drawn once.
        hotspot: Option<HotspotKeys> = "hotspot" optional, nested::<HotspotKeys>();
        /// Host i sends to host i + this number, in the order of the hosts.
        shift: Option<u32> = "shift" optional, integer(HOSTS);
        /// Any two hosts of different groups of this many hosts, such as racks.
        groups: Option<u32> = "groups" optional, integer(HOSTS);
        /// Weights of a file: a row per sender, with a number per receiver.
        matrix: Option<Doc> = "matrix" read_optional(r.optional(fields, "matrix").cloned()), raw(r#"{"type": "array", "items": {"type": "array", "items": {"type": "number"}}}"#);
    }
}

section! {
    /// Hotspot.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct HotspotKeys {
        /// Number of these hosts. Default: 1.
        hosts: u32 = "hosts" or(1), integer(HOSTS);
        /// Fraction of the flows.
        fraction: f64 = "fraction" required, number(0.0..=1.0);
    }
}

/// Senders and receivers of a workload, by their numbers in it; senders come first.
pub(super) struct Ends {
    pub(super) senders: u32,
    /// Receivers; `None` if the senders send to each other.
    pub(super) receivers: Option<Vec<u32>>,
}

/// Schema of the pairs of a workload.
pub(super) struct PairsShape;

impl Schema for PairsShape {
    fn schema(&self) -> Doc {
        let words = WORDS.map(|(name, _)| (name, ()));
        let one = [word(words).schema(), nested::<PairKeys>().schema()];
        let either = object([("oneOf", Doc::list(one.to_vec(), 0))]);
        let several = object([
            ("type", text("array")),
            ("minItems", text_of(1)),
            ("maxItems", text_of(MAX_PATTERNS)),
            ("items", either),
        ]);
        let all = one.into_iter().chain([several]);
        object([("oneOf", Doc::list(all.collect(), 0))])
    }
}

fn text_of(number: usize) -> Doc {
    Doc::scalar(number.to_string(), 0)
}

/// Reads the pairs under a key; empty without it.
pub(super) fn pairs(r: &mut Reader, fields: &Fields, key: &str) -> Vec<Pairs> {
    let Some(value) = r.optional(fields, key) else {
        return Vec::new();
    };
    let place = fields.pointer(key);
    let values: Vec<(&Doc, String)> = match value.as_list() {
        Some(values) if !(1..=MAX_PATTERNS).contains(&values.len()) => {
            let expected = format!("a list of 1 to {MAX_PATTERNS} elements");
            r.report(place, format!("found {} elements", values.len()), expected);
            return Vec::new();
        }
        Some(values) => (0..)
            .zip(values)
            .map(|(index, value)| (value, format!("{place}/{index}")))
            .collect(),
        None => vec![(value, place)],
    };
    values
        .into_iter()
        .filter_map(|(value, place)| one(r, value, place))
        .collect()
}

fn one(r: &mut Reader, value: &Doc, place: String) -> Option<Pairs> {
    if value.is_mapping() {
        let keys = PairKeys::of(r, value, place.clone(), ());
        let given = [
            keys.skew.is_some(),
            keys.hotspot.is_some(),
            keys.shift.is_some(),
            keys.groups.is_some(),
            keys.matrix.is_some(),
        ];
        if given.into_iter().filter(|is_given| *is_given).count() != 1 {
            r.report(
                place,
                "none or several patterns",
                "one of skew, hotspot, shift, groups and file",
            );
            return None;
        }
        return Some(Pairs::Keys(Box::new(keys)));
    }
    let found = WORDS.iter().find(|(word, _)| value.as_str() == Some(word));
    if found.is_none() {
        let words = WORDS.map(|(word, _)| word).join(", ");
        let expected = format!("{words}, or a pattern such as {{skew: 0.5}}");
        r.report(place, format!("found {}", value.describe()), expected);
    }
    found.map(|(_, word)| Pairs::Word(*word))
}

/// Key, problem and expected value.
type Wrong = (&'static str, String, String);

fn wrong(key: &'static str, reason: impl Into<String>, expected: impl Into<String>) -> Wrong {
    (key, reason.into(), expected.into())
}

/// Returns the pattern of a workload.
pub(super) fn pattern(pairs: &[Pairs], turn: Option<Duration>, ends: &Ends) -> Result<Pattern, Wrong> {
    let patterns = pairs.iter().map(|pairs| of_pairs(pairs, ends));
    let mut patterns = patterns.collect::<Result<Vec<Pattern>, Wrong>>()?;
    match (turn, patterns.len()) {
        (None, 0) => of_pairs(
            &Pairs::Word(ends.receivers.as_ref().map_or(Word::All, |_| Word::Each)),
            ends,
        ),
        (None, 1) => Ok(patterns.remove(0)),
        (None, _) => Err(wrong(
            "turn_ns",
            "several patterns without the time of each",
            "'turn', e.g. '10 ms'",
        )),
        (Some(_), 0) => Err(wrong("turn_ns", "'turn' without patterns", "a list in 'pairs'")),
        (Some(each), _) => Ok(Pattern::InTurn { each, patterns }),
    }
}

fn of_pairs(pairs: &Pairs, ends: &Ends) -> Result<Pattern, Wrong> {
    let keys = match pairs {
        Pairs::Word(word) => return of_word(*word, ends),
        Pairs::Keys(keys) => keys,
    };
    if let Some(matrix) = &keys.matrix {
        return of_matrix(matrix, ends);
    }
    if ends.receivers.is_some() {
        return Err(wrong(
            "pairs",
            "a pattern among senders, given with 'to'",
            "'each', 'same' or a file",
        ));
    }
    Ok(match (keys.skew, keys.hotspot, keys.shift, keys.groups) {
        (Some(fraction), ..) => Pattern::Skew { fraction },
        (_, Some(HotspotKeys { hosts, fraction }), ..) => Pattern::Hotspot { hosts, fraction },
        (_, _, Some(shift), _) => Pattern::Shift { shift },
        (.., groups) => Pattern::OtherGroups {
            group: groups.unwrap_or_default(),
        },
    })
}

fn of_word(word: Word, ends: &Ends) -> Result<Pattern, Wrong> {
    let receivers = ends.receivers.as_ref();
    match (word, receivers) {
        (Word::All, None) => Ok(Pattern::All),
        (Word::Permutation, None) => Ok(Pattern::Permutation),
        (Word::Each, Some(receivers)) => Ok(Pattern::Between {
            senders: ends.senders,
            receivers: receivers.clone(),
        }),
        (Word::Same, Some(receivers)) if receivers.len() == ends.senders as usize => Ok(Pattern::Same {
            receivers: receivers.clone(),
        }),
        (Word::Same, Some(receivers)) => Err(wrong(
            "pairs",
            format!("{} receivers of {} senders", receivers.len(), ends.senders),
            "as many receivers as senders, or 'each'",
        )),
        (Word::All | Word::Permutation, Some(_)) => {
            Err(wrong("pairs", "receivers given with 'to'", "'each', 'same' or a file"))
        }
        (Word::Each | Word::Same, None) => Err(wrong("pairs", "no receivers", "'to', or 'all'")),
    }
}

/// The pattern of a matrix between senders, or from senders to receivers.
fn of_matrix(matrix: &Doc, ends: &Ends) -> Result<Pattern, Wrong> {
    if ends.receivers.is_some() {
        return Err(wrong(
            "pairs",
            "a matrix among senders, given with 'to'",
            "'each' or 'same'",
        ));
    }
    let text = rows_of(matrix).join("\n");
    match Matrix::read("matrix", &text, ends.senders) {
        Ok(matrix) => Ok(Pattern::Matrix(matrix)),
        Err(error) => {
            let (reason, expected) = super::files::parts(&error);
            Err(wrong("pairs", reason, expected))
        }
    }
}
