// SPDX-License-Identifier: Apache-2.0
// Every header on a wire of Slotwise. docs/wire-formats.md is generated from this file.
#ifndef SLOTWISE_HEADERS_P4
#define SLOTWISE_HEADERS_P4
#include "constants.p4"
#include "types.p4"

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> ether_type;
}

// ---- on fibres: Ethernet (ether_type ETHERTYPE_OPTICAL), then optical_t, then by kind ----

// Shim between Ethernet and payload. A DATA packet keeps the payload's EtherType in `inner_type`.
header optical_t {
    bit<4>  version;        // OPTICAL_VERSION
    bit<4>  kind;           // OpticalKind
    bit<8>  traffic_class;
    edge_t  src_edge;
    edge_t  dst_edge;
    queue_t queue;          // VOQ of the sending line card
    bit<8>  train;          // TrainPart
    bit<8>  core;           // in a message from the controller, or to it out of band: whose star it is about; 0 in light
    bit<32> sequence;       // per (src_edge, queue), starts at 1
    bit<16> inner_type;
}

// Behind optical_t of each message between a switch and the controller; light has none, as Ethernet has its own. Behind ring_t
// of each message, of stations and of the controller.
header check_t {
    bit<32> crc;  // CRC-32 (as Ethernet's) of the header before this one and of what follows it; 0 in a request that has none, as UDP's
}

// REQUEST: optical_t, request_t, REQUEST_ENTRIES x request_entry_t.
header request_t {
    frame_t   frame;           // of the sender, when it made the request
    version_t active_version;  // schedule version in force at the sender
    version_t next_version;    // version announced to it, or active_version
    bit<16>   block;           // entries are VOQs REQUEST_ENTRIES*block ...
    bit<16>   flags;           // REQUEST_BEACON, REQUEST_NO_LIGHT
}

header request_entry_t {
    bit<32> backlog_bytes;
    bit<32> arrived_bytes;   // since start, modulo 2^32
}

// COMMIT. From the controller (packet-out to PORT_SELF of the master): next_version is wanted, the one after that in
// force, from first_frame on, which is from ORDER_WINDOW behind the master's frame to MAX_COMMIT_LEAD ahead; the rest is
// ignored. From the master, every frame, to the core and to each slave: the beacon that tells both what is in force and
// what comes, with versions that are equal or follow each other. The bank of a version is its lowest bit.
header commit_t {
    frame_t   frame;           // in which it was sent
    version_t active_version;
    version_t next_version;    // active_version if nothing is announced
    frame_t   first_frame;     // from which next_version holds
}

// Behind optical_t of INVITATION and SYNC. The sending line card writes sent_ns when the first bit leaves, the
// receiving one received_ns when the first bit comes, each by its own clock.
header stamp_t {
    time_ns_t sent_ns;
    time_ns_t received_ns;
}

// INVITATION: optical_t, stamp_t, invitation_t. From the master to an edge that has not joined, and back as its answer.
header invitation_t {
    session_t nonce;      // newer than that of any invitation before; becomes the session
    mac_t     mac;        // of the invited edge
    bit<16>   flags;      // INVITATION_ANSWER
    bit<32>   answer_ns;  // from the invitation's first bit to the answer's, local time of the edge; at most MAX_ANSWER_NS
}

// CONFIGURATION: optical_t, configuration_t. From the master, or out of band the controller, to an edge that has
// answered; it has joined then.
header configuration_t {
    session_t session;      // nonce of the invitation that was answered
    bit<32>   slot_ns;      // at most MAX_SLOT_NS
    bit<32>   guard_ns;     // less than slot_ns
    bit<16>   slots;        // of a frame
    bit<16>   hold_frames;  // the edge falls silent when its last measurement is older than this; at least 1
    time_ns_t phase_ns;     // T_d, two's complement; at most MAX_PHASE_NS either way
}

// SYNC: optical_t, stamp_t, sync_t. From each edge in each frame to be measured, and back with what was
// measured, from the master or out of band from the controller.
header sync_t {
    session_t session;
    frame_t   frame;     // in which the edge sent what is (to be) measured
    time_ns_t edge_ns;   // from the master: sent_ns of the message that was measured
    time_ns_t phase_ns;  // from an edge: its T_d in use; from the master: T_d measured; two's complement
}

// FAULT: optical_t, fault_t. From an edge to the master or the controller; from the master that ends, to its slaves; from
// the controller to the master, which is to end.
header fault_t {
    session_t session;  // of the edge; 0 from the controller
    frame_t   frame;    // of the sender; 0 from an edge that has none; from the controller newer than in its last order
    bit<8>    code;     // FaultCode
    bit<8>    flags;    // bit 0: it is over
    edge_t    edge;     // that has the fault
}

// ---- on rings: Ethernet (ether_type ETHERTYPE_OPTICAL), then ring_t, then by kind ----

header ring_t {
    bit<4>    version;        // RING_VERSION
    bit<4>    kind;           // RingKind
    bit<8>    ttl;            // stations of the ring at the source, one less at each station on the way
    bit<4>    ringlet;        // on which DATA travels; which a message is about
    bit<4>    traffic_class;  // RingClass
    bit<8>    weight;         // of the source
    station_t source;
    station_t destination;
}

// DATA: ring_t, ring_data_t, the payload.
header ring_data_t {
    queue_t queue;       // add queue of the source's card: 256 * class + hops to the destination
    bit<16> inner_type;  // EtherType of the payload
    bit<32> sequence;    // by source, ringlet and queue, starts at 1
}

// FAIRNESS: ring_t, check_t, fairness_t, FAIRNESS_ENTRIES x fairness_entry_t: 64 bytes. From the station after it to a station, or
// from the controller: what it may add at most to the ringlet, the nearest link first.
header fairness_t {
    bit<32> sequence;  // of the sender, a serial number
    bit<8>  entries;   // that hold something
    bit<8>  reserved;
}

// Of what travels over the link behind the station `hops` from here a station may add `rate` times its weight.
header fairness_entry_t {
    station_t head;   // the station before the link
    bit<8>    hops;   // from the station that is told to the head
    bit<8>    reach;  // stations further on that are to be told
    rate_t    rate;
}

// REPORT: ring_t, check_t, ring_report_t, REPORT_SOURCES x report_source_t. A station tells the controller how its link fares.
header ring_report_t {
    time_ns_t local_ns;      // local time of the line card
    rate_t    link_rate;     // estimate of what the link carries
    rate_t    added_rate;    // estimate of what the station adds of it
    rate_t    told_rate;     // by weight, as the station would tell others; NO_LIMIT unless it is a head
    bit<32>   hol_delay_ns;  // of the tick that this answers
    bit<8>    phase;         // RingPhase
    bit<8>    block;
    bit<16>   active;        // stations that have added something lately, itself included
}

header report_source_t {
    rate_t rate;  // of fair traffic of this station on the link, in the last window that had some; NO_LIMIT: not known, or more in this one
}

// ---- between optical packet switches: Ethernet (ether_type ETHERTYPE_OPTICAL), then label_t, then by kind ----

// Before the first frame of a train, and of each probe.
header label_t {
    bit<4>  version;           // LABEL_VERSION
    bit<4>  kind;              // LabelKind
    bit<8>  traffic_class;     // with the two edges: the macroflow
    edge_t  src_edge;
    edge_t  dst_edge;
    bit<32> train;             // by src_edge, from 1 on; 0 of a probe
    bit<32> length;            // bytes of the train, as links count them, this header included; 0 of a probe
    bit<16> packets;           // frames of the train; 0 of a probe
    bit<8>  wavelength;        // on which the train travels; that the probe is about
    bit<8>  deflections_left;
    bit<8>  hops_left;
    bit<8>  reserved;
}

// TRAIN: label_t, optical_t (DATA, part FIRST or ONLY), the payload; the frames behind it (MIDDLE, LAST) begin with optical_t. All
// frames of a train have the same source, destination and queue.

// PROBE: label_t, probe_t, on the wavelength for probes. From an edge, once a period for each macroflow, to the edge at the other end,
// which sends it back as a REPLY, edges exchanged.
header probe_t {
    bit<32>   sequence;    // of the macroflow, a serial number
    bit<32>   sent_bytes;  // of the macroflow since its last probe, as links count them
    rate_t    feedback;    // change of its rate that all switches so far allow, byte/s, two's complement; of a reply with PROBE_GRANT the grant
    bit<16>   flags;       // PROBE_SATISFIED, PROBE_GRANT
    queue_t   queue;       // of the macroflow, at the edge that asks; only that edge reads it
    time_ns_t sent_ns;     // local time of the edge
}

// ---- between line card and switch: Ethernet (ETHERTYPE_LINECARD), then linecard_t, then by kind ----

header linecard_t {
    bit<4>  version;  // LINECARD_VERSION
    bit<4>  kind;     // LineCardKind
    bit<8>  reserved;
    bit<16> port;     // optical (or ring) port that the card serves
}

// At each slot start; in signaling slots repeated (repeat = 0, 1, ...), so that one tick makes one message.
header slot_tick_t {
    frame_t   frame;
    slot_t    slot;
    bit<16>   repeat;
    time_ns_t local_ns;  // local time of the card at the slot's start
}

// When an interval timer of a queue expires; a queue_report_t of the queue follows.
header interval_tick_t {
    bit<8>    timer;                // IntervalTimer
    bit<24>   reserved;
    bit<32>   least_backlog_bytes;  // smallest backlog of the queue since the last tick of this timer
    time_ns_t local_ns;             // local time of the card
}

header queue_report_t {
    queue_t queue;
    bit<16> reserved;
    bit<32> backlog_bytes;
    bit<32> arrived_bytes;    // since start, modulo 2^32
    bit<32> hol_delay_ns;     // age of the head of the queue, saturated
    bit<32> dropped_packets;  // since start, modulo 2^32
}

header flow_control_t {
    queue_t   queue;
    bit<8>    op;        // FlowOp
    bit<8>    reserved;
    time_ns_t open_ns;
    time_ns_t close_ns;
    bit<64>   value;
}

// From the card of a ring port: repeat 0 at the end of each interval, then at once as often as P4 has asked for, so that one
// tick makes one message.
header ring_tick_t {
    bit<16>   repeat;
    bit<16>   reserved;
    bit<32>   hol_delay_ns;     // longest time in the interval that transit has held back what could have been added
    bit<32>   added_bytes;      // of fair classes, put on the ring since start, modulo 2^32
    bit<32>   committed_bytes;  // the same of the other classes
    time_ns_t local_ns;         // local time of the card at the interval's end
}

// Answer to the ring tick with repeat 0; FAIRNESS_ENTRIES x add_limit_t follow.
header add_limits_t {
    bit<32> next_ns;  // from the tick's local_ns to the next interval's end
    bit<16> ticks;    // that the card sends at once, repeat 1 ...
    bit<16> reserved;
}

// Of fair traffic that goes further than `hops` stations the card may add `rate`.
header add_limit_t {
    bit<8>  hops;
    bit<24> reserved;
    rate_t  rate;  // NO_LIMIT: this limit is not used
}

// From the card of an edge that makes trains: the open train of a queue is closed.
header train_tick_t {
    queue_t   queue;
    bit<16>   packets;      // of the train
    bit<32>   bytes;        // of its frames as links count them, without label_t
    bit<32>   first_bytes;  // of its first frame, the same
    bit<32>   lost_bytes;   // that frames of this queue carried which the card has dropped since its last tick
    time_ns_t local_ns;     // local time of the card
}

// Answer to a train tick, by which the train goes to the output `linecard_t.port`. A label_t follows, for the first frame; that of a
// train that is refused has number 0. In a star there is no label, and the train goes to a VOQ.
header train_label_t {
    queue_t queue;
    bit<16> packets;        // as in the tick
    bit<16> flags;          // TRAIN_REFUSED
    bit<8>  traffic_class;
    bit<8>  reserved;
    bit<64> tag;            // of trains that wait for an output the one with the smallest tag goes first; 0: in the order of answers; in a star its VOQ
}

// From the card: a train has left by the output `linecard_t.port`, and the next one begins.
header train_sent_t {
    bit<8>  traffic_class;  // of the one that begins
    bit<8>  flags;          // OUTPUT_IDLE
    bit<48> reserved;
    bit<64> tag;            // of the one that begins
}

// What the card finds wrong: P4 tells the master or the controller.
header alarm_t {
    bit<8>  code;   // FaultCode
    bit<8>  flags;  // bit 0: it is over
    bit<16> reserved;
}

// ---- hosts ----

header ipv4_t {
    bit<4>         version;
    bit<4>         ihl;
    bit<6>         dscp;
    bit<2>         ecn;
    bit<16>        total_len;
    bit<16>        identification;
    bit<3>         flags;
    bit<13>        frag_offset;
    bit<8>         ttl;
    bit<8>         protocol;
    bit<16>        checksum;
    ipv4_address_t src;
    ipv4_address_t dst;
}

// The first four bytes of both TCP and UDP.
header l4_ports_t {
    bit<16> src;
    bit<16> dst;
}

// XCP's congestion header between IPv4 (protocol IP_PROTOCOL_XCP) and the transport, after figure 4.1 of the
// AAPN thesis. The transport's checksum is as if this header were not there.
header xcp_t {
    bit<8>  protocol;          // IP protocol that follows
    bit<8>  length;            // XCP_LENGTH
    bit<4>  version;           // XCP_VERSION
    bit<4>  format;            // XcpFormat
    bit<8>  reserved;
    bit<32> rtt;               // ns; 0: not measured yet; saturated
    bit<32> x;                 // time between the sender's packets (srtt / cwnd in packets), 1/4 ns; saturated
    bit<32> delta_throughput;  // change asked for, then granted, 1/16 byte/s, two's complement
    bit<32> reverse_feedback;  // change granted on the way there, 1/16 byte/s, two's complement
}

header arp_ipv4_t {
    bit<16>        hw_type;
    bit<16>        proto_type;
    bit<8>         hw_len;
    bit<8>         proto_len;
    bit<16>        opcode;
    mac_t          sender_mac;
    ipv4_address_t sender_ip;
    mac_t          target_mac;
    ipv4_address_t target_ip;
}

// ---- controller (P4Runtime packet I/O) ----

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    bit<7> _pad;
}

@controller_header("packet_out")
header packet_out_t {
    port_t egress_port;
    bit<7> _pad;
}

#endif
