# SPDX-License-Identifier: Apache-2.0
"""A small P4Runtime client that speaks names: tables, keys, actions and parameters as P4Info names them."""

import queue
import threading
from functools import cache

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc

ELECTION_ID = p4rt.Uint128(high=0, low=1)
TIMEOUT_S = 10


def canonical(value):
    """P4Runtime's byte string for an unsigned number: the fewest bytes that hold it, at least one."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


@cache
def program(json_path, p4info_path, device_id):
    """The P4Info of a program and the request, as bytes, that installs it: made once for all tests of a file."""
    info = text_format.Parse(p4info_path.read_text(encoding="utf-8"), p4info_pb2.P4Info())
    request = p4rt.SetForwardingPipelineConfigRequest(
        device_id=device_id,
        election_id=ELECTION_ID,
        config=p4rt.ForwardingPipelineConfig(p4info=info, p4_device_config=json_path.read_bytes()),
        action=p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
    )
    return info, request.SerializeToString()


class Switch:
    """Primary controller of one device."""

    def __init__(self, address, device_id):
        self.device_id = device_id
        self.info = p4info_pb2.P4Info()
        self.packet_ins = queue.Queue()
        self._outgoing = queue.Queue()
        self._arbitrated = queue.Queue()
        self._channel = grpc.insecure_channel(address)
        self._stub = p4runtime_pb2_grpc.P4RuntimeStub(self._channel)
        self._push = self._channel.unary_unary(
            "/p4.v1.P4Runtime/SetForwardingPipelineConfig",
            request_serializer=bytes,
            response_deserializer=p4rt.SetForwardingPipelineConfigResponse.FromString,
        )
        self._stream = self._stub.StreamChannel(iter(self._outgoing.get, None))
        threading.Thread(target=self._receive, daemon=True).start()
        arbitration = p4rt.MasterArbitrationUpdate(device_id=device_id, election_id=ELECTION_ID)
        self._outgoing.put(p4rt.StreamMessageRequest(arbitration=arbitration))
        answer = self._arbitrated.get(timeout=TIMEOUT_S)
        if answer.status.code != 0:
            raise RuntimeError(f"not primary of device {device_id}: {answer.status.message}")

    def _receive(self):
        try:
            for message in self._stream:
                if message.HasField("packet"):
                    self.packet_ins.put(message.packet)
                elif message.HasField("arbitration"):
                    self._arbitrated.put(message.arbitration)
        except grpc.RpcError:
            pass  # the stream ends with the switch or with close()

    def close(self):
        self._outgoing.put(None)
        self._channel.close()

    def push(self, json_path, p4info_path):
        """Installs a program, which resets tables, registers and counters."""
        self.info, request = program(json_path, p4info_path, self.device_id)
        self._push(request, timeout=TIMEOUT_S)

    @staticmethod
    def _named(objects, name):
        for found in objects:
            if name in (found.preamble.name, found.preamble.alias):
                return found
        raise KeyError(f"P4Info has no {name}")

    def _action(self, name, params):
        info = self._named(self.info.actions, name)
        ids = {p.name: p.id for p in info.params}
        if ids.keys() != params.keys():
            raise KeyError(f"{name} takes {sorted(ids)}, got {sorted(params)}")
        action = p4rt.Action(action_id=info.preamble.id)
        for param, value in params.items():
            action.params.add(param_id=ids[param], value=canonical(value))
        return p4rt.TableAction(action=action)

    @staticmethod
    def _match(field, value):
        """An exact match takes a number, LPM (value, prefix length), ternary (value, mask)."""
        match = p4rt.FieldMatch(field_id=field.id)
        if field.match_type == p4info_pb2.MatchField.LPM:
            match.lpm.value, match.lpm.prefix_len = canonical(value[0]), value[1]
        elif field.match_type == p4info_pb2.MatchField.TERNARY:
            match.ternary.value, match.ternary.mask = canonical(value[0]), canonical(value[1])
        else:
            match.exact.value = canonical(value)
        return match

    def _write(self, kind, entity):
        self._stub.Write(
            p4rt.WriteRequest(
                device_id=self.device_id, election_id=ELECTION_ID, updates=[p4rt.Update(type=kind, entity=entity)]
            ),
            timeout=TIMEOUT_S,
        )

    def insert(self, table, key, action, priority=0, **params):
        info = self._named(self.info.tables, table)
        fields = {f.name: f for f in info.match_fields}
        entry = p4rt.TableEntry(
            table_id=info.preamble.id,
            action=self._action(action, params),
            priority=priority,
            match=[self._match(fields[name], value) for name, value in key.items()],
        )
        self._write(p4rt.Update.INSERT, p4rt.Entity(table_entry=entry))

    def set_default(self, table, action, **params):
        info = self._named(self.info.tables, table)
        entry = p4rt.TableEntry(table_id=info.preamble.id, is_default_action=True, action=self._action(action, params))
        self._write(p4rt.Update.MODIFY, p4rt.Entity(table_entry=entry))

    def set_meter(self, name, index, cir, cburst, pir, pburst):
        """One cell of an indirect meter; rates and bursts in its unit."""
        entry = p4rt.MeterEntry(meter_id=self._named(self.info.meters, name).preamble.id)
        entry.index.index = index
        entry.config.cir, entry.config.cburst, entry.config.pir, entry.config.pburst = cir, cburst, pir, pburst
        self._write(p4rt.Update.MODIFY, p4rt.Entity(meter_entry=entry))

    def counter(self, name, index=None):
        """Packets and bytes counted in one cell of an indirect counter, or in all of them."""
        entry = p4rt.CounterEntry(counter_id=self._named(self.info.counters, name).preamble.id)
        if index is not None:
            entry.index.index = index
        request = p4rt.ReadRequest(device_id=self.device_id, entities=[p4rt.Entity(counter_entry=entry)])
        cells = [e.counter_entry.data for reply in self._stub.Read(request, timeout=TIMEOUT_S) for e in reply.entities]
        return sum(c.packet_count for c in cells), sum(c.byte_count for c in cells)

    def _metadata_ids(self, direction):
        return {m.name: m.id for m in self._named(self.info.controller_packet_metadata, direction).metadata}

    def packet_out(self, port, frame):
        ids = self._metadata_ids("packet_out")
        packet = p4rt.PacketOut(payload=frame)
        packet.metadata.add(metadata_id=ids["egress_port"], value=canonical(port))
        packet.metadata.add(metadata_id=ids["_pad"], value=canonical(0))
        self._outgoing.put(p4rt.StreamMessageRequest(packet=packet))

    def packet_in(self, timeout_s):
        """The next packet for the controller as (ingress port, frame); queue.Empty when none comes."""
        packet = self.packet_ins.get(timeout=timeout_s)
        port_id = self._metadata_ids("packet_in")["ingress_port"]
        ports = [int.from_bytes(m.value, "big") for m in packet.metadata if m.metadata_id == port_id]
        return ports[0], packet.payload
