// SPDX-License-Identifier: Apache-2.0
//! Wavelengths for probes: stored and forwarded by electronic queues. What is on them are control messages, to which faults may happen.

use slotwise_units::{Bytes, Duration, Rate};

use super::cards::FibreEnd;
use super::parts::{Ops, PROBE_END};
use crate::build::Build;
use slotwise_cards::admission::Admission;
use slotwise_cards::fifo::Fifo;
use slotwise_cards::packet::{Flying, Frame, Origin, UNBORN};
use slotwise_net::effects::Effects;
use slotwise_net::lane::OwnEnd;
use slotwise_net::node::NodePort;

/// Probes wait in electronic memory, of which there is enough.
const PROBE_BUFFER: Bytes = Bytes::new(1 << 30);

impl Ops {
    /// Adds the card before a wavelength for probes, of this rate and delay, and the wavelength.
    pub(super) fn add_probe_card(
        &mut self,
        build: &mut Build,
        link: (Rate, Duration),
        (from, to): (FibreEnd, FibreEnd),
    ) -> NodePort {
        let lane = build.add_own_lane(PROBE_END, self.probe_ends.len());
        self.probe_ends.push(to);
        let queue = Fifo::new(lane, link, Admission::bytes(PROBE_BUFFER), 0);
        self.probe_queues.push((from.device, from.port));
        build.add_link(queue, from.device, from.port)
    }

    pub(super) fn probe_arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) {
        let mut frame = flying.packet.frame;
        let number = end.number as usize;
        let at = self.probe_ends[number];
        match fx.treat((at.device, end), at.place(), &mut frame) {
            true => self.take_probe(fx, number, frame),
            false => fx.give_back(frame),
        }
    }

    pub(super) fn take_probe(&mut self, fx: &mut Effects<'_>, end: usize, frame: Frame) {
        let FibreEnd { device, port } = self.probe_ends[end];
        fx.ask((device, port), frame, Origin::Lane { born: UNBORN });
    }
}
