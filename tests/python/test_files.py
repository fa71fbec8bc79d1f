# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole, or as they were before."""

import errno
import os
from pathlib import Path

import pytest

from slotwise.tools import files


def names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(file: Path, content: bytes) -> int:
        write(file, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

    old = tmp_path / "old"
    old.write_bytes(b"good")
    monkeypatch.setattr(Path, "write_bytes", full)
    for file in (old, tmp_path / "new"):
        with pytest.raises(OSError) as refused:
            files.put(file, b"better")
        assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, str(file))
    assert old.read_bytes() == b"good" and names(tmp_path) == ["old"]


def test_a_file_keeps_its_mode_and_a_link_leads_where_it_led(tmp_path):
    old, link = tmp_path / "old", tmp_path / "link"
    old.write_bytes(b"good")
    old.chmod(0o640)
    link.symlink_to("old")
    files.put(link, b"better")
    assert old.read_bytes() == b"better" and old.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink() and names(tmp_path) == ["link", "old"]


def test_what_is_no_file_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.put(pipe, b"there")
    assert os.read(reader, 99) == b"there"
    os.close(reader)
    assert pipe.is_fifo()
