// SPDX-License-Identifier: Apache-2.0
//! The shape of a scenario file: keys, types and bounds, as in `schema/scenario.schema.json`.

use std::ops::RangeInclusive;

use crate::doc::{Doc, NOTHING};
use slotwise_units::Duration;
use slotwise_wire::limits;
pub(crate) use slotwise_wire::limits::{DELAY_NS, DURATION_MS, RATE_BPS, SEED};
use slotwise_wire::{MAX_CORES, MAX_FIBRES};

use crate::address::Endpoint;
use crate::clocks::Clocks;
use crate::faults::faults;
use crate::model::{
    Controller, Core, Edge, Frame, Hosts, LinkChange, Phase, Queues, Scenario, Traffic, TrafficKind, Transport,
};
use crate::optics::{ATTENUATION_MDB, Optics};
use crate::own::{NetworkSection, SECTIONS};
use crate::own_scheduler::OwnScheduler;
use crate::problem::{Problem, ScenarioError, locate};
use crate::reader::{Fields, Reader};
use crate::routed::{self, GROUPS, Metric, Routed};
use crate::scheduler::SchedulerChoice;
use crate::section::Section;
use crate::{check, defaults, ops, own_scheduler, repeat, scheduler, sources};

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
        let (scenario, _) = read_checked(tree(yaml, name)?, scenario, check::cross_check)?;
        Ok(scenario)
    }

    /// As [`Scenario::parse_named`]. Returns the plain form as JSON: the file with each key in one spelling, that with its unit as a suffix,
    /// with an entry for each that it stands for, and with defaults. It is the same scenario.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn plain(yaml: &[u8], name: &str) -> Result<String, ScenarioError> {
        let (_, plain) = read_checked(tree(yaml, name)?, scenario, check::cross_check)?;
        Ok(plain.to_json())
    }

    /// What of it may be and is hardly meant; with its lines in `yaml`, if it was read from there.
    pub fn notes(&self, yaml: &[u8]) -> Vec<Problem> {
        let mut reader = Reader::default();
        ops::notes(self, &mut reader);
        locate(yaml, &mut reader.problems);
        reader.problems
    }
}

/// The tree of a file, with an entry for each that one stands for, and with defaults.
pub(crate) fn tree(yaml: &[u8], name: &str) -> Result<Doc, ScenarioError> {
    let mut doc = Doc::read(yaml)?;
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
const COMMON_KEYS: &[&str] = &[
    "version",
    "name",
    "seed",
    "hosts",
    "controller",
    "phases",
    "changes",
    "faults",
];
const STAR_KEYS: &[&str] = &[
    "frame",
    "cores",
    "edges",
    "queues",
    "aggregation",
    "classes",
    "clocks",
    "optics",
    "schedulers",
];
/// Where hosts stand in groups.
const GROUP_KEYS: &[&str] = &["duration_ms", "sample_ms", "packet_bytes", FLOWS];
const FLOWS: &str = "flows";
const ROUTER_KEYS: &[&str] = &["routers", "links"];

impl Parts {
    pub(crate) fn of(value: &Doc) -> Parts {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        let own = SECTIONS.iter().copied().find(|section| has(&[section.key]));
        let routers = has(ROUTER_KEYS);
        let star = !routers && own.is_none() || has(&["frame", "cores", "edges", "queues"]);
        Parts {
            star,
            routers,
            own: own.filter(|_| !routers && !star),
        }
    }

    fn keys(self) -> Vec<&'static str> {
        let star = if self.star { STAR_KEYS } else { &[] };
        let routers = if self.routers { ROUTER_KEYS } else { &[] };
        let own = self.own.map(|section| section.key);
        let groups = if self.has_groups() { GROUP_KEYS } else { &[] };
        [COMMON_KEYS, star, routers, own.as_slice(), groups].concat()
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
    let mut keys = parts.keys();
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
        cores: of_star(r, &fields, parts, "cores", 1..=MAX_CORES as usize)
            .into_iter()
            .map(|(v, p)| Core::of(r, v, p, ()))
            .collect(),
        edges: of_star(r, &fields, parts, "edges", 2..=usize::from(MAX_FIBRES))
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
        schedulers,
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
    // What there is says what may fail.
    scenario.faults = faults(r, &fields, &scenario);
    scenario
}

/// Reads the changes of fibres and schedulers. Returns the others.
fn changes<'v>(r: &mut Reader, fields: &Fields<'v>, parts: Parts, scenario: &mut Scenario) -> Vec<(&'v Doc, String)> {
    let mut of_groups = Vec::new();
    for (value, pointer) in r.optional_list(fields, "changes", 0..=10_000) {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        if parts.star && has(&["scheduler"]) {
            r.changes.schedulers.push(pointer.clone());
            let change = scheduler::change(r, &scenario.schedulers, value, pointer);
            scenario.scheduler_changes.push(change);
        } else if parts.star && (has(&["core", "edge"]) || !parts.has_groups()) {
            r.changes.fibres.push(pointer.clone());
            scenario.link_changes.push(fibre_change(r, value, pointer));
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

/// The mapping under `key`; reads as empty when it is missing, which is reported once.
fn section<'v>(r: &mut Reader, parent: &Fields<'v>, key: &str, known: &[&str]) -> Option<Fields<'v>> {
    let value = r.required(parent, key)?;
    Some(r.fields(value, parent.pointer(key), known))
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

fn controller(r: &mut Reader, parent: &Fields, own: &[OwnScheduler], parts: Parts) -> Controller {
    let mut controller = Controller {
        scheduler: SchedulerChoice::of(scheduler::DEFAULT),
        control_latency: Duration::ZERO,
        beacon_hold_frames: 1,
        xcp: None,
        metric: Metric::default(),
        lambda: false,
    };
    let of_star = ["scheduler", "beacon_hold_frames", "xcp_capacity_bps"];
    let of_star = if parts.star { &of_star[..] } else { &[] };
    let of_routers: &[&str] = if parts.routers { &["metric"] } else { &[] };
    let of_both: &[&str] = if parts.star || parts.routers { &["lambda"] } else { &[] };
    let keys = [&["control_latency_ns"], of_star, of_routers, of_both].concat();
    if !parts.star && r.optional(parent, "controller").is_none() {
        return controller;
    }
    let Some(fields) = section(r, parent, "controller", &keys) else {
        return controller;
    };
    if parts.star {
        controller = Controller {
            scheduler: scheduler::choice(r, &fields, "scheduler", own),
            control_latency: r.duration(&fields, "control_latency_ns", limits::CONTROL_LATENCY_NS),
            beacon_hold_frames: r.integer(&fields, "beacon_hold_frames", limits::BEACON_HOLD_FRAMES) as u32,
            xcp: r.optional_rate(&fields, "xcp_capacity_bps", RATE_BPS),
            ..controller
        };
    } else if let Some(latency) = r.optional_duration(&fields, "control_latency_ns", limits::CONTROL_LATENCY_NS) {
        controller.control_latency = latency;
    }
    if r.optional(&fields, "metric").is_some() {
        controller.metric = r.choice(&fields, "metric", &Metric::ALL.map(|metric| (metric.name(), metric)));
    }
    controller.lambda = r.optional_bool(&fields, "lambda").unwrap_or(false);
    controller
}

/// The file's phases; without them the whole run is one, as long as the file says.
fn phases(r: &mut Reader, parent: &Fields, parts: Parts) -> Vec<Phase> {
    let is_whole = parts.has_groups() && r.optional(parent, "phases").is_none();
    if !is_whole {
        if r.optional(parent, "duration_ms").is_some() {
            r.report(
                parent.pointer("duration_ms"),
                "'duration_ms' given with 'phases', which have durations",
                "one of the two",
            );
        }
        let elements = r.list(parent, "phases", 1..=1000);
        if let Some(place) = elements.iter().find_map(|(phase, place)| flows_of_edges(phase, place))
            && !parts.star
        {
            r.report(
                place,
                "'flows' in 'phases' need the edge hosts of a star; this network has none",
                "'duration_ms' and 'flows' of the file instead of 'phases'",
            );
            return Vec::new();
        }
        return elements.into_iter().map(|(v, p)| phase(r, v, p)).collect();
    }
    vec![Phase {
        name: "run".into(),
        duration_ms: r.integer(parent, "duration_ms", DURATION_MS),
        traffic: Vec::new(),
    }]
}

/// Place of the flows of a phase; none if it has an empty list.
fn flows_of_edges(phase: &Doc, place: &str) -> Option<String> {
    match phase.as_mapping()?.get(FLOWS) {
        Some(entries) if entries.as_list().is_some_and(<[Doc]>::is_empty) => None,
        Some(_) => Some(format!("{place}/{FLOWS}")),
        None => Some(place.to_owned()),
    }
}

fn phase(r: &mut Reader, value: &Doc, pointer: String) -> Phase {
    let fields = r.fields(value, pointer, &["name", "duration_ms", FLOWS]);
    Phase {
        name: r.name(&fields, "name"),
        duration_ms: r.integer(&fields, "duration_ms", DURATION_MS),
        traffic: r
            .list(&fields, FLOWS, 0..=1000)
            .into_iter()
            .filter_map(|(v, p)| flow(r, v, p))
            .collect(),
    }
}

/// A flow between edges' hosts: a stream unless the entry has the key of another kind.
fn flow(r: &mut Reader, value: &Doc, pointer: String) -> Option<Traffic> {
    const KINDS: [&str; 4] = ["tcp", "udp", "file", "web"];
    if value.get("kind").is_some() {
        let expected = format!("the key of the kind, with what only it has: {}", KINDS.join(", "));
        r.report(
            format!("{pointer}/kind"),
            "'kind' was renamed to the kind itself",
            expected,
        );
        return None;
    }
    let kind = KINDS.into_iter().find(|kind| value.get(kind).is_some());
    let own: &[&str] = match kind {
        None => &["transport", "tcp", "udp", "file", "web"],
        Some("udp") => &["udp"],
        Some("file") => &["transport", "file"],
        Some("web") => &["transport", "web"],
        Some(_) => &["transport", "tcp"],
    };
    let fields = r.fields(value, pointer, &[&["from", "to"], own].concat());
    let from = endpoint(r, &fields, "from");
    let to = endpoint(r, &fields, "to");
    let transport = transport(r, &fields, |_| true);
    let kind = match kind {
        Some("udp") => {
            let udp = section(r, &fields, "udp", &sources::UDP_KEYS)?;
            TrafficKind::Udp {
                rate: r.rate(&udp, "rate_bps", FLOW_RATE_BPS),
                payload_bytes: r.integer(&udp, "payload_bytes", sources::PAYLOAD_BYTES) as u32,
                process: sources::process(r, &udp),
            }
        }
        Some("file") => {
            let file = section(r, &fields, "file", &["bytes"])?;
            TrafficKind::File {
                bytes: r.bytes(&file, "bytes", FILE_BYTES),
                transport,
            }
        }
        Some("web") => {
            let web = section(r, &fields, "web", &sources::WEB_KEYS)?;
            TrafficKind::Web {
                users: r.optional_integer(&web, "users", sources::USERS).unwrap_or(1) as u32,
                web: sources::web(r, &web),
                transport,
            }
        }
        _ => {
            let tcp = match r.optional(&fields, "tcp") {
                Some(value) => r.fields(value, fields.pointer("tcp"), &["rate_bps", "streams"]),
                None => Fields::of(&NOTHING, fields.pointer("tcp")),
            };
            TrafficKind::Tcp {
                rate: r.optional_rate(&tcp, "rate_bps", FLOW_RATE_BPS),
                streams: r.optional_integer(&tcp, "streams", 1..=64).unwrap_or(1) as u32,
                transport,
            }
        }
    };
    Some(Traffic {
        from: from?,
        to: to?,
        kind,
    })
}

/// The congestion control under `transport`; the default if there is none. Who names none is offered what `may_be`.
pub(crate) fn transport(r: &mut Reader, fields: &Fields, may_be: impl Fn(Transport) -> bool) -> Transport {
    if r.optional(fields, "transport").is_none() {
        return Transport::default();
    }
    let all: Vec<_> = Transport::ALL
        .iter()
        .map(|transport| (transport.name(), *transport))
        .collect();
    r.choice_of(fields, "transport", &all, may_be)
}

fn endpoint(r: &mut Reader, fields: &Fields, key: &str) -> Option<Endpoint> {
    r.parsed(
        fields,
        key,
        "'all', 'edgeN' or 'hE_K' (host K of edge E)",
        Endpoint::parse,
    )
}

fn fibre_change(r: &mut Reader, value: &Doc, pointer: String) -> LinkChange {
    let effects = ["rate_bps", "delay_ns", "loss", "attenuation_mdb", "up"];
    let keys = [&["at_ms", "core", "edge"], &effects[..]].concat();
    let fields = r.fields(value, pointer.clone(), &keys);
    if value.is_mapping() && effects.iter().all(|key| r.optional(&fields, key).is_none()) {
        r.report(
            pointer,
            "change without effect",
            format!("at least one of {}", effects.join(", ")),
        );
    }
    LinkChange {
        at_ms: r.integer(&fields, "at_ms", AT_MS),
        core: r.integer(&fields, "core", STATION) as u16,
        edge: r.integer(&fields, "edge", STATION) as u16,
        rate: r.optional_rate(&fields, "rate_bps", RATE_BPS),
        delay: r.optional_duration(&fields, "delay_ns", DELAY_NS),
        loss: r.optional_probability(&fields, "loss"),
        attenuation_mdb: r
            .optional_integer(&fields, "attenuation_mdb", ATTENUATION_MDB)
            .map(|mdb| mdb as u32),
        up: r.optional_bool(&fields, "up"),
    }
}
