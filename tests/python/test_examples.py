# SPDX-License-Identifier: Apache-2.0
"""Examples that are called wrongly end with a line that says so."""

import os
import subprocess
import sys

import pytest

from slotwise.tools import home

XFER = home.root() / "topologies" / "examples" / "xfer.py"


def xfer(*arguments, **environment) -> subprocess.CompletedProcess:
    """Runs the example in a network of its own."""
    return subprocess.run(
        ["unshare", "--net", sys.executable, XFER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(home.root() / "python")} | environment,
    )


@pytest.mark.parametrize(
    ("sent", "stored", "said"),
    [("none", "stored", "none: no such file"), ("sent", "sent", "sent: already exists")],
)
def test_files_are_looked_at_before_anything_is_built(namespaces, tmp_path, sent, stored, said):
    (tmp_path / "sent").touch()
    result = xfer(tmp_path / sent, tmp_path / stored)
    assert result.returncode == 2
    assert result.stderr.rstrip().endswith(said)


def test_a_program_that_is_not_there_is_said_in_a_line(namespaces, tmp_path):
    (tmp_path / "sent").touch()
    result = xfer(tmp_path / "sent", tmp_path / "stored", SLOTWISE_COMMAND=str(tmp_path / "none"))
    assert result.returncode == 1
    assert result.stderr == f"xfer: SLOTWISE_COMMAND={tmp_path / 'none'}: not an executable file\n"
