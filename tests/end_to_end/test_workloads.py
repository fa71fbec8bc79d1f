# SPDX-License-Identifier: Apache-2.0
"""Workloads in each network type: completions, byte-identical repetition, report of an interrupted run, and rejected scenarios."""

import json
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pyarrow.parquet
import pytest

from slotwise import Network, Star
from slotwise.results import completions
from test_runs import ROOT, SLOTWISE, slotwise

FAST = "tcp: {min_rto: 1 ms, initial_window: 10}"
NETWORKS = {
    "routers": """
routers: [a, b]
links:
  - {from: [a, b], to: [b, a], rate: 1 Gbit/s, delay: 10 us}
hosts: {name: [h, g], at: [a, b], count: 2, rate: 1 Gbit/s}
duration: 60 ms
sample: 10 ms
""",
    "star": """
edges: {count: 4, hosts: 2, rate: 200 Mbit/s, delay: 10 us}
hosts: {access_rate: 100 Mbit/s}
duration: 300 ms
""",
    "ring": """
ring: {links: {rate: 1 Gbit/s, delay: 10 us}, stations: s0..s3}
duration: 60 ms
sample: 10 ms
""",
    "ops": """
ops: {switches: [a, b], links: [{between: [a, b], delay: 10 us}], edges: {edges_per_switch: 2}, wavelengths: 2, rate: 1 Gbit/s, ram: 200 KB}
duration: 60 ms
sample: 10 ms
""",
}


def workloads(stop: str) -> str:
    return f"""workloads:
  - {{name: web, sizes: 30 KB, load: 0.1, stop: {stop}, {FAST}}}
  - {{name: burst, incast: {{senders: 3, size: 10 KB}}, {FAST}}}
  - {{name: ring, collective: {{operation: ring, size: 100 KB}}, {FAST}}}
"""


def run(tmp_path: Path, text: str, *options) -> tuple[dict, Path]:
    """Report and columns of a run."""
    tmp_path.mkdir(exist_ok=True)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(text)
    report, columns = tmp_path / "report.json", tmp_path / "columns"
    done = slotwise("simulate", scenario, "--report", report, "--columns", columns, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "workload" in done.stdout
    found = json.loads(report.read_text())
    jsonschema.Draft202012Validator(json.loads((ROOT / "schema" / "report.schema.json").read_text())).validate(found)
    return found, columns


@pytest.mark.parametrize("kind", NETWORKS)
def test_flows_arrive_in_networks_of_each_type(tmp_path, kind):
    text = NETWORKS[kind] + workloads("200 ms" if kind == "star" else "40 ms")
    report, columns = run(tmp_path / "one", text)
    found = {workload["name"]: workload for workload in report["workloads"]}
    assert list(found) == ["web", "burst", "ring"]
    for workload in found.values():
        assert workload["flows"]["unfinished"] == 0, workload
        assert workload["flows"]["slowdown"]["p50"] >= 1 - 1e-9
    assert found["web"]["flows"]["fct_ns"]["count"] > 5
    assert found["burst"]["coflow_ns"]["count"] == 1
    assert found["ring"]["coflow_ns"]["count"] == 1
    assert (
        sum(bucket["fct_ns"]["count"] for bucket in found["web"]["buckets"]) == found["web"]["flows"]["fct_ns"]["count"]
    )

    flows = pyarrow.parquet.read_table(columns / "completions.parquet").to_pandas()
    assert len(flows) == sum(workload["flows"]["fct_ns"]["count"] for workload in found.values())
    assert (flows["first_out_ms"] >= flows["start_ms"]).all()
    assert (flows["last_in_ms"] > flows["first_out_ms"]).all()
    assert (flows["acknowledged_ms"] > flows["last_in_ms"]).all()
    assert (flows["slowdown"] >= 1 - 1e-9).all(), flows[flows["slowdown"] < 1].to_string()
    periods = pyarrow.parquet.read_table(columns / "workloads.parquet").to_pandas()
    assert periods.groupby("workload")["started"].sum()["web"] == (flows["workload"] == "web").sum()

    again, columns_again = run(tmp_path / "two", text)
    assert again == report
    for table in sorted(columns.glob("*.parquet")):
        assert table.read_bytes() == (columns_again / table.name).read_bytes(), table.name


def test_an_interrupted_run_keeps_what_has_completed(tmp_path):
    scenario, report = tmp_path / "scenario.yaml", tmp_path / "report.json"
    text = NETWORKS["routers"].replace("duration: 60 ms", "duration: 1000 s") + workloads("999 s")
    scenario.write_text(text)
    events = tmp_path / "events.jsonl"
    with subprocess.Popen([SLOTWISE, "simulate", scenario, "--report", report, "--events", events]) as process:
        while not events.exists() or events.read_text().count("\n") < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    found = json.loads(report.read_text())
    assert found["verdict"]["failures"] == ["interrupted"]
    assert found["workloads"][0]["flows"]["fct_ns"]["count"] > 0


def test_lists_are_played_as_they_are_written(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    rows = ["start_ns,from,to,size_bytes,coflow", "1000,h.0,g.1,3000,7", "2000000,1,2,1472,", "2500000,h.1,g.0,500,7"]
    (data / "flows.csv").write_text("\n".join(rows) + "\n")
    text = NETWORKS["routers"] + "workloads: [{list: {file: flows.csv}, transport: udp, start: 1 ms}]\n"
    report, columns = run(tmp_path / "run", text, "--data", data)
    flows = pyarrow.parquet.read_table(columns / "completions.parquet").to_pandas().sort_values("number")
    assert list(flows["size_bytes"]) == [3000, 1472, 500]
    assert list(flows["start_ms"]) == [1.001, 3.0, 3.5]
    assert list(flows["from"]) == [0, 1, 1]
    assert list(flows["hops"]) == [2, 2, 2]
    assert (flows["slowdown"] == 1).all()
    # From the first start to the last arrival, wherever the workload starts.
    last = flows["last_in_ms"][flows["coflow"] == 7].max()
    assert report["workloads"][0]["coflow_ns"]["count"] == 1
    assert report["workloads"][0]["coflow_ns"]["max"] == pytest.approx((last - 1.001) * 1e6)

    (data / "flows.csv").write_text("\n".join([*rows[:2], "5,h.0,g.1,1,"]) + "\n")
    done = slotwise("check", tmp_path / "run" / "scenario.yaml", "--data", data)
    assert done.returncode == 1
    assert "flows.csv: line 3: start before the start of the line before" in done.stderr
    done = slotwise("check", tmp_path / "run" / "scenario.yaml")
    assert "No such file" in done.stderr and "'--data'" in done.stderr


def test_emulation_refuses_workloads(tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(NETWORKS["star"] + workloads("200 ms"))
    done = slotwise("emulate", scenario)
    assert done.returncode != 0
    assert "/workloads: workloads run in virtual time only" in done.stderr


def test_python_draws_the_two_pictures(tmp_path):
    runs = {}
    for transport in ("cubic", "dctcp"):
        network = Network("rack", seconds=0.03).node("tor").hosts("h", "tor", 4, rate_bps=1_000_000_000)
        network.workload("web", sizes="websearch", load=0.3, transport=transport, tcp={"min_rto": "1 ms"}, stop="20 ms")
        runs[transport] = [
            network.simulate(seed=seed, columns=tmp_path / f"{transport}{seed}", quiet=True) for seed in (1, 2)
        ]
    completions.plot_fct(runs, tmp_path / "fct.png")
    completions.plot_slowdown(runs, tmp_path / "slowdown.png")
    for name in ("fct.png", "slowdown.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    table = completions.by_size(runs)
    assert list(dict.fromkeys(table["label"])) == ["cubic", "dctcp"]
    assert (table["slowdown"].dropna() >= 1 - 1e-9).all()
    flows = runs["cubic"][0].completions("web")
    assert (
        len(flows) == runs["cubic"][0].data["workloads"][0]["flows"]["fct_ns"]["count"] + flows["fct_ms"].isna().sum()
    )


def test_a_star_of_python_needs_no_phases():
    star = Star(edges=3, hosts_per_edge=1).workload(
        sizes="10 KB", load=0.1, senders=["edge0", "edge1"], receivers="edge2"
    )
    star.check()
    assert star.scenario["phases"][0]["flows"] == []
