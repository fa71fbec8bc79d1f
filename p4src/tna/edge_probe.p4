// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_probe.p4, without shares and agents of outputs. What depends on registers that it writes comes twice: looked at
// first, then resubmitted with what was found, and kept.
//
//   interval tick ──> macroflow ──> mean of what has left ──resubmitted──> kept ──> probe ──> wavelength for probes
//   probe ──> reply ──> wavelength for probes
//   reply ──> macroflow ──> allowed rate ──resubmitted──> kept ──> flow control
#ifndef SLOTWISE_EDGE_PROBE_P4
#define SLOTWISE_EDGE_PROBE_P4
#include "target.p4"
#include "label_again.p4"
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
        flow.rate = middle + low;
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

// Of a probe or reply: 0, but `below` where it is about a wavelength for data.
struct probe_traits_t {
    bit<8>  astray;  // from another port than that for probes
    bit<16> for_us;
    bit<16> own;     // from this edge itself
    bit<8>  below;
}

control ProbeTraits(in edge_headers_t hdr, in standard_metadata_t standard_metadata, in edge_metadata_t meta, inout probe_traits_t traits) {
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_port;

    @hidden action take_port() {
        traits.astray = low_port.get({ standard_metadata.ingress_port })[7:0];
    }

    @hidden action mask_port() {
        traits.astray = traits.astray & meta.wavelength_mask;
    }

    @hidden action compare() {
        traits.astray = traits.astray ^ meta.wavelengths;
        traits.for_us = hdr.label.dst_edge ^ meta.edge_id;
        traits.own = hdr.label.src_edge ^ meta.edge_id;
        traits.below = meta.wavelengths |-| hdr.label.wavelength;
    }

    apply {
        take_port();
        mask_port();
        compare();
    }
}

// A probe or reply of its wavelength, for this edge: from one port only, and with nothing of a train.
control LookAtProbe(in edge_headers_t hdr, in probe_traits_t traits, inout DropReason drop_reason) {
    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() { }

    @hidden table look_at_probe {
        key = {
            traits.astray:     ternary;
            traits.for_us:     ternary;
            traits.own:        ternary;
            traits.below:      ternary;
            hdr.label.train:   ternary;
            hdr.label.length:  ternary;
            hdr.label.packets: ternary;
            hdr.label.kind:    ternary;
            hdr.probe.queue:   ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (0, 0, 0, _, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, 0, _, 0, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, 0, 0, 0, LabelKind.PROBE, _):                   accept();
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, SIGNALING_QUEUE):     refuse(DropReason.BAD_QUEUE);
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, 0 &&& 0xfc00):        accept();
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, _):                   refuse(DropReason.BAD_QUEUE);
            (0, 0, _, _, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, _, _, _, _, _, _, _, _):                                 refuse(DropReason.MISDIRECTED);
        }
    }

    apply {
        look_at_probe.apply();
    }
}

// At the other end.
control ReturnProbe(inout edge_headers_t hdr, in edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action return_probe() {
        hdr.label.dst_edge = hdr.label.src_edge;
        hdr.label.src_edge = meta.edge_id;  // for which it was
        hdr.label.kind = LabelKind.REPLY;
        hdr.label.hops_left = meta.hops;
        hdr.ethernet.src = meta.mac;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    apply {
        return_probe();
    }
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

// Of a reply: whether it is the one to the last probe, and what is allowed by it: at most twice what it sends of late, so that what is
// allowed is not far above what is used, but for who could not send.
control LookAtReply(in edge_headers_t hdr, in edge_metadata_t meta, in macroflow_t flow, inout DropReason drop_reason, inout bit<32> kept) {
    bit<16> other_edge = 0;
    bit<8>  other_class = 0;
    bit<8>  other_wavelength = 0;
    bit<32> other_sequence = 0;
    bit<32> other_bytes = 0;
    bit<32> twice = 0;
    bit<32> above = 0;
    bit<32> less = 0;

    @hidden action compare() {
        other_edge = hdr.label.src_edge ^ meta.dst_edge;
        other_class = hdr.label.traffic_class ^ meta.traffic_class;
        other_wavelength = hdr.label.wavelength ^ flow.wavelength;
        other_sequence = hdr.probe.sequence ^ flow.sequence;
        other_bytes = hdr.probe.sent_bytes ^ flow.sent;
        less = 0 - hdr.probe.feedback;
        kept = flow.allowed;
    }

    @hidden action double_rate() {
        twice = flow.rate |+| flow.rate;
    }

    @hidden action find_above() {
        above = kept |-| twice;
    }

    @hidden action bound() {
        kept = kept - above;
    }

    @hidden action fall() {
        kept = kept |-| less;
    }

    @hidden action rise() {
        kept = kept |+| hdr.probe.feedback;
    }

    @hidden table change {
        key = {
            hdr.probe.feedback: ternary;
        }
        actions = {
            rise;
            fall;
        }
        const default_action = fall();
        const entries = {
            0 &&& 0x80000000: rise();
        }
    }

    @hidden action raise() {
        kept = max(kept, flow.floor);
    }

    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() { }

    @hidden table look_at_reply {
        key = {
            other_edge:       ternary;
            other_class:      ternary;
            flow.state:       ternary;
            other_sequence:   ternary;
            other_wavelength: ternary;
            other_bytes:      ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, 0, ANSWERED, _, _, _): refuse(DropReason.STALE);
            (0, 0, _, 0, 0, 0):        accept();
            (0, 0, _, 0, _, _):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, _, _):        refuse(DropReason.STALE);
        }
    }

    apply {
        compare();
        look_at_reply.apply();
        double_rate();
        find_above();
        if (flow.shift == 0 || flow.state != WAITED) {
            bound();
        }
        change.apply();
        raise();
    }
}

// A tick has become a probe.
control Ask(inout edge_headers_t hdr, in edge_metadata_t meta, in queue_t queue, in macroflow_t flow, inout standard_metadata_t standard_metadata) {
    bit<32> spare = 0;
    bit<32> eighth = 0;

    @hidden action ask() {
        hdr.ethernet.src = meta.mac;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        hdr.linecard.setInvalid();
        hdr.label.setValid();
        hdr.label.version = LABEL_VERSION;
        hdr.label.kind = LabelKind.PROBE;
        hdr.label.traffic_class = meta.traffic_class;
        hdr.label.src_edge = meta.edge_id;
        hdr.label.dst_edge = meta.dst_edge;
        hdr.label.train = 0;
        hdr.label.length = 0;
        hdr.label.packets = 0;
        hdr.label.wavelength = flow.wavelength;
        hdr.label.deflections_left = 0;
        hdr.label.hops_left = meta.hops;
        hdr.label.reserved = 0;
        hdr.probe.setValid();
        hdr.probe.sequence = flow.sequence;
        hdr.probe.sent_bytes = flow.sent;
        hdr.probe.feedback = NO_FEEDBACK;
        hdr.probe.flags = 0;
        hdr.probe.queue = queue;
        hdr.probe.sent_ns = hdr.interval_tick.local_ns;
        standard_metadata.egress_spec = meta.egress_port;
    }

    @hidden action find_spare() {
        spare = flow.allowed |-| flow.rate;
        eighth = flow.allowed >> 3;
    }

    @hidden action compare() {
        spare = spare |-| eighth;
    }

    @hidden action be_satisfied() {
        hdr.probe.flags = PROBE_SATISFIED;
    }

    apply {
        ask();
        find_spare();
        compare();
        // Less than 7/8 of what it is allowed, and not because a train waits that takes longer than a period.
        if (flow.tells == 1 && hdr.interval_tick.least_backlog_bytes == 0 && spare != 0) {
            be_satisfied();
        }
    }
}

// The rate of a reply, for the card of the output that the macroflow leaves by.
control TellRate(inout edge_headers_t hdr, in edge_metadata_t meta, in macroflow_t flow, in rate_t rate, inout standard_metadata_t standard_metadata) {
    bit<8> output = 0;

    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_port;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) wide;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) low_bits;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) high_bits;

    // In bit/s, by a hash that changes nothing, so that it lies apart from what rates are reckoned with.
    @hidden action set_low() {
        hdr.flow_control.value[31:0] = low_bits.get({ rate[28:0], 3w0 });
    }

    @hidden action set_high() {
        hdr.flow_control.value[63:32] = high_bits.get({ rate[31:29] });
    }

    @hidden action find_port() {
        output = low_port.get({ meta.egress_port })[7:0];
    }

    @hidden action find_fibre() {
        output = output - meta.wavelengths;
    }

    @hidden action find_output() {
        output = output + flow.wavelength;
    }

    @hidden action name_output() {
        hdr.linecard.port = wide.get({ output });
    }

    @hidden action name_port() {
        hdr.linecard.port = hdr.linecard.port + (bit<16>)PORT_OPTICAL_BASE;
    }

    @hidden action tell() {
        hdr.ethernet.ether_type = ETHERTYPE_LINECARD;
        hdr.label.setInvalid();
        hdr.probe.setInvalid();
        hdr.linecard.setValid();
        hdr.linecard.version = LINECARD_VERSION;
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.linecard.reserved = 0;
        hdr.flow_control.setValid();
        hdr.flow_control.queue = hdr.probe.queue;
        hdr.flow_control.op = FlowOp.SET_RATE;
        hdr.flow_control.reserved = 0;
        hdr.flow_control.open_ns = 0;
        hdr.flow_control.close_ns = 0;
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        find_port();
        find_fibre();
        find_output();
        tell();
        set_low();
        set_high();
        name_output();
        name_port();
    }
}

// What becomes of a tick, a probe or a reply, by what it is and whether its macroflow is known; `returns`: a probe that goes back.
control ProbeRules(in edge_headers_t hdr, in bit<8> again, in queue_t queue, in bit<1> is_known, inout ProbeOp op, inout bit<1> returns,
                   inout DropReason drop_reason) {
    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action go(ProbeOp found) {
        op = found;
    }

    @hidden action go_back() {
        returns = 1;
    }

    @hidden table probe_rules {
        key = {
            again:                   ternary;
            hdr.probe.isValid():     ternary;
            hdr.label.kind:          ternary;
            queue:                   ternary;
            is_known:                ternary;
            hdr.interval_tick.timer: ternary;
        }
        actions = {
            refuse;
            go;
            go_back;
        }
        const default_action = refuse(DropReason.BAD_QUEUE);
        const entries = {
            (AGAIN_TICK, _, _, _, _, _):                                go(ProbeOp.ASK);
            (AGAIN_REPLY, _, _, _, _, _):                               go(ProbeOp.TAKE);
            (_, true, LabelKind.PROBE, _, _, _):                        go_back();
            (_, true, _, _, 1, _):                                      go(ProbeOp.ANSWER);
            (_, true, _, _, _, _):                                      refuse(DropReason.NO_VOQ);
            (_, _, _, SIGNALING_QUEUE, _, _):                           refuse(DropReason.BAD_QUEUE);
            (_, _, _, 0 &&& 0xfc00, 1, (bit<8>)IntervalTimer.CONTROL):  go(ProbeOp.LOOK);
            (_, _, _, 0 &&& 0xfc00, _, _):                              refuse(DropReason.NO_SIGNALING);
        }
    }

    apply {
        probe_rules.apply();
    }
}

#endif
