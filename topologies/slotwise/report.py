# SPDX-License-Identifier: Apache-2.0
"""What a run left behind, as Python values and, where pandas is installed, as frames."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from slotwise import home
from slotwise.errors import InvalidArgument, MissingPackage, SlotwiseError, UnknownPhase, UnknownTable

if TYPE_CHECKING:
    from pandas import DataFrame


class ReportError(SlotwiseError):
    """A file that is no report, or a report that lacks what it is asked for."""


class Report:
    """`data` is the content of report.json (schema/report.schema.json). `columns_directory` is where the run wrote its columns,
    None if nobody asked for them."""

    def __init__(self, data: dict, columns_directory: Path | None = None):
        self.data = data
        self.columns_directory = columns_directory

    @classmethod
    def load(cls, path: str | Path, columns: str | Path | None = None) -> Report:
        """The report that a command wrote (`--report`); `columns` is the directory of its `--columns`. Raises ReportError, or OSError."""
        return cls(read(Path(path)), None if columns is None else Path(columns))

    @property
    def ok(self) -> bool:
        """Whether everything that had to hold did."""
        return self.data["verdict"]["ok"]

    @property
    def failures(self) -> list[str]:
        """What did not hold, a sentence each."""
        return self.data["verdict"]["failures"]

    @property
    def notes(self) -> list[str]:
        """What should be known although it is no failure, a sentence each."""
        return self.data["verdict"]["notes"]

    def phase(self, name: str | None = None) -> dict:
        """A phase by its name, which may be left out where there is one: `start_ns`, `end_ns`, `flows`, `files`. Raises UnknownPhase, or
        InvalidArgument without a name where there are several."""
        phases = {entry["name"]: entry for entry in self.data["phases"]}
        if name is None and len(phases) == 1:
            (name,) = phases
        if name is None:
            raise InvalidArgument(f"phase: missing; expected one of the report's {len(phases)}: {', '.join(phases)}")
        if name not in phases:
            raise UnknownPhase("phase", name, phases, "the report")
        return phases[name]

    def goodput_bps(self, phase: str | None = None) -> dict[tuple[str, str], float]:
        """Goodput of the receivers of a phase, summed by (source host, destination host): payload of TCP or UDP per each flow's own time.
        Of a flow of a size that is from its start until all had arrived, of others the phase's; of flows that Linux plays what iperf3
        measured, without its start and end. The phase may be left out where there is one. Raises as `phase`."""
        goodput: dict[tuple[str, str], float] = {}
        for flow in self.phase(phase)["flows"]:
            pair = flow["from"], flow["to"]
            goodput[pair] = goodput.get(pair, 0.0) + flow["goodput_bps"]
        return goodput

    def flows(self) -> DataFrame:
        """A row a flow and phase, in their order: `phase` (its name), then the flow's fields; those of `delay_ns` and `stream`
        as `delay_ns_mean` and so on. Raises MissingPackage."""
        return self._of_phases("flows")

    def files(self) -> DataFrame:
        """A row for each file that hosts of Linux moved (`emulate`), in the order of phases, as `flows` has them. Files that the engine
        moves, in a simulation all of them, are rows of `flows`, of kind `file`. Raises MissingPackage."""
        return self._of_phases("files")

    def series(self) -> DataFrame:
        """A row a frame and ordered pair of edges: `frame_ms` (its start in fabric time), `from`, `to`, `demand_bytes`,
        `granted_slots`, `delivered_bytes`. Of routers and rings a row a period and link: `time_ms` (its end), `name`, `utilization`,
        `queue_bytes`, `dropped_packets`; of rings also `rate_bps`, `added_bps`, `limit_bps`, `active_stations`. Raises MissingPackage."""
        pandas = _import("pandas")
        series = self.data["series"]
        frames = [pandas.DataFrame({"frame_ms": series["frame_ms"], **pair}) for pair in series["pairs"]]
        frames += [pandas.DataFrame({"time_ms": series["time_ms"], **link}) for link in series.get("links", ())]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def tables(self) -> list[str]:
        """Names of the tables of columns (docs/experiments.md). Raises SlotwiseError if the run wrote none."""
        if self.columns_directory is None:
            raise SlotwiseError(
                "the run wrote no columns, or it is not said where: simulate(columns=DIRECTORY), Report.load(FILE, columns=DIRECTORY)"
            )
        return sorted(file.stem for file in self.columns_directory.glob("*.parquet"))

    def columns(self, table: str) -> DataFrame:
        """A table of columns: `queues`, `ports`, `access`, `flows`, `control`, `clocks`; of routers `links`, `flows`; of a ring `stations`, `flows`. Raises UnknownTable,
        MissingPackage, and SlotwiseError if the run wrote none."""
        tables = self.tables()
        if table not in tables:
            raise UnknownTable("table", table, tables, str(self.columns_directory))
        _import("pandas")
        # By its path: what pandas opens for pyarrow is a Python object, which a thread of pyarrow may still let go of while Python ends, and that aborts.
        return (
            _import("pyarrow.parquet")
            .read_table(self.columns_directory / f"{table}.parquet", partitioning=None)
            .to_pandas()
        )

    def plot(self, file: str | Path) -> None:
        """Draws demand and slots granted per edge pair over time into a PNG, or of routers and rings links' utilization and queues."""
        from slotwise import plot  # Matplotlib takes a second to load

        plot.draw(self.data, Path(file))

    def _of_phases(self, what: str) -> DataFrame:
        rows = [{**entry, "phase": phase["name"]} for phase in self.data["phases"] for entry in phase[what]]
        frame = _import("pandas").json_normalize(rows, sep="_")
        return frame[["phase", *(name for name in frame.columns if name != "phase")]] if rows else frame


def read(path: Path) -> dict:
    """The content of a report. Raises ReportError, or OSError."""
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is no report: expected the JSON that `--report` writes; {error}") from error
    if not isinstance(data, dict) or not {"verdict", "phases", "series"} <= data.keys():
        raise ReportError(f"{path} is no report of a run: expected `verdict`, `phases` and `series` in it")
    return data


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is needed for frames and not installed; `pip install '{_package()}[frames]'` installs it, and build/venv of a clone "
            "has it"
        ) from error


def _package() -> str:
    """What pip is to be given: the package's place in the clone, or its name where there is none."""
    try:
        return f"{home.root() / 'topologies'}/"
    except home.HomeNotFound:
        return "slotwise"
