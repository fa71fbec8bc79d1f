# SPDX-License-Identifier: Apache-2.0
"""`scripts/english`: its patterns match what they are for, and its sources still find text in this repository."""

import runpy
import subprocess
from pathlib import PurePath

import pytest

from slotwise.tools import home

ENGLISH = runpy.run_path(str(home.root() / "scripts" / "english"))
METRICS = ENGLISH["METRICS"]
EXAMPLES = {
    "doc-first-word-clause": "What a controller has been told.",
    "is-no": "it is no name of an application",
    "whoever-whatever": "whoever asks gets it",
    "of-which-of-whom": "a peer of which nothing arrives",
    "who-for-a-thing": "those who sent it",
    "nobody-somebody": "nobody listens",
    "that-there-is": "a file that there is",
    "inverted-not": "it says not where",
    "tell-say-hear": "the switch tells it",
    "tell-say-hear-user": "the switch tells it",
    "private-words-user-text": "slots a frame",
    "private-words-docs": "slots a frame",
    "private-words-comments": "slots a frame",
    "anew": "made anew",
    "way-for-path": "the ways of a ring",
    "light-for-link-state": "a port has light",
    "come-go-round": "the link is gone round",
    "one-s-own": "a clock of its own",
    "max-named-most": "const MOST_SLOTS: u32 = 4096;",
    "md-lines-over-120": "word " * 25,
    "md-table-lines-over-240": "| " + "word " * 50 + "|",
    "clause-test-names": "    fn what_comes_late_is_reported() {",
}
GOOD = "Returns the number of slots per frame that the controller has received; another path may exist."
SUFFIXES = {
    "doc_comments": {".rs", ".java", ".ts", ".tsx", ".py"},
    "comments": {".rs", ".p4", ".java", ".ts", ".tsx", ".py", ".yaml"},
    "pages": {".md"},
    "literals": {".rs", ".java", ".ts", ".tsx", ".py"},
    "descriptions": {".json", ".yaml"},
    "arguments": {".rs"},
}


@pytest.mark.parametrize("name", METRICS)
def test_a_pattern_matches_its_example_and_no_plain_english(name):
    assert METRICS[name].pattern.search(EXAMPLES[name])
    assert not METRICS[name].pattern.search(GOOD)


@pytest.mark.parametrize("source", SUFFIXES)
def test_a_source_finds_text_in_files_of_each_kind(source):
    found = ENGLISH["every"](ENGLISH[source])
    assert {PurePath(line.file).suffix for line in found} == SUFFIXES[source]


def test_what_is_left_out_as_generated_exists():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=home.root(), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    left_out = {name for name in listed if ENGLISH["GENERATED"].search(name)}
    for part in ("/dist/", "p4c-out/", "package-lock", "wire/src", "slotwise/wire.py", "docs/scenario.md"):
        assert any(part in name for name in left_out), part


def test_a_new_file_counts_before_git_knows_it(load_script, tmp_path, monkeypatch):
    english = load_script(home.root() / "scripts" / "english")
    monkeypatch.setattr(english, "ROOT", tmp_path)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name, text in {".gitignore": "ignored.md\n", "new.md": "made anew", "ignored.md": "made anew"}.items():
        (tmp_path / name).write_text(text)
    assert [line.file for line in english.METRICS["anew"].found()] == ["new.md"]


def test_only_counts_above_the_baseline_are_complaints():
    above = ENGLISH["above"]
    assert above({"anew": 3, "is-no": 2}, {"anew": 3, "is-no": 5}) == []
    assert above({"anew": 4, "new": 1}, {"anew": 3}) == [
        "anew: 4, baseline 3; scripts/english --show anew lists them",
        "new: 1, baseline 0; scripts/english --show new lists them",
    ]
