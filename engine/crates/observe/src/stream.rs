// SPDX-License-Identifier: Apache-2.0
//! The stream of a run's state, for the page and for other tools: messages of JSON (schema/stream.schema.json).
//!
//! Messages of a running network come from the state that the terminal shows, those of a finished run from its report ([`finished`]).

pub mod finished;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use slotwise_scenario::Scenario;
use slotwise_units::{Bytes, Duration};

use crate::live::{PairNow, Snapshot};
use crate::report::{DropCount, FrameShape, GrantLatency};
use crate::sessions::SessionNow;

/// Of the messages' form; a tool may refuse another one.
pub const VERSION: u32 = 1;

/// A message.
#[derive(Debug, Serialize)]
#[serde(tag = "message", rename_all = "lowercase")]
pub enum Message {
    /// The first: what network it is.
    Hello(Hello),
    /// What was measured since the last one.
    Update(Update),
    /// The last: how it came out.
    End(End),
}

impl Message {
    /// As it is sent.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("keys are strings and numbers are finite or null")
    }
}

/// What network it is.
#[derive(Debug, Clone, Serialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// `simulate` or `emulate`.
    pub command: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed in force.
    pub seed: u64,
    /// Whether the run is over: all of it follows at once.
    pub is_finished: bool,
    /// Names of the phases.
    pub phases: Vec<String>,
    /// What there is.
    pub network: NetworkShape,
    /// How time is cut, in a star.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameShape>,
    /// What may be changed from the page.
    pub controls: Controls,
    /// How many flows over the whole run hosts of Linux play, which are counted when it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linux_flows: Option<usize>,
}

impl Hello {
    /// Of a run.
    pub fn new(command: &str, scenario: &str, seed: u64) -> Hello {
        Hello {
            version: VERSION,
            command: command.to_owned(),
            scenario: scenario.to_owned(),
            seed,
            is_finished: false,
            phases: Vec::new(),
            network: NetworkShape::default(),
            frame: None,
            controls: Controls::default(),
            linux_flows: None,
        }
    }
}

/// What there is in a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkShape {
    /// `star`, `routers`, `ring`, `ops`, `lambda`.
    pub kinds: Vec<String>,
    /// Edges of its stars.
    pub edges: usize,
    /// Cores.
    pub cores: usize,
    /// What a slot carries, as on the fibre, by edge: of its fastest fibre.
    pub slot_bytes: Vec<Bytes>,
}

impl NetworkShape {
    /// Of a scenario.
    pub fn of(scenario: &Scenario) -> NetworkShape {
        let groups = &scenario.routed;
        let has_gtp = groups
            .flows
            .iter()
            .any(|group| matches!(group.source, slotwise_scenario::Source::Gtp(_)));
        let kinds = [
            ("star", scenario.has_star()),
            ("routers", !groups.routers.is_empty()),
            ("ring", scenario.ring.is_some()),
            ("ops", scenario.ops.is_some()),
            ("lambda", has_gtp),
        ];
        NetworkShape {
            kinds: kinds
                .into_iter()
                .filter(|(_, is)| *is)
                .map(|(kind, _)| kind.to_owned())
                .collect(),
            edges: if scenario.has_star() { scenario.edges.len() } else { 0 },
            cores: scenario.cores.len(),
            slot_bytes: if scenario.has_star() {
                slot_bytes(scenario)
            } else {
                Vec::new()
            },
        }
    }
}

fn slot_bytes(scenario: &Scenario) -> Vec<Bytes> {
    let of_edge = |edge: &slotwise_scenario::Edge| {
        let fibres = edge.fibres.iter();
        let carried = fibres.map(|fibre| scenario.slot_capacity(fibre));
        carried.max().unwrap_or_default()
    };
    scenario.edges.iter().map(of_edge).collect()
}

/// What may be changed from the page.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Controls {
    /// Whether the controller's REST resources are at `api/slotwise/v1/`.
    pub rest: bool,
    /// Fibres, links and spans that `api/fibre` cuts and mends.
    pub fibres: Vec<String>,
}

/// What was measured since the last one.
#[derive(Debug, Default, Serialize)]
pub struct Update {
    /// Fabric time since the first phase began.
    pub now_ns: Duration,
    /// When the run should end.
    pub end_ns: Duration,
    /// From 1; 0 where there are none.
    pub phase: usize,
    /// Violated invariants so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violations: Option<u64>,
    /// 99th percentile of the slots' lateness so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<Duration>,
    /// How long new demand has waited for light so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_latency: Option<GrantLatency>,
    /// Frames and pairs of edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub star: Option<StarUpdate>,
    /// What has periods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableUpdate>,
    /// Packets dropped so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DropCount>,
    /// What happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
}

/// Frames, and pairs of edges of which something is to be said: column by column, in the same order.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct StarUpdate {
    /// Frames that it is about.
    pub frames: u64,
    /// Source times the number of edges, plus destination.
    pub pairs: Vec<usize>,
    /// Backlog that was reported in the last of these frames.
    pub demand_bytes: Vec<Bytes>,
    /// Slots for which gates were opened in the last of them, the frame in force.
    pub in_force_slots: Vec<u64>,
    /// Slots for which gates were opened in all of them.
    pub granted_slots: Vec<u64>,
    /// Bytes of hosts' packets that reached the far edge in all of them.
    pub delivered_bytes: Vec<Bytes>,
}

impl StarUpdate {
    /// Of so many frames; pairs without anything are left out.
    pub fn of(frames: u64, pairs: impl IntoIterator<Item = (usize, PairNow)>) -> StarUpdate {
        let mut star = StarUpdate {
            frames,
            ..StarUpdate::default()
        };
        for (index, pair) in pairs {
            let is_silent = pair.demand_bytes.is_zero() && pair.granted_slots == 0 && pair.delivered_bytes.is_zero();
            if !is_silent {
                star.pairs.push(index);
                star.demand_bytes.push(pair.demand_bytes);
                star.in_force_slots.push(pair.in_force_slots);
                star.granted_slots.push(pair.granted_slots);
                star.delivered_bytes.push(pair.delivered_bytes);
            }
        }
        star
    }
}

/// Items of one type in the last period.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableUpdate {
    /// `links`, `sessions`, `distance`, or a table of the report.
    pub table: &'static str,
    /// Names of the items.
    pub names: Vec<String>,
    /// Columns with a value per item, as declared.
    #[serde(serialize_with = "by_name")]
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

fn by_name<S: Serializer>(columns: &[(&'static str, Vec<f64>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(columns.iter().map(|(name, values)| (name, values)))
}

impl TableUpdate {
    /// Returns a column; empty without one of this name.
    pub fn column(&self, name: &str) -> &[f64] {
        let column = self.columns.iter().find(|(known, _)| *known == name);
        column.map_or(&[], |(_, numbers)| numbers)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct News {
    /// Fabric time since the first phase began.
    pub at_ns: Duration,
    /// What sort of thing it is.
    pub kind: NewsKind,
    /// For a person.
    pub text: String,
}

/// Sorts of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NewsKind {
    /// The controller was told to do something else.
    Change,
    /// Something failed, on purpose.
    Fault,
    /// It is well again.
    Recovery,
    /// A fibre was cut or mended by hand.
    Fibre,
}

impl Update {
    /// What a snapshot says.
    pub fn of(now: &Snapshot, news: Vec<News>) -> Update {
        let star = || StarUpdate::of(now.frames, now.pairs.iter().copied().enumerate());
        Update {
            now_ns: now.now,
            end_ns: now.end,
            phase: now.phase.number,
            violations: Some(now.violations),
            lateness_p99_ns: now.lateness_p99,
            grant_latency: now.grant_latency,
            star: (now.frames > 0 && now.edges > 0).then(star),
            tables: now.tables.iter().cloned().chain(sessions_of(now)).collect(),
            drops: now.drops.clone(),
            news,
        }
    }
}

/// Sessions of GTP beside what they should have.
fn sessions_of(now: &Snapshot) -> Option<TableUpdate> {
    let sessions = &now.sessions;
    let column = |of: fn(&SessionNow) -> f64| sessions.iter().map(of).collect();
    (!sessions.is_empty()).then(|| TableUpdate {
        table: "sessions",
        names: sessions.iter().map(|session| session.name.clone()).collect(),
        columns: vec![
            ("rate_bps", column(|session| session.rate_bps)),
            ("fair_bps", column(|session| session.fair_bps)),
        ],
    })
}

/// How it came out.
#[derive(Debug, Serialize)]
pub struct End {
    /// Every invariant held and all else was well.
    pub ok: bool,
    /// One sentence each.
    pub failures: Vec<String>,
    /// The report, without its series.
    pub report: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::PhaseNow;

    #[test]
    fn an_update_has_what_the_terminal_shows() {
        let mut pairs = vec![PairNow::default(); 4];
        pairs[1] = PairNow {
            slots: 2.5,
            goodput_bps: 1e6,
            demand_bytes: Bytes::new(9000),
            in_force_slots: 3,
            granted_slots: 5,
            delivered_bytes: Bytes::new(1500),
        };
        let now = Snapshot {
            now: Duration::from_ns(7),
            end: Duration::from_ns(9),
            phase: PhaseNow {
                number: 2,
                of: 3,
                name: "hot".into(),
            },
            edges: 2,
            frames: 2,
            pairs,
            tables: vec![TableUpdate {
                table: "links",
                names: vec!["a-b".into()],
                columns: vec![("utilization", vec![0.5])],
            }],
            violations: 1,
            ..Snapshot::default()
        };
        let message: Value = serde_json::from_str(&Message::Update(Update::of(&now, Vec::new())).text()).unwrap();
        assert_eq!(
            message,
            serde_json::json!({
                "message": "update", "now_ns": 7, "end_ns": 9, "phase": 2, "violations": 1,
                "star": {"frames": 2, "pairs": [1], "demand_bytes": [9000], "in_force_slots": [3], "granted_slots": [5],
                         "delivered_bytes": [1500]},
                "tables": [{"table": "links", "names": ["a-b"], "columns": {"utilization": [0.5]}}],
            })
        );
        let silent = Snapshot { frames: 0, ..now };
        assert!(Update::of(&silent, Vec::new()).star.is_none(), "no frame has ended");
    }
}
