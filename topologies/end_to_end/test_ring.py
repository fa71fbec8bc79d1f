# SPDX-License-Identifier: Apache-2.0
"""Packet rings with their controller, in virtual time."""
import pandas

from slotwise import plot
from test_runs import ROOT, load_report, slotwise

NOTHING_BROKEN = {"duplicate": 0, "astray": 0, "transit_loss": 0, "round": 0, "add_rate": 0, "insertion": 0, "first": []}

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
- {name: s, count: 1, station: n0, rate_bps: 100000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 1000}}
- {name: d, count: 1, station: n2, rate_bps: 100000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {packets: 1000}}
flows:
- {name: f, from: s, to: d, udp: {rate_bps: 10000000, process: constant}}
changes:
- {at_ms: 500, span: n1-n2, up: false}
- {at_ms: 1000, span: n1-n2, up: true}
controller: {control_latency_ns: 1000000}
"""


def simulated(scenario, tmp_path, *arguments) -> pandas.DataFrame:
    """Columns of the stations in a run in which all was well and nothing was broken."""
    done = slotwise("simulate", scenario, "--report", tmp_path / "report.json", "--columns", tmp_path / "columns", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_report(tmp_path / "report.json")["invariants"] == NOTHING_BROKEN
    assert {file.stem for file in (tmp_path / "columns").iterdir()} == {"stations", "flows", "delays"}
    return pandas.read_parquet(tmp_path / "columns" / "stations.parquet")


def test_users_of_eight_stations_share_the_links_to_the_hub(tmp_path):
    stations = simulated(ROOT / "topologies" / "ring8.yaml", tmp_path, "--duration", "2")
    late = stations[stations.time_s > 1]
    head = late[late.station == "node7/0"]
    # Transit waits for a packet that has begun, and for transit that came before it: two packets of 80 us, and a message.
    assert head.utilization.max() > 0.5 and late.longest_transit_us.max() <= 166
    added = [late[late.station == f"node{station}/0"].added_kbps.mean() for station in range(8)]
    assert all(0 < rate < 16_500 for rate in added), added


def test_a_cut_span_is_gone_round_and_taken_again(tmp_path):
    (tmp_path / "cut.yaml").write_text(CUT)
    stations = simulated(tmp_path / "cut.yaml", tmp_path)

    def added(way: str, start_s: float, end_s: float) -> float:
        rows = stations[(stations.station == way) & (stations.time_s > start_s) & (stations.time_s <= end_s)]
        return rows.added_kbps.mean()

    for start_s, end_s, by, other in ((0.2, 0.5, "n0/0", "n0/1"), (0.52, 1, "n0/1", "n0/0"), (1.02, 1.5, "n0/0", "n0/1")):
        assert added(by, start_s, end_s) > 9_000 and added(other, start_s, end_s) == 0, (start_s, by)
    flows = pandas.read_parquet(tmp_path / "columns" / "flows.parquet")
    dark = flows[(flows.time_s > 0.5) & (flows.goodput_kbps < 9_000)]
    assert len(dark) <= 4, "ten milliseconds each, twice"


def test_tcp_of_linux_shares_a_ring(tmp_path):
    done = slotwise("emulate", ROOT / "topologies" / "ring8-tcp.yaml", "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert report["invariants"] == NOTHING_BROKEN
    (phase,) = report["phases"]
    assert {flow["played_by"] for flow in phase["flows"]} == {"linux"}
    goodputs = [flow["goodput_bps"] for flow in phase["flows"]]
    assert len(goodputs) == 8 and sum(goodputs) ** 2 / 8 / sum(each ** 2 for each in goodputs) > 0.97, goodputs
    links = {link["name"]: link for link in report["series"]["links"]}
    assert len(links) == 16 and all(len(link["added_bps"]) == len(report["series"]["time_ms"]) > 50 for link in links.values())
    assert max(links["node7/0"]["active_stations"]) == 8, "all share the link to the hub while it is congested"
    assert max(links["node0/0"]["active_stations"]) <= 1, "nobody but its station is on the first one"
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    # The one that is nearest to the hub would have all of it.
    assert max(goodputs) < 2 * min(goodputs) and sum(goodputs) > 0.6 * 15e6, goodputs
