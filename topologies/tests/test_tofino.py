# SPDX-License-Identifier: Apache-2.0
"""What controllers see of the Tofino programs is what they see of v1model's, but for what is listed here with its reason."""
import json
import re
from pathlib import Path
from random import Random

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

P4SRC = Path(__file__).parents[2] / "p4src"
MADE = P4SRC / "tna-out"
MANIFEST = json.loads((MADE / "manifest.json").read_text())
PROGRAMS = list(MANIFEST["arguments"])

INTERVALS = "a control interval's 64-bit multiply and six divisions are the switch's agent's"
LENGTH = "a packet's length is known behind the traffic manager"
TIME = "nothing multiplies"
PLACES = "nothing shifts by a variable"
AGENTS = "what an output's agent tells a probe is a product of 40 and 32 bits, and its control interval divides"
TRAINS = "an edge of a star: trains and labels are not in it"
STARS = "an edge of optical packet switches: stars and their slots are not in it"
SHARES = "shares are sums over all macroflows, in loops"
FAIR = "tags are sums of 64 bits"
TWICE = "two tables have this action, and a direct counter counts in one table's"
CARD = "the switch is its own line card, by queues of the traffic manager"
SECOND = "messages and XCP are in a second pipe, which packets come to by a loop"
SOURCES = "v1model has bytes by source in registers, with what a window's end makes of them"

# By program, what v1model has alone, and why.
LEFT_OUT = {
    "router": {
        "table RouterIngress.xcp_params": INTERVALS,
        "action RouterIngress.set_xcp_params": INTERVALS,
    },
    "core": {
        "counter CoreIngress.output_traffic": LENGTH,
    },
    "ops": {
        "table OpsIngress.agent": AGENTS,
        "action OpsIngress.set_target": AGENTS,
        "action OpsIngress.no_agent": AGENTS,
        "table OpsIngress.xcp_params": AGENTS,
        "action OpsIngress.set_xcp_params": AGENTS,
        "counter OpsIngress.output_traffic": LENGTH,
    },
    "ring": {
        "table RingIngress.ring_timing": INTERVALS,
        "action RingIngress.set_timing": INTERVALS,
    },
    "edge": {
        "action EdgeIngress.aggregate": TRAINS,
        "action EdgeIngress.enqueue_either": TRAINS,
        "action EdgeIngress.granted": INTERVALS,
        "action EdgeIngress.no_share": TRAINS,
        "action EdgeIngress.no_train": TRAINS,
        "action EdgeIngress.nothing_granted": INTERVALS,
        "action EdgeIngress.one_fibre": TRAINS,
        "action EdgeIngress.set_fibres": TRAINS,
        "action EdgeIngress.set_flow_queue": TRAINS,
        "action EdgeIngress.set_ingress": TRAINS,
        "action EdgeIngress.set_label_params": TRAINS,
        "action EdgeIngress.set_macroflow": TRAINS,
        "action EdgeIngress.set_share": TRAINS,
        "action EdgeIngress.set_star_train": TRAINS,
        "action EdgeIngress.set_train": TRAINS,
        "action EdgeIngress.set_weight": TRAINS,
        "counter EdgeIngress.flow_queue_counter": TRAINS,
        "counter EdgeIngress.train_queue_counter": TRAINS,
        "table EdgeIngress.aggregation": TRAINS,
        "table EdgeIngress.fibre_params": TRAINS,
        "table EdgeIngress.flow_queue": TRAINS,
        "table EdgeIngress.ingress_params": TRAINS,
        "table EdgeIngress.macroflow": TRAINS,
        "table EdgeIngress.share_params": TRAINS,
        "table EdgeIngress.train_queue": TRAINS,
        "table EdgeIngress.train_weight": TRAINS,
        "action EdgeIngress.set_xcp_params": INTERVALS,
        "table EdgeIngress.xcp_params": INTERVALS,
        "table EdgeIngress.xcp_slots": INTERVALS,
        "counter EdgeIngress.voq_counter": TWICE,
        "counter EdgeIngress.voq_share_counter": TWICE,
    },
    "edge_ops": {
        "action EdgeIngress.accept_session": STARS,
        "action EdgeIngress.by_invitation": STARS,
        "action EdgeIngress.inviting": STARS,
        "action EdgeIngress.out_of_band": STARS,
        "action EdgeIngress.send_commit": STARS,
        "action EdgeIngress.send_configuration": STARS,
        "action EdgeIngress.send_invitation": STARS,
        "action EdgeIngress.send_request": STARS,
        "action EdgeIngress.send_request_every": STARS,
        "action EdgeIngress.send_sync": STARS,
        "action EdgeIngress.no_message": STARS,
        "action EdgeIngress.grant": STARS,
        "action EdgeIngress.idle_slot": STARS,
        "action EdgeIngress.set_edge_params": STARS,
        "action EdgeIngress.set_star_train": STARS,
        "action EdgeIngress.share": STARS,
        "action EdgeIngress.stranger": STARS,
        "counter EdgeIngress.member_counter": STARS,
        "counter EdgeIngress.signaling_counter": STARS,
        "counter EdgeIngress.slot_schedule_counter": STARS,
        "counter EdgeIngress.voq_share_counter": STARS,
        "table EdgeIngress.member": STARS,
        "table EdgeIngress.membership": STARS,
        "table EdgeIngress.signaling": STARS,
        "table EdgeIngress.slot_schedule": STARS,
        "table EdgeIngress.voq_share": STARS,
        "action EdgeIngress.no_share": SHARES,
        "action EdgeIngress.set_share": SHARES,
        "table EdgeIngress.share_params": SHARES,
        "action EdgeIngress.set_weight": FAIR,
        "table EdgeIngress.train_weight": FAIR,
        "action EdgeIngress.fixed_capacity": AGENTS,
        "action EdgeIngress.granted": AGENTS,
        "action EdgeIngress.no_controller": AGENTS,
        "action EdgeIngress.nothing_granted": AGENTS,
        "action EdgeIngress.set_xcp_params": AGENTS,
        "action EdgeIngress.slot_capacity": AGENTS,
        "counter EdgeIngress.xcp_headers": AGENTS,
        "table EdgeIngress.xcp_output": AGENTS,
        "table EdgeIngress.xcp_params": AGENTS,
        "table EdgeIngress.xcp_slots": AGENTS,
    },
}
# What Tofino has alone; besides, ports of the device are numbered by pipe, and XCP for a packet has tables in place of arithmetic.
ADDED = {
    "router": {
        "action RouterIngress.measure": TIME,
    },
    "core": {
        "table CoreEgress.packet_time": TIME,
        "action CoreEgress.lasts": TIME,
        "counter CoreEgress.output_traffic": LENGTH,
        "counter CoreEgress.drops": LENGTH,
    },
    "ops": {
        "table OpsIngress.fibre_of_port": PLACES,
        "action OpsIngress.split_to": PLACES,
        "table OpsIngress.port_of_fibre": PLACES,
        "action OpsIngress.begin_at": PLACES,
        "action OpsIngress.no_port": PLACES,
        "table OpsIngress.train_time_high": TIME,
        "action OpsIngress.lasts_high": TIME,
        "table OpsIngress.train_time_low": TIME,
        "action OpsIngress.lasts_low": TIME,
        "table OpsEgress.frame_params": LENGTH,
        "action OpsEgress.set_overhead": LENGTH,
        "counter OpsEgress.output_traffic": LENGTH,
        "counter OpsEgress.drops": LENGTH,
    },
    "ring": {
        "counter RingIngress.source_traffic": SOURCES,
        "counter RingIngress.committed_traffic": SOURCES,
    },
    "edge": {
        "table EdgeIngress.device_queue": CARD,
        "action EdgeIngress.enter": CARD,
        "table EdgeIngress.device_gate": CARD,
        "action EdgeIngress.control_queue": CARD,
        "action EdgeIngress.enter_with_xcp": SECOND,
        "table EdgeIngress.device_exit": SECOND,
        "counter EdgeSide.drops": SECOND,
        "action EdgeIngress.leave": SECOND,
        "action EdgeIngress.absent": SECOND,
        "action EdgeIngress.measure": TIME,
        "counter EdgeIngress.voq_traffic": TWICE,
    },
    "edge_ops": {
        "table EdgeIngress.frame_headers_high": TIME,
        "action EdgeIngress.have_high": TIME,
        "table EdgeIngress.frame_headers_low": TIME,
        "action EdgeIngress.have_low": TIME,
        "table EdgeIngress.period_rate_high": TIME,
        "action EdgeIngress.is_high": TIME,
        "table EdgeIngress.period_rate_middle": TIME,
        "action EdgeIngress.is_middle": TIME,
        "table EdgeIngress.period_rate_low": TIME,
        "action EdgeIngress.is_low": TIME,
    },
}
XCP_PACKET = re.compile(r"\w+ (Router|Edge)Ingress\.(packet|check)\.")
# Of another shape, and why: P4Runtime's numbers have no leading zeros, so entries are the same.
OTHERWISE = {
    "router": {
        "table RouterIngress.xcp_output": "a key of 9 bits, as a port has, needs no hash group of its own",
    },
    "core": {},
    "ops": {},
    "ring": {},
    "edge": {
        "table EdgeIngress.edge_params": TRAINS,
        "table EdgeIngress.voq": TRAINS,
        "table EdgeIngress.xcp_output": "a key of 10 bits, as VOQs have, needs no hash group of its own",
    },
    "edge_ops": {
        "table EdgeIngress.edge_params": STARS,
        "table EdgeIngress.train_queue": STARS,
        "table EdgeIngress.voq": STARS,
    },
}
# Of which v1model program one for Tofino2 is a part, where it has another name.
WHOLE = {"edge_ops": "edge"}
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


@pytest.mark.parametrize("program", PROGRAMS)
def test_controllers_see_what_they_see_of_v1model(program):
    tofino = seen(MADE / f"{program}.p4info.txtpb")
    program = Path(MANIFEST["arguments"][program][-1]).stem
    whole = WHOLE.get(program, program)
    v1model = seen(P4SRC / "p4c-out" / f"{whole}.p4info.txtpb")
    added = ADDED[program].keys() | {name.format(whole.capitalize()) for name in DEVICE_PORT}
    assert v1model.keys() - tofino.keys() == LEFT_OUT[program].keys()
    assert {name for name in tofino.keys() - v1model.keys() if not XCP_PACKET.match(name)} == added
    both = v1model.keys() & tofino.keys()
    assert {name for name in both if tofino[name] != v1model[name]} == OTHERWISE[program].keys()


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
            now += draw.choice([draw.randrange(100), draw.randrange(20000), draw.randrange(3 << 30) if draw.random() < 0.01 else 0])
            time = draw.randrange(1, 30000)
            left = max(0, busy_until - now)
            if left <= ram:
                busy_until = now + left + time

            idle = (now - reserved_time) % turn
            reserved_time = (reserved_time + time) % turn
            before, eras = last_label % turn, (now >> 32) - (last_label >> 32)
            recent = signed(now - before) >= 0 and (eras == 0 or eras == 1 and signed(before) < 0 <= signed(now))
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
    edges = [0, 1, longest, longest + 1, sign - 1, sign, half - 1, half, half + longest, whole - 1, whole - longest, whole - longest - 1, whole // 2]
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
                open_bytes, closing_bytes = max(0, open_bytes - max(0, told - closing_bytes)), max(0, closing_bytes - told)
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
        used, periods, allowed, feedback, floor = draw.randrange(1 << draw.randrange(1, 32)), draw.randrange(1, 1 << 20), number(), number(), number()
        bounded = draw.random() < 0.5
        used_q8 = used * periods
        expected = min(allowed, used_q8 >> 7) if bounded else allowed
        expected = max(0, expected + (feedback ^ 1 << 31) - (1 << 31))
        expected = min(max(expected, floor), most)

        parts = [used >> 22 << 22, used & 0x7ff << 11, used & 0x7ff]
        high, middle, low = (min(part * periods >> 8, most) for part in parts)
        rate = min(high + min(middle + low, most), most)
        found = allowed - max(0, allowed - min(2 * rate, most)) if bounded else allowed
        found = min(found + feedback, most) if feedback < 1 << 31 else max(0, found - (-feedback % (1 << 32)))
        found = max(found, floor)
        assert 0 <= expected - found <= 5
        is_satisfied = max(0, max(0, allowed - rate) - (allowed >> 3)) != 0
        assert is_satisfied == (used_q8 >> 5 < 7 * allowed) or abs((used_q8 >> 5) - 7 * allowed) < 32
