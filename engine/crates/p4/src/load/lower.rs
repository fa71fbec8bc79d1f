// SPDX-License-Identifier: Apache-2.0
//! From typed numbers to word and limb arithmetic.
//!
//! `word` gives a value modulo 2^64 and `wide` one modulo 2^(64 * limbs). Sums, products, bit operations and left
//! shifts need no more of their operands than what is asked of them; right shifts, comparisons, divisions and
//! saturating casts need them exactly. A value modulo 2^64 is exact whenever its type fits a word.

use super::MAX_VALUE_BITS;
use super::json::{Load, Place};
use super::number::{Arithmetic, IntType, Number, NumberKind};
use crate::expr::{Binary, Comparison, Expr, Unary, WideBinary, WideExpr, WideOp};
use crate::ir::Value;
use crate::value::{limbs_for, mask};

/// Limbs for the exact value, sign included.
fn exact_limbs(int_type: IntType, place: &Place) -> Load<usize> {
    let bits = int_type.signed_bits();
    if bits > MAX_VALUE_BITS + 1 {
        return place.error(format!("intermediate result may need more than {MAX_VALUE_BITS} bits"));
    }
    Ok(limbs_for(bits))
}

fn exact_wide(number: &Number, place: &Place) -> Load<WideExpr> {
    wide(number, exact_limbs(number.int_type, place)?, place)
}

/// The value cut to `width` bits by whoever stores it.
pub(super) fn value(number: &Number, width: u32, place: &Place) -> Load<Value> {
    if width <= 64 {
        Ok(Value::Word(word(unmasked(number, width), place)?))
    } else {
        Ok(Value::Wide(wide(unmasked(number, width), limbs_for(width), place)?))
    }
}

/// Without a mask or sign cast that keeps at least the low `width` bits.
fn unmasked(number: &Number, width: u32) -> &Number {
    match &number.kind {
        NumberKind::SignExtend(inner, bits) if *bits >= width => unmasked(inner, width),
        NumberKind::Arithmetic(Arithmetic::And, sides) => match &sides.1.kind {
            NumberKind::Const(limbs) if covers(limbs, width) => unmasked(&sides.0, width),
            _ => number,
        },
        _ => number,
    }
}

/// The low `width` bits are all ones.
fn covers(limbs: &[u64], width: u32) -> bool {
    (0..limbs_for(width)).all(|i| {
        let wanted = mask((width - i as u32 * 64).min(64));
        limbs.get(i).is_some_and(|limb| limb & wanted == wanted)
    })
}

/// Exact in a word; negative or wider values become all ones. For indexes, amounts, lengths.
pub(super) fn amount(number: &Number, place: &Place) -> Load<Expr> {
    if number.int_type.fits_word() {
        word(number, place)
    } else {
        Ok(Expr::Saturated(Box::new(exact_wide(number, place)?)))
    }
}

pub(super) fn is_not_zero(number: &Number, place: &Place) -> Load<Expr> {
    if number.int_type == IntType::Unsigned(1) {
        return word(number, place);
    }
    if number.int_type.fits_word() {
        return Ok(Expr::Unary(Unary::IsNotZero, Box::new(word(number, place)?)));
    }
    compare(Comparison::Ne, number, &Number::constant(0), place)
}

pub(super) fn compare(comparison: Comparison, left: &Number, right: &Number, place: &Place) -> Load<Expr> {
    let (l, r) = (left.int_type, right.int_type);
    let operator = if !l.is_signed() && !r.is_signed() && l.fits_word() && r.fits_word() {
        Binary::Unsigned(comparison)
    } else if l.fits_signed_word() && r.fits_signed_word() {
        Binary::Signed(comparison)
    } else {
        let limbs = exact_limbs(l, place)?.max(exact_limbs(r, place)?);
        let sides = (wide(left, limbs, place)?, wide(right, limbs, place)?);
        return Ok(Expr::CompareWide(comparison, Box::new(sides)));
    };
    Ok(Expr::Binary(
        operator,
        Box::new((word(left, place)?, word(right, place)?)),
    ))
}

/// The value fits a word, but what it is made from does not.
fn made_from_limbs(number: &Number) -> bool {
    match &number.kind {
        NumberKind::ClampUnsigned(inner, _) => !inner.int_type.fits_word(),
        NumberKind::ClampSigned(inner, _) => !inner.int_type.fits_signed_word(),
        NumberKind::Arithmetic(Arithmetic::Shr, sides) => !sides.0.int_type.fits_word(),
        _ => false,
    }
}

fn signed_bits(number: &Number, width: u32) -> Option<u32> {
    number.int_type.is_signed().then_some(width)
}

/// The value modulo 2^64.
pub(super) fn word(number: &Number, place: &Place) -> Load<Expr> {
    let unary = |op, inner: &Number| Ok(Expr::Unary(op, Box::new(word(inner, place)?)));
    Ok(match &number.kind {
        NumberKind::Const(limbs) => Expr::Const(limbs[0]),
        NumberKind::Field { slot, width } => match signed_bits(number, *width) {
            Some(bits @ ..=63) => Expr::SignedWord { slot: *slot, bits },
            _ => Expr::Word(*slot),
        },
        NumberKind::Arg { offset, .. } => Expr::Arg(*offset),
        NumberKind::Element {
            stack,
            index,
            offset,
            width,
        } => Expr::Element {
            stack: *stack,
            index: Box::new(amount(index, place)?),
            offset: *offset,
            signed_bits: signed_bits(number, *width).filter(|&bits| bits <= 64),
        },
        NumberKind::Last { stack, offset, width } => Expr::Last {
            stack: *stack,
            offset: *offset,
            signed_bits: signed_bits(number, *width).filter(|&bits| bits <= 64),
        },
        NumberKind::Word(expr) => expr.clone(),
        NumberKind::Not(inner) => unary(Unary::Not, inner)?,
        NumberKind::SignExtend(inner, bits @ ..=64) => unary(Unary::SignExtend(*bits), inner)?,
        NumberKind::ClampUnsigned(inner, bits @ ..=64) if inner.int_type.fits_signed_word() => {
            unary(Unary::ClampUnsigned(mask(*bits).min(i64::MAX as u64)), inner)?
        }
        NumberKind::ClampUnsigned(inner, bits @ ..=64) if inner.int_type.fits_word() => {
            unary(Unary::AtMost(mask(*bits)), inner)?
        }
        NumberKind::ClampSigned(inner, bits @ ..=64) if inner.int_type.fits_signed_word() => {
            unary(Unary::ClampSigned(*bits), inner)?
        }
        NumberKind::SignExtend(..) | NumberKind::ClampUnsigned(..) | NumberKind::ClampSigned(..) => {
            Expr::Low(Box::new(exact_wide(number, place)?))
        }
        NumberKind::Select(condition, sides) => Expr::Select(Box::new((
            condition.clone(),
            word(&sides.0, place)?,
            word(&sides.1, place)?,
        ))),
        NumberKind::Arithmetic(operator, sides) => return arithmetic_word(number, *operator, sides, place),
    })
}

fn arithmetic_word(number: &Number, operator: Arithmetic, sides: &(Number, Number), place: &Place) -> Load<Expr> {
    let exact = sides.0.int_type.fits_word() && sides.1.int_type.fits_word();
    let operator = match operator {
        Arithmetic::Add => Binary::Add,
        Arithmetic::Sub => Binary::Sub,
        Arithmetic::Mul => Binary::Mul,
        Arithmetic::And => Binary::And,
        Arithmetic::Or => Binary::Or,
        Arithmetic::Xor => Binary::Xor,
        Arithmetic::Shl | Arithmetic::Shr => {
            let operator = match (operator, sides.0.int_type) {
                (Arithmetic::Shl, _) => Binary::Shl,
                (_, IntType::Unsigned(..=64)) => Binary::Shr,
                (_, IntType::Signed(..=64)) => Binary::ShrSigned,
                _ => return Ok(Expr::Low(Box::new(exact_wide(number, place)?))),
            };
            let right = amount(&sides.1, place)?;
            return Ok(Expr::Binary(operator, Box::new((word(&sides.0, place)?, right))));
        }
        Arithmetic::Div if exact => Binary::Div,
        Arithmetic::Mod if exact => Binary::Mod,
        Arithmetic::Div | Arithmetic::Mod => return place.error("division of more than 64 bits is not supported"),
    };
    Ok(Expr::Binary(
        operator,
        Box::new((word(&sides.0, place)?, word(&sides.1, place)?)),
    ))
}

/// The value modulo 2^(64 * limbs).
pub(super) fn wide(number: &Number, limbs: usize, place: &Place) -> Load<WideExpr> {
    let boxed = |inner: &Number, limbs| Ok::<_, crate::LoadError>(Box::new(wide(inner, limbs, place)?));
    let sized = |limbs: usize, op: WideOp| WideExpr { limbs, op };
    // Operations that look at bits above those asked for are done at a length that has them, then cut.
    let cut = |expr: WideExpr| {
        if expr.limbs == limbs {
            expr
        } else {
            sized(limbs, WideOp::Resize(Box::new(expr)))
        }
    };
    let op = match &number.kind {
        NumberKind::Const(value) => {
            let fill = if number.int_type.is_signed() { u64::MAX } else { 0 };
            place.charge_words(limbs)?;
            let mut value = value.clone();
            value.resize(limbs, fill);
            WideOp::Const(value)
        }
        NumberKind::Field { slot, width } => WideOp::Field {
            slot: *slot,
            words: limbs_for(*width),
            signed_bits: signed_bits(number, *width),
        },
        NumberKind::Arg { offset, width } => WideOp::Arg {
            offset: *offset,
            words: limbs_for(*width),
        },
        NumberKind::Element {
            stack,
            index,
            offset,
            width,
        } => WideOp::Element {
            stack: *stack,
            index: amount(index, place)?,
            offset: *offset,
            words: limbs_for(*width),
            signed_bits: signed_bits(number, *width),
        },
        NumberKind::Last { stack, offset, width } => WideOp::Last {
            stack: *stack,
            offset: *offset,
            words: limbs_for(*width),
            signed_bits: signed_bits(number, *width),
        },
        _ if number.int_type.fits_word() && !made_from_limbs(number) => WideOp::Extend {
            value: word(number, place)?,
            signed: number.int_type.is_signed(),
        },
        NumberKind::Word(expr) => WideOp::Extend {
            value: expr.clone(),
            signed: number.int_type.is_signed(),
        },
        NumberKind::Not(inner) => WideOp::Not(boxed(inner, limbs)?),
        NumberKind::SignExtend(inner, bits) => {
            let enough = limbs.max(limbs_for(*bits));
            return Ok(cut(sized(enough, WideOp::SignExtend(boxed(inner, enough)?, *bits))));
        }
        NumberKind::ClampUnsigned(inner, bits) => {
            let enough = limbs.max(exact_limbs(inner.int_type, place)?).max(limbs_for(*bits + 1));
            return Ok(cut(sized(enough, WideOp::ClampUnsigned(boxed(inner, enough)?, *bits))));
        }
        NumberKind::ClampSigned(inner, bits) => {
            let enough = limbs.max(exact_limbs(inner.int_type, place)?).max(limbs_for(*bits));
            return Ok(cut(sized(enough, WideOp::ClampSigned(boxed(inner, enough)?, *bits))));
        }
        NumberKind::Select(condition, sides) => WideOp::Select(
            condition.clone(),
            Box::new((wide(&sides.0, limbs, place)?, wide(&sides.1, limbs, place)?)),
        ),
        NumberKind::Arithmetic(operator, sides) => match operator {
            Arithmetic::Shl => WideOp::Shl(boxed(&sides.0, limbs)?, amount(&sides.1, place)?),
            Arithmetic::Shr => {
                let enough = limbs.max(exact_limbs(sides.0.int_type, place)?);
                let shifted = WideOp::Shr(boxed(&sides.0, enough)?, amount(&sides.1, place)?);
                return Ok(cut(sized(enough, shifted)));
            }
            Arithmetic::Div | Arithmetic::Mod => {
                return place.error("division of more than 64 bits is not supported");
            }
            _ => {
                let operands = Box::new((wide(&sides.0, limbs, place)?, wide(&sides.1, limbs, place)?));
                match operator {
                    Arithmetic::Add => WideOp::Binary(WideBinary::Add, operands),
                    Arithmetic::Sub => WideOp::Binary(WideBinary::Sub, operands),
                    Arithmetic::And => WideOp::Binary(WideBinary::And, operands),
                    Arithmetic::Or => WideOp::Binary(WideBinary::Or, operands),
                    Arithmetic::Xor => WideOp::Binary(WideBinary::Xor, operands),
                    _ => WideOp::Mul(operands),
                }
            }
        },
    };
    Ok(sized(limbs, op))
}
