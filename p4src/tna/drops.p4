// SPDX-License-Identifier: Apache-2.0
// Stands for include/drops.p4.
#ifndef SLOTWISE_DROPS_P4
#define SLOTWISE_DROPS_P4
#include "target.p4"
#include "../include/constants.p4"

// A packet that is dropped without a reason was a message for the switch itself, and is not counted.
control DropAccounting(in DropReason reason) {
    Counter<bit<64>, bit<8>>(MAX_DROP_REASONS, CounterType_t.PACKETS_AND_BYTES) drops;

    apply {
        if (reason != DropReason.NONE) {
            drops.count((bit<8>)reason);
        }
    }
}

#endif
