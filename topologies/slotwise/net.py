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
from slotwise.scenario import HostId, hosts

OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off"


class NetworkError(SlotwiseError):
    """The hosts cannot be built."""


def edge_name(edge: int) -> str:
    """Name of an edge's Mininet node; its interfaces are `e<edge>-eth<access port>`."""
    return f"e{edge}"


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
    """An edge's access interfaces in Mininet's own namespace: up, without an address. It forwards nothing itself."""

    def __init__(self, name: str, scenario: dict, **params):
        super().__init__(name, **params)
        self.scenario = scenario

    @property
    def edge(self) -> int:
        """Number of the edge in the scenario."""
        return int(self.name.removeprefix("e"))

    def access_ports(self) -> list[dict]:
        """One `{"edge", "port", "interface"}` an access interface, in order of ports."""
        return [
            {"edge": self.edge, "port": port, "interface": intf.name}
            for port, intf in sorted(self.intfs.items())
            if intf.name != "lo"
        ]

    def start(self, _controllers) -> None:
        """Brings the interfaces up."""
        for port in self.access_ports():
            _prepare_interface(self, port["interface"], self.scenario["hosts"]["mtu"])


class ScenarioTopo(Topo):
    """A scenario's hosts, each linked to its edge."""

    def build(
        self, scenario: dict, edge_class: type[AccessEdge] = AccessEdge, receive_cpus: str | None = None, **edge_params,
    ):
        for edge in scenario["edges"]:
            self.addSwitch(edge_name(edge["id"]), cls=edge_class, scenario=scenario, **edge_params)
        for host in hosts(scenario):
            self._add_host(host, mtu=scenario["hosts"]["mtu"], receive_cpus=receive_cpus)

    def _add_host(self, host: HostId, **options) -> None:
        self.addHost(host.name, cls=AccessHost, ip=f"{host.ip}/8", mac=host.mac, **options)
        self.addLink(host.name, edge_name(host.edge), port1=0, port2=host.access_port)


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
    """The access interfaces of all edges, by edge and port."""
    edges = sorted(net.switches, key=lambda switch: switch.edge)
    return [port for switch in edges for port in switch.access_ports()]

