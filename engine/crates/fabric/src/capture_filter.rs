// SPDX-License-Identifier: Apache-2.0
//! Which frames are captured: by the name of the place, and by what they carry.

use std::collections::BTreeMap;
use std::fmt;

use slotwise_wire::{Ethernet, Optical, PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD, SIGNALING_QUEUE};
use wildmatch::WildMatch;

use crate::capture::CapturePoint;

/// More terms than this are no filter that a person wrote.
const MOST_TERMS: usize = 64;
const MOST_TERM_CHARS: usize = 64;

/// What a captured frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A host's frame on its access link.
    Host,
    /// Packets between switches: of hosts as light, and whatever crosses a link between routers.
    Data,
    /// Requests, commits, invitations and their answers: as light, over the control link, to and from the controller.
    Signaling,
    /// Between a line card and its P4: ticks, gates, reports.
    Linecard,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Host, Kind::Data, Kind::Signaling, Kind::Linecard];

    fn name(self) -> &'static str {
        match self {
            Kind::Host => "host",
            Kind::Data => "data",
            Kind::Signaling => "signaling",
            Kind::Linecard => "linecard",
        }
    }

    fn of(point: CapturePoint, frame: &[u8]) -> Kind {
        match point {
            CapturePoint::Port {
                port: PORT_LINECARD, ..
            } => Kind::Linecard,
            CapturePoint::Port {
                port: PORT_CORE_CONTROL | PORT_CPU,
                ..
            } => Kind::Signaling,
            CapturePoint::Port { .. } => Kind::Host,
            CapturePoint::Link { .. } => Kind::Data,
            CapturePoint::Fibre { .. } => match frame.get(Ethernet::SIZE..).and_then(Optical::decode) {
                Some(optical) if optical.queue == SIGNALING_QUEUE => Kind::Signaling,
                _ => Kind::Data,
            },
        }
    }
}

/// A filter that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{term}': {reason}; expected comma-separated types (host, data, signaling, linecard) and capture-point patterns with * and ? \
     (e.g. {example})"
)]
pub struct CaptureFilterError {
    /// The term that is wrong.
    pub term: String,
    /// What is wrong.
    pub reason: String,
    /// A name that there is.
    pub example: String,
}

/// Takes a frame if its capture's name fits one of the patterns, or there is none, and it is of one of the kinds, or there is none.
#[derive(Debug, Clone, Default)]
pub struct CaptureFilter {
    patterns: Vec<WildMatch>,
    kinds: Vec<Kind>,
    /// Names are made and compared once.
    known: BTreeMap<CapturePoint, bool>,
}

impl CaptureFilter {
    /// Reads a filter for the captures of a network that has these places ([`World::capture_points`](crate::World::capture_points)).
    ///
    /// # Errors
    /// The first term that is neither a kind nor fits a capture's name.
    pub fn parse(text: &str, points: &[CapturePoint]) -> Result<CaptureFilter, CaptureFilterError> {
        let names: Vec<String> = points.iter().map(|point| point.name()).collect();
        let wrong = |term: &str, reason: &dyn fmt::Display| CaptureFilterError {
            term: term.chars().take(MOST_TERM_CHARS).collect(),
            reason: reason.to_string(),
            example: names.first().cloned().unwrap_or_default(),
        };
        let mut filter = CaptureFilter::default();
        for (index, term) in text.split(',').map(str::trim).enumerate() {
            if index == MOST_TERMS {
                return Err(wrong(term, &format_args!("more than {MOST_TERMS} terms")));
            }
            if term.chars().count() > MOST_TERM_CHARS {
                return Err(wrong(term, &format_args!("more than {MOST_TERM_CHARS} characters")));
            }
            if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == term) {
                filter.kinds.push(kind);
                continue;
            }
            let pattern = WildMatch::new(term);
            if !names.iter().any(|name| pattern.matches(name)) {
                return Err(wrong(
                    term,
                    &"neither a frame type nor a capture point of this scenario",
                ));
            }
            filter.patterns.push(pattern);
        }
        Ok(filter)
    }

    pub(crate) fn takes(&mut self, point: CapturePoint, frame: &[u8]) -> bool {
        let patterns = &self.patterns;
        let fits = || patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&point.name()));
        *self.known.entry(point).or_insert_with(fits)
            && (self.kinds.is_empty() || self.kinds.contains(&Kind::of(point, frame)))
    }
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::{Device, Scenario};

    use super::*;
    use crate::{HostMode, World, WorldOptions};

    fn options() -> WorldOptions {
        WorldOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        }
    }

    fn points() -> Vec<CapturePoint> {
        let scenario = Scenario::parse(include_bytes!("../../../../schema/examples/valid/pair.yaml")).unwrap();
        World::new(&scenario, options()).capture_points()
    }

    #[test]
    fn links_between_routers_carry_data_and_access_links_what_is_of_hosts() {
        let scenario = Scenario::parse(include_bytes!("../../../../topologies/routers4.yaml")).unwrap();
        let points = World::new(&scenario, options()).capture_points();
        let taken = |text: &str| -> Vec<String> {
            let mut filter = CaptureFilter::parse(text, &points).unwrap();
            let taken = points.iter().filter(|point| filter.takes(**point, &[0; 60]));
            taken.map(|point| point.name()).collect()
        };
        // Each router has two neighbours; two hosts are at the first and at the last.
        let router = |number, ports: [u16; 2]| ports.map(|port| format!("router{number}-port{port}"));
        assert_eq!(
            taken("data"),
            [0, 1, 2, 3].map(|number| router(number, [1, 2])).concat()
        );
        assert_eq!(taken("host"), [router(0, [3, 4]), router(3, [3, 4])].concat());
        assert_eq!(taken("host,router0-*"), router(0, [3, 4]));
    }

    fn light(queue: u16) -> Vec<u8> {
        let mut frame = vec![0; Ethernet::SIZE];
        let optical = Optical {
            queue,
            ..Optical::default()
        };
        frame.extend(optical.encode());
        frame
    }

    fn fibre(edge: u16, up: bool) -> CapturePoint {
        let (edge, core) = (Device::Edge(edge), Device::Core(0));
        let (from, to) = if up { (edge, core) } else { (core, edge) };
        CapturePoint::Fibre { from, to }
    }

    fn port(edge: u16, port: u16) -> CapturePoint {
        let device = Device::Edge(edge);
        CapturePoint::Port { device, port }
    }

    /// Which of some frames a filter takes: data and signaling from edge 0, data to edge 1, a host's, a line card's, a packet-in.
    fn taken(text: &str) -> [bool; 6] {
        let mut filter = CaptureFilter::parse(text, &points()).unwrap();
        let frames = [
            (fibre(0, true), light(1)),
            (fibre(0, true), light(SIGNALING_QUEUE)),
            (fibre(1, false), light(0)),
            (port(0, 1), vec![0; 60]),
            (port(1, PORT_LINECARD), vec![0; 60]),
            (port(0, PORT_CPU), vec![0; 60]),
        ];
        frames.map(|(point, frame)| filter.takes(point, &frame))
    }

    #[test]
    fn places_and_kinds_choose_frames() {
        const Y: bool = true;
        const N: bool = false;
        assert_eq!(taken("*"), [Y; 6]);
        assert_eq!(taken("edge0-core0"), [Y, Y, N, N, N, N]);
        assert_eq!(taken("edge0-*"), [Y, Y, N, Y, N, Y]);
        assert_eq!(taken("edge0-core0, core0-edge?"), [Y, Y, Y, N, N, N]);
        assert_eq!(taken("data"), [Y, N, Y, N, N, N]);
        assert_eq!(taken("signaling"), [N, Y, N, N, N, Y]);
        assert_eq!(taken("host,linecard"), [N, N, N, Y, Y, N]);
        assert_eq!(taken("edge0-*,signaling"), [N, Y, N, N, N, Y]);
    }

    #[test]
    fn light_too_short_for_its_header_counts_as_data() {
        let mut filter = CaptureFilter::parse("data", &points()).unwrap();
        for length in 0..Ethernet::SIZE + Optical::SIZE {
            assert!(filter.takes(fibre(0, true), &vec![0; length]), "{length}");
        }
    }

    #[test]
    fn what_takes_nothing_is_refused_with_its_term() {
        for term in ["signalling", "edge9-*", "", "edge0-port2", "edge0-core0.pcap"] {
            let error = CaptureFilter::parse(&format!("data,{term}"), &points()).unwrap_err();
            assert_eq!(error.term, term);
            assert!(error.to_string().contains("e.g. edge0-core0"), "{error}");
        }
        let many = vec!["data"; MOST_TERMS + 1].join(",");
        assert!(CaptureFilter::parse(&many, &points()).is_err());
        assert!(CaptureFilter::parse(&"*".repeat(MOST_TERM_CHARS + 1), &points()).is_err());
    }
}
