# SPDX-License-Identifier: Apache-2.0
"""Files over XCP between two namespaces, through live P4 routers. Run as test_runs.py is."""

import os
import shutil
import signal
import time
from contextlib import ExitStack

import pytest

from chain import B_IP, PATIENCE_S, Chain, Link, report_of

MBPS = 1_000_000
BOTTLENECK = Link(xcp_bps=20 * MBPS)
WIDE = Link(xcp_bps=80 * MBPS)
FILE_BYTES = 10_000_000
SMALLEST_FILE_BYTES = FILE_BYTES // 4
"""Least size of a file that arrives whole, in each tier."""


@pytest.fixture(scope="module", name="chain")
def running_chain():
    """Two routers; the first one's link is where XCP gives least."""
    with Chain([BOTTLENECK, WIDE]) as chain:
        yield chain
        assert_nothing_was_lost_at_cards(chain)


@pytest.fixture(name="sent")
def file_to_send(tmp_path):
    """A file of random bytes."""
    path = tmp_path / "sent"
    path.write_bytes(os.urandom(FILE_BYTES))
    return path


def assert_within_capacity(sender: dict, xcp_bps: int) -> None:
    """The rate is at most what routers grant, though the link would carry five times as much and its queue a megabyte.

    How close it comes depends on the machine: a benchmark's business.
    """
    assert sender["goodput_bps"] < 1.1 * xcp_bps
    assert sender["window_bytes"] * 8e9 / sender["srtt_ns"] < 1.5 * xcp_bps


def assert_nothing_was_lost_at_cards(chain: Chain) -> None:
    """Ends the line cards. Feedback kept their queues short."""
    for card in chain.card_reports():
        assert card["dropped_packets"] == card["refused_frames"] == card["malformed_messages"] == 0
        assert card["sent_packets"] > SMALLEST_FILE_BYTES / 1500


def test_a_file_arrives_intact_at_the_rate_that_the_routers_grant(chain, sent, tmp_path):
    stored = tmp_path / "stored"
    sender, receiver = chain.transfer(sent, stored)
    assert sender["ok"] and receiver["ok"]
    assert stored.read_bytes() == sent.read_bytes()
    assert sender["sha256"] == receiver["sha256"]
    assert sender["bytes"] == receiver["bytes"] == FILE_BYTES
    assert receiver["segments"] == sender["segments"], "none was lost"
    assert_within_capacity(sender, BOTTLENECK.xcp_bps)


@pytest.mark.nightly
def test_a_transfer_follows_the_capacity_that_a_controller_sets(chain, tmp_path):
    sent = tmp_path / "sent"
    sent.write_bytes(os.urandom(SMALLEST_FILE_BYTES))
    chain.set_capacity(1, BOTTLENECK.xcp_bps // 4)
    sender, _ = chain.transfer(sent, tmp_path / "stored")
    chain.set_capacity(1, BOTTLENECK.xcp_bps)
    assert sender["ok"]
    assert_within_capacity(sender, BOTTLENECK.xcp_bps // 4)


@pytest.mark.nightly
def test_a_receiver_that_is_killed_ends_the_sender_and_leaves_no_file(chain, sent, tmp_path):
    stored = tmp_path / "stored"
    with ExitStack() as stack:
        receiver = chain.receive(stack, stored)
        sender = chain.send(stack, sent, "--timeout-s", "2")
        wait_for_transfer(tmp_path)
        receiver.kill()
        report = report_of(sender)
    assert sender.returncode == 1 and not report["ok"]
    assert "no response" in report["error"]
    assert not stored.exists()


@pytest.mark.nightly
def test_a_sender_that_is_killed_ends_the_receiver_and_leaves_nothing(chain, sent, tmp_path):
    with ExitStack() as stack:
        receiver = chain.receive(stack, tmp_path / "stored", "--timeout-s", "2")
        sender = chain.send(stack, sent)
        wait_for_transfer(tmp_path)
        sender.kill()
        report = report_of(receiver)
    assert receiver.returncode == 1 and "no response" in report["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["sent"]


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_receiver_leaves_nothing(chain, sent, tmp_path, number):
    with ExitStack() as stack:
        receiver = chain.receive(stack, tmp_path / "stored")
        sender = chain.send(stack, sent, "--timeout-s", "2")
        wait_for_transfer(tmp_path)
        receiver.send_signal(number)
        assert report_of(receiver)["error"] == "interrupted"
        assert not report_of(sender)["ok"]
    assert [path.name for path in tmp_path.iterdir()] == ["sent"]


def test_without_a_receiver_the_sender_says_so(chain, sent):
    with ExitStack() as stack:
        sender = chain.send(stack, sent, "--timeout-s", "5")
        report = report_of(sender)
    assert sender.returncode == 1
    # The host's kernel answers that it does not know the protocol.
    assert B_IP in report["error"] and "slotwise xfer receive" in report["error"]


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on the PATH")
def test_stock_bmv2_grants_as_much(sent, tmp_path):
    stored = tmp_path / "stored"
    with Chain([BOTTLENECK], bmv2=True, name="bmv2-") as chain:
        sender, receiver = chain.transfer(sent, stored)
        assert_nothing_was_lost_at_cards(chain)
    assert sender["ok"] and receiver["ok"]
    assert stored.read_bytes() == sent.read_bytes()
    # BMv2 has short queues of its own, which overflow when it gets no processor for some milliseconds.
    assert sender["retransmissions"] < 0.05 * sender["segments"]
    assert_within_capacity(sender, BOTTLENECK.xcp_bps)


def wait_for_transfer(directory) -> None:
    """Until the receiver has stored some bytes."""
    deadline = time.monotonic() + PATIENCE_S
    while not any(path.stat().st_size for path in directory.glob(".slotwise-xfer-*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
