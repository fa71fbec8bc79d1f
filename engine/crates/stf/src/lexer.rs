// SPDX-License-Identifier: Apache-2.0
//! Words, numbers and symbols, with their places.

use crate::error::ParseError;

/// A place in the text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub fn error<T>(self, reason: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError {
            line: self.line,
            column: self.column,
            reason: reason.into(),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, or what stands between quotes.
    Word,
    /// Begins with a digit; not checked further.
    Number,
    Symbol,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub place: Place,
}

impl Token<'_> {
    /// For messages.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text),
        }
    }
}

/// Longest first.
const SYMBOLS: [&str; 17] = [
    "&&&", "->", "==", "!=", "<=", ">=", "<", ">", "=", ":", ",", ".", "[", "]", "(", ")", "/",
];

#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            rest: text,
            place: Place { line: 1, column: 1 },
        }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn skip_blank(&mut self) {
        loop {
            self.skip(char::is_whitespace);
            if !self.rest.starts_with('#') {
                return;
            }
            self.skip(|c| c != '\n');
        }
    }

    /// The next token; at the end of the text, again and again `End`.
    pub fn token(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip_blank();
        let place = self.place;
        let found = |kind, text| Ok(Token { kind, text, place });
        let Some(first) = self.rest.chars().next() else {
            return found(Kind::End, "");
        };
        if first.is_ascii_digit() {
            return found(Kind::Number, self.skip(|c| c.is_ascii_alphanumeric() || c == '*'));
        }
        if first.is_ascii_alphabetic() || first == '_' || first == '$' {
            return found(
                Kind::Word,
                self.skip(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$'),
            );
        }
        if first == '"' {
            self.advance(1);
            let word = self.skip(|c| c != '"' && c != '\n');
            if word.is_empty() || !self.rest.starts_with('"') {
                return place.error("unterminated or empty quoted name");
            }
            self.advance(1);
            return found(Kind::Word, word);
        }
        match SYMBOLS.iter().find(|symbol| self.rest.starts_with(**symbol)) {
            Some(symbol) => found(Kind::Symbol, self.advance(symbol.len())),
            None => place.error(format!("unexpected character `{first}`")),
        }
    }

    /// The data of a packet: what is left of this line before a comment, character by character without blanks.
    pub fn data(&mut self) -> Vec<(Place, char)> {
        let mut found = Vec::new();
        while let Some(next) = self.rest.chars().next().filter(|&c| c != '\n' && c != '#') {
            let place = self.place;
            self.advance(next.len_utf8());
            if !next.is_whitespace() {
                found.push((place, next));
            }
        }
        found
    }
}
