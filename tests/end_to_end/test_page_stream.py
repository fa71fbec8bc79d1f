# SPDX-License-Identifier: Apache-2.0
"""The stream of a live star's page (`slotwise emulate --web`): who has no token gets none, and what it says is what the report says.

`scripts/test end-to-end` runs it as root in a network namespace of its own, after `make setup`. web/tests has the page itself, in a browser.
"""

import asyncio
import json
import re
import signal
import subprocess
from contextlib import contextmanager

import jsonschema
import pytest
from referencing import Registry, Resource
from tornado.httpclient import HTTPClientError
from tornado.websocket import websocket_connect

from test_runs import ROOT, SLOTWISE

pytestmark = pytest.mark.nightly

SCENARIO = ROOT / "topologies" / "star3-short.yaml"
PATIENCE_S = 120
COUNTED = ("granted_slots", "delivered_bytes")


@contextmanager
def served(*arguments):
    """The stream's address; the run has to end well when it is told to."""
    command = [SLOTWISE, "emulate", SCENARIO, "--web", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            said = []
            found = None
            while not found:
                said.append(process.stdout.readline())
                assert said[-1], "".join(said)
                found = re.search(r"http://(127\.0\.0\.1:\d+)/\?(token=\w+)", said[-1])
            yield f"ws://{found[1]}/stream?{found[2]}"
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=PATIENCE_S)[0]
            assert process.returncode == 0, "".join(said) + rest
        finally:
            process.kill()


def read(address):
    """All messages up to the last."""

    async def messages():
        stream = await websocket_connect(address)
        found = []
        while not found or found[-1]["message"] != "end":
            said = await asyncio.wait_for(stream.read_message(), PATIENCE_S)
            assert said is not None, "the stream was closed before its end"
            found.append(json.loads(said))
        stream.close()
        return found

    return asyncio.run(messages())


def refusal(address):
    """Status with which a stream is refused."""

    async def connect():
        await websocket_connect(address)

    with pytest.raises(HTTPClientError) as refused:
        asyncio.run(connect())
    return refused.value.code


def counted(messages, edges):
    """Frames that updates are about, and sums of what was counted in them, by pair."""
    stars = [message["star"] for message in messages if "star" in message]
    sums = {column: [0] * edges * edges for column in COUNTED}
    for star in stars:
        for column in COUNTED:
            for pair, value in zip(star["pairs"], star[column], strict=True):
                sums[column][pair] += value
    return sum(star["frames"] for star in stars), sums


def reported(report, edges, frames):
    """The same of a report's first frames."""
    sums = {column: [0] * edges * edges for column in COUNTED}
    for pair in report["series"]["pairs"]:
        for column in COUNTED:
            sums[column][pair["from"] * edges + pair["to"]] = sum(pair[column][:frames])
    return sums


def validator():
    schemas = [json.loads((ROOT / "schema" / f"{name}.schema.json").read_text()) for name in ("stream", "report")]
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
    return jsonschema.Draft202012Validator(schemas[0], registry=registry)


def test_a_live_stars_stream_says_what_its_report_says(tmp_path):
    path = tmp_path / "report.json"
    with served("--report", path) as address:
        stream, token = address.split("?token=")
        for wrong in (
            stream,
            f"{stream}?token={token[:-1]}",
            f"{stream}?token={token[:-1]}{'1' if token[-1] == '0' else '0'}",
        ):
            assert refusal(wrong) == 401
        live = read(address)
        later = read(address)
    report = json.loads(path.read_text())
    schema = validator()
    for message in live + later:
        schema.validate(message)

    hello, *updates, end = live
    assert (hello["message"], hello["command"], hello["scenario"], hello["is_finished"]) == (
        "hello",
        "emulate",
        report["scenario"],
        False,
    )
    assert hello["network"]["kinds"] == ["star"] and hello["network"]["edges"] == report["network"]["edges"]
    assert all(update["message"] == "update" for update in updates)
    times_ns = [update["now_ns"] for update in updates]
    assert times_ns == sorted(times_ns)

    edges = report["network"]["edges"]
    frames, sums = counted(updates, edges)
    assert 0 < frames <= len(report["series"]["frame_ms"])
    assert any(sums["delivered_bytes"])
    assert sums == reported(report, edges, frames)

    whole = len(report["series"]["frame_ms"])
    assert counted(later, edges) == (whole, reported(report, edges, whole)), "who comes later sees all of it"
    assert later[0]["is_finished"] and later[-1] == end
    assert end["ok"] == report["verdict"]["ok"] and end["report"] == {
        key: value for key, value in report.items() if key != "series"
    }
