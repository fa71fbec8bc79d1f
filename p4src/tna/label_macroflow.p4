// SPDX-License-Identifier: Apache-2.0
// Registers of the macroflows of an edge of optical packet switches, each touched once a packet, and what follows from those of a tick.
#ifndef SLOTWISE_TNA_LABEL_MACROFLOW_P4
#define SLOTWISE_TNA_LABEL_MACROFLOW_P4
#include "target.p4"
#include "../include/edge_parser.p4"

// By queue.
Register<rate_t, bit<10>>(MAX_QUEUES)  allowed_rate;    // 0: it has not ticked yet
Register<bit<32>, bit<10>>(MAX_QUEUES) sent_total;      // bytes that have left it, modulo 2^32, at its last tick
Register<bit<32>, bit<10>>(MAX_QUEUES) probe_sequence;  // of its last probe
Register<bit<32>, bit<10>>(MAX_QUEUES) probe_bytes;     // sent_bytes of its last probe
Register<bit<32>, bit<10>>(MAX_QUEUES) used_bytes;      // what it sends in a period of late: a mean
Register<bit<8>, bit<10>>(MAX_QUEUES)  probe_state;     // ANSWERED, or of its last probe, which has not been: ASKED or WAITED

const bit<8> ANSWERED = 0;
const bit<8> ASKED = 1;
const bit<8> WAITED = 2;  // asked, and it waited all the period before

// What a packet does with its macroflow's registers.
enum bit<8> ProbeOp {
    NONE   = 0,
    LOOK   = 1,  // a tick
    ASK    = 2,  // a tick that comes again
    ANSWER = 3,  // a reply
    TAKE   = 4   // a reply that comes again
}

// Of a macroflow, and what is found of it.
struct macroflow_t {
    bit<1>  is_known;
    bit<8>  wavelength;
    rate_t  floor;
    bit<8>  shift;
    bit<1>  tells;
    bit<32> sent;      // in the period of the last tick
    bit<32> used;      // in a period of late; then that, or more in the last one
    rate_t  rate;      // the same a second
    rate_t  allowed;
    bit<32> sequence;
    bit<8>  state;
#ifdef P4TESTGEN
    bit<32> periods;
#endif
}

// Which macroflow a tick or a reply is of.
control MacroflowOf(in queue_t queue, inout edge_metadata_t meta, inout macroflow_t flow) {
    // To `dst_edge`, on this wavelength of the fibre of `port`, which is the one for probes. `floor`: byte/s that it is always
    // allowed; `periods_q8`: periods a second, in 1/256; `tells_satisfied`: it says so if it has no use for more; `shift`: what it has
    // sent of late is a mean with 2^-shift for the last period.
    action set_macroflow(edge_t dst_edge, bit<8> traffic_class, bit<8> wavelength, port_t port, rate_t floor, bit<32> periods_q8,
                         bit<1> tells_satisfied, bit<8> shift) {
        meta.dst_edge = dst_edge;
        meta.traffic_class = traffic_class;
        meta.egress_port = port;
        flow.is_known = 1;
        flow.wavelength = wavelength;
        flow.floor = floor;
        flow.tells = tells_satisfied;
        flow.shift = shift;
#ifdef P4TESTGEN
        flow.periods = periods_q8;
#endif
    }

    table macroflow {
        key = {
            queue: exact @name("queue");
        }
        actions = {
            set_macroflow;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = MAX_QUEUES;
    }

    apply {
        macroflow.apply();
    }
}

#define PUT(name, type, new) \
    RegisterAction<type, bit<10>, type>(name) put_##name = { \
        void apply(inout type value) { \
            value = new; \
        } \
    }; \
    @hidden action keep_##name() { \
        put_##name.execute(cell); \
    }

#define GET(name, type, found) \
    RegisterAction<type, bit<10>, type>(name) get_##name = { \
        void apply(inout type value, out type read) { \
            read = value; \
        } \
    }; \
    @hidden action recall_##name() { \
        found = get_##name.execute(cell); \
    }

// The mean of a macroflow: `old` of a tick, `used` of a reply, so that what is reckoned with one lies apart from the other.
control UsedBytes(in ProbeOp op, in bit<10> cell, in bit<32> mean, inout bit<32> old, inout bit<32> used) {
    PUT(used_bytes, bit<32>, mean)
    GET(used_bytes, bit<32>, used)

    @hidden action recall_old() {
        old = get_used_bytes.execute(cell);
    }

    @hidden table of_used {
        key = {
            op: exact;
        }
        actions = {
            keep_used_bytes;
            recall_used_bytes;
            recall_old;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ProbeOp.LOOK:   recall_old();
            ProbeOp.ASK:    keep_used_bytes();
            ProbeOp.ANSWER: recall_used_bytes();
        }
    }

    apply {
        of_used.apply();
    }
}

// Registers of a macroflow, each touched once. `kept`: what comes again brings with it.
control MacroflowState(in edge_headers_t hdr, in bit<10> cell, in bit<32> kept, in ProbeOp op, inout macroflow_t flow) {
    bit<8> new_state = ANSWERED;

    PUT(probe_bytes, bit<32>, flow.sent)
    GET(probe_bytes, bit<32>, flow.sent)
    PUT(probe_state, bit<8>, new_state)
    GET(probe_state, bit<8>, flow.state)
    PUT(allowed_rate, rate_t, kept)
    GET(allowed_rate, rate_t, flow.allowed)
    GET(probe_sequence, bit<32>, flow.sequence)

    RegisterAction<rate_t, bit<10>, rate_t>(allowed_rate) raise = {
        void apply(inout rate_t value, out rate_t read) {
            value = max(value, flow.floor);
            read = value;
        }
    };
    RegisterAction<bit<32>, bit<10>, bit<32>>(probe_sequence) count = {
        void apply(inout bit<32> value, out bit<32> read) {
            value = value + 1;
            read = value;
        }
    };

    @hidden action raise_allowed_rate() {
        flow.allowed = raise.execute(cell);
    }

    @hidden action count_probe() {
        flow.sequence = count.execute(cell);
    }

    @hidden table of_bytes {
        key = {
            op: exact;
        }
        actions = {
            keep_probe_bytes;
            recall_probe_bytes;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ProbeOp.ASK:    keep_probe_bytes();
            ProbeOp.ANSWER: recall_probe_bytes();
        }
    }

    @hidden table of_state {
        key = {
            op: exact;
        }
        actions = {
            keep_probe_state;
            recall_probe_state;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ProbeOp.ASK:    keep_probe_state();
            ProbeOp.ANSWER: recall_probe_state();
            ProbeOp.TAKE:   keep_probe_state();
        }
    }

    @hidden table of_rate {
        key = {
            op: exact;
        }
        actions = {
            raise_allowed_rate;
            recall_allowed_rate;
            keep_allowed_rate;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ProbeOp.ASK:    raise_allowed_rate();
            ProbeOp.ANSWER: recall_allowed_rate();
            ProbeOp.TAKE:   keep_allowed_rate();
        }
    }

    @hidden table of_sequence {
        key = {
            op: exact;
        }
        actions = {
            count_probe;
            recall_probe_sequence;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            ProbeOp.ASK:    count_probe();
            ProbeOp.ANSWER: recall_probe_sequence();
        }
    }

    apply {
        if (op == ProbeOp.ASK) {
            if (hdr.interval_tick.least_backlog_bytes == 0) {
                new_state = ASKED;
            } else {
                new_state = WAITED;
            }
        }
        of_bytes.apply();
        of_state.apply();
        of_rate.apply();
        of_sequence.apply();
    }
}

// Of a tick: what has left since the last one, and the mean with it.
control LookAtTick(in edge_headers_t hdr, in bit<10> cell, in bit<32> old, in bit<8> shift, inout DropReason drop_reason, inout bit<32> sent,
                   inout bit<32> mean) {
    bit<32> total = 0;
    bit<32> before = 0;
    bit<32> used_part = 0;
    bit<32> sent_part = 0;

    RegisterAction<bit<32>, bit<10>, bit<32>>(sent_total) swap = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
            value = total;
        }
    };

    @hidden action find_total() {
        total = hdr.queue_report.arrived_bytes - hdr.queue_report.backlog_bytes;
    }

    @hidden action swap_total() {
        before = swap.execute(cell);
    }

    @hidden action find_sent() {
        sent = total - before;
    }

#define SHIFT(k) \
    @hidden action shift_##k() { \
        used_part = old >> k; \
        sent_part = sent >> k; \
    }

    SHIFT(0) SHIFT(1) SHIFT(2) SHIFT(3) SHIFT(4) SHIFT(5) SHIFT(6) SHIFT(7)

    // Nothing shifts by a variable.
    @hidden table shifted {
        key = {
            shift: exact;
        }
        actions = {
            shift_0;
            shift_1;
            shift_2;
            shift_3;
            shift_4;
            shift_5;
            shift_6;
            shift_7;
        }
        const default_action = shift_0();
        const entries = {
            1: shift_1();
            2: shift_2();
            3: shift_3();
            4: shift_4();
            5: shift_5();
            6: shift_6();
            7: shift_7();
        }
    }

    @hidden action take_part() {
        mean = old - used_part;
    }

    @hidden action add_part() {
        mean = mean + sent_part;
    }

    @hidden action refuse() {
        drop_reason = DropReason.BAD_FIELD;
    }

    // A card that says that less has left the queue than a period ago has begun anew, and is asked again then.
    @hidden table look_at_sent {
        key = {
            sent: ternary;
        }
        actions = {
            refuse;
            NoAction;
        }
        const default_action = refuse();
        const entries = {
            0 &&& 0x80000000: NoAction();
        }
    }

    apply {
        find_total();
        swap_total();
        find_sent();
        shifted.apply();
        take_part();
        add_part();
        look_at_sent.apply();
    }
}

// What a macroflow sends in a period, in a second. Parts of the number are looked up, since nothing multiplies; whoever writes `macroflow` fills
// the tables, rounded down, for the one period that all macroflows have.
control RateOf(in bit<32> bytes, inout macroflow_t flow) {
    rate_t high = 0;
    rate_t middle = 0;
    rate_t low = 0;
    bit<32> parts = 0;

    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) copy;

    // By a hash that changes nothing, so that the number itself stays whole.
    @hidden action split() {
        parts = copy.get({ bytes });
    }

    action is_high(rate_t part) {
        high = part;
    }

    table period_rate_high {
        key = {
            parts[31:22]: exact @name("bytes");
        }
        actions = {
            is_high;
        }
        const default_action = is_high(0);
        size = 1024;
    }

    action is_middle(rate_t part) {
        middle = part;
    }

    table period_rate_middle {
        key = {
            parts[21:11]: exact @name("bytes");
        }
        actions = {
            is_middle;
        }
        const default_action = is_middle(0);
        size = 2048;
    }

    action is_low(rate_t part) {
        low = part;
    }

    table period_rate_low {
        key = {
            parts[10:0]: exact @name("bytes");
        }
        actions = {
            is_low;
        }
        const default_action = is_low(0);
        size = 2048;
    }

    @hidden action add_lower() {
        flow.rate = middle |+| low;
    }

    @hidden action add_high() {
        flow.rate = flow.rate |+| high;
    }

    apply {
#ifdef P4TESTGEN  // which fills no tables that v1model does not have
        bit<64> product = ((bit<64>)bytes * (bit<64>)flow.periods) >> 8;
        flow.rate = product[31:0];
        if (product[63:32] != 0) {
            flow.rate = 0xffffffff;
        }
#else
        split();
        period_rate_high.apply();
        period_rate_middle.apply();
        period_rate_low.apply();
        add_lower();
        add_high();
#endif
    }
}

#endif
