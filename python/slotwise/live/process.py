# SPDX-License-Identifier: Apache-2.0
"""Processes in a host's namespaces that never outlive the process that started them."""

import asyncio
import ctypes
import os
import select
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from mininet.node import Node

from slotwise.errors import SlotwiseError

PR_SET_PDEATHSIG = 1
GRACE_S = 1
"""Time for processes of a host to end after SIGTERM."""


class ProcessError(SlotwiseError):
    """Failure of a program in a host."""


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends for any reason."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


def open_network(pid: int) -> int | None:
    """Descriptor of the network namespace of a process, or None if the process does not exist or its namespace is not readable. While it is
    open, no other namespace can have the same number."""
    try:
        return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def end_all_in(network: int) -> None:
    """Ends every process in a network namespace other than the caller's, given its descriptor: by SIGTERM, and after GRACE_S by SIGKILL."""
    if os.path.samestat(os.fstat(network), os.stat("/proc/self/ns/net")):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with ExitStack() as stack:
            left = _processes_in(network, stack)
            if not left:
                return
            ends = select.poll()
            for descriptor in left:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, number)
                ends.register(descriptor, select.POLLIN)
            deadline = time.monotonic() + GRACE_S
            while left and (ended := ends.poll(max(0, deadline - time.monotonic()) * 1000)):
                for descriptor, _ in ended:
                    ends.unregister(descriptor)
                    left.remove(descriptor)


def _processes_in(network: int, stack: ExitStack) -> set[int]:
    """Descriptors of the processes in a network namespace, which `stack` closes."""
    wanted = os.fstat(network)
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        # First the descriptor: it is of the process that is looked at then, whatever gets its number later.
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(int(process.name))
            try:
                is_in = os.path.samestat(os.stat(process / "ns" / "net"), wanted)
            except OSError:
                is_in = False  # it has ended, or nobody may ask
            if is_in:
                stack.callback(os.close, descriptor)
                found.add(descriptor)
            else:
                os.close(descriptor)
    return found


@asynccontextmanager
async def running(host: Node, *command: str, stdin: int = DEVNULL) -> AsyncIterator[Process]:
    """Runs `command` in the host's network; killed when the context ends."""
    process = await asyncio.create_subprocess_exec(
        "setpriv",
        "--pdeathsig",
        "KILL",
        "mnexec",
        "-a",
        str(host.pid),
        *command,
        stdin=stdin,
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"LC_ALL": "C", "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def waiting(host: Node, *command: str) -> AsyncIterator[Process]:
    """Runs `command` in the host's network after `let_go`; until then a shell waits in its place."""
    async with running(
        host, "sh", "-c", 'echo waiting && read -r _ && exec "$@"', "sh", *command, stdin=PIPE
    ) as process:
        await wait_for_line(process, host, "waiting")
        yield process


def let_go(process: Process) -> None:
    """Starts a command that `waiting` holds back."""
    with suppress(ConnectionError):  # how it has ended, its output says
        process.stdin.write(b"\n")
        process.stdin.close()


async def output_of(host: Node, *command: str) -> str:
    """Returns standard output of `command` in the host's network. Raises ProcessError if it fails."""
    async with running(host, *command) as process:
        return await all_output(process, host, command[0])


async def all_output(process: Process, host: Node, program: str) -> str:
    """Returns standard output of `program` after its end. Raises ProcessError if it fails."""
    output, errors = await process.communicate()
    if process.returncode != 0:
        reason = (errors or output).decode(errors="replace").strip()
        raise ProcessError(f"{host.name}: {program} ended with status {process.returncode}: {reason}")
    return output.decode()


async def wait_for_line(process: Process, host: Node, text: str) -> None:
    """Reads the process's standard output until a line has `text`."""
    async for line in process.stdout:
        if text in line.decode(errors="replace"):
            return
    errors = (await process.stderr.read()).decode(errors="replace").strip()
    raise ProcessError(f"{host.name}: process ended before printing '{text}': {errors}")
