# SPDX-License-Identifier: Apache-2.0
"""A packet ring in the standalone controller, with stations that are processes with ring.p4. Ticks of a card are sent by hand. Run as test_runs.py is."""

import json
import os
import re
import socket
import subprocess
from contextlib import ExitStack

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc

from chain import spawn
from slotwise import wire
from test_apps import JAR, P4C_OUT, Lines, ask, await_that, number
from test_runs import PATIENCE_S, ROOT, SLOTWISE

NETWORK = ROOT / "schema" / "examples" / "network-ring.json"
HEAD = 3002  # station 1
# Of their own: what a killed test has left does not matter.
CARD, SWITCH_SIDE = f"ring{os.getpid()}", f"ring{os.getpid()}-sw"
RATE_BPS = 1_000_000
TARGET = 106_250  # byte/s, 85 % of that
INTERVAL_BYTES = 120_000
ANY_PACKET = 0x0003
FRAME_BYTES = 2000


@pytest.fixture(name="card")
def the_card():
    """Where ticks go in and limits come out."""
    subprocess.run(["ip", "link", "add", CARD, "type", "veth", "peer", "name", SWITCH_SIDE], check=True)
    try:
        for name in (CARD, SWITCH_SIDE):
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ANY_PACKET)) as port:
            port.bind((CARD, 0))
            port.settimeout(1)
            yield port
    finally:
        subprocess.run(["ip", "link", "delete", CARD], check=True)


def network() -> dict:
    """The example, slow, with intervals of a second: P4 counts ticks, and the controller's time must not matter."""
    document = json.loads(NETWORK.read_text())
    ring = document["apps"]["ring"]
    ring.update(
        mode="controller",
        interval_ns=1_000_000_000,
        window_intervals=1,
        estimator={"w1": 1, "w2": 1},
        hold_intervals=600,
    )
    for link in ring["links"]:
        link["rate_bps"] = RATE_BPS
    return document


def tick(card: socket.socket, repeat: int, added: int) -> None:
    """An interval has ended at the head's card, or it sends as many ticks as it was asked for."""
    header = wire.Ethernet(dst=0, src=0, ether_type=wire.ETHERTYPE_LINECARD).encode()
    linecard = wire.Linecard(
        version=wire.LINECARD_VERSION, kind=wire.LineCardKind.RING_TICK, port=wire.PORT_RING_EAST
    ).encode()
    card.send(header + linecard + wire.RingTick(repeat=repeat, added_bytes=added, local_ns=added).encode())


def limits(card: socket.socket) -> tuple[int, list[tuple[int, int]]] | None:
    """The next answer: ticks that are wanted, and (hops, rate) of each limit; None if none comes for now."""
    start = wire.Ethernet.SIZE + wire.Linecard.SIZE
    while True:
        try:
            frame = card.recv(FRAME_BYTES)
        except TimeoutError:
            return None
        if wire.Ethernet.decode(frame).ether_type != wire.ETHERTYPE_LINECARD:
            continue
        if wire.Linecard.decode(frame[wire.Ethernet.SIZE :]).kind != wire.LineCardKind.ADD_LIMITS:
            continue
        told = wire.AddLimits.decode(frame[start:])
        entries = [
            wire.AddLimit.decode(frame[start + wire.AddLimits.SIZE + i * wire.AddLimit.SIZE :])
            for i in range(wire.FAIRNESS_ENTRIES)
        ]
        return told.ticks, [(entry.hops, entry.rate) for entry in entries if entry.rate != wire.NO_LIMIT]


def read(address: str, device: int, entity: p4r.Entity) -> list[p4r.Entity]:
    """What a station has."""
    with grpc.insecure_channel(address) as channel:
        answers = p4r_grpc.P4RuntimeStub(channel).Read(
            p4r.ReadRequest(device_id=device, entities=[entity]), timeout=PATIENCE_S
        )
        return [entity for answer in answers for entity in answer.entities]


def committed_rates(address: str, device: int) -> dict[int, int]:
    """byte/s of the meter's cells that have rates."""
    cells = read(address, device, p4r.Entity(meter_entry=p4r.MeterEntry()))
    return {
        cell.meter_entry.index.index: cell.meter_entry.config.cir
        for cell in cells
        if cell.meter_entry.HasField("config")
    }


def entry_count(address: str, device: int) -> int:
    return len(read(address, device, p4r.Entity(table_entry=p4r.TableEntry())))


def ways(rest: str, station: int) -> list[tuple[int, int, int]]:
    """(station, ringlet, hops) from a station."""
    found = ask(rest, "ring/ways")["stations"][station]["ways"]
    return [(way["to"], way["ringlet"], way["hops"]) for way in found]


def test_the_controller_tells_a_congested_station_what_it_may_add(card, tmp_path):
    document = network()
    with ExitStack() as stack:
        addresses = {}
        for station in document["apps"]["ring"]["stations"]:
            device = station["device_id"]
            ports = ["-i", f"{wire.PORT_LINECARD}@{SWITCH_SIDE}"] if device == HEAD else []
            process = spawn(
                stack,
                SLOTWISE,
                "switch",
                "--no-p4",
                "--device-id",
                str(device),
                *ports,
                "--",
                "--grpc-server-addr",
                "127.0.0.1:0",
                "--cpu-port",
                str(wire.PORT_CPU),
            )
            addresses[device] = re.search(r"P4Runtime on ([\d.:]+)", Lines(process.stdout).until("P4Runtime on")[-1])[1]
        config = tmp_path / "controller.json"
        config.write_text(
            json.dumps(
                {
                    "p4runtime": {
                        "address": addresses[HEAD],
                        "devices": {str(device): address for device, address in addresses.items()},
                    },
                    "rest": {"port": 0},
                    "store": str(tmp_path / "store"),
                    "clock": "wall",
                    "pipelines": {
                        "ring": {"json": str(P4C_OUT / "ring.json"), "p4info": str(P4C_OUT / "ring.p4info.txtpb")}
                    },
                    "network": document,
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
        rest = json.loads(Lines(controller.stdout).until('"event":"ready"')[-1])["rest"]
        assert [app["id"] for app in ask(rest, "")["systems"]] == ["ring"]
        # Of station 0: two ringlets, four hosts, two classes, three ways. Classes: best effort, committed, reserved.
        assert entry_count(addresses[3001], 3001) == 11
        assert committed_rates(addresses[3001], 3001) == {4: 1_000_000_000_000, 6: 625_000, 7: 250_000}
        assert committed_rates(addresses[HEAD], HEAD) == {4: 1_000_000_000_000, 6: 1, 7: 1}

        # The head adds more than its link may carry, reports it, and hears how much it may add.
        added = 0

        def told() -> list[tuple[int, int]] | None:
            nonlocal added
            added += INTERVAL_BYTES
            tick(card, 0, added)
            answer = limits(card)
            if answer is not None and answer[0] > 0:
                tick(card, 1, added)
            return answer[1] if answer is not None and answer[1] else None

        assert await_that("a limit of the controller", told) == [(0, TARGET)]
        span = ask(rest, "ring/spans")["spans"][0]
        assert (span["head"], span["ringlet"], span["phase"], span["advertised_bps"]) == (1, 0, "congested", 8 * TARGET)
        assert [source["station"] for source in span["sources"]] == [1]

        # A link that is lost is gone around, by all.
        assert ways(rest, 0) == [(1, 0, 1), (2, 0, 2), (3, 1, 1)]
        dark = {"device_id": 3001, "port": wire.PORT_RING_EAST, "up": False}
        assert ask(rest, f"ring/ports/3001/{wire.PORT_RING_EAST}", {"up": False}) == dark
        said.until("ring paths changed")
        assert ways(rest, 0) == [(1, 1, 3), (2, 1, 2), (3, 1, 1)]
        settled = await_that(
            "the new ways", lambda: all(each["settled"] for each in ask(rest, "ring/stations")["stations"]) or None
        )
        assert settled
        everything = read(addresses[3001], 3001, p4r.Entity(table_entry=p4r.TableEntry()))
        written = sorted(
            tuple(number(param.value) for param in entity.table_entry.action.action.params) for entity in everything
        )
        assert {(1, 3), (1, 2), (1, 1)} <= set(written)
