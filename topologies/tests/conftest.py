# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files use."""
import os
import subprocess

import pytest

from slotwise import builders


@pytest.fixture
def star() -> dict:
    """Four edges with two hosts each and one empty phase."""
    scenario = builders.star(4, 2)
    scenario["phases"] = [{"name": "main", "duration_ms": 1000, "traffic": []}]
    return scenario


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips a test where network namespaces cannot be made."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        pytest.skip("needs root and network namespaces")
