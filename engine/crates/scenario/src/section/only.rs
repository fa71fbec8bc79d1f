// SPDX-License-Identifier: Apache-2.0
//! Keys that apply only with some words of another key.

use super::{Shape, object, text};
use crate::doc::Doc;
use crate::reader::{Fields, Reader};

/// Words of a key that another key requires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Only {
    key: &'static str,
    words: Vec<&'static str>,
    /// The first word is the default.
    is_default: bool,
}

/// Condition that `key` has one of these words.
pub(crate) fn only(key: &'static str, words: impl IntoIterator<Item = &'static str>) -> Only {
    Only {
        key,
        words: words.into_iter().collect(),
        is_default: false,
    }
}

impl Only {
    /// The same condition, also met by a mapping without the key.
    pub(crate) fn or_without(self) -> Only {
        Only {
            is_default: true,
            ..self
        }
    }

    /// Returns whether the condition is met; `None` if the key is invalid or missing, which has been reported.
    fn is_met(&self, r: &Reader, fields: &Fields) -> Option<bool> {
        let Some(value) = r.optional(fields, self.key) else {
            return self.is_default.then_some(true);
        };
        let place = fields.pointer(self.key);
        let is_wrong = r.problems.iter().any(|problem| problem.pointer == place);
        let is_one = || value.as_str().is_some_and(|word| self.words.contains(&word));
        (!is_wrong).then(is_one)
    }

    /// Reports a key that does not apply. Returns true if it applies.
    fn allows(&self, r: &mut Reader, fields: &Fields, key: &str) -> bool {
        let is_met = self.is_met(r, fields) != Some(false);
        if !is_met && r.optional(fields, key).is_some() {
            let word = r.optional(fields, self.key).and_then(Doc::as_str).unwrap_or_default();
            let reason = format!("'{key}' does not apply with '{}: {word}'", self.key);
            let expected = format!("it only with '{}: {}'", self.key, self.words.join(" or "));
            r.report(fields.pointer(key), reason, expected);
        }
        is_met
    }

    /// Condition of a schema.
    fn schema(&self) -> Doc {
        let words = Doc::list(self.words.iter().map(|word| text(word)).collect(), 0);
        let word = object([(self.key, object([("enum", words)]))]);
        let required = (!self.is_default).then(|| ("required", Doc::list(vec![text(self.key)], 0)));
        object(required.into_iter().chain([("properties", word)]))
    }
}

/// Reads a key that is required if a condition is met, and else not allowed.
pub(crate) fn required_if<S: Shape>(
    r: &mut Reader,
    fields: &Fields,
    key: &str,
    only: &Only,
    shape: &S,
) -> Option<S::Value> {
    match only.is_met(r, fields) {
        Some(true) => Some(shape.required(r, fields, key)),
        _ => optional_if(r, fields, key, only, shape),
    }
}

/// Reads a key that is allowed if a condition is met.
pub(crate) fn optional_if<S: Shape>(
    r: &mut Reader,
    fields: &Fields,
    key: &str,
    only: &Only,
    shape: &S,
) -> Option<S::Value> {
    match only.allows(r, fields, key) {
        true => shape.optional(r, fields, key),
        false => None,
    }
}

/// Schema of forbidden properties.
pub(super) fn none<'k>(keys: impl Iterator<Item = &'k str>) -> Doc {
    object(keys.map(|key| (key, object([("not", Doc::mapping(0))]))))
}

/// Rules of a schema: one for each condition, with all of its keys.
pub(super) fn rules<'k>(conditions: impl IntoIterator<Item = (&'k str, Option<(Only, bool)>)>) -> Vec<Doc> {
    let mut found: Vec<(Only, Vec<&str>, Vec<&str>)> = Vec::new();
    for (key, condition) in conditions {
        let Some((only, is_required)) = condition else { continue };
        if !found.iter().any(|(known, ..)| *known == only) {
            found.push((only.clone(), Vec::new(), Vec::new()));
        }
        let (_, keys, required) = found.iter_mut().find(|(known, ..)| *known == only).expect("just added");
        keys.push(key);
        required.extend(is_required.then_some(key));
    }
    let rule = |(only, keys, required): (Only, Vec<&str>, Vec<&str>)| {
        let mut rule = object([("if", only.schema())]);
        if !required.is_empty() {
            let required = Doc::list(required.into_iter().map(text).collect(), 0);
            rule.set("then", object([("required", required)]));
        }
        rule.set("else", object([("properties", none(keys.into_iter()))]));
        rule
    };
    found.into_iter().map(rule).collect()
}
