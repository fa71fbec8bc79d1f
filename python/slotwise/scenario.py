# SPDX-License-Identifier: Apache-2.0
"""Scenario files, read and checked by the engine's command; this module does not interpret them."""

import json
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from slotwise.errors import InvalidArgument, SlotwiseError
from slotwise.tools import command, home

Json = dict[str, Any]
"""A scenario, or a part of one."""

LINE_WIDTH = 140
MOST_SHOWN = 20
"""Number of problems in a message; further ones are only counted, as in the engine."""
INPUT = "/dev/stdin"
KINDS_OF_FLOW = ("udp", "web", "gtp")
"""Keys of an entry of `flows` that replace the TCP stream, each with separate keys."""


class Problem(NamedTuple):
    """A problem of a scenario."""

    pointer: str
    """JSON pointer to the place; empty for the whole file."""
    problem: str
    expected: str = ""
    """Expected value; empty if `problem` has it."""
    place: str = ""
    """File and line of the Python program, or line of the scenario file; empty if neither is known."""

    @property
    def reason(self) -> str:
        """The problem and the expected value."""
        return f"{self.problem}; expected {self.expected}" if self.expected else self.problem

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.reason}" + (f" ({self.place})" if self.place else "")


class ScenarioError(SlotwiseError):
    """A file or dictionary that is not a valid scenario; `problems` lists all problems."""

    def __init__(self, source: str, problems: list[Problem]):
        shown = [f"{source}: {problem}" for problem in problems[:MOST_SHOWN]]
        more = len(problems) - MOST_SHOWN
        super().__init__("\n".join(shown + ([f"{source}: and {more} more problems"] if more > 0 else [])))
        self.problems = problems


class CheckFailed(SlotwiseError):
    """A check that ended without a result."""


def load(path: str | Path) -> Json:
    """Returns the plain form of a scenario file: quantities, ranges and defaults are as the schema has them. Raises ScenarioError with every
    problem, OSError, CheckFailed, or home.CommandNotFound."""
    with open(path, "rb"), TemporaryDirectory() as directory:
        plain = Path(directory, "plain.json")
        found = problems(str(path), "--plain", str(plain))
        if found:
            raise ScenarioError(str(path), found)
        return json.loads(plain.read_text())


def check(
    document: Json, source: str = "scenario", target: str | None = None, directory: str | Path | None = None
) -> Json:
    """Returns `document` if the engine accepts it, for runs on `target` if given; `directory` has the files of its workloads. Raises
    ScenarioError with every problem, InvalidArgument, CheckFailed, or home.CommandNotFound."""
    # Lines of the generated text mean nothing to users.
    options = [] if target is None else ["--target", target]
    options += [] if directory is None else data(document, directory)
    found = [problem._replace(place="") for problem in problems(INPUT, *options, text=as_json(document, source))]
    if found:
        raise ScenarioError(source, found)
    return document


def data(document: Json, directory: str | Path) -> list[str]:
    """Returns the option for files of workloads in a directory, for a scenario that has workloads."""
    return ["--data", str(directory)] if "workloads" in document else []


def problems(file: str, *options: str, text: str | None = None) -> list[Problem]:
    """Returns the problems that `slotwise check` finds in a file, or in `text`. Raises CheckFailed, or home.CommandNotFound."""
    ended = command.check(file, "--json", *options, text=text)
    try:
        listed = json.loads(ended.output)["problems"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckFailed(f"slotwise check {ended.how}: {ended.reason}") from error
    return [
        Problem(each["pointer"], each["problem"], each["expected"], f"line {each['line']}" if each["line"] else "")
        for each in listed
    ]


def as_json(document: Json, source: str = "scenario") -> str:
    """Returns the text of a scenario for the engine; JSON is YAML. Raises InvalidArgument."""
    try:
        return json.dumps(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{source}: {error}; expected dictionaries, lists, texts and numbers") from error


def placed(document: Json, directory: Path) -> Json:
    """Scenario of this directory with absolute paths of its custom schedulers, for use in any other directory."""
    if "schedulers" not in document:
        return document
    own = {}
    for name, entry in document["schedulers"].items():
        key = "jar" if "jar" in entry else "directory"
        own[name] = {**entry, key: str(directory / entry.get(key, ""))}
    return {**document, "schedulers": own}


def dump(document: Json, *, compact: bool = False) -> str:
    """Scenario as YAML that all readers interpret alike; `compact` puts lists and mappings that fit on one line."""
    if compact:
        return yaml.dump(document, sort_keys=False, Dumper=_CompactDumper, width=2 * LINE_WIDTH)
    return yaml.dump(document, sort_keys=False, Dumper=_Dumper)


def schema() -> Json:
    """JSON Schema of scenario files. Raises home.HomeNotFound."""
    return json.loads(home.scenario_schema().read_text())


def flow_keys(kind: str | None) -> tuple[list[str], list[str]]:
    """Keys of an entry of `flows` of this kind (one of `KINDS_OF_FLOW`; None for a TCP stream) besides its endpoints, and those within its
    kind, from the schema. Raises home.HomeNotFound."""
    return _flow_keys(home.scenario_schema(), kind)


@lru_cache
def _flow_keys(schema_file: Path, kind: str | None) -> tuple[list[str], list[str]]:
    whole = json.loads(schema_file.read_text())
    keys = whole["properties"]["flows"]["items"]["properties"]
    others = [key for key in keys if key not in ("from", "to", *KINDS_OF_FLOW)]
    return others, list(whole["$defs"][f"flow_{kind}"]["properties"]) if kind else []


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes text that YAML 1.1 or 1.2 could read as another type."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class _CompactDumper(_Dumper):
    """Dumper that puts lists and mappings on one line if they fit, except the document itself."""

    def serialize(self, node: yaml.Node) -> None:
        for part in _parts(node):
            _put_on_lines(part)
        super().serialize(node)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # Text that begins with a letter is a number in neither version; PyYAML quotes words of YAML 1.1 such as `no`.
    style = None if text[:1].isalpha() else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """Keys and values, or elements, of a node."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _put_on_lines(node: yaml.Node) -> None:
    if isinstance(node, yaml.CollectionNode):
        node.flow_style = _length(node) <= LINE_WIDTH
    for part in _parts(node):
        _put_on_lines(part)


def _length(node: yaml.Node) -> int:
    """Approximate number of characters of a node on one line."""
    return len(node.value) if isinstance(node, yaml.ScalarNode) else sum(2 + _length(part) for part in _parts(node))


_Dumper.add_representer(str, _text)
