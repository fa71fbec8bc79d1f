// SPDX-License-Identifier: Apache-2.0
// What the link that leaves this station carries, whether it is congested, and what its head tells the others.
//
//   ring tick, transit ──> estimators ──> phase ──> rule ──> told rate
#ifndef SLOTWISE_RING_LINK_P4
#define SLOTWISE_RING_LINK_P4
#include "quotient.p4"
#include "ring_sources.p4"

// By ringlet.
register<bit<1>>(2)  link_ticked;       // the totals below are those of a tick
register<bit<32>>(2) added_total;       // of the card
register<bit<32>>(2) committed_total;
register<bit<32>>(2) transit_bytes;     // of fair classes, in this interval
register<bit<32>>(2) transit_committed; // of the others
register<bit<64>>(2) link_rate;         // estimates, 1/256 byte/s
register<bit<64>>(2) transit_rate;
register<bit<64>>(2) added_rate;
register<bit<64>>(2) committed_rate;
register<bit<8>>(2)  ring_phase;
register<bit<16>>(2) calm_for;          // intervals
register<rate_t>(2)  told_rates;        // by weight
register<bit<16>>(2) wait_left;         // intervals
register<bit<16>>(2) report_left;       // intervals

// The report's estimator, its sign corrected: Est(t) = Est(t-1) - Est(t-1) / W1 + Sample / W2. A sample is never more than what
// the link carries in two intervals: a card that has ticked late, or starts anew, would have it so.
#define ESTIMATE(rate, bytes, estimate) \
    rate.read(estimate, meta.link); \
    sample = (bit<64>)(bytes) * (bit<64>)meta.intervals_q8; \
    AT_MOST(sample, (bit<64>)meta.capacity << 9) \
    estimate = estimate - (estimate >> meta.old_shift) + (sample >> meta.new_shift); \
    rate.write(meta.link, estimate);

control CountTransit(in ring_headers_t hdr, in standard_metadata_t standard_metadata, inout ring_metadata_t meta) {
    bit<32> bytes;

    @hidden action count_committed() {
        transit_committed.read(bytes, meta.link);
        transit_committed.write(meta.link, bytes + standard_metadata.packet_length);
    }

    @hidden action count_fair() {
        transit_bytes.read(bytes, meta.link);
        transit_bytes.write(meta.link, bytes + standard_metadata.packet_length);
        meta.fair_bytes = standard_metadata.packet_length;
        meta.source = hdr.ring.source;
        meta.source_weight = hdr.ring.weight;
        meta.source_hops = (bit<8>)(meta.stations - (bit<16>)hdr.ring.ttl + 1);
    }

    apply {
        if (hdr.ring.traffic_class >= RingClass.COMMITTED) {
            count_committed();
        } else {
            count_fair();
        }
    }
}

control Measure(in ring_headers_t hdr, inout ring_metadata_t meta) {
    bit<1>  ticked;
    bit<32> added;
    bit<32> committed;
    bit<32> transit;
    bit<32> transit_of_committed;
    bit<64> sample;

    @hidden action measure() {
        link_ticked.read(ticked, meta.link);
        added_total.read(added, meta.link);
        committed_total.read(committed, meta.link);
        link_ticked.write(meta.link, 1);
        added_total.write(meta.link, hdr.ring_tick.added_bytes);
        committed_total.write(meta.link, hdr.ring_tick.committed_bytes);
        added = hdr.ring_tick.added_bytes - added;
        committed = hdr.ring_tick.committed_bytes - committed;
        if (ticked == 0) {
            added = 0;
            committed = 0;
        }
        transit_bytes.read(transit, meta.link);
        transit_bytes.write(meta.link, 0);
        transit_committed.read(transit_of_committed, meta.link);
        transit_committed.write(meta.link, 0);
        ESTIMATE(transit_rate, transit + transit_of_committed, meta.transit_rate_q8)
        ESTIMATE(added_rate, added, meta.added_rate_q8)
        ESTIMATE(committed_rate, committed + transit_of_committed, meta.committed_rate_q8)
        ESTIMATE(link_rate, added + committed + transit + transit_of_committed, meta.link_rate_q8)
        meta.fair_bytes = added;
        meta.source = meta.station;
        meta.source_weight = meta.weight;
        meta.source_hops = 0;
    }

    apply {
        measure();
    }
}

control Congestion(in ring_headers_t hdr, inout ring_metadata_t meta) {
    bit<8>  phase;
    bit<1>  over;
    bit<1>  calm;
    bit<1>  risen;
    bit<16> calm_intervals;

    @hidden action look() {
        ring_phase.read(phase, meta.link);
        told_rates.read(meta.told_rate, meta.link);
        calm_for.read(calm_intervals, meta.link);
        over = 0;
        if (meta.link_rate_q8 > (bit<64>)meta.target << 8 || hdr.ring_tick.hol_delay_ns > meta.hol_timer_ns) {
            over = 1;
        }
        calm_intervals = calm_intervals |+| 1;
        if (over == 1 || meta.link_rate_q8 >= (bit<64>)meta.relief << 8) {
            calm_intervals = 0;
        }
        calm_for.write(meta.link, calm_intervals);
        calm = 0;
        if (calm_intervals >= meta.calm_intervals) {
            calm = 1;
        }
        risen = 0;
        if (meta.told_rate >= meta.capacity) {
            risen = 1;
        }
    }

    @hidden action begin() {
        phase = (bit<8>)RingPhase.CONGESTED;
        meta.onset = 1;
    }

    @hidden action become(RingPhase next) {
        phase = (bit<8>)next;
    }

    @hidden action stay() {
    }

    @hidden table change {
        key = {
            phase: ternary;
            over:  ternary;
            calm:  ternary;
            risen: ternary;
        }
        actions = {
            begin;
            become;
            stay;
        }
        const default_action = stay();
        const entries = {
            (RingPhase.QUIET, 1, _, _):     begin();
            (RingPhase.RISING, 1, _, _):    begin();
            (RingPhase.RISING, _, _, 1):    become(RingPhase.QUIET);
            (RingPhase.CONGESTED, _, 1, _): become(RingPhase.RISING);
        }
    }

    @hidden action keep() {
        ring_phase.write(meta.link, phase);
        meta.phase = (RingPhase)phase;
    }

    apply {
        look();
        change.apply();
        keep();
    }
}

// The rate, by weight, that this station tells others as head of its link. docs/ring.md has the rules.
control TellRate(inout ring_metadata_t meta) {
    bit<64>  room;   // to be divided by `parts`, if that is not 0, byte/s
    bit<16>  parts;
    bit<16>  number;
    bit<64>  rate;
    factor_t factor;

    // What the satisfied leave, for each of the others.
    @hidden action share() {
        active_weight.read(parts, meta.link);
        satisfied_weight.read(number, meta.link);
        satisfied_rate.read(rate, meta.link);
        parts = parts - number;
        room = (((bit<64>)meta.target |-| (meta.committed_rate_q8 >> 8)) |-| rate);
        AT_LEAST(parts, 1)
        meta.tells = 1;
    }

    // What the others leave for this station.
    @hidden action leave_over() {
        room = (bit<64>)meta.target |-| (meta.transit_rate_q8 >> 8);
        parts = (bit<16>)meta.weight;
        meta.tells = 1;
    }

    // What this station adds itself.
    @hidden action own() {
        room = meta.added_rate_q8 >> 8;
        parts = (bit<16>)meta.weight;
        meta.tells = 1;
    }

    // Equal parts at first; then, each time that it had time to act, a correction.
    @hidden action correct() {
        wait_left.read(number, meta.link);
        number = number |-| 1;
        if (meta.onset == 1) {
            active_weight.read(parts, meta.link);
            AT_LEAST(parts, 1)
            room = (bit<64>)meta.target |-| (meta.committed_rate_q8 >> 8);
            number = meta.wait_intervals;
        } else if (number == 0) {
            number = meta.wait_intervals;
            if (meta.link_rate_q8 > (bit<64>)meta.target << 8) {
                meta.told_rate = meta.told_rate - (meta.told_rate >> 6);
            } else if (meta.link_rate_q8 < (bit<64>)meta.relief << 8) {
                meta.told_rate = meta.told_rate + ((meta.capacity |-| meta.told_rate) >> 6);
            }
        }
        wait_left.write(meta.link, number);
        meta.tells = 1;
    }

    @hidden action rise() {
        meta.told_rate = meta.told_rate |+| (meta.capacity >> 6);
        meta.tells = 1;
    }

    // Stations that average rise by themselves.
    @hidden action end() {
        meta.told_rate = meta.capacity;
    }

    @hidden action nothing() {
        meta.told_rate = NO_LIMIT;
    }

    @hidden table rule {
        key = {
            meta.phase: exact;
            meta.mode:  exact;
        }
        actions = {
            share;
            leave_over;
            own;
            correct;
            rise;
            end;
            nothing;
        }
        const default_action = nothing();
        const entries = {
            (RingPhase.CONGESTED, RingMode.EXPLICIT):         share();
            (RingPhase.CONGESTED, RingMode.ADAPTIVE):         leave_over();
            (RingPhase.CONGESTED, RingMode.CONTROLLER):       share();
            (RingPhase.CONGESTED, RingMode.RPR_AGGRESSIVE):   own();
            (RingPhase.CONGESTED, RingMode.RPR_CONSERVATIVE): correct();
            (RingPhase.RISING, RingMode.EXPLICIT):            rise();
            (RingPhase.RISING, RingMode.ADAPTIVE):            end();
            (RingPhase.RISING, RingMode.CONTROLLER):          rise();
            (RingPhase.RISING, RingMode.RPR_AGGRESSIVE):      rise();
            (RingPhase.RISING, RingMode.RPR_CONSERVATIVE):    rise();
        }
    }

    @hidden action divide_room() {
        divide(room, 1, (bit<64>)parts, rate, factor);
        AT_MOST(rate, (bit<64>)meta.capacity)
        meta.told_rate = (rate_t)rate;
        // Who is told nothing at all could never show that it wants more.
        AT_LEAST(meta.told_rate, meta.capacity >> 10)
    }

    @hidden action keep() {
        told_rates.write(meta.link, meta.told_rate);
    }

    apply {
        room = 0;
        parts = 0;
        rule.apply();
        if (parts != 0) {
            divide_room();
        }
        keep();
    }
}

#endif
