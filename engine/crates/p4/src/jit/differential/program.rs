// SPDX-License-Identifier: Apache-2.0
//! Random programs with headers of all kinds.

use super::Dice;
use super::expressions::{Expressions, FieldName, Names, hex, number_constant};
use serde_json::{Map, Value, json};

const STANDARD: [(&str, u32); 17] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 32),
    ("priority", 3),
    ("_padding", 3),
];
const STACK_SIZE: usize = 3;
const REGISTER_CELLS: usize = 3;
const REGISTER_WIDTHS: [u32; 3] = [17, 64, 100];
const ALGORITHMS: [&str; 6] = ["crc16", "crcCCITT", "crc32", "csum16", "xor16", "identity"];

/// A program in the making.
struct Program<'a> {
    dice: &'a mut Dice,
    names: Names,
    header_types: Vec<Value>,
    headers: Vec<Value>,
    calculations: usize,
    actions: Vec<Value>,
}

/// A program as p4c would write it.
pub(super) fn generate(dice: &mut Dice) -> Value {
    let mut program = Program {
        dice,
        names: Names::default(),
        header_types: Vec::new(),
        headers: Vec::new(),
        calculations: 0,
        actions: Vec::new(),
    };
    let (stacks, unions) = program.state();
    let calculations = program.calculations();
    let parser = program.parser();
    for index in 0..6 {
        let action = program.action(index);
        program.actions.push(action);
    }
    let pipelines = [program.pipeline("ingress"), program.pipeline("egress")];
    let checksums = program.checksums();
    let Program {
        header_types,
        headers,
        actions,
        names,
        ..
    } = program;
    let registers: Vec<Value> = REGISTER_WIDTHS
        .iter()
        .map(|width| json!({"name": format!("register {width}"), "size": REGISTER_CELLS, "bitwidth": width}))
        .collect();
    let lists: Vec<Value> = names
        .fields
        .iter()
        .take(4)
        .map(|f| json!({"type": "field", "value": f.path()}))
        .collect();
    json!({
        "__meta__": {"version": [2, 23]},
        "header_types": header_types,
        "headers": headers,
        "header_stacks": stacks,
        "header_union_types": [{"name": "union_t", "headers": [["small", "small_t"], ["large", "alike_t"]]}],
        "header_unions": unions,
        "header_union_stacks": [],
        "field_lists": [{"id": 1, "name": "list", "elements": lists}],
        "learn_lists": [{"id": 2, "name": "digest", "elements": lists}],
        "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3],
            ["HeaderTooShort", 4], ["ParserTimeout", 5], ["ParserInvalidArgument", 6]],
        "parsers": [{"name": "parser", "init_state": "state 0", "parse_states": parser}],
        "parse_vsets": [{"name": "set", "compressed_bitwidth": 8, "max_size": 4}],
        "deparsers": [{"name": "deparser", "order": names.headers, "primitives": []}],
        "register_arrays": registers,
        "counter_arrays": [{"name": "counter", "size": 3, "is_direct": false}],
        "meter_arrays": [
            {"name": "meter", "size": 2, "type": "bytes", "is_direct": false, "rate_count": 2},
        ],
        "calculations": calculations,
        "checksums": checksums,
        "actions": actions,
        "pipelines": pipelines,
        "field_aliases": [],
    })
}

impl Program<'_> {
    fn expressions(&mut self, params: usize) -> Expressions<'_> {
        Expressions {
            dice: self.dice,
            names: &self.names,
            params,
        }
    }

    /// Adds a header type; its fields with their widths.
    fn header_type(&mut self, name: &str, fields: usize, padded: bool) -> Vec<(String, u32)> {
        let mut list: Vec<(String, u32)> = (0..fields).map(|i| (format!("f{i}"), self.dice.width(140))).collect();
        let bits: u32 = list.iter().map(|(_, width)| width).sum();
        if padded && bits % 8 != 0 {
            list.push(("pad".to_owned(), 8 - bits % 8));
        }
        let fields: Vec<Value> = list
            .iter()
            .map(|(field, width)| json!([field, width, self.dice.chance(25)]))
            .collect();
        self.header_types
            .push(json!({"name": name, "id": self.header_types.len(), "fields": fields}));
        list
    }

    fn header(&mut self, name: &str, header_type: &str, fields: &[(String, u32)], metadata: bool) -> usize {
        let id = self.headers.len();
        self.headers
            .push(json!({"name": name, "id": id, "header_type": header_type, "metadata": metadata}));
        if !metadata {
            self.names.headers.push(name.to_owned());
        }
        for (field, width) in fields {
            self.names.fields.push(FieldName {
                header: name.to_owned(),
                field: field.clone(),
                width: *width,
            });
        }
        id
    }

    /// Headers and metadata; the stacks and unions.
    fn state(&mut self) -> (Value, Value) {
        let fields = self.header_type("scalars_t", 6, true);
        self.header("scalars", "scalars_t", &fields, true);
        let standard: Vec<Value> = STANDARD
            .iter()
            .map(|(name, width)| json!([name, width, false]))
            .collect();
        self.header_types
            .push(json!({"name": "standard_metadata", "id": 1, "fields": standard}));
        let seen = [
            ("egress_spec".to_owned(), 9),
            ("mcast_grp".to_owned(), 16),
            ("packet_length".to_owned(), 32),
        ];
        self.header("standard_metadata", "standard_metadata", &seen, true);
        for index in 0..2 {
            let count = 1 + self.dice.below(5);
            let name = format!("plain_{index}");
            let fields = self.header_type(&format!("{name}_t"), count, true);
            self.header(&name, &format!("{name}_t"), &fields, false);
        }
        let alike = self.header_type("alike_t", 3, true);
        self.header("alike_0", "alike_t", &alike, false);
        self.header("alike_1", "alike_t", &alike, false);
        let small = self.header_type("small_t", 1, true);
        let mut unions = Vec::new();
        for index in 0..2 {
            let name = format!("union_{index}");
            let ids = [
                self.header(&format!("{name}.small"), "small_t", &small, false),
                self.header(&format!("{name}.large"), "alike_t", &alike, false),
            ];
            unions.push(json!({"name": name, "id": index, "union_type": "union_t", "header_ids": ids}));
            self.names.unions.push(name);
        }
        let label = self.header_type("label_t", 2, true);
        let ids: Vec<usize> = (0..STACK_SIZE)
            .map(|index| self.header(&format!("stack[{index}]"), "label_t", &[], false))
            .collect();
        let stacks =
            json!([{"name": "stack", "id": 0, "header_type": "label_t", "size": STACK_SIZE, "header_ids": ids}]);
        self.names.stack = ("stack".to_owned(), STACK_SIZE, label);
        let largest = 8 * (1 + self.dice.below(12));
        let before = 8 * self.dice.below(3);
        let mut variable = vec![json!(["options", "*"])];
        if before > 0 {
            variable.insert(0, json!(["before", before, false]));
        }
        self.header_types.push(json!({
            "name": "variable_t", "id": self.header_types.len(), "fields": variable, "max_length": (before + largest) / 8,
        }));
        for name in ["variable_0", "variable_1"] {
            self.header(name, "variable_t", &[], false);
            self.names.variables.push(FieldName {
                header: name.to_owned(),
                field: "options".to_owned(),
                width: largest as u32,
            });
        }
        (stacks, json!(unions))
    }

    fn calculations(&mut self) -> Vec<Value> {
        let calculation = |dice: &mut Dice, names: &Names, index: usize| {
            let of_one = dice.chance(60).then(|| dice.pick(&names.fields).header.clone());
            let mut input: Vec<Value> = Vec::new();
            for field in &names.fields {
                if of_one
                    .as_ref()
                    .map_or(dice.chance(20), |header| *header == field.header)
                {
                    input.push(json!({"type": "field", "value": field.path()}));
                }
            }
            match dice.below(6) {
                0 => input.push(json!({"type": "payload", "value": null})),
                1 => input.push(json!({"type": "hexstr", "value": hex(&dice.value(16)), "bitwidth": 16})),
                2 => input.push(json!({"type": "header", "value": "plain_0"})),
                _ => {}
            }
            let algorithm = if dice.chance(50) {
                "csum16"
            } else {
                *dice.pick(&ALGORITHMS)
            };
            json!({"name": format!("calculation {index}"), "algo": algorithm, "input": input})
        };
        self.calculations = 4;
        (0..self.calculations)
            .map(|index| calculation(self.dice, &self.names, index))
            .collect()
    }

    fn checksums(&mut self) -> Vec<Value> {
        let targets: Vec<FieldName> = self.names.fields.iter().filter(|f| f.width <= 64).cloned().collect();
        (0..3)
            .map(|index| {
                let target = self.dice.pick(&targets).path();
                let condition = self.expressions(0).truth(2);
                let verify = self.dice.chance(50);
                let calculation = self.dice.below(self.calculations);
                json!({
                    "name": format!("checksum {index}"), "target": target, "type": "generic", "if_cond": condition,
                    "calculation": format!("calculation {calculation}"), "verify": verify, "update": !verify,
                })
            })
            .collect()
    }

    fn parser(&mut self) -> Vec<Value> {
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
                transitions.push(json!({"type": "default", "value": null, "mask": null, "next_state": next(self.dice)}));
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
    fn primitive(&mut self, params: usize) -> Value {
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
        let (op, parameters) = match self.dice.below(9) {
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

    fn action(&mut self, index: usize) -> Value {
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

    fn pipeline(&mut self, name: &str) -> Value {
        let nodes = 2 + self.dice.below(5);
        let node = |index: usize| format!("{name} {index}");
        let (mut tables, mut conditionals) = (Vec::new(), Vec::new());
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
                let table = self.table(&node(index), next);
                tables.push(table);
            }
        }
        json!({"name": name, "id": 0, "init_table": node(0), "tables": tables, "conditionals": conditionals, "action_profiles": []})
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
            "with_counters": true, "direct_meters": null, "action_ids": actions, "actions": names,
            "base_default_next": next(self.dice), "next_tables": next_tables,
        });
        if self.dice.chance(70) {
            let id = *self.dice.pick(&actions);
            let params = self.actions[id]["runtime_data"].as_array().cloned().unwrap_or_default();
            let data: Vec<String> = params
                .iter()
                .map(|param| hex(&self.dice.value(param["bitwidth"].as_u64().unwrap_or(1) as u32)))
                .collect();
            let fixed = self.dice.chance(50);
            table["default_entry"] =
                json!({"action_id": id, "action_const": fixed, "action_data": data, "action_entry_const": fixed});
        }
        table
    }
}
