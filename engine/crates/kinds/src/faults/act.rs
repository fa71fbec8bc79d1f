// SPDX-License-Identifier: Apache-2.0
//! Faults begin and end.

use slotwise_scenario::{Device, FaultKind};

use crate::world::World;
use slotwise_net::control_event::ControlMessage;
use slotwise_net::effects::Effects;
use slotwise_net::event::{By, Event};
use slotwise_net::fault::FaultRecord;
use slotwise_net::work::Step;

impl World {
    /// All faults of the run, those to come included; without simulated hosts there are none.
    pub fn faults(&self) -> &[FaultRecord] {
        &self.net.journal.faults
    }

    pub(crate) fn schedule_faults(&mut self) {
        for index in 0..self.net.journal.faults.len() {
            let fault = &self.net.journal.faults[index];
            let (start, end) = (fault.start, fault.end);
            self.net.schedule(By::WORLD, start, Event::FaultBegins(index as u32));
            self.net.schedule(By::WORLD, end, Event::FaultEnds(index as u32));
        }
    }

    pub(crate) fn fault_begins(&mut self, index: usize) {
        let record = &self.net.journal.faults[index];
        let kind = record.kind;
        let device = record.devices.first().copied();
        let happened = match kind {
            FaultKind::Restart(_) => device.is_some_and(|device| self.device_down(device)),
            FaultKind::LinkDown => self.cut(index, true),
            FaultKind::Messages { .. } => {
                self.net.set_treatment(index, true);
                true
            }
            // The first is done by who runs the controller, the second when it ends, which is now.
            FaultKind::ControllerRestart | FaultKind::ClockStep { .. } => true,
        };
        self.net.journal.faults[index].happened = happened;
    }

    pub(crate) fn fault_ends(&mut self, index: usize) {
        let record = &self.net.journal.faults[index];
        if !record.happened {
            return;
        }
        let (kind, step) = (record.kind, record.step);
        let device = record.devices.first().copied();
        match kind {
            FaultKind::Restart(_) => device.into_iter().for_each(|device| self.device_up(device)),
            FaultKind::LinkDown => {
                self.cut(index, false);
            }
            FaultKind::Messages { .. } => self.net.set_treatment(index, false),
            FaultKind::ClockStep { .. } => {
                let fx = &mut Effects::on(&mut self.net);
                if let Some(device) = device {
                    self.kinds.step_clocks(fx, device, step);
                }
            }
            FaultKind::ControllerRestart => {}
        }
        if !self.kinds.watches(&mut Effects::on(&mut self.net), index) {
            self.watch_flows(index);
        }
    }

    /// Cuts the link of a fault, or restores it. False if nothing changes.
    fn cut(&mut self, index: usize, is_cut: bool) -> bool {
        let record = &self.net.journal.faults[index];
        let fibres = record.edge().zip(record.core());
        match (record.span, fibres) {
            (Some(span), _) => self.net.cut_span(&mut self.kinds, span, is_cut),
            (None, Some(ends)) => {
                let fx = &mut Effects::on(&mut self.net);
                self.kinds.cut_fibres(fx, ends, is_cut)
            }
            (None, None) => false,
        }
    }

    /// A switch stops: its program, tables and queues are gone. False if it was down already.
    fn device_down(&mut self, device: Device) -> bool {
        if self.net.pipeline_slot(device).is_none() {
            return false;
        }
        self.kinds.stops(&mut Effects::on(&mut self.net), device);
        self.net.go_on(&mut self.kinds, Step::DeviceDown { device });
        true
    }

    fn device_up(&mut self, device: Device) {
        self.net.tell(device, ControlMessage::Device { is_up: true });
    }
}
