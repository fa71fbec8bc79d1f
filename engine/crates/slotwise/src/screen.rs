// SPDX-License-Identifier: Apache-2.0
//! The picture of a running network on a terminal, drawn by ratatui.
//!
//! A picture is written from where the cursor is, and wiped when the next one comes: notes of the run may stand between two. The terminal
//! is asked nothing, as its answer would come where the run's commands are typed, and it is left as it was found however the run ends.

use std::io::{self, Write};

use ratatui::backend::IntoCrossterm as _;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::cursor::{MoveToColumn, MoveUp};
use ratatui::crossterm::queue;
use ratatui::crossterm::style::{Print, PrintStyledContent};
use ratatui::crossterm::terminal::{Clear, ClearType};
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Row, Table, Widget as _};

use crate::live::{PairNow, Snapshot, busiest, then};
use crate::parts::TableNow;
use crate::sessions;
use crate::time_left::TimeLeft;

/// Widest matrix that is drawn whole; larger networks show their busiest pairs.
const MATRIX_EDGES: usize = 8;
/// Rows of a table.
const BUSIEST: usize = 12;
/// Between columns.
const SPACING: u16 = 2;

const HEAD: Style = Style::new().bold();
const FAINT: Style = Style::new().dim();
const GOOD: Style = Style::new().fg(Color::Green);
const BAD: Style = Style::new().fg(Color::Red).bold();

/// Columns of links that the terminal has room for: name, heading, what a unit is worth, digits.
const LINK_COLUMNS: [(&str, &str, f64, usize); 7] = [
    ("utilization", "utilization %", 100.0, 1),
    ("queue_bytes", "waiting bytes", 1.0, 0),
    ("dropped_packets", "dropped", 1.0, 0),
    ("added_bps", "added Mb/s", 1e-6, 1),
    ("limit_bps", "may add Mb/s", 1e-6, 1),
    ("active_stations", "stations", 1.0, 0),
    ("ram_bytes", "most in RAM", 1.0, 0),
];

/// What stands below each other.
enum Part {
    Progress(LineGauge<'static>),
    Text(Line<'static>),
    Grid(Grid),
}

/// A table whose columns are as wide as what is in them: the first to the left, numbers to the right.
struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Part {
    fn lines(&self) -> u16 {
        match self {
            Part::Progress(_) | Part::Text(_) => 1,
            Part::Grid(grid) => 1 + grid.rows.len() as u16,
        }
    }

    fn draw(self, area: Rect, onto: &mut Buffer) {
        match self {
            Part::Progress(gauge) => gauge.render(area, onto),
            Part::Text(line) => line.render(area, onto),
            Part::Grid(grid) => grid.table().render(area, onto),
        }
    }
}

impl Grid {
    fn table(self) -> Table<'static> {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].0.chars().count());
                cells.chain([self.head[column].chars().count()]).max().unwrap_or(0)
            })
            .collect();
        let cell = |column: usize, text: String, style: Style| {
            let side = if column == 0 { Alignment::Left } else { Alignment::Right };
            Line::styled(text, style).alignment(side)
        };
        let row = |cells: Vec<(String, Style)>| {
            let cells = cells.into_iter().enumerate();
            Row::new(cells.map(|(column, (text, style))| cell(column, text, style)).collect::<Vec<_>>())
        };
        let head = self.head.into_iter().map(|text| (text, HEAD)).collect();
        Table::new(
            self.rows.into_iter().map(row).collect::<Vec<_>>(),
            widths.iter().map(|&width| Constraint::Length(width as u16)),
        )
        .header(row(head))
        .column_spacing(SPACING)
    }
}

/// Of a run, `left` before it is over, at most so many columns wide and lines high.
pub fn picture(now: &Snapshot, left: Option<TimeLeft>, (width, most_lines): (u16, u16)) -> Buffer {
    let parts = [progress(now, left), sums(now)].into_iter();
    let parts = parts.chain(pairs(now)).chain(stars(now));
    let parts = parts.chain(now.tables.iter().filter_map(table)).chain(of_sessions(now));
    let parts: Vec<Part> = parts.collect();
    let lines: u16 = parts.iter().map(Part::lines).sum();
    let mut onto = Buffer::empty(Rect::new(0, 0, width, lines.min(most_lines)));
    let mut y = 0;
    for part in parts {
        let lines = part.lines();
        let area = Rect::new(0, y, width, lines).intersection(onto.area);
        if !area.is_empty() {
            part.draw(area, &mut onto);
        }
        y += lines;
    }
    onto
}

/// Writes `picture` in place of the one before, which had so many lines.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, picture: &Buffer, lines_before: u16) -> io::Result<()> {
    if lines_before > 0 {
        queue!(out, MoveUp(lines_before))?;
    }
    queue!(out, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
    for row in picture.content.chunks(usize::from(picture.area.width.max(1))) {
        let end = row.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |last| last + 1);
        for alike in row[..end].chunk_by(|one, next| one.style() == next.style()) {
            let text: String = alike.iter().map(Cell::symbol).collect();
            queue!(out, PrintStyledContent(alike[0].style().into_crossterm().apply(text)))?;
        }
        queue!(out, Print("\r\n"))?;
    }
    out.flush()
}

fn progress(now: &Snapshot, left: Option<TimeLeft>) -> Part {
    let ratio = if now.end_ns > 0 {
        (now.now_ns as f64 / now.end_ns as f64).min(1.0)
    } else {
        0.0
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let label = format!(
        "{:5.1} of {:.1} s{}   phase {}",
        seconds(now.now_ns),
        seconds(now.end_ns),
        then(left),
        now.phase
    );
    Part::Progress(LineGauge::default().ratio(ratio).label(label).unfilled_style(FAINT))
}

/// What is one number of the whole network.
fn sums(now: &Snapshot) -> Part {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if now.edges > 0 {
        let goodput: f64 = now.pairs.iter().map(|pair| pair.goodput_bps).sum();
        let demand: u64 = now.pairs.iter().map(|pair| pair.demand_bytes).sum();
        spans.push(format!("total {:.1} Mb/s, demand {:.1} kB, ", goodput / 1e6, demand as f64 / 1e3).into());
    }
    if let Some(light) = now.first_light {
        spans.push(format!("first light p99 {:.2} ms, ", light.p99_ns as f64 / 1e6).into());
    }
    if let Some(ns) = now.lateness_p99_ns {
        spans.push(format!("lateness p99 {} us, ", ns / 1000).into());
    }
    if !now.drops.is_empty() {
        let packets: u64 = now.drops.iter().map(|drop| drop.packets).sum();
        spans.push(format!("dropped {packets}, ").into());
    }
    let style = if now.violations > 0 { BAD } else { GOOD };
    spans.push(Span::styled(format!("invariant violations {}", now.violations), style));
    Part::Text(Line::from(spans))
}

fn pairs(now: &Snapshot) -> Option<Part> {
    match now.edges {
        0 => None,
        edges if edges > MATRIX_EDGES => {
            let row = |((from, to), pair): ((usize, usize), PairNow)| {
                let cells = [
                    format!("edge {from} > {to}"),
                    format!("{}", pair.demand_bytes),
                    format!("{:.1}", pair.slots),
                    format!("{:.1}", pair.goodput_bps / 1e6),
                ];
                cells.map(plain).to_vec()
            };
            Some(Part::Grid(Grid {
                head: ["busiest pairs", "demand bytes", "slots a frame", "Mb/s"].map(str::to_owned).to_vec(),
                rows: busiest(now, BUSIEST).into_iter().map(row).collect(),
            }))
        }
        edges => {
            let most = busiest(now, 1).first().map(|(ends, _)| *ends);
            let cell = |from: usize, to: usize| {
                let pair = now.pairs[from * edges + to];
                let style = match () {
                    () if pair.granted_slots == 0 && pair.goodput_bps == 0.0 => FAINT,
                    () if most == Some((from, to)) => HEAD,
                    () => Style::new(),
                };
                match from == to {
                    true => ("-".to_owned(), FAINT),
                    false => (format!("{:.1} | {:6.1}", pair.slots, pair.goodput_bps / 1e6), style),
                }
            };
            let row = |from: usize| {
                let cells = (0..edges).map(|to| cell(from, to));
                [plain(format!("edge {from}"))].into_iter().chain(cells).collect()
            };
            let heads = (0..edges).map(|to| format!("to edge {to}"));
            Some(Part::Grid(Grid {
                head: ["slots a frame | Mb/s".to_owned()].into_iter().chain(heads).collect(),
                rows: (0..edges).map(row).collect(),
            }))
        }
    }
}

fn stars(now: &Snapshot) -> Option<Part> {
    let each = now.stars.iter().zip(0..);
    let each: Vec<String> = each.map(|(bps, core)| format!("core {core} {:.1}", bps / 1e6)).collect();
    (each.len() > 1).then(|| Part::Text(format!("stars, Mb/s: {}", each.join(", ")).into()))
}

/// The busiest of links, flows or switches, by what their first column says.
fn table(table: &TableNow) -> Option<Part> {
    let columns: Vec<(String, &[f64], f64, usize)> = if table.table == "links" {
        let has = |name: &str| !table.column(name).is_empty();
        let known = LINK_COLUMNS.iter().filter(|(name, ..)| has(name));
        known
            .map(|&(name, heading, worth, digits)| (heading.to_owned(), table.column(name), worth, digits))
            .collect()
    } else {
        let columns = table.columns.iter();
        columns
            .map(|(name, numbers)| (name.replace('_', " "), numbers.as_slice(), 1.0, 1))
            .collect()
    };
    let first = columns.first()?.1;
    let mut order: Vec<usize> = (0..table.names.len().min(first.len())).collect();
    order.sort_by(|&a, &b| first[b].total_cmp(&first[a]).then_with(|| table.names[a].cmp(&table.names[b])));
    order.truncate(BUSIEST);
    let row = |thing: usize| {
        let number = |&(_, numbers, worth, digits): &(String, &[f64], f64, usize)| {
            let number = numbers.get(thing).copied().unwrap_or(f64::NAN);
            plain(format!("{:.digits$}", number * worth))
        };
        let numbers = columns.iter().map(number);
        [plain(table.names[thing].clone())].into_iter().chain(numbers).collect()
    };
    let heads = columns.iter().map(|(heading, ..)| heading.clone());
    Some(Part::Grid(Grid {
        head: [format!("busiest {}", table.table)].into_iter().chain(heads).collect(),
        rows: order.into_iter().map(row).collect(),
    }))
}

fn of_sessions(now: &Snapshot) -> Vec<Part> {
    let Some(part) = sessions::part(&now.sessions) else {
        return Vec::new();
    };
    let row = |session: &sessions::SessionNow| {
        let mbps = |bps: f64| plain(format!("{:.1}", bps / 1e6));
        vec![plain(session.name.clone()), mbps(session.rate_bps), mbps(session.fair_bps)]
    };
    let off = format!("sessions: all {:.1} % off max-min rates (2-norm)", 100.0 * part);
    vec![
        Part::Text(off.into()),
        Part::Grid(Grid {
            head: ["session", "Mb/s", "max-min Mb/s"].map(str::to_owned).to_vec(),
            rows: now.sessions.iter().take(BUSIEST).map(row).collect(),
        }),
    ]
}

fn plain(text: String) -> (String, Style) {
    (text, Style::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::tests::{lambda, links, snapshot};

    const WIDE: (u16, u16) = (100, 60);

    fn lines(picture: &Buffer) -> Vec<String> {
        let rows = picture.content.chunks(usize::from(picture.area.width));
        rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned())
            .collect()
    }

    fn seen(now: &Snapshot) -> Vec<String> {
        lines(&picture(now, None, WIDE))
    }

    #[test]
    fn small_networks_show_the_whole_matrix() {
        let seen = seen(&snapshot(4));
        assert!(seen[0].starts_with("  5.0 of 20.0 s   phase 2/3 hot-pair ━"), "{}", seen[0]);
        assert_eq!(
            seen[1],
            "total 130.0 Mb/s, demand 0.0 kB, lateness p99 42 us, invariant violations 0"
        );
        assert_eq!(seen.len(), 2 + 5);
        assert!(seen[2].starts_with("slots a frame | Mb/s") && seen[2].ends_with("to edge 3"), "{}", seen[2]);
        let cells: Vec<_> = seen[4].split_whitespace().collect();
        assert_eq!(cells.join(" "), "edge 1 0.0 | 0.0 - 14.0 | 130.0 0.0 | 0.0");
    }

    #[test]
    fn large_networks_show_the_busiest_pairs() {
        let seen = seen(&snapshot(30));
        assert_eq!(seen.len(), 2 + 1 + BUSIEST);
        let cells: Vec<_> = seen[3].split_whitespace().collect();
        assert_eq!(cells, ["edge", "1", ">", "2", "0", "14.0", "130.0"]);
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
        let switches = TableNow {
            table: "switches",
            names: vec!["ops0".into()],
            columns: vec![("straight", vec![7.0]), ("deflected", vec![2.0])],
        };
        let routers = Snapshot {
            tables: vec![links(&[("a-b", 0.25), ("b-c", 0.75)]), switches],
            ..snapshot(0)
        };
        assert_eq!(
            seen(&routers)[1..],
            [
                "lateness p99 42 us, invariant violations 0",
                "busiest links  utilization %  waiting bytes",
                "b-c                     75.0           1500",
                "a-b                     25.0           1500",
                "busiest switches  straight  deflected",
                "ops0                   7.0        2.0",
            ]
        );
    }

    #[test]
    fn of_sessions_rates_are_shown_beside_what_they_should_be() {
        assert_eq!(
            seen(&lambda())[2..],
            [
                "sessions: all 10.0 % off max-min rates (2-norm)",
                "session   Mb/s  max-min Mb/s",
                "file.0   450.0         500.0",
            ]
        );
    }

    #[test]
    fn a_picture_is_no_larger_than_the_terminal() {
        for size in [(100, 3), (7, 4), (1, 1), (0, 0)] {
            let picture = picture(&snapshot(8), None, size);
            assert!(picture.area.width <= size.0 && picture.area.height <= size.1, "{size:?}");
            write(&mut Vec::new(), &picture, 0).unwrap();
        }
    }

    #[test]
    fn a_picture_takes_the_place_of_the_one_before() {
        let written = |before| {
            let mut out = Vec::new();
            write(&mut out, &picture(&snapshot(4), None, WIDE), before).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (first, next) = (written(0), written(7));
        assert_eq!(first.matches("\r\n").count(), 7);
        assert_eq!(next, format!("\u{1b}[7A{first}"));
        let plain = |text: &str| {
            let mut text = text.to_owned();
            while let Some(from) = text.find('\u{1b}') {
                let end = text[from..].find(|end: char| end.is_ascii_alphabetic()).unwrap();
                text.replace_range(from..=from + end, "");
            }
            text
        };
        let seen: Vec<_> = plain(&first).lines().map(|line| line.trim().to_owned()).collect();
        assert!(seen[1].ends_with("invariant violations 0"), "{seen:?}");
    }
}
