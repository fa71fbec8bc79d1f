// SPDX-License-Identifier: Apache-2.0
//! The devices of a fabric as the P4Runtime server sees them.

use slotwise_kinds::{self as kinds, World};
use slotwise_p4::Pipeline;
use slotwise_p4runtime::{DeviceAccess, DeviceCommand, DeviceConfig, Work};
use slotwise_scenario::Device;

struct FabricDevice<'a> {
    fabric: &'a mut World,
    device_id: u64,
}

impl DeviceAccess for FabricDevice<'_> {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.fabric.pipeline_mut(self.device_id)
    }

    fn install(&mut self, pipeline: Pipeline) {
        self.fabric
            .install_pipeline(self.device_id, pipeline)
            .expect("the server has only devices of the network");
    }
}

/// Whether every switch of the fabric's own from which hosts are reached over others has a way to them.
pub fn has_routes(fabric: &mut World) -> bool {
    fabric.devices().all(|device| {
        let Some(table) = routes_of(fabric, device) else {
            return true;
        };
        let pipeline = fabric.pipeline_mut(device.id());
        pipeline.is_some_and(|pipeline| pipeline.table_len(table).unwrap_or(0) > 0)
    })
}

/// The table in which a switch has ways to hosts, if it leads to any.
pub fn routes_of(fabric: &World, device: Device) -> Option<&'static str> {
    let leads_to_hosts = match device.kind().reach_each_other {
        true => fabric.access_ports().next().is_some(),
        false => {
            let ports = fabric
                .of_kind::<kinds::Routed>()
                .map_or(&[][..], |routers| routers.ports(device));
            ports.iter().any(|port| !port.hosts.is_empty())
        }
    };
    device.kind().routes.filter(|_| leads_to_hosts)
}

/// What the server is to serve.
pub fn configs(fabric: &World) -> Vec<DeviceConfig> {
    fabric
        .devices()
        .map(|device| DeviceConfig {
            device_id: device.id(),
            pipeline: fabric.pipeline_config(device),
            // Routes and ways change with them. Edges tell of theirs by their programs.
            tells_ports: !device.kind().is_slotted,
            program: None,
        })
        .collect()
}

/// Does what the server wants done, between two events.
pub fn execute(fabric: &mut World, command: DeviceCommand) {
    let DeviceCommand { device_id, work } = command;
    match work {
        Work::Call(call) => {
            let now = fabric.now();
            // Entries are idle from when they were written.
            if let Some(pipeline) = fabric.pipeline_mut(device_id) {
                pipeline.advance_time(now);
            }
            call.run(&mut FabricDevice { fabric, device_id });
        }
        Work::PacketOut(frame) => {
            let now = fabric.now();
            fabric
                .packet_out(now, device_id, &frame)
                .expect("the server has only devices of the network");
        }
    }
}
