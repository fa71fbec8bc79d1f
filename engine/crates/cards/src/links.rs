// SPDX-License-Identifier: Apache-2.0
//! Card of a switch before links that are free when they are idle: one queue a port, served in order.
//!
//! A queue has the number of its port. Where P4 is an XCP agent it has interval timers.

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::Ethernet;

use crate::admission::Admission;
use crate::alone::Alone;
use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Then, TimerId};
use crate::ecn;
use crate::fifo::{Departure, Fifo, FifoUse};
use crate::measure::AccessUse;
use crate::message::ToCard;
use crate::packet::{Flying, Origin, Packet};
use crate::ports::Ports;
use crate::ticks::{IntervalQueue, Ticks};
use crate::{DropCause, Port};

/// Timers of links have this bit, which those of other cards of a switch have not, and the number of their port.
const OF_LINK: TimerId = 1 << (TimerId::BITS - 1);

/// The timer of the link behind a port.
pub fn timer(port: Port) -> TimerId {
    OF_LINK | port
}

/// The port of a timer of links; `None` if it is one of another card.
#[inline]
pub fn port_of(timer: TimerId) -> Option<Port> {
    (timer & OF_LINK != 0).then_some(timer & !OF_LINK)
}

struct Link {
    queue: Fifo,
    /// Nothing comes through behind it.
    is_dark: bool,
    ticks: Ticks,
}

/// Queues before the links of a switch, by port.
pub struct Links {
    ports: Ports<Link>,
}

impl Default for Links {
    fn default() -> Links {
        let ports = Ports::from(0);
        Links { ports }
    }
}

impl Links {
    /// Adds the queue before a link. Returns when its timer expires first, if it has any.
    pub fn add(&mut self, port: Port, queue: Fifo) -> Option<Instant> {
        let first = queue.next_tick();
        let ticks = Ticks::new(port, timer(port), &queue);
        let link = Link {
            queue,
            is_dark: false,
            ticks,
        };
        self.ports.add(port, link);
        first
    }

    /// Link of a timer.
    fn behind(&mut self, timer: TimerId) -> Option<&mut Link> {
        self.ports.get_mut(port_of(timer)?)
    }

    /// Takes a packet of so many bytes, with its Ethernet header. Returns its lane and times, or the reason of its loss.
    #[inline]
    pub fn take(&mut self, now: Instant, port: Port, frame_bytes: usize) -> Result<(usize, Departure), DropCause> {
        let link = self.ports.get_mut(port).ok_or(DropCause::NoSuchPort)?;
        if link.is_dark {
            link.queue.lose(frame_bytes);
            return Err(DropCause::LinkDown);
        }
        let departure = link.queue.enqueue(now, frame_bytes)?;
        Ok((link.queue.lane, departure))
    }

    /// Changes the link behind a port. Packets on it arrive at their times.
    pub fn change(
        &mut self,
        now: Instant,
        port: Port,
        (rate, delay): (Option<Rate>, Option<Duration>),
        out: &mut Actions,
    ) {
        if let Some(link) = self.ports.get_mut(port) {
            let arrivals = link.queue.change(now, rate, delay);
            let lane = link.queue.lane as u32;
            out.push(Action::Retime { lane, arrivals });
        }
    }

    /// Use of a link since the last call; `None` without a link.
    pub fn take_use(&mut self, now: Instant, port: Port) -> Option<FifoUse> {
        Some(self.ports.get_mut(port)?.queue.take_use(now))
    }

    /// Use of a link since the start, packets that wait included.
    pub fn total(&self, port: Port) -> AccessUse {
        let link = self.ports.get(port);
        link.map_or_else(AccessUse::default, |link| link.queue.total())
    }

    /// Loses what has not begun to leave by a port.
    fn lose_waiting(&mut self, now: Instant, port: Port, cause: DropCause, out: &mut Actions) {
        if let Some(link) = self.ports.get_mut(port) {
            let count = link.queue.drop_waiting(now);
            let lane = link.queue.lane as u32;
            out.push(Action::Recall {
                lane,
                count,
                port,
                cause,
            });
        }
    }
}

impl Card for Links {
    fn sends(&mut self, now: Instant, port: Port, mut packet: Packet, _: Origin, out: &mut Actions) {
        match self.take(now, port, packet.frame.len()) {
            Ok((lane, departure)) => {
                if departure.is_marked {
                    ecn::mark(&mut packet.frame);
                }
                out.push(Action::Enter {
                    lane: lane as u32,
                    at: departure.arrive,
                    flying: Flying::plain(packet),
                });
            }
            Err(cause) => {
                let frame = packet.frame;
                out.push(Action::Drop { port, cause, frame });
            }
        }
    }

    /// P4 sets an interval timer, at once or later; false for any other message.
    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let control = message.flow_control().filter(|control| control.queue == port);
        let Some((control, link)) = control.zip(self.ports.get_mut(port)) else {
            return false;
        };
        link.ticks.told(now, &mut link.queue, &control, out)
    }

    fn goes_on(&mut self, now: Instant, then: Then, _: Pass, out: &mut Actions) {
        if let Then::Ticks { timer } = then
            && let Some(link) = self.behind(timer)
        {
            link.ticks.goes_on(now, &mut link.queue, out);
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, _: Expiry, _: Program, out: &mut Actions) {
        if let Some(link) = self.behind(timer) {
            link.ticks.due(now, &mut link.queue, out);
        }
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        if let Some(link) = self.ports.get_mut(port) {
            link.is_dark = is_dark;
            self.lose_waiting(now, port, DropCause::LinkDown, out);
        }
    }

    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        for port in self.ports.numbers() {
            self.lose_waiting(now, port, DropCause::PipelineReplaced, out);
        }
    }
}

impl Alone<Links> {
    /// The queue before one port of a router, which is also its number: a link of a rate (over 0) and delay, a queue of so many
    /// bytes, all in IP bytes. Both interval timers tick now.
    pub fn before_link(port: Port, (rate, delay): (Rate, Duration), buffer: Bytes, now: Instant) -> Alone<Links> {
        let limit = Admission::bytes(buffer);
        let mut queue = Fifo::new(0, (rate, delay), limit, Ethernet::SIZE);
        queue.start_timers(now);
        let mut links = Links::default();
        let first = links.add(port, queue);
        Alone::new(links, first.map(|at| (at, timer(port))))
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{FlowControl, FlowOp, LineCardKind};

    use super::*;
    use crate::message::header;

    const PORT: Port = 4;

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// 1 us for a byte, 5 us of delay.
    fn queue() -> Fifo {
        Fifo::new(
            9,
            (Rate::from_bps(8_000_000), Duration::from_us(5)),
            Admission::packets(2),
            0,
        )
    }

    fn links(queue: Fifo) -> Links {
        let mut links = Links::default();
        links.add(PORT, queue);
        links
    }

    fn sends(links: &mut Links, now: Instant, port: Port) -> Action {
        let mut out = Actions::default();
        links.sends(now, port, Packet::unborn(vec![0; 100]), Origin::Local, &mut out);
        out.list.pop().unwrap()
    }

    fn answer(queue: u16, value: u64) -> Vec<u8> {
        let control = FlowControl {
            queue,
            op: FlowOp::SetQueueTimer.into(),
            open_ns: 0,
            close_ns: 0,
            value,
        };
        [&header(PORT, LineCardKind::FlowControl)[..], &control.encode()].concat()
    }

    #[test]
    fn packets_enter_the_lane_when_they_come() {
        let mut links = links(queue());
        for arrives in [105, 205, 305] {
            assert!(matches!(sends(&mut links, us(0), PORT), Action::Enter { lane: 9, at, .. } if at == us(arrives)));
        }
        let is = |action: Action, expected| matches!(action, Action::Drop { cause, .. } if cause == expected);
        assert!(is(sends(&mut links, us(0), PORT), DropCause::QueueFull));
        assert!(is(sends(&mut links, us(0), 2), DropCause::NoSuchPort));
        assert!(is(sends(&mut links, us(0), 77), DropCause::NoSuchPort));
        let mut out = Actions::default();
        links.change(us(50), PORT, (Some(Rate::from_bps(16_000_000)), None), &mut out);
        assert!(matches!(&out.list[..], [Action::Retime { lane: 9, arrivals }] if arrivals[..] == [us(155), us(205)]));
        out.list.clear();
        links.set_dark(us(60), PORT, true, &mut out);
        assert!(matches!(
            out.list[..],
            [Action::Recall {
                lane: 9,
                count: 2,
                cause: DropCause::LinkDown,
                ..
            }]
        ));
        assert!(is(sends(&mut links, us(60), PORT), DropCause::LinkDown));
        assert_eq!((links.total(PORT).packets, links.total(2).packets), (1, 0));
        assert_eq!(links.take_use(us(60), PORT).unwrap().dropped_packets, 4);
        assert!(links.take_use(us(60), 3).is_none());
        out.list.clear();
        links.restarts(us(70), &mut out);
        assert!(matches!(
            out.list[..],
            [Action::Recall {
                count: 0,
                cause: DropCause::PipelineReplaced,
                ..
            }]
        ));
    }

    #[test]
    fn timers_tick_one_after_the_answer_to_the_other() {
        let mut queue = queue();
        queue.start_timers(us(0));
        let mut links = Links::default();
        assert_eq!(links.add(PORT, queue), Some(us(0)));
        let mut out = Actions::default();
        links.due(us(0), timer(PORT), Expiry::First, Program::Inside, &mut out);
        // The queue's, then the control timer's.
        for value in [300_000, 0] {
            let Some(Action::Ask { then, .. }) = out.list.pop() else {
                panic!("a tick")
            };
            if value > 0 {
                let frame = answer(PORT, value);
                assert!(links.told(us(0), &ToCard::read(&frame).unwrap(), &mut out));
            }
            assert!(out.list.is_empty(), "set when all is answered");
            links.goes_on(us(0), then, Pass::Done { outputs: 0 }, &mut out);
        }
        assert!(
            matches!(out.list[..], [Action::Timer { timer, at, .. }] if port_of(timer) == Some(PORT) && at == us(300))
        );
        out.list.clear();
        links.due(us(299), timer(PORT), Expiry::First, Program::Inside, &mut out);
        assert!(out.list.is_empty());
    }

    #[test]
    fn an_answer_that_comes_later_sets_the_timer() {
        let mut queue = queue();
        queue.start_timers(us(0));
        let mut links = links(queue);
        let mut out = Actions::default();
        links.due(us(0), timer(PORT), Expiry::First, Program::Outside, &mut out);
        while let Some(Action::Ask { then, .. }) = out.list.pop() {
            links.goes_on(us(0), then, Pass::Later, &mut out);
        }
        let frame = answer(PORT, 500_000);
        out.list.clear();
        assert!(links.told(us(20), &ToCard::read(&frame).unwrap(), &mut out));
        assert!(matches!(out.list[..], [Action::Timer { at, .. }] if at == us(500)));
        for (queue, value) in [(PORT, 0), (PORT + 1, 1)] {
            let frame = answer(queue, value);
            assert!(!links.told(us(20), &ToCard::read(&frame).unwrap(), &mut out));
        }
    }
}
