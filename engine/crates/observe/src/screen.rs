// SPDX-License-Identifier: Apache-2.0
//! The picture of a running network on a terminal, drawn by ratatui's widgets.
//!
//! A picture is written from where the cursor is, and wiped when the next one comes. Nothing else of the terminal is changed, and it is
//! asked nothing, as its answer would come where the run's commands are typed: so it is as it was found however the run ends.

mod paint;

use std::collections::VecDeque;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Alignment, Constraint, Rect};
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::gauge::LineGauge;
use ratatui_widgets::table::{Row, Table};
use slotwise_units::{Bytes, Duration};

use crate::live::{PairNow, Snapshot, busiest, then};
use crate::sessions;
use crate::stream::{News, NewsKind, TableUpdate};
use crate::time_left::TimeLeft;

pub use paint::Screen;

/// Rows of a table.
const BUSIEST: usize = 12;
/// Between columns.
const SPACING: u16 = 2;

const HEAD: Style = Style::new().bold();
const FAINT: Style = Style::new().dim();
const GOOD: Style = Style::new().fg(Color::Green);
const BAD: Style = Style::new().fg(Color::Red).bold();

/// Columns of links: name, heading, what a unit is worth, digits.
const LINK_COLUMNS: [(&str, &str, f64, usize); 7] = [
    ("utilization", "utilization %", 100.0, 1),
    ("queue_bytes", "queued bytes", 1.0, 0),
    ("dropped_packets", "dropped", 1.0, 0),
    ("added_bps", "added Mb/s", 1e-6, 1),
    ("limit_bps", "add limit Mb/s", 1e-6, 1),
    ("active_stations", "stations", 1.0, 0),
    ("ram_bytes", "max in RAM", 1.0, 0),
];

/// Units at the end of columns' names, and as they are read.
const UNITS: [(&str, &str); 4] = [
    ("_kbps", " kb/s"),
    ("_mbps", " Mb/s"),
    ("_kbyte_s", " kB/s"),
    ("_ms", " ms"),
];

/// A run as it is now, for so much room as there is.
pub struct Picture<'a> {
    /// What is seen.
    pub now: &'a Snapshot,
    /// Before the run is over.
    pub left: Option<TimeLeft>,
    /// Packets so far, wherever and for whatever reason.
    pub dropped: u64,
    /// What happened last.
    pub news: &'a VecDeque<News>,
}

impl Picture<'_> {
    /// At most so many columns wide and lines high, and no higher than what there is to see.
    pub fn drawn(&self, columns: u16, most_lines: u16) -> Buffer {
        let lines = self.parts(columns).iter().map(Part::lines).sum::<u16>();
        let mut onto = Buffer::empty(Rect::new(0, 0, columns, lines.min(most_lines)));
        self.render(onto.area, &mut onto);
        onto
    }

    fn parts(&self, columns: u16) -> Vec<Part> {
        let now = self.now;
        let parts = [progress(now, self.left), sums(now, self.dropped)].into_iter();
        let parts = parts.chain(self.news.iter().map(news_line));
        let parts = parts.chain(pairs(now, columns)).chain(stars(now));
        let parts = parts.chain(now.tables.iter().filter_map(table));
        parts.chain(of_sessions(now)).collect()
    }
}

impl Widget for &Picture<'_> {
    fn render(self, area: Rect, onto: &mut Buffer) {
        let mut y = area.y;
        for part in self.parts(area.width) {
            let lines = part.lines();
            let place = Rect::new(area.x, y, area.width, lines).intersection(area);
            if place.is_empty() {
                return;
            }
            part.draw(place, onto);
            y += lines;
        }
    }
}

/// What stands below each other.
enum Part {
    /// How much of the run is over, and a label.
    Progress(f64, String),
    Text(Line<'static>),
    Grid(Grid),
}

impl Part {
    fn lines(&self) -> u16 {
        match self {
            Part::Progress(..) | Part::Text(_) => 1,
            Part::Grid(grid) => 1 + grid.rows.len() as u16,
        }
    }

    fn draw(self, area: Rect, onto: &mut Buffer) {
        match self {
            Part::Progress(ratio, label) => {
                let gauge = LineGauge::default().filled_symbol("━").unfilled_symbol("─");
                let gauge = gauge.ratio(ratio).label(label).unfilled_style(FAINT);
                gauge.render(area, onto);
            }
            Part::Text(line) => line.render(area, onto),
            Part::Grid(grid) => grid.table(area.width).render(area, onto),
        }
    }
}

/// A table whose columns are as wide as what is in them: the first to the left, numbers to the right.
struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Grid {
    fn widths(&self) -> Vec<u16> {
        let width = |text: &str| Span::raw(text).width() as u16;
        let column = |(column, head): (usize, &String)| {
            let cells = self.rows.iter().map(|row| width(&row[column].0));
            cells.chain([width(head)]).max().unwrap_or(0)
        };
        self.head.iter().enumerate().map(column).collect()
    }

    /// How many columns fit: a number of which a digit is missing would be another one.
    fn fitting(widths: &[u16], room: u16) -> usize {
        let ends = widths.iter().scan(0_u16, |end, width| {
            *end = end.saturating_add(*width);
            let this = *end;
            *end = end.saturating_add(SPACING);
            Some(this)
        });
        ends.take_while(|end| *end <= room).count().max(1)
    }

    fn fits(&self, room: u16) -> bool {
        Grid::fitting(&self.widths(), room) == self.head.len()
    }

    fn table(self, room: u16) -> Table<'static> {
        let widths = self.widths();
        let columns = Grid::fitting(&widths, room);
        let cell = |(column, (text, style)): (usize, (String, Style))| {
            let side = if column == 0 { Alignment::Left } else { Alignment::Right };
            Line::styled(text, style).alignment(side)
        };
        let row = |cells: Vec<(String, Style)>| Row::new(cells.into_iter().take(columns).enumerate().map(cell));
        let head = self.head.into_iter().map(|text| (text, HEAD)).collect();
        let widths = widths.into_iter().take(columns).map(Constraint::Length);
        Table::new(self.rows.into_iter().map(row), widths)
            .header(row(head))
            .column_spacing(SPACING)
    }
}

fn plain(text: String) -> (String, Style) {
    (text, Style::new())
}

fn progress(now: &Snapshot, left: Option<TimeLeft>) -> Part {
    let ratio = if now.end > Duration::ZERO {
        (now.now.ns() as f64 / now.end.ns() as f64).min(1.0)
    } else {
        0.0
    };
    let mut label = format!("{:.1} of {:.1} s{}", now.now.seconds(), now.end.seconds(), then(left));
    if now.phase.of > 0 {
        label += &format!(", phase {}", now.phase);
    }
    Part::Progress(ratio, label)
}

/// What is one number of the whole network: what must not go wrong first.
fn sums(now: &Snapshot, dropped: u64) -> Part {
    let style = if now.violations > 0 { BAD } else { GOOD };
    let mut spans = vec![Span::styled(format!("violations {}", now.violations), style)];
    let mut add = |text: String| spans.push(Span::raw(format!(", {text}")));
    if now.edges > 0 {
        let goodput: f64 = now.pairs.iter().map(|pair| pair.goodput_bps).sum();
        let demand: Bytes = now.pairs.iter().map(|pair| pair.demand_bytes).sum();
        add(format!("total {:.1} Mb/s", goodput / 1e6));
        add(format!("demand {:.1} kB", demand.get() as f64 / 1e3));
    }
    if let Some(light) = now.first_light {
        add(format!("grant latency p99 {:.2} ms", light.p99_ns.milliseconds()));
    }
    if let Some(lateness) = now.lateness_p99 {
        add(format!("lateness p99 {} us", lateness.ns() / 1000));
    }
    add(format!("dropped {dropped}"));
    Part::Text(Line::from(spans))
}

fn news_line(news: &News) -> Part {
    let style = match news.kind {
        NewsKind::Fault => BAD,
        NewsKind::Recovery => GOOD,
        NewsKind::Change | NewsKind::Fibre => Style::new(),
    };
    let text = format!("{:.3} s  {}", news.at_ns.seconds(), news.text);
    Part::Text(Line::styled(text, style))
}

/// The whole matrix where there is room for it, or else the busiest pairs.
fn pairs(now: &Snapshot, columns: u16) -> Option<Part> {
    if now.edges == 0 {
        return None;
    }
    let matrix = (now.edges <= BUSIEST).then(|| matrix(now));
    let grid = matrix.filter(|matrix| matrix.fits(columns));
    Some(Part::Grid(grid.unwrap_or_else(|| busiest_pairs(now))))
}

fn matrix(now: &Snapshot) -> Grid {
    let edges = now.edges;
    let most = busiest(now, 1).first().map(|(ends, _)| *ends);
    let cell = |from: usize, to: usize| {
        let pair = now.pairs[from * edges + to];
        let is_silent = pair.slots == 0.0 && pair.goodput_bps == 0.0;
        match () {
            () if from == to => ("-".to_owned(), FAINT),
            () if is_silent => (".".to_owned(), FAINT),
            () => {
                let text = format!("{:.1} | {:6.1}", pair.slots, pair.goodput_bps / 1e6);
                (text, if most == Some((from, to)) { HEAD } else { Style::new() })
            }
        }
    };
    let row = |from: usize| {
        let cells = (0..edges).map(|to| cell(from, to));
        [plain(format!("edge {from}"))].into_iter().chain(cells).collect()
    };
    let heads = (0..edges).map(|to| format!("to edge {to}"));
    Grid {
        head: ["slots | Mb/s".to_owned()].into_iter().chain(heads).collect(),
        rows: (0..edges).map(row).collect(),
    }
}

fn busiest_pairs(now: &Snapshot) -> Grid {
    let row = |((from, to), pair): ((usize, usize), PairNow)| {
        let cells = [
            format!("edge {from} > {to}"),
            format!("{:.1}", pair.goodput_bps / 1e6),
            format!("{:.1}", pair.slots),
            pair.demand_bytes.get().to_string(),
        ];
        cells.map(plain).to_vec()
    };
    Grid {
        head: ["busiest pairs", "Mb/s", "slots per frame", "demand bytes"]
            .map(str::to_owned)
            .to_vec(),
        rows: busiest(now, BUSIEST).into_iter().map(row).collect(),
    }
}

fn stars(now: &Snapshot) -> Option<Part> {
    let each = now.stars.iter().zip(0..);
    let each: Vec<String> = each
        .map(|(bps, core)| format!("core {core} {:.1}", bps / 1e6))
        .collect();
    (each.len() > 1).then(|| Part::Text(format!("stars, Mb/s: {}", each.join(", ")).into()))
}

/// A column of a table: heading, numbers, what a unit is worth, digits.
type Column<'a> = (String, &'a [f64], f64, usize);

/// The busiest of links, flows or switches, by what their first column says.
fn table(table: &TableUpdate) -> Option<Part> {
    let columns = table.columns.iter().map(|(name, numbers)| read(name, numbers));
    let columns: Vec<Column<'_>> = columns.collect();
    let first = columns.first()?.1;
    let mut order: Vec<usize> = (0..table.names.len().min(first.len())).collect();
    order.sort_by(|&a, &b| {
        first[b]
            .total_cmp(&first[a])
            .then_with(|| table.names[a].cmp(&table.names[b]))
    });
    order.truncate(BUSIEST);
    let row = |thing: usize| {
        let number = |(_, numbers, worth, digits): &Column<'_>| {
            let number = numbers.get(thing).copied().unwrap_or(f64::NAN);
            plain(format!("{:.digits$}", number * worth))
        };
        [plain(table.names[thing].clone())]
            .into_iter()
            .chain(columns.iter().map(number))
            .collect()
    };
    let heads = columns.iter().map(|(heading, ..)| heading.clone());
    Some(Part::Grid(Grid {
        head: [format!("busiest {}", table.table)].into_iter().chain(heads).collect(),
        rows: order.into_iter().map(row).collect(),
    }))
}

fn read<'a>(name: &str, numbers: &'a [f64]) -> Column<'a> {
    if let Some((_, heading, worth, digits)) = LINK_COLUMNS.iter().find(|(known, ..)| *known == name) {
        return ((*heading).to_owned(), numbers, *worth, *digits);
    }
    let unit = UNITS
        .iter()
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
    let (what, unit) = unit.unwrap_or((name, ""));
    (
        what.replace('_', " ") + unit,
        numbers,
        1.0,
        usize::from(!unit.is_empty()),
    )
}

fn of_sessions(now: &Snapshot) -> Vec<Part> {
    let Some(part) = sessions::part(&now.sessions) else {
        return Vec::new();
    };
    let row = |session: &sessions::SessionNow| {
        let mbps = |bps: f64| plain(format!("{:.1}", bps / 1e6));
        vec![
            plain(session.name.clone()),
            mbps(session.rate_bps),
            mbps(session.fair_bps),
        ]
    };
    let off = format!("sessions: {:.1} % deviation from max-min rates (2-norm)", 100.0 * part);
    vec![
        Part::Text(off.into()),
        Part::Grid(Grid {
            head: ["session", "Mb/s", "max-min Mb/s"].map(str::to_owned).to_vec(),
            rows: now.sessions.iter().take(BUSIEST).map(row).collect(),
        }),
    ]
}

#[cfg(test)]
mod tests {
    use ratatui_core::backend::TestBackend;
    use ratatui_core::buffer::Cell;
    use ratatui_core::terminal::Terminal;

    use super::*;
    use crate::live::tests::{lambda, links, snapshot};

    const WIDE: (u16, u16) = (100, 60);

    /// Lines of a terminal of ratatui's that has so many columns and lines, without the empty ones at the end.
    fn shown(now: &Snapshot, (columns, lines): (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        let picture = Picture {
            now,
            left: None,
            dropped: 7,
            news: &VecDeque::new(),
        };
        terminal
            .draw(|frame| frame.render_widget(&picture, frame.area()))
            .unwrap();
        let mut shown = texts(terminal.backend().buffer());
        while shown.last().is_some_and(String::is_empty) {
            shown.pop();
        }
        shown
    }

    fn texts(buffer: &Buffer) -> Vec<String> {
        let rows = buffer.content.chunks(usize::from(buffer.area.width.max(1)));
        rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned())
            .collect()
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
        let lines = texts(&picture.drawn(40, 60));
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
            columns: vec![("straight", vec![7.0]), ("rate_kbyte_s", vec![2.0])],
        };
        let routers = Snapshot {
            tables: vec![links(&[("a-b", 0.25), ("b-c", 0.75)]), switches],
            ..snapshot(0)
        };
        assert_eq!(
            seen(&routers)[1..],
            [
                "violations 0, lateness p99 42 us, dropped 7",
                "busiest links  utilization %  queued bytes",
                "b-c                     75.0          1500",
                "a-b                     25.0          1500",
                "busiest switches  straight  rate kB/s",
                "ops0                     7        2.0",
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
            let now = snapshot(8);
            let picture = Picture {
                now: &now,
                left: None,
                dropped: 7,
                news: &VecDeque::new(),
            }
            .drawn(columns, lines);
            assert!(picture.area.width <= columns && picture.area.height <= lines);
            Screen::default().draw(&mut Vec::new(), &picture, columns).unwrap();
        }
        assert_eq!(shown(&snapshot(8), (10, 3)), ["5.0 of 20.", "violations", "busiest pa"]);
    }
}
