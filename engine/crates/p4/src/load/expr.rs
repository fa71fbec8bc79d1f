// SPDX-License-Identifier: Apache-2.0
//! Expressions: from JSON to typed trees.
//!
//! A number's type is how many bits its exact value can need; `lower` turns it into word or limb arithmetic.

use super::MAX_VALUE_BITS;
use super::headers::{HeaderNames, type_field};
use super::json::{Load, Place};
use super::lower;
use super::number::{
    Arithmetic, IntType, Number, NumberKind, arithmetic, arithmetic_type, constant, int_type, join, only_masked,
};
use crate::expr::{Comparison, Expr, Unary};
use crate::ir::{FieldRef, HeaderId, Layout, Param, StackId, UnionId, UnionStackId};
use crate::value::limbs_for;

/// What an expression may refer to.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub layout: &'a Layout,
    pub names: &'a HeaderNames,
    /// Parameters of the action that the expression is in.
    pub params: &'a [Param],
}

/// A header that may be chosen at run time.
#[derive(Debug, Clone)]
pub(super) enum HeaderExpr {
    Fixed(HeaderId),
    Element { stack: StackId, index: Number },
}

/// An expression of any type.
#[derive(Debug, Clone)]
pub(super) enum Typed {
    Number(Number),
    Variable(FieldRef),
    Bool(Expr),
    Header(HeaderExpr),
    Stack(StackId),
    Union(UnionId),
    UnionStack(UnionStackId),
}

impl Typed {
    fn name(&self) -> &'static str {
        match self {
            Typed::Number(_) => "a number",
            Typed::Variable(_) => "a variable field",
            Typed::Bool(_) => "a boolean",
            Typed::Header(_) => "a header",
            Typed::Stack(_) => "a header stack",
            Typed::Union(_) => "a header union",
            Typed::UnionStack(_) => "a header union stack",
        }
    }
}

/// What an operator makes of two numbers; not for division, which is not defined for all.
pub(super) fn calculated(operator: Arithmetic, left: Number, right: Number) -> Number {
    Number {
        int_type: arithmetic_type(operator, &left, &right),
        kind: NumberKind::Arithmetic(operator, Box::new((left, right))),
    }
}

impl Scope<'_> {
    /// A `{type, value}` object that must be a number.
    pub fn number(&self, place: &Place) -> Load<Number> {
        match self.typed(place)? {
            Typed::Number(number) => Ok(number),
            other => place.error(format!("expected a number, found {}", other.name())),
        }
    }

    /// A number whose exact value is computed in a word; wider ones saturate. For indexes, sizes and the like.
    pub fn word(&self, place: &Place) -> Load<Expr> {
        let number = self.number(place)?;
        lower::amount(&number, place)
    }

    /// A `{type, value}` object that must be a boolean.
    pub fn condition(&self, place: &Place) -> Load<Expr> {
        match self.typed(place)? {
            Typed::Bool(expr) => Ok(expr),
            other => place.error(format!("expected a boolean, found {}", other.name())),
        }
    }

    /// A `{type, value}` object that must be a header.
    pub fn header(&self, place: &Place) -> Load<HeaderExpr> {
        match self.typed(place)? {
            Typed::Header(header) => Ok(header),
            other => place.error(format!("expected a header, found {}", other.name())),
        }
    }

    /// Any `{type, value}` object.
    pub fn typed(&self, place: &Place) -> Load<Typed> {
        let kind = place.need("type")?;
        let value = place.need("value")?;
        match kind.text()? {
            "expression" => {
                // p4c wraps an expression in another one; only the inner has an operator.
                if value.get("op")?.is_some() {
                    self.operation(&value)
                } else {
                    self.typed(&value)
                }
            }
            "field" => {
                let field = self.names.field(self.layout, &value)?;
                if field.variable {
                    return Ok(Typed::Variable(field));
                }
                let kind = NumberKind::Field {
                    slot: field.slot,
                    width: field.width,
                };
                Ok(Typed::Number(Number {
                    int_type: int_type(field.width, field.signed),
                    kind,
                }))
            }
            "hexstr" => Ok(Typed::Number(constant(&value)?)),
            "bool" => Ok(Typed::Bool(Expr::Const(u64::from(value.boolean()?)))),
            "local" | "runtime_data" => {
                let index = value.size(usize::MAX)?;
                let Some(param) = self.params.get(index) else {
                    return value.error(format!("the action has {} parameters", self.params.len()));
                };
                if param.width == 0 {
                    // All that a value of no bits can be.
                    return Ok(Typed::Number(Number::constant(0)));
                }
                let kind = NumberKind::Arg {
                    offset: param.offset,
                    width: param.width,
                };
                Ok(Typed::Number(Number {
                    int_type: IntType::Unsigned(param.width),
                    kind,
                }))
            }
            "header" => Ok(Typed::Header(HeaderExpr::Fixed(self.names.header(&value)?))),
            "header_stack" => Ok(Typed::Stack(self.names.stack(&value)?)),
            "header_union" => Ok(Typed::Union(self.names.union(&value)?)),
            "header_union_stack" => Ok(Typed::UnionStack(self.names.union_stack(&value)?)),
            "stack_field" => {
                let [stack, field] = value.tuple()?;
                let stack = self.names.stack(&stack)?;
                let field = type_field(self.layout, self.layout.stacks[stack].header_type, &field)?;
                if field.variable {
                    return value.error("a variable field can only be assigned, compared and emitted");
                }
                let kind = NumberKind::Last {
                    stack,
                    offset: field.offset,
                    width: field.width,
                };
                Ok(Typed::Number(Number {
                    int_type: int_type(field.width, field.signed),
                    kind,
                }))
            }
            other => kind.error(format!("expression type `{other}` is not supported")),
        }
    }

    fn operation(&self, place: &Place) -> Load<Typed> {
        let op = place.need("op")?;
        match op.text()? {
            "?" => self.select(place),
            "==" => self.equality(place, Comparison::Eq),
            "!=" => self.equality(place, Comparison::Ne),
            "<" => self.comparison(place, Comparison::Lt),
            "<=" => self.comparison(place, Comparison::Le),
            ">" => self.comparison(place, Comparison::Gt),
            ">=" => self.comparison(place, Comparison::Ge),
            "and" => self.logical(place, crate::expr::Binary::LogicalAnd),
            "or" => self.logical(place, crate::expr::Binary::LogicalOr),
            "not" => {
                let operand = self.condition(&place.need("right")?)?;
                Ok(Typed::Bool(Expr::Unary(Unary::IsZero, Box::new(operand))))
            }
            "d2b" => {
                let right = place.need("right")?;
                let number = self.number(&right)?;
                Ok(Typed::Bool(lower::is_not_zero(&number, &right)?))
            }
            "b2d" => Ok(Typed::Number(Number::word(self.condition(&place.need("right")?)?, 1))),
            "valid" => match self.header(&place.need("right")?)? {
                HeaderExpr::Fixed(id) => Ok(Typed::Bool(Expr::Word(self.layout.headers[id].base))),
                HeaderExpr::Element { stack, index } => {
                    let index = Box::new(lower::amount(&index, place)?);
                    Ok(Typed::Bool(Expr::Element {
                        stack,
                        index,
                        offset: 0,
                        signed_bits: None,
                    }))
                }
            },
            "valid_union" => {
                let right = place.need("right")?;
                // p4c calls an element of a stack of unions a header.
                let named = match right.need("type")?.text()? {
                    "header" => self.names.unions.get(right.need("value")?.text()?),
                    _ => None,
                };
                match named {
                    Some(&union) => Ok(Typed::Bool(Expr::UnionValid(union))),
                    None => match self.typed(&right)? {
                        Typed::Union(union) => Ok(Typed::Bool(Expr::UnionValid(union))),
                        other => right.error(format!("expected a header union, found {}", other.name())),
                    },
                }
            }
            "dereference_header_stack" => self.dereference(place),
            "access_field" => self.access_field(place),
            "last_stack_index" => Ok(Typed::Number(Number::word(
                Expr::LastIndex(self.stack_next(place)?),
                32,
            ))),
            "size_stack" => Ok(Typed::Number(Number::word(Expr::Word(self.stack_next(place)?), 32))),
            "two_comp_mod" => {
                let (value, bits) = self.cast(place)?;
                let kind = NumberKind::SignExtend(Box::new(value), bits);
                Ok(Typed::Number(Number {
                    int_type: IntType::Signed(bits),
                    kind,
                }))
            }
            "usat_cast" => {
                let (value, bits) = self.cast(place)?;
                let kind = NumberKind::ClampUnsigned(Box::new(value), bits);
                Ok(Typed::Number(Number {
                    int_type: IntType::Unsigned(bits),
                    kind,
                }))
            }
            "sat_cast" => {
                let (value, bits) = self.cast(place)?;
                let kind = NumberKind::ClampSigned(Box::new(value), bits);
                Ok(Typed::Number(Number {
                    int_type: IntType::Signed(bits),
                    kind,
                }))
            }
            "~" => {
                let operand = self.number(&place.need("right")?)?;
                let int_type = IntType::Signed(operand.int_type.signed_bits());
                Ok(Typed::Number(Number {
                    int_type,
                    kind: NumberKind::Not(Box::new(operand)),
                }))
            }
            name => match arithmetic(name) {
                Some(operator) => self.arithmetic(place, operator),
                None => op.error(format!("operator `{name}` is not supported")),
            },
        }
    }

    fn stack_next(&self, place: &Place) -> Load<usize> {
        let right = place.need("right")?;
        match self.typed(&right)? {
            Typed::Stack(stack) => Ok(self.layout.stacks[stack].next),
            Typed::UnionStack(stack) => Ok(self.layout.union_stacks[stack].next),
            other => right.error(format!("expected a stack, found {}", other.name())),
        }
    }

    fn select(&self, place: &Place) -> Load<Typed> {
        let condition = self.condition(&place.need("cond")?)?;
        let left = self.typed(&place.need("left")?)?;
        let right = self.typed(&place.need("right")?)?;
        match (left, right) {
            (Typed::Bool(left), Typed::Bool(right)) => {
                Ok(Typed::Bool(Expr::Select(Box::new((condition, left, right)))))
            }
            (Typed::Number(left), Typed::Number(right)) => {
                let int_type = join(left.int_type, right.int_type);
                let kind = NumberKind::Select(condition, Box::new((left, right)));
                Ok(Typed::Number(Number { int_type, kind }))
            }
            (left, right) => place.error(format!("cannot choose between {} and {}", left.name(), right.name())),
        }
    }

    fn equality(&self, place: &Place, comparison: Comparison) -> Load<Typed> {
        let left = self.typed(&place.need("left")?)?;
        let right = self.typed(&place.need("right")?)?;
        let equal = match (left, right) {
            (Typed::Number(left), Typed::Number(right)) => {
                return Ok(Typed::Bool(lower::compare(comparison, &left, &right, place)?));
            }
            (Typed::Bool(left), Typed::Bool(right)) => {
                let operator = crate::expr::Binary::Unsigned(comparison);
                return Ok(Typed::Bool(Expr::Binary(operator, Box::new((left, right)))));
            }
            (Typed::Variable(left), Typed::Variable(right)) => {
                if left.width != right.width {
                    return place.error("variable fields of different largest widths");
                }
                let words = 1 + limbs_for(left.width);
                Expr::VariablesEqual {
                    left: left.slot,
                    right: right.slot,
                    words,
                }
            }
            (Typed::Header(HeaderExpr::Fixed(left)), Typed::Header(HeaderExpr::Fixed(right))) => {
                if self.layout.headers[left].header_type != self.layout.headers[right].header_type {
                    return place.error("headers of different types");
                }
                Expr::HeadersEqual(left, right)
            }
            (Typed::Union(left), Typed::Union(right)) => {
                if !self.same_union_type(left, right) {
                    return place.error("header unions of different types");
                }
                Expr::UnionsEqual(left, right)
            }
            (left, right) => return place.error(format!("cannot compare {} with {}", left.name(), right.name())),
        };
        Ok(Typed::Bool(match comparison {
            Comparison::Ne => Expr::Unary(Unary::IsZero, Box::new(equal)),
            _ => equal,
        }))
    }

    /// Member by member of the same header types.
    pub fn same_union_type(&self, left: UnionId, right: UnionId) -> bool {
        let types = |union: UnionId| {
            self.layout.unions[union]
                .iter()
                .map(|&h| self.layout.headers[h].header_type)
                .collect::<Vec<_>>()
        };
        types(left) == types(right)
    }

    fn comparison(&self, place: &Place, comparison: Comparison) -> Load<Typed> {
        let left = self.number(&place.need("left")?)?;
        let right = self.number(&place.need("right")?)?;
        Ok(Typed::Bool(lower::compare(comparison, &left, &right, place)?))
    }

    fn logical(&self, place: &Place, operator: crate::expr::Binary) -> Load<Typed> {
        let left = self.condition(&place.need("left")?)?;
        let right = self.condition(&place.need("right")?)?;
        Ok(Typed::Bool(Expr::Binary(operator, Box::new((left, right)))))
    }

    fn dereference(&self, place: &Place) -> Load<Typed> {
        let left = place.need("left")?;
        let Typed::Stack(stack) = self.typed(&left)? else {
            return left.error("expected a header stack");
        };
        let index = self.number(&place.need("right")?)?;
        Ok(Typed::Header(HeaderExpr::Element { stack, index }))
    }

    fn access_field(&self, place: &Place) -> Load<Typed> {
        let header = self.header(&place.need("left")?)?;
        let position = place.need("right")?;
        let header_type = match &header {
            HeaderExpr::Fixed(id) => self.layout.headers[*id].header_type,
            HeaderExpr::Element { stack, .. } => self.layout.stacks[*stack].header_type,
        };
        let fields = &self.layout.types[header_type].fields;
        let Some(field) = fields.get(position.size(usize::MAX)?) else {
            return position.error(format!("the header has {} fields", fields.len()));
        };
        if field.variable {
            return position.error("a variable field can only be assigned, compared and emitted");
        }
        let (offset, width) = (field.offset, field.width);
        let kind = match header {
            HeaderExpr::Fixed(id) => NumberKind::Field {
                slot: self.layout.headers[id].base + offset,
                width,
            },
            HeaderExpr::Element { stack, index } => NumberKind::Element {
                stack,
                index: Box::new(index),
                offset,
                width,
            },
        };
        Ok(Typed::Number(Number {
            int_type: int_type(width, field.signed),
            kind,
        }))
    }

    /// The operand and the constant width of a cast.
    fn cast(&self, place: &Place) -> Load<(Number, u32)> {
        let value = self.number(&place.need("left")?)?;
        let width = place.need("right")?;
        match self.number(&width)?.as_constant() {
            // Of a value of no bits nothing is left.
            Some(0) => Ok((Number::constant(0), 1)),
            Some(bits) if bits <= u64::from(MAX_VALUE_BITS) => Ok((value, bits as u32)),
            _ => width.error(format!("expected a constant width from 0 to {MAX_VALUE_BITS}")),
        }
    }

    fn arithmetic(&self, place: &Place, operator: Arithmetic) -> Load<Typed> {
        let left = match place.get("left")? {
            Some(left) => self.number(&left)?,
            // Unary plus and minus.
            None if matches!(operator, Arithmetic::Add | Arithmetic::Sub) => Number::constant(0),
            None => return place.error("missing member `left`"),
        };
        let right_place = place.need("right")?;
        let right = self.number(&right_place)?;
        if operator == Arithmetic::And {
            // A mask that cuts nothing off: p4c puts one on every cast.
            if let Some(whole) = only_masked(&left, &right).or_else(|| only_masked(&right, &left)) {
                return Ok(Typed::Number(whole));
            }
        }
        if matches!(operator, Arithmetic::Div | Arithmetic::Mod)
            && (left.int_type.is_signed() || right.int_type.is_signed())
        {
            return place.error("division and remainder are defined for unsigned operands only");
        }
        Ok(Typed::Number(calculated(operator, left, right)))
    }
}
