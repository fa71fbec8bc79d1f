// SPDX-License-Identifier: Apache-2.0
//! Pictures on a terminal, each in place of the one before.

use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::style::{Color as Ink, Print, PrintStyledContent, StyledContent, Stylize as _, style};
use crossterm::terminal::{Clear, ClearType};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Span;

/// What is on the terminal, above the cursor.
#[derive(Default)]
pub struct Screen {
    /// Columns that each line has something in.
    lines: Vec<u16>,
}

impl Screen {
    /// What is on the terminal stays there.
    pub fn keep(&mut self) {
        self.lines.clear();
    }

    /// Writes `picture` in place of the one before, on a terminal that is so many columns wide by now.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn draw(&mut self, out: &mut impl Write, picture: &Buffer, columns: u16) -> io::Result<()> {
        let mut text = Vec::new();
        // Lines that have become too long go on in the next one, in terminals that keep what they would lose.
        let up = self.lines.iter().map(|line| line.div_ceil(columns.max(1)).max(1));
        let up = up.fold(0, u16::saturating_add);
        if up > 0 {
            queue!(text, MoveUp(up))?;
        }
        queue!(text, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        self.lines.clear();
        for row in picture.content.chunks(usize::from(picture.area.width.max(1))) {
            let end = row
                .iter()
                .rposition(|cell| cell.symbol() != " ")
                .map_or(0, |last| last + 1);
            for alike in row[..end].chunk_by(|one, next| one.style() == next.style()) {
                queue!(text, PrintStyledContent(inked(alike)))?;
            }
            queue!(text, Print("\r\n"))?;
            self.lines.push(end as u16);
        }
        // In one piece, so that nobody ends it inside of a colour.
        out.write_all(&text)?;
        out.flush()
    }
}

/// Cells of one style as the terminal takes them. What is two columns wide has an empty cell behind it that is not said.
fn inked(cells: &[Cell]) -> StyledContent<String> {
    let mut text = String::new();
    let mut covered = 0;
    for cell in cells {
        if covered == 0 {
            text.push_str(cell.symbol());
            covered = Span::raw(cell.symbol()).width().max(1);
        }
        covered -= 1;
    }
    let content = match cells[0].fg {
        Color::Green => style(text).with(Ink::Green),
        Color::Red => style(text).with(Ink::Red),
        _ => style(text),
    };
    match cells[0].modifier {
        has if has.contains(Modifier::BOLD) => content.bold(),
        has if has.contains(Modifier::DIM) => content.dim(),
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;
    use crate::live::Snapshot;
    use crate::live::tests::snapshot;
    use crate::screen::Picture;

    fn written(screen: &mut Screen, now: &Snapshot, columns: u16) -> String {
        let mut out = Vec::new();
        let picture = Picture {
            now,
            left: None,
            dropped: 7,
            news: &VecDeque::new(),
        }
        .drawn(columns, 60);
        screen.draw(&mut out, &picture, columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_picture_takes_the_place_of_the_one_before() {
        let mut screen = Screen::default();
        let first = written(&mut screen, &snapshot(4), 100);
        assert_eq!(first.matches("\r\n").count(), 7);
        assert!(first.starts_with("\u{1b}[1G\u{1b}[J"), "{first:?}");
        assert_eq!(written(&mut screen, &snapshot(4), 100), format!("\u{1b}[7A{first}"));
        screen.keep();
        assert_eq!(written(&mut screen, &snapshot(4), 100), first);
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_wiped_too() {
        let mut screen = Screen {
            lines: vec![100, 40, 0, 41],
        };
        let next = written(&mut screen, &snapshot(0), 40);
        assert!(next.starts_with("\u{1b}[7A"), "{next:?}");
    }

    #[test]
    fn what_is_wrong_is_red_and_wide_letters_take_two_columns() {
        let wrong = Snapshot {
            violations: 3,
            ..snapshot(0)
        };
        let text = written(&mut Screen::default(), &wrong, 100);
        assert!(text.contains("\u{1b}[38;5;9m\u{1b}[1mviolations 3\u{1b}["), "{text:?}");
        let mut wide = Buffer::empty(Rect::new(0, 0, 6, 1));
        wide.set_string(0, 0, "漢字x", Style::new());
        let mut out = Vec::new();
        Screen::default().draw(&mut out, &wide, 6).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("漢字x\r\n"));
    }
}
