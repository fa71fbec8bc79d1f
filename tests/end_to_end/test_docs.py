# SPDX-License-Identifier: Apache-2.0
"""Every snippet of the documentation is run, or says why it is not; what it names is there in either case."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from chain import read_until, spawn
from slotwise import scenario
from slotwise.tools import home
from snippets import LANGUAGES, Snippet, commands, pages, shortened, snippets

ROOT = home.root()
SLOTWISE = home.slotwise_command()
PAGES = pages(ROOT)
ALL = [snippet for page in PAGES for snippet in snippets(ROOT, page)]
SHELL = [snippet for snippet in ALL if snippet.language == "sh"]
TIMEOUT_S = 600


@pytest.mark.parametrize("snippet", ALL, ids=str)
def test_a_snippet_says_what_it_is(snippet):
    assert snippet.language in LANGUAGES
    assert set(snippet.marks) <= {"not run", "needs", "shortened", "with", "file", "same as"}


def command_of(words: list[str]) -> tuple[str, ...]:
    """The subcommand of a command line; `line-card`, `gtp`, `new`, `tunnel` and `workload` have their own."""
    return tuple(words[:2] if words[0] in ("line-card", "gtp", "new", "tunnel", "workload") else words[:1])


@pytest.fixture(scope="module")
def options() -> dict[tuple[str, ...], str]:
    """What each subcommand says of itself."""
    helped = {}
    for command in {command_of(words) for snippet in SHELL for words in commands(snippet.text)}:
        result = subprocess.run([SLOTWISE, *command, "--help"], capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"there is no `slotwise {' '.join(command)}`"
        helped[command] = result.stdout
    return helped


@pytest.mark.parametrize("snippet", SHELL, ids=str)
def test_options_and_files_of_commands_are_there(snippet, options):
    for words in commands(snippet.text):
        own = words[: words.index("--")] if "--" in words else words
        for word in own:
            if word.startswith("--"):
                assert re.search(rf"{re.escape(word.split('=')[0])}\b", options[command_of(own)]), (
                    f"slotwise {' '.join(command_of(own))} has no {word}"
                )
    for path in re.findall(
        r"(?<![\w./-])((?:topologies|experiments|p4src|scripts|schema|engine/client-tests|ptf-tests)/[\w./-]+)",
        snippet.text,
    ):
        assert (ROOT / path).exists() or "p4c-out" in path, f"{path} is not there"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"(?s)```.*?\n```|`[^`\n]*`", "", (ROOT / page).read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, place = target.partition("#")
        file = (ROOT / page.parent / path).resolve() if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if place and file.suffix == ".md":
            headings = re.findall(r"(?m)^#+ (.*)$", file.read_text())
            assert place in map(anchor, headings), f"{page}: {target}"


def anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.nightly
@pytest.mark.parametrize("page", [page for page in PAGES if any(snippets(ROOT, page))], ids=str)
def test_snippets_of_a_page_do_what_they_say(page, tmp_path):
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "run"):
            (tmp_path / entry.name).symlink_to(entry)
    left_out = []
    for snippet in snippets(ROOT, page):
        if "not run" in snippet.marks:
            continue
        if not shutil.which(needed := snippet.marks.get("needs", "sh")):
            left_out.append(f"{snippet}: {needed} is not on the PATH")
            continue
        with ExitStack() as stack:
            run(snippet, tmp_path, stack)
    # All others did what they say.
    if left_out:
        pytest.skip("; ".join(left_out))


def run(snippet: Snippet, place: Path, stack: ExitStack) -> None:
    """Does what a snippet's language asks for."""
    text, marks = snippet.text, snippet.marks
    if "same as" in marks:
        assert text in (ROOT / marks["same as"]).read_text(), f"{snippet} is not a part of {marks['same as']}"
    elif "file" in marks:
        (place / marks["file"]).write_text(text)
    elif snippet.language == "sh":
        succeed(snippet, ["bash", "-euo", "pipefail", "-c", shortened(text, marks.get("shortened", ""))], place)
    elif snippet.language == "python":
        given = [word.strip() for word in marks.get("with", "").split(",")]
        if given[0].startswith("switch "):
            program = ROOT / "p4src" / "p4c-out" / given[0].removeprefix("switch ")
            switch = spawn(stack, SLOTWISE, "switch", f"{program}.json", "--p4info", f"{program}.p4info.txtpb")
            read_until(switch, "ready")
        venv = "venv-shell" if "p4runtime-shell" in given else "venv"
        interpreter = ROOT / "build" / venv / "bin" / "python"
        assert interpreter.exists(), f"build/{venv} is not there: engine/client-tests/run makes it"
        succeed(snippet, [str(interpreter), "-c", text], place)
    elif snippet.language == "yaml":
        accepted(yaml.safe_load(text))
    elif snippet.language == "json":
        json.loads(text)
    else:
        assert snippet.language == "text", f"{snippet}: no test knows what to do with it"


def succeed(snippet: Snippet, command: list[str], place: Path) -> None:
    """Runs a command like a reader: the clone's own programs come first on the PATH."""
    programs = place / ".bin"
    if not programs.exists():
        programs.mkdir()
        (programs / "slotwise").symlink_to(SLOTWISE)
        (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (programs / "sudo").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    path = f"{programs}:{ROOT / 'build' / 'venv' / 'bin'}:{kept['PATH']}"
    with subprocess.Popen(
        command,
        cwd=place,
        env=kept | {"PATH": path, "SLOTWISE_HOME": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, f"{snippet}: status {process.returncode}\n{output}"


def accepted(part: dict | list) -> None:
    """Checks a scenario, or a part of one put into a whole."""
    examples = ROOT / "schema" / "examples" / "valid"
    whole = scenario.load(examples / "every-key.yaml")
    if isinstance(part, list) and "name" in part[0]:
        part = {"flows": part}
    if "flows" in part and "version" not in part:
        whole = scenario.load(examples / "routers.yaml") | part
    elif isinstance(part, list):
        whole["phases"][0]["flows"] = part
    elif "version" in part:
        whole = part
    else:
        whole = copy.deepcopy(whole) | part
    scenario.check(whole)
