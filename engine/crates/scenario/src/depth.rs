// SPDX-License-Identifier: Apache-2.0
//! What a YAML text must not have, found out before it is read: collections nested deeply, which take time with the square of their
//! depth, and aliases, with which a short file could unfold into a huge one.

use std::mem::MaybeUninit;

use unsafe_libyaml::{
    YAML_ALIAS_EVENT, YAML_MAPPING_END_EVENT, YAML_MAPPING_START_EVENT, YAML_SEQUENCE_END_EVENT,
    YAML_SEQUENCE_START_EVENT, YAML_STREAM_END_EVENT, yaml_event_delete, yaml_event_t, yaml_event_type_t,
    yaml_parser_delete, yaml_parser_initialize, yaml_parser_parse, yaml_parser_set_input_string, yaml_parser_t,
};

use crate::ScenarioError;

/// Deeper than any scenario needs.
pub(crate) const MAX_DEPTH: usize = *slotwise_wire::limits::DEPTH.end() as usize;

/// Refuses a text whose collections lie in one another more than [`MAX_DEPTH`] deep, or that has an alias. What is no YAML from some
/// place on counts up to there.
pub(crate) fn check_structure(yaml: &[u8]) -> Result<(), ScenarioError> {
    let mut parser = MaybeUninit::<yaml_parser_t>::uninit();
    let parser = parser.as_mut_ptr();
    // SAFETY: the parser is initialized before anything else is done with it, deleted at the end, and never moved; `yaml` outlives it.
    unsafe {
        if yaml_parser_initialize(parser).fail {
            return Ok(());
        }
        yaml_parser_set_input_string(parser, yaml.as_ptr(), yaml.len() as u64);
        let mut depth = 0;
        let verdict = loop {
            let Some((kind, line)) = next_event(parser) else {
                break Ok(());
            };
            match kind {
                YAML_ALIAS_EVENT => break Err(ScenarioError::Alias { line }),
                YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT if depth == MAX_DEPTH => {
                    break Err(ScenarioError::TooDeep { limit: MAX_DEPTH });
                }
                YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT => depth += 1,
                YAML_SEQUENCE_END_EVENT | YAML_MAPPING_END_EVENT => depth -= 1,
                YAML_STREAM_END_EVENT => break Ok(()),
                _ => {}
            }
        };
        yaml_parser_delete(parser);
        verdict
    }
}

/// The kind of the next event and its line, from 1; `None` if there is none that can be read.
///
/// # Safety
/// The parser is initialized and has its input.
unsafe fn next_event(parser: *mut yaml_parser_t) -> Option<(yaml_event_type_t, u64)> {
    let mut event = MaybeUninit::<yaml_event_t>::uninit();
    let event = event.as_mut_ptr();
    // SAFETY: as the caller says; an event is there to be read and deleted if the call succeeds.
    unsafe {
        if yaml_parser_parse(parser, event).fail {
            return None;
        }
        let found = ((*event).type_, (*event).start_mark.line + 1);
        yaml_event_delete(event);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_that_of_collections_whatever_quotes_and_comments_hold() {
        let flow = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let block = |depth: usize| {
            (0..depth)
                .map(|level| format!("{}a:\n", " ".repeat(level)))
                .collect::<String>()
        };
        for (text, expected) in [
            (flow(MAX_DEPTH), false),
            (flow(MAX_DEPTH + 1), true),
            (block(MAX_DEPTH), false),
            (block(MAX_DEPTH + 1), true),
            ("{".repeat(50_000), true),
            ("{ \"}\": ".repeat(50_000), true),
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
            ("\t}".to_owned(), false),
            (String::new(), false),
        ] {
            let verdict = check_structure(text.as_bytes());
            let deep = Err(ScenarioError::TooDeep { limit: MAX_DEPTH });
            assert_eq!(verdict, if expected { deep } else { Ok(()) }, "{:.40}", text);
        }
        assert_eq!(check_structure(b"\xff\xfe\x00\xd8"), Ok(()));
    }

    #[test]
    fn aliases_are_refused_with_their_line() {
        let text = "a: &one [1]\nb: '*one'\nc: *one\n";
        assert_eq!(check_structure(text.as_bytes()), Err(ScenarioError::Alias { line: 3 }));
        assert_eq!(check_structure(b"a: &one [1]\nb: 2 *one\n"), Ok(()));
    }
}
