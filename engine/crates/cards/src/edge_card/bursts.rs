// SPDX-License-Identifier: Apache-2.0
//! Bursts of an edge: assembly, macroflows, and their way to a wavelength.

use slotwise_units::{Bytes, Instant};
use slotwise_wire::{Label, Optical, TrainPart};

use super::output::{Before, Output};
use super::{BURSTS, EdgeCard, Then};
use crate::assembly::{Assembly, Joining};
use crate::burst::{Burst, payload_bytes};
use crate::burst_memory::Answer;
use crate::burst_queue::Labelled;
use crate::card::{Action, Actions, Expiry, Program, Record, Then as CardThen};
use crate::macroflows::{Held, Macroflows};
use crate::message::burst as message;
use crate::message::{ToCard, interval_tick};
use crate::packet::Packet;
use crate::timer::Timer;
use crate::wavelength::{counted, lose};
use crate::{DropCause, Invariant, Port};

/// Bursts lost before a dark output, each after P4's report of the one before.
#[derive(Debug)]
pub struct Losing {
    pub(super) port: Port,
    /// True if a burst leaves meanwhile.
    pub(super) is_busy: bool,
    pub(super) lost: std::vec::IntoIter<Labelled>,
}

/// Limit of the bursts that wait before an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngressLimit {
    /// Most bursts.
    pub bursts: u8,
    /// They count by class.
    pub by_class: bool,
}

/// Bursts, their shared memory and macroflows.
pub(super) struct Bursts {
    pub(super) assembly: Assembly,
    /// Set if P4 counts the bursts before outputs.
    pub(super) limit: Option<IngressLimit>,
    /// Output for probes, which ticks of macroflows name.
    pub(super) probe_port: Port,
    /// When macroflows may send next.
    pub(super) release: Timer,
}

impl Bursts {
    pub(super) fn macroflows(&mut self) -> Option<&mut Macroflows> {
        self.assembly.card.macroflows.as_mut()
    }
}

impl EdgeCard {
    /// A packet with a label is a burst.
    pub(super) fn takes_burst(
        &mut self,
        now: Instant,
        port: Port,
        (label, optical): (Label, Optical),
        packet: Packet,
        out: &mut Actions,
    ) {
        let bytes = counted(&packet.frame, self.framing);
        let labelled = Labelled {
            burst: Burst::only(packet, bytes),
            class: label.traffic_class,
            tag: 0,
        };
        let has_room = self
            .bursts
            .as_mut()
            .is_some_and(|bursts| bursts.assembly.card.take_in(bytes));
        formed(port, label, &labelled.burst, out);
        if has_room {
            return self.put(now, port, optical.queue, labelled, out);
        }
        if let Some(macroflows) = self.bursts.as_mut().and_then(Bursts::macroflows) {
            macroflows.refuse(optical.queue);
        }
        self.lose_burst(port, DropCause::QueueFull, labelled, CardThen::Nothing, out);
    }

    /// A packet joins the open burst of its queue.
    pub(super) fn joins(&mut self, now: Instant, port: Port, optical: &Optical, packet: Packet, out: &mut Actions) {
        let queue = optical.queue;
        let assembly = self.bursts.as_mut().map(|bursts| &mut bursts.assembly);
        let Some(assembly) = assembly.filter(|assembly| assembly.card.aggregates(queue)) else {
            let (cause, frame) = (DropCause::NoSuchQueue, packet.frame);
            return out.push(Action::Drop { port, cause, frame });
        };
        let closes = optical.train == u8::from(TrainPart::First);
        let bytes = (counted(&packet.frame, self.framing), payload_bytes(&packet.frame));
        let joining = Joining {
            port,
            queue,
            packet,
            bytes,
        };
        assembly.take(now, joining, closes, out);
    }

    /// A burst goes to its macroflow, or to the output.
    fn put(&mut self, now: Instant, port: Port, queue: u16, labelled: Labelled, out: &mut Actions) {
        let macroflows = self.bursts.as_mut().and_then(Bursts::macroflows);
        match macroflows.filter(|macroflows| macroflows.has(queue)) {
            Some(macroflows) => {
                macroflows.put(now, queue, Held { labelled, port });
                self.release(now, out);
            }
            None => {
                self.reaches_output(now, port, labelled, CardThen::Nothing, out);
            }
        }
    }

    /// Macroflows may be able to send.
    pub(super) fn release(&mut self, now: Instant, out: &mut Actions) {
        if let Some(bursts) = &mut self.bursts {
            bursts.release.expires(now);
        }
        self.release_due(now, out);
    }

    /// Sends the due bursts of macroflows to their outputs. A loss is reported to P4 before the next burst.
    pub(super) fn release_due(&mut self, now: Instant, out: &mut Actions) {
        while let Some(held) = self
            .bursts
            .as_mut()
            .and_then(Bursts::macroflows)
            .and_then(|all| all.release(now))
        {
            let then = CardThen::Edge(Then::Release);
            if self.reaches_output(now, held.port, held.labelled, then, out) {
                return;
            }
        }
        self.set_timers(now, out);
    }

    /// A burst comes before an output. True if P4 is asked.
    fn reaches_output(
        &mut self,
        now: Instant,
        port: Port,
        labelled: Labelled,
        then: CardThen,
        out: &mut Actions,
    ) -> bool {
        let Some(output) = self.outputs.get_mut(port) else {
            return false;
        };
        if output.is_dark {
            self.let_go(labelled.burst.bytes);
            return self.lose_burst(port, DropCause::LinkDown, labelled, then, out);
        }
        let Before::Bursts(queue, _) = &mut output.before else {
            return false;
        };
        let class = labelled.class;
        queue.put(now, labelled);
        self.begins(now, port, out);
        let limit = self.bursts.as_ref().and_then(|bursts| bursts.limit);
        if let Some(IngressLimit { bursts, by_class }) = limit
            && let Some(Output {
                before: Before::Bursts(queue, _),
                ..
            }) = self.outputs.get_mut(port)
            && queue.is_over(bursts, by_class.then_some(class))
        {
            let broken = Invariant::INGRESS;
            out.push(Action::Broken {
                port,
                broken,
                packet: None,
            });
        }
        false
    }

    /// Something of so many bytes waits no more.
    pub(super) fn let_go(&mut self, bytes: Bytes) {
        if let Some(bursts) = &mut self.bursts {
            bursts.assembly.card.let_go(bytes);
        }
    }

    /// The next burst enters the wavelength if it is free. Returns its class and tag.
    fn begins(&mut self, now: Instant, port: Port, out: &mut Actions) -> Option<(u8, u64)> {
        let (guard, framing, program) = (self.guard, self.framing, self.program);
        let output = self.outputs.get_mut(port)?;
        let Before::Bursts(queue, _) = &mut output.before else {
            return None;
        };
        let byte_time = output.wavelength.byte_time;
        let leaving = queue.begin(now, byte_time, guard)?;
        let Labelled { burst, class, tag } = leaving.labelled;
        out.push(Action::Timer {
            timer: port,
            at: leaving.end,
            expiry: Expiry::Last,
        });
        let bytes = burst.bytes;
        output.light(now, port, burst, (framing, program), out);
        self.let_go(bytes);
        Some((class, tag))
    }

    /// A burst has left: the next one begins, and P4 gets a report.
    pub(super) fn has_left(&mut self, now: Instant, port: Port, program: Program, out: &mut Actions) {
        let ended = match self.outputs.get_mut(port).map(|output| &mut output.before) {
            Some(Before::Bursts(queue, _)) => queue.end(now),
            _ => None,
        };
        let Some(is_known) = ended else { return };
        let begins = self.begins(now, port, out);
        if is_known && program != Program::None {
            self.tell_sent(port, begins, CardThen::Nothing, out);
        }
    }

    /// Reports to P4, if it counts bursts, one less before an output. True if it does.
    fn tell_sent(&mut self, port: Port, begins: Option<(u8, u64)>, then: CardThen, out: &mut Actions) -> bool {
        let counts = self.bursts.as_ref().is_some_and(|bursts| bursts.limit.is_some());
        if counts {
            out.ask(&message::burst_sent(port, begins), None, then);
        }
        counts
    }

    /// Loses a burst before an output. Its share of the memory is free already. True if P4 gets a report.
    fn lose_burst(
        &mut self,
        port: Port,
        cause: DropCause,
        labelled: Labelled,
        then: CardThen,
        out: &mut Actions,
    ) -> bool {
        let Some(Output {
            before: Before::Bursts(queue, _),
            ..
        }) = self.outputs.get_mut(port)
        else {
            return false;
        };
        queue.lose();
        let is_busy = queue.is_busy();
        let Labelled { burst, class, tag } = labelled;
        self.lose_frames(port, cause, burst, out);
        self.tell_sent(port, is_busy.then_some((class, tag)), then, out)
    }

    pub(super) fn lose_frames(&self, port: Port, cause: DropCause, burst: Burst, out: &mut Actions) {
        for packet in burst.frames {
            lose(port, cause, packet.frame, self.program, out);
        }
    }

    /// Loses the bursts that wait before a dark output, then all frames that have not begun to leave.
    pub(super) fn lose_waiting(&mut self, mut losing: Box<Losing>, out: &mut Actions) {
        let port = losing.port;
        while let Some(Labelled { burst, class, tag }) = losing.lost.next() {
            self.let_go(burst.bytes);
            self.lose_frames(port, DropCause::LinkDown, burst, out);
            let begins = losing.is_busy.then_some((class, tag));
            if self.bursts.as_ref().is_some_and(|bursts| bursts.limit.is_some()) {
                let then = CardThen::Edge(Then::Lose(losing));
                self.tell_sent(port, begins, then, out);
                return;
            }
        }
        if let Some(output) = self.outputs.get_mut(port) {
            output.cut(port, DropCause::LinkDown, out);
        }
    }

    /// Closes the bursts that are due, one after P4's answer to the other; then macroflows tick.
    pub(super) fn close_due(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        if !bursts.assembly.close_due(now, out) {
            self.macroflows_tick(now, out);
        }
    }

    /// Macroflows tick, one after P4's answer to the other.
    pub(super) fn macroflows_tick(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        let probe_port = bursts.probe_port;
        match bursts.macroflows().and_then(|all| all.tick(now)) {
            Some((queue, tick, state)) => {
                let tick = interval_tick(probe_port, &tick, queue, &state);
                out.ask(&tick, None, CardThen::Edge(Then::Tick));
            }
            None => self.set_timers(now, out),
        }
    }

    /// Sets the timers to the next due times.
    pub(super) fn set_timers(&mut self, now: Instant, out: &mut Actions) {
        let Some(bursts) = &mut self.bursts else { return };
        bursts.assembly.set_timer(now, out);
        if let Some(next) = bursts.macroflows().and_then(|all| all.next_release()) {
            bursts.release.set(next.max(now), (BURSTS, Expiry::Last), out);
        }
    }

    /// P4's answer about a closed burst; false if it fits none.
    pub(super) fn labelled(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let Some((answer, label)) = message::burst_label(message) else {
            return false;
        };
        let answered = self
            .bursts
            .as_mut()
            .map(|bursts| bursts.assembly.card.answer(&answer, label.as_ref()));
        match (answered, label) {
            (Some(Ok(Answer::Labelled { queue, labelled })), Some(label)) => {
                formed(port, label, &labelled.burst, out);
                self.put(now, port, queue, labelled, out);
                true
            }
            (Some(Ok(Answer::Refused(burst))), _) => {
                out.push(Action::Seen(Record::BurstRefused));
                self.lose_frames(port, DropCause::Refused, burst, out);
                true
            }
            _ => false,
        }
    }
}

/// Records that an edge has made a burst.
fn formed(port: Port, label: Label, burst: &Burst, out: &mut Actions) {
    out.push(Action::Seen(Record::BurstFormed {
        port,
        label,
        packets: burst.frames.len() as u64,
        bytes: burst.packet_bytes(),
    }));
}
