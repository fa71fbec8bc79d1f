# SPDX-License-Identifier: Apache-2.0
"""docs/scenario.md is what scripts/gen-reference makes of the schema, and has every key."""

import subprocess

from slotwise import scenario
from slotwise.tools import home

ROOT = home.root()


def keys(schema) -> set[str]:
    """Names of all properties anywhere in a schema."""
    if isinstance(schema, list):
        return set().union(*map(keys, schema))
    if not isinstance(schema, dict):
        return set()
    named = {
        name for name, value in schema.get("properties", {}).items() if isinstance(value, dict) and not value.get("not")
    }
    return named.union(*(keys(value) for value in schema.values()))


def test_the_reference_is_that_of_the_schema():
    result = subprocess.run(
        [ROOT / "scripts" / "gen-reference", "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_reference_has_every_key():
    text = (ROOT / "docs" / "scenario.md").read_text()
    missing = [key for key in keys(scenario.schema()) if f"| `{key}`" not in text]
    assert not missing
