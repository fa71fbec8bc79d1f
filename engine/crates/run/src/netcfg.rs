// SPDX-License-Identifier: Apache-2.0
//! What ONOS is told of a scenario's network (docs/onos.md): where its switches are, and what they are for.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Map, Value, json};
use slotwise_kinds::World;

use crate::bmv2::PORTS_A_SWITCH;
use crate::emulate::Target;

/// ONOS's network configuration for the switches of `emulate --external-controller`, whose ports on loopback count from `first_port`;
/// `network` is what a controller is told (schema/network.schema.json).
pub fn of(fabric: &World, network: &Value, target: Target, first_port: u16) -> Value {
    // Of more devices than there are ports a run is refused.
    let port_of = |place: usize| match target {
        Target::Engine => first_port,
        Target::Bmv2 => {
            u16::try_from(place * PORTS_A_SWITCH).map_or(u16::MAX, |later| first_port.saturating_add(later))
        }
    };
    let devices = fabric.devices().enumerate().map(|(place, device)| {
        let id = device.id();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port_of(place)));
        let basic = json!({
            "managementAddress": format!("grpc://{address}?device_id={id}"),
            "driver": "slotwise",
            "pipeconf": format!("org.slotwise.{}", device.kind().program),
        });
        (format!("device:slotwise:{id}"), json!({ "basic": basic }))
    });
    let devices: Map<String, Value> = devices.collect();
    json!({"devices": devices, "apps": {"org.slotwise.app": {"network": network}}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

    fn of_file(text: &[u8], target: Target) -> Value {
        let network = Network::parse(text).unwrap();
        let fabric = network.empty_fabric();
        let told = network.controller(&fabric, target == Target::Bmv2).network;
        of(&fabric, &told, target, 9559)
    }

    #[test]
    fn it_says_of_stars_what_the_files_for_onos_say() {
        let star4 = include_bytes!("../../../../topologies/star4.yaml");
        let star3 = include_bytes!("../../../../topologies/star3-bmv2.yaml");
        let of_star4 = include_bytes!("../../../../controller/onos-app/netcfg-star4.json");
        let of_star3 = include_bytes!("../../../../controller/onos-app/netcfg-star3-bmv2.json");
        for (scenario, file, target) in [
            (star4.as_slice(), of_star4.as_slice(), Target::Engine),
            (star3, of_star3, Target::Bmv2),
        ] {
            let (made, by_hand) = (
                of_file(scenario, target),
                serde_json::from_slice::<Value>(file).unwrap(),
            );
            assert_eq!(made["devices"], by_hand["devices"]);
            let network = |of: &Value| of["apps"]["org.slotwise.app"]["network"].clone();
            for key in ["cores", "edges", "mtu", "timestamp_unit"] {
                assert_eq!(network(&made)[key], network(&by_hand)[key], "{key}");
            }
        }
    }

    #[test]
    fn a_mix_has_switches_of_three_programs_and_both_applications() {
        let made = of_file(include_bytes!("../../../../topologies/mixed-bmv2.yaml"), Target::Bmv2);
        let pipeconf = |id: u64| made["devices"][format!("device:slotwise:{id}")]["basic"]["pipeconf"].clone();
        assert_eq!(pipeconf(1), "org.slotwise.edge");
        assert_eq!(pipeconf(1001), "org.slotwise.core");
        assert_eq!(pipeconf(2002), "org.slotwise.router");
        let network = &made["apps"]["org.slotwise.app"]["network"]["apps"];
        assert_eq!(network["star"]["timestamp_tolerance_ns"], 1_000_000_000);
        assert_eq!(network["routes"]["nodes"].as_array().unwrap().len(), 2);
    }
}
