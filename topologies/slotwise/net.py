# SPDX-License-Identifier: Apache-2.0
"""Mininet classes for a scenario's hosts and the access side of its edges.

Hosts have the unmodified Linux TCP stack. Offloads are off at both ends of every access link, so that what arrives at
an edge are packets of the link's MTU with checksums that are already computed.
"""
import os

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, Switch
from mininet.topo import Topo

from slotwise.errors import SlotwiseError
from slotwise.scenario import HostId, RoutedHost, hosts, is_routed, routed_hosts

OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off"


class NetworkError(SlotwiseError):
    """The hosts cannot be built."""


def _prepare_interface(node: Node, interface: str, mtu: int) -> None:
    ipv6 = f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"
    script = (
        f"set -e; if [ -e {ipv6} ]; then echo 1 > {ipv6}; fi; "
        f"ethtool -K {interface} {OFFLOADS_OFF} > /dev/null; "
        f"ip link set dev {interface} mtu {mtu} up"
    )
    _, errors, status = node.pexec("sh", "-c", script)
    if status != 0:
        raise NetworkError(f"{node.name}: cannot set up {interface}: {errors.strip()}")


class AccessHost(Host):
    """A host with one interface, plain packets and no IPv6.

    `receive_cpus` is a mask of CPUs in hexadecimal: its stack handles arriving packets there, instead of in the thread that
    sent them (receive packet steering), which for an edge's packets is the fabric's.
    """

    def cmd(self, *arguments, **options):
        """As Mininet has it, but a host whose shell has ended says nothing: Mininet would wait for it for ever."""
        return super().cmd(*arguments, **options) if self.shell and self.shell.poll() is None else ""

    def config(self, mtu: int = 1500, receive_cpus: str | None = None, **params):
        result = super().config(**params)
        interface = self.defaultIntf().name
        _prepare_interface(self, interface, mtu)
        if receive_cpus:
            # A kernel without steering lacks the file: packets arrive all the same.
            self.pexec("sh", "-c", f"echo {receive_cpus} > /sys/class/net/{interface}/queues/rx-0/rps_cpus")
        return result


class AccessEdge(Switch):
    """A switch's access interfaces in Mininet's own namespace: up, without an address. It forwards nothing itself."""

    KIND, LETTER = "edge", "e"
    """What the engine calls it, and the first letter of its node's name."""

    def __init__(self, name: str, scenario: dict, **params):
        super().__init__(name, **params)
        self.scenario = scenario

    @property
    def edge(self) -> int:
        """Number of the switch in the scenario."""
        return int(self.name.removeprefix(self.LETTER))

    def access_ports(self) -> list[dict]:
        """One `{"edge" (or "router"), "port", "interface"}` an access interface, in order of ports."""
        return [
            {self.KIND: self.edge, "port": port, "interface": intf.name}
            for port, intf in sorted(self.intfs.items())
            if intf.name != "lo"
        ]

    def start(self, _controllers) -> None:
        """Brings the interfaces up."""
        for port in self.access_ports():
            _prepare_interface(self, port["interface"], mtu(self.scenario))


class AccessRouter(AccessEdge):
    """The same of a router."""

    KIND, LETTER = "router", "r"


class ScenarioTopo(Topo):
    """A scenario's hosts, each linked to its edge."""

    def build(
        self, scenario: dict, edge_class: type[AccessEdge] = AccessEdge, receive_cpus: str | None = None, **edge_params,
    ):
        for edge in scenario["edges"]:
            self.addSwitch(f"e{edge['id']}", cls=edge_class, scenario=scenario, **edge_params)
        for host in hosts(scenario):
            _add_host(self, host, mtu=mtu(scenario), receive_cpus=receive_cpus)


class RoutedTopo(Topo):
    """The hosts of a network of routers, each linked to its router."""

    def build(self, scenario: dict, receive_cpus: str | None = None):
        for router in range(len(scenario["routers"])):
            self.addSwitch(f"r{router}", cls=AccessRouter, scenario=scenario)
        for host in routed_hosts(scenario):
            _add_host(self, host, mtu=mtu(scenario), receive_cpus=receive_cpus)


def _add_host(topo: Topo, host: HostId | RoutedHost, **options) -> None:
    topo.addHost(host.node, cls=AccessHost, ip=f"{host.ip}/8", mac=host.mac, **options)
    topo.addLink(host.node, host.switch, port1=0, port2=host.access_port)


def mtu(scenario: dict) -> int:
    """Largest IP packet of a scenario's hosts in bytes."""
    return scenario["packet_bytes"] if is_routed(scenario) else scenario["hosts"]["mtu"]


def start(scenario: dict, receive_cpus: str | None = None) -> Mininet:
    """Builds and starts a scenario's hosts in the current network namespace. Stop them with `.stop()`.

    `receive_cpus`: as `AccessHost` has it.
    """
    if os.geteuid() != 0:
        raise NetworkError("not root: hosts are network namespaces, and making them needs root")
    setLogLevel("warning")
    # Mininet raises system-wide limits when first used (fixLimits); the hosts' TCP stack is to stay as it is.
    Mininet.inited = True
    topo_class = RoutedTopo if is_routed(scenario) else ScenarioTopo
    net = Mininet(topo=topo_class(scenario, receive_cpus=receive_cpus), controller=None, build=False)
    try:
        net.start()
    except (Exception, KeyboardInterrupt):
        net.stop()
        raise
    return net


def access_ports(net: Mininet) -> list[dict]:
    """The access interfaces of all edges or routers, by their number and port."""
    edges = sorted(net.switches, key=lambda switch: switch.edge)
    return [port for switch in edges for port in switch.access_ports()]

