// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_EDGE_PARSER_P4
#define SLOTWISE_EDGE_PARSER_P4
#include "headers.p4"

const bit<3> IP_MORE_FRAGMENTS = 1;  // bit of ipv4_t.flags

struct edge_headers_t {
    packet_in_t         packet_in;
    packet_out_t        packet_out;
    ethernet_t          ethernet;
    linecard_t          linecard;
    slot_tick_t         slot_tick;
    interval_tick_t     interval_tick;
    queue_report_t      queue_report;
    flow_control_t      flow_control;
    alarm_t             alarm;
    optical_t           optical;
    check_t             check;
    stamp_t             stamp;
    invitation_t        invitation;
    configuration_t     configuration;
    sync_t              sync;
    fault_t             fault;
    commit_t            commit;
    request_t           request;
    request_entry_t[16] entries;  // REQUEST_ENTRIES
    arp_ipv4_t          arp;
    ipv4_t              ipv4;
    l4_ports_t          l4;
    xcp_t               xcp;
}

struct edge_metadata_t {
    bit<32> core;  // whose star the packet belongs to; NO_CORE: none's

    // Set by edge_params.
    bit<16> edge_id;
    bit<1>  is_master;
    bit<16> master;
    bit<48> mac;
    bit<64> guard_ns;
    bit<64> slot_ns;
    bit<32> beacon_hold_frames;

    // Set by membership.
    bit<1>  by_invitation;
    bit<1>  inviting;
    bit<1>  out_of_band;  // beacons come from the controller, not as light
    bit<9>  fault_port;
    bit<64> margin_ns;
    bit<1>  acquiring;  // joined, but T_d is not known well enough for data
    bit<64> own_phase_ns;
    bit<32> session;  // of this edge; at the master, of the edge that a message comes from

    DropReason drop_reason;
    bool       routable;  // an IPv4 packet that came through an access port or for this edge through a fibre
    bool       xcp;       // an XCP packet for the queue `output`, or an interval tick of it
    bit<32>    output;
}

parser EdgeParser(packet_in packet,
                  out edge_headers_t hdr,
                  inout edge_metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_CPU: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    // Only a message for the switch itself is looked into.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.egress_port) {
            PORT_SELF: parse_ethernet;
            default:   accept;
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_OPTICAL:  parse_optical;
            ETHERTYPE_LINECARD: parse_linecard;
            ETHERTYPE_IPV4:     parse_ipv4;
            ETHERTYPE_ARP:      parse_arp;
            default:            accept;
        }
    }

    state parse_linecard {
        packet.extract(hdr.linecard);
        transition select(hdr.linecard.version, hdr.linecard.kind) {
            (LINECARD_VERSION, LineCardKind.SLOT_TICK):     parse_slot_tick;
            (LINECARD_VERSION, LineCardKind.QUEUE_REPORT):  parse_queue_report;
            (LINECARD_VERSION, LineCardKind.INTERVAL_TICK): parse_interval_tick;
            (LINECARD_VERSION, LineCardKind.ALARM):         parse_alarm;
            default:                                        accept;
        }
    }

    state parse_slot_tick {
        packet.extract(hdr.slot_tick);
        transition accept;
    }

    state parse_interval_tick {
        packet.extract(hdr.interval_tick);
        transition parse_queue_report;
    }

    state parse_queue_report {
        packet.extract(hdr.queue_report);
        transition accept;
    }

    state parse_alarm {
        packet.extract(hdr.alarm);
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
        transition select(hdr.optical.version, hdr.optical.kind, hdr.optical.inner_type) {
            (OPTICAL_VERSION, OpticalKind.DATA, ETHERTYPE_IPV4): parse_ipv4;
            (OPTICAL_VERSION, OpticalKind.REQUEST, _):           parse_request;
            (OPTICAL_VERSION, OpticalKind.COMMIT, _):            parse_commit;
            (OPTICAL_VERSION, OpticalKind.INVITATION, _):        parse_invitation;
            (OPTICAL_VERSION, OpticalKind.CONFIGURATION, _):     parse_configuration;
            (OPTICAL_VERSION, OpticalKind.SYNC, _):              parse_sync;
            (OPTICAL_VERSION, OpticalKind.FAULT, _):             parse_fault;
            default:                                             accept;
        }
    }

    state parse_commit {
        packet.extract(hdr.commit);
        transition accept;
    }

    state parse_invitation {
        packet.extract(hdr.stamp);
        packet.extract(hdr.invitation);
        transition accept;
    }

    state parse_configuration {
        packet.extract(hdr.configuration);
        transition accept;
    }

    state parse_sync {
        packet.extract(hdr.stamp);
        packet.extract(hdr.sync);
        transition accept;
    }

    state parse_fault {
        packet.extract(hdr.fault);
        transition accept;
    }

    state parse_request {
        packet.extract(hdr.request);
        packet.extract(hdr.entries[0]);
        packet.extract(hdr.entries[1]);
        packet.extract(hdr.entries[2]);
        packet.extract(hdr.entries[3]);
        packet.extract(hdr.entries[4]);
        packet.extract(hdr.entries[5]);
        packet.extract(hdr.entries[6]);
        packet.extract(hdr.entries[7]);
        packet.extract(hdr.entries[8]);
        packet.extract(hdr.entries[9]);
        packet.extract(hdr.entries[10]);
        packet.extract(hdr.entries[11]);
        packet.extract(hdr.entries[12]);
        packet.extract(hdr.entries[13]);
        packet.extract(hdr.entries[14]);
        packet.extract(hdr.entries[15]);
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
            (4, 5, 0 &&& IP_MORE_FRAGMENTS, 0, IP_PROTOCOL_TCP): parse_l4_ports;
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
        transition accept;
    }

    state parse_l4_ports {
        packet.extract(hdr.l4);
        transition accept;
    }
}

control EdgeDeparser(packet_out packet, in edge_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.linecard);
        packet.emit(hdr.flow_control);
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
