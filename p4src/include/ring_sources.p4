// SPDX-License-Identifier: Apache-2.0
// What each station puts on the links that leave this one, in windows of many intervals. Who has put something there since
// the last window began, or in it, is active.
#ifndef SLOTWISE_RING_SOURCES_P4
#define SLOTWISE_RING_SOURCES_P4
#include "quotient.p4"
#include "ring_parser.p4"

const bit<32> SOURCES = 512;  // 256 a ringlet

// By ringlet and station.
register<bit<32>>(SOURCES) source_bytes;   // in this window
register<rate_t>(SOURCES)  source_rate;    // in the last one
register<bit<18>>(SOURCES) source_origin;  // active, began in this window, weight, hops from it

// By ringlet: sums over the active stations.
register<bit<16>>(2) window_left;      // intervals
register<bit<16>>(2) active_stations;
register<bit<16>>(2) active_weight;
register<bit<16>>(2) satisfied_weight; // of those that add less than they might
register<bit<64>>(2) satisfied_rate;   // of the same, byte/s
register<bit<8>>(2)  span_hops;        // to the farthest one

const bit<18> SOURCE_BEGINS = 0x30000;  // active, in this window

#define SOURCE_IS_ACTIVE(origin) (origin)[17:17] == 1
#define SOURCE_IS_NEW(origin)    (origin)[16:16] == 1
#define SOURCE_WEIGHT(origin)    (origin)[15:8]
#define SOURCE_HOPS(origin)      (origin)[7:0]
#define SOURCE_INDEX(link, station) ((link) << 8) + (index_t)(station)

control CountSource(inout ring_metadata_t meta) {
    index_t source;
    bit<32> bytes;
    bit<18> origin;
    bit<16> number;
    bit<8>  hops;

    @hidden action count() {
        source = SOURCE_INDEX(meta.link, meta.source);
        source_bytes.read(bytes, source);
        source_bytes.write(source, bytes + meta.fair_bytes);
        source_origin.read(origin, source);
        if (!(SOURCE_IS_ACTIVE(origin))) {
            source_origin.write(source, SOURCE_BEGINS | (bit<18>)(meta.source_weight ++ meta.source_hops));
            source_rate.write(source, NO_LIMIT);
            active_stations.read(number, meta.link);
            active_stations.write(meta.link, number + 1);
            active_weight.read(number, meta.link);
            active_weight.write(meta.link, number + (bit<16>)meta.source_weight);
            span_hops.read(hops, meta.link);
            AT_LEAST(hops, meta.source_hops)
            span_hops.write(meta.link, hops);
        }
    }

    apply {
        count();
    }
}

// An interval has ended, and with some a window. A station is satisfied if it has added less than the rate it was told, by more
// than its bucket; of stations that are all satisfied the largest counts as one that is not, or nobody would be left to tell.
control EndWindow(in ring_metadata_t meta, in rate_t told_rate) {
    bit<16>   left;
    station_t station;
    index_t   source;
    bit<32>   bytes;
    bit<18>   origin;
    bit<64>   rate;
    bit<64>   bound;
    bit<16>   stations;
    bit<16>   weight;
    bit<16>   satisfied;
    bit<64>   sum;
    bit<64>   largest;
    bit<8>    largest_weight;
    bit<8>    hops;

    @hidden action end_window() {
        stations = 0;
        weight = 0;
        satisfied = 0;
        sum = 0;
        largest = 0;
        largest_weight = 0;
        hops = 0;
        for (station = 0; station < meta.stations; station = station + 1) {
            source = SOURCE_INDEX(meta.link, station);
            source_origin.read(origin, source);
            if (SOURCE_IS_ACTIVE(origin)) {
                source_bytes.read(bytes, source);
                source_bytes.write(source, 0);
                if (bytes == 0) {
                    source_origin.write(source, 0);
                    source_rate.write(source, 0);
                } else {
                    stations = stations + 1;
                    weight = weight + (bit<16>)SOURCE_WEIGHT(origin);
                    AT_LEAST(hops, SOURCE_HOPS(origin))
                    if (SOURCE_IS_NEW(origin)) {
                        // Part of a window says nothing of its rate.
                        source_origin.write(source, origin & 0x2ffff);
                    } else {
                        rate = (bit<64>)bytes * (bit<64>)meta.windows_q8 >> 8;
                        AT_MOST(rate, (bit<64>)meta.capacity)
                        source_rate.write(source, (rate_t)rate);
                        bound = ((bit<64>)bytes + (bit<64>)meta.bucket_bytes) * (bit<64>)meta.windows_q8 >> 8;
                        if (bound < (bit<64>)told_rate * (bit<64>)SOURCE_WEIGHT(origin)) {
                            satisfied = satisfied + (bit<16>)SOURCE_WEIGHT(origin);
                            sum = sum + rate;
                            if (rate > largest) {
                                largest = rate;
                                largest_weight = SOURCE_WEIGHT(origin);
                            }
                        }
                    }
                }
            }
        }
        if (satisfied == weight) {
            satisfied = satisfied - (bit<16>)largest_weight;
            sum = sum - largest;
        }
        active_stations.write(meta.link, stations);
        active_weight.write(meta.link, weight);
        satisfied_weight.write(meta.link, satisfied);
        satisfied_rate.write(meta.link, sum);
        span_hops.write(meta.link, hops);
    }

    @hidden action end_interval() {
        window_left.read(left, meta.link);
        left = left |-| 1;
    }

    @hidden action begin_window() {
        left = meta.window;
    }

    @hidden action keep() {
        window_left.write(meta.link, left);
    }

    apply {
        end_interval();
        if (left == 0) {
            end_window();
            begin_window();
        }
        keep();
    }
}

#endif
