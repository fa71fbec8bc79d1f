// SPDX-License-Identifier: Apache-2.0
// Registers of 64 bits, which a stateful ALU holds as two halves.
#ifndef SLOTWISE_TNA_HALVES_P4
#define SLOTWISE_TNA_HALVES_P4
#include "target.p4"

struct halves_t {
    bit<32> low;
    bit<32> high;
}

// P4Testgen knows no action with two results; its one packet comes to registers that hold 0.
#ifdef P4TESTGEN
#define READ_HALVES(name, register, index_type)
#define GET_HALVES(name, index, time) time = 0;
#else
#define READ_HALVES(name, register, index_type) \
    RegisterAction2<halves_t, index_type, bit<32>, bit<32>>(register) name = { \
        void apply(inout halves_t value, out bit<32> low, out bit<32> high) { \
            low = value.low; \
            high = value.high; \
        } \
    };
#define GET_HALVES(name, index, time) time[31:0] = name.execute(index, time[63:32]);
#endif

#define KEEP_HALVES(name, register, index_type, time) \
    RegisterAction<halves_t, index_type, bit<32>>(register) name = { \
        void apply(inout halves_t value) { \
            value.low = time[31:0]; \
            value.high = time[63:32]; \
        } \
    };

#endif
