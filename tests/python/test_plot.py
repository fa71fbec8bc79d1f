# SPDX-License-Identifier: Apache-2.0
"""Plots: that there is a picture, of the right kind, for reports of any size."""

import json

import pytest
from matplotlib import image

from slotwise.results import plot

pytestmark = pytest.mark.slow

MS = 1_000_000


def report(edges: int, frames: int) -> dict:
    pairs = [(one, other) for one in range(edges) for other in range(edges) if one != other]
    return {
        "scenario": "synthetic",
        "command": "simulate",
        "frame": {"slots": 20, "signaling_slots": 4, "slot_ns": 250_000, "guard_ns": 10_000},
        "phases": [
            {"name": "first", "start_ns": 0, "end_ns": frames * 2 * MS},
            {"name": "second", "start_ns": frames * 2 * MS, "end_ns": frames * 5 * MS},
        ],
        "series": {
            "frame_ms": [5.0 * frame for frame in range(frames)],
            "pairs": [
                {
                    "from": one,
                    "to": other,
                    "demand_bytes": [1000 * frame for frame in range(frames)],
                    "granted_slots": [frame % 5 for frame in range(frames)],
                    "delivered_bytes": [0] * frames,
                }
                for one, other in pairs
            ],
        },
    }


@pytest.mark.parametrize(("edges", "frames"), [(2, 1), (3, 40), (9, 10)])
def test_reports_of_any_size_are_drawn(tmp_path, edges, frames):
    source, target = tmp_path / "report.json", tmp_path / "out.png"
    source.write_text(json.dumps({**report(edges, frames), "verdict": {"ok": True}}))
    assert plot.main([str(source), str(target)]) == 0
    picture = image.imread(target)
    colours = {tuple(pixel) for row in picture[::3, ::3] for pixel in row}
    assert len(colours) > 10


def test_thinning_keeps_the_area_under_a_curve(monkeypatch):
    monkeypatch.setattr(plot, "MAX_POINTS", 3)
    seconds, thin = plot._thinned([0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0])
    assert seconds == [0.0, 2.0, 4.0]
    assert thin([1, 3, 5, 7, 9, 11], 0.5) == [1.0, 3.0, 5.0]


def test_means_are_taken_over_the_frames_of_a_phase():
    data = report(2, 10)
    assert plot._means(data["series"], [0, 1], "granted_slots", 1, 0, 25) == [[0.0, 2.0], [2.0, 0.0]]


def test_a_report_without_frames_and_one_that_is_not_there_are_refused(tmp_path, capsys):
    empty = tmp_path / "empty.json"
    empty.write_text(json.dumps({**report(2, 0), "verdict": {}}))
    assert plot.main([str(empty), str(tmp_path / "out.png")]) == 1
    assert "the report of 'synthetic' has no time series to plot" in capsys.readouterr().err
    assert plot.main([str(tmp_path / "none.json"), str(tmp_path / "out.png")]) == 1
    assert "none.json: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "version: 1", '{"series": {"frame_ms": [], "pairs": []}}', '{"verdict": 1, "phases": 2, "series": 3}'],
)
def test_what_is_no_report_is_refused_in_one_line(tmp_path, capsys, text):
    source = tmp_path / "report.json"
    source.write_text(text)
    assert plot.main([str(source), str(tmp_path / "out.png")]) == 1
    said = capsys.readouterr().err
    assert f"slotwise.results.plot: {source}: not a report" in said
    assert "\n" not in said.rstrip()
    assert not (tmp_path / "out.png").exists()


def test_of_a_mix_both_are_drawn(tmp_path):
    link = {"name": "a-b", "utilization": [0.5, 1.0], "queue_bytes": [0, 1500], "dropped_packets": [0, 2]}
    star = report(2, 10)
    routers = {"frame_ms": [], "pairs": [], "time_ms": [100.0, 200.0], "links": [link] * 4}
    rows = []
    for series in (star["series"], routers, {**routers, **star["series"]}):
        plot.draw({**star, "series": series}, tmp_path / "out.png")
        rows.append(image.imread(tmp_path / "out.png").shape)
    assert rows[2][0] == rows[0][0] + rows[1][0], "one above the other"
    assert rows[2][1] == max(rows[0][1], rows[1][1])


def test_of_routers_links_are_drawn(tmp_path):
    link = {"name": "a-b", "utilization": [0.5, 1.0], "queue_bytes": [0, 1500], "dropped_packets": [0, 2]}
    links = [{**link, "name": f"link{number}"} for number in range(plot.MAX_LINK_CHARTS + 2)]
    report = {
        "scenario": "routers",
        "command": "simulate",
        "phases": [],
        "series": {"frame_ms": [], "pairs": [], "time_ms": [100.0, 200.0], "links": links},
    }
    plot.draw(report, tmp_path / "out.png")
    assert image.imread(tmp_path / "out.png").shape[0] > 100


def test_links_and_pairs_of_a_live_mix_have_one_time():
    """It begins with the first phase, which is some time after the fabric's."""
    link = {"name": "a-b", "utilization": [0.5, 1.0], "queue_bytes": [0, 1500], "dropped_packets": [0, 2]}
    live = report(2, 10)
    live["phases"] = [
        {"name": "first", "start_ns": 20 * MS, "end_ns": 30 * MS},
        {"name": "second", "start_ns": 30 * MS, "end_ns": 40 * MS},
    ]
    live["series"] |= {"time_ms": [30.0, 40.0], "links": [link]}
    axes, waiting = plot._link_charts(live).axes
    (line,) = axes.get_lines()
    assert list(line.get_xdata()) == [0.0, 0.01, 0.02]
    assert list(line.get_ydata()) == [50.0, 100.0, 100.0]
    assert [(text.get_text(), round(text.get_position()[0], 6)) for text in waiting.texts] == [
        ("first", 0.005),
        ("second", 0.015),
    ]
    pairs = plot._charts(live, [0, 1]).axes
    assert [text.get_text() for axes in pairs for text in axes.texts] == ["first", "second"] * 2


def test_links_have_one_scale_for_what_waits():
    queues = {"a-b": [0, 40], "b-a": [0, 80_000]}
    links = [
        {"name": name, "utilization": [0.5, 1.0], "queue_bytes": queue, "dropped_packets": [0, 0]}
        for name, queue in queues.items()
    ]
    figure = plot._link_charts(
        {
            "scenario": "routers",
            "command": "emulate",
            "phases": [],
            "series": {"frame_ms": [], "pairs": [], "time_ms": [100.0, 200.0], "links": links},
        }
    )
    waiting = [axes for axes in figure.axes if not axes.get_title()]
    assert [tuple(axes.get_ylim()) for axes in waiting] == [(0, plot.HEADROOM * 80)] * 2


def test_sessions_are_drawn_beside_what_they_should_have():
    """A gap where one was not there, and the part of the distance below."""
    sessions = [
        {"name": "a.0", "rate_bps": [None, 40_000_000], "fair_bps": [None, 50_000_000]},
        {"name": "b.0", "rate_bps": [90_000_000, 60_000_000], "fair_bps": [100_000_000, 50_000_000]},
    ]
    figure = plot._session_charts(
        {
            "scenario": "lambda",
            "command": "simulate",
            "phases": [],
            "series": {
                "frame_ms": [],
                "pairs": [],
                "time_ms": [100.0, 200.0],
                "sessions": sessions,
                "distance": {"distance": [0.1, 0.15], "d0": [1.0, 0.75]},
            },
        }
    )
    first, second, distance = figure.axes[:3]
    rate, fair = first.get_lines()
    assert (str(rate.get_ydata()[0]), rate.get_ydata()[1], fair.get_ydata()[1]) == ("nan", 40.0, 50.0)
    assert [list(line.get_ydata()) for line in second.get_lines()] == [[90.0, 60.0, 60.0], [100.0, 50.0, 50.0]]
    assert [round(part, 9) for part in distance.get_lines()[0].get_ydata()] == [0.1, 0.2, 0.2]
    assert first.get_ylim() == second.get_ylim() == (0, plot.HEADROOM * 100)


def test_sessions_are_drawn_below_the_links(tmp_path):
    link = {"name": "a-b", "utilization": [0.5, 1.0], "queue_bytes": [0, 1500], "dropped_packets": [0, 2]}
    session = {"name": "a.0", "rate_bps": [1, 2], "fair_bps": [2, 2]}
    bare = {"frame_ms": [], "pairs": [], "time_ms": [100.0, 200.0], "links": [link]}
    rows = []
    for more in ({}, {"sessions": [session], "distance": {"distance": [0, 0], "d0": [0, 1]}}):
        plot.draw(
            {"scenario": "lambda", "command": "simulate", "phases": [], "series": bare | more}, tmp_path / "out.png"
        )
        rows.append(image.imread(tmp_path / "out.png").shape[0])
    assert rows[1] > rows[0] + 100


def trains(**counts: list[int]) -> dict:
    return {kind: counts.get(kind, [0, 0]) for kind in ("forwarded", "buffered", "converted", "deflected", "blocked")}


def test_of_trains_the_part_that_did_not_go_straight_on_is_drawn():
    figure = plot._train_charts(
        {
            "scenario": "mesh",
            "command": "simulate",
            "phases": [],
            "series": {
                "time_ms": [100.0, 200.0],
                "bursts": [
                    {"switch": "s0", **trains(forwarded=[90, 40], blocked=[10, 0])},
                    {"switch": "s1", **trains(forwarded=[100, 40], deflected=[0, 20])},
                ],
            },
        }
    )
    over_time, by_switch = figure.axes
    lines = {tuple(line.get_ydata()) for line in over_time.get_lines()}
    assert lines == {(5.0, 0.0, 0.0), (0.0, 20.0, 20.0)}, "blocked, and deflected, in percent of what came to both"
    assert (
        len({(line.get_color(), line.get_linestyle()) for line in over_time.get_lines()})
        == len({line.get_linestyle() for line in over_time.get_lines()})
        == 2
    )
    assert [text.get_text() for text in figure.legends[0].texts] == ["deflected", "blocked"], (
        "no kind that there was not"
    )
    assert [label.get_text() for label in by_switch.get_xticklabels()] == ["s0", "s1"]
    heights = {round(bar.get_height(), 3) for bar in by_switch.patches}
    assert heights == {0.0, round(1000 / 140, 3), round(2000 / 160, 3)}
