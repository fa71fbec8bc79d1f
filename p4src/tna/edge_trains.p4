// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_trains.p4. What v1model has as open bytes of a queue is a difference here, so that packets and ticks touch the
// registers in one order: what frames carry that the card has not told of, and how much of it is of trains that P4 has closed.
//
//   packet ──> held_bytes: + its bytes ──> closed_bytes: equal, or so far behind that the train is full: closes it, begins the next one
//   train tick ──> both: - the train's bytes
#ifndef SLOTWISE_EDGE_TRAINS_P4
#define SLOTWISE_EDGE_TRAINS_P4
#include "counting.p4"
#include "../include/edge_parser.p4"

Register<bit<32>, bit<10>>(MAX_QUEUES) held_bytes;    // of all frames that the card has told nothing of
Register<bit<32>, bit<10>>(MAX_QUEUES) closed_bytes;  // of those of them that no packet can join any more
Register<bit<32>, bit<1>>(1)           train_numbers; // last one given out

const bit<32> LABEL_BYTES = 20;             // of label_t
const bit<32> LEAST_PAYLOAD = 46;           // Ethernet fills up frames that carry less
const bit<32> OWN_HEADERS = 50;             // of a train of one frame: Ethernet's, optical_t, label_t
const bit<32> FRAME_BYTES = 30;             // of a frame of a train, before what it carries

// What a packet does with its queue.
enum bit<8> TrainOp {
    NONE = 0,
    JOIN = 1,
    TELL = 2   // the card has closed a train
}

// Lengths of a packet and of a tick, found for all that comes.
struct lengths_t {
    bit<32> carried;  // by the packet, or by all frames of the tick's train and those that were lost
    bit<32> limit;    // of its train
    bit<32> train;    // as links count it, with its label
    bit<32> excess;   // of the first frame beyond its train
    bit<32> rest;     // of the train behind its first frame
    bit<32> spare;    // what frames carry beyond the least, two's complement
}

// A packet is as long as IPv4 says: what the ingress does not know is how long its frame is.
control Lengths(in edge_headers_t hdr, in bit<16> framing_bytes, inout lengths_t lengths) {
    bit<32> framing = 0;
    bit<32> beyond = 0;
    bit<32> headers = 0;
    bit<8>  packets_high = 0;
    bit<8>  packets_low = 0;
    bit<32> headers_high = 0;
    bit<32> headers_low = 0;
    bit<32> least = 0;
    bit<32> least_four = 0;

    // A container of 16 bits is not moved into one of 32.
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide_framing;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) high_half;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_half;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide_packets;

    // So that the number itself stays whole.
    @hidden action split_packets() {
        packets_high = high_half.get({ hdr.train_tick.packets })[15:8];
        packets_low = low_half.get({ hdr.train_tick.packets })[7:0];
    }

    // What frames have before what they carry, as links count it, by the two halves of their number: nothing multiplies. Whoever sets
    // `framing_bytes` fills both.
    action have_high(bit<32> bytes) {
        headers_high = bytes;
    }

    table frame_headers_high {
        key = {
            packets_high: exact @name("packets");
        }
        actions = {
            have_high;
        }
        const default_action = have_high(0);
        size = 256;
    }

    action have_low(bit<32> bytes) {
        headers_low = bytes;
    }

    table frame_headers_low {
        key = {
            packets_low: exact @name("packets");
        }
        actions = {
            have_low;
        }
        const default_action = have_low(0);
        size = 256;
    }

    @hidden action add_headers() {
        headers = headers_high + headers_low;
    }

    @hidden action widen_packets() {
        least = wide_packets.get({ hdr.train_tick.packets });
    }

    // Of IPv4's header: 20 bytes.
    @hidden action find_least() {
        least_four = least << 2;
        least = least << 4;
    }

    @hidden action add_least() {
        least = least + least_four;
    }

    @hidden action leave_headers() {
        lengths.carried = hdr.train_tick.bytes - headers;
        lengths.train = hdr.train_tick.bytes + LABEL_BYTES;
        lengths.excess = hdr.train_tick.first_bytes |-| hdr.train_tick.bytes;
        lengths.rest = hdr.train_tick.bytes - hdr.train_tick.first_bytes;
    }

    @hidden action spare_least() {
        lengths.spare = lengths.carried - least;
        lengths.carried = lengths.carried + hdr.train_tick.lost_bytes;
    }

    @hidden action widen() {
        beyond = wide.get({ hdr.ipv4.total_len });
    }

    @hidden action widen_framing() {
        framing = wide_framing.get({ framing_bytes });
    }

    @hidden action fill_up() {
        beyond = beyond |-| LEAST_PAYLOAD;
    }

    @hidden action measure() {
        lengths.carried = beyond + LEAST_PAYLOAD;
        lengths.train = beyond + (LEAST_PAYLOAD + OWN_HEADERS);
    }

    @hidden action leave_framing() {
        lengths.train = lengths.train |-| framing;
    }

    apply {
        if (hdr.train_tick.isValid()) {
#ifdef P4TESTGEN  // which fills no tables that v1model does not have
            headers = (bit<32>)hdr.train_tick.packets * (FRAME_BYTES - (bit<32>)framing_bytes);
#else
            split_packets();
            frame_headers_high.apply();
            frame_headers_low.apply();
            add_headers();
#endif
            widen_packets();
            find_least();
            add_least();
            leave_headers();
            spare_least();
        } else {
            widen();
            widen_framing();
            fill_up();
            measure();
            leave_framing();
        }
    }
}

// A packet with a queue joins a train, or is one.
control Aggregation(in edge_headers_t hdr, inout edge_metadata_t meta, inout lengths_t lengths, inout TrainOp op) {
    queue_t voq = 0;  // before a flow's queue takes its place

    // Of a train, but that a packet may exceed it alone.
    action aggregate(bit<32> size_bytes) {
        lengths.limit = size_bytes;
        op = TrainOp.JOIN;
    }

    table aggregation {
        key = {
            meta.queue: exact @name("queue");
        }
        actions = {
            aggregate;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = MAX_QUEUES;
    }

    direct_counter(CounterType.packets_and_bytes) flow_queue_counter;

    action set_flow_queue(queue_t queue) {
        meta.queue = queue;
        COUNT(flow_queue_counter)
    }

    // Flows with trains of their own.
    table flow_queue {
        key = {
            hdr.ipv4.src:      exact @name("src");
            hdr.ipv4.dst:      exact @name("dst");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.l4_src:       exact @name("l4_src");
            meta.l4_dst:       exact @name("l4_dst");
        }
        actions = {
            set_flow_queue;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        counters = flow_queue_counter;
        size = MAX_QUEUES;
    }

    @hidden action be_alone() {
        meta.train_part = (bit<8>)TrainPart.ONLY;
        meta.is_train = 1;
    }

    @hidden action refuse_queue() {
        meta.to_fibre = 0;
        meta.is_train = 0;
        op = TrainOp.NONE;
    }

    // Both that of the VOQ and that of the flow.
    @hidden table queue_range {
        key = {
            voq:        ternary;
            meta.queue: ternary;
        }
        actions = {
            refuse_queue;
            NoAction;
        }
        const default_action = refuse_queue();
        const entries = {
            (SIGNALING_QUEUE, _):        refuse_queue();
            (_, SIGNALING_QUEUE):        refuse_queue();
            (0 &&& 0xfc00, 0 &&& 0xfc00): NoAction();
        }
    }

    @hidden action note_voq() {
        voq = meta.queue;
    }

    apply {
        note_voq();
        if (aggregation.apply().hit) {
            flow_queue.apply();
        } else if (meta.labels == 1) {
            be_alone();
        }
        queue_range.apply();
        if (meta.to_fibre == 0 && meta.drop_reason == DropReason.NONE) {
            meta.drop_reason = DropReason.BAD_QUEUE;
        }
    }
}

// The line card has closed a train. What it says of it is believed if it may be.
control TrainTick(in edge_headers_t hdr, in lengths_t lengths, inout edge_metadata_t meta, inout TrainOp op) {
    direct_counter(CounterType.packets_and_bytes) train_queue_counter;

    // Whose trains they are, the port of the output that they leave by, and of the one for which there is no room there, or 0.
    action set_train(edge_t dst_edge, bit<8> traffic_class, port_t port, port_t second) {
        meta.dst_edge = dst_edge;
        meta.traffic_class = traffic_class;
        meta.egress_port = port;
        meta.second_port = second;
        meta.is_train = 1;
        op = TrainOp.TELL;
        COUNT(train_queue_counter)
    }

    action no_train() {
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    table train_queue {
        key = {
            meta.queue: exact @name("queue");
        }
        actions = {
            set_train;
            @defaultonly no_train;
        }
        const default_action = no_train();
        counters = train_queue_counter;
        size = MAX_QUEUES;
    }

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action believe() { }

    @hidden table look_at_train {
        key = {
            meta.queue:                ternary;
            hdr.train_tick.packets:    ternary;
            hdr.train_tick.bytes:      ternary;
            hdr.train_tick.lost_bytes: ternary;
            lengths.excess:            ternary;
            lengths.rest:              ternary;
            lengths.spare:             ternary;
        }
        actions = {
            refuse;
            believe;
        }
        const default_action = refuse(DropReason.BAD_QUEUE);
        const entries = {
            (SIGNALING_QUEUE, _, _, _, _, _, _):                                           refuse(DropReason.BAD_QUEUE);
            (0 &&& 0xfc00, 0, _, _, _, _, _):                                              refuse(DropReason.BAD_FIELD);
            (0 &&& 0xfc00, 1, 0 &&& 0xff000000, 0 &&& 0x80000000, 0, 0, 0 &&& 0x80000000): believe();
            (0 &&& 0xfc00, 1, _, _, _, _, _):                                              refuse(DropReason.BAD_FIELD);
            (0 &&& 0xfc00, _, 0 &&& 0xff000000, 0 &&& 0x80000000, 0, _, 0 &&& 0x80000000): believe();
            (0 &&& 0xfc00, _, _, _, _, _, _):                                              refuse(DropReason.BAD_FIELD);
        }
    }

    apply {
        look_at_train.apply();
        if (meta.drop_reason == DropReason.NONE) {
            train_queue.apply();
        }
    }
}

// Registers of the queue. A packet begins a train if none is open, or with it the open one would be longer than `limit`.
control QueueBytes(in TrainOp op, in bit<10> queue, in lengths_t lengths, inout bit<8> train_part) {
    bit<32> held = 0;
    bit<32> room = 0;
    bit<32> full = 0;    // where the open train has to have begun, to have room; of what is told, its bytes
    bit<32> begins = 0;  // 32 bits, as a stateful ALU says it

    RegisterAction<bit<32>, bit<10>, bit<32>>(held_bytes) hold = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
            value = value + lengths.carried;
        }
    };
    RegisterAction<bit<32>, bit<10>, bit<32>>(held_bytes) release = {
        void apply(inout bit<32> value) {
            value = value |-| lengths.carried;
        }
    };
    RegisterAction<bit<32>, bit<10>, bit<32>>(closed_bytes) join = {
        void apply(inout bit<32> value, out bit<32> is_first) {
            is_first = 0;
            if (value == held || value < full) {
                is_first = 1;
                value = held;
            }
        }
    };
    RegisterAction<bit<32>, bit<10>, bit<32>>(closed_bytes) tell = {
        void apply(inout bit<32> value) {
            value = value |-| full;
        }
    };

    @hidden action find_room() {
        room = lengths.limit |-| lengths.carried;
    }

    @hidden action do_hold() {
        held = hold.execute(queue);
    }

    @hidden action do_release() {
        release.execute(queue);
    }

    @hidden table of_held {
        key = {
            op: exact;
        }
        actions = {
            do_hold;
            do_release;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            TrainOp.JOIN: do_hold();
            TrainOp.TELL: do_release();
        }
    }

    @hidden action find_full() {
        full = held |-| room;
    }

    // A stateful ALU knows two operands.
    @hidden action take_told() {
        full = lengths.carried;
    }

    @hidden action do_join() {
        begins = join.execute(queue);
    }

    @hidden action do_tell() {
        tell.execute(queue);
    }

    @hidden table of_closed {
        key = {
            op: exact;
        }
        actions = {
            do_join;
            do_tell;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            TrainOp.JOIN: do_join();
            TrainOp.TELL: do_tell();
        }
    }

    @hidden action be(TrainPart part) {
        train_part = (bit<8>)part;
    }

    @hidden table part {
        key = {
            op:     ternary;
            begins: ternary;
        }
        actions = {
            be;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (TrainOp.JOIN, 0): be(TrainPart.MIDDLE);
            (TrainOp.JOIN, _): be(TrainPart.FIRST);
        }
    }

    apply {
        find_room();
        of_held.apply();
        if (op == TrainOp.JOIN) {
            find_full();
        } else {
            take_told();
        }
        of_closed.apply();
        part.apply();
    }
}

// The label of a train that is complete: behind the packet's own Ethernet header, or for the line card.
control LabelTrain(inout edge_headers_t hdr, inout edge_metadata_t meta, in bit<32> length, inout standard_metadata_t standard_metadata) {
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) wide_port;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_port;

    RegisterAction<bit<32>, bit<1>, bit<32>>(train_numbers) give_out = {
        void apply(inout bit<32> value, out bit<32> number) {
            value = value + 1;
            number = value;
        }
    };

    @hidden action put_label() {
        hdr.label.setValid();
        hdr.label.version = LABEL_VERSION;
        hdr.label.kind = LabelKind.TRAIN;
        hdr.label.traffic_class = meta.traffic_class;
        hdr.label.src_edge = meta.edge_id;
        hdr.label.dst_edge = meta.dst_edge;
        hdr.label.train = 0;
        hdr.label.length = length;
        hdr.label.packets = 1;
        hdr.label.deflections_left = meta.deflections;
        hdr.label.hops_left = meta.hops;
        hdr.label.reserved = 0;
    }

    // By a hash that changes nothing: the port need not stand in a container where the wavelength has its bits.
    @hidden action take_wavelength() {
        hdr.label.wavelength = low_port.get({ meta.egress_port })[7:0];
    }

    @hidden action mask_wavelength() {
        hdr.label.wavelength = hdr.label.wavelength & meta.wavelength_mask;
    }

    @hidden action name_output() {
        hdr.linecard.port = wide_port.get({ meta.egress_port });
    }

    // A train that is refused takes no number.
    @hidden action give_number() {
        hdr.label.train = give_out.execute(0);
    }

    @hidden action answer_tick() {
        hdr.label.packets = hdr.train_tick.packets;
        hdr.linecard.kind = LineCardKind.TRAIN_LABEL;
        hdr.train_label.setValid();
        hdr.train_label.queue = hdr.train_tick.queue;
        hdr.train_label.packets = hdr.train_tick.packets;
        hdr.train_label.flags = 0;
        hdr.train_label.traffic_class = meta.traffic_class;
        hdr.train_label.reserved = 0;
        hdr.train_label.tag = 0;
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        put_label();
        take_wavelength();
        mask_wavelength();
        if (hdr.train_tick.isValid()) {
            answer_tick();
            name_output();
            if (meta.drop_reason != DropReason.NONE) {
                hdr.train_label.flags = TRAIN_REFUSED;
            }
        }
        if (meta.drop_reason == DropReason.NONE) {
            give_number();
        } else {
            meta.to_fibre = 0;
        }
    }
}

#endif
