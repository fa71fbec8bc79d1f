# SPDX-License-Identifier: Apache-2.0
"""The set of Parquet files of a sweep: how it is kept, and how it is read. `slotwise.sweep` has its layout."""

from __future__ import annotations

import io
import json
import math
import re
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from slotwise.errors import MissingPackage, SlotwiseError, UnknownTable
from slotwise.files import put

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow.dataset import Dataset

ABOUT = "sweep.json"
RUNS = "runs"
PART = "part-0.parquet"
NONE = "__HIVE_DEFAULT_PARTITION__"
"""As sets of this form have it."""
COLUMNS_OF_RUNS = ("ok", "failures", "scenario_sha256", "files", "report")
INT64 = range(-(1 << 63), 1 << 63)


class ResultsError(SlotwiseError):
    """A set that cannot be written or read, or is of another sweep."""


class Stored:
    """A set that grows. A run is in it when its row of `runs` is, which is written last."""

    def __init__(self, out: Path, about: dict, parameters: list[str]):
        """`about` is what all runs have in common. Raises ResultsError if `out` has something else, or cannot be written."""
        self._out = out
        self._parameters = parameters
        self._parquet = _import("pyarrow.parquet")
        text = json.dumps(about, indent=1) + "\n"
        file = out / ABOUT
        with _written(out):
            if file.exists():
                _check_same(out, about, file.read_text())
            elif out.is_dir() and any(out.iterdir()):
                raise ResultsError(
                    f"{out}: not empty, and no set of a sweep; expected a new directory, or that of this sweep"
                )
            else:
                out.mkdir(parents=True, exist_ok=True)
                _put(file, text.encode())

    def has(self, values: dict, seed: int, digest: str) -> bool:
        """Whether the run of the scenario with this SHA-256 is there, whole."""
        try:
            row = self._parquet.read_table(self._file(RUNS, values, seed), partitioning=None).to_pylist()[0]
            return row["scenario_sha256"] == digest and all(
                sha256(self._file(table, values, seed).read_bytes()).hexdigest() == of_file
                for table, of_file in json.loads(row["files"]).items()
            )
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return False

    def put(self, values: dict, seed: int, digest: str, report: dict, tables: dict[str, bytes]) -> None:
        """Adds a run. Raises ResultsError if a table has a column that is called like a parameter, or nothing can be written."""
        for name, content in tables.items():
            columns = self._parquet.read_schema(io.BytesIO(content)).names
            if taken := sorted({"seed", *self._parameters} & set(columns)):
                raise ResultsError(
                    f"parameter '{taken[0]}': table {name} has a column of that name; give the parameter another one, by a dictionary of named values"
                )
        verdict = report["verdict"]
        files = json.dumps({name: sha256(content).hexdigest() for name, content in tables.items()})
        shown = json.dumps({key: value for key, value in report.items() if key != "series"})
        self._replace(values, seed, (verdict["ok"], verdict["failures"], digest, files, shown), tables)

    def put_failed(self, values: dict, seed: int, digest: str, reason: str) -> None:
        """Notes a run that came to no report: a row without `files` and `report`, so that `has` knows of no such run. Raises ResultsError if nothing can be
        written."""
        self._replace(values, seed, (False, [reason], digest, None, None), {})

    def _replace(self, values: dict, seed: int, row: tuple, tables: dict[str, bytes]) -> None:
        pyarrow = _import("pyarrow")
        kinds = (pyarrow.bool_(), pyarrow.list_(pyarrow.string()), pyarrow.string(), pyarrow.string(), pyarrow.string())
        schema = pyarrow.schema(list(zip(COLUMNS_OF_RUNS, kinds, strict=True)))
        written = io.BytesIO()
        self._parquet.write_table(pyarrow.table([[each] for each in row], schema=schema), written)
        with _written(self._out):
            # What is there of it is of another scenario, or not whole.
            for table in [RUNS, *_tables(self._out)]:
                self._file(table, values, seed).unlink(missing_ok=True)
            for name, content in [*tables.items(), (RUNS, written.getvalue())]:
                _put(self._file(name, values, seed), content)

    def _file(self, table: str, values: dict, seed: int) -> Path:
        parts = [f"{name}={part(value)}" for name, value in values.items()]
        return Path(self._out, table, *parts, f"seed={seed}", PART)


class Results:
    """The set of a sweep. Frames have a column for each parameter and `seed` beside those of the table."""

    def __init__(self, out: str | Path):
        """Raises ResultsError if the directory is none."""
        self.directory = Path(out)
        try:
            self._parameters = json.loads((self.directory / ABOUT).read_text())["parameters"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{out}: no set of a sweep; expected {ABOUT} in it") from error

    def tables(self) -> list[str]:
        """Names of its tables (docs/experiments.md)."""
        return _tables(self.directory)

    def dataset(self, table: str) -> Dataset:
        """A table of all runs, to be read by parts. Raises UnknownTable, MissingPackage."""
        known = [*self.tables(), RUNS]
        if table not in known or not (self.directory / table).is_dir():
            raise UnknownTable("table", table, known, str(self.directory))
        dataset, pyarrow = _import("pyarrow.dataset"), _import("pyarrow")
        fields = [(name, self._type(table, name)) for name in [*self._parameters, "seed"]]
        partitioning = dataset.partitioning(pyarrow.schema(fields), flavor="hive")
        return dataset.dataset(
            self.directory / table, format="parquet", partitioning=partitioning, exclude_invalid_files=False
        )

    def frame(self, table: str) -> DataFrame:
        """A table of all runs, by parameters and seed. Raises UnknownTable, MissingPackage."""
        _import("pandas")
        frame = self.dataset(table).to_table().to_pandas()
        first = [*self._parameters, "seed"]
        return frame[[*first, *(name for name in frame.columns if name not in first)]].sort_values(
            first, kind="stable", ignore_index=True
        )

    def runs(self) -> DataFrame:
        """A row a run: `ok`, `failures`, `report` (JSON; report.json without its series; None of a run that came to no report). Raises MissingPackage."""
        return self.frame(RUNS)

    def failed(self) -> DataFrame:
        """Runs in which something did not hold, or that came to no report. Raises MissingPackage."""
        runs = self.runs()
        return runs[~runs["ok"]]

    def _type(self, table: str, name: str) -> object:
        """Of a parameter's column: the narrowest that all its values have."""
        pyarrow = _import("pyarrow")
        if name == "seed":
            return pyarrow.int64()
        depth = self._parameters.index(name)
        found = {
            unquote(path.name.partition("=")[2])
            for path in (self.directory / table).glob("/".join(["*"] * (depth + 1)))
        } - {NONE}
        if all(map(_is_int, found)):
            return pyarrow.int64()
        if _are_floats(found):
            return pyarrow.float64()
        return pyarrow.bool_() if found <= {"true", "false"} else pyarrow.string()


def _tables(out: Path) -> list[str]:
    return sorted(each.name for each in out.iterdir() if each.is_dir() and each.name != RUNS)


def _is_int(text: str) -> bool:
    """Whether a number that a column has is written so: '01' and '1' are two values."""
    return re.fullmatch("-?[0-9]{1,19}", text) is not None and str(int(text)) == text and int(text) in INT64


def _is_float(text: str) -> bool:
    with suppress(ValueError):
        return math.isfinite(float(text)) and repr(float(text)) == text
    return False


def _are_floats(texts: set[str]) -> bool:
    """Returns true if all are numbers that are apart, and as they are, in 64 bits of floating point too."""
    if not all(is_exact(int(text)) if _is_int(text) else _is_float(text) for text in texts):
        return False
    return len({float(text) for text in texts}) == len(texts)


def is_exact(number: int) -> bool:
    """Returns true if a number of 64 bits is the same in floating point."""
    return float(number) == number


def part(value: object) -> str:
    """A value in a file's name. Values with the same one are the same to a set: 1 and '1', true and 'true'."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(str(value), safe="")


def _check_same(out: Path, about: dict, found: str) -> None:
    try:
        there = json.loads(found)
        other = [key for key, value in json.loads(json.dumps(about)).items() if there.get(key) != value]
    except (ValueError, AttributeError) as error:
        raise ResultsError(f"{out}: {ABOUT} in it is none; expected a new directory") from error
    if other:
        raise ResultsError(
            f"{out}: has a set of another sweep: {', '.join(other)} differ; expected a new directory, or that of this sweep"
        )


class _written:
    """What the system has against writing is a ResultsError."""

    def __init__(self, out: Path):
        self._out = out

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind, error: BaseException | None, _traceback) -> None:
        if isinstance(error, OSError):
            raise ResultsError(f"{error.filename or self._out}: {error.strerror}; runs that are there stay") from error


def _put(file: Path, content: bytes) -> None:
    """Writes a file in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    put(file, content)


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is needed for sweeps and not installed; `pip install 'slotwise[sweeps]'` (in a clone topologies/[sweeps]) installs it"
        ) from error
