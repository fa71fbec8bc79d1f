# SPDX-License-Identifier: Apache-2.0
"""`slotwise tunnel`: what is chosen, told and refused. end_to_end/test_tunnel.py makes tunnels."""

import fcntl
import stat

import pytest

from slotwise import scenario
from slotwise.errors import UnknownName
from slotwise.live import tunnel
from slotwise.tools import home

STAR = home.root() / "topologies" / "star4.yaml"
MIX = home.root() / "topologies" / "mixed.yaml"
PEER = "A" * 43 + "="
UP = ["up", "lab", "--side", "far", "--scenario", str(STAR), "--peer", PEER]


def test_hosts_are_chosen_by_name_or_by_switch():
    star, mix = scenario.load(STAR), scenario.load(MIX)
    assert [host.name for host in tunnel.chosen(star, ["h1_1", "edge2"])] == ["h1_1", "h2_0", "h2_1"]
    assert [host.name for host in tunnel.chosen(star, ["edge2", "h2_1"])] == ["h2_0", "h2_1"]
    assert [host.name for host in tunnel.chosen(mix, ["lab"])] == ["lab.0", "lab.1"]
    with pytest.raises(UnknownName, match="scenario 'star4' has no host or switch 'edge9'; did you mean"):
        tunnel.chosen(star, ["edge9"])


def test_the_near_end_says_what_the_network_is_told():
    made = tunnel.Tunnel("lab", "near", 3, tunnel.chosen(scenario.load(STAR), ["edge2"]))
    assert made.entries() == [
        {"edge": 2, "port": port, "interface": f"lab{port - 1}", "probe": "198.18.0.14"} for port in (1, 2)
    ]
    far = made._replace(side="far")
    assert (str(made.local), str(made.remote)) == ("198.18.0.13", "198.18.0.14") == (str(far.remote), str(far.local))
    last = made._replace(number=tunnel.NUMBERS[-1])
    assert str(last.remote) == "198.19.255.254"


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["up", "Lab"], "'Lab': expected a lower-case letter"),
        (["up", "lab/../x"], "expected a lower-case letter"),
        (["up", "averylongname"], "up to 9 lower-case letters and digits"),
        (["down", "-x"], "the following arguments are required|expected"),
        ([*UP, "--key", "k", "--hosts", ""], "--hosts: expected at least one"),
        ([*UP, "--key", "k", "--hosts", "edge2"], "2 hosts of one network on this machine; expected --namespaces"),
        ([*UP, "--key", "k", "--hosts", "h2_0", "--number", "32768"], "expected an integer from 0 to 32767"),
        ([*UP, "--key", "k", "--hosts", "h2_0", "--number", "-1"], "expected"),
        (
            [*UP, "--key", "k", "--hosts", "h2_0", "--listen", "99999"],
            "--listen: '99999': expected an integer from 1 to 65535",
        ),
        ([*UP, "--key", "k", "--hosts", "h2_0", "--mtu", "10"], "--mtu: '10': expected an integer from 576 to 65535"),
    ],
)
def test_what_cannot_be_is_refused(arguments, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        tunnel.main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert any(part in said for part in reason.split("|")), said


def test_keys_that_others_may_read_or_that_are_none_are_refused(tmp_path, capsys):
    key = tmp_path / "key"
    key.write_text("")
    up = [*UP, "--hosts", "h2_0", "--key", str(key)]
    key.chmod(0o644)
    assert tunnel.main(up) == 2
    assert "readable by other users; expected a file of mode 600" in capsys.readouterr().err
    key.chmod(stat.S_IRUSR)
    assert tunnel.main([*up, "--peer", "secret"]) == 2
    assert "'secret' is not a public key; expected the 44 characters" in capsys.readouterr().err
    assert tunnel.main([*up, "--key", str(tmp_path / "none")]) == 2
    assert "--key: " in (said := capsys.readouterr().err) and "No such file" in said and "`slotwise tunnel key " in said
    for to, reason in (
        ("10.0.0.1:99999", "expected HOST:PORT, the port from 1 to 65535"),
        ("10.0.0.1", "expected HOST:PORT"),
        (":1", "HOST:PORT"),
        ("no host:1", "cannot be resolved"),
    ):
        assert tunnel.main([*up, "--to", to]) == 2
        assert "--to: '" in (said := capsys.readouterr().err) and reason in said
    assert tunnel.main([*up, "--hosts", "h9_9"]) == 2
    assert "has no host or switch 'h9_9'" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_said_with_its_package(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tunnel.main(["key", str(tmp_path / "key")]) == 2
    assert "wg: command not found; on Debian: apt install wireguard-tools" in capsys.readouterr().err
    assert not (tmp_path / "key").exists()


def test_a_tunnel_is_checked_and_made_while_no_other_one_is(monkeypatch, tmp_path):
    key, lock = tmp_path / "key", tmp_path / "lock"
    key.touch(mode=0o600)
    held = []

    def note(*_, **__) -> None:
        with lock.open("a") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(True)
            else:
                held.append(False)

    monkeypatch.setattr(tunnel, "LOCK", lock)
    for step in ("_interfaces", "_check_number", "_make"):
        monkeypatch.setattr(tunnel, step, lambda *_, **__: note() or [])
    made = tunnel.Tunnel("lab", "near", 3, tunnel.chosen(scenario.load(STAR), ["edge2"]))
    tunnel.up(made, key=key, peer=PEER, to=None, listen=1, mtu=1420, namespaces=False)
    assert held == [True, True, True]
    note()
    assert not held[-1], "the next one may go on"
    monkeypatch.setattr(tunnel, "LOCK", tmp_path / "none" / "lock")
    with pytest.raises(tunnel.TunnelError, match=r"lock: No such file or directory; expected to run as root"):
        tunnel.up(made, key=key, peer=PEER, to=None, listen=1, mtu=1420, namespaces=False)
