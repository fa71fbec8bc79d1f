# SPDX-License-Identifier: Apache-2.0
"""Custom P4 programs with an additional table, and its entries in a scenario."""

import copy
import json
import os
import shutil
from pathlib import Path

import pytest

from test_runs import ROOT, load_report, slotwise

ROUTERS = ROOT / "topologies" / "routers4.yaml"
OUT = Path("p4src", "p4c-out")
# What p4c makes of this, applied to packets that have a route:
#     action detour(port_t port, mac_t mac) { hdr.ethernet.dst = mac; hdr.ethernet.src = meta.mac; standard_metadata.egress_spec = port; meta.output = (index_t)port; }
#     table detours { key = { hdr.ipv4.dst: lpm @name("dst"); } actions = { detour; @defaultonly NoAction; } counters = detours_counter; size = 2; }
P4INFO = """
tables {
  preamble { id: 34603001 name: "RouterIngress.detours" alias: "detours" }
  match_fields { id: 1 name: "dst" bitwidth: 32 match_type: LPM }
  action_refs { id: 17825001 }
  action_refs { id: 21257015 annotations: "@defaultonly" scope: DEFAULT_ONLY }
  initial_default_action { action_id: 21257015 }
  direct_resource_ids: 318767001
  size: 2
}
actions {
  preamble { id: 17825001 name: "RouterIngress.detour" alias: "detour" }
  params { id: 1 name: "port" bitwidth: 9 }
  params { id: 2 name: "mac" bitwidth: 48 }
}
direct_counters {
  preamble { id: 318767001 name: "RouterIngress.detours_counter" alias: "detours_counter" }
  spec { unit: BOTH }
  direct_table_id: 34603001
}
"""


def with_detours(program: dict) -> dict:
    """The router with the table behind its routes."""
    changed = copy.deepcopy(program)
    (ingress,) = (pipeline for pipeline in changed["pipelines"] if pipeline["name"] == "ingress")
    (routes,) = (table for table in ingress["tables"] if table["name"] == "RouterIngress.ipv4_route")
    (to_port,) = (action for action in changed["actions"] if action["name"] == "RouterIngress.to_port")
    (nothing,) = (
        action["id"] for action in changed["actions"] if action["name"] == "NoAction" and not action["runtime_data"]
    )
    sent = to_port["primitives"][-4:]
    targets = [primitive["parameters"][0]["value"] for primitive in sent]
    assert targets[:3] == [["ethernet", "dst"], ["ethernet", "src"], ["standard_metadata", "egress_spec"]], targets
    detour = max(action["id"] for action in changed["actions"]) + 1
    changed["actions"].append({**to_port, "name": "RouterIngress.detour", "id": detour, "primitives": sent})
    behind = routes["next_tables"]["__HIT__"]
    routes["next_tables"]["__HIT__"] = "RouterIngress.detours"
    ingress["tables"].append(
        {
            **copy.deepcopy(routes),
            "name": "RouterIngress.detours",
            "id": max(table["id"] for table in ingress["tables"]) + 1,
            "max_size": 2,
            "action_ids": [detour, nothing],
            "actions": ["RouterIngress.detour", "NoAction"],
            "base_default_next": behind,
            "next_tables": {"RouterIngress.detour": behind, "NoAction": behind},
            "default_entry": {
                "action_id": nothing,
                "action_const": False,
                "action_data": [],
                "action_entry_const": False,
            },
        }
    )
    counters = changed["counter_arrays"]
    counters.append(
        {
            "name": "RouterIngress.detours_counter",
            "id": max(counter["id"] for counter in counters) + 1,
            "is_direct": True,
            "binding": "RouterIngress.detours",
        }
    )
    return changed


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory with the changed router in place of ours, as docs/write-your-own.md makes one."""
    place = tmp_path / "home"
    (place / OUT).mkdir(parents=True)
    for name in ("controller", "engine", "experiments", "python", "schema", "topologies"):
        (place / name).symlink_to(ROOT / name)
    for file in (ROOT / OUT).iterdir():
        shutil.copy(file, place / OUT)
    router = place / OUT / "router.json"
    router.write_text(json.dumps(with_detours(json.loads(router.read_text()))))
    with (place / OUT / "router.p4info.txtpb").open("a") as p4info:
        p4info.write(P4INFO)
    monkeypatch.setenv("SLOTWISE_HOME", str(place))
    return place


# Datagrams for server.0 go by south instead of north.
BY_SOUTH = {
    "switch": "west",
    "table": "detours",
    "match": {"dst": "10.1.0.3/32"},
    "action": "detour",
    "params": {"port": 2, "mac": "02:fe:00:00:00:02"},
}


def scenario(path: Path, **keys) -> Path:
    """Routers whose only traffic are datagrams from west to east, with these keys."""
    text = {
        "base": os.path.relpath(ROUTERS, path.parent),
        "duration": "1 s",
        "flows": [
            {"name": "probe", "from": "client", "to": "server", "udp": {"rate": "1 Mbit/s", "process": "constant"}}
        ],
        "changes": None,
        **keys,
    }
    path.write_text(json.dumps(text, indent=1))
    return path


def carried(report: dict) -> dict[str, float]:
    """Mean utilization of each link over the run."""
    return {link["name"]: sum(link["utilization"]) / len(link["utilization"]) for link in report["series"]["links"]}


def simulated(path: Path, *arguments) -> dict:
    done = slotwise("simulate", path, "--report", path.with_suffix(".json"), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return load_report(path.with_suffix(".json"))


def test_an_entry_of_ones_own_table_changes_the_path_of_packets(home, tmp_path):
    before = carried(simulated(scenario(tmp_path / "before.yaml")))
    after = carried(simulated(scenario(tmp_path / "after.yaml", tables=[BY_SOUTH])))
    assert before["west-south"] == 0 and before["west-north"] > 0
    assert after["west-south"] == after["south-east"] > 0
    # That for server.1 stays where it was.
    assert after["west-north"] == pytest.approx(before["west-north"] / 2, rel=0.05)


def test_entries_come_back_after_a_restart_of_the_switch(home, tmp_path):
    faults = [{"kind": "router-restart", "every": "400 ms", "for": "20 ms"}]
    report = simulated(scenario(tmp_path / "restarts.yaml", duration="3 s", tables=[BY_SOUTH], faults=faults))
    ended_ms = [row["end_ns"] / 1e6 for row in report["faults"]["rows"] if row["routers"] == ["router0"]]
    assert ended_ms, "west restarted"
    times = report["series"]["time_ms"]
    (used,) = (link["utilization"] for link in report["series"]["links"] if link["name"] == "west-south")
    assert any(value > 0 for at, value in zip(times, used, strict=True) if at > ended_ms[0] + 300)


def test_what_does_not_fit_the_program_is_refused_with_its_line_before_a_run(home, tmp_path):
    wrong = [
        {**BY_SOUTH, "table": "detour"},
        {**BY_SOUTH, "table": "ipv4_route"},
        {**BY_SOUTH, "action": "to_port"},
        {**BY_SOUTH, "match": {"destination": "10.1.0.3"}},
        {**BY_SOUTH, "match": {"dst": "10.1.0.3/8"}},
        {**BY_SOUTH, "match": {"dst": "1 &&& 1"}},
        {**BY_SOUTH, "match": {"dst": 0x1_0000_0000}},
        {**BY_SOUTH, "params": {"port": 512, "mac": "10.0.0.1"}},
        {**BY_SOUTH, "params": {"port": 1}},
        {**BY_SOUTH, "priority": 1},
        *({**BY_SOUTH, "match": {"dst": f"10.1.0.{number}"}} for number in (1, 1, 2, 3)),
    ]
    done = slotwise("check", scenario(tmp_path / "wrong.yaml", tables=wrong))
    assert done.returncode == 1
    problems = [line.split(": ", 1)[1] for line in done.stderr.splitlines() if "/tables/" in line]
    assert problems == [
        "/tables/0/table: unknown table 'detour' of program 'router'; expected xcp_params or detours",
        "/tables/1/table: table 'ipv4_route' is written by application 'routes'; expected xcp_params or detours",
        "/tables/2/action: unknown action 'to_port' for entries of table 'detours'; expected detour",
        "/tables/3/match/destination: unknown field 'destination' of table 'detours'; expected dst",
        "/tables/4/match/dst: found 10.1.0.3/8, with bits outside its mask; expected 10.0.0.0/8",
        "/tables/5/match/dst: wrong form for a field with lpm match; expected a value of 32 bits, or 'VALUE/BITS'",
        "/tables/6/match/dst: found 4294967296, which is too large; expected an integer of at most 32 bits",
        "/tables/7/params/port: found 512, which is too large; expected an integer of at most 9 bits",
        "/tables/7/params/mac: found 10.0.0.1, an address of 32 bits; expected an integer of at most 48 bits",
        "/tables/8/params: missing parameter 'mac' of action 'detour'; expected 'mac: VALUE'",
        "/tables/9/priority: entries of table 'detours' have no priority; expected no 'priority'",
        "/tables/11: duplicate entry, first in /tables/10; expected each once",
        "/tables/13: table 'detours' of router0 is full; expected at most 2 entries",
    ]
    run = slotwise("simulate", scenario(tmp_path / "again.yaml", tables=wrong[:1]))
    assert run.returncode == 1 and "unknown table 'detour' of program 'router'" in run.stderr


def test_hosts_of_linux_send_by_an_entry_of_ones_own_table(home, tmp_path):
    path = scenario(tmp_path / "live.yaml", tables=[BY_SOUTH], duration="2 s")
    done = slotwise("emulate", path, "--report", tmp_path / "report.json", "--rest-port", "0")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    used = carried(report)
    assert used["west-south"] > 0 and used["south-east"] > 0, report["verdict"]


# Two routers and an XCP flow between them.
XCP = """
routers: [west, east]
links:
- {name: "{from}-{to}", from: [west, east], to: [east, west], rate: 10 Mbit/s, delay: 5 ms, xcp_capacity: 10 Mbit/s}
hosts:
- {name: [client, server], at: [west, east]}
duration: 2 s
flows: [{from: client, to: server, transport: xcp}]
"""


def test_the_default_action_of_a_table_of_ours_that_no_application_writes(tmp_path):
    # Without a share of the spare bandwidth XCP gives a sender nothing to grow by.
    slow = {
        "alpha_q16": 0,
        "beta_q16": 0,
        "gamma_q16": 0,
        "initial_rtt_ns": 50_000_000,
        "min_control_ns": 1_000_000,
        "min_queue_ns": 2_000_000,
        "quantum_ns": 0,
    }
    entry = {
        "switch": ["west", "east"],
        "table": "RouterIngress.xcp_params",
        "action": "set_xcp_params",
        "params": slow,
    }
    goodput = []
    for name, tables in (("fast", []), ("slow", [entry])):
        path = tmp_path / f"{name}.yaml"
        path.write_text(XCP + f"tables: {json.dumps(tables)}\n")
        (phase,) = simulated(path)["phases"]
        goodput.append(phase["flows"][0]["goodput_bps"])
    assert goodput[0] > 5e6 and goodput[1] < goodput[0] / 2, goodput
