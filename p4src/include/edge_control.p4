// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_EDGE_CONTROL_P4
#define SLOTWISE_EDGE_CONTROL_P4
#include "edge_parser.p4"
#include "master.p4"
#include "packet_out.p4"

// Packets from the controller: a commit for the master itself, or something to send.
control EdgeControl(inout edge_headers_t hdr,
                    inout edge_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    StageVersion() stage;
    PacketOut() send;

    apply {
        if (hdr.packet_out.egress_port != PORT_SELF) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else if (!hdr.optical.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.commit.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (meta.is_master == 0) {
            meta.drop_reason = DropReason.BAD_COMMIT;
        } else {
            stage.apply(hdr.commit, meta.drop_reason);
        }
    }
}

#endif
