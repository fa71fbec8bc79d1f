// SPDX-License-Identifier: Apache-2.0
//! Reads routers, their links, groups of hosts and the flows between them.

use std::ops::RangeInclusive;

use crate::doc::Doc;

use super::changes::{self, Targets};
use super::{FlowGroup, GROUPS, HostGroup, Party, Routed, RoutedLink, flows};
use crate::address::{Device, Endpoint};
use crate::own::OwnNodes;
use crate::parse::Parts;
use crate::reader::{Fields, Reader, shortened};
use crate::section::Section as _;
use crate::workloads::WORKLOADS;

pub(crate) const PACKET_BYTES: RangeInclusive<u64> = 128..=9000;
pub(crate) const SAMPLE_MS: RangeInclusive<u64> = 1..=60_000;
pub(crate) const ROUTERS: RangeInclusive<usize> = 1..=200;
pub(crate) const LINKS: RangeInclusive<usize> = 0..=10_000;
pub(crate) const HOST_GROUPS: RangeInclusive<usize> = 1..=1000;
pub(crate) const FLOWS: RangeInclusive<usize> = 0..=1000;

/// Names to indices, and what they are called in messages.
pub(crate) struct Names<'a> {
    what: &'static str,
    names: &'a [String],
}

impl Names<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn article(&self) -> &'static str {
        match self.what.starts_with(['a', 'e', 'i', 'o', 'u']) {
            true => "an",
            false => "a",
        }
    }

    /// The index of the thing that `key` names; 0 if there is none, which is reported.
    pub(super) fn find(&self, r: &mut Reader, fields: &Fields, key: &str) -> usize {
        let expected = match self.names {
            [] => format!("the name of {} {} (none defined)", self.article(), self.what),
            names => format!("the name of {} {}: {}", self.article(), self.what, shortened(names)),
        };
        let position = |name: &str| self.names.iter().position(|known| known == name);
        r.parsed(fields, key, &expected, position).unwrap_or(0)
    }
}

/// Ends of links.
pub(crate) struct Ends<'a> {
    routers: &'a Names<'a>,
    parts: Parts,
}

impl Ends<'_> {
    /// A router, or an edge of a star, under `key`.
    pub(super) fn find(&self, r: &mut Reader, fields: &Fields, key: &str) -> Device {
        let edge = |name: &str| match Endpoint::parse(name) {
            Some(Endpoint::Edge(edge)) if self.parts.star && !self.routers.has(name) => Some(edge),
            _ => None,
        };
        let name = r.optional(fields, key).and_then(Doc::as_str);
        match name.and_then(edge) {
            Some(edge) => Device::Edge(edge),
            None => Device::Router(self.routers.find(r, fields, key) as u16),
        }
    }
}

/// Nodes that groups of hosts are at.
pub(crate) struct At<'a> {
    known: Names<'a>,
    device: fn(u16) -> Device,
}

impl At<'_> {
    pub(super) fn find(&self, r: &mut Reader, fields: &Fields, key: &str) -> Device {
        (self.device)(self.known.find(r, fields, key) as u16)
    }
}

/// Senders and receivers of flows.
pub(crate) struct Parties<'a> {
    groups: Names<'a>,
    pub(super) parts: Parts,
    pub(super) packet_bytes: u32,
}

impl Parties<'_> {
    /// A group of hosts, or some of a star's, under `key`.
    pub(super) fn find(&self, r: &mut Reader, fields: &Fields, key: &str) -> Party {
        let name = r.optional(fields, key).and_then(Doc::as_str).unwrap_or_default();
        match Endpoint::parse(name) {
            Some(end @ (Endpoint::Edge(_) | Endpoint::Host(_))) if self.parts.star && !self.groups.has(name) => {
                Party::Star(end)
            }
            _ => Party::Group(self.groups.find(r, fields, key)),
        }
    }
}

/// Routers and groups of hosts of a file with these parts.
pub(crate) fn parse(
    r: &mut Reader,
    fields: &Fields,
    parts: Parts,
    own: Option<&OwnNodes>,
    changes: Vec<(&Doc, String)>,
) -> Routed {
    let sample_ms = r.optional_integer(fields, "sample_ms", SAMPLE_MS).unwrap_or(100);
    let packet_bytes = r.integer(fields, "packet_bytes", PACKET_BYTES) as u32;
    let elements = of_routers(r, fields, parts, "routers", ROUTERS).into_iter();
    let routers: Vec<String> = elements.map(|(value, pointer)| r.name_value(value, pointer)).collect();
    let known = Names {
        what: "router",
        names: &routers,
    };
    // Groups are at routers, or at the nodes of a network with a section of its own.
    let device = parts
        .own
        .map_or(Device::Router as fn(u16) -> Device, |section| section.device);
    let nodes = match parts.own {
        None => known.names,
        Some(_) => own.map_or(&[][..], |own| &own.names),
    };
    let at = At {
        known: Names {
            what: parts.own.map_or(device(0).kind().name, |section| section.hosts_at),
            names: nodes,
        },
        device,
    };
    let elements = of_routers(r, fields, parts, "links", LINKS);
    let ends = Ends { routers: &known, parts };
    let links: Vec<RoutedLink> = elements
        .into_iter()
        .map(|(v, p)| RoutedLink::of(r, v, p, &ends))
        .collect();
    let elements = groups(r, fields, parts);
    let hosts: Vec<HostGroup> = elements.into_iter().map(|(v, p)| HostGroup::of(r, v, p, &at)).collect();
    let group_names: Vec<String> = hosts.iter().map(|group| group.name.clone()).collect();
    let groups = || Names {
        what: "group of hosts",
        names: &group_names,
    };
    let parties = Parties {
        groups: groups(),
        parts,
        packet_bytes,
    };
    let is_needed = !parts.star && r.optional(fields, WORKLOADS).is_none();
    let elements = r.list(fields, "flows", usize::from(is_needed)..=*FLOWS.end());
    let flows: Vec<FlowGroup> = elements
        .into_iter()
        .map(|(v, p)| flows::flow(r, &parties, v, p))
        .collect();
    let link_names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
    let targets = Targets {
        links: Names {
            what: "link",
            names: &link_names,
        },
        spans: Names {
            what: "span",
            names: own.map_or(&[], |own| &own.spans),
        },
        spans_back: own.map_or(&[][..], |own| &own.spans_back),
        groups: groups(),
    };
    let changes = changes
        .into_iter()
        .filter_map(|(v, p)| changes::change(r, &targets, v, p))
        .collect();
    Routed {
        sample_ms,
        packet_bytes,
        routers,
        links,
        hosts,
        flows,
        changes,
    }
}

/// A list that routers must have; where there are none it is empty.
fn of_routers<'v>(
    r: &mut Reader,
    fields: &Fields<'v>,
    parts: Parts,
    key: &str,
    length: RangeInclusive<usize>,
) -> Vec<(&'v Doc, String)> {
    match parts.routers {
        true => r.list(fields, key, length),
        false => Vec::new(),
    }
}

/// Groups of hosts: the list `hosts`, or `hosts.groups` beside the hosts of edges.
fn groups<'v>(r: &mut Reader, parent: &Fields<'v>, parts: Parts) -> Vec<(&'v Doc, String)> {
    if !parts.star {
        return r.list(parent, "hosts", HOST_GROUPS);
    }
    let Some(value) = r.optional(parent, "hosts").filter(|value| value.is_mapping()) else {
        return Vec::new();
    };
    // What else it holds is read, and known, elsewhere.
    let hosts = Fields::of(value, parent.pointer("hosts"));
    r.optional_list(&hosts, GROUPS, 0..=*HOST_GROUPS.end())
}
