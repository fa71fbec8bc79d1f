# SPDX-License-Identifier: Apache-2.0
"""`slotwise reproduce --on ADDRESS`: runs of an experiment, a line of JSON each on standard input (the engine's `work::Task`), made on a Dask cluster and put where
`reproduce` finds them. What is in place is whole; `reproduce` judges it as if it had been made here."""

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from slotwise import farm
from slotwise.errors import SlotwiseError
from slotwise.farm import FarmError, Job, Made

REFUSED = 2
MARK = "done.json"
"""The engine writes it with every run."""


def main(arguments: list[str] | None = None) -> int:
    """Has all of them made."""
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
    """Puts the files of a run in place in one step, as the engine does. Raises FarmError."""
    draft, old = (directory.with_name(directory.name + suffix) for suffix in (".part", ".old"))
    try:
        for leftover in (draft, old):
            with suppress(FileNotFoundError):
                shutil.rmtree(leftover)
        draft.mkdir(parents=True)
        for name, content in made.files.items():
            (draft / Path(name).name).write_bytes(content)
        if not (draft / MARK).is_file():
            raise FarmError(f"{directory}: the worker sent no {MARK}; it has {', '.join(made.files) or 'nothing'}")
        if directory.exists():
            directory.rename(old)
        draft.rename(directory)
        with suppress(FileNotFoundError):
            shutil.rmtree(old)
    except OSError as error:
        raise FarmError(f"{error.filename or directory}: {error.strerror}; runs that are there stay") from error


if __name__ == "__main__":
    sys.exit(main())
