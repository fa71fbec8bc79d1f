// SPDX-License-Identifier: Apache-2.0
//! The list of interfaces that `emulate --attach` joins to access ports, looked at before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slotwise_kinds::World;
use slotwise_scenario::{Device, DeviceKind};

/// Longest file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// An interface and the access port that it is joined to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The switches that the entry names, each under what its kind is called; it has to be one.
    switches: Vec<Device>,
    /// The switch's port.
    pub port: u16,
    /// The interface's name.
    pub interface: String,
    /// Of a tunnel, the address at its far end that answers echoes.
    pub probe: Option<Ipv4Addr>,
}

impl Attachment {
    /// The switch, if the entry names one.
    pub fn device(&self) -> Option<Device> {
        match self.switches[..] {
            [device] => Some(device),
            _ => None,
        }
    }
}

/// Kinds of switches to which hosts of Linux may be linked.
fn kinds() -> impl Iterator<Item = &'static DeviceKind> {
    DeviceKind::all().filter(|kind| kind.has_hosts)
}

/// What they are called in an entry.
fn keys(between: &str) -> String {
    let keys: Vec<String> = kinds().map(|kind| format!("\"{}\"", kind.name)).collect();
    keys.join(between)
}

impl Serialize for Attachment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_map(None)?;
        for device in &self.switches {
            entry.serialize_entry(device.kind().name, &device.number())?;
        }
        entry.serialize_entry("port", &self.port)?;
        entry.serialize_entry("interface", &self.interface)?;
        entry.end()
    }
}

impl<'de> Deserialize<'de> for Attachment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Attachment, D::Error> {
        deserializer.deserialize_map(Entry)
    }
}

/// Reads an entry.
struct Entry;

impl<'de> Visitor<'de> for Entry {
    type Value = Attachment;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an entry with a switch, \"port\" and \"interface\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attachment, A::Error> {
        let (mut switches, mut port, mut interface, mut probe) = (Vec::new(), None, None, None);
        let mut known = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            match key.as_str() {
                "port" => port = Some(map.next_value()?),
                "interface" => interface = Some(map.next_value()?),
                "probe" => probe = Some(map.next_value()?),
                name => {
                    let kind = kinds().find(|kind| kind.name == name);
                    let kind = kind.ok_or_else(|| A::Error::custom(format!("unknown field `{key}`")))?;
                    switches.push(kind.device(map.next_value()?));
                }
            }
        }
        Ok(Attachment {
            switches,
            port: port.ok_or_else(|| A::Error::missing_field("port"))?,
            interface: interface.ok_or_else(|| A::Error::missing_field("interface"))?,
            probe,
        })
    }
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It cannot be read.
    #[error("--attach: {0}")]
    Io(#[from] std::io::Error),
    /// It is longer than a list can be.
    #[error("--attach: file too large; expected at most {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// It is no list.
    #[error(
        "--attach: {0}; expected a JSON list of {{SWITCH: N, \"port\": N, \"interface\": \"NAME\"}} with {keys} as SWITCH",
        keys = keys(" or ")
    )]
    NoList(#[from] serde_json::Error),
    /// An entry does not say of which switch the port is.
    #[error("--attach: entry {index}: no unique switch; expected one of {}", keys(", "))]
    NotOneSwitch {
        /// Its place, from 0.
        index: usize,
    },
    /// An entry names a switch that the scenario does not have.
    #[error("--attach: entry {index}: unknown {switch}; expected {expected}")]
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
    #[error("--attach: entries {first} and {second}: duplicate {what}; expected it once")]
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
pub fn read(file: &Path, fabric: &World) -> Result<Vec<Attachment>, AttachError> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(AttachError::TooLong);
    }
    let list: Vec<Attachment> = serde_json::from_slice(&text)?;
    check(&list, fabric)?;
    Ok(list)
}

fn check(list: &[Attachment], fabric: &World) -> Result<(), AttachError> {
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
                _ => "a switch with hosts".to_owned(),
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
    format!("{} {}", device.kind().name, device.number())
}

/// What an entry may name, of the kinds that have access ports; switches of each count from 0.
fn known_switches(ports: &BTreeMap<Device, Vec<u16>>) -> String {
    let known = kinds().filter_map(|kind| {
        let of_kind = || ports.iter().filter(|(device, _)| device.kind() == kind);
        let (last, _) = of_kind().next_back()?;
        let has_ports = of_kind().any(|(_, ports)| !ports.is_empty());
        has_ports.then(|| format!("{} from 0 to {}", kind.called, last.number()))
    });
    known.collect::<Vec<String>>().join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

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
            "--attach: entry 0: unknown edge 4; expected an edge from 0 to 3"
        );
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(1, 3, "b")]),
            "--attach: entry 1: edge 1 has no access port 3; expected a port from 1 to 2"
        );
        assert!(list(&[entry(1, 0, "a")]).contains("no access port 0"));
        assert_eq!(
            list(&[entry(1, 1, "a"), entry(2, 1, "b"), entry(1, 1, "c")]),
            "--attach: entries 0 and 2: duplicate port 1 of edge 1; expected it once"
        );
        assert!(list(&[entry(1, 1, "a"), entry(1, 2, "a")]).contains("duplicate interface 'a'"));
        assert!(refusal("{}").contains("expected a JSON list"));
        let probed = |address| {
            refusal(&format!(
                r#"[{{"edge": 1, "port": 1, "interface": "a", "probe": "{address}"}}]"#
            ))
        };
        assert_eq!(probed("198.18.0.2"), "1 entries");
        assert!(probed("far").contains("invalid IPv4 address"), "{}", probed("far"));
        assert!(refusal(r#"[{"edge": 1, "port": 1, "interfaces": "a"}]"#).contains("unknown field"));
    }

    #[test]
    fn stations_have_access_ports_too() {
        let ring = include_bytes!("../../../../topologies/ring8.yaml");
        let entry = |switch, port| refusal_by(ring, &format!(r#"[{{{switch}, "port": {port}, "interface": "a"}}]"#));
        assert_eq!(entry(r#""station": 8"#, 8), "1 entries");
        assert!(entry(r#""station": 0"#, 2).ends_with("station 0 has no access port 2; expected a port from 1 to 1"));
        assert!(entry(r#""router": 0"#, 1).ends_with("unknown router 0; expected a station from 0 to 8"));
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
        assert!(entry(r#""router": 1"#, 3).ends_with("expected a switch with hosts"));
        assert!(entry(r#""router": 4"#, 3).ends_with("unknown router 4; expected a router from 0 to 3"));
        assert!(entry(r#""edge": 0"#, 1).ends_with("unknown edge 0; expected a router from 0 to 3"));
        assert!(entry(r#""station": 0"#, 1).ends_with("unknown station 0; expected a router from 0 to 3"));
        assert!(entry(r#""edge": 0, "router": 0"#, 3).contains("expected one of \"edge\", \"router\", \"station\""));
    }
}
