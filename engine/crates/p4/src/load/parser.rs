// SPDX-License-Identifier: Apache-2.0
//! Parsers and deparsers.

use super::actions::{Context, load_primitive, target};
use super::expr::Typed;
use super::headers::type_field;
use super::json::{Load, Place};
use super::last::last_reads;
use super::{MAX_VALUE_BITS, lower, unique};
use crate::expr::Expr;
use crate::ir::{
    DefaultTransition, HeaderId, KeySource, LastRead, ParseState, Parser, ParserErrors, ParserOp, Primitive,
    Transition, Value, ValueSet, When,
};
use crate::value::{from_be_bytes, limbs_for};
use std::collections::BTreeMap;

/// The core library's errors. A program that declares none gets the core library's own order.
pub(super) fn load_errors(root: &Place) -> Load<ParserErrors> {
    let mut codes = BTreeMap::new();
    for error in root.list("errors")? {
        let [name, code] = error.tuple()?;
        codes.insert(name.text()?, code.number(u64::from(u32::MAX))?);
    }
    let code = |name: &str, order: u64| codes.get(name).copied().unwrap_or(order);
    Ok(ParserErrors {
        no_error: code("NoError", 0),
        packet_too_short: code("PacketTooShort", 1),
        no_match: code("NoMatch", 2),
        stack_out_of_bounds: code("StackOutOfBounds", 3),
        header_too_short: code("HeaderTooShort", 4),
        parser_timeout: code("ParserTimeout", 5),
        parser_invalid_argument: code("ParserInvalidArgument", 6),
        names: codes.into_iter().map(|(name, code)| (code, name.to_owned())).collect(),
    })
}

/// Value sets by name; the widths of their parts come with the parser that uses them.
pub(super) fn load_value_sets(root: &Place) -> Load<(Vec<ValueSet>, BTreeMap<String, usize>)> {
    let mut names = BTreeMap::new();
    let mut sets = Vec::new();
    for place in root.list("parse_vsets")? {
        let name = place.need("name")?;
        unique(&mut names, &name, sets.len())?;
        let width = place.need("compressed_bitwidth")?.number(u64::from(MAX_VALUE_BITS))? as u32;
        sets.push(ValueSet {
            name: name.text()?.to_owned(),
            widths: vec![width],
        });
    }
    Ok((sets, names))
}

/// The parser named `parser`.
pub(super) fn load_parser(
    root: &Place,
    context: Context,
    sets: &mut [ValueSet],
    set_names: &BTreeMap<String, usize>,
) -> Load<Parser> {
    let parsers = root.need("parsers")?;
    let place = super::only_named(&parsers, "parser")?;
    let states = place.need("parse_states")?.items()?;
    let mut names = BTreeMap::new();
    for (index, state) in states.iter().enumerate() {
        unique(&mut names, &state.need("name")?, index)?;
    }
    let start = match place.get("init_state")? {
        Some(name) => Some(state_named(&names, &name)?),
        None => None,
    };
    let mut loaded = Vec::new();
    for state in &states {
        loaded.push(load_state(state, context, &names, sets, set_names)?);
    }
    Ok(Parser { states: loaded, start })
}

fn state_named(names: &BTreeMap<String, usize>, place: &Place) -> Load<usize> {
    match names.get(place.text()?) {
        Some(&state) => Ok(state),
        None => place.error("no such parser state"),
    }
}

fn load_state(
    place: &Place,
    context: Context,
    names: &BTreeMap<String, usize>,
    sets: &mut [ValueSet],
    set_names: &BTreeMap<String, usize>,
) -> Load<ParseState> {
    let mut ops = Vec::new();
    for op in place.need("parser_ops")?.items()? {
        let loaded = load_op(&op, context)?;
        let reads = op_reads(&op, context)?;
        if !reads.is_empty() {
            ops.push(ParserOp::NeedLast(reads));
        }
        ops.push(loaded);
    }
    let mut key = Vec::new();
    for part in place.list("transition_key")? {
        key.push(load_key(&part, context)?);
    }
    let widths: Vec<u32> = key.iter().map(KeySource::width).collect();
    // Without a key there is nothing to match: the state ends the parser unless a transition says where it goes.
    let default = if key.is_empty() {
        DefaultTransition::To(None)
    } else {
        DefaultTransition::Missing
    };
    let mut state = ParseState {
        name: place.need("name")?.text()?.to_owned(),
        ops,
        key,
        cases: Vec::new(),
        default,
    };
    for transition in place.need("transitions")?.items()? {
        let next = match transition.get("next_state")? {
            Some(name) => Some(state_named(names, &name)?),
            None => None,
        };
        let kind = transition.get("type")?;
        let kind = kind.as_ref().map_or(Ok("hexstr"), Place::text)?;
        let value = transition.get("value")?;
        let is_default = match &value {
            Some(value) => value.is_string() && value.text()? == "default",
            None => true,
        };
        match (kind, value) {
            ("default", _) => state.default = DefaultTransition::To(next),
            ("hexstr", _) if is_default => state.default = DefaultTransition::To(next),
            ("hexstr", Some(value)) => {
                let mask = match transition.get("mask")? {
                    Some(mask) => parts(&mask, &widths)?,
                    None => ones(&widths),
                };
                let mut value = parts(&value, &widths)?;
                value.iter_mut().zip(&mask).for_each(|(v, m)| *v &= m);
                state.cases.push(Transition {
                    when: When::Matches { value, mask },
                    next,
                });
            }
            ("parse_vset", Some(name)) => {
                let Some(&set) = set_names.get(name.text()?) else {
                    return name.error("no such value set");
                };
                let total: u32 = widths.iter().sum();
                let declared: u32 = sets[set].widths.iter().sum();
                if total != declared {
                    return name.error(format!("the key has {total} bits, the value set {declared}"));
                }
                sets[set].widths.clone_from(&widths);
                let mask = match transition.get("mask")? {
                    Some(mask) => parts(&mask, &widths)?,
                    None => ones(&widths),
                };
                state.cases.push(Transition {
                    when: When::InSet { set, mask },
                    next,
                });
            }
            (other, _) => return transition.error(format!("transition type `{other}` is not supported")),
        }
    }
    Ok(state)
}

/// Splits a hexadecimal string of byte-padded parts into words, as the key has them.
fn parts(place: &Place, widths: &[u32]) -> Load<Vec<u64>> {
    let hex = place.hex()?;
    let expected: usize = widths.iter().map(|&w| (w as usize).div_ceil(8)).sum();
    let mut rest = hex.bytes.as_slice();
    if expected == 0 && hex.magnitude.is_empty() {
        // p4c writes a digit for a key of no bits.
        rest = &[];
    }
    if hex.negative || rest.len() != expected {
        return place.error(format!("expected {expected} bytes, found {}", rest.len()));
    }
    let mut words = Vec::new();
    for &width in widths {
        let (part, after) = rest.split_at((width as usize).div_ceil(8));
        let mut limbs = from_be_bytes(part, limbs_for(width)).unwrap_or_default();
        crate::value::truncate(&mut limbs, width);
        words.append(&mut limbs);
        rest = after;
    }
    Ok(words)
}

/// A mask that compares everything.
fn ones(widths: &[u32]) -> Vec<u64> {
    let mut words = Vec::new();
    for &width in widths {
        let mut limbs = vec![u64::MAX; limbs_for(width)];
        crate::value::truncate(&mut limbs, width);
        words.append(&mut limbs);
    }
    words
}

fn load_key(place: &Place, context: Context) -> Load<KeySource> {
    let scope = context.scope;
    let kind = place.need("type")?;
    let value = place.need("value")?;
    match kind.text()? {
        "field" => match scope.names.field(scope.layout, &value)? {
            field if field.variable => value.error("a variable field cannot be a key"),
            field => Ok(KeySource::Field(field)),
        },
        "stack_field" => {
            let [stack, field] = value.tuple()?;
            let stack = scope.names.stack(&stack)?;
            let field = type_field(scope.layout, scope.layout.stacks[stack].header_type, &field)?;
            if field.variable {
                return value.error("a variable field cannot be a key");
            }
            Ok(KeySource::LastOfStack {
                stack,
                offset: field.offset,
                width: field.width,
            })
        }
        "union_stack_field" => {
            let [stack, member, field] = value.tuple()?;
            let stack = scope.names.union_stack(&stack)?;
            let member = scope.names.member(scope.layout, stack, &member)?;
            let header = scope.layout.unions[scope.layout.union_stacks[stack].elements[0]][member];
            let field = type_field(scope.layout, scope.layout.headers[header].header_type, &field)?;
            if field.variable {
                return value.error("a variable field cannot be a key");
            }
            Ok(KeySource::LastOfUnionStack {
                stack,
                member,
                offset: field.offset,
                width: field.width,
            })
        }
        "lookahead" => {
            let (offset_bits, width) = lookahead(&value)?;
            Ok(KeySource::Lookahead { offset_bits, width })
        }
        other => kind.error(format!("key type `{other}` is not supported")),
    }
}

fn lookahead(place: &Place) -> Load<(u32, u32)> {
    let [offset, width] = place.tuple()?;
    let offset_bits = offset.number(u64::from(MAX_VALUE_BITS))? as u32;
    Ok((offset_bits, width.number(u64::from(MAX_VALUE_BITS))? as u32))
}

fn load_op(place: &Place, context: Context) -> Load<ParserOp> {
    let op = place.need("op")?;
    let params = place.list("parameters")?;
    match (op.text()?, params.as_slice()) {
        ("extract", [what]) => load_extract(what, None, context),
        ("extract_VL", [what, length]) => load_extract(what, Some(context.scope.word(length)?), context),
        ("set", [to, from]) => load_set(to, from, context),
        ("verify", [condition, error]) => Ok(ParserOp::Verify {
            condition: context.scope.condition(condition)?,
            error: context.scope.word(error)?,
        }),
        ("advance", [bits]) => Ok(ParserOp::Advance {
            bits: context.scope.word(bits)?,
        }),
        ("shift", [bytes]) => {
            let bytes = bytes.number(u64::from(MAX_VALUE_BITS))?;
            Ok(ParserOp::Advance {
                bits: Expr::Const(bytes * 8),
            })
        }
        ("primitive", [primitive]) => {
            let mut body = Vec::new();
            load_primitive(primitive, context, 0, &mut body)?;
            match body.pop() {
                Some(Primitive::Jump(_) | Primitive::JumpIfZero { .. }) => {
                    primitive.error("a parser state has no jumps")
                }
                Some(primitive) => Ok(ParserOp::Primitive(primitive)),
                None => primitive.error("expected a primitive"),
            }
        }
        (name @ ("extract" | "extract_VL" | "set" | "verify" | "advance" | "shift" | "primitive"), _) => {
            place.error(format!("`{name}` with {} parameters", params.len()))
        }
        (name, _) => op.error(format!("parser operation `{name}` is not supported")),
    }
}

/// Returns the reads of `last` in an operation.
fn op_reads(place: &Place, context: Context) -> Load<Vec<LastRead>> {
    let mut reads = Vec::new();
    let params = place.list("parameters")?;
    let primitive = match (place.need("op")?.text()?, params.as_slice()) {
        ("primitive", [primitive]) => primitive.list("parameters")?,
        _ => params,
    };
    for param in &primitive {
        last_reads(param, context, &mut reads)?;
    }
    Ok(reads)
}

fn load_extract(what: &Place, bits: Option<Expr>, context: Context) -> Load<ParserOp> {
    let (layout, names) = (context.scope.layout, context.scope.names);
    let kind = what.need("type")?;
    let value = what.need("value")?;
    let has_variable = |header: HeaderId| {
        layout.types[layout.headers[header].header_type]
            .codec
            .max_variable_bits()
            > 0
    };
    let (header, op) = match kind.text()? {
        "regular" => {
            let header = names.header(&value)?;
            let op = match bits.clone() {
                Some(bits) => ParserOp::ExtractVariable { header, bits },
                None => ParserOp::Extract(header),
            };
            (header, op)
        }
        "stack" => {
            let stack = names.stack(&value)?;
            (
                layout.stacks[stack].elements[0],
                ParserOp::ExtractNext {
                    stack,
                    bits: bits.clone(),
                },
            )
        }
        "union_stack" => {
            let [stack, member] = value.tuple()?;
            let stack = names.union_stack(&stack)?;
            let member = names.member(layout, stack, &member)?;
            let header = layout.unions[layout.union_stacks[stack].elements[0]][member];
            (
                header,
                ParserOp::ExtractNextUnion {
                    stack,
                    member,
                    bits: bits.clone(),
                },
            )
        }
        other => return kind.error(format!("cannot extract a `{other}`")),
    };
    match (has_variable(header), bits) {
        (true, None) => what.error("a header with a variable field needs `extract_VL`"),
        (false, Some(_)) => what.error("`extract_VL` needs a header with a variable field"),
        _ => Ok(op),
    }
}

fn load_set(to: &Place, from: &Place, context: Context) -> Load<ParserOp> {
    let scope = context.scope;
    let source = from.need("type")?;
    let is_variable =
        to.need("type")?.text()? == "field" && scope.names.field(scope.layout, &to.need("value")?)?.variable;
    if is_variable {
        let target_field = scope.names.field(scope.layout, &to.need("value")?)?;
        if source.text()? != "field" {
            return from.error("a variable field can only be set from another one");
        }
        let source_field = scope.names.field(scope.layout, &from.need("value")?)?;
        if !source_field.variable || source_field.width > target_field.width {
            return from.error("expected a variable field that is not longer than the target");
        }
        return Ok(ParserOp::Primitive(Primitive::AssignVariable {
            target: target_field,
            source: source_field,
        }));
    }
    let (target, width) = target(scope, to)?;
    if source.text()? == "lookahead" {
        let (offset_bits, bits) = lookahead(&from.need("value")?)?;
        return Ok(ParserOp::Lookahead {
            target,
            offset_bits,
            width: bits,
        });
    }
    let value = match scope.typed(from)? {
        Typed::Number(number) => lower::value(&number, width, from)?,
        Typed::Bool(expr) if width <= 64 => Value::Word(expr),
        _ => return from.error("expected a number"),
    };
    Ok(ParserOp::Primitive(Primitive::Assign { target, value }))
}

/// The headers that the deparser named `deparser` emits.
pub(super) fn load_deparser(root: &Place, context: Context) -> Load<Vec<HeaderId>> {
    let deparsers = root.need("deparsers")?;
    let place = super::only_named(&deparsers, "deparser")?;
    if let Some(primitive) = place.list("primitives")?.first() {
        return primitive.error("primitives in a deparser are not supported");
    }
    place
        .need("order")?
        .items()?
        .iter()
        .map(|name| context.scope.names.header(name))
        .collect()
}
