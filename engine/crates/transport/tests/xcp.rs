// SPDX-License-Identifier: Apache-2.0
//! XCP senders and receivers against a router written here after the XCP paper (SIGCOMM 2002), in floating point
//! and with division, which the P4 one has not.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{Faults, Flow, MS, Network, Router, SECOND, at, config, flow, mbps};
use slotwise_transport::xcp::{self, Format, Header};
use slotwise_transport::{Algorithm, Endpoint, SenderConfig};
use slotwise_units::{Bytes, Duration, Instant, Rate};

const ALPHA: f64 = 0.4;
const BETA: f64 = 0.226;
const GAMMA: f64 = 0.1;
const IP_HEADER: usize = 20;

/// One output's controller. Rates in byte/s, times in s.
struct XcpRouter {
    capacity: f64,
    interval_end: f64,
    interval: f64,
    bytes: f64,
    sum_x: f64,
    sum_rtt_x: f64,
    residue_positive: f64,
    residue_negative: f64,
    positive_per_x: f64,
    negative_per_byte: f64,
    smallest_queue: f64,
}

impl XcpRouter {
    fn new(rate: Rate) -> Self {
        Self {
            capacity: rate.bps() as f64 / 8.0,
            interval_end: 0.1,
            interval: 0.1,
            bytes: 0.0,
            sum_x: 0.0,
            sum_rtt_x: 0.0,
            residue_positive: 0.0,
            residue_negative: 0.0,
            positive_per_x: 0.0,
            negative_per_byte: 0.0,
            smallest_queue: f64::INFINITY,
        }
    }

    fn end_interval(&mut self, now: f64) {
        let mean_rtt = if self.sum_x > 0.0 {
            self.sum_rtt_x / self.sum_x
        } else {
            self.interval
        };
        let load = self.bytes / self.interval;
        let queue = if self.smallest_queue.is_finite() {
            self.smallest_queue
        } else {
            0.0
        };
        let phi = ALPHA * (self.capacity - load) - BETA * queue / mean_rtt;
        let shuffled = (GAMMA * load - phi.abs()).max(0.0);
        self.residue_positive = phi.max(0.0) + shuffled;
        self.residue_negative = (-phi).max(0.0) + shuffled;
        self.positive_per_x = if self.sum_x > 0.0 {
            self.residue_positive / self.sum_x
        } else {
            0.0
        };
        self.negative_per_byte = if self.bytes > 0.0 {
            self.residue_negative / self.bytes
        } else {
            0.0
        };
        self.interval = mean_rtt.max(0.001);
        self.interval_end = now + self.interval;
        (self.bytes, self.sum_x, self.sum_rtt_x) = (0.0, 0.0, 0.0);
        self.smallest_queue = f64::INFINITY;
    }

    fn packet(&mut self, now: Instant, packet: &mut [u8], queue: Bytes) {
        let now = now.since_start().seconds();
        while now >= self.interval_end {
            let end = self.interval_end;
            self.end_interval(end);
        }
        self.smallest_queue = self.smallest_queue.min(queue.get() as f64);
        self.bytes += packet.len() as f64;
        let shim = IP_HEADER..IP_HEADER + xcp::SIZE;
        let mut header = Header::decode(&packet[shim.clone()]).expect("every packet has a shim");
        if header.format != Format::Standard || header.rtt_ns == 0 {
            return;
        }
        let x = f64::from(header.x) / xcp::X_PER_NS as f64 / 1e9;
        self.sum_x += x;
        self.sum_rtt_x += (f64::from(header.rtt_ns) / 1e9).min(1.0) * x;
        let positive = self.residue_positive.min(self.positive_per_x * x);
        let negative = self.residue_negative.min(self.negative_per_byte * packet.len() as f64);
        self.residue_positive -= positive;
        self.residue_negative -= negative;
        let granted = (positive - negative) * xcp::THROUGHPUT_PER_BYTE as f64;
        header.delta_throughput = header.delta_throughput.min(granted.round() as i32);
        packet[shim].copy_from_slice(&header.encode());
    }
}

fn router(rate: Rate) -> (Rc<RefCell<XcpRouter>>, Router) {
    let shared = Rc::new(RefCell::new(XcpRouter::new(rate)));
    let own = Rc::clone(&shared);
    let hook = move |now, packet: &mut [u8], queue| own.borrow_mut().packet(now, packet, queue);
    (shared, Box::new(hook))
}

fn xcp_flow(index: u16, delay: Duration) -> Flow {
    let settings = SenderConfig {
        initial_window_segments: Some(1),
        ..config(index, Algorithm::Xcp)
    };
    flow(settings, |_| {}, None, (delay, delay))
}

/// Goodput of each flow between two times, byte/s.
fn goodputs(network: &mut Network, from: Duration, to: Duration) -> Vec<f64> {
    let acked = |n: &Network| -> Vec<Bytes> { n.flows.iter().map(|f| f.sender.stats().acked).collect() };
    network.run(at(from));
    let before = acked(network);
    network.run(at(to));
    let seconds = (to - from).seconds();
    acked(network)
        .iter()
        .zip(before)
        .map(|(a, b)| (*a - b).get() as f64 / seconds)
        .collect()
}

#[test]
fn flows_of_different_round_trips_converge_to_equal_rates_and_an_empty_queue() {
    let rate = mbps(10);
    let flows = [20, 40, 60, 80, 100].iter().enumerate();
    let flows = flows.map(|(i, ms)| xcp_flow(i as u16, *ms * MS)).collect();
    let mut network = Network::new(flows, rate, 1000);
    let (_, hook) = router(rate);
    network.router = Some(hook);
    network.run(at(15 * SECOND));
    network.largest_queue = 0;
    let rates = goodputs(&mut network, 20 * SECOND, 40 * SECOND);
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    let jain = sum * sum / (rates.len() as f64 * squares);
    // 940 of 1000 bytes of a packet are payload.
    let utilization = sum / 0.94 / (rate.bps() as f64 / 8.0);
    assert!(jain > 0.99, "{jain}: {rates:?}");
    assert!(utilization > 0.97, "{utilization}");
    assert!(network.largest_queue < 15, "{} packets", network.largest_queue);
    assert_eq!(network.queue_drops, 0);
    for flow in &network.flows {
        assert_eq!(flow.sender.stats().retransmissions, 0);
        assert_eq!(flow.receiver.sink().wrong(), Bytes::ZERO);
    }
}

#[test]
fn capacity_that_the_router_knows_of_is_followed_within_seconds_and_without_loss() {
    let flows = (0..4).map(|i| xcp_flow(i, 25 * MS)).collect();
    let mut network = Network::new(flows, mbps(10), 1000);
    let (controller, hook) = router(mbps(10));
    network.router = Some(hook);
    network.run(at(10 * SECOND));
    controller.borrow_mut().capacity = 5_000_000.0 / 8.0;
    let halved: f64 = goodputs(&mut network, 13 * SECOND, 18 * SECOND).iter().sum();
    controller.borrow_mut().capacity = 10_000_000.0 / 8.0;
    let full: f64 = goodputs(&mut network, 21 * SECOND, 26 * SECOND).iter().sum();
    let share = |rate: f64| rate / 0.94 / (10e6 / 8.0);
    assert!((0.48..0.51).contains(&share(halved)), "{}", share(halved));
    assert!(share(full) > 0.97, "{}", share(full));
    assert_eq!(network.queue_drops, 0);
}

#[test]
fn the_window_is_the_fair_rate_times_the_round_trip() {
    let mut network = Network::new(vec![xcp_flow(0, 50 * MS)], mbps(8), 1000);
    let (_, hook) = router(mbps(8));
    network.router = Some(hook);
    network.run(at(20 * SECOND));
    // 1 MB/s for 100 ms and the packet's own 1 ms: 101 packets of 940 bytes of payload.
    let window = network.flows[0].sender.stats().window / Bytes::new(940);
    assert!((99..=104).contains(&window), "{window}");
}

#[test]
fn a_loss_halves_the_window_and_feedback_grows_it_again() {
    let mut flow = xcp_flow(0, 20 * MS);
    flow.drops = [5000].into();
    let mut network = Network::new(vec![flow], mbps(8), 1000);
    let (_, hook) = router(mbps(8));
    network.router = Some(hook);
    network.run(at(4500 * MS));
    let before = network.flows[0].sender.stats();
    while network.flows[0].sender.stats().fast_recoveries == 0 {
        let now = network.now;
        network.run(now + MS);
    }
    let halved = network.flows[0].sender.stats();
    assert!(halved.window <= before.window * 6 / 10, "{halved:?} after {before:?}");
    let now = network.now;
    network.run(now + 3 * SECOND);
    let after = network.flows[0].sender.stats();
    assert!(after.window >= before.window * 9 / 10, "{after:?} after {before:?}");
    assert_eq!((after.retransmissions, after.timeouts), (1, 0));
}

#[test]
fn an_acknowledgment_gives_back_the_sum_of_the_deltas_since_the_last() {
    let mut flow = flow(
        config(0, Algorithm::Xcp),
        |r| r.delayed_ack = Some(100 * MS),
        None,
        (Duration::ZERO, Duration::ZERO),
    );
    let shim = IP_HEADER..IP_HEADER + xcp::SIZE;
    let mut packet = Vec::new();
    let mut given_back = Vec::new();
    let mut deltas = [-3, 1_000_000, i32::MAX, i32::MAX].into_iter();
    while given_back.len() < 3 {
        flow.sender.poll_transmit(at(MS), &mut packet).expect("a greedy sender");
        let mut header = Header::decode(&packet[shim.clone()]).unwrap();
        if header.format == Format::Standard {
            assert_eq!(header.delta_throughput, xcp::LARGEST_DELTA);
            header.delta_throughput = deltas.next().unwrap();
            packet[shim.clone()].copy_from_slice(&header.encode());
        }
        flow.receiver.handle_segment(at(2 * MS), &packet);
        while flow.receiver.poll_transmit(at(2 * MS), &mut packet).is_some() {
            let header = Header::decode(&packet[shim.clone()]).unwrap();
            assert_eq!(header.format, Format::Minimal);
            given_back.push(header.reverse_feedback);
            if given_back.len() == 1 {
                flow.sender.handle_segment(at(3 * MS), &packet);
            }
        }
    }
    assert_eq!(given_back, [0, 999_997, i32::MAX], "SYN, two packets, two packets");
}

#[test]
fn random_loss_corrupts_nothing() {
    let faults = Faults {
        loss: 0.01,
        reorder: 0.02,
        duplicate: 0.01,
    };
    let mut network = Network::new(vec![xcp_flow(0, 10 * MS)], mbps(8), 100).with_faults(faults, 4);
    let (_, hook) = router(mbps(8));
    network.router = Some(hook);
    network.run(at(20 * SECOND));
    let flow = &network.flows[0];
    assert_eq!(flow.receiver.sink().wrong(), Bytes::ZERO);
    assert!(flow.receiver.sink().bytes() > Bytes::new(1_000_000));
}
