# SPDX-License-Identifier: Apache-2.0
"""Networks of routers with their controller: in virtual time, and live with Mininet hosts."""

import math
import re
from pathlib import Path

import pytest

from slotwise import Network, OpsMesh, Ring
from slotwise.results import plot
from test_runs import ROOT, load_report, slotwise

SCENARIO = ROOT / "topologies" / "routers4.yaml"
MS = 1_000_000


def simulated(scenario, path, *arguments) -> dict:
    """The report of a run in which all was well."""
    done = slotwise("simulate", scenario, "--report", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no invariant violated (checked: misrouted packets)" in done.stdout
    return load_report(path)


def used(report: dict, link: str, start_ms: int, end_ms: int) -> float:
    """Mean utilization of a link in the periods that end between two times."""
    series = report["series"]
    (column,) = (each["utilization"] for each in series["links"] if each["name"] == link)
    values = [value for time_ms, value in zip(series["time_ms"], column, strict=True) if start_ms < time_ms <= end_ms]
    assert values, f"no period ends between {start_ms} and {end_ms} ms: {series['time_ms']}"
    return sum(values) / len(values)


def test_a_lost_link_is_gone_round_and_taken_again(tmp_path):
    report = simulated(
        SCENARIO,
        tmp_path / "report.json",
        "--columns",
        tmp_path / "columns",
        "--pcap",
        tmp_path / "pcap",
        "--pcap-filter",
        "router0-port1,router1-cpu",
    )
    assert report["invariants"] == {"astray": 0, "first": []}
    (phase,) = report["phases"]
    assert [flow["from"] for flow in phase["flows"]] == ["server.0", "server.1", "client.0", "client.1"]
    assert all(flow["bytes"] > 0 for flow in phase["flows"])
    for start_ms, end_ms, by in ((500, 2000, "north-west"), (2500, 4000, "south-west"), (4500, 6000, "north-west")):
        shares = {link: used(report, link, start_ms, end_ms) for link in ("north-west", "south-west")}
        assert shares.pop(by) > 0.7 and max(shares.values()) < 0.1, (start_ms, by, shares)
    assert {file.stem for file in (tmp_path / "columns").iterdir()} == {"links", "flows"}
    assert [file.name for file in (tmp_path / "pcap").iterdir()] == ["router0-port1.pcap"]
    plot.draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def scenario_with(path: Path, faults: list[str], *changes: tuple[float, str, bool]) -> Path:
    """The scenario with these faults, and these changes, which are (ms, link, whether it is up), instead of its own."""
    text = re.sub(r"changes:\n(- .*\n)+", "", SCENARIO.read_text())
    text += "".join(["faults:\n", *(f"- {{{fault}}}\n" for fault in faults)])
    ups = [f"- {{at_ms: {round(at_ms)}, link: {link}, up: {str(is_up).lower()}}}\n" for at_ms, link, is_up in changes]
    path.write_text(text + "".join(["changes:\n", *ups] if ups else []))
    return path


def faults_ms(report: dict, *routers: str) -> list[tuple[float, float]]:
    """Start and end of each fault of a report, or of those of some routers."""
    rows = (row for row in report["faults"]["rows"] if not routers or set(routers) & set(row["routers"]))
    return [(row["start_ns"] / MS, row["end_ns"] / MS) for row in rows]


def test_the_same_seed_gives_the_same_report_and_faults_are_borne(tmp_path):
    faults = ["kind: link-down, every_ms: 400, for_ms: 40", "kind: router-restart, every_ms: 700, for_ms: 20"]
    scenario = scenario_with(tmp_path / "faults.yaml", faults)
    first, second = (simulated(scenario, tmp_path / name) for name in ("one.json", "two.json"))
    assert first == second
    kinds = {kind["kind"]: kind for kind in first["faults"]["kinds"]}
    assert set(kinds) == {"link-down", "router-restart"}
    assert all(kind["injected"] > 0 for kind in kinds.values()), kinds
    # A sender that lost all that was on its way waits for its timeout, which doubles each time that this is lost, too.
    early = [row for row in first["faults"]["rows"] if row["end_ns"] < 3000 * MS]
    assert {row["kind"] for row in early} == set(kinds) and all(row["recovery_ns"] is not None for row in early), early
    assert all(re.fullmatch(r"router\d", router) for row in first["faults"]["rows"] for router in row["routers"])
    # After the last one all links are there, so all goes the short way.
    last_ms = max(end_ms for _, end_ms in faults_ms(first))
    assert used(first, "north-west", last_ms + 100, 6000) > 0.3 and used(first, "south-west", last_ms + 100, 6000) < 0.1


def test_a_link_that_is_mended_while_its_router_is_away_is_used_again(tmp_path):
    restarts = ["kind: router-restart, every_ms: 900, for_ms: 200"]
    seen = simulated(scenario_with(tmp_path / "restarts.yaml", restarts), tmp_path / "seen.json")
    # Faults come by the seed, whatever else happens: north and east are at the link's ends.
    start_ms, end_ms = faults_ms(seen, "router1", "router3")[0]
    cut_ms, mended_ms = start_ms - 200, (start_ms + end_ms) / 2
    changes = (cut_ms, "north-east", False), (mended_ms, "north-east", True)
    report = simulated(scenario_with(tmp_path / "mended.yaml", restarts, *changes), tmp_path / "report.json")
    assert faults_ms(report) == faults_ms(seen)
    next_ms = min(other_ms for other_ms, _ in [*faults_ms(seen), (6000, 0)] if other_ms > end_ms)
    assert used(report, "south-west", cut_ms + 50, start_ms) > 0.3
    # TCP may wait for a timeout before it goes on.
    assert used(report, "north-west", end_ms, next_ms) > 0.2 and used(report, "south-west", end_ms + 100, next_ms) < 0.1


def test_all_routers_may_be_down_at_one_time(tmp_path):
    network = Network("pair", seconds=3).node("left", "right")
    network.link("left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50)
    network.hosts("s", "left", 2).hosts("d", "right", 2).udp("s", "d", rate_bps=1_000_000)
    # Faults of one entry come one after the other.
    network.fault("router-restart", every_s=0.3, for_s=0.1).fault("router-restart", every_s=0.3, for_s=0.1)
    scenario = tmp_path / "pair.yaml"
    network.save(scenario)
    first, second = (simulated(scenario, tmp_path / name) for name in ("one.json", "two.json"))
    assert first == second and first["verdict"]["ok"]
    away = [faults_ms(first, router) for router in ("router0", "router1")]
    assert any(start < other_end and other < end for start, end in away[0] for other, other_end in away[1]), away
    (kind,) = first["faults"]["kinds"]
    assert kind["injected"] > 5 and kind["not_recovered"] == 0, kind


def test_a_controller_that_was_away_hears_of_links_that_changed_meanwhile(tmp_path):
    restarts = ["kind: controller-restart, every_ms: 1000, for_ms: 400"]
    seen = simulated(scenario_with(tmp_path / "restarts.yaml", restarts), tmp_path / "seen.json")
    (first_ms, first_end_ms), (second_ms, second_end_ms) = faults_ms(seen)[:2]
    changes = (
        ((first_ms + first_end_ms) / 2, "north-east", False),
        ((second_ms + second_end_ms) / 2, "north-east", True),
    )
    report = simulated(scenario_with(tmp_path / "changes.yaml", restarts, *changes), tmp_path / "report.json")
    assert faults_ms(report) == faults_ms(seen)
    (kind,) = report["faults"]["kinds"]
    assert kind["injected"] > 1 and kind["not_recovered"] == 0
    assert used(report, "north-west", 0, first_ms) > 0.5 and used(report, "south-west", 0, first_ms) < 0.1
    # Without a controller nothing goes another way.
    assert used(report, "south-west", first_ms + 100, first_end_ms) < 0.1
    assert used(report, "south-west", first_end_ms + 100, second_ms) > 0.3
    assert used(report, "south-west", second_ms + 100, second_end_ms) > 0.3
    assert (
        used(report, "north-west", second_end_ms + 100, 6000) > 0.5
        and used(report, "south-west", second_end_ms + 100, 6000) < 0.1
    )


@pytest.mark.parametrize("faults", ["", "faults:\n- {kind: controller-restart, every_ms: 1000, for_ms: 100}\n"])
def test_a_capacity_that_changes_is_told_xcp_and_holds(tmp_path, faults):
    scenario = tmp_path / "xcp.yaml"
    text = SCENARIO.read_text().replace("transport: cubic", "transport: xcp")
    text = re.sub(r"(name: \w+-\w+, .*rate_bps: (\d+), .*)\}$", r"\1, xcp_capacity_bps: \2}", text, flags=re.MULTILINE)
    text = re.sub(
        r"changes:\n(- .*\n)+", "changes:\n- {at_ms: 3000, link: north-west, xcp_capacity_bps: 30000000}\n", text
    )
    scenario.write_text(text + faults)
    report = simulated(scenario, tmp_path / "report.json")
    assert used(report, "north-west", 1000, 3000) > 0.7
    # A controller that is back still knows it.
    assert not faults or any(3000 < end_ms < 5000 for _, end_ms in faults_ms(report))
    assert 0.2 < used(report, "north-west", 4000, 5000) < 0.4 and 0.2 < used(report, "north-west", 5000, 6000) < 0.4


def test_routers_with_hosts_of_linux(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", SCENARIO, "--duration", 3, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    (phase,) = report["phases"]
    assert len(phase["flows"]) == 4 and all(flow["bytes"] > 0 for flow in phase["flows"])
    # How much a busy machine lets through, and when, is its own affair. South is used only while the short way is cut.
    assert all(used(report, link, 0, math.inf) > 0 for link in ("north-west", "south-west"))


@pytest.mark.nightly
def test_the_engine_plays_beside_hosts_of_linux(tmp_path):
    scenario, path = tmp_path / "both.yaml", tmp_path / "report.json"
    text = re.sub(
        r"(name: \w+-\w+, .*rate_bps: (\d+), .*)\}$",
        r"\1, xcp_capacity_bps: \2}",
        SCENARIO.read_text(),
        flags=re.MULTILINE,
    )
    text = re.sub(r"changes:\n(- .*\n)+", "", text)
    flows = """\
- {name: feedback, from: client, to: server, transport: xcp}
- {name: bursts, from: client, to: server, udp: {rate_bps: 2000000, process: on-off-pareto, mean_on_ns: 20000000, mean_off_ns: 20000000}}
- {name: pages, from: server, to: client, web: {mean_think_ns: 20000000, mean_bytes: 20000}}
"""
    scenario.write_text(text.replace("controller:", flows + "controller:"))
    done = slotwise("emulate", scenario, "--duration", 3, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["invariants"] == {"astray": 0, "first": []}
    (phase,) = report["phases"]
    by = {
        kind: {
            (flow["entry"], flow["from"], flow["to"]): flow for flow in phase["flows"] if flow["generated_by"] == kind
        }
        for kind in ("linux", "engine")
    }
    assert {entry for entry, _, _ in by["linux"]} == {0, 1} and {entry for entry, _, _ in by["engine"]} == {2, 3, 4}
    assert len(by["linux"]) == 4 and len(by["engine"]) == 6
    assert all(flow["bytes"] > 0 for flow in phase["flows"]), phase["flows"]
    for flow in by["engine"].values():
        # From host to host it is a millisecond and more.
        assert flow["delay_ns"]["mean"] > MS and flow["name"].rsplit(".", 1)[0] in ("feedback", "bursts", "pages")
    assert all(flow["stream"]["srtt_ns"] > 2 * MS for (entry, _, _), flow in by["engine"].items() if entry == 2)


def test_a_network_made_in_python_runs(tmp_path):
    network = Network("pair", seconds=1).node("left", "right")
    network.link(
        "left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50, xcp_capacity_bps=45_000_000
    )
    network.hosts("s", "left", 2).hosts("d", "right", 2).tcp("s", "d", transport="xcp").fault(
        "router-restart", every_s=0.2, for_s=0.01
    )
    network.save(tmp_path / "pair.yaml")
    report = network.simulate(columns=tmp_path / "columns", quiet=True)
    assert report.ok and set(report.goodput_bps("run")) == {("s.0", "d.0"), ("s.1", "d.1")}
    assert report.data["faults"]["kinds"][0]["kind"] == "router-restart"
    assert report.tables() == ["flows", "links"]


def sized(network, size_bytes: int):
    """A network with flows from its first group of hosts to its second one, of TCP and of GTP, that deliver so much, and one that is endless."""
    source, sink = (group["name"] for group in network.scenario["hosts"][:2])
    network.scenario["flows"] = [
        {"name": "sized", "from": source, "to": sink, "transport": "newreno", "bytes": size_bytes},
        {"name": "session", "from": source, "to": sink, "gtp": {"bytes": size_bytes}},
        {"name": "endless", "from": source, "to": sink, "transport": "cubic"},
    ]
    return network


def routers():
    """Two routers with a host at each."""
    network = Network("sizes", seconds=2).node("left", "right")
    network.link("left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50)
    return network.hosts("s", "left", 1).hosts("d", "right", 1)


@pytest.mark.parametrize(
    "make",
    [routers, lambda: Ring(3, rate_bps=45_000_000, seconds=2), lambda: OpsMesh(3, rate_bps=45_000_000, seconds=2)],
)
def test_a_flow_of_a_size_that_does_not_arrive_fails_the_run_in_networks_of_each_kind(make, tmp_path):
    sized(make(), 500_000).save(tmp_path / "little.yaml")
    done = slotwise("simulate", tmp_path / "little.yaml", "--report", tmp_path / "little.json")
    assert done.returncode == 0, done.stdout + done.stderr
    (phase,) = load_report(tmp_path / "little.json")["phases"]
    for flow in phase["flows"]:
        if flow["name"].startswith("endless"):
            assert flow["completed_ns"] is None and flow["seconds"] == 2
        else:
            assert phase["start_ns"] < flow["completed_ns"] < phase["end_ns"] and flow["seconds"] < 1.9
        assert flow["goodput_bps"] == pytest.approx(flow["bytes"] * 8 / flow["seconds"])

    sized(make(), 1_000_000_000).save(tmp_path / "much.yaml")
    done = slotwise("simulate", tmp_path / "much.yaml", "--report", tmp_path / "much.json")
    assert done.returncode == 1, done.stdout + done.stderr
    report = load_report(tmp_path / "much.json")
    of_size = [flow for flow in report["phases"][0]["flows"] if not flow["name"].startswith("endless")]
    assert report["verdict"]["failures"] == [
        f"flow {flow['name']} from {flow['from']} to {flow['to']}: incomplete: {flow['bytes']} of 1000000000 bytes by the end of phase 'run'"
        for flow in of_size
    ]
    assert all(flow["completed_ns"] is None and flow["bytes"] > 0 for flow in of_size)


def test_as_many_routers_as_a_file_may_have_begin():
    network = Network("many", seconds=0.1).node(*(f"r{number}" for number in range(200)))
    for number in range(1, 200):
        network.link("r0", f"r{number}", rate_bps=45_000_000, delay_ns=10_000, buffer_packets=50)
    network.hosts("s", "r1", 1).hosts("d", "r199", 1).tcp("s", "d")
    report = network.simulate(quiet=True)
    assert report.ok and report.goodput_bps("run")["s.0", "d.0"] > 0


def test_what_is_of_stars_is_refused(tmp_path):
    for arguments, said in (
        (("simulate", SCENARIO, "--scheduler", "islip"), "--scheduler: this scenario has no star"),
        (("simulate", SCENARIO, "--pcap", tmp_path, "--pcap-filter", "edge0-*"), "e.g. router0-port1"),
    ):
        done = slotwise(*arguments)
        assert done.returncode == 1 and said in done.stderr, done.stderr
