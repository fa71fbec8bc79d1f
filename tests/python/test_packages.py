# SPDX-License-Identifier: Apache-2.0
"""What a release publishes: the wheel where there is nothing else, and the Debian package."""

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from slotwise.tools import home

pytestmark = pytest.mark.slow

ROOT = home.root()
OWN_NETWORK = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
README_PROGRAM = re.compile(r"(?ms)^```python\n(.+?)^```$")


def run(*command: object, **options) -> str:
    """The output of a command that must succeed."""
    result = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        **options,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def package(kind: str) -> Path:
    """Makes a package."""
    return Path(run(ROOT / "scripts" / "package", kind).splitlines()[-1])


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    """A virtual environment of its own with nothing but the wheel and what it asks for, Java among it."""
    made = tmp_path_factory.mktemp("wheel") / "venv"
    run("/usr/bin/python3", "-m", "venv", made)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name in ("HOME", "SSL_CERT_FILE")
    }
    run(
        made / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", f"{package('wheel')}[java]", env=kept
    )
    return made


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> tuple[Path, Path]:
    """The Debian package, and a directory with what is in it."""
    made = package("deb")
    root = tmp_path_factory.mktemp("deb")
    run("dpkg-deb", "--extract", made, root)
    return made, root


def test_a_wheel_alone_gives_report_and_picture(prefix, tmp_path):
    said = run(prefix / "bin" / "slotwise", "simulate", "star4", cwd=tmp_path, env={})
    assert said.splitlines()[-1].split()[1:] == ["run/star4/report.json,", "run/star4/picture.png"]
    report = json.loads((tmp_path / "run" / "star4" / "report.json").read_text())
    assert report["verdict"]["ok"]
    assert (tmp_path / "run" / "star4" / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_wheel_gives_the_same_report_as_the_clone(prefix, tmp_path):
    reports = {}
    for name, command in (("wheel", prefix / "bin" / "slotwise"), ("clone", home.slotwise_command())):
        file = tmp_path / f"{name}.json"
        run(
            command,
            "simulate",
            "ring3-bmv2",
            "--duration",
            "0.2",
            "--report",
            file,
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
        )
        reports[name] = file.read_bytes()
    assert reports["wheel"] == reports["clone"]
    assert not (tmp_path / "run").exists()


def test_python_of_a_wheel_runs_what_the_readme_says(prefix, tmp_path):
    (program,) = README_PROGRAM.findall((ROOT / "README.md").read_text())
    said = run(prefix / "bin" / "python", "-c", program, cwd=tmp_path, env={})
    # Each of two hosts at four edges to one host at each other edge.
    goodput = ast.literal_eval(said.splitlines()[-1])
    assert len(goodput) == 24 and all(bps > 0 for bps in goodput.values())


def test_a_wheel_has_every_scenario_and_experiment(prefix, tmp_path):
    listed = run(prefix / "bin" / "slotwise", "list", cwd=tmp_path, env={})
    assert listed == run(home.slotwise_command(), "list")


def test_a_debian_package_can_be_installed_here(unpacked):
    planned = run("apt-get", "--simulate", "install", unpacked[0])
    assert "Inst slotwise" in planned


def test_a_debian_package_has_pages_and_completion(unpacked):
    usr = unpacked[1] / "usr"
    for file in (
        "share/man/man1/slotwise-simulate.1.gz",
        "share/bash-completion/completions/slotwise",
        "share/doc/slotwise/copyright",
    ):
        assert (usr / file).stat().st_size > 0, file


def test_a_debian_package_emulates_with_hosts(unpacked, tmp_path):
    command = unpacked[1] / "usr" / "bin" / "slotwise"
    run(*OWN_NETWORK, command, "emulate", "star3-short", "--duration", "1", "--out", "here", cwd=tmp_path)
    report = json.loads((tmp_path / "here" / "report.json").read_text())
    assert report["command"] == "emulate" and report["verdict"]["ok"]
    assert (tmp_path / "here" / "picture.png").stat().st_size > 0
