# SPDX-License-Identifier: Apache-2.0
"""Packet rings with their controller, in virtual time."""

import json
import re
import signal
import urllib.request
from contextlib import ExitStack

import jsonschema
import pandas
import pytest

from chain import read_until, spawn
from slotwise.results import plot
from test_runs import ROOT, SLOTWISE, load_report, slotwise

NOTHING_BROKEN = {
    "duplicate": 0,
    "astray": 0,
    "transit_loss": 0,
    "round": 0,
    "add_rate": 0,
    "insertion": 0,
    "first": [],
}

# Five stations, a greedy flow over two of them, and a cut of its shorter way.
CUT = """
version: 1
name: ring-cut
seed: 1
duration_ms: 1500
sample_ms: 10
packet_bytes: 1470
ring:
  mode: explicit
  links: {rate_bps: 50000000, delay_ns: 10000}
  stations: [n0, n1, n2, n3, n4]
hosts:
- {name: s, count: 1, at: n0, rate_bps: 100000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 1000}}
- {name: d, count: 1, at: n2, rate_bps: 100000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 1000}}
flows:
- {name: f, from: s, to: d, udp: {rate_bps: 10000000, process: constant}}
changes:
- {at_ms: 500, span: n1-n2, up: false}
- {at_ms: 1000, span: n1-n2, up: true}
controller: {control_latency_ns: 1000000}
"""


# Each of four stations sends all it may to the fifth; the first one sends to the second, too.
LOT = (
    """
version: 1
name: parking-lot
seed: 1
duration_ms: 1000
sample_ms: 100
packet_bytes: 1470
ring:
  mode: explicit
  open: true
  links: {rate_bps: 150000000, delay_ns: 10000}
  ingress: {buffer_bytes: 200000}
  stations: [n0, n1, n2, n3, n4]
hosts:
"""
    + "".join(
        f"- {{name: h{n}, count: 1, at: n{n}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 1000}}}}\n"
        for n in range(5)
    )
    + "flows:\n"
    + "".join(
        f"- {{name: f{a}{b}, from: h{a}, to: h{b}, start_jitter_ms: 0, udp: {{rate_bps: 150000000, process: constant}}}}\n"
        for a, b in ((0, 4), (1, 4), (2, 4), (3, 4), (0, 1))
    )
)


# A station that sends more than its links have, and seven behind it that send a packet of 64 bytes each 5 ms.
TRICKLE = (
    """
version: 1
name: trickle
seed: 1
duration_ms: 1000
sample_ms: 100
packet_bytes: 1470
ring:
  mode: {mode}
  open: true
  links: {{rate_bps: 50000000, delay_ns: 10000}}
  stations: [n0, n1, n2, n3, n4, n5, n6, n7, n8]
hosts:
"""
    + "".join(
        f"- {{{{name: h{n}, count: 1, at: n{n}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{{{packets: 1000}}}}}}}}\n"
        for n in range(9)
    )
    + "flows:\n- {{name: greedy, from: h0, to: h8, start_jitter_ms: 0, udp: {{rate_bps: 100000000, process: constant}}}}\n"
    + "".join(
        f"- {{{{name: t{n}, from: h{n}, to: h8, packet_bytes: 64, start_jitter_ms: 5, udp: {{{{rate_bps: 102400, process: constant}}}}}}}}\n"
        for n in range(1, 8)
    )
)


def simulated(scenario, tmp_path, *arguments, tables=frozenset({"stations", "flows", "delays"})) -> pandas.DataFrame:
    """Columns of the stations in a run in which all was well and nothing was broken, and which wrote these tables."""
    done = slotwise(
        "simulate", scenario, "--report", tmp_path / "report.json", "--columns", tmp_path / "columns", *arguments
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_report(tmp_path / "report.json")["invariants"] == NOTHING_BROKEN
    assert {file.stem for file in (tmp_path / "columns").iterdir()} == tables
    return pandas.read_parquet(tmp_path / "columns" / "stations.parquet")


def jain(rates) -> float:
    return sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)


def test_a_report_says_what_stations_should_have(tmp_path):
    (tmp_path / "lot.yaml").write_text(LOT)
    simulated(tmp_path / "lot.yaml", tmp_path, tables={"stations", "flows", "delays", "fairness", "convergence"})
    report = load_report(tmp_path / "report.json")
    jsonschema.validate(report, json.loads((ROOT / "schema" / "report.schema.json").read_text()))
    # 0.85 of 150 Mb/s are shared: a quarter each on the last link, and on the first one what its other flow leaves.
    whole = 0.85 * 150e6
    expected = {"n0-n4": whole / 4, "n1-n4": whole / 4, "n2-n4": whole / 4, "n3-n4": whole / 4, "n0-n1": whole * 3 / 4}
    shares = {share["pair"]: share for share in report["shares"]}
    assert shares.keys() == expected.keys()
    for pair, share in shares.items():
        assert abs(share["rias_bps"] / expected[pair] - 1) < 1e-6, share
        assert abs(share["distance"] - abs(share["rate_bps"] - share["rias_bps"]) / share["rias_bps"]) < 1e-9, share
        assert share["distance"] < 0.05, share
    # What the report says is what hosts received, with 46 bytes of headers for each packet's 1442 of payload and 12 of UDP and Ethernet.
    for flow in report["phases"][0]["flows"]:
        pair = f"n{flow['name'][1]}-n{flow['name'][2]}"
        assert abs(flow["goodput_bps"] * 1500 / 1442 / shares[pair]["rate_bps"] - 1) < 1e-6, flow


@pytest.mark.parametrize("mode", ["explicit", "controller"])
def test_who_sends_a_packet_now_and_then_leaves_the_rest(tmp_path, mode):
    (tmp_path / "trickle.yaml").write_text(TRICKLE.format(mode=mode))
    simulated(tmp_path / "trickle.yaml", tmp_path, tables={"stations", "flows", "delays", "fairness", "convergence"})
    (greedy,) = [share for share in load_report(tmp_path / "report.json")["shares"] if share["pair"] == "n0-n8"]
    # 85 % of 50 Mb/s but for seven times 94 bytes each 5 ms.
    assert abs(greedy["rias_bps"] / (0.85 * 50e6 - 7 * 94 * 8 * 200) - 1) < 1e-3, greedy
    assert greedy["rate_bps"] > 0.95 * greedy["rias_bps"], greedy


# Nobody asks the controller for anything: in this mode it has no turns.
IDLE = (
    CUT[: CUT.index("changes:")].replace("duration_ms: 1500", "duration_ms: 10000000")
    + "controller: {control_latency_ns: 1000000}\n"
)


def test_rest_changes_a_ring_in_virtual_time_and_answers_on(tmp_path):
    (tmp_path / "idle.yaml").write_text(IDLE)
    with ExitStack() as stack:
        run = spawn(stack, SLOTWISE, "simulate", tmp_path / "idle.yaml", "--report", tmp_path / "report.json")
        ring = re.search(r"http://[^ ]*/v1/", read_until(run, "REST API at"))[0] + "ring/"

        def ask(resource: str, body: dict | None = None) -> dict:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(
                ring + resource, data, {"Content-Type": "application/json"}, method="PUT" if data else "GET"
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)

        def await_settled() -> None:
            while not all(station["settled"] for station in ask("stations")["stations"]):
                assert run.poll() is None

        for mode in ("controller", "explicit", "controller"):
            assert ask("mode", {"mode": mode}) == {"mode": mode}
            assert ask("mode") == {"mode": mode}
            await_settled()
        ask("ports/3001/256", {"up": False})
        while ask("status")["reroutes"] == 0:
            assert run.poll() is None
        await_settled()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=120)


def test_fairness_after_a_fault_is_measured(tmp_path):
    scenario = ROOT / "experiments" / "faults" / "ring-messages.yaml"
    done = slotwise("simulate", scenario, "--duration", "1.5", "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    jsonschema.validate(report, json.loads((ROOT / "schema" / "report.schema.json").read_text()))
    measured = [row for row in report["faults"]["rows"] if "fairness" in row]
    starts = sorted(row["start_ns"] for row in report["faults"]["rows"])
    for row in measured:
        begin_ns = row["end_ns"] + row["recovery_ns"]
        # It is looked each millisecond whether all is well.
        assert not any(begin_ns + 1_000_000 < at_ns < begin_ns + row["fairness"]["window_ns"] for at_ns in starts), row
        assert 20_000_000 <= row["fairness"]["window_ns"] <= 100_000_000 and row["fairness"]["distance"] < 0.1, row
    kinds = {kind["kind"]: kind["fairness"] for kind in report["faults"]["kinds"] if "fairness" in kind}
    assert len(measured) >= 3 and sum(kind["measured"] for kind in kinds.values()) == len(measured)
    for name, kind in kinds.items():
        distances = [row["fairness"]["distance"] for row in measured if row["kind"] == name]
        assert kind["max_distance"] == max(distances) and 0.95 < kind["min_jain"] <= 1, name
        assert f"deviation from RIAS after {len(distances)} of them" in done.stdout


def test_users_of_eight_stations_share_the_links_to_the_hub(tmp_path):
    stations = simulated(ROOT / "topologies" / "ring8.yaml", tmp_path, "--duration", "2")
    late = stations[stations.time_s > 1]
    head = late[late.station == "node7/0"]
    # Transit waits for a packet that has begun, and for transit that came before it: two packets of 80 us, and a message.
    assert 0.7 < head.utilization.mean() < 0.9 and late.max_transit_us.max() <= 166
    # Fifty users of a station ask for about 16 Mb/s, which is what its shaper lets through; how much differs by what they draw.
    added = [late[late.station == f"node{station}/0"].added_kbps.mean() for station in range(8)]
    assert all(12_000 < rate < 16_500 for rate in added) and jain(added) > 0.98, added


def test_a_cut_span_is_gone_round_and_taken_again(tmp_path):
    (tmp_path / "cut.yaml").write_text(CUT)
    stations = simulated(tmp_path / "cut.yaml", tmp_path, tables={"stations", "flows", "delays", "fairness"})

    def added(way: str, start_s: float, end_s: float) -> float:
        rows = stations[(stations.station == way) & (stations.time_s > start_s) & (stations.time_s <= end_s)]
        return rows.added_kbps.mean()

    for start_s, end_s, by, other in (
        (0.2, 0.5, "n0/0", "n0/1"),
        (0.52, 1, "n0/1", "n0/0"),
        (1.02, 1.5, "n0/0", "n0/1"),
    ):
        assert added(by, start_s, end_s) > 9_000 and added(other, start_s, end_s) == 0, (start_s, by)
    flows = pandas.read_parquet(tmp_path / "columns" / "flows.parquet")
    dark = flows[(flows.time_s > 0.5) & (flows.goodput_kbps < 9_000)]
    assert len(dark) <= 4, "ten milliseconds each, twice"
    fairness = pandas.read_parquet(tmp_path / "columns" / "fairness.parquet")
    whole = [round(time_s, 2) for time_s in fairness.time_s]
    assert whole == [n / 100 for n in [*range(1, 50), *range(101, 151)]], "of whole rings only"
    # 10 Mb/s of IP, and 30 bytes more a packet of 1470 on the ring; the flow starts within the first 100 ms.
    assert all(abs(rate / (10_000 * 1500 / 1470) - 1) < 1e-6 for rate in fairness.fair_kbps[fairness.time_s > 0.105])


def test_tcp_of_linux_shares_a_ring(tmp_path):
    done = slotwise("emulate", ROOT / "topologies" / "ring8-tcp.yaml", "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["invariants"] == NOTHING_BROKEN
    (phase,) = report["phases"]
    assert {flow["generated_by"] for flow in phase["flows"]} == {"linux"}
    goodputs = [flow["goodput_bps"] for flow in phase["flows"]]
    assert len(goodputs) == 8 and jain(goodputs) > 0.97, goodputs
    shares = report["shares"]
    assert [share["pair"] for share in shares] == [f"node{n}-hub" for n in range(8)]
    assert all(abs(share["rias_bps"] / (0.85 * 15e6 / 8) - 1) < 1e-6 for share in shares), shares
    # On a machine with nothing else to do it is 0.01.
    assert all(share["distance"] < 0.25 for share in shares) and jain([share["rate_bps"] for share in shares]) > 0.97, (
        shares
    )
    links = {link["name"]: link for link in report["series"]["links"]}
    assert len(links) == 16 and all(
        len(link["added_bps"]) == len(report["series"]["time_ms"]) > 50 for link in links.values()
    )
    assert max(links["node7/0"]["active_stations"]) == 8, "all share the link to the hub while it is congested"
    assert max(links["node0/0"]["active_stations"]) <= 1, "nobody but its station is on the first one"
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    # The one that is nearest to the hub would have all of it.
    assert max(goodputs) < 2 * min(goodputs) and sum(goodputs) > 0.6 * 15e6, goodputs
