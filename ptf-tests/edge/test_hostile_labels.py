# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of an edge of optical packet switches; see test_hostile.py."""

from slotwise import wire
from slotwise.wire import IntervalTimer, LabelKind, LineCardKind, TrainPart
from support import edge as e
from support import labels
from support.base import ethernet, frame, ipv4
from support.hostile import Hostile
from support.labels import HOST, REMOTE_HOST, data

ALONE, JOINED, MACROFLOW = 3, 4, 5  # queues
SIZE = 150
DATAGRAM = wire.L4Ports(src=4000, dst=5201).encode() + b"datagram"
OUT = [e.OTHER_HOST_PORT, e.HOST_PORT, e.FIBRE, labels.SECOND_FIBRE, labels.PROBES, wire.PORT_LINECARD]


def card(kind, *parts, port=e.FIBRE):
    return frame(
        ethernet(wire.ETHERTYPE_LINECARD), wire.Linecard(version=wire.LINECARD_VERSION, kind=kind, port=port), *parts
    )


def packet(protocol=wire.IP_PROTOCOL_UDP, payload=DATAGRAM):
    return frame(
        ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC), ipv4(REMOTE_HOST, payload, protocol=protocol), payload
    )


class HostileToTrains(Hostile, labels.LabelTest):
    fair = 0

    def setUp(self):
        super().setUp()
        self.set_fibres()
        self.switch.set_default("ingress_params", "set_ingress", trains=3, fair=self.fair)
        self.switch.insert(
            "traffic_class", {"protocol": (wire.IP_PROTOCOL_UDP, 0xFF)}, "set_class", priority=1, traffic_class=1
        )
        self.switch.insert(
            "voq",
            {"dst_edge": e.REMOTE, "class": 0},
            "enqueue_either",
            queue=ALONE,
            port=e.FIBRE,
            second=labels.SECOND_FIBRE,
        )
        self.queue(e.FIBRE, JOINED, traffic_class=1)
        self.switch.insert("aggregation", {"queue": JOINED}, "aggregate", size_bytes=SIZE)
        self.switch.insert(
            "train_queue", {"queue": JOINED}, "set_train", dst_edge=e.REMOTE, traffic_class=1, port=e.FIBRE, second=0
        )
        self.switch.insert("train_weight", {"class": 1}, "set_weight", per_byte=20_000)
        self.switch.insert(
            "macroflow",
            {"queue": MACROFLOW},
            "set_macroflow",
            dst_edge=e.REMOTE,
            traffic_class=1,
            wavelength=1,
            port=labels.PROBES,
            floor=10_000,
            periods_q8=20 << 8,
            tells_satisfied=1,
            shift=0,
        )

    def templates(self):
        carried = wire.Ipv4.SIZE + len(DATAGRAM)
        ticks = [
            wire.TrainTick(
                queue=JOINED, packets=packets, bytes=packets * (carried - 20), first_bytes=carried - 20, local_ns=5
            )
            for packets in (1, 4)
        ]
        sent = [wire.TrainSent(flags=wire.OUTPUT_IDLE), wire.TrainSent(traffic_class=1, tag=1 << 20)]
        intervals = [(IntervalTimer.CONTROL, arrived) for arrived in (1000, 90_000, 200_000)] + [
            (IntervalTimer.QUEUE, 0)
        ]
        of_probe = dict(
            version=wire.LABEL_VERSION,
            traffic_class=1,
            src_edge=e.REMOTE,
            dst_edge=self.edge,
            wavelength=1,
            hops_left=4,
        )
        light = ethernet(wire.ETHERTYPE_OPTICAL)
        probe = frame(
            light, wire.Label(kind=LabelKind.PROBE, **of_probe), wire.Probe(sequence=1, sent_bytes=1000, feedback=7)
        )
        replies = [
            frame(
                light,
                wire.Label(kind=LabelKind.REPLY, **of_probe),
                wire.Probe(sequence=sequence, sent_bytes=sent_bytes, queue=MACROFLOW, feedback=5000),
            )
            for sequence in (1, 2, 3)
            for sent_bytes in (1000, 89_000)
        ]
        train = frame(
            light,
            wire.Label(
                version=wire.LABEL_VERSION, kind=LabelKind.TRAIN, src_edge=e.REMOTE, dst_edge=self.edge, packets=2
            ),
            data(self.edge, TrainPart.FIRST),
            ipv4(HOST, b"light"),
            b"light",
        )
        acknowledgement = packet(
            wire.IP_PROTOCOL_TCP, wire.L4Ports(src=1, dst=2).encode() + bytes(8) + bytes([0x50]) + bytes(7)
        )
        return [
            *((e.HOST_PORT, data) for data in (packet(), packet(), packet(253), acknowledgement)),
            *((wire.PORT_LINECARD, card(LineCardKind.TRAIN_TICK, tick)) for tick in ticks),
            *(
                (wire.PORT_LINECARD, card(LineCardKind.TRAIN_SENT, header, port=port))
                for header in sent
                for port in (e.FIBRE, labels.SECOND_FIBRE)
            ),
            *(
                (
                    wire.PORT_LINECARD,
                    card(
                        LineCardKind.INTERVAL_TICK,
                        wire.IntervalTick(timer=timer, local_ns=9),
                        wire.QueueReport(queue=MACROFLOW, arrived_bytes=arrived),
                    ),
                )
                for timer, arrived in intervals
            ),
            (labels.PROBES, probe),
            *((labels.PROBES, reply) for reply in replies),
            (e.FIBRE, train),
            (e.FIBRE, probe),
        ]

    def runTest(self):
        self.assertEqual(self.digest_of(self.templates(), OUT), DIGESTS[type(self).__name__])


class HostileToFairTrains(HostileToTrains):
    fair = 1


DIGESTS = {
    "HostileToTrains": "2dbe1e2f4c3445ac0300424584d5a577cbc14752ca1f60e196d55d0d91cc22ef",
    "HostileToFairTrains": "bb904a30d2a367256d89c8b73f9015ad64cadf4642c14c606ae7de6fb611b7e0",
}
