# SPDX-License-Identifier: Apache-2.0
"""`slotwise new KIND [--stations 12 ...]`: write a new scenario to standard output.

The options of a kind are the arguments of its builder (`slotwise.builders`). The scenario also has flows, which a run requires.
"""

import argparse
import inspect
import itertools
import json
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from slotwise import builders, scenario
from slotwise.errors import InvalidArgument, SlotwiseError
from slotwise.kinds.lambdas import LambdaNetwork
from slotwise.kinds.ops import OpsMesh
from slotwise.kinds.ring import Ring
from slotwise.kinds.routed import Network
from slotwise.kinds.star import Star
from slotwise.network import Document
from slotwise.tools.home import CommandNotFound

SCHEMA = "schema/scenario.schema.json"
VALUES = """VALUE has the syntax of a scenario: 12, 1.5, true, text, '[west, east]', '[[west, mid], [mid, east, 3000000]]', '{key: value}'.
Rates (-bps) are in bit/s; the name of an option for a time ends with the unit."""


def star(**options) -> Star:
    """TCP between all pairs of hosts of different edges."""
    return Star(**options).tcp()


def ring(**options) -> Ring:
    """TCP from each station to the opposite one."""
    made = Ring(**options)
    return _across(made, "hosts", len(scenario.stations(made.scenario)))


def ops(**options) -> OpsMesh:
    """TCP from each edge to the opposite one."""
    made = OpsMesh(**options)
    return _across(made, "hosts", len(scenario.ops_edges(made.scenario)))


def lambdas(**options) -> LambdaNetwork:
    """A GTP session from each site's hosts to those of every other site."""
    made = LambdaNetwork(**options)
    count = len(made.scenario["routers"])
    for here in range(count):
        for there in range(count):
            if here != there:
                made.gtp(f"hosts{here}", f"hosts{there}", name=f"{here}-{there}")
    return made


def routers(
    count: int = 3,
    hosts_per_end: int = 2,
    *,
    rate_bps: int = 20_000_000,
    delay_ns: int = 5_000_000,
    buffer_packets: int = 100,
    xcp: bool = False,
    access_rate_bps: int = 100_000_000,
    access_delay_ns: int = 100_000,
    seconds: float = 5,
    seed: int = 1,
    name: str | None = None,
) -> Network:
    """Chain of `count` routers with `hosts_per_end` hosts at each end; TCP, or with `xcp` XCP, from the first router to the last."""
    for argument, value in (("count", count), ("hosts_per_end", hosts_per_end)):
        if not isinstance(value, int) or value < 1:
            raise InvalidArgument(f"{argument}: expected an integer of at least 1, got {value!r}")
    if count < 2:
        raise InvalidArgument(f"count: expected at least two routers, got {count}")
    names = [f"r{number}" for number in range(count)]
    made = Network(name or f"routers{count}", seconds=seconds, seed=seed).node(*names)
    for here, there in itertools.pairwise(names):
        made.link(
            here,
            there,
            rate_bps=rate_bps,
            delay_ns=delay_ns,
            buffer_packets=buffer_packets,
            xcp_capacity_bps=rate_bps if xcp else None,
        )
    for group, router in (("senders", names[0]), ("receivers", names[-1])):
        made.hosts(
            group, router, hosts_per_end, rate_bps=access_rate_bps, delay_ns=access_delay_ns, buffer_packets=1000
        )
    return made.tcp("senders", "receivers", name="flows", transport="xcp" if xcp else None)


def _across(made: Ring | OpsMesh, prefix: str, count: int) -> Ring | OpsMesh:
    """Adds a flow from each host group to the opposite one."""
    for here in range(count):
        there = (here + count // 2) % count
        if here != there:
            made.tcp(f"{prefix}{here}", f"{prefix}{there}", name=f"{here}-{there}")
    return made


class Kind(NamedTuple):
    """A network type for a new scenario."""

    builder: Callable
    """Builder whose arguments are the options."""
    make: Callable[..., Document]
    """Builder that adds traffic."""
    what: str


KINDS = {
    "star": Kind(builders.star, star, "edges around a time-slotted photonic core"),
    "ring": Kind(builders.ring, ring, "packet ring with a fairness algorithm"),
    "ops": Kind(builders.ops, ops, "mesh of optical packet switches"),
    "lambda": Kind(builders.lambda_network, lambdas, "sites connected by lightpaths, with GTP sessions"),
    "routers": Kind(routers, routers, "chain of routers with a bottleneck, TCP or XCP"),
}


def main(arguments: list[str] | None = None) -> int:
    """Writes one scenario to standard output."""
    given = sys.argv[1:] if arguments is None else arguments
    options = vars(_parser().parse_args(given))
    kind = KINDS[options.pop("kind")]
    try:
        document = kind.make(**options)
        made = scenario.check(document.scenario, "slotwise new")
        # The schema cannot say all that a run needs.
        with suppress(CommandNotFound):
            document.check()
    except scenario.ScenarioError as error:
        # No line of a program is to blame.
        print(
            scenario.ScenarioError("slotwise new", [problem._replace(place="") for problem in error.problems]),
            file=sys.stderr,
        )
        return 2
    except (SlotwiseError, TypeError, ValueError) as error:
        print(f"slotwise new: {error}", file=sys.stderr)
        return 2
    for note in notes(made):
        print(f"slotwise new: note: {note}", file=sys.stderr)
    try:
        sys.stdout.write(text(made, shlex.join(["slotwise", "new", *given]), kind.make.__doc__))
        sys.stdout.flush()
    except OSError as error:
        # The interpreter would say so once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # What reads a pipe may have enough.
        if not isinstance(error, BrokenPipeError):
            print(f"slotwise new: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


LARGE_GUARD = 0.1
"""A guard of more than this fraction of a slot is pointed out."""


def notes(made: dict) -> list[str]:
    """Notes on a scenario before its first run."""
    frame = made.get("frame", {})
    fraction = frame.get("guard_ns", 0) / frame.get("slot_ns", 1)
    if fraction <= LARGE_GUARD:
        return []
    return [
        f"/frame/guard_ns: the guard time of {frame['guard_ns']} ns takes {fraction:.0%} of each slot; --guard-ns sets another one"
    ]


def text(made: dict, command: str, traffic: str) -> str:
    """Scenario as a file to read and edit: with the command that made it, and one line per edge, link or flow."""
    # A name may have more than one line.
    head = [
        f"Generated by `{' '.join(command.split())}`. {traffic.splitlines()[0]}",
        f"Keys and values: docs/scenario.md, {SCHEMA}.",
    ]
    return "".join(f"# {line}\n" for line in head) + scenario.dump(made, compact=True)


def _parser() -> argparse.ArgumentParser:
    """Parser with the builders' arguments and defaults as options."""
    parser = argparse.ArgumentParser(
        prog="slotwise new",
        description="Write a new scenario to standard output.",
        allow_abbrev=False,
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for name, kind in KINDS.items():
        of_kind = kinds.add_parser(
            name,
            help=kind.what,
            description=_described(kind),
            epilog=VALUES,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for each in inspect.signature(kind.builder).parameters.values():
            if each.kind != each.VAR_KEYWORD:
                _add(of_kind, each)
    return parser


def _described(kind: Kind) -> str:
    """Help of a network type: the builder's docstring without its exceptions, and the flows."""
    paragraphs = inspect.getdoc(kind.builder).split("\n\n")
    shown = [paragraph for paragraph in paragraphs if not paragraph.startswith("Raises")]
    if kind.make is not kind.builder:
        shown.append(f"Flows of the scenario: {inspect.getdoc(kind.make)}")
    return "\n\n".join(shown)


def _add(parser: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    flag = "--" + parameter.name.replace("_", "-")
    help_text = "[default: automatic]" if parameter.default is None else f"[default: {json.dumps(parameter.default)}]"
    is_switch = {"nargs": "?", "const": True} if isinstance(parameter.default, bool) else {}
    kind = str if parameter.name == "name" else _value
    parser.add_argument(flag, default=argparse.SUPPRESS, type=kind, metavar="VALUE", help=help_text, **is_switch)


def _value(written: str) -> object:
    try:
        return scenario.value(written)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
