# SPDX-License-Identifier: Apache-2.0
"""Core with three fibres. Its clock is the target's, in the target's unit, and runs during a test: each test sets guard time, slot and
packet duration to zero or to a very long time, so that neither unit nor speed matters."""

from slotwise import wire
from support.base import SwitchTest, ethernet, optical, tick

FIBRES = [wire.PORT_OPTICAL_BASE + edge for edge in range(3)]
AN_AGE = 1 << 46  # 20 hours of ns, two years of us
SLOT = 3
LIGHT = bytes(range(64))  # no header that anyone knows


class CoreTest(SwitchTest):
    program = "core"
    guard, slot, time_per_byte_q16 = 0, AN_AGE, 0

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "core_params", "set_core_params", guard=self.guard, slot=self.slot, time_per_byte_q16=self.time_per_byte_q16
        )

    def connect(self, input_port, output_port, slot=SLOT, bank=0):
        self.switch.insert("crossbar", {"bank": bank, "slot": slot, "input": input_port}, "connect", port=output_port)

    def start(self, slot=SLOT, frame_number=0):
        self.send(wire.PORT_LINECARD, *tick(slot, frame_number))
        self.handled(wire.PORT_LINECARD)

    def beacon(self, **fields):
        self.send(wire.PORT_CORE_CONTROL, *beacon(**fields))
        self.handled(wire.PORT_CORE_CONTROL)


def beacon(**fields):
    return ethernet(wire.ETHERTYPE_OPTICAL), optical(wire.OpticalKind.COMMIT), wire.Commit(**fields)
