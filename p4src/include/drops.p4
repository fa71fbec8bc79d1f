// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_DROPS_P4
#define SLOTWISE_DROPS_P4
#include "constants.p4"

// A packet that is dropped without a reason was a message for the switch itself, and is not counted.
control DropAccounting(in DropReason reason) {
    counter(MAX_DROP_REASONS, CounterType.packets_and_bytes) drops;

    apply {
        if (reason != DropReason.NONE) {
            drops.count((bit<32>)(bit<8>)reason);
        }
    }
}

#endif
