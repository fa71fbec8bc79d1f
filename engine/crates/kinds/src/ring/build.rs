// SPDX-License-Identifier: Apache-2.0
//! A ring of a scenario: its stations, the cards and links between them, and their hosts.

use slotwise_cards::card::Expiry;
use slotwise_cards::station::{StationCard, port_out};
use slotwise_cards::transit_first::Settings;
use slotwise_scenario::{self as scenario, Device, RING_OVERHEAD, Scenario};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{PORT_RING_EAST, PORT_RING_WEST};

use super::cards::end_at;
use super::parts::{Ring, device};
use super::watch::Watch;
use crate::build::Build;
use slotwise_net::node::{NodeKind, NodePort};
use slotwise_net::ticket::Tickets;

impl Ring {
    /// Stations, what joins them, and their hosts.
    pub(super) fn added_to(build: &mut Build, scenario: &Scenario, ring: &scenario::Ring) -> Ring {
        let stations = 0..ring.stations.len() as u16;
        build.add_nodes(&NodeKind::PLAIN, stations.clone().map(device));
        for station in stations {
            build.set_card(device(station), StationCard::new(station));
        }
        let settings = Settings {
            rate: ring.rate,
            frame: Bytes::new(scenario.routed.packet_bytes.into()) + RING_OVERHEAD,
            bucket: Bytes::new(ring.timing.bucket_bytes.into()),
            buffer: ring.ingress.buffer,
            shaper: ring.ingress.rate,
        };
        for (station, next) in ring.spans() {
            let ends = [(device(station), PORT_RING_EAST), (device(next), PORT_RING_WEST)];
            let east = add_link(build, (station, 0, next), settings, ring);
            let west = add_link(build, (next, 1, station), settings, ring);
            build.add_to_span(east, ends[0], ends[1]);
            build.add_to_span(west, ends[1], ends[0]);
        }
        build.add_groups(scenario, |_: Device| 1);
        Ring {
            phase_cells: vec![Default::default(); ring.stations.len()],
            watch: Watch::new(ring.stations.len()),
            hol_timer_ns: ring.timing.hol_timer.ns(),
            broken: Instant::ZERO,
            arrivals: Tickets::default(),
        }
    }
}

/// Adds the link of a station for a ringlet to another station; its first interval ends at time 0.
fn add_link(
    build: &mut Build,
    (station, ringlet, to): (u16, u8, u16),
    settings: Settings,
    ring: &scenario::Ring,
) -> NodePort {
    let lane = build.add_own_lane(0, end_at(to, ringlet));
    let device = device(station);
    let card = build.card::<StationCard>(device);
    let timer = card.add_link(ringlet, settings, lane as u32, ring.delay);
    let before = build.set_card_before(device, port_out(ringlet));
    build.set_timer(device, timer, 0, Expiry::First);
    before
}
