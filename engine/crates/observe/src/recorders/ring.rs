// SPDX-License-Identifier: Apache-2.0
//! Measures a ring while it runs: its stations, what waits, what each pair of stations gets and should get, and how soon all is settled when a
//! flow begins.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use slotwise_fabric::{RingLinkState, RingLinkUse, RingPhase, World, kinds};
use slotwise_scenario::{Changed, Device, FaultKind, Ring, Scenario};
use slotwise_units::Bytes;

use super::after::{AfterFault, AfterFaults};
use super::routed::Period;
use super::shares::{Demand, Shares};
use super::waits;
use crate::record::{Recording, mean};

const NS_PER_MS: f64 = 1e6;
/// How often it is looked whether all is settled, and for how long at most.
const LOOK_NS: u64 = 100_000;
const MOST_LOOKS: u64 = 20_000;
/// Settled is within this part of what should be.
const SETTLED: f64 = 0.1;
/// The link of a ringlet that leaves a station.
struct Link {
    name: String,
    station: u16,
    ringlet: u8,
    delays: [Histogram<u64>; 3],
}

/// It is looked whether all is settled since a flow began.
struct Watch {
    name: String,
    start_ns: u64,
    next_ns: u64,
}

/// Writes down what a ring does.
pub(crate) struct RingRecorder {
    rate_bps: u64,
    links: Vec<Link>,
    shares: Shares,
    /// Whether which way packets go stays as it is at the start, since no span fails.
    is_whole: bool,
    /// Of flows that are played elsewhere, whether they are, and what each pair had delivered by the end of the last period.
    others: Option<Others>,
    /// Times at which flows begin that are not over yet, the next one last.
    starts: Vec<(u64, String)>,
    watch: Option<Watch>,
    after: AfterFaults,
    seconds: waits::Seconds,
}

/// Flows are played elsewhere.
struct Others {
    end_ns: u64,
    duration_ns: u64,
    delivered_bytes: Vec<u64>,
}

/// A histogram as exact as those of the fabric.
fn delays() -> Histogram<u64> {
    Histogram::new(2).expect("2 significant figures are within the crate's 0 to 5")
}

/// Time since which all of a ring has been whole; `None` if it is not so now.
pub(crate) fn whole_since(network: &World) -> Option<u64> {
    Some(network.of_kind::<kinds::Ring>()?.whole_since()?.ns())
}

impl RingRecorder {
    /// Of the ring of a scenario, if it has one.
    pub(crate) fn new(scenario: &Scenario, network: &World) -> Option<RingRecorder> {
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
        let shares = Shares::new(scenario, ring, network);
        let of_flow = |flow: &Demand| (flow.start_ns, flow.name.clone());
        let (mut starts, mut times): (Vec<_>, BTreeSet<u64>) =
            (shares.flows.iter().map(of_flow).collect(), BTreeSet::new());
        starts.retain(|(at_ns, _)| times.insert(*at_ns));
        starts.sort();
        starts.reverse();
        Some(RingRecorder {
            rate_bps: ring.rate.bps(),
            links,
            shares,
            is_whole: !changes.any(|change| matches!(change.what, Changed::Span { .. }))
                && !faults.any(|faults| matches!(faults.kind, FaultKind::LinkCut | FaultKind::Restart(_))),
            others: None,
            starts,
            watch: None,
            after: AfterFaults::new(network, scenario.end().ns()),
            seconds: waits::Seconds::default(),
        })
    }

    /// Of flows that are played elsewhere, or by whoever comes: then nothing is said of what they should get.
    pub(crate) fn of_others(mut self, scenario: &Scenario, are_played: bool) -> RingRecorder {
        self.shares.is_known &= are_played;
        self.starts.clear();
        self.others = Some(Others {
            end_ns: 0,
            duration_ns: scenario.duration_ms() * 1_000_000,
            delivered_bytes: vec![0; self.shares.pairs.len()],
        });
        self
    }

    /// The first period begins now; what happened before is left out.
    pub(crate) fn begin(&mut self, network: &mut World) {
        if let Some(mut ring) = network.of_kind_mut::<kinds::Ring>() {
            for link in &self.links {
                ring.take_link_use(link.station, link.ringlet);
            }
        }
        if let Some(others) = &mut self.others {
            let now_ns = network.now().ns();
            self.shares.begin(now_ns);
            others.end_ns = now_ns + others.duration_ns;
            others.delivered_bytes = self.shares.delivered_bytes(network);
        }
    }

    /// When it is to be looked whether all is settled.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let start_ns = self.starts.last().map(|(at_ns, _)| *at_ns);
        let look_ns = self.watch.as_ref().map(|watch| watch.next_ns);
        let times_ns = [start_ns, look_ns, self.after.next_ns()];
        times_ns.into_iter().flatten().min()
    }

    /// How fair the ring was after faults.
    pub(crate) fn after_faults(&self) -> &[AfterFault] {
        self.after.found()
    }

    /// Looks whether all is settled, and how fair the ring is after a fault, if it is time to.
    pub(crate) fn look(&mut self, network: &World, recording: &mut Recording) {
        let now_ns = network.now().ns();
        self.after.look(network, &mut self.shares);
        while let Some((start_ns, name)) = self.starts.pop_if(|(at_ns, _)| *at_ns <= now_ns) {
            self.answer(start_ns, recording);
            self.watch = (self.is_whole && self.shares.is_known).then(|| Watch {
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
    fn is_settled(&mut self, network: &World, now_ns: u64) -> bool {
        let wanted = self.shares.wanted(now_ns).to_vec();
        let shares = &self.shares;
        // What each link has to carry, by ringlet and station that it leaves.
        let mut loads: BTreeMap<(u8, u16), f64> = BTreeMap::new();
        for (pair, rate) in shares.pairs.iter().zip(&wanted) {
            let links = self.links.iter().map(|link| (link.station, link.ringlet));
            for (station, ringlet) in links.filter(|link| shares.crosses(pair, *link)) {
                *loads.entry((ringlet, station)).or_default() += rate;
            }
        }
        let Some((&(ringlet, station), _)) = loads.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
            return true;
        };
        let mut added: BTreeMap<u16, f64> = BTreeMap::new();
        let pairs = shares.pairs.iter().zip(&wanted);
        for (pair, rate) in pairs.filter(|(pair, _)| shares.crosses(pair, (station, ringlet))) {
            *added.entry(pair.from).or_default() += rate;
        }
        added
            .into_iter()
            .filter(|(_, share)| *share > 0.0)
            .all(|(from, share)| {
                let ring = network.of_kind::<kinds::Ring>();
                let state = ring.and_then(|ring| ring.link_state(from, ringlet));
                let weight = shares.weight(from);
                state.is_some_and(|state| (8.0 * f64::from(state.least_limit) * weight / share - 1.0).abs() <= SETTLED)
            })
    }

    /// Writes down what has happened in a period that ends now; of each flow, packets and bytes that were delivered.
    pub(crate) fn sample(
        &mut self,
        network: &mut World,
        (period, is_last): (&Period, bool),
        delivered: &[(u64, u64)],
        recording: &mut Recording,
    ) {
        for link in &mut self.links {
            let ring = network.of_kind_mut::<kinds::Ring>();
            let used = ring.and_then(|mut ring| ring.take_link_use(link.station, link.ringlet));
            let used = used.unwrap_or_default();
            let ring = network.of_kind::<kinds::Ring>();
            let state = ring.and_then(|ring| ring.link_state(link.station, link.ringlet));
            let row = station_row(period, &used, state, self.rate_bps);
            recording.stations.push(&link.name, row);
            for (sum, more) in link
                .delays
                .iter_mut()
                .zip([&used.hol_delays, &used.access_delays, &used.crossings])
            {
                for (up_to_ns, count) in waits::bars(more) {
                    // It grows as it needs.
                    let _ = sum.record_n(up_to_ns, count);
                }
            }
        }
        if self.seconds.ends(period.end_s, is_last) {
            self.push_delays(period.end_s, recording);
        }
        self.push_fairness(network, period, delivered, recording);
    }

    fn push_delays(&mut self, end_s: f64, recording: &mut Recording) {
        for link in &mut self.links {
            let mut rows: BTreeMap<u64, [f64; 3]> = BTreeMap::new();
            for (kind, delays) in link.delays.iter_mut().enumerate() {
                for (up_to_ns, count) in waits::bars(delays) {
                    rows.entry(up_to_ns).or_default()[kind] += count as f64;
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

    /// What each pair had and should have, if that is known: all links carried packets in all of the period, and of flows that others
    /// play each had begun before it and goes on behind it.
    fn push_fairness(&mut self, network: &World, period: &Period, delivered: &[(u64, u64)], recording: &mut Recording) {
        let now_ns = network.now().ns();
        let start_ns = now_ns - (period.seconds * 1e9) as u64;
        let mut bytes = vec![0; self.shares.pairs.len()];
        let mut is_known = self.shares.is_known && whole_since(network).is_some_and(|since_ns| since_ns <= start_ns);
        if let Some(others) = &mut self.others {
            let before = std::mem::replace(&mut others.delivered_bytes, self.shares.delivered_bytes(network));
            for ((bytes, now), before) in bytes.iter_mut().zip(&others.delivered_bytes).zip(before) {
                *bytes = now - before;
            }
            is_known &= self.shares.have_begun(start_ns) && now_ns <= others.end_ns;
        } else {
            for (flow, (packets, payload_bytes)) in self.shares.flows.iter().zip(delivered) {
                bytes[flow.pair] += payload_bytes + packets * flow.header_bytes;
            }
        }
        if !is_known {
            return;
        }
        let wanted = self.shares.wanted_over(start_ns, now_ns);
        for ((pair, bytes), wanted) in self.shares.pairs.iter().zip(bytes).zip(wanted) {
            let rate = bytes as f64 * 8.0 / period.seconds;
            recording.fairness.push(
                &pair.name,
                [
                    period.end_s,
                    rate / 1e3,
                    wanted / 1e3,
                    self.shares.links_of(pair) as f64,
                ],
            );
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
    let kbps = |bytes: Bytes| bytes.get() as f64 * 8.0 / 1e3 / period.seconds;
    // As P4 has it, byte/s; without limit as fast as the link.
    let of_p4 = |rate: Option<u32>| {
        let rate_bps = rate.map_or(rate_bps, |rate| (8 * u64::from(rate)).min(rate_bps));
        rate_bps as f64 / 1e3
    };
    let within = waits::bars(&used.hol_delays).take_while(|(up_to_ns, _)| (*up_to_ns as f64) < NS_PER_MS);
    let congested = state.filter(|state| state.phase == RingPhase::Congested);
    let estimate_kbps = state.map_or(0.0, |state| state.link_rate as f64 * 8.0 / 1e3);
    let carried_kbps = kbps(used.added_bytes + used.transit_bytes);
    [
        period.end_s,
        used.busy.seconds() / period.seconds,
        kbps(used.added_bytes),
        kbps(used.transit_bytes),
        used.message_packets as f64,
        kbps(used.message_bytes),
        used.offered_packets as f64,
        kbps(used.accepted_bytes),
        used.added_packets as f64,
        within.map(|(_, count)| count).sum::<u64>() as f64,
        waits::mean(&used.hol_delays) / NS_PER_MS,
        used.hol_delays.max() as f64 / NS_PER_MS,
        waits::mean(&used.access_delays) / NS_PER_MS,
        used.access_delays.max() as f64 / NS_PER_MS,
        waits::mean(&used.crossings) / NS_PER_MS,
        used.crossings.len() as f64,
        used.longest_transit.ns() as f64 / 1e3,
        used.buffered_bytes.get() as f64,
        used.most_buffered_bytes.get() as f64,
        used.dropped_packets as f64,
        used.dropped_transit_packets as f64,
        mean(used.congested.ns() as f64, (period.seconds * 1e9) as u64),
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
