# SPDX-License-Identifier: Apache-2.0
"""Mininet's own command in front of the real fabric: a scenario file, a fibre cut by name, report and captures."""
import json
import os
import subprocess

import pytest

from slotwise import home

TIMEOUT_S = 180
TYPED = """h0_0 ping -c 1 -W 5 h2_0
fibre edge2-core0 down
h0_0 ping -c 1 -W 1 h2_0
fibre edge2-core0 up
h0_0 ping -c 5 -W 5 h2_0
fibre edge7-core0 down
exit
"""


def test_a_scenario_file_runs_and_its_fibres_are_cut_by_name(tmp_path):
    if home.root().is_relative_to("/tmp"):
        pytest.skip("the clone is below /tmp, which this test hides: when mn fails it clears /tmp")
    options = "report=/tmp/r.json,pcap=/tmp/captures,pcap_filter=edge?-core0+data,snaplen=80"
    inside = f'mount --make-rprivate / && mount --bind {tmp_path} /tmp && ip link set lo up && exec mn "$@"'
    result = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", inside, "mn",
         "--custom", "topologies/slotwise/mn.py", "--controller", "none", "--topo", f"agile,topologies/star3-short.yaml,{options}"],
        cwd=home.root(), env=os.environ | {"TMPDIR": "/tmp"}, input=TYPED, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    first, cut, mended = (part for part in said.split("ping statistics ---")[1:])
    assert " 1 received" in first, said
    assert " 0 received" in cut, said
    assert " 0 received" not in mended, said
    assert "there is no fibre 'edge7-core0'; expected one of edge0-core0, edge1-core0, edge2-core0" in said
    assert "verdict      ok" in said
    verdict = json.loads((tmp_path / "r.json").read_text())["verdict"]
    assert verdict["ok"]
    assert not [note for note in verdict["notes"] if "has gone" in note]
    captured = {path.name for path in (tmp_path / "captures").iterdir()}
    assert {"edge0-core0.pcap", "edge2-core0.pcap"} <= captured <= {f"edge{edge}-core0.pcap" for edge in range(3)}
