// SPDX-License-Identifier: Apache-2.0
//! Measures a ring while it runs: its stations, what waits, what each pair of stations gets and should get, and how soon all is settled when a
//! flow begins.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use slotwise_kinds::{self as kinds, RingLinkState, RingLinkUse, RingPhase, World};
use slotwise_scenario::{Changed, Device, FaultKind, Ring, Scenario};
use slotwise_units::{Duration, Rate};

use super::after::{AfterFault, AfterFaults};
use super::shares::{Demand, PairPeriod, Shares};
use super::waits::{self, Waited};
use crate::record::{Period, Recording, mean, table};

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
    rate: Rate,
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
            rate: ring.rate,
            links,
            shares,
            is_whole: !changes.any(|change| matches!(change.what, Changed::Span { .. }))
                && !faults.any(|faults| matches!(faults.kind, FaultKind::LinkDown | FaultKind::Restart(_))),
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
            let start = Period {
                end: Duration::from_ns(watch.start_ns),
                ..Period::default()
            };
            let settled = Duration::from_ns(now_ns - watch.start_ns);
            recording.add(&watch.name, &start, &Reaction { settled });
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
            let row = StationPeriod {
                used: &used,
                state,
                link_rate: self.rate,
            };
            recording.add(&link.name, period, &row);
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
        if self.seconds.ends(period, is_last) {
            self.push_delays(period, recording);
        }
        self.push_fairness(network, period, delivered, recording);
    }

    fn push_delays(&mut self, period: &Period, recording: &mut Recording) {
        for link in &mut self.links {
            let mut rows: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
            for (kind, delays) in link.delays.iter_mut().enumerate() {
                for (up_to_ns, count) in waits::bars(delays) {
                    rows.entry(up_to_ns).or_default()[kind] += count;
                }
                delays.reset();
            }
            for (up_to_ns, [head_of_line, access, crossing]) in rows {
                let row = Waited {
                    up_to: Duration::from_ns(up_to_ns),
                    head_of_line,
                    access,
                    crossing,
                };
                recording.add(&link.name, period, &row);
            }
        }
    }

    /// What each pair had and should have, if that is known: all links carried packets in all of the period, and of flows that others
    /// play each had begun before it and goes on behind it.
    fn push_fairness(&mut self, network: &World, period: &Period, delivered: &[(u64, u64)], recording: &mut Recording) {
        let now_ns = network.now().ns();
        let start_ns = now_ns - period.length.ns();
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
            let row = PairPeriod {
                rate_bps: bytes as f64 * 8.0 / period.seconds(),
                fair_bps: wanted,
                links: self.shares.links_of(pair),
            };
            recording.add(&pair.name, period, &row);
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

/// A link of a ring in a period, and the state of its station at the end.
pub(crate) struct StationPeriod<'a> {
    used: &'a RingLinkUse,
    state: Option<RingLinkState>,
    link_rate: Rate,
}

impl StationPeriod<'_> {
    /// Packets with a head-of-line delay below 1 ms.
    fn hol_under_1ms_packets(&self) -> u64 {
        let within = waits::bars(&self.used.hol_delays).take_while(|(up_to_ns, _)| (*up_to_ns as f64) < NS_PER_MS);
        within.map(|(_, count)| count).sum()
    }

    fn span(&self) -> f64 {
        let congested = self.state.filter(|state| state.phase == RingPhase::Congested);
        congested.map_or(0.0, |state| f64::from(state.active_stations))
    }

    fn carried_kbps(&self, period: &Period) -> f64 {
        period.kbps(self.used.added_bytes + self.used.transit_bytes)
    }

    fn estimate_kbps(&self) -> f64 {
        self.state.map_or(0.0, |state| state.link_rate as f64 * 8.0 / 1e3)
    }

    /// A rate of P4, byte/s; without a limit that of the link.
    fn kbps_of_p4(&self, of: fn(&RingLinkState) -> u32) -> f64 {
        let link_bps = self.link_rate.bps();
        let rate_bps = self
            .state
            .map_or(link_bps, |state| (8 * u64::from(of(&state))).min(link_bps));
        rate_bps as f64 / 1e3
    }
}

table! {
    /// Stations of a ring; a row per station, ringlet (`STATION/RINGLET`) and period. Rates and bytes are those on the ring.
    Stations by station shown as links = |p, s: StationPeriod<'_>| {
        utilization "fraction of the period in which the outgoing link was busy" show(series, line)
            = s.used.busy.seconds() / p.seconds();
        added_kbps "add traffic: rate of the station's hosts on the link" [kb/s] show(series as added_bps * 1e3, whole)
            = p.kbps(s.used.added_bytes);
        transit_kbps "transit traffic: rate of other stations on the link" [kb/s] = p.kbps(s.used.transit_bytes);
        messages "messages sent" = s.used.message_packets as f64;
        message_kbps "rate of these messages" [kb/s] = p.kbps(s.used.message_bytes);
        offered_packets "packets offered by the station's hosts, including lost ones" = s.used.offered_packets as f64;
        accepted_kbps "rate of the offered packets that were not lost" [kb/s] = p.kbps(s.used.accepted_bytes);
        added_packets "packets added to the link" = s.used.added_packets as f64;
        hol_under_1ms_packets "of these, packets with a head-of-line delay below 1 ms" = s.hol_under_1ms_packets() as f64;
        hol_ms "mean head-of-line delay" [ms] = waits::mean(&s.used.hol_delays) / NS_PER_MS;
        max_hol_ms "maximum of these delays" [ms] = s.used.hol_delays.max() as f64 / NS_PER_MS;
        access_ms "mean waiting time in the station" [ms] = waits::mean(&s.used.access_delays) / NS_PER_MS;
        max_access_ms "maximum of these delays" [ms] = s.used.access_delays.max() as f64 / NS_PER_MS;
        ring_delay_ms
            "mean ring delay, from arrival at the station to the last bit at the destination; both ringlets in the rows of ringlet 0" [ms]
            = waits::mean(&s.used.crossings) / NS_PER_MS;
        delivered_packets "packets in this mean" = s.used.crossings.len() as f64;
        max_transit_us "maximum waiting time of a transit packet for the link" [us] = s.used.longest_transit.ns() as f64 / 1e3;
        queue_bytes "bytes waiting to be added at the end of the period" [bytes] show(series, whole, line)
            = s.used.buffered_bytes.get() as f64;
        max_queue_bytes "maximum of these bytes" [bytes] = s.used.most_buffered_bytes.get() as f64;
        dropped_packets "packets dropped by the line card" show(series, whole) = s.used.dropped_packets as f64;
        dropped_transit_packets "of these, transit packets" = s.used.dropped_transit_packets as f64;
        congested "fraction of the intervals in which the station was head of a congestion domain"
            = mean(s.used.congested.ns() as f64, p.length.ns());
        onsets "times it became head" = s.used.onsets as f64;
        timer_onsets "of these, because a packet waited longer than the timer" = s.used.timer_onsets as f64;
        domain_stations "active stations in its congestion domain at the end of the period; 0 without congestion"
            show(series as active_stations, whole) = s.span();
        throughput_kbps "link throughput without messages" [kb/s] = s.carried_kbps(p);
        estimate_kbps "estimate of the link throughput at the end of the period" [kb/s] = s.estimate_kbps();
        estimate_error_kbps "error of that estimate" [kb/s] = (s.estimate_kbps() - s.carried_kbps(p)).abs();
        advertised_kbps "advertised rate of the station as head, per weight; at most the link rate" [kb/s]
            = s.kbps_of_p4(|state| state.told_rate);
        add_rate_limit_kbps "lowest add rate allowed to the station, per weight; at most the link rate" [kb/s]
            show(series as limit_bps * 1e3, whole) = s.kbps_of_p4(|state| state.least_limit);
    }
}

/// Convergence of a ring after the start of a flow.
pub(crate) struct Reaction {
    settled: Duration,
}

table! {
    /// Convergence of a ring of which no span fails; a row per time at which flows start, named after the first of them.
    Convergence by flow at "start of a flow, from the start of the first phase" = |p, r: Reaction| {
        convergence_ms
            "time until the add rates of all stations on the most loaded link are within 10 % of their fair rates; if never, the observation time of 2 s" [ms]
            = r.settled.milliseconds();
    }
}
