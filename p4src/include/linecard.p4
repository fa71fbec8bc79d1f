// SPDX-License-Identifier: Apache-2.0
// What a line card sends: queue reports are noted, the tick at a slot's start opens a gate, and the
// further ticks of a signaling slot become signaling messages.
//
//   queue_report ──> backlog_bytes, arrived_bytes; of an interval tick ──> XCP
//   slot_tick, repeat 0 ──> flip, announce ──> slot_schedule ──grant──> flow_control
//              repeat 1.. ──> signaling ──send_request / send_commit──> message
#ifndef SLOTWISE_LINECARD_P4
#define SLOTWISE_LINECARD_P4
#include "schedule.p4"
#include "signaling.p4"

control LineCard(inout edge_headers_t hdr,
                 inout edge_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    @name(".EdgeIngress") Schedule() schedule;
    @name(".EdgeIngress") Signaling() signaling;

    apply {
        if (hdr.queue_report.isValid()) {
            if ((bit<32>)hdr.queue_report.queue >= MAX_QUEUES) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else {
                backlog_bytes.write((bit<32>)hdr.queue_report.queue, hdr.queue_report.backlog_bytes);
                arrived_bytes.write((bit<32>)hdr.queue_report.queue, hdr.queue_report.arrived_bytes);
                meta.xcp = hdr.interval_tick.isValid();
                meta.output = (bit<32>)hdr.queue_report.queue;
            }
        } else if (hdr.slot_tick.isValid()) {
            if (hdr.slot_tick.repeat == 0) {
                schedule.apply(hdr, meta, standard_metadata);
            } else {
                signaling.apply(hdr, meta, standard_metadata);
            }
        } else if (hdr.linecard.isValid()) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        }
    }
}

#endif
