# SPDX-License-Identifier: Apache-2.0
"""The host agent: `python3 -m slotwise.live.agent --scenario FILE`, started by `slotwise emulate` in a network namespace.

It builds the scenario's hosts with Mininet and runs phases on command. JSON lines on standard input:

    {"command": "phase", "index": 0, "duration_ms": 6000, "patience_ms": 60000, "by_engine": [2], "run_ms": 9000}
    {"command": "quit"}                                      (so does the end of the input)

A phase that is not over after `patience_ms` is given up. `by_engine`: indices of traffic entries that the engine generates;
`flows_by_engine`: those of the file's `flows`. These last for the whole run of `run_ms` (default: `duration_ms` of the phase): they
start with phase 0, whose command has these keys, and the last phase waits for them. On standard output: `ready` (pid, ports),
`phase_started`, `flow`, `file`, `phase_done`, `error`, `vanished`. Flows run for `duration_ms` rounded up to seconds, iperf3's unit; a
phase ends when its time is over and its files have arrived. A flow that fails is an `error` with its phase; the phase goes on. A host
that ends is `vanished`: others would wait for it, so the agent ends too.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from mininet.net import Mininet
from mininet.node import Host

from slotwise import scenario as scenarios
from slotwise.live import net as network
from slotwise.live.flowrun import FileRun, FlowRun, IperfRun
from slotwise.live.process import ProcessError, die_with_parent
from slotwise.live.traffic import Flow, flows, phase_count, run_flows

FIRST_PORT = 5201
LAST_PORT = 65535
MAX_DURATION_MS = 86_400_000
MAX_PATIENCE_MS = 10 * MAX_DURATION_MS
WATCH_PERIOD_S = 0.2
# Flows that a message names.
MOST_NAMED = 3


class CommandError(Exception):
    """A line on standard input that is not a valid command at this time."""


class Agent:
    """Agent that executes commands for one network of hosts."""

    def __init__(self, scenario: dict, net: Mininet, directory: Path):
        self.scenario = scenario
        self.net = net
        self.directory = directory
        self.phase: asyncio.Task | None = None
        # Flows that last as long as the run, and their servers.
        self.whole: asyncio.Task | None = None
        self.of_run: list[FlowRun] = []
        self.kept = AsyncExitStack()
        # Of a phase's flows: those of the run have the first ones.
        self.first_port = FIRST_PORT
        self.has_lost_a_host = False

    async def serve(self) -> None:
        """Runs until `quit`, the end of the input, SIGINT or SIGTERM, or until a host has vanished."""
        loop = asyncio.get_running_loop()
        here = asyncio.current_task()
        is_ending = False

        def interrupt() -> None:
            # What is ending already would leave processes behind if it were cancelled.
            if not is_ending:
                here.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        lines = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        emit({"event": "ready", "pid": os.getpid(), "ports": network.access_ports(self.net)})
        watch = asyncio.create_task(self._watch_hosts(here))
        try:
            while line := await lines.readline():
                try:
                    if not self._obey(parse_command(line, phase_count(self.scenario))):
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
        self.phase = asyncio.create_task(self._run_phase(command["index"], command["duration_ms"], command))
        return True

    async def _run_phase(self, index: int, duration_ms: int, command: dict) -> None:
        patience_s = command["patience_ms"] / 1000
        run_ms = command.get("run_ms", duration_ms)
        waited_for: list[FlowRun] = []
        try:
            async with asyncio.timeout(patience_s), AsyncExitStack() as stack:
                wanted = run_flows(self.scenario, run_ms) if index == 0 else []
                self.of_run += await self._prepared(wanted, run_ms, command.get("flows_by_engine", []), self.kept)
                self.first_port += len(wanted)
                waited_for = await self._prepared(
                    flows(self.scenario, index), duration_ms, command.get("by_engine", []), stack
                )
                emit({"event": "phase_started", "phase": index})
                if self.of_run and not self.whole:
                    self.whole = asyncio.create_task(self._play(self.of_run, run_ms))
                await self._play(waited_for, duration_ms)
                if self.whole and index == phase_count(self.scenario) - 1:
                    waited_for = self.of_run
                    await self.whole
        except TimeoutError:
            self._tell_of({"phase": index, "message": f"timed out after {patience_s:g} s{still_there(waited_for)}"})
        except ProcessError as error:
            self._tell_of({"phase": index, "message": str(error)})
        emit({"event": "phase_done", "phase": index})

    async def _prepared(
        self, wanted: list[Flow], lasts_ms: int, by_engine: list[int], stack: AsyncExitStack
    ) -> list[FlowRun]:
        """Flows for hosts whose servers listen; they end with `lasts_ms`."""
        ours = [flow for flow in wanted if flow.entry not in by_engine]
        runs = [self._flow_run(port, flow) for port, flow in enumerate(ours, self.first_port)]
        ready = await asyncio.gather(
            *(self._guarded(run, run.prepare(stack, seconds_of(run.flow, lasts_ms))) for run in runs)
        )
        return [run for run, prepared in zip(runs, ready, strict=True) if prepared]

    async def _play(self, runs: list[FlowRun], duration_ms: int) -> None:
        """Runs flows for at least `duration_ms`."""
        work = (self._guarded(run, self._finish(run)) for run in runs)
        await asyncio.gather(asyncio.sleep(duration_ms / 1000), *work)

    @staticmethod
    async def _finish(run: FlowRun) -> None:
        await asyncio.sleep(run.flow.start_ms / 1000)
        emit(await run.run())
        run.has_ended = True

    async def _guarded(self, run: FlowRun, work) -> bool:
        """Returns true if `work` of one flow succeeded; a failure is reported and does not affect other flows."""
        try:
            await work
            return True
        except (ProcessError, OSError, ValueError, KeyError) as error:
            run.has_ended = True
            self._tell_of({"phase": run.flow.phase, "entry": run.flow.entry, "message": f"{run.title}: {error}"})
            return False

    def _flow_run(self, port: int, flow: Flow) -> FlowRun:
        if port > LAST_PORT:
            raise ProcessError(f"too many concurrent flows; expected at most {LAST_PORT - FIRST_PORT + 1}")
        source, destination = self.net.get(flow.source.node), self.net.get(flow.destination.node)
        if flow.kind == "file":
            return FileRun(flow, source, destination, port, self.directory, self.scenario["seed"])
        return IperfRun(flow, source, destination, port)


def still_there(runs: list[FlowRun]) -> str:
    """Unfinished flows as the end of a sentence; empty if all have ended."""
    left = [run.title for run in runs if not run.has_ended]
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return f"; unfinished: {', '.join(left[:MOST_NAMED])}{more}" if left else ""


def seconds_of(flow: Flow, lasts_ms: int) -> int:
    """Sending time of a flow in s, iperf3's unit, so that it ends after `lasts_ms`."""
    return max(1, -(-(lasts_ms - flow.start_ms) // 1000))


def parse_command(line: bytes, phases: int) -> dict:
    """Parses and checks a command. Raises CommandError."""
    try:
        command = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"not JSON: {error}") from error
    if command == {"command": "quit"}:
        return command
    if not isinstance(command, dict) or command.get("command") != "phase":
        raise CommandError('expected {"command": "phase", "index": N, "duration_ms": N} or {"command": "quit"}')
    bounds = {
        "index": (0, phases - 1),
        "duration_ms": (1, MAX_DURATION_MS),
        "patience_ms": (1, MAX_PATIENCE_MS),
        "run_ms": (1, phases * MAX_DURATION_MS),
    }
    for key, (low, high) in bounds.items():
        value = command.get(key, 1 if key == "run_ms" else None)
        if type(value) is not int or not low <= value <= high:
            raise CommandError(f"{key}: expected an integer from {low} to {high}")
    for key in ("by_engine", "flows_by_engine"):
        entries = command.get(key, [])
        if not isinstance(entries, list) or any(type(entry) is not int or entry < 0 for entry in entries):
            raise CommandError(f"{key}: expected a list of indices of entries")
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
    parser.add_argument("--scenario", required=True, metavar="FILE", help="scenario file")
    parser.add_argument(
        "--receive-cpus",
        type=cpu_mask,
        metavar="MASK",
        help="CPUs that process packets for hosts, as a hexadecimal mask",
    )
    options = parser.parse_args(arguments)
    die_with_parent()
    try:
        scenario = scenarios.load(options.scenario)
        net = network.start(scenario, options.receive_cpus)
    except (scenarios.ScenarioError, network.NetworkError, OSError) as error:
        emit({"event": "error", "message": str(error)})
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="slotwise-hosts-") as directory:
            agent = Agent(scenario, net, Path(directory))
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
