// SPDX-License-Identifier: Apache-2.0
//! The plain form of a file: each key in the spelling with its unit as a suffix. Readers note what they found in another
//! spelling, and their notes turn the tree of a file into that of its plain form.

use super::{Doc, Mapping, Node, Scalar};

/// Difference of one key between a file and its plain form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edit {
    /// JSON pointer to the mapping.
    pub(crate) mapping: String,
    /// Key that the file has.
    pub(crate) written: String,
    /// Key of the plain form.
    pub(crate) key: String,
    /// Value of the plain form.
    pub(crate) value: Doc,
}

impl Doc {
    /// A scalar that is typed by its text.
    pub(crate) fn scalar(text: String, line: u64) -> Doc {
        let node = Node::Scalar { text, is_plain: true };
        Doc { node, line }
    }

    pub(crate) fn list(elements: Vec<Doc>, line: u64) -> Doc {
        let node = Node::List(elements);
        Doc { node, line }
    }

    /// Line where it begins, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Makes an edit; none if the tree has no such mapping.
    pub(crate) fn edit(&mut self, edit: Edit) {
        let mut node = self;
        for part in edit.mapping.split('/').skip(1) {
            let inner = match &mut node.node {
                Node::Scalar { .. } => None,
                Node::List(elements) => part.parse().ok().and_then(|index: usize| elements.get_mut(index)),
                Node::Mapping(mapping) => mapping.get_mut(part),
            };
            let Some(inner) = inner else { return };
            node = inner;
        }
        let Node::Mapping(Mapping(entries)) = &mut node.node else {
            return;
        };
        if let Some((key, value)) = entries.iter_mut().find(|(key, _)| key.as_str() == Some(&edit.written)) {
            *key = Doc::scalar(edit.key, key.line);
            *value = edit.value;
        }
    }

    /// The tree as JSON.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, text: &mut String) {
        match &self.node {
            Node::Scalar { .. } => *text += &self.scalar_as_json(),
            Node::List(elements) => {
                text.push('[');
                for (index, element) in elements.iter().enumerate() {
                    *text += if index > 0 { ", " } else { "" };
                    element.write_json(text);
                }
                text.push(']');
            }
            Node::Mapping(Mapping(entries)) => {
                text.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    *text += if index > 0 { ", " } else { "" };
                    *text += &format!("{}: ", quoted(key.as_str().unwrap_or_default()));
                    value.write_json(text);
                }
                text.push('}');
            }
        }
    }

    fn scalar_as_json(&self) -> String {
        match self.scalar_value() {
            None | Some(Scalar::Null) => "null".to_owned(),
            Some(Scalar::Bool(flag)) => flag.to_string(),
            Some(Scalar::Integer(number)) => number.to_string(),
            Some(Scalar::Float(number)) => format!("{number:?}"),
            Some(Scalar::Text(text)) => quoted(text),
        }
    }
}

impl Mapping {
    fn get_mut(&mut self, key: &str) -> Option<&mut Doc> {
        let mut entries = self.0.iter_mut();
        entries.find_map(|(known, value)| (known.as_str() == Some(key)).then_some(value))
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted += &format!("\\u{:04x}", control as u32),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_printed_as_json_that_is_the_same_tree() {
        let yaml = "a: [1, 0x1F, 1.5, .5, 1e3, yes, 'no', ~, true, '5']\n\"q\\\"\\\\\\t\": {b: >-\n  \u{e9}}\n";
        let yaml = yaml.replace(">-\n  ", "");
        let json = Doc::read(yaml.as_bytes()).unwrap().to_json();
        assert_eq!(
            json,
            "{\"a\": [1, 31, 1.5, 0.5, 1000.0, \"yes\", \"no\", null, true, \"5\"], \"q\\\"\\\\\\u0009\": {\"b\": \"\u{e9}\"}}"
        );
        assert_eq!(Doc::read(json.as_bytes()).unwrap().to_json(), json);
    }

    #[test]
    fn an_edit_replaces_a_key_where_it_stands() {
        let mut doc = Doc::read(b"a: [{b: 1, c: 2 s, d: 3}]\n").unwrap();
        let edit = |mapping: &str, written: &str| Edit {
            mapping: mapping.to_owned(),
            written: written.to_owned(),
            key: "c_ms".to_owned(),
            value: Doc::scalar("2000".to_owned(), 1),
        };
        for nowhere in [
            edit("/a/1", "c"),
            edit("/b/0", "c"),
            edit("/a/0/b", "c"),
            edit("/a/0", "e"),
        ] {
            doc.edit(nowhere);
        }
        doc.edit(edit("/a/0", "c"));
        assert_eq!(doc.to_json(), "{\"a\": [{\"b\": 1, \"c_ms\": 2000, \"d\": 3}]}");
    }
}
