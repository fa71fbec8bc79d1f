# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of an optical packet switch; see edge/test_hostile.py."""

from slotwise import wire
from slotwise.wire import IntervalTimer, LabelKind, TrainPart
from support import ops as o
from support.hostile import Hostile

MS = 1_000_000
OUT = [
    o.OUT,
    o.data_port(1, 1),
    o.probe_port(1),
    o.SIDE,
    o.data_port(2, 1),
    o.probe_port(2),
    o.IN,
    o.probe_port(0),
    wire.PORT_LINECARD,
]


def templates():
    first = o.train(part=TrainPart.FIRST, packets=3, length=o.AGE_BYTES)
    light = [
        o.train(),
        first,
        o.follower(),
        o.follower(TrainPart.LAST),
        first,
        o.follower(payload=bytes(300)),
        o.train(dst=o.ELSEWHERE),
        o.train(deflections_left=0),
    ]
    on_second = o.train(part=TrainPart.FIRST, packets=3, length=3000, wavelength=1)
    probes = [
        o.probe(),
        o.probe(sent_bytes=500_000),
        o.probe(sent_bytes=2_000_000),
        o.probe(flags=wire.PROBE_SATISFIED, sent_bytes=900_000),
        o.probe(),
        o.probe(wavelength=1),
        o.probe(kind=LabelKind.REPLY),
    ]
    # Whatever their order, an interval is a positive one about every second time.
    ticks = [
        o.interval_tick(IntervalTimer.CONTROL, o.OUT, local_ns * MS, least_backlog_bytes=1000)
        for local_ns in (1000, 1070, 1150)
    ]
    ticks.append(o.interval_tick(IntervalTimer.QUEUE, o.OUT, 1000 * MS, least_backlog_bytes=1000, backlog_bytes=2000))
    return (
        [(o.IN, data) for data in light]
        + [(o.data_port(0, 1), on_second), (o.data_port(0, 1), o.follower()), (o.OUT, o.train(dst=o.HERE))]
        + [(o.probe_port(0), data) for data in probes]
        + [(wire.PORT_LINECARD, data) for data in ticks]
    )


class HostileToPacketSwitch(Hostile, o.OpsTest):
    """A guard of an age and RAM for half an age more than twelve of them: thirteen trains wait at an output, whatever the clock says."""

    guard = o.AN_AGE >> 2
    ram = 12 * guard + guard // 2

    def setUp(self):
        super().setUp()
        self.switch.insert("agent", {"port": o.OUT}, "set_target", throughput=16 * 125_000_000)

    def runTest(self):
        self.assertEqual(self.digest_of(templates(), OUT), DIGESTS[type(self).__name__])


class HostileToConvertingSwitch(HostileToPacketSwitch):
    converts = 1


DIGESTS = {
    "HostileToPacketSwitch": "a058349a4871af1bc5a6489d630d8a32e8ee9445581bf42f3fa439f2196c1e0c",
    "HostileToConvertingSwitch": "b316d3ad118729772f2dfe5a121add016ff712c4042b4bfdd8f44b9e9bc33fcf",
}
