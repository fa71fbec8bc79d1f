# SPDX-License-Identifier: Apache-2.0
"""Temporary directory of a run. A live run holds a lock on the file `lock` in it, so that the engine's next run and `scripts/clean-net`
can distinguish it from the directory of a killed run. The directory itself is locked until that file has its name; the file is deleted
last. The engine's module `run_directory` does the same."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

MARK = "SLOTWISE_RUN"
"""Environment variable of a run's processes with its directory."""
LOCK = "lock"


class RunDirectory:
    """Directory `slotwise-WHAT-XXXXXXXX`; a context manager that returns its path and deletes it at the end."""

    def __init__(self, what: str):
        self._directory, held = _locked_directory(f"slotwise-{what}-")
        self.name = self._directory.name
        # It has its name only when it is held.
        draft = os.path.join(self.name, "lock.part")
        try:
            self._lock = open(draft, "w", encoding="utf-8")  # noqa: SIM115
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(draft, os.path.join(self.name, LOCK))
        finally:
            os.close(held)

    def cleanup(self) -> None:
        """Deletes the directory."""
        for entry in Path(self.name).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != LOCK:
                entry.unlink(missing_ok=True)
        self._directory.cleanup()
        self._lock.close()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_) -> None:
        self.cleanup()


def _locked_directory(prefix: str) -> tuple[tempfile.TemporaryDirectory, int]:
    """New directory, and a descriptor that holds its lock. Until it is locked, a starting run can mistake it for that of a dead run."""
    while True:
        directory = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        with suppress(FileNotFoundError):
            held = os.open(directory.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(held).st_nlink:
                    return directory, held
            os.close(held)
        directory.cleanup()
