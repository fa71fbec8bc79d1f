# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of a core; see edge/test_hostile.py."""

from slotwise import wire
from support.base import frame, tick
from support.core import FIBRES, LIGHT, SLOT, CoreTest, beacon
from support.hostile import Hostile

DIGEST = "2cb2ed6e81422518ecdbd20609bafecafb9527c6a9b8254c25b18c437981b37b"


class HostileToCore(Hostile, CoreTest):
    def runTest(self):
        for bank, output in ((0, FIBRES[1]), (1, FIBRES[2])):
            self.connect(FIBRES[0], output, bank=bank)
        templates = [
            (FIBRES[0], LIGHT),
            (FIBRES[1], LIGHT),
            (wire.PORT_LINECARD, frame(*tick(SLOT, frame_number=5))),
            (wire.PORT_LINECARD, frame(*tick(SLOT + 1, frame_number=6))),
            (wire.PORT_CORE_CONTROL, frame(*beacon(frame=4, active_version=2, next_version=3, first_frame=5))),
        ]
        self.assertEqual(self.digest_of(templates, FIBRES), DIGEST)
