# SPDX-License-Identifier: Apache-2.0
"""Where a clone keeps what this package needs: schemas, the engine's command, the main scenario."""
import os
import shutil
from pathlib import Path

ROOT = Path(os.environ.get("SLOTWISE_HOME") or Path(__file__).resolve().parents[2])
SCENARIO_SCHEMA = ROOT / "schema" / "scenario.schema.json"


class CommandNotFound(Exception):
    """The engine has not been built."""


def slotwise_command() -> str:
    """Path of the `slotwise` command: $SLOTWISE_COMMAND, the clone's release build, or the one on the PATH."""
    named = os.environ.get("SLOTWISE_COMMAND")
    if named:
        return named
    built = ROOT / "engine" / "target" / "release" / "slotwise"
    if built.exists():
        return str(built)
    on_path = shutil.which("slotwise")
    if on_path:
        return on_path
    raise CommandNotFound(f"{built}: missing, and no slotwise on the PATH; `make setup` builds it")
