// SPDX-License-Identifier: Apache-2.0
//! Queue in front of a link: its admission rule, one of those listed by crate `cards`.

use slotwise_cards::admission::{Amount, Parameter, ROWS, Row, Setting};

use crate::doc::Doc;
use crate::reader::{Fields, Reader};
use crate::section::{Schema, Shape, describe, integer, mapping, number};

/// Rule under a key.
pub(crate) struct BufferShape;

impl Shape for BufferShape {
    type Value = Setting;

    fn required(&self, r: &mut Reader, fields: &Fields, key: &str) -> Setting {
        // A queue in place of one that has been reported.
        let least = Setting::new(0, [1.0]);
        let Some(value) = r.required(fields, key) else {
            return least;
        };
        let keys: Vec<&str> = ROWS.iter().map(|row| row.key).collect();
        let rules = r.fields(value, fields.pointer(key), &keys);
        let read = |(number, row)| Some(Setting::new(number, parameters(r, &rules, row)?));
        let settings: Vec<Setting> = ROWS.iter().enumerate().filter_map(read).collect();
        match settings[..] {
            [setting] => setting,
            _ => {
                let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
                let reason = format!("none or several of {}", keys.join(", "));
                r.report(fields.pointer(key), reason, "exactly one of them");
                least
            }
        }
    }
}

/// Reads the parameters of a rule; `None` without its key.
fn parameters(r: &mut Reader, rules: &Fields, row: &Row) -> Option<Vec<f64>> {
    let value = r.optional(rules, row.key)?;
    if let [Parameter { key: "", amount, .. }] = row.parameters {
        return Some(vec![parameter(r, rules, row.key, amount)]);
    }
    let keys: Vec<&str> = row.parameters.iter().map(|parameter| parameter.key).collect();
    let fields = r.fields(value, rules.pointer(row.key), &keys);
    let read = |Parameter { key, amount, .. }: &Parameter| parameter(r, &fields, key, amount);
    Some(row.parameters.iter().map(read).collect())
}

fn parameter(r: &mut Reader, fields: &Fields, key: &str, amount: &Amount) -> f64 {
    match amount {
        Amount::Packets(range) | Amount::Bytes(range) => r.integer(fields, key, range.clone()) as f64,
        Amount::Fraction => number(0.0..=1.0).required(r, fields, key),
    }
}

impl Schema for BufferShape {
    fn schema(&self) -> Doc {
        let rules = ROWS.iter().map(|row| (row.key, describe(&[row.text], schema_of(row))));
        mapping(rules.collect(), &[], r#"{"minProperties": 1, "maxProperties": 1}"#)
    }
}

fn schema_of(row: &Row) -> Doc {
    let schema = |amount: &Amount| match amount {
        Amount::Packets(range) | Amount::Bytes(range) => integer(range.clone()).schema(),
        Amount::Fraction => number(0.0..=1.0).schema(),
    };
    if let [Parameter { key: "", amount, .. }] = row.parameters {
        return schema(amount);
    }
    let keys: Vec<&str> = row.parameters.iter().map(|parameter| parameter.key).collect();
    let described = |Parameter { key, text, amount }: &Parameter| (*key, describe(&[text], schema(amount)));
    mapping(row.parameters.iter().map(described).collect(), &keys, "{}")
}
