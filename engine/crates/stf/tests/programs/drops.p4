// SPDX-License-Identifier: Apache-2.0
// Drops by an action that has the standard metadata as a parameter, so that p4c gives it a copy: `a` chooses the entry.
#include "common.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop(inout standard_metadata_t metadata) {
        mark_to_drop(metadata);
    }

    action multicast(bit<16> group) {
        standard.mcast_grp = group;
    }

    table fate {
        key = {
            hdr.probe.a: exact;
        }
        actions = {
            drop(standard);
            multicast;
        }
        default_action = drop(standard);
    }

    apply {
        standard.egress_spec = 1;
        if (hdr.probe.op == 1) {
            standard.mcast_grp = 3;
            fate.apply();
        } else if (hdr.probe.op == 2) {
            fate.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;
