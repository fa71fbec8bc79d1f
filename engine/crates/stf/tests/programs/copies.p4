// SPDX-License-Identifier: Apache-2.0
// Clones, multicast, counters, registers and meters, chosen by `op`; `a` is an index, a session or a group.
#include "common.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(16, CounterType.packets_and_bytes) seen;
    register<bit<32>>(16) memory;
    meter(16, MeterType.packets) police;

    apply {
        standard.egress_spec = 1;
        seen.count((bit<32>)hdr.probe.a);
        if (hdr.probe.op == 1) {
            clone(CloneType.I2E, (bit<32>)hdr.probe.a);
        } else if (hdr.probe.op == 2) {
            standard.mcast_grp = (bit<16>)hdr.probe.a;
        } else if (hdr.probe.op == 3) {
            memory.read(hdr.probe.c, (bit<32>)hdr.probe.a);
        } else if (hdr.probe.op == 4) {
            memory.write((bit<32>)hdr.probe.a, hdr.probe.c);
        } else if (hdr.probe.op == 5) {
            police.execute_meter((bit<32>)hdr.probe.a, hdr.probe.answer);
        } else {
            log_msg("dropped a packet with op = {}", {hdr.probe.op});
            mark_to_drop(standard);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.instance_type != 0) {
            hdr.probe.b = standard.egress_rid;
            hdr.probe.answer = (bit<8>)standard.instance_type;
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
