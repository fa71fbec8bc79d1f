// SPDX-License-Identifier: Apache-2.0
//! A small deterministic network: flows that share one bottleneck, each with its own delays, faults by seed or by
//! script.
#![allow(dead_code)] // each test program uses its part

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::{Algorithm, Endpoint, Event, Receiver, ReceiverConfig, Sender, SenderConfig};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// What may go wrong with a packet after the bottleneck, and with an acknowledgment.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub loss: f64,
    pub duplicate: f64,
    /// Chance that a packet is late by up to 5 ms.
    pub reorder: f64,
}

pub struct Flow {
    pub sender: Sender<Pattern>,
    pub receiver: Receiver<PatternCheck>,
    pub forward_ns: u64,
    pub backward_ns: u64,
    pub sender_events: Vec<(u64, Event)>,
    pub receiver_events: Vec<(u64, Event)>,
    /// Data packets sent, counted from 0; those in `drops` are lost.
    pub data_packets: u64,
    /// Packets that the receiver sent.
    pub acks: u64,
    pub drops: BTreeSet<u64>,
    /// When a timer of the sender, the receiver is scheduled already.
    scheduled_ns: [Option<u64>; 2],
}

/// Settings of a flow and its delays (each way, ns).
pub fn flow(
    mut sender: SenderConfig,
    adapt: impl FnOnce(&mut ReceiverConfig),
    bytes: Option<u64>,
    delays_ns: (u64, u64),
) -> Flow {
    sender.initial_sequence = 0xffff_f000; // wraps soon
    let mut receiver = ReceiverConfig::new(sender.remote);
    receiver.xcp = sender.algorithm == Algorithm::Xcp;
    receiver.initial_sequence = 77;
    adapt(&mut receiver);
    Flow {
        sender: Sender::new(sender, bytes, Pattern::new(9)).unwrap(),
        receiver: Receiver::new(receiver, PatternCheck::new(Pattern::new(9))).unwrap(),
        forward_ns: delays_ns.0,
        backward_ns: delays_ns.1,
        sender_events: Vec::new(),
        receiver_events: Vec::new(),
        data_packets: 0,
        acks: 0,
        drops: BTreeSet::new(),
        scheduled_ns: [None; 2],
    }
}

pub fn config(index: u16, algorithm: Algorithm) -> SenderConfig {
    let local = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40_000 + index);
    let remote = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 5000 + index);
    SenderConfig::new(local, remote, algorithm)
}

enum Happening {
    AtReceiver(usize, Vec<u8>),
    AtSender(usize, Vec<u8>),
    Departure,
    SenderTimer(usize),
    ReceiverTimer(usize),
}

/// Looks at a packet that joins the bottleneck, given the queue in bytes before it.
pub type Router = Box<dyn FnMut(u64, &mut [u8], u64)>;

pub struct Network {
    pub now_ns: u64,
    pub flows: Vec<Flow>,
    pub rate_bps: u64,
    pub queue_packets: usize,
    pub faults: Faults,
    pub router: Option<Router>,
    pub largest_queue: usize,
    pub queue_drops: u64,
    pub delivered_bytes: u64,
    rng: Pcg64,
    queue: std::collections::VecDeque<(usize, Vec<u8>)>,
    busy: bool,
    happenings: BTreeMap<(u64, u64), Happening>,
    next_id: u64,
}

impl Network {
    pub fn new(flows: Vec<Flow>, rate_bps: u64, queue_packets: usize) -> Self {
        let mut network = Self {
            now_ns: 0,
            flows,
            rate_bps,
            queue_packets,
            faults: Faults::default(),
            router: None,
            largest_queue: 0,
            queue_drops: 0,
            delivered_bytes: 0,
            rng: Pcg64::seed_from_u64(1),
            queue: Default::default(),
            busy: false,
            happenings: BTreeMap::new(),
            next_id: 0,
        };
        for i in 0..network.flows.len() {
            network.at(0, Happening::SenderTimer(i));
        }
        network
    }

    pub fn with_faults(mut self, faults: Faults, seed: u64) -> Self {
        self.faults = faults;
        self.rng = Pcg64::seed_from_u64(seed);
        self
    }

    fn at(&mut self, time_ns: u64, happening: Happening) {
        self.happenings.insert((time_ns, self.next_id), happening);
        self.next_id += 1;
    }

    /// Runs until `until_ns` or until nothing more happens.
    pub fn run(&mut self, until_ns: u64) {
        while let Some(entry) = self.happenings.first_entry() {
            if entry.key().0 > until_ns {
                break;
            }
            let ((now_ns, _), happening) = entry.remove_entry();
            self.now_ns = now_ns;
            match happening {
                Happening::AtReceiver(i, packet) => {
                    self.delivered_bytes += packet.len() as u64;
                    self.flows[i].receiver.handle_segment(now_ns, &packet);
                    self.serve_receiver(i);
                }
                Happening::AtSender(i, packet) => {
                    self.flows[i].sender.handle_segment(now_ns, &packet);
                    self.serve_sender(i);
                }
                Happening::SenderTimer(i) => {
                    self.flows[i].scheduled_ns[0] = None;
                    self.flows[i].sender.handle_timeout(now_ns);
                    self.serve_sender(i);
                }
                Happening::ReceiverTimer(i) => {
                    self.flows[i].scheduled_ns[1] = None;
                    self.flows[i].receiver.handle_timeout(now_ns);
                    self.serve_receiver(i);
                }
                Happening::Departure => {
                    self.busy = false;
                    let (i, packet) = self.queue.pop_front().unwrap();
                    let delay = self.flows[i].forward_ns;
                    self.deliver(delay, packet, |p| Happening::AtReceiver(i, p));
                    self.serve_link();
                }
            }
        }
        self.now_ns = until_ns;
    }

    /// Asks the sender of flow `i` again, whose application has written more.
    pub fn wake(&mut self, i: usize) {
        self.serve_sender(i);
    }

    fn serve_sender(&mut self, i: usize) {
        let mut packet = Vec::new();
        while let Some(length) = self.flows[i].sender.poll_transmit(self.now_ns, &mut packet) {
            assert_eq!(length, packet.len());
            self.enqueue(i, packet.clone());
        }
        while let Some(event) = self.flows[i].sender.poll_event() {
            self.flows[i].sender_events.push((self.now_ns, event));
        }
        let timeout = self.flows[i].sender.poll_timeout();
        self.schedule(i, 0, timeout, Happening::SenderTimer(i));
    }

    fn serve_receiver(&mut self, i: usize) {
        let mut packet = Vec::new();
        while self.flows[i].receiver.poll_transmit(self.now_ns, &mut packet).is_some() {
            self.flows[i].acks += 1;
            let delay = self.flows[i].backward_ns;
            self.deliver(delay, packet.clone(), |p| Happening::AtSender(i, p));
        }
        while let Some(event) = self.flows[i].receiver.poll_event() {
            self.flows[i].receiver_events.push((self.now_ns, event));
        }
        let timeout = self.flows[i].receiver.poll_timeout();
        self.schedule(i, 1, timeout, Happening::ReceiverTimer(i));
    }

    /// A timer that moved later goes off early and is asked again then.
    fn schedule(&mut self, i: usize, end: usize, timeout: Option<u64>, happening: Happening) {
        let scheduled = &mut self.flows[i].scheduled_ns[end];
        if let Some(timeout) = timeout
            && scheduled.is_none_or(|at| timeout < at)
        {
            *scheduled = Some(timeout);
            self.at(timeout.max(self.now_ns), happening);
        }
    }

    fn enqueue(&mut self, i: usize, mut packet: Vec<u8>) {
        let flow = &mut self.flows[i];
        if packet.len() > 200 {
            flow.data_packets += 1;
            if flow.drops.contains(&(flow.data_packets - 1)) {
                return;
            }
        }
        if self.queue.len() > self.queue_packets {
            self.queue_drops += 1;
            return;
        }
        if let Some(router) = &mut self.router {
            let backlog = self.queue.iter().skip(1).map(|(_, p)| p.len() as u64).sum();
            router(self.now_ns, &mut packet, backlog);
        }
        self.queue.push_back((i, packet));
        self.largest_queue = self.largest_queue.max(self.queue.len() - 1);
        self.serve_link();
    }

    fn serve_link(&mut self) {
        if self.busy {
            return;
        }
        if let Some((_, packet)) = self.queue.front() {
            self.busy = true;
            let time = packet.len() as u64 * 8 * SECOND / self.rate_bps;
            self.at(self.now_ns + time, Happening::Departure);
        }
    }

    fn deliver(&mut self, delay_ns: u64, packet: Vec<u8>, arrival: impl Fn(Vec<u8>) -> Happening) {
        let faults = self.faults;
        if self.rng.random_bool(faults.loss) {
            return;
        }
        let copies = 1 + usize::from(self.rng.random_bool(faults.duplicate));
        for _ in 0..copies {
            let late = if self.rng.random_bool(faults.reorder) {
                self.rng.random_range(0..5 * MS)
            } else {
                0
            };
            self.at(self.now_ns + delay_ns + late, arrival(packet.clone()));
        }
    }

    /// Everything arrived, once and unchanged, and both ends closed.
    pub fn assert_complete(&self, bytes: u64) {
        for flow in &self.flows {
            let check = flow.receiver.sink();
            assert_eq!((check.bytes(), check.wrong_bytes()), (bytes, 0));
            let sender: Vec<Event> = flow.sender_events.iter().map(|e| e.1).collect();
            assert!(
                sender.contains(&Event::Finished) && sender.contains(&Event::Closed),
                "{sender:?}"
            );
            let receiver: Vec<Event> = flow.receiver_events.iter().map(|e| e.1).collect();
            assert_eq!(receiver, [Event::Connected, Event::Finished, Event::Closed]);
        }
    }

    /// When the sender of flow 0 had the first `bytes` acknowledged, to 1 ms.
    pub fn acked_ns(&mut self, bytes: u64) -> u64 {
        while self.flows[0].sender.stats().acked_bytes < bytes {
            self.run(self.now_ns + MS);
        }
        self.now_ns
    }

    /// When the sender of flow `i` knew that all had arrived, ns.
    pub fn finished_ns(&self, i: usize) -> u64 {
        let mut events = self.flows[i].sender_events.iter();
        events.find(|e| e.1 == Event::Finished).expect("finished").0
    }
}
