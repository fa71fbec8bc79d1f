# SPDX-License-Identifier: Apache-2.0
"""P4Runtime over TLS between the controller and the engine's switches. Run as test_runs.py is."""

import json
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from test_runs import ROOT, SLOTWISE

JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
NETWORK = ROOT / "schema" / "examples" / "network-two-edges.json"


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """Signs certificates."""

    def __init__(self, directory: Path, name: str):
        self.certificate, self._key = directory / f"{name}.pem", directory / f"{name}.key"
        openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "1",
            "-subj",
            f"/CN={name}",
            "-keyout",
            str(self._key),
            "-out",
            str(self.certificate),
        )

    def sign(self, directory: Path, name: str, address: str = "127.0.0.1") -> tuple[Path, Path]:
        """A certificate for an address, and its key (PKCS #8)."""
        request, key, certificate = (directory / f"{name}.{kind}" for kind in ("csr", "key", "pem"))
        openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName=IP:{address}",
            "-keyout",
            str(key),
            "-out",
            str(request),
        )
        openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            str(self.certificate),
            "-CAkey",
            str(self._key),
            "-CAcreateserial",
            "-days",
            "1",
            "-copy_extensions",
            "copy",
            "-out",
            str(certificate),
        )
        return certificate, key


@pytest.fixture(scope="module", name="pki")
def public_key_infrastructure(tmp_path_factory):
    """The switches' authority, another one, and a certificate of the first for each end."""
    directory = tmp_path_factory.mktemp("pki")
    authority, other = Authority(directory, "authority"), Authority(directory, "other")
    return {
        "ca": authority.certificate,
        "other": other.certificate,
        "switch": authority.sign(directory, "switch"),
        "controller": authority.sign(directory, "controller"),
    }


@pytest.fixture(scope="module", name="switches")
def running_switches(pki):
    """Addresses of a core and two edges that take TLS with clients' certificates only, by device id."""
    certificate, key = pki["switch"]
    network = json.loads(NETWORK.read_text())
    with ExitStack() as stack:
        addresses = {}
        for device in [*network["cores"], *network["edges"]]:
            number = str(device["device_id"])
            switch = stack.enter_context(
                subprocess.Popen(
                    [
                        SLOTWISE,
                        "switch",
                        "--no-p4",
                        "--device-id",
                        number,
                        "--",
                        "--grpc-server-addr",
                        "127.0.0.1:0",
                        "--cpu-port",
                        "510",
                        "--grpc-server-ssl",
                        "--grpc-server-cert",
                        certificate,
                        "--grpc-server-key",
                        key,
                        "--grpc-server-cacert",
                        pki["ca"],
                        "--grpc-server-with-client-auth",
                    ],
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(switch.terminate)
            addresses[number] = re.search(r"P4Runtime on ([\d.:]+)", switch.stdout.readline())[1]
        yield addresses


def controller(
    stack: ExitStack, directory: Path, addresses: dict[str, str], tls: dict[str, Path], log: int
) -> subprocess.Popen:
    """Starts one whose log goes to `log`; with an empty `tls` it speaks plain text."""
    config = {
        "p4runtime": {"address": next(iter(addresses.values())), "devices": addresses},
        "rest": {"port": 0},
        "store": str(directory / "store"),
        "clock": "wall",
        "pipelines": {
            program: {"json": str(P4C_OUT / f"{program}.json"), "p4info": str(P4C_OUT / f"{program}.p4info.txtpb")}
            for program in ("edge", "core")
        },
        "network": json.loads(NETWORK.read_text()),
    }
    if tls:
        config["p4runtime"]["tls"] = {key: str(file) for key, file in tls.items()}
    file = directory / "controller.json"
    file.write_text(json.dumps(config))
    process = stack.enter_context(
        subprocess.Popen(
            ["java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", str(JAR), "--config", str(file)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    )
    stack.callback(process.terminate)
    return process


def test_switches_are_configured_over_mutual_tls(pki, switches, tmp_path):
    certificate, key = pki["controller"]
    with ExitStack() as stack:
        process = controller(
            stack, tmp_path, switches, {"ca": pki["ca"], "certificate": certificate, "key": key}, subprocess.DEVNULL
        )
        assert json.loads(process.stdout.readline())["event"] == "ready"


@pytest.mark.parametrize("case", ["wrong authority", "no certificate", "plain text"])
def test_a_controller_that_is_not_trusted_gets_nowhere(pki, switches, tmp_path, case):
    certificate, key = pki["controller"]
    tls = {
        "wrong authority": {"ca": pki["other"], "certificate": certificate, "key": key},
        "no certificate": {"ca": pki["ca"]},
        "plain text": {},
    }[case]
    with ExitStack() as stack:
        process = controller(stack, tmp_path, switches, tls, subprocess.PIPE)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "lost:" in line:
                break
        assert "lost:" in lines[-1], "".join(lines)
        assert not any("ready," in line for line in lines), "".join(lines)
