// SPDX-License-Identifier: Apache-2.0
//! What a script says.
//!
//! One statement begins on each line; all but `packet` and `expect` may go on over the next ones. `#` begins a comment.
//! Keywords are in any case.
//!
//! ```text
//! packet PORT HEX...                      a packet comes in
//! expect PORT [HEX-OR-*... [$]]           a packet that begins so goes out; with `$` it also ends there
//! no_packet                               the packet before this made none
//! wait                                    (nothing: packets are processed at once)
//! add TABLE [PRIORITY] FIELD:MATCH... ACTION(PARAM:NUMBER, ...)... [= ID]   (several actions: the selector chooses)
//! setdefault TABLE ACTION(PARAM:NUMBER, ...)
//! remove all
//! check_counter NAME(INDEX-OR-$ID) [packets|bytes ==|!=|<|<=|>|>= NUMBER]
//! restart                                 a new test on a fresh switch ([`parse_tests`](crate::parse_tests); not of p4c's)
//! mirroring_add SESSION PORT              mirroring_add_mc SESSION GROUP
//! mirroring_delete SESSION                mirroring_get SESSION
//! mc_mgrp_create GROUP                    mc_node_create RID PORT...
//! mc_node_update NODE PORT...             mc_node_associate GROUP NODE      (nodes count from 0)
//! counter_read NAME INDEX                 counter_write NAME INDEX PACKETS BYTES
//! register_read NAME INDEX                register_write NAME INDEX VALUE   register_reset NAME
//! meter_get_rates NAME INDEX              meter_set_rates NAME INDEX RATE:BURST RATE:BURST
//! meter_array_set_rates NAME RATE:BURST RATE:BURST                          (rates in units per microsecond)
//!
//! NUMBER   123   0xff   0b101
//! FIELD    a.b[1].c   or a slice of it:   a.b[1].c[15:8]
//! MATCH    NUMBER   0x12**   0b1**   NUMBER/PREFIX-LENGTH   NUMBER&&&MASK   LOW->HIGH
//! ```

pub use crate::number::Number;

/// A whole script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// In order.
    pub statements: Vec<Located>,
}

/// A statement and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// From 1.
    pub line: u32,
    /// What it says.
    pub statement: Statement,
}

/// One statement; ports and indices are not checked against any program yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A packet comes in.
    Packet {
        /// Where.
        port: u16,
        /// The frame.
        frame: Vec<u8>,
    },
    /// A packet goes out.
    Expect {
        /// Where.
        port: u16,
        /// What it looks like; `None`: anything.
        pattern: Option<Pattern>,
    },
    /// The packet before made none.
    NoPacket,
    /// Nothing.
    Wait,
    /// A new table entry.
    Add {
        /// Name of the table, or the end of it.
        table: String,
        /// Larger wins.
        priority: Option<u32>,
        /// Names of key fields and what they match.
        key: Vec<(String, Match)>,
        /// What happens.
        action: Call,
        /// What else may happen: the table's selector chooses. They stand on the line of the action before.
        others: Vec<Call>,
        /// Name of the entry, for `check_counter`.
        id: Option<String>,
    },
    /// A new default action.
    SetDefault {
        /// Name of the table, or the end of it.
        table: String,
        /// What happens on a miss.
        action: Call,
    },
    /// Deletes all entries of all tables.
    RemoveAll,
    /// What a counter must hold.
    CheckCounter {
        /// Name of the counter, or the end of it.
        counter: String,
        /// Which of its cells.
        cell: Cell,
        /// `None`: any value will do.
        condition: Option<Condition>,
    },
    /// Clone session to a port.
    MirroringAdd {
        /// Session.
        session: u32,
        /// Where clones go.
        port: u16,
    },
    /// Clone session to a multicast group.
    MirroringAddGroup {
        /// Session.
        session: u32,
        /// Where clones go.
        group: u32,
    },
    /// Removes a clone session.
    MirroringDelete(u32),
    /// Says where clones of a session go.
    MirroringGet(u32),
    /// A multicast group without nodes.
    GroupCreate(u32),
    /// A node: one replica a port.
    NodeCreate {
        /// `egress_rid` of its replicas.
        instance: u16,
        /// Where they go.
        ports: Vec<u16>,
    },
    /// Other ports for a node.
    NodeUpdate {
        /// The how-many-th node, from 0.
        node: u32,
        /// Where its replicas go.
        ports: Vec<u16>,
    },
    /// Puts a node into a group.
    NodeAssociate {
        /// The group.
        group: u32,
        /// The how-many-th node, from 0.
        node: u32,
    },
    /// Says what a cell of a counter holds.
    CounterRead(Element),
    /// Sets a cell of a counter.
    CounterWrite {
        /// The cell.
        cell: Element,
        /// New value.
        packets: u64,
        /// New value.
        bytes: u64,
    },
    /// Says what a cell of a register holds.
    RegisterRead(Element),
    /// Sets a cell of a register.
    RegisterWrite {
        /// The cell.
        cell: Element,
        /// New value.
        value: Number,
    },
    /// Sets all cells of a register to 0.
    RegisterReset(String),
    /// Says what rates a cell of a meter has.
    MeterGetRates(Element),
    /// Sets the rates of one cell of a meter, or of all.
    MeterSetRates {
        /// Name of the meter, or the end of it.
        meter: String,
        /// `None`: all.
        index: Option<u32>,
        /// Committed and peak.
        rates: [Rate; 2],
    },
}

/// A cell of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Name of the array, or the end of it.
    pub name: String,
    /// From 0.
    pub index: u32,
}

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name of the action, or the end of it.
    pub action: String,
    /// Names of parameters and their values, in any order.
    pub args: Vec<(String, Number)>,
}

/// What a key field matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// The number; its `*` digits match everything.
    Number(Number),
    /// The leading bits.
    Prefix(Number, u32),
    /// Where the mask (second) is 1.
    Masked(Number, Number),
    /// Both ends included.
    Range(Number, Number),
}

/// What an outgoing packet looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Half bytes; `None` is any.
    pub nibbles: Vec<Option<u8>>,
    /// Nothing may follow.
    pub exact: bool,
}

/// Which cell of a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Of an indirect counter, from 0.
    Index(u32),
    /// Of a direct counter: that of the entry which was added with this id (without `$`).
    Entry(String),
}

/// What is compared with a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Which half of the counter.
    pub unit: Unit,
    /// How the counter must compare with `value`.
    pub relation: Relation,
    /// Right-hand side.
    pub value: u64,
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A meter's rate and burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bytes or packets per second; written per microsecond.
    pub per_second: u64,
    /// Bytes or packets.
    pub burst: u64,
}
