// SPDX-License-Identifier: Apache-2.0
//! What happens at each event, and where each frame goes next.

use slotwise_p4::Port;
use slotwise_scenario::{Device, LinkChange, optical_port};
use slotwise_wire::{
    FaultCode, FlowControl, Optical, PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD, PORT_OPTICAL_BASE, SIGNALING_QUEUE,
    SlotTick,
};

use crate::api::{ControlEvent, ControlMessage};
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::event::{Event, Order};
use crate::fabric::{Change, Core, Fabric};
use crate::faults::Way;
use crate::lane::{Flying, LaneEnd};
use crate::linecard::{Controlled, Next};
use crate::link::LightChange;
use crate::message;
use crate::node::PortTo;
use crate::packet::{Frame, Packet, UNBORN};
use crate::parcel::Parcel;

/// What a packet was before it entered a pipeline, as far as its way out depends on it.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    /// Light in a core; its head came at `arrived_ns`. `program` is the one of its edge that numbered it.
    Light {
        arrived_ns: u64,
        duration_ns: u64,
        program: u32,
        born_ns: u64,
    },
    /// From a fibre to an edge.
    Fibre {
        card: usize,
        optical: Option<Optical>,
        born_ns: u64,
    },
    /// By a lane to a port where nothing more counts of it.
    Lane { born_ns: u64 },
    /// The tick of a slot, whose messages may leave until then.
    Tick { until_ns: u64 },
    /// Anything else.
    Local,
}

impl Origin {
    /// When what comes out was born: as what went in was.
    pub(crate) fn born_ns(self) -> u64 {
        match self {
            Origin::Light { born_ns, .. } | Origin::Fibre { born_ns, .. } | Origin::Lane { born_ns } => born_ns,
            Origin::Tick { .. } | Origin::Local => UNBORN,
        }
    }
}

/// Whether light passes this port; it is captured in the fibre then.
fn is_fibre(port: Port) -> bool {
    (PORT_OPTICAL_BASE..PORT_LINECARD).contains(&port)
}

impl Fabric {
    pub(crate) fn handle(&mut self, order: Order, event: Event) {
        match event {
            Event::Change(index) => self.change(index as usize),
            Event::FaultBegins(index) => self.fault_begins(index as usize),
            Event::FaultEnds(index) => self.fault_ends(index as usize),
            Event::CoreTick { core, slot } => self.core_tick(core, slot),
            Event::CardTick { card, generation } => self.card_tick(card as usize, generation),
            Event::CardAlarm { card, code, over } => self.card_alarm(card as usize, code, over),
            Event::CardAnswer { card } => self.card_answer(card as usize),
            Event::CardTimer { card } => self.card_timer(card as usize),
            Event::FifoTimer { fifo } => self.fifo_timer(fifo as usize),
            Event::Arrival { lane } => self.arrival(lane as usize, order),
            Event::Parcel(number) => self.parcel(number),
            Event::Source(index) => self.source(index as usize),
            Event::HostTimer(host) => {
                if let Some(traffic) = &mut self.traffic {
                    traffic.timeout(host as usize, self.now_ns);
                }
                self.drain_hosts();
            }
            Event::CardWake { card } => {
                let card = card as usize;
                if self.cards[card].wake_ns == Some(self.now_ns) {
                    self.cards[card].wake_ns = None;
                    self.drain_card(card);
                }
            }
        }
    }

    /// The head of a lane is at its end.
    fn arrival(&mut self, lane: usize, order: Order) {
        let lane = &mut self.lanes[lane];
        let end = lane.end;
        let Some(flying) = lane.arrive(&mut self.events, self.now_ns, order) else {
            return;
        };
        match end {
            LaneEnd::Port { device, port } => {
                let Packet { frame, born_ns } = flying.packet;
                self.run_p4(device, port, &frame, Origin::Lane { born_ns });
                self.pool.give_back(frame);
            }
            LaneEnd::Host(host) => self.at_host(host, flying.packet),
            LaneEnd::Core { fibre } => self.light_at_core(fibre, flying),
            LaneEnd::Edge { fibre } => self.light_at_edge(fibre, flying),
            LaneEnd::Outside => self.pool.give_back(flying.packet.frame),
        }
    }

    fn parcel(&mut self, number: u32) {
        match self.parcels.take(number) {
            Some(Parcel::PacketOut { device, mut frame }) => {
                if self.passes_faults(Way::Out(device), &mut frame) {
                    self.run_p4(device, PORT_CPU, &frame, Origin::Local);
                }
                self.pool.give_back(frame);
            }
            Some(Parcel::Late { way, frame }) => self.late_message(way, frame),
            Some(Parcel::FromSwitch {
                device,
                port,
                id,
                frame,
            }) => {
                if let Some(external) = &mut self.external {
                    let origin = external.take_origin(device, id);
                    self.send(device, port, frame, origin);
                }
            }
            None => {}
        }
    }

    fn change(&mut self, index: usize) {
        match self.plan.changes[index].1 {
            Change::Fibre(change) => self.change_link(&change),
            Change::Fifo {
                card,
                rate_bps,
                delay_ns,
                xcp_bps,
            } => {
                self.change_fifo(card, rate_bps, delay_ns);
                if let (Some(xcp_bps), Some((device, port))) = (xcp_bps, self.fifos[card].port) {
                    self.capacity_changes.push((device, port, xcp_bps));
                }
            }
        }
    }

    pub(crate) fn change_link(&mut self, change: &LinkChange) {
        if let Some(fibre) = self.edges[usize::from(change.edge)].cards[usize::from(change.core)] {
            let changed = self.fibres[fibre].change(change);
            self.light_changed(fibre, changed);
        }
    }

    /// Both ends see at once what has become of the light of a fibre.
    pub(crate) fn light_changed(&mut self, fibre: usize, changed: LightChange) {
        let (edge, core) = (self.fibres[fibre].edge, self.fibres[fibre].core);
        if let Some(is_weak) = changed.is_weak {
            self.alarm(fibre, FaultCode::Power, !is_weak);
        }
        let Some(is_up) = changed.is_up else { return };
        self.alarm(fibre, FaultCode::LossOfSignal, is_up);
        let port = optical_port(core);
        self.tell(Device::Edge(edge), ControlMessage::Link { port, is_up });
        // A core's port sees light while any of its fibres carries some.
        let port = self.fibres[fibre].port;
        let sharing = self.cores[usize::from(core)].ports[usize::from(port)].fibres.iter();
        if sharing
            .filter(|other| **other != fibre)
            .all(|other| !self.fibres[*other].is_up())
        {
            let port = optical_port(port);
            self.tell(Device::Core(core), ControlMessage::Link { port, is_up });
        }
    }

    /// For the controller, or the agent that stands between it and the device.
    pub(crate) fn tell(&mut self, device: Device, message: ControlMessage) {
        self.control.push_back(ControlEvent {
            at_ns: self.now_ns,
            device_id: device.id(),
            message,
        });
    }

    fn core_tick(&mut self, core: u16, slot: u64) {
        let next_ns = self.plan.epoch_ns + (slot + 1) * self.plan.slot_ns;
        self.events.schedule(next_ns, Event::CoreTick { core, slot: slot + 1 });
        if slot % self.plan.slots == 0 {
            // A card without slots is in the core's frame.
            let without: Vec<usize> = (0..self.cards.len())
                .filter(|card| self.cards[*card].core == core && self.cards[*card].time_difference.is_none())
                .collect();
            for card in without {
                self.telemetry.frame_starts(card, slot / self.plan.slots);
            }
        }
        self.lose_overdue_light(self.now_ns);
        self.look_after_faults();
        if self.runs(Device::Core(core)) {
            // A core's control unit serves no single port.
            let tick = self.tick(slot, 0, self.now_ns);
            self.cores[usize::from(core)].knows_slot = true;
            self.run_p4(
                Device::Core(core),
                PORT_LINECARD,
                &message::slot_tick(0, &tick),
                Origin::Local,
            );
        }
    }

    fn tick(&self, slot: u64, repeat: u16, local_ns: u64) -> SlotTick {
        let frame = (slot / self.plan.slots) as u32;
        SlotTick {
            frame,
            slot: (slot % self.plan.slots) as u16,
            repeat,
            local_ns,
        }
    }

    pub(crate) fn schedule_card_tick(&mut self, card: usize) {
        let (slot, generation) = (self.cards[card].next_slot, self.cards[card].generation);
        let Some(local_ns) = self.card_slot_start_ns(card, slot) else {
            return;
        };
        let at_ns = self.cards[card].clock.fabric_ns(local_ns).max(self.now_ns);
        let card = card as u32;
        self.events.schedule(at_ns, Event::CardTick { card, generation });
    }

    fn card_tick(&mut self, card: usize, generation: u32) {
        if self.cards[card].generation != generation {
            return;
        }
        let slot = self.cards[card].next_slot;
        let (edge, core) = (self.cards[card].edge, self.cards[card].core);
        let Some(local_ns) = self.card_slot_start_ns(card, slot) else {
            return;
        };
        self.cards[card]
            .clock
            .forget_before(self.now_ns.saturating_sub(self.plan.frame_ns()));
        self.note_sync_error(card, slot);
        self.cards[card].next_slot = slot + 1;
        self.schedule_card_tick(card);

        let slot_of_frame = slot % self.plan.slots;
        if slot_of_frame == 0 {
            self.telemetry.frame_starts(card, slot / self.plan.slots);
        }
        if !self.runs(Device::Edge(edge)) {
            return;
        }
        let origin = self.tick_origin(card);
        if slot_of_frame == self.cards[card].report_slot {
            self.report_queues(card);
        }
        let repeats = match slot_of_frame {
            0 => self.cards[card].first_slot_ticks,
            later if later < self.plan.signaling_slots => self.cards[card].signaling_ticks,
            _ => 0,
        };
        for repeat in 0..=repeats {
            let tick = message::slot_tick(optical_port(core), &self.tick(slot, repeat, local_ns));
            self.run_p4(Device::Edge(edge), PORT_LINECARD, &tick, origin);
        }
    }

    /// Interval timers of a card's VOQs. P4 answers within the call, so the next time is known then.
    fn card_timer(&mut self, card: usize) {
        let (edge, core) = (self.cards[card].edge, self.cards[card].core);
        while let Some((voq, tick)) = self.cards[card].queues.tick(self.now_ns) {
            let state = self.cards[card].queues.voq_state(self.now_ns, voq);
            let tick = message::interval_tick(optical_port(core), &tick, voq, &state);
            if self.runs(Device::Edge(edge)) {
                self.run_p4(Device::Edge(edge), PORT_LINECARD, &tick, Origin::Local);
            }
        }
        if let Some(at_ns) = self.cards[card].queues.next_tick_ns() {
            self.events.schedule(at_ns, Event::CardTimer { card: card as u32 });
        }
    }

    /// Interval timers of a card with one queue, whose number is the port's.
    fn fifo_timer(&mut self, card: usize) {
        let Some((device, port)) = self.fifos[card].port else {
            return;
        };
        while let Some((tick, state)) = self.fifos[card].queue.tick(self.now_ns) {
            let tick = message::interval_tick(port, &tick, port, &state);
            self.run_p4(device, PORT_LINECARD, &tick, Origin::Local);
        }
        if let Some(at_ns) = self.fifos[card].queue.next_tick_ns() {
            let at_ns = at_ns.max(self.now_ns + 1);
            self.events.schedule(at_ns, Event::FifoTimer { fifo: card as u32 });
        }
    }

    fn report_queues(&mut self, card: usize) {
        let (edge, core) = (self.cards[card].edge, self.cards[card].core);
        for voq in self.cards[card].queues.voq_numbers() {
            let state = self.cards[card].queues.voq_state(self.now_ns, voq);
            if let Some(record) = self.telemetry.voq(card, edge, voq) {
                record.demand_bytes += state.backlog_bytes;
            }
            let report = message::queue_report(optical_port(core), voq, &state);
            self.run_p4(Device::Edge(edge), PORT_LINECARD, &report, Origin::Local);
        }
    }

    /// Runs a packet through a device and sends on what comes out; says how many packets that were. One outside answers later.
    pub(crate) fn run_p4(&mut self, device: Device, port: Port, frame: &[u8], origin: Origin) -> usize {
        if !is_fibre(port) {
            self.capture(CapturePoint::Port { device, port }, frame);
        }
        if self.external.is_some() {
            self.give_external(device, port, frame, origin);
            return 0;
        }
        let node = self.node(device);
        let Some(pipeline) = &mut self.nodes[node].pipeline else {
            self.drops
                .add(Place::Device(device), DropCause::NoPipeline, frame.len());
            return 0;
        };
        self.p4_passes += 1;
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.run(&mut self.pool, pipeline, self.now_ns, (port, frame));
        let count = outbox.packets.len();
        for (port, frame) in outbox.packets.drain(..) {
            self.send(device, port, frame, origin);
        }
        for (name, fields) in outbox.digests.drain(..) {
            self.tell(device, ControlMessage::Digest { name, fields });
        }
        self.outbox = outbox;
        count
    }

    /// A packet leaves a device by a port.
    fn send(&mut self, device: Device, port: Port, frame: Frame, origin: Origin) {
        if !is_fibre(port) {
            self.capture(CapturePoint::Port { device, port }, &frame);
        }
        match (port, device) {
            (PORT_CPU, _) => return self.packet_in(device, frame),
            (PORT_LINECARD, Device::Edge(_) | Device::Router(_)) => {
                self.apply_flow_control(device, &frame);
                return self.pool.give_back(frame);
            }
            (PORT_CORE_CONTROL, _) => return self.send_by_control(device, frame),
            _ => {}
        }
        match self.nodes[self.node(device)].port(port) {
            PortTo::Card(card) => self.enqueue(card, frame, origin),
            PortTo::Fifo(card) => self.enqueue_fifo(card, frame, origin),
            PortTo::Fibres(port) => self.send_light(device, port, frame, origin),
            PortTo::Nowhere => self.send_nowhere(device, frame, origin),
        }
    }

    /// The link between a master and its core runs beside the master's fibre and takes as long. So the master's
    /// slot 0 reaches the core when the core's slot 0 starts, after the core's own tick.
    fn send_by_control(&mut self, device: Device, frame: Frame) {
        let core = match device {
            Device::Edge(edge) => self.cores.iter().position(|core| core.master == edge),
            Device::Core(core) => Some(usize::from(core)),
            Device::Router(_) => None,
        };
        let way = core.and_then(|core| {
            let Core { master, control, .. } = self.cores[core];
            let fibre = self.edges[usize::from(master)].cards[core]?;
            let [to_core, to_master] = control;
            let is_masters = device == Device::Edge(master);
            Some((if is_masters { to_core } else { to_master }, fibre))
        });
        match way {
            Some((lane, fibre)) => {
                let at_ns = self.now_ns + self.fibres[fibre].delay_ns;
                self.lanes[lane].enter(&mut self.events, at_ns, Flying::plain(Packet::unborn(frame)));
            }
            None => self.drop(Place::Device(device), DropCause::NoSuchPort, frame),
        }
    }

    /// A message of P4 to a line card.
    fn apply_flow_control(&mut self, device: Device, bytes: &[u8]) {
        let read = message::flow_control(bytes);
        let to = read.as_ref().map(|(port, _)| self.nodes[self.node(device)].port(*port));
        match (read, to) {
            (Some((_, message)), Some(PortTo::Card(card))) => self.apply_to_card(card, message, bytes.len()),
            (Some((port, message)), Some(PortTo::Fifo(card)))
                if message.queue == port && self.fifos[card].queue.control(self.now_ns, &message).is_ok() => {}
            _ => self.drops.add(Place::Device(device), DropCause::Malformed, bytes.len()),
        }
    }

    fn apply_to_card(&mut self, card: usize, mut message: FlowControl, bytes: usize) {
        self.in_fabric_time(card, &mut message);
        let controlled = self.cards[card].queues.control(self.now_ns, &message);
        let result = match controlled {
            Ok(Controlled::Done) => Ok(()),
            Ok(Controlled::Granted { voq }) => {
                if let Some(record) = self.telemetry.voq(card, self.cards[card].edge, voq) {
                    record.granted_slots += 1;
                }
                Ok(())
            }
            Ok(Controlled::Phase) => self.set_phase(card, &message),
            Ok(Controlled::Stop) => {
                self.stop(card);
                Ok(())
            }
            Ok(Controlled::Answer { at_ns }) => {
                self.cards[card].must_answer = false;
                self.cards[card].answer_ns = Some(at_ns);
                self.events.schedule(at_ns, Event::CardAnswer { card: card as u32 });
                Ok(())
            }
            Err(cause) => Err(cause),
        };
        if let Err(cause) = result {
            let place = self.cards[card].place();
            self.drops.add(place, cause, bytes);
        }
        self.drain_card(card);
    }

    fn enqueue(&mut self, card: usize, frame: Frame, origin: Origin) {
        let born_ns = origin.born_ns();
        let packet = Packet { frame, born_ns };
        let queues = &mut self.cards[card].queues;
        let queued = match origin {
            Origin::Tick { until_ns } => queues.enqueue_until(self.now_ns, packet, until_ns),
            _ => queues.enqueue(self.now_ns, packet),
        };
        match queued {
            Ok(()) => self.drain_card(card),
            Err((cause, packet)) => self.drop(self.cards[card].place(), cause, packet.frame),
        }
    }

    /// Loses a packet.
    pub(crate) fn drop(&mut self, place: Place, cause: DropCause, frame: Frame) {
        self.drops.add(place, cause, frame.len());
        self.pool.give_back(frame);
    }

    /// Lets a line card send what it may, and wakes it when it may be able to send more.
    fn drain_card(&mut self, card: usize) {
        loop {
            let rate_bps = self.fibres[card].rate_bps;
            match self.cards[card].queues.poll(self.now_ns, rate_bps) {
                Next::Send {
                    packet,
                    queue,
                    duration_ns,
                    new_demand,
                } => {
                    if let Some(demand) = new_demand.filter(|_| queue != SIGNALING_QUEUE) {
                        self.light_for(card, demand);
                    }
                    self.send_into_fibre(card, queue, packet, duration_ns);
                }
                Next::At(at_ns) => {
                    if self.cards[card].wake_ns.is_none_or(|wake_ns| at_ns < wake_ns) {
                        self.cards[card].wake_ns = Some(at_ns);
                        self.events.schedule(at_ns, Event::CardWake { card: card as u32 });
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    pub(crate) fn capture(&mut self, point: CapturePoint, frame: &[u8]) {
        if let Some(captures) = &mut self.captures {
            captures.record(point, self.now_ns, frame);
        }
    }
}
