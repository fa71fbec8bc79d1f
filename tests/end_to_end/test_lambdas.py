# SPDX-License-Identifier: Apache-2.0
"""Webs of lambdas with their controller: sessions of GTP beside max-min rates, in virtual time and live."""

import json
import re
import signal
import urllib.request
from contextlib import ExitStack

import pytest

from chain import read_until, spawn
from slotwise import LambdaNetwork
from slotwise.results import plot
from test_runs import ROOT, SLOTWISE, load_report, slotwise

OPTIPUTER = ROOT / "topologies" / "optiputer.yaml"

# Two sources and two sinks; the way of the second two is 4 Mb/s, and from 3 s on 2 Mb/s.
NETWORK = """
version: 1
name: web
seed: 1
duration_ms: 5000
sample_ms: 500
packet_bytes: 500
routers: [a, b, c]
links:
- {name: a-b, from: a, to: b, rate_bps: 50000000, delay_ns: 1000000, buffer: {packets: 100}}
- {name: b-a, from: b, to: a, rate_bps: 50000000, delay_ns: 1000000, buffer: {packets: 100}}
- {name: b-c, from: b, to: c, rate_bps: 4000000, delay_ns: 1000000, buffer: {packets: 100}}
- {name: c-b, from: c, to: b, rate_bps: 4000000, delay_ns: 1000000, buffer: {packets: 100}}
hosts:
- {name: one, count: 1, at: a, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}, gtp: {capacity_bps: 10000000}}
- {name: near, count: 1, at: b, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}}
- {name: far, count: 1, at: c, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}}
flows:
- {name: first, from: one, to: near, start_jitter_ms: 0, gtp: {}}
- {name: second, from: one, to: far, start_jitter_ms: 0, start_ms: 1100, gtp: {}}
- {name: third, from: near, to: far, start_jitter_ms: 0, stop_ms: 2000, gtp: {source_limit_bps: 1000000}}
changes:
- {at_ms: 3000, link: b-c, rate_bps: 2000000}
"""
STUDY = """
fluid:
  duration_ms: 4000
  cases:
  - {name: five, shape: {pairs: [[1, 1], [2, 1]]}, capacity_mbps: 100, rtt_ms: [10, 30], interval_ms: 20, join_s: [0, 1]}
  - {name: two-sinks, shape: {pairs: [[1, 1], [1, 2], [2, 2]]}, capacity_mbps: 100, rtt_ms: [10, 30, 20], interval_ms: 20, demand_mbps: [20, 100, 100], initial: fair}
"""
TWIN = """
name: twin
title: Rates without packets, and with them
source: nobody
assumptions: []
runs:
  rates: {scenario: study.yaml, seeds: 1}
  packets: {scenario: study.yaml, seeds: 1, set: [[/fluid/packets, 0.2]]}
entries:
- id: shares
  title: Shares
  published: halves
  facts:
  - {text: half, where: x, run: rates, measure: {table: sessions, column: ratio_to_capacity, of: [five/1, five/2]}, from_s: 3, to_s: 4, stat: mean,
     across: least, band: [0.49, 0.51], why: x}
  - {text: half with packets, where: x, run: packets, measure: {table: sessions, column: ratio_to_capacity, of: [five/1, five/2]}, from_s: 3, to_s: 4, stat: mean,
     across: least, band: [0.48, 0.52], why: x}
  - {text: rates are as they were, where: x, run: packets, measure: {table: sessions, column: rate_mbps, of: [two-sinks/2]}, from_s: 0, to_s: 4, stat: mean,
     band: [49, 51.5], why: "begun at its share of its sink, and as printed up to 3 % beyond it"}
  - {text: near the oracle, where: x, run: packets, measure: {table: distances, column: normalized_distance, of: [two-sinks]}, from_s: 1, to_s: 4, stat: mean, band: [0, 0.04], why: x}
"""


def rates(report: dict, key: str = "rate_bps") -> dict[str, list]:
    """Of each session, a value a period."""
    return {session["name"]: session[key] for session in report["series"]["sessions"]}


@pytest.mark.parametrize(("command", "near"), [("simulate", 0.05), ("emulate", 0.25)])
def test_sessions_of_a_web_of_lambdas_come_near_their_max_min_rates(tmp_path, command, near):
    done = slotwise(command, OPTIPUTER, "--report", tmp_path / "report.json", "--events", tmp_path / "events")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["invariants"] == {"astray": 0, "first": []}
    fair, sent = rates(report, "fair_bps"), rates(report)
    assert len(fair) == 14 and len(report["series"]["time_ms"]) == len(fair["uic-1.0"])
    # Its own 10 Mb/s, whoever else is there.
    assert set(fair["jsoe-3.0"]) - {None} == {10_000_000}
    assert fair["ncsa-1.0"][0] is None and any(fair["ncsa-1.0"])
    whole = report["series"]["distance"]
    # 3 to 4 s: all that began at first are where they should be. (Live, the last period may be one without a session.)
    parts = [own / zero for own, zero in zip(whole["distance"][30:40], whole["d0"][30:40], strict=True)]
    assert sum(parts) / 10 < near, parts
    assert sent["jsoe-3.0"][35] == pytest.approx(10_000_000, rel=0.1 if command == "simulate" else 0.5)
    snapshots = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    seen = [event["sessions"] for event in snapshots if event["event"] == "snapshot" and "sessions" in event]
    assert seen and {session["name"] for session in seen[-1]} == set(fair)
    assert "  sessions      14 GTP sessions; " in done.stdout
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_the_controller_would_grant_what_the_oracle_says(tmp_path):
    made = LambdaNetwork(
        ["a", "b", "c"], 2, lambdas=[("a", "b"), ("b", "c")], by_controller=True, seconds=4, access_rate_bps=50_000_000
    )
    made.link("a", "c", rate_bps=30_000_000, delay_ns=5_000_000)
    made.gtp("hosts0", "hosts2", name="short").gtp("hosts1", "hosts2", name="other", source_limit_bps=7_000_000).gtp(
        "hosts0", "hosts1", name="near"
    )
    made.save(tmp_path / "web.yaml")
    with ExitStack() as stack:
        run = spawn(stack, SLOTWISE, "simulate", tmp_path / "web.yaml", "--report", tmp_path / "report.json")
        rest = re.search(r"http://[^ ]*/v1/", read_until(run, "REST API at"))[0]
        # Virtual time stands still until both are answered: the run would be over first on a fast machine.
        run.send_signal(signal.SIGSTOP)
        with urllib.request.urlopen(rest + "lambda/sessions", timeout=60) as answer:
            granted = {each["session"]: each["granted_bps"] for each in json.load(answer)["sessions"]}
        with urllib.request.urlopen(rest + "lambda/status", timeout=60) as answer:
            assert json.load(answer)["max_min"]
        run.send_signal(signal.SIGCONT)
        run.communicate(timeout=120)
    fair = rates(load_report(tmp_path / "report.json"), "fair_bps")
    assert granted == {name.replace(".", "-"): pytest.approx(bps[-1], abs=2) for name, bps in fair.items()}
    # The direct lambda of 30 Mb/s is the nearest for both of the first.
    assert sum(bps for name, bps in granted.items() if name.startswith("short")) == pytest.approx(30_000_000, abs=4)


def test_sessions_that_the_controller_cannot_have_are_refused(tmp_path):
    text = OPTIPUTER.read_text()
    plain = tmp_path / "plain.yaml"
    plain.write_text(re.sub(r"gtp: \{(bytes|source_limit_bps): \d+\}\}|gtp: \{\}\}", "transport: cubic}", text))
    refused = slotwise("check", plain)
    assert refused.returncode != 0 and "/controller/lambda: 0 GTP sessions; expected 1 to 4096" in refused.stderr, (
        refused.stderr
    )


def simulated(directory, text: str) -> dict:
    """The report of a run of this scenario."""
    (directory / "web.yaml").write_text(text)
    done = slotwise("simulate", directory / "web.yaml", "--report", directory / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    return load_report(directory / "report.json")


def test_sessions_stand_beside_their_max_min_rates_while_they_are_there(tmp_path):
    report = simulated(tmp_path, NETWORK)
    fair = rates(report, "fair_bps")
    # 10 Mb/s of the source, less what the second has by its way: 4 less 1 of the third, then all 4, then 2.
    assert fair["first.0"] == [mbps * 1_000_000 for mbps in (10, 10, 7, 7, 6, 6, 8, 8, 8, 8)]
    assert [bps is not None for bps in fair["second.0"]] == [False] * 3 + [True] * 7, "it began in the third period"
    assert [bps is not None for bps in fair["third.0"]] == [True] * 4 + [False] * 6
    whole = report["series"]["distance"]
    parts = [own / zero for own, zero in zip(whole["distance"], whole["d0"], strict=True)]
    assert parts[2] > 0.2 > parts[5], parts
    assert rates(report)["third.0"][3] == pytest.approx(1_000_000, rel=0.05)


def test_a_session_that_begins_at_a_rate_sends_at_it_at_once_and_stays(tmp_path):
    text = NETWORK.replace("gtp: {}}", "gtp: {initial_rate_bps: 10000000}}", 1).replace(
        "start_ms: 1100, gtp: {}", "start_ms: 4900, gtp: {}"
    )
    sent = rates(simulated(tmp_path, text))["first.0"]
    assert all(bps == pytest.approx(10_000_000, rel=0.04) for bps in sent[:8]), sent


def test_over_a_ring_there_is_no_oracle(tmp_path):
    text = (ROOT / "topologies" / "ring8.yaml").read_text()
    head, flows = text.split("flows:")
    ends = re.search(r"from: (\w+), to: (\w+)", flows)
    scenario = f"{head}flows:\n- {{name: f, from: {ends[1]}, to: {ends[2]}, gtp: {{bytes: 100000}}}}\ncontroller: {{control_latency_ns: 1000000}}\n"
    report = simulated(tmp_path, re.sub("duration_ms: .*", "duration_ms: 500", scenario))
    assert "sessions" not in report["series"] and "distance" not in report["series"]


def test_a_network_without_packets_has_a_twin_with_packets(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "experiment.yaml").write_text(TWIN)
    done = slotwise("reproduce", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads((tmp_path / "out" / "full" / "facts.json").read_text())
    assert [fact["outcome"] for fact in facts] == ["pass"] * 4, facts
    assert facts[0]["value"] != facts[1]["value"], "packets"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{paths: [[0, 1, 2]]}", "which routers do not"),
        ("{pairs: [[1, 1]]}, demands: [[1, 5]]", "flow sources do not support"),
    ],
)
def test_what_packets_cannot_do_is_refused_with_why(tmp_path, wrong, said):
    (tmp_path / "study.yaml").write_text(f"fluid: {{duration_ms: 1000, cases: [{{name: five, shape: {wrong}}}]}}")
    experiment = TWIN.split("entries:", maxsplit=1)[0].replace("  rates: {scenario: study.yaml, seeds: 1}\n", "")
    fact = TWIN[TWIN.index("  - {text: near the oracle") :].split("\n", maxsplit=1)[0].replace("[two-sinks]", "[five]")
    (tmp_path / "experiment.yaml").write_text(
        f"{experiment}entries:\n- id: shares\n  title: x\n  published: x\n  facts:\n{fact}\n"
    )
    done = slotwise("reproduce", tmp_path, "--out", tmp_path / "out")
    assert done.returncode != 0 and "run 'packets'" in done.stderr and said in done.stderr, done.stderr
