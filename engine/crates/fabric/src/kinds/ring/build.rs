// SPDX-License-Identifier: Apache-2.0
//! A ring of a scenario: its stations, the cards and links between them, and their hosts.

use slotwise_scenario::{Device, RING_OVERHEAD, Ring, Scenario};
use slotwise_units::Bytes;
use slotwise_wire::{PORT_RING_EAST, PORT_RING_WEST};

use super::STATION;
use super::watch::Watch;
use crate::net::kind::Part;
use crate::net::node::NodeCard;
use crate::world::Fabric;
use slotwise_cards::station::StationCard;
use slotwise_cards::transit_first::Settings;

impl Fabric {
    /// Stations, what joins them, and their hosts.
    pub(super) fn add_ring(&mut self, scenario: &Scenario, ring: &Ring) {
        self.add_nodes(
            &STATION,
            (0..ring.stations.len()).map(|station| Device::Station(station as u16)),
        );
        for station in 0..ring.stations.len() as u16 {
            let node = self.node(Device::Station(station));
            self.nodes[node].own_card = NodeCard::Station(Box::new(StationCard::new(station)));
        }
        self.ring = Part::of(super::Ring {
            phase_cells: vec![Default::default(); ring.stations.len()],
            watch: Watch::new(ring.stations.len()),
            hol_timer_ns: ring.timing.hol_timer.ns(),
            broken_ns: 0,
        });
        let settings = Settings {
            rate: ring.rate,
            frame: Bytes::new(scenario.routed.packet_bytes.into()) + RING_OVERHEAD,
            bucket: Bytes::new(ring.timing.bucket_bytes.into()),
            buffer: ring.ingress.buffer,
            shaper: ring.ingress.rate,
        };
        for (station, next) in ring.spans() {
            let ends = [
                (Device::Station(station), PORT_RING_EAST),
                (Device::Station(next), PORT_RING_WEST),
            ];
            let east = self.add_ring_link((station, 0, next), settings, ring.delay.ns());
            let west = self.add_ring_link((next, 1, station), settings, ring.delay.ns());
            self.add_to_span(east, ends[0], ends[1]);
            self.add_to_span(west, ends[1], ends[0]);
        }
        self.add_groups(scenario, |_| 1);
    }
}
