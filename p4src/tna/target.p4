// SPDX-License-Identifier: Apache-2.0
// Tofino's architecture under the names that the shared controls know.
#ifndef SLOTWISE_TNA_TARGET_P4
#define SLOTWISE_TNA_TARGET_P4
#include <core.p4>
#if __TARGET_TOFINO__ == 1
#include <tna.p4>
#else
#include <t2na.p4>
#endif
#include "../include/types.p4"

// As much of v1model's metadata as the shared parsers and controls use. Ports are those of the plan in constants.p4.
struct standard_metadata_t {
    port_t ingress_port;
    port_t egress_spec;
}

// A device resubmits so much, and the compiler fills up to it what is less, wherever its header stands.
#define RESUBMITTED_BITS 128

// A span of time, or a moment, in ns: of two moments less than 2^31 ns apart the difference is right, whatever the clock shows.
typedef bit<32> ns_t;

// An action that copies 32 bits at most, by a hash that changes nothing: the copy may lie anywhere, where what is only moved has to lie in the same
// group of containers. A table has no room for more.
#define COPY(name, type, to, from) \
    Hash<type>(HashAlgorithm_t.IDENTITY) name##_hash; \
    @hidden action name() { \
        to = name##_hash.get({ from }); \
    }

// Whether a difference of two moments, or of two serial numbers, is below 0.
#define IS_NEGATIVE(difference) ((difference)[31:31] == 1)

// Whether `before` is less than 2^31 ns ago, by the difference and by that of the clock in 2^32 ns: in the same 2^32, or their last half
// and the first of the next.
#define IS_RECENT(since, eras, before, now) \
    (!IS_NEGATIVE(since) && ((eras) == 0 || (eras) == 1 && IS_NEGATIVE(before) && !IS_NEGATIVE(now)))

#endif
