// SPDX-License-Identifier: Apache-2.0
//! Compiled expressions and how they are evaluated.
//!
//! BMv2 computes with unbounded integers and cuts only where a value is stored. The loader finds out how many bits
//! each expression can need, so that nearly everything is computed in one 64-bit word modulo 2^64 ([`Expr`]); what
//! really needs more goes through limbs ([`WideExpr`]).

mod arithmetic;

use crate::ir::{HeaderId, Layout, Slot, StackId, UnionId};
use crate::value::{self, mask, sign_extend_word};
use arithmetic::{binary, clamp, unary, wide_binary};
use std::cmp::Ordering;

/// An expression whose value is one word.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Const(u64),
    /// A word of the packet state.
    Word(Slot),
    /// A signed field of `bits` bits.
    SignedWord {
        slot: Slot,
        bits: u32,
    },
    /// A word of the action's arguments.
    Arg(usize),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<(Expr, Expr)>),
    /// condition, if not zero, if zero
    Select(Box<(Expr, Expr, Expr)>),
    /// Field of the stack element with a computed index; 0 out of range.
    Element {
        stack: StackId,
        index: Box<Expr>,
        offset: usize,
        signed_bits: Option<u32>,
    },
    /// Field of the last extracted element; 0 if there is none.
    Last {
        stack: StackId,
        offset: usize,
        signed_bits: Option<u32>,
    },
    /// Index of the last extracted element, modulo 2^32; wraps if there is none, as in BMv2.
    LastIndex(Slot),
    HeadersEqual(HeaderId, HeaderId),
    /// Variable fields of one largest width: their first words, and how many words each has.
    VariablesEqual {
        left: Slot,
        right: Slot,
        words: usize,
    },
    UnionValid(UnionId),
    UnionsEqual(UnionId, UnionId),
    /// The low word of a wide value.
    Low(Box<WideExpr>),
    /// A wide value that is not negative, or all ones if it does not fit a word.
    Saturated(Box<WideExpr>),
    /// Two wide values of the same length, as signed numbers.
    CompareWide(Comparison, Box<(WideExpr, WideExpr)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    /// Bitwise.
    Not,
    /// 0 becomes 1, everything else 0.
    IsZero,
    /// Anything but 0 becomes 1.
    IsNotZero,
    SignExtend(u32),
    /// Largest of an unsigned word is this.
    AtMost(u64),
    /// A signed word into `0..=max`.
    ClampUnsigned(u64),
    /// A signed word into what so many bits hold.
    ClampSigned(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    /// Unsigned; a divisor of 0 gives 0.
    Div,
    /// Unsigned; a divisor of 0 gives 0.
    Mod,
    And,
    Or,
    Xor,
    /// By an unsigned amount.
    Shl,
    /// Logical, by an unsigned amount.
    Shr,
    /// Arithmetic, by an unsigned amount.
    ShrSigned,
    /// Of booleans; the right side is evaluated only if it decides.
    LogicalAnd,
    LogicalOr,
    Unsigned(Comparison),
    Signed(Comparison),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Eq => ordering.is_eq(),
            Comparison::Ne => ordering.is_ne(),
            Comparison::Lt => ordering.is_lt(),
            Comparison::Le => ordering.is_le(),
            Comparison::Gt => ordering.is_gt(),
            Comparison::Ge => ordering.is_ge(),
        }
    }
}

/// An expression whose value has `limbs` limbs, modulo 2^(64 * limbs).
#[derive(Debug, Clone)]
pub(crate) struct WideExpr {
    pub limbs: usize,
    pub op: WideOp,
}

#[derive(Debug, Clone)]
pub(crate) enum WideOp {
    Const(Vec<u64>),
    /// A field: its first word, and its bits if it is signed.
    Field {
        slot: Slot,
        words: usize,
        signed_bits: Option<u32>,
    },
    Arg {
        offset: usize,
        words: usize,
    },
    Element {
        stack: StackId,
        index: Expr,
        offset: usize,
        words: usize,
        signed_bits: Option<u32>,
    },
    Last {
        stack: StackId,
        offset: usize,
        words: usize,
        signed_bits: Option<u32>,
    },
    Extend {
        value: Expr,
        signed: bool,
    },
    /// Of another length: cut, or sign-extended.
    Resize(Box<WideExpr>),
    Not(Box<WideExpr>),
    SignExtend(Box<WideExpr>, u32),
    ClampUnsigned(Box<WideExpr>, u32),
    ClampSigned(Box<WideExpr>, u32),
    /// Both operands of this length.
    Binary(WideBinary, Box<(WideExpr, WideExpr)>),
    Mul(Box<(WideExpr, WideExpr)>),
    Shl(Box<WideExpr>, Expr),
    Shr(Box<WideExpr>, Expr),
    Select(Expr, Box<(WideExpr, WideExpr)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WideBinary {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// What an expression can see.
pub(crate) struct Env<'a> {
    pub layout: &'a Layout,
    pub words: &'a [u64],
    pub args: &'a [u64],
    /// Stack of wide intermediate results; keeps its capacity from packet to packet.
    pub stack: &'a mut Vec<u64>,
}

impl Env<'_> {
    /// The value of `expr`.
    pub fn eval(&mut self, expr: &Expr) -> u64 {
        match expr {
            Expr::Const(value) => *value,
            Expr::Word(slot) => self.words[*slot],
            Expr::SignedWord { slot, bits } => sign_extend_word(self.words[*slot], *bits),
            Expr::Arg(index) => self.args[*index],
            Expr::Unary(op, operand) => unary(*op, self.operand(operand)),
            Expr::Binary(Binary::LogicalAnd, sides) => {
                u64::from(self.operand(&sides.0) != 0 && self.operand(&sides.1) != 0)
            }
            Expr::Binary(Binary::LogicalOr, sides) => {
                u64::from(self.operand(&sides.0) != 0 || self.operand(&sides.1) != 0)
            }
            Expr::Binary(op, sides) => {
                let left = self.operand(&sides.0);
                let right = self.operand(&sides.1);
                binary(*op, left, right)
            }
            Expr::Select(parts) => {
                if self.eval(&parts.0) != 0 {
                    self.eval(&parts.1)
                } else {
                    self.eval(&parts.2)
                }
            }
            Expr::Element {
                stack,
                index,
                offset,
                signed_bits,
            } => {
                let index = self.eval(index);
                let word = element(self.layout, *stack, index).map_or(0, |base| self.words[base + offset]);
                signed_bits.map_or(word, |bits| sign_extend_word(word, bits))
            }
            Expr::Last {
                stack,
                offset,
                signed_bits,
            } => {
                let word = self.last(*stack).map_or(0, |base| self.words[base + offset]);
                signed_bits.map_or(word, |bits| sign_extend_word(word, bits))
            }
            Expr::LastIndex(next) => self.words[*next].wrapping_sub(1) & mask(32),
            Expr::HeadersEqual(left, right) => u64::from(self.headers_equal(*left, *right)),
            Expr::VariablesEqual { left, right, words } => {
                u64::from(self.words[*left..*left + words] == self.words[*right..*right + words])
            }
            Expr::UnionValid(union) => u64::from(self.layout.unions[*union].iter().any(|&h| self.is_valid(h))),
            Expr::UnionsEqual(left, right) => u64::from(
                self.layout.unions[*left]
                    .iter()
                    .zip(&self.layout.unions[*right])
                    .all(|(&l, &r)| self.headers_equal(l, r)),
            ),
            Expr::Low(wide) => self.with_wide(wide, |limbs| limbs[0]),
            Expr::Saturated(wide) => self.with_wide(wide, |limbs| {
                if limbs[1..].iter().all(|&l| l == 0) {
                    limbs[0]
                } else {
                    u64::MAX
                }
            }),
            Expr::CompareWide(comparison, sides) => {
                let bottom = self.stack.len();
                self.push_wide(&sides.0);
                self.push_wide(&sides.1);
                let (left, right) = self.stack[bottom..].split_at(sides.0.limbs);
                let holds = comparison.holds(value::compare_signed(left, right));
                self.stack.truncate(bottom);
                u64::from(holds)
            }
        }
    }

    /// As [`Env::eval`]; most operands are leaves, which need no call.
    #[inline]
    fn operand(&mut self, expr: &Expr) -> u64 {
        match expr {
            Expr::Const(value) => *value,
            Expr::Word(slot) => self.words[*slot],
            _ => self.eval(expr),
        }
    }

    fn is_valid(&self, header: HeaderId) -> bool {
        self.words[self.layout.headers[header].base] != 0
    }

    /// Base slot of the last extracted element.
    fn last(&self, stack: StackId) -> Option<Slot> {
        let stack = &self.layout.stacks[stack];
        let last = self.words[stack.next].checked_sub(1)?;
        Some(self.layout.headers[*stack.elements.get(last as usize)?].base)
    }

    /// Both invalid, or both valid with equal fields.
    fn headers_equal(&self, left: HeaderId, right: HeaderId) -> bool {
        let (left, right) = (&self.layout.headers[left], &self.layout.headers[right]);
        let words = self.layout.types[left.header_type].words;
        let (left, right) = (&self.words[left.base..][..words], &self.words[right.base..][..words]);
        if left[0] == 0 || right[0] == 0 {
            left[0] == right[0]
        } else {
            left == right
        }
    }

    /// Hands the limbs of `wide` to `use_limbs`.
    pub fn with_wide<T>(&mut self, wide: &WideExpr, use_limbs: impl FnOnce(&[u64]) -> T) -> T {
        let bottom = self.stack.len();
        self.push_wide(wide);
        let result = use_limbs(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        result
    }

    fn push_words(&mut self, base: Slot, words: usize, limbs: usize, signed_bits: Option<u32>) {
        let bottom = self.stack.len();
        self.stack.extend_from_slice(&self.words[base..base + words.min(limbs)]);
        self.stack.resize(bottom + limbs, 0);
        if let Some(bits) = signed_bits {
            value::sign_extend(&mut self.stack[bottom..], bits);
        }
    }

    /// Pushes the limbs of `wide` on the stack.
    pub fn push_wide(&mut self, wide: &WideExpr) {
        let bottom = self.stack.len();
        let limbs = wide.limbs;
        match &wide.op {
            WideOp::Const(value) => self.stack.extend_from_slice(value),
            WideOp::Field {
                slot,
                words,
                signed_bits,
            } => self.push_words(*slot, *words, limbs, *signed_bits),
            WideOp::Arg { offset, words } => {
                let args = self.args;
                self.stack
                    .extend_from_slice(&args[*offset..*offset + *words.min(&limbs)]);
                self.stack.resize(bottom + limbs, 0);
            }
            WideOp::Element {
                stack,
                index,
                offset,
                words,
                signed_bits,
            } => {
                let index = self.eval(index);
                match element(self.layout, *stack, index) {
                    Some(base) => self.push_words(base + offset, *words, limbs, *signed_bits),
                    None => self.stack.resize(bottom + limbs, 0),
                }
            }
            WideOp::Last {
                stack,
                offset,
                words,
                signed_bits,
            } => match self.last(*stack) {
                Some(base) => self.push_words(base + offset, *words, limbs, *signed_bits),
                None => self.stack.resize(bottom + limbs, 0),
            },
            WideOp::Extend { value, signed } => {
                let value = self.eval(value);
                let fill = if *signed && value >> 63 == 1 { u64::MAX } else { 0 };
                self.stack.push(value);
                self.stack.resize(bottom + limbs, fill);
            }
            WideOp::Resize(inner) => {
                self.push_wide(inner);
                let fill = if value::is_negative(&self.stack[bottom..]) {
                    u64::MAX
                } else {
                    0
                };
                self.stack.resize(bottom + limbs, fill);
            }
            WideOp::Not(inner) => {
                self.push_wide(inner);
                self.stack[bottom..].iter_mut().for_each(|limb| *limb = !*limb);
            }
            WideOp::SignExtend(inner, bits) => {
                self.push_wide(inner);
                value::sign_extend(&mut self.stack[bottom..], *bits);
            }
            WideOp::ClampUnsigned(inner, bits) => {
                self.push_wide(inner);
                clamp(&mut self.stack[bottom..], *bits, false);
            }
            WideOp::ClampSigned(inner, bits) => {
                self.push_wide(inner);
                clamp(&mut self.stack[bottom..], *bits, true);
            }
            WideOp::Binary(op, sides) => {
                self.push_wide(&sides.0);
                self.push_wide(&sides.1);
                let (left, right) = self.stack[bottom..].split_at_mut(limbs);
                wide_binary(*op, left, right);
                self.stack.truncate(bottom + limbs);
            }
            WideOp::Mul(sides) => {
                self.push_wide(&sides.0);
                self.push_wide(&sides.1);
                self.stack.resize(bottom + 3 * limbs, 0);
                let (operands, product) = self.stack[bottom..].split_at_mut(2 * limbs);
                let (left, right) = operands.split_at(limbs);
                value::mul(left, right, product);
                self.stack.copy_within(bottom + 2 * limbs.., bottom);
                self.stack.truncate(bottom + limbs);
            }
            WideOp::Shl(inner, amount) => {
                let amount = self.eval(amount);
                self.push_wide(inner);
                value::shl(&mut self.stack[bottom..], amount);
            }
            WideOp::Shr(inner, amount) => {
                let amount = self.eval(amount);
                self.push_wide(inner);
                value::shr(&mut self.stack[bottom..], amount);
            }
            WideOp::Select(condition, sides) => {
                let chosen = if self.eval(condition) != 0 { &sides.0 } else { &sides.1 };
                self.push_wide(chosen);
            }
        }
    }
}

/// Base slot of the element `index` of a stack.
pub(crate) fn element(layout: &Layout, stack: StackId, index: u64) -> Option<Slot> {
    let header = layout.stacks[stack].elements.get(usize::try_from(index).ok()?)?;
    Some(layout.headers[*header].base)
}
