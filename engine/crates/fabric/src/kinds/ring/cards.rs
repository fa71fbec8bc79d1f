// SPDX-License-Identifier: Apache-2.0
//! Arrivals of ringlets at stations, and checks of packets that arrive or that cards add.

use slotwise_cards::message::ring as message;
use slotwise_cards::packet::{Flying, Frame, Origin, Packet, UNBORN};
use slotwise_cards::station::{StationCard, port_in, port_out};
use slotwise_cards::transit_first::Settings;
use slotwise_scenario::Device;
use slotwise_units::Duration;
use slotwise_wire::{RINGLETS, Ring, RingData};

use super::device;
use super::watch::{OnRing, Taken};
use crate::drops::Place;
use crate::faults::{LightWay, Way};
use crate::invariants::Invariant;
use crate::net::event::{CardTimer, Event};
use crate::net::kind::End;
use crate::net::lane::LaneEnd;
use crate::net::node::{Before, NodeCard, NodePort};
use crate::net::pump::{Pass, Passed};
use crate::world::Fabric;

/// Data that has arrived at a station, for the checks after its pass.
pub(crate) struct Arrival {
    station: u16,
    ringlet: u8,
    ring: Ring,
    data: RingData,
    bytes: u64,
}

/// Where ringlets come to stations, by number.
static AT_STATION: End = End {
    arrive: |fabric, end, flying: Flying| fabric.at_station(end, flying.packet),
};

/// Messages that come there.
static TO_STATION: LightWay = LightWay {
    place: |_, end| Place::Device(device(station_at(end).0)),
    arrive: Fabric::message_at_station,
};

/// The number of the end of a ringlet at a station.
fn end_at(station: u16, ringlet: u8) -> usize {
    usize::from(station) * usize::from(RINGLETS) + usize::from(ringlet)
}

/// The station and the ringlet that meet at an end.
fn station_at(end: usize) -> (u16, u8) {
    let ringlets = usize::from(RINGLETS);
    ((end / ringlets) as u16, (end % ringlets) as u8)
}

impl Fabric {
    /// Adds the link of a station for a ringlet to another station; its first interval ends at time 0.
    pub(super) fn add_ring_link(
        &mut self,
        (station, ringlet, to): (u16, u8, u16),
        settings: Settings,
        delay_ns: u64,
    ) -> NodePort {
        let lane = self.add_lane(LaneEnd::own(&AT_STATION, end_at(to, ringlet)));
        let node = self.node(device(station));
        let NodeCard::Station(card) = &mut self.nodes[node].own_card else {
            unreachable!("stations are added with their cards");
        };
        let timer = card.add_link(ringlet, settings, lane as u32, Duration::from_ns(delay_ns));
        let port = port_out(ringlet);
        self.nodes[node].set_before(port, Before::Card);
        self.events.schedule(0, Event::Timer(CardTimer::new(node, timer)));
        NodePort { node, port }
    }

    /// The card of a station, if there is such a station.
    pub(super) fn station_card(&mut self, station: u16) -> Option<&mut StationCard> {
        let node = self.node(device(station));
        match &mut self.nodes.get_mut(node)?.own_card {
            NodeCard::Station(card) => Some(card),
            _ => None,
        }
    }

    /// A packet arrives at a station by a ringlet.
    fn at_station(&mut self, end: usize, packet: Packet) {
        let Packet { mut frame, born } = packet;
        let Some((ring, Some(data))) = message::ring(&frame) else {
            match self.passes_faults(Way::light(&TO_STATION, end), &mut frame) {
                true => self.message_at_station(end, frame),
                false => self.out.frames.give_back(frame),
            }
            return;
        };
        let (station, ringlet) = station_at(end);
        let arrival = Arrival {
            station,
            ringlet,
            ring,
            data,
            bytes: frame.len() as u64,
        };
        let (device, port) = (device(station), port_in(ringlet));
        self.enter((device, port), frame, Origin::Lane { born }, Passed::OnRing(arrival));
    }

    /// What is no data reaches a station's program.
    fn message_at_station(&mut self, end: usize, frame: Frame) {
        let (station, ringlet) = station_at(end);
        let origin = Origin::Lane { born: UNBORN };
        self.ask(device(station), port_in(ringlet), frame, origin);
    }

    /// Data has passed the program of a station.
    pub(crate) fn watch_arrival(&mut self, arrival: &Arrival, pass: Pass) {
        let &Arrival {
            station,
            ringlet,
            ref ring,
            ref data,
            bytes,
        } = arrival;
        let place = Place::Port {
            device: device(station),
            port: port_in(ringlet),
        };
        if !self.ring.watch.is_on_its_way(ring, station, ringlet) {
            self.invariants.violated(Invariant::ROUND, self.now_ns, place, None);
        }
        let is_over = ring.destination == station || ring.source == station;
        if pass == Pass::Later && !is_over {
            return;
        }
        if !self.runs(device(station)) {
            return self.ring.watch.forget(ring, data);
        }
        if !is_over && pass != (Pass::Done { outputs: 0 }) {
            return;
        }
        let (broken, times) = match self.ring.watch.leaves(ring, data) {
            Taken::Once(OnRing { accepted_ns, .. }) if ring.destination == station => {
                let delay_ns = self.now_ns - accepted_ns;
                return self.ring.watch.delivered(ring, bytes, delay_ns);
            }
            // It came back to its source, which takes it off.
            Taken::Once(_) => (Invariant::TRANSIT_LOSS, usize::from(!is_over)),
            Taken::After { lost } => (Invariant::TRANSIT_LOSS, lost),
            Taken::Never => (Invariant::DUPLICATE, 1),
        };
        for _ in 0..times {
            self.invariants.violated(broken, self.now_ns, place, None);
        }
    }

    /// Notes a change of a link of a station.
    pub(crate) fn note_dark_station(&mut self) {
        self.ring.broken_ns = self.now_ns;
    }

    /// Restarts the card of a station.
    pub(super) fn reset_station(&mut self, device: Device) {
        self.ring.broken_ns = self.now_ns;
        // Another program may keep it elsewhere.
        self.ring.phase_cells[usize::from(device.number())] = Default::default();
        self.restart_card(device);
    }
}
