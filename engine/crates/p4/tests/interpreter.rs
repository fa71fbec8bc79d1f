// SPDX-License-Identifier: Apache-2.0
//! The end-to-end tests on the interpreter.

mod corpus;

/// What runs the packets of these tests.
const EXECUTOR: slotwise_p4::Executor = slotwise_p4::Executor::Interpreter;
