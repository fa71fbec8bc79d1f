// SPDX-License-Identifier: Apache-2.0
//! Settings of the controller's schedulers. Tests of the controller hold the schema made from them against the schedulers.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use crate::section::{Schema as _, defined, integer, mapping, object, raw, text};

/// Setting of a scheduler.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) values: Values,
    default: &'static str,
}

/// Values that a setting may have.
#[derive(Debug)]
pub(super) enum Values {
    Integer(RangeInclusive<u64>),
    Words(&'static [&'static str]),
    /// Rules for pairs of edges.
    Weights,
}

const SHARE: Setting = Setting {
    name: "share",
    about: "Sharing of contended slots: by weight, or by weight times demand.",
    values: Values::Words(&["equal", "proportional"]),
    default: "equal",
};
const ORDER: Setting = Setting {
    name: "order",
    about: "Placement of an edge pair's slots in the frame.",
    values: Values::Words(&["spread", "contiguous"]),
    default: "spread",
};
const WEIGHTS: Setting = Setting {
    name: super::WEIGHTS,
    about: "Rules 'sender>receiver=weight', separated by commas; the last matching rule applies. Sender and receiver: index of an edge from 0, or *; weight: 1 to 64, or 'first' (served before all others).",
    values: Values::Weights,
    default: "",
};
const ESTIMATOR: Setting = Setting {
    name: "estimator",
    about: "Demand estimator.",
    values: Values::Words(&["ewma", "last", "trend"]),
    default: "ewma",
};
const ITERATIONS: Setting = Setting {
    name: "iterations",
    about: "Iterations of request, grant and accept per slot.",
    values: Values::Integer(1..=16),
    default: "4",
};
const SEED: Setting = Setting {
    name: "seed",
    about: "Seed of the random choices.",
    values: Values::Integer(0..=999_999_999),
    default: "1",
};
const RECONFIGURATION: Setting = Setting {
    name: "dark_slots",
    about: "Reconfiguration slots, which stay idle while the core reconfigures.",
    values: Values::Integer(0..=64),
    default: "0",
};

/// Declares the schedulers, each with its settings.
macro_rules! schedulers {
    ($($name:literal: [$($setting:expr),+];)+) => {
        /// Names of the schedulers.
        pub(super) const NAMES: [&str; [$($name),+].len()] = [$($name),+];

        /// Settings of a scheduler of the controller.
        pub(super) fn of(scheduler: &str) -> Option<&'static [&'static Setting]> {
            match scheduler {
                $($name => Some(&[$(&$setting),+]),)+
                _ => None,
            }
        }
    };
}

schedulers! {
    "fair": [SHARE, ORDER, WEIGHTS, ESTIMATOR];
    "islip": [ITERATIONS, ESTIMATOR];
    "pim": [ITERATIONS, SEED, ESTIMATOR];
    "maximum-weight": [ESTIMATOR];
    "solstice": [RECONFIGURATION, WEIGHTS, ESTIMATOR];
    "rotation": [ESTIMATOR];
}

/// Rules of pairs of edges in a schema.
const RULES: &str = r#"{
    "type": "string",
    "pattern": "^ *$|^ *(\\*|[0-9]{1,4})>(\\*|[0-9]{1,4})=(first|0{0,2}[1-9]|0?[1-5][0-9]|0?6[0-4]) *(, *(\\*|[0-9]{1,4})>(\\*|[0-9]{1,4})=(first|0{0,2}[1-9]|0?[1-5][0-9]|0?6[0-4]) *)*$"
}"#;

impl Setting {
    fn schema(&self) -> Doc {
        let mut schema = object([("description", text(self.about))]);
        let (mut values, default) = match &self.values {
            Values::Integer(range) => (integer(range.clone()).schema(), Doc::scalar(self.default.to_owned(), 0)),
            Values::Words(words) => {
                let words = words.iter().map(|word| text(word)).collect();
                (object([("enum", Doc::list(words, 0))]), text(self.default))
            }
            Values::Weights => (raw(RULES).schema(), text(self.default)),
        };
        values.take_into(&mut schema, |_| true);
        schema.set("default", default);
        schema
    }
}

fn definition(scheduler: &str) -> String {
    format!("settings_of_{}", scheduler.replace('-', "_"))
}

/// Name of a scheduler in a schema: of the controller, or of the file.
fn names() -> Doc {
    let ours = NAMES.iter().map(|name| text(name)).collect();
    let own = defined("own_scheduler_name").schema();
    object([("anyOf", Doc::list(vec![object([("enum", Doc::list(ours, 0))]), own], 0))])
}

/// Definitions of a schema: the choice of a scheduler, and the settings of each.
pub(crate) fn definitions() -> Vec<(String, Doc)> {
    let by_name = raw(r#"{"description": "Scheduler by name, or by name and settings.", "if": {"type": "string"}}"#);
    let mut scheduler = by_name.schema();
    scheduler.set("then", names());
    scheduler.set("else", defined("scheduler_choice").schema());

    let settings = raw(r#"{"type": "object"}"#).schema();
    let mut choice = mapping(vec![("name", names()), ("settings", settings)], &["name"], "{}");
    let rule = |name: &&str| {
        let is_it = object([("name", object([("const", text(name))]))]);
        let required = Doc::list(vec![text("name")], 0);
        let reference = object([("$ref", text(&format!("#/$defs/{}", definition(name))))]);
        let then = object([("properties", object([("settings", reference)]))]);
        object([
            ("if", object([("required", required), ("properties", is_it)])),
            ("then", then),
        ])
    };
    choice.set("allOf", Doc::list(NAMES.iter().map(rule).collect(), 0));
    let about = "Scheduler by name with settings (docs/scheduling.md); omitted settings have their defaults.";
    let choice = crate::section::describe(&[about], choice);

    let of_each = NAMES.iter().map(|name| {
        let settings = of(name).into_iter().flatten();
        let properties = settings.map(|setting| (setting.name, setting.schema())).collect();
        (definition(name), mapping(properties, &[], "{}"))
    });
    let choices = [("scheduler", scheduler), ("scheduler_choice", choice)];
    let choices = choices.map(|(name, schema)| (name.to_owned(), schema));
    choices.into_iter().chain(of_each).collect()
}
