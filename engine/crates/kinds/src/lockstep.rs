// SPDX-License-Identifier: Apache-2.0
//! Virtual time with a controller: the fabric stands still while the controller thinks.
//!
//! Messages take the control latency each way, in fabric time; table writes apply at once
//! (`docs/architecture.md`, "lock step").

use std::collections::VecDeque;

use crate::api::WorldError;
use crate::world::{Ran, World};
use slotwise_cards::packet::Frame;
use slotwise_net::control_event::{ControlEvent, ControlMessage};
use slotwise_net::standstill::Standstill;
use slotwise_units::{Duration, Instant};

/// Number of events after which a run without messages for the controller checks for a stop.
const EVENTS_A_LOOK: usize = 1 << 14;

/// Smallest step of simulated time.
const TICK: Duration = Duration::from_ns(1);

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
    pub next_deadline: Option<Instant>,
}

/// What reaches the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival<N> {
    /// When it left its device.
    pub at: Instant,
    /// P4Runtime device id.
    pub device_id: u64,
    /// What it is.
    pub message: Message<N>,
}

/// A packet-in, or what a device's agent has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<N> {
    /// What left by the CPU port, controller header included.
    Packet(Frame),
    /// A list of digests, idle table entries ...
    Notice(N),
}

/// What the agents of the devices did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served<N> {
    /// For the controller, with the device ids, in order.
    pub notices: Vec<(u64, N)>,
    /// When an agent wants to be served again even if nothing has happened.
    pub next: Option<Instant>,
}

impl<N> Default for Served<N> {
    fn default() -> Served<N> {
        Served {
            notices: Vec::new(),
            next: None,
        }
    }
}

/// A controller in lock step with the fabric, and the agents between it and the devices: they collect digests, watch
/// over idle entries, and take members of action profiles out of use whose ports are down.
pub trait Controller {
    /// Why it cannot answer.
    type Error;
    /// What agents tell the controller.
    type Notice;

    /// Configures the devices of `fabric`, before time starts.
    fn start(&mut self, fabric: &mut World) -> Result<Exchange, Self::Error>;

    /// Lets the agents of the devices handle at `now` what `happened` there: digests and changes of links, no packets.
    fn serve(
        &mut self,
        fabric: &mut World,
        now: Instant,
        happened: Vec<ControlEvent>,
    ) -> Result<Served<Self::Notice>, Self::Error>;

    /// Handles the arrivals of `now` (none at a deadline). Reads and writes of tables go to `fabric`.
    fn exchange(
        &mut self,
        fabric: &mut World,
        now: Instant,
        arrived: Vec<Arrival<Self::Notice>>,
    ) -> Result<Exchange, Self::Error>;

    /// Returns true if the run is to stop at its current time.
    fn is_to_stop(&self) -> bool {
        false
    }
}

/// Why a run in lock step ended early.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError<E> {
    /// The controller failed.
    #[error("controller failed: {0}")]
    Controller(#[source] E),
    /// It sent a packet to a device that the scenario does not have.
    #[error("packet-out rejected: {0}")]
    PacketOut(#[from] WorldError),
    /// Time does not go on in the fabric.
    #[error(transparent)]
    Standstill(#[from] Standstill),
    /// It asked for a deadline that is not in the future, so time would never go on.
    #[error("controller: deadline in the past; expected one after {now}, got {deadline}")]
    PastDeadline {
        /// Simulated time.
        now: Instant,
        /// The deadline.
        deadline: Instant,
    },
}

/// Keeps a fabric and a controller in step.
pub struct Lockstep<C: Controller> {
    controller: C,
    latency: Duration,
    /// On their way to the controller, in order of time.
    under_way: VecDeque<Arrival<C::Notice>>,
    deadline: Option<Instant>,
    /// When agents want to be served.
    agents: Option<Instant>,
    presence: Presence,
}

/// Whether there is a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// There is.
    Present,
    /// It dies in its next turn, after what it does to tables and before it sends anything.
    Dying,
    /// There is none: the fabric goes on alone, and what it has for a controller is lost.
    Absent,
}

impl<C: Controller> Lockstep<C> {
    /// Lets the controller configure the fabric.
    pub fn start(
        mut controller: C,
        fabric: &mut World,
        latency: Duration,
    ) -> Result<Lockstep<C>, LockstepError<C::Error>> {
        let answer = controller.start(fabric).map_err(LockstepError::Controller)?;
        let mut lockstep = Lockstep {
            controller,
            latency,
            under_way: VecDeque::new(),
            deadline: None,
            agents: None,
            presence: Presence::Present,
        };
        lockstep.take(fabric, answer)?;
        Ok(lockstep)
    }

    /// The controller is killed: at once, or (`mid_step`) in its next turn before it sends anything. What is on its way to it is
    /// lost, what it has sent arrives.
    pub fn detach(&mut self, mid_step: bool) {
        if mid_step {
            self.presence = Presence::Dying;
        } else {
            self.presence = Presence::Absent;
            self.under_way.clear();
            self.deadline = None;
        }
    }

    /// A controller is there again: it configures the devices of `fabric`, which stands still meanwhile.
    pub fn attach(&mut self, fabric: &mut World) -> Result<(), LockstepError<C::Error>> {
        self.detach(false);
        let mut answer = self.controller.start(fabric).map_err(LockstepError::Controller)?;
        // It hears the time in its first turn only: what it wants before is due then.
        let soonest = fabric.now() + TICK;
        answer.next_deadline = answer.next_deadline.map(|deadline| deadline.max(soonest));
        self.presence = Presence::Present;
        self.take(fabric, answer)
    }

    /// Runs network and controller up to and including `until`, or to an earlier stop.
    pub fn run_until(&mut self, fabric: &mut World, until: Instant) -> Result<(), LockstepError<C::Error>> {
        while !self.controller.is_to_stop() {
            let due = [
                self.under_way.front().map(|arrival| arrival.at + self.latency),
                self.deadline,
                self.agents,
            ];
            let stop = due.into_iter().flatten().min().map_or(until, |due| due.min(until));
            // What happens at a time comes before what agents and controller hear at that time.
            let ran = fabric.run_events(stop, EVENTS_A_LOOK);
            if let Some(standstill) = fabric.standstill() {
                return Err(standstill.clone().into());
            }
            if ran == Ran::Part {
                continue;
            }
            let is_early = ran == Ran::UntilControl;
            let now = fabric.now();
            self.collect(fabric)?;
            if is_early && !self.latency.is_zero() {
                continue;
            }
            let arrived = self.arrived(now);
            let deadline_is_due = self.deadline.is_some_and(|deadline| deadline <= now);
            if arrived.is_empty() && !deadline_is_due {
                if is_early || now < until {
                    continue;
                }
                return Ok(());
            }
            if deadline_is_due {
                self.deadline = None;
            }
            let answer = self
                .controller
                .exchange(fabric, now, arrived)
                .map_err(LockstepError::Controller)?;
            if self.presence == Presence::Dying {
                self.detach(false);
                self.serve(fabric, Vec::new())?;
            } else {
                self.take(fabric, answer)?;
            }
        }
        Ok(())
    }

    /// Sends off what the devices have for the controller; what is for their agents, these handle at once.
    fn collect(&mut self, fabric: &mut World) -> Result<(), LockstepError<C::Error>> {
        let mut happened = Vec::new();
        while let Some(event) = fabric.poll_control() {
            let ControlEvent { at, device_id, .. } = event;
            match event.message {
                ControlMessage::Packet(frame) => self.under_way.push_back(Arrival {
                    at,
                    device_id,
                    message: Message::Packet(frame),
                }),
                ControlMessage::Digest { .. } | ControlMessage::Link { .. } | ControlMessage::Device { .. } => {
                    happened.push(event);
                }
            }
        }
        if !happened.is_empty() || self.agents.is_some_and(|agents| agents <= fabric.now()) {
            self.serve(fabric, happened)?;
        }
        if self.presence == Presence::Absent {
            self.under_way.clear();
        }
        Ok(())
    }

    fn serve(&mut self, fabric: &mut World, happened: Vec<ControlEvent>) -> Result<(), LockstepError<C::Error>> {
        let at = fabric.now();
        let served = self.controller.serve(fabric, at, happened);
        let Served { notices, next } = served.map_err(LockstepError::Controller)?;
        // Never at the same time again: time goes on whatever an agent says.
        self.agents = next.map(|next| next.max(at + TICK));
        self.under_way
            .extend(notices.into_iter().map(|(device_id, notice)| Arrival {
                at,
                device_id,
                message: Message::Notice(notice),
            }));
        Ok(())
    }

    /// Removes and returns the messages that reached the controller by `now`.
    fn arrived(&mut self, now: Instant) -> Vec<Arrival<C::Notice>> {
        let is_due = |arrival: &Arrival<C::Notice>| arrival.at + self.latency <= now;
        let count = self.under_way.iter().take_while(|arrival| is_due(arrival)).count();
        self.under_way.drain(..count).collect()
    }

    fn take(&mut self, fabric: &mut World, answer: Exchange) -> Result<(), LockstepError<C::Error>> {
        let now = fabric.now();
        for packet_out in answer.packet_outs {
            fabric.packet_out(now + self.latency, packet_out.device_id, &packet_out.frame)?;
        }
        if let Some(deadline) = answer.next_deadline.filter(|deadline| *deadline <= now) {
            return Err(LockstepError::PastDeadline { now, deadline });
        }
        self.deadline = answer.next_deadline;
        // What the controller wrote may have set timers.
        self.serve(fabric, Vec::new())
    }

    /// Gives the controller, if it is there, a turn now even if nothing has happened: it was told something in another way.
    pub fn call_now(&mut self, fabric: &World) {
        if self.presence != Presence::Absent {
            self.deadline = Some(fabric.now());
        }
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// The controller, for what it does between turns.
    pub fn controller_mut(&mut self) -> &mut C {
        &mut self.controller
    }
}
