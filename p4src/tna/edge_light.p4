// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_light.p4: where a packet of an edge of optical packet switches goes, by where it comes from and what it is.
#ifndef SLOTWISE_EDGE_LIGHT_P4
#define SLOTWISE_EDGE_LIGHT_P4
#include "target.p4"
#include "../include/edge_parser.p4"

// What a packet is for.
enum bit<8> Way {
    NONE   = 0,
    ROUTE  = 1,
    ANSWER = 2,  // ARP, or a reason
    LEAVE  = 3,  // by the port that the controller names
    TICK   = 4,  // of a train
    SENT   = 5,  // a train
    PROBE  = 6   // or a reply, or the tick of a macroflow
}

// By where it comes from and what it is, the first rule that applies.
control EdgeLight(in edge_headers_t hdr,
                  in bit<1> is_truncated,
                  in bit<1> is_forwardable,
                  in bit<16> for_us,
                  inout Way way,
                  inout edge_metadata_t meta) {
    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action go(Way found) {
        way = found;
    }

    @hidden table light {
        key = {
            is_truncated:       ternary;
            meta.from:          ternary;
            meta.message:       ternary;
            meta.labels:        ternary;
            meta.wavelengths:   ternary;
            meta.core:          ternary;
            is_forwardable:     ternary;
            hdr.ipv4.isValid(): ternary;
            for_us:             ternary;
        }
        actions = {
            refuse;
            go;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (1, _, _, _, _, _, _, _, _):                                    refuse(DropReason.TRUNCATED);
            (_, From.ACCESS, Message.NONE, _, _, _, 1, _, _):               go(Way.ROUTE);
            (_, From.ACCESS, Message.NONE, _, _, _, _, _, _):               go(Way.ANSWER);
            (_, From.ACCESS, _, _, _, _, _, _, _):                          refuse(DropReason.UNEXPECTED_PORT);
            (_, From.CONTROLLER_OUT, _, _, _, _, _, _, _):                  go(Way.LEAVE);
            (_, From.FIBRE, Message.DATA, _, _, _, _, true, 0):             go(Way.ROUTE);
            (_, From.FIBRE, Message.TRAIN, 1, _, _, _, true, 0):            go(Way.ROUTE);
            (_, From.FIBRE, Message.DATA, _, _, _, _, _, 0):                refuse(DropReason.NO_ROUTE);
            (_, From.FIBRE, Message.TRAIN, _, _, _, _, _, 0):               refuse(DropReason.NO_ROUTE);
            (_, From.FIBRE, Message.DATA, _, _, _, _, _, _):                refuse(DropReason.MISDIRECTED);
            (_, From.FIBRE, Message.TRAIN, _, _, _, _, _, _):               refuse(DropReason.MISDIRECTED);
            (_, From.FIBRE, Message.OTHER_OPTICAL, _, _, _, _, _, _):       refuse(DropReason.BAD_VERSION);
            (_, From.FIBRE, Message.PROBE, 0, _, _, _, _, _):               refuse(DropReason.BAD_VERSION);
            (_, From.FIBRE, Message.PROBE, _, 0, _, _, _, _):               refuse(DropReason.BAD_VERSION);
            (_, From.FIBRE, Message.PROBE, _, _, _, _, _, _):               go(Way.PROBE);
            (_, From.LINECARD, Message.OTHER_LINECARD, _, _, _, _, _, _):   refuse(DropReason.BAD_VERSION);
            (_, From.LINECARD, Message.TRAIN_SENT, 0, _, _, _, _, _):       refuse(DropReason.BAD_VERSION);
            (_, From.LINECARD, Message.TRAIN_TICK, 0, _, _, _, _, _):       refuse(DropReason.BAD_QUEUE);
            (_, From.LINECARD, Message.TRAIN_TICK, _, _, _, _, _, _):       go(Way.TICK);
            (_, From.LINECARD, Message.TRAIN_SENT, _, _, _, _, _, _):       go(Way.SENT);
            (_, From.LINECARD, Message.NONE, _, _, _, _, _, _):             refuse(DropReason.UNEXPECTED_PORT);
            (_, From.LINECARD, Message.INTERVAL_TICK, 1, _, NO_CORE, _, _, _): refuse(DropReason.NO_SIGNALING);
            (_, From.LINECARD, Message.INTERVAL_TICK, 1, _, _, _, _, _):    go(Way.PROBE);
            (_, From.LINECARD, _, 1, _, _, _, _, _):                        refuse(DropReason.NO_SIGNALING);
        }
    }

    apply {
        light.apply();
    }
}

#endif
