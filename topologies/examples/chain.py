# SPDX-License-Identifier: Apache-2.0
"""Chain of P4 routers with XCP between two network namespaces, in real time: `host a - r1 - ... - rN - host b`.

Every router runs router.p4 in a separate process (`slotwise switch`, or simple_switch_grpc), with a line card (`slotwise line-card fifo`)
on its port towards b, and is configured over P4Runtime. Interfaces are created in the caller's network namespace, which should be a
separate one (`unshare --net`); processes and hosts' namespaces always end with the caller. Requires finsy, which build/venv has.
"""

import asyncio
import json
import logging
import re
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import finsy as fy

from slotwise.errors import SlotwiseError
from slotwise.tools.home import root, slotwise_command
from slotwise.wire import PORT_CPU, PORT_LINECARD

A_IP, B_IP = "10.0.0.1", "10.0.0.2"
PORT_TO_A, PORT_TO_B = 1, 2
A_MAC, B_MAC = 0x0200_0000_000A, 0x0200_0000_000B
PATIENCE_S = 30
COMPILED = Path("p4src", "p4c-out")

# Otherwise finsy reports for every switch that gNMI is missing.
logging.getLogger("finsy").setLevel(logging.ERROR)


class RouterError(SlotwiseError):
    """Failure of a process of the chain."""


@dataclass(frozen=True)
class Link:
    """Link from a router towards b. Rates count IP bits. `xcp_bps`: XCP capacity, None for no XCP. `loss`: fraction of lost packets (0 to
    1), drawn from `seed`."""

    xcp_bps: int | None
    rate_bps: int = 100_000_000
    delay_us: int = 10_000
    buffer_bytes: int = 1 << 20
    loss: float = 0
    seed: int = 1


def ip(*words) -> None:
    """Runs ip(8) with these arguments."""
    subprocess.run(["ip", *map(str, words)], check=True)


class Host:
    """Network namespace with one interface, eth0, in the subnet of all hosts."""

    def __init__(self, stack: ExitStack, peer: str, address: str, mac: int):
        # The namespace lives as long as the process.
        holder = spawn(stack, "unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep infinity")
        read_until(holder, "ready")
        self.pid = holder.pid
        ip("link", "add", peer, "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        # The namespace would take it along, later: another chain may come first.
        stack.callback(ip, "link", "delete", peer)
        ip("link", "set", peer, "up")
        for words in (f"link set eth0 address {mac_text(mac)}", f"addr add {address}/24 dev eth0", "link set eth0 up"):
            subprocess.run([*self.enter(), "ip", *words.split()], check=True)

    def enter(self) -> list[str]:
        """Prefix of a command that runs in the host's network."""
        return ["nsenter", "--net", f"--target={self.pid}"]


class Chain:
    """A running chain, as a context manager. Names of interfaces start with `name`, which differs between chains."""

    def __init__(self, links: list[Link], bmv2: bool = False, name: str = ""):
        self.links, self.bmv2, self.name = links, bmv2, name
        self._stack = ExitStack()
        self.cards: list[subprocess.Popen] = []
        self.a = self.b = None
        self._addresses = []

    def __enter__(self) -> Self:
        try:
            self._build()
            asyncio.run(asyncio.wait_for(self._configure(), PATIENCE_S))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._stack.close()

    def _build(self) -> None:
        for setting in Path("/proc/sys/net/ipv6/conf").glob("*/disable_ipv6"):
            # Otherwise the kernel sends packets on every new interface.
            setting.write_text("1")
        self.a = Host(self._stack, f"{self.name}r1-a", A_IP, A_MAC)
        last = len(self.links)
        self.b = Host(self._stack, f"{self.name}c{last}-link", B_IP, B_MAC)
        for number, link in enumerate(self.links, 1):
            for end in ("b", "card"):
                self._cable(f"r{number}-{end}", f"c{number}-{end}")
            if number < last:
                self._cable(f"c{number}-link", f"r{number + 1}-a")
            self._addresses.append(self._start_router(number))
            self.cards.append(self._start_card(number, link))

    def _cable(self, one: str, other: str) -> None:
        one, other = self.name + one, self.name + other
        ip("link", "add", one, "type", "veth", "peer", "name", other)
        self._stack.callback(ip, "link", "delete", one)
        for end in (one, other):
            ip("link", "set", end, "up")

    def _start_router(self, number: int) -> str:
        """Starts a router and returns the address of its P4Runtime server."""
        ports = {PORT_TO_A: "a", PORT_TO_B: "b", PORT_LINECARD: "card"}
        interfaces = [word for port, end in ports.items() for word in ("-i", f"{port}@{self.name}r{number}-{end}")]
        options = ["--device-id", str(number), *interfaces]
        if self.bmv2:
            address = f"127.0.0.1:{9558 + number}"
            # BMv2 warns about every link: it looks for them in /sys, which shows another namespace.
            process = spawn(
                self._stack,
                "simple_switch_grpc",
                "--no-p4",
                *options,
                "--",
                "--grpc-server-addr",
                address,
                "--cpu-port",
                str(PORT_CPU),
                stderr=subprocess.DEVNULL,
            )
            await_server(process, address)
            return address
        process = spawn(self._stack, slotwise_command(), "switch", *options, "--grpc-server-addr", "127.0.0.1:0")
        return re.search(r"P4Runtime on ([\d.:]+),", read_until(process, "ready"))[1]

    def _start_card(self, number: int, link: Link) -> subprocess.Popen:
        card = f"{self.name}c{number}"
        options = {
            "--port": PORT_TO_B,
            "--control": f"{card}-card",
            "--switch": f"{card}-b",
            "--link": f"{card}-link",
            "--rate-bps": link.rate_bps,
            "--delay-us": link.delay_us,
            "--buffer-bytes": link.buffer_bytes,
            "--loss": link.loss,
            "--seed": link.seed,
        }
        process = spawn(
            self._stack,
            slotwise_command(),
            "line-card",
            "fifo",
            *(str(word) for pair in options.items() for word in pair),
        )
        read_until(process, "ready")
        return process

    async def _configure(self) -> None:
        """Writes the tables of all routers; entries outlive their controller."""
        last = len(self.links)
        for number, link in enumerate(self.links, 1):
            routes = {
                A_IP: (PORT_TO_A, A_MAC if number == 1 else router_mac(number - 1)),
                B_IP: (PORT_TO_B, B_MAC if number == last else router_mac(number + 1)),
            }
            entries = [
                fy.P4TableEntry(
                    "ipv4_route",
                    match=fy.P4TableMatch(dst=f"{host}/32"),
                    action=fy.P4TableAction("to_port", port=port, mac=mac),
                )
                for host, (port, mac) in routes.items()
            ]
            if link.xcp_bps:
                entries.append(xcp_entry(link.xcp_bps))
            mac = fy.P4TableAction("set_router_params", mac=router_mac(number))
            async with self._controller(number, p4blob=root() / COMPILED / "router.json", p4force=True) as switch:
                await switch.insert(entries)
                await switch.modify([fy.P4TableEntry("router_params", is_default_action=True, action=mac)])

    def _controller(self, number: int, **options) -> "fy.Switch":
        """P4Runtime client of a router, by its number from 1."""
        options = fy.SwitchOptions(device_id=number, p4info=root() / COMPILED / "router.p4info.txtpb", **options)
        return fy.Switch(f"r{number}", self._addresses[number - 1], options)

    def set_capacity(self, number: int, xcp_bps: int) -> None:
        """Changes the XCP capacity of a router with XCP."""

        async def write() -> None:
            async with self._controller(number) as switch:
                await switch.modify([xcp_entry(xcp_bps)])

        asyncio.run(asyncio.wait_for(write(), PATIENCE_S))

    def transfer(self, sent: Path, stored: Path, *options: str) -> tuple[dict, dict]:
        """Transfers a file from a to b over XCP and returns the reports of sender and receiver."""
        with ExitStack() as stack:
            receiver = self.receive(stack, stored, *options)
            sender = self.send(stack, sent, *options)
            return report_of(sender), report_of(receiver)

    def receive(self, stack: ExitStack, stored: Path, *options: str) -> subprocess.Popen:
        """Starts a receiver in b and waits until it listens."""
        process = spawn(
            stack,
            *self.b.enter(),
            slotwise_command(),
            "xfer",
            "receive",
            B_IP,
            str(stored),
            *options,
            stderr=subprocess.PIPE,
        )
        line = process.stderr.readline()
        if "listening" not in line:
            raise RouterError(f"the receiver did not start: {line}{process.stderr.read()}")
        return process

    def send(self, stack: ExitStack, sent: Path, *options: str) -> subprocess.Popen:
        """Starts a sender in a."""
        return spawn(stack, *self.a.enter(), slotwise_command(), "xfer", "send", str(sent), B_IP, *options)

    def card_reports(self) -> list[dict]:
        """Ends the line cards and returns their reports."""
        for card in self.cards:
            card.send_signal(signal.SIGINT)
        return [report_of(card) for card in self.cards]


def xcp_entry(xcp_bps: int) -> "fy.P4TableEntry":
    """Table entry of XCP at a router's port towards b, in 1/16 byte/s; without overhead, since the link's rate counts IP bytes."""
    capacity = fy.P4TableAction("fixed_capacity", throughput=xcp_bps * 2, overhead=0)
    return fy.P4TableEntry("xcp_output", match=fy.P4TableMatch(queue=PORT_TO_B), action=capacity)


def router_mac(number: int) -> int:
    """Ethernet address of a router."""
    return 0x0200_0001_0000 + number


def mac_text(mac: int) -> str:
    """Ethernet address as text with colons."""
    return mac.to_bytes(6, "big").hex(":")


def spawn(stack: ExitStack, *command: str, stderr=None) -> subprocess.Popen:
    """Starts a process that ends with the context, or with this process."""
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )

    def end() -> None:
        process.kill()
        process.communicate()

    stack.callback(end)
    return process


def read_until(process: subprocess.Popen, text: str) -> str:
    """Reads a process's output and returns the line that contains `text`."""
    for line in process.stdout:
        if text in line:
            return line
    raise RouterError(f"{process.args[3]} ended before printing {text!r}")


def await_server(process: subprocess.Popen, address: str) -> None:
    """Waits until a process that does not print when it is ready accepts connections."""
    host, port = address.split(":")
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RouterError(f"{process.args[3]} is not listening at {address}")


def report_of(process: subprocess.Popen) -> dict:
    """Waits for a process and returns the JSON that it printed last. Raises RouterError."""
    output = process.communicate(timeout=120)[0]
    try:
        return json.loads(output.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise RouterError(f"{process.args[3:]} ended with status {process.returncode} without a report") from error
