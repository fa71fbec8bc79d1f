# SPDX-License-Identifier: Apache-2.0
"""Edge with two host ports and one fibre, as master (edge 4) or as member (edge 1)."""

from slotwise import wire
from support.base import SwitchTest, ethernet, frame, linecard, optical, sealed, tick

HOST_PORT, OTHER_HOST_PORT = 1, 2
FIBRE = wire.PORT_OPTICAL_BASE
MASTER, SLAVE, REMOTE = 4, 1, 2
MAC = 0x02FF00010000
HOST_MAC, OTHER_HOST_MAC = 0x020000010001, 0x020000010002
GUARD_NS, SLOT_NS, HOLD_FRAMES = 10_000, 250_000, 1
SLOT = 7  # a data slot
UNUSED_SLOT = 99


class EdgeTest(SwitchTest):
    program = "edge"
    edge = SLAVE
    hold_frames = HOLD_FRAMES

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "edge_params",
            "set_edge_params",
            edge_id=self.edge,
            is_master=int(self.edge == MASTER),
            master=MASTER,
            mac=MAC,
            guard_ns=GUARD_NS,
            slot_ns=SLOT_NS,
            beacon_hold_frames=self.hold_frames,
        )

    def tick(self, slot, **fields):
        self.send(wire.PORT_LINECARD, *tick(slot, **fields))

    def at(self, frame_number):
        """Starts an unused slot of this frame."""
        self.send_marker(wire.DropReason.NO_SIGNALING, wire.PORT_LINECARD, *tick(UNUSED_SLOT, frame_number))

    def grant(self, bank, slot, queue):
        self.switch.insert("slot_schedule", {"core": 0, "bank": bank, "slot": slot}, "grant", queue=queue)

    def expect_open(self, queue, local_ns=0):
        """Expects the gate of `queue` to open for the slot that started at `local_ns`."""
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(wire.LineCardKind.FLOW_CONTROL),
            wire.FlowControl(
                queue=queue, op=wire.FlowOp.OPEN, open_ns=local_ns + GUARD_NS, close_ns=local_ns + SLOT_NS
            ),
        )

    def beacon(self, src_edge=MASTER, dst_edge=SLAVE, **fields):
        """Beacon received by a member."""
        self.send(FIBRE, *beacon(src_edge, dst_edge, **fields))
        self.handled(FIBRE)

    def commit(self, next_version, first_frame=0):
        """Commit of the controller."""
        parts = beacon(self.edge, self.edge, next_version=next_version, first_frame=first_frame % (1 << 32))
        self.switch.packet_out(wire.PORT_SELF, sealed(frame(*parts)))
        self.packet_outs_handled(OTHER_HOST_PORT)


def beacon(src_edge, dst_edge, **fields):
    return (
        ethernet(wire.ETHERTYPE_OPTICAL),
        optical(wire.OpticalKind.COMMIT, src_edge=src_edge, dst_edge=dst_edge, queue=wire.SIGNALING_QUEUE),
        wire.Commit(**fields),
    )


class MasterTest(EdgeTest):
    edge = MASTER
