# SPDX-License-Identifier: Apache-2.0
"""Held simulations (`slotwise simulate --hold-at`): reads during a hold, and orders to continue. Run as test_runs.py is."""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc

from test_runs import (
    PATIENCE_S,
    SCENARIO,
    SLOTWISE,
    assert_nothing_is_left,
    descriptors_below,
    load_report,
    slotwise,
)

LENGTH = ("--duration", "0.2")
EDGE0 = 1
"""Device id."""
# The engine gives a silent controller one minute, and so do keepalives.
LONG_S = 70


class Held:
    """A simulation that is held at 10 ms first."""

    def __init__(self, process: subprocess.Popen):
        self.process = process
        self.said = ""

    def read_until(self, text: str) -> str:
        """The first line with `text` in it."""
        for line in self.process.stdout:
            self.said += line
            if text in line:
                return line
        pytest.fail(f"ended without {text!r}:\n{self.said}")

    def order(self, order: str) -> None:
        """An order by standard input."""
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def finish(self) -> int:
        """Exit status."""
        self.said += self.process.communicate(timeout=PATIENCE_S)[0]
        return self.process.returncode


@pytest.fixture(name="star", scope="module")
def fixture_star(tmp_path_factory) -> Path:
    """A scenario whose file arrives in time."""
    path = tmp_path_factory.mktemp("star") / "star.yaml"
    path.write_text(SCENARIO.read_text().replace("bytes: 5000000", "bytes: 100000"))
    return path


@contextmanager
def held(star: Path, *arguments):
    command = [SLOTWISE, "simulate", star, *LENGTH, "--hold-at", "10 ms", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Held(process)
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def entities(port: int, device: int) -> list[bytes]:
    """Table entries and counters of a switch, as another client than its controller reads them."""
    wanted = [p4r.Entity(table_entry=p4r.TableEntry()), p4r.Entity(counter_entry=p4r.CounterEntry())]
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        answers = p4r_grpc.P4RuntimeStub(channel).Read(
            p4r.ReadRequest(device_id=device, entities=wanted), timeout=PATIENCE_S
        )
        return [entity.SerializeToString(deterministic=True) for answer in answers for entity in answer.entities]


def ask(address: str, body: dict | None = None, token: str = "") -> tuple[int, dict]:
    """Status, and the answer if it is none of a problem."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method="GET" if body is None else "PUT")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {}


def without_versions(path) -> dict:
    report = load_report(path)
    del report["versions"]
    return report


@pytest.fixture(name="whole", scope="module")
def fixture_whole(tmp_path_factory, star) -> dict:
    """The report of the same run when nobody holds it."""
    path = tmp_path_factory.mktemp("whole") / "report.json"
    done = slotwise("simulate", star, *LENGTH, "--report", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return without_versions(path)


def test_a_held_run_can_be_read_and_stepped_and_comes_to_the_report_of_one_that_is_not(tmp_path, star, whole):
    port, path = free_port(), tmp_path / "report.json"
    with held(star, "--p4runtime-port", port, "--rest-port", 0, "--report", path) as run:
        rest = re.search(r"http://[\d.:]+/slotwise/v1/", run.read_until("REST API"))[0]
        assert "held at 10 ms" in run.read_until("held at")
        first = entities(port, EDGE0)
        assert len(first) > 10 and entities(port, EDGE0) == first, "nothing happens meanwhile"
        assert ask(rest + "star/scheduler")[1]["name"] == "fair"
        run.order("step 10 us")
        assert "held at 10.01 ms" in run.read_until("held at")
        run.order("step 7.5 ms")
        assert "held at 17.51 ms" in run.read_until("held at")
        later = entities(port, EDGE0)
        assert len(later) >= len(first) and later != first, "packets are counted"
        run.order("step back")
        assert "invalid order 'step back'; expected 'step TIME'" in run.read_until("invalid order")
        assert entities(port, EDGE0) == later
        run.order("continue")
        assert run.finish() == 0, run.said
    assert without_versions(path) == whole


def test_orders_of_a_script_keep_their_sequence(tmp_path, star):
    path = tmp_path / "report.json"
    with held(star, "--report", path) as run:
        run.order("step 10 us\nstep 20 us\nend")
        for time_ms in ["10", "10.01", "10.03"]:
            run.read_until(f"held at {time_ms} ms")
        assert run.finish() == 1, run.said
    assert load_report(path)["duration_ns"] == 10_030_000


def test_the_pages_server_takes_orders_for_a_held_run(tmp_path, star, whole):
    path = tmp_path / "report.json"
    with held(star, "--web", "--report", path) as run:
        page, token = re.search(r"(http://[\d.:]+/)\?token=(\w+)", run.read_until("page: ")).groups()
        hold = page + "api/hold"
        run.read_until("held at 10 ms")
        assert ask(hold, token=token) == (200, {"held": True})
        assert ask(hold)[0] == 401, "without the token"
        assert ask(hold, {"order": "step"}, token)[0] == 422
        assert ask(hold, {"order": "step 1 ms"}, token) == (200, {"order": "step 1 ms"})
        run.read_until("held at 11 ms")
        assert ask(page + "api/slotwise/v1/star/scheduler", token=token)[1]["name"] == "fair"
        assert ask(hold, {"order": "continue"}, token)[0] == 200
        run.read_until("until SIGINT")
        assert ask(hold, {"order": "continue"}, token)[0] == 409
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 0, run.said
    assert without_versions(path) == whole


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, "end", "closed"])
def test_a_held_run_ends_in_order(end, tmp_path, star):
    path = tmp_path / "report.json"
    # The end of the input would be a second interrupt.
    option = ["--until-input-ends"] if end == "closed" else []
    with held(star, "--report", path, *option) as run:
        run.read_until("held at 10 ms")
        descendants = list(descriptors_below(run.process.pid).values())
        if end == "end":
            run.order(end)
        elif end == "closed":
            run.process.stdin.close()
            run.process.stdin = None
        else:
            run.process.send_signal(end)
        assert run.finish() == 1, run.said
    assert_nothing_is_left(descendants)
    report = load_report(path)
    assert report["verdict"]["failures"] == ["interrupted"]
    assert report["duration_ns"] == 10_000_000
    assert report["controller"] is not None


def test_a_change_over_rest_takes_place_while_a_run_is_held(tmp_path, star):
    path = tmp_path / "report.json"
    with held(star, "--rest-port", 0, "--report", path) as run:
        rest = re.search(r"http://[\d.:]+/slotwise/v1/", run.read_until("REST API"))[0]
        run.read_until("held at")
        status, answer = ask(rest + "star/scheduler", {"name": "islip"})
        assert status == 200, answer
        run.order("continue")
        assert run.finish() == 0, run.said
    (change,) = load_report(path)["changes"]
    assert "islip" in json.dumps(change)


def test_times_that_cannot_be_are_refused(star):
    for at, reason in (("10", "expected a time of at least 1 ns with its unit"), ("1 h", "expected less than 200 ms")):
        done = slotwise("simulate", star, *LENGTH, "--hold-at", at)
        assert done.returncode != 0 and reason in done.stderr, done.stderr


@pytest.mark.nightly
def test_nobody_gives_up_while_a_run_is_held_for_long(tmp_path, star, whole):
    port, path = free_port(), tmp_path / "report.json"
    with held(star, "--p4runtime-port", port, "--report", path) as run:
        run.read_until("held at")
        # The time itself is tested.
        time.sleep(LONG_S)
        assert entities(port, EDGE0)
        run.order("continue")
        assert run.finish() == 0, run.said
    assert without_versions(path) == whole
