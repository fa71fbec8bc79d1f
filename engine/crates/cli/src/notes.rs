// SPDX-License-Identifier: Apache-2.0
//! What a person reads while something runs. Nothing ends because it cannot be written: on a full disk, or with nobody there
//! who reads. `println!` and `eprintln!` panic then, so that this crate does without them.

use std::fmt::{Arguments, Write as _};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Text of others is shown so far.
const MOST_CHARS: usize = 300;

static LINES: AtomicUsize = AtomicUsize::new(0);

/// As `println!`, but what cannot be written is lost.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::notes::line(&mut ::std::io::stdout().lock(), format_args!($($text)*)) };
}

/// As `eprintln!`, but what cannot be written is lost.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::notes::line(&mut ::std::io::stderr().lock(), format_args!($($text)*)) };
}

pub use crate::{note, say};

/// Writes a line in one piece, or not.
pub fn line(to: &mut impl Write, text: Arguments<'_>) {
    LINES.fetch_add(1, Ordering::Relaxed);
    let _ = to.write_all(format!("{text}\n").as_bytes()).and_then(|()| to.flush());
}

/// Lines so far.
pub fn count() -> usize {
    LINES.load(Ordering::Relaxed)
}

/// Text of others for a terminal, which would take control characters as orders: they are escaped, but for the ends of lines.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' {
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Text of others in one line, cut off where it does not end: it must not look like a line of this command.
pub fn one_line(text: &str) -> String {
    let start = text
        .char_indices()
        .nth(MOST_CHARS + 1)
        .map_or(text, |(end, _)| &text[..end]);
    let mut shown = printable(start).replace('\n', " ");
    if let Some((end, _)) = shown.char_indices().nth(MOST_CHARS) {
        shown.truncate(end);
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Takes nothing.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn what_cannot_be_written_is_lost() {
        line(&mut Full, format_args!("text"));
        let mut written = Vec::new();
        line(&mut written, format_args!("{} and {}", 1, 2));
        assert_eq!(written, b"1 and 2\n");
    }

    #[test]
    fn text_of_others_gives_no_orders_to_a_terminal() {
        let text = "key '\x1b[2J\x07' in \u{9b}31m caf\u{e9}\nnext";
        assert_eq!(printable(text), "key '\\u{1b}[2J\\u{7}' in \\u{9b}31m caf\u{e9}\nnext");
        assert_eq!(one_line("one\n\u{1b}two"), "one \\u{1b}two");
    }

    #[test]
    fn text_of_others_that_does_not_end_is_cut_off() {
        let most = "x".repeat(MOST_CHARS);
        for more in ["x", "\u{e9}", "\n"] {
            assert_eq!(
                one_line(&(most.clone() + &more.repeat(8_000_000))),
                format!("{most}...")
            );
        }
        assert_eq!(one_line(&most), most);
    }
}
