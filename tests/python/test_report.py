# SPDX-License-Identifier: Apache-2.0
"""Reports as Python values and as frames."""

import json
import sys

import pandas
import pytest

from slotwise import InvalidArgument, MissingPackage, Report, ReportError, SlotwiseError, UnknownPhase, UnknownTable


def flow(source: str, goodput_bps: float) -> dict:
    return {
        "kind": "tcp",
        "from": source,
        "to": "h1_0",
        "goodput_bps": goodput_bps,
        "delay_ns": {"mean": 7.0, "max": 9},
        "stream": None,
    }


@pytest.fixture
def report() -> Report:
    phases = [
        {"name": "one", "flows": [flow("h0_0", 1.0), flow("h0_1", 2.0)], "files": []},
        {
            "name": "two",
            "flows": [flow("h0_0", 3.0)],
            "files": [{"from": "h0_0", "to": "h1_0", "bytes": 10, "intact": True}],
        },
    ]
    pair = {"from": 0, "to": 1, "demand_bytes": [5, 6], "granted_slots": [1, 2], "delivered_bytes": [3, 4]}
    return Report({"phases": phases, "series": {"frame_ms": [0.0, 5.0], "pairs": [pair, {**pair, "from": 1, "to": 0}]}})


def test_flows_are_rows_with_their_phase(report):
    flows = report.flows()
    assert list(flows["phase"]) == ["one", "one", "two"]
    assert list(flows["goodput_bps"]) == [1.0, 2.0, 3.0]
    assert list(flows["delay_ns_mean"]) == [7.0] * 3
    assert flows.columns[0] == "phase"
    assert flows.groupby("phase")["goodput_bps"].sum()["one"] == 3.0


def test_files_and_frames_are_rows_too(report):
    assert report.files().to_dict("records") == [
        {"phase": "two", "from": "h0_0", "to": "h1_0", "bytes": 10, "intact": True}
    ]
    series = report.series()
    assert list(series.columns) == ["frame_ms", "from", "to", "demand_bytes", "granted_slots", "delivered_bytes"]
    assert series.query("`from` == 1")["granted_slots"].tolist() == [1, 2]


def test_a_report_without_flows_has_an_empty_frame():
    assert Report({"phases": [{"name": "silence", "flows": [], "files": []}]}).flows().empty


def test_a_report_that_a_command_wrote_is_opened(report, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(json.dumps({**report.data, "verdict": {"ok": True, "failures": [], "notes": []}}))
    pandas.DataFrame({"queue": ["edge0->edge1"]}).to_parquet(tmp_path / "queues.parquet")
    opened = Report.load(file, columns=tmp_path)
    assert opened.ok
    assert opened.goodput_bps("two") == {("h0_0", "h1_0"): 3.0}
    assert opened.tables() == ["queues"]
    with pytest.raises(SlotwiseError, match="columns=DIRECTORY"):
        Report.load(str(file)).tables()


@pytest.mark.parametrize("text", ["version: 1", "{", "[]", "[" * 100_000, '{"phases": []}'])
def test_what_is_no_report_is_refused(tmp_path, text):
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(ReportError, match=f"{file}: not a report"):
        Report.load(file)


def test_an_unknown_phase_is_refused_with_those_that_there_are(report):
    with pytest.raises(
        UnknownPhase, match="the report has no phase 'tow'; did you mean 'two'\\? expected one of one, two"
    ):
        report.goodput_bps("tow")


def test_a_phase_may_be_left_out_where_there_is_one(report):
    with pytest.raises(InvalidArgument, match="phase: missing; expected one of the report's 2: one, two"):
        report.goodput_bps()
    alone = Report({**report.data, "phases": report.data["phases"][1:]})
    assert alone.goodput_bps() == alone.goodput_bps("two") == {("h0_0", "h1_0"): 3.0}
    assert alone.phase()["name"] == "two"


def test_columns_are_read_by_name(report, tmp_path):
    pandas.DataFrame({"queue": ["edge0->edge1"], "time_s": [0.5]}).to_parquet(tmp_path / "queues.parquet")
    with_columns = Report(report.data, tmp_path)
    assert with_columns.tables() == ["queues"]
    assert with_columns.columns("queues").to_dict("records") == [{"queue": "edge0->edge1", "time_s": 0.5}]
    with pytest.raises(UnknownTable, match="no table 'queue'; did you mean 'queues'"):
        with_columns.columns("queue")
    with pytest.raises(SlotwiseError, match=r"simulate\(columns=DIRECTORY\)"):
        report.columns("queues")


def test_without_pandas_it_is_said_how_to_get_it(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingPackage,
        match=r"pandas is required for data frames but not installed; run `pip install '/.*/python/\[frames\]'",
    ):
        report.flows()


def test_of_routers_series_are_a_row_a_period_and_link():
    link = {"name": "a-b", "utilization": [0.5, 1.0], "queue_bytes": [0, 1500], "dropped_packets": [0, 2]}
    series = {"frame_ms": [], "pairs": [], "time_ms": [100.0, 200.0], "links": [link, {**link, "name": "b-a"}]}
    rows = Report({"phases": [], "series": series}).series()
    assert list(rows.columns) == ["time_ms", "name", "utilization", "queue_bytes", "dropped_packets"]
    assert rows.query("name == 'b-a'")["utilization"].tolist() == [0.5, 1.0]
