// SPDX-License-Identifier: Apache-2.0
//! Reads a tree from the events of a YAML parser in one pass, which also refuses everything that a scenario must not have: collections
//! nested deeply, aliases, with which a short file could unfold into a huge one, tags and tabs, which readers of YAML take differently, a
//! key twice, and a second document. Nothing here or in the parser's event iterator recurses.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::tabs::Tabs;
use super::{Doc, Mapping, NOTHING, Node};
use crate::{MAX_FILE_BYTES, ScenarioError};

/// Deeper than any scenario needs.
const MAX_DEPTH: usize = *slotwise_wire::limits::DEPTH.end() as usize;

/// A message shows no more of a key.
const MAX_SHOWN_KEY: usize = 40;

impl Doc {
    /// Tree of a file; a null value if it has none.
    pub(crate) fn read(yaml: &[u8]) -> Result<Doc, ScenarioError> {
        if yaml.len() > MAX_FILE_BYTES {
            return Err(ScenarioError::TooLarge {
                bytes: yaml.len(),
                limit: MAX_FILE_BYTES,
            });
        }
        let text = text_of(yaml)?;
        let mut tabs = Tabs::new(text);
        let mut builder = Builder::default();
        let mut documents = 0;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| refusal(&error, text))?;
            let line = span.start.line() as u64;
            if let Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) = event
            {
                return Err(ScenarioError::Tag { line });
            }
            match event {
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(_) if documents == 1 => return Err(ScenarioError::Documents { line }),
                Event::DocumentStart(_) => documents += 1,
                Event::StreamEnd => tabs.finish()?,
                Event::Alias(_) => return Err(ScenarioError::Alias { line }),
                Event::Scalar(text, style, ..) => {
                    tabs.pass(&text, style, span)?;
                    let is_plain = style == ScalarStyle::Plain;
                    let text = text.into_owned();
                    builder.add(Doc {
                        node: Node::Scalar { text, is_plain },
                        line,
                    })?;
                }
                Event::SequenceStart(..) => builder.open(Collection::List(Vec::new()), line)?,
                Event::MappingStart(..) => builder.open(Collection::mapping(), line)?,
                Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            }
        }
        Ok(builder.root.unwrap_or_else(|| NOTHING.clone()))
    }
}

/// The file as text, of the characters that YAML has, without a byte order mark at its beginning.
fn text_of(yaml: &[u8]) -> Result<&str, ScenarioError> {
    let refused = |before: &[u8], problem: &str| {
        let line = before.split(|byte| *byte == b'\n').count();
        ScenarioError::Syntax(format!("line {line}: {problem}"))
    };
    let text = std::str::from_utf8(yaml).map_err(|error| refused(&yaml[..error.valid_up_to()], "text is not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.find(|character| !is_printable(character)) {
        Some(at) => Err(refused(&text.as_bytes()[..at], "control characters are not allowed")),
        None => Ok(text),
    }
}

fn is_printable(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..
    )
}

/// Turns the parser's error into a refusal. Within brackets the parser looks ahead, and meets aliases and depth before their events.
fn refusal(error: &ScanError, text: &str) -> ScenarioError {
    let (line, column) = (error.marker().line(), error.marker().col() + 1);
    let is_of_tab = |problem: &str| problem.contains("tab") || problem.contains("valid YAML whitespace");
    match error.info() {
        // Of 256 brackets.
        "recursion limit exceeded" => ScenarioError::TooDeep { limit: MAX_DEPTH },
        "while parsing node, found unknown anchor" => ScenarioError::Alias { line: line as u64 },
        problem if is_of_tab(problem) => {
            // The place may be that of the scalar with the tab in it.
            let mut lines = text.lines().skip(line - 1);
            let before = lines.position(|line| line.contains('\t')).unwrap_or(0);
            ScenarioError::Tab {
                line: (line + before) as u64,
            }
        }
        problem => ScenarioError::Syntax(format!("line {line}, column {column}: {problem}")),
    }
}

/// Collections that are open, each within the one before, each with its line.
#[derive(Default)]
struct Builder {
    open: Vec<(Collection, u64)>,
    root: Option<Doc>,
}

enum Collection {
    List(Vec<Doc>),
    Mapping {
        entries: Vec<(Doc, Doc)>,
        /// Key whose value comes next.
        key: Option<Doc>,
        /// Keys so far, as text or as another type, with their lines.
        lines: BTreeMap<(bool, String), u64>,
    },
}

impl Collection {
    fn mapping() -> Collection {
        Collection::Mapping {
            entries: Vec::new(),
            key: None,
            lines: BTreeMap::new(),
        }
    }
}

impl Builder {
    fn open(&mut self, collection: Collection, line: u64) -> Result<(), ScenarioError> {
        if self.open.len() == MAX_DEPTH {
            return Err(ScenarioError::TooDeep { limit: MAX_DEPTH });
        }
        self.open.push((collection, line));
        Ok(())
    }

    fn close(&mut self) -> Result<(), ScenarioError> {
        let Some((collection, line)) = self.open.pop() else {
            return Ok(());
        };
        let node = match collection {
            Collection::List(elements) => Node::List(elements),
            Collection::Mapping { entries, .. } => Node::Mapping(Mapping(entries)),
        };
        self.add(Doc { node, line })
    }

    /// Puts a node in the innermost collection that is open.
    fn add(&mut self, doc: Doc) -> Result<(), ScenarioError> {
        match self.open.last_mut() {
            None => self.root = Some(doc),
            Some((Collection::List(elements), _)) => elements.push(doc),
            Some((Collection::Mapping { entries, key, lines }, _)) => match key.take() {
                Some(key) => entries.push((key, doc)),
                None => {
                    note(lines, &doc)?;
                    *key = Some(doc);
                }
            },
        }
        Ok(())
    }
}

/// Refuses a key that its mapping has had before. A collection as a key is left to the reader, which accepts none.
fn note(lines: &mut BTreeMap<(bool, String), u64>, key: &Doc) -> Result<(), ScenarioError> {
    let Node::Scalar { text, .. } = &key.node else {
        return Ok(());
    };
    match lines.insert((key.as_str().is_some(), text.clone()), key.line) {
        None => Ok(()),
        Some(first) => Err(ScenarioError::Twice {
            key: text.chars().take(MAX_SHOWN_KEY).collect(),
            line: key.line,
            first,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(yaml: &str) -> Option<ScenarioError> {
        Doc::read(yaml.as_bytes()).err()
    }

    #[test]
    fn depth_is_that_of_collections_not_of_quotes_and_comments() {
        let flow = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let block = |depth: usize| {
            (0..depth)
                .map(|level| format!("{}a:\n", " ".repeat(level)))
                .collect::<String>()
        };
        for (text, is_refused) in [
            (flow(MAX_DEPTH), false),
            (flow(MAX_DEPTH + 1), true),
            (block(MAX_DEPTH), false),
            (block(MAX_DEPTH + 1), true),
            ("{".repeat(50_000), true),
            ("{ \"}\": ".repeat(50_000), true),
            ("- ".repeat(50_000), true),
            ("? ".repeat(50_000), true),
            ("a: x{ '\nb: ".to_owned() + &"[".repeat(50_000), true),
            (
                format!(
                    "# {}\na: '{}'\nb: {}x",
                    "{".repeat(500),
                    "[".repeat(500),
                    "x[".repeat(500)
                ),
                false,
            ),
            (format!("[{}]", "{a: 1}, ".repeat(10_000)), false),
            (String::new(), false),
        ] {
            let deep = ScenarioError::TooDeep { limit: MAX_DEPTH };
            assert_eq!(refused(&text), is_refused.then_some(deep), "{text:.40}");
        }
    }

    #[test]
    fn files_of_many_or_long_parts_are_read() {
        const BYTES: usize = MAX_FILE_BYTES;
        let lines = |of: &dyn Fn(usize) -> String| (0..BYTES / 20).map(of).collect::<String>();
        let keys = Doc::read(lines(&|number| format!("k{number}: {number}\n")).as_bytes()).unwrap();
        assert_eq!(keys.as_mapping().unwrap().keys().count(), BYTES / 20);
        let list = Doc::read(format!("[{}]", "a,".repeat(BYTES / 3)).as_bytes()).unwrap();
        assert_eq!(list.as_list().unwrap().len(), BYTES / 3);
        for open in ["", "'", "\"", "|\n  "] {
            let close = open.trim_end_matches([' ', '\n', '|']);
            let long = "x".repeat(BYTES - 10);
            assert_eq!(
                Doc::read(format!("{open}{long}{close}").as_bytes())
                    .unwrap()
                    .as_str()
                    .map(str::trim_end),
                Some(&*long)
            );
        }
        let anchors = Doc::read(lines(&|number| format!("- &a{number} x\n")).as_bytes()).unwrap();
        assert_eq!(anchors.as_list().unwrap().len(), BYTES / 20);
        // Each pair in brackets may be a key, up to the last character.
        let pairs = format!("{}1{}", "[".repeat(60), ", a: b, [c]: d]".repeat(60));
        assert!(Doc::read(format!("[{}]", format!("{pairs},").repeat(100)).as_bytes()).is_ok());
    }

    #[test]
    fn tags_are_refused_with_their_line() {
        for text in [
            "a: 1\nb: !x 5\n",
            "a: 1\nb: !!str 5\n",
            "a: 1\nb: !x [5]\n",
            "a: 1\nb: ! {c: 5}\n",
            "a: 1\n!x b: 5\n",
        ] {
            assert_eq!(refused(text), Some(ScenarioError::Tag { line: 2 }), "{text}");
        }
    }

    #[test]
    fn aliases_are_refused_with_their_line() {
        let alias = Some(ScenarioError::Alias { line: 3 });
        assert_eq!(refused("a: &one [1]\nb: '*one'\nc: *one\n"), alias);
        assert_eq!(refused("a: 1\nb: 2\nc: [*none]\n"), alias);
        assert_eq!(refused("a: 1\nb: 2\n*none : 3\n"), alias);
        assert_eq!(refused("a: &one [1]\nb: 2 *one\n"), None);
    }

    #[test]
    fn keys_that_are_there_twice_are_refused_with_both_lines() {
        let twice = |yaml: &str| match refused(yaml) {
            Some(ScenarioError::Twice { key, line, first }) => Some((key, line, first)),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(twice("a:\n  b: 1\n  c: 2\n  b: 3\n  c: 4\n"), Some(("b".into(), 4, 2)));
        assert_eq!(
            twice("a: 1\nb: [{x/y: 1}, {x/y: 1, x/y: 2}]\n"),
            Some(("x/y".into(), 2, 2))
        );
        assert_eq!(twice("a: 1\n'a': 2\n"), Some(("a".into(), 2, 1)));
        assert_eq!(twice("5: 1\n\n5: 2\n"), Some(("5".into(), 3, 1)));
        let long = "k".repeat(60);
        assert_eq!(
            twice(&format!("{long}: 1\n{long}: 2\n")),
            Some((long[..40].into(), 2, 1))
        );
        for text in [
            "a: {b: 1}\nc: {b: 1}\nb: [1, 1]\n",
            "5: 1\n'5': 2\n",
            "? [a]\n: 1\n? [a]\n: 2\n",
        ] {
            assert_eq!(twice(text), None, "{text}");
        }
    }

    #[test]
    fn a_second_document_is_refused_with_its_line() {
        let second = Some(ScenarioError::Documents { line: 3 });
        assert_eq!(refused("---\na: 1\n---\nb: 2\n"), second);
        assert_eq!(refused("a: 1\n...\n--- b\n"), second);
        assert_eq!(refused("a: 1\n\n---\n"), second);
        assert_eq!(refused("%YAML 1.2\n---\na: 1\n...\n# end\n"), None);
    }

    #[test]
    fn text_that_is_no_yaml_is_refused_with_its_line() {
        let syntax = |yaml: &[u8]| match Doc::read(yaml) {
            Err(ScenarioError::Syntax(problem)) => problem,
            other => panic!("{other:?}"),
        };
        assert_eq!(syntax(b"a: 1\nb: \xff\n"), "line 2: text is not UTF-8");
        assert_eq!(syntax(b"\xff\xfe\x00\xd8"), "line 1: text is not UTF-8");
        assert_eq!(
            syntax(b"a: 1\nb: x\x1b[2J\n"),
            "line 2: control characters are not allowed"
        );
        assert_eq!(syntax(b"# \x00\n"), "line 1: control characters are not allowed");
        assert_eq!(
            syntax(b"a: 1\nb: c: d\n"),
            "line 2, column 5: mapping values are not allowed in this context"
        );
        for text in ["{", "a: [1\nb: 2\n", "'", "a: 1\n b: 2\n", "- a\nb: 1\n", "a: @x\n"] {
            assert!(syntax(text.as_bytes()).starts_with("line "), "{text}");
        }
    }
}
