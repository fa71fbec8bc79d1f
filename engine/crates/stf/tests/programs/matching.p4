// SPDX-License-Identifier: Apache-2.0
// One table for each match kind, chosen by `op`; the answer comes back on port 1.
#include "common.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) hits;
    action_selector(HashAlgorithm.crc16, 16, 8) members;

    action answer(bit<8> value, bit<9> port) {
        hdr.probe.answer = value;
        standard.egress_spec = port;
    }

    action counted(bit<8> value) {
        hits.count();
        hdr.probe.answer = value;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table exact_table {
        key = {
            hdr.probe.a: exact @name("a");
            hdr.probe.b: exact;
        }
        actions = { counted; drop; NoAction; }
        counters = hits;
        default_action = NoAction();
    }

    table lpm_table {
        key = { hdr.probe.c: lpm @name("address"); }
        actions = { answer; drop; }
        default_action = drop();
    }

    table ternary_table {
        key = {
            hdr.probe.a: ternary;
            hdr.probe.b: ternary;
        }
        actions = { answer; drop; }
        default_action = drop();
    }

    table range_table {
        key = {
            hdr.probe.b: range;
            hdr.probe.a: optional;
        }
        actions = { answer; drop; }
        default_action = drop();
    }

    table member_table {
        key = {
            hdr.probe.a: exact;
            hdr.probe.c: selector;
        }
        actions = { answer; drop; }
        implementation = members;
    }

    table valid_table {
        key = { hdr.probe.isValid(): exact @name("probe.$valid$"); }
        actions = { answer; drop; }
        default_action = drop();
    }

    apply {
        standard.egress_spec = 1;
        if (hdr.probe.op == 1) {
            exact_table.apply();
        } else if (hdr.probe.op == 2) {
            lpm_table.apply();
        } else if (hdr.probe.op == 3) {
            ternary_table.apply();
        } else if (hdr.probe.op == 4) {
            range_table.apply();
        } else if (hdr.probe.op == 5) {
            member_table.apply();
        } else if (hdr.probe.op == 6) {
            valid_table.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
