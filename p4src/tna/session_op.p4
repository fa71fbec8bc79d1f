// SPDX-License-Identifier: Apache-2.0
// What a packet of signaling is for, in side_pipe.p4.
#ifndef SLOTWISE_TNA_SESSION_OP_P4
#define SLOTWISE_TNA_SESSION_OP_P4

// What it does with registers.
enum bit<8> SessionOp {
    READ    = 0,
    TICK    = 1,
    ANSWER  = 2,  // it is answered, if that is due
    ALARM   = 3,  // whether there is light is noted
    INVITE  = 4,
    JOIN    = 5,
    MEASURE = 6,
    LEAVE   = 7,
    ORDER   = 8,
    KEEP    = 9   // what a master has measured of an edge
}

// What is made of it.
enum bit<8> Made {
    NOTHING       = 0,
    REQUEST       = 1,
    COMMIT        = 2,
    SHUTDOWN      = 3,
    INVITATION    = 4,  // as the entry has it
    CONFIGURATION = 5,  // the same
    ASK           = 6,  // a measurement of T_d
    TELL          = 7,  // one that was made
    ANSWER        = 8,
    FAULT         = 9
}

#endif
