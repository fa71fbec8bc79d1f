// SPDX-License-Identifier: Apache-2.0
// Counters and meters under names that shared controls know; a direct counter counts only what an action says.
#ifndef SLOTWISE_COUNTING_P4
#define SLOTWISE_COUNTING_P4
#include "target.p4"

#define direct_counter(type) DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES)

#define COUNT(direct_counter) direct_counter.count();

#endif
