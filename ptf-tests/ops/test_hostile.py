# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of an optical packet switch; see edge/test_hostile.py."""
from slotwise import wire
from slotwise.wire import IntervalTimer, LabelKind, TrainPart
from support import ops as o
from support.hostile import Hostile

MS = 1_000_000
OUT = [o.OUT, o.data_port(1, 1), o.probe_port(1), o.SIDE, o.data_port(2, 1), o.probe_port(2), o.IN, o.probe_port(0), wire.PORT_LINECARD]


def templates():
    first = o.train(part=TrainPart.FIRST, packets=3, length=o.AGE_BYTES)
    light = [o.train(), first, o.follower(), o.follower(TrainPart.LAST), first, o.follower(payload=bytes(300)), o.train(dst=o.ELSEWHERE),
             o.train(deflections_left=0)]
    on_second = o.train(part=TrainPart.FIRST, packets=3, length=3000, wavelength=1)
    probes = [o.probe(), o.probe(sent_bytes=500_000), o.probe(flags=wire.PROBE_SATISFIED), o.probe(wavelength=1), o.probe(kind=LabelKind.REPLY)]
    ticks = [o.interval_tick(timer, o.OUT, local_ns * MS, least_backlog_bytes=1000, backlog_bytes=2000)
             for local_ns in (1000, 1050, 1100) for timer in (IntervalTimer.CONTROL, IntervalTimer.QUEUE)]
    return ([(o.IN, data) for data in light] + [(o.data_port(0, 1), on_second), (o.data_port(0, 1), o.follower()), (o.OUT, o.train(dst=o.HERE))]
            + [(o.probe_port(0), data) for data in probes] + [(wire.PORT_LINECARD, data) for data in ticks])


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
    "HostileToPacketSwitch": "05b8547cc15569f7087c28c5d55a7233d9b9cf524b0af02c9f28985eb85608df",
    "HostileToConvertingSwitch": "d8e48e23fd3d5e40e80512866f7502ea1ae74f25a3647afd3cf26c0677433d42",
}
