// SPDX-License-Identifier: Apache-2.0
// Where what comes again came from.
#ifndef SLOTWISE_TNA_LABEL_AGAIN_P4
#define SLOTWISE_TNA_LABEL_AGAIN_P4
#include "target.p4"

const bit<8> AGAIN_ACCESS = 1;  // a packet, for its second choice of an output
const bit<8> AGAIN_CARD = 2;    // a train's tick, for the same
const bit<8> AGAIN_TICK = 3;    // of a macroflow
const bit<8> AGAIN_REPLY = 4;

#endif
