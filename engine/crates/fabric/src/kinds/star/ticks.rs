// SPDX-License-Identifier: Apache-2.0
//! Records of slots and queues by the cards of edges and cores.

use slotwise_p4::Port;

use super::VoqRecord;
use crate::world::Fabric;

impl Fabric {
    /// A slot starts at the core of a node.
    pub(crate) fn slot_starts_at_core(&mut self, node: usize, slot: u64) {
        let core = self.nodes[node].device.number();
        if slot.is_multiple_of(self.star.slots.count) {
            // A card without slots is in the core's frame.
            for fibre in 0..self.star.fibres.len() {
                let pair = &self.star.fibres[fibre];
                if pair.core == core && !self.slotted_edge(pair.edge).has_slots(core) {
                    self.frame_starts(fibre, slot / self.star.slots.count);
                }
            }
        }
        self.lose_overdue_light(self.now_ns);
        self.look_after_faults();
    }

    /// A frame starts before a fibre of an edge.
    pub(crate) fn frame_starts(&mut self, fibre: usize, frame: u64) {
        self.star.telemetry.frame_starts(fibre, frame);
    }

    /// The record of a VOQ in the present frame of its card.
    fn voq_record(&mut self, (node, port): (usize, Port), voq: u16) -> Option<&mut VoqRecord> {
        let fibre = self.fibre_before(node, port);
        let star = &mut *self.star;
        star.telemetry.voq(fibre, star.fibres[fibre].edge, voq)
    }

    /// A slot is granted to a VOQ.
    pub(crate) fn note_grant(&mut self, at: (usize, Port), voq: u16) {
        if let Some(record) = self.voq_record(at, voq) {
            record.granted_slots += 1;
        }
    }

    /// A VOQ is reported to P4.
    pub(crate) fn note_report(&mut self, at: (usize, Port), voq: u16, backlog_bytes: u64) {
        if let Some(record) = self.voq_record(at, voq) {
            record.demand_bytes += backlog_bytes;
        }
    }
}
