# SPDX-License-Identifier: Apache-2.0
"""Networks of routers with their controller: in virtual time, and live with Mininet hosts."""
import re

from slotwise import Network, plot
from test_runs import ROOT, load_report, slotwise

SCENARIO = ROOT / "topologies" / "routers4.yaml"
MS = 1_000_000


def simulated(scenario, path, *arguments) -> dict:
    """The report of a run in which all was well."""
    done = slotwise("simulate", scenario, "--report", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "packets astray 0" in done.stdout
    return load_report(path)


def used(report: dict, link: str, start_ms: int, end_ms: int) -> float:
    """Mean utilization of a link in the periods between two times."""
    series = report["series"]
    (column,) = (each["utilization"] for each in series["links"] if each["name"] == link)
    values = [value for time_ms, value in zip(series["time_ms"], column) if start_ms < time_ms <= end_ms]
    return sum(values) / len(values)


def test_a_lost_link_is_gone_round_and_taken_again(tmp_path):
    report = simulated(SCENARIO, tmp_path / "report.json", "--columns", tmp_path / "columns", "--pcap", tmp_path / "pcap",
                       "--pcap-filter", "router0-port1,router1-cpu")
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


def test_the_same_seed_gives_the_same_report_and_faults_are_borne(tmp_path):
    scenario = tmp_path / "faults.yaml"
    text = re.sub(r"changes:\n(- .*\n)+", "", SCENARIO.read_text())
    faults = "faults:\n- {kind: link-cut, every_ms: 400, for_ms: 40}\n- {kind: router-restart, every_ms: 700, for_ms: 20}\n"
    scenario.write_text(text + faults)
    first, second = (simulated(scenario, tmp_path / name) for name in ("one.json", "two.json"))
    assert first == second
    kinds = {kind["kind"]: kind for kind in first["faults"]["kinds"]}
    assert set(kinds) == {"link-cut", "router-restart"}
    assert all(kind["injected"] > 0 and kind["not_recovered"] == 0 for kind in kinds.values()), kinds
    assert all(re.fullmatch(r"router\d", router) for row in first["faults"]["rows"] for router in row["routers"])


def test_a_controller_that_is_killed_finds_the_network_again(tmp_path):
    scenario = tmp_path / "restarts.yaml"
    scenario.write_text(SCENARIO.read_text() + "faults:\n- {kind: controller-restart, every_ms: 1500, for_ms: 200}\n")
    report = simulated(scenario, tmp_path / "report.json")
    (kind,) = report["faults"]["kinds"]
    assert kind["injected"] > 0 and kind["not_recovered"] == 0


def test_a_capacity_that_changes_is_told_xcp(tmp_path):
    scenario = tmp_path / "xcp.yaml"
    text = SCENARIO.read_text().replace("transport: cubic", "transport: xcp")
    text = re.sub(r"(name: \w+-\w+, .*rate_bps: (\d+), .*)\}$", r"\1, xcp_bps: \2}", text, flags=re.MULTILINE)
    text = re.sub(r"changes:\n(- .*\n)+", "changes:\n- {at_ms: 3000, link: north-west, xcp_bps: 30000000}\n", text)
    scenario.write_text(text)
    report = simulated(scenario, tmp_path / "report.json")
    assert used(report, "north-west", 1000, 3000) > 0.7
    assert 0.2 < used(report, "north-west", 4000, 6000) < 0.4


def test_routers_with_hosts_of_linux(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("emulate", SCENARIO, "--duration", 3, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    (phase,) = report["phases"]
    assert len(phase["flows"]) == 4 and all(flow["bytes"] > 0 for flow in phase["flows"])
    start_ms = phase["start_ns"] / MS
    # How much a busy machine lets through is its own affair.
    assert used(report, "north-west", start_ms, start_ms + 1000) > 0
    assert used(report, "south-west", start_ms + 1000, start_ms + 2000) > 0


def test_the_engine_plays_beside_hosts_of_linux(tmp_path):
    scenario, path = tmp_path / "both.yaml", tmp_path / "report.json"
    text = re.sub(r"(name: \w+-\w+, .*rate_bps: (\d+), .*)\}$", r"\1, xcp_bps: \2}", SCENARIO.read_text(), flags=re.MULTILINE)
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
    by = {kind: {(flow["entry"], flow["from"], flow["to"]): flow for flow in phase["flows"] if flow["played_by"] == kind} for kind in ("linux", "engine")}
    assert {entry for entry, _, _ in by["linux"]} == {0, 1} and {entry for entry, _, _ in by["engine"]} == {2, 3, 4}
    assert len(by["linux"]) == 4 and len(by["engine"]) == 6
    assert all(flow["bytes"] > 0 for flow in phase["flows"]), phase["flows"]
    for flow in by["engine"].values():
        # From host to host it is a millisecond and more.
        assert flow["delay_ns"]["mean"] > MS and flow["name"].rsplit(".", 1)[0] in ("feedback", "bursts", "pages")
    assert all(flow["stream"]["srtt_ns"] > 2 * MS for (entry, _, _), flow in by["engine"].items() if entry == 2)


def test_a_network_made_in_python_runs(tmp_path):
    network = Network("pair", seconds=1).node("left", "right")
    network.link("left", "right", rate_bps=45_000_000, delay_ns=1_000_000, buffer_packets=50, xcp_bps=45_000_000)
    network.hosts("s", "left", 2).hosts("d", "right", 2).tcp("s", "d", transport="xcp").fault("router-restart", every_s=0.2, for_s=0.01)
    network.save(tmp_path / "pair.yaml")
    report = network.simulate(columns=tmp_path / "columns", quiet=True)
    assert report.ok and set(report.goodput_bps("run")) == {("s.0", "d.0"), ("s.1", "d.1")}
    assert report.data["faults"]["kinds"][0]["kind"] == "router-restart"
    assert report.tables() == ["flows", "links"]


def test_what_is_of_stars_is_refused(tmp_path):
    for arguments, said in (
        (("simulate", SCENARIO, "--scheduler", "islip"), "--scheduler: routers have none"),
        (("simulate", SCENARIO, "--pcap", tmp_path, "--pcap-filter", "edge0-*"), "such as router0-port1"),
        (("emulate", SCENARIO, "--target", "bmv2"), "--target bmv2 is of stars"),
    ):
        done = slotwise(*arguments)
        assert done.returncode == 1 and said in done.stderr, done.stderr
