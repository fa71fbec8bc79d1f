# SPDX-License-Identifier: Apache-2.0
"""Snippets of documentation: fenced blocks with what a comment before them says of how they are run.

    <!-- not run: REASON -->            it cannot run in the tests; its commands' options and files are looked at all the same
    <!-- needs: PROGRAM -->             it is run where this program is on the PATH
    <!-- shortened: ARGUMENTS -->       added to every `slotwise` command of the block
    <!-- with: switch PROGRAM -->       a `slotwise switch` with PROGRAM of p4src listens on port 9559 meanwhile
    <!-- with: ..., p4runtime-shell --> and Python is that of build/venv-shell
    <!-- file: NAME -->                 it is the content of a file that later blocks of the page use
    <!-- same as: PATH -->              it is a part of this file of the repository

Blocks of a page run in one directory, in their order.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LANGUAGES = {"sh", "python", "yaml", "json", "java", "p4", "stf", "text"}
MARK = re.compile(r"<!-- (not run|needs|shortened|with|file|same as): (.+?) -->")
OUTSIDE = {"build", "run", "target", "node_modules", ".git"}


class Snippet(NamedTuple):
    """One block."""

    page: Path
    line: int
    language: str
    marks: dict[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages(root: Path) -> list[Path]:
    """Every page of the documentation, relative to the repository."""
    found = (path.relative_to(root) for path in root.rglob("*.md"))
    return sorted(path for path in found if not OUTSIDE & set(path.parts))


def snippets(root: Path, page: Path) -> Iterator[Snippet]:
    """The blocks of a page."""
    lines = (root / page).read_text().splitlines()
    number = 0
    while number < len(lines):
        if not lines[number].startswith("```"):
            number += 1
            continue
        first, language = number, lines[number][3:]
        while lines[number := number + 1] != "```":
            pass
        marks = {}
        above = first - 1
        while above >= 0 and (found := MARK.fullmatch(lines[above])):
            marks[found[1]] = found[2]
            above -= 1
        yield Snippet(page, first + 1, language, marks, "\n".join(lines[first + 1 : number]) + "\n")
        number += 1


def commands(text: str) -> list[list[str]]:
    """The words of each `slotwise` command of a shell snippet, from the subcommand on, comments left out."""
    joined = text.replace("\\\n", " ")
    found = re.findall(r"(?:^|\s)(?:\S*/slotwise|slotwise|\$S) ([a-z]+\b[^#\n|>&;]*)", joined)
    return [words.split() for words in found]


def shortened(text: str, more: str) -> str:
    """A shell snippet with the options `more` after each of its `slotwise` commands that does not have them."""
    options = re.findall(r"--\S+(?: [^-\s]\S*)?", more)

    def longer(command: re.Match) -> str:
        added = (option for option in options if option.split()[0] not in command[1].split())
        return " ".join([command[1], *added]) + command[2]

    return re.sub(r"(?m)^((?:\S*/slotwise|slotwise|\$S) [^#\n]*?)(\s*(?:#.*)?)$", longer, text)
