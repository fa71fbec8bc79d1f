// SPDX-License-Identifier: Apache-2.0
//! Random programs with headers of all kinds.

use super::Dice;
use super::expressions::{Expressions, FieldName, Names, hex};
use serde_json::{Value, json};

pub(super) const STANDARD: [(&str, u32); 17] = [
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
pub(super) const REGISTER_WIDTHS: [u32; 3] = [17, 64, 100];
pub(super) const ALGORITHMS: [&str; 6] = ["crc16", "crcCCITT", "crc32", "csum16", "xor16", "identity"];

/// So many tables at most have one.
pub(super) const DIRECT_METERS: usize = 4;

/// Name of a direct meter.
pub(super) fn direct_meter(index: usize) -> String {
    format!("direct meter {index}")
}

/// A program in the making.
pub(super) struct Program<'a> {
    pub dice: &'a mut Dice,
    pub names: Names,
    header_types: Vec<Value>,
    headers: Vec<Value>,
    pub calculations: usize,
    pub actions: Vec<Value>,
    /// How many direct meters tables have.
    pub direct_meters: usize,
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
        direct_meters: 0,
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
    let meters = program.meters();
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
        "meter_arrays": meters,
        "calculations": calculations,
        "checksums": checksums,
        "actions": actions,
        "pipelines": pipelines,
        "field_aliases": [],
    })
}

impl Program<'_> {
    pub fn expressions(&mut self, params: usize) -> Expressions<'_> {
        Expressions {
            dice: self.dice,
            names: &self.names,
            params,
        }
    }

    /// Adds a header type; its fields with their widths.
    fn header_type(&mut self, name: &str, fields: usize, padded: bool) -> Vec<(String, u32)> {
        let mut list: Vec<(String, u32)> = (0..fields).map(|i| (format!("f{i}"), self.field_width())).collect();
        let bits: u32 = list.iter().map(|(_, width)| width).sum();
        if padded && !bits.is_multiple_of(8) {
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

    fn field_width(&mut self) -> u32 {
        if self.dice.chance(6) {
            return 0;
        }
        self.dice.width(140)
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

    /// An indirect meter, and the direct ones, which color a field.
    fn meters(&mut self) -> Vec<Value> {
        let targets: Vec<FieldName> = self.names.fields.iter().filter(|f| f.width <= 64).cloned().collect();
        let mut meters =
            vec![json!({"name": "meter", "size": 2, "type": "bytes", "is_direct": false, "rate_count": 2})];
        for index in 0..DIRECT_METERS {
            let unit = *self.dice.pick(&["bytes", "packets"]);
            let target = self.dice.pick(&targets).path();
            meters.push(json!({
                "name": direct_meter(index), "size": 64, "type": unit, "is_direct": true, "rate_count": 2,
                "result_target": target,
            }));
        }
        meters
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
}
