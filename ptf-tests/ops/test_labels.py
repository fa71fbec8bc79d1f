# SPDX-License-Identifier: Apache-2.0
"""Labels that are not what they should be, and frames where they have no business: counted, and nothing changes."""

from slotwise import wire
from slotwise.wire import DropReason, LabelKind, OpticalKind, TrainPart
from support import ops as o
from support.base import UNKNOWN_VERSION, ethernet, frame

LONG = dict(part=TrainPart.FIRST, packets=2)


class RefusedTest(o.OpsTest):
    """An output that was reserved would be busy for an age; after each test none is."""

    time_per_byte_q16 = o.AGE_PER_BYTE_Q16

    def expect_refused(self, reason, *frames, port=o.IN):
        super().expect_refused(reason, *frames, port=port)
        self.switched(came_by=o.data_port(2, 0))
        self.switched(port=o.SIDE, dst=o.ELSEWHERE)


class LengthsThatCannotBe(RefusedTest):
    """Shorter than the frame that is there; longer than any train; in trains of one packet, too."""

    def runTest(self):
        size = len(o.train())
        self.expect_refused(
            DropReason.BAD_FIELD,
            *(o.train(length=length) for length in (0, size - 1, o.LONGEST_BYTES + 1, (1 << 32) - 1)),
            *(o.train(length=length, **LONG) for length in (0, size - 1, o.LONGEST_BYTES + 1, (1 << 32) - 1)),
        )


class TheLongestTrain(RefusedTest):
    def runTest(self):
        self.switched(length=o.LONGEST_BYTES, **LONG)


class PartsAndPackets(RefusedTest):
    """One packet is ONLY, several begin with FIRST."""

    def runTest(self):
        wrong = [(part, 1) for part in (0, TrainPart.FIRST, TrainPart.MIDDLE, TrainPart.LAST, 5, 255)]
        wrong += [(part, 2) for part in (0, TrainPart.MIDDLE, TrainPart.LAST, TrainPart.ONLY, 5)]
        wrong += [(TrainPart.ONLY, 0), (TrainPart.FIRST, 0)]
        self.expect_refused(
            DropReason.BAD_FIELD, *(o.train(part=part, packets=packets, length=o.AGE_BYTES) for part, packets in wrong)
        )


class AnotherWavelength(RefusedTest):
    """A label says on which wavelength it comes."""

    def runTest(self):
        self.expect_refused(
            DropReason.BAD_FIELD, *(o.train(wavelength=wavelength, length=o.AGE_BYTES) for wavelength in (1, 2, 255))
        )


class BothHeadersSayTheSame(RefusedTest):
    def runTest(self):
        self.expect_refused(
            DropReason.BAD_FIELD,
            *(
                o.train(length=o.AGE_BYTES, light=light)
                for light in (
                    dict(src_edge=31),
                    dict(dst_edge=o.ELSEWHERE),
                    dict(version=2),
                    dict(kind=OpticalKind.REQUEST),
                )
            ),
        )


class FromAnEdgeToItself(RefusedTest):
    def runTest(self):
        self.expect_refused(DropReason.BAD_FIELD, o.train(src=o.THERE, length=o.AGE_BYTES))


class OtherVersionsAndKinds(RefusedTest):
    """Of labels and of light; a marker of the ring's is no label."""

    def runTest(self):
        wrong = [o.train(version=version) for version in (0, wire.RING_VERSION, 4, UNKNOWN_VERSION)]
        wrong += [o.train(kind=kind) for kind in (3, 15)]
        wrong += [o.follower(kind=kind) for kind in (OpticalKind.REQUEST, OpticalKind.COMMIT, 15)]
        self.expect_refused(DropReason.BAD_VERSION, *wrong)


class FollowersThatAreNone(RefusedTest):
    """A part that cannot be without a label: even while a train is under way."""

    def runTest(self):
        self.expect_refused(
            DropReason.BAD_FIELD, *(o.follower(part) for part in (0, TrainPart.FIRST, TrainPart.ONLY, 5, 255))
        )


class ABadLabelLeavesTheTrainUnderWay(o.OpsTest):
    time_per_byte_q16 = o.AGE_PER_BYTE_Q16

    def runTest(self):
        self.occupy()
        self.send(o.IN, o.train(length=0))
        self.send(o.IN, o.follower(TrainPart.ONLY))
        self.await_drops(DropReason.BAD_FIELD, 2)
        self.send(o.IN, o.follower())
        self.expect(o.OUT, o.follower())


class CutShort(RefusedTest):
    """Anywhere in the headers."""

    def runTest(self):
        whole = o.train()
        end = wire.Ethernet.SIZE + wire.Label.SIZE + wire.Optical.SIZE
        self.expect_refused(DropReason.TRUNCATED, *(whole[:size] for size in range(wire.Ethernet.SIZE, end)))


class WhereTrainsHaveNoBusiness(RefusedTest):
    def runTest(self):
        count = 0
        for port in (o.probe_port(0), 1, wire.PORT_LINECARD, wire.PORT_CORE_CONTROL):
            self.send(port, o.train(length=o.AGE_BYTES))
            self.send(port, o.follower())
            count += 2
            self.await_drops(DropReason.UNEXPECTED_PORT, count)
        self.expect_drop(DropReason.UNEXPECTED_PORT, count)
        self.expect_fates()


class WhatIsNoLight(RefusedTest):
    """Of no protocol of ours, or a host's."""

    def runTest(self):
        others = [
            frame(ethernet(ether_type), bytes(60)) for ether_type in (wire.ETHERTYPE_IPV4, wire.ETHERTYPE_ARP, 0x88B7)
        ]
        self.expect_refused(DropReason.UNEXPECTED_PORT, *others, frame(*tick_of_a_slot()))


def tick_of_a_slot():
    return (
        ethernet(wire.ETHERTYPE_LINECARD),
        wire.Linecard(version=wire.LINECARD_VERSION, kind=wire.LineCardKind.SLOT_TICK),
        bytes(60),
    )


class PortsThatAreNone(o.OpsTest):
    """With one wavelength for data the second one is for probes, and there is nothing behind it."""

    wavelengths = 1

    def runTest(self):
        self.send(o.data_port(0, 2), o.train(wavelength=2))
        self.await_drops(DropReason.UNEXPECTED_PORT, 1)
        self.send(o.data_port(0, 1), o.train(wavelength=1))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)
        self.send(o.data_port(0, 1), o.probe())
        self.expect(o.data_port(1, 1), o.probe(hops_left=o.HOPS - 1))


class AllPortsAreForData(o.OpsTest):
    """Four wavelengths of a fibre with four ports: none is for probes."""

    wavelengths = 4

    def runTest(self):
        self.switched(port=o.data_port(1, 2), came_by=o.data_port(0, 2), wavelength=2)
        self.send(o.data_port(0, 2), o.probe())
        self.expect_drop(DropReason.UNEXPECTED_PORT)


class WithoutParameters(o.OpsTest):
    """A switch that has been told nothing switches nothing."""

    def configure(self):
        self.route(o.THERE, 1)

    def runTest(self):
        self.send(o.IN, o.train())
        self.send(o.IN, o.follower())
        self.send(o.probe_port(0), o.probe())
        self.expect_drop(DropReason.UNEXPECTED_PORT, 3)
        self.expect_fates()


class KindsByTheirPorts(o.OpsTest):
    """Probes go by their own wavelength only."""

    def runTest(self):
        self.send(o.IN, o.probe())
        self.send(o.IN, o.probe(kind=LabelKind.REPLY))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)
