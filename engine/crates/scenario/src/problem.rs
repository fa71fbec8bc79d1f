// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a scenario file.

use std::fmt;

/// One thing that is wrong: where, why, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the place in the file, e.g. `/edges/1/fibres/0/rate_bps`; empty for the whole file.
    pub pointer: String,
    /// What is wrong.
    pub reason: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{place}: {}; expected {}", self.reason, self.expected)
    }
}

/// Why a file is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file is longer than [`crate::MAX_FILE_BYTES`].
    #[error("the file has {bytes} bytes; expected at most {limit}")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Collections lie in one another more than so deep.
    #[error("nested too deeply; expected at most {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The file is not YAML; the parser's message says where.
    #[error("not YAML: {0}")]
    Syntax(String),
    /// Everything that is wrong with the content, in the order of the file's keys.
    #[error("{}", lines(.0))]
    Invalid(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
