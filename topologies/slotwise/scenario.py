# SPDX-License-Identifier: Apache-2.0
"""Scenario files: reading, checking against the JSON Schema, and the facts that follow from numbers.

What the schema cannot say (a guard shorter than its slot, endpoints that exist ...) is checked by the engine when it
loads the file.
"""
import difflib
import ipaddress
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import jsonschema
import yaml

from slotwise import home
from slotwise.errors import SlotwiseError

MAX_FILE_BYTES = 1 << 20


class Problem(NamedTuple):
    """One thing that is wrong with a scenario."""

    pointer: str
    """JSON pointer to the place; empty for the whole file."""
    reason: str
    """What is wrong and what would be right."""
    place: str = ""
    """File and line of the program that said so; empty if it comes from a scenario file."""

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.reason}" + (f" ({self.place})" if self.place else "")


class ScenarioError(SlotwiseError):
    """A file, or what a program put together, is not a scenario; `problems` is everything that is wrong with it."""

    def __init__(self, source: str, problems: list[Problem]):
        super().__init__("\n".join(f"{source}: {problem}" for problem in problems))
        self.problems = problems


class HostId(NamedTuple):
    """The `index`-th host of an edge, from 0."""

    edge: int
    index: int

    @property
    def name(self) -> str:
        return f"h{self.edge}_{self.index}"

    @property
    def ip(self) -> str:
        """Address in 10.0.0.0/8, which all hosts share."""
        return str(ipaddress.IPv4Address((10 << 24) | (self.edge << 8) | (self.index + 1)))

    @property
    def mac(self) -> str:
        octets = (0x02, 0x00, self.edge >> 8, self.edge & 0xFF, 0x00, self.index + 1)
        return ":".join(f"{octet:02x}" for octet in octets)

    @property
    def access_port(self) -> int:
        """Port at the edge, from 1."""
        return self.index + 1


def hosts(scenario: dict) -> list[HostId]:
    """All hosts, by edge and index."""
    return [HostId(edge["id"], index) for edge in scenario["edges"] for index in range(edge["hosts"])]


def load(path: str | Path) -> dict:
    """Reads and checks a scenario file. Raises ScenarioError with every problem, or OSError."""
    source = str(path)
    with open(path, "rb") as file:
        text = file.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise ScenarioError(source, [Problem("", f"longer than {MAX_FILE_BYTES} bytes")])
    try:
        document = yaml.load(text, _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise ScenarioError(source, [Problem("", f"not YAML: {error}")]) from error
    except RecursionError as error:
        raise ScenarioError(source, [Problem("", "nested too deeply")]) from error
    return check(document, source)


def check(document: Any, source: str = "scenario") -> dict:
    """Returns `document` if the schema accepts it; raises ScenarioError with every problem otherwise."""
    errors = sorted(_validator().iter_errors(document), key=lambda error: [str(part) for part in error.absolute_path])
    problems = [problem for error in errors for problem in _problems(error)]
    if problems:
        raise ScenarioError(source, problems)
    return document


def schema() -> dict:
    """The JSON Schema of scenario files. Raises home.HomeNotFound."""
    return json.loads(home.scenario_schema().read_text())


@lru_cache(maxsize=1)
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def _problems(error: jsonschema.ValidationError) -> Iterator[Problem]:
    place = list(error.absolute_path)
    if error.validator != "additionalProperties":
        yield Problem(_pointer(place), error.message)
        return
    known = list(error.schema["properties"])
    for key in error.instance:
        if key not in known:
            nearest = difflib.get_close_matches(str(key), known, n=1, cutoff=0)[0]
            yield Problem(_pointer([*place, key]), f"unknown key '{key}'; the nearest known key is '{nearest}'")


def _pointer(parts: list) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases (a short file could unfold into a huge one) and without repeated keys."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"line {self.peek_event().start_mark.line + 1}: aliases are not supported")
        return super().compose_node(parent, index)

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: a key is there twice")
        return mapping
