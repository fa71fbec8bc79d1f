# SPDX-License-Identifier: Apache-2.0
"""docker-compose.yml and docker/, read by parsers: not every machine that runs the tests has a container engine."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILES = sorted((ROOT / "docker").glob("*/Dockerfile"))
ONE_SHOT = {"app", "p4c"}


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, arguments) of each line, continued lines joined."""
    text = re.sub(r"\\\n", " ", dockerfile.read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def is_pinned(image: str) -> bool:
    """A digest, or a version that is a number."""
    return "@sha256:" in image or re.search(r":[^/]*\d+\.\d+", image) is not None


def test_the_compose_file_follows_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*command, ROOT / "docker-compose.yml"], check=True)


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_pinned_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert ("image" in service) != ("build" in service)
    if "image" in service:
        assert is_pinned(re.sub(r"\$\{\w+:-(.*)\}", r"\1", service["image"]))
    else:
        assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    if name not in ONE_SHOT:
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
        assert service["healthcheck"]["retries"] > 1


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_waits_for_exists_and_can_happen(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        assert other in SERVICES
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        else:
            assert how["condition"] == "service_completed_successfully" and other in ONE_SHOT
    mode = SERVICES[name].get("network_mode", "")
    assert not mode.startswith("service:") or mode.removeprefix("service:") in SERVICES


def test_ports_are_published_on_loopback_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)


def test_the_switches_are_where_the_engine_serves_them() -> None:
    netcfg = json.loads((ROOT / "controller/onos-app/netcfg-star4.json").read_text())
    addresses = {device["basic"]["managementAddress"].split("?")[0] for device in netcfg["devices"].values()}
    assert addresses == {"grpc://127.0.0.1:9559"}
    # The network that the app is told is the one that the engine emulates.
    assert "topologies/star4.yaml" in SERVICES["engine"]["command"]
    for name in ("app", "engine", "bmv2"):
        assert SERVICES[name]["network_mode"] == "service:onos"


def test_a_run_that_is_stopped_has_the_time_to_write_its_report() -> None:
    finish = (ROOT / "engine/crates/run/src/emulate/finish.rs").read_text()
    patience_s = int(re.search(r"STOP_PATIENCE: Duration = Duration::from_secs\((\d+)\)", finish)[1])
    runs = [service for service in SERVICES.values() if "--report" in service.get("command", [])]
    assert runs
    for service in runs:
        grace_s = int(re.fullmatch(r"(\d+)s", service["stop_grace_period"])[1])
        # Hosts and controller one after the other, and as long again for what is written.
        assert grace_s >= 3 * patience_s


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_dockerfile_is_pinned_and_copies_what_is_there(dockerfile: Path) -> None:
    parsed = instructions(dockerfile)
    assert parsed[0][0] == "FROM"
    stages = set()
    for instruction, arguments in parsed:
        assert instruction in {"FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD", "EXPOSE"}
        if instruction == "FROM":
            image, *alias = arguments.split()
            assert is_pinned(image)
            stages.update(alias[1:])
        elif instruction in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(word, str) for word in json.loads(arguments))
        elif instruction == "COPY":
            words = arguments.split()
            options = [word for word in words if word.startswith("--")]
            stage = next((word.removeprefix("--from=") for word in options if word.startswith("--from=")), None)
            assert stage is None or stage in stages
            for source in [word for word in words if not word.startswith("--")][:-1] if stage is None else []:
                assert (ROOT / source).exists(), source


def test_an_image_that_builds_with_maven_copies_what_the_poms_read() -> None:
    read = []
    for dockerfile in DOCKERFILES:
        parsed = instructions(dockerfile)
        copied = [
            ROOT / word
            for instruction, arguments in parsed
            if instruction == "COPY" and "--from" not in arguments
            for word in arguments.split()[:-1]
        ]
        for built in re.findall(r"mvn .*--projects (\S+)", "\n".join(arguments for _, arguments in parsed)):
            poms = [ROOT / "controller" / module / "pom.xml" for module in built.split(",")]
            read += [
                (dockerfile.parent.name, ROOT / path, copied)
                for pom in poms
                for path in re.findall(r"\.\./\.\./([\w./-]+)", pom.read_text())
            ]
    assert read
    assert [
        (image, path) for image, path, copied in read if not any(path.is_relative_to(each) for each in copied)
    ] == []


def test_every_dockerfile_is_used() -> None:
    used = {service["build"]["dockerfile"] for service in SERVICES.values() if "build" in service}
    assert used == {str(path.relative_to(ROOT)) for path in DOCKERFILES}


def test_the_install_script_is_a_shell_script() -> None:
    script = ROOT / "docker/onos/install"
    assert script.stat().st_mode & 0o111
    subprocess.run([shutil.which("sh"), "-n", str(script)], check=True)
