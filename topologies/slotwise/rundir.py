# SPDX-License-Identifier: Apache-2.0
"""The temporary directory of a run. While the run lives it holds a lock on the file `lock` in it, so that the engine's next run and
`scripts/clean-net` can tell it from what a killed run has left. The engine's module `run_directory` makes the same."""
import fcntl
import os
import tempfile

MARK = "SLOTWISE_RUN"
"""In the environment of a run's processes: its directory."""


class RunDirectory:
    """`slotwise-WHAT-XXXXXXXX`; a context that gives its path and deletes it."""

    def __init__(self, what: str):
        self._directory = tempfile.TemporaryDirectory(prefix=f"slotwise-{what}-")
        self.name = self._directory.name
        # It has its name only when it is held.
        draft = os.path.join(self.name, "lock.part")
        self._lock = open(draft, "w", encoding="utf-8")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(draft, os.path.join(self.name, "lock"))

    def cleanup(self) -> None:
        """Deletes it."""
        self._directory.cleanup()
        self._lock.close()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_) -> None:
        self.cleanup()
