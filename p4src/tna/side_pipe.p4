// SPDX-License-Identifier: Apache-2.0
// The pipe beside that of an edge's fibre, which has no room for all: packets come to it by a loop, with `aside_t` in front that says for what.
//
//   XCP ──> EdgeXcp ──> VOQ
//   tick, alarm, message ──> Side ──> fibre, controller, or (an order) the fibre's pipe ──> line card
#ifndef SLOTWISE_TNA_SIDE_PIPE_P4
#define SLOTWISE_TNA_SIDE_PIPE_P4
#include "drops.p4"
#include "edge_egress.p4"
#include "edge_xcp.p4"
#include "no_egress.p4"
#include "ports.p4"
#include "side.p4"

// Ethernet's and optical_t, behind which is ipv4_t, of which nothing is looked at but the length.
header front_t {
    bit<240> before;
    bit<16>  ip_before;
    bit<16>  ip_length;
    bit<128> ip_after;
}

struct side_pipe_headers_t {
    again_t        again;
    again_t        order;
    carried_t      carried;
    aside_t        aside;
    star_state_t   state;
    front_t        front;
    edge_headers_t edge;
}

parser SidePipeParser(packet_in packet,
                      out side_pipe_headers_t hdr,
                      out side_metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        meta.is_again = 0;
        meta.said.session = 0;
        meta.said.frame = 0;
        meta.taken.duty = 0;
        meta.taken.state = 0;
        transition select(intrinsic.resubmit_flag) {
            1:       parse_again;
            default: parse_port;
        }
    }

    state parse_port {
        READ_PORT(meta.input)
        transition select(meta.input) {
            PORT_SIDE: parse_aside;
            default:   accept;  // and is dropped
        }
    }

    state parse_again {
        packet.extract(hdr.again);
        meta.is_again = 1;
        meta.taken.duty = hdr.again.duty;
        meta.taken.state = hdr.again.state;
        packet.advance(PORT_METADATA_SIZE - RESUBMITTED_BITS);
        transition parse_aside;
    }

    state parse_aside {
        packet.extract(hdr.aside);
        transition select(hdr.aside.way) {
            (bit<8>)SideWay.XCP:    parse_xcp;
            default:                parse_state;
        }
    }

    state parse_xcp {
        packet.extract(hdr.edge.packet_in);
        packet.extract(hdr.front);
        packet.extract(hdr.edge.xcp);
        transition accept;
    }

    state parse_state {
        packet.extract(hdr.state);
        transition select(hdr.aside.way) {
            (bit<8>)SideWay.MESSAGE: parse_message;
            (bit<8>)SideWay.CARD:    parse_card;
            default:                 parse_tick;
        }
    }

    state parse_tick {
        packet.extract(hdr.edge.slot_tick);
        meta.said.frame = hdr.edge.slot_tick.frame;
        packet.extract(hdr.edge.packet_in);
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.linecard);
        transition accept;
    }

    state parse_card {
        packet.extract(hdr.edge.packet_in);
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.linecard);
        transition select(hdr.edge.linecard.kind) {
            LineCardKind.ALARM: parse_alarm;
            default:            parse_answer_tick;
        }
    }

    state parse_alarm {
        packet.extract(hdr.edge.alarm);
        transition accept;
    }

    // slot_tick_t: nothing is asked but to answer.
    state parse_answer_tick {
        transition accept;
    }

    state parse_message {
        packet.extract(hdr.edge.packet_in);
        packet.extract(hdr.edge.ethernet);
        packet.extract(hdr.edge.optical);
        transition select(hdr.edge.packet_in.ingress_port) {
            PORT_CPU: parse_check;
            default:  parse_kind;
        }
    }

    state parse_check {
        packet.extract(hdr.edge.check);
        transition parse_kind;
    }

    state parse_kind {
        transition select(hdr.edge.optical.kind) {
            OpticalKind.INVITATION:    parse_invitation;
            OpticalKind.CONFIGURATION: parse_configuration;
            OpticalKind.SYNC:          parse_sync;
            OpticalKind.FAULT:         parse_fault;
            default:                   parse_request;
        }
    }

    state parse_invitation {
        packet.extract(hdr.edge.stamp);
        packet.extract(hdr.edge.invitation);
        meta.said.session = hdr.edge.invitation.nonce;
        transition accept;
    }

    state parse_configuration {
        packet.extract(hdr.edge.configuration);
        meta.said.session = hdr.edge.configuration.session;
        transition accept;
    }

    state parse_sync {
        packet.extract(hdr.edge.stamp);
        packet.extract(hdr.edge.sync);
        meta.said.session = hdr.edge.sync.session;
        meta.said.frame = hdr.edge.sync.frame;
        transition accept;
    }

    state parse_fault {
        packet.extract(hdr.edge.fault);
        meta.said.session = hdr.edge.fault.session;
        meta.said.frame = hdr.edge.fault.frame;
        transition accept;
    }

    state parse_request {
        packet.extract(hdr.edge.request);
        meta.said.frame = hdr.edge.request.frame;
        transition accept;
    }
}

// The device's port of what goes on, and its queue there.
control DeviceExit(in port_t port,
                   in queue_t queue,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    action leave(PortId_t device_port, QueueId_t qid) {
        for_tm.ucast_egress_port = device_port;
        for_tm.qid = qid;
    }

    action absent() {
        for_deparser.drop_ctl = 1;
    }

    table device_exit {
        key = {
            port:  exact @name("port");
            queue: exact @name("queue");
        }
        actions = {
            leave;
            @defaultonly absent;
        }
        const default_action = absent();
        size = 2048;
    }

    apply {
        device_exit.apply();
    }
}

// Operands of a stateful ALU stay whole.
@pa_container_size("ingress", "_EdgeIngress_packet_rtt_x", 32)
@pa_container_size("ingress", "_EdgeIngress_packet_rtt_x_room", 32)
control SidePipe(inout side_pipe_headers_t hdr,
                 inout side_metadata_t meta,
                 in ingress_intrinsic_metadata_t intrinsic,
                 in ingress_intrinsic_metadata_from_parser_t from_parser,
                 inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                 inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".EdgeIngress") EdgeXcp() edge_xcp;
    @name(".EdgeIngress") DeviceExit() device_exit;
    @name(".EdgeSide") DropAccounting() drop_accounting;
    Side() side;

    index_t output = 0;
    queue_t queue = SIGNALING_QUEUE;

    @hidden action begin() {
        meta.port = PORT_DROP;
        meta.comes_again = 0;
        meta.is_made = 0;
        meta.span = 0;
        meta.drop_reason = DropReason.NONE;
        meta.next.core = 0;
        meta.next.source = 0;
        meta.next.frame = 0;
        for_tm.bypass_egress = 1;
        output = (index_t)hdr.aside.queue;
    }

    @hidden action leave_for_voq() {
        meta.port = hdr.edge.packet_in.ingress_port;
        queue = hdr.aside.queue;
    }

    @hidden action refuse() {
        meta.drop_reason = DropReason.TRUNCATED;
    }

    // It gets its entries behind the traffic manager, in the fibre's pipe.
    @hidden action carry(EgressWay on) {
        hdr.carried.setValid();
        hdr.carried.way = (bit<8>)on;
        for_tm.bypass_egress = 0;
    }

    @hidden action stay_here() {
        hdr.aside.setInvalid();
        hdr.state.setInvalid();
    }

    @hidden action forget_input() {
        hdr.edge.packet_in.setInvalid();
    }

    @hidden action drop() {
        for_deparser.drop_ctl = 1;
    }

    @hidden action resubmit() {
        for_deparser.resubmit_type = 1;
    }

    apply {
        begin();
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            refuse();
        } else if (hdr.edge.xcp.isValid()) {
            leave_for_voq();
            edge_xcp.apply(output, hdr.front.ip_length, hdr.edge.xcp);
        } else if (hdr.state.isValid()) {
            side.apply(hdr.aside, hdr.state, hdr.edge, hdr.order, meta);
            if (hdr.edge.request.isValid() && meta.is_made == 1) {
                if (meta.port == PORT_CPU) {
                    carry(EgressWay.TELL);
                } else {
                    carry(EgressWay.REQUEST);
                }
            }
        }
        drop_accounting.apply(meta.drop_reason);
        if (meta.drop_reason != DropReason.NONE) {
            drop();
        } else if (meta.comes_again == 1) {
            resubmit();
        } else {
            stay_here();
            if (meta.port != PORT_CPU) {
                forget_input();
            }
            device_exit.apply(meta.port, queue, for_deparser, for_tm);
        }
    }
}

control SidePipeDeparser(packet_out packet,
                         inout side_pipe_headers_t hdr,
                         in side_metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Resubmit(1) resubmit;

    apply {
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit(meta.next);
        }
        packet.emit(hdr.order);
        packet.emit(hdr.carried);
        packet.emit(hdr.front);
        packet.emit(hdr.edge.packet_in);
        packet.emit(hdr.edge.ethernet);
        packet.emit(hdr.edge.linecard);
        packet.emit(hdr.edge.flow_control);
        packet.emit(hdr.edge.optical);
        packet.emit(hdr.edge.check);
        packet.emit(hdr.edge.stamp);
        packet.emit(hdr.edge.invitation);
        packet.emit(hdr.edge.configuration);
        packet.emit(hdr.edge.sync);
        packet.emit(hdr.edge.fault);
        packet.emit(hdr.edge.commit);
        packet.emit(hdr.edge.request);
        packet.emit(hdr.edge.xcp);
    }
}

Pipeline(SidePipeParser(),
         SidePipe(),
         SidePipeDeparser(),
         NoEgressParser(),
         NoEgress(),
         NoEgressDeparser()) side_pipe;

#endif
