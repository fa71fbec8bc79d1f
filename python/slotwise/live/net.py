# SPDX-License-Identifier: Apache-2.0
"""Mininet classes for a scenario's hosts and the access side of its edges.

Hosts have the unmodified Linux TCP stack. Offloads are off at both ends of every access link, so that what arrives at
an edge are packets of the link's MTU with checksums that are already computed.
"""

import os
from collections.abc import Iterable
from typing import Any

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, Switch
from mininet.topo import Topo

from slotwise.errors import SlotwiseError
from slotwise.live import OFFLOADS_OFF
from slotwise.live.process import end_all_in, open_network
from slotwise.resolved import Node as Access
from slotwise.resolved import Resolved


class NetworkError(SlotwiseError):
    """Failure to build the hosts."""


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

    `receive_cpus`: hexadecimal mask of the CPUs that process arriving packets (receive packet steering), in place of the sending
    thread, which for an edge's packets is the emulator's.
    """

    def startShell(self, *arguments: Any, **options: Any) -> None:
        """Starts the shell as Mininet does, and holds the host's network namespace open."""
        super().startShell(*arguments, **options)
        self.network = open_network(self.pid)

    def terminate(self) -> None:
        """Ends the shell and its group as Mininet does, then all other processes in the host's network, such as daemons."""
        super().terminate()
        network, self.network = self.network, None
        if network is not None:
            end_all_in(network)
            os.close(network)

    def cmd(self, *arguments: Any, **options: Any) -> str:
        """Runs a command as Mininet does; empty output if the host's shell has ended, since Mininet would wait forever."""
        return super().cmd(*arguments, **options) if self.shell and self.shell.poll() is None else ""

    def config(self, mtu: int = 1500, receive_cpus: str | None = None, **params: Any) -> dict:
        """Configures the interface; called by Mininet."""
        result = super().config(**params)
        interface = self.defaultIntf().name
        _prepare_interface(self, interface, mtu)
        if receive_cpus:
            # A kernel without steering lacks the file: packets arrive all the same.
            self.pexec("sh", "-c", f"echo {receive_cpus} > /sys/class/net/{interface}/queues/rx-0/rps_cpus")
        return result


class AccessSwitch(Switch):
    """Access interfaces of an edge, a router, a ring station or an OPS edge in Mininet's root namespace: up, without an address. It
    forwards nothing itself. One class for all, since Mininet starts switches of one class together."""

    def __init__(self, name: str, access: Access, **params: Any):
        super().__init__(name, **params)
        self.access = access

    @property
    def place(self) -> tuple[str, int]:
        """Type of the switch, and its number in the scenario."""
        return self.access.kind, self.access.number

    def access_ports(self) -> list[dict]:
        """One `{"edge" (or "router", "station", "ops-edge"), "port", "interface"}` per access interface, ordered by port."""
        return [
            {self.access.kind: self.access.number, "port": port, "interface": intf.name}
            for port, intf in sorted(self.intfs.items())
            if intf.name != "lo"
        ]

    def start(self, _controllers: object) -> None:
        """Brings the interfaces up."""
        for port in self.access_ports():
            _prepare_interface(self, port["interface"], self.access.mtu)


class ScenarioTopo(Topo):
    """Hosts of a scenario, each linked to its edge, router, ring station or OPS edge."""

    def build(
        self,
        resolved: Resolved,
        switch_class: type[AccessSwitch] = AccessSwitch,
        receive_cpus: str | None = None,
        **switch_params: Any,
    ) -> None:
        """Adds switches, hosts and the links between them; called by Mininet."""
        mtus = {}
        for node in resolved.nodes:
            self.addSwitch(node.name, cls=switch_class, access=node, **switch_params)
            mtus[node.name] = node.mtu
        for host in resolved.hosts:
            self.addHost(
                host.node,
                cls=AccessHost,
                ip=f"{host.address}/{host.prefix}",
                mac=host.mac,
                mtu=mtus[host.switch],
                receive_cpus=receive_cpus,
            )
            self.addLink(host.node, host.switch, port1=0, port2=host.port, intfName2=host.interface)


def start(resolved: Resolved, receive_cpus: str | None = None) -> Mininet:
    """Builds and starts a scenario's hosts in the current network namespace. Stop them with `.stop()`.

    `receive_cpus`: see `AccessHost`.
    """
    if os.geteuid() != 0:
        raise NetworkError("not root; expected root, which is required to create hosts (network namespaces)")
    setLogLevel("warning")
    # Mininet raises system-wide limits when first used (fixLimits); the hosts' TCP stack is to stay as it is.
    Mininet.inited = True
    net = Mininet(topo=ScenarioTopo(resolved, receive_cpus=receive_cpus), controller=None, build=False)
    try:
        net.start()
    except (Exception, KeyboardInterrupt):
        net.stop()
        raise
    return net


def access_ports(net: Mininet) -> list[dict]:
    """Access interfaces of all switches, ordered by number and port."""
    return ports_of(net.switches)


def ports_of(switches: Iterable[AccessSwitch]) -> list[dict]:
    """Access interfaces of these switches, ordered by number and port."""
    return [port for switch in sorted(switches, key=lambda switch: switch.place) for port in switch.access_ports()]
