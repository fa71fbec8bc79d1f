// SPDX-License-Identifier: Apache-2.0
//! P4 switches that run as external processes: the network passes arriving packets to them and accepts their output.
//!
//! ```text
//! poll_switch_input ──> the process ──> switch_output          set_switches_running, settle_switches, set_p4_drops
//! ```
//!
//! Such a switch answers late. Light does not wait for the answer: it passes the core at its network time, and the answer only
//! determines the output. So slots, guards and collisions are judged as with the network's own switches, and at the far
//! end light arrives at its own time unless the answer came later still. An optical packet switch reckons by its own time when it reserves
//! outputs; a card that then has no room for what it sends loses that.

use std::collections::{BTreeMap, VecDeque};

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Duration, Instant};
use slotwise_wire::{Label, Optical};

use crate::drops::P4Drop;
use slotwise_cards::message;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

/// Light that a core's switch has not sent on in this time is lost; of other packets nobody waits for more.
const ANSWER_LIMIT: Duration = Duration::from_s(1);

/// A frame for an external switch.
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
pub struct Crossing {
    /// The switch.
    pub device: Device,
    /// Time of arrival at the switch.
    pub arrived: Instant,
    /// Path of its arrival.
    pub origin: Origin,
    /// Its optical header, if it has one.
    pub optical: Option<Optical>,
    /// Of a train.
    pub label: Option<Label>,
}

impl Crossing {
    /// Whether the time that its switch takes counts as an answer's: of light, and of what comes to a router or station.
    pub(super) fn is_waited_for(&self) -> bool {
        match self.origin {
            Origin::Light { .. } | Origin::Fibre { .. } => true,
            Origin::Lane { .. } => !self.device.kind().is_slotted,
            Origin::Tick { .. } | Origin::Local => false,
        }
    }
}

/// Switches outside, and packets in them.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) running: bool,
    last_id: u64,
    inputs: VecDeque<SwitchInput>,
    /// By number, which is the order of arrival.
    crossings: BTreeMap<u64, Crossing>,
    pub(crate) drops: BTreeMap<u64, Vec<P4Drop>>,
}

impl Outside {
    pub(crate) fn give(&mut self, now: Instant, device: Device, port: Port, frame: Frame, origin: Origin) {
        let mut id = 0;
        // What comes out was born when what went in was.
        if !matches!(origin, Origin::Local) {
            self.last_id += 1;
            id = self.last_id;
            let crossing = Crossing {
                device,
                arrived: now,
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

    /// The next frame for a switch.
    pub(super) fn poll_input(&mut self) -> Option<SwitchInput> {
        self.inputs.pop_front()
    }

    /// Packet in a switch, by its number.
    pub(super) fn crossing(&self, id: u64) -> Option<&Crossing> {
        self.crossings.get(&id)
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

    pub(super) fn take_overdue(&mut self, now: Instant) -> Option<Crossing> {
        let oldest = self.crossings.first_entry()?;
        (oldest.get().arrived + ANSWER_LIMIT <= now).then(|| oldest.remove())
    }
}
