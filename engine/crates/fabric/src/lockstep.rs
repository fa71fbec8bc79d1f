// SPDX-License-Identifier: Apache-2.0
//! Virtual time with a controller: the fabric stands still while the controller thinks.
//!
//! Messages take the control latency each way, in fabric time; table writes apply at once
//! (`docs/architecture.md`, "lock step").

use std::collections::VecDeque;

use crate::api::{ControlEvent, FabricError};
use crate::fabric::Fabric;

/// A packet-out of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketOut {
    /// P4Runtime device id.
    pub device_id: u64,
    /// The frame with its controller header.
    pub frame: Vec<u8>,
}

/// The controller's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What it sends, in order.
    pub packet_outs: Vec<PacketOut>,
    /// When it wants to be asked again even if nothing has happened.
    pub next_deadline_ns: Option<u64>,
}

/// A controller in lock step with the fabric.
pub trait Controller {
    /// Why it cannot answer.
    type Error;

    /// Configures the devices of `fabric`, before time starts.
    fn start(&mut self, fabric: &mut Fabric) -> Result<Exchange, Self::Error>;

    /// Handles what has arrived at `now_ns` (nothing, at a deadline). Reads and writes of tables go to `fabric`.
    fn exchange(
        &mut self,
        fabric: &mut Fabric,
        now_ns: u64,
        arrived: Vec<ControlEvent>,
    ) -> Result<Exchange, Self::Error>;
}

/// Why a run in lock step ended early.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError<E> {
    /// The controller failed.
    #[error("the controller failed: {0}")]
    Controller(#[source] E),
    /// It sent a packet to a device that the scenario does not have.
    #[error("packet-out refused: {0}")]
    PacketOut(#[from] FabricError),
    /// It asked for a deadline that is not in the future, so time would never go on.
    #[error("the controller asked at {now_ns} ns for a deadline at {deadline_ns} ns; expected a later one")]
    PastDeadline {
        /// Fabric time.
        now_ns: u64,
        /// The deadline.
        deadline_ns: u64,
    },
}

/// Keeps a fabric and a controller in step.
pub struct Lockstep<C> {
    controller: C,
    latency_ns: u64,
    /// On their way to the controller, in order of time.
    under_way: VecDeque<ControlEvent>,
    deadline_ns: Option<u64>,
}

impl<C: Controller> Lockstep<C> {
    /// Lets the controller configure the fabric.
    pub fn start(
        mut controller: C,
        fabric: &mut Fabric,
        latency_ns: u64,
    ) -> Result<Lockstep<C>, LockstepError<C::Error>> {
        let answer = controller.start(fabric).map_err(LockstepError::Controller)?;
        let mut lockstep = Lockstep {
            controller,
            latency_ns,
            under_way: VecDeque::new(),
            deadline_ns: None,
        };
        lockstep.take(fabric, answer)?;
        Ok(lockstep)
    }

    /// Runs both up to and at `until_ns`.
    pub fn run_until(&mut self, fabric: &mut Fabric, until_ns: u64) -> Result<(), LockstepError<C::Error>> {
        loop {
            let due_ns = [
                self.under_way.front().map(|event| event.at_ns + self.latency_ns),
                self.deadline_ns,
            ];
            let stop_ns = due_ns
                .into_iter()
                .flatten()
                .min()
                .map_or(until_ns, |due_ns| due_ns.min(until_ns));
            // What happens at a time comes before what the controller hears at that time.
            if fabric.run_until_control(stop_ns) {
                self.under_way.extend(std::iter::from_fn(|| fabric.poll_control()));
                if self.latency_ns > 0 {
                    continue;
                }
            }
            let now_ns = fabric.now();
            let arrived = self.arrived(now_ns);
            let deadline_is_due = self.deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns);
            if arrived.is_empty() && !deadline_is_due {
                return Ok(());
            }
            if deadline_is_due {
                self.deadline_ns = None;
            }
            let answer = self
                .controller
                .exchange(fabric, now_ns, arrived)
                .map_err(LockstepError::Controller)?;
            self.take(fabric, answer)?;
        }
    }

    /// Takes the messages that have reached the controller by `now_ns`.
    fn arrived(&mut self, now_ns: u64) -> Vec<ControlEvent> {
        let is_due = |event: &ControlEvent| event.at_ns + self.latency_ns <= now_ns;
        let count = self.under_way.iter().take_while(|event| is_due(event)).count();
        self.under_way.drain(..count).collect()
    }

    fn take(&mut self, fabric: &mut Fabric, answer: Exchange) -> Result<(), LockstepError<C::Error>> {
        let now_ns = fabric.now();
        for packet_out in answer.packet_outs {
            fabric.packet_out(now_ns + self.latency_ns, packet_out.device_id, &packet_out.frame)?;
        }
        if let Some(deadline_ns) = answer.next_deadline_ns.filter(|deadline_ns| *deadline_ns <= now_ns) {
            return Err(LockstepError::PastDeadline { now_ns, deadline_ns });
        }
        self.deadline_ns = answer.next_deadline_ns;
        Ok(())
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }
}
