// SPDX-License-Identifier: Apache-2.0
//! Names and numbers of stations: devices, hosts, ports, addresses.

use std::fmt;
use std::net::Ipv4Addr;

use slotwise_wire::{MAX_FIBRES, MAX_STATIONS, PORT_OPTICAL_BASE};

use crate::file::{NetworkType, ROUTED, STARS};
use crate::model::Scenario;

/// An Ethernet address.
pub type MacAddress = [u8; 6];

/// A switch that the controller knows by a P4Runtime device id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// An edge by its number.
    Edge(u16),
    /// A core by its number.
    Core(u16),
    /// A router by its number.
    Router(u16),
    /// A station of a ring by its number.
    Station(u16),
    /// An optical packet switch by its number.
    Switch(u16),
    /// An edge of optical packet switches by its number.
    OpsEdge(u16),
}

/// What switches of one kind have in common.
pub struct DeviceKind {
    /// In their names: `edge0`.
    pub name: &'static str,
    /// With an article.
    pub called: &'static str,
    /// P4Runtime device id of number 0; those of the others follow.
    pub first_id: u64,
    /// How many ids there are.
    pub most: u16,
    /// Their P4 program.
    pub program: &'static str,
    /// The controller's application that has them.
    pub app: &'static str,
    /// Network types that have them.
    pub(crate) networks: &'static [NetworkType],
    /// Its counter of what it drops.
    pub drop_counter: &'static str,
    /// Its table of ways to hosts, where hosts wait for one.
    pub routes: Option<&'static str>,
    /// Whether their light comes in slots: then the program sees itself where there is none. Of others' ports the controller is told.
    pub is_slotted: bool,
    /// Whether hosts may be linked to them.
    pub has_hosts: bool,
    /// Whether packets that enter at one of them leave at any other, whatever is between them.
    pub reach_each_other: bool,
    /// Letter of their short names in names of interfaces: `e0`; `None` without hosts.
    pub letter: Option<char>,
    /// Name that a scenario gives to the one of a number.
    pub label: fn(&Scenario, usize) -> Option<&str>,
    /// The fault that stops one of them for a while, by its name in a scenario.
    pub restart: Option<&'static str>,
    /// How many a scenario has.
    pub count: fn(&Scenario) -> usize,
    mac: fn(u16) -> MacAddress,
    of: fn(u16) -> Device,
}

/// In the order of [`Device`].
static KINDS: [DeviceKind; Device::KINDS] = [
    DeviceKind {
        name: "edge",
        called: "an edge",
        first_id: 1,
        most: MAX_FIBRES,
        program: "edge",
        app: "star",
        networks: STARS,
        drop_counter: "EdgeIngress.drops",
        routes: None,
        is_slotted: true,
        has_hosts: true,
        reach_each_other: false,
        letter: Some('e'),
        label: |_, _| None,
        restart: Some("edge-restart"),
        count: |scenario| scenario.edges.len(),
        mac: edge_mac,
        of: Device::Edge,
    },
    DeviceKind {
        name: "core",
        called: "a core",
        first_id: 1001,
        most: MAX_FIBRES,
        program: "core",
        app: "star",
        networks: STARS,
        drop_counter: "CoreIngress.drops",
        routes: None,
        is_slotted: true,
        has_hosts: false,
        reach_each_other: false,
        letter: None,
        label: |_, _| None,
        restart: Some("core-down"),
        count: |scenario| scenario.cores.len(),
        mac: |core| mac_of_kind(0xfb, core),
        of: Device::Core,
    },
    DeviceKind {
        name: "router",
        called: "a router",
        first_id: 2001,
        most: MAX_FIBRES,
        program: "router",
        app: "routes",
        networks: ROUTED,
        drop_counter: "RouterIngress.drops",
        routes: Some("RouterIngress.ipv4_route"),
        is_slotted: false,
        has_hosts: true,
        reach_each_other: false,
        letter: Some('r'),
        label: |scenario, router| Some(scenario.routed.routers.get(router)?),
        restart: Some("router-restart"),
        count: |scenario| scenario.routed.routers.len(),
        mac: |router| mac_of_kind(0xfe, router),
        of: Device::Router,
    },
    DeviceKind {
        name: "station",
        called: "a station",
        first_id: 3001,
        most: MAX_STATIONS,
        program: "ring",
        app: "ring",
        networks: &[NetworkType::Ring],
        drop_counter: "RingIngress.drops",
        routes: Some("RingIngress.ipv4_route"),
        is_slotted: false,
        has_hosts: true,
        reach_each_other: true,
        letter: Some('s'),
        label: |scenario, station| Some(&scenario.ring.as_ref()?.stations.get(station)?.name),
        restart: Some("station-restart"),
        count: |scenario| scenario.ring.as_ref().map_or(0, |ring| ring.stations.len()),
        mac: |station| mac_of_kind(0xfd, station),
        of: Device::Station,
    },
    DeviceKind {
        name: "switch",
        called: "an optical packet switch",
        first_id: 4001,
        most: MAX_FIBRES,
        program: "ops",
        app: "ops",
        networks: &[NetworkType::Ops],
        drop_counter: "OpsIngress.drops",
        routes: None,
        is_slotted: false,
        has_hosts: false,
        reach_each_other: false,
        letter: None,
        label: |_, _| None,
        restart: Some("switch-restart"),
        count: |scenario| scenario.ops.as_ref().map_or(0, |ops| ops.switches.len()),
        mac: |switch| mac_of_kind(0xfa, switch),
        of: Device::Switch,
    },
    DeviceKind {
        name: "ops-edge",
        called: "an OPS edge",
        first_id: 5001,
        most: MAX_FIBRES,
        program: "edge",
        app: "ops",
        networks: &[NetworkType::Ops],
        drop_counter: "EdgeIngress.drops",
        routes: Some("EdgeIngress.ipv4_route"),
        is_slotted: false,
        has_hosts: true,
        reach_each_other: true,
        letter: Some('o'),
        label: |scenario, edge| Some(&scenario.ops.as_ref()?.edges.get(edge)?.name),
        restart: Some("ops-edge-restart"),
        count: |scenario| scenario.ops.as_ref().map_or(0, |ops| ops.edges.len()),
        mac: |edge| mac_of_kind(0xf9, edge),
        of: Device::OpsEdge,
    },
];

impl DeviceKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = &'static DeviceKind> {
        KINDS.iter()
    }

    /// The one of this number.
    pub fn device(&self, number: u16) -> Device {
        (self.of)(number)
    }
}

// Each has a name of its own.
impl PartialEq for DeviceKind {
    fn eq(&self, other: &DeviceKind) -> bool {
        self.name == other.name
    }
}

impl Eq for DeviceKind {}

impl fmt::Debug for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Device {
    /// Kinds of devices.
    pub const KINDS: usize = 6;

    /// Its kind, below [`Device::KINDS`], and its number among those.
    pub fn place(self) -> (usize, u16) {
        match self {
            Device::Edge(edge) => (0, edge),
            Device::Core(core) => (1, core),
            Device::Router(router) => (2, router),
            Device::Station(station) => (3, station),
            Device::Switch(switch) => (4, switch),
            Device::OpsEdge(edge) => (5, edge),
        }
    }

    /// Its number among those of its kind.
    pub fn number(self) -> u16 {
        self.place().1
    }

    /// What it has in common with others of its kind.
    pub fn kind(self) -> &'static DeviceKind {
        &KINDS[self.place().0]
    }

    /// P4Runtime device id: edge e is `e + 1`, core c is `1001 + c`, router r is `2001 + r`, station s is `3001 + s`, optical packet
    /// switch s is `4001 + s`, an edge e of those `5001 + e`.
    pub fn id(self) -> u64 {
        self.kind().first_id + u64::from(self.number())
    }

    /// Its own Ethernet address.
    pub fn mac(self) -> MacAddress {
        (self.kind().mac)(self.number())
    }

    /// The device with this id, whether or not a scenario has it.
    pub fn from_id(id: u64) -> Option<Device> {
        KINDS.iter().find_map(|kind| {
            let number = id.checked_sub(kind.first_id)?;
            (number < u64::from(kind.most)).then(|| kind.device(number as u16))
        })
    }
}

impl Scenario {
    /// Kinds of switches that it has.
    pub fn device_kinds(&self) -> impl Iterator<Item = &'static DeviceKind> + '_ {
        KINDS.iter().filter(|kind| (kind.count)(self) > 0)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind().name, self.number())
    }
}

/// Port of the fibre to core `peer` at an edge, to edge `peer` at a core.
pub fn optical_port(peer: u16) -> u16 {
    PORT_OPTICAL_BASE + peer
}

fn mac_of_kind(kind: u8, number: u16) -> MacAddress {
    let [high, low] = number.to_be_bytes();
    [0x02, kind, 0, 0, high, low]
}

/// Address by which hosts know their edge.
pub fn edge_mac(edge: u16) -> MacAddress {
    let [high, low] = edge.to_be_bytes();
    [0x02, 0xff, high, low, 0, 0]
}

/// Address of a host of a group, by its number among those of all groups, from 0: from 10.1.0.1 on. Edges' hosts are below.
pub fn group_host_ip(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 1, 0, 1).to_bits() + number as u32)
}

/// `02:fc:` and that number.
pub fn group_host_mac(number: usize) -> MacAddress {
    let [a, b, c, d] = (number as u32).to_be_bytes();
    [0x02, 0xfc, a, b, c, d]
}

/// A host: the `index`-th of its edge, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId {
    /// Number of its edge.
    pub edge: u16,
    /// Number at its edge, 0 to 253.
    pub index: u16,
}

impl HostId {
    /// `10.{edge / 256}.{edge % 256}.{index + 1}`; all hosts share 10.0.0.0/8.
    pub fn ip(self) -> Ipv4Addr {
        let [high, low] = self.edge.to_be_bytes();
        Ipv4Addr::new(10, high, low, (self.index + 1) as u8)
    }

    /// `02:00:{edge high}:{edge low}:00:{index + 1}`.
    pub fn mac(self) -> MacAddress {
        let [high, low] = self.edge.to_be_bytes();
        [0x02, 0x00, high, low, 0, (self.index + 1) as u8]
    }

    /// Its port at the edge, from 1.
    pub fn access_port(self) -> u16 {
        self.index + 1
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}_{}", self.edge, self.index)
    }
}

/// One side of a traffic entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// Every host.
    All,
    /// Every host of an edge.
    Edge(u16),
    /// One host.
    Host(HostId),
}

impl Endpoint {
    /// Reads `all`, `edgeN` or `hE_K`; numbers have no leading zeros.
    pub fn parse(text: &str) -> Option<Endpoint> {
        if text == "all" {
            return Some(Endpoint::All);
        }
        if let Some(number) = text.strip_prefix("edge") {
            return decimal(number).map(Endpoint::Edge);
        }
        let (edge, index) = text.strip_prefix('h')?.split_once('_')?;
        Some(Endpoint::Host(HostId {
            edge: decimal(edge)?,
            index: decimal(index)?,
        }))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::All => write!(f, "all"),
            Endpoint::Edge(edge) => write!(f, "edge{edge}"),
            Endpoint::Host(host) => write!(f, "{host}"),
        }
    }
}

fn decimal(text: &str) -> Option<u16> {
    let number: u16 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use slotwise_wire::limits;

    use super::*;
    use crate::faults::FaultKind;

    #[test]
    fn device_ids_go_both_ways() {
        let devices = [
            Device::Edge(0),
            Device::Edge(239),
            Device::Core(0),
            Device::Core(239),
            Device::Router(239),
            Device::Station(254),
            Device::Switch(239),
            Device::OpsEdge(239),
        ];
        for device in devices {
            assert_eq!(Device::from_id(device.id()), Some(device));
        }
        assert_eq!(Device::Edge(3).id(), 4);
        assert_eq!(Device::Core(2).id(), 1003);
        for id in [0, 241, 1000, 1241, 3000, 3256, u64::MAX] {
            assert_eq!(Device::from_id(id), None, "{id}");
        }
    }

    #[test]
    fn restart_faults_do_not_depend_on_applications() {
        // Another kind of switches in rings, with the application of routers.
        let twin = DeviceKind {
            name: "twin",
            networks: &[NetworkType::Ring],
            restart: Some("twin-restart"),
            ..*Device::Router(0).kind()
        };
        let fault = FaultKind::Restart(Box::leak(Box::new(twin)));
        assert!(NetworkType::Ring.may_have(fault));
        for other in [NetworkType::Routers, NetworkType::Mixed, NetworkType::Star] {
            assert!(!other.may_have(fault), "{other:?}");
        }
        let of_routers = FaultKind::Restart(Device::Router(0).kind());
        assert!(ROUTED.iter().all(|network| network.may_have(of_routers)));
        assert!(!NetworkType::Ring.may_have(of_routers));
    }

    #[test]
    fn addresses_follow_from_numbers() {
        let host = HostId { edge: 0x0102, index: 3 };
        assert_eq!(host.ip(), Ipv4Addr::new(10, 1, 2, 4));
        assert_eq!(host.mac(), [2, 0, 1, 2, 0, 4]);
        assert_eq!(host.access_port(), 4);
        assert_eq!(edge_mac(0x0102), [2, 0xff, 1, 2, 0, 0]);
        assert_eq!(Device::Router(0x0102).mac(), [2, 0xfe, 0, 0, 1, 2]);
        assert_eq!(Device::Station(0x0102).mac(), [2, 0xfd, 0, 0, 1, 2]);
        assert_eq!(group_host_ip(0x0102), Ipv4Addr::new(10, 1, 1, 3));
        assert_eq!(group_host_mac(0x01_0203), [2, 0xfc, 0, 1, 2, 3]);
    }

    #[test]
    fn no_two_of_the_largest_network_have_one_address() {
        let edges = 0..MAX_FIBRES;
        let at_an_edge = *limits::EDGE_HOSTS.end() as u16;
        let of_edges = edges.flat_map(|edge| (0..at_an_edge).map(move |index| HostId { edge, index }));
        let groups = 0..*limits::ROUTES.end() as usize;
        let of_groups = groups.clone().map(group_host_ip);
        let ips: Vec<_> = of_edges.clone().map(HostId::ip).chain(of_groups).collect();
        let of_hosts = of_edges.map(HostId::mac).chain(groups.map(group_host_mac));
        let switches = DeviceKind::all().flat_map(|kind| (0..kind.most).map(|number| kind.device(number)));
        let macs: Vec<_> = of_hosts.chain(switches.map(Device::mac)).collect();
        assert_eq!(ips.iter().collect::<BTreeSet<_>>().len(), ips.len());
        assert_eq!(macs.iter().collect::<BTreeSet<_>>().len(), macs.len());
    }

    #[test]
    fn endpoints_are_canonical() {
        for text in ["all", "edge0", "edge12", "h0_0", "h3_11"] {
            assert_eq!(Endpoint::parse(text).map(|e| e.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "edge",
            "edge01",
            "edge-1",
            "edge+1",
            "h1",
            "h1_",
            "h_1",
            "h1_02",
            "h1_1_1",
            "edge70000",
            "All",
        ] {
            assert_eq!(Endpoint::parse(text), None, "{text}");
        }
    }
}
