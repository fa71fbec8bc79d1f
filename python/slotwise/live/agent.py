# SPDX-License-Identifier: Apache-2.0
"""The host agent: `python3 -m slotwise.live.agent`, started by `slotwise emulate` in a network namespace.

It builds a scenario's hosts with Mininet and runs phases on command. JSON lines on standard input; the first one is the resolved
scenario (schema/resolved.schema.json):

    {"name": "star4", "hosts": [...], "flows": [...], ...}
    {"command": "phase", "index": 0, "patience_ms": 60000}
    {"command": "quit"}                                      (so does the end of the input)

A phase that is not over after `patience_ms` is given up. Flows over the whole run start with phase 0, and the last phase waits for
them. On standard output: `ready` (pid, ports), `phase_started`, `flow`, `file`, `phase_done`, `error`, `vanished`. Flows run for their
time rounded up to seconds, iperf3's unit; a phase ends when its time is over and its files have arrived. A flow that fails is an
`error` with its phase; the phase goes on. A host that ends is `vanished`: others would wait for it, so the agent ends too.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from mininet.net import Mininet
from mininet.node import Host

from slotwise.live import net as network
from slotwise.live.flowrun import FileRun, FlowRun, IperfRun
from slotwise.live.process import ProcessError, die_with_parent
from slotwise.resolved import Flow, Resolved

MAX_PATIENCE_MS = 864_000_000
READ_BYTES = 1 << 16
WATCH_PERIOD_S = 0.2
# Flows that a message names.
MOST_NAMED = 3


class CommandError(Exception):
    """A line on standard input that is not a valid command at this time."""


class Agent:
    """Agent that executes commands for one network of hosts."""

    def __init__(self, resolved: Resolved, net: Mininet, directory: Path, read: bytes = b""):
        """`read`: input read so far."""
        self.resolved = resolved
        self.hosts = {host.name: host for host in resolved.hosts}
        self.read = read
        self.net = net
        self.directory = directory
        self.phase: asyncio.Task | None = None
        # Flows that last as long as the run, and their servers.
        self.whole: asyncio.Task | None = None
        self.of_run: list[FlowRun] = []
        self.kept = AsyncExitStack()
        self.has_lost_a_host = False

    async def serve(self) -> None:
        """Runs until `quit`, the end of the input, SIGINT or SIGTERM, or until a host has vanished."""
        loop = asyncio.get_running_loop()
        here = asyncio.current_task()
        assert here
        is_ending = False

        def interrupt() -> None:
            # What is ending already would leave processes behind if it were cancelled.
            if not is_ending:
                here.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        lines = asyncio.StreamReader()
        lines.feed_data(self.read)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        emit({"event": "ready", "pid": os.getpid(), "ports": network.access_ports(self.net)})
        watch = asyncio.create_task(self._watch_hosts(here))
        try:
            while line := await lines.readline():
                try:
                    if not self._obey(parse_command(line, len(self.resolved.phases))):
                        break
                except CommandError as error:
                    emit({"event": "error", "message": str(error)})
        except asyncio.CancelledError:
            pass
        finally:
            is_ending = True
            watch.cancel()
            for task in (self.phase, self.whole):
                if task:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            await self.kept.aclose()

    async def _watch_hosts(self, serving: asyncio.Task) -> None:
        """Ends the agent when a host's shell, which holds its namespace, has ended."""
        while not self.has_lost_a_host:
            await asyncio.sleep(WATCH_PERIOD_S)
            for host in self._vanished():
                self.has_lost_a_host = True
                emit({"event": "vanished", "host": host.name})
        serving.cancel()

    def _vanished(self) -> list[Host]:
        return [host for host in self.net.hosts if host.shell.poll() is not None]

    def _tell_of(self, error: dict) -> None:
        """Reports an error of a phase, unless a host has vanished, which is reported instead."""
        if not self._vanished():
            emit({"event": "error", **error})

    def _obey(self, command: dict) -> bool:
        """Executes a command. Returns false for `quit`."""
        if command["command"] == "quit":
            return False
        if self.phase and not self.phase.done():
            raise CommandError("a phase is still running; expected its phase_done first")
        self.phase = asyncio.create_task(self._run_phase(command["index"], command["patience_ms"] / 1000))
        return True

    async def _run_phase(self, index: int, patience_s: float) -> None:
        phase = self.resolved.phases[index]
        waited_for: list[FlowRun] = []
        try:
            async with asyncio.timeout(patience_s), AsyncExitStack() as stack:
                if index == 0:
                    self.of_run = await self._prepared(None, self.kept)
                waited_for = await self._prepared(index, stack)
                emit({"event": "phase_started", "phase": index})
                if self.of_run and not self.whole:
                    self.whole = asyncio.create_task(self._play(self.of_run, 0, self.resolved.duration_ms))
                await self._play(waited_for, phase.start_ms, phase.stop_ms)
                if self.whole and index == self.last:
                    waited_for = self.of_run
                    await self.whole
        except TimeoutError:
            self._tell_of({"phase": index, "message": f"timed out after {patience_s:g} s{still_there(waited_for)}"})
        except ProcessError as error:
            self._tell_of({"phase": index, "message": str(error)})
        emit({"event": "phase_done", "phase": index})

    @property
    def last(self) -> int:
        """Index of the last phase, which has the results of flows over the whole run."""
        return len(self.resolved.phases) - 1

    async def _prepared(self, phase: int | None, stack: AsyncExitStack) -> list[FlowRun]:
        """Flows of a phase, or over the whole run, that hosts generate and whose servers listen."""
        flows = [flow for flow in self.resolved.flows if flow.kernel and flow.phase == phase]
        runs = [self._flow_run(flow) for flow in flows]
        ready = await asyncio.gather(*(self._guarded(run, run.prepare(stack, seconds_of(run.flow))) for run in runs))
        return [run for run, prepared in zip(runs, ready, strict=True) if prepared]

    async def _play(self, runs: list[FlowRun], start_ms: int, stop_ms: int) -> None:
        """Runs flows, at least for the time from `start_ms` to `stop_ms`."""
        work = (self._guarded(run, self._finish(run, start_ms)) for run in runs)
        await asyncio.gather(asyncio.sleep((stop_ms - start_ms) / 1000), *work)

    @staticmethod
    async def _finish(run: FlowRun, now_ms: int) -> None:
        await asyncio.sleep((run.flow.start_ms - now_ms) / 1000)
        emit(await run.run())
        run.has_ended = True

    async def _guarded(self, run: FlowRun, work: Awaitable[None]) -> bool:
        """Returns true if `work` of one flow succeeded; a failure is reported and does not affect other flows."""
        try:
            await work
            return True
        except (ProcessError, OSError, ValueError, KeyError) as error:
            run.has_ended = True
            self._tell_of({"phase": run.phase, "entry": run.flow.entry, "message": f"{run.title}: {error}"})
            return False

    def _flow_run(self, flow: Flow) -> FlowRun:
        if flow.port is None:
            raise ProcessError("too many concurrent flows; expected a port for each")
        source, destination = self.hosts[flow.source], self.hosts[flow.destination]
        phase = self.last if flow.phase is None else flow.phase
        nodes = self.net.get(source.node), self.net.get(destination.node)
        if flow.kind == "file":
            return FileRun(flow, phase, *nodes, source.address, self.directory, self.resolved.seed)
        return IperfRun(flow, phase, *nodes, destination.address)


def still_there(runs: list[FlowRun]) -> str:
    """Unfinished flows as the end of a sentence; empty if all have ended."""
    left = [run.title for run in runs if not run.has_ended]
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return f"; unfinished: {', '.join(left[:MOST_NAMED])}{more}" if left else ""


def seconds_of(flow: Flow) -> int:
    """Sending time of a flow in s, iperf3's unit."""
    return max(1, -(-(flow.stop_ms - flow.start_ms) // 1000))


def first_line() -> tuple[bytes, bytes]:
    """Reads the first line of standard input; returns it and the input read after it."""
    read = b""
    while b"\n" not in read and (part := os.read(sys.stdin.fileno(), READ_BYTES)):
        read += part
    line, _, rest = read.partition(b"\n")
    return line, rest


def parse_command(line: bytes, phases: int) -> dict:
    """Parses and checks a command. Raises CommandError."""
    try:
        command = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"not JSON: {error}") from error
    if command == {"command": "quit"}:
        return command
    if not isinstance(command, dict) or command.get("command") != "phase":
        raise CommandError('expected {"command": "phase", "index": N, "patience_ms": N} or {"command": "quit"}')
    for key, low, high in (("index", 0, phases - 1), ("patience_ms", 1, MAX_PATIENCE_MS)):
        value = command.get(key)
        if type(value) is not int or not low <= value <= high:
            raise CommandError(f"{key}: expected an integer from {low} to {high}")
    return command


def cpu_mask(text: str) -> str:
    """Checks a CPU mask: hexadecimal digits in comma-separated groups of 32 bits. Raises ArgumentTypeError."""
    if not re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8})*", text):
        raise argparse.ArgumentTypeError(f"expected hexadecimal digits such as 3 or 1,00000000, got {text!r}")
    return text


def emit(event: dict) -> None:
    """Writes one JSON line to standard output."""
    print(json.dumps(event), flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Runs the agent; exit status 0 after a regular end."""
    parser = argparse.ArgumentParser(prog="slotwise.live.agent", description="Mininet hosts for `slotwise emulate`.")
    parser.add_argument(
        "--receive-cpus",
        type=cpu_mask,
        metavar="MASK",
        help="CPUs that process packets for hosts, as a hexadecimal mask",
    )
    options = parser.parse_args(arguments)
    die_with_parent()
    try:
        line, rest = first_line()
        resolved = Resolved.parse(line)
        net = network.start(resolved, options.receive_cpus)
    except (network.NetworkError, OSError, ValueError) as error:
        emit({"event": "error", "message": str(error)})
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="slotwise-hosts-") as directory:
            agent = Agent(resolved, net, Path(directory), rest)
            asyncio.run(agent.serve())
            if agent.has_lost_a_host:
                # Mininet would wait for its shell. What is left ends with the namespaces.
                return 1
    except BaseException:
        stop(net)
        raise
    stop(net)
    return 0


def stop(net: Mininet) -> None:
    """Removes hosts and interfaces. Further requests to end are ignored meanwhile, except SIGKILL."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    net.stop()


if __name__ == "__main__":
    sys.exit(main())
