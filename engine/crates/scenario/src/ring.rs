// SPDX-License-Identifier: Apache-2.0
//! A packet ring: its stations, their links, and how they share them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::doc::{Doc, NOTHING};
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

/// What an IP packet grows by on a ring.
pub const RING_OVERHEAD: Bytes = Bytes::of(Ethernet::SIZE + RingHeader::SIZE + RingData::SIZE);

const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 40;
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

/// A station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Its part of a link by those of the others.
    pub weight: u8,
    /// Traffic of its hosts that is not best effort.
    pub classes: Vec<StationClass>,
}

/// Traffic of each host of a station that has a class of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StationClass {
    /// DSCP of its packets.
    pub dscp: u8,
    /// BEST_EFFORT, COMMITTED or RESERVED.
    pub class: RingClass,
    /// Its rate, of each host.
    pub rate: Rate,
}

/// What stands before the add queues of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ingress {
    /// Rate of the shaper; `None`: at once.
    pub rate: Option<Rate>,
    /// Data of hosts' packets that may wait.
    pub buffer: Bytes,
}

/// Times and depths of a ring's fairness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingTiming {
    /// Time between two looks at a link.
    pub interval: Duration,
    /// Intervals of a window in which stations' rates are measured.
    pub window_intervals: u32,
    /// Of the estimators: `Est += Sample / W2 - Est / W1`; powers of two.
    pub w1: u32,
    /// Of the same.
    pub w2: u32,
    /// Depth of a limit's bucket.
    pub bucket_bytes: u32,
    /// How long a packet may be held back by others before its station is congested.
    pub hol_timer: Duration,
    /// Intervals below the relief after which congestion is over.
    pub calm_intervals: u32,
    /// Intervals for which what was told holds.
    pub hold_intervals: u32,
    /// Intervals between two corrections (RPR, conservative).
    pub wait_intervals: u32,
    /// Intervals between two reports to the controller in mode `controller`.
    pub report_intervals: u32,
    /// The same in the other modes, where they are for who looks on; `None`: there are none.
    pub watch_intervals: Option<u32>,
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

/// The section `ring`.
pub(crate) static SECTION: NetworkSection = NetworkSection {
    key: "ring",
    called: "a ring",
    hosts_at: "station",
    device: Device::Station,
    read: |r, fields, scenario| scenario.ring = ring(r, fields),
    check,
    nodes: |scenario| {
        let ring = scenario.ring.as_ref()?;
        Some(OwnNodes {
            list: "/ring/stations",
            names: ring.stations.iter().map(|station| station.name.clone()).collect(),
            spans: ring.spans().map(|span| ring.span_name(span)).collect(),
            // Of two stations either order is a span of its own.
            spans_back: Vec::new(),
        })
    },
};

fn ring(r: &mut Reader, parent: &Fields) -> Option<Ring> {
    let value = r.optional(parent, "ring")?;
    let keys = [
        "mode",
        "threshold",
        "relief",
        "links",
        "stations",
        "half",
        "ingress",
        "timing",
    ];
    let fields = r.fields(value, parent.pointer("ring"), &keys);
    let mode = r.choice(&fields, "mode", &MODES);
    let threshold = r.optional_number(&fields, "threshold", 0.0, 1.0);
    let relief = r.optional_number(&fields, "relief", 0.0, 1.0);
    let (rate, delay) = links(r, &fields);
    let elements = r.list(
        &fields,
        "stations",
        *RING_STATIONS.start() as usize..=*RING_STATIONS.end() as usize,
    );
    Some(Ring {
        mode,
        threshold: threshold.unwrap_or(if is_rpr(mode) { 0.95 } else { 0.85 }),
        // Of RPR 0.95 and 0.9 times 0.95.
        relief: relief.unwrap_or(if is_rpr(mode) { 0.095 } else { 0.05 }),
        rate,
        delay,
        stations: elements.into_iter().map(|(v, p)| station(r, v, p)).collect(),
        half: r.optional_bool(&fields, "half").unwrap_or(false),
        ingress: ingress(r, &fields),
        timing: timing(r, &fields, mode),
    })
}

fn links(r: &mut Reader, parent: &Fields) -> (Rate, Duration) {
    let Some(value) = r.required(parent, "links") else {
        return (Rate::from_bps(*RING_RATE_BPS.start()), Duration::ZERO);
    };
    let fields = r.fields(value, parent.pointer("links"), &["rate_bps", "delay_ns"]);
    (
        r.rate(&fields, "rate_bps", RING_RATE_BPS),
        r.duration(&fields, "delay_ns", DELAY_NS),
    )
}

/// A station is a name, or a mapping with more.
fn station(r: &mut Reader, value: &Doc, pointer: String) -> Station {
    if !value.is_mapping() {
        return Station {
            name: r.name_value(value, pointer),
            weight: 1,
            classes: Vec::new(),
        };
    }
    let fields = r.fields(value, pointer, &["name", "weight", "classes"]);
    Station {
        name: r.name(&fields, "name"),
        weight: r.optional_integer(&fields, "weight", RING_WEIGHT).unwrap_or(1) as u8,
        classes: r
            .optional_list(&fields, "classes", 0..=64)
            .into_iter()
            .map(|(v, p)| class(r, v, p))
            .collect(),
    }
}

fn class(r: &mut Reader, value: &Doc, pointer: String) -> StationClass {
    let fields = r.fields(value, pointer, &["dscp", "class", "rate_bps"]);
    StationClass {
        dscp: r.integer(&fields, "dscp", DSCP) as u8,
        class: r.choice(&fields, "class", &CLASSES),
        rate: r.rate(&fields, "rate_bps", CLASS_RATE_BPS),
    }
}

fn ingress(r: &mut Reader, parent: &Fields) -> Ingress {
    const BUFFER: Bytes = Bytes::new(2_000_000);
    let Some(value) = r.optional(parent, "ingress") else {
        return Ingress {
            rate: None,
            buffer: BUFFER,
        };
    };
    let fields = r.fields(value, parent.pointer("ingress"), &["rate_bps", "buffer_bytes"]);
    Ingress {
        rate: r.optional_rate(&fields, "rate_bps", FLOW_RATE_BPS),
        buffer: r
            .optional_bytes(&fields, "buffer_bytes", BUFFER_BYTES)
            .unwrap_or(BUFFER),
    }
}

fn timing(r: &mut Reader, parent: &Fields, mode: RingMode) -> RingTiming {
    let keys = [
        "interval_ns",
        "window_intervals",
        "w1",
        "w2",
        "bucket_bytes",
        "hol_timer_ns",
        "calm_intervals",
        "hold_intervals",
        "wait_intervals",
        "report_intervals",
        "watch_intervals",
    ];
    let fields = match r.optional(parent, "timing") {
        Some(value) => r.fields(value, parent.pointer("timing"), &keys),
        None => Fields::of(&NOTHING, parent.pointer("timing")),
    };
    let watch_intervals = r.optional_integer(&fields, "watch_intervals", RING_INTERVALS);
    let mut number = |key: &str, range: RangeInclusive<u64>, otherwise: u64| {
        r.optional_integer(&fields, key, range).unwrap_or(otherwise)
    };
    let (estimator, calm) = if is_rpr(mode) { (64, 1) } else { (8, 10) };
    RingTiming {
        interval: Duration::from_ns(number("interval_ns", RING_INTERVAL_NS, 100_000)),
        window_intervals: number("window_intervals", RING_WINDOW_INTERVALS, 100) as u32,
        w1: number("w1", RING_ESTIMATOR, estimator) as u32,
        w2: number("w2", RING_ESTIMATOR, estimator) as u32,
        bucket_bytes: number("bucket_bytes", RING_BUCKET_BYTES, 3000) as u32,
        hol_timer: Duration::from_ns(number("hol_timer_ns", RING_HOL_TIMER_NS, 1_000_000)),
        calm_intervals: number("calm_intervals", RING_INTERVALS, calm) as u32,
        hold_intervals: number("hold_intervals", RING_INTERVALS, 10) as u32,
        wait_intervals: number("wait_intervals", RING_INTERVALS, 10) as u32,
        report_intervals: number("report_intervals", RING_INTERVALS, 1) as u32,
        watch_intervals: watch_intervals.map(|intervals| intervals as u32),
    }
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
        r.report("/ring/relief".into(), reason, format!("less than {}", ring.threshold));
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
