// SPDX-License-Identifier: Apache-2.0
//! The cards before the links of a ring: what they take, send, and tell P4.

use slotwise_p4::{Port, RegisterCell};
use slotwise_scenario::Device;
use slotwise_wire::{MAX_STATIONS, REPORT_SOURCES, RINGLETS, Ring, RingData, RingTick, TIMER_RETRY_NS};

use super::measure::Meters;
use super::watch::{Allowances, OnRing, Taken};
use super::{device, port_in, port_out};
use crate::dispatch::Origin;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::faults::{LightWay, Way};
use crate::invariants::Invariant;
use crate::kind::{CardAt, Discipline, End};
use crate::lane::{Flying, LaneEnd};
use crate::pump::{Pass, Passed, Step};
use slotwise_cards::message::ToCard;
use slotwise_cards::message::ring as message;
use slotwise_cards::packet::{Frame, Packet, UNBORN};
use slotwise_cards::transit_first::{self, Added, Next, Settings, TransitFirst};

/// Shortest interval: whatever it is told, a card leaves time for packets.
const MIN_INTERVAL_NS: u64 = 10_000;
/// Most ticks at once: one for each report of a full ring.
const MAX_TICKS: u16 = MAX_STATIONS.div_ceil(REPORT_SOURCES);

/// The card of a station for one ringlet, and the link behind it.
pub(crate) struct Card {
    pub(crate) station: u16,
    pub(crate) ringlet: u8,
    pub(crate) queues: TransitFirst<Packet>,
    pub(crate) meters: Meters,
    pub(crate) allowances: Allowances,
    lane: usize,
    delay_ns: u64,
    wake_ns: Option<u64>,
    /// End of the interval before the one under way, from which an answer counts.
    ended_ns: u64,
    /// When this one ends.
    due_ns: u64,
    /// Ticks that P4 has asked for.
    ticks: u16,
    /// The tick that has had no answer yet: only the first one may ask for ticks.
    unanswered: Option<RingTick>,
    doing: Doing,
    pub(super) is_dark: bool,
    /// Where its program keeps the link's phase, once that was looked up.
    pub(super) phase_cell: Option<RegisterCell>,
}

/// An interval that has ended.
struct Ended {
    interval_ns: u64,
    hol_delay_ns: u64,
}

/// Question to P4 after which a card goes on.
enum Doing {
    /// None.
    Nothing,
    /// The first tick at the end of an interval.
    FirstTick(RingTick, Ended),
    /// The ticks that P4 has asked for: at the end of an interval, or later, from a switch outside.
    Ticks(Option<Ended>),
}

/// Data that has arrived at a station, for the checks after its pass.
pub(crate) struct Arrival {
    station: u16,
    ringlet: u8,
    ring: Ring,
    data: RingData,
    bytes: u64,
}

impl Card {
    pub(crate) fn device(&self) -> Device {
        device(self.station)
    }

    pub(crate) fn port(&self) -> Port {
        port_out(self.ringlet)
    }

    pub(crate) fn place(&self) -> Place {
        Place::Port {
            device: self.device(),
            port: self.port(),
        }
    }
}

/// Cards of stations.
static TRANSIT_FIRST: Discipline = Discipline {
    is_link: true,
    obey: |fabric, card, message| {
        fabric.set_ring_limits(card, message);
        true
    },
    timer: Fabric::ring_tick,
    wake: Fabric::ring_wake,
    set_dark: Fabric::set_ring_dark,
    ..Discipline::new("transit first", Fabric::enqueue_ring)
};

/// Where ringlets come to stations, by number.
static AT_STATION: End = End {
    arrive: |fabric, end, flying| fabric.at_station(end, flying.packet),
};

/// Messages that come there.
static TO_STATION: LightWay = LightWay {
    place: |_, end| Place::Device(device(station_at(end).0)),
    arrive: Fabric::message_at_station,
};

/// The number of the end of a ringlet at a station.
fn end_at(station: u16, ringlet: u8) -> usize {
    usize::from(station) * usize::from(RINGLETS) + usize::from(ringlet)
}

/// The station and the ringlet that meet at an end.
fn station_at(end: usize) -> (u16, u8) {
    let ringlets = usize::from(RINGLETS);
    ((end / ringlets) as u16, (end % ringlets) as u8)
}

impl Fabric {
    /// Adds the card of a station for a ringlet, and its link to another station; its first interval ends at time 0.
    pub(super) fn add_ring_card(
        &mut self,
        (station, ringlet, to): (u16, u8, u16),
        settings: Settings,
        delay_ns: u64,
    ) -> CardAt {
        let lane = self.add_lane(LaneEnd::own(&AT_STATION, end_at(to, ringlet)));
        let index = self.ring.cards.len();
        self.ring.cards.push(Card {
            station,
            ringlet,
            queues: TransitFirst::new(settings),
            meters: Meters::default(),
            allowances: Allowances::new(settings.bucket_bytes),
            lane,
            delay_ns,
            wake_ns: None,
            ended_ns: 0,
            due_ns: 0,
            ticks: 0,
            unanswered: None,
            doing: Doing::Nothing,
            is_dark: false,
            phase_cell: None,
        });
        let node = self.node(device(station));
        let card = CardAt::new(&TRANSIT_FIRST, index);
        self.nodes[node].set_card(port_out(ringlet), card);
        self.events.schedule(0, Event::timer(card));
        card
    }

    /// An interval has ended, or the card has had no answer for long.
    fn ring_tick(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let card = &mut self.ring.cards[index];
        if card.due_ns != now_ns {
            return;
        }
        let interval_ns = now_ns - card.ended_ns;
        card.ended_ns = now_ns;
        card.due_ns = now_ns + u64::from(TIMER_RETRY_NS);
        card.ticks = 0;
        let report = card.queues.end_interval(now_ns);
        let device = card.device();
        if self.runs(device) {
            let tick = RingTick {
                repeat: 0,
                hol_delay_ns: u32::try_from(report.hol_delay_ns).unwrap_or(u32::MAX),
                // Modulo 2^32 on the wire.
                added_bytes: report.added_bytes as u32,
                committed_bytes: report.committed_bytes as u32,
                local_ns: now_ns,
            };
            let card = &mut self.ring.cards[index];
            card.unanswered = Some(tick);
            let ended = Ended {
                interval_ns,
                hol_delay_ns: report.hol_delay_ns,
            };
            card.doing = Doing::FirstTick(tick, ended);
            self.tick_station(index, tick);
            return self.then(Step::RingTicks { card: index as u32 });
        }
        self.begin_interval(index);
    }

    /// P4 has had the ticks that were asked: the card goes on.
    pub(crate) fn ring_ticks_done(&mut self, index: usize) {
        match std::mem::replace(&mut self.ring.cards[index].doing, Doing::Nothing) {
            Doing::FirstTick(first, ended) => self.tick_again(index, first, Some(ended)),
            Doing::Ticks(Some(ended)) => {
                self.note_phase(index, &ended);
                self.begin_interval(index);
            }
            Doing::Ticks(None) => self.drain_ring(index),
            Doing::Nothing => {}
        }
    }

    /// Begins an interval that ends as P4 has answered, or without an answer when the card tries again.
    fn begin_interval(&mut self, index: usize) {
        let now_ns = self.now_ns;
        if self.ring.cards[index].due_ns == now_ns + u64::from(TIMER_RETRY_NS) {
            // There was no answer, with which it would have been done.
            self.drain_ring(index);
        }
        let due_ns = self.ring.cards[index].due_ns;
        self.events
            .schedule(due_ns, Event::timer(CardAt::new(&TRANSIT_FIRST, index)));
    }

    /// Writes down whether a station is the head of a congested span.
    fn note_phase(&mut self, index: usize, ended: &Ended) {
        if let Some(phase) = self.ring_phase(index) {
            let is_held_back = ended.hol_delay_ns > self.ring.hol_timer_ns;
            self.ring.cards[index]
                .meters
                .phase(phase, ended.interval_ns, is_held_back);
        }
    }

    fn tick_station(&mut self, index: usize, tick: RingTick) {
        let (device, port) = (self.ring.cards[index].device(), self.ring.cards[index].port());
        let tick = message::ring_tick(port, &tick);
        self.notify_p4(device, &tick, Origin::Local);
    }

    /// The ticks that P4 has asked for, each for a message.
    fn tick_again(&mut self, index: usize, first: RingTick, ended: Option<Ended>) {
        let card = &mut self.ring.cards[index];
        card.doing = Doing::Ticks(ended);
        for repeat in 1..=std::mem::take(&mut card.ticks) {
            self.tick_station(index, RingTick { repeat, ..first });
        }
        self.go_on(Step::RingTicks { card: index as u32 });
    }

    /// Obeys P4's answer to a tick, which comes before the card goes on, or later from a switch outside.
    fn set_ring_limits(&mut self, index: usize, message: &ToCard) {
        let now_ns = self.now_ns;
        let card = &mut self.ring.cards[index];
        let answer = message::add_limits(message).filter(|answer| answer.next_ns > 0 && answer.ticks <= MAX_TICKS);
        let Some(answer) = answer else {
            let place = card.place();
            return self.drops.add(place, DropCause::Malformed, message.bytes());
        };
        let due_ns = card.ended_ns + u64::from(answer.next_ns);
        card.due_ns = due_ns.max(now_ns + MIN_INTERVAL_NS);
        let first = card.unanswered.take();
        card.ticks = answer.ticks;
        card.queues.set_limits(now_ns, &answer.limits);
        card.allowances.set(now_ns, &answer.limits);
        if let Doing::Nothing = card.doing {
            self.events
                .schedule(card.due_ns, Event::timer(CardAt::new(&TRANSIT_FIRST, index)));
            if let Some(first) = first {
                return self.tick_again(index, first, None);
            }
        }
        self.drain_ring(index);
    }

    /// Puts what leaves a station by a ring port into its card.
    fn enqueue_ring(&mut self, index: usize, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        let card = &mut self.ring.cards[index];
        let bytes = frame.len() as u64;
        let packet = Packet {
            frame,
            born_ns: origin.born_ns(),
        };
        let lost = match message::ring(&packet.frame) {
            _ if card.is_dark => Err((DropCause::LinkDown, packet)),
            Some((ring, Some(data))) if ring.source == card.station => {
                card.meters.offered(bytes);
                card.queues.add(now_ns, data.queue, packet, bytes)
            }
            Some((_, Some(_))) => card.queues.pass_on(now_ns, packet, bytes).map_err(|packet| {
                let place = card.place();
                self.invariants.violated(Invariant::INSERTION, now_ns, place, None);
                (DropCause::QueueFull, packet)
            }),
            // Of fairness, or what the controller sends.
            _ => match card.queues.tell(packet, bytes) {
                None => Ok(()),
                // It is no loss: the newer one says all that it said.
                Some(older) => {
                    let place = card.place();
                    self.drop(place, DropCause::Outdated, older.frame);
                    Ok(())
                }
            },
        };
        if let Err((cause, packet)) = lost {
            self.lose_on_ring(index, cause, packet);
        }
        self.drain_ring(index);
    }

    /// Lets a card send what it may, and wakes it when it may be able to send more.
    fn drain_ring(&mut self, index: usize) {
        loop {
            let now_ns = self.now_ns;
            let card = &mut self.ring.cards[index];
            match card.queues.poll(now_ns) {
                Next::Send {
                    packet,
                    origin,
                    duration_ns,
                } => {
                    let bytes = packet.frame.len() as u64;
                    card.meters.sent(now_ns, origin, bytes, duration_ns);
                    if let transit_first::Origin::Added(added) = origin {
                        self.added_to_ring(index, &packet, added);
                    }
                    let card = &self.ring.cards[index];
                    let at_ns = now_ns + duration_ns + card.delay_ns;
                    self.lanes[card.lane].enter(&mut self.events, at_ns, Flying::plain(packet));
                }
                // It is looked at again at the interval's end: other limits may come then, and what would be waited for no longer counts.
                Next::At(at_ns) if at_ns > card.due_ns => return,
                Next::At(at_ns) => {
                    if card.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns) {
                        card.wake_ns = Some(at_ns);
                        self.events
                            .schedule(at_ns, Event::wake(CardAt::new(&TRANSIT_FIRST, index)));
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    fn ring_wake(&mut self, index: usize) {
        let card = &mut self.ring.cards[index];
        if card.wake_ns == Some(self.now_ns) {
            card.wake_ns = None;
            self.drain_ring(index);
        }
    }

    fn added_to_ring(&mut self, index: usize, packet: &Packet, added: Added) {
        let card = &mut self.ring.cards[index];
        let (place, bytes) = (card.place(), packet.frame.len() as u64);
        if !card.allowances.take(self.now_ns, added.queue, bytes) {
            self.invariants.violated(Invariant::ADD_RATE, self.now_ns, place, None);
        }
        if let Some((ring, Some(data))) = message::ring(&packet.frame) {
            self.ring.watch.enters(&ring, &data, added.accepted_ns);
        }
    }

    /// A packet arrives at a station by a ringlet.
    fn at_station(&mut self, end: usize, packet: Packet) {
        let Packet { mut frame, born_ns } = packet;
        let Some((ring, Some(data))) = message::ring(&frame) else {
            match self.passes_faults(Way::light(&TO_STATION, end), &mut frame) {
                true => self.message_at_station(end, frame),
                false => self.pool.give_back(frame),
            }
            return;
        };
        let (station, ringlet) = station_at(end);
        let arrival = Arrival {
            station,
            ringlet,
            ring,
            data,
            bytes: frame.len() as u64,
        };
        let (device, port) = (device(station), port_in(ringlet));
        self.enter((device, port), frame, Origin::Lane { born_ns }, Passed::OnRing(arrival));
    }

    /// What is no data reaches a station's program.
    fn message_at_station(&mut self, end: usize, frame: Frame) {
        let (station, ringlet) = station_at(end);
        let origin = Origin::Lane { born_ns: UNBORN };
        self.ask(device(station), port_in(ringlet), frame, origin);
    }

    /// Data has passed the program of a station.
    pub(crate) fn watch_arrival(&mut self, arrival: &Arrival, pass: Pass) {
        let &Arrival {
            station,
            ringlet,
            ref ring,
            ref data,
            bytes,
        } = arrival;
        let place = Place::Port {
            device: device(station),
            port: port_in(ringlet),
        };
        if !self.ring.watch.is_on_its_way(ring, station, ringlet) {
            self.invariants.violated(Invariant::ROUND, self.now_ns, place, None);
        }
        let is_over = ring.destination == station || ring.source == station;
        if pass == Pass::Later && !is_over {
            return;
        }
        if !self.runs(device(station)) {
            return self.ring.watch.forget(ring, data);
        }
        if !is_over && pass != (Pass::Done { outputs: 0 }) {
            return;
        }
        let (broken, times) = match self.ring.watch.leaves(ring, data) {
            Taken::Once(OnRing { accepted_ns, .. }) if ring.destination == station => {
                let delay_ns = self.now_ns - accepted_ns;
                return self.ring.watch.delivered(ring, bytes, delay_ns);
            }
            // It came back to its source, which takes it off.
            Taken::Once(_) => (Invariant::TRANSIT_LOSS, usize::from(!is_over)),
            Taken::After { lost } => (Invariant::TRANSIT_LOSS, lost),
            Taken::Never => (Invariant::DUPLICATE, 1),
        };
        for _ in 0..times {
            self.invariants.violated(broken, self.now_ns, place, None);
        }
    }

    /// A card loses a packet: it is not looked for on the ring any more.
    fn lose_on_ring(&mut self, index: usize, cause: DropCause, packet: Packet) {
        let card = &mut self.ring.cards[index];
        let place = card.place();
        match message::ring(&packet.frame) {
            Some((ring, Some(data))) if ring.source != card.station => {
                card.meters.dropped(None);
                self.ring.watch.forget(&ring, &data);
            }
            Some((_, Some(_))) => card.meters.dropped(Some(packet.frame.len() as u64)),
            _ => {}
        }
        self.drop(place, cause, packet.frame);
    }

    /// Loses what waits in a card; limits hold no longer if its station is gone.
    fn reset_ring_card(&mut self, index: usize, cause: DropCause) {
        let card = &mut self.ring.cards[index];
        if cause == DropCause::PipelineReplaced {
            card.queues.set_limits(self.now_ns, &[]);
            card.allowances.set(self.now_ns, &[]);
        }
        for packet in self.ring.cards[index].queues.take_all() {
            self.lose_on_ring(index, cause, packet);
        }
    }

    /// Lets the link behind a card carry packets or not.
    fn set_ring_dark(&mut self, index: usize, is_dark: bool) {
        self.ring.cards[index].is_dark = is_dark;
        self.ring.broken_ns = self.now_ns;
        if is_dark {
            self.reset_ring_card(index, DropCause::LinkDown);
        }
    }

    /// What waits in the cards of a station is gone, and its limits with it.
    pub(super) fn reset_station(&mut self, device: Device) {
        self.ring.broken_ns = self.now_ns;
        for index in 0..self.ring.cards.len() {
            if self.ring.cards[index].device() == device {
                // Another program may keep it elsewhere.
                self.ring.cards[index].phase_cell = None;
                self.reset_ring_card(index, DropCause::PipelineReplaced);
            }
        }
    }
}
