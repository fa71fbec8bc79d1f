// SPDX-License-Identifier: Apache-2.0
// What leaves, each in one place: behind an optical header, for the controller, for the line card.
#ifndef SLOTWISE_EMIT_P4
#define SLOTWISE_EMIT_P4
#include "edge_parser.p4"

register<bit<32>>(MAX_QUEUES) sequences;  // last one given out, by queue

// Puts an optical header between Ethernet and what follows. `meta.output` is `meta.queue`, below MAX_QUEUES.
control Encapsulate(inout edge_headers_t hdr, inout edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action encapsulate() {
        hdr.optical.setValid();
        hdr.optical.version = OPTICAL_VERSION;
        hdr.optical.kind = meta.kind;
        hdr.optical.traffic_class = meta.traffic_class;
        hdr.optical.src_edge = meta.edge_id;
        hdr.optical.dst_edge = meta.dst_edge;
        hdr.optical.queue = meta.queue;
        hdr.optical.train = meta.train_part;
        hdr.optical.core = 0;
        sequences.read(hdr.optical.sequence, meta.output);
        hdr.optical.sequence = hdr.optical.sequence + 1;
        sequences.write(meta.output, hdr.optical.sequence);
        hdr.optical.inner_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        standard_metadata.egress_spec = meta.egress_port;
    }

    apply {
        encapsulate();
    }
}

// A tick or an alarm has become a message.
control SendMessage(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    @hidden action leave_card() {
        hdr.optical.inner_type = 0;
        hdr.linecard.setInvalid();
    }

    @hidden action for_controller() {
        hdr.optical.core = (bit<8>)meta.core;
        meta.to_controller = 1;
    }

    apply {
        leave_card();
        if (meta.egress_port == PORT_CPU) {
            for_controller();
        }
    }
}

control ToController(inout edge_headers_t hdr, in edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action send() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in._pad = 0;
        hdr.check.setValid();
        hdr.check.crc = meta.crc;
        standard_metadata.egress_spec = PORT_CPU;
    }

    apply {
        send();
    }
}

// Turns a control message or a tick into one for the line card of its star.
control ToLineCard(inout edge_headers_t hdr, in edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action send() {
        hdr.ethernet.ether_type = ETHERTYPE_LINECARD;
        hdr.linecard.setValid();
        hdr.linecard.version = LINECARD_VERSION;
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.linecard.port = (bit<16>)PORT_OPTICAL_BASE + meta.core[15:0];
        hdr.flow_control.setValid();
        hdr.flow_control.queue = meta.queue;
        hdr.flow_control.op = meta.op;
        hdr.flow_control.reserved = 0;
        hdr.flow_control.open_ns = meta.open_ns;
        hdr.flow_control.close_ns = meta.close_ns;
        hdr.flow_control.value = meta.value;
        hdr.optical.setInvalid();
        hdr.check.setInvalid();
        hdr.stamp.setInvalid();
        hdr.invitation.setInvalid();
        hdr.configuration.setInvalid();
        hdr.sync.setInvalid();
        hdr.fault.setInvalid();
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        send();
    }
}

#endif
