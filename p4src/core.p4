// SPDX-License-Identifier: Apache-2.0
// Photonic core: a space switch without buffers, reconfigured at each slot's start.
//
//   control unit ──> slot tick ──┐
//   master ──> beacon ───────────┴──> slot, version
//                                        │
//   fibre ──> guard, crossbar, overrun, collision ──> fibre
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/core_parser.p4"
#include "include/core_control.p4"
#include "include/crossbar.p4"
#include "include/packet_out.p4"
#include "include/drops.p4"

// The instances that hold tables and counters are named so that P4Info says CoreIngress.<table>.
control CoreIngress(inout core_headers_t hdr,
                    inout core_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    @name(".CoreIngress") CoreParams() params;
    CoreClock() clock;
    CoreBeacon() beacon;
    PacketOut() send;
    @name(".CoreIngress") Crossbar() crossbar;
    @name(".CoreIngress") DropAccounting() drop_accounting;

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        params.apply(meta);

        if (standard_metadata.ingress_port >= PORT_OPTICAL_BASE
            && standard_metadata.ingress_port < PORT_OPTICAL_BASE + MAX_FIBRES) {
            crossbar.apply(meta, standard_metadata);
        } else if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else if (standard_metadata.ingress_port == PORT_LINECARD) {
            clock.apply(hdr, meta, standard_metadata);
        } else if (standard_metadata.ingress_port == PORT_CORE_CONTROL) {
            beacon.apply(hdr, meta);
        } else if (standard_metadata.ingress_port == PORT_CPU) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control CoreEgress(inout core_headers_t hdr,
                   inout core_metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

control CoreVerifyChecksum(inout core_headers_t hdr, inout core_metadata_t meta) {
    apply { }
}

control CoreComputeChecksum(inout core_headers_t hdr, inout core_metadata_t meta) {
    apply { }
}

V1Switch(CoreParser(),
         CoreVerifyChecksum(),
         CoreIngress(),
         CoreEgress(),
         CoreComputeChecksum(),
         CoreDeparser()) main;
