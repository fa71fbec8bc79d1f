// SPDX-License-Identifier: Apache-2.0
//! Facts read off a run's series: how fast the schedule follows an edge pair that asks for most of the capacity.

use std::fmt;

use serde::{Deserialize, Serialize};
use slotwise_units::{Bytes, Duration};

use crate::report::Series;

/// Frames between a request and the first frame that can obey it: it is made in frame f, announced in f+1, in force in f+2.
const SCHEDULING_LEAD_FRAMES: usize = 2;

/// What happened to one hot pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HotPair {
    /// Source edge.
    pub from: u16,
    /// Destination edge.
    pub to: u16,
    /// Index of the first frame of the phase whose request asks for all that the other demands leave.
    pub first_request_frame: usize,
    /// Frames from there until the pair had 90 % of what the other demands leave.
    pub convergence_frames: Option<usize>,
    /// Mean data slots a frame from then, or if it never had as much from the first request, to the end of the phase.
    pub mean_granted_slots: f64,
    /// Mean of what the other demands left in the same frames, in slots.
    pub mean_available_slots: f64,
    /// Receivers' TCP goodput over the phase (0 where there were no live hosts).
    pub goodput_bps: f64,
    /// Payload that the slots granted in the phase could carry, as a rate.
    pub slot_payload_bps: f64,
}

impl HotPair {
    /// Goodput as a part of the slots' payload capacity.
    pub fn slot_use(&self) -> f64 {
        if self.slot_payload_bps > 0.0 {
            self.goodput_bps / self.slot_payload_bps
        } else {
            0.0
        }
    }
}

impl fmt::Display for HotPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (granted, available) = (self.mean_granted_slots, self.mean_available_slots);
        write!(
            f,
            "edge {} -> edge {}: {granted:.1} of {available:.1} available slots per frame, ",
            self.from, self.to
        )?;
        match self.convergence_frames {
            Some(0) => f.write_str("90 % in its first frame")?,
            Some(1) => f.write_str("90 % within 1 frame")?,
            Some(frames) => write!(f, "90 % within {frames} frames")?,
            None => f.write_str("never 90 %")?,
        }
        if self.goodput_bps > 0.0 {
            write!(
                f,
                "; TCP goodput {:.1} Mb/s ({:.0} % of the TCP payload that fits into its slots)",
                self.goodput_bps / 1e6,
                100.0 * self.slot_use()
            )?;
        }
        Ok(())
    }
}

/// The pair to look at and the frame it lives in.
#[derive(Debug, Clone)]
pub struct HotPairQuery {
    /// Source edge.
    pub from: u16,
    /// Destination edge.
    pub to: u16,
    /// Edges that share a core's port with the source, itself included.
    pub senders: Vec<u16>,
    /// The same for the destination.
    pub receivers: Vec<u16>,
    /// First frame of the phase (index into the series).
    pub start_frame: usize,
    /// One past the last frame of the phase.
    pub end_frame: usize,
    /// Data slots a frame.
    pub data_slots: u32,
    /// Data of hosts' packets, headers of the optical layer included, that one slot carries.
    pub slot: Bytes,
    /// TCP payload that one slot carries.
    pub slot_payload: Bytes,
    /// Length of a frame.
    pub frame: Duration,
    /// Start and end of the phase, which need not be those of frames.
    pub phase_ms: (f64, f64),
    /// Receivers' goodput over the phase.
    pub goodput_bps: f64,
}

/// Data slots that the other demands leave for (from, to) in `frame`: the capacity less what other VOQs ask of its ports as
/// senders or as receivers, whichever is more.
fn available_slots(series: &Series, query: &HotPairQuery, frame: usize) -> u32 {
    let asked = |is_there: &dyn Fn(u16, u16) -> bool| -> u64 {
        series
            .pairs
            .iter()
            .filter(|pair| is_there(pair.from, pair.to) && (pair.from, pair.to) != (query.from, query.to))
            .map(|pair| pair.demand_bytes[frame].div_ceil(query.slot))
            .sum()
    };
    let row = asked(&|from, _| query.senders.contains(&from));
    let column = asked(&|_, to| query.receivers.contains(&to));
    query
        .data_slots
        .saturating_sub(row.max(column).min(u64::from(u32::MAX)) as u32)
}

/// Evaluates a hot pair; `None` if the series does not have it, or if it never asked for all that the other demands left: then it is a
/// pair like others.
pub fn hot_pair(series: &Series, query: &HotPairQuery) -> Option<HotPair> {
    let pair = series
        .pairs
        .iter()
        .find(|pair| (pair.from, pair.to) == (query.from, query.to))?;
    let end = query.end_frame.min(series.frame_ms.len());
    let frames = query.start_frame.min(end)..end;
    let first = frames.clone().find(|&frame| {
        let available = available_slots(series, query, frame);
        available > 0 && pair.demand_bytes[frame].div_ceil(query.slot) >= u64::from(available)
    })?;
    let reached = (first..end).find(|&frame| {
        let request = frame.saturating_sub(SCHEDULING_LEAD_FRAMES).max(first);
        let available = available_slots(series, query, request);
        available > 0 && 10 * pair.granted_slots[frame] >= 9 * available
    });
    let settled = reached.unwrap_or(first)..end;
    let mean = |values: &mut dyn Iterator<Item = u32>| {
        let values: Vec<f64> = values.map(f64::from).collect();
        // From 0.0, since an empty sum is -0.0.
        values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
    };
    Some(HotPair {
        from: query.from,
        to: query.to,
        first_request_frame: first,
        convergence_frames: reached.map(|reached| reached - first),
        mean_granted_slots: mean(&mut settled.clone().map(|frame| pair.granted_slots[frame])),
        mean_available_slots: mean(&mut settled.map(|frame| {
            available_slots(
                series,
                query,
                frame.saturating_sub(SCHEDULING_LEAD_FRAMES).max(query.start_frame),
            )
        })),
        goodput_bps: query.goodput_bps,
        slot_payload_bps: slot_payload_bps(series, &pair.granted_slots, query),
    })
}

/// What the pair's slots of the phase could carry. Of a frame that is partly in it, as much counts.
fn slot_payload_bps(series: &Series, granted_slots: &[u32], query: &HotPairQuery) -> f64 {
    let (start_ms, end_ms) = query.phase_ms;
    let frame_ms = query.frame.milliseconds();
    let slots_of = |(&at_ms, &slots): (&f64, &u32)| {
        let inside_ms = (at_ms + frame_ms).min(end_ms) - at_ms.max(start_ms);
        f64::from(slots) * inside_ms.max(0.0) / frame_ms
    };
    let slots: f64 = series.frame_ms.iter().zip(granted_slots).map(slots_of).sum();
    let phase_ms = end_ms - start_ms;
    if phase_ms > 0.0 {
        slots * query.slot_payload.get() as f64 * 8e3 / phase_ms
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::PairSeries;

    fn bytes(counts: Vec<u64>) -> Vec<Bytes> {
        counts.into_iter().map(Bytes::new).collect()
    }

    fn series(demand: Vec<u64>, granted: Vec<u32>, other: Vec<u64>) -> Series {
        let frames = demand.len();
        let pair = |from, to, demand_bytes: Vec<u64>, granted_slots| PairSeries {
            from,
            to,
            demand_bytes: bytes(demand_bytes),
            granted_slots,
            delivered_bytes: vec![Bytes::ZERO; frames],
        };
        Series {
            frame_ms: (0..frames).map(|frame| frame as f64 * 5.0).collect(),
            pairs: vec![pair(1, 2, demand, granted), pair(1, 3, other, vec![0; frames])],
            ..Series::default()
        }
    }

    fn query() -> HotPairQuery {
        HotPairQuery {
            from: 1,
            to: 2,
            senders: vec![1],
            receivers: vec![2],
            start_frame: 0,
            end_frame: 5,
            data_slots: 16,
            slot: Bytes::new(100),
            slot_payload: Bytes::new(90),
            frame: Duration::from_ms(5),
            phase_ms: (0.0, 25.0),
            goodput_bps: 0.0,
        }
    }

    #[test]
    fn counts_frames_from_the_request_that_asks_for_what_is_left() {
        // The other VOQ of edge 1 asks for 2 slots: 14 are left; 13 of 14 is more than 90 %.
        let s = series(vec![0, 1400, 2000, 2000, 2000], vec![1, 1, 1, 13, 14], vec![200; 5]);
        let fact = hot_pair(&s, &query()).unwrap();
        assert_eq!((fact.first_request_frame, fact.convergence_frames), (1, Some(2)));
        assert_eq!(fact.mean_granted_slots, 13.5);
        assert_eq!(fact.mean_available_slots, 14.0);
    }

    #[test]
    fn edges_behind_the_same_port_ask_for_slots_of_the_same_line() {
        let mut s = series(vec![2000; 5], vec![9; 5], vec![200; 5]);
        s.pairs[1].from = 4;
        let fact = hot_pair(&s, &query()).unwrap();
        assert_eq!(fact.convergence_frames, None, "edge 4 has a separate port");
        let shared = HotPairQuery {
            senders: vec![1, 4],
            ..query()
        };
        s.pairs[1].demand_bytes = bytes(vec![600; 5]);
        let fact = hot_pair(&s, &shared).unwrap();
        assert_eq!((fact.convergence_frames, fact.mean_available_slots), (Some(0), 10.0));
    }

    #[test]
    fn a_schedule_that_does_not_follow_is_not_reached() {
        let s = series(vec![2000; 5], vec![12; 5], vec![200; 5]);
        let fact = hot_pair(&s, &query()).unwrap();
        assert_eq!((fact.first_request_frame, fact.convergence_frames), (0, None));
        assert_eq!(
            fact.to_string(),
            "edge 1 -> edge 2: 12.0 of 14.0 available slots per frame, never 90 %"
        );
    }

    #[test]
    fn a_frame_in_which_the_others_leave_nothing_is_no_share() {
        let mut s = series(vec![2000; 5], vec![0; 5], vec![0, 2000, 2000, 2000, 2000]);
        assert_eq!(hot_pair(&s, &query()).unwrap().convergence_frames, None);
        s.pairs[0].granted_slots[4] = 15;
        s.pairs[1].demand_bytes[2] = Bytes::ZERO;
        assert_eq!(hot_pair(&s, &query()).unwrap().convergence_frames, Some(4));
    }

    #[test]
    fn a_pair_like_others_is_no_hot_pair() {
        // Whatever it asks for, the others ask for all that there is; or it asks for little.
        for (own, others) in [(2000, 2000), (300, 200)] {
            let s = series(vec![own; 5], vec![5; 5], vec![others; 5]);
            assert_eq!(hot_pair(&s, &query()), None);
        }
    }

    #[test]
    fn goodput_is_compared_with_all_slots_of_the_phase() {
        let s = series(vec![2000; 5], vec![16; 5], vec![0; 5]);
        let fact = hot_pair(
            &s,
            &HotPairQuery {
                goodput_bps: 2_073_600.0,
                ..query()
            },
        )
        .unwrap();
        // 16 slots of 90 bytes in 5 ms are 2.304 Mb/s.
        assert_eq!(fact.slot_payload_bps, 2_304_000.0);
        assert!((fact.slot_use() - 0.9).abs() < 1e-9);
    }

    #[test]
    fn of_frames_that_are_partly_in_the_phase_as_much_counts() {
        let s = series(vec![2000; 5], vec![10, 20, 20, 30, 40], vec![0; 5]);
        let query = HotPairQuery {
            start_frame: 1,
            end_frame: 4,
            phase_ms: (4.0, 16.0),
            ..query()
        };
        // A fifth of 10 slots, 20, 20, and a fifth of 30 once more, of 90 bytes each in 12 ms.
        let expected = (2.0 + 20.0 + 20.0 + 6.0) * 90.0 * 8.0 / 12e-3;
        let found = hot_pair(&s, &query).unwrap().slot_payload_bps;
        assert!((found - expected).abs() < 1e-6, "{found}");
    }

    #[test]
    fn unknown_pair_is_none() {
        assert_eq!(
            hot_pair(&series(vec![0], vec![0], vec![0]), &HotPairQuery { from: 9, ..query() }),
            None
        );
    }
}
