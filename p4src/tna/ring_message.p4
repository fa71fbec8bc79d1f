// SPDX-License-Identifier: Apache-2.0
// Stands for include/ring_message.p4: what this station is told that it may add. It is examined, resubmitted, then kept, since what is
// compared with a register cannot be written into it. The switch's agent reads what is kept and makes limits of it, and messages.
#ifndef SLOTWISE_RING_MESSAGE_P4
#define SLOTWISE_RING_MESSAGE_P4
#include "target.p4"
#include "../include/ring_parser.p4"

typedef bit<1> link_t;  // ringlet

struct told_entry_t {
    rate_t  rate;
    bit<32> place;
}

// By ringlet: what was told last.
Register<bit<8>, link_t>(2)       told_entries;
Register<bit<32>, link_t>(2)      told_sequence;
Register<bit<8>, link_t>(2)       told_lately;  // the agent sets it to 0 after `hold_intervals` without a message
Register<told_entry_t, link_t>(2) told_entry_0;
Register<told_entry_t, link_t>(2) told_entry_1;
Register<told_entry_t, link_t>(2) told_entry_2;
Register<told_entry_t, link_t>(2) told_entry_3;

// CRC-32 of ring_t and of the message behind it.
control RingCrc(in ring_headers_t hdr, inout ring_metadata_t meta) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc;

    @hidden action of_fairness() {
        meta.crc = crc.get({ hdr.ring.version, hdr.ring.kind, hdr.ring.ttl, hdr.ring.ringlet, hdr.ring.traffic_class, hdr.ring.weight,
                             hdr.ring.source, hdr.ring.destination, hdr.fairness.sequence, hdr.fairness.entries, hdr.fairness.reserved,
                             hdr.entries.place_0, hdr.entries.rate_0, hdr.entries.place_1, hdr.entries.rate_1,
                             hdr.entries.place_2, hdr.entries.rate_2, hdr.entries.place_3, hdr.entries.rate_3 });
    }

    apply {
        of_fairness();
    }
}

// Of one entry: whether the ring has such a head so far away, and the rate is one.
control ExamineEntry(in bit<32> place, in rate_t rate, in ring_metadata_t meta, in bit<8> most_hops, inout bit<1> is_bad) {
    bit<16> heads = 0;  // stations behind the head
    bit<8>  hops = 0;   // more than these there may be

    @hidden action compare() {
        heads = meta.stations |-| PLACE_HEAD(place);
        hops = most_hops |-| PLACE_HOPS(place);
    }

    apply {
        compare();
        if (heads == 0 || hops == 0) {
            is_bad = 1;
        } else if (PLACE_HOPS(place) == 0 && PLACE_HEAD(place) != meta.station || PLACE_HOPS(place) != 0 && PLACE_HEAD(place) == meta.station) {
            is_bad = 1;
        } else if (rate == 0) {
            is_bad = 1;
        }
    }
}

#define KEEP(name, reg, index) \
    RegisterAction<told_entry_t, link_t, bit<32>>(reg) name = { \
        void apply(inout told_entry_t value) { \
            value.rate = hdr.entries.rate_##index; \
            value.place = hdr.entries.place_##index; \
        } \
    };

// What this station is told that it may add; `is_again`: it has been examined.
control TakeLimits(in ring_headers_t hdr, in bit<1> is_again, in bit<8> most_hops, inout ring_metadata_t meta) {
    bit<32> last = 0;
    bit<32> newer = 0;
    bit<8>  lately = 0;
    bit<1>  bad_0 = 0;
    bit<1>  bad_1 = 0;
    bit<1>  bad_2 = 0;
    bit<1>  bad_3 = 0;
    bit<8>  rise_1 = 0;  // by how much an entry is farther than the one before
    bit<8>  rise_2 = 0;
    bit<8>  rise_3 = 0;

    ExamineEntry() examine_0;
    ExamineEntry() examine_1;
    ExamineEntry() examine_2;
    ExamineEntry() examine_3;
    Verdict() verdict;

    RegisterAction<bit<8>, link_t, bit<8>>(told_entries) keep_entries = {
        void apply(inout bit<8> value) {
            value = hdr.fairness.entries;
        }
    };
    RegisterAction<bit<32>, link_t, bit<32>>(told_sequence) keep_sequence = {
        void apply(inout bit<32> value) {
            value = hdr.fairness.sequence;
        }
    };
    RegisterAction<bit<32>, link_t, bit<32>>(told_sequence) get_sequence = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
        }
    };
    RegisterAction<bit<8>, link_t, bit<8>>(told_lately) keep_lately = {
        void apply(inout bit<8> value) {
            value = 1;
        }
    };
    RegisterAction<bit<8>, link_t, bit<8>>(told_lately) get_lately = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    KEEP(keep_0, told_entry_0, 0)
    KEEP(keep_1, told_entry_1, 1)
    KEEP(keep_2, told_entry_2, 2)
    KEEP(keep_3, told_entry_3, 3)

    @hidden action compare() {
        newer = hdr.fairness.sequence - last;
        rise_1 = PLACE_HOPS(hdr.entries.place_1) |-| PLACE_HOPS(hdr.entries.place_0);
        rise_2 = PLACE_HOPS(hdr.entries.place_2) |-| PLACE_HOPS(hdr.entries.place_1);
        rise_3 = PLACE_HOPS(hdr.entries.place_3) |-| PLACE_HOPS(hdr.entries.place_2);
    }

    apply {
        if (is_again == 1) {
            keep_entries.execute(meta.ringlet[0:0]);
            keep_sequence.execute(meta.ringlet[0:0]);
            keep_lately.execute(meta.ringlet[0:0]);
            keep_0.execute(meta.ringlet[0:0]);
            keep_1.execute(meta.ringlet[0:0]);
            keep_2.execute(meta.ringlet[0:0]);
            keep_3.execute(meta.ringlet[0:0]);
        } else {
            last = get_sequence.execute(meta.ringlet[0:0]);
            lately = get_lately.execute(meta.ringlet[0:0]);
            compare();
            examine_0.apply(hdr.entries.place_0, hdr.entries.rate_0, meta, most_hops, bad_0);
            examine_1.apply(hdr.entries.place_1, hdr.entries.rate_1, meta, most_hops, bad_1);
            examine_2.apply(hdr.entries.place_2, hdr.entries.rate_2, meta, most_hops, bad_2);
            examine_3.apply(hdr.entries.place_3, hdr.entries.rate_3, meta, most_hops, bad_3);
            // What was forgotten is not compared: the sender may have started anew.
            if (lately != 0 && (newer == 0 || IS_NEGATIVE(newer))) {
                meta.wrong.stale = 1;
            }
            // The nearest link first.
            if (hdr.fairness.entries > FAIRNESS_ENTRIES) {
                meta.wrong.bad_field = 1;
            } else if (hdr.fairness.entries > 0 && bad_0 == 1) {
                meta.wrong.bad_field = 1;
            } else if (hdr.fairness.entries > 1 && (bad_1 == 1 || rise_1 == 0)) {
                meta.wrong.bad_field = 1;
            } else if (hdr.fairness.entries > 2 && (bad_2 == 1 || rise_2 == 0)) {
                meta.wrong.bad_field = 1;
            } else if (hdr.fairness.entries > 3 && (bad_3 == 1 || rise_3 == 0)) {
                meta.wrong.bad_field = 1;
            }
            verdict.apply(meta.wrong, meta.drop_reason);
        }
    }
}

#endif
