# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the built command: reproducible simulations, emulations that lose their controller or are ended early, bad input.

`scripts/test end-to-end` runs them as root in a network namespace of their own, after `make setup`.
"""

import filecmp
import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest

from slotwise.tools import home

ROOT = Path(__file__).resolve().parents[2]
SLOTWISE = Path(home.slotwise_command())
SCENARIO = ROOT / "topologies" / "star3-short.yaml"
PATIENCE_S = 120
REST_PORT = 8181


def slotwise(*arguments, patience_s: float = PATIENCE_S) -> subprocess.CompletedProcess:
    """A run to its end."""
    return subprocess.run(
        [SLOTWISE, *map(str, arguments)], capture_output=True, text=True, timeout=patience_s, check=False
    )


def read_process(file: Path | str) -> str:
    """A file of a process or thread in /proc; empty if that has ended."""
    try:
        return Path(file).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children(pid: int) -> list[int]:
    """Process ids of the children of a process that is there. A thread may end meanwhile; its children go to another one."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in read_process(task / "children").split()
    ]


def command_name(pid: int) -> str:
    """Empty if it has ended."""
    return read_process(f"/proc/{pid}/comm").strip()


def below(pid: int) -> Iterator[int]:
    """Process ids of everything that a process has started, as far as it is still there."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for child in children(pid):
            yield child
            yield from below(child)


def descriptors_below(pid: int) -> dict[int, int]:
    """Of the same, by process id."""
    found = {}
    for each in below(pid):
        with suppress(ProcessLookupError):
            found[each] = os.pidfd_open(each)
    return found


def command_line(pid: int) -> str:
    """With spaces between; empty if it has ended."""
    return read_process(f"/proc/{pid}/cmdline").strip("\0").replace("\0", " ")


class Emulation:
    """A running `slotwise emulate`, with its output read as far as it was waited for."""

    def __init__(self, *arguments, scenario=SCENARIO, stdin=None):
        command = [SLOTWISE, "emulate", scenario, *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""

    def read_until(self, text: str) -> None:
        """Waits for a line that has `text` in it."""
        for line in self.process.stdout:
            self.output += line
            if text in line:
                return
        pytest.fail(f"ended without {text!r}:\n{self.output}")

    def inside(self) -> int:
        """Process 1 of the run's PID namespace."""
        (pid,) = [pid for pid in children(self.process.pid) if command_name(pid)]
        return pid

    def descendants(self) -> list[int]:
        """Open descriptors of every process of the run below the first."""
        return list(descriptors_below(self.process.pid).values())

    def finish(self) -> int:
        """Exit status."""
        self.output += self.process.communicate(timeout=PATIENCE_S)[0]
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in filter(None, (self.process.stdin, self.process.stdout)):
            stream.close()


def assert_nothing_is_left(descendants: list[int]) -> None:
    """All processes end, and with them the namespaces that held the interfaces; this namespace has only its loopback."""
    for descriptor in descendants:
        # Readable when the process has ended.
        ended, _, _ = select.select([descriptor], [], [], PATIENCE_S)
        os.close(descriptor)
        assert ended
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def load_report(path: Path) -> dict:
    """A report that fits its schema."""
    report = json.loads(path.read_text())
    schema = json.loads((ROOT / "schema" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    return report


def with_a_small_file(tmp_path) -> Path:
    """The scenario with a file that arrives in a short run."""
    path = tmp_path / "small-file.yaml"
    text, replaced = re.subn(r"\bbytes: \d+", "bytes: 20000", SCENARIO.read_text())
    assert replaced == 1
    path.write_text(text)
    return path


def test_a_simulation_can_be_repeated_to_the_byte(tmp_path):
    scenario = with_a_small_file(tmp_path)
    for name in ("first", "second"):
        arguments = ["--duration", 0.5, "--seed", 7, "--report", tmp_path / f"{name}.json", "--pcap", tmp_path / name]
        done = slotwise("simulate", scenario, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()
    captures = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert captures == sorted(path.name for path in (tmp_path / "second").iterdir()) and captures
    same, different, errors = filecmp.cmpfiles(tmp_path / "first", tmp_path / "second", captures, shallow=False)
    assert (same, different, errors) == (captures, [], [])
    report = load_report(tmp_path / "first.json")
    assert report["seed"] == 7 and report["verdict"]["ok"]
    assert sum(sum(pair["delivered_bytes"]) for pair in report["series"]["pairs"]) > 0


def test_a_recorded_start_that_does_not_fit_is_left_aside(tmp_path):
    home, kept = tmp_path / "home", "controller/standalone/target"
    (home / kept).mkdir(parents=True)
    for name in ("p4src", "schema", "topologies", f"{kept}/slotwise-controller.jar"):
        (home / name).symlink_to(ROOT / name)
    (home / kept / "slotwise-controller.jsa").write_bytes(b"not what the Java runtime recorded" * 1000)
    report = tmp_path / "report.json"
    done = subprocess.run(
        [SLOTWISE, "simulate", SCENARIO, "--duration", "0.2", "--report", report],
        env=os.environ | {"SLOTWISE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert json.loads(report.read_text())["controller"]["commits"]["completed"] > 0, done.stdout + done.stderr


def test_informational_lines_of_the_controller_are_shown_if_asked_for(tmp_path):
    scenario = with_a_small_file(tmp_path)
    quiet, verbose = (slotwise("simulate", scenario, "--duration", "0.5", *options) for options in ([], ["-v"]))
    assert quiet.returncode == 0 and " INFO " not in quiet.stderr, quiet.stderr
    assert verbose.returncode == 0 and " INFO " in verbose.stderr, verbose.stderr


def test_another_seed_is_another_simulation(tmp_path):
    reports = []
    for seed in (1, 2):
        path = tmp_path / f"{seed}.json"
        # Poisson arrivals are drawn; everything else of these reports would be the same.
        scenario = with_a_small_file(tmp_path)
        assert slotwise("simulate", scenario, "--duration", 0.5, "--seed", seed, "--report", path).returncode == 0
        reports.append(load_report(path)["series"])
    assert reports[0] != reports[1]


def test_a_file_that_does_not_arrive_fails_a_simulation(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise("simulate", SCENARIO, "--duration", 0.5, "--report", path)
    assert done.returncode == 1
    (failure,) = load_report(path)["verdict"]["failures"]
    assert failure.startswith("file from ") and ": incomplete: " in failure


def long_simulation(tmp_path, *arguments) -> subprocess.Popen:
    """One that is under way and would take hours."""
    scenario = tmp_path / "long.yaml"
    scenario.write_text(re.sub(r"duration_ms: \d+", "duration_ms: 80000000", SCENARIO.read_text()))
    command = [SLOTWISE, "simulate", scenario, *map(str, arguments)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert any("1/2 uniform" in line for line in run.stdout)
    return run


def test_a_simulation_that_is_interrupted_keeps_what_it_did(tmp_path):
    path, columns = tmp_path / "report.json", tmp_path / "columns"
    run = long_simulation(tmp_path, "--report", path, "--columns", columns)
    run.send_signal(signal.SIGINT)
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1 and "verdict       failed" in said
    report = load_report(path)
    assert report["verdict"]["failures"] == ["interrupted"]
    assert [phase["name"] for phase in report["phases"]] == ["uniform"] and report["series"]["frame_ms"]
    assert (columns / "queues.parquet").exists()


def test_a_simulation_without_its_controller_ends_at_once_with_a_report(tmp_path):
    path = tmp_path / "report.json"
    run = long_simulation(tmp_path, "--report", path)
    (controller,) = children(run.pid)
    os.kill(controller, signal.SIGKILL)
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1 and "verdict       failed" in said
    (failure,) = load_report(path)["verdict"]["failures"]
    assert "controller" in failure


def stopped_controller(run: subprocess.Popen) -> int:
    """The controller of a run in virtual time, which stands still from now on."""
    while True:
        for pid in children(run.pid):
            if command_name(pid) == "java":
                os.kill(pid, signal.SIGSTOP)
                return pid


@pytest.mark.parametrize("name", ["star4", "two-links"])
def test_a_simulation_is_interrupted_though_its_controller_stands_still(name, tmp_path):
    path = tmp_path / "report.json"
    with subprocess.Popen(
        [SLOTWISE, "simulate", name, "--duration", "1000", "--report", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        for line in run.stdout:
            # Not the one of time 0, at which nothing has happened.
            if re.match(r"(?! *0\.0 s) *\d+\.\d s +1/", line):
                break
        stopped_controller(run)
        run.send_signal(signal.SIGINT)
        output = run.communicate(timeout=PATIENCE_S)[0]
        assert run.returncode == 1, output
    report = load_report(path)
    assert report["verdict"]["failures"][0] == "interrupted", output
    assert report["controller"] is None and report["duration_ns"] > 0


def test_a_controller_that_does_not_answer_at_the_end_fails_a_simulation(tmp_path):
    path, events = tmp_path / "report.json", tmp_path / "events"
    os.mkfifo(events)
    with (
        subprocess.Popen(
            [SLOTWISE, "simulate", "two-links", "--duration", "20", "--report", path, "--events", events],
            stdout=subprocess.DEVNULL,
        ) as run,
        events.open() as lines,
    ):
        # No turn is due after this.
        next(line for line in lines if json.loads(line).get("now_ns", 0) > 10e9)
        stopped_controller(run)
        for _ in lines:
            pass
        assert run.wait(PATIENCE_S) == 1
    verdict = load_report(path)["verdict"]
    assert not verdict["ok"] and verdict["failures"] == ["controller: ops/status: no response in time"]


def test_simulations_at_once_do_not_meet(tmp_path):
    scenario = with_a_small_file(tmp_path)
    reports = [tmp_path / f"{name}.json" for name in ("one", "two", "three")]
    command = [SLOTWISE, "simulate", scenario, "--duration", "0.5", "--report"]
    runs = [subprocess.Popen([*command, report], stdout=subprocess.DEVNULL) for report in reports]
    assert [run.wait(PATIENCE_S) for run in runs] == [0, 0, 0]
    assert len({report.read_bytes() for report in reports}) == 1


def test_schedulers_change_in_time(tmp_path):
    scenario = tmp_path / "schedulers.yaml"
    scenario.write_text(
        with_a_small_file(tmp_path).read_text()
        + "changes:\n- {at_ms: 500, scheduler: {name: islip, settings: {iterations: 7}}}\n"
    )
    path = tmp_path / "report.json"
    done = slotwise("simulate", scenario, "--duration", 0.5, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["scheduler"]["name"] == "fair" and "estimator" in report["scheduler"]["settings"]
    (change,) = report["changes"]
    assert (change["by"], change["scheduler"]["settings"]["iterations"]) == ("scenario", 7)


@pytest.mark.parametrize("option", ["--report", "--pcap", "--columns", "--events"])
def test_what_cannot_be_written_is_told_before_anything_starts(option):
    done = slotwise("simulate", SCENARIO, option, "/dev/null/below")
    assert done.returncode == 1 and done.stdout == ""
    assert f"{option} /dev/null/below: cannot be written" in done.stderr


def test_two_stars_carry_what_one_cannot(tmp_path):
    scenario = ROOT / "topologies" / "star4-twin.yaml"
    done = slotwise("simulate", scenario, "--duration", 1, "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(tmp_path / "report.json")
    assert [(star["core"], star["master"]) for star in report["stars"]] == [(0, 0), (1, 1)]
    assert all(star["delivered_bytes"] > 0 and star["lost_packets"] == 0 for star in report["stars"])
    (hot_pair,) = report["hotspot_pairs"]
    data_slots_of_a_star = report["frame"]["slots"] - report["frame"]["signaling_slots"]
    assert hot_pair["mean_granted_slots"] > data_slots_of_a_star


def files_below(directory: Path) -> dict[str, bytes]:
    """Every file by its place in the directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_an_experiment_of_stars_does_not_depend_on_the_number_of_threads(tmp_path):
    for jobs in (1, 2):
        done = slotwise(
            "reproduce",
            "agile-capacity",
            "--quick",
            "--only",
            "queue-cubic",
            "--only",
            "fairness-short",
            "--jobs",
            jobs,
            "--out",
            tmp_path / str(jobs),
        )
        assert done.returncode == 0, done.stdout + done.stderr
    results = files_below(tmp_path / "1")
    assert results == files_below(tmp_path / "2")
    tables = {Path(name).name for name in results if name.endswith(".parquet")}
    assert tables == {"access.parquet", "control.parquet", "flows.parquet", "ports.parquet", "queues.parquet"}


def test_the_control_platform_is_measured_and_kept_figures_are_read(tmp_path):
    entries = ["figure-3.2-delay", "table-3.1", "table-3.3"]
    only = [argument for entry in entries for argument in ("--only", entry)]
    done = slotwise("reproduce", "aapn-control", "--quick", *only, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = files_below(tmp_path / "quick")
    assert {
        "plots/figure-3.2-delay.svg",
        "runs/drift-50ppm/1/clocks.parquet",
        "runs/scheduling/0/baseline.parquet",
    } <= set(results)
    facts = json.loads(results["facts.json"])
    assert {fact["entry"] for fact in facts} == set(entries)
    delays = [fact["value"] for fact in facts if fact["entry"] == "figure-3.2-delay"]
    assert delays == [2, 2, 2], "asked in slot s, in force in slot s + 2"


def test_out_of_band_every_slot_is_a_frame_and_carries_data(tmp_path):
    path = tmp_path / "report.json"
    done = slotwise(
        "simulate", ROOT / "experiments" / "aapn-control" / "slot-based.yaml", "--duration", 0.1, "--report", path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = load_report(path)
    assert report["verdict"]["ok"] and report["frame"]["signaling_slots"] == 0
    assert report["controller"]["commit_frames"]["p99"] == 2 and report["controller"]["commits"]["repeated"] == 0
    # 12 flows of 55 Mb/s of payload for 0.1 s.
    assert sum(sum(pair["delivered_bytes"]) for pair in report["series"]["pairs"]) > 0.9 * 12 * 55e6 / 8 * 0.1


def test_columns_are_written_and_what_hosts_of_linux_cannot_play_the_engine_plays(tmp_path):
    scenario = tmp_path / "web.yaml"
    text = SCENARIO.read_text()
    web = "phases:\n- name: web\n  duration_ms: 300\n  flows:\n  - {from: h0_0, to: h1_0, web: {mean_think_ns: 1000000, mean_bytes: 5000}}\n"
    scenario.write_text(text[: text.index("phases:")] + web)
    done = slotwise(
        "simulate",
        scenario,
        "--report",
        tmp_path / "report.json",
        "--columns",
        tmp_path / "columns",
        "--sample-frames",
        2,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(files_below(tmp_path / "columns")) == [
        "access.parquet",
        "control.parquet",
        "flows.parquet",
        "ports.parquet",
        "queues.parquet",
    ]
    (flow,) = load_report(tmp_path / "report.json")["phases"][0]["flows"]
    assert flow["kind"] == "web" and flow["pages"] > 0
    udp = "  - {from: h1_0, to: h2_0, udp: {rate_bps: 1000000, payload_bytes: 500, process: %s}}\n"
    scenario.write_text(
        scenario.read_text()
        + udp % "constant"
        + udp % "poisson"
        + "  - {from: h2_0, to: h0_0, transport: xcp, file: {bytes: 1000}}\n"
    )
    done = slotwise("emulate", scenario, "--duration", 2, "--report", tmp_path / "live.json")
    assert done.returncode == 0, done.stdout + done.stderr
    flows = sorted(load_report(tmp_path / "live.json")["phases"][0]["flows"], key=lambda flow: flow["entry"])
    assert [flow["generated_by"] for flow in flows] == ["engine", "linux", "engine", "engine"]
    assert flows[0]["kind"] == "web" and flows[0]["pages"] > 0
    assert flows[1].keys() >= {"lost_packets"} and all(flow["bytes"] > 0 for flow in flows)
    assert flows[2]["received_packets"] <= flows[2]["sent_packets"] and flows[2]["delay_ns"]["min"] > 0
    assert flows[3]["bytes"] == 1000 and flows[3]["completed_ns"] > 0


@pytest.mark.nightly
def test_traffic_outlives_its_controller(tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--duration", 10, "--report", path) as run:
        run.read_until("1/2 uniform")
        (controller,) = [pid for pid in children(run.inside()) if command_name(pid) == "java"]
        os.kill(controller, signal.SIGKILL)
        assert run.finish() == 0, run.output
    report = load_report(path)
    assert report["controller_restarts"] == 1
    (note,) = [note for note in report["verdict"]["notes"] if note.startswith("controller: exited at ")]
    assert re.fullmatch(r"controller: exited at \d+\.\d s; statistics known up to \d+\.\d s", note)
    assert [report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")] == [0, 0, 0, 0]
    # The second controller has taken over: it learned what was in force and committed schedules of its own.
    assert report["controller"]["commits"]["completed"] > 0
    assert [file["intact"] for phase in report["phases"] for file in phase["files"]] == [True]


@pytest.mark.nightly
def test_a_controller_that_does_not_answer_at_the_end_fails_an_emulation(tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--duration", "2", "--report", path) as run:
        run.read_until("1/2 uniform")
        (controller,) = [pid for pid in below(run.inside()) if command_name(pid) == "java"]
        os.kill(controller, signal.SIGSTOP)
        assert run.finish() == 1, run.output
    verdict = load_report(path)["verdict"]
    assert "controller: statistics: no response in time" in verdict["failures"]
    assert "controller: killed: did not exit in time" in verdict["notes"]
    assert any(re.fullmatch(r"controller: no answer for \d+\.\d s at .*", note) for note in verdict["notes"])


@pytest.mark.nightly
def test_a_controller_that_stands_still_for_a_while_is_noted(tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--duration", "10", "--report", path) as run:
        run.read_until("1/2 uniform")
        (controller,) = [pid for pid in below(run.inside()) if command_name(pid) == "java"]
        os.kill(controller, signal.SIGSTOP)
        time.sleep(3)
        os.kill(controller, signal.SIGCONT)
        assert run.finish() == 0, run.output
    (note,) = [note for note in load_report(path)["verdict"]["notes"] if "no answer" in note]
    assert float(re.fullmatch(r"controller: no answer for (\S+) s at \S+ s \(longest wait\)", note)[1]) > 1


@pytest.mark.nightly
def test_a_host_agent_that_hangs_fails_the_run_in_a_bounded_time(tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--duration", "2", "--report", path) as run:
        run.read_until("1/2 uniform")
        (agent,) = [pid for pid in below(run.inside()) if "slotwise.live.agent" in command_line(pid)]
        os.kill(agent, signal.SIGSTOP)
        descendants = run.descendants()
        assert run.finish() == 1, run.output
    assert_nothing_is_left(descendants)
    verdict = load_report(path)["verdict"]
    assert any(
        re.fullmatch(r"hosts: no answer in time: phase 'uniform' .* after 40 s", failure)
        for failure in verdict["failures"]
    )
    assert "hosts: killed: did not exit in time" in verdict["notes"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_ends_in_order(number, tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--report", path, "--events", tmp_path / "events.jsonl") as run:
        run.read_until("1/2 uniform")
        descendants = run.descendants()
        run.process.send_signal(number)
        assert run.finish() == 1, run.output
    assert_nothing_is_left(descendants)
    assert "interrupted" in load_report(path)["verdict"]["failures"]
    events = events_of(tmp_path / "events.jsonl")
    assert events[0]["command"] == "emulate" and "lateness_p99_ns" in events[1]
    assert events[-1]["event"] == "end" and "interrupted" in events[-1]["failures"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_from_the_start_on(number):
    with Emulation("--rest-port", "0") as run:
        inside = []
        while not inside:
            assert run.process.poll() is None, run.finish()
            inside = [
                pid for pid in children(run.process.pid) if command_line(pid).startswith("/proc/self/exe emulate")
            ]
        # It has no handlers yet, or has them already: it is heard either way.
        for each in (signal.SIGSTOP, number, signal.SIGCONT):
            os.kill(inside[0], each)
        assert run.finish() == 1, run.output
    assert "interrupted" in run.output


def test_a_package_of_the_working_directory_is_not_run(tmp_path):
    (tmp_path / "slotwise" / "live").mkdir(parents=True)
    for file in ("slotwise/__init__.py", "slotwise/live/agent.py", "slotwise/live/fileserver.py", "json.py"):
        (tmp_path / file).write_text("open('was-run', 'w'); raise SystemExit(7)")
    report = tmp_path / "report.json"
    scenario = with_a_small_file(tmp_path)
    done = subprocess.run(
        [SLOTWISE, "emulate", scenario, "--duration", "2", "--rest-port", "0", "--report", report],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "was-run").exists()


@pytest.mark.nightly
def test_a_run_that_is_killed_leaves_nothing():
    with Emulation() as run:
        run.read_until("1/2 uniform")
        descendants = run.descendants()
        run.process.kill()
        run.process.wait()
    assert len(descendants) > 5
    assert_nothing_is_left(descendants)


@pytest.mark.nightly
def test_hosts_that_vanish_end_a_run_with_its_report(tmp_path):
    path = tmp_path / "report.json"
    with Emulation("--report", path) as run:
        run.read_until("1/2 uniform")
        (shell,) = [pid for pid in below(run.inside()) if command_line(pid).endswith("mininet:h1_0")]
        os.kill(shell, signal.SIGKILL)
        assert run.finish() == 1, run.output
    assert load_report(path)["verdict"]["failures"] == ["host h1_0: process ended"]


@pytest.mark.nightly
def test_an_interface_that_is_deleted_fails_a_run_whose_flows_the_engine_plays(tmp_path):
    scenario, path = tmp_path / "web.yaml", tmp_path / "report.json"
    text = SCENARIO.read_text()
    web = "phases:\n- name: web\n  duration_ms: 6000\n  flows:\n  - {from: h0_0, to: h1_0, web: {mean_think_ns: 1000000, mean_bytes: 5000}}\n"
    scenario.write_text(text[: text.index("phases:")] + web)
    with Emulation("--report", path, scenario=scenario) as run:
        run.read_until("1/1 web")
        (shell,) = [pid for pid in below(run.inside()) if command_line(pid).endswith("mininet:h1_0")]
        subprocess.run(["nsenter", "--net", "--target", str(shell), "ip", "link", "delete", "h1_0-eth0"], check=True)
        assert run.finish() == 1, run.output
    (failure,) = load_report(path)["verdict"]["failures"]
    assert re.fullmatch(r"at \d+\.\d s: interface \S+ of port \d+ of edge 1 disappeared", failure), failure


def test_a_taken_port_is_named_before_anything_starts():
    with socket.create_server(("127.0.0.1", REST_PORT)):
        done = slotwise("emulate", SCENARIO)
    assert done.returncode == 1
    assert (
        f"127.0.0.1:{REST_PORT}" in done.stderr
        and "controller (REST)" in done.stderr
        and "a free port with --rest-port" in done.stderr
    )
    assert "starting" not in done.stdout


def test_a_run_takes_another_scheduler_than_its_file_names(tmp_path):
    report = tmp_path / "report.json"
    choice = "{name: islip, settings: {iterations: 2}}"
    done = slotwise(
        "simulate", with_a_small_file(tmp_path), "--duration", 0.3, "--scheduler", choice, "--report", report
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scheduler = load_report(report)["scheduler"]
    assert (scheduler["name"], scheduler["settings"]["iterations"]) == ("islip", 2)
    for command in ("simulate", "emulate"):
        refused = slotwise(command, SCENARIO, "--scheduler", "fastest")
        assert refused.returncode == 1 and "--scheduler:\n/scheduler: found 'fastest'; expected" in refused.stderr
        assert all(
            name in refused.stderr for name in ("fair", "islip", "pim", "maximum-weight", "solstice", "rotation")
        )


def test_a_scenario_is_checked_without_a_run(tmp_path):
    done = slotwise("check", SCENARIO)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    path = tmp_path / "bad.yaml"
    path.write_text(re.sub(r"guard_ns: \d+", "guard_ns: 999999999", SCENARIO.read_text()))
    refused = slotwise("check", path)
    line = path.read_text()[: path.read_text().index("guard_ns: 999999999")].count("\n") + 1
    assert refused.returncode == 1 and f"{path}:\nline {line}: /frame/guard_ns: " in refused.stderr


@pytest.mark.parametrize("kind", ["star", "ring", "ops", "routers"])
def test_a_scenario_made_anew_is_one_that_runs(kind, tmp_path):
    path = tmp_path / "mine.yaml"
    made = slotwise("new", kind, "--name", "mine")
    assert made.returncode == 0, made.stderr
    path.write_text(made.stdout)
    done = slotwise("simulate", path, "--duration", 0.2, "--report", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_report(tmp_path / "report.json")["scenario"] == "mine"
    refused = slotwise("new", kind, "--seed", "x")
    assert refused.returncode == 2 and refused.stdout == ""
    assert "/seed: found 'x'; expected an integer" in refused.stderr


def events_of(path: Path) -> list[dict]:
    """Lines of a file of events, each of which fits the schema."""
    schema = json.loads((ROOT / "schema" / "event.schema.json").read_text())
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        jsonschema.validate(event, schema)
    return events


@pytest.mark.parametrize("name", ["star3-short", "routers4"])
def test_events_say_what_happens_the_same_each_time(name, tmp_path):
    kept = []
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        done = slotwise(
            "simulate",
            ROOT / "topologies" / f"{name}.yaml",
            "--duration",
            2,
            "--report",
            tmp_path / "r.json",
            "--events",
            path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        kept.append(path.read_bytes())
    assert kept[0] == kept[1]
    events = events_of(path)
    assert [event["event"] for event in events] == ["start", *["snapshot"] * (len(events) - 2), "end"]
    assert (events[0]["scenario"], events[-1]["ok"]) == (name, True)
    last = events[-2]
    assert last["now_ns"] == last["end_ns"] == 2 * 10**9
    assert last.get("links") or sum(map(sum, last["goodput_bps"])) > 0


def test_events_of_an_experiment_name_each_run(tmp_path):
    path = tmp_path / "events.jsonl"
    arguments = ("reproduce", "aapn-control", "--quick", "--only", "table-3.3", "--out", tmp_path, "--events", path)
    for how in ("done", "already done"):
        done = slotwise(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        events = events_of(path)
        runs = [event for event in events if event["event"] == "run"]
        assert runs and {run["how"] for run in runs} == {how}
        assert events[-1]["event"] == "end" and Path(events[-1]["report"]).is_file()


def test_a_report_that_cannot_be_written_is_no_good_end(tmp_path):
    path = tmp_path / "events"
    done = slotwise("simulate", SCENARIO, "--duration", 2, "--report", "/dev/full", "--events", path)
    assert done.returncode == 1
    end = events_of(path)[-1]
    assert end["event"] == "end" and not end["ok"], end
    assert any(reason.startswith("/dev/full: cannot be written: ") for reason in end["failures"]), end


def test_who_stops_reading_events_stops_nothing(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = [SLOTWISE, "simulate", SCENARIO, "--duration", "2", "--report", tmp_path / "r.json", "--events", pipe]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        readable, _, _ = select.select([reader], [], [], PATIENCE_S)
        assert readable and json.loads(os.read(reader, 4096).splitlines()[0])["event"] == "start"
        os.close(reader)
        output, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, output + said
    assert f"--events {pipe}: cannot be written: " in said and said.count("no further events") == 1
    assert load_report(tmp_path / "r.json")["verdict"]["ok"]


def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(SCENARIO.read_text().replace("guard_ns", "gard_ns"))
    for command in ("emulate", "simulate"):
        done = slotwise(command, path)
        assert done.returncode == 1
        assert "gard_ns" in done.stderr and "guard_ns" in done.stderr


def test_without_root_the_reason_is_said():
    # A user namespace in which the caller is not root, yet owns the same files.
    command = ["unshare", "--user", "--map-user=1000", SLOTWISE, "emulate", SCENARIO]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    assert "root required" in done.stderr and "sudo" in done.stderr
