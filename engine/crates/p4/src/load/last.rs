// SPDX-License-Identifier: Apache-2.0
//! Reads of a stack's last element in a parser's expressions.

use super::actions::Context;
use super::json::{Load, Place};
use crate::expr::Expr;
use crate::ir::{LastRead, StackId};

/// Bytes of memory that an object of an expression may take as part of a condition.
const CONDITION_BYTES: u64 = 2 * size_of::<Expr>() as u64;

/// Adds the reads of `last` in a parameter of a parser's operation.
pub(super) fn last_reads(place: &Place, context: Context, found: &mut Vec<LastRead>) -> Load<()> {
    // Lengths of `shift` and field positions are plain numbers.
    if !place.is_object() {
        return Ok(());
    }
    let (Some(kind), Some(value)) = (place.get("type")?, place.get("value")?) else {
        return Ok(());
    };
    match kind.text()? {
        "stack_field" => found.push(LastRead::Always(context.scope.names.stack(&value.tuple::<2>()?[0])?)),
        "expression" if value.get("op")?.is_some() => operation(&value, context, found)?,
        "expression" => last_reads(&value, context, found)?,
        "parameters_vector" => {
            for item in value.items()? {
                last_reads(&item, context, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn operation(place: &Place, context: Context, found: &mut Vec<LastRead>) -> Load<()> {
    let reads = |key: &str| -> Load<Vec<LastRead>> {
        let mut found = Vec::new();
        if let Some(operand) = place.get(key)? {
            last_reads(&operand, context, &mut found)?;
        }
        Ok(found)
    };
    let op = place.need("op")?;
    let (first, yes, no) = match op.text()? {
        "and" => ("left", reads("right")?, Vec::new()),
        "or" => ("left", Vec::new(), reads("right")?),
        "?" => ("cond", reads("left")?, reads("right")?),
        other => {
            if other == "dereference_header_stack" {
                found.extend(last_element(place, context)?.map(LastRead::Always));
            }
            found.extend(reads("left")?);
            found.extend(reads("right")?);
            return Ok(());
        }
    };
    found.extend(reads(first)?);
    if !yes.is_empty() || !no.is_empty() {
        let condition = place.need(first)?;
        condition.charge(condition.objects() * CONDITION_BYTES)?;
        let condition = context.scope.condition(&condition)?;
        found.push(LastRead::If { condition, yes, no });
    }
    Ok(())
}

/// Returns the stack of `stack[stack.lastIndex]`, which is `stack.last` in p4c's JSON.
fn last_element(place: &Place, context: Context) -> Load<Option<StackId>> {
    let (stack, index) = (place.need("left")?.need("value")?, place.need("right")?);
    let Some(index) = index.get("value")?.filter(Place::is_object) else {
        return Ok(None);
    };
    let is_last = match index.get("op")? {
        Some(op) => op.text()? == "last_stack_index" && index.need("right")?.need("value")?.text()? == stack.text()?,
        None => false,
    };
    is_last.then(|| context.scope.names.stack(&stack)).transpose()
}
