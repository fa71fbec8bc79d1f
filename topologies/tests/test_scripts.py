# SPDX-License-Identifier: Apache-2.0
"""What scripts say of themselves, and what they look at before a run."""
import subprocess

import pytest

from slotwise import home

SCRIPTS = home.root() / "scripts"
OWN_NETWORK = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
# Listens on a port while a command runs; its status is the command's.
BESIDE = """
import socket, subprocess, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
    sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""


@pytest.mark.parametrize("script", sorted(SCRIPTS.iterdir()), ids=lambda script: script.name)
def test_help_says_what_a_script_does_and_does_nothing(script, tmp_path):
    copy = tmp_path / "scripts" / script.name
    copy.parent.mkdir()
    copy.write_bytes(script.read_bytes())
    copy.chmod(0o755)
    # A clone that lacks everything else, and no programs but the system's: whatever it did would fail or leave something.
    result = subprocess.run(
        [copy, "--help"], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.split()) > 5
    assert "SPDX" not in result.stdout and "set -e" not in result.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"] == [copy]


@pytest.mark.parametrize(("port", "status"), [(8181, 1), (9559, 0)])
def test_only_a_port_that_a_run_needs_is_in_its_way(namespaces, port, status):
    result = subprocess.run(
        [*OWN_NETWORK, "/usr/bin/python3", "-c", BESIDE, str(port), SCRIPTS / "check", "--ports"],
        capture_output=True, text=True, check=False,
    )
    assert result.returncode == status, result.stderr
    assert (f"port {port} (controller, REST) is taken" in result.stderr) == (status == 1)


def test_what_pip_makes_in_the_clone_is_ignored():
    if not (home.root() / ".git").exists():
        pytest.skip("no clone")
    made = ["topologies/build/lib/slotwise/__init__.py", "topologies/slotwise.egg-info/PKG-INFO"]
    result = subprocess.run(["git", "check-ignore", *made], cwd=home.root(), capture_output=True, text=True, check=False)
    assert result.stdout.split() == made
