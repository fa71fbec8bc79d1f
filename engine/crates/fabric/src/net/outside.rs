// SPDX-License-Identifier: Apache-2.0
//! P4 switches that run outside of the fabric, as processes: it gives them what arrives at their ports and takes what leaves.
//!
//! ```text
//! poll_switch_input ──> the process ──> switch_output          set_switches_running, settle_switches, set_p4_drops
//! ```
//!
//! Such a switch answers late. Light does not wait for it: it passes the core when it gets there, by fabric time, and the answer
//! only tells by which output it went. So slots, guards and collisions are judged as with the fabric's own switches, and at the far
//! end light arrives at its own time unless the answer came later still. An optical packet switch reckons by its own time when it reserves
//! outputs; a card that then has no room for what it sends loses that.

use std::collections::{BTreeMap, VecDeque};

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{Label, Optical};

use crate::api::{FabricError, P4Drop};
use crate::drops::{DropCause, Place};
use crate::net::kind::KINDS;
use crate::net::parcel::Parcel;
use crate::world::Fabric;
use slotwise_cards::message;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

/// Light that a core's switch has not sent on in this time is lost; of other packets nobody waits for more.
const ANSWER_LIMIT_NS: u64 = 1_000_000_000;

/// A frame for a switch outside of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchInput {
    /// P4Runtime device id of the switch.
    pub device_id: u64,
    /// The port at which it arrives.
    pub port: Port,
    /// Names what comes by a fibre or a link, and ticks, so that what the switch makes of them can be told; 0 for anything else.
    pub id: u64,
    /// The frame.
    pub frame: Frame,
}

/// Light, a tick, or what came by a link.
pub(crate) struct Crossing {
    pub(crate) device: Device,
    pub(crate) arrived_ns: u64,
    pub(crate) origin: Origin,
    pub(crate) optical: Option<Optical>,
    /// Of a train.
    pub(crate) label: Option<Label>,
}

impl Crossing {
    /// Whether the time that its switch takes counts as an answer's: of light, and of what comes to a router or station.
    fn is_waited_for(&self) -> bool {
        match self.origin {
            Origin::Light { .. } | Origin::Fibre { .. } => true,
            Origin::Lane { .. } => !self.device.kind().is_slotted,
            Origin::Tick { .. } | Origin::Local => false,
        }
    }
}

/// What the fabric knows of its switches when they are outside.
#[derive(Default)]
pub(crate) struct External {
    pub(crate) running: bool,
    last_id: u64,
    inputs: VecDeque<SwitchInput>,
    /// By number, which is the order of arrival.
    crossings: BTreeMap<u64, Crossing>,
    pub(crate) drops: BTreeMap<u64, Vec<P4Drop>>,
}

impl External {
    pub(crate) fn give(&mut self, now_ns: u64, device: Device, port: Port, frame: Frame, origin: Origin) {
        let mut id = 0;
        // What comes out was born when what went in was.
        if !matches!(origin, Origin::Local) {
            self.last_id += 1;
            id = self.last_id;
            let crossing = Crossing {
                device,
                arrived_ns: now_ns,
                origin,
                optical: message::optical(&frame),
                label: message::label(&frame),
            };
            self.crossings.insert(id, crossing);
        }
        self.inputs.push_back(SwitchInput {
            device_id: device.id(),
            port,
            id,
            frame,
        });
    }

    /// What it was, if it is in that switch; then it is no longer.
    pub(crate) fn take_origin(&mut self, device: Device, id: u64) -> Origin {
        match self.crossings.get(&id) {
            Some(crossing) if crossing.device == device => {
                let origin = crossing.origin;
                self.crossings.remove(&id);
                origin
            }
            _ => Origin::Local,
        }
    }

    fn take_overdue(&mut self, now_ns: u64) -> Option<Crossing> {
        let oldest = self.crossings.first_entry()?;
        (oldest.get().arrived_ns + ANSWER_LIMIT_NS <= now_ns).then(|| oldest.remove())
    }
}

impl Fabric {
    /// The same fabric with all switches outside, and without the checks that cannot be made of those. They get nothing until [`Fabric::set_switches_running`].
    #[must_use]
    pub fn with_external_switches(mut self) -> Fabric {
        self.external = Some(External::default());
        let inside = KINDS.iter().flat_map(|kind| kind.checks_inside);
        inside.for_each(|check| self.invariants.leave_out(*check));
        self.nodes.iter_mut().for_each(|node| node.own_card.set_outside());
        self
    }

    /// Whether the switches outside take frames. What arrives at them while they do not is dropped.
    pub fn set_switches_running(&mut self, running: bool) {
        if let Some(external) = &mut self.external {
            external.running = running;
        }
    }

    /// The next frame for a switch outside, in order of time over all of them.
    pub fn poll_switch_input(&mut self) -> Option<SwitchInput> {
        self.external.as_mut()?.inputs.pop_front()
    }

    /// A frame has left a switch outside at `at_ns`, or now if that is past; `id` as in the input that it was, or 0. For light, and from a
    /// router or station, it returns how long the switch had it, ns. What it made of a tick too late for the slot is dropped: the gate that opens next leads
    /// to another edge.
    ///
    /// # Errors
    /// [`FabricError::UnknownDevice`].
    pub fn switch_output(
        &mut self,
        at_ns: u64,
        device_id: u64,
        port: Port,
        id: u64,
        frame: &[u8],
    ) -> Result<Option<u64>, FabricError> {
        let device = self.device(device_id)?;
        let at_ns = at_ns.max(self.now_ns);
        let frame = self.out.frames.copy_of(frame);
        self.dispatch_parcel(
            at_ns,
            Parcel::FromSwitch {
                device,
                port,
                id,
                frame,
            },
        );
        let crossing = self.external.as_ref().and_then(|external| external.crossings.get(&id));
        Ok(crossing
            .filter(|crossing| crossing.device == device && crossing.is_waited_for())
            .map(|crossing| at_ns - crossing.arrived_ns))
    }

    /// The switches outside have put out all that they will: light that is still in a core is lost.
    pub fn settle_switches(&mut self) {
        self.lose_overdue_light(u64::MAX);
    }

    /// What a switch outside has counted in `drops`, for [`Fabric::p4_drops`].
    pub fn set_p4_drops(&mut self, device: Device, drops: Vec<P4Drop>) {
        if let Some(external) = &mut self.external {
            external.drops.insert(device.id(), drops);
        }
    }

    /// Whether a device has a program and takes frames.
    pub(crate) fn runs(&self, device: Device) -> bool {
        match &self.external {
            Some(external) => external.running,
            None => self.nodes[self.node(device)].pipeline.is_some(),
        }
    }

    /// Gives up what no switch has sent on by `now_ns`.
    pub(crate) fn lose_overdue_light(&mut self, now_ns: u64) {
        while let Some(crossing) = self
            .external
            .as_mut()
            .and_then(|external| external.take_overdue(now_ns))
        {
            let overdue = self.nodes[self.node(crossing.device)].kind.overdue;
            overdue(self, &crossing);
        }
    }

    pub(crate) fn give_external(&mut self, device: Device, port: Port, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        if !device.kind().is_slotted {
            // A packet that it drops is never heard of again.
            self.lose_overdue_light(now_ns);
        }
        match &mut self.external {
            Some(external) if external.running => external.give(now_ns, device, port, frame, origin),
            _ => self.drop(Place::Device(device), DropCause::NoPipeline, frame),
        }
    }
}
