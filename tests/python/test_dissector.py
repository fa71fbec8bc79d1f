# SPDX-License-Identifier: Apache-2.0
"""The Wireshark dissector follows the parsers that p4c made, takes any bytes, and leaves what is not Slotwise's to Wireshark.

`scripts/gen-dissector --check` is a part of `scripts/test`.
"""

import json
import os
import random
import re
import struct
import subprocess
import sys
import zlib

import pytest

from slotwise import wire
from slotwise.tools import home

ROOT = home.root()
GENERATOR = ROOT / "scripts" / "gen-dissector"
DISSECTOR = ROOT / "engine" / "crates" / "slotwise" / "slotwise.lua"
PROGRAMS = ["edge", "core", "ops", "ring", "router"]
# What one header of a program holds of several.
ENTRIES = {
    "request entries": "request request_entry*REQUEST_ENTRIES",
    "check fairness entries": "check fairness fairness_entry*FAIRNESS_ENTRIES",
}
ETHERNET = struct.Struct(">12xH")


@pytest.fixture(scope="module")
def generator(load_script):
    """scripts/gen-dissector as a module."""
    return load_script(GENERATOR)


def write_pcap(path, frames: list[tuple[bytes, int]]) -> None:
    """Frames of Ethernet, each with its length on the wire."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        file.writelines(
            struct.pack("<IIII", number, 0, len(frame), length) + frame for number, (frame, length) in enumerate(frames)
        )


def tshark(path, *fields: str) -> list[list[str]]:
    """These fields of each frame, occurrences with commas between."""
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", path, "-T", "fields", "-E", "occurrence=a"]
    done = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_kind_without_its_headers_is_refused(generator, monkeypatch):
    p4 = generator.gen_constants().Reader()
    for source in ("types", "constants", "headers"):
        p4.read(f"p4src/include/{source}.p4")
    generator.check_families(p4)
    version, kinds, layouts = generator.FAMILIES["ring"]
    monkeypatch.setitem(
        generator.FAMILIES,
        "ring",
        (version, kinds, {kind: layout for kind, layout in layouts.items() if kind != "REPORT"}),
    )
    with pytest.raises(generator.LayoutError, match="RingKind has DATA, FAIRNESS, REPORT"):
        generator.check_families(p4)
    monkeypatch.setitem(generator.FAMILIES, "ring", (version, kinds, layouts | {"REPORT": "check ring_report"}))
    with pytest.raises(generator.LayoutError, match="report_source"):
        generator.check_families(p4)


def parsed(program: str) -> set[tuple[str, int, str]]:
    """(first header, its kind, headers behind it) of what a program parses by version and kind."""
    parser = json.loads((ROOT / "p4src" / "p4c-out" / f"{program}.json").read_text())["parsers"][0]
    states = {state["name"]: state for state in parser["parse_states"]}

    def extracted(state) -> list[str]:
        return [op["parameters"][0]["value"] for op in state["parser_ops"] if op["op"] == "extract"]

    def behind(name: str | None) -> list[str]:
        # A payload's own headers are Wireshark's.
        if name is None or name in ("parse_ipv4", "parse_arp"):
            return []
        state = states[name]
        return extracted(state) + (
            behind(state["transitions"][0]["next_state"]) if len(state["transitions"]) == 1 else []
        )

    found = set()
    for state in states.values():
        keys = [tuple(key["value"]) for key in state["transition_key"] if key["type"] == "field"]
        for transition in state["transitions"]:
            value = transition["value"]
            # Values are hexadecimal, None of the default; those with a mask are of several kinds.
            if value is None or transition["mask"] is not None:
                continue
            if len(keys) == 2 and keys[1][1] == "kind":
                found.add((keys[1][0], int(value, 16) & 0xFF, " ".join(behind(transition["next_state"]))))
            elif state["name"] == "parse_light":
                first, *rest = behind(transition["next_state"])
                found.add((first, int(value, 16) & 0xF, " ".join(rest)))
    return found


def test_headers_follow_each_other_as_in_the_parsers(generator):
    kinds = {"optical": wire.OpticalKind, "ring": wire.RingKind, "label": wire.LabelKind, "linecard": wire.LineCardKind}
    seen = set()
    for program in PROGRAMS:
        for family, kind, headers in parsed(program):
            layout = generator.FAMILIES[family][2][kinds[family](kind).name]
            # A check is parsed before the kind, so it is in no state behind it.
            words = " ".join(word for word in layout.split() if word not in ("check?", "payload"))
            assert ENTRIES.get(headers, headers) == words, f"{program}: {family} {kind}"
            seen.add((family, kind))
    assert len(seen) >= 18


def some_bytes(seed: int, count: int) -> list[tuple[bytes, int]]:
    """Frames with a header of ours and anything behind it, some short, some cut by the capture."""
    drawn = random.Random(seed)
    frames = []
    for _ in range(count):
        ether_type = drawn.choice([wire.ETHERTYPE_OPTICAL, wire.ETHERTYPE_LINECARD])
        first = bytes([drawn.choice([1, 2, 3, drawn.randrange(16)]) << 4 | drawn.randrange(16)])
        body = (first + drawn.randbytes(drawn.randrange(200)))[: drawn.choice([0, 1, 8, 300])]
        if len(body) > 60 and drawn.random() < 0.5:
            # The payload's EtherType, where optical_t and ring_data_t have it.
            at = drawn.choice([14, 10])
            body = body[:at] + drawn.choice([b"\x08\x00", b"\x86\xdd", b"\x88\xb5", b"\x88\xb6"]) + body[at + 2 :]
        frame = ETHERNET.pack(ether_type) + body
        if drawn.random() < 0.3:
            frame = drawn.choice([b"\x00\x00", b"\xfa\x00", b"\x80\x80"]) + frame
        if drawn.random() < 0.2:
            # XCP, in IPv4.
            header = drawn.choice([b"\x06", b"\xfd"]) + b"\x14\x11\x00" + drawn.randbytes(60)
            ipv4 = struct.pack(">BxHxxxxBBxxII", 0x45, 20 + len(header), 64, wire.IP_PROTOCOL_XCP, 1, 2)
            frame = ETHERNET.pack(wire.ETHERTYPE_IPV4) + ipv4 + header
        kept = drawn.randrange(len(frame) + 1) if drawn.random() < 0.4 else len(frame)
        length = drawn.choice([kept, len(frame)])
        frames.append((frame[:kept], length))
    return frames


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_bytes_are_dissected_without_an_error_of_lua(seed, tmp_path):
    frames = some_bytes(seed, 4000)
    write_pcap(tmp_path / "any.pcap", frames)
    rows = tshark(
        tmp_path / "any.pcap",
        "frame.number",
        "_ws.lua.error",
        "slotwise.message",
        "slotwise.short",
        "slotwise.cut",
        "slotwise.version",
        "slotwise.kind",
        "slotwise.check.status",
    )
    assert len(rows) == len(frames)
    assert [row[0] for row in rows if row[1]] == []
    # Every outcome was among them.
    assert all(any(row[column] for row in rows) for column in range(2, 8))


def test_an_error_of_lua_would_be_seen(tmp_path, monkeypatch):
    broken = tmp_path / "broken.lua"
    broken.write_text(re.sub(r"function linecard\.dissector\(.*\)", r"\g<0>\n  tvb(500, 1)", DISSECTOR.read_text()))
    monkeypatch.setattr(sys.modules[__name__], "DISSECTOR", broken)
    write_pcap(tmp_path / "one.pcap", [(ETHERNET.pack(wire.ETHERTYPE_LINECARD) + bytes(20), 34)])
    assert tshark(tmp_path / "one.pcap", "_ws.lua.error") == [["1"]]


def test_a_frame_that_ends_early_is_told_from_one_that_was_cut(tmp_path):
    commit = (
        wire.Optical(version=wire.OPTICAL_VERSION, kind=wire.OpticalKind.COMMIT).encode()
        + wire.Commit(frame=7).encode()
    )
    frame = ETHERNET.pack(wire.ETHERTYPE_OPTICAL) + commit
    write_pcap(
        tmp_path / "ends.pcap",
        [(frame, len(frame)), (frame[:-1], len(frame) - 1), (frame[:-1], len(frame)), (frame[:20], 20)],
    )
    rows = tshark(
        tmp_path / "ends.pcap", "slotwise.commit.frame", "slotwise.short", "slotwise.cut", "_ws.expert.message"
    )
    assert [row[0] for row in rows] == ["7", "", "", ""]
    assert [bool(row[1]) for row in rows] == [False, True, False, True]
    assert [bool(row[2]) for row in rows] == [False, False, True, False]
    assert [row[3] for row in rows] == [
        "",
        "commit: 15 of 16 bytes",
        "commit: 15 of 16 bytes",
        "optical: 6 of 16 bytes",
    ]


def ipv4(protocol: int, payload: bytes) -> bytes:
    """A frame with a packet of IPv4."""
    return (
        ETHERNET.pack(wire.ETHERTYPE_IPV4)
        + struct.pack(">BxHxxxxBBxxII", 0x45, 20 + len(payload), 64, protocol, 1, 2)
        + payload
    )


ARP = bytes.fromhex("ffffffffffff020000000001080600010800060400010200000000010a0000010000000000000a000002")
UDP = ipv4(17, struct.pack(">HHHH", 1000, 2000, 8, 0))
DATA = (
    ETHERNET.pack(wire.ETHERTYPE_OPTICAL)
    + wire.Optical(
        version=wire.OPTICAL_VERSION, kind=wire.OpticalKind.DATA, dst_edge=1, inner_type=wire.ETHERTYPE_IPV4
    ).encode()
    + UDP[14:]
)
XCP = ipv4(
    wire.IP_PROTOCOL_XCP,
    wire.Xcp(protocol=17, length=wire.XCP_LENGTH, version=wire.XCP_VERSION, format=1).encode() + UDP[34:],
)
# More than a stack of 200 has room for.
MANY = 600
FOREIGN = {
    "cut": [(ARP[:16], len(ARP))] * MANY + [(ARP, len(ARP))],
    "experiment": [
        (frame, len(frame))
        for frame in (ipv4(253, bytes(payload)) for payload in ([], b"abc", range(40), [17, 20, 0x21, 0] + [0] * 40))
    ],
    # Its bytes 14 and 15 are our EtherType, where that of a packet-in is.
    "vlan": [(frame, len(frame)) for frame in [bytes.fromhex("0180c2000000020000000001810088b5") + ARP[12:]]],
}


def looks(capture, *options) -> list[str]:
    """All that tshark shows of a capture, but for which dissectors were asked about a frame."""
    done = subprocess.run(["tshark", *options, "-r", capture, "-V"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "[Protocols in frame:" not in line]


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_not_slotwises_looks_as_without_the_dissector(name, tmp_path):
    write_pcap(tmp_path / "foreign.pcap", FOREIGN[name])
    without = looks(tmp_path / "foreign.pcap")
    assert len(without) > 10
    assert looks(tmp_path / "foreign.pcap", "-X", f"lua_script:{DISSECTOR}") == without


def write_pcapng(path, frames: list[bytes], fcs_bytes: int) -> None:
    """Frames of Ethernet, of which the file says how long their check sequences are."""

    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    if_fcslen = struct.pack("<HHBxxxHH", 13, 1, fcs_bytes, 0, 0)
    blocks = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 65535) + if_fcslen),
    ]
    blocks += [block(6, struct.pack("<IIIII", 0, 0, 0, len(frame), len(frame)) + frame) for frame in frames]
    path.write_bytes(b"".join(blocks))


@pytest.mark.parametrize("fcs_bytes", [0, 4])
def test_a_check_sequence_is_what_the_file_says(fcs_bytes, tmp_path):
    padded = [frame.ljust(60, b"\0") for frame in (ARP, UDP)]
    # 64 bytes: blocks of pcapng are filled up to a multiple of four.
    write_pcapng(tmp_path / "fcs.pcapng", [frame + struct.pack("<I", zlib.crc32(frame)) for frame in padded], fcs_bytes)
    without = looks(tmp_path / "fcs.pcapng")
    assert any("Frame check sequence" in line for line in without) == (fcs_bytes == 4)
    assert looks(tmp_path / "fcs.pcapng", "-X", f"lua_script:{DISSECTOR}") == without


@pytest.mark.parametrize(
    ("frame", "kept"),
    [
        (DATA, 16),
        (DATA, 31),
        (DATA, 50),
        (b"\x80\x80" + DATA, 17),
        (b"\x80\x80" + DATA, 33),
        (XCP, 36),
        (XCP, 37),
        (XCP, 56),
    ],
)
def test_any_number_of_cut_frames_leaves_the_next_one_as_it_is(frame, kept, tmp_path):
    write_pcap(tmp_path / "cut.pcap", [(frame[:kept], len(frame))] * MANY + [(frame, len(frame))])
    rows = tshark(tmp_path / "cut.pcap", "_ws.lua.error", "slotwise.message", "udp.srcport")
    assert [row for row in rows if row[0]] == []
    assert rows[-1] == ["", "xcp STANDARD" if frame is XCP else "optical DATA", "1000"]


def test_fields_are_listed_in_the_same_order_each_time(tmp_path):
    plugins = tmp_path / ".local" / "lib" / "wireshark" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "slotwise.lua").write_text(DISSECTOR.read_text())

    def names() -> list[str]:
        done = subprocess.run(
            ["tshark", "-G", "fields"],
            env=os.environ | {"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        fields = (line.split("\t") for line in done.stdout.splitlines() if line.startswith("F\t"))
        return [field[2] for field in fields if field[2].startswith("slotwise")]

    first = names()
    assert len(first) == len(set(first)) > 100
    assert names() == first
