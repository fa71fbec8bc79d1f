// SPDX-License-Identifier: Apache-2.0
//! A packet ring: its stations, their links, and how they share them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::limits::{
    CLASS_RATE_BPS, RING_BUCKET_BYTES, RING_ESTIMATOR, RING_HOL_TIMER_NS, RING_INTERVAL_NS, RING_INTERVALS,
    RING_RATE_BPS, RING_STATIONS, RING_WEIGHT, RING_WINDOW_INTERVALS,
};
use slotwise_wire::{Ethernet, Ring as RingHeader, RingClass, RingData, RingMode};

use crate::address::Device;
use crate::model::Scenario;
use crate::own::{NetworkSection, OwnNodes};
use crate::parse::{DELAY_NS, DSCP, FLOW_RATE_BPS};
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, above, either, flag, integer, list, name, nested, powers_of_two, section, word};

/// What an IP packet grows by on a ring.
pub const RING_OVERHEAD: Bytes = Bytes::of(Ethernet::SIZE + RingHeader::SIZE + RingData::SIZE);

const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 40;
const BUFFER: Bytes = Bytes::new(2_000_000);
const STATIONS: RangeInclusive<usize> = *RING_STATIONS.start() as usize..=*RING_STATIONS.end() as usize;
/// A window in which a rate is measured, with its bytes in 32 bits.
const MAX_WINDOW: Duration = Duration::from_s(10);

/// A ring. Station s is joined to station s + 1, the last one to the first one unless the ring is half.
#[derive(Debug, Clone, PartialEq)]
pub struct Ring {
    /// Who decides what a station may add, and how.
    pub mode: RingMode,
    /// Part of a link's rate that is shared; over 0 and up to 1.
    pub threshold: f64,
    /// How far below the threshold congestion ends, as a part of the rate; over 0 and below the threshold.
    pub relief: f64,
    /// Rate of each link, both ways.
    pub rate: Rate,
    /// Propagation delay of each link.
    pub delay: Duration,
    /// Stations, along ringlet 0.
    pub stations: Vec<Station>,
    /// Whether the last station's link to the first one is left out.
    pub half: bool,
    /// How fast hosts' packets come to the add queues of a station, and bytes that may wait.
    pub ingress: Ingress,
    /// Times and depths.
    pub timing: RingTiming,
}

section! {
    /// Ring station.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Station {
        /// Name of the station.
        pub name: String = "name" required, name();
        /// Weight of the station in sharing a link. Default: 1.
        pub weight: u8 = "weight" or(1), integer(RING_WEIGHT);
        /// Traffic classes of the station's hosts; each DSCP and each class once.
        pub classes: Vec<StationClass> = "classes" or(Vec::new()), list(0..=64, nested::<StationClass>());
    }
}

section! {
    /// Traffic class of a station's hosts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct StationClass {
        /// DSCP of the packets.
        pub dscp: u8 = "dscp" required, integer(DSCP);
        /// Traffic class. Traffic above the rate is dropped if `reserved`, shared fairly if `committed`.
        pub class: RingClass = "class" required, word(CLASSES);
        /// Rate per host in bit/s.
        pub rate: Rate = "rate_bps" required, integer(CLASS_RATE_BPS);
    }
}

section! {
    /// Ingress buffer and shaper in front of the add queues of each station.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Ingress {
        /// Shaper rate in bit/s; the bucket depth is one packet. Default: no shaper.
        pub rate: Option<Rate> = "rate_bps" optional, integer(FLOW_RATE_BPS);
        /// Buffer size in bytes for packets of hosts. Default: 2,000,000.
        pub buffer: Bytes = "buffer_bytes" or(BUFFER), integer(BUFFER_BYTES);
    }
}

section! {
    /// Timing and bucket depth of the fairness algorithm.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RingTiming [_r, fields, mode: RingMode] {
        /// Measurement interval in ns. Default: 100,000.
        pub interval: Duration = "interval_ns" or(Duration::from_us(100)), integer(RING_INTERVAL_NS);
        /// Window for measuring the rates of stations, in intervals; at most 10 s and 2^32 bytes. Default: 100.
        pub window_intervals: u32 = "window_intervals" or(100), integer(RING_WINDOW_INTERVALS);
        /// Estimator parameter W1 in Est += Sample / W2 - Est / W1. Default: 8 (RPR modes: 64).
        pub w1: u32 = "w1" or(if is_rpr(mode) { 64 } else { 8 }), powers_of_two(RING_ESTIMATOR);
        /// Estimator parameter W2. Default: 8 (RPR modes: 64).
        pub w2: u32 = "w2" or(if is_rpr(mode) { 64 } else { 8 }), powers_of_two(RING_ESTIMATOR);
        /// Bucket depth of add-rate limiters in bytes; at least two of the longest frames on the ring. Default: 3000.
        pub bucket_bytes: u32 = "bucket_depth_bytes" or(3000), integer(RING_BUCKET_BYTES);
        /// Head-of-line timer in ns: longest delay of an add packet by transit traffic before the station is
        /// congested. Default: 1,000,000.
        pub hol_timer: Duration = "hol_timer_ns" or(Duration::from_ms(1)), integer(RING_HOL_TIMER_NS);
        /// Clear intervals: intervals below the low threshold (`threshold` less `hysteresis`) after which congestion
        /// ends. Default: 10 (RPR modes: 1).
        pub calm_intervals: u32 = "clear_intervals" or(if is_rpr(mode) { 1 } else { 10 }), integer(RING_INTERVALS);
        /// Lifetime of an advertised rate, in intervals. Default: 10.
        pub hold_intervals: u32 = "hold_intervals" or(10), integer(RING_INTERVALS);
        /// Correction intervals: intervals between two rate corrections (mode `rpr-conservative`). Default: 10.
        pub wait_intervals: u32 = "correction_intervals" or(10), integer(RING_INTERVALS);
        /// Intervals between two reports of a congested station to the controller (mode `controller`); less than
        /// `hold_intervals`. Default: 1.
        pub report_intervals: u32 = "report_intervals" or(1), integer(RING_INTERVALS);
        /// Monitor intervals: intervals between two reports in the other modes, where the controller only displays
        /// them. Default: no reports.
        pub watch_intervals: Option<u32> = "monitor_intervals" optional, integer(RING_INTERVALS);
    }
}

section! {
    /// Links of the ring, in both directions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
     struct RingLinks {
        /// Rate in bit/s, counted in all bytes of a frame.
        rate: Rate = "rate_bps" required, integer(RING_RATE_BPS);
        /// Propagation delay in ns.
        delay: Duration = "delay_ns" required, integer(DELAY_NS);
    }
}

section! {
    /// Packet ring: station s is connected to station s + 1, the last station to the first. Hosts are groups at its
    /// stations.
    #[derive(Debug)]
     pub(crate) struct RingKeys [r, fields, _context: ()] {
        /// Fairness mode, which determines the add rates of stations: explicit or adaptive rates of the congested
        /// station, rates of the controller, or the published IEEE 802.17 (RPR) rules.
        mode: RingMode = "mode" filled("explicit"), word(MODES);
        /// High threshold: fraction of the link rate that stations share. Default: 0.85 (RPR modes: 0.95).
        threshold: f64 = "threshold" or(if is_rpr(mode) { 0.95 } else { 0.85 }), above(0.0, 1.0);
        /// Hysteresis: fraction of the link rate below `threshold` at which congestion ends. Default: 0.05 (RPR
        /// modes: 0.095).
        relief: f64 = "hysteresis" or(if is_rpr(mode) { 0.095 } else { 0.05 }), above(0.0, 1.0);
        /// Links of the ring, in both directions.
        links: RingLinks = "links" required, nested::<RingLinks>();
        /// Stations along ringlet 0: names, or names with settings.
        stations: Vec<Station> = "stations" required, list(STATIONS, either(Station::of_name));
        /// If true, the ring is open: no link from last to first station. Default: false.
        half: bool = "open" or(false), flag();
        /// Ingress buffer and shaper in front of the add queues of each station.
        ingress: Ingress = "ingress" read_optional(Ingress::under_or_empty(r, fields, "ingress", ())), nested::<Ingress>();
        /// Timing and bucket depth of the fairness algorithm.
        timing: RingTiming = "timing" read_optional(RingTiming::under_or_empty(r, fields, "timing", mode)), nested::<RingTiming>();
    }
}

/// Names of modes in a scenario file and for the controller.
const MODES: [(&str, RingMode); 5] = [
    ("explicit", RingMode::Explicit),
    ("adaptive", RingMode::Adaptive),
    ("controller", RingMode::Controller),
    ("rpr-aggressive", RingMode::RprAggressive),
    ("rpr-conservative", RingMode::RprConservative),
];

/// Names of classes that a file may give.
const CLASSES: [(&str, RingClass); 3] = [
    ("best-effort", RingClass::BestEffort),
    ("committed", RingClass::Committed),
    ("reserved", RingClass::Reserved),
];

impl Ring {
    /// The name of its mode for the controller.
    pub fn mode_name(&self) -> &'static str {
        let name = MODES.iter().find(|(_, mode)| *mode == self.mode);
        name.map_or("", |(name, _)| name)
    }

    /// Pairs of stations that are joined: s and the next one.
    pub fn spans(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let stations = self.stations.len();
        let count = stations.saturating_sub(usize::from(self.half));
        (0..count).map(move |station| (station as u16, ((station + 1) % stations) as u16))
    }

    /// The name of a span, `FROM-TO`.
    pub fn span_name(&self, (from, to): (u16, u16)) -> String {
        let name = |station: u16| &self.stations[usize::from(station)].name;
        format!("{}-{}", name(from), name(to))
    }
}

impl StationClass {
    /// The name of its class for the controller.
    pub fn class_name(&self) -> &'static str {
        let name = CLASSES.iter().find(|(_, class)| *class == self.class);
        name.map_or("", |(name, _)| name)
    }
}

impl Scenario {
    /// Whether there is a ring.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }
}

/// Rules that were published about IEEE 802.17, where a file does not say otherwise.
fn is_rpr(mode: RingMode) -> bool {
    matches!(mode, RingMode::RprAggressive | RingMode::RprConservative)
}

impl Station {
    fn of_name(name: String) -> Station {
        Station {
            name,
            weight: 1,
            classes: Vec::new(),
        }
    }
}

/// The section `ring`.
pub(crate) static SECTION: NetworkSection = NetworkSection {
    key: "ring",
    network: crate::file::NetworkType::Ring,
    schema: RingKeys::described,
    called: "a ring",
    hosts_at: "station",
    hosts_list: &["ring", "stations"],
    name_lists: &[&["ring", "stations"]],
    device: Device::Station,
    read: |r, fields, scenario| scenario.ring = ring(r, fields),
    check,
    nodes: |scenario| {
        let ring = scenario.ring.as_ref()?;
        Some(OwnNodes {
            names: ring.stations.iter().map(|station| station.name.clone()).collect(),
            spans: ring.spans().map(|span| ring.span_name(span)).collect(),
            // Of two stations either order is a span of its own.
            spans_back: Vec::new(),
        })
    },
};

fn ring(r: &mut Reader, parent: &Fields) -> Option<Ring> {
    let keys = RingKeys::under(r, parent, "ring", ())?;
    Some(Ring {
        mode: keys.mode,
        threshold: keys.threshold,
        relief: keys.relief,
        rate: keys.links.rate,
        delay: keys.links.delay,
        stations: keys.stations,
        half: keys.half,
        ingress: keys.ingress,
        timing: keys.timing,
    })
}

/// Whether a ring's parts fit together.
fn check(scenario: &Scenario, r: &mut Reader) {
    let Some(ring) = &scenario.ring else { return };
    let mut names = BTreeSet::new();
    for (index, station) in ring.stations.iter().enumerate() {
        let place = format!("/ring/stations/{index}");
        if !names.insert(&station.name) {
            r.report(place.clone(), format!("duplicate '{}'", station.name), "a unique name");
        }
        let mut values = BTreeSet::new();
        let mut classes = BTreeSet::new();
        for (c, class) in station.classes.iter().enumerate() {
            if !values.insert(class.dscp) {
                let reason = format!("duplicate class for DSCP {}", class.dscp);
                r.report(format!("{place}/classes/{c}/dscp"), reason, "a unique DSCP");
            }
            if !classes.insert(u8::from(class.class)) {
                let reason = format!("duplicate '{}'", class.class_name());
                r.report(format!("{place}/classes/{c}/class"), reason, "each class once");
            }
        }
    }
    if names.len() == ring.stations.len() {
        let mut spans = BTreeSet::new();
        for span in ring.spans() {
            let name = ring.span_name(span);
            if !spans.insert(name.clone()) {
                let place = format!("/ring/stations/{}", span.0);
                r.report(
                    place,
                    format!("duplicate span name '{name}'"),
                    "station names that give unique span names",
                );
            }
        }
    }
    if ring.relief >= ring.threshold {
        let reason = format!("{} is not below 'threshold'", ring.relief);
        r.report(
            "/ring/hysteresis".into(),
            reason,
            format!("less than {}", ring.threshold),
        );
    }
    let timing = &ring.timing;
    for (key, number) in [("w1", timing.w1), ("w2", timing.w2)] {
        if !number.is_power_of_two() {
            let reason = format!("{number} cannot be computed by P4 shifts");
            r.report(format!("/ring/timing/{key}"), reason, "a power of two");
        }
    }
    if timing.report_intervals >= timing.hold_intervals {
        let reason = format!(
            "{} is not below 'hold_intervals' ({})",
            timing.report_intervals, timing.hold_intervals
        );
        let expected = format!(
            "less than {}, or an advertised rate expires between two reports",
            timing.hold_intervals
        );
        r.report("/ring/timing/report_intervals".into(), reason, expected);
    }
    let window = timing.interval * u64::from(timing.window_intervals);
    let in_a_window = ring.rate.bytes_in(window);
    if window > MAX_WINDOW || in_a_window > Bytes::new(u64::from(u32::MAX)) {
        let reason = format!("window of {window} ({in_a_window}) is too long");
        let expected = format!("at most {MAX_WINDOW} and {} bytes", u32::MAX);
        r.report("/ring/timing/window_intervals".into(), reason, expected);
    }
    let frame_bytes = u64::from(scenario.routed.packet_bytes) + RING_OVERHEAD.get();
    if ring.ingress.buffer.get() < frame_bytes {
        let reason = format!("{} are less than a packet of {frame_bytes} bytes", ring.ingress.buffer);
        let expected = format!("at least {frame_bytes}");
        r.report("/ring/ingress/buffer_bytes".into(), reason, expected);
    }
    if 2 * frame_bytes > u64::from(timing.bucket_bytes) {
        let reason = format!("a token bucket holds less than two packets of {frame_bytes} bytes on the ring");
        let most = (u64::from(timing.bucket_bytes) / 2).saturating_sub(RING_OVERHEAD.get());
        r.report("/packet_bytes".into(), reason, format!("at most {most}"));
    }
}
