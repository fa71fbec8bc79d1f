// SPDX-License-Identifier: Apache-2.0
//! Measures a ring while it runs: its stations, what waits, what each pair of stations gets and should get, and how soon all is settled when a
//! flow begins.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use slotwise_fabric::{Fabric, RingLinkState, RingLinkUse, RingPhase};
use slotwise_rias::{Flow, Ring as Ringlet};
use slotwise_scenario::{Changed, Device, FaultKind, RING_OVERHEAD_BYTES, Ring, Scenario, Source};

use crate::record::{Recording, mean};
use crate::routed::Period;

const NS_PER_MS: f64 = 1e6;
/// Of packets' waits a row is over this time.
const DELAYS_OVER_S: f64 = 1.0;
/// How often it is looked whether all is settled, and for how long at most.
const LOOK_NS: u64 = 100_000;
const MOST_LOOKS: u64 = 20_000;
/// Settled is within this part of what should be.
const SETTLED: f64 = 0.1;
/// Headers of IP and UDP, and of IP and TCP.
const UDP_BYTES: u64 = 28;
const TCP_BYTES: u64 = 40;

/// The link of a ringlet that leaves a station.
struct Link {
    name: String,
    station: u16,
    ringlet: u8,
    delays: [Histogram<u64>; 3],
}

/// What a flow is, for who shares links.
struct Demand {
    name: String,
    pair: usize,
    start_ns: u64,
    /// Of its packets, what is no payload.
    header_bytes: u64,
    /// What it sends, bit/s on the ring; `None`: it takes all it gets.
    asks_bps: Option<f64>,
}

/// All that goes from one station to another.
struct Pair {
    name: String,
    from: u16,
    to: u16,
    ringlet: u8,
}

/// It is looked whether all is settled since a flow began.
struct Watch {
    name: String,
    start_ns: u64,
    next_ns: u64,
}

/// Writes down what a ring does.
pub(crate) struct RingRecorder {
    stations: usize,
    rate_bps: u64,
    target_bps: f64,
    weights: Vec<f64>,
    links: Vec<Link>,
    pairs: Vec<Pair>,
    flows: Vec<Demand>,
    /// Whether it is known which way packets go, since no span fails, and what each flow asks for.
    is_known: bool,
    /// Flows that have begun, and what pairs should have then, bit/s.
    wanted: (usize, Vec<f64>),
    /// Times at which flows begin that are not over yet, the next one last.
    starts: Vec<(u64, String)>,
    watch: Option<Watch>,
    delays_since_s: f64,
}

/// A histogram as exact as those of the fabric.
fn delays() -> Histogram<u64> {
    Histogram::new(2).expect("2 significant figures are within the crate's 0 to 5")
}

impl RingRecorder {
    /// Of the ring of a scenario, if it has one.
    pub(crate) fn new(scenario: &Scenario, network: &Fabric) -> Option<RingRecorder> {
        let ring = scenario.ring.as_ref()?;
        let link = |station: u16, ringlet| Link {
            name: format!("{}/{ringlet}", ring.stations[usize::from(station)].name),
            station,
            ringlet,
            delays: [delays(), delays(), delays()],
        };
        let mut changes = scenario.routed.changes.iter();
        let mut faults = scenario.faults.iter();
        let links = ring
            .spans()
            .flat_map(|(from, to)| [link(from, 0), link(to, 1)])
            .collect();
        let mut recorder = RingRecorder {
            stations: ring.stations.len(),
            rate_bps: ring.rate_bps,
            target_bps: ring.threshold * ring.rate_bps as f64,
            weights: ring.stations.iter().map(|station| f64::from(station.weight)).collect(),
            links,
            pairs: Vec::new(),
            flows: Vec::new(),
            is_known: !changes.any(|change| matches!(change.what, Changed::Span { .. }))
                && !faults.any(|faults| matches!(faults.kind, FaultKind::LinkCut | FaultKind::Restart(_))),
            wanted: (0, Vec::new()),
            starts: Vec::new(),
            watch: None,
            delays_since_s: 0.0,
        };
        recorder.add_flows(scenario, ring, network);
        Some(recorder)
    }

    fn add_flows(&mut self, scenario: &Scenario, ring: &Ring, network: &Fabric) {
        let mut started = network.routed_flows().iter();
        for group in &scenario.routed.flows {
            let station = |party| match scenario.node_of(party) {
                Device::Station(station) => station,
                _ => 0,
            };
            let (from, to) = (station(group.from), station(group.to));
            let (asks_bps, header_bytes) = match group.source {
                Source::Udp { rate_bps, .. } => {
                    let size = f64::from(group.packet_bytes);
                    let on_ring_bps = rate_bps as f64 * (size + RING_OVERHEAD_BYTES as f64) / size;
                    (Some(on_ring_bps), UDP_BYTES)
                }
                _ => (None, TCP_BYTES),
            };
            // Users and files decide themselves when they want something.
            self.is_known &= matches!(group.source, Source::Udp { .. } | Source::Stream { bytes: None });
            let pair = self.pair(ring, from, to);
            for _ in scenario.host_numbers(group.from) {
                let Some(flow) = started.next() else { return };
                self.flows.push(Demand {
                    name: flow.name.clone(),
                    pair,
                    start_ns: flow.start_ns,
                    header_bytes: header_bytes + RING_OVERHEAD_BYTES,
                    asks_bps,
                });
            }
        }
        let of_flow = |flow: &Demand| (flow.start_ns, flow.name.clone());
        let (mut starts, mut times): (Vec<_>, BTreeSet<u64>) =
            (self.flows.iter().map(of_flow).collect(), BTreeSet::new());
        starts.retain(|(at_ns, _)| times.insert(*at_ns));
        starts.sort();
        starts.reverse();
        self.starts = starts;
    }

    /// The index of a pair of stations.
    fn pair(&mut self, ring: &Ring, from: u16, to: u16) -> usize {
        let found = self.pairs.iter().position(|pair| (pair.from, pair.to) == (from, to));
        found.unwrap_or_else(|| {
            let stations = ring.stations.len();
            let east = (usize::from(to) + stations - usize::from(from)) % stations;
            let is_east = if ring.half { from < to } else { 2 * east <= stations };
            let name = |station: u16| &ring.stations[usize::from(station)].name;
            self.pairs.push(Pair {
                name: format!("{}-{}", name(from), name(to)),
                from,
                to,
                ringlet: u8::from(!is_east),
            });
            self.pairs.len() - 1
        })
    }

    /// Of flows that are played elsewhere: nothing is said of what they should get.
    pub(crate) fn of_others(mut self) -> RingRecorder {
        self.is_known = false;
        self.starts.clear();
        self
    }

    /// How many links there are.
    pub(crate) fn links(&self) -> usize {
        self.links.len()
    }

    /// A period begins now; what happened before is left out.
    pub(crate) fn forget(&self, network: &mut Fabric) {
        for link in &self.links {
            network.take_ring_use(link.station, link.ringlet);
        }
    }

    /// When it is to be looked whether all is settled.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let start_ns = self.starts.last().map(|(at_ns, _)| *at_ns);
        let look_ns = self.watch.as_ref().map(|watch| watch.next_ns);
        start_ns.into_iter().chain(look_ns).min()
    }

    /// Looks whether all is settled, if it is time to.
    pub(crate) fn look(&mut self, network: &Fabric, recording: &mut Recording) {
        let now_ns = network.now();
        while let Some((start_ns, name)) = self.starts.pop_if(|(at_ns, _)| *at_ns <= now_ns) {
            self.answer(start_ns, recording);
            self.watch = self.is_known.then(|| Watch {
                name,
                start_ns,
                next_ns: start_ns + LOOK_NS,
            });
        }
        let Some(watch) = self.watch.as_mut().filter(|watch| watch.next_ns <= now_ns) else {
            return;
        };
        watch.next_ns = now_ns + LOOK_NS;
        let is_over = now_ns - watch.start_ns >= MOST_LOOKS * LOOK_NS;
        if is_over || self.is_settled(network, now_ns) {
            self.answer(now_ns, recording);
        }
    }

    /// What there was to be seen since a flow began ends.
    fn answer(&mut self, now_ns: u64, recording: &mut Recording) {
        if let Some(watch) = self.watch.take() {
            let settled_ms = (now_ns - watch.start_ns) as f64 / NS_PER_MS;
            recording
                .reactions
                .push(&watch.name, [watch.start_ns as f64 / 1e9, settled_ms]);
        }
    }

    /// Whether each station that sends over the most loaded link may add what it should.
    fn is_settled(&mut self, network: &Fabric, now_ns: u64) -> bool {
        self.reckon(now_ns);
        let (_, wanted) = &self.wanted;
        // What each link has to carry, by ringlet and station that it leaves.
        let mut loads: BTreeMap<(u8, u16), f64> = BTreeMap::new();
        for (pair, rate) in self.pairs.iter().zip(wanted) {
            for link in self.links.iter().filter(|link| self.crosses(pair, link)) {
                *loads.entry((link.ringlet, link.station)).or_default() += rate;
            }
        }
        let Some((&(ringlet, station), _)) = loads.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
            return true;
        };
        let Some(most) = self
            .links
            .iter()
            .find(|link| (link.ringlet, link.station) == (ringlet, station))
        else {
            return true;
        };
        let mut shares: BTreeMap<u16, f64> = BTreeMap::new();
        for (pair, rate) in self
            .pairs
            .iter()
            .zip(wanted)
            .filter(|(pair, _)| self.crosses(pair, most))
        {
            *shares.entry(pair.from).or_default() += rate;
        }
        shares
            .into_iter()
            .filter(|(_, share)| *share > 0.0)
            .all(|(from, share)| {
                let state = network.ring_link_state(from, ringlet);
                let weight = self.weights[usize::from(from)];
                state.is_some_and(|state| (8.0 * f64::from(state.least_limit) * weight / share - 1.0).abs() <= SETTLED)
            })
    }

    /// Whether what goes from one station to another goes over a link.
    fn crosses(&self, pair: &Pair, link: &Link) -> bool {
        let ahead = |from: u16, to: u16| match pair.ringlet {
            0 => (usize::from(to) + self.stations - usize::from(from)) % self.stations,
            _ => (usize::from(from) + self.stations - usize::from(to)) % self.stations,
        };
        pair.ringlet == link.ringlet && ahead(pair.from, link.station) < ahead(pair.from, pair.to)
    }

    /// Finds what each pair should have when all flows that have begun ask for what they send.
    fn reckon(&mut self, now_ns: u64) {
        let begun = self.flows.iter().filter(|flow| flow.start_ns <= now_ns);
        if self.wanted.0 != begun.clone().count() || self.wanted.1.is_empty() {
            self.wanted = (begun.clone().count(), self.allocated(begun));
        }
    }

    /// What the ring should give each pair if these flows share it, bit/s.
    fn allocated<'f>(&self, flows: impl Iterator<Item = &'f Demand>) -> Vec<f64> {
        // Of each pair, whether it sends, and how much.
        let mut asked: Vec<Option<Option<f64>>> = vec![None; self.pairs.len()];
        for flow in flows {
            let sum = |before: Option<f64>| Some(before? + flow.asks_bps?);
            asked[flow.pair] = Some(asked[flow.pair].map_or(flow.asks_bps, sum));
        }
        let mut wanted = vec![0.0; self.pairs.len()];
        for ringlet in 0..2 {
            let of_ringlet = self.pairs.iter().zip(&asked).enumerate();
            let (places, flows): (Vec<usize>, Vec<Flow>) = of_ringlet
                .filter(|(_, (pair, _))| pair.ringlet == ringlet && pair.from != pair.to)
                .filter_map(|(place, (pair, asks))| {
                    let demand = (*asks)?;
                    let at = |station: u16| match ringlet {
                        0 => usize::from(station),
                        _ => self.stations - 1 - usize::from(station),
                    };
                    let (source, destination) = (at(pair.from), at(pair.to));
                    let flow = Flow {
                        source,
                        destination,
                        demand,
                    };
                    Some((place, flow))
                })
                .unzip();
            let mut weights = self.weights.clone();
            if ringlet == 1 {
                weights.reverse();
            }
            let shared = Ringlet::new(vec![self.target_bps; self.stations])
                .and_then(|ring| ring.with_weights(weights))
                .and_then(|ring| ring.allocate(&flows));
            for (place, rate) in places.into_iter().zip(shared.unwrap_or_default()) {
                wanted[place] = rate;
            }
        }
        wanted
    }

    /// Writes down what has happened in a period that ends now; of each flow, packets and bytes that were delivered.
    pub(crate) fn sample(
        &mut self,
        network: &mut Fabric,
        (period, is_last): (&Period, bool),
        delivered: &[(u64, u64)],
        recording: &mut Recording,
    ) {
        for link in &mut self.links {
            let used = network.take_ring_use(link.station, link.ringlet).unwrap_or_default();
            let state = network.ring_link_state(link.station, link.ringlet);
            let row = station_row(period, &used, state, self.rate_bps);
            recording.stations.push(&link.name, row);
            for (sum, more) in link
                .delays
                .iter_mut()
                .zip([&used.hol_delays, &used.access_delays, &used.crossings])
            {
                // Both grow as they need.
                let _ = sum.add(more);
            }
        }
        if is_last || period.end_s - self.delays_since_s >= DELAYS_OVER_S - 1e-9 {
            self.delays_since_s = period.end_s;
            self.push_delays(period.end_s, recording);
        }
        if self.is_known {
            self.push_fairness(network.now(), period, delivered, recording);
        }
    }

    fn push_delays(&mut self, end_s: f64, recording: &mut Recording) {
        for link in &mut self.links {
            let mut rows: BTreeMap<u64, [f64; 3]> = BTreeMap::new();
            for (kind, delays) in link.delays.iter_mut().enumerate() {
                for bar in delays.iter_recorded() {
                    rows.entry(bar.value_iterated_to()).or_default()[kind] += bar.count_at_value() as f64;
                }
                delays.reset();
            }
            for (up_to_ns, [hol, access, crossing]) in rows {
                let up_to_ms = up_to_ns as f64 / NS_PER_MS;
                recording
                    .delays
                    .push(&link.name, [end_s, up_to_ms, hol, access, crossing]);
            }
        }
    }

    fn push_fairness(&mut self, now_ns: u64, period: &Period, delivered: &[(u64, u64)], recording: &mut Recording) {
        let mut rates = vec![0.0; self.pairs.len()];
        for (flow, (packets, bytes)) in self.flows.iter().zip(delivered) {
            rates[flow.pair] += (bytes + packets * flow.header_bytes) as f64 * 8.0 / period.seconds;
        }
        self.reckon(now_ns - (period.seconds * 1e9) as u64);
        for ((pair, rate), wanted) in self.pairs.iter().zip(&rates).zip(&self.wanted.1) {
            recording
                .fairness
                .push(&pair.name, [period.end_s, rate / 1e3, wanted / 1e3]);
        }
    }
}

/// Names of the links of a ring, by span.
pub(crate) fn link_names(ring: &Ring) -> Vec<String> {
    let name = |station: u16, ringlet| format!("{}/{ringlet}", ring.stations[usize::from(station)].name);
    ring.spans()
        .flat_map(|(from, to)| [name(from, 0), name(to, 1)])
        .collect()
}

/// Names of the pairs of stations between which flows go.
pub(crate) fn pair_names(scenario: &Scenario, ring: &Ring) -> Vec<String> {
    let mut names = Vec::new();
    for group in &scenario.routed.flows {
        if let (Device::Station(from), Device::Station(to)) = (scenario.node_of(group.from), scenario.node_of(group.to))
        {
            let name = |station: u16| &ring.stations[usize::from(station)].name;
            let name = format!("{}-{}", name(from), name(to));
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// In the order of [`crate::record::STATION_COLUMNS`].
fn station_row(period: &Period, used: &RingLinkUse, state: Option<RingLinkState>, rate_bps: u64) -> [f64; 30] {
    let kbps = |bytes: u64| bytes as f64 * 8.0 / 1e3 / period.seconds;
    // As P4 has it, byte/s; without limit as fast as the link.
    let of_p4 = |rate: Option<u32>| {
        let rate_bps = rate.map_or(rate_bps, |rate| (8 * u64::from(rate)).min(rate_bps));
        rate_bps as f64 / 1e3
    };
    let within = used.hol_delays.iter_recorded();
    let within = within.filter(|bar| (bar.value_iterated_to() as f64) < NS_PER_MS);
    let congested = state.filter(|state| state.phase == RingPhase::Congested);
    let estimate_kbps = state.map_or(0.0, |state| state.link_rate as f64 * 8.0 / 1e3);
    let carried_kbps = kbps(used.added_bytes + used.transit_bytes);
    [
        period.end_s,
        used.busy_ns as f64 / 1e9 / period.seconds,
        kbps(used.added_bytes),
        kbps(used.transit_bytes),
        used.message_packets as f64,
        kbps(used.message_bytes),
        used.offered_packets as f64,
        kbps(used.accepted_bytes),
        used.added_packets as f64,
        within.map(|bar| bar.count_at_value()).sum::<u64>() as f64,
        used.hol_delays.mean() / NS_PER_MS,
        used.hol_delays.max() as f64 / NS_PER_MS,
        used.access_delays.mean() / NS_PER_MS,
        used.access_delays.max() as f64 / NS_PER_MS,
        used.crossings.mean() / NS_PER_MS,
        used.crossings.len() as f64,
        used.longest_transit_ns as f64 / 1e3,
        used.buffered_bytes as f64,
        used.most_buffered_bytes as f64,
        used.dropped_packets as f64,
        used.dropped_transit_packets as f64,
        mean(used.congested_ns as f64, (period.seconds * 1e9) as u64),
        used.onsets as f64,
        used.timer_onsets as f64,
        congested.map_or(0.0, |state| f64::from(state.active_stations)),
        carried_kbps,
        estimate_kbps,
        (estimate_kbps - carried_kbps).abs(),
        of_p4(state.map(|state| state.told_rate)),
        of_p4(state.map(|state| state.least_limit)),
    ]
}
