# SPDX-License-Identifier: Apache-2.0
"""`slotwise tunnel`: hosts on another machine join a live network, through VXLAN inside WireGuard.

```text
 near machine: slotwise emulate --attach                        far machine
   edge2 port 1 -- lab0 --+                                  +-- lab0: host h2_0
   edge2 port 2 -- lab1 --+-- VXLAN -- WireGuard == ... == --+-- lab1: host h2_1, in a namespace of its own if asked
   probes     ---- labp --+                                  +-- labp: answers
```

WireGuard is the kernel's, or wireguard-go where the kernel has none. It lets in who has the other end's key, and nobody else. VXLAN would take what anybody sends to its port;
so it is within a network namespace `lab-wg`, into which nothing leads but WireGuard.
"""
import argparse
import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from slotwise import scenario
from slotwise.access import OFFLOADS_OFF
from slotwise.errors import SlotwiseError, UnknownName
from slotwise.scenario import HostId, RoutedHost, ScenarioError

NAME = re.compile(r"[a-z][a-z0-9]{0,9}")
KEY = re.compile(r"[A-Za-z0-9+/]{43}=")
NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
"""For tests between devices (RFC 2544), so no network's own: four addresses a tunnel."""
NUMBERS = range(NETWORK.num_addresses // 4)
VXLAN_PORT = 4789
DEFAULT_PORT = 51820
MOST_HOSTS = 255
"""Each has a VXLAN network identifier of its own; probes have the next one."""
WIREGUARD_MTU = 1420
"""Fits 1500 bytes with IPv6 outside, as WireGuard's own tools have it."""
VXLAN_BYTES = 50
KEEPALIVE_S = 25


class TunnelError(SlotwiseError):
    """A tunnel cannot be made."""


class Tunnel(NamedTuple):
    """One end."""

    name: str
    side: str
    number: int
    hosts: list[HostId | RoutedHost]

    @property
    def wireguard(self) -> str:
        """Its WireGuard interface, and the namespace that has it."""
        return f"{self.name}-wg"

    @property
    def probes(self) -> str:
        """The interface over which it is measured."""
        return f"{self.name}p"

    @property
    def local(self) -> ipaddress.IPv4Address:
        """This end, of WireGuard and of probes, which are networks apart."""
        return self._address(self.side)

    @property
    def remote(self) -> ipaddress.IPv4Address:
        """The other end."""
        return self._address("far" if self.side == "near" else "near")

    @property
    def interfaces(self) -> list[str]:
        """All that is made of it in the machine's own namespace."""
        return [self.wireguard, self.probes, *map(self.interface, range(len(self.hosts)))]

    def _address(self, side: str) -> ipaddress.IPv4Address:
        return NETWORK[4 * self.number + (1 if side == "near" else 2)]

    def interface(self, index: int) -> str:
        """That of a host."""
        return f"{self.name}{index}"

    def entries(self) -> list[dict]:
        """Of these hosts in the list for `emulate --attach`, at the near end."""
        switches = {"r": "router", "s": "station", "o": "opsedge", "e": "edge"}
        return [
            {switches[host.switch[0]]: int(host.switch[1:]), "port": host.access_port, "interface": self.interface(index), "probe": str(self.remote)}
            for index, host in enumerate(self.hosts)
        ]


def chosen(document: dict, names: list[str]) -> list[HostId | RoutedHost]:
    """Hosts by name (`h2_0`, `lab.1`), or all of a switch (`edge2`; of others by the name in the file). Raises UnknownName."""
    by_name: dict[str, list[HostId | RoutedHost]] = {}
    for host in scenario.hosts(document):
        by_name[host.name] = [host]
        by_name.setdefault(f"edge{host.edge}", []).append(host)
    of_group = {group["name"]: next(group[key] for key in ("router", "station", "edge") if key in group) for group in scenario.groups(document)}
    for host in scenario.routed_hosts(document):
        by_name[host.name] = [host]
        by_name.setdefault(of_group[host.name.rpartition(".")[0]], []).append(host)
    found = []
    for name in names:
        if name not in by_name:
            raise UnknownName("host or switch", name, by_name, f"scenario '{document.get('name')}'")
        found += [host for host in by_name[name] if host not in found]
    if len(found) > MOST_HOSTS:
        raise TunnelError(f"{len(found)} hosts; expected at most {MOST_HOSTS} a tunnel")
    return found


def new_key(file: Path) -> str:
    """Writes a new private key to a file that only its owner may read; the public one. Raises TunnelError."""
    private = _said("wg", "genkey")
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(private)
    except OSError as error:
        raise TunnelError(f"{file}: {error.strerror}; expected a file that is not there yet") from error
    return _said("wg", "pubkey", text=private).strip()


def up(tunnel: Tunnel, *, key: Path, peer: str, to: str | None, listen: int, mtu: int, namespaces: bool) -> None:
    """Makes this end. What there is of it when something fails is taken away. Raises TunnelError."""
    if not KEY.fullmatch(peer):
        raise TunnelError(f"--peer: '{peer}' is no public key; expected the 44 characters that `slotwise tunnel key` says at the other end")
    if key.stat().st_mode & 0o077:
        raise TunnelError(f"{key}: others may read it; expected a file of mode 600")
    there = _interfaces()
    for interface in tunnel.interfaces:
        if interface in there:
            raise TunnelError(f"interface {interface} is there already; `slotwise tunnel down {tunnel.name}` takes it away, or choose another name")
    try:
        _said("ip", "netns", "add", tunnel.wireguard)
        _wireguard(tunnel.wireguard)
        endpoint = ["endpoint", to] if to else []
        _said(
            "wg", "set", tunnel.wireguard, "private-key", str(key), "listen-port", str(listen),
            "peer", peer, "allowed-ips", f"{tunnel.remote}/32", "persistent-keepalive", str(KEEPALIVE_S), *endpoint,
        )
        # What it sends and receives outside stays in this namespace.
        _said("ip", "link", "set", tunnel.wireguard, "netns", tunnel.wireguard)
        within = ["ip", "-n", tunnel.wireguard]
        _said(*within, "address", "add", f"{tunnel.local}/30", "dev", tunnel.wireguard)
        _said(*within, "link", "set", tunnel.wireguard, "mtu", str(mtu), "up")
        _vxlan(tunnel, tunnel.probes, MOST_HOSTS)
        _said("ip", "address", "add", f"{tunnel.local}/30", "dev", tunnel.probes)
        _said("ip", "link", "set", tunnel.probes, "mtu", str(mtu - VXLAN_BYTES), "up")
        for index, host in enumerate(tunnel.hosts):
            _join(tunnel, index, host, mtu - VXLAN_BYTES, namespaces)
    except TunnelError:
        down(tunnel.name)
        raise


def _vxlan(tunnel: Tunnel, interface: str, index: int, namespace: str | None = None) -> None:
    """Makes an interface whose packets go through WireGuard, in this process's namespace or another."""
    _said(
        "ip", "-n", tunnel.wireguard, "link", "add", interface, "type", "vxlan", "id", str(tunnel.number * (MOST_HOSTS + 1) + index),
        "dstport", str(VXLAN_PORT), "local", str(tunnel.local), "remote", str(tunnel.remote), "nolearning",
    )
    _said("ip", "-n", tunnel.wireguard, "link", "set", interface, "netns", namespace or str(os.getpid()))


def _join(tunnel: Tunnel, index: int, host: HostId | RoutedHost, mtu: int, namespaces: bool) -> None:
    """The interface of a host, at either end."""
    interface, within, namespace = tunnel.interface(index), [], None
    if tunnel.side == "far" and namespaces:
        namespace = f"{tunnel.name}-{host.node}"
        _said("ip", "netns", "add", namespace)
        within = ["ip", "netns", "exec", namespace]
        _said(*within, "ip", "link", "set", "lo", "up")
    _vxlan(tunnel, interface, index, namespace)
    # What arrives at an edge are single packets with checksums, and nothing of this machine's own.
    _said(*within, "ethtool", "-K", interface, *OFFLOADS_OFF.split())
    _said(*within, "sh", "-c", f"f=/proc/sys/net/ipv6/conf/{interface}/disable_ipv6; if [ -e $f ]; then echo 1 > $f; fi")
    if tunnel.side == "far":
        _said(*within, "ip", "link", "set", interface, "address", host.mac)
        _said(*within, "ip", "address", "add", f"{host.ip}/8", "dev", interface)
    _said(*within, "ip", "link", "set", interface, "mtu", str(mtu), "up")


def down(name: str) -> None:
    """Takes an end away, however far it was made. Raises TunnelError."""
    own, wireguard = re.compile(rf"{name}([0-9]+|p)"), f"{name}-wg"
    for interface in filter(own.fullmatch, _interfaces("vxlan")):
        _said("ip", "link", "delete", interface)
    for namespace in [each["name"] for each in json.loads(_said("ip", "-j", "netns", "list") or "[]")]:
        if namespace.startswith(f"{name}-") and any(own.fullmatch(each) for each in _interfaces("vxlan", namespace)):
            _said("ip", "netns", "delete", namespace)
    # A wireguard-go behind it ends.
    if wireguard in _interfaces(namespace=wireguard):
        _said("ip", "-n", wireguard, "link", "delete", wireguard)
    if wireguard in _interfaces():
        _said("ip", "link", "delete", wireguard)
    if Path("/run/netns", wireguard).exists():
        _said("ip", "netns", "delete", wireguard)


def _interfaces(kind: str | None = None, namespace: str | None = None) -> list[str]:
    """Names of those that there are, here or in a namespace, of a kind. Of a namespace that cannot be entered none."""
    where, which = ["-n", namespace] if namespace else [], ["type", kind] if kind else []
    try:
        links = json.loads(_said("ip", *where, "-j", "link", "show", *which) or "[]")
    except TunnelError:
        return []
    return [link["ifname"] for link in links if "ifname" in link]


def _wireguard(interface: str) -> None:
    """Makes a WireGuard interface. Raises TunnelError."""
    try:
        _said("ip", "link", "add", interface, "type", "wireguard")
    except TunnelError as error:
        if not shutil.which("wireguard-go"):
            raise TunnelError(f"{error}; expected a kernel with WireGuard, or wireguard-go (Debian: apt install wireguard-go)") from error
        _said("wireguard-go", interface)


def _said(*command: str, text: str | None = None) -> str:
    """What a command prints. Raises TunnelError."""
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        packages = {"wg": "wireguard-tools", "ip": "iproute2"}
        raise TunnelError(f"{command[0]}: not there; Debian: apt install {packages.get(command[0], command[0])}") from error
    if done.returncode != 0:
        # wireguard-go has its advice in a box.
        lines = [line for line in done.stderr.splitlines() if not re.match("[\u2502\u250c\u2514]", line)]
        reason = " ".join(" ".join(lines).split()) or f"status {done.returncode}"
        raise TunnelError(f"{' '.join(command[:6])} ...: {reason}")
    return done.stdout


def _listed(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}': expected a small letter, then up to 9 small letters and digits")
    return text


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) not in NUMBERS:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number from 0 to {NUMBERS[-1]}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="slotwise tunnel", description="Hosts on another machine join a live network (docs/tunnels.md). Needs root.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    key = commands.add_parser("key", help="write a new private key to FILE, and print the public one, which the other end is told", allow_abbrev=False)
    key.add_argument("file", type=Path, metavar="FILE")
    ups = commands.add_parser("up", help="make one end; the near one prints the list for `slotwise emulate --attach`", allow_abbrev=False)
    ups.add_argument("name", type=_name, metavar="NAME", help="what its interfaces begin with")
    ups.add_argument("--side", choices=["near", "far"], required=True, help="near: where the network is; far: where the hosts are")
    ups.add_argument("--scenario", type=Path, required=True, metavar="FILE", help="the same at both ends")
    ups.add_argument("--hosts", type=_listed, required=True, metavar="NAMES", help="hosts (h2_0) or whole switches (edge2), with commas; the same at both ends")
    ups.add_argument("--key", type=Path, required=True, metavar="FILE", help="this end's private key")
    ups.add_argument("--peer", required=True, metavar="KEY", help="the other end's public key")
    ups.add_argument("--to", metavar="HOST:PORT", help="where the other end is; one end may leave it out, and waits")
    ups.add_argument("--listen", type=int, default=DEFAULT_PORT, metavar="PORT", help=f"UDP port of this end; {DEFAULT_PORT} unless given")
    ups.add_argument("--number", type=_number, default=0, metavar="N", help="tells tunnels of one machine apart; the same at both ends, 0 unless given")
    ups.add_argument("--mtu", type=int, default=WIREGUARD_MTU, metavar="BYTES", help=f"of WireGuard; hosts have {VXLAN_BYTES} less; {WIREGUARD_MTU} unless given")
    ups.add_argument("--namespaces", action="store_true", help="at the far end, each host in a network namespace NAME-HOST; needed for more than one")
    downs = commands.add_parser("down", help="take an end away", allow_abbrev=False)
    downs.add_argument("name", type=_name, metavar="NAME")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command == "key":
            print(new_key(options.file))
        elif options.command == "down":
            down(options.name)
        else:
            tunnel = Tunnel(options.name, options.side, options.number, chosen(scenario.load(options.scenario), options.hosts))
            if not tunnel.hosts:
                parser.error("--hosts: expected at least one")
            if tunnel.side == "far" and len(tunnel.hosts) > 1 and not options.namespaces:
                parser.error(f"{len(tunnel.hosts)} hosts of one network on one machine: expected --namespaces")
            up(tunnel, key=options.key, peer=options.peer, to=options.to, listen=options.listen, mtu=options.mtu, namespaces=options.namespaces)
            if tunnel.side == "near":
                print(json.dumps(tunnel.entries()))
    except (SlotwiseError, ScenarioError, OSError) as error:
        print(f"slotwise tunnel: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
