// SPDX-License-Identifier: Apache-2.0
//! The pipeline of a switch, with queues between ingress and egress where they are wanted.

use slotwise_netio::{Senders, WallClock};
use slotwise_p4::{Pipeline, Port, Queued, Waited};
use slotwise_p4runtime::DeviceAccess;

use super::delivery::{Delivery, Surroundings};
use super::queues::{Leaving, Queues};

/// Packets that leave their queues in one turn: one that goes round for ever does not hold up the others, nor the
/// controllers.
const PACKETS_A_TURN: usize = 1024;

pub struct Device {
    pipeline: Option<Pipeline>,
    pub clock: WallClock,
    is_tracing: bool,
    bmv2_compatible: bool,
    queues: Option<Queues<Queued>>,
    /// What leaves ingress, until it is in its queue.
    leaving_ingress: Vec<Queued>,
}

impl Device {
    pub fn new(clock: WallClock, is_tracing: bool, bmv2_compatible: bool, queues: Option<Queues<Queued>>) -> Device {
        Device {
            pipeline: None,
            clock,
            is_tracing,
            bmv2_compatible,
            queues,
            leaving_ingress: Vec::new(),
        }
    }

    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// Packets that their queues did not take.
    pub fn dropped(&self) -> u64 {
        self.queues.as_ref().map_or(0, Queues::dropped)
    }

    /// Runs a packet. Without a program, every packet is dropped.
    pub fn process(&mut self, port: Port, frame: &[u8], around: &mut Surroundings, senders: &mut Senders) {
        let now_ns = self.clock.now_ns();
        let Some(pipeline) = &mut self.pipeline else {
            // The packet's own line.
            around.logs.write(now_ns, None);
            return;
        };
        let mut delivery = Delivery {
            surroundings: around,
            senders,
            now_ns,
        };
        if self.queues.is_none() {
            pipeline.process(now_ns, port, frame, &mut delivery);
            self.log(now_ns, around);
            return;
        }
        pipeline.process_ingress(now_ns, port, frame, &mut delivery, &mut self.leaving_ingress);
        self.log(now_ns, around);
        self.fill_queues(now_ns, around, senders);
    }

    /// Puts what left ingress into queues, and empties them where they need not wait: a burst of copies meets no queue
    /// that is full of them only.
    fn fill_queues(&mut self, now_ns: u64, around: &mut Surroundings, senders: &mut Senders) {
        let mut packets = std::mem::take(&mut self.leaving_ingress);
        for packet in packets.drain(..) {
            let port = packet.port();
            if let Some(queues) = &mut self.queues {
                queues.push(port, packet.priority(), now_ns, packet);
            }
            self.empty_queue(port, 1, around, senders);
        }
        // What egress added is for the next turn.
        packets.append(&mut self.leaving_ingress);
        self.leaving_ingress = packets;
    }

    /// Takes up to `most` packets that may leave by now through egress. Returns how many there were.
    fn empty_queue(&mut self, port: Port, most: usize, around: &mut Surroundings, senders: &mut Senders) -> usize {
        let (Some(queues), Some(pipeline)) = (&mut self.queues, &mut self.pipeline) else {
            return 0;
        };
        let place = around.places.get(&port).copied();
        let mut count = 0;
        while count < most && !place.is_some_and(|place| senders.is_stalled(place)) {
            let now_ns = self.clock.now_ns();
            let Some(leaving) = queues.pop(port, now_ns) else { break };
            let Leaving {
                item,
                priority,
                enqueued_ns,
                enqueue_depth,
                dequeue_depth,
            } = leaving;
            let waited = Waited {
                enqueued_ns,
                enqueue_depth: enqueue_depth as u64,
                dequeue_depth: dequeue_depth as u64,
                queue_id: u64::from(priority),
            };
            let mut delivery = Delivery {
                surroundings: around,
                senders,
                now_ns,
            };
            pipeline.process_egress(now_ns, item, waited, &mut delivery, &mut self.leaving_ingress);
            around.logs.write(now_ns, self.is_tracing.then_some(&mut *pipeline));
            count += 1;
        }
        count
    }

    /// Takes packets out of their queues that may leave by now, and says when to come again, if not after a stall.
    pub fn empty_queues(&mut self, around: &mut Surroundings, senders: &mut Senders) -> Option<u64> {
        let mut left = PACKETS_A_TURN;
        while left > 0 {
            self.fill_queues(self.clock.now_ns(), around, senders);
            let ports: Vec<Port> = self
                .queues
                .iter()
                .flat_map(Queues::waiting)
                .map(|(port, _)| port)
                .collect();
            let taken: usize = ports
                .iter()
                .map(|port| self.empty_queue(*port, 1, around, senders))
                .sum();
            if taken == 0 && self.leaving_ingress.is_empty() {
                break;
            }
            left = left.saturating_sub(taken.max(1));
        }
        let can_leave = |port: &Port| !around.places.get(port).is_some_and(|place| senders.is_stalled(*place));
        let now = (!self.leaving_ingress.is_empty()).then_some(0);
        let waiting = self.queues.iter().flat_map(Queues::waiting);
        let due = waiting
            .filter(|(port, _)| can_leave(port))
            .map(|(_, leaves_ns)| leaves_ns);
        due.chain(now).min()
    }

    fn log(&mut self, now_ns: u64, around: &mut Surroundings) {
        around.logs.write(now_ns, self.pipeline.as_mut());
        let is_wanted = around.logs.takes_traces();
        if self.is_tracing && !is_wanted {
            self.is_tracing = false;
            self.pipeline
                .iter_mut()
                .for_each(|pipeline| pipeline.set_tracing(false));
        }
    }
}

impl DeviceAccess for Device {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    fn install(&mut self, mut pipeline: Pipeline) {
        pipeline.set_tracing(self.is_tracing);
        pipeline.set_bmv2_compatible(self.bmv2_compatible);
        // What waits belongs to the program before.
        self.leaving_ingress.clear();
        self.queues.iter_mut().for_each(Queues::clear);
        self.pipeline = Some(pipeline);
    }
}
