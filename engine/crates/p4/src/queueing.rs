// SPDX-License-Identifier: Apache-2.0
//! Ingress and egress apart, for switches with queues between them.

use slotwise_units::Instant;

use crate::api::{Output, Port};
use crate::ir::Ir;
use crate::jobs::{Job, MAX_OFFSPRING};
use crate::pipeline::Pipeline;
use crate::work::MAX_WORK;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A packet between ingress and egress of the pipeline that made it.
#[derive(Debug)]
pub struct Queued {
    job: Job,
    ir: Arc<Ir>,
    family: Family,
}

/// Work left to the packets that one arriving packet has become, while there are several: copies multiply a program's work otherwise.
/// One that is alone has all that a packet may have, each time that it goes round, since programs send packets round for ever.
#[derive(Debug, Clone, Default)]
struct Family(Option<Arc<AtomicU64>>);

impl Family {
    /// What a member may make. The last one leaves it.
    fn work_left(&mut self) -> u64 {
        self.0.take_if(|left| Arc::strong_count(left) == 1);
        self.0.as_ref().map_or(MAX_WORK, |left| left.load(Ordering::Relaxed))
    }

    /// Packets of it have come with `work_left` for all; founds it if there are several.
    fn grow(self, members: &mut [Queued], work_left: u64) {
        let left = match self.0 {
            Some(left) => left,
            None if members.len() > 1 => Arc::default(),
            None => return,
        };
        left.store(work_left, Ordering::Relaxed);
        for member in members {
            member.family = Family(Some(left.clone()));
        }
    }
}

impl Queued {
    /// Where it goes.
    pub fn port(&self) -> Port {
        self.job.egress_port.unwrap_or_default()
    }

    /// Bytes of the frame and of what the program knows of it.
    pub fn bytes(&self) -> usize {
        self.job.bytes()
    }

    /// Which of the port's queues the program has chosen (`standard_metadata.priority`); 0 without that field.
    pub fn priority(&self) -> u64 {
        self.ir.standard.priority.map_or(0, |field| self.job.packet.get(field))
    }
}

/// What a packet met in its queue, for the fields that tell the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// When it came into the queue, not later than now.
    pub enqueued: Instant,
    /// Packets in the queue when it came, without it.
    pub enqueue_depth: u64,
    /// Packets that it leaves behind.
    pub dequeue_depth: u64,
    /// Which of the port's queues.
    pub queue_id: u64,
}

impl Waited {
    /// There is no queue.
    pub(crate) fn not_at_all(now: Instant) -> Waited {
        Waited {
            enqueued: now,
            enqueue_depth: 0,
            dequeue_depth: 0,
            queue_id: 0,
        }
    }
}

impl Pipeline {
    /// Runs one packet up to the end of ingress, with clones and resubmits, and adds what goes on to egress to `queued`, in
    /// the order in which [`Pipeline::process`] would run it. `now` must not decrease.
    pub fn process_ingress(
        &mut self,
        now: Instant,
        port: Port,
        frame: &[u8],
        out: &mut dyn Output,
        queued: &mut Vec<Queued>,
    ) {
        let ir = Arc::clone(&self.ir);
        self.apart = true;
        self.arrive(&ir, now, (port, frame, false), out);
        self.hand_over(&ir, out, queued, Family::default());
        self.apart = false;
    }

    /// Runs a packet through egress and deparser. Its clones, and itself if it is recirculated, are added to `queued` when
    /// they are before egress again. A packet of another pipeline is dropped and counted as aborted.
    pub fn process_egress(
        &mut self,
        now: Instant,
        packet: Queued,
        waited: Waited,
        out: &mut dyn Output,
        queued: &mut Vec<Queued>,
    ) {
        let Queued {
            mut job,
            ir,
            mut family,
        } = packet;
        if !Arc::ptr_eq(&ir, &self.ir) {
            self.aborted_packets += 1;
            return;
        }
        self.now = now;
        self.allow(family.work_left());
        self.apart = true;
        self.run_job(&ir, &mut job, waited, out);
        self.idle.put(job);
        self.hand_over(&ir, out, queued, family);
        self.apart = false;
    }

    /// Runs what goes to the parser again, and hands over what goes to egress.
    fn hand_over(&mut self, ir: &Arc<Ir>, out: &mut dyn Output, queued: &mut Vec<Queued>, family: Family) {
        let (now, first) = (self.now, queued.len());
        for _ in 0..MAX_OFFSPRING {
            let Some(mut job) = self.queue.pop_front() else { break };
            if job.egress_port.is_some() {
                queued.push(Queued {
                    job,
                    ir: ir.clone(),
                    family: Family::default(),
                });
            } else {
                self.run_job(ir, &mut job, Waited::not_at_all(now), out);
                self.idle.put(job);
            }
        }
        self.give_up_queue();
        family.grow(&mut queued[first..], self.persistent.work_left);
    }
}
