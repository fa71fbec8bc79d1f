// SPDX-License-Identifier: Apache-2.0
//! Scenario with all derived names, addresses, ports and flows, for programs that derive none of them (host agent, Python).

use std::net::Ipv4Addr;

use serde::Serialize;
use slotwise_control::network::Network;
use slotwise_kinds::World;
use slotwise_scenario::{
    Device, HostId, MacAddress, Party, Process, Scenario, Source, TrafficKind, Transport, group_host_ip, group_host_mac,
};
use slotwise_units::{Bytes, Rate};

/// JSON Schema of [`Resolved`].
pub const SCHEMA: &str = include_str!("../../../../schema/resolved.schema.json");

/// Prefix length of the subnet that all hosts share.
const PREFIX: u8 = 8;
/// First server port of flows between Linux hosts: iperf3's.
const FIRST_PORT: u16 = 5201;
/// IPv4 and UDP header.
const UDP_OVERHEAD: u32 = 28;

/// Scenario with derived values. Its JSON is described by `schema/resolved.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolved {
    /// Name of the scenario.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// Duration of all phases.
    pub duration_ms: u64,
    /// Phases in their order.
    pub phases: Vec<Phase>,
    /// Switches with access ports.
    pub nodes: Vec<Node>,
    /// Hosts, those of edges first, then those of groups.
    pub hosts: Vec<Host>,
    /// Flows of the phases in their order, then flows over the whole run.
    pub flows: Vec<Flow>,
    /// Names of the links that can be taken down manually.
    pub spans: Vec<String>,
}

/// Phase of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Name in the scenario.
    pub name: String,
    /// Start, from the start of the run.
    pub start_ms: u64,
    /// End, from the start of the run.
    pub stop_ms: u64,
}

/// Switch with access ports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Name as part of interface names: `e0`, `r0`, `s0`, `o0`.
    pub name: String,
    /// Name in the scenario: `edge0`, or that of a router, station or OPS edge.
    pub label: String,
    /// Type of the switch: `edge`, `router`, `station` or `ops-edge`.
    pub kind: &'static str,
    /// Number among switches of its type.
    pub number: u16,
    /// Size of the largest IP packet of its hosts.
    pub mtu: u32,
}

/// Host of an edge or a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Host {
    /// Name in the scenario and in reports: `h0_1`, `senders.0`.
    pub name: String,
    /// Name in Mininet, short because interface names must be.
    pub node: String,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Prefix length of its subnet.
    pub prefix: u8,
    /// Ethernet address.
    pub mac: String,
    /// Name of its switch ([`Node::name`]).
    pub switch: String,
    /// Port of the switch.
    pub port: u16,
    /// Interface of the switch at that port.
    pub interface: String,
}

/// Flow from host to host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flow {
    /// Number among all flows.
    pub id: usize,
    /// Name of a flow over the whole run: `NAME.i`.
    pub name: Option<String>,
    /// Phase of its entry; `None`: it lasts for the whole run.
    pub phase: Option<usize>,
    /// Number of its entry in the list `flows` of the phase or of the scenario.
    pub entry: usize,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Earliest start, from the start of the run.
    pub start_ms: u64,
    /// End of sending, from the start of the run.
    pub stop_ms: u64,
    /// Type of traffic.
    pub kind: &'static str,
    /// True if programs on Linux hosts generate it in emulation, false if the engine does.
    pub kernel: bool,
    /// Port of its server in emulation; `None` if the engine generates it, or if there are more flows at once than ports.
    pub port: Option<u16>,
    /// Options of the program that generates it.
    pub options: Options,
}

/// Options of a flow; those that do not apply are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Options {
    /// Congestion control in Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_control: Option<&'static str>,
    /// Parallel streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<u32>,
    /// Rate of a stream or of a source, counted in payload bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bps: Option<u64>,
    /// Payload of a datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<u32>,
    /// Bytes to send in place of a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl Resolved {
    /// Returns the derived values of a network; `world` has the ports.
    pub fn of(network: &Network, world: &World) -> Resolved {
        let scenario = &network.scenario;
        let mut starts = vec![0];
        for phase in &scenario.phases {
            starts.push(starts.last().copied().unwrap_or_default() + phase.duration_ms);
        }
        let phases = scenario.phases.iter().zip(starts.windows(2));
        let hosts = hosts(scenario, world);
        let mut spans: Vec<String> = Vec::new();
        let mut listed = Vec::new();
        for (name, fibre) in network.fibres() {
            if !listed.contains(&fibre) {
                listed.push(fibre);
                spans.push(name);
            }
        }
        let mut resolved = Resolved {
            name: scenario.name.clone(),
            seed: scenario.seed,
            duration_ms: scenario.duration_ms(),
            phases: phases
                .map(|(phase, times)| Phase {
                    name: phase.name.clone(),
                    start_ms: times[0],
                    stop_ms: times[1],
                })
                .collect(),
            nodes: world.devices().filter_map(|device| node(scenario, device)).collect(),
            flows: Vec::new(),
            hosts,
            spans,
        };
        resolved.add_flows_of_phases(scenario);
        resolved.add_flows_of_run(scenario);
        resolved.give_ports();
        resolved
    }

    fn add_flows_of_phases(&mut self, scenario: &Scenario) {
        for (index, phase) in self.phases.iter().enumerate() {
            for flow in scenario.flows(index) {
                let first = self.flows.len();
                self.flows.push(Flow {
                    id: first,
                    name: None,
                    phase: Some(index),
                    entry: flow.entry,
                    from: flow.from.to_string(),
                    to: flow.to.to_string(),
                    start_ms: phase.start_ms,
                    stop_ms: phase.stop_ms,
                    kind: flow.kind.name(),
                    kernel: flow.kind.is_of_linux(),
                    port: None,
                    options: options_of_phase(&flow.kind),
                });
            }
        }
    }

    fn add_flows_of_run(&mut self, scenario: &Scenario) {
        for (entry, group) in scenario.routed.flows.iter().enumerate() {
            let pairs = scenario.flow_hosts(group);
            let count = pairs.len() as u64;
            for (index, (from, to)) in pairs.enumerate() {
                // Flow i of n starts within the i-th part of the jitter.
                let jitter_ms = index as u64 * group.spread_ms / count;
                self.flows.push(Flow {
                    id: self.flows.len(),
                    name: Some(format!("{}.{index}", group.name)),
                    phase: None,
                    entry,
                    from: self.hosts[from].name.clone(),
                    to: self.hosts[to].name.clone(),
                    start_ms: group.start_ms + jitter_ms,
                    stop_ms: group.stop_ms.unwrap_or(self.duration_ms),
                    kind: match group.source {
                        Source::Stream { .. } => "tcp",
                        Source::Udp { .. } => "udp",
                        Source::Gtp(_) => "gtp",
                        Source::Web { .. } => "web",
                    },
                    kernel: group.is_of_linux(),
                    port: None,
                    options: options_of_run(group.source, group.transport, group.packet_bytes),
                });
            }
        }
    }

    /// Assigns each flow of Linux hosts a port that no concurrent flow has; flows over the whole run have the first ports.
    fn give_ports(&mut self) {
        let port = |number: usize| u16::try_from(usize::from(FIRST_PORT) + number).ok();
        let (of_run, of_phases): (Vec<_>, Vec<_>) = self
            .flows
            .iter_mut()
            .filter(|flow| flow.kernel)
            .partition(|flow| flow.phase.is_none());
        let (first, mut phase, mut next) = (of_run.len(), None, 0);
        for (number, flow) in of_run.into_iter().enumerate() {
            flow.port = port(number);
        }
        for flow in of_phases {
            if flow.phase != phase {
                (phase, next) = (flow.phase, first);
            }
            flow.port = port(next);
            next += 1;
        }
    }
}

/// Returns a switch, or `None` if no host can be linked to it.
fn node(scenario: &Scenario, device: Device) -> Option<Node> {
    Some(Node {
        name: short_name(device)?,
        label: label(scenario, device),
        kind: device.kind().name,
        number: device.number(),
        mtu: match device {
            Device::Edge(_) => scenario.hosts.mtu,
            _ => scenario.routed.packet_bytes,
        },
    })
}

fn label(scenario: &Scenario, device: Device) -> String {
    let label = (device.kind().label)(scenario, usize::from(device.number()));
    label.map_or_else(|| device.to_string(), str::to_owned)
}

/// Returns the name of a switch in interface names, which have at most 15 characters.
fn short_name(device: Device) -> Option<String> {
    Some(format!("{}{}", device.kind().letter?, device.number()))
}

fn hosts(scenario: &Scenario, world: &World) -> Vec<Host> {
    let of_edges = scenario.edges.iter();
    let of_edges = of_edges.flat_map(|edge| (0..edge.hosts).map(move |index| HostId { edge: edge.id, index }));
    let of_edges = of_edges.map(|host| (host.to_string(), host.to_string(), host.ip(), host.mac()));
    let groups = 0..scenario.routed.hosts.len();
    let names = groups.flat_map(|group| scenario.host_names(Party::Group(group)));
    let of_groups = names.enumerate().map(|(number, name)| {
        let (ip, mac) = (group_host_ip(number), group_host_mac(number));
        (name, format!("h{number}"), ip, mac)
    });
    of_edges
        .chain(of_groups)
        .zip(world.access_ports())
        .map(|((name, node, address, mac), (device, port))| {
            let switch = short_name(device).unwrap_or_default();
            Host {
                name,
                node,
                address,
                prefix: PREFIX,
                mac: mac_text(mac),
                interface: format!("{switch}-eth{port}"),
                switch,
                port,
            }
        })
        .collect()
}

fn mac_text(mac: MacAddress) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn options_of_phase(kind: &TrafficKind) -> Options {
    let congestion_control = kind.transport().and_then(Transport::kernel_name);
    let of_kind = match *kind {
        TrafficKind::Tcp { rate, streams, .. } => Options {
            streams: Some(streams),
            rate_bps: rate.map(Rate::bps),
            ..Options::default()
        },
        TrafficKind::Udp {
            rate, payload_bytes, ..
        } => Options {
            rate_bps: Some(rate.bps()),
            payload_bytes: Some(payload_bytes),
            ..Options::default()
        },
        TrafficKind::File { bytes, .. } => Options {
            bytes: Some(bytes.get()),
            ..Options::default()
        },
        TrafficKind::Web { .. } => Options::default(),
    };
    Options {
        congestion_control,
        ..of_kind
    }
}

fn options_of_run(source: Source, transport: Transport, packet_bytes: u32) -> Options {
    match source {
        Source::Stream { bytes } => Options {
            congestion_control: transport.kernel_name(),
            bytes: bytes.map(Bytes::get),
            ..Options::default()
        },
        Source::Udp {
            rate,
            process: Process::Constant,
        } => {
            // The scenario's rate counts IP bytes.
            let payload_bytes = packet_bytes - UDP_OVERHEAD;
            Options {
                rate_bps: Some(rate.bps() * u64::from(payload_bytes) / u64::from(packet_bytes)),
                payload_bytes: Some(payload_bytes),
                ..Options::default()
            }
        }
        Source::Udp { .. } | Source::Gtp(_) | Source::Web { .. } => Options::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn resolved(yaml: &[u8]) -> Resolved {
        let network = Network::parse(yaml).unwrap();
        Resolved::of(&network, &network.empty_fabric())
    }

    fn kernel_flows(resolved: &Resolved, phase: Option<usize>) -> impl Iterator<Item = &Flow> {
        resolved
            .flows
            .iter()
            .filter(move |flow| flow.kernel && flow.phase == phase)
    }

    #[test]
    fn hosts_of_edges_have_names_addresses_and_ports() {
        let star = resolved(include_bytes!("../../../../topologies/star4.yaml"));
        let host = &star.hosts[3];
        assert_eq!((host.name.as_str(), host.node.as_str()), ("h1_1", "h1_1"));
        assert_eq!((host.address, host.prefix), (Ipv4Addr::new(10, 0, 1, 2), 8));
        assert_eq!(host.mac, "02:00:00:01:00:02");
        assert_eq!(
            (host.switch.as_str(), host.port, host.interface.as_str()),
            ("e1", 2, "e1-eth2")
        );
        assert_eq!(star.nodes.len(), 4);
        assert_eq!(
            (star.nodes[1].kind, star.nodes[1].number, star.nodes[1].mtu),
            ("edge", 1, 1450)
        );
        assert_eq!(star.spans, ["edge0-core0", "edge1-core0", "edge2-core0", "edge3-core0"]);
    }

    #[test]
    fn hosts_of_groups_are_at_the_ports_after_those_to_neighbours() {
        let mix = resolved(include_bytes!("../../../../topologies/mixed.yaml"));
        let of_groups = mix.hosts.iter().filter(|host| host.switch.starts_with('r'));
        let of_groups: Vec<_> = of_groups.collect();
        assert_eq!(of_groups[0].node, "h0");
        assert_eq!(of_groups[0].address, Ipv4Addr::new(10, 1, 0, 1));
        assert!(of_groups.iter().all(|host| host.port > 1), "port 1 is to a neighbour");
        let interfaces: BTreeSet<_> = mix.hosts.iter().map(|host| &host.interface).collect();
        assert_eq!(interfaces.len(), mix.hosts.len());
    }

    #[test]
    fn flows_of_one_time_have_different_ports() {
        for yaml in [
            &include_bytes!("../../../../topologies/mixed.yaml")[..],
            include_bytes!("../../../../topologies/star3-short.yaml"),
            include_bytes!("../../../../topologies/routers4.yaml"),
        ] {
            let resolved = resolved(yaml);
            for phase in 0..resolved.phases.len() {
                let flows = kernel_flows(&resolved, Some(phase)).chain(kernel_flows(&resolved, None));
                let ports: Vec<_> = flows.map(|flow| flow.port.unwrap()).collect();
                assert!(!ports.is_empty() && ports.iter().all(|port| *port >= FIRST_PORT));
                assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len());
            }
            assert!(resolved.flows.iter().all(|flow| flow.kernel == flow.port.is_some()));
        }
    }

    #[test]
    fn flows_without_a_free_port_have_none() {
        let mut star = resolved(include_bytes!("../../../../topologies/star4.yaml"));
        let flow = star.flows.iter().find(|flow| flow.kernel).unwrap().clone();
        star.flows = vec![flow; usize::from(u16::MAX)];
        star.give_ports();
        let last = usize::from(u16::MAX - FIRST_PORT);
        assert_eq!(
            (star.flows[last].port, star.flows[last + 1].port),
            (Some(u16::MAX), None)
        );
    }

    #[test]
    fn times_are_from_the_start_of_the_run() {
        let star = resolved(include_bytes!("../../../../topologies/star4.yaml"));
        let second = star.phases[1].clone();
        assert_eq!(second.start_ms, star.phases[0].stop_ms);
        let flow = star.flows.iter().find(|flow| flow.phase == Some(1)).unwrap();
        assert_eq!((flow.start_ms, flow.stop_ms), (second.start_ms, second.stop_ms));
        assert_eq!(star.phases.last().unwrap().stop_ms, star.duration_ms);
    }

    #[test]
    fn the_rate_of_datagrams_over_the_run_counts_payload() {
        let options = options_of_run(
            Source::Udp {
                rate: Rate::from_bps(1_000_000),
                process: Process::Constant,
            },
            Transport::Cubic,
            1000,
        );
        assert_eq!((options.rate_bps, options.payload_bytes), (Some(972_000), Some(972)));
    }
}
