# SPDX-License-Identifier: Apache-2.0
"""Options of a fabric's process behind Mininet, as a topology's arguments have them. What cannot be is refused before a host is built."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from slotwise import limits
from slotwise.errors import InvalidArgument

BMV2 = "simple_switch_grpc"
TARGETS = ("engine", "bmv2")
PORT = (0, 65_535)
"""0 lets the system choose."""


class Option(NamedTuple):
    """What the command calls it, and how its value is read: that raises InvalidArgument with what would be right."""

    flag: str
    read: Callable[[str, object], object]


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    """Reads an integer from `least` to `most`."""

    def read(name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InvalidArgument(f"{name}: expected an integer from {least} to {most}, got {value!r}")
        return value

    return read


def _file(name: str, value: object) -> str:
    """A file that can be written."""
    path = Path(str(value))
    if path.is_dir():
        raise InvalidArgument(f"{name}: expected a file, and {path} is a directory")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{name}: expected a file in a directory that is there, and {path.parent} is none")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidArgument(f"{name}: expected a file that can be written, and {path} cannot")
    return str(value)


def _directory(name: str, value: object) -> str:
    """A directory in which files can be made, or that can be made."""
    path = Path(str(value))
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise InvalidArgument(f"{name}: expected a directory, and {nearest} is none")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidArgument(f"{name}: expected a directory in which files can be made, and in {nearest} they cannot")
    return str(value)


def _target(name: str, value: object) -> str:
    if value not in TARGETS:
        raise InvalidArgument(f"{name}: expected {' or '.join(TARGETS)}, got {value!r}")
    if value == "bmv2" and shutil.which(BMV2) is None:
        raise InvalidArgument(
            f"{name}: bmv2 needs {BMV2}, which is not on the PATH; expected engine, or that it is there"
        )
    return value


def _terms(_name: str, value: object) -> str:
    """Mininet gives a topology's arguments with commas between: terms of a filter have plus signs."""
    return str(value).replace("+", ",")


OPTIONS = {
    "report": Option("--report", _file),
    "pcap": Option("--pcap", _directory),
    "pcap_filter": Option("--pcap-filter", _terms),
    "snaplen": Option("--snaplen", _whole(*limits.SNAPLEN)),
    "seed": Option("--seed", _whole(*limits.SEED)),
    "rest_port": Option("--rest-port", _whole(*PORT)),
    "p4runtime_port": Option("--p4runtime-port", _whole(*PORT)),
    "target": Option("--target", _target),
}


def split(options: dict) -> tuple[dict, dict]:
    """Options of the run, as the command calls them, and all others. Raises InvalidArgument for what cannot be."""
    run = {OPTIONS[name].flag: OPTIONS[name].read(name, value) for name, value in options.items() if name in OPTIONS}
    for name in ("pcap_filter", "snaplen"):
        if name in options and "pcap" not in options:
            raise InvalidArgument(f"{name}: expected beside pcap=DIR, which says where captures go")
    return run, {name: value for name, value in options.items() if name not in OPTIONS}
