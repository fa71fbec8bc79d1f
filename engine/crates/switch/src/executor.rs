// SPDX-License-Identifier: Apache-2.0
//! The option that says what runs a switch's packets.

use clap::ValueEnum;
use slotwise_p4::Executor;

/// What runs the packets. Both do the same, bit for bit.
#[derive(Clone, Copy, ValueEnum)]
pub enum ExecutorChoice {
    /// Machine code; the interpreter if the host or the program is not supported
    Jit,
    /// Interpreter
    Interpreter,
}

impl From<ExecutorChoice> for Executor {
    fn from(choice: ExecutorChoice) -> Executor {
        match choice {
            ExecutorChoice::Jit => Executor::Jit,
            ExecutorChoice::Interpreter => Executor::Interpreter,
        }
    }
}
