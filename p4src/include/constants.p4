// SPDX-License-Identifier: Apache-2.0
// The one home of every number that P4, the engine, the controller and the tools share.
// `scripts/gen-constants` turns this file and headers.p4 into Rust, Java and Python.
#ifndef SLOTWISE_CONSTANTS_P4
#define SLOTWISE_CONSTANTS_P4
#include "types.p4"

// EtherTypes. The two local ones are IEEE 802's "local experimental" values.
const bit<16> ETHERTYPE_IPV4     = 0x0800;  // IPv4
const bit<16> ETHERTYPE_ARP      = 0x0806;  // ARP
const bit<16> ETHERTYPE_OPTICAL  = 0x88B5;  // optical_t follows, ring_t or label_t: their versions differ
const bit<16> ETHERTYPE_LINECARD = 0x88B6;  // linecard_t follows

const bit<8>  IP_PROTOCOL_TCP = 6;    // l4_ports_t follows
const bit<8>  IP_PROTOCOL_UDP = 17;   // l4_ports_t follows
const bit<8>  IP_PROTOCOL_XCP = 253;  // xcp_t follows (RFC 3692's first number for experiments)
const bit<16> ARP_REQUEST     = 1;    // opcode of arp_ipv4_t
const bit<16> ARP_REPLY       = 2;    // opcode of arp_ipv4_t

const bit<4> OPTICAL_VERSION  = 1;   // the only version of optical_t
const bit<4> LINECARD_VERSION = 1;   // the only version of linecard_t
const bit<4> RING_VERSION     = 2;   // the only version of ring_t, and none of optical_t
const bit<4> LABEL_VERSION    = 3;   // the only version of label_t, and none of the others
const bit<4> XCP_VERSION      = 1;   // the only version of xcp_t
const bit<8> XCP_LENGTH       = 20;  // bytes of xcp_t

// Switch ports, the same plan on every target (BMv2 has ports 0..511 and drops at 511).
// Access ports are 1..255. Fibre k of a switch is port PORT_OPTICAL_BASE + k, k < MAX_FIBRES:
// on an edge k is the core's number, on a core it is the edge's number.
const port_t PORT_SELF         = 0;           // packet-out to this port: a message for the switch itself
const port_t PORT_OPTICAL_BASE = 256;         // port of fibre 0
const port_t MAX_FIBRES        = 240;         // fibres of one switch
const core_t MAX_CORES         = 8;           // overlaid stars, each with a core of its own
const core_t NO_CORE           = 0xFFFFFFFF;  // of what belongs to no star
const port_t PORT_LINECARD     = 500;         // ticks and reports in, flow control out
const port_t PORT_CORE_CONTROL = 501;         // master edge <-> core, electrical and co-located
const port_t PORT_CPU          = 510;         // packet-in and packet-out
const port_t PORT_DROP         = 511;         // what goes here is dropped

// Queues of a line card. VOQs are 0..SIGNALING_QUEUE-1.
const index_t MAX_QUEUES      = 1024;  // queues of a line card, the signaling queue included
const queue_t SIGNALING_QUEUE = 1023;  // requests and commits wait here
const bit<16> REQUEST_ENTRIES = 16;    // VOQs of one request; block b holds VOQs 16*b .. 16*b+15

// Bits of request_t.flags.
const bit<16> REQUEST_BEACON   = 1;  // the sender has heard a recent beacon
const bit<16> REQUEST_NO_LIGHT = 2;  // no light comes to the sender by this star's fibre

// Edges that join by invitation.
const slot_t    ANSWER_SLOT       = 0xFFFF;      // slot of the tick that becomes the answer to an invitation
const bit<16>   INVITATION_ANSWER = 1;           // bit of invitation_t.flags
const bit<32>   MAX_ANSWER_NS     = 1000000000;  // longest time from an invitation to its answer
const bit<32>   MAX_SLOT_NS       = 1000000000;  // longest slot that a configuration may name
const time_ns_t MAX_PHASE_NS      = 1000000000;  // largest T_d, either sign
const index_t   MAX_MEMBERS       = 240;         // edges that a master measures
const bit<16>   HOLD_FRAMES       = 8;           // that an edge goes unmeasured beyond what is on its way: of hold_frames, in a configuration

// Frame numbers and versions are serial numbers (RFC 1982): only the difference of two of them says which is newer.
const frame_t FRAME_LEAD      = 1;      // frames that a control message may be ahead of who takes it: their ticks may differ by that
const frame_t FRAME_WINDOW    = 1024;   // frames that it may be behind; no beacon hold is longer
const frame_t ORDER_WINDOW    = 65536;  // the same of what the controller wants of a master: its view may be old
const frame_t MAX_COMMIT_LEAD = 256;    // frames that the first_frame that it wants may be ahead of the master's

// An interval timer whose tick is not answered in this time ticks again.
const bit<32> TIMER_RETRY_NS = 100000000;

// Traffic for an edge that is reached over several cores is cut in so many parts by flow.
const bit<8> SHARES = 16;

// Stations of a dual ring. Ringlet 0 goes by the east ports to the next station, ringlet 1 by the west ports to the one before.
const port_t    PORT_RING_EAST   = 256;         // ringlet 0 out, ringlet 1 in
const port_t    PORT_RING_WEST   = 257;         // ringlet 1 out, ringlet 0 in
const bit<16>   MAX_STATIONS     = 255;         // of a ring; an add queue of each class for each distance
const bit<4>    RINGLETS         = 2;           // of a ring
const bit<8>    FAIRNESS_ENTRIES = 4;           // limits of one message, and of a station
const bit<16>   REPORT_SOURCES   = 16;          // stations of one report; block b holds 16*b .. 16*b+15
const rate_t    NO_LIMIT         = 0xFFFFFFFF;  // of a rate that is not limited, or not known yet

// Optical packet switches without slots. Fibre f of a switch has ports PORT_OPTICAL_BASE + (f << shift) on, one a wavelength: first those
// for data, behind them the one for probes; `shift` is the switch's.
const bit<8>  NO_FIBRE        = 0xFF;        // of a choice of fibres that is not there
const bit<8>  FIBRE_CHOICES   = 4;           // next fibres to a destination, the best one first
const bit<32> NO_FEEDBACK     = 0x7FFFFFFF;  // of probe_t.feedback: no switch has written any yet
const bit<16> PROBE_SATISFIED = 1;           // bit of probe_t.flags: its macroflow has no use for more

// Edges of optical packet switches. An output is one of an edge's optical ports: PORT_OPTICAL_BASE + output.
const index_t MAX_OUTPUTS        = 8;     // of an edge
const index_t MAX_OUTPUT_CLASSES = 8;     // of trains that wait apart for an output
const bit<8>  NO_TRAIN_LIMIT     = 0xFF;  // of trains that may wait for an output
const bit<16> TRAIN_REFUSED      = 1;     // bit of train_label_t.flags: the train is dropped
const bit<8>  OUTPUT_IDLE        = 1;     // bit of train_sent_t.flags: no train begins
const bit<32> MAX_TRAIN_BYTES    = 0xFFFFFF;  // that links count

enum bit<4> OpticalKind {
    DATA          = 0,
    REQUEST       = 1,
    COMMIT        = 2,
    INVITATION    = 3,
    CONFIGURATION = 4,
    SYNC          = 5,
    FAULT         = 6
}

// What a frame is of a train: a burst of frames that travels and is lost as a whole.
enum bit<8> TrainPart {
    NONE   = 0,  // outside trains
    FIRST  = 1,
    MIDDLE = 2,
    LAST   = 3,
    ONLY   = 4
}

enum bit<4> LabelKind {
    TRAIN = 0,
    PROBE = 1,
    REPLY = 2   // a probe on its way back
}

// What became of a train at a switch: the index of its `trains` counter. Of several the last one counts.
enum bit<8> TrainFate {
    STRAIGHT  = 0,  // at once by the fibre of its choice
    WAITED    = 1,  // in optical RAM
    CONVERTED = 2,  // to another wavelength
    DEFLECTED = 3,  // to another fibre
    REFUSED   = 4
}
const index_t MAX_TRAIN_FATES = 8;  // size of the `trains` counter

enum bit<4> RingKind {
    DATA     = 0,
    FAIRNESS = 1,
    REPORT   = 2
}

// Classes of traffic on a ring. Fairness is about the first two; what is added of the others is limited at its ingress.
enum bit<4> RingClass {
    BEST_EFFORT = 0,
    EXCESS      = 1,  // what is above the rate of COMMITTED
    COMMITTED   = 2,
    RESERVED    = 3
}

// Who decides what a station may add, and how.
enum bit<8> RingMode {
    EXPLICIT         = 0,  // the head tells the others the rate that is left for each
    ADAPTIVE         = 1,  // each station halves what it differs from the next one
    CONTROLLER       = 2,  // the controller hears of congestion and tells the rates
    RPR_AGGRESSIVE   = 3,  // after IEEE 802.17: the head tells the others what it adds itself
    RPR_CONSERVATIVE = 4   // after IEEE 802.17: the head tells a rate, waits, and corrects it
}

// Where a station is that may become the head of a congested span.
enum bit<8> RingPhase {
    QUIET     = 0,
    CONGESTED = 1,
    RISING    = 2  // congestion is over, and the rates that the head tells rise
}

enum bit<4> LineCardKind {
    SLOT_TICK     = 1,
    INTERVAL_TICK = 2,
    QUEUE_REPORT  = 3,
    FLOW_CONTROL  = 4,
    ALARM         = 5,
    RING_TICK     = 6,
    ADD_LIMITS    = 7,
    TRAIN_TICK    = 8,
    TRAIN_LABEL   = 9,
    TRAIN_SENT    = 10
}

// Operations of a flow-control message; `value` and the times are used as said.
enum bit<8> FlowOp {
    OPEN              = 1,  // gate open from open_ns until close_ns, local time of the line card
    SHUT              = 2,  // gate shut now
    SET_RATE          = 3,  // value: bit/s, 0 = unlimited
    GRANT_BYTES       = 4,  // value: bytes that may leave, whatever the gate
    SET_PHASE         = 5,  // value: T_d in ns at local time open_ns; close_ns: its change, 2^-16 ns a frame; both two's complement
    SET_CONTROL_TIMER = 6,  // value: ns from the local_ns of the tick that this answers to the next one
    SET_QUEUE_TIMER   = 7,  // the same for the other timer
    OPEN_AND_TICK     = 8,  // as OPEN; at open_ns the card sends a slot tick with slot ANSWER_SLOT
    STOP              = 9   // shut all gates, send no slot tick until the next SET_PHASE
}

// Which of an output's two interval timers ticks.
enum bit<8> IntervalTimer {
    CONTROL = 0,  // XCP's control interval ends: feedback is computed
    QUEUE   = 1   // XCP's queue interval ends: the persistent queue is noted
}

// What is wrong with an edge or its master.
enum bit<8> FaultCode {
    POWER          = 1,  // light comes, but with little power to spare
    LOSS_OF_SIGNAL = 2,  // no light comes
    SYNC_ERROR     = 3,  // the edge does not know its T_d any more, and is silent
    SHUTDOWN       = 4   // the master ends: its slaves are to be silent, or to find another one
}

enum bit<4> XcpFormat {
    STANDARD = 1,  // asks for throughput; routers may write delta_throughput
    MINIMAL  = 2   // only reverse_feedback means anything (acknowledgments)
}

// What a switch found in an XCP header: the index of its `xcp_headers` counter. A bad one is forwarded untouched.
enum bit<8> XcpVerdict {
    STANDARD    = 0,
    MINIMAL     = 1,
    BAD_VERSION = 2,
    BAD_LENGTH  = 3,  // of the header, or the IP packet is longer than its frame
    BAD_FORMAT  = 4,
    BAD_FIELDS  = 5   // packets further apart than a round trip, or not apart at all
}
const index_t MAX_XCP_VERDICTS = 8;  // size of the `xcp_headers` counter

// Why a switch dropped a packet: the index of its `drops` counter. Edge and core share one space.
enum bit<8> DropReason {
    NONE             = 0,
    NO_ROUTE         = 1,   // edge: no IPv4 route, or not IPv4
    NO_VOQ           = 2,   // edge: no queue for (egress edge, class)
    MISDIRECTED      = 3,   // edge: light for another edge arrived here
    TRUNCATED        = 4,   // parser ran out of bytes
    BAD_VERSION      = 5,   // version or kind that this program does not know
    BAD_COMMIT       = 6,   // commit of a version that cannot be the next one, or from where none may come
    UNEXPECTED_PORT  = 7,   // message on a port where it has no business
    UNSYNCHRONIZED   = 8,   // edge: slot not used since the last commit beacon is too old
    DARK             = 9,   // core: no connection for this input in this slot
    GUARD            = 10,  // core: arrived in the guard
    OVERRUN          = 11,  // core: its tail would cross the end of the slot
    COLLISION        = 12,  // core: the output still carries another packet
    NO_SIGNALING     = 13,  // tick that no table entry answers (idle slot); not a loss
    TTL_EXPIRED      = 14,
    BAD_QUEUE        = 15,  // report or grant for a queue out of range
    STALE            = 16,  // control message that is too old, or not newer than the last one that was taken
    NOT_A_MEMBER     = 17,  // control message of a session that is not in force, or to or from a stranger
    BAD_FIELD        = 18,  // control message with a field out of range
    BAD_CHECK        = 19,  // message from the controller, or between stations, that is not as it was made
    RETURNED         = 20,  // station: its own packet has come round, since nobody took it off
    POLICED          = 21,  // station: more of a class came from a host than it may bring
    CONTENTION       = 22,  // optical packet switch: all outputs that the train may take are busy
    NOT_DEFLECTED    = 23,  // the same: the output of its choice is busy, and it may not be deflected any more
    INGRESS_FULL     = 24   // edge: no room for a train before any of its outputs
}
const index_t MAX_DROP_REASONS = 32;  // size of the `drops` counter

// Edges that share their capacity among macroflows.
const bit<16> PROBE_GRANT   = 2;   // bit of probe_t.flags: the edge at the other end is asked for a grant
const bit<32> PROBE_WINDOW  = 64;  // probes of a session that may not come again, the last one among them
const bit<8>  GRANT_PERIODS = 3;   // that a grant holds without another one

#endif
