# SPDX-License-Identifier: Apache-2.0
"""Scenario files: reading, checking against the JSON Schema, and derived names and addresses.

The engine checks consistency beyond the schema (a guard time shorter than its slot, endpoints that exist ...) when it
loads a file.
"""

import difflib
import ipaddress
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jsonschema
import yaml
from jsonschema.protocols import Validator

from slotwise import limits
from slotwise.errors import SlotwiseError
from slotwise.tools import command, home

MAX_FILE_BYTES = limits.FILE_BYTES[1]
LINE_WIDTH = 140


class Problem(NamedTuple):
    """A problem of a scenario."""

    pointer: str
    """JSON pointer to the place; empty for the whole file."""
    reason: str
    """The problem and the expected value."""
    place: str = ""
    """File and line of the Python program, or line of the scenario file; empty if neither is known."""

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.reason}" + (f" ({self.place})" if self.place else "")


MOST_SHOWN = 20
"""Number of problems in a message; further ones are only counted, as in the engine."""


class ScenarioError(SlotwiseError):
    """A file or dictionary that is not a valid scenario; `problems` lists all problems."""

    def __init__(self, source: str, problems: list[Problem]):
        shown = [f"{source}: {problem}" for problem in problems[:MOST_SHOWN]]
        more = len(problems) - MOST_SHOWN
        super().__init__("\n".join(shown + ([f"{source}: and {more} more problems"] if more > 0 else [])))
        self.problems = problems


class HostId(NamedTuple):
    """The `index`-th host of an edge, from 0."""

    edge: int
    index: int

    @property
    def name(self) -> str:
        return f"h{self.edge}_{self.index}"

    @property
    def node(self) -> str:
        """Name of the Mininet node."""
        return self.name

    @property
    def switch(self) -> str:
        """Name of the edge's Mininet node, with interfaces `e<edge>-eth<access port>`."""
        return f"e{self.edge}"

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


class RoutedHost(NamedTuple):
    """A host of a router, a ring station or an OPS edge, by its number over all groups, from 0."""

    number: int
    name: str
    switch: str
    """Name of the switch's Mininet node, `r<router>`, `s<station>` or `o<edge>`, with interfaces `<switch>-eth<port>`."""
    access_port: int
    """Port of the switch; of a router after those to its neighbours."""

    @property
    def node(self) -> str:
        """Name of the Mininet node, short because interface names must be."""
        return f"h{self.number}"

    @property
    def ip(self) -> str:
        """Address in 10.0.0.0/8, which all hosts share, from 10.1.0.1 on."""
        return str(ipaddress.IPv4Address(0x0A010001 + self.number))

    @property
    def mac(self) -> str:
        return (0x02FC_0000_0000 + self.number).to_bytes(6, "big").hex(":")


def routed_hosts(scenario: dict) -> list[RoutedHost]:
    """All hosts of routers, ring stations and OPS edges, ordered by group and index."""
    routers = scenario.get("routers", [])
    neighbours: dict[str, set] = {router: set() for router in routers}
    for link in scenario.get("links", []):
        # An edge at an end has its ports elsewhere.
        neighbours.setdefault(link["from"], set()).add(link["to"])
        neighbours.setdefault(link["to"], set()).add(link["from"])
    nodes = {"r": routers, "s": stations(scenario), "o": ops_edges(scenario)}
    next_port = {f"{letter}{number}": 1 for letter, names in nodes.items() for number in range(len(names))}
    next_port |= {f"r{number}": len(neighbours[router]) + 1 for number, router in enumerate(routers)}
    found = []
    for group in groups(scenario):
        letter, names = next((letter, names) for letter, names in nodes.items() if group["at"] in names)
        switch = f"{letter}{names.index(group['at'])}"
        for index in range(group["count"]):
            found.append(RoutedHost(len(found), f"{group['name']}.{index}", switch, next_port[switch]))
            next_port[switch] += 1
    return found


def stations(scenario: dict) -> list[str]:
    """Names of the ring stations along ringlet 0."""
    listed = scenario.get("ring", {}).get("stations", [])
    return [station["name"] if isinstance(station, dict) else station for station in listed]


def ops_edges(scenario: dict) -> list[str]:
    """Names of the OPS edges, ordered by number."""
    ops = scenario.get("ops", {})
    edges = ops.get("edges", [])
    if isinstance(edges, dict):
        return [f"e{number}" for number in range(edges["edges_per_switch"] * len(ops["switches"]))]
    return [edge["name"] for edge in edges]


def _ops_spans(scenario: dict) -> list[str]:
    """Names of the fibres of optical packet switches, or between edges; the second one of an edge pair ends with `-2`."""
    ops = scenario.get("ops", {})
    edges = ops.get("edges", [])
    if ops and not ops.get("switches"):
        pairs = [link["between"] for link in ops["links"]]
        second = ["-2" if sorted(pair) in map(sorted, pairs[:index]) else "" for index, pair in enumerate(pairs)]
        return ["-".join(pair) + number for pair, number in zip(pairs, second, strict=True)]
    homes = (
        [edge["switch"] for edge in edges]
        if isinstance(edges, list)
        else [name for name in ops["switches"] for _ in range(edges["edges_per_switch"])]
    )
    links = ["-".join(link["between"]) for link in ops.get("links", [])]
    return links + [f"{edge}-{switch}" for edge, switch in zip(ops_edges(scenario), homes, strict=True)]


def groups(scenario: dict) -> list[dict]:
    """Groups of hosts at routers, ring stations or OPS edges."""
    listed = scenario["hosts"]
    return listed if isinstance(listed, list) else listed.get("groups", [])


def hosts(scenario: dict) -> list[HostId]:
    """All hosts of edges, ordered by edge and index."""
    return [HostId(edge["id"], index) for edge in scenario.get("edges", []) for index in range(edge["hosts"])]


def fibre_names(scenario: dict) -> list[str]:
    """Names of links that can be taken down manually: fibre pairs, router links, ring spans, and fibres of optical packet switches."""
    ring = stations(scenario)
    ends = zip(ring, ring[1:] if scenario.get("ring", {}).get("open") else [*ring[1:], *ring[:1]], strict=False)
    fibres = [f"edge{edge['id']}-core{fibre['core']}" for edge in scenario.get("edges", []) for fibre in edge["fibres"]]
    return (
        fibres
        + [link["name"] for link in scenario.get("links", [])]
        + [f"{here}-{there}" for here, there in ends]
        + _ops_spans(scenario)
    )


PROBLEM = re.compile(r"(?:(line [0-9]+): )?(/\S*): (.+)")
"""Problem in the engine's output, on a line after one with the file's name."""


def load(path: str | Path) -> dict:
    """Reads and checks a scenario file. Returns its plain form: what only the engine's command reads (quantities with units, ranges, defaults)
    is as the schema has it. Raises ScenarioError with every problem, or OSError."""
    source = str(path)
    with open(path, "rb") as file:
        text = file.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise ScenarioError(source, [Problem("", f"longer than {MAX_FILE_BYTES} bytes; expected a shorter file")])
    try:
        document = yaml.load(text, _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise ScenarioError(source, [Problem("", f"not YAML: {error}")]) from error
    try:
        return check(document, source)
    except ScenarioError as error:
        # A command of another version may succeed without the file.
        with suppress(home.CommandNotFound, FileNotFoundError):
            return _plain(path)
        lines = dict(_lines(yaml.compose(text, _Loader)))
        raise ScenarioError(
            source, [problem._replace(place=_place(problem.pointer, lines)) for problem in error.problems]
        ) from None


def _plain(path: str | Path) -> dict:
    """Plain form of a scenario file, from the engine's command. Raises ScenarioError, or home.CommandNotFound."""
    ended, plain = command.plain(str(path))
    if ended.status == 0:
        return check(json.loads(plain), str(path))
    found = list(filter(None, map(PROBLEM.fullmatch, ended.said)))
    problems = [Problem("" if match[2] == "/" else match[2], match[3], match[1] or "") for match in found]
    raise ScenarioError(str(path), problems or [Problem("", ended.reason)])


def check(document: Any, source: str = "scenario") -> dict:
    """Returns `document` if the schema accepts it; raises ScenarioError with every problem otherwise."""
    if problems := _refused(document) or list(_unknown_schedulers(document)):
        raise ScenarioError(source, problems)
    return document


def _refused(document: Any) -> list[Problem]:
    """Problems found by the schema."""
    errors = sorted(
        _validator(home.scenario_schema()).iter_errors(document),
        key=lambda error: [str(part) for part in error.absolute_path],
    )
    return [problem for error in _without_surplus(errors) for nearer in _nearer(error) for problem in _problems(nearer)]


def _without_surplus(errors: list[jsonschema.ValidationError]) -> list[jsonschema.ValidationError]:
    """Errors without those of surplus entries of a list that is too long."""
    bounds = {tuple(error.absolute_path): error.validator_value for error in errors if error.validator == "maxItems"}

    def is_surplus(error: jsonschema.ValidationError) -> bool:
        place = tuple(error.absolute_path)
        return any(
            bounds.get(place[:length], place[length] + 1) <= place[length]
            for length in range(len(place))
            if isinstance(place[length], int)
        )

    return [error for error in errors if not is_surplus(error)]


def _nearer(error: jsonschema.ValidationError) -> list[jsonschema.ValidationError]:
    """Errors of the only alternative that matches the type of a value, if there is one, in place of the error of the value."""
    if error.validator not in ("oneOf", "anyOf"):
        return [error]
    forms: dict[int, list[jsonschema.ValidationError]] = {}
    for inner in error.context:
        forms.setdefault(inner.schema_path[0], []).append(inner)
    of_this_form = [
        inners
        for inners in forms.values()
        if not any(inner.validator in ("type", "enum", "const") and not inner.relative_path for inner in inners)
    ]
    if len(of_this_form) != 1:
        return [error]
    return [nearer for inner in of_this_form[0] for nearer in _nearer(inner)]


def _unknown_schedulers(document: dict) -> Iterator[Problem]:
    """Problems of scheduler names that are neither built in nor in `schedulers`; the schema checks only their form."""
    known = [*schema()["$defs"]["scheduler"]["then"]["anyOf"][0]["enum"], *document.get("schedulers", {})]
    if "cores" not in document:
        return
    choices = [("/controller/scheduler", document["controller"]["scheduler"])]
    changes = enumerate(document.get("changes", []))
    choices += [
        (f"/changes/{index}/scheduler", change["scheduler"]) for index, change in changes if "scheduler" in change
    ]
    for place, choice in choices:
        name = choice["name"] if isinstance(choice, dict) else choice
        if name not in known:
            where = f"{place}/name" if isinstance(choice, dict) else place
            yield Problem(where, f"unknown scheduler '{name}'; expected one of {', '.join(known)}")


def placed(document: dict, directory: Path) -> dict:
    """Scenario of this directory with absolute paths of its custom schedulers, for use in any other directory."""
    if "schedulers" not in document:
        return document
    own = {}
    for name, entry in document["schedulers"].items():
        key = "jar" if "jar" in entry else "directory"
        own[name] = {**entry, key: str(directory / entry.get(key, ""))}
    return {**document, "schedulers": own}


def dump(document: dict, *, compact: bool = False) -> str:
    """Scenario as YAML that all readers interpret alike; `compact` puts lists and mappings that fit on one line."""
    style = {"Dumper": _CompactDumper, "width": 2 * LINE_WIDTH} if compact else {"Dumper": _Dumper}
    return yaml.dump(document, sort_keys=False, **style)


def value(written: str) -> Any:
    """Parses a value with the syntax of a scenario: 12, 1.5, true, text, [1, 2], {a: 1}. Raises ValueError."""
    try:
        return yaml.load(written, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{written!r}: not a scenario value: {' '.join(str(error).split())}") from error


def schema() -> dict:
    """JSON Schema of scenario files. Raises home.HomeNotFound."""
    return json.loads(home.scenario_schema().read_text())


KINDS_OF_FLOW = ("udp", "web", "gtp")
"""Keys of an entry of `flows` that replace the TCP stream, each with separate keys."""


def flow_keys(kind: str | None) -> tuple[list[str], list[str]]:
    """Keys of an entry of `flows` of this kind (one of `KINDS_OF_FLOW`; None for a TCP stream) besides its endpoints, and those within its
    kind, from the schema. Raises home.HomeNotFound."""
    return _flow_keys(home.scenario_schema(), kind)


@lru_cache
def _flow_keys(schema_file: Path, kind: str | None) -> tuple[list[str], list[str]]:
    whole = json.loads(schema_file.read_text())
    entry = whole["properties"]["flows"]["items"]
    validator = jsonschema.Draft202012Validator({"$defs": whole["$defs"], **entry})
    least = {"name": "a", "from": "b", "to": "c"} | ({kind: {}} if kind else {})
    others = [key for key in entry["properties"] if key not in ("from", "to", *KINDS_OF_FLOW)]

    def fits(key: str) -> bool:
        return not any(
            error.validator == "not" and list(error.path) == [key] for error in validator.iter_errors({**least, key: 0})
        )

    return [key for key in others if fits(key)], list(whole["$defs"][f"flow_{kind}"]["properties"]) if kind else []


@lru_cache
def _validator(schema_file: Path) -> Validator:
    # To the engine 1e9 is no integer, whatever its value.
    types = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer",
        lambda _, value: isinstance(value, int) and not isinstance(value, bool),
    )
    validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _matches}, type_checker=types)
    return validator(json.loads(schema_file.read_text()))


def _matches(
    validator: Validator, pattern: str, instance: object, _schema: dict
) -> Iterator[jsonschema.ValidationError]:
    # To JSON Schema `$` is the end of the text, to Python also what is before its last newline.
    if validator.is_type(instance, "string") and not re.search(pattern.replace("$", r"\Z"), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


MADE_BY = {"flows": "tcp, udp, web or gtp", "routers": "node", "links": "link"}
"""Python methods that add to lists that cannot be empty."""
NO_FLOWS_IN_A_STAR = (
    "'flows' beside 'phases' need host groups, which a star without routers does not have; expected 'flows' in 'phases' (in Python traffic, tcp, udp, web, "
    "file), or routers linked to an edge of the star"
)


def _problems(error: jsonschema.ValidationError) -> Iterator[Problem]:
    place = list(error.absolute_path)
    if error.validator == "not" and not error.validator_value:
        yield Problem(
            _pointer(place), NO_FLOWS_IN_A_STAR if place == ["flows"] else "not allowed in this type of network"
        )
        return
    if error.validator == "minItems" and len(place) == 1 and place[0] in MADE_BY:
        yield Problem(_pointer(place), f"no {place[0]}; expected at least one (in Python: {MADE_BY[place[0]]})")
        return
    if error.validator == "maxItems":
        yield Problem(_pointer(place), f"{len(error.instance)} entries; expected at most {error.validator_value}")
        return
    if error.validator in ("anyOf", "oneOf"):
        yield from _of_forms(error)
        return
    if error.validator != "additionalProperties":
        yield Problem(_pointer(place), error.message + _hint(error))
        return
    known = list(error.schema["properties"])
    for key in error.instance:
        if key == "kind" and not place and error.instance[key] == "routed":
            yield Problem(
                "/kind", "'kind' was removed; expected no 'kind': the network type follows from the sections present"
            )
        elif key not in known:
            nearest = difflib.get_close_matches(str(key), known, n=1, cutoff=0)[0]
            yield Problem(_pointer([*place, key]), f"unknown key '{key}'; expected '{nearest}' (closest key)")


def _of_forms(error: jsonschema.ValidationError) -> Iterator[Problem]:
    """Problems of the only alternative that matches a value, else one problem with all alternatives."""
    forms: dict[int, list] = {}
    for inner in error.context:
        forms.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        inner
        for inner in forms.values()
        if not any(not each.path and each.validator in ("type", "enum", "const") for each in inner)
    ]
    if len(fitting) > 1:
        # Of changes only one kind has its key.
        whole = [
            inner for inner in fitting if not any(not each.path and each.validator == "required" for each in inner)
        ]
        fitting = whole if len(whole) == 1 else fitting
    if len(fitting) == 1:
        for inner in fitting[0]:
            yield from _problems(inner)
        return
    place, choices = _pointer(list(error.absolute_path)), error.validator_value
    if all(set(choice) == {"required"} for choice in choices):
        yield Problem(
            place, "expected one of the keys " + ", ".join(key for choice in choices for key in choice["required"])
        )
    elif all("enum" in choice or "type" in choice for choice in choices):
        yield Problem(place, f"invalid value {error.instance!r}; expected {' or '.join(map(_form, choices))}")
    else:
        yield Problem(place, error.message)


def _form(schema_of: dict) -> str:
    """Text of an alternative."""
    if "enum" in schema_of:
        return " or ".join(map(str, schema_of["enum"]))
    words = {
        "object": "keys with values",
        "array": "a list",
        "string": "text",
        "integer": "an integer",
        "number": "a number",
    }
    between = (
        f" from {schema_of['minimum']} to {schema_of['maximum']}" if {"minimum", "maximum"} <= schema_of.keys() else ""
    )
    return words[schema_of["type"]] + between


def _hint(error: jsonschema.ValidationError) -> str:
    """Value to write in place of one of the wrong type."""
    if error.validator != "type":
        return ""
    if error.validator_value == "boolean":
        return "; write true or false"
    if error.validator_value == "integer":
        with suppress(ValueError, OverflowError):
            meant = float(str(error.instance).replace("_", ""))
            if meant == int(meant):
                return f"; write {int(meant)}"
    return ""


def _pointer(parts: list) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _lines(node: yaml.Node, pointer: str = "") -> Iterator[tuple[str, int]]:
    """JSON pointer and line, from 1, of each key and element of a document."""
    if isinstance(node, yaml.MappingNode):
        parts = [(_pointer([key.value]), key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    elif isinstance(node, yaml.SequenceNode):
        parts = [(_pointer([index]), value, value) for index, value in enumerate(node.value)]
    else:
        return
    for part, first, value in parts:
        yield pointer + part, first.start_mark.line + 1
        yield from _lines(value, pointer + part)


def _place(pointer: str, lines: dict[str, int]) -> str:
    """Line of a place, or of the closest one that contains it."""
    while pointer and pointer not in lines:
        pointer = pointer.rpartition("/")[0]
    return f"line {lines[pointer]}" if pointer else ""


# Words that stand for something else than text, as the engine reads them. PyYAML's own are of YAML 1.1, where `no` is a boolean, 1_000
# an integer and 1e9 a text.
WORDS = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)", "-+0123456789"),
    "float": (
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
}


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases (a short file could unfold into a huge one) and without repeated keys."""

    yaml_implicit_resolvers: ClassVar[dict] = {}
    _depth = 0

    def compose_node(self, parent, index):
        line = self.peek_event().start_mark.line + 1
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"line {line}: aliases are not supported")
        if self.peek_event().tag is not None:
            raise yaml.YAMLError(f"line {line}: tags are not supported")
        if not self.check_event(yaml.CollectionStartEvent):
            return super().compose_node(parent, index)
        if self._depth == limits.DEPTH[1]:
            raise yaml.YAMLError(f"line {line}: nested too deeply; expected at most {limits.DEPTH[1]} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: duplicate key")
        return mapping

    def construct_integer(self, node) -> int:
        """Parses an integer with the prefixes 0x, 0o and 0b, without underscores."""
        return int(self.construct_scalar(node), 0)


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes text that YAML 1.1 or 1.2 would read as another type."""

    def ignore_aliases(self, data) -> bool:
        return True


class _CompactDumper(_Dumper):
    """Dumper that puts lists and mappings on one line if they fit, except the document itself."""

    def serialize(self, node):
        for part in _parts(node):
            _put_on_lines(part)
        super().serialize(node)


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """Keys and values, or elements, of a node."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _put_on_lines(node: yaml.Node) -> None:
    if not isinstance(node, yaml.ScalarNode):
        node.flow_style = _length(node) <= LINE_WIDTH
    for part in _parts(node):
        _put_on_lines(part)


def _length(node: yaml.Node) -> int:
    """Approximate number of characters of a node on one line."""
    return len(node.value) if isinstance(node, yaml.ScalarNode) else sum(2 + _length(part) for part in _parts(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)
for _kind, (_pattern, _first) in WORDS.items():
    for _class in (_Loader, _Dumper):
        _starts = [letter if letter != "\0" else "" for letter in _first]
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), _starts)
