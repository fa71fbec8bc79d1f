# SPDX-License-Identifier: Apache-2.0
"""The generated codecs against bytes written by hand; the engine's tests have the same ones."""

import pytest

from slotwise import wire

OPTICAL = bytes.fromhex("12030102030403ff0205000100070800")


def test_optical_header_matches_its_layout():
    header = wire.Optical(
        version=wire.OPTICAL_VERSION,
        kind=wire.OpticalKind.COMMIT,
        traffic_class=3,
        src_edge=0x0102,
        dst_edge=0x0304,
        queue=wire.SIGNALING_QUEUE,
        train=2,
        core=5,
        sequence=0x00010007,
        inner_type=wire.ETHERTYPE_IPV4,
    )
    assert header.encode() == OPTICAL
    assert wire.Optical.decode(OPTICAL + b"rest") == header


def test_reserved_bits_are_sent_as_zero_and_not_read():
    assert wire.PacketOut(egress_port=wire.PORT_CPU).encode() == b"\xff\x00"
    assert wire.PacketIn.decode(b"\xff\x7f") == wire.PacketIn(ingress_port=wire.PORT_CPU)


@pytest.mark.parametrize("port", [-1, 512])
def test_value_that_does_not_fit_is_refused(port):
    with pytest.raises(ValueError, match=r"PacketOut.egress_port must fit in 9 bits"):
        wire.PacketOut(egress_port=port).encode()


def test_short_input_is_refused():
    with pytest.raises(ValueError, match="Commit needs 16 bytes, got 15"):
        wire.Commit.decode(bytes(15))
