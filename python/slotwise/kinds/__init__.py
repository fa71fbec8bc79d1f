# SPDX-License-Identifier: Apache-2.0
"""Network types, a class each: its arguments, and the names of its nodes."""

import inspect
from collections.abc import Callable
from typing import Any, TypeGuard

from slotwise.errors import InvalidArgument, UnknownArgument
from slotwise.scenario import Json

MOST_NODES = 1_024
"""Limit on nodes of one type, far above the schema's: a wrong number would exhaust memory before the engine rejects it."""


def refuse(unknown: Json, builder: Callable[..., Any], what: str) -> None:
    """Raises UnknownArgument for the first argument that the builder does not have."""
    for argument in unknown:
        known = [
            name
            for name, each in inspect.signature(builder).parameters.items()
            if name != "self" and each.kind != each.VAR_KEYWORD
        ]
        raise UnknownArgument("argument", argument, known, what)


def names(argument: str, given: object, prefix: str, most: int = MOST_NODES) -> list[str]:
    """Names of nodes, given by their number or as a list. Raises InvalidArgument."""
    if is_count(given):
        bound(argument, given, most)
        return [f"{prefix}{number}" for number in range(given)]
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
        raise InvalidArgument(f"{argument}: expected their number, or a list of names, got {shown(given)}")
    return list(given)


def bound(argument: str, number: int, most: int = MOST_NODES) -> None:
    """Raises InvalidArgument for a number above `most`."""
    if number > most:
        raise InvalidArgument(f"{argument}: expected at most {most}, got {number}")


def pairs(argument: str, listed: object) -> None:
    """Raises InvalidArgument for anything but pairs of names, each with or without a delay."""
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(each, (list, tuple)) and len(each) in (2, 3) for each in listed
    ):
        raise InvalidArgument(f"{argument}: expected pairs of names, each with an optional delay in ns, got {listed!r}")


def host_groups(nodes: list[str], count: int, rate_bps: int, delay_ns: int, **more: Any) -> list[Json]:
    """Groups of `count` hosts, one per node: `hosts0` ... ."""
    link = {
        "rate_bps": rate_bps,
        "up_delay_ns": delay_ns,
        "down_delay_ns": delay_ns,
        "buffer": {"packets": 1000},
        **more,
    }
    return [{"name": f"hosts{number}", "count": count, "at": node, **link} for number, node in enumerate(nodes)]


def is_count(value: object) -> TypeGuard[int]:
    """Returns true for an integer that is not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def shown(value: object) -> str:
    """Short text of an argument that should have been a number or a name."""
    return (
        "a dictionary; for an existing scenario use Scenario.of(...), Network.of(...) and so on"
        if isinstance(value, dict)
        else repr(value)
    )
