// SPDX-License-Identifier: Apache-2.0
// What a train's label is looked at with: how long it lasts, where it may go next, and what it carries through the loop if it has to
// try another output: a packet touches an output's registers once.
#ifndef SLOTWISE_TNA_OPS_TRAIN_P4
#define SLOTWISE_TNA_OPS_TRAIN_P4
#include "target.p4"
#include "ops_place.p4"

// In front of a label that comes again.
header again_t {
    @padding bit<6> _pad;
    bit<1>  is_deflected;  // the fibre of its choice has been tried
    port_t  input;
    bit<8>  fibre;         // on which it tries another wavelength; NO_FIBRE: the next of its choices
    bit<8>  wavelength;    // that it tries
    bit<32> choices;       // that are left
}

// The same while it is looked at.
struct search_t {
    bit<1>  is_deflected;
    bit<8>  fibre;
    bit<8>  wavelength;
    bit<1>  is_last;       // there is no further choice
    bit<16> port;          // that it tries
}

// How long a train lasts, of its length in two parts: nothing multiplies. Whoever sets `time_per_byte_q16` fills both tables, rounded up.
control TrainTime(in bit<32> bytes, out ns_t time) {
    ns_t high = 0;
    ns_t low = 0;

    action lasts_high(ns_t time_high) {
        high = time_high;
    }

    table train_time_high {
        key = {
            bytes[23:12]: exact @name("bytes");
        }
        actions = {
            lasts_high;
        }
        const default_action = lasts_high(0);
        size = 4096;
    }

    action lasts_low(ns_t time_low) {
        low = time_low;
    }

    table train_time_low {
        key = {
            bytes[11:0]: exact @name("bytes");
        }
        actions = {
            lasts_low;
        }
        const default_action = lasts_low(0);
        size = 4096;
    }

    @hidden action add() {
        time = high + low;
    }

    apply {
        train_time_high.apply();
        train_time_low.apply();
        add();
    }
}

#define IS_CHOICE(fibre) ((fibre) != NO_FIBRE && (fibre) != from)

// The next of the choices that does not lead back to fibre `from`, and what is left behind it; NO_FIBRE: there is none.
control NextFibre(in bit<8> from, inout bit<32> choices, inout bit<8> fibre) {
    @hidden action take_first() {
        fibre = choices[31:24];
        choices = choices[23:0] ++ NO_FIBRE;
    }

    @hidden action take_second() {
        fibre = choices[23:16];
        choices = choices[15:0] ++ NO_FIBRE ++ NO_FIBRE;
    }

    @hidden action take_third() {
        fibre = choices[15:8];
        choices = choices[7:0] ++ NO_FIBRE ++ NO_FIBRE ++ NO_FIBRE;
    }

    @hidden action take_fourth() {
        fibre = choices[7:0];
        choices = 0xffffffff;
    }

    @hidden action take_none() {
        fibre = NO_FIBRE;
        choices = 0xffffffff;
    }

    apply {
        if (IS_CHOICE(choices[31:24])) {
            take_first();
        } else if (IS_CHOICE(choices[23:16])) {
            take_second();
        } else if (IS_CHOICE(choices[15:8])) {
            take_third();
        } else if (IS_CHOICE(choices[7:0])) {
            take_fourth();
        } else {
            take_none();
        }
    }
}

#endif
