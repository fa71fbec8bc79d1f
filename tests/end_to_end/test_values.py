# SPDX-License-Identifier: Apache-2.0
"""Digests of values depend on each value, and on no name that the map has."""

import json
import math

import pyarrow
import pytest
from pyarrow import parquet

from digests import RENAMED, STORED, STORED_VALUES, difference
from test_digests import EXPERIMENTS, ROUTED, SIMULATED
from test_faults import SCENARIOS
from values import Names, Renames, differing, encode, of_document, of_tables

pytestmark = pytest.mark.quick
SAME = Names({})
FLOWS = {"flow": ["g0.0", "g0.1", "g0.2"], "time_s": [0.1, 0.1, 0.2], "rate_kbps": [1.5, None, 2.5]}
REPORT = {
    "drops": [
        {"place": "edge 1", "reason": "BAD_CHECK", "packets": 3},
        {"place": "core", "reason": "DARK", "packets": 1},
    ],
    "shares": {"first": None, "pairs": [{"pair": "a-b", "distance": 0.25}, {"pair": "b-c", "distance": 0.5}]},
    "notes": [],
}


def tables(directory, **by_name) -> object:
    """Writes tables to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, columns in by_name.items():
        parquet.write_table(pyarrow.table(columns), directory / f"{name}.parquet")
    return directory


def changed(columns: dict, name: str, values: list) -> dict:
    """Returns a table with one column replaced."""
    return {**columns, name: values}


@pytest.fixture(name="stored")
def fixture_stored(tmp_path):
    return of_tables(tables(tmp_path / "stored", flows=FLOWS), SAME)


def test_equal_columns_have_equal_digests(stored, tmp_path):
    assert stored.keys() == {"/flows/flow", "/flows/time_s", "/flows/rate_kbps"} and len(set(stored.values())) == 3
    assert of_tables(tables(tmp_path / "again", flows=FLOWS), SAME) == stored


def test_order_and_encoding_of_columns_do_not_matter(stored, tmp_path):
    turned = tmp_path / "turned"
    turned.mkdir()
    columns = pyarrow.table(dict(reversed(FLOWS.items())))
    parquet.write_table(columns, turned / "flows.parquet", compression="NONE", use_dictionary=False, row_group_size=1)
    assert of_tables(turned, SAME) == stored


def test_the_last_bit_of_a_number_changes_its_column(stored, tmp_path):
    rates = [math.nextafter(1.5, 2), None, 2.5]
    found = of_tables(tables(tmp_path / "found", flows=changed(FLOWS, "rate_kbps", rates)), SAME)
    assert differing(stored, found) == ["/flows/rate_kbps"]


@pytest.mark.parametrize("rates", [[1.5, 0.0, 2.5], [1.5, math.nan, 2.5], [None, 1.5, 2.5]])
def test_null_differs_from_each_number(rates, stored, tmp_path):
    found = of_tables(tables(tmp_path / "found", flows=changed(FLOWS, "rate_kbps", rates)), SAME)
    assert differing(stored, found) == ["/flows/rate_kbps"]


def test_swapped_rows_change_the_columns_in_which_they_differ(stored, tmp_path):
    swapped = {name: [values[1], values[0], values[2]] for name, values in FLOWS.items()}
    found = of_tables(tables(tmp_path / "found", flows=swapped), SAME)
    assert differing(stored, found) == ["/flows/flow", "/flows/rate_kbps"]


def test_a_missing_row_changes_all_columns(stored, tmp_path):
    found = of_tables(tables(tmp_path / "found", flows={name: values[:2] for name, values in FLOWS.items()}), SAME)
    assert differing(stored, found) == sorted(stored)


def test_a_32_bit_float_is_digested_as_64_bits(stored, tmp_path):
    narrow = changed(FLOWS, "rate_kbps", pyarrow.array(FLOWS["rate_kbps"], pyarrow.float32()))
    assert of_tables(tables(tmp_path / "narrow", flows=narrow), SAME) == stored
    whole = changed(FLOWS, "rate_kbps", [1, None, 2])
    assert differing(stored, of_tables(tables(tmp_path / "whole", flows=whole), SAME)) == ["/flows/rate_kbps"]


def test_the_runs_of_a_table_are_distinguished(tmp_path):
    slow, fast = FLOWS, changed(FLOWS, "rate_kbps", [9.0, 9.0, 9.0])
    for name, of_xcp, of_tcp in (("first", slow, fast), ("second", fast, slow)):
        tables(tmp_path / name / "xcp", flows=of_xcp)
        tables(tmp_path / name / "tcp", flows=of_tcp)
    first, second = (of_tables(tmp_path / name, SAME) for name in ("first", "second"))
    assert differing(first, second) == ["/flows/rate_kbps"]


def test_a_renamed_column_has_its_former_digest_by_a_line_of_the_map(stored, tmp_path):
    renamed = {{"rate_kbps": "goodput_kbps"}.get(name, name): values for name, values in FLOWS.items()}
    found = tables(tmp_path / "found", flows=renamed)
    assert differing(stored, of_tables(found, SAME)) == ["/flows/rate_kbps (missing)", "/flows/goodput_kbps (new)"]
    names = Names({"columns": {"/flows/goodput_kbps": "/flows/rate_kbps"}})
    assert of_tables(found, names) == stored
    rates = [math.nextafter(1.5, 2), None, 2.5]
    other = tables(tmp_path / "other", flows=changed(renamed, "goodput_kbps", rates))
    assert differing(stored, of_tables(other, names)) == ["/flows/rate_kbps"]


def test_a_renamed_table_has_its_former_digests(tmp_path):
    stored = of_tables(tables(tmp_path / "stored" / "xcp", flows=FLOWS, order=FLOWS).parent, SAME)
    renamed = {"rate": FLOWS["rate_kbps"], "flow": FLOWS["flow"], "time_s": FLOWS["time_s"]}
    found = tables(tmp_path / "found" / "xcp", flows=FLOWS, a_table=renamed).parent
    names = Names({"columns": {"/a_table": "/order", "/a_table/rate": "/order/rate_kbps"}})
    assert of_tables(found, names) == stored


def test_a_column_of_every_table_is_renamed_by_one_line(tmp_path):
    stored = of_tables(tables(tmp_path / "stored", flows=FLOWS, links=FLOWS), SAME)
    renamed = {{"rate_kbps": "max_kbps"}.get(name, name): values for name, values in FLOWS.items()}
    names = Names({"columns": {"/*/max_kbps": "/*/rate_kbps"}})
    assert of_tables(tables(tmp_path / "found", flows=renamed, links=renamed), names) == stored
    with pytest.raises(AssertionError, match="/links/rate_kbps has its former name"):
        of_tables(tables(tmp_path / "half", flows=renamed, links=FLOWS), names)


def test_swapped_names_are_mapped(stored, tmp_path):
    swapped = {"flow": FLOWS["flow"], "time_s": FLOWS["rate_kbps"], "rate_kbps": FLOWS["time_s"]}
    found = tables(tmp_path / "found", flows=swapped)
    assert differing(stored, of_tables(found, SAME)) == ["/flows/rate_kbps", "/flows/time_s"]
    names = Names({"columns": {"/flows/time_s": "/flows/rate_kbps", "/flows/rate_kbps": "/flows/time_s"}})
    assert of_tables(found, names) == stored


def test_a_report_has_a_digest_for_each_pointer():
    stored = of_document(REPORT, SAME)
    assert stored.keys() == {
        "/drops/*/place",
        "/drops/*/reason",
        "/drops/*/packets",
        "/shares/first",
        "/shares/pairs/*/pair",
        "/shares/pairs/*/distance",
        "/notes",
    }
    assert of_document(dict(reversed(REPORT.items())), SAME) == stored


@pytest.mark.parametrize(
    ("pointer", "value", "place"),
    [
        (("shares", "pairs", 1, "distance"), math.nextafter(0.5, 1), "/shares/pairs/*/distance"),
        (("drops", 0, "packets"), 3.0, "/drops/*/packets"),
        (("drops", 0, "packets"), "3", "/drops/*/packets"),
        (("drops", 0, "packets"), True, "/drops/*/packets"),
        (("shares", "first"), 0, "/shares/first"),
        (("notes",), {}, "/notes"),
    ],
)
def test_a_changed_value_changes_its_pointer(pointer, value, place):
    report = json.loads(json.dumps(REPORT))
    parent = report
    for key in pointer[:-1]:
        parent = parent[key]
    parent[pointer[-1]] = value
    assert differing(of_document(REPORT, SAME), of_document(report, SAME)) == [place]


def test_the_index_in_a_list_matters():
    swapped = {**REPORT, "drops": REPORT["drops"][::-1]}
    assert differing(of_document(REPORT, SAME), of_document(swapped, SAME)) == [
        "/drops/*/packets",
        "/drops/*/place",
        "/drops/*/reason",
    ]
    nested = [{"rows": [[1, 2], [3]]}, {"rows": [[1], [2, 3]]}, {"rows": [[1, 2, 3]]}]
    assert len({of_document(each, SAME)["/rows/*/*"] for each in nested}) == 3


def test_a_renamed_report_has_its_former_digests():
    renamed = {
        "drops": [
            {
                "location": drop["place"],
                "reason": {"BAD_CHECK": "BAD_CRC"}.get(drop["reason"], drop["reason"]),
                "packets": drop["packets"],
            }
            for drop in REPORT["drops"]
        ],
        "fairness": {
            "first": None,
            "pairs": [{"pair": each["pair"], "error": each["distance"]} for each in REPORT["shares"]["pairs"]],
        },
        "notes": [],
    }
    document = {
        "report": {
            "/drops/*/location": "/drops/*/place",
            "/fairness": "/shares",
            "/fairness/pairs/*/error": "/shares/pairs/*/distance",
        },
        "values": {"/drops/*/reason": {"BAD_CRC": "BAD_CHECK"}},
    }
    assert of_document(renamed, Names(document)) == of_document(REPORT, SAME)
    del document["report"]["/drops/*/location"]
    assert differing(of_document(REPORT, SAME), of_document(renamed, Names(document))) == [
        "/drops/*/place (missing)",
        "/drops/*/location (new)",
    ]


def test_a_name_with_a_slash_is_one_part():
    found = of_document({"links": {"s0-s1/0": 1, "a~b": 2}}, SAME)
    assert found.keys() == {"/links/s0-s1~10", "/links/a~0b"}
    names = Names({"report": {"/links/s0-s1~11": "/links/s0-s1~10"}})
    assert of_document({"links": {"s0-s1/1": 1, "a~b": 2}}, names) == found


def test_an_entry_that_matches_nothing_fails():
    stored = {"star4": {"columns": {"/flows/rate_kbps": ""}, "report": {"/drops/*/place": "", "/drops/*/reason": ""}}}
    good = {
        "columns": {"/paths": "/flows", "/*/goodput_kbps": "/*/rate_kbps"},
        "report": {"/losses": "/drops", "/losses/*/location": "/drops/*/place"},
        "values": {"/losses/*/reason": {"BAD_CRC": "BAD_CHECK"}},
    }
    assert Names(good).unknown(stored) == []
    bad = {
        "columns": {"/paths": "/flow", "/*/goodput_kbps": "/*/rate_kbp"},
        "report": {"/drops/*/location": "/drops/place"},
        "values": {"/losses/*/reason": {"BAD_CRC": "BAD_CHECK"}},
    }
    with pytest.raises(ValueError, match="as many"):
        Names(bad)
    bad["report"] = {"/drops/*/location": "/drops/*/places"}
    assert Names(bad).unknown(stored) == ["/flow", "/*/rate_kbp", "/drops/*/places", "/losses/*/reason"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"report": {"/losses": "/drops"}}, "/drops/./place has its former name; expected /losses"),
        ({"values": {"/drops/*/reason": {"BAD_CRC": "BAD_CHECK"}}}, "'BAD_CHECK' is a former value"),
        ({"report": {"/drops/*/packets": "/drops/*/place"}}, "has its former name|both map to /drops/./place"),
    ],
)
def test_an_entry_without_its_rename_fails(document, message):
    with pytest.raises(AssertionError, match=message):
        of_document(REPORT, Names(document))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"colums": {}}, "colums; expected columns, report, values"),
        ({"columns": {"flows": "/paths"}}, "'flows' is not a path"),
        ({"columns": {"/flows": "/flows"}}, "expected a different path"),
        ({"values": {"/drops/*/reason": {"EARLY": "DARK", "LATE": "DARK"}}}, "expected another former value"),
        ({"values": {"/drops/*/reason": {"DARK": "DARK"}}}, "expected another former value"),
    ],
)
def test_an_invalid_map_is_rejected(document, message):
    with pytest.raises(ValueError, match=message):
        Names(document)


def test_a_value_of_another_type_is_rejected():
    with pytest.raises(TypeError, match="bytes"):
        encode(b"")
    assert Renames({}).former(("a",)) == ("a",)


def test_each_entry_of_the_map_matches_a_stored_digest():
    assert Names.load(RENAMED).unknown(json.loads(STORED_VALUES.read_text())) == []


def test_each_run_has_both_digests():
    digests, values = (json.loads(path.read_text()) for path in (STORED, STORED_VALUES))
    assert digests.keys() == values.keys()
    for name, found in digests.items():
        assert values[name].keys() == found.keys() - {"pcap"}, name


def test_each_stored_digest_is_of_a_run():
    runs = {*SIMULATED, "captures", *(f"aapn-xcp-cl/{entry}" for entry in ROUTED)}
    runs |= {f"{experiment}/{entry}" for experiment, entry in EXPERIMENTS.items()}
    runs |= {f"faults/{scenario.stem}" for scenario in SCENARIOS}
    assert json.loads(STORED.read_text()).keys() == runs


def test_a_failure_names_the_values_that_differ():
    stored = {"report": "1", "columns": "2"}, {"report": {"/a": "3"}, "columns": {"/flows/rate": "4"}}
    assert difference(stored[0], stored[0], stored[1], stored[1]) == ""
    other = {"report": {"/a": "5"}, "columns": {"/flows/rate_kbps": "4"}}
    assert difference(stored[0], {**stored[0], "report": "6"}, stored[1], other).splitlines() == [
        "values differ:",
        "  columns /flows/rate (missing)",
        "  columns /flows/rate_kbps (new)",
        "  report /a",
    ]
    renamed = difference(stored[0], {"report": "6", "columns": "7"}, stored[1], stored[1])
    assert renamed == "bytes of columns and report differ; all values are equal"
