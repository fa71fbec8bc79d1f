# SPDX-License-Identifier: Apache-2.0
"""Trains in a star: packets join as before optical packet switches, have no label, and the card is told the VOQ they wait in."""

from slotwise import wire
from slotwise.wire import DropReason, LineCardKind, TrainPart
from support import edge as e
from support.base import ethernet, frame, ipv4

FIRST, MIDDLE = TrainPart.FIRST, TrainPart.MIDDLE
ROUTE, REMOTE_HOST = 0x0A020000, 0x0A020001
QUEUE, FLOW_QUEUE, UNKNOWN_QUEUE = e.REMOTE, 40, 41
PACKET_BYTES = 100
PAYLOAD = bytes(PACKET_BYTES - wire.Ipv4.SIZE)
FLOW = wire.L4Ports(src=4000, dst=5201).encode()
FRAME_BYTES = wire.Ethernet.SIZE + wire.Optical.SIZE  # before what a frame carries
SECOND_CORE = e.FIBRE + 1


class StarTrainTest(e.EdgeTest):
    def setUp(self):
        super().setUp()
        self.switch.insert("ipv4_route", {"dst": (ROUTE, 16)}, "to_edge", edge=e.REMOTE)
        self.switch.insert("voq", {"dst_edge": e.REMOTE, "class": 0}, "enqueue", queue=QUEUE, port=e.FIBRE)
        self.sequences = {}

    def aggregate(self, queue=QUEUE, size=3 * PACKET_BYTES, voq=QUEUE):
        self.switch.insert("aggregation", {"queue": queue}, "aggregate", size_bytes=size)
        self.switch.insert("train_queue", {"queue": queue}, "set_star_train", voq=voq)

    def packet(self, part, queue=QUEUE, payload=PAYLOAD, **fields):
        """A packet of a host goes to the card as this part of its queue's train."""
        header = ipv4(REMOTE_HOST, payload, **fields)
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC), header, payload)
        self.sequences[queue] = self.sequences.get(queue, 0) + 1
        self.expect(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            wire.Optical(
                version=wire.OPTICAL_VERSION,
                kind=wire.OpticalKind.DATA,
                src_edge=self.edge,
                dst_edge=e.REMOTE,
                queue=queue,
                train=part,
                sequence=self.sequences[queue],
                inner_type=wire.ETHERTYPE_IPV4,
            ),
            frame(ipv4(**{**header.__dict__, "ttl": header.ttl - 1, "checksum": 0}), payload),
        )

    def close(self, packets, queue=QUEUE, port=e.FIBRE, **fields):
        """The card of a fibre has closed a train of so many packets."""
        one = PACKET_BYTES + FRAME_BYTES
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.TRAIN_TICK, port=port),
            wire.TrainTick(
                **{**dict(queue=queue, packets=packets, bytes=packets * one, first_bytes=one, local_ns=7), **fields}
            ),
        )

    def expect_voq(self, packets, queue=QUEUE, voq=QUEUE, port=e.FIBRE):
        """The card is told where the train waits, and nothing else: there is no label."""
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.TRAIN_LABEL, port=port),
            wire.TrainLabel(queue=queue, packets=packets, tag=voq),
        )


class PacketsOfAStarJoin(StarTrainTest):
    """What fits exactly still belongs to a train; the card's interval closes one as well."""

    def runTest(self):
        self.aggregate()
        for part in (FIRST, MIDDLE, MIDDLE, FIRST):
            self.packet(part)
        self.close(3)
        self.expect_voq(3)
        self.packet(MIDDLE)
        self.close(2)
        self.expect_voq(2)
        self.packet(FIRST)
        self.expect_silence()


class FlowsOfAStarShareAVoq(StarTrainTest):
    """They have trains of their own, which wait in the VOQ of their edge."""

    def runTest(self):
        self.aggregate()
        self.aggregate(FLOW_QUEUE, voq=QUEUE)
        self.switch.insert(
            "flow_queue",
            {"src": 0x0A000001, "dst": REMOTE_HOST, "protocol": wire.IP_PROTOCOL_UDP, "l4_src": 4000, "l4_dst": 5201},
            "set_flow_queue",
            queue=FLOW_QUEUE,
        )
        payload = FLOW + bytes(len(PAYLOAD) - len(FLOW))
        for part in (FIRST, MIDDLE, MIDDLE, FIRST):
            self.packet(part, FLOW_QUEUE, payload, protocol=wire.IP_PROTOCOL_UDP)
            self.packet(part)
        self.close(3, FLOW_QUEUE)
        self.expect_voq(3, FLOW_QUEUE)
        self.close(3)
        self.expect_voq(3)


class TrainsOfAStarAreAnsweredByTheirFibre(StarTrainTest):
    def runTest(self):
        self.aggregate(voq=QUEUE + 16)
        self.packet(FIRST)
        self.close(1, port=SECOND_CORE)
        self.expect_voq(1, voq=QUEUE + 16, port=SECOND_CORE)


class AStarWithoutTrains(StarTrainTest):
    """Packets carry no part, and a tick is answered by nothing."""

    def runTest(self):
        self.packet(TrainPart.NONE)
        self.packet(TrainPart.NONE)
        self.close(2)
        self.expect_drop(DropReason.NO_ROUTE)


class TicksOfAStarThatAreNotBelieved(StarTrainTest):
    """Nothing changes: the open train stays open."""

    def runTest(self):
        self.aggregate()
        self.packet(FIRST)
        self.packet(MIDDLE)
        refused = (
            (DropReason.BAD_QUEUE, ({"queue": wire.SIGNALING_QUEUE}, {"port": e.FIBRE + wire.MAX_CORES}, {"port": 0})),
            (DropReason.NO_ROUTE, ({"queue": UNKNOWN_QUEUE},)),
            (
                DropReason.BAD_FIELD,
                (
                    {"packets": 0},
                    {"bytes": 1 << 24},
                    {"lost_bytes": 1 << 31},
                    {"bytes": 2 * (FRAME_BYTES + 20) - 1, "first_bytes": 0},
                ),
            ),
        )
        for reason, ticks in refused:
            for count, fields in enumerate(ticks, 1):
                self.close(**{"packets": 2, **fields})
                self.await_drops(reason, count)
            self.assertEqual(self.drops(reason), len(ticks))
        self.packet(MIDDLE)
        self.close(3)
        self.expect_voq(3)
        self.packet(FIRST)
        self.expect_silence()
