// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_PACKET_OUT_P4
#define SLOTWISE_PACKET_OUT_P4
#include "headers.p4"

// A packet from the controller leaves unchanged by the port that it names.
control PacketOut(in packet_out_t destination,
                  inout standard_metadata_t standard_metadata,
                  inout DropReason drop_reason) {
    apply {
        if (destination.egress_port == PORT_SELF || destination.egress_port >= PORT_CPU) {
            drop_reason = DropReason.UNEXPECTED_PORT;
        } else {
            standard_metadata.egress_spec = destination.egress_port;
        }
    }
}

#endif
