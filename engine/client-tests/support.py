# SPDX-License-Identifier: Apache-2.0
"""What the tests with either client share: a switch between veth pairs, and frames."""

import os
import re
import socket
import subprocess
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "crates" / "p4runtime" / "tests" / "programs"
JSON = PROGRAMS / "entities.json"
P4INFO = PROGRAMS / "entities.p4info.txtpb"
PORTS = [1, 2, 3, 4]
ETHER_TYPE = 0x88B6
"""Of frames that the kernel does not make."""
TAGGED = 0x88B5
"""Of frames that the program parses further, once it is in the value set."""
PATIENCE_S = 10
"""Limit for an event that comes at once unless there is a defect."""


def frame(dst: int, src: int = 99, ether_type: int = ETHER_TYPE, payload: bytes = bytes(46)) -> bytes:
    """An Ethernet frame."""
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + ether_type.to_bytes(2, "big") + payload


class Cable:
    """The far end of a port of the switch."""

    def __init__(self, port: int):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((f"test{port}", 0))
        self.socket.settimeout(PATIENCE_S)

    def send(self, data: bytes) -> None:
        """A frame goes to the switch."""
        self.socket.send(data)

    def receive(self) -> bytes:
        """The next frame from the switch."""
        while True:
            data, address = self.socket.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING:
                return data


class Switch:
    """A running `slotwise switch`."""

    def __init__(self, *options: str):
        interfaces = [word for port in PORTS for word in ("-i", f"{port}@switch{port}")]
        command = [os.environ["SLOTWISE"], "switch", *interfaces, "--grpc-server-addr", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        found = re.search(r"P4Runtime on ([\d.:]+),", ready)
        assert found, f"the switch did not start: {ready!r}"
        self.address = found[1]

    def stop(self) -> None:
        """Ends it; status 0 if it succeeded."""
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE_S) == 0
        self.process.stdout.close()
