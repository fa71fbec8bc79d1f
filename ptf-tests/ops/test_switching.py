# SPDX-License-Identifier: Apache-2.0
"""Trains through an optical packet switch: where they go, what they reserve, and what becomes of those for which there is no room."""

from slotwise import wire
from slotwise.wire import DropReason, TrainPart
from support import ops as o

SECOND_OUT, SECOND_SIDE = o.data_port(1, 1), o.data_port(2, 1)


class BusyTest(o.OpsTest):
    """Trains of AGE_BYTES last for an age."""

    time_per_byte_q16 = o.AGE_PER_BYTE_Q16


class Straight(o.OpsTest):
    def runTest(self):
        self.switched()
        self.switched(port=o.SIDE, dst=o.ELSEWHERE, traffic_class=255, train=0xFFFFFFFF, deflections_left=0)
        self.expect_fates(straight=2)


class OnItsWavelength(o.OpsTest):
    def runTest(self):
        self.switched(port=SECOND_OUT, came_by=o.data_port(0, 1), wavelength=1)


class AWholeTrain(BusyTest):
    """What is behind the label goes the same way, unchanged, as long as there is something left of the train."""

    def runTest(self):
        frames = [o.follower(), o.follower(payload=bytes(200)), o.follower(TrainPart.LAST)]
        first = o.train(part=TrainPart.FIRST, packets=4)
        length = len(first) + sum(map(len, frames))
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=4, length=length))
        self.expect(o.OUT, o.train(part=TrainPart.FIRST, packets=4, length=length, hops_left=o.HOPS - 1))
        for data in frames:
            self.send(o.IN, data)
            self.expect(o.OUT, data)
        self.send(o.IN, o.follower())
        self.expect_drop(DropReason.DARK)


class TrainsSideBySide(BusyTest):
    """Each input has its own train."""

    def runTest(self):
        self.occupy(o.OUT)
        self.occupy(o.SIDE, came_by=o.data_port(1, 0))
        for came_by, port in ((o.IN, o.OUT), (o.data_port(1, 0), o.SIDE), (o.IN, o.OUT)):
            dst = o.THERE if port == o.OUT else o.ELSEWHERE
            self.send(came_by, o.follower(dst=dst))
            self.expect(port, o.follower(dst=dst))


class FramesOfNoTrain(o.OpsTest):
    """Without a label, or after a train of one packet."""

    def runTest(self):
        self.send(o.IN, o.follower())
        self.await_drops(DropReason.DARK, 1)
        self.switched()
        self.send(o.IN, o.follower(TrainPart.LAST))
        self.expect_drop(DropReason.DARK, 2)


class FramesOfAnotherTrain(BusyTest):
    def runTest(self):
        self.occupy()
        for count, fields in enumerate((dict(src=o.SOURCE + 1), dict(queue=o.QUEUE + 1)), 1):
            self.send(o.IN, o.follower(**fields))
            self.await_drops(DropReason.NOT_A_MEMBER, count)
        self.expect_drop(DropReason.NOT_A_MEMBER, 2)
        self.send(o.IN, o.follower())
        self.expect(o.OUT, o.follower())


class MoreThanTheLabelSays(BusyTest):
    """No input sends more than was reserved; what fits still passes."""

    def runTest(self):
        first = o.train(part=TrainPart.FIRST, packets=2)
        length = len(first) + len(o.follower())
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=length))
        self.received(o.OUT)
        self.send(o.IN, o.follower(payload=o.PAYLOAD + b"!"))
        self.await_drops(DropReason.OVERRUN, 1)
        self.send(o.IN, o.follower())
        self.expect(o.OUT, o.follower())
        self.send(o.IN, o.follower(payload=b""))
        self.expect_drop(DropReason.OVERRUN, 2)


class FramesThatComeTooLate(o.OpsTest):
    """The train is over, whatever there is left of it: here it lasted for no time."""

    def runTest(self):
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=1000))
        self.received(o.OUT)
        self.handled(o.IN)
        self.send(o.IN, o.follower())
        self.expect_drop(DropReason.DARK)


class ANewLabelEndsTheTrainBefore(BusyTest):
    def runTest(self):
        self.occupy()
        self.send(o.IN, o.train(dst=o.ELSEWHERE))
        self.received(o.SIDE)
        self.send(o.IN, o.follower())
        self.expect_drop(DropReason.DARK)


class AWholeTrainIsLost(BusyTest):
    """All outputs that it may take are busy: no frame of it comes through, each is counted for the same reason."""

    def runTest(self):
        self.occupy(o.OUT)
        self.occupy(o.SIDE)
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=3, length=1000))
        self.await_drops(DropReason.CONTENTION, 1)
        self.send(o.IN, o.follower())
        self.await_drops(DropReason.CONTENTION, 2)
        self.send(o.IN, o.follower(TrainPart.LAST))
        self.expect_drop(DropReason.CONTENTION, 3)
        self.expect_fates(straight=2, refused=1)


class OutputsOfNoTimeAreFree(o.OpsTest):
    def runTest(self):
        for _ in range(3):
            self.switched(part=TrainPart.FIRST, packets=2, length=o.AGE_BYTES)


class OneChoiceThatIsBusy(BusyTest):
    def runTest(self):
        self.occupy(o.SIDE)
        self.send(o.data_port(1, 0), o.train(dst=o.ELSEWHERE))
        self.expect_drop(DropReason.CONTENTION)


class TheOtherWavelengthIsFree(BusyTest):
    """Of one fibre: busy is a wavelength."""

    def runTest(self):
        self.occupy()
        self.switched(port=SECOND_OUT, came_by=o.data_port(2, 1), wavelength=1)


class Deflected(BusyTest):
    def runTest(self):
        self.occupy()
        self.switched(port=o.SIDE, came_by=o.IN, left=dict(deflections_left=o.DEFLECTIONS - 1))
        self.expect_fates(straight=1, deflected=1)


class ADeflectedTrainStaysWhole(BusyTest):
    def runTest(self):
        self.occupy()
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=3, length=o.AGE_BYTES))
        self.received(o.SIDE)
        for part in (TrainPart.MIDDLE, TrainPart.LAST):
            self.send(o.IN, o.follower(part))
            self.expect(o.SIDE, o.follower(part))


class NotDeflectedAnyMore(BusyTest):
    def runTest(self):
        self.occupy()
        self.send(o.IN, o.train(deflections_left=0, part=TrainPart.FIRST, packets=2, length=1000))
        self.await_drops(DropReason.NOT_DEFLECTED, 1)
        self.send(o.IN, o.follower())
        self.expect_drop(DropReason.NOT_DEFLECTED, 2)
        self.expect_fates(straight=1, refused=1)


class NotBack(o.OpsTest):
    """Not by the fibre by which it came, on any wavelength; the next choice is no deflection then."""

    def runTest(self):
        self.switched(port=o.SIDE, came_by=o.OUT, deflections_left=0)
        self.send(SECOND_OUT, o.train(dst=o.THERE, wavelength=1))
        self.expect(SECOND_SIDE, o.train(dst=o.THERE, wavelength=1, hops_left=o.HOPS - 1))
        self.send(o.SIDE, o.train(dst=o.ELSEWHERE))
        self.expect_drop(DropReason.NO_ROUTE)
        self.expect_fates(straight=2, refused=1)


class TheLastChoice(BusyTest):
    """Of four; what is no fibre of this switch, or the one by which it came, is passed over."""

    def runTest(self):
        self.route(o.NOWHERE, 240, 0, 1, 2)
        self.occupy()
        self.switched(port=o.SIDE, dst=o.NOWHERE, left=dict(deflections_left=o.DEFLECTIONS - 1))


class NoRoute(o.OpsTest):
    """Neither for its label nor for what is behind it."""

    def runTest(self):
        self.route(o.NOWHERE)
        for count, dst in enumerate((o.NOWHERE, 99), 1):
            self.send(o.IN, o.train(dst=dst, part=TrainPart.FIRST, packets=2, length=o.AGE_BYTES))
            self.await_drops(DropReason.NO_ROUTE, count)
        self.expect_drop(DropReason.NO_ROUTE, 2)
        self.expect_fates(refused=2)


class TooManyHops(BusyTest):
    def runTest(self):
        for count, hops in enumerate((1, 0), 1):
            self.send(o.IN, o.train(hops_left=hops, part=TrainPart.FIRST, packets=2, length=o.AGE_BYTES))
            self.send(o.IN, o.follower(TrainPart.LAST))
            self.await_drops(DropReason.TTL_EXPIRED, 2 * count)
        self.expect_drop(DropReason.TTL_EXPIRED, 4)
        self.switched(hops_left=2)


class GuardBehindATrain(o.OpsTest):
    guard = o.AN_AGE

    def runTest(self):
        self.switched()
        self.switched(port=o.SIDE, left=dict(deflections_left=o.DEFLECTIONS - 1))


class GuardCoversFramesThatAreLate(o.OpsTest):
    guard = o.AN_AGE

    def runTest(self):
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=1000))
        self.received(o.OUT)
        self.handled(o.IN)
        self.send(o.IN, o.follower())
        self.expect(o.OUT, o.follower())


class RamTest(BusyTest):
    """The RAM holds what comes in an age."""

    ram = o.AN_AGE


class WaitsInRam(RamTest):
    """While the output is busy for an age at most a train is taken; it is busy for two ages then."""

    def runTest(self):
        for _ in range(2):
            self.occupy()
        self.expect_fates(straight=1, waited=1)
        self.send(o.data_port(2, 0), o.train())
        self.expect_drop(DropReason.CONTENTION)


class RamBeforeDeflection(RamTest):
    def runTest(self):
        self.occupy()
        self.switched()
        self.expect_fates(straight=1, waited=1)


class ConversionTest(BusyTest):
    converts = 1


class Converted(ConversionTest):
    """To the next wavelength of the same fibre; its label says so."""

    def runTest(self):
        self.occupy()
        self.switched(port=SECOND_OUT, left=dict(wavelength=1))
        self.occupy(port=o.SIDE)
        self.send(o.data_port(1, 1), o.train(dst=o.ELSEWHERE, wavelength=1, length=o.AGE_BYTES))
        self.received(SECOND_SIDE)
        self.send(o.data_port(1, 1), o.train(dst=o.ELSEWHERE, wavelength=1))
        self.expect_drop(DropReason.CONTENTION)
        self.expect_fates(straight=3, converted=1, refused=1)


class AConvertedTrainStaysWhole(ConversionTest):
    def runTest(self):
        self.occupy()
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=o.AGE_BYTES))
        self.received(SECOND_OUT)
        self.send(o.IN, o.follower(TrainPart.LAST))
        self.expect(SECOND_OUT, o.follower(TrainPart.LAST))


class ConvertedToTheFirst(ConversionTest):
    """Wavelengths go round."""

    def runTest(self):
        self.occupy(port=SECOND_OUT, came_by=o.data_port(0, 1))
        self.switched(came_by=o.data_port(2, 1), wavelength=1, left=dict(wavelength=0))
        self.expect_fates(straight=1, converted=1)


class DeflectedWhenAllWavelengthsAreBusy(ConversionTest):
    def runTest(self):
        self.occupy()
        self.occupy(port=SECOND_OUT, came_by=o.data_port(0, 1))
        self.occupy(port=o.SIDE)
        self.switched(port=SECOND_SIDE, left=dict(wavelength=1, deflections_left=o.DEFLECTIONS - 1))
        self.expect_fates(straight=3, deflected=1)


class FramingIsNotCounted(BusyTest):
    """Ethernet and the shim of each frame, if links do not count them."""

    framing_bytes = wire.Ethernet.SIZE + wire.Optical.SIZE

    def runTest(self):
        length = wire.Label.SIZE + 2 * len(o.PAYLOAD)
        self.send(o.IN, o.train(part=TrainPart.FIRST, packets=2, length=length))
        self.received(o.OUT)
        self.send(o.IN, o.follower(TrainPart.LAST, payload=o.PAYLOAD + b"!"))
        self.await_drops(DropReason.OVERRUN, 1)
        self.send(o.IN, o.follower(TrainPart.LAST))
        self.expect(o.OUT, o.follower(TrainPart.LAST))


class PacketOuts(o.OpsTest):
    def runTest(self):
        self.switch.packet_out(o.OUT, o.PAYLOAD)
        self.expect(o.OUT, o.PAYLOAD)
        self.switch.packet_out(wire.PORT_SELF, o.train())
        self.await_drops(DropReason.UNEXPECTED_PORT, 1)
        self.expect_drop(DropReason.UNEXPECTED_PORT)
