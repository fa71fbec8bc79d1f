// SPDX-License-Identifier: Apache-2.0
//! Bodies of actions.

use super::emitter::{Args, Compiler, Emitter, Result, plain};
use super::primitives::ABORT;
use super::runtime::Context;
use crate::action::MAX_BACKWARD_JUMPS;
use crate::ir::{Action, Primitive};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder};
use std::collections::BTreeMap;
use std::mem::offset_of;

/// Where a primitive jumps to.
fn jump_target(primitive: &Primitive) -> Option<usize> {
    match primitive {
        Primitive::Jump(to) | Primitive::JumpIfZero { to, .. } => Some(*to),
        _ => None,
    }
}

fn loops(body: &[Primitive]) -> bool {
    let mut jumps = body.iter().enumerate();
    jumps.any(|(at, primitive)| jump_target(primitive).is_some_and(|to| to <= at))
}

/// Primitives after which the packet may be given up.
fn may_abort(primitive: &Primitive) -> bool {
    matches!(
        primitive,
        Primitive::Assert { .. } | Primitive::Log { .. } | Primitive::Digest { .. }
    )
}

/// True if the control may have to end after this action.
pub(super) fn may_stop(body: &[Primitive]) -> bool {
    loops(body) || body.iter().any(|p| may_abort(p) || matches!(p, Primitive::Exit))
}

impl Compiler<'_> {
    /// Defines the functions of all actions.
    pub fn actions(&mut self) -> Result<()> {
        for (index, action) in self.ir.actions.iter().enumerate() {
            self.action(index, |emitter, address| {
                let words = action.arg_words;
                emitter.args = Args::At { address, words };
                emitter.body(action)
            })?;
        }
        Ok(())
    }
}

impl<'ir> Emitter<'_, 'ir> {
    /// The body of an action; the code goes on after it, also if the action gave the packet up.
    pub fn body(&mut self, action: &'ir Action) -> Result<()> {
        let body: &'ir [Primitive] = &action.body;
        let end = self.block();
        let targets = body.iter().filter_map(jump_target).filter(|&to| to < body.len());
        let blocks: BTreeMap<usize, Block> = targets.map(|to| (to, self.block())).collect();
        let backward = self.builder.declare_var(I64);
        if loops(body) {
            let zero = self.constant(0);
            self.builder.def_var(backward, zero);
        }
        for (at, primitive) in body.iter().enumerate() {
            self.check_size()?;
            if let Some(&block) = blocks.get(&at) {
                self.jump(block);
                self.switch_to(block);
            }
            match jump_target(primitive) {
                None => self.primitive(primitive)?,
                Some(to) => {
                    let on = self.block();
                    let taken = self.block();
                    match primitive {
                        Primitive::JumpIfZero { condition, .. } => {
                            let condition = self.expr(condition)?;
                            self.branch(condition, on, taken);
                        }
                        _ => self.jump(taken),
                    }
                    self.switch_to(taken);
                    if to <= at {
                        self.count_backward(backward, action.loop_work(at, to), end);
                    }
                    let to = blocks.get(&to).copied().unwrap_or(end);
                    self.jump(to);
                    self.switch_to(on);
                }
            }
            if may_abort(primitive) {
                let on = self.block();
                let abort = self.flag(ABORT);
                self.branch(abort, end, on);
                self.switch_to(on);
            }
        }
        self.jump(end);
        self.switch_to(end);
        Ok(())
    }

    /// Gives the packet up if a loop takes too long, or makes more work than is left.
    fn count_backward(&mut self, count: cranelift_frontend::Variable, work: u64, end: Block) {
        let before = self.builder.use_var(count);
        let after = self.builder.ins().iadd_imm(before, 1);
        self.builder.def_var(count, after);
        let most = i64::from(MAX_BACKWARD_JUMPS);
        let over = self.builder.ins().icmp_imm(IntCC::UnsignedGreaterThan, after, most);
        let (give_up, no_work_left, may_work, on) = (self.block(), self.block(), self.block(), self.block());
        self.branch(over, give_up, may_work);
        self.switch_to(may_work);
        let place = self.context_field(offset_of!(Context, work_left));
        let left = self.builder.ins().load(I64, plain(), place, 0);
        let amount = self.constant(work);
        let is_too_little = self.builder.ins().icmp(IntCC::UnsignedLessThan, left, amount);
        self.branch(is_too_little, no_work_left, on);
        self.switch_to(no_work_left);
        let nothing = self.constant(0);
        self.builder.ins().store(plain(), nothing, place, 0);
        self.jump(give_up);
        self.switch_to(give_up);
        self.set_flag(ABORT);
        self.jump(end);
        self.switch_to(on);
        let left = self.builder.ins().isub(left, amount);
        self.builder.ins().store(plain(), left, place, 0);
    }
}
