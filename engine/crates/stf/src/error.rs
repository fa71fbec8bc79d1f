// SPDX-License-Identifier: Apache-2.0
//! Why a script cannot be read, or not be run to its end.

/// A script that does not follow the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {reason}")]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// A statement that cannot be executed: no such table, a value that does not fit ...
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct RunError {
    /// Line of the statement, from 1.
    pub line: u32,
    /// What is wrong and what would be right.
    pub reason: String,
}
