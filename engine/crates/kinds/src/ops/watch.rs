// SPDX-License-Identifier: Apache-2.0
//! Trains on their way, by who numbered them: seen from the wires, apart from P4.

use std::collections::VecDeque;

use slotwise_units::{Bytes, Duration};
use slotwise_wire::Label;

/// A train, by its source, the program there that numbered it, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrainId {
    source: u16,
    program: u32,
    number: u32,
}

impl TrainId {
    pub(super) fn of(label: &Label, program: u32) -> TrainId {
        TrainId {
            source: label.src_edge,
            program,
            number: label.train,
        }
    }

    /// Tells it from all others of its source.
    pub(super) fn of_source(self) -> u64 {
        u64::from(self.program) << 32 | u64::from(self.number)
    }
}

/// Trains that came to an edge, and how long they were in light: from when they left theirs on, their own length left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpsTransit {
    /// Trains.
    pub trains: u64,
    /// Sum of these times.
    pub sum: Duration,
    /// Sum of their squares, ns^2.
    pub squares_ns2: u128,
}

impl OpsTransit {
    fn add(&mut self, transit: Duration) {
        self.trains += 1;
        self.sum += transit;
        self.squares_ns2 += u128::from(transit.ns()) * u128::from(transit.ns());
    }

    fn since(self, before: OpsTransit) -> OpsTransit {
        OpsTransit {
            trains: self.trains - before.trains,
            sum: self.sum - before.sum,
            squares_ns2: self.squares_ns2 - before.squares_ns2,
        }
    }
}

/// What became of the trains of an edge since the start: those that are neither delivered nor lost are on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpsTrains {
    /// That it made.
    pub formed: u64,
    /// That came to an edge.
    pub delivered: u64,
    /// That a switch dropped, or a card.
    pub lost: u64,
    /// On their way.
    pub under_way: u64,
    /// Packets of those that it made.
    pub packets: u64,
    /// Bytes of those packets.
    pub packet_bytes: Bytes,
    /// Bytes of the packets of the largest one.
    pub most_bytes: Bytes,
    /// Trains that it would have made, but for want of room at its outputs.
    pub refused: u64,
    /// That a link between edges lost, among those that are lost.
    pub lost_by_links: u64,
    /// Packets of those that links between edges lost.
    pub packets_lost_by_links: u64,
    /// That came to an edge by their first choices alone.
    pub straight: OpsTransit,
    /// That came to an edge though they had been deflected: at a switch, or into the second fibre between two edges.
    pub deflected: OpsTransit,
    /// That had been deflected, among those that are lost.
    pub deflected_lost: u64,
    /// Packets from other edges that waited here for those before them.
    pub resequenced: u64,
}

/// A train that was made.
#[derive(Clone, Copy, Default)]
struct Made {
    is_over: bool,
    /// When the last bit that comes with its label went into the light.
    left_ns: u64,
}

/// Trains of one edge.
#[derive(Default)]
struct Source {
    program: u32,
    /// Number of the first one that is known.
    first: u32,
    /// By number.
    made: VecDeque<Made>,
    count: OpsTrains,
    /// As it was when it was last asked.
    asked: OpsTrains,
    /// Bytes of the packets of the largest train since then.
    most_bytes: Bytes,
}

impl Source {
    /// Nothing yet; a program numbers from 1 on.
    fn of_program(program: u32) -> Source {
        Source {
            program,
            first: 1,
            ..Source::default()
        }
    }
}

/// Trains that faults have cut are known for so many more of them: longer than any is under way.
const CUT_TRAINS: usize = 1024;

/// All of them.
pub(super) struct Watch {
    sources: Vec<Source>,
    /// Of these faults have taken frames behind the label, so they are not whole wherever they come.
    cut: VecDeque<TrainId>,
}

impl Watch {
    pub(super) fn new(edges: usize) -> Watch {
        Watch {
            sources: (0..edges).map(|_| Source::of_program(0)).collect(),
            cut: VecDeque::new(),
        }
    }

    /// A fault may have taken frames of a train whose label has gone on.
    pub(super) fn cut(&mut self, id: TrainId) {
        if self.cut.len() == CUT_TRAINS {
            self.cut.pop_front();
        }
        self.cut.push_back(id);
    }

    /// Whether one has.
    pub(super) fn is_cut(&self, id: TrainId) -> bool {
        self.cut.contains(&id)
    }

    /// An edge has a new program, which numbers from 1 on. What is on its way is not judged any more.
    pub(super) fn restarts(&mut self, source: u16) {
        if let Some(source) = self.sources.get_mut(usize::from(source)) {
            let left = source.made.iter().filter(|made| !made.is_over).count() as u64;
            source.program += 1;
            source.first = 1;
            source.made.clear();
            source.count.under_way -= left;
            source.count.lost += left;
        }
    }

    /// An edge has made a train. False if it is not the next one.
    pub(super) fn formed(&mut self, source: u16, number: u32) -> bool {
        let Some(source) = self.sources.get_mut(usize::from(source)) else {
            return false;
        };
        let next = source.first.wrapping_add(source.made.len() as u32);
        if number != next {
            return false;
        }
        source.made.push_back(Made::default());
        source.count.formed += 1;
        source.count.under_way += 1;
        true
    }

    /// What is in a train that an edge has made.
    pub(super) fn sized(&mut self, source: u16, packets: u64, bytes: Bytes) {
        if let Some(source) = self.sources.get_mut(usize::from(source)) {
            source.count.packets += packets;
            source.count.packet_bytes += bytes;
            source.count.most_bytes = source.count.most_bytes.max(bytes);
            source.most_bytes = source.most_bytes.max(bytes);
        }
    }

    /// An edge had no room for a train.
    pub(super) fn refused(&mut self, source: u16) {
        if let Some(source) = self.sources.get_mut(usize::from(source)) {
            source.count.refused += 1;
        }
    }

    /// When the last bit that comes with the label of a train goes into the light.
    pub(super) fn left(&mut self, id: TrainId, left_ns: u64) {
        if let Some(made) = self.made(id) {
            made.left_ns = left_ns;
        }
    }

    /// A link between edges has lost a train of so many packets.
    pub(super) fn lost_by_link(&mut self, id: TrainId, packets: u64, is_deflected: bool) {
        if self.ends(id).is_some() {
            let count = &mut self.sources[usize::from(id.source)].count;
            count.lost += 1;
            count.deflected_lost += u64::from(is_deflected);
            count.lost_by_links += 1;
            count.packets_lost_by_links += packets;
        }
    }

    /// A train has come to an edge. False if it was not on its way.
    pub(super) fn arrived(&mut self, id: TrainId, now_ns: u64, is_deflected: bool) -> bool {
        let is_known = self.is_current(id);
        let Some(left_ns) = self.ends(id) else {
            return !is_known;
        };
        let count = &mut self.sources[usize::from(id.source)].count;
        count.delivered += 1;
        let transit = if is_deflected {
            &mut count.deflected
        } else {
            &mut count.straight
        };
        // What a switch outside sends on may come before its time.
        transit.add(Duration::from_ns(now_ns.saturating_sub(left_ns)));
        true
    }

    /// A train is lost.
    pub(super) fn lost(&mut self, id: TrainId, is_deflected: bool) {
        if self.ends(id).is_some() {
            let count = &mut self.sources[usize::from(id.source)].count;
            count.lost += 1;
            count.deflected_lost += u64::from(is_deflected);
        }
    }

    /// Whether a train is to be judged: what an edge's older programs have made is not.
    fn is_current(&self, id: TrainId) -> bool {
        let source = self.sources.get(usize::from(id.source));
        source.is_none_or(|source| source.program == id.program)
    }

    fn made(&mut self, id: TrainId) -> Option<&mut Made> {
        if !self.is_current(id) {
            return None;
        }
        let source = self.sources.get_mut(usize::from(id.source))?;
        let place = id.number.wrapping_sub(source.first) as usize;
        source.made.get_mut(place)
    }

    /// A train that is on its way is so no more; when it left.
    fn ends(&mut self, id: TrainId) -> Option<u64> {
        let made = self.made(id).filter(|made| !made.is_over)?;
        made.is_over = true;
        let left_ns = made.left_ns;
        let source = self.sources.get_mut(usize::from(id.source))?;
        source.count.under_way -= 1;
        while source.made.front().is_some_and(|made| made.is_over) {
            source.made.pop_front();
            source.first = source.first.wrapping_add(1);
        }
        Some(left_ns)
    }

    /// What became of the trains of an edge since the last call; those that are on their way are.
    pub(super) fn take(&mut self, edge: u16, resequenced: u64) -> OpsTrains {
        let Some(source) = self.sources.get_mut(usize::from(edge)) else {
            return OpsTrains::default();
        };
        let now = OpsTrains {
            resequenced,
            ..source.count
        };
        let before = std::mem::replace(&mut source.asked, now);
        OpsTrains {
            formed: now.formed - before.formed,
            delivered: now.delivered - before.delivered,
            lost: now.lost - before.lost,
            under_way: now.under_way,
            packets: now.packets - before.packets,
            packet_bytes: now.packet_bytes - before.packet_bytes,
            most_bytes: std::mem::take(&mut source.most_bytes),
            refused: now.refused - before.refused,
            lost_by_links: now.lost_by_links - before.lost_by_links,
            packets_lost_by_links: now.packets_lost_by_links - before.packets_lost_by_links,
            straight: now.straight.since(before.straight),
            deflected: now.deflected.since(before.deflected),
            deflected_lost: now.deflected_lost - before.deflected_lost,
            resequenced: now.resequenced - before.resequenced,
        }
    }

    /// What became of the trains of an edge.
    pub(super) fn trains(&self, source: u16) -> OpsTrains {
        let source = self.sources.get(usize::from(source));
        source.map_or_else(OpsTrains::default, |source| source.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 1000;

    fn id(program: u32, number: u32) -> TrainId {
        TrainId {
            source: 1,
            program,
            number,
        }
    }

    fn watch() -> Watch {
        let mut watch = Watch::new(3);
        watch.restarts(1);
        for number in 1..=4 {
            assert!(watch.formed(1, number));
        }
        watch
    }

    #[test]
    fn what_comes_twice_or_from_nowhere_is_seen() {
        let mut watch = watch();
        assert!(watch.arrived(id(1, 3), NOW_NS, false));
        assert!(!watch.arrived(id(1, 3), NOW_NS, false), "twice");
        assert!(!watch.arrived(id(1, 5), NOW_NS, false), "nobody has made it");
        assert!(!watch.formed(1, 4), "made again");
        assert!(!watch.formed(1, 6), "one is left out");
        watch.lost(id(1, 1), false);
        assert!(!watch.arrived(id(1, 1), NOW_NS, false), "it was lost");
        let trains = watch.trains(1);
        assert_eq!((trains.formed, trains.delivered, trains.lost), (4, 1, 1));
        assert_eq!(trains.under_way, 2);
        assert_eq!(watch.trains(2), OpsTrains::default());
    }

    #[test]
    fn what_is_asked_for_is_what_happened_since() {
        let mut watch = watch();
        watch.sized(1, 3, Bytes::new(900));
        watch.sized(1, 5, Bytes::new(700));
        let first = watch.take(1, 10);
        assert_eq!(
            (first.formed, first.packets, first.packet_bytes),
            (4, 8, Bytes::new(1600))
        );
        assert_eq!(
            (first.most_bytes, first.under_way, first.resequenced),
            (Bytes::new(900), 4, 10)
        );
        watch.arrived(id(1, 2), NOW_NS, false);
        watch.lost_by_link(id(1, 3), 5, true);
        watch.lost_by_link(id(1, 3), 5, true);
        watch.refused(1);
        let second = watch.take(1, 12);
        assert_eq!(
            (second.formed, second.delivered, second.lost, second.lost_by_links),
            (0, 1, 1, 1)
        );
        assert_eq!((second.most_bytes, second.under_way), (Bytes::ZERO, 2));
        assert_eq!((second.refused, second.resequenced), (1, 2));
        assert_eq!(
            (second.packets_lost_by_links, second.deflected_lost),
            (5, 1),
            "a train is lost once"
        );
        assert_eq!(watch.take(1, 12).packets_lost_by_links, 0);
        assert_eq!(watch.trains(1).most_bytes, Bytes::new(900));
        assert_eq!(watch.take(9, 0), OpsTrains::default());
    }

    #[test]
    fn times_in_light_are_of_what_came_deflected_or_not() {
        let mut watch = watch();
        for (number, left_ns) in [(1, 100), (2, 200), (3, 300), (4, 400)] {
            watch.left(id(1, number), left_ns);
        }
        watch.left(id(1, 5), 500);
        assert!(watch.arrived(id(1, 1), NOW_NS, false));
        assert!(watch.arrived(id(1, 2), NOW_NS, true));
        assert!(watch.arrived(id(1, 4), NOW_NS, true));
        watch.lost(id(1, 3), true);
        watch.lost(id(1, 3), true);
        let transit = |trains, sum_ns, squares_ns2| OpsTransit {
            trains,
            sum: Duration::from_ns(sum_ns),
            squares_ns2,
        };
        let trains = watch.take(1, 0);
        assert_eq!(trains.straight, transit(1, 900, 810_000));
        assert_eq!(trains.deflected, transit(2, 1400, 640_000 + 360_000));
        assert_eq!(trains.deflected_lost, 1);
        assert!(watch.formed(1, 5));
        watch.left(id(1, 5), 990);
        assert!(watch.arrived(id(1, 5), NOW_NS, true));
        let trains = watch.take(1, 0);
        assert_eq!(
            (trains.straight, trains.deflected),
            (transit(0, 0, 0), transit(1, 10, 100))
        );
        assert_eq!(trains.deflected_lost, 0);
    }

    #[test]
    fn what_an_older_program_made_is_not_judged() {
        let mut watch = watch();
        watch.restarts(1);
        assert!(watch.arrived(id(1, 2), NOW_NS, false));
        assert!(!watch.arrived(id(2, 2), NOW_NS, false), "not made yet");
        assert!(watch.formed(1, 1) && watch.arrived(id(2, 1), NOW_NS, false));
        let trains = watch.trains(1);
        assert_eq!((trains.formed, trains.delivered, trains.lost), (5, 1, 4));
        assert_eq!(trains.under_way, 0);
    }

    #[test]
    fn trains_that_faults_have_cut_are_known_for_a_while() {
        let mut watch = watch();
        watch.cut(id(1, 2));
        assert!(watch.is_cut(id(1, 2)) && !watch.is_cut(id(1, 3)) && !watch.is_cut(id(2, 2)));
        for number in 0..CUT_TRAINS as u32 {
            watch.cut(id(3, number));
        }
        assert!(!watch.is_cut(id(1, 2)) && watch.is_cut(id(3, 0)));
    }

    #[test]
    fn numbers_go_round() {
        let mut watch = Watch::new(1);
        watch.sources[0].first = u32::MAX;
        assert!(watch.formed(0, u32::MAX) && watch.formed(0, 0));
        let of = |number| TrainId {
            source: 0,
            program: 0,
            number,
        };
        assert!(
            watch.arrived(of(0), NOW_NS, false)
                && watch.arrived(of(u32::MAX), NOW_NS, false)
                && !watch.arrived(of(0), NOW_NS, false)
        );
    }
}
