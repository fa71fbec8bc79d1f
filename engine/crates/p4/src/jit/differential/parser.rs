// SPDX-License-Identifier: Apache-2.0
//! Random parsers.

use super::Dice;
use super::expressions::number_constant;
use super::program::Program;
use serde_json::{Value, json};

impl Program<'_> {
    pub fn parser(&mut self) -> Vec<Value> {
        let states = 3 + self.dice.below(5);
        (0..states)
            .map(|index| {
                let count = self.dice.below(4) + usize::from(index == 0);
                let ops: Vec<Value> = (0..count).map(|_| self.parser_op()).collect();
                let (key, width) = self.parser_key();
                let next = |dice: &mut Dice| match dice.below(states + 1) {
                    state if state < states => json!(format!("state {state}")),
                    _ => Value::Null,
                };
                let mut transitions = Vec::new();
                for _ in 0..if key.is_empty() { 0 } else { self.dice.below(4) } {
                    let bytes = width.div_ceil(8) as usize;
                    let bits = |dice: &mut Dice| {
                        if bytes == 0 {
                            return "0x0".to_owned();
                        }
                        let digits: String = (0..bytes).map(|_| format!("{:02x}", dice.pick(&[0, 0, 1, 2, 0xff]))).collect();
                        format!("0x{digits}")
                    };
                    let mask = if self.dice.chance(50) { json!(bits(self.dice)) } else { Value::Null };
                    transitions.push(if bytes == 1 && self.dice.chance(20) {
                        json!({"type": "parse_vset", "value": "set", "mask": null, "next_state": next(self.dice)})
                    } else {
                        json!({"type": "hexstr", "value": bits(self.dice), "mask": mask, "next_state": next(self.dice)})
                    });
                }
                // Without one, nothing but a match is accepted.
                if key.is_empty() || self.dice.chance(80) {
                    transitions.push(json!({"type": "default", "value": null, "mask": null, "next_state": next(self.dice)}));
                }
                json!({"name": format!("state {index}"), "parser_ops": ops, "transition_key": key, "transitions": transitions})
            })
            .collect()
    }

    /// Parts whose bits are whole bytes together with those that the JSON pads, and the bytes' bits.
    fn parser_key(&mut self) -> (Vec<Value>, u32) {
        let mut key = Vec::new();
        let mut bytes = 0;
        for _ in 0..self.dice.below(3) {
            let width = match self.dice.below(3) {
                0 => {
                    let width = self.dice.width(70);
                    key.push(json!({"type": "lookahead", "value": [self.dice.below(12), width]}));
                    width
                }
                1 => {
                    let (field, width) = self.dice.pick(&self.names.stack.2).clone();
                    key.push(json!({"type": "stack_field", "value": [self.names.stack.0, field]}));
                    width
                }
                _ => {
                    let field = self.dice.pick(&self.names.fields);
                    key.push(json!({"type": "field", "value": field.path()}));
                    field.width
                }
            };
            bytes += width.div_ceil(8);
        }
        (key, bytes * 8)
    }

    fn parser_op(&mut self) -> Value {
        let op = |op: &str, parameters: Value| json!({"op": op, "parameters": parameters});
        match self.dice.below(12) {
            0..=4 => {
                let plain = [
                    "plain_0",
                    "plain_1",
                    "alike_0",
                    "alike_1",
                    "union_0.small",
                    "union_0.large",
                    "union_1.large",
                ];
                op("extract", json!([{"type": "regular", "value": self.dice.pick(&plain)}]))
            }
            5 | 6 => op("extract", json!([{"type": "stack", "value": "stack"}])),
            7 => {
                let header = self.dice.pick(&["variable_0", "variable_1"]).to_string();
                let bits = self.bits();
                op("extract_VL", json!([{"type": "regular", "value": header}, bits]))
            }
            8 => {
                let target = json!({"type": "field", "value": self.dice.pick(&self.names.fields).path()});
                let source = if self.dice.chance(40) {
                    json!({"type": "lookahead", "value": [self.dice.below(12), self.dice.width(100)]})
                } else {
                    self.expressions(0).number(2)
                };
                op("set", json!([target, source]))
            }
            9 => {
                let bits = self.bits();
                op("advance", json!([bits]))
            }
            10 if self.dice.chance(30) => {
                let condition = self.expressions(0).truth(2);
                op("verify", json!([condition, number_constant(2)]))
            }
            _ => {
                let primitive = self.primitive(0);
                op("primitive", json!([primitive]))
            }
        }
    }

    /// A number of bits that mostly works.
    fn bits(&mut self) -> Value {
        if self.dice.chance(80) {
            number_constant(8 * self.dice.below(14) as u64)
        } else {
            self.expressions(0).number(1)
        }
    }
}
