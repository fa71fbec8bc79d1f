# SPDX-License-Identifier: Apache-2.0
"""scripts/clean-net, in PID and network namespaces of its own: it kills whatever looks like a run."""
import os
import subprocess

import pytest

from slotwise import home

# A process of a run, known by its environment, and one of somebody else; an interface of an edge and one of somebody
# else. What clean-net says and what is left goes to standard output.
SCENE = """
set -e
mkfifo up
SLOTWISE_INSIDE_NAMESPACE=1 bash -c 'echo > up; sleep 1000 & wait' & marked=$!
read < up
sleep 1000 & other=$!
ip link add e3-eth1 type veth peer name peer
ip link add mine type bridge
{clean_net}
wait $marked || echo "marked $?"
kill -0 $other && echo "other lives"
ip -brief link show
"""


@pytest.fixture
def scene(namespaces, tmp_path):
    (tmp_path / "slotwise-hosts-abcd_123").mkdir()
    (tmp_path / "slotwise-Ab12Cd").mkdir()
    (tmp_path / "slotwise-Ab12Cd" / "controller.json").touch()
    (tmp_path / "slotwise-backup").mkdir()
    return subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
         SCENE.format(clean_net=home.root() / "scripts" / "clean-net")],
        cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )


def test_only_what_belongs_to_runs_goes(scene, tmp_path):
    lines = scene.stdout.splitlines()
    assert scene.returncode == 0, scene.stderr
    assert "interfaces: e3-eth1" in lines
    assert "marked 137" in lines
    assert "other lives" in lines
    assert any(line.startswith("mine ") for line in lines)
    assert not any(line.startswith("e3-eth1") for line in lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["slotwise-backup", "up"]
