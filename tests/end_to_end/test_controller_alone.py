# SPDX-License-Identifier: Apache-2.0
"""The standalone controller where no switch is. Run as test_runs.py is."""

import json
import subprocess
from contextlib import ExitStack

from chain import spawn
from test_runs import ROOT

JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
NOBODY = "127.0.0.1:9"


def test_it_says_what_it_waits_for(tmp_path):
    config = tmp_path / "controller.json"
    config.write_text(
        json.dumps(
            {
                "p4runtime": {"address": NOBODY},
                "rest": {"port": 0},
                "store": str(tmp_path / "store"),
                "clock": "wall",
                "pipelines": {
                    program: {
                        "json": str(P4C_OUT / f"{program}.json"),
                        "p4info": str(P4C_OUT / f"{program}.p4info.txtpb"),
                    }
                    for program in ("edge", "core")
                },
                "network": json.loads((ROOT / "schema" / "examples" / "network-star4.json").read_text()),
            }
        )
    )
    with ExitStack() as stack:
        controller = spawn(
            stack,
            "java",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-jar",
            str(JAR),
            "--config",
            str(config),
            stderr=subprocess.PIPE,
        )
        said = next(line for line in controller.stderr if "StandaloneController" in line or " lost: " in line)
        assert "REST is at http://127.0.0.1:" in said
        assert f"waiting for 5 switches: device 1 at {NOBODY}, ..." in said
