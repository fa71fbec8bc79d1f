# SPDX-License-Identifier: Apache-2.0
"""The Wireshark dissector follows the parsers that p4c made, and takes any bytes. `scripts/gen-dissector --check` is a part of `scripts/test`."""
import json
import random
import re
import struct
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from slotwise import home, wire

ROOT = home.root()
GENERATOR = ROOT / "scripts" / "gen-dissector"
DISSECTOR = ROOT / "engine" / "crates" / "slotwise" / "slotwise.lua"
PROGRAMS = ["edge", "core", "ops", "ring", "router"]
# What one header of a program holds of several.
ENTRIES = {"request entries": "request request_entry*REQUEST_ENTRIES", "check fairness entries": "check fairness fairness_entry*FAIRNESS_ENTRIES"}
ETHERNET = struct.Struct(">12xH")


@pytest.fixture(scope="module")
def generator():
    """scripts/gen-dissector as a module."""
    monkeypatch = pytest.MonkeyPatch()
    # No cache beside the scripts.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = SourceFileLoader("gen_dissector", str(GENERATOR))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    yield module
    monkeypatch.undo()


def write_pcap(path, frames: list[tuple[bytes, int]]) -> None:
    """Frames of Ethernet, each with its length on the wire."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for number, (frame, length) in enumerate(frames):
            file.write(struct.pack("<IIII", number, 0, len(frame), length) + frame)


def tshark(path, *fields: str) -> list[list[str]]:
    """These fields of each frame, occurrences with commas between."""
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", path, "-T", "fields", "-E", "occurrence=a"]
    done = subprocess.run([*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_kind_without_its_headers_is_refused(generator, monkeypatch):
    p4 = generator.gen_constants().Reader()
    for source in ("types", "constants", "headers"):
        p4.read(f"p4src/include/{source}.p4")
    generator.check_families(p4)
    version, kinds, layouts = generator.FAMILIES["ring"]
    monkeypatch.setitem(generator.FAMILIES, "ring", (version, kinds, {kind: layout for kind, layout in layouts.items() if kind != "REPORT"}))
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
        return extracted(state) + (behind(state["transitions"][0]["next_state"]) if len(state["transitions"]) == 1 else [])

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
        body = (first + drawn.randbytes(drawn.randrange(200)))[:drawn.choice([0, 1, 8, 300])]
        if len(body) > 60 and drawn.random() < 0.5:
            # The payload's EtherType, where optical_t and ring_data_t have it.
            at = drawn.choice([14, 10])
            body = body[:at] + drawn.choice([b"\x08\x00", b"\x86\xdd", b"\x88\xb5", b"\x88\xb6"]) + body[at + 2:]
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
    rows = tshark(tmp_path / "any.pcap", "frame.number", "_ws.lua.error", "slotwise.message", "slotwise.short", "slotwise.cut", "slotwise.version",
                  "slotwise.kind", "slotwise.check.status")
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
    commit = wire.Optical(version=wire.OPTICAL_VERSION, kind=wire.OpticalKind.COMMIT).encode() + wire.Commit(frame=7).encode()
    frame = ETHERNET.pack(wire.ETHERTYPE_OPTICAL) + commit
    write_pcap(tmp_path / "ends.pcap", [(frame, len(frame)), (frame[:-1], len(frame) - 1), (frame[:-1], len(frame)), (frame[:20], 20)])
    rows = tshark(tmp_path / "ends.pcap", "slotwise.commit.frame", "slotwise.short", "slotwise.cut", "_ws.expert.message")
    assert [row[0] for row in rows] == ["7", "", "", ""]
    assert [bool(row[1]) for row in rows] == [False, True, False, True]
    assert [bool(row[2]) for row in rows] == [False, False, True, False]
    assert [row[3] for row in rows] == ["", "commit: 15 of 16 bytes", "commit: 15 of 16 bytes", "optical: 6 of 16 bytes"]
