# SPDX-License-Identifier: Apache-2.0
"""An edge of optical packet switches: each packet becomes a train, and trains become packets again."""

from slotwise import wire
from slotwise.wire import DropReason, LabelKind, OpticalKind, TrainPart
from support import edge as e
from support import labels
from support.base import ethernet, ipv4
from support.labels import HOST, REMOTE_HOST, data

PAYLOAD = b"a train of its own"


class EachPacketIsATrain(labels.LabelTest):
    """Numbers go on over all queues; the length is what links count."""

    port, wavelength = e.FIBRE, 0

    def runTest(self):
        self.queue(self.port)
        for number in (1, 2):
            carried = self.send_packet(PAYLOAD)
            self.expect(
                self.port,
                ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
                self.label(number, len(carried), wavelength=self.wavelength),
                self.light(number, TrainPart.ONLY),
                carried,
            )
        self.expect_silence()


class OnTheSecondWavelength(EachPacketIsATrain):
    port, wavelength = labels.SECOND_WAVELENGTH, 1


class FarEndTakesTheLabelOff(labels.LabelTest):
    """And takes frames behind a label as they are."""

    def runTest(self):
        header = ipv4(HOST, PAYLOAD, ttl=1)
        self.send_train(header, PAYLOAD, train=TrainPart.FIRST)
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), data(e.SLAVE, TrainPart.LAST), header, PAYLOAD)
        for _ in range(2):
            self.expect(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.HOST_MAC, src=e.MAC), header, PAYLOAD)
        self.expect_silence()


class ForAnotherEdge(labels.LabelTest):
    def runTest(self):
        self.send_train(ipv4(HOST), dst_edge=e.REMOTE)
        self.send_train(ipv4(REMOTE_HOST))
        self.expect_drop(DropReason.MISDIRECTED, 2)


class NothingButTrains(labels.LabelTest):
    """Messages of stars, and light without a header."""

    def runTest(self):
        self.send(e.FIBRE, *e.beacon(e.MASTER, e.SLAVE))
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_IPV4), ipv4(HOST))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)


class TrainsOfOtherKinds(labels.LabelTest):
    """A probe, and what is no data behind a label."""

    def runTest(self):
        self.send_train(ipv4(HOST), label={"kind": LabelKind.PROBE})
        self.send_train(ipv4(HOST), kind=OpticalKind.COMMIT)
        self.send_train(ipv4(HOST), version=2)
        self.expect_drop(DropReason.BAD_VERSION, 3)


class TrainsThatAreNoIp(labels.LabelTest):
    def runTest(self):
        self.send_train(PAYLOAD, inner_type=0x86DD)
        self.expect_drop(DropReason.NO_ROUTE, 1)


class OnASecondFibre(EachPacketIsATrain):
    """The wavelengths of each are numbered by themselves."""

    port, wavelength = labels.SECOND_FIBRE + 1, 1

    def setUp(self):
        super().setUp()
        self.set_fibres()


class LabelOfAHost(labels.LabelTest):
    def runTest(self):
        self.send(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_OPTICAL),
            wire.Label(version=wire.LABEL_VERSION),
            data(e.SLAVE),
            ipv4(HOST),
        )
        self.expect_drop(DropReason.UNEXPECTED_PORT, 1)


class NoTrainsInAStar(e.EdgeTest):
    """Without parameters of labels a label is light of a version that is not known."""

    def runTest(self):
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.HOST_PORT, mac=e.HOST_MAC)
        label = wire.Label(
            version=wire.LABEL_VERSION, kind=LabelKind.TRAIN, src_edge=e.REMOTE, dst_edge=e.SLAVE, packets=1
        )
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), label, data(e.SLAVE), ipv4(HOST))
        self.expect_drop(DropReason.BAD_VERSION, 1)
        self.expect_silence()
