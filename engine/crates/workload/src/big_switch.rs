// SPDX-License-Identifier: Apache-2.0
//! An ideal network: one switch. Only the hosts' links bound the flows, which share them max-min fairly as a fluid.

use slotwise_lambda::{Network, Session, max_min};
use slotwise_units::{Duration, Instant, Rate};

use crate::completion::Completions;
use crate::flow::{Flow, Workload};

/// Precision of times, ns.
const PRECISION: f64 = 1e-3;

/// A flow in progress.
struct Active {
    flow: Flow,
    /// Bytes that have not arrived.
    left: f64,
    /// Bytes per ns.
    rate: f64,
}

/// The ideal switch. There are no delays, packets or handshakes.
pub struct BigSwitch {
    capacities: Vec<f64>,
    rate: Rate,
    active: Vec<Active>,
    now: f64,
}

impl BigSwitch {
    /// Makes a switch with links of a rate, above 0, to and from each host.
    pub fn new(hosts: u32, rate: Rate) -> BigSwitch {
        BigSwitch {
            capacities: vec![rate.bps() as f64 / 8e9; 2 * hosts as usize],
            rate,
            active: Vec::new(),
            now: 0.0,
        }
    }

    /// Carries the flows of a workload until the last one has arrived or until `end`, and gives each flow to `see` at its start.
    pub fn run(&mut self, workload: &mut dyn Workload, end: Instant, mut see: impl FnMut(&Flow)) -> Completions {
        let mut completions = Completions::default();
        loop {
            let start = workload.next_start();
            let completion = self.next_completion();
            let starts_first = start.is_some_and(|start| start.ns() as f64 <= completion);
            let next = start
                .filter(|_| starts_first)
                .map_or(completion, |start| start.ns() as f64);
            if next >= end.ns() as f64 {
                return completions;
            }
            self.advance(next);
            if starts_first {
                while let Some(flow) = workload
                    .next_start()
                    .filter(|next| Some(*next) == start)
                    .and_then(|_| workload.next_flow())
                {
                    see(&flow);
                    completions.started(&flow);
                    let left = flow.size.get() as f64;
                    self.active.push(Active { flow, left, rate: 0.0 });
                }
            } else {
                self.complete(workload, &mut completions);
            }
            self.share();
        }
    }

    /// Returns the time of the next completion, infinite without flows.
    fn next_completion(&self) -> f64 {
        let times = self.active.iter().map(|active| self.now + active.left / active.rate);
        times.fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, time: f64) {
        let elapsed = time - self.now;
        for active in &mut self.active {
            active.left -= active.rate * elapsed;
        }
        self.now = time;
    }

    /// Takes out the flows that have nothing left, but for the precision of the time.
    fn complete(&mut self, workload: &mut dyn Workload, completions: &mut Completions) {
        let end = Instant::from_ns((self.now - PRECISION).ceil() as u64);
        let now = self.now;
        let done = self
            .active
            .extract_if(.., |active| now + active.left / active.rate <= now + PRECISION);
        for Active { flow, .. } in done {
            let time = end.saturating_since(flow.start).max(Duration::from_ns(1));
            completions.completed(&flow, end, (time, self.rate.time(flow.size)));
            workload.completed(end, &flow);
        }
    }

    fn share(&mut self) {
        let hosts = self.capacities.len() / 2;
        let session = |active: &Active| {
            Session::between(
                active.flow.source.0 as usize,
                hosts + active.flow.destination.0 as usize,
            )
        };
        let sessions = self.active.iter().map(session).collect();
        let network =
            Network::new(self.capacities.clone(), sessions).expect("hosts of the workload are those of the switch");
        for (active, rate) in self.active.iter_mut().zip(max_min(&network).rates) {
            active.rate = rate;
        }
    }
}
