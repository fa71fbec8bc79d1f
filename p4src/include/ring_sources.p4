// SPDX-License-Identifier: Apache-2.0
// What each station puts on the links that leave this one, in windows of many intervals. Who has put something there since
// the last window began, or in it, is active; who never takes what it might is satisfied, and stays known as such while silent.
#ifndef SLOTWISE_RING_SOURCES_P4
#define SLOTWISE_RING_SOURCES_P4
#include "quotient.p4"
#include "ring_parser.p4"

const bit<32> SOURCES = 512;  // 256 a ringlet

// By ringlet and station.
register<bit<32>>(SOURCES) source_bytes;   // in this window
register<rate_t>(SOURCES)  source_rate;    // in the last one; NO_LIMIT: not known, or no longer true
register<bit<64>>(SOURCES) source_spare;   // of its bucket, if it filled as told; in a window, byte/s
register<bit<19>>(SOURCES) source_origin;  // satisfied, active, began in this window, weight, hops from it
// Of the satisfied, as they were when they last were active.
register<rate_t>(SOURCES)  source_claim;   // byte/s
register<bit<32>>(SOURCES) source_bound;   // bytes of a window; with more it wants more

// By ringlet: sums over the active stations.
register<bit<16>>(2) window_left;      // intervals
register<bit<16>>(2) active_stations;
register<bit<16>>(2) active_weight;
register<bit<16>>(2) satisfied_weight; // of those that add less than they might
register<bit<64>>(2) satisfied_rate;   // of the same, byte/s
register<bit<8>>(2)  span_hops;        // to the farthest one
// By ringlet: the least that was told in this window, and in the one before.
register<rate_t>(2)  least_told;
register<rate_t>(2)  least_told_before;

const bit<19> SOURCE_SATISFIED = 0x40000;
const bit<19> SOURCE_ACTIVE    = 0x20000;
const bit<19> SOURCE_NEW       = 0x10000;

#define SOURCE_IS_SATISFIED(origin) (origin)[18:18] == 1
#define SOURCE_IS_ACTIVE(origin)    (origin)[17:17] == 1
#define SOURCE_IS_NEW(origin)       (origin)[16:16] == 1
#define SOURCE_WEIGHT(origin)       (origin)[15:8]
#define SOURCE_HOPS(origin)         (origin)[7:0]
#define SOURCE_INDEX(link, station) ((link) << 8) + (index_t)(station)

control CountSource(inout ring_metadata_t meta) {
    index_t source;
    bit<32> bytes;
    bit<32> bound;
    bit<19> origin;
    bit<16> number;
    bit<8>  hops;
    rate_t  rate;
    bit<64> sum;

    // Who is not known to be satisfied takes part at once; nothing of what it will add is known.
    @hidden action begin() {
        active_stations.read(number, meta.link);
        active_stations.write(meta.link, number + 1);
        active_weight.read(number, meta.link);
        active_weight.write(meta.link, number + (bit<16>)meta.source_weight);
        span_hops.read(hops, meta.link);
        AT_LEAST(hops, meta.source_hops)
        span_hops.write(meta.link, hops);
        rate = NO_LIMIT;
        if (SOURCE_IS_SATISFIED(origin)) {
            source_claim.read(rate, source);
            AT_LEAST(rate, 1)  // a report says 0 of who is not there
            satisfied_weight.read(number, meta.link);
            satisfied_weight.write(meta.link, number + (bit<16>)meta.source_weight);
            satisfied_rate.read(sum, meta.link);
            satisfied_rate.write(meta.link, sum + (bit<64>)rate);
        } else {
            origin = SOURCE_NEW;
        }
        source_rate.write(source, rate);
        origin = (origin & (SOURCE_SATISFIED | SOURCE_NEW)) | SOURCE_ACTIVE | (bit<19>)(meta.source_weight ++ meta.source_hops);
        source_origin.write(source, origin);
    }

    // Its bucket and more beyond what it had in the window before: it is satisfied no longer.
    @hidden action leave() {
        satisfied_weight.read(number, meta.link);
        satisfied_weight.write(meta.link, number - (bit<16>)SOURCE_WEIGHT(origin));
        source_rate.read(rate, source);
        satisfied_rate.read(sum, meta.link);
        satisfied_rate.write(meta.link, sum - (bit<64>)rate);
        source_rate.write(source, NO_LIMIT);
        source_spare.write(source, 0);
        source_origin.write(source, origin & ~SOURCE_SATISFIED);
    }

    @hidden action count() {
        source = SOURCE_INDEX(meta.link, meta.source);
        source_bytes.read(bytes, source);
        bytes = bytes + meta.fair_bytes;
        source_bytes.write(source, bytes);
        source_origin.read(origin, source);
        source_bound.read(bound, source);
    }

    apply {
        count();
        if (!(SOURCE_IS_ACTIVE(origin))) {
            begin();
        }
        if (SOURCE_IS_SATISFIED(origin) && bytes > bound) {
            leave();
        }
    }
}

// An interval has ended, and with some a window. A station is satisfied if the bucket that its card keeps, filled at the least
// rate that it was told in two windows, would be full: it has left some of that rate, window for window. While nobody was told
// anything that is an equal part. Of stations that are all satisfied the largest counts as one that is not, or nobody would be
// left to tell.
control EndWindow(in ring_metadata_t meta, in rate_t told_rate) {
    bit<16>   left;
    station_t station;
    index_t   source;
    bit<32>   bytes;
    bit<19>   origin;
    rate_t    least;
    rate_t    before;
    bit<64>   level;   // by weight
    bit<64>   rate;
    bit<64>   spare;
    bit<64>   bucket;
    bit<16>   stations;
    bit<16>   weight;
    bit<16>   satisfied;
    bit<64>   sum;
    bit<64>   largest;
    index_t   largest_source;
    bit<16>   largest_weight;
    bit<8>    hops;
    factor_t  factor;

    @hidden action find_level() {
        least_told_before.read(before, meta.link);
        least_told_before.write(meta.link, least);
        AT_MOST(least, before)
        level = (bit<64>)least;
        if (least >= meta.capacity) {
            active_weight.read(weight, meta.link);
            AT_LEAST(weight, 1)
            rate = (bit<64>)meta.target |-| (meta.committed_rate_q8 >> 8);
            divide(rate, 1, (bit<64>)weight, level, factor);
        }
        // Who wants more, but is held back by transit when rates rise, may be a quarter short for a while.
        level = level - (level >> 2);
        bucket = (bit<64>)meta.bucket_bytes * (bit<64>)meta.windows_q8 >> 8;
    }

    @hidden action end_window() {
        stations = 0;
        weight = 0;
        satisfied = 0;
        sum = 0;
        largest = 0;
        largest_source = 0;
        largest_weight = 0;
        hops = 0;
        for (station = 0; station < meta.stations; station = station + 1) {
            source = SOURCE_INDEX(meta.link, station);
            source_origin.read(origin, source);
            if (SOURCE_IS_ACTIVE(origin)) {
                source_bytes.read(bytes, source);
                source_bytes.write(source, 0);
                rate = (bit<64>)bytes * (bit<64>)meta.windows_q8 >> 8;
                AT_MOST(rate, (bit<64>)meta.capacity)
                if (SOURCE_IS_NEW(origin)) {
                    // Part of a window says nothing of its rate.
                    origin = origin & ~SOURCE_NEW;
                } else {
                    source_spare.read(spare, source);
                    spare = (spare + level * (bit<64>)SOURCE_WEIGHT(origin)) |-| rate;
                    AT_MOST(spare, bucket)
                    source_spare.write(source, spare);
                    source_rate.write(source, (rate_t)rate);
                    if (spare < bucket) {
                        origin = origin & ~SOURCE_SATISFIED;
                    } else if (bytes != 0 || !(SOURCE_IS_SATISFIED(origin))) {
                        origin = origin | SOURCE_SATISFIED;
                        source_claim.write(source, (rate_t)rate);
                        source_bound.write(source, bytes + (bit<32>)meta.bucket_bytes);
                    }
                }
                if (bytes == 0) {
                    origin = origin & SOURCE_SATISFIED;
                } else {
                    stations = stations + 1;
                    weight = weight + (bit<16>)SOURCE_WEIGHT(origin);
                    AT_LEAST(hops, SOURCE_HOPS(origin))
                    if (SOURCE_IS_SATISFIED(origin)) {
                        satisfied = satisfied + (bit<16>)SOURCE_WEIGHT(origin);
                        sum = sum + rate;
                        if (rate > largest) {
                            largest = rate;
                            largest_source = source;
                            largest_weight = (bit<16>)SOURCE_WEIGHT(origin);
                        }
                    }
                }
                source_origin.write(source, origin);
            }
        }
        active_stations.write(meta.link, stations);
        active_weight.write(meta.link, weight);
        span_hops.write(meta.link, hops);
    }

    @hidden action take_largest() {
        satisfied = satisfied - largest_weight;
        sum = sum - largest;
        source_origin.read(origin, largest_source);
        source_origin.write(largest_source, origin & ~SOURCE_SATISFIED);
    }

    @hidden action keep_satisfied() {
        satisfied_weight.write(meta.link, satisfied);
        satisfied_rate.write(meta.link, sum);
    }

    @hidden action end_interval() {
        window_left.read(left, meta.link);
        left = left |-| 1;
        least_told.read(least, meta.link);
        AT_MOST(least, told_rate)
    }

    @hidden action begin_window() {
        left = meta.window;
        least = NO_LIMIT;
    }

    @hidden action keep() {
        window_left.write(meta.link, left);
        least_told.write(meta.link, least);
    }

    apply {
        end_interval();
        if (left == 0) {
            find_level();
            end_window();
            if (satisfied == weight && largest != 0) {
                take_largest();
            }
            keep_satisfied();
            begin_window();
        }
        keep();
    }
}

#endif
