// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a scenario file.

use std::fmt;

use crate::defaults;
use crate::doc::Doc;
use crate::parse::tree;

/// One thing that is wrong: where, why, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the place in the file, e.g. `/edges/1/fibres/0/rate_bps`; empty for the whole file.
    pub pointer: String,
    /// Its line in the file, from 1, if it was looked up ([`ScenarioError::located`]) and the file has such a place.
    pub line: Option<u64>,
    /// File that the scenario's names in that line, and the line there; `None`: the place is in the scenario's own file.
    pub other: Option<(String, u64)>,
    /// Found value or missing part.
    pub reason: String,
    /// Right value.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        match (self.line, &self.other) {
            (Some(line), None) => write!(f, "line {line}: ")?,
            (Some(line), Some((path, other))) => write!(f, "line {line} ({path}, line {other}): ")?,
            (None, _) => {}
        }
        write!(f, "{place}: {}; expected {}", self.reason, self.expected)
    }
}

/// Why a file is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioError {
    /// The file is longer than [`crate::MAX_FILE_BYTES`].
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Collections lie in one another more than so deep.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// An alias stands for what is said elsewhere in the file.
    Alias {
        /// Where, from 1.
        line: u64,
    },
    /// A tag says what kind of thing a value is.
    Tag {
        /// Where, from 1.
        line: u64,
    },
    /// A tab stands between words, where not every reader of YAML takes one.
    Tab {
        /// Where, from 1.
        line: u64,
    },
    /// A mapping has a key twice.
    Twice {
        /// The key.
        key: String,
        /// Where it stands again, from 1.
        line: u64,
        /// Where it stood first.
        first: u64,
    },
    /// A second document follows the first one.
    Documents {
        /// Line of its start, from 1.
        line: u64,
    },
    /// A file could not be read.
    Unreadable(String),
    /// A base is not a scenario file.
    Base {
        /// Its path.
        path: String,
        /// Line in the scenario file by which it was reached.
        line: u64,
        /// Its problem.
        error: Box<ScenarioError>,
    },
    /// The file is not YAML; the parser's message says where.
    Syntax(String),
    /// Everything that is wrong with the content, in the order of the file's keys.
    Invalid(Vec<Problem>),
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Invalid(problems) => f.write_str(&lines(problems)),
            ScenarioError::Base { path, line, error } => write!(f, "line {line} (base {path}): {error}"),
            _ => {
                let problem = self.whole();
                if let Some(line) = problem.line {
                    write!(f, "line {line}: ")?;
                }
                f.write_str(&problem.reason)?;
                match problem.expected.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; expected {}", problem.expected),
                }
            }
        }
    }
}

impl ScenarioError {
    /// The same, with the line of every problem in `yaml`, the text that was read.
    #[must_use]
    pub fn located(mut self, yaml: &[u8]) -> ScenarioError {
        if let ScenarioError::Invalid(problems) = &mut self {
            locate(yaml, problems);
        }
        self
    }

    /// Returns all problems. An error of the whole file is one problem without a pointer; its expected value is empty if the reason
    /// contains it.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            ScenarioError::Invalid(problems) => problems.clone(),
            ScenarioError::Base { path, line, error } => {
                let of_base = |mut problem: Problem| {
                    if problem.other.is_none() {
                        problem.other = Some((path.clone(), problem.line.unwrap_or(1)));
                    }
                    problem.line = Some(*line);
                    problem
                };
                error.problems().into_iter().map(of_base).collect()
            }
            _ => vec![self.whole()],
        }
    }

    /// Problem of the whole file, for errors other than those of parts and bases.
    fn whole(&self) -> Problem {
        let (line, reason, expected) = match self {
            ScenarioError::TooLarge { bytes, limit } => (
                None,
                format!("file of {bytes} bytes is too large"),
                format!("at most {limit}"),
            ),
            ScenarioError::TooDeep { limit } => {
                (None, "nested too deeply".to_owned(), format!("at most {limit} levels"))
            }
            ScenarioError::Alias { line } => (
                Some(*line),
                "aliases are not supported".to_owned(),
                "the value itself".to_owned(),
            ),
            ScenarioError::Tag { line } => (
                Some(*line),
                "tags are not supported".to_owned(),
                "the value alone".to_owned(),
            ),
            ScenarioError::Tab { line } => (Some(*line), "tab outside quotes".to_owned(), "spaces".to_owned()),
            ScenarioError::Twice { key, line, first } => (
                Some(*line),
                format!("duplicate key '{key}', first in line {first}"),
                "it once".to_owned(),
            ),
            ScenarioError::Documents { line } => (Some(*line), "second document".to_owned(), "one".to_owned()),
            ScenarioError::Unreadable(reason) => (None, reason.clone(), String::new()),
            ScenarioError::Syntax(reason) => (None, format!("not YAML: {reason}"), String::new()),
            ScenarioError::Base { .. } | ScenarioError::Invalid(_) => (None, self.to_string(), String::new()),
        };
        Problem {
            pointer: String::new(),
            line,
            other: None,
            reason,
            expected,
        }
    }
}

/// Fills in the line of each problem in `yaml`, the text that was read, if there is any problem without one.
pub(crate) fn locate(yaml: &[u8], problems: &mut [Problem]) {
    if problems.iter().any(|problem| problem.line.is_none())
        && let Ok(doc) = Doc::read(yaml).and_then(|doc| tree(doc, defaults::NAME))
    {
        doc.locate(problems);
    }
}

/// A file may have any number of them, and what it says may be of any length: more than this is counted, or left out.
const MOST_LINES: usize = 20;
const LONGEST_LINE: usize = 500;

fn lines(problems: &[Problem]) -> String {
    let shown = problems.iter().take(MOST_LINES).map(|problem| {
        let line = problem.to_string();
        match line.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => format!("{} ...", &line[..end]),
            None => line,
        }
    });
    let more = problems.len().saturating_sub(MOST_LINES);
    let rest = (more > 0).then(|| format!("and {more} more problems"));
    shown.chain(rest).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_base_has_both_files_and_lines() {
        let error = ScenarioError::Base {
            path: "below.yaml".into(),
            line: 2,
            error: Box::new(ScenarioError::Tab { line: 7 }),
        };
        assert_eq!(
            error.to_string(),
            "line 2 (base below.yaml): line 7: tab outside quotes; expected spaces"
        );
        let [problem] = &error.problems()[..] else {
            panic!("{:?}", error.problems())
        };
        assert_eq!(
            (problem.line, &problem.other),
            (Some(2), &Some(("below.yaml".to_owned(), 7)))
        );
        assert_eq!((&*problem.reason, &*problem.expected), ("tab outside quotes", "spaces"));
    }

    #[test]
    fn a_reason_may_have_any_words() {
        let error = ScenarioError::Twice {
            key: "a; expected b".into(),
            line: 3,
            first: 1,
        };
        let [problem] = &error.problems()[..] else {
            panic!("{:?}", error.problems())
        };
        assert_eq!(problem.reason, "duplicate key 'a; expected b', first in line 1");
        assert_eq!(problem.expected, "it once");
    }

    #[test]
    fn a_message_has_a_bounded_length() {
        let problem = |number: usize| Problem {
            pointer: format!("/k{number}"),
            line: None,
            other: None,
            reason: format!(
                "unknown key '{}'",
                "\u{e9}".repeat(if number == 0 { 900_000 } else { 1 })
            ),
            expected: "another".into(),
        };
        let message = ScenarioError::Invalid((0..80_000).map(problem).collect()).to_string();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[0].chars().count(), 504);
        assert_eq!(lines[1], "/k1: unknown key '\u{e9}'; expected another");
        assert_eq!(lines[20], "and 79980 more problems");
    }
}
