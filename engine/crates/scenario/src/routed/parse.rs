// SPDX-License-Identifier: Apache-2.0
//! The shape of what a file says of routers.

use std::ops::RangeInclusive;

use crate::doc::Doc;

use super::gtp;
use super::tcp::tcp;
use super::{AT, Buffer, Changed, FlowGroup, GROUPS, HostGroup, Party, Routed, RoutedChange, RoutedLink, Source};
use crate::address::{Device, Endpoint};
use crate::own::OwnNodes;
use crate::parse::{DELAY_NS, DSCP, DURATION_MS, FILE_BYTES, FLOW_RATE_BPS, Parts, RATE_BPS, transport};
use crate::reader::{Fields, Reader, shortened};
use crate::sources;

/// From the least that holds the headers of every transport and a byte.
const FLOW_PACKET_BYTES: RangeInclusive<u64> = 64..=9000;
/// Flows of two hosts, which have a port each.
const FLOWS_EACH: RangeInclusive<u64> = 1..=1000;
/// To the most that is said without a scale, or with the largest.
const WINDOW_BYTES: RangeInclusive<u64> = 1..=65_535 << 14;

/// Names to indices, and what they are called in messages.
struct Names<'a> {
    what: &'static str,
    names: &'a [String],
}

impl Names<'_> {
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
    fn find(&self, r: &mut Reader, fields: &Fields, key: &str) -> usize {
        let expected = match self.names {
            [] => format!("the name of {} {} (none defined)", self.article(), self.what),
            names => format!("the name of {} {}: {}", self.article(), self.what, shortened(names)),
        };
        let position = |name: &str| self.names.iter().position(|known| known == name);
        r.parsed(fields, key, &expected, position).unwrap_or(0)
    }
}

/// The part of a file that is of routers and of groups of hosts; `parts` says what else there is.
pub(crate) fn parse(
    r: &mut Reader,
    fields: &Fields,
    parts: Parts,
    own: Option<&OwnNodes>,
    changes: Vec<(&Doc, String)>,
) -> Routed {
    let sample_ms = r.optional_integer(fields, "sample_ms", 1..=60_000).unwrap_or(100);
    let packet_bytes = r.integer(fields, "packet_bytes", 128..=9000) as u32;
    let elements = of_routers(r, fields, parts, "routers", 1..=200).into_iter();
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
    let elements = of_routers(r, fields, parts, "links", 1..=10_000);
    let links: Vec<RoutedLink> = elements
        .into_iter()
        .map(|(v, p)| link(r, &known, parts, v, p))
        .collect();
    let elements = groups(r, fields, parts);
    let hosts: Vec<HostGroup> = elements.into_iter().map(|(v, p)| hosts_group(r, &at, v, p)).collect();
    let group_names: Vec<String> = hosts.iter().map(|group| group.name.clone()).collect();
    let groups = Names {
        what: "group of hosts",
        names: &group_names,
    };
    let elements = r.list(fields, "flows", usize::from(!parts.star)..=1000);
    let flows = elements
        .into_iter()
        .map(|(v, p)| flow(r, &groups, (parts, packet_bytes), v, p))
        .collect();
    let link_names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
    let known_links = Names {
        what: "link",
        names: &link_names,
    };
    let known_spans = Names {
        what: "span",
        names: own.map_or(&[], |own| &own.spans),
    };
    let spans_back = own.map_or(&[][..], |own| &own.spans_back);
    let changes = changes
        .into_iter()
        .map(|(v, p)| change(r, (&known_links, &known_spans, spans_back), &groups, v, p))
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

/// Groups of hosts: what `hosts` is, or in a mix has beside what it says of the edges' own.
fn groups<'v>(r: &mut Reader, parent: &Fields<'v>, parts: Parts) -> Vec<(&'v Doc, String)> {
    if !parts.star {
        return r.list(parent, "hosts", 1..=1000);
    }
    let Some(value) = r.optional(parent, "hosts").filter(|value| value.is_mapping()) else {
        return Vec::new();
    };
    // What else it holds is read, and known, elsewhere.
    let hosts = Fields::of(value, parent.pointer("hosts"));
    r.optional_list(&hosts, GROUPS, 0..=1000)
}

fn buffer(r: &mut Reader, parent: &Fields) -> Buffer {
    let least = Buffer::Packets(1);
    let Some(value) = r.required(parent, "buffer") else {
        return least;
    };
    let fields = r.fields(value, parent.pointer("buffer"), &["packets", "bytes"]);
    let packets = r.optional_integer(&fields, "packets", 1..=10_000_000);
    let bytes = r.optional_bytes(&fields, "bytes", 1..=1 << 40);
    match (packets, bytes) {
        (Some(packets), None) => Buffer::Packets(packets as u32),
        (None, Some(bytes)) => Buffer::Bytes(bytes),
        _ => {
            r.report(
                parent.pointer("buffer"),
                "none or two of 'packets' and 'bytes'",
                "exactly one of them",
            );
            least
        }
    }
}

/// A router, or an edge of a star, under `key`.
fn node(r: &mut Reader, routers: &Names, parts: Parts, fields: &Fields, key: &str) -> Device {
    let edge = |name: &str| match Endpoint::parse(name) {
        Some(Endpoint::Edge(edge)) if parts.star && !routers.has(name) => Some(edge),
        _ => None,
    };
    let name = r.optional(fields, key).and_then(Doc::as_str);
    match name.and_then(edge) {
        Some(edge) => Device::Edge(edge),
        None => Device::Router(routers.find(r, fields, key) as u16),
    }
}

/// A group of hosts, or some of a star's, under `key`.
fn party(r: &mut Reader, groups: &Names, parts: Parts, fields: &Fields, key: &str) -> Party {
    let name = r.optional(fields, key).and_then(Doc::as_str).unwrap_or_default();
    match Endpoint::parse(name) {
        Some(end @ (Endpoint::Edge(_) | Endpoint::Host(_))) if parts.star && !groups.has(name) => Party::Star(end),
        _ => Party::Group(groups.find(r, fields, key)),
    }
}

fn link(r: &mut Reader, routers: &Names, parts: Parts, value: &Doc, pointer: String) -> RoutedLink {
    let keys = [
        "name",
        "from",
        "to",
        "rate_bps",
        "delay_ns",
        "loss",
        "buffer",
        "xcp_capacity_bps",
    ];
    let fields = r.fields(value, pointer, &keys);
    RoutedLink {
        name: r.name(&fields, "name"),
        from: node(r, routers, parts, &fields, "from"),
        to: node(r, routers, parts, &fields, "to"),
        rate: r.rate(&fields, "rate_bps", RATE_BPS),
        delay: r.duration(&fields, "delay_ns", DELAY_NS),
        loss: r.optional_probability(&fields, "loss").unwrap_or(0.0),
        buffer: buffer(r, &fields),
        xcp: r.optional_rate(&fields, "xcp_capacity_bps", RATE_BPS),
    }
}

/// Where a group may be.
struct At<'a> {
    known: Names<'a>,
    device: fn(u16) -> Device,
}

fn hosts_group(r: &mut Reader, at: &At, value: &Doc, pointer: String) -> HostGroup {
    let keys = [
        "name",
        "count",
        AT,
        "rate_bps",
        "up_delay_ns",
        "down_delay_ns",
        "buffer",
        "gtp",
    ];
    let fields = r.fields(value, pointer, &keys);
    let rate = r.rate(&fields, "rate_bps", RATE_BPS);
    HostGroup {
        name: r.name(&fields, "name"),
        count: r.integer(&fields, "count", 1..=10_000) as u32,
        node: (at.device)(at.known.find(r, &fields, AT) as u16),
        rate,
        up_delay: r.duration(&fields, "up_delay_ns", DELAY_NS),
        down_delay: r.duration(&fields, "down_delay_ns", DELAY_NS),
        buffer: buffer(r, &fields),
        gtp: gtp::host(r, &fields, rate),
    }
}

fn flow(
    r: &mut Reader,
    groups: &Names,
    (parts, packet_bytes): (Parts, u32),
    value: &Doc,
    pointer: String,
) -> FlowGroup {
    let common = [
        "name",
        "from",
        "to",
        "flows_per_pair",
        "packet_bytes",
        "dscp",
        "start_ms",
        "start_jitter_ms",
        "stop_ms",
    ];
    // What is sent decides which keys are known.
    let own: &[&str] = match ["gtp", "udp", "web"].map(|key| value.get(key).is_some()) {
        [true, ..] => &["gtp", "packet_stats"],
        [_, true, _] => &["udp", "packet_stats"],
        [.., true] => &["web", "transport", "sack", "tcp", "window_bytes"],
        _ => &[
            "transport",
            "sack",
            "tcp",
            "window_bytes",
            "bytes",
            "packet_stats",
            "udp",
            "web",
            "gtp",
        ],
    };
    let fields = r.fields(value, pointer, &[&common, own].concat());
    let transport = transport(r, &fields, |transport| parts.may_have(transport));
    let sack = r.optional_bool(&fields, "sack").unwrap_or(transport.uses_sack());
    let source = source(r, &fields);
    FlowGroup {
        name: r.name(&fields, "name"),
        from: party(r, groups, parts, &fields, "from"),
        to: party(r, groups, parts, &fields, "to"),
        transport,
        each: r.optional_integer(&fields, "flows_per_pair", FLOWS_EACH).unwrap_or(1) as u32,
        sack,
        tcp: tcp(r, &fields, transport, sack),
        source,
        packet_bytes: r
            .optional_integer(&fields, "packet_bytes", FLOW_PACKET_BYTES)
            .map_or(packet_bytes, |bytes| bytes as u32),
        dscp: r.optional_integer(&fields, "dscp", DSCP).unwrap_or(0) as u8,
        window_bytes: r
            .optional_integer(&fields, "window_bytes", WINDOW_BYTES)
            .map(|bytes| bytes as u32),
        start_ms: r
            .optional_integer(&fields, "start_ms", 0..=*DURATION_MS.end())
            .unwrap_or(0),
        spread_ms: r
            .optional_integer(&fields, "start_jitter_ms", 0..=*DURATION_MS.end())
            .unwrap_or(10),
        stop_ms: r.optional_integer(&fields, "stop_ms", DURATION_MS),
        measure: r.optional_bool(&fields, "packet_stats").unwrap_or(false),
    }
}

fn source(r: &mut Reader, parent: &Fields) -> Source {
    if let Some(flow) = gtp::flow(r, parent) {
        return Source::Gtp(flow);
    }
    if let Some(value) = r.optional(parent, "udp") {
        let keys = ["rate_bps", "process", "mean_on_ns", "mean_off_ns", "shape"];
        let fields = r.fields(value, parent.pointer("udp"), &keys);
        return Source::Udp {
            rate: r.rate(&fields, "rate_bps", FLOW_RATE_BPS),
            process: sources::process(r, &fields),
        };
    }
    if let Some(value) = r.optional(parent, "web") {
        let fields = r.fields(value, parent.pointer("web"), &sources::WEB_KEYS);
        return Source::Web {
            users: r.optional_integer(&fields, "users", sources::USERS).unwrap_or(1) as u32,
            web: sources::web(r, &fields),
        };
    }
    Source::Stream {
        bytes: r.optional_bytes(parent, "bytes", FILE_BYTES),
    }
}

/// The span under `span`, by its name or that from its other end.
fn span(r: &mut Reader, (spans, spans_back): (&Names, &[String]), fields: &Fields) -> usize {
    let name = r.optional(fields, "span").and_then(Doc::as_str);
    let back = spans_back.iter().position(|back| Some(back.as_str()) == name);
    back.unwrap_or_else(|| spans.find(r, fields, "span"))
}

fn change(
    r: &mut Reader,
    (links, spans, spans_back): (&Names, &Names, &[String]),
    groups: &Names,
    value: &Doc,
    pointer: String,
) -> RoutedChange {
    let common = ["at_ms", "every_ms", "times"];
    let of_span = ["span", "up"];
    let of_link = ["link", "rate_bps", "delay_ns", "xcp_capacity_bps", "up"];
    let of_hosts = ["hosts", "up_delay_ns", "down_delay_ns"];
    let (is_link, is_span) = (value.get("link").is_some(), value.get("span").is_some());
    let effects: &[&str] = match (is_link, is_span) {
        (true, _) => &of_link,
        (false, true) => &of_span,
        (false, false) => &of_hosts,
    };
    let is_named = is_link || is_span || value.get("hosts").is_some();
    let keys = match is_named {
        true => [&common, effects].concat(),
        // Nobody knows which of them a misspelt one was to be.
        false => [&common[..], &of_span, &of_link[..4], &of_hosts].concat(),
    };
    let fields = r.fields(value, pointer.clone(), &keys);
    if !is_named {
        let there_are = [("span", spans), ("link", links), ("hosts", groups)].into_iter();
        let there_are = there_are
            .filter(|(_, names)| !names.names.is_empty())
            .map(|(key, _)| key);
        let expected = format!("one of the keys {}", there_are.collect::<Vec<_>>().join(", "));
        r.report(pointer.clone(), "change without a target", expected);
    } else if !effects[1..].iter().any(|key| r.optional(&fields, key).is_some()) {
        r.report(
            pointer.clone(),
            "change without effect",
            format!("at least one of {}", effects[1..].join(", ")),
        );
    }
    let what = if is_link {
        Changed::Link {
            link: match links.names.is_empty() && !spans.names.is_empty() {
                true => {
                    r.report(
                        fields.pointer("link"),
                        "this network has spans, not links",
                        "the key 'span'",
                    );
                    0
                }
                false => links.find(r, &fields, "link"),
            },
            rate: r.optional_rate(&fields, "rate_bps", RATE_BPS),
            delay: r.optional_duration(&fields, "delay_ns", DELAY_NS),
            xcp: r.optional_rate(&fields, "xcp_capacity_bps", RATE_BPS),
            up: r.optional_bool(&fields, "up"),
        }
    } else if is_span {
        Changed::Span {
            span: span(r, (spans, spans_back), &fields),
            up: r.optional_bool(&fields, "up").unwrap_or(true),
        }
    } else {
        Changed::Hosts {
            group: if is_named { groups.find(r, &fields, "hosts") } else { 0 },
            up_delay: r.optional_duration(&fields, "up_delay_ns", DELAY_NS),
            down_delay: r.optional_duration(&fields, "down_delay_ns", DELAY_NS),
        }
    };
    let every_ms = r.optional_integer(&fields, "every_ms", DURATION_MS);
    let times = r.optional_integer(&fields, "times", 1..=100_000);
    let at_ms = r.integer(&fields, "at_ms", 0..=*DURATION_MS.end());
    if every_ms.is_some() != times.is_some() {
        let (there, missing) = if times.is_some() {
            ("times", "every_ms")
        } else {
            ("every_ms", "times")
        };
        r.report(pointer, format!("'{there}' without '{missing}'"), "both or neither");
    }
    RoutedChange {
        at_ms,
        again: every_ms.zip(times),
        what,
    }
}
