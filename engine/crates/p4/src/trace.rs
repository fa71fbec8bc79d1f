// SPDX-License-Identifier: Apache-2.0
//! What a packet does, step by step, with places in the P4 program. Costs one comparison a step while nobody looks.

use crate::action::Machine;
use crate::api::{ActionCall, Bits, KeyField, Port, TableEntry};
use crate::config::tables::{unpack_action, unpack_entry};
use crate::control::{LiveTable, pack};
use crate::ir::{Action, TableId};
use crate::pipeline::Pipeline;
use crate::table::Effect;
use crate::value::{limbs_for, to_be_bytes};
use std::fmt;

/// Most events that are kept until someone takes them; what comes later is lost.
const MAX_EVENTS: usize = 1 << 16;

/// A place in a P4 program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// As p4c was given it, or as `#include` names it.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// The beginning of what stands there.
    pub fragment: String,
}

/// One step of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// A packet, or a copy that goes round again, comes to the parser.
    Arrival {
        /// Where it came in.
        port: Port,
        /// Its length.
        bytes: usize,
        /// `instance_type` as BMv2 numbers it: 0 normal, 4 recirculated, 6 resubmitted.
        instance_type: u64,
    },
    /// A state of the parser begins.
    ParserState {
        /// As in P4.
        name: String,
    },
    /// The parser is at its end.
    ParserEnd {
        /// Bytes that it took.
        bytes: usize,
        /// Its error; `NoError` if all was well.
        error: String,
    },
    /// Ingress begins.
    Ingress,
    /// Egress begins.
    Egress {
        /// Where the packet goes.
        port: Port,
        /// `instance_type` as BMv2 numbers it: 0 normal, 1 and 2 clones, 5 multicast.
        instance_type: u64,
    },
    /// A condition.
    Branch {
        /// Where.
        source: Option<SourceLocation>,
        /// What it was.
        taken: bool,
    },
    /// A table is applied; what it runs follows as [`TraceEvent::Action`].
    Table(Box<Lookup>),
    /// Statements of a control outside of any action.
    Statements {
        /// p4c's name of them.
        name: String,
        /// The first of them.
        source: Option<SourceLocation>,
    },
    /// A table's action runs.
    Action {
        /// As in P4Info.
        name: String,
        /// Names of parameters and their values.
        args: Vec<(String, Bits)>,
        /// Its first statement.
        source: Option<SourceLocation>,
    },
    /// A packet leaves.
    Sent {
        /// Where.
        port: Port,
        /// Its length.
        bytes: usize,
    },
    /// The packet ends here.
    Dropped {
        /// Why: it was marked, nothing knows its group, or it was given up.
        reason: &'static str,
    },
    /// Copies are made, and go to egress later.
    Copied {
        /// `clone session` or `multicast group`.
        by: &'static str,
        /// Its number.
        id: u64,
        /// How many.
        copies: usize,
    },
    /// The packet goes to the parser again, later.
    Again {
        /// `resubmitted` or `recirculated`.
        how: &'static str,
    },
    /// More happened than is kept.
    Truncated,
}

/// What a table found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// As in P4Info.
    pub table: String,
    /// Where the table is applied.
    pub source: Option<SourceLocation>,
    /// Names of key fields and the packet's values.
    pub key: Vec<(String, Bits)>,
    /// The entry that was hit; `None`: a miss. With an action profile its action is `member N` or `group N`.
    pub entry: Option<TableEntry>,
}

/// Events that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    events: Vec<TraceEvent>,
}

impl Trace {
    pub fn push(&mut self, event: TraceEvent) {
        match self.events.len() {
            0..MAX_EVENTS => self.events.push(event),
            MAX_EVENTS => self.events.push(TraceEvent::Truncated),
            _ => {}
        }
    }
}

impl Pipeline {
    /// Starts or stops to note what packets do. The interpreter runs them meanwhile.
    pub fn set_tracing(&mut self, on: bool) {
        self.persistent.trace = on.then(Trace::default);
    }

    /// What packets did since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceEvent> {
        self.persistent
            .trace
            .as_mut()
            .map(|trace| std::mem::take(&mut trace.events))
            .unwrap_or_default()
    }
}

pub(crate) fn branch(source: Option<&SourceLocation>, taken: bool) -> TraceEvent {
    TraceEvent::Branch {
        source: source.cloned(),
        taken,
    }
}

/// An action that p4c made of statements.
pub(crate) fn statements(source: Option<&SourceLocation>, action: &Action) -> TraceEvent {
    // p4c's place of the node is the right one, but often begins in the middle of the statement.
    let same_line =
        |first: &&SourceLocation| source.is_none_or(|node| node.file == first.file && node.line == first.line);
    TraceEvent::Statements {
        name: action.name.clone(),
        source: action.source.as_ref().filter(same_line).or(source).cloned(),
    }
}

pub(crate) fn action(action: &Action, args: &[u64]) -> TraceEvent {
    let value = |param: &crate::ir::Param| to_be_bytes(&args[param.offset..param.offset + limbs_for(param.width)]);
    TraceEvent::Action {
        name: action.name.clone(),
        args: action
            .params
            .iter()
            .map(|param| (param.name.clone(), value(param)))
            .collect(),
        source: action.source.clone(),
    }
}

/// Notes what a table is about to find.
#[cold]
pub(crate) fn lookup(source: Option<&SourceLocation>, table: TableId, live: &LiveTable, machine: &mut Machine) {
    let ir = machine.ir;
    let table = &ir.tables[table];
    let mut key = vec![0; table.key_words];
    pack(&table.key, machine.packet, &mut key);
    key.iter_mut().zip(&table.key_mask).for_each(|(k, m)| *k &= m);
    let found = if table.key_words == 0 {
        None
    } else {
        live.entries.lookup(&key)
    };
    let entry = found.and_then(|index| live.entries.get(index)).map(|entry| {
        let named = |name: String| ActionCall { name, args: Vec::new() };
        let action = match &entry.effect {
            Effect::Action(action) => unpack_action(ir, table, action),
            Effect::Member(member) => named(format!("member {member}")),
            Effect::Group(group) => named(format!("group {group}")),
        };
        unpack_entry(table, &entry.cold.key, action)
    });
    let packet = &*machine.packet;
    let key = table
        .key
        .iter()
        .map(|part| (part.name.clone(), packet.field_bytes(part.source)))
        .collect();
    let found = Lookup {
        table: table.name.clone(),
        source: source.cloned(),
        key,
        entry,
    };
    machine.persistent.note(|| TraceEvent::Table(Box::new(found)));
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The place of a step, if known, and a blank.
fn at(source: Option<&SourceLocation>) -> String {
    source.map_or(String::new(), |source| format!("{source} "))
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let digits = self
            .0
            .iter()
            .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
        let digits = digits.trim_start_matches('0');
        write!(f, "0x{}", if digits.is_empty() { "0" } else { digits })
    }
}

impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            KeyField::Exact(value) | KeyField::Optional(Some(value)) => write!(f, "{}", Hex(value)),
            KeyField::Lpm { value, prefix_len } => write!(f, "{}/{prefix_len}", Hex(value)),
            KeyField::Ternary { value, mask } => write!(f, "{}&&&{}", Hex(value), Hex(mask)),
            KeyField::Range { low, high } => write!(f, "{}->{}", Hex(low), Hex(high)),
            KeyField::Optional(None) => write!(f, "*"),
        }
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let key: Vec<String> = self
            .key
            .iter()
            .map(|(name, value)| format!("{name}={}", Hex(value)))
            .collect();
        write!(
            f,
            "{}table {} ({}): ",
            at(self.source.as_ref()),
            self.table,
            key.join(", ")
        )?;
        let Some(entry) = &self.entry else {
            return write!(f, "miss");
        };
        let fields = self.key.iter().zip(&entry.key);
        let fields: Vec<String> = fields.map(|((name, _), field)| format!("{name}:{field}")).collect();
        write!(f, "hit entry {}", fields.join(" "))?;
        if entry.priority != 0 {
            write!(f, " priority {}", entry.priority)?;
        }
        let args: Vec<String> = entry.action.args.iter().map(|arg| Hex(arg).to_string()).collect();
        write!(f, " => {}({})", entry.action.name, args.join(", "))
    }
}

/// One line, without a line feed.
impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let instance = |number: &u64| match number {
            0 => "",
            1 => ", cloned at ingress",
            2 => ", cloned at egress",
            4 => ", recirculated",
            5 => ", multicast",
            6 => ", resubmitted",
            _ => ", of unknown origin",
        };
        match self {
            TraceEvent::Arrival {
                port,
                bytes,
                instance_type,
            } => write!(f, "arrives on port {port}, {bytes} bytes{}", instance(instance_type)),
            TraceEvent::ParserState { name } => write!(f, "parser state {name}"),
            TraceEvent::ParserEnd { bytes, error } => write!(f, "parsed {bytes} bytes, error.{error}"),
            TraceEvent::Ingress => write!(f, "ingress"),
            TraceEvent::Egress { port, instance_type } => write!(f, "egress to port {port}{}", instance(instance_type)),
            TraceEvent::Branch { source, taken } => {
                let fragment = source.as_ref().map_or("?", |source| source.fragment.as_str());
                write!(f, "{}if ({fragment}): {taken}", at(source.as_ref()))
            }
            TraceEvent::Table(lookup) => lookup.fmt(f),
            TraceEvent::Statements { name, source } => {
                let fragment = source.as_ref().map_or(name, |source| &source.fragment);
                write!(f, "{}{{ {fragment} }}", at(source.as_ref()))
            }
            TraceEvent::Action { name, args, source } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|(name, value)| format!("{name}={}", Hex(value)))
                    .collect();
                write!(f, "{}action {name}({})", at(source.as_ref()), args.join(", "))
            }
            TraceEvent::Sent { port, bytes } => write!(f, "leaves by port {port}, {bytes} bytes"),
            TraceEvent::Dropped { reason } => write!(f, "dropped: {reason}"),
            TraceEvent::Copied { by, id, copies } => write!(f, "{copies} copies by {by} {id}"),
            TraceEvent::Again { how } => write!(f, "{how}"),
            TraceEvent::Truncated => write!(f, "(trace truncated)"),
        }
    }
}
