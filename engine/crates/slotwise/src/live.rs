// SPDX-License-Identifier: Apache-2.0
//! The view of a running network: a screen that redraws on a terminal, a line now and then elsewhere.

use std::fmt::{self, Write as _};
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use crate::parts::TableNow;
use crate::progress::Progress;
use crate::report::{DropCount, FirstLight, Moment};
use crate::sessions::{self, SessionNow};
use crate::time_left::TimeLeft;

/// A cell of the matrix on screen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PairNow {
    /// Slots granted a frame, mean since the last snapshot.
    pub slots: f64,
    /// Bits of hosts' packets delivered a second since the last snapshot.
    pub goodput_bps: f64,
    /// Backlog that was reported in the last frame.
    pub demand_bytes: u64,
    /// Slots granted in the last frame.
    pub in_force_slots: u64,
    /// Slots granted since the last snapshot.
    pub granted_slots: u64,
    /// Bytes of hosts' packets delivered since the last snapshot.
    pub delivered_bytes: u64,
}

/// One direction of a link between routers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkNow {
    /// Its name.
    pub name: String,
    /// Part of what it lets through that was used since the last snapshot.
    pub utilization: f64,
    /// Bytes waiting.
    pub queue_bytes: u64,
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
    /// Fabric time.
    pub now_ns: u64,
    /// When the run should end.
    pub end_ns: u64,
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
    pub tables: Vec<TableNow>,
    /// Sessions of GTP over routers.
    pub sessions: Vec<SessionNow>,
    /// Invariant violations so far.
    pub violations: u64,
    /// 99th percentile of the slots' lateness so far, if there is a wall clock.
    pub lateness_p99_ns: Option<u64>,
    /// How long new demand has waited for light so far, in a star.
    pub first_light: Option<FirstLight>,
    /// Packets dropped so far, where somebody asked for them.
    pub drops: Vec<DropCount>,
}

impl Snapshot {
    /// With what was counted since the last look, which begins anew.
    pub fn with(self, progress: &mut Progress) -> Snapshot {
        progress.count_into(self)
    }

    /// What is kept of it for the report; the first phase began at `start_ns`.
    pub fn moment(&self, start_ns: u64) -> Moment {
        Moment {
            time_ms: (start_ns + self.now_ns) as f64 / 1e6,
            violations: self.violations,
            lateness_p99_ns: self.lateness_p99_ns,
            first_light: self.first_light,
        }
    }

    /// Links, one direction each.
    pub fn links(&self) -> Vec<LinkNow> {
        let Some(table) = self.tables.iter().find(|table| table.table == "links") else {
            return Vec::new();
        };
        let rows = table
            .names
            .iter()
            .zip(table.column("utilization"))
            .zip(table.column("queue_bytes"));
        let links = rows.map(|((name, &utilization), &queue_bytes)| LinkNow {
            name: name.clone(),
            utilization,
            queue_bytes: queue_bytes as u64,
        });
        links.collect()
    }
}

/// Widest matrix that is drawn whole; larger networks show their busiest pairs.
const MATRIX_EDGES: usize = 8;
const BUSIEST: usize = 12;
const BAR_WIDTH: usize = 40;
const LINE_PERIOD: Duration = Duration::from_secs(2);

/// Where the view goes.
pub struct LiveView {
    terminal: bool,
    drawn_lines: usize,
    last_line: Option<Instant>,
    began: Instant,
}

impl LiveView {
    /// Chooses by whether standard output is a terminal.
    pub fn new() -> LiveView {
        LiveView {
            terminal: std::io::stdout().is_terminal(),
            drawn_lines: 0,
            last_line: None,
            began: Instant::now(),
        }
    }

    /// Shows `snapshot`.
    pub fn show(&mut self, snapshot: &Snapshot) {
        let mut out = std::io::stdout().lock();
        let left = TimeLeft::after(self.began.elapsed(), snapshot.now_ns, snapshot.end_ns);
        if self.terminal {
            let screen = render(snapshot, left);
            // Cursor up over the last screen, then clear to the end of the display.
            let up = if self.drawn_lines > 0 {
                format!("\x1b[{}A", self.drawn_lines)
            } else {
                String::new()
            };
            let _ = write!(out, "{up}\r\x1b[J{screen}");
            self.drawn_lines = screen.lines().count();
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_PERIOD) {
            self.last_line = Some(Instant::now());
            let _ = writeln!(out, "{}", line(snapshot, left));
        }
        let _ = out.flush();
    }
}

impl Default for LiveView {
    fn default() -> Self {
        LiveView::new()
    }
}

fn line(s: &Snapshot, left: Option<TimeLeft>) -> String {
    let mut text = format!("{:6.1} s  {:<14} ", s.now_ns as f64 / 1e9, s.phase);
    if s.edges > 0 {
        let goodput: f64 = s.pairs.iter().map(|pair| pair.goodput_bps).sum();
        let _ = write!(text, "{:7.1} Mb/s, ", goodput / 1e6);
        if let Some(((from, to), pair)) = busiest(s, 1).first().filter(|(_, pair)| pair.goodput_bps > 0.0) {
            let _ = write!(text, "busiest {from}>{to} with {:.1} slots a frame, ", pair.slots);
        }
    }
    if let Some(link) = busiest_links(s, 1).first() {
        let _ = write!(
            text,
            "busiest {} at {:.0} %, {} bytes waiting, ",
            link.name,
            100.0 * link.utilization,
            link.queue_bytes
        );
    }
    if let Some(part) = sessions::part(&s.sessions) {
        let _ = write!(text, "{:.1} % off max-min rates, ", 100.0 * part);
    }
    let _ = write!(text, "violations {}", s.violations);
    if let Some(lateness) = s.lateness_p99_ns.filter(|_| s.edges > 0) {
        let _ = write!(text, ", lateness p99 {} us", lateness / 1000);
    }
    text + &then(left)
}

fn then(left: Option<TimeLeft>) -> String {
    left.map(|left| format!(", {left}")).unwrap_or_default()
}

fn busiest(s: &Snapshot, count: usize) -> Vec<((usize, usize), PairNow)> {
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

fn busiest_links(s: &Snapshot, count: usize) -> Vec<LinkNow> {
    let mut links = s.links();
    links.sort_by(|a, b| {
        b.utilization
            .total_cmp(&a.utilization)
            .then_with(|| a.name.cmp(&b.name))
    });
    links.truncate(count);
    links
}

fn render(s: &Snapshot, left: Option<TimeLeft>) -> String {
    let mut text = String::new();
    let part = if s.end_ns > 0 {
        (s.now_ns as f64 / s.end_ns as f64).min(1.0)
    } else {
        0.0
    };
    let filled = (part * BAR_WIDTH as f64) as usize;
    let _ = writeln!(
        text,
        "[{}{}] {:5.1} of {:.1} s{}   phase {}",
        "#".repeat(filled),
        ".".repeat(BAR_WIDTH - filled),
        s.now_ns as f64 / 1e9,
        s.end_ns as f64 / 1e9,
        then(left),
        s.phase
    );
    if s.edges > MATRIX_EDGES {
        let _ = writeln!(text, "busiest pairs: slots a frame | goodput Mb/s");
        for ((from, to), pair) in busiest(s, BUSIEST) {
            let _ = writeln!(
                text,
                "edge {from:>3} > {to:<3} {:6.1} | {:8.1}",
                pair.slots,
                pair.goodput_bps / 1e6
            );
        }
    } else if s.edges > 0 {
        let _ = writeln!(text, "slots a frame | goodput Mb/s, rows are sources");
        let header: String = (0..s.edges)
            .map(|to| format!("  {:>14}", format!("edge {to}")))
            .collect();
        let _ = writeln!(text, "        {header}");
        for from in 0..s.edges {
            let _ = write!(text, "edge {from:<3}");
            for to in 0..s.edges {
                let pair = s.pairs[from * s.edges + to];
                let cell = if from == to {
                    "-".into()
                } else {
                    format!("{:5.1} | {:6.1}", pair.slots, pair.goodput_bps / 1e6)
                };
                let _ = write!(text, "  {cell:>14}");
            }
            text.push('\n');
        }
    }
    if s.stars.len() > 1 {
        let each = s
            .stars
            .iter()
            .zip(0..)
            .map(|(bps, core)| format!("core {core} {:.1}", bps / 1e6));
        let _ = writeln!(text, "stars, Mb/s: {}", each.collect::<Vec<_>>().join(", "));
    }
    let links = busiest_links(s, BUSIEST);
    if !links.is_empty() {
        let _ = writeln!(text, "busiest links: utilization | bytes waiting");
        for link in links {
            let _ = writeln!(
                text,
                "{:<24} {:6.1} % | {:9}",
                link.name,
                100.0 * link.utilization,
                link.queue_bytes
            );
        }
    }
    if let Some(part) = sessions::part(&s.sessions) {
        let _ = writeln!(
            text,
            "sessions: rate | max-min rate, Mb/s; all {:.1} % off (2-norm)",
            100.0 * part
        );
        for session in s.sessions.iter().take(BUSIEST) {
            let (rate, fair) = (session.rate_bps / 1e6, session.fair_bps / 1e6);
            let _ = writeln!(text, "{:<24} {rate:8.1} | {fair:8.1}", session.name);
        }
    }
    let goodput: f64 = s.pairs.iter().map(|pair| pair.goodput_bps).sum();
    let lateness = s
        .lateness_p99_ns
        .map(|ns| format!(", lateness p99 {} us", ns / 1000))
        .unwrap_or_default();
    let total = if s.edges > 0 {
        format!("total {:.1} Mb/s, ", goodput / 1e6)
    } else {
        String::new()
    };
    let _ = writeln!(text, "{total}invariant violations {}{lateness}", s.violations);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(edges: usize) -> Snapshot {
        let mut pairs = vec![PairNow::default(); edges * edges];
        if let Some(pair) = pairs.get_mut(edges + 2) {
            *pair = PairNow {
                slots: 14.0,
                goodput_bps: 130e6,
                ..PairNow::default()
            };
        }
        Snapshot {
            now_ns: 5_000_000_000,
            end_ns: 20_000_000_000,
            phase: PhaseNow {
                number: 2,
                of: 3,
                name: "hot-pair".into(),
            },
            edges,
            pairs,
            stars: vec![130e6],
            violations: 0,
            lateness_p99_ns: Some(42_000),
            ..Snapshot::default()
        }
    }

    fn links(list: &[(&str, f64)]) -> TableNow {
        TableNow {
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
    fn small_networks_show_the_whole_matrix() {
        let screen = render(&snapshot(4), None);
        assert!(
            screen.contains("[##########..............................]   5.0 of 20.0 s   phase 2/3 hot-pair"),
            "{screen}"
        );
        assert!(screen.contains("14.0 |  130.0"), "{screen}");
        assert!(screen.contains("lateness p99 42 us"), "{screen}");
        assert_eq!(screen.lines().count(), 8);
    }

    #[test]
    fn large_networks_show_the_busiest_pairs() {
        let screen = render(&snapshot(30), None);
        assert!(screen.contains("edge   1 > 2     14.0 |    130.0"), "{screen}");
        assert_eq!(screen.lines().count(), 2 + BUSIEST + 1);
    }

    #[test]
    fn several_stars_are_shown_one_by_one() {
        let screen = render(
            &Snapshot {
                stars: vec![100e6, 30e6],
                ..snapshot(4)
            },
            None,
        );
        assert!(screen.contains("stars, Mb/s: core 0 100.0, core 1 30.0"), "{screen}");
        assert!(!render(&snapshot(4), None).contains("stars"));
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
        let screen = render(&routers, None);
        assert!(
            screen.contains("b-c                        75.0 % |      1500\na-b "),
            "{screen}"
        );
        assert!(!screen.contains("Mb/s"), "{screen}");
        assert!(
            line(&routers, None).contains("busiest b-c at 75 %, 1500 bytes"),
            "{}",
            line(&routers, None)
        );
    }

    #[test]
    fn of_sessions_rates_are_shown_beside_what_they_should_be() {
        let lambda = Snapshot {
            sessions: vec![SessionNow {
                name: "file.0".into(),
                rate_bps: 450e6,
                fair_bps: 500e6,
            }],
            ..snapshot(0)
        };
        let screen = render(&lambda, None);
        assert!(
            screen.contains("all 10.0 % off (2-norm)\nfile.0                      450.0 |    500.0\n"),
            "{screen}"
        );
        let text = line(&lambda, None);
        assert!(text.contains("10.0 % off max-min rates, violations 0"), "{text}");
    }

    #[test]
    fn of_a_mix_both_are_shown() {
        let mix = Snapshot {
            tables: vec![links(&[("b-c", 0.75)])],
            ..snapshot(4)
        };
        let screen = render(&mix, None);
        assert!(screen.contains("14.0 |  130.0"), "{screen}");
        assert!(
            screen.contains("b-c                        75.0 % |      1500\n"),
            "{screen}"
        );
        let text = line(&mix, None);
        assert!(
            text.contains(
                "busiest 1>2 with 14.0 slots a frame, busiest b-c at 75 %, 1500 bytes waiting, violations 0, lateness"
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
            text.contains("busiest 1>2 with 14.0 slots a frame, violations 0, lateness p99 42 us"),
            "{text}"
        );
    }
}
