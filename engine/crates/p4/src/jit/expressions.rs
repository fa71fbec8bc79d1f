// SPDX-License-Identifier: Apache-2.0
//! Expressions of one word.

use super::emitter::{Emitter, Result, Unsupported, plain};
use super::runtime::Call;
use crate::expr::{Binary, Comparison, Expr, Unary};
use crate::ir::{HeaderId, StackId};
use crate::value::mask;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

/// A place in the packet state that is found at run time.
pub(super) struct Found {
    /// 0 if there is no such place; the address is one of the state even so.
    pub exists: Value,
    /// Of the header instance, i.e. of its validity.
    pub address: Value,
}

pub(super) fn unsigned(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Eq => IntCC::Equal,
        Comparison::Ne => IntCC::NotEqual,
        Comparison::Lt => IntCC::UnsignedLessThan,
        Comparison::Le => IntCC::UnsignedLessThanOrEqual,
        Comparison::Gt => IntCC::UnsignedGreaterThan,
        Comparison::Ge => IntCC::UnsignedGreaterThanOrEqual,
    }
}

pub(super) fn signed(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Eq => IntCC::Equal,
        Comparison::Ne => IntCC::NotEqual,
        Comparison::Lt => IntCC::SignedLessThan,
        Comparison::Le => IntCC::SignedLessThanOrEqual,
        Comparison::Gt => IntCC::SignedGreaterThan,
        Comparison::Ge => IntCC::SignedGreaterThanOrEqual,
    }
}

impl<'ir> Emitter<'_, 'ir> {
    /// The value of an expression. Expressions have no effects, so both sides of a choice are computed.
    pub fn expr(&mut self, expr: &'ir Expr) -> Result<Value> {
        Ok(match expr {
            Expr::Const(value) => self.constant(*value),
            Expr::Word(slot) => self.word(*slot)?,
            Expr::SignedWord { slot, bits } => {
                let word = self.word(*slot)?;
                self.sign_extend(word, *bits)
            }
            Expr::Arg(index) => self.arg(*index)?,
            Expr::Unary(op, operand) => {
                let operand = self.expr(operand)?;
                self.unary(*op, operand)
            }
            Expr::Binary(op, sides) => {
                let left = self.expr(&sides.0)?;
                let right = self.expr(&sides.1)?;
                self.binary(*op, left, right)
            }
            Expr::Select(parts) => {
                let condition = self.expr(&parts.0)?;
                let yes = self.expr(&parts.1)?;
                let no = self.expr(&parts.2)?;
                self.builder.ins().select(condition, yes, no)
            }
            Expr::Element {
                stack,
                index,
                offset,
                signed_bits,
            } => {
                let index = self.expr(index)?;
                match self.element(*stack, index)? {
                    Some(found) => self.found_field(*stack, &found, *offset, *signed_bits)?,
                    None => self.interpreted(expr)?,
                }
            }
            Expr::Last {
                stack,
                offset,
                signed_bits,
            } => match self.last(*stack)? {
                Some(found) => self.found_field(*stack, &found, *offset, *signed_bits)?,
                None => self.interpreted(expr)?,
            },
            Expr::LastIndex(next) => {
                let next = self.word(*next)?;
                let last = self.builder.ins().iadd_imm(next, -1);
                self.masked(last, mask(32))
            }
            Expr::UnionValid(union) => {
                let mut any = self.constant(0);
                for &header in &self.ir.layout.unions[*union] {
                    let valid = self.valid(header)?;
                    any = self.builder.ins().bor(any, valid);
                }
                self.truth(IntCC::NotEqual, any, 0)
            }
            Expr::CompareWide(..) | Expr::Low(_) | Expr::Saturated(_) => match self.of_wide(expr)? {
                Some(value) => value,
                None => self.interpreted(expr)?,
            },
            Expr::HeadersEqual(..) | Expr::VariablesEqual { .. } | Expr::UnionsEqual(..) => self.interpreted(expr)?,
        })
    }

    /// The value as the interpreter computes it.
    fn interpreted(&mut self, expr: &'ir Expr) -> Result<Value> {
        let expr = self.address_of(expr);
        let (args, arg_words) = self.args_for_call();
        self.call_value(Call::Eval, &[expr, args, arg_words])
    }

    pub fn valid(&mut self, header: HeaderId) -> Result<Value> {
        let base = self.ir.layout.headers[header].base;
        self.word(base)
    }

    /// 1 if the comparison with a constant holds, else 0.
    pub fn truth(&mut self, condition: IntCC, value: Value, constant: i64) -> Value {
        let truth = self.builder.ins().icmp_imm(condition, value, constant);
        self.builder.ins().uextend(I64, truth)
    }

    pub fn sign_extend(&mut self, value: Value, bits: u32) -> Value {
        let shift = i64::from(64 - bits);
        let up = self.builder.ins().ishl_imm(value, shift);
        self.builder.ins().sshr_imm(up, shift)
    }

    fn unary(&mut self, op: Unary, value: Value) -> Value {
        match op {
            Unary::Not => self.builder.ins().bnot(value),
            Unary::IsZero => self.truth(IntCC::Equal, value, 0),
            Unary::IsNotZero => self.truth(IntCC::NotEqual, value, 0),
            Unary::SignExtend(bits) => self.sign_extend(value, bits),
            Unary::AtMost(max) => {
                let max = self.constant(max);
                self.builder.ins().umin(value, max)
            }
            Unary::ClampUnsigned(max) => {
                let zero = self.constant(0);
                let max = self.constant(max);
                let not_negative = self.builder.ins().smax(value, zero);
                self.builder.ins().umin(not_negative, max)
            }
            Unary::ClampSigned(bits) => {
                let max = mask(bits - 1);
                let (low, high) = (self.constant(!max), self.constant(max));
                let not_less = self.builder.ins().smax(value, low);
                self.builder.ins().smin(not_less, high)
            }
        }
    }

    fn binary(&mut self, op: Binary, left: Value, right: Value) -> Value {
        match op {
            Binary::Add => self.builder.ins().iadd(left, right),
            Binary::Sub => self.builder.ins().isub(left, right),
            Binary::Mul => self.builder.ins().imul(left, right),
            Binary::Div | Binary::Mod => {
                let zero = self.constant(0);
                let one = self.constant(1);
                let is_zero = self.builder.ins().icmp_imm(IntCC::Equal, right, 0);
                let divisor = self.builder.ins().select(is_zero, one, right);
                let result = match op {
                    Binary::Div => self.builder.ins().udiv(left, divisor),
                    _ => self.builder.ins().urem(left, divisor),
                };
                self.builder.ins().select(is_zero, zero, result)
            }
            Binary::And => self.builder.ins().band(left, right),
            Binary::Or => self.builder.ins().bor(left, right),
            Binary::Xor => self.builder.ins().bxor(left, right),
            Binary::Shl | Binary::Shr => {
                // The machine takes the amount modulo 64.
                let zero = self.constant(0);
                let within = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, right, 64);
                let shifted = match op {
                    Binary::Shl => self.builder.ins().ishl(left, right),
                    _ => self.builder.ins().ushr(left, right),
                };
                self.builder.ins().select(within, shifted, zero)
            }
            Binary::ShrSigned => {
                let most = self.constant(63);
                let amount = self.builder.ins().umin(right, most);
                self.builder.ins().sshr(left, amount)
            }
            Binary::LogicalAnd => {
                let left = self.builder.ins().icmp_imm(IntCC::NotEqual, left, 0);
                let right = self.builder.ins().icmp_imm(IntCC::NotEqual, right, 0);
                let both = self.builder.ins().band(left, right);
                self.builder.ins().uextend(I64, both)
            }
            Binary::LogicalOr => {
                let any = self.builder.ins().bor(left, right);
                self.truth(IntCC::NotEqual, any, 0)
            }
            Binary::Unsigned(comparison) => self.compare(unsigned(comparison), left, right),
            Binary::Signed(comparison) => self.compare(signed(comparison), left, right),
        }
    }

    /// 1 if the comparison holds, else 0.
    pub fn compare(&mut self, condition: IntCC, left: Value, right: Value) -> Value {
        let truth = self.builder.ins().icmp(condition, left, right);
        self.builder.ins().uextend(I64, truth)
    }

    /// The element of a stack; `None` if its elements do not lie at equal distances.
    pub fn element(&mut self, stack: StackId, index: Value) -> Result<Option<Found>> {
        let layout = &self.ir.layout;
        let stack = &layout.stacks[stack];
        let bases: Vec<usize> = stack.elements.iter().map(|&e| layout.headers[e].base).collect();
        let Some((&first, &last)) = bases.first().zip(bases.last()) else {
            return Ok(None);
        };
        let words = layout.types[stack.header_type].words;
        let stride = bases.get(1).map_or(words, |second| second.wrapping_sub(first));
        let regular = bases
            .windows(2)
            .all(|pair| pair[0].checked_add(stride) == Some(pair[1]));
        if !regular || last + words > layout.initial.len() {
            return Ok(None);
        }
        let offset = self.slot(first)?;
        let count = i64::try_from(bases.len()).map_err(Unsupported::new)?;
        let zero = self.constant(0);
        let exists = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, index, count);
        let index = self.builder.ins().select(exists, index, zero);
        let distance = self.builder.ins().imul_imm(index, stride as i64 * 8);
        let base = self.builder.ins().iadd_imm(self.words, i64::from(offset));
        let address = self.builder.ins().iadd(base, distance);
        Ok(Some(Found { exists, address }))
    }

    /// The last extracted element of a stack.
    pub fn last(&mut self, stack: StackId) -> Result<Option<Found>> {
        let next = self.word(self.ir.layout.stacks[stack].next)?;
        // Before the first it is all ones, which no stack has.
        let last = self.builder.ins().iadd_imm(next, -1);
        self.element(stack, last)
    }

    /// The byte offset of a field in a header of a stack.
    pub fn field_offset(&self, stack: StackId, offset: usize) -> Result<i32> {
        let words = self.ir.layout.types[self.ir.layout.stacks[stack].header_type].words;
        if offset >= words {
            return Err(Unsupported::new("a field outside its header"));
        }
        i32::try_from(offset * 8).map_err(Unsupported::new)
    }

    fn found_field(&mut self, stack: StackId, found: &Found, offset: usize, signed_bits: Option<u32>) -> Result<Value> {
        let offset = self.field_offset(stack, offset)?;
        let zero = self.constant(0);
        let word = self.builder.ins().load(I64, plain(), found.address, offset);
        let word = self.builder.ins().select(found.exists, word, zero);
        Ok(match signed_bits {
            Some(bits) => self.sign_extend(word, bits),
            None => word,
        })
    }
}
