// SPDX-License-Identifier: Apache-2.0
//! Records of slots and queues by the cards of edges and cores.

use slotwise_cards::card::Record;
use slotwise_p4::Port;
use slotwise_scenario::Device;

use super::cards::edge_card;
use super::parts::Star;
use super::telemetry::VoqRecord;
use crate::kind::Kind;
use slotwise_net::effects::Effects;

impl Star {
    /// Feeds checks and measurements with a record of the card of an edge or core.
    pub(super) fn seen(&mut self, fx: &mut Effects<'_>, device: Device, record: &Record) {
        match *record {
            Record::CoreSlot { slot } => self.slot_starts_at_core(fx, device.number(), slot),
            Record::Reported { port, voq, backlog } => {
                if let Some(record) = self.voq_record(device, port, voq) {
                    record.demand += backlog;
                }
            }
            Record::Granted { port, voq } => {
                if let Some(record) = self.voq_record(device, port, voq) {
                    record.granted_slots += 1;
                }
            }
            Record::EdgeFrame { port, frame } => self.telemetry.frame_starts(self.fibre_before(device, port), frame),
            _ => {}
        }
    }

    /// A slot starts at a core.
    fn slot_starts_at_core(&mut self, fx: &mut Effects<'_>, core: u16, slot: u64) {
        if slot.is_multiple_of(self.slots.count) {
            // A card without slots is in the core's frame.
            for (fibre, pair) in self.fibres.iter().enumerate() {
                if pair.core == core && !edge_card(fx.look(), pair.edge).has_slots(core) {
                    self.telemetry.frame_starts(fibre, slot / self.slots.count);
                }
            }
        }
        while let Some(crossing) = fx.take_overdue() {
            self.overdue(fx, &crossing);
        }
        self.look_after_faults(fx);
    }

    /// The record of a VOQ in the present frame of its card.
    fn voq_record(&mut self, edge: Device, port: Port, voq: u16) -> Option<&mut VoqRecord> {
        let fibre = self.fibre_before(edge, port);
        self.telemetry.voq(fibre, edge.number(), voq)
    }
}
