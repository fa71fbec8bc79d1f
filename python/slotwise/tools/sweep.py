# SPDX-License-Identifier: Apache-2.0
"""Parameter sweeps: a scenario over a grid of parameters and seeds, simulated on all cores or on a Dask cluster, into one partitioned data set of Parquet files.

    from slotwise.tools.sweep import Sweep
    Sweep("star4.yaml", {"/controller/scheduler": ["fair", "islip"]}, seeds=range(1, 4)).run("results").frame("queues")

```text
OUT/sweep.json                                            properties of the sweep
OUT/TABLE/PARAMETER=VALUE/.../seed=SEED/part-0.parquet    byte-identical output of `slotwise simulate --columns`
OUT/runs/PARAMETER=VALUE/.../seed=SEED/part-0.parquet     one row: verdict, report, SHA-256 of the other files
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
from typing import Any, NamedTuple

from slotwise import scenario
from slotwise.errors import InvalidArgument, SlotwiseError
from slotwise.network import Scenario
from slotwise.results import dataset
from slotwise.results.dataset import Results, Stored
from slotwise.scenario import ScenarioError
from slotwise.tools import farm
from slotwise.tools.farm import Job, Made

MOST_RUNS = 1_000_000
MOST_TEXT_BYTES = 80
"""Limit on the text of a value, which is part of a file name with up to three characters per byte."""
MAX_LISTED = 20
"""Number of failed runs in an error message."""
AMBIGUOUS = re.compile('[,="]')
"""Characters of a value that are quoted in the name of a run."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
TAKEN = frozenset({"seed", *dataset.COLUMNS_OF_RUNS})

Value = str | int | float | bool | None
Axis = list | tuple | range | Mapping[str, Mapping[str, object]]


class Nowhere(LookupError):
    """A JSON pointer to a place that does not exist."""


class SweepFailed(SlotwiseError):
    """Runs that ended without a report, or without a requested table; the others stay, and are not repeated."""

    def __init__(self, message: str, runs: Mapping[str, str] | None = None):
        self.runs = dict(runs or {})
        """Reasons by name of the runs without a report; `Results.failed` has them, too."""
        super().__init__(message)


class Point(NamedTuple):
    """A point of the grid."""

    values: dict[str, Value]
    """Values of the parameters."""
    text: str
    """Scenario at the point."""

    @property
    def name(self) -> str:
        """Name of the point in messages."""
        return ", ".join(f"{name}={_shown(value)}" for name, value in self.values.items()) or "the scenario"


def _shown(value: Value) -> str:
    return json.dumps(value) if isinstance(value, str) and AMBIGUOUS.search(value) else str(value)


class Sweep:
    """Runs of a scenario at each point of a grid with each seed."""

    def __init__(
        self,
        base: str | Path | dict | Scenario,
        grid: Mapping[str, Axis] | None = None,
        seeds: Iterable[int] = (1,),
        *,
        duration_s: float | None = None,
        sample_frames: int | None = None,
        tables: Iterable[str] | None = None,
    ):
        """`base`: a file, a dictionary, or a scenario from a builder. `grid`: values by JSON pointer (as `set` in docs/experiments.md), where the
        last word of the pointer is the parameter's name; or by the parameter's name a dictionary of named values, each with the values to set by
        JSON pointer: `{"load": {"low": {"/phases/0/flows/0/tcp/rate_bps": 10_000_000}, "high": {...}}}`. `seeds`: seeds of the runs at each point.
        `duration_s` and `sample_frames`: see `Scenario.simulate`. `tables`: tables to store (default: all).

        Raises InvalidArgument, ScenarioError, or OSError.
        """
        self._directory = Path(base).resolve().parent if isinstance(base, (str, Path)) else Path.cwd()
        if isinstance(base, (str, Path)):
            document = scenario.load(base)
        else:
            document = copy.deepcopy(base.scenario if isinstance(base, Scenario) else base)
        self.source = str(base) if isinstance(base, (str, Path)) else f"scenario '{document.get('name')}'"
        self._base = scenario.placed(document, self._directory)
        self.axes = _axes(grid or {})
        self.seeds = _seeds(seeds)
        count = math.prod([len(axis) for axis in self.axes.values()]) * len(self.seeds)
        if count > MOST_RUNS:
            raise InvalidArgument(
                f"{count} runs; expected at most {MOST_RUNS} (use fewer values or seeds, or several sweeps)"
            )
        self._options = {"duration_s": duration_s, "sample_frames": sample_frames}
        self._tables = None if tables is None else sorted(tables)

    def __len__(self) -> int:
        """Number of runs."""
        return math.prod([len(axis) for axis in self.axes.values()]) * len(self.seeds)

    def points(self) -> Iterator[Point]:
        """All points of the grid; the last parameter changes first. Raises InvalidArgument for a pointer to a place that does not exist."""
        for chosen in itertools.product(*(axis.items() for axis in self.axes.values())):
            document = copy.deepcopy(self._base)
            for axis, (_, changes) in zip(self.axes, chosen, strict=True):
                for where, new in changes.items():
                    try:
                        put(document, where, new)
                    except Nowhere as error:
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
        fresh: bool = False,
    ) -> Results:
        """Executes the missing runs of the data set in the directory `out`, and returns the data set; with `fresh` all runs, after the data set
        in `out` is deleted. A stored run with a damaged file counts as missing, with a DamagedRun warning. `on`, `workers`: as in `farm.connect`.
        `on_run` is called with the name of each completed run, and true if it passed. A run with violated invariants is a result
        (`Results.failed`); runs that end without a report are not, and are listed by SweepFailed after the others.

        Files are byte-identical, independent of place and order of the runs. Raises before the first run: ScenarioError with all problems of the
        first invalid point, InvalidArgument, NoScheduler, OtherVersion, MissingPackage; later: SweepFailed, LostRun, ResultsError.
        """
        self._check_points()
        files = tuple(_named_files(self._base))
        stored = Stored(Path(out), self._about(farm.identity(files)), list(self.axes), fresh=fresh)
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
        """Jobs of the missing runs; their values, seeds and digests are added to `runs`."""
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
            raise SweepFailed(
                f"{job.name}: the run wrote no table {', '.join(missing)}; expected one of {', '.join(tables)}"
            )
        stored.put(*run, report, kept)

    def _about(self, identity: dict[str, str]) -> dict:
        """Properties common to all runs of a data set."""
        return {
            "scenario": sha256(scenario.dump(self._base).encode()).hexdigest(),
            "parameters": list(self.axes),
            **self._options,
            "tables": self._tables,
            "made_by": identity,
        }

    def _check_points(self) -> None:
        for point in self.points():
            if found := scenario.problems(scenario.INPUT, text=point.text):
                problems = [problem._replace(place="") for problem in found]
                raise ScenarioError(f"{self.source} with {point.name}", problems)


def _report(made: Made) -> tuple[dict | None, str]:
    """Report of a completed run, or None and the reason."""
    try:
        report = json.loads(made.files["report.json"])
        controller, (_, failures) = report["controller"], (report["verdict"]["ok"], report["verdict"]["failures"])
    except (KeyError, ValueError, TypeError):
        return None, f"slotwise simulate ended with status {made.status} without a report: {made.reason}"
    if controller is None or "interrupted" in failures:
        return None, f"incomplete run: {'; '.join(failures)}"
    return report, ""


def _listed(failed: Mapping[str, str], runs: int, out: str | Path) -> str:
    """Message of SweepFailed, with the first failed runs."""
    shown = [f"{name}: {reason}" for name, reason in itertools.islice(failed.items(), MAX_LISTED)]
    if len(failed) > MAX_LISTED:
        shown.append(f"{len(failed) - MAX_LISTED} more: see Results('{out}').failed()")
    return "\n  ".join(
        [f"{len(failed)} of {runs} runs ended without a report; running the sweep again repeats them:", *shown]
    )


def _axes(grid: Mapping[str, Axis]) -> dict[str, dict[Value, dict[str, object]]]:
    """Changes by JSON pointer, for each parameter and value. Raises InvalidArgument."""
    axes: dict[str, dict[Value, dict[str, object]]] = {}
    for key, given in grid.items():
        name = key if isinstance(given, Mapping) else _last_word(key)
        if not NAME.fullmatch(name) or name in TAKEN:
            raise InvalidArgument(
                f"grid: invalid parameter name '{name}'; expected a letter, then letters, digits, '_', '.' or '-', and not {', '.join(sorted(TAKEN))}"
            )
        if name in axes:
            raise InvalidArgument(
                f"grid: duplicate parameter name '{name}'; expected a named one: {{'name': {{'value': {{'{key}': ...}}}}}}"
            )
        if not isinstance(given, (Mapping, list, tuple, range)):
            raise InvalidArgument(f"grid: {key}: expected a list of values, got {given!r}")
        if not given:
            raise InvalidArgument(f"grid: {key}: no values; expected at least one")
        changes: dict[Value, Any]
        if isinstance(given, Mapping):
            changes = {value: of_value for value, of_value in given.items()}  # noqa: C416
        else:
            changes = {_scalar(key, value): {key: value} for value in given}
        if len(changes) < len(given):
            raise InvalidArgument(f"grid: {key}: duplicate value; expected each value once")
        same: dict[str, Value] = {}
        for value, of_value in changes.items():
            other = same.setdefault(dataset.part(_scalar(key, value)), value)
            if other is not value:
                raise InvalidArgument(
                    f"grid: {key}: {other!r} and {value!r} have the same text in the data set; expected values with different texts"
                )
            if not isinstance(of_value, Mapping):
                raise InvalidArgument(f"grid: {key}: {value}: expected values by JSON pointer, got {of_value!r}")
        _check_column(key, list(changes))
        axes[name] = changes
    return axes


def _check_column(key: str, values: list[Value]) -> None:
    """Rejects numbers that are not exact in one column. Raises InvalidArgument."""
    fraction = next((value for value in values if isinstance(value, float)), None)
    for value in values:
        if fraction is not None and isinstance(value, int) and value in dataset.INT64 and not dataset.is_exact(value):
            raise InvalidArgument(
                f"grid: {key}: {value} becomes {float(value):.0f} in a column with {fraction}; expected integers up to 2^53 with fractions, or named values: "
                f"{{'name': {{'value': {{'{key}': ...}}}}}}"
            )


def _last_word(where: str) -> str:
    """Last part of a pointer that is not an index or an asterisk."""
    words = [
        word for word in where.split("/") if word and word != "-" and not word.isdecimal() and not word.endswith("*")
    ]
    if not where.startswith("/") or not words:
        raise InvalidArgument(
            f"grid: '{where}' is not a JSON pointer; expected one such as /controller/scheduler, or a parameter name with a dictionary of named values"
        )
    return words[-1]


def _scalar(key: str, value: object) -> Value:
    """Value that can be part of a file name, and of a column. Raises InvalidArgument."""
    if value == dataset.NONE:
        raise InvalidArgument(f"grid: {key}: '{value}' represents None in a data set; expected None, or another text")
    if isinstance(value, str) and 0 < len(value.encode()) <= MOST_TEXT_BYTES and value.isprintable():
        return value
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidArgument(
        f"grid: {key}: {value!r} is not valid in a column; expected a number, true, false, None or up to {MOST_TEXT_BYTES} bytes of text, or a named value: "
        f"{{'name': {{'value': {{'{key}': ...}}}}}}"
    )


def _seeds(seeds: Iterable[int]) -> list[int]:
    listed = list(itertools.islice(seeds, MOST_RUNS + 1))
    if not listed:
        raise InvalidArgument("seeds: none; expected at least one")
    for seed in listed:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
            raise InvalidArgument(f"seeds: expected integers from 0 to 2^63 - 1, got {seed!r}")
    if len(set(listed)) < len(listed):
        raise InvalidArgument("seeds: duplicate seed; expected each seed once")
    return listed


def _named_files(document: dict) -> Iterator[str]:
    """Files of custom schedulers, which each worker needs."""
    for entry in document.get("schedulers", {}).values():
        yield os.fspath(entry.get("jar") or entry["directory"])


def put(document: dict, pointer: str, new: object) -> None:
    """Sets the value at a JSON pointer whose parent exists: `/-` at its end appends, `*` matches all elements of a list, `NAME*` those whose
    `name` has this prefix, None deletes. Raises Nowhere."""
    first, *steps = pointer.split("/")
    if first or not steps:
        raise Nowhere(pointer)
    try:
        _put(document, steps, new)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise Nowhere(pointer) from error


def _put(place: object, steps: list[str], new: object) -> None:
    step, *rest = steps
    if isinstance(place, dict):
        if rest:
            _put(place[step], rest, new)
        elif new is None:
            del place[step]
        else:
            place[step] = copy.deepcopy(new)
    elif not isinstance(place, list):
        raise TypeError
    elif step == "-" and not rest:
        place.append(copy.deepcopy(new))
    elif step.endswith("*"):
        for number in _meant(place, step):
            _put_part(place, number, rest, new)
    else:
        if not step.isascii() or not step.isdecimal():
            raise ValueError
        _put_part(place, int(step), rest, new)


def _meant(place: list, step: str) -> list[int]:
    """Indices of the elements that a step with an asterisk matches; at least one."""
    beginning = step[:-1]
    if not beginning:
        meant = list(range(len(place)))
    else:
        names = [part.get("name") if isinstance(part, dict) else None for part in place]
        meant = [number for number, name in enumerate(names) if isinstance(name, str) and name.startswith(beginning)]
    if not meant:
        raise IndexError
    return meant


def _put_part(place: list, number: int, rest: list[str], new: object) -> None:
    if rest:
        _put(place[number], rest, new)
    else:
        place[number] = copy.deepcopy(new)
