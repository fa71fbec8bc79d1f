// SPDX-License-Identifier: Apache-2.0
// The device numbers its ports by pipe and channel; programs know the plan of constants.p4. What comes is numbered by the device's
// port metadata, what leaves by `device_port`.
#ifndef SLOTWISE_TNA_PORTS_P4
#define SLOTWISE_TNA_PORTS_P4
#include "target.p4"
#include "../include/constants.p4"

// The pipe's loop: what leaves by it comes back.
const port_t PORT_LOOP = 509;

// That of the pipe beside an edge's.
const port_t PORT_SIDE = 507;

// Tests of P4Testgen have the plan's numbers on the device, too.
#ifdef P4TESTGEN
#define READ_PORT(into) \
    packet.advance(PORT_METADATA_SIZE); \
    into = intrinsic.ingress_port;
#else
// What the control plane has written for a port of the device: its number in the plan.
struct port_metadata_t {
    @padding bit<7> _pad;
    port_t          port;
}

#define READ_PORT(into) \
    port_metadata_t metadata = port_metadata_unpack<port_metadata_t>(packet); \
    into = metadata.port;
#endif

// By the port that the program has chosen, or dropped.
control ToDevice(in standard_metadata_t standard_metadata,
                 inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                 inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    action send(PortId_t port) {
        for_tm.ucast_egress_port = port;
    }

    action drop() {
        for_deparser.drop_ctl = 1;
    }

    table device_port {
        key = {
            standard_metadata.egress_spec: exact @name("port");
        }
        actions = {
            send;
            @defaultonly drop;
        }
        const default_action = drop();
        size = 512;
    }

#ifdef P4TESTGEN
    apply {
        if (standard_metadata.egress_spec == PORT_DROP) {
            drop();
        } else {
            send(standard_metadata.egress_spec);
        }
    }
#else
    apply {
        device_port.apply();
    }
#endif
}

#endif
