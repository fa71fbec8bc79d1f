# SPDX-License-Identifier: Apache-2.0
"""Locations of Slotwise's files: the engine's command, and its clone or an installation with the same layout."""

import os
import shutil
import stat
from pathlib import Path

from slotwise.errors import SlotwiseError

MARK = Path("schema", "scenario.schema.json")
"""File that identifies a home."""
BUILT = Path("engine", "target", "release", "slotwise")
INSTALLED = Path("share", "slotwise")
"""Directory of an installation's files, with the layout of a clone, below its prefix; the command is in `bin` there."""


PROGRAMS = Path("p4src", "p4c-out")
CONTROLLER = Path("controller", "standalone", "target", "slotwise-controller.jar")
"""Files that an engine needs in its home."""


class CommandNotFound(SlotwiseError):
    """The engine's command was not found."""


class HomeNotFound(SlotwiseError):
    """Slotwise's files were not found, since the package is installed without them; or they are writable by other users and used by root."""


def root() -> Path:
    """$SLOTWISE_HOME; or the clone or installation that contains this package, else `slotwise` on the PATH, else the working directory
    (as root only if other users cannot write to it). Raises HomeNotFound."""
    named = os.environ.get("SLOTWISE_HOME")
    if named:
        if not (Path(named) / MARK).is_file():
            raise HomeNotFound(f"SLOTWISE_HOME={named}: {MARK} not found; expected a clone of Slotwise")
        return Path(named)
    on_path = shutil.which("slotwise")
    starts = [Path(__file__).resolve(), *([Path(on_path).resolve()] if on_path else []), Path.cwd() / "here"]
    for start in starts:
        for directory in start.parents:
            for home in (directory, directory / INSTALLED):
                if (home / MARK).is_file():
                    return home if start is not starts[-1] else _trusted(home, MARK)
    raise HomeNotFound(
        f"no {MARK} above {', '.join(str(start.parent) for start in starts)}: set SLOTWISE_HOME to a clone of Slotwise, "
        "or put its `slotwise` on the PATH"
    )


def scenario_schema() -> Path:
    """Path of the JSON Schema of scenario files."""
    return root() / MARK


def slotwise_command() -> str:
    """Path of the `slotwise` command: $SLOTWISE_COMMAND, the home's release build or the installation's, or the one on the PATH.
    Raises CommandNotFound."""
    named = os.environ.get("SLOTWISE_COMMAND")
    if named:
        if shutil.which(named) is None:
            raise CommandNotFound(f"SLOTWISE_COMMAND={named}: not an executable file")
        return named
    on_path = shutil.which("slotwise")
    try:
        home = root()
    except HomeNotFound as error:
        raise CommandNotFound(str(error)) from error
    built = home.parents[1] / "bin" / "slotwise" if home.parts[-2:] == INSTALLED.parts else home / BUILT
    if built.exists():
        return str(built)
    if on_path:
        return on_path
    raise CommandNotFound(f"{built}: missing, and no slotwise on the PATH; `make setup` builds it")


def engine_root(command: Path) -> Path:
    """Directory where this command finds programs and controller: $SLOTWISE_HOME, or a directory with the layout of a clone above the
    command or the working directory, or in `share/slotwise` there. Raises HomeNotFound."""
    named = os.environ.get("SLOTWISE_HOME")
    if named:
        return Path(named)
    for above, is_here in ((command.resolve().parents, False), ((Path.cwd() / "here").parents, True)):
        for directory in above:
            for home in (directory, directory / INSTALLED):
                if (home / PROGRAMS).is_dir():
                    return _trusted(home, PROGRAMS) if is_here else home
    raise HomeNotFound(
        f"no {PROGRAMS} above {command} or the working directory; set SLOTWISE_HOME to a clone of Slotwise"
    )


def _trusted(home: Path, mark: Path) -> Path:
    """Returns a home above the working directory. Raises HomeNotFound if root would use files that other users can write."""
    sudo = os.environ.get("SUDO_UID", "0")
    known = {0, int(sudo) if sudo.isdecimal() else 0}
    places = [home, home / mark if (home / mark).is_dir() else (home / mark).parent]
    abouts = [place.stat() for place in places]
    if os.geteuid() == 0 and any(about.st_uid not in known or about.st_mode & stat.S_IWOTH for about in abouts):
        raise HomeNotFound(
            f"{home}: writable by other users, but used by root; expected SLOTWISE_HOME, or a directory of root or of the user of sudo "
            "that others cannot write to"
        )
    return home
