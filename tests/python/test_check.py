# SPDX-License-Identifier: Apache-2.0
"""`scripts/check`: which steps a change asks for, and what depends on what."""

import re
import subprocess
import sys

import pytest

from slotwise.tools import home

ROOT = home.root()


@pytest.fixture
def check(load_script):
    """scripts/check as a module."""
    return load_script(ROOT / "scripts" / "check")


def test_dependents_are_found_through_others(check):
    dependencies = {"a": set(), "b": {"a"}, "c": {"b"}, "d": set()}
    assert check.dependents({"a"}, dependencies) == {"a", "b", "c"}
    assert check.dependents({"d"}, dependencies) == {"d"}


def test_crates_are_those_of_the_workspace(check):
    directories, dependencies = check.crates()
    assert directories["slotwise-kinds"] == "engine/crates/kinds"
    assert {"slotwise", "slotwise-reproduce"} <= check.dependents({"slotwise-kinds"}, dependencies)
    assert "slotwise-kinds" not in check.dependents({"slotwise-gtp"}, dependencies)


@pytest.mark.parametrize(
    ("file", "steps"),
    [
        ("docs/ring.md", set()),
        ("python/slotwise/results/plot.py", {"format", "python"}),
        ("engine/crates/kinds/src/lib.rs", {"rust format", "crates", "clippy", "digests"}),
        (
            "controller/systems/src/main/java/org/slotwise/systems/ring/app/Fill.java",
            {"java lint", "modules", "digests"},
        ),
        ("p4src/ring.p4", {"p4 outputs", "programs", "digests"}),
        ("ptf-tests/ring/test_ring.py", {"format", "programs"}),
        ("topologies/star4-twin.yaml", {"python", "digests"}),
        ("tests/end_to_end/renamed.json", {"python", "digests"}),
        ("tests/end_to_end/values.py", {"format", "python", "digests"}),
        ("experiments/aapn-xcp-cl/experiment.yaml", {"python", "digests"}),
        ("web/src/plot.tsx", {"page", "page format"}),
        ("schema/scenario.schema.json", {"python", "crates", "digests"}),
        ("scripts/package", {"format", "python"}),
    ],
)
def test_a_change_asks_for_its_steps_and_no_others(check, file, steps):
    always = {step.name for step in check.STEPS if not step.concerns}
    assert {step.name for step in check.STEPS if re.search(step.concerns, file)} == always | steps


@pytest.fixture
def git(check, tmp_path, monkeypatch):
    """A function that runs git in the repository that the script looks at."""

    def run(*words):
        subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", *words], check=True
        )

    monkeypatch.setattr(check, "ROOT", tmp_path)
    run("init", "--quiet")
    return run


def test_a_moved_file_has_changed_under_both_names_and_any_name_is_read(check, git, tmp_path):
    (tmp_path / "engine.rs").write_text("a line\n" * 20)
    git("add", "engine.rs")
    git("commit", "--quiet", "--message", "first")
    git("mv", "engine.rs", "page.md")
    (tmp_path / '\u00e9 ".rs').touch()
    assert check.changes(None) == ["engine.rs", "page.md", '\u00e9 ".rs']
    git("rm", "--quiet", "--force", "page.md")
    assert check.changes(None) == ["engine.rs", '\u00e9 ".rs']


def test_changes_are_those_since_a_revision_and_unknown_files(check, git, tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "--quiet", "--message", name)
    assert check.changes(None) == ["second"]
    (tmp_path / "first").write_text("changed")
    (tmp_path / "new").write_text("new")
    assert check.changes(None) == ["first", "new"]
    assert check.changes("HEAD~1") == ["first", "second", "new"]
    with pytest.raises(SystemExit, match="no-such-revision"):
        check.changes("no-such-revision")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["p4src/ring.p4", "p4src/p4c-out/ring.json", "p4src/p4c-out/manifest.json"], ["ring"]),
        (["p4src/ring.p4", "ptf-tests/core/test_core.py"], ["core", "ring"]),
        (["ptf-tests/ring/test_modes.py"], ["ring"]),
        (["p4src/ring.p4", "ptf-tests/run"], None),
        (["ptf-tests/support/ring.py"], None),
        (["p4src/include/ring_rules.p4"], None),
        (["p4src/p4c-out/manifest.json"], None),
    ],
)
def test_ptf_of_all_programs_whose_files_changed(check, files, names):
    assert check.programs(files) == (names or list(check.PROGRAMS))


def test_what_could_not_run_is_listed_above_the_sum(check, monkeypatch, capsys):
    lines = ["not run: a linter: no tool", "SKIPPED [2] test_of.py:3: no switch"]
    steps = [
        check.Step("first", "", check.always("printf", "%s\\n", *lines)),
        check.Step("other", "", check.always("false")),
    ]
    monkeypatch.setattr(check, "STEPS", steps)
    monkeypatch.setattr(check, "changes", lambda _: ["file"])
    monkeypatch.setattr(sys, "argv", ["check"])
    assert check.main() == 1
    assert capsys.readouterr().out.splitlines()[-4:] == [*lines, "failed: other", "1 passed, 1 failed, 2 skipped"]


def test_a_changed_crate_whose_tests_are_not_built_fails(check, monkeypatch, capsys):
    built = subprocess.CompletedProcess([], 0, stdout="")
    monkeypatch.setattr(check, "crates", lambda: ({"slotwise-of": "engine/crates/of"}, {"slotwise-of": set()}))
    monkeypatch.setattr(check.subprocess, "run", lambda *_, **__: built)
    assert not check.test_crates(["engine/crates/of/src/lib.rs"])
    assert "no tests of slotwise-of were built" in capsys.readouterr().out


def test_an_artifact_of_each_module_is_known_to_the_others(check, monkeypatch):
    asked = []
    monkeypatch.setattr(check, "command", lambda *words, **_: asked.append(words) or True)
    check.test_modules(["controller/rest/src/main/java/org/slotwise/rest/Links.java"])
    (words,) = asked
    assert words[words.index("--projects") + 1] == "onos-app,p4runtime,rest,standalone,systems"
    check.test_modules(["controller/pom.xml"])
    assert "core,onos-app,p4runtime,rest,standalone,systems" in asked[1]
