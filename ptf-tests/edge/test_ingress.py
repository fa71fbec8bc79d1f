# SPDX-License-Identifier: Apache-2.0
"""Trains before outputs: so many may wait for each, the second choice takes what the first one cannot, and classes share by tags."""

from slotwise import wire
from slotwise.wire import DropReason, LineCardKind, TrainPart
from support import edge as e
from support import labels
from support.base import ethernet

QUEUE = e.REMOTE
SECOND = labels.SECOND_FIBRE
NOWHERE = e.FIBRE + wire.MAX_OUTPUTS
PAYLOAD = b"one that may have to wait"
PACKET_BYTES = wire.Ipv4.SIZE + len(PAYLOAD)
PLAIN_WEIGHT = 65536


class IngressTest(labels.LabelTest):
    framing = 30
    trains, fair = 1, 0

    def setUp(self):
        super().setUp()
        self.set_fibres()
        self.switch.set_default("ingress_params", "set_ingress", trains=self.trains, fair=self.fair)
        self.number = self.sequence = 0

    def leaves(self, port=e.FIBRE):
        """A packet that is a train of its own leaves by this port."""
        carried = self.send_packet(PAYLOAD)
        self.number += 1
        self.sequence += 1
        self.expect(
            port,
            ethernet(wire.ETHERTYPE_OPTICAL, dst=e.MAC, src=e.HOST_MAC),
            self.label(self.number, PACKET_BYTES + wire.Label.SIZE),
            self.light(self.sequence, TrainPart.ONLY),
            carried,
        )

    def is_refused(self, count):
        self.send_packet(PAYLOAD)
        self.expect_drop(DropReason.INGRESS_FULL, count)

    def sent(self, port=e.FIBRE, traffic_class=0, tag=0, flags=0):
        """The card: one has left, and another one begins. The card is heard before the next packet."""
        self.from_card(
            LineCardKind.TRAIN_SENT, wire.TrainSent(traffic_class=traffic_class, flags=flags, tag=tag), port=port
        )
        self.handled(wire.PORT_LINECARD)

    def idle(self, port=e.FIBRE):
        self.sent(port, flags=wire.OUTPUT_IDLE)


class OneMayWait(IngressTest):
    """Beside the one that is being sent. What is refused takes no number."""

    def runTest(self):
        self.queue(e.FIBRE)
        for _ in range(2):
            self.leaves()
        self.is_refused(1)
        self.sent()
        self.leaves()
        self.is_refused(2)
        self.sent()
        self.idle()
        for _ in range(2):
            self.leaves()
        self.is_refused(3)


class NoneMayWait(IngressTest):
    trains = 0

    def runTest(self):
        self.queue(e.FIBRE)
        self.leaves()
        self.is_refused(1)
        self.idle()
        self.leaves()
        self.is_refused(2)


class WithoutALimit(IngressTest):
    trains = wire.NO_TRAIN_LIMIT

    def runTest(self):
        self.queue(e.FIBRE)
        for _ in range(wire.NO_TRAIN_LIMIT + 3):
            self.leaves()


class TheSecondChoice(IngressTest):
    """As long as there is no room at the first one; a train that takes it may still be deflected as often."""

    def queue_either(self, port, second):
        self.switch.insert(
            "voq", {"dst_edge": e.REMOTE, "class": 0}, "enqueue_either", queue=QUEUE, port=port, second=second
        )

    def runTest(self):
        self.queue_either(e.FIBRE, SECOND)
        for port in (e.FIBRE, e.FIBRE, SECOND, SECOND):
            self.leaves(port)
        self.is_refused(1)
        self.sent(SECOND)
        self.sent()
        self.leaves()
        self.leaves(SECOND)
        self.is_refused(2)


class OutputsThatThereAreNot(TheSecondChoice):
    def runTest(self):
        self.queue_either(NOWHERE, SECOND)
        for _ in range(2):
            self.leaves(SECOND)
        self.is_refused(1)


class WithoutParametersNothingIsCounted(TheSecondChoice):
    def setUp(self):
        labels.LabelTest.setUp(self)
        self.set_fibres()
        self.number = self.sequence = 0

    def runTest(self):
        self.queue_either(e.FIBRE, SECOND)
        for _ in range(4):
            self.leaves()
        self.from_card(LineCardKind.TRAIN_SENT, wire.TrainSent())
        self.expect_drop(DropReason.NO_SIGNALING)


class CardsThatAreNotBelieved(IngressTest):
    """Of an output that there is not, of a class that there is not, of more trains than there are, cut short."""

    def runTest(self):
        self.queue(e.FIBRE)
        self.sent()
        self.expect_drop(DropReason.STALE)
        self.leaves()
        self.leaves()
        self.sent(NOWHERE)
        self.sent(0xFFFF)
        self.sent(traffic_class=wire.MAX_OUTPUT_CLASSES)
        self.from_card(LineCardKind.TRAIN_SENT, wire.TrainSent().encode()[:-1])
        self.await_drops(DropReason.TRUNCATED, 1)
        self.assertEqual(
            [
                self.drops(r)
                for r in (DropReason.STALE, DropReason.BAD_QUEUE, DropReason.BAD_FIELD, DropReason.TRUNCATED)
            ],
            [1, 2, 1, 1],
        )
        self.send_packet(PAYLOAD)
        self.await_drops(DropReason.INGRESS_FULL, 1)
        self.assertEqual(self.drops(DropReason.INGRESS_FULL), 1)
        self.expect_silence()


class TickTest(IngressTest):
    """Trains that the card has closed, of queues by class: 100 + class."""

    size = 1000

    def setUp(self):
        super().setUp()
        for traffic_class in (0, 1, 2, 5):
            self.switch.insert(
                "train_queue",
                {"queue": 100 + traffic_class},
                "set_train",
                dst_edge=e.REMOTE,
                traffic_class=traffic_class,
                port=e.FIBRE,
                second=SECOND if traffic_class == 2 else 0,
            )

    def gets(self, port=e.FIBRE, traffic_class=0, carried=1000, tag=0):
        self.number += 1
        self.close(100 + traffic_class, 2, carried, 100)
        self.expect_label(self.number, carried, 2, 100 + traffic_class, port, traffic_class=traffic_class, tag=tag)

    def gets_none(self, count, traffic_class=0):
        self.close(100 + traffic_class, 2, 1000, 100)
        self.expect_at_card(
            LineCardKind.TRAIN_LABEL,
            wire.TrainLabel(
                queue=100 + traffic_class, packets=2, flags=wire.TRAIN_REFUSED, traffic_class=traffic_class
            ),
            self.label(0, 1000 + wire.Label.SIZE, 2, traffic_class=traffic_class),
        )
        self.expect_drop(DropReason.INGRESS_FULL, count)


class TrainsOfSeveralPacketsAreCountedAlike(TickTest):
    """First the one choice, then the other; the card hears of a train that is refused."""

    def runTest(self):
        self.queue(e.FIBRE)
        self.gets()
        self.leaves()
        self.gets_none(1)
        for _ in range(2):
            self.gets(SECOND, traffic_class=2)
        self.gets_none(2, traffic_class=2)
        self.sent()
        self.gets(traffic_class=2)
        self.gets_none(3)


class FairTest(TickTest):
    fair = 1
    trains = 2

    def weight(self, traffic_class, per_byte):
        self.switch.insert("train_weight", {"class": traffic_class}, "set_weight", per_byte=per_byte)

    def tagged(self, tag_bytes, traffic_class=0, carried=1000):
        """A train gets a start tag of so many bytes of a class of weight 1."""
        self.gets(traffic_class=traffic_class, carried=carried, tag=tag_bytes * PLAIN_WEIGHT)

    def begins(self, tag_bytes, traffic_class):
        self.sent(traffic_class=traffic_class, tag=tag_bytes * PLAIN_WEIGHT)


class TagsAddUpByClass(FairTest):
    """From the start tag of the train in service on; a class of weight 4 goes four times as far."""

    def runTest(self):
        length = 1000 + wire.Label.SIZE
        self.weight(1, PLAIN_WEIGHT // 4)
        self.tagged(0)
        self.tagged(length)
        self.tagged(0, traffic_class=1)
        self.tagged(length // 4, traffic_class=1)
        self.begins(length // 4, traffic_class=1)
        self.tagged(2 * length)
        self.tagged(2 * (length // 4), traffic_class=1)
        # A class that has not sent for long begins where the service is.
        self.begins(9 * length, traffic_class=1)
        self.tagged(9 * length, traffic_class=1)


class AnOutputThatFellIdleFavoursNoClass(FairTest):
    """The next train starts where the last one finishes, whosever it was: rest is no credit, and service no debt."""

    def runTest(self):
        length = 1000 + wire.Label.SIZE
        self.tagged(0)
        self.idle()
        self.tagged(length, traffic_class=1)
        self.tagged(length)
        self.tagged(2 * length, traffic_class=1)
        self.idle()
        self.idle()
        self.idle()
        self.tagged(3 * length)


class EachClassHasRoomOfItsOwn(FairTest):
    """Two of each may wait, whatever the others have."""

    def runTest(self):
        length = 1000 + wire.Label.SIZE
        for count in range(3):
            self.tagged(count * length)
        self.gets_none(1)
        for count in range(2):
            self.tagged(count * length, traffic_class=1)
        for count in range(2):
            self.tagged(count * length, traffic_class=5)
        self.gets_none(2, traffic_class=1)
        self.begins(0, traffic_class=1)
        self.tagged(2 * length, traffic_class=1)
        self.gets_none(3)
        self.gets_none(4, traffic_class=1)


class NothingWaitsAtAnIdleOutput(FairTest):
    """A train that is on its way to the card when that has fallen idle begins without a word, and no longer waits."""

    trains = 1

    def runTest(self):
        length = 1000 + wire.Label.SIZE
        self.tagged(0)
        self.tagged(length)
        self.idle()
        self.tagged(2 * length)
        self.gets_none(1)


class ClassesBeyondTheLast(FairTest):
    """A queue of a class that outputs do not know counts as one that they do: nothing else is touched."""

    def runTest(self):
        self.switch.insert(
            "train_queue", {"queue": 108}, "set_train", dst_edge=e.REMOTE, traffic_class=8, port=e.FIBRE, second=0
        )
        length = 1000 + wire.Label.SIZE
        self.tagged(0)
        self.gets(traffic_class=8, tag=length * PLAIN_WEIGHT)
        self.tagged(0, traffic_class=1)
