// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ANSWER_P4
#define SLOTWISE_ANSWER_P4
#include "edge_parser.p4"
#include "signaling.p4"

// What a card finds wrong, and the tick that was asked for to answer an invitation, become messages.
control Answer(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    // For the controller or in-band for the master. Whether there is light is also noted, for requests.
    @hidden action note_light() {
        no_light.write(meta.core, ~hdr.alarm.flags[0:0]);
    }

    @hidden action tell_fault() {
        hdr.fault.setValid();
        hdr.fault.session = meta.member.nonce;
        current_frame.read(hdr.fault.frame, meta.core);
        hdr.fault.code = hdr.alarm.code;
        hdr.fault.flags = hdr.alarm.flags;
        hdr.fault.edge = meta.edge_id;
        meta.kind = OpticalKind.FAULT;
        meta.egress_port = meta.fault_port;
        meta.dst_edge = meta.master;
        meta.to_fibre = 1;
        meta.duty = Duty.SEND_MESSAGE;
    }

    @hidden action answer_invitation() {
        answer.write(meta.core, ANSWER_SENT);
        hdr.stamp.setValid();
        hdr.stamp.sent_ns = 0;
        hdr.stamp.received_ns = 0;
        hdr.invitation.setValid();
        hdr.invitation.nonce = meta.member.nonce;
        hdr.invitation.mac = meta.mac;
        hdr.invitation.flags = INVITATION_ANSWER;
        hdr.invitation.answer_ns = 0;
        meta.kind = OpticalKind.INVITATION;
        meta.egress_port = (port_t)hdr.linecard.port;
        meta.dst_edge = meta.master;
        meta.to_fibre = 1;
        meta.duty = Duty.SEND_MESSAGE;
    }

    apply {
        if (hdr.alarm.isValid() && hdr.alarm.code == FaultCode.LOSS_OF_SIGNAL) {
            note_light();
        }
        if (meta.by_invitation == 0) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        } else if (hdr.alarm.isValid()) {
            tell_fault();
        } else if (meta.session != 0 || meta.member.answer != ANSWER_DUE) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        } else {
            answer_invitation();
        }
    }
}

#endif
