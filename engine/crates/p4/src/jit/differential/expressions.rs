// SPDX-License-Identifier: Apache-2.0
//! Random expressions, as p4c writes them.

use super::Dice;
use crate::value::to_be_bytes;
use serde_json::{Value, json};

/// A field of a fixed place.
#[derive(Clone)]
pub(super) struct FieldName {
    pub header: String,
    pub field: String,
    pub width: u32,
}

impl FieldName {
    pub fn path(&self) -> Value {
        json!([self.header, self.field])
    }
}

/// What an expression can name.
#[derive(Default)]
pub(super) struct Names {
    pub fields: Vec<FieldName>,
    pub headers: Vec<String>,
    /// Name, size, and fields with their widths.
    pub stack: (String, usize, Vec<(String, u32)>),
    pub unions: Vec<String>,
    /// Two fields of one largest length.
    pub variables: Vec<FieldName>,
}

fn operation(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

/// A number as p4c writes it.
pub(super) fn hex(limbs: &[u64]) -> String {
    let digits: String = to_be_bytes(limbs).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

pub(super) fn number_constant(value: u64) -> Value {
    json!({"type": "hexstr", "value": hex(&[value])})
}

/// Makes expressions for an action with so many parameters, or for a place without any.
pub(super) struct Expressions<'a> {
    pub dice: &'a mut Dice,
    pub names: &'a Names,
    pub params: usize,
}

impl Expressions<'_> {
    fn cut(&mut self, value: Value, width: u32) -> Value {
        let mut ones = vec![u64::MAX; crate::value::limbs_for(width)];
        crate::value::truncate(&mut ones, width);
        operation("&", value, json!({"type": "hexstr", "value": hex(&ones)}))
    }

    fn index(&mut self) -> Value {
        match self.dice.below(4) {
            0 => self.leaf(),
            _ => number_constant(self.dice.below(5) as u64),
        }
    }

    fn leaf(&mut self) -> Value {
        match self.dice.below(8) {
            0 | 1 => {
                let width = self.dice.width(140);
                json!({"type": "hexstr", "value": hex(&self.dice.value(width))})
            }
            2 if self.params > 0 => json!({"type": "runtime_data", "value": self.dice.below(self.params)}),
            _ => json!({"type": "field", "value": self.dice.pick(&self.names.fields).path()}),
        }
    }

    /// An element of the stack by an index.
    pub fn element(&mut self) -> Value {
        let stack = json!({"type": "header_stack", "value": self.names.stack.0});
        let index = self.index();
        operation("dereference_header_stack", stack, index)
    }

    fn of_stack(&mut self) -> Value {
        let stack = json!({"type": "header_stack", "value": self.names.stack.0});
        match self.dice.below(4) {
            0 => operation("last_stack_index", Value::Null, stack),
            1 => operation("size_stack", Value::Null, stack),
            2 => json!({"type": "stack_field", "value": [self.names.stack.0, self.dice.pick(&self.names.stack.2).0]}),
            _ => {
                let element = self.element();
                let field = self.dice.below(self.names.stack.2.len());
                operation("access_field", element, json!(field))
            }
        }
    }

    /// A number.
    pub fn number(&mut self, depth: usize) -> Value {
        if depth == 0 || self.dice.chance(15) {
            return if self.dice.chance(15) {
                self.of_stack()
            } else {
                self.leaf()
            };
        }
        match self.dice.below(12) {
            0..=4 => {
                let op = *self.dice.pick(&["+", "-", "*", "&", "|", "^"]);
                let (left, right) = (self.number(depth - 1), self.number(depth - 1));
                let value = operation(op, left, right);
                let width = self.dice.width(140);
                if self.dice.chance(70) {
                    self.cut(value, width)
                } else {
                    value
                }
            }
            5 => {
                let op = *self.dice.pick(&["/", "%"]);
                let (left, right) = (self.number(depth - 1), self.number(depth - 1));
                let (left, right) = (self.cut(left, 64), self.cut(right, 20));
                operation(op, left, right)
            }
            6 | 7 => {
                let op = *self.dice.pick(&["<<", ">>"]);
                let value = self.number(depth - 1);
                let amount = if self.dice.chance(60) {
                    number_constant(self.dice.below(150) as u64)
                } else {
                    let amount = self.leaf();
                    self.cut(amount, 7)
                };
                let width = self.dice.width(140);
                let shifted = operation(op, value, amount);
                self.cut(shifted, width)
            }
            8 => {
                let op = *self.dice.pick(&["two_comp_mod", "usat_cast", "sat_cast"]);
                let value = self.number(depth - 1);
                let width = u64::from(self.dice.width(130));
                operation(op, value, number_constant(width))
            }
            9 => {
                let value = self.number(depth - 1);
                let inverted = operation("~", Value::Null, value);
                let width = self.dice.width(140);
                self.cut(inverted, width)
            }
            10 => {
                let condition = self.truth(depth - 1);
                let (left, right) = (self.number(depth - 1), self.number(depth - 1));
                json!({"type": "expression", "value": {"op": "?", "cond": condition, "left": left, "right": right}})
            }
            _ => {
                let truth = self.truth(depth - 1);
                operation("b2d", Value::Null, truth)
            }
        }
    }

    /// A boolean.
    pub fn truth(&mut self, depth: usize) -> Value {
        if depth == 0 {
            return match self.dice.below(5) {
                0 => json!({"type": "bool", "value": self.dice.chance(50)}),
                1 => {
                    let element = self.element();
                    operation("valid", Value::Null, element)
                }
                2 => {
                    let union = json!({"type": "header_union", "value": self.dice.pick(&self.names.unions)});
                    operation("valid_union", Value::Null, union)
                }
                _ => {
                    let header = json!({"type": "header", "value": self.dice.pick(&self.names.headers)});
                    operation("valid", Value::Null, header)
                }
            };
        }
        match self.dice.below(9) {
            0 => {
                let op = *self.dice.pick(&["and", "or"]);
                let (left, right) = (self.truth(depth - 1), self.truth(depth - 1));
                operation(op, left, right)
            }
            1 => {
                let truth = self.truth(depth - 1);
                operation("not", Value::Null, truth)
            }
            2 => {
                let number = self.number(depth - 1);
                operation("d2b", Value::Null, number)
            }
            3 => {
                let op = *self.dice.pick(&["==", "!="]);
                let kind = self.dice.below(3);
                let side = |name: &str| match kind {
                    0 => json!({"type": "header", "value": name}),
                    1 => json!({"type": "header_union", "value": name}),
                    _ => json!({"type": "field", "value": [name, "options"]}),
                };
                let (left, right) = match kind {
                    0 => ("alike_0", "alike_1"),
                    1 => (self.names.unions[0].as_str(), self.names.unions[1].as_str()),
                    _ => ("variable_0", "variable_1"),
                };
                operation(op, side(left), side(right))
            }
            _ => {
                let op = *self.dice.pick(&["==", "!=", "<", "<=", ">", ">="]);
                let left = self.number(depth - 1);
                // Equal sides happen too.
                let right = if self.dice.chance(10) {
                    left.clone()
                } else {
                    self.number(depth - 1)
                };
                operation(op, left, right)
            }
        }
    }
}
