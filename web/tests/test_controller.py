# SPDX-License-Identifier: Apache-2.0
"""The same page from a controller: what it shows is what REST says, and what is changed there arrives."""

import json
import re
import signal
import subprocess
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest

from conftest import ROOT, SLOTWISE, choose, is_drawn, opened, shot

JAR = ROOT / "controller" / "standalone" / "target" / "slotwise-controller.jar"
P4C_OUT = ROOT / "p4src" / "p4c-out"
SCENARIO = ROOT / "topologies" / "star4.yaml"
TOKEN = "0123456789+abc/def=="


@contextmanager
def started(*command):
    """A process whose stdout is read as far as is waited for."""
    with subprocess.Popen(
        list(map(str, command)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def said(process, pattern):
    """The first line in which there is something."""
    for line in process.stdout:
        if found := re.search(pattern, line):
            return found
    pytest.fail(f"{pattern!r} was not said, status {process.wait()}")


@pytest.fixture
def star(tmp_path):
    """A live star of four under a controller of its own: (address of the page, address of REST, the emulation)."""
    network, config, token = tmp_path / "network.json", tmp_path / "controller.json", tmp_path / "token"
    subprocess.run(
        [SLOTWISE, "check", SCENARIO, "--network", network], check=True, stdout=subprocess.DEVNULL, timeout=60
    )
    token.write_text(TOKEN)
    token.chmod(0o600)
    with ExitStack() as stack:
        emulation = stack.enter_context(
            started(SLOTWISE, "emulate", SCENARIO, "--external-controller", "--p4runtime-port", 0, "--duration", 600)
        )
        address = said(emulation, r"waiting for a controller at ([\d.]+:\d+)")[1]
        config.write_text(
            json.dumps(
                {
                    "p4runtime": {"address": address},
                    "rest": {"port": 0, "token_file": str(token), "page": True},
                    "store": str(tmp_path / "store"),
                    "clock": "wall",
                    "pipelines": {
                        program: {
                            "json": str(P4C_OUT / f"{program}.json"),
                            "p4info": str(P4C_OUT / f"{program}.p4info.txtpb"),
                        }
                        for program in ("edge", "core")
                    },
                    "network": json.loads(network.read_text()),
                }
            )
        )
        controller = stack.enter_context(
            started("java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", JAR, "--config", config)
        )
        ready = json.loads(said(controller, '.*"event":"ready".*')[0])
        yield f"{ready['page']}?token={TOKEN}", ready["rest"], emulation


def rest(address, resource):
    request = urllib.request.Request(f"{address}/slotwise/v1/{resource}", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


# Keys come from within the page: beside a live star each that comes from without takes a second.
WALK = """async ([place, rows, columns]) => {
  const canvas = document.querySelectorAll('.heatmap canvas')[place];
  const output = document.querySelectorAll('.heatmap output')[place];
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const press = async (key) => {
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    await drawn();
  };
  await press('ArrowRight');
  for (let row = 0; row < rows; row++) await press('ArrowUp');
  for (let column = 0; column < columns; column++) await press('ArrowLeft');
  const texts = [];
  for (let row = 0; row < rows; row++) {
    for (let step = 0; step < columns; step++) {
      texts.push(output.innerText);
      if (step < columns - 1) await press(row % 2 ? 'ArrowLeft' : 'ArrowRight');
    }
    await press('ArrowDown');
  }
  return texts;
}"""


def walked(page, place, rows, columns):
    """What a heat map says of each of its cells."""
    page.locator(".heatmap canvas").nth(place).focus()
    return page.evaluate(WALK, [place, rows, columns])


def test_a_controllers_page_shows_what_rest_says_and_changes_arrive(chromium, star):
    address, server, emulation = star
    with opened(chromium) as page:
        page.goto(address)
        page.get_by_text("live").wait_for()
        assert "seed" not in page.locator("header").inner_text()

        choose(page, "control")
        page.get_by_label("Scheduler", exact=True).select_option("rotation")
        page.get_by_role("button", name="Apply").click()
        page.get_by_text("rotation is active from the next frame").wait_for()
        assert rest(server, "star/scheduler")["name"] == "rotation"
        shot(page, "controller-control")
        choose(page, "news")
        page.get_by_label("Event log").get_by_text("rotation").wait_for()
        assert page.get_by_text("Dropped packets").count() == 0, "a controller does not know of them"

        # A rotation is the same in every frame: what the page had a moment ago is what REST says now.
        choose(page, "star")
        while (
            page.locator(".heatmap").count() < 3
            or f"Version {rest(server, 'star/schedule')['version']}" not in page.locator("#main").inner_text()
        ):
            page.wait_for_timeout(100)
        schedule = rest(server, "star/schedule")
        assert page.get_by_role("radio", name="goodput").count() == 0, "nor of what was delivered"
        slots = {
            (entry["edge"], slot["slot"]): f"to edge {slot['to']}" if slot["use"] == "data" else slot["use"]
            for entry in schedule["edges"]
            for slot in entry["slots"]
        }
        edges = len(schedule["edges"])
        assert all(is_drawn(page, page.locator(".heatmap canvas").nth(place)) for place in (1, 2))
        shown = [
            re.fullmatch(r"edge (\d+), slot (\d+): (.*)", text).groups()
            for text in walked(page, 2, edges, schedule["slots"])
        ]
        assert {(int(edge), int(slot)): use for edge, slot, use in shown if use != "idle"} == slots

        page.get_by_role("button", name="Pause").click()
        found = [
            re.match(r"edge (\d+) → edge (\d+): demand .*, active ([\d.]+) slots$", text)
            for text in walked(page, 1, edges, edges)
        ]
        in_force = {(int(match[1]), int(match[2])): float(match[3]) for match in found if match}
        assert in_force == {
            (pair["from"], pair["to"]): pair["granted_slots"] for pair in rest(server, "star/demand")["pairs"]
        }
        assert all(in_force.values()), "a rotation gives each pair something"
        shot(page, "controller-star")

        emulation.send_signal(signal.SIGINT)
        choose(page, "news")
        page.get_by_label("Event log").get_by_text("edge 0 disconnected").wait_for()


def test_a_controllers_page_is_for_who_has_the_token(chromium, star):
    address, _, _ = star
    with opened(chromium, refused=[401]) as page:
        assert page.goto(address.split("?", maxsplit=1)[0]).status == 401
        assert page.goto(address[:-1]).status == 401
