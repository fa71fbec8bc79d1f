# SPDX-License-Identifier: Apache-2.0
"""What an edge has to do with each kind of message, by the port that it comes by and by what the edge is in its star. The
messages say nothing (all fields are zero): what they say is tested elsewhere."""

from slotwise import wire
from slotwise.wire import DropReason, OpticalKind
from support import edge as e
from support.base import PAYLOAD_BYTES, ethernet, frame, optical, sealed

SESSION = 5
KINDS = [
    OpticalKind.DATA,
    OpticalKind.REQUEST,
    OpticalKind.COMMIT,
    OpticalKind.INVITATION,
    OpticalKind.CONFIGURATION,
    OpticalKind.SYNC,
    OpticalKind.FAULT,
]


class Sorting:
    """Mixin: `light` and `packet_outs` say, in the order of KINDS, why a message is dropped, or that it is taken."""

    def runTest(self):
        for source, expected in (("light", self.light), ("packet_outs", self.packet_outs)):
            found = [self.reason(source, kind) for kind in KINDS]
            self.assertEqual(found, expected.split(), source)

    def reason(self, source, kind):
        before = {reason: self.drops(reason) for reason in DropReason}
        src_edge = e.SLAVE if self.edge == e.MASTER else e.MASTER
        message = frame(
            ethernet(wire.ETHERTYPE_OPTICAL),
            optical(kind, src_edge=src_edge, dst_edge=self.edge),
            bytes(PAYLOAD_BYTES.get(kind, 0)),
        )
        if source == "light":
            self.send(e.FIBRE, message)
            # For a reason that no message here is dropped for.
            self.send_marker(
                DropReason.MISDIRECTED,
                e.FIBRE,
                ethernet(wire.ETHERTYPE_OPTICAL),
                optical(OpticalKind.DATA, dst_edge=e.REMOTE),
            )
        else:
            self.switch.packet_out(wire.PORT_SELF, sealed(message))
            self.packet_outs_handled(e.OTHER_HOST_PORT)
        counted = [reason.name for reason in DropReason if self.drops(reason) != before[reason]]
        return counted[0] if len(counted) == 1 else "taken" if not counted else str(counted)


class SortedBySlave(Sorting, e.EdgeTest):
    light = "NO_ROUTE UNEXPECTED_PORT taken NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER"
    packet_outs = "BAD_VERSION BAD_VERSION BAD_COMMIT BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER"


class SortedByMaster(Sorting, e.MasterTest):
    light = "NO_ROUTE taken BAD_COMMIT NOT_A_MEMBER BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER"
    packet_outs = "BAD_VERSION BAD_VERSION STALE BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER"


class SortedBySlaveOutOfBand(Sorting, e.EdgeTest):
    light = "NO_ROUTE UNEXPECTED_PORT BAD_COMMIT NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER"
    packet_outs = "BAD_VERSION BAD_VERSION taken BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER NOT_A_MEMBER"

    def setUp(self):
        super().setUp()
        self.switch.set_default("membership", "out_of_band")


class SortedByInvitingMaster(Sorting, e.MasterTest):
    light = "NO_ROUTE taken BAD_COMMIT taken BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER"
    packet_outs = "BAD_VERSION BAD_VERSION STALE BAD_VERSION NOT_A_MEMBER NOT_A_MEMBER BAD_FIELD"

    def setUp(self):
        super().setUp()
        self.switch.set_default("membership", "inviting", own_phase_ns=0)
        self.switch.insert("member", {"edge": e.SLAVE, "port": e.FIBRE}, "accept_session", session=SESSION)
