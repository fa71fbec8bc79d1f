// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_OPS_PARSER_P4
#define SLOTWISE_OPS_PARSER_P4
#include "headers.p4"

struct ops_headers_t {
    packet_out_t    packet_out;
    ethernet_t      ethernet;
    linecard_t      linecard;
    interval_tick_t interval_tick;
    queue_report_t  queue_report;
    flow_control_t  flow_control;
    label_t         label;
    probe_t         probe;
    optical_t       optical;
}

// Where a packet comes from.
enum bit<8> From {
    NOWHERE        = 0,  // a port that nothing may come from
    DATA           = 1,  // a wavelength for data
    PROBES         = 2,  // a wavelength for probes
    LINECARD       = 3,
    CONTROLLER_OUT = 4   // for a port
}

// What it is, if it is ours.
enum bit<8> Message {
    NONE           = 0,
    OTHER_LIGHT    = 1,  // of a version or kind that this program does not know
    TRAIN          = 2,  // the first frame of one
    FOLLOWER       = 3,  // a frame without a label
    PROBE          = 4,
    REPLY          = 5,
    OTHER_LINECARD = 6,  // of a version or kind that this program does not know
    INTERVAL_TICK  = 7
}

// What this switch has to do with it.
enum bit<8> Duty {
    NONE    = 0,  // it has been refused
    SWITCH  = 1,  // a train begins
    FOLLOW  = 2,  // a frame goes where the train's label went
    ANSWER  = 3,  // a probe asks for feedback
    PASS_ON = 4,  // a reply
    TICK    = 5,  // an output's interval ends
    LEAVE   = 6   // by the port that the controller names
}

struct ops_metadata_t {
    From       from;
    Message    message;
    Duty       duty;
    DropReason drop_reason;

    // Set by ops_params. Times are in the target's unit; of time_per_byte_q16 in 1/65536 of it.
    bit<8>  wavelengths;    // for data, of each fibre; 0: no parameters
    bit<8>  fibre_shift;    // ports of a fibre: 2 to this
    bit<1>  converts;       // wavelengths
    bit<40> time_per_byte_q16;
    bit<24> longest_bytes;  // of a train
    bit<16> framing_bytes;  // of each frame, that links do not count
    clock_t guard;          // kept free behind each train
    clock_t ram;            // how long an output may be busy for what comes

    bit<8>  fibre;          // by which it comes
    bit<8>  wavelength;     // on which it comes
    bit<32> bytes;          // as links count them
    bit<32> choices;        // next fibres, the best one first
    index_t output;         // that feedback is about: a port for data
    index_t egress;         // port
}

parser OpsParser(packet_in packet,
                 out ops_headers_t hdr,
                 inout ops_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_CPU: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_OPTICAL:  parse_light;
            ETHERTYPE_LINECARD: parse_linecard;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        meta.message = Message.OTHER_LINECARD;
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.INTERVAL_TICK): parse_interval_tick;
            default:                                        accept;
        }
    }

    state parse_interval_tick {
        packet.extract(hdr.interval_tick);
        packet.extract(hdr.queue_report);
        meta.message = Message.INTERVAL_TICK;
        transition accept;
    }

    state parse_light {
        meta.message = Message.OTHER_LIGHT;
        transition select(packet.lookahead<bit<8>>()) {
            LABEL_VERSION ++ (bit<4>)LabelKind.TRAIN:    parse_train;
            LABEL_VERSION ++ (bit<4>)LabelKind.PROBE:    parse_probe;
            LABEL_VERSION ++ (bit<4>)LabelKind.REPLY:    parse_reply;
            OPTICAL_VERSION ++ (bit<4>)OpticalKind.DATA: parse_follower;
            default:                                     accept;
        }
    }

    state parse_train {
        packet.extract(hdr.label);
        packet.extract(hdr.optical);
        meta.message = Message.TRAIN;
        transition accept;
    }

    state parse_follower {
        packet.extract(hdr.optical);
        meta.message = Message.FOLLOWER;
        transition accept;
    }

    state parse_probe {
        packet.extract(hdr.label);
        packet.extract(hdr.probe);
        meta.message = Message.PROBE;
        transition accept;
    }

    state parse_reply {
        packet.extract(hdr.label);
        packet.extract(hdr.probe);
        meta.message = Message.REPLY;
        transition accept;
    }
}

control OpsDeparser(packet_out packet, in ops_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.linecard);
        packet.emit(hdr.flow_control);
        packet.emit(hdr.label);
        packet.emit(hdr.probe);
        packet.emit(hdr.optical);
    }
}

#endif
