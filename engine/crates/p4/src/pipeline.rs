// SPDX-License-Identifier: Apache-2.0
//! The way of a packet through the switch, as BMv2's simple_switch goes it.

use slotwise_units::Instant;

use crate::api::{Executor, Output, PipelineConfig, Port, Replica, TimestampUnit};
use crate::control::LiveTable;
use crate::ir::{self, Ir, Stage};
use crate::jit::Code;
use crate::jobs::{Idle, Job, Jobs, MAX_OFFSPRING};
use crate::limits::Held;
use crate::parser::ValueSetMembers;
use crate::profile::Profile;
use crate::queueing::Waited;
use crate::state::{Packet, Persistent, Requests};
use crate::trace::TraceEvent;
use crate::work::MAX_WORK;
use std::collections::BTreeMap;
use std::sync::Arc;

/// `instance_type`, as BMv2 numbers it.
mod instance {
    pub const NORMAL: u64 = 0;
    pub const INGRESS_CLONE: u64 = 1;
    pub const EGRESS_CLONE: u64 = 2;
    pub const RECIRCULATED: u64 = 4;
    pub const REPLICATION: u64 = 5;
    pub const RESUBMITTED: u64 = 6;
}

/// One switch: a program with its tables, registers, counters.
pub struct Pipeline {
    pub(crate) ir: Arc<Ir>,
    /// `None`: the interpreter runs it.
    pub(crate) code: Option<Arc<Code>>,
    pub(crate) config: PipelineConfig,
    pub(crate) tables: Vec<LiveTable>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) value_sets: Vec<ValueSetMembers>,
    pub(crate) persistent: Persistent,
    pub(crate) multicast_groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) clone_sessions: BTreeMap<u32, CloneSession>,
    pub(crate) aborted_packets: u64,
    /// Runs through ingress or egress so far.
    pub(crate) passes: u64,
    /// Work before that of `allowed`, of which there is some left.
    work: u64,
    allowed: u64,
    /// Memory for its arrays and for what controllers add.
    pub(crate) held: Held,
    /// See [`Pipeline::set_bmv2_compatible`].
    pub(crate) bmv2_compatible: bool,
    /// Ingress and egress run apart, so that whatever leaves ingress is queued: see [`crate::queueing`].
    pub(crate) apart: bool,
    /// Latest time seen.
    pub(crate) now: Instant,
    /// Memory of the packet at hand; `None` while that runs.
    packet: Option<Box<Packet>>,
    pub(crate) queue: Jobs,
    /// Finished jobs, whose memory the next ones use.
    pub(crate) idle: Idle,
    deparsed: Vec<u8>,
    /// The packet at hand leaves by this port in the frame that it came in, with the headers that are in `deparsed`.
    stays_in_frame: Option<Port>,
}

/// Where copies of a session go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// One copy each.
    pub replicas: Vec<Replica>,
    /// Copies are cut to so many bytes; `None` leaves them whole.
    pub max_bytes: Option<usize>,
}

/// What comes to egress.
struct Departure<'a> {
    ingress_port: Port,
    port: Port,
    frame: &'a [u8],
    payload_at: usize,
    waited: Waited,
    is_given: bool,
}

/// What comes to the parser.
struct Arrival<'a> {
    port: Port,
    frame: &'a [u8],
    instance_type: u64,
    /// Packet state and field list of which metadata is kept.
    kept: Option<(&'a [u64], u64)>,
    /// The frame may be changed and handed on when the packet has run.
    is_given: bool,
}

impl Pipeline {
    pub(crate) fn assemble(
        ir: Arc<Ir>,
        code: Option<Arc<Code>>,
        config: PipelineConfig,
        tables: Vec<LiveTable>,
        held: Held,
    ) -> Pipeline {
        Pipeline {
            code,
            held,
            persistent: Persistent::new(&ir, config.seed),
            profiles: ir.profiles.iter().map(|_| Profile::default()).collect(),
            value_sets: ir.value_sets.iter().map(|_| Vec::new()).collect(),
            tables,
            config,
            ir,
            multicast_groups: BTreeMap::new(),
            clone_sessions: BTreeMap::new(),
            aborted_packets: 0,
            passes: 0,
            work: 0,
            allowed: MAX_WORK,
            bmv2_compatible: false,
            apart: false,
            now: Instant::ZERO,
            packet: None,
            queue: Jobs::default(),
            idle: Idle::default(),
            deparsed: Vec::new(),
            stays_in_frame: None,
        }
    }

    /// Name of the program's source file, at most 128 characters; empty if the program has none.
    pub fn program_name(&self) -> &str {
        &self.ir.name
    }

    /// What runs the packets: the interpreter, although the JIT was asked for, if the host is not one that Cranelift
    /// makes code for, or the program is one of those too large to compile.
    pub fn executor(&self) -> Executor {
        match self.code {
            Some(_) => Executor::Jit,
            None => Executor::Interpreter,
        }
    }

    /// Whether to do as BMv2's simple_switch does where a program can notice that it does otherwise than one would expect
    /// (the engine does not, unless told so):
    ///
    /// * The `ingress_port` of a resubmitted or recirculated packet, and of a clone at egress, is 0 if no field list keeps it.
    /// * A packet leaves after its ingress clones.
    /// * A `select` without a match accepts, without an error.
    /// * A member of a header union that becomes invalid leaves the other members as they are.
    /// * The parser finds zeros in an ingress clone's metadata, except for its port.
    /// * `packet_length` at egress changes with `setValid` and `setInvalid` only.
    /// * Of the digests of a packet the last one called is sent, with the values at the end of ingress.
    pub fn set_bmv2_compatible(&mut self, on: bool) {
        self.bmv2_compatible = on;
    }

    /// Runs one packet to its end: parser, ingress, replication, egress, deparser, with clones, resubmits,
    /// recirculations. `now` must not decrease. The packet itself comes out first, then its copies in the order in
    /// which they were made.
    pub fn process(&mut self, now: Instant, port: Port, frame: &[u8], out: &mut dyn Output) {
        // Without another owner of the program, which costs two atomic operations.
        // SAFETY: `ir` is what `assemble` set, and stays so as long as the pipeline is there.
        let ir: &Ir = unsafe { &*Arc::as_ptr(&self.ir) };
        self.arrive(ir, now, (port, frame, false), out);
        self.run_queue(ir, now, out);
    }

    /// The same of a frame that the caller needs no more. Where the headers that come out are as long as those that came in, the
    /// payload stays where it is, and `frame` is what goes to [`Output::give_packet`]; what is in it afterwards is whatever that
    /// left. If nothing comes out, it is as it was.
    pub fn process_given(&mut self, now: Instant, port: Port, frame: &mut Vec<u8>, out: &mut dyn Output) {
        // SAFETY: as in `process`.
        let ir: &Ir = unsafe { &*Arc::as_ptr(&self.ir) };
        self.arrive(ir, now, (port, frame, true), out);
        if let Some(port) = self.stays_in_frame.take() {
            frame[..self.deparsed.len()].copy_from_slice(&self.deparsed);
            out.give_packet(port, frame);
        }
        self.run_queue(ir, now, out);
    }

    /// Runs what a packet has become beside itself.
    fn run_queue(&mut self, ir: &Ir, now: Instant, out: &mut dyn Output) {
        for _ in 0..MAX_OFFSPRING {
            let Some(mut job) = self.queue.pop_front() else { return };
            self.run_job(ir, &mut job, Waited::not_at_all(now), out);
            self.idle.put(job);
        }
        self.give_up_queue();
    }

    /// Runs a packet from outside, by port and frame, until it is queued, goes round again, or is gone. If its frame is given, it may
    /// stay in that.
    pub(crate) fn arrive(
        &mut self,
        ir: &Ir,
        now: Instant,
        (port, frame, is_given): (Port, &[u8], bool),
        out: &mut dyn Output,
    ) {
        self.now = now;
        self.allow(MAX_WORK);
        let mut packet = self.packet.take().unwrap_or_default();
        let arrival = Arrival {
            port,
            frame,
            instance_type: instance::NORMAL,
            kept: None,
            is_given,
        };
        self.ingress(ir, &mut packet, arrival, out);
        self.packet = Some(packet);
    }

    /// Forgets what one packet became beyond what it may.
    pub(crate) fn give_up_queue(&mut self) {
        while let Some(job) = self.queue.pop_front() {
            self.aborted_packets += 1;
            self.idle.put(job);
        }
    }

    fn give_up(&mut self) {
        self.aborted_packets += 1;
        let reason = if self.persistent.work_left == 0 {
            "aborted: work limit per packet exceeded"
        } else {
            "aborted: assertion failed or action looped"
        };
        self.persistent.note(|| TraceEvent::Dropped { reason });
    }

    fn note_copies(&mut self, by: &'static str, id: u32, copies: usize) {
        self.persistent.note(|| TraceEvent::Copied {
            by,
            id: id.into(),
            copies,
        });
    }

    /// The state of the packet that was processed last, before its copies, and the words that are left of its scratch.
    #[cfg(test)]
    pub(crate) fn last_packet(&self) -> (Vec<u64>, u64, Requests, usize) {
        let packet = self.packet.as_ref().expect("a packet was processed");
        (packet.words.clone(), packet.length, packet.requests, packet.stack.len())
    }

    /// Packets given up: an assertion failed, an action looped, or one packet became too many or made too much work.
    pub fn aborted_packets(&self) -> u64 {
        self.aborted_packets
    }

    /// Runs through ingress or egress so far: what the packets cost.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Work so far: what the passes cost. A unit is about what one operation of an expression takes, some nanoseconds.
    pub fn work(&self) -> u64 {
        self.work + (self.allowed - self.persistent.work_left)
    }

    /// So much work may follow.
    pub(crate) fn allow(&mut self, work: u64) {
        self.work = self.work();
        (self.allowed, self.persistent.work_left) = (work, work);
    }

    pub(crate) fn run_job(&mut self, ir: &Ir, job: &mut Job, waited: Waited, out: &mut dyn Output) {
        let Job {
            egress_port,
            ingress_port,
            packet,
            frame,
            payload_at,
            instance_type,
            previous,
            field_list,
        } = job;
        match *egress_port {
            Some(port) => {
                let departure = Departure {
                    ingress_port: *ingress_port,
                    port,
                    frame,
                    payload_at: *payload_at,
                    waited,
                    is_given: false,
                };
                self.egress(ir, packet, departure, out);
            }
            None => {
                let kept = Some((previous.as_slice(), *field_list));
                let arrival = Arrival {
                    port: *ingress_port,
                    frame,
                    instance_type: *instance_type,
                    kept,
                    is_given: false,
                };
                self.ingress(ir, packet, arrival, out);
            }
        }
    }

    /// A time as programs have it.
    fn timestamp(&self, time: Instant) -> u64 {
        match self.config.timestamp_unit {
            TimestampUnit::Microseconds => time.ns() / 1000,
            TimestampUnit::Nanoseconds => time.ns(),
        }
    }

    fn field_list(ir: &Ir, id: u64) -> &[ir::FieldRef] {
        ir.field_lists.get(&id).map_or(&[], Vec::as_slice)
    }

    fn ingress(&mut self, ir: &Ir, packet: &mut Packet, arrival: Arrival, out: &mut dyn Output) {
        let standard = &ir.standard;
        self.passes += 1;
        self.persistent.note(|| TraceEvent::Arrival {
            port: arrival.port,
            bytes: arrival.frame.len(),
            instance_type: arrival.instance_type,
        });
        packet.reset(ir, arrival.frame.len());
        if let Some((previous, list)) = arrival.kept {
            packet.copy_fields(Self::field_list(ir, list), previous);
        }
        if arrival.kept.is_none() || !self.bmv2_compatible {
            packet.set(standard.ingress_port, u64::from(arrival.port));
        }
        self.set_arrival(ir, packet, arrival.frame, arrival.instance_type);
        let payload_at = self.parse(ir, packet, arrival.frame, out);
        let payload = &arrival.frame[payload_at..];
        self.persistent.note(|| TraceEvent::Ingress);
        self.control(ir, Stage::Ingress, packet, payload, out);

        let Requests {
            clone,
            digest,
            resubmit,
            ..
        } = packet.requests;
        if packet.requests.abort {
            self.give_up();
            return;
        }
        packet.requests = Requests {
            truncate: packet.requests.truncate,
            ..Requests::default()
        };
        if let Some((session, list)) = clone {
            self.clone_ingress(ir, packet, &arrival, session, list, out);
        }
        if let Some(digest) = digest.and_then(|id| ir.digests.get(&id)) {
            packet.send_digest(digest, out);
        }
        if let Some(list) = resubmit {
            self.persistent.note(|| TraceEvent::Again { how: "resubmitted" });
            self.again(packet, arrival.port, arrival.frame, instance::RESUBMITTED, list);
            return;
        }
        let group = standard.multicast_group.map_or(0, |field| packet.get(field));
        if group != 0 {
            packet.set(standard.instance_type, instance::REPLICATION);
            self.multicast(ir, packet, &arrival, payload_at, group);
            return;
        }
        let egress_port = packet.get(standard.egress_spec);
        if egress_port == u64::from(self.config.drop_port) {
            self.persistent.note(|| TraceEvent::Dropped {
                reason: "marked in ingress",
            });
            return;
        }
        packet.set(standard.instance_type, instance::NORMAL);
        let source = (arrival.port, arrival.frame, payload_at);
        if self.apart || (self.bmv2_compatible && !self.queue.is_empty()) {
            let is_queued = self.queue_egress(packet, source, egress_port as Port).is_some();
            if is_queued && !self.bmv2_compatible {
                // Before its copies.
                self.queue.last_first();
            }
        } else {
            let departure = Departure {
                ingress_port: arrival.port,
                port: egress_port as Port,
                frame: arrival.frame,
                payload_at,
                waited: Waited::not_at_all(self.now),
                is_given: arrival.is_given,
            };
            self.egress(ir, packet, departure, out);
        }
    }

    /// Sets the standard metadata that a parser may read, except the port.
    fn set_arrival(&self, ir: &Ir, packet: &mut Packet, frame: &[u8], instance_type: u64) {
        packet.set(ir.standard.packet_length, frame.len() as u64);
        packet.set(ir.standard.instance_type, instance_type);
        packet.set_if(ir.standard.ingress_timestamp, self.timestamp(self.now));
    }

    fn idle_job(&mut self, ingress_port: Port, frame: &[u8]) -> Job {
        let mut job = self.idle.take();
        job.ingress_port = ingress_port;
        job.frame.clear();
        job.frame.extend_from_slice(frame);
        job
    }

    /// Queues a packet for the parser, if there is room.
    fn again(&mut self, packet: &Packet, port: Port, frame: &[u8], instance_type: u64, field_list: u64) {
        if !self.has_room(size_of_val(frame) + 2 * size_of_val(packet.words.as_slice())) {
            return;
        }
        let mut job = self.idle_job(port, frame);
        job.egress_port = None;
        job.instance_type = instance_type;
        job.field_list = field_list;
        job.previous.clear();
        job.previous.extend_from_slice(&packet.words);
        self.queue.push_back(job);
    }

    /// Queues a copy of a packet for egress, as a replica.
    fn copy_to(&mut self, ir: &Ir, packet: &Packet, source: (Port, &[u8], usize), replica: Replica) {
        if let Some(copy) = self.queue_egress(packet, source, replica.port) {
            copy.set_if(ir.standard.replica, u64::from(replica.instance));
        }
    }

    /// Queues a packet, of which `source` is ingress port, frame and start of the payload; gives what is queued.
    fn queue_egress(&mut self, packet: &Packet, source: (Port, &[u8], usize), port: Port) -> Option<&mut Packet> {
        let (ingress_port, frame, payload_at) = source;
        if !self.has_room(size_of_val(frame) + size_of_val(packet.words.as_slice())) {
            return None;
        }
        let mut job = self.idle_job(ingress_port, frame);
        job.egress_port = Some(port);
        job.payload_at = payload_at;
        job.previous.clear();
        job.packet.words.clear();
        job.packet.words.extend_from_slice(&packet.words);
        job.packet.length = packet.length;
        job.packet.ingress_length = packet.ingress_length;
        job.packet.requests = Requests {
            truncate: packet.requests.truncate,
            ..Requests::default()
        };
        Some(&mut self.queue.push_back(job).packet)
    }

    /// Whether a packet of so many bytes may wait; if not, it counts as given up.
    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.queue.has_room(bytes);
        self.aborted_packets += u64::from(!has_room);
        has_room
    }

    fn multicast(&mut self, ir: &Ir, packet: &Packet, arrival: &Arrival, payload_at: usize, group: u64) {
        let Ok(group) = u32::try_from(group) else { return };
        let Some(replicas) = self.multicast_groups.get_mut(&group).map(std::mem::take) else {
            self.persistent.note(|| TraceEvent::Dropped {
                reason: "no such multicast group",
            });
            return;
        };
        self.note_copies("multicast group", group, replicas.len());
        for &replica in &replicas {
            self.copy_to(ir, packet, (arrival.port, arrival.frame, payload_at), replica);
        }
        self.multicast_groups.insert(group, replicas);
    }

    /// Copies a packet as it came in, parsed again.
    fn clone_ingress(
        &mut self,
        ir: &Ir,
        packet: &Packet,
        arrival: &Arrival,
        session: u64,
        list: u64,
        out: &mut dyn Output,
    ) {
        let Some((id, session)) = self.take_session(session) else {
            return;
        };
        self.note_copies("clone session", id, session.replicas.len());
        let mut copy = self.idle.take();
        copy.packet.reset(ir, arrival.frame.len());
        if !self.bmv2_compatible {
            copy.packet.copy_fields(Self::field_list(ir, list), &packet.words);
            self.set_arrival(ir, &mut copy.packet, arrival.frame, instance::INGRESS_CLONE);
        }
        copy.packet.set(ir.standard.ingress_port, u64::from(arrival.port));
        let payload_at = self.parse(ir, &mut copy.packet, arrival.frame, out);
        reset_metadata(ir, &mut copy.packet);
        copy.packet.copy_fields(Self::field_list(ir, list), &packet.words);
        if !self.bmv2_compatible {
            copy.packet.set(ir.standard.ingress_port, u64::from(arrival.port));
        }
        copy.packet.set(ir.standard.instance_type, instance::INGRESS_CLONE);
        copy.packet.requests = Requests {
            truncate: session.max_bytes,
            ..Requests::default()
        };
        for &replica in &session.replicas {
            self.copy_to(ir, &copy.packet, (arrival.port, arrival.frame, payload_at), replica);
        }
        self.idle.put(copy);
        self.clone_sessions.insert(id, session);
    }

    /// Takes what a session holds while its copies are made; the caller puts it back.
    fn take_session(&mut self, session: u64) -> Option<(u32, CloneSession)> {
        let id = u32::try_from(session).ok()?;
        Some((id, std::mem::take(self.clone_sessions.get_mut(&id)?)))
    }

    fn egress(&mut self, ir: &Ir, packet: &mut Packet, departure: Departure, out: &mut dyn Output) {
        let Departure {
            ingress_port,
            port,
            frame,
            payload_at,
            waited,
            is_given,
        } = departure;
        let standard = &ir.standard;
        self.passes += 1;
        let drop_port = u64::from(self.config.drop_port);
        let now = self.timestamp(self.now);
        let enqueued = self.timestamp(waited.enqueued);
        packet.set_if(standard.egress_timestamp, now);
        packet.set_if(standard.enqueue_timestamp, enqueued);
        packet.set_if(standard.dequeue_wait, now.saturating_sub(enqueued));
        packet.set_if(standard.enqueue_depth, waited.enqueue_depth);
        packet.set_if(standard.dequeue_depth, waited.dequeue_depth);
        packet.set_if(standard.queue_id, waited.queue_id);
        packet.set(standard.egress_port, u64::from(port));
        packet.set(standard.egress_spec, drop_port + 1);
        let payload = &frame[payload_at..];
        let length = if ir.egress_reads_length && !self.bmv2_compatible {
            packet.length_as_it_is(ir, payload.len())
        } else {
            packet.length
        };
        packet.set(standard.packet_length, length);
        let instance_type = packet.get(standard.instance_type);
        self.persistent.note(|| TraceEvent::Egress { port, instance_type });
        self.control(ir, Stage::Egress, packet, payload, out);

        let Requests {
            clone,
            recirculate,
            truncate,
            abort,
            ..
        } = packet.requests;
        if abort {
            self.give_up();
            return;
        }
        if let Some((session, list)) = clone
            && let Some((id, session)) = self.take_session(session)
        {
            self.note_copies("clone session", id, session.replicas.len());
            let mut copy = self.idle.take();
            copy.packet.words.clear();
            copy.packet.words.extend_from_slice(&packet.words);
            copy.packet.length = packet.length;
            copy.packet.ingress_length = packet.ingress_length;
            reset_metadata(ir, &mut copy.packet);
            copy.packet.copy_fields(Self::field_list(ir, list), &packet.words);
            if !self.bmv2_compatible {
                copy.packet.set(standard.ingress_port, u64::from(ingress_port));
            }
            copy.packet.set(standard.instance_type, instance::EGRESS_CLONE);
            copy.packet.requests = Requests {
                truncate: session.max_bytes.or(truncate),
                ..Requests::default()
            };
            for &replica in &session.replicas {
                self.copy_to(ir, &copy.packet, (ingress_port, frame, payload_at), replica);
            }
            self.idle.put(copy);
            self.clone_sessions.insert(id, session);
        }
        if packet.get(standard.egress_spec) == drop_port {
            self.persistent.note(|| TraceEvent::Dropped {
                reason: "marked in egress",
            });
            return;
        }
        let mut deparsed = std::mem::take(&mut self.deparsed);
        self.deparse(ir, packet, payload, &mut deparsed, out);
        if is_given && deparsed.len() == payload_at && recirculate.is_none() && truncate.is_none() {
            self.persistent.note(|| TraceEvent::Sent {
                port,
                bytes: frame.len(),
            });
            self.stays_in_frame = Some(port);
            self.deparsed = deparsed;
            return;
        }
        deparsed.extend_from_slice(payload);
        deparsed.truncate(truncate.unwrap_or(usize::MAX));
        match recirculate {
            Some(list) => {
                self.persistent.note(|| TraceEvent::Again { how: "recirculated" });
                self.again(packet, ingress_port, &deparsed, instance::RECIRCULATED, list);
            }
            None => {
                let bytes = deparsed.len();
                self.persistent.note(|| TraceEvent::Sent { port, bytes });
                out.give_packet(port, &mut deparsed);
            }
        }
        self.deparsed = deparsed;
    }
}

fn reset_metadata(ir: &Ir, packet: &mut Packet) {
    for header in &ir.layout.headers {
        if ir.layout.initial[header.base] != 0 {
            let words = header.base..header.base + ir.layout.types[header.header_type].words;
            packet.words[words.clone()].copy_from_slice(&ir.layout.initial[words]);
        }
    }
}
