# SPDX-License-Identifier: Apache-2.0
"""A star and routers side by side in one standalone controller, over one P4Runtime session a switch. Run as test_runs.py is."""

import json
import os
import queue
import re
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from ipaddress import IPv4Address
from typing import TextIO, TypeVar

import grpc
from finsy.proto import p4r, p4r_grpc

from chain import spawn
from test_runs import PATIENCE_S, ROOT, SLOTWISE

JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
NETWORK = ROOT / "schema" / "examples" / "network-mixed.json"
# Ports that nobody gets who only calls.
LISTENING_PORTS = range(20_000, 30_000)
XCP_CHOSEN = {"device_id": 2001, "port": 2, "xcp_bps": 5_000_000}

T = TypeVar("T")


class Lines:
    """What a process says, for whoever waits for a line, but not for ever."""

    def __init__(self, stream: TextIO):
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=[stream], daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, text: str) -> list[str]:
        """The lines up to one that has `text`."""
        deadline, said = time.monotonic() + PATIENCE_S, []
        while not said or text not in said[-1]:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"{text!r} was not said, but: {''.join(said)}"
            said.append(line)
        return said


def await_that(what: str, find: Callable[[], T | None]) -> T:
    """What is found, in the end."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := find()) is None:
        assert time.monotonic() < deadline, f"{what}: not in {PATIENCE_S} s"
        time.sleep(0.05)
    return found


def devices(network: dict) -> list[int]:
    """Numbers of all switches."""
    star, routes = network["apps"]["star"], network["apps"]["routes"]
    return [each["device_id"] for each in [*star["cores"], *star["edges"], *routes["nodes"]]]


def lasting_address() -> str:
    """Of a switch that begins anew where the one before was. The controller calls there all the while: from a port of those that the
    system gives to whoever calls, a connection to the same port of this machine can meet itself, and hold it."""
    first = os.getpid() % len(LISTENING_PORTS)
    for port in (*LISTENING_PORTS[first:], *LISTENING_PORTS[:first]):
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return f"127.0.0.1:{port}"
    raise AssertionError("every port is taken")


def switch(stack: ExitStack, device: int, address: str) -> tuple[subprocess.Popen, str]:
    """A switch that waits for its program, and its address."""
    process = spawn(
        stack,
        SLOTWISE,
        "switch",
        "--no-p4",
        "--device-id",
        str(device),
        "--",
        "--grpc-server-addr",
        address,
        "--cpu-port",
        "510",
    )
    return process, re.search(r"P4Runtime on ([\d.:]+)", Lines(process.stdout).until("P4Runtime on")[-1])[1]


def ask(rest: str, path: str, body: dict | None = None) -> dict:
    """What a resource says, or what it says once it was changed."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{rest}/slotwise/v1/{path}", data, {"Content-Type": "application/json"}, method="PUT" if data else "GET"
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def settled_router(rest: str, device: int) -> dict | None:
    """What the application has for a router, once it has written all of it."""
    routers = ask(rest, "routes/routes")["routers"]
    return next(
        (router for router in routers if router["device_id"] == device and router["ready"] and router["settled"]), None
    )


def number(text: bytes) -> int:
    return int.from_bytes(text, "big")


def tables(address: str, device: int) -> tuple[set[tuple[str, int]], dict[int, int]]:
    """A router's own routes (prefix, port), and what XCP reckons with by output, in 1/16 byte/s."""
    everything = p4r.ReadRequest(device_id=device, entities=[p4r.Entity(table_entry=p4r.TableEntry())])
    routes, capacities = set(), {}
    with grpc.insecure_channel(address) as channel:
        for answer in p4r_grpc.P4RuntimeStub(channel).Read(everything, timeout=PATIENCE_S):
            for entry in (entity.table_entry for entity in answer.entities):
                values = {param.param_id: number(param.value) for param in entry.action.action.params}
                if entry.match and entry.match[0].HasField("lpm"):
                    prefix = entry.match[0].lpm
                    routes.add((f"{IPv4Address(number(prefix.value))}/{prefix.prefix_len}", values[1]))
                elif entry.match:
                    capacities[number(entry.match[0].exact.value)] = values[1]
    return routes, capacities


def test_a_star_and_routers_share_a_controller(tmp_path):
    network = json.loads(NETWORK.read_text())
    with ExitStack() as stack:
        switches = {
            device: switch(stack, device, lasting_address() if device == 2001 else "127.0.0.1:0")
            for device in devices(network)
        }
        config = tmp_path / "controller.json"
        config.write_text(
            json.dumps(
                {
                    "p4runtime": {
                        "address": switches[2001][1],
                        "devices": {str(device): address for device, (_, address) in switches.items()},
                    },
                    "rest": {"port": 0},
                    "store": str(tmp_path / "store"),
                    "clock": "wall",
                    "pipelines": {
                        program: {
                            "json": str(P4C_OUT / f"{program}.json"),
                            "p4info": str(P4C_OUT / f"{program}.p4info.txtpb"),
                        }
                        for program in ("edge", "core", "router")
                    },
                    "network": network,
                }
            )
        )
        controller = spawn(
            stack,
            "java",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-jar",
            str(JAR),
            "--config",
            str(config),
            stderr=subprocess.PIPE,
        )
        said = Lines(controller.stderr)
        ready = json.loads(Lines(controller.stdout).until('"event":"ready"')[-1])
        rest = ready["rest"]
        assert [app["id"] for app in ask(rest, "")["systems"]] == ["star", "routes"]
        assert ask(rest, "star/status")["configured"] and ask(rest, "routes/status")["configured"]
        assert ask(rest, "routes/capacities/2001/2", {"xcp_bps": XCP_CHOSEN["xcp_bps"]}) == XCP_CHOSEN
        router = await_that("the chosen capacity", lambda: settled_router(rest, 2001))
        wanted = (
            {(route["prefix"], route["port"]) for route in router["routes"]},
            {1: 2 * 900_000_000, 2: 2 * XCP_CHOSEN["xcp_bps"]},
        )
        assert len(wanted[0]) == 4
        assert tables(switches[2001][1], 2001) == wanted

        # A router that begins anew gets its tables again; nobody else is asked for anything.
        process, address = switches[2001]
        process.kill()
        process.wait()
        said.until("device 2001: lost")
        switch(stack, 2001, address)
        since = said.until("device 2001: ready, 0 table entries")
        assert not any(
            f"device {device}: lost" in line for line in since for device in devices(network) if device != 2001
        ), "".join(since)
        await_that("the tables of the router that began anew", lambda: settled_router(rest, 2001))
        assert tables(address, 2001) == wanted
        assert XCP_CHOSEN in ask(rest, "routes/capacities")["outputs"]
