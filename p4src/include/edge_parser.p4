// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_EDGE_PARSER_P4
#define SLOTWISE_EDGE_PARSER_P4
#include "headers.p4"
#include "member_state.p4"
#include "verdict.p4"
#include "version.p4"
#include "looking.p4"
const bit<3> IP_MORE_FRAGMENTS = 1;  // bit of ipv4_t.flags

// The REQUEST_ENTRIES times request_entry_t of a REQUEST: one header, since the deparser asks of each whether it is there.
#define ENTRY(i) bit<32> backlog_bytes_##i; bit<32> arrived_bytes_##i;
header request_entries_t {
    ENTRY(0) ENTRY(1) ENTRY(2) ENTRY(3) ENTRY(4) ENTRY(5) ENTRY(6) ENTRY(7)
    ENTRY(8) ENTRY(9) ENTRY(10) ENTRY(11) ENTRY(12) ENTRY(13) ENTRY(14) ENTRY(15)
}

struct edge_headers_t {
    packet_in_t       packet_in;
    packet_out_t      packet_out;
    ethernet_t        ethernet;
    linecard_t        linecard;
    slot_tick_t       slot_tick;
    interval_tick_t   interval_tick;
    queue_report_t    queue_report;
    flow_control_t    flow_control;
    alarm_t           alarm;
    train_tick_t      train_tick;
    train_label_t     train_label;
    train_sent_t      train_sent;
    label_t           label;
    probe_t           probe;
    optical_t         optical;
    check_t           check;
    stamp_t           stamp;
    invitation_t      invitation;
    configuration_t   configuration;
    sync_t            sync;
    fault_t           fault;
    commit_t          commit;
    request_t         request;
    request_entries_t entries;
    arp_ipv4_t        arp;
    ipv4_t            ipv4;
    l4_ports_t        l4;
    xcp_t             xcp;
}

// Where a packet comes from.
enum bit<8> From {
    ACCESS         = 0,
    LINECARD       = 1,
    CONTROLLER     = 2,  // for this switch
    CONTROLLER_OUT = 3,  // for a port
    FIBRE          = 4,
    NOWHERE        = 5   // a port that nothing may come from
}

// What it is, if it is ours.
enum bit<8> Message {
    NONE           = 0,
    OTHER_LINECARD = 1,  // of a version or kind that this program does not know
    SLOT_TICK      = 2,
    ANSWER_TICK    = 3,
    QUEUE_REPORT   = 4,
    INTERVAL_TICK  = 5,
    ALARM          = 6,
    OTHER_OPTICAL  = 7,  // of a version that this program does not know
    OTHER_KIND     = 8,
    DATA           = 9,
    REQUEST        = 10,
    COMMIT         = 11,
    INVITATION     = 12,
    CONFIGURATION  = 13,
    SYNC           = 14,
    FAULT          = 15,
    TRAIN          = 16,  // data behind a label
    PROBE          = 17,  // or a reply
    TRAIN_TICK     = 18,
    TRAIN_SENT     = 19
}

// What this switch has to do with a message.
enum bit<8> Duty {
    NONE               = 0,
    REFUSED            = 1,
    TICK_SLOT          = 2,
    TICK_XCP           = 3,   // or a probe that begins or ends here
    SEND_MESSAGE       = 4,   // that a tick or an alarm has become
    TAKE_BEACON        = 5,
    STAGE_VERSION      = 6,
    TAKE_ORDER         = 7,
    TAKE_INVITATION    = 8,
    TAKE_CONFIGURATION = 9,
    TAKE_MEASUREMENT   = 10,
    LEAVE              = 11,
    TELL_REQUEST       = 12,  // the controller, as all that follow
    TELL_MEASURED      = 13,
    TELL_FAULT         = 14,
    TELL_ANSWER        = 15
}

struct edge_metadata_t {
    From    from;
    Message message;
    Duty    duty;
    core_t  core;  // whose star the packet belongs to; NO_CORE: none's

    // Set by edge_params.
    edge_t    edge_id;
    bit<1>    is_master;
    edge_t    master;
    mac_t     mac;
    time_ns_t guard_ns;
    time_ns_t slot_ns;
    bit<32>   beacon_hold_frames;
    bit<1>    labels;              // light goes to optical packet switches, in trains
    bit<16>   framing_bytes;       // of each frame, that links do not count
    bit<8>    deflections;         // that a train may take
    bit<8>    hops;                // that a train may take

    // Set by fibre_params and ingress_params, with labels.
    bit<8> wavelengths;      // for data, of each fibre; 0: there are no probes
    bit<8> wavelength_mask;  // bits of an output's number that say which wavelength it is
    bit<1> counts_trains;    // at outputs
    bit<8> trains;           // that may wait for an output
    bit<1> fair;             // between classes

    // Set by membership.
    bit<1>    by_invitation;
    bit<1>    inviting;
    bit<1>    out_of_band;  // beacons come from the controller, not as light
    port_t    fault_port;
    time_ns_t margin_ns;
    bit<1>    acquiring;    // joined, but T_d is not known well enough for data
    time_ns_t own_phase_ns;
    session_t session;      // of this edge; at the master, of the edge that a message comes from

    // What this switch knows of the star.
    versions_t versions;
    member_t   member;
    wrong_t    wrong;
    DropReason drop_reason;

    // What the packet becomes.
    bit<1>      to_fibre;       // it gets an optical header
    OpticalKind kind;           // DATA unless something sets it
    bit<8>      traffic_class;
    edge_t      dst_edge;
    queue_t     queue;
    port_t      egress_port;
    port_t      second_port;    // where it goes if there is no room there; 0: nowhere
    bit<8>      train_part;
    bit<1>      is_train;       // that is complete: the packet alone, or a queue's
    bit<16>     train_packets;
    bit<32>     train_bytes;    // with its label, as links count them
    bit<1>      to_controller;
    bit<1>      to_linecard;    // it becomes a flow-control message
    FlowOp      op;
    time_ns_t   open_ns;
    time_ns_t   close_ns;
    time_ns_t   value;
    bit<1>      xcp;            // an XCP packet for `output`, or an interval tick of it
    index_t     output;         // the queue that it goes to, or is about
    bit<16>     shares;         // that its edge is reached by
    bit<8>      part;           // that is its flow's
    index_t     measured_edge;  // at the master: whose T_d it is about
    bit<32>     crc;

    // Of TCP and UDP.
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<1>  acknowledgement;  // TCP without payload
}

parser EdgeParser(packet_in packet,
                  out edge_headers_t hdr,
                  inout edge_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_SELF:                                                      from_nowhere;
            0 &&& PORT_OPTICAL_BASE:                                        parse_ethernet;
            PORT_LINECARD:                                                  from_linecard;
            PORT_CPU:                                                       from_controller;
            PORT_OPTICAL_BASE .. PORT_OPTICAL_BASE + (port_t)MAX_CORES - 1: from_fibre;
            default:                                                        from_nowhere;
        }
    }

    state from_linecard {
        meta.from = From.LINECARD;
        transition parse_ethernet;
    }

    state from_fibre {
        meta.from = From.FIBRE;
        transition parse_ethernet;
    }

    state from_nowhere {
        meta.from = From.NOWHERE;
        transition parse_ethernet;
    }

    // Only a message for the switch itself is looked into.
    state from_controller {
        meta.from = From.CONTROLLER_OUT;
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.egress_port) {
            PORT_SELF: for_self;
            default:   accept;
        }
    }

    state for_self {
        meta.from = From.CONTROLLER;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4:     parse_ipv4;
            ETHERTYPE_OPTICAL:  parse_light;
            ETHERTYPE_LINECARD: parse_linecard;
            ETHERTYPE_ARP:      parse_arp;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        meta.message = Message.OTHER_LINECARD;
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.SLOT_TICK):     parse_slot_tick;
            (LINECARD_VERSION, LineCardKind.QUEUE_REPORT):  parse_queue_report;
            (LINECARD_VERSION, LineCardKind.INTERVAL_TICK): parse_interval_tick;
            (LINECARD_VERSION, LineCardKind.ALARM):         parse_alarm;
            (LINECARD_VERSION, LineCardKind.TRAIN_TICK):    parse_train_tick;
            (LINECARD_VERSION, LineCardKind.TRAIN_SENT):    parse_train_sent;
            default:                                        accept;
        }
    }

    state parse_slot_tick {
        packet.extract(hdr.slot_tick);
        meta.message = Message.SLOT_TICK;
        transition select(hdr.slot_tick.slot) {
            ANSWER_SLOT: parse_answer_tick;
            default:     accept;
        }
    }

    state parse_answer_tick {
        meta.message = Message.ANSWER_TICK;
        transition accept;
    }

    state parse_interval_tick {
        packet.extract(hdr.interval_tick);
        packet.extract(hdr.queue_report);
        meta.message = Message.INTERVAL_TICK;
        transition accept;
    }

    state parse_queue_report {
        packet.extract(hdr.queue_report);
        meta.message = Message.QUEUE_REPORT;
        transition accept;
    }

    state parse_alarm {
        EXTRACT_BODY(packet, hdr.alarm)
        meta.message = Message.ALARM;
        transition accept;
    }

    state parse_train_tick {
        packet.extract(hdr.train_tick);
        meta.message = Message.TRAIN_TICK;
        transition accept;
    }

    state parse_train_sent {
        packet.extract(hdr.train_sent);
        meta.message = Message.TRAIN_SENT;
        transition accept;
    }

    state parse_light {
        transition select(packet.lookahead<bit<8>>()) {
            LABEL_VERSION ++ (bit<4>)LabelKind.TRAIN: parse_train;
            LABEL_VERSION ++ (bit<4>)LabelKind.PROBE: parse_probe;
            LABEL_VERSION ++ (bit<4>)LabelKind.REPLY: parse_probe;
            default:                                  parse_optical;
        }
    }

    state parse_train {
        packet.extract(hdr.label);
        packet.extract(hdr.optical);
        meta.message = Message.TRAIN;
        transition select(hdr.optical.version, hdr.optical.kind) {
            (OPTICAL_VERSION, OpticalKind.DATA): parse_carried;
            default:                             other_version;
        }
    }

    state parse_probe {
        packet.extract(hdr.label);
        packet.extract(hdr.probe);
        meta.message = Message.PROBE;
        transition accept;
    }

    state parse_optical {
        packet.extract(hdr.optical);
        transition select(standard_metadata.ingress_port) {
            PORT_CPU: parse_check;
            default:  parse_kind;
        }
    }

    state parse_check {
        packet.extract(hdr.check);
        transition parse_kind;
    }

    state parse_kind {
        meta.message = Message.OTHER_KIND;
        transition select(hdr.optical.version, hdr.optical.kind) {
            (OPTICAL_VERSION, OpticalKind.DATA):          parse_data;
            (OPTICAL_VERSION, OpticalKind.REQUEST):       parse_request;
            (OPTICAL_VERSION, OpticalKind.COMMIT):        parse_commit;
            (OPTICAL_VERSION, OpticalKind.INVITATION):    parse_invitation;
            (OPTICAL_VERSION, OpticalKind.CONFIGURATION): parse_configuration;
            (OPTICAL_VERSION, OpticalKind.SYNC):          parse_sync;
            (OPTICAL_VERSION, OpticalKind.FAULT):         parse_fault;
            (OPTICAL_VERSION, _):                         accept;
            default:                                      other_version;
        }
    }

    state other_version {
        meta.message = Message.OTHER_OPTICAL;
        transition accept;
    }

    state parse_data {
        meta.message = Message.DATA;
        transition parse_carried;
    }

    state parse_carried {
        transition select(hdr.optical.inner_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default:        accept;
        }
    }

    state parse_commit {
        packet.extract(hdr.commit);
        meta.message = Message.COMMIT;
        transition accept;
    }

    state parse_invitation {
        EXTRACT_BODY(packet, hdr.stamp)
        EXTRACT_BODY(packet, hdr.invitation)
        meta.message = Message.INVITATION;
        transition accept;
    }

    state parse_configuration {
        EXTRACT_BODY(packet, hdr.configuration)
        meta.message = Message.CONFIGURATION;
        transition accept;
    }

    state parse_sync {
        EXTRACT_BODY(packet, hdr.stamp)
        EXTRACT_BODY(packet, hdr.sync)
        meta.message = Message.SYNC;
        transition accept;
    }

    state parse_fault {
        EXTRACT_BODY(packet, hdr.fault)
        meta.message = Message.FAULT;
        transition accept;
    }

    state parse_request {
        EXTRACT_BODY(packet, hdr.request)
        EXTRACT_ENTRIES(packet, hdr.entries)
        meta.message = Message.REQUEST;
        transition accept;
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    // Ports are read only behind a header without options, and not of fragments: the later ones have none, and all of a
    // packet must go one way.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0 &&& IP_MORE_FRAGMENTS, 0, IP_PROTOCOL_TCP): parse_tcp;
            (4, 5, 0 &&& IP_MORE_FRAGMENTS, 0, IP_PROTOCOL_UDP): parse_l4_ports;
            (4, 5, _,                       0, IP_PROTOCOL_XCP): parse_xcp_if_long_enough;
            default:                                             accept;
        }
    }

    // Whatever else experiments with this protocol number is payload.
    state parse_xcp_if_long_enough {
        transition select(hdr.ipv4.total_len) {
            0 .. 39: accept;  // less than an IPv4 header and XCP_LENGTH
            default: parse_xcp;
        }
    }

    state parse_xcp {
        packet.extract(hdr.xcp);
        meta.xcp = 1;
        transition accept;
    }

    // One without payload has at most 80 bytes. Its length is looked for only if the frame has TCP's header.
    state parse_tcp {
        packet.extract(hdr.l4);
        meta.l4_src = hdr.l4.src;
        meta.l4_dst = hdr.l4.dst;
        transition select(hdr.ipv4.total_len) {
            40 .. 80: parse_short_tcp;
            default:  accept;
        }
    }

    state parse_short_tcp {
        transition select(FRAME_LENGTH(standard_metadata)) {
            0 .. 53: accept;
            default: parse_tcp_length;
        }
    }

    state parse_tcp_length {
        LOOK_FOR_PAYLOAD(packet, hdr.ipv4.total_len, meta.acknowledgement)
        transition accept;
    }

    state parse_l4_ports {
        packet.extract(hdr.l4);
        meta.l4_src = hdr.l4.src;
        meta.l4_dst = hdr.l4.dst;
        transition accept;
    }
}

control EdgeDeparser(packet_out packet, in edge_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.linecard);
        packet.emit(hdr.flow_control);
        packet.emit(hdr.train_label);
        packet.emit(hdr.label);
        packet.emit(hdr.probe);
        packet.emit(hdr.optical);
        packet.emit(hdr.check);
        packet.emit(hdr.stamp);
        packet.emit(hdr.invitation);
        packet.emit(hdr.configuration);
        packet.emit(hdr.sync);
        packet.emit(hdr.fault);
        packet.emit(hdr.commit);
        packet.emit(hdr.request);
        packet.emit(hdr.entries);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.l4);
        packet.emit(hdr.xcp);
    }
}

#endif
