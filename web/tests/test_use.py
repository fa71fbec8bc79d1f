# SPDX-License-Identifier: Apache-2.0
"""By keyboard, by people with any colour vision, in the dark, with a thousand edges; and who is kept out."""

import http.client
import json
import re
from itertools import combinations
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import ROOT, choose, opened, press, served, shot

STAR = ("topologies/star4.yaml", 8)
FAULTS = ("experiments/faults/combined.yaml", 10)


def test_all_is_done_by_keyboard(page, viewed):
    viewed(*STAR)
    press(page, "Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to content"
    page.locator("#tab-overview").focus()
    press(page, "ArrowRight")
    assert page.locator("#tab-star").get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "tab-star"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "what has the focus is seen"
    press(page, "End")
    assert page.locator("#tab-news").get_attribute("aria-selected") == "true"
    press(page, "ArrowLeft")
    page.get_by_label("Run time").focus()
    before = page.locator("footer output").inner_text()
    press(page, "Home")
    assert page.locator("footer output").inner_text() != before
    press(page, "End")
    assert page.locator("footer output").inner_text() == before
    page.locator(".heatmap canvas").first.focus()
    press(page, "ArrowDown")
    press(page, "ArrowRight")
    said = page.locator(".heatmap canvas").first.get_attribute("aria-label")
    assert re.search(r"edge \d", said), said
    press(page, "Shift+ArrowRight")
    assert "edge 3" in page.locator(".heatmap output").first.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_has_names_and_contrast(chromium, reports, theme):
    with served("view", reports(*FAULTS)) as (address, _), opened(chromium, color_scheme=theme) as page:
        page.goto(address)
        page.get_by_text("finished").wait_for()
        assert page.locator("html").get_attribute("data-theme") == theme
        for tab in page.get_by_role("tab").all():
            tab.click()
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
        choose(page, "star")
        if theme == "dark":
            shot(page, "dark")


def test_dark_mode_is_chosen_and_kept(page, viewed):
    viewed(*STAR)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark mode").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(255, 255, 255)" and dark != light
    page.reload()
    page.get_by_text("finished").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def linear(color):
    """sRGB of `#rrggbb` as linear light."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    """Of WCAG 2."""
    light, dark = sorted(
        (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True)) for color in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


# Machado, Oliveira and Fernandes (2009), full severity, on linear light.
VISIONS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def lab(rgb):
    """CIE L*a*b* (D65) of linear light."""
    xyz = [
        sum(w * c for w, c in zip(row, rgb, strict=True))
        for row in ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    ]
    f = [
        (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116)
        for v in (max(x, 0) / n for x, n in zip(xyz, (0.9505, 1, 1.089), strict=True))
    ]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def seen(color, vision):
    rgb = linear(color)
    return lab([sum(w * c for w, c in zip(row, rgb, strict=True)) for row in VISIONS[vision]])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_stand_out_and_apart_for_any_colour_vision(chromium, reports, theme):
    with served("view", reports(*STAR)) as (address, _), opened(chromium, color_scheme=theme) as page:
        page.goto(address)
        page.get_by_text("finished").wait_for()

        def style(name):
            return page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}').trim()")

        panel, lines = style("--panel"), [style(f"--line-{k}") for k in range(7)]
    for line in lines:
        assert contrast(line, panel) >= 3, (line, panel)
    for vision in VISIONS:
        for one, other in combinations(lines, 2):
            distance = sum((a - b) ** 2 for a, b in zip(seen(one, vision), seen(other, vision), strict=True)) ** 0.5
            assert distance > 8, (vision, one, other, distance)


def thousand_edges():
    """Messages of a star of 1,000 edges, every tenth pair of which has something."""
    edges = 1000
    network = {"kinds": ["star"], "edges": edges, "cores": 1, "slot_bytes": [6000] * edges}
    frame = {"slots": 4096, "signaling_slots": 1000, "slot_ns": 10000, "guard_ns": 1000}
    yield {
        "message": "hello",
        "version": 1,
        "command": "simulate",
        "scenario": "thousand",
        "seed": 1,
        "is_finished": False,
        "phases": ["all"],
        "network": network,
        "frame": frame,
        "controls": {"rest": False, "fibres": []},
    }
    pairs = [pair for pair in range(0, edges * edges, 10) if pair // edges != pair % edges]
    for update in range(1, 11):
        slots = [1 + (pair // 10 + update) % 4 for pair in pairs]
        star = {
            "frames": 1,
            "pairs": pairs,
            "demand_bytes": [9000 * s for s in slots],
            "in_force_slots": slots,
            "granted_slots": slots,
            "delivered_bytes": [5000 * s for s in slots],
        }
        yield {
            "message": "update",
            "now_ns": update * 40_960_000,
            "end_ns": 409_600_000,
            "phase": 1,
            "violations": 0,
            "star": star,
        }


def test_a_thousand_edges_are_still_usable(page, viewed):
    """The stream is made up: no engine runs so many. How long drawing takes is printed, and not judged: machines differ."""
    messages = [json.dumps(message) for message in thousand_edges()]
    page.route_web_socket(re.compile("/stream"), lambda socket: [socket.send(message) for message in messages])
    with served("view", ROOT / "schema" / "examples" / "stream-report.json") as (address, _):
        page.goto(address)
        page.get_by_text("thousand").wait_for()
        choose(page, "star")
        page.locator("[data-updates='10']").wait_for(state="attached")
        canvas = page.locator(".heatmap canvas").nth(1)
        canvas.focus()
        press(page, "ArrowRight")
        took_ms = page.evaluate("""async () => {
          const canvas = document.querySelector('.heatmap canvas');
          const from = performance.now();
          for (let k = 0; k < 10; k++) {
            canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
            await new Promise(requestAnimationFrame);
          }
          return (performance.now() - from) / 10;
        }""")
        print(f"1,000 edges: {took_ms:.0f} ms from a key to the next picture")
        for _ in range(3):
            press(page, "Shift+ArrowRight")
        said = page.locator(".heatmap output").first.inner_text()
        # Of every row each tenth column has something.
        assert "edge 10 → edge 30: demand" in said, said
        shades = page.evaluate("""() => {
          const canvas = document.querySelectorAll('.heatmap canvas')[1];
          const {data} = canvas.getContext('2d').getImageData(60, 30, canvas.width - 60, canvas.height - 30);
          const colors = new Set();
          for (let at = 0; at < data.length; at += 4) colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
          return colors.size;
        }""")
        assert shades >= 4, "each number of slots has its own colour"
        shot(page, "thousand")


def ask(address, path, **headers):
    """(status, body) of a request by hand."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_who_has_no_token_or_comes_by_another_name_sees_nothing(reports):
    with served("view", reports(*STAR)) as (address, _):
        token = address.split("=")[1]
        assert ask(address, "/")[0] == 401
        assert ask(address, f"/?token={token[:-1]}x")[0] == 401
        assert ask(address, "/stream")[0] == 401
        assert ask(address, "/api/slotwise/v1/star/status")[0] == 401
        assert ask(address, f"/?token={token}")[0] == 200
        assert ask(address, f"/?token={token}", Host="evil.example")[0] == 421
        assert ask(address, f"/?token={token}", Origin="http://evil.example")[0] == 403
        assert ask(address, "/api/slotwise/v1/star/status", Authorization=f"Bearer {token}")[0] == 404


def test_a_report_that_is_none_is_refused(tmp_path):
    import subprocess

    from conftest import SLOTWISE

    whole = json.loads((ROOT / "schema" / "examples" / "stream-report.json").read_text())
    short = whole | {"series": whole["series"] | {"frame_ms": [5.0]}}
    for text, reason in (
        ("[]", "not a report"),
        (json.dumps(short), "series.pairs[0].demand_bytes: 2 values; expected 1"),
    ):
        path = tmp_path / "report.json"
        path.write_text(text)
        said = subprocess.run([SLOTWISE, "view", path], check=False, capture_output=True, text=True, timeout=60)
        assert said.returncode == 1 and reason in said.stderr, said.stderr
