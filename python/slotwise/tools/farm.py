# SPDX-License-Identifier: Apache-2.0
"""Many runs of the engine's command on Dask: in processes on this machine, or on the workers of a scheduler.

A worker receives a `Job`: arguments of `slotwise`, and the text of one file. It returns the content of the files written.
"""

import asyncio
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from slotwise.errors import InvalidArgument, MissingPackage, SlotwiseError
from slotwise.tools import command, home
from slotwise.tools.command import RunDirectory

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

ANSWER_S = 10
"""Timeout for a scheduler to answer and to have a worker."""
JOBS_A_THREAD = 3
LEAST_AHEAD = 8
"""Minimum number of submitted jobs, else JOBS_A_THREAD per thread of all workers, so that workers are never idle."""
LOOPBACK = "127.0.0.1:0"
INPUT = "input"
"""Name of a job's file in the directory of its run; in the job's arguments, `{input}` is that file and `{out}` the output directory."""


class FarmError(SlotwiseError):
    """Runs that cannot be executed on the workers."""


class NoScheduler(FarmError):
    """No scheduler at an address, or no workers."""


class OtherVersion(FarmError):
    """A worker with another version of Slotwise, whose results can differ."""


class LostRun(FarmError):
    """A run whose worker died at each attempt."""


class Job(NamedTuple):
    """A run of the engine's command."""

    name: str
    """Name of the job in messages."""
    words: tuple[str, ...]
    """Arguments of `slotwise`; the command must support --until-input-ends, which is added."""
    text: str
    """Content of the job's file."""
    files: tuple[str, ...] = ()
    """Absolute paths of other files that the text names; they must exist with the same content on all machines."""


class Made(NamedTuple):
    """Result of a job."""

    status: int
    """Exit status of the command."""
    reason: str
    """Last lines of its standard error."""
    files: dict[str, bytes]
    """Content of the files written, by path below the output directory."""


def identity(files: Iterable[str] = ()) -> dict[str, str]:
    """SHA-256 of everything besides the job that results depend on, by name: engine, controller, P4 programs and `files`. Raises
    home.CommandNotFound, home.HomeNotFound, FarmError."""
    found = dict(_identity(home.slotwise_command()))
    for file in files:
        found[file] = _digest(Path(file))
    return found


@lru_cache
def _identity(slotwise: str) -> dict[str, str]:
    engine = Path(shutil.which(slotwise) or slotwise).resolve()
    root = home.engine_root(engine)
    programs = sorted((root / home.PROGRAMS).glob("*.*"))
    return {
        "engine": _digest(engine),
        "controller": _digest(root / home.CONTROLLER),
        **{f"P4 program {file.name}": _digest(file) for file in programs},
    }


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of all files below a directory."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    try:
        digests = [f"{file.relative_to(path)} {sha256(file.read_bytes()).hexdigest()}" for file in files]
    except OSError as error:
        raise FarmError(f"{error.filename}: {error.strerror}; expected all files of a run on each machine") from error
    return sha256("\n".join(digests).encode()).hexdigest()


def make(job: Job, expected: dict[str, str]) -> Made:
    """Executes a job on a worker, in a separate directory. Raises OtherVersion, home.CommandNotFound, FarmError."""
    check_same(expected, identity(job.files), "this worker")
    with RunDirectory("farm") as directory:
        file, out = Path(directory, INPUT), Path(directory, "out")
        try:
            file.write_text(job.text)
            out.mkdir()
        except OSError as error:
            raise FarmError(f"{job.name}: {error.filename}: {error.strerror}") from error
        words = (word.format(input=file, out=out) for word in job.words)
        ended = command.run(*words, directory=directory, quiet=True)
        reason = ended.reason.replace(str(file), job.name).replace(str(out), "out")
        files = {str(each.relative_to(out)): each.read_bytes() for each in sorted(out.rglob("*")) if each.is_file()}
    return Made(ended.status, reason, files)


def check_same(expected: dict[str, str], found: dict[str, str], who: str) -> None:
    """Raises OtherVersion if results of `who` can differ."""
    other = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if other:
        raise OtherVersion(
            f"{who} has another version of Slotwise: different {', '.join(other)}; "
            "expected the same wheel, or the same build, on each machine"
        )


class Farm:
    """Workers of this version of Slotwise, made by `connect`."""

    def __init__(self, client: "Client", where: str):
        self._client = client
        self._distributed = _import()
        self.where = where
        """Name of the farm in errors."""

    @property
    def threads(self) -> int:
        """Number of runs that can be executed at once."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return sum(worker["nthreads"] for worker in workers.values())

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Made]]:
        """Yields each job with its result, in order of completion. Only a few jobs are submitted at a time, so that memory does not grow
        with their number. Runs of workers that die are repeated. Raises OtherVersion, LostRun, FarmError."""
        expected = identity()
        self._check_workers(expected)
        jobs, run = iter(jobs), uuid4().hex
        ahead: dict[str, tuple[Job, Any]] = {}
        # The loop of another client, the default one, would wait for futures that it does not have.
        futures = self._distributed.as_completed(loop=self._client.loop)
        try:
            while True:
                while len(ahead) < max(LEAST_AHEAD, JOBS_A_THREAD * self.threads) and (job := next(jobs, None)):
                    key = f"slotwise-{run}-{job.name}"
                    of_job = expected | {file: _digest(Path(file)) for file in job.files}
                    future = self._client.submit(make, job, of_job, key=key, pure=False)
                    ahead[key] = job, future
                    futures.add(future)
                if not ahead:
                    return
                future = next(futures)
                job, _ = ahead.pop(future.key)
                made = self._result(future, job)
                # What the scheduler and the worker still hold of it goes with it.
                future.release()
                yield job, made
        finally:
            # A scheduler that is gone has none of them; what it was that ended all this is said already.
            with suppress(self._distributed.client.ClosedClientError):
                self._client.cancel([future for _, future in ahead.values()], force=True)

    def _result(self, future: Any, job: Job) -> Made:
        try:
            return future.result()
        except self._distributed.KilledWorker as error:
            raise LostRun(
                f"{job.name}: all {error.allowed_failures + 1} workers that executed the run died; check the available memory"
            ) from error
        except (SlotwiseError, MemoryError, OSError) as error:
            raise (
                type(error)(f"{job.name}: {error}")
                if isinstance(error, FarmError)
                else FarmError(f"{job.name}: {error}")
            ) from error
        except Exception as error:
            # Whatever Dask has: the connection is lost, a worker cannot load this package.
            raise FarmError(f"{self.where}: {job.name}: {type(error).__name__}: {error}") from error

    def _check_workers(self, expected: dict[str, str]) -> None:
        """Rejects workers of other versions before the first run; workers that join later are checked with each job."""
        for worker, found in self._client.run(identity, on_error="return").items():
            if isinstance(found, ModuleNotFoundError):
                raise FarmError(f"worker {worker}: {found}; expected Slotwise's Python package on each worker")
            if isinstance(found, BaseException):
                raise FarmError(f"worker {worker}: {found}") from found
            check_same(expected, found, f"worker {worker}")


@contextmanager
def connect(on: "str | Client | None" = None, workers: int | None = None) -> Iterator[Farm]:
    """Workers on this machine, one per core or `workers`; or those of the scheduler at the address `on`, or of a `distributed.Client`.
    Workers on this machine are threads of this process that start processes, so that sockets listen on loopback only. Raises
    NoScheduler, InvalidArgument, MissingPackage."""
    distributed = _import()
    if on is not None and workers is not None:
        raise InvalidArgument("workers: not allowed with a scheduler; expected either `on` or `workers`")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InvalidArgument(f"workers: expected an integer of at least 1, got {workers!r}")
    if isinstance(on, distributed.Client):
        yield Farm(on, on.scheduler.address)
    elif on is None:
        here = workers or len(os.sched_getaffinity(0))
        with (
            RunDirectory("farm") as scratch,
            _cluster_here(distributed, here, scratch) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield Farm(client, "this machine")
    else:
        with _client(distributed, on) as client:
            yield Farm(client, on)


def _cluster_here(distributed: ModuleType, workers: int, scratch: str) -> "LocalCluster":
    settings: dict[str, Any] = {
        # Dask's own servers of pages listen on all addresses unless told otherwise, and have nothing to say here.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        # A machine that slept has lost none of its own workers.
        "distributed.scheduler.worker-ttl": None,
        # It leaves files behind there.
        "temporary-directory": scratch,
    }
    with import_module("dask").config.set(settings):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=LOOPBACK,
            worker_dashboard_address=LOOPBACK,
            # What takes memory is no part of the worker's process.
            memory_limit=0,
        )


@contextmanager
def _client(distributed: ModuleType, address: str) -> Iterator["Client"]:
    try:
        # In a thread: whoever calls may have a loop of its own, as notebooks do.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _greet(distributed, address)).result()
        client = distributed.Client(address, timeout=ANSWER_S)
    except (OSError, ValueError, TypeError, ImportError, AttributeError) as error:
        raise NoScheduler(
            f"{address}: no Dask scheduler answers ({' '.join(str(error).split()) or type(error).__name__}); expected the address printed by `dask scheduler`, "
            "such as tcp://10.0.0.1:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWER_S)
        except TimeoutError as error:
            raise NoScheduler(f"{address}: the scheduler has no workers; `dask worker {address}` starts one") from error
        yield client


async def _greet(distributed: ModuleType, address: str) -> None:
    """Connects and disconnects: a `Client` without a scheduler is closed by the garbage collector, possibly in the thread where the next
    client starts, and both would wait for each other."""
    connect = import_module("distributed.comm").connect
    comm = await connect(address, timeout=ANSWER_S, **distributed.Security().get_connection_args("client"))
    await comm.close()


def _import() -> ModuleType:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise MissingPackage(
            "distributed is required for many runs but not installed; run `pip install 'slotwise[sweeps]'` (in a clone python/[sweeps]), "
            "or use build/venv of a clone"
        ) from error
