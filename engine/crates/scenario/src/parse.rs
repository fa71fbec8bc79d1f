// SPDX-License-Identifier: Apache-2.0
//! The shape of a scenario file: keys, types and bounds, as in `schema/scenario.schema.json`.

use std::ops::RangeInclusive;

use slotwise_wire::MAX_FIBRES;
pub(crate) use slotwise_wire::limits::{DELAY_NS, DURATION_MS, RATE_BPS, SEED};

use crate::base::ScenarioFile;
use crate::clocks::Clocks;
use crate::doc::{Doc, NOTHING};
use crate::faults::faults;
use crate::file::{self, NetworkType};
use crate::model::{Controller, Core, Edge, Frame, Hosts, LinkChange, Queues, Scenario, Transport};
use crate::optics::Optics;
use crate::own::{NetworkSection, SECTIONS};
use crate::own_scheduler::OwnScheduler;
use crate::phases::phases;
use crate::problem::{Problem, ScenarioError};
use crate::reader::{Fields, Reader};
use crate::routed::{self, GROUPS, Routed};
use crate::scheduler::SchedulerChange;
use crate::section::Section;
use crate::tables::tables;
use crate::{check, defaults, ops, own_scheduler, repeat, workloads};

/// Bytes of a file.
pub(crate) const FILE_BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000;
pub(crate) const FLOW_RATE_BPS: RangeInclusive<u64> = 1_000..=400_000_000_000;
pub(crate) const STATION: RangeInclusive<u64> = 0..=MAX_FIBRES as u64 - 1;
/// Times from the start of the first phase.
pub(crate) const AT_MS: RangeInclusive<u64> = 0..=1000 * *DURATION_MS.end();

impl Scenario {
    /// Reads a scenario file and checks all of it.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] names everything that is wrong with the shape or, when the shape is right,
    /// everything that does not fit together.
    pub fn parse(yaml: &[u8]) -> Result<Scenario, ScenarioError> {
        Scenario::parse_named(yaml, defaults::NAME)
    }

    /// As [`Scenario::parse`], with the name of a scenario whose file has none: usually that of the file.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_named(yaml: &[u8], name: &str) -> Result<Scenario, ScenarioError> {
        let scenario = scenario_of(alone(yaml)?, name)?;
        match workloads::unread(&scenario) {
            problems if problems.is_empty() => Ok(scenario),
            problems => Err(ScenarioError::Invalid(problems)),
        }
    }

    /// As [`Scenario::parse_named`]. Returns the plain form as JSON: the file with each key in one spelling, that with its unit as a suffix,
    /// with an entry for each that it stands for, and with defaults. It is the same scenario.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn plain(yaml: &[u8], name: &str) -> Result<String, ScenarioError> {
        plain_of(alone(yaml)?, name)
    }

    /// Warnings: values that are valid but probably unintended.
    pub fn notes(&self) -> Vec<Problem> {
        let mut reader = Reader::default();
        ops::notes(self, &mut reader);
        reader.problems
    }
}

/// Returns the tree of a file that names no other file.
fn alone(yaml: &[u8]) -> Result<Doc, ScenarioError> {
    let source = ScenarioFile::read(yaml, defaults::NAME, |_| Err("scenario without a directory".to_owned()))?;
    Ok(source.doc)
}

/// Reads the scenario of a tree, and checks all of it.
pub(crate) fn scenario_of(doc: Doc, name: &str) -> Result<Scenario, ScenarioError> {
    let (scenario, _) = read_checked(tree(doc, name)?, scenario, check::cross_check)?;
    Ok(scenario)
}

/// Plain form of a tree, as JSON.
pub(crate) fn plain_of(doc: Doc, name: &str) -> Result<String, ScenarioError> {
    let (_, plain) = read_checked(tree(doc, name)?, scenario, check::cross_check)?;
    Ok(plain.to_json())
}

/// The tree of a file, with an entry for each that one stands for, and with defaults.
pub(crate) fn tree(mut doc: Doc, name: &str) -> Result<Doc, ScenarioError> {
    let mut reader = Reader::default();
    defaults::expand(&mut doc);
    repeat::unfold(&mut doc, &mut reader, |doc| defaults::complete(doc, name));
    match reader.problems {
        problems if problems.is_empty() => Ok(doc),
        problems => Err(ScenarioError::Invalid(problems)),
    }
}

/// Content of a file, its shape read by `shape`, and the tree of its plain form; `check` sees it only if the shape is right.
pub(crate) fn read_checked<T>(
    mut value: Doc,
    shape: impl Fn(&mut Reader, &Doc) -> T,
    check: impl Fn(&T, &mut Reader),
) -> Result<(T, Doc), ScenarioError> {
    let mut reader = Reader::default();
    let scenario = shape(&mut reader, &value);
    if reader.problems.is_empty() {
        check(&scenario, &mut reader);
    }
    if !reader.problems.is_empty() {
        return Err(ScenarioError::Invalid(reader.problems));
    }
    for edit in reader.edits {
        value.edit(edit);
    }
    Ok((scenario, value))
}

/// What a file has nodes of, and what else it may say.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) star: bool,
    pub(crate) routers: bool,
    /// A network of a section of its own.
    pub(crate) own: Option<&'static NetworkSection>,
}

/// What a packet of IP may be marked with.
pub(crate) const DSCP: RangeInclusive<u64> = 0..=63;
pub(crate) const FLOWS: &str = "flows";

impl Parts {
    pub(crate) fn of(value: &Doc) -> Parts {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        let own = SECTIONS.iter().copied().find(|section| has(&[section.key]));
        let routers = has(&file::OF_ROUTERS);
        let star = !routers && own.is_none() || has(&file::OF_STAR);
        Parts {
            star,
            routers,
            own: own.filter(|_| !routers && !star),
        }
    }

    fn network(self) -> NetworkType {
        match self.own {
            Some(own) => own.network,
            None if self.routers && self.star => NetworkType::Mixed,
            None if self.routers => NetworkType::Routers,
            None => NetworkType::Star,
        }
    }

    /// Whether there may be hosts that stand in groups.
    pub(crate) fn has_groups(self) -> bool {
        self.routers || self.own.is_some()
    }

    /// Whether flows between groups may have it: optical packet switches tell hosts no rate.
    pub(crate) fn may_have(self, transport: Transport) -> bool {
        transport != Transport::Xcp || self.own.is_none_or(|own| own.key != ops::SECTION.key)
    }
}

fn scenario(r: &mut Reader, value: &Doc) -> Scenario {
    let parts = Parts::of(value);
    let mut keys = parts.network().keys();
    if value.get("kind").and_then(Doc::as_str) == Some("routed") {
        let expected = "no 'kind': the network type follows from the sections present";
        r.report("/kind".into(), "'kind' was removed", expected);
        keys.push("kind");
    }
    if parts.star && !parts.has_groups() && value.get(FLOWS).is_some() {
        let expected = "'flows' in 'phases', or routers linked to an edge of the star";
        r.report(
            format!("/{FLOWS}"),
            "'flows' beside 'phases' need host groups, which a star without routers does not have",
            expected,
        );
        keys.push(FLOWS);
    }
    for NetworkSection { key, called, .. } in SECTIONS {
        if value.get(key).is_some() && parts.own.is_none_or(|own| own.key != *key) {
            let reason = format!("{called} cannot be combined with another network");
            r.report(format!("/{key}"), reason, format!("{called} only"));
            keys.push(key);
        }
    }
    let fields = r.fields(value, String::new(), &keys);
    r.integer(&fields, "version", 1..=1);
    let schedulers = own_scheduler::all(r, &fields);
    let (name, seed) = (r.name(&fields, "name"), r.integer(&fields, "seed", SEED));
    let mut scenario = Scenario {
        name,
        seed,
        frame: of_star_section(r, &fields, parts, "frame").unwrap_or(Frame::NONE),
        cores: of_star(r, &fields, parts, "cores", file::CORES)
            .into_iter()
            .map(|(v, p)| Core::of(r, v, p, ()))
            .collect(),
        edges: of_star(r, &fields, parts, "edges", file::EDGES)
            .into_iter()
            .map(|(v, p)| Edge::of(r, v, p, ()))
            .collect(),
        queues: of_star_section(r, &fields, parts, "queues").unwrap_or(Queues::NONE),
        aggregation: None,
        classes: Vec::new(),
        hosts: if parts.star {
            hosts(r, &fields, parts)
        } else {
            Hosts::NONE
        },
        controller: controller(r, &fields, &schedulers, parts),
        routed: Routed::default(),
        ring: None,
        ops: None,
        phases: phases(r, &fields, parts),
        clocks: Clocks::under(r, &fields, "clocks", ()),
        optics: Optics::under(r, &fields, "optics", ()),
        scheduler_changes: Vec::new(),
        link_changes: Vec::new(),
        faults: Vec::new(),
        workloads: Vec::new(),
        schedulers,
        tables: Vec::new(),
    };
    if parts.star {
        let fibres = scenario.edges.iter().flat_map(|edge| &edge.fibres);
        let rate = fibres.map(|fibre| fibre.rate).min().unwrap_or_default();
        scenario.aggregation = ops::aggregation(r, &fields, &[], rate);
        scenario.classes = ops::star_classes(r, &fields);
    }
    if let Some(section) = parts.own {
        (section.read)(r, &fields, &mut scenario);
    }
    let of_groups = changes(r, &fields, parts, &mut scenario);
    if parts.has_groups() {
        let nodes = scenario.own_nodes().map(|(_, nodes)| nodes);
        scenario.routed = routed::parse(r, &fields, parts, nodes.as_ref(), of_groups);
    }
    scenario.workloads = workloads::workloads(r, &fields, &scenario);
    // What there is says what may fail.
    scenario.faults = faults(r, &fields, &scenario);
    scenario.tables = tables(r, &fields, &scenario);
    scenario
}

/// Reads the changes of fibres and schedulers. Returns the others.
fn changes<'v>(r: &mut Reader, fields: &Fields<'v>, parts: Parts, scenario: &mut Scenario) -> Vec<(&'v Doc, String)> {
    let mut of_groups = Vec::new();
    for (value, pointer) in r.optional_list(fields, "changes", file::CHANGES) {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        if parts.star && has(&["scheduler"]) {
            r.changes.schedulers.push(pointer.clone());
            let change = SchedulerChange::of(r, value, pointer, &scenario.schedulers);
            scenario.scheduler_changes.push(change);
        } else if parts.star && (has(&["core", "edge"]) || !parts.has_groups()) {
            r.changes.fibres.push(pointer.clone());
            scenario.link_changes.push(LinkChange::of(r, value, pointer, ()));
        } else {
            r.changes.groups.push(pointer.clone());
            of_groups.push((value, pointer));
        }
    }
    of_groups
}

/// A list that a star must have; where there is none it is empty.
fn of_star<'v>(
    r: &mut Reader,
    fields: &Fields<'v>,
    parts: Parts,
    key: &str,
    length: RangeInclusive<usize>,
) -> Vec<(&'v Doc, String)> {
    if parts.star {
        r.list(fields, key, length)
    } else {
        Vec::new()
    }
}

/// A section that a star must have.
fn of_star_section<S: for<'c> Section<Context<'c> = ()>>(
    r: &mut Reader,
    fields: &Fields,
    parts: Parts,
    key: &str,
) -> Option<S> {
    let value = parts.star.then(|| r.required(fields, key))??;
    Some(S::of(r, value, fields.pointer(key), ()))
}

/// The hosts of edges; groups of hosts, where there may be any, are read elsewhere.
fn hosts(r: &mut Reader, parent: &Fields, parts: Parts) -> Hosts {
    let Some(value) = r.required(parent, "hosts") else {
        return Hosts::NONE;
    };
    let keys = [Hosts::keys(), &[GROUPS][usize::from(!parts.has_groups())..]].concat();
    let fields = r.fields(value, parent.pointer("hosts"), &keys);
    Hosts::of_fields(r, &fields, ())
}

/// The controller, which only a star must have.
fn controller(r: &mut Reader, parent: &Fields, own: &[OwnScheduler], parts: Parts) -> Controller {
    let place = parent.pointer("controller");
    let value = match parts.star {
        true => r.required(parent, "controller"),
        false => r.optional(parent, "controller"),
    };
    let Some(value) = value else {
        return Controller::of_fields(r, &Fields::of(&NOTHING, place), own);
    };
    let network = parts.network();
    let is_absent = |key: &str| {
        file::CONTROLLER
            .iter()
            .any(|(known, of)| *known == key && !of.contains(&network))
    };
    let keys: Vec<&str> = Controller::keys()
        .iter()
        .copied()
        .filter(|key| !is_absent(key))
        .collect();
    let fields = r.fields(value, place, &keys);
    Controller::of_fields(r, &fields, own)
}

/// The congestion control under `transport`; the default if there is none. Who names none is offered what `may_be`.
pub(crate) fn transport(r: &mut Reader, fields: &Fields, may_be: impl Fn(Transport) -> bool) -> Transport {
    if r.optional(fields, "transport").is_none() {
        return Transport::default();
    }
    let all: Vec<_> = Transport::words().collect();
    r.choice_of(fields, "transport", &all, may_be)
}
