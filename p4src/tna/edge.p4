// SPDX-License-Identifier: Apache-2.0
// edge.p4 for Tofino, of stars. What is compared with registers comes twice where it is written into them. Messages and XCP are the business
// of a second pipe, `side_pipe.p4`, which packets come to by a loop: `aside_t` in front says for what.
//
//   line card, or packet generator ──> tick ──> schedule ──> gate;  in a signaling slot ──> aside: request, beacon, ...
//   controller ──> commit ──examined, resubmitted──> staged ──tick of slot 0, resubmitted──> announced
//   fibre ──> beacon ──examined, resubmitted──> kept
//         ──> data ─────────────────────────────────┐
//   access ports ──> ARP, TTL ──────────────────────┴──> routing ──> host, or VOQ; of XCP ──> aside ──> VOQ
//   other messages, alarms ──> aside;  orders for line cards from there ──> membership ──> line card
//   behind the traffic manager: queue report ──> registers ──> request
#include "target.p4"
#include "ports.p4"
#include "forwarding.p4"
#include "drops.p4"
#include "version.p4"
#include "member_state.p4"
#include "membership.p4"
#include "looking.p4"
#include "params.p4"
#include "routing.p4"
#include "edge_sort.p4"
#include "freshness.p4"
#include "slot.p4"
#include "control_message.p4"
#include "check.p4"
#include "emit.p4"
#include "gates.p4"
#include "go_aside.p4"
#include "edge_egress.p4"
#include "side_pipe.p4"
#ifdef P4TESTGEN
#include "side_inline.p4"
#endif
#include "../include/packet_out.p4"

// Where what comes again came from.
const bit<8> AGAIN_CARD = 1;
const bit<8> AGAIN_GENERATOR = 2;
const bit<8> AGAIN_CONTROLLER = 3;
const bit<8> AGAIN_FIBRE = 4;
const bit<8> AGAIN_SIDE = 5;

// What a packet is for.
enum bit<8> Way {
    NONE   = 0,
    ROUTE  = 1,
    ANSWER = 2,  // ARP, or a reason
    LEAVE  = 3,  // by the port that the controller names
    NOTE   = 4,  // a report
    TICK   = 5,
    SORT   = 6,  // a message of the controller or another edge
    CARD   = 7,  // a message of a line card
    ORDER  = 8   // for a line card
}

struct edge_ingress_headers_t {
    again_t               again;
    pktgen_timer_header_t timer;
    carried_t             carried;
    aside_t               aside;
    star_state_t          state;
    edge_headers_t        edge;
}

struct edge_ingress_metadata_t {
    edge_metadata_t     edge;
    standard_metadata_t standard;
    again_t             again;
    bit<1>              is_again;
    frame_t             frame;  // of a tick; of what is kept, with what it says
    version_t           told_active;
    version_t           told_next;
    frame_t             told_first;
}

parser EdgeIngressParser(packet_in packet,
                         out edge_ingress_headers_t hdr,
                         out edge_ingress_metadata_t meta,
                         out ingress_intrinsic_metadata_t intrinsic) {
    EdgeParser() edge_parser;

    state start {
        packet.extract(intrinsic);
        meta.edge.from = From.ACCESS;
        meta.edge.message = Message.NONE;
        meta.edge.l4_src = 0;
        meta.edge.l4_dst = 0;
        meta.edge.acknowledgement = 0;
        meta.is_again = 0;
        transition select(intrinsic.resubmit_flag) {
            1:       parse_again;
            default: parse_port;
        }
    }

    state parse_port {
        READ_PORT(meta.standard.ingress_port)
        transition select(meta.standard.ingress_port) {
#ifndef P4TESTGEN  // v1model has no generator, and its line card gets orders at once
            PORT_GENERATOR: parse_generated;
            PORT_LOOP:      parse_order;
#endif
            default:        parse_packet;
        }
    }

    state parse_packet {
        edge_parser.apply(packet, hdr.edge, meta.edge, meta.standard);
        transition accept;
    }

    // The other pipe has sent it, so it is known.
    state parse_order {
        packet.extract(hdr.again);
        meta.is_again = 1;
        meta.edge.from = From.NOWHERE;
        transition accept;
    }

    // Only what is examined, and so known, comes again.
    state parse_again {
        packet.extract(hdr.again);
        meta.is_again = 1;
        meta.told_first = hdr.again.frame;
        packet.advance(PORT_METADATA_SIZE - RESUBMITTED_BITS);
        meta.standard.ingress_port = PORT_LINECARD;  // nothing else asks for it
        transition select(hdr.again.source) {
            AGAIN_GENERATOR:  parse_generated;
            AGAIN_CARD:       parse_tick;
            AGAIN_CONTROLLER: parse_told;
            default:          parse_light;
        }
    }

    state parse_generated {
        packet.extract(hdr.timer);
        transition parse_tick;
    }

    state parse_tick {
        meta.edge.from = From.LINECARD;
        meta.edge.message = Message.SLOT_TICK;
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.linecard);
        packet.extract(hdr.edge.slot_tick);
        transition accept;
    }

    state parse_told {
        meta.edge.from = From.CONTROLLER;
        meta.edge.message = Message.COMMIT;
        packet.extract(hdr.edge.packet_out);
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.optical);
        packet.extract(hdr.edge.check);
        transition parse_commit;
    }

    state parse_light {
        meta.edge.from = From.FIBRE;
        meta.edge.message = Message.COMMIT;
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.optical);
        transition parse_commit;
    }

    state parse_commit {
        packet.extract(hdr.edge.commit);
        meta.frame = hdr.edge.commit.frame;
        meta.told_active = hdr.edge.commit.active_version;
        meta.told_next = hdr.edge.commit.next_version;
        meta.told_first = hdr.edge.commit.first_frame;
        transition accept;
    }
}

// By where it comes from and what it is, the first rule that applies.
control Dispatch(in edge_headers_t hdr,
                 in bit<1> is_truncated,
                 in bit<1> is_forwardable,
                 in bit<16> for_us,
                 in bit<1> is_again,
                 inout Way way,
                 inout edge_metadata_t meta) {
    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action go(Way found) {
        way = found;
    }

    @hidden table dispatch {
        key = {
            is_truncated:       ternary;
            meta.from:          ternary;
            meta.message:       ternary;
            is_forwardable:     ternary;
            hdr.ipv4.isValid(): ternary;
            for_us:             ternary;
            meta.core:          ternary;
            is_again:           ternary;
        }
        actions = {
            refuse;
            go;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (1, _, _, _, _, _, _, _):                                        refuse(DropReason.TRUNCATED);
            (_, From.NOWHERE, _, _, _, _, _, 1):                             go(Way.ORDER);
            (_, From.ACCESS, Message.NONE, 1, _, _, _, _):                   go(Way.ROUTE);
            (_, From.ACCESS, Message.NONE, _, _, _, _, _):                   go(Way.ANSWER);
            (_, From.ACCESS, _, _, _, _, _, _):                              refuse(DropReason.UNEXPECTED_PORT);
            (_, From.FIBRE, Message.DATA, _, true, 0, _, _):                 go(Way.ROUTE);
            (_, From.FIBRE, _, _, _, _, _, _):                               go(Way.SORT);
            (_, From.CONTROLLER, _, _, _, _, _, _):                          go(Way.SORT);
            (_, From.CONTROLLER_OUT, _, _, _, _, _, _):                      go(Way.LEAVE);
            (_, From.LINECARD, Message.TRAIN_TICK, _, _, _, NO_CORE, _):     refuse(DropReason.BAD_QUEUE);
            (_, From.LINECARD, Message.TRAIN_TICK, _, _, _, _, _):           refuse(DropReason.NO_ROUTE);
            (_, From.LINECARD, Message.OTHER_LINECARD, _, _, _, _, _):       refuse(DropReason.BAD_VERSION);
            (_, From.LINECARD, Message.TRAIN_SENT, _, _, _, _, _):           refuse(DropReason.BAD_VERSION);
            (_, From.LINECARD, _, _, _, _, NO_CORE, _):                      refuse(DropReason.UNEXPECTED_PORT);
            (_, From.LINECARD, Message.SLOT_TICK, _, _, _, _, _):            go(Way.TICK);
            (_, From.LINECARD, Message.QUEUE_REPORT, _, _, _, _, _):         go(Way.NOTE);
            (_, From.LINECARD, Message.INTERVAL_TICK, _, _, _, _, _):        refuse(DropReason.NO_SIGNALING);
            (_, From.LINECARD, Message.ANSWER_TICK, _, _, _, _, _):          go(Way.CARD);
            (_, From.LINECARD, Message.ALARM, _, _, _, _, _):                go(Way.CARD);
        }
    }

    apply {
        dispatch.apply();
    }
}

// What a packet does with its star's registers.
control Touch(in edge_headers_t hdr,
              in edge_metadata_t meta,
              in again_t again,
              in pktgen_timer_header_t timer,
              inout StarOp op,
              inout bit<1> shuts) {
    @hidden action touch(StarOp found) {
        op = found;
    }

    @hidden action shut() {
        op = StarOp.TICK;
        shuts = 1;
    }

    @hidden table touches {
        key = {
            meta.from:             ternary;
            meta.message:          ternary;
            hdr.slot_tick.repeat:  ternary;
            timer.isValid():       ternary;
            timer.app_id:          ternary;
            timer.packet_id:       ternary;
            again.isValid():       ternary;
            again.duty:            ternary;
        }
        actions = {
            touch;
            shut;
        }
        const default_action = touch(StarOp.READ);
        const entries = {
            (_, _, _, _, _, _, true, (bit<8>)Duty.STAGE_VERSION):                touch(StarOp.STAGE);
            (_, _, _, _, _, _, true, (bit<8>)Duty.TAKE_BEACON):                  touch(StarOp.KEEP);
            (_, _, _, _, _, _, true, (bit<8>)Duty.TICK_SLOT):                    touch(StarOp.ANNOUNCE);
            (_, _, _, _, _, _, true, _):                                         touch(StarOp.JOIN);
            (From.LINECARD, Message.SLOT_TICK, _, true, SLOTS, 0, _, _):         touch(StarOp.FLIP);
            (From.LINECARD, Message.SLOT_TICK, _, true, SLOTS, _, _, _):         shut();
            (From.LINECARD, Message.SLOT_TICK, 0, false, _, _, _, _):            touch(StarOp.FLIP);
            (From.LINECARD, Message.SLOT_TICK, _, _, _, _, _, _):                touch(StarOp.TICK);
        }
    }

    apply {
        touches.apply();
    }
}

// The instances that hold tables and counters are named so that P4Info says EdgeIngress.<table>.
control EdgeIngress(inout edge_ingress_headers_t hdr,
                    inout edge_ingress_metadata_t meta,
                    in ingress_intrinsic_metadata_t intrinsic,
                    in ingress_intrinsic_metadata_from_parser_t from_parser,
                    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                    inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Star() star;
    @name(".EdgeIngress") EdgeParams() params;
    @name(".EdgeIngress") MembershipParams() membership_params;
    GeneratedTick() generated_tick;
    Dispatch() dispatch;
    Touch() touch;
    Membership() membership;
    @name(".EdgeIngress") Routing() routing;
    Age() age;
    Access() access;
    PacketOut() send;
    Staged() staged;
    Versions() versions;
    Freshness() freshness;
    AnnounceVersion() announce;
    LookAtTraits() look_at_traits;
    EdgeRules() sort;
    Examine() examine;
    Verdict() verdict;
    MessageCrc() message_crc;
    @name(".EdgeIngress") Schedule() schedule;
    Encapsulate() encapsulate;
    ToLineCard() to_line_card;
    GoAside() go_aside;
#ifdef P4TESTGEN
    SideInline() side_inline;
#endif
    @name(".EdgeIngress") DeviceQueue() device_queue;
    @name(".EdgeIngress") DeviceGate() device_gate;
    @name(".EdgeIngress") DropAccounting() drop_accounting;
    @name(".EdgeIngress") ToDevice() to_device;

    Way       way = Way.NONE;
    bit<1>    is_truncated = 0;
    bit<1>    is_forwardable = 0;
    bit<16>   for_us = 0;
    star_of_t star_of = { 0, 0, 0 };
    StarOp    op = StarOp.READ;
    MayDo     may = MayDo.ALL;
    bit<8>    state = 0;
    bit<9>    traits = 0;
    frame_t   last_frame = 0;
    version_t staged_version = 0;
    bit<1>    shuts = 0;
    bit<1>    fresh = 0;
    bit<1>    is_due = 0;
    bit<1>    comes_again = 0;
    bit<32>   differs = 0;
    bit<1>    is_damaged = 0;
    bit<1>    is_here = 0;
    SideWay   aside = SideWay.NONE;

    @hidden action begin() {
        meta.standard.egress_spec = PORT_DROP;
        for_tm.bypass_egress = 1;
        meta.edge.duty = Duty.NONE;
        meta.edge.edge_id = 0;
        meta.edge.is_master = 0;
        meta.edge.master = 0;
        meta.edge.mac = 0;
        meta.edge.beacon_hold_frames = 0;
        meta.edge.guard_ns = 0;
        meta.edge.slot_ns = 0;
        meta.edge.by_invitation = 0;
        meta.edge.inviting = 0;
        meta.edge.out_of_band = 0;
        meta.edge.fault_port = 0;
        meta.edge.margin_ns = 0;
        meta.edge.open_ns = 0;
        meta.edge.close_ns = 0;
        meta.edge.own_phase_ns = 0;
        meta.edge.wrong = { 0, 0, 0, 0, 0, 0, 0, 0 };
        meta.edge.drop_reason = DropReason.NONE;
        meta.edge.to_fibre = 0;
        meta.edge.traffic_class = 0;
        meta.edge.to_linecard = 0;
    }

    @hidden action compare_edge() {
        for_us = hdr.edge.optical.dst_edge ^ meta.edge.edge_id;
    }

    @hidden action of_tick() {
        meta.frame = hdr.edge.slot_tick.frame;
    }

    @hidden action of_announcement() {
        meta.told_next = staged_version;
        meta.told_active = staged_version - 1;
    }

    // A beacon is trusted for so long, and what is announced holds then: who has not heard it is dark.
    @hidden action hold_beacon() {
        last_frame = meta.frame + meta.edge.beacon_hold_frames;
    }

    @hidden action compare_check() {
        differs = hdr.edge.check.crc ^ meta.edge.crc;
    }

    @hidden action be_careful() {
        meta.edge.margin_ns[31:0] = meta.edge.guard_ns[31:0];
    }

    @hidden action find_gate() {
        meta.edge.open_ns[31:0] = meta.edge.guard_ns[31:0] + meta.edge.margin_ns[31:0];
        meta.edge.close_ns[31:0] = meta.edge.slot_ns[31:0] - meta.edge.margin_ns[31:0];
    }

    @hidden action go_behind() {
        hdr.carried.setValid();
        hdr.carried.way = (bit<8>)EgressWay.REPORT;
        meta.standard.egress_spec = PORT_LOOP;
        for_tm.bypass_egress = 0;
    }

    @hidden action order() {
        meta.standard.egress_spec = PORT_LINECARD;
    }

    @hidden action resubmit() {
        for_deparser.resubmit_type = 1;
        meta.again.duty = (bit<8>)meta.edge.duty;
        meta.again.core = star_of.number;
    }

    apply {
        begin();
        star.apply(hdr.edge, meta.standard, meta.is_again, hdr.again.core, meta.edge, star_of);
        generated_tick.apply(hdr.edge, hdr.timer, meta.is_again, meta.standard);
        params.apply(meta.edge);
        membership_params.apply(meta.edge);

        compare_edge();
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            is_truncated = 1;
        }
        if (IS_FORWARDABLE(hdr.edge.ipv4)) {
            is_forwardable = 1;
        }
        dispatch.apply(hdr.edge, is_truncated, is_forwardable, for_us, meta.is_again, way, meta.edge);
        touch.apply(hdr.edge, meta.edge, hdr.again, hdr.timer, op, shuts);
        message_crc.apply(hdr.edge, meta.edge);
        compare_check();
        if (meta.edge.from == From.CONTROLLER && meta.edge.message == Message.COMMIT && differs != 0) {
            is_damaged = 1;
        }

        if (hdr.edge.slot_tick.isValid()) {
            of_tick();
        }
        hold_beacon();
        if (meta.edge.core != NO_CORE) {
            membership.apply(star_of.star, op, meta.frame, hdr.again, meta.edge.by_invitation, state, may);
            staged.apply(star_of.star, op, meta.told_next, meta.told_first, last_frame, staged_version, meta.again.frame);
            if (hdr.edge.slot_tick.isValid()) {
                of_announcement();
            }
            versions.apply(star_of.star, op, meta.frame, meta.told_active, meta.told_next, meta.told_first, meta.edge.versions);
            freshness.apply(star_of.star, op, meta.frame, last_frame, meta.edge.is_master, fresh);
        }
        look_at_traits.apply(hdr.edge, meta.edge, for_us, state, traits);

        if (way == Way.ROUTE) {
            routing.apply(hdr.edge, meta.edge, meta.standard);
            if (meta.edge.from == From.ACCESS && meta.edge.drop_reason == DropReason.NONE) {
                age.apply(hdr.edge.ipv4);
            }
        } else if (way == Way.ANSWER) {
            access.apply(hdr.edge.ethernet, hdr.edge.arp, hdr.edge.ipv4, meta.edge.mac, meta.standard, meta.edge.drop_reason);
        } else if (way == Way.LEAVE) {
            send.apply(hdr.edge.packet_out, meta.standard, meta.edge.drop_reason);
        } else if (way == Way.ORDER) {
            order();
        } else if (way == Way.NOTE) {
            if (hdr.edge.queue_report.queue > SIGNALING_QUEUE) {
                meta.edge.drop_reason = DropReason.BAD_QUEUE;
            } else {
                go_behind();
            }
        } else if (way == Way.CARD) {
            aside = SideWay.CARD;
        } else if (way == Way.TICK) {
            meta.edge.duty = Duty.TICK_SLOT;
            announce.apply(meta.edge.versions, staged_version, is_due);
            if (may == MayDo.NOTHING && shuts == 0) {
                meta.edge.drop_reason = DropReason.UNSYNCHRONIZED;
            } else if (may == MayDo.LEAVE && shuts == 0) {
                aside = SideWay.LEAVE;
            } else if (hdr.edge.slot_tick.repeat == 0) {
                schedule.apply(hdr.edge, star_of.port, fresh, shuts, may, meta.edge);
            } else {
                aside = SideWay.TICK;
            }
            if (is_due == 1 && op == StarOp.FLIP && meta.edge.is_master == 1 && hdr.edge.slot_tick.slot == 0) {
                comes_again = 1;
            }
        } else if (way == Way.SORT && meta.is_again == 0) {
            sort.apply(traits, meta.edge);
            if (meta.edge.duty == Duty.TAKE_BEACON || meta.edge.duty == Duty.STAGE_VERSION) {
                examine.apply(hdr.edge, staged_version, meta.edge);
                verdict.apply(meta.edge.wrong, meta.edge.drop_reason);
                if (is_damaged == 1) {
                    meta.edge.drop_reason = DropReason.BAD_CHECK;
                }
                if (meta.edge.drop_reason == DropReason.NONE) {
                    comes_again = 1;
                }
            } else if (meta.edge.duty != Duty.REFUSED) {
                aside = SideWay.MESSAGE;
            }
        }

        if (meta.edge.to_fibre == 1) {
            encapsulate.apply(hdr.edge, meta.edge, meta.standard);
            device_queue.apply(meta.edge.egress_port, meta.edge.queue, hdr.edge.xcp, aside, for_tm);
        } else if (meta.edge.to_linecard == 1) {
            device_gate.apply(meta.edge.egress_port, meta.edge.queue, shuts, is_here, for_deparser);
            if (is_here == 0) {
                if (may == MayDo.SIGNAL) {
                    be_careful();
                }
                find_gate();
                to_line_card.apply(hdr.edge, meta.edge, meta.standard);
            }
        }
        go_aside.apply(aside, star_of, fresh, meta.edge, hdr.aside, hdr.state, hdr.edge, meta.standard);
#ifdef P4TESTGEN
        if (aside != SideWay.NONE && aside != SideWay.XCP) {
            side_inline.apply(hdr.aside, hdr.state, hdr.carried, hdr.edge, meta.edge.drop_reason, meta.standard, for_tm);
        }
#endif
        drop_accounting.apply(meta.edge.drop_reason);
        if (comes_again == 1) {
            if (hdr.timer.isValid()) {
                meta.again.source = AGAIN_GENERATOR;
            } else if (meta.edge.from == From.LINECARD) {
                meta.again.source = AGAIN_CARD;
            } else if (meta.edge.from == From.CONTROLLER) {
                meta.again.source = AGAIN_CONTROLLER;
            } else {
                meta.again.source = AGAIN_FIBRE;
            }
            resubmit();
        } else {
            to_device.apply(meta.standard, for_deparser, for_tm);
        }
    }
}

control EdgeIngressDeparser(packet_out packet,
                            inout edge_ingress_headers_t hdr,
                            in edge_ingress_metadata_t meta,
                            in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Resubmit(1) resubmit;
    EdgeDeparser() deparser;

    apply {
#ifndef P4TESTGEN  // which knows none
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit(meta.again);
        }
#endif
        packet.emit(hdr.carried);
        packet.emit(hdr.aside);
        packet.emit(hdr.state);
        packet.emit(hdr.edge.queue_report);
        packet.emit(hdr.edge.slot_tick);
        deparser.apply(packet, hdr.edge);
    }
}

Pipeline(EdgeIngressParser(),
         EdgeIngress(),
         EdgeIngressDeparser(),
         EdgeEgressParser(),
         EdgeEgress(),
         EdgeEgressDeparser()) pipe;

#ifdef P4TESTGEN  // whose tests are of one pipe
Switch(pipe) main;
#else
Switch(pipe, side_pipe) main;
#endif
