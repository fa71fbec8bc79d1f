# SPDX-License-Identifier: Apache-2.0
"""Digests of values see each value, and no name that the map knows."""

import json
import math

import pyarrow
import pytest
from pyarrow import parquet

from digests import KEPT, KEPT_VALUES, RENAMED
from values import Names, Renames, encode, moved, of_document, of_tables

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
    """A directory with tables."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, columns in by_name.items():
        parquet.write_table(pyarrow.table(columns), directory / f"{name}.parquet")
    return directory


def changed(columns: dict, name: str, values: list) -> dict:
    """A table with another column in the place of one."""
    return {**columns, name: values}


@pytest.fixture(name="kept")
def fixture_kept(tmp_path):
    return of_tables(tables(tmp_path / "kept", flows=FLOWS), SAME)


def test_a_column_has_a_digest_and_the_same_again(kept, tmp_path):
    assert kept.keys() == {"/flows/flow", "/flows/time_s", "/flows/rate_kbps"} and len(set(kept.values())) == 3
    assert of_tables(tables(tmp_path / "again", flows=FLOWS), SAME) == kept


def test_the_order_of_columns_and_their_encoding_are_no_values(kept, tmp_path):
    turned = tmp_path / "turned"
    turned.mkdir()
    columns = pyarrow.table(dict(reversed(FLOWS.items())))
    parquet.write_table(columns, turned / "flows.parquet", compression="NONE", use_dictionary=False, row_group_size=1)
    assert of_tables(turned, SAME) == kept


def test_the_last_bit_of_a_number_is_seen(kept, tmp_path):
    rates = [math.nextafter(1.5, 2), None, 2.5]
    found = of_tables(tables(tmp_path / "found", flows=changed(FLOWS, "rate_kbps", rates)), SAME)
    assert moved(kept, found) == ["/flows/rate_kbps"]


@pytest.mark.parametrize("rates", [[1.5, 0.0, 2.5], [1.5, math.nan, 2.5], [None, 1.5, 2.5]])
def test_what_is_null_is_seen(rates, kept, tmp_path):
    found = of_tables(tables(tmp_path / "found", flows=changed(FLOWS, "rate_kbps", rates)), SAME)
    assert moved(kept, found) == ["/flows/rate_kbps"]


def test_swapped_rows_are_seen_where_they_differ(kept, tmp_path):
    swapped = {name: [values[1], values[0], values[2]] for name, values in FLOWS.items()}
    found = of_tables(tables(tmp_path / "found", flows=swapped), SAME)
    assert moved(kept, found) == ["/flows/flow", "/flows/rate_kbps"]


def test_a_row_less_is_seen_in_all_columns(kept, tmp_path):
    found = of_tables(tables(tmp_path / "found", flows={name: values[:2] for name, values in FLOWS.items()}), SAME)
    assert moved(kept, found) == sorted(kept)


def test_a_32_bit_float_is_the_number_that_it_holds(kept, tmp_path):
    narrow = changed(FLOWS, "rate_kbps", pyarrow.array(FLOWS["rate_kbps"], pyarrow.float32()))
    assert of_tables(tables(tmp_path / "narrow", flows=narrow), SAME) == kept
    whole = changed(FLOWS, "rate_kbps", [1, None, 2])
    assert moved(kept, of_tables(tables(tmp_path / "whole", flows=whole), SAME)) == ["/flows/rate_kbps"]


def test_tables_of_several_runs_are_told_apart(tmp_path):
    slow, fast = FLOWS, changed(FLOWS, "rate_kbps", [9.0, 9.0, 9.0])
    for name, of_xcp, of_tcp in (("first", slow, fast), ("second", fast, slow)):
        tables(tmp_path / name / "xcp", flows=of_xcp)
        tables(tmp_path / name / "tcp", flows=of_tcp)
    first, second = (of_tables(tmp_path / name, SAME) for name in ("first", "second"))
    assert moved(first, second) == ["/flows/rate_kbps"]


def test_a_renamed_column_keeps_its_digest_by_a_line_of_the_map(kept, tmp_path):
    renamed = {{"rate_kbps": "goodput_kbps"}.get(name, name): values for name, values in FLOWS.items()}
    found = tables(tmp_path / "found", flows=renamed)
    assert moved(kept, of_tables(found, SAME)) == ["/flows/rate_kbps (gone)", "/flows/goodput_kbps (new)"]
    names = Names({"columns": {"/flows/goodput_kbps": "/flows/rate_kbps"}})
    assert of_tables(found, names) == kept
    rates = [math.nextafter(1.5, 2), None, 2.5]
    other = tables(tmp_path / "other", flows=changed(renamed, "goodput_kbps", rates))
    assert moved(kept, of_tables(other, names)) == ["/flows/rate_kbps"]


def test_a_renamed_table_keeps_its_digests(tmp_path):
    kept = of_tables(tables(tmp_path / "kept" / "xcp", flows=FLOWS, order=FLOWS).parent, SAME)
    renamed = {"rate": FLOWS["rate_kbps"], "flow": FLOWS["flow"], "time_s": FLOWS["time_s"]}
    found = tables(tmp_path / "found" / "xcp", flows=FLOWS, a_table=renamed).parent
    names = Names({"columns": {"/a_table": "/order", "/a_table/rate": "/order/rate_kbps"}})
    assert of_tables(found, names) == kept


def test_a_column_of_every_table_is_renamed_by_one_line(tmp_path):
    kept = of_tables(tables(tmp_path / "kept", flows=FLOWS, links=FLOWS), SAME)
    renamed = {{"rate_kbps": "max_kbps"}.get(name, name): values for name, values in FLOWS.items()}
    names = Names({"columns": {"/*/max_kbps": "/*/rate_kbps"}})
    assert of_tables(tables(tmp_path / "found", flows=renamed, links=renamed), names) == kept
    with pytest.raises(AssertionError, match="/links/rate_kbps has its former name"):
        of_tables(tables(tmp_path / "half", flows=renamed, links=FLOWS), names)


def test_swapped_names_are_told_by_the_map(kept, tmp_path):
    swapped = {"flow": FLOWS["flow"], "time_s": FLOWS["rate_kbps"], "rate_kbps": FLOWS["time_s"]}
    found = tables(tmp_path / "found", flows=swapped)
    assert moved(kept, of_tables(found, SAME)) == ["/flows/rate_kbps", "/flows/time_s"]
    names = Names({"columns": {"/flows/time_s": "/flows/rate_kbps", "/flows/rate_kbps": "/flows/time_s"}})
    assert of_tables(found, names) == kept


def test_a_report_has_a_digest_for_each_pointer():
    kept = of_document(REPORT, SAME)
    assert kept.keys() == {
        "/drops/*/place",
        "/drops/*/reason",
        "/drops/*/packets",
        "/shares/first",
        "/shares/pairs/*/pair",
        "/shares/pairs/*/distance",
        "/notes",
    }
    assert of_document(dict(reversed(REPORT.items())), SAME) == kept


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
def test_a_value_of_a_report_is_seen(pointer, value, place):
    report = json.loads(json.dumps(REPORT))
    parent = report
    for key in pointer[:-1]:
        parent = parent[key]
    parent[pointer[-1]] = value
    assert moved(of_document(REPORT, SAME), of_document(report, SAME)) == [place]


def test_places_in_a_list_are_seen():
    swapped = {**REPORT, "drops": REPORT["drops"][::-1]}
    assert moved(of_document(REPORT, SAME), of_document(swapped, SAME)) == [
        "/drops/*/packets",
        "/drops/*/place",
        "/drops/*/reason",
    ]
    nested = [{"rows": [[1, 2], [3]]}, {"rows": [[1], [2, 3]]}, {"rows": [[1, 2, 3]]}]
    assert len({of_document(each, SAME)["/rows/*/*"] for each in nested}) == 3


def test_a_renamed_report_keeps_its_digests():
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
    assert moved(of_document(REPORT, SAME), of_document(renamed, Names(document))) == [
        "/drops/*/place (gone)",
        "/drops/*/location (new)",
    ]


def test_names_with_a_slash_are_one_part():
    found = of_document({"links": {"s0-s1/0": 1, "a~b": 2}}, SAME)
    assert found.keys() == {"/links/s0-s1~10", "/links/a~0b"}
    names = Names({"report": {"/links/s0-s1~11": "/links/s0-s1~10"}})
    assert of_document({"links": {"s0-s1/1": 1, "a~b": 2}}, names) == found


def test_an_entry_about_nothing_that_was_kept_fails():
    kept = {"star4": {"columns": {"/flows/rate_kbps": ""}, "report": {"/drops/*/place": "", "/drops/*/reason": ""}}}
    good = {
        "columns": {"/paths": "/flows", "/*/goodput_kbps": "/*/rate_kbps"},
        "report": {"/losses": "/drops", "/losses/*/location": "/drops/*/place"},
        "values": {"/losses/*/reason": {"BAD_CRC": "BAD_CHECK"}},
    }
    assert Names(good).unknown(kept) == []
    bad = {
        "columns": {"/paths": "/flow", "/*/goodput_kbps": "/*/rate_kbp"},
        "report": {"/drops/*/location": "/drops/place"},
        "values": {"/losses/*/reason": {"BAD_CRC": "BAD_CHECK"}},
    }
    with pytest.raises(ValueError, match="as many"):
        Names(bad)
    bad["report"] = {"/drops/*/location": "/drops/*/places"}
    assert Names(bad).unknown(kept) == ["/flow", "/*/rate_kbp", "/drops/*/places", "/losses/*/reason"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"report": {"/losses": "/drops"}}, "/drops/./place has its former name; expected /losses"),
        ({"values": {"/drops/*/reason": {"BAD_CRC": "BAD_CHECK"}}}, "'BAD_CHECK', a former name"),
        ({"report": {"/drops/*/packets": "/drops/*/place"}}, "has its former name|are both /drops/./place"),
    ],
)
def test_an_entry_whose_rename_was_not_made_fails(document, message):
    with pytest.raises(AssertionError, match=message):
        of_document(REPORT, Names(document))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"colums": {}}, "colums; expected 'columns', 'report' and 'values'"),
        ({"columns": {"flows": "/paths"}}, "'flows': no path"),
        ({"columns": {"/flows": "/flows"}}, "expected another name"),
    ],
)
def test_a_map_that_cannot_be_read_is_refused(document, message):
    with pytest.raises(ValueError, match=message):
        Names(document)


def test_a_value_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="bytes"):
        encode(b"")
    assert Renames({}).old(("a",)) == ("a",)


def test_each_entry_of_the_map_is_about_something_that_was_kept():
    assert Names.load(RENAMED).unknown(json.loads(KEPT_VALUES.read_text())) == []


def test_each_run_has_digests_of_both_kinds():
    digests, values = (json.loads(path.read_text()) for path in (KEPT, KEPT_VALUES))
    assert digests.keys() == values.keys()
    for name, found in digests.items():
        assert values[name].keys() == found.keys() - {"pcap"}, name
