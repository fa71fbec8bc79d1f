// SPDX-License-Identifier: Apache-2.0
//! Tabs of a file: they may stand in quotes, in blocks of text and in comments only, since readers of YAML take them differently anywhere
//! else. The parser gives no events of what stands between scalars, so this follows it there.

use std::iter::Peekable;
use std::str::Chars;

use saphyr_parser::{ScalarStyle, Span};

use crate::ScenarioError;

/// Place up to which a file was checked.
pub(super) struct Tabs<'t> {
    /// None if the file has no tab at all.
    rest: Option<Peekable<Chars<'t>>>,
    /// Characters before it, as the parser counts.
    index: usize,
    line: u64,
}

impl<'t> Tabs<'t> {
    pub(super) fn new(text: &'t str) -> Tabs<'t> {
        Tabs {
            rest: text.contains('\t').then(|| text.chars().peekable()),
            index: 0,
            line: 1,
        }
    }

    /// Checks what stands before a scalar, and the scalar if it is plain.
    pub(super) fn pass(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), ScenarioError> {
        // A value that is left out has the place of what comes next.
        if self.rest.is_none() || (style == ScalarStyle::Plain && text.is_empty()) {
            return Ok(());
        }
        let (start, end) = (span.start.index(), span.end.index());
        self.check_between(start)?;
        match style {
            ScalarStyle::Plain => self.check_plain(end)?,
            ScalarStyle::SingleQuoted => self.skip_quotes('\''),
            ScalarStyle::DoubleQuoted => self.skip_quotes('"'),
            ScalarStyle::Literal | ScalarStyle::Folded => while self.index < end && self.next().is_some() {},
        }
        Ok(())
    }

    /// Checks what stands behind the last scalar.
    pub(super) fn finish(&mut self) -> Result<(), ScenarioError> {
        self.check_between(usize::MAX)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.as_mut()?.next()?;
        self.index += 1;
        self.line += u64::from(next == '\n');
        Some(next)
    }

    fn check_between(&mut self, end: usize) -> Result<(), ScenarioError> {
        let mut is_comment = false;
        while self.index < end {
            match self.next() {
                None => break,
                Some('\n') => is_comment = false,
                Some('#') => is_comment = true,
                Some('\t') if !is_comment => return Err(ScenarioError::Tab { line: self.line }),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn check_plain(&mut self, end: usize) -> Result<(), ScenarioError> {
        while self.index < end {
            match self.next() {
                None => break,
                Some('\t') => return Err(ScenarioError::Tab { line: self.line }),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Goes behind the closing quote: the parser's end of such a scalar has the spaces and the comment behind it, too.
    fn skip_quotes(&mut self, quote: char) {
        let mut is_open = false;
        while let Some(character) = self.next() {
            let doubled = quote == '\'' && self.rest.as_mut().and_then(Peekable::peek) == Some(&quote);
            match character {
                '\\' if is_open && quote == '"' => drop(self.next()),
                _ if character != quote => {}
                _ if !is_open => is_open = true,
                _ if doubled => drop(self.next()),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::Doc;

    #[test]
    fn tabs_between_words_are_refused_with_their_line() {
        for text in [
            "a: 1\nb:\t5\n",
            "a: 1\nb: 5\t\n",
            "a: 1\nb: x\ty\n",
            "a: x\n\ty\n",
            "a:\n\t- 1\n",
            "-\n\t- 1\n",
            "a: 1\n\tb: 2\n",
            "[1,\n\t2]",
            "a: 1\n'b':\t5\n",
            "a: 1\n'b''\t'\t: 5\n",
            "a: 1\nb: \"\\\"\"\t# x\n",
            "a: 1\nb: ''\t\n",
            "# \u{e9}\n\t# x\na: 1",
            "a: |\n\tx\n",
            "\u{feff}a: '\u{e9}'\nb:\t5",
            "a: '\r\n \t'\r\n\t",
        ] {
            let line = if text.contains('\r') { 3 } else { 2 };
            assert_eq!(Doc::read(text.as_bytes()), Err(ScenarioError::Tab { line }), "{text}");
        }
    }

    #[test]
    fn tabs_in_quotes_blocks_and_comments_are_read() {
        for text in [
            "a: '\t'\nb: \"\u{e9}\t\" # x\ty\n",
            "a: |\n  x\ty\nb: x#y # it's\t'\n",
            "a: '#' # \t\n",
            "a: '''\t'''\nb: \"\\\"\t\\\\\"\n",
            "a: >\n  x\ty\n\n  z\tz\n# \t\n",
            "a: &b '\t'\n",
            "a:\n# \t\nb:\n",
        ] {
            assert!(Doc::read(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
