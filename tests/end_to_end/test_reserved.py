# SPDX-License-Identifier: Apache-2.0
"""A star that schedules best effort beside slots that sessions have reserved over REST, in one run. Run as test_runs.py is."""

import json
import os
import re
import signal
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from random import Random

import pytest
import requests
from requests.adapters import HTTPAdapter

from chain import read_until, spawn
from test_runs import ROOT, SLOTWISE, load_report

RESERVED = ROOT / "topologies" / "star4-reserved.yaml"
EDGES, SLOTS, SLOT_BPS = 4, 16, 2_320_000
# A schedule is computed, written, announced and in force within so long.
SETTLED_MS = 250
STEP_MS = 300
PATIENCE_S = 60
RETRIES = 3
# How a change is refused where neither side has a defect.
REFUSALS = (404, 409, 422)
CHANGES = int(os.environ.get("SLOTWISE_STORM", "400"))


class Run:
    """A run in virtual time whose REST is called meanwhile."""

    def __init__(self, stack: ExitStack, directory: Path, scenario: Path):
        self.report = directory / "report.json"
        self._events = directory / "events"
        # The reader opens it first, without waiting for the writer.
        self._events.touch()
        self._lines = stack.enter_context(self._events.open())
        self._rest_of_line = ""
        self.now_ns = 0
        self.process = spawn(
            stack,
            str(SLOTWISE),
            "simulate",
            str(scenario),
            "--report",
            str(self.report),
            "--events",
            str(self._events),
            "--rest-port",
            "0",
        )
        self.rest = re.search(r"http://[^ ]*/v1/", read_until(self.process, "REST API at"))[0] + "lambda/"
        self._caller = stack.enter_context(requests.Session())
        # A quick machine asks more often than one address may, and waits as it is told to (429, Retry-After).
        self._caller.mount(self.rest, HTTPAdapter(max_retries=RETRIES))

    def await_ms(self, at_ms: float) -> None:
        """Until the fabric is so far."""
        while self.now_ns < at_ms * 1e6:
            if not self._read_event():
                assert self.process.poll() is None, f"the run ended before {at_ms} ms"

    def now_ms(self) -> float:
        """How far the fabric is at least, by what it says from now on: what it said last may be of before."""
        while self._read_event():
            pass
        for _ in range(2):
            self.await_ms(self.now_ns / 1e6 + 0.001)
        return self.now_ns / 1e6

    def _read_event(self) -> bool:
        """Whether there was a whole one that had not been read."""
        self._rest_of_line += self._lines.readline()
        if not self._rest_of_line.endswith("\n"):
            return False
        event, self._rest_of_line = json.loads(self._rest_of_line), ""
        self.now_ns = event.get("now_ns", self.now_ns)
        return True

    def put(self, session: str, source: int = 0, sink: int = 0, **wanted) -> dict:
        """A session joins or changes, or leaves if it has no ends."""
        if source == sink:
            return self._answer("DELETE", f"sessions/{session}")
        body = {"source": f"edge{source}", "sink": f"edge{sink}"} | wanted
        return self._answer("PUT", f"sessions/{session}", json=body)

    def get(self, resource: str) -> dict:
        """What the application shows."""
        return self._answer("GET", resource)

    def _answer(self, method: str, resource: str, **sent: dict) -> dict:
        answer = self._caller.request(method, self.rest + resource, timeout=PATIENCE_S, **sent)
        assert answer.ok or answer.status_code in REFUSALS, answer.text
        answer.raise_for_status()
        return answer.json() if answer.content else {}


def reserved(run: Run) -> dict[tuple[int, int], int]:
    """Slots a frame by pair."""
    return {(int(each["source"][4:]), int(each["sink"][4:])): each["a_frame"] for each in run.get("slots")["slots"]}


def check_deadlines(sessions: list[dict]) -> int:
    """Each session with a deadline has at least the rate that it needs; how many there are."""
    due = [each for each in sessions if "deadline_ms" in each]
    for each in due:
        assert each["granted_bps"] >= each["bytes"] * 8000 // each["deadline_ms"], each
    return len(due)


def check_slots(pairs: dict[tuple[int, int], int]) -> None:
    """No edge has more slots than a frame."""
    for edge in range(EDGES):
        for end in (0, 1):
            assert sum(slots for pair, slots in pairs.items() if pair[end] == edge) <= SLOTS, pairs


def test_sessions_have_their_slots_and_others_share_the_rest(tmp_path):
    steps = []
    scenario = tmp_path / "long.yaml"
    scenario.write_text(RESERVED.read_text().replace("duration_ms: 4000", "duration_ms: 14000"))
    with ExitStack() as stack:
        run = Run(stack, tmp_path, scenario)
        changes = [
            lambda: [run.put("film", 1, 2, wanted_bps=10 * SLOT_BPS), run.put("sky", 0, 3, wanted_bps=4 * SLOT_BPS)],
            # By its deadline 2.1 slots, which are 3.
            lambda: [
                run.put("film", 1, 2, wanted_bps=5 * SLOT_BPS),
                run.put("late", 1, 2, bytes=610_000, deadline_ms=1000, wanted_bps=4_880_000),
            ],
            lambda: [run.put("sky"), run.put("whole", 3, 1)],
            lambda: [run.put("film"), run.put("late"), run.put("whole", 3, 1, weight=2, lease_ms=60_000)],
            lambda: [run.put("whole")],
        ]
        run.await_ms(2 * STEP_MS)
        for change in changes:
            if steps:
                run.await_ms(steps[-1]["from_ms"] + STEP_MS)
                steps[-1]["to_ms"] = run.now_ns / 1e6
            change()
            granted = {(int(each["source"][4:]), int(each["sink"][4:])): 0 for each in run.get("sessions")["sessions"]}
            for each in run.get("sessions")["sessions"]:
                granted[int(each["source"][4:]), int(each["sink"][4:])] += each["granted_bps"]
            steps.append({"from_ms": run.now_ms() + SETTLED_MS, "slots": reserved(run), "granted": granted})
            with pytest.raises(requests.HTTPError, match="409"):
                run.put("more", 0, 1, bytes=SLOT_BPS * SLOTS, deadline_ms=1000)
        run.await_ms(steps[-1]["from_ms"] + STEP_MS)
        steps[-1]["to_ms"] = run.now_ns / 1e6
        output = run.process.communicate(timeout=120)[0]
        assert run.process.returncode == 0, output
    assert [step["slots"] for step in steps] == [
        {(1, 2): 10, (0, 3): 4},
        {(1, 2): 8, (0, 3): 4},
        {(1, 2): 8, (3, 1): 16},
        {(3, 1): 16},
        {},
    ]
    report = load_report(run.report)
    assert report["verdict"]["ok"], report["verdict"]
    assert [report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")] == [0, 0, 0, 0]
    series = report["series"]
    pairs = {(pair["from"], pair["to"]): pair for pair in series["pairs"]}
    for step in steps:
        frames = [k for k, at_ms in enumerate(series["frame_ms"]) if step["from_ms"] <= at_ms < step["to_ms"]]
        assert len(frames) > 20, step
        seconds = (series["frame_ms"][frames[-1]] - series["frame_ms"][frames[0]]) / 1000
        granted = {pair: [pairs[pair]["granted_slots"][k] for k in frames] for pair in pairs}
        for pair, slots in step["slots"].items():
            assert min(granted[pair]) >= slots, (step, pair)
            delivered_bps = sum(pairs[pair]["delivered_bytes"][k] for k in frames[1:]) * 8 / seconds
            assert delivered_bps >= 0.99 * min(step["granted"][pair], 26_000_000), (step, pair, delivered_bps)
        for edge in range(EDGES):
            # All want more than there is: nothing that is not reserved stays dark, unless its receiver has no room.
            ends = [pair for pair in product(range(EDGES), repeat=2) if edge in pair and pair[0] != pair[1]]
            for line in (0, 1):
                load = [sum(granted[pair][k] for pair in ends if pair[line] == edge) for k in range(len(frames))]
                assert max(load) <= SLOTS, (step, edge)
            rest = SLOTS - sum(slots for pair, slots in step["slots"].items() if pair[0] == edge)
            others = [pair for pair in ends if pair[0] == edge and pair not in step["slots"]]
            room = [
                SLOTS - sum(slots for pair, slots in step["slots"].items() if pair[1] == other[1]) for other in others
            ]
            if rest and others and min(room) == SLOTS:
                means = [sum(granted[pair]) / len(frames) for pair in others]
                assert max(means) - min(means) < 1.5, (step, edge, means)


@pytest.mark.nightly
def test_a_storm_of_changes_keeps_every_deadline_and_loses_nothing(tmp_path):
    scenario = tmp_path / "storm.yaml"
    scenario.write_text(RESERVED.read_text().replace("duration_ms: 4000", "duration_ms: 600000"))
    random, refused, due = Random(15), 0, 0
    with ExitStack() as stack:
        run = Run(stack, tmp_path, scenario)
        for change in range(CHANGES):
            session, (source, sink) = f"s{random.randrange(40)}", random.sample(range(EDGES), 2)
            wanted = {"wanted_bps": random.randrange(1, 16 * SLOT_BPS)} if random.random() < 0.7 else {}
            if random.random() < 0.5:
                # Up to 4 slots, and as often a part of one.
                wanted |= {"bytes": random.randrange(1, SLOT_BPS // 8 * random.choice([1, 4])), "deadline_ms": 1000}
            if random.random() < 0.2:
                wanted |= {"lease_ms": random.randrange(1000, 5000)}
            try:
                run.put(
                    session,
                    **(
                        {}
                        if random.random() < 0.3
                        else {"source": source, "sink": sink, "weight": random.choice([0.01, 1, 100])} | wanted
                    ),
                )
            except requests.HTTPError:
                refused += 1
            if change % 50 == 0:
                due += check_deadlines(run.get("sessions")["sessions"])
                check_slots(reserved(run))
        run.await_ms(run.now_ms() + SETTLED_MS)
        run.process.send_signal(signal.SIGINT)
        run.process.communicate(timeout=120)
    assert 0 < refused < CHANGES // 2 and due > CHANGES // 50
    report = load_report(run.report)
    assert report["verdict"]["failures"] == ["interrupted"], report["verdict"]
    assert not any(report["invariants"].values()), report["invariants"]


@pytest.mark.parametrize("fault", ["controller-restart", "edge-restart, edge: 2", "link-down, edge: 2", "core-down"])
def test_what_is_reserved_outlives_faults_and_a_lease_does_not_outlive_the_controller(tmp_path, fault):
    scenario = tmp_path / "faults.yaml"
    scenario.write_text(RESERVED.read_text() + f"faults:\n- {{kind: {fault}, every_ms: 1600, for_ms: 150}}\n")
    with ExitStack() as stack:
        run = Run(stack, tmp_path, scenario)
        run.put("film", 1, 2, wanted_bps=10 * SLOT_BPS)
        run.put("leased", 0, 3, wanted_bps=10 * SLOT_BPS, lease_ms=60_000)
        output = run.process.communicate(timeout=120)[0]
        assert run.process.returncode == 0, output
    report = load_report(run.report)
    assert report["verdict"]["ok"] and report["faults"], report["verdict"]
    assert [report["invariants"][kind] for kind in ("collision", "guard", "ungranted", "duplicate")] == [0, 0, 0, 0]
    pairs = {(pair["from"], pair["to"]): pair["granted_slots"] for pair in report["series"]["pairs"]}
    # Both come into force in the first frames.
    first = next(frame for frame, slots in enumerate(zip(pairs[1, 2], pairs[0, 3], strict=True)) if min(slots) >= 10)
    film, leased = pairs[1, 2][first:], pairs[0, 3][first:]
    assert film[-1] >= 10
    if fault == "controller-restart":
        assert min(film) >= 10, "switches go on with what they have, and the next controller knows of it"
        assert leased[-1] < 10
    else:
        assert leased[-1] >= 10
    if fault.startswith("edge"):
        # Who sends to it has its slots for others.
        others = [slots for slots, lost in zip(pairs[1, 0][first:], film, strict=True) if lost == 0]
        assert others and max(others) > 6, others
