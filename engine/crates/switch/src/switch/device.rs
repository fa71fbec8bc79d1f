// SPDX-License-Identifier: Apache-2.0
//! The pipeline of a switch, with queues between ingress and egress where they are wanted.

use std::collections::VecDeque;

use slotwise_netio::{Senders, WallClock};
use slotwise_p4::{Pipeline, Port, Queued, Waited};
use slotwise_p4runtime::DeviceAccess;
use slotwise_units::Instant;

use super::delivery::{Delivery, Surroundings};
use super::queues::{Leaving, Queues};

/// Runs through ingress or egress after which the controllers have their turn, before the next packet: one that goes round
/// for ever, or becomes ever more, does not hold them up. One arriving packet has at most twice as many at once.
pub const PASSES_A_TURN: u64 = 4096;
/// Work after which they have it, too: some 20 ms. One arriving packet makes at most eight times as much at once, and a copy of it that
/// is alone as much again.
pub const WORK_A_TURN: u64 = 1 << 22;
/// Packets that wait for their queues: clones, and those that go round. A program may double them each time.
const MAX_LEAVING: usize = 8192;
/// Bytes of packets that wait between ingress and egress, in queues and in front of them.
const MAX_WAITING_BYTES: usize = 256 << 20;

/// What runs the packets of a switch.
pub struct Device {
    pipeline: Option<Pipeline>,
    pub clock: WallClock,
    is_tracing: bool,
    bmv2_compatible: bool,
    queues: Option<Queues<Queued>>,
    /// What has left ingress, until it is in its queue.
    leaving_ingress: VecDeque<Queued>,
    /// What the pipeline just made.
    made: Vec<Queued>,
    /// Bytes of what waits, in queues and in front of them.
    waiting_bytes: usize,
    /// The pipeline's passes and work when the turn began.
    turn_began: (u64, u64),
    /// The port whose queue was served last: the one behind it is the next, since a turn may be over before all were.
    last_served: Port,
}

impl Device {
    pub fn new(clock: WallClock, is_tracing: bool, bmv2_compatible: bool, queues: Option<Queues<Queued>>) -> Device {
        Device {
            pipeline: None,
            clock,
            is_tracing,
            bmv2_compatible,
            queues,
            leaving_ingress: VecDeque::new(),
            made: Vec::new(),
            waiting_bytes: 0,
            turn_began: (0, 0),
            last_served: 0,
        }
    }

    /// Packets that their queues did not take.
    pub fn dropped(&self) -> u64 {
        self.queues.as_ref().map_or(0, Queues::dropped)
    }

    /// The controllers have had their turn.
    pub fn begin_turn(&mut self) {
        self.turn_began = self.spent();
    }

    /// Whether it is the controllers' turn.
    pub fn is_turn_over(&self) -> bool {
        let (passes, work) = self.spent();
        passes - self.turn_began.0 >= PASSES_A_TURN || work - self.turn_began.1 >= WORK_A_TURN
    }

    fn spent(&self) -> (u64, u64) {
        let pipeline = self.pipeline.as_ref();
        pipeline.map_or((0, 0), |pipeline| (pipeline.passes(), pipeline.work()))
    }

    /// Runs a packet. Without a program, every packet is dropped.
    pub fn process(&mut self, port: Port, frame: &[u8], around: &mut Surroundings, senders: &mut Senders) {
        let now = self.clock.now();
        let Some(pipeline) = &mut self.pipeline else {
            // The packet's own line.
            around.logs.write(now, None);
            return;
        };
        let mut delivery = Delivery {
            surroundings: around,
            senders,
            now,
        };
        if self.queues.is_none() {
            pipeline.process(now, port, frame, &mut delivery);
            self.log(now, around);
            return;
        }
        pipeline.process_ingress(now, port, frame, &mut delivery, &mut self.made);
        self.take_made();
        self.log(now, around);
        self.fill_queues(now, around, senders);
    }

    /// Puts what the pipeline made behind what is on its way to the queues.
    fn take_made(&mut self) {
        for packet in self.made.drain(..) {
            let waiting_bytes = self.waiting_bytes + packet.bytes();
            if self.leaving_ingress.len() < MAX_LEAVING && waiting_bytes <= MAX_WAITING_BYTES {
                self.waiting_bytes = waiting_bytes;
                self.leaving_ingress.push_back(packet);
            } else {
                self.queues.iter_mut().for_each(Queues::drop_another);
            }
        }
    }

    /// Puts what left ingress into queues, and empties them where they need not wait: a burst of copies meets no queue
    /// that is full of them only. Returns how many there were. What egress makes of them is for the next time, and what
    /// is left when the turn is over.
    fn fill_queues(&mut self, now: Instant, around: &mut Surroundings, senders: &mut Senders) -> usize {
        let mut count = 0;
        for _ in 0..self.leaving_ingress.len() {
            if self.is_turn_over() {
                break;
            }
            let (Some(queues), Some(packet)) = (&mut self.queues, self.leaving_ingress.pop_front()) else {
                break;
            };
            let (port, bytes) = (packet.port(), packet.bytes());
            if !queues.push(port, packet.priority(), now, packet) {
                self.waiting_bytes -= bytes;
            }
            self.empty_queue(port, around, senders);
            count += 1;
        }
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
        let now = self.clock.now();
        let Some(leaving) = queues.pop(port, now) else {
            return false;
        };
        let Leaving {
            item,
            priority,
            enqueued,
            enqueue_depth,
            dequeue_depth,
        } = leaving;
        let waited = Waited {
            enqueued,
            enqueue_depth: enqueue_depth as u64,
            dequeue_depth: dequeue_depth as u64,
            queue_id: u64::from(priority),
        };
        let mut delivery = Delivery {
            surroundings: around,
            senders,
            now,
        };
        self.waiting_bytes -= item.bytes();
        pipeline.process_egress(now, item, waited, &mut delivery, &mut self.made);
        self.take_made();
        self.log(now, around);
        true
    }

    /// Takes packets out of their queues that may leave by now, and says when to come again, if not after a stall.
    pub fn empty_queues(&mut self, around: &mut Surroundings, senders: &mut Senders) -> Option<Instant> {
        while !self.is_turn_over() {
            // First what waits already, so that what goes round does not hold it up.
            let mut ports: Vec<Port> = self.queues.as_ref()?.waiting().map(|(port, _)| port).collect();
            let next = ports.partition_point(|port| *port <= self.last_served);
            ports.rotate_left(next);
            let mut taken = 0;
            for port in ports {
                if self.is_turn_over() {
                    break;
                }
                self.last_served = port;
                taken += usize::from(self.empty_queue(port, around, senders));
            }
            taken += self.fill_queues(self.clock.now(), around, senders);
            if taken == 0 {
                break;
            }
        }
        let at_once = (!self.leaving_ingress.is_empty()).then_some(Instant::ZERO);
        let waiting = self.queues.as_ref()?.waiting();
        let due = waiting.filter(|(port, _)| !is_stalled(*port, around, senders));
        due.map(|(_, leaves)| leaves).chain(at_once).min()
    }

    fn log(&mut self, now: Instant, around: &mut Surroundings) {
        around.logs.write(now, self.pipeline.as_mut());
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
        self.waiting_bytes = 0;
        self.turn_began = (pipeline.passes(), pipeline.work());
        self.pipeline = Some(pipeline);
    }
}
