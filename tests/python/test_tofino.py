# SPDX-License-Identifier: Apache-2.0
"""What controllers see of the Tofino programs is what they see of v1model's, but for what p4src/tna/p4info.yaml lists with its reason."""

import json
import re
from pathlib import Path
from random import Random

import pytest
import yaml
from finsy.proto import p4i
from google.protobuf import text_format

P4SRC = Path(__file__).parents[2] / "p4src"
MADE = P4SRC / "tna-out"
MANIFEST = json.loads((MADE / "manifest.json").read_text())
PROGRAMS = list(MANIFEST["arguments"])
LIST = P4SRC / "tna" / "p4info.yaml"
SEEN = yaml.safe_load(LIST.read_text())
DIFFERENCES = {
    "missing": ("in v1model's P4Info alone", "the program in p4src/tna has it (then: scripts/p4 tofino)"),
    "added": ("in Tofino's P4Info alone", "the program in p4src has it (then: scripts/p4 compile)"),
    "changed": ("of another shape than v1model's", "both have the same keys, actions, size and parameters"),
}

XCP_PACKET = re.compile(r"\w+ (Router|Edge)Ingress\.(packet|check)\.")
DEVICE_PORT = ["table {}Ingress.device_port", "action {}Ingress.send", "action {}Ingress.drop"]


def seen(path: Path) -> dict[str, object]:
    """What a controller names, with its shape. Externs that P4Runtime does not have are left out."""
    info = text_format.Parse(re.sub(r"(?ms)^externs \{$.*?^\}$", "", path.read_text()), p4i.P4Info())
    actions = {each.preamble.id: each.preamble.name for each in info.actions}
    found: dict[str, object] = {}
    for each in info.tables:
        keys = [(field.name, field.bitwidth, field.match_type) for field in each.match_fields]
        found[f"table {each.preamble.name}"] = (keys, sorted(actions[ref.id] for ref in each.action_refs), each.size)
    for each in info.actions:
        found[f"action {actions[each.preamble.id]}"] = [(param.name, param.bitwidth) for param in each.params]
    for each in (*info.counters, *info.direct_counters):
        found[f"counter {each.preamble.name}"] = True
    for each in (*info.meters, *info.direct_meters):
        found[f"meter {each.preamble.name}"] = True
    for each in info.controller_packet_metadata:
        found[f"header {each.preamble.name}"] = [(field.name, field.bitwidth) for field in each.metadata]
    return found


def unlisted(program: str, found: dict[str, set[str]], listed: dict[str, dict]) -> list[str]:
    """What p4src/tna/p4info.yaml lacks or has too much of, with what to do."""
    todo = []
    for key, (where, way_out) in DIFFERENCES.items():
        names = {name for group in listed.get(key, {}).values() for name in group}
        todo += [
            f"{name}: {where}; expected that {way_out}, or its reason in {LIST.relative_to(P4SRC.parent)} under {program}/{key}"
            for name in sorted(found[key] - names)
        ]
        todo += [
            f"{name}: listed in {LIST.relative_to(P4SRC.parent)} under {program}/{key}, but it is not {where}; expected no such line"
            for name in sorted(names - found[key])
        ]
    return todo


def test_a_name_that_one_side_lacks_is_told_with_what_to_do():
    found = {"missing": {"table EdgeIngress.dscp_mark"}, "added": set(), "changed": set()}
    assert unlisted("edge", found, {"added": {"a reason": ["action EdgeIngress.gone"]}}) == [
        (
            "table EdgeIngress.dscp_mark: in v1model's P4Info alone; expected that the program in p4src/tna has it (then: scripts/p4 tofino), "
            "or its reason in p4src/tna/p4info.yaml under edge/missing"
        ),
        "action EdgeIngress.gone: listed in p4src/tna/p4info.yaml under edge/added, but it is not in Tofino's P4Info alone; expected no such line",
    ]


@pytest.fixture(scope="module", name="stale")
def fixture_stale(load_script) -> dict[str, list[str]]:
    """Sources that have changed since a program was compiled."""
    p4 = load_script(P4SRC.parent / "scripts" / "p4")
    return p4.stale(p4.TOFINO, MANIFEST)


@pytest.mark.parametrize("program", PROGRAMS)
def test_controllers_see_what_they_see_of_v1model(program, stale):
    if program in stale:
        pytest.skip(f"p4src/tna-out/{program} is stale, {', '.join(stale[program])} changed")
    tofino = seen(MADE / f"{program}.p4info.txtpb")
    program = Path(MANIFEST["arguments"][program][-1]).stem
    listed = SEEN[program]
    v1model = seen(P4SRC / "p4c-out" / f"{listed['v1model']}.p4info.txtpb")
    ports = {name.format(listed["v1model"].capitalize()) for name in DEVICE_PORT}
    assert ports <= tofino.keys()
    found = {
        "missing": v1model.keys() - tofino.keys(),
        "added": {name for name in tofino.keys() - v1model.keys() - ports if not XCP_PACKET.match(name)},
        "changed": {name for name in v1model.keys() & tofino.keys() if tofino[name] != v1model[name]},
    }
    todo = unlisted(program, found, listed)
    assert not todo, "\n".join(todo)


def test_two_sums_reserve_as_one_moment_does():
    """The rule of tna/ops_reserve.p4, in 32 bits that go round, beside that of include/ops_switching.p4."""
    turn = 1 << 32

    def signed(number: int) -> int:
        return (number + turn // 2) % turn - turn // 2

    draw = Random(16)
    refused = 0
    for ram in (0, 1000, 72000) * 5:
        now = draw.randrange(1 << 40)
        busy_until = last_label = reserved_time = idle_time = 0
        for _ in range(2000):
            now += draw.choice(
                [draw.randrange(100), draw.randrange(20000), draw.randrange(3 << 30) if draw.random() < 0.01 else 0]
            )
            time = draw.randrange(1, 30000)
            left = max(0, busy_until - now)
            if left <= ram:
                busy_until = now + left + time

            idle = (now - reserved_time) % turn
            reserved_time = (reserved_time + time) % turn
            before, eras = last_label % turn, (now >> 32) - (last_label >> 32)
            recent = signed(now - before) >= 0 and (eras == 0 or (eras == 1 and signed(before) < 0 <= signed(now)))
            assert recent == (now - last_label < turn // 2)
            last_label = now
            difference = signed(idle_time - idle)
            is_refused = recent and difference - ram > 0
            if is_refused:
                idle_time = (idle_time - time) % turn
            elif not recent or difference <= 0:
                idle_time = idle
            assert is_refused == (left > ram)
            refused += is_refused
    assert refused > 1000


def test_halves_say_what_a_time_is():
    """The rules of tna/session_messages.p4, which look at halves of 64 bits: a span from -MAX_PHASE_NS to MAX_PHASE_NS, and one from 0 to
    MAX_ANSWER_NS."""
    longest = 1_000_000_000
    half, whole = 1 << 32, 1 << 64
    sign = 1 << 31

    def is_span(span: int) -> bool:
        high, low = span // half, span % half
        above, below = (longest - low) % half, (longest + low) % half
        return (high == 0 and low < sign and above < sign) or (high == half - 1 and low >= sign and below < sign)

    def is_turn(turn: int) -> bool:
        return turn < sign and (longest - turn) % half < sign

    draw = Random(16)
    edges = [
        0,
        1,
        longest,
        longest + 1,
        sign - 1,
        sign,
        half - 1,
        half,
        half + longest,
        whole - 1,
        whole - longest,
        whole - longest - 1,
        whole // 2,
    ]
    for base in [*edges, *(draw.randrange(whole) for _ in range(2000))]:
        for further in [*edges, draw.randrange(2 * longest), draw.randrange(whole)]:
            span = (base + further) % whole
            assert is_turn(span) == (span <= longest)
            assert is_span(span) == (span <= longest or span >= whole - longest)


def test_two_sums_make_trains_as_open_and_closing_bytes_do():
    """The rule of tna/edge_trains.p4, beside that of include/edge_trains.p4."""
    draw = Random(5)
    begun = 0
    for limit in (0, 100, 1500, 20000):
        open_bytes = closing_bytes = held_bytes = closed_bytes = 0
        for _ in range(5000):
            size = draw.randrange(46, 1500)
            if draw.random() < 0.7:
                is_first = open_bytes == 0 or open_bytes + size > limit
                if is_first:
                    closing_bytes += open_bytes
                    open_bytes = 0
                open_bytes += size

                held, held_bytes = held_bytes, held_bytes + size
                full = max(0, held - max(0, limit - size))
                begins = closed_bytes == held or closed_bytes < full
                if begins:
                    closed_bytes = held
                assert begins == is_first
                begun += begins
            else:
                told = draw.choice([size, closing_bytes, open_bytes])
                open_bytes, closing_bytes = (
                    max(0, open_bytes - max(0, told - closing_bytes)),
                    max(0, closing_bytes - told),
                )
                held_bytes, closed_bytes = max(0, held_bytes - told), max(0, closed_bytes - told)
            assert (held_bytes - closed_bytes, closed_bytes) == (open_bytes, closing_bytes)
    assert 1000 < begun < 13000


def test_parts_of_bytes_pace_as_their_product_does():
    """The rule of tna/edge_probe.p4, in 32 bits, beside that of include/edge_probe.p4: at most 5 byte/s less, and satisfied by the same."""
    draw = Random(8)
    most = (1 << 32) - 1

    def number() -> int:
        return draw.randrange(1 << draw.randrange(1, 33))

    for _ in range(20000):
        used, periods, allowed, feedback, floor = (
            draw.randrange(1 << draw.randrange(1, 32)),
            draw.randrange(1, 1 << 20),
            number(),
            number(),
            number(),
        )
        bounded = draw.random() < 0.5
        used_q8 = used * periods
        expected = min(allowed, used_q8 >> 7) if bounded else allowed
        expected = max(0, expected + (feedback ^ 1 << 31) - (1 << 31))
        expected = min(max(expected, floor), most)

        parts = [used >> 22 << 22, used & 0x7FF << 11, used & 0x7FF]
        high, middle, low = (min(part * periods >> 8, most) for part in parts)
        rate = min(high + min(middle + low, most), most)
        found = allowed - max(0, allowed - min(2 * rate, most)) if bounded else allowed
        found = min(found + feedback, most) if feedback < 1 << 31 else max(0, found - (-feedback % (1 << 32)))
        found = max(found, floor)
        assert 0 <= expected - found <= 5
        is_satisfied = max(0, max(0, allowed - rate) - (allowed >> 3)) != 0
        assert is_satisfied == (used_q8 >> 5 < 7 * allowed) or abs((used_q8 >> 5) - 7 * allowed) < 32
