// SPDX-License-Identifier: Apache-2.0
//! Faults begin and end.

use slotwise_scenario::{Device, FaultKind};

use super::FaultRecord;
use crate::api::ControlMessage;
use crate::net::pump::Step;
use crate::world::Fabric;

impl Fabric {
    /// All faults of the run, those to come included; without simulated hosts there are none.
    pub fn faults(&self) -> &[FaultRecord] {
        &self.faults.records
    }

    pub(crate) fn fault_begins(&mut self, index: usize) {
        let record = &self.faults.records[index];
        let (kind, span) = (record.kind, record.span);
        let fibre = record.edge().zip(record.core());
        let device = record.devices.first().copied();
        let happened = match kind {
            FaultKind::Restart(_) => device.is_some_and(|device| self.device_down(device)),
            FaultKind::LinkCut => match span {
                Some(span) => self.cut_span(span, true),
                None => fibre.is_some_and(|fibre| self.cut_link(fibre, true)),
            },
            FaultKind::Messages { .. } => {
                self.faults.treatments.push(index);
                true
            }
            // The first is done by who runs the controller, the second when it ends, which is now.
            FaultKind::ControllerRestart | FaultKind::ClockStep { .. } => true,
        };
        self.faults.records[index].happened = happened;
    }

    pub(crate) fn fault_ends(&mut self, index: usize) {
        let record = &self.faults.records[index];
        if !record.happened {
            return;
        }
        let (kind, span, step_ns) = (record.kind, record.span, record.step_ns);
        let (edge, fibre) = (record.edge(), record.edge().zip(record.core()));
        let device = record.devices.first().copied();
        let is_beside_stars = record.beside_stars().next().is_some();
        match kind {
            FaultKind::Restart(_) => device.into_iter().for_each(|device| self.device_up(device)),
            FaultKind::LinkCut => {
                match span {
                    Some(span) => self.cut_span(span, false),
                    None => fibre.is_some_and(|fibre| self.cut_link(fibre, false)),
                };
            }
            FaultKind::Messages { .. } => self.faults.treatments.retain(|treatment| *treatment != index),
            FaultKind::ClockStep { .. } => edge.into_iter().for_each(|edge| self.step_clocks(edge, step_ns)),
            FaultKind::ControllerRestart => {}
        }
        if is_beside_stars || self.star.get().is_none() {
            self.watch_flows(index);
        } else {
            self.watch(index);
        }
    }

    /// A switch stops: its program, tables and queues are gone. False if it was down already.
    fn device_down(&mut self, device: Device) -> bool {
        if self.pipeline_slot(device).is_none() {
            return false;
        }
        let stops = self.nodes[self.node(device)].kind.stops;
        stops(self, device);
        self.go_on(Step::DeviceDown { device });
        true
    }

    pub(crate) fn remove_program(&mut self, device: Device) {
        *self.pipeline_slot(device) = None;
        self.tell(device, ControlMessage::Device { is_up: false });
    }

    fn device_up(&mut self, device: Device) {
        self.tell(device, ControlMessage::Device { is_up: true });
    }
}
