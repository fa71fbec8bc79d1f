# SPDX-License-Identifier: Apache-2.0
"""Mutated frames into every port of an edge. The digests were the same on every target when they were written down;
a program that is meant to do something else with such frames gets new ones from the failing test, once the transcripts
of all targets agree."""

from slotwise import wire
from support import edge as e
from support.base import ethernet, frame, ipv4, linecard, optical, tick
from support.hostile import Hostile
from support.xcp import RTT_NS, START_NS, header, rate

HOST, REMOTE_HOST = 0x0A010001, 0x0A020001
DATAGRAM = wire.L4Ports(src=4000, dst=5201).encode() + b"datagram"
MASTER_DIGEST = "9387d6bad679a63519597a8819e0eaee9c854f3ba274f90cd0c18beed4fe286c"
SLAVE_DIGEST = "915b67b1ab318f7b4f69fd24b087722481cbebfcb4dccfc0b8132537e0efe797"
MEMBER_DIGEST = "ef474ecdd86ba385a3e36a9228f838ffdd70d2ff1d45564b36f5556a24e583c5"
INVITING_DIGEST = "8b2b55bdc6d0471a26ed672c0ecd5fcac50384958cba1b3fcd9979aca08b49ee"
OVERHEAD = wire.Ethernet.SIZE + wire.Optical.SIZE
OUT = [e.OTHER_HOST_PORT, e.HOST_PORT, e.FIBRE, wire.PORT_LINECARD, wire.PORT_CORE_CONTROL]


def from_host(ether_type, *parts):
    return frame(ethernet(ether_type, dst=e.MAC, src=e.HOST_MAC), *parts)


def light(kind, *parts, **fields):
    return frame(ethernet(wire.ETHERTYPE_OPTICAL), optical(kind, **fields), *parts)


class HostileTest(Hostile):
    def setUp(self):
        super().setUp()
        self.switch.insert("ipv4_route", {"dst": (HOST, 32)}, "to_host", port=e.OTHER_HOST_PORT, mac=e.OTHER_HOST_MAC)
        self.switch.insert("ipv4_route", {"dst": (0x0A020000, 16)}, "to_edge", edge=e.REMOTE)
        self.switch.insert(
            "traffic_class", {"protocol": (wire.IP_PROTOCOL_UDP, 0xFF)}, "set_class", priority=1, traffic_class=1
        )
        for traffic_class in (0, 1):
            self.switch.insert(
                "voq", {"dst_edge": e.REMOTE, "class": traffic_class}, "enqueue", queue=traffic_class, port=e.FIBRE
            )
        self.switch.insert("xcp_output", {"queue": 0}, "slot_capacity", throughput=rate(1_000_000), overhead=OVERHEAD)
        for bank in (0, 1):
            self.switch.insert("xcp_slots", {"bank": bank, "queue": 0}, "granted", slots_a_frame=1 + bank)
            self.grant(bank, e.SLOT, queue=2 + bank)
        self.switch.insert("signaling", {"core": 0, "slot": 1, "repeat": 1}, "send_request", block=0, port=e.FIBRE)
        self.switch.insert(
            "signaling", {"core": 0, "slot": 0, "repeat": 1}, "send_commit", edge=e.SLAVE, port=wire.PORT_CORE_CONTROL
        )

    def templates(self):
        to_remote = ipv4(REMOTE_HOST, DATAGRAM, protocol=wire.IP_PROTOCOL_UDP)
        arp = wire.ArpIpv4(opcode=wire.ARP_REQUEST, sender_mac=e.HOST_MAC, sender_ip=HOST, target_ip=REMOTE_HOST)
        data = light(
            wire.OpticalKind.DATA, ipv4(HOST, b"light"), b"light", dst_edge=self.edge, inner_type=wire.ETHERTYPE_IPV4
        )
        beacon = light(
            wire.OpticalKind.COMMIT,
            wire.Commit(frame=4, active_version=2, next_version=3, first_frame=5),
            src_edge=e.MASTER,
            dst_edge=self.edge,
        )
        report = frame(
            ethernet(wire.ETHERTYPE_LINECARD),
            linecard(wire.LineCardKind.QUEUE_REPORT),
            wire.QueueReport(queue=3, backlog_bytes=1000),
        )
        commit = light(wire.OpticalKind.COMMIT, wire.Commit(next_version=1), dst_edge=self.edge)
        shim = header()
        ticks = [
            frame(
                ethernet(wire.ETHERTYPE_LINECARD),
                linecard(wire.LineCardKind.INTERVAL_TICK),
                wire.IntervalTick(timer=timer, local_ns=local_ns),
                wire.QueueReport(queue=0, backlog_bytes=1000),
            )
            for timer in wire.IntervalTimer
            for local_ns in (START_NS, START_NS + RTT_NS)
        ]
        return [
            (e.HOST_PORT, from_host(wire.ETHERTYPE_IPV4, ipv4(REMOTE_HOST, shim.encode()), shim)),
            *((wire.PORT_LINECARD, interval_tick) for interval_tick in ticks),
            (e.HOST_PORT, from_host(wire.ETHERTYPE_IPV4, to_remote, DATAGRAM)),
            (e.HOST_PORT, from_host(wire.ETHERTYPE_ARP, arp)),
            (e.FIBRE, data),
            (e.FIBRE, beacon),
            (e.FIBRE, self.request()),
            (wire.PORT_LINECARD, frame(*tick(e.SLOT, frame_number=5))),
            (wire.PORT_LINECARD, frame(*tick(0, frame_number=6))),
            (wire.PORT_LINECARD, frame(*tick(1, repeat=1))),
            (wire.PORT_LINECARD, frame(*tick(0, repeat=1))),
            (wire.PORT_LINECARD, report),
            (wire.PORT_CPU, commit),
            (wire.PORT_CORE_CONTROL, beacon),
        ]

    def request(self, sequence=1):
        return light(
            wire.OpticalKind.REQUEST,
            wire.Request(frame=4),
            bytes(wire.REQUEST_ENTRIES * wire.RequestEntry.SIZE),
            src_edge=e.REMOTE,
            dst_edge=self.edge,
            sequence=sequence,
        )


class HostileToMaster(HostileTest, e.MasterTest):
    def runTest(self):
        last = [
            (wire.PORT_LINECARD, frame(*tick(e.UNUSED_SLOT, frame_number=4))),
            (e.FIBRE, self.request(sequence=0xFFFFFFFF)),
        ]
        self.assertEqual(self.digest_of(self.templates(), OUT, last=last), MASTER_DIGEST)


class HostileToSlave(HostileTest, e.EdgeTest):
    def runTest(self):
        self.assertEqual(self.digest_of(self.templates(), OUT), SLAVE_DIGEST)


NONCE, LATER_NONCE, FRAME, MARGIN_NS = 70, 71, 5, 1_000


class MembershipMessages:
    """Mixin: what an edge that joins by invitation and its master tell each other, and the controller either of them."""

    def message(self, kind, *parts):
        src_edge = e.MASTER if self.edge == e.SLAVE else e.SLAVE
        return light(kind, *parts, src_edge=src_edge, dst_edge=self.edge)

    def templates(self):
        kind, code = wire.OpticalKind, wire.FaultCode
        messages = [
            self.message(
                kind.CONFIGURATION,
                wire.Configuration(
                    session=NONCE, slot_ns=e.SLOT_NS, guard_ns=e.GUARD_NS, slots=20, hold_frames=3, phase_ns=1_000
                ),
            ),
            *(
                self.message(
                    kind.SYNC,
                    wire.Stamp(sent_ns=900, received_ns=2_000),
                    wire.Sync(session=NONCE, frame=frame_number, edge_ns=1_000, phase_ns=900),
                )
                for frame_number in (FRAME, FRAME + 1)
            ),
            self.message(
                kind.COMMIT, wire.Commit(frame=FRAME, active_version=2, next_version=3, first_frame=FRAME + 1)
            ),
            *(
                self.message(kind.FAULT, wire.Fault(session=session, frame=FRAME, code=code.SHUTDOWN, edge=e.MASTER))
                for session in (0, NONCE)
            ),
        ]
        invitations = [
            self.message(
                kind.INVITATION,
                wire.Stamp(received_ns=5_000),
                wire.Invitation(nonce=nonce, mac=e.MAC, flags=flags, answer_ns=300_000),
            )
            for nonce in (NONCE, LATER_NONCE)
            for flags in (0, 1)
        ]
        alarm = frame(
            ethernet(wire.ETHERTYPE_LINECARD), linecard(wire.LineCardKind.ALARM), wire.Alarm(code=code.LOSS_OF_SIGNAL)
        )
        ticks = [
            tick(wire.ANSWER_SLOT),
            tick(e.SLOT, frame_number=FRAME),
            tick(1, frame_number=FRAME, repeat=1),
            tick(1, frame_number=FRAME, repeat=2),
            tick(e.SLOT, frame_number=FRAME + 1),
        ]
        return [
            *((e.FIBRE, message) for message in messages + invitations),
            *((wire.PORT_CPU, message) for message in messages),
            *((wire.PORT_LINECARD, frame(*parts)) for parts in ticks),
            (wire.PORT_LINECARD, alarm),
        ]


class HostileToMember(MembershipMessages, Hostile, e.EdgeTest):
    def runTest(self):
        self.switch.set_default("membership", "by_invitation", fault_port=e.FIBRE, margin_ns=MARGIN_NS, out_of_band=0)
        self.grant(bank=0, slot=e.SLOT, queue=2)
        self.switch.insert("signaling", {"core": 0, "slot": 1, "repeat": 1}, "send_sync", edge=e.MASTER, port=e.FIBRE)
        self.assertEqual(self.digest_of(self.templates(), OUT), MEMBER_DIGEST)


class HostileToInvitingMaster(MembershipMessages, Hostile, e.MasterTest):
    def runTest(self):
        self.switch.set_default("membership", "inviting", own_phase_ns=100)
        self.switch.insert("member", {"edge": e.SLAVE, "port": e.FIBRE}, "accept_session", session=NONCE)
        self.switch.insert("signaling", {"core": 0, "slot": 1, "repeat": 1}, "send_sync", edge=e.SLAVE, port=e.FIBRE)
        self.switch.insert("signaling", {"core": 0, "slot": 1, "repeat": 2}, "send_commit", edge=e.SLAVE, port=e.FIBRE)
        answer = self.message(wire.OpticalKind.INVITATION, wire.Stamp(sent_ns=1), wire.Invitation(nonce=1))
        self.assertEqual(self.digest_of(self.templates(), OUT, last=[(e.FIBRE, answer)]), INVITING_DIGEST)
