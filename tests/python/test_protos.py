# SPDX-License-Identifier: Apache-2.0
"""`scripts/gen-protos --check-sources`: each edit of a source, of the generator or of a generated file is refused."""

import shutil
import subprocess

import pytest

from slotwise.tools import home

ROOT = home.root()
GENERATED = "engine/crates/p4runtime-proto/src/generated"


@pytest.fixture
def clone(tmp_path):
    """As much of a clone as the check looks at."""
    listed = ["git", "ls-files", "*.proto", "scripts/protos", "scripts/gen-protos", "engine/proto-gen", GENERATED]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def status(clone) -> int:
    return subprocess.run(
        [clone / "scripts/gen-protos", "--check-sources"], capture_output=True, check=False
    ).returncode


def test_the_generated_files_are_those_of_their_sources(clone):
    assert status(clone) == 0


@pytest.mark.parametrize(
    "name",
    [
        "schema/lockstep.proto",
        "schema/another.proto",
        "scripts/protos",
        "engine/proto-gen/Cargo.lock",
        f"{GENERATED}/p4.v1.rs",
        f"{GENERATED}/another.rs",
    ],
)
def test_an_edit_is_refused(clone, name):
    with open(clone / name, "a") as file:
        file.write("\n")
    assert status(clone) == 1
    (clone / name).unlink()
    assert status(clone) == (0 if "another" in name else 1)
