// SPDX-License-Identifier: Apache-2.0
//! Integer expressions and how many bits their exact values can need.

use super::json::{Load, Place};
use crate::expr::Expr;
use crate::ir::StackId;
use crate::value::{bit_length, limbs_for};

/// The range of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntType {
    /// `0 .. 2^bits`
    Unsigned(u32),
    /// `-2^(bits-1) .. 2^(bits-1)`
    Signed(u32),
}

impl IntType {
    /// Bits in two's complement.
    pub fn signed_bits(self) -> u32 {
        match self {
            IntType::Unsigned(bits) => bits.saturating_add(1),
            IntType::Signed(bits) => bits,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, IntType::Signed(_))
    }

    /// One word holds every value, read with the type's sign.
    pub fn fits_word(self) -> bool {
        match self {
            IntType::Unsigned(bits) | IntType::Signed(bits) => bits <= 64,
        }
    }

    pub fn fits_signed_word(self) -> bool {
        self.signed_bits() <= 64
    }
}

/// An integer expression.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub int_type: IntType,
    pub kind: NumberKind,
}

#[derive(Debug, Clone)]
pub(super) enum NumberKind {
    /// Two's complement.
    Const(Vec<u64>),
    Field {
        slot: usize,
        width: u32,
    },
    Arg {
        offset: usize,
        width: u32,
    },
    Element {
        stack: StackId,
        index: Box<Number>,
        offset: usize,
        width: u32,
    },
    Last {
        stack: StackId,
        offset: usize,
        width: u32,
    },
    /// Already a word.
    Word(Expr),
    Not(Box<Number>),
    Arithmetic(Arithmetic, Box<(Number, Number)>),
    SignExtend(Box<Number>, u32),
    ClampUnsigned(Box<Number>, u32),
    ClampSigned(Box<Number>, u32),
    Select(Expr, Box<(Number, Number)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl Number {
    pub fn constant(value: u64) -> Number {
        let bits = (64 - value.leading_zeros()).max(1);
        Number {
            int_type: IntType::Unsigned(bits),
            kind: NumberKind::Const(vec![value]),
        }
    }

    pub fn word(expr: Expr, bits: u32) -> Number {
        Number {
            int_type: IntType::Unsigned(bits),
            kind: NumberKind::Word(expr),
        }
    }

    /// The value if it is a constant that is not negative and fits a word.
    pub fn as_constant(&self) -> Option<u64> {
        match (&self.kind, self.int_type) {
            (NumberKind::Const(limbs), IntType::Unsigned(bits)) if bits <= 64 => limbs.first().copied(),
            _ => None,
        }
    }
}

pub(super) fn int_type(width: u32, signed: bool) -> IntType {
    if signed {
        IntType::Signed(width)
    } else {
        IntType::Unsigned(width)
    }
}

/// `value` if `mask` is a constant of ones that covers its type.
pub(super) fn only_masked(value: &Number, mask: &Number) -> Option<Number> {
    let NumberKind::Const(limbs) = &mask.kind else {
        return None;
    };
    let IntType::Unsigned(bits) = value.int_type else {
        return None;
    };
    let ones = bit_length(limbs);
    let all_ones = limbs.iter().map(|limb| limb.count_ones()).sum::<u32>() == ones;
    (all_ones && !mask.int_type.is_signed() && bits <= ones).then(|| value.clone())
}

pub(super) fn arithmetic(name: &str) -> Option<Arithmetic> {
    Some(match name {
        "+" => Arithmetic::Add,
        "-" => Arithmetic::Sub,
        "*" => Arithmetic::Mul,
        "/" => Arithmetic::Div,
        "%" => Arithmetic::Mod,
        "&" => Arithmetic::And,
        "|" => Arithmetic::Or,
        "^" => Arithmetic::Xor,
        "<<" => Arithmetic::Shl,
        ">>" => Arithmetic::Shr,
        _ => return None,
    })
}

pub(super) fn join(left: IntType, right: IntType) -> IntType {
    match (left, right) {
        (IntType::Unsigned(l), IntType::Unsigned(r)) => IntType::Unsigned(l.max(r)),
        _ => IntType::Signed(left.signed_bits().max(right.signed_bits())),
    }
}

pub(super) fn arithmetic_type(operator: Arithmetic, left: &Number, right: &Number) -> IntType {
    let (l, r) = (left.int_type, right.int_type);
    let grown = |by: u32| match l {
        IntType::Unsigned(bits) => IntType::Unsigned(bits.saturating_add(by)),
        IntType::Signed(bits) => IntType::Signed(bits.saturating_add(by)),
    };
    match operator {
        Arithmetic::Add => match join(l, r) {
            IntType::Unsigned(bits) => IntType::Unsigned(bits.saturating_add(1)),
            IntType::Signed(bits) => IntType::Signed(bits.saturating_add(1)),
        },
        Arithmetic::Sub => IntType::Signed(l.signed_bits().max(r.signed_bits()).saturating_add(1)),
        Arithmetic::Mul => match (l, r) {
            (IntType::Unsigned(l), IntType::Unsigned(r)) => IntType::Unsigned(l.saturating_add(r)),
            _ => IntType::Signed(l.signed_bits().saturating_add(r.signed_bits())),
        },
        Arithmetic::And => match (l, r) {
            (IntType::Unsigned(l), IntType::Unsigned(r)) => IntType::Unsigned(l.min(r)),
            (IntType::Unsigned(bits), _) | (_, IntType::Unsigned(bits)) => IntType::Unsigned(bits),
            _ => join(l, r),
        },
        Arithmetic::Or | Arithmetic::Xor => join(l, r),
        Arithmetic::Div | Arithmetic::Shr => l,
        Arithmetic::Mod => IntType::Unsigned((l.signed_bits() - 1).min(r.signed_bits() - 1)),
        Arithmetic::Shl => match right.as_constant() {
            Some(amount) => grown(u32::try_from(amount).unwrap_or(u32::MAX)),
            None => grown(1u32.checked_shl(r.signed_bits()).unwrap_or(u32::MAX)),
        },
    }
}

pub(super) fn constant(place: &Place) -> Load<Number> {
    let hex = place.hex()?;
    let bits = bit_length(&hex.magnitude);
    let mut limbs = hex.magnitude;
    if !hex.negative {
        limbs.resize(limbs_for(bits), 0);
        return Ok(Number {
            int_type: IntType::Unsigned(bits.max(1)),
            kind: NumberKind::Const(limbs),
        });
    }
    limbs.resize(limbs_for(bits + 1), 0);
    let mut negated = vec![0; limbs.len()];
    crate::value::sub(&mut negated, &limbs);
    Ok(Number {
        int_type: IntType::Signed(bits + 1),
        kind: NumberKind::Const(negated),
    })
}
