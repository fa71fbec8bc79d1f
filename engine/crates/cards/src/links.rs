// SPDX-License-Identifier: Apache-2.0
//! Card of a switch before links that are free when they are idle: one queue a port, served in order.
//!
//! A queue has the number of its port. Where P4 is an XCP agent it has interval timers.

use slotwise_units::{Duration, Instant, Rate};

use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Then, TimerId};
use crate::fifo::{Departure, Fifo, FifoUse};
use crate::measure::AccessUse;
use crate::message::{Message, ToCard, interval_tick};
use crate::packet::{Flying, Origin, Packet};
use crate::{DropCause, Port};

struct Link {
    queue: Fifo,
    /// Nothing comes through behind it.
    is_dark: bool,
    /// True while P4 is asked.
    is_asking: bool,
    /// When its timer expires that is set.
    timer: Option<Instant>,
}

/// Queues before the links of a switch, by port.
#[derive(Default)]
pub struct Links {
    ports: Vec<Option<Link>>,
}

impl Links {
    /// Adds the queue before a link. Returns when its timer expires first, if it has any.
    pub fn add(&mut self, port: Port, queue: Fifo) -> Option<Instant> {
        let place = usize::from(port);
        if place >= self.ports.len() {
            self.ports.resize_with(place + 1, || None);
        }
        let timer = queue.next_tick_ns().map(Instant::from_ns);
        self.ports[place] = Some(Link {
            queue,
            is_dark: false,
            is_asking: false,
            timer,
        });
        timer
    }

    fn link(&mut self, port: Port) -> Option<&mut Link> {
        self.ports.get_mut(usize::from(port))?.as_mut()
    }

    /// Takes a packet of so many bytes, its Ethernet header included, or says why not: the lane that it enters, and when.
    #[inline]
    pub fn take(&mut self, now: Instant, port: Port, frame_bytes: usize) -> Result<(usize, Departure), DropCause> {
        let link = self.link(port).ok_or(DropCause::NoSuchPort)?;
        if link.is_dark {
            link.queue.lose(frame_bytes);
            return Err(DropCause::LinkDown);
        }
        let departure = link.queue.enqueue(now.ns(), frame_bytes)?;
        Ok((link.queue.lane, departure))
    }

    /// Changes the link behind a port. What is on it arrives as it would have.
    pub fn change(
        &mut self,
        now: Instant,
        port: Port,
        (rate, delay): (Option<Rate>, Option<Duration>),
        out: &mut Actions,
    ) {
        if let Some(link) = self.link(port) {
            let arrivals = link
                .queue
                .change(now.ns(), rate.map(Rate::bps), delay.map(Duration::ns));
            let lane = link.queue.lane as u32;
            out.push(Action::Retime { lane, arrivals });
        }
    }

    /// Use of a link since the last call; `None` if there is none.
    pub fn take_use(&mut self, now: Instant, port: Port) -> Option<FifoUse> {
        Some(self.link(port)?.queue.take_use(now.ns()))
    }

    /// Use of a link since the start, packets that wait included.
    pub fn total(&self, port: Port) -> AccessUse {
        let link = self.ports.get(usize::from(port)).and_then(Option::as_ref);
        link.map_or_else(AccessUse::default, |link| link.queue.total())
    }

    /// Loses what has not begun to leave by a port.
    fn lose_waiting(&mut self, now: Instant, port: Port, cause: DropCause, out: &mut Actions) {
        if let Some(link) = self.link(port) {
            let count = link.queue.drop_waiting(now.ns());
            let lane = link.queue.lane as u32;
            out.push(Action::Recall {
                lane,
                count,
                port,
                cause,
            });
        }
    }

    /// Asks P4 with the tick of an interval timer that has expired, one after its answer to the other.
    fn tick(&mut self, now: Instant, port: Port, out: &mut Actions) {
        let Some(link) = self.link(port) else { return };
        if let Some((tick, state)) = link.queue.tick(now.ns()) {
            link.is_asking = true;
            let message = Message::new(&interval_tick(port, &tick, port, &state));
            let then = Then::Link { port };
            return out.push(Action::Ask { message, then });
        }
        link.set_timer(now, port, out);
    }
}

impl Link {
    /// Sets the timer to the next tick if that comes before what is set.
    fn set_timer(&mut self, now: Instant, port: Port, out: &mut Actions) {
        let Some(at_ns) = self.queue.next_tick_ns() else { return };
        let at = Instant::from_ns(at_ns).max(now + Duration::from_ns(1));
        if self.timer.is_none_or(|known| at < known) {
            self.timer = Some(at);
            let (timer, expiry) = (port, Expiry::First);
            out.push(Action::Timer { timer, at, expiry });
        }
    }
}

impl Card for Links {
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, _: Origin, out: &mut Actions) {
        match self.take(now, port, packet.frame.len()) {
            Ok((lane, departure)) => out.push(Action::Enter {
                lane: lane as u32,
                at: Instant::from_ns(departure.arrive_ns),
                flying: Flying::plain(packet),
            }),
            Err(cause) => {
                let frame = packet.frame;
                out.push(Action::Drop { port, cause, frame });
            }
        }
    }

    /// P4 sets an interval timer, at once or later; false if it says something else.
    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let control = message.flow_control().filter(|control| control.queue == port);
        let Some((control, link)) = control.zip(self.link(port)) else {
            return false;
        };
        let is_set = link.queue.control(now.ns(), &control).is_ok();
        if is_set && !link.is_asking {
            link.set_timer(now, port, out);
        }
        is_set
    }

    fn goes_on(&mut self, now: Instant, then: Then, _: Pass, out: &mut Actions) {
        if let Then::Link { port } = then
            && let Some(link) = self.link(port)
        {
            link.is_asking = false;
            self.tick(now, port, out);
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, _: Expiry, _: Program, out: &mut Actions) {
        if let Some(link) = self.link(timer)
            && link.timer.is_some_and(|at| at <= now)
        {
            link.timer = None;
            self.tick(now, timer, out);
        }
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        if let Some(link) = self.link(port) {
            link.is_dark = is_dark;
            self.lose_waiting(now, port, DropCause::LinkDown, out);
        }
    }

    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        for port in 0..self.ports.len() as Port {
            self.lose_waiting(now, port, DropCause::PipelineReplaced, out);
        }
    }
}
