// SPDX-License-Identifier: Apache-2.0
//! The view of a running network: a screen that redraws on a terminal, a line now and then elsewhere.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::progress::Progress;
use crate::report::{DropCount, GrantLatency, Moment};
use crate::screen::{Picture, Screen};
use crate::series::{LINKS, shown_columns};
use crate::sessions::{self, SessionNow};
use crate::stream::{News, TableUpdate};
use crate::time_left::TimeLeft;
use slotwise_cli::notes;
use slotwise_units::{self as units, Bytes};

/// A cell of the matrix on screen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PairNow {
    /// Slots granted a frame, mean since the last snapshot.
    pub slots: f64,
    /// Bits of hosts' packets delivered a second since the last snapshot.
    pub goodput_bps: f64,
    /// Backlog that was reported in the last frame.
    pub demand_bytes: Bytes,
    /// Slots granted in the last frame.
    pub in_force_slots: u64,
    /// Slots granted since the last snapshot.
    pub granted_slots: u64,
    /// Bytes of hosts' packets delivered since the last snapshot.
    pub delivered_bytes: Bytes,
}

/// One direction of a link between routers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkNow {
    /// Its name.
    pub name: String,
    /// Part of what it lets through that was used since the last snapshot.
    pub utilization: f64,
    /// Bytes waiting.
    pub queue_bytes: Bytes,
}

/// The phase that a run is in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseNow {
    /// From 1.
    pub number: usize,
    /// How many there are, 0 where there are none.
    pub of: usize,
    /// Its name.
    pub name: String,
}

impl fmt::Display for PhaseNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 => f.pad(""),
            of => f.pad(&format!("{}/{of} {}", self.number, self.name)),
        }
    }
}

/// What the view shows.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Time since the first phase began.
    pub now: units::Duration,
    /// The same when the run should end.
    pub end: units::Duration,
    /// Index of the current phase.
    pub phase_index: usize,
    /// The same, shown as `2/3 hot-pair`.
    pub phase: PhaseNow,
    /// Edges, 0 where there is no star; `pairs` is row-major, edges x edges.
    pub edges: usize,
    /// By source, then destination.
    pub pairs: Vec<PairNow>,
    /// Bits of hosts' packets delivered a second by the star of each core since the last snapshot.
    pub stars: Vec<f64>,
    /// Frames since the last snapshot.
    pub frames: u64,
    /// Links, flows and whatever else has periods: what they did in the last one.
    pub tables: Vec<TableUpdate>,
    /// Sessions of GTP over routers.
    pub sessions: Vec<SessionNow>,
    /// Invariant violations so far.
    pub violations: u64,
    /// 99th percentile of the slots' lateness so far, if there is a wall clock.
    pub lateness_p99: Option<units::Duration>,
    /// How long new demand has waited for light so far, in a star.
    pub grant_latency: Option<GrantLatency>,
    /// Packets dropped so far, where somebody asked for them.
    pub drops: Vec<DropCount>,
}

impl Snapshot {
    /// With what was counted since the last look, which begins anew.
    pub fn with(self, progress: &mut Progress) -> Snapshot {
        progress.count_into(self)
    }

    /// What is kept of it for the report; the first phase began at a time.
    pub fn moment(&self, start: units::Instant) -> Moment {
        Moment {
            time_ms: (start + self.now).since_start().milliseconds(),
            violations: self.violations,
            lateness_p99_ns: self.lateness_p99,
            grant_latency: self.grant_latency,
        }
    }

    /// Returns the links.
    pub fn links(&self) -> Vec<LinkNow> {
        let Some(table) = self.tables.iter().find(|table| table.table == LINKS) else {
            return Vec::new();
        };
        let rows = table.names.iter().zip(table.column("utilization"));
        let rows = rows.zip(table.column("queue_bytes"));
        let links = rows.map(|((name, &utilization), &queue_bytes)| LinkNow {
            name: name.clone(),
            utilization,
            queue_bytes: Bytes::new(queue_bytes as u64),
        });
        links.collect()
    }
}

/// Display form of a shown column, by its name.
pub(crate) struct Reading {
    label: String,
    unit: &'static str,
    factor: f64,
    digits: usize,
}

impl Reading {
    /// Suffixes of names with display unit, factor and decimal places.
    const UNITS: [(&str, &str, f64, usize); 6] = [
        ("_bps", " Mb/s", 1e-6, 1),
        ("_kbps", " kb/s", 1.0, 1),
        ("_mbps", " Mb/s", 1.0, 1),
        ("_kbyte_s", " kB/s", 1.0, 1),
        ("_ms", " ms", 1.0, 1),
        ("_bytes", " bytes", 1.0, 0),
    ];

    pub(crate) fn of(name: &str) -> Reading {
        let known = Reading::UNITS.iter().find_map(|(suffix, unit, factor, digits)| {
            let label = name.strip_suffix(suffix)?;
            Some((label, *unit, *factor, *digits))
        });
        let (label, unit, factor, digits) = match name {
            "utilization" => (name, " %", 100.0, 1),
            _ => known.unwrap_or((name, "", 1.0, 0)),
        };
        Reading {
            label: label.replace('_', " "),
            unit,
            factor,
            digits,
        }
    }

    pub(crate) fn heading(&self) -> String {
        format!("{}{}", self.label, self.unit)
    }

    pub(crate) fn number(&self, number: f64) -> String {
        format!("{:.*}", self.digits, number * self.factor)
    }
}

/// Columns and lines of a terminal that does not say.
const USUAL_SIZE: (u16, u16) = (80, 24);
/// A run in virtual time would be drawn more often than anybody can see.
const DRAW_PERIOD: Duration = Duration::from_millis(100);
const LINE_PERIOD: Duration = Duration::from_secs(2);

/// Where the view goes.
pub struct LiveView {
    /// None where it cannot be drawn on.
    screen: Option<Screen>,
    shown: Option<Instant>,
    /// Lines of the run's own that had been printed when the last picture was drawn.
    notes: usize,
    began: Instant,
}

impl LiveView {
    /// Chooses by whether standard output is a terminal that understands more than text.
    pub fn new() -> LiveView {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_drawn = std::io::stdout().is_terminal() && !is_dumb;
        LiveView {
            screen: is_drawn.then(Screen::new),
            shown: None,
            notes: notes::count(),
            began: Instant::now(),
        }
    }

    /// Shows `snapshot` and the last `news`, unless somebody has just seen another one; `drops` so far are counted where they are shown.
    pub fn show(&mut self, snapshot: &Snapshot, news: &VecDeque<News>, drops: impl FnOnce() -> Vec<DropCount>) {
        let period = if self.screen.is_some() {
            DRAW_PERIOD
        } else {
            LINE_PERIOD
        };
        let is_last = self.screen.is_some() && snapshot.now >= snapshot.end;
        if !is_last && self.shown.is_some_and(|shown| shown.elapsed() < period) {
            return;
        }
        self.shown = Some(Instant::now());
        let left = TimeLeft::after(self.began.elapsed(), snapshot.now.ns(), snapshot.end.ns());
        let mut out = std::io::stdout().lock();
        // A run does not end because nobody reads of it.
        let Some(screen) = &mut self.screen else {
            let _ = writeln!(out, "{}", line(snapshot, left)).and_then(|()| out.flush());
            return;
        };
        // What stands below a picture would be wiped with it.
        let printed = notes::count();
        if self.notes != printed {
            screen.keep();
            self.notes = printed;
        }
        let (columns, lines) = terminal_size();
        // The cursor is below the picture, all of which has to be on the screen to be erased.
        let dropped = drops().iter().map(|drop| drop.packets).sum();
        let picture = Picture {
            now: snapshot,
            left,
            dropped,
            news,
        };
        let picture = picture.lines(columns.saturating_sub(1), lines.saturating_sub(1));
        let _ = screen.draw(&mut out, &picture, columns);
    }
}

fn terminal_size() -> (usize, usize) {
    let size = tcgetwinsize(std::io::stdout()).map_or((0, 0), |size| (size.ws_col, size.ws_row));
    let (columns, lines) = if size.0 == 0 || size.1 == 0 { USUAL_SIZE } else { size };
    (columns.into(), lines.into())
}

impl Default for LiveView {
    fn default() -> Self {
        LiveView::new()
    }
}

fn line(s: &Snapshot, left: Option<TimeLeft>) -> String {
    let mut text = format!("{:6.1} s  {:<14} ", s.now.seconds(), s.phase);
    if s.edges > 0 {
        let goodput: f64 = s.pairs.iter().map(|pair| pair.goodput_bps).sum();
        let _ = write!(text, "{:7.1} Mb/s, ", goodput / 1e6);
        if let Some(((from, to), pair)) = busiest(s, 1).first().filter(|(_, pair)| pair.goodput_bps > 0.0) {
            let _ = write!(text, "busiest {from}>{to} with {:.1} slots per frame, ", pair.slots);
        }
    }
    if let Some(table) = s.tables.first()
        && let Some(&item) = busiest_items(table, 1).first()
    {
        let reading = |name: &str| {
            let (reading, number) = (Reading::of(name), table.column(name).get(item)?);
            Some(format!("{} {}{}", reading.label, reading.number(*number), reading.unit))
        };
        let columns: Vec<String> = line_columns(table.table).filter_map(reading).collect();
        let _ = write!(text, "busiest {}: {}, ", table.names[item], columns.join(", "));
    }
    if let Some(part) = sessions::part(&s.sessions) {
        let _ = write!(text, "{:.1} % deviation from max-min rates, ", 100.0 * part);
    }
    let _ = write!(text, "violations {}", s.violations);
    if let Some(lateness) = s.lateness_p99.filter(|_| s.edges > 0) {
        let _ = write!(text, ", lateness p99 {} us", lateness.ns() / 1000);
    }
    text + &then(left)
}

/// What a picture says of the time left.
pub fn then(left: Option<TimeLeft>) -> String {
    left.map(|left| format!(", {left}")).unwrap_or_default()
}

/// Pairs of edges that got the most through: `count` of them at most.
pub fn busiest(s: &Snapshot, count: usize) -> Vec<((usize, usize), PairNow)> {
    let mut pairs: Vec<_> = s
        .pairs
        .iter()
        .enumerate()
        .map(|(k, pair)| ((k / s.edges.max(1), k % s.edges.max(1)), *pair))
        .collect();
    pairs.sort_by(|a, b| b.1.goodput_bps.total_cmp(&a.1.goodput_bps).then(a.0.cmp(&b.0)));
    pairs.truncate(count);
    pairs
}

/// Returns the names of the columns of a table in the line.
fn line_columns(table: &str) -> impl Iterator<Item = &'static str> {
    let shown = shown_columns(table).into_iter();
    shown.filter(|shown| shown.is_in_line).map(|shown| shown.name)
}

/// Returns the places of the items of a table with the largest numbers in its first column of the line.
pub(crate) fn busiest_items(table: &TableUpdate, count: usize) -> Vec<usize> {
    let by = line_columns(table.table)
        .next()
        .map_or(&[][..], |name| table.column(name));
    let mut order: Vec<usize> = (0..table.names.len().min(by.len())).collect();
    order.sort_by(|&a, &b| {
        by[b]
            .total_cmp(&by[a])
            .then_with(|| table.names[a].cmp(&table.names[b]))
    });
    order.truncate(count);
    order
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn snapshot(edges: usize) -> Snapshot {
        let mut pairs = vec![PairNow::default(); edges * edges];
        if let Some(pair) = pairs.get_mut(edges + 2) {
            *pair = PairNow {
                slots: 14.0,
                goodput_bps: 130e6,
                ..PairNow::default()
            };
        }
        Snapshot {
            now: units::Duration::from_s(5),
            end: units::Duration::from_s(20),
            phase: PhaseNow {
                number: 2,
                of: 3,
                name: "hot-pair".into(),
            },
            edges,
            pairs,
            stars: vec![130e6],
            violations: 0,
            lateness_p99: Some(units::Duration::from_us(42)),
            ..Snapshot::default()
        }
    }

    pub fn links(list: &[(&str, f64)]) -> TableUpdate {
        TableUpdate {
            table: "links",
            names: list.iter().map(|(name, _)| (*name).to_owned()).collect(),
            columns: vec![
                (
                    "utilization",
                    list.iter().map(|(_, utilization)| *utilization).collect(),
                ),
                ("queue_bytes", vec![1500.0; list.len()]),
            ],
        }
    }

    #[test]
    fn of_routers_the_busiest_links_are_shown() {
        let routers = Snapshot {
            edges: 0,
            pairs: Vec::new(),
            stars: Vec::new(),
            tables: vec![links(&[("a-b", 0.25), ("b-c", 0.75)])],
            ..snapshot(0)
        };
        assert!(
            line(&routers, None).contains("busiest b-c: utilization 75.0 %, queue 1500 bytes, "),
            "{}",
            line(&routers, None)
        );
    }

    #[test]
    fn of_sessions_it_is_said_how_far_off_they_are() {
        let text = line(&lambda(), None);
        assert!(
            text.contains("10.0 % deviation from max-min rates, violations 0"),
            "{text}"
        );
    }

    /// One session that gets nine tenths of what it should.
    pub fn lambda() -> Snapshot {
        Snapshot {
            sessions: vec![SessionNow {
                name: "file.0".into(),
                rate_bps: 450e6,
                fair_bps: 500e6,
            }],
            ..snapshot(0)
        }
    }

    #[test]
    fn of_a_mix_both_are_shown() {
        let mix = Snapshot {
            tables: vec![links(&[("b-c", 0.75)])],
            ..snapshot(4)
        };
        let text = line(&mix, None);
        assert!(
            text.contains(
                "busiest 1>2 with 14.0 slots per frame, busiest b-c: utilization 75.0 %, queue 1500 bytes, violations 0, lateness"
            ),
            "{text}"
        );
    }

    #[test]
    fn of_a_silent_star_no_pair_is_the_busiest() {
        let mut silent = snapshot(4);
        silent.pairs.fill(PairNow::default());
        let text = line(&silent, None);
        assert!(text.contains("0.0 Mb/s, violations 0"), "{text}");
    }

    #[test]
    fn without_a_terminal_one_line_says_it() {
        let text = line(&snapshot(4), None);
        assert!(
            text.contains("busiest 1>2 with 14.0 slots per frame, violations 0, lateness p99 42 us"),
            "{text}"
        );
    }
}
