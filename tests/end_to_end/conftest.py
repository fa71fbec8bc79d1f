# SPDX-License-Identifier: Apache-2.0
"""Fixtures of end-to-end tests."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from slotwise.tools import home

CLASSES = home.root() / "controller" / "standalone" / "target"
POOL = "org.slotwise.standalone.ControllerPool"
START_S = 60
# Replaces `java`: the pool runs controllers, the real `java` everything else.
CLIENT = """#!/usr/bin/python3 -IS
import os, signal, socket, sys

arguments = sys.argv[1:]
if "--config" not in arguments or not any(word.endswith("slotwise-controller.jar") for word in arguments):
    os.execv({java!r}, [{java!r}, *arguments])
pool = socket.socket(socket.AF_UNIX)
pool.connect({socket!r})
signal.signal(signal.SIGTERM, lambda *_: pool.shutdown(socket.SHUT_WR))
signal.signal(signal.SIGINT, lambda *_: pool.shutdown(socket.SHUT_WR))
pool.sendall(os.path.abspath(arguments[arguments.index("--config") + 1]).encode() + b"\\n")
for line in pool.makefile(encoding="utf-8"):
    stream, _, text = line.partition(" ")
    if stream == "exit":
        sys.exit(int(text))
    print(text, end="", file=sys.stderr if stream == "err" else sys.stdout, flush=True)
sys.exit(1)
"""


@pytest.fixture(scope="session")
def pool():
    """Directory for the PATH, with a `java` that runs the controllers of all tests in one process."""
    java = shutil.which("java")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory, "pool.sock")
        client = Path(directory, "bin", "java")
        client.parent.mkdir()
        client.write_text(CLIENT.format(java=java, socket=str(place)))
        client.chmod(0o755)
        classes = f"{CLASSES / 'test-classes'}:{CLASSES / 'slotwise-controller.jar'}"
        options = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        with subprocess.Popen([java, *options, "-cp", classes, POOL, place]) as process:
            deadline = time.monotonic() + START_S
            while not place.exists():
                assert process.poll() is None and time.monotonic() < deadline, (
                    f"controller pool: not started; expected {place} within {START_S} s"
                )
                time.sleep(0.05)
            yield client.parent
            process.terminate()


@pytest.fixture
def shared_controller(pool, monkeypatch):
    """Runs the controllers of a test in the process of the pool: for tests of networks, not of processes."""
    monkeypatch.setenv("PATH", f"{pool}:{os.environ['PATH']}")
    monkeypatch.delenv("JAVA_HOME", raising=False)
