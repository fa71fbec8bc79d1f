# SPDX-License-Identifier: Apache-2.0
"""What scripts say of themselves, what they look at before a run, and what `scripts/test` sums up."""

import json
import os
import re
import runpy
import subprocess
import sys

import pytest
import yaml

from slotwise.tools import home

SCRIPTS = home.root() / "scripts"
OWN_NETWORK = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
# Listens on a port while a command runs; its status is the command's.
BESIDE = """
import socket, subprocess, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""


@pytest.mark.parametrize(
    "script",
    sorted(path for path in SCRIPTS.iterdir() if os.access(path, os.X_OK) and path.is_file()),
    ids=lambda script: script.name,
)
def test_help_says_what_a_script_does_and_does_nothing(script, tmp_path):
    copy = tmp_path / "scripts" / script.name
    copy.parent.mkdir()
    copy.write_bytes(script.read_bytes())
    copy.chmod(0o755)
    # A clone that lacks everything else, and no programs but the system's: whatever it did would fail or leave something.
    result = subprocess.run(
        [copy, "--help"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.split()) > 5
    assert "SPDX" not in result.stdout and "set -e" not in result.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"] == [copy]


@pytest.mark.parametrize(("port", "status"), [(8181, 1), (9559, 0)])
def test_only_a_port_that_a_run_needs_is_in_its_way(namespaces, port, status):
    result = subprocess.run(
        [*OWN_NETWORK, "/usr/bin/python3", "-c", BESIDE, str(port), SCRIPTS / "check-machine", "--ports"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stderr
    assert (f"port {port} (controller, REST) is in use" in result.stderr) == (status == 1)


def test_the_rest_interface_of_every_application_is_fuzzed(tmp_path):
    fuzz = runpy.run_path(str(SCRIPTS / "fuzz-rest"))
    apps = json.loads(fuzz["configuration"](tmp_path, 1, "token").read_text())["network"]["apps"]
    document = yaml.safe_load((home.root() / "controller/rest/src/main/resources/openapi.yaml").read_text())
    assert set(apps) == set(document["components"]["parameters"]["SystemId"]["schema"]["enum"])


def test_what_pip_makes_in_the_clone_is_ignored():
    if not (home.root() / ".git").exists():
        pytest.skip("no clone")
    made = ["python/build/lib/slotwise/__init__.py", "python/slotwise.egg-info/PKG-INFO"]
    result = subprocess.run(
        ["git", "check-ignore", *made], cwd=home.root(), capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == made


PYTEST_FILE = """
import pytest

def test_passes(): pass

def test_fails(): assert False

@pytest.fixture
def broken(): raise OSError

def test_is_in_error(broken): pass

@pytest.mark.skip(reason="no switch: none here")
def test_is_skipped(): pass
"""
UNITTEST_FILE = """
import unittest

class Of(unittest.TestCase):
    def test_passes(self): pass

    def test_fails(self): self.fail()

    def test_is_in_error(self): raise OSError

    @unittest.skip("no switch: none here")
    def test_is_skipped(self): pass
"""
# What cargo and Maven print for the like.
CARGO_OUTPUT = """
test passes ... ok
test fails ... FAILED
test is_skipped ... ignored, no switch: none here
test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
SUREFIRE_OUTPUT = """
[WARNING] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.031 s <<< FAILURE! -- in org.slotwise.OfTest
[ERROR] org.slotwise.OfTest.fails -- Time elapsed: 0.004 s <<< FAILURE!
[ERROR] org.slotwise.OfTest.isInError -- Time elapsed: 0.001 s <<< ERROR!
[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1
"""
STF_OUTPUT = """
passed  p4_16_samples/a.stf
FAILED  p4_16_samples/b.stf  another packet
skipped p4_16_samples/c.stf  no switch: none here
1 passed, 1 failed, 1 skipped
"""
WHY = "no switch: none here"


@pytest.fixture
def summing(load_script, tmp_path, monkeypatch):
    """scripts/test as a module, with logs elsewhere."""
    script = load_script(SCRIPTS / "test")
    monkeypatch.setattr(script, "LOGS", tmp_path / "log")
    script.LOGS.mkdir()
    return script


def printing(text: str) -> list[str]:
    """A command that prints a text, and ends as tests do that have failed."""
    return [sys.executable, "-c", f"print({text!r}); raise SystemExit(1)"]


@pytest.mark.parametrize(
    ("runner", "command", "failures", "skipped"),
    [
        (
            "PYTEST",
            [sys.executable, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "test_of.py"],
            ("test_of.py::test_fails - assert False", "test_of.py::test_is_in_error - OSError"),
            ("[1] test_of.py:13", WHY),
        ),
        (
            "UNITTEST",
            [sys.executable, "-m", "unittest", "-v", "test_of"],
            ("test_is_in_error (test_of.Of.test_is_in_error)", "test_fails (test_of.Of.test_fails)"),
            ("test_is_skipped (test_of.Of.test_is_skipped)", WHY),
        ),
        ("CARGO", printing(CARGO_OUTPUT), ("fails",), ("is_skipped", WHY)),
        (
            "SUREFIRE",
            printing(SUREFIRE_OUTPUT),
            ("org.slotwise.OfTest.fails", "org.slotwise.OfTest.isInError"),
            ("org.slotwise.OfTest", "no reason given"),
        ),
        (
            "STF",
            printing(STF_OUTPUT),
            ("p4_16_samples/b.stf  another packet",),
            ("p4_16_samples/c.stf", WHY),
        ),
    ],
)
def test_tests_are_counted_and_those_that_did_not_pass_are_named(
    summing, tmp_path, monkeypatch, runner, command, failures, skipped
):
    # Would leave all tests out.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    (tmp_path / "test_of.py").write_text(UNITTEST_FILE if runner == "UNITTEST" else PYTEST_FILE)
    result = summing.run(summing.Part("of", command, tmp_path, getattr(summing, runner)))
    assert result[:4] == (1, len(failures), 1, [skipped])
    assert result.failures == failures


def test_what_a_part_that_does_not_count_could_not_check_is_skipped(summing, tmp_path):
    result = summing.run(summing.Part("of", [sys.executable, "-c", f"print('not run: a program: {WHY}')"], tmp_path))
    assert result[:4] == (1, 0, 1, [("a program", WHY)])


def test_a_page_that_is_not_built_again_says_so(summing, load_script, monkeypatch, capsys):
    web = load_script(SCRIPTS / "web")
    monkeypatch.setattr(web.shutil, "which", lambda name: None)
    web.check()
    (line,) = [line for line in capsys.readouterr().out.splitlines() if re.search(summing.OWN_SKIP, line)]
    assert line.startswith("not run: page built again, with its tests: ")


def test_a_part_whose_tests_are_all_skipped_has_not_failed(summing, tmp_path):
    command = [sys.executable, "-c", f"print('SKIPPED [2] test_of.py:3: {WHY}\\n2 skipped in 0.01s')"]
    result = summing.run(summing.Part("of", command, tmp_path, summing.PYTEST))
    assert result[:4] == (0, 0, 2, [("[2] test_of.py:3", WHY)])


def test_a_part_that_counts_nothing_has_failed(summing, tmp_path):
    assert summing.run(summing.Part("of", [sys.executable, "-c", ""], tmp_path, summing.PYTEST))[:4] == (0, 1, 0, [])


def test_a_part_whose_program_does_not_exist_has_failed_and_the_next_one_runs(summing, monkeypatch, capsys):
    parts = [summing.Part("of", ["no-such-program"], format=summing.CARGO), summing.Part("next", ["true"])]
    monkeypatch.setattr(summing, "parts", lambda: parts)
    monkeypatch.setattr(sys, "argv", ["test"])
    assert summing.main() == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == ["failed: of; logs are in build/log", "1 passed, 1 failed, 0 skipped"]


def test_an_interrupted_part_has_failed_even_with_status_0(summing, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(summing, "PART_LIMIT_S", 0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Instead of a signal: a command that would end cleanly on it.
    monkeypatch.setattr(summing, "end_group", lambda *_: pipe.write_text("\n"))
    assert summing.run(summing.Part("of", ["sh", "-c", f"read line < {pipe}"]))[:3] == (0, 1, 0)
    assert "=== of: FAILED (interrupted)" in capsys.readouterr().out


def test_a_part_without_a_result_has_failed(summing, monkeypatch, capsys):
    def ends(part, prefix):
        raise OSError(prefix)

    parts = [summing.Part("of", ["true"]), summing.Part("next", ["true"])]
    monkeypatch.setattr(summing, "parts", lambda: parts)
    monkeypatch.setattr(summing, "run", ends)
    monkeypatch.setattr(summing.threading, "excepthook", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["test"])
    assert summing.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 2 failed, 0 skipped"


@pytest.mark.parametrize(
    ("named", "status", "sum_"),
    [([], 0, "1 passed, 0 failed, 1 skipped"), (["switch"], 1, "0 passed, 1 failed, 0 skipped")],
)
def test_a_part_that_cannot_run_is_listed_above_the_sum_and_fails_if_it_is_named(
    summing, monkeypatch, capsys, named, status, sum_
):
    parts = [summing.Part("runs", ["true"]), summing.Part("switch", ["false"], missing=WHY)]
    monkeypatch.setattr(summing, "parts", lambda: parts)
    monkeypatch.setattr(sys, "argv", ["test", *named])
    assert summing.main() == status
    said = capsys.readouterr().out.splitlines()
    assert f"not run: switch: whole part: {WHY}" in said[:-1]
    assert said[-1] == sum_


def test_parts_that_need_what_is_not_there_are_left_out_by_name(summing, monkeypatch):
    monkeypatch.setattr(summing.shutil, "which", lambda name: None)
    monkeypatch.delenv("P4C_SOURCES", raising=False)
    assert {part.name: part.missing for part in summing.parts() if part.missing} == {
        "rust-lints": "cargo-clippy not on the PATH",
        "stf-corpus": "P4C_SOURCES is not set",
        "budgets": "valgrind not on the PATH",
        "diff-bmv2": "simple_switch_grpc not on the PATH",
        "ptf-bmv2": "simple_switch_grpc not on the PATH",
    }
    monkeypatch.setenv("P4C_SOURCES", "p4c")
    assert "p4c-bm2-ss not on the PATH" in {part.missing for part in summing.parts()}


@pytest.fixture
def nightly(summing, tmp_path, monkeypatch):
    """Runs the nightly parts given, at a commit of this name; returns the status."""
    monkeypatch.setattr(summing, "NIGHTLY", tmp_path / "nightly")

    def run(parts, of_commit):
        monkeypatch.setattr(summing, "parts", lambda: [part._replace(tier="nightly") for part in parts])
        monkeypatch.setattr(summing, "commit", lambda: of_commit)
        monkeypatch.setattr(sys, "argv", ["test", "--nightly"])
        return summing.main()

    return run


def counted(path) -> list[str]:
    """A command that leaves a line in a file each time it runs."""
    return ["sh", "-c", f"echo ran >> {path}"]


def test_a_nightly_part_that_passed_at_this_commit_is_not_run_again(summing, nightly, tmp_path, capsys):
    once, again = tmp_path / "once", tmp_path / "again"
    parts = [
        summing.Part("passes", counted(once), lane="engine"),
        summing.Part("fails", ["sh", "-c", f"echo ran >> {again}; exit 3"], lane="controller"),
    ]
    assert [nightly(parts, "c0ffee"), nightly(parts, "c0ffee")] == [1, 1]
    assert (once.read_text(), again.read_text()) == ("ran\n", "ran\nran\n")
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
    nightly(parts, "another")
    nightly(parts, None)
    nightly(parts, None)
    assert once.read_text() == "ran\n" * 4


def test_a_nightly_part_that_ends_at_another_commit_is_not_stored(summing, tmp_path, monkeypatch):
    ran, head = tmp_path / "ran", tmp_path / "head"
    monkeypatch.setattr(summing, "commit", lambda: head.read_text() or None)
    monkeypatch.setattr(summing, "NIGHTLY", tmp_path / "nightly")
    monkeypatch.setattr(sys, "argv", ["test", "--nightly"])
    for now in ("decaf", ""):
        head.write_text("c0ffee")
        moves = summing.Part("of", ["sh", "-c", f"echo ran >> {ran}; printf '{now}' > {head}"], tier="nightly")
        after = summing.Part("next", counted(ran), tier="nightly")
        monkeypatch.setattr(summing, "parts", lambda parts=(moves, after): list(parts))
        assert summing.main() == 0
    assert ran.read_text() == "ran\n" * 4 and not list((tmp_path / "nightly").glob("*.json"))


@pytest.mark.parametrize("text", ['{"of": {"pass', "[]", '{"of": {}}', '{"of": {"not_run": [], "more": 1}}'])
def test_stored_results_that_cannot_be_read_are_made_again(summing, nightly, tmp_path, capsys, text):
    ran, place = tmp_path / "ran", tmp_path / "nightly" / "c0ffee.json"
    place.parent.mkdir()
    place.write_text(text)
    parts = [summing.Part("of", counted(ran))]
    assert [nightly(parts, "c0ffee"), nightly(parts, "c0ffee")] == [0, 0]
    assert ran.read_text() == "ran\n" and "c0ffee.json: " in capsys.readouterr().out


def test_only_one_night_takes_place_in_a_clone(summing, nightly):
    with summing.only_night(), pytest.raises(SystemExit, match="another run of the nightly tests"):
        nightly([summing.Part("of", ["true"])], None)
    assert nightly([summing.Part("of", ["true"])], None) == 0


def test_lanes_run_side_by_side_and_name_their_parts(summing, monkeypatch, tmp_path, capsys):
    # Each waits for the other: one after the other, neither would end.
    pipes = [tmp_path / name for name in ("first", "second")]
    for pipe in pipes:
        os.mkfifo(pipe)
    opened = "import sys, threading; t = threading.Thread(target=lambda: open(sys.argv[1], 'w').close()); t.start(); "
    meet = opened + "open(sys.argv[2]).read(); t.join(); print('met')"
    parts = [
        summing.Part(lane, [sys.executable, "-c", meet, *map(str, order)], lane=lane)
        for lane, order in (("engine", pipes), ("controller", pipes[::-1]))
    ]
    monkeypatch.setattr(summing, "parts", lambda: parts)
    monkeypatch.setattr(sys, "argv", ["test"])
    assert summing.main() == 0
    printed = capsys.readouterr().out
    assert "         engine | met" in printed and "     controller | met" in printed
    assert printed.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


def test_a_program_that_is_required_and_missing_is_a_failure(summing, monkeypatch):
    monkeypatch.setattr(summing.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["test", "--require", "bmv2,p4c"])
    with pytest.raises(SystemExit, match="simple_switch_grpc not on the PATH, p4c-bm2-ss not on the PATH"):
        summing.main()
    monkeypatch.setattr(sys, "argv", ["test", "--require", "bmv2", "--require", "valgrind"])
    with pytest.raises(SystemExit, match="simple_switch_grpc not on the PATH, valgrind not on the PATH"):
        summing.main()
    monkeypatch.setattr(sys, "argv", ["test", "--require", "ns-3"])
    with pytest.raises(SystemExit):
        summing.main()


def test_what_was_skipped_for_lack_of_a_required_program_is_a_failure(summing, monkeypatch, capsys):
    line = "not run: p4c-out compiled again: compiled with p4c-bm2-ss 1.2.5, found 1.2.4 on the PATH"
    monkeypatch.setattr(summing.shutil, "which", lambda name: name)
    monkeypatch.setattr(summing, "parts", lambda: [summing.Part("of", ["echo", line])])
    for options, status in (([], 0), (["--require", "bmv2"], 0), (["--require", "p4c"], 1)):
        monkeypatch.setattr(sys, "argv", ["test", *options])
        assert summing.main() == status
        assert ("failed: of" in capsys.readouterr().out) == bool(status)


def test_a_nightly_part_that_lacked_a_program_runs_again_once_it_is_there(summing, nightly, monkeypatch, tmp_path):
    ran = tmp_path / "ran"
    script = f"echo ran >> {ran}; echo 'not run: a switch: simple_switch_grpc is not on the PATH'"
    monkeypatch.setattr(summing.shutil, "which", lambda name: None)
    for _ in range(2):
        nightly([summing.Part("of", ["sh", "-c", script])], "c0ffee")
    assert ran.read_text() == "ran\n"
    monkeypatch.setattr(summing.shutil, "which", lambda name: name)
    nightly([summing.Part("of", ["sh", "-c", script])], "c0ffee")
    assert ran.read_text() == "ran\n" * 2


def test_each_end_to_end_test_is_in_one_part(summing):
    files = {path.stem.removeprefix("test_") for path in (home.root() / "tests" / "end_to_end").glob("test_*.py")}
    alone = {
        word.removeprefix("end_to_end/test_").removesuffix(".py")
        for part in summing.parts()
        for word in part.command
        if re.fullmatch(r"end_to_end/test_\w+\.py", word)
    }
    assert alone == set(summing.OWN_PART) <= files
    markers = [word for part in summing.parts() for word in part.command if word in ("nightly", "not nightly")]
    assert "nightly" in markers and "not nightly" in markers


def test_no_test_is_left_to_a_tier_without_a_part_for_it():
    tests = home.root() / "tests"
    marker = "pytest.mark.nightly"
    # The night has no part for these.
    quick = [path for path in (tests / "python").glob("*.py") if path.name != "test_scripts.py"]
    assert [path.name for path in quick if marker in path.read_text()] == []
    # CI ignores this file.
    assert f"\npytestmark = {marker}\n" in (tests / "end_to_end" / "test_linecard.py").read_text()


def test_many_tests_skipped_for_one_reason_are_one_line(summing, capsys):
    names = [f"test{number}" for number in range(summing.MAX_NAMES + 2)]
    summing.list_not_run({"of": summing.Result(1, 0, len(names), [(name, WHY) for name in names])})
    assert (
        capsys.readouterr().out == f"not run: of: {', '.join(names[:-2])} and 2 more (build/log/test-of.log): {WHY}\n"
    )


def test_tests_that_failed_are_named_above_the_sum(summing, monkeypatch, capsys):
    failures = [f"FAILED test_of.py::test_{number}" for number in range(summing.MAX_NAMES + 2)]
    command = printing("\n".join([*failures, f"{len(failures)} failed in 0.01s"]))
    monkeypatch.setattr(summing, "parts", lambda: [summing.Part("of", command, format=summing.PYTEST)])
    monkeypatch.setattr(sys, "argv", ["test"])
    assert summing.main() == 1
    assert capsys.readouterr().out.splitlines()[-summing.MAX_NAMES - 3 :] == [
        *(f"failed: of: test_of.py::test_{number}" for number in range(summing.MAX_NAMES)),
        "failed: of: 2 more (build/log/test-of.log)",
        "failed: of; logs are in build/log",
        f"0 passed, {len(failures)} failed, 0 skipped",
    ]
