// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose: how often, how long, what. When exactly and where is drawn from the seed by whoever runs the scenario.

use std::ops::RangeInclusive;

use serde_yaml_ng::Value;

use crate::model::Scenario;
use crate::parse::{DURATION_MS, STATION};
use crate::reader::{Fields, Reader};

/// A second is more than any line card takes for a T_d.
const STEP_NS: RangeInclusive<u64> = 1..=1_000_000_000;

/// Faults of one kind, again and again: the time from the end of one to the start of the next, and the length of each, are drawn
/// evenly from half to one and a half times their means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// What fails.
    pub kind: FaultKind,
    /// Mean time from the end of one to the start of the next.
    pub every_ms: u64,
    /// Mean length; 0 for a step of a clock, which is at once.
    pub for_ms: u64,
    /// The edge that it happens to; `None` draws one each time.
    pub edge: Option<u16>,
}

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultKind {
    /// A pair of fibres carries no light.
    LinkCut,
    /// A core passes no light, and comes back without program and tables.
    CoreDown,
    /// An edge does nothing, and comes back without program, tables and queues.
    EdgeRestart,
    /// The controller's process is killed, and started again.
    ControllerRestart,
    /// A router does nothing, and comes back without program, tables and queues.
    RouterRestart,
    /// The same of a station of a ring.
    StationRestart,
    /// An edge's clock jumps, either way, by a time between these (the logarithm is drawn evenly).
    ClockStep {
        /// Shortest jump.
        least_ns: u64,
        /// Longest jump.
        most_ns: u64,
    },
    /// Each control message is treated so with this probability.
    Messages {
        /// What happens to it.
        treatment: Treatment,
        /// Over 0, up to 1.
        share: f64,
    },
}

/// What happens to a control message: light of signaling, a message on a ring, a packet-in or a packet-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// It does not arrive.
    Lost,
    /// It arrives, and later again.
    Duplicated,
    /// It arrives later, so that others overtake it.
    Reordered,
    /// Some of its bits arrive wrong.
    Corrupted,
}

impl FaultKind {
    /// The name in scenario files and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::LinkCut => "link-cut",
            FaultKind::CoreDown => "core-down",
            FaultKind::EdgeRestart => "edge-restart",
            FaultKind::ControllerRestart => "controller-restart",
            FaultKind::RouterRestart => "router-restart",
            FaultKind::StationRestart => "station-restart",
            FaultKind::ClockStep { .. } => "clock-step",
            FaultKind::Messages { treatment, .. } => match treatment {
                Treatment::Lost => "messages-lost",
                Treatment::Duplicated => "messages-duplicated",
                Treatment::Reordered => "messages-reordered",
                Treatment::Corrupted => "messages-corrupted",
            },
        }
    }
}

const COMMON_KEYS: [&str; 2] = ["kind", "every_ms"];
const LENGTH: &[&str] = &["for_ms"];
const LENGTH_AND_EDGE: &[&str] = &["for_ms", "edge"];
const STEP: &[&str] = &["edge", "least_ns", "most_ns"];
const MESSAGES: &[&str] = &["for_ms", "share"];

/// Kinds by name, with the keys that only they have; what a kind says for itself is read afterwards.
fn kinds() -> [(FaultKind, &'static [&'static str]); 11] {
    let messages = |treatment| (FaultKind::Messages { treatment, share: 1.0 }, MESSAGES);
    let clock_step = FaultKind::ClockStep {
        least_ns: 1,
        most_ns: 1,
    };
    [
        (FaultKind::LinkCut, LENGTH_AND_EDGE),
        (FaultKind::CoreDown, LENGTH),
        (FaultKind::EdgeRestart, LENGTH_AND_EDGE),
        (FaultKind::ControllerRestart, LENGTH),
        (FaultKind::RouterRestart, LENGTH),
        (FaultKind::StationRestart, LENGTH),
        (clock_step, STEP),
        messages(Treatment::Lost),
        messages(Treatment::Duplicated),
        messages(Treatment::Reordered),
        messages(Treatment::Corrupted),
    ]
}

/// The optional section `faults`.
pub(crate) fn faults(r: &mut Reader, parent: &Fields) -> Vec<Faults> {
    let elements = r.optional_list(parent, "faults", 0..=64);
    elements.into_iter().filter_map(|(v, p)| entry(r, v, p)).collect()
}

fn entry(r: &mut Reader, value: &Value, pointer: String) -> Option<Faults> {
    let kinds = kinds();
    let name = value.get("kind").and_then(Value::as_str);
    let Some((kind, own)) = kinds.iter().find(|(kind, _)| Some(kind.name()) == name) else {
        let fields = r.fields(
            value,
            pointer,
            &[&COMMON_KEYS[..], LENGTH_AND_EDGE, STEP, MESSAGES].concat(),
        );
        r.choice(&fields, "kind", &kinds.map(|(kind, _)| (kind.name(), kind)));
        return None;
    };
    let fields = r.fields(value, pointer, &[&COMMON_KEYS[..], own].concat());
    let kind = match *kind {
        FaultKind::ClockStep { .. } => FaultKind::ClockStep {
            least_ns: r.integer(&fields, "least_ns", STEP_NS),
            most_ns: r.integer(&fields, "most_ns", STEP_NS),
        },
        FaultKind::Messages { treatment, .. } => FaultKind::Messages {
            treatment,
            share: r.optional_number(&fields, "share", 0.0, 1.0).unwrap_or(1.0),
        },
        simple => simple,
    };
    Some(Faults {
        kind,
        every_ms: r.integer(&fields, "every_ms", DURATION_MS),
        for_ms: match kind {
            FaultKind::ClockStep { .. } => 0,
            _ => r.integer(&fields, "for_ms", DURATION_MS),
        },
        edge: r.optional_integer(&fields, "edge", STATION).map(|edge| edge as u16),
    })
}

/// Whether the section fits the network.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    let switches = [
        FaultKind::CoreDown,
        FaultKind::EdgeRestart,
        FaultKind::RouterRestart,
        FaultKind::StationRestart,
    ];
    let has_switches = scenario.faults.iter().any(|faults| switches.contains(&faults.kind));
    for (index, faults) in scenario.faults.iter().enumerate() {
        let place = format!("/faults/{index}");
        if faults
            .edge
            .is_some_and(|edge| usize::from(edge) >= scenario.edges.len())
        {
            let expected = match scenario.edges.len() {
                0 => "no 'edge': there are none".to_owned(),
                edges => format!("an edge from 0 to {}", edges - 1),
            };
            r.report(format!("{place}/edge"), "there is no such edge", expected);
        }
        match faults.kind {
            FaultKind::CoreDown | FaultKind::EdgeRestart | FaultKind::ClockStep { .. } if !scenario.has_star() => {
                let reason = format!("'{}' is of stars", faults.kind.name());
                let restart = if scenario.has_ring() { "station" } else { "router" };
                let expected = format!("link-cut, {restart}-restart, controller-restart or messages-...");
                r.report(format!("{place}/kind"), reason, expected);
            }
            FaultKind::ClockStep { least_ns, most_ns } => {
                if scenario.clocks.is_none() {
                    r.report(
                        format!("{place}/kind"),
                        "all edges have one clock",
                        "a section 'clocks'",
                    );
                }
                if least_ns > most_ns {
                    r.report(
                        format!("{place}/least_ns"),
                        format!("{least_ns} ns is more than the longest"),
                        format!("at most {most_ns}"),
                    );
                }
                let masters: Vec<u16> = scenario.cores.iter().map(|core| core.master).collect();
                if faults.edge.is_some_and(|edge| masters.contains(&edge)) {
                    r.report(
                        format!("{place}/edge"),
                        "a master's clock is the time of its star",
                        "a slave",
                    );
                }
            }
            FaultKind::RouterRestart if !scenario.has_routers() => {
                let expected = if scenario.has_ring() { "station" } else { "edge" };
                r.report(
                    format!("{place}/kind"),
                    "there are no routers",
                    format!("{expected}-restart"),
                )
            }
            FaultKind::StationRestart if !scenario.has_ring() => {
                let expected = if scenario.has_routers() { "router" } else { "edge" };
                r.report(
                    format!("{place}/kind"),
                    "there are no stations",
                    format!("{expected}-restart"),
                )
            }
            // It waits until every switch is there, so a switch that is down would stop time.
            FaultKind::ControllerRestart if has_switches => r.report(
                format!("{place}/kind"),
                "a controller starts when all switches are there",
                "no core-down and no restart of a switch beside it",
            ),
            _ => {}
        }
    }
}
