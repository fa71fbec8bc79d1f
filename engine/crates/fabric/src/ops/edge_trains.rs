// SPDX-License-Identifier: Apache-2.0
//! The cards of edges that make trains, hold them back or choose among outputs: what happens to a train from its first packet to its
//! last bit.
//!
//! ```text
//! P4 ── frame ──> open train ── tick ──> P4 ── label ──┐
//!    ── labelled packet ───────────────────────────────┴──> macroflow ──> output ──> wavelength, TRAIN_SENT ──> P4
//! ```

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::{FlowOp, Label, Optical, PORT_OPTICAL_BASE, TrainPart};

use super::cards::{Before, FibreEnd};
use super::steps::Step;
use super::watch::TrainId;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::{CardAt, Discipline, of_node};
use crate::pump::Pass;
use slotwise_cards::assembly::{Assembly, Joining, Then};
use slotwise_cards::card::Actions;
use slotwise_cards::macroflows::{Held, Macroflows};
use slotwise_cards::message::train::{self as message, InLight};
use slotwise_cards::message::{ToCard, interval_tick};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet};
use slotwise_cards::train::{self, Train};
use slotwise_cards::train_card::{Answer, TrainCard};
use slotwise_cards::train_queue::Labelled;

/// Outputs of edges, each a [`super::cards::Card`].
pub(super) static TRAIN_OUTPUT: Discipline = Discipline {
    is_link: true,
    obey: Fabric::obey_train_output,
    timer: Fabric::output_timer,
    wake: Fabric::train_has_left,
    set_dark: Fabric::set_ops_dark,
    ..Discipline::new("burst output", Fabric::enqueue_at_trains)
};

/// Memory of an edge before its outputs, by node: no port is behind it.
static TRAIN_CARD: Discipline = Discipline {
    timer: |fabric, number| fabric.train_card_ticks(fabric.edge_of(number)),
    wake: |fabric, number| fabric.release_macroflows(fabric.edge_of(number)),
    ..Discipline::new("burst line card", |_, _, _, _| {})
};

/// The card of an edge, and when it is looked after next.
pub(super) struct EdgeTrains {
    pub(super) assembly: Assembly,
    /// Trains that wait for an output at most, if P4 counts them.
    pub(super) trains: Option<u8>,
    /// They count by class.
    pub(super) fair: bool,
    /// Of the output for probes, by which ticks of macroflows are known.
    pub(super) probe_port: Port,
    release_ns: Option<u64>,
}

impl EdgeTrains {
    pub(super) fn new(card: TrainCard, (trains, fair): (Option<u8>, bool), probe_port: Port) -> EdgeTrains {
        EdgeTrains {
            assembly: Assembly::new(card, PORT_OPTICAL_BASE),
            trains,
            fair,
            probe_port,
            release_ns: None,
        }
    }
}

impl Fabric {
    /// The card of an edge that has one.
    fn edge_trains(&mut self, edge: u16) -> Option<&mut EdgeTrains> {
        self.ops.trains.get_mut(usize::from(edge))?.as_mut()
    }

    /// A packet of an edge: with a label it is a train, without it joins one.
    fn enqueue_at_trains(&mut self, index: usize, frame: Frame, origin: Origin) {
        let edge = self.ops.cards[index].from.device.number();
        let place = self.ops.cards[index].from.place();
        let born_ns = origin.born_ns();
        match message::read(&frame).filter(|_| !self.is_of_controller(origin)) {
            Some(InLight::First(label, optical)) if label.src_edge == edge => {
                let bytes = self.ops.counted_bytes(&frame);
                let train = Train::only(Packet { frame, born_ns }, bytes);
                let labelled = Labelled {
                    train,
                    class: label.traffic_class,
                    tag: 0,
                };
                let has_room = self
                    .edge_trains(edge)
                    .is_some_and(|edge| edge.assembly.card.take_in(bytes));
                self.train_is_formed(index, &label, &labelled.train);
                if has_room {
                    self.put_train(index, optical.queue, labelled);
                } else {
                    self.refuse_in_macroflow(edge, optical.queue);
                    self.lose_labelled(index, labelled, DropCause::QueueFull);
                }
            }
            Some(InLight::Behind(optical)) if optical.src_edge == edge => {
                self.join_train(index, &optical, Packet { frame, born_ns });
            }
            _ => self.drop(place, DropCause::NoSuchQueue, frame),
        }
    }

    /// A packet joins the open train of its queue.
    fn join_train(&mut self, index: usize, optical: &Optical, packet: Packet) {
        let FibreEnd { device, port } = self.ops.cards[index].from;
        let (edge, queue) = (device.number(), optical.queue);
        if !self
            .edge_trains(edge)
            .is_some_and(|edge| edge.assembly.card.aggregates(queue))
        {
            let place = self.ops.cards[index].from.place();
            return self.drop(place, DropCause::NoSuchQueue, packet.frame);
        }
        let closes = optical.train == u8::from(TrainPart::First);
        let bytes = (
            self.ops.counted_bytes(&packet.frame),
            train::payload_bytes(&packet.frame),
        );
        let joining = Joining {
            port,
            queue,
            packet,
            bytes,
        };
        self.call_assembly_of(edge, |assembly, now, out| assembly.take(now, joining, closes, out));
    }

    /// The edge of a number of [`TRAIN_CARD`].
    fn edge_of(&self, number: usize) -> u16 {
        self.nodes[of_node(number).0].device.number()
    }

    /// Calls what assembles the trains of an edge, and performs its actions.
    fn call_assembly_of<T: Default>(
        &mut self,
        edge: u16,
        call: impl FnOnce(&mut Assembly, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let trains = self.ops.trains.get_mut(usize::from(edge)).and_then(Option::as_mut);
        let result = trains.map_or_else(T::default, |trains| call(&mut trains.assembly, now, &mut self.out));
        let card = self.train_card_of(edge);
        self.perform(card);
        result
    }

    fn train_card_of(&self, edge: u16) -> CardAt {
        CardAt::of_node(&TRAIN_CARD, self.node(Device::OpsEdge(edge)), 0)
    }

    /// P4 was asked for the label of a train.
    pub(crate) fn edge_trains_go_on(&mut self, edge: u16, then: Then, pass: Pass) {
        let closes = self.call_assembly_of(edge, |assembly, now, out| assembly.goes_on(now, then, pass, out));
        if closes {
            self.close_due_trains_of_edge(edge);
        }
    }

    fn drop_train(&mut self, place: Place, cause: DropCause, train: Train) {
        for packet in train.frames {
            self.drop(place, cause, packet.frame);
        }
    }

    /// P4 tells a card something that comes to one of its outputs; false if that is nothing for it.
    fn obey_train_output(&mut self, index: usize, message: &ToCard) -> bool {
        if let Some((answer, label)) = message::train_label(message) {
            let device = self.ops.cards[index].from.device;
            let place = self.ops.cards[index].from.place();
            let answered = self
                .edge_trains(device.number())
                .map(|trains| trains.assembly.card.answer(&answer, label.as_ref()));
            match (answered, label) {
                (Some(Ok(Answer::Labelled { queue, labelled })), Some(label)) => {
                    self.train_is_formed(index, &label, &labelled.train);
                    self.put_train(index, queue, labelled);
                }
                (Some(Ok(Answer::Refused(train))), _) => {
                    self.ops.watch.refused(device.number());
                    self.drop_train(place, DropCause::Refused, train);
                }
                _ => return false,
            }
            return true;
        }
        let Some(control) = message.flow_control() else {
            return false;
        };
        let now_ns = self.now_ns;
        if control.queue == message.port {
            let Before::Trains(output) = &mut self.ops.cards[index].before else {
                return false;
            };
            return output.control(now_ns, &control).is_ok();
        }
        let edge = self.ops.cards[index].from.device.number();
        let macroflows = self
            .edge_trains(edge)
            .and_then(|trains| trains.assembly.card.macroflows.as_mut());
        let is_rate = control.op == u8::from(FlowOp::SetRate);
        let is_set = macroflows
            .filter(|_| is_rate)
            .is_some_and(|macroflows| macroflows.set_rate(now_ns, control.queue, control.value).is_ok());
        self.schedule_train_card(edge);
        is_set
    }

    /// An edge has made a train, and numbered it.
    fn train_is_formed(&mut self, index: usize, label: &Label, train: &Train) {
        let from = self.ops.cards[index].from;
        let source = from.device.number();
        let is_new = self.ops.watch.formed(source, label.train);
        self.ops
            .watch
            .sized(source, train.frames.len() as u64, train.packet_bytes());
        if !is_new || label.src_edge != source {
            self.invariants
                .violated(Invariant::DUPLICATE, self.now_ns, from.place(), None);
        }
    }

    fn refuse_in_macroflow(&mut self, edge: u16, queue: u16) {
        if let Some(macroflows) = self
            .edge_trains(edge)
            .and_then(|edge| edge.assembly.card.macroflows.as_mut())
        {
            macroflows.refuse(queue);
        }
    }

    /// A train with its label goes to its macroflow, or to the output.
    fn put_train(&mut self, index: usize, queue: u16, labelled: Labelled) {
        let (edge, now_ns) = (self.ops.cards[index].from.device.number(), self.now_ns);
        let macroflows = self
            .edge_trains(edge)
            .and_then(|edge| edge.assembly.card.macroflows.as_mut());
        match macroflows.filter(|macroflows| macroflows.has(queue)) {
            Some(macroflows) => {
                macroflows.put(now_ns, queue, Held { labelled, card: index });
                self.release_macroflows(edge);
            }
            None => self.train_to_output(index, labelled),
        }
    }

    /// Lets out what macroflows may send now.
    fn release_macroflows(&mut self, edge: u16) {
        let now_ns = self.now_ns;
        if let Some(trains) = self.edge_trains(edge) {
            trains.release_ns = trains.release_ns.filter(|at_ns| *at_ns > now_ns);
        }
        self.release_trains(edge);
    }

    /// Sends the trains of macroflows whose time has come before their outputs.
    pub(super) fn release_trains(&mut self, edge: u16) {
        let now_ns = self.now_ns;
        loop {
            let macroflows = self
                .edge_trains(edge)
                .and_then(|edge| edge.assembly.card.macroflows.as_mut());
            let Some(held) = macroflows.and_then(|macroflows| macroflows.release(now_ns)) else {
                break;
            };
            self.train_to_output(held.card, held.labelled);
            if self.has_asked() {
                return self.ops_then(Step::Release { edge });
            }
        }
        self.schedule_train_card(edge);
    }

    /// A train comes before an output.
    fn train_to_output(&mut self, index: usize, labelled: Labelled) {
        let (edge, now_ns) = (self.ops.cards[index].from.device.number(), self.now_ns);
        if self.ops.cards[index].is_dark {
            let bytes = labelled.train.bytes;
            if let Some(trains) = self.edge_trains(edge) {
                trains.assembly.card.let_go(bytes);
            }
            return self.lose_labelled(index, labelled, DropCause::LinkDown);
        }
        let limit = self.edge_trains(edge).and_then(|edge| Some((edge.trains?, edge.fair)));
        let Before::Trains(output) = &mut self.ops.cards[index].before else {
            return;
        };
        let class = labelled.class;
        output.put(now_ns, labelled);
        self.next_train_leaves(index);
        let Before::Trains(output) = &self.ops.cards[index].before else {
            return;
        };
        if let Some((trains, fair)) = limit
            && output.is_over(trains, fair.then_some(class))
        {
            let place = self.ops.cards[index].from.place();
            self.invariants.violated(Invariant::INGRESS, now_ns, place, None);
        }
    }

    /// The next train goes into the wavelength if it is free; class and tag of it.
    fn next_train_leaves(&mut self, index: usize) -> Option<(u8, u64)> {
        let now_ns = self.now_ns;
        let guard_ns = self.ops.guard_ns;
        let card = &mut self.ops.cards[index];
        let byte_time = card.byte_time;
        let Before::Trains(output) = &mut card.before else {
            return None;
        };
        let leaving = output.begin(now_ns, |bytes| byte_time.ns(bytes), guard_ns)?;
        let edge = card.from.device.number();
        let begun = (leaving.labelled.class, leaving.labelled.tag);
        self.events
            .schedule(leaving.end_ns, Event::wake(CardAt::new(&TRAIN_OUTPUT, index)));
        let Train { frames, bytes } = leaving.labelled.train;
        if let Some(trains) = self.edge_trains(edge) {
            trains.assembly.card.let_go(bytes);
        }
        self.light_leaves(index, frames, now_ns + byte_time.ns(bytes));
        Some(begun)
    }

    /// The frames of a train enter a wavelength back to back from now on, the last bit at `end_ns`.
    fn light_leaves(&mut self, index: usize, frames: Vec<Packet>, end_ns: u64) {
        let program = self.ops.watch.program(self.ops.cards[index].from.device.number());
        let card = &mut self.ops.cards[index];
        let whole_ns = card
            .direct
            .as_mut()
            .map(|lane| end_ns + card.delay_ns + lane.delay_ns(end_ns));
        let mut start_ns = self.now_ns;
        if whole_ns.is_some() {
            // What comes out may overlap, where delays differ; what enters may not.
            let (number, place) = (card.entrance, card.from.place());
            if self.ops.entrances[number].meets((start_ns, end_ns - start_ns)) {
                self.invariants.violated(Invariant::LANE, self.now_ns, place, None);
            }
        }
        for packet in frames {
            let ops = &mut *self.ops;
            let bytes = ops.counted_bytes(&packet.frame);
            let card = &ops.cards[index];
            let duration_ns = card.byte_time.ns(bytes);
            let at_ns = whole_ns.unwrap_or_else(|| card.arrival_ns(start_ns, duration_ns));
            start_ns += duration_ns;
            if let Some(InLight::First(label, _)) = message::read(&packet.frame) {
                // The label comes with the first frame, but over a fibre between edges with the last one.
                let left_ns = whole_ns.map_or(start_ns, |_| end_ns);
                ops.watch.left(TrainId::of(&label, program), left_ns);
            }
            let flying = Flying {
                packet,
                duration_ns,
                program,
            };
            self.lanes[card.lane].enter(&mut self.events, at_ns, flying);
        }
    }

    /// The train that left has left: the next one begins, and P4 is told.
    fn train_has_left(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let Before::Trains(output) = &mut self.ops.cards[index].before else {
            return;
        };
        let Some(is_known) = output.end(now_ns) else { return };
        let begins = self.next_train_leaves(index);
        if is_known {
            self.tell_sent(index, begins);
        }
    }

    /// Tells P4, if it counts trains, that there is one less before an output.
    fn tell_sent(&mut self, index: usize, begins: Option<(u8, u64)>) {
        let FibreEnd { device, port } = self.ops.cards[index].from;
        let counts = self
            .edge_trains(device.number())
            .is_some_and(|edge| edge.trains.is_some());
        if counts && self.runs(device) {
            let sent = message::train_sent(port, begins);
            self.notify_p4(device, &sent, Origin::Local);
        }
    }

    /// A train with its label is lost before an output. What it had of the card's bytes has been let go.
    fn lose_labelled(&mut self, index: usize, labelled: Labelled, cause: DropCause) {
        let Before::Trains(output) = &mut self.ops.cards[index].before else {
            return;
        };
        output.lose();
        let is_busy = output.is_busy();
        let Labelled { train, class, tag } = labelled;
        self.lose_frames(index, train, cause);
        self.tell_sent(index, is_busy.then_some((class, tag)));
    }

    fn lose_frames(&mut self, index: usize, train: Train, cause: DropCause) {
        let from = self.ops.cards[index].from;
        let program = self.ops.watch.program(from.device.number());
        if let Some(first) = train.frames.first()
            && let Some(InLight::First(label, _)) = message::read(&first.frame)
        {
            self.ops.watch.lost(TrainId::of(&label, program), false);
        }
        self.drop_train(from.place(), cause, train);
    }

    /// Loses the trains that wait for an output; P4 is told of each if it still has its program.
    pub(super) fn lose_waiting_at_output(&mut self, index: usize, cause: DropCause) {
        let Before::Trains(output) = &mut self.ops.cards[index].before else {
            return;
        };
        let (lost, is_busy) = (output.take_waiting(), output.is_busy());
        self.lose_at_output(index, cause, is_busy, lost.into_iter());
    }

    /// Loses these trains.
    pub(super) fn lose_at_output(
        &mut self,
        index: usize,
        cause: DropCause,
        is_busy: bool,
        mut lost: std::vec::IntoIter<Labelled>,
    ) {
        let device = self.ops.cards[index].from.device;
        while let Some(Labelled { train, class, tag }) = lost.next() {
            let bytes = train.bytes;
            if let Some(trains) = self.edge_trains(device.number()) {
                trains.assembly.card.let_go(bytes);
            }
            self.lose_frames(index, train, cause);
            if cause == DropCause::LinkDown {
                self.tell_sent(index, is_busy.then_some((class, tag)));
            }
            if self.has_asked() {
                return self.ops_then(Step::LoseAtOutput {
                    card: index,
                    cause,
                    is_busy,
                    lost,
                });
            }
        }
    }

    /// An edge's program is gone, and what its card held with it.
    pub(super) fn reset_edge_trains(&mut self, device: Device) {
        let number = device.number();
        let Some(trains) = self.edge_trains(number) else { return };
        let held = trains.assembly.card.take_all();
        let place = Place::Device(device);
        for train in held {
            if let Some(first) = train.frames.first()
                && let Some(InLight::First(label, _)) = message::read(&first.frame)
            {
                let program = self.ops.watch.program(number);
                self.ops.watch.lost(TrainId::of(&label, program), false);
            }
            self.drop_train(place, DropCause::PipelineReplaced, train);
        }
        for card in &mut self.ops.cards {
            if let (true, Before::Trains(output)) = (card.from.device == device, &mut card.before) {
                output.forget();
            }
        }
    }

    /// Trains that are due are closed, and macroflows tick.
    fn train_card_ticks(&mut self, edge: u16) {
        self.call_assembly_of(edge, |assembly, now, _| assembly.expires(now));
        self.close_due_trains_of_edge(edge);
    }

    /// Closes the trains that are due, one after P4's answer to the other; then macroflows tick.
    fn close_due_trains_of_edge(&mut self, edge: u16) {
        let closes = self.call_assembly_of(edge, Assembly::close_due);
        if !closes {
            self.tick_macroflows(edge);
        }
    }

    /// Macroflows tick, one after P4's answer to the other.
    pub(super) fn tick_macroflows(&mut self, edge: u16) {
        let now_ns = self.now_ns;
        if let Some(trains) = self.edge_trains(edge)
            && let Some((queue, tick, state)) = trains
                .assembly
                .card
                .macroflows
                .as_mut()
                .and_then(|all| all.tick(now_ns))
        {
            let tick = interval_tick(trains.probe_port, &tick, queue, &state);
            self.notify_p4(Device::OpsEdge(edge), &tick, Origin::Local);
            return self.ops_then(Step::TickMacroflows { edge });
        }
        self.schedule_train_card(edge);
    }

    /// Looks after an edge's card when it is due next.
    pub(super) fn schedule_train_card(&mut self, edge: u16) {
        self.call_assembly_of(edge, Assembly::set_timer);
        let (now_ns, card) = (self.now_ns, self.train_card_of(edge));
        let Some(trains) = self.edge_trains(edge) else { return };
        let release_ns = trains.assembly.card.macroflows.as_ref().and_then(Macroflows::next_ns);
        if let Some(at_ns) = release_ns
            && trains.release_ns.is_none_or(|known_ns| at_ns < known_ns)
        {
            trains.release_ns = Some(at_ns);
            self.events.schedule(at_ns.max(now_ns), Event::wake(card));
        }
    }
}
