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
/// Packets that come from egress before ingress or egress again: clones, and those that go round. A program may double them
/// each time.
const MAX_LEAVING: usize = 8192;

/// What runs the packets of a switch.
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
    /// that is full of them only. Returns how many there were. What egress makes of them is for the next turn.
    fn fill_queues(&mut self, now_ns: u64, around: &mut Surroundings, senders: &mut Senders) -> usize {
        let mut packets = std::mem::take(&mut self.leaving_ingress);
        let count = packets.len();
        for packet in packets.drain(..) {
            let port = packet.port();
            if let Some(queues) = &mut self.queues {
                queues.push(port, packet.priority(), now_ns, packet);
            }
            self.empty_queue(port, around, senders);
        }
        packets.append(&mut self.leaving_ingress);
        self.leaving_ingress = packets;
        count
    }

    /// Takes a packet that may leave by now through egress, if there is one.
    fn empty_queue(&mut self, port: Port, around: &mut Surroundings, senders: &mut Senders) -> bool {
        let (Some(queues), Some(pipeline)) = (&mut self.queues, &mut self.pipeline) else {
            return false;
        };
        if is_stalled(port, around, senders) {
            return false;
        }
        let now_ns = self.clock.now_ns();
        let Some(leaving) = queues.pop(port, now_ns) else {
            return false;
        };
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
        queues.drop_others(self.leaving_ingress.len().saturating_sub(MAX_LEAVING));
        self.leaving_ingress.truncate(MAX_LEAVING);
        self.log(now_ns, around);
        true
    }

    /// Takes packets out of their queues that may leave by now, and says when to come again, if not after a stall.
    pub fn empty_queues(&mut self, around: &mut Surroundings, senders: &mut Senders) -> Option<u64> {
        let mut left = PACKETS_A_TURN;
        while left > 0 {
            let mut taken = self.fill_queues(self.clock.now_ns(), around, senders);
            let ports: Vec<Port> = self.queues.as_ref()?.waiting().map(|(port, _)| port).collect();
            taken += ports
                .iter()
                .filter(|port| self.empty_queue(**port, around, senders))
                .count();
            if taken == 0 {
                break;
            }
            left = left.saturating_sub(taken);
        }
        let at_once = (!self.leaving_ingress.is_empty()).then_some(0);
        let waiting = self.queues.as_ref()?.waiting();
        let due = waiting.filter(|(port, _)| !is_stalled(*port, around, senders));
        due.map(|(_, leaves_ns)| leaves_ns).chain(at_once).min()
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

fn is_stalled(port: Port, around: &Surroundings, senders: &Senders) -> bool {
    around.places.get(&port).is_some_and(|place| senders.is_stalled(*place))
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
