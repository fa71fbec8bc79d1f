// SPDX-License-Identifier: Apache-2.0
// What this station may add: what it says as a head, and what it was told, the nearest link first. Of a link behind one that
// leaves less nothing has to be known, so each limit is lower than the one before it.
#ifndef SLOTWISE_RING_LIMITS_P4
#define SLOTWISE_RING_LIMITS_P4
#include "quotient.p4"
#include "ring_parser.p4"

// By ringlet: what was told last, and in how many intervals nothing was.
register<bit<8>>(2)  told_entries;
register<bit<32>>(2) told_sequence;
register<bit<16>>(2) told_age;
// By ringlet and entry, FAIRNESS_ENTRIES each. A place is fairness_entry_t without its rate.
register<rate_t>(8)  told_entry_rate;
register<bit<32>>(8) told_entry_place;
// What holds now.
register<bit<8>>(2)  limits_held;
register<rate_t>(8)  limit_rate;
register<bit<32>>(8) limit_place;
register<rate_t>(2)  average_rate;  // of a station that averages, by weight; 0 before it ever did

// Whether a limit concerns the station before this one.
#define GOES_UPSTREAM(place) (PLACE_REACH(place) != 0 && (bit<16>)PLACE_HOPS(place) + 1 < meta.stations)

control Limits(inout ring_metadata_t meta) {
    bit<8>  told;
    bit<16> age;
    index_t base;
    index_t at;
    bit<8>  entry;
    bit<8>  held;
    rate_t  rate;
    rate_t  least;
    rate_t  step;
    bit<32> place;
    bit<8>  reach;
    bit<1>  single;  // one limit for all that is added, wherever it goes

    // What has not been told for too long rises until it is no limit.
    @hidden action list_limits() {
        told_entries.read(told, meta.link);
        told_age.read(age, meta.link);
        if (meta.duty == Duty.MEASURE) {
            age = age |+| 1;
            told_age.write(meta.link, age);
        }
        base = meta.link << 2;
        step = meta.capacity >> 6;
        held = 0;
        least = NO_LIMIT;
        for (entry = 0; entry <= told; entry = entry + 1) {
            rate = NO_LIMIT;
            place = 0;
            if (entry == 0) {
                span_hops.read(reach, meta.link);
                if (meta.tells == 1) {
                    rate = meta.told_rate;
                }
                place = meta.station ++ 8w0 ++ reach;
            } else {
                at = base + (index_t)entry - 1;
                told_entry_rate.read(rate, at);
                told_entry_place.read(place, at);
                if (age > meta.hold_intervals && rate != NO_LIMIT) {
                    rate = rate |+| step;
                    if (rate >= meta.capacity) {
                        rate = NO_LIMIT;
                    }
                    told_entry_rate.write(at, rate);
                }
            }
            if (rate < least) {
                least = rate;
                if (single == 1) {
                    held = 0;
                    place = place & 0xffff00ff;
                }
                if (held == FAIRNESS_ENTRIES) {
                    // No room: the lower rate counts from the nearer link on.
                    limit_rate.write(base + (index_t)held - 1, rate);
                } else {
                    limit_rate.write(base + (index_t)held, rate);
                    limit_place.write(base + (index_t)held, place);
                    held = held + 1;
                }
            }
        }
    }

    // Half the way to what it is told, or up.
    @hidden action average() {
        average_rate.read(rate, meta.link);
        if (rate == 0) {
            rate = NO_LIMIT;
        }
        if (least == NO_LIMIT) {
            rate = rate |+| step;
            span_hops.read(reach, meta.link);
            limit_place.write(base, meta.station ++ 8w0 ++ reach);
        } else {
            AT_MOST(rate, meta.capacity)
            rate = (rate >> 1) + (least >> 1);
        }
        held = 1;
        if (rate >= meta.capacity) {
            rate = NO_LIMIT;
            held = 0;
        }
        average_rate.write(meta.link, rate);
        limit_rate.write(base, rate);
    }

    // The card ticks for a message unless what was told in this interval has been told on at once.
    @hidden action count() {
        limits_held.write(meta.link, held);
        meta.ticks = 0;
        for (entry = 0; entry < held; entry = entry + 1) {
            limit_place.read(place, base + (index_t)entry);
            if (GOES_UPSTREAM(place) && (age > 1 || single == 1)) {
                meta.ticks = 1;
            }
        }
    }

    apply {
        single = 0;
        if (meta.mode != RingMode.EXPLICIT && meta.mode != RingMode.CONTROLLER) {
            single = 1;
        }
        list_limits();
        if (meta.mode == RingMode.ADAPTIVE) {
            average();
        }
        count();
    }
}

#define SET_LIMIT(i) \
    hdr.limits.hops_##i = 0; \
    hdr.limits.reserved_##i = 0; \
    hdr.limits.rate_##i = NO_LIMIT; \
    if (held > i) { \
        limit_rate.read(rate, (meta.link << 2) + i); \
        limit_place.read(place, (meta.link << 2) + i); \
        product = (bit<40>)rate * (bit<40>)meta.weight; \
        AT_MOST(product, (bit<40>)NO_LIMIT) \
        hdr.limits.hops_##i = PLACE_HOPS(place); \
        hdr.limits.rate_##i = product[31:0]; \
    }

// The tick becomes its answer.
control SetLimits(inout ring_headers_t hdr, in ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<8>  held;
    rate_t  rate;
    bit<32> place;
    bit<40> product;

    @hidden action set_limits() {
        limits_held.read(held, meta.link);
        hdr.linecard.kind = LineCardKind.ADD_LIMITS;
        hdr.add_limits.setValid();
        hdr.add_limits.next_ns = meta.interval_ns;
        hdr.add_limits.ticks = meta.ticks;
        hdr.add_limits.reserved = 0;
        hdr.limits.setValid();
        SET_LIMIT(0)
        SET_LIMIT(1)
        SET_LIMIT(2)
        SET_LIMIT(3)
        hdr.ring_tick.setInvalid();
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        set_limits();
    }
}

#endif
