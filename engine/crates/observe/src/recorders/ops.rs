// SPDX-License-Identifier: Apache-2.0
//! Measures optical packet switches while a network runs: each wavelength for data, and each switch, every period of its scenario.

use slotwise_fabric::{
    BurstUse, DropReason, FifoUse, OpsEdgeUse, OpsOutputUse, OpsTrains, RamUse, TrainFate, World, kinds,
};
use slotwise_scenario::{Device, Ops, Scenario};
use slotwise_units::Bytes;

use super::fluid::Fluid;
use super::routed::{Period, link_row};
use super::waits;
use crate::record::{Recording, deviation, mean};

/// Writes down what optical packet switches do.
pub(crate) struct OpsRecorder {
    /// Names of wavelengths for data, in the fabric's order.
    outputs: Vec<String>,
    /// Names of wavelengths for probes, and their rate.
    probes: (Vec<String>, u64),
    /// Their rates.
    rates_bps: Vec<u64>,
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
fn output_rates(ops: &Ops) -> Vec<u64> {
    let ways = 2 * usize::from(ops.wavelengths);
    let fibres = ops.fibres();
    let rates = fibres
        .iter()
        .flat_map(|fibre| std::iter::repeat_n(ops.rate_of(fibre).bps(), ways));
    rates.collect()
}

impl OpsRecorder {
    /// Of the switches of a scenario, if it has any.
    pub(crate) fn new(scenario: &Scenario, network: &World) -> Option<OpsRecorder> {
        let ops = scenario.ops.as_ref()?;
        Some(OpsRecorder {
            outputs: output_names(ops),
            probes: (probe_names(ops), ops.probes.map_or(0, |probes| probes.rate.bps())),
            rates_bps: output_rates(ops),
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
            .flat_map(|fluid| fluid.shares(network.now().ns(), period.seconds, delivered))
        {
            let row = [
                period.end_s,
                share.rate_bps / 1e3,
                share.fair_bps / 1e3,
                share.links as f64,
            ];
            recording.fairness.push(share.name, row);
        }
        let Some(mut ops) = network.of_kind_mut::<kinds::Ops>() else {
            return;
        };
        for (output, (name, rate_bps)) in self.outputs.iter().zip(&self.rates_bps).enumerate() {
            if let Some(used) = ops.take_output_use(output) {
                recording.outputs.push(name, output_row(period, &used, *rate_bps));
            }
        }
        let (probes, probe_bps) = &self.probes;
        for (way, name) in probes.iter().enumerate() {
            if let Some(used) = ops.take_probe_use(way) {
                recording.links.push(name, link_row(period, &used, *probe_bps));
            }
        }
        for (switch, name) in self.switches.iter().enumerate() {
            let Some(used) = ops.take_switch_use(Device::Switch(switch as u16)) else {
                continue;
            };
            let fate = |fate: TrainFate| used.trains[usize::from(u8::from(fate))] as f64;
            let dropped = |reason: DropReason| *used.drops.get(&reason).unwrap_or(&0) as f64;
            let all: u64 = used.drops.values().sum();
            let row = [
                period.end_s,
                fate(TrainFate::Straight),
                fate(TrainFate::Waited),
                fate(TrainFate::Converted),
                fate(TrainFate::Deflected),
                fate(TrainFate::Refused),
                all as f64,
                dropped(DropReason::Contention),
                dropped(DropReason::NotDeflected),
                dropped(DropReason::NoRoute),
                dropped(DropReason::TtlExpired),
                dropped(DropReason::BadField),
            ];
            recording.switches.push(name, row);
        }
        for (edge, name) in self.edges.iter().enumerate() {
            let trains = ops.take_trains(edge as u16);
            let used = ops.take_edge_use(edge as u16);
            recording
                .trains
                .push(name, train_row(period, &trains, &used.unwrap_or_default()));
        }
        if self.seconds.ends(period.end_s, is_last) {
            for (edge, name) in self.edges.iter().enumerate() {
                let waits = ops.take_waits(edge as u16);
                for (up_to_ns, count) in waits.iter().flat_map(waits::bars) {
                    let row = [period.end_s, up_to_ns as f64 / 1e6, 0.0, count as f64, 0.0];
                    recording.delays.push(name, row);
                }
            }
        }
    }
}

/// In the order of [`crate::record::TRAIN_COLUMNS`].
fn train_row(period: &Period, trains: &OpsTrains, used: &OpsEdgeUse) -> [f64; 20] {
    let (straight, deflected) = (trains.straight, trains.deflected);
    [
        period.end_s,
        trains.formed as f64,
        trains.packets as f64,
        trains.packet_bytes.get() as f64,
        trains.most_bytes.get() as f64,
        trains.refused as f64,
        trains.delivered as f64,
        trains.lost as f64,
        trains.lost_by_links as f64,
        trains.packets_lost_by_links as f64,
        mean(straight.sum.milliseconds(), straight.trains),
        deflected.trains as f64,
        trains.deflected_lost as f64,
        mean(deflected.sum.milliseconds(), deflected.trains),
        deviation(deflected.trains, deflected.sum.ns(), deflected.squares_ns2) / 1e6,
        trains.under_way as f64,
        trains.resequenced as f64,
        used.probe_round_trip.milliseconds(),
        used.most_held.get() as f64,
        used.unserved_trains as f64,
    ]
}

fn output_row(period: &Period, used: &OpsOutputUse, rate_bps: u64) -> [f64; 13] {
    let bits = |bytes: Bytes| bytes.get() as f64 * 8.0;
    let row = |(frames, tcp_frames): (u64, u64), bytes: Bytes, rest: [f64; 6], (intervals, overloaded): (u64, u64)| {
        let [waited, wait_us, most, queue, dropped, trains] = rest;
        [
            period.end_s,
            bits(bytes) / (rate_bps as f64 * period.seconds),
            bits(bytes) / 1e3 / period.seconds,
            frames as f64,
            trains,
            waited,
            wait_us,
            most,
            queue,
            dropped,
            intervals as f64,
            overloaded as f64,
            tcp_frames as f64,
        ]
    };
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
        }) => {
            let wait_us = mean(waited.ns() as f64 / 1e3, bursts);
            let rest = [
                waited_bursts as f64,
                wait_us,
                most_bytes.get() as f64,
                0.0,
                lost_frames as f64,
                bursts as f64,
            ];
            row((frames, 0), bytes, rest, (intervals, overloaded_intervals))
        }
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
        }) => {
            let rest = [
                waited_bursts as f64,
                mean(waited.ns() as f64 / 1e3, sent_bursts),
                0.0,
                queue_bytes.get() as f64,
                lost_bursts as f64,
                sent_bursts as f64,
            ];
            row((sent_frames, sent_tcp_frames), sent_bytes, rest, (0, 0))
        }
        OpsOutputUse::Queue(FifoUse {
            taken_packets,
            dropped_packets,
            sent_packets,
            sent_bytes,
            waited,
            queue_bytes,
            ..
        }) => {
            let wait_us = mean(waited.ns() as f64 / 1e3, taken_packets);
            // Each packet is a burst.
            let rest = [
                0.0,
                wait_us,
                0.0,
                queue_bytes.get() as f64,
                dropped_packets as f64,
                sent_packets as f64,
            ];
            row((sent_packets, 0), sent_bytes, rest, (0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use slotwise_fabric::{HostMode, OpsOutput, OpsTransit, WorldOptions};
    use slotwise_units::Duration;

    use super::*;
    use crate::record::TRAIN_COLUMNS;
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
        let period = Period {
            end_s: 1.0,
            seconds: 1.0,
        };
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
        let used = OpsEdgeUse {
            most_held: Bytes::new(11),
            probe_round_trip: Duration::from_ns(2_000_000),
            unserved_trains: 12,
        };
        let row = train_row(&period, &trains, &used);
        for (name, number) in [
            ("lost", 7.0),
            ("packets_lost_by_links", 8.0),
            ("straight_ms", 3.0),
            ("deflected", 4.0),
            ("deflected_lost", 5.0),
            ("deflected_ms", 10.0),
            ("deflected_deviation_ms", 3.0),
            ("under_way", 9.0),
            ("longest_probe_ms", 2.0),
            ("most_held_bytes", 11.0),
            ("unserved", 12.0),
        ] {
            let column = TRAIN_COLUMNS.iter().position(|column| column.name == name);
            assert_eq!(row[column.expect("it is one")], number, "{name}");
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
        let column = |name: &str| &recording.outputs.numbers[recording.outputs.column(name).unwrap()];
        assert_eq!(recording.links.names.len(), 2 * probe_names(ops).len());
        assert_eq!(recording.links.names[..2], ["s0-s1/probes", "s1-s0/probes"]);
        assert_eq!(column("time_s")[outputs], 0.2);
        assert_eq!(column("kbps").iter().sum::<f64>(), 0.0);
    }
}
