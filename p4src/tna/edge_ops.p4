// SPDX-License-Identifier: Apache-2.0
// edge.p4 for Tofino, of edges of optical packet switches, whose line cards are outside. What finds no room at its first choice of an
// output comes again for the second one, and what is compared with registers where it is written into them.
//
//   access ports ──> ARP, TTL ──> routing ──> host, or trains ──> label ──> line card of an output
//   line card ──> trains that are closed ──> output ──> labels
//             ──> a train has left ──> one fewer
//             ──> interval tick ──> probe
//   fibre ──> trains, data ──> routing ──> host
//         ──> probe ──> reply;  reply ──> flow control
#include "target.p4"
#include "ports.p4"
#include "forwarding.p4"
#include "drops.p4"
#include "label_state.p4"
#include "label_again.p4"
#include "member_state.p4"
#include "looking.p4"
#include "label_params.p4"
#include "label_routing.p4"
#include "label_emit.p4"
#include "edge_ingress.p4"
#include "edge_trains.p4"
#include "edge_light.p4"
#include "edge_probe.p4"
#include "no_egress.p4"
#include "../include/packet_out.p4"

// What comes again: where it came from, and what has been found of it. So nothing is looked for, or counted, twice. It has the 128 bits that
// the device keeps: the compiler fills up what is shorter, and what is passed over behind it would be too much.
header resubmitted_t {
    bit<8>  source;
    bit<8>  traffic_class;
    edge_t  dst_edge;
    queue_t queue;
    bit<8>  second;  // output that is left
    @padding bit<8> _pad;
    bit<32> kept;    // of a macroflow: its mean, or what is allowed
    bit<32> sent;    // by it
}

struct edge_ingress_headers_t {
    resubmitted_t  resubmitted;
    edge_headers_t edge;
}

struct edge_ingress_metadata_t {
    edge_metadata_t     edge;
    standard_metadata_t standard;
    resubmitted_t       resubmitted;
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
        transition select(intrinsic.resubmit_flag) {
            1:       parse_again;
            default: parse_port;
        }
    }

    state parse_port {
        READ_PORT(meta.standard.ingress_port)
        edge_parser.apply(packet, hdr.edge, meta.edge, meta.standard);
        transition accept;
    }

    // Only what is examined, and so known, comes again.
    state parse_again {
        packet.extract(hdr.resubmitted);
        packet.advance(PORT_METADATA_SIZE - RESUBMITTED_BITS);
        meta.standard.ingress_port = PORT_LINECARD;  // nothing asks for it
        packet.extract(hdr.edge.ethernet);
        transition select(hdr.resubmitted.source) {
            AGAIN_CARD:  parse_tick;
            AGAIN_TICK:  parse_interval_tick;
            AGAIN_REPLY: parse_reply;
            default:     parse_packet;
        }
    }

    state parse_tick {
        meta.edge.from = From.LINECARD;
        packet.extract(hdr.edge.linecard);
        packet.extract(hdr.edge.train_tick);
        transition accept;
    }

    state parse_interval_tick {
        meta.edge.from = From.LINECARD;
        packet.extract(hdr.edge.linecard);
        packet.extract(hdr.edge.interval_tick);
        packet.extract(hdr.edge.queue_report);
        transition accept;
    }

    state parse_reply {
        meta.edge.from = From.FIBRE;
        packet.extract(hdr.edge.label);
        packet.extract(hdr.edge.probe);
        transition accept;
    }

    state parse_packet {
        packet.extract(hdr.edge.ipv4);
        transition accept;
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
    @name(".EdgeIngress") Lengths() measure;
    EdgeLight() light;
    @name(".EdgeIngress") Routing() routing;
    Age() age;
    Access() access;
    PacketOut() send;
    @name(".EdgeIngress") Aggregation() aggregation;
    @name(".EdgeIngress") TrainTick() train_tick;
    TrainSent() train_sent;
    QueueBytes() queue_bytes;
    ChooseOutput() choose_output;
    OutputTrains() trains_of_output;
    ProbeTraits() look_for_traits;
    LookAtProbe() look_at_probe;
    ReturnProbe() return_probe;
    @name(".EdgeIngress") MacroflowOf() macroflow_of;
    ProbeRules() probe_rules;
    UsedBytes() used_bytes_of;
    LookAtTick() look_at_tick;
    MacroflowState() macroflow_state;
    @name(".EdgeIngress") RateOf() rate_of;
    LookAtReply() look_at_reply;
    Ask() ask;
    TellRate() tell_rate;
    LabelTrain() label_train;
    Encapsulate() encapsulate;
    @name(".EdgeIngress") DropAccounting() drop_accounting;
    @name(".EdgeIngress") ToDevice() to_device;

    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) cell_of_queue;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) cell_of_macroflow;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) kept_copy;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) rate_copy;

    Way       way = Way.NONE;
    bit<1>    is_truncated = 0;
    bit<1>    is_forwardable = 0;
    bit<16>   for_us = 0;
    lengths_t lengths = { 0, 0, 0, 0, 0, 0 };
    TrainOp   train_op = TrainOp.NONE;
    OutputOp  output_op = OutputOp.NONE;
    bit<1>    may_return = 0;
    bit<32>   found = 0;
    bit<1>    comes_again = 0;  // a train
    bit<1>    goes_back = 0;    // whatever comes again
    bit<10>   cell = 0;  // of the queue's registers
    queue_t   flow_number = 0;
    bit<10>   flow_cell = 0;  // of the macroflow's registers
    macroflow_t flow;
    ProbeOp   probe_op = ProbeOp.NONE;
    bit<1>    returns = 0;
    probe_traits_t probe_traits = { 0, 0, 0, 0 };
    DropReason flow_reason = DropReason.NONE;  // of what is looked at late
    bit<32>   kept = 0;
    bit<32>   old_mean = 0;
    bit<32>   tick_sent = 0;
    bit<32>   tick_mean = 0;
    rate_t    new_rate = 0;

    @hidden action begin() {
        meta.standard.egress_spec = PORT_DROP;
        meta.edge.edge_id = 0;
        meta.edge.mac = 0;
        meta.edge.labels = 0;
        meta.edge.framing_bytes = 0;
        meta.edge.deflections = 0;
        meta.edge.hops = 0;
        meta.edge.wavelengths = 0;
        meta.edge.counts_trains = 0;
        meta.edge.trains = 0;
        meta.edge.drop_reason = DropReason.NONE;
        meta.edge.to_fibre = 0;
        meta.edge.is_train = 0;
        meta.edge.train_part = (bit<8>)TrainPart.NONE;
        meta.edge.traffic_class = 0;
        meta.edge.dst_edge = 0;
        meta.edge.second_port = 0;
        meta.edge.queue = hdr.edge.train_tick.queue;
        flow.is_known = 0;
        flow.wavelength = 0;
        flow.floor = 0;
        flow.shift = 0;
        flow.tells = 0;
        flow.sent = 0;
        flow.used = 0;
        flow.rate = 0;
        flow.allowed = 0;
        flow.sequence = 0;
        flow.state = ANSWERED;
#ifdef P4TESTGEN
        flow.periods = 0;
#endif
    }

    @hidden action compare_edge() {
        for_us = hdr.edge.optical.dst_edge ^ meta.edge.edge_id;
    }

    @hidden action of_probe() {
        flow_number = hdr.edge.probe.queue;
    }

    @hidden action of_report() {
        flow_number = hdr.edge.queue_report.queue;
    }

    @hidden action recall_kept() {
        kept = kept_copy.get({ hdr.resubmitted.kept });
    }

    @hidden action find_flow_cell() {
        flow_cell = cell_of_macroflow.get({ flow_number })[9:0];
    }

    @hidden action recall() {
        meta.edge.traffic_class = hdr.resubmitted.traffic_class;
        meta.edge.dst_edge = hdr.resubmitted.dst_edge;
        meta.edge.queue = hdr.resubmitted.queue;
        meta.edge.is_train = 1;
    }

    @hidden action recall_packet() {
        recall();
        meta.edge.to_fibre = 1;
        meta.edge.train_part = (bit<8>)TrainPart.ONLY;
    }

    @hidden action recall_flow() {
        way = Way.PROBE;
        flow.used = hdr.resubmitted.kept;
        flow.sent = hdr.resubmitted.sent;
    }

    // What comes again, by where it came from.
    @hidden table recalled {
        key = {
            hdr.resubmitted.source: exact;
        }
        actions = {
            recall;
            recall_packet;
            recall_flow;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            AGAIN_ACCESS: recall_packet();
            AGAIN_CARD:   recall();
            AGAIN_TICK:   recall_flow();
            AGAIN_REPLY:  recall_flow();
        }
    }

    @hidden action use_more() {
        flow.used = max(flow.used, flow.sent);
    }

    @hidden action find_cell() {
        cell = cell_of_queue.get({ meta.edge.queue })[9:0];
    }

    @hidden action count_out() {
        output_op = OutputOp.LEAVE;
    }

    @hidden action return_train(bit<8> source) {
        goes_back = 1;
        meta.resubmitted.source = source;
    }

    @hidden action return_tick() {
        goes_back = 1;
        meta.resubmitted.source = AGAIN_TICK;
        meta.resubmitted.kept = tick_mean;
        meta.resubmitted.sent = tick_sent;
    }

    // By a hash that changes nothing, as mean and rate lie apart.
    @hidden action return_reply() {
        goes_back = 1;
        meta.resubmitted.source = AGAIN_REPLY;
    }

    @hidden action keep_rate() {
        meta.resubmitted.kept = rate_copy.get({ new_rate });
    }

    @hidden table again_as {
        key = {
            comes_again:           ternary;
            meta.edge.from:        ternary;
            probe_op:              ternary;
            flow_reason:           ternary;
        }
        actions = {
            return_train;
            return_tick;
            return_reply;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (1, From.LINECARD, _, _):                  return_train(AGAIN_CARD);
            (1, _, _, _):                              return_train(AGAIN_ACCESS);
            (_, _, ProbeOp.LOOK, DropReason.NONE):     return_tick();
            (_, _, ProbeOp.ANSWER, DropReason.NONE):   return_reply();
        }
    }

    @hidden action keep() {
        for_deparser.resubmit_type = 1;
        meta.resubmitted.traffic_class = meta.edge.traffic_class;
        meta.resubmitted.dst_edge = meta.edge.dst_edge;
        meta.resubmitted.queue = meta.edge.queue;
    }

    apply {
        begin();
        star.apply(hdr.edge, meta.standard, meta.edge);
        params.apply(meta.edge);
        measure.apply(hdr.edge, meta.edge.framing_bytes, lengths);
        if (hdr.edge.probe.isValid()) {
            of_probe();
        } else {
            of_report();
        }
        find_flow_cell();
        recall_kept();
        if (hdr.edge.probe.isValid() || hdr.edge.interval_tick.isValid()) {
            macroflow_of.apply(flow_number, meta.edge, flow);
        }
        look_for_traits.apply(hdr.edge, meta.standard, meta.edge, probe_traits);
        compare_edge();
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            is_truncated = 1;
        }
        if (IS_FORWARDABLE(hdr.edge.ipv4)) {
            is_forwardable = 1;
        }
        if (intrinsic.resubmit_flag == 0) {
            light.apply(hdr.edge, is_truncated, is_forwardable, for_us, way, meta.edge);
        } else {
            recalled.apply();
        }

        if (way == Way.ROUTE) {
            routing.apply(hdr.edge, meta.edge, meta.standard);
            if (meta.edge.to_fibre == 1) {
                aggregation.apply(hdr.edge, meta.edge, lengths, train_op);
            }
        } else if (way == Way.ANSWER) {
            access.apply(hdr.edge.ethernet, hdr.edge.arp, hdr.edge.ipv4, meta.edge.mac, meta.standard, meta.edge.drop_reason);
        } else if (way == Way.LEAVE) {
            send.apply(hdr.edge.packet_out, meta.standard, meta.edge.drop_reason);
        } else if (way == Way.TICK) {
            train_tick.apply(hdr.edge, lengths, meta.edge, train_op);
        } else if (way == Way.SENT) {
            train_sent.apply(hdr.edge.train_sent, meta.edge);
            if (meta.edge.drop_reason == DropReason.NONE) {
                count_out();
            }
        } else if (way == Way.PROBE) {
            if (hdr.edge.probe.isValid() && intrinsic.resubmit_flag == 0) {
                look_at_probe.apply(hdr.edge, probe_traits, meta.edge.drop_reason);
            }
            if (meta.edge.drop_reason == DropReason.NONE) {
                probe_rules.apply(hdr.edge, intrinsic.resubmit_flag, hdr.resubmitted.source, flow_number, flow.is_known, probe_op, returns,
                                  meta.edge.drop_reason);
            }
        }
        if (meta.edge.from == From.ACCESS && hdr.edge.ipv4.isValid() && way != Way.ANSWER) {
            age.apply(hdr.edge.ipv4);
        }
        find_cell();
        queue_bytes.apply(train_op, cell, lengths, meta.edge.train_part);

        if (meta.edge.is_train == 1 && meta.edge.counts_trains == 1) {
            choose_output.apply(intrinsic.resubmit_flag, hdr.resubmitted.second, meta.edge, output_op, may_return, meta.resubmitted.second);
        }
        trains_of_output.apply(output_op, meta.edge.egress_port, meta.edge.trains, found);
        if (found == 0) {
            if (output_op == OutputOp.LEAVE) {
                meta.edge.drop_reason = DropReason.STALE;
            } else if (may_return == 1) {
                comes_again = 1;
            } else if (output_op == OutputOp.ENTER) {
                meta.edge.drop_reason = DropReason.INGRESS_FULL;
            }
        }

        if (returns == 1) {
            return_probe.apply(hdr.edge, meta.edge, meta.standard);
        }
        used_bytes_of.apply(probe_op, flow_cell, kept, old_mean, flow.used);
        if (probe_op == ProbeOp.LOOK) {
            look_at_tick.apply(hdr.edge, flow_cell, old_mean, flow.shift, flow_reason, tick_sent, tick_mean);
#ifdef P4TESTGEN  // which knows no second pass
            if (flow_reason == DropReason.NONE) {
                probe_op = ProbeOp.ASK;
                flow.sent = tick_sent;
                flow.used = tick_mean;
            }
#endif
        }
        macroflow_state.apply(hdr.edge, flow_cell, kept, probe_op, flow);
        use_more();
        rate_of.apply(flow.used, flow);
        if (probe_op == ProbeOp.ANSWER) {
            look_at_reply.apply(hdr.edge, meta.edge, flow, flow_reason, new_rate);
        } else if (probe_op == ProbeOp.ASK) {
            ask.apply(hdr.edge, meta.edge, flow_number, flow, meta.standard);
        } else if (probe_op == ProbeOp.TAKE) {
            tell_rate.apply(hdr.edge, meta.edge, flow, kept, meta.standard);
        }

        if (meta.edge.is_train == 1 && comes_again == 0) {
            label_train.apply(hdr.edge, meta.edge, lengths.train, meta.standard);
        }
        if (meta.edge.to_fibre == 1 && comes_again == 0) {
            encapsulate.apply(hdr.edge, meta.edge, cell, meta.standard);
        }
        again_as.apply();
        if (probe_op == ProbeOp.ANSWER) {
            keep_rate();
        }
        if (flow_reason != DropReason.NONE) {
            meta.edge.drop_reason = flow_reason;
        }
        drop_accounting.apply(meta.edge.drop_reason);
        for_tm.bypass_egress = 1;
        if (goes_back == 1) {
            keep();
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

    // What no edge of optical packet switches sends is not here.
    apply {
#ifndef P4TESTGEN  // which knows none
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit(meta.resubmitted);
        }
#endif
        packet.emit(hdr.edge.ethernet);
        packet.emit(hdr.edge.linecard);
        packet.emit(hdr.edge.flow_control);
        packet.emit(hdr.edge.train_label);
        packet.emit(hdr.edge.label);
        packet.emit(hdr.edge.probe);
        packet.emit(hdr.edge.optical);
        packet.emit(hdr.edge.arp);
        packet.emit(hdr.edge.ipv4);
        packet.emit(hdr.edge.l4);
        packet.emit(hdr.edge.xcp);
    }
}

Pipeline(EdgeIngressParser(),
         EdgeIngress(),
         EdgeIngressDeparser(),
         NoEgressParser(),
         NoEgress(),
         NoEgressDeparser()) pipe;

Switch(pipe) main;
