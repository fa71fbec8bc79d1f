// SPDX-License-Identifier: Apache-2.0
//! Primitives of actions and parsers.

use super::emitter::{Emitter, Result, plain};
use super::runtime::{Call, Context};
use crate::expr::Expr;
use crate::ir::{HeaderId, HeaderRef, Primitive, Slot, Target, Value as Source};
use crate::state::{Packet, Requests};
use crate::value::{limbs_for, mask};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use std::mem::offset_of;

pub(super) const EXIT: usize = offset_of!(Packet, requests) + offset_of!(Requests, exit);
pub(super) const ABORT: usize = offset_of!(Packet, requests) + offset_of!(Requests, abort);

/// Headers of more words are copied and cleared by the interpreter.
const MAX_UNROLLED_WORDS: usize = 64;

impl<'ir> Emitter<'_, 'ir> {
    /// A primitive that does not jump.
    pub fn primitive(&mut self, primitive: &'ir Primitive) -> Result<()> {
        match primitive {
            Primitive::Assign { target, value } => self.assign(primitive, target, value),
            Primitive::AssignHeader {
                target: HeaderRef::Fixed(target),
                source: HeaderRef::Fixed(source),
            } => self.copy_header(primitive, *target, *source),
            Primitive::SetValid(HeaderRef::Fixed(header)) => self.set_valid(primitive, *header),
            Primitive::MarkValid(HeaderRef::Fixed(header)) => self.mark_valid(*header),
            Primitive::NoOp => Ok(()),
            Primitive::SetInvalid(HeaderRef::Fixed(header)) => self.set_invalid(primitive, *header),
            Primitive::Exit => {
                self.set_flag(EXIT);
                Ok(())
            }
            Primitive::Assert { condition } => {
                let condition = self.expr(condition)?;
                let (failed, on) = (self.block(), self.block());
                self.branch(condition, on, failed);
                self.switch_to(failed);
                self.set_flag(ABORT);
                self.jump(on);
                self.switch_to(on);
                Ok(())
            }
            Primitive::MarkToDrop {
                egress_spec,
                multicast_group,
            } => {
                let drop_port = self.context_field(offset_of!(Context, drop_port));
                let drop_port = self.masked(drop_port, mask(egress_spec.width));
                self.store_word(egress_spec.slot, drop_port)?;
                match multicast_group {
                    Some(group) => self.store_constant(group.slot, 0),
                    None => Ok(()),
                }
            }
            Primitive::Count { counter, index } => {
                let index = self.expr(index)?;
                let counter = self.constant(*counter as u64);
                self.call(Call::Count, &[counter, index]);
                Ok(())
            }
            Primitive::RegisterRead {
                target: Target::Word { slot, mask },
                register,
                index,
            } if self.ir.registers[*register].width <= 64 => self.read_register(*register, index, *slot, *mask),
            Primitive::RegisterWrite {
                register,
                index,
                value: Source::Word(value),
            } if self.ir.registers[*register].width <= 64 => self.write_register(*register, index, value),
            _ => {
                self.step(primitive);
                Ok(())
            }
        }
    }

    /// Has the interpreter run a primitive.
    fn step(&mut self, primitive: &'ir Primitive) {
        let primitive = self.address_of(primitive);
        let (args, arg_words) = self.args_for_call();
        self.call(Call::Step, &[primitive, args, arg_words]);
    }

    fn assign(&mut self, primitive: &'ir Primitive, target: &'ir Target, value: &'ir Source) -> Result<()> {
        let width_of = |target: &Target| match target {
            Target::Word { mask, .. } => mask.count_ones(),
            Target::Wide { width, .. } | Target::Element { width, .. } | Target::Last { width, .. } => *width,
        };
        let width = width_of(target);
        let found = match (target, value) {
            (Target::Word { slot, mask }, Source::Word(expr)) => {
                let value = self.expr(expr)?;
                let value = self.masked(value, *mask);
                return self.store_word(*slot, value);
            }
            (Target::Wide { slot, width }, source) => {
                let limbs = match source {
                    Source::Word(expr) => Some(vec![self.expr(expr)?]),
                    Source::Wide(expr) => self.wide(expr)?,
                };
                let Some(mut limbs) = limbs else {
                    self.step(primitive);
                    return Ok(());
                };
                let zero = self.constant(0);
                limbs.resize(limbs_for(*width), zero);
                let limbs = self.truncated(limbs, *width);
                for (index, limb) in limbs.into_iter().enumerate() {
                    self.store_word(slot + index, limb)?;
                }
                return Ok(());
            }
            (
                Target::Element {
                    stack, index, offset, ..
                },
                Source::Word(expr),
            ) if width <= 64 => {
                let index = self.expr(index)?;
                self.element(*stack, index)?.map(|found| (found, *stack, *offset, expr))
            }
            (Target::Last { stack, offset, .. }, Source::Word(expr)) if width <= 64 => {
                self.last(*stack)?.map(|found| (found, *stack, *offset, expr))
            }
            _ => None,
        };
        let Some((found, stack, offset, expr)) = found else {
            self.step(primitive);
            return Ok(());
        };
        let offset = self.field_offset(stack, offset)?;
        let value = self.expr(expr)?;
        let value = self.masked(value, mask(width));
        // An element that does not exist keeps what lies at the address.
        let old = self.builder.ins().load(I64, plain(), found.address, offset);
        let new = self.builder.ins().select(found.exists, value, old);
        self.builder.ins().store(plain(), new, found.address, offset);
        Ok(())
    }

    /// Makes a header valid and the other members of its union invalid.
    pub fn mark_valid(&mut self, header: HeaderId) -> Result<()> {
        let ir = self.ir;
        let instance = &ir.layout.headers[header];
        for &member in instance.union.map_or(&[][..], |union| &ir.layout.unions[union]) {
            self.check_size()?;
            if member != header {
                self.store_constant(ir.layout.headers[member].base, 0)?;
            }
        }
        self.store_constant(instance.base, 1)?;
        Ok(())
    }

    fn header_words(&self, header: HeaderId) -> (Slot, usize) {
        let instance = &self.ir.layout.headers[header];
        (instance.base, self.ir.layout.types[instance.header_type].words)
    }

    fn copy_header(&mut self, primitive: &'ir Primitive, target: HeaderId, source: HeaderId) -> Result<()> {
        let ((to, _), (from, words)) = (self.header_words(target), self.header_words(source));
        // An invalid source may make a whole union invalid.
        let headers = &self.ir.layout.headers;
        let may_clear_union = headers[target].union.is_some() && headers[source].union.is_none();
        if words > MAX_UNROLLED_WORDS || may_clear_union {
            self.step(primitive);
            return Ok(());
        }
        let (copy, invalid, on) = (self.block(), self.block(), self.block());
        let valid = self.valid(source)?;
        self.branch(valid, copy, invalid);
        self.switch_to(copy);
        for index in 1..words {
            let word = self.word(from + index)?;
            self.store_word(to + index, word)?;
        }
        self.mark_valid(target)?;
        self.jump(on);
        self.switch_to(invalid);
        self.store_constant(to, 0)?;
        self.jump(on);
        self.switch_to(on);
        Ok(())
    }

    fn set_valid(&mut self, primitive: &'ir Primitive, header: HeaderId) -> Result<()> {
        let (base, words) = self.header_words(header);
        if words > MAX_UNROLLED_WORDS {
            self.step(primitive);
            return Ok(());
        }
        let (add, on) = (self.block(), self.block());
        let valid = self.valid(header)?;
        self.branch(valid, on, add);
        self.switch_to(add);
        for index in 1..words {
            self.store_constant(base + index, 0)?;
        }
        self.mark_valid(header)?;
        // A variable field is empty now.
        let header_type = self.ir.layout.headers[header].header_type;
        self.lengthen(self.ir.layout.types[header_type].codec.fixed_bytes as i64);
        self.jump(on);
        self.switch_to(on);
        Ok(())
    }

    fn set_invalid(&mut self, primitive: &'ir Primitive, header: HeaderId) -> Result<()> {
        let instance = &self.ir.layout.headers[header];
        let codec = &self.ir.layout.types[instance.header_type].codec;
        if codec.max_variable_bits() > 0 || instance.union.is_some() {
            self.step(primitive);
            return Ok(());
        }
        let (remove, on) = (self.block(), self.block());
        let valid = self.valid(header)?;
        self.branch(valid, remove, on);
        self.switch_to(remove);
        self.store_constant(instance.base, 0)?;
        self.lengthen(-(codec.fixed_bytes as i64));
        self.jump(on);
        self.switch_to(on);
        Ok(())
    }

    /// Adds to the packet's length.
    fn lengthen(&mut self, bytes: i64) {
        const LENGTH: i32 = offset_of!(Packet, length) as i32;
        let packet = self.packet();
        let length = self.builder.ins().load(I64, plain(), packet, LENGTH);
        let length = self.builder.ins().iadd_imm(length, bytes);
        self.builder.ins().store(plain(), length, packet, LENGTH);
    }

    /// Code with the address of a cell of a register of one limb, which is left out if the index is out of range.
    fn with_cell(
        &mut self,
        register: usize,
        index: Value,
        emit: impl FnOnce(&mut Self, Value) -> Result<()>,
    ) -> Result<()> {
        let array = &self.ir.registers[register];
        let (there, on) = (self.block(), self.block());
        let size = self.constant(array.size as u64);
        let exists = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, size);
        self.branch(exists, there, on);
        self.switch_to(there);
        let registers = self.context_field(offset_of!(Context, registers));
        let first = self.builder.ins().iadd_imm(registers, array.first as i64 * 8);
        let distance = self.builder.ins().ishl_imm(index, 3);
        let cell = self.builder.ins().iadd(first, distance);
        emit(self, cell)?;
        self.jump(on);
        self.switch_to(on);
        Ok(())
    }

    fn read_register(&mut self, register: usize, index: &'ir Expr, slot: Slot, mask: u64) -> Result<()> {
        let index = self.expr(index)?;
        self.with_cell(register, index, |emitter, cell| {
            let value = emitter.builder.ins().load(I64, plain(), cell, 0);
            let value = emitter.masked(value, mask);
            emitter.store_word(slot, value)
        })
    }

    fn write_register(&mut self, register: usize, index: &'ir Expr, value: &'ir Expr) -> Result<()> {
        let index = self.expr(index)?;
        let value = self.expr(value)?;
        let value = self.masked(value, mask(self.ir.registers[register].width));
        self.with_cell(register, index, |emitter, cell| {
            emitter.builder.ins().store(plain(), value, cell, 0);
            Ok(())
        })
    }
}
