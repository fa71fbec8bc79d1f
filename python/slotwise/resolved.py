# SPDX-License-Identifier: Apache-2.0
"""Scenario with derived names, addresses, ports and flows, as the engine hands it over (schema/resolved.schema.json)."""

import json
from pathlib import Path
from typing import Any, NamedTuple, Self

from slotwise import scenario
from slotwise.scenario import CheckFailed, Json, ScenarioError
from slotwise.tools import command


class Phase(NamedTuple):
    """A phase of a run; times are from the start of the run."""

    name: str
    start_ms: int
    stop_ms: int


class Node(NamedTuple):
    """A switch with access ports."""

    name: str
    """Name in Mininet, and first part of its interfaces' names."""
    label: str
    """Name in the scenario."""
    kind: str
    """Type: edge, router, station or ops-edge."""
    number: int
    """Number among the switches of its type."""
    mtu: int
    """Size of the largest IP packet of its hosts."""


class Host(NamedTuple):
    """A host with one interface."""

    name: str
    """Name in the scenario and in reports."""
    node: str
    """Name in Mininet."""
    address: str
    """IPv4 address."""
    prefix: int
    """Prefix length of its subnet."""
    mac: str
    switch: str
    """Name of its switch."""
    port: int
    """Port of the switch."""
    interface: str
    """Interface of the switch at that port."""


class Flow(NamedTuple):
    """A flow from host to host; times are from the start of the run."""

    id: int
    name: str | None
    """Name of a flow over the whole run."""
    phase: int | None
    """Index of its phase; None for a flow over the whole run."""
    entry: int
    """Index in the list `flows` of its phase or of the scenario."""
    source: str
    """Name of the sending host."""
    destination: str
    """Name of the receiving host."""
    start_ms: int
    stop_ms: int
    kind: str
    """Type of traffic: tcp, udp, file, web or gtp."""
    kernel: bool
    """True if programs on Linux hosts generate it in emulation, false if the engine does."""
    port: int | None
    """Port of its server; None if the engine generates it, or if no port is free."""
    options: dict[str, Any]
    """Options of the program that generates it."""


class Resolved(NamedTuple):
    """A scenario with all derived values."""

    name: str
    seed: int
    duration_ms: int
    phases: list[Phase]
    nodes: list[Node]
    hosts: list[Host]
    flows: list[Flow]
    """Flows of the phases in their order, then flows over the whole run."""
    spans: list[str]
    """Names of the links that can be taken down manually."""

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Reads the output of `slotwise check --resolved`. Raises ValueError."""
        try:
            values = json.loads(text)
            names = {"from": "source", "to": "destination"}
            return cls(
                values["name"],
                values["seed"],
                values["duration_ms"],
                [Phase(**each) for each in values["phases"]],
                [Node(**each) for each in values["nodes"]],
                [Host(**each) for each in values["hosts"]],
                [Flow(**{names.get(key, key): value for key, value in each.items()}) for each in values["flows"]],
                values["spans"],
            )
        except (TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"not a resolved scenario: {error!r}; expected the output of --resolved") from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Resolves a scenario file. Raises ScenarioError, OSError, CheckFailed, or home.CommandNotFound."""
        with open(path, "rb"):
            return cls._of(str(path), str(path))

    @classmethod
    def of(cls, document: Json, source: str = "scenario") -> Self:
        """Resolves a scenario. Raises as `load`, and InvalidArgument."""
        return cls._of(scenario.INPUT, source, scenario.as_json(document, source))

    @classmethod
    def _of(cls, file: str, source: str, text: str | None = None) -> Self:
        ended = command.check(file, "--resolved", text=text)
        if ended.status == 0:
            return cls.parse(ended.output)
        if found := scenario.problems(file, text=text):
            raise ScenarioError(source, found if text is None else [each._replace(place="") for each in found])
        raise CheckFailed(f"slotwise check {ended.how}: {ended.reason}")

    def host(self, name: str) -> Host:
        """Returns a host by its name in the scenario."""
        return next(host for host in self.hosts if host.name == name)
