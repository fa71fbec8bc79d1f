// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_EDGE_CONTROL_P4
#define SLOTWISE_EDGE_CONTROL_P4
#include "edge_parser.p4"
#include "beacon.p4"
#include "check.p4"
#include "master.p4"
#include "measure.p4"
#include "membership.p4"
#include "packet_out.p4"

// What the controller says to this switch: a commit or its shutdown for a master, a message for a member, or a beacon.
control MessageForSelf(inout edge_headers_t hdr,
                       inout edge_metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    CheckSeal() check_seal;
    StageVersion() stage;
    TakeOrder() take_order;
    TakeBeacon() take_beacon;
    MemberMessage() member_message;

    apply {
        check_seal.apply(hdr, meta.drop_reason);
        if (meta.drop_reason == DropReason.NONE) {
            if (meta.core == NO_CORE) {
                meta.drop_reason = DropReason.BAD_FIELD;
            } else if (hdr.optical.dst_edge != meta.edge_id) {
                meta.drop_reason = DropReason.MISDIRECTED;
            } else if (hdr.fault.isValid() && meta.inviting == 1) {
                take_order.apply(meta.core, hdr.fault, meta.drop_reason);
            } else if (hdr.configuration.isValid() || hdr.sync.isValid() || hdr.fault.isValid()) {
                // An invitation comes as light only: its answer is timed by it.
                member_message.apply(hdr, meta, standard_metadata, (bit<16>)PORT_OPTICAL_BASE + (bit<16>)hdr.optical.core);
            } else if (!hdr.commit.isValid()) {
                meta.drop_reason = DropReason.BAD_VERSION;
            } else if (meta.is_master == 0 && meta.out_of_band == 1) {
                take_beacon.apply(hdr, meta);
            } else if (meta.is_master == 0) {
                meta.drop_reason = DropReason.BAD_COMMIT;
            } else {
                stage.apply(meta.core, hdr.commit, meta.drop_reason);
            }
        }
    }
}

// Packets from the controller: for this switch, or something to send.
control EdgeControl(inout edge_headers_t hdr,
                    inout edge_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    MessageForSelf() message_for_self;
    PacketOut() send;

    apply {
        if (hdr.packet_out.egress_port != PORT_SELF) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else if (!hdr.optical.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else {
            message_for_self.apply(hdr, meta, standard_metadata);
        }
    }
}

#endif
