# SPDX-License-Identifier: Apache-2.0
"""Scenario files: the examples that every language tests, and what only a reader of files can get wrong."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from slotwise import InvalidArgument, Star, scenario
from slotwise.resolved import Resolved
from slotwise.scenario import ScenarioError
from slotwise.tools import command, home

EXAMPLES = home.root() / "schema" / "examples"
NOT_RUNNABLE = {"every-key": r"no file|no directory", "tables": r"unknown table 'marks'"}
"""Examples that name files of schedulers, which do not exist, or tables of a custom program; with the reason that is printed."""
RUNNABLE = [file for file in sorted((EXAMPLES / "valid").glob("*.yaml")) if file.stem not in NOT_RUNNABLE]


def network_of(file: Path) -> Path:
    """File with what a controller is told of an example."""
    return EXAMPLES / "networks" / file.with_suffix(".json").name


def directives(file: Path, name: str) -> list[str]:
    return re.findall(rf"^# {name}: (.*)$", file.read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", sorted((EXAMPLES / "valid").glob("*.yaml")), ids=lambda file: file.stem)
def test_valid_examples_load(file):
    if file.stem in NOT_RUNNABLE:
        with pytest.raises(ScenarioError, match=NOT_RUNNABLE[file.stem]):
            scenario.load(file)
    else:
        assert scenario.load(file)["version"] == 1


@pytest.mark.parametrize("file", sorted((EXAMPLES / "networks").glob("*.json")), ids=lambda file: file.stem)
def test_networks_of_valid_examples_fit_the_schema(file):
    schema = json.loads((home.root() / "schema" / "network.schema.json").read_text())
    assert not list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(file.read_text())))
    assert (EXAMPLES / "valid" / file.with_suffix(".yaml").name).exists()


@pytest.mark.parametrize("file", sorted((EXAMPLES / "invalid").glob("*.yaml")), ids=lambda file: file.stem)
def test_invalid_examples_are_refused_at_their_places(file):
    with pytest.raises(ScenarioError) as refusal:
        scenario.load(file)
    problems = refusal.value.problems
    assert sorted(problem.pointer for problem in problems) == sorted(directives(file, "error"))
    assert all(problem.expected for problem in problems)


@pytest.mark.parametrize("file", sorted((home.root() / "topologies").glob("*.yaml")), ids=lambda file: file.stem)
def test_our_scenarios_load(file):
    scenario.load(file)


def hosts_here(resolved: Resolved) -> dict[str, tuple]:
    """Hosts that Mininet builds for a scenario: node of the switch, port, and addresses of each host by name."""
    return {host.name: (host.switch, host.port, host.address, host.mac) for host in resolved.hosts}


@pytest.mark.parametrize("file", [file for file in RUNNABLE if network_of(file).exists()], ids=lambda file: file.stem)
def test_hosts_are_where_the_controller_has_them(file, hosts_told):
    """The engine's tests keep these networks what `slotwise check --network` writes."""
    assert hosts_here(Resolved.load(file)) == hosts_told(json.loads(network_of(file).read_text()))


@pytest.mark.parametrize("file", RUNNABLE, ids=lambda file: file.stem)
def test_resolved_scenarios_fit_their_schema(file):
    schema = json.loads((home.root() / "schema" / "resolved.schema.json").read_text())
    printed = json.loads(command.check(str(file), "--resolved").output)
    assert not list(jsonschema.Draft202012Validator(schema).iter_errors(printed))
    resolved = Resolved.load(file)
    names = {host.name for host in resolved.hosts}
    assert {end for flow in resolved.flows for end in (flow.source, flow.destination)} <= names
    assert {host.switch for host in resolved.hosts} <= {node.name for node in resolved.nodes}
    assert len(names) == len({host.address for host in resolved.hosts}) == len(resolved.hosts)


def test_spans_between_edges_have_names_of_their_own():
    assert Resolved.load(EXAMPLES / "valid" / "ops-two-links.yaml").spans == ["r0-r1", "r0-r1-2"]


def test_flows_between_routers_start_one_after_the_other():
    resolved = Resolved.load(home.root() / "topologies" / "routers4.yaml")
    assert [(flow.source, flow.destination, flow.kind, flow.start_ms, flow.entry) for flow in resolved.flows] == [
        ("server.0", "client.0", "tcp", 0, 0),
        ("server.1", "client.1", "tcp", 5, 0),
        ("client.0", "server.0", "udp", 0, 1),
        ("client.1", "server.1", "udp", 5, 1),
    ]
    assert resolved.flows[2].options == {"rate_bps": 981333, "payload_bytes": 1472}


def test_a_scenario_that_cannot_be_resolved_is_refused_with_its_problems(star):
    star["frame"]["slots"] = 0
    with pytest.raises(ScenarioError, match=r"^mine: /frame/slots: "):
        Resolved.of(star, "mine")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not YAML"),
        ("a: 1\na: 2", "duplicate key"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: !!str 5", r"tags are not supported.*line 1"),
        ("a: 1\nb:\t5", "tab outside quotes.*line 2"),
        ("[" * 5000, "nested too deeply"),
        ("? [1]\n: 2", "is not a string"),
        (b"\xff\xfe\x00\xd8", "not YAML"),
        ("", "found nothing|None is not of type 'object'"),
        ("!!python/object/apply:os.system ['true']", "tags"),
    ],
)
def test_what_is_no_scenario_is_refused_with_a_reason(tmp_path, text, said):
    file = tmp_path / "scenario.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError, match=said):
        scenario.load(file)


@pytest.mark.parametrize(
    "word",
    [
        "no",
        "on",
        "y",
        "true",
        "FALSE",
        "~",
        "null",
        "",
        "1_000",
        "0123",
        "10",
        "-3",
        "0x1f",
        "0o17",
        "0b11",
        "1e9",
        "1.5",
        ".5",
        "12:30",
        "2026-01-01",
        "<<",
        "=",
        ".inf",
        "h0..h13",
        "a: b",
        "- a",
        "# a",
        "two\nlines",
        "é",
    ],
)
def test_texts_are_written_so_that_readers_of_yaml_1_1_and_1_2_read_texts(tmp_path, star, word):
    text = scenario.dump({"a": word})
    assert yaml.safe_load(text) == {"a": word}
    star["phases"][0]["name"] = word
    file = tmp_path / "scenario.yaml"
    file.write_text(scenario.dump(star))
    try:
        assert scenario.load(file)["phases"][0]["name"] == word
    except ScenarioError as error:
        # Not every text is a name, but each is read as a text.
        assert [problem.pointer for problem in error.problems] == ["/phases/0/name"]
        assert json.dumps(word)[1:-1] in error.problems[0].problem or word in error.problems[0].problem


@pytest.mark.parametrize("value", [1e9, "1_000_000_000", 1.5e9 + 0.5, float("inf"), True, "fast"])
def test_what_is_nearly_an_integer_is_refused(star, value):
    star["edges"][1]["fibres"][0]["rate_bps"] = value
    with pytest.raises(ScenarioError, match=r"^mine: /edges/1/fibres/0/rate_bps: found .*; expected an integer from"):
        scenario.check(star, "mine")


def test_a_value_that_no_scenario_has_is_refused(star):
    star["name"] = {1, 2}
    with pytest.raises(
        InvalidArgument, match="mine: Object of type set is not JSON serializable; expected dictionaries"
    ):
        scenario.check(star, "mine")


def test_a_word_for_a_boolean_is_refused_with_what_to_write(star):
    star["changes"] = [{"at_ms": 1, "core": 0, "edge": 1, "up": "no"}]
    with pytest.raises(ScenarioError, match=r"/changes/0/up: found 'no'; expected true or false$"):
        scenario.check(star)


def test_unknown_key_names_file_place_and_nearest_key(star):
    star["frame"]["slot_nss"] = 1
    with pytest.raises(
        ScenarioError, match=r"^mine: /frame/slot_nss: unknown key 'slot_nss'; expected 'slot_ns' \(closest of: "
    ):
        scenario.check(star, "mine")


def test_every_problem_of_a_file_has_its_line(tmp_path):
    file = tmp_path / "scenario.yaml"
    text = (home.root() / "topologies" / "star3-short.yaml").read_text()
    text = text.replace("slot_ns: 250000", "slot_nss: 250000").replace(
        "    duration_ms: 2000\n", "    duration_ms: x\n", 1
    )
    file.write_text(text)
    lines = text.splitlines()
    with pytest.raises(ScenarioError) as refusal:
        scenario.load(file)
    found = {problem.pointer: problem.place for problem in refusal.value.problems}
    frame = next(number for number, line in enumerate(lines, 1) if "slot_nss" in line)
    duration = next(number for number, line in enumerate(lines, 1) if "duration_ms: x" in line)
    assert found["/frame/slot_nss"] == f"line {frame}"
    assert found["/phases/0/duration_ms"] == f"line {duration}"


def test_a_check_that_says_nothing_is_an_exception_with_its_reason(monkeypatch):
    monkeypatch.setenv("SLOTWISE_COMMAND", "/bin/false")
    with pytest.raises(scenario.CheckFailed, match="slotwise check ended with status 1: no output"):
        scenario.check({})


def test_quantities_with_units_become_integers(tmp_path):
    file = tmp_path / "scenario.yaml"
    star4 = home.root() / "topologies" / "star4.yaml"
    text = star4.read_text().replace("slot_ns: 250000", "slot: 250 us").replace("bytes: 50000000", "bytes: 50 MB")
    file.write_text(text.replace("rate_bps: 200000000, delay_ns: 25000", "rate: 200 Mbit/s, length: 5 km"))
    assert scenario.load(file) == scenario.load(star4)


def test_a_problem_of_a_file_with_units_is_that_of_the_engine(tmp_path):
    file = tmp_path / "scenario.yaml"
    text = (home.root() / "topologies" / "star4.yaml").read_text()
    file.write_text(text.replace("slot_ns: 250000", "slot: 250 Mbit/s"))
    with pytest.raises(ScenarioError) as refusal:
        scenario.load(file)
    [problem] = refusal.value.problems
    assert (problem.pointer, problem.place) == ("/frame/slot", "line 7")
    assert problem.reason.startswith("found '250 Mbit/s': unknown unit 'Mbit/s'; expected a time from 1 us to 1 s")


def test_builders_make_overlaid_stars_and_shared_ports():
    twin = Star(edges=5, masters=[0, 2], ports=[0, 1, 2, 3, 3]).scenario
    twin["phases"] = [{"name": "silence", "duration_ms": 1, "flows": []}]
    scenario.check(twin)
    assert twin["cores"] == [{"id": 0, "master": 0}, {"id": 1, "master": 2}]
    assert [(fibre["core"], fibre["port"]) for fibre in twin["edges"][4]["fibres"]] == [(0, 3), (1, 3)]
    with pytest.raises(ValueError, match="a different edge for each core"):
        Star(masters=[1, 1])
    with pytest.raises(ValueError, match="one for each of 4 edges, got 2"):
        Star(ports=[0, 1])
