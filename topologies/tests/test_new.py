# SPDX-License-Identifier: Apache-2.0
"""`slotwise new`: scenarios to begin with."""

import inspect

import pytest
import yaml

from slotwise import new, scenario


def made(capsys, *arguments: str) -> tuple[str, dict]:
    assert new.main(list(arguments)) == 0
    text = capsys.readouterr().out
    return text, scenario.check(yaml.load(text, scenario._Loader))


@pytest.mark.parametrize("kind", new.KINDS)
def test_every_kind_is_a_scenario_with_flows_that_says_what_made_it(capsys, kind):
    text, document = made(capsys, kind)
    assert text.startswith(f"# Made by `slotwise new {kind}`. ")
    assert document.get("flows") or document["phases"][0]["traffic"]
    assert max(map(len, text.splitlines())) < 2 * scenario.LINE_WIDTH
    assert document == new.KINDS[kind].make().scenario


def test_arguments_of_the_builders_are_options(capsys):
    _, ring = made(capsys, "ring", "--stations", "12", "--half", "--threshold", "0.9", "--name", "12")
    assert (len(ring["ring"]["stations"]), ring["ring"]["half"], ring["ring"]["threshold"], ring["name"]) == (
        12,
        True,
        0.9,
        "12",
    )
    assert [flow["to"] for flow in ring["flows"]][:2] == ["hosts6", "hosts7"]
    _, star = made(
        capsys,
        "star",
        "--edges",
        "3",
        "--hosts-per-edge",
        "[1, 2, 3]",
        "--scheduler",
        "{name: fair, settings: {order: contiguous}}",
    )
    assert [edge["hosts"] for edge in star["edges"]] == [1, 2, 3]
    assert star["controller"]["scheduler"] == {"name": "fair", "settings": {"order": "contiguous"}}
    _, routers = made(capsys, "routers", "--count", "2", "--xcp", "--rate-bps", "0x1000000")
    assert [link["xcp_bps"] for link in routers["links"]] == [0x1000000, 0x1000000]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["star", "--edges", "-2"], "edges: expected a number of edges, got -2"),
        (["star", "--edges", "300", "--slots", "600"], "slotwise new: /edges: 300 entries; expected at most 240"),
        (["ring", "--stations", "x"], "stations: expected their number, or a list of names, got 'x'"),
        (
            ["ring", "--rate-bps", "1e9"],
            "slotwise new: /ring/links/rate_bps: 1000000000.0 is not of type 'integer'; write 1000000000",
        ),
        (["routers", "--count", "1"], "count: expected at least two routers, got 1"),
        (["ops", "--links", "[[a]]"], "links: expected pairs of names"),
        (["ops", "--switches", "[a, b]", "--links", "[[a, c]]", "--seconds", "[1]"], "slotwise new: "),
    ],
)
def test_what_cannot_be_made_is_said_and_nothing_is_written(capsys, arguments, said):
    assert new.main(arguments) == 2
    output = capsys.readouterr()
    assert said in output.err and len(output.err.splitlines()) == 1
    assert output.out == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--slot-ns", "50000"],
            "slotwise new: note: /frame/guard_ns: 10000 ns are 20% of each slot, in which nothing is sent; --guard-ns chooses another guard\n",
        ),
        (["--slot-ns", "50000", "--guard-ns", "5000"], ""),
        ([], ""),
    ],
)
def test_a_guard_that_takes_much_of_each_slot_is_noted(capsys, options, said):
    assert new.main(["star", "--rate-bps", "1000000000", *options]) == 0
    assert capsys.readouterr().err == said


def test_what_the_engine_would_refuse_is_said_and_not_written(capsys, monkeypatch, tmp_path):
    refusing = tmp_path / "slotwise"
    refusing.write_text(
        "#!/bin/sh\nprintf 'slotwise: %s:\\nline 10: /ops/links/0/between/0: found %s; expected s0, s1\\n' \"$2\" \"'a'\" >&2\nexit 1\n"
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("SLOTWISE_COMMAND", str(refusing))
    assert new.main(["ops", "--switches", "3", "--links", "[[a, b], [b, c]]"]) == 2
    output = capsys.readouterr()
    assert output.err == "slotwise new: /ops/links/0/between/0: found 'a'; expected s0, s1\n"
    assert output.out == ""


@pytest.mark.parametrize(
    "arguments", [["ring", "--statoins", "3"], ["ring", "--stations", "[a"], ["sun"], [], ["ring", "--stat", "3"]]
)
def test_what_is_no_option_or_value_is_refused(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        new.main(arguments)
    assert ended.value.code == 2
    assert "slotwise new" in capsys.readouterr().err


@pytest.mark.parametrize("kind", new.KINDS)
def test_help_has_every_argument(capsys, kind):
    with pytest.raises(SystemExit):
        new.main([kind, "--help"])
    said = capsys.readouterr().out
    for name, parameter in inspect.signature(new.KINDS[kind].builder).parameters.items():
        assert (f"--{name.replace('_', '-')} " in said) == (parameter.kind != parameter.VAR_KEYWORD)
    assert "Raises" not in said


def test_a_name_of_two_lines_stays_in_the_comment(capsys):
    text, document = made(capsys, "star", "--seed", "7")
    assert document["seed"] == 7
    assert (
        new.text(document, "slotwise new star --name 'a\nb: 1'", "x").splitlines()[0]
        == "# Made by `slotwise new star --name 'a b: 1'`. x"
    )
    assert text.splitlines()[2] == "version: 1"


def test_a_list_that_is_too_long_is_said_by_its_length(capsys):
    assert new.main(["star", "--edges", "300", "--hosts-per-edge", "1"]) == 2
    assert "/edges: 300 entries; expected at most 240" in capsys.readouterr().err
