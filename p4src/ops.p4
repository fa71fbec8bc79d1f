// SPDX-License-Identifier: Apache-2.0
// Optical packet switch without slots; docs/ops.md has the rules.
//
//   fibre, a wavelength for data ──> label ──> next fibres ──> output that is free in time ──> reserved ──> wavelength of a fibre
//                                ──> frame behind a label ──> the label's output
//          the one for probes ─────> next fibre ──> XCP agent of the output for data ──> the fibre's one for probes
//   line card ──> interval ticks ──> XCP agent ──> line card
//   controller ──> packet-out ──> any port
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/ops_parser.p4"
#include "include/ops_params.p4"
#include "include/ops_sort.p4"
#include "include/ops_switching.p4"
#include "include/ops_probe.p4"
#include "include/packet_out.p4"
#include "include/drops.p4"

// The instances that hold tables and counters are named so that P4Info says OpsIngress.<table>.
control OpsIngress(inout ops_headers_t hdr,
                   inout ops_metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    @name(".OpsIngress") OpsParams() params;
    OpsSort() sort;
    PacketOut() send;
    @name(".OpsIngress") LabelRoute() label_route;
    @name(".OpsIngress") SwitchTrain() switch_train;
    FollowTrain() follow_train;
    ProbeWay() probe_way;
    @name(".OpsIngress") OpsAgent() agent;
    @name(".OpsIngress") DropAccounting() drop_accounting;

    counter(OPS_PORTS, CounterType.packets_and_bytes) output_traffic;

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        params.apply(standard_metadata, meta);

        if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else {
            sort.apply(hdr, meta);
        }

        if (meta.duty == Duty.SWITCH || meta.duty == Duty.ANSWER || meta.duty == Duty.PASS_ON) {
            label_route.apply(hdr, meta);
        }
        if (meta.duty == Duty.SWITCH) {
            switch_train.apply(hdr, meta, standard_metadata);
        } else if (meta.duty == Duty.FOLLOW) {
            follow_train.apply(hdr, meta, standard_metadata);
        } else if (meta.duty == Duty.ANSWER || meta.duty == Duty.PASS_ON) {
            probe_way.apply(hdr, meta, standard_metadata);
        } else if (meta.duty == Duty.LEAVE) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        }
        if (meta.duty == Duty.TICK || meta.duty == Duty.ANSWER && meta.drop_reason == DropReason.NONE) {
            agent.apply(hdr, meta, standard_metadata);
        }
        if (meta.egress != 0) {
            output_traffic.count(meta.egress);
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control OpsEgress(inout ops_headers_t hdr,
                  inout ops_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control OpsVerifyChecksum(inout ops_headers_t hdr, inout ops_metadata_t meta) {
    apply { }
}

control OpsComputeChecksum(inout ops_headers_t hdr, inout ops_metadata_t meta) {
    apply { }
}

V1Switch(OpsParser(),
         OpsVerifyChecksum(),
         OpsIngress(),
         OpsEgress(),
         OpsComputeChecksum(),
         OpsDeparser()) main;
