// SPDX-License-Identifier: Apache-2.0
//! What a packet costs, counted so that it is the same on every machine and for both executors.
//!
//! A unit is about what one operation of an expression takes, some nanoseconds. A run through a control costs what its most
//! expensive way costs, whichever way it takes, and each turn of a loop in an action what the loop has in it.

use crate::ir::Primitive;

/// Most work for a packet that arrives, with all that it becomes until that leaves or is queued: in all a fraction of a
/// second. Beyond it, what is left of the packet is given up.
pub(crate) const MAX_WORK: u64 = 1 << 25;

/// Work of a lookup, besides the action.
pub(crate) const LOOKUP: u64 = 16;

/// Of a hash over the payload of a long frame.
const HASH: u64 = 1024;
/// Limit of copies of header stacks, of text, and of a message to the controller.
const LONG: u64 = 64;

/// Work of a primitive whose parameters have so many operations and operands.
pub(crate) fn of(primitive: &Primitive, parameters: u64) -> u64 {
    let own = match primitive {
        Primitive::Hash { .. } => HASH,
        Primitive::AssignStack { .. }
        | Primitive::AssignUnionStack { .. }
        | Primitive::Push { .. }
        | Primitive::Pop { .. }
        | Primitive::PushUnion { .. }
        | Primitive::PopUnion { .. }
        | Primitive::Digest { .. }
        | Primitive::Log { .. } => LONG,
        _ => 1,
    };
    own + parameters
}
