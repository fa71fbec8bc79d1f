// SPDX-License-Identifier: Apache-2.0
// Stands for include/counting.p4: counters and meters under names that shared controls know. A direct counter counts only what an action
// says.
#ifndef SLOTWISE_COUNTING_P4
#define SLOTWISE_COUNTING_P4
#include "target.p4"

#define direct_counter(type) DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES)

#define COUNT(direct_counter) direct_counter.count();

#define byte_meter(size) Meter<index_t>(size, MeterType_t.BYTES)

#define EXECUTE(meter, index, color) color = meter.execute(index);

// By a hash that changes nothing, so that the port need not stand in a container where the cell's number has it. Of a class that nobody
// has the cell does not matter: it is refused.
#define FIND_PROFILE(profile, port, traffic_class) \
    Hash<index_t>(HashAlgorithm_t.IDENTITY) profile_place; \
    @hidden action find_profile() { \
        profile = profile_place.get({ port, (traffic_class)[1:0] }); \
    }

#endif
