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
    /// Reads a filter for a network with these capture points (`World::capture_points`).
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

    /// True if a frame at a place is captured.
    pub fn takes(&mut self, point: CapturePoint, frame: &[u8]) -> bool {
        let patterns = &self.patterns;
        let fits = || patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&point.name()));
        *self.known.entry(point).or_insert_with(fits)
            && (self.kinds.is_empty() || self.kinds.contains(&Kind::of(point, frame)))
    }
}
