# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import json
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SLOTWISE = ROOT / "engine" / "target" / "release" / "slotwise"
CHROMIUM = "/usr/bin/chromium"
# It talks to nobody but us.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHOTS = Path(os.environ.get("SLOTWISE_SHOTS", ROOT / "build" / "page"))
"""Where pictures of the views go; docs/page.md says how the documentation's are made anew."""
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page of a new profile, in which nothing may go wrong unseen."""
    with opened(chromium) as new:
        yield new


@contextmanager
def opened(chromium, refused=(), **options):
    """A page whose requests may be answered with these statuses, and no others that are errors."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, **options)
    context.set_default_timeout(PATIENCE_MS)
    new = context.new_page()
    wrong = []
    new.on("pageerror", lambda error: wrong.append(str(error)))
    expected = [f"the server responded with a status of {status} " for status in refused]

    def hear(said):
        if said.type == "error" and not any(part in said.text for part in expected):
            wrong.append(said.text)

    new.on("console", hear)
    try:
        yield new
        assert not wrong, wrong
    finally:
        context.close()


def shot(page, name):
    """A picture of what is seen."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.mouse.move(0, 0)
    page.screenshot(path=SHOTS / f"{name}.png")


@contextmanager
def served(*arguments):
    """A slotwise that serves the page: (address of the page, process). It has to end well at SIGINT, if it has not ended before."""
    process = subprocess.Popen(
        [str(SLOTWISE), *map(str, arguments)], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        address = None
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\w+", line):
                address = found[0]
                break
        assert address, f"no address, status {process.wait()}"
        yield address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.stdout.close()
        process.wait(timeout=60)


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """reports(SCENARIO, SECONDS): the path of a report of a run in virtual time, made once."""
    made = {}

    def make(scenario, seconds):
        if (scenario, seconds) not in made:
            path = tmp_path_factory.mktemp("report") / "report.json"
            # What the scenario wants of a whole run, a file's arrival say, is not asked of a short one.
            subprocess.run(
                [SLOTWISE, "simulate", ROOT / scenario, "--duration", str(seconds), "--report", path],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=600,
            )
            made[scenario, seconds] = path
        return made[scenario, seconds]

    return make


@pytest.fixture
def viewed(reports, page):
    """viewed(SCENARIO, SECONDS): its report, as the page shows it."""
    open_servers = []

    def show(scenario, seconds):
        path = reports(scenario, seconds)
        server = served("view", path)
        address, _ = server.__enter__()
        open_servers.append(server)
        page.goto(address)
        page.get_by_text("finished").wait_for()
        return json.loads(path.read_text())

    yield show
    for server in open_servers:
        server.__exit__(None, None, None)


def choose(page, view):
    page.locator(f"#tab-{view}").click()


def settled(page):
    """Waits until what was done is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def is_drawn(page, locator):
    """Whether a canvas has more than one colour."""
    return page.evaluate(
        """canvas => {
          const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const colors = new Set();
          for (let at = 0; at < data.length && colors.size < 3; at += 4) colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
          return colors.size > 2;
        }""",
        locator.element_handle(),
    )


def press(page, key):
    page.keyboard.press(key)
    settled(page)


def go_to(page, index):
    """Moves the timeline, as a person with a mouse would, to one of its places."""
    page.get_by_label("Run time").fill(str(index))
    settled(page)
