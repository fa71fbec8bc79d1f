// SPDX-License-Identifier: Apache-2.0
// Behind the traffic manager, of a program that has decided everything before it.
#ifndef SLOTWISE_TNA_NO_EGRESS_P4
#define SLOTWISE_TNA_NO_EGRESS_P4
#include "target.p4"

struct no_headers_t { }

struct no_metadata_t { }

parser NoEgressParser(packet_in packet,
                      out no_headers_t hdr,
                      out no_metadata_t meta,
                      out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control NoEgress(inout no_headers_t hdr,
                 inout no_metadata_t meta,
                 in egress_intrinsic_metadata_t intrinsic,
                 in egress_intrinsic_metadata_from_parser_t from_parser,
                 inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                 inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply { }
}

control NoEgressDeparser(packet_out packet,
                         inout no_headers_t hdr,
                         in no_metadata_t meta,
                         in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply { }
}

#endif
