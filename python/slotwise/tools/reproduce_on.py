# SPDX-License-Identifier: Apache-2.0
"""`slotwise reproduce --on ADDRESS`: runs of an experiment, one JSON line each on standard input (the engine's `work::Task`), executed on a
Dask cluster; results are moved to where `reproduce` expects them, each in one step, and judged like local ones."""

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from slotwise.errors import SlotwiseError
from slotwise.tools import farm
from slotwise.tools.farm import FarmError, Job, Made

REFUSED = 2
MARK = "done.json"
"""File that the engine writes with every run."""


def main(arguments: list[str] | None = None) -> int:
    """Executes all runs."""
    (address,) = sys.argv[1:] if arguments is None else arguments
    try:
        _make_all(address, [json.loads(line) for line in sys.stdin])
    except SlotwiseError as error:
        print(f"slotwise reproduce --on: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return REFUSED
    return 0


def _make_all(address: str, tasks: list[dict]) -> None:
    by_name = {f"{task['run']} seed {task['seed']}": task for task in tasks}
    with farm.connect(address) as workers:
        for done, (job, made) in enumerate(workers.run(_job(name, task) for name, task in by_name.items()), 1):
            if made.status != 0:
                raise FarmError(f"{job.name}: {made.reason}")
            _keep(made, Path(by_name[job.name]["directory"]))
            print(f"{job.name}: done on {address} ({done} of {len(tasks)})", flush=True)


def _job(name: str, task: dict) -> Job:
    # A worker has its own place for results.
    there = json.dumps(task | {"directory": ""})
    return Job(name, ("run-task", "{input}", "--out", "{out}"), there)


def _keep(made: Made, directory: Path) -> None:
    """Moves the files of a run into place in one step, as the engine does. Raises FarmError."""
    draft, old = (directory.with_name(directory.name + suffix) for suffix in (".part", ".old"))
    try:
        for leftover in (draft, old):
            with suppress(FileNotFoundError):
                shutil.rmtree(leftover)
        draft.mkdir(parents=True)
        for name, content in made.files.items():
            (draft / Path(name).name).write_bytes(content)
        if not (draft / MARK).is_file():
            raise FarmError(f"{directory}: the worker did not send {MARK}; got {', '.join(made.files) or 'nothing'}")
        if directory.exists():
            directory.rename(old)
        draft.rename(directory)
        with suppress(FileNotFoundError):
            shutil.rmtree(old)
    except OSError as error:
        raise FarmError(f"{error.filename or directory}: {error.strerror}; existing runs are unchanged") from error


if __name__ == "__main__":
    sys.exit(main())
