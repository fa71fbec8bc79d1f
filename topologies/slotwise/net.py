# SPDX-License-Identifier: Apache-2.0
"""Mininet classes for a scenario's hosts and the access side of its edges.

Hosts have the unmodified Linux TCP stack. Offloads are off at both ends of every access link, so that what arrives at
an edge are packets of the link's MTU with checksums that are already computed.
"""

import os
from collections.abc import Iterable
from typing import ClassVar

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, Switch
from mininet.topo import Topo

from slotwise.access import OFFLOADS_OFF
from slotwise.errors import SlotwiseError
from slotwise.process import end_all_in, open_network
from slotwise.scenario import hosts, ops_edges, routed_hosts, stations


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

    def startShell(self, *arguments, **options):
        """As Mininet has it; holds the host's network open."""
        super().startShell(*arguments, **options)
        self.network = open_network(self.pid)

    def terminate(self):
        """As Mininet has it, which ends the shell and its group; then all else that is left in the host's network, such as daemons."""
        super().terminate()
        network, self.network = self.network, None
        if network is not None:
            end_all_in(network)
            os.close(network)

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


class AccessSwitch(Switch):
    """The access interfaces of an edge (node `e<number>`), a router (`r<number>`), a station (`s<number>`) or an edge of optical packet
    switches (`o<number>`) in Mininet's own namespace: up, without an address. It forwards nothing itself. One class for all, since Mininet
    starts switches of one class together."""

    KINDS: ClassVar = {"e": "edge", "r": "router", "s": "station", "o": "opsedge"}
    """What the engine calls it, by the first letter of its node's name."""

    def __init__(self, name: str, scenario: dict, **params):
        super().__init__(name, **params)
        self.scenario = scenario

    @property
    def place(self) -> tuple[str, int]:
        """What it is, and its number in the scenario."""
        return self.KINDS[self.name[0]], int(self.name[1:])

    def access_ports(self) -> list[dict]:
        """One `{"edge" (or "router", "station", "opsedge"), "port", "interface"}` an access interface, in order of ports."""
        kind, number = self.place
        return [
            {kind: number, "port": port, "interface": intf.name}
            for port, intf in sorted(self.intfs.items())
            if intf.name != "lo"
        ]

    def start(self, _controllers) -> None:
        """Brings the interfaces up."""
        for port in self.access_ports():
            _prepare_interface(self, port["interface"], mtu(self.scenario, self.place[0]))


class ScenarioTopo(Topo):
    """A scenario's hosts, each linked to its edge, router, station or edge of optical packet switches."""

    def build(
        self,
        scenario: dict,
        switch_class: type[AccessSwitch] = AccessSwitch,
        receive_cpus: str | None = None,
        **switch_params,
    ):
        for name in _switches(scenario):
            self.addSwitch(name, cls=switch_class, scenario=scenario, **switch_params)
        for host in [*hosts(scenario), *routed_hosts(scenario)]:
            largest = mtu(scenario, AccessSwitch.KINDS[host.switch[0]])
            self.addHost(
                host.node, cls=AccessHost, ip=f"{host.ip}/8", mac=host.mac, mtu=largest, receive_cpus=receive_cpus
            )
            self.addLink(host.node, host.switch, port1=0, port2=host.access_port)


def _switches(scenario: dict) -> list[str]:
    """Names of the nodes of its edges, routers, stations, and edges of optical packet switches."""
    edges = [f"e{edge['id']}" for edge in scenario.get("edges", [])]
    routers = [f"r{router}" for router in range(len(scenario.get("routers", [])))]
    ring = [f"s{station}" for station in range(len(stations(scenario)))]
    return edges + routers + ring + [f"o{edge}" for edge in range(len(ops_edges(scenario)))]


def mtu(scenario: dict, kind: str) -> int:
    """Largest IP packet in bytes of a scenario's hosts at switches of a kind (`AccessSwitch.KINDS`)."""
    return scenario["hosts"]["mtu"] if kind == "edge" else scenario["packet_bytes"]


def start(scenario: dict, receive_cpus: str | None = None) -> Mininet:
    """Builds and starts a scenario's hosts in the current network namespace. Stop them with `.stop()`.

    `receive_cpus`: as `AccessHost` has it.
    """
    if os.geteuid() != 0:
        raise NetworkError("not root: hosts are network namespaces, and making them needs root")
    setLogLevel("warning")
    # Mininet raises system-wide limits when first used (fixLimits); the hosts' TCP stack is to stay as it is.
    Mininet.inited = True
    net = Mininet(topo=ScenarioTopo(scenario, receive_cpus=receive_cpus), controller=None, build=False)
    try:
        net.start()
    except (Exception, KeyboardInterrupt):
        net.stop()
        raise
    return net


def access_ports(net: Mininet) -> list[dict]:
    """The access interfaces of all switches, by their number and port."""
    return ports_of(net.switches)


def ports_of(switches: Iterable[AccessSwitch]) -> list[dict]:
    """The same of these."""
    return [port for switch in sorted(switches, key=lambda switch: switch.place) for port in switch.access_ports()]
