# SPDX-License-Identifier: Apache-2.0
"""A star and routers side by side in one standalone controller, over one P4Runtime session a switch. Run as test_runs.py is."""
import json
import re
import subprocess
import urllib.request
from contextlib import ExitStack

from slotwise.routers import spawn
from test_runs import ROOT, SLOTWISE

JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
NETWORK = ROOT / "schema" / "examples" / "network-mixed.json"


def devices(network: dict) -> list[int]:
    """Numbers of all switches."""
    star, routes = network["apps"]["star"], network["apps"]["routes"]
    return [each["device_id"] for each in [*star["cores"], *star["edges"], *routes["nodes"]]]


def switch(stack: ExitStack, device: int, address: str) -> tuple[subprocess.Popen, str]:
    """A switch that waits for its program, and its address."""
    process = spawn(stack, SLOTWISE, "switch", "--no-p4", "--device-id", str(device), "--", "--grpc-server-addr", address, "--cpu-port", "510")
    return process, re.search(r"P4Runtime on ([\d.:]+)", process.stdout.readline())[1]


def ask(rest: str, path: str, body: dict | None = None) -> dict:
    """What a resource says, or what it says once it was changed."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{rest}/slotwise/v1/{path}", data, {"Content-Type": "application/json"}, method="PUT" if data else "GET")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_star_and_routers_share_a_controller(tmp_path):
    network = json.loads(NETWORK.read_text())
    with ExitStack() as stack:
        switches = {device: switch(stack, device, "127.0.0.1:0") for device in devices(network)}
        config = tmp_path / "controller.json"
        config.write_text(json.dumps({
            "p4runtime": {"address": switches[2001][1], "devices": {str(device): address for device, (_, address) in switches.items()}},
            "rest": {"port": 0},
            "store": str(tmp_path / "store"),
            "clock": "wall",
            "pipelines": {program: {"json": str(P4C_OUT / f"{program}.json"), "p4info": str(P4C_OUT / f"{program}.p4info.txtpb")}
                          for program in ("edge", "core", "router")},
            "network": network,
        }))
        controller = spawn(stack, "java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", str(JAR), "--config", str(config), stderr=subprocess.PIPE)
        ready = json.loads(controller.stdout.readline())
        assert ready["event"] == "ready"
        rest = ready["rest"]
        assert [app["id"] for app in ask(rest, "apps")["apps"]] == ["star", "routes"]
        assert ask(rest, "apps/star/status")["configured"] and ask(rest, "apps/routes/status")["configured"]
        change = {"device_id": 2001, "port": 2, "xcp_bps": 5_000_000}
        assert ask(rest, "apps/routes/capacities", change) == change

        # A router that begins anew gets its tables again; nobody else is asked for anything.
        process, address = switches[2001]
        process.kill()
        process.wait()
        said = iter(controller.stderr.readline, "")
        assert any("device 2001: lost" in line for line in said)
        switch(stack, 2001, address)
        since = []
        for line in said:
            since.append(line)
            if "device 2001: ready, 0 table entries" in line:
                break
        assert not any(f"device {device}: lost" in line for line in since for device in devices(network) if device != 2001), "".join(since)
        assert change in ask(rest, "apps/routes/capacities")["outputs"]
