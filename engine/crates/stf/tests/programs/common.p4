// SPDX-License-Identifier: Apache-2.0
// What the programs share: a probe, and the parts of v1model that they do not use.
#include <core.p4>
#include <v1model.p4>

header probe_t {
    bit<8>  op;
    bit<8>  a;
    bit<16> b;
    bit<32> c;
    bit<8>  answer;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t {
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}
