# SPDX-License-Identifier: Apache-2.0
"""Sweeps: what is refused before anything runs, what is kept, on this machine and on workers elsewhere that die or are of another version."""

import stat
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from socket import SOCK_DGRAM

import dask
import distributed
import pandas
import psutil
import pyarrow
import pytest
from pyarrow import parquet

from slotwise import Network, Star, UnknownTable
from slotwise.errors import InvalidArgument
from slotwise.results.dataset import DamagedRun, Results, ResultsError
from slotwise.scenario import ScenarioError
from slotwise.tools import farm, home
from slotwise.tools.farm import FarmError, LostRun, NoScheduler, OtherVersion
from slotwise.tools.sweep import Sweep, SweepFailed

pytestmark = pytest.mark.slow

GRID = {
    "/controller/scheduler": ["fair", "islip"],
    "load": {"low": {"/edges/*/hosts": 1}, "high": {"/edges/*/hosts": 3}},
}
# In place of `slotwise`: accepts every scenario, and notes who asked it for which seed.
STAND_IN = """#!/bin/sh
# Version {version}.
[ "$1" = check ] && echo '{{"problems": [], "warnings": []}}' && exit
echo "$PPID $8" >> {here}/asked
. {here}/extra
mkdir "$4"
cp {here}/flows.parquet "$4/flows.parquet"
echo '{{"verdict": {{"ok": '$([ "$8" = 13 ] && echo false || echo true)', "failures": [], "notes": []}}, "series": {{}}, "controller": {{}}, "seed": '"$8"'}}' > "$6"
"""


@pytest.fixture(name="stand_in")
def fixture_stand_in(tmp_path, monkeypatch):
    """Makes the stand-in; it is in `tmp_path`, and so is its note `asked`."""
    table = pyarrow.table({"name": ["a", "b"], "packets": [1.0, 2.0]})
    parquet.write_table(table, tmp_path / "flows.parquet")

    def make(extra: str = "", version: str = "1") -> None:
        script = tmp_path / "slotwise"
        script.write_text(STAND_IN.format(here=tmp_path, version=version))
        # Apart: it is no other version.
        (tmp_path / "extra").write_text(extra)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("SLOTWISE_COMMAND", str(script))
        farm._identity.cache_clear()

    make()
    yield make
    farm._identity.cache_clear()


def sweep(grid=None, seeds=(1, 2), **options) -> Sweep:
    """A small one."""
    return Sweep(Star(2, 2).phase("main", 0.1).tcp(), GRID if grid is None else grid, seeds, **options)


def asked(tmp_path: Path) -> list[tuple[str, int]]:
    """(worker, seed) of each run that was made, in their order."""
    note = tmp_path / "asked"
    return [(line.split()[0], int(line.split()[1])) for line in note.read_text().splitlines()] if note.exists() else []


def content(directory: Path) -> dict[str, bytes]:
    """Of all files."""
    return {
        str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file()
    }


@pytest.fixture(name="cluster")
def fixture_cluster():
    """A scheduler with two workers that are processes."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), distributed.LocalCluster(**options) as made:
        yield made


@pytest.mark.parametrize(
    "grid, seeds, reason",
    [
        ({}, [], "seeds: none"),
        ({}, [1, 1], "seeds: duplicate seed"),
        ({}, [-1], "seeds: expected integers from 0 to 2"),
        ({}, [True], "seeds: expected integers"),
        ({"/controller/scheduler": []}, [1], "/controller/scheduler: no values"),
        ({"/controller/scheduler": "fair"}, [1], "expected a list of values, got 'fair'"),
        ({"/controller/scheduler": ["fair", "fair"]}, [1], "duplicate value"),
        ({"/controller/scheduler": [{"name": "islip"}]}, [1], "is not valid in a column; .* or a named value"),
        ({"/edges/0/hosts": [float("nan")]}, [1], "is not valid in a column"),
        ({"/edges/0/name": ["x" * 100]}, [1], "is not valid in a column"),
        ({"scheduler": ["fair"]}, [1], "'scheduler' is not a JSON pointer"),
        ({"/edges/0/hosts": [1], "/edges/1/hosts": [1]}, [1], "duplicate parameter name 'hosts'"),
        ({"seed": {"one": {}}}, [1], "invalid parameter name 'seed'"),
        (
            {"report": {"one": {}}},
            [1],
            "invalid parameter name 'report'; .* and not failures, files, ok, report, scenario_sha256, seed",
        ),
        ({"load": {"1": {}, 1: {}}}, [1], "'1' and 1 have the same text in the data set"),
        ({"load": {"true": {}, True: {}}}, [1], "'true' and True have the same text"),
        ({"../up": {"one": {}}}, [1], "invalid parameter name '../up'"),
        ({"load": {"low": 3}}, [1], "load: low: expected values by JSON pointer, got 3"),
        (
            {"/edges/0/name": ["__HIVE_DEFAULT_PARTITION__"]},
            [1],
            "grid: /edges/0/name: '__HIVE_DEFAULT_PARTITION__' represents None in a data set; expected None",
        ),
        (
            {"/edges/0/hosts": [2**53 + 1, 1.5]},
            [1],
            "grid: /edges/0/hosts: 9007199254740993 becomes 9007199254740992 in a column with 1.5; expected integers up to 2\\^53",
        ),
        ({"load": {1.5: {}, -(2**53) - 1: {}}}, [1], "grid: load: -9007199254740993 becomes -9007199254740992"),
        ({"/edges/0/hosts": range(1000)}, range(1001), "1001000 runs; expected at most 1000000"),
    ],
)
def test_grids_that_cannot_be_are_refused(grid, seeds, reason):
    with pytest.raises(InvalidArgument, match=reason):
        sweep(grid, seeds)


def test_unknown_parameters_and_bad_values_are_refused_before_anything_runs(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(
        InvalidArgument, match="parameter 'rate_bps': scenario 'star2' has nothing at /fibres/0/rate_bps"
    ):
        sweep({"/fibres/0/rate_bps": [1]}).run(out)
    with pytest.raises(ScenarioError, match=r"star2' with scheduler=best: /controller/scheduler: .*best"):
        sweep({"/controller/scheduler": ["fair", "best"]}).run(out)
    with pytest.raises(ScenarioError, match="with hostess=1: /edges/0/hostess: unknown key"):
        sweep({"/edges/0/hostess": [1]}).run(out)
    assert not out.exists()


def test_a_set_has_each_run_and_reads_as_one_frame(tmp_path, stand_in):
    heard = []
    made = sweep(seeds=[1, 13]).run(tmp_path / "out", workers=2, on_run=lambda *run: heard.append(run))
    assert len(heard) == len(asked(tmp_path)) == len(sweep()) == 8
    assert made.tables() == ["flows"]
    frame = made.frame("flows")
    assert list(frame.columns) == ["scheduler", "load", "seed", "name", "packets"]
    assert len(frame) == 16 and set(frame["load"]) == {"low", "high"} and set(frame["seed"]) == {1, 13}
    assert (tmp_path / "out/flows/scheduler=islip/load=high/seed=13/part-0.parquet").read_bytes() == (
        tmp_path / "flows.parquet"
    ).read_bytes()
    assert set(made.failed()["seed"]) == {13} and len(made.failed()) == 4
    assert sorted(ok for _, ok in heard) == [False] * 4 + [True] * 4
    assert '"seed": 13' in made.failed()["report"].iloc[0]
    with pytest.raises(UnknownTable, match="has no table 'flow'; did you mean 'flows'"):
        made.frame("flow")
    pandas.testing.assert_frame_equal(Results(tmp_path / "out").frame("flows"), frame)


def test_parameters_keep_their_types(tmp_path, stand_in):
    grid = {
        "/edges/0/hosts": [1, 2],
        "/loss": [0.5, 1],
        "/on": [True, False],
        "/text": ["a b/c=ü%", "0"],
        "/gone": [None, 7],
    }
    base = Star(2, 2).phase("main", 0.1).tcp().scenario | {"gone": 1}
    frame = Sweep(base, grid).run(tmp_path / "out").frame("flows")
    assert {name: str(frame[name].dtype) for name in ("hosts", "loss", "on", "text")} == {
        "hosts": "int64",
        "loss": "float64",
        "on": "bool",
        "text": "object",
    }
    assert set(frame["text"]) == {"a b/c=ü%", "0"} and set(frame["gone"].dropna()) == {7} and frame["gone"].isna().any()


@pytest.mark.parametrize(
    "values",
    [
        ["01", "1", "001"],
        ["1.1", "1.10"],
        ["1", "1.0"],
        ["0.0", "-0.0"],
        ["9007199254740993", "1.5"],
        ["1_000"],
        [1 << 70],
        ["nan", "inf"],
        ["1, b=2", "1"],
        ['"1"', "1, b=2"],
    ],
)
def test_values_that_are_written_differently_stay_apart(tmp_path, stand_in, values):
    base = Star(2, 2).phase("main", 0.1).tcp().scenario | {"b": 1}
    grid = {"a": {value: {} for value in values}, "b": {"2": {}, "2, b=2": {}}}
    frame = Sweep(base, grid).run(tmp_path / "out").runs()
    assert set(frame["a"]) == {str(value) for value in values} and len(frame) == 2 * len(values)


@pytest.mark.parametrize("values, read", [([1, -2], [-2, 1]), ([1, 0.25], [0.25, 1.0]), ([1e-7, 1e300], [1e-7, 1e300])])
def test_numbers_are_read_as_numbers(tmp_path, stand_in, values, read):
    frame = (
        Sweep(Star(2, 2).phase("main", 0.1).tcp(), {"a": {value: {} for value in values}}).run(tmp_path / "out").runs()
    )
    assert list(frame["a"]) == read


def test_what_is_there_is_not_made_again_and_what_is_not_whole_is(tmp_path, stand_in):
    out = tmp_path / "out"
    sweep(seeds=[1]).run(out)
    before = content(out)
    sweep(seeds=[1, 2]).run(out)
    assert Counter(seed for _, seed in asked(tmp_path)) == {1: 4, 2: 4}
    file = out / "flows/scheduler=fair/load=low/seed=2/part-0.parquet"
    file.write_bytes(b"cut off")
    row = out / "runs/scheduler=islip/load=low/seed=1/part-0.parquet"
    row.write_bytes(b"")
    with pytest.warns(DamagedRun) as warned:
        sweep(seeds=[1, 2]).run(out)
    notes = [str(warning.message) for warning in warned if warning.category is DamagedRun]
    assert {note.partition(": ")[0] for note in notes} == {str(file), str(row)}
    assert all("the run is repeated" in note for note in notes)
    assert Counter(seed for _, seed in asked(tmp_path)) == {1: 5, 2: 5}
    assert before.items() <= content(out).items()


def test_an_interrupted_sweep_goes_on_where_it_ended_and_a_fresh_one_makes_all(tmp_path, stand_in):
    out, made = tmp_path / "out", []

    def interrupt(name, ok):
        made.append(name)
        if len(made) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep().run(out, workers=1, on_run=interrupt)
    sweep().run(out, on_run=lambda name, ok: made.append(name))
    assert len(made) == len(set(made)) == 8, "what was stored is not made again"
    whole = content(out)
    stand_in(version="2")
    made.clear()
    sweep(seeds=[2]).run(out, fresh=True, on_run=lambda name, ok: made.append(name))
    assert len(made) == 4
    there = content(out)
    assert there["sweep.json"] != whole["sweep.json"]
    assert {name for name in there if "seed=" in name} == {name for name in whole if "seed=2" in name}


def test_a_set_of_another_sweep_stays_as_it_is(tmp_path, stand_in):
    out = tmp_path / "out"
    sweep().run(out)
    before = content(out)
    for other in (sweep(duration_s=1), sweep({"/edges/0/hosts": [1]}), Sweep(Star(3, 1).phase("main", 1).tcp(), GRID)):
        with pytest.raises(ResultsError, match=r"another sweep: .* differ"):
            other.run(out)
    stand_in(version="2")
    with pytest.raises(ResultsError, match="another sweep: made_by differ"):
        sweep().run(out)
    assert content(out) == before
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "letter").write_text("dear")
    with pytest.raises(ResultsError, match="not empty and not the data set of a sweep"):
        sweep().run(foreign)
    with pytest.raises(ResultsError, match="not the data set of a sweep"):
        Results(foreign)


def test_a_table_is_kept_only_if_asked_for_and_its_columns_are_not_parameters(tmp_path, stand_in):
    assert sweep(tables=["flows"]).run(tmp_path / "one").tables() == ["flows"]
    with pytest.raises(SweepFailed, match="wrote no table links; expected one of flows"):
        sweep(tables=["links"]).run(tmp_path / "two")
    with pytest.raises(ResultsError, match="parameter 'packets': table flows has a column of that name"):
        sweep({"packets": {"few": {"/edges/0/hosts": 1}}}).run(tmp_path / "three")


def test_a_run_without_a_report_is_listed_when_the_others_are_made(tmp_path, stand_in):
    out, seeds, heard = tmp_path / "out", range(1, 31), []
    stand_in(extra='[ "$8" = 2 ] && { echo "no memory" >&2; exit 1; }')
    with pytest.raises(
        SweepFailed,
        match=r"1 of 30 runs ended without a report; .*:\n  the scenario, seed 2: slotwise simulate ended with status 1 without a report: no memory",
    ) as ended:
        sweep({}, seeds).run(out, workers=1, on_run=lambda *run: heard.append(run))
    assert list(ended.value.runs) == ["the scenario, seed 2"]
    assert sorted(seed for _, seed in asked(tmp_path)) == list(seeds) and [
        name for name, is_ok in heard if not is_ok and "13" not in name
    ] == ["the scenario, seed 2"]
    failed = Results(out).failed().set_index("seed")
    assert (
        list(failed.index) == [2, 13]
        and "no memory" in failed.loc[2, "failures"][0]
        and failed.loc[2, "report"] is None
    )
    assert set(Results(out).frame("flows")["seed"]) == set(seeds) - {2}
    stand_in()
    assert list(sweep({}, seeds).run(out, workers=1).failed()["seed"]) == [13]
    assert Counter(seed for _, seed in asked(tmp_path)) == dict.fromkeys(seeds, 1) | {2: 2}


def test_of_many_runs_without_a_report_some_are_named(tmp_path, stand_in):
    stand_in(extra="exit 1")
    with pytest.raises(
        SweepFailed, match=r"(?s)30 of 30 runs .*\n  10 more: see Results\('.*out'\).failed\(\)$"
    ) as ended:
        sweep({}, range(30)).run(tmp_path / "out")
    assert len(ended.value.runs) == len(Results(tmp_path / "out").failed()) == 30


def test_a_run_that_its_machine_ended_is_no_result(tmp_path, stand_in):
    unfinished = '{"verdict": {"ok": false, "failures": ["the controller did not answer"], "notes": []}, "series": {}, "controller": null}'
    stand_in(extra=f"echo '{unfinished}' > $6; exit 1")
    with pytest.raises(SweepFailed, match="seed 2: incomplete run: the controller did not answer"):
        sweep({}, seeds=[2]).run(tmp_path / "out")
    assert Results(tmp_path / "out").tables() == [], "its columns are not kept"
    stand_in()
    assert sweep({}, seeds=[2]).run(tmp_path / "out").failed().empty


def test_a_sweep_leaves_nothing_among_temporary_files(tmp_path, stand_in, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    sweep().run(tmp_path / "out", workers=2)
    assert not list(temporary.iterdir())


def test_a_full_disk_and_a_place_that_cannot_be_written_are_said(tmp_path, stand_in, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"file.*: Not a directory"):
        sweep().run(tmp_path / "file" / "out")
    write = Path.write_bytes

    def full(file: Path, content_: bytes) -> int:
        if "seed=2" in str(file):
            raise OSError(28, "No space left on device", str(file))
        return write(file, content_)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ResultsError, match="No space left on device; existing runs are unchanged"):
        sweep({}).run(tmp_path / "out", workers=1)
    monkeypatch.undo()
    monkeypatch.setenv("SLOTWISE_COMMAND", str(tmp_path / "slotwise"))
    assert sweep({}).run(tmp_path / "out").frame("flows")["seed"].to_list() == [1, 1, 2, 2]


def test_an_address_that_does_not_answer_is_said(tmp_path, stand_in, monkeypatch):
    monkeypatch.setattr(farm, "ANSWER_S", 0.2)
    for address in ("tcp://127.0.0.1:1", "nowhere", "http://127.0.0.1:1", "tcp://127.0.0.1", ""):
        with pytest.raises(NoScheduler, match="no Dask scheduler answers"):
            sweep().run(tmp_path / "out", on=address)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=None) as empty,
        pytest.raises(NoScheduler, match="the scheduler has no workers; `dask worker tcp://"),
    ):
        sweep().run(tmp_path / "out", on=empty.scheduler_address)
    with pytest.raises(InvalidArgument, match="either `on` or `workers`"):
        sweep().run(tmp_path / "out", on="tcp://127.0.0.1:1", workers=2)
    with pytest.raises(InvalidArgument, match="workers: expected an integer of at least 1, got 0"):
        sweep().run(tmp_path / "out", workers=0)
    assert not asked(tmp_path)


def test_the_runs_of_a_killed_worker_are_made_again_and_no_other(tmp_path, stand_in, cluster):
    here = sweep({}, range(12)).run(tmp_path / "here", workers=1).directory
    (tmp_path / "asked").unlink()
    stand_in(
        extra=f'[ "$8" = 5 ] && ! [ -e {tmp_path}/killed ] && {{ echo $PPID > {tmp_path}/killed; kill -9 $PPID; exit 1; }}'
    )
    there = sweep({}, range(12)).run(tmp_path / "there", on=cluster.scheduler_address).directory
    killed = (tmp_path / "killed").read_text().strip()
    times = Counter(seed for _, seed in asked(tmp_path))
    again = {seed for seed, count in times.items() if count > 1}
    assert set(times) == set(range(12)) and 5 in again
    # It may have held results that were not asked for yet.
    assert all((killed, seed) in asked(tmp_path) and times[seed] == 2 for seed in again)
    assert content(here) == content(there)


def test_a_run_that_kills_each_worker_ends_the_sweep(tmp_path, stand_in, cluster):
    stand_in(extra='[ "$8" = 5 ] && kill -9 $PPID')
    with pytest.raises(LostRun, match=r"seed 5: all 2 workers that executed the run died"):
        sweep({}, [5]).run(tmp_path / "out", on=cluster.scheduler_address)


def test_a_scheduler_that_is_killed_in_mid_sweep_is_said(tmp_path, stand_in):
    stand_in(extra='[ "$8" = 1 ] || cat > /dev/null')
    file, quiet = tmp_path / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
    ]
    with ExitStack() as stack:
        scheduler = stack.enter_context(subprocess.Popen([*start, "--scheduler-file", str(file)], **quiet))
        stack.callback(scheduler.kill)
        joins = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(file),
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
        ]
        stack.callback(stack.enter_context(subprocess.Popen(joins, **quiet)).kill)
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": "1s"}))
        client = stack.enter_context(distributed.Client(scheduler_file=str(file), timeout=60))
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(FarmError):
            sweep({}, [1, 2, 3]).run(tmp_path / "out", on=client, on_run=lambda *_: scheduler.kill())
    assert len(sweep({}, [1]).run(tmp_path / "out", workers=1).runs()) == 1
    assert Counter(seed for _, seed in asked(tmp_path))[1] == 1


def test_a_worker_of_another_version_is_refused(tmp_path, stand_in, cluster):
    with distributed.Client(cluster) as client:
        client.run(farm.identity)
        stand_in(version="2")
        with pytest.raises(OtherVersion, match=r"worker tcp://.* has another version of Slotwise: different engine"):
            sweep().run(tmp_path / "out", on=client)
        with pytest.raises(OtherVersion, match="this worker has another version"):
            farm.make(farm.Job("a run", ("simulate",), ""), {"engine": "3"})
    assert not asked(tmp_path)


def test_a_client_that_is_not_the_default_one_serves_too(tmp_path, stand_in, cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        assert len(sweep({}, [1, 2]).run(tmp_path / "out", on=client).runs()) == 2


def test_workers_here_open_no_port_to_others():
    with farm.connect(workers=2) as workers:
        assert workers.threads == 2
        sockets = psutil.Process().net_connections("inet")
        listening = {
            socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN or socket.type == SOCK_DGRAM
        }
    assert listening <= {"127.0.0.1", "::1"}


def test_few_jobs_are_with_the_scheduler_at_a_time(stand_in, monkeypatch):
    monkeypatch.setattr(farm, "make", lambda job, _: farm.Made(0, "", {}))
    taken = 0

    def jobs():
        nonlocal taken
        for number in range(200):
            taken += 1
            yield farm.Job(str(number), (), "")

    with farm.connect(workers=2) as workers:
        ended = 0
        for _ in workers.run(jobs()):
            ended += 1
            assert taken - ended <= farm.LEAST_AHEAD
    assert ended == 200


def test_the_same_bytes_come_out_here_and_on_a_cluster(tmp_path, cluster):
    network = (
        Network("pair", seconds=0.05)
        .node("left", "right")
        .link("left", "right", rate_bps=10_000_000, delay_ns=1000, buffer_packets=20)
    )
    network.hosts("s", "left").hosts("d", "right").tcp("s", "d")
    grid = {"/links/0/rate_bps": [10_000_000, 20_000_000]}
    here = Sweep(network, grid).run(tmp_path / "here").directory
    there = Sweep(network, grid).run(tmp_path / "there", on=cluster.scheduler_address).directory
    assert content(here) == content(there)
    frame = Results(here).frame("flows")
    assert frame.groupby("rate_bps")["goodput_kbps"].sum().is_monotonic_increasing
    # What the command itself writes.
    file = tmp_path / "scenario.yaml"
    network.scenario["links"][0]["rate_bps"] = 20_000_000
    network.save(file)
    words = [home.slotwise_command(), "simulate", str(file), "--columns", str(tmp_path / "columns")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert (here / "flows/rate_bps=20000000/seed=1/part-0.parquet").read_bytes() == (
        tmp_path / "columns" / "flows.parquet"
    ).read_bytes()
