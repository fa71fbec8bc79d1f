// SPDX-License-Identifier: Apache-2.0
//! Picture of a running network on a terminal, by ANSI sequences for the cursor and styles.
//!
//! A picture is written from the position of the cursor, and erased before the next one. No other state of the terminal is changed, and
//! no answer is requested from it, which would arrive where the run's commands are typed. So it is as before however the run ends.

use std::collections::VecDeque;
use std::io::{self, Write};

use slotwise_units::{Bytes, Duration};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::live::{Reading, Snapshot, busiest, busiest_items, then};
use crate::sessions;
use crate::stream::{News, NewsKind, TableUpdate};
use crate::time_left::TimeLeft;

/// Rows of a table.
const BUSIEST: usize = 12;
/// Spaces between columns.
const SPACING: usize = 2;

/// Parameters of SGR.
type Style = &'static str;
const PLAIN: Style = "";
const HEAD: Style = "1";
const FAINT: Style = "2";
const GOOD: Style = "32";
const BAD: Style = "1;31";

/// Text in one style.
type Cell = (String, Style);

/// Line of a picture.
type Line = Vec<Cell>;

/// State of a run for a terminal.
pub struct Picture<'a> {
    /// State.
    pub now: &'a Snapshot,
    /// Time to the end.
    pub left: Option<TimeLeft>,
    /// Packets dropped so far.
    pub dropped: u64,
    /// Last events.
    pub news: &'a VecDeque<News>,
}

impl Picture<'_> {
    /// Returns the lines, cut to the size of a terminal.
    pub fn lines(&self, columns: usize, max_lines: usize) -> Vec<Line> {
        let now = self.now;
        let mut lines = vec![progress(now, self.left, columns), sums(now, self.dropped)];
        lines.extend(self.news.iter().map(news_line));
        lines.extend(pairs(now, columns));
        if now.stars.len() > 1 {
            let each = now.stars.iter().enumerate();
            let each: Vec<String> = each
                .map(|(core, bps)| format!("core {core} {:.1}", bps / 1e6))
                .collect();
            lines.push(plain(format!("stars, Mb/s: {}", each.join(", "))));
        }
        lines.extend(now.tables.iter().flat_map(|of| table(of, columns)));
        lines.extend(of_sessions(now, columns));
        lines.truncate(max_lines);
        lines.into_iter().map(|line| cut(line, columns)).collect()
    }
}

fn plain(text: impl Into<String>) -> Line {
    vec![(text.into(), PLAIN)]
}

fn width(line: &Line) -> usize {
    line.iter().map(|(text, _)| text.width()).sum()
}

/// Truncates a line to a width, and removes control characters.
fn cut(line: Line, room: usize) -> Line {
    let mut column = 0;
    let cut = line.into_iter().map(|(text, style)| {
        let letters = text.chars().filter(|letter| !letter.is_control());
        let fitting = letters.take_while(|letter| {
            column += letter.width().unwrap_or(0);
            column <= room
        });
        (fitting.collect(), style)
    });
    cut.collect()
}

/// Lays out a table: the first column to the left, numbers to the right. Columns that do not fit are omitted: a truncated number
/// would be another one.
fn grid(head: Vec<String>, rows: Vec<Vec<Cell>>, room: usize) -> Vec<Line> {
    let head = head.into_iter().map(|text| (text, HEAD)).collect();
    let rows: Vec<Vec<Cell>> = [head].into_iter().chain(rows).collect();
    let widths = widths(&rows);
    let columns = fitting(&widths, room);
    let line = |row: Vec<Cell>| {
        let cells = row.into_iter().zip(&widths).take(columns).enumerate();
        let cells = cells.flat_map(|(column, ((text, style), width))| {
            let padding = " ".repeat(width - text.width());
            match column {
                0 => [(text, style), (padding, PLAIN)],
                _ => [(" ".repeat(SPACING) + &padding, PLAIN), (text, style)],
            }
        });
        cells.collect()
    };
    rows.into_iter().map(line).collect()
}

fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].0.width()).max().unwrap_or(0);
    (0..columns).map(width).collect()
}

fn fitting(widths: &[usize], room: usize) -> usize {
    let mut end = 0;
    let fitting = widths.iter().take_while(|width| {
        end += **width + SPACING;
        end - SPACING <= room
    });
    fitting.count().max(1)
}

fn progress(now: &Snapshot, left: Option<TimeLeft>, columns: usize) -> Line {
    let ratio = match now.end > Duration::ZERO {
        true => (now.now.ns() as f64 / now.end.ns() as f64).min(1.0),
        false => 0.0,
    };
    let mut label = format!("{:.1} of {:.1} s{}", now.now.seconds(), now.end.seconds(), then(left));
    if now.phase.of > 0 {
        label += &format!(", phase {}", now.phase);
    }
    let room = columns.saturating_sub(label.width() + 1);
    let filled = (room as f64 * ratio) as usize;
    let rest = "─".repeat(room - filled);
    vec![(label + " " + &"━".repeat(filled), PLAIN), (rest, FAINT)]
}

/// Returns the numbers of the whole network, violations first.
fn sums(now: &Snapshot, dropped: u64) -> Line {
    let style = if now.violations > 0 { BAD } else { GOOD };
    let mut text = String::new();
    if now.edges > 0 {
        let goodput: f64 = now.pairs.iter().map(|pair| pair.goodput_bps).sum();
        let demand: Bytes = now.pairs.iter().map(|pair| pair.demand_bytes).sum();
        text += &format!(", total {:.1} Mb/s", goodput / 1e6);
        text += &format!(", demand {:.1} kB", demand.get() as f64 / 1e3);
    }
    if let Some(light) = now.grant_latency {
        text += &format!(", grant latency p99 {:.2} ms", light.p99_ns.milliseconds());
    }
    if let Some(lateness) = now.lateness_p99 {
        text += &format!(", lateness p99 {} us", lateness.ns() / 1000);
    }
    text += &format!(", dropped {dropped}");
    vec![(format!("violations {}", now.violations), style), (text, PLAIN)]
}

fn news_line(news: &News) -> Line {
    let style = match news.kind {
        NewsKind::Fault => BAD,
        NewsKind::Recovery => GOOD,
        NewsKind::Change | NewsKind::Fibre => PLAIN,
    };
    vec![(format!("{:.3} s  {}", news.at_ns.seconds(), news.text), style)]
}

/// Returns the whole matrix if it fits, else the busiest pairs.
fn pairs(now: &Snapshot, columns: usize) -> Vec<Line> {
    if now.edges == 0 {
        return Vec::new();
    }
    if now.edges <= BUSIEST {
        let (head, rows) = matrix(now);
        let matrix = grid(head, rows, usize::MAX);
        if matrix.iter().all(|line| width(line) <= columns) {
            return matrix;
        }
    }
    let head = ["busiest pairs", "Mb/s", "slots per frame", "demand bytes"];
    let row = |((from, to), pair): ((usize, usize), crate::live::PairNow)| {
        let cells = [
            format!("edge {from} > {to}"),
            format!("{:.1}", pair.goodput_bps / 1e6),
            format!("{:.1}", pair.slots),
            pair.demand_bytes.get().to_string(),
        ];
        cells.map(|text| (text, PLAIN)).to_vec()
    };
    let rows = busiest(now, BUSIEST).into_iter().map(row).collect();
    grid(head.map(str::to_owned).to_vec(), rows, columns)
}

fn matrix(now: &Snapshot) -> (Vec<String>, Vec<Vec<Cell>>) {
    let edges = now.edges;
    let most = busiest(now, 1).first().map(|(ends, _)| *ends);
    let cell = |from: usize, to: usize| {
        let pair = now.pairs[from * edges + to];
        match () {
            () if from == to => ("-".to_owned(), FAINT),
            () if pair.slots == 0.0 && pair.goodput_bps == 0.0 => (".".to_owned(), FAINT),
            () => {
                let text = format!("{:.1} | {:6.1}", pair.slots, pair.goodput_bps / 1e6);
                (text, if most == Some((from, to)) { HEAD } else { PLAIN })
            }
        }
    };
    let row = |from: usize| {
        let cells = (0..edges).map(|to| cell(from, to));
        plain(format!("edge {from}")).into_iter().chain(cells).collect()
    };
    let heads = (0..edges).map(|to| format!("to edge {to}"));
    let heads = ["slots | Mb/s".to_owned()].into_iter().chain(heads);
    (heads.collect(), (0..edges).map(row).collect())
}

/// Returns the busiest links, flows or switches.
fn table(table: &TableUpdate, columns: usize) -> Vec<Line> {
    let readings: Vec<(Reading, &[f64])> = table
        .columns
        .iter()
        .map(|(name, numbers)| (Reading::of(name), numbers.as_slice()))
        .collect();
    let row = |item: usize| {
        let numbers = readings.iter().map(|(reading, numbers)| {
            let number = numbers.get(item).copied().unwrap_or(f64::NAN);
            (reading.number(number), PLAIN)
        });
        plain(table.names[item].clone()).into_iter().chain(numbers).collect()
    };
    let rows = busiest_items(table, BUSIEST).into_iter().map(row).collect();
    let heads = readings.iter().map(|(reading, _)| reading.heading());
    let head = [format!("busiest {}", table.table)].into_iter().chain(heads);
    grid(head.collect(), rows, columns)
}

fn of_sessions(now: &Snapshot, columns: usize) -> Vec<Line> {
    let Some(part) = sessions::part(&now.sessions) else {
        return Vec::new();
    };
    let row = |session: &sessions::SessionNow| {
        let numbers = [session.rate_bps, session.fair_bps].map(|bps| (format!("{:.1}", bps / 1e6), PLAIN));
        plain(session.name.clone()).into_iter().chain(numbers).collect()
    };
    let rows = now.sessions.iter().take(BUSIEST).map(row).collect();
    let head = ["session", "Mb/s", "max-min Mb/s"].map(str::to_owned).to_vec();
    let off = plain(format!(
        "sessions: {:.1} % deviation from max-min rates (2-norm)",
        100.0 * part
    ));
    [off].into_iter().chain(grid(head, rows, columns)).collect()
}

/// Picture on a terminal, above the cursor.
#[derive(Default)]
pub struct Screen {
    /// Width of each line.
    widths: Vec<usize>,
    /// True if styles have no colours.
    is_monochrome: bool,
}

impl Screen {
    /// Creates a screen without a picture; colours are left out if `NO_COLOR` is set.
    pub fn new() -> Screen {
        Screen {
            widths: Vec::new(),
            is_monochrome: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        }
    }

    fn style(&self, style: Style) -> Style {
        match style {
            GOOD if self.is_monochrome => PLAIN,
            BAD if self.is_monochrome => HEAD,
            style => style,
        }
    }

    /// Leaves the last picture on the terminal.
    pub fn keep(&mut self) {
        self.widths.clear();
    }

    /// Replaces the previous picture on a terminal of this width.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn draw(&mut self, out: &mut impl Write, lines: &[Line], columns: usize) -> io::Result<()> {
        // Terminals that keep the rest of a line that has become too long continue it in the next one.
        let up = self.widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1));
        let mut text = match up.sum::<usize>() {
            0 => String::new(),
            up => format!("\u{1b}[{up}A"),
        };
        text += "\u{1b}[1G\u{1b}[J";
        for line in lines {
            let cells = line.iter().filter(|(text, _)| !text.is_empty());
            text.extend(cells.map(|(cell, style)| match self.style(style) {
                PLAIN => cell.clone(),
                style => format!("\u{1b}[{style}m{cell}\u{1b}[0m"),
            }));
            text += "\r\n";
        }
        self.widths = lines.iter().map(width).collect();
        // In one piece, so that no interruption ends inside a style.
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::tests::{lambda, links, snapshot};

    const WIDE: (usize, usize) = (100, 60);

    fn picture(now: &Snapshot, (columns, lines): (usize, usize)) -> Vec<Line> {
        let picture = Picture {
            now,
            left: None,
            dropped: 7,
            news: &VecDeque::new(),
        };
        picture.lines(columns, lines)
    }

    /// Text of a line without styles.
    fn text(line: &Line) -> String {
        let text: String = line.iter().map(|(text, _)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    fn shown(now: &Snapshot, size: (usize, usize)) -> Vec<String> {
        picture(now, size).iter().map(text).collect()
    }

    fn seen(now: &Snapshot) -> Vec<String> {
        shown(now, WIDE)
    }

    fn words(line: &str) -> String {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn small_networks_show_the_whole_matrix() {
        let seen = seen(&snapshot(4));
        assert!(
            seen[0].starts_with("5.0 of 20.0 s, phase 2/3 hot-pair ━"),
            "{}",
            seen[0]
        );
        assert_eq!(
            seen[1],
            "violations 0, total 130.0 Mb/s, demand 0.0 kB, lateness p99 42 us, dropped 7"
        );
        assert_eq!(seen.len(), 2 + 5);
        assert!(
            seen[2].starts_with("slots | Mb/s") && seen[2].ends_with("to edge 3"),
            "{}",
            seen[2]
        );
        assert_eq!(words(&seen[4]), "edge 1 . - 14.0 | 130.0 .");
    }

    #[test]
    fn large_networks_and_narrow_terminals_show_the_busiest_pairs() {
        for seen in [seen(&snapshot(30)), shown(&snapshot(8), (60, 60))] {
            assert_eq!(seen.len(), 2 + 1 + BUSIEST);
            assert_eq!(words(&seen[3]), "edge 1 > 2 130.0 14.0 0");
        }
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_whole() {
        let seen = shown(&snapshot(30), (26, 60));
        assert_eq!(seen[2], "busiest pairs   Mb/s");
        assert_eq!(words(&seen[3]), "edge 1 > 2 130.0");
    }

    #[test]
    fn what_happened_last_stands_below_the_sums() {
        let news = VecDeque::from([
            (NewsKind::Fault, "core 0 fails"),
            (NewsKind::Recovery, "core 0 fails: recovered"),
        ]);
        let news = news.into_iter().map(|(kind, text)| News {
            at_ns: Duration::from_ms(1_500),
            kind,
            text: text.into(),
        });
        let now = snapshot(0);
        let picture = Picture {
            now: &now,
            left: None,
            dropped: 0,
            news: &news.collect(),
        };
        let lines: Vec<String> = picture.lines(40, 60).iter().map(text).collect();
        assert_eq!(
            lines[2..],
            ["1.500 s  core 0 fails", "1.500 s  core 0 fails: recovered"]
        );
    }

    #[test]
    fn several_stars_are_shown_one_by_one() {
        let two = Snapshot {
            stars: vec![100e6, 30e6],
            ..snapshot(4)
        };
        assert_eq!(seen(&two).last().unwrap(), "stars, Mb/s: core 0 100.0, core 1 30.0");
        assert!(!seen(&snapshot(4)).join("\n").contains("stars"));
    }

    #[test]
    fn of_routers_the_busiest_links_are_shown_and_of_others_their_columns() {
        let switches = TableUpdate {
            table: "switches",
            names: vec!["ops0".into()],
            columns: vec![("forwarded", vec![7.0]), ("rate_kbyte_s", vec![2.0])],
        };
        let routers = Snapshot {
            tables: vec![links(&[("a-b", 0.25), ("b-c", 0.75)]), switches],
            ..snapshot(0)
        };
        assert_eq!(
            seen(&routers)[1..],
            [
                "violations 0, lateness p99 42 us, dropped 7",
                "busiest links  utilization %  queue bytes",
                "b-c                     75.0         1500",
                "a-b                     25.0         1500",
                "busiest switches  forwarded  rate kB/s",
                "ops0                      7        2.0",
            ]
        );
    }

    #[test]
    fn of_sessions_rates_are_shown_beside_what_they_should_be() {
        assert_eq!(
            seen(&lambda())[2..],
            [
                "sessions: 10.0 % deviation from max-min rates (2-norm)",
                "session   Mb/s  max-min Mb/s",
                "file.0   450.0         500.0",
            ]
        );
    }

    #[test]
    fn a_picture_is_no_larger_than_the_terminal() {
        for (columns, lines) in [(100, 3), (10, 3), (7, 4), (1, 1), (0, 0)] {
            let picture = picture(&snapshot(8), (columns, lines));
            assert!(picture.len() <= lines && picture.iter().all(|line| width(line) <= columns));
            Screen::default().draw(&mut Vec::new(), &picture, columns).unwrap();
        }
        assert_eq!(shown(&snapshot(8), (10, 3)), ["5.0 of 20.", "violations", "busiest pa"]);
    }

    fn written(screen: &mut Screen, lines: &[Line], columns: usize) -> String {
        let mut out = Vec::new();
        screen.draw(&mut out, lines, columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_picture_takes_the_place_of_the_one_before() {
        let mut screen = Screen::default();
        let lines = picture(&snapshot(4), WIDE);
        let first = written(&mut screen, &lines, 100);
        assert_eq!(first.matches("\r\n").count(), 7);
        assert!(first.starts_with("\u{1b}[1G\u{1b}[J"), "{first:?}");
        assert_eq!(written(&mut screen, &lines, 100), format!("\u{1b}[7A{first}"));
        screen.keep();
        assert_eq!(written(&mut screen, &lines, 100), first);
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_erased_too() {
        let mut screen = Screen {
            widths: vec![100, 40, 0, 41],
            ..Screen::default()
        };
        let next = written(&mut screen, &[], 40);
        assert!(next.starts_with("\u{1b}[7A"), "{next:?}");
    }

    #[test]
    fn violations_are_red_wide_letters_take_two_columns_and_control_characters_none() {
        let wrong = Snapshot {
            violations: 3,
            ..snapshot(0)
        };
        let text = written(&mut Screen::default(), &picture(&wrong, WIDE), 100);
        assert!(text.contains("\u{1b}[1;31mviolations 3\u{1b}[0m, "), "{text:?}");
        let mut monochrome = Screen {
            is_monochrome: true,
            ..Screen::default()
        };
        let text = written(&mut monochrome, &picture(&wrong, WIDE), 100);
        assert!(text.contains("\u{1b}[1mviolations 3\u{1b}[0m, "), "{text:?}");
        let wide = cut(plain("漢\u{1b}字xyz"), 5);
        assert_eq!((width(&wide), &wide[0].0[..]), (5, "漢字x"));
    }
}
