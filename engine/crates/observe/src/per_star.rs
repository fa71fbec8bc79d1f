// SPDX-License-Identifier: Apache-2.0
//! What each of several overlaid stars did in a run.

use serde::{Deserialize, Serialize};
use slotwise_kinds::{self as kinds, FrameRecord, VoqRecord, World};
use slotwise_scenario::Scenario;
use slotwise_units::Bytes;

/// One star: sums over all frames and edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StarReport {
    /// Its core.
    pub core: u16,
    /// The edge that sits with the core.
    pub master: u16,
    /// Slots for which gates were opened.
    pub granted_slots: u64,
    /// Bytes of data that entered its fibres.
    pub sent_bytes: Bytes,
    /// Bytes of hosts' packets that left it.
    pub delivered_bytes: Bytes,
    /// Packets that entered the core and did not leave it.
    pub lost_packets: u64,
}

/// The VOQs of a frame from one edge to another, by core; `voqs` is the number of VOQs of an edge.
pub fn voqs_between(
    record: &FrameRecord,
    (edges, voqs): (usize, usize),
    from: usize,
    to: usize,
) -> impl Iterator<Item = &VoqRecord> {
    record.voqs[from * voqs + to..(from + 1) * voqs].iter().step_by(edges)
}

/// Reports of the stars; none if there is one only, which is the whole run.
pub fn per_star(scenario: &Scenario, fabric: &World, frames: &[FrameRecord]) -> Vec<StarReport> {
    if scenario.cores.len() <= 1 {
        return Vec::new();
    }
    let voqs = usize::from(scenario.voq_count());
    let of_core = |core: &slotwise_scenario::Core| {
        let numbers = scenario.card_voqs(core.id);
        let numbers = usize::from(numbers.start)..usize::from(numbers.end);
        let cells = frames
            .iter()
            .flat_map(|record| record.voqs.chunks_exact(voqs))
            .flat_map(|of_edge| &of_edge[numbers.clone()]);
        let losses = fabric
            .of_kind::<kinds::Star>()
            .and_then(|star| star.core_losses(core.id));
        let mut star = StarReport {
            core: core.id,
            master: core.master,
            granted_slots: 0,
            sent_bytes: Bytes::ZERO,
            delivered_bytes: Bytes::ZERO,
            lost_packets: losses.map_or(0, |losses| losses.fabric),
        };
        for cell in cells {
            star.granted_slots += u64::from(cell.granted_slots);
            star.sent_bytes += cell.sent;
            star.delivered_bytes += cell.delivered;
        }
        star
    };
    scenario.cores.iter().map(of_core).collect()
}
