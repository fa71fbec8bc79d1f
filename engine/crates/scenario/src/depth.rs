// SPDX-License-Identifier: Apache-2.0
//! What a YAML text must not have, found out before it is read: collections nested deeply, which take time with the square of their
//! depth, aliases, with which a short file could unfold into a huge one, and what readers of YAML take differently, tags and tabs.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use unsafe_libyaml::{
    YAML_ALIAS_EVENT, YAML_MAPPING_END_EVENT, YAML_MAPPING_START_EVENT, YAML_PLAIN_SCALAR_STYLE, YAML_SCALAR_EVENT,
    YAML_SEQUENCE_END_EVENT, YAML_SEQUENCE_START_EVENT, YAML_STREAM_END_EVENT, yaml_event_delete, yaml_event_t,
    yaml_event_type_t, yaml_parser_delete, yaml_parser_initialize, yaml_parser_parse, yaml_parser_set_input_string,
    yaml_parser_t,
};

use crate::ScenarioError;

/// Deeper than any scenario needs.
pub(crate) const MAX_DEPTH: usize = *slotwise_wire::limits::DEPTH.end() as usize;

/// Refuses a text whose collections lie in one another more than [`MAX_DEPTH`] deep, or that has an alias, a tag, or a tab that
/// stands neither in quotes, nor in a block of text, nor in a comment. What is no YAML from some place on counts up to there.
pub(crate) fn check_structure(yaml: &[u8]) -> Result<(), ScenarioError> {
    let mut depth = 0;
    let mut texts = Vec::new();
    for Event {
        kind,
        line,
        is_tagged,
        text,
    } in events(yaml)
    {
        if is_tagged {
            return Err(ScenarioError::Tag { line });
        }
        texts.extend(text);
        match kind {
            YAML_ALIAS_EVENT => return Err(ScenarioError::Alias { line }),
            YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT if depth == MAX_DEPTH => {
                return Err(ScenarioError::TooDeep { limit: MAX_DEPTH });
            }
            YAML_SEQUENCE_START_EVENT | YAML_MAPPING_START_EVENT => depth += 1,
            YAML_SEQUENCE_END_EVENT | YAML_MAPPING_END_EVENT => depth -= 1,
            _ => {}
        }
    }
    check_tabs(yaml, &texts)
}

/// A scalar: what it says, and where it stands, in characters of the file.
pub(crate) struct Text {
    pub(crate) value: String,
    start: u64,
    end: u64,
    /// Without quotes, and no block.
    is_plain: bool,
}

fn check_tabs(yaml: &[u8], texts: &[Text]) -> Result<(), ScenarioError> {
    let Ok(yaml) = std::str::from_utf8(yaml) else {
        return Ok(());
    };
    let (mut line, mut is_comment, mut texts) = (1, false, texts.iter().peekable());
    for (index, character) in (0..).zip(yaml.trim_start_matches('\u{feff}').chars()) {
        while texts.next_if(|text| text.end <= index).is_some() {}
        let text = texts.peek().filter(|text| text.start <= index);
        match character {
            '\n' => (line, is_comment) = (line + 1, false),
            '#' if text.is_none() => is_comment = true,
            '\t' if !is_comment && text.is_none_or(|text| text.is_plain) => return Err(ScenarioError::Tab { line }),
            _ => {}
        }
    }
    Ok(())
}

/// What is known of an event.
pub(crate) struct Event {
    pub(crate) kind: yaml_event_type_t,
    /// From 1.
    pub(crate) line: u64,
    is_tagged: bool,
    /// If it is one.
    pub(crate) text: Option<Text>,
}

/// The events of a text up to its end, or to where it is no YAML.
pub(crate) fn events(yaml: &[u8]) -> Events<'_> {
    let mut parser = Box::new(MaybeUninit::<yaml_parser_t>::uninit());
    // SAFETY: the parser is initialized before anything else is done with it, and stays where it is, in its box; `yaml` outlives it.
    let is_ready = unsafe {
        let is_ready = !yaml_parser_initialize(parser.as_mut_ptr()).fail;
        if is_ready {
            yaml_parser_set_input_string(parser.as_mut_ptr(), yaml.as_ptr(), yaml.len() as u64);
        }
        is_ready
    };
    Events {
        parser,
        is_ready,
        has_ended: !is_ready,
        of: PhantomData,
    }
}

/// What [`events`] gives.
pub(crate) struct Events<'text> {
    parser: Box<MaybeUninit<yaml_parser_t>>,
    is_ready: bool,
    has_ended: bool,
    of: PhantomData<&'text [u8]>,
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.has_ended {
            return None;
        }
        // SAFETY: it has not ended, so the parser is initialized and has its input.
        let event = unsafe { next_event(self.parser.as_mut_ptr()) };
        self.has_ended = event.as_ref().is_none_or(|event| event.kind == YAML_STREAM_END_EVENT);
        event
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        if self.is_ready {
            // SAFETY: it was initialized, and is not used any more.
            unsafe { yaml_parser_delete(self.parser.as_mut_ptr()) };
        }
    }
}

/// The next event; `None` if there is none that can be read.
///
/// # Safety
/// The parser is initialized and has its input.
unsafe fn next_event(parser: *mut yaml_parser_t) -> Option<Event> {
    let mut event = MaybeUninit::<yaml_event_t>::uninit();
    let event = event.as_mut_ptr();
    // SAFETY: as the caller says; an event is there to be read and deleted if the call succeeds.
    unsafe {
        if yaml_parser_parse(parser, event).fail {
            return None;
        }
        let (kind, start, end) = ((*event).type_, (*event).start_mark, (*event).end_mark);
        let is_text = kind == YAML_SCALAR_EVENT;
        let tag = match kind {
            YAML_SCALAR_EVENT => (*event).data.scalar.tag,
            YAML_SEQUENCE_START_EVENT => (*event).data.sequence_start.tag,
            YAML_MAPPING_START_EVENT => (*event).data.mapping_start.tag,
            _ => std::ptr::null_mut(),
        };
        let found = Event {
            kind,
            line: start.line + 1,
            is_tagged: !tag.is_null(),
            text: is_text.then(|| Text {
                value: scalar(&*event),
                start: start.index,
                end: end.index,
                is_plain: (*event).data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
            }),
        };
        yaml_event_delete(event);
        Some(found)
    }
}

/// # Safety
/// The event is a scalar.
unsafe fn scalar(event: &yaml_event_t) -> String {
    // SAFETY: as the caller says; the value is so long, and not null if it is longer than 0.
    unsafe {
        let scalar = event.data.scalar;
        match scalar.length {
            0 => String::new(),
            length => String::from_utf8_lossy(std::slice::from_raw_parts(scalar.value, length as usize)).into_owned(),
        }
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
            (String::new(), false),
        ] {
            let verdict = check_structure(text.as_bytes());
            let deep = Err(ScenarioError::TooDeep { limit: MAX_DEPTH });
            assert_eq!(verdict, if expected { deep } else { Ok(()) }, "{:.40}", text);
        }
        assert_eq!(check_structure(b"\xff\xfe\x00\xd8"), Ok(()));
    }

    #[test]
    fn tags_and_tabs_that_readers_take_differently_are_refused_with_their_line() {
        for text in [
            "a: 1\nb: !x 5\n",
            "a: 1\nb: !!str 5\n",
            "a: 1\nb: !x [5]\n",
            "a: 1\nb: ! {c: 5}\n",
        ] {
            assert_eq!(
                check_structure(text.as_bytes()),
                Err(ScenarioError::Tag { line: 2 }),
                "{text}"
            );
        }
        for text in [
            "a: 1\nb:\t5\n",
            "a: 1\nb: 5\t\n",
            "a: 1\nb: x\ty\n",
            "[1,\n\t2]",
            "# \u{e9}\n\t# x\na: 1",
            "\u{feff}a: '\u{e9}'\nb:\t5",
        ] {
            assert_eq!(
                check_structure(text.as_bytes()),
                Err(ScenarioError::Tab { line: 2 }),
                "{text}"
            );
        }
        for text in [
            "a: '\t'\nb: \"\u{e9}\t\" # x\ty\n",
            "a: |\n  x\ty\nb: x#y # it's\t'\n",
            "a: '#' # \t\n",
        ] {
            assert_eq!(check_structure(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn aliases_are_refused_with_their_line() {
        let text = "a: &one [1]\nb: '*one'\nc: *one\n";
        assert_eq!(check_structure(text.as_bytes()), Err(ScenarioError::Alias { line: 3 }));
        assert_eq!(check_structure(b"a: &one [1]\nb: 2 *one\n"), Ok(()));
    }
}
