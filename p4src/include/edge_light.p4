// SPDX-License-Identifier: Apache-2.0
// What comes to an edge of optical packet switches by light or from its line card, and is no packet for a host.
#ifndef SLOTWISE_EDGE_LIGHT_P4
#define SLOTWISE_EDGE_LIGHT_P4
#include "edge_parser.p4"
#include "edge_ingress.p4"
#include "edge_probe.p4"
#include "edge_trains.p4"

control EdgeLight(inout edge_headers_t hdr, inout edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".EdgeIngress") TrainTick() train_tick;
    TrainSent() train_sent;
    @name(".EdgeIngress") Macroflows() macroflows;

    // Nothing but trains of IP packets, and probes where there is a wavelength for them.
    @hidden action refuse_light() {
        if (meta.message == Message.OTHER_OPTICAL || meta.message == Message.PROBE) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (meta.message != Message.DATA && meta.message != Message.TRAIN) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (hdr.optical.dst_edge != meta.edge_id) {
            meta.drop_reason = DropReason.MISDIRECTED;
        } else {
            meta.drop_reason = DropReason.NO_ROUTE;
        }
    }

    // There are no slots, and nothing asks for reports.
    @hidden action refuse_message() {
        meta.drop_reason = DropReason.NO_SIGNALING;
        if (meta.message == Message.OTHER_LINECARD) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else if (meta.message == Message.NONE) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        }
    }

    apply {
        if (meta.message == Message.PROBE && meta.wavelengths != 0 || meta.message == Message.INTERVAL_TICK && meta.core != NO_CORE) {
            macroflows.apply(hdr, meta, standard_metadata);
        } else if (meta.from == From.FIBRE) {
            refuse_light();
        } else if (meta.message == Message.TRAIN_TICK) {
            train_tick.apply(hdr, meta);
        } else if (meta.message == Message.TRAIN_SENT) {
            train_sent.apply(hdr.train_sent, meta);
        } else {
            refuse_message();
        }
    }
}

#endif
