# SPDX-License-Identifier: Apache-2.0
"""Python takes and refuses what the engine and the controller do (schema/limits.json; their tests read the same file)."""

import json
from pathlib import Path

import pytest
import yaml

from slotwise import limits, scenario

ROOT = Path(__file__).resolve().parents[2]
STAR4 = ROOT / "topologies" / "star4.yaml"
EXAMPLES = ROOT / "schema" / "examples" / "valid"
# A mix has what stars have, too.
HELD = [
    ("scenario", STAR4),
    ("scenario", EXAMPLES / "mixed.yaml"),
    ("routed", EXAMPLES / "routers.yaml"),
    ("mixed", EXAMPLES / "mixed.yaml"),
    ("ringed", EXAMPLES / "ring.yaml"),
]
LIMITS = json.loads((ROOT / "schema" / "limits.json").read_text())["limits"]
PLACES = [(file, limit, place) for kind, file in HELD for limit in LIMITS for place in limit["places"].get(kind, [])]


def refused_at(file: Path, place: str, value: int) -> bool:
    """Whether a scenario with another number at a place is refused there."""
    document = yaml.safe_load(file.read_text())
    *path, last = [int(part) if part.isdigit() else part for part in place.split("/")[1:]]
    node = document
    for part in path:
        node = node[part]
    node[last] = value
    try:
        scenario.check(document)
    except scenario.ScenarioError as error:
        return any(problem.pointer == place for problem in error.problems)
    return False


@pytest.mark.parametrize("file, limit, place", PLACES, ids=[f"{file.stem}-{place}" for file, _, place in PLACES])
def test_bounds_are_taken_and_what_is_beyond_is_refused(file, limit, place):
    least, most = limit["minimum"], limit["maximum"]
    assert [refused_at(file, place, value) for value in (least - 1, least, most, most + 1)] == [
        True,
        False,
        False,
        True,
    ]


def reasons(text: bytes, tmp_path) -> str:
    """Why a file with this text is no scenario; empty if it is one."""
    file = tmp_path / "scenario.yaml"
    file.write_bytes(text)
    try:
        scenario.load(file)
    except scenario.ScenarioError as error:
        return str(error)
    return ""


def test_files_are_as_long_and_as_deep_as_the_limits(tmp_path):
    star4 = STAR4.read_bytes()
    most = limits.FILE_BYTES[1]
    full = star4 + b"#" * (most - len(star4))
    assert reasons(full, tmp_path) == ""
    assert f"longer than {most} bytes" in reasons(full + b"#", tmp_path)

    def nested(depth: int) -> bytes:
        return b"x: " + b"[" * depth + b"]" * depth

    most = limits.DEPTH[1]
    assert "nested too deeply" not in reasons(nested(most - 1), tmp_path), "the mapping counts, too"
    assert "nested too deeply" in reasons(nested(most), tmp_path)
    assert "nested too deeply" in reasons(nested(100_000), tmp_path)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "schema" / "examples" / "unreadable").glob("*.yaml")), ids=lambda file: file.stem
)
def test_unreadable_files_are_refused_before_they_are_checked(file):
    with pytest.raises(scenario.ScenarioError, match="not YAML"):
        scenario.load(file)
