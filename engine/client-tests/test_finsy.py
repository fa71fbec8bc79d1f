# SPDX-License-Identifier: Apache-2.0
"""`slotwise switch` as finsy sees it."""

import asyncio
import select
import subprocess
from contextlib import AsyncExitStack, aclosing

import finsy as fy
import pytest
from finsy.p4entity import P4Replica, P4ValueSetMember
from finsy.proto.stratum1.p4_role_config_pb2 import P4RoleConfig

from support import JSON, P4INFO, PATIENCE_S, TAGGED, Switch, frame

MS = 1_000_000


def controller(switch, **options):
    """A controller of the switch that sets the pipeline if it is the primary."""
    wanted = fy.SwitchOptions(p4info=P4INFO, p4blob=JSON, p4force=True)
    return fy.Switch("switch", switch.address, wanted(**options))


def with_controller(switch, scenario, **options):
    """Runs a coroutine function with a controller of a switch without entries."""

    async def run():
        async with controller(switch, **options) as connected:
            await scenario(connected)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def rule(dst, action, priority=1):
    """An entry of the table of all kinds of matches."""
    return fy.P4TableEntry("rules", match=fy.P4TableMatch({"hdr.ethernet.dst": dst}), action=action, priority=priority)


def entry(table, field, value, action, **rest):
    """An entry of a table with one field."""
    return fy.P4TableEntry(table, match=fy.P4TableMatch({field: value}), action=action, **rest)


async def everything(connected, *entities):
    """What a read finds."""
    return [found async for found in connected.read(list(entities))]


def test_entries_of_every_match_kind(switch, cables):
    full = fy.P4TableMatch(
        {
            "hdr.ethernet.dst": "0x11/&0xff",
            "hdr.ethernet.ether_type": (0x8000, 0x9000),
            "standard.ingress_port": 1,
        }
    )
    entries = [
        fy.P4TableEntry("rules", match=full, action=fy.P4TableAction("forward", port=2), priority=9, metadata=b"mine"),
        entry("routes", "hdr.tagged.address", "10.1.0.0/16", fy.P4TableAction("forward", port=3)),
        entry("hosts", "hdr.ethernet.dst", "00:00:00:00:00:12", fy.P4TableAction("metered", port=4)),
    ]

    async def scenario(connected):
        await connected.insert(entries)
        value_set = fy.P4ValueSetEntry("tagged_types", members=[P4ValueSetMember(TAGGED)])
        await connected.write([~value_set])
        found = await everything(connected, fy.P4TableEntry())
        assert sorted(it.table_id for it in found) == ["hosts", "routes", "rules"]
        assert [it.metadata for it in found if it.table_id == "rules"] == [b"mine"]
        for dst, data, out in (
            (0x11, frame(0x11), 2),
            (1, frame(1, ether_type=TAGGED, payload=bytes([10, 1, 2, 3, 0, 0]) + bytes(40)), 3),
            (0x12, frame(0x12), 4),
        ):
            cables[1].send(data)
            assert cables[out].receive() == data, dst
        default = fy.P4TableEntry("routes", is_default_action=True, action=fy.P4TableAction("forward", port=4))
        await connected.write([~default])
        assert [it.action for it in await everything(connected, fy.P4TableEntry("routes", is_default_action=True))] == [
            default.action
        ]
        fresh = [entry("routes", "hdr.tagged.address", "10.2.0.0/16", fy.P4TableAction("drop"))]
        with pytest.raises(fy.P4ClientError) as refused:
            await connected.insert([entries[0], *fresh, entries[1]])
        codes = {index: detail.canonical_code for index, detail in refused.value.details.items()}
        assert codes == {0: fy.GRPCStatusCode.ALREADY_EXISTS, 2: fy.GRPCStatusCode.ALREADY_EXISTS}
        await connected.delete_all()
        assert await everything(connected, fy.P4TableEntry()) == []

    with_controller(switch, scenario)


def test_counters_meters_and_registers(switch, cables):
    async def scenario(connected):
        host = entry("hosts", "hdr.ethernet.dst", 0x21, fy.P4TableAction("metered", port=2))
        meter = fy.P4MeterEntry("port_meter", index=5, config=fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4))
        await connected.write([+host, ~meter])
        cables[1].send(frame(0x21, src=0x1234))
        assert cables[2].receive() == frame(0x21, src=0x1234)
        counters = await everything(connected, fy.P4CounterEntry("port_counter", index=1))
        assert [it.data.packet_count for it in counters] == [1]
        counters = await everything(connected, fy.P4DirectCounterEntry("host_counter"))
        assert [it.data.packet_count for it in counters] == [1]
        assert await everything(connected, fy.P4MeterEntry("port_meter", index=5)) == [meter]
        registers = await everything(connected, fy.P4RegisterEntry("last_source", index=1))
        assert [it.data for it in registers] == [0x1234]

    with_controller(switch, scenario)


def test_members_groups_and_one_shots(switch, cables):
    async def scenario(connected):
        members = [
            fy.P4ActionProfileMember("uplinks", member_id=port, action=fy.P4TableAction("forward", port=port))
            for port in (2, 3)
        ]
        group = fy.P4ActionProfileGroup(
            "uplinks",
            group_id=7,
            max_size=4,
            members=[fy.P4Member(2, weight=1), fy.P4Member(3, weight=(2, 4))],
        )
        by_group = entry("by_uplink", "hdr.ethernet.src", 99, fy.P4IndirectAction(group_id=7))
        value_set = fy.P4ValueSetEntry("tagged_types", members=[P4ValueSetMember(TAGGED)])
        await connected.modify([value_set])
        await connected.insert(members)
        await connected.insert([group])
        await connected.insert([by_group])
        assert await everything(connected, fy.P4ActionProfileGroup("uplinks")) == [group]
        assert len(await everything(connected, fy.P4ActionProfileMember("uplinks"))) == 2
        data = frame(1, ether_type=TAGGED, payload=bytes(46))
        cables[1].send(data)
        readable, _, _ = select.select([cables[2].socket, cables[3].socket], [], [], PATIENCE_S)
        assert readable[0].recv(65536) == data
        await connected.delete([by_group])
        await connected.delete([group, *members])
        action_set = fy.P4IndirectAction(
            [(1, fy.P4TableAction("forward", port=4)), (2, fy.P4TableAction("forward", port=4))]
        )
        one_shot = entry("by_uplink", "hdr.ethernet.src", 99, action_set)
        await connected.insert([one_shot])
        assert [it.action for it in await everything(connected, fy.P4TableEntry("by_uplink"))] == [action_set]
        cables[1].send(data)
        assert cables[4].receive() == data

    with_controller(switch, scenario)


def test_multicast_and_clones(switch, cables):
    async def scenario(connected):
        group = fy.P4MulticastGroupEntry(5, replicas=(P4Replica(2, instance=1), P4Replica(3, instance=2)))
        session = fy.P4CloneSessionEntry(
            9, packet_length_bytes=20, class_of_service=1, replicas=(P4Replica(4, instance=7),)
        )
        await connected.insert(
            [
                group,
                session,
                rule("0x31/&0xff", fy.P4TableAction("flood", group=5)),
                rule("0x32/&0xff", fy.P4TableAction("mirror", port=2, session=9)),
            ]
        )
        cables[1].send(frame(0x31))
        assert (cables[2].receive(), cables[3].receive()) == (frame(0x31, src=1), frame(0x31, src=2))
        cables[1].send(frame(0x32))
        assert (cables[2].receive(), cables[4].receive()) == (frame(0x32), frame(0x32, src=7)[:20])
        assert await everything(connected, fy.P4MulticastGroupEntry()) == [group]
        assert await everything(connected, fy.P4CloneSessionEntry()) == [session]

    with_controller(switch, scenario)


async def first(messages):
    """The first message of a stream that never ends."""
    async with aclosing(messages):
        return await anext(messages)


def test_packets_digests_and_idle_timeouts(switch, cables):
    async def scenario(connected):
        packet = asyncio.create_task(first(connected.read_packets()))
        learned = asyncio.create_task(first(connected.read_digests("learn_t")))
        idle = asyncio.create_task(first(connected.read_idle_timeouts()))
        # The tasks open their queues before anything can come.
        await asyncio.sleep(0)
        cables[1].send(frame(0x41))
        assert (await packet).payload == frame(0x41)
        assert packet.result()["ingress_port"] == 1
        await connected.write([fy.P4PacketOut(frame(0x42), egress_port=3, _pad=0)])
        assert cables[3].receive() == frame(0x42)

        digest = fy.P4DigestEntry("learn_t", max_list_size=1, ack_timeout_ns=1000 * MS)
        host = entry("hosts", "hdr.ethernet.dst", 0x52, fy.P4TableAction("metered", port=2), idle_timeout_ns=20 * MS)
        await connected.write([+digest, +rule("0x51/&0xff", fy.P4TableAction("learn", port=2)), +host])
        cables[1].send(frame(0x51, src=0x1234))
        assert (await learned).data == [{"src": 0x1234, "port": 1}]
        await connected.write([learned.result().ack()])
        assert [it.match for it in (await idle).table_entry] == [{"dst": 0x52}]

    with_controller(switch, scenario)


def test_a_backup_takes_over_when_the_primary_leaves(switch):
    async def run():
        async with AsyncExitStack() as later:
            async with controller(switch) as primary:
                backup = await later.enter_async_context(controller(switch, p4force=False))
                assert (primary.is_primary, backup.is_primary) == (True, False)
                with pytest.raises(fy.P4ClientError):
                    await backup.insert([fy.P4MulticastGroupEntry(1)])
                took_over = backup.ee.event_future(fy.SwitchEvent.BECOME_PRIMARY)
            await took_over
            await backup.insert([fy.P4MulticastGroupEntry(1)])

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_role_is_held_to_its_config(switch, cables):
    async def scenario(everybody):
        hosts = everybody.p4info.tables["hosts"].id
        config = P4RoleConfig(exclusive_p4_ids=[hosts])
        async with controller(switch, p4info=None, p4blob=None, role_name="hosts", role_config=config) as limited:
            assert limited.is_primary and everybody.is_primary
            await limited.write([+entry("hosts", "hdr.ethernet.dst", 0x61, fy.P4TableAction("metered", port=2))])
            with pytest.raises(fy.P4ClientError):
                await limited.write([+fy.P4MulticastGroupEntry(1)])
            cables[1].send(frame(0x61))
            assert cables[2].receive() == frame(0x61)

    with_controller(switch, scenario)


def make_certificates(directory):
    """An authority's certificate, and a certificate with its key that it has signed."""

    def openssl(name, *arguments):
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-config",
                "/dev/null",
                "-subj",
                f"/CN={name}",
                "-keyout",
                directory / f"{name}.key",
                "-out",
                directory / f"{name}.pem",
                *arguments,
            ],
            check=True,
            capture_output=True,
        )

    openssl("authority", "-addext", "basicConstraints=critical,CA:TRUE")
    signed = ["-CA", directory / "authority.pem", "-CAkey", directory / "authority.key"]
    openssl("peer", *signed, "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1")
    return directory / "authority.pem", directory / "peer.pem", directory / "peer.key"


def test_mutual_tls(tmp_path):
    authority, certificate, key = make_certificates(tmp_path)
    secure = Switch(
        "--grpc-server-ssl",
        "--grpc-server-cert",
        str(certificate),
        "--grpc-server-key",
        str(key),
        "--grpc-server-cacert",
        str(authority),
        "--grpc-server-with-client-auth",
    )

    async def scenario(connected):
        assert connected.is_primary

    with_controller(
        secure, scenario, channel_credentials=fy.GRPCCredentialsTLS(cacert=authority, cert=certificate, private_key=key)
    )
    with pytest.raises(fy.P4ClientError):
        with_controller(
            secure, scenario, channel_credentials=fy.GRPCCredentialsTLS(cacert=authority, cert=None, private_key=None)
        )
    secure.stop()
