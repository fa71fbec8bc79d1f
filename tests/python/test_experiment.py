# SPDX-License-Identifier: Apache-2.0
"""Stars and the runs of any network. In tests of runs the `slotwise` command is a stand-in: what it is given and what it answers."""

import inspect
import json

import pytest
import yaml

from slotwise import (
    CommandNotFound,
    InvalidArgument,
    Network,
    RunFailed,
    Scenario,
    ScenarioError,
    SlotwiseError,
    Star,
    UnknownArgument,
    UnknownFibre,
    scenario,
)
from slotwise.kinds.star import spread
from slotwise.resolved import Resolved
from slotwise.tools import home

MIX = home.root() / "schema" / "examples" / "valid" / "mixed.yaml"


@pytest.mark.parametrize(("edges", "hosts"), [(2, 1), (4, 2), (64, 1)])
def test_a_star_of_any_size_is_a_scenario(edges, hosts):
    star = Star(edges, hosts).tcp()
    assert len(Resolved.of(star.scenario).hosts) == edges * hosts
    assert star.scenario["frame"]["slots"] == 5 * edges


def test_each_edge_may_have_its_own_number_of_hosts():
    star = Star(3, [0, 1, 4]).tcp()
    scenario.check(star.scenario)
    assert [edge["hosts"] for edge in star.scenario["edges"]] == [0, 1, 4]
    with pytest.raises(InvalidArgument, match="one for each of 3 edges, got 2"):
        Star(3, [1, 2])
    with pytest.raises(
        InvalidArgument, match="hosts_per_edge: expected one number, or one for each of 3 edges, got '2'"
    ):
        Star(3, "2")
    with pytest.raises(InvalidArgument, match="edges: expected a number of edges, got '3'"):
        Star("3")
    assert issubclass(InvalidArgument, SlotwiseError) and issubclass(UnknownArgument, SlotwiseError)


def test_delays_are_spread_from_end_to_end():
    assert spread(10, 100, 4) == [10, 40, 70, 100]
    assert spread(10, 100, 1) == [10]
    with pytest.raises(InvalidArgument, match="each of 3 edges, got 2"):
        Star(3, delays_ns=[1, 2])


def test_clocks_optics_and_faults_of_every_kind_are_a_scenario():
    star = (
        Star(3, signaling="out-of-band")
        .tcp()
        .clocks(max_offset_ns=1000)
        .optics(attenuation_mdb={1: 2500}, margin_mdb=1000)
    )
    star.fault("link-down", 0.1, 0.02, edge=1)
    for kind in schema_of_faults()["kind"]["enum"]:
        if not kind.endswith("-restart") and kind != "clock-step":
            star.fault(kind, 0.1, 0.02, **({"share": 0.5} if kind.startswith("messages") else {}))
    star.fault("clock-step", 0.1, min_ns=100, max_ns=5000, edge=1)
    scenario.check(star.scenario)
    assert star.scenario["clocks"]["max_offset_ns"] == 1000
    assert [edge["fibres"][0]["attenuation_mdb"] for edge in star.scenario["edges"]] == [0, 2500, 0]
    assert star.scenario["faults"][0] == {"kind": "link-down", "every_ms": 100, "for_ms": 20, "edge": 1}


def schema_of_faults() -> dict:
    return scenario.schema()["properties"]["faults"]["items"]["properties"]


def test_faults_that_there_are_not_are_refused():
    star = Star().tcp().fault("link-downt", 1).fault("core-down", 1, 1, edge=1)
    with pytest.raises(ScenarioError) as refused:
        star.check()
    found = {problem.pointer: problem for problem in refused.value.problems}
    assert {"/faults/0/kind", "/faults/1/edge"} == set(found)
    assert "link-down" in found["/faults/0/kind"].expected
    star = Star().tcp().fault("router-restart", 1, 1).fault("link-down", 1, 1, edge=7)
    with pytest.raises(ScenarioError) as refused:
        star.check()
    assert {"/faults/0/kind", "/faults/1/edge"} == {problem.pointer for problem in refused.value.problems}


def test_unknown_arguments_are_refused():
    with pytest.raises(UnknownArgument, match=r"a star has no argument 'slot'; did you mean 'slots'\?"):
        Star(edges=4, slot=20)
    with pytest.raises(ScenarioError, match="rate_bps"):
        Star().tcp("all", "all", rate_bp=1).save("/nonexistent/scenario.yaml")


def test_what_is_wrong_is_said_with_the_line_that_said_so():
    star = Star().phase("first")
    star.tcp("all", "all", rate_bp=1)
    line = inspect.currentframe().f_lineno - 1
    for refused in (star.check, lambda: star.simulate(quiet=True)):
        with pytest.raises(ScenarioError) as refusal:
            refused()
        (problem,) = refusal.value.problems
        assert (problem.pointer, problem.place) == ("/phases/0/flows/0/tcp/rate_bp", f"{__file__}:{line}")
        assert "'rate_bps'" in problem.expected
        assert str(refusal.value) == f"scenario 'star4': {problem}"


@pytest.mark.parametrize(
    ("source", "destination", "end"),
    [("edge9", "all", "from"), ("all", "h1_2", "to"), ("h7_0", "all", "from"), (3, "all", "from")],
)
def test_unknown_ends_of_flows_are_refused(source, destination, end):
    with pytest.raises(ScenarioError, match=f"scenario 'star4': /phases/0/flows/0/{end}: .*; expected "):
        Star().tcp(source, destination).check()


def test_unknown_fibres_are_refused_with_those_that_there_are():
    with pytest.raises(
        UnknownFibre, match=r"no fibre 'edge2-core1'; .*expected one of edge0-core0, edge1-core0, edge2-core0"
    ):
        Star(3).fibre_change(0.1, edge=2, core=1, up=False)


def test_traffic_belongs_to_the_phase_before_it():
    star = Star()
    star.phase("one", seconds=0.5).tcp("all", "all").phase("two").udp("h0_0", "h1_0", 1_000_000, 500).file(
        "h0_0", "h1_0", 10
    )
    phases = star.scenario["phases"]
    assert [(phase["name"], phase["duration_ms"], len(phase["flows"])) for phase in phases] == [
        ("one", 500, 1),
        ("two", 5000, 2),
    ]
    star.fibre_change(0.1, edge=1, up=False)
    scenario.check(star.scenario)


def test_a_mix_without_phases_gets_one_as_long_as_its_run():
    document = yaml.safe_load(MIX.read_text()) | {"duration_ms": 1500}
    del document["phases"]
    mix = Scenario.of(document).traffic("tcp", "edge0", "edge1").file("h0_0", "h1_0", 10)
    scenario.check(mix.scenario)
    assert [(phase["name"], phase["duration_ms"], len(phase["flows"])) for phase in mix.scenario["phases"]] == [
        ("main", 1500, 2)
    ]


def test_schedulers_have_settings_and_change_in_time():
    star = Star(scheduler={"name": "islip", "settings": {"iterations": 2}}).tcp().scheduler_change(0.5, "fair")
    scenario.check(star.scenario)
    assert star.scenario["changes"] == [{"at_ms": 500, "scheduler": "fair"}]
    with pytest.raises(ScenarioError, match=r"/changes/1/scheduler.*test_experiment.py:\d+"):
        star.scheduler_change(0.7, "fare").check()


def test_the_base_of_an_experiment_is_not_changed():
    base = Star().scenario
    Star.of(base).tcp().optics()
    assert base == Star().scenario


def report(ok: bool) -> dict:
    flow = {"from": "h0_0", "to": "h1_0", "goodput_bps": 5.0}
    failures = [] if ok else ["1 collision"]
    return {
        "verdict": {"ok": ok, "failures": failures, "notes": []},
        "phases": [{"name": "main", "flows": [flow, flow]}],
    }


def test_run_hands_the_scenario_over_and_returns_the_report(command):
    place = command(report(ok=True), 0)
    result = (
        Star(3).tcp().run(seed=7, duration_s=2, pcap="captures", pcap_filter="edge0-*,data", snaplen=96, target="bmv2")
    )
    arguments = (place / "arguments").read_text().split()
    assert arguments[0] == "emulate"
    assert arguments[4:] == [
        "--seed",
        "7",
        "--duration",
        "2",
        "--pcap",
        "captures",
        "--pcap-filter",
        "edge0-*,data",
        "--snaplen",
        "96",
        "--target",
        "bmv2",
        "--until-input-ends",
    ]
    assert len(yaml.safe_load((place / "scenario.yaml").read_text())["edges"]) == 3
    assert result.ok
    assert result.goodput_bps("main") == {("h0_0", "h1_0"): 10.0}


def test_simulate_takes_ports_columns_report_and_scheduler(command):
    place = command(report(ok=True), 0)
    star = Star(3).tcp()
    kept = place / "kept.json"
    result = star.simulate(
        rest_port=0, p4runtime_port=9000, columns=place, sample_frames=5, report=kept, scheduler="islip"
    )
    arguments = (place / "arguments").read_text().split()
    assert arguments[:1] + arguments[2:] == [
        "simulate",
        "--report",
        str(kept),
        "--rest-port",
        "0",
        "--p4runtime-port",
        "9000",
        "--columns",
        str(place),
        "--sample-frames",
        "5",
        "--until-input-ends",
    ]
    assert yaml.safe_load((place / "scenario.yaml").read_text())["controller"]["scheduler"] == "islip"
    assert star.scenario["controller"]["scheduler"] == "fair"
    assert json.loads(kept.read_text()) == result.data
    assert result.columns_directory == place


def test_an_option_that_a_run_does_not_have_is_refused(command):
    place = command(report(ok=True), 0)
    with pytest.raises(UnknownArgument, match="did you mean 'seed'"):
        Star(3).tcp().simulate(sede=1)
    with pytest.raises(UnknownArgument, match="has no option 'sample_frames'"):
        Star(3).tcp().run(sample_frames=1)
    assert not (place / "arguments").exists()


@pytest.mark.parametrize("kind", [Scenario, Star, Network])
def test_schedulers_of_ones_own_are_found_from_where_their_file_is(command, monkeypatch, tmp_path, kind):
    place = tmp_path / "elsewhere"
    place.mkdir()
    document = yaml.safe_load(MIX.read_text())
    document["schedulers"] = {
        "a": {"jar": "a.jar"},
        "b": {"command": ["sh"]},
        "c": {"command": ["sh"], "directory": "/usr"},
    }
    (place / "a.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    (place / "own.yaml").write_text(yaml.safe_dump(document))
    own = kind.load(place / "own.yaml")
    seen = command(report(ok=True), 0)
    own.simulate(scheduler="b")
    expected = {
        "a": {"jar": f"{place}/a.jar"},
        "b": {"command": ["sh"], "directory": str(place)},
        "c": {"command": ["sh"], "directory": "/usr"},
    }
    assert yaml.safe_load((seen / "scenario.yaml").read_text())["schedulers"] == expected
    monkeypatch.delenv("SLOTWISE_COMMAND")
    own.save(place / "beside.yaml")
    assert scenario.load(place / "beside.yaml")["schedulers"] == document["schedulers"]
    own.save(tmp_path / "away.yaml")
    assert scenario.load(tmp_path / "away.yaml")["schedulers"] == expected


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_says_nothing_if_asked_so(command, capfd, quiet):
    place = command(report(ok=True), 0, "a warning")
    script = place / "slotwise"
    script.write_text(script.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho a summary\n"))
    Star().tcp().simulate(quiet=quiet)
    said = capfd.readouterr()
    assert (said.out, said.err) == (("", "") if quiet else ("a summary\n", "a warning\n"))
    command(None, 3, "slotwise: no")
    with pytest.raises(RunFailed, match="without a report: slotwise: no"):
        Star().tcp().simulate(quiet=quiet)


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ScenarioError, match=r"/controller/scheduler: .*'islop'.*; expected fair or islip"):
        Star().tcp().simulate(scheduler="islop", quiet=True)


def test_a_broken_invariant_is_an_exception_with_the_report(command):
    command(report(ok=False), 1)
    with pytest.raises(RunFailed, match="1 collision") as failure:
        Star().tcp().simulate()
    assert failure.value.report.failures == ["1 collision"]


def test_a_run_without_a_report_is_an_exception_with_what_the_program_said(command, capfd):
    command(None, 3, "a warning\nslotwise: the host agent has ended")
    with pytest.raises(
        RunFailed, match=r"(?s)status 3 without a report: a warning\nslotwise: the host agent has ended"
    ) as failure:
        Star().tcp().run()
    assert failure.value.said == ["a warning", "slotwise: the host agent has ended"]
    assert (failure.value.status, failure.value.report) == (3, None)
    assert "the host agent has ended" in capfd.readouterr().err


def test_an_earlier_report_is_not_taken_for_this_runs(command, tmp_path):
    command(None, 1, "slotwise: no")
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(report(ok=True)))
    with pytest.raises(RunFailed, match="without a report: slotwise: no"):
        Star().tcp().simulate(report=kept)


def test_half_a_report_is_none(command):
    command('{"verdict": {"ok"', 0)
    with pytest.raises(RunFailed, match="without a report"):
        Star().tcp().simulate()


# Refuses each scenario, whatever is asked.
REFUSING = """#!/bin/sh
printf '{"problems": ['
for i in $(seq %d); do printf '{"pointer": "/edges/%%d", "line": 1, "problem": "odd", "expected": "even"}, ' $i; done
echo '{"pointer": "", "line": null, "problem": "empty", "expected": ""}], "warnings": []}'
exit 1
"""


def test_however_many_problems_the_engine_finds_they_are_all_there(command, tmp_path):
    place = command(None, 1)
    (place / "slotwise").write_text(REFUSING % 1000)
    for refused in (lambda: Star().tcp().simulate(quiet=True), lambda: Star().tcp().save(tmp_path / "mine.yaml")):
        with pytest.raises(ScenarioError) as refusal:
            refused()
        *problems, last = refusal.value.problems
        assert [problem.pointer for problem in problems] == [f"/edges/{i}" for i in range(1, 1001)]
        assert (last.pointer, last.reason) == ("", "empty")
        assert "scenario 'star4': /edges/1: odd; expected even" in str(refusal.value)
        assert "/tmp/slotwise" not in str(refusal.value)
        assert all(problem.place.startswith(__file__) for problem in problems)
    assert not (tmp_path / "mine.yaml").exists()


def test_what_cannot_be_checked_is_not_saved(command, tmp_path):
    place = command(None, 1)
    mine = tmp_path / "mine.yaml"
    (place / "slotwise").write_text("#!/bin/sh\necho 'what is that?' >&2\nexit 2\n")
    with pytest.raises(scenario.CheckFailed, match="slotwise check ended with status 2: what is that"):
        Star().tcp().save(mine)
    assert not mine.exists()


def test_without_the_command_nothing_is_saved(monkeypatch, tmp_path):
    monkeypatch.setenv("SLOTWISE_COMMAND", "/nonexistent/slotwise")
    with pytest.raises(CommandNotFound):
        Star().tcp().save(tmp_path / "mine.yaml")
    assert not (tmp_path / "mine.yaml").exists()


def test_a_file_is_named_as_the_caller_named_it(command, tmp_path):
    mine = tmp_path / "mine.yaml"
    Star().tcp().save(mine)
    loaded = Scenario.load(mine)
    (command(None, 1) / "slotwise").write_text(REFUSING % 1)
    with pytest.raises(ScenarioError, match=rf"^{mine}: /edges/1: odd; expected even"):
        loaded.simulate(quiet=True)


def test_a_command_that_is_not_there_is_an_exception(monkeypatch):
    monkeypatch.setenv("SLOTWISE_COMMAND", "/nonexistent/slotwise")
    with pytest.raises(CommandNotFound, match="SLOTWISE_COMMAND=/nonexistent/slotwise"):
        Star().tcp().simulate()
    assert issubclass(CommandNotFound, SlotwiseError)
