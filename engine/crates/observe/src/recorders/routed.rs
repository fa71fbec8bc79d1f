// SPDX-License-Identifier: Apache-2.0
//! Measures a network of routers, a ring or optical packet switches, while it runs: its links, stations or switches, and its flows, every period of its scenario.

use slotwise_fabric::{FifoUse, FlowUse, OrderUse, SessionUse, World, kinds};
use slotwise_scenario::{FlowGroup, Scenario};
use slotwise_units::{Bytes, Instant};

use super::after::AfterFault;
use super::gtp;
use super::ops::OpsRecorder;
use super::ring::RingRecorder;
use super::sharing::{SessionPeriod, Sharing};
use crate::record::{Recording, deviation, mean};

const NS_PER_MS: u64 = 1_000_000;

/// A link: its name and first rate.
struct Link {
    name: String,
    rate_bps: u64,
}

/// A flow, and what it did since the start.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowTotals {
    /// Its name.
    pub name: String,
    /// Where it stood at the end of the last period; bytes, packets and delays are sums since the start.
    pub used: FlowUse,
    /// Of a flow of GTP, what its session did since the start.
    session: SessionUse,
    /// Mean and longest delay of a period, kept while nothing arrives.
    period_delay_ms: (f64, f64),
}

/// Writes down what a network does. Let it run to [`RoutedRecorder::next`], call [`RoutedRecorder::sample`], and so on.
pub struct RoutedRecorder {
    recording: Recording,
    sample_ms: u64,
    /// Times are counted from here.
    start_ns: u64,
    duration_ms: u64,
    at_ms: u64,
    packet_bytes: u32,
    links: Vec<Link>,
    ring: Option<RingRecorder>,
    ops: Option<OpsRecorder>,
    sharing: Option<Sharing>,
    flows: Vec<FlowTotals>,
}

impl RoutedRecorder {
    /// Of the network of a scenario, which is at time 0.
    pub fn new(scenario: &Scenario, network: &World) -> RoutedRecorder {
        let links = scenario.routed.links.iter().map(|link| Link {
            name: link.name.clone(),
            rate_bps: link.rate.bps(),
        });
        let flows = network.routed_flows().iter().map(|flow| FlowTotals {
            name: flow.name.clone(),
            used: FlowUse::default(),
            session: SessionUse::default(),
            period_delay_ms: (0.0, 0.0),
        });
        RoutedRecorder {
            recording: Recording::default(),
            sample_ms: scenario.routed.sample_ms,
            start_ns: scenario.epoch().ns(),
            duration_ms: scenario.duration_ms(),
            at_ms: 0,
            packet_bytes: scenario.routed.packet_bytes,
            links: links.collect(),
            ring: RingRecorder::new(scenario, network),
            ops: OpsRecorder::new(scenario, network),
            sharing: Sharing::new(scenario, network),
            flows: flows.collect(),
        }
    }

    /// Of a network of which hosts are outside: links are measured, and flows that the fabric plays. It lasts until somebody ends it.
    /// `are_played` says whether hosts play the other flows of the scenario.
    pub fn live(scenario: &Scenario, network: &World, are_played: bool) -> RoutedRecorder {
        let recorder = RoutedRecorder::new(scenario, network);
        RoutedRecorder {
            duration_ms: u64::MAX,
            ring: recorder.ring.map(|ring| ring.of_others(scenario, are_played)),
            ..recorder
        }
    }

    /// A period begins now; what happened before is left out.
    pub fn begin(&mut self, network: &mut World) {
        self.at_ms = self.now_ms(network);
        if let Some(mut routers) = network.of_kind_mut::<kinds::Routed>() {
            for index in 0..self.links.len() {
                routers.take_link_use(index);
            }
        }
        if let Some(ring) = &mut self.ring {
            ring.begin(network);
        }
        if let Some(ops) = &self.ops {
            ops.begin(network);
        }
    }

    /// The last period ends now, if it has lasted a millisecond; what happens afterwards is left out.
    pub fn end(&mut self, network: &mut World) {
        if self.at_ms < self.duration_ms && self.now_ms(network) > self.at_ms {
            self.sample(network);
        }
        self.duration_ms = self.at_ms;
    }

    /// When something is to be written down next, fabric time; `None` when the run is over.
    pub fn next(&self) -> Option<Instant> {
        let end_ns = self.end_ns()?;
        let look_ns = self.ring.as_ref().and_then(RingRecorder::next_ns);
        Some(Instant::from_ns(look_ns.map_or(end_ns, |look_ns| look_ns.min(end_ns))))
    }

    fn end_ns(&self) -> Option<u64> {
        let end_ms = self.at_ms.saturating_add(self.sample_ms).min(self.duration_ms);
        (end_ms > self.at_ms).then_some(self.start_ns + end_ms * NS_PER_MS)
    }

    fn now_ms(&self, network: &World) -> u64 {
        network.now().ns().saturating_sub(self.start_ns) / NS_PER_MS
    }

    /// Writes down what there is to be written down now.
    pub fn sample(&mut self, network: &mut World) {
        if let Some(ring) = &mut self.ring {
            ring.look(network, &mut self.recording);
        }
        // Who records a live run ends periods when they like.
        if self.duration_ms == u64::MAX || self.end_ns() == Some(network.now().ns()) {
            self.end_period(network);
        }
    }

    fn end_period(&mut self, network: &mut World) {
        let end_ms = self.now_ms(network);
        let period = Period {
            end_s: end_ms as f64 / 1e3,
            seconds: (end_ms - self.at_ms) as f64 / 1e3,
        };
        self.at_ms = end_ms;
        if let Some(mut routers) = network.of_kind_mut::<kinds::Routed>() {
            for (index, link) in self.links.iter().enumerate() {
                let row = link_row(&period, &routers.take_link_use(index), link.rate_bps);
                self.recording.links.push(&link.name, row);
            }
        }
        let mut delivered = Vec::with_capacity(self.flows.len());
        let mut sessions = Vec::with_capacity(self.flows.len());
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let used = network.take_flow_use(index);
            delivered.push((used.packets, used.delivered_bytes.get()));
            if used.packets > 0 {
                let mean_ms = used.delay_sum.milliseconds() / used.packets as f64;
                flow.period_delay_ms = (mean_ms, used.delay_max.milliseconds());
            }
            let row = flow_row(&period, &used, self.packet_bytes, flow.period_delay_ms);
            self.recording.flows.push(&flow.name, row);
            if let Some(order) = network.take_order_use(index) {
                self.recording.order.push(&flow.name, order_row(&period, &order));
            }
            let session = network.session_use(index);
            sessions.push(session.map(|session| (flow.session, session)));
            if let Some(session) = session {
                self.recording.gtp.push(
                    &flow.name,
                    gtp::row(&period, &flow.session, &session, self.packet_bytes),
                );
                flow.session = session;
            }
            let before = flow.used;
            flow.used = FlowUse {
                delivered_bytes: before.delivered_bytes + used.delivered_bytes,
                packets: before.packets + used.packets,
                delay_sum: before.delay_sum + used.delay_sum,
                delay_max: before.delay_max.max(used.delay_max),
                ..used
            };
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.sample(&period, end_ms, &sessions, &mut self.recording);
        }
        let is_last = end_ms >= self.duration_ms;
        if let Some(ops) = &mut self.ops {
            ops.sample(network, (&period, is_last), &delivered, &mut self.recording);
        }
        if let Some(ring) = &mut self.ring {
            ring.sample(network, (&period, is_last), &delivered, &mut self.recording);
        }
    }

    /// What each session of GTP did in the last period, where it is known what it should have.
    pub fn last_sessions(&self) -> impl Iterator<Item = SessionPeriod<'_>> {
        self.sharing.iter().flat_map(Sharing::last)
    }

    /// What each flow did since the start.
    pub fn flows(&self) -> &[FlowTotals] {
        &self.flows
    }

    /// How fair a ring was after faults, in the order in which it was well again.
    pub fn after_faults(&self) -> &[AfterFault] {
        self.ring.as_ref().map_or(&[], RingRecorder::after_faults)
    }

    /// What is written down so far.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The first flow of which bytes arrived that are not what was sent, and how many: a mistake of the engine.
    pub fn wrong(&self) -> Option<(&str, Bytes)> {
        let mut flows = self.flows.iter();
        let wrong = flows.find(|flow| !flow.used.wrong_bytes.is_zero())?;
        Some((&wrong.name, wrong.used.wrong_bytes))
    }

    /// All that was written down.
    pub fn finish(self) -> Recording {
        self.recording
    }
}

/// Names of the links of routers, in their order.
pub(crate) fn link_names(scenario: &Scenario) -> Vec<String> {
    scenario.routed.links.iter().map(|link| link.name.clone()).collect()
}

/// Names of the flows over the whole run, in their order.
pub(crate) fn flow_names(scenario: &Scenario) -> Vec<String> {
    let names = |group: &FlowGroup| {
        let count = scenario.flow_hosts(group).len();
        (0..count)
            .map(|i| format!("{}.{i}", group.name))
            .collect::<Vec<String>>()
    };
    scenario.routed.flows.iter().flat_map(names).collect()
}

pub(crate) struct Period {
    pub(crate) end_s: f64,
    pub(crate) seconds: f64,
}

/// In the order of [`crate::record::LINK_COLUMNS`].
pub(crate) fn link_row(period: &Period, used: &FifoUse, first_rate_bps: u64) -> [f64; 10] {
    let sent_bits = used.sent_bytes.get() as f64 * 8.0;
    [
        period.end_s,
        sent_bits * 1e9 / used.capacity.nanobits() as f64,
        sent_bits / period.seconds / first_rate_bps as f64,
        used.queue_packets as f64,
        used.queue_bytes.get() as f64,
        used.waited.seconds() / period.seconds,
        used.most_packets as f64,
        mean(used.waited.milliseconds(), used.taken_packets),
        used.arrived_packets as f64,
        used.dropped_packets as f64,
    ]
}

/// In the order of [`crate::record::FLOW_COLUMNS`].
fn flow_row(period: &Period, used: &FlowUse, packet_bytes: u32, (delay_ms, longest_ms): (f64, f64)) -> [f64; 9] {
    let window_packets = mean(used.window.get() as f64, used.mss.get());
    [
        period.end_s,
        window_packets,
        used.srtt.milliseconds(),
        // byte/ns = 1e6 kbyte/s.
        mean(window_packets * f64::from(packet_bytes) * 1e6, used.srtt.ns()),
        used.delivered_bytes.get() as f64 * 8.0 / 1e3 / period.seconds,
        delay_ms,
        longest_ms,
        used.retransmissions as f64,
        used.timeouts as f64,
    ]
}

/// In the order of [`crate::record::ORDER_COLUMNS`].
fn order_row(period: &Period, order: &OrderUse) -> [f64; 27] {
    let mean_ns = mean(order.delay_sum.ns() as f64, order.packets);
    let deviation_ns = deviation(order.packets, order.delay_sum.ns(), order.delay_squares_ns2);
    let (least_gap, most_gap) = order.gap.unwrap_or_default();
    [
        period.end_s,
        order.packets as f64,
        mean_ns / 1e6,
        deviation_ns / 1e6,
        order.reordered as f64,
        order.reordered_1 as f64,
        order.reordered_3 as f64,
        mean(order.extent_sum as f64, order.reordered),
        order.extent_max as f64,
        order.sent as f64,
        order.retransmissions as f64,
        order.needless_retransmissions as f64,
        order.fast_retransmits as f64,
        order.needless_fast_retransmits as f64,
        order.timeouts as f64,
        order.delivered_bytes.get() as f64 * 8.0 / 1e3 / period.seconds,
        order.acknowledgments as f64,
        order.bunched_acknowledgments as f64,
        least_gap.ns() as f64 / 1e3,
        most_gap.ns() as f64 / 1e3,
        order.losses as f64,
        order.window_before_losses.get() as f64,
        order.trains.deflected as f64,
        order.trains.lost as f64,
        order.trains.timed_out as f64,
        order.trains.lost_long as f64,
        order.trains.timed_out_long as f64,
    ]
}

#[cfg(test)]
mod tests {
    use slotwise_fabric::{FlowTrains, HostMode, WorldOptions};

    use super::*;
    use crate::record::ORDER_COLUMNS;

    #[test]
    fn what_became_of_a_flow_s_trains_is_in_the_columns_that_say_so() {
        let period = Period {
            end_s: 1.0,
            seconds: 1.0,
        };
        let order = OrderUse {
            losses: 6,
            trains: FlowTrains {
                deflected: 1,
                lost: 5,
                timed_out: 4,
                lost_long: 3,
                timed_out_long: 2,
            },
            ..OrderUse::default()
        };
        let row = order_row(&period, &order);
        for (name, number) in [
            ("losses", 6.0),
            ("deflected_trains", 1.0),
            ("lost_trains", 5.0),
            ("timed_out_trains", 4.0),
            ("lost_long_trains", 3.0),
            ("timed_out_long_trains", 2.0),
        ] {
            let column = ORDER_COLUMNS.iter().position(|column| column.name == name);
            assert_eq!(row[column.expect("it is one")], number, "{name}");
        }
    }

    #[test]
    fn the_last_period_of_a_live_run_ends_with_it() {
        let text =
            include_str!("../../../../../topologies/routers4.yaml").replace("sample_ms: 100", "sample_ms: 60000");
        let scenario = Scenario::parse(text.as_bytes()).unwrap();
        let options = WorldOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        };
        let mut network = World::new(&scenario, options);
        let mut recorder = RoutedRecorder::live(&scenario, &network, false);
        network.run_until(Instant::from_ns(5 * NS_PER_MS));
        recorder.begin(&mut network);
        network.run_until(Instant::from_ns(1505 * NS_PER_MS));
        recorder.end(&mut network);
        network.run_until(Instant::from_ns(1510 * NS_PER_MS));
        recorder.end(&mut network);
        assert_eq!(recorder.next(), None);
        let links = recorder.finish().links;
        assert_eq!(links.names.len(), scenario.routed.links.len(), "once");
        assert_eq!(links.numbers[0], vec![1.505; scenario.routed.links.len()]);
    }

    #[test]
    fn of_a_ring_there_is_a_row_a_station_ringlet_and_period() {
        let scenario = Scenario::parse(include_bytes!("../../../../../topologies/ring8.yaml")).unwrap();
        let options = WorldOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        };
        let mut network = World::new(&scenario, options);
        let mut recorder = RoutedRecorder::new(&scenario, &network);
        while network.now() < Instant::from_ns(20 * NS_PER_MS) {
            network.run_until(recorder.next().unwrap());
            recorder.sample(&mut network);
        }
        let table = recorder.finish().stations;
        // Half a ring of nine.
        assert_eq!(table.names.len(), 2 * 16);
        assert_eq!(table.names[..2], ["node0/0", "node1/1"]);
        let column = |name: &str| &table.numbers[table.column(name).unwrap()];
        assert_eq!(column("time_s")[16], 0.02);
        assert_eq!(column("limit_kbps")[0], 150_000.0, "there is no limit");
        assert_eq!(column("added_packets").iter().sum::<f64>(), 0.0);
    }
}
