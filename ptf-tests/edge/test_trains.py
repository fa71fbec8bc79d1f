# SPDX-License-Identifier: Apache-2.0
"""Trains of several packets: which packet opens one, what a label says of it, and ticks that are not believed."""

from slotwise import wire
from slotwise.wire import DropReason, LabelKind, LineCardKind, TrainPart
from support import edge as e
from support import labels
from support.base import UNKNOWN_VERSION, ethernet, ipv4
from support.labels import REMOTE_HOST

FIRST, MIDDLE, ONLY = TrainPart.FIRST, TrainPart.MIDDLE, TrainPart.ONLY
QUEUE, OTHER_QUEUE, UNKNOWN_QUEUE = e.REMOTE, 30, 40
PACKET_BYTES = 100
PAYLOAD = bytes(PACKET_BYTES - wire.Ipv4.SIZE)
SIZE = 3 * PACKET_BYTES  # of a train


class TrainTest(labels.LabelTest):
    size = SIZE
    framing = 30

    def setUp(self):
        super().setUp()
        self.queue(e.FIBRE)
        self.aggregate(QUEUE)
        self.sequences = {}

    def aggregate(self, queue, size=None):
        self.switch.insert("aggregation", {"queue": queue}, "aggregate", size_bytes=self.size if size is None else size)
        self.set_train(queue)

    def set_train(self, queue, traffic_class=0, port=e.FIBRE, second=0):
        self.switch.insert(
            "train_queue",
            {"queue": queue},
            "set_train",
            dst_edge=e.REMOTE,
            traffic_class=traffic_class,
            port=port,
            second=second,
        )

    def packet(self, part, payload=PAYLOAD, queue=QUEUE, traffic_class=0, **fields):
        """A packet goes to the card as this part of its queue's train; what it carries."""
        carried = self.send_packet(payload, **fields)
        self.sequences[queue] = self.sequences.get(queue, 0) + 1
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            self.light(self.sequences[queue], part, queue, traffic_class),
            carried,
        )
        return carried

    def packets(self, *parts):
        for part in parts:
            self.packet(part)

    def train(self, number, packets, queue=QUEUE):
        """The card closes a train of so many packets of PACKET_BYTES, and gets its label."""
        self.close(queue, packets, packets * PACKET_BYTES, PACKET_BYTES)
        self.expect_label(number, packets * PACKET_BYTES, packets, queue)


class PacketsJoinUntilTheCardCloses(TrainTest):
    def runTest(self):
        self.packets(FIRST, MIDDLE)
        self.train(1, 2)
        self.packets(FIRST, MIDDLE, MIDDLE)
        self.train(2, 3)
        self.packet(FIRST)
        self.expect_silence()


class TheSizeClosesATrain(TrainTest):
    """What fits exactly still belongs to it. The card says later what P4 has closed."""

    def runTest(self):
        self.packets(FIRST, MIDDLE, MIDDLE, FIRST)
        self.train(1, 3)
        self.packets(MIDDLE, MIDDLE, FIRST)
        self.train(2, 3)
        self.packet(MIDDLE)
        self.train(3, 2)
        self.packet(FIRST)


class PacketsBeforeTheCardSpeaks(TrainTest):
    """Packets may come while a tick is on its way: of the train that P4 has closed, and of one that the interval has."""

    def runTest(self):
        self.packets(FIRST, MIDDLE, MIDDLE, FIRST, MIDDLE, MIDDLE, FIRST)
        self.train(1, 3)
        self.packet(MIDDLE)
        self.train(2, 3)
        self.packet(MIDDLE)
        # The interval has closed the first two of the open three; the third is in the card's next train, and open here.
        self.train(3, 2)
        self.packets(MIDDLE, MIDDLE, FIRST)


class PacketsThatTheCardHasLost(TrainTest):
    """They do not count any more: of the open train, and of one that P4 has closed."""

    def tick(self, number, packets, lost):
        self.close(QUEUE, packets, packets * PACKET_BYTES, PACKET_BYTES, lost_bytes=lost * PACKET_BYTES)
        self.expect_label(number, packets * PACKET_BYTES, packets)

    def runTest(self):
        self.packets(FIRST, MIDDLE, MIDDLE)
        self.tick(1, packets=1, lost=2)
        self.packets(FIRST, MIDDLE, MIDDLE, FIRST, MIDDLE)
        self.tick(2, packets=2, lost=1)
        self.packets(MIDDLE, FIRST)


class APacketLongerThanATrain(TrainTest):
    size = PACKET_BYTES - 1

    def runTest(self):
        self.packets(FIRST, FIRST)
        self.train(1, 1)
        self.packet(FIRST, b"short")
        self.packet(MIDDLE, b"short")


class LabelsOfAllCountedBytes(TrainTest):
    """Nothing is left out of what links count."""

    framing = 0

    def runTest(self):
        self.packets(FIRST, MIDDLE)
        self.train(1, 2)
        self.packet(FIRST)
        self.train(2, 1)


class LabelsOfIpAlone(LabelsOfAllCountedBytes):
    """More is left out than what frames have, since the label is left out as well."""

    framing = 50


class ATrainOfClass(TrainTest):
    """On the second wavelength of the second fibre."""

    def runTest(self):
        self.set_fibres()
        port = labels.SECOND_FIBRE + 1
        self.set_train(OTHER_QUEUE, traffic_class=5, port=port)
        self.close(OTHER_QUEUE, 4, 1000, 100)
        self.expect_label(1, 1000, 4, OTHER_QUEUE, port=port, wavelength=1, traffic_class=5)


class QueuesHaveTrainsOfTheirOwn(TrainTest):
    """By class, one of them with packets alone; numbers go on over all."""

    def runTest(self):
        for traffic_class, queue in ((1, OTHER_QUEUE), (2, UNKNOWN_QUEUE)):
            self.switch.insert(
                "traffic_class", {"dscp": (traffic_class, 0x3F)}, "set_class", priority=1, traffic_class=traffic_class
            )
            self.queue(e.FIBRE, queue, traffic_class)
        self.aggregate(OTHER_QUEUE, PACKET_BYTES)
        self.packets(FIRST, MIDDLE)
        self.packet(FIRST, queue=OTHER_QUEUE, traffic_class=1, dscp=1)
        self.packet(FIRST, queue=OTHER_QUEUE, traffic_class=1, dscp=1)
        self.train(1, 1, OTHER_QUEUE)
        carried = self.send_packet(PAYLOAD, dscp=2)
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            self.label(2, PACKET_BYTES + labels.FRAME_BYTES - self.framing + wire.Label.SIZE, traffic_class=2),
            self.light(1, ONLY, UNKNOWN_QUEUE, 2),
            carried,
        )
        self.train(3, 2)


class FlowsHaveTrainsOfTheirOwn(TrainTest):
    """Those that the controller has named; the others share their class's."""

    flow = wire.L4Ports(src=4000, dst=5201).encode()

    def send_flow(self, part, queue, flow):
        self.packet(part, flow + bytes(PACKET_BYTES - wire.Ipv4.SIZE - len(flow)), queue, protocol=wire.IP_PROTOCOL_UDP)

    def name(self, queue):
        self.switch.insert(
            "flow_queue",
            {"src": 0x0A000001, "dst": REMOTE_HOST, "protocol": wire.IP_PROTOCOL_UDP, "l4_src": 4000, "l4_dst": 5201},
            "set_flow_queue",
            queue=queue,
        )

    def runTest(self):
        self.name(OTHER_QUEUE)
        self.set_train(OTHER_QUEUE)
        other = wire.L4Ports(src=4001, dst=5201).encode()
        for part in (FIRST, MIDDLE, MIDDLE, FIRST):
            self.send_flow(part, OTHER_QUEUE, self.flow)
            self.send_flow(part, QUEUE, other)
        self.train(1, 3, OTHER_QUEUE)
        self.train(2, 3)


class AFlowInAQueueThatThereIsNot(FlowsHaveTrainsOfTheirOwn):
    def runTest(self):
        self.name(wire.SIGNALING_QUEUE)
        self.send(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_IPV4),
            ipv4(REMOTE_HOST, self.flow, protocol=wire.IP_PROTOCOL_UDP),
            self.flow,
        )
        self.expect_drop(DropReason.BAD_QUEUE)


class FlowsWithoutTrains(FlowsHaveTrainsOfTheirOwn):
    """A flow that is named belongs to its class's queue if that makes no trains."""

    def aggregate(self, queue, size=None):
        self.set_train(queue)

    def runTest(self):
        self.name(OTHER_QUEUE)
        payload = self.flow + PAYLOAD
        carried = self.send_packet(payload, protocol=wire.IP_PROTOCOL_UDP)
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            self.label(1, len(carried) + wire.Label.SIZE),
            self.light(1, ONLY),
            carried,
        )


class TicksThatAreNotBelieved(TrainTest):
    """Nothing changes: the open train stays open, and no number is lost."""

    def refuse(self, reason, *ticks):
        for count, fields in enumerate(ticks, 1):
            self.close(**{**dict(queue=QUEUE, packets=2, carried=2 * PACKET_BYTES, first=PACKET_BYTES), **fields})
            self.await_drops(reason, count)
        self.assertEqual(self.drops(reason), len(ticks))

    def runTest(self):
        self.packets(FIRST, MIDDLE)
        self.refuse(DropReason.BAD_QUEUE, {"queue": wire.SIGNALING_QUEUE}, {"queue": 0xFFFF})
        self.refuse(DropReason.NO_ROUTE, {"queue": UNKNOWN_QUEUE})
        self.refuse(
            DropReason.BAD_FIELD,
            {"packets": 0, "bytes": 200},
            {"packets": 1},  # whose only frame is shorter than it
            {"first_bytes": 2 * PACKET_BYTES + 1},
            {"bytes": wire.MAX_TRAIN_BYTES + 1},
            {"bytes": 0xFFFFFFFF},
            {"lost_bytes": 1 << 31},
            {"packets": 11},
        )  # that carry less than an IPv4 header each
        self.packet(MIDDLE)
        self.train(1, 3)
        self.packet(FIRST)
        self.expect_silence()


class TicksThatAreNone(TrainTest):
    """Of another version, cut short, and of a host."""

    def runTest(self):
        tick = wire.TrainTick(queue=QUEUE, packets=1, bytes=PACKET_BYTES, first_bytes=PACKET_BYTES)
        card = wire.Linecard(version=UNKNOWN_VERSION, kind=LineCardKind.TRAIN_TICK, port=e.FIBRE)
        self.send(wire.PORT_LINECARD, ethernet(wire.ETHERTYPE_LINECARD), card, tick)
        self.expect_drop(DropReason.BAD_VERSION)
        self.from_card(LineCardKind.TRAIN_LABEL, wire.TrainLabel())
        self.expect_drop(DropReason.BAD_VERSION, 2)
        self.from_card(LineCardKind.TRAIN_TICK, tick.encode()[:-1])
        self.await_drops(DropReason.TRUNCATED, 1)
        self.send(
            e.HOST_PORT,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.TRAIN_TICK, port=e.FIBRE),
            tick,
        )
        self.await_drops(DropReason.UNEXPECTED_PORT, 1)
        self.assertEqual(
            [self.drops(r) for r in (DropReason.BAD_VERSION, DropReason.TRUNCATED, DropReason.UNEXPECTED_PORT)],
            [2, 1, 1],
        )
        self.expect_silence()


class NoSlotsHere(TrainTest):
    """A card's other messages are for stars; reports of what waits are not asked for."""

    def runTest(self):
        self.tick(e.SLOT)
        self.from_card(LineCardKind.QUEUE_REPORT, wire.QueueReport(queue=QUEUE))
        self.from_card(LineCardKind.ALARM, wire.Alarm())
        self.expect_drop(DropReason.NO_SIGNALING, 3)


class NoOutputsInAStar(e.EdgeTest):
    """Without parameters of labels these are kinds that are not known."""

    def runTest(self):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.TRAIN_SENT, port=e.FIBRE),
            wire.TrainSent(),
        )
        self.send(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL),
            wire.Label(version=wire.LABEL_VERSION, kind=LabelKind.PROBE, dst_edge=self.edge),
            wire.Probe(),
        )
        self.expect_drop(DropReason.BAD_VERSION, 2)


class AcknowledgementsApart(labels.LabelTest):
    """A class of TCP that carries nothing, whatever options it has."""

    def tcp(self, words=5, payload=b"", **fields):
        """A segment with a header of so many 32-bit words."""
        header = wire.L4Ports(src=4000, dst=80).encode() + bytes(8) + bytes([words << 4, 0x10]) + bytes(6)
        return self.send_packet(
            header + bytes(4 * words - 20) + payload, **{**dict(protocol=wire.IP_PROTOCOL_TCP), **fields}
        )

    def expect_class(self, traffic_class):
        light = self.received(e.FIBRE)[wire.Ethernet.SIZE + wire.Label.SIZE :]
        self.assertEqual(wire.Optical.decode(light).traffic_class, traffic_class)

    def runTest(self):
        self.switch.insert("traffic_class", {"acknowledgement": (1, 1)}, "set_class", priority=1, traffic_class=1)
        self.queue(e.FIBRE)
        self.queue(e.FIBRE, queue=OTHER_QUEUE, traffic_class=1)
        for words in (5, 8, 13, 15):
            self.tcp(words)
            self.expect_class(1)
            self.tcp(words, b"x")
            self.expect_class(0)
        self.tcp(5, bytes(20))
        self.expect_class(0)
        self.tcp(5, bytes(1000))
        self.expect_class(0)
        # No TCP, a later fragment, and options of IP: not looked into.
        self.tcp(protocol=wire.IP_PROTOCOL_UDP)
        self.expect_class(0)
        self.tcp(frag_offset=1)
        self.expect_class(0)
        self.tcp(7, ihl=7)
        self.expect_class(0)


class AcknowledgementsThatEndTooSoon(AcknowledgementsApart):
    """A frame that is shorter than it says: it is forwarded, and no acknowledgement."""

    def runTest(self):
        self.switch.insert("traffic_class", {"acknowledgement": (1, 1)}, "set_class", priority=1, traffic_class=1)
        self.queue(e.FIBRE)
        payload = wire.L4Ports(src=4000, dst=80).encode() + bytes(8)
        self.send_packet(payload, protocol=wire.IP_PROTOCOL_TCP, total_len=40)
        self.expect_class(0)
