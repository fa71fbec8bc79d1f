// SPDX-License-Identifier: Apache-2.0
//! The dissector for Wireshark and tshark; `scripts/gen-dissector` makes its tables of the P4 headers.

use std::io::{self, Write};

/// One file of Lua, which needs no other.
const DISSECTOR: &str = include_str!("../slotwise.lua");

/// Writes it to standard output.
pub fn print() -> io::Result<()> {
    io::stdout().lock().write_all(DISSECTOR.as_bytes())
}
