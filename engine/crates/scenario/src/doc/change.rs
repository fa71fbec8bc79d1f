// SPDX-License-Identifier: Apache-2.0
//! Changes of a tree before it is read: parts that a file has in a short form, or leaves out.

use super::{Doc, Mapping, Node, Scalar};

/// Bits of a line below the number of its file.
const FILE_SHIFT: u32 = 32;

impl Doc {
    /// A scalar that is text, even if it looks like a number.
    pub(crate) fn text(text: &str, line: u64) -> Doc {
        let text = text.to_owned();
        let node = Node::Scalar { text, is_plain: false };
        Doc { node, line }
    }

    /// An empty mapping.
    pub(crate) fn mapping(line: u64) -> Doc {
        let node = Node::Mapping(Mapping(Vec::new()));
        Doc { node, line }
    }

    /// The text of a scalar as it was written, of any type.
    pub(crate) fn as_written(&self) -> Option<&str> {
        match &self.node {
            Node::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Characters and nodes.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.node {
            Node::Scalar { text, .. } => text.len(),
            Node::List(elements) => elements.iter().map(Doc::size).sum(),
            Node::Mapping(mapping) => mapping.iter().map(|(key, value)| key.size() + value.size()).sum(),
        }
    }

    pub(crate) fn as_list_mut(&mut self) -> Option<&mut [Doc]> {
        match &mut self.node {
            Node::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// Value of `key` if this is a mapping that has it.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Doc> {
        let mut entries = self.entries_mut()?.iter_mut();
        entries.find_map(|(known, value)| (known.as_str() == Some(key)).then_some(value))
    }

    /// Value under the last of these keys, each within the one before.
    pub(crate) fn at_mut(&mut self, path: &[&str]) -> Option<&mut Doc> {
        path.iter().try_fold(self, |doc, key| doc.get_mut(key))
    }

    /// Puts a value under a key of a mapping, in place of another one.
    pub(crate) fn set(&mut self, key: &str, value: Doc) {
        if let Some(known) = self.get_mut(key) {
            *known = value;
        } else if let Some(entries) = self.entries_mut() {
            entries.push((Doc::text(key, value.line), value));
        }
    }

    /// Removes keys of a mapping.
    pub(crate) fn remove(&mut self, is_meant: impl Fn(&str) -> bool) {
        if let Some(entries) = self.entries_mut() {
            entries.retain(|(key, _)| !key.as_str().is_some_and(&is_meant));
        }
    }

    /// Moves keys of a mapping into another one.
    pub(crate) fn take_into(&mut self, other: &mut Doc, is_meant: impl Fn(&str) -> bool) {
        if let (Some(entries), Some(others)) = (self.entries_mut(), other.entries_mut()) {
            others.extend(entries.extract_if(.., |(key, _)| key.as_str().is_some_and(&is_meant)));
        }
    }

    /// Keys of a mapping.
    pub(crate) fn names(&self) -> Vec<String> {
        let keys = self.as_mapping().into_iter().flat_map(Mapping::keys);
        keys.filter_map(Doc::as_str).map(str::to_owned).collect()
    }

    /// Sets the line of a key of a mapping.
    pub(crate) fn set_key_line(&mut self, key: &str, line: u64) {
        let entries = self.entries_mut().into_iter().flatten();
        let mut keys = entries.map(|(known, _)| known);
        if let Some(known) = keys.find(|known| known.as_str() == Some(key)) {
            known.line = line;
        }
    }

    /// Returns true for a null value.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.scalar_value(), Some(Scalar::Null))
    }

    /// Sets the file of all nodes, which is not the scenario's; files have numbers from 1.
    pub(crate) fn set_file(&mut self, file: u64) {
        self.line = Doc::line_in(file, self.line);
        match &mut self.node {
            Node::Scalar { .. } => {}
            Node::List(elements) => {
                for element in elements {
                    element.set_file(file);
                }
            }
            Node::Mapping(Mapping(entries)) => {
                for (key, value) in entries {
                    key.set_file(file);
                    value.set_file(file);
                }
            }
        }
    }

    /// Line in a file of this number, as nodes have it.
    pub(crate) fn line_in(file: u64, line: u64) -> u64 {
        file << FILE_SHIFT | line
    }

    /// Number of a file, 0 for the scenario's own, and line in it.
    pub(crate) fn file_and_line(line: u64) -> (u64, u64) {
        (line >> FILE_SHIFT, line & ((1 << FILE_SHIFT) - 1))
    }

    fn entries_mut(&mut self) -> Option<&mut Vec<(Doc, Doc)>> {
        match &mut self.node {
            Node::Mapping(Mapping(entries)) => Some(entries),
            _ => None,
        }
    }
}
