// SPDX-License-Identifier: Apache-2.0
//! Arrivals of ringlets at stations, and checks of packets that arrive or that cards add.

use slotwise_cards::card::{Card, Record};
use slotwise_cards::message::ring as message;
use slotwise_cards::packet::{Frame, Origin, Packet, UNBORN};
use slotwise_cards::station::port_in;
use slotwise_scenario::Device;
use slotwise_units::Bytes;
use slotwise_wire::{self as wire, RINGLETS, RingData};

use super::parts::{Ring, device};
use super::watch::{OnRing, Taken};
use slotwise_cards::card::Pass;
use slotwise_net::drops::Place;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::ticket::Ticket;
use slotwise_net::work::{Ask, Passed};

/// Data that has arrived at a station, for the checks after its pass.
pub(super) struct Arrival {
    station: u16,
    ringlet: u8,
    headers: (wire::Ring, RingData),
    bytes: Bytes,
}

/// The number of the end of a ringlet at a station.
pub(super) fn end_at(station: u16, ringlet: u8) -> usize {
    usize::from(station) * usize::from(RINGLETS) + usize::from(ringlet)
}

/// The station and the ringlet that meet at an end.
fn station_at(end: usize) -> (u16, u8) {
    let ringlets = usize::from(RINGLETS);
    ((end / ringlets) as u16, (end % ringlets) as u8)
}

/// Ingress port of a ringlet at a station.
fn place_of(device: Device, ringlet: u8) -> Place {
    let port = port_in(ringlet);
    Place::Port { device, port }
}

/// What is no data reaches a station's program.
pub(super) fn message_at_station(fx: &mut Effects<'_>, end: usize, frame: Frame) {
    let (station, ringlet) = station_at(end);
    let origin = Origin::Lane { born: UNBORN };
    fx.ask((device(station), port_in(ringlet)), frame, origin);
}

impl Ring {
    /// A packet arrives at a station by a ringlet.
    pub(super) fn at_station(&mut self, fx: &mut Effects<'_>, end: OwnEnd, packet: Packet) -> Option<Ask> {
        let Packet { mut frame, born } = packet;
        let (station, ringlet) = station_at(end.number as usize);
        let Some((ring, Some(data))) = message::ring(&frame) else {
            match fx.treat((device(station), end), Place::Device(device(station)), &mut frame) {
                true => message_at_station(fx, end.number as usize, frame),
                false => fx.give_back(frame),
            }
            return None;
        };
        let arrival = Arrival {
            station,
            ringlet,
            headers: (ring, data),
            bytes: Bytes::of(frame.len()),
        };
        let number = self.arrivals.insert(arrival);
        let owner = end.owner;
        Some(Ask {
            device: device(station),
            port: port_in(ringlet),
            frame,
            origin: Origin::Lane { born },
            then: Passed::Own(Ticket { owner, number }),
        })
    }

    /// Data has passed the program of a station.
    pub(super) fn watch_arrival(&mut self, fx: &mut Effects<'_>, arrival: Arrival, pass: Pass) {
        let Arrival {
            station,
            ringlet,
            headers,
            bytes,
        } = arrival;
        let (ring, device) = (&headers.0, device(station));
        if !self.watch.is_on_its_way(ring, station, ringlet) {
            fx.broken(Ring::ROUND, place_of(device, ringlet), None);
        }
        let is_over = ring.destination == station || ring.source == station;
        if pass == Pass::Later && !is_over {
            return;
        }
        let record = if !fx.look().runs(device) {
            Record::Forgotten { headers }
        } else if is_over || pass == (Pass::Done { outputs: 0 }) {
            Record::TakenOff {
                ringlet,
                headers,
                bytes,
            }
        } else {
            return;
        };
        fx.record(fx.node(device), record);
    }

    /// A packet has been taken off at a station.
    pub(super) fn taken_off(
        &mut self,
        fx: &mut Effects<'_>,
        (node, ringlet): (usize, u8),
        (ring, data): &(wire::Ring, RingData),
        bytes: Bytes,
    ) {
        let device = fx.device(node);
        let station = device.number();
        let is_over = ring.destination == station || ring.source == station;
        let (broken, times) = match self.watch.leaves(ring, data) {
            Taken::Once(OnRing { accepted_ns, .. }) if ring.destination == station => {
                let delay_ns = fx.now().ns() - accepted_ns;
                return self.watch.delivered(ring, bytes, delay_ns);
            }
            // It came back to its source, which takes it off.
            Taken::Once(_) => (Ring::TRANSIT_LOSS, usize::from(!is_over)),
            Taken::After { lost } => (Ring::TRANSIT_LOSS, lost),
            Taken::Never => (Invariant::DUPLICATE, 1),
        };
        for _ in 0..times {
            fx.broken(broken, place_of(device, ringlet), None);
        }
    }

    /// Restarts the card of a station.
    pub(super) fn reset_station(&mut self, fx: &mut Effects<'_>, station: Device) {
        self.broken = fx.now();
        // Another program may keep it elsewhere.
        self.phase_cells[usize::from(station.number())] = Default::default();
        fx.call_card(self, fx.node(station), Card::restarts);
    }
}
