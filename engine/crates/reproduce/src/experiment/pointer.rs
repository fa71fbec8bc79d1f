// SPDX-License-Identifier: Apache-2.0
//! Values of a scenario, by JSON pointer.

use serde_yaml_ng::Value;

use crate::fact::stands_for;

/// Puts a value at a JSON pointer whose parent exists, `*` being all parts of a list and `NAME*` those whose `name` begins so, or takes away for
/// `null`; `None` if nothing is there.
pub(super) fn set(value: &mut Value, pointer: &str, new: Value) -> Option<()> {
    put(value, &pointer.strip_prefix('/')?.split('/').collect::<Vec<_>>(), new)
}

fn put(place: &mut Value, steps: &[&str], new: Value) -> Option<()> {
    match (place, steps) {
        (place, []) => *place = new,
        (Value::Mapping(map), [last]) if new.is_null() => {
            map.remove(*last)?;
        }
        (Value::Mapping(map), [last]) => {
            map.insert((*last).into(), new);
        }
        (Value::Sequence(list), ["-"]) => list.push(new),
        (Value::Sequence(list), ["*", rest @ ..]) if !list.is_empty() => {
            for part in list {
                put(part, rest, new.clone())?;
            }
        }
        (Value::Sequence(list), [step, rest @ ..]) if step.ends_with('*') => {
            let is_named = |part: &Value| {
                part.get("name")
                    .and_then(Value::as_str)
                    .is_some_and(|name| stands_for(step, name))
            };
            let mut named = list.iter_mut().filter(|part| is_named(part)).peekable();
            named.peek()?;
            for part in named {
                put(part, rest, new.clone())?;
            }
        }
        (Value::Mapping(map), [step, rest @ ..]) => return put(map.get_mut(*step)?, rest, new),
        (Value::Sequence(list), [step, rest @ ..]) => {
            return put(list.get_mut(step.parse::<usize>().ok()?)?, rest, new);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The Python package's test reads them, too.
    #[test]
    fn the_examples_come_out() {
        let examples = include_str!("../../../../../schema/examples/pointers.json");
        let examples: Vec<BTreeMap<String, Value>> = serde_yaml_ng::from_str(examples).unwrap();
        assert!(examples.len() > 10);
        for example in &examples {
            let mut document = example["document"].clone();
            let pointer = example["pointer"].as_str().unwrap();
            let is_there = set(&mut document, pointer, example["value"].clone()).is_some();
            let made = if is_there { document } else { "nothing is there".into() };
            assert_eq!(made, example["expected"], "{pointer}");
        }
    }

    #[test]
    fn a_star_is_all_parts_of_a_list_and_null_takes_away() {
        let mut value: Value =
            serde_yaml_ng::from_str("{links: [{a: {rate: 1}}, {a: {rate: 2}}], changes: []}").unwrap();
        set(&mut value, "/links/*/a/rate", 3.into()).unwrap();
        let wanted: Value = serde_yaml_ng::from_str("{links: [{a: {rate: 3}}, {a: {rate: 3}}], changes: []}").unwrap();
        assert_eq!(value, wanted);
        set(&mut value, "/links/0/a/rate", Value::Null).unwrap();
        assert_eq!(value["links"][0], serde_yaml_ng::from_str::<Value>("{a: {}}").unwrap());
        assert!(
            set(&mut value, "/links/*/a/rate", Value::Null).is_none(),
            "the first one has none"
        );
        for nowhere in ["/changes/*", "/changes/*/a", "/links/*/b/rate"] {
            assert!(set(&mut value, nowhere, 1.into()).is_none(), "{nowhere}");
        }
    }

    #[test]
    fn pointers_replace_add_and_append() {
        let mut value: Value = serde_yaml_ng::from_str("{links: [{rate: 1}], changes: []}").unwrap();
        set(&mut value, "/links/0/rate", 2.into()).unwrap();
        set(&mut value, "/links/0/xcp", 3.into()).unwrap();
        set(&mut value, "/changes/-", 4.into()).unwrap();
        set(&mut value, "/changes/0", 5.into()).unwrap();
        let wanted: Value = serde_yaml_ng::from_str("{links: [{rate: 2, xcp: 3}], changes: [5]}").unwrap();
        assert_eq!(value, wanted);
        for nowhere in ["links", "/links/1/rate", "/nodes/0", "/links/0/rate/x", "/changes/7"] {
            assert!(set(&mut value, nowhere, 1.into()).is_none(), "{nowhere}");
        }
    }

    #[test]
    fn a_star_behind_the_beginning_of_a_name_is_all_parts_of_such_names() {
        let mut value: Value =
            serde_yaml_ng::from_str("{flows: [{name: t1}, {name: u1, udp: {rate: 1}}, {name: u2, udp: {rate: 1}}, 7]}")
                .unwrap();
        set(&mut value, "/flows/u*/udp/rate", 3.into()).unwrap();
        let wanted: Value =
            serde_yaml_ng::from_str("{flows: [{name: t1}, {name: u1, udp: {rate: 3}}, {name: u2, udp: {rate: 3}}, 7]}")
                .unwrap();
        assert_eq!(value, wanted);
        for nowhere in ["/flows/x*/udp/rate", "/flows/t*/udp/rate"] {
            assert!(set(&mut value, nowhere, 1.into()).is_none(), "{nowhere}");
        }
    }
}
