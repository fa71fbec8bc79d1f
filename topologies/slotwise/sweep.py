# SPDX-License-Identifier: Apache-2.0
"""A scenario over a grid of parameters and seeds: each run in virtual time, on all cores or on a Dask cluster, into one partitioned set of Parquet files.

    from slotwise.sweep import Sweep
    Sweep("star4.yaml", {"/controller/scheduler": ["fair", "islip"]}, seeds=range(1, 4)).run("results").frame("queues")

```text
OUT/sweep.json                                            what this set is of
OUT/TABLE/PARAMETER=VALUE/.../seed=SEED/part-0.parquet    what `slotwise simulate --columns` writes, to the byte
OUT/runs/PARAMETER=VALUE/.../seed=SEED/part-0.parquet     one row: the verdict, the report, SHA-256 of the other files
```
"""

import copy
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from slotwise import command, farm, pointer, results, scenario
from slotwise.document import PROBLEM, Document
from slotwise.errors import InvalidArgument, SlotwiseError
from slotwise.farm import Job, Made
from slotwise.results import Results, Stored
from slotwise.rundir import RunDirectory
from slotwise.scenario import Problem, ScenarioError

MOST_RUNS = 1_000_000
MOST_TEXT_BYTES = 80
"""Of a value: it is part of a file's name, in which each byte may take three."""
MOST_LISTED = 20
"""Failed runs in the message of an error."""
AMBIGUOUS = re.compile('[,="]')
"""In text that stands in the name of a run."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
TAKEN = frozenset({"seed", *results.COLUMNS_OF_RUNS})

Value = str | int | float | bool | None
Axis = list | tuple | range | Mapping[str, Mapping[str, object]]


class SweepFailed(SlotwiseError):
    """Runs came to no report, or wrote no such table; those that came to one stay, and are not made again."""

    def __init__(self, message: str, runs: Mapping[str, str] | None = None):
        self.runs = dict(runs or {})
        """By name why each of those without a report has none; `Results.failed` has them, too."""
        super().__init__(message)


class Point(NamedTuple):
    """A place in the grid."""

    values: dict[str, Value]
    """Of each parameter."""
    text: str
    """The scenario there."""

    @property
    def name(self) -> str:
        """In messages."""
        return ", ".join(f"{name}={_shown(value)}" for name, value in self.values.items()) or "the scenario"


def _shown(value: Value) -> str:
    return json.dumps(value) if isinstance(value, str) and AMBIGUOUS.search(value) else str(value)


class Sweep:
    """Runs of a scenario at each point of a grid with each seed."""

    def __init__(
        self,
        base: str | Path | dict | Document,
        grid: Mapping[str, Axis] | None = None,
        seeds: Iterable[int] = (1,),
        *,
        duration_s: float | None = None,
        sample_frames: int | None = None,
        tables: Iterable[str] | None = None,
    ):
        """`base`: a file, a dictionary, or what a builder made. `grid`: by JSON pointer (as `set` in docs/experiments.md) the values to put there; its last
        word is the parameter's name. Or by the parameter's name a dictionary of its values' names, each with what to put at which pointers:
        `{"load": {"low": {"/phases/0/traffic/0/rate_bps": 10_000_000}, "high": {...}}}`. `seeds` are those of each point. `duration_s` and `sample_frames` as
        `Document.simulate` has them; `tables` are those to keep, all unless given.

        Raises InvalidArgument, ScenarioError, or OSError.
        """
        self._directory = Path(base).resolve().parent if isinstance(base, (str, Path)) else Path.cwd()
        if isinstance(base, (str, Path)):
            document = scenario.load(base)
        else:
            document = copy.deepcopy(base.scenario if isinstance(base, Document) else base)
        self.source = str(base) if isinstance(base, (str, Path)) else f"scenario '{document.get('name')}'"
        self._base = scenario.placed(document, self._directory)
        self.axes = _axes(grid or {})
        self.seeds = _seeds(seeds)
        count = math.prod([len(axis) for axis in self.axes.values()]) * len(self.seeds)
        if count > MOST_RUNS:
            raise InvalidArgument(
                f"{count} runs; expected at most {MOST_RUNS}: fewer values or seeds, or several sweeps"
            )
        self._options = {"duration_s": duration_s, "sample_frames": sample_frames}
        self._tables = None if tables is None else sorted(tables)

    def __len__(self) -> int:
        """Number of its runs."""
        return math.prod([len(axis) for axis in self.axes.values()]) * len(self.seeds)

    def points(self) -> Iterator[Point]:
        """All points of the grid, the last parameter changing first. Raises InvalidArgument where a pointer points nowhere."""
        for chosen in itertools.product(*(axis.items() for axis in self.axes.values())):
            document = copy.deepcopy(self._base)
            for axis, (_, changes) in zip(self.axes, chosen, strict=True):
                for where, new in changes.items():
                    try:
                        pointer.put(document, where, new)
                    except pointer.Nowhere as error:
                        raise InvalidArgument(
                            f"parameter '{axis}': {self.source} has nothing at {where}; expected a JSON pointer into it"
                        ) from error
            yield Point(
                {axis: value for axis, (value, _) in zip(self.axes, chosen, strict=True)}, scenario.dump(document)
            )

    def run(
        self,
        out: str | Path,
        on: "str | object | None" = None,
        *,
        workers: int | None = None,
        on_run: Callable[[str, bool], None] | None = None,
    ) -> Results:
        """Makes what is not there yet of the set in the directory `out`, and returns it. `on`, `workers`: where, as `farm.connect` has it. `on_run` hears the
        name of each run that has ended, and whether all was well with it. A run whose invariants did not hold is a result (`Results.failed`). One that comes
        to no report is none: the others are made, and SweepFailed lists those at the end.

        The same files come out, to the byte, wherever runs are made and in whatever order. Raises before anything runs ScenarioError with all that is wrong
        at the first point that is, InvalidArgument, NoScheduler, OtherVersion, MissingPackage; then SweepFailed, LostRun, ResultsError.
        """
        self._check_points()
        files = tuple(_named_files(self._base))
        stored = Stored(Path(out), self._about(farm.identity(files)), list(self.axes))
        with farm.connect(on, workers) as workers_there:
            runs: dict[str, tuple[dict, int, str]] = {}
            failed: dict[str, str] = {}
            for job, made in workers_there.run(self._jobs(stored, runs, files)):
                run = runs.pop(job.name)
                report, reason = _report(made)
                if report is None:
                    failed[job.name] = reason
                    stored.put_failed(*run, reason)
                else:
                    self._store(stored, job, made, run, report)
                if on_run:
                    on_run(job.name, report is not None and bool(report["verdict"]["ok"]))
        if failed:
            raise SweepFailed(_listed(failed, len(self), out), failed)
        return Results(Path(out))

    def _jobs(self, stored: Stored, runs: dict, files: tuple[str, ...]) -> Iterator[Job]:
        """What is not there yet; `runs` gets what each is."""
        words = ["simulate", "{input}", "--columns", "{out}/columns", "--report", "{out}/report.json"]
        for option, value in self._options.items():
            if value is not None:
                words += [{"duration_s": "--duration", "sample_frames": "--sample-frames"}[option], str(value)]
        for point in self.points():
            digest = sha256(point.text.encode()).hexdigest()
            for seed in self.seeds:
                if not stored.has(point.values, seed, digest):
                    name = f"{point.name}, seed {seed}"
                    runs[name] = point.values, seed, digest
                    yield Job(name, (*words, "--seed", str(seed)), point.text, files)

    def _store(self, stored: Stored, job: Job, made: Made, run: tuple[dict, int, str], report: dict) -> None:
        tables = {Path(name).stem: content for name, content in made.files.items() if name.startswith("columns/")}
        kept = {name: content for name, content in tables.items() if self._tables is None or name in self._tables}
        if missing := [name for name in self._tables or () if name not in tables]:
            raise SweepFailed(f"{job.name}: the run wrote no table {', '.join(missing)}; it has {', '.join(tables)}")
        stored.put(*run, report, kept)

    def _about(self, identity: dict[str, str]) -> dict:
        """What all runs of a set have in common."""
        return {
            "scenario": sha256(scenario.dump(self._base).encode()).hexdigest(),
            "parameters": list(self.axes),
            **self._options,
            "tables": self._tables,
            "made_by": identity,
        }

    def _check_points(self) -> None:
        with RunDirectory("sweep") as directory:
            file = Path(directory, "scenario.yaml")
            for point in self.points():
                file.write_text(point.text)
                ended = command.check(str(file))
                if ended.status != 0:
                    problems = [
                        Problem("" if each[1] == "/" else each[1], each[2])
                        for each in map(PROBLEM.fullmatch, ended.said)
                        if each
                    ]
                    where = f"{self.source} with {point.name}"
                    raise ScenarioError(where, problems or [Problem("", ended.reason.replace(str(file), where))])


def _report(made: Made) -> tuple[dict | None, str]:
    """Of a run that came to its end; or none, and why it did not. Elsewhere, or another time, it may."""
    try:
        report = json.loads(made.files["report.json"])
        controller, (_, failures) = report["controller"], (report["verdict"]["ok"], report["verdict"]["failures"])
    except (KeyError, ValueError, TypeError):
        return None, f"slotwise simulate ended with status {made.status} and without a report: {made.reason}"
    if controller is None or "interrupted" in failures:
        return None, f"did not come to its end: {'; '.join(failures)}"
    return report, ""


def _listed(failed: Mapping[str, str], runs: int, out: str | Path) -> str:
    """What SweepFailed says: of many runs the first."""
    shown = [f"{name}: {reason}" for name, reason in itertools.islice(failed.items(), MOST_LISTED)]
    if len(failed) > MOST_LISTED:
        shown.append(f"{len(failed) - MOST_LISTED} more: Results('{out}').failed() has them all")
    return "\n  ".join(
        [f"{len(failed)} of {runs} runs came to no report, and are made again when the sweep is run again:", *shown]
    )


def _axes(grid: Mapping[str, Axis]) -> dict[str, dict[Value, dict[str, object]]]:
    """By parameter and value what is put at which pointers. Raises InvalidArgument."""
    axes: dict[str, dict[Value, dict[str, object]]] = {}
    for key, given in grid.items():
        is_named = isinstance(given, Mapping)
        name = key if is_named else _last_word(key)
        if not NAME.fullmatch(name) or name in TAKEN:
            raise InvalidArgument(
                f"grid: '{name}' is no name of a parameter; expected a letter, then letters, digits, '_', '.' or '-', and not {', '.join(sorted(TAKEN))}"
            )
        if name in axes:
            raise InvalidArgument(
                f"grid: two parameters are called '{name}'; give one a name: {{'name': {{'value': {{'{key}': ...}}}}}}"
            )
        if not is_named and not isinstance(given, (list, tuple, range)):
            raise InvalidArgument(f"grid: {key}: expected a list of values, got {given!r}")
        if not given:
            raise InvalidArgument(f"grid: {key}: no values; expected at least one")
        changes = dict(given) if is_named else {_scalar(key, value): {key: value} for value in given}
        if len(changes) < len(given):
            raise InvalidArgument(f"grid: {key}: a value is there twice")
        same: dict[str, Value] = {}
        for value, of_value in changes.items():
            other = same.setdefault(results.part(_scalar(key, value)), value)
            if other is not value:
                raise InvalidArgument(
                    f"grid: {key}: {other!r} and {value!r} would be one value in the set; expected values that are written differently"
                )
            if not isinstance(of_value, Mapping):
                raise InvalidArgument(f"grid: {key}: {value}: expected what to put by JSON pointer, got {of_value!r}")
        _check_column(key, list(changes))
        axes[name] = changes
    return axes


def _check_column(key: str, values: list[Value]) -> None:
    """Refuses numbers that would be others in one column. Raises InvalidArgument."""
    fraction = next((value for value in values if isinstance(value, float)), None)
    for value in values:
        if fraction is not None and isinstance(value, int) and value in results.INT64 and not results.is_exact(value):
            raise InvalidArgument(
                f"grid: {key}: {value} would be {float(value):.0f} in one column with {fraction}; expected integers up to 2^53 beside fractions, or names for the values: "
                f"{{'name': {{'value': {{'{key}': ...}}}}}}"
            )


def _last_word(where: str) -> str:
    """Of a pointer, that is no number or star."""
    words = [
        word for word in where.split("/") if word and word != "-" and not word.isdecimal() and not word.endswith("*")
    ]
    if not where.startswith("/") or not words:
        raise InvalidArgument(
            f"grid: '{where}' is no JSON pointer such as /controller/scheduler; or expected a dictionary of named values with it"
        )
    return words[-1]


def _scalar(key: str, value: object) -> Value:
    """A value that can be part of a file's name and a column."""
    if value == results.NONE:
        raise InvalidArgument(f"grid: {key}: '{value}' is what a set has for None; expected None, or another text")
    if isinstance(value, str) and 0 < len(value.encode()) <= MOST_TEXT_BYTES and value.isprintable():
        return value
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidArgument(
        f"grid: {key}: {value!r} cannot be a column's value; expected a number, true, false, None or up to {MOST_TEXT_BYTES} bytes of text, or a name for it: "
        f"{{'name': {{'value': {{'{key}': ...}}}}}}"
    )


def _seeds(seeds: Iterable[int]) -> list[int]:
    listed = list(itertools.islice(seeds, MOST_RUNS + 1))
    if not listed:
        raise InvalidArgument("seeds: none; expected at least one")
    for seed in listed:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
            raise InvalidArgument(f"seeds: expected numbers from 0 on, below 2^63, got {seed!r}")
    if len(set(listed)) < len(listed):
        raise InvalidArgument("seeds: a seed is there twice")
    return listed


def _named_files(document: dict) -> Iterator[str]:
    """Schedulers of one's own, which each worker needs."""
    for entry in document.get("schedulers", {}).values():
        yield os.fspath(entry.get("jar") or entry["directory"])
