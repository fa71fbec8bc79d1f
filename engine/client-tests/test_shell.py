# SPDX-License-Identifier: Apache-2.0
"""`slotwise switch` as p4runtime-shell sees it."""

import grpc
import p4runtime_sh.shell as sh
import pytest
from p4.v1 import p4runtime_pb2
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeWriteException

from support import JSON, P4INFO, PATIENCE_S, frame


@pytest.fixture(scope="module", autouse=True)
def shell(switch):
    """A primary that has set the pipeline."""
    config = sh.FwdPipeConfig(str(P4INFO), str(JSON))
    sh.setup(device_id=1, grpc_addr=switch.address, election_id=(0, 1), config=config, verbose=False)
    yield sh
    sh.teardown()


def rule(dst, action, **params):
    """An entry of the table of all kinds of matches."""
    entry = sh.TableEntry("rules")(action=action)
    entry.match["hdr.ethernet.dst"] = f"{dst}&&&0xffffffffffff"
    entry.priority = 1
    for name, value in params.items():
        entry.action[name] = str(value)
    entry.insert()
    return entry


def codes(error):
    """The canonical codes of a refused write."""
    return [code.canonical_code for _, code in error.value.errors]


def test_version():
    assert sh.APIVersion().startswith("1.")


def test_entries_of_every_match_kind(cables):
    entry = rule(0x11, "forward", port=2)
    entry.match["hdr.ethernet.ether_type"] = "0x8000..0x9000"
    entry.match["standard.ingress_port"] = "1"
    entry.action["port"] = "3"
    entry.insert()
    with pytest.raises(P4RuntimeWriteException) as refused:
        entry.insert()
    assert codes(refused) == [6]
    route = sh.TableEntry("routes")(action="forward")
    route.match["hdr.tagged.address"] = "10.1.0.0/16"
    route.action["port"] = "4"
    route.insert()
    host = sh.TableEntry("hosts")(action="metered")
    host.match["hdr.ethernet.dst"] = "00:00:00:00:00:12"
    host.action["port"] = "2"
    host.insert()
    assert len(list(sh.TableEntry("rules").read())) == 2
    cables[1].send(frame(0x12))
    assert cables[2].receive() == frame(0x12)
    for written in (entry, route, host):
        written.delete()
    assert list(sh.TableEntry("routes").read()) == []


def test_counters_and_meters(cables):
    counter = sh.CounterEntry("port_counter")
    counter.index = 1
    counter.packet_count = 10
    counter.modify()
    host = sh.TableEntry("hosts")(action="metered")
    host.match["hdr.ethernet.dst"] = "0x21"
    host.action["port"] = "2"
    host.meter_config.cir = host.meter_config.pir = 1
    host.meter_config.cburst = host.meter_config.pburst = 1000
    host.insert()
    cables[1].send(frame(0x21))
    assert cables[2].receive() == frame(0x21)
    assert [cell.packet_count for cell in sh.CounterEntry("port_counter").read() if cell.index == 1] == [11]
    direct = sh.DirectCounterEntry("host_counter")
    direct.table_entry.match["hdr.ethernet.dst"] = "0x21"
    assert [cell.packet_count for cell in direct.read()] == [1]
    rates = sh.DirectMeterEntry("host_meter")
    rates.table_entry.match["hdr.ethernet.dst"] = "0x21"
    assert [cell.cburst for cell in rates.read()] == [1000]
    meter = sh.MeterEntry("port_meter")
    meter.index = 3
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    assert [cell.pir for cell in meter.read()] == [3]
    host.delete()


def test_members_groups_and_one_shots(cables):
    for member_id, port in ((1, 2), (2, 3)):
        member = sh.ActionProfileMember("uplinks")(member_id=member_id, action="forward")
        member.action["port"] = str(port)
        member.insert()
    group = sh.ActionProfileGroup("uplinks")(group_id=7)
    group.max_size = 4
    group.add(1, weight=1)
    group.add(2, weight=2)
    group.insert()
    assert [len(found.members) for found in sh.ActionProfileGroup("uplinks").read()] == [2]
    entry = sh.TableEntry("by_uplink")(group_id=7)
    entry.match["hdr.ethernet.src"] = "99"
    entry.insert()
    assert [found.group_id for found in sh.TableEntry("by_uplink").read()] == [7]
    with pytest.raises(P4RuntimeWriteException) as refused:
        group.delete()
    assert codes(refused) == [9]
    entry.delete()
    group.delete()
    for member_id in (1, 2):
        sh.ActionProfileMember("uplinks")(member_id=member_id).delete()

    entry = sh.TableEntry("by_uplink")
    entry.match["hdr.ethernet.src"] = "99"
    action = sh.Action("forward")
    action["port"] = "4"
    entry.oneshot.add(action)
    entry.insert()
    assert [found.oneshot.actions[0].weight for found in sh.TableEntry("by_uplink").read()] == [1]
    entry.delete()


def test_multicast_and_clones(cables):
    group = sh.MulticastGroupEntry(5).add(2, 1).add(3, 2)
    group.insert()
    flood = rule(0x31, "flood", group=5)
    cables[1].send(frame(0x31))
    assert (cables[2].receive(), cables[3].receive()) == (frame(0x31, src=1), frame(0x31, src=2))
    session = sh.CloneSessionEntry(9).add(4, 7)
    session.packet_length_bytes = 20
    session.insert()
    mirror = rule(0x32, "mirror", port=2, session=9)
    cables[1].send(frame(0x32))
    assert cables[2].receive() == frame(0x32)
    assert cables[4].receive() == frame(0x32, src=7)[:20]
    assert [found.session_id for found in sh.CloneSessionEntry(0).read()] == [9]
    for written in (flood, mirror, group, session):
        written.delete()


def test_packets_of_the_controller(cables):
    packets = sh.PacketIn()
    cables[1].send(frame(0x41))
    packet = packets.packet_in_queue.get(timeout=PATIENCE_S).packet
    assert (packet.payload, packet.metadata[0].value) == (frame(0x41), b"\x01")
    out = sh.PacketOut(frame(0x42))
    out.metadata["egress_port"] = "3"
    out.metadata["_pad"] = "0"
    out.send()
    assert cables[3].receive() == frame(0x42)


def test_digests_and_idle_timeouts(cables):
    lists, idle = sh.DigestList(), sh.IdleTimeoutNotification()
    digest = sh.DigestEntry("learn_t")
    digest.max_list_size = 1
    digest.ack_timeout_ns = 10**9
    digest.insert()
    learn = rule(0x51, "learn", port=2)
    cables[1].send(frame(0x51, src=0x1234))
    learned = lists.digest_list_queue.get(timeout=PATIENCE_S).digest
    assert [member.bitstring for member in learned.data[0].struct.members] == [b"\x12\x34", b"\x01"]
    host = sh.TableEntry("hosts")(action="metered")
    host.match["hdr.ethernet.dst"] = "0x52"
    host.action["port"] = "2"
    host.idle_timeout_ns = 20_000_000
    host.insert()
    expired = idle.notification_queue.get(timeout=PATIENCE_S).idle_timeout_notification
    assert expired.table_entry[0].idle_timeout_ns == 20_000_000
    for written in (learn, host, digest):
        written.delete()


def test_a_backup_reads_and_does_not_write(switch):
    backup = P4RuntimeClient(1, switch.address, (0, 0))
    assert backup.get_p4info() == sh.client.get_p4info()
    update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.INSERT)
    update.entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id = 1
    with pytest.raises(grpc.RpcError, match="PERMISSION_DENIED"):
        backup.write_update(update)
    backup.tear_down()
