// SPDX-License-Identifier: Apache-2.0
//! Actions and the primitives in them.

use super::expr::{HeaderExpr, Scope, Typed, calculated};
use super::headers::type_field;
use super::json::{Load, Place};
use super::number::{Arithmetic, Number, NumberKind};
use super::objects::Objects;
use super::{MAX_STATE_WORDS, MAX_VALUE_BITS, lower};
use crate::expr::Expr;
use crate::ir::{Action, FieldRef, HeaderRef, Param, Primitive, Target, Value};
use crate::value::{limbs_for, mask};

/// What primitives may refer to beyond the packet state.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub scope: Scope<'a>,
    pub objects: &'a Objects,
}

/// Reads one item of `actions`.
pub(super) fn load_action(place: &Place, context: Context) -> Load<Action> {
    let mut params = Vec::new();
    let mut arg_words = 0;
    for param in place.need("runtime_data")?.items()? {
        let width = param.need("bitwidth")?.number(u64::from(MAX_VALUE_BITS))? as u32;
        params.push(Param {
            name: param.need("name")?.text()?.to_owned(),
            width,
            offset: arg_words,
        });
        arg_words += limbs_for(width);
        if arg_words > MAX_STATE_WORDS {
            return place.error("parameters are too large");
        }
    }
    let context = Context {
        scope: Scope {
            params: &params,
            ..context.scope
        },
        ..context
    };
    let primitives = place.need("primitives")?.items()?;
    let mut body = Vec::new();
    place.charge_words(primitives.len() + 1)?;
    let mut work_before = vec![0];
    let mut work = 0u64;
    for primitive in &primitives {
        load_primitive(primitive, context, primitives.len(), &mut body)?;
        let parameters = primitive.get("parameters")?.map_or(0, |place| place.objects());
        work += body.last().map_or(0, |loaded| crate::work::of(loaded, parameters));
        work_before.push(work);
    }
    Ok(Action {
        name: place.need("name")?.text()?.to_owned(),
        source: primitives.first().and_then(Place::source),
        params,
        arg_words,
        body,
        work_before,
    })
}

/// Reads one primitive into `body`: exactly one entry, so that jumps count as in the JSON.
pub(super) fn load_primitive(place: &Place, context: Context, length: usize, body: &mut Vec<Primitive>) -> Load<()> {
    let op = place.need("op")?;
    let reader = Reader {
        place,
        context,
        params: place.list("parameters")?,
    };
    let Some(primitive) = reader.primitive(op.text()?, length)? else {
        return op.error(format!("primitive `{}` is not supported", op.text()?));
    };
    body.push(primitive);
    Ok(())
}

struct Reader<'a, 'j> {
    place: &'a Place<'j>,
    context: Context<'a>,
    params: Vec<Place<'j>>,
}

impl<'j> Reader<'_, 'j> {
    fn params<const N: usize>(&self) -> Load<&[Place<'j>; N]> {
        match self.params.as_slice().try_into() {
            Ok(params) => Ok(params),
            Err(_) => self
                .place
                .error(format!("expected {N} parameters, found {}", self.params.len())),
        }
    }

    fn primitive(&self, op: &str, length: usize) -> Load<Option<Primitive>> {
        let scope = self.context.scope;
        let objects = self.context.objects;
        Ok(Some(match op {
            "assign" | "modify_field" => {
                let [target, source] = self.params()?;
                self.assign(target, source)?
            }
            "add" | "subtract" | "bit_and" | "bit_or" | "bit_xor" | "shift_left" | "shift_right" => {
                let [target, left, right] = self.params()?;
                self.calculate(op, target, left, right)?
            }
            "add_to_field" | "subtract_from_field" => {
                let [target, amount] = self.params()?;
                self.calculate(op, target, target, amount)?
            }
            "assign_VL" => {
                let [target, source] = self.params()?;
                let (target_field, source_field) = (variable_field(scope, target)?, variable_field(scope, source)?);
                if source_field.width > target_field.width {
                    return self.place.error("the source may be longer than the target");
                }
                Primitive::AssignVariable {
                    target: target_field,
                    source: source_field,
                }
            }
            "assign_header" | "copy_header" => {
                let [target, source] = self.params()?;
                let (target_type, target) = self.header(target)?;
                let (source_type, source) = self.header(source)?;
                if target_type != source_type {
                    return self.place.error("headers of different types");
                }
                Primitive::AssignHeader { target, source }
            }
            "assign_union" => self.assign_union()?,
            "assign_header_stack" => self.assign_stack()?,
            "assign_union_stack" => self.assign_union_stack()?,
            "add_header" => Primitive::SetValid(self.header(&self.params::<1>()?[0])?.1),
            "add_header_fast" => Primitive::MarkValid(self.header(&self.params::<1>()?[0])?.1),
            "remove_header" => Primitive::SetInvalid(self.header(&self.params::<1>()?[0])?.1),
            "push" | "pop" => self.shift_stack(op == "push")?,
            "_jump" => Primitive::Jump(self.jump(&self.params::<1>()?[0], length)?),
            "_jump_if_zero" => {
                let [condition, to] = self.params()?;
                Primitive::JumpIfZero {
                    condition: self.truth(condition)?,
                    to: self.jump(to, length)?,
                }
            }
            "exit" => {
                self.params::<0>()?;
                Primitive::Exit
            }
            "mark_to_drop" => {
                let [header] = self.params()?;
                match self.header(header)?.1 {
                    HeaderRef::Fixed(id) => self.mark_to_drop(&scope.layout.headers[id].name)?,
                    HeaderRef::Element { .. } => return header.error("a stack element cannot be standard metadata"),
                }
            }
            "drop" => {
                self.params::<0>()?;
                self.mark_to_drop("standard_metadata")?
            }
            "no_op" => {
                self.params::<0>()?;
                Primitive::NoOp
            }
            "count" => {
                let [counter, index] = self.params()?;
                Primitive::Count {
                    counter: objects.counter(counter)?,
                    index: scope.word(index)?,
                }
            }
            "register_read" => {
                let [target, register, index] = self.params()?;
                Primitive::RegisterRead {
                    target: self.target(target)?.0,
                    register: objects.register(register)?,
                    index: scope.word(index)?,
                }
            }
            "register_write" => {
                let [register, index, value] = self.params()?;
                let register = objects.register(register)?;
                let width = objects.registers[register].width;
                Primitive::RegisterWrite {
                    register,
                    index: scope.word(index)?,
                    value: self.value(value, width)?,
                }
            }
            "execute_meter" => {
                let [meter, index, target] = self.params()?;
                Primitive::Meter {
                    meter: objects.meter(meter)?,
                    index: scope.word(index)?,
                    target: self.target(target)?.0,
                }
            }
            "modify_field_with_hash_based_offset" => {
                let [target, base, calculation, modulus] = self.params()?;
                Primitive::Hash {
                    target: self.target(target)?.0,
                    base: scope.word(base)?,
                    calculation: objects.calculation(calculation)?,
                    modulus: scope.word(modulus)?,
                }
            }
            "modify_field_rng_uniform" => {
                let [target, low, high] = self.params()?;
                Primitive::Random {
                    target: self.target(target)?.0,
                    low: scope.word(low)?,
                    high: scope.word(high)?,
                }
            }
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
                let [session, list] = self.params()?;
                Primitive::Clone {
                    session: scope.word(session)?,
                    field_list: scope.word(list)?,
                }
            }
            "resubmit" => Primitive::Resubmit {
                field_list: scope.word(&self.params::<1>()?[0])?,
            },
            "recirculate" => Primitive::Recirculate {
                field_list: scope.word(&self.params::<1>()?[0])?,
            },
            "generate_digest" => {
                let [_receiver, id] = self.params()?;
                Primitive::Digest { id: scope.word(id)? }
            }
            "truncate" => Primitive::Truncate {
                bytes: scope.word(&self.params::<1>()?[0])?,
            },
            "assert" | "assume" => Primitive::Assert {
                condition: self.truth(&self.params::<1>()?[0])?,
            },
            "log_msg" => self.log()?,
            _ => return Ok(None),
        }))
    }

    /// A number or a boolean, as p4c writes either where BMv2 tests for zero.
    fn truth(&self, place: &Place) -> Load<Expr> {
        match self.context.scope.typed(place)? {
            Typed::Bool(expr) => Ok(expr),
            Typed::Number(number) => lower::is_not_zero(&number, place),
            _ => place.error("expected a boolean or a number"),
        }
    }

    fn jump(&self, place: &Place, length: usize) -> Load<usize> {
        match self.context.scope.number(place)?.as_constant() {
            Some(to) if to <= length as u64 => Ok(to as usize),
            _ => place.error(format!("invalid jump target; expected a constant from 0 to {length}")),
        }
    }

    fn value(&self, place: &Place, width: u32) -> Load<Value> {
        match self.context.scope.typed(place)? {
            Typed::Number(number) => lower::value(&number, width, place),
            Typed::Bool(expr) if width <= 64 => Ok(Value::Word(expr)),
            _ => place.error("expected a number"),
        }
    }

    fn assign(&self, target: &Place, source: &Place) -> Load<Primitive> {
        let (target, width) = self.target(target)?;
        Ok(Primitive::Assign {
            target,
            value: self.value(source, width)?,
        })
    }

    /// Older compilers' statements `target = left op right`.
    fn calculate(&self, op: &str, target: &Place, left: &Place, right: &Place) -> Load<Primitive> {
        let operator = match op {
            "add" | "add_to_field" => Arithmetic::Add,
            "subtract" | "subtract_from_field" => Arithmetic::Sub,
            "bit_and" => Arithmetic::And,
            "bit_or" => Arithmetic::Or,
            "bit_xor" => Arithmetic::Xor,
            "shift_left" => Arithmetic::Shl,
            _ => Arithmetic::Shr,
        };
        let scope = self.context.scope;
        let number = calculated(operator, scope.number(left)?, scope.number(right)?);
        let (target, width) = self.target(target)?;
        Ok(Primitive::Assign {
            target,
            value: lower::value(&number, width, self.place)?,
        })
    }

    /// Where an assignment goes, and its width.
    fn target(&self, place: &Place) -> Load<(Target, u32)> {
        target(self.context.scope, place)
    }

    /// The header's type and the header.
    fn header(&self, place: &Place) -> Load<(usize, HeaderRef)> {
        let layout = self.context.scope.layout;
        Ok(match self.context.scope.header(place)? {
            HeaderExpr::Fixed(id) => (layout.headers[id].header_type, HeaderRef::Fixed(id)),
            HeaderExpr::Element { stack, index } => {
                let index = lower::amount(&index, place)?;
                (layout.stacks[stack].header_type, HeaderRef::Element { stack, index })
            }
        })
    }

    /// In a header of the standard metadata's type: p4c copies it for an action that has it as an `inout` parameter.
    fn mark_to_drop(&self, header: &str) -> Load<Primitive> {
        let scope = self.context.scope;
        let find = |name: &str| {
            let field = scope.names.standard(scope.layout, name);
            field.filter(|field| !field.variable && field.width <= 64)
        };
        let Some(egress_spec) = find(&format!("{header}.egress_spec")) else {
            let reason = format!("`{header}` has no field `egress_spec` of at most 64 bits, as standard metadata has");
            return self.place.error(reason);
        };
        let older = (header == "standard_metadata").then(|| find("intrinsic_metadata.mcast_grp"));
        Ok(Primitive::MarkToDrop {
            egress_spec,
            multicast_group: older.flatten().or_else(|| find(&format!("{header}.mcast_grp"))),
        })
    }

    fn assign_union(&self) -> Load<Primitive> {
        let scope = self.context.scope;
        let [target, source] = self.params()?;
        match (scope.typed(target)?, scope.typed(source)?) {
            (Typed::Union(target), Typed::Union(source)) if scope.same_union_type(target, source) => {
                Ok(Primitive::AssignUnion { target, source })
            }
            _ => self.place.error("expected two header unions of one type"),
        }
    }

    fn assign_stack(&self) -> Load<Primitive> {
        let scope = self.context.scope;
        let [target, source] = self.params()?;
        let (Typed::Stack(target), Typed::Stack(source)) = (scope.typed(target)?, scope.typed(source)?) else {
            return self.place.error("expected two header stacks");
        };
        let (to, from) = (&scope.layout.stacks[target], &scope.layout.stacks[source]);
        if to.header_type != from.header_type || to.elements.len() != from.elements.len() {
            return self.place.error("header stacks of different types or sizes");
        }
        Ok(Primitive::AssignStack { target, source })
    }

    fn assign_union_stack(&self) -> Load<Primitive> {
        let scope = self.context.scope;
        let [target, source] = self.params()?;
        let (Typed::UnionStack(target), Typed::UnionStack(source)) = (scope.typed(target)?, scope.typed(source)?)
        else {
            return self.place.error("expected two header union stacks");
        };
        let (to, from) = (
            &scope.layout.union_stacks[target].elements,
            &scope.layout.union_stacks[source].elements,
        );
        if to.len() != from.len() || !scope.same_union_type(to[0], from[0]) {
            return self.place.error("header union stacks of different types or sizes");
        }
        Ok(Primitive::AssignUnionStack { target, source })
    }

    fn shift_stack(&self, push: bool) -> Load<Primitive> {
        let scope = self.context.scope;
        let [stack, count] = self.params()?;
        let words = scope.word(count)?;
        Ok(match (scope.typed(stack)?, push) {
            (Typed::Stack(stack), true) => Primitive::Push { stack, count: words },
            (Typed::Stack(stack), false) => Primitive::Pop { stack, count: words },
            (Typed::UnionStack(stack), true) => Primitive::PushUnion { stack, count: words },
            (Typed::UnionStack(stack), false) => Primitive::PopUnion { stack, count: words },
            _ => return stack.error("expected a stack"),
        })
    }

    fn log(&self) -> Load<Primitive> {
        let [format, vector] = self.params()?;
        let mut values = Vec::new();
        // p4c writes an empty object where there is nothing to log.
        if let Ok(items) = vector.need("value")?.items() {
            for item in items {
                values.push(match self.context.scope.typed(&item)? {
                    Typed::Bool(expr) => expr,
                    Typed::Number(number) => lower::word(&number, &item)?,
                    _ => return item.error("expected a number"),
                });
            }
        }
        Ok(Primitive::Log {
            format: format.need("value")?.text()?.to_owned(),
            values,
        })
    }
}

/// Where an assignment goes, and its width.
pub(super) fn target(scope: Scope, place: &Place) -> Load<(Target, u32)> {
    let Typed::Number(number) = scope.typed(place)? else {
        return place.error("expected an assignable number");
    };
    number_target(&number, place)
}

fn number_target(number: &Number, place: &Place) -> Load<(Target, u32)> {
    Ok(match &number.kind {
        NumberKind::Field { slot, width } if *width <= 64 => (
            Target::Word {
                slot: *slot,
                mask: mask(*width),
            },
            *width,
        ),
        NumberKind::Field { slot, width } => (
            Target::Wide {
                slot: *slot,
                width: *width,
            },
            *width,
        ),
        NumberKind::Element {
            stack,
            index,
            offset,
            width,
        } => {
            let index = lower::amount(index, place)?;
            (
                Target::Element {
                    stack: *stack,
                    index,
                    offset: *offset,
                    width: *width,
                },
                *width,
            )
        }
        NumberKind::Last { stack, offset, width } => (
            Target::Last {
                stack: *stack,
                offset: *offset,
                width: *width,
            },
            *width,
        ),
        _ => return place.error("expected a field to assign to"),
    })
}

fn variable_field(scope: Scope, place: &Place) -> Load<FieldRef> {
    let kind = place.need("type")?;
    let value = place.need("value")?;
    match kind.text()? {
        "field" => match scope.names.field(scope.layout, &value)? {
            field if field.variable => Ok(field),
            _ => value.error("expected a variable field"),
        },
        "stack_field" => {
            let [stack, field] = value.tuple()?;
            let stack = scope.names.stack(&stack)?;
            type_field(scope.layout, scope.layout.stacks[stack].header_type, &field)?;
            place.error("variable fields of `last` are not supported")
        }
        _ => kind.error("expected a variable field"),
    }
}
