// SPDX-License-Identifier: Apache-2.0
//! Wavelengths for probes: stored and forwarded by electronic queues. What is on them are control messages, to which faults may happen.

use slotwise_units::{Bytes, Duration, Rate};

use super::cards::FibreEnd;
use crate::faults::{LightWay, Way};
use crate::net::kind::End;
use crate::net::lane::LaneEnd;
use crate::net::node::NodePort;
use crate::world::Fabric;
use slotwise_cards::fifo::{Fifo, Limit};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, UNBORN};

/// Probes wait in electronic memory, of which there is enough.
const PROBE_BUFFER: Bytes = Bytes::new(1 << 30);

/// Where a wavelength for probes ends, by number.
static PROBE_END: End = End {
    arrive: Fabric::probe_arrives,
};

/// Probes that come there.
static TO_PROBE_END: LightWay = LightWay {
    place: |fabric, end| fabric.ops.probe_ends[end].place(),
    arrive: Fabric::take_probe,
};

impl Fabric {
    /// Adds the card before a wavelength for probes, of this rate and delay, and the wavelength.
    pub(super) fn add_probe_card(&mut self, link: (Rate, Duration), (from, to): (FibreEnd, FibreEnd)) -> NodePort {
        let lane = self.add_lane(LaneEnd::own(&PROBE_END, self.ops.probe_ends.len()));
        self.ops.probe_ends.push(to);
        let queue = Fifo::new(lane, link, Limit::Bytes(PROBE_BUFFER), 0);
        self.ops.probe_queues.push((from.device, from.port));
        self.add_link(queue, from.device, from.port)
    }

    fn probe_arrives(&mut self, end: usize, flying: Flying) {
        let mut frame = flying.packet.frame;
        match self.passes_faults(Way::light(&TO_PROBE_END, end), &mut frame) {
            true => self.take_probe(end, frame),
            false => self.out.frames.give_back(frame),
        }
    }

    fn take_probe(&mut self, end: usize, frame: Frame) {
        let FibreEnd { device, port } = self.ops.probe_ends[end];
        self.ask(device, port, frame, Origin::Lane { born: UNBORN });
    }
}
