# SPDX-License-Identifier: Apache-2.0
"""`python3 -m slotwise.results.plot REPORT.json OUT.png`: demand and granted slots per edge pair over time, or utilization and queues of links.

Up to 8 edges: one chart per pair, with sources in rows and destinations in columns. More edges: heat maps of the means of
each phase. All other networks: one chart for each of the busiest links, below those of a star if there are both. GTP sessions: one chart
per session with its rate and max-min fair rate, and one of the distance from these. Optical packet switches: outcomes of bursts.
"""

import argparse
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy

matplotlib.use("Agg")

from matplotlib import image, pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from slotwise.results.report import ReportError, read
from slotwise.tools.files import put

Thin = Callable[..., list[float]]
"""Function that thins a column: `thin(column, scale)`."""
MAX_CHART_EDGES = 8
MAX_LINK_CHARTS = 12
MAX_SESSION_CHARTS = 14
MAX_POINTS = 1500
DOTS_PER_INCH = 110
# Room for the names of the phases above the curves.
HEADROOM = 1.2
DEMAND_COLOUR, GRANT_COLOUR = "#d9822b", "#1f5fa8"
ADDED_COLOUR, LIMIT_COLOUR, ACTIVE_COLOUR = "#2a8f4a", "#a83248", "#555555"
PHASE_COLOURS = ("#eef2f7", "#ffffff")
# To be told apart by people with any colour vision, and without colours.
TRAIN_COLOURS = {"buffered": "#1f5fa8", "converted": "#4aa3d8", "deflected": "#d9822b", "blocked": "#333333"}
TRAIN_LINES = {"buffered": "-", "converted": "-.", "deflected": "--", "blocked": ":"}
TRAIN_HATCHES = {"buffered": "", "converted": "//", "deflected": "xx", "blocked": ".."}
TRAIN_LABELS = {
    "buffered": "buffered in optical RAM",
    "converted": "wavelength converted",
    "deflected": "deflected",
    "blocked": "blocked",
}
# Of one train in ten thousand to all of them.
LEAST_PERCENT, MOST_PERCENT = 0.01, 100
MS_PER_S = 1000
NS_PER_MS = 1_000_000
BITS_PER_MEGABIT = 1_000_000


def draw(report: dict, file: Path) -> None:
    """Plots a report (schema/report.schema.json) into a PNG. Raises ReportError."""
    series = report["series"]
    edges = sorted({pair[end] for pair in series["pairs"] for end in ("from", "to")})
    figures = []
    if series["frame_ms"] and edges:
        figures.append(_charts(report, edges) if len(edges) <= MAX_CHART_EDGES else _heat_maps(report, edges))
    if series.get("links") and series["time_ms"]:
        figures.append(_link_charts(report))
    if series.get("bursts") and series["time_ms"]:
        figures.append(_train_charts(report))
    if series.get("sessions") and series["time_ms"]:
        figures.append(_session_charts(report))
    if not figures:
        raise ReportError(f"the report of '{report['scenario']}' has no time series to plot")
    drawn = BytesIO()
    image.imsave(drawn, _stacked([_pixels(figure) for figure in figures]), format="png")
    put(file, drawn.getvalue())


def _pixels(figure: Figure) -> numpy.ndarray:
    """Rows of RGBA pixels of a figure, which is closed."""
    figure.set_dpi(DOTS_PER_INCH)
    figure.canvas.draw()
    pixels = numpy.array(figure.canvas.buffer_rgba())
    pyplot.close(figure)
    return pixels


def _stacked(pictures: list[numpy.ndarray]) -> numpy.ndarray:
    """Pictures stacked vertically, with white space beside narrower ones."""
    width = max(picture.shape[1] for picture in pictures)
    wide = [
        numpy.pad(picture, ((0, 0), (0, width - picture.shape[1]), (0, 0)), constant_values=255) for picture in pictures
    ]
    return numpy.concatenate(wide)


def _title(report: dict) -> str:
    frame = report["frame"]
    return (
        f"{report['scenario']}, {report['command']}d: {frame['slots']} slots of {frame['slot_ns'] / 1000:g} µs per frame, "
        f"{frame['slots'] - frame['signaling_slots']} for data"
    )


def _link_charts(report: dict) -> Figure:
    series = report["series"]
    links = sorted(series["links"], key=lambda link: -sum(link["utilization"]))[:MAX_LINK_CHARTS]
    columns = min(len(links), 3)
    rows = -(-len(links) // columns)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=True,
        layout="constrained",
        figsize=(4.2 * columns + 1.0, 2.1 * rows + 1.2),
    )
    shown = "" if len(links) == len(series["links"]) else f": {len(links)} busiest of {len(series['links'])} links"
    figure.suptitle(f"{report['scenario']}, {report['command']}d{shown}")
    figure.get_layout_engine().set(rect=(0, 0.3 / figure.get_figheight(), 1, 1 - 0.3 / figure.get_figheight()))
    origin_ms = _origin_ms(report, 0.0)
    seconds, thin = _by_period(series, origin_ms)
    # One scale for all: on its own a single packet would be as high as a full buffer.
    most_waiting = max(max(link["queue_bytes"], default=0) for link in links) / 1000
    for axes in grid.flat[len(links) :]:
        axes.set_axis_off()
    handles = {}
    for axes, link in zip(grid.flat, links, strict=False):
        axes.set_title(link["name"], fontsize=9)
        queue = axes.twinx()
        if len(report["phases"]) > 1:
            _shade(queue, report, origin_ms)
        area = queue.fill_between(
            seconds,
            thin(link["queue_bytes"], 1 / 1000),
            step="post",
            color=DEMAND_COLOUR,
            alpha=0.35,
            linewidth=0,
        )
        (line,) = axes.step(seconds, thin(link["utilization"], 100), where="post", color=GRANT_COLOUR, linewidth=1.0)
        handles = {"utilization in % (left scale)": line, "queue in kB (right scale); time in s": area}
        if "added_bps" in link:
            handles |= _ring_lines(axes, link, seconds, thin)
        axes.set_ylim(0, 100 * HEADROOM)
        queue.set_ylim(0, HEADROOM * max(most_waiting, 1))
        axes.set_xlim(left=0)
        axes.set_zorder(queue.get_zorder() + 1)
        axes.patch.set_visible(False)
        axes.tick_params(labelsize=7, colors=GRANT_COLOUR, axis="y")
        axes.tick_params(labelsize=7, labelbottom=True, axis="x")
        queue.tick_params(labelsize=7, colors=DEMAND_COLOUR)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles), fontsize=9, frameon=False)
    return figure


def _session_charts(report: dict) -> Figure:
    series = report["series"]
    sessions = sorted(series["sessions"], key=lambda session: -sum(filter(None, session["rate_bps"])))[
        :MAX_SESSION_CHARTS
    ]
    # In the file's order, as people look for them.
    sessions.sort(key=series["sessions"].index)
    columns = min(len(sessions) + 1, 3)
    rows = -(-(len(sessions) + 1) // columns)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=True,
        layout="constrained",
        figsize=(4.2 * columns + 1.0, 2.1 * rows + 1.2),
    )
    shown = (
        "" if len(sessions) == len(series["sessions"]) else f", {len(sessions)} largest of {len(series['sessions'])}"
    )
    figure.suptitle(f"{report['scenario']}, {report['command']}d: GTP sessions{shown}")
    figure.get_layout_engine().set(rect=(0, 0.3 / figure.get_figheight(), 1, 1 - 0.3 / figure.get_figheight()))
    seconds, thin = _by_period(series, _origin_ms(report, 0.0))
    for axes in grid.flat[len(sessions) + 1 :]:
        axes.set_axis_off()
    most = (
        max((rate or 0) for session in sessions for key in ("rate_bps", "fair_bps") for rate in session[key])
        / BITS_PER_MEGABIT
    )
    handles = {}
    for axes, session in zip(grid.flat, sessions, strict=False):
        axes.set_title(session["name"], fontsize=9)
        rates, fair = (
            thin([numpy.nan if bps is None else bps for bps in session[key]], 1 / BITS_PER_MEGABIT)
            for key in ("rate_bps", "fair_bps")
        )
        (line,) = axes.step(seconds, rates, where="post", color=GRANT_COLOUR, linewidth=1.0)
        (oracle,) = axes.step(seconds, fair, where="post", color=LIMIT_COLOUR, linewidth=0.9, linestyle="--")
        handles = {"rate, Mb/s": line, "max-min fair rate, Mb/s; time in s": oracle}
        axes.set_ylim(0, HEADROOM * max(most, 1e-6))
    axes = grid.flat[len(sessions)]
    axes.set_title("normalized distance D/D0", fontsize=9)
    parts = [
        own / zero if zero > 0 else numpy.nan
        for own, zero in zip(series["distance"]["distance"], series["distance"]["d0"], strict=True)
    ]
    axes.step(seconds, thin(parts), where="post", color=ADDED_COLOUR, linewidth=1.0)
    axes.set_ylim(bottom=0)
    for axes in grid.flat[: len(sessions) + 1]:
        axes.set_xlim(left=0)
        axes.tick_params(labelsize=7, labelbottom=True)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles), fontsize=9, frameon=False)
    return figure


def _train_charts(report: dict) -> Figure:
    """Charts of the bursts that optical packet switches did not forward at once: over time for all switches, and per switch for the run."""
    series = report["series"]
    switches = series["bursts"]
    figure, (over_time, by_switch) = pyplot.subplots(1, 2, layout="constrained", figsize=(13.6, 3.4))
    figure.get_layout_engine().set(rect=(0, 0.3 / figure.get_figheight(), 1, 1 - 0.3 / figure.get_figheight()))
    kinds = [kind for kind in TRAIN_LABELS if any(any(switch[kind]) for switch in switches)]

    def percent(counts: numpy.ndarray, trains: numpy.ndarray) -> numpy.ndarray:
        return 100 * counts / numpy.maximum(trains, 1)

    def of_all(kind: str) -> numpy.ndarray:
        return numpy.sum([switch[kind] for switch in switches], axis=0)

    seconds, thin = _by_period(series, _origin_ms(report, 0.0))
    trains = of_all("forwarded") + sum(of_all(kind) for kind in TRAIN_LABELS)
    handles = {}
    for kind in kinds:
        shares = thin(list(percent(of_all(kind), trains)))
        over_time.step(
            seconds, shares, where="post", color=TRAIN_COLOURS[kind], linestyle=TRAIN_LINES[kind], linewidth=1.4
        )
    over_time.set_title("% of bursts at all switches; time in s", fontsize=9)
    over_time.set_xlim(left=0)
    places = numpy.arange(len(switches))
    sums = [{kind: sum(switch[kind]) for kind in ("forwarded", *TRAIN_LABELS)} for switch in switches]
    width = 0.8 / max(len(kinds), 1)
    for number, kind in enumerate(kinds):
        shares = [100 * of_switch[kind] / max(sum(of_switch.values()), 1) for of_switch in sums]
        bars = by_switch.bar(
            places + width * (number + 0.5) - 0.4,
            shares,
            width,
            color=TRAIN_COLOURS[kind],
            hatch=TRAIN_HATCHES[kind],
            edgecolor="white",
            linewidth=0,
        )
        line = Line2D([], [], color=TRAIN_COLOURS[kind], linestyle=TRAIN_LINES[kind], linewidth=1.4)
        handles[TRAIN_LABELS[kind]] = (line, bars[0])
    by_switch.set_title("% of bursts at each switch, whole run", fontsize=9)
    # Names of more would be on top of each other.
    step = -(-len(switches) // 30)
    by_switch.set_xticks(places[::step], [switch["switch"] for switch in switches[::step]])
    for axes in (over_time, by_switch):
        axes.set_yscale("log")
        axes.set_ylim(LEAST_PERCENT, MOST_PERCENT)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(axis="y", linewidth=0.3)
        axes.tick_params(labelsize=7)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="lower center",
        ncols=max(len(handles), 1),
        fontsize=9,
        frameon=False,
        handlelength=4,
        handler_map={tuple: HandlerTuple(ndivide=None)},
    )
    return figure


def _ring_lines(axes: Axes, link: dict, seconds: list[float], thin: Callable) -> dict:
    """Lines of the station's add traffic, its limit and the number of active stations, by label."""
    scale = 100 / link["rate_bps"]
    (added,) = axes.step(seconds, thin(link["added_bps"], scale), where="post", color=ADDED_COLOUR, linewidth=1.0)
    (limit,) = axes.step(
        seconds, thin(link["limit_bps"], scale), where="post", color=LIMIT_COLOUR, linewidth=0.8, linestyle="--"
    )
    (active,) = axes.step(
        seconds, thin(link["active_stations"]), where="post", color=ACTIVE_COLOUR, linewidth=0.8, linestyle=":"
    )
    return {"add traffic, %": added, "add-rate limit, %": limit, "active stations": active}


def _phases(report: dict) -> list[tuple[str, float, float]]:
    """Phases as (name, start, end) in ms of network time."""
    return [(phase["name"], phase["start_ns"] / NS_PER_MS, phase["end_ns"] / NS_PER_MS) for phase in report["phases"]]


def _origin_ms(report: dict, otherwise_ms: float) -> float:
    """Start of the plot: that of the first phase, since network time starts before the controller; without phases `otherwise_ms`."""
    return min((start for _, start, _ in _phases(report)), default=otherwise_ms)


def _charts(report: dict, edges: list[int]) -> Figure:
    series = report["series"]
    count = len(edges)
    figure, grid = pyplot.subplots(
        count,
        count,
        squeeze=False,
        sharex=True,
        layout="constrained",
        figsize=(3.0 * count + 1.2, 1.7 * count + 1.4),
    )
    figure.suptitle(_title(report))
    # The strip at the bottom is for the legend.
    figure.get_layout_engine().set(rect=(0, 0.3 / figure.get_figheight(), 1, 1 - 0.3 / figure.get_figheight()))
    origin_ms = _origin_ms(report, series["frame_ms"][0])
    seconds, thin = _thinned([time - origin_ms for time in series["frame_ms"]])
    most_slots = max(max(pair["granted_slots"], default=0) for pair in series["pairs"])
    most_demand = max(max(pair["demand_bytes"], default=0) for pair in series["pairs"]) / 1000
    for axes in grid.flat:
        axes.set_axis_off()
    handles = []
    for pair in series["pairs"]:
        axes = grid[edges.index(pair["from"])][edges.index(pair["to"])]
        axes.set_axis_on()
        axes.set_title(f"edge {pair['from']} → edge {pair['to']}", fontsize=9)
        demand = axes.twinx()
        _shade(demand, report, origin_ms)
        area = demand.fill_between(
            seconds,
            thin(pair["demand_bytes"], 1 / 1000),
            step="post",
            color=DEMAND_COLOUR,
            alpha=0.35,
            linewidth=0,
        )
        (line,) = axes.step(seconds, thin(pair["granted_slots"]), where="post", color=GRANT_COLOUR, linewidth=1.0)
        handles = [line, area]
        axes.set_ylim(0, HEADROOM * max(most_slots, 1))
        axes.set_xlim(left=0)
        demand.set_ylim(0, HEADROOM * max(most_demand, 1))
        # The steps are in front of the area, although the area's axes were made later.
        axes.set_zorder(demand.get_zorder() + 1)
        axes.patch.set_visible(False)
        axes.tick_params(labelsize=7, colors=GRANT_COLOUR, axis="y")
        axes.tick_params(labelsize=7, labelbottom=True, axis="x")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        demand.tick_params(labelsize=7, colors=DEMAND_COLOUR)
        demand.yaxis.set_major_locator(MaxNLocator(nbins=4))
    figure.legend(
        handles,
        ["slots granted per frame (left scale)", "demand: backlog in kB (right scale); time in s"],
        loc="lower center",
        ncols=2,
        fontsize=9,
        frameon=False,
    )
    return figure


def _thinned(frame_ms: list[float]) -> tuple[list[float], Thin]:
    """Times in seconds, and a function that thins a column in the same way: means of runs of frames, short enough for
    MAX_POINTS points."""
    width = max(-(-len(frame_ms) // MAX_POINTS), 1)

    def thin(column: list[int], scale: float = 1) -> list[float]:
        runs = (column[start : start + width] for start in range(0, len(column), width))
        return [scale * sum(run) / len(run) for run in runs]

    return [time / MS_PER_S for time in frame_ms[::width]], thin


def _by_period(series: dict, origin_ms: float) -> tuple[list[float], Thin]:
    """As `_thinned`, for columns with one value per period: steps at the start of each period, and the last value repeated at its end."""
    # The report says when periods end. The first one begins with the first phase.
    ends_ms = [time - origin_ms for time in series["time_ms"]]
    seconds, thin = _thinned([0.0, *ends_ms[:-1]])

    def to_the_end(column: list[int], scale: float = 1) -> list[float]:
        values = thin(column, scale)
        return values + values[-1:]

    return [*seconds, ends_ms[-1] / MS_PER_S], to_the_end


def _shade(axes: Axes, report: dict, origin_ms: float) -> None:
    for number, (name, start_ms, end_ms) in enumerate(_phases(report)):
        start, end = (start_ms - origin_ms) / MS_PER_S, (end_ms - origin_ms) / MS_PER_S
        axes.axvspan(start, end, color=PHASE_COLOURS[number % 2], zorder=-2)
        axes.text(
            (start + end) / 2,
            0.97,
            name,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=6.5,
            color="#556070",
        )


def _heat_maps(report: dict, edges: list[int]) -> Figure:
    phases = _phases(report)
    figure, grid = pyplot.subplots(
        2, len(phases), squeeze=False, layout="constrained", figsize=(4.6 * len(phases) + 1, 9)
    )
    figure.suptitle(_title(report))
    rows = (
        ("granted_slots", 1, "slots granted per frame", "Blues"),
        ("demand_bytes", 1 / 1000, "demand in kB", "Oranges"),
    )
    for row, (column, scale, label, colours) in zip(grid, rows, strict=True):
        means = [_means(report["series"], edges, column, scale, start, end) for _, start, end in phases]
        most = max(max(map(max, mean)) for mean in means) or 1
        for axes, mean, (name, _, _) in zip(row, means, phases, strict=True):
            shown = axes.imshow(mean, cmap=colours, vmin=0, vmax=most, interpolation="nearest")
            axes.set_title(f"{name}: {label}", fontsize=9)
            axes.set_xlabel("to edge", fontsize=8)
            axes.set_ylabel("from edge", fontsize=8)
        figure.colorbar(shown, ax=row, label=f"mean {label}", shrink=0.8)
    return figure


def _means(
    series: dict, edges: list[int], column: str, scale: float, start_ms: float, end_ms: float
) -> list[list[float]]:
    frames = [number for number, time in enumerate(series["frame_ms"]) if start_ms <= time < end_ms]
    means = [[0.0] * len(edges) for _ in edges]
    for pair in series["pairs"]:
        total = sum(pair[column][frame] for frame in frames)
        means[edges.index(pair["from"])][edges.index(pair["to"])] = scale * total / max(len(frames), 1)
    return means


def main(arguments: list[str] | None = None) -> int:
    """Plots one report."""
    parser = argparse.ArgumentParser(prog="slotwise.results.plot", description="Plot the time series of a report.")
    parser.add_argument("report", type=Path, help="report of a run (JSON)")
    parser.add_argument("png", type=Path, help="plot to write (PNG)")
    options = parser.parse_args(arguments)
    try:
        draw(read(options.report), options.png)
    except ReportError as error:
        print(f"slotwise.results.plot: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"slotwise.results.plot: {error.filename or options.report}: {error.strerror}", file=sys.stderr)
        return 1
    except (ValueError, KeyError, TypeError) as error:
        print(
            f"slotwise.results.plot: {options.report}: not a report of a run: {type(error).__name__}: {error}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
