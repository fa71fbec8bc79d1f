// SPDX-License-Identifier: Apache-2.0
//! Controls and tables.

use super::{ActionId, Calculation, FieldRef, TableId};
use crate::expr::Expr;
use crate::trace::SourceLocation;

#[derive(Debug)]
pub(crate) struct Pipeline {
    pub nodes: Vec<Node>,
    /// `None`: an empty control.
    pub start: Option<usize>,
    /// [Work](crate::work) of the most expensive way through it.
    pub most_work: u64,
    /// Where in the P4 program each node comes from, for traces.
    pub sources: Vec<Option<SourceLocation>>,
}

/// One of the two controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Ingress,
    Egress,
}

/// A step of a control; each leads to a node with a higher topological rank, so a control always ends.
#[derive(Debug)]
pub(crate) enum Node {
    Table(TableId),
    If {
        condition: Expr,
        yes: Option<usize>,
        no: Option<usize>,
    },
    Action {
        action: ActionId,
        args: Vec<u64>,
        next: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
}

#[derive(Debug)]
pub(crate) struct KeyPart {
    pub name: String,
    pub kind: MatchKind,
    pub source: FieldRef,
    /// First word of the packed key, and how far left in it.
    pub word: usize,
    pub shift: u32,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub name: String,
    /// The strongest kind in the key: decides how entries are found and ordered.
    pub kind: MatchKind,
    pub key: Vec<KeyPart>,
    pub key_words: usize,
    /// Mask that the program puts on the key.
    pub key_mask: Vec<u64>,
    pub max_size: usize,
    pub actions: Vec<ActionId>,
    pub default: Option<DefaultEntry>,
    /// The controller may not change which action is the default / its arguments either.
    pub const_default_action: bool,
    pub const_default_entry: bool,
    /// Entries that the program gives the table.
    pub entries: Option<Vec<ProgramEntry>>,
    pub counters: bool,
    pub direct_meter: Option<usize>,
    /// Whether entries may have idle timeouts.
    pub idle_timeouts: bool,
    pub profile: Option<usize>,
    pub next: NextNode,
}

#[derive(Debug)]
pub(crate) enum NextNode {
    /// One for each of the table's actions, and for a miss without a default action.
    ByAction {
        next: Vec<Option<usize>>,
        miss: Option<usize>,
    },
    HitMiss {
        hit: Option<usize>,
        miss: Option<usize>,
    },
}

impl NextNode {
    /// The node after an action of the table, or after none.
    pub fn after(&self, action: Option<usize>, is_hit: bool) -> Option<usize> {
        match self {
            NextNode::HitMiss { hit, miss } => *if is_hit { hit } else { miss },
            NextNode::ByAction { next, miss } => action.map_or(*miss, |action| next[action]),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DefaultEntry {
    /// Index into the table's actions.
    pub action: usize,
    pub args: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct ProgramEntry {
    pub key: Vec<crate::KeyField>,
    /// Larger wins.
    pub priority: i32,
    pub action: DefaultEntry,
}

#[derive(Debug)]
pub(crate) struct ActionProfile {
    pub name: String,
    pub max_size: usize,
    /// What selects a member of a group.
    pub selector: Option<Calculation>,
}
