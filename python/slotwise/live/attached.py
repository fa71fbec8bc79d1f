# SPDX-License-Identifier: Apache-2.0
"""Options of `slotwise emulate` among the arguments of a Mininet topology; invalid ones are rejected before a host is built."""

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
"""0: any free port."""


class Option(NamedTuple):
    """Flag of the command, and reader of its value, which raises InvalidArgument."""

    flag: str
    read: Callable[[str, object], object]


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    """Reader of an integer from `least` to `most`."""

    def read(name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InvalidArgument(f"{name}: expected an integer from {least} to {most}, got {value!r}")
        return value

    return read


def _file(name: str, value: object) -> str:
    """Path of a writable file."""
    path = Path(str(value))
    if path.is_dir():
        raise InvalidArgument(f"{name}: {path} is a directory; expected a file")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{name}: {path.parent} is not a directory; expected a file in a directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidArgument(f"{name}: {path} is not writable; expected a writable file")
    return str(value)


def _directory(name: str, value: object) -> str:
    """Path of a writable directory, or of one that can be created."""
    path = Path(str(value))
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise InvalidArgument(f"{name}: {nearest} is a file; expected a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidArgument(f"{name}: {nearest} is not writable; expected a writable directory")
    return str(value)


def _target(name: str, value: object) -> str:
    if value not in TARGETS:
        raise InvalidArgument(f"{name}: expected {' or '.join(TARGETS)}, got {value!r}")
    if value == "bmv2" and shutil.which(BMV2) is None:
        raise InvalidArgument(f"{name}: {BMV2} is not on the PATH; expected target engine, or {BMV2} to be installed")
    return value


def _terms(_name: str, value: object) -> str:
    """Terms of a filter, separated by plus signs, since Mininet separates a topology's arguments by commas."""
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
    """Options of the run by the command's flags, and all other options. Raises InvalidArgument for an invalid value."""
    run = {OPTIONS[name].flag: OPTIONS[name].read(name, value) for name, value in options.items() if name in OPTIONS}
    for name in ("pcap_filter", "snaplen"):
        if name in options and "pcap" not in options:
            raise InvalidArgument(f"{name}: no directory for captures; expected pcap=DIR")
    return run, {name: value for name, value in options.items() if name not in OPTIONS}
