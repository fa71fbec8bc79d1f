# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole, or as they were before."""

import os
import shutil
from contextlib import suppress
from pathlib import Path


def put(file: str | Path, content: bytes) -> None:
    """Writes a file in one step; whatever fails, a full disk for example, what was there stays. Links are followed, and what is no file, as a
    pipe, is written into. Raises OSError."""
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
