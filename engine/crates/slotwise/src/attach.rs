// SPDX-License-Identifier: Apache-2.0
//! The list of interfaces that `emulate --attach` joins to access ports, looked at before anything starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use slotwise_fabric::Fabric;
use slotwise_scenario::{Device, DeviceKind};

/// Longest file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// An interface and the access port that it is joined to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Number of the edge, if the port is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<u16>,
    /// Number of the router, if the port is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    router: Option<u16>,
    /// Number of the station, if the port is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    station: Option<u16>,
    /// The switch's port.
    pub port: u16,
    /// The interface's name.
    pub interface: String,
}

impl Attachment {
    /// The switch, if the entry names one.
    pub fn device(&self) -> Option<Device> {
        match (self.edge, self.router, self.station) {
            (Some(edge), None, None) => Some(Device::Edge(edge)),
            (None, Some(router), None) => Some(Device::Router(router)),
            (None, None, Some(station)) => Some(Device::Station(station)),
            _ => None,
        }
    }
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It cannot be read.
    #[error("--attach: {0}")]
    Io(#[from] std::io::Error),
    /// It is longer than a list can be.
    #[error("--attach: more than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// It is no list.
    #[error(
        "--attach: {0}; expected a JSON list of {{\"edge\": N, \"port\": N, \"interface\": \"NAME\"}}, or with \"router\" or \"station\" in place of \"edge\""
    )]
    NoList(#[from] serde_json::Error),
    /// An entry does not say of which switch the port is.
    #[error("--attach: entry {index}: expected one of \"edge\", \"router\" and \"station\"")]
    NotOneSwitch {
        /// Its place, from 0.
        index: usize,
    },
    /// An entry names a switch that the scenario does not have.
    #[error("--attach: entry {index}: there is no {switch}; expected {expected}")]
    NoSwitch {
        /// Its place, from 0.
        index: usize,
        /// What it says.
        switch: String,
        /// What would be right.
        expected: String,
    },
    /// An entry names a port to which no host may be linked.
    #[error("--attach: entry {index}: {switch} has no access port {port}; expected {expected}")]
    NoPort {
        /// Its place, from 0.
        index: usize,
        /// The switch.
        switch: String,
        /// What it says.
        port: u16,
        /// What would be right.
        expected: String,
    },
    /// Two entries have the same port or interface.
    #[error("--attach: entries {first} and {second} both have {what}; expected it once")]
    Twice {
        /// Place of the one.
        first: usize,
        /// Place of the other.
        second: usize,
        /// What they share.
        what: String,
    },
}

/// Reads a list and checks it against the network of this fabric.
///
/// # Errors
/// [`AttachError`] with the first thing that is wrong.
pub fn read(file: &Path, fabric: &Fabric) -> Result<Vec<Attachment>, AttachError> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(AttachError::TooLong);
    }
    let list: Vec<Attachment> = serde_json::from_slice(&text)?;
    check(&list, fabric)?;
    Ok(list)
}

fn check(list: &[Attachment], fabric: &Fabric) -> Result<(), AttachError> {
    let mut ports: BTreeMap<Device, Vec<u16>> = fabric.devices().map(|device| (device, Vec::new())).collect();
    for (device, port) in fabric.access_ports() {
        ports.entry(device).or_default().push(port);
    }
    let mut seen = BTreeMap::new();
    for (index, attachment) in list.iter().enumerate() {
        let Attachment { port, interface, .. } = attachment;
        let device = attachment.device().ok_or(AttachError::NotOneSwitch { index })?;
        let switch = called(device);
        let Some(known) = ports.get(&device) else {
            let expected = known_switches(&ports);
            return Err(AttachError::NoSwitch {
                index,
                switch,
                expected,
            });
        };
        if !known.contains(port) {
            let expected = match (known.first(), known.last()) {
                (Some(first), Some(last)) => format!("a port from {first} to {last}"),
                _ => "another switch: this one has no hosts".to_owned(),
            };
            return Err(AttachError::NoPort {
                index,
                switch,
                port: *port,
                expected,
            });
        }
        for what in [
            format!("port {port} of {switch}"),
            format!("interface '{}'", interface.escape_debug()),
        ] {
            if let Some(first) = seen.insert(what.clone(), index) {
                return Err(AttachError::Twice {
                    first,
                    second: index,
                    what,
                });
            }
        }
    }
    Ok(())
}

fn called(device: Device) -> String {
    format!("{} {}", device.kind().name, device.place().1)
}

/// What an entry may name, of the kinds that have access ports; switches of each count from 0.
fn known_switches(ports: &BTreeMap<Device, Vec<u16>>) -> String {
    let mut last = BTreeMap::new();
    for (device, ports) in ports {
        let (kind, number) = device.place();
        let (has_ports, last_number) = last.entry(kind).or_insert((false, 0));
        *has_ports |= !ports.is_empty();
        *last_number = number;
    }
    let known = last.into_iter().filter(|(_, (has_ports, _))| *has_ports);
    let known = known.map(|(kind, (_, last))| {
        let name = DeviceKind::all()[kind].name;
        let article = if name.starts_with('e') { "an" } else { "a" };
        format!("{article} {name} from 0 to {last}")
    });
    known.collect::<Vec<_>>().join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    fn refusal(list: &str) -> String {
        refusal_by(include_bytes!("../../../../topologies/star4.yaml"), list)
    }

    fn refusal_by(scenario: &[u8], list: &str) -> String {
        let fabric = Network::parse(scenario).unwrap().empty_fabric();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), list).unwrap();
        read(file.path(), &fabric).map_or_else(|error| error.to_string(), |list| format!("{} entries", list.len()))
    }

    #[test]
    fn what_the_scenario_does_not_have_is_named() {
        let entry = |edge, port, name| format!(r#"{{"edge": {edge}, "port": {port}, "interface": "{name}"}}"#);
        let list = |entries: &[String]| refusal(&format!("[{}]", entries.join(",")));
        assert_eq!(list(&[entry(0, 1, "a"), entry(3, 2, "b")]), "2 entries");
        assert_eq!(
            list(&[entry(4, 1, "a")]),
            "--attach: entry 0: there is no edge 4; expected an edge from 0 to 3"
        );
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(1, 3, "b")]),
            "--attach: entry 1: edge 1 has no access port 3; expected a port from 1 to 2"
        );
        assert!(list(&[entry(1, 0, "a")]).contains("no access port 0"));
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(2, 1, "b"), entry(1, 1, "c")]),
            "--attach: entries 0 and 2 both have port 1 of edge 1; expected it once"
        );
        assert!(list(&[entry(1, 1, "a"), entry(1, 2, "a")]).contains("both have interface 'a'"));
        assert!(refusal("{}").contains("expected a JSON list"));
        assert!(refusal(r#"[{"edge": 1, "port": 1, "interfaces": "a"}]"#).contains("unknown field"));
    }

    #[test]
    fn stations_have_access_ports_too() {
        let ring = include_bytes!("../../../../topologies/ring8.yaml");
        let entry = |switch, port| refusal_by(ring, &format!(r#"[{{{switch}, "port": {port}, "interface": "a"}}]"#));
        assert_eq!(entry(r#""station": 8"#, 8), "1 entries");
        assert!(entry(r#""station": 0"#, 2).ends_with("station 0 has no access port 2; expected a port from 1 to 1"));
        assert!(entry(r#""router": 0"#, 1).ends_with("there is no router 0; expected a station from 0 to 8"));
    }

    #[test]
    fn ports_of_routers_count_after_those_to_neighbours() {
        let routers = include_bytes!("../../../../topologies/routers4.yaml");
        let entry = |switch, port| refusal_by(routers, &format!(r#"[{{{switch}, "port": {port}, "interface": "a"}}]"#));
        assert_eq!(entry(r#""router": 0"#, 3), "1 entries");
        assert_eq!(
            entry(r#""router": 0"#, 1),
            "--attach: entry 0: router 0 has no access port 1; expected a port from 3 to 4"
        );
        assert!(entry(r#""router": 1"#, 3).ends_with("expected another switch: this one has no hosts"));
        assert!(entry(r#""router": 4"#, 3).ends_with("there is no router 4; expected a router from 0 to 3"));
        assert!(entry(r#""edge": 0"#, 1).ends_with("there is no edge 0; expected a router from 0 to 3"));
        assert!(entry(r#""station": 0"#, 1).ends_with("there is no station 0; expected a router from 0 to 3"));
        assert!(
            entry(r#""edge": 0, "router": 0"#, 3).ends_with("expected one of \"edge\", \"router\" and \"station\"")
        );
    }
}
