// SPDX-License-Identifier: Apache-2.0
//! Random actions, tables and controls.

use super::Dice;
use super::expressions::{hex, number_constant};
use super::program::{ALGORITHMS, DIRECT_METERS, Program, REGISTER_WIDTHS, direct_meter};
use crate::value::{limbs_for, mask, truncate};
use serde_json::{Map, Value, json};

impl Program<'_> {
    fn target(&mut self, params: usize) -> Value {
        match self.dice.below(8) {
            0 => json!({"type": "stack_field", "value": ["stack", self.dice.pick(&self.names.stack.2).0]}),
            1 => {
                let field = self.dice.below(self.names.stack.2.len());
                let element = self.expressions(params).element();
                json!({"type": "expression", "value": {"op": "access_field", "left": element, "right": field}})
            }
            _ => json!({"type": "field", "value": self.dice.pick(&self.names.fields).path()}),
        }
    }

    fn any_header(&mut self, params: usize) -> Value {
        if self.dice.chance(20) {
            self.expressions(params).element()
        } else {
            json!({"type": "header", "value": self.dice.pick(&self.names.headers)})
        }
    }

    /// A primitive that does not jump.
    pub fn primitive(&mut self, params: usize) -> Value {
        let register = format!("register {}", self.dice.pick(&REGISTER_WIDTHS));
        let register = json!({"type": "register_array", "value": register});
        let index = match self.dice.below(4) {
            0 => self.expressions(params).number(1),
            _ => number_constant(self.dice.below(4) as u64),
        };
        let (op, parameters) = match self.dice.below(26) {
            0..=9 => (
                "assign",
                json!([self.target(params), self.expressions(params).number(3)]),
            ),
            10 => {
                let pairs = [
                    ["alike_0", "alike_1"],
                    ["union_0.large", "alike_0"],
                    ["alike_1", "union_1.large"],
                ];
                let [to, from] = *self.dice.pick(&pairs);
                (
                    "assign_header",
                    json!([{"type": "header", "value": to}, {"type": "header", "value": from}]),
                )
            }
            11 => (
                "assign_union",
                json!([{"type": "header_union", "value": "union_0"}, {"type": "header_union", "value": "union_1"}]),
            ),
            12 => (
                "assign_VL",
                json!([
                    {"type": "field", "value": self.names.variables[0].path()},
                    {"type": "field", "value": self.names.variables[1].path()},
                ]),
            ),
            13 => ("add_header", json!([self.any_header(params)])),
            14 => ("remove_header", json!([self.any_header(params)])),
            15 => {
                let op = *self.dice.pick(&["push", "pop"]);
                (
                    op,
                    json!([{"type": "header_stack", "value": "stack"}, number_constant(1)]),
                )
            }
            16 => ("count", json!([{"type": "counter_array", "value": "counter"}, index])),
            17 | 18 => ("register_read", json!([self.target(params), register, index])),
            19 | 20 => (
                "register_write",
                json!([register, index, self.expressions(params).number(2)]),
            ),
            21 => (
                "execute_meter",
                json!([{"type": "meter_array", "value": "meter"}, index, self.target(params)]),
            ),
            22 => {
                let calculation = format!("calculation {}", self.dice.below(self.calculations));
                let calculation = json!({"type": "calculation", "value": calculation});
                let modulus = number_constant(1 << self.dice.below(20));
                (
                    "modify_field_with_hash_based_offset",
                    json!([self.target(params), number_constant(3), calculation, modulus]),
                )
            }
            23 => (
                "modify_field_rng_uniform",
                json!([self.target(params), number_constant(2), number_constant(200)]),
            ),
            _ => return self.rare_primitive(params),
        };
        json!({"op": op, "parameters": parameters})
    }

    fn rare_primitive(&mut self, params: usize) -> Value {
        let list = number_constant(1);
        let (op, parameters) = match self.dice.below(14) {
            0 => ("exit", json!([])),
            1 => (
                "mark_to_drop",
                json!([{"type": "header", "value": "standard_metadata"}]),
            ),
            2 => ("clone_ingress_pkt_to_egress", json!([number_constant(5), list])),
            3 if self.dice.chance(20) => ("resubmit", json!([list])),
            4 if self.dice.chance(20) => ("recirculate", json!([list])),
            5 => ("generate_digest", json!([number_constant(0), number_constant(2)])),
            6 => ("truncate", json!([number_constant(30)])),
            7 => ("assert", json!([self.expressions(params).truth(2)])),
            8 => (*self.dice.pick(&["no_op", "drop"]), json!([])),
            9 => ("add_header_fast", json!([self.any_header(params)])),
            10 | 11 => {
                let op = *self
                    .dice
                    .pick(&["add", "subtract", "bit_and", "bit_or", "bit_xor", "shift_right"]);
                let sides = [self.expressions(params).number(1), self.expressions(params).number(1)];
                (op, json!([self.target(params), sides[0], sides[1]]))
            }
            12 => {
                let op = *self.dice.pick(&["add_to_field", "subtract_from_field"]);
                (op, json!([self.target(params), self.expressions(params).number(1)]))
            }
            _ => {
                let values = [self.expressions(params).number(2)];
                (
                    "log_msg",
                    json!([{"type": "string", "value": "is {}"}, {"type": "parameters_vector", "value": values}]),
                )
            }
        };
        json!({"op": op, "parameters": parameters})
    }

    pub fn action(&mut self, index: usize) -> Value {
        let params = self.dice.below(3);
        let data: Vec<Value> = (0..params)
            .map(|i| json!({"name": format!("p{i}"), "bitwidth": self.dice.width(100)}))
            .collect();
        let length = self.dice.below(14);
        let primitives: Vec<Value> = (0..length)
            .map(|at| {
                let forward = at + 1 + self.dice.below(length - at);
                match self.dice.below(20) {
                    0 => json!({"op": "_jump", "parameters": [number_constant(forward as u64)]}),
                    1 | 2 => {
                        // Some go back: such loops end when the condition does, or are given up.
                        let to = if self.dice.chance(10) { at / 2 } else { forward };
                        let condition = self.expressions(params).truth(2);
                        json!({"op": "_jump_if_zero", "parameters": [condition, number_constant(to as u64)]})
                    }
                    _ => self.primitive(params),
                }
            })
            .collect();
        json!({"name": format!("action {index}"), "id": index, "runtime_data": data, "primitives": primitives})
    }

    pub fn pipeline(&mut self, name: &str) -> Value {
        let nodes = 2 + self.dice.below(5);
        let node = |index: usize| format!("{name} {index}");
        let (mut tables, mut conditionals, mut profiles) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..nodes {
            let next = |dice: &mut Dice| match index + 1 + dice.below(nodes - index + 1) {
                later if later < nodes => json!(node(later)),
                _ => Value::Null,
            };
            if self.dice.chance(30) {
                let condition = self.expressions(0).truth(3);
                conditionals.push(json!({
                    "name": node(index), "id": index, "expression": condition,
                    "true_next": next(self.dice), "false_next": next(self.dice),
                }));
            } else {
                let mut table = self.table(&node(index), next);
                if self.dice.chance(30) {
                    profiles.push(self.share_actions(&mut table, profiles.len()));
                }
                tables.push(table);
            }
        }
        json!({"name": name, "id": 0, "init_table": node(0), "tables": tables, "conditionals": conditionals, "action_profiles": profiles})
    }

    /// Lets a table's entries name members and groups of an action profile of its own, which is returned.
    fn share_actions(&mut self, table: &mut Value, id: usize) -> Value {
        let name = format!("profile of {}", table["name"].as_str().unwrap_or_default());
        let mut profile = json!({"name": name, "id": id, "max_size": 16});
        let has_selector = self.dice.chance(60);
        if has_selector {
            let fields = 1 + self.dice.below(3);
            let input: Vec<Value> = (0..fields)
                .map(|_| json!({"type": "field", "value": self.dice.pick(&self.names.fields).path()}))
                .collect();
            profile["selector"] = json!({"algo": self.dice.pick(&ALGORITHMS), "input": input});
        }
        table["type"] = json!(if has_selector { "indirect_ws" } else { "indirect" });
        table["action_profile"] = json!(name);
        if let Some(fields) = table.as_object_mut() {
            fields.remove("default_entry");
            fields.remove("entries");
        }
        profile
    }

    /// A direct meter that no table has yet, or none.
    fn direct_meter(&mut self) -> Value {
        if self.direct_meters == DIRECT_METERS || self.dice.chance(60) {
            return Value::Null;
        }
        self.direct_meters += 1;
        json!(direct_meter(self.direct_meters - 1))
    }

    fn table(&mut self, name: &str, next: impl Fn(&mut Dice) -> Value) -> Value {
        let mut key = Vec::new();
        let kind = *self.dice.pick(&["exact", "exact", "lpm", "ternary", "range"]);
        let parts = self.dice.below(4);
        for part in 0..parts {
            let field = self.dice.pick(&self.names.fields);
            let kind = match (part, kind) {
                (0, "range") if field.width > 64 => "ternary",
                (0, kind) => kind,
                _ => "exact",
            };
            key.push(json!({"match_type": kind, "name": format!("k{part}"), "target": field.path(), "mask": null}));
        }
        let match_type = key.first().map_or(json!("exact"), |part| part["match_type"].clone());
        let mut actions: Vec<usize> = (0..self.actions.len()).collect();
        for _ in 0..self.dice.below(actions.len()) {
            let at = self.dice.below(actions.len());
            actions.remove(at);
        }
        let names: Vec<String> = actions.iter().map(|id| format!("action {id}")).collect();
        let mut next_tables = Map::new();
        if self.dice.chance(40) {
            next_tables.insert("__HIT__".to_owned(), next(self.dice));
            next_tables.insert("__MISS__".to_owned(), next(self.dice));
        } else {
            for name in &names {
                next_tables.insert(name.clone(), next(self.dice));
            }
        }
        let mut table = json!({
            "name": name, "id": 0, "key": key, "match_type": match_type, "type": "simple", "max_size": 64,
            "with_counters": self.dice.chance(70), "direct_meters": self.direct_meter(), "action_ids": actions, "actions": names,
            "base_default_next": next(self.dice), "next_tables": next_tables,
        });
        if self.dice.chance(70) {
            let (id, data) = self.call(&actions);
            let fixed = self.dice.chance(50);
            table["default_entry"] =
                json!({"action_id": id, "action_const": fixed, "action_data": data, "action_entry_const": fixed});
        }
        if parts > 0 && self.dice.chance(50) {
            table["entries"] = self.entries(&table["key"], &actions);
            // Mostly tables whose entries packets do not change.
            if self.dice.chance(70) {
                table["with_counters"] = json!(false);
            }
        }
        table
    }

    /// One of the actions, and its arguments.
    fn call(&mut self, actions: &[usize]) -> (usize, Vec<String>) {
        let id = *self.dice.pick(actions);
        let params = self.actions[id]["runtime_data"].as_array().cloned().unwrap_or_default();
        let data = params.iter().map(|param| {
            let width = param["bitwidth"].as_u64().unwrap_or(1) as u32;
            hex(&self.dice.value(width))
        });
        (id, data.collect())
    }

    /// Entries of a table in the program; many have a part of their key in common.
    fn entries(&mut self, key: &Value, actions: &[usize]) -> Value {
        let count = 1 + self.dice.below(20);
        let parts: Vec<(String, u32)> = key
            .as_array()
            .into_iter()
            .flatten()
            .map(|part| self.key_part(part))
            .collect();
        let shared: Vec<Vec<u64>> = parts.iter().map(|(_, width)| self.dice.value(*width)).collect();
        let entries = (0..count).map(|number| {
            let match_key = parts.iter().zip(&shared).map(|((kind, width), shared)| {
                let value = match self.dice.chance(50) {
                    true => shared.clone(),
                    false => self.dice.value(*width),
                };
                match kind.as_str() {
                    "lpm" => {
                        let length = self.dice.below(*width as usize + 1);
                        json!({"match_type": kind, "key": hex(&value), "prefix_length": length})
                    }
                    "ternary" => {
                        let whole = self.dice.chance(50).then(|| {
                            let mut ones = vec![u64::MAX; limbs_for(*width)];
                            truncate(&mut ones, *width);
                            ones
                        });
                        let mask = whole.unwrap_or_else(|| self.dice.value(*width));
                        json!({"match_type": kind, "key": hex(&value), "mask": hex(&mask)})
                    }
                    "range" => json!({"match_type": kind, "start": hex(&value), "end": hex(&[mask(*width)])}),
                    _ => json!({"match_type": kind, "key": hex(&value)}),
                }
            });
            let match_key: Vec<Value> = match_key.collect();
            let (id, data) = self.call(actions);
            json!({"match_key": match_key, "priority": number + 1, "action_entry": {"action_id": id, "action_data": data}})
        });
        entries.collect()
    }

    /// Match kind and width of a part of a key.
    fn key_part(&self, part: &Value) -> (String, u32) {
        let field = self.names.fields.iter().find(|field| field.path() == part["target"]);
        let kind = part["match_type"].as_str().unwrap_or_default();
        (kind.to_owned(), field.map_or(1, |field| field.width))
    }
}
