// SPDX-License-Identifier: Apache-2.0
//! Parsers.

use super::{FieldRef, HeaderId, Primitive, StackId, Target, UnionStackId};
use crate::expr::Expr;
use std::collections::BTreeMap;

/// Codes of the core library's errors in this program.
#[derive(Debug)]
pub(crate) struct ParserErrors {
    pub no_error: u64,
    pub packet_too_short: u64,
    pub no_match: u64,
    pub stack_out_of_bounds: u64,
    pub header_too_short: u64,
    pub parser_timeout: u64,
    pub parser_invalid_argument: u64,
    /// Names of all errors, for traces.
    pub names: BTreeMap<u64, String>,
}

#[derive(Debug)]
pub(crate) struct Parser {
    pub states: Vec<ParseState>,
    /// `None`: nothing to parse.
    pub start: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct ParseState {
    /// For traces.
    pub name: String,
    pub ops: Vec<ParserOp>,
    pub key: Vec<KeySource>,
    pub cases: Vec<Transition>,
    pub default: DefaultTransition,
}

/// Destination of a state if no case matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultTransition {
    /// State; `None` ends the parser.
    To(Option<usize>),
    /// None: the `select` rejects with `error.NoMatch`.
    Missing,
}

impl DefaultTransition {
    /// Returns the next state; `None` ends the parser.
    pub fn next(self) -> Option<usize> {
        match self {
            DefaultTransition::To(next) => next,
            DefaultTransition::Missing => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum ParserOp {
    Extract(HeaderId),
    ExtractVariable {
        header: HeaderId,
        bits: Expr,
    },
    ExtractNext {
        stack: StackId,
        bits: Option<Expr>,
    },
    ExtractNextUnion {
        stack: UnionStackId,
        member: usize,
        bits: Option<Expr>,
    },
    /// `target = bits of the packet ahead`
    Lookahead {
        target: Target,
        offset_bits: u32,
        width: u32,
    },
    Advance {
        bits: Expr,
    },
    Verify {
        condition: Expr,
        error: Expr,
    },
    /// Rejects with `error.StackOutOfBounds` if the next operation reads `last` of an empty stack.
    NeedLast(Vec<LastRead>),
    Primitive(Primitive),
}

/// Read of a stack's last element by an expression.
#[derive(Debug)]
pub(crate) enum LastRead {
    Always(StackId),
    /// Operand of `&&`, `||` or `?:`, which is evaluated only if the condition holds or fails.
    If {
        condition: Expr,
        yes: Vec<LastRead>,
        no: Vec<LastRead>,
    },
}

/// A part of a `select` key; parts lie in words one after the other, `width` bits right-aligned in theirs.
#[derive(Debug)]
pub(crate) enum KeySource {
    Field(FieldRef),
    LastOfStack {
        stack: StackId,
        offset: usize,
        width: u32,
    },
    LastOfUnionStack {
        stack: UnionStackId,
        member: usize,
        offset: usize,
        width: u32,
    },
    Lookahead {
        offset_bits: u32,
        width: u32,
    },
}

impl KeySource {
    pub fn width(&self) -> u32 {
        match self {
            KeySource::Field(field) => field.width,
            KeySource::LastOfStack { width, .. }
            | KeySource::LastOfUnionStack { width, .. }
            | KeySource::Lookahead { width, .. } => *width,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Transition {
    pub when: When,
    /// `None` ends the parser.
    pub next: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum When {
    /// `key & mask == value`
    Matches {
        value: Vec<u64>,
        mask: Vec<u64>,
    },
    InSet {
        set: usize,
        mask: Vec<u64>,
    },
}

#[derive(Debug)]
pub(crate) struct ValueSet {
    pub name: String,
    /// Widths of the parts of a member, as the `select` that uses the set has them.
    pub widths: Vec<u32>,
}
