// SPDX-License-Identifier: Apache-2.0
//! An output: the queue before a link, the link, and the interval timers of its line card.
//!
//! A queue that is served in order needs no event when a packet leaves it: the time is known when the packet
//! comes. So a packet costs one event a hop, its arrival at the far end.

use std::collections::VecDeque;

use slotwise_scenario::Buffer;
use slotwise_wire::{Ethernet, IntervalTick, IntervalTimer};

use crate::interval::IntervalTimers;
use crate::link::transmission_ns;
use crate::packet::{Packet, UNBORN};

struct InFlight {
    arrive_ns: u64,
    start_ns: u64,
    packet: Packet,
}

/// What an output did since it was last asked, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputUse {
    /// Packets that came.
    pub arrived_packets: u64,
    /// Of them, those that found the buffer full.
    pub dropped_packets: u64,
    /// Packets that began to leave.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// Time that they take.
    pub busy_ns: u64,
    /// What the rates of this time let through, in bits times 10^9.
    pub capacity_bit_ns: u128,
    /// Time that the packets that came have to wait, together.
    pub waited_ns: u64,
    /// Most packets that waited at once.
    pub most_packets: u64,
    /// Packets waiting now.
    pub queue_packets: u64,
    /// Their IP bytes.
    pub queue_bytes: u64,
}

/// One direction of a link with its queue.
pub(crate) struct Output {
    pub(crate) rate_bps: u64,
    delay_ns: u64,
    buffer: Buffer,
    busy_until_ns: u64,
    /// Start of transmission, IP bytes and time of transmission of what waits.
    waiting: VecDeque<(u64, u64, u64)>,
    waiting_bytes: u64,
    /// By arrival.
    in_flight: VecDeque<InFlight>,
    /// When an arrival event is due.
    event_ns: Option<u64>,
    timers: Option<IntervalTimers>,
    used: OutputUse,
    /// Until when its capacity has been counted.
    counted_ns: u64,
    arrived_bytes: u64,
    dropped_packets: u64,
}

fn ip_bytes(frame: &[u8]) -> u64 {
    frame.len().saturating_sub(Ethernet::SIZE) as u64
}

impl Output {
    pub(crate) fn new(rate_bps: u64, delay_ns: u64, buffer: Buffer) -> Output {
        Output {
            rate_bps,
            delay_ns,
            buffer,
            busy_until_ns: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            in_flight: VecDeque::new(),
            event_ns: None,
            timers: None,
            used: OutputUse::default(),
            counted_ns: 0,
            arrived_bytes: 0,
            dropped_packets: 0,
        }
    }

    /// Starts the card's interval timers; both tick at `now_ns`.
    pub(crate) fn start_timers(&mut self, now_ns: u64) {
        self.timers = Some(IntervalTimers::new(now_ns));
    }

    /// Takes what has begun to leave by `now_ns` out of the queue.
    fn advance(&mut self, now_ns: u64) {
        while let Some(&(start_ns, bytes, busy_ns)) = self.waiting.front()
            && start_ns <= now_ns
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
            self.sends(bytes, busy_ns);
        }
    }

    fn count_capacity(&mut self, now_ns: u64) {
        self.used.capacity_bit_ns += u128::from(self.rate_bps) * u128::from(now_ns - self.counted_ns);
        self.counted_ns = now_ns;
    }

    fn sends(&mut self, bytes: u64, busy_ns: u64) {
        self.used.sent_packets += 1;
        self.used.sent_bytes += bytes;
        self.used.busy_ns += busy_ns;
    }

    /// Takes a packet, or gives it back when the buffer is full. A link's rate counts IP bytes, as the thesis's.
    pub(crate) fn enqueue(&mut self, now_ns: u64, mut packet: Packet) -> Result<(), Packet> {
        self.advance(now_ns);
        let bytes = ip_bytes(&packet.frame);
        self.used.arrived_packets += 1;
        self.arrived_bytes += bytes;
        if let Some(timers) = &mut self.timers {
            timers.observe(self.waiting_bytes);
        }
        let start_ns = self.busy_until_ns.max(now_ns);
        let busy_ns = transmission_ns(bytes, self.rate_bps);
        if start_ns > now_ns {
            let full = match self.buffer {
                Buffer::Packets(most) => self.waiting.len() >= most as usize,
                Buffer::Bytes(most) => self.waiting_bytes + bytes > most,
            };
            if full {
                self.used.dropped_packets += 1;
                self.dropped_packets += 1;
                return Err(packet);
            }
            self.waiting.push_back((start_ns, bytes, busy_ns));
            self.waiting_bytes += bytes;
            self.used.waited_ns += start_ns - now_ns;
            self.used.most_packets = self.used.most_packets.max(self.waiting.len() as u64);
        } else {
            self.sends(bytes, busy_ns);
        }
        self.busy_until_ns = start_ns + busy_ns;
        if packet.born_ns == UNBORN {
            packet.born_ns = start_ns;
        }
        self.fly(InFlight {
            arrive_ns: self.busy_until_ns + self.delay_ns,
            start_ns,
            packet,
        });
        Ok(())
    }

    /// Behind what arrives before it or with it: after a change of delay a packet may overtake.
    fn fly(&mut self, flying: InFlight) {
        let mut place = self.in_flight.len();
        while place > 0 && self.in_flight[place - 1].arrive_ns > flying.arrive_ns {
            place -= 1;
        }
        self.in_flight.insert(place, flying);
    }

    /// Changes the link. What has begun to leave arrives as it would have.
    pub(crate) fn change(&mut self, now_ns: u64, rate_bps: Option<u64>, delay_ns: Option<u64>) {
        self.advance(now_ns);
        self.count_capacity(now_ns);
        self.rate_bps = rate_bps.unwrap_or(self.rate_bps);
        self.delay_ns = delay_ns.unwrap_or(self.delay_ns);
        let flying = std::mem::take(&mut self.in_flight);
        let (mut waiting, gone): (Vec<InFlight>, Vec<InFlight>) =
            flying.into_iter().partition(|flying| flying.start_ns > now_ns);
        self.in_flight = gone.into();
        waiting.sort_by_key(|flying| flying.start_ns);
        if let Some(first) = waiting.first() {
            self.busy_until_ns = first.start_ns;
        }
        self.waiting.clear();
        for mut flying in waiting {
            let bytes = ip_bytes(&flying.packet.frame);
            let busy_ns = transmission_ns(bytes, self.rate_bps);
            flying.start_ns = self.busy_until_ns;
            self.busy_until_ns += busy_ns;
            flying.arrive_ns = self.busy_until_ns + self.delay_ns;
            self.waiting.push_back((flying.start_ns, bytes, busy_ns));
            self.fly(flying);
        }
    }

    /// When to schedule an arrival event, if one is needed that is not scheduled yet.
    pub(crate) fn wants_event(&mut self) -> Option<u64> {
        let head_ns = self.in_flight.front()?.arrive_ns;
        if self.event_ns.is_some_and(|event_ns| event_ns <= head_ns) {
            return None;
        }
        self.event_ns = Some(head_ns);
        Some(head_ns)
    }

    /// When the next packet arrives at the far end.
    pub(crate) fn next_arrival_ns(&self) -> Option<u64> {
        self.in_flight.front().map(|flying| flying.arrive_ns)
    }

    /// The next packet that has arrived at the far end; call until there is none.
    pub(crate) fn arrived(&mut self, now_ns: u64) -> Option<Packet> {
        if self.event_ns.is_some_and(|event_ns| event_ns <= now_ns) {
            self.event_ns = None;
        }
        if self.in_flight.front()?.arrive_ns > now_ns {
            return None;
        }
        self.in_flight.pop_front().map(|flying| flying.packet)
    }

    /// When the next timer expires.
    pub(crate) fn next_tick_ns(&self) -> Option<u64> {
        self.timers.as_ref().map(IntervalTimers::next_ns)
    }

    /// The tick of a timer that has expired by `now_ns`.
    pub(crate) fn tick(&mut self, now_ns: u64) -> Option<IntervalTick> {
        self.advance(now_ns);
        self.timers.as_mut()?.tick(now_ns, self.waiting_bytes)
    }

    /// Sets a timer as the answer to its last tick says; false if this card has none, or that is no time to come.
    pub(crate) fn answer_timer(&mut self, timer: IntervalTimer, now_ns: u64, value_ns: u64) -> bool {
        let timers = self.timers.as_mut();
        timers.is_some_and(|timers| timers.answer(timer, now_ns, value_ns))
    }

    /// (bytes waiting, bytes that came, packets dropped), for a queue report.
    pub(crate) fn report(&self) -> (u64, u64, u64) {
        (self.waiting_bytes, self.arrived_bytes, self.dropped_packets)
    }

    /// What it did since the last call.
    pub(crate) fn take_use(&mut self, now_ns: u64) -> OutputUse {
        self.advance(now_ns);
        self.count_capacity(now_ns);
        let fresh = OutputUse {
            most_packets: self.waiting.len() as u64,
            ..OutputUse::default()
        };
        OutputUse {
            queue_packets: self.waiting.len() as u64,
            queue_bytes: self.waiting_bytes,
            ..std::mem::replace(&mut self.used, fresh)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mb/s: 1 ms for 1000 bytes.
    const RATE_BPS: u64 = 8_000_000;
    const MS: u64 = 1_000_000;

    fn packet() -> Packet {
        Packet {
            frame: vec![0; Ethernet::SIZE + 1000],
            born_ns: 0,
        }
    }

    /// Times of arrival of everything under way.
    fn arrivals(output: &mut Output) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(at_ns) = output.wants_event() {
            while output.arrived(at_ns).is_some() {
                times.push(at_ns);
            }
        }
        times
    }

    #[test]
    fn packets_wait_for_the_link_and_what_finds_no_room_is_dropped() {
        let mut output = Output::new(RATE_BPS, 10 * MS, Buffer::Packets(1));
        assert!(output.enqueue(0, packet()).is_ok());
        assert!(output.enqueue(0, packet()).is_ok());
        assert!(output.enqueue(MS / 2, packet()).is_err());
        assert!(output.enqueue(MS, packet()).is_ok(), "the second has begun to leave");
        assert_eq!(arrivals(&mut output), [11 * MS, 12 * MS, 13 * MS]);
        let used = output.take_use(2 * MS);
        assert_eq!(
            (used.arrived_packets, used.dropped_packets, used.sent_packets),
            (4, 1, 3)
        );
        assert_eq!((used.busy_ns, used.waited_ns, used.most_packets), (3 * MS, 2 * MS, 1));
        let idle = OutputUse {
            capacity_bit_ns: u128::from(RATE_BPS * MS),
            ..OutputUse::default()
        };
        assert_eq!(output.take_use(3 * MS), idle);
    }

    #[test]
    fn capacity_is_that_of_each_rate_as_long_as_it_held() {
        let mut output = Output::new(RATE_BPS, 0, Buffer::Packets(100));
        while output.enqueue(0, packet()).is_ok() {}
        output.change(3 * MS, Some(RATE_BPS / 8), None);
        let used = output.take_use(11 * MS);
        assert_eq!(used.capacity_bit_ns, u128::from(RATE_BPS) * u128::from(3 * MS + MS));
        // By the last rate alone it would have been busy nearly four times as long as there was time.
        assert_eq!(used.sent_bytes, 5 * 1000, "four, and one that has just begun");
        output.change(11 * MS, Some(RATE_BPS), None);
        assert_eq!(output.take_use(12 * MS).capacity_bit_ns, u128::from(RATE_BPS * MS));
    }

    #[test]
    fn a_byte_limit_counts_ip_bytes() {
        let mut output = Output::new(RATE_BPS, 0, Buffer::Bytes(2000));
        let taken = (0..5).filter(|_| output.enqueue(0, packet()).is_ok()).count();
        assert_eq!(taken, 3, "one on the link and two waiting");
    }

    #[test]
    fn a_change_of_rate_counts_for_what_waits_and_a_change_of_delay_lets_overtake() {
        let mut output = Output::new(RATE_BPS, 10 * MS, Buffer::Packets(9));
        for _ in 0..3 {
            output.enqueue(0, packet()).ok();
        }
        output.change(MS / 2, Some(RATE_BPS / 2), None);
        assert_eq!(output.wants_event(), Some(11 * MS));
        output.change(6 * MS, None, Some(MS));
        output.enqueue(6 * MS, packet()).ok();
        assert_eq!(output.wants_event(), Some(9 * MS), "the last arrives first");
        assert!(output.arrived(9 * MS).is_some());
        assert_eq!(arrivals(&mut output), [11 * MS, 13 * MS, 15 * MS]);
    }
}
