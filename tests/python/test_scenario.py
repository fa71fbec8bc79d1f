# SPDX-License-Identifier: Apache-2.0
"""Scenario files: the examples that every language tests, and what only a reader of files can get wrong."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from slotwise import builders, scenario
from slotwise.scenario import HostId, ScenarioError
from slotwise.tools import home

EXAMPLES = home.root() / "schema" / "examples"


def directives(file: Path, name: str) -> list[str]:
    return re.findall(rf"^# {name}: (.*)$", file.read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", sorted((EXAMPLES / "valid").glob("*.yaml")), ids=lambda file: file.stem)
def test_valid_examples_load(file):
    assert scenario.load(file)["version"] == 1


@pytest.mark.parametrize("file", sorted((EXAMPLES / "networks").glob("*.json")), ids=lambda file: file.stem)
def test_networks_of_valid_examples_fit_the_schema(file):
    schema = json.loads((home.root() / "schema" / "network.schema.json").read_text())
    assert not list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(file.read_text())))
    assert (EXAMPLES / "valid" / file.with_suffix(".yaml").name).exists()


@pytest.mark.parametrize("file", sorted((EXAMPLES / "invalid").glob("*.yaml")), ids=lambda file: file.stem)
def test_invalid_examples_are_refused_where_the_schema_sees_it(file):
    if directives(file, "schema") == ["accepts"] and directives(file, "python") != ["refuses"]:
        scenario.load(file)
        return
    with pytest.raises(ScenarioError) as refusal:
        scenario.load(file)
    problems = refusal.value.problems
    assert sorted(problem.pointer for problem in problems) == sorted(directives(file, "error"))
    for key in directives(file, "suggests"):
        assert any(f"'{key}'" in problem.reason for problem in problems)


@pytest.mark.parametrize("file", sorted((home.root() / "topologies").glob("*.yaml")), ids=lambda file: file.stem)
def test_our_scenarios_load(file):
    scenario.load(file)


def test_hosts_of_routers_have_the_ports_after_those_to_neighbours():
    network = scenario.load(home.root() / "topologies" / "routers4.yaml")
    hosts = [(host.name, host.switch, host.access_port, host.ip) for host in scenario.routed_hosts(network)]
    assert hosts[1:3] == [("client.1", "r0", 4, "10.1.0.2"), ("server.0", "r3", 3, "10.1.0.3")]
    assert scenario.routed_hosts(network)[3].mac == "02:fc:00:00:00:03"


def hosts_here(document: dict) -> dict[str, tuple]:
    """What Mininet builds of a scenario: node of the switch, port, and addresses of each host by name."""
    found = [*scenario.hosts(document), *scenario.routed_hosts(document)]
    return {host.name: (host.switch, host.access_port, host.ip, host.mac) for host in found}


@pytest.mark.parametrize("file", sorted((EXAMPLES / "networks").glob("*.json")), ids=lambda file: file.stem)
def test_hosts_are_where_the_engine_has_them(file, hosts_told):
    """The engine's tests keep these networks what `slotwise check --network` writes."""
    document = scenario.load(EXAMPLES / "valid" / file.with_suffix(".yaml").name)
    assert hosts_here(document) == hosts_told(json.loads(file.read_text()))


def test_spans_between_edges_have_names_of_their_own():
    document = scenario.load(EXAMPLES / "valid" / "ops-two-links.yaml")
    assert scenario.fibre_names(document) == ["r0-r1", "r0-r1-2"]


@pytest.mark.parametrize("name", ["mixed", "routers4", "star4-twin"])
def test_hosts_of_our_scenarios_are_where_the_engine_has_them(tmp_path, name, hosts_told):
    try:
        command = home.slotwise_command()
    except home.CommandNotFound as absent:
        pytest.skip(str(absent))
    file, network = home.root() / "topologies" / f"{name}.yaml", tmp_path / "network.json"
    subprocess.run([command, "check", file, "--network", network], check=True)
    assert hosts_here(scenario.load(file)) == hosts_told(json.loads(network.read_text()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not YAML"),
        ("a: 1\na: 2", "duplicate key"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: !!str 5", "line 1: tags are not supported"),
        ("a: 1\nb:\t5", "not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("? [1]\n: 2", "not YAML"),
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
    ("word", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("1_000", "1_000"),
        ("0123", "0123"),
        ("10", 10),
        ("-3", -3),
        ("0x1f", 31),
        ("0o17", 15),
        ("0b11", 3),
        ("1e9", 1e9),
        ("1.5", 1.5),
        (".5", 0.5),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("<<", "<<"),
        ("=", "="),
        (".inf", float("inf")),
    ],
)
def test_words_are_read_as_the_engine_reads_them_and_written_so_that_all_read_them(word, value):
    assert yaml.load(f"a: {word}", scenario._Loader) == {"a": value}
    for reader in (scenario._Loader, yaml.SafeLoader):
        assert yaml.load(scenario.dump({"a": word}), reader) == {"a": word}
        assert yaml.load(scenario.dump({"a": value}), reader) == {"a": value}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rate_bps", 1e9, "1000000000.0 is not of type 'integer'; write 1000000000"),
        ("rate_bps", "1_000_000_000", "'1_000_000_000' is not of type 'integer'; write 1000000000"),
        ("rate_bps", 1.5e9 + 0.5, "1500000000.5 is not of type 'integer'"),
        ("rate_bps", float("inf"), "inf is not of type 'integer'"),
        ("rate_bps", True, "True is not of type 'integer'"),
        ("rate_bps", "fast", "'fast' is not of type 'integer'"),
    ],
)
def test_what_is_nearly_an_integer_is_refused_with_what_to_write(star, key, value, said):
    star["edges"][1]["fibres"][0][key] = value
    with pytest.raises(ScenarioError) as refusal:
        scenario.check(star, "mine")
    assert str(refusal.value).splitlines()[0] == f"mine: /edges/1/fibres/0/{key}: {said}"


def test_a_word_for_a_boolean_is_refused_with_what_to_write(star):
    star["changes"] = [{"at_ms": 1, "core": 0, "edge": 1, "up": "no"}]
    with pytest.raises(ScenarioError, match=r"/changes/0/up: 'no' is not of type 'boolean'; write true or false$"):
        scenario.check(star)


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    file = tmp_path / "scenario.yaml"
    file.write_bytes(b"#" * (scenario.MAX_FILE_BYTES + 1))
    with pytest.raises(ScenarioError, match="longer than"):
        scenario.load(file)


def test_unknown_key_names_file_place_and_nearest_key(star):
    star["frame"]["slot_nss"] = 1
    with pytest.raises(
        ScenarioError, match=r"^mine: /frame/slot_nss: unknown key 'slot_nss'; expected 'slot_ns' \(closest key\)$"
    ):
        scenario.check(star, "mine")


def test_every_problem_of_a_file_has_the_line_of_its_key_or_of_what_lacks_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOTWISE_COMMAND", str(tmp_path / "nowhere"))
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
    assert found == {
        "/frame": f"line {frame}",
        "/frame/slot_nss": f"line {frame}",
        "/phases/0/duration_ms": f"line {duration}",
    }
    assert f"'x' is not of type 'integer' (line {duration})" in str(refusal.value)


def test_quantities_with_units_become_integers(tmp_path):
    file = tmp_path / "scenario.yaml"
    star4 = home.root() / "topologies" / "star4.yaml"
    text = star4.read_text().replace("slot_ns: 250000", "slot: 250 us").replace("bytes: 50000000", "bytes: 50 MB")
    file.write_text(text.replace("rate_bps: 200000000, delay_ns: 25000", "rate: 200 Mbit/s, length: 5 km"))
    assert scenario.load(file) == scenario.load(star4)


def test_a_problem_of_a_file_with_units_is_that_of_the_engine(tmp_path, monkeypatch):
    file = tmp_path / "scenario.yaml"
    text = (home.root() / "topologies" / "star4.yaml").read_text()
    file.write_text(text.replace("slot_ns: 250000", "slot: 250 Mbit/s"))
    with pytest.raises(ScenarioError) as refusal:
        scenario.load(file)
    [problem] = refusal.value.problems
    assert (problem.pointer, problem.place) == ("/frame/slot", "line 7")
    assert problem.reason.startswith("found '250 Mbit/s': unknown unit 'Mbit/s'; expected a time from 1 us to 1 s")
    monkeypatch.setenv("SLOTWISE_COMMAND", str(tmp_path / "nowhere"))
    with pytest.raises(ScenarioError, match="/frame/slot: unknown key 'slot'"):
        scenario.load(file)


def test_builders_make_overlaid_stars_and_shared_ports():
    twin = builders.star(edges=5, masters=[0, 2], ports=[0, 1, 2, 3, 3])
    twin["phases"] = [{"name": "silence", "duration_ms": 1, "flows": []}]
    scenario.check(twin)
    assert twin["cores"] == [{"id": 0, "master": 0}, {"id": 1, "master": 2}]
    assert [(fibre["core"], fibre["port"]) for fibre in twin["edges"][4]["fibres"]] == [(0, 3), (1, 3)]
    with pytest.raises(ValueError, match="a different edge for each core"):
        builders.star(masters=[1, 1])
    with pytest.raises(ValueError, match="one for each of 4 edges, got 2"):
        builders.star(ports=[0, 1])


def test_addresses_follow_from_numbers():
    host = HostId(0x0102, 3)
    assert (host.name, host.ip, host.mac, host.access_port) == ("h258_3", "10.1.2.4", "02:00:01:02:00:04", 4)
