// SPDX-License-Identifier: Apache-2.0
//! Changes of links between routers, of spans, and of access links of groups of hosts.

use std::ops::RangeInclusive;

use slotwise_units::{Duration, Rate};

use super::parse::Names;
use crate::doc::Doc;
use crate::parse::{DELAY_NS, DURATION_MS, RATE_BPS};
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, defined, flag, integer, name, section};

const FIRST_MS: RangeInclusive<u64> = 0..=*DURATION_MS.end();
const TIMES: RangeInclusive<u64> = 1..=100_000;

/// Change at one time, or repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedChange {
    /// First time.
    pub at_ms: u64,
    /// (period in ms, number of occurrences) of a repeated change.
    pub again: Option<(u64, u64)>,
    /// Changed values.
    pub what: Changed,
}

/// Changed values; `None`: not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// A link between routers.
    Link {
        /// Its index.
        link: usize,
        /// New rate.
        rate: Option<Rate>,
        /// New propagation delay.
        delay: Option<Duration>,
        /// New capacity for XCP.
        xcp: Option<Rate>,
        /// If false, the link and its reverse link go down.
        up: Option<bool>,
    },
    /// A ring span or mesh fibre, both directions.
    Span {
        /// Its index among [`crate::Ring::spans`].
        span: usize,
        /// If false, the span goes down.
        up: bool,
    },
    /// The links of a group of hosts.
    Hosts {
        /// Its index.
        group: usize,
        /// New delay from host to router.
        up_delay: Option<Duration>,
        /// New delay from router to host.
        down_delay: Option<Duration>,
    },
}

/// Names of possible targets.
pub(crate) struct Targets<'a> {
    pub(super) links: Names<'a>,
    pub(super) spans: Names<'a>,
    /// Names of spans from their other ends.
    pub(super) spans_back: &'a [String],
    pub(super) groups: Names<'a>,
}

/// Declares a change with the keys that all changes have.
macro_rules! change {
    (
        $(#[doc = $about:literal])+
        struct $name:ident [$r:ident, $fields:ident, $targets:ident] {
            $(
                $(#[doc = $text:literal])+
                $field:ident: $type:ty = $key:literal $presence:ident $(($value:expr))?, $shape:expr;
            )+
        }
        any [$($any:literal),+]
    ) => {
        section! {
            $(#[doc = $about])+
            #[derive(Debug)]
            pub(crate) struct $name [$r, $fields, $targets: &'c Targets<'c>] {
                /// Time of the first change in ms from the start.
                at_ms: u64 = "at_ms" required, integer(FIRST_MS);
                /// Period of a repeated change in ms.
                every_ms: Option<u64> = "every_ms" optional, integer(DURATION_MS);
                /// Number of occurrences, the first included.
                times: Option<u64> = "times" optional, integer(TIMES);
                $(
                    $(#[doc = $text])+
                    $field: $type = $key $presence $(($value))?, $shape;
                )+
            }
            any [$($any),+]
            both ["every_ms", "times"]
        }

        impl $name {
            fn change(&self, what: Changed) -> RoutedChange {
                RoutedChange {
                    at_ms: self.at_ms,
                    again: self.every_ms.zip(self.times),
                    what,
                }
            }
        }
    };
}

change! {
    /// Change of a link between routers.
    struct RouterLinkChange [r, fields, targets] {
        /// Changed link.
        link: usize = "link" read(link(r, targets, fields)), name();
        /// New rate in bit/s.
        rate: Option<Rate> = "rate_bps" optional, integer(RATE_BPS);
        /// New propagation delay in ns.
        delay: Option<Duration> = "delay_ns" optional, integer(DELAY_NS);
        /// New XCP capacity of the router's output in bit/s.
        xcp: Option<Rate> = "xcp_capacity_bps" optional, integer(RATE_BPS);
        /// If false, the link and its reverse link go down: packets in flight arrive, queued packets are lost, and both
        /// routers notify the controller.
        up: Option<bool> = "up" optional, flag();
    }
    any ["rate_bps", "delay_ns", "xcp_capacity_bps", "up"]
}

change! {
    /// Change of a ring span or mesh fibre.
    struct SpanChange [r, fields, targets] {
        /// Ring span, `FROM-TO` along ringlet 0; or mesh fibre, by its ends in either order (`s0-s2`, `s0-e0`), with
        /// `-2` appended for the second fibre between two edges.
        span: usize = "span" read(span(r, targets, fields)), defined("span_name");
        /// If false, both directions go down: packets in flight arrive, queued packets are lost, and both ends notify
        /// the controller.
        up: bool = "up" read(r.optional_bool(fields, "up").unwrap_or(true)), flag();
    }
    any ["up"]
}

change! {
    /// Change of the access links of a group of hosts.
    struct HostsChange [r, fields, targets] {
        /// Changed group.
        group: usize = "hosts" read(targets.groups.find(r, fields, "hosts")), name();
        /// New propagation delay in ns from host to router.
        up_delay: Option<Duration> = "up_delay_ns" optional, integer(DELAY_NS);
        /// New propagation delay in ns from router to host.
        down_delay: Option<Duration> = "down_delay_ns" optional, integer(DELAY_NS);
    }
    any ["up_delay_ns", "down_delay_ns"]
}

/// Reads the span under `span`, by its name from either end.
fn span(r: &mut Reader, targets: &Targets, fields: &Fields) -> usize {
    let name = r.optional(fields, "span").and_then(Doc::as_str);
    let back = targets.spans_back.iter().position(|back| Some(back.as_str()) == name);
    back.unwrap_or_else(|| targets.spans.find(r, fields, "span"))
}

fn link(r: &mut Reader, targets: &Targets, fields: &Fields) -> usize {
    if targets.links.is_empty() && !targets.spans.is_empty() {
        let reason = "this network has spans, not links";
        r.report(fields.pointer("link"), reason, "the key 'span'");
        return 0;
    }
    targets.links.find(r, fields, "link")
}

/// Reads an entry of `changes`; `None` if it has no target, which is reported.
pub(super) fn change(r: &mut Reader, targets: &Targets, value: &Doc, pointer: String) -> Option<RoutedChange> {
    if value.get("link").is_some() {
        let keys = RouterLinkChange::of(r, value, pointer, targets);
        let &RouterLinkChange {
            link,
            rate,
            delay,
            xcp,
            up,
            ..
        } = &keys;
        return Some(keys.change(Changed::Link {
            link,
            rate,
            delay,
            xcp,
            up,
        }));
    }
    if value.get("span").is_some() {
        let keys = SpanChange::of(r, value, pointer, targets);
        let &SpanChange { span, up, .. } = &keys;
        return Some(keys.change(Changed::Span { span, up }));
    }
    if value.get("hosts").is_some() {
        let keys = HostsChange::of(r, value, pointer, targets);
        let &HostsChange {
            group,
            up_delay,
            down_delay,
            ..
        } = &keys;
        return Some(keys.change(Changed::Hosts {
            group,
            up_delay,
            down_delay,
        }));
    }
    // A misspelt target could be any of them.
    let keys = [RouterLinkChange::keys(), SpanChange::keys(), HostsChange::keys()].concat();
    r.fields(value, pointer.clone(), &keys);
    let targets = [
        ("span", &targets.spans),
        ("link", &targets.links),
        ("hosts", &targets.groups),
    ];
    let there = targets.iter().filter(|(_, names)| !names.is_empty());
    let there: Vec<&str> = there.map(|(key, _)| *key).collect();
    let expected = format!("one of the keys {}", there.join(", "));
    r.report(pointer, "change without a target", expected);
    None
}
