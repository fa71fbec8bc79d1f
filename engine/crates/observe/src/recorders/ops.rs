// SPDX-License-Identifier: Apache-2.0
//! Measures optical packet switches while a network runs: each wavelength for data, and each switch, every period of its scenario.

use slotwise_kinds::{
    self as kinds, BurstUse, DropReason, FifoUse, OpsEdgeUse, OpsOutputUse, OpsSwitchUse, OpsTrains, RamUse, TrainFate,
    World,
};
use slotwise_scenario::{Device, Ops, Scenario};
use slotwise_units::{Bytes, Duration, Rate};

use super::fluid::Fluid;
use super::routed::LinkPeriod;
use super::shares::PairPeriod;
use super::waits::{self, Waited};
use crate::record::{Period, Recording, deviation, mean, table};

/// Writes down what optical packet switches do.
pub(crate) struct OpsRecorder {
    /// Names of wavelengths for data, in the fabric's order.
    outputs: Vec<String>,
    /// Names of wavelengths for probes, and their rate.
    probes: (Vec<String>, Rate),
    /// Rates of those for data.
    rates: Vec<Rate>,
    switches: Vec<String>,
    edges: Vec<String>,
    /// What pairs of edges should have; `None` where that is not known.
    fluid: Option<Fluid>,
    seconds: waits::Seconds,
}

/// Names of wavelengths for data, `FROM-TO/WAVELENGTH` (`FROM-TO-2/WAVELENGTH` of a second fibre between two edges), in the order of the
/// fabric.
pub(crate) fn output_names(ops: &Ops) -> Vec<String> {
    let fibres = ops.fibres().into_iter();
    let ways = fibres.flat_map(|fibre| ops.way_names(&fibre));
    let wavelengths = |way: String| (0..ops.wavelengths).map(move |wavelength| format!("{way}/{wavelength}"));
    ways.flat_map(wavelengths).collect()
}

/// Names of wavelengths for probes, `FROM-TO/probes`, in the order of the fabric; none where there are no probes.
pub(crate) fn probe_names(ops: &Ops) -> Vec<String> {
    let fibres = ops.probes.map_or_else(Vec::new, |_| ops.fibres());
    let ways = fibres.iter().flat_map(|fibre| ops.way_names(fibre));
    ways.map(|way| format!("{way}/probes")).collect()
}

/// Rates of wavelengths for data, in the order of the fabric.
fn output_rates(ops: &Ops) -> Vec<Rate> {
    let ways = 2 * usize::from(ops.wavelengths);
    let fibres = ops.fibres();
    let rates = fibres
        .iter()
        .flat_map(|fibre| std::iter::repeat_n(ops.rate_of(fibre), ways));
    rates.collect()
}

impl OpsRecorder {
    /// Of the switches of a scenario, if it has any.
    pub(crate) fn new(scenario: &Scenario, network: &World) -> Option<OpsRecorder> {
        let ops = scenario.ops.as_ref()?;
        Some(OpsRecorder {
            outputs: output_names(ops),
            probes: (
                probe_names(ops),
                ops.probes.map_or(Rate::from_bps(0), |probes| probes.rate),
            ),
            rates: output_rates(ops),
            switches: ops.switches.clone(),
            edges: ops.edges.iter().map(|edge| edge.name.clone()).collect(),
            fluid: Fluid::new(scenario, ops, network),
            seconds: waits::Seconds::default(),
        })
    }

    /// The first period begins now; what happened before is left out.
    pub(crate) fn begin(&self, network: &mut World) {
        let Some(mut ops) = network.of_kind_mut::<kinds::Ops>() else {
            return;
        };
        for output in 0..self.outputs.len() {
            ops.take_output_use(output);
        }
        for way in 0..self.probes.0.len() {
            ops.take_probe_use(way);
        }
        for switch in 0..self.switches.len() {
            ops.take_switch_use(Device::Switch(switch as u16));
        }
        for edge in 0..self.edges.len() {
            ops.take_trains(edge as u16);
            ops.take_edge_use(edge as u16);
            ops.take_waits(edge as u16);
        }
    }

    /// A period ends now; (packets, payload bytes) arrived of each flow.
    pub(crate) fn sample(
        &mut self,
        network: &mut World,
        (period, is_last): (&Period, bool),
        delivered: &[(u64, u64)],
        recording: &mut Recording,
    ) {
        for share in self
            .fluid
            .iter()
            .flat_map(|fluid| fluid.shares(network.now().ns(), period.seconds(), delivered))
        {
            let row = PairPeriod {
                rate_bps: share.rate_bps,
                fair_bps: share.fair_bps,
                links: share.links,
            };
            recording.add(share.name, period, &row);
        }
        let Some(mut ops) = network.of_kind_mut::<kinds::Ops>() else {
            return;
        };
        for (output, (name, rate)) in self.outputs.iter().zip(&self.rates).enumerate() {
            if let Some(used) = ops.take_output_use(output) {
                recording.add(name, period, &OutputPeriod::new(&used, *rate));
            }
        }
        let (probes, first_rate) = (&self.probes.0, self.probes.1);
        for (way, name) in probes.iter().enumerate() {
            if let Some(used) = &ops.take_probe_use(way) {
                recording.add(name, period, &LinkPeriod { used, first_rate });
            }
        }
        for (switch, name) in self.switches.iter().enumerate() {
            if let Some(used) = &ops.take_switch_use(Device::Switch(switch as u16)) {
                recording.add(name, period, &SwitchPeriod { used });
            }
        }
        for (edge, name) in self.edges.iter().enumerate() {
            let row = TrainPeriod {
                trains: &ops.take_trains(edge as u16),
                edge: ops.take_edge_use(edge as u16).unwrap_or_default(),
            };
            recording.add(name, period, &row);
        }
        if self.seconds.ends(period, is_last) {
            for (edge, name) in self.edges.iter().enumerate() {
                let waits = ops.take_waits(edge as u16);
                for (up_to_ns, count) in waits.iter().flat_map(waits::bars) {
                    let row = Waited {
                        up_to: Duration::from_ns(up_to_ns),
                        head_of_line: 0,
                        access: count,
                        crossing: 0,
                    };
                    recording.add(name, period, &row);
                }
            }
        }
    }
}

/// A wavelength for data in a period.
#[derive(Default)]
pub(crate) struct OutputPeriod {
    rate: Rate,
    bytes: Bytes,
    frames: u64,
    tcp_frames: u64,
    trains: u64,
    waited_trains: u64,
    waited: Duration,
    /// Bursts or packets in the mean of the waiting time.
    waited_of: u64,
    ram_bytes: Bytes,
    queue_bytes: Bytes,
    dropped: u64,
    intervals: u64,
    overloaded_intervals: u64,
}

impl OutputPeriod {
    fn new(used: &OpsOutputUse, rate: Rate) -> OutputPeriod {
        match *used {
            OpsOutputUse::Ram(RamUse {
                bursts,
                frames,
                bytes,
                waited_bursts,
                waited,
                most_bytes,
                lost_frames,
                intervals,
                overloaded_intervals,
                ..
            }) => OutputPeriod {
                rate,
                bytes,
                frames,
                trains: bursts,
                waited_trains: waited_bursts,
                waited,
                waited_of: bursts,
                ram_bytes: most_bytes,
                dropped: lost_frames,
                intervals,
                overloaded_intervals,
                ..OutputPeriod::default()
            },
            OpsOutputUse::Trains(BurstUse {
                sent_bursts,
                sent_frames,
                sent_tcp_frames,
                sent_bytes,
                waited_bursts,
                waited,
                queue_bytes,
                lost_bursts,
                ..
            }) => OutputPeriod {
                rate,
                bytes: sent_bytes,
                frames: sent_frames,
                tcp_frames: sent_tcp_frames,
                trains: sent_bursts,
                waited_trains: waited_bursts,
                waited,
                waited_of: sent_bursts,
                queue_bytes,
                dropped: lost_bursts,
                ..OutputPeriod::default()
            },
            // Each packet is a burst.
            OpsOutputUse::Queue(FifoUse {
                taken_packets,
                dropped_packets,
                sent_packets,
                sent_bytes,
                waited,
                queue_bytes,
                ..
            }) => OutputPeriod {
                rate,
                bytes: sent_bytes,
                frames: sent_packets,
                trains: sent_packets,
                waited,
                waited_of: taken_packets,
                queue_bytes,
                dropped: dropped_packets,
                ..OutputPeriod::default()
            },
        }
    }

    fn bits(&self) -> f64 {
        self.bytes.get() as f64 * 8.0
    }
}

table! {
    /// Wavelengths for data of optical packet switches and their edges; a row per wavelength (`FROM-TO/WAVELENGTH`, of a second fibre between two
    /// edges `FROM-TO-2/WAVELENGTH`) and period. Bytes are those that links count.
    Outputs by output shown as links = |p, o: OutputPeriod| {
        utilization "bits of frames that began transmission or entered optical RAM, divided by the bits that the rate allows"
            show(series, line) = o.bits() / (o.rate.bps() as f64 * p.seconds());
        kbps "the same" [kb/s] = o.bits() / 1e3 / p.seconds();
        frames "frames" = o.frames as f64;
        bursts "bursts, counted by labels" = o.trains as f64;
        buffered_bursts "of these, bursts buffered in optical RAM; 0 at edges" = o.waited_trains as f64;
        wait_us "mean waiting time of all bursts; at edges, of packets in their queue" [us]
            = mean(o.waited.ns() as f64 / 1e3, o.waited_of);
        max_ram_bytes "maximum backlog found by an arriving burst; 0 at edges" [bytes] show(series as ram_bytes, whole)
            = o.ram_bytes.get() as f64;
        queue_bytes "bytes waiting at the end of the period; 0 at switches" [bytes] show(series, whole, line)
            = o.queue_bytes.get() as f64;
        dropped_packets "frames dropped by the line card: queue full or fibre down" show(series, whole) = o.dropped as f64;
        intervals "completed intervals of its XCP agent; 0 at edges" = o.intervals as f64;
        overloaded_intervals "of these, overloaded intervals: arrivals above 1.05 times its rate, including drops"
            = o.overloaded_intervals as f64;
        tcp_frames "frames with TCP; 0 at switches, and at edges of packets" = o.tcp_frames as f64;
    }
}

/// An optical packet switch in a period.
pub(crate) struct SwitchPeriod<'a> {
    used: &'a OpsSwitchUse,
}

impl SwitchPeriod<'_> {
    fn trains(&self, fate: TrainFate) -> f64 {
        self.used.trains[usize::from(u8::from(fate))] as f64
    }

    fn dropped(&self, reason: DropReason) -> f64 {
        *self.used.drops.get(&reason).unwrap_or(&0) as f64
    }
}

table! {
    /// Optical packet switches, by the counters of their P4 program; a row per switch and period.
    Switches by switch = |p, s: SwitchPeriod<'_>| {
        forwarded "bursts forwarded at once on the preferred fibre" show(series, line) = s.trains(TrainFate::Straight);
        buffered "bursts forwarded on it after buffering in optical RAM" show(series) = s.trains(TrainFate::Waited);
        converted "bursts forwarded on it after wavelength conversion" show(series) = s.trains(TrainFate::Converted);
        deflected "bursts deflected to another fibre" show(series) = s.trains(TrainFate::Deflected);
        blocked "bursts blocked" show(series) = s.trains(TrainFate::Refused);
        dropped "frames dropped" show(series) = s.used.drops.values().sum::<u64>() as f64;
        contention "of these, because all outputs were busy" = s.dropped(DropReason::Contention);
        not_deflected "because the preferred output was busy and no deflections were left" = s.dropped(DropReason::NotDeflected);
        no_route "because no fibre leads to their edge" = s.dropped(DropReason::NoRoute);
        ttl_expired "because no hops were left" = s.dropped(DropReason::TtlExpired);
        bad_field "because of an invalid label" = s.dropped(DropReason::BadField);
    }
}

/// Bursts of an edge in a period.
pub(crate) struct TrainPeriod<'a> {
    trains: &'a OpsTrains,
    edge: OpsEdgeUse,
}

table! {
    /// Bursts of edges of optical packet switches; a row per edge and period. Bytes are those of IP packets.
    Bursts by edge = |p, t: TrainPeriod<'_>| {
        assembled "bursts assembled by the edge" = t.trains.formed as f64;
        packets "packets in these bursts" = t.trains.packets as f64;
        packet_bytes "bytes in these bursts" [bytes] = t.trains.packet_bytes.get() as f64;
        max_bytes "bytes of the largest burst" [bytes] = t.trains.most_bytes.get() as f64;
        blocked "bursts without buffer space at an output; without aggregation counted by P4" = t.trains.refused as f64;
        delivered "bursts delivered to another edge" = t.trains.delivered as f64;
        lost "bursts lost in the network" = t.trains.lost as f64;
        lost_by_links "of these, on links between edges" = t.trains.lost_by_links as f64;
        packets_lost_by_links "packets in the lost bursts" = t.trains.packets_lost_by_links as f64;
        undeflected_ms "mean transit time of the bursts delivered without a deflection; without their transmission time" [ms]
            = mean(t.trains.straight.sum.milliseconds(), t.trains.straight.trains);
        deflected "deflected bursts delivered; deflected at a switch, or into the alternate fibre between two edges"
            = t.trains.deflected.trains as f64;
        deflected_lost "deflected bursts lost" = t.trains.deflected_lost as f64;
        deflected_ms "mean transit time of the deflected bursts delivered" [ms]
            = mean(t.trains.deflected.sum.milliseconds(), t.trains.deflected.trains);
        deflected_deviation_ms "standard deviation of this time" [ms]
            = deviation(t.trains.deflected.trains, t.trains.deflected.sum.ns(), t.trains.deflected.squares_ns2) / 1e6;
        in_flight "bursts in flight at the end of the period" = t.trains.under_way as f64;
        resequenced "packets from other edges that waited for resequencing" = t.trains.resequenced as f64;
        max_probe_ms "maximum time from a probe to the resulting rate; 0 without probes" [ms]
            = t.edge.probe_round_trip.milliseconds();
        max_held_bytes "maximum bytes waiting in the edge; 0 without aggregation or pacing" [bytes] = t.edge.most_held.get() as f64;
        unserved "bursts without a row in `delays`: paced at the end of the period, or lost meanwhile"
            = t.edge.unserved_trains as f64;
    }
}

#[cfg(test)]
mod tests {
    use slotwise_kinds::{HostMode, OpsOutput, OpsTransit, WorldOptions};

    use super::*;
    use crate::recorders::routed::RoutedRecorder;

    /// The name of an output as a scenario calls it.
    fn name_of(ops: &Ops, output: &OpsOutput) -> String {
        let [from, to] = [output.from, output.to].map(|(device, _)| ops.node_name(device));
        // Port 256 is the first one.
        let wavelength = output.from.1 & ((1 << ops.fibre_shift()) - 1);
        format!("{from}-{to}/{wavelength}")
    }

    #[test]
    fn trains_that_came_or_not_are_in_the_columns_that_say_so() {
        let trains = OpsTrains {
            lost: 7,
            packets_lost_by_links: 8,
            straight: OpsTransit {
                trains: 2,
                sum: Duration::from_ns(6_000_000),
                squares_ns2: 20_000_000_000_000,
            },
            deflected: OpsTransit {
                trains: 4,
                sum: Duration::from_ns(40_000_000),
                squares_ns2: 436_000_000_000_000,
            },
            deflected_lost: 5,
            under_way: 9,
            ..OpsTrains::default()
        };
        let edge = OpsEdgeUse {
            most_held: Bytes::new(11),
            probe_round_trip: Duration::from_ns(2_000_000),
            unserved_trains: 12,
        };
        let mut recording = Recording::default();
        let row = TrainPeriod { trains: &trains, edge };
        recording.add("e0", &Period::default(), &row);
        for (name, number) in [
            ("lost", 7.0),
            ("packets_lost_by_links", 8.0),
            ("undeflected_ms", 3.0),
            ("deflected", 4.0),
            ("deflected_lost", 5.0),
            ("deflected_ms", 10.0),
            ("deflected_deviation_ms", 3.0),
            ("in_flight", 9.0),
            ("max_probe_ms", 2.0),
            ("max_held_bytes", 11.0),
            ("unserved", 12.0),
        ] {
            assert_eq!(recording.bursts.numbers_of(name), [number], "{name}");
        }
    }

    #[test]
    fn there_is_a_row_an_output_and_a_switch_a_period() {
        let text = String::from_utf8_lossy(include_bytes!("../../../../../topologies/nsfnet.yaml"));
        let text = text.replace(
            "ram: 9 KB",
            "ram: 9 KB\n  wavelengths: 2\n  probes: {rate_bps: 100000000, period_ns: 50000000}",
        );
        let scenario = Scenario::parse(text.as_bytes()).unwrap();
        let ops = scenario.ops.as_ref().unwrap();
        let options = WorldOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        };
        let mut network = World::new(&scenario, options);
        let named: Vec<String> = network
            .of_kind::<kinds::Ops>()
            .unwrap()
            .outputs()
            .iter()
            .map(|output| name_of(ops, output))
            .collect();
        let mut recorder = RoutedRecorder::new(&scenario, &network);
        for _ in 0..2 {
            network.run_until(recorder.next().unwrap());
            recorder.sample(&mut network);
        }
        let recording = recorder.finish();
        let outputs = 2 * 2 * (21 + 14);
        assert_eq!(recording.outputs.names.len(), 2 * outputs);
        assert_eq!(recording.outputs.names[..outputs], named);
        assert_eq!(recording.outputs.names[..3], ["s0-s1/0", "s0-s1/1", "s1-s0/0"]);
        assert_eq!(recording.switches.names.len(), 2 * 14);
        assert_eq!(recording.links.names.len(), 2 * probe_names(ops).len());
        assert_eq!(recording.links.names[..2], ["s0-s1/probes", "s1-s0/probes"]);
        assert_eq!(recording.outputs.numbers_of("time_s")[outputs], 0.2);
        assert_eq!(recording.outputs.numbers_of("kbps").iter().sum::<f64>(), 0.0);
    }
}
