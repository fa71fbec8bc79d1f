# SPDX-License-Identifier: Apache-2.0
"""OPS edge with a host, another edge, and a line card that closes bursts."""

from slotwise import wire
from slotwise.wire import LabelKind, LineCardKind, OpticalKind, TrainPart
from support import edge as e
from support.base import ethernet, frame, ipv4

HOST, REMOTE_HOST = 0x0A010001, 0x0A020001
FRAMING, DEFLECTIONS, HOPS = 50, 3, 9
WAVELENGTHS, SHIFT = 2, 2
SECOND_WAVELENGTH = e.FIBRE + 1
SECOND_FIBRE = e.FIBRE + (1 << SHIFT)
PROBES = e.FIBRE + WAVELENGTHS
# What a frame of a train has before what it carries, and the bytes of a label.
FRAME_BYTES = wire.Ethernet.SIZE + wire.Optical.SIZE


class LabelTest(e.EdgeTest):
    framing = FRAMING

    def setUp(self):
        super().setUp()
        self.switch.set_default(
            "edge_params",
            "set_label_params",
            edge_id=self.edge,
            mac=e.MAC,
            framing_bytes=self.framing,
            deflections=DEFLECTIONS,
            hops=HOPS,
        )
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.HOST_PORT, mac=e.HOST_MAC)
        self.switch.insert("ipv4_route", {"dst": (0x0A020000, 16)}, "to_edge", edge=e.REMOTE)

    def set_fibres(self):
        """Fibres with two data wavelengths and one for probes."""
        self.switch.set_default("fibre_params", "set_fibres", wavelengths=WAVELENGTHS, fibre_shift=SHIFT)

    def queue(self, port, queue=e.REMOTE, traffic_class=0):
        self.switch.insert("voq", {"dst_edge": e.REMOTE, "class": traffic_class}, "enqueue", queue=queue, port=port)

    def send_train(self, *rest, dst_edge=e.SLAVE, label=None, **fields):
        of_label = dict(
            version=wire.LABEL_VERSION,
            kind=LabelKind.TRAIN,
            src_edge=e.REMOTE,
            dst_edge=dst_edge,
            train=1,
            length=100,
            packets=1,
        )
        self.send(
            e.FIBRE,
            ethernet(wire.ETHERTYPE_OPTICAL),
            wire.Label(**{**of_label, **(label or {})}),
            data(dst_edge, **fields),
            *rest,
        )

    def send_packet(self, payload, **fields):
        """Sends a packet of a host for the other edge; returns it as expected at the output."""
        header = ipv4(REMOTE_HOST, payload, **fields)
        self.send(e.HOST_PORT, ethernet(wire.ETHERTYPE_IPV4, dst=e.MAC, src=e.HOST_MAC), header, payload)
        return frame(ipv4(**{**header.__dict__, "ttl": header.ttl - 1, "checksum": 0}), payload)

    def light(self, sequence, part, queue=e.REMOTE, traffic_class=0):
        return wire.Optical(
            version=wire.OPTICAL_VERSION,
            kind=OpticalKind.DATA,
            traffic_class=traffic_class,
            src_edge=self.edge,
            dst_edge=e.REMOTE,
            queue=queue,
            train=part,
            sequence=sequence,
            inner_type=wire.ETHERTYPE_IPV4,
        )

    def label(self, number, length, packets=1, wavelength=0, traffic_class=0):
        return wire.Label(
            version=wire.LABEL_VERSION,
            kind=LabelKind.TRAIN,
            traffic_class=traffic_class,
            src_edge=self.edge,
            dst_edge=e.REMOTE,
            train=number,
            length=length,
            packets=packets,
            wavelength=wavelength,
            deflections_left=DEFLECTIONS,
            hops_left=HOPS,
        )

    def from_card(self, kind, *parts, port=e.FIBRE):
        self.send(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=kind, port=port),
            *parts,
        )

    def expect_at_card(self, kind, *parts, port=e.FIBRE):
        self.expect(
            wire.PORT_LINECARD,
            ethernet(wire.ETHERTYPE_LINECARD),
            wire.Linecard(version=wire.LINECARD_VERSION, kind=kind, port=port),
            *parts,
        )

    def close(self, queue, packets, carried, first=None, **fields):
        """Line card closed a burst with this number of packets and bytes, starting with `first`."""
        overhead = FRAME_BYTES - self.framing
        self.from_card(
            LineCardKind.TRAIN_TICK,
            wire.TrainTick(
                **{
                    **dict(
                        queue=queue,
                        packets=packets,
                        bytes=carried + packets * overhead,
                        first_bytes=(carried if first is None else first) + overhead,
                        local_ns=7,
                    ),
                    **fields,
                }
            ),
        )

    def expect_label(
        self, number, carried, packets=1, queue=e.REMOTE, port=e.FIBRE, wavelength=0, traffic_class=0, tag=0
    ):
        """Expects this number for the line card's burst."""
        length = carried + packets * (FRAME_BYTES - self.framing) + wire.Label.SIZE
        self.expect_at_card(
            LineCardKind.TRAIN_LABEL,
            wire.TrainLabel(queue=queue, packets=packets, traffic_class=traffic_class, tag=tag),
            self.label(number, length, packets, wavelength, traffic_class),
            port=port,
        )


def data(dst_edge, train=TrainPart.ONLY, inner_type=wire.ETHERTYPE_IPV4, **fields):
    return wire.Optical(
        **{
            **dict(
                version=wire.OPTICAL_VERSION,
                kind=OpticalKind.DATA,
                src_edge=e.REMOTE,
                dst_edge=dst_edge,
                queue=1,
                train=train,
                sequence=1,
                inner_type=inner_type,
            ),
            **fields,
        }
    )
