# SPDX-License-Identifier: Apache-2.0
"""`slotwise tunnel`: connect hosts on another machine to an emulated network, through VXLAN inside WireGuard.

```text
 near machine: slotwise emulate --attach                        far machine
   edge2 port 1 -- lab0 --+                                  +-- lab0: host h2_0
   edge2 port 2 -- lab1 --+-- VXLAN -- WireGuard == ... == --+-- lab1: host h2_1, with --namespaces in a separate one
   probes     ---- labp --+                                  +-- labp: replies
```

WireGuard is the kernel's, or wireguard-go if the kernel has none; it accepts only packets with the other end's key. VXLAN accepts any packet sent
to its port, so it is in a network namespace `lab-wg` that only WireGuard connects.
"""

import argparse
import fcntl
import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from slotwise import scenario
from slotwise.errors import SlotwiseError, UnknownName
from slotwise.live.access import OFFLOADS_OFF
from slotwise.scenario import HostId, RoutedHost, ScenarioError

NAME = re.compile(r"[a-z][a-z0-9]{0,9}")
KEY = re.compile(r"[A-Za-z0-9+/]{43}=")
NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
"""Block for tests between devices (RFC 2544), unused by networks; four addresses per tunnel."""
NUMBERS = range(NETWORK.num_addresses // 4)
VXLAN_PORT = 4789
DEFAULT_PORT = 51820
MOST_HOSTS = 255
"""Limit on hosts, which have a VXLAN network identifier each; probes have the next one."""
WIREGUARD_MTU = 1420
"""MTU that fits 1500 bytes with IPv6 outside, the default of WireGuard's tools."""
VXLAN_BYTES = 50
KEEPALIVE_S = 25
PORTS = range(1, 1 << 16)
MTUS = range(576, 1 << 16)
"""MTUs, from the size that each IPv4 host accepts (RFC 791)."""
NAMESPACES = "/run/netns"
LOCK = Path("/run/slotwise-tunnel.lock")
"""Held while tunnels of the machine are checked and changed."""
MARK = "slotwise-tunnel"
"""Alias of `lo` in the namespaces that have WireGuard."""


class TunnelError(SlotwiseError):
    """Failure to create a tunnel."""


class Tunnel(NamedTuple):
    """One end of a tunnel."""

    name: str
    side: str
    number: int
    hosts: list[HostId | RoutedHost]

    @property
    def wireguard(self) -> str:
        """Name of the WireGuard interface, and of its namespace."""
        return f"{self.name}-wg"

    @property
    def probes(self) -> str:
        """Name of the interface for probes."""
        return f"{self.name}p"

    @property
    def local(self) -> ipaddress.IPv4Address:
        """Address of this end, in the separate networks of WireGuard and of probes."""
        return self._address(self.side)

    @property
    def remote(self) -> ipaddress.IPv4Address:
        """Address of the other end."""
        return self._address("far" if self.side == "near" else "near")

    @property
    def interfaces(self) -> list[str]:
        """Names of all interfaces in the machine's root namespace."""
        return [self.wireguard, self.probes, *map(self.interface, range(len(self.hosts)))]

    def namespace(self, host: HostId | RoutedHost) -> str:
        """Name of a host's namespace at the far end, with --namespaces."""
        return f"{self.name}-{host.node}"

    def _address(self, side: str) -> ipaddress.IPv4Address:
        return NETWORK[4 * self.number + (1 if side == "near" else 2)]

    def interface(self, index: int) -> str:
        """Name of a host's interface."""
        return f"{self.name}{index}"

    def entries(self) -> list[dict]:
        """Entries of the hosts in the list for `emulate --attach`, at the near end."""
        switches = {"r": "router", "s": "station", "o": "opsedge", "e": "edge"}
        return [
            {
                switches[host.switch[0]]: int(host.switch[1:]),
                "port": host.access_port,
                "interface": self.interface(index),
                "probe": str(self.remote),
            }
            for index, host in enumerate(self.hosts)
        ]


def chosen(document: dict, names: list[str]) -> list[HostId | RoutedHost]:
    """Hosts by name (`h2_0`, `lab.1`), or all hosts of a switch (`edge2`; others by name in the file). Raises UnknownName."""
    by_name: dict[str, list[HostId | RoutedHost]] = {}
    for host in scenario.hosts(document):
        by_name[host.name] = [host]
        by_name.setdefault(f"edge{host.edge}", []).append(host)
    of_group = {group["name"]: group["at"] for group in scenario.groups(document)}
    for host in scenario.routed_hosts(document):
        by_name[host.name] = [host]
        by_name.setdefault(of_group[host.name.rpartition(".")[0]], []).append(host)
    found = []
    for name in names:
        if name not in by_name:
            raise UnknownName("host or switch", name, by_name, f"scenario '{document.get('name')}'")
        found += [host for host in by_name[name] if host not in found]
    if len(found) > MOST_HOSTS:
        raise TunnelError(f"{len(found)} hosts; expected at most {MOST_HOSTS} per tunnel")
    return found


def new_key(file: Path) -> str:
    """Writes a new private key to a file that only its owner can read, and returns the public key. Raises TunnelError."""
    private = _said("wg", "genkey")
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(private)
    except OSError as error:
        raise TunnelError(f"{file}: {error.strerror}; expected a new file") from error
    return _said("wg", "pubkey", text=private).strip()


def up(tunnel: Tunnel, *, key: Path, peer: str, to: str | None, listen: int, mtu: int, namespaces: bool) -> None:
    """Creates this end. After a failure, everything created is removed again. Raises TunnelError."""
    if not KEY.fullmatch(peer):
        raise TunnelError(
            f"--peer: '{peer}' is not a public key; expected the 44 characters printed by `slotwise tunnel key` at the other end"
        )
    _check_key(key)
    if to:
        _check_endpoint(to)
    with _locked():
        _check_names(tunnel, namespaces)
        _check_number(tunnel)
        with ExitStack() as made:
            _make(tunnel, made, key=key, peer=peer, to=to, listen=listen, mtu=mtu, namespaces=namespaces)
            made.pop_all()


@contextmanager
def _locked() -> Iterator[None]:
    """Keeps other tunnel commands of the machine waiting. Raises TunnelError."""
    try:
        lock = LOCK.open("a")
    except OSError as error:
        raise TunnelError(f"{LOCK}: {error.strerror}; expected to run as root") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_names(tunnel: Tunnel, namespaces: bool) -> None:
    """Refuses names of interfaces and namespaces that are in use. Raises TunnelError."""
    there = _interfaces()
    for interface in tunnel.interfaces:
        if interface in there:
            raise TunnelError(
                f"interface {interface} already exists; run `slotwise tunnel down {tunnel.name}`, or use another name"
            )
    for namespace in [
        tunnel.wireguard,
        *(map(tunnel.namespace, tunnel.hosts) if namespaces and tunnel.side == "far" else []),
    ]:
        if Path(NAMESPACES, namespace).exists():
            raise TunnelError(
                f"namespace {namespace} already exists; run `slotwise tunnel down {tunnel.name}` if it belongs to a tunnel, or use another name"
            )


def _check_number(tunnel: Tunnel) -> None:
    """Rejects the number of another tunnel: neither end's address may exist in the root namespace, since packets between two addresses of one
    machine do not leave it, nor this end's address in namespaces of tunnels. Raises TunnelError."""
    for namespace in [None, *(each for each in _namespaces() if each.endswith("-wg"))]:
        wanted = {str(tunnel.local)} if namespace else {str(tunnel.local), str(tunnel.remote)}
        for interface, addresses in _addresses(namespace).items():
            if taken := wanted.intersection(addresses):
                where = f" in namespace {namespace}" if namespace else ""
                raise TunnelError(
                    f"--number: {tunnel.number}: interface {interface}{where} already has its address {min(taken)}; expected a number that is unique "
                    "among the tunnels of this machine, and the same at both ends"
                )


def _check_key(key: Path) -> None:
    try:
        mode = key.stat().st_mode
    except OSError as error:
        raise TunnelError(f"--key: {key}: {error.strerror}; create it with `slotwise tunnel key {key}`") from error
    if mode & 0o077:
        raise TunnelError(f"{key}: readable by other users; expected a file of mode 600")


def _check_endpoint(to: str) -> None:
    """Checks an endpoint, since `wg` takes ports modulo 2^16, and keeps looking up unknown names. Raises TunnelError."""
    host, _, port = to.rpartition(":")
    if not host or not port.isdecimal() or int(port) not in PORTS:
        raise TunnelError(f"--to: '{to}'; expected HOST:PORT, the port from {PORTS[0]} to {PORTS[-1]}")
    try:
        socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), int(port), type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise TunnelError(f"--to: '{host}': cannot be resolved: {getattr(error, 'strerror', error)}") from error


def _make(
    tunnel: Tunnel, made: ExitStack, *, key: Path, peer: str, to: str | None, listen: int, mtu: int, namespaces: bool
) -> None:
    """Creates this end, and adds its removal to `made`. Raises TunnelError."""
    # Marked before it has a name: `down` removes no other namespace, however early this was killed.
    marked = f'ip link set lo alias {MARK} && exec ip netns attach "$0" $$'
    _said("unshare", "--net", "sh", "-c", marked, tunnel.wireguard)
    made.callback(_try, "ip", "netns", "delete", tunnel.wireguard)
    _wireguard(tunnel.wireguard)
    made.callback(_try, "ip", "-n", tunnel.wireguard, "link", "delete", tunnel.wireguard)
    made.callback(_try, "ip", "link", "delete", tunnel.wireguard)
    endpoint = ["endpoint", to] if to else []
    _said(
        "wg",
        "set",
        tunnel.wireguard,
        "private-key",
        str(key),
        "listen-port",
        str(listen),
        "peer",
        peer,
        "allowed-ips",
        f"{tunnel.remote}/32",
        "persistent-keepalive",
        str(KEEPALIVE_S),
        *endpoint,
    )
    # What it sends and receives outside stays in this namespace.
    _said("ip", "link", "set", tunnel.wireguard, "netns", tunnel.wireguard)
    within = ["ip", "-n", tunnel.wireguard]
    _said(*within, "address", "add", f"{tunnel.local}/30", "dev", tunnel.wireguard)
    _said(*within, "link", "set", tunnel.wireguard, "mtu", str(mtu), "up")
    _vxlan(tunnel, made, tunnel.probes, MOST_HOSTS)
    _said("ip", "address", "add", f"{tunnel.local}/30", "dev", tunnel.probes)
    _said("ip", "link", "set", tunnel.probes, "mtu", str(mtu - VXLAN_BYTES), "up")
    for index, host in enumerate(tunnel.hosts):
        _join(tunnel, made, index, host, mtu - VXLAN_BYTES, namespaces)


def _vxlan(tunnel: Tunnel, made: ExitStack, interface: str, index: int, namespace: str | None = None) -> None:
    """Creates an interface whose packets go through WireGuard, in this process's namespace or a new one."""
    _said(
        "ip",
        "-n",
        tunnel.wireguard,
        "link",
        "add",
        interface,
        "type",
        "vxlan",
        "id",
        str(tunnel.number * (MOST_HOSTS + 1) + index),
        "dstport",
        str(VXLAN_PORT),
        "local",
        str(tunnel.local),
        "remote",
        str(tunnel.remote),
        "nolearning",
    )
    made.callback(_try, "ip", "-n", tunnel.wireguard, "link", "delete", interface)
    if namespace:
        # Until the interface is in it, nothing in the namespace tells `down` that it is the tunnel's.
        _said("ip", "-n", tunnel.wireguard, "link", "set", interface, "alias", namespace)
        _said("ip", "netns", "add", namespace)
        made.callback(_try, "ip", "netns", "delete", namespace)
    _said("ip", "-n", tunnel.wireguard, "link", "set", interface, "netns", namespace or str(os.getpid()))
    where = ["-n", namespace] if namespace else []
    made.callback(_try, "ip", *where, "link", "delete", interface)


def _join(tunnel: Tunnel, made: ExitStack, index: int, host: HostId | RoutedHost, mtu: int, namespaces: bool) -> None:
    """Creates the interface of a host, at either end."""
    interface, within, namespace = tunnel.interface(index), [], None
    if tunnel.side == "far" and namespaces:
        namespace = tunnel.namespace(host)
        within = ["ip", "netns", "exec", namespace]
    _vxlan(tunnel, made, interface, index, namespace)
    if namespace:
        _said(*within, "ip", "link", "set", "lo", "up")
    # What arrives at an edge are single packets with checksums, and nothing of this machine's own.
    _said(*within, "ethtool", "-K", interface, *OFFLOADS_OFF.split())
    _said(
        *within, "sh", "-c", f"f=/proc/sys/net/ipv6/conf/{interface}/disable_ipv6; if [ -e $f ]; then echo 1 > $f; fi"
    )
    if tunnel.side == "far":
        _said(*within, "ip", "link", "set", interface, "address", host.mac)
        _said(*within, "ip", "address", "add", f"{host.ip}/8", "dev", interface)
    _said(*within, "ip", "link", "set", interface, "mtu", str(mtu), "up")


def down(name: str) -> None:
    """Removes an end. Raises TunnelError, also if no end has that name."""
    with _locked():
        if not _remove(name):
            raise TunnelError(f"tunnel {name}: not found; expected the name of a tunnel of this machine")


def _remove(name: str) -> bool:
    """Removes an end, complete or not. Its namespace with WireGuard is created first and deleted last, and identifies the
    rest by name and address, since `lab10` can belong to `lab` or to `lab1`. Returns true if there was anything. Raises
    TunnelError."""
    own, wireguard = re.compile(rf"{name}([0-9]+|p)"), f"{name}-wg"
    within, here = _interfaces(wireguard), _vxlans()
    # A namespace that cannot be entered is left from an end that was being created.
    is_marked = any(link.get("ifalias") == MARK for link in _links(wireguard))
    if within and not is_marked and wireguard not in within:
        raise TunnelError(f"namespace {wireguard}: not made by `slotwise tunnel`; expected a namespace of a tunnel")
    found = False
    address = next(iter(_addresses(wireguard).get(wireguard, [])), None) or here.get(f"{name}p")
    announced = {link.get("ifalias") for link in _links(wireguard, "type", "vxlan")}
    for namespace in _namespaces():
        is_own = any(own.fullmatch(each) and of_each == address for each, of_each in _vxlans(namespace).items())
        if namespace.startswith(f"{name}-") and namespace != wireguard and (is_own or namespace in announced):
            _said("ip", "netns", "delete", namespace)
            found = True
    for interface in [each for each, of_each in here.items() if own.fullmatch(each) and of_each == address]:
        _said("ip", "link", "delete", interface)
        found = True
    # A wireguard-go behind it ends.
    if wireguard in within:
        _said("ip", "-n", wireguard, "link", "delete", wireguard)
    if wireguard in _interfaces():
        _said("ip", "link", "delete", wireguard)
        found = True
    # Interfaces of VXLAN that went out of it end with it, wherever they are.
    if Path(NAMESPACES, wireguard).exists():
        _said("ip", "netns", "delete", wireguard)
        found = True
    return found


def _namespaces() -> list[str]:
    """Names of the machine's namespaces."""
    return [each["name"] for each in json.loads(_said("ip", "-j", "netns", "list") or "[]")]


def _vxlans(namespace: str | None = None) -> dict[str, str]:
    """VXLAN interfaces in the root namespace or another one, each with its local address."""
    return {
        link["ifname"]: link.get("linkinfo", {}).get("info_data", {}).get("local", "")
        for link in _links(namespace, "type", "vxlan")
    }


def _addresses(namespace: str | None = None) -> dict[str, list[str]]:
    """Addresses of interfaces in the root namespace or another one."""
    return {
        each["ifname"]: [address["local"] for address in each["addr_info"] if "local" in address]
        for each in _shown(namespace, "address", "show")
    }


def _interfaces(namespace: str | None = None) -> list[str]:
    """Names of interfaces in the root namespace or another one."""
    return [link["ifname"] for link in _links(namespace)]


def _links(namespace: str | None, *which: str) -> list[dict]:
    """Interfaces in the root namespace or another one, with all properties."""
    return _shown(namespace, "link", "show", *which)


def _shown(namespace: str | None, *words: str) -> list[dict]:
    """Output of `ip`, one element per interface; empty for a namespace that cannot be entered."""
    where = ["-n", namespace] if namespace else []
    try:
        shown = json.loads(_said("ip", *where, "-j", "-d", *words) or "[]")
    except TunnelError:
        return []
    return [each for each in shown if "ifname" in each]


def _try(*command: str) -> None:
    """Runs a command that may fail because its object no longer exists."""
    with suppress(TunnelError):
        _said(*command)


def _wireguard(interface: str) -> None:
    """Creates a WireGuard interface. Raises TunnelError."""
    try:
        _said("ip", "link", "add", interface, "type", "wireguard")
    except TunnelError as error:
        if not shutil.which("wireguard-go"):
            raise TunnelError(
                f"{error}; expected a kernel with WireGuard, or wireguard-go (Debian: apt install wireguard-go)"
            ) from error
        _said("wireguard-go", interface)


def _said(*command: str, text: str | None = None) -> str:
    """Runs a command and returns its standard output. Raises TunnelError."""
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        packages = {"wg": "wireguard-tools", "ip": "iproute2"}
        raise TunnelError(
            f"{command[0]}: command not found; on Debian: apt install {packages.get(command[0], command[0])}"
        ) from error
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
        raise argparse.ArgumentTypeError(
            f"'{text}': expected a lower-case letter, then up to 9 lower-case letters and digits"
        )
    return text


def _in(numbers: range) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) not in numbers:
            raise argparse.ArgumentTypeError(f"'{text}': expected an integer from {numbers[0]} to {numbers[-1]}")
        return int(text)

    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slotwise tunnel",
        description="Connect hosts on another machine to an emulated network (docs/tunnels.md). Needs root.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    key = commands.add_parser(
        "key",
        help="write a new private key to FILE, and print the public key for --peer at the other end",
        allow_abbrev=False,
    )
    key.add_argument("file", type=Path, metavar="FILE", help="new file for the private key")
    ups = commands.add_parser(
        "up", help="create one end; the near one prints the list for `slotwise emulate --attach`", allow_abbrev=False
    )
    ups.add_argument("name", type=_name, metavar="NAME", help="prefix of interface names")
    ups.add_argument(
        "--side", choices=["near", "far"], required=True, help="near: machine of the network; far: machine of the hosts"
    )
    ups.add_argument(
        "--scenario", type=Path, required=True, metavar="FILE", help="scenario file, the same at both ends"
    )
    ups.add_argument(
        "--hosts",
        type=_listed,
        required=True,
        metavar="NAMES",
        help="comma-separated hosts (h2_0) or switches with all hosts (edge2), the same at both ends",
    )
    ups.add_argument("--key", type=Path, required=True, metavar="FILE", help="private key of this end")
    ups.add_argument("--peer", required=True, metavar="KEY", help="public key of the other end")
    ups.add_argument("--to", metavar="HOST:PORT", help="address of the other end; one end can omit it and waits")
    ups.add_argument(
        "--listen",
        type=_in(PORTS),
        default=DEFAULT_PORT,
        metavar="PORT",
        help="UDP port of this end [default: %(default)s]",
    )
    ups.add_argument(
        "--number",
        type=_in(NUMBERS),
        default=0,
        metavar="N",
        help="number of the tunnel, unique on a machine, the same at both ends [default: %(default)s]",
    )
    ups.add_argument(
        "--mtu",
        type=_in(MTUS),
        default=WIREGUARD_MTU,
        metavar="BYTES",
        help=f"MTU of WireGuard; hosts have {VXLAN_BYTES} less [default: %(default)s]",
    )
    ups.add_argument(
        "--namespaces",
        action="store_true",
        help="at the far end, put each host in a network namespace NAME-HOST; required for more than one host",
    )
    downs = commands.add_parser("down", help="remove one end", allow_abbrev=False)
    downs.add_argument("name", type=_name, metavar="NAME", help="prefix of interface names")
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
            tunnel = Tunnel(
                options.name, options.side, options.number, chosen(scenario.load(options.scenario), options.hosts)
            )
            if not tunnel.hosts:
                parser.error("--hosts: expected at least one")
            if tunnel.side == "far" and len(tunnel.hosts) > 1 and not options.namespaces:
                parser.error(f"{len(tunnel.hosts)} hosts of one network on this machine; expected --namespaces")
            up(
                tunnel,
                key=options.key,
                peer=options.peer,
                to=options.to,
                listen=options.listen,
                mtu=options.mtu,
                namespaces=options.namespaces,
            )
            if tunnel.side == "near":
                print(json.dumps(tunnel.entries()))
    except (SlotwiseError, ScenarioError, OSError) as error:
        print(f"slotwise tunnel: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
