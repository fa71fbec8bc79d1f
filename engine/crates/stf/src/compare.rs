// SPDX-License-Identifier: Apache-2.0
//! Packets that came against packets that were expected.

use crate::run::Failure;
use crate::script::Pattern;
use slotwise_p4::Port;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A packet that came out.
pub(crate) struct Sent {
    pub port: Port,
    pub frame: Vec<u8>,
    /// Line of the packet that it was made of.
    pub cause: u32,
}

/// A packet that must come out.
pub(crate) struct Expected<'a> {
    pub line: u32,
    pub port: Port,
    pub pattern: Option<&'a Pattern>,
}

const BYTES_PER_ROW: usize = 24;

/// All differences, by line.
pub(crate) fn compare(expected: &[Expected], sent: &[Sent]) -> Vec<Failure> {
    let mut by_port: BTreeMap<Port, (Vec<&Expected>, Vec<&Sent>)> = BTreeMap::new();
    for one in expected {
        by_port.entry(one.port).or_default().0.push(one);
    }
    for one in sent {
        by_port.entry(one.port).or_default().1.push(one);
    }
    let mut failures = Vec::new();
    for (port, (expected, sent)) in by_port {
        for number in 0..expected.len().max(sent.len()) {
            let name = format!("packet {} on port {port}", number + 1);
            failures.extend(match (expected.get(number), sent.get(number)) {
                (Some(expected), Some(sent)) => difference(&name, expected, sent),
                (Some(expected), None) => Some(Failure {
                    line: expected.line,
                    text: format!(
                        "{name} missing; {} received\n{}",
                        sent.len(),
                        rows(expected.pattern, None)
                    ),
                }),
                (None, Some(sent)) => Some(Failure {
                    line: sent.cause,
                    text: format!("{name} unexpected\n{}", rows(None, Some(&sent.frame))),
                }),
                (None, None) => None,
            });
        }
    }
    failures.sort_by_key(|failure| failure.line);
    failures
}

fn difference(name: &str, expected: &Expected, sent: &Sent) -> Option<Failure> {
    let pattern = expected.pattern?;
    let (wanted, got) = (pattern.nibbles.len(), sent.frame.len() * 2);
    let first = (0..wanted.min(got)).find(|&at| !agrees(pattern, &sent.frame, at));
    let what = match first {
        Some(at) => format!("differs at byte {}", at / 2),
        None if got < wanted => format!("too short: {} bytes, {} expected", sent.frame.len(), wanted.div_ceil(2)),
        None if pattern.exact && got > wanted => {
            format!("too long: {} bytes, {} expected", sent.frame.len(), wanted.div_ceil(2))
        }
        None => return None,
    };
    let rows = rows(Some(pattern), Some(&sent.frame));
    let text = format!("{name}, caused by line {}: {what}\n{rows}", sent.cause);
    Some(Failure {
        line: expected.line,
        text,
    })
}

/// The half byte is as wanted; those that only one side has are not.
fn agrees(pattern: &Pattern, frame: &[u8], at: usize) -> bool {
    match (pattern.nibbles.get(at), nibble(frame, at)) {
        (Some(None), Some(_)) | (None, None) => true,
        (Some(Some(wanted)), Some(got)) => *wanted == got,
        (None, Some(_)) => !pattern.exact,
        (Some(_), None) => false,
    }
}

fn nibble(frame: &[u8], at: usize) -> Option<u8> {
    let byte = frame.get(at / 2)?;
    Some(if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
}

/// Both packets, one below the other, with `^` below what differs. Ends without a line feed.
fn rows(pattern: Option<&Pattern>, frame: Option<&[u8]>) -> String {
    let wanted = pattern.map_or(0, |pattern| pattern.nibbles.len().div_ceil(2));
    let bytes = wanted.max(frame.map_or(0, <[u8]>::len));
    let mut lines: Vec<String> = Vec::new();
    for start in (0..bytes.max(1)).step_by(BYTES_PER_ROW) {
        let row = start..(start + BYTES_PER_ROW).min(bytes);
        if let Some(pattern) = pattern {
            let mut shown = in_bytes(row.clone(), |at| match pattern.nibbles.get(at) {
                Some(Some(digit)) => hex(*digit),
                Some(None) => '*',
                None => ' ',
            });
            if pattern.exact && row.contains(&wanted.saturating_sub(1)) {
                shown.truncate(shown.trim_end().len());
                shown.push_str(" $");
            }
            lines.push(format!("  expected {start:5}  {shown}"));
        }
        if let Some(frame) = frame {
            let shown = in_bytes(row.clone(), |at| nibble(frame, at).map_or(' ', hex));
            lines.push(format!("  got      {start:5}  {shown}"));
            if let Some(pattern) = pattern {
                let marks = in_bytes(row, |at| if agrees(pattern, frame, at) { ' ' } else { '^' });
                lines.push(format!("                  {marks}"));
            }
        }
    }
    if pattern.is_none() && frame.is_none() {
        return "  expected        any".to_owned();
    }
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.trim_end())
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

fn in_bytes(bytes: std::ops::Range<usize>, nibble: impl Fn(usize) -> char) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{}{} ", nibble(2 * byte), nibble(2 * byte + 1));
    }
    text
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('?')
}
