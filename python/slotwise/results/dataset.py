# SPDX-License-Identifier: Apache-2.0
"""Data set of a sweep in Parquet files: writing and reading. `slotwise.tools.sweep` has its layout."""

from __future__ import annotations

import io
import json
import math
import re
import warnings
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from slotwise.errors import MissingPackage, SlotwiseError, UnknownTable
from slotwise.tools.files import put

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow.dataset import Dataset

ABOUT = "sweep.json"
RUNS = "runs"
PART = "part-0.parquet"
NONE = "__HIVE_DEFAULT_PARTITION__"
"""Directory name of a null value in partitioned data sets."""
COLUMNS_OF_RUNS = ("ok", "failures", "scenario_sha256", "files", "report")
INT64 = range(-(1 << 63), 1 << 63)


class ResultsError(SlotwiseError):
    """A data set that cannot be written or read, or belongs to another sweep."""


class DamagedRun(UserWarning):
    """Warning of a stored run with a damaged or missing file; the run is repeated."""


class Stored:
    """A growing data set. A run is complete when its row of `runs`, which is written last, exists."""

    def __init__(self, out: Path, about: dict, parameters: list[str], *, fresh: bool = False):
        """`about`: properties common to all runs. With `fresh`, any data set in `out` is deleted first. Raises ResultsError
        if `out` has other content, or cannot be written."""
        self._out = out
        self._parameters = parameters
        self._parquet = _import("pyarrow.parquet")
        text = json.dumps(about, indent=1) + "\n"
        file = out / ABOUT
        with _written(out):
            if fresh and file.exists():
                for table in [RUNS, *_tables(out)]:
                    for part_file in (out / table).rglob(PART):
                        part_file.unlink()
                file.write_text(text)
            elif file.exists():
                _check_same(out, about, file.read_text())
            elif out.is_dir() and any(out.iterdir()):
                raise ResultsError(
                    f"{out}: not empty and not the data set of a sweep; expected a new directory, or that of this sweep"
                )
            else:
                out.mkdir(parents=True, exist_ok=True)
                _put(file, text.encode())

    def has(self, values: dict, seed: int, digest: str) -> bool:
        """Returns true if the run of the scenario with this SHA-256 is complete. Warns of files that are damaged or missing (DamagedRun)."""
        file = self._file(RUNS, values, seed)
        if not file.exists():
            return False
        try:
            row = self._parquet.read_table(file, partitioning=None).to_pylist()[0]
            if row["scenario_sha256"] != digest or row["files"] is None:
                return False
            for table, of_file in json.loads(row["files"]).items():
                file = self._file(table, values, seed)
                if sha256(file.read_bytes()).hexdigest() != of_file:
                    raise ValueError("not the file of the run")
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            warnings.warn(f"{file}: {reason}; the run is repeated", DamagedRun, stacklevel=2)
            return False
        return True

    def put(self, values: dict, seed: int, digest: str, report: dict, tables: dict[str, bytes]) -> None:
        """Adds a run. Raises ResultsError if a table has a column with the name of a parameter, or writing fails."""
        for name, content in tables.items():
            columns = self._parquet.read_schema(io.BytesIO(content)).names
            if taken := sorted({"seed", *self._parameters} & set(columns)):
                raise ResultsError(
                    f"parameter '{taken[0]}': table {name} has a column of that name; expected another name, set by a dictionary of named values"
                )
        verdict = report["verdict"]
        files = json.dumps({name: sha256(content).hexdigest() for name, content in tables.items()})
        shown = json.dumps({key: value for key, value in report.items() if key != "series"})
        self._replace(values, seed, (verdict["ok"], verdict["failures"], digest, files, shown), tables)

    def put_failed(self, values: dict, seed: int, digest: str, reason: str) -> None:
        """Records a run that ended without a report, as a row without `files` and `report` that `has` does not count. Raises ResultsError if
        writing fails."""
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
    """Data set of a sweep. Data frames have the columns of the table, one per parameter, and `seed`."""

    def __init__(self, out: str | Path):
        """Opens the data set in a directory. Raises ResultsError if there is none."""
        self.directory = Path(out)
        try:
            self._parameters = json.loads((self.directory / ABOUT).read_text())["parameters"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{out}: not the data set of a sweep; expected {ABOUT}") from error

    def tables(self) -> list[str]:
        """Names of the tables (docs/experiments.md)."""
        return _tables(self.directory)

    def dataset(self, table: str) -> Dataset:
        """Table of all runs, for reading in parts. Raises UnknownTable, MissingPackage."""
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
        """Table of all runs as a data frame, sorted by parameters and seed. Raises UnknownTable, MissingPackage."""
        _import("pandas")
        frame = self.dataset(table).to_table().to_pandas()
        first = [*self._parameters, "seed"]
        return frame[[*first, *(name for name in frame.columns if name not in first)]].sort_values(
            first, kind="stable", ignore_index=True
        )

    def runs(self) -> DataFrame:
        """Data frame with one row per run: `ok`, `failures`, `report` (report.json without its series; None for a run without a report).
        Raises MissingPackage."""
        return self.frame(RUNS)

    def failed(self) -> DataFrame:
        """Runs that failed, or ended without a report. Raises MissingPackage."""
        runs = self.runs()
        return runs[~runs["ok"]]

    def _type(self, table: str, name: str) -> object:
        """Narrowest type for all values of a parameter's column."""
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
    """Returns true for the text of an integer in a column: '01' and '1' are two values."""
    return re.fullmatch("-?[0-9]{1,19}", text) is not None and str(int(text)) == text and int(text) in INT64


def _is_float(text: str) -> bool:
    with suppress(ValueError):
        return math.isfinite(float(text)) and repr(float(text)) == text
    return False


def _are_floats(texts: set[str]) -> bool:
    """Returns true if all are numbers that stay exact and different in 64-bit floating point."""
    if not all(is_exact(int(text)) if _is_int(text) else _is_float(text) for text in texts):
        return False
    return len({float(text) for text in texts}) == len(texts)


def is_exact(number: int) -> bool:
    """Returns true if a 64-bit integer is exact in floating point."""
    return float(number) == number


def part(value: object) -> str:
    """Value as part of a file name. Values with the same text are equal in a data set: 1 and '1', true and 'true'."""
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
        raise ResultsError(f"{out}: invalid {ABOUT}; expected a new directory") from error
    if other:
        raise ResultsError(
            f"{out}: data set of another sweep: {', '.join(other)} differ; expected a new directory, or that of this sweep"
        )


class _written:
    """Context that turns an OSError into a ResultsError."""

    def __init__(self, out: Path):
        self._out = out

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError):
            raise ResultsError(
                f"{error.filename or self._out}: {error.strerror}; existing runs are unchanged"
            ) from error


def _put(file: Path, content: bytes) -> None:
    """Writes a file in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    put(file, content)


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is required for sweeps but not installed; run `pip install 'slotwise[sweeps]'` (in a clone python/[sweeps])"
        ) from error
