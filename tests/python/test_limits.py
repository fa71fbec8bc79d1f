# SPDX-License-Identifier: Apache-2.0
"""Files as long and as deep as schema/limits.json has it are read through the package, and longer ones are not."""

import json
from pathlib import Path

import pytest

from slotwise import scenario

ROOT = Path(__file__).resolve().parents[2]
STAR4 = ROOT / "topologies" / "star4.yaml"
LIMITS = {limit["name"]: limit for limit in json.loads((ROOT / "schema" / "limits.json").read_text())["limits"]}


def reasons(text: bytes, tmp_path) -> str:
    """Problems of a scenario file with this text; empty if it has none."""
    file = tmp_path / "scenario.yaml"
    file.write_bytes(text)
    try:
        scenario.load(file)
    except scenario.ScenarioError as error:
        return str(error)
    return ""


def test_files_are_as_long_and_as_deep_as_the_limits(tmp_path):
    star4 = STAR4.read_bytes()
    most = LIMITS["FILE_BYTES"]["maximum"]
    full = star4 + b"#" * (most - len(star4))
    assert reasons(full, tmp_path) == ""
    assert f"too large; expected at most {most}" in reasons(full + b"#", tmp_path)

    def nested(depth: int) -> bytes:
        return b"x: " + b"[" * depth + b"]" * depth

    most = LIMITS["DEPTH"]["maximum"]
    assert "nested too deeply" not in reasons(nested(most - 1), tmp_path), "the mapping counts, too"
    assert "nested too deeply" in reasons(nested(most), tmp_path)
    assert "nested too deeply" in reasons(nested(100_000), tmp_path)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "schema" / "examples" / "unreadable").glob("*.yaml")), ids=lambda file: file.stem
)
def test_unreadable_files_are_refused_before_they_are_checked(file):
    with pytest.raises(scenario.ScenarioError, match=r"not YAML|aliases|duplicate key|tag|tab"):
        scenario.load(file)
