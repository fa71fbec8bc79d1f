// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose: how often, how long, what. When exactly and where is drawn from the seed by whoever runs the scenario.

use std::ops::RangeInclusive;

use slotwise_units::Duration;

use crate::address::{Device, DeviceKind};
use crate::model::Scenario;
use crate::parse::{DURATION_MS, STATION};
use crate::reader::{Fields, Reader};
use crate::section::{Only, Section as _, above, integer, only, section, word};

/// Entries of the section.
pub(crate) const FAULTS: RangeInclusive<usize> = 0..=64;
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
    LinkDown,
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
            FaultKind::LinkDown => "link-down",
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
    /// Returns true if a network has a possible target of the fault.
    fn may_be_in(self, scenario: &Scenario) -> bool {
        match self {
            FaultKind::ClockStep { .. } => scenario.has_star(),
            FaultKind::Restart(kind) => (kind.count)(scenario) > 0,
            _ => true,
        }
    }
}

/// Messages of a treatment, until their share is read.
fn messages(treatment: Treatment) -> FaultKind {
    FaultKind::Messages { treatment, share: 1.0 }
}

/// All kinds, with default values.
pub(crate) fn kinds() -> Vec<FaultKind> {
    let clock_step = FaultKind::ClockStep {
        least: Duration::from_ns(1),
        most: Duration::from_ns(1),
    };
    let restarts = DeviceKind::all().filter(|kind| kind.restart.is_some());
    let others = [
        FaultKind::ControllerRestart,
        clock_step,
        messages(Treatment::Lost),
        messages(Treatment::Duplicated),
        messages(Treatment::Reordered),
        messages(Treatment::Corrupted),
    ];
    let link_down = std::iter::once(FaultKind::LinkDown);
    link_down
        .chain(restarts.map(FaultKind::Restart))
        .chain(others)
        .collect()
}

fn words() -> impl Iterator<Item = (&'static str, FaultKind)> {
    kinds().into_iter().map(|kind| (kind.name(), kind))
}

/// Condition that a fault has one of some kinds.
fn only_of(is_meant: impl Fn(FaultKind) -> bool) -> Only {
    let kinds = kinds().into_iter().filter(|kind| is_meant(*kind));
    only("kind", kinds.map(FaultKind::name))
}

fn is_step(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::ClockStep { .. })
}

/// Returns true if an edge of a star can be the target.
fn has_edge(kind: FaultKind) -> bool {
    let of_edges = FaultKind::Restart(Device::Edge(0).kind());
    is_step(kind) || kind == FaultKind::LinkDown || kind == of_edges
}

section! {
    /// Faults of one kind.
    #[derive(Debug)]
    pub(crate) struct FaultKeys [r, fields, scenario: &'c Scenario] {
        /// Fault type. A link is a fibre pair, or both directions between two routers or stations. `router-restart`
        /// needs routers, `station-restart` a ring, `switch-restart` and `ops-edge-restart` optical packet switches and
        /// their edges, `edge-restart`, `core-down` and `clock-step` a star. `controller-restart` cannot be combined
        /// with restarts of switches.
        kind: FaultKind = "kind" read(kind(r, fields, scenario)), word(words());
        /// Mean time from the end of one fault to the start of the next in ms, drawn from 0.5 to 1.5 times this value.
        every_ms: u64 = "every_ms" required, integer(DURATION_MS);
        /// Mean duration in ms, drawn from 0.5 to 1.5 times this value.
        for_ms: Option<u64> = "for_ms" required_if(only_of(|kind| !is_step(kind))), integer(DURATION_MS);
        /// Affected edge. Default: drawn for each fault.
        edge: Option<u16> = "edge" optional_if(only_of(has_edge)), integer(STATION);
        /// Minimum clock step in ns.
        least: Option<Duration> = "min_ns" required_if(only_of(is_step)), integer(STEP_NS);
        /// Maximum clock step in ns.
        most: Option<Duration> = "max_ns" required_if(only_of(is_step)), integer(STEP_NS);
        /// Probability that a control message is affected. Default: 1.
        share: Option<f64> = "share" optional_if(only_of(|kind| matches!(kind, FaultKind::Messages { .. }))), above(0.0, 1.0);
    }
}

/// Reads the optional section `faults` of a file whose network has been read.
pub(crate) fn faults(r: &mut Reader, parent: &Fields, scenario: &Scenario) -> Vec<Faults> {
    let elements = r.optional_list(parent, "faults", FAULTS);
    let mut faults = Vec::with_capacity(elements.len());
    for (value, place) in elements {
        let keys = FaultKeys::of(r, value, place.clone(), scenario);
        if keys.edge.is_some() && !scenario.has_star() {
            no_edges(r, place, scenario);
        }
        faults.push(Faults::of(keys));
    }
    faults
}

impl Faults {
    fn of(keys: FaultKeys) -> Faults {
        let kind = match keys.kind {
            FaultKind::ClockStep { least, most } => FaultKind::ClockStep {
                least: keys.least.unwrap_or(least),
                most: keys.most.unwrap_or(most),
            },
            FaultKind::Messages { treatment, share } => FaultKind::Messages {
                treatment,
                share: keys.share.unwrap_or(share),
            },
            simple => simple,
        };
        Faults {
            kind,
            every_ms: keys.every_ms,
            for_ms: keys.for_ms.unwrap_or(0),
            edge: keys.edge,
        }
    }
}

/// Reads the kind; kinds without a target in this network are not offered.
fn kind(r: &mut Reader, fields: &Fields, scenario: &Scenario) -> FaultKind {
    let words: Vec<(&str, FaultKind)> = words().collect();
    r.choice_of(fields, "kind", &words, |kind| kind.may_be_in(scenario))
}

/// Reports an edge in a network without a star.
fn no_edges(r: &mut Reader, place: String, scenario: &Scenario) {
    // Which it is is drawn, but one may be cut by name.
    let (key, called) = match scenario.own_spans().into_iter().next() {
        Some(span) => ("span", Some(span)),
        None => ("link", scenario.routed.links.first().map(|link| link.name.clone())),
    };
    let named = called.map_or_else(String::new, |name| {
        format!("; 'changes' take a named one down: '{{at_ms: 100, {key}: {name}, up: false}}'")
    });
    r.report(
        format!("{place}/edge"),
        "this scenario has no star, and only edges of a star are numbered",
        format!("no 'edge': the target is drawn at random each time{named}"),
    );
}

/// Checks that the section fits the network.
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
                let others = ["link-down", "controller-restart", "messages-..."];
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
