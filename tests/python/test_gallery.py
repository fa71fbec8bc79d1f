# SPDX-License-Identifier: Apache-2.0
"""The gallery's examples: each is short, runs, leaves its picture, and prints what its description says."""

import os
import re
import subprocess
import sys

import pytest

from slotwise.tools import home

pytestmark = pytest.mark.slow

GALLERY = home.root() / "topologies" / "examples" / "gallery"
MOST_LINES = 30
LARGEST_PICTURE = 60_000
PNG = b"\x89PNG\r\n"

# What the first numbers of the last line may be.
BANDS = {
    "clocks": [(0, 9_999), (10_000, 10_000)],
    "deflection": [(0, 0.5)],
    "failover": [(0.6, 1)],
    "grant_latency": [(0, 45)],
    "lambda_sharing": [(9, 10), (36, 40), (36, 40)],
    "ring_fairness": [(0.999, 1)],
    "schedulers": [(30, 76)],
    "signaling": [(1.1, 1.4)],
    "trains": [(10, 18), (1, 4)],
    "xcp_or_tcp": [(0.95, 1), (50, 200)],
}


def test_there_are_ten():
    assert {path.stem for path in GALLERY.glob("*.py")} == set(BANDS) and len(BANDS) == 10


@pytest.mark.parametrize("name", BANDS)
def test_an_example_shows_what_it_says(name, tmp_path):
    example = GALLERY / f"{name}.py"
    assert len(example.read_text().splitlines()) <= MOST_LINES
    done = subprocess.run(
        [sys.executable, example],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(home.root() / "python")},
    )
    assert done.returncode == 0, done.stderr
    values = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", done.stdout.splitlines()[-1])]
    assert len(values) >= len(BANDS[name])
    assert all(low <= value <= high for value, (low, high) in zip(values, BANDS[name], strict=False)), done.stdout
    assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", BANDS)
def test_the_page_has_each_picture(name):
    picture = home.root() / "docs" / "gallery" / f"{name}.png"
    assert picture.read_bytes().startswith(PNG) and picture.stat().st_size < LARGEST_PICTURE


def test_the_page_is_up_to_date():
    subprocess.run([sys.executable, home.root() / "scripts" / "gen-gallery", "--check"], check=True)
