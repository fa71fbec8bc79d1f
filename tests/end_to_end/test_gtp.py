# SPDX-License-Identifier: Apache-2.0
"""Files over GTP between two namespaces. Run as test_runs.py is."""

import hashlib
import json
import os
import re
import signal
import ssl
import subprocess
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import pytest

from chain import Chain, Link, RouterError, ip, read_until, spawn
from slotwise.tools import gtp, home
from test_runs import ROOT
from test_tls import Authority

SERVER = "10.9.0.1"
FILE_BYTES = 20_000_000


class Pair:
    """A daemon here, and a host at the other end of a veth."""

    def __init__(self, stack: ExitStack, directory: Path):
        self.stack = stack
        self.directory = directory
        self.served = directory / "served"
        self.served.mkdir()
        self.key = self.new_key("key")
        self.command = str(home.slotwise_command())
        held = spawn(stack, "unshare", "--net", "sh", "-c", "echo there && exec sleep infinity")
        self.pid = held.pid
        assert held.stdout.readline() == "there\n"
        ip("link", "add", "gtp0", "type", "veth", "peer", "name", "gtp1", "netns", str(self.pid))
        stack.callback(ip, "link", "del", "gtp0")
        ip("addr", "add", f"{SERVER}/24", "dev", "gtp0")
        ip("link", "set", "gtp0", "up")
        self.there("ip", "addr", "add", "10.9.0.2/24", "dev", "gtp1")
        self.there("ip", "link", "set", "gtp1", "up")

    def inside(self, *command: str) -> list[str]:
        """A command for the other host."""
        return ["nsenter", "-t", str(self.pid), "--net", *command]

    def there(self, *command: str) -> None:
        """Runs a command at the other host."""
        subprocess.run(self.inside(*command), check=True)

    def new_key(self, name: str) -> str:
        """A key file."""
        path = self.directory / name
        subprocess.run([home.slotwise_command(), "gtp", "key", path], check=True)
        assert path.stat().st_mode & 0o777 == 0o600
        return str(path)

    def serve(self, *options: str) -> subprocess.Popen:
        """Starts the daemon."""
        command = [
            self.command,
            "gtp",
            "serve",
            str(self.served),
            "--bind",
            SERVER,
            "--key",
            self.key,
            "--quiet",
            *options,
        ]
        daemon = spawn(self.stack, *command, stderr=subprocess.STDOUT)
        read_until(daemon, "serving at")
        return daemon

    def run(self, *arguments: str, key: str | None = None) -> tuple[dict, int]:
        """Runs `slotwise gtp` at the other host; its report (empty if there is none) and exit status."""
        command = self.inside(self.command, "gtp", *arguments, "--key", key or self.key, "--timeout-s", "3")
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        report = json.loads(done.stdout) if done.stdout else {"error": done.stderr.strip()}
        return report, done.returncode


@pytest.fixture(name="pair")
def two_hosts(tmp_path):
    """Two hosts and a key."""
    with ExitStack() as stack:
        yield Pair(stack, tmp_path)


def sha256(path: Path) -> str:
    """Of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_goes_both_ways_intact(pair, tmp_path):
    (pair.served / "deep").mkdir()
    original = pair.served / "deep" / "file"
    original.write_bytes(os.urandom(FILE_BYTES))
    daemon = pair.serve("--take")
    stored = tmp_path / "stored"
    report, status = pair.run("receive", SERVER, "deep/file", "--out", str(stored))
    assert status == 0 and report["ok"], report
    assert report["role"] == "receive" and report["bytes"] == FILE_BYTES and report["resumed_bytes"] == 0
    assert report["sha256"] == sha256(original) == sha256(stored)
    report, status = pair.run("send", str(stored), SERVER, "--name", "back")
    assert status == 0 and report["ok"] and report["role"] == "send", report
    assert sha256(pair.served / "back") == sha256(original)
    daemon.send_signal(signal.SIGINT)
    lines = [json.loads(line) for line in daemon.communicate(timeout=20)[0].splitlines()]
    assert daemon.returncode == 0
    assert [(line["role"], line["ok"], line["sha256"]) for line in lines] == [
        ("send", True, sha256(original)),
        ("receive", True, sha256(original)),
    ]
    assert sorted(path.name for path in pair.served.iterdir()) == ["back", "deep"]


def test_an_empty_file_arrives(pair, tmp_path):
    (pair.served / "empty").touch()
    pair.serve()
    report, status = pair.run("receive", SERVER, "empty", "--out", str(tmp_path / "stored"))
    assert status == 0 and report["bytes"] == 0, report
    assert (tmp_path / "stored").stat().st_size == 0


def killed_when_some_is_here(killed: subprocess.Popen, shows: subprocess.Popen, state: Path) -> int:
    """Kills a process when the state of what is received has bytes; how many.

    Once a second `shows` says how far it is; the receiver notes it if that is 16 MiB more.
    """
    read_until(shows, "of 60000000 bytes")
    while not state.exists() or not state.stat().st_size or json.loads(state.read_text())["here"] == 0:
        read_until(shows, "of 60000000 bytes")
    killed.kill()
    killed.wait()
    return json.loads(state.read_text())["here"]


@pytest.mark.nightly
def test_a_killed_receiver_goes_on_where_it_was(pair, tmp_path):
    original = pair.served / "file"
    original.write_bytes(os.urandom(3 * FILE_BYTES))
    pair.serve()
    stored, state = tmp_path / "stored", tmp_path / ".stored.gtp-state"
    arguments = ["receive", SERVER, "file", "--out", str(stored)]
    command = pair.inside(pair.command, "gtp", *arguments, "--key", pair.key, "--rate-bps", "100000000")
    receiver = spawn(pair.stack, *command, stderr=subprocess.STDOUT)
    here = killed_when_some_is_here(receiver, receiver, state)
    assert not stored.exists()
    report, status = pair.run(*arguments)
    assert status == 0 and report["ok"], report
    assert report["resumed_bytes"] == here > 0
    assert sha256(stored) == sha256(original)
    assert not list(tmp_path.glob(".stored*"))


@pytest.mark.nightly
def test_a_killed_daemon_goes_on_where_it_was(pair, tmp_path):
    original = tmp_path / "original"
    original.write_bytes(os.urandom(3 * FILE_BYTES))
    daemon = pair.serve("--take")
    arguments = ["send", str(original), SERVER, "--name", "file"]
    command = pair.inside(
        pair.command, "gtp", *arguments, "--key", pair.key, "--rate-bps", "100000000", "--timeout-s", "1"
    )
    sender = spawn(pair.stack, *command, stderr=subprocess.STDOUT)
    here = killed_when_some_is_here(daemon, sender, pair.served / ".file.gtp-state")
    assert "no response for 1 s" in read_until(sender, "slotwise: ")
    daemon = pair.serve("--take")
    report, status = pair.run(*arguments)
    assert status == 0 and report["ok"], report
    daemon.send_signal(signal.SIGINT)
    received = json.loads(daemon.communicate(timeout=20)[0])
    assert received["resumed_bytes"] == here > 0 and received["bytes"] == 3 * FILE_BYTES
    assert sha256(pair.served / "file") == sha256(original)
    assert [path.name for path in pair.served.iterdir()] == ["file"]


@pytest.mark.nightly
def test_a_receiver_that_loses_its_daemon_goes_on_with_all_that_came(pair, tmp_path):
    # Less than what is noted on the way.
    original, bytes_ = pair.served / "file", 12_000_000
    original.write_bytes(os.urandom(bytes_))
    daemon = pair.serve()
    stored, state = tmp_path / "stored", tmp_path / ".stored.gtp-state"
    arguments = ["receive", SERVER, "file", "--out", str(stored)]
    command = pair.inside(
        pair.command, "gtp", *arguments, "--key", pair.key, "--rate-bps", "20000000", "--timeout-s", "3"
    )
    receiver = spawn(pair.stack, *command, stderr=subprocess.STDOUT)
    while read_until(receiver, f"of {bytes_} bytes").split()[2] == "0":
        pass
    daemon.kill()
    assert "no response for 3 s" in read_until(receiver, "slotwise: ")
    here = json.loads(state.read_text())["here"]
    assert 0 < here < bytes_
    pair.serve()
    report, status = pair.run(*arguments)
    assert status == 0 and report["resumed_bytes"] == here, report
    assert sha256(stored) == sha256(original)


@pytest.mark.nightly
def test_a_receiver_whose_disk_is_full_says_so_at_once_and_goes_on_later(pair, tmp_path):
    original = tmp_path / "original"
    original.write_bytes(os.urandom(3 * FILE_BYTES))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", pair.served], check=True)
    pair.stack.callback(subprocess.run, ["umount", "--lazy", pair.served], check=True)
    daemon = pair.serve("--take")
    report, status = pair.run("send", str(original), SERVER, "--name", "file", "--rate-bps", "40000000")
    assert status == 1 and "cannot be read or written" in report["error"], report
    assert report["packets"] * 1000 < 3 * FILE_BYTES, "all of it was sent"
    daemon.send_signal(signal.SIGINT)
    (line,) = daemon.communicate(timeout=20)[0].splitlines()
    assert not json.loads(line)["ok"]
    assert not (pair.served / "file").exists()
    # What was written is not sent again, and what was not is: also where later blocks found room.
    here = json.loads((pair.served / ".file.gtp-state").read_text())["here"]
    assert 3_000_000 < here < 4 << 20
    assert (pair.served / ".file.gtp-part").read_bytes()[:here] == original.read_bytes()[:here]
    subprocess.run(["mount", "-o", "remount,size=80m", pair.served], check=True)
    daemon = pair.serve("--take")
    report, status = pair.run("send", str(original), SERVER, "--name", "file")
    assert status == 0 and report["ok"], report
    daemon.send_signal(signal.SIGINT)
    assert json.loads(daemon.communicate(timeout=20)[0])["resumed_bytes"] == here
    assert sha256(pair.served / "file") == sha256(original)


@pytest.mark.nightly
def test_a_daemon_outlives_an_interface_that_takes_less(pair, tmp_path):
    (pair.served / "file").write_bytes(os.urandom(3 * FILE_BYTES))
    (pair.served / "small").write_bytes(b"here")
    daemon = pair.serve()
    command = pair.inside(
        pair.command,
        "gtp",
        "receive",
        SERVER,
        "file",
        "--out",
        str(tmp_path / "stored"),
        "--key",
        pair.key,
        "--rate-bps",
        "40000000",
        "--timeout-s",
        "2",
    )
    receiver = spawn(pair.stack, *command, stderr=subprocess.STDOUT)
    read_until(receiver, f"of {3 * FILE_BYTES} bytes")
    ip("link", "set", "gtp0", "mtu", "1000")
    assert "packets exceed the interface MTU" in read_until(daemon, "slotwise gtp: ")
    receiver.communicate(timeout=30)
    assert receiver.returncode != 0
    report, status = pair.run("receive", SERVER, "small", "--out", str(tmp_path / "small"), "--packet-bytes", "900")
    assert status == 0 and report["ok"], report


def put_session(url: str, session: dict) -> None:
    """Has a session join, or leave."""
    place = f"{url}/sessions/{session['session']}"
    wanted = {key: value for key, value in session.items() if key != "session"}
    if wanted == {"leave": True}:
        request = urllib.request.Request(place, method="DELETE")
    else:
        request = urllib.request.Request(
            place, json.dumps(wanted).encode(), {"Content-Type": "application/json"}, method="PUT"
        )
    with urllib.request.urlopen(request, timeout=60):
        pass


def lambda_controller(pair: Pair, **rest) -> str:
    """A controller that knows of two nodes; where its application `lambda` is."""
    lambdas = {
        "name": "web",
        "nodes": [{"name": "here", "rate_bps": 8_000_000}, {"name": "there", "rate_bps": 100_000_000}],
    }
    config = {
        "p4runtime": {"address": "127.0.0.1:9"},
        "pipelines": {},
        "clock": "wall",
        "store": str(pair.directory / "store"),
        "rest": {"port": 0} | rest,
        "network": {"apps": {"lambda": lambdas}},
    }
    file = pair.directory / "controller.json"
    file.write_text(json.dumps(config))
    ip("link", "set", "lo", "up")
    controller = spawn(
        pair.stack,
        "java",
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-jar",
        str(ROOT / home.CONTROLLER),
        "--config",
        str(file),
        stderr=subprocess.STDOUT,
    )
    return re.search(r"https?://[0-9.:]+", read_until(controller, "REST is at"))[0] + "/slotwise/v1/lambda"


@pytest.mark.nightly
def test_a_host_paces_by_what_the_controller_grants_a_session(pair, tmp_path):
    url = lambda_controller(pair)
    put_session(url, {"session": "film", "source": "there", "sink": "here"})
    put_session(url, {"session": "rival", "source": "there", "sink": "here", "wanted_bps": 6_000_000})
    pair.serve("--take", "--granted-by", url, "--session", "film")
    original = tmp_path / "original"
    original.write_bytes(os.urandom(500_000))
    report, status = pair.run("send", str(original), SERVER, "--name", "one")
    assert status == 0 and report["ok"], report
    # Half of 8 Mb/s, and not what a link of this speed would give.
    assert report["goodput_bps"] < 4_000_000, report
    assert sha256(pair.served / "one") == sha256(original)
    # Whoever asks for a session that is not there is told so, and serves nothing.
    command = [
        pair.command,
        "gtp",
        "serve",
        str(pair.served),
        "--bind",
        f"{SERVER}:0",
        "--key",
        pair.key,
        "--granted-by",
        url,
        "--session",
        "opera",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "unknown session 'opera'" in done.stderr, done.stderr


@pytest.mark.nightly
def test_a_daemon_asks_for_a_session_of_its_own_with_a_token_over_tls(pair, tmp_path):
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.sign(tmp_path, "controller", SERVER)
    secret = "0123456789abcdef-secret"
    token, other = tmp_path / "token", tmp_path / "other"
    for file, text in ((token, secret), (other, secret[::-1])):
        file.touch(mode=0o600)
        file.write_text(text + "\n")
    url = lambda_controller(
        pair, host=SERVER, token_file=str(token), tls={"certificate": str(certificate), "key": str(key)}
    )
    context = ssl.create_default_context(cafile=authority.certificate)

    def sessions() -> dict[str, int]:
        request = urllib.request.Request(f"{url}/sessions", headers={"Authorization": f"Bearer {secret}"})
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return {each["session"]: each["granted_bps"] for each in json.load(answer)["sessions"]}

    granted_by = ["--granted-by", url, "--session", "film", "--source", "there", "--sink", "here"]
    tls, shown = ["--ca", str(authority.certificate)], ["--token-file", str(token)]
    refused = [
        (granted_by + tls, "token required"),
        (granted_by + tls + ["--token-file", str(other)], "token rejected"),
        (granted_by + shown, "server identity not verified"),
        (granted_by + shown + ["--ca", str(Authority(tmp_path, "stranger").certificate)], "certificate rejected"),
        (["--granted-by", url.replace("https", "http"), *granted_by[2:], *shown], "expected https"),
        ([*granted_by[:-1], "nobody", *tls, *shown], "unknown node 'nobody'"),
    ]
    for options, said in refused:
        command = [pair.command, "gtp", "serve", str(pair.served), "--bind", f"{SERVER}:0", "--key", pair.key, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0 and said in done.stderr and secret not in done.stdout + done.stderr, done.stderr
    assert sessions() == {}

    daemon = pair.serve("--take", *granted_by, *tls, *shown)
    assert sessions() == {"film": 8_000_000}
    assert secret not in Path(f"/proc/{daemon.pid}/cmdline").read_text()
    original = tmp_path / "original"
    original.write_bytes(os.urandom(500_000))
    report, status = pair.run("send", str(original), SERVER, "--name", "one")
    assert status == 0 and report["ok"] and report["goodput_bps"] < 8_000_000, report
    daemon.send_signal(signal.SIGTERM)
    output = daemon.communicate(timeout=20)[0]
    assert daemon.returncode == 0 and secret not in output
    assert sessions() == {}, "who ends has its session leave"

    daemon = pair.serve(*granted_by, *tls, *shown)
    assert "film" in sessions()
    daemon.kill()
    killed = time.monotonic()
    while "film" in sessions():
        assert time.monotonic() < killed + 60, "a lease ends"
        time.sleep(0.2)


@pytest.mark.nightly
def test_a_file_comes_whole_through_kills_by_seed(pair, tmp_path):
    """SLOTWISE_GTP_KILLS=N for more than the few of a run in the tests."""
    kills, random = int(os.environ.get("SLOTWISE_GTP_KILLS", "4")), Random(1)
    original, stored, state = pair.served / "file", tmp_path / "stored", tmp_path / ".stored.gtp-state"
    original.write_bytes(os.urandom(5 * FILE_BYTES))
    arguments = ["receive", SERVER, "file", "--out", str(stored)]
    command = pair.inside(
        pair.command, "gtp", *arguments, "--key", pair.key, "--rate-bps", "100000000", "--timeout-s", "3"
    )
    daemon = pair.serve()
    killed = {"receiver": 0, "daemon": 0}
    resumed = files = here = 0
    while sum(killed.values()) < kills:
        receiver = spawn(pair.stack, *command, stderr=subprocess.STDOUT)
        who = random.choice(["receiver", "daemon"])
        with suppress(RouterError):
            # It says once a second how far it is; what is left may be less than that.
            for _ in range(random.randrange(1, 6)):
                read_until(receiver, f"of {5 * FILE_BYTES} bytes")
            if who == "receiver":
                receiver.kill()
            else:
                daemon.kill()
                daemon.wait()
                daemon = pair.serve()
            killed[who] += 1
        receiver.communicate(timeout=30)
        if not stored.exists() and random.random() < 0.7:
            noted = json.loads(state.read_text())["here"] if state.exists() and state.stat().st_size else 0
            assert noted >= here
            here = noted
            continue
        if not stored.exists():
            report, status = pair.run(*arguments)
            assert status == 0 and report["ok"] and report["resumed_bytes"] >= here, report
            resumed += report["resumed_bytes"] > 0
        assert sha256(stored) == sha256(original)
        assert not list(tmp_path.glob(".stored*"))
        stored.unlink()
        files, here = files + 1, 0
    print(f"{files} files whole, {resumed} of them resumed in the end; killed: {killed}")


def test_another_key_is_refused(pair, tmp_path):
    (pair.served / "file").write_bytes(b"secret")
    pair.serve("--take")
    other = pair.new_key("other")
    report, status = pair.run("receive", SERVER, "file", "--out", str(tmp_path / "stored"), key=other)
    assert status == 1 and "key mismatch" in report["error"]
    report, status = pair.run("send", other, SERVER, "--name", "pushed", key=other)
    assert status == 1 and "key mismatch" in report["error"]
    assert not (tmp_path / "stored").exists() and not (pair.served / "pushed").exists()


@pytest.mark.parametrize("name", ["../key", "/etc/hostname", "link", "none", "."])
def test_what_is_not_beneath_the_directory_is_missing(pair, tmp_path, name):
    (pair.served / "link").symlink_to("../key")
    pair.serve()
    report, status = pair.run("receive", SERVER, name, "--out", str(tmp_path / "stored"))
    assert status == 1 and report["error"] == "rejected: no such file"
    assert not (tmp_path / "stored").exists()


def test_nothing_is_overwritten_or_taken_uninvited(pair, tmp_path):
    original = pair.served / "file"
    original.write_bytes(b"old")
    daemon = pair.serve()
    report, status = pair.run("send", pair.key, SERVER, "--name", "new")
    assert status == 1 and "upload not allowed" in report["error"]
    daemon.send_signal(signal.SIGINT)
    daemon.wait()
    pair.serve("--take", "--max-bytes", "65")
    longer = tmp_path / "longer"
    longer.write_bytes(bytes(66))
    for sent, name, reason in [
        (pair.key, "file", "already"),
        (pair.key, "../out", "upload not allowed"),
        (str(longer), "new", "exceeds the size limit"),
    ]:
        report, status = pair.run("send", sent, SERVER, "--name", name)
        assert status == 1 and reason in report["error"], report
    assert original.read_bytes() == b"old"
    assert [path.name for path in pair.served.iterdir()] == ["file"]


@pytest.mark.nightly
def test_a_file_arrives_intact_through_a_router_whose_link_loses(tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    original, key = tmp_path / "file", tmp_path / "key"
    original.write_bytes(os.urandom(FILE_BYTES // 2))
    gtp.new_key(key)
    with Chain([Link(None, rate_bps=100_000_000, delay_us=5000, loss=0.05)]) as chain:
        for host in (chain.a, chain.b):
            subprocess.run(
                [*host.enter(), "ethtool", "-K", "eth0", "gso", "off", "tx-udp-segmentation", "off"], check=True
            )
        with gtp.Server(served, key, within=chain.b.enter(), bind="10.0.0.2", take=True, rate_bps=50_000_000) as server:
            sent = gtp.send(original, "10.0.0.2", key, within=chain.a.enter())
        (card,) = chain.card_reports()
    (received,) = server.reports
    assert received.values["ok"] and received.sha256 == sha256(served / "file") == sha256(original)
    assert card["lost_packets"] > 0 and sent.values["retransmitted"] > 0
    assert card["arrived_packets"] == card["sent_packets"] + card["dropped_packets"]
