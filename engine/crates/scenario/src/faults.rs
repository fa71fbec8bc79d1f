// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose: how often, how long, what. When exactly and where is drawn from the seed by whoever runs the scenario.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use slotwise_units::Duration;

use crate::address::{Device, DeviceKind};
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
    /// A switch of a kind does nothing, a core passes no light, and comes back without program, tables and queues.
    Restart(&'static DeviceKind),
    /// The controller's process is killed, and started again.
    ControllerRestart,
    /// An edge's clock jumps, either way, by a time between these (the logarithm is drawn evenly).
    ClockStep {
        /// Shortest jump.
        least: Duration,
        /// Longest jump.
        most: Duration,
    },
    /// Each control message is treated so with this probability.
    Messages {
        /// What happens to it.
        treatment: Treatment,
        /// Over 0, up to 1.
        share: f64,
    },
}

/// What happens to a control message: light of signaling, a packet-in or a packet-out.
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
            FaultKind::Restart(kind) => kind.restart.unwrap_or_default(),
            FaultKind::ControllerRestart => "controller-restart",
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

impl FaultKind {
    /// Whether a network has what it happens to.
    fn may_be_in(self, scenario: &Scenario) -> bool {
        match self {
            FaultKind::ClockStep { .. } => scenario.has_star(),
            FaultKind::Restart(kind) => (kind.count)(scenario) > 0,
            _ => true,
        }
    }
}

const COMMON_KEYS: [&str; 2] = ["kind", "every_ms"];
const LENGTH: &[&str] = &["for_ms"];
const LENGTH_AND_EDGE: &[&str] = &["for_ms", "edge"];
const STEP: &[&str] = &["edge", "min_ns", "max_ns"];
const MESSAGES: &[&str] = &["for_ms", "share"];

/// Kinds by name, with the keys that only they have; what a kind says for itself is read afterwards.
fn kinds() -> Vec<(FaultKind, &'static [&'static str])> {
    let messages = |treatment| (FaultKind::Messages { treatment, share: 1.0 }, MESSAGES);
    let clock_step = FaultKind::ClockStep {
        least: Duration::from_ns(1),
        most: Duration::from_ns(1),
    };
    let restarts = DeviceKind::all().filter(|kind| kind.restart.is_some()).map(|kind| {
        let keys = if *kind == *Device::Edge(0).kind() {
            LENGTH_AND_EDGE
        } else {
            LENGTH
        };
        (FaultKind::Restart(kind), keys)
    });
    let others = [
        (FaultKind::LinkCut, LENGTH_AND_EDGE),
        (FaultKind::ControllerRestart, LENGTH),
        (clock_step, STEP),
        messages(Treatment::Lost),
        messages(Treatment::Duplicated),
        messages(Treatment::Reordered),
        messages(Treatment::Corrupted),
    ];
    restarts.chain(others).collect()
}

/// The optional section `faults`; the network, as far as it could be read, has what is offered to who names nothing that there is.
pub(crate) fn faults(r: &mut Reader, parent: &Fields, scenario: &Scenario) -> Vec<Faults> {
    let elements = r.optional_list(parent, "faults", 0..=64);
    elements
        .into_iter()
        .filter_map(|(v, p)| entry(r, scenario, v, p))
        .collect()
}

fn entry(r: &mut Reader, scenario: &Scenario, value: &Doc, pointer: String) -> Option<Faults> {
    let kinds = kinds();
    let name = value.get("kind").and_then(Doc::as_str);
    let Some((kind, own)) = kinds.iter().find(|(kind, _)| Some(kind.name()) == name) else {
        let fields = r.fields(
            value,
            pointer,
            &[&COMMON_KEYS[..], LENGTH_AND_EDGE, STEP, MESSAGES].concat(),
        );
        let names: Vec<(&str, FaultKind)> = kinds.iter().map(|(kind, _)| (kind.name(), *kind)).collect();
        r.choice_of(&fields, "kind", &names, |kind| kind.may_be_in(scenario));
        return None;
    };
    let fields = r.fields(value, pointer, &[&COMMON_KEYS[..], own].concat());
    let kind = match *kind {
        FaultKind::ClockStep { .. } => FaultKind::ClockStep {
            least: r.duration(&fields, "min_ns", STEP_NS),
            most: r.duration(&fields, "max_ns", STEP_NS),
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
        edge: edge(r, &fields, scenario),
    })
}

/// The edge of a star that it happens to.
fn edge(r: &mut Reader, fields: &Fields, scenario: &Scenario) -> Option<u16> {
    r.optional(fields, "edge")?;
    if scenario.has_star() {
        return r.optional_integer(fields, "edge", STATION).map(|edge| edge as u16);
    }
    // Which it is is drawn, but one may be cut by name.
    let (key, called) = match scenario.own_spans().into_iter().next() {
        Some(span) => ("span", Some(span)),
        None => ("link", scenario.routed.links.first().map(|link| link.name.clone())),
    };
    let named = called.map_or_else(String::new, |name| {
        format!("; 'changes' take a named one down: '{{at_ms: 100, {key}: {name}, up: false}}'")
    });
    r.report(
        fields.pointer("edge"),
        "this scenario has no star, and only edges of a star are numbered",
        format!("no 'edge': the target is drawn at random each time{named}"),
    );
    None
}

/// Whether the section fits the network.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    let mut faults = scenario.faults.iter();
    let has_switches = faults.any(|faults| matches!(faults.kind, FaultKind::Restart(_)));
    for (index, faults) in scenario.faults.iter().enumerate() {
        let place = format!("/faults/{index}");
        if faults
            .edge
            .is_some_and(|edge| usize::from(edge) >= scenario.edges.len())
        {
            let expected = format!("an edge from 0 to {}", scenario.edges.len() - 1);
            r.report(format!("{place}/edge"), "unknown edge", expected);
        }
        match faults.kind {
            kind if !kind.may_be_in(scenario) => {
                let reason = format!("nothing in this network is affected by '{}'", kind.name());
                let there = scenario.device_kinds().filter_map(|kind| kind.restart);
                let others = ["link-cut", "controller-restart", "messages-..."];
                let expected: Vec<&str> = there.chain(others).collect();
                r.report(format!("{place}/kind"), reason, expected.join(", "));
            }
            FaultKind::ClockStep { least, most } => {
                if scenario.clocks.is_none() {
                    r.report(format!("{place}/kind"), "all edges share one clock", "'clocks' too");
                }
                if least > most {
                    r.report(
                        format!("{place}/min_ns"),
                        format!("{least} exceeds 'max_ns'"),
                        format!("at most {}", most.ns()),
                    );
                }
                let masters: Vec<u16> = scenario.cores.iter().map(|core| core.master).collect();
                if faults.edge.is_some_and(|edge| masters.contains(&edge)) {
                    r.report(
                        format!("{place}/edge"),
                        "the clock of a master is the reference of its star",
                        "a member edge",
                    );
                }
            }
            // It waits until every switch is there, so a switch that is down would stop time.
            FaultKind::ControllerRestart if has_switches => r.report(
                format!("{place}/kind"),
                "a controller starts only while all switches are up",
                "no restart fault of a switch in the same scenario",
            ),
            _ => {}
        }
    }
}
