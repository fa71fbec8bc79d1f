# SPDX-License-Identifier: Apache-2.0
"""Completion times of workloads, as data frames and as two plots, for one run or for a comparison of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from io import BytesIO
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.errors import InvalidArgument, MissingPackage, UnknownName
from slotwise.results.report import Report, ReportError
from slotwise.tools.files import put

if TYPE_CHECKING:
    import numpy
    from matplotlib.axes import Axes
    from pandas import DataFrame

Runs = Report | Sequence[Report] | Mapping[str, Report | Sequence[Report]]
"""One run, several seeds of one scenario, or a dictionary of these by label."""
BOUNDS_KB = (1, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
"""Bounds between ranges of sizes, as in the report."""
CONFIDENCE = 0.95
# Two-sided quantiles of Student's t distribution at 0.95, by degrees of freedom; the last one beyond.
STUDENT = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
    1.96,
)
MAX_POINTS = 2_000
DOTS_PER_INCH = 110
COLOURS = ("#1f5fa8", "#d9822b", "#2a8f4a", "#a83248", "#6a4fa3", "#333333")
LINES = ("-", "--", "-.", ":")


def frame(runs: Runs, workload: str | None = None) -> DataFrame:
    """Flows of all runs, one row each: `label`, `run` (its number under the label), then the columns of table `completions`
    (docs/columns.md). `workload`: only its flows. Raises UnknownName, UnknownTable, MissingPackage."""
    pandas = _import("pandas")
    parts = []
    for label, reports in _labelled(runs).items():
        for number, report in enumerate(reports):
            flows = report.columns("completions")
            flows.insert(0, "run", number)
            flows.insert(0, "label", label)
            parts.append(flows)
    flows = pandas.concat(parts, ignore_index=True)
    known = sorted(flows["workload"].unique())
    if workload is not None and workload not in known:
        raise UnknownName("workload", workload, known, "the runs")
    return flows if workload is None else flows[flows["workload"] == workload].reset_index(drop=True)


def by_size(runs: Runs, workload: str | None = None, quantile: float = 0.99) -> DataFrame:
    """A quantile of the slowdown by range of sizes, one row per label and range: `from_bytes`, `below_bytes`, `flows` (completed, of all
    runs), `unfinished`, `slowdown` (mean over the runs), and `low` and `high`, its 0.95 confidence interval over the runs (NaN with one run).
    Raises as `frame`, and InvalidArgument."""
    pandas, numpy = _import("pandas"), _import("numpy")
    if not 0 < quantile <= 1:
        raise InvalidArgument(f"quantile: expected more than 0 and at most 1, got {quantile}")
    flows = frame(runs, workload)
    edges = [0, *(1000 * bound for bound in BOUNDS_KB), float("inf")]
    place = numpy.searchsorted(edges, flows["size_bytes"], side="right") - 1
    rows = []
    for (label, bucket), of_bucket in flows.groupby(["label", place], sort=False):
        done = of_bucket[of_bucket["slowdown"].notna()]
        values = [_quantile(of_run["slowdown"].to_numpy(), quantile) for _, of_run in done.groupby("run")]
        low, high = interval(values)
        rows.append(
            {
                "label": label,
                "from_bytes": edges[bucket],
                "below_bytes": edges[bucket + 1],
                "flows": len(done),
                "unfinished": len(of_bucket) - len(done),
                "slowdown": numpy.mean(values) if values else float("nan"),
                "low": low,
                "high": high,
            }
        )
    order = {label: number for number, label in enumerate(_labelled(runs))}
    table = pandas.DataFrame(rows)
    return table.sort_values(
        ["label", "from_bytes"],
        key=lambda column: column.map(order) if column.name == "label" else column,
        ignore_index=True,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Confidence interval of a mean (0.95, Student's t); NaN with fewer than two values."""
    count = len(values)
    if count < 2:
        return float("nan"), float("nan")
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    half = STUDENT[min(count - 1, len(STUDENT)) - 1] * (variance / count) ** 0.5
    return mean - half, mean + half


def plot_fct(runs: Runs, file: str | Path, workload: str | None = None) -> None:
    """Plots the cumulative distribution of completion times into a PNG: a line per label, and with several runs under a label the band of
    its 0.95 confidence interval. Raises as `frame`, and ReportError without completed flows."""
    numpy = _import("numpy")
    flows = _completed(frame(runs, workload))
    axes = _axes("completion time (ms)", "fraction of flows")
    axes.set_xscale("log")
    times = flows["fct_ms"].to_numpy()
    grid = numpy.geomspace(times.min(), times.max(), MAX_POINTS) if times.min() < times.max() else times[:1]
    for number, (label, of_label) in enumerate(flows.groupby("label", sort=False)):
        shares = [
            numpy.searchsorted(numpy.sort(of_run["fct_ms"].to_numpy()), grid, side="right") / len(of_run)
            for _, of_run in of_label.groupby("run")
        ]
        colour, line = _look(number)
        axes.plot(grid, numpy.mean(shares, axis=0), color=colour, linestyle=line, label=_counted(label, of_label))
        if len(shares) > 1:
            low, high = numpy.array([interval(point) for point in numpy.transpose(shares)]).T
            axes.fill_between(grid, low.clip(0), high.clip(max=1), color=colour, alpha=0.2, linewidth=0)
    axes.set_ylim(0, 1.02)
    _save(axes, file)


def plot_slowdown(runs: Runs, file: str | Path, workload: str | None = None, quantile: float = 0.99) -> None:
    """Plots a quantile of the slowdown by flow size into a PNG: a line per label, with the 0.95 confidence interval over several runs. Raises
    as `by_size`, and ReportError without completed flows."""
    numpy = _import("numpy")
    table = by_size(runs, workload, quantile)
    table = table[table["flows"] > 0]
    if table.empty:
        raise ReportError("no flow has completed; expected a longer run")
    places = sorted(table["from_bytes"].unique())
    axes = _axes("flow size", f"slowdown, {quantile:g} quantile")
    axes.set_yscale("log")
    for number, (label, of_label) in enumerate(table.groupby("label", sort=False)):
        colour, line = _look(number)
        at = [places.index(size) for size in of_label["from_bytes"]]
        value = of_label["slowdown"].to_numpy()
        errors = numpy.array([value - of_label["low"], of_label["high"] - value])
        # A single run has no interval; a slowdown is at least 1.
        errors = numpy.nan_to_num(errors).clip(0)
        errors[0] = numpy.minimum(errors[0], value - value.clip(max=1) * 0.999)
        axes.errorbar(at, value, errors, color=colour, linestyle=line, marker="o", markersize=4, capsize=3, label=label)
    names = {size: _range(size, table[table["from_bytes"] == size]["below_bytes"].iloc[0]) for size in places}
    axes.set_xticks(range(len(places)), [names[size] for size in places], rotation=30, ha="right")
    axes.axhline(1, color="#999999", linewidth=0.8)
    _ticks(axes)
    _save(axes, file)


def _labelled(runs: Runs) -> dict[str, list[Report]]:
    if isinstance(runs, Mapping):
        return {str(label): _listed(reports) for label, reports in runs.items()}
    reports = _listed(runs)
    return {reports[0].data["scenario"] if reports else "": reports}


def _listed(reports: Report | Sequence[Report]) -> list[Report]:
    listed = [reports] if isinstance(reports, Report) else list(reports)
    if not listed or not all(isinstance(report, Report) for report in listed):
        raise InvalidArgument("runs: expected a Report, a list of them, or a dictionary of either by label")
    return listed


def _completed(flows: DataFrame) -> DataFrame:
    done = flows[flows["fct_ms"].notna()]
    if done.empty:
        raise ReportError("no flow has completed; expected a longer run")
    return done


def _quantile(values: numpy.ndarray, quantile: float) -> float:
    """The round(q n)-th smallest value, as in the report."""
    numpy = _import("numpy")
    # Halves are rounded up: round() would take the even neighbour.
    place = min(max(floor(quantile * len(values) + 0.5), 1), len(values))
    return float(numpy.sort(values)[place - 1])


def _axes(x: str, y: str) -> Axes:
    matplotlib = _import("matplotlib")
    matplotlib.use("Agg")
    _, axes = _import("matplotlib.pyplot").subplots(figsize=(7, 4.2), layout="constrained")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    return axes


def _ticks(axes: Axes) -> None:
    """Plain numbers on a logarithmic axis."""
    ticker = _import("matplotlib.ticker")
    axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.yaxis.set_minor_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    )


def _save(axes: Axes, file: str | Path) -> None:
    axes.legend(fontsize=9)
    drawn = BytesIO()
    figure = axes.figure
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    _import("matplotlib.pyplot").close(figure)
    put(Path(file), drawn.getvalue())


def _look(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]


def _counted(label: Any, flows: DataFrame) -> str:
    runs = flows["run"].nunique()
    return f"{label} ({len(flows)} flows{f', {runs} runs' if runs > 1 else ''})"


def _range(low: float, high: float) -> str:
    if low == 0:
        return f"< {_size(high)}"
    return f"≥ {_size(low)}" if high == float("inf") else f"{_size(low)} - {_size(high)}"


def _size(octets: float) -> str:
    return f"{octets / 1e6:g} MB" if octets >= 1e6 else f"{octets / 1e3:g} kB"


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is required for completion times but not installed; run `pip install 'slotwise[frames]'` (in a clone python/[frames])"
        ) from error
