// SPDX-License-Identifier: Apache-2.0
//! Measurements of a star: demand and service by frame and VOQ, delivery by edge pair.

use std::collections::VecDeque;

use slotwise_units::{Bytes, Duration, Instant};

/// What happened to one VOQ of one edge in one frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoqRecord {
    /// Backlog when it was reported, as on the fibre.
    pub demand: Bytes,
    /// Slots for which P4 opened the gate.
    pub granted_slots: u32,
    /// Bytes that entered the fibre.
    pub sent: Bytes,
    /// IP bytes that the far edge sent on to its hosts.
    pub delivered: Bytes,
}

/// One frame. It is over when it is over at every line card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRecord {
    /// Its number.
    pub frame: u64,
    /// Its start at the core.
    pub start: Instant,
    /// One record a VOQ: VOQ q of edge e is at `e * voqs + q`. Over core c, edge d has VOQ `c * edges + d`.
    pub voqs: Vec<VoqRecord>,
}

/// IP traffic from one edge to another that reached access ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: Bytes,
}

/// Collects records; frames only if asked to.
pub(super) struct Telemetry {
    edges: usize,
    voqs: usize,
    epoch: Instant,
    frame: Duration,
    keep_frames: bool,
    /// The frame in which each line card is.
    card_frames: Vec<Option<u64>>,
    open: VecDeque<FrameRecord>,
    finished: VecDeque<FrameRecord>,
    delivered: Vec<Delivered>,
}

impl Telemetry {
    pub(super) fn new(
        edges: usize,
        voqs: u16,
        cards: usize,
        (epoch, frame): (Instant, Duration),
        keep_frames: bool,
    ) -> Self {
        Telemetry {
            edges,
            voqs: usize::from(voqs),
            epoch,
            frame,
            keep_frames,
            card_frames: vec![None; cards],
            open: VecDeque::new(),
            finished: VecDeque::new(),
            delivered: vec![Delivered::default(); edges * edges],
        }
    }

    /// A line card enters a frame.
    pub(super) fn frame_starts(&mut self, card: usize, frame: u64) {
        if !self.keep_frames {
            return;
        }
        self.card_frames[card] = Some(frame);
        while self.open.back().is_none_or(|open| open.frame < frame) {
            let next = self.open.back().map_or(frame, |open| open.frame + 1);
            let start = self.epoch + next * self.frame;
            let voqs = vec![VoqRecord::default(); self.edges * self.voqs];
            self.open.push_back(FrameRecord {
                frame: next,
                start,
                voqs,
            });
        }
        let oldest_in_use = self
            .card_frames
            .iter()
            .map(|frame| frame.unwrap_or(0))
            .min()
            .unwrap_or(0);
        while self.open.front().is_some_and(|open| open.frame < oldest_in_use) {
            self.finished.extend(self.open.pop_front());
        }
    }

    /// The record of a VOQ in the frame in which a line card is.
    pub(super) fn voq(&mut self, card: usize, edge: u16, voq: u16) -> Option<&mut VoqRecord> {
        let frame = self.card_frames[card]?;
        let first = self.open.front()?.frame;
        let open = self.open.get_mut(usize::try_from(frame.checked_sub(first)?).ok()?)?;
        if usize::from(edge) >= self.edges || usize::from(voq) >= self.voqs {
            return None;
        }
        open.voqs.get_mut(usize::from(edge) * self.voqs + usize::from(voq))
    }

    /// A packet of `src_edge` leaves an access port of `dst_edge`.
    pub(super) fn delivered(&mut self, card: usize, src_edge: u16, dst_edge: u16, voq: u16, ip_bytes: Bytes) {
        if usize::from(src_edge) >= self.edges {
            return;
        }
        let pair = &mut self.delivered[usize::from(src_edge) * self.edges + usize::from(dst_edge)];
        pair.packets += 1;
        pair.bytes += ip_bytes;
        if let Some(record) = self.voq(card, src_edge, voq) {
            record.delivered += ip_bytes;
        }
    }

    pub(super) fn poll_frame(&mut self) -> Option<FrameRecord> {
        self.finished.pop_front()
    }

    pub(super) fn delivered_between(&self, src_edge: u16, dst_edge: u16) -> Delivered {
        let (src_edge, dst_edge) = (usize::from(src_edge), usize::from(dst_edge));
        if src_edge >= self.edges || dst_edge >= self.edges {
            return Delivered::default();
        }
        self.delivered[src_edge * self.edges + dst_edge]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_over_when_every_card_has_left_it() {
        let mut telemetry = Telemetry::new(2, 2, 2, (Instant::from_ns(1000), Duration::from_ns(100)), true);
        telemetry.frame_starts(1, 0);
        telemetry.voq(1, 1, 0).unwrap().sent += Bytes::new(7);
        telemetry.frame_starts(0, 0);
        telemetry.frame_starts(1, 1);
        telemetry.voq(1, 1, 0).unwrap().sent += Bytes::new(8);
        telemetry.delivered(0, 1, 0, 0, Bytes::new(5));
        assert_eq!(telemetry.poll_frame(), None);
        telemetry.frame_starts(0, 1);
        let record = telemetry.poll_frame().unwrap();
        assert_eq!((record.frame, record.start), (0, Instant::from_ns(1000)));
        assert_eq!(
            (record.voqs[2].sent, record.voqs[2].delivered),
            (Bytes::new(7), Bytes::new(5))
        );
        assert_eq!(telemetry.poll_frame(), None);
        assert_eq!(
            telemetry.delivered_between(1, 0),
            Delivered {
                packets: 1,
                bytes: Bytes::new(5)
            }
        );
    }

    #[test]
    fn numbers_from_packets_are_bounded() {
        let mut telemetry = Telemetry::new(2, 2, 1, (Instant::ZERO, Duration::from_ns(100)), true);
        telemetry.frame_starts(0, 0);
        for (edge, voq) in [(2, 0), (0, 2), (u16::MAX, u16::MAX)] {
            assert!(telemetry.voq(0, edge, voq).is_none());
        }
        telemetry.delivered(0, 2, 0, 0, Bytes::new(1));
        assert_eq!(telemetry.delivered_between(2, 0), Delivered::default());
    }
}
