// SPDX-License-Identifier: Apache-2.0
// What a line card sends: queue reports are noted, the tick at a slot's start opens a gate, and the
// further ticks of a signaling slot become signaling messages.
//
//   alarm ──> fault
//   queue_report ──> backlog_bytes, arrived_bytes; of an interval tick ──> XCP
//   slot_tick, repeat 0 ──> flip, announce ──> slot_schedule ──grant──> flow_control
//              repeat 1.. ──> signaling ──send_request / send_commit──> message
#ifndef SLOTWISE_LINECARD_P4
#define SLOTWISE_LINECARD_P4
#include "membership.p4"
#include "schedule.p4"
#include "signaling.p4"

// What the card found wrong, for the controller or in-band for the master. Whether there is light is also noted, for requests.
control Alarm(inout edge_headers_t hdr,
              inout edge_metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    Encapsulate() encapsulate;

    apply {
        if (hdr.alarm.code == (bit<8>)FaultCode.LOSS_OF_SIGNAL) {
            no_light.write(meta.core, (bit<1>)(~hdr.alarm.flags[0:0]));
        }
        if (meta.by_invitation == 0) {
            meta.drop_reason = DropReason.NO_SIGNALING;
        } else {
            hdr.fault.setValid();
            last_nonce.read(hdr.fault.session, meta.core);
            current_frame.read(hdr.fault.frame, meta.core);
            hdr.fault.code = hdr.alarm.code;
            hdr.fault.flags = hdr.alarm.flags;
            hdr.fault.edge = meta.edge_id;
            encapsulate.apply(hdr.ethernet, hdr.optical, OpticalKind.FAULT, 0, meta.edge_id, meta.master, SIGNALING_QUEUE);
            hdr.optical.inner_type = 0;
            hdr.linecard.setInvalid();
            hdr.alarm.setInvalid();
            if (meta.fault_port == PORT_CPU) {
                hdr.optical.core = (bit<8>)meta.core;
                hdr.packet_in.setValid();
                hdr.packet_in.ingress_port = standard_metadata.ingress_port;
                hdr.packet_in._pad = 0;
            }
            standard_metadata.egress_spec = meta.fault_port;
        }
    }
}

control LineCard(inout edge_headers_t hdr,
                 inout edge_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    @name(".EdgeIngress") Schedule() schedule;
    @name(".EdgeIngress") Signaling() signaling;
    AnswerInvitation() answer_invitation;
    MemberTick() member_tick;
    Alarm() alarm;

    bool silent = false;

    apply {
        if (!hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.queue_report.isValid() && !hdr.slot_tick.isValid() && !hdr.alarm.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (meta.core == NO_CORE) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (hdr.queue_report.isValid()) {
            if ((bit<32>)hdr.queue_report.queue >= MAX_QUEUES) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else {
                backlog_bytes.write((bit<32>)hdr.queue_report.queue, hdr.queue_report.backlog_bytes);
                arrived_bytes.write((bit<32>)hdr.queue_report.queue, hdr.queue_report.arrived_bytes);
                meta.xcp = hdr.interval_tick.isValid();
                meta.output = (bit<32>)hdr.queue_report.queue;
            }
        } else if (hdr.slot_tick.isValid() && hdr.slot_tick.slot == ANSWER_SLOT) {
            answer_invitation.apply(hdr, meta, standard_metadata);
        } else if (hdr.slot_tick.isValid()) {
            member_tick.apply(hdr, meta, standard_metadata, silent);
            if (!silent && hdr.slot_tick.repeat == 0) {
                schedule.apply(hdr, meta, standard_metadata);
            } else if (!silent) {
                signaling.apply(hdr, meta, standard_metadata);
            }
        } else {
            alarm.apply(hdr, meta, standard_metadata);
        }
    }
}

#endif
