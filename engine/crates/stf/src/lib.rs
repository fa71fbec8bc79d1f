// SPDX-License-Identifier: Apache-2.0
//! p4c's Simple Test Framework: scripts of table entries, packets that go in and packets that must come out.
//!
//! ```text
//! text -> parse -> Script --+
//! P4Info -> Schema ---------+-> run(script, schema, pipeline) -> Report: what differs
//! ```
//!
//! The grammar is in [`script`]; it is that of p4c's own corpus, with ranges and masks besides. Where the reference
//! runner leaves something open:
//!
//! * Packets of one port are compared in order; the order between ports does not matter. Packets that nothing expects
//!   make the test fail, on any port (see [`Runner::set_named_ports_only`]).
//! * `expect PORT` without bytes wants one packet, whatever is in it.
//! * `no_packet` says that nothing came out for the packet before it.
//! * `check_counter` is checked (the reference runner ignores it), `remove all` deletes the entries of all tables.
//! * Of entries that match, the one with the largest priority wins. A key field that is left out is "don't care", or 0
//!   where the match is exact. A number without `*` is compared in the field's full width.
//! * Time is virtual: a second passes before the first packet after a command, as in the reference runner, so that
//!   meters are full, and a microsecond before any other packet. [`Runner::set_clock_stands`] leaves it at 0, as P4Testgen
//!   has it.

mod compare;
mod error;
mod lexer;
mod number;
mod parser;
mod print;
mod replication;
mod run;
mod schema;
pub mod script;
mod tables;

pub use error::{ParseError, RunError};
pub use parser::{parse, parse_tests};
pub use run::{Failure, Report, Runner};
pub use schema::Schema;
