// SPDX-License-Identifier: Apache-2.0
//! Expressions of several words, limb by limb. The larger and rarer ones are the interpreter's.

use super::emitter::{Emitter, Result};
use super::expressions::{signed, unsigned};
use crate::expr::{Comparison, Expr, WideBinary, WideExpr, WideOp};
use crate::value::mask;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

/// Longer values would only make long code.
const MAX_LIMBS: usize = 8;

/// True if [`Emitter::wide`] can compute it.
fn compiled(wide: &WideExpr) -> bool {
    (1..=MAX_LIMBS).contains(&wide.limbs)
        && match &wide.op {
            WideOp::Const(_) | WideOp::Field { .. } | WideOp::Arg { .. } | WideOp::Extend { .. } => true,
            WideOp::Resize(inner)
            | WideOp::Not(inner)
            | WideOp::SignExtend(inner, _)
            | WideOp::Shl(inner, Expr::Const(_))
            | WideOp::Shr(inner, Expr::Const(_)) => compiled(inner),
            WideOp::Binary(_, sides) | WideOp::Select(_, sides) => compiled(&sides.0) && compiled(&sides.1),
            _ => false,
        }
}

impl<'ir> Emitter<'_, 'ir> {
    /// A word made of wide values; `None` if it is not compiled.
    pub fn of_wide(&mut self, expr: &'ir Expr) -> Result<Option<Value>> {
        Ok(match expr {
            Expr::Low(wide) => self.wide(wide)?.map(|limbs| limbs[0]),
            Expr::Saturated(wide) => match self.wide(wide)? {
                None => None,
                Some(limbs) => {
                    let mut above = self.constant(0);
                    for &limb in &limbs[1..] {
                        above = self.builder.ins().bor(above, limb);
                    }
                    let all_ones = self.constant(u64::MAX);
                    Some(self.builder.ins().select(above, all_ones, limbs[0]))
                }
            },
            Expr::CompareWide(comparison, sides) => match (self.wide(&sides.0)?, self.wide(&sides.1)?) {
                (Some(left), Some(right)) if left.len() == right.len() => {
                    Some(self.compare_limbs(*comparison, &left, &right))
                }
                _ => None,
            },
            _ => None,
        })
    }

    fn compare_limbs(&mut self, comparison: Comparison, left: &[Value], right: &[Value]) -> Value {
        if matches!(comparison, Comparison::Eq | Comparison::Ne) {
            let mut different = self.constant(0);
            for (&l, &r) in left.iter().zip(right) {
                let difference = self.builder.ins().bxor(l, r);
                different = self.builder.ins().bor(different, difference);
            }
            return self.truth(unsigned(comparison), different, 0);
        }
        // From the lowest limb up: a higher limb decides unless it is equal.
        let top = left.len() - 1;
        let mut holds = self.builder.ins().icmp(unsigned(comparison), left[0], right[0]);
        for (index, (&l, &r)) in left.iter().zip(right).enumerate() {
            let condition = if index == top {
                signed(comparison)
            } else {
                unsigned(comparison)
            };
            let here = self.builder.ins().icmp(condition, l, r);
            let equal = self.builder.ins().icmp(IntCC::Equal, l, r);
            holds = match index {
                0 => here,
                _ => self.builder.ins().select(equal, holds, here),
            };
        }
        self.builder.ins().uextend(I64, holds)
    }

    /// The limbs of a value; `None` if it is not compiled.
    pub fn wide(&mut self, wide: &'ir WideExpr) -> Result<Option<Vec<Value>>> {
        if compiled(wide) {
            self.limbs(wide).map(Some)
        } else {
            Ok(None)
        }
    }

    fn limbs(&mut self, wide: &'ir WideExpr) -> Result<Vec<Value>> {
        let limbs = wide.limbs;
        Ok(match &wide.op {
            WideOp::Const(value) => value.iter().map(|&limb| self.constant(limb)).collect(),
            WideOp::Field {
                slot,
                words,
                signed_bits,
            } => {
                let known = (0..limbs.min(*words)).map(|i| self.word(slot + i));
                let known = known.collect::<Result<Vec<_>>>()?;
                let value = self.extended(known, limbs, false);
                match signed_bits {
                    Some(bits) => self.sign_extended(value, *bits),
                    None => value,
                }
            }
            WideOp::Arg { offset, words } => {
                let known = (0..limbs.min(*words)).map(|i| self.arg(offset + i));
                let known = known.collect::<Result<Vec<_>>>()?;
                self.extended(known, limbs, false)
            }
            WideOp::Extend { value, signed } => {
                let value = self.expr(value)?;
                self.extended(vec![value], limbs, *signed)
            }
            WideOp::Resize(inner) => {
                let mut value = self.limbs(inner)?;
                value.truncate(limbs);
                if inner.limbs < limbs {
                    value = self.extended(value, limbs, true);
                }
                value
            }
            WideOp::Not(inner) => {
                let value = self.limbs(inner)?;
                value.into_iter().map(|limb| self.builder.ins().bnot(limb)).collect()
            }
            WideOp::SignExtend(inner, bits) => {
                let value = self.limbs(inner)?;
                self.sign_extended(value, *bits)
            }
            WideOp::Shl(inner, Expr::Const(amount)) => {
                let value = self.limbs(inner)?;
                self.shifted_left(&value, *amount)
            }
            WideOp::Shr(inner, Expr::Const(amount)) => {
                let value = self.limbs(inner)?;
                self.shifted_right(&value, *amount)
            }
            WideOp::Binary(op, sides) => {
                let left = self.limbs(&sides.0)?;
                let right = self.limbs(&sides.1)?;
                self.wide_binary(*op, &left, &right)
            }
            WideOp::Select(condition, sides) => {
                let condition = self.expr(condition)?;
                let yes = self.limbs(&sides.0)?;
                let no = self.limbs(&sides.1)?;
                let pairs = yes.into_iter().zip(no);
                pairs
                    .map(|(yes, no)| self.builder.ins().select(condition, yes, no))
                    .collect()
            }
            op => unreachable!("not compiled: {op:?}"),
        })
    }

    /// Longer, with zeros or with the sign.
    fn extended(&mut self, mut value: Vec<Value>, limbs: usize, signed: bool) -> Vec<Value> {
        if value.len() < limbs {
            let fill = match value.last() {
                Some(&top) if signed => self.builder.ins().sshr_imm(top, 63),
                _ => self.constant(0),
            };
            value.resize(limbs, fill);
        }
        value
    }

    /// With the sign of a `bits`-wide number above it.
    fn sign_extended(&mut self, mut value: Vec<Value>, bits: u32) -> Vec<Value> {
        let top = (bits - 1) as usize / 64;
        if let Some(&limb) = value.get(top) {
            let limbs = value.len();
            value[top] = self.sign_extend(limb, bits - top as u32 * 64);
            value.truncate(top + 1);
            value = self.extended(value, limbs, true);
        }
        value
    }

    fn wide_binary(&mut self, op: WideBinary, left: &[Value], right: &[Value]) -> Vec<Value> {
        let mut carry: Option<Value> = None;
        let mut result = Vec::with_capacity(left.len());
        for (&l, &r) in left.iter().zip(right) {
            let limb = match op {
                WideBinary::And => self.builder.ins().band(l, r),
                WideBinary::Or => self.builder.ins().bor(l, r),
                WideBinary::Xor => self.builder.ins().bxor(l, r),
                WideBinary::Add => {
                    let sum = self.builder.ins().iadd(l, r);
                    let mut over = self.compare(IntCC::UnsignedLessThan, sum, l);
                    let mut limb = sum;
                    if let Some(carry) = carry {
                        limb = self.builder.ins().iadd(sum, carry);
                        let again = self.compare(IntCC::UnsignedLessThan, limb, sum);
                        over = self.builder.ins().bor(over, again);
                    }
                    carry = Some(over);
                    limb
                }
                WideBinary::Sub => {
                    let difference = self.builder.ins().isub(l, r);
                    let mut under = self.compare(IntCC::UnsignedLessThan, l, r);
                    let mut limb = difference;
                    if let Some(carry) = carry {
                        limb = self.builder.ins().isub(difference, carry);
                        let again = self.compare(IntCC::UnsignedLessThan, difference, carry);
                        under = self.builder.ins().bor(under, again);
                    }
                    carry = Some(under);
                    limb
                }
            };
            result.push(limb);
        }
        result
    }

    fn shifted_left(&mut self, value: &[Value], amount: u64) -> Vec<Value> {
        let zero = self.constant(0);
        let (whole, part) = (usize::try_from(amount / 64).unwrap_or(usize::MAX), (amount % 64) as i64);
        let limb = |index: Option<usize>| index.and_then(|i| value.get(i).copied());
        let from = |i: usize, more: usize| i.checked_sub(whole).and_then(|i| i.checked_sub(more));
        (0..value.len())
            .map(|i| match (limb(from(i, 0)), limb(from(i, 1))) {
                (None, _) => zero,
                (Some(high), _) if part == 0 => high,
                (Some(high), None) => self.builder.ins().ishl_imm(high, part),
                (Some(high), Some(low)) => {
                    let high = self.builder.ins().ishl_imm(high, part);
                    let low = self.builder.ins().ushr_imm(low, 64 - part);
                    self.builder.ins().bor(high, low)
                }
            })
            .collect()
    }

    fn shifted_right(&mut self, value: &[Value], amount: u64) -> Vec<Value> {
        let top = value[value.len() - 1];
        let fill = self.builder.ins().sshr_imm(top, 63);
        let (whole, part) = (usize::try_from(amount / 64).unwrap_or(usize::MAX), (amount % 64) as i64);
        let limb = |i: usize| value.get(i.saturating_add(whole)).copied().unwrap_or(fill);
        (0..value.len())
            .map(|i| {
                let (low, high) = (limb(i), limb(i + 1));
                if part == 0 {
                    return low;
                }
                let low = self.builder.ins().ushr_imm(low, part);
                let high = self.builder.ins().ishl_imm(high, 64 - part);
                self.builder.ins().bor(low, high)
            })
            .collect()
    }

    /// The limbs, cut to `width` bits.
    pub fn truncated(&mut self, mut value: Vec<Value>, width: u32) -> Vec<Value> {
        for (index, limb) in value.iter_mut().enumerate() {
            let below = index as u32 * 64;
            *limb = self.masked(*limb, if width <= below { 0 } else { mask(width - below) });
        }
        value
    }
}
