# SPDX-License-Identifier: Apache-2.0
"""slotwise.tools.gtp over the loopback interface."""

import hashlib
import json
import os
import select
import signal
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from slotwise.tools import gtp, home

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(name="key")
def key_file(tmp_path):
    """A new key."""
    path = tmp_path / "key"
    gtp.new_key(path)
    return path


@pytest.fixture(name="served")
def served_directory(tmp_path):
    """With one file."""
    directory = tmp_path / "served"
    directory.mkdir()
    (directory / "file").write_bytes(CONTENT)
    return directory


def test_files_go_both_ways(tmp_path, key, served):
    stored = tmp_path / "stored"
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
        received = gtp.receive(server.address, "file", stored, key, rate_bps=200_000_000)
        sent = gtp.send(stored, server.address, key, name="back")
    assert stored.read_bytes() == (served / "back").read_bytes() == CONTENT
    assert received.sha256 == sent.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert received.bytes == len(CONTENT) and received.goodput_bps > 0
    assert [(report.values["role"], report.values["ok"]) for report in server.reports] == [
        ("send", True),
        ("receive", True),
    ]


def test_names_that_look_like_options_are_names(tmp_path, key, served, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("--key=none", "-h"):
        (served / name).write_bytes(CONTENT)
        with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
            gtp.receive(server.address, name, f"{name}.out", key)
            gtp.send(f"{name}.out", server.address, key)
            gtp.send(f"{name}.out", server.address, key, name=f"{name}.named")
        for file in (tmp_path / f"{name}.out", served / f"{name}.out", served / f"{name}.named"):
            assert file.read_bytes() == CONTENT
    gtp.new_key("--key")
    (tmp_path / "-served").mkdir()
    (tmp_path / "-served" / "file").write_bytes(CONTENT)
    with gtp.Server("-served", "--key", bind="127.0.0.1:0") as server:
        gtp.receive(server.address, "file", "got", "--key")


# Newer Pythons warn of forks beside threads.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_uses_the_daemon_and_leaves_it_as_it_is(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0") as server:
        child = os.fork()
        if child == 0:
            try:
                gtp.receive(server.address, "file", tmp_path / "child", key)
                server.__exit__(None, None, None)
            finally:
                # It is no second run of the tests.
                os._exit(0)
        os.waitpid(child, 0)
        gtp.receive(server.address, "file", tmp_path / "parent", key, timeout_s=2)
    assert (tmp_path / "child").read_bytes() == (tmp_path / "parent").read_bytes() == CONTENT
    assert [report.values["ok"] for report in server.reports] == [True, True]


def test_what_does_not_go_is_an_error(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0") as server:
        with pytest.raises(gtp.GtpError, match="rejected: no such file"):
            gtp.receive(server.address, "none", tmp_path / "stored", key)
        with pytest.raises(gtp.GtpError, match="upload not allowed"):
            gtp.send(served / "file", server.address, key)
        with pytest.raises(gtp.GtpError, match="file exists already"):
            gtp.receive(server.address, "file", served / "file", key)
    key.chmod(0o644)
    with pytest.raises(gtp.GtpError, match="key readable by others"):
        gtp.receive("127.0.0.1", "file", tmp_path / "stored", key)
    with pytest.raises(gtp.GtpError, match="key readable by others"), gtp.Server(served, key):
        pass
    with pytest.raises(gtp.GtpError, match="file exists already"):
        gtp.new_key(key)


class Sender:
    """`slotwise gtp send` of a file that takes its time, when some of it is there."""

    BYTES = 20_000_000

    def __init__(self, directory, address, key):
        self.file = directory / "large"
        self.file.write_bytes(os.urandom(self.BYTES))
        words = ["send", "--key", key, "--rate-bps", "40000000", self.file, address]
        self._process = subprocess.Popen(
            [home.slotwise_command(), "gtp", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while f" of {self.BYTES} bytes in 1 files" not in (line := self._process.stderr.readline()) or line.startswith(
            "slotwise gtp: 0 of"
        ):
            assert line

    def end(self, how):
        """What it has printed, and said."""
        self._process.send_signal(how)
        return self._process.communicate(timeout=60)


def test_a_sender_that_is_interrupted_may_send_again_at_once(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
        sender = Sender(tmp_path, server.address, key)
        printed, said = sender.end(signal.SIGINT)
        again = gtp.send(sender.file, server.address, key)
    ended = json.loads(printed)
    assert (ended["ok"], ended["error"], ended["role"]) == (
        False,
        "interrupted: stopped here",
        "send",
    ) and said.endswith("interrupted\n")
    assert 0 < ended["goodput_bps"] < 60_000_000
    assert (served / "large").read_bytes() == sender.file.read_bytes() and again.bytes == Sender.BYTES
    cut_off, whole = [report.values for report in server.reports]
    assert (cut_off["ok"], cut_off["error"], cut_off["role"]) == (
        False,
        "interrupted: peer stopped",
        "receive",
    )
    assert 0 < cut_off["goodput_bps"] < 60_000_000 and whole["ok"]


def test_a_daemon_reports_what_was_refused_or_cut_off_too(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True, max_bytes=Sender.BYTES, timeout_s=3600) as server:
        with pytest.raises(gtp.GtpError, match="no such file"):
            gtp.receive(server.address, "none", tmp_path / "stored", key)
        sender = Sender(tmp_path, server.address, key)
        sender.end(signal.SIGKILL)
        with pytest.raises(
            gtp.GtpError,
            match="another transfer to this name is in progress; an interrupted one expires after the --timeout-s",
        ):
            gtp.send(sender.file, server.address, key)
        with pytest.raises(gtp.GtpError, match="file exists already"):
            gtp.send(served / "file", server.address, key)
    said = [
        (report.values["role"], report.values["file"], report.values["error"].partition(";")[0])
        for report in server.reports
    ]
    assert said == [
        ("send", "none", "rejected: no such file"),
        ("receive", "large", "rejected: another transfer to this name is in progress"),
        ("receive", "file", "rejected: file exists already"),
        ("receive", "large", "interrupted: stopped here"),
    ]


def test_a_daemon_that_is_stopped_says_so_to_who_sends(tmp_path, key, served):
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
        sender = Sender(tmp_path, server.address, key)
    printed, said = sender.end(0)
    assert json.loads(printed)["error"] == "interrupted: peer stopped"
    assert "stopped before the transfer was complete; the partial file is r" in said


def test_a_path_that_is_no_text_is_sent_by_another_name_and_received(tmp_path, key, served):
    odd = os.fsdecode(b"latin\xe9")
    (tmp_path / odd).mkdir()
    (tmp_path / odd / odd).write_bytes(CONTENT)
    with gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server:
        with pytest.raises(gtp.GtpError, match=r"name is not UTF-8; expected --name with a UTF-8 name"):
            gtp.send(tmp_path / odd / odd, server.address, key)
        gtp.send(tmp_path / odd / odd, server.address, key, name="latin")
        gtp.receive(server.address, "latin", tmp_path / odd / f"{odd}.out", key)
    assert (served / "latin").read_bytes() == (tmp_path / odd / f"{odd}.out").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "options, said",
    [
        ({"rate": 5}, "unexpected argument '--rate' found"),
        ({"rate_bps": "100M"}, "'100M' for '--rate-bps <BPS>': expected bit/s, an integer from 10000"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path, key, options, said):
    with pytest.raises(gtp.GtpError, match=said):
        gtp.receive("127.0.0.1", "file", tmp_path / "stored", key, **options)


def test_a_port_that_cannot_be_is_no_name(tmp_path, key):
    with pytest.raises(gtp.GtpError, match=r"127.0.0.1:99999: invalid port value"):
        gtp.receive("127.0.0.1:99999", "file", tmp_path / "stored", key)


def test_a_directory_that_is_not_there_is_said(tmp_path, key, served):
    with (
        gtp.Server(served, key, bind="127.0.0.1:0", take=True) as server,
        pytest.raises(gtp.GtpError, match="an existing directory for the name"),
    ):
        gtp.send(served / "file", server.address, key, name="none/file")


@pytest.fixture(name="stand_in")
def command_that_is_a_script(tmp_path, monkeypatch):
    """Has a shell script in place of the command."""

    def stand_in(script: str) -> None:
        command = tmp_path / "slotwise"
        command.write_text("#!/bin/sh\n" + script)
        command.chmod(0o755)
        monkeypatch.setenv("SLOTWISE_COMMAND", str(command))

    return stand_in


def test_a_daemon_that_says_much_does_not_wait_for_who_has_started_it(tmp_path, stand_in):
    os.mkfifo(tmp_path / "said")
    said = os.open(tmp_path / "said", os.O_RDONLY | os.O_NONBLOCK)
    stand_in(f"""echo "slotwise gtp: serving at 127.0.0.1:5" >&2
for i in $(seq 3000); do echo '{{"bytes": 1, "file": "a name that has some more bytes than others"}}'; echo "a note of which there are as many bytes" >&2; done
printf '{{"bytes": 2, "half' > {tmp_path}/half; cat {tmp_path}/half
echo > {tmp_path}/said
exec sleep 600
""")
    with gtp.Server(tmp_path, "key") as server:
        assert server.address == "127.0.0.1:5"
        assert select.select([said], [], [], 60)[0], "it waits"
    os.close(said)
    assert len(server.reports) == 3000, "and what was cut off is none"


def test_who_says_that_somebody_serves_is_no_daemon(tmp_path, stand_in):
    stand_in('echo "slotwise: http://127.0.0.1:1: no, a friend is serving at 10.0.0.9:5254" >&2; exit 1')
    with pytest.raises(gtp.GtpError, match="a friend is serving"), gtp.Server(tmp_path, "key"):
        pass


class Controller(BaseHTTPRequestHandler):
    """Grants a session all it wants; notes what `printed` has when the session leaves."""

    printed = None
    at_leave: ClassVar[list[str]] = []

    def do_PUT(self):
        """A session joins."""
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"session": self.path.rpartition("/")[2], "granted_bps": 100_000_000}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        """A session leaves."""
        self.at_leave.append(self.printed.read_text())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Says nothing."""


def test_a_report_does_not_wait_for_the_controller(tmp_path, key, served):
    Controller.printed = tmp_path / "printed"
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Controller) as controller,
        gtp.Server(served, key, bind="127.0.0.1:0") as server,
    ):
        Thread(target=controller.serve_forever, daemon=True).start()
        words = [
            "receive",
            server.address,
            "file",
            "--out",
            tmp_path / "stored",
            "--key",
            key,
            "--granted-by",
            f"http://127.0.0.1:{controller.server_port}",
            "--session",
            "film",
            "--source",
            "a",
            "--sink",
            "b",
        ]
        with Controller.printed.open("w") as printed:
            subprocess.run([home.slotwise_command(), "gtp", *words], stdout=printed, check=True, timeout=60)
        controller.shutdown()
    assert [json.loads(text)["ok"] for text in Controller.at_leave] == [True]


def test_an_output_that_cannot_be_a_file_is_refused_before_anything_is_asked(tmp_path, key):
    for name in ["new/", "a\nb", "x.gtp-part", "x.gtp-state"]:
        with pytest.raises(gtp.GtpError, match="invalid file name"):
            gtp.receive("127.0.0.1:1", "file", f"{tmp_path}/{name}", key)
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(gtp.GtpError, match="not a regular file"):
        gtp.receive("127.0.0.1:1", "file", tmp_path / "stored", tmp_path / "fifo")
