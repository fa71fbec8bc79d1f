// SPDX-License-Identifier: Apache-2.0
//! Packets that arrive at an edge before others of their queue.

use slotwise_units::{Duration, Instant};

use super::ARRIVALS;
use crate::Port;
use crate::burst::is_tcp;
use crate::card::{Action, Actions, Expiry};
use crate::message::burst::{self as message, InLight};
use crate::packet::Packet;
use crate::resequencer::Resequencer;
use crate::timer::Timer;

/// Resequencer of an edge.
pub(super) struct Arrivals {
    packets: Resequencer<(Port, Packet)>,
    timer: Timer,
}

impl Arrivals {
    pub(super) fn new(hold: Duration) -> Arrivals {
        Arrivals {
            packets: Resequencer::new(hold),
            timer: Timer::default(),
        }
    }

    /// Takes a packet, which may wait for those before it. Returns it if it is of no burst.
    pub(super) fn take(
        &mut self,
        now: Instant,
        port: Port,
        packet: Packet,
        program: u32,
        out: &mut Actions,
    ) -> Option<Packet> {
        let read = message::read(&packet.frame);
        let Some(InLight::First(_, optical) | InLight::Behind(optical)) = read else {
            return Some(packet);
        };
        let waits = is_tcp(&packet.frame, matches!(read, Some(InLight::First(..))));
        let order = (optical.src_edge, program, optical.queue);
        self.packets.take(now, order, optical.sequence, waits, (port, packet));
        self.deliver(out);
        None
    }

    /// Something may have waited long enough.
    pub(super) fn due(&mut self, now: Instant, out: &mut Actions) {
        if self.timer.expires(now) {
            self.packets.expire(now);
            self.deliver(out);
        }
    }

    /// P4 gets what need not wait any more.
    fn deliver(&mut self, out: &mut Actions) {
        while let Some((port, packet)) = self.packets.ready() {
            out.push(Action::Arrives { port, packet });
        }
        if let Some(at) = self.packets.next_deadline() {
            self.timer.set(at, (ARRIVALS, Expiry::First), out);
        }
    }

    /// Packets that have waited.
    pub(super) fn held(&self) -> u64 {
        self.packets.held()
    }

    /// Gives back all waiting packets.
    pub(super) fn take_all(&mut self) -> Vec<Packet> {
        self.packets.take_all().into_iter().map(|(_, packet)| packet).collect()
    }
}
