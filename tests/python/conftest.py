# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files use."""

import json
import os
import stat
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from slotwise import builders

FIRST_ROUTER_ID = 2001
FIRST_STATION_ID = 3001


class Told(NamedTuple):
    """What the engine tells the controller of a host."""

    switch: str
    """Node of its edge or router, as Mininet calls it."""
    port: int
    ip: str
    mac: str


def hosts_told(network: dict) -> dict[str, Told]:
    """All hosts of a network file (`slotwise check --network`) by name."""
    found = {}
    # Of a star alone the file is that one application's.
    apps = network.get("apps", {"star": network})
    for node in apps.get("routes", {"nodes": []})["nodes"]:
        for port in node["ports"]:
            for host in port.get("hosts", []):
                found[host["name"]] = Told(
                    f"r{node['device_id'] - FIRST_ROUTER_ID}", port["port"], host["ip"], host["mac"]
                )
    for station in apps.get("ring", {"stations": []})["stations"]:
        for host in station["hosts"]:
            found[host["name"]] = Told(
                f"s{station['device_id'] - FIRST_STATION_ID}", host["port"], host["ip"], host["mac"]
            )
    for edge in apps.get("ops", {"edges": []})["edges"]:
        for host in edge["hosts"]:
            found[host["name"]] = Told(f"o{edge['number']}", host["port"], host["ip"], host["mac"])
    for edge in apps.get("star", {"edges": []})["edges"]:
        for host in edge["hosts"]:
            # Hosts of routers behind the edge are at a router already; here they are at the port towards that.
            found.setdefault(host["name"], Told(f"e{edge['id']}", host["port"], host["ip"], host["mac"]))
    return found


@pytest.fixture(name="hosts_told")
def fixture_hosts_told():
    """The function, for tests in other files."""
    return hosts_told


@pytest.fixture(scope="session")
def load_script():
    """A function that imports a script without a suffix, and leaves no cache beside it."""

    def load(path: Path) -> ModuleType:
        loader = SourceFileLoader(path.name.replace("-", "_"), str(path))
        module = module_from_spec(spec_from_loader(loader.name, loader))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "dont_write_bytecode", True)
            loader.exec_module(module)
        return module

    return load


@pytest.fixture
def star() -> dict:
    """Four edges with two hosts each and one empty phase."""
    scenario = builders.star(4, 2)
    scenario["phases"] = [{"name": "main", "duration_ms": 1000, "flows": []}]
    return scenario


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips a test where network namespaces cannot be made."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        pytest.skip("needs root and network namespaces")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A stand-in for `slotwise`: keeps its arguments and scenario, and writes the report that the test wants."""

    def make(report: dict | str | None, status: int, said: str = ""):
        (tmp_path / "answer.json").write_text(report if isinstance(report, str) else json.dumps(report))
        script = tmp_path / "slotwise"
        script.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\ncp "$2" {tmp_path}/scenario.yaml\n'
            + (f'cp {tmp_path}/answer.json "$4"\n' if report else "")
            + f"cat >&2 <<END\n{said}\nEND\nexit {status}\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("SLOTWISE_COMMAND", str(script))
        return tmp_path

    return make
