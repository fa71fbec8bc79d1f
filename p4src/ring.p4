// SPDX-License-Identifier: Apache-2.0
// Station of a dual packet ring with fairness; docs/ring.md has the rules.
//
//   hosts ──> ARP, TTL ──> routing ──> class, meter ──> way ──> ring header ──> ring
//   ring ───> for a host here ──> routing ──> access port;  transit, counted by source ──> ring
//   line card ──> tick ──> estimators ──> congestion ──> rate ──> limits ──> line card
//             └─> further tick ──> message to the station before, or report to the controller
//   next station, controller ──> message ──> check ──> limits ──> message to the station before
//   controller ──> packet-out ──> any port
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/ring_parser.p4"
#include "include/ring_params.p4"
#include "include/ring_sort.p4"
#include "include/ring_routing.p4"
#include "include/ring_sources.p4"
#include "include/ring_link.p4"
#include "include/ring_limits.p4"
#include "include/ring_message.p4"
#include "include/ring_emit.p4"
#include "include/access.p4"
#include "include/packet_out.p4"
#include "include/drops.p4"

// A tick at an interval's end: what is measured becomes what this station tells as the head of its link.
control EndInterval(in ring_headers_t hdr, inout ring_metadata_t meta) {
    EndWindow() end_window;
    Congestion() congestion;
    TellRate() tell_rate;

    @hidden action recall_rate() {
        told_rates.read(meta.told_rate, meta.link);
    }

    @hidden action say_nothing() {
        meta.tells = 0;
    }

    apply {
        recall_rate();
        end_window.apply(meta, meta.told_rate);
        congestion.apply(hdr, meta);
        tell_rate.apply(meta);
        if (meta.mode == RingMode.CONTROLLER) {
            say_nothing();
        }
    }
}

// The instances that hold tables and counters are named so that P4Info says RingIngress.<table>.
control RingIngress(inout ring_headers_t hdr,
                    inout ring_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    @name(".RingIngress") StationParams() station_params;
    Ringlet() ringlet;
    @name(".RingIngress") RingletParams() ringlet_params;
    RingSort() sort;
    @name(".RingIngress") RingRouting() routing;
    Access() access;
    PacketOut() send;
    Measure() measure;
    CountTransit() count_transit;
    CountSource() count_source;
    PassOn() pass_on;
    EndInterval() end_interval;
    Limits() limits;
    PlanReports() plan_reports;
    SetLimits() set_limits;
    MakeMessage() make_message;
    RingCrc() ring_crc;
    TakeLimits() take_limits;
    AddToRing() add_to_ring;
    @name(".RingIngress") DropAccounting() drop_accounting;

    @hidden action seal() {
        hdr.check.crc = meta.crc;
    }

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        station_params.apply(meta);

        if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else {
            ringlet.apply(hdr, standard_metadata, meta);
            if (meta.message == Message.RING_TICK || meta.message == Message.FAIRNESS) {
                ringlet_params.apply(meta);
            }
            sort.apply(hdr, meta);
        }

        if (meta.duty == Duty.ROUTE) {
            routing.apply(hdr, meta, standard_metadata);
            if (meta.to_ring == 1) {
                add_to_ring.apply(hdr, meta, standard_metadata);
            }
        } else if (meta.duty == Duty.ANSWER) {
            access.apply(hdr.ethernet, hdr.arp, hdr.ipv4, meta.mac, standard_metadata, meta.drop_reason);
        } else if (meta.duty == Duty.LEAVE) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else {
            if (meta.duty == Duty.PASS_ON) {
                count_transit.apply(hdr, standard_metadata, meta);
            } else if (meta.duty == Duty.MEASURE) {
                measure.apply(hdr, meta);
            }
            if (meta.fair_bytes != 0) {
                count_source.apply(meta);
            }
            if (meta.duty == Duty.PASS_ON) {
                pass_on.apply(hdr, meta, standard_metadata);
            } else if (meta.duty == Duty.MEASURE) {
                end_interval.apply(hdr, meta);
            } else if (meta.duty == Duty.TAKE) {
                ring_crc.apply(hdr, meta);
                if (hdr.check.crc != meta.crc) {
                    meta.drop_reason = DropReason.BAD_CHECK;
                } else {
                    take_limits.apply(hdr, meta);
                }
            }
            if (meta.duty == Duty.MEASURE || meta.tells_on == 1) {
                limits.apply(meta);
            }
            if (meta.duty == Duty.MEASURE) {
                if (meta.report_intervals != 0) {
                    plan_reports.apply(meta);
                }
                set_limits.apply(hdr, meta, standard_metadata);
            } else if (meta.duty == Duty.TELL || meta.tells_on == 1) {
                make_message.apply(hdr, meta, standard_metadata);
                if (hdr.check.isValid()) {
                    ring_crc.apply(hdr, meta);
                    seal();
                }
            }
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control RingEgress(inout ring_headers_t hdr,
                   inout ring_metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

// A wrong IPv4 checksum stays wrong on its way through, so the receiver sees it.
control RingVerifyChecksum(inout ring_headers_t hdr, inout ring_metadata_t meta) {
    apply { }
}

control RingComputeChecksum(inout ring_headers_t hdr, inout ring_metadata_t meta) {
    apply { }
}

V1Switch(RingParser(),
         RingVerifyChecksum(),
         RingIngress(),
         RingEgress(),
         RingComputeChecksum(),
         RingDeparser()) main;
