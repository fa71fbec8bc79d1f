// SPDX-License-Identifier: Apache-2.0
//! Card of a station of a packet ring: the links of both ringlets, transit first.
//!
//! At the end of each interval a link asks P4 with a tick. The answer has its limits, when the next interval ends, and
//! how many more ticks P4 wants, each for a message.

mod allowances;
mod meters;
impl Invariant {
    /// Nothing added to a ring beyond what P4 told the card, and its bucket.
    pub const ADD_RATE: Invariant = Invariant::new("add_rate", "add-rate violations");
    /// Never more than two of the longest frames in an insertion buffer of a ring.
    pub const INSERTION: Invariant = Invariant::new("insertion", "transit-buffer overflows");
}

#[cfg(test)]
mod tests;

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{MAX_STATIONS, PORT_RING_EAST, PORT_RING_WEST, REPORT_SOURCES, RINGLETS, RingTick, TIMER_RETRY_NS};

use crate::card::{Action, Actions, Card, Expiry, Lane, Pass, Program, Record, Then, TimerId};
use crate::message::{ToCard, ring as message};
use crate::packet::{Flying, Origin, Packet};
use crate::transit_first::{self, Next, Settings, TransitFirst};
use crate::{DropCause, Invariant, Port};
use allowances::Allowances;
use meters::Meters;
pub use meters::RingLinkUse;

/// Shortest interval, so that a card leaves time for packets.
const MIN_INTERVAL: Duration = Duration::from_us(10);
/// Time without an answer after which a card tries again.
const RETRY: Duration = Duration::from_ns(TIMER_RETRY_NS as u64);
/// Most ticks at once: one for each report of a full ring.
const MAX_TICKS: u16 = MAX_STATIONS.div_ceil(REPORT_SOURCES);

/// Output port of a ringlet at a station.
pub fn port_out(ringlet: u8) -> Port {
    if ringlet == 0 { PORT_RING_EAST } else { PORT_RING_WEST }
}

/// Input port of a ringlet at a station.
pub fn port_in(ringlet: u8) -> Port {
    port_out(1 - ringlet)
}

/// Ringlet that leaves a station by a port.
fn ringlet_of(port: Port) -> u8 {
    u8::from(port != PORT_RING_EAST)
}

/// Interval of a ring's link that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Ringlet of the link.
    pub ringlet: u8,
    /// Its length.
    pub length: Duration,
    /// Longest wait of a packet within its limits for the link.
    pub hol_delay: Duration,
}

/// Tick that P4 is asked with.
struct Asking {
    tick: RingTick,
    /// Number of the last one that P4 has asked for. The answer to the first one says it.
    last: Option<u16>,
    /// Set at the end of an interval; a switch outside answers later.
    ended: Option<Interval>,
}

/// Link of a ringlet and what stands before it.
struct Link {
    queues: TransitFirst<Packet>,
    meters: Meters,
    allowances: Allowances,
    lane: Lane,
    delay: Duration,
    wake: Option<Instant>,
    /// End of the previous interval; an answer counts from then.
    ended: Instant,
    /// End of this one.
    due: Instant,
    /// Ticks that P4 has asked for.
    ticks: u16,
    /// The tick that has had no answer yet: only the first one may ask for ticks.
    unanswered: Option<RingTick>,
    /// Set while P4 is asked.
    asking: Option<Asking>,
    is_dark: bool,
}

/// Card of a station: one link a ringlet, where there is one.
pub struct StationCard {
    station: u16,
    links: [Option<Link>; RINGLETS as usize],
}

impl StationCard {
    /// A card without links.
    pub fn new(station: u16) -> StationCard {
        StationCard {
            station,
            links: [const { None }; RINGLETS as usize],
        }
    }

    /// Adds the link of a ringlet, which is a lane of this delay. Its first interval ends at time 0, by its timer.
    pub fn add_link(&mut self, ringlet: u8, settings: Settings, lane: Lane, delay: Duration) -> TimerId {
        self.links[usize::from(ringlet)] = Some(Link {
            queues: TransitFirst::new(settings),
            meters: Meters::default(),
            allowances: Allowances::new(settings.bucket),
            lane,
            delay,
            wake: None,
            ended: Instant::ZERO,
            due: Instant::ZERO,
            ticks: 0,
            unanswered: None,
            asking: None,
            is_dark: false,
        });
        port_out(ringlet)
    }

    /// Use of a link since the last call; `None` if there is no such link. It has no crossings.
    pub fn take_use(&mut self, ringlet: u8) -> Option<RingLinkUse> {
        let link = self.links.get_mut(usize::from(ringlet))?.as_mut()?;
        let mut used = link.meters.take();
        used.buffered_bytes = link.queues.buffered_bytes();
        used.most_buffered_bytes = link.queues.take_most_buffered_bytes();
        Some(used)
    }

    /// True if there is a link of a ringlet.
    pub fn has_link(&self, ringlet: u8) -> bool {
        self.links.get(usize::from(ringlet)).is_some_and(Option::is_some)
    }

    /// True if all links carry packets.
    pub fn is_lit(&self) -> bool {
        self.links.iter().flatten().all(|link| !link.is_dark)
    }

    /// Counts an interval with the phase at its end.
    pub fn note_phase(&mut self, interval: &Interval, phase: slotwise_wire::RingPhase, is_held_back: bool) {
        if let Some(link) = &mut self.links[usize::from(interval.ringlet)] {
            link.meters.phase(phase, interval.length, is_held_back);
        }
    }

    fn at(&mut self, ringlet: u8) -> Option<(&mut Link, Place)> {
        let station = self.station;
        let link = self.links.get_mut(usize::from(ringlet))?.as_mut()?;
        Some((link, Place { station, ringlet }))
    }
}

/// Name of a link.
#[derive(Clone, Copy)]
struct Place {
    station: u16,
    ringlet: u8,
}

impl Place {
    fn port(self) -> Port {
        port_out(self.ringlet)
    }

    fn timer(self, at: Instant, expiry: Expiry) -> Action {
        let timer = self.port();
        Action::Timer { timer, at, expiry }
    }
}

impl Link {
    fn ask(&mut self, at: Place, asking: Asking, out: &mut Actions) {
        let message = message::ring_tick(at.port(), &asking.tick);
        let ringlet = at.ringlet;
        self.asking = Some(asking);
        out.ask(&message, None, Then::Station { ringlet });
    }

    /// Asks for the next tick that P4 wants, or goes on without one.
    fn tick_again(
        &mut self,
        now: Instant,
        at: Place,
        tick: RingTick,
        last: u16,
        ended: Option<Interval>,
        out: &mut Actions,
    ) {
        let repeat = tick.repeat + 1;
        if repeat <= last {
            let tick = RingTick { repeat, ..tick };
            let last = Some(last);
            return self.ask(at, Asking { tick, last, ended }, out);
        }
        match ended {
            Some(ended) => {
                out.push(Action::Seen(Record::Interval(ended)));
                self.begin_interval(now, at, out);
            }
            None => self.drain(now, at, out),
        }
    }

    /// Begins an interval that ends as P4 has answered, or without an answer when the card tries again.
    fn begin_interval(&mut self, now: Instant, at: Place, out: &mut Actions) {
        if self.due == now + RETRY {
            // Without an answer, which does it otherwise.
            self.drain(now, at, out);
        }
        out.push(at.timer(self.due, Expiry::First));
    }

    /// Sends what may leave, and asks to be woken when more may.
    fn drain(&mut self, now: Instant, at: Place, out: &mut Actions) {
        loop {
            match self.queues.poll(now) {
                Next::Send {
                    packet,
                    origin,
                    duration,
                } => {
                    let bytes = Bytes::of(packet.frame.len());
                    self.meters.sent(now, origin, bytes, duration);
                    if let transit_first::Origin::Added(added) = origin {
                        if !self.allowances.take(now, added.queue, bytes) {
                            let (port, broken) = (at.port(), Invariant::ADD_RATE);
                            out.push(Action::Broken {
                                port,
                                broken,
                                packet: None,
                            });
                        }
                        if let Some((ring, Some(data))) = message::ring(&packet.frame) {
                            out.push(Action::Seen(Record::Added {
                                headers: (ring, data),
                                accepted: added.accepted,
                            }));
                        }
                    }
                    out.push(Action::Enter {
                        lane: self.lane,
                        at: now + duration + self.delay,
                        flying: Flying::plain(packet),
                    });
                }
                // It is looked at again at the interval's end: other limits may come then, and what would be waited for no longer counts.
                Next::At(wake) if wake > self.due => return,
                Next::At(wake) => {
                    if self.wake.is_none_or(|known| wake < known) {
                        self.wake = Some(wake);
                        out.push(at.timer(wake, Expiry::Last));
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    /// Loses a packet: it is not looked for on the ring any more.
    fn lose(&mut self, at: Place, cause: DropCause, packet: Packet, out: &mut Actions) {
        match message::ring(&packet.frame) {
            Some((ring, Some(data))) if ring.source != at.station => {
                self.meters.dropped(None);
                let headers = (ring, data);
                out.push(Action::Seen(Record::Forgotten { headers }));
            }
            Some((_, Some(_))) => self.meters.dropped(Some(Bytes::of(packet.frame.len()))),
            _ => {}
        }
        let (port, frame) = (at.port(), packet.frame);
        out.push(Action::Drop { port, cause, frame });
    }

    /// Loses all that waits.
    fn lose_all(&mut self, at: Place, cause: DropCause, out: &mut Actions) {
        for packet in self.queues.take_all() {
            self.lose(at, cause, packet, out);
        }
    }

    /// An interval has ended, or the card has had no answer for long.
    fn interval_ends(&mut self, now: Instant, at: Place, program: Program, out: &mut Actions) {
        if self.due != now {
            return;
        }
        let length = now - self.ended;
        self.ended = now;
        self.due = now + RETRY;
        self.ticks = 0;
        let report = self.queues.end_interval(now);
        if program == Program::None {
            return self.begin_interval(now, at, out);
        }
        let tick = RingTick {
            repeat: 0,
            hol_delay_ns: u32::try_from(report.hol_delay.ns()).unwrap_or(u32::MAX),
            // Modulo 2^32 on the wire.
            added_bytes: report.added_bytes.get() as u32,
            committed_bytes: report.committed_bytes.get() as u32,
            local_ns: now.ns(),
        };
        self.unanswered = Some(tick);
        let ended = Some(Interval {
            ringlet: at.ringlet,
            length,
            hol_delay: report.hol_delay,
        });
        let last = None;
        self.ask(at, Asking { tick, last, ended }, out);
    }
}

impl Card for StationCard {
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, _: Origin, out: &mut Actions) {
        let Some((link, at)) = self.at(ringlet_of(port)) else {
            let (cause, frame) = (DropCause::NoSuchPort, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        };
        let bytes = Bytes::of(packet.frame.len());
        let read = message::ring(&packet.frame);
        // What the card loses counts as offered, too.
        if matches!(&read, Some((ring, Some(_))) if ring.source == at.station) {
            link.meters.offered(bytes);
        }
        let lost = match read {
            _ if link.is_dark => Err((DropCause::LinkDown, packet)),
            Some((ring, Some(data))) if ring.source == at.station => link.queues.add(now, data.queue, packet, bytes),
            Some((_, Some(_))) => link.queues.pass_on(now, packet, bytes).map_err(|packet| {
                let broken = Invariant::INSERTION;
                out.push(Action::Broken {
                    port,
                    broken,
                    packet: None,
                });
                (DropCause::QueueFull, packet)
            }),
            // Of fairness, or what the controller sends.
            _ => {
                if let Some(older) = link.queues.tell(packet, bytes) {
                    // Not a loss: the newer one replaces it entirely.
                    let (cause, frame) = (DropCause::Outdated, older.frame);
                    out.push(Action::Drop { port, cause, frame });
                }
                Ok(())
            }
        };
        if let Err((cause, packet)) = lost {
            link.lose(at, cause, packet, out);
        }
        link.drain(now, at, out);
    }

    /// P4's answer to a tick, which comes before the card goes on, or later from a switch outside.
    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let Some((link, at)) = self.at(ringlet_of(port)).filter(|(_, at)| at.port() == port) else {
            return false;
        };
        let answer = message::add_limits(message).filter(|answer| !answer.next.is_zero() && answer.ticks <= MAX_TICKS);
        let Some(answer) = answer else {
            let (cause, bytes) = (DropCause::Malformed, message.bytes());
            out.push(Action::Refuse { port, cause, bytes });
            return true;
        };
        let due = link.ended + answer.next;
        link.due = due.max(now + MIN_INTERVAL);
        let first = link.unanswered.take();
        link.ticks = answer.ticks;
        link.queues.set_limits(now, &answer.limits);
        link.allowances.set(now, &answer.limits);
        if link.asking.is_none() {
            out.push(at.timer(link.due, Expiry::First));
            if let Some(first) = first {
                let last = std::mem::take(&mut link.ticks);
                link.tick_again(now, at, first, last, None, out);
                return true;
            }
        }
        link.drain(now, at, out);
        true
    }

    fn goes_on(&mut self, now: Instant, then: Then, _: Pass, out: &mut Actions) {
        let Then::Station { ringlet } = then else { return };
        if let Some((link, at)) = self.at(ringlet)
            && let Some(Asking { tick, last, ended }) = link.asking.take()
        {
            let last = last.unwrap_or_else(|| std::mem::take(&mut link.ticks));
            link.tick_again(now, at, tick, last, ended, out);
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        let Some((link, at)) = self.at(ringlet_of(timer)) else {
            return;
        };
        match expiry {
            Expiry::CoreSlot | Expiry::EdgeSlot => {}
            Expiry::First => link.interval_ends(now, at, program, out),
            Expiry::Last => {
                if link.wake == Some(now) {
                    link.wake = None;
                    link.drain(now, at, out);
                }
            }
        }
    }

    fn set_dark(&mut self, _: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        if let Some((link, at)) = self.at(ringlet_of(port)) {
            link.is_dark = is_dark;
            if is_dark {
                link.lose_all(at, DropCause::LinkDown, out);
            }
        }
    }

    /// Removes the limits and loses all waiting packets.
    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        for ringlet in 0..RINGLETS {
            if let Some((link, at)) = self.at(ringlet) {
                link.queues.set_limits(now, &[]);
                link.allowances.set(now, &[]);
                link.lose_all(at, DropCause::PipelineReplaced, out);
            }
        }
    }
}
