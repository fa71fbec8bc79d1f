# SPDX-License-Identifier: Apache-2.0
"""The same page under ONOS: from the packed bundle, by the web container that ONOS has, behind its login. ONOS itself is not there."""

import socket
import subprocess
from contextlib import contextmanager

import pytest

from conftest import ROOT, choose, opened

APP = ROOT / "controller" / "onos-app"
BUNDLE = APP / "target" / "slotwise-onos-app-0.1.0-SNAPSHOT.jar"
ADMIN = {"username": "onos", "password": "rocks"}
VIEWER = {"username": "guest", "password": "seat"}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def node(host, port, directory):
    """A node with the bundle, which leads: (address of the page, lead_by(address of another node))."""
    directory.mkdir()
    class_path = f"{APP / 'target' / 'test-classes'}:{(APP / 'target' / 'test-class-path').read_text()}"
    command = [
        "java",
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dslotwise.bundle={BUNDLE}",
        "-cp",
        class_path,
        "org.slotwise.onos.osgi.ServedBundle",
        host,
        str(port),
        str(directory),
    ]
    with subprocess.Popen(command, cwd=APP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def lead_by(address):
            process.stdin.write(f"{address}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"led by {address}\n"

        try:
            assert process.stdout.readline() == f"served at http://{host}:{port}/onos/slotwise/\n"
            yield f"http://{host}:{port}/onos/slotwise/page/", lead_by
        finally:
            process.stdin.close()
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with node("127.0.0.1", free_port(), tmp_path_factory.mktemp("node") / "node") as (page, _):
        yield page


def choose_scheduler(page, name):
    choose(page, "control")
    page.get_by_label("Scheduler", exact=True).select_option(name)
    page.get_by_role("button", name="Apply").click()


def test_an_admin_sees_the_page_and_changes_arrive(chromium, address):
    with opened(chromium, http_credentials=ADMIN) as page:
        page.goto(address)
        page.get_by_text("live").wait_for()
        choose_scheduler(page, "rotation")
        page.get_by_text("is active from the next frame").wait_for()
        choose(page, "news")
        page.get_by_label("Event log").get_by_text("rotation").first.wait_for()
        choose(page, "star")
        page.locator(".heatmap").first.wait_for()


def test_a_viewer_sees_the_page_and_changes_nothing(chromium, address):
    with opened(chromium, refused=[403], http_credentials=VIEWER) as page:
        page.goto(address)
        page.get_by_text("live").wait_for()
        choose_scheduler(page, "solstice")
        page.get_by_role("status").get_by_text("Forbidden", exact=True).wait_for()


def test_a_page_of_onos_may_have_it_in_a_frame(chromium, address):
    interface = address.replace("/slotwise/page/", "/ui/")
    with opened(chromium, http_credentials=ADMIN) as page:
        page.route(
            interface, lambda route: route.fulfill(content_type="text/html", body=f'<iframe src="{address}"></iframe>')
        )
        page.goto(interface)
        page.frame_locator("iframe").get_by_text("live").wait_for()


def test_an_open_page_goes_where_the_leader_is(chromium, tmp_path):
    port = free_port()
    with (
        node("127.0.0.1", port, tmp_path / "one") as (address, lead_by),
        node("127.0.0.2", port, tmp_path / "other") as (other, _),
        opened(chromium, http_credentials=ADMIN) as page,
    ):
        page.goto(f"{address}#news")
        page.get_by_text("live").wait_for()
        lead_by("127.0.0.2")
        page.wait_for_url(f"{other}#news")
        page.get_by_text("live").wait_for()
