// SPDX-License-Identifier: Apache-2.0
//! The loaded program. Every index in it is valid, every width is checked: execution cannot fail.
//!
//! All state of a packet is one array of 64-bit words (see [`Layout`]); a *slot* is an index into it.

mod control;
mod parser;

use crate::codec::Codec;
use crate::expr::{Expr, WideExpr};
use crate::hash::Algorithm;
use crate::trace::SourceLocation;
use crate::value::limbs_for;
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) use control::*;
pub(crate) use parser::*;

/// Index of a word in the packet state.
pub(crate) type Slot = usize;
/// Index into [`Layout::headers`].
pub(crate) type HeaderId = usize;
/// Index into [`Layout::stacks`].
pub(crate) type StackId = usize;
/// Index into [`Layout::unions`].
pub(crate) type UnionId = usize;
/// Index into [`Layout::union_stacks`].
pub(crate) type UnionStackId = usize;
/// Index into [`Ir::actions`].
pub(crate) type ActionId = usize;
/// Index into [`Ir::tables`].
pub(crate) type TableId = usize;

/// A validated program.
#[derive(Debug)]
pub(crate) struct Ir {
    /// Name of the source file, as p4c gives it; empty without one.
    pub name: String,
    pub layout: Layout,
    pub standard: StandardMetadata,
    pub errors: ParserErrors,
    pub parser: Parser,
    pub value_sets: Vec<ValueSet>,
    pub deparser: Vec<HeaderId>,
    pub calculations: Vec<Calculation>,
    pub verify_checksums: Vec<Checksum>,
    pub update_checksums: Vec<Checksum>,
    pub registers: Vec<RegisterArray>,
    pub counters: Vec<CounterArray>,
    pub meters: Vec<MeterArray>,
    pub actions: Vec<Action>,
    pub profiles: Vec<ActionProfile>,
    pub tables: Vec<Table>,
    pub ingress: Pipeline,
    pub egress: Pipeline,
    /// Metadata to preserve, by the id that `clone`, `resubmit` and `recirculate` name.
    pub field_lists: BTreeMap<u64, Vec<FieldRef>>,
    /// Digests, by the id that `digest` names.
    pub digests: BTreeMap<u64, Digest>,
    /// False only if nothing after ingress reads `packet_length`.
    pub egress_reads_length: bool,
}

impl Ir {
    /// The control of a stage.
    pub fn control(&self, stage: Stage) -> &Pipeline {
        match stage {
            Stage::Ingress => &self.ingress,
            Stage::Egress => &self.egress,
        }
    }
}

/// Where everything lives in the packet state.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub types: Vec<HeaderType>,
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub unions: Vec<Vec<HeaderId>>,
    pub union_stacks: Vec<UnionStack>,
    /// State of a packet before its parser runs: metadata valid, everything else zero.
    pub initial: Vec<u64>,
    /// The words that a packet needs to find so; what is in the others is written before it is read.
    pub reset: Vec<Range<Slot>>,
}

#[derive(Debug)]
pub(crate) struct HeaderType {
    pub name: String,
    pub fields: Vec<Field>,
    /// Words of an instance: validity, then the fields.
    pub words: usize,
    pub codec: Codec,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub name: String,
    /// First word, relative to the instance. A variable field has its current bit length there, then its limbs.
    pub offset: usize,
    /// Bits; the largest for a variable field. A field of 0 bits has a word, too, which is 0.
    pub width: u32,
    pub signed: bool,
    pub variable: bool,
}

#[derive(Debug)]
pub(crate) struct Header {
    pub name: String,
    pub header_type: usize,
    /// Slot of the validity; the fields follow.
    pub base: Slot,
    /// The union that it is in: a valid header makes the other members invalid.
    pub union: Option<UnionId>,
}

#[derive(Debug)]
pub(crate) struct Stack {
    pub header_type: usize,
    pub elements: Vec<HeaderId>,
    /// Slot of the index of the first free element.
    pub next: Slot,
}

#[derive(Debug)]
pub(crate) struct UnionStack {
    pub elements: Vec<UnionId>,
    /// Slot of the index of the first free element.
    pub next: Slot,
}

/// A field of a fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldRef {
    pub slot: Slot,
    pub width: u32,
    pub signed: bool,
    /// Variable: `slot` holds the bit length, the limbs follow.
    pub variable: bool,
    pub header: HeaderId,
}

/// Fields that the architecture reads or writes; `None` where the program does not have one.
#[derive(Debug)]
pub(crate) struct StandardMetadata {
    pub ingress_port: FieldRef,
    pub egress_spec: FieldRef,
    pub egress_port: FieldRef,
    pub packet_length: FieldRef,
    pub instance_type: FieldRef,
    pub parser_error: Option<FieldRef>,
    pub checksum_error: Option<FieldRef>,
    pub ingress_timestamp: Option<FieldRef>,
    pub egress_timestamp: Option<FieldRef>,
    pub multicast_group: Option<FieldRef>,
    pub replica: Option<FieldRef>,
    /// Which queue of its port a packet goes to.
    pub priority: Option<FieldRef>,
    pub enqueue_timestamp: Option<FieldRef>,
    pub enqueue_depth: Option<FieldRef>,
    pub dequeue_depth: Option<FieldRef>,
    pub dequeue_wait: Option<FieldRef>,
    pub queue_id: Option<FieldRef>,
}

/// Where an assignment goes. The value is cut to the width.
#[derive(Debug)]
pub(crate) enum Target {
    Word {
        slot: Slot,
        mask: u64,
    },
    Wide {
        slot: Slot,
        width: u32,
    },
    /// Element of a stack by a computed index; out of range: nothing is written.
    Element {
        stack: StackId,
        index: Expr,
        offset: usize,
        width: u32,
    },
    /// Last extracted element of a stack; empty stack: nothing is written.
    Last {
        stack: StackId,
        offset: usize,
        width: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Action {
    pub name: String,
    /// Of its first statement, for traces.
    pub source: Option<SourceLocation>,
    pub params: Vec<Param>,
    /// Words of its arguments.
    pub arg_words: usize,
    pub body: Vec<Primitive>,
    /// [Work](crate::work) of the primitives before each, and at the end of all.
    pub work_before: Vec<u64>,
}

impl Action {
    /// Work of a loop that goes back from the jump at `at` to `to`.
    pub fn loop_work(&self, at: usize, to: usize) -> u64 {
        self.work_before[at + 1] - self.work_before[to]
    }

    /// Work of all primitives, each once.
    pub fn work(&self) -> u64 {
        self.work_before.last().copied().unwrap_or(0)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub name: String,
    /// Bits; a parameter of 0 bits has a word, too, which is 0.
    pub width: u32,
    /// First word among the arguments.
    pub offset: usize,
}

/// A header that is known only when the action runs.
#[derive(Debug)]
pub(crate) enum HeaderRef {
    Fixed(HeaderId),
    Element { stack: StackId, index: Expr },
}

/// A value of either size.
#[derive(Debug)]
pub(crate) enum Value {
    Word(Expr),
    Wide(WideExpr),
}

#[derive(Debug)]
pub(crate) enum Primitive {
    Assign {
        target: Target,
        value: Value,
    },
    AssignVariable {
        target: FieldRef,
        source: FieldRef,
    },
    AssignHeader {
        target: HeaderRef,
        source: HeaderRef,
    },
    AssignUnion {
        target: UnionId,
        source: UnionId,
    },
    AssignStack {
        target: StackId,
        source: StackId,
    },
    AssignUnionStack {
        target: UnionStackId,
        source: UnionStackId,
    },
    SetValid(HeaderRef),
    /// As `SetValid`, but the fields keep what they had, and the packet its length.
    MarkValid(HeaderRef),
    SetInvalid(HeaderRef),
    NoOp,
    Push {
        stack: StackId,
        count: Expr,
    },
    Pop {
        stack: StackId,
        count: Expr,
    },
    PushUnion {
        stack: UnionStackId,
        count: Expr,
    },
    PopUnion {
        stack: UnionStackId,
        count: Expr,
    },
    Jump(usize),
    JumpIfZero {
        condition: Expr,
        to: usize,
    },
    Exit,
    /// Of the standard metadata, or of a copy of it.
    MarkToDrop {
        egress_spec: FieldRef,
        multicast_group: Option<FieldRef>,
    },
    Count {
        counter: usize,
        index: Expr,
    },
    RegisterRead {
        target: Target,
        register: usize,
        index: Expr,
    },
    RegisterWrite {
        register: usize,
        index: Expr,
        value: Value,
    },
    Meter {
        meter: usize,
        index: Expr,
        target: Target,
    },
    Hash {
        target: Target,
        base: Expr,
        calculation: usize,
        modulus: Expr,
    },
    Random {
        target: Target,
        low: Expr,
        high: Expr,
    },
    Clone {
        session: Expr,
        field_list: Expr,
    },
    Resubmit {
        field_list: Expr,
    },
    Recirculate {
        field_list: Expr,
    },
    Digest {
        id: Expr,
    },
    Truncate {
        bytes: Expr,
    },
    Assert {
        condition: Expr,
    },
    Log {
        format: String,
        values: Vec<Expr>,
    },
}

#[derive(Debug)]
pub(crate) struct RegisterArray {
    pub name: String,
    pub size: usize,
    pub width: u32,
    /// Where its cells start among the limbs of all registers.
    pub first: usize,
}

impl RegisterArray {
    /// The limbs of a cell; `None` out of range.
    pub fn cell(&self, index: u64) -> Option<Range<usize>> {
        let limbs = limbs_for(self.width);
        let index = usize::try_from(index).ok().filter(|&index| index < self.size)?;
        let first = self.first + index * limbs;
        Some(first..first + limbs)
    }
}

#[derive(Debug)]
pub(crate) struct CounterArray {
    pub name: String,
    pub size: usize,
}

#[derive(Debug)]
pub(crate) struct MeterArray {
    pub name: String,
    pub size: usize,
    pub unit: MeterUnit,
    /// Direct meters: where the color goes.
    pub direct_target: Option<FieldRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeterUnit {
    Bytes,
    Packets,
}

#[derive(Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub input: Vec<CalculationInput>,
}

#[derive(Debug)]
pub(crate) enum CalculationInput {
    Field(FieldRef),
    Constant {
        value: Vec<u64>,
        width: u32,
    },
    Header(HeaderId),
    /// Everything that the parser did not extract.
    Payload,
}

#[derive(Debug)]
pub(crate) struct Checksum {
    pub target: FieldRef,
    pub calculation: usize,
    pub condition: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Digest {
    pub name: String,
    pub fields: Vec<FieldRef>,
    /// Words of all fields.
    pub words: u64,
}
