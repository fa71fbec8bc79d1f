# SPDX-License-Identifier: Apache-2.0
"""Runs under a controller that `slotwise emulate` did not start: a star, routers and both, on the engine and on stock BMv2. Run as test_runs.py is."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from test_runs import ROOT, Emulation, assert_nothing_is_left, load_report, slotwise

pytestmark = pytest.mark.nightly

ROUTERS = ROOT / "topologies" / "routers4.yaml"
ROUTERS_FOR_BMV2 = ROOT / "topologies" / "routers4-bmv2.yaml"
STAR = ROOT / "topologies" / "star3-bmv2.yaml"
MIX = ROOT / "topologies" / "mixed.yaml"
MIX_FOR_BMV2 = ROOT / "topologies" / "mixed-bmv2.yaml"
NETCFG = json.loads((ROOT / "controller" / "onos-app" / "netcfg-star3-bmv2.json").read_text())
JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
EXTERNAL = ("--target", "bmv2", "--external-controller")
LAST_DEVICE = "device 1001:"

needs_bmv2 = pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on the PATH")


def told_addresses(output: str) -> dict[str, str]:
    """P4Runtime servers by device id, as the command tells them."""
    return dict(re.findall(r"^  device (\d+): ([\d.]+:\d+)$", output, re.MULTILINE))


@contextmanager
def standalone_controller(directory: Path, addresses: dict[str, str], network: dict, programs: tuple[str, ...]):
    """The standalone controller of a network whose switches are at `addresses`, or all at one that is called "all"."""
    config = directory / "controller.json"
    config.write_text(
        json.dumps(
            {
                "p4runtime": {
                    "address": next(iter(addresses.values())),
                    "devices": {name: address for name, address in addresses.items() if name != "all"},
                },
                "rest": {"port": 0},
                "store": str(directory / "store"),
                "clock": "wall",
                "pipelines": {
                    program: {
                        "json": str(P4C_OUT / f"{program}.json"),
                        "p4info": str(P4C_OUT / f"{program}.p4info.txtpb"),
                    }
                    for program in programs
                },
                "network": network,
            }
        )
    )
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", str(JAR), "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@needs_bmv2
def test_another_controller_drives_a_star_of_bmv2(tmp_path):
    path = tmp_path / "report.json"
    with Emulation(*EXTERNAL, "--duration", 4, "--report", path, scenario=STAR) as run:
        run.read_until(LAST_DEVICE)
        addresses = told_addresses(run.output)
        configured = {
            device.rsplit(":", 1)[-1]: re.search(r"//(.*)\?", entry["basic"]["managementAddress"])[1]
            for device, entry in NETCFG["devices"].items()
        }
        assert configured == addresses, "ONOS would look elsewhere"
        with standalone_controller(
            tmp_path, addresses, NETCFG["apps"]["org.slotwise.app"]["network"], ("edge", "core")
        ):
            assert run.finish() == 0, run.output
    report = load_report(path)
    assert report["verdict"]["ok"] and report["controller"] is None
    assert [report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")] == [0, 0, 0, 0]
    assert all(sum(pair["delivered_bytes"]) > 0 for pair in report["series"]["pairs"])


def test_another_controller_drives_routers(tmp_path):
    path, network = tmp_path / "report.json", tmp_path / "network.json"
    told = slotwise("check", ROUTERS, "--network", network)
    assert told.returncode == 0, told.stderr
    with Emulation(
        "--external-controller", "--p4runtime-port", 0, "--duration", 3, "--report", path, scenario=ROUTERS
    ) as run:
        run.read_until("waiting for a controller at ")
        address = re.search(r"at ([\d.]+:\d+) ", run.output)[1]
        with standalone_controller(tmp_path, {"all": address}, json.loads(network.read_text()), ("router",)):
            assert run.finish() == 0, run.output
    report = load_report(path)
    assert report["verdict"]["ok"] and report["controller"] is None
    (phase,) = report["phases"]
    assert len(phase["flows"]) == 4 and all(flow["bytes"] > 0 for flow in phase["flows"])


def test_another_controller_drives_a_mix(tmp_path):
    path, network = tmp_path / "report.json", tmp_path / "network.json"
    told = slotwise("check", MIX, "--network", network)
    assert told.returncode == 0, told.stderr
    with Emulation(
        "--external-controller", "--p4runtime-port", 0, "--duration", 4, "--report", path, scenario=MIX
    ) as run:
        run.read_until("waiting for a controller at ")
        address = re.search(r"at ([\d.]+:\d+) ", run.output)[1]
        with standalone_controller(
            tmp_path, {"all": address}, json.loads(network.read_text()), ("edge", "core", "router")
        ):
            assert run.finish() == 0, run.output
    report = load_report(path)
    assert report["verdict"]["ok"] and report["controller"] is None
    assert report["invariants"] == {
        "collision": 0,
        "guard": 0,
        "ungranted": 0,
        "duplicate": 0,
        "astray": 0,
        "first": [],
    }
    flows = report["phases"][-1]["flows"]
    assert {flow.get("name", "busy").split(".")[0] for flow in flows} == {"across", "wide", "down", "busy"}
    assert all(flow["bytes"] > 0 for flow in flows), flows


@needs_bmv2
def test_another_controller_drives_a_mix_of_bmv2(tmp_path):
    path, network = tmp_path / "report.json", tmp_path / "network.json"
    assert slotwise("check", MIX_FOR_BMV2, "--target", "bmv2", "--network", network).returncode == 0
    told = json.loads(network.read_text())
    with Emulation(*EXTERNAL, "--p4runtime-port", 0, "--duration", 6, "--report", path, scenario=MIX_FOR_BMV2) as run:
        run.read_until("device 2002:")
        with standalone_controller(tmp_path, told_addresses(run.output), told, ("edge", "core", "router")):
            assert run.finish() == 0, run.output
    flows = load_report(path)["phases"][-1]["flows"]
    assert len(flows) == 3 and all(flow["bytes"] > 0 for flow in flows), flows


@needs_bmv2
def test_another_controller_drives_routers_of_bmv2(tmp_path):
    path, network = tmp_path / "report.json", tmp_path / "network.json"
    assert slotwise("check", ROUTERS_FOR_BMV2, "--network", network).returncode == 0
    with Emulation(
        *EXTERNAL, "--p4runtime-port", 0, "--duration", 3, "--report", path, scenario=ROUTERS_FOR_BMV2
    ) as run:
        run.read_until("device 2004:")
        with standalone_controller(tmp_path, told_addresses(run.output), json.loads(network.read_text()), ("router",)):
            assert run.finish() == 0, run.output
    (phase,) = load_report(path)["phases"]
    assert len(phase["flows"]) == 4 and all(flow["bytes"] > 0 for flow in phase["flows"])


@needs_bmv2
def test_a_run_that_waits_for_a_controller_can_be_ended():
    with Emulation(*EXTERNAL, scenario=STAR) as run:
        run.read_until(LAST_DEVICE)
        descendants = run.descendants()
        run.process.terminate()
        assert run.finish() == 1
    assert "interrupted" in run.output
    assert_nothing_is_left(descendants)
