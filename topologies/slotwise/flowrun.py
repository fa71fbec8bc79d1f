# SPDX-License-Identifier: Apache-2.0
"""Runs flows between Mininet hosts with programs that people know: iperf3, Python's HTTP server, curl, sha256sum."""

import asyncio
import json
import random
import shutil
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from mininet.node import Node

from slotwise.process import ProcessError, all_output, let_go, output_of, running, wait_for_line, waiting
from slotwise.traffic import Flow, kernel_congestion_control

CONNECT_TIMEOUT_MS = 10_000
CHUNK_BYTES = 1 << 20
# iperf3 paces by blocks, of 128 KiB unless told: at 1 Mb/s that would be one burst a second.
BLOCKS_PER_SECOND = 100
MIN_BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 10, 128 << 10


class FlowRun:
    """A flow with its two hosts. First `prepare` (servers listen), then `run`."""

    def __init__(self, flow: Flow, source: Node, destination: Node, port: int):
        self.flow = flow
        self.source = source
        self.destination = destination
        self.port = str(port)
        self.has_ended = False

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.flow.kind} {self.flow.source.name} -> {self.flow.destination.name}"

    async def prepare(self, stack: AsyncExitStack, seconds: int) -> None:
        """Starts what must listen before the phase starts, and what will send for `seconds`; it ends with `stack`."""
        raise NotImplementedError

    async def run(self) -> dict:
        """Sends until its time is over, or until all is sent, and returns the event that tells what arrived."""
        raise NotImplementedError

    def _event(self, name: str, **facts) -> dict:
        flow = self.flow
        of_run = {"name": flow.name} if flow.name else {}
        return {
            "event": name,
            "phase": flow.phase,
            "entry": flow.entry,
            **of_run,
            "from": flow.source.name,
            "to": flow.destination.name,
            **facts,
        }


class IperfRun(FlowRun):
    """`tcp` and `udp`: iperf3, measured at the receiver. Its UDP is evenly spaced; other processes are the engine's. A process waits at both
    ends before the phase starts: begun one by one, on a busy machine, they would send seconds apart, as the first ones do so by then."""

    async def prepare(self, stack: AsyncExitStack, seconds: int) -> None:
        server = await stack.enter_async_context(
            running(
                self.destination,
                "iperf3",
                "--server",
                "--one-off",
                "--port",
                self.port,
                "--interval",
                "0",
                "--forceflush",
            )
        )
        await wait_for_line(server, self.destination, "listening")
        self.client = await stack.enter_async_context(waiting(self.source, *self._client(seconds)))

    async def run(self) -> dict:
        let_go(self.client)
        report = json.loads(await all_output(self.client, self.source, "iperf3"))
        if "error" in report:
            raise ProcessError(f"iperf3: {report['error']}")
        end = report["end"]
        received = end["sum_received"]
        if self.flow.kind == "udp":
            lost = {"lost_packets": received["lost_packets"]}
        else:
            lost = {"stream": {"retransmissions": end["sum_sent"]["retransmits"]}}
        return self._event(
            "flow",
            kind=self.flow.kind,
            bytes=received["bytes"],
            seconds=received["seconds"],
            goodput_bps=received["bits_per_second"],
            **lost,
        )

    def _client(self, seconds: int) -> list[str]:
        options = self.flow.options
        command = [
            "iperf3",
            "--client",
            self.flow.destination.ip,
            "--port",
            self.port,
            "--time",
            str(seconds),
            "--json",
            "--interval",
            "0",
            "--connect-timeout",
            str(CONNECT_TIMEOUT_MS),
            "--parallel",
            str(options.get("streams", 1)),
        ]
        if self.flow.kind == "udp":
            return [*command, "--udp", "--bitrate", str(options["rate_bps"]), "--length", str(options["payload_bytes"])]
        command += ["--congestion", kernel_congestion_control(options)]
        if "bytes" in options:
            # Instead of a time.
            command[command.index("--time") : command.index("--time") + 2] = ["--bytes", str(options["bytes"])]
        if "rate_bps" in options:
            block = min(max(options["rate_bps"] // 8 // BLOCKS_PER_SECOND, MIN_BLOCK_BYTES), MAX_BLOCK_BYTES)
            return [*command, "--bitrate", str(options["rate_bps"]), "--length", str(block)]
        return command


class FileRun(FlowRun):
    """`file`: pseudo-random bytes over HTTP, with a SHA-256 taken in each of the two hosts."""

    def __init__(self, flow: Flow, source: Node, destination: Node, port: int, directory: Path, seed: int):
        super().__init__(flow, source, destination, port)
        name = f"{flow.phase}-{flow.entry}"
        self.seed = f"{seed}/{name}"
        self.sent = directory / "sent" / f"{name}.bin"
        self.received = directory / "received" / f"{name}.bin"

    async def prepare(self, stack: AsyncExitStack, seconds: int) -> None:
        for file in (self.sent, self.received):
            file.parent.mkdir(parents=True, exist_ok=True)
            stack.callback(file.unlink, missing_ok=True)
        await asyncio.to_thread(write_pseudo_random, self.sent, self.flow.options["bytes"], self.seed)
        server = await stack.enter_async_context(
            running(
                self.source,
                sys.executable,
                "-P",
                "-m",
                "slotwise.fileserver",
                self.flow.source.ip,
                self.port,
                str(self.sent.parent),
                kernel_congestion_control(self.flow.options),
            )
        )
        await wait_for_line(server, self.source, "listening")

    async def run(self) -> dict:
        url = f"http://{self.flow.source.ip}:{self.port}/{self.sent.name}"
        told = await output_of(
            self.destination,
            "curl",
            "--fail",
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--output",
            str(self.received),
            "--write-out",
            "%{size_download} %{time_total}",
            url,
        )
        size, duration = told.split()
        sent = await self._sha256(self.source, self.sent)
        received = await self._sha256(self.destination, self.received)
        return self._event(
            "file",
            bytes=int(size),
            seconds=float(duration),
            goodput_bps=8 * int(size) / max(float(duration), 1e-6),
            sha256_sent=sent,
            sha256_received=received,
            intact=sent == received,
        )

    @staticmethod
    async def _sha256(host: Node, file: Path) -> str:
        return (await output_of(host, "sha256sum", str(file))).split()[0]


def write_pseudo_random(file: Path, size: int, seed: str) -> None:
    """Writes `size` bytes that depend only on `seed`. Raises ProcessError where the disk is too small for two copies."""
    free = shutil.disk_usage(file.parent).free
    if free < 2 * size:
        raise ProcessError(
            f"{file.parent}: {free} bytes free; a file of {size} bytes is needed twice, sent and received"
        )
    generator = random.Random(seed)
    with open(file, "wb") as output:
        output.writelines(
            generator.randbytes(min(CHUNK_BYTES, size - offset)) for offset in range(0, size, CHUNK_BYTES)
        )
