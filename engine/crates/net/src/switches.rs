// SPDX-License-Identifier: Apache-2.0
//! Exchange of packets with switches outside.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Duration, Instant};

use crate::Net;
use crate::around::Around;
use crate::drops::P4Drop;
use crate::drops::{DropCause, Place};
use crate::effects::Effects;
use crate::event::By;
use crate::outside::{Outside, SwitchInput};
use crate::parcel::Parcel;
use slotwise_cards::packet::{Frame, Origin};

impl Net {
    /// All switches are outside from now on. They get nothing until [`Net::set_switches_running`].
    pub fn put_switches_outside(&mut self) {
        self.nodes.outside = Some(Outside::default());
        self.nodes.iter_mut().for_each(|node| node.own_card.set_outside());
    }

    /// Sets whether external switches accept frames.
    pub fn set_switches_running(&mut self, running: bool) {
        if let Some(outside) = &mut self.nodes.outside {
            outside.running = running;
        }
    }

    /// Returns the next frame for an external switch, ordered by time over all switches.
    pub fn poll_switch_input(&mut self) -> Option<SwitchInput> {
        self.nodes.outside.as_mut()?.poll_input()
    }

    /// A frame has left a switch outside. Returns how long the switch had it, if that is to be known.
    pub fn switch_output(
        &mut self,
        at: Instant,
        (device, port): (Device, Port),
        id: u64,
        frame: &[u8],
    ) -> Option<Duration> {
        let at = at.max(self.now());
        let frame = self.out.frames.copy_of(frame);
        self.dispatch_parcel(
            By::WORLD,
            at,
            Parcel::FromSwitch {
                device,
                port,
                id,
                frame,
            },
        );
        let crossing = self.nodes.outside.as_ref()?.crossing(id)?;
        let is_waited_for = crossing.device == device && crossing.is_waited_for();
        is_waited_for.then(|| at - crossing.arrived)
    }

    /// Sets the drops counted by the program of an external switch.
    pub fn set_p4_drops(&mut self, device: Device, drops: Vec<P4Drop>) {
        if let Some(outside) = &mut self.nodes.outside {
            outside.drops.insert(device.id(), drops);
        }
    }

    /// Drops frames that no external switch has forwarded by a time.
    pub fn lose_overdue<A: Around>(&mut self, around: &mut A, now: Instant) {
        while let Some(crossing) = self
            .nodes
            .outside
            .as_mut()
            .and_then(|outside| outside.take_overdue(now))
        {
            around.overdue(&mut Effects::on(self), &crossing);
        }
    }

    pub(super) fn give_outside<A: Around>(
        &mut self,
        around: &mut A,
        device: Device,
        port: Port,
        frame: Frame,
        origin: Origin,
    ) {
        let now = self.now();
        if !device.kind().is_slotted {
            // A packet that it drops is never heard of again.
            self.lose_overdue(around, now);
        }
        match &mut self.nodes.outside {
            Some(outside) if outside.running => outside.give(now, device, port, frame, origin),
            _ => self.drop(Place::Device(device), DropCause::NoPipeline, frame),
        }
    }
}
