// SPDX-License-Identifier: Apache-2.0
// Says what a packet met in the queue before egress. Goes from port 1 to 2 and back; the first byte is the priority.
#include <core.p4>
#include <v1model.p4>

header report_t {
    bit<8>  priority;
    bit<40> rest_of_dst;
    bit<48> src;
    bit<16> ether_type;
    bit<32> enq_timestamp;
    bit<32> enq_qdepth;
    bit<32> deq_timedelta;
    bit<32> deq_qdepth;
    bit<48> ingress_timestamp;
}

struct headers_t {
    report_t report;
}

struct metadata_t {}

parser QueuesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.report);
        transition accept;
    }
}

control QueuesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control QueuesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.priority = hdr.report.priority[2:0];
        standard.egress_spec = 3 - standard.ingress_port;
    }
}

control QueuesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.report.enq_timestamp = standard.enq_timestamp;
        hdr.report.enq_qdepth = (bit<32>)standard.enq_qdepth;
        hdr.report.deq_timedelta = standard.deq_timedelta;
        hdr.report.deq_qdepth = (bit<32>)standard.deq_qdepth;
        hdr.report.ingress_timestamp = standard.ingress_global_timestamp;
    }
}

control QueuesCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control QueuesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
    }
}

V1Switch(QueuesParser(), QueuesVerify(), QueuesIngress(), QueuesEgress(), QueuesCompute(), QueuesDeparser()) main;
