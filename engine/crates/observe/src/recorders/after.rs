// SPDX-License-Identifier: Apache-2.0
//! How fair a ring is after each fault, when it is well again.

use slotwise_kinds::{FaultRecord, World};
use slotwise_units::Duration;

use super::ring::whole_since;
use super::shares::{Fairness, Shares};

/// How often it is looked whether a ring is well again: as often as the network looks itself.
const LOOK_NS: u64 = 1_000_000;
/// What rates are over: so long, or until something else happens, but not less than that.
const WINDOW_NS: u64 = 100_000_000;
const LEAST_WINDOW_NS: u64 = 20_000_000;

/// How fair a ring was after a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AfterFault {
    /// The fault, by its place among those of the fabric.
    pub fault: usize,
    /// What rates are over, from when the network was well again.
    pub window: Duration,
    /// Of what the pairs of stations had then.
    pub fairness: Fairness,
}

/// Rates are measured.
struct Window {
    faults: Vec<usize>,
    start_ns: u64,
    end_ns: u64,
    before: Vec<u64>,
}

/// Watches over the faults of a run.
pub(crate) struct AfterFaults {
    next_ns: Option<u64>,
    run_end_ns: u64,
    /// Whether it is known that the network is well again after a fault.
    seen: Vec<bool>,
    window: Option<Window>,
    found: Vec<AfterFault>,
}

impl AfterFaults {
    /// Of those that `network` has, which is at time 0.
    pub(crate) fn new(network: &World, run_end_ns: u64) -> AfterFaults {
        let ends = network.faults().iter().map(|fault| fault.end.ns());
        AfterFaults {
            next_ns: ends.min().map(|end_ns| end_ns + LOOK_NS),
            run_end_ns,
            seen: vec![false; network.faults().len()],
            window: None,
            found: Vec::new(),
        }
    }

    /// When something is to be looked at.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.next_ns.filter(|next_ns| *next_ns <= self.run_end_ns)
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> &[AfterFault] {
        &self.found
    }

    /// Looks, if it is time to.
    pub(crate) fn look(&mut self, network: &World, shares: &mut Shares) {
        let now_ns = network.now().ns();
        if self.next_ns.is_none_or(|next_ns| now_ns < next_ns) {
            return;
        }
        if let Some(window) = self.window.take_if(|window| window.end_ns <= now_ns) {
            self.close(window, network, shares);
        }
        let mut well = Vec::new();
        for (index, fault) in network.faults().iter().enumerate() {
            if !self.seen[index] && fault.recovered.is_some() {
                self.seen[index] = true;
                well.push(index);
            }
        }
        if !well.is_empty() && self.window.is_none() {
            self.window = window(network, shares, well);
        }
        let end_ns = self.window.as_ref().map_or(u64::MAX, |window| window.end_ns);
        self.next_ns = Some(end_ns.min(now_ns + LOOK_NS));
    }

    fn close(&mut self, window: Window, network: &World, shares: &mut Shares) {
        let Window {
            faults,
            start_ns,
            end_ns,
            before,
        } = window;
        if whole_since(network).is_none_or(|since_ns| since_ns > start_ns) {
            return;
        }
        let seconds = (end_ns - start_ns) as f64 / 1e9;
        let bytes = shares.delivered_bytes(network).into_iter().zip(before);
        let rates: Vec<f64> = bytes
            .map(|(now, before)| (now - before) as f64 * 8.0 / seconds)
            .collect();
        if let Some(fairness) = Fairness::of(&rates, shares.wanted(start_ns)) {
            let window = Duration::from_ns(end_ns - start_ns);
            self.found.extend(faults.into_iter().map(|fault| AfterFault {
                fault,
                window,
                fairness,
            }));
        }
    }
}

/// The window that begins now, after these faults, if there is time enough for one before something else happens.
fn window(network: &World, shares: &Shares, faults: Vec<usize>) -> Option<Window> {
    let start_ns = network.now().ns();
    let is_under_way =
        |fault: &FaultRecord| fault.start.ns() <= start_ns && fault.happened && fault.recovered.is_none();
    if !shares.is_known || whole_since(network).is_none() || network.faults().iter().any(is_under_way) {
        return None;
    }
    let next_faults = network.faults().iter().map(|fault| fault.start.ns());
    let next_fault_ns = next_faults.filter(|at_ns| *at_ns > start_ns).min();
    let next_ns = next_fault_ns.into_iter().chain(shares.next_change_ns(start_ns)).min();
    // What begins then is not looked at.
    let end_ns = next_ns
        .map_or(u64::MAX, |next_ns| next_ns - 1)
        .min(start_ns + WINDOW_NS);
    (end_ns - start_ns >= LEAST_WINDOW_NS).then(|| Window {
        faults,
        start_ns,
        end_ns,
        before: shares.delivered_bytes(network),
    })
}
