# SPDX-License-Identifier: Apache-2.0
"""Optical packet switch with three fibres of two data wavelengths and one for probes. Its clock is the target's, in the target's unit,
and runs during a test: bursts are extremely short or long, so that neither unit nor speed matters."""

from slotwise import wire
from slotwise.wire import LabelKind, LineCardKind, OpticalKind, TrainFate, TrainPart
from support.base import SwitchTest, ethernet, frame

WAVELENGTHS, SHIFT = 2, 2
AN_AGE = 1 << 44  # 5 hours of ns, half a year of us
# A train of AGE_BYTES lasts an age, all others next to nothing, if a byte takes AGE_PER_BYTE_Q16.
AGE_BYTES = 1 << 22
AGE_PER_BYTE_Q16 = AN_AGE // AGE_BYTES << 16
LONGEST_BYTES = 1 << 23
HERE, THERE, ELSEWHERE, NOWHERE = 20, 21, 22, 23  # edges: by fibre 0; by 1, else 2; by 2; by none
SOURCE, QUEUE, TRAIN = 30, 5, 77
HOPS, DEFLECTIONS = 9, 3
PAYLOAD = b"payload of no protocol in particular"
NO_FIBRE = wire.NO_FIBRE


def data_port(fibre, wavelength=0):
    return wire.PORT_OPTICAL_BASE + (fibre << SHIFT) + wavelength


def probe_port(fibre):
    return data_port(fibre, WAVELENGTHS)


IN, OUT, SIDE = (data_port(fibre) for fibre in range(3))


class OpsTest(SwitchTest):
    program = "ops"
    wavelengths, converts = WAVELENGTHS, 0
    time_per_byte_q16, guard, ram, framing_bytes = 0, 0, 0, 0

    def setUp(self):
        super().setUp()
        self.configure()

    def configure(self):
        self.switch.set_default(
            "ops_params",
            "set_ops_params",
            wavelengths=self.wavelengths,
            fibre_shift=SHIFT,
            converts=self.converts,
            time_per_byte_q16=self.time_per_byte_q16,
            longest_bytes=LONGEST_BYTES,
            framing_bytes=self.framing_bytes,
            guard=self.guard,
            ram=self.ram,
        )
        self.route(HERE, 0)
        self.route(THERE, 1, 2)
        self.route(ELSEWHERE, 2)

    def route(self, edge, *fibres):
        names = ("first", "second", "third", "fourth")
        choices = dict(zip(names, fibres + (NO_FIBRE,) * (4 - len(fibres)), strict=True))
        self.switch.insert("label_route", {"dst_edge": edge}, "to_fibres", **choices)

    def occupy(self, port=OUT, came_by=IN):
        """Makes this output busy for the whole test."""
        dst = {0: HERE, 1: THERE, 2: ELSEWHERE}[(port - wire.PORT_OPTICAL_BASE) >> SHIFT]
        wavelength = (came_by - wire.PORT_OPTICAL_BASE) % (1 << SHIFT)
        self.send(came_by, train(dst, length=AGE_BYTES, packets=1000, part=TrainPart.FIRST, wavelength=wavelength))
        self.received(port)

    def switched(self, port=OUT, came_by=IN, left=None, **fields):
        """Expects a single-packet burst at output `port`; `left`: changed fields of its label, except the hops."""
        self.send(came_by, train(**fields))
        self.expect(port, train(**{**fields, "hops_left": fields.get("hops_left", HOPS) - 1, **(left or {})}))

    def expect_fates(self, **counts):
        found = {fate.name.lower(): self.switch.counter("trains", fate)[0] for fate in TrainFate}
        self.assertEqual({name: count for name, count in found.items() if count}, counts)

    def expect_refused(self, reason, *frames, port=IN):
        """Expects all frames to be dropped without effect: every output stays idle, and no burst is in transmission or counted."""
        for count, data in enumerate(frames, 1):
            self.send(port, data)
            self.await_drops(reason, count)
        self.expect_drop(reason, len(frames))
        self.expect_fates()


def label(dst=THERE, src=SOURCE, **fields):
    defaults = dict(
        version=wire.LABEL_VERSION,
        kind=LabelKind.TRAIN,
        traffic_class=1,
        train=TRAIN,
        packets=1,
        deflections_left=DEFLECTIONS,
        hops_left=HOPS,
    )
    return wire.Label(src_edge=src, dst_edge=dst, **{**defaults, **fields})


def optical(dst=THERE, src=SOURCE, part=TrainPart.ONLY, queue=QUEUE, **fields):
    return wire.Optical(
        **{
            **dict(
                version=wire.OPTICAL_VERSION,
                kind=OpticalKind.DATA,
                traffic_class=1,
                src_edge=src,
                dst_edge=dst,
                queue=queue,
                train=part,
                sequence=1,
                inner_type=wire.ETHERTYPE_IPV4,
            ),
            **fields,
        }
    )


def train(dst=THERE, src=SOURCE, part=TrainPart.ONLY, queue=QUEUE, payload=PAYLOAD, length=None, light=None, **fields):
    """First frame of a burst, or a whole burst. Without a length, the label has that of the frame."""
    parts = [
        ethernet(wire.ETHERTYPE_OPTICAL),
        label(dst, src, **fields),
        optical(dst, src, part, queue, **(light or {})),
        payload,
    ]
    size = len(frame(*parts)) if length is None else length
    parts[1] = label(dst, src, **{"length": size, **fields})
    return frame(*parts)


def follower(part=TrainPart.MIDDLE, dst=THERE, src=SOURCE, queue=QUEUE, payload=PAYLOAD, **fields):
    return frame(ethernet(wire.ETHERTYPE_OPTICAL), optical(dst, src, part, queue, **fields), payload)


def probe(
    dst=THERE,
    src=SOURCE,
    kind=LabelKind.PROBE,
    wavelength=0,
    hops_left=HOPS,
    sent_bytes=0,
    feedback=wire.NO_FEEDBACK,
    flags=0,
    **fields,
):
    """Probe for a wavelength, with signed `feedback`."""
    return frame(
        ethernet(wire.ETHERTYPE_OPTICAL),
        label(
            dst,
            src,
            **{
                **dict(
                    kind=kind,
                    train=0,
                    length=0,
                    packets=0,
                    wavelength=wavelength,
                    hops_left=hops_left,
                    deflections_left=0,
                ),
                **fields,
            },
        ),
        wire.Probe(sequence=1, sent_bytes=sent_bytes, feedback=feedback % (1 << 32), flags=flags, sent_ns=5),
    )


def interval_tick(timer, queue, local_ns, least_backlog_bytes=0, backlog_bytes=0):
    return frame(
        ethernet(wire.ETHERTYPE_LINECARD),
        wire.Linecard(version=wire.LINECARD_VERSION, kind=LineCardKind.INTERVAL_TICK, port=queue),
        wire.IntervalTick(timer=timer, least_backlog_bytes=least_backlog_bytes, local_ns=local_ns),
        wire.QueueReport(queue=queue, backlog_bytes=backlog_bytes),
    )
