# SPDX-License-Identifier: Apache-2.0
"""Files that `scripts/lint` finds, and what its last line and status make of findings and of tools that are missing."""

import subprocess
import sys

import pytest

from slotwise.tools import home

WHY = "no such tool here"


@pytest.fixture
def lint(load_script):
    """scripts/lint as a module."""
    return load_script(home.root() / "scripts" / "lint")


@pytest.mark.parametrize(
    ("first_line", "program"),
    [
        ("#!/bin/sh", "sh"),
        ("#! /bin/sh -e", "sh"),
        ("#!/usr/bin/env bash", "bash"),
        ("#!/usr/bin/python3", "python"),
        ("#!/usr/bin/env -S python3.11 -u", "python"),
        ("#!", ""),
        ("plain text", ""),
        ("", ""),
    ],
)
def test_the_first_line_says_the_program(lint, tmp_path, first_line, program):
    (tmp_path / "script").write_text(f"{first_line}\n")
    assert lint.interpreter(tmp_path / "script") == program


def test_new_files_are_found_and_ignored_or_deleted_ones_are_not(lint, tmp_path, monkeypatch):
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name, text in {
        ".gitignore": "ignored.py\n",
        "added.py": "",
        "deleted.py": "",
        "ignored.py": "",
        "new.sh": "",
        "notes.txt": "#!/bin/sh\n",
        "script": "#!/usr/bin/python3\n",
        "with blank": "#!/bin/sh\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "link.py").symlink_to("added.py")
    subprocess.run(["git", "add", "added.py", "deleted.py", "link.py"], cwd=tmp_path, check=True)
    (tmp_path / "deleted.py").unlink()
    assert lint.sources() == {"python": ["added.py", "script"], "shell": ["new.sh", "with blank"]}


def ended(lint, monkeypatch, capsys, linters, *names) -> tuple[int, list[str]]:
    """Status and printed lines of a run with these linters."""
    monkeypatch.setattr(lint, "linters", lambda: linters)
    monkeypatch.setattr(sys, "argv", ["lint", *names])
    status = lint.main()
    return status, capsys.readouterr().out.splitlines()


def test_findings_are_named_and_fail(lint, monkeypatch, capsys):
    linters = [lint.Linter("clean", ["true"]), lint.Linter("dirty", ["false"])]
    status, lines = ended(lint, monkeypatch, capsys, linters)
    assert (status, lines[-1]) == (1, "1 passed, 1 failed (dirty), 0 not run")
    assert ended(lint, monkeypatch, capsys, linters, "clean")[0] == 0


def test_a_linter_that_is_left_out_does_not_run(lint, monkeypatch, capsys):
    linters = [lint.Linter("clean", ["true"]), lint.Linter("dirty", ["false"])]
    status, lines = ended(lint, monkeypatch, capsys, linters, "--without", "dirty")
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 not run")


@pytest.mark.parametrize("says_itself", [False, True])
def test_a_missing_tool_is_not_run_and_fails_if_named(lint, monkeypatch, capsys, says_itself):
    line = f"not run: tool: {WHY}"
    tool = lint.Linter("tool", ["echo", line]) if says_itself else lint.Linter("tool", ["false"], missing=WHY)
    status, lines = ended(lint, monkeypatch, capsys, [tool])
    assert (status, lines[-1]) == (0, "0 passed, 0 failed, 1 not run")
    assert line in lines
    status, lines = ended(lint, monkeypatch, capsys, [tool], "tool")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed (tool), 0 not run")


@pytest.mark.parametrize("words", [["klean"], ["--without", "klean"]])
def test_an_unknown_name_is_refused_with_those_there_are(lint, monkeypatch, capsys, words):
    monkeypatch.setattr(lint, "linters", lambda: [lint.Linter("clean", ["true"])])
    monkeypatch.setattr(sys, "argv", ["lint", *words])
    with pytest.raises(SystemExit) as end:
        lint.main()
    assert end.value.code == 2
    assert "unknown linter 'klean'; expected one of: clean" in capsys.readouterr().err
