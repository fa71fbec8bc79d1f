# SPDX-License-Identifier: Apache-2.0
"""The package in other places than its clone: installed by pip, and in a clone that was moved."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from slotwise import CommandNotFound, HomeNotFound
from slotwise.tools import home

pytestmark = pytest.mark.slow

ROOT = home.root()
SAY_HOME = "from slotwise import Star; from slotwise.tools import home; print(home.root()); Star(3).tcp().save('star.yaml'); print(home.slotwise_command())"


def python(venv: Path, program: str, place: Path, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program with a virtual environment's Python, without what this test's own environment says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SLOTWISE_"))}
    return subprocess.run(
        [venv / "bin" / "python", "-c", program],
        cwd=place,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A fresh virtual environment with the package in it; what it depends on is the system's."""
    place = tmp_path_factory.mktemp("installed")
    package = shutil.copytree(ROOT / "python", place / "python", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place / "venv"], check=True)
    # Neither an index nor an isolated build: nothing is fetched.
    subprocess.run(
        [
            place / "venv" / "bin" / "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            package,
        ],
        check=True,
        env=os.environ | {"PIP_NO_INDEX": "1"},
    )
    shutil.rmtree(package)
    return place / "venv"


def test_the_version_is_the_engine_s(installed, tmp_path):
    engine = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    said = python(
        installed,
        "import importlib.metadata, slotwise; print(slotwise.__version__, importlib.metadata.version('slotwise'))",
        tmp_path,
    )
    assert said.stdout.split() == [engine, engine], said.stderr


def test_an_installed_package_finds_its_home_by_the_variable(installed, tmp_path):
    result = python(installed, SAY_HOME, tmp_path, SLOTWISE_HOME=str(ROOT), SLOTWISE_COMMAND="/bin/true")
    assert result.stdout.split() == [str(ROOT), "/bin/true"], result.stderr
    assert (tmp_path / "star.yaml").exists()


def test_an_installed_package_finds_its_home_by_the_command_on_the_path(installed, tmp_path):
    clone = tmp_path / "clone"
    command = clone / "bin" / "slotwise"
    shutil.copytree(ROOT / "schema", clone / "schema")
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "slotwise").symlink_to(command)
    result = python(installed, SAY_HOME, tmp_path, PATH=f"{linked}:/usr/bin:/bin")
    assert result.stdout.split() == [str(clone), str(linked / "slotwise")], result.stderr


def test_an_installed_package_without_a_home_says_what_to_set(installed, tmp_path):
    result = python(installed, SAY_HOME, tmp_path, PATH="/usr/bin:/bin")
    assert "HomeNotFound" in result.stderr
    assert "set SLOTWISE_HOME to a clone of Slotwise, or put its `slotwise` on the PATH" in result.stderr


def test_plots_are_a_command_of_their_own(installed):
    result = subprocess.run([installed / "bin" / "slotwise-plot", "--help"], capture_output=True, text=True, check=True)
    assert "Plot the time series of a report" in result.stdout


def test_a_home_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SLOTWISE_HOME", str(tmp_path))
    monkeypatch.delenv("SLOTWISE_COMMAND", raising=False)
    with pytest.raises(HomeNotFound, match=f"SLOTWISE_HOME={tmp_path}: schema/scenario.schema.json not found"):
        home.root()
    with pytest.raises(CommandNotFound, match=r"schema/scenario.schema.json not found"):
        home.slotwise_command()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes care")
def test_root_uses_no_files_above_the_working_directory_that_others_may_change(monkeypatch, tmp_path):
    clone, elsewhere = tmp_path / "clone", tmp_path / "elsewhere"
    for made in (clone / home.MARK.parent, clone / home.PROGRAMS, elsewhere):
        made.mkdir(parents=True)
    (clone / home.MARK).touch()
    for name in ("SLOTWISE_HOME", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    # As of a package that is installed apart.
    monkeypatch.setattr(home, "__file__", str(elsewhere / "home.py"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(clone)

    def found() -> set[Path]:
        return {home.root(), home.engine_root(elsewhere / "slotwise")}

    assert found() == {clone}
    os.chown(clone, 12345, -1)
    for find in (home.root, lambda: home.engine_root(elsewhere / "slotwise")):
        with pytest.raises(HomeNotFound, match="writable by other users, but used by root"):
            find()
    monkeypatch.setenv("SUDO_UID", "12345")
    assert found() == {clone}
    clone.chmod(0o777)
    with pytest.raises(HomeNotFound, match="writable by other users"):
        home.root()


def test_a_moved_clone_imports_its_own_package(tmp_path):
    first, moved = tmp_path / "first", tmp_path / "moved"
    (first / "python" / "slotwise").mkdir(parents=True)
    (first / "python" / "slotwise" / "__init__.py").touch()
    (first / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "link-package", first / "scripts")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", first / "build" / "venv"], check=True)
    subprocess.run([first / "scripts" / "link-package", first / "build" / "venv"], check=True)
    shutil.copytree(first, moved, symlinks=True)
    for clone in (first, moved):
        result = python(clone / "build" / "venv", "import slotwise; print(slotwise.__file__)", tmp_path)
        assert result.stdout.strip() == str(clone / "python" / "slotwise" / "__init__.py"), result.stderr
