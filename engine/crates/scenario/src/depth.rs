// SPDX-License-Identifier: Apache-2.0
//! How deep a YAML text is nested, found out before it is read: to read flow collections takes time with the square of their depth.

use std::mem::MaybeUninit;

use unsafe_libyaml::{
    YAML_MAPPING_END_EVENT, YAML_MAPPING_START_EVENT, YAML_SEQUENCE_END_EVENT, YAML_SEQUENCE_START_EVENT,
    YAML_STREAM_END_EVENT, yaml_event_delete, yaml_event_t, yaml_event_type_t, yaml_parser_delete,
    yaml_parser_initialize, yaml_parser_parse, yaml_parser_set_input_string, yaml_parser_t,
};

/// Deeper than any scenario needs.
pub(crate) const MAX_DEPTH: usize = 64;

/// Whether collections lie in one another more than [`MAX_DEPTH`] deep. What is no YAML from some place on counts up to there.
pub(crate) fn is_too_deep(yaml: &[u8]) -> bool {
    let mut parser = MaybeUninit::<yaml_parser_t>::uninit();
    let parser = parser.as_mut_ptr();
    // SAFETY: the parser is initialized before anything else is done with it, deleted at the end, and never moved; `yaml` outlives it.
    unsafe {
        if yaml_parser_initialize(parser).fail {
            return false;
        }
        yaml_parser_set_input_string(parser, yaml.as_ptr(), yaml.len() as u64);
        let mut depth = 0;
        let is_too_deep = loop {
            match next_event(parser) {
                Some(YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT) if depth == MAX_DEPTH => break true,
                Some(YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT) => depth += 1,
                Some(YAML_SEQUENCE_END_EVENT | YAML_MAPPING_END_EVENT) => depth -= 1,
                Some(YAML_STREAM_END_EVENT) | None => break false,
                Some(_) => {}
            }
        };
        yaml_parser_delete(parser);
        is_too_deep
    }
}

/// The kind of the next event; `None` if there is none that can be read.
///
/// # Safety
/// The parser is initialized and has its input.
unsafe fn next_event(parser: *mut yaml_parser_t) -> Option<yaml_event_type_t> {
    let mut event = MaybeUninit::<yaml_event_t>::uninit();
    let event = event.as_mut_ptr();
    // SAFETY: as the caller says; an event is there to be read and deleted if the call succeeds.
    unsafe {
        if yaml_parser_parse(parser, event).fail {
            return None;
        }
        let kind = (*event).type_;
        yaml_event_delete(event);
        Some(kind)
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
            assert_eq!(is_too_deep(text.as_bytes()), expected, "{:.40}", text);
        }
        assert!(!is_too_deep(b"\xff\xfe\x00\xd8"));
    }
}
