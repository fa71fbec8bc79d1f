// SPDX-License-Identifier: Apache-2.0
//! Measures a network of routers, a ring or optical packet switches, while it runs: its links, stations or switches, and its flows, every period of its scenario.

use slotwise_kinds::{self as kinds, FifoUse, FlowUse, OrderUse, SessionUse, World};
use slotwise_scenario::{FlowGroup, Scenario};
use slotwise_units::{Bytes, Duration, Instant, Rate};

use super::after::AfterFault;
use super::gtp::GtpPeriod;
use super::ops::OpsRecorder;
use super::ring::RingRecorder;
use super::sharing::{SessionRates, Sharing};
use crate::record::{Period, Recording, deviation, mean, table};

const NS_PER_MS: u64 = 1_000_000;

/// A link: its name and first rate.
struct Link {
    name: String,
    first_rate: Rate,
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
            first_rate: link.rate,
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
            end: Duration::from_ms(end_ms),
            length: Duration::from_ms(end_ms - self.at_ms),
        };
        self.at_ms = end_ms;
        if let Some(mut routers) = network.of_kind_mut::<kinds::Routed>() {
            for (index, link) in self.links.iter().enumerate() {
                let row = LinkPeriod {
                    used: &routers.take_link_use(index),
                    first_rate: link.first_rate,
                };
                self.recording.add(&link.name, &period, &row);
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
            let row = FlowPeriod {
                window: used.window,
                segment: used.mss,
                rtt: used.srtt,
                packet: Bytes::new(self.packet_bytes.into()),
                goodput_kbps: period.kbps(used.delivered_bytes),
                delay_ms: flow.period_delay_ms,
                retransmissions: used.retransmissions,
                timeouts: used.timeouts,
            };
            self.recording.add(&flow.name, &period, &row);
            if let Some(order) = network.take_order_use(index) {
                self.recording.add(&flow.name, &period, &OrderPeriod(order));
            }
            let session = network.session_use(index);
            sessions.push(session.map(|session| (flow.session, session)));
            if let Some(session) = session {
                let row = GtpPeriod {
                    before: &flow.session,
                    after: &session,
                    packet_bytes: self.packet_bytes,
                };
                self.recording.add(&flow.name, &period, &row);
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
    pub fn last_sessions(&self) -> impl Iterator<Item = SessionRates<'_>> {
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

/// A link in a period, and its rate at the start of the run.
pub(crate) struct LinkPeriod<'a> {
    pub used: &'a FifoUse,
    pub first_rate: Rate,
}

impl LinkPeriod<'_> {
    fn sent_bits(&self) -> f64 {
        self.used.sent_bytes.get() as f64 * 8.0
    }
}

table! {
    /// Links between routers, and wavelengths for probes of a mesh of optical packet switches (`FROM-TO/probes`); a row per link and period.
    Links by link = |p, l: LinkPeriod<'_>| {
        utilization "IP bits of packets that began transmission, divided by the bits that the link rate allows in the period"
            show(series, line) = l.sent_bits() * 1e9 / l.used.capacity.nanobits() as f64;
        rated_utilization "the same, relative to the rate at the start of the run"
            = l.sent_bits() / p.seconds() / l.first_rate.bps() as f64;
        queue_packets "packets waiting at the end of the period" = l.used.queue_packets as f64;
        queue_bytes "IP bytes waiting at the end of the period" [bytes] show(series, whole, line)
            = l.used.queue_bytes.get() as f64;
        mean_queue_packets "mean packets waiting: total waiting time of the arrivals divided by the period (Little's law)"
            = l.used.waited.seconds() / p.seconds();
        max_queue_packets "maximum packets waiting" = l.used.most_packets as f64;
        wait_ms "mean waiting time of the packets queued" [ms] = mean(l.used.waited.milliseconds(), l.used.taken_packets);
        arrived_packets "packets that arrived" = l.used.arrived_packets as f64;
        dropped_packets
            "packets dropped: buffer full, link down on arrival, or link or router failed while they waited (not random losses of the link)"
            show(series, whole) = l.used.dropped_packets as f64;
    }
}

/// A flow in a period, or all streams of a flow of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowPeriod {
    pub window: Bytes,
    pub segment: Bytes,
    pub rtt: Duration,
    /// Size of a full IP packet.
    pub packet: Bytes,
    pub goodput_kbps: f64,
    /// Mean and maximum delay; without packets those of the period before.
    pub delay_ms: (f64, f64),
    pub retransmissions: u64,
    pub timeouts: u64,
}

impl FlowPeriod {
    fn window_packets(&self) -> f64 {
        mean(self.window.get() as f64, self.segment.get())
    }
}

table! {
    /// Flows; a row per flow and period. Over the whole run they are named `GROUP.i`, in a phase of a star `PHASE.ENTRY.FROM-TO`:
    /// all streams of the flow together, for UDP goodput and delays only.
    Flows by flow = |p, f: FlowPeriod| {
        window_packets "congestion window at the end of the period, full segments" show(series) = f.window_packets();
        rtt_ms "smoothed round-trip time at the end of the period" [ms] show(series) = f.rtt.milliseconds();
        rate_kbyte_s "window divided by round-trip time (sending rate of the thesis), IP bytes" [kB/s] show(series)
            // byte/ns = 1e6 kbyte/s.
            = mean(f.window_packets() * f.packet.get() as f64 * 1e6, f.rtt.ns());
        goodput_kbps "in-order payload received" [kb/s] show(series, line) = f.goodput_kbps;
        delay_ms "mean end-to-end delay of the packets received; without packets, the value of the previous period" [ms] show(series)
            = f.delay_ms.0;
        max_delay_ms "maximum end-to-end delay; same rule" [ms] = f.delay_ms.1;
        retransmissions "retransmissions since the start" show(series) = f.retransmissions as f64;
        timeouts "retransmission timeouts since the start" = f.timeouts as f64;
    }
}

/// Order of the packets of a flow in a period.
pub(crate) struct OrderPeriod(OrderUse);

table! {
    /// Packets of flows with `packet_stats: true`; a row per flow and period. Orders are those in which packets with data were sent and
    /// arrived (RFC 4737).
    Reordering by flow = |p, o: OrderPeriod| {
        packets "data packets received" = o.0.packets as f64;
        delay_ms "mean of the end-to-end delay" [ms] = mean(o.0.delay_sum.ns() as f64, o.0.packets) / 1e6;
        delay_deviation_ms "standard deviation of the end-to-end delay" [ms]
            = deviation(o.0.packets, o.0.delay_sum.ns(), o.0.delay_squares_ns2) / 1e6;
        reordered "of these, packets received after one sent later" = o.0.reordered as f64;
        reordered_1 "1-reordered packets (n-reordering, RFC 4737)" = o.0.reordered_1 as f64;
        reordered_3 "3-reordered packets" = o.0.reordered_3 as f64;
        mean_extent "mean reordering extent, packets" = mean(o.0.extent_sum as f64, o.0.reordered);
        max_extent "maximum reordering extent, packets; at most 1024" = o.0.extent_max as f64;
        sent "data segments or datagrams sent, including retransmissions" = o.0.sent as f64;
        retransmissions "retransmissions" = o.0.retransmissions as f64;
        spurious_retransmissions "of these, spurious ones: the receiver had, or got twice, every byte"
            = o.0.needless_retransmissions as f64;
        fast_retransmits "fast recoveries" = o.0.fast_retransmits as f64;
        spurious_fast_retransmits "of these, recoveries whose first retransmission was spurious"
            = o.0.needless_fast_retransmits as f64;
        timeouts "retransmission timeouts" = o.0.timeouts as f64;
        goodput_kbps "in-order payload received for the first time; for UDP, all payload" [kb/s]
            = p.kbps(o.0.delivered_bytes);
        acknowledgments "pure acknowledgments received by the sender" = o.0.acknowledgments as f64;
        compressed_acks "of these, acknowledgments within 24 us of the previous one (ACK compression)"
            = o.0.bunched_acknowledgments as f64;
        min_gap_us "minimum time between two packets sent and received back to back; 0 without any" [us]
            = o.0.gap.unwrap_or_default().0.ns() as f64 / 1e3;
        max_gap_us "maximum of this time" [us] = o.0.gap.unwrap_or_default().1.ns() as f64 / 1e3;
        losses "loss episodes: recoveries or timeouts after all data in flight at the previous one was acknowledged"
            = o.0.losses as f64;
        windows_before_losses_bytes "sum of the congestion windows just before these episodes" [bytes]
            = o.0.window_before_losses.get() as f64;
        deflected_bursts "deflected bursts with its segments that arrived, each counted once" = o.0.trains.deflected as f64;
        lost_bursts "bursts with its segments lost on a link between edges; without aggregation each packet is a burst"
            = o.0.trains.lost as f64;
        timed_out_bursts
            "lost bursts, also of earlier periods, whose segments were all acknowledged in this period after a timeout that followed the loss"
            = o.0.trains.timed_out as f64;
        lost_long_bursts "of the lost bursts, those with at least three of its segments" = o.0.trains.lost_long as f64;
        timed_out_long_bursts "of those with a timeout, the same" = o.0.trains.timed_out_long as f64;
    }
}

#[cfg(test)]
mod tests {
    use slotwise_kinds::{FlowTrains, HostMode, WorldOptions};

    use super::*;

    #[test]
    fn what_became_of_a_flow_s_trains_is_in_the_columns_that_say_so() {
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
        let mut recording = Recording::default();
        let period = Period {
            end: Duration::from_s(1),
            length: Duration::from_s(1),
        };
        recording.add("f.0", &period, &OrderPeriod(order));
        for (name, number) in [
            ("losses", 6.0),
            ("deflected_bursts", 1.0),
            ("lost_bursts", 5.0),
            ("timed_out_bursts", 4.0),
            ("lost_long_bursts", 3.0),
            ("timed_out_long_bursts", 2.0),
        ] {
            assert_eq!(recording.reordering.numbers_of(name), [number], "{name}");
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
        assert_eq!(table.numbers_of("time_s")[16], 0.02);
        assert_eq!(
            table.numbers_of("add_rate_limit_kbps")[0],
            150_000.0,
            "there is no limit"
        );
        assert_eq!(table.numbers_of("added_packets").iter().sum::<f64>(), 0.0);
    }
}
