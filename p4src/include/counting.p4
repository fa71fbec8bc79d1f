// SPDX-License-Identifier: Apache-2.0
// What shared controls say of direct counters and meters.
#ifndef SLOTWISE_COUNTING_P4
#define SLOTWISE_COUNTING_P4

// In each action that counts, for targets where the action says so: here a table's counter counts by itself.
#define COUNT(direct_counter)

#define byte_meter(size) meter(size, MeterType.bytes)

#define EXECUTE(meter, index, color) meter.execute_meter(index, color);

// Action `find_profile`: the cell of a meter that has four classes of each port.
#define FIND_PROFILE(profile, port, traffic_class) \
    @hidden action find_profile() { \
        profile = ((index_t)(port) << 2) + (index_t)(traffic_class); \
    }

#endif
