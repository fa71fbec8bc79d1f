// SPDX-License-Identifier: Apache-2.0
// Edge switch: hosts on access ports, line cards and their fibres on optical ports, of stars or of an optical packet switch.
//
//   line card ──> schedule, signaling ──────────────────> flow control, requests, beacons, invitations, measurements
//             ──> alarms ───────────────────────────────> faults
//             ──> interval ticks ──> XCP, or probes ────> flow control, or any fibre
//             ──> trains that are closed ──> output ────> labels
//   controller ──> commit, packet-out ──────────────────> any port
//   fibre ──> requests, measurements to the controller; beacons, invitations, configurations ──> flow control
//         ──> data ─────────────────────────────────┐
//   access ports ──> ARP, TTL ──────────────────────┴──> routing ──> host, or XCP, or trains ──> VOQ of a line card
#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/edge_parser.p4"
#include "include/params.p4"
#include "include/access.p4"
#include "include/routing.p4"
#include "include/sort.p4"
#include "include/slot.p4"
#include "include/answer.p4"
#include "include/control_message.p4"
#include "include/emit.p4"
#include "include/check.p4"
#include "include/edge_xcp.p4"
#include "include/edge_trains.p4"
#include "include/edge_light.p4"
#include "include/packet_out.p4"
#include "include/drops.p4"

// What is neither an IPv4 packet to forward nor from a host: the line cards', the controller's, and other edges' messages.
control Messages(inout edge_headers_t hdr,
                 inout edge_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    @name(".EdgeIngress") MembershipParams() membership_params;
    Sort() sort;
    PacketOut() send;
    Slot() slot;
    Answer() make_answer;
    @name(".EdgeIngress") Members() members;
    Examine() examine;
    Verdict() verdict;

    @hidden action note_queue() {
        meta.output = (index_t)hdr.queue_report.queue;
        backlog_bytes.write(meta.output, hdr.queue_report.backlog_bytes);
        arrived_bytes.write(meta.output, hdr.queue_report.arrived_bytes);
    }

    @hidden action tick_xcp() {
        meta.xcp = 1;
        meta.duty = Duty.TICK_XCP;
    }

    @hidden action read_star() {
        own_session.read(meta.session, meta.core);
        READ_VERSIONS(meta.core, meta.versions)
        meta.queue = SIGNALING_QUEUE;
        meta.output = (index_t)SIGNALING_QUEUE;
    }

    @hidden action read_own_membership() {
        READ_MEMBER(meta.core, meta.member)
    }

    apply {
        if (meta.from == From.LINECARD && meta.core != NO_CORE && hdr.queue_report.isValid()) {
            if (hdr.queue_report.queue > SIGNALING_QUEUE) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else {
                note_queue();
                if (hdr.interval_tick.isValid()) {
                    tick_xcp();
                }
            }
        } else if (meta.from == From.FIBRE || meta.from == From.CONTROLLER
                   || meta.from == From.LINECARD && meta.core != NO_CORE
                      && (hdr.slot_tick.isValid() || hdr.alarm.isValid())) {
            membership_params.apply(meta);
            if (meta.core != NO_CORE) {
                read_star();
                if (meta.by_invitation == 1) {
                    read_own_membership();
                }
            }
            if (meta.message == Message.SLOT_TICK && meta.from == From.LINECARD) {
                slot.apply(hdr, meta);
            } else if (meta.from == From.LINECARD) {
                make_answer.apply(hdr, meta);
            } else {
                sort.apply(hdr, meta);
                if (meta.to_controller == 1 && meta.inviting == 1 && meta.duty != Duty.TELL_ANSWER) {
                    members.apply(hdr, meta, standard_metadata);
                }
                if (meta.duty != Duty.REFUSED) {
                    if (meta.wrong.not_a_member == 0) {
                        examine.apply(hdr, meta);
                    }
                    verdict.apply(meta.wrong, meta.drop_reason);
                }
            }
        } else if (meta.from == From.CONTROLLER_OUT) {
            send.apply(hdr.packet_out, standard_metadata, meta.drop_reason);
        } else if (meta.from == From.LINECARD
                   && (meta.message == Message.OTHER_LINECARD || meta.message == Message.TRAIN_SENT)) {
            meta.drop_reason = DropReason.BAD_VERSION;
        } else {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        }
    }
}

// The instances that hold tables and counters are named so that P4Info says EdgeIngress.<table>.
control EdgeIngress(inout edge_headers_t hdr,
                    inout edge_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    Star() star;
    @name(".EdgeIngress") EdgeParams() params;
    @name(".EdgeIngress") Routing() routing;
    Access() access;
    @name(".EdgeIngress") EdgeLight() light;
    Messages() messages;
    @name(".EdgeIngress") Aggregation() aggregation;
    @name(".EdgeIngress") LabelTrain() label_train;
    Encapsulate() encapsulate;
    @name(".EdgeIngress") EdgeXcp() edge_xcp;
    SendMessage() send_message;
    MessageCrc() message_crc;
    Take() take;
    ToController() to_controller;
    ToLineCard() to_line_card;
    @name(".EdgeIngress") DropAccounting() drop_accounting;

    apply {
        mark_to_drop(standard_metadata);  // unless something below sends it
        meta.core = NO_CORE;
        if (meta.from != From.ACCESS) {
            star.apply(hdr, standard_metadata, meta);
        }
        params.apply(meta);

        if (standard_metadata.parser_error == error.NoError
            && (meta.from == From.ACCESS && IS_FORWARDABLE(hdr.ipv4) && !hdr.optical.isValid()
                || meta.from == From.FIBRE
                   && (meta.message == Message.DATA || meta.message == Message.TRAIN && meta.labels == 1) && hdr.ipv4.isValid()
                   && hdr.optical.dst_edge == meta.edge_id)) {
            routing.apply(hdr, meta, standard_metadata);
        } else if (standard_metadata.parser_error != error.NoError) {
            meta.drop_reason = DropReason.TRUNCATED;
        } else if (meta.from == From.ACCESS && meta.message == Message.NONE) {
            access.apply(hdr.ethernet, hdr.arp, hdr.ipv4, meta.mac, standard_metadata, meta.drop_reason);
        } else if (meta.labels == 1 && (meta.from == From.FIBRE || meta.from == From.LINECARD)
                   || meta.from == From.LINECARD && meta.message == Message.TRAIN_TICK) {
            light.apply(hdr, meta, standard_metadata);
        } else {
            messages.apply(hdr, meta, standard_metadata);
        }

        if (meta.to_fibre == 1 && (meta.labels == 1 || meta.kind == OpticalKind.DATA)) {
            aggregation.apply(hdr, meta, standard_metadata);
        }
        if (meta.is_train == 1) {
            label_train.apply(hdr, meta, standard_metadata);
        }
        if (meta.to_fibre == 1) {
            encapsulate.apply(hdr, meta, standard_metadata);
        }
        if (meta.xcp == 1 && (meta.to_fibre == 1 || meta.duty == Duty.TICK_XCP)) {
            edge_xcp.apply(hdr, meta, standard_metadata);
        }
        if (meta.duty != Duty.NONE) {
            if (meta.duty == Duty.SEND_MESSAGE && meta.to_fibre == 1) {
                send_message.apply(hdr, meta);
            }
            if (hdr.optical.isValid() && (meta.from == From.CONTROLLER
                                          || meta.to_controller == 1 && meta.drop_reason == DropReason.NONE)) {
                message_crc.apply(hdr, meta);
                if (meta.from == From.CONTROLLER && hdr.check.crc != meta.crc) {
                    meta.drop_reason = DropReason.BAD_CHECK;
                }
            }
            if (meta.duty != Duty.TICK_SLOT && meta.duty != Duty.TICK_XCP && meta.drop_reason == DropReason.NONE) {
                take.apply(hdr, meta);
                if (meta.to_controller == 1) {
                    to_controller.apply(hdr, meta, standard_metadata);
                }
            }
            if (meta.to_linecard == 1) {
                to_line_card.apply(hdr, meta, standard_metadata);
            }
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control EdgeEgress(inout edge_headers_t hdr,
                   inout edge_metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

// A wrong IPv4 checksum stays wrong on its way through, so the receiver sees it.
control EdgeVerifyChecksum(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    apply { }
}

control EdgeComputeChecksum(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    apply { }
}

V1Switch(EdgeParser(),
         EdgeVerifyChecksum(),
         EdgeIngress(),
         EdgeEgress(),
         EdgeComputeChecksum(),
         EdgeDeparser()) main;
