// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches of a scenario, their edges, the fibres between them, and hosts.

use slotwise_p4::Port;
use slotwise_scenario::{Device, Ops, Scenario};
use slotwise_wire::PORT_OPTICAL_BASE;

use super::cards::{Before, FibreEnd};
use super::measure::SwitchMeter;
use super::watch::Watch;
use super::{EDGE, SWITCH};
use crate::access::FIFO;
use crate::fabric::Fabric;
use crate::fifo::{Fifo, Limit};
use crate::kind::{CardAt, Part};
use crate::lane::LaneEnd;
use crate::optical_ram::{ByteTime, OpticalRam, RamSettings};
use crate::span::Span;

/// Probes wait in electronic memory, of which there is enough.
const PROBE_BUFFER_BYTES: u64 = 1 << 30;

impl Fabric {
    /// Switches, edges, what joins them, and hosts.
    pub(super) fn add_ops(&mut self, scenario: &Scenario, ops: &Ops) {
        self.add_nodes(
            &SWITCH,
            (0..ops.switches.len()).map(|number| Device::Switch(number as u16)),
        );
        self.add_nodes(&EDGE, (0..ops.edges.len()).map(|number| Device::OpsEdge(number as u16)));
        self.ops = Part::of(super::Ops {
            cards: Vec::new(),
            entrances: Vec::new(),
            switches: (0..ops.switches.len()).map(|_| SwitchMeter::default()).collect(),
            watch: Watch::new(ops.edges.len()),
            converts: ops.conversion,
            framing_bytes: usize::from(ops.framing_bytes),
            looked_at: None,
        });
        let shift = ops.fibre_shift();
        let ports = u16::from(ops.wavelengths) + u16::from(ops.probes.is_some());
        for fibre in ops.fibres() {
            let ends = fibre
                .ends
                .map(|(device, number)| (device, PORT_OPTICAL_BASE + (u16::from(number) << shift)));
            let mut cards = Vec::new();
            for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                for wavelength in 0..u16::from(ops.wavelengths) {
                    let end = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + wavelength,
                    };
                    cards.push(self.add_ops_card(ops, end(from), end(to), fibre.delay_ns));
                }
                if let Some(probes) = ops.probes {
                    let wavelength = u16::from(ops.wavelengths);
                    let ((device, first), (far, far_first)) = (from, to);
                    let lane = self.add_lane(LaneEnd::Port {
                        device: far,
                        port: far_first + wavelength,
                    });
                    let link = (probes.rate_bps, fibre.delay_ns);
                    let queue = Fifo::new(lane, link, Limit::Bytes(PROBE_BUFFER_BYTES), 0);
                    let card = self.add_port_fifo(queue, device, first + wavelength);
                    cards.push(CardAt::new(&FIFO, card));
                }
            }
            self.spans.push(Span {
                cards,
                ends,
                ports,
                is_up: true,
                is_cut: false,
            });
        }
        self.add_groups(scenario, |_| 1);
    }

    fn add_ops_card(&mut self, ops: &Ops, from: FibreEnd, to: FibreEnd, delay_ns: u64) -> CardAt {
        let byte_time = ByteTime::of_rate(ops.rate_bps);
        let lane = self.add_entrance(to);
        let before = match from.device {
            Device::Switch(_) => {
                let mut ram = OpticalRam::new(RamSettings {
                    byte_time,
                    ram_bytes: ops.ram_bytes,
                    guard_ns: ops.guard_ns,
                });
                if ops.probes.is_some() {
                    ram.start_timers(0);
                }
                Before::Ram(ram)
            }
            // Whole packets wait there, before their first bit leaves.
            _ => {
                let link = (ops.rate_bps, delay_ns);
                let limit = Limit::Bytes(ops.buffer_bytes);
                Before::Queue(Fifo::new(lane, link, limit, usize::from(ops.framing_bytes)))
            }
        };
        self.add_card_of_ops(before, (from, to), (lane, delay_ns), byte_time)
    }
}
