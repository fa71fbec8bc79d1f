// SPDX-License-Identifier: Apache-2.0
// Messages about a ringlet: to the station before this one or, as a report, to the controller; from the next one or from the
// controller.
#ifndef SLOTWISE_RING_MESSAGE_P4
#define SLOTWISE_RING_MESSAGE_P4
#include "ring_limits.p4"
#include "ring_link.p4"

register<bit<32>>(2) fairness_sequence;  // last one given out, by ringlet
// The limits that the station before this one is told, while a message is made.
register<rate_t>(8)  upstream_rate;
register<bit<32>>(8) upstream_place;

const bit<64> CRC_VALUES = 0x100000000;

#define RING_FIELDS \
    hdr.ring.version, hdr.ring.kind, hdr.ring.ttl, hdr.ring.ringlet, hdr.ring.traffic_class, hdr.ring.weight, \
    hdr.ring.source, hdr.ring.destination

// CRC-32 of ring_t and of the message behind it.
control RingCrc(in ring_headers_t hdr, inout ring_metadata_t meta) {
    @hidden action of_fairness() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { RING_FIELDS, hdr.fairness.sequence, hdr.fairness.entries, hdr.fairness.reserved,
               hdr.entries.place_0, hdr.entries.rate_0, hdr.entries.place_1, hdr.entries.rate_1,
               hdr.entries.place_2, hdr.entries.rate_2, hdr.entries.place_3, hdr.entries.rate_3 }, CRC_VALUES);
    }

    @hidden action of_report() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { RING_FIELDS, hdr.report.local_ns, hdr.report.link_rate, hdr.report.added_rate, hdr.report.told_rate,
               hdr.report.hol_delay_ns, hdr.report.phase, hdr.report.block, hdr.report.active,
               hdr.sources.rate_0, hdr.sources.rate_1, hdr.sources.rate_2, hdr.sources.rate_3,
               hdr.sources.rate_4, hdr.sources.rate_5, hdr.sources.rate_6, hdr.sources.rate_7,
               hdr.sources.rate_8, hdr.sources.rate_9, hdr.sources.rate_10, hdr.sources.rate_11,
               hdr.sources.rate_12, hdr.sources.rate_13, hdr.sources.rate_14, hdr.sources.rate_15 }, CRC_VALUES);
    }

    apply {
        if (hdr.fairness.isValid()) {
            of_fairness();
        } else {
            of_report();
        }
    }
}

#define REPORT_BLOCKS ((meta.stations + REPORT_SOURCES - 1) >> 4)

// How many reports the card is to tick for: while there is something to report, as often as the controller wants them. In modes
// other than CONTROLLER they come before the message that there may be.
control PlanReports(inout ring_metadata_t meta) {
    bit<16> left;

    @hidden action plan() {
        report_left.read(left, meta.link);
        left = left |-| 1;
        if (left == 0 && meta.phase != RingPhase.QUIET) {
            left = meta.report_intervals;
            meta.ticks = meta.ticks + REPORT_BLOCKS;
        }
        report_left.write(meta.link, left);
    }

    apply {
        if (meta.mode == RingMode.CONTROLLER) {
            meta.ticks = 0;
        }
        plan();
    }
}

#define SET_ENTRY(i) \
    hdr.entries.place_##i = 0; \
    hdr.entries.rate_##i = 0; \
    if (upstream > i) { \
        upstream_rate.read(hdr.entries.rate_##i, base + i); \
        upstream_place.read(hdr.entries.place_##i, base + i); \
    }

#define SET_SOURCE(i) source_rate.read(hdr.sources.rate_##i, source + i);

// A tick, or what this station was told, becomes a message.
control MakeMessage(inout ring_headers_t hdr, inout ring_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<8>  held;
    bit<8>  entry;
    bit<8>  upstream;
    index_t base;
    index_t source;
    rate_t  rate;
    bit<32> place;
    bit<8>  phase;
    bit<64> estimate;
    bit<16> block;
    bit<16> left;
    bit<16> first;  // repeat of the tick that makes a message to the stations

    @hidden action choose_limits() {
        base = meta.link << 2;
        upstream = 0;
        limits_held.read(held, meta.link);
        for (entry = 0; entry < held; entry = entry + 1) {
            limit_rate.read(rate, base + (index_t)entry);
            limit_place.read(place, base + (index_t)entry);
            if (GOES_UPSTREAM(place)) {
                upstream_rate.write(base + (index_t)upstream, rate);
                // One hop more to the head, one station less to be told.
                upstream_place.write(base + (index_t)upstream, place + 0xff);
                upstream = upstream + 1;
            }
        }
    }

    @hidden action begin_message(RingKind kind) {
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        hdr.linecard.setInvalid();
        hdr.ring_tick.setInvalid();
        hdr.ring.setValid();
        hdr.ring.version = RING_VERSION;
        hdr.ring.kind = kind;
        hdr.ring.ttl = 1;
        hdr.ring.ringlet = meta.ringlet;
        hdr.ring.traffic_class = RingClass.BEST_EFFORT;
        hdr.ring.weight = meta.weight;
        hdr.ring.source = meta.station;
        hdr.ring.destination = meta.station;
        hdr.check.setValid();
    }

    @hidden action make_fairness() {
        if (meta.ringlet == 0) {
            standard_metadata.egress_spec = PORT_RING_WEST;
        } else {
            standard_metadata.egress_spec = PORT_RING_EAST;
        }
        hdr.ring.destination = meta.station - 1;
        if (meta.ringlet == 1) {
            hdr.ring.destination = meta.station + 1;
        }
        if (hdr.ring.destination == meta.stations) {
            hdr.ring.destination = 0;
        } else if (hdr.ring.destination > meta.stations) {
            hdr.ring.destination = meta.stations - 1;
        }
        hdr.fairness.setValid();
        fairness_sequence.read(hdr.fairness.sequence, meta.link);
        hdr.fairness.sequence = hdr.fairness.sequence + 1;
        fairness_sequence.write(meta.link, hdr.fairness.sequence);
        hdr.fairness.entries = upstream;
        hdr.fairness.reserved = 0;
        hdr.entries.setValid();
        SET_ENTRY(0)
        SET_ENTRY(1)
        SET_ENTRY(2)
        SET_ENTRY(3)
    }

    @hidden action look_at_report() {
        ring_phase.read(phase, meta.link);
        block = hdr.ring_tick.repeat - 1;
    }

    // Reports were planned in this interval if they are as far away as they can be.
    @hidden action look_at_plan() {
        report_left.read(left, meta.link);
        first = 1;
        if (left == meta.report_intervals) {
            first = REPORT_BLOCKS + 1;
        }
    }

    @hidden action make_report() {
        hdr.report.setValid();
        hdr.report.local_ns = hdr.ring_tick.local_ns;
        link_rate.read(estimate, meta.link);
        hdr.report.link_rate = estimate[39:8];
        added_rate.read(estimate, meta.link);
        hdr.report.added_rate = estimate[39:8];
        told_rates.read(hdr.report.told_rate, meta.link);
        hdr.report.hol_delay_ns = hdr.ring_tick.hol_delay_ns;
        hdr.report.phase = phase;
        hdr.report.block = block[7:0];
        active_stations.read(hdr.report.active, meta.link);
        hdr.sources.setValid();
        source = SOURCE_INDEX(meta.link, block << 4);
        SET_SOURCE(0) SET_SOURCE(1) SET_SOURCE(2) SET_SOURCE(3)
        SET_SOURCE(4) SET_SOURCE(5) SET_SOURCE(6) SET_SOURCE(7)
        SET_SOURCE(8) SET_SOURCE(9) SET_SOURCE(10) SET_SOURCE(11)
        SET_SOURCE(12) SET_SOURCE(13) SET_SOURCE(14) SET_SOURCE(15)
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in._pad = 0;
        standard_metadata.egress_spec = PORT_CPU;
    }

    @hidden action nothing_to_say() {
        meta.drop_reason = DropReason.NO_SIGNALING;
    }

    apply {
        first = 1;
        if (meta.report_intervals != 0 && meta.tells_on == 0) {
            look_at_plan();
        }
        if (meta.mode == RingMode.CONTROLLER || meta.tells_on == 0 && hdr.ring_tick.repeat < first) {
            look_at_report();
            if (phase == RingPhase.QUIET || block >= REPORT_BLOCKS) {
                nothing_to_say();
            } else {
                make_report();
                begin_message(RingKind.REPORT);
            }
        } else {
            choose_limits();
            if (upstream != 0 && (meta.tells_on == 1 || hdr.ring_tick.repeat == first)) {
                begin_message(RingKind.FAIRNESS);
                make_fairness();
            } else if (meta.tells_on == 0) {
                nothing_to_say();
            }
        }
    }
}

#define EXAMINE_ENTRY(i) \
    if (hdr.fairness.entries > i \
        && (PLACE_HEAD(hdr.entries.place_##i) >= meta.stations \
            || (bit<16>)PLACE_HOPS(hdr.entries.place_##i) >= meta.stations \
            || (PLACE_HOPS(hdr.entries.place_##i) == 0) != (PLACE_HEAD(hdr.entries.place_##i) == meta.station) \
            || hdr.entries.rate_##i == 0)) { \
        meta.wrong.bad_field = 1; \
    }

// The nearest link first.
#define EXAMINE_ORDER(i, j) \
    if (hdr.fairness.entries > j && PLACE_HOPS(hdr.entries.place_##j) <= PLACE_HOPS(hdr.entries.place_##i)) { \
        meta.wrong.bad_field = 1; \
    }

#define KEEP_ENTRY(i) \
    told_entry_rate.write((meta.link << 2) + i, hdr.entries.rate_##i); \
    told_entry_place.write((meta.link << 2) + i, hdr.entries.place_##i);

// What this station is told that it may add.
control TakeLimits(in ring_headers_t hdr, inout ring_metadata_t meta) {
    bit<32> last;
    bit<16> age;
    bit<8>  phase;

    Verdict() verdict;

    // Only the controller tells a station of its own link. What was forgotten is not compared: the sender may have started anew.
    @hidden action examine() {
        told_sequence.read(last, meta.link);
        told_age.read(age, meta.link);
        if (age <= meta.hold_intervals && (int<32>)(hdr.fairness.sequence - last) <= 0) {
            meta.wrong.stale = 1;
        }
        if (hdr.fairness.entries > FAIRNESS_ENTRIES) {
            meta.wrong.bad_field = 1;
        }
        EXAMINE_ENTRY(0)
        EXAMINE_ENTRY(1)
        EXAMINE_ENTRY(2)
        EXAMINE_ENTRY(3)
        EXAMINE_ORDER(0, 1)
        EXAMINE_ORDER(1, 2)
        EXAMINE_ORDER(2, 3)
    }

    @hidden action take() {
        told_entries.write(meta.link, hdr.fairness.entries);
        told_sequence.write(meta.link, hdr.fairness.sequence);
        told_age.write(meta.link, 0);
        KEEP_ENTRY(0)
        KEEP_ENTRY(1)
        KEEP_ENTRY(2)
        KEEP_ENTRY(3)
    }

    // With what this station tells as a head.
    @hidden action tell_on() {
        ring_phase.read(phase, meta.link);
        told_rates.read(meta.told_rate, meta.link);
        if (phase != (bit<8>)RingPhase.QUIET) {
            meta.tells = 1;
        }
        meta.tells_on = 1;
    }

    apply {
        examine();
        verdict.apply(meta.wrong, meta.drop_reason);
        if (meta.drop_reason == DropReason.NONE) {
            take();
            if (meta.mode == RingMode.EXPLICIT) {
                tell_on();
            }
        }
    }
}

#endif
