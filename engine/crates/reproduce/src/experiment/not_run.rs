// SPDX-License-Identifier: Apache-2.0
//! What a source says and an experiment does not measure.

use serde::Deserialize;
use serde_yaml_ng::Value;

/// A published fact that is not measured, with the reason. It is shown and counted, and no more.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotRun {
    /// What it says.
    pub text: String,
    /// Where the source says it.
    #[serde(rename = "where")]
    pub place: String,
    /// What would be measured, in words.
    pub measure: String,
    /// Smallest and largest value that would agree with the source, or several such pairs.
    pub band: Value,
    /// The source's own number or numbers, where it gives some.
    #[serde(default)]
    pub value: Option<Value>,
    /// Why this band.
    pub why: String,
    /// Why it is not measured.
    pub reason: String,
}

/// Numbers as they are written, nested lists in brackets.
pub(crate) fn spoken(value: &Value) -> String {
    match value {
        Value::Sequence(parts) => {
            let parts: Vec<String> = parts.iter().map(spoken).collect();
            match parts.as_slice() {
                [low, high] if !low.contains(' ') => format!("{low} to {high}"),
                _ => parts.join(", "),
            }
        }
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_said_as_ranges() {
        let said = |yaml: &str| spoken(&serde_yaml_ng::from_str(yaml).unwrap());
        assert_eq!(said("[0, 0.05]"), "0 to 0.05");
        assert_eq!(said("[[0, 2], [0, 0]]"), "0 to 2, 0 to 0");
        assert_eq!(said("0.7"), "0.7");
    }
}
