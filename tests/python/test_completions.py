# SPDX-License-Identifier: Apache-2.0
"""Comparison of the completion times of several runs, from tables written here."""

import math

import pandas
import pytest

from slotwise import InvalidArgument, Report, ReportError, UnknownName
from slotwise.results import completions


def report(directory, slowdowns, *, unfinished=0, sizes=None):
    """Report with a table of flows; flow i has a size of 500 B unless `sizes` says otherwise, and an ideal time of 1 ms."""
    directory.mkdir()
    count = len(slowdowns) + unfinished
    nothing = [math.nan] * unfinished
    table = pandas.DataFrame(
        {
            "workload": ["web"] * count,
            "size_bytes": [float(size) for size in sizes or [500] * count],
            "fct_ms": [float(slowdown) for slowdown in slowdowns] + nothing,
            "slowdown": [float(slowdown) for slowdown in slowdowns] + nothing,
        }
    )
    table.to_parquet(directory / "completions.parquet")
    return Report({"scenario": "rack", "verdict": {}, "phases": [], "series": {}}, directory)


def test_quantiles_are_those_of_the_report_and_intervals_are_over_the_runs(tmp_path):
    first = report(tmp_path / "1", range(1, 101))
    second = report(tmp_path / "2", range(3, 103), unfinished=5)
    table = completions.by_size({"a": [first, second]})
    (row,) = table.to_dict("records")
    assert (row["from_bytes"], row["below_bytes"], row["flows"], row["unfinished"]) == (0, 1000, 200, 5)
    # The 99th of 100 values: 99 and 101. Student's t of one degree of freedom.
    assert row["slowdown"] == 100
    assert row["high"] - row["low"] == pytest.approx(2 * 12.706 * math.sqrt(2) / math.sqrt(2))
    alone = completions.by_size(first, quantile=0.5).to_dict("records")[0]
    assert alone["slowdown"] == 50 and math.isnan(alone["low"])
    # Halves are rounded up, as in the report: the third of five values, and the 149th of 150.
    for count, quantile, expected in [(5, 0.5, 3), (150, 0.99, 149)]:
        odd = report(tmp_path / str(count + 1000), range(1, count + 1))
        assert completions.by_size(odd, quantile=quantile)["slowdown"][0] == expected


def test_intervals_of_many_runs_are_those_of_student():
    # scipy.stats.t.ppf(0.975, 19) is 2.093.
    low, high = completions.interval(list(range(20)))
    assert high - low == pytest.approx(2 * 2.093 * math.sqrt(35 / 20))


def test_sizes_at_a_bound_are_in_the_range_above(tmp_path):
    run = report(tmp_path / "1", [1, 2, 3, 4], sizes=[999, 1000, 9_999, 30_000_000])
    table = completions.by_size(run)
    assert list(table["from_bytes"]) == [0, 1000, 30_000_000]
    assert list(table["flows"]) == [1, 2, 1]
    assert math.isinf(table["below_bytes"].iloc[-1])


def test_labels_keep_their_order(tmp_path):
    runs = {label: report(tmp_path / label, [1, 2]) for label in ("z", "a", "m")}
    assert list(completions.by_size(runs)["label"]) == ["z", "a", "m"]
    assert list(dict.fromkeys(completions.frame(runs)["label"])) == ["z", "a", "m"]


def test_what_cannot_be_drawn_is_an_error(tmp_path):
    run = report(tmp_path / "1", [], unfinished=3)
    for plot in (completions.plot_fct, completions.plot_slowdown):
        with pytest.raises(ReportError, match="no flow has completed"):
            plot(run, tmp_path / "x.png")
    with pytest.raises(UnknownName, match="wep"):
        completions.frame(run, "wep")
    with pytest.raises(InvalidArgument, match="quantile"):
        completions.by_size(run, quantile=0)
    with pytest.raises(InvalidArgument, match="runs"):
        completions.frame([])


def test_one_flow_makes_a_picture(tmp_path):
    run = report(tmp_path / "1", [1.5])
    completions.plot_fct(run, tmp_path / "fct.png")
    completions.plot_slowdown({"one": run}, tmp_path / "slowdown.png")
    assert (tmp_path / "fct.png").stat().st_size > 1000
