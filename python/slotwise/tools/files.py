# SPDX-License-Identifier: Apache-2.0
"""Atomic replacement of files."""

import os
import shutil
from contextlib import suppress
from pathlib import Path


def put(file: str | Path, content: bytes) -> None:
    """Writes a file in one step; after a failure, such as a full disk, its previous content stays. Symbolic links are followed; anything but
    a regular file, such as a pipe, is written to directly. Raises OSError."""
    file = Path(file)
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    file = Path(os.path.realpath(file))
    draft = file.with_name(f".{file.name}.part")
    try:
        draft.write_bytes(content)
        if file.exists():
            shutil.copymode(file, draft)
        os.replace(draft, file)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise OSError(error.errno, error.strerror, str(file)) from error
