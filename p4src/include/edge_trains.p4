// SPDX-License-Identifier: Apache-2.0
// Trains, at an edge of optical packet switches: which packets become one, and what its label says. The line card holds the open
// ones, and closes them by time or when P4 opens the next one; it asks for the label then. In a star trains have no label: the card
// asks for the VOQ that the train waits in for a slot, and the parts in optical_t say where it ends.
//
//   packet ──voq──> aggregation ──aggregate──> flow_queue ──> part FIRST or MIDDLE ──> line card
//                               ──NoAction───> a train of its own ──┐       (in a star: no train)
//   train tick ──> train_queue ──> what was open ───────────────────┴──> output (edge_ingress.p4) ──> label
//                                                └──> VOQ, in a star
#ifndef SLOTWISE_EDGE_TRAINS_P4
#define SLOTWISE_EDGE_TRAINS_P4
#include "edge_parser.p4"
#include "edge_ingress.p4"
#include "xcp.p4"

// What frames have behind their Ethernet headers, by queue. What P4 has closed is apart until the line card says so, since packets
// may come before it does.
register<bit<32>>(MAX_QUEUES) open_bytes;     // of the train that packets join
register<bit<32>>(MAX_QUEUES) closing_bytes;  // of those before it
register<bit<32>>(1) train_numbers;           // last one given out

const bit<32> LABEL_BYTES = 20;    // of label_t
const bit<32> OPTICAL_BYTES = 16;  // of optical_t
const bit<32> FRAME_BYTES = ETHERNET_HEADER_BYTES + OPTICAL_BYTES;  // of a frame of a train, before what it carries
const bit<32> LEAST_IPV4_BYTES = 20;
const bit<32> MAX_LOST_BYTES = 0x7fffffff;  // in a train's time

// A packet with a queue joins a train, or is one.
control Aggregation(in edge_headers_t hdr, inout edge_metadata_t meta, in standard_metadata_t standard_metadata) {
    bit<32> limit = 0;
    bit<32> bytes;
    bit<32> open;
    bit<32> closing;

    // Of a train, but that a packet may exceed it alone.
    action aggregate(bit<32> size_bytes) {
        limit = size_bytes;
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
        meta.output = (index_t)queue;
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

    @hidden action refuse_queue() {
        meta.to_fibre = 0;
        meta.drop_reason = DropReason.BAD_QUEUE;
    }

    @hidden action join() {
        bytes = standard_metadata.packet_length - ETHERNET_HEADER_BYTES;
        open_bytes.read(open, meta.output);
        meta.train_part = (bit<8>)TrainPart.MIDDLE;
        if (open == 0 || open + bytes > limit) {
            meta.train_part = (bit<8>)TrainPart.FIRST;
            closing_bytes.read(closing, meta.output);
            closing_bytes.write(meta.output, closing + open);
            open = 0;
        }
        open_bytes.write(meta.output, open + bytes);
    }

    @hidden action be_alone() {
        meta.train_part = (bit<8>)TrainPart.ONLY;
        meta.is_train = 1;
        meta.train_packets = 1;
        meta.train_bytes = (standard_metadata.packet_length + OPTICAL_BYTES + LABEL_BYTES) |-| (bit<32>)meta.framing_bytes;
    }

    apply {
        if (aggregation.apply().hit) {
            flow_queue.apply();
            if (meta.queue >= SIGNALING_QUEUE) {
                refuse_queue();
            } else {
                join();
            }
        } else if (meta.labels == 1) {
            be_alone();
        }
    }
}

// The line card has closed a train. What it says of it is believed if it may be: then these bytes are no longer open.
control TrainTick(in edge_headers_t hdr, inout edge_metadata_t meta) {
    index_t queue;
    bit<32> packets;
    bit<32> bytes;    // all that its frames have, then what they and those that were lost carry
    bit<32> open;
    bit<32> closing;

    direct_counter(CounterType.packets_and_bytes) train_queue_counter;

    // Whose trains they are, the port of the output that they leave by, and of the one for which there is no room there, or 0.
    action set_train(edge_t dst_edge, bit<8> traffic_class, port_t port, port_t second) {
        meta.dst_edge = dst_edge;
        meta.traffic_class = traffic_class;
        meta.egress_port = port;
        meta.second_port = second;
    }

    // In a star: the VOQ that they join, of the line card that tells.
    action set_star_train(queue_t voq) {
        meta.queue = voq;
        meta.egress_port = PORT_OPTICAL_BASE + meta.core[8:0];
    }

    action no_train() {
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    table train_queue {
        key = {
            hdr.train_tick.queue: exact @name("queue");
        }
        actions = {
            set_train;
            set_star_train;
            @defaultonly no_train;
        }
        const default_action = no_train();
        counters = train_queue_counter;
        size = MAX_QUEUES;
    }

    // Sums have actions of their own: p4c would write them out wherever they are used.
    @hidden action sum_up() {
        packets = (bit<32>)hdr.train_tick.packets;
        bytes = hdr.train_tick.bytes + packets * (bit<32>)meta.framing_bytes;
    }

    @hidden action look_at_train() {
        if (hdr.train_tick.queue >= SIGNALING_QUEUE || meta.labels == 0 && meta.core == NO_CORE) {
            meta.drop_reason = DropReason.BAD_QUEUE;
        } else if (packets == 0 || hdr.train_tick.bytes > MAX_TRAIN_BYTES || hdr.train_tick.lost_bytes > MAX_LOST_BYTES
                   || hdr.train_tick.first_bytes > hdr.train_tick.bytes
                   || packets == 1 && hdr.train_tick.first_bytes != hdr.train_tick.bytes
                   || bytes < packets * (FRAME_BYTES + LEAST_IPV4_BYTES)) {
            meta.drop_reason = DropReason.BAD_FIELD;
        }
    }

    @hidden action leave_headers() {
        queue = (index_t)hdr.train_tick.queue;
        bytes = bytes - packets * FRAME_BYTES + hdr.train_tick.lost_bytes;
    }

    // What P4 has closed comes first: the card tells in order.
    @hidden action close() {
        closing_bytes.read(closing, queue);
        open_bytes.read(open, queue);
        open_bytes.write(queue, open |-| (bytes |-| closing));
        closing_bytes.write(queue, closing |-| bytes);
        meta.is_train = 1;
        meta.train_packets = hdr.train_tick.packets;
        meta.train_bytes = hdr.train_tick.bytes + LABEL_BYTES;
    }

    apply {
        sum_up();
        look_at_train();
        if (meta.drop_reason == DropReason.NONE) {
            if (train_queue.apply().hit) {
                leave_headers();
                close();
            }
        }
    }
}

// The label of a train that is complete: behind the packet's own Ethernet header, or for the line card. In a star the line card gets
// its VOQ.
control LabelTrain(inout edge_headers_t hdr, inout edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<32> number;
    bit<64> tag = 0;

    @name(".EdgeIngress") ChooseOutput() choose_output;

    // A train that is refused takes no number.
    @hidden action put_label() {
        number = 0;
        if (meta.drop_reason == DropReason.NONE) {
            train_numbers.read(number, 0);
            number = number + 1;
            train_numbers.write(0, number);
        } else {
            meta.to_fibre = 0;
        }
        hdr.label.setValid();
        hdr.label.version = LABEL_VERSION;
        hdr.label.kind = LabelKind.TRAIN;
        hdr.label.traffic_class = meta.traffic_class;
        hdr.label.src_edge = meta.edge_id;
        hdr.label.dst_edge = meta.dst_edge;
        hdr.label.train = number;
        hdr.label.length = meta.train_bytes;
        hdr.label.packets = meta.train_packets;
        hdr.label.wavelength = (bit<8>)(meta.egress_port - PORT_OPTICAL_BASE) & meta.wavelength_mask;
        hdr.label.deflections_left = meta.deflections;
        hdr.label.hops_left = meta.hops;
        hdr.label.reserved = 0;
    }

    @hidden action answer_tick() {
        hdr.linecard.kind = LineCardKind.TRAIN_LABEL;
        hdr.linecard.port = (bit<16>)meta.egress_port;
        hdr.train_label.setValid();
        hdr.train_label.queue = hdr.train_tick.queue;
        hdr.train_label.packets = meta.train_packets;
        hdr.train_label.flags = 0;
        if (meta.drop_reason != DropReason.NONE) {
            hdr.train_label.flags = TRAIN_REFUSED;
        }
        hdr.train_label.traffic_class = meta.traffic_class;
        hdr.train_label.reserved = 0;
        hdr.train_label.tag = tag;
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        if (meta.counts_trains == 1) {
            choose_output.apply(meta, tag);
        }
        if (meta.labels == 1) {
            put_label();
        } else {
            tag = (bit<64>)meta.queue;
        }
        if (hdr.train_tick.isValid()) {
            answer_tick();
        }
    }
}

#endif
