# SPDX-License-Identifier: Apache-2.0
"""slotwise.gtp over the loopback interface."""
import hashlib

import pytest

from slotwise import gtp

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(name="key")
def key_file(tmp_path):
    """A new key."""
    path = tmp_path / "key"
    gtp.new_key(path)
    return path


@pytest.fixture(name="served")
def served_directory(tmp_path):
    """With one file."""
    directory = tmp_path / "served"
    directory.mkdir()
    (directory / "file").write_bytes(CONTENT)
    return directory


def test_files_go_both_ways(tmp_path, key, served):
    stored = tmp_path / "stored"
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
        received = gtp.receive(server.address, "file", stored, key, rate_bps=200_000_000)
        sent = gtp.send(stored, server.address, key, name="back")
    assert stored.read_bytes() == (served / "back").read_bytes() == CONTENT
    assert received.sha256 == sent.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert received.bytes == len(CONTENT) and received.goodput_bps > 0
    assert [(report.values["role"], report.values["ok"]) for report in server.reports] == [("send", True), ("receive", True)]


def test_what_does_not_go_is_an_error(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0") as server:
        with pytest.raises(gtp.GtpError, match="refused: there is no such file"):
            gtp.receive(server.address, "none", tmp_path / "stored", key)
        with pytest.raises(gtp.GtpError, match="it takes no files"):
            gtp.send(served / "file", server.address, key)
        with pytest.raises(gtp.GtpError, match="there is a file of that name already"):
            gtp.receive(server.address, "file", served / "file", key)
    key.chmod(0o644)
    with pytest.raises(gtp.GtpError, match="others may read it"):
        gtp.receive("127.0.0.1", "file", tmp_path / "stored", key)
    with pytest.raises(gtp.GtpError, match="others may read it"), gtp.Server(served, key):
        pass
    with pytest.raises(gtp.GtpError):
        gtp.new_key(key)
