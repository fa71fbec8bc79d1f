// SPDX-License-Identifier: Apache-2.0
//! A router's line card on its own: the queue before one port, its link, and the interval timers that XCP needs. The
//! switch is elsewhere; messages to and from it are frames, as everywhere.

use slotwise_p4::Port;
use slotwise_wire::Ethernet;

use crate::event::EventQueue;
use crate::lane::{Lane, LaneEnd};
use slotwise_cards::fifo::{Fifo, FifoUse, Limit};
use slotwise_cards::message::{self, ToCard};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::{Frame, FramePool, Packet};
use slotwise_cards::random::{Chance, Stream, generator};

/// What a card sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardFrame {
    /// To the switch's line card port.
    ToSwitch(Frame),
    /// From the far end of the link.
    FromLink(Frame),
}

/// The line card of one port of a router (docs/architecture.md, "XCP"). Times never go back.
pub struct PortCard {
    port: Port,
    queue: Fifo,
    lane: Lane,
    /// Arrivals of the lane.
    events: EventQueue,
    pool: FramePool,
    /// Of a packet at the link's end.
    loss: Chance,
    lost: u64,
    /// Messages to this card that it did not understand.
    malformed: u64,
}

impl PortCard {
    /// The card of `port`, which is also the number of its queue: a link of `rate_bps` (over 0) and `delay_ns`, a queue of
    /// `buffer_bytes`, all in IP bytes. Both timers tick at `now_ns`.
    pub fn new(port: Port, rate_bps: u64, delay_ns: u64, buffer_bytes: u64, now_ns: u64) -> PortCard {
        let limit = Limit::Bytes(buffer_bytes);
        let mut queue = Fifo::new(0, (rate_bps, delay_ns), limit, Ethernet::SIZE);
        queue.start_timers(now_ns);
        PortCard {
            port,
            queue,
            lane: Lane::new(0, LaneEnd::Outside),
            events: EventQueue::default(),
            pool: FramePool::default(),
            loss: Chance::new(0.0, generator(0, Stream::RoutedLoss, u64::from(port))),
            lost: 0,
            malformed: 0,
        }
    }

    /// With a link that loses each packet with probability `loss` (0 to 1), drawn by `seed`.
    #[must_use]
    pub fn losing(mut self, loss: f64, seed: u64) -> PortCard {
        self.loss = Chance::new(loss, generator(seed, Stream::RoutedLoss, u64::from(self.port)));
        self
    }

    /// Takes a frame that left the switch by the card's port; false if the buffer was full.
    pub fn enqueue(&mut self, now_ns: u64, frame: &[u8]) -> bool {
        let Ok(departure) = self.queue.enqueue(now_ns, frame.len()) else {
            return false;
        };
        let packet = Packet::unborn(self.pool.copy_of(frame));
        self.lane
            .enter(&mut self.events, departure.arrive_ns, Flying::plain(packet));
        true
    }

    /// Obeys a frame that left the switch by its line card port. One for another card is none of this one's business; one
    /// that sets no timer changes nothing and is counted.
    pub fn control(&mut self, now_ns: u64, frame: &[u8]) {
        match ToCard::read(frame).and_then(|message| Some((message.port, message.flow_control()?))) {
            Some((port, _)) if port != self.port => {}
            Some((port, message)) if message.queue == port && self.queue.control(now_ns, &message).is_ok() => {}
            _ => self.malformed += 1,
        }
    }

    /// The next frame that is due at `now_ns`, ticks first; call until there is none.
    pub fn poll(&mut self, now_ns: u64) -> Option<CardFrame> {
        if let Some((tick, state)) = self.queue.tick(now_ns) {
            let tick = message::interval_tick(self.port, &tick, self.port, &state);
            return Some(CardFrame::ToSwitch(self.pool.copy_of(&tick)));
        }
        loop {
            let (at_ns, order, _) = self.events.pop_until(now_ns)?;
            let flying = self.lane.arrive(&mut self.events, at_ns, order);
            self.events.settle();
            let frame = flying?.packet.frame;
            if !self.loss.comes() {
                return Some(CardFrame::FromLink(frame));
            }
            self.lost += 1;
            self.pool.give_back(frame);
        }
    }

    /// Gives a fetched frame's memory back.
    pub fn recycle(&mut self, frame: CardFrame) {
        let (CardFrame::ToSwitch(frame) | CardFrame::FromLink(frame)) = frame;
        self.pool.give_back(frame);
    }

    /// When the next frame is due; right once `poll` gave nothing.
    pub fn deadline_ns(&self) -> Option<u64> {
        [self.events.next_at(), self.queue.next_tick_ns()]
            .into_iter()
            .flatten()
            .min()
    }

    /// What the card did since the last call.
    pub fn take_use(&mut self, now_ns: u64) -> FifoUse {
        self.queue.take_use(now_ns)
    }

    /// Packets that the link lost, since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Messages to this card that it did not understand, since the start.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{
        ETHERTYPE_LINECARD, FlowControl, FlowOp, IntervalTick, IntervalTimer, LINECARD_VERSION, LineCardKind, Linecard,
        QueueReport, TIMER_RETRY_NS,
    };

    use super::*;
    use slotwise_cards::interval::MIN_INTERVAL_NS;

    const MS: u64 = 1_000_000;
    const PORT: Port = 3;

    /// 8 Mb/s: 1 ms for 1000 bytes; the link takes 10 ms.
    fn card() -> PortCard {
        PortCard::new(PORT, 8_000_000, 10 * MS, 2000, 0)
    }

    fn frame() -> Vec<u8> {
        vec![7; Ethernet::SIZE + 1000]
    }

    fn ticks(card: &mut PortCard, now_ns: u64) -> Vec<(u8, u64)> {
        let mut found = Vec::new();
        while let Some(CardFrame::ToSwitch(tick)) = card.poll(now_ns) {
            let header = Ethernet::SIZE + Linecard::SIZE;
            let linecard = Linecard::decode(&tick[Ethernet::SIZE..]).unwrap();
            assert_eq!(
                (linecard.port, linecard.kind),
                (PORT, LineCardKind::IntervalTick.into())
            );
            let report = QueueReport::decode(&tick[header + IntervalTick::SIZE..]).unwrap();
            assert_eq!(report.queue, PORT);
            let tick = IntervalTick::decode(&tick[header..]).unwrap();
            found.push((tick.timer, tick.local_ns));
        }
        found
    }

    fn answer(port: u16, queue: u16, op: FlowOp, value: u64) -> Vec<u8> {
        let ethernet = Ethernet {
            ether_type: ETHERTYPE_LINECARD,
            ..Ethernet::default()
        };
        let linecard = Linecard {
            version: LINECARD_VERSION,
            kind: LineCardKind::FlowControl.into(),
            port,
        };
        let control = FlowControl {
            queue,
            op: op.into(),
            open_ns: 0,
            close_ns: 0,
            value,
        };
        [&ethernet.encode()[..], &linecard.encode(), &control.encode()].concat()
    }

    #[test]
    fn packets_leave_at_the_links_rate_after_its_delay() {
        let mut card = card();
        ticks(&mut card, 0);
        let taken: Vec<bool> = (0..4).map(|_| card.enqueue(0, &frame())).collect();
        assert_eq!(taken, [true, true, true, false]);
        for leaves_ms in [11, 12, 13] {
            assert_eq!(card.deadline_ns(), Some(leaves_ms * MS));
            assert_eq!(card.poll(leaves_ms * MS - 1), None);
            assert_eq!(card.poll(leaves_ms * MS), Some(CardFrame::FromLink(frame())));
        }
        let used = card.take_use(20 * MS);
        assert_eq!((used.sent_packets, used.dropped_packets, used.most_packets), (3, 1, 2));
    }

    #[test]
    fn a_link_loses_by_its_seed_what_was_sent_and_no_more() {
        let arrive = |loss, seed| {
            let mut card = card().losing(loss, seed);
            ticks(&mut card, 0);
            let mut arrived = Vec::new();
            for number in 0..4000u64 {
                let now_ns = number * MS;
                card.enqueue(now_ns, &[&[7; Ethernet::SIZE][..], &number.to_be_bytes()].concat());
                while let Some(frame) = card.poll(now_ns) {
                    if let CardFrame::FromLink(frame) = &frame {
                        let number = &frame[Ethernet::SIZE..];
                        arrived.push(u64::from_be_bytes(number.try_into().unwrap()));
                    }
                    card.recycle(frame);
                }
            }
            (arrived, card.lost())
        };
        let (all, lost) = arrive(0.0, 1);
        assert_eq!((all.len(), lost), (3989, 0), "the others are in transmission");
        let (some, lost) = arrive(0.01, 1);
        assert_eq!(some.len() as u64 + lost, 3989);
        assert!((20..60).contains(&lost), "{lost} of 3989");
        assert!(some.is_sorted());
        assert_eq!(arrive(0.01, 1).0, some);
        assert_ne!(arrive(0.01, 2).0, some);
        assert_eq!(arrive(1.0, 1), (Vec::new(), 3989));
    }

    #[test]
    fn an_answer_counts_from_its_tick_however_late_it_comes() {
        const CONTROL: u8 = IntervalTimer::Control as u8;
        const QUEUE: u8 = IntervalTimer::Queue as u8;
        let mut card = card();
        assert_eq!(ticks(&mut card, 0), [(QUEUE, 0), (CONTROL, 0)]);
        card.control(MS, &answer(PORT, PORT, FlowOp::SetControlTimer, 50 * MS));
        card.control(MS, &answer(PORT, PORT, FlowOp::SetQueueTimer, 20 * MS));
        assert_eq!(card.deadline_ns(), Some(20 * MS));
        assert_eq!(ticks(&mut card, 21 * MS), [(QUEUE, 20 * MS)]);
        assert_eq!(ticks(&mut card, 50 * MS), [(CONTROL, 50 * MS)]);
        card.control(90 * MS, &answer(PORT, PORT, FlowOp::SetControlTimer, MS));
        assert_eq!(
            card.deadline_ns(),
            Some(90 * MS + MIN_INTERVAL_NS),
            "never in the past, never at once"
        );
    }

    #[test]
    fn what_is_not_for_it_changes_nothing() {
        let mut card = card();
        ticks(&mut card, 0);
        let wrong = [
            answer(PORT, PORT, FlowOp::Open, 1),
            answer(PORT, PORT, FlowOp::SetControlTimer, 0),
            answer(PORT, PORT, FlowOp::SetControlTimer, u64::MAX),
            answer(PORT, PORT + 1, FlowOp::SetControlTimer, 1),
            answer(PORT, PORT, FlowOp::SetControlTimer, 1)[..40].to_vec(),
            Vec::new(),
        ];
        card.control(MS, &answer(PORT + 1, PORT + 1, FlowOp::SetControlTimer, 1));
        assert_eq!(card.malformed(), 0, "another card's");
        for frame in &wrong[..] {
            card.control(MS, frame);
        }
        // The largest value from time 0 is a time; it only is far away.
        assert_eq!(card.malformed(), wrong.len() as u64 - 1);
        card.control(MS, &answer(PORT, PORT, FlowOp::SetControlTimer, 5 * MS));
        assert_eq!(card.deadline_ns(), Some(5 * MS), "and it listens still");
        assert!(ticks(&mut card, u64::from(TIMER_RETRY_NS)).len() >= 2);
    }
}
