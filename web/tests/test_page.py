# SPDX-License-Identifier: Apache-2.0
"""Each view is drawn, and its values are the report's."""

import json
import math
import re
from contextlib import contextmanager

from conftest import choose, go_to, is_drawn, opened, press, served, shot

STAR = ("topologies/star4.yaml", 8)
RING = ("topologies/ring8.yaml", 2)
OPS = ("topologies/nsfnet.yaml", 0.5)
ROUTERS = ("topologies/routers4.yaml", 6)
LAMBDA = ("topologies/optiputer.yaml", 4)
FAULTS = ("experiments/faults/combined.yaml", 10)


def plots_are_drawn(page, count):
    plots = page.locator(".plot canvas")
    plots.first.wait_for()
    assert plots.count() >= count
    for k in range(plots.count()):
        assert is_drawn(page, plots.nth(k))


def test_the_slot_table_is_the_reports(page, viewed):
    report = viewed(*STAR)
    choose(page, "star")
    maps = page.locator(".heatmap canvas")
    assert maps.count() == 2 and is_drawn(page, maps.nth(0)) and is_drawn(page, maps.nth(1))
    plots_are_drawn(page, 3)
    shot(page, "star")
    series, edges = report["series"], report["network"]["edges"]
    frame_s = report["frame"]["slots"] * report["frame"]["slot_ns"] / 1e9
    start_ms = report["phases"][0]["start_ns"] / 1e6
    places = int(page.get_by_label("Run time").get_attribute("max")) + 1
    for place in (places // 3, places - 1):
        go_to(page, place)
        at_s = float(re.match(r"([\d.]+) s", page.locator("footer output").inner_text())[1])
        ends_s = [(ms - start_ms) / 1e3 + frame_s for ms in series["frame_ms"]]
        frame = max(k for k, end_s in enumerate(ends_s) if end_s <= at_s + 0.005)
        if place == places - 1:
            frame = len(ends_s) - 1
        maps.nth(0).focus()
        press(page, "ArrowRight")
        for _ in range(edges):
            press(page, "ArrowUp")
            press(page, "ArrowLeft")
        seen = {}
        for row in range(edges):
            for step in range(edges):
                said = page.locator(".heatmap output").first.inner_text()
                if found := re.match(r"edge (\d+) → edge (\d+): demand ([\d.]+) slots .*, active ([\d.]+) slots", said):
                    seen[int(found[1]), int(found[2])] = (float(found[3]), float(found[4]))
                if step < edges - 1:
                    press(page, "ArrowLeft" if row % 2 else "ArrowRight")
            press(page, "ArrowDown")
        slot_bytes = report["network"]["slot_bytes"]
        frames = [k for k in range(frame - 2, frame + 3) if 0 <= k < len(ends_s)]
        candidates = [
            {
                (p["from"], p["to"]): (math.ceil(p["demand_bytes"][k] / slot_bytes[p["from"]]), p["granted_slots"][k])
                for p in series["pairs"]
            }
            for k in frames
        ]
        # The timeline is said to 10 ms, which is two frames.
        assert seen in candidates, (place, seen)


def test_what_was_delivered_adds_up_to_the_report(page, viewed):
    report = viewed(*STAR)
    choose(page, "star")
    page.get_by_role("radio", name="goodput").check()
    go_to(page, int(page.get_by_label("Run time").get_attribute("max")))
    frame_s = report["frame"]["slots"] * report["frame"]["slot_ns"] / 1e9
    last = {
        (p["from"], p["to"]): p["delivered_bytes"][-1] * 8 / frame_s
        for p in report["series"]["pairs"]
        if p["delivered_bytes"][-1]
    }
    rows = page.get_by_label("Busiest pairs").locator("tbody tr")
    shown = {}
    for k in range(rows.count()):
        pair = tuple(map(int, rows.nth(k).get_attribute("data-pair").split("-")))
        value, unit = rows.nth(k).locator("td").last.inner_text().split(" ")
        shown[pair] = float(value) * {"b/s": 1, "kb/s": 1e3, "Mb/s": 1e6}[unit]
    assert shown.keys() == last.keys()
    assert all(math.isclose(shown[pair], last[pair], rel_tol=0.006) for pair in last)


def test_the_overview_has_the_report(page, viewed):
    report = viewed(*STAR)
    plots_are_drawn(page, 3)
    shot(page, "overview")
    outcome = page.get_by_label("Report")
    for phase in report["phases"]:
        assert outcome.get_by_text(phase["name"], exact=True).count() == 1
    light = report["series"]["samples"][-1]["grant_latency"]
    frame_ns = report["frame"]["slots"] * report["frame"]["slot_ns"]
    card = page.locator(".card", has_text="Grant latency").locator("dd").inner_text()
    assert card.startswith(f"{light['p99_ns'] / frame_ns:.2f} frames"), card


def table_is_the_reports(page, thing, names, columns):
    """Compares the table of a view at the end of the run: `columns` has a list of last values each."""
    rows = page.get_by_role("table", name=f"All {thing}{'es' if thing.endswith('ch') else 's'}").locator("tbody tr")
    rows.first.wait_for()
    found = [
        (
            row.get_attribute("data-name"),
            {
                cell.get_attribute("data-column"): float(cell.get_attribute("data-value"))
                for cell in row.locator("td[data-column]").all()
            },
        )
        for row in rows.all()
    ]
    assert [name for name, _ in found] == names
    for k, (_, cells) in enumerate(found):
        assert cells.keys() == columns.keys()
        # Reading JSON may change the last digit of a number.
        assert all(math.isclose(cells[column], values[k], rel_tol=1e-12) for column, values in columns.items())


def links_of(report):
    links = report["series"]["links"]
    columns = {column for column, values in links[0].items() if isinstance(values, list)}
    return [link["name"] for link in links], {column: [link[column][-1] for link in links] for column in columns}


def other_table(report, name):
    table = next(table for table in report["series"]["tables"] if table["table"] == name)
    return table["names"], {column: [values[-1] for values in things] for column, things in table["columns"].items()}


def test_a_rings_stations_are_the_reports(page, viewed):
    report = viewed(*RING)
    choose(page, "ring")
    plots_are_drawn(page, 3)
    shot(page, "ring")
    table_is_the_reports(page, "station", *links_of(report))


def test_wavelengths_and_switches_are_the_reports(page, viewed):
    report = viewed(*OPS)
    choose(page, "ops")
    plots_are_drawn(page, 3)
    shot(page, "ops")
    table_is_the_reports(page, "wavelength", *links_of(report))
    choose(page, "switches")
    plots_are_drawn(page, 3)
    # What was chosen of wavelengths is not of switches, and the first column by name, 'converted', is all zeros here.
    assert page.get_by_role("radio", name="deflected").is_checked()
    assert page.get_by_text("switches with the highest values").count()
    table_is_the_reports(page, "switch", *other_table(report, "switches"))


def test_links_and_xcp_of_routers_are_the_reports(page, viewed):
    report = viewed(*ROUTERS)
    choose(page, "routers")
    plots_are_drawn(page, 2)
    table_is_the_reports(page, "link", *links_of(report))
    choose(page, "flows")
    plots_are_drawn(page, 3)
    shot(page, "flows")
    table_is_the_reports(page, "flow", *other_table(report, "flows"))


def test_sessions_of_lambda_networks_are_the_reports(page, viewed):
    report = viewed(*LAMBDA)
    choose(page, "lambda")
    plots_are_drawn(page, 3)
    shot(page, "lambda")
    strokes = page.locator(".plot").first.locator(".legend line")
    lines = [(line.get_attribute("stroke"), bool(line.get_attribute("stroke-dasharray"))) for line in strokes.all()]
    assert lines[0::2] == [(color, False) for color, _ in lines[1::2]] and all(dashed for _, dashed in lines[1::2]), (
        lines
    )
    sessions = report["series"]["sessions"]
    columns = {column: [session[column][-1] or 0 for session in sessions] for column in ("rate_bps", "fair_bps")}
    table_is_the_reports(page, "session", [session["name"] for session in sessions], columns)


def test_faults_and_drops_are_the_reports(page, viewed):
    report = viewed(*FAULTS)
    choose(page, "news")
    assert report["faults"]["rows"], "this scenario has faults"
    shot(page, "faults")
    kinds = page.get_by_role("table", name="Faults by type").locator("tbody tr")
    found = {row.get_attribute("data-kind"): row.locator("td").nth(1).inner_text() for row in kinds.all()}
    assert found == {kind["kind"]: str(kind["injected"]) for kind in report["faults"]["kinds"]}
    drops = page.get_by_role("table", name="Dropped packets").locator("tbody tr")
    found = {
        row.get_attribute("data-drop"): int(row.locator("[data-value]").get_attribute("data-value"))
        for row in drops.all()
    }
    idle = [drop["packets"] for drop in report["drops"] if drop["reason"] == "p4:NoSignaling"]
    assert found == {
        f"{drop['location']} {drop['reason']}": drop["packets"]
        for drop in report["drops"]
        if drop["reason"] != "p4:NoSignaling"
    }
    assert int(page.locator("[data-idle]").get_attribute("data-idle")) == sum(idle) > 0, "idle slots are no drops"
    happened = page.get_by_label("Event log").locator("li")
    recovered = sum(row["recovery_ns"] is not None for row in report["faults"]["rows"])
    assert happened.count() == len(report["faults"]["rows"]) + recovered + len(report.get("changes", []))


def test_one_can_go_back_in_a_finished_run(page, viewed):
    report = viewed(*STAR)
    middle_s = report["duration_ns"] / 2e9
    places = int(page.get_by_label("Run time").get_attribute("max"))
    go_to(page, places // 2)
    at_s = float(re.match(r"([\d.]+) s", page.locator("footer output").inner_text())[1])
    assert abs(at_s - middle_s) < 0.1 * middle_s
    assert "hot-pair" in page.locator("header").inner_text()
    page.get_by_role("button", name="Go to end").click()
    assert "file" in page.locator("header").inner_text()


def test_a_run_is_watched_changed_and_seen_to_its_end(chromium):
    run = served("simulate", "topologies/star4.yaml", "--duration", "40", "--web")
    # What is wrong is refused, and the controller may end while it is asked something.
    with run as (address, process), opened(chromium, refused=[422, 502, 503]) as page:
        page.goto(address)
        page.get_by_text("live").wait_for()
        choose(page, "control")
        scheduler = page.get_by_label("Scheduler", exact=True)
        scheduler.select_option("islip")
        page.get_by_label("iterations").fill("0")
        # The browser knows the bounds, too: what it would not send is sent all the same.
        page.evaluate("document.querySelector('form.fields').noValidate = true")
        page.get_by_role("button", name="Apply").click()
        page.locator(".answer.bad").wait_for()
        page.get_by_label("iterations").fill("2")
        page.get_by_role("button", name="Apply").click()
        page.get_by_text("islip is active from the next frame").wait_for()
        shot(page, "control")
        page.get_by_role("button", name="Take down edge2-core0").click()
        page.get_by_text("Link edge2-core0 is down.").wait_for()
        page.get_by_role("button", name="Bring up edge2-core0").click()
        page.get_by_text("Link edge2-core0 is up.").wait_for()
        choose(page, "news")
        page.get_by_text(re.compile("islip .*iterations 2")).wait_for()
        page.get_by_text("edge2-core0 up").wait_for()
        page.get_by_text("finished").wait_for(timeout=300_000)
        assert re.search("islip .*iterations 2", page.locator("#main").inner_text())
        # Whoever comes now sees all of it.
        page.reload()
        page.get_by_text("finished").wait_for()
        assert process.poll() is None, "the page stays"


@contextmanager
def steered(chromium, scenario):
    """A run that lasts, with what can be changed in it on the page: (page, its address)."""
    with served("simulate", scenario, "--duration", "600", "--web") as (address, _), opened(chromium) as page:
        page.goto(address)
        choose(page, "control")
        yield page, address


def ports_are_told_dark(page, address, app, of):
    """The controller believes it of the first port, and takes it back."""
    believed = """async ([path, token, device, port, up]) => {
      const answer = await fetch(path, {headers: {Authorization: `Bearer ${token}`}});
      return (await answer.json()).ports.some(one => one.device_id === device && one.port === port && one.up === up);
    }"""
    ports = page.get_by_role("region", name=f"Ports of {of}")
    name = ports.get_by_role("button").first.get_attribute("aria-label")
    device, port = map(int, re.search(r"device (\d+), port (\d+)", name).groups())
    for state, up in (("down", False), ("up", True)):
        ports.get_by_role("button", name=f"Mark {state}: device {device}, port {port}", exact=True).click()
        page.get_by_text(f"Port status sent: device {device}, port {port} is {state}.").wait_for()
        path = f"/api/slotwise/v1/{app}/ports"
        page.wait_for_function(believed, arg=[path, address.split("=")[1], device, port, up])


def test_the_only_master_is_shut_down_where_edges_join_by_invitation(chromium):
    with steered(chromium, "topologies/star4-drift.yaml") as (page, _):
        page.get_by_role("button", name="Disable the master of core 0").click()
        page.get_by_text("Master of core 0 is disabled.").wait_for()
        page.get_by_role("button", name="Enable the master of core 0").click()
        page.get_by_text("Master of core 0 is enabled.").wait_for()
        choose(page, "news")
        page.get_by_label("Event log").locator("li").nth(1).wait_for()
    with steered(chromium, STAR[0]) as (page, _):
        page.get_by_text("Scheduler and weights").wait_for()
        page.get_by_role("button", name="Apply").wait_for()
        assert page.get_by_role("button", name="Disable").count() == 0, "nobody would take over"


def test_rings_optical_packet_switches_and_routers_are_changed(chromium):
    with steered(chromium, RING[0]) as (page, address):
        page.get_by_label("Mode", exact=True).select_option("adaptive")
        page.get_by_text("Fairness mode: adaptive.").wait_for()
        weight = page.get_by_role("region", name="Station weights, all").get_by_role("spinbutton").first
        weight.fill("3")
        weight.press("Tab")
        page.get_by_text(re.compile(r"device \d+: 3\.")).wait_for()
        ports_are_told_dark(page, address, "ring", "the ring")
    with steered(chromium, "experiments/ops-paced-xcp/live-macroflows.yaml") as (page, address):
        target = page.get_by_role("region", name="Target utilization, all").get_by_role("spinbutton").first
        target.fill("0.5")
        target.press("Tab")
        page.get_by_text(re.compile(r"device \d+, port \d+: 0\.5\.")).wait_for()
        ports_are_told_dark(page, address, "ops", "optical packet switches")
    with steered(chromium, ROUTERS[0]) as (page, address):
        ports_are_told_dark(page, address, "routes", "routers")


def test_messages_are_those_of_the_schema(page, reports):
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    from conftest import ROOT

    schemas = [json.loads((ROOT / "schema" / f"{name}.schema.json").read_text()) for name in ("stream", "report")]
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
    validator = Draft202012Validator(schemas[0], registry=registry)
    validator.check_schema(schemas[0])
    read = """address => new Promise((done, fail) => {
      const socket = new WebSocket(address.replace('http', 'ws').replace('/?', '/stream?'));
      const messages = [];
      socket.onmessage = event => {
        messages.push(JSON.parse(event.data));
        if (messages.at(-1).message === 'end') { socket.close(); done(messages); }
      };
      socket.onerror = fail;
    })"""
    for example in json.loads((ROOT / "schema" / "examples" / "stream.json").read_text()):
        validator.validate(example)
    for scenario, seconds in (STAR, RING, OPS, ROUTERS, LAMBDA, FAULTS):
        with served("view", reports(scenario, seconds)) as (address, _):
            page.goto(address)
            messages = page.evaluate(read, address)
            assert [message["message"] for message in messages[:2]] == ["hello", "update"]
            for message in messages:
                validator.validate(message)
    with served("simulate", "topologies/star4.yaml", "--duration", "20", "--web") as (address, _):
        page.goto(address)
        for message in page.evaluate(read, address):
            validator.validate(message)
