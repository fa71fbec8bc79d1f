// SPDX-License-Identifier: Apache-2.0
//! What each pair of stations of a ring should get, by the oracle: of experiments, of reports, and after faults.

use std::collections::BTreeMap;

use slotwise_kinds::{self as kinds, World};
use slotwise_rias::{Flow, Ring as Ringlet};
use slotwise_scenario::{Device, FlowGroup, RING_OVERHEAD, Ring, Scenario, Source};
use slotwise_units::Instant;

use crate::record::table;
use crate::stats::jain;

/// Headers of IP and UDP, and of IP and TCP.
const UDP_BYTES: u64 = 28;
const TCP_BYTES: u64 = 40;
const NS_PER_MS: u64 = 1_000_000;
/// Most claims to links that the oracle looks at in a run: some seconds. Without a bound a thousand flows that begin one after the other
/// between 64 stations would take minutes.
const MOST_LOOKS: u64 = 2_000_000_000;

/// What is no payload of an IP packet of a group.
pub(crate) fn header_bytes(group: &FlowGroup) -> u64 {
    match group.source {
        Source::Udp { .. } => UDP_BYTES,
        _ => TCP_BYTES,
    }
}

/// What a flow is, for who shares links.
pub(crate) struct Demand {
    pub(crate) name: String,
    pub(crate) pair: usize,
    pub(crate) start_ns: u64,
    /// When it stops; `u64::MAX`: with the run.
    end_ns: u64,
    /// Latest start, and stop, from the start of the run.
    latest_ns: u64,
    stop_ns: Option<u64>,
    /// Of its packets, what is no payload.
    pub(crate) header_bytes: u64,
    /// What it sends, bit/s on the ring; `None`: it takes all it gets.
    asks_bps: Option<f64>,
}

/// All that goes from one station to another.
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) ringlet: u8,
}

/// Who sends over a ring, and what each pair of stations should have of it.
pub(crate) struct Shares {
    stations: usize,
    target_bps: f64,
    weights: Vec<f64>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) flows: Vec<Demand>,
    /// Whether it is known what each flow asks for: users and files decide themselves when they want something.
    pub(crate) is_known: bool,
    /// Number of starts and stops of flows so far, and the allocation of pairs then, bit/s.
    wanted: (usize, Vec<f64>),
    /// Of [`MOST_LOOKS`]; nothing is known once they are used up.
    looks_left: u64,
}

/// How near the rates of pairs are to what they should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fairness {
    /// The largest |rate - wanted| / wanted.
    pub distance: f64,
    /// Jain's index of rate / wanted; `None` if nothing came.
    pub jain: Option<f64>,
}

impl Fairness {
    /// Of rates and what they should be, in one unit; `None` if nothing is wanted.
    pub fn of(rates: &[f64], wanted: &[f64]) -> Option<Fairness> {
        let both = || rates.iter().zip(wanted).filter(|(_, wanted)| **wanted > 0.0);
        let parts: Vec<f64> = both().map(|(rate, wanted)| rate / wanted).collect();
        (!parts.is_empty()).then(|| Fairness {
            distance: slotwise_rias::distance(rates, wanted),
            jain: jain(&parts),
        })
    }
}

/// A pair of stations or edges in a period.
pub(crate) struct PairPeriod {
    pub rate_bps: f64,
    pub fair_bps: f64,
    /// Links, or outputs of switches, on the path.
    pub links: usize,
}

table! {
    /// Rates of pairs of stations or edges against a reference; a row per pair, `FROM-TO`, and period.
    /// Rings with UDP or endless flows have RIAS of `threshold` of the links (`engine/crates/rias`), in periods in which all links were up
    /// and all stations ran. Meshes with such flows and no class by DSCP have, in virtual time, max-min rates over primary next hops
    /// (`engine/crates/lambda`). Rates are those on the ring, in a mesh those of IP packets.
    Fairness by pair = |p, pair: PairPeriod| {
        rate_kbps "delivered rate of all flows from one station or edge to another" [kb/s] = pair.rate_bps / 1e3;
        fair_kbps "fair rate (ring: RIAS, mesh: max-min) with demand-limited sources at their sending rate" [kb/s]
            = pair.fair_bps / 1e3;
        links "links on the path; in a mesh, switch outputs" = pair.links as f64;
    }
}

impl Shares {
    /// Of the flows of a scenario, which `network` plays; if others do, they begin at [`Shares::begin`].
    pub(crate) fn new(scenario: &Scenario, ring: &Ring, network: &World) -> Shares {
        let mut shares = Shares {
            stations: ring.stations.len(),
            target_bps: ring.threshold * ring.rate.bps() as f64,
            weights: ring.stations.iter().map(|station| f64::from(station.weight)).collect(),
            pairs: Vec::new(),
            flows: Vec::new(),
            is_known: true,
            wanted: (0, Vec::new()),
            looks_left: MOST_LOOKS,
        };
        let played = network.routed_flows().iter();
        let starts: BTreeMap<&str, u64> = played.map(|flow| (flow.name.as_str(), flow.start.ns())).collect();
        for group in &scenario.routed.flows {
            for flow in 0..scenario.flow_hosts(group).len() {
                let name = format!("{}.{flow}", group.name);
                let start_ns = starts.get(name.as_str()).copied().unwrap_or(u64::MAX);
                shares.add(scenario, ring, (group, name, start_ns));
            }
        }
        shares
    }

    fn add(&mut self, scenario: &Scenario, ring: &Ring, (group, name, start_ns): (&FlowGroup, String, u64)) {
        let station = |party| match scenario.node_of(party) {
            Device::Station(station) => station,
            _ => 0,
        };
        let asks_bps = match group.source {
            Source::Udp { rate, .. } => {
                let size = f64::from(group.packet_bytes);
                let on_ring_bps = rate.bps() as f64 * (size + RING_OVERHEAD.get() as f64) / size;
                Some(on_ring_bps)
            }
            _ => None,
        };
        self.is_known &= matches!(group.source, Source::Udp { .. } | Source::Stream { bytes: None });
        let pair = self.pair(ring, station(group.from), station(group.to));
        self.flows.push(Demand {
            name,
            pair,
            start_ns,
            end_ns: scenario.stop(group).map_or(u64::MAX, Instant::ns),
            latest_ns: (group.start_ms + group.spread_ms) * NS_PER_MS,
            stop_ns: group.stop_ms.map(|stop_ms| stop_ms * NS_PER_MS),
            header_bytes: header_bytes(group) + RING_OVERHEAD.get(),
            asks_bps,
        });
    }

    /// Links on the way of a pair.
    pub(crate) fn links_of(&self, pair: &Pair) -> usize {
        let (from, to) = match pair.ringlet {
            0 => (pair.from, pair.to),
            _ => (pair.to, pair.from),
        };
        (usize::from(to) + self.stations - usize::from(from)) % self.stations
    }

    /// Flows are played by others, whose run begins at `now_ns`: each has begun when the time is over in which it may begin.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        for flow in &mut self.flows {
            flow.start_ns = now_ns + flow.latest_ns;
            flow.end_ns = flow.stop_ns.map_or(u64::MAX, |stop_ns| now_ns + stop_ns);
        }
        self.wanted = (0, Vec::new());
    }

    /// Whether all flows have begun by `now_ns`.
    pub(crate) fn have_begun(&self, now_ns: u64) -> bool {
        self.flows.iter().all(|flow| flow.start_ns <= now_ns)
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

    /// A station's part of a link by those of the others.
    pub(crate) fn weight(&self, station: u16) -> f64 {
        self.weights[usize::from(station)]
    }

    /// Whether what goes from one station to another goes over the link of `ringlet` that leaves `station`.
    pub(crate) fn crosses(&self, pair: &Pair, (station, ringlet): (u16, u8)) -> bool {
        let ahead = |from: u16, to: u16| match pair.ringlet {
            0 => (usize::from(to) + self.stations - usize::from(from)) % self.stations,
            _ => (usize::from(from) + self.stations - usize::from(to)) % self.stations,
        };
        pair.ringlet == ringlet && ahead(pair.from, station) < ahead(pair.from, pair.to)
    }

    /// Returns the allocation of each pair with the flows that are there at `now_ns`, bit/s.
    pub(crate) fn wanted(&mut self, now_ns: u64) -> &[f64] {
        let count = self.changes().filter(|at_ns| *at_ns <= now_ns).count();
        if self.wanted.0 != count || self.wanted.1.is_empty() {
            self.wanted = (count, self.allocated(now_ns));
        }
        &self.wanted.1
    }

    /// Returns its mean over a time while flows begin and stop.
    pub(crate) fn wanted_over(&mut self, start_ns: u64, end_ns: u64) -> Vec<f64> {
        let mut wanted = self.wanted(start_ns).to_vec();
        let (mut since_ns, mut before) = (start_ns, wanted.clone());
        while let Some(at_ns) = self.next_change_ns(since_ns).filter(|at_ns| *at_ns < end_ns) {
            // What is wanted from here on, less what was before, for what is left of the time.
            let part = (end_ns - at_ns) as f64 / (end_ns - start_ns) as f64;
            let now = self.wanted(at_ns).to_vec();
            for ((mean, now), before) in wanted.iter_mut().zip(&now).zip(before) {
                *mean += (now - before) * part;
            }
            (since_ns, before) = (at_ns, now);
        }
        wanted
    }

    /// Bytes that each pair has sent over the ring since the start, with the ring's headers.
    pub(crate) fn delivered_bytes(&self, network: &World) -> Vec<u64> {
        let (pairs, ring) = (self.pairs.iter(), network.of_kind::<kinds::Ring>());
        pairs
            .map(|pair| {
                ring.as_ref()
                    .map_or(0, |ring| ring.delivered_bytes(pair.from, pair.to).get())
            })
            .collect()
    }

    /// Times at which flows begin and stop.
    fn changes(&self) -> impl Iterator<Item = u64> {
        self.flows.iter().flat_map(|flow| [flow.start_ns, flow.end_ns])
    }

    /// When the next flow begins or stops after `now_ns`.
    pub(crate) fn next_change_ns(&self, now_ns: u64) -> Option<u64> {
        let later = self.changes().filter(|at_ns| *at_ns > now_ns).min();
        later.filter(|at_ns| *at_ns < u64::MAX)
    }

    /// Computes the allocation of each pair with the flows that are there at `now_ns`, bit/s; empty if that is not known any more.
    fn allocated(&mut self, now_ns: u64) -> Vec<f64> {
        // Of each pair, whether it sends, and how much.
        let mut asked: Vec<Option<Option<f64>>> = vec![None; self.pairs.len()];
        let is_there = |flow: &&Demand| flow.start_ns <= now_ns && now_ns < flow.end_ns;
        for flow in self.flows.iter().filter(is_there) {
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
                .and_then(|ring| ring.allocate_within(&flows, &mut self.looks_left));
            if shared.is_err() {
                (self.is_known, self.looks_left) = (false, 0);
            }
            for (place, rate) in places.into_iter().zip(shared.unwrap_or_default()) {
                wanted[place] = rate;
            }
        }
        wanted
    }
}
