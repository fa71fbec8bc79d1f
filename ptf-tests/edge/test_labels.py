# SPDX-License-Identifier: Apache-2.0
"""An edge of optical packet switches: each packet becomes a train, and trains become packets again."""
from slotwise import wire
from slotwise.wire import DropReason, LabelKind, OpticalKind, TrainPart
from support import edge as e
from support.base import ethernet, frame, ipv4

HOST, REMOTE_HOST = 0x0A010001, 0x0A020001
PAYLOAD = b"a train of its own"
FRAMING, DEFLECTIONS, HOPS = 50, 3, 9
SECOND_WAVELENGTH = e.FIBRE + 1


class LabelTest(e.EdgeTest):
    def setUp(self):
        super().setUp()
        self.switch.set_default("edge_params", "set_label_params", edge_id=self.edge, mac=e.MAC, framing_bytes=FRAMING,
                                deflections=DEFLECTIONS, hops=HOPS)
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.HOST_PORT, mac=e.HOST_MAC)
        self.switch.insert("ipv4_route", {"dst": (0x0A020000, 16)}, "to_edge", edge=e.REMOTE)

    def queue(self, port):
        self.switch.insert("voq", {"dst_edge": e.REMOTE, "class": 0}, "enqueue", queue=e.REMOTE, port=port)

    def send_train(self, *rest, dst_edge=e.SLAVE, label=None, **fields):
        of_label = dict(version=wire.LABEL_VERSION, kind=LabelKind.TRAIN, src_edge=e.REMOTE, dst_edge=dst_edge, train=1, length=100, packets=1)
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), wire.Label(**{**of_label, **(label or {})}), data(dst_edge, **fields), *rest)


def data(dst_edge, train=TrainPart.ONLY, inner_type=wire.ETHERTYPE_IPV4, **fields):
    return wire.Optical(**{**dict(version=wire.OPTICAL_VERSION, kind=OpticalKind.DATA, src_edge=e.REMOTE, dst_edge=dst_edge, queue=1,
                                  train=train, sequence=1, inner_type=inner_type), **fields})


class EachPacketIsATrain(LabelTest):
    """Numbers go on over all queues; the length is what links count."""

    port, wavelength = e.FIBRE, 0

    def runTest(self):
        self.queue(self.port)
        for number in (1, 2):
            header = ipv4(REMOTE_HOST, PAYLOAD)
            self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC), header, PAYLOAD)
            routed = ipv4(**{**header.__dict__, "ttl": header.ttl - 1, "checksum": 0})
            label = wire.Label(version=wire.LABEL_VERSION, kind=LabelKind.TRAIN, src_edge=self.edge, dst_edge=e.REMOTE, train=number,
                               length=len(frame(header, PAYLOAD)), packets=1, wavelength=self.wavelength,
                               deflections_left=DEFLECTIONS, hops_left=HOPS)
            light = wire.Optical(version=wire.OPTICAL_VERSION, kind=OpticalKind.DATA, src_edge=self.edge, dst_edge=e.REMOTE,
                                 queue=e.REMOTE, train=TrainPart.ONLY, sequence=number, inner_type=wire.ETHERTYPE_IPV4)
            self.expect(self.port, ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC), label, light, routed, PAYLOAD)
        self.expect_silence()


class OnTheSecondWavelength(EachPacketIsATrain):
    port, wavelength = SECOND_WAVELENGTH, 1


class FarEndTakesTheLabelOff(LabelTest):
    """And takes frames behind a label as they are."""

    def runTest(self):
        header = ipv4(HOST, PAYLOAD, ttl=1)
        self.send_train(header, PAYLOAD, train=TrainPart.FIRST)
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), data(e.SLAVE, TrainPart.LAST), header, PAYLOAD)
        for _ in range(2):
            self.expect(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.HOST_MAC, src=e.MAC), header, PAYLOAD)
        self.expect_silence()


class ForAnotherEdge(LabelTest):
    def runTest(self):
        self.send_train(ipv4(HOST), dst_edge=e.REMOTE)
        self.send_train(ipv4(REMOTE_HOST))
        self.expect_drop(DropReason.MISDIRECTED, 2)


class NothingButTrains(LabelTest):
    """Messages of stars, and light without a header."""

    def runTest(self):
        self.send(e.FIBRE, *e.beacon(e.MASTER, e.SLAVE))
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_IPV4), ipv4(HOST))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 2)


class TrainsOfOtherKinds(LabelTest):
    """A probe, and what is no data behind a label."""

    def runTest(self):
        self.send_train(ipv4(HOST), label={"kind": LabelKind.PROBE})
        self.send_train(ipv4(HOST), kind=OpticalKind.COMMIT)
        self.send_train(ipv4(HOST), version=2)
        self.expect_drop(DropReason.BAD_VERSION, 3)


class TrainsThatAreNoIp(LabelTest):
    def runTest(self):
        self.send_train(PAYLOAD, inner_type=0x86DD)
        self.expect_drop(DropReason.NO_ROUTE, 1)


class LabelOfAHost(LabelTest):
    def runTest(self):
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_OPTICAL), wire.Label(version=wire.LABEL_VERSION), data(e.SLAVE), ipv4(HOST))
        self.expect_drop(DropReason.UNEXPECTED_PORT, 1)


class NoTrainsInAStar(e.EdgeTest):
    """Without parameters of labels a label is light of a version that is not known."""

    def runTest(self):
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.HOST_PORT, mac=e.HOST_MAC)
        label = wire.Label(version=wire.LABEL_VERSION, kind=LabelKind.TRAIN, src_edge=e.REMOTE, dst_edge=e.SLAVE, packets=1)
        self.send(e.FIBRE, ethernet(wire.ETHERTYPE_OPTICAL), label, data(e.SLAVE), ipv4(HOST))
        self.expect_drop(DropReason.BAD_VERSION, 1)
        self.expect_silence()
