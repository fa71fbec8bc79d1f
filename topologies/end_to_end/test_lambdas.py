# SPDX-License-Identifier: Apache-2.0
"""Webs of lambdas with their controller: sessions of GTP beside max-min rates, in virtual time."""
import re

import pytest

from test_runs import ROOT, load_report, slotwise

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
- {name: one, count: 1, router: a, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}, gtp: {capacity_bps: 10000000}}
- {name: near, count: 1, router: b, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}}
- {name: far, count: 1, router: c, rate_bps: 20000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 100}}
flows:
- {name: first, from: one, to: near, spread_ms: 0, gtp: {}}
- {name: second, from: one, to: far, spread_ms: 0, start_ms: 1100, gtp: {}}
- {name: third, from: near, to: far, spread_ms: 0, stop_ms: 2000, gtp: {limit_bps: 1000000}}
changes:
- {at_ms: 3000, link: b-c, rate_bps: 2000000}
"""


def rates(report: dict, key: str = "rate_bps") -> dict[str, list]:
    """Of each session, a value a period."""
    return {session["name"]: session[key] for session in report["series"]["sessions"]}


def test_sessions_that_the_controller_cannot_have_are_refused(tmp_path):
    text = OPTIPUTER.read_text()
    plain = tmp_path / "plain.yaml"
    plain.write_text(re.sub(r"gtp: \{(bytes|limit_bps): \d+\}\}|gtp: \{\}\}", "transport: cubic}", text))
    refused = slotwise("check", plain)
    assert refused.returncode != 0 and "/controller/lambda: 0 sessions of GTP; expected 1 to 4096" in refused.stderr, refused.stderr


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
    parts = [own / zero for own, zero in zip(whole["distance"], whole["from_zero"])]
    assert parts[2] > 0.2 > parts[5], parts
    assert rates(report)["third.0"][3] == pytest.approx(1_000_000, rel=0.05)


def test_a_session_that_begins_at_a_rate_sends_at_it_at_once_and_stays(tmp_path):
    text = NETWORK.replace("gtp: {}}", "gtp: {begin_bps: 10000000}}", 1).replace("start_ms: 1100, gtp: {}", "start_ms: 4900, gtp: {}")
    sent = rates(simulated(tmp_path, text))["first.0"]
    assert all(bps == pytest.approx(10_000_000, rel=0.04) for bps in sent[:8]), sent
