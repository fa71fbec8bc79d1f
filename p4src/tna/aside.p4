// SPDX-License-Identifier: Apache-2.0
// What goes from the pipe of an edge's fibre to the one beside it (side_pipe.p4) and back, in front of a packet: it is on no wire.
#ifndef SLOTWISE_TNA_ASIDE_P4
#define SLOTWISE_TNA_ASIDE_P4
#include "target.p4"
#include "../include/headers.p4"

// What a packet is there for.
enum bit<8> SideWay {
    NONE    = 0,
    XCP     = 1,  // feedback, then into its VOQ
    TICK    = 2,  // one of a signaling slot becomes a message
    CARD    = 3,  // an alarm, or the tick that was asked for to answer an invitation
    MESSAGE = 4,  // of the controller or another edge
    LEAVE   = 5   // a tick of an edge that has not been measured for too long
}

// In front of Ethernet is packet_in_t, with the port by which the packet came, or, of XCP, goes.
header aside_t {
    bit<8>  way;
    queue_t queue;  // of XCP
}

const bit<8> IS_MASTER = 1;
const bit<8> IS_INVITING = 2;
const bit<8> IS_BY_INVITATION = 4;
const bit<8> IS_FRESH = 8;  // it has heard a beacon lately

// What the pipe of the fibre knows of its star; of what is not XCP.
header star_state_t {
    bit<8>    duty;           // of a message
    core_t    core;
    @padding bit<5> _pad;
    bit<3>    star;           // the same, as registers have it
    bit<8>    number;         // and messages
    bit<16>   fibre_port;
    bit<8>    is;             // IS_MASTER, ...
    bit<16>   fault_port;
    edge_t    edge_id;
    edge_t    master;
    mac_t     mac;
    bit<32>   slot_ns;
    bit<32>   guard_ns;
    time_ns_t own_phase_ns;
    frame_t   now;            // of a tick its frame
    version_t active_version;
    version_t next_version;
    frame_t   next_frame;
}

// How far an edge that joins by invitation has come.
enum bit<8> MemberState {
    OUT        = 0,  // silent
    JOINED     = 1,  // and has not ticked
    UNMEASURED = 2,
    MEASURED   = 3,  // once
    FOLLOWING  = 4   // its clock is known well enough for data
}

// In front of what comes again, in either pipe, and of an order for a line card that goes by the fibre's pipe.
header again_t {
    bit<8>  source;
    bit<8>  duty;
    bit<8>  core;
    bit<8>  state;   // MemberState from now on
    frame_t frame;   // from which an announcement holds; until which an edge is a member; of JOINED, for how many more after its first
}

#endif
