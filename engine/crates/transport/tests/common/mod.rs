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
use slotwise_units::{Bytes, Duration, Instant, Rate};

pub const MS: Duration = Duration::from_ms(1);
pub const SECOND: Duration = Duration::from_s(1);

/// The point in time so long after the start.
pub fn at(since: Duration) -> Instant {
    Instant::ZERO + since
}

pub fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

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
    pub forward: Duration,
    pub backward: Duration,
    pub sender_events: Vec<(Instant, Event)>,
    pub receiver_events: Vec<(Instant, Event)>,
    /// Data packets sent, counted from 0; those in `drops` are lost.
    pub data_packets: u64,
    /// Packets that the receiver sent.
    pub acks: u64,
    pub drops: BTreeSet<u64>,
    /// When a timer of the sender, the receiver is scheduled already.
    scheduled: [Option<Instant>; 2],
}

/// Settings of a flow and its delays each way.
pub fn flow(
    mut sender: SenderConfig,
    adapt: impl FnOnce(&mut ReceiverConfig),
    bytes: Option<Bytes>,
    delays: (Duration, Duration),
) -> Flow {
    sender.initial_sequence = 0xffff_f000; // wraps soon
    let mut receiver = ReceiverConfig::new(sender.remote);
    receiver.xcp = sender.algorithm == Algorithm::Xcp;
    receiver.initial_sequence = 77;
    adapt(&mut receiver);
    Flow {
        sender: Sender::new(sender, bytes, Pattern::new(9)).unwrap(),
        receiver: Receiver::new(receiver, PatternCheck::new(Pattern::new(9))).unwrap(),
        forward: delays.0,
        backward: delays.1,
        sender_events: Vec::new(),
        receiver_events: Vec::new(),
        data_packets: 0,
        acks: 0,
        drops: BTreeSet::new(),
        scheduled: [None; 2],
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

/// Looks at a packet that joins the bottleneck, given the queue before it.
pub type Router = Box<dyn FnMut(Instant, &mut [u8], Bytes)>;

pub struct Network {
    pub now: Instant,
    pub flows: Vec<Flow>,
    pub rate: Rate,
    pub queue_packets: usize,
    pub faults: Faults,
    pub router: Option<Router>,
    pub largest_queue: usize,
    pub queue_drops: u64,
    pub delivered: Bytes,
    rng: Pcg64,
    queue: std::collections::VecDeque<(usize, Vec<u8>)>,
    busy: bool,
    happenings: BTreeMap<(Instant, u64), Happening>,
    next_id: u64,
}

impl Network {
    pub fn new(flows: Vec<Flow>, rate: Rate, queue_packets: usize) -> Self {
        let mut network = Self {
            now: Instant::ZERO,
            flows,
            rate,
            queue_packets,
            faults: Faults::default(),
            router: None,
            largest_queue: 0,
            queue_drops: 0,
            delivered: Bytes::ZERO,
            rng: Pcg64::seed_from_u64(1),
            queue: Default::default(),
            busy: false,
            happenings: BTreeMap::new(),
            next_id: 0,
        };
        for i in 0..network.flows.len() {
            network.at(Instant::ZERO, Happening::SenderTimer(i));
        }
        network
    }

    pub fn with_faults(mut self, faults: Faults, seed: u64) -> Self {
        self.faults = faults;
        self.rng = Pcg64::seed_from_u64(seed);
        self
    }

    fn at(&mut self, time: Instant, happening: Happening) {
        self.happenings.insert((time, self.next_id), happening);
        self.next_id += 1;
    }

    /// Runs until `until` or until nothing more happens.
    pub fn run(&mut self, until: Instant) {
        while let Some(entry) = self.happenings.first_entry() {
            if entry.key().0 > until {
                break;
            }
            let ((now, _), happening) = entry.remove_entry();
            self.now = now;
            match happening {
                Happening::AtReceiver(i, packet) => {
                    self.delivered += Bytes::of(packet.len());
                    self.flows[i].receiver.handle_segment(now, &packet);
                    self.serve_receiver(i);
                }
                Happening::AtSender(i, packet) => {
                    self.flows[i].sender.handle_segment(now, &packet);
                    self.serve_sender(i);
                }
                Happening::SenderTimer(i) => {
                    self.flows[i].scheduled[0] = None;
                    self.flows[i].sender.handle_timeout(now);
                    self.serve_sender(i);
                }
                Happening::ReceiverTimer(i) => {
                    self.flows[i].scheduled[1] = None;
                    self.flows[i].receiver.handle_timeout(now);
                    self.serve_receiver(i);
                }
                Happening::Departure => {
                    self.busy = false;
                    let (i, packet) = self.queue.pop_front().unwrap();
                    let delay = self.flows[i].forward;
                    self.deliver(delay, packet, |p| Happening::AtReceiver(i, p));
                    self.serve_link();
                }
            }
        }
        self.now = until;
    }

    /// Asks the sender of flow `i` again, whose application has written more.
    pub fn wake(&mut self, i: usize) {
        self.serve_sender(i);
    }

    fn serve_sender(&mut self, i: usize) {
        let mut packet = Vec::new();
        while let Some(length) = self.flows[i].sender.poll_transmit(self.now, &mut packet) {
            assert_eq!(length, packet.len());
            self.enqueue(i, packet.clone());
        }
        while let Some(event) = self.flows[i].sender.poll_event() {
            self.flows[i].sender_events.push((self.now, event));
        }
        let timeout = self.flows[i].sender.poll_timeout();
        self.schedule(i, 0, timeout, Happening::SenderTimer(i));
    }

    fn serve_receiver(&mut self, i: usize) {
        let mut packet = Vec::new();
        while self.flows[i].receiver.poll_transmit(self.now, &mut packet).is_some() {
            self.flows[i].acks += 1;
            let delay = self.flows[i].backward;
            self.deliver(delay, packet.clone(), |p| Happening::AtSender(i, p));
        }
        while let Some(event) = self.flows[i].receiver.poll_event() {
            self.flows[i].receiver_events.push((self.now, event));
        }
        let timeout = self.flows[i].receiver.poll_timeout();
        self.schedule(i, 1, timeout, Happening::ReceiverTimer(i));
    }

    /// A timer that moved later goes off early and is asked again then.
    fn schedule(&mut self, i: usize, end: usize, timeout: Option<Instant>, happening: Happening) {
        let scheduled = &mut self.flows[i].scheduled[end];
        if let Some(timeout) = timeout
            && scheduled.is_none_or(|at| timeout < at)
        {
            *scheduled = Some(timeout);
            self.at(timeout.max(self.now), happening);
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
            let backlog = self.queue.iter().skip(1).map(|(_, p)| Bytes::of(p.len())).sum();
            router(self.now, &mut packet, backlog);
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
            let time = self.rate.time_rounded_down(Bytes::of(packet.len()));
            self.at(self.now + time, Happening::Departure);
        }
    }

    fn deliver(&mut self, delay: Duration, packet: Vec<u8>, arrival: impl Fn(Vec<u8>) -> Happening) {
        let faults = self.faults;
        if self.rng.random_bool(faults.loss) {
            return;
        }
        let copies = 1 + usize::from(self.rng.random_bool(faults.duplicate));
        for _ in 0..copies {
            let late = if self.rng.random_bool(faults.reorder) {
                Duration::from_ns(self.rng.random_range(0..5_000_000))
            } else {
                Duration::ZERO
            };
            self.at(self.now + delay + late, arrival(packet.clone()));
        }
    }

    /// Everything arrived, once and unchanged, and both ends closed.
    pub fn assert_complete(&self, bytes: Bytes) {
        for flow in &self.flows {
            let check = flow.receiver.sink();
            assert_eq!((check.bytes(), check.wrong()), (bytes, Bytes::ZERO));
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
    pub fn acked_at(&mut self, bytes: Bytes) -> Instant {
        while self.flows[0].sender.stats().acked < bytes {
            self.run(self.now + MS);
        }
        self.now
    }

    /// When the sender of flow `i` knew that all had arrived.
    pub fn finished_at(&self, i: usize) -> Instant {
        let mut events = self.flows[i].sender_events.iter();
        events.find(|e| e.1 == Event::Finished).expect("finished").0
    }
}
