# SPDX-License-Identifier: Apache-2.0
"""Captures of each kind of network as tshark shows them with the dissector that `slotwise dissector` prints."""

import re
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from slotwise import wire
from test_runs import PATIENCE_S, ROOT, slotwise

OURS = [f"0x{ether_type:04x}" for ether_type in (wire.ETHERTYPE_OPTICAL, wire.ETHERTYPE_LINECARD)]
SLOTS = {
    "linecard SLOT_TICK",
    "linecard QUEUE_REPORT",
    "linecard FLOW_CONTROL",
    "optical REQUEST",
    "optical COMMIT",
    "optical DATA",
}
JOINING = {"optical INVITATION", "optical CONFIGURATION", "optical SYNC", "optical FAULT", "linecard ALARM"}
OPS_XCP = {"label PROBE", "label REPLY", "linecard INTERVAL_TICK", "linecard QUEUE_REPORT", "linecard FLOW_CONTROL"}
NETWORKS = {  # scenario, seconds, what is sent in it
    "star": ("topologies/star4-drift.yaml", 0.06, SLOTS | JOINING),
    "star-trains": ("topologies/star4-trains.yaml", 0.03, SLOTS | {"linecard TRAIN_TICK", "linecard TRAIN_LABEL"}),
    "ring": (
        "topologies/ring8-tcp.yaml",
        0.25,
        {"ring DATA", "ring FAIRNESS", "ring REPORT", "linecard RING_TICK", "linecard ADD_LIMITS"},
    ),
    "ops": ("topologies/mesh5.yaml", 0.02, {"label TRAIN", "optical DATA"}),
    "mixed": ("topologies/mixed.yaml", 0.06, SLOTS | {"linecard INTERVAL_TICK", "xcp STANDARD", "xcp MINIMAL"}),
}
DISSECTOR = ROOT / "engine" / "crates" / "slotwise" / "slotwise.lua"


@pytest.fixture(scope="module", params=NETWORKS)
def captured(request, tmp_path_factory) -> tuple[str, Path]:
    """A network's name, and the directory of its captures."""
    scenario, seconds, _ = NETWORKS[request.param]
    place = tmp_path_factory.mktemp(request.param)
    done = slotwise(
        "simulate", ROOT / scenario, "--duration", seconds, "--report", place / "report.json", "--pcap", place / "pcap"
    )
    # A shortened run may fail a check of its traffic; it has run to its end all the same.
    assert (place / "report.json").exists(), done.stdout + done.stderr
    return request.param, place / "pcap"


def tshark(capture: Path, *fields: str, chosen: str = "") -> list[list[str]]:
    """These fields of the frames that are chosen, occurrences with commas between."""
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", capture, "-T", "fields", "-E", "occurrence=a"]
    words = [word for field in fields for word in ("-e", field)] + (["-Y", chosen] if chosen else [])
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def frames(capture: Path) -> list[bytes]:
    """The bytes of a capture's frames."""
    data, at, found = capture.read_bytes(), 24, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def captures(place: Path, pattern: str = "*") -> list[Path]:
    """Captures by name, at least one."""
    found = sorted(place.glob(f"{pattern}.pcap"))
    assert found
    return found


def numbers(text: str) -> list[int]:
    """A field's occurrences; units and names of codes stand behind numbers."""
    return [int(re.match(r"-?(0x[0-9a-f]+|\d+)", word)[0], 0) for word in text.split(",") if word]


def test_the_command_prints_the_dissector():
    done = slotwise("dissector")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == DISSECTOR.read_text()


def test_each_frame_is_named_and_none_is_malformed(captured):
    name, place = captured
    merged = place.with_suffix(".merged")
    subprocess.run(["mergecap", "-F", "nsecpcap", "-w", merged, *captures(place)], check=True, timeout=PATIENCE_S)
    rows = tshark(
        merged,
        "eth.type",
        "slotwise.message",
        "slotwise.check.status",
        "_ws.malformed",
        "_ws.lua.error",
        "slotwise.short",
        "slotwise.cut",
        "slotwise.version",
        "slotwise.kind",
    )
    assert [row for row in rows if any(row[3:])] == []
    ours = [row for row in rows if row[0].split(",")[0] in OURS]
    assert len(ours) > 100 and [row for row in ours if not row[1]] == []
    # What else is named is XCP of hosts.
    assert {row[1].split()[0] for row in rows if row[1] and row[0].split(",")[0] not in OURS} <= {"xcp"}
    assert {message for row in rows for message in row[1].split(",") if message} == NETWORKS[name][2]
    # Messages from and to the controller, and between stations, have a check; there are none between optical packet switches.
    assert {row[2] for row in rows if row[2]} == (set() if name == "ops" else {"good"})


FIELDS = {
    wire.Optical: "optical",
    wire.Label: "label",
    wire.Ring: "ring",
    wire.Linecard: "linecard",
    wire.RingData: "ring_data",
    wire.Commit: "commit",
}


def shown_as_decoded(capture: Path, header: type, at: int, ether_type: int, versions: int) -> int:
    """Compares a header in each frame that has one `at` bytes from its start with what our own codec reads; how many there were."""
    names = [name for name, _ in header.LAYOUT if name]
    prefix = FIELDS[header]
    rows = tshark(capture, *(f"slotwise.{prefix}.{name}" for name in names))
    count = 0
    for frame, row in zip(frames(capture), rows, strict=True):
        if frame[12:14] == ether_type.to_bytes(2, "big") and frame[14] >> 4 == versions:
            decoded = header.decode(frame[at:])
            assert [numbers(text) for text in row] == [[getattr(decoded, name)] for name in names]
            count += 1
    return count


def test_fields_are_what_the_codecs_read(captured):
    name, place = captured
    light, card = wire.ETHERTYPE_OPTICAL, wire.ETHERTYPE_LINECARD
    if name == "ops":
        inspected = [(wire.Label, 14, light, wire.LABEL_VERSION, "ops-edge[01]-port256")]
    elif name == "ring":
        inspected = [
            (wire.Ring, 14, light, wire.RING_VERSION, "station[23]-port256"),
            (wire.Linecard, 14, card, wire.LINECARD_VERSION, "station0-linecard"),
        ]
    else:
        inspected = [
            (wire.Optical, 14, light, wire.OPTICAL_VERSION, "edge[01]-core0"),
            (wire.Linecard, 14, card, wire.LINECARD_VERSION, "edge1-linecard"),
        ]
    for header, at, ether_type, version, pattern in inspected:
        assert (
            sum(shown_as_decoded(capture, header, at, ether_type, version) for capture in captures(place, pattern)) > 10
        )


def follows(numbered: dict[tuple, list[int]]) -> None:
    """Each source's numbers begin with 1 and count up."""
    assert numbered
    for source, sequence in numbered.items():
        assert sequence == list(range(1, len(sequence) + 1)), source


@pytest.mark.parametrize("captured", ["star", "star-trains", "mixed"], indirect=True)
def test_light_of_a_star_counts_up_by_queue_and_goes_to_the_edge_of_its_address(captured):
    _, place = captured
    for edge in range(4):
        rows = tshark(
            place / f"edge{edge}-core0.pcap",
            "slotwise.optical.src_edge",
            "slotwise.optical.queue",
            "slotwise.optical.sequence",
            "slotwise.optical.dst_edge",
            "ip.dst",
            chosen='slotwise.message == "optical DATA"',
        )
        numbered = defaultdict(list)
        for source, queue, sequence, destination, address in rows:
            assert source == str(edge)
            numbered[source, queue].append(int(sequence))
            # Hosts of edge e of a star are 10.0.e.x.
            assert address and (not address.startswith("10.0.") or address.split(".")[2] == destination)
        follows(numbered)


@pytest.mark.parametrize("captured", ["ring"], indirect=True)
def test_packets_of_a_ring_count_up_and_have_a_station_less_to_go_at_each(captured):
    _, place = captured
    fields = (
        "slotwise.ring.source",
        "slotwise.ring.ringlet",
        "slotwise.ring_data.queue",
        "slotwise.ring_data.sequence",
        "slotwise.ring.ttl",
    )
    ttls = defaultdict(set)
    for capture in captures(place, "station*-port25?"):
        station = re.match(r"station(\d+)", capture.name)[1]
        numbered = defaultdict(list)
        for source, ringlet, queue, sequence, ttl in tshark(capture, *fields, chosen="slotwise.ring_data && ip"):
            ttls[source, ringlet, queue, sequence].add(int(ttl))
            if source == station:
                numbered[source, ringlet, queue].append(int(sequence))
        if numbered:
            follows(numbered)
    assert max(map(len, ttls.values())) > 1
    for packet, found in ttls.items():
        assert max(found) - min(found) == len(found) - 1, packet


@pytest.mark.parametrize("captured", ["ops"], indirect=True)
def test_trains_have_their_number_and_hops_left(captured):
    _, place = captured
    for edge in range(5):
        rows = tshark(
            place / f"ops-edge{edge}-port256.pcap", "slotwise.label.src_edge", "slotwise.label.train", "ip.src"
        )
        numbered = defaultdict(list)
        for source, train, address in rows:
            if source == str(edge):
                numbered[source].append(int(train))
                assert address.startswith("10.1.")
        follows(numbered)
